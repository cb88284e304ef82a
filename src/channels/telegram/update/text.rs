//! The text of a message: whom it is for, and its context.

use std::ops::Range;

use super::{media, utf16};
use crate::channels::names;
use crate::channels::telegram::api::Me;
use crate::channels::telegram::api::types::{Entity, Message, Part, Peer};
use crate::limits::channels::QUOTE_CHARS;
use crate::text::{ellipsize_chars, one_line};

/// The text without the parts that only address the bot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The text.
    pub text: String,
    /// Whether it mentions us, or is a command that may be for us.
    pub is_for_us: bool,
    /// Whether it is a command for another bot.
    pub is_for_another: bool,
}

/// Removes our name from the text, and from a command that has it (`/status@peabot`).
pub fn read(text: &str, entities: &[Entity], me: &Me) -> Body {
    let mut said = Body::default();
    let mut names = Vec::new();
    for entity in entities {
        let Some(range) = utf16::range(text, entity.offset, entity.length) else {
            continue;
        };
        let part = &text[range.clone()];
        match entity.kind.as_str() {
            "mention" if part.strip_prefix('@').is_some_and(|name| is_name(name, me)) => {
                said.is_for_us = true;
                names.push(range);
            }
            "text_mention" if entity.user.as_ref().is_some_and(|user| user.id == me.id) => {
                said.is_for_us = true;
                names.push(range);
            }
            "bot_command" => match part.split_once('@') {
                Some((command, name)) if is_name(name, me) => {
                    said.is_for_us = true;
                    names.push(range.start + command.len()..range.end);
                }
                Some(_) => said.is_for_another |= range.start == 0,
                None => said.is_for_us |= range.start == 0,
            },
            _ => {}
        }
    }
    said.text = without(text, names);
    said
}

fn is_name(name: &str, me: &Me) -> bool {
    name.eq_ignore_ascii_case(&me.username)
}

/// The text without some parts, and without the gaps that they leave.
fn without(text: &str, mut parts: Vec<Range<usize>>) -> String {
    parts.sort_by_key(|part| part.start);
    let mut kept = String::new();
    let mut rest = text;
    for part in parts {
        let passed = text.len() - rest.len();
        // Overlapping parts: the update is malformed.
        let Some(before) = text.get(passed..part.start) else {
            continue;
        };
        kept.push_str(before);
        rest = &text[part.end..];
        if kept.trim().is_empty() {
            // `@peabot, what …`
            rest = rest.trim_start_matches([',', ':', ' ']);
        } else if kept.ends_with(char::is_whitespace) {
            rest = rest.strip_prefix(' ').unwrap_or(rest);
        }
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

/// The message that a message replies to. In a topic, a message that is not a reply refers to the message
/// that opened the topic.
pub fn replied_to(message: &Message) -> Option<Message> {
    let target = message.answered()?;
    let opens_topic =
        message.is_topic_message && message.message_thread_id == Some(target.message_id);
    (!opens_topic).then_some(target)
}

/// The text, with where it was forwarded from before it. What a message is when it has no text is said
/// in brackets.
pub fn with_context(said: &str, message: &Message) -> String {
    let mut text = String::new();
    if let Some(bot) = message
        .via_bot
        .as_ref()
        .or(message.sender_business_bot.as_ref())
    {
        text.push_str(&format!("[sent through the bot {}]\n", display_name(bot)));
    }
    if message.forward_date.is_some() && message.forward_origin.is_none() {
        text.push_str("[forwarded]\n");
    }
    if let Some(origin) = &message.forward_origin {
        let peers = [&origin.sender_user, &origin.sender_chat, &origin.chat];
        let name = match peers.into_iter().flatten().next() {
            Some(peer) => display_name(peer),
            None => names::clean_name(&origin.sender_user_name),
        };
        text.push_str("[forwarded");
        if !name.is_empty() {
            text.push_str(" from ");
            text.push_str(&name);
        }
        text.push_str("]\n");
    }
    if said.is_empty() {
        text.push_str(&describe_content(message).unwrap_or_default());
    } else {
        text.push_str(said);
    }
    text.trim_end().to_owned()
}

/// Whether another person wrote the text, and the sender only passed it on.
pub fn is_relayed(message: &Message) -> bool {
    message.forward_origin.is_some()
        || message.forward_date.is_some()
        || message.via_bot.is_some()
        || message.sender_business_bot.is_some()
}

/// The message that a message replies to, as quoted lines; empty when it is not a reply.
pub fn quote(message: &Message, me: &Me) -> String {
    let target = replied_to(message);
    let target = target.as_ref();
    let marked = message.quote.as_ref().map(|quote| quote.text.as_str());
    let who = match target.and_then(|target| target.from.as_ref()) {
        // Names contain no brackets.
        Some(from) if from.id == me.id => "[you]: ".to_owned(),
        Some(from) => display_name(from) + ": ",
        None => String::new(),
    };
    let what = match (marked, target) {
        (Some(marked), _) => ellipsize_chars(marked, QUOTE_CHARS).into_owned(),
        (None, Some(target)) => match super::text_of(target).0 {
            "" => describe_content(target)
                .or_else(|| Some(format!("[{}]", media::describe(target)?)))
                .unwrap_or_default(),
            text => ellipsize_chars(text, QUOTE_CHARS).into_owned(),
        },
        (None, None) => String::new(),
    };
    if what.is_empty() {
        return String::new();
    }
    let quoted = (who + &what).trim().replace(names::is_newline, "\n> ");
    ["> ", &quoted].concat()
}

/// Content that is neither text nor a file, in brackets.
fn describe_content(message: &Message) -> Option<String> {
    let Message {
        sticker,
        contact,
        venue,
        location,
        poll,
        ..
    } = message;
    let point = |point: &Part| format!("{}, {}", point.latitude, point.longitude);
    let text = match (sticker, contact, location, poll) {
        (Some(sticker), ..) => format!("a sticker {}", sticker.emoji),
        (_, Some(contact), ..) => {
            let (first, last) = (&contact.first_name, &contact.last_name);
            format!("a contact: {first} {last} {}", contact.phone_number)
        }
        (_, _, Some(location), _) => match venue {
            Some(venue) => {
                let (title, address) = (&venue.title, &venue.address);
                format!("a place: {title}, {address} ({})", point(location))
            }
            None => format!("a location: {}", point(location)),
        },
        (.., Some(poll)) => format!("a poll: {}", poll.question),
        _ => return None,
    };
    let text = one_line(&text, QUOTE_CHARS);
    Some(format!("[{}]", names::without_brackets(&text)))
}

/// The name of a person, bot or chat, as people see it.
pub fn display_name(peer: &Peer) -> String {
    let full = [&*peer.first_name, &peer.last_name, &peer.title].join(" ");
    let name = names::clean_name(&full);
    if name.is_empty() {
        names::clean_name(&peer.username)
    } else {
        name
    }
}
