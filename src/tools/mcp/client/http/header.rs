//! The headers of a message. Pure.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::Headers;
use crate::tools::mcp::client::protocol::is_modern;
use crate::tools::mcp::client::transport::Outgoing;

/// What a message may be answered with.
const ACCEPTED: &str = "application/json, text/event-stream";

/// A header.
pub fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The headers of a message, in the session with this id; empty: in none.
pub fn of_message(message: &Outgoing<'_>, session: &str) -> Headers {
    let mut headers = match message.method {
        // The version is what this request finds out.
        "initialize" => Vec::new(),
        _ => of_session(session, message.version),
    };
    headers.push(pair("content-type", "application/json"));
    headers.push(pair("accept", ACCEPTED));
    if !is_modern(message.version) {
        return headers;
    }
    if !message.method.is_empty() {
        headers.push(pair("mcp-method", message.method));
    }
    if let Some(name) = message.name {
        headers.push(("mcp-name".to_owned(), encode(name)));
    }
    for (name, value) in message.parameters {
        headers.push((format!("mcp-param-{name}"), encode(value)));
    }
    headers
}

/// The headers of a message in the transport of 2024-11-05.
pub fn of_older() -> Headers {
    vec![pair("content-type", "application/json")]
}

/// The headers of any request in a session.
pub fn of_session(session: &str, version: &str) -> Headers {
    let mut headers = vec![pair("mcp-protocol-version", version)];
    if !session.is_empty() {
        headers.push(pair("mcp-session-id", session));
    }
    headers
}

/// The value as a header can have it: as it is where that is possible.
fn encode(value: &str) -> String {
    const MARKS: (&str, &str) = ("=?base64?", "?=");
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~');
    let is_marked = value.starts_with(MARKS.0) && value.ends_with(MARKS.1);
    if value.bytes().all(is_plain) && value.trim() == value && !is_marked {
        value.to_owned()
    } else {
        format!("{}{}{}", MARKS.0, BASE64_STANDARD.encode(value), MARKS.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of the specification.
    #[test]
    fn values_that_no_header_can_have_are_encoded() {
        for (value, expected) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(value), expected);
        }
    }

    #[test]
    fn each_era_has_its_headers() {
        let parameters = [pair("Region", "eu")];
        let mut message = Outgoing {
            json: "{}",
            method: "tools/call",
            name: Some("lamp"),
            parameters: &parameters,
            version: "2026-07-28",
        };
        let names = |message: &Outgoing<'_>, session: &str| {
            let headers = of_message(message, session);
            let names: Vec<String> = headers.into_iter().map(|(name, _)| name).collect();
            names.join(" ")
        };
        assert_eq!(
            names(&message, ""),
            "mcp-protocol-version content-type accept mcp-method mcp-name mcp-param-Region"
        );
        message.version = "2025-06-18";
        assert_eq!(
            names(&message, "s1"),
            "mcp-protocol-version mcp-session-id content-type accept"
        );
        message.method = "initialize";
        assert_eq!(names(&message, "s1"), "content-type accept");
    }

    proptest! {
        #[test]
        fn any_value_becomes_a_header(value in any::<String>()) {
            let encoded = encode(&value);
            prop_assert!(encoded.bytes().all(|byte| matches!(byte, b' '..=b'~')));
            prop_assert_eq!(encoded.trim(), encoded.as_str());
        }
    }
}
