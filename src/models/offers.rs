//! The models that a provider's server offers.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::de::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{NoAnswer, before_the_answer, settings, signed};
use super::classify::Failure;
use super::route::{Route, headers};
use crate::base::cancel::Cancel;
use crate::base::chat::{Fault, ModelError};
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::json::{self, Members, to_flag};
use crate::base::limits::agent::CALL_STACK_BYTES;
use crate::base::limits::json::LEVELS_MAX;
use crate::base::limits::models::{READ_BYTES, WINDOW_TOKENS_MAX};
use crate::net::http::{Client, Tls, error_of};
use crate::text::{is_invisible, join_with_last};
use std::time::Duration;

/// Bytes of a server's list of models. OpenRouter's, the longest, has some 700 kB.
const OFFERS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Models of such a list that are kept.
const OFFERS_MAX: usize = 1000;
/// Characters of a model's name; what is longer is not listed.
const OFFER_NAME_CHARS_MAX: usize = 200;
/// Time that a server has to list its models: a person is waiting.
const OFFERS_TIME: Duration = Duration::from_secs(8);
/// Names that are suggested in place of an unknown one.
const NEAREST_NAMES_MAX: usize = 3;
/// Bytes from which a part of a name can stand for it.
const PART_BYTES_MIN: usize = 3;
/// Bytes of a date or version behind a name, as short as `001`; two digits make another model of it.
const DATE_BYTES_MIN: usize = 3;

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

/// The models of a server, by the names that are sent to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Those to choose from.
    pub names: Vec<String>,
    /// Those that cannot chat (embeddings, speech, pictures) or that the provider is about to switch off:
    /// they are not offered, but one that is in use may stay.
    pub others: Vec<String>,
    /// The windows that the server tells, in tokens.
    pub windows: BTreeMap<String, u64>,
}

/// Lists the models that a route's server offers: the newest first where the server says how old they
/// are, in the server's order otherwise.
///
/// The server has `OFFERS_TIME` for its answer, and `cancel` ends it at once. At most
/// `OFFERS_MAX` names. The route's own model plays no part, so a [`Route::unsaved`] will do.
pub fn list(tls: &Tls, route: &Route, cancel: &Cancel) -> Result<Offers, ListError> {
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
    let mut offers = match signed::with_access(&route, cancel, &mut |route| ask(&client, route)) {
        Ok(offers) => offers,
        Err(NoAnswer::Ended(error)) => return Err(ListError::Ended(error)),
        Err(NoAnswer::Failed(failure)) => return Err(list_error(&route, failure)),
    };
    offers.sort_by_key(|offer| Reverse(offer.created));
    let mut found = Offers::default();
    for offer in offers {
        if offer.window > 0 {
            found.windows.insert(offer.name.clone(), offer.window);
        }
        if offer.is_for_chat {
            found.names.push(offer.name)
        } else {
            found.others.push(offer.name)
        }
    }
    Ok(found)
}

/// Asks several servers at once, as [`list`] does; the answers are in the order of the routes.
pub fn list_all(tls: &Tls, routes: &[&Route], cancel: &Cancel) -> Vec<Result<Offers, ListError>> {
    std::thread::scope(|scope| {
        let mut asked = Vec::new();
        for &route in routes {
            let builder = std::thread::Builder::new().stack_size(CALL_STACK_BYTES);
            asked.push(builder.spawn_scoped(scope, move || list(tls, route, cancel)));
        }
        let answers = asked.into_iter().zip(routes).map(|(thread, route)| {
            let answer = thread.ok().and_then(|thread| thread.join().ok());
            // Without another thread this one asks.
            answer.unwrap_or_else(|| list(tls, route, cancel))
        });
        answers.collect()
    })
}

/// The model that a server lists first: the one to talk to where none is named.
pub(super) fn first(client: &Client, route: &Route) -> Result<String, NoAnswer> {
    let mut offers = ask(client, route)?.into_iter();
    let first = offers.find(|offer| offer.is_for_chat);
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
    /// Tokens of its window; 0 where the server does not say.
    window: u64,
    /// Whether it can be offered, as far as its name and the server tell.
    is_for_chat: bool,
}

/// Reads a list of models: `{"data": [{"id": …}]}` as OpenAI has it and nearly everybody else,
/// `{"models": [{"name": …}]}`, or with `slug` as ChatGPT's subscription has it, or the bare array.
fn decode(provider: &str, answer: &[u8]) -> Result<Vec<Offer>, Failure> {
    let not_a_list = |error: serde_json::Error| {
        let reason = format!("it did not send a list of models ({error})");
        Failure::new(Fault::Garbage, reason)
    };
    let answer = String::from_utf8_lossy(answer);
    json::check_depth(answer.as_bytes(), LEVELS_MAX).map_err(not_a_list)?;
    let answer = json::mend_all(answer.trim());
    let list = if answer.starts_with('[') {
        Some(json::envelope_from_str(&answer).map_err(not_a_list)?)
    } else {
        let members: Members<'_> = json::envelope_from_str(&answer).map_err(not_a_list)?;
        let name = ["data", "models"]
            .into_iter()
            .find(|name| members.raw(name).is_some());
        name.and_then(|name| members.list(name))
    };
    let models: Vec<&RawValue> =
        list.ok_or_else(|| not_a_list(serde_json::Error::custom("no list in it")))?;
    let is_readable = |model: &&RawValue| Members::read(model.get()).is_some();
    if !models.is_empty() && !models.iter().any(is_readable) {
        return Err(not_a_list(serde_json::Error::custom("no models in it")));
    }
    let offers = models.into_iter().filter_map(|model| {
        let model = Members::read(model.get())?;
        let name = ["id", "name", "slug"]
            .iter()
            .find_map(|name| model.text(name))?;
        let name = match provider {
            // Gemini lists `models/gemini-…`, and takes the short name.
            "gemini" => name.strip_prefix("models/").unwrap_or(&name),
            _ => &name,
        };
        let mut windows = WINDOWS.iter().filter_map(|name| model.number(name));
        let window = windows.find(|tokens| *tokens <= WINDOW_TOKENS_MAX);
        let offer = Offer {
            name: name.to_owned(),
            created: model.number("created").unwrap_or(0),
            window: window.unwrap_or(0),
            is_for_chat: can_chat(name) && is_said_to_chat(&model),
        };
        is_showable(name).then_some(offer)
    });
    Ok(offers.take(OFFERS_MAX).collect())
}

/// Whether a name can be shown and typed: the server could have sent anything.
fn is_showable(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= OFFER_NAME_CHARS_MAX
        && !name
            .chars()
            .any(|char| is_invisible(char) || char.is_whitespace())
}

/// The members that tell a window: of OpenRouter, Groq, vLLM, Mistral, Anthropic and Gemini's own API.
const WINDOWS: &[&str] = &[
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
];

/// Whether nothing that the server says about a model speaks against a chat with it: what goes in and
/// out of it (OpenRouter, Mistral, LM Studio, Gemini's own API), and that it is not about to be switched
/// off (OpenAI's `shutdown_date`, Anthropic's `lifecycle`, and others).
fn is_said_to_chat(model: &Members<'_>) -> bool {
    const ENDS: &[&str] = &[
        "shutdown_date",
        "expiration_date",
        "deprecation",
        "deprecation_date",
    ];
    const KINDS: &[&str] = &[
        "embedding",
        "embeddings",
        "image",
        "video",
        "audio",
        "transcribe",
        "rerank",
        "moderation",
    ];
    let is_no = |value: Value| to_flag(&value) == Some(false);
    let lacks = |list: Option<Vec<String>>, word: &str| {
        list.is_some_and(|list| !list.iter().any(|one| one == word))
    };
    let ends = ENDS
        .iter()
        .any(|name| !model.text_or_empty(name).is_empty())
        || model.is_true("deprecated")
        || matches!(&*model.text_or_empty("lifecycle"), "deprecated" | "retired")
        || matches!(&*model.text_or_empty("visibility"), "hide" | "none");
    let modalities = model.members("architecture").texts("output_modalities");
    let cannot = KINDS.contains(&&*model.text_or_empty("type"))
        || is_no(model.value("active"))
        || is_no(model.value("supports_chat"))
        || is_no(model.members("capabilities").value("completion_chat"))
        || lacks(modalities, "text")
        || lacks(model.texts("supportedGenerationMethods"), "generateContent");
    !ends && !cannot
}

/// Whether a model of this name can chat over an API that we speak, as far as its name tells.
fn can_chat(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "embed",
        "bge-",
        "minilm",
        "paraphrase-",
        "whisper",
        "tts",
        "speech",
        "-voice",
        "orpheus",
        "dall-e",
        "-image",
        "imagen",
        "imagine",
        "nano-banana",
        "stable-diffusion",
        "flux",
        "moderation",
        "guard",
        "rerank",
        "transcribe",
        "-ocr",
        "sora",
        "realtime",
        "audio",
        "-live",
        "gemini-omni",
        "veo-",
        "lyria",
        "deep-research",
        "computer-use",
        "search-preview",
        "search-api",
        "robotics",
        "turbo-instruct",
        "babbage",
        "davinci",
    ];
    let name = name.to_lowercase();
    // A base model continues texts.
    name != "aqa" && !name.ends_with("-base") && !OTHERS.iter().any(|other| name.contains(other))
}

/// Whether a server with these models knows one. A list does not have every name that works:
/// `claude-sonnet-5` stands for `claude-sonnet-5-20260101`, `qwen3` for `qwen3:latest`.
pub fn is_offered(model: &str, offers: &Offers) -> bool {
    let (names, others) = (&offers.names, &offers.others);
    // The rest of a list that is full is not known.
    names.len() + others.len() >= OFFERS_MAX
        || !can_chat(model)
        || model.to_lowercase().ends_with("-latest")
        || names
            .iter()
            .chain(others)
            .any(|offer| named_part(model, offer).is_some())
}

/// A model's name in upper and lower case as the server has it; `None` where it is not listed.
pub fn find_spelling<'a>(model: &str, offers: &'a Offers) -> Option<&'a str> {
    let listed = offers.names.iter().chain(&offers.others);
    let spellings = listed.filter_map(|offer| {
        let part = named_part(model, offer)?;
        // The whole name is likelier than the beginning of one, and what was typed likelier than another case.
        Some(((part != offer, part != model), part))
    });
    let best = spellings.min_by_key(|(order, _)| *order);
    best.map(|(_, part)| part)
}

/// The listed names that go on behind a model's name in other words. A provider may take the short name too.
pub fn longer<'a>(model: &str, offers: &'a Offers) -> Option<&'a str> {
    let goes_on = |offer: &&String| {
        let split = offer.split_at_checked(model.len());
        split.is_some_and(|(part, rest)| {
            part.eq_ignore_ascii_case(model) && rest.starts_with(['-', '@'])
        })
    };
    let found = offers.names.iter().find(goes_on);
    found.map(String::as_str)
}

/// The part of a listed name that a model's name stands for, in any case.
fn named_part<'a>(model: &str, offer: &'a str) -> Option<&'a str> {
    let (part, rest) = offer.split_at_checked(model.len())?;
    let is_whole = rest.is_empty()
        || rest.starts_with(':')
        || rest.strip_prefix(['-', '@']).is_some_and(is_version);
    (is_whole && part.eq_ignore_ascii_case(model)).then_some(part)
}

/// Whether what is behind a name is a version of the same model: a date or `latest`. With other words it is another.
fn is_version(rest: &str) -> bool {
    // A single digit is the number of another model: `claude-sonnet-5-20260101`.
    let is_part = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = rest.len() >= DATE_BYTES_MIN && rest.split('-').all(is_part);
    is_date || matches!(rest, "latest" | "default")
}

/// The only listed name that has these words in it: `claude-sonnet-5` for `sonnet`. Behind words with a number only a
/// version may follow: `gpt-5-mini` is another model than `gpt-5`.
pub fn only_match<'a>(words: &str, offers: &'a [String]) -> Option<&'a str> {
    let words = words.to_lowercase();
    let is_numbered = words.bytes().any(|byte| byte.is_ascii_digit());
    let is_end = |behind: &str| {
        let version = || behind.strip_prefix(['-', '@']).is_some_and(is_version);
        !is_numbered || behind.is_empty() || behind.starts_with(':') || version()
    };
    let is_free =
        |char: Option<char>| char.is_none_or(|char| !char.is_alphanumeric() && char != '.');
    let has_words = |offer: &&String| {
        let name = offer.to_lowercase();
        name.match_indices(words.as_str()).any(|(at, found)| {
            let (before, behind) = (&name[..at], &name[at + found.len()..]);
            is_free(before.chars().next_back()) && is_free(behind.chars().next()) && is_end(behind)
        })
    };
    let mut found = offers.iter().filter(has_words);
    let only = found.next().filter(|_| words.len() >= PART_BYTES_MIN)?;
    found.next().is_none().then_some(only.as_str())
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
            let is_part = model.len() >= PART_BYTES_MIN && name.contains(&model);
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
mod tests;
