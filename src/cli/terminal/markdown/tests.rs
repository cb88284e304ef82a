//! What a stream of Markdown looks like.

use super::*;
use proptest::prelude::*;

fn stream<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    stream_as(Look::default(), pieces)
}

fn stream_as<'a>(look: Look, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut renderer = Renderer::new(look);
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
    ("## A `b` c", "<1;4>A<> <4;36>b<> <1;4>c<>"),
    ("#hashtag", "#hashtag"),
    ("- one\n- two", "<2>•<> one\n<2>•<> two"),
    ("text\n* a\n  * nested", "text\n\n<2>•<> a\n  <2>•<> nested"),
    ("1. first\n2. second", "<2>1.<> first\n<2>2.<> second"),
    ("1. a\n\n   b\n\n2. c", "<2>1.<> a\n\n   b\n\n<2>2.<> c"),
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
        "  <2>rust<>\n  <36>let a = \"**\";<>\n\n  <36>    b<>\n\nafter",
    ),
    ("```\nnever closed", "  <36>never closed<>"),
    ("[text](http://a.b) x", "text <2>(http://a.b)<> x"),
    ("[http://a.b](http://a.b)", "http://a.b"),
    ("<http://a.b> c", "http://a.b c"),
    ("[**bold** link](x)", "<1>bold<> link <2>(x)<>"),
    ("![cat](x.png)", "cat <2>(x.png)<>"),
    ("an [array] index", "an [array] index"),
    ("open [never closed\nnext", "open [never closed\nnext"),
    ("unclosed **bold\nnext", "unclosed **bold\nnext"),
    ("unclosed *a\n\nnext `b\n\nc", "unclosed *a\n\nnext `b\n\nc"),
    ("a | b\nnext", "a | b\nnext"),
    (
        "| a | b |\n|---|--:|\n| ccc | 4 |\n\nafter",
        "<1>a   | b<>\n<1>----+--<>\nccc | 4\n\nafter",
    ),
    ("- [ ] task\n- [x] done", "<2>☐<> task\n<2>☑<> done"),
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
    let mut renderer = Renderer::default();
    for (piece, expected) in [
        ("Hello", ""),
        (" the", "Hello"),
        ("re, **bo", ""),
        ("ld** a", " there, \x1b[0;1mbold"),
        ("nd\n- it", "\x1b[0m and\n\n\x1b[0;2m•"),
        ("em *one", ""),
        ("\n- two", "\x1b[0m item *one\n\x1b[0;2m•"),
        (
            "\n\n```sh\nls -",
            "\x1b[0m two\n\n  \x1b[0;2msh\x1b[0m\n  \x1b[0;36mls -",
        ),
        ("l\npw", "l\x1b[0m\n  \x1b[0;36mpw"),
        ("d\n``", "d"),
        ("`\n", ""),
        ("Done.", "\x1b[0m\n\n"),
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
        ..Renderer::default()
    };
    let mut out = String::new();
    renderer.push("x\na b c", &mut out);
    assert_eq!(out, "\na b");
}

#[test]
fn a_model_cannot_command_the_terminal() {
    let shown = render("a\x1b]0;title\x07b\u{9b}31mc\rd\u{202e}e");
    assert_eq!(shown, "a]0;titleb31mcde");
}

#[test]
fn a_long_block_is_not_parsed_for_each_of_its_words() {
    let mut renderer = Renderer::default();
    let mut out = String::new();
    renderer.push(&"a ".repeat(50_000), &mut out);
    out.clear();
    renderer.push("word ", &mut out);
    assert_eq!(out, "");
    renderer.finish(&mut out);
    assert_eq!(out, " a\nword");
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

const PLAIN: Look = Look {
    columns: || 40,
    is_ascii: false,
    is_styled: false,
};

/// What a terminal of 40, 80 or 200 columns shows, without styles.
fn screen(columns: usize, text: &str) -> String {
    let columns = match columns {
        40 => || 40,
        80 => || 80,
        _ => || 200,
    };
    stream_as(Look { columns, ..PLAIN }, characters(text))
}

const ANSWER: &str = "\
The board's temperature has been stable for the last hour, &amp; nothing needs to be done about it.

- First check that the power supply is the official one: `vcgencmd get_throttled` tells.
- Then
  1. clean the fan with a soft brush, because dust is what usually makes it loud
  2. [x] all of it
- [x] done already
- [ ] still to do, when there is time for it on a quiet Sunday

> A quote that is long enough to be wrapped at forty columns, and nearly at eighty.

![the graph](graph.png) and [the manual](https://example.org/a/very/long/address/of/a/manual)

今天的温度是四十五度，一切正常。风扇转速为一千二百转，电源电压稳定，不需要任何操作。🦀🦀🦀

```sh
echo a line of code that is much longer than forty columns and is left alone
```";

#[test]
fn words_are_wrapped_with_hanging_indents_at_each_width() {
    let expected = [
        include_str!("tests/40.txt"),
        include_str!("tests/80.txt"),
        include_str!("tests/200.txt"),
    ];
    let shown = [40, 80, 200].map(|columns| screen(columns, ANSWER) + "\n");
    assert_eq!(shown, expected);
}

const WIDE: &str = "| Name | Size | What it is for |\n|---|--:|---|\n\
    | config.json | 1200 | All the settings of the program, as JSON |\n\
    | 日志 | 7 | the log |";

#[test]
fn a_table_fits_the_screen_or_becomes_records() {
    let wide = "\
Name        | Size | What it is for
------------+------+-----------------------------------------
config.json | 1200 | All the settings of the program, as JSON
日志        |    7 | the log";
    assert_eq!(screen(80, WIDE), wide);
    assert_eq!(screen(200, WIDE), wide);
    let narrow = "\
Name        | Size | What it is for
------------+------+--------------------
config.json | 1200 | All the settings of
            |      | the program, as
            |      | JSON
日志        |    7 | the log";
    assert_eq!(screen(40, WIDE), narrow);
    let columns = |cell: &str| "|".to_owned() + &[cell; 5].join("|") + "|\n";
    let many = columns("a heading") + &columns("---") + &columns("a value of some length");
    let records = "\
• a value of some length
  a heading: a value of some length
  a heading: a value of some length
  a heading: a value of some length
  a heading: a value of some length";
    assert_eq!(screen(40, &many), records);
}

#[test]
fn lists_quotes_and_code_in_each_other_are_indented() {
    let text = "1. one\n\n   ```sh\n   ls\n   ```\n2. > a quote\n   > of two lines\n\n\
        10. - a\n    - b\n\n> - in a quote that is wrapped at forty\n>   columns";
    let expected = "\
1. one

     sh
     ls
2.
   │ a quote
   │ of two lines

3. • a
   • b

│ • in a quote that is wrapped at forty
│   columns";
    assert_eq!(screen(40, text), expected);
}

#[test]
fn a_plain_terminal_gets_ascii_but_the_models_own_characters() {
    let look = Look {
        is_ascii: true,
        ..PLAIN
    };
    let text = "## Über **x**\n\n- a `b c` — d\n- [x] done\n- [ ] open\n\n> 引用\n\n---\n\n~~old~~";
    let expected = "## Über x\n\n- a `b c` — d\n[x] done\n[ ] open\n\n> 引用\n\n---\n\nold";
    assert_eq!(stream_as(look, characters(text)), expected);
}

#[test]
fn a_long_word_is_left_to_the_terminal_in_one_piece() {
    let address = format!("https://example.org/{}", "a".repeat(100));
    let text = format!("see {address} for more");
    assert_eq!(screen(40, &text), format!("see\n{address}\nfor more"));
    let flood = "x".repeat(1_000_000);
    assert_eq!(stream_as(PLAIN, [flood.as_str()]), flood);
}

#[test]
fn monsters_take_neither_time_nor_memory() {
    let row = |cell: &str| "|".to_owned() + &cell.repeat(10_000) + "\n";
    let table = row("a|") + &row("-|") + &row("b|");
    let deep_quote = "> ".repeat(1000) + "text";
    let nested: String = (0..1000)
        .map(|level| " ".repeat(2 * level) + "- x\n")
        .collect();
    let cell = format!(
        "| a | b |\n|---|---|\n| {} | c |\n",
        "word ".repeat(200_000)
    );
    for text in [table, deep_quote, nested, cell] {
        let out = stream_as(PLAIN, [text.as_str()]);
        assert!(out.len() < 2 * text.len() + 1000, "{}", out.len());
    }
}
