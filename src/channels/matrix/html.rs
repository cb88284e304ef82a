//! Matrix's HTML, `org.matrix.custom.html`, and the plain text beside it. Pure.
//! <https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes>
//!
//! A message has its text twice: with markup, and without for clients that show none. Only the first is made of
//! Markdown; the second is made of the first, so that whatever was written can be sent.

use std::ops::Range;

use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{self, Document, Format, Level, Style};

/// Bytes of one message's visible text. An event has at most 65,536 bytes, and an edit contains its text twice as it
/// is and once as HTML.
const PIECE_BYTES: usize = 14_000;
/// Bytes of one message's HTML as it stands in JSON.
const PIECE_HTML_BYTES: usize = 24_000;
/// Bytes of one message's visible text as it stands in JSON, where quotes and newlines take two.
const PIECE_JSON_BYTES: usize = 16_000;
/// Bytes of a link's tag with its address; a longer one is shown as text.
const LINK_BYTES: usize = 2048;

/// Matrix's HTML as a format.
pub struct Html;

impl Format for Html {
    fn limit(&self) -> Limit {
        Limit {
            units: PIECE_BYTES,
            unit: Unit::Bytes,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        // These are the schemes that clients accept, without `magnet` and `ftp`.
        let schemes = ["http", "https", "mailto"];
        markup::has_scheme(address, &schemes) && link(address).len() <= LINK_BYTES
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let mut writer = Writer::default();
        let mut open = Style::default();
        for (stretch, style) in document.stretches(range) {
            writer.change(document, open, style);
            open = style;
            writer.push(&document.text()[stretch], style.has(Level::Pre));
        }
        writer.change(document, open, Style::default());
        writer.out
    }

    /// An event is bounded as the JSON that it is.
    fn fits(&self, plain: &str, written: &str) -> bool {
        self.limit().holds(plain)
            && json_bytes(written) <= PIECE_HTML_BYTES
            && json_bytes(plain) <= PIECE_JSON_BYTES
    }
}

/// The bytes of a text within JSON.
fn json_bytes(text: &str) -> usize {
    let of_byte = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(of_byte).sum()
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Whether a block has just ended or begun: it brings its own newline.
    is_at_block: bool,
    /// Whether a line has just begun, where spaces would vanish.
    is_at_line: bool,
}

impl Writer {
    fn change(&mut self, document: &Document, from: Style, to: Style) {
        let levels = from.change(to);
        for level in levels.iter().rev().filter(|level| from.has(**level)) {
            self.out.push_str(match level {
                Level::Quote => "</blockquote>",
                Level::Link => "</a>",
                Level::Bold => "</strong>",
                Level::Italic => "</em>",
                Level::Strike => "</del>",
                Level::Code => "</code>",
                Level::Pre => "</code></pre>",
                _ => "",
            });
            if matches!(level, Level::Quote | Level::Pre) {
                self.is_at_block = true;
            }
        }
        for level in levels.iter().filter(|level| to.has(**level)) {
            let value = document.value(*level, to);
            match level {
                Level::Quote => {
                    self.begin_block();
                    self.out.push_str("<blockquote>");
                    self.is_at_block = true;
                }
                Level::Link => self.out.push_str(&link(value)),
                Level::Bold => self.out.push_str("<strong>"),
                Level::Italic => self.out.push_str("<em>"),
                Level::Strike => self.out.push_str("<del>"),
                Level::Code => self.out.push_str("<code>"),
                Level::Pre => {
                    self.begin_block();
                    match value {
                        "" => self.out.push_str("<pre><code>"),
                        language => {
                            let parts = ["<pre><code class=\"language-", language, "\">"];
                            self.out.push_str(&parts.concat());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A block begins on a line of its own, without one that we have written for it.
    fn begin_block(&mut self) {
        if let Some(rest) = self.out.strip_suffix("<br>") {
            self.out.truncate(rest.len());
        }
        self.is_at_line = false;
    }

    fn push(&mut self, text: &str, is_code: bool) {
        if is_code {
            self.is_at_block = false;
            return text
                .chars()
                .for_each(|char| push_escaped(&mut self.out, char));
        }
        for char in text.chars() {
            match char {
                '\n' if self.is_at_block => self.is_at_block = false,
                '\n' => {
                    self.out.push_str("<br>");
                    self.is_at_line = true;
                    continue;
                }
                // Elsewhere a browser makes one of several.
                ' ' if self.is_at_line || self.out.ends_with(' ') => self.out.push_str("&nbsp;"),
                char => {
                    push_escaped(&mut self.out, char);
                    (self.is_at_block, self.is_at_line) = (false, false);
                }
            }
        }
    }
}

/// The tag that opens a link.
fn link(address: &str) -> String {
    let mut out = "<a href=\"".to_owned();
    address
        .chars()
        .for_each(|char| push_escaped(&mut out, char));
    out + "\">"
}

fn push_escaped(out: &mut String, char: char) {
    match char {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        char => out.push(char),
    }
}

/// The text of what [`Html`] has written, for clients without markup: quotes have a `>` before each line, and the
/// address of a link follows its text.
pub fn plain(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut quotes = 0_usize;
    let mut link: Option<(String, usize)> = None;
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        push_text(&mut out, &rest[..at], quotes);
        rest = &rest[at..];
        let end = if rest.starts_with('<') { '>' } else { ';' };
        let Some(length) = rest.find(end).map(|found| found + 1) else {
            break;
        };
        let mark = &rest[..length];
        rest = &rest[length..];
        match mark {
            "<br>" => push_text(&mut out, "\n", quotes),
            "<blockquote>" => {
                quotes += 1;
                begin_line(&mut out);
                out.push_str("> ");
            }
            "</blockquote>" => {
                quotes = quotes.saturating_sub(1);
                out.push('\n');
            }
            "</pre>" => push_text(&mut out, "\n", quotes),
            "</a>" => {
                if let Some((address, from)) = link.take().filter(|(_, from)| *from <= out.len())
                    && out[from..] != *address
                {
                    out.push_str(&[" (", &address, ")"].concat());
                }
            }
            "&amp;" => out.push('&'),
            "&lt;" => out.push('<'),
            "&gt;" => out.push('>'),
            "&quot;" => out.push('"'),
            "&nbsp;" => out.push(' '),
            mark if mark.starts_with("<pre>") => begin_line(&mut out),
            mark if mark.starts_with('&') => push_text(&mut out, mark, quotes),
            mark => {
                if let Some(address) = mark.strip_prefix("<a href=\"") {
                    let address = plain(address.strip_suffix("\">").unwrap_or(address));
                    link = Some((address, out.len()));
                }
            }
        }
    }
    push_text(&mut out, rest, quotes);
    out.truncate(out.trim_end().len());
    out
}

fn push_text(out: &mut String, text: &str, quotes: usize) {
    match quotes {
        0 => out.push_str(text),
        _ => out.push_str(&text.replace('\n', "\n> ")),
    }
}

fn begin_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(markdown: &str) -> String {
        let pieces = markup::render(markdown, &Html);
        assert_eq!(pieces.len(), 1, "{markdown:?}");
        pieces[0].written.clone()
    }

    #[test]
    fn each_mark_has_its_tag() {
        for (markdown, html, text) in [
            (
                "good **morning**",
                "good <strong>morning</strong>",
                "good morning",
            ),
            (
                "*a* ~~b~~ `c<d`",
                "<em>a</em> <del>b</del> <code>c&lt;d</code>",
                "a b c<d",
            ),
            (
                "# Title\n\ntext",
                "<strong>Title</strong><br><br>text",
                "Title\n\ntext",
            ),
            ("one\n\ntwo", "one<br><br>two", "one\n\ntwo"),
            (
                "see\n\n```sh\nls  -l\necho \"&\"\n```\n\nthen",
                "see<br><pre><code class=\"language-sh\">ls  -l\necho &quot;&amp;&quot;</code></pre><br>then",
                "see\nls  -l\necho \"&\"\n\nthen",
            ),
            (
                "[here](https://x.y/?a&b) and <https://x.y>",
                "<a href=\"https://x.y/?a&amp;b\">here</a> and <a href=\"https://x.y\">https://x.y</a>",
                "here (https://x.y/?a&b) and https://x.y",
            ),
            (
                "> quoted\n> more\n\nafter",
                "<blockquote>quoted<br>more</blockquote><br>after",
                "> quoted\n> more\n\nafter",
            ),
            ("- a\n  - b", "• a<br>&nbsp;&nbsp;• b", "• a\n  • b"),
            (
                "a <b> & \"c\"",
                "a &lt;b&gt; &amp; &quot;c&quot;",
                "a <b> & \"c\"",
            ),
        ] {
            assert_eq!(one(markdown), html, "{markdown:?}");
            assert_eq!(plain(html), text, "{markdown:?}");
        }
    }

    #[test]
    fn a_link_of_another_kind_is_text() {
        assert_eq!(one("[x](javascript:alert)"), "x (javascript:alert)");
        assert_eq!(one("[x](mxc://a/b)"), "x (mxc://a/b)");
    }

    #[test]
    fn a_table_is_code() {
        let html = one("|a|b|\n|-|-|\n|1|2|");
        assert!(
            html.starts_with("<pre><code>") && html.ends_with("</code></pre>"),
            "{html}"
        );
    }

    #[test]
    fn a_long_text_is_cut_in_bytes_and_quotes_count_more() {
        let words = "wörd ".repeat(6_000);
        let pieces = markup::render(&words, &Html);
        assert_eq!(pieces.len(), 3);
        let sum: usize = pieces
            .iter()
            .map(|piece| piece.plain.matches("wörd").count())
            .sum();
        assert_eq!(sum, 6_000);
        let quotes = "\"".repeat(10_000);
        assert!(markup::render(&quotes, &Html).len() > 1);
    }

    #[test]
    fn what_is_broken_is_text() {
        for html in [
            "a < b",
            "&",
            "a &am",
            "<a href=\"",
            "</a></blockquote>",
            "<br",
            "ü<",
        ] {
            let _ = plain(html);
        }
        assert_eq!(plain("a &amp"), "a &amp");
    }

    proptest! {
        #[test]
        fn an_edit_of_any_piece_fits_an_event(text in "([a-z*`#\"\\\\ >🦀ü\\[\\]()-]{0,400}\n){0,80}") {
            for piece in markup::render(&text, &Html) {
                let body = plain(&piece.written);
                let edit = 2 * json_bytes(&body) + json_bytes(&piece.written);
                prop_assert!(edit < 62_000, "{edit}");
            }
        }

        #[test]
        fn tags_are_closed_and_nothing_of_the_text_is_lost(text in "[a-z*`> \n&<]{0,80}") {
            for piece in markup::render(&text, &Html) {
                let (mut open, mut rest) = (Vec::new(), piece.written.as_str());
                while let Some(at) = rest.find('<') {
                    rest = &rest[at + 1..];
                    let tag = &rest[..rest.find('>').unwrap()];
                    match tag.strip_prefix('/') {
                        Some(name) => prop_assert_eq!(open.pop(), Some(name)),
                        None if tag == "br" => {}
                        None => open.push(tag.split(' ').next().unwrap()),
                    }
                }
                prop_assert!(open.is_empty(), "{:?}", piece);
                let letters = |text: &str| -> String {
                    text.chars().filter(char::is_ascii_lowercase).collect()
                };
                prop_assert_eq!(letters(&plain(&piece.written)), letters(&piece.plain));
            }
        }
    }
}
