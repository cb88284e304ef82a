//! An answer in the form of OpenAI's chat completions or responses, whole or as a stream of events. PURE.

use serde_json::{Value, json};

use super::responses;
use crate::channels::http::hub::joined;
use crate::channels::http::wire::reply::{Reply, begin_events};

/// The status for a turn that failed, mostly because no model answered.
pub const FAILED: u16 = 502;
/// The status for a question that was not accepted after all.
pub const REFUSED: u16 = 429;

/// The API that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/responses`.
    Responses,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Exchange {
    ticket: u64,
    form: Form,
    /// What the stream has told of the current step's text.
    told: String,
    /// Whether the stream has told anything.
    has_told: bool,
    /// The state of a stream of responses.
    events: responses::Events,
}

/// What an exchange is made of.
#[derive(Debug)]
pub struct Form {
    /// The API.
    pub api: Api,
    /// The id of the answer.
    pub id: String,
    /// The model that was asked for, which the client wants to see again.
    pub model: String,
    /// Seconds since 1970.
    pub created: i64,
    /// Whether the answer comes in pieces.
    pub is_stream: bool,
    /// Whether another request may follow.
    pub keeps: bool,
    /// Headers for the client.
    pub headers: Vec<(&'static str, String)>,
}

impl Exchange {
    /// An exchange that nothing was told of.
    pub fn new(ticket: u64, form: Form) -> Self {
        let keeps = form.keeps && !form.is_stream;
        Self {
            ticket,
            form: Form { keeps, ..form },
            told: String::new(),
            has_told: false,
            events: responses::Events::default(),
        }
    }

    /// What it waits for.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Whether the answer comes in pieces.
    pub fn is_stream(&self) -> bool {
        self.form.is_stream
    }

    /// Whether another request may follow.
    pub fn keeps(&self) -> bool {
        self.form.keeps
    }

    /// The beginning of a stream.
    pub fn begin(&mut self) -> Vec<u8> {
        if !self.form.is_stream {
            return Vec::new();
        }
        let mut bytes = begin_events(&self.form.headers);
        let first = match self.form.api {
            Api::Chat => self.chunk(&json!({"role": "assistant", "content": ""}), Value::Null),
            Api::Responses => self.events.begin(&self.form),
        };
        bytes.extend(first.into_bytes());
        bytes
    }

    /// More of the text of the current step, which is `text` so far.
    pub fn grow(&mut self, text: &str) -> Vec<u8> {
        let piece = if self.form.is_stream {
            self.piece(text.trim_start())
        } else {
            String::new()
        };
        self.tell(&piece)
    }

    fn tell(&mut self, piece: &str) -> Vec<u8> {
        if piece.is_empty() {
            return Vec::new();
        }
        self.has_told = true;
        let event = match self.form.api {
            Api::Chat => self.chunk(&json!({"content": piece}), Value::Null),
            Api::Responses => self.events.grow(&self.form, piece),
        };
        event.into_bytes()
    }

    /// What a stream has to add so that it ends with a text. Nothing can be taken back: another text is told below.
    fn piece(&mut self, text: &str) -> String {
        let told = std::mem::take(&mut self.told);
        let rest = text.strip_prefix(told.as_str()).or_else(|| {
            text.strip_prefix(told.trim_end())
                .filter(|_| text.trim_end() == text)
        });
        let piece = match rest {
            Some(rest) => rest.to_owned(),
            None if told.starts_with(text) => String::new(),
            None => format!("\n\n{text}"),
        };
        self.told = text.to_owned();
        piece
    }

    /// The answer, and the end.
    pub fn finish(&mut self, beside: &str, text: &str) -> Vec<u8> {
        if !self.form.is_stream {
            return self.whole(&joined(beside, text));
        }
        let mut bytes = Vec::new();
        if !text.is_empty() {
            bytes.extend(self.grow(text));
        }
        if !beside.is_empty() {
            let gap = if self.has_told { "\n\n" } else { "" };
            bytes.extend(self.tell(&format!("{gap}{beside}")));
        }
        let end = match self.form.api {
            Api::Chat => self.chunk(&json!({}), "stop".into()) + "data: [DONE]\n\n",
            Api::Responses => self.events.finish(&self.form),
        };
        bytes.extend(end.into_bytes());
        bytes
    }

    fn whole(&self, text: &str) -> Vec<u8> {
        let form = &self.form;
        let body = match form.api {
            Api::Chat => json!({
                "id": form.id, "object": "chat.completion", "created": form.created, "model": form.model,
                "choices": [{
                    "index": 0, "message": {"role": "assistant", "content": text}, "logprobs": null,
                    "finish_reason": "stop",
                }],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }),
            Api::Responses => responses::completed(form, text),
        };
        let mut reply = Reply::json(200, &body);
        reply.headers.clone_from(&form.headers);
        reply.bytes(form.keeps, false)
    }

    /// The end without an answer.
    pub fn fail(&mut self, status: u16, why: &str) -> Vec<u8> {
        self.form.keeps = false;
        let mut reply = Reply::error(status, why);
        if self.form.is_stream {
            return match self.form.api {
                Api::Chat => format!("data: {}\n\n", String::from_utf8_lossy(&reply.body)),
                Api::Responses => self.events.fail(&self.form, status, why),
            }
            .into_bytes();
        }
        reply.headers.clone_from(&self.form.headers);
        if status != REFUSED {
            // The question was accepted, and the agent has tried what it could: repeated, it would be another one. OpenAI's
            // packages know this header.
            reply = reply.with("X-Should-Retry", "false");
        }
        reply.bytes(false, false)
    }

    /// A sign of life.
    pub fn ping(&self) -> &'static [u8] {
        if self.form.is_stream {
            b": ping\n\n"
        } else {
            b""
        }
    }

    fn chunk(&self, delta: &Value, finish: Value) -> String {
        let form = &self.form;
        let chunk = json!({
            "id": form.id, "object": "chat.completion.chunk", "created": form.created, "model": form.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        format!("data: {chunk}\n\n")
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(is_stream: bool) -> Exchange {
        exchange_of(Api::Chat, is_stream)
    }

    fn exchange_of(api: Api, is_stream: bool) -> Exchange {
        let form = Form {
            api,
            id: "chatcmpl-1".into(),
            model: "main".into(),
            created: 7,
            is_stream,
            keeps: true,
            headers: Vec::new(),
        };
        Exchange::new(1, form)
    }

    /// The text that a client makes of a stream.
    fn told(bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let events = text
            .split("\n\n")
            .filter_map(|event| event.strip_prefix("data: {"));
        events
            .map(|event| crate::base::json::from_str::<Value>(&format!("{{{event}")).unwrap())
            .map(|event| {
                event["choices"][0]["delta"]["content"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn a_stream_tells_each_word_once_and_other_texts_below() {
        let mut stream = exchange(true);
        let mut bytes = stream.begin();
        for text in ["\nI", "\nI look.", "\nI look.", "It", "It is"] {
            bytes.extend(stream.grow(text));
        }
        bytes.extend(stream.finish("", "It is so."));
        assert!(bytes.ends_with(b"data: [DONE]\n\n"));
        let body = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        assert_eq!(told(&bytes[body..]), "I look.\n\nIt is so.");
        let mut stream = exchange(true);
        let mut bytes = stream.grow("Half  ");
        bytes.extend(stream.finish("beside", "Half"));
        assert_eq!(told(&bytes), "Half  \n\nbeside");
        let mut stream = exchange(true);
        assert_eq!(told(&stream.finish("beside", "")), "beside");
        assert!(!stream.keeps());
    }

    #[test]
    fn a_whole_answer_is_one_reply() {
        let mut whole = exchange(false);
        assert!(whole.begin().is_empty() && whole.grow("It").is_empty() && whole.ping().is_empty());
        let text = String::from_utf8(whole.finish("a", "b")).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200") && text.contains(r#""content":"a\n\nb""#),
            "{text}"
        );
        assert!(whole.keeps());
        for (status, is_final) in [(503, true), (FAILED, true), (REFUSED, false)] {
            let text = String::from_utf8(whole.fail(status, "x")).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            assert_eq!(text.contains("X-Should-Retry: false"), is_final, "{text}");
        }
    }
}
