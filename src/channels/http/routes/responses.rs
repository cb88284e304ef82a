//! OpenAI's responses (<https://platform.openai.com/docs/api-reference/responses>), answered by the agent. PURE.
//!
//! The question goes the way of one of the chat completions: of the input only what the person has said behind the last
//! answer counts, and instructions and tools are not taken over. The id of an answer names its conversation, so that
//! `previous_response_id` leads back to it after a restart, too.

use serde_json::{Value, json};

use super::chat::{Question, add_last, model, session_name};
use super::exchange::Form;
use crate::base::json::Members;

/// How the id of an answer begins.
const ID: &str = "resp_";
/// Characters of an id: the name of a conversation with every character escaped.
const ID_CHARS: usize = 512;

/// Reads what a client asks.
pub fn read(text: &str) -> Result<Question, &'static str> {
    let body = Members::read(text).ok_or("the body is not a JSON object")?;
    if body.is_true("background") {
        return Err("background is not supported: the answer comes with this request");
    }
    let mut question = Question {
        model: model(&body)?,
        is_stream: body.is_true("stream"),
        session: session(&body)?,
        ..Question::default()
    };
    if let Some(text) = body.text("input") {
        question.add_text(&text);
    } else {
        let items = body
            .list("input")
            .ok_or("input has to be a string or a list")?;
        // Calls of tools, their results and reasoning are the model's.
        let is_message =
            |item: &Members<'_>| matches!(item.text_or_empty("type").as_str(), "" | "message");
        let is_answer =
            |item: &Members<'_>| !is_message(item) || item.text_or_empty("role") == "assistant";
        add_last(&mut question, &items, is_answer)?;
    }
    question.checked("input has to end with a message whose role is user")
}

/// The conversation: that of an earlier answer, the one that is named, or that of `user` or of its newer name.
fn session(body: &Members<'_>) -> Result<Option<String>, &'static str> {
    let named = match body.text_or_empty("conversation") {
        id if id.is_empty() => body.members("conversation").text_or_empty("id"),
        id => id,
    };
    let previous = body.text_or_empty("previous_response_id");
    match (named.as_str(), previous.as_str()) {
        ("", "") => Ok(["user", "safety_identifier"]
            .iter()
            .find_map(|name| session_name(&body.text_or_empty(name)))),
        (_, "") => Ok(session_name(&named)),
        ("", _) => of_id(&previous)
            .ok_or("unknown previous_response_id: it has to be the id of an answer of this agent"),
        _ => Err("only one of conversation and previous_response_id is possible"),
    }
}

/// The id of an answer to the message `reference` in a conversation.
pub fn id(reference: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => format!("{ID}{reference}_{session}"),
        None => format!("{ID}{reference}"),
    }
}

/// The conversation of an answer with this id; `Some(None)` for the token's own, `None` for an id that is not ours.
fn of_id(id: &str) -> Option<Option<String>> {
    let rest = id.strip_prefix(ID).filter(|_| id.len() <= ID_CHARS)?;
    let (reference, session) = match rest.split_once('_') {
        Some((reference, session)) => (reference, Some(session)),
        None => (rest, None),
    };
    let is_fine = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let is_ours = is_fine(reference, "") && session.is_none_or(|it| is_fine(it, "-_.%~"));
    is_ours.then(|| session.map(str::to_owned))
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn message(form: &Form, status: &str, content: &[Value]) -> Value {
    json!({
        "type": "message", "id": item_id(form), "status": status, "role": "assistant", "content": content,
    })
}

fn item_id(form: &Form) -> String {
    form.id.replacen(ID, "msg_", 1)
}

fn response(form: &Form, status: &str, output: &[Value]) -> Value {
    json!({
        "id": form.id, "object": "response", "created_at": form.created, "model": form.model, "status": status,
        "output": output, "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "text": {"format": {"type": "text"}},
        "usage": {
            "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
        },
    })
}

/// A whole answer.
pub fn completed(form: &Form, text: &str) -> Value {
    response(
        form,
        "completed",
        &[message(form, "completed", &[part(text)])],
    )
}

/// What a stream has told so far.
#[derive(Debug, Default)]
pub struct Events {
    count: u64,
    text: String,
}

impl Events {
    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = kind.into();
        data["sequence_number"] = self.count.into();
        self.count += 1;
        format!("event: {kind}\ndata: {data}\n\n")
    }

    /// An event about the text.
    fn of_text(&mut self, form: &Form, kind: &str, (name, value): (&str, Value)) -> String {
        let mut data = json!({"item_id": item_id(form), "output_index": 0, "content_index": 0});
        data[name] = value;
        if name != "part" {
            data["logprobs"] = json!([]);
        }
        self.event(kind, data)
    }

    /// The events before the first word.
    pub fn begin(&mut self, form: &Form) -> String {
        let begun = json!({"response": response(form, "in_progress", &[])});
        let item = message(form, "in_progress", &[]);
        self.event("response.created", begun.clone())
            + &self.event("response.in_progress", begun)
            + &self.event(
                "response.output_item.added",
                json!({"output_index": 0, "item": item}),
            )
            + &self.of_text(form, "response.content_part.added", ("part", part("")))
    }

    /// More of the text.
    pub fn grow(&mut self, form: &Form, piece: &str) -> String {
        self.text.push_str(piece);
        self.of_text(form, "response.output_text.delta", ("delta", piece.into()))
    }

    /// The events behind the last word.
    pub fn finish(&mut self, form: &Form) -> String {
        let text = std::mem::take(&mut self.text);
        let item = message(form, "completed", &[part(&text)]);
        let whole = json!({"response": completed(form, &text)});
        let done = self.of_text(
            form,
            "response.output_text.done",
            ("text", text.as_str().into()),
        );
        done + &self.of_text(form, "response.content_part.done", ("part", part(&text)))
            + &self.event(
                "response.output_item.done",
                json!({"output_index": 0, "item": item}),
            )
            + &self.event("response.completed", whole)
    }

    /// The end without an answer.
    pub fn fail(&mut self, form: &Form, status: u16, why: &str) -> String {
        let mut failed = response(form, "failed", &[]);
        let code = match status {
            429 => "rate_limit_exceeded",
            _ => "server_error",
        };
        failed["error"] = json!({"code": code, "message": why});
        self.event("response.failed", json!({"response": failed}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_value(value: Value) -> Result<Question, &'static str> {
        read(&value.to_string())
    }

    #[test]
    fn only_what_is_new_in_the_input_is_asked() {
        let question = read_value(json!({"model": "main", "stream": true, "instructions": "be a pirate", "input": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": "one"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]},
            {"type": "function_call", "call_id": "a", "name": "b", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "c"},
            {"role": "user", "content": " two "},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "three"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
                {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}]},
        ]}))
        .unwrap();
        assert_eq!(question.text, "two\n\nthree");
        let names: Vec<&str> = question
            .files
            .iter()
            .map(|file| file.name.as_str())
            .collect();
        assert_eq!(names, ["image.png", "a.txt"]);
        assert!(question.is_stream && question.model == "main" && question.session.is_none());
        assert_eq!(read_value(json!({"input": "hi"})).unwrap().text, "hi");
    }

    #[test]
    fn an_answer_names_its_conversation() {
        let session = |body: Value| {
            let mut body = body;
            body["input"] = "hi".into();
            read_value(body).map(|question| question.session)
        };
        let ana = Ok(Some("ana%40x".to_owned()));
        assert_eq!(session(json!({"user": "ana@x"})), ana);
        assert_eq!(
            session(json!({"conversation": "ana@x", "user": "ben"})),
            ana
        );
        assert_eq!(session(json!({"conversation": {"id": "ana@x"}})), ana);
        let long = "a".repeat(100);
        for name in ["", "ana@x", "a_b", &long] {
            let safe = session_name(name);
            let body = json!({"previous_response_id": id("r12", safe.as_deref()), "user": "ben"});
            assert_eq!(session(body), Ok(safe), "{name}");
        }
        for wrong in [
            "resp_",
            "msg_r12",
            "resp_r12_",
            "resp_r12_a:b",
            "resp_r1/2",
            &"resp_a".repeat(99),
        ] {
            assert!(
                session(json!({"previous_response_id": wrong})).is_err(),
                "{wrong}"
            );
        }
        let both = json!({"previous_response_id": "resp_r12", "conversation": "a"});
        assert!(session(both).is_err());
    }

    #[test]
    fn what_is_no_question_is_refused() {
        for body in [
            json!([]),
            json!({}),
            json!({"input": " "}),
            json!({"input": {}}),
            json!({"input": []}),
            json!({"input": "hi", "background": true}),
            json!({"input": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}),
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file-1"}]}]}),
            json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "http://a/b"}]}]}),
        ] {
            assert!(read_value(body.clone()).is_err(), "{body}");
        }
    }
}
