//! Addresses in pages: where a reference leads (RFC 3986, section 5.2).

mod punycode;

pub use punycode::name_in_ascii;

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The `http` or `https` address that a reference leads to on the page at `base`, in ASCII and without a
/// fragment. `None` for a place on the same page, other schemes, and names and passwords in an address.
pub fn absolute(base: &str, reference: &str) -> Option<String> {
    let is_kept = |char: &char| !char.is_control();
    let reference: String = reference.trim().chars().filter(is_kept).collect();
    let reference = reference
        .split('#')
        .next()
        .filter(|rest| !rest.is_empty())?;
    let (scheme, authority, path) = split(base)?;
    match scheme_of(reference) {
        Some(_) => {
            let (scheme, authority, path) = split(reference)?;
            joined(scheme, &authority, path)
        }
        None if reference.starts_with("//") => {
            let address = format!("{scheme}:{reference}");
            let (scheme, authority, path) = split(&address)?;
            joined(scheme, &authority, path)
        }
        None if reference.starts_with('/') => joined(scheme, &authority, reference),
        None => {
            let path = path.split(['?', '#']).next().unwrap_or_default();
            let path = if reference.starts_with('?') {
                format!("{path}{reference}")
            } else {
                let folder = path
                    .rfind('/')
                    .map_or("", |at| path.get(..at).unwrap_or_default());
                format!("{folder}/{reference}")
            };
            joined(scheme, &authority, &path)
        }
    }
}

/// The address that a person or a model means: `example.org` is `https://example.org/`.
pub fn typed(text: &str) -> Option<String> {
    let text = text.trim();
    let start = text.split_once("://");
    if start.is_some_and(|(scheme, _)| is_scheme(scheme)) {
        whole(text)
    } else {
        whole(&format!("https://{text}"))
    }
}

/// The same as [`absolute`] for an address that says all by itself.
pub fn whole(address: &str) -> Option<String> {
    absolute(address, address)
}

/// The host of an address in ASCII, without the brackets of an IPv6 address, and the port.
pub fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (scheme, Cow::Borrowed(authority), _) = split(address)? else {
        return None;
    };
    let usual = match scheme {
        "https" => 443,
        _ => 80,
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    Some((host.trim_start_matches('[').trim_end_matches(']'), port))
}

fn scheme_of(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    is_scheme(scheme).then_some(scheme)
}

fn is_scheme(text: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '-' | '.');
    text.starts_with(|char: char| char.is_ascii_alphabetic()) && text.chars().all(is_part)
}

/// Scheme, host with port in ASCII, and all that follows.
fn split(address: &str) -> Option<(&'static str, Cow<'_, str>, &str)> {
    let (scheme, rest) = address.split_once("://")?;
    let known = ["https", "http"];
    let scheme = known
        .into_iter()
        .find(|known| scheme.eq_ignore_ascii_case(known))?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let authority = if authority.is_ascii() {
        Cow::Borrowed(authority)
    } else {
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) => (name, format!(":{port}")),
            None => (authority, String::new()),
        };
        Cow::Owned(punycode::name_in_ascii(name)? + &port)
    };
    is_authority(&authority).then_some((scheme, authority, path))
}

/// Whether this is a host that everything reads in the same way, perhaps with a port.
fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if port.is_some_and(|port| !is_number(port) || port.parse::<u16>().is_err()) {
        return false;
    }
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    // Numbers such as 127.1 and 0x7f000001 are addresses to some programs and names to others (URL
    // standard, "ends in a number").
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_numeric = is_number(last) || last.starts_with("0x") || last.starts_with("0X");
    let is_name = !host.contains(['@', ' ', '%', ':', '[', ']']);
    if is_numeric {
        host.parse::<Ipv4Addr>().is_ok()
    } else {
        is_name
    }
}

fn joined(scheme: &str, authority: &str, rest: &str) -> Option<String> {
    let end = rest.find('?').unwrap_or(rest.len());
    let (path, query) = rest.split_at_checked(end)?;
    let mut address = format!("{scheme}://{}", authority.to_ascii_lowercase());
    let path = path.replace('\\', "/");
    let mut segments: Vec<&str> = Vec::new();
    let mut all = path
        .strip_prefix('/')
        .unwrap_or(&path)
        .split('/')
        .peekable();
    while let Some(segment) = all.next() {
        let is_last = all.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    segments.pop();
                }
                if is_last {
                    segments.push("");
                }
            }
            _ => segments.push(segment),
        }
    }
    address.push('/');
    address.extend(
        segments
            .join("/")
            .chars()
            .chain(query.chars())
            .flat_map(encoded),
    );
    Some(address)
}

/// A character as it is in an address; one that cannot be there in percent signs.
fn encoded(char: char) -> impl Iterator<Item = char> {
    let is_plain = char.is_ascii_graphic() && !"\"<>`{}|^\\".contains(char);
    let mut bytes = [0; 4];
    let text = char.encode_utf8(&mut bytes);
    let encoded = if is_plain {
        text.to_owned()
    } else {
        text.bytes().map(|byte| format!("%{byte:02X}")).collect()
    };
    encoded.chars().collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_to_where_the_standard_says() {
        // RFC 3986, section 5.4.
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            (".\\\\", "http://a/b/c//"),
            ("/.//g", "http://a//g"),
            ("/g", "http://a/g"),
            ("//g", "http://g/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g/../h", "http://a/b/c/h"),
            ("HTTPS://X.org", "https://x.org/"),
            (" ä b\n", "http://a/b/c/%C3%A4%20b"),
            ("x%20y?a=%2f&b", "http://a/b/c/x%20y?a=%2f&b"),
            ("http://Ä.org/ä", "http://xn--4ca.org/%C3%A4"),
            (
                "//例え.テスト:8080/x",
                "http://xn--r8jz45g.xn--zckzah:8080/x",
            ),
            ("http://127。0。0。1/", "http://127.0.0.1/"),
        ] {
            let found = absolute(base, reference);
            assert_eq!(found.as_deref(), Some(expected), "{reference}");
        }
        for odd in [
            "",
            "#s",
            "javascript:alert(1)",
            "mailto:a@b.c",
            "data:text/html,x",
            "file:///etc/passwd",
            "http:g",
            "https://",
            "http://me:password@a/",
            "http://me:password@ä.org/",
            "http://ä b.org/",
            "http://127。1/",
        ] {
            assert_eq!(absolute(base, odd), None, "{odd}");
        }
    }

    #[test]
    fn a_typed_address_may_lack_its_scheme() {
        assert_eq!(
            typed(" example.org "),
            Some("https://example.org/".to_owned())
        );
        assert_eq!(
            typed("http://[::1]:8080?a b"),
            Some("http://[::1]:8080/?a%20b".to_owned())
        );
        assert_eq!(
            typed("example.org:8080/?u=http://b/"),
            Some("https://example.org:8080/?u=http://b/".to_owned())
        );
        for odd in [
            "ftp://example.org/",
            "/etc/://x",
            "//x",
            "?x",
            "file:/x",
            "",
        ] {
            assert_eq!(typed(odd), None, "{odd}");
        }
        assert_eq!(host_and_port("http://[::1]:8080/x"), Some(("::1", 8080)));
        assert_eq!(host_and_port("https://[::1]/x"), Some(("::1", 443)));
        assert_eq!(host_and_port("http://a.b/"), Some(("a.b", 80)));
        assert_eq!(host_and_port("http://a.b:x/"), None);
    }

    #[test]
    fn a_host_is_a_name_or_an_address_in_its_usual_form() {
        for host in [
            "a",
            "a.b.",
            "1.2.3.4",
            "1.2.3.4:80",
            "[::1]",
            "1.b",
            "0x1.org",
            "a-1:1",
        ] {
            assert!(split(&format!("http://{host}/")).is_some(), "{host}");
        }
        for host in [
            "127.1",
            "2130706433",
            "0x7f000001",
            "a.0X7f",
            "0177.0.0.1",
            "127.0.0.1.",
            "1.2.3.4.5",
            "a.1",
            "a:+80",
            "a:",
            "a:65536",
            "a:8o",
            "[::1",
            "[a]",
            "::1",
            "a:b:1",
        ] {
            assert_eq!(split(&format!("http://{host}/")), None, "{host}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_reference_leads_to_an_address_or_nowhere(reference in ".{0,40}", base in ".{0,20}") {
            for base in ["http://a/b?c", &base] {
                if let Some(found) = absolute(base, &reference) {
                    proptest::prop_assert!(found.starts_with("http"));
                    proptest::prop_assert!(found.bytes().all(|byte| byte.is_ascii_graphic()));
                    proptest::prop_assert_eq!(absolute(&found, &found), Some(found.clone()));
                }
            }
        }
    }
}
