//! Questions in the form of OpenAI's chat completions (<https://platform.openai.com/docs/api-reference/chat>), and the way
//! that they and those of [`responses`] take.
//!
//! A client sends the whole conversation each time; the agent has its own, so that only what is new in it counts: the
//! person's messages behind the last answer. Instructions and tools of a client are not taken over: the agent has its
//! own. A slash at the beginning is no command, because programs pass on what others have written.

use ring::digest::{SHA256, digest};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::exchange::{Api, Form};
use super::files::{self, Sent64, read_data};
use super::{Exchange, Outcome, Place, page_headers, responses};
use crate::base::clock::Clock;
use crate::base::hex::hex;
use crate::base::json::Members;
use crate::base::language::Language;
use crate::base::limits::channels::MESSAGE_FILES;
use crate::base::message::{Address, Envelope, Media, Sender};
use crate::channels::http::NAME;
use crate::channels::http::host::Host;
use crate::channels::http::hub::KEYED;
use crate::channels::http::wire::reply::Reply;
use crate::channels::http::wire::request::Head;
use crate::channels::kit::sink::Incoming;
use crate::config::schema::HttpApprovals;
use crate::sys::random;

/// Questions of one token that wait for their answers: a token cannot take all connections from the others.
const WAITING: usize = 16;
/// Questions of all tokens that wait: some connections are left for everything else.
const WAITING_ALL: usize = 48;
/// Bytes of the name of a model.
const MODEL_BYTES: usize = 256;
/// Messages of a person behind the last answer, which become one question.
const LAST_MESSAGES: usize = 256;
/// Characters of the name of a conversation.
const SESSION_CHARS: usize = 64;
/// Characters of a question, which is as long as a message that is pasted into a chat.
const TEXT_CHARS: usize = 64 * 1024;

/// The agents as models.
pub fn models(host: &dyn Host) -> Value {
    let model =
        |id: String| json!({"id": id, "object": "model", "created": 0, "owned_by": "peacrab"});
    let data: Vec<Value> = host.agents().into_iter().map(model).collect();
    json!({"object": "list", "data": data})
}

/// What a client asks.
#[derive(Default)]
pub(super) struct Question {
    pub text: String,
    pub files: Vec<Sent64>,
    pub model: String,
    pub is_stream: bool,
    /// Its conversation, as a part of an address; `None` for the token's own.
    pub session: Option<String>,
}

/// Accepts a question: it is on the disk when this returns.
pub fn ask(
    place: &Place<'_>,
    head: &Head,
    (api, token): (Api, &str),
    body: &[u8],
) -> Result<Outcome, Reply> {
    let refuse = |why: &str| Reply::error(400, why);
    let (own, all) = place.channel.hub.waiting(token);
    if own >= WAITING || all >= WAITING_ALL {
        let reply = Reply::error(429, "too many questions wait for their answers");
        return Err(reply.with("Retry-After", "10"));
    }
    let text = std::str::from_utf8(body).map_err(|_| refuse("the body is not UTF-8"))?;
    let read = match api {
        Api::Chat => read(text),
        Api::Responses => responses::read(text),
    };
    let mut question = read.map_err(refuse)?;
    if let Some(name) = head.header("x-peacrab-session") {
        question.session = session_name(name);
    }
    let address = Address {
        thread: question.session,
        ..Address::new(NAME, token)
    };
    let failed = |error: crate::base::error::Error| {
        tracing::warn!(chat = %address, "failed to accept a question of HTTP: {error}");
        Reply::error(503, "it cannot be stored now: ask again later").with("Retry-After", "10")
    };
    let random = random::bytes().map(u64::from_ne_bytes).map_err(failed)?;
    let reference = match head.header("idempotency-key") {
        // The same key of another token, or in another conversation, is another one.
        Some(key) => format!("{KEYED}{}", short_hash(&format!("{address} {key}"))),
        None => format!("r{random:016x}"),
    };
    let mut envelope = Envelope::written(&address, sender(head, token), &question.text);
    envelope.id = format!("{NAME}:{reference}");
    envelope.reference.clone_from(&reference);
    envelope.is_relayed = true;
    envelope.attended = place.channel.config.approvals == HttpApprovals::Owner;
    if !question.files.is_empty() {
        files::clear_files(&place.channel.files, files::KEPT_FILES);
    }
    for (index, file) in question.files.iter().enumerate() {
        let name = files::owned_name(token, &format!("{reference}-{index}"));
        let stored = files::store(&place.channel.files, &name, file).map_err(failed)?;
        envelope.remote_files.push(stored);
    }
    let (hub, chat) = (&place.channel.hub, address.within_channel());
    let (id, is_known) = (envelope.id.clone(), hub.knows(&chat, &reference));
    let ticket = hub.wait(&chat, &reference);
    let incoming = Incoming::Message {
        envelope,
        username: String::new(),
    };
    let taken = place.intake.take(vec![incoming], place.heartbeat);
    let is_coming = |new: usize| new > 0 || is_known || place.intake.holds(&id);
    match taken {
        Ok(new) if is_coming(new) => place.accepting.borrow_mut().succeeded(),
        Ok(_) => {
            hub.withdraw(ticket);
            let why = "this key was asked before, and its answer is not kept any more: it is in the conversation";
            return Err(Reply::error(409, why));
        }
        Err(error) => {
            hub.withdraw(ticket);
            place.accepting.borrow_mut().failed(&error, None);
            return Err(failed(error));
        }
    };
    let id = match api {
        Api::Chat => format!("chatcmpl-{reference}"),
        Api::Responses => responses::id(&reference, address.thread.as_deref()),
    };
    Ok(Outcome::Wait(Exchange::new(
        ticket,
        Form {
            api,
            id,
            model: question.model,
            created: Clock::System.now_ms() / 1000,
            is_stream: question.is_stream,
            keeps: head.keep,
            headers: page_headers(place, head),
        },
    )))
}

fn sender(head: &Head, token: &str) -> Sender {
    let wanted = head.header("accept-language").unwrap_or_default();
    Sender {
        id: token.to_owned(),
        name: token.to_owned(),
        language: Language::pick(wanted),
        thread_of: None,
    }
}

pub(super) fn short_hash(text: &str) -> String {
    let hash = digest(&SHA256, text.as_bytes());
    hex(hash.as_ref().iter().take(16))
}

/// The name of a conversation as a part of an address; `None` for the token's own.
pub(super) fn session_name(name: &str) -> Option<String> {
    let mut safe = String::new();
    for byte in name.bytes().take(SESSION_CHARS) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                safe.push(char::from(byte));
            }
            byte => safe.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.len() > SESSION_CHARS {
        // Two long names that begin alike are two conversations.
        safe = format!("{safe}~{}", short_hash(name));
    }
    (!safe.is_empty()).then_some(safe)
}

fn read(text: &str) -> Result<Question, &'static str> {
    let body = Members::read(text).ok_or("the body is not a JSON object")?;
    let messages = body.list("messages").ok_or("messages has to be a list")?;
    let mut question = Question {
        model: model(&body)?,
        is_stream: body.is_true("stream"),
        session: session_name(&body.text_or_empty("user")),
        ..Question::default()
    };
    if body.number("n").is_some_and(|count| count != 1) {
        return Err("there is one answer to a question: n has to be 1");
    }
    let is_answer = |message: &Members<'_>| {
        matches!(
            message.text_or_empty("role").as_str(),
            "assistant" | "tool" | "function"
        )
    };
    add_last(&mut question, &messages, is_answer)?;
    question.checked("messages has to end with a message whose role is user")
}

/// The model that is asked for, which each piece of the answer repeats.
pub(super) fn model(body: &Members<'_>) -> Result<String, &'static str> {
    let name = body.text_or_empty("model");
    match name.len() > MODEL_BYTES {
        true => Err("the name of the model is too long"),
        false => Ok(name),
    }
}

/// Adds what a person has said behind the last answer.
pub(super) fn add_last(
    question: &mut Question,
    messages: &[&RawValue],
    is_answer: impl Fn(&Members<'_>) -> bool,
) -> Result<(), &'static str> {
    let read = messages.iter().rev();
    let read = read.filter_map(|message| Members::read(message.get()));
    let last: Vec<Members<'_>> = read
        .take_while(|message| !is_answer(message))
        .take(LAST_MESSAGES + 1)
        .collect();
    if last.len() > LAST_MESSAGES {
        return Err("there are too many messages behind the last answer");
    }
    let of_person = |message: &&Members<'_>| message.text_or_empty("role") == "user";
    last.iter()
        .rev()
        .filter(of_person)
        .try_for_each(|message| add_parts(question, message))
}

impl Question {
    /// The same, unless it is empty (`why`) or too long.
    pub fn checked(self, why: &'static str) -> Result<Self, &'static str> {
        if self.text.trim().is_empty() && self.files.is_empty() {
            return Err(why);
        }
        match self.text.chars().count() > TEXT_CHARS {
            true => Err("the question is too long"),
            false => Ok(self),
        }
    }

    /// Adds a text below the others.
    pub fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text.trim());
    }
}

/// The content of a file: ids of files that were stored with OpenAI stand for nothing here.
fn content(file: &Members<'_>, name: &str) -> Result<String, &'static str> {
    file.text(name)
        .ok_or("a file has to come along, as a data: URL")
}

/// Adds the text and the files of a message.
pub(super) fn add_parts(
    question: &mut Question,
    message: &Members<'_>,
) -> Result<(), &'static str> {
    if let Some(text) = message.text("content") {
        question.add_text(&text);
        return Ok(());
    }
    let parts: Vec<&RawValue> = message
        .list("content")
        .ok_or("content has to be a string or a list")?;
    for part in parts {
        let part = Members::read(part.get()).ok_or("a part of content has to be an object")?;
        let file = match part.text_or_empty("type").as_str() {
            "text" | "input_text" => {
                question.add_text(&part.text_or_empty("text"));
                continue;
            }
            "image_url" => {
                let url = part.members("image_url").text_or_empty("url");
                read_data(&url, "", Media::Photo)?
            }
            "input_image" => read_data(&content(&part, "image_url")?, "", Media::Photo)?,
            "input_audio" => {
                let audio = part.members("input_audio");
                let name = format!("audio.{}", audio.text_or_empty("format"));
                read_data(&audio.text_or_empty("data"), &name, Media::Audio)?
            }
            kind @ ("file" | "input_file") => {
                let file = match kind {
                    "file" => part.members("file"),
                    _ => part,
                };
                let name = file.text_or_empty("filename");
                read_data(&content(&file, "file_data")?, &name, Media::Document)?
            }
            _ => {
                return Err(
                    "content may have text, image_url, input_audio and file, or input_text, input_image and input_file",
                );
            }
        };
        question.files.push(file);
        if question.files.len() > MESSAGE_FILES {
            return Err("there are too many files");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_value(value: Value) -> Result<Question, &'static str> {
        read(&value.to_string())
    }

    #[test]
    fn only_what_is_new_in_a_conversation_is_asked() {
        let question = read_value(
            json!({"model": "main", "stream": true, "user": "ana", "messages": [
                {"role": "system", "content": "be a pirate"},
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "1"},
                {"role": "user", "content": " two "},
                {"role": "user", "content": [{"type": "text", "text": "three"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
            ]}),
        )
        .unwrap();
        assert_eq!(question.text, "two\n\nthree");
        assert_eq!(question.files[0].name, "image.png");
        assert!(
            question.is_stream
                && question.session.as_deref() == Some("ana")
                && question.model == "main"
        );
    }

    #[test]
    fn what_is_no_question_is_refused() {
        let message = json!({"role": "user", "content": "hi"});
        assert!(read_value(json!({"messages": [message]})).is_ok());
        for body in [
            json!([]),
            json!({}),
            json!({"messages": "hi"}),
            json!({"messages": []}),
            json!({"messages": [{"role": "user", "content": " "}]}),
            json!({"messages": [message, {"role": "assistant", "content": "x"}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "video"}]}]}),
            json!({"messages": [{"role": "user", "content": [7]}]}),
            json!({"messages": [message], "n": 2}),
            json!({"messages": [message], "model": "x".repeat(MODEL_BYTES + 1)}),
            json!({"messages": vec![message.clone(); LAST_MESSAGES + 1]}),
            json!({"messages": [{"role": "user", "content": "x".repeat(TEXT_CHARS + 1)}]}),
        ] {
            assert!(read_value(body.clone()).is_err(), "{body}");
        }
    }

    #[test]
    fn names_of_conversations_are_parts_of_addresses() {
        assert_eq!(session_name(""), None);
        assert_eq!(session_name("ana@x:1").as_deref(), Some("ana%40x%3A1"));
        let long =
            |end: &str| session_name(&format!("{}{end}", "a".repeat(SESSION_CHARS))).unwrap();
        assert_ne!(long("b"), long("c"));
        assert!(long("b").len() < 3 * SESSION_CHARS + 40);
    }
}
