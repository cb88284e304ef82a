//! What the routes do. <https://spec.matrix.org/latest/client-server-api/>

use serde_json::{Value, json};

use crate::harness::wire::{self, RawRequest};

use super::fault::{Refusal, not_in_room};
use super::html::check_html;
use super::request::Call;
use super::server::State;
use super::store::{File, SERVER};
use super::{BOT_ID, BOT_NAME, PASSWORD, TOKEN};

/// Maximum bytes of an event.
const LARGEST: usize = 65_536;
/// Maximum bytes of a file.
const LARGEST_FILE: usize = 10 << 20;

/// The body of an answer.
pub(super) type Outcome = Result<Value, Refusal>;

impl State {
    /// Carries out a call.
    pub(super) fn act(&mut self, call: &Call, raw: &RawRequest) -> Outcome {
        match call.route {
            "versions" => Ok(json!({"versions": ["v1.1", "v1.11"], "unstable_features": {}})),
            "login" => login(call),
            "whoami" => {
                Ok(json!({"user_id": BOT_ID, "device_id": "FAKEDEVICE", "is_guest": false}))
            }
            "name" | "profile" => self.profile(call),
            "messages" => self.page(call),
            "event" => self.event(call),
            "members" => self.members(call),
            "tombstone" => self.tombstone(call),
            "join" => self.join(call),
            "leave" => self.leave(call),
            "send" => self.send(call),
            "redact" => self.redact(call),
            "typing" => self.set_typing(call),
            "receipt" => self.receipt(call),
            "create" => self.create(call),
            "getDirect" => match &self.store.direct {
                Value::Null => Err(Refusal::not_found("Account data not found").innocent()),
                direct => Ok(direct.clone()),
            },
            "setDirect" => {
                self.store.direct = call.body.clone();
                Ok(json!({}))
            }
            "upload" => self.upload(call, raw),
            other => unreachable!("{other}"),
        }
    }

    fn profile(&self, call: &Call) -> Outcome {
        let unknown = || Refusal::not_found("Profile was not found");
        let name = match call.argument(0) {
            BOT_ID => BOT_NAME,
            user => self.store.people.get(user).ok_or_else(unknown)?,
        };
        Ok(json!({"displayname": name}))
    }

    fn event(&self, call: &Call) -> Outcome {
        let room = self.store.joined(call.argument(0))?;
        let event = room.event(call.argument(1));
        let event = event.ok_or_else(|| Refusal::not_found("Event not found.").innocent())?;
        Ok(event.json(call.argument(0)))
    }

    fn members(&self, call: &Call) -> Outcome {
        let room = self.store.joined(call.argument(0))?;
        let mut joined = json!({});
        for user in room.joined() {
            let name = self.store.people.get(user).map_or(BOT_NAME, String::as_str);
            joined[user] = json!({"display_name": name, "avatar_url": null});
        }
        Ok(json!({"joined": joined}))
    }

    fn tombstone(&self, call: &Call) -> Outcome {
        let room = self.store.joined(call.argument(0))?;
        let event = room.state("m.room.tombstone", "", u64::MAX);
        let unknown = || Refusal::not_found("Event not found.").innocent();
        event.map(|event| event.content.clone()).ok_or_else(unknown)
    }

    fn join(&mut self, call: &Call) -> Outcome {
        let id = call.argument(0).to_owned();
        let room = self.store.rooms.get(&id);
        let room = room.ok_or_else(|| Refusal::not_found("No known servers"))?;
        let is_public = room
            .events
            .iter()
            .any(|event| event.content["join_rule"] == "public");
        match room.membership(BOT_ID, u64::MAX) {
            "join" => {}
            "invite" => self.store.set_member(&id, BOT_ID, BOT_ID, "join"),
            _ if is_public => self.store.set_member(&id, BOT_ID, BOT_ID, "join"),
            _ => {
                let words = "You are not invited to this room.";
                return Err(Refusal::new(403, "M_FORBIDDEN", words));
            }
        }
        Ok(json!({"room_id": id}))
    }

    fn leave(&mut self, call: &Call) -> Outcome {
        let id = call.argument(0).to_owned();
        let known = self.store.rooms.get(&id);
        let is_in = known
            .is_some_and(|room| ["join", "invite"].contains(&room.membership(BOT_ID, u64::MAX)));
        if !is_in {
            return Err(not_in_room(&id));
        }
        let content = json!({"membership": "leave", "reason": call.body["reason"]});
        self.store
            .add(&id, BOT_ID, ("m.room.member", Some(BOT_ID)), content);
        Ok(json!({}))
    }

    fn send(&mut self, call: &Call) -> Outcome {
        let (id, kind) = (call.argument(0).to_owned(), call.argument(1).to_owned());
        let transaction = call.argument(2).to_owned();
        let room = self.store.joined(&id)?;
        let mut ours = room.events.iter().filter(|event| event.sender == BOT_ID);
        if let Some(event) = ours.find(|event| event.transaction.as_deref() == Some(&transaction)) {
            return Ok(json!({"event_id": event.id}));
        }
        if room.is_silenced {
            let words = "You don't have permission to post that to the room. user_level (0) < send_level (50)";
            return Err(Refusal::new(403, "M_FORBIDDEN", words).innocent());
        }
        // The rest of an event is what the server adds.
        if call.body.to_string().len() + 1_000 > LARGEST {
            return Err(Refusal::new(413, "M_TOO_LARGE", "event too large"));
        }
        match kind.as_str() {
            "m.room.message" => self.check_message(&id, &call.body)?,
            "m.reaction" => self.check_reaction(&id, &call.body)?,
            _ => {
                return Err(Refusal::bad(format!(
                    "a kind of event that bots do not send: {kind}"
                )));
            }
        }
        let event = self
            .store
            .add(&id, BOT_ID, (&kind, None), call.body.clone());
        let room = self.store.room(&id);
        if let Some(sent) = room.events.last_mut() {
            sent.transaction = Some(transaction);
        }
        Ok(json!({"event_id": event}))
    }

    /// Refuses what clients could not show. The real server takes it.
    fn check_message(&self, id: &str, content: &Value) -> Result<(), Refusal> {
        let bad = |words: &str| Refusal::bad(format!("{words}: {content}"));
        check_body(content)?;
        let relation = &content["m.relates_to"];
        let room = self.store.joined(id)?;
        let find = |id: &Value| room.event(id.as_str().unwrap_or_default());
        match relation["rel_type"].as_str() {
            Some("m.replace") => {
                let original =
                    find(&relation["event_id"]).ok_or_else(|| bad("unknown original"))?;
                if original.sender != BOT_ID || original.kind != "m.room.message" {
                    return Err(bad("an edit of what someone else wrote"));
                }
                if !original.content["m.relates_to"]["rel_type"].is_null()
                    && original.content["m.relates_to"]["rel_type"] != "m.thread"
                {
                    return Err(bad("an edit of an edit"));
                }
                if !content["m.new_content"]["m.relates_to"].is_null() {
                    return Err(bad("a relation in the new content"));
                }
                check_body(&content["m.new_content"])?;
            }
            Some("m.thread") => {
                let root = find(&relation["event_id"]).ok_or_else(|| bad("unknown thread"))?;
                if !root.content["m.relates_to"]["rel_type"].is_null() {
                    return Err(bad("a thread in a thread"));
                }
                find(&relation["m.in_reply_to"]["event_id"]).ok_or_else(|| bad("no fallback"))?;
            }
            Some(_) => return Err(bad("unknown relation")),
            None if relation.is_null() => {}
            None => {
                find(&relation["m.in_reply_to"]["event_id"]).ok_or_else(|| bad("unknown reply"))?;
            }
        }
        let url = &content["url"];
        if !url.is_null() && self.store.file(url.as_str().unwrap_or_default()).is_none() {
            return Err(bad("unknown file"));
        }
        Ok(())
    }

    fn check_reaction(&self, id: &str, content: &Value) -> Result<(), Refusal> {
        let bad = |words: &str| Refusal::bad(format!("{words}: {content}"));
        let relation = &content["m.relates_to"];
        let room = self.store.joined(id)?;
        let target = relation["event_id"].as_str().unwrap_or_default();
        room.event(target).ok_or_else(|| bad("unknown event"))?;
        if relation["rel_type"] != "m.annotation"
            || relation["key"].as_str().is_none_or(str::is_empty)
        {
            return Err(bad("no annotation"));
        }
        let is_again = room.events.iter().any(|event| {
            event.kind == "m.reaction" && event.sender == BOT_ID && event.content == *content
        });
        match is_again {
            true => {
                let words = "Can't send same reaction twice";
                Err(Refusal::new(400, "M_DUPLICATE_ANNOTATION", words).innocent())
            }
            false => Ok(()),
        }
    }

    fn redact(&mut self, call: &Call) -> Outcome {
        let (id, target) = (call.argument(0), call.argument(1));
        let event = self.store.joined(id)?.event(target);
        let event = event.ok_or_else(|| Refusal::not_found("Event not found."))?;
        if event.sender != BOT_ID {
            let words = "You don't have permission to redact events";
            return Err(Refusal::new(403, "M_FORBIDDEN", words).innocent());
        }
        self.redact_event(id, target);
        Ok(json!({"event_id": self.store.new_id('$')}))
    }

    /// Deletes what an event says, and the reactions and edits of it are nothing any more.
    pub(super) fn redact_event(&mut self, room: &str, id: &str) {
        let room = self.store.room(room);
        for event in room.events.iter_mut().filter(|event| event.id == id) {
            event.content = json!({});
            event.is_redacted = true;
        }
    }

    fn set_typing(&mut self, call: &Call) -> Outcome {
        if call.argument(1) != BOT_ID {
            return Err(Refusal::new(
                403,
                "M_FORBIDDEN",
                "Cannot set another user's typing state",
            ));
        }
        let id = call.argument(0).to_owned();
        self.store.joined(&id)?;
        let is_typing = call.body["typing"].as_bool();
        let is_typing = is_typing.ok_or_else(|| Refusal::bad("typing"))?;
        if is_typing && call.body["timeout"].as_u64().is_none() {
            return Err(Refusal::bad("timeout"));
        }
        self.store.room(&id).is_typing = is_typing;
        Ok(json!({}))
    }

    fn receipt(&mut self, call: &Call) -> Outcome {
        let (id, event) = (call.argument(0).to_owned(), call.argument(1).to_owned());
        let known = self.store.joined(&id)?.event(&event);
        known.ok_or_else(|| Refusal::not_found("Event not found."))?;
        self.store.room(&id).read = Some(event);
        Ok(json!({}))
    }

    fn create(&mut self, call: &Call) -> Outcome {
        let invited = call.body["invite"].as_array().cloned().unwrap_or_default();
        let name = call.body["name"].as_str().unwrap_or_default();
        let users: Vec<&str> = invited.iter().filter_map(Value::as_str).collect();
        if let Some(unknown) = users
            .iter()
            .find(|user| !self.store.people.contains_key(**user))
        {
            return Err(Refusal::bad(format!("unknown user {unknown}")));
        }
        let room = self.store.new_room(BOT_ID, name);
        for user in users {
            let content = json!({"membership": "invite", "is_direct": call.body["is_direct"]});
            self.store
                .add(&room, BOT_ID, ("m.room.member", Some(user)), content);
            // The people of these stories accept at once.
            self.store.set_member(&room, user, user, "join");
        }
        Ok(json!({"room_id": room}))
    }

    fn upload(&mut self, call: &Call, raw: &RawRequest) -> Outcome {
        let mime = wire::header(&raw.headers, "content-type");
        let mime = mime.ok_or_else(|| Refusal::bad("no content type"))?;
        if raw.body.len() > LARGEST_FILE {
            return Err(
                Refusal::new(413, "M_TOO_LARGE", "Upload request body is too large").innocent(),
            );
        }
        let file = File {
            name: call.asked("filename").unwrap_or_default(),
            mime: mime.to_owned(),
            bytes: raw.body.clone().into(),
        };
        Ok(json!({"content_uri": self.store.keep(file)}))
    }
}

fn login(call: &Call) -> Outcome {
    let user = call.body["identifier"]["user"].as_str().unwrap_or_default();
    let is_known = [BOT_ID, "crab"].contains(&user) && call.body["password"] == PASSWORD;
    if call.body["type"] != "m.login.password" || !is_known {
        let words = "Invalid username or password";
        return Err(Refusal::new(403, "M_FORBIDDEN", words));
    }
    Ok(json!({
        "user_id": BOT_ID, "access_token": TOKEN, "device_id": "FAKEDEVICE", "home_server": SERVER,
    }))
}

/// The part of a message that says something.
fn check_body(content: &Value) -> Result<(), Refusal> {
    let bad = |words: &str| Refusal::bad(format!("{words}: {content}"));
    let kinds = [
        "m.text", "m.notice", "m.image", "m.file", "m.audio", "m.video",
    ];
    let kind = content["msgtype"].as_str().unwrap_or_default();
    if !kinds.contains(&kind) {
        return Err(bad("unknown msgtype"));
    }
    if content["body"]
        .as_str()
        .is_none_or(|body| body.trim().is_empty())
    {
        return Err(bad("no body"));
    }
    if !content["m.mentions"].is_object() {
        return Err(bad("no m.mentions: old clients' rules would ring"));
    }
    if kind.len() > "m.text".len() && kind != "m.notice" && content["url"].as_str().is_none() {
        return Err(bad("no url"));
    }
    match (&content["format"], &content["formatted_body"]) {
        (Value::Null, Value::Null) => Ok(()),
        (format, Value::String(html)) if format == "org.matrix.custom.html" => {
            check_html(html).map_err(|why| bad(&why))
        }
        _ => Err(bad("a format without its body, or the other way round")),
    }
}
