//! Markdown as styled text.

mod links;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use self::links::Target;
use super::dense::is_dense;
use super::html;
use super::rich::{Level, Rich, Style};
use super::table::Table;
use crate::limits::channels::LIST_INDENTS;

const BULLET: &str = "• ";
const RULE: &str = "———";
/// Telegram makes one space of a tab, and code would lose its indentation.
const TAB: &str = "    ";

/// Reads a text. One that is nothing but syntax is taken as it stands: it is no answer, and the parser
/// would need a hundred times its memory.
pub fn read(markdown: &str) -> Rich {
    if is_dense(markdown) {
        let mut rich = Rich::default();
        rich.push(markdown, Style::default());
        return rich;
    }
    let options =
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(markdown, options) {
        reader.event(event);
    }
    reader.rich
}

#[derive(Default)]
struct Reader {
    rich: Rich,
    style: Style,
    /// How often each level is open: within bold, bold means nothing.
    depth: [usize; Level::ALL.len()],
    quotes: u32,
    /// Newlines before whatever comes next.
    gap: usize,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    /// Links and images, of which the outermost counts.
    targets: Vec<Option<Target>>,
    table: Option<Table>,
    /// The code block that is being read, as a value of its level.
    code: Option<u32>,
    /// Where the text ended behind the last mark of a list item.
    marked: usize,
}

impl Reader {
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
                self.say(&self.indent(self.lists.len()));
            }
            Event::Rule => {
                self.begin_block();
                self.say(RULE);
                self.end_block();
            }
            Event::TaskListMarker(is_done) => {
                self.rich.strip_end(BULLET);
                self.say(if is_done { "☑ " } else { "☐ " });
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
            Tag::Heading { .. } => {
                self.begin_block();
                self.open(Level::Bold, 1);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
                self.open(Level::Quote, self.quotes);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                self.code = Some(self.code_block(info));
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
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.close(Level::Quote);
                self.end_block();
            }
            TagEnd::CodeBlock => {
                if self.code.take() == Some(self.rich.last_style().get(Level::Pre)) {
                    self.rich.strip_end("\n");
                }
                self.end_block();
            }
            TagEnd::HtmlBlock => self.end_block(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_block();
            }
            TagEnd::Item => self.part(1),
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
        if self.marked != self.rich.text().len() {
            self.part(1);
        }
    }

    fn end_block(&mut self) {
        self.part(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// Writes the newlines that are due, and the next line's indentation.
    fn close_gap(&mut self, levels: usize) {
        let newlines = std::mem::take(&mut self.gap);
        if newlines == 0 || self.rich.text().is_empty() {
            return;
        }
        let style = self.style.block().continuing(self.rich.last_style());
        self.rich.push(&"\n".repeat(newlines), style);
        // A quote that begins here begins at the margin.
        if style == self.style.block() {
            self.rich.push(&self.indent(levels), style);
        }
    }

    fn indent(&self, levels: usize) -> String {
        "  ".repeat(levels.min(LIST_INDENTS))
    }

    fn say(&mut self, text: &str) {
        if let Some(table) = &mut self.table {
            table.push(text);
        } else if !text.is_empty() {
            self.close_gap(self.lists.len());
            self.rich.push(text, self.style);
        }
    }

    /// Code stands in nothing but a quote. The words of a link stay its words: the address is worth
    /// more than the look.
    fn say_inline_code(&mut self, text: &str) {
        if self.table.is_some() || self.style.get(Level::Link) != 0 {
            return self.say(text);
        }
        let style = self.style;
        self.style = style.block().with(Level::Code, 1);
        self.say(text);
        self.style = style;
    }

    fn say_code(&mut self, text: &str, value: u32) {
        if text.is_empty() {
            return;
        }
        self.close_gap(0);
        let style = self.style.block().with(Level::Pre, value);
        self.rich.push(&text.replace('\t', TAB), style);
    }

    fn code_block(&mut self, info: &str) -> u32 {
        let (open, close) = html::code_block(info);
        self.rich.add_opening(open, close)
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
        self.say(&mark);
        self.marked = self.rich.text().len();
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            let value = self.code_block("");
            self.say_code(&table.lines(), value);
        }
        self.end_block();
    }
}
