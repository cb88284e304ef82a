//! The tokens of a request whose server does not report them, as many local servers and proxies: the limits of a
//! day would not hold otherwise.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::chat::{Reasoning, Reply, Request, ToolSpec, Usage};
use crate::base::tokens;
use crate::store::session::conversation::tokens_of;

/// Tokens that a server may count for an image beyond the bytes in which it was sent.
const IMAGE_TOKENS_MAX: u64 = 50_000;
/// Tokens that a server may add to a request: its template, and descriptions of tools of its own.
const TEMPLATE_TOKENS_MAX: u64 = 20_000;
/// How many times as many tokens as were asked for an answer may have, where a server does not count its thoughts
/// among them.
const REASONING_FACTOR: u64 = 8;
/// Cost of a token that a server may report, in billionths of a US dollar: several times that of the dearest model.
const TOKEN_COST_MAX: u64 = 5_000_000;
/// The same of a request beside its tokens, as for searches.
const REQUEST_COST_MAX: u64 = 5_000_000_000;

/// Completes what a server has reported about an answer. A reply that says something has tokens, and every
/// request has.
pub fn of_reply(reply: &Reply, request: &Request<'_>) -> Usage {
    let mut usage = reply.usage;
    if usage.input == 0 {
        usage.input = input(request);
    }
    if usage.output == 0 {
        usage.output = output(reply);
    }
    usage
}

/// The same about an answer that failed after so many bytes of it. What was reported until then is not all of it.
pub fn of_failed(reported: Usage, bytes: usize, request: &Request<'_>) -> Usage {
    let mut usage = reported;
    if usage.input == 0 {
        usage.input = input(request);
    }
    usage.output = usage.output.max(tokens::estimate_bytes(bytes) as u64);
    usage
}

/// What a server has reported, as far as it can be true of a request with a body of so many bytes, of whose answer so
/// many have come: the limits of a day would let nothing through after an absurd report.
pub fn bounded(reported: Usage, request: &Request<'_>, (body, came): (usize, usize)) -> Usage {
    let images = request.entries.iter().map(|entry| entry.images.len());
    let images = images.sum::<usize>() as u64;
    // No token has less than a byte.
    let input_max = body as u64 + images * IMAGE_TOKENS_MAX + TEMPLATE_TOKENS_MAX;
    let asked = u64::from(request.max_tokens) * REASONING_FACTOR;
    let output_max = asked.max(came as u64);
    let (input, output) = (
        reported.input.min(input_max),
        reported.output.min(output_max),
    );
    let bounded = Usage {
        input,
        output,
        cached: reported.cached.min(input),
        written: reported.written.min(input),
        written_for_hour: reported.written_for_hour.min(input),
        cost: reported
            .cost
            .min((input + output) * TOKEN_COST_MAX + REQUEST_COST_MAX),
        ..reported
    };
    if bounded != reported && !IS_LOGGED.swap(true, Ordering::Relaxed) {
        tracing::warn!(
            "a model server reported {} tokens in and {} out, which cannot be: {} and {} are counted",
            reported.input,
            reported.output,
            input,
            output
        );
    }
    bounded
}

/// Whether an absurd report was logged; another one would say the same.
static IS_LOGGED: AtomicBool = AtomicBool::new(false);

fn input(request: &Request<'_>) -> u64 {
    let entries = request.entries.iter().map(|entry| tokens_of(entry));
    let tools = request.tools.iter().map(ToolSpec::tokens);
    let all = tokens::estimate(request.system) + entries.sum::<usize>() + tools.sum::<usize>();
    all as u64
}

fn output(reply: &Reply) -> u64 {
    let calls = reply.tool_calls.iter();
    let calls = calls.map(|call| tokens::estimate(&call.name) + tokens::estimate(&call.arguments));
    let thoughts = reply.reasoning.iter().map(|thought| match thought {
        Reasoning::Text(text) | Reasoning::Signed { text, .. } => tokens::estimate(text),
        Reasoning::Redacted(data) => tokens::estimate_bytes(data.len()),
        Reasoning::Sealed(sealed) => tokens::estimate_bytes(sealed.item.len()),
    });
    let all = tokens::estimate(&reply.text) + calls.sum::<usize>() + thoughts.sum::<usize>();
    all as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_report_is_bounded_by_what_was_sent_and_what_came() {
        let request = Request {
            system: "",
            entries: &[],
            stable: 0,
            tools: &[],
            max_tokens: 1000,
            thoughts_max: u32::MAX,
            temperature: None,
            reasoning_effort: None,
            stream: false,
            cache_key: None,
        };
        let reported = |input: u64, output: u64| Usage {
            input,
            output,
            cached: input,
            cost: u64::MAX,
            ..Usage::default()
        };
        let bounded = |one: Usage, sizes| bounded(one, &request, sizes);
        let absurd = bounded(reported(u64::MAX, 1e300_f64 as u64), (4000, 200));
        assert_eq!(absurd.input, 4000 + TEMPLATE_TOKENS_MAX);
        assert_eq!(absurd.output, 1000 * REASONING_FACTOR);
        assert_eq!(absurd.cached, absurd.input);
        assert!(absurd.cost < 1_000_000_000_000, "{absurd:?}");
        // More came than was asked for.
        assert_eq!(bounded(reported(1, u64::MAX), (10, 90_000)).output, 90_000);
        let true_one = Usage {
            input: 1200,
            output: 7000,
            cached: 1000,
            cost: 30_000_000,
            ..Usage::default()
        };
        assert_eq!(bounded(true_one, (4000, 200)), true_one);
    }
}
