//! What an event means. Pure; the intake decides who has access.

use super::NAME;
use super::types::{
    Attachment, Interaction, Member, Message, PRIVATE, REPLY, User, VOICE, is_thread, snowflake,
};
use crate::base::clock::seconds_of;
use crate::base::json::{self, Members};
use crate::base::language::Language;
use crate::base::limits::channels::{JSON_LEVELS_MAX, QUOTE_CHARS};
use crate::base::message::{Address, Envelope, Media, PressedMessage, RemoteFile, Sender};
use crate::channels::kit::names;
use crate::channels::kit::sink::Incoming;
use crate::channels::kit::stream::session::Me;
use crate::config::schema::GroupPolicy;
use crate::text::{ellipsize_chars, one_line};

/// Kinds of messages that people write: a usual one, a reply.
const WRITTEN: [u64; 2] = [0, REPLY];

/// The meaning of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Something for the intake.
    Incoming(Incoming),
    /// The same, which has to be acknowledged within three seconds.
    Interaction {
        /// For the intake.
        incoming: Incoming,
        /// Its id.
        id: String,
        /// What answers it.
        token: String,
    },
    /// Nothing for us.
    Nothing,
}

/// Reads events for the bot that `me` is.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The bot.
    pub me: &'a Me,
    /// Which messages in servers are for it.
    pub policy: GroupPolicy,
    /// Whether texts of a person, by their id, are awaited in a channel.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
}

impl Reader<'_> {
    /// What an event of a kind means.
    pub fn read(&self, kind: &str, data: &str) -> Meaning {
        let meaning = match kind {
            _ if !has_objects(data) => Ok(None),
            "MESSAGE_CREATE" => parse(data).map(|message| self.message(&message)),
            "MESSAGE_UPDATE" => parse(data).map(|message| self.edited(&message)),
            "INTERACTION_CREATE" => parse(data).map(|interaction| self.interaction(interaction)),
            _ => Ok(None),
        };
        meaning.map_or_else(
            |error| {
                // The error's text may contain a person's message.
                tracing::warn!(kind, byte = error.column(), "ignored an unexpected event");
                Meaning::Nothing
            },
            |meaning| meaning.unwrap_or(Meaning::Nothing),
        )
    }

    /// A message that was fetched, because its event was missed.
    pub fn missed(&self, message: &Message) -> Option<Incoming> {
        match self.message(message)? {
            Meaning::Incoming(incoming) => Some(incoming),
            _ => None,
        }
    }

    fn message(&self, message: &Message) -> Option<Meaning> {
        Some(Meaning::Incoming(Incoming::Message {
            envelope: self.envelope(message)?,
            username: message.author.username.clone(),
        }))
    }

    fn edited(&self, message: &Message) -> Option<Meaning> {
        // Discord also sends an update when it adds a link preview.
        message.edited_timestamp?;
        let envelope = self.envelope(message)?;
        // With what others said in it, it is no longer only what its author typed.
        (!envelope.is_relayed).then_some(Meaning::Incoming(Incoming::Edited {
            session: envelope.session,
            reference: envelope.reference,
            text: envelope.text,
        }))
    }

    /// The message as an envelope; `None` when it is not for us.
    fn envelope(&self, message: &Message) -> Option<Envelope> {
        snowflake(&message.id)?;
        let address = address(&message.channel_id)?;
        let author = &message.author;
        let is_person = !author.bot && message.webhook_id.is_none() && author.id != self.me.id;
        snowflake(&author.id).filter(|_| is_person && WRITTEN.contains(&message.kind))?;
        let is_group = message.is_in_group();
        if is_group && !self.is_for_us(message) {
            return None;
        }
        let remote_files = remote_files(message);
        let mut text = self.text(message);
        if text.is_empty() && remote_files.is_empty() {
            // A message may be nothing but our name.
            text = names_for_mentions(&message.content, &message.mentions)
                .trim()
                .to_owned();
            if text.is_empty() {
                return None;
            }
        }
        Some(Envelope {
            id: format!("{NAME}:{}", message.id),
            is_group,
            is_relayed: message.is_forward(),
            quote: self.quote(message),
            reference: message.id.clone(),
            sent_at: seconds_of(&message.timestamp),
            is_language_guessed: true,
            replies_to: message.answered().to_owned(),
            remote_files,
            ..Envelope::written(
                &address,
                Sender {
                    language: Language::of_text(&message.content),
                    // Messages do not name the channel of their thread.
                    thread_of: message.is_in_thread().then(String::new),
                    ..sender(author, message.member.as_ref())
                },
                &text,
            )
        })
    }

    /// Whether a message in a server is for us.
    fn is_for_us(&self, message: &Message) -> bool {
        let target = message.referenced_message.as_deref();
        let replies_to_us = target.is_some_and(|target| target.author.id == self.me.id);
        match self.policy {
            GroupPolicy::Off => false,
            GroupPolicy::Open => true,
            GroupPolicy::Mention => {
                replies_to_us || self.mentions_us(message) || self.is_awaited(message)
            }
        }
    }

    /// Whether a message is a text that is awaited where and from whom it comes.
    fn is_awaited(&self, message: &Message) -> bool {
        let is_text = message.attachments.is_empty() && !message.is_forward();
        let address = address(&message.channel_id).filter(|_| is_text);
        address.is_some_and(|address| (self.awaits)(&address, &message.author.id))
    }

    fn mentions_us(&self, message: &Message) -> bool {
        let mut mentioned = message.mentions.iter();
        mentioned.any(|user| user.id == self.me.id)
    }

    /// The text, with what was forwarded behind it.
    fn text(&self, message: &Message) -> String {
        let own = self.without_us(&message.content);
        let own = match own.as_str() {
            "" => describe_content(message),
            // In a command, a name could be taken for a part of it.
            command if command.starts_with('/') => own,
            own => names_for_mentions(own, &message.mentions).trim().to_owned(),
        };
        let mut text = own;
        for snapshot in &message.message_snapshots {
            let forwarded = &snapshot.message;
            let content = names_for_mentions(&forwarded.content, &forwarded.mentions);
            text = format!("{text}\n[forwarded]\n{}", content.trim());
        }
        text.trim().to_owned()
    }

    /// The content without the mention that only addresses us.
    fn without_us(&self, content: &str) -> String {
        let marks = [format!("<@{}>", self.me.id), format!("<@!{}>", self.me.id)];
        let mut kept = content.trim();
        for mark in &marks {
            if let Some(rest) = kept.strip_prefix(mark.as_str()) {
                kept = rest.trim_start_matches([',', ':', ' ']);
            }
            kept = kept.strip_suffix(mark.as_str()).unwrap_or(kept).trim_end();
        }
        kept.to_owned()
    }

    /// The message that a message replies to, as quoted lines; empty when it is not a reply.
    fn quote(&self, message: &Message) -> String {
        let Some(answered) = message.referenced_message.as_deref() else {
            return String::new();
        };
        let who = match answered.author.id == self.me.id {
            // Names contain no brackets.
            true => "[you]".to_owned(),
            false => display_name(&answered.author, answered.member.as_ref()),
        };
        let what = match names_for_mentions(&answered.content, &answered.mentions).trim() {
            "" if answered.attachments.is_empty() => describe_content(answered),
            "" => "[a file]".to_owned(),
            text => ellipsize_chars(text, QUOTE_CHARS).into_owned(),
        };
        if what.is_empty() {
            return String::new();
        }
        format!("> {who}: {}", what.replace(names::is_newline, "\n> "))
    }

    fn interaction(&self, interaction: Interaction) -> Option<Meaning> {
        snowflake(&interaction.id)?;
        let address = address(&interaction.channel_id)?;
        // As with messages, whatever hints at others counts.
        let is_server = interaction.guild_id.is_some() || interaction.member.is_some();
        let is_group = is_server || interaction.channel.kind > PRIVATE || interaction.context == 2;
        let member = interaction.member.unwrap_or_default();
        // In a server it is the member, and in private the user: never another one beside.
        let user = match (interaction.user, member.user.clone()) {
            (Some(user), Some(other)) if user.id != other.id => return None,
            (user, other) => other.or(user)?,
        };
        snowflake(&user.id).filter(|_| !user.bot && user.id != self.me.id)?;
        let sender = Sender {
            language: Language::from_tag(&interaction.locale),
            thread_of: is_thread(interaction.channel.kind).then_some(interaction.channel.parent_id),
            ..sender(&user, Some(&member))
        };
        let id = format!("{NAME}:{}", interaction.id);
        let incoming = match interaction.kind {
            3 => Incoming::Pressed {
                id,
                address,
                is_group,
                sender,
                username: user.username,
                message: pressed(&interaction.message.unwrap_or_default()),
                data: interaction.data.custom_id,
            },
            2 => {
                let mut text = format!("/{}", interaction.data.name);
                for option in &interaction.data.options {
                    let value = option.value.as_str().map(str::trim).unwrap_or_default();
                    if !value.is_empty() {
                        text = format!("{text} {value}");
                    }
                }
                // It is not a message, so nothing can be quoted or reacted to.
                let envelope = Envelope {
                    id,
                    is_group,
                    ..Envelope::written(&address, sender, &text)
                };
                Incoming::Message {
                    envelope,
                    username: user.username,
                }
            }
            _ => return None,
        };
        Some(Meaning::Interaction {
            incoming,
            id: interaction.id,
            token: interaction.token,
        })
    }
}

/// The message with the button, its Markdown as text: without the backslashes that escape it.
fn pressed(message: &Message) -> PressedMessage {
    let mut text = String::with_capacity(message.content.len());
    let mut rest = message.content.chars().peekable();
    while let Some(char) = rest.next() {
        let escaped = match char {
            '\\' => rest.next_if(char::is_ascii_punctuation),
            _ => None,
        };
        text.push(escaped.unwrap_or(char));
    }
    PressedMessage {
        id: message.id.clone(),
        text,
    }
}

/// Whether what says who and where are objects. The reader of a structure takes a list for one, too.
fn has_objects(data: &str) -> bool {
    let is_object = |members: &Members<'_>, name: &str| {
        members
            .raw(name)
            .is_none_or(|raw| raw.get().starts_with('{'))
    };
    Members::read(data).is_some_and(|members| {
        let mut all = ["author", "member", "user", "channel", "data", "message"].iter();
        all.all(|name| is_object(&members, name)) && is_object(&members.members("member"), "user")
    })
}

fn parse<T: serde::de::DeserializeOwned>(data: &str) -> serde_json::Result<T> {
    json::lenient_from_str_within(data, JSON_LEVELS_MAX)
}

/// The chat, or the thread, which is a channel of its own and so a conversation of its own.
fn address(channel: &str) -> Option<Address> {
    snowflake(channel).map(|_| Address::new(NAME, channel))
}

fn sender(user: &User, member: Option<&Member>) -> Sender {
    Sender {
        id: user.id.clone(),
        name: display_name(user, member),
        // Only interactions have a locale.
        language: Language::default(),
        thread_of: None,
    }
}

/// The name that people see, on one line.
fn display_name(user: &User, member: Option<&Member>) -> String {
    let nick = member.map(|member| &member.nick);
    let names = nick.into_iter().chain([&user.global_name, &user.username]);
    let mut cleaned = names.map(|name| names::clean_name(name));
    cleaned.find(|name| !name.is_empty()).unwrap_or_default()
}

/// The content with names for `<@123>`, and `:name:` for `<:name:123>`.
fn names_for_mentions(content: &str, mentions: &[User]) -> String {
    let mut rest = content;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let named = rest
            .find('>')
            .and_then(|end| Some((named(&rest[1..end], mentions)?, end)));
        match named {
            Some((name, end)) => {
                text.push_str(&name);
                rest = &rest[end + 1..];
            }
            None => {
                text.push('<');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    text
}

/// What the inside of a `<…>` means to people.
fn named(inside: &str, mentions: &[User]) -> Option<String> {
    if let Some(id) = inside.strip_prefix('@') {
        let id = id.strip_prefix('!').unwrap_or(id);
        let user = mentions.iter().find(|user| user.id == id)?;
        return Some(format!("@{}", display_name(user, None)));
    }
    let emoji = inside
        .strip_prefix("a:")
        .or_else(|| inside.strip_prefix(':'))?;
    let (name, id) = emoji.split_once(':')?;
    snowflake(id).map(|_| format!(":{name}:"))
}

/// Content that is neither text nor a file, in brackets.
fn describe_content(message: &Message) -> String {
    let sticker = message.sticker_items.first();
    let sticker = sticker.map(|sticker| ("a sticker", &sticker.name));
    let poll = message.poll.as_ref();
    let poll = poll.map(|poll| ("a poll", &poll.question.text));
    match sticker.or(poll) {
        Some((what, name)) => {
            let name = names::without_brackets(&one_line(name, QUOTE_CHARS));
            format!("[{what}: {name}]")
        }
        None => String::new(),
    }
}

fn remote_files(message: &Message) -> Vec<RemoteFile> {
    let forwarded = message.message_snapshots.iter();
    let forwarded = forwarded.flat_map(|snapshot| &snapshot.message.attachments);
    let all = message.attachments.iter().chain(forwarded);
    all.filter(|file| !file.url.is_empty())
        .map(|file| RemoteFile {
            media: media(file, message.flags),
            id: FileId {
                channel: &message.channel_id,
                message: &message.id,
                attachment: &file.id,
                url: &file.url,
            }
            .to_string(),
            size: file.size,
            name: match file.filename.as_str() {
                "" => "file".to_owned(),
                name => name.to_owned(),
            },
        })
        .collect()
}

fn media(file: &Attachment, flags: u64) -> Media {
    match file.content_type.split('/').next().unwrap_or_default() {
        "image" => Media::Photo,
        "audio" if flags & VOICE != 0 => Media::Voice,
        "audio" => Media::Audio,
        "video" => Media::Video,
        _ => Media::Document,
    }
}

/// How a file is fetched. Its URL expires; the message has a new one then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The message.
    pub message: &'a str,
    /// The file within the message.
    pub attachment: &'a str,
    /// Where it was when the message came.
    pub url: &'a str,
}

impl std::fmt::Display for FileId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            channel,
            message,
            attachment,
            url,
        } = self;
        write!(f, "{channel} {message} {attachment} {url}")
    }
}

impl<'a> FileId<'a> {
    /// Reads what `Display` wrote.
    pub fn parse(id: &'a str) -> Option<Self> {
        let mut parts = id.splitn(4, ' ');
        let mut part = || parts.next();
        Some(Self {
            channel: part()?,
            message: part()?,
            attachment: part()?,
            url: part()?,
        })
    }
}

#[cfg(test)]
mod tests;
