//! The words of a message: for whom they are, and what has to be known with them.

use std::ops::Range;

use super::{media, utf16};
use crate::channels::names;
use crate::channels::telegram::api::Me;
use crate::channels::telegram::api::types::{Entity, Message, Part, Peer};
use crate::limits::channels::QUOTE_CHARS;
use crate::text::{ellipsize_chars, one_line};

/// The words without what only says for whom they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// Whether they name us, or are a command that may be ours.
    pub is_for_us: bool,
    /// Whether they are a command for another bot.
    pub is_for_another: bool,
}

/// Takes our name out of the words, and out of a command that has it (`/status@peabot`).
pub fn read(text: &str, entities: &[Entity], me: &Me) -> Said {
    let mut said = Said::default();
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

/// The text without some parts of it, and without the gaps that they leave.
fn without(text: &str, mut parts: Vec<Range<usize>>) -> String {
    parts.sort_by_key(|part| part.start);
    let mut kept = String::new();
    let mut rest = text;
    for part in parts {
        let passed = text.len() - rest.len();
        // Parts that overlap come from nobody honest.
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

/// The message that a message answers. In a topic, what answers nothing answers the message that
/// opened the topic, which is no answer.
pub fn answered(message: &Message) -> Option<Message> {
    let answered = message.answered()?;
    let opens_topic =
        message.is_topic_message && message.message_thread_id == Some(answered.message_id);
    (!opens_topic).then_some(answered)
}

/// The words with what stands before them: what they answer and from where they were forwarded. What
/// a message is when it has no words is said in brackets.
pub fn with_context(said: &str, message: &Message, me: &Me) -> String {
    let mut text = quote(message, me);
    if let Some(bot) = message
        .via_bot
        .as_ref()
        .or(message.sender_business_bot.as_ref())
    {
        text.push_str(&format!("[sent through the bot {}]\n", name_of(bot)));
    }
    if message.forward_date.is_some() && message.forward_origin.is_none() {
        text.push_str("[forwarded]\n");
    }
    if let Some(origin) = &message.forward_origin {
        let peers = [&origin.sender_user, &origin.sender_chat, &origin.chat];
        let name = match peers.into_iter().flatten().next() {
            Some(peer) => name_of(peer),
            None => names::of_person(&origin.sender_user_name),
        };
        text.push_str("[forwarded");
        if !name.is_empty() {
            text.push_str(" from ");
            text.push_str(&name);
        }
        text.push_str("]\n");
    }
    if said.is_empty() {
        text.push_str(&thing(message).unwrap_or_default());
    } else {
        text.push_str(said);
    }
    text.trim_end().to_owned()
}

/// Whether somebody else wrote the words, and the person only sent them on.
pub fn is_relayed(message: &Message) -> bool {
    message.forward_origin.is_some()
        || message.forward_date.is_some()
        || message.via_bot.is_some()
        || message.sender_business_bot.is_some()
}

/// What is answered, as quoted lines; empty when nothing is.
fn quote(message: &Message, me: &Me) -> String {
    let answered = answered(message);
    let answered = answered.as_ref();
    let marked = message.quote.as_ref().map(|quote| quote.text.as_str());
    let who = match answered.and_then(|answered| answered.from.as_ref()) {
        // No name has brackets.
        Some(from) if from.id == me.id => "[you]: ".to_owned(),
        Some(from) => name_of(from) + ": ",
        None => String::new(),
    };
    let what = match (marked, answered) {
        (Some(marked), _) => ellipsize_chars(marked, QUOTE_CHARS).into_owned(),
        (None, Some(answered)) => match super::words(answered).0 {
            "" => thing(answered)
                .or_else(|| Some(format!("[{}]", media::kind(answered)?)))
                .unwrap_or_default(),
            words => ellipsize_chars(words, QUOTE_CHARS).into_owned(),
        },
        (None, None) => String::new(),
    };
    if what.is_empty() {
        return String::new();
    }
    let quoted = (who + &what).trim().replace(names::is_line_end, "\n> ");
    ["> ", &quoted, "\n\n"].concat()
}

/// What is neither words nor a file, in brackets.
fn thing(message: &Message) -> Option<String> {
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
pub fn name_of(peer: &Peer) -> String {
    let full = [&*peer.first_name, &peer.last_name, &peer.title].join(" ");
    let name = names::of_person(&full);
    if name.is_empty() {
        names::of_person(&peer.username)
    } else {
        name
    }
}
