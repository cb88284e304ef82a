//! Texts in headers that are not ASCII: encoded words (RFC 2047), and parameters (RFC 2231). PURE.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::decode::{Decoder, Encoding, hex};
use crate::text::html::charset::{Charset, Source};

/// Bytes of a text within one encoded word of a header (RFC 2047, section 2: a line has at most 76 characters).
const WORD_BYTES: usize = 39;

/// The text of bytes in a character set; `None` for a set that is not known here. Without a name, it is
/// UTF-8 where it may be.
pub fn decode_charset(name: &str, bytes: &[u8]) -> Option<String> {
    if let Some(text) = seven_bits(name, bytes) {
        return Some(text);
    }
    let charset = match (Charset::named(name), std::str::from_utf8(bytes)) {
        // Many programs that name ASCII or nothing send UTF-8, and what is of seven bits has no such bytes.
        (Some(Charset::Windows1252 | Charset::Utf8) | None, Ok(text)) => {
            return Some(text.to_owned());
        }
        (Some(Charset::Iso2022Jp), Ok(text)) if !text.is_ascii() => return Some(text.to_owned()),
        (Some(charset @ Charset::SingleByte(_)), Ok(text)) if is_rather_utf8(charset, text) => {
            return Some(text.to_owned());
        }
        // Others name UTF-8 whatever they send.
        (Some(Charset::Utf8), Err(error)) => match error.error_len() {
            Some(_) if is_mostly_broken(bytes) => Charset::Windows1252,
            _ => Charset::Utf8,
        },
        (Some(charset), _) => charset,
        (None, Err(_)) if name.is_empty() => Charset::Windows1252,
        (None, Err(_)) => return None,
    };
    decode(charset, bytes)
}

fn decode(charset: Charset, bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    let source = Source::new(bytes).ok()?;
    let decoded = source.decode(charset, &mut |char| {
        text.push(char);
        true
    });
    decoded.ok().map(|()| text)
}

/// Whether a text that UTF-8 can be was hardly written in a set of single bytes: what is a letter here would be
/// several, which is no coincidence when it happens again and again, or control characters.
fn is_rather_utf8(charset: Charset, text: &str) -> bool {
    let is_odd = |char: char| matches!(char, '\u{80}'..='\u{9f}' | char::REPLACEMENT_CHARACTER);
    text.chars().filter(|char| !char.is_ascii()).count() > 2
        || decode(charset, text.as_bytes()).is_some_and(|read| read.contains(is_odd))
}

/// Whether more of the bytes beyond ASCII are no UTF-8 than are.
fn is_mostly_broken(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for char in String::from_utf8_lossy(bytes).chars() {
        match char {
            char::REPLACEMENT_CHARACTER => bad += 1,
            _ => good += usize::from(!char.is_ascii()),
        }
    }
    bad > good
}

/// The text in a set of seven bits that browsers do not know and old mails have: UTF-7 (RFC 2152), HZ (RFC 1843),
/// and the Korean and Chinese kin of ISO-2022-JP (RFC 1557, RFC 1922).
fn seven_bits(name: &str, bytes: &[u8]) -> Option<String> {
    let name = name.trim_matches([' ', '"', '\'']).to_ascii_lowercase();
    if name.contains("utf-7") || name.contains("utf7") {
        return Some(utf_7(&String::from_utf8_lossy(bytes)));
    }
    let (charset, open, close, mark): (_, &[u8], &[u8], &[u8]) = match &*name {
        "hz-gb-2312" | "hz" => (Charset::Gb18030, b"~{", b"~}", b"~\n"),
        "iso-2022-kr" => (Charset::EucKr, b"\x0e", b"\x0f", b"\x1b$)C"),
        "iso-2022-cn" => (Charset::Gb18030, b"\x0e", b"\x0f", b"\x1b$)A"),
        _ => return None,
    };
    let mut eight = Vec::with_capacity(bytes.len());
    let (mut rest, mut is_open) = (bytes, false);
    while let [first, after @ ..] = rest {
        if let Some(after) = rest.strip_prefix(mark) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(if is_open { close } else { open }) {
            (rest, is_open) = (after, !is_open);
        } else {
            is_open &= *first != b'\n';
            eight.push(if is_open { first | 0x80 } else { *first });
            rest = match (rest, &*name) {
                ([b'~', b'~', tail @ ..], "hz-gb-2312" | "hz") if !is_open => tail,
                _ => after,
            };
        }
    }
    decode(charset, &eight)
}

fn utf_7(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('+') {
        out.push_str(before);
        let is_base64 = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '/');
        let end = after.find(|char| !is_base64(char)).unwrap_or(after.len());
        let (encoded, behind) = after.split_at(end);
        let mut bytes = Vec::new();
        Decoder::new(Encoding::Base64).push(encoded.as_bytes(), &mut bytes);
        let units: Vec<u16> = (bytes.as_chunks().0.iter())
            .map(|unit| u16::from_be_bytes(*unit))
            .collect();
        out.push_str(&String::from_utf16_lossy(&units));
        // A plus alone stands for itself, with or without the minus that should follow.
        if encoded.is_empty() {
            out.push('+');
        }
        rest = behind.strip_prefix('-').unwrap_or(behind);
    }
    out + rest
}

/// A value with its encoded words decoded, also those that are not quite what the standard asks for. What is in an
/// unknown character set is read as UTF-8 where it may be, and else as Western European.
pub fn decode_words(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    // The words that follow each other without anything but white space: their bytes are one text.
    let mut open: Option<(String, Vec<u8>)> = None;
    let mut rest = value;
    while !rest.is_empty() {
        let Some(at) = rest.find("=?") else { break };
        let (before, from) = rest.split_at(at);
        let Some((charset, bytes, after)) = word(from) else {
            flush(&mut open, &mut out);
            out.push_str(before);
            out.push_str("=?");
            rest = from.get(2..).unwrap_or_default();
            continue;
        };
        let is_joined = open.is_some() && before.trim().is_empty();
        if !is_joined {
            flush(&mut open, &mut out);
            out.push_str(before);
        }
        match &mut open {
            Some((known, text)) if is_same_set(known, &charset) => text.extend(bytes),
            _ => {
                flush(&mut open, &mut out);
                open = Some((charset, bytes));
            }
        }
        rest = after;
    }
    flush(&mut open, &mut out);
    out.push_str(rest);
    out
}

fn flush(open: &mut Option<(String, Vec<u8>)>, out: &mut String) {
    if let Some((charset, bytes)) = open.take() {
        let text = decode_charset(&charset, &bytes).or_else(|| decode_charset("", &bytes));
        out.push_str(&text.unwrap_or_default());
    }
}

fn is_same_set(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace(['-', '_'], "");
    plain(one) == plain(other)
}

/// The encoded word at the beginning of a text: its character set in lower case, its bytes, and what follows.
fn word(text: &str) -> Option<(String, Vec<u8>, &str)> {
    let mut parts = text.strip_prefix("=?")?.splitn(3, '?');
    let (charset, encoding, rest) = (parts.next()?, parts.next()?, parts.next()?);
    // A language may follow (RFC 2231, section 5).
    let charset = charset.split('*').next().unwrap_or_default();
    let charset = charset.trim_matches([' ', '\t', '"', '\'']);
    if !charset.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let is_quoted = encoding.trim().eq_ignore_ascii_case("q");
    let end = end_of_word(rest, is_quoted)?;
    let (encoded, after) = (rest.get(..end)?, rest.get(end + "?=".len()..)?);
    let mut bytes = Vec::with_capacity(encoded.len());
    if is_quoted {
        let mut decoder = Decoder::new(Encoding::Quoted);
        decoder.push(encoded.replace('_', " ").as_bytes(), &mut bytes);
        decoder.finish(&mut bytes);
    } else if encoding.trim().eq_ignore_ascii_case("b") {
        Decoder::new(Encoding::Base64).push(encoded.as_bytes(), &mut bytes);
    } else {
        return None;
    }
    Some((charset.to_ascii_lowercase(), bytes, after))
}

/// Where the end of an encoded word is. A question mark that was not encoded may stand before an encoded byte, which is not
/// the end when another one follows before the next word.
fn end_of_word(text: &str, is_quoted: bool) -> Option<usize> {
    let first = text.find("?=")?;
    let mut end = first;
    loop {
        let after = text.get(end + "?=".len()..)?;
        let mut digits = after.bytes().take(2).filter_map(hex);
        let is_byte = is_quoted && digits.by_ref().count() == 2;
        let next = after
            .find("?=")
            .filter(|next| after.find("=?").is_none_or(|word| *next < word));
        match next.filter(|_| is_byte) {
            Some(next) => end += "?=".len() + next,
            None if is_byte && end != first => return Some(first),
            None => return Some(end),
        }
    }
}

/// A text as the value of a field: as it is where it may be, else in encoded words; on several lines where it is long.
pub fn encode(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    let mut words = text.split(' ');
    let are_plain = words
        .all(|word| !word.is_empty() && word.len() <= LINE_CHARS && word.bytes().all(is_plain));
    if are_plain && !text.contains("=?") {
        return folded(text);
    }
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.floor_char_boundary(WORD_BYTES);
        let (word, after) = rest.split_at(at.max(1).min(rest.len()));
        words.push(format!("=?UTF-8?B?{}?=", BASE64_STANDARD.encode(word)));
        rest = after;
    }
    words.join("\r\n ")
}

/// Characters of a line of a field behind its name.
const LINE_CHARS: usize = 64;

fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut width = 0;
    for word in text.split(' ') {
        match width {
            0 => {}
            _ if width + 1 + word.len() > LINE_CHARS => {
                out.push_str("\r\n ");
                width = 0;
            }
            _ => {
                out.push(' ');
                width += 1;
            }
        }
        out.push_str(word);
        width += word.len();
    }
    out
}

/// A parameter such as `filename`, of names in lower case and values: whole, encoded, or in numbered pieces. What is
/// in an unknown character set is read as in [`decode_words`].
pub fn parameter(parameters: &[(String, String)], name: &str) -> Option<String> {
    let find = |wanted: &str| {
        let mut all = parameters.iter();
        all.find_map(|(known, value)| (known == wanted).then_some(value.as_str()))
    };
    let mut open: Option<(String, Vec<u8>)> = None;
    let mut out = String::new();
    if let Some(value) = find(&format!("{name}*")) {
        let (charset, encoded) = extended(value).unwrap_or(("utf-8", value));
        open = Some((charset.to_owned(), percent(encoded)));
    }
    // Some begin to count with one.
    let piece = |index: usize| {
        let encoded = find(&format!("{name}*{index}*")).map(|value| (value, true));
        encoded.or_else(|| Some((find(&format!("{name}*{index}"))?, false)))
    };
    let first = usize::from(piece(0).is_none());
    let pieces = (first..=parameters.len() + first).map_while(piece);
    let is_whole = open.is_some();
    for (value, is_encoded) in pieces.take_while(|_| !is_whole) {
        let named = extended(value).filter(|_| is_encoded);
        // Each piece may name its set, against the standard.
        if let Some((charset, _)) = named
            && open.as_ref().is_some_and(|(known, _)| known != charset)
        {
            flush(&mut open, &mut out);
        }
        let (charset, value) = named.unwrap_or(("", value));
        let (_, bytes) = open.get_or_insert_with(|| (charset.to_owned(), Vec::new()));
        if is_encoded {
            bytes.extend(percent(value))
        } else {
            bytes.extend_from_slice(value.as_bytes())
        }
    }
    flush(&mut open, &mut out);
    // Encoded words are not allowed here, and are what most programs send.
    if out.is_empty() {
        find(name).map(decode_words)
    } else {
        Some(decode_words(&out))
    }
}

/// The character set of an extended value, and the rest; `None` where it names none.
fn extended(value: &str) -> Option<(&str, &str)> {
    let mut parts = value.splitn(3, '\'');
    let (charset, _language, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte);
    charset.bytes().all(is_name).then_some((charset, rest))
}

fn percent(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if let ([high, low, after @ ..], b'%') = (rest, first)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            bytes.push(high << 4 | low);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    bytes
}

/// A file's name as two parameters: for programs that know RFC 2231, and for those that do not.
pub fn file_name(name: &str) -> String {
    let plain = |char: char| match char {
        '"' | '\\' => '_',
        char if char.is_ascii_graphic() || char == ' ' => char,
        _ => '_',
    };
    let ascii: String = name.chars().map(plain).collect();
    let mut out = format!(";\r\n filename=\"{ascii}\"");
    if ascii != name {
        out.push_str(";\r\n filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
                out.push(char::from(byte))
            } else {
                out.push_str(&format!("%{byte:02X}"))
            }
        }
    }
    out
}
