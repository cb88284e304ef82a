//! Cuts HTML and XML into tags and text, one character at a time, in constant memory.
//!
//! It follows the states of the HTML standard (section 13.2.5). Anything is accepted; what is too long to mean
//! something is left out. In XML (see [`Tokenizer::xml`]) there are no scripts and no titles that are read in another way, `<a/>`
//! ends at once, and sections of characters count.

mod raw;

use super::entities::{self, Reference};
use crate::base::limits::web::VALUE_BYTES;
use raw::Raw;

/// Characters of a tag's or an attribute's name; no name that means something is as long.
const NAME_CHARS: usize = 24;

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
    /// Whether it ends with `/>`, which closes elements of XML and SVG only.
    pub is_closed: bool,
    attributes: Vec<(String, String)>,
}

/// The attributes that are used. Others are not kept.
const ATTRIBUTES: [&str; 15] = [
    "href",
    "alt",
    "class",
    "id",
    "media",
    "role",
    "hidden",
    "aria-hidden",
    "content",
    "style",
    "start",
    "value",
    "reversed",
    "type",
    "open",
];

impl Tag {
    /// A tag without attributes.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The value of an attribute, empty if it has none; `None` where the attribute is missing, is not used
    /// here, or is too long.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// The attributes that are kept, in their order.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.attributes.iter();
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Text,
    /// Text up to the end.
    Plain,
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
    /// After `<!`, and what followed it is in `name`.
    Declaration,
    Comment(Comment),
    /// In XML: a declaration of the document's type, with so many open brackets.
    Type(u8),
    /// In XML: an instruction, and whether its last character is a question mark.
    Instruction(bool),
    /// A section of characters, and the number of its last brackets.
    Section(u8),
    /// Until the next `>`.
    Skip,
    /// In a script or the like, which ends with its own end tag only.
    Raw,
}

/// A place in a comment (section 13.2.5.43).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comment {
    Start,
    StartDash,
    Text,
    Dash,
    End,
    EndBang,
}

impl Comment {
    /// The place after a character; `None` behind the comment.
    fn next(self, char: char) -> Option<Self> {
        Some(match (self, char) {
            (Self::Start | Self::StartDash | Self::End | Self::EndBang, '>') => return None,
            (Self::Start, '-') => Self::StartDash,
            (Self::Text | Self::EndBang, '-') => Self::Dash,
            (Self::StartDash | Self::Dash | Self::End, '-') => Self::End,
            (Self::End, '!') => Self::EndBang,
            _ => Self::Text,
        })
    }
}

/// What follows a tag's name.
fn ends_name(char: char) -> bool {
    char.is_ascii_whitespace() || matches!(char, '/' | '>')
}

/// The tokenizer.
#[derive(Debug, Default)]
pub struct Tokenizer {
    state: State,
    is_xml: bool,
    keeps_all: bool,
    /// The last character was a carriage return, which is a newline with or without another one.
    is_return: bool,
    tag: Tag,
    is_end: bool,
    /// The attribute that is being read.
    name: String,
    value: String,
    /// Whether the value became too long.
    is_cut: bool,
    /// What comes after an ampersand.
    reference: Option<Reference>,
    /// In [`State::Raw`]: the element.
    raw: Option<Raw>,
}

impl Tokenizer {
    /// A tokenizer for XML.
    pub fn xml() -> Self {
        Self {
            is_xml: true,
            ..Self::default()
        }
    }

    /// A tokenizer for XML that keeps all attributes.
    pub fn xml_with_all_attributes() -> Self {
        Self {
            is_xml: true,
            keeps_all: true,
            ..Self::default()
        }
    }

    /// One that begins within an element, such as `script`, or in a section of characters (`[CDATA[`), and keeps all
    /// attributes. For tests of the standard.
    pub fn within(element: &str) -> Self {
        Self {
            state: match element {
                "[CDATA[" => State::Section(0),
                "plaintext" => State::Plain,
                _ if Raw::of(element).is_some() => State::Raw,
                _ => State::Text,
            },
            raw: Raw::of(element),
            keeps_all: true,
            ..Self::default()
        }
    }

    /// Takes the next character.
    pub fn push(&mut self, char: char, sink: &mut impl Sink) {
        let is_second = std::mem::take(&mut self.is_return) && char == '\n';
        self.is_return = char == '\r';
        match char {
            _ if is_second => {}
            '\r' => self.pass('\n', sink),
            char => self.pass(char, sink),
        }
    }

    /// Takes the end of the page.
    pub fn finish(mut self, sink: &mut impl Sink) {
        self.end_reference(None, sink);
        match self.state {
            State::Open => sink.text('<'),
            State::Close => "</".chars().for_each(|char| sink.text(char)),
            State::Section(brackets) => (0..brackets).for_each(|_| sink.text(']')),
            State::Raw => {
                let raw = self.raw.take();
                raw.into_iter().for_each(|raw| raw.finish(sink));
            }
            _ => {}
        }
    }

    fn pass(&mut self, char: char, sink: &mut impl Sink) {
        if let Some(reference) = &mut self.reference {
            if reference.push(char) {
                return;
            }
            if self.end_reference(Some(char), sink) {
                return;
            }
        }
        if char == '&' && self.has_references() {
            self.reference = Some(Reference::default());
            return;
        }
        self.take(char, sink);
    }

    fn has_references(&self) -> bool {
        match self.state {
            State::Text | State::BeforeValue | State::Quoted(_) | State::Unquoted => true,
            State::Raw => self.raw.as_ref().is_some_and(Raw::has_references),
            _ => false,
        }
    }

    /// Ends a reference at a character. Whether that was its semicolon.
    fn end_reference(&mut self, next: Option<char>, sink: &mut impl Sink) -> bool {
        let Some(reference) = self.reference.take() else {
            return false;
        };
        let is_value = !matches!(self.state, State::Text | State::Raw);
        let (text, takes_next) = entities::decode(&reference, next, is_value);
        text.chars().for_each(|char| self.place(char, sink));
        takes_next
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
            State::Plain => sink.text(shown(char)),
            State::Open | State::Close => self.open(char, sink),
            State::Name => match char {
                _ if ends_name(char) => self.after_name(char, sink),
                _ if self.tag.name.len() < NAME_CHARS => {
                    self.tag.name.push(shown(char.to_ascii_lowercase()));
                }
                _ => {}
            },
            State::BeforeAttribute | State::AfterAttribute => match char {
                '>' => self.end_tag(sink),
                '/' => self.slash(),
                '=' if self.state == State::AfterAttribute => self.state = State::BeforeValue,
                _ if is_space => self.tag.is_closed = false,
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
                _ => self.place(shown(char), sink),
            },
            State::Quoted(mark) if char == mark => self.end_value(),
            State::Unquoted if char == '>' => self.end_tag(sink),
            State::Unquoted if is_space => self.end_value(),
            State::Quoted(_) | State::Unquoted => self.add_to_value(shown(char)),
            State::Declaration
            | State::Comment(_)
            | State::Type(_)
            | State::Instruction(_)
            | State::Skip => self.skip(char),
            State::Section(brackets) => self.take_section(char, brackets, sink),
            State::Raw => self.take_raw(char, sink),
        }
    }

    /// After `<` or `</`.
    fn open(&mut self, char: char, sink: &mut impl Sink) {
        let is_close = self.state == State::Close;
        let is_name = if self.is_xml {
            char.is_alphabetic() || char == '_'
        } else {
            char.is_ascii_alphabetic()
        };
        match char {
            _ if is_name => self.begin_tag(char, is_close),
            '/' if !is_close => self.state = State::Close,
            '!' if !is_close => {
                self.name.clear();
                self.state = State::Declaration;
            }
            '?' if !is_close && self.is_xml => self.state = State::Instruction(false),
            '?' if !is_close => self.state = State::Skip,
            '>' if is_close => self.state = State::Text,
            _ if is_close => self.state = State::Skip,
            _ => {
                sink.text('<');
                self.state = State::Text;
                // It may be another `<`, or an ampersand.
                self.pass(char, sink);
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
        self.keep_attribute();
        self.tag.is_closed = true;
        self.state = State::BeforeAttribute;
    }

    fn end_value(&mut self) {
        self.keep_attribute();
        self.state = State::BeforeAttribute;
    }

    fn add_to_name(&mut self, char: char) {
        if self.name.len() < NAME_CHARS {
            self.name.push(shown(char.to_ascii_lowercase()));
        }
    }

    fn add_to_value(&mut self, char: char) {
        if self.value.len() < VALUE_BYTES {
            self.value.push(char)
        } else {
            self.is_cut = true
        }
    }

    /// Notes the attribute that was read, if it is used. The first of several counts.
    fn keep_attribute(&mut self) {
        let is_known = ATTRIBUTES.contains(&self.name.as_str()) || self.keeps_all;
        let is_new = !self.name.is_empty() && self.tag.attribute(&self.name).is_none();
        let (name, value) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.value),
        );
        if is_known && is_new && !self.is_cut {
            self.tag.attributes.push((name, value));
        }
        self.is_cut = false;
    }

    /// At the `>` of a tag.
    fn end_tag(&mut self, sink: &mut impl Sink) {
        self.keep_attribute();
        self.state = State::Text;
        if self.is_xml
            && let Some((_prefix, name)) = self.tag.name.split_once(':')
        {
            self.tag.name = name.to_owned();
        }
        if self.is_end {
            sink.end(&self.tag.name);
            return;
        }
        sink.start(&self.tag);
        if self.is_xml {
            if self.tag.is_closed {
                sink.end(&self.tag.name);
            }
        } else if self.tag.name == "plaintext" {
            self.state = State::Plain;
        } else if !self.keeps_all {
            self.raw = Raw::of(&self.tag.name);
            if self.raw.is_some() {
                self.state = State::Raw;
            }
        }
    }

    /// In what is not shown.
    fn skip(&mut self, char: char) {
        const SECTION: &str = "[CDATA[";
        self.state = match self.state {
            State::Declaration => {
                self.name.push(char);
                match self.name.as_str() {
                    "--" => State::Comment(Comment::Start),
                    SECTION if self.is_xml => State::Section(0),
                    name if "--".starts_with(name) || self.is_xml && SECTION.starts_with(name) => {
                        State::Declaration
                    }
                    _ => {
                        self.name.clear();
                        self.state = if self.is_xml {
                            State::Type(0)
                        } else {
                            State::Skip
                        };
                        return self.skip(char);
                    }
                }
            }
            State::Comment(place) => place.next(char).map_or(State::Text, State::Comment),
            State::Instruction(true) if char == '>' => State::Text,
            State::Instruction(_) => State::Instruction(char == '?'),
            State::Type(0) if char == '>' => State::Text,
            State::Type(open) => State::Type(match char {
                '[' | '<' => open.saturating_add(1),
                ']' | '>' => open.saturating_sub(1),
                _ => open,
            }),
            _ if char == '>' => State::Text,
            state => state,
        };
    }

    fn take_section(&mut self, char: char, brackets: u8, sink: &mut impl Sink) {
        self.state = match (char, brackets) {
            (']', 2) => {
                sink.text(']');
                State::Section(2)
            }
            (']', brackets) => State::Section(brackets + 1),
            ('>', 2) => State::Text,
            _ => {
                (0..brackets).for_each(|_| sink.text(']'));
                sink.text(char);
                State::Section(0)
            }
        };
    }

    /// In a script or the like.
    fn take_raw(&mut self, char: char, sink: &mut impl Sink) {
        let Some(raw) = &mut self.raw else {
            self.state = State::Text;
            return;
        };
        if raw.is_end(char) {
            let name = raw.name();
            self.raw = None;
            self.begin_tag(' ', true);
            name.clone_into(&mut self.tag.name);
            self.after_name(char, sink);
            return;
        }
        raw.push(shown(char), sink);
    }
}

/// A character as the standard has it where a zero would be an error.
fn shown(char: char) -> char {
    match char {
        '\0' => char::REPLACEMENT_CHARACTER,
        char => char,
    }
}
