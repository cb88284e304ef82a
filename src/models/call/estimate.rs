//! The tokens of a request whose server does not report them, as many local servers and proxies: the limits of a
//! day would not hold otherwise.

use crate::base::chat::{Reasoning, Reply, Request, ToolSpec, Usage};
use crate::base::tokens;
use crate::store::session::conversation::tokens_of;

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
