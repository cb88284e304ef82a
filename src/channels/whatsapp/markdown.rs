//! WhatsApp's markup: <https://faq.whatsapp.com/539178204879377>. Pure.
//!
//! `*bold*`, `_italic_`, `~struck~`, `` `code` ``, code blocks between three backquotes, `> ` before a quoted line.
//! There are no headings, no links with words of their own, and no way to escape a mark. A mark counts only at the
//! edge of a word, on one line, and with its partner: marks of ours that would not count are left out, and those in a
//! text that would count are separated from their word by a character without a width.

use std::ops::Range;

use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, Level, Style};

/// Characters of one message. WhatsApp takes 65,536, but folds what is longer than a few screens.
const MESSAGE_CHARS: usize = 4096;

/// Separates a mark from its word.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// The styles that have a mark, outermost first.
const MARKS: [(Level, char); 3] = [
    (Level::Bold, '*'),
    (Level::Italic, '_'),
    (Level::Strike, '~'),
];

/// WhatsApp's markup as a format.
pub struct Markdown;

impl Format for Markdown {
    fn limit(&self) -> Limit {
        Limit {
            units: MESSAGE_CHARS,
            unit: Unit::Chars,
        }
    }

    fn can_link(&self, _: &str) -> bool {
        false
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let text = &document.text()[range.clone()];
        let start = range.start;
        let mut spans: Vec<Span<'_>> = document
            .stretches(range)
            .map(|(stretch, style)| Span {
                text: &text[stretch.start - start..stretch.end - start],
                style,
                marks: MARKS.map(|(level, _)| style.has(level) && !is_code(style)),
            })
            .collect();
        (0..MARKS.len()).for_each(|mark| drop_useless(&mut spans, mark));
        let mut writer = Writer::default();
        spans.iter().for_each(|span| writer.span(span));
        writer.set([false; MARKS.len()]);
        writer.out
    }
}

struct Span<'a> {
    text: &'a str,
    style: Style,
    /// Which of [`MARKS`] it has.
    marks: [bool; MARKS.len()],
}

fn is_code(style: Style) -> bool {
    style.has(Level::Code) || style.has(Level::Pre)
}

/// Takes a mark from what begins or ends within a word, where it would be shown as a character.
fn drop_useless(spans: &mut [Span<'_>], mark: usize) {
    let mut at = 0;
    while at < spans.len() {
        let run = spans[at..].iter().take_while(|span| span.marks[mark]);
        let end = at + run.count();
        if end == at {
            at += 1;
            continue;
        }
        let before = spans[..at]
            .last()
            .and_then(|span| span.text.chars().next_back());
        let after = spans.get(end).and_then(|span| span.text.chars().next());
        let first = spans[at].text.chars().next();
        let last = spans[end - 1].text.chars().next_back();
        let is_within = |outer: Option<char>, inner: Option<char>| {
            let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
            is_word(outer) && !inner.is_some_and(char::is_whitespace)
        };
        if is_within(before, first) || is_within(after, last) {
            spans[at..end]
                .iter_mut()
                .for_each(|span| span.marks[mark] = false);
        }
        at = end;
    }
}

#[derive(Default)]
struct Writer {
    out: String,
    open: [bool; MARKS.len()],
    /// White space that is not written yet: marks are close to their words.
    space: String,
    /// Whether the present line is in a quote.
    is_quoted: bool,
}

impl Writer {
    fn span(&mut self, span: &Span<'_>) {
        let is_quoted = span.style.has(Level::Quote);
        if span.style.has(Level::Pre) {
            self.flush([false; MARKS.len()], is_quoted);
            self.block(span.text);
        } else if span.style.has(Level::Code) {
            self.flush([false; MARKS.len()], is_quoted);
            self.code(span.text);
        } else {
            for token in span.text.split_inclusive(char::is_whitespace) {
                let word = token.trim_end();
                if !word.is_empty() {
                    self.flush(span.marks, is_quoted);
                    self.word(word, span.text);
                }
                self.space.push_str(&token[word.len()..]);
            }
        }
    }

    /// Writes the white space, with the marks that end before it and those that begin after it.
    fn flush(&mut self, marks: [bool; MARKS.len()], is_quoted: bool) {
        let space = std::mem::take(&mut self.space);
        let is_new_line = self.out.is_empty() || space.contains('\n');
        if marks != self.open || is_new_line {
            self.set([false; MARKS.len()]);
        }
        let was_quoted = std::mem::replace(&mut self.is_quoted, is_quoted);
        let lines = space.matches('\n').count();
        for (number, part) in space.split('\n').enumerate() {
            if number > 0 {
                self.out.push('\n');
                // Empty lines between two quoted paragraphs belong to the quote.
                if is_quoted && (was_quoted || number == lines) {
                    self.out.push_str("> ");
                }
            } else if self.out.is_empty() && is_quoted {
                self.out.push_str("> ");
            }
            self.out.push_str(part);
        }
        self.set(marks);
    }

    /// Closes and opens marks, so that these are open.
    fn set(&mut self, marks: [bool; MARKS.len()]) {
        if marks == self.open {
            return;
        }
        for (at, (_, mark)) in MARKS.iter().enumerate().rev() {
            if self.open[at] {
                self.out.push(*mark);
            }
        }
        for (at, (_, mark)) in MARKS.iter().enumerate() {
            if marks[at] {
                if self.out.ends_with(*mark) {
                    self.out.push(ZERO_WIDTH_SPACE);
                }
                self.out.push(*mark);
            }
        }
        self.open = marks;
    }

    /// Writes a word. A mark at its edge is separated from it, if another one in the text could be its partner.
    fn word(&mut self, word: &str, text: &str) {
        let is_mark = |char: char| "*_~`".contains(char);
        if !word.contains(is_mark) {
            return self.out.push_str(word);
        }
        let mut rest = word.chars().peekable();
        while let Some(char) = rest.next() {
            let is_before_word = rest.peek().is_some_and(|next| next.is_alphanumeric());
            let is_after_word = self.out.ends_with(char::is_alphanumeric);
            let is_edge = is_mark(char) && is_before_word != is_after_word;
            let has_partner = text.matches(char).count() > 1 || self.out.contains(char);
            if is_edge && has_partner && is_after_word {
                self.out.push(ZERO_WIDTH_SPACE);
            }
            self.out.push(char);
            if is_edge && has_partner && is_before_word {
                self.out.push(ZERO_WIDTH_SPACE);
            }
        }
    }

    /// Code within a line. With a backquote in it, only three of them hold it.
    fn code(&mut self, text: &str) {
        let fence = if text.contains(['`', '\n']) {
            "```"
        } else {
            "`"
        };
        self.out.push_str(fence);
        self.fenced(text);
        self.out.push_str(fence);
    }

    fn block(&mut self, text: &str) {
        let is_line_start = self.out.is_empty() || self.out.ends_with('\n');
        if !is_line_start && !self.out.ends_with("> ") {
            self.out.push('\n');
        }
        self.out.push_str("```\n");
        self.fenced(text);
        self.out.push_str("\n```");
    }

    /// Writes code without three backquotes in a row, which would end it.
    fn fenced(&mut self, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let mut parts = text.split("```");
        self.out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            self.out.push_str("``");
            self.out.push(ZERO_WIDTH_SPACE);
            self.out.push('`');
            self.out.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::markup::{draft, render};
    use proptest::prelude::*;

    fn written(markdown: &str) -> String {
        let pieces = render(markdown, &Markdown);
        let pieces: Vec<&str> = pieces.iter().map(|piece| piece.written.as_str()).collect();
        pieces.join("|")
    }

    #[test]
    fn marks_are_whatsapps() {
        for (markdown, expected) in [
            ("Hello", "Hello"),
            (
                "**bold** and *italic* and ~~gone~~",
                "*bold* and _italic_ and ~gone~",
            ),
            ("***both***", "*_both_*"),
            ("**bold *and italic***", "*bold* *_and italic_*"),
            ("# Title\n\ntext", "*Title*\n\ntext"),
            ("in**side**word", "insideword"),
            ("`df -h`", "`df -h`"),
            ("`` a`b ``", "```a`b```"),
            ("```sh\nls -l\n```", "```\nls -l\n```"),
            ("a\n\n```\nx\n```\n\nb", "a\n\n```\nx\n```\n\nb"),
            ("> one\n>\n> two", "> one\n> \n> two"),
            ("[words](https://a.b/c)", "words (https://a.b/c)"),
            ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
            ("rm \\*.o", "rm *.o"),
            ("\\*not bold\\*", "*\u{200b}not bold\u{200b}*"),
            ("**two\nlines**", "*two*\n*lines*"),
        ] {
            assert_eq!(written(markdown), expected, "{markdown}");
        }
    }

    #[test]
    fn a_list_and_a_table_stay_readable() {
        let list = written("- one\n- **two**\n\n1. three");
        assert!(list.contains("one\n") && list.contains("*two*"), "{list}");
        let table = written("| a | b |\n|---|---|\n| 1 | 2 |");
        assert!(
            table.starts_with("```\n") && table.ends_with("\n```"),
            "{table}"
        );
    }

    #[test]
    fn long_texts_are_cut_and_code_is_closed_in_each_piece() {
        let markdown = format!("```\n{}```", "line of code\n".repeat(900));
        let pieces = render(&markdown, &Markdown);
        assert!(pieces.len() > 2);
        for piece in &pieces {
            assert!(piece.written.chars().count() <= MESSAGE_CHARS);
            assert_eq!(piece.written.matches("```").count(), 2);
        }
        assert!(draft(&markdown, &Markdown).is_some());
    }

    proptest! {
        #[test]
        fn nothing_that_is_visible_is_lost(markdown in "[a-c*_~`> \n#-]{0,80}") {
            for piece in render(&markdown, &Markdown) {
                prop_assert!(Markdown.limit().holds(&piece.written));
                let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
                prop_assert_eq!(letters(&piece.written), letters(&piece.plain));
            }
        }
    }
}
