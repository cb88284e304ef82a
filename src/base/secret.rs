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
            .flat_map(|secret| within(&secret.0))
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

/// The forms in which servers quote a secret: percent-encoded, in JSON, also where that is a string in JSON again, and in
/// base64, where it begins at any of three places in a group of letters, as behind the name in `name:password`.
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
    // Some programs escape the slash too.
    let quoted = |text: &str| [escape(text), escape(text).replace('/', "\\/")];
    let once = quoted(value);
    let twice = once.clone().into_iter().flat_map(move |text| quoted(&text));
    let in_json = once.into_iter().chain(twice);
    let in_json = in_json.filter(move |text| text != value);
    percent.into_iter().chain(in_json).chain(base64).map(Secret)
}

/// A text within the quotes of a string in JSON.
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.get(1..quoted.len() - 1);
    inner.unwrap_or_default().to_owned()
}

fn hex(digit: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(digit)])
}

/// The token after the scheme of an `Authorization` header, or what is secret in a URL: servers and other
/// files may contain these alone.
fn within(value: &str) -> Vec<Secret> {
    const SCHEMES: [&str; 3] = ["bearer", "basic", "token"];
    if let Some((scheme, token)) = value.split_once(' ') {
        let is_scheme = SCHEMES.iter().any(|name| scheme.eq_ignore_ascii_case(name));
        return Vec::from_iter(is_scheme.then(|| Secret::new(token)));
    }
    if value.contains("://") {
        in_address(value)
    } else {
        Vec::new()
    }
}

/// Names end with one of these where the value is a secret.
const NAMES: [&str; 15] = [
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "auth",
    "authorization",
    "bearer",
    "signature",
    "sig",
    "credential",
    "session",
];

/// Pairs of a name and a value in a word, as in JSON.
const PAIRS: usize = 32;
/// Options that have a secret as the next word, whose names are too short to be ends of others.
const FLAGS: [&str; 2] = ["--pat", "--pin"];
/// Options of which the next word is a name and a password with a colon between.
const USERS: [&str; 3] = ["-u", "--user", "--userpwd"];

/// A part of a text that is not shown.
struct Part<'a> {
    /// Where it begins, in bytes.
    at: usize,
    text: &'a str,
    /// Whether it is erased in other texts too, where a plain word would be missed.
    is_secret: bool,
}

/// What is secret in an address: the password or token before the host, and values behind `?` and `#` that are called
/// secret or are no plain words.
pub fn in_address(address: &str) -> Vec<Secret> {
    secrets_of(&parts_of_address(address))
}

/// What is secret in the words of a command line: values that are called secret, keys, and what is secret in addresses.
pub fn in_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Secret> {
    let of_word = |(before, word)| secrets_of(&parts_of_word(before, word));
    with_word_before(words).flat_map(of_word).collect()
}

/// An address without what stands before its host, and without values behind `?` and `#`.
pub fn mask_address(address: &str) -> Cow<'_, str> {
    masked(address, &parts_of_address(address))
}

/// The words of a command line as [`mask_address`] shows an address.
pub fn mask_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let of_word = |(before, word)| masked(word, &parts_of_word(before, word)).into_owned();
    with_word_before(words).map(of_word).collect()
}

fn with_word_before<'a>(
    words: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut before = "";
    let pair = move |word| (std::mem::replace(&mut before, word), word);
    words.into_iter().map(pair)
}

fn parts_of_address(address: &str) -> Vec<Part<'_>> {
    let start = address.find("://").map_or(0, |at| at + 3);
    let rest = &address[start..];
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let mut parts = Vec::new();
    if let Some(end) = rest[..host_end].rfind('@') {
        let (user, password) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        parts.push(Part {
            at: start,
            text: user,
            is_secret: password.is_empty() || !is_plain(user),
        });
        parts.push(Part {
            at: start + end - password.len(),
            text: password,
            is_secret: true,
        });
    }
    let mut at = address.find(['?', '#']).map_or(address.len(), |at| at + 1);
    for pair in address[at..].split(['&', '#']) {
        let (name, text) = pair.split_once('=').unwrap_or(("", pair));
        parts.push(Part {
            at: at + pair.len() - text.len(),
            text,
            is_secret: names_secret(name) || !is_plain(text),
        });
        at += pair.len() + 1;
    }
    parts
}

fn parts_of_word<'a>(before: &str, word: &'a str) -> Vec<Part<'a>> {
    parts_within(before, word, PAIRS)
}

/// `pairs`: how many names and values within each other are looked at.
fn parts_within<'a>(before: &str, word: &'a str, pairs: usize) -> Vec<Part<'a>> {
    let part = |text: &'a str| {
        let text = text.trim_start();
        vec![Part {
            at: word.len() - text.len(),
            text,
            is_secret: true,
        }]
    };
    let is_value = before.starts_with('-') && !word.starts_with('-');
    if is_value && (names_secret(before) || FLAGS.contains(&before)) {
        return part(word);
    }
    match word.split_once(['=', ':']) {
        // `--api-key=VALUE`, `API_KEY=VALUE`, `X-Api-Key: VALUE` and `{"token":"VALUE"}`.
        Some((name, text)) if names_secret(name.trim_end_matches(['"', '\''])) => {
            let text = text.trim_start();
            let quote = text
                .chars()
                .next()
                .filter(|char| matches!(char, '"' | '\''));
            let inner = quote.and_then(|quote| text.strip_prefix(quote)?.split(quote).next());
            match inner {
                Some(inner) => quoted(word, (text, inner), pairs),
                None => part(text),
            }
        }
        Some((_, text)) if is_value && USERS.contains(&before) => part(text),
        _ if word.contains("://") => parts_of_address(word),
        // `--header=X-Api-Key: VALUE`, `--env=API_KEY=VALUE` and the further members of JSON.
        Some((_, text)) => beyond(word, text, pairs),
        _ if is_key(word) => part(word),
        _ => Vec::new(),
    }
}

/// The secret `inner` at the beginning of the end `text` of a word, and what is secret behind it.
fn quoted<'a>(word: &'a str, (text, inner): (&'a str, &'a str), pairs: usize) -> Vec<Part<'a>> {
    let at = word.len() - text.len() + 1;
    let mut parts = vec![Part {
        at,
        text: inner,
        is_secret: true,
    }];
    parts.extend(beyond(word, &word[at + inner.len()..], pairs));
    parts
}

/// What is secret in the end of a word.
fn beyond<'a>(word: &'a str, end: &'a str, pairs: usize) -> Vec<Part<'a>> {
    let mut parts = match pairs.checked_sub(1) {
        Some(pairs) => parts_within("", end, pairs),
        None => Vec::new(),
    };
    for part in &mut parts {
        part.at += word.len() - end.len();
    }
    parts
}

fn masked<'a>(text: &'a str, parts: &[Part<'_>]) -> Cow<'a, str> {
    let mut shown = String::new();
    let mut done = 0;
    for part in parts.iter().filter(|part| !part.text.is_empty()) {
        shown.push_str(&text[done..part.at]);
        shown.push_str(MASK);
        done = part.at + part.text.len();
    }
    if done == 0 {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(shown + &text[done..])
    }
}

/// The secrets as they are written and, where they are percent-encoded, as they are meant.
fn secrets_of(parts: &[Part<'_>]) -> Vec<Secret> {
    let secrets = parts.iter().filter(|part| part.is_secret);
    let forms = secrets.flat_map(|part| [Some(part.text.to_owned()), decoded(part.text)]);
    let forms = forms.flatten().map(|text| Secret::new(&text));
    forms.filter(|secret| !secret.is_empty()).collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok().filter(|plain| plain != text)
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|end| name.ends_with(end))
}

/// Whether a text is made of words and small numbers, as names, versions and dates are: erased everywhere, it would
/// garble answers.
fn is_plain(text: &str) -> bool {
    /// Digits of a number and letters of a word.
    const DIGITS: usize = 8;
    const LETTERS: usize = 20;
    text.split(|char: char| !char.is_alphanumeric())
        .all(|part| {
            let is_number = part.len() <= DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number || part.len() <= LETTERS && part.chars().all(char::is_alphabetic)
        })
}

/// Whether a word that nothing calls so is a key or token: long, of letters and digits, and no name of a program or file.
fn is_key(word: &str) -> bool {
    const LEAST: usize = 20;
    let is_of_key = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    word.len() >= LEAST && !word.starts_with('-') && word.chars().all(is_of_key) && !is_plain(word)
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
    fn a_secret_is_erased_in_json_and_where_that_is_a_string_again() {
        let secret = r#"s3cr/t"ca\nary"#;
        let eraser = Eraser::new([Secret::new(secret)]);
        let inner = serde_json::json!({"error": secret}).to_string();
        let outer = serde_json::json!({"body": inner, "more": [inner]}).to_string();
        let slashes = |text: &str| text.replace('/', "\\/");
        let again = serde_json::json!({"body": slashes(&inner)}).to_string();
        for text in [&inner, &outer, &slashes(&inner), &slashes(&outer), &again] {
            let cleaned = eraser.clean(text);
            assert!(
                !cleaned.contains("s3cr") && !cleaned.contains("nary"),
                "{cleaned}"
            );
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

    #[test]
    fn what_is_secret_in_an_argument_is_found_in_each_form() {
        let shown = |words: &[&str]| mask_words(words.iter().copied()).join(" ");
        for (words, expected) in [
            (
                &["--header=X-Api-Key: canary 1"][..],
                "--header=X-Api-Key: [secret]",
            ),
            (
                &["--header=Authorization: Bearer canary"],
                "--header=Authorization: [secret]",
            ),
            (&["--env=API_KEY=canary"], "--env=API_KEY=[secret]"),
            (
                &[r#"--config={"token":"canary","a":1,"apiKey": "canary2"}"#],
                r#"--config={"token":"[secret]","a":1,"apiKey": "[secret]"}"#,
            ),
            (&["--user", "bob:canary"], "--user bob:[secret]"),
            (&["--passphrase=canary"], "--passphrase=[secret]"),
            (&["--pat", "canary"], "--pat [secret]"),
            (&["--pin", "1234"], "--pin [secret]"),
            (&["--user", "bob"], "--user bob"),
            (
                &["--map=a:b=c", "--compat", "x", "-y"],
                "--map=a:b=c --compat x -y",
            ),
        ] {
            assert_eq!(shown(words), expected);
        }
        let json = [r#"--config={"token":"canary-1","a":1}"#];
        let eraser = Eraser::new(in_words(json));
        assert_eq!(eraser.clean("x canary-1"), "x [secret]");
        let deep = "a=".repeat(100_000) + "b";
        assert_eq!(shown(&[&deep]), deep);
    }

    #[test]
    fn what_is_secret_in_an_address_is_erased_and_not_shown() {
        let address = "https://robot:pass%2Fword1@mcp.example/@me/v1?tavilyApiKey=tvly-canary&v=1&mode=streaming\
                       &api-version=2025-04-01-preview&id=8f14e45fceea467f#tok3nbehind";
        assert_eq!(
            mask_address(address),
            "https://[secret]:[secret]@mcp.example/@me/v1?tavilyApiKey=[secret]&v=[secret]&mode=[secret]\
             &api-version=[secret]&id=[secret]#[secret]"
        );
        let text = "robot streaming 2025-04-01-preview pass%2Fword1 pass/word1 tvly-canary 8f14e45fceea467f tok3nbehind";
        assert_eq!(
            Eraser::new(in_address(address)).clean(text),
            "robot streaming 2025-04-01-preview [secret] [secret] [secret] [secret] [secret]"
        );
        let token = "https://ghp_canary1234@host/";
        assert_eq!(mask_address(token), "https://[secret]@host/");
        assert_eq!(in_address(token), [Secret::new("ghp_canary1234")]);
        for plain in [
            "",
            "http://",
            "https://host",
            "https://host/a@b/c:d",
            "host:80",
        ] {
            assert_eq!(mask_address(plain), plain);
            assert_eq!(in_address(plain), []);
        }
    }

    #[test]
    fn what_is_secret_in_the_words_of_a_command_line_is_erased_and_not_shown() {
        let words = [
            "-y",
            "@scope/server-github2@1.2.3",
            "--token",
            "hunter2",
            "--api-key=canary-1",
            "API_KEY=canary-2",
            "--header",
            "Authorization: Bearer canary-3",
            "https://host/mcp?key=canary-4",
            "ghp_0123456789abcdefABCD",
            "--directory=/srv/data",
        ];
        assert_eq!(
            mask_words(words).join(" "),
            "-y @scope/server-github2@1.2.3 --token [secret] --api-key=[secret] API_KEY=[secret] --header \
             Authorization: [secret] https://host/mcp?key=[secret] [secret] --directory=/srv/data"
        );
        assert_eq!(
            Eraser::new(in_words(words))
                .clean("canary-1 canary-2 canary-3 canary-4 hunter2 /srv/data"),
            "[secret] [secret] [secret] [secret] hunter2 /srv/data"
        );
    }
}
