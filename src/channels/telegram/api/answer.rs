//! The envelope of every answer.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::fault::{ApiError, no_answer};
use crate::json;
use crate::limits::channels::JSON_LEVELS_MAX;

/// An answer: a result, or why there is none.
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

/// What helps to go on.
#[derive(Default, Deserialize)]
pub struct Parameters {
    /// Seconds.
    pub retry_after: Option<u64>,
    /// The supergroup that a group became.
    pub migrate_to_chat_id: Option<i64>,
}

/// The result in the body of an answer whose status says that there is one.
pub fn result(body: &[u8]) -> Result<&RawValue, ApiError> {
    let answer: Answer<'_> = json::envelope_from_slice(body).map_err(|_| no_answer(200))?;
    match answer.result {
        Some(result) if answer.ok => Ok(result),
        _ => Err(answer.refusal(200, None)),
    }
}

/// A result of a kind.
pub fn read<T: DeserializeOwned>(result: &RawValue) -> Result<T, ApiError> {
    json::from_str_within(result.get(), JSON_LEVELS_MAX).map_err(|error| not_understood(&error))
}

/// For a result of another kind. What the error says is left out: it may hold a person's words.
pub fn not_understood(error: &serde_json::Error) -> ApiError {
    let byte = error.column();
    ApiError::Server(format!("a result that is not understood, at byte {byte}"))
}
