//! Parts a model's reasoning from its text where both come in one stream, as `<think>…</think>` or in
//! gpt-oss's channels.

mod channels;

use super::quote::Quotes;
use channels::Channels;

/// What reasoning begins and ends with.
type Marks = (&'static str, &'static str);

/// The marks that open models use.
const MARKS: [Marks; 10] = [
    ("<think>", THINK_END),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel>thought", "<channel|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
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
        match piece.is_empty() {
            true => String::new(),
            false => self.go_on(before, false),
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
            _ => std::mem::take(&mut self.held),
        }
    }

    /// Reads what is held, of which the first bytes were there `before`.
    fn go_on(&mut self, before: usize, is_over: bool) -> String {
        let mut text = String::new();
        loop {
            match self.state {
                State::Begin => {
                    if !self.begin() {
                        return text;
                    }
                }
                State::Thinking((_, close)) => {
                    let Some(end) = self.held.find(close) else {
                        self.keep_thoughts(close.len());
                        return text;
                    };
                    self.end_thoughts(end, close);
                }
                State::Waiting if self.source != Source::Reasoner => self.state = State::Text,
                State::Waiting => {
                    // What was held before has been searched.
                    let from = before.saturating_sub(THINK_END.len());
                    let from = self.held.floor_char_boundary(from);
                    let Some(end) = self.held[from..].find(THINK_END) else {
                        return text;
                    };
                    self.end_thoughts(from + end, THINK_END);
                }
                State::Closed => {
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
        let found = MARKS
            .into_iter()
            .find(|(open, _)| trimmed.starts_with(open));
        let mut opens = MARKS.iter().map(|(open, _)| *open).chain(CHANNELS);
        if found.is_none() && opens.any(|open| open.starts_with(trimmed)) {
            return false;
        }
        let is_bare = self.source == Source::Harmony && trimmed.starts_with(BARE.0);
        // The word may begin an answer too.
        self.doubtful = is_bare.then_some(0);
        if let Some(marks) = found.or(is_bare.then_some(BARE)) {
            let opened = self.held.len() - trimmed.len() + marks.0.len();
            self.held.drain(..opened);
            self.state = State::Thinking(marks);
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
            let begun = match self.quotes.is_quoted() {
                true => Begun::Nothing,
                false => self.begun(rest, is_over),
            };
            match begun {
                Begun::Open(marks) => {
                    // A mark within a sentence may be spoken about.
                    let is_doubtful = !self.quotes.begins_line() && !self.is_sentence;
                    self.doubtful = is_doubtful.then_some(self.thoughts.len());
                    rest[marks.0.len()..].clone_into(&mut self.held);
                    self.state = State::Thinking(marks);
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
                    self.end_thoughts(0, THINK_END);
                    return true;
                }
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
        if let Some(marks) = MARKS.into_iter().find(|(open, _)| text.starts_with(open)) {
            return Begun::Open(marks);
        }
        if LATER_CHANNELS.iter().any(|open| text.starts_with(open)) {
            return Begun::Channels;
        }
        let close = if self.has_ended { "" } else { THINK_END };
        if let Some(after) = text.strip_prefix(THINK_END).filter(|_| !self.has_ended) {
            // With words behind it on its line it is a quotation.
            return match after.is_empty() {
                true if !is_over => Begun::Perhaps,
                true => Begun::Close,
                false if after.starts_with(['\n', '\r']) => Begun::Close,
                false => Begun::Nothing,
            };
        }
        let opens = MARKS.iter().map(|(open, _)| *open);
        let mut marks = opens.chain(LATER_CHANNELS).chain([close]);
        match !is_over && marks.any(|mark| mark.starts_with(text)) {
            true => Begun::Perhaps,
            false => Begun::Nothing,
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

    /// The reasoning goes up to this place, and its closing mark follows.
    fn end_thoughts(&mut self, end: usize, close: &str) {
        self.thoughts.push_str(&self.held[..end]);
        self.held.drain(..end + close.len());
        self.doubtful = None;
        self.has_ended = true;
        self.state = State::Closed;
    }

    /// Moves what can be no part of the closing mark to the thoughts.
    fn keep_thoughts(&mut self, mark: usize) {
        let safe = self.held.len().saturating_sub(mark - 1);
        let safe = self.held.floor_char_boundary(safe);
        self.thoughts.extend(self.held.drain(..safe));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(pieces: &[&str]) -> (String, String) {
        part_of(Source::Api, pieces)
    }

    fn part_of(source: Source, pieces: &[&str]) -> (String, String) {
        let mut think = Think::new(source);
        let mut text = String::new();
        for piece in pieces {
            let more = think.push(piece);
            if std::mem::take(&mut think.was_reasoning) {
                think.thoughts.insert_str(0, &std::mem::take(&mut text));
            }
            text += &more;
        }
        let rest = think.finish();
        if think.was_reasoning {
            think.thoughts.insert_str(0, &std::mem::take(&mut text));
        }
        (think.thoughts, text + &rest)
    }

    #[test]
    fn reasoning_whose_opening_mark_was_in_the_template_is_no_text() {
        for (said, thoughts, text) in [
            ("why so\n</think>\n\nbecause", "why so\n", "because"),
            ("\n</think>\n\nbecause", "\n", "because"),
            ("<think>why</think>because", "why", "because"),
            ("plain", "", "plain"),
            ("why</think>", "why", ""),
        ] {
            for source in [Source::Server, Source::Reasoner] {
                let expected = (thoughts.to_owned(), text.to_owned());
                assert_eq!(part_of(source, &[said]), expected, "{source:?} {said}");
            }
        }
        let inline = "why</think>because";
        assert_eq!(
            part_of(Source::Reasoner, &[inline]),
            ("why".to_owned(), "because".to_owned())
        );
        for quotation in [
            "The tag `</think>`\nends it.",
            "```\n</think>\n```\nends it.",
            "a </think> within a line",
        ] {
            let expected = (String::new(), quotation.to_owned());
            assert_eq!(part_of(Source::Server, &[quotation]), expected);
        }
        let quotation = "The end is\n</think>\nin XML.";
        assert_eq!(
            part(&[quotation]).1,
            quotation,
            "an official API has no templates"
        );
    }

    #[test]
    fn of_channels_only_the_final_one_is_text() {
        let said = "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>because<|return|>";
        let expected = ("why".to_owned(), "because".to_owned());
        assert_eq!(part_of(Source::Server, &[said]), expected);
        let preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{}<|call|>";
        let mut think = Think::new(Source::Server);
        let text = think.push(preamble) + &think.finish();
        assert_eq!(text, "I look.");
        assert_eq!(think.take_directed(), "to=functions.ls <|constrain|>json{}");
    }

    #[test]
    fn reasoning_at_the_beginning_is_parted_from_the_text() {
        for (stream, thoughts, text) in [
            ("plain", "", "plain"),
            ("<think>why</think>\n\nbecause", "why", "because"),
            ("\n<thinking>why</thinking>because", "why", "because"),
            ("<thought>why", "why", ""),
            ("<think></think>x", "", "x"),
            ("<thin", "", "<thin"),
            ("<p>x</p>", "", "<p>x</p>"),
            (
                "the tag <think> is no reasoning",
                "",
                "the tag <think> is no reasoning",
            ),
            ("", "", ""),
        ] {
            assert_eq!(part(&[stream]), (thoughts.to_owned(), text.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn the_cuts_between_pieces_do_not_matter(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<think>"), Just("</think>"), Just("</thi"), Just("é"), Just("a "), Just("\n"),
                    Just("`"), Just("<|channel|>"), Just("final"), Just("<|message|>"), Just("<|end|>"),
                    Just("analysis"), Just("assistant"), Just("<|start|>assistant"), Just("to=ls"), Just("\""), Just("> "),
                ],
                0..12,
            ),
            cut in 0_usize..80,
            source in prop_oneof![
                Just(Source::Api), Just(Source::Server), Just(Source::Reasoner), Just(Source::Harmony),
            ],
        ) {
            let stream = parts.concat();
            let mut cut = cut.min(stream.len());
            while !stream.is_char_boundary(cut) {
                cut -= 1;
            }
            let (left, right) = stream.split_at(cut);
            prop_assert_eq!(part_of(source, &[left, right]), part_of(source, &[&stream]));
        }
    }
}
