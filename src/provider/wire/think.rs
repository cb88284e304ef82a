//! Parts a model's reasoning from its text where both come in one stream, as `<think>…</think>` or in
//! gpt-oss's channels.

/// The marks that open models use, at the beginning of what they say.
const MARKS: [(&str, &str); 8] = [
    ("<think>", THINK_END),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel>thought", "<channel|>"),
];

const THINK_END: &str = "</think>";

/// How an answer in channels begins (<https://developers.openai.com/cookbook/articles/openai-harmony>).
const CHANNELS: [&str; 2] = ["<|channel|>", "<|start|>"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space and perhaps a part of a mark has come.
    #[default]
    Begin,
    /// Within the marks of this number.
    Thinking(usize),
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
}

/// Takes text in pieces and parts it.
#[derive(Debug, Default)]
pub struct Think {
    source: Source,
    state: State,
    /// What cannot be decided yet.
    held: String,
    /// Whether the text so far ends within code.
    in_code: bool,
    /// What was thought.
    pub thoughts: String,
    /// Calls in channels, each with its header.
    pub directed: String,
    /// Set when the text so far turns out to be reasoning; whoever has it takes it back.
    pub was_reasoning: bool,
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

    /// Takes a piece and returns what of it, and of what was held back, is text.
    pub fn push(&mut self, piece: &str) -> String {
        if self.state == State::Text && self.source == Source::Api {
            return piece.to_owned();
        }
        let before = self.held.len();
        self.held.push_str(piece);
        if piece.is_empty() {
            return String::new();
        }
        loop {
            match self.state {
                State::Begin => {
                    if !self.begin() {
                        return String::new();
                    }
                }
                State::Thinking(mark) => {
                    let close = MARKS[mark].1;
                    let Some(end) = self.held.find(close) else {
                        self.keep_thoughts(close.len());
                        return String::new();
                    };
                    self.thoughts.push_str(&self.held[..end]);
                    self.held.drain(..end + close.len());
                    self.state = State::Closed;
                }
                State::Waiting if self.source != Source::Reasoner => self.state = State::Text,
                State::Waiting => {
                    // What was held before has been searched.
                    let from = self
                        .held
                        .floor_char_boundary(before.saturating_sub(THINK_END.len()));
                    let Some(end) = self.held[from..].find(THINK_END) else {
                        return String::new();
                    };
                    self.thoughts.push_str(&self.held[..from + end]);
                    self.held.drain(..from + end + THINK_END.len());
                    self.state = State::Closed;
                }
                State::Closed => {
                    let white = self.held.len() - self.held.trim_start().len();
                    self.held.drain(..white);
                    if self.held.is_empty() {
                        return String::new();
                    }
                    self.state = State::Text;
                    // A second closing mark is a quotation.
                    self.source = Source::Api;
                }
                State::Text if self.source == Source::Api => return std::mem::take(&mut self.held),
                State::Text => return self.text(),
                State::Channels => return self.channels(false),
            }
        }
    }

    /// The stream is over: what was held back turns out to be text or thoughts.
    pub fn finish(&mut self) -> String {
        match self.state {
            State::Thinking(_) => {
                self.thoughts.push_str(&std::mem::take(&mut self.held));
                String::new()
            }
            State::Channels => self.channels(true),
            State::Text if self.source != Source::Api => {
                self.held.push('\n');
                let text = self.text();
                let text = text + &std::mem::take(&mut self.held);
                text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
            }
            _ => std::mem::take(&mut self.held),
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
        if let Some(mark) = MARKS.iter().position(|(open, _)| trimmed.starts_with(open)) {
            let opened = self.held.len() - trimmed.len() + MARKS[mark].0.len();
            self.held.drain(..opened);
            self.state = State::Thinking(mark);
            return true;
        }
        let mut opens = MARKS.iter().map(|(open, _)| *open).chain(CHANNELS);
        if opens.any(|open| open.starts_with(trimmed)) {
            return false;
        }
        self.state = match self.source {
            Source::Api => State::Text,
            _ => State::Waiting,
        };
        true
    }

    /// Hands over text of a server, unless a closing mark comes that was never opened. Between
    /// backticks, or with words behind it on its line, it is a quotation.
    fn text(&mut self) -> String {
        let mut text = String::new();
        while let Some(at) = self.held.find(THINK_END) {
            let after = &self.held[at + THINK_END.len()..];
            let is_quoted = self.in_code ^ (self.held[..at].matches('`').count() % 2 == 1);
            if after.is_empty() {
                break;
            }
            if !is_quoted && after.starts_with(['\n', '\r']) {
                self.thoughts += &(text + &self.held[..at]);
                self.held.drain(..at + THINK_END.len());
                self.was_reasoning = true;
                // No white space leads the text.
                self.state = State::Closed;
                return self.push_rest();
            }
            text += &self.release(at + THINK_END.len());
        }
        let safe = match self.held.find(THINK_END) {
            Some(at) => at,
            None => {
                let mut lengths = (1..THINK_END.len()).rev();
                let begun = lengths.find(|length| self.held.ends_with(&THINK_END[..*length]));
                self.held.len() - begun.unwrap_or(0)
            }
        };
        text + &self.release(safe)
    }

    fn push_rest(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        self.push(&rest)
    }

    fn release(&mut self, bytes: usize) -> String {
        let text: String = self.held.drain(..bytes).collect();
        self.in_code ^= text.matches('`').count() % 2 == 1;
        text
    }

    /// Reads messages in channels: a header, `<|message|>`, and words up to the next mark. What is in
    /// the final channel is text, and so is commentary that calls nothing.
    fn channels(&mut self, is_over: bool) -> String {
        const MESSAGE: &str = "<|message|>";
        const ENDS: [&str; 5] = [
            "<|end|>",
            "<|return|>",
            "<|call|>",
            "<|start|>",
            "<|channel|>",
        ];
        let mut text = String::new();
        loop {
            let Some((header, body)) = self.held.split_once(MESSAGE) else {
                if is_over {
                    self.held.clear();
                }
                return text;
            };
            let end = ENDS
                .iter()
                .filter_map(|end| Some((body.find(end)?, end.len())))
                .min();
            if end.is_none() && !is_over {
                return text;
            }
            let (length, mark) = end.unwrap_or((body.len(), 0));
            let words = &body[..length];
            if header.contains("to=") {
                let recipient = header
                    .split_once("to=")
                    .map_or("", |(_, recipient)| recipient);
                self.directed += &format!("to={recipient}{words}");
            } else if header.contains("analysis") {
                self.thoughts += words;
            } else {
                text += words;
            }
            // A mark that begins a message belongs to its header.
            let is_next = body[length..].starts_with("<|start|>")
                || body[length..].starts_with("<|channel|>");
            let read = header.len() + MESSAGE.len() + length + if is_next { 0 } else { mark };
            self.held.drain(..read);
        }
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
        assert!(
            think.directed.eq("to=functions.ls <|constrain|>json{}"),
            "{}",
            think.directed
        );
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
                ],
                0..12,
            ),
            cut in 0_usize..80,
            source in prop_oneof![Just(Source::Api), Just(Source::Server), Just(Source::Reasoner)],
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
