//! What holds for every text, and for the worst of them.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{draft, render};
use super::checker::text_of;
use super::html;
use crate::text::markup::code_block;

/// Pieces of syntax, as they come in answers and as nobody would write them.
#[rustfmt::skip]
const SYNTAX: &[&str] = &[
    "*", "**", "***", "_", "__", "~~", "~", "`", "``", "```", "```rust\n", "~~~\n", "\n", "\n\n",
    "  \n", " ", "    ", "\t", "- ", "* ", "+ ", "1. ", "99) ", "  - ", "- [ ] ", "- [x] ", "> ",
    ">> ", "# ", "### ", "---\n", "===\n", "|", "|-|-|\n", "|:-:|--:|\n", "| a | b |\n", "[", "]",
    "](", "](http://x.y)", "](http://x.y \"t\")", "](evil:x)", "![", "[a]: http://a.b\n", "[a]",
    "<", ">", "<b>", "</b>", "<br>", "<div>\n", "<!-- ", " -->", "<https://a.b>", "<a@b.c>", "&",
    "&amp;", "&lt;", "&#0;", "&#x202e;", "&nbsp;", "\\", "\\*", "\"", "'", "word", "two words",
    "é", "🦀", "👩‍👩‍👧", "שלום", "\u{200f}", "\u{200b}", "\u{feff}", "名前", "e\u{301}", "\r", "\r\n",
    "\0", "\u{b}", "\u{a0}", "\u{2028}",
];

/// What makes the longest texts that are heavy in one way or another.
#[rustfmt::skip]
const HEAVY: &[&str] = &[
    "*", "[", ">", "> ", "- ", "- a", "`", "<", "![", "[a](", "*a ", "_a*", "a**b", "|", "\\",
    "&", "# a\n", "\n", "a\n", "a  \n", "- a\n", "1. a\n", "```\n", "aaaa[", "aaaaa*",
    "**aaaa** ", "<http:a>aaa ", "> a\n\naa\n\n", "\t", "\u{200b}", "    \n", "word ", "🦀",
];

/// Bytes of the longest text that is kept for a person.
const BYTES: usize = 160 * 1024;

/// Far more than a heavy text needs, even here, where nothing is optimised and others are at work;
/// far less than one whose time grows with the square of its length.
const LONG: Duration = Duration::from_secs(20);

fn heavy() -> Vec<String> {
    let halves = |one: &str, two: &str| {
        one.repeat(BYTES / 2 / one.len()) + &two.repeat(BYTES / 2 / two.len())
    };
    let mut texts: Vec<String> = HEAVY
        .iter()
        .map(|unit| unit.repeat(BYTES / unit.len()))
        .collect();
    texts.push(halves("> ", "a\n"));
    texts.push(halves("- ", "\na"));
    texts.push(format!(
        "[a]: http://{}\n\n{}",
        "x".repeat(BYTES / 2),
        "[a] aaaa".repeat(BYTES / 16)
    ));
    texts.push(format!(
        "|{}\n|{}\n{}",
        "a|".repeat(1000),
        "-|".repeat(1000),
        "|a\n".repeat(8000)
    ));
    texts.push(format!(
        "|a|b|\n|-|-|\n|{}|b|\n{}",
        "x".repeat(BYTES / 2),
        "|aaaa|b|\n".repeat(8000)
    ));
    texts.push(format!("```\n{}", halves("\n", "\t")));
    let stairs = (0..40).map(|step| " ".repeat(64 * step) + &"- ".repeat(32) + "a\n");
    texts.push(stairs.collect::<String>() + &"a\n".repeat(15_000));
    texts
}

#[test]
fn no_text_takes_long_or_grows_much() {
    for text in heavy() {
        let begin = Instant::now();
        let bytes: usize = html(&text).iter().map(String::len).sum();
        draft(&text);
        let beginning = &text[..text.floor_char_boundary(20)];
        assert!(bytes <= 6 * BYTES, "{beginning:?}: {bytes} bytes");
        assert!(
            begin.elapsed() < LONG,
            "{beginning:?}: {:?}",
            begin.elapsed()
        );
    }
}

fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}

fn syntax() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => prop::sample::select(SYNTAX).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => ("[a-z*_` ]{1,3}", 1..2000usize).prop_map(|(text, times)| text.repeat(times)),
    ];
    vec(part, 0..60).prop_map(|parts| parts.concat())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => "[a-zA-Zäß名🦀&<\"]{1,40}",
        1 => (1..5000usize).prop_map(|length| "x".repeat(length)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_comes_telegram_accepts_it(text in syntax()) {
        let pieces = html(&text);
        prop_assert_eq!(pieces, html(&text));
        if let Some(piece) = draft(&text) {
            prop_assert_eq!(text_of(&piece.html), Ok(piece.plain));
        }
    }

    #[test]
    fn no_word_of_a_text_is_lost(
        paragraphs in vec(vec(word(), 1..60), 1..6),
    ) {
        let paragraphs = paragraphs.iter().map(|words| words.join(" "));
        let text = paragraphs.collect::<Vec<_>>().join("\n\n");
        let shown: String = render(&text).iter().map(|piece| letters(&piece.plain)).collect();
        prop_assert_eq!(shown, letters(&text));
    }

    #[test]
    fn no_letter_of_code_is_lost(text in "([ -~äß🦀]{0,80}\n){0,100}", language in "[ -~]{0,20}") {
        let pieces = render(&code_block(&text, &language));
        let shown: String = pieces.iter().map(|piece| letters(&piece.plain)).collect();
        prop_assert_eq!(shown, letters(&text));
        for piece in pieces {
            prop_assert!(piece.html.starts_with("<pre>") && piece.html.ends_with("</pre>"));
        }
    }
}
