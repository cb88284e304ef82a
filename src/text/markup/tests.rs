//! The room's own promises; what becomes of each mark is tested with each channel's format.

use proptest::prelude::*;

use super::split::{Limit, Unit};
use super::*;

fn plain(units: usize, unit: Unit) -> Plain {
    Plain(Limit { units, unit })
}

fn texts(markdown: &str, format: &Plain) -> Vec<String> {
    let pieces = render(markdown, format).into_iter();
    pieces.map(|piece| piece.written).collect()
}

#[test]
fn a_channel_without_markup_gets_the_visible_text() {
    let chars = plain(100, Unit::Chars);
    assert_eq!(
        texts("# A\n\n- **b** [c](http://x.y)\n- [x] `d`", &chars),
        ["A\n\n• b c (http://x.y)\n☑ d"]
    );
    assert_eq!(render("&nbsp;", &chars), []);
}

#[test]
fn a_link_that_looks_like_another_address_shows_where_it_leads() {
    let shown = |text: &str, address: &str| {
        let markdown = format!("[{text}]({address})");
        parse::parse(&markdown, &|_| true).text().to_owned()
    };
    for (text, address) in [
        ("https://bank.test", "https://evil.test/login"),
        ("https://bank.test/evil.test", "https://evil.test/bank.test"),
        ("https://bank.test/a", "https://bank.test/b"),
        ("http://192.0.2.1", "http://192.0.2.9/"),
        ("log in at bank.test (safe)", "https://evil.test"),
        ("**www.Bank.test**", "https://bank.test.evil.test"),
        ("`bank.test`", "https://bank.test@evil.test/"),
        ("bank.test", "https://evilbank.test"),
        ("ana@bank.test", "mailto:ana@evil.test"),
        ("банк.тест", "https://evil.test"),
    ] {
        let end = format!("({address})");
        assert!(shown(text, address).ends_with(&end), "{text} {address}");
    }
    for (text, address) in [
        ("the bank", "https://evil.test"),
        ("https://bank.test", "https://bank.test/"),
        ("www.Bank.test/a", "https://bank.test/a?b=c"),
        ("bank.test", "https://login.bank.test:8080/"),
        ("main.rs", "https://code.test/src/main.rs#L4"),
        ("ana@bank.test", "mailto:ana@bank.test"),
        ("3.5 and e.g. 1.2.3", "https://code.test/releases"),
        ("Node.js!", "https://code.test/node.js"),
    ] {
        assert_eq!(shown(text, address), text, "{address}");
    }
}

#[test]
fn each_unit_counts_what_it_names() {
    for (unit, expected) in [
        (Unit::Utf16, vec!["ü🦀ü", "🦀"]),
        (Unit::Chars, vec!["ü🦀ü🦀"]),
        (Unit::Bytes, vec!["ü", "🦀", "ü", "🦀"]),
    ] {
        assert_eq!(texts("ü🦀ü🦀", &plain(4, unit)), expected, "{unit:?}");
        let limit = Limit { units: 4, unit };
        assert_eq!(limit.prefix("ü🦀ü🦀"), expected[0].len());
        assert_eq!(limit.holds("ü🦀ü🦀"), expected.len() == 1);
    }
}

#[test]
fn a_text_is_cut_at_the_best_place_in_its_second_half() {
    for (text, expected) in [
        ("aaa bb\n\ncc dddd", ["aaa bb", "cc dddd"]),
        ("aaa bb\ncc dddd", ["aaa bb", "cc dddd"]),
        ("a\n\nbbb cc dddd", ["a\n\nbbb cc", "dddd"]),
        ("abcdefghijklm", ["abcdefghij", "klm"]),
    ] {
        assert_eq!(texts(text, &plain(10, Unit::Chars)), expected, "{text:?}");
    }
}

#[test]
fn what_announces_the_next_lines_stays_with_them() {
    assert_eq!(
        texts("aaa\n\n# bb\n\ncc dd", &plain(10, Unit::Chars)),
        ["aaa", "bb\n\ncc dd"]
    );
    let part = |number: usize| {
        let head = ["## Head", "**Head**", "Head:", "# Top\n\n## Head"][number % 4];
        format!("{head}\n\n{}\n\n", "some words ".repeat(2 + number % 5))
    };
    let text: String = (0..40).map(part).collect();
    for units in 80..200 {
        let pieces = texts(&text, &plain(units, Unit::Chars));
        assert!(pieces.len() > 5);
        for piece in pieces {
            let last = piece.lines().last().unwrap_or_default();
            assert!(
                !last.contains("Head") && last != "Top",
                "{units}: {piece:?}"
            );
        }
    }
}

#[test]
fn a_character_that_is_longer_than_the_limit_goes_out_all_the_same() {
    assert_eq!(texts("🦀🦀", &plain(1, Unit::Bytes)), ["🦀", "🦀"]);
    assert_eq!(draft("🦀🦀", &plain(1, Unit::Bytes)), None);
}

#[test]
fn a_link_needs_a_known_scheme_and_an_address_without_gaps() {
    let is_link = |address: &str| has_scheme(address, &["http", "tg"]);
    assert!(is_link("HTTP://x.y") && is_link("tg:a"));
    for wrong in ["https://x.y", "x.y", "http:", "http://x y", "http://x\ny"] {
        assert!(!is_link(wrong), "{wrong}");
    }
}

proptest! {
    #[test]
    fn every_piece_and_draft_is_within_its_limit(
        text in "([a-z*`# >🦀ü-]{0,30}\n){0,20}", units in 8_usize..60,
    ) {
        for unit in [Unit::Utf16, Unit::Chars, Unit::Bytes] {
            let format = plain(units, unit);
            for piece in render(&text, &format).into_iter().chain(draft(&text, &format)) {
                prop_assert!(format.limit().holds(&piece.written), "{piece:?}");
                prop_assert!(!is_blank(&piece.plain), "{piece:?}");
            }
        }
    }
}

#[test]
fn an_answer_of_which_nothing_is_seen_is_told_from_one_that_shows_code() {
    for nothing in [
        "",
        " \n",
        "<!-- a -->",
        "a<!-- b",
        "\u{200b}",
        "```\n```",
        "<!-- a --> <!-- b -->\n",
    ] {
        let is_nothing = !nothing.starts_with('a');
        assert_eq!(shows_nothing(nothing), is_nothing, "{nothing:?}");
    }
    for something in [
        "```html\n<!-- a -->\n```",
        "`<!--` begins a comment",
        "`<!-- a -->`",
        "<!-- a --> b",
    ] {
        assert!(!shows_nothing(something), "{something:?}");
    }
}
