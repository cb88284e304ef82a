//! What an envelope means. PURE, but for the closures; the intake decides who has access.

#[cfg(test)]
mod tests;
pub(super) mod text;

use self::text::{Use, decode, of_ours};
use super::{BUTTON_DATA_BYTES, TOKEN_BYTES, URL_BYTES};
use super::{NAME, is_id, micros};
use crate::base::json::Members;
use crate::base::language::Language;
use crate::base::limits::channels::QUOTE_CHARS;
use crate::base::message::{Address, Envelope, Media, PressedMessage, RemoteFile, Sender};
use crate::channels::kit::names;
use crate::channels::kit::names::with_slash;
use crate::channels::kit::sink::Incoming;
use crate::config::channels::GroupPolicy;
use crate::text::ellipsize_chars;

/// The kinds of messages that people write, besides the usual one.
const WRITTEN: [&str; 4] = ["", "file_share", "thread_broadcast", "me_message"];

/// The names of commands that stand for the app, before the name of a command of ours.
const OWN_NAMES: [&str; 2] = ["peacrab", "crab"];

/// The app as Slack knows it.
#[derive(Clone, Debug, Default)]
pub struct Me {
    /// The id of its user, by which people mention it.
    pub user: String,
    /// The name that people see.
    pub name: String,
    /// The id of the workspace that it is installed in; empty when Slack has not said.
    pub team: String,
}

/// A person as Slack knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The name that people see.
    pub name: String,
    /// The unique name.
    pub username: String,
    /// The language of their Slack, such as `zh-CN`; may be empty.
    pub locale: String,
}

/// Which messages are for us.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Those in channels.
    pub groups: GroupPolicy,
    /// The only channels that count; all when there is none.
    pub only_in: Vec<String>,
    /// Whether those in private chats are.
    pub private: bool,
    /// Whether an answer in a channel goes to a thread below the message.
    pub reply_in_thread: bool,
}

/// Reads envelopes for the app that `me` is.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The app.
    pub me: &'a Me,
    /// Which messages are for it.
    pub scope: &'a Scope,
    /// Whether texts of a person, by their id, are awaited in a chat.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
    /// Whether we take part in a thread of a channel.
    pub takes_part: &'a dyn Fn(&Address) -> bool,
    /// What is known about the sender of a message, by their id.
    pub sender: &'a dyn Fn(&str) -> Option<Known>,
    /// What is known about another person.
    pub person: &'a dyn Fn(&str) -> Option<Known>,
    /// Called with the sender's id and name, and the chat where it is a group, before the people are looked up whom they
    /// mention: those of someone without access are not worth it.
    pub written_by: &'a dyn Fn(&str, &str, Option<&Address>),
}

impl Reader<'_> {
    /// What an event means; `None` for nothing.
    pub fn event(&self, payload: &str) -> Option<Incoming> {
        let payload = Members::read(payload)?;
        if !self.is_event_for_us(&payload) {
            return None;
        }
        let event = payload.members("event");
        let is_mention = match event.text("type")?.as_str() {
            "app_mention" => true,
            "message" => false,
            _ => return None,
        };
        let chat = event.text("channel")?;
        if event.text_or_empty("subtype") == "message_changed" {
            return self.changed(&chat, &event);
        }
        self.message(&chat, &event, is_mention)
    }

    /// Whether something of this workspace is ours; also where that is not said, or the app is a whole organisation's.
    fn is_of_our_team(&self, team: &str) -> bool {
        team.is_empty() || !self.me.team.starts_with('T') || team == self.me.team
    }

    /// Whether an event is for the app as it is installed in our workspace. In a channel that is shared the event can
    /// be of another one.
    fn is_event_for_us(&self, payload: &Members<'_>) -> bool {
        let installed = payload.list("authorizations").unwrap_or_default();
        let installed = installed
            .into_iter()
            .filter_map(|raw| Members::read(raw.get()));
        let teams = installed.map(|one| one.text_or_empty("team_id"));
        let mut teams = teams.chain([payload.text_or_empty("team_id")]);
        teams.any(|team| self.is_of_our_team(&team))
    }

    /// Whether a person is of another workspace, with which a channel is shared. Names there are given by others.
    fn is_foreign(&self, of: &Members<'_>) -> bool {
        let teams =
            ["user_team", "source_team", "team", "team_id"].map(|name| of.text_or_empty(name));
        !teams.iter().all(|team| self.is_of_our_team(team))
    }

    /// A message in a chat, also one that was fetched because its event was missed.
    pub fn message(&self, chat: &str, message: &Members<'_>, is_mention: bool) -> Option<Incoming> {
        let (envelope, username) = self.envelope(chat, message, is_mention)?;
        Some(Incoming::Message { envelope, username })
    }

    fn changed(&self, chat: &str, event: &Members<'_>) -> Option<Incoming> {
        let message = event.members("message");
        // Slack also says so when it adds a preview of a link.
        message.raw("edited")?;
        let before = event.members("previous_message");
        if before.text("text").is_some() && before.text("text") == message.text("text") {
            return None;
        }
        let (envelope, _) = self.envelope(chat, &message, false)?;
        // With what others said in it, it is no longer only what its author typed.
        (!envelope.is_relayed).then_some(Incoming::Edited {
            session: envelope.session,
            reference: envelope.reference,
            text: envelope.text,
        })
    }

    /// The message as an envelope, and its sender's name; `None` when it is not for us.
    fn envelope(
        &self,
        chat: &str,
        message: &Members<'_>,
        is_mention: bool,
    ) -> Option<(Envelope, String)> {
        let ts = message.text("ts")?;
        let number = micros(&ts).filter(|_| is_id(chat))?;
        let user = message.text("user").filter(|user| is_id(user))?;
        let is_bot = ["bot_id", "bot_profile"].map(|name| message.raw(name).is_some());
        let is_person = is_bot == [false; 2] && user != self.me.user;
        let subtype = message.text_or_empty("subtype");
        if !is_person || !WRITTEN.contains(&subtype.as_str()) {
            return None;
        }
        let is_group = is_group(chat);
        let address = self.address(chat, message, Some(&ts));
        let raw = message.text_or_empty("text");
        let files = message.list("files").unwrap_or_default();
        let is_for_us = if !is_group {
            self.scope.private
        } else {
            let is_ours = is_mention || self.is_answer(message) || self.mentions_us(&raw);
            let is_awaited = || files.is_empty() && (self.awaits)(&address, &user);
            let is_ours = || is_ours || (self.takes_part)(&address) || is_awaited();
            self.is_for_us(chat, is_ours)
        };
        if !is_for_us {
            return None;
        }
        // Before the people whom they mention: those may take all the time.
        let is_foreign = self.is_foreign(message);
        let look_up = if is_foreign { self.person } else { self.sender };
        let mut known = look_up(&user).unwrap_or_default();
        if is_foreign {
            known.username.clear();
        }
        (self.written_by)(&user, &known.username, is_group.then_some(&address));
        let forwarded = self.forwarded(message);
        let remote_files = files.iter().filter_map(|file| remote_file(file.get()));
        let remote_files: Vec<RemoteFile> = remote_files.collect();
        let mut text = self.text(&raw);
        if text.is_empty() && remote_files.is_empty() && forwarded.is_empty() {
            // A message may be nothing but our name.
            text = decode(&raw, Use::Prose, &|id| self.name_of(id))
                .trim()
                .to_owned();
            if text.is_empty() {
                return None;
            }
        }
        let language = match known.locale.as_str() {
            "" => Language::of_text(&raw),
            locale => Language::from_tag(locale),
        };
        let sender = Sender {
            id: user,
            name: names::clean_name(&known.name),
            language,
            thread_of: None,
        };
        let envelope = Envelope {
            // The number is first, so that the newest is known after a restart.
            id: format!("{NAME}:{number}.{chat}"),
            is_group,
            is_relayed: !forwarded.is_empty(),
            sent_at: ts.split('.').next().and_then(|secs| secs.parse().ok()),
            is_language_guessed: known.locale.is_empty(),
            reference: ts,
            remote_files,
            ..Envelope::written(&address, sender, (text + &forwarded).trim())
        };
        Some((envelope, known.username))
    }

    /// Where a message is, and its answer goes. `ts` is the message's own number.
    fn address(&self, chat: &str, message: &Members<'_>, ts: Option<&str>) -> Address {
        let thread = message.text("thread_ts");
        let is_below = |thread: &String| micros(thread).is_some() && Some(thread.as_str()) != ts;
        let begins = ts.filter(|_| is_group(chat) && self.scope.reply_in_thread);
        Address {
            thread: thread
                .filter(is_below)
                .or_else(|| begins.map(str::to_owned)),
            ..Address::new(NAME, chat)
        }
    }

    /// Whether a message in a channel is for us. `is_ours` says whether it is addressed to us.
    fn is_for_us(&self, chat: &str, is_ours: impl Fn() -> bool) -> bool {
        let only_in = &self.scope.only_in;
        let is_open = only_in.is_empty() || only_in.iter().any(|known| known.trim() == chat);
        is_open
            && match self.scope.groups {
                GroupPolicy::Off => false,
                GroupPolicy::Open => true,
                GroupPolicy::Mention => is_ours(),
            }
    }

    /// Whether a message is in a thread below one of ours.
    fn is_answer(&self, message: &Members<'_>) -> bool {
        let parent = message.text("parent_user_id");
        !self.me.user.is_empty() && parent.is_some_and(|parent| parent == self.me.user)
    }

    fn mentions_us(&self, raw: &str) -> bool {
        let mention = format!("<@{}", self.me.user);
        let mut rest = raw.match_indices(&mention);
        !self.me.user.is_empty()
            && rest.any(|(at, mention)| raw[at + mention.len()..].starts_with(['>', '|']))
    }

    /// The text as it was meant, without the mention that only addresses us.
    fn text(&self, raw: &str) -> String {
        let own = with_slash(self.without_us(raw));
        if own.starts_with('/') {
            let command = decode(&own, Use::Command, &|_| None);
            return command.replace('\u{a0}', " ");
        }
        let text = decode(&own, Use::Prose, &|id| self.name_of(id));
        text.trim().to_owned()
    }

    fn without_us<'a>(&self, raw: &'a str) -> &'a str {
        let mark = format!("<@{}>", self.me.user);
        let mut kept = raw.trim();
        if let Some(rest) = kept.strip_prefix(mark.as_str()) {
            kept = rest.trim_start_matches([',', ':', ' ', '\u{a0}', '\n']);
        }
        kept.strip_suffix(mark.as_str()).unwrap_or(kept).trim_end()
    }

    fn name_of(&self, id: &str) -> Option<String> {
        if id == self.me.user {
            return Some(names::clean_name(&self.me.name));
        }
        let name = is_id(id).then(|| (self.person)(id)).flatten()?.name;
        Some(names::clean_name(&name)).filter(|name| !name.is_empty())
    }

    /// What a message shares of others, behind its text.
    fn forwarded(&self, message: &Members<'_>) -> String {
        let mut text = String::new();
        for attachment in message.list("attachments").unwrap_or_default() {
            let Some(shared) = Members::read(attachment.get()) else {
                continue;
            };
            if shared.is_true("is_share") || shared.is_true("is_msg_unfurl") {
                let said = decode(&shared.text_or_empty("text"), Use::Prose, &|id| {
                    self.name_of(id)
                });
                text = format!("{text}\n[forwarded]\n{}", said.trim());
            }
        }
        text
    }

    /// What a pressed button means.
    pub fn press(&self, payload: &str) -> Option<Incoming> {
        let payload = Members::read(payload)?;
        let team = payload.members("team").text_or_empty("id");
        if payload.text("type")? != "block_actions" || !self.is_of_our_team(&team) {
            return None;
        }
        let actions = payload.list("actions")?;
        let action = Members::read(actions.first()?.get())?;
        let data = action.text("value")?;
        let message = payload.members("message");
        let ts = message.text("ts").filter(|ts| micros(ts).is_some())?;
        let chat = payload
            .members("channel")
            .text("id")
            .filter(|chat| is_id(chat))?;
        let (sender, username) = self.presser(&payload.members("user"))?;
        // Of a message of ours it is known where it is: it begins no thread by itself.
        let thread = message.text("thread_ts");
        let thread = thread.filter(|thread| *thread != ts && micros(thread).is_some());
        let pressed_at = action
            .text("action_ts")
            .filter(|at| at.len() <= TOKEN_BYTES)?;
        if data.len() > BUTTON_DATA_BYTES {
            return None;
        }
        Some(Incoming::Pressed {
            id: format!("{NAME}:press.{pressed_at}.{}", sender.id),
            is_group: is_group(&chat),
            address: Address {
                thread,
                ..Address::new(NAME, &chat)
            },
            sender,
            username,
            message: PressedMessage {
                text: of_ours(&message.text_or_empty("text")),
                id: ts,
            },
            data,
        })
    }

    /// The person in a press.
    fn presser(&self, user: &Members<'_>) -> Option<(Sender, String)> {
        let id = user
            .text("id")
            .filter(|id| is_id(id) && *id != self.me.user)?;
        let known = (self.person)(&id).unwrap_or_default();
        let said = user.text("username").or_else(|| user.text("name"));
        let username = match known.username.as_str() {
            _ if self.is_foreign(user) => String::new(),
            "" => said.unwrap_or_default(),
            username => username.to_owned(),
        };
        let name = match known.name.as_str() {
            "" => &username,
            name => name,
        };
        let sender = Sender {
            name: names::clean_name(name),
            language: Language::from_tag(&known.locale),
            id,
            thread_of: None,
        };
        Some((sender, username))
    }

    /// What a slash command means. The app's own name stands before the name of a command: `/peacrab sh df`.
    pub fn command(&self, payload: &str) -> Option<Incoming> {
        let payload = Members::read(payload)?;
        self.is_of_our_team(&payload.text_or_empty("team_id"))
            .then_some(())?;
        let chat = payload.text("channel_id").filter(|chat| is_id(chat))?;
        let trigger = payload.text("trigger_id");
        let trigger = trigger.filter(|id| !id.is_empty() && id.len() <= TOKEN_BYTES)?;
        let id = payload.text("user_id").filter(|id| is_id(id))?;
        let known = (self.person)(&id).unwrap_or_default();
        let username = match known.username.as_str() {
            "" => payload.text_or_empty("user_name"),
            username => username.to_owned(),
        };
        let name = payload.text("command")?;
        let name = name.trim_start_matches('/').to_ascii_lowercase();
        let rest = decode(&payload.text_or_empty("text"), Use::Command, &|_| None);
        let rest = rest.trim().trim_start_matches(['/', '!']);
        let is_own = OWN_NAMES.iter().any(|own| name.starts_with(own));
        let text = match (is_own, rest) {
            (true, "") => "/help".to_owned(),
            (true, rest) => format!("/{rest}"),
            (false, rest) => format!("/{name} {rest}").trim_end().to_owned(),
        };
        let sender = Sender {
            name: names::clean_name(if known.name.is_empty() {
                &username
            } else {
                &known.name
            }),
            language: Language::from_tag(&known.locale),
            id,
            thread_of: None,
        };
        // It is not a message, so nothing can be reacted to.
        let envelope = Envelope {
            id: format!("{NAME}:command.{trigger}"),
            is_group: is_group(&chat),
            ..Envelope::written(&Address::new(NAME, &chat), sender, &text)
        };
        Some(Incoming::Message { envelope, username })
    }
}

/// What a person is shown at once who has used a command.
pub fn shown(text: &str) -> String {
    let command = ellipsize_chars(text, QUOTE_CHARS).replace('`', "'");
    format!("✓ `{}`", super::mrkdwn::escape(&command))
}

/// Whether others can read in a chat, by its id.
pub fn is_group(chat: &str) -> bool {
    !chat.starts_with(['D', 'U', 'W'])
}

/// A file of a message; `None` for one that cannot be fetched.
fn remote_file(file: &str) -> Option<RemoteFile> {
    let file = Members::read(file)?;
    let id = file.text("id").filter(|id| is_id(id))?;
    if ["tombstone", "hidden_by_limit", "external"].contains(&file.text_or_empty("mode").as_str()) {
        return None;
    }
    let url = file_url(&file).unwrap_or_default();
    let kind = file.text_or_empty("mimetype");
    let media = match kind.split('/').next().unwrap_or_default() {
        "image" => Media::Photo,
        "audio" if file.text_or_empty("subtype") == "slack_audio" => Media::Voice,
        "audio" => Media::Audio,
        "video" => Media::Video,
        _ => Media::Document,
    };
    Some(RemoteFile {
        media,
        id: format!("{id} {url}").trim_end().to_owned(),
        size: file.value("size").as_u64(),
        name: file
            .text("name")
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "file".to_owned()),
    })
}

/// Where a file is; `None` where that has to be asked for.
pub fn file_url(file: &Members<'_>) -> Option<String> {
    let url = file
        .text("url_private_download")
        .or_else(|| file.text("url_private"));
    url.filter(|url| {
        !url.is_empty() && url.len() <= URL_BYTES && !url.contains(char::is_whitespace)
    })
}
