//! The text of a message: whom it is for, and its context.

use std::ops::Range;

use super::{markdown, media, utf16};
use crate::base::limits::channels::QUOTE_CHARS;
use crate::channels::kit::names;
use crate::channels::telegram::api::Me;
use crate::channels::telegram::api::types::{Entity, Message, Origin, Part, Peer};
use crate::text::{one_line, truncate_chars};

/// Entries of a poll or a list of tasks that the model is told; Telegram has at most 30.
const ENTRIES_SHOWN: usize = 30;

/// The text without the parts that only address the bot.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The text as Markdown; a command as it was typed.
    pub text: String,
    /// The text as it was typed.
    pub unmarked: String,
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
    let kept = without(text, names);
    // What a shell or a program gets is what was typed.
    said.text = if kept.text.starts_with('/') {
        kept.text.clone()
    } else {
        let marks = markdown::marks(text, entities, &kept.text, |at| kept.place(at));
        markdown::write(&kept.text, &marks)
    };
    said.unmarked = kept.text;
    said
}

/// The part of a text that a quote shows, as Markdown.
fn quoted(text: &str, entities: &[Entity]) -> String {
    let kept = truncate_chars(text, QUOTE_CHARS);
    let marks = markdown::marks(text, entities, kept, |at| at.min(kept.len()));
    let end = if kept.len() < text.len() { "…" } else { "" };
    markdown::write(kept, &marks) + end
}

/// A text of which some parts are left out.
struct Kept {
    text: String,
    /// The parts of the whole text that are kept, before their ends are trimmed.
    parts: Vec<Range<usize>>,
    /// Bytes that are trimmed at the beginning.
    lead: usize,
}

impl Kept {
    /// Where a byte of the whole text is.
    fn place(&self, at: usize) -> usize {
        let parts = self.parts.iter().filter(|part| part.start < at);
        let before: usize = parts.map(|part| part.end.min(at) - part.start).sum();
        before.saturating_sub(self.lead).min(self.text.len())
    }
}

fn is_name(name: &str, me: &Me) -> bool {
    name.eq_ignore_ascii_case(&me.username)
}

/// The text without some parts, and without the gaps that they leave.
fn without(text: &str, mut parts: Vec<Range<usize>>) -> Kept {
    parts.sort_by_key(|part| part.start);
    let (mut kept, mut kept_parts) = (String::new(), Vec::new());
    let mut rest = text;
    for part in parts {
        let passed = text.len() - rest.len();
        // Overlapping parts: the update is malformed.
        let Some(before) = text.get(passed..part.start) else {
            continue;
        };
        kept.push_str(before);
        kept_parts.push(passed..part.start);
        rest = &text[part.end..];
        if kept.trim().is_empty() {
            // `@peabot, what …`
            rest = rest.trim_start_matches([',', ':', ' ']);
        } else if kept.ends_with(char::is_whitespace) {
            rest = rest.strip_prefix(' ').unwrap_or(rest);
        }
    }
    kept.push_str(rest);
    kept_parts.push(text.len() - rest.len()..text.len());
    Kept {
        text: kept.trim().to_owned(),
        parts: kept_parts,
        lead: kept.len() - kept.trim_start().len(),
    }
}

/// The message that a message replies to. In a topic, a message that is not a reply refers to the message
/// that opened the topic.
pub fn replied_to(message: &Message) -> Option<Message> {
    let target = message.answered()?;
    let opens_topic =
        message.is_topic_message && message.message_thread_id == Some(target.message_id);
    (!opens_topic).then_some(target)
}

/// Where a message was forwarded from, and what it is when it has no text: lines in brackets, which may be none.
pub fn describe_context(message: &Message) -> String {
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
        let name = origin_name(origin);
        text.push_str("[forwarded");
        if !name.is_empty() {
            text.push_str(" from ");
            text.push_str(&name);
        }
        text.push_str("]\n");
    }
    text.push_str(&describe_content(message).unwrap_or_default());
    text.truncate(text.trim_end().len());
    text
}

/// The text below its description.
pub fn with_context(described: &str, said: &str, message: &Message) -> String {
    let partly = if message.is_partial {
        "[more of this message cannot be read here]"
    } else {
        ""
    };
    let lines = [described, said, partly].into_iter();
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n").trim_end().to_owned()
}

fn origin_name(origin: &Origin) -> String {
    let peers = [&origin.sender_user, &origin.sender_chat, &origin.chat];
    match peers.into_iter().flatten().next() {
        Some(peer) => display_name(peer),
        None => names::clean_name(&origin.sender_user_name),
    }
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
    let elsewhere = message.answered_elsewhere();
    let marked = message.quote.as_ref();
    let who = match target.and_then(|target| target.from.as_ref()) {
        // Names contain no brackets.
        Some(from) if from.id == me.id => "[you]: ".to_owned(),
        Some(from) => display_name(from) + ": ",
        None => match elsewhere.as_ref().and_then(|other| other.origin.as_ref()) {
            Some(origin) if !origin_name(origin).is_empty() => origin_name(origin) + ": ",
            _ => String::new(),
        },
    };
    let mut what = match (marked, target.or(elsewhere.as_ref())) {
        (Some(marked), _) => quoted(&marked.text, &marked.entities),
        (None, Some(target)) => match super::text_of(target) {
            ("", _) => describe_content(target)
                .or_else(|| Some(format!("[{}]", media::describe(target)?)))
                .unwrap_or_default(),
            (text, entities) => quoted(text, entities),
        },
        (None, None) => match &message.reply_to_story {
            Some(story) => describe_story(story),
            None => String::new(),
        },
    };
    if what.is_empty() && message.external_reply.is_some() {
        what = "[a message of another chat]".to_owned();
    }
    if what.is_empty() {
        return String::new();
    }
    let quoted = (who + &what).trim().replace(names::is_newline, "\n> ");
    ["> ", &quoted].concat()
}

/// Content that is neither text nor a file, in brackets.
fn describe_content(message: &Message) -> Option<String> {
    let point = |point: &Part| format!("{}, {}", point.latitude, point.longitude);
    let text = if let Some(sticker) = &message.sticker {
        match sticker.set_name.as_str() {
            "" => format!("a sticker {}", sticker.emoji),
            set => format!("a sticker {} of {set}", sticker.emoji),
        }
    } else if let Some(contact) = &message.contact {
        let (first, last) = (&contact.first_name, &contact.last_name);
        format!("a contact: {first} {last} {}", contact.phone_number)
    } else if let Some(location) = &message.location {
        match &message.venue {
            Some(venue) => {
                let (title, address) = (&venue.title, &venue.address);
                format!("a place: {title}, {address} ({})", point(location))
            }
            None => format!("a location: {}", point(location)),
        }
    } else if let Some(poll) = &message.poll {
        let has_votes = poll.total_voter_count > 0;
        let options = poll.options.iter().map(|option| match has_votes {
            true => format!("{} (votes: {})", option.text, option.voter_count),
            false => option.text.clone(),
        });
        let kind = if poll.is_closed {
            "closed poll"
        } else {
            "poll"
        };
        let options = listed(&poll.question, "Options", options);
        format!("a {kind}: {}{options}", poll.question)
    } else if let Some(list) = &message.checklist {
        let sign = |task: &Part| if task.completion_date > 0 { "x" } else { " " };
        let tasks = list.tasks.iter();
        let tasks = tasks.map(|task| format!("({}) {}", sign(task), task.text));
        let tasks = listed(&list.title, "Tasks", tasks);
        format!("a checklist: {}{tasks}", list.title)
    } else if let Some(dice) = &message.dice {
        format!("a throw of {}: {}", dice.emoji, dice.value)
    } else if let Some(game) = &message.game {
        format!("a game: {}, {}", game.title, game.description)
    } else if let Some(story) = &message.story {
        return Some(describe_story(story));
    } else if let Some(giveaway) = message
        .giveaway
        .as_ref()
        .or(message.giveaway_winners.as_ref())
    {
        let (count, prize) = (giveaway.winner_count, &giveaway.prize_description);
        format!("a giveaway with {count} winners: {prize}")
    } else if let Some(invoice) = &message.invoice {
        let (title, description) = (&invoice.title, &invoice.description);
        format!("an invoice: {title}, {description}")
    } else if let Some(paid) = &message.paid_media {
        let stars = paid.star_count;
        format!("pictures or videos for {stars} Telegram Stars, which cannot be seen here")
    } else if message.unknown.is_empty() {
        return None;
    } else {
        let kind = message.unknown.replace('_', " ");
        format!("a message of the kind {kind}, which cannot be read here")
    };
    let text = one_line(&text, QUOTE_CHARS);
    let text = text.trim_end_matches([' ', ',', ':']);
    Some(format!("[{}]", names::without_brackets(text)))
}

fn describe_story(story: &Part) -> String {
    let of = story
        .chat
        .as_ref()
        .map(display_name)
        .filter(|name| !name.is_empty());
    let of = of.map_or_else(String::new, |name| format!(" of {name}"));
    format!("[a story{of}, which cannot be seen here]")
}

/// The entries of a list after its title; empty when there are none.
fn listed(title: &str, what: &str, entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<String> = entries.take(ENTRIES_SHOWN).collect();
    if entries.is_empty() {
        String::new()
    } else {
        let is_ended = title.ends_with(['.', '?', '!', '…', '。', '？', '！']);
        let end = if is_ended { "" } else { "." };
        format!("{end} {what}: {}", entries.join("; "))
    }
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
