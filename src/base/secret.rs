//! Secrets, which are never printed, and their redaction in texts that leave the program.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde::Deserialize;

/// Replaces a secret in a text.
const MASK: &str = "[secret]";

/// Secrets with fewer bytes are not redacted: `a` or `test` as a key would garble every answer, and
/// protects nothing.
const SHORTEST_ERASED: usize = 8;

/// A key, token or password. It has no `Display`, and its `Debug` shows no part of it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value without the white space around it, such as the newline of a key file.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value itself, for the one place that sends it to the server.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the value is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { MASK })
    }
}

/// Redacts known secrets in any text that leaves the program.
#[derive(Clone, Debug, Default)]
pub struct Eraser {
    secrets: Vec<Secret>,
}

impl Eraser {
    /// Takes secrets, and adds what is secret within them. Empty and very short ones are left out.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut secrets: Vec<Secret> = secrets.into_iter().collect();
        let within: Vec<Secret> = secrets
            .iter()
            .filter_map(|secret| within(&secret.0))
            .collect();
        secrets.extend(within);
        secrets.retain(|secret| secret.0.len() >= SHORTEST_ERASED);
        let encoded: Vec<Secret> = secrets.iter().flat_map(|one| encoded(&one.0)).collect();
        secrets.extend(encoded);
        // The longest first, so that a key that contains another is redacted completely.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self { secrets }
    }

    /// The text without the secrets; borrowed when it contains none.
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

/// The forms in which servers quote a secret: percent-encoded, and in base64, where it begins at any of three places
/// in a group of letters, as behind the name in `name:password`.
fn encoded(value: &str) -> impl Iterator<Item = Secret> {
    let mut percent = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => percent.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => percent.push(char::from(byte)),
            byte => percent.extend(['%', hex(byte >> 4), hex(byte & 15)]),
        }
    }
    let percent = Some(percent).filter(|percent| percent != value);
    let base64 = (0..3).flat_map(|before| {
        let bytes = [&[0; 2][..before], value.as_bytes()].concat();
        // The letters that only the secret decides.
        let letters = before + before.min(1)..bytes.len() * 8 / 6;
        let standard = BASE64_STANDARD_NO_PAD.encode(&bytes)[letters].to_owned();
        let for_url = standard.replace('+', "-").replace('/', "_");
        let for_url = Some(for_url).filter(|one| *one != standard);
        [Some(standard), for_url].into_iter().flatten()
    });
    percent.into_iter().chain(base64).map(Secret)
}

fn hex(digit: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(digit)])
}

/// The token after the scheme of an `Authorization` header, or the password in a URL: servers and other
/// files may contain these alone.
fn within(value: &str) -> Option<Secret> {
    const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
    if let Some((scheme, token)) = value.split_once(' ') {
        let is_scheme = SCHEMES.iter().any(|name| scheme.eq_ignore_ascii_case(name));
        return is_scheme.then(|| Secret::new(token));
    }
    let (_, rest) = value.split_once("://")?;
    let (login, _) = rest.rsplit_once('@')?;
    let (_, password) = login.split_once(':')?;
    Some(Secret::new(password))
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
    fn every_occurrence_is_redacted_and_the_longest_secret_first() {
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

    #[test]
    fn a_secret_is_erased_in_the_forms_in_which_it_is_sent() {
        use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
        let secret = "s3cr>t?/canary+9~";
        let eraser = Eraser::new([Secret::new(secret)]);
        assert_eq!(
            eraser.clean("a=s3cr%3Et%3F%2Fcanary%2B9~&b"),
            "a=[secret]&b"
        );
        for before in ["", "a", "id", "id:", "client:"] {
            for after in ["", "!", "!!", "!!!"] {
                let plain = format!("{before}{secret}{after}");
                for text in [
                    BASE64_STANDARD.encode(&plain),
                    BASE64_URL_SAFE_NO_PAD.encode(&plain),
                ] {
                    let cleaned = eraser.clean(&text);
                    assert!(cleaned.contains("[secret]"), "{plain}: {text}");
                    let shown = cleaned.replace("[secret]", "");
                    assert!(shown.len() <= before.len() * 2 + 10, "{plain}: {cleaned}");
                }
            }
        }
    }

    #[test]
    fn a_token_behind_its_scheme_and_a_password_in_a_url_are_erased_alone_too() {
        let eraser = Eraser::new([
            Secret::new("Bearer token-1234"),
            Secret::new("http://me:password-1@proxy:3128"),
            Secret::new("Peacrab on my board"),
        ]);
        assert_eq!(
            eraser.clean("token-1234 password-1 me proxy:3128 on my board"),
            "[secret] [secret] me proxy:3128 on my board"
        );
        assert_eq!(eraser.clean("Bearer token-1234."), "[secret].");
    }
}
