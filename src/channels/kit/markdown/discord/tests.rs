//! What becomes of each mark, and what holds for every text.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::text::markup::{Piece, code_block, draft, is_blank, render};

/// The pieces' Markdown, after each was read as Discord reads it.
fn discord(markdown: &str) -> Vec<String> {
    let pieces = render(markdown, &Markdown).into_iter();
    pieces.map(|piece| check(piece, markdown).written).collect()
}

const CASES: &[(&str, &str)] = &[
    // Text, and what would be markup in it.
    ("Hello", "Hello"),
    ("She said \"yes\" & left", "She said \"yes\" & left"),
    (
        "5 * 3 and snake_case_name",
        "5 \\* 3 and snake\\_case\\_name",
    ),
    (
        "\\*a\\* \\~\\~b\\~\\~ \\|\\|c\\|\\| \\`d\\`",
        "\\*a\\* \\~\\~b\\~\\~ \\|\\|c\\|\\| \\`d\\`",
    ),
    ("C:\\new", "C:\\\\new"),
    ("\\# a\n\\> b\n\\- c\n\\+ d", "\\# a\n\\> b\n\\- c\n\\+ d"),
    ("a # b > c - d", "a # b > c - d"),
    ("1\\. a, 2. b", "1\\. a, 2. b"),
    ("3.14 is pi", "3\\.14 is pi"),
    ("\\[a](http://x.y)", "\\[a\\](<http://x.y>)"),
    ("שלום **עולם** 👋🏽", "שלום **עולם** 👋🏽"),
    // Mentions.
    ("@everyone and @here", "@\u{200b}everyone and @\u{200b}here"),
    ("me@a.org", "me@a.org"),
    (
        "<@123> <@&4> <#5> <:e:6> <t:7>",
        "<\u{200b}@123> <\u{200b}@&4> <\u{200b}#5> <\u{200b}:e:6> <\u{200b}t:7>",
    ),
    ("`@everyone`", "`@everyone`"),
    // Emphasis.
    (
        "**bold** *italic* ~~gone~~ ***both***",
        "**bold** *italic* ~~gone~~ ***both***",
    ),
    ("*a **b** c*", "*a **b** c*"),
    ("**a *b***", "**a *b***"),
    ("**a ~~b *c*~~**", "**a ~~b *c*~~**"),
    ("**a***b*", "**a**\u{200b}*b*"),
    ("**two\nlines**", "**two\nlines**"),
    ("**&nbsp;**", ""),
    ("**a**&nbsp;b", "**a**\u{a0}b"),
    // Code.
    ("run `ls -l`", "run `ls -l`"),
    ("`` a`b ``", "`` a`b ``"),
    ("**see `x` here**", "**see** `x` **here**"),
    ("> 1.     **", "> 1. ```\n> **\n> ```"),
    (
        "```rust\nfn f() {\n\tx\n}\n```",
        "```rust\nfn f() {\n    x\n}\n```",
    ),
    ("    indented\n      more", "```\nindented\n  more\n```"),
    (
        "``````\n```\n`````\n``````",
        "```\n``\u{200b}`\n``\u{200b}``\u{200b}`\n```",
    ),
    ("a\n```\nb\n```\nc", "a\n\n```\nb\n```\n\nc"),
    // Links.
    (
        "[Rust](https://rust-lang.org)",
        "[Rust](<https://rust-lang.org>)",
    ),
    ("**[a](http://x.y) b**", "[**a**](<http://x.y>) **b**"),
    ("<https://a.org/b_c>", "<https://a.org/b_c>"),
    (
        "see https://a.org/b_c_d. Or",
        "see <https://a.org/b_c_d>. Or",
    ),
    (
        "[https://a.b](https://c.d)",
        "<https://a.b> (<https://c.d>)",
    ),
    ("[a](<http://x.y/(b>)", "[a](<http://x.y/%28b>)"),
    (
        "[click](javascript:alert(1))",
        "click (javascript:alert(1))",
    ),
    ("[main.rs](src/my_main.rs)", "main.rs (src/my\\_main.rs)"),
    ("<me@a.org>", "me@a.org"),
    ("![a cat](http://x.y/c.png)", "[a cat](<http://x.y/c.png>)"),
    // Blocks.
    ("one\n\ntwo\nthree", "one\n\ntwo\nthree"),
    ("# A *b* `c` d\ntext", "# A *b* `c` d\n\ntext"),
    ("### **C**\n#### D", "### C\n\n**D**"),
    ("A\nB\n===", "# A\n# B"),
    ("a\n\n---\n\nb", "a\n\n———\n\nb"),
    ("<b>x</b>", "<b>x<\u{200b}/b>"),
    ("> a\n> b\n\nc", "> a\n> b\n\nc"),
    ("> a\n>\n> **b**", "> a\n> \n> **b**"),
    ("> a\n\n---\n> b", "> a\n\n———\n\n> b"),
    ("> # a\n> > b", "> # a\n> \n> b"),
    (
        "> ```sh\n> ls\n> ```\n> done",
        "> ```sh\n> ls\n> ```\n> \n> done",
    ),
    ("- a\n- b\n  - c", "- a\n- b\n  - c"),
    ("3. a\n4. b", "3. a\n4. b"),
    ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
    ("- **a**: b", "- **a**: b"),
    ("- # A", "- # A"),
    ("- a\n  ```\n  x\n  ```\n- b", "- a\n```\nx\n```\n- b"),
    (
        "| A | B |\n|---|--:|\n| a_b | 7 |",
        "```\nA   | B\n----+--\na_b | 7\n```",
    ),
];

#[test]
fn every_mark_becomes_what_discord_knows() {
    assert!(CASES.len() >= 50);
    for (markdown, expected) in CASES {
        assert_eq!(discord(markdown).concat(), *expected, "{markdown:?}");
    }
}

#[test]
fn a_code_block_goes_on_with_its_language_and_a_quote_with_its_mark() {
    let line = format!("    {}\n", "x".repeat(95));
    let pieces = discord(&code_block(&line.repeat(30), "rust"));
    assert_eq!(pieces.len(), 2);
    for piece in &pieces {
        assert!(
            piece.starts_with("```rust\n    x") && piece.ends_with("x\n```"),
            "{piece}"
        );
    }
    let pieces = discord(&format!("> **{}**", "word ".repeat(500).trim()));
    assert_eq!(pieces.len(), 2);
    for piece in &pieces {
        assert!(
            piece.starts_with("> **word") && piece.ends_with("word**"),
            "{piece}"
        );
    }
}

#[test]
fn a_message_is_full_by_what_is_sent_and_not_by_what_is_shown() {
    let pieces = discord(&"[".repeat(DISCORD_MESSAGE_CHARS));
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.chars().count()).collect();
    assert_eq!(lengths, [DISCORD_MESSAGE_CHARS; 2]);
    assert_eq!(discord(&"🦀".repeat(DISCORD_MESSAGE_CHARS)).len(), 1);
}

#[test]
fn a_draft_shows_the_end_of_what_is_too_long() {
    let lines: Vec<String> = (0..900).map(|number| format!("line_{number}")).collect();
    let piece = check(draft(&lines.join("\n"), &Markdown).unwrap(), "");
    assert!(piece.written.starts_with("…\nline\\_") && piece.written.ends_with("line\\_899"));
    assert!(piece.written.chars().count() > DISCORD_MESSAGE_CHARS - 20);
}

/// Checks a piece strictly.
fn check(piece: Piece, markdown: &str) -> Piece {
    assert!(
        piece.written.chars().count() <= DISCORD_MESSAGE_CHARS,
        "{piece:?}"
    );
    assert!(!is_blank(&piece.written), "{piece:?}");
    let shown = text_of(&piece.written).unwrap_or_else(|wrong| panic!("{wrong} in {piece:?}"));
    let (shown, plain) = (letters(&shown), letters(&piece.plain));
    if markdown.contains("](") {
        // Some addresses are shown besides.
        let mut shown = shown.chars();
        let is_shown = plain.chars().all(|c| shown.any(|other| other == c));
        assert!(is_shown, "{piece:?}");
    } else {
        assert_eq!(shown, plain, "{piece:?}");
    }
    piece
}

fn letters(text: &str) -> String {
    let is_letter = |c: &char| !c.is_whitespace() && *c != ZERO_WIDTH_SPACE;
    // The bullet of a list item is a hyphen to Discord.
    text.replace('•', "-").chars().filter(is_letter).collect()
}

/// What Discord shows of a message, or what is wrong with it.
fn text_of(message: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = message;
    let mut is_line_start = true;
    while let Some(c) = rest.chars().next() {
        if std::mem::take(&mut is_line_start) {
            let unmarked = line_marks(rest, &mut text);
            if unmarked.len() < rest.len() {
                rest = unmarked;
                continue;
            }
        }
        if let Some(block) = rest.strip_prefix("```") {
            let before = &message[..message.len() - rest.len()];
            let line = before.rsplit('\n').next().unwrap_or_default();
            let is_quoted = line.starts_with("> ");
            rest = code_lines(block, is_quoted, &mut text)?;
            continue;
        }
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\\' => {
                let escaped = after.chars().next().ok_or("a bare backslash")?;
                if escaped.is_alphanumeric() || escaped.is_whitespace() {
                    return Err(format!("a bare backslash before {escaped:?}"));
                }
                text.push(escaped);
                &after[escaped.len_utf8()..]
            }
            '`' => {
                let fence = &rest[..rest.len() - rest.trim_start_matches('`').len()];
                let body = &rest[fence.len()..];
                let (code, after) = body.split_once(fence).ok_or("an open code span")?;
                if after.starts_with('`') {
                    return Err("a code span that does not end".to_owned());
                }
                text += code;
                after
            }
            '*' | '~' => {
                let mark = next_mark(rest, &mut open);
                rest.strip_prefix(mark).ok_or("half a mark")?
            }
            '_' | '|' => return Err(format!("a bare {c}")),
            '[' => {
                open.push("](<");
                after
            }
            ']' if open.last() == Some(&"](<") && after.starts_with("(<") => {
                open.pop();
                let (address, after) = after.split_once(">)").ok_or("a link without an end")?;
                if address.contains([' ', ')']) {
                    return Err(format!("the address {address}"));
                }
                after
            }
            '<' if super::address(after) > 0 => {
                let (address, after) = after.split_once('>').ok_or("an open address")?;
                text += address;
                after
            }
            '<' if after.starts_with(['@', '#', ':']) => return Err("a mention".to_owned()),
            '@' if after.starts_with("everyone") => return Err("a mention".to_owned()),
            _ => {
                is_line_start = c == '\n';
                text.push(c);
                after
            }
        };
    }
    match open[..] {
        [] => Ok(text),
        _ => Err(format!("{open:?} stay open")),
    }
}

/// Reads a code block behind its first fence; returns what comes after it.
fn code_lines<'a>(block: &'a str, is_quoted: bool, text: &mut String) -> Result<&'a str, String> {
    let (block, after) = block.split_once("```").ok_or("an open code block")?;
    let (language, code) = block.split_once('\n').ok_or("a code block in a line")?;
    if language.contains(char::is_whitespace) {
        return Err(format!("the language {language:?}"));
    }
    let prefix = if is_quoted { "> " } else { "" };
    for line in code.lines() {
        *text += line.strip_prefix(prefix).ok_or("code outside its quote")?;
        text.push('\n');
    }
    Ok(after)
}

/// The mark of emphasis that a text begins with, which opens or closes.
fn next_mark(rest: &str, open: &mut Vec<&str>) -> &'static str {
    let has_two = rest.starts_with("**");
    let opens_bold = has_two && !open.contains(&"**");
    let mark = match open.last() {
        _ if rest.starts_with('~') => "~~",
        Some(&"*") if !opens_bold => "*",
        _ if has_two => "**",
        _ => "*",
    };
    match open.last() == Some(&mark) {
        true => drop(open.pop()),
        false => open.push(mark),
    }
    mark
}

/// Takes the marks of its quote and its heading off a line.
fn line_marks<'a>(line: &'a str, text: &mut String) -> &'a str {
    let line = line.strip_prefix("> ").unwrap_or(line);
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || " -.☐☑".contains(c));
    text.push_str(&line[..line.len() - rest.len()]);
    let heading = rest.trim_start_matches('#');
    match heading.strip_prefix(' ') {
        Some(after) if heading.len() < rest.len() => after,
        _ => rest,
    }
}

/// Pieces of syntax, as they come in answers and as nobody would write them.
#[rustfmt::skip]
const SYNTAX: &[&str] = &[
    "*", "**", "***", "_", "__", "~~", "~", "`", "``", "```", "```rust\n", "~~~\n", "\n", "\n\n",
    "  \n", " ", "    ", "\t", "- ", "* ", "+ ", "1. ", "99) ", "  - ", "- [ ] ", "- [x] ", "> ",
    ">> ", "# ", "#### ", "---\n", "===\n", "|", "||", "|-|-|\n", "| a | b |\n", "[", "]", "](",
    "](http://x.y)", "](http://x.y/(z)", "](evil:x)", "![", "[a]: http://a.b\n", "[a]", "<", ">",
    "<b>", "<@1>", "<#2>", "<:e:3>", "<t:4>", "</a:5>", "@everyone", "@here", "<https://a.b>",
    "https://c.d/e_f_g", "http://", "&", "&amp;", "&lt;@6>", "&#64;here", "&nbsp;", "\\", "\\*",
    "\\_", "-# ", "1.", "word", "two words", "é", "🦀", "שלום", "\u{200b}", "名前", "\r\n", "\0",
];

fn syntax() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => prop::sample::select(SYNTAX).prop_map(str::to_owned),
        1 => ("[a-z*_` ]{1,3}", 1..1000usize).prop_map(|(text, times)| text.repeat(times)),
    ];
    vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_comes_discord_shows_its_text(text in syntax()) {
        let pieces = discord(&text);
        prop_assert_eq!(pieces, discord(&text));
        if let Some(piece) = draft(&text, &Markdown) {
            check(piece, &text);
        }
    }

    #[test]
    fn no_letter_of_code_is_lost(code in "([ -~äß🦀]{0,80}\n){0,60}", language in "[ -~]{0,20}") {
        let pieces = render(&code_block(&code, &language), &Markdown);
        let shown: String = pieces.iter().map(|piece| letters(&piece.plain)).collect();
        prop_assert_eq!(shown, letters(&code));
        for piece in pieces {
            let piece = check(piece, "");
            prop_assert!(piece.written.starts_with("```") && piece.written.ends_with("\n```"));
        }
    }
}
