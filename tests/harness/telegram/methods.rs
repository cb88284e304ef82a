//! What the API's methods do. <https://core.telegram.org/bots/api#available-methods>

use serde_json::{Value, json};

use crate::harness::form::Part;

use super::check::{self, Refusal, Shown};
use super::person::{Media, Place};
use super::request::Call;
use super::rich;
use super::server::State;
use super::store::{self, Draft, Gone, Message, Version};

/// Maximum file that a bot may fetch, in bytes.
const FETCHED: usize = 20 << 20;
/// Maximum photo that a bot may send, in bytes.
const PHOTO: usize = 10 << 20;
/// Maximum file that a bot may send, in bytes.
const SENT: usize = 50 << 20;
/// Files of an album.
const ALBUM: std::ops::RangeInclusive<usize> = 2..=10;
/// Maximum name of a topic, in characters.
const TOPIC_NAME: usize = 128;
/// Maximum text in answer to a press of a button, in characters.
const TOAST: usize = 200;

impl State {
    /// Carries out a call.
    pub(super) fn act(&mut self, call: &Call) -> Result<Value, Refusal> {
        check::call(call)?;
        match call.method.as_str() {
            "getMe" => Ok(me()),
            "deleteWebhook" => Ok(json!(true)),
            "setMyCommands" => check::commands(call).map(|()| json!(true)),
            "sendMessage" => {
                let shown = check::text(call)?;
                self.send(call, shown, None)
            }
            "sendMessageDraft" => self.draft(call),
            "sendPhoto" => self.send_file(call, Media::Photo),
            "sendDocument" => self.send_file(call, Media::Document),
            "sendVoice" => self.send_file(call, Media::Voice),
            "sendSticker" => self.send_file(call, Media::Sticker),
            "sendMediaGroup" => self.send_album(call),
            "sendRichMessage" => match rich::read(&call.parameters["rich_message"])? {
                Some((shown, _)) => self.send(call, shown, None),
                None => Err(Refusal::bad("RICH_MESSAGE_EMPTY")),
            },
            "editMessageText" => self.edit_text(call),
            "editEphemeralMessageText" => self.edit_text(call).map(|_| json!(true)),
            "deleteEphemeralMessage" => self.delete(call),
            "editMessageCaption" => self.edit_caption(call),
            "editMessageReplyMarkup" => self.edit_markup(call),
            "editForumTopic" => self.name_topic(call),
            "deleteMessage" => self.delete(call),
            "sendChatAction" => {
                self.place(call)?;
                check::action(call).map(|()| json!(true))
            }
            "setMessageReaction" => self.react(call),
            "answerCallbackQuery" => self.answer_query(call),
            "getFile" => self.get_file(call),
            other => unreachable!("{other} is done elsewhere"),
        }
    }

    /// The bytes of a file that `getFile` has named.
    pub(super) fn download(&self, call: &Call) -> Result<std::sync::Arc<[u8]>, Refusal> {
        let path = call.text("file_path");
        let file = self.store.files.iter().find(|file| file.path() == path);
        file.map(|file| file.bytes.clone())
            .ok_or_else(|| Refusal::new(404, "Not Found"))
    }

    fn send(
        &mut self,
        call: &Call,
        shown: Shown,
        file: Option<(Media, Part)>,
    ) -> Result<Value, Refusal> {
        let markup = check::markup(call)?;
        let place = self.place(call)?;
        let reply_to = self.replied(call, place)?;
        let only_for = self.receiver(call, place)?;
        let file = file.map(|(media, part)| {
            let name = part.file_name.unwrap_or_default();
            self.store.keep(media, &name, &part.mime, part.bytes)
        });
        self.note(call, &shown);
        let chat = self.store.chat(place.chat);
        let mut message = Message::new(chat.next_id(), place, None);
        message.markup = markup;
        message.reply_to = reply_to;
        message.only_for = only_for;
        message.file = file;
        message.rich = rich::read(&call.parameters["rich_message"])?.map(|(_, rich)| rich);
        message.show(call, shown);
        chat.messages.insert(message.id, message.clone());
        let drafts = chat.drafts.iter_mut();
        drafts.for_each(|draft| draft.is_shown = false);
        Ok(self.store.json(&message))
    }

    fn draft(&mut self, call: &Call) -> Result<Value, Refusal> {
        let shown = check::draft(call)?;
        let place = self.place(call)?;
        if place.chat < 0 {
            return Err(Refusal::bad("drafts can be sent to private chats only"));
        }
        self.note(call, &shown);
        let draft = Draft {
            place,
            id: call.integer("draft_id").unwrap_or_default(),
            text: shown.text,
            can_stop: call.parameters["can_stop"] == true,
            is_shown: true,
        };
        let drafts = &mut self.store.chat(place.chat).drafts;
        drafts.iter_mut().for_each(|draft| draft.is_shown = false);
        drafts.push(draft);
        Ok(json!(true))
    }

    fn send_file(&mut self, call: &Call, media: Media) -> Result<Value, Refusal> {
        let part = self.uploaded(call, media, media.name())?;
        let shown = check::caption(call)?;
        self.send(call, shown, Some((media, part)))
    }

    /// A file of a form, which Telegram would take.
    fn uploaded(&mut self, call: &Call, media: Media, name: &str) -> Result<Part, Refusal> {
        let Some(part) = call.files.iter().find(|part| part.name == name) else {
            return Err(Refusal::bad(&format!("there is no {name} in the request")));
        };
        let size = part.bytes.len();
        if size == 0 {
            return Err(Refusal::bad("file must be non-empty"));
        }
        if size > SENT {
            return Err(Refusal::new(413, "Request Entity Too Large"));
        }
        if media == Media::Photo && size > PHOTO {
            return Err(Refusal::bad(&format!(
                "file of size {size} bytes is too big for a photo; the maximum size is {PHOTO} bytes"
            )));
        }
        if media == Media::Photo && !is_picture(&part.bytes) {
            return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
        }
        if media == Media::Voice && !part.bytes.starts_with(b"OggS") {
            self.complain("sendVoice: the file is no Ogg, and would come as a file".to_owned());
        }
        Ok(part.clone())
    }

    fn send_album(&mut self, call: &Call) -> Result<Value, Refusal> {
        let album = call.parameters["media"].as_array();
        let album = album.ok_or_else(|| Refusal::bad("can't parse media JSON object"))?;
        if !ALBUM.contains(&album.len()) {
            return Err(Refusal::bad("media group must include 2-10 items"));
        }
        let mut parts = Vec::new();
        for media in album {
            let kind = match media["type"].as_str() {
                Some("photo") => Media::Photo,
                Some("video") => Media::Video,
                Some("document") => Media::Document,
                _ => return Err(Refusal::bad("can't parse InputMedia")),
            };
            let field = media["media"].as_str().unwrap_or_default();
            let field = field.strip_prefix("attach://").unwrap_or_default();
            let part = self.uploaded(call, kind, field)?;
            parts.push((kind, part, check::caption_of(media)?, media));
        }
        let documents = parts.iter().filter(|part| part.0 == Media::Document);
        if ![0, parts.len()].contains(&documents.count()) {
            return Err(Refusal::bad(
                "document can't be mixed with other media types",
            ));
        }
        let place = self.place(call)?;
        let reply_to = self.replied(call, place)?;
        let group = format!("album-{}", call.number);
        let mut sent = Vec::new();
        for (kind, part, shown, media) in parts {
            let name = part.file_name.unwrap_or_default();
            let file = self.store.keep(kind, &name, &part.mime, part.bytes);
            self.note(call, &shown);
            let chat = self.store.chat(place.chat);
            let mut message = Message::new(chat.next_id(), place, None);
            message.reply_to = reply_to;
            message.file = Some(file);
            message.album = Some(group.clone());
            message.show_as(call, (&media["caption"], &media["parse_mode"]), shown);
            chat.messages.insert(message.id, message.clone());
            chat.drafts
                .iter_mut()
                .for_each(|draft| draft.is_shown = false);
            sent.push(self.store.json(&message));
        }
        Ok(json!(sent))
    }

    fn edit_text(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (shown, rich) = match rich::read(&call.parameters["rich_message"])? {
            Some((shown, rich)) => (shown, Some(rich)),
            None => (check::text(call)?, None),
        };
        let markup = check::markup(call)?;
        self.note(call, &shown);
        self.edit(call, |message| {
            message.rich = rich;
            if message.file.is_some() {
                return Err(Refusal::bad("there is no text in the message to edit"));
            }
            message.markup = markup;
            message.show(call, shown);
            Ok(())
        })
    }

    fn edit_caption(&mut self, call: &Call) -> Result<Value, Refusal> {
        let shown = check::caption(call)?;
        let markup = check::markup(call)?;
        self.edit(call, |message| {
            if message.file.is_none() {
                return Err(Refusal::bad("there is no caption in the message to edit"));
            }
            message.markup = markup;
            message.show(call, shown);
            Ok(())
        })
    }

    fn edit_markup(&mut self, call: &Call) -> Result<Value, Refusal> {
        let markup = check::markup(call)?;
        self.edit(call, |message| {
            message.markup = markup;
            Ok(())
        })
    }

    fn edit(
        &mut self,
        call: &Call,
        change: impl FnOnce(&mut Message) -> Result<(), Refusal>,
    ) -> Result<Value, Refusal> {
        let message = self.named(call, "edit")?;
        if message.from.is_some() {
            return Err(Refusal::bad("message can't be edited"));
        }
        let mut changed = message.clone();
        change(&mut changed)?;
        if changed.looks_like(message) {
            // A program that lost the answer sends it again, which is correct.
            return Err(Refusal::bad(
                "message is not modified: specified new message content and reply markup are \
                 exactly the same as a current content and reply markup of the message",
            )
            .innocent());
        }
        *message = changed.clone();
        Ok(self.store.json(&changed))
    }

    fn name_topic(&mut self, call: &Call) -> Result<Value, Refusal> {
        let place = self.place(call)?;
        let name = call.text("name");
        let thread = place.thread.filter(|_| !name.is_empty());
        let Some(thread) = thread.filter(|_| name.chars().count() <= TOPIC_NAME) else {
            return Err(Refusal::bad("TOPIC_NAME_INVALID"));
        };
        let topics = &mut self.store.chat(place.chat).topics;
        topics.insert(thread, name.to_owned());
        Ok(json!(true))
    }

    fn delete(&mut self, call: &Call) -> Result<Value, Refusal> {
        self.named(call, "delete")?.gone = Some(Gone::ByBot);
        Ok(json!(true))
    }

    fn react(&mut self, call: &Call) -> Result<Value, Refusal> {
        let reactions = check::reactions(call)?;
        self.named(call, "react")?.reactions = reactions;
        Ok(json!(true))
    }

    fn answer_query(&mut self, call: &Call) -> Result<Value, Refusal> {
        if call.text("text").chars().count() > TOAST {
            return Err(Refusal::bad("MESSAGE_TOO_LONG"));
        }
        let old = "query is too old and response timeout expired or query ID is invalid";
        match self.queries.get_mut(call.text("callback_query_id")) {
            None => Err(Refusal::bad(old)),
            Some(true) => Err(Refusal::bad(old).innocent()),
            Some(answered) => {
                *answered = true;
                Ok(json!(true))
            }
        }
    }

    fn get_file(&mut self, call: &Call) -> Result<Value, Refusal> {
        let id = call.text("file_id");
        let Some(file) = self.store.files.iter().find(|file| file.id == id) else {
            let unknown = "wrong file_id or the file is temporarily unavailable";
            return Err(Refusal::bad(unknown));
        };
        if file.bytes.len() > FETCHED {
            return Err(Refusal::bad("file is too big").innocent());
        }
        Ok(json!({
            "file_id": file.id, "file_unique_id": format!("unique-{}", file.id),
            "file_size": file.bytes.len(), "file_path": file.path(),
        }))
    }

    /// The place that a call writes to.
    fn place(&mut self, call: &Call) -> Result<Place, Refusal> {
        let id = call.integer("chat_id");
        let Some((id, chat)) = id.and_then(|id| Some((id, self.store.chats.get(&id)?))) else {
            return Err(Refusal::bad("chat not found"));
        };
        if chat.blocked {
            return Err(Refusal::blocked());
        }
        if let Some(to) = chat.upgraded_to {
            return Err(Refusal::upgraded(to));
        }
        let thread = call.integer("message_thread_id");
        if thread.is_some_and(|thread| !chat.topics.contains_key(&thread)) {
            return Err(Refusal::bad("message thread not found"));
        }
        Ok(Place { chat: id, thread })
    }

    /// The message that a new one replies to.
    fn replied(&mut self, call: &Call, place: Place) -> Result<Option<i64>, Refusal> {
        let parameters = &call.parameters["reply_parameters"];
        if parameters.is_null() {
            return Ok(None);
        }
        let found = parameters["message_id"]
            .as_i64()
            .and_then(|id| self.store.chat(place.chat).messages.get(&id));
        match found {
            Some(message) if message.gone.is_none() => Ok(Some(message.id)),
            _ if parameters["allow_sending_without_reply"] == true => Ok(None),
            Some(_) => Err(Refusal::bad("message to be replied not found").innocent()),
            None => Err(Refusal::bad("message to be replied not found")),
        }
    }

    /// The person who alone sees a new message.
    fn receiver(&mut self, call: &Call, place: Place) -> Result<Option<i64>, Refusal> {
        let parameters = &call.parameters["ephemeral_message_parameters"];
        if parameters.is_null() {
            return Ok(None);
        }
        let person = parameters["receiver_user_id"].as_i64();
        let known = person.filter(|person| self.store.people.contains_key(person));
        match known {
            Some(person) if place.chat < 0 => Ok(Some(person)),
            _ => Err(Refusal::bad("EPHEMERAL_RECEIVER_INVALID")),
        }
    }

    /// The message that a call changes.
    fn named(&mut self, call: &Call, deed: &str) -> Result<&mut Message, Refusal> {
        let place = self.place(call)?;
        let refusal = Refusal::bad(&format!("message to {deed} not found"));
        let ephemeral = call.integer("ephemeral_message_id");
        let id = ephemeral.or_else(|| call.integer("message_id"));
        let receiver = call.integer("receiver_user_id");
        let messages = &mut self.store.chat(place.chat).messages;
        let message = messages.get_mut(&id.unwrap_or_default());
        let message = message.filter(|message| message.only_for == ephemeral.and(receiver));
        match message.map(|message| (message.gone, message)) {
            Some((None, message)) => Ok(message),
            Some((Some(Gone::ByPerson), _)) => Err(refusal.innocent()),
            // Its answer may be lost.
            Some((Some(Gone::ByBot), _)) if deed == "delete" => Err(refusal.innocent()),
            _ => Err(refusal),
        }
    }

    /// Notes what the documentation forbids in a text.
    fn note(&mut self, call: &Call, shown: &Shown) {
        for breach in &shown.breaches {
            self.complain(format!(
                "{}: {breach} in {:?}",
                call.method, call.parameters
            ));
        }
    }
}

impl Message {
    fn show(&mut self, call: &Call, shown: Shown) {
        let name = if self.file.is_some() {
            "caption"
        } else {
            "text"
        };
        let written = (&call.parameters[name], &call.parameters["parse_mode"]);
        self.show_as(call, written, shown);
    }

    fn show_as(&mut self, call: &Call, (text, mode): (&Value, &Value), shown: Shown) {
        text.as_str().unwrap_or_default().clone_into(&mut self.html);
        self.parse_mode = mode.as_str().map(str::to_owned);
        self.versions.push(Version {
            call: call.number,
            text: shown.text.clone(),
        });
        self.text = shown.text;
        self.entities = shown.entities;
    }

    /// Whether a person would see no difference.
    fn looks_like(&self, other: &Self) -> bool {
        self.markup == other.markup
            && self.entities == other.entities
            && self.rich == other.rich
            && self.as_html() == other.as_html()
    }

    fn as_html(&self) -> String {
        match self.parse_mode {
            Some(_) => self.html.trim().to_owned(),
            None => {
                let text = self.html.trim().replace('&', "&amp;");
                text.replace('<', "&lt;").replace('>', "&gt;")
            }
        }
    }
}

/// The bot, as `getMe` shows it.
fn me() -> Value {
    let mut me = store::bot();
    me["can_join_groups"] = json!(true);
    me["can_read_all_group_messages"] = json!(true);
    me["supports_inline_queries"] = json!(false);
    me
}

/// Whether these bytes begin like an image.
fn is_picture(bytes: &[u8]) -> bool {
    let beginnings: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF"];
    beginnings
        .iter()
        .any(|beginning| bytes.starts_with(beginning))
}
