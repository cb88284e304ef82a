//! The API: what each route does, and refuses.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::card::{self, REACTIONS};
use super::fault::Refusal;
use super::server::{Call, Outcome, State};
use super::store::{APP_ID, BOT, BOT_NAME, Chat, File, Message};
use super::{APP_SECRET, store};

/// Messages to one chat, and changes of one message, within a second.
const A_SECOND: usize = 5;

type Done = Result<Outcome, Refusal>;

fn ok(data: &Value) -> Done {
    Ok(Outcome::Json(
        json!({"code": 0, "msg": "success", "data": data}),
    ))
}

impl State {
    /// Carries out a call.
    pub(super) fn act(&mut self, call: &Call) -> Done {
        match call.route {
            "getToken" => self.get_token(call),
            "getEndpoint" => {
                let given = (&call.parameters["AppID"], &call.parameters["AppSecret"]);
                match given.0 == APP_ID && given.1 == APP_SECRET {
                    true => Ok(Outcome::Json(self.new_endpoint())),
                    false => Err(Refusal::new(
                        1_000_040_345,
                        "app_id or app_secret is invalid",
                    )),
                }
            }
            "getMe" => Ok(Outcome::Json(json!({
                "code": 0, "msg": "ok",
                "bot": {
                    "activate_status": 2, "app_name": BOT_NAME, "avatar_url": "",
                    "ip_white_list": [], "open_id": BOT,
                },
            }))),
            "getUser" => self.get_user(call),
            "createMessage" => self.create(call),
            "reply" => self.reply(call),
            "editMessage" => self.edit(call),
            "deleteMessage" => self.delete(call),
            "getMessage" => self.get_message(call),
            "react" => self.react(call),
            "download" => self.download(call),
            "uploadImage" => self.upload(call, "image", "img_v3"),
            "uploadFile" => self.upload(call, "file", "file_v3"),
            _ => Err(Refusal::new(99_992_402, "not for this test")),
        }
    }

    fn get_token(&mut self, call: &Call) -> Done {
        let given = (&call.parameters["app_id"], &call.parameters["app_secret"]);
        if given.0 != APP_ID || given.1 != APP_SECRET {
            return Err(Refusal::new(10_014, "app secret invalid"));
        }
        if self.token.is_empty() {
            self.tokens += 1;
            self.token = format!("t-{:032x}", self.tokens);
        }
        Ok(Outcome::Json(json!({
            "code": 0, "msg": "ok", "tenant_access_token": self.token, "expire": 7200,
        })))
    }

    fn get_user(&mut self, call: &Call) -> Done {
        if self.hides_names {
            let words = "Access denied. One of the following scopes is required: [contact:user.base:readonly]";
            return Err(Refusal::new(99_991_672, words).innocent());
        }
        let id = call.argument(0);
        match self.store.people.get(id) {
            Some(name) => ok(&json!({"user": {"open_id": id, "name": name}})),
            None => Err(Refusal::new(41_012, "user id invalid error")),
        }
    }

    fn create(&mut self, call: &Call) -> Done {
        let target = call.parameters["receive_id"].as_str().unwrap_or_default();
        let chat = match call.asked("receive_id_type") {
            "open_id" => self.store.private(target),
            "chat_id" => Some(Chat(target.to_owned())),
            _ => None,
        };
        let chat = chat.filter(|chat| self.store.rooms.contains_key(chat));
        let chat = chat.ok_or_else(|| {
            Refusal::new(
                230_001,
                "Your request contains an invalid request parameter, ext=invalid receive_id",
            )
        })?;
        self.send(call, &chat, (None, None))
    }

    fn reply(&mut self, call: &Call) -> Done {
        let target = self.readable(call.argument(0))?.clone();
        let is_in_thread = call.parameters["reply_in_thread"] == true;
        let thread = match (&target.thread, is_in_thread) {
            (Some(thread), _) => Some(thread.clone()),
            (None, true) => Some(target.id.clone()),
            (None, false) => None,
        };
        let chat = target.chat.clone();
        self.send(call, &chat, (Some(target.id), thread))
    }

    fn send(
        &mut self,
        call: &Call,
        chat: &Chat,
        (parent, thread): (Option<String>, Option<String>),
    ) -> Done {
        let uuid = call.parameters["uuid"].as_str().unwrap_or_default();
        if uuid.len() > 50 {
            return Err(Refusal::new(230_001, "uuid is too long"));
        }
        if let Some(id) = self.store.sent.get(uuid).cloned() {
            return ok(&json!({"message_id": id, "chat_id": chat.0}));
        }
        let kind = call.parameters["msg_type"].as_str().unwrap_or_default();
        let content = &call.parameters["content"];
        let seen = card::check(kind, content, call.bytes)?;
        let content = content.as_str().unwrap_or_default();
        self.check_file(kind, content)?;
        let messages = self.store.of_bot(chat).map(|message| message.at);
        self.count(messages.collect())?;
        let id = self
            .store
            .add(chat, (kind, content), seen, (parent, thread, None));
        if !uuid.is_empty() {
            self.store.sent.insert(uuid.to_owned(), id.clone());
        }
        ok(&json!({
            "message_id": id, "msg_type": kind, "chat_id": chat.0, "create_time": store::now_ms(),
            "update_time": store::now_ms(), "deleted": false, "updated": false,
            "sender": {"id": APP_ID, "id_type": "app_id", "sender_type": "app", "tenant_key": "t1"},
            "body": {"content": content},
        }))
    }

    /// A file goes only as the kind of message that its type is for.
    fn check_file(&self, kind: &str, content: &str) -> Result<(), Refusal> {
        let content: Value = serde_json::from_str(content).unwrap_or_default();
        let (name, fits): (&str, fn(&str) -> bool) = match kind {
            "image" => ("image_key", |kind| kind == "image"),
            "file" => ("file_key", |kind| kind != "image" && kind != "opus"),
            "audio" => ("file_key", |kind| kind == "opus"),
            "media" => ("file_key", |kind| kind == "mp4"),
            _ => return Ok(()),
        };
        let key = content[name].as_str().unwrap_or_default();
        let file = self.store.files.get(key);
        let file = file.ok_or_else(|| Refusal::new(230_001, "invalid file key"))?;
        match fits(&file.kind) {
            true => Ok(()),
            false => Err(Refusal::new(
                230_055,
                "The type of file upload does not match the type of message being sent",
            )),
        }
    }

    /// Refuses more than so many within a second.
    fn count(&mut self, times: Vec<Instant>) -> Result<(), Refusal> {
        let recent = times
            .iter()
            .filter(|at| at.elapsed() < Duration::from_secs(1));
        if recent.count() < A_SECOND {
            return Ok(());
        }
        self.limited += 1;
        Err(Refusal::new(230_020, "trigger message frequency limit"))
    }

    /// A message that is there.
    fn readable(&self, id: &str) -> Result<&Message, Refusal> {
        let message = self.store.message(id);
        let message = message.ok_or_else(|| {
            Refusal::new(
                230_001,
                "Your request contains an invalid request parameter, ext=invalid message_id",
            )
        })?;
        match message.is_withdrawn {
            true => Err(Refusal::new(230_011, "The message was withdrawn.").innocent()),
            false => Ok(message),
        }
    }

    /// A message of the bot's.
    fn own(&self, id: &str) -> Result<&Message, Refusal> {
        let message = self.readable(id)?;
        match message.from {
            None => Ok(message),
            Some(_) => {
                Err(Refusal::new(230_012, "Bot is NOT the sender of the message.").innocent())
            }
        }
    }

    fn edit(&mut self, call: &Call) -> Done {
        let message = self.own(call.argument(0))?;
        if message.kind != "interactive" {
            return Err(Refusal::new(
                230_054,
                "This operation is not supported for this message type.",
            ));
        }
        let id = message.id.clone();
        let content = &call.parameters["content"];
        let seen = card::check("interactive", content, call.bytes)?;
        let is_same = |other: &&Call| {
            let is_done = other.done.is_some() && other.number < call.number;
            is_done && other.route == "editMessage" && other.path == call.path
        };
        let edits = self.calls.iter().filter(is_same).map(|call| call.at);
        self.count(edits.collect())?;
        let content = content.as_str().unwrap_or_default().to_owned();
        if let Some(message) = self.store.message_mut(&id) {
            message.content = content;
            message.versions.push(seen.text.clone());
            message.text = seen.text;
            message.buttons = seen.buttons;
        }
        ok(&json!({}))
    }

    fn delete(&mut self, call: &Call) -> Done {
        let id = call.argument(0).to_owned();
        let message = self.readable(&id)?;
        if message.from.is_some() {
            // Only the owner of a group may do that.
            return Err(Refusal::new(230_026, "No permission to recall this message.").innocent());
        }
        if let Some(message) = self.store.message_mut(&id) {
            message.is_withdrawn = true;
        }
        ok(&json!({}))
    }

    fn get_message(&mut self, call: &Call) -> Done {
        let wants_card = call.asked("card_msg_content_type") == "user_card_content";
        let message = self.readable(call.argument(0))?;
        let item = self.store.json(message, wants_card);
        ok(&json!({"items": [item]}))
    }

    fn react(&mut self, call: &Call) -> Done {
        let id = self.readable(call.argument(0))?.id.clone();
        let emoji = call.parameters["reaction_type"]["emoji_type"].as_str();
        let emoji = emoji.filter(|emoji| REACTIONS.contains(emoji));
        let emoji = emoji.ok_or_else(|| Refusal::new(231_001, "reaction type is invalid."))?;
        if let Some(message) = self.store.message_mut(&id) {
            message.reactions.push(emoji.to_owned());
        }
        ok(&json!({
            "reaction_id": "r1", "reaction_type": {"emoji_type": emoji},
            "operator": {"operator_id": APP_ID, "operator_type": "app"}, "action_time": store::now_ms(),
        }))
    }

    fn download(&mut self, call: &Call) -> Done {
        let message = self.readable(call.argument(0))?;
        let key = call.argument(1);
        let is_its_own = message.content.contains(key);
        let file = self.store.files.get(key).filter(|_| is_its_own);
        let file = file.ok_or_else(|| Refusal::new(234_003, "File not in msg."))?;
        let kind = if file.kind == "image" {
            "image"
        } else {
            "file"
        };
        match call.asked("type") == kind {
            true => Ok(Outcome::File(file.bytes.clone())),
            false => Err(Refusal::new(234_001, "Invalid request param.")),
        }
    }

    fn upload(&mut self, call: &Call, part: &str, prefix: &str) -> Done {
        let file = call.parts.iter().find(|found| found.name == part);
        let file = file.ok_or_else(|| Refusal::new(234_001, "Invalid request param."))?;
        let (kind, most) = match part {
            "image" if call.parameters["image_type"] == "message" => ("image".to_owned(), 10),
            "image" => return Err(Refusal::new(234_001, "Invalid request param.")),
            _ => {
                let kind = call.parameters["file_type"].as_str().unwrap_or_default();
                let known = ["opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"];
                if !known.contains(&kind) || call.parameters["file_name"].as_str().is_none() {
                    return Err(Refusal::new(234_001, "Invalid request param."));
                }
                (kind.to_owned(), 30)
            }
        };
        if file.bytes.is_empty() {
            return Err(Refusal::new(234_010, "File's size can't be 0."));
        }
        if file.bytes.len() > most << 20 {
            return Err(Refusal::new(234_006, "The file size exceed the max value."));
        }
        let is_picture = [&b"\x89PNG"[..], b"\xff\xd8", b"GIF8"]
            .iter()
            .any(|magic| file.bytes.starts_with(magic));
        if kind == "image" && !is_picture {
            return Err(Refusal::new(234_011, "Can't recognize image format.").innocent());
        }
        let name = match call.parameters["file_name"].as_str() {
            Some(name) => name.to_owned(),
            None => file.file_name.clone().unwrap_or_default(),
        };
        let bytes = file.bytes.clone();
        let key = self.store.new_id(prefix);
        self.store
            .files
            .insert(key.clone(), File { name, kind, bytes });
        let member = if part == "image" {
            "image_key"
        } else {
            "file_key"
        };
        ok(&json!({ member: key }))
    }
}
