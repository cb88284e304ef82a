//! Floor 1: values that must not be seen, and the eraser for texts that leave.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

/// What stands where a secret stood.
const MASK: &str = "[secret]";

/// Secrets shorter than this many bytes are not erased from texts: `a` or `test` as a key would
/// garble every answer, and nothing that short protects anything.
const SHORTEST_ERASED: usize = 8;

/// A key, token or password. It has no `Display`, and its `Debug` shows no part of it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; white space around it (the line end of a key file) is not part of it.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value itself, for the one place that hands it to the other side.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { MASK })
    }
}

/// Replaces known secrets in any text that leaves the program.
#[derive(Clone, Debug, Default)]
pub struct Eraser {
    secrets: Vec<Secret>,
}

impl Eraser {
    /// Knows the given secrets; empty and very short ones are left out.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = secrets
            .into_iter()
            .filter(|secret| secret.0.len() >= SHORTEST_ERASED)
            .collect();
        // The longest first, so that a key that contains another is not left half erased.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self { secrets }
    }

    /// The text without any of the secrets; borrowed when it held none.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cleaned = Cow::Borrowed(text);
        for secret in &self.secrets {
            if cleaned.contains(secret.expose()) {
                cleaned = Cow::Owned(cleaned.replace(secret.expose(), MASK));
            }
        }
        cleaned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("sk-canary-1234567890\n");
        assert_eq!(secret.expose(), "sk-canary-1234567890");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(format!("{:?}", Secret::default()), "(none)");
    }

    #[test]
    fn the_eraser_takes_out_every_occurrence_and_the_longest_first() {
        let eraser = Eraser::new([
            Secret::new("abcdefgh"),
            Secret::new("abcdefgh-long"),
            Secret::new("abc"),
        ]);
        assert_eq!(
            eraser.clean("x abcdefgh-long y abcdefgh z abc"),
            "x [secret] y [secret] z abc"
        );
        assert!(matches!(eraser.clean("nothing here"), Cow::Borrowed(_)));
    }
}
