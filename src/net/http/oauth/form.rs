//! Names and values as addresses and forms have them (`application/x-www-form-urlencoded`). Pure.

use std::fmt::Write;

use crate::net::http::address::percent_encode;

/// Writes pairs, joined by `&`.
pub fn encode(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(&percent_encode(name));
        text.push('=');
        text.push_str(&percent_encode(value));
    }
    text
}

/// Adds pairs to an address.
pub fn extend(url: &str, pairs: &[(&str, &str)]) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}{}", encode(pairs))
}

/// An address whose other characters than those of RFC 3986 are escaped, so that none of them means
/// something to a chat.
pub fn tame(url: &str) -> String {
    let mut tamed = String::new();
    for byte in url.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte) {
            tamed.push(char::from(byte));
        } else {
            let _ = write!(tamed, "%{byte:02X}");
        }
    }
    tamed
}

/// The value of a name in the query of an address; the last one when there are several.
pub fn value_of(address: &str, name: &str) -> Option<String> {
    let query = address.split_once('?').map_or(address, |(_, query)| query);
    let query = query.split('#').next()?;
    let mut pairs = query
        .split('&')
        .rev()
        .filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(one, _)| unescape(one) == name)?;
    Some(unescape(value))
}

/// How often a name is in the query of an address.
pub fn count_of(address: &str, name: &str) -> usize {
    let query = address.split_once('?').map_or(address, |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    names.filter(|one| unescape(one) == name).count()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let mut digit = || char::from(ahead.next()?).to_digit(16);
        let code = match byte {
            b'%' => digit().and_then(|high| Some(high * 16 + digit()?)),
            _ => None,
        };
        match code {
            Some(code) => {
                bytes.push(code as u8);
                rest = ahead;
            }
            None => bytes.push(if byte == b'+' { b' ' } else { byte }),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_found_in_addresses_as_people_paste_them() {
        let address =
            "http://127.0.0.1:1/callback?code=a%2Fb+c&state=x%3D&iss=https%3A%2F%2Fa.example#_=_";
        assert_eq!(value_of(address, "code").unwrap(), "a/b c");
        assert_eq!(value_of(address, "state").unwrap(), "x=");
        assert_eq!(value_of(address, "iss").unwrap(), "https://a.example");
        assert_eq!(value_of("code=a&state=b", "state").unwrap(), "b");
        assert_eq!(value_of(address, "error"), None);
        assert_eq!(value_of("?a=%zz%4", "a").unwrap(), "%zz%4");
    }

    #[test]
    fn pairs_are_added_to_an_address() {
        assert_eq!(
            extend("https://a/b", &[("c", "d e")]),
            "https://a/b?c=d%20e"
        );
        assert_eq!(
            extend("https://a/b?x=1", &[("c", "d"), ("f", "&")]),
            "https://a/b?x=1&c=d&f=%26"
        );
    }

    #[test]
    fn what_belongs_in_no_address_is_escaped() {
        let url = "https://a.example/x?y=[1]&z=%20";
        assert_eq!(tame(url), url);
        assert_eq!(
            tame("https://a/<b>`|\u{202e}"),
            "https://a/%3Cb%3E%60%7C%E2%80%AE"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(value in any::<String>(), other in "[a-z%&=+#?é]{0,30}") {
            prop_assert_eq!(value_of(&extend("https://a/", &[("v", &value)]), "v"), Some(value));
            let _ = value_of(&other, "a");
        }
    }
}
