//! Replies as bytes. PURE.

use serde_json::{Value, json};

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: Vec<u8>,
    /// More headers.
    pub headers: Vec<(&'static str, String)>,
}

/// What every reply says to a browser, unless it says something else: the browser may show nothing of it as a page, and
/// keep nothing.
const FOR_BROWSERS: [(&str, &str); 4] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    (
        "Content-Security-Policy",
        "default-src 'none'; frame-ancestors 'none'",
    ),
    ("Referrer-Policy", "no-referrer"),
];

impl Reply {
    /// A plain text.
    pub fn text(status: u16, text: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: text.as_bytes().to_vec(),
            headers: Vec::new(),
        }
    }

    /// JSON.
    pub fn json(status: u16, value: &Value) -> Self {
        Self {
            kind: "application/json",
            ..Self::text(status, &value.to_string())
        }
    }

    /// An error in the form of OpenAI's API, which most clients show to people.
    pub fn error(status: u16, why: &str) -> Self {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        Self::json(
            status,
            &json!({"error": {"message": why, "type": kind, "param": null, "code": null}}),
        )
    }

    /// The same with another header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The whole reply as bytes. `keep`: the connection may have another request.
    pub fn bytes(&self, keep: bool, is_head: bool) -> Vec<u8> {
        let mut head = begin(self.status, self.kind, &self.headers, keep);
        if has_body(self.status) {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        if !is_head {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The head of a reply whose events come one by one.
pub fn begin_events(headers: &[(&'static str, String)]) -> Vec<u8> {
    let head = begin(200, "text/event-stream", headers, false);
    // For proxies that would hold the events back (nginx).
    (head + "X-Accel-Buffering: no\r\n\r\n").into_bytes()
}

fn begin(status: u16, kind: &str, headers: &[(&'static str, String)], keep: bool) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in FOR_BROWSERS {
        if !headers.iter().any(|(other, _)| *other == name) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    if has_body(status) {
        head += &format!("Content-Type: {kind}\r\n");
    }
    for (name, value) in headers {
        // A value is ours or was a header's, and neither has a line's end; what has one ends nothing.
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        head += &format!("{name}: {value}\r\n");
    }
    head + match keep {
        true => "Connection: keep-alive\r\n",
        false => "Connection: close\r\n",
    }
}

/// Whether replies with a status have a body (RFC 9110, 15).
fn has_body(status: u16) -> bool {
    !matches!(status, 204 | 304)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_its_length_and_no_header_can_be_split() {
        let reply = Reply::text(200, "hi").with("X-A", "1\r\nSet-Cookie: x");
        let text = String::from_utf8(reply.bytes(true, false)).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nhi"));
        assert!(text.contains("Content-Length: 2\r\n") && text.contains("X-A: 1Set-Cookie: x\r\n"));
        assert!(
            !Reply::text(204, "")
                .bytes(true, false)
                .ends_with(b"Content-Length: 0\r\n\r\n")
        );
        let head = reply.bytes(false, true);
        assert!(
            head.ends_with(b"\r\n\r\n")
                && String::from_utf8(head)
                    .unwrap()
                    .contains("Connection: close")
        );
    }
}
