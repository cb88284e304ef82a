//! The models that a provider's server offers.

use std::cmp::Reverse;
use std::fmt;
use std::io::Read;

use serde::de::Error as _;
use serde_json::value::RawValue;

use super::call::{NoAnswer, before_the_answer, headers};
use super::classify::Failure;
use super::models::settings;
use super::route::Route;
use crate::cancel::Cancel;
use crate::chat::{Fault, ModelError};
use crate::clock::Stopwatch;
use crate::error::Error;
use crate::http::{Client, Tls, error_of};
use crate::json::{self, Members};
use crate::limits::json::LEVELS_MAX;
use crate::limits::provider::{
    NEAREST_NAMES_MAX, OFFER_NAME_CHARS_MAX, OFFERS_BYTES_MAX, OFFERS_MAX, OFFERS_TIME, READ_BYTES,
};
use crate::text::join_with_last;

/// Why there is no list of models.
#[derive(Debug)]
pub enum ListError {
    /// The server answers, but does not list its models. Says what it answered.
    NotOffered {
        /// The provider's name.
        provider: String,
        /// What the server said.
        reason: String,
    },
    /// The server refused the key, cannot be reached, or failed: see [`ModelError::fault`].
    Failed(Box<ModelError>),
    /// It was stopped, or the address or a header is invalid.
    Ended(Error),
}

impl ListError {
    /// Whether the server refused the key, or needs one.
    pub fn is_key_refused(&self) -> bool {
        matches!(self, Self::Failed(error) if error.fault == Fault::Key)
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOffered { provider, reason } => {
                write!(f, "{provider} cannot list its models: {reason}")
            }
            Self::Failed(error) => error.fmt(f),
            Self::Ended(error) => error.fmt(f),
        }
    }
}

impl From<ListError> for Error {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Failed(error) => Self::Model(error),
            ListError::Ended(error) => error,
            not_offered => Self::Failed(not_offered.to_string()),
        }
    }
}

/// Lists the models that a route's server offers, with the names as they are sent to it: the newest
/// first where the server says how old they are, in the server's order otherwise. Models that cannot
/// chat (embeddings, speech) are left out.
///
/// The server has [`OFFERS_TIME`] for its answer, and `cancel` ends it at once. At most
/// [`OFFERS_MAX`] names. The route's own model plays no part, so a [`Route::unsaved`] will do.
pub fn list(tls: &Tls, route: &Route, cancel: &Cancel) -> Result<Vec<String>, ListError> {
    if route.is_offline() {
        return Err(ListError::NotOffered {
            provider: route.provider.clone(),
            reason: "it is a part of this program, not a model".to_owned(),
        });
    }
    let route = Route {
        first_byte: route.first_byte.min(OFFERS_TIME),
        idle: route.idle.min(OFFERS_TIME),
        ..route.clone()
    };
    let client = Client::new(tls, settings(&route), cancel).map_err(ListError::Ended)?;
    let mut offers = match ask(&client, &route) {
        Ok(offers) => offers,
        Err(NoAnswer::Ended(error)) => return Err(ListError::Ended(error)),
        Err(NoAnswer::Failed(failure)) => return Err(list_error(&route, failure)),
    };
    offers.sort_by_key(|offer| Reverse(offer.created));
    Ok(offers.into_iter().map(|offer| offer.name).collect())
}

/// The model that a server lists first: the one to talk to where none is named.
pub(super) fn first(client: &Client, route: &Route) -> Result<String, NoAnswer> {
    let first = ask(client, route)?.into_iter().next();
    first.map(|offer| offer.name).ok_or_else(|| {
        // The route has no model, so the error says that none is offered.
        Failure::new(Fault::Unknown, "").into()
    })
}

fn list_error(route: &Route, failure: Failure) -> ListError {
    let error = failure.into_error(route, "");
    match error.fault {
        Fault::Unknown | Fault::Request => ListError::NotOffered {
            provider: error.provider,
            reason: error.reason,
        },
        _ => ListError::Failed(Box::new(error)),
    }
}

/// Gets the list, in the server's order.
fn ask(client: &Client, route: &Route) -> Result<Vec<Offer>, NoAnswer> {
    let watch = Stopwatch::start();
    let mut body = client
        .get(&route.models_url(), &headers(route))
        .map_err(before_the_answer)?
        .into_reader(OFFERS_BYTES_MAX);
    let mut answer = Vec::new();
    let mut buffer = [0; READ_BYTES];
    loop {
        match body.read(&mut buffer).map_err(error_of) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(before_the_answer(error)),
        }
        // A server that sends byte by byte would keep it busy.
        if watch.elapsed() > route.first_byte + route.idle {
            return Err(Failure::new(Fault::Timeout, "its list of models takes too long").into());
        }
    }
    Ok(decode(&route.provider, &answer)?)
}

/// One model of a list.
#[derive(Debug, PartialEq, Eq)]
struct Offer {
    name: String,
    /// Seconds since 1970; 0 where the server does not say.
    created: u64,
}

/// Reads a list of models: `{"data": [{"id": …}]}` as OpenAI has it and nearly everybody else,
/// `{"models": [{"name": …}]}`, or the bare array.
fn decode(provider: &str, answer: &[u8]) -> Result<Vec<Offer>, Failure> {
    let not_a_list = |error: serde_json::Error| {
        let reason = format!("it did not send a list of models ({error})");
        Failure::new(Fault::Garbage, reason)
    };
    let answer = String::from_utf8_lossy(answer);
    json::check_depth(answer.as_bytes(), LEVELS_MAX).map_err(not_a_list)?;
    let answer = json::mend_all(answer.trim());
    let list = match answer.starts_with('[') {
        true => Some(json::envelope_from_str(&answer).map_err(not_a_list)?),
        false => {
            let members: Members<'_> = json::envelope_from_str(&answer).map_err(not_a_list)?;
            let name = ["data", "models"]
                .into_iter()
                .find(|name| members.raw(name).is_some());
            name.and_then(|name| members.list(name))
        }
    };
    let models: Vec<&RawValue> =
        list.ok_or_else(|| not_a_list(serde_json::Error::custom("no list in it")))?;
    let is_readable = |model: &&RawValue| Members::read(model.get()).is_some();
    if !models.is_empty() && !models.iter().any(is_readable) {
        return Err(not_a_list(serde_json::Error::custom("no models in it")));
    }
    let offers = models.into_iter().filter_map(|model| {
        let model = Members::read(model.get())?;
        let name = model.text("id").or_else(|| model.text("name"))?;
        let name = match provider {
            // Gemini lists `models/gemini-…`, and takes the short name.
            "gemini" => name.strip_prefix("models/").unwrap_or(&name),
            _ => &name,
        };
        let offer = Offer {
            name: name.to_owned(),
            created: model.number("created").unwrap_or(0),
        };
        (is_showable(name) && can_chat(name)).then_some(offer)
    });
    Ok(offers.take(OFFERS_MAX).collect())
}

/// Whether a name can be shown and typed: the server could have sent anything.
fn is_showable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= OFFER_NAME_CHARS_MAX
        && !name
            .chars()
            .any(|char| char.is_control() || char.is_whitespace())
}

/// Whether a model of this name can chat, as far as its name tells.
fn can_chat(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "embed",
        "whisper",
        "tts",
        "dall-e",
        "gpt-image",
        "imagen",
        "moderation",
        "rerank",
        "transcribe",
        "sora",
        "realtime",
        "audio",
        "-live-",
        "-image",
        "veo-",
        "lyria",
        "deep-research",
        "computer-use",
        "search-preview",
        "robotics",
        "babbage",
        "davinci",
    ];
    let name = name.to_lowercase();
    !OTHERS.iter().any(|other| name.contains(other))
}

/// Whether a server with these [`list`]ed names knows a model. A list does not have every name that
/// works: `claude-sonnet-5` stands for `claude-sonnet-5-20260101`, `qwen3` for `qwen3:latest`.
pub fn is_offered(model: &str, offers: &[String]) -> bool {
    // The rest of a list that is full is not known.
    offers.len() >= OFFERS_MAX
        || !can_chat(model)
        || model.to_lowercase().ends_with("-latest")
        || offers
            .iter()
            .any(|offer| named_part(model, offer).is_some())
}

/// A model's name in upper and lower case as the server has it; unchanged where it is not listed.
pub fn offered_spelling<'a>(model: &'a str, offers: &'a [String]) -> &'a str {
    let spellings = offers.iter().filter_map(|offer| {
        let part = named_part(model, offer)?;
        // The whole name is likelier than the beginning of one, and what was typed likelier than another case.
        Some(((part != offer, part != model), part))
    });
    let best = spellings.min_by_key(|(order, _)| *order);
    best.map_or(model, |(_, part)| part)
}

/// The part of a listed name that a model's name stands for, in any case.
fn named_part<'a>(model: &str, offer: &'a str) -> Option<&'a str> {
    let (part, rest) = offer.split_at_checked(model.len())?;
    let is_whole = rest.is_empty() || rest.starts_with(['-', ':', '@']);
    (is_whole && part.eq_ignore_ascii_case(model)).then_some(part)
}

/// The listed names that an unknown one most likely stands for, the likeliest first.
pub fn nearest<'a>(model: &str, offers: &'a [String]) -> Vec<&'a str> {
    let model: String = model
        .to_lowercase()
        .chars()
        .take(OFFER_NAME_CHARS_MAX)
        .collect();
    let mut scored: Vec<(usize, &str)> = offers
        .iter()
        .filter_map(|offer| {
            let name = offer.to_lowercase();
            // `google/gemma-3` is meant by `gemma-3`.
            let bare = name.rsplit('/').next().unwrap_or(&name);
            let distance =
                strsim::levenshtein(&model, &name).min(strsim::levenshtein(&model, bare));
            let is_part = model.len() >= 3 && name.contains(&model);
            let is_slip = distance <= model.len() / 3;
            (is_part || is_slip).then_some((if is_part { 0 } else { distance }, offer.as_str()))
        })
        .collect();
    scored.sort();
    let names = scored.into_iter().map(|(_, name)| name);
    names.take(NEAREST_NAMES_MAX).collect()
}

/// A sentence that leads from an unknown model to the listed ones.
pub fn suggestion(model: &str, offers: &[String]) -> String {
    match nearest(model, offers).as_slice() {
        [] => format!("It offers {}.", abridged(offers)),
        names => format!("Did you mean {}?", join_with_last(names, ", ", " or ")),
    }
}

/// The first names, and how many there are beyond.
fn abridged(offers: &[String]) -> String {
    let shown = &offers[..offers.len().min(NEAREST_NAMES_MAX)];
    match offers.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(provider: &str, answer: &str) -> Vec<String> {
        let offers = decode(provider, answer.as_bytes()).unwrap();
        offers.into_iter().map(|offer| offer.name).collect()
    }

    #[test]
    fn every_form_of_a_list_is_read() {
        for (provider, answer) in [
            (
                "openai",
                r#"{"object":"list","data":[{"id":"a","created":5,"owned_by":"x"},{"id":"b"}]}"#,
            ),
            (
                "openrouter",
                r#"{"data":[{"id":"a","name":"A: large","created":5.5},{"id":"b","created":null}]}"#,
            ),
            (
                "anthropic",
                r#"{"data":[{"type":"model","id":"a","created_at":"2026-01-01T00:00:00Z"},{"id":"b"}],"has_more":false}"#,
            ),
            (
                "gemini",
                r#"{"data":[{"id":"models/a"},{"id":"models/b"}]}"#,
            ),
            ("other", r#"{"models":[{"name":"a"},{"name":"b"}]}"#),
            ("other", r#" [{"id":"a"},{"id":"b"},{"object":"nameless"}]"#),
        ] {
            assert_eq!(names(provider, answer), ["a", "b"], "{answer}");
        }
        // A path that begins so is a whole name elsewhere.
        assert_eq!(
            names("other", r#"[{"id":"models/7B.gguf"}]"#),
            ["models/7B.gguf"]
        );
        for answer in ["", "{}", "<html>", r#"{"data":{}}"#, r#"{"data":[1]}"#] {
            let failure = decode("other", answer.as_bytes()).unwrap_err();
            assert_eq!(failure.fault, Fault::Garbage, "{answer}");
        }
    }

    #[test]
    fn only_names_that_can_be_shown_and_can_chat_are_listed() {
        let list = r#"[{"id":"nomic-embed-text"},{"id":"whisper-1"},{"id":"a\u001b[2J"},
            {"id":"two words"},{"id":""},{"id":"tts-1-hd"},{"id":"qwen3:8b"}]"#;
        assert_eq!(names("other", list), ["qwen3:8b"]);
        let many: Vec<_> = (0..2 * OFFERS_MAX)
            .map(|n| format!(r#"{{"id":"m{n}"}}"#))
            .collect();
        assert_eq!(
            names("other", &format!("[{}]", many.join(","))).len(),
            OFFERS_MAX
        );
    }

    #[test]
    fn a_name_is_known_by_its_beginning_too() {
        let offers = ["claude-sonnet-5-20260101", "qwen3:8b", "google/gemma-3"].map(str::to_owned);
        for model in [
            "claude-sonnet-5",
            "Qwen3:8B",
            "qwen3",
            "mistral-large-latest",
        ] {
            assert!(is_offered(model, &offers), "{model}");
        }
        for model in ["claude-sonnet-55", "laude", "qwen3:32b", "gemma-3"] {
            assert!(!is_offered(model, &offers), "{model}");
        }
    }

    #[test]
    fn a_name_is_spelt_as_the_server_has_it() {
        let offers = ["Fake-A-2", "fake-a", "B", "b", "claude-5-2026"].map(str::to_owned);
        for (model, expected) in [
            ("FAKE-A", "fake-a"),
            ("b", "b"),
            ("B", "B"),
            ("Claude-5", "claude-5"),
            ("other", "other"),
        ] {
            assert_eq!(offered_spelling(model, &offers), expected, "{model}");
        }
        let told = suggestion("fake", &["fake-a", "fake-b", "fake-c"].map(str::to_owned));
        assert_eq!(told, "Did you mean fake-a, fake-b or fake-c?");
    }

    #[test]
    fn a_slip_leads_to_the_name_that_was_meant() {
        let offers = [
            "gpt-6-sol",
            "gpt-6-luna",
            "claude-sonnet-5",
            "google/gemma-3",
        ];
        let offers = offers.map(str::to_owned);
        for (model, expected) in [
            ("gtp-6-sol", &["gpt-6-sol"][..]),
            ("sonnet", &["claude-sonnet-5"]),
            ("gemma3", &["google/gemma-3"]),
            ("gpt-6", &["gpt-6-luna", "gpt-6-sol"]),
            ("llama", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(model, &offers), expected, "{model}");
        }
    }
}
