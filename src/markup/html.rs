//! A stretch of styled text as HTML.

use std::borrow::Cow;
use std::ops::Range;

use super::rich::{Level, Rich, Style};
use crate::limits::channels::{LANGUAGE_BYTES, LINK_BYTES};

/// A text with everything escaped that HTML reads. Within an attribute quotation marks have to be
/// escaped too.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    push_escaped(&mut out, text);
    Cow::Owned(out)
}

/// The tag that opens a link; none if Telegram makes no link of such an address.
pub fn link(address: &str) -> Option<String> {
    let is_known = |scheme: &str| {
        let known = ["http", "https", "tg", "mailto"];
        known.iter().any(|name| scheme.eq_ignore_ascii_case(name))
    };
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control();
    let (scheme, rest) = address.split_once(':')?;
    if !is_known(scheme) || rest.is_empty() || rest.contains(is_odd) {
        return None;
    }
    let address = escape(address).replace('"', "&quot;");
    let tag = ["<a href=\"", &address, "\">"].concat();
    (tag.len() <= LINK_BYTES).then_some(tag)
}

/// The tags around a code block, by what stands behind its fence.
pub fn code_block(info: &str) -> (String, &'static str) {
    let language = language(info);
    if language.is_empty() {
        return ("<pre>".to_owned(), "</pre>");
    }
    let open = ["<pre><code class=\"language-", language, "\">"].concat();
    (open, "</code></pre>")
}

/// The language of a code block: the harmless letters at the beginning of what stands behind its fence.
pub fn language(info: &str) -> &str {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+#-_.".contains(letter);
    let end = info.find(|letter| !is_part(letter)).unwrap_or(info.len());
    &info[..end.min(LANGUAGE_BYTES)]
}

/// A range of a text, with every tag that it needs.
pub fn write(rich: &Rich, range: Range<usize>) -> String {
    let mut out = String::with_capacity(range.len() + range.len() / 4);
    let mut open = Style::default();
    for (stretch, style) in rich.stretches(range) {
        change(&mut out, rich, open, style);
        open = style;
        push_escaped(&mut out, &rich.text()[stretch]);
    }
    change(&mut out, rich, open, Style::default());
    out
}

fn change(out: &mut String, rich: &Rich, from: Style, to: Style) {
    let levels = from.change(to);
    let has = |style: Style| move |level: &&Level| style.get(**level) != 0;
    for level in levels.iter().rev().filter(has(from)) {
        out.push_str(rich.tags(*level, from).1);
    }
    for level in levels.iter().filter(has(to)) {
        out.push_str(rich.tags(*level, to).0);
    }
}

fn push_escaped(out: &mut String, text: &str) {
    for letter in text.chars() {
        match entity(letter) {
            Some(entity) => out.push_str(entity),
            None => out.push(letter),
        }
    }
}

/// Bytes of a letter as HTML.
pub fn escaped_len(letter: char) -> usize {
    entity(letter).map_or(letter.len_utf8(), str::len)
}

fn entity(letter: char) -> Option<&'static str> {
    match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        _ => None,
    }
}
