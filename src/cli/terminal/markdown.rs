//! Markdown for a terminal, as it streams: text in, text with SGR codes out.
//!
//! What has been printed stays, so only what more text will hardly change is printed: complete blocks,
//! and the last one as far as no unclosed mark leaves it open.
//!
//! A model's text is untrusted: control characters are dropped, so that it cannot move the cursor, set
//! the title or answer the terminal's questions (ECMA-48).

use std::ops::Range;

use crate::limits::cli::PARSES_PER_BYTE;
use crate::markup::{Document, Growing, Level, Style, parse_growing, parse_grown};

/// Renders a stream of Markdown.
#[derive(Default)]
pub struct Renderer {
    /// The Markdown of the last block, and of those before it that are not shown yet.
    source: String,
    /// Bytes that came after the source was last parsed.
    unparsed: usize,
    /// What has been shown of the source's text.
    shown: String,
    /// Whether a complete block stands directly above what comes next.
    is_apart: bool,
    /// Whether the cursor stands behind something in its line.
    in_line: bool,
    /// The terminal's style, as SGR parameters.
    codes: String,
}

impl Renderer {
    /// A renderer at the beginning of a text and of a line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and appends what can be shown to `out`.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        let visible = piece.chars().filter(|c| visible(*c));
        self.source.extend(visible);
        self.unparsed += piece.len();
        // A block that grows by single words would take a time that grows with the square of its
        // length.
        if self.unparsed * PARSES_PER_BYTE >= self.source.len() {
            self.unparsed = 0;
            self.show(&parse_growing(&self.source), out);
        }
    }

    /// The text has ended: shows what was held back and sets the terminal back to plain.
    pub fn finish(&mut self, out: &mut String) {
        self.show(&parse_grown(&self.source), out);
        self.switch("", out);
        *self = Self::default();
    }

    fn show(&mut self, growing: &Growing, out: &mut String) {
        let text = growing.document.text();
        let end = growing.settled.clamp(growing.block_text, text.len());
        let (from, is_same) = continuation(&self.shown, text);
        if from < end {
            if !is_same {
                self.newline(out);
            } else if self.is_apart && self.shown.is_empty() {
                self.newline(out);
                self.newline(out);
            }
            self.write(&growing.document, from..end, out);
            self.is_apart = false;
            text[..end].clone_into(&mut self.shown);
        }
        if growing.block_source > 0 {
            // What was shown of the last block goes on; the blocks before it are done.
            self.source.drain(..growing.block_source);
            self.is_apart |= growing.block_text > 0 && end == growing.block_text;
            let last = &text[growing.block_text..end];
            last.trim_start_matches('\n').clone_into(&mut self.shown);
        }
    }

    fn write(&mut self, document: &Document, range: Range<usize>, out: &mut String) {
        let text = document.text();
        // The character before shows whether a code block begins here or goes on.
        let before = text.floor_char_boundary(range.start.saturating_sub(1));
        let mut last = 0;
        for (stretch, style) in document.stretches(before..range.end) {
            let code = style.get(Level::Pre);
            let language = document.value(Level::Pre, style);
            let new = stretch.start.max(range.start)..stretch.end;
            if !new.is_empty() {
                if stretch.start >= range.start && code != last && !language.is_empty() {
                    self.put(language, Style::default().with(Level::Aside, 1), out);
                    self.newline(out);
                }
                self.put(&text[new], style, out);
            }
            last = code;
        }
    }

    fn put(&mut self, text: &str, style: Style, out: &mut String) {
        for c in text.chars().filter(|c| visible(*c)) {
            if !self.in_line && style.has(Level::Quote) {
                self.switch(FAINT, out);
                out.push_str("│ ");
            }
            if c == '\n' {
                self.newline(out);
                continue;
            }
            self.switch(&codes(style), out);
            out.push(c);
            self.in_line = true;
        }
    }

    fn newline(&mut self, out: &mut String) {
        self.switch("", out);
        out.push('\n');
        self.in_line = false;
    }

    fn switch(&mut self, codes: &str, out: &mut String) {
        if self.codes != codes {
            out.push_str("\x1b[0");
            out.push_str(codes);
            out.push('m');
            codes.clone_into(&mut self.codes);
        }
    }
}

const FAINT: &str = ";2";

/// The SGR parameters of a style (ECMA-48).
fn codes(style: Style) -> String {
    [
        (Level::Bold, ";1"),
        (Level::Mark, FAINT),
        (Level::Aside, FAINT),
        (Level::Italic, ";3"),
        (Level::Heading, ";4"),
        (Level::Strike, ";9"),
        (Level::Code, ";36"),
        (Level::Pre, ";36"),
    ]
    .iter()
    .filter(|(level, _)| style.has(*level))
    .map(|(_, code)| *code)
    .collect()
}

/// Where a text goes on after what has been shown of it, and whether that is still how it begins; if
/// not, the beginning of the first line that differs. White space may have changed: a list that becomes
/// loose parts the items that it has.
fn continuation(shown: &str, text: &str) -> (usize, bool) {
    if text.starts_with(shown) {
        return (shown.len(), true);
    }
    let is_visible = |(_, c): &(usize, char)| !c.is_whitespace();
    let mut visible = text.char_indices().filter(is_visible);
    let mut end = 0;
    for (_, expected) in shown.char_indices().filter(is_visible) {
        match visible.next() {
            Some((place, c)) if c == expected => end = place + c.len_utf8(),
            _ => return (text[..end].rfind('\n').map_or(0, |line| line + 1), false),
        }
    }
    (end, true)
}

pub use crate::text::is_prose as visible;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut renderer = Renderer::new();
        let mut out = String::new();
        for piece in pieces {
            renderer.push(piece, &mut out);
        }
        renderer.finish(&mut out);
        out
    }

    /// Renders, and writes the codes as `<1>` so that a table can be read.
    fn render(text: &str) -> String {
        shorten(&stream([text]))
    }

    fn shorten(out: &str) -> String {
        let sequences = out.replace("\x1b[0m", "<>").replace("\x1b[0;", "<\x1b");
        let mut parts = sequences.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |out, part| out + &part.replacen('m', ">", 1))
    }

    fn characters(text: &str) -> impl Iterator<Item = &str> {
        text.split_inclusive(|_| true)
    }

    const TABLE: &[(&str, &str)] = &[
        ("plain text", "plain text"),
        ("two\nlines\n", "two\nlines"),
        ("a **bold** word", "a <1>bold<> word"),
        (
            "an *italic* and _another_",
            "an <3>italic<> and <3>another<>",
        ),
        ("***both***", "<1;3>both<>"),
        ("~~gone~~", "<9>gone<>"),
        ("`code` here", "<36>code<> here"),
        ("``a ` b``", "<36>a ` b<>"),
        ("2 * 3 * 4 ~ 5 & 6 < 7", "2 * 3 * 4 ~ 5 & 6 < 7"),
        ("snake_case_name", "snake_case_name"),
        ("a \\*star\\*", "a *star*"),
        ("C:\\new", "C:\\new"),
        ("AT&amp;T &lt;3", "AT&T <3"),
        ("# Title\ntext", "<1;4>Title<>\n\ntext"),
        ("## A `b` c", "<1;4>A <4;36>b<1;4> c<>"),
        ("#hashtag", "#hashtag"),
        ("- one\n- two", "<2>• <>one\n<2>• <>two"),
        ("text\n* a\n  * nested", "text\n\n<2>• <>a\n  <2>• <>nested"),
        ("1. first\n2. second", "<2>1. <>first\n<2>2. <>second"),
        ("1. a\n\n   b\n\n2. c", "<2>1. <>a\n\n  b\n\n<2>2. <>c"),
        ("2026 was", "2026 was"),
        ("3.14 is pi", "3.14 is pi"),
        (
            "> quoted **b**\n> more",
            "<2>│ <>quoted <1>b<>\n<2>│ <>more",
        ),
        ("> a\n>\n> b\n\nc", "<2>│ <>a\n<2>│ <>\n<2>│ <>b\n\nc"),
        ("a\n\n---\n\nb", "a\n\n<2>———<>\n\nb"),
        ("**bold** at the start", "<1>bold<> at the start"),
        (
            "```rust\nlet a = \"**\";\n\n\tb\n```\nafter",
            "<2>rust<>\n<36>let a = \"**\";<>\n\n<36>    b<>\n\nafter",
        ),
        ("```\nnever closed", "<36>never closed<>"),
        ("[text](http://a.b) x", "text<2> (http://a.b)<> x"),
        ("[http://a.b](http://a.b)", "http://a.b"),
        ("<http://a.b> c", "http://a.b c"),
        ("[**bold** link](x)", "<1>bold<> link<2> (x)<>"),
        ("![cat](x.png)", "cat<2> (x.png)<>"),
        ("an [array] index", "an [array] index"),
        ("open [never closed\nnext", "open [never closed\nnext"),
        ("unclosed **bold\nnext", "unclosed **bold\nnext"),
        ("unclosed *a\n\nnext `b\n\nc", "unclosed *a\n\nnext `b\n\nc"),
        ("a | b\nnext", "a | b\nnext"),
        (
            "| a | b |\n|---|--:|\n| ccc | 4 |\n\nafter",
            "<36>a   | b<>\n<36>----+--<>\n<36>ccc | 4<>\n\nafter",
        ),
        ("- [ ] task\n- [x] done", "<2>☐ <>task\n<2>☑ <>done"),
        (
            "<b>x</b>\n\n<div>\ny\n</div>",
            "<b>x</b>\n\n<div>\ny\n</div>",
        ),
        ("a\u{1b}[2J &#27;[2J &#x202e;b", "a[2J [2J b"),
    ];

    #[test]
    fn every_mark_becomes_a_style() {
        for (text, expected) in TABLE {
            assert_eq!(render(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_that_comes_in_characters_looks_the_same() {
        for (text, expected) in TABLE {
            let out = shorten(&stream(characters(text)));
            assert_eq!(out, *expected, "{text:?}");
        }
        let all: Vec<&str> = TABLE.iter().map(|(text, _)| *text).collect();
        // What is never closed would take in what follows.
        let all = all
            .join("\n\nnext\n\n")
            .replace("```\nnever closed", "")
            .replace("[1]:", "");
        assert_eq!(shorten(&stream(characters(&all))), render(&all));
    }

    #[test]
    fn a_definition_that_comes_too_late_for_its_link_is_shown() {
        let text = "see [a][1].\n\n[1]: http://x.y";
        assert_eq!(stream(characters(text)), text);
    }

    #[test]
    fn words_are_shown_while_they_come() {
        let mut renderer = Renderer::new();
        for (piece, expected) in [
            ("Hello", "Hello"),
            (" the", " the"),
            ("re, **bo", "re,"),
            ("ld** a", " \x1b[0;1mbold\x1b[0m a"),
            ("nd\n- it", "nd\n\n\x1b[0;2m• \x1b[0mit"),
            ("em *one", "em"),
            ("\n- two", " *one\n\x1b[0;2m• \x1b[0mtwo"),
            ("\n\n```sh\nls -", "\n\n\x1b[0;2msh\x1b[0m\n\x1b[0;36mls -"),
            ("l\npw", "l\x1b[0m\n\x1b[0;36mpw"),
            ("d\n``", "d"),
            ("`\n", ""),
            ("Done.", "\x1b[0m\n\nDone."),
        ] {
            let mut out = String::new();
            renderer.push(piece, &mut out);
            assert_eq!(out, expected, "{piece:?}");
        }
    }

    #[test]
    fn a_beginning_that_turns_out_otherwise_is_shown_again() {
        assert_eq!(continuation("a b", "a  b\n\nc"), (4, true));
        assert_eq!(continuation("x\na *b", "x\na b"), (2, false));
        assert_eq!(continuation("abc", "ab"), (0, false));
        // What has been printed keeps its style.
        assert_eq!(stream(characters("Title\n===\n\ntext")), "Title\n\ntext");
        let mut renderer = Renderer {
            shown: "x\na *b".to_owned(),
            in_line: true,
            ..Renderer::new()
        };
        let mut out = String::new();
        renderer.push("x\na b c", &mut out);
        assert_eq!(out, "\na b c");
    }

    #[test]
    fn a_model_cannot_command_the_terminal() {
        let shown = render("a\x1b]0;title\x07b\u{9b}31mc\rd\u{202e}e");
        assert_eq!(shown, "a]0;titleb31mcde");
    }

    #[test]
    fn a_long_block_is_not_parsed_for_each_of_its_words() {
        let mut renderer = Renderer::new();
        let mut out = String::new();
        renderer.push(&"a ".repeat(50_000), &mut out);
        out.clear();
        renderer.push("word ", &mut out);
        assert_eq!(out, "");
        renderer.finish(&mut out);
        assert_eq!(out, " word");
    }

    fn letters(text: &str) -> String {
        text.chars().filter(char::is_ascii_lowercase).collect()
    }

    /// The text without SGR codes.
    fn plain(out: &str) -> String {
        let mut parts = out.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        let text = |part: &str| {
            part.split_once('m')
                .map_or("?".to_owned(), |(_, text)| text.to_owned())
        };
        parts.fold(first, |plain, part| plain + &text(part))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn no_letter_is_lost_however_the_text_is_cut(
            text in "([-a-z0-9_*`~#>.|=+!<&; \\[\\]():\\\\]{0,12}\n{0,2}){0,12}",
            length in 1_usize..20,
        ) {
            let cuts = text.as_bytes().chunks(length).map(|piece| std::str::from_utf8(piece).unwrap());
            let streamed = plain(&stream(cuts));
            let whole = letters(&plain(&stream([text.as_str()])));
            let streamed = letters(&streamed);
            let mut rest = streamed.chars();
            prop_assert!(whole.chars().all(|c| rest.any(|other| other == c)), "{streamed} of {whole}");
        }

        #[test]
        fn words_with_common_marks_look_the_same_however_they_come(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "word", "**bold**", "*it*", "`code`", "two words", "[a](http://x.y)", "5 * 3",
                    "\n", "\n\n", "\n- item", "\n\n# Head\n\n", "\n\n```sh\nls\n```\n\n", "~~s~~,",
                    "\n\n| a | b |\n|---|---|\n| c | d |\n\n", "\n\n> quote\n\n", "**a *b* c**.",
                ]),
                0..20,
            ),
            length in 1_usize..20,
        ) {
            let text = words.join(" ");
            let cuts = text.as_bytes().chunks(length).map(|piece| std::str::from_utf8(piece).unwrap());
            // A list that becomes loose only parts what comes from then on.
            let tight = |out: String| out.replace("\n\n", "\n");
            prop_assert_eq!(tight(stream(cuts)), tight(stream([text.as_str()])), "{:?}", text);
        }
    }
}
