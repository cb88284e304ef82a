//! Markdown into a [`Document`].

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::density::is_dense;
use super::document::{Document, Level, Style};
use super::table::Table;
use super::{language, misleads};

/// Levels of lists that are indented; deeper ones are indented like the last.
const LIST_INDENTS: usize = 8;

const BULLET: &str = "• ";
/// A horizontal rule.
pub const RULE: &str = "———";
/// Channels make one space of a tab, and code would lose its indentation.
const TAB: &str = "    ";

/// Parses a text. `can_link` tells whether the channel can link to an address; other addresses are
/// shown after the link's text.
///
/// A text that is little but syntax is taken as it is: it is not an answer, and the parser would need
/// a hundred times its memory, or a time that grows with the square of its length.
pub fn parse(markdown: &str, can_link: &dyn Fn(&str) -> bool) -> Document {
    read(markdown, can_link, None, None).document
}

/// The same where the lines of tables have at most so many columns: cells wrap, or a table becomes a list of its rows.
pub fn parse_within(
    markdown: &str,
    can_link: &dyn Fn(&str) -> bool,
    columns: Option<usize>,
) -> Document {
    read(markdown, can_link, None, columns).document
}

/// Parses the end of a text that is still growing, for terminals, which append to what they have shown.
/// A table that does not fit into so many columns becomes a list of its rows.
pub fn parse_growing(markdown: &str, columns: usize) -> Growing {
    let parsed = super::growing::without_undecided_end(markdown);
    read(parsed, &|_| false, Some(parsed), Some(columns)).growing()
}

/// Like [`parse_growing`], once the text has ended.
pub fn parse_grown(markdown: &str, columns: usize) -> Growing {
    Growing {
        settled: usize::MAX,
        ..read(markdown, &|_| false, Some(markdown), Some(columns)).growing()
    }
}

/// The end of a growing text.
pub struct Growing {
    /// What it would be if nothing more came.
    pub document: Document,
    /// The bytes of the document's text that no continuation is likely to change.
    pub settled: usize,
    /// Where the last block begins in the Markdown. The blocks before it are complete.
    pub block_source: usize,
    /// Where the last block begins in the document's text.
    pub block_text: usize,
}

fn read<'a>(
    markdown: &'a str,
    can_link: &'a dyn Fn(&str) -> bool,
    growing: Option<&'a str>,
    columns: Option<usize>,
) -> Reader<'a> {
    let mut reader = Reader {
        document: Document::default(),
        can_link,
        growing,
        columns,
        style: Style::default(),
        depth: [0; Level::COUNT],
        quotes: 0,
        gap: 0,
        lists: Vec::new(),
        insets: Vec::new(),
        links: Vec::new(),
        table: None,
        code: None,
        mark: 0..0,
        block: Block::default(),
        undecided: None,
    };
    if is_dense(markdown) {
        reader.document.push(markdown, Style::default());
        return reader;
    }
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        reader.locate(&event, &range);
        reader.event(event);
    }
    reader.show_definitions(markdown.len());
    reader
}

struct Reader<'a> {
    document: Document,
    can_link: &'a dyn Fn(&str) -> bool,
    /// The Markdown, if it is still growing.
    growing: Option<&'a str>,
    /// The width of the screen, if it is known.
    columns: Option<usize>,
    style: Style,
    /// How often each level is open: within bold, bold means nothing.
    depth: [usize; Level::COUNT],
    quotes: u32,
    /// Newlines due before whatever comes next.
    gap: usize,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The columns by which the text around each open list item is indented.
    insets: Vec<u32>,
    /// Open links and images, of which only the outermost counts.
    links: Vec<Option<Link>>,
    table: Option<Table>,
    /// The code block that is being read, as a value of its level.
    code: Option<u32>,
    /// Where the mark of the last list item is in the text.
    mark: Range<usize>,
    block: Block,
    /// Where the text may still change, in the last block without blocks in it.
    undecided: Option<usize>,
}

/// The outermost block that is being read, or was read last.
#[derive(Default)]
struct Block {
    /// How many tags are open.
    depth: usize,
    /// Where it is in the Markdown.
    source: Range<usize>,
    /// Where it begins in the text.
    text: usize,
}

/// A link or an image that is being read.
struct Link {
    address: String,
    /// Where its text begins.
    from: usize,
    is_linked: bool,
}

impl Reader<'_> {
    fn growing(self) -> Growing {
        let text = self.document.text();
        let end = self.undecided.unwrap_or(text.len());
        Growing {
            settled: text[..end].trim_end().len(),
            block_source: self.block.source.start,
            block_text: self.block.text,
            document: self.document,
        }
    }

    /// Notes which block an event belongs to and, in a growing text, whether it may still change.
    fn locate(&mut self, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(_) | Event::Rule if self.block.depth == 0 => {
                self.show_definitions(range.start);
                self.block.source = range.clone();
                self.block.text = self.document.text().len();
            }
            _ => {}
        }
        match event {
            Event::Start(tag) => {
                self.block.depth += 1;
                let is_inline = matches!(
                    tag,
                    Tag::Emphasis
                        | Tag::Strong
                        | Tag::Strikethrough
                        | Tag::Link { .. }
                        | Tag::Image { .. }
                );
                if !is_inline && self.table.is_none() {
                    let is_table = matches!(tag, Tag::Table(_));
                    self.undecided = is_table.then_some(self.document.text().len());
                }
            }
            Event::End(_) => self.block.depth = self.block.depth.saturating_sub(1),
            Event::Rule => self.undecided = None,
            Event::Text(text) if self.code.is_none() && self.undecided.is_none() => {
                let Some(source) = self.growing else { return };
                if let Some(index) = super::growing::undecided(source, range.clone()) {
                    let at = self.document.text().len();
                    self.undecided = Some(match (self.gap, index) {
                        // A check box takes the place of the item's bullet.
                        (0, 0) if at == self.mark.end => self.mark.start,
                        (0, index) => at + index.min(text.len()),
                        _ => at,
                    });
                }
            }
            _ => {}
        }
    }

    /// Shows the definitions of links that come before a place in a growing text: their uses may have
    /// been shown already, without the address.
    fn show_definitions(&mut self, end: usize) {
        let source = self.growing.unwrap_or("");
        let between = source.get(self.block.source.end..end).unwrap_or("").trim();
        if !between.is_empty() {
            self.begin_block();
            self.say(between);
            self.end_block();
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match self.code {
                Some(value) => self.say_code(&text, value),
                None => self.say(&text),
            },
            Event::Code(text) => self.say_inline_code(&text),
            Event::InlineHtml(text) => self.say(&text),
            Event::Html(text) => {
                for line in text.lines() {
                    self.say(line);
                    self.part(1);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.say("\n");
                self.say(&indent(self.lists.len()));
            }
            Event::Rule => {
                self.begin_block();
                self.say_as(Level::Aside, RULE);
                self.end_block();
            }
            Event::TaskListMarker(is_done) => {
                self.document.strip_end(BULLET);
                let style = self.style;
                // Like the bullet's, its indentation is that of the list.
                let inset = self.insets.last().copied().unwrap_or(0);
                self.style = style.with(Level::Inset, inset);
                self.say_as(Level::Mark, if is_done { "☑ " } else { "☐ " });
                self.style = style;
            }
            // Not asked of the parser.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.open(Level::Bold, 1),
            Tag::Emphasis => self.open(Level::Italic, 1),
            Tag::Strikethrough => self.open(Level::Strike, 1),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.open(Level::Heading, level as u32);
                self.open(Level::Bold, 1);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
                if !self.style.has(Level::Quote) {
                    let margin = self.style.get(Level::Inset);
                    self.style = self.style.with(Level::Margin, margin);
                }
                self.open(Level::Quote, self.quotes);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                self.code = Some(self.document.add_value(language(info).to_owned()));
            }
            Tag::HtmlBlock => self.begin_block(),
            Tag::List(first) => {
                self.begin_block();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::Link {
                link_type: LinkType::Email,
                dest_url,
                ..
            } => self.start_link(["mailto:", &dest_url].concat().into()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.start_link(dest_url),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.close(Level::Bold),
            TagEnd::Emphasis => self.close(Level::Italic),
            TagEnd::Strikethrough => self.close(Level::Strike),
            // The items of a loose list consist of paragraphs, and stay apart.
            TagEnd::Paragraph => self.part(2),
            TagEnd::Heading(_) => {
                self.close(Level::Bold);
                self.close(Level::Heading);
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.close(Level::Quote);
                if !self.style.has(Level::Quote) {
                    self.style = self.style.with(Level::Margin, 0);
                }
                self.end_block();
            }
            TagEnd::CodeBlock => {
                if self.code.take() == Some(self.document.last_style().get(Level::Pre)) {
                    self.document.strip_end("\n");
                }
                self.end_block();
            }
            TagEnd::HtmlBlock => self.end_block(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_block();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::TableCell => {
                if let Some(table) = &mut self.table {
                    table.end_cell();
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn open(&mut self, level: Level, value: u32) {
        let depth = &mut self.depth[level as usize];
        *depth += 1;
        if *depth == 1 {
            self.style = self.style.with(level, value);
        }
    }

    fn close(&mut self, level: Level) {
        let depth = &mut self.depth[level as usize];
        *depth = depth.saturating_sub(1);
        if *depth == 0 {
            self.style = self.style.with(level, 0);
        }
    }

    /// At least so many newlines will part what was from what comes.
    fn part(&mut self, newlines: usize) {
        self.gap = self.gap.max(newlines);
    }

    /// A block begins on a line of its own, or behind the mark of its list item.
    fn begin_block(&mut self) {
        if self.mark.end != self.document.text().len() {
            self.part(1);
        }
    }

    fn end_block(&mut self) {
        self.part(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// Writes the newlines that are due, and the next line's indentation.
    fn close_gap(&mut self, levels: usize) {
        let newlines = std::mem::take(&mut self.gap);
        if newlines == 0 || self.document.text().is_empty() {
            return;
        }
        let style = self.style.block().continuing(self.document.last_style());
        self.document.push(&"\n".repeat(newlines), style);
        // A quote that begins here begins at the margin.
        if style == self.style.block() {
            self.document.push(&indent(levels), style);
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(table) = &mut self.table {
            table.push(text);
        } else if !text.is_empty() {
            self.close_gap(self.lists.len());
            self.document.push(text, self.style);
        }
    }

    /// Says a text that has one level more.
    fn say_as(&mut self, level: Level, text: &str) {
        let style = self.style;
        self.style = style.with(level, 1);
        self.say(text);
        self.style = style;
    }

    /// Code can be only in a quote or a list. Code in the text of a link is plain text: the address is
    /// worth more than the look.
    fn say_inline_code(&mut self, text: &str) {
        if self.table.is_some() || self.style.get(Level::Link) != 0 {
            return self.say(text);
        }
        let style = self.style;
        self.style = style
            .block()
            .with(Level::Heading, style.get(Level::Heading))
            .with(Level::Inset, style.get(Level::Inset));
        self.say_as(Level::Code, text);
        self.style = style;
    }

    fn say_code(&mut self, text: &str, value: u32) {
        if text.is_empty() {
            return;
        }
        self.close_gap(0);
        self.document
            .push(&text.replace('\t', TAB), self.code_style(value));
    }

    fn code_style(&self, value: u32) -> Style {
        let inset = self.style.get(Level::Inset);
        let style = self.style.block().with(Level::Inset, inset);
        style.with(Level::Pre, value)
    }

    fn start_item(&mut self) {
        self.begin_block();
        self.close_gap(self.lists.len().saturating_sub(1));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = number.to_string() + ". ";
                *number = number.saturating_add(1);
                mark
            }
            _ => BULLET.to_owned(),
        };
        let start = self.document.text().len();
        self.say_as(Level::Mark, &mark);
        self.mark = start..self.document.text().len();
        let inset = self.style.get(Level::Inset);
        self.insets.push(inset);
        if self.insets.len() <= LIST_INDENTS {
            // Bullets and numbers are one column a character.
            let columns = u32::try_from(mark.chars().count()).unwrap_or(0);
            self.style = self.style.with(Level::Inset, inset + columns);
        }
    }

    fn end_item(&mut self) {
        let inset = self.insets.pop().unwrap_or(0);
        self.style = self.style.with(Level::Inset, inset);
        self.part(1);
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            let inset = self.style.get(Level::Inset) as usize;
            let columns = self.columns.map(|columns| columns.saturating_sub(inset));
            match table.lines(columns) {
                Some((head, rest)) => self.say_table(&head, &rest),
                None => self.say_records(&table),
            }
        }
        self.end_block();
    }

    fn say_table(&mut self, head: &str, rest: &str) {
        let value = self.document.add_value(String::new());
        let style = self.code_style(value);
        self.close_gap(0);
        for (part, text) in [(1, head), (2, rest)] {
            // To a channel, a table is one block of code.
            let part = if self.growing.is_some() { part } else { 0 };
            self.document.push(text, style.with(Level::Table, part));
        }
        self.document.strip_end("\n");
    }

    /// A table that is too wide, as a list: each row is an item with the cells named by the head.
    fn say_records(&mut self, table: &Table) {
        self.lists.push(None);
        for row in table.records() {
            self.start_item();
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                match table.head().get(column).filter(|name| !name.is_empty()) {
                    Some(name) if column > 0 => self.say(&[name, ": ", cell].concat()),
                    _ if column == 0 => self.say_as(Level::Bold, cell),
                    _ => self.say(cell),
                }
                self.part(1);
            }
            self.end_item();
        }
        self.lists.pop();
    }

    /// What is being written to: a cell of a table, or the text.
    fn current_text(&self) -> &str {
        let text = self.document.text();
        self.table.as_ref().map_or(text, Table::cell)
    }

    /// Begins a link or an image; one within another is only its text.
    fn start_link(&mut self, address: CowStr<'_>) {
        if !self.links.is_empty() {
            return self.links.push(None);
        }
        let is_linked = self.table.is_none() && (self.can_link)(&address);
        if is_linked {
            let value = self.document.add_value(address.to_string());
            self.open(Level::Link, value);
        }
        self.links.push(Some(Link {
            address: address.into_string(),
            from: self.current_text().len(),
            is_linked,
        }));
    }

    /// A link without text shows its address; text that cannot be linked, or looks like the address of another host,
    /// gets the address after it.
    fn end_link(&mut self) {
        let Some(Some(link)) = self.links.pop() else {
            return;
        };
        let address = link.address.as_str();
        let shown = self.current_text().get(link.from..).unwrap_or("").trim();
        let misleads = link.is_linked && misleads(shown, address);
        if shown.is_empty() {
            self.say(address);
        } else if !link.is_linked && shown != address.trim_start_matches("mailto:") {
            self.say_as(Level::Aside, &[" (", address, ")"].concat());
        }
        if link.is_linked {
            self.close(Level::Link);
        }
        if misleads {
            self.say_as(Level::Aside, &[" (", address, ")"].concat());
        }
    }
}

fn indent(levels: usize) -> String {
    "  ".repeat(levels.min(LIST_INDENTS))
}
