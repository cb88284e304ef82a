use proptest::prelude::*;

use super::*;
use crate::channels::slack::event::text::{Use, decode};
use crate::text::markup;

fn write(markdown: &str) -> String {
    let pieces = markup::render(markdown, &MESSAGE);
    assert!(pieces.len() <= 1, "{pieces:?}");
    pieces.into_iter().map(|piece| piece.written).collect()
}

#[test]
fn styles_are_written_with_slacks_marks() {
    for (markdown, expected) in [
        (
            "**bold** and *it* and ~~gone~~",
            "*bold* and _it_ and ~gone~",
        ),
        ("***both***", "*_both_*"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("`a*b` `x`", "`a*b` `x`"),
        ("**a\nb**", "*a*\n*b*"),
        ("un**believ**able", "un\u{200b}*believ*\u{200b}able"),
        ("**bold `code` bold**", "*bold* `code` *bold*"),
        ("* one\n* two", "• one\n• two"),
        ("1. one\n2. two", "1. one\n2. two"),
    ] {
        assert_eq!(write(markdown), expected, "{markdown}");
    }
}

#[test]
fn links_and_addresses_lead_where_they_say() {
    for (markdown, expected) in [
        (
            "[page](https://a.b/?x=1&y=2)",
            "<https://a.b/?x=1&amp;y=2|page>",
        ),
        (
            "[**bold** page](https://a.b)",
            "*<https://a.b|bold>* <https://a.b|page>",
        ),
        ("<https://a.b/c_d_e>", "<https://a.b/c_d_e>"),
        (
            "see https://a.b/\\_c\\_/d, ok",
            "see <https://a.b/_c_/d>, ok",
        ),
        ("[a](ftp://x.y)", "a (ftp://x.y)"),
        ("**[page](https://a.b)**", "*<https://a.b|page>*"),
    ] {
        assert_eq!(write(markdown), expected, "{markdown}");
    }
}

#[test]
fn code_blocks_keep_their_text() {
    assert_eq!(write("```rust\nlet a = *b;\n```"), "```\nlet a = *b;\n```");
    assert_eq!(
        write("text\n\n```\na < b && c\n```\n\nmore"),
        "text\n\n```\na &lt; b &amp;&amp; c\n```\n\nmore"
    );
    let table = write("| a | b |\n|---|---|\n| 1 | 2 |");
    assert!(
        table.starts_with("```\n") && table.ends_with("\n```"),
        "{table}"
    );
    assert!(table.contains("a | b"), "{table}");
}

#[test]
fn quotes_begin_each_of_their_lines() {
    assert_eq!(write("> a\n> b\n\nc"), "> a\n> b\n\nc");
    assert_eq!(write("> a\n>\n> b"), "> a\n> \n> b");
    assert_eq!(write("\\> no quote"), "\u{200b}&gt; no quote");
}

#[test]
fn nothing_in_a_text_is_a_mention() {
    assert_eq!(
        write("\\<!channel> &lt;@U123&gt; @here"),
        "&lt;!channel&gt; &lt;@U123&gt; @here"
    );
}

#[test]
fn a_pair_of_marks_by_chance_is_none() {
    for (markdown, expected) in [
        ("2 \\* 3 \\* 4", "2 * 3 * 4"),
        ("snake_case_name", "snake_case_name"),
        ("\\*args and \\*\\*kwargs", "*args and **kwargs"),
        ("a \\*b\\* c", "a ∗b∗ c"),
        ("\\_private\\_", "ˍprivateˍ"),
        ("~/a and ~/b", "~/a and ~/b"),
        ("a \\`b\\` c", "a ˋbˋ c"),
        ("**a \\* b**", "*a ∗ b*"),
    ] {
        assert_eq!(write(markdown), expected, "{markdown}");
    }
}

#[test]
fn a_long_text_is_cut_within_the_limit() {
    let text = "wörd & <more> ".repeat(2_000);
    let pieces = markup::render(&text, &MESSAGE);
    assert!(pieces.len() > 2, "{}", pieces.len());
    for piece in &pieces {
        assert!(piece.written.encode_utf16().count() <= MESSAGE_UNITS);
    }
    let code = format!("```\n{}\n```", "let x = 1;\n".repeat(3_000));
    for piece in markup::render(&code, &MESSAGE) {
        assert!(piece.written.starts_with("```\n") && piece.written.ends_with("\n```"));
    }
}

#[test]
fn twenty_kilobytes_are_two_messages() {
    let paragraph = format!("{}\n\n", "A sentence of an answer. ".repeat(12));
    let text = paragraph.repeat(20_000 / paragraph.len());
    assert_eq!(markup::render(&text, &MESSAGE).len(), 2);
    let draft = markup::draft(&text, &DRAFT).unwrap();
    assert!(draft.written.encode_utf16().count() <= EDIT_UNITS);
}

#[test]
fn the_blocks_of_a_long_text_are_all_of_it() {
    let code = "let x = 1;\n".repeat(400);
    for text in [
        "One *bold* line.\n".repeat(600),
        format!("Before\n```\n{code}```\nafter"),
        "wörd ".repeat(2_000),
        "😀".repeat(4_000),
        String::new(),
    ] {
        let sections = sections(&text);
        for section in &sections {
            assert!(section.encode_utf16().count() <= SECTION_UNITS);
            assert_eq!(section.matches("```").count() % 2, 0, "{section}");
        }
        let bare = |text: &str| {
            text.replace("```", "")
                .split_whitespace()
                .collect::<String>()
        };
        assert_eq!(bare(&sections.concat()), bare(&text));
    }
}

#[test]
fn addresses_are_found_in_texts() {
    for (text, expected) in [
        ("see https://a.b/c.", Some("https://a.b/c")),
        ("(http://a.b)", Some("http://a.b")),
        ("xhttp://a", None),
        ("https://", None),
        ("ftp://a https://b", Some("https://b")),
        ("", None),
    ] {
        let found = find_address(text).map(|(start, length)| &text[start..start + length]);
        assert_eq!(found, expected, "{text}");
    }
}

proptest! {
    #[test]
    fn every_text_is_shown_and_escaped(markdown in "[a-z*_~`<>&|:/ \n#-]{0,80}|.{0,60}") {
        let document = markup::parse(&markdown, &|address| MESSAGE.can_link(address));
        for piece in markup::render(&markdown, &MESSAGE) {
            // Each `<` begins a link of ours, which ends.
            for part in piece.written.split('<').skip(1) {
                prop_assert!(part.contains('>'), "{:?}", piece.written);
                let address = part.split(['|', '>']).next().unwrap();
                let address = decode(address, Use::Command, &|_| None);
                prop_assert!(has_scheme(&address, &["http", "https", "mailto"]), "{:?}", piece.written);
            }
            prop_assert!(document.text().contains(piece.plain.trim()));
            // No word is lost.
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).count();
            let shown = decode(&piece.written, Use::Prose, &|_| None);
            prop_assert!(letters(&shown) >= letters(&piece.plain), "{:?}", piece);
        }
    }
}
