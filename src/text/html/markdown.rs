//! Writes a page as Markdown or plain text, without what surrounds its content.

mod marks;

use super::hidden::{Open, Skipped};
use super::link;
use super::lists::{GAP, Lists};
use super::tokens::{Sink, Tag};
use crate::base::limits::web::URL_BYTES;
use crate::text::is_prose;
use marks::{Raised, Struck};

/// Characters of a page's title.
const TITLE_CHARS: usize = 200;
/// Quotations within quotations that are marked.
const QUOTE_LEVELS: usize = 4;
/// Columns of a table whose header is marked.
const TABLE_COLUMNS: usize = 32;
/// Characters of a page's main part below which the page's other parts are used too.
const MAIN_CHARS: usize = 200;

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With headings, lists, tables, code and links.
    Markdown,
    /// Only the text.
    Text,
}

/// A page as it is read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title, on one line.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Whether there is more of it than was asked for.
    pub is_cut: bool,
}

/// Takes the tokens of a page and writes its text.
pub struct Writer {
    form: Form,
    /// The address that references are relative to.
    base: String,
    limit: usize,
    title: String,
    title_state: TitleState,
    /// The element that is left out.
    skipped: Option<Skipped>,
    open: Open,
    main: Main,
    out: String,
    chars: usize,
    is_cut: bool,
    /// Newlines to write before the next character.
    breaks: u8,
    has_space: bool,
    /// What the next line begins with, such as `## `.
    marker: String,
    lists: Lists,
    quotes: usize,
    /// Those of the line before.
    last_quotes: usize,
    is_pre: bool,
    /// Whether the page has said what its references begin from; only the first time counts.
    has_base: bool,
    code: Code,
    struck: Option<Struck>,
    raised: Option<Raised>,
    link: Option<Link>,
    table: Table,
}

#[derive(Debug, PartialEq)]
enum TitleState {
    Missing,
    Open,
    Done,
}

/// The element that says it is the main part.
#[derive(Debug)]
enum Main {
    Missing,
    /// It is open; this was before it.
    Open(String),
    /// It has been written, and is all that counts.
    Done,
    /// It had nothing to say.
    Empty,
}

#[derive(Debug, PartialEq)]
enum Code {
    Outside,
    /// It has begun and has no character yet.
    Empty,
    Open,
}

/// The line before code.
const FENCE: &str = "```\n";

/// The link that is open.
#[derive(Debug)]
struct Link {
    address: String,
    /// Whether its bracket is written.
    is_open: bool,
}

/// The innermost table.
#[derive(Debug, Default)]
struct Table {
    /// Whether it has a header, and is not only there for the layout.
    has_header: bool,
    /// Cells of the row so far.
    cells: usize,
    /// Whether its first row has ended.
    is_begun: bool,
    /// A cell has begun, and is not the first.
    is_next: bool,
}

impl Writer {
    /// A writer for the page at an address, of at most so many characters.
    pub fn new(form: Form, base: &str, limit: usize) -> Self {
        Self {
            form,
            base: base.to_owned(),
            limit,
            title: String::new(),
            title_state: TitleState::Missing,
            skipped: None,
            open: Open::default(),
            main: Main::Missing,
            out: String::new(),
            chars: 0,
            is_cut: false,
            breaks: 0,
            has_space: false,
            marker: String::new(),
            lists: Lists::default(),
            quotes: 0,
            last_quotes: 0,
            is_pre: false,
            has_base: false,
            code: Code::Outside,
            struck: None,
            raised: None,
            link: None,
            table: Table::default(),
        }
    }

    /// Whether nothing that follows will be used.
    pub fn is_done(&self) -> bool {
        self.is_cut || matches!(self.main, Main::Done)
    }

    /// The page.
    pub fn finish(mut self) -> Page {
        self.end_main();
        self.end_raised();
        self.pause_struck();
        self.end_link();
        self.end_pre();
        self.lists.end_all(&mut self.out);
        self.close_gaps();
        Page {
            title: self.title.split_whitespace().collect::<Vec<_>>().join(" "),
            text: self.out,
            is_cut: self.is_cut,
        }
    }

    fn is_markdown(&self) -> bool {
        self.form == Form::Markdown
    }

    fn write(&mut self, char: char) {
        if self.chars < self.limit {
            self.out.push(char);
            self.chars += 1;
        } else {
            self.is_cut = true;
        }
    }

    fn write_text(&mut self, text: &str) {
        text.chars().for_each(|char| self.write(char));
    }

    /// A new paragraph (2) or a new line (1) begins. Within a link or a cell there is only one line.
    fn begin_block(&mut self, breaks: u8) {
        if self.link.is_some() || (self.table.has_header && self.table.cells > 0) {
            self.has_space = true;
        } else if self.marker.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    /// The next line begins with this.
    fn begin_marked(&mut self, breaks: u8, marker: String) {
        if self.link.is_none() {
            self.marker.clear();
            self.begin_block(breaks);
            // A number is text.
            if self.is_markdown() || marker.ends_with(". ") {
                self.marker = marker;
            }
        }
    }

    /// Writes what comes before the next character.
    fn catch_up(&mut self) {
        let is_first = self.out.is_empty();
        if self.breaks > 0 || self.table.is_next {
            self.pause_struck();
        }
        if self.breaks > 0 || is_first {
            let quotes = if self.is_markdown() {
                self.quotes.min(QUOTE_LEVELS)
            } else {
                0
            };
            // An empty line belongs to a quotation that goes on.
            let between = "> ".repeat(quotes.min(self.last_quotes));
            self.last_quotes = quotes;
            for left in (0..self.breaks).rev().filter(|_| !is_first) {
                self.write('\n');
                if left > 0 {
                    self.write_text(between.trim_end());
                }
            }
            self.write_text(&"> ".repeat(quotes));
            let is_item = self.marker.ends_with("- ") || self.marker.ends_with(". ");
            let levels = self.lists.levels().saturating_sub(usize::from(is_item));
            if !self.is_pre {
                self.write_text(&"  ".repeat(levels));
            }
        } else if self.table.is_next {
            self.write_text(" | ");
        } else if self.has_space {
            self.write(' ');
        }
        (self.breaks, self.has_space, self.table.is_next) = (0, false, false);
        let marker = std::mem::take(&mut self.marker);
        if marker.starts_with(GAP) && self.chars < self.limit {
            self.lists.note_gap(self.out.len());
        }
        self.write_text(&marker);
        self.resume_struck();
        if let Some(link) = self.link.as_mut().filter(|link| !link.is_open) {
            link.is_open = true;
            self.write('[');
        }
        if self.code == Code::Empty {
            self.code = Code::Open;
            self.write('`');
        }
    }

    fn begin_link(&mut self, tag: &Tag) {
        self.end_link();
        // In code there is no Markdown.
        let is_marked = self.is_markdown() && !self.is_pre;
        let target = tag.attribute("href").filter(|_| is_marked);
        let address = target.and_then(|target| link::absolute(&self.base, target));
        self.link = address.map(|address| Link {
            // A bracket would end the link early.
            address: address.replace('(', "%28").replace(')', "%29"),
            is_open: false,
        });
    }

    fn end_link(&mut self) {
        if let Some(link) = self.link.take().filter(|link| link.is_open) {
            self.end_code();
            self.write_text("](");
            self.write_text(&link.address);
            self.write(')');
        }
    }

    fn end_code(&mut self) {
        if std::mem::replace(&mut self.code, Code::Outside) == Code::Open {
            self.write('`');
        }
    }

    fn begin_pre(&mut self) {
        self.end_link();
        self.end_code();
        self.begin_block(2);
        if self.is_markdown() && !self.marker.ends_with(FENCE) {
            self.marker.push_str(FENCE);
        }
        self.is_pre = true;
    }

    fn end_pre(&mut self) {
        if std::mem::take(&mut self.is_pre) {
            match self.marker.ends_with(FENCE) {
                // It was empty.
                true => self.marker.clear(),
                false if self.is_markdown() => {
                    if !self.out.ends_with('\n') {
                        self.write('\n');
                    }
                    self.write_text("```");
                }
                false => {}
            }
            self.begin_block(2);
        }
    }

    fn begin_list(&mut self, tag: &Tag) {
        self.begin_block(if self.lists.levels() == 0 { 2 } else { 1 });
        self.lists.begin(tag);
    }

    fn end_list(&mut self) {
        self.lists.end(&mut self.out);
        self.marker.clear();
        self.begin_block(if self.lists.levels() == 0 { 2 } else { 1 });
    }

    fn begin_item(&mut self, tag: &Tag) {
        let marker = self.lists.marker(tag);
        self.begin_marked(1, marker.unwrap_or_else(|| "- ".to_owned()));
    }

    fn begin_row(&mut self) {
        self.end_row();
        self.begin_block(1);
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.table.cells);
        self.table.is_next = false;
        if cells == 0 {
            return;
        }
        let is_first = !std::mem::replace(&mut self.table.is_begun, true);
        if is_first && self.table.has_header && cells > 1 && self.is_markdown() {
            self.write_text("\n---");
            (1..cells.min(TABLE_COLUMNS)).for_each(|_| self.write_text(" | ---"));
        }
        self.begin_block(1);
    }

    fn begin_cell(&mut self, is_header: bool) {
        if self.table.cells > 0 {
            self.end_link();
            self.table.is_next = true;
            self.has_space = false;
        } else if !self.table.is_begun {
            self.table.has_header = is_header;
        }
        self.table.cells += 1;
    }

    fn begin_main(&mut self) {
        if matches!(self.main, Main::Missing) {
            self.end_link();
            self.end_code();
            self.pause_struck();
            self.lists.end_all(&mut self.out);
            (self.struck, self.raised) = (None, None);
            self.main = Main::Open(std::mem::take(&mut self.out));
            self.chars = 0;
            self.is_cut = false;
            self.marker.clear();
            self.quotes = 0;
            self.table = Table::default();
            (self.breaks, self.is_pre) = (0, false);
        }
    }

    fn end_main(&mut self) {
        self.end_raised();
        self.pause_struck();
        self.lists.end_all(&mut self.out);
        match std::mem::replace(&mut self.main, Main::Done) {
            Main::Open(_) if self.chars >= MAIN_CHARS => {}
            Main::Open(mut before) => {
                let main = std::mem::take(&mut self.out);
                if !before.is_empty() && !main.is_empty() {
                    before.push_str("\n\n");
                }
                before.push_str(&main);
                self.chars = before.chars().count();
                self.out = before;
                self.main = Main::Empty;
                self.begin_block(2);
            }
            other => self.main = other,
        }
    }

    /// Whether the element is left out.
    fn skips(&mut self, tag: &Tag) -> bool {
        self.open.end_before(&tag.name);
        let skipped = self.skipped.take();
        self.skipped = skipped.filter(|one| one.holds(tag, &mut self.open));
        if self.skipped.is_some() {
            return true;
        }
        let begun = Skipped::begin(tag, &mut self.open);
        let is_skipped = begun.is_some();
        self.skipped = begun.flatten();
        is_skipped
    }
}

impl Sink for Writer {
    fn start(&mut self, tag: &Tag) {
        if matches!(self.main, Main::Done) || self.skips(tag) {
            return;
        }
        self.begin_struck(tag);
        match &*tag.name {
            "title" if self.title_state == TitleState::Missing => {
                self.title_state = TitleState::Open;
            }
            "base" if !self.has_base => {
                let target = tag.attribute("href");
                self.has_base = target.is_some();
                let base = target.and_then(|target| link::absolute(&self.base, target));
                if let Some(base) = base.filter(|base| base.len() <= URL_BYTES) {
                    self.base = base;
                }
            }
            "base" => {}
            "main" => self.begin_main(),
            "a" => self.begin_link(tag),
            "img" => {
                let alt = tag.attribute("alt").unwrap_or_default();
                alt.chars().for_each(|char| self.text(char));
            }
            "br" if self.is_pre => self.text('\n'),
            "br" => {
                let breaks = self.breaks.saturating_add(1).min(2);
                self.begin_block(breaks);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = tag.name.as_bytes().get(1).map_or(1, |digit| digit - b'0');
                self.begin_marked(2, "#".repeat(level.into()) + " ");
            }
            "ul" | "ol" | "menu" => self.begin_list(tag),
            "li" => self.begin_item(tag),
            "q" => self.text('“'),
            "sup" => self.begin_raised('^'),
            "sub" => self.begin_raised('_'),
            "pre" | "listing" | "xmp" => self.begin_pre(),
            "code" | "kbd" | "samp" | "tt" => {
                if self.is_markdown() && !self.is_pre && self.code == Code::Outside {
                    self.code = Code::Empty;
                }
            }
            "blockquote" => {
                self.begin_block(2);
                self.quotes = self.quotes.saturating_add(1);
            }
            "table" => {
                self.end_row();
                self.table = Table::default();
                self.begin_block(2);
            }
            "tr" => self.begin_row(),
            "th" => self.begin_cell(true),
            "td" => self.begin_cell(false),
            name => self.begin_block(breaks_around(name)),
        }
    }

    fn end(&mut self, name: &str) {
        let ended = self.open.end(name);
        if let Some(skipped) = self.skipped.take() {
            match ended {
                Some(at) if skipped.is_at(at) => return,
                // It ended with the one around it.
                Some(at) if !skipped.is_around(at) => {}
                _ => {
                    self.skipped = Some(skipped);
                    return;
                }
            }
        }
        self.end_struck(name);
        match name {
            "title" if self.title_state == TitleState::Open => {
                self.title_state = TitleState::Done;
            }
            "main" => self.end_main(),
            "a" => self.end_link(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.marker.clear();
                self.begin_block(2);
            }
            "ul" | "ol" | "menu" => self.end_list(),
            "pre" | "listing" | "xmp" => self.end_pre(),
            "code" | "kbd" | "samp" | "tt" => self.end_code(),
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.begin_block(2);
            }
            "table" => {
                self.end_row();
                self.table = Table::default();
                self.begin_block(2);
            }
            "tr" => self.end_row(),
            "q" => self.text('”'),
            "sup" | "sub" => self.end_raised(),
            name => self.begin_block(breaks_around(name)),
        }
    }

    fn text(&mut self, char: char) {
        if self.title_state == TitleState::Open {
            if self.title.len() < TITLE_CHARS && (is_prose(char) || char.is_whitespace()) {
                self.title.push(char);
            }
            return;
        }
        if let Some(skipped) = &self.skipped {
            skipped.push(char, &mut self.open);
            return;
        }
        if self.open.is_unseen() || self.is_done() {
            return;
        }
        if !self.is_pre && char.is_whitespace() {
            self.has_space |= !self.out.is_empty();
            return;
        }
        let is_first = !self.marker.is_empty();
        if is_prose(char) && !(self.is_pre && is_first && char == '\n') {
            let is_joined = self.breaks == 0 && !self.has_space && !self.table.is_next;
            let is_joined = is_joined && self.out.ends_with(|char: char| !char.is_whitespace());
            self.catch_up();
            self.mark_raised(is_joined);
            self.write(char);
        }
    }
}

/// Newlines around an element: 2 for a paragraph, 1 for a line, 0 within one.
fn breaks_around(name: &str) -> u8 {
    match name {
        "p" | "section" | "article" | "header" | "figure" | "details" | "form" | "fieldset"
        | "hr" | "address" | "dl" | "center" => 2,
        "div" | "dt" | "dd" | "li" | "summary" | "figcaption" | "caption" | "option" | "body"
        | "thead" | "tbody" | "legend" | "label" => 1,
        _ => 0,
    }
}
