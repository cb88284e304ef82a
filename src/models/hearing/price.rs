//! What listening costs.

use crate::base::chat::{NANODOLLARS, Usage};
use crate::models::prices::PriceKnown;
use crate::models::route::Route;

/// US dollars per minute of audio, at the providers' own addresses.
#[rustfmt::skip]
const PRICES: [(&str, &str, f64); 7] = [
    // checked 2026-11-28: developers.openai.com/api/docs/models/gpt-transcribe, and litellm 1.110.2
    ("openai", "gpt-transcribe", 0.0045),
    ("openai", "gpt-4o-transcribe", 0.006),
    ("openai", "gpt-4o-mini-transcribe", 0.003),
    ("openai", "whisper-1", 0.006),
    ("groq", "whisper-large-v3-turbo", 0.04 / 60.0),
    ("groq", "whisper-large-v3", 0.111 / 60.0),
    ("mistral", "voxtral-mini-latest", 0.003),
];
/// Seconds that Groq charges at least (<https://console.groq.com/docs/speech-to-text>); the others charge what there is.
const LEAST_SECONDS: u64 = 10;

/// What so many seconds cost; a price that is not known counts as the dearest one.
pub(super) fn of_seconds(route: &Route, seconds: u64) -> Usage {
    let minutes = seconds.max(LEAST_SECONDS) as f64 / 60.0;
    let cost = |price: f64| (minutes * price * NANODOLLARS).round() as u64;
    let is_row = |row: &&(&str, &str, f64)| row.0 == route.provider && row.1 == route.model;
    let usage = Usage {
        requests: 1,
        ..Usage::default()
    };
    if PriceKnown::of_model(route, &route.model) == PriceKnown::Free {
        return usage;
    }
    match PRICES.iter().find(is_row).filter(|_| route.needs_key) {
        Some((.., price)) => Usage {
            cost: cost(*price),
            ..usage
        },
        None => Usage {
            unpriced: 1,
            assumed: cost(PRICES.iter().map(|row| row.2).fold(0.0, f64::max)),
            ..usage
        },
    }
}
