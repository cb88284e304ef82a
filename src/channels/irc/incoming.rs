//! What people write, as lines of the server's. Pure; the intake decides who has access.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::DateTime;
use serde_json::json;

use super::ID_BYTES;
use super::format::strip;
use super::session::Session;
use super::session::line::{Line, Source};
use crate::channels::kit::names::with_slash;
use crate::channels::kit::relayed::is_answer_mark;
use crate::config::schema::GroupPolicy;

/// Open batches of a server.
const BATCHES: usize = 16;
/// Lines that are remembered so that a replay does not bring them again.
const SEEN: usize = 512;

/// Begins and ends what is meant for programs (CTCP). <https://modern.ircdocs.horse/ctcp>
const CTCP: char = '\u{1}';
/// Batches in which servers and bouncers send what was written earlier.
const REPLAYS: [&str; 3] = ["chathistory", "znc.in/playback", "draft/chathistory"];

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The same whenever it is sent again; `None` where the server does not tell its messages apart.
    pub id: Option<String>,
    /// Who wrote it.
    pub source: Source,
    /// The account that they are logged in to.
    pub account: Option<String>,
    /// The channel as the configuration spells it; `None` in private.
    pub channel: Option<String>,
    /// The text without formatting, and without our nick where it only addresses us.
    pub text: String,
    /// The same as it was written, where an exclamation mark at its beginning is no command.
    pub written: String,
    /// Whether it addresses us.
    pub is_for_us: bool,
    /// When it was written, in seconds since 1970, where the server says so.
    pub time: Option<i64>,
    /// Whether it was written earlier and is told now.
    pub is_replay: bool,
    /// Whether it replies to another message. The server does not tell us the ids of our own.
    pub is_reply: bool,
    /// Whether the id is made of the time and the text, so that two equal lines at the same time have the same one.
    pub is_id_made_up: bool,
}

/// What a connection has to remember to read messages.
#[derive(Debug, Default)]
pub struct Reader {
    /// The open batches with what was written earlier.
    replays: Vec<String>,
}

impl Reader {
    /// Reads a line; `None` for what is no message of a person. Notices are not read, so that two programs do not talk
    /// with each other for ever.
    pub fn read(&mut self, line: &Line, session: &Session, policy: GroupPolicy) -> Option<Message> {
        if line.command == "BATCH" {
            self.batch(line);
            return None;
        }
        let (support, source) = (session.support(), &line.source);
        let is_ours = support.case.is_same(&source.nick, session.nick());
        if line.command != "PRIVMSG" || !source.is_person() || is_ours || line.parameters.len() < 2
        {
            return None;
        }
        let target = line.parameter(0);
        let channel = support.channel(target);
        if channel.is_none() && !support.case.is_same(target, session.nick()) {
            return None;
        }
        if channel.is_some() && policy == GroupPolicy::Off {
            return None;
        }
        let said = readable(line.last(), &source.nick)?;
        let (text, is_named) = match channel {
            Some(_) => without_nick(&said, session),
            None => (said.as_str(), true),
        };
        let text = match text.trim() {
            "" => said.trim(),
            text => text,
        };
        let time = session
            .has("server-time")
            .then(|| line.tag("time"))
            .flatten();
        let time = time.and_then(|time| DateTime::parse_from_rfc3339(time).ok());
        let message_id = session
            .has("message-tags")
            .then(|| line.tag("msgid"))
            .flatten();
        let message_id = message_id.filter(|id| is_plain(id));
        let account = session
            .has("account-tag")
            .then(|| line.tag("account"))
            .flatten();
        Some(Message {
            id: message_id.map(str::to_owned).or_else(|| {
                let millis = time?.timestamp_millis();
                Some(format!("{millis}-{:016x}", hash(line)))
            }),
            source: source.clone(),
            account: account.map(str::to_owned),
            channel: channel.map(|channel| session.channel_name(channel)),
            text: with_slash(text),
            written: said.trim().to_owned(),
            is_id_made_up: message_id.is_none(),
            is_for_us: is_named || policy == GroupPolicy::Open,
            time: time.map(|time| time.timestamp()),
            is_reply: line
                .tags
                .iter()
                .any(|(name, value)| is_answer_mark(name, &json!(value))),
            is_replay: line.tag("batch").is_some_and(|batch| self.is_replay(batch)),
        })
    }

    fn batch(&mut self, line: &Line) {
        let reference = line.parameter(0);
        if let Some(name) = reference.strip_prefix('-') {
            self.replays.retain(|open| open != name);
        } else if let Some(name) = reference.strip_prefix('+') {
            // What is in a batch with what was written earlier was written earlier.
            let is_replay = REPLAYS.contains(&line.parameter(1))
                || line.tag("batch").is_some_and(|outer| self.is_replay(outer));
            if is_replay && self.replays.len() < BATCHES {
                self.replays.push(name.to_owned());
            }
        }
    }

    fn is_replay(&self, batch: &str) -> bool {
        self.replays.iter().any(|open| open == batch)
    }
}

/// The text as people read it; `None` for a request to a program, and for nothing.
fn readable(text: &str, nick: &str) -> Option<String> {
    let text = match text.strip_prefix(CTCP) {
        None => strip(text),
        Some(request) => {
            let words = request.trim_end_matches(CTCP).strip_prefix("ACTION ")?;
            format!("* {nick} {}", strip(words))
        }
    };
    (!text.trim().is_empty()).then(|| text.trim_end().to_owned())
}

/// A text in a channel without the nick that it begins with, and whether it names us: `crab: hi`, `crab, hi`, `hi @crab`.
fn without_nick<'t>(text: &'t str, session: &Session) -> (&'t str, bool) {
    let (case, nick) = (session.support().case, session.nick());
    let bare = text.trim_start();
    let begins = bare.strip_prefix('@').unwrap_or(bare);
    if let Some((name, rest)) = begins.split_at_checked(nick.len())
        && case.is_same(name, nick)
    {
        let is_at = bare.len() != begins.len();
        let rest_is = |char: char| rest.starts_with(char);
        if rest_is(':') || rest_is(',') || is_at && (rest.is_empty() || rest_is(' ')) {
            return (rest.trim_start_matches([':', ',', ' ']), true);
        }
    }
    let mut words = bare
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('@'));
    let is_nick = |word: &str| {
        let rest = word.get(nick.len()..);
        let name = word.get(..nick.len());
        let ends = |rest: &str| rest.chars().all(|char| ".,:;!?)".contains(char));
        name.is_some_and(|name| case.is_same(name, nick)) && rest.is_some_and(ends)
    };
    (text, words.any(is_nick))
}

/// Whether an id of a message can be kept as it is.
fn is_plain(id: &str) -> bool {
    id.len() <= ID_BYTES && id.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A number that is the same for the same message of the same sender to the same target.
fn hash(line: &Line) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.source.mask().hash(&mut hasher);
    line.parameters.hash(&mut hasher);
    hasher.finish()
}

/// The messages that came last, by their ids.
#[derive(Debug, Default)]
pub struct Seen(VecDeque<String>);

impl Seen {
    /// Messages that came before, by their ids.
    pub fn of(ids: impl IntoIterator<Item = String>) -> Self {
        Self(ids.into_iter().collect())
    }

    /// Takes note of one; false if it was here before.
    pub fn note(&mut self, id: &str) -> bool {
        if self.0.iter().any(|known| known == id) {
            return false;
        }
        if self.0.len() >= SEEN {
            self.0.pop_front();
        }
        self.0.push_back(id.to_owned());
        true
    }
}

#[cfg(test)]
mod tests;
