//! Events that are no part of an answer: signs of life, and what a server says in place of an answer.

use serde_json::Value;

use crate::base::chat::Fault;
use crate::base::limits::http::ERROR_BODY_BYTES;
use crate::models::classify::{Failure, classify_stated, page_title, states};

/// The last event that was no part of the answer and said something.
#[derive(Debug, Default)]
pub struct Aside(String);

impl Aside {
    /// Keeps what an event says. A single word, such as `ping`, is a sign of life; a web page is never part
    /// of an answer.
    pub fn note(&mut self, data: &str) -> Result<(), Failure> {
        let says = match data.as_bytes() {
            [b'<', ..] => {
                let reason = format!("it sent {}", page_title(data));
                return Err(Failure::new(Fault::Garbage, reason));
            }
            [b'{', ..] => states(data),
            _ => data.contains(char::is_whitespace),
        };
        if says && data.len() <= ERROR_BODY_BYTES {
            data.clone_into(&mut self.0);
        }
        Ok(())
    }

    /// The failure that it tells of.
    pub fn failure(&self) -> Option<Failure> {
        (!self.0.is_empty()).then(|| classify_stated(&self.0))
    }

    /// The failure of a stream that ended before its end: nothing of an answer came, or a part of it did.
    pub fn cut(&self, is_empty: bool) -> Failure {
        match self.failure() {
            Some(failure) if is_empty => failure,
            Some(failure) => Failure::new(Fault::Cut, failure.reason),
            None => Failure::new(Fault::Cut, "the stream ended before its end"),
        }
    }
}

/// Whether the value of a member `error` tells of one. Some servers always send the member, with nothing or
/// a code for success in it.
pub fn is_stated(error: &Value) -> bool {
    match error {
        Value::Null => false,
        Value::Bool(is_error) => *is_error,
        Value::Number(code) => !matches!(code.as_f64(), Some(0.0 | 200.0)),
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            !matches!(
                text.as_str(),
                "" | "0" | "200" | "ok" | "success" | "none" | "null" | "false" | "no error"
            )
        }
        Value::Array(parts) => parts.iter().any(is_stated),
        Value::Object(members) => members.values().any(is_stated),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_content_is_none() {
        for text in [
            "null",
            "0",
            "\"\"",
            "[]",
            "{}",
            "false",
            "0.0",
            "200",
            "\" OK \"",
            r#"{"code":0}"#,
            r#"{"code":"0","message":""}"#,
            r#"{"code":200,"message":"success"}"#,
            r#"{"message":null,"details":[{}],"type":"none"}"#,
            "[null]",
        ] {
            assert!(!is_stated(&serde_json::from_str(text).unwrap()), "{text}");
        }
        for text in [
            "true",
            "1",
            "\"busy\"",
            "[{\"code\":3}]",
            r#"{"code":0,"message":"busy"}"#,
            r#"{"code":500}"#,
        ] {
            assert!(is_stated(&serde_json::from_str(text).unwrap()), "{text}");
        }
    }
}
