//! Texts with values: `{name}` is a value, `{{` and `}}` are braces. PURE; the build script uses it too.

use std::fmt::{Display, Write};

/// A piece of a text with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// It stays as it is.
    Plain(&'a str),
    /// The value of this name comes here.
    Value(&'a str),
}

/// The pieces of a text. A brace that belongs to no value and is not doubled stays as it is.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = *rest.as_bytes().first()?;
        if matches!(first, b'{' | b'}') {
            let (brace, after) = rest.split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                rest = after;
                return Some(Piece::Plain(brace));
            }
            let value = after.split_once('}').filter(|_| first == b'{');
            if let Some((name, after)) = value.filter(|(name, _)| is_name(name)) {
                rest = after;
                return Some(Piece::Value(name));
            }
            rest = after;
            return Some(Piece::Plain(brace));
        }
        let (plain, after) = rest.split_at(rest.find(['{', '}']).unwrap_or(rest.len()));
        rest = after;
        Some(Piece::Plain(plain))
    })
}

fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !text.is_empty() && text.bytes().all(is_part)
}

/// The text with its values, whose names are in `names` with a space between two, in the order of `values`. A value
/// that is not there stays `{name}`.
pub fn fill(text: &str, names: &str, values: &[&dyn Display]) -> String {
    let mut filled = String::with_capacity(text.len());
    for piece in pieces(text) {
        // Writing to a string does not fail.
        let _ = match piece {
            Piece::Plain(plain) => filled.write_str(plain),
            Piece::Value(name) => {
                match names.split(' ').zip(values).find(|(own, _)| *own == name) {
                    Some((_, value)) => write!(filled, "{value}"),
                    None => write!(filled, "{{{name}}}"),
                }
            }
        };
    }
    filled
}

/// The number by which a text is found: FNV-1a of 32 bits.
pub const fn key(text: &str) -> u32 {
    let (bytes, mut hash, mut at) = (text.as_bytes(), 0x811c_9dc5_u32, 0);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_get_to_their_places() {
        let (ann, two): (&dyn Display, &dyn Display) = (&"Ann", &2);
        for (text, expected) in [
            ("{count} für {name}", "2 für Ann"),
            ("{name}{name}", "AnnAnn"),
            ("{{name}} {{{name}}}", "{name} {Ann}"),
            ("{other} {} {Name} {name", "{other} {} {Name} {name"),
            ("} {é} 日{count}本", "} {é} 日2本"),
            ("", ""),
        ] {
            assert_eq!(fill(text, "name count", &[ann, two]), expected, "{text}");
        }
        assert_eq!(fill("{name}{count}", "name count", &[ann]), "Ann{count}");
    }

    proptest! {
        #[test]
        fn any_text_can_be_filled(text in "([{}a-c_é ]|\\{a\\}){0,20}") {
            fill(&text, "a b", &[&1, &"x"]);
            let doubled = text.replace('{', "{{").replace('}', "}}");
            prop_assert_eq!(fill(&doubled, "a", &[&1]), text);
        }
    }
}
