//! What a server answers with that needs a login: the header `WWW-Authenticate` (RFC 9110, section 11.6.1;
//! RFC 6750, section 3). Pure.

use serde::Serialize;

use super::SCOPE_BYTES;
use crate::tools::mcp::client::ADDRESS_BYTES;

/// What a server wants from a login.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Challenge {
    /// Where its metadata is; may be empty.
    pub metadata: String,
    /// The rights that it asks for, separated by spaces; may be empty.
    pub scope: String,
    /// Whether the login that it got has too few rights.
    pub is_insufficient: bool,
}

impl Challenge {
    /// Reads the values of the header, as far as they can be understood.
    pub fn read<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut challenge = Self::default();
        for value in values {
            let mut is_bearer = false;
            let mut rest = value;
            while let Some(part) = next_part(&mut rest) {
                match part {
                    Part::Scheme(scheme) => is_bearer = scheme.eq_ignore_ascii_case("bearer"),
                    Part::Parameter(name, value) if is_bearer => challenge.take(name, value),
                    Part::Parameter(..) => {}
                }
            }
        }
        challenge
    }

    /// Whether the server says nothing about a login.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn take(&mut self, name: &str, value: String) {
        let is_plain = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        if !value.bytes().all(is_plain) {
            return;
        }
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" if value.len() <= ADDRESS_BYTES => self.metadata = value,
            "scope" if value.len() <= SCOPE_BYTES => self.scope = value,
            "error" => self.is_insufficient = value == "insufficient_scope",
            _ => {}
        }
    }
}

enum Part<'a> {
    Scheme(&'a str),
    Parameter(&'a str, String),
}

fn next_part<'a>(rest: &mut &'a str) -> Option<Part<'a>> {
    let is_gap = |char: char| char == ',' || char.is_whitespace();
    let text = rest.trim_start_matches(is_gap);
    // `=` alone can only be the end of a token of 68 characters, which says nothing here.
    let text = text
        .trim_start_matches(['=', '"'])
        .trim_start_matches(is_gap);
    let end = text.find(|char: char| char == '=' || is_gap(char) || char == '"');
    let (word, after) = text.split_at(end.unwrap_or(text.len()));
    if word.is_empty() {
        *rest = "";
        return None;
    }
    let Some(value) = after.trim_start().strip_prefix('=') else {
        *rest = after;
        return Some(Part::Scheme(word));
    };
    let value = value.trim_start();
    let Some(quoted) = value.strip_prefix('"') else {
        let (value, after) = value.split_at(value.find(is_gap).unwrap_or(value.len()));
        *rest = after;
        return Some(Part::Parameter(word, value.to_owned()));
    };
    let mut content = String::new();
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => content.extend(chars.next()),
            char => content.push(char),
        }
    }
    *rest = chars.as_str();
    Some(Part::Parameter(word, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(values: &[&str]) -> (String, String, bool) {
        let challenge = Challenge::read(values.iter().copied());
        let Challenge {
            metadata,
            scope,
            is_insufficient,
        } = challenge;
        (metadata, scope, is_insufficient)
    }

    #[test]
    fn only_a_bearer_challenge_counts_wherever_it_is() {
        let metadata = "https://a.example/.well-known/oauth-protected-resource/mcp";
        for value in [
            format!("Bearer resource_metadata=\"{metadata}\", scope=\"files:read files:write\""),
            format!(
                "bearer scope = \"files:read files:write\" ,resource_metadata={metadata}, realm=\"a, b\""
            ),
            format!(
                "Basic realm=\"x\", scope=\"no\", Bearer realm=\"say \\\"hi\\\"\", \
                 resource_metadata=\"{metadata}\", scope=\"files:read files:write\", Negotiate YWJj=="
            ),
        ] {
            assert_eq!(
                read(&[&value]),
                (
                    metadata.to_owned(),
                    "files:read files:write".to_owned(),
                    false
                ),
                "{value}"
            );
        }
        assert_eq!(
            read(&["Basic scope=\"x\"", "Bearer"]),
            (String::new(), String::new(), false)
        );
        assert!(read(&["Bearer error=\"insufficient_scope\", scope=\"a\""]).2);
        assert!(!read(&["Bearer error=\"invalid_token\""]).2);
    }

    #[test]
    fn what_is_too_long_or_odd_does_not_count() {
        let long = format!("Bearer scope=\"{}\"", "x".repeat(SCOPE_BYTES + 1));
        assert!(Challenge::read([long.as_str(), "Bearer scope=\"a\u{7}\""].into_iter()).is_empty());
    }

    proptest! {
        #[test]
        fn any_value_is_read(value in "(Bearer|Basic|[a-z]| |,|=|\"|\\\\|scope|é){0,40}") {
            Challenge::read([value.as_str()].into_iter());
        }

        #[test]
        fn any_text_is_read(value in any::<String>()) {
            Challenge::read([value.as_str()].into_iter());
        }
    }
}
