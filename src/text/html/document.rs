//! Documents in XML: XHTML, feeds (RSS and Atom), and pictures (SVG), which differ by their first element.

use super::markdown::Writer;
use super::tokens::{Sink, Tag, Tokenizer};

/// Takes the tokens of a document and hands a writer what a reader sees.
pub struct Document {
    writer: Writer,
    kind: Option<Kind>,
    /// The entry of a feed is open.
    is_entry: bool,
    /// HTML in the text of an element, and that element's name.
    inner: Option<(Tokenizer, String)>,
    /// What is left out, and how many elements are open in it.
    skipped: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Page,
    Feed,
    Picture,
    Other,
}

impl Kind {
    fn of(root: &str) -> Self {
        match root {
            "html" => Self::Page,
            "rss" | "feed" | "rdf" => Self::Feed,
            "svg" => Self::Picture,
            _ => Self::Other,
        }
    }
}

impl Document {
    /// A document that is handed to a writer.
    pub fn new(writer: Writer) -> Self {
        Self {
            writer,
            kind: None,
            is_entry: false,
            inner: None,
            skipped: None,
        }
    }

    /// Whether a document with this beginning is one of those that are read.
    pub fn is_known(beginning: &str) -> bool {
        #[derive(Default)]
        struct Root(Option<Kind>);
        impl Sink for Root {
            fn start(&mut self, tag: &Tag) {
                self.0.get_or_insert_with(|| Kind::of(&tag.name));
            }
            fn end(&mut self, _name: &str) {}
            fn text(&mut self, _char: char) {}
        }
        let mut root = Root::default();
        let mut tokens = Tokenizer::xml();
        beginning
            .chars()
            .for_each(|char| tokens.push(char, &mut root));
        root.0.is_some_and(|kind| kind != Kind::Other)
    }

    /// Whether nothing that follows will be used.
    pub fn is_done(&self) -> bool {
        self.writer.is_done()
    }

    /// The writer, with all that was in the document.
    pub fn into_writer(mut self) -> Writer {
        self.end_inner();
        self.writer
    }

    fn end_inner(&mut self) {
        if let Some((tokens, _)) = self.inner.take() {
            tokens.finish(&mut self.writer);
            self.writer.end("p");
        }
    }

    fn begin(&mut self, name: &str) {
        self.writer.start(&Tag::named(name));
    }

    fn start_in_feed(&mut self, tag: &Tag) {
        match tag.name.as_str() {
            "item" | "entry" => {
                self.is_entry = true;
                self.begin("section");
            }
            "title" if self.is_entry => self.begin("h2"),
            "link" => {
                self.begin("div");
                let target = tag.attribute("href").unwrap_or_default();
                target.chars().for_each(|char| self.writer.text(char));
            }
            "description" | "summary" | "content" | "encoded" | "subtitle" => {
                self.begin("p");
                if tag.attribute("type") != Some("xhtml") {
                    self.inner = Some((Tokenizer::default(), tag.name.clone()));
                }
            }
            "title" => self.writer.start(tag),
            "pubdate" | "published" | "updated" | "date" | "author" | "creator" | "category" => {
                self.begin("div")
            }
            "guid" | "id" | "generator" | "docs" | "ttl" => self.skipped = Some(1),
            _ => self.writer.start(tag),
        }
    }
}

impl Sink for Document {
    fn start(&mut self, tag: &Tag) {
        if let Some(open) = &mut self.skipped {
            *open = open.saturating_add(1);
            return;
        }
        if self.inner.is_some() {
            return;
        }
        match self.kind {
            None => {
                let kind = Kind::of(&tag.name);
                self.kind = Some(kind);
                if kind == Kind::Page {
                    self.writer.start(tag);
                }
            }
            Some(Kind::Feed) => self.start_in_feed(tag),
            Some(Kind::Picture) => match tag.name.as_str() {
                "defs" | "metadata" | "script" | "style" | "symbol" => self.skipped = Some(1),
                "text" | "desc" => self.begin("p"),
                "svg" => {}
                _ => self.writer.start(tag),
            },
            Some(Kind::Page | Kind::Other) => self.writer.start(tag),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(open) = &mut self.skipped {
            *open = open.saturating_sub(1);
            if *open == 0 {
                self.skipped = None;
            }
            return;
        }
        if let Some((_, outer)) = &self.inner {
            if outer == name {
                self.end_inner();
            }
            return;
        }
        let is_feed = self.kind == Some(Kind::Feed);
        match name {
            "item" | "entry" if is_feed => {
                self.is_entry = false;
                self.writer.end("section");
            }
            "title" if is_feed && self.is_entry => self.writer.end("h2"),
            "link" if is_feed => self.writer.end("div"),
            "pubdate" | "published" | "updated" | "date" | "author" | "creator" | "category"
                if is_feed =>
            {
                self.writer.end("div");
            }
            "text" | "desc" if self.kind == Some(Kind::Picture) => self.writer.end("p"),
            _ => self.writer.end(name),
        }
    }

    fn text(&mut self, char: char) {
        match (&mut self.inner, self.skipped) {
            (_, Some(_)) => {}
            (Some((tokens, _)), None) => tokens.push(char, &mut self.writer),
            (None, None) => self.writer.text(char),
        }
    }
}
