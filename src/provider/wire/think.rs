//! Parts a model's reasoning from its text where both come in one stream, as `<think>…</think>`.

/// The tags that open models use, at the beginning of what they say.
const TAGS: [&str; 3] = ["think", "thinking", "thought"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but white space and perhaps a part of a tag has come.
    #[default]
    Begin,
    /// Within the tag of this number.
    Thinking(usize),
    /// The tag is closed, and white space follows.
    Closed,
    /// What comes is text.
    Text,
}

/// Takes text in pieces and parts it.
#[derive(Debug, Default)]
pub struct Think {
    state: State,
    /// What cannot be decided yet.
    held: String,
    /// What was thought.
    pub thoughts: String,
}

impl Think {
    /// Takes a piece and returns what of it, and of what was held back, is text.
    pub fn push(&mut self, piece: &str) -> String {
        if self.state == State::Text {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        loop {
            match self.state {
                State::Begin => {
                    let trimmed = self.held.trim_start();
                    if let Some(tag) = TAGS.iter().position(|tag| opens(trimmed, tag)) {
                        let opened = self.held.len() - trimmed.len() + TAGS[tag].len() + 2;
                        self.held.drain(..opened);
                        self.state = State::Thinking(tag);
                    } else if TAGS.iter().any(|tag| may_open(trimmed, tag)) {
                        return String::new();
                    } else {
                        self.state = State::Text;
                    }
                }
                State::Thinking(tag) => {
                    let close = format!("</{}>", TAGS[tag]);
                    let Some(end) = self.held.find(&close) else {
                        self.keep_thoughts(close.len());
                        return String::new();
                    };
                    self.thoughts.push_str(&self.held[..end]);
                    self.held.drain(..end + close.len());
                    self.state = State::Closed;
                }
                State::Closed => {
                    let white = self.held.len() - self.held.trim_start().len();
                    self.held.drain(..white);
                    if self.held.is_empty() {
                        return String::new();
                    }
                    self.state = State::Text;
                }
                State::Text => return std::mem::take(&mut self.held),
            }
        }
    }

    /// The stream is over: what was held back turns out to be text or thoughts.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        if let State::Thinking(_) = self.state {
            self.thoughts.push_str(&rest);
            return String::new();
        }
        rest
    }

    /// Moves what can be no part of the closing tag to the thoughts.
    fn keep_thoughts(&mut self, tag: usize) {
        let mut safe = self.held.len().saturating_sub(tag - 1);
        while !self.held.is_char_boundary(safe) {
            safe -= 1;
        }
        self.thoughts.extend(self.held.drain(..safe));
    }
}

fn opens(text: &str, tag: &str) -> bool {
    let inner = text
        .strip_prefix('<')
        .and_then(|text| text.strip_prefix(tag));
    inner.is_some_and(|rest| rest.starts_with('>'))
}

fn may_open(text: &str, tag: &str) -> bool {
    let whole = format!("<{tag}>");
    whole.starts_with(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(pieces: &[&str]) -> (String, String) {
        let mut think = Think::default();
        let mut text: String = pieces.iter().map(|piece| think.push(piece)).collect();
        text += &think.finish();
        (think.thoughts, text)
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
                prop_oneof![Just("<think>"), Just("</think>"), Just("</thi"), Just("é"), Just("a "), Just("\n")],
                0..12,
            ),
            cut in 0_usize..80,
        ) {
            let stream = parts.concat();
            let mut cut = cut.min(stream.len());
            while !stream.is_char_boundary(cut) {
                cut -= 1;
            }
            let (left, right) = stream.split_at(cut);
            prop_assert_eq!(part(&[left, right]), part(&[&stream]));
        }
    }
}
