//! What listening and speaking cost.

use crate::base::chat::{NANODOLLARS, Usage};
use crate::models::prices::PriceKnown;
use crate::models::route::Route;

/// US dollars per minute of audio, at the providers' own addresses.
#[rustfmt::skip]
const PRICES: [Price; 7] = [
    // checked 2026-11-28: developers.openai.com/api/docs/models/gpt-transcribe, and litellm 1.110.2
    ("openai", "gpt-transcribe", 0.0045),
    ("openai", "gpt-4o-transcribe", 0.006),
    ("openai", "gpt-4o-mini-transcribe", 0.003),
    ("openai", "whisper-1", 0.006),
    ("groq", "whisper-large-v3-turbo", 0.04 / 60.0),
    ("groq", "whisper-large-v3", 0.111 / 60.0),
    ("mistral", "voxtral-mini-latest", 0.003),
];
/// Seconds that Groq charges at least (<https://console.groq.com/docs/speech-to-text>).
const GROQ_SECONDS: u64 = 10;

/// US dollars per million characters that are spoken, at the provider's own address.
const SPEECH_PRICES: [Price; 3] = [
    // checked 2026-11-28: developers.openai.com/api/docs/pricing. The first one costs $0.015 a minute, of about 900.
    ("openai", "gpt-4o-mini-tts", 17.0),
    ("openai", "tts-1", 15.0),
    ("openai", "tts-1-hd", 30.0),
];

/// A provider, a model, and US dollars.
type Price = (&'static str, &'static str, f64);

/// What so many seconds cost; a price that is not known counts as the dearest one.
pub(super) fn of_seconds(route: &Route, seconds: u64) -> Usage {
    let least = if route.provider == "groq" {
        GROQ_SECONDS
    } else {
        0
    };
    of(route, &PRICES, seconds.max(least) as f64 / 60.0)
}

/// What speaking so many characters costs; a price that is not known counts as the dearest one.
pub(in crate::models) fn of_chars(route: &Route, chars: usize) -> Usage {
    of(route, &SPEECH_PRICES, chars as f64 / 1e6)
}

fn of(route: &Route, prices: &[Price], units: f64) -> Usage {
    let cost = |price: f64| (units * price * NANODOLLARS).round() as u64;
    let is_row = |row: &&Price| row.0 == route.provider && row.1 == route.model;
    let usage = Usage {
        requests: 1,
        ..Usage::default()
    };
    if PriceKnown::of_model(route, &route.model) == PriceKnown::Free {
        return usage;
    }
    match prices.iter().find(is_row).filter(|_| route.needs_key) {
        Some((.., price)) => Usage {
            cost: cost(*price),
            ..usage
        },
        None => Usage {
            unpriced: 1,
            assumed: cost(prices.iter().map(|row| row.2).fold(0.0, f64::max)),
            ..usage
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema::Provider;

    #[test]
    fn a_minute_costs_what_the_page_says_and_one_without_a_price_the_most() {
        let of = |name: &str, model: &str, base: &str, seconds| {
            let settings = Provider {
                api_base: base.to_owned(),
                ..Provider::default()
            };
            let mut route = Route::unsaved(name, settings, &|_| Some("key".to_owned()));
            model.clone_into(&mut route.model);
            let usage = of_seconds(&route, seconds);
            assert_eq!(usage.requests, 1);
            (usage.cost, usage.assumed)
        };
        assert_eq!(of("openai", "gpt-transcribe", "", 120), (9_000_000, 0));
        assert_eq!(of("groq", "whisper-large-v3", "", 3_600), (111_000_000, 0));
        assert_eq!(
            of("groq", "whisper-large-v3-turbo", "", 1),
            of("groq", "whisper-large-v3-turbo", "", 10)
        );
        assert_eq!(of("openai", "gpt-9-transcribe", "", 60), (0, 6_000_000));
        assert_eq!(
            of(
                "openai",
                "gpt-transcribe",
                "https://proxy.example.org/v1",
                60
            ),
            (0, 6_000_000)
        );
        assert_eq!(of("vllm", "whisper-1", "", 60), (0, 0));
    }
}
