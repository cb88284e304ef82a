//! Cuts HTML into tags and text, one character at a time, in constant memory.
//!
//! It follows the states of the HTML standard (section 13.2.5), without those that only serve scripts.
//! Anything is accepted; what is too long to mean something is left out.

use super::entities;
use crate::limits::web::{ENTITY_CHARS, NAME_CHARS, VALUE_BYTES};

/// Takes the tokens of a page.
pub trait Sink {
    /// A tag that begins an element.
    fn start(&mut self, tag: &Tag);
    /// A tag that ends an element.
    fn end(&mut self, name: &str);
    /// A character of text.
    fn text(&mut self, char: char);
}

/// A tag.
#[derive(Debug, Default)]
pub struct Tag {
    /// In lower case.
    pub name: String,
    /// Whether it ends with `/>`, which closes elements of SVG only.
    pub is_closed: bool,
    attributes: Vec<(&'static str, String)>,
}

/// The attributes that are used. Others are not kept.
const ATTRIBUTES: [&str; 8] = [
    "href",
    "alt",
    "class",
    "role",
    "hidden",
    "aria-hidden",
    "content",
    "style",
];

impl Tag {
    /// The value of an attribute, empty if it has none; `None` where the attribute is missing, is not used
    /// here, or is too long.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find_map(|(known, value)| (*known == name).then_some(value.as_str()))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Text,
    /// After `<`.
    Open,
    /// After `</`.
    Close,
    Name,
    BeforeAttribute,
    Attribute,
    AfterAttribute,
    BeforeValue,
    /// Within quotation marks.
    Quoted(char),
    Unquoted,
    /// After `<!`: two hyphens begin a comment.
    Declaration,
    /// In a comment, after so many hyphens.
    Comment(u8),
    /// Until the next `>`.
    Skip,
    /// In a script or the like, which ends with its own end tag only.
    Raw,
}

/// What follows a tag's name.
fn ends_name(char: char) -> bool {
    char.is_ascii_whitespace() || matches!(char, '/' | '>')
}

/// The tokenizer.
#[derive(Debug, Default)]
pub struct Tokenizer {
    state: State,
    tag: Tag,
    is_end: bool,
    /// The attribute that is being read.
    name: String,
    value: String,
    /// Whether the value became too long.
    is_cut: bool,
    /// What comes after an ampersand, up to here.
    entity: Option<String>,
    /// In [`State::Raw`]: the element.
    raw: Option<Raw>,
}

#[derive(Debug)]
struct Raw {
    name: String,
    /// Whether its text counts: it does in a title.
    is_text: bool,
    /// What may be its end tag, from the `<`.
    close: String,
}

impl Tokenizer {
    /// Takes the next character.
    pub fn push(&mut self, char: char, sink: &mut impl Sink) {
        if self.entity.is_some() {
            if self.go_on_with_entity(char, sink) {
                return;
            }
        } else if char == '&' && self.has_entities() {
            self.entity = Some(String::new());
            return;
        }
        self.take(char, sink);
    }

    /// Takes the end of the page.
    pub fn finish(mut self, sink: &mut impl Sink) {
        self.end_entity(sink);
        if self.state == State::Open {
            sink.text('<');
        }
    }

    fn has_entities(&self) -> bool {
        match self.state {
            State::Text | State::BeforeValue | State::Quoted(_) | State::Unquoted => true,
            State::Raw => self
                .raw
                .as_ref()
                .is_some_and(|raw| raw.is_text && raw.close.is_empty()),
            _ => false,
        }
    }

    /// Whether the character belongs to the reference that is being read.
    fn go_on_with_entity(&mut self, char: char, sink: &mut impl Sink) -> bool {
        let Some(entity) = &mut self.entity else {
            return false;
        };
        let is_part = char.is_ascii_alphanumeric() || char == '#' && entity.is_empty();
        if char == ';' || is_part && entity.len() < ENTITY_CHARS {
            entity.push(char);
            if char == ';' {
                self.end_entity(sink);
            }
            return true;
        }
        self.end_entity(sink);
        // Another one may begin.
        if char == '&' && self.has_entities() {
            self.entity = Some(String::new());
            return true;
        }
        false
    }

    fn end_entity(&mut self, sink: &mut impl Sink) {
        let Some(entity) = self.entity.take() else {
            return;
        };
        let is_value = !matches!(self.state, State::Text | State::Raw);
        // `?a=1&copy=2` is an address and not a copyright sign.
        let decoded = match is_value && !entity.ends_with(';') {
            true => None,
            false => entities::decode(&entity),
        };
        match decoded {
            Some(text) => text.chars().for_each(|char| self.place(char, sink)),
            None => {
                self.place('&', sink);
                entity.chars().for_each(|char| self.place(char, sink));
            }
        }
    }

    /// Takes a character that means itself.
    fn place(&mut self, char: char, sink: &mut impl Sink) {
        match self.state {
            State::Text | State::Raw => sink.text(char),
            State::BeforeValue => {
                self.state = State::Unquoted;
                self.add_to_value(char);
            }
            _ => self.add_to_value(char),
        }
    }

    fn take(&mut self, char: char, sink: &mut impl Sink) {
        let is_space = char.is_ascii_whitespace();
        match self.state {
            State::Text if char == '<' => self.state = State::Open,
            State::Text => sink.text(char),
            State::Open | State::Close => self.open(char, sink),
            State::Name => match char {
                _ if ends_name(char) => self.after_name(char, sink),
                _ if self.tag.name.len() < NAME_CHARS => {
                    self.tag.name.push(char.to_ascii_lowercase());
                }
                _ => {}
            },
            State::BeforeAttribute | State::AfterAttribute => match char {
                '>' => self.end_tag(sink),
                '/' => self.slash(),
                '=' if self.state == State::AfterAttribute => self.state = State::BeforeValue,
                _ if is_space => {}
                _ => {
                    self.keep_attribute();
                    self.tag.is_closed = false;
                    self.state = State::Attribute;
                    self.add_to_name(char);
                }
            },
            State::Attribute => match char {
                '=' => self.state = State::BeforeValue,
                '>' => self.end_tag(sink),
                '/' => self.slash(),
                _ if is_space => self.state = State::AfterAttribute,
                _ => self.add_to_name(char),
            },
            State::BeforeValue => match char {
                '"' | '\'' => self.state = State::Quoted(char),
                '>' => self.end_tag(sink),
                _ if is_space => {}
                _ => self.place(char, sink),
            },
            State::Quoted(mark) if char == mark => self.state = State::BeforeAttribute,
            State::Unquoted if char == '>' => self.end_tag(sink),
            State::Unquoted if is_space => self.state = State::BeforeAttribute,
            State::Quoted(_) | State::Unquoted => self.add_to_value(char),
            State::Declaration | State::Comment(_) | State::Skip => self.pass(char),
            State::Raw => self.take_raw(char, sink),
        }
    }

    /// After `<` or `</`.
    fn open(&mut self, char: char, sink: &mut impl Sink) {
        let is_close = self.state == State::Close;
        match char {
            _ if char.is_ascii_alphabetic() => self.begin_tag(char, is_close),
            '/' if !is_close => self.state = State::Close,
            '!' if !is_close => {
                self.name.clear();
                self.state = State::Declaration;
            }
            '?' if !is_close => self.state = State::Skip,
            '>' if is_close => self.state = State::Text,
            _ if is_close => self.state = State::Skip,
            _ => {
                sink.text('<');
                self.state = State::Text;
                // It may be another `<`, or an ampersand.
                self.push(char, sink);
            }
        }
    }

    fn begin_tag(&mut self, char: char, is_end: bool) {
        self.tag.name.clear();
        self.tag.name.push(char.to_ascii_lowercase());
        self.tag.attributes.clear();
        self.tag.is_closed = false;
        self.name.clear();
        self.value.clear();
        self.is_cut = false;
        self.is_end = is_end;
        self.state = State::Name;
    }

    fn after_name(&mut self, char: char, sink: &mut impl Sink) {
        match char {
            '>' => self.end_tag(sink),
            '/' => self.slash(),
            _ => self.state = State::BeforeAttribute,
        }
    }

    fn slash(&mut self) {
        self.tag.is_closed = true;
        self.state = State::BeforeAttribute;
    }

    fn add_to_name(&mut self, char: char) {
        if self.name.len() < NAME_CHARS {
            self.name.push(char.to_ascii_lowercase());
        }
    }

    fn add_to_value(&mut self, char: char) {
        match self.value.len() < VALUE_BYTES {
            true => self.value.push(char),
            false => self.is_cut = true,
        }
    }

    /// Notes the attribute that was read, if it is used. The first of several counts.
    fn keep_attribute(&mut self) {
        let known = ATTRIBUTES.into_iter().find(|known| *known == self.name);
        if let Some(name) = known.filter(|name| !self.is_cut && self.tag.attribute(name).is_none())
        {
            self.tag
                .attributes
                .push((name, std::mem::take(&mut self.value)));
        }
        self.name.clear();
        self.value.clear();
        self.is_cut = false;
    }

    /// At the `>` of a tag.
    fn end_tag(&mut self, sink: &mut impl Sink) {
        self.keep_attribute();
        self.state = State::Text;
        if self.is_end {
            sink.end(&self.tag.name);
            return;
        }
        sink.start(&self.tag);
        let is_text = matches!(&*self.tag.name, "title" | "textarea");
        let is_raw = matches!(
            &*self.tag.name,
            "script" | "style" | "xmp" | "iframe" | "noembed" | "noframes" | "noscript"
        );
        if is_text || is_raw {
            self.state = State::Raw;
            self.raw = Some(Raw {
                name: self.tag.name.clone(),
                is_text,
                close: String::new(),
            });
        }
    }

    /// In what is not shown.
    fn pass(&mut self, char: char) {
        self.state = match (self.state, char) {
            (State::Declaration, '-') if self.name.is_empty() => {
                self.name.push(char);
                State::Declaration
            }
            // `<!-->` is a whole comment.
            (State::Declaration, '-') => State::Comment(2),
            (State::Declaration | State::Skip, '>') => State::Text,
            (State::Declaration | State::Skip, _) => State::Skip,
            (State::Comment(2..), '>') => State::Text,
            (State::Comment(hyphens), '-') => State::Comment(hyphens.saturating_add(1)),
            (State::Comment(hyphens), '!') if hyphens >= 2 => State::Comment(hyphens),
            _ => State::Comment(0),
        };
    }

    /// In a script or the like.
    fn take_raw(&mut self, char: char, sink: &mut impl Sink) {
        let Some(raw) = &mut self.raw else {
            self.state = State::Text;
            return;
        };
        let is_close = raw.close.strip_prefix("</") == Some(&raw.name);
        if is_close && ends_name(char) {
            let name = std::mem::take(&mut raw.name);
            self.raw = None;
            self.begin_tag(' ', true);
            self.tag.name = name;
            self.after_name(char, sink);
            return;
        }
        let lower = char.to_ascii_lowercase();
        let wanted = ['<', '/'].into_iter().chain(raw.name.chars());
        if wanted.clone().nth(raw.close.chars().count()) == Some(lower) {
            raw.close.push(lower);
            return;
        }
        let passed = std::mem::take(&mut raw.close);
        let is_text = raw.is_text;
        if lower == '<' {
            raw.close.push('<');
        }
        if is_text {
            passed.chars().for_each(|char| sink.text(char));
            if lower != '<' {
                sink.text(char);
            }
        }
    }
}
