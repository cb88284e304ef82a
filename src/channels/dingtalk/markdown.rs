//! DingTalk's Markdown: headings, quotes, bold, italic, links, lists and code, but no tables, which are in code blocks
//! therefore. A newline alone is read as a space. Pure.
//! <https://open.dingtalk.com/document/orgapp/robot-message-type>

use std::ops::Range;

use crate::channels::kit::markdown::cards::{Dialect, write};
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, has_scheme};
use crate::text::one_line;

/// Bytes of a message's Markdown: about 2000 Chinese characters, which is what a phone shows before it folds a message.
const MESSAGE_BYTES: usize = 6000;
/// Bytes of the same within `msgParam`, where it is JSON. DingTalk takes 15,000 with the title.
const MESSAGE_JSON_BYTES: usize = 14_000;
/// Characters of a message's title, which is shown in notifications and in the list of chats.
const TITLE_CHARS: usize = 40;
/// Characters of a link's address, so that one message holds it with its words.
const LINK_CHARS: usize = 1000;

/// DingTalk's Markdown as a format.
pub struct Markdown;

impl Format for Markdown {
    fn limit(&self) -> Limit {
        Limit {
            units: MESSAGE_BYTES,
            unit: Unit::Bytes,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https"])
            && !address.contains(['<', '>', '\\', '"', '\'', '`', '[', ']'])
            && address.chars().count() <= LINK_CHARS
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        write(document, range, &DIALECT)
    }

    fn fits(&self, _: &str, written: &str) -> bool {
        self.limit().holds(written) && json_bytes(written) <= MESSAGE_JSON_BYTES
    }
}

/// Characters are escaped only where they would count: a backslash costs reading where a client shows it.
const DIALECT: Dialect = Dialect {
    is_mark: |c, before, next| {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let follows = next.chars().next();
        match c {
            '*' | '`' => true,
            // Within a word it is a character, as in snake_case.
            '_' => !(is_word(before) && is_word(follows)),
            '~' => before == Some('~') || follows == Some('~'),
            '[' => next.contains("]("),
            ']' => follows == Some('('),
            '<' => follows.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            '\\' => follows.is_some_and(|c| c.is_ascii_punctuation()),
            _ => false,
        }
    },
    escape: |c, out| {
        out.push('\\');
        out.push(c);
    },
    destination: |address| {
        let address = address.replace('(', "%28").replace(')', "%29");
        address.replace('*', "%2A")
    },
    has_tags: false,
    has_hard_breaks: true,
};

/// The bytes of a text within JSON.
fn json_bytes(text: &str) -> usize {
    let bytes = |char: char| match char {
        '\n' | '\t' | '\r' | '"' | '\\' => 2,
        char if char.is_control() => 6,
        char => char.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

/// What notifications and the list of chats show of a message: its first words, without markup.
pub fn title(text: &str) -> String {
    let is_shown = |line: &&str| line.contains(char::is_alphanumeric);
    let line = text.lines().find(is_shown).unwrap_or(text);
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#>-".contains(c));
    let plain: String = line.chars().filter(|c| !"*`\\".contains(*c)).collect();
    match one_line(&plain, TITLE_CHARS).trim() {
        "" => "…".to_owned(),
        title => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::markup::render;
    use proptest::prelude::*;

    fn written(markdown: &str) -> String {
        let pieces = render(markdown, &Markdown).into_iter();
        pieces
            .map(|piece| piece.written)
            .collect::<Vec<_>>()
            .join("\n--\n")
    }

    #[test]
    fn what_is_written_is_read_the_same() {
        for (markdown, expected) in [
            ("Good **morning**, *Ana*.", "Good **morning**, *Ana*."),
            ("# Plan\n\none\ntwo", "# Plan\n\none  \ntwo"),
            (
                "a\\*b\\* snake_case \\_x\\_ 1 < 2",
                "a\\*b\\* snake_case \\_x\\_ 1 < 2",
            ),
            ("- one\n- two", "- one  \n- two"),
            ("> said\n> so", "> said  \n> so"),
            ("[docs](https://a.org/x_y)", "[docs](https://a.org/x_y)"),
            (
                "see https://a.org/x_y.",
                "see [https://a.org/x_y](https://a.org/x_y).",
            ),
            ("`a*b`", "`a*b`"),
            ("```sh\nls *\ncd\n```\nthen", "```sh\nls *\ncd\n```\n\nthen"),
            ("**注意**：请看", "**注意**：请看"),
            ("\\# no heading", "\\# no heading"),
            ("&lt;b&gt; x", "\\<b> x"),
        ] {
            assert_eq!(written(markdown), expected, "{markdown}");
        }
        let table = written("| a | b |\n|---|---|\n| 1 | 2 |");
        assert!(
            table.starts_with("```") && !table.contains("|---|"),
            "{table}"
        );
    }

    #[test]
    fn a_title_is_the_beginning_without_marks() {
        for (text, expected) in [
            ("# **Plan**\nmore", "Plan"),
            ("```\ncode `x`\n```", "code x"),
            ("- snake\\_case", "snake_case"),
            ("", "…"),
            ("😀", "😀"),
        ] {
            assert_eq!(title(text), expected);
        }
        assert!(title(&"word ".repeat(50)).chars().count() <= TITLE_CHARS + 1);
    }

    proptest! {
        #[test]
        fn every_message_fits_and_has_a_title(text in "([a-z*_`#>\\\\\"\\n\u{1} 漢]{0,40}\\n){0,200}") {
            for piece in render(&text, &Markdown) {
                prop_assert!(piece.written.len() <= MESSAGE_BYTES);
                let json = serde_json::json!({"title": title(&piece.written), "text": piece.written});
                prop_assert!(json.to_string().len() <= 15_000);
                prop_assert!(!title(&piece.written).is_empty());
            }
        }
    }
}
