//! Parts a model's reasoning from its text where both come in one stream, as `<think>…</think>` or in
//! gpt-oss's channels.

mod channels;

use super::quote::Quotes;
use channels::Channels;

/// What reasoning begins and ends with.
type Marks = (&'static str, &'static str);

/// The marks that open models use. Some write them in other letters.
const MARKS: [Marks; 24] = [
    ("<think>", THINK_END),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratch_pad>", "</scratch_pad>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<ifm|think>", "</ifm|think>"),
    ("<think:opensource>", "</think:opensource>"),
    ("<longcat_think>", "</longcat_think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>", "<unused95>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|content_thinking|>", "<|end_message|>"),
    ("<|think|>", "<|end|>"),
];

/// What may end thoughts that one of these begins: small models mix them up.
const ALIKE: [Marks; 3] = [MARKS[0], MARKS[1], MARKS[2]];

/// Granite's and Apriel's words around their thoughts, which count only where an answer begins with them.
const WORDS: [Marks; 2] = [
    ("Here is my thought process:", "Here is my response:"),
    ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
];

/// What some put around the answer behind their thoughts.
const ANSWERS: [Marks; 3] = [
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<output>", "</output>"),
];

/// What is left of gpt-oss's channels where the server takes all marks out, and nothing else.
const BARE: Marks = ("analysis", "assistantfinal");

const THINK_END: &str = "</think>";

/// How an answer in channels begins; some servers leave the first marks out.
const CHANNELS: [&str; 4] = [
    "<|channel|>",
    "<|start|>",
    "analysis<|message|>",
    "final<|message|>",
];

/// How channels begin behind text, where a mark alone may be spoken about.
const LATER_CHANNELS: [&str; 4] = [
    "<|channel|>analysis",
    "<|channel|>commentary",
    "<|channel|>final",
    "<|start|>assistant",
];

/// How often marks are looked for within themselves.
const NESTED_MAX: usize = 16;

/// What marks begin with.
const MARK_BEGINS: [char; 3] = ['<', '[', '◁'];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space and perhaps a part of a mark has come.
    #[default]
    Begin,
    /// Within these marks.
    Thinking(Marks),
    /// Within reasoning whose opening mark was in the template, or in text: the closing one will tell.
    Waiting,
    /// The mark is closed, and white space follows.
    Closed,
    /// What comes is text.
    Text,
    /// Messages come in channels.
    Channels,
}

/// Whose text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// An official API, which does not send what belongs to a template.
    #[default]
    Api,
    /// Some other server.
    Server,
    /// The same, with a model whose template opens the reasoning.
    Reasoner,
    /// The same, with gpt-oss.
    Harmony,
}

/// Takes text in pieces and parts it.
#[derive(Debug, Default)]
pub struct Think {
    source: Source,
    state: State,
    /// What cannot be decided yet.
    held: String,
    /// The quotations of the text so far.
    quotes: Quotes,
    /// Whether the text so far ends within a line or a word.
    is_inner: bool,
    /// Whether the text so far ends with a sentence.
    is_sentence: bool,
    /// Where in the thoughts those begin that are text after all when they do not end.
    doubtful: Option<usize>,
    /// Whether reasoning has ended, so that another closing mark is a quotation.
    has_ended: bool,
    /// Where in the thoughts those between the last marks begin, and how many of their ends have come.
    block: (usize, usize),
    /// The marks that were opened within themselves: what follows may be thoughts up to another end.
    nested: Option<Marks>,
    /// What ends the answer, which is in marks too.
    answer_end: Option<&'static str>,
    channels: Channels,
    /// What was thought.
    pub thoughts: String,
    /// Set when the text so far turns out to be reasoning; whoever has it takes it back.
    pub was_reasoning: bool,
}

/// What a text may begin with.
enum Begun {
    /// Reasoning in these marks.
    Open(Marks),
    Channels,
    /// A closing mark that was never opened.
    Close,
    /// The mark behind the answer.
    AnswerEnd(usize),
    /// More has to come.
    Perhaps,
    Nothing,
}

impl Think {
    /// Begins to read a text.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }

    /// The reasoning comes beside the text, so that no closing mark has to be waited for.
    pub fn comes_apart(&mut self) {
        if matches!(self.state, State::Begin | State::Waiting) && self.source == Source::Reasoner {
            self.source = Source::Server;
        }
    }

    /// Whether what a template opened as reasoning has not ended, so that nothing is known to be text.
    pub fn is_unclosed(&self) -> bool {
        self.source == Source::Reasoner && self.state == State::Waiting
    }

    /// The calls that came in channels, each with its header.
    pub fn take_directed(&mut self) -> String {
        std::mem::take(&mut self.channels.directed)
    }

    /// Takes a piece and returns what of it, and of what was held back, is text.
    pub fn push(&mut self, piece: &str) -> String {
        if self.state == State::Text && self.source == Source::Api {
            return piece.to_owned();
        }
        let before = self.held.len();
        self.held.push_str(piece);
        if piece.is_empty() {
            String::new()
        } else {
            self.go_on(before, false)
        }
    }

    /// The stream is over: what was held back turns out to be text or thoughts.
    pub fn finish(&mut self) -> String {
        match (self.state, self.doubtful.take()) {
            (State::Thinking((open, _)), Some(start)) => {
                let thoughts = self.thoughts.split_off(start);
                [open, &thoughts, &std::mem::take(&mut self.held)].concat()
            }
            (State::Thinking(_), None) => {
                self.thoughts.push_str(&std::mem::take(&mut self.held));
                String::new()
            }
            (State::Waiting | State::Text | State::Channels, _) if self.source != Source::Api => {
                if self.state == State::Waiting {
                    self.state = State::Text;
                }
                self.go_on(0, true)
            }
            (State::Closed, _) if !self.is_inner => {
                std::mem::take(&mut self.held).trim_start().to_owned()
            }
            _ => std::mem::take(&mut self.held),
        }
    }

    /// Reads what is held, of which the first bytes were there `before`.
    fn go_on(&mut self, mut before: usize, is_over: bool) -> String {
        let mut text = String::new();
        loop {
            match self.state {
                State::Begin => {
                    if !self.begin() {
                        return text;
                    }
                }
                State::Thinking(marks) => {
                    let Some((end, close)) = find_end(&self.held, marks) else {
                        let alike = ALIKE.iter().map(|(_, close)| close.len());
                        self.keep_thoughts(alike.fold(marks.1.len(), usize::max));
                        return text;
                    };
                    self.end_thoughts(end, (marks.0, close));
                }
                State::Waiting if self.source != Source::Reasoner && self.nested.is_none() => {
                    self.state = State::Text;
                }
                State::Waiting => {
                    let marks = self.nested.unwrap_or(MARKS[0]);
                    // What was held before has been searched.
                    let from = before.saturating_sub(marks.1.len());
                    let from = self.held.floor_char_boundary(from);
                    let Some(end) = find(&self.held[from..], marks.1) else {
                        return text;
                    };
                    self.end_thoughts(from + end, marks);
                }
                State::Closed => {
                    if self.opens_answer() {
                        return text;
                    }
                    // No white space leads the text, or doubles.
                    if !self.is_inner {
                        let white = self.held.len() - self.held.trim_start().len();
                        self.held.drain(..white);
                    }
                    if self.held.is_empty() {
                        return text;
                    }
                    self.state = State::Text;
                }
                State::Text if self.source == Source::Api => {
                    return text + &std::mem::take(&mut self.held);
                }
                State::Text => {
                    if !self.text(&mut text, is_over) {
                        return text;
                    }
                }
                State::Channels => return text + &self.channels(is_over),
            }
            // What is held now is other text.
            before = 0;
        }
    }

    /// Decides what the text begins with; false when more has to come first.
    fn begin(&mut self) -> bool {
        let trimmed = self.held.trim_start();
        let is_server = self.source != Source::Api;
        if is_server && CHANNELS.iter().any(|open| trimmed.starts_with(open)) {
            self.state = State::Channels;
            return true;
        }
        let words = WORDS.into_iter().filter(|_| is_server);
        let mut marks = MARKS.into_iter().chain(words);
        let found = marks.clone().find(|(open, _)| begins(trimmed, open));
        let is_begun = marks.any(|(open, _)| begins(open, trimmed))
            || CHANNELS.iter().any(|open| open.starts_with(trimmed));
        if found.is_none() && is_begun {
            return false;
        }
        let is_bare = self.source == Source::Harmony && trimmed.starts_with(BARE.0);
        // The word may begin an answer too.
        self.doubtful = is_bare.then_some(0);
        if let Some(marks) = found.or(is_bare.then_some(BARE)) {
            let opened = self.held.len() - trimmed.len() + marks.0.len();
            self.held.drain(..opened);
            self.open_thoughts(marks);
            return true;
        }
        self.state = match self.source {
            Source::Api => State::Text,
            _ => State::Waiting,
        };
        true
    }

    /// Hands over text of a server, up to a mark that is not quoted; false when there is none.
    fn text(&mut self, text: &mut String, is_over: bool) -> bool {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while let Some(at) = rest.find(MARK_BEGINS) {
            self.release(&rest[..at], text);
            rest = &rest[at..];
            let begun = if self.quotes.is_quoted() {
                Begun::Nothing
            } else {
                self.begun(rest, is_over)
            };
            match begun {
                Begun::Open(marks) => {
                    // A mark within a sentence may be spoken about.
                    let is_doubtful = !self.quotes.begins_line() && !self.is_sentence;
                    self.doubtful = is_doubtful.then_some(self.thoughts.len());
                    rest[marks.0.len()..].clone_into(&mut self.held);
                    self.open_thoughts(marks);
                    return true;
                }
                Begun::Channels => {
                    rest.clone_into(&mut self.held);
                    self.state = State::Channels;
                    return true;
                }
                Begun::Close => {
                    self.thoughts += &std::mem::take(text);
                    self.was_reasoning = true;
                    self.is_inner = false;
                    rest.clone_into(&mut self.held);
                    self.end_thoughts(0, MARKS[0]);
                    return true;
                }
                Begun::AnswerEnd(length) => rest = &rest[length..],
                Begun::Perhaps => {
                    rest.clone_into(&mut self.held);
                    return false;
                }
                Begun::Nothing => {
                    let first = rest.chars().next().map_or(0, char::len_utf8);
                    self.release(&rest[..first], text);
                    rest = &rest[first..];
                }
            }
        }
        self.release(rest, text);
        false
    }

    fn begun(&self, text: &str, is_over: bool) -> Begun {
        if let Some(marks) = MARKS.into_iter().find(|(open, _)| begins(text, open)) {
            return Begun::Open(marks);
        }
        let answer_end = self.answer_end.unwrap_or_default();
        if !answer_end.is_empty() && begins(text, answer_end) {
            return Begun::AnswerEnd(answer_end.len());
        }
        if LATER_CHANNELS.iter().any(|open| text.starts_with(open)) {
            return Begun::Channels;
        }
        let close = if self.has_ended { "" } else { THINK_END };
        if begins(text, THINK_END) && !self.has_ended {
            let after = &text[THINK_END.len()..];
            // With words behind it on its line it is a quotation.
            return match after.is_empty() {
                true if !is_over => Begun::Perhaps,
                true => Begun::Close,
                false if after.starts_with(['\n', '\r']) => Begun::Close,
                false => Begun::Nothing,
            };
        }
        let opens = MARKS.iter().map(|(open, _)| *open);
        let mut marks = opens.chain(LATER_CHANNELS).chain([close, answer_end]);
        if !is_over && marks.any(|mark| begins(mark, text)) {
            Begun::Perhaps
        } else {
            Begun::Nothing
        }
    }

    fn release(&mut self, words: &str, text: &mut String) {
        self.quotes.push(words);
        self.note_end(words);
        *text += words;
    }

    fn note_end(&mut self, words: &str) {
        if let Some(last) = words.chars().next_back() {
            self.is_inner = !last.is_whitespace();
        }
        if let Some(last) = words.trim_end().chars().next_back() {
            self.is_sentence = ".!?…。！？".contains(last);
        }
    }

    fn channels(&mut self, is_over: bool) -> String {
        let held = std::mem::take(&mut self.held);
        let mut text = self.channels.push(&held, self.is_inner);
        self.note_end(&text);
        if is_over {
            text += &self.channels.finish(self.is_inner);
        }
        self.thoughts += &std::mem::take(&mut self.channels.thoughts);
        text
    }

    fn open_thoughts(&mut self, marks: Marks) {
        self.block = (self.thoughts.len(), 0);
        self.state = State::Thinking(marks);
    }

    /// The reasoning goes up to this place, and its closing mark follows. Where the marks were opened more
    /// often than closed, what follows may be reasoning too.
    fn end_thoughts(&mut self, end: usize, marks: Marks) {
        self.thoughts.push_str(&self.held[..end]);
        self.held.drain(..end + marks.1.len());
        self.doubtful = None;
        self.has_ended = true;
        self.block.1 += 1;
        let is_open = self.block.1 < NESTED_MAX
            && count_open(&self.thoughts[self.block.0..], marks.0) >= self.block.1;
        self.nested = is_open.then_some(marks);
        self.state = if is_open {
            State::Waiting
        } else {
            State::Closed
        };
    }

    /// Takes the mark before an answer away; true when more has to come first.
    fn opens_answer(&mut self) -> bool {
        if self.source == Source::Api {
            return false;
        }
        let answer = self.held.trim_start();
        if let Some((open, close)) = ANSWERS.into_iter().find(|(open, _)| begins(answer, open)) {
            let start = self.held.len() - answer.len() + open.len();
            self.held.drain(..start);
            self.answer_end = Some(close);
        }
        let answer = self.held.trim_start();
        self.answer_end.is_none() && ANSWERS.iter().any(|(open, _)| begins(open, answer))
    }

    /// Moves what can be no part of the closing mark to the thoughts.
    fn keep_thoughts(&mut self, mark: usize) {
        let safe = self.held.len().saturating_sub(mark - 1);
        let safe = self.held.floor_char_boundary(safe);
        self.thoughts.extend(self.held.drain(..safe));
    }
}

/// Whether a text begins with a mark, in large or small letters.
fn begins(text: &str, mark: &str) -> bool {
    let begun = text.as_bytes().get(..mark.len());
    begun.is_some_and(|begun| begun.eq_ignore_ascii_case(mark.as_bytes()))
}

/// The place of a mark in a text, in large or small letters.
fn find(text: &str, mark: &str) -> Option<usize> {
    let first = mark.chars().next()?;
    let mut places = text.match_indices([first, first.to_ascii_lowercase()]);
    places.find_map(|(at, _)| begins(&text[at..], mark).then_some(at))
}

/// The place of what ends thoughts between these marks, and which it is.
fn find_end(text: &str, marks: Marks) -> Option<(usize, &'static str)> {
    let alike = ALIKE.into_iter().filter(|_| ALIKE.contains(&marks));
    let closes = alike.chain([marks]).map(|(_, close)| close);
    closes
        .filter_map(|close| Some((find(text, close)?, close)))
        .min()
}

/// How often thoughts open a mark again that they do not quote.
fn count_open(thoughts: &str, mark: &str) -> usize {
    let (mut quotes, mut read) = (Quotes::default(), 0);
    let is_open = |(at, _): &(usize, &str)| {
        quotes.push(&thoughts[std::mem::replace(&mut read, *at)..*at]);
        !quotes.is_quoted()
    };
    thoughts.match_indices(mark).filter(is_open).count()
}

#[cfg(test)]
mod tests;
