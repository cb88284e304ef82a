//! What becomes of each mark, and what holds for every text.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::text::markup::{draft, parse, render};

fn feishu(markdown: &str) -> Vec<String> {
    let pieces = render(markdown, &Markdown).into_iter();
    pieces.map(|piece| piece.written).collect()
}

/// What Feishu shows, as far as CommonMark says.
fn shown(written: &str) -> String {
    parse(written, &|_| true).text().to_owned()
}

const CASES: &[(&str, &str)] = &[
    ("Hello", "Hello"),
    ("5 * 3 and snake_case", "5 &#42; 3 and snake&#95;case"),
    ("C:\\new", "C:&#92;new"),
    ("a # b - c", "a # b - c"),
    ("\\# a\n\\- d\n\\+ e", "&#35; a\n&#45; d\n&#43; e"),
    ("1\\. a, 2. b", "1&#46; a, 2. b"),
    ("\\[a](http://x.y)", "&#91;a&#93;([http://x.y](http://x.y))"),
    ("R&D &amp;lt; &amp;#42;", "R&#38;D &#38;lt; &#38;#42;"),
    ("\\<at id=all>\\</at>", "&#60;at id=all&#62;&#60;/at&#62;"),
    (":OK: at 10:30", "&#58;OK: at 10:30"),
    ("a | b", "a &#124; b"),
    (
        "**bold** *italic* ~~gone~~ ***both***",
        "**bold** *italic* ~~gone~~ ***both***",
    ),
    ("**a***b*", "**a**\u{200b}*b*"),
    // Markdown has no mark between a punctuation mark and a letter: these asterisks are text.
    ("**注意。**后面", "&#42;&#42;注意。&#42;&#42;后面"),
    ("前面**“重要”**", "前面&#42;&#42;“重要”&#42;&#42;"),
    ("# Title", "# Title"),
    ("### **Deep**", "### Deep"),
    ("run `ls -l`", "run `ls -l`"),
    ("`` a`b ``", "`` a`b ``"),
    ("`<at id=all>`", "`<\u{200b}at id=all>`"),
    ("```rust\nfn f() {}\n```", "```rust\nfn f() {}\n```"),
    ("````\n```\n````", "````\n```\n````"),
    ("- a\n- b", "- a\n- b"),
    ("1. a\n2. b", "1. a\n2. b"),
    ("> a\n>\n> b", "> a\n> \n> b"),
    (
        "[Rust](https://rust-lang.org)",
        "[Rust](https://rust-lang.org)",
    ),
    (
        "[wiki](https://a.org/b_(c))",
        "[wiki](https://a.org/b&#95;%28c%29)",
    ),
    (
        "see https://a.org/b_c. Or",
        "see [https://a.org/b&#95;c](https://a.org/b&#95;c). Or",
    ),
    (
        "[https://a.b](https://c.d)",
        "[https://a.b](https://a.b) ([https://c.d](https://c.d))",
    ),
];

#[test]
fn every_mark_is_written_as_feishu_reads_it() {
    for (markdown, expected) in CASES {
        assert_eq!(feishu(markdown).join("|"), *expected, "{markdown}");
    }
}

#[test]
fn a_table_is_code() {
    let written = feishu("| a | b |\n|---|---|\n| 1 | 2 |").join("");
    assert!(
        written.starts_with("```") && written.contains("1"),
        "{written}"
    );
}

#[test]
fn a_long_text_is_cut_where_its_card_is_full() {
    let words = "word \"quoted\" \\*star\\*\n\n".repeat(4000);
    let pieces = render(&words, &Markdown);
    assert!(pieces.len() > 3);
    for piece in &pieces {
        assert!(piece.written.len() <= MESSAGE_BYTES);
        assert!(json_bytes(&piece.written) <= MESSAGE_JSON_BYTES);
    }
    let twice = serde_json::json!({"a": serde_json::json!({"b": pieces[0].written}).to_string()});
    assert!(twice.to_string().len() <= MESSAGE_JSON_BYTES + 40);
    let draft = draft(&words, &Markdown).unwrap();
    assert!(json_bytes(&draft.written) <= MESSAGE_JSON_BYTES);
}

#[test]
fn entities_are_read_back() {
    assert_eq!(
        without_entities("a&#42;b &#x; &#99999999; &#"),
        "a*b &#x; &#99999999; &#"
    );
}

proptest! {
    /// Whatever was written means the same characters to a reader of CommonMark.
    #[test]
    fn text_shows_as_it_was(words in vec("[a-z*_~`\\[\\]()<>#+=|\\\\&:;.!0-9@-]{1,8}", 1..12)) {
        let text = words.join(" ");
        let written = feishu(&crate::text::markup::plain(&text)).join(" ");
        let is_link = text.contains("://");
        if !is_link {
            let shown = shown(&written);
            prop_assert_eq!(shown.trim(), text.trim(), "{}", written);
        }
    }

    #[test]
    fn every_text_fits_and_notifies_nobody(text in ".{0,300}|(\\PC|\n|[*_`<>#at =id]){0,300}") {
        for piece in render(&text, &Markdown) {
            prop_assert!(piece.written.len() <= MESSAGE_BYTES);
            prop_assert!(!piece.written.contains("<at"), "{}", piece.written);
        }
        if let Some(piece) = draft(&text, &Markdown) {
            prop_assert!(!piece.written.contains("<at"));
        }
    }
}
