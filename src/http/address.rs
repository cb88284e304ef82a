//! URLs: the server that one names, and the part of it that may be shown.

use ureq::http::Uri;

use crate::error::{Error, Result};

/// Parses a URL. The error names its host at most.
pub fn parse(url: &str) -> Result<Uri> {
    let uri: Option<Uri> = url.parse().ok();
    uri.filter(|uri| host_and_port(uri).is_some())
        .ok_or_else(|| {
            let shown = origin(url).unwrap_or_else(|| "an address without http:// or https://".to_owned());
            Error::Config(format!(
                "Cannot use {shown}: the address must look like https://host/path or http://host:port/path"
            ))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

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
