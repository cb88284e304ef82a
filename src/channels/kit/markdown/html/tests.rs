//! What becomes of an answer's Markdown, where it is cut, and what never happens.

mod cases;
mod checker;
mod properties;

use self::cases::CHAPTERS;
use self::checker::text_of;
use super::*;
use crate::text::markup::{code_block, inline_code};
use std::borrow::Cow;

/// The pieces' HTML, after each was read as Telegram reads it.
fn html(markdown: &str) -> Vec<String> {
    let check = |piece: Piece| {
        let text = text_of(&piece.html).unwrap_or_else(|wrong| panic!("{wrong} in {piece:?}"));
        assert_eq!(text, piece.plain);
        piece.html
    };
    render(markdown).into_iter().map(check).collect()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[test]
fn every_mark_becomes_what_telegram_knows() {
    let mut count = 0;
    for (chapter, pairs) in CHAPTERS {
        for (markdown, expected) in *pairs {
            let pieces = html(markdown).concat();
            assert_eq!(pieces, *expected, "{chapter}: {markdown:?}");
            count += 1;
        }
    }
    assert!(count >= 60, "only {count}");
}

#[test]
fn what_cannot_be_seen_is_no_message() {
    for nothing in [
        "",
        " \n\t\n",
        "\u{200b}\u{feff}",
        "&nbsp;",
        "> \n> ",
        "[a]: http://x.y",
    ] {
        assert_eq!(render(nothing), [], "{nothing:?}");
        assert_eq!(draft(nothing), None, "{nothing:?}");
    }
}

#[test]
fn without_markup_the_same_words_remain() {
    let piece = &render("**a** & `b` [c](http://x.y)")[0];
    assert_eq!(piece.plain, "a & b c");
}

#[test]
fn a_tower_of_syntax_is_shown_as_it_stands() {
    let tower = "- ".repeat(40) + "**top**";
    assert_eq!(html(&tower), [tower]);
}

#[test]
fn an_address_that_is_too_long_is_shown_and_not_linked() {
    let address = format!("http://x.y/{}", "a".repeat(LINK_BYTES));
    assert_eq!(html(&format!("[b]({address})")), [format!("b ({address})")]);
}

#[test]
fn a_text_of_exactly_one_message_stays_one() {
    let text = "🦀".repeat(PIECE_UNITS / 2);
    assert_eq!(html(&text).concat(), text);
    assert_eq!(html(&text).len(), 1);
    assert_eq!(html(&format!("{text}x")), [text, "x".to_owned()]);
}

#[test]
fn a_long_text_is_cut_between_paragraphs() {
    let paragraph = "word ".repeat(300).trim().to_owned();
    let text = [paragraph.as_str(); 4].join("\n\n");
    let two = format!("{paragraph}\n\n{paragraph}");
    assert_eq!(html(&text), [two.clone(), two]);
}

#[test]
fn a_long_paragraph_is_cut_between_lines_and_a_long_line_between_words() {
    let line = "x".repeat(1500);
    let lines = [line.as_str(); 4].join("\n");
    let two = format!("{line}\n{line}");
    assert_eq!(html(&lines), [two.clone(), two]);

    let words = [line.as_str(); 4].join(" ");
    let two = format!("{line} {line}");
    assert_eq!(html(&words), [two.clone(), two]);
}

#[test]
fn a_long_word_is_cut_where_the_message_ends_but_not_within_a_letter() {
    let word = format!("x{}", "🦀".repeat(PIECE_UNITS));
    let pieces = html(&word);
    assert_eq!(pieces.len(), 3);
    assert_eq!(units(&pieces[0]), PIECE_UNITS - 1);
    assert_eq!(pieces.concat(), word);
}

#[test]
fn a_short_beginning_does_not_make_a_short_message() {
    let text = format!("short\n\n{}", "word ".repeat(1200).trim());
    let pieces = html(&text);
    assert_eq!(pieces.len(), 2);
    assert!(units(&pieces[0]) > PIECE_UNITS - 10);
}

#[test]
fn an_escaped_letter_is_never_cut() {
    let pieces = html(&"&".repeat(PIECE_UNITS + 1));
    assert_eq!(pieces, ["&amp;".repeat(PIECE_UNITS), "&amp;".to_owned()]);
}

#[test]
fn what_is_open_at_a_cut_is_closed_and_opened_again() {
    let words = "word ".repeat(1000);
    let pieces = html(&format!("> **{}**", words.trim()));
    assert_eq!(pieces.len(), 2);
    for piece in pieces {
        assert!(piece.starts_with("<blockquote><b>word"), "{piece}");
        assert!(piece.ends_with("word</b></blockquote>"), "{piece}");
    }
}

#[test]
fn a_code_block_goes_on_with_its_language_and_indentation() {
    let line = format!("    {}\n", "x".repeat(95));
    let pieces = html(&code_block(&line.repeat(60), "rust"));
    assert_eq!(pieces.len(), 2);
    for piece in &pieces {
        assert!(
            piece.starts_with("<pre><code class=\"language-rust\">    x"),
            "{piece}"
        );
        assert!(piece.ends_with("x</code></pre>"), "{piece}");
    }
    let count = |piece: &String| piece.lines().count();
    assert_eq!(pieces.iter().map(count).collect::<Vec<_>>(), [40, 20]);
}

#[test]
fn a_message_has_no_more_marks_than_telegram_shows() {
    let pieces = html(&"**a** ".repeat(250));
    let marks = |piece: &String| piece.matches("<b>").count();
    assert_eq!(pieces.iter().map(marks).collect::<Vec<_>>(), [100, 100, 50]);
}

#[test]
fn many_long_links_do_not_make_a_huge_request() {
    let link = format!("[a](http://x.y/{}) ", "b".repeat(1900));
    let pieces = html(&link.repeat(40));
    assert_eq!(pieces.len(), 3);
}

#[test]
fn a_draft_shows_the_end_of_what_is_too_long() {
    assert_eq!(draft("**a** b").unwrap().html, "<b>a</b> b");

    let lines: Vec<String> = (0..2000).map(|number| format!("line {number}")).collect();
    let piece = draft(&lines.join("\n")).unwrap();
    assert_eq!(text_of(&piece.html).as_ref(), Ok(&piece.plain));
    assert!(piece.html.starts_with("…\nline "), "{}", piece.html);
    assert!(piece.html.ends_with("line 1999"), "{}", piece.html);
    assert!(units(&piece.plain) > PIECE_UNITS - 20);

    let code = format!("```sh\n{}", lines.join("\n"));
    let piece = draft(&code).unwrap();
    assert!(
        piece
            .html
            .starts_with("…\n<pre><code class=\"language-sh\">line "),
        "{}",
        piece.html
    );
}

#[test]
fn every_draft_of_a_growing_text_is_a_message() {
    let text: String = CHAPTERS
        .iter()
        .flat_map(|(_, pairs)| pairs.iter())
        .map(|(markdown, _)| format!("{markdown}\n\n"))
        .collect();
    for (end, _) in text.char_indices() {
        if let Some(piece) = draft(&text[..end]) {
            assert_eq!(text_of(&piece.html), Ok(piece.plain), "{:?}", &text[..end]);
        }
    }
}

#[test]
fn a_code_block_is_safe_from_its_text() {
    assert_eq!(code_block("a", "sh"), "```sh\na\n```\n");
    assert_eq!(code_block("a\n", "no such `language`"), "```no\na\n```\n");
    let text = "``` and ```` end\n```";
    assert_eq!(html(&code_block(text, "")), [format!("<pre>{text}</pre>")]);
}

#[test]
fn a_text_for_html_is_copied_only_if_it_has_to_be() {
    assert!(matches!(escape("plain \"text\""), Cow::Borrowed(_)));
    assert_eq!(escape("<a & b>"), "&lt;a &amp; b&gt;");
}

#[test]
fn code_in_a_line_holds_whatever_it_holds() {
    assert_eq!(inline_code("a*b"), "`a*b`");
    assert_eq!(inline_code("a`b\nc"), "`` a`b c ``");
    let shown = &render(&format!("x {}", inline_code("a`<b>``*c*")))[0];
    assert_eq!(shown.html, "x <code>a`&lt;b&gt;``*c*</code>");
}

#[test]
fn a_table_is_as_narrow_as_a_phone_or_becomes_records() {
    let plain = |markdown: &str| render(markdown).remove(0).plain;
    let narrow = "| Name | What it does |\n|---|---|\n| sensor | measures the temperature of the room every minute |\n";
    let shown = plain(narrow);
    assert!(shown.lines().count() > 3, "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 36),
        "{shown}"
    );
    assert!(render(narrow).remove(0).html.contains("<pre>"), "{shown}");
    let wide = "| Host | Address | Kernel | Uptime | Load |\n|---|---|---|---|---|\n\
                | nas.local | 192.168.1.20 | 6.12.47 | 41 days | 0.12 |\n";
    let records =
        "• nas.local\n  Address: 192.168.1.20\n  Kernel: 6.12.47\n  Uptime: 41 days\n  Load: 0.12";
    assert_eq!(plain(wide), records);
    let small = "| a | b |\n|---|---|\n| 1 | 2 |\n";
    assert_eq!(plain(small), "a | b\n--+--\n1 | 2");
}
