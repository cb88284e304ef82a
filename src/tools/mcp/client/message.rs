//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>). Pure.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::base::json::{self, Members};
use crate::base::limits::mcp::BATCH;
use crate::text::one_line;

/// Characters of an unreadable answer that its error shows.
const UNREADABLE_CHARS: usize = 40;

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
        (None, _) => Message::Response {
            id: members.number("id"),
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
            let text: Option<String> = json::from_str(error.get()).ok();
            return Self {
                code: 0,
                message: text.unwrap_or_else(|| "it cannot be read".to_owned()),
                data: Value::Null,
            };
        };
        let code = members.text("code").and_then(|code| code.parse().ok());
        Self {
            code: code.unwrap_or_default(),
            message: members.text_or_empty("message"),
            data: members.value("data"),
        }
    }
}

/// The response that stands for one that cannot be read, so that its call fails at once: an error that says
/// what is wrong with it. `ids` are the requests that wait. `None`: it is no answer to one of them.
pub fn unreadable(text: &str, ids: &[u64]) -> Option<(u64, String)> {
    let why = match json::envelope_from_str::<&RawValue>(text) {
        // One without a result and an error.
        Ok(_) => match Members::read(text)?.number("id") {
            Some(id) if ids.contains(&id) => "it has neither a result nor an error".to_owned(),
            _ => return None,
        },
        Err(error) => describe_place(&error, text),
    };
    let id = match (broken_id(text), ids) {
        (Broken::Answer(id), _) if ids.contains(&id) => id,
        (Broken::Unknown, [only]) if text.contains("\"jsonrpc\"") => *only,
        _ => return None,
    };
    let message = format!("an answer that cannot be read ({why})");
    let error = Err((UNREADABLE, message.as_str()));
    Some((id, response(&id.to_string(), error)))
}

/// An error of JSON, in the words for what other programs write if it is such, with the text at its place.
fn describe_place(error: &serde_json::Error, text: &str) -> String {
    let flaw = json::mend(text).err();
    let what = flaw.as_ref().unwrap_or(error);
    let line = text.lines().nth(error.line().saturating_sub(1));
    let at = line.and_then(|line| line.get(error.column().saturating_sub(1)..));
    match at.map(str::trim).filter(|at| !at.is_empty()) {
        Some(at) => format!("{what}, at {}", one_line(at, UNREADABLE_CHARS)),
        None => what.to_string(),
    }
}

/// The number of the error for a message that is not JSON.
const UNREADABLE: i64 = -32700;

/// What a broken message is, as far as its own members can be made out.
enum Broken {
    /// The answer to the request with this id.
    Answer(u64),
    /// A request or a notification.
    Call,
    Unknown,
}

fn broken_id(text: &str) -> Broken {
    let (mut depth, mut rest, mut found) = (0_usize, text, Broken::Unknown);
    while let Some(at) = rest.find(['"', '{', '[', '}', ']']) {
        let after = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'{' | b'[' => {
                depth += 1;
                after
            }
            b'"' => {
                let (name, after) = split_string(after);
                let value = after.trim_start().strip_prefix(':').map(str::trim_start);
                match (name, value) {
                    ("method", Some(_)) if depth == 1 => return Broken::Call,
                    ("id", Some(value)) if depth == 1 => {
                        let value = value.trim_start_matches('"');
                        let end = value.find(|char: char| !char.is_ascii_digit());
                        let id = value[..end.unwrap_or(value.len())].parse();
                        found = id.map_or(Broken::Unknown, Broken::Answer);
                    }
                    _ => {}
                }
                after
            }
            _ => {
                depth = depth.saturating_sub(1);
                after
            }
        };
    }
    found
}

/// A string, whose opening quote has been read, and what follows it.
fn split_string(text: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return (&text[..at], &text[at + 1..]),
            _ => {}
        }
    }
    (text, "")
}

/// The messages of a line or a body: a batch has several, of which at most [`BATCH`] count. One that cannot
/// be read stays whole.
pub fn split(text: &str) -> Vec<&str> {
    // A byte order mark is not white space.
    let text = text.trim_start_matches('\u{feff}').trim();
    if !text.starts_with('[') {
        return vec![text];
    }
    match json::envelope_from_str::<Vec<&RawValue>>(text) {
        Ok(batch) => batch.iter().take(BATCH).map(|one| one.get()).collect(),
        Err(_) => vec![text],
    }
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
    fn a_number_that_is_none_is_named_in_an_error_of_its_request() {
        for text in [
            r#"{"jsonrpc":"2.0","id":3,"result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":"3","result":{"x":[-Infinity]}}"#,
            r#"[{"jsonrpc":"2.0","id":3.0,"result":{"x":NaN}}]"#,
        ] {
            let (id, response) = unreadable(split(text)[0], &[3]).unwrap();
            assert_eq!(id, 3, "{text}");
            assert!(response.contains("which is not JSON"), "{response}");
        }
        for text in [r#"{"method":"x","params":{"y":NaN}}"#, "NaN, the log says"] {
            assert_eq!(unreadable(text, &[3]), None, "{text}");
        }
    }

    #[test]
    fn answers_are_read_with_ids_texts_and_errors_in_other_shapes() {
        let half = r#"{"id":3.0,"result":{"x":"\ud83d"}}"#;
        assert!(matches!(
            read(half),
            Some(Message::Response {
                id: Some(3),
                outcome: Ok(_)
            })
        ));
        let plain = r#"{"id":3,"error":"no such tool"}"#;
        let Some(Message::Response {
            outcome: Err(error),
            ..
        }) = read(plain)
        else {
            panic!("{plain}");
        };
        assert_eq!(error.message, "no such tool");
    }

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

    #[test]
    fn an_answer_that_cannot_be_read_fails_the_call_that_waits_for_it() {
        let nan = r#"{"jsonrpc":"2.0","id":4,"result":{"load":NaN,"id":5}}"#;
        for (text, ids, expected) in [
            (nan, &[4, 5][..], Some((4, "at NaN,"))),
            (nan, &[5], None),
            (
                r#"{"result":{"id":5,"x":[Infinity]},"id":"4"}"#,
                &[4, 5],
                Some((4, "Infinity")),
            ),
            (
                r#"{"id": 4, "result": {"text": "cut o"#,
                &[4],
                Some((4, "EOF")),
            ),
            (
                r#"{"jsonrpc":"2.0","id":4.0,"result":{'a':1}}"#,
                &[4],
                Some((4, "'a'")),
            ),
            (
                r#"[{"jsonrpc":"2.0","id":9,"result":-Infinity}]"#,
                &[4],
                Some((4, "Infinity")),
            ),
            (r#""jsonrpc": "2.0","#, &[4], Some((4, "trailing"))),
            (r#""jsonrpc": "2.0","#, &[4, 5], None),
            (
                r#"{"jsonrpc":"2.0","id":4}"#,
                &[4],
                Some((4, "neither a result")),
            ),
            (r#"{"jsonrpc":"2.0","id":5}"#, &[4], None),
            // What is no answer to anybody.
            (
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":NaN}}"#,
                &[4],
                None,
            ),
            (r#"{"level":"info","msg":"started"}"#, &[4], None),
            ("{ a = 1 }", &[4], None),
            ("Server running on stdio", &[4], None),
            ("", &[4], None),
        ] {
            let found = unreadable(text, ids);
            assert_eq!(
                found.as_ref().map(|(id, _)| *id),
                expected.map(|(id, _)| id),
                "{text}"
            );
            let Some(((id, answer), (_, why))) = found.zip(expected) else {
                continue;
            };
            match read(&answer) {
                Some(Message::Response {
                    id: of,
                    outcome: Err(error),
                }) => {
                    assert_eq!((of, error.code), (Some(id), -32700), "{text}");
                    assert!(error.message.contains(why), "{text}: {error}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_that_comes_is_a_panic(text in "[\\[\\]{}\\\\é\":,a-z0-9 ]{0,80}") {
            split(&text).into_iter().for_each(|one| drop(read(one)));
            let _ = unreadable(&text, &[1]);
        }
    }
}
