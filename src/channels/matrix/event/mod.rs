//! What a message means. Pure; the intake decides who has access.

#[cfg(test)]
mod tests;
mod text;

use super::NAME;
use super::address::{address, is_id, local_part, media};
use super::sync::Event;
use crate::base::json::Members;
use crate::base::language::Language;
use crate::base::limits::channels::QUOTE_CHARS;
use crate::base::message::{Address, Envelope, Media, RemoteFile, Sender, UNKNOWN_MESSAGE};
use crate::channels::kit::names;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::channels::GroupPolicy;
use crate::text::ellipsize_chars;

/// Reads the messages of one room for the account that `me` is.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The account's id.
    pub me: &'a str,
    /// The name that it shows; may be empty.
    pub my_name: &'a str,
    /// The room's id.
    pub room: &'a str,
    /// Whether more than one other person reads there.
    pub is_group: bool,
    /// Which messages in groups are for us.
    pub policy: GroupPolicy,
    /// The names that people show in the room; empty for those who show none.
    pub name_of: &'a dyn Fn(&str) -> String,
    /// Whether texts of a person, by their id, are awaited in a chat.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
}

/// How an event is related to another one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Relation {
    /// The message that it is a new version of.
    replaces: Option<String>,
    /// The first message of the thread that it is in.
    thread: Option<String>,
    /// The message that it replies to.
    replies_to: Option<String>,
    /// Whether that is named only for clients without threads.
    is_fallback: bool,
}

impl Relation {
    fn of(event: &Event<'_>) -> Self {
        let relation = event.content.members("m.relates_to");
        let id = |members: &Members<'_>| members.text("event_id").filter(|id| is_id('$', id));
        let kind = relation.text_or_empty("rel_type");
        // In a thread, clients without threads are given the last message as the one that is replied to.
        let is_fallback = kind == "m.thread" && relation.is_true("is_falling_back");
        Self {
            replaces: id(&relation).filter(|_| kind == "m.replace"),
            thread: id(&relation).filter(|_| kind == "m.thread"),
            replies_to: id(&relation.members("m.in_reply_to")).filter(|_| !is_fallback),
            is_fallback,
        }
    }

    /// The message that an event answers, by its id where that is known; empty for none.
    fn answered(&self, event: &Event<'_>) -> String {
        let says_so = || {
            let mut members = event.content.iter();
            members.any(|(name, value)| relayed::is_answer_mark(name, &value))
        };
        match &self.replies_to {
            Some(id) => id.clone(),
            None if !self.is_fallback && says_so() => UNKNOWN_MESSAGE.to_owned(),
            None => String::new(),
        }
    }
}

/// The message that has to be known to understand this one: that which it replies to or replaces.
pub fn needed(event: &Event<'_>) -> Option<String> {
    let relation = Relation::of(event);
    relation.replaces.or(relation.replies_to)
}

impl Reader<'_> {
    /// What an event means; `needed` is what [`needed`] names, where it is known. `None` when it is not for us.
    pub fn read(&self, event: &Event<'_>, needed: Option<&Event<'_>>) -> Option<Incoming> {
        let is_message = ["m.room.message", "m.sticker"].contains(&event.kind.as_str());
        if event.sender == self.me || event.id.is_empty() || !is_message {
            return None;
        }
        let relation = Relation::of(event);
        match &relation.replaces {
            Some(replaced) => self.edited(event, needed.filter(|event| event.id == *replaced)?),
            None => {
                let replied = relation.replies_to.as_deref();
                let replied = needed.filter(|event| Some(event.id.as_str()) == replied);
                self.message(event, &relation, replied)
            }
        }
    }

    /// The sender of an event.
    pub fn sender(&self, user: &str) -> Sender {
        Sender {
            id: user.to_owned(),
            name: self.name(user),
            language: Language::default(),
            thread_of: None,
        }
    }

    fn message(
        &self,
        event: &Event<'_>,
        relation: &Relation,
        replied: Option<&Event<'_>>,
    ) -> Option<Incoming> {
        let place = address(self.room, relation.thread.as_deref());
        let files = remote_file(event);
        let body = event.content.text_or_empty("body");
        let is_relayed = is_relayed(event);
        let is_awaited = files.is_none() && !is_relayed && (self.awaits)(&place, &event.sender);
        if self.is_group && !self.is_for_us(event, replied, is_awaited) {
            return None;
        }
        let text = match (self.text(event, &event.content), is_relayed) {
            (text, true) if !text.is_empty() => relayed::describe(&text),
            (text, _) => text,
        };
        if text.is_empty() && files.is_none() {
            return None;
        }
        let sender = Sender {
            language: Language::of_text(&body),
            ..self.sender(&event.sender)
        };
        Some(Incoming::Message {
            envelope: Envelope {
                id: format!("{NAME}:{}", event.id),
                is_group: self.is_group,
                is_relayed,
                quote: replied.map_or_else(String::new, |replied| self.quote(replied)),
                reference: event.id.clone(),
                replies_to: relation.answered(event),
                remote_files: files.into_iter().collect(),
                sent_at: event.sent_at,
                ..Envelope::written(&place, sender, &text)
            },
            // The id is the name by which others write to them.
            username: String::new(),
        })
    }

    /// An edit counts only when it is of the one who wrote the message: a homeserver takes those of others too.
    fn edited(&self, event: &Event<'_>, original: &Event<'_>) -> Option<Incoming> {
        let text = self.text(event, &event.content.members("m.new_content"));
        // With what others said in it, it is no longer only what its author typed.
        let is_relayed = is_relayed(event) || is_relayed(original);
        let is_theirs = original.sender == event.sender && !text.is_empty() && !is_relayed;
        let thread = Relation::of(original).thread;
        is_theirs.then(|| Incoming::Edited {
            session: address(self.room, thread.as_deref()).session(),
            reference: original.id.clone(),
            text,
        })
    }

    /// Whether a message in a group is for us.
    fn is_for_us(&self, event: &Event<'_>, replied: Option<&Event<'_>>, is_awaited: bool) -> bool {
        match self.policy {
            GroupPolicy::Off => false,
            GroupPolicy::Open => true,
            GroupPolicy::Mention => {
                is_awaited
                    || self.mentions_us(&event.content)
                    || replied.is_some_and(|replied| replied.sender == self.me)
            }
        }
    }

    fn mentions_us(&self, content: &Members<'_>) -> bool {
        let body = content.text_or_empty("body");
        let body = text::without_fallback(&body);
        if self.without_us(&text::names_for_links(body)).is_some() {
            return true;
        }
        if content.raw("m.mentions").is_some() {
            let mentioned = content.members("m.mentions").texts("user_ids");
            return mentioned.is_some_and(|users| users.iter().any(|user| user == self.me));
        }
        // What older clients send.
        let html = content.text_or_empty("formatted_body");
        body.contains(self.me) || text::links_to(&html, self.me)
    }

    /// What a message says, without what addresses us.
    fn text(&self, event: &Event<'_>, content: &Members<'_>) -> String {
        let body = content.text_or_empty("body");
        if event.kind == "m.sticker" {
            return describe("a sticker", &body);
        }
        match content.text_or_empty("msgtype").as_str() {
            "m.text" => {
                let body = text::names_for_links(text::without_fallback(&body));
                let rest = self.without_us(&body).filter(|rest| !rest.is_empty());
                // A message may be nothing but our name.
                rest.unwrap_or(&body).trim().to_owned()
            }
            "m.emote" => match body.trim() {
                "" => String::new(),
                body => format!("* {} {body}", self.name(&event.sender)),
            },
            "m.location" => {
                let place = content.text_or_empty("geo_uri");
                describe("a location", &format!("{place} {body}"))
            }
            "m.image" | "m.file" | "m.audio" | "m.video" => {
                let name = content.text("filename");
                let caption = name.filter(|name| *name != body).map(|_| body.trim());
                caption.unwrap_or_default().to_owned()
            }
            _ => String::new(),
        }
    }

    /// What follows our name at the beginning of a text; `None` when it does not begin with that.
    fn without_us<'b>(&self, body: &'b str) -> Option<&'b str> {
        let body = body.trim_start();
        let names = [self.me, self.my_name, local_part(self.me)];
        names
            .iter()
            .filter(|name| !name.is_empty())
            .find_map(|name| {
                let rest = text::strip_name(body, name)
                    .or_else(|| text::strip_name(body.strip_prefix('@')?, name))?;
                let is_end = rest.is_empty() || rest.starts_with([':', ',', ' ', '\n']);
                is_end.then(|| rest.trim_start_matches([':', ',', ' ', '\n']))
            })
    }

    /// A message that is replied to, as quoted lines; empty when it says nothing.
    fn quote(&self, replied: &Event<'_>) -> String {
        let who = match replied.sender == self.me {
            // Names contain no brackets.
            true => "[you]".to_owned(),
            false => self.name(&replied.sender),
        };
        let body = replied.content.text_or_empty("body");
        let what = match text::names_for_links(text::without_fallback(&body)).trim() {
            _ if remote_file(replied).is_some() => "[a file]".to_owned(),
            "" => return String::new(),
            body => ellipsize_chars(body, QUOTE_CHARS).into_owned(),
        };
        format!("> {who}: {}", what.replace(names::is_newline, "\n> "))
    }

    /// The name of a person that others see, on one line.
    fn name(&self, user: &str) -> String {
        match names::clean_name(&(self.name_of)(user)) {
            name if name.is_empty() => names::clean_name(local_part(user)),
            name => name,
        }
    }
}

/// Whether a message, or its new version, is marked as passed on.
fn is_relayed(event: &Event<'_>) -> bool {
    let mut members = event.content.iter();
    members.any(|(name, value)| relayed::is_mark(name, &value))
}

/// Content that is neither text nor a file, in brackets.
fn describe(what: &str, name: &str) -> String {
    format!("[{what}: {}]", names::clean_name(name.trim()))
}

/// The file of a message. Those of encrypted messages have no `url`.
fn remote_file(event: &Event<'_>) -> Option<RemoteFile> {
    let content = &event.content;
    let is_voice = content.raw("org.matrix.msc3245.voice").is_some();
    let (media_kind, usual) = match content.text_or_empty("msgtype").as_str() {
        "m.image" => (Media::Photo, "image"),
        "m.audio" if is_voice => (Media::Voice, "voice.ogg"),
        "m.audio" => (Media::Audio, "audio"),
        "m.video" => (Media::Video, "video"),
        "m.file" => (Media::Document, "file"),
        _ => return None,
    };
    let id = content.text("url").filter(|uri| media(uri).is_some())?;
    let names = [content.text("filename"), content.text("body")];
    let name = names.into_iter().flatten().find(|name| !name.is_empty());
    Some(RemoteFile {
        media: media_kind,
        id,
        size: content.members("info").value("size").as_u64(),
        name: name.unwrap_or_else(|| usual.to_owned()),
    })
}
