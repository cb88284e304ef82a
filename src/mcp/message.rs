//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>). Pure.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::json::{self, Members};
use crate::limits::mcp::BATCH;

/// A message from a server.
#[derive(Debug)]
pub enum Message<'a> {
    /// The response to one of our requests.
    Response {
        /// The request's id; none when the server could not read it.
        id: Option<u64>,
        /// The result, or an error.
        outcome: Result<&'a RawValue, RpcError>,
    },
    /// A request of the server.
    Request {
        /// Its id, as JSON.
        id: &'a RawValue,
        /// What it asks for.
        method: String,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// News.
    Notification {
        /// What happened.
        method: String,
        /// To what.
        params: Option<&'a RawValue>,
    },
}

/// An error that a server answers.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// Its text.
    pub message: String,
    /// More about it.
    pub data: Value,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.trim() {
            "" => write!(f, "error {}", self.code),
            text => write!(f, "{text} ({})", self.code),
        }
    }
}

/// Reads one message; `None` when it is none.
pub fn read(text: &str) -> Option<Message<'_>> {
    let members = Members::read(text)?;
    let (id, params) = (members.raw("id"), members.raw("params"));
    Some(match (members.text("method"), id) {
        (Some(method), Some(id)) => Message::Request { id, method, params },
        (Some(method), None) => Message::Notification { method, params },
        (None, id) => Message::Response {
            id: id.and_then(number),
            outcome: match (members.raw("result"), members.raw("error")) {
                (_, Some(error)) => Err(RpcError::read(error)),
                (Some(result), None) => Ok(result),
                (None, None) => return None,
            },
        },
    })
}

impl RpcError {
    fn read(error: &RawValue) -> Self {
        let Some(members) = Members::read(error.get()) else {
            return Self {
                code: 0,
                message: "it cannot be read".to_owned(),
                data: Value::Null,
            };
        };
        Self {
            code: members.value("code").as_i64().unwrap_or_default(),
            message: members.text_or_empty("message"),
            data: members.value("data"),
        }
    }
}

/// The id of one of our requests, which some servers return as a text.
fn number(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// The messages of a line or a body: a batch has several, of which at most [`BATCH`] count.
pub fn split(text: &str) -> Vec<&str> {
    let text = text.trim();
    if !text.starts_with('[') {
        return vec![text];
    }
    let batch: Vec<&RawValue> = json::envelope_from_str(text).unwrap_or_default();
    batch.iter().take(BATCH).map(|one| one.get()).collect()
}

/// Writes a request.
pub fn request(id: u64, method: &str, params: Map<String, Value>) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Writes a notification.
pub fn notification(method: &str, params: Option<Value>) -> String {
    match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string(),
        None => json!({"jsonrpc": "2.0", "method": method}).to_string(),
    }
}

/// Writes the response to a request of the server, whose id is JSON.
pub fn response(id: &str, outcome: Result<Value, (i64, &str)>) -> String {
    match outcome {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err((code, message)) => {
            let error = json!({"code": code, "message": message});
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_of_message_is_recognised() {
        let kind = |text: &str| match read(text) {
            None => "none",
            Some(Message::Response { outcome: Ok(_), .. }) => "result",
            Some(Message::Response { .. }) => "error",
            Some(Message::Request { .. }) => "request",
            Some(Message::Notification { .. }) => "notification",
        };
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "result"),
            (r#"{"id":"1","result":[]}"#, "result"),
            (
                r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#,
                "error",
            ),
            (r#"{"id":1,"result":{},"error":{"code":1}}"#, "error"),
            (r#"{"id":null,"error":{"code":-32700}}"#, "error"),
            (r#"{"id":1,"error":"a text"}"#, "error"),
            (r#"{"id":"a","method":"ping"}"#, "request"),
            (
                r#"{"method":"notifications/x","params":{}}"#,
                "notification",
            ),
            (r#"{"id":null,"method":"x"}"#, "notification"),
            (r#"{"id":1}"#, "none"),
            ("Server running on stdio", "none"),
            ("", "none"),
            ("[]", "none"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_batch_is_its_messages() {
        assert_eq!(split(" {\"id\":1} "), ["{\"id\":1}"]);
        assert_eq!(
            split("[{\"id\":1}, {\"id\":2}]"),
            ["{\"id\":1}", "{\"id\":2}"]
        );
        let many = format!("[{}1]", "1,".repeat(BATCH));
        assert_eq!(split(&many).len(), BATCH);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = request(7, "tools/call", Map::new());
        assert!(
            matches!(read(&text), Some(Message::Request { method, .. }) if method == "tools/call")
        );
        let text = response("\"x\"", Ok(json!({"a": 1})));
        assert!(matches!(
            read(&text),
            Some(Message::Response { outcome: Ok(_), .. })
        ));
        let text = response("3", Err((-32601, "no \"such\" method")));
        let Some(Message::Response {
            id,
            outcome: Err(error),
        }) = read(&text)
        else {
            panic!("{text}");
        };
        assert_eq!((id, error.code), (Some(3), -32601));
    }

    proptest! {
        #[test]
        fn nothing_that_comes_is_a_panic(text in "[\\[\\]{}\":,a-z0-9 ]{0,80}") {
            split(&text).into_iter().for_each(|one| drop(read(one)));
        }
    }
}
