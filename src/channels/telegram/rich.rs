//! Markdown as the blocks of a rich message (<https://core.telegram.org/bots/api#inputrichmessage>). Pure.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::text::{is_invisible, markup};

/// UTF-16 units of one message with plain formatting: what is longer would be several.
const PLAIN_UNITS: usize = 4096;
/// Characters of a rich message.
const CHARS_MAX: usize = 32_768;
/// Blocks of a rich message, with items of lists and rows of tables.
const BLOCKS_MAX: usize = 500;
/// Blocks and formats within each other; Telegram takes 16.
const DEPTH_MAX: usize = 12;
/// Columns of a table.
const COLUMNS_MAX: usize = 20;

/// The blocks of a text; `None` where it does not need them, unless `always`, and where they cannot have it.
///
/// Telegram fetches the first address of a text for its preview. In rich messages that cannot be turned off, so a text
/// with an address is none: as people see it, whatever escapes and formats it is written with.
pub fn blocks(markdown: &str, always: bool) -> Option<Value> {
    let is_long = markdown.encode_utf16().count() > PLAIN_UNITS;
    let may = always || is_long || markdown.contains('|') || markdown.contains("[");
    if !may || markup::is_dense(markdown) {
        return None;
    }
    let mut writer = Writer::default();
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(markdown, options) {
        writer.event(event)?;
    }
    writer.end_paragraph()?;
    let blocks = writer.blocks.pop()?;
    if blocks.iter().any(carries_address) {
        return None;
    }
    let is_wanted = always || is_long || writer.is_laid_out;
    (is_wanted && !blocks.is_empty() && writer.blocks.is_empty()).then_some(Value::Array(blocks))
}

/// Whether Telegram could find an address in the text of a block, whose formats do not interrupt it.
fn carries_address(block: &Value) -> bool {
    match block {
        Value::String(text) => has_address(text),
        Value::Array(parts) => parts.iter().any(carries_address),
        Value::Object(fields) => fields.iter().any(|(name, value)| match name.as_str() {
            "text" => {
                let mut text = String::new();
                flatten(value, &mut text);
                has_address(&text)
            }
            _ => carries_address(value),
        }),
        _ => false,
    }
}

/// Appends words without their formats.
fn flatten(words: &Value, text: &mut String) {
    match words {
        Value::String(word) => text.push_str(word),
        Value::Array(words) => words.iter().for_each(|word| flatten(word, text)),
        Value::Object(format) => {
            if let Some(words) = format.get("text") {
                flatten(words, text);
            }
        }
        _ => {}
    }
}

/// Whether a text has something that could be taken for an address: a scheme, a name with dots, an IP address.
fn has_address(text: &str) -> bool {
    let seen = text.chars().filter(|char| !is_invisible(*char));
    let chars: Vec<char> = seen.map(half_width).collect();
    let plain: String = chars.iter().collect();
    let is_dot = |at: usize| match chars.get(at) {
        Some('.') => true,
        // It ends sentences too, before which names in Latin letters are rare.
        Some('\u{3002}' | '\u{ff61}') => {
            (chars.get(at + 1)).is_some_and(char::is_ascii_alphanumeric)
        }
        _ => false,
    };
    let is_part = |char: &char| {
        let is_foreign = !char.is_ascii() && !char.is_whitespace();
        char.is_alphanumeric() || matches!(char, '-' | '_') || is_foreign
    };
    let has_name = (1..chars.len()).any(|at| {
        let next = chars.get(at + 1);
        is_dot(at)
            && chars.get(at - 1).is_some_and(is_part)
            && next.is_some_and(|next| next.is_alphabetic())
    });
    let mut numbers = plain.split(|char: char| !char.is_numeric() && char != '.');
    let has_ipv4 = numbers.any(|number| {
        let parts: Vec<&str> = number.split('.').collect();
        parts
            .windows(4)
            .any(|four| four.iter().all(|part| !part.is_empty()))
    });
    let has_ipv6 = plain.split('[').skip(1).any(|rest| {
        let inner = rest.split_once(']').map_or("", |(inner, _)| inner);
        inner.matches(':').count() > 1 && inner.chars().all(is_of_ipv6)
    });
    has_name || has_ipv4 || has_ipv6 || plain.contains("://")
}

/// The usual form of a character of full width, and of other full stops within a line.
fn half_width(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(char) - 0xff01 + u32::from('!')).unwrap_or(char)
        }
        '\u{2024}' | '\u{fe52}' => '.',
        _ => char,
    }
}

/// Whether it can be in an IPv6 address, with a zone.
fn is_of_ipv6(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, ':' | '.' | '%')
}

/// What is being written.
struct Writer {
    /// The blocks of the message, and of each quote and item that is open.
    blocks: Vec<Vec<Value>>,
    /// The words of the block, and of each format that is open.
    words: Vec<Vec<Value>>,
    /// The next number of each open list, and its items.
    lists: Vec<(Option<u64>, Vec<Value>)>,
    /// Whether each open item is a task that is done.
    tasks: Vec<Option<bool>>,
    table: Table,
    /// Whether there is a table or a list of tasks.
    is_laid_out: bool,
    /// Blocks and characters so far.
    count: usize,
    chars: usize,
}

/// The table that is being read.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Value>>,
    is_head: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            blocks: vec![Vec::new()],
            words: vec![Vec::new()],
            lists: Vec::new(),
            tasks: Vec::new(),
            table: Table::default(),
            is_laid_out: false,
            count: 0,
            chars: 0,
        }
    }
}

impl Writer {
    /// `None` when it is more than a message can have.
    fn event(&mut self, event: Event<'_>) -> Option<()> {
        match event {
            Event::Start(tag) => self.start(tag)?,
            Event::End(end) => self.end(end)?,
            Event::Code(text) => {
                let text = self.said(&text)?;
                self.add(json!({"type": "code", "text": text}));
            }
            Event::SoftBreak | Event::HardBreak => self.say("\n")?,
            Event::Rule => {
                self.end_paragraph()?;
                self.block(json!({"type": "divider"}))?;
            }
            Event::TaskListMarker(is_done) => {
                self.is_laid_out = true;
                *self.tasks.last_mut()? = Some(is_done);
            }
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.say(&text)?,
        }
        (self.words.len() + self.blocks.len() + self.lists.len() <= DEPTH_MAX).then_some(())
    }

    fn start(&mut self, tag: Tag<'_>) -> Option<()> {
        match tag {
            Tag::Link { .. } | Tag::Image { .. } => return None,
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough => {
                self.words.push(Vec::new());
                return Some(());
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.is_head = matches!(tag, Tag::TableHead);
                self.table.rows.push(Vec::new());
                return self.counted();
            }
            Tag::TableCell => return Some(()),
            _ => self.end_paragraph()?,
        }
        match tag {
            Tag::BlockQuote(_) => self.blocks.push(Vec::new()),
            Tag::List(first) => self.lists.push((first, Vec::new())),
            Tag::Item => {
                self.blocks.push(Vec::new());
                self.tasks.push(None);
            }
            Tag::Table(alignments) => {
                self.is_laid_out = true;
                let is_narrow = alignments.len() <= COLUMNS_MAX;
                self.table.alignments = alignments;
                return is_narrow.then_some(());
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let language = info.split([' ', ',']).next().unwrap_or_default();
                // It is the first of the block's words until the block ends.
                self.add(json!({ "language": language }));
            }
            _ => {}
        }
        Some(())
    }

    fn end(&mut self, end: TagEnd) -> Option<()> {
        match end {
            TagEnd::Emphasis => self.end_format("italic"),
            TagEnd::Strong => self.end_format("bold"),
            TagEnd::Strikethrough => self.end_format("strikethrough"),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::TableHead | TagEnd::TableRow => Some(()),
            TagEnd::Heading(level) => {
                let text = self.take_words();
                self.block(json!({"type": "heading", "text": text, "size": level as usize}))
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::BlockQuote(_) => {
                self.end_paragraph()?;
                let blocks = self.blocks.pop()?;
                if blocks.is_empty() {
                    return Some(());
                }
                self.block(json!({"type": "blockquote", "blocks": blocks}))
            }
            TagEnd::Item => self.end_item(),
            TagEnd::List(_) => {
                let (_, items) = self.lists.pop()?;
                self.block(json!({"type": "list", "items": items}))
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.table.rows);
                self.block(json!({"type": "table", "cells": rows, "is_bordered": true, "is_compact": true}))
            }
            _ => self.end_paragraph(),
        }
    }

    fn end_item(&mut self) -> Option<()> {
        self.end_paragraph()?;
        let mut item = json!({"blocks": self.blocks.pop()?});
        if let Some(is_done) = self.tasks.pop()? {
            item["has_checkbox"] = json!(true);
            item["is_checked"] = json!(is_done);
        }
        let (number, items) = self.lists.last_mut()?;
        if let Some(number) = number {
            item["value"] = json!(number);
            item["type"] = json!("1");
            *number += 1;
        }
        if item["blocks"].as_array().is_some_and(Vec::is_empty) {
            item["blocks"] = json!([{"type": "paragraph", "text": " "}]);
        }
        items.push(item);
        self.counted()
    }

    fn end_cell(&mut self) -> Option<()> {
        let row = self.table.rows.last()?.len();
        let align = match self.table.alignments.get(row) {
            Some(Alignment::Right) => "right",
            Some(Alignment::Center) => "center",
            _ => "left",
        };
        let text = self.take_words();
        let mut cell = json!({"align": align, "valign": "top", "text": text});
        if self.table.is_head {
            cell["is_header"] = json!(true);
        }
        self.table.rows.last_mut()?.push(cell);
        Some(())
    }

    fn end_code(&mut self) -> Option<()> {
        let words = std::mem::take(self.words.first_mut()?);
        let language = words.first().map(|first| first["language"].clone());
        let text: String = words.iter().filter_map(Value::as_str).collect();
        let mut block = json!({"type": "pre", "text": text.trim_end_matches('\n')});
        if let Some(language) = language.filter(|it| it.as_str().is_some_and(|it| !it.is_empty())) {
            block["language"] = language;
        }
        self.block(block)
    }

    fn end_format(&mut self, kind: &str) -> Option<()> {
        let text = joined(self.words.pop()?);
        self.add(json!({"type": kind, "text": text}));
        Some(())
    }

    /// Ends the words that belong to no other block.
    fn end_paragraph(&mut self) -> Option<()> {
        if self.words.first()?.is_empty() {
            return Some(());
        }
        let text = self.take_words();
        self.block(json!({"type": "paragraph", "text": text}))
    }

    fn take_words(&mut self) -> Value {
        joined(
            self.words
                .first_mut()
                .map(std::mem::take)
                .unwrap_or_default(),
        )
    }

    fn block(&mut self, block: Value) -> Option<()> {
        self.blocks.last_mut()?.push(block);
        self.counted()
    }

    fn counted(&mut self) -> Option<()> {
        self.count += 1;
        (self.count <= BLOCKS_MAX).then_some(())
    }

    fn say(&mut self, text: &str) -> Option<()> {
        let text = self.said(text)?;
        self.add(Value::String(text));
        Some(())
    }

    fn said(&mut self, text: &str) -> Option<String> {
        self.chars += text.chars().count();
        (self.chars <= CHARS_MAX).then(|| text.to_owned())
    }

    fn add(&mut self, word: Value) {
        let Some(words) = self.words.last_mut() else {
            return;
        };
        match (words.last_mut(), word) {
            (Some(Value::String(before)), Value::String(word)) => before.push_str(&word),
            (_, word) => words.push(word),
        }
    }
}

/// Words as one text.
fn joined(mut words: Vec<Value>) -> Value {
    match words.len() {
        0 => json!(" "),
        1 => words.swap_remove(0),
        _ => Value::Array(words),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_table_keeps_its_cells_and_their_format() {
        let table = "Done:\n\n| a | b |\n|---|--:|\n| **1** | `2` |";
        let cell =
            |align: &str, text: Value| json!({"align": align, "valign": "top", "text": text});
        let head = |align: &str, text: &str| {
            let mut head = cell(align, json!(text));
            head["is_header"] = json!(true);
            head
        };
        let expected = json!([
            {"type": "paragraph", "text": "Done:"},
            {"type": "table", "is_bordered": true, "is_compact": true, "cells": [
                [head("left", "a"), head("right", "b")],
                [
                    cell("left", json!({"type": "bold", "text": "1"})),
                    cell("right", json!({"type": "code", "text": "2"})),
                ],
            ]},
        ]);
        assert_eq!(blocks(table, false), Some(expected));
    }

    #[test]
    fn tasks_have_boxes_and_lists_their_numbers() {
        let list = "# Today\n\n- [x] milk\n- [ ] *bread*\n  1. rye\n\n```sh\nls | wc\n```";
        let paragraph = |text: Value| json!({"type": "paragraph", "text": text});
        let rye = json!({"blocks": [paragraph(json!("rye"))], "value": 1, "type": "1"});
        let bread = paragraph(json!({"type": "italic", "text": "bread"}));
        let expected = json!([
            {"type": "heading", "text": "Today", "size": 1},
            {"type": "list", "items": [
                {"blocks": [paragraph(json!("milk"))], "has_checkbox": true, "is_checked": true},
                {
                    "blocks": [bread, {"type": "list", "items": [rye]}],
                    "has_checkbox": true,
                    "is_checked": false,
                },
            ]},
            {"type": "pre", "text": "ls | wc", "language": "sh"},
        ]);
        assert_eq!(blocks(list, false), Some(expected));
    }

    #[test]
    fn only_what_needs_it_is_rich_and_nothing_with_an_address() {
        assert_eq!(blocks("**hi** [you] | me", false), None);
        assert!(blocks("**hi**", true).is_some());
        assert!(blocks(&"word ".repeat(1000), false).is_some());
        let table = |cell: &str| format!("| a |\n|---|\n| {cell} |");
        for cell in ["1", "1.5", "a. b"] {
            assert!(blocks(&table(cell), false).is_some(), "{cell}");
        }
        for cell in ["https://x.y", "example.org/secret", "[a](tg://b)"] {
            assert_eq!(blocks(&table(cell), true), None, "{cell}");
        }
        let wide = format!("{}\n{}", "|a".repeat(21), "|---".repeat(21));
        assert_eq!(blocks(&wide, false), None);
        assert_eq!(blocks(&"- [ ] a\n".repeat(501), false), None);
        assert_eq!(blocks(&"word ".repeat(7000), false), None);
        assert_eq!(blocks(&"> ".repeat(30), true), None);
    }

    #[test]
    fn an_address_in_any_spelling_is_never_rich() {
        let table = |cell: &str| format!("| a | b |\n|---|---|\n| {cell} | x |");
        for cell in [
            "evil\\.example/?q=S",
            "https&colon;//evil&period;example/?q=S",
            "ev*il*.**example**/?q=S",
            "https:\\//10&#46;0&#46;0&#46;1/?q=S",
            "https://localhost/S",
            "10.0.0.1/?q=S",
            "10.`0`.0.1",
            "[::1]/S",
            "[fe80::1%eth0]:80",
            "evil.xn--p1ai",
            "пример.рф",
            "cafe\u{301}.fr",
            "evil\u{ff0e}example",
            "evil\u{3002}example",
            "evil\u{ff61}com",
            "evil\u{2024}example",
            "\u{ff45}vil.\u{ff45}xample",
            "evil.\u{200b}example",
            "evil\u{ad}.example",
            "t.me/x",
            "a@b.example",
            "`evil`.example",
            "![a](b)",
            "<tg:b>",
            "[a](b)",
        ] {
            assert_eq!(blocks(&table(cell), true), None, "{cell}");
            assert_eq!(blocks(cell, true), None, "{cell}");
        }
        for cell in [
            "10.0.0",
            "12:30",
            "[a:b:c d]",
            "你好。世界",
            "@ana",
            "wait...",
            "x. Y",
        ] {
            assert!(blocks(&table(cell), false).is_some(), "{cell}");
        }
        let apart = "| evil. | example |\n|---|---|\n| evil | .example |\n\nevil.\n\nexample";
        assert!(blocks(apart, false).is_some());
    }

    proptest! {
        #[test]
        fn no_markup_hides_an_address(
            host in "(https://)?[a-z]{1,4}[.](example|de)/[?]q=[A-Z]{3}",
            ways in prop::collection::vec(0..6_u8, 40),
        ) {
            let mut cell = String::new();
            let mut is_bold = false;
            for (char, way) in host.chars().zip(ways) {
                let was_bold = std::mem::take(&mut is_bold);
                match way {
                    1 => cell.push_str(&format!("&#{};", u32::from(char))),
                    2 if char.is_ascii_punctuation() => cell.push_str(&format!("\\{char}")),
                    3 if char.is_alphanumeric() && !was_bold => {
                        is_bold = true;
                        cell.push_str(&format!("**{char}**"));
                    }
                    4 => cell.push_str(&format!("{char}\u{200b}")),
                    _ => cell.push(char),
                }
            }
            prop_assert_eq!(blocks(&format!("| a |\n|---|\n| {cell} |"), true), None);
            prop_assert_eq!(blocks(&format!("- [ ] {cell}"), true), None);
        }

        #[test]
        fn any_text_is_rich_or_is_not(text in "[-a\\[\\]x|*`~>#1. \n]{0,200}") {
            blocks(&text, true);
        }
    }
}
