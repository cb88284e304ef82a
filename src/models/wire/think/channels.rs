//! gpt-oss's channels (<https://developers.openai.com/cookbook/articles/openai-harmony>): messages with a
//! header each, as far as a model or its server keeps to that.

use crate::models::wire::quote::Quotes;

/// The marks around messages and their parts.
const MARKS: [&str; 7] = [
    START,
    CHANNEL,
    MESSAGE,
    "<|constrain|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
];

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";

/// Whose a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The person's: the final channel, and commentary that calls nothing.
    Text,
    Thoughts,
    /// A tool's.
    Call,
}

/// Takes messages in pieces, and parts them.
#[derive(Debug, Default)]
pub struct Channels {
    /// The beginning of what may be a mark.
    held: String,
    /// What stands before a message's words, with the marks within it.
    header: String,
    /// The message whose words come.
    kind: Option<Kind>,
    /// Text for the person that is not handed over yet.
    text: String,
    /// Marks in a text's code are quoted.
    quotes: Quotes,
    /// Whether a call's arguments end within a string, and with its backslash.
    in_string: (bool, bool),
    /// What was thought.
    pub thoughts: String,
    /// Calls, each with its header.
    pub directed: String,
}

impl Channels {
    /// Takes a piece and returns what is text for the person. `is_apart` says whether other text ends right
    /// before it, from which a message is parted.
    pub fn push(&mut self, piece: &str, is_apart: bool) -> String {
        self.read(piece, is_apart, false)
    }

    /// The stream is over.
    pub fn finish(&mut self, is_apart: bool) -> String {
        let rest = self.read("", is_apart, true);
        self.end_message(if rest.is_empty() {
            is_apart
        } else {
            is_inner(&rest)
        });
        rest + &std::mem::take(&mut self.text)
    }

    fn read(&mut self, piece: &str, is_apart: bool, is_over: bool) -> String {
        let whole = std::mem::take(&mut self.held) + piece;
        let mut rest = whole.as_str();
        while let Some(at) = rest.find('<') {
            self.add(&rest[..at]);
            rest = &rest[at..];
            let is_code = match self.kind {
                Some(Kind::Call) => self.in_string.0,
                _ => self.quotes.is_code(),
            };
            let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
            if let Some(mark) = mark.filter(|_| !is_code) {
                rest = &rest[mark.len()..];
                self.take_mark(mark, is_apart);
            } else if !is_over && !is_code && MARKS.iter().any(|mark| mark.starts_with(rest)) {
                rest.clone_into(&mut self.held);
                return std::mem::take(&mut self.text);
            } else {
                self.add("<");
                rest = &rest[1..];
            }
        }
        self.add(rest);
        std::mem::take(&mut self.text)
    }

    fn take_mark(&mut self, mark: &str, is_apart: bool) {
        match mark {
            MESSAGE if self.kind.is_none() => self.begin_message(is_apart),
            // A header has one channel: there was a message without its marks.
            CHANNEL if self.kind.is_some() || self.header.contains(CHANNEL) => {
                self.end_message(is_apart);
                self.header += mark;
            }
            START => {
                self.end_message(is_apart);
                self.header += mark;
            }
            CHANNEL | "<|constrain|>" => self.add(mark),
            MESSAGE => {}
            _ => self.end_message(is_apart),
        }
    }

    fn begin_message(&mut self, is_apart: bool) {
        let header = std::mem::take(&mut self.header);
        let kind = kind(&header);
        (self.kind, self.quotes) = (Some(kind), Quotes::default());
        self.in_string = (false, false);
        match kind {
            Kind::Call => {
                let recipient = header.split_once("to=").map_or("", |(_, after)| after);
                self.directed += &format!("to={recipient}");
            }
            Kind::Text => self.part(is_apart),
            Kind::Thoughts => {}
        }
    }

    /// Parts a message from the text before it.
    fn part(&mut self, is_apart: bool) {
        let is_within = if self.text.is_empty() {
            is_apart
        } else {
            is_inner(&self.text)
        };
        self.text += if is_within { "\n\n" } else { "" };
    }

    /// The message is over. One whose words have no mark before them is in its header.
    fn end_message(&mut self, is_apart: bool) {
        let header = std::mem::take(&mut self.header);
        self.quotes = Quotes::default();
        if self.kind.take().is_some() || header.trim().is_empty() {
            return;
        }
        let channel = header.rsplit_once(CHANNEL).map(|(_, channel)| channel);
        let role = header.trim_start_matches(START);
        let message = channel.unwrap_or(role);
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let name = message.trim_start_matches(is_word);
        let name = &message[..message.len() - name.len()];
        let words = match name {
            "analysis" | "final" | "commentary" | "assistant" => &message[name.len()..],
            _ => message,
        };
        match kind(&header[..header.len() - words.len()]) {
            _ if words.trim().is_empty() => {}
            Kind::Thoughts => self.thoughts += words,
            // Without marks it is not known where the arguments begin.
            _ if words.trim_start().starts_with("to=") => self.directed += words.trim_start(),
            _ => {
                self.part(is_apart);
                self.text += words.trim_start();
            }
        }
    }

    fn add(&mut self, words: &str) {
        match self.kind {
            Some(Kind::Text) => self.quotes.push(words),
            Some(Kind::Call) => {
                for byte in words.bytes() {
                    self.in_string = match (self.in_string, byte) {
                        ((true, true), _) => (true, false),
                        ((true, false), b'\\') => (true, true),
                        ((is_in, _), b'"') => (!is_in, false),
                        (other, _) => other,
                    };
                }
            }
            _ => {}
        }
        *match self.kind {
            None => &mut self.header,
            Some(Kind::Text) => &mut self.text,
            Some(Kind::Thoughts) => &mut self.thoughts,
            Some(Kind::Call) => &mut self.directed,
        } += words;
    }
}

/// Whether a text ends within a line or a word.
fn is_inner(text: &str) -> bool {
    !text.ends_with(char::is_whitespace)
}

fn kind(header: &str) -> Kind {
    let role = header.trim_start_matches(START);
    let mut others = ["user", "system", "developer", "functions."].into_iter();
    if others.any(|other| role.starts_with(other)) {
        // What the model makes up as said by others is not its answer.
        Kind::Thoughts
    } else if header.contains("to=") {
        Kind::Call
    } else if header.contains("analysis") {
        Kind::Thoughts
    } else {
        Kind::Text
    }
}
