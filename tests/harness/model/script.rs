//! The answers of the fake model, independent of the wire format.

use serde_json::Value;

use crate::harness::gate::Gate;

/// One answer of the model, or one way of not answering.
#[derive(Clone, Debug)]
pub struct Step {
    pub(super) what: What,
    /// Waits for it before sending anything.
    pub(super) before: Option<Gate>,
    /// Waits for it in the middle of a streamed answer.
    pub(super) halfway: Option<Gate>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Answer(Answer),
    /// The first half of the answer, then the connection breaks.
    CutOff(Answer),
    /// The head of an answer, then nothing.
    Silence,
    /// Not even a head.
    Hang,
    /// An error in the API's format.
    Error {
        status: u16,
        message: String,
        headers: Vec<(&'static str, String)>,
    },
    /// The error for a conversation that is too long, in the API's format.
    Overflow,
    /// An answer that is not in any API's format.
    Page {
        content_type: &'static str,
        body: String,
    },
}

/// What the model says, thinks and calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub thinking: String,
    pub text: String,
    /// In how many pieces the text is streamed.
    pub pieces: usize,
    pub calls: Vec<(String, Value)>,
    /// Whether it ran into `max_tokens`.
    pub too_long: bool,
}

/// The model says `text`.
pub fn say(text: &str) -> Step {
    Step::answer(Answer {
        text: text.to_owned(),
        pieces: 2,
        ..Answer::default()
    })
}

/// The model calls a tool.
pub fn call(tool: &str, arguments: Value) -> Step {
    say("").and_call(tool, arguments)
}

/// The API answers with an error.
pub fn error(status: u16, message: &str) -> Step {
    Step::new(What::Error {
        status,
        message: message.to_owned(),
        headers: Vec::new(),
    })
}

/// The API says that the conversation does not fit the model's window.
pub fn overflow() -> Step {
    Step::new(What::Overflow)
}

/// A stream of these events, as they are.
pub fn events(events: &[&str]) -> Step {
    Step::new(What::Page {
        content_type: "text/event-stream",
        body: events
            .iter()
            .map(|data| format!("data: {data}\n\n"))
            .collect(),
    })
}

/// A proxy answers with an HTML page.
pub fn html(body: &str) -> Step {
    Step::new(What::Page {
        content_type: "text/html",
        body: body.to_owned(),
    })
}

/// The answer claims to be JSON and is not.
pub fn broken_json() -> Step {
    Step::new(What::Page {
        content_type: "application/json",
        body: r#"{"choices": [{"message": {"content": "half of"#.to_owned(),
    })
}

/// An answer of this many bytes.
pub fn huge(bytes: usize) -> Step {
    Step::new(What::Page {
        content_type: "application/json",
        body: format!(
            r#"{{"choices": [{{"message": {{"content": "{}"}}}}]}}"#,
            "a".repeat(bytes)
        ),
    })
}

/// The head of an answer comes, and then nothing, until the client disconnects.
pub fn silence() -> Step {
    Step::new(What::Silence)
}

/// Nothing comes at all, until the client disconnects.
pub fn hang() -> Step {
    Step::new(What::Hang)
}

impl Step {
    fn new(what: What) -> Self {
        Self {
            what,
            before: None,
            halfway: None,
        }
    }

    fn answer(answer: Answer) -> Self {
        Self::new(What::Answer(answer))
    }

    fn change(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        match &mut self.what {
            What::Answer(answer) | What::CutOff(answer) => change(answer),
            other => panic!("{other:?} says nothing"),
        }
        self
    }

    /// It calls one more tool.
    pub fn and_call(self, tool: &str, arguments: Value) -> Self {
        self.change(|answer| answer.calls.push((tool.to_owned(), arguments)))
    }

    /// It thinks before it speaks.
    pub fn thinking(self, thought: &str) -> Self {
        self.change(|answer| answer.thinking = thought.to_owned())
    }

    /// Its text is streamed in this many pieces.
    pub fn in_pieces(self, pieces: usize) -> Self {
        self.change(|answer| answer.pieces = pieces)
    }

    /// It reached the maximum number of tokens.
    pub fn too_long(self) -> Self {
        self.change(|answer| answer.too_long = true)
    }

    /// The connection breaks in the middle of it.
    pub fn cut_off(mut self) -> Self {
        self.what = match self.what {
            What::Answer(answer) => What::CutOff(answer),
            other => panic!("{other:?} cannot be cut off"),
        };
        self
    }

    /// It comes with a header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        match &mut self.what {
            What::Error { headers, .. } => headers.push((name, value.to_owned())),
            other => panic!("{other:?} takes no header"),
        }
        self
    }

    /// It waits for the gate before anything is sent.
    pub fn after(mut self, gate: &Gate) -> Self {
        self.before = Some(gate.clone());
        self
    }

    /// It waits for the gate when half of it has been streamed.
    pub fn pausing_at(mut self, gate: &Gate) -> Self {
        self.halfway = Some(gate.clone());
        self
    }
}

impl Answer {
    /// The text in its pieces, cut between characters.
    pub(super) fn text_pieces(&self) -> Vec<String> {
        let characters: Vec<char> = self.text.chars().collect();
        let length = characters.len().div_ceil(self.pieces.max(1)).max(1);
        characters
            .chunks(length)
            .map(|piece| piece.iter().collect())
            .collect()
    }
}
