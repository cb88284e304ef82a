//! What a message of the bridge means. Pure; the intake decides who has access.
//!
//! A person's id is their phone number without `+`, or where WhatsApp hides it the address that stands for it, which no
//! phone number is equal to. In a group the bridge does not tell who wrote: everyone there has the group's address as
//! their id. Access has to be given to such a group by `roles`, and [`super::check`] refuses to make it an owner.

use super::NAME;
use super::frame::{GROUP, Message};
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, Media, RemoteFile, Sender};
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::schema::GroupPolicy;

/// What the bridge writes for a voice message, which it does not deliver.
const VOICE: &str = "[Voice Message]";
/// How the addresses of people end, by their phone number.
const PHONE: &str = "@s.whatsapp.net";
/// How they end where WhatsApp hides it.
const HIDDEN: &str = "@lid";

/// Reads messages for a bot that is configured like this.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Which messages in groups are for it.
    pub policy: GroupPolicy,
    /// How people mention it in groups.
    pub names: &'a [String],
    /// Whether files can be fetched from the bridge.
    pub takes_files: bool,
    /// Whether texts of a person, by their id, are awaited in a chat.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
}

impl Reader<'_> {
    /// The message for the intake; `None` when it is not for us.
    pub fn read(&self, message: &Message) -> Option<Incoming> {
        if message.chat.ends_with("@broadcast") || message.chat.ends_with("@newsletter") {
            return None;
        }
        let address = Address::new(NAME, &encode(&message.chat));
        // The answer could not be sent to anything else.
        decode(&address.chat).filter(|chat| *chat == message.chat)?;
        let id = if message.is_group {
            message.chat.clone()
        } else {
            person(message)?
        };
        if message.is_group && !self.is_for_us(message, &address, &id) {
            return None;
        }
        let files = if self.takes_files {
            message.media.iter().map(|path| file(path)).collect()
        } else {
            Vec::new()
        };
        let text = match (self.text(message, files.is_empty()), message.is_forwarded) {
            (text, true) if !text.is_empty() => relayed::describe(&text),
            (text, _) => text,
        };
        if text.is_empty() && files.is_empty() {
            return None;
        }
        let name = match (message.is_group, phone(message)) {
            (true, _) => "someone in the group".to_owned(),
            (false, Some(phone)) => format!("+{phone}"),
            (false, None) => String::new(),
        };
        let sender = Sender {
            id,
            name,
            language: Language::of_text(&message.content),
            thread_of: None,
        };
        Some(Incoming::Message {
            envelope: Envelope {
                id: format!("{NAME}:{}/{}", address.chat, message.id),
                is_group: message.is_group,
                is_relayed: message.is_forwarded,
                reference: message.id.clone(),
                replies_to: message.answered.clone(),
                remote_files: files,
                sent_at: message.time,
                ..Envelope::written(&address, sender, &text)
            },
            username: String::new(),
        })
    }

    fn is_for_us(&self, message: &Message, address: &Address, id: &str) -> bool {
        match self.policy {
            GroupPolicy::Off => false,
            GroupPolicy::Open => true,
            GroupPolicy::Mention => {
                message.was_mentioned == Some(true)
                    || self.mention(&message.content).is_some()
                    || message.media.is_empty()
                        && !message.is_forwarded
                        && (self.awaits)(address, id)
            }
        }
    }

    /// The part of a text that names the bot.
    fn mention<'t>(&self, text: &'t str) -> Option<&'t str> {
        let named = self.names.iter().filter(|name| !name.trim().is_empty());
        named
            .filter_map(|name| find_word(text, name.trim()))
            .min_by_key(|found| found.as_ptr())
    }

    fn text(&self, message: &Message, has_no_file: bool) -> String {
        let content = message.content.trim();
        if content == VOICE {
            return "[a voice message, which the WhatsApp bridge does not deliver]".to_owned();
        }
        let mut text = content;
        if message.is_group
            && let Some(mention) = self.mention(content)
        {
            // A mention at either end only addresses us.
            if let Some(rest) = text.strip_prefix(mention) {
                text = rest.trim_start_matches([',', ':', ' ']);
            } else if let Some(rest) = text.strip_suffix(mention) {
                text = rest.trim_end();
            }
        }
        match (text, message.media.is_empty()) {
            ("", true) => content.to_owned(),
            ("", false) if has_no_file => "[a file, which is not fetched]".to_owned(),
            (text, _) => text.to_owned(),
        }
    }
}

/// Finds a name as a word of its own, in any case. The part of the text is returned as it is written there.
fn find_word<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.char_indices().find_map(|(at, _)| {
        let rest = &text[at..];
        let found = rest.get(..name.len())?;
        let is_before = !text[..at].ends_with(char::is_alphanumeric);
        let is_after = !rest[name.len()..].starts_with(char::is_alphanumeric);
        (is_before && is_after && found.to_lowercase() == name.to_lowercase()).then_some(found)
    })
}

/// The digits of the person's phone number, if WhatsApp tells it.
fn phone(message: &Message) -> Option<&str> {
    let all = [&message.phone, &message.chat];
    let mut digits = all
        .into_iter()
        .filter_map(|jid| Some(user(jid.strip_suffix(PHONE)?)));
    digits.find(|digits| is_number(digits))
}

/// The id of a person; `None` for an address that is neither a phone number's nor one that stands for it, or when two
/// phone numbers are told.
fn person(message: &Message) -> Option<String> {
    let number = |jid: &str, server: &str| {
        let user = user(jid.strip_suffix(server)?);
        is_number(user).then(|| user.to_owned())
    };
    let own = number(&message.chat, PHONE);
    let told = match number(&message.phone, PHONE) {
        None if message.phone.is_empty() => None,
        // The bridge names the other address, which for a phone number is the one that hides it.
        None if own.is_some() && number(&message.phone, HIDDEN).is_some() => None,
        None => return None,
        told => told,
    };
    match (own, told) {
        (Some(own), Some(told)) if own != told => None,
        (Some(phone), _) => Some(phone),
        (None, told) => {
            let hidden = number(&message.chat, HIDDEN)?;
            Some(told.unwrap_or_else(|| hidden + HIDDEN))
        }
    }
}

/// A user without the number of the device.
fn user(user: &str) -> &str {
    user.split(':').next().unwrap_or_default()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn file(path: &str) -> RemoteFile {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit('.').next().unwrap_or_default();
    RemoteFile {
        media: match ending.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" | "png" | "webp" | "gif" => Media::Photo,
            "mp4" | "3gp" | "mov" => Media::Video,
            "ogg" | "mp3" | "m4a" | "aac" | "opus" => Media::Audio,
            _ => Media::Document,
        },
        id: path.to_owned(),
        size: None,
        name: name.to_owned(),
    }
}

/// An address of WhatsApp as a chat in our addresses, which are parted at colons. A person with a phone number is
/// that number.
pub fn encode(jid: &str) -> String {
    match jid.strip_suffix(PHONE) {
        Some(number) if is_number(number) => number.to_owned(),
        _ => jid.replace('%', "%25").replace(':', "%3A"),
    }
}

/// Reads what [`encode`] wrote; `None` for what cannot be an address.
pub fn decode(chat: &str) -> Option<String> {
    if is_number(chat) {
        return Some(format!("{chat}{PHONE}"));
    }
    let jid = chat.replace("%3A", ":").replace("%25", "%");
    let (user, server) = jid.split_once('@')?;
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.:".contains(char);
    let is_jid =
        !user.is_empty() && !server.is_empty() && user.chars().chain(server.chars()).all(is_plain);
    is_jid.then_some(jid)
}

/// Whether a chat is a group's.
pub fn is_group(chat: &str) -> bool {
    chat.ends_with(GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::whatsapp::frame::Frame;
    use proptest::prelude::*;

    fn read(message: &Message, policy: GroupPolicy) -> Option<Envelope> {
        let names = ["@41790000000".to_owned(), "crab".to_owned()];
        let reader = Reader {
            policy,
            names: &names,
            takes_files: false,
            awaits: &|_, person| person == "9-9@g.us",
        };
        match reader.read(message)? {
            Incoming::Message { envelope, .. } => Some(envelope),
            _ => None,
        }
    }

    fn says(chat: &str, content: &str) -> Message {
        Message {
            id: "3EB0".to_owned(),
            chat: chat.to_owned(),
            content: content.to_owned(),
            is_group: chat.ends_with(GROUP),
            ..Message::default()
        }
    }

    #[test]
    fn a_person_is_known_by_their_phone_number_where_there_is_one() {
        for (chat, phone, id, address) in [
            ("4179@s.whatsapp.net", "", "4179", "whatsapp:4179"),
            ("77@lid", "4179@s.whatsapp.net", "4179", "whatsapp:77@lid"),
            (
                "77@lid",
                "4179:12@s.whatsapp.net",
                "4179",
                "whatsapp:77@lid",
            ),
            ("77@lid", "", "77@lid", "whatsapp:77@lid"),
            ("77:2@lid", "", "77@lid", "whatsapp:77%3A2@lid"),
            ("4179@s.whatsapp.net", "77@lid", "4179", "whatsapp:4179"),
            (
                "4179:3@s.whatsapp.net",
                "",
                "4179",
                "whatsapp:4179%3A3@s.whatsapp.net",
            ),
        ] {
            let message = Message {
                phone: phone.to_owned(),
                time: Some(1_732_390_000),
                ..says(chat, "hi")
            };
            let envelope = read(&message, GroupPolicy::Mention).unwrap();
            assert_eq!(envelope.sender().unwrap().id, id, "{chat} {phone}");
            assert_eq!(envelope.address().to_string(), address);
            assert_eq!(decode(&envelope.address().chat).unwrap(), chat);
            assert!(!envelope.is_group && envelope.text == "hi");
            assert_eq!(envelope.sent_at, Some(1_732_390_000));
        }
    }

    #[test]
    fn no_other_address_stands_for_a_phone_number() {
        for (chat, phone) in [
            ("4179@c.us", ""),
            ("4179@example", ""),
            ("4179", ""),
            ("@lid", ""),
            ("*@lid", ""),
            ("+4179@s.whatsapp.net", ""),
            ("41 79@s.whatsapp.net", ""),
            ("\u{664}\u{661}@s.whatsapp.net", ""),
            ("ana@s.whatsapp.net", ""),
            ("4188@s.whatsapp.net", "4179@s.whatsapp.net"),
            ("77@lid", "4179@lid"),
            ("77@lid", "4179"),
            ("77@lid", "4179@s.whatsapp.net@lid"),
            ("x@example", "4179@s.whatsapp.net"),
        ] {
            let message = Message {
                phone: phone.to_owned(),
                ..says(chat, "hi")
            };
            assert_eq!(read(&message, GroupPolicy::Open), None, "{chat} {phone}");
        }
    }

    #[test]
    fn a_message_that_answers_another_one_says_so() {
        for (member, is_reply) in [
            (r#""quotedMessage":{"conversation":"x"}"#, true),
            (
                r#""contextInfo":{"stanzaId":"A","quotedMessage":{}},"isReply":true"#,
                true,
            ),
            (r#""quotedMessage":null"#, false),
        ] {
            let frame = format!(
                r#"{{"type":"message","id":"3EB0","sender":"4179@s.whatsapp.net","content":"yes",{member}}}"#
            );
            let Frame::Message(message) = super::super::frame::read(&frame) else {
                panic!("{frame}");
            };
            let envelope = read(&message, GroupPolicy::Mention).unwrap();
            assert_eq!(envelope.is_reply(), is_reply, "{frame}");
        }
    }

    #[test]
    fn what_cannot_be_answered_is_ignored() {
        for chat in ["é@g.us", "9 9@g.us", "9%3A9@g.us", "@g.us", "9@9@g.us"] {
            assert_eq!(read(&says(chat, "hi"), GroupPolicy::Open), None, "{chat}");
        }
    }

    #[test]
    fn in_a_group_only_mentions_count_and_everyone_is_the_group() {
        let mention = |text: &str| read(&says("1-2@g.us", text), GroupPolicy::Mention);
        for (text, expected) in [
            ("@41790000000 /status", Some("/status")),
            ("Crab: what time is it?", Some("what time is it?")),
            ("tell me, crab", Some("tell me,")),
            ("is the crab there?", Some("is the crab there?")),
            ("crab", Some("crab")),
            ("crabby and @417900000001", None),
            ("hello", None),
        ] {
            assert_eq!(
                mention(text).map(|envelope| envelope.text).as_deref(),
                expected,
                "{text}"
            );
        }
        let envelope = mention("crab hi").unwrap();
        assert_eq!(envelope.sender().unwrap().id, "1-2@g.us");
        assert!(envelope.is_group);
        let told = Message {
            was_mentioned: Some(true),
            ..says("1-2@g.us", "hello")
        };
        assert!(read(&told, GroupPolicy::Mention).is_some());
        assert!(read(&told, GroupPolicy::Off).is_none());
        assert!(read(&says("1-2@g.us", "hello"), GroupPolicy::Open).is_some());
        assert!(read(&says("9-9@g.us", "secret"), GroupPolicy::Mention).is_some());
    }

    #[test]
    fn what_the_bridge_does_not_deliver_is_said() {
        let text =
            |message: &Message| read(message, GroupPolicy::Mention).map(|envelope| envelope.text);
        let voice = text(&says("1@lid", VOICE)).unwrap();
        assert!(voice.contains("does not deliver"), "{voice}");
        let picture = Message {
            media: vec!["/m/a.png".to_owned()],
            ..says("1@lid", "")
        };
        assert_eq!(
            text(&picture).as_deref(),
            Some("[a file, which is not fetched]")
        );
        assert_eq!(text(&says("1@lid", "  ")), None);
        assert_eq!(text(&says("status@broadcast", "x")), None);
        let reader = Reader {
            policy: GroupPolicy::Mention,
            names: &[],
            takes_files: true,
            awaits: &|_, _| false,
        };
        let Some(Incoming::Message { envelope, .. }) = reader.read(&picture) else {
            panic!("no message");
        };
        assert_eq!(
            (envelope.remote_files.len(), envelope.text.as_str()),
            (1, "")
        );
        assert_eq!(envelope.remote_files[0].media, Media::Photo);
    }

    #[test]
    fn only_addresses_are_decoded() {
        for chat in ["", "a", "@lid", "1@", "1@a/b", "1 2@lid", "1@lid@x"] {
            assert_eq!(decode(chat), None, "{chat}");
        }
        assert_eq!(decode("4179").as_deref(), Some("4179@s.whatsapp.net"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in ".{0,60}", chat in "[0-9a-z:%@.-]{0,20}") {
            let message = says(&chat, &text);
            for policy in [GroupPolicy::Open, GroupPolicy::Mention] {
                if let Some(envelope) = read(&message, policy) {
                    prop_assert_eq!(envelope.address().thread, None);
                }
            }
        }
    }
}
