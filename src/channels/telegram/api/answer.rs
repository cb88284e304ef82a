//! The envelope of every reply.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::fault::{ApiError, no_answer};
use crate::base::json;
use crate::base::limits::channels::JSON_LEVELS_MAX;

/// A reply: a result, or why there is none.
#[derive(Deserialize)]
pub struct Answer<'a> {
    ok: bool,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    pub error_code: Option<u16>,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub parameters: Parameters,
}

/// What can be done about an error.
#[derive(Default, Deserialize)]
pub struct Parameters {
    /// Seconds.
    pub retry_after: Option<u64>,
    /// The supergroup that a group became.
    pub migrate_to_chat_id: Option<i64>,
}

/// The result in the body of a reply whose HTTP status is a success.
pub fn result(body: &[u8]) -> Result<&RawValue, ApiError> {
    let answer: Answer<'_> = json::envelope_from_slice(body).map_err(|_| no_answer(200))?;
    match answer.result {
        Some(result) if answer.ok => Ok(result),
        _ => Err(answer.refusal(200, None)),
    }
}

/// Parses a result.
pub fn read<T: DeserializeOwned>(result: &RawValue) -> Result<T, ApiError> {
    json::lenient_from_str_within(result.get(), JSON_LEVELS_MAX)
        .map_err(|error| not_understood(&error))
}

/// The error for a result that cannot be parsed. Its text is left out: it may contain a person's message.
pub fn not_understood(error: &serde_json::Error) -> ApiError {
    let byte = error.column();
    ApiError::Server(format!("unexpected result at byte {byte}"))
}
