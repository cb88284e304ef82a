//! URLs: the server that one names, and the part of it that may be shown.

use std::borrow::Cow;
use std::fmt::Write;

use ureq::http::Uri;

use crate::base::error::{Error, Result};

/// Parses a URL. The error names its host at most.
///
/// Letters beyond ASCII and spaces are percent-encoded, as browsers do (RFC 3987, section 3.1): servers refuse them as
/// they are. Those of a host are no valid address.
pub fn parse(url: &str) -> Result<Uri> {
    let uri: Option<Uri> = encode(url).parse().ok();
    uri.filter(|uri| host_and_port(uri).is_some())
        .ok_or_else(|| {
            let shown = origin(url).unwrap_or_else(|| "an address without http:// or https://".to_owned());
            Error::Config(format!(
                "Cannot use {shown}: the address must look like https://host/path or http://host:port/path"
            ))
        })
}

/// The URL with nothing but ASCII in its path and its query.
fn encode(url: &str) -> Cow<'_, str> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(host..).and_then(|rest| rest.find(['/', '?', '#']));
    let Some((server, path)) = path.and_then(|at| url.split_at_checked(host + at)) else {
        return Cow::Borrowed(url);
    };
    let is_plain = |byte: u8| byte.is_ascii_graphic() || byte.is_ascii_control();
    if path.bytes().all(is_plain) {
        return Cow::Borrowed(url);
    }
    let mut encoded = server.to_owned();
    for char in path.chars() {
        if u8::try_from(char).is_ok_and(|byte| byte.is_ascii() && is_plain(byte)) {
            encoded.push(char)
        } else {
            let mut bytes = [0; 4];
            let bytes = char.encode_utf8(&mut bytes).bytes();
            bytes.for_each(|byte| encoded += &format!("%{byte:02X}"));
        }
    }
    Cow::Owned(encoded)
}

/// The host, an IPv6 address without its brackets, and the port, for `http` and `https`.
pub fn host_and_port(uri: &Uri) -> Option<(&str, u16)> {
    let default = match uri.scheme_str()? {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?;
    let authority = uri.authority()?.as_str().rsplit('@').next()?;
    if authority.len() > host.len() && uri.port().is_none() {
        return None;
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    Some((bare, uri.port_u16().unwrap_or(default)))
}

/// Host and port as errors and log lines name them.
pub fn name(uri: &Uri) -> String {
    match host_and_port(uri) {
        Some((host, port)) if host.contains(':') => format!("[{host}]:{port}"),
        Some((host, port)) => format!("{host}:{port}"),
        None => String::new(),
    }
}

/// Scheme, host and port of any text that claims to be a URL; none when it has no scheme, because it
/// could then be a key in the wrong place.
pub fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let shown = format!("{scheme}://{host}");
    Some(shown.chars().filter(|char| !char.is_control()).collect())
}

/// Whether two URLs are at the same server: scheme, host and port are the same.
pub fn is_same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| {
        let uri = parse(url).ok()?;
        let (host, port) = host_and_port(&uri)?;
        Some((
            uri.scheme_str()?.to_owned(),
            host.to_ascii_lowercase(),
            port,
        ))
    };
    origin(one).is_some_and(|one| origin(other) == Some(one))
}

/// Where a redirect leads: another URL, or a path on the same server. `None` for anything else, and for a
/// way out of TLS.
pub fn join(url: &str, target: &str) -> Option<String> {
    let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    match target.starts_with('/') && !target.starts_with("//") {
        true => Some(origin(url)? + target),
        false if url.starts_with("https://") && !target.starts_with("https://") => None,
        false => is_url(target).then(|| target.to_owned()),
    }
}

/// A part of a path or a query, with what has a meaning there percent-encoded (RFC 3986, 2.1).
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_beyond_ascii_are_encoded_and_the_rest_stays() {
        for (url, expected) in [
            (
                "https://cdn.example/1/Überblick für Zoë.png?ex=ü&hm=a%20b",
                "/1/%C3%9Cberblick%20f%C3%BCr%20Zo%C3%AB.png?ex=%C3%BC&hm=a%20b",
            ),
            ("https://cdn.example/计划.txt", "/%E8%AE%A1%E5%88%92.txt"),
            ("https://cdn.example/a%C3%BC+b?c=d/e", "/a%C3%BC+b?c=d/e"),
        ] {
            let uri = parse(url).unwrap();
            assert_eq!(uri.path_and_query().unwrap().as_str(), expected);
            assert_eq!(uri.host(), Some("cdn.example"));
        }
        assert!(parse("https://cdn.exämple/a").is_err());
        assert!(parse("https://cdn.example/a\nb").is_err());
    }

    #[test]
    fn a_redirect_leads_to_another_server_or_path_and_not_out_of_tls() {
        let joined = |url, target| join(url, target);
        let url = "https://example.org/a/b";
        assert_eq!(joined(url, "/c").unwrap(), "https://example.org/c");
        assert_eq!(joined(url, "https://x.org/c").unwrap(), "https://x.org/c");
        assert_eq!(joined("http://a:1/b", "http://c/").unwrap(), "http://c/");
        for odd in ["http://example.org/c", "c", "//x.org/c", "file:///c", ""] {
            assert_eq!(joined(url, odd), None, "{odd}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = "https://Example.org/a";
        for same in [
            "https://example.org",
            "https://example.org:443/b?c",
            "https://u:p@example.org/",
        ] {
            assert!(is_same_origin(url, same), "{same}");
        }
        for other in [
            "http://example.org/a",
            "https://example.org:444/a",
            "https://example.org.evil.org/",
            "https://example.org@evil.org/",
            "/a",
        ] {
            assert!(!is_same_origin(url, other), "{other}");
        }
    }

    #[test]
    fn a_server_is_named_by_host_and_port_alone() {
        let named = |url: &str| name(&parse(url).unwrap());
        assert_eq!(
            named("https://user:canary@api.example/v1?key=canary"),
            "api.example:443"
        );
        assert_eq!(named("http://127.0.0.1:11434/v1"), "127.0.0.1:11434");
        assert_eq!(named("http://[::1]:8080/"), "[::1]:8080");
    }

    #[test]
    fn what_cannot_be_called_is_refused_without_its_secrets() {
        for url in [
            "https://user:canary@host:port/canary",
            "ftp://user:canary@host/canary?canary",
            "https:///canary",
            "https://host:99999/canary",
            "canary",
            "/canary",
            "",
            "http://a b/canary",
        ] {
            let text = parse(url).unwrap_err().to_string();
            assert!(text.contains("https://host/path"), "{text}");
            assert!(!text.contains("canary"), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(url in ".{0,60}") {
            let _ = parse(&url);
            let _ = origin(&url);
        }
    }
}
