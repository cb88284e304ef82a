//! Fetches messages that were written while there was no session: those in private chats of people who have access, and
//! those in chats that were active last.

use std::collections::VecDeque;
use std::time::Duration;

use super::{End, Receiver};
use crate::base::clock::Stopwatch;
use crate::base::limits::channels::{CALL_TIME, MISSED_CHATS, PATIENCE};
use crate::channels::discord::DISCORD_MISSED_MESSAGES;
use crate::channels::discord::api::Api;
use crate::channels::discord::event::Reader;
use crate::channels::discord::types::{Message, snowflake};
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::http::websocket::Websocket;

/// How often one chat is asked for more missed messages.
const DISCORD_MISSED_PAGES: u32 = 3;
/// Messages whose ids are this much older than the newest known one are fetched again: events may come
/// slightly out of order.
const DISCORD_MISSED_OVERLAP: Duration = Duration::from_secs(10);

/// Bits of an id behind its milliseconds.
const SNOWFLAKE_BITS: u32 = 22;

/// A call that may find messages that were missed.
pub(super) enum Question {
    /// The private chat of a person.
    Person(String),
    /// The messages of a chat.
    Messages {
        chat: String,
        is_group: bool,
        /// The id of the last message that was fetched; `None` before the first page.
        after: Option<i64>,
        pages: u32,
    },
}

impl Question {
    fn about(chat: String, is_group: bool) -> Self {
        Self::Messages {
            chat,
            is_group,
            after: None,
            pages: 0,
        }
    }
}

impl Receiver<'_> {
    /// Fetches the messages that came after those that are known, for some time. Between two calls the connection is
    /// kept alive; its events wait.
    pub(super) fn fetch_missed(
        &mut self,
        socket: &mut Websocket,
        time: Duration,
    ) -> Result<(), End> {
        if self.missed.wait(self.now()) != Some(Duration::ZERO) {
            return Ok(());
        }
        let watch = Stopwatch::start();
        let api = self.api(PATIENCE)?;
        let intake = self.parts.intake.clone();
        loop {
            let now = self.now();
            let first = |active: &_| first_questions(active, intake.known_people());
            let Some(question) = self.missed.next(now, first) else {
                return Ok(());
            };
            self.parts.heartbeat.beat(CALL_TIME);
            for action in self.session.tick(self.now(), false) {
                self.perform(action, socket)?;
            }
            match self.ask(&api, &question)? {
                Ok(next) => self.missed.answered(next.into_iter().collect(), Vec::new()),
                Err(Failure::Stopped) => return Err(End::Stopped),
                // The person, or the chat, is gone.
                Err(Failure::Gone { .. } | Failure::Refused(_) | Failure::MessageGone) => {
                    self.missed.answered(Vec::new(), Vec::new());
                }
                Err(failure) => self.missed.failed(question, &failure, self.now()),
            }
            if watch.elapsed() > time {
                return Ok(());
            }
        }
    }

    /// Makes a call and takes what it finds. Returns what is to be asked next because of it.
    fn ask(&mut self, api: &Api, question: &Question) -> Result<Sent<Option<Question>>, End> {
        let since = self.missed.since().unwrap_or(i64::MAX);
        let (chat, is_group, after, pages) = match question {
            Question::Person(person) => {
                let dm = match api.create_dm(person) {
                    Ok(dm) => dm,
                    Err(failure) => return Ok(Err(failure)),
                };
                let is_newer = snowflake(&dm.last_message_id).is_some_and(|id| id > since);
                let is_known = self.missed.chats().iter().any(|(chat, _)| *chat == dm.id);
                let is_asked = is_newer && !is_known && snowflake(&dm.id).is_some();
                return Ok(Ok(is_asked.then(|| Question::about(dm.id, false))));
            }
            Question::Messages {
                chat,
                is_group,
                after,
                pages,
            } => (chat, *is_group, *after, *pages),
        };
        // Some come again, and are recognised: events may come slightly out of order.
        let overlap = i64::try_from(DISCORD_MISSED_OVERLAP.as_millis()).unwrap_or_default();
        let first = since.saturating_sub(overlap << SNOWFLAKE_BITS).max(0);
        let messages = match api.get_messages(chat, after.unwrap_or(first)) {
            Ok(messages) => messages,
            Err(failure) => return Ok(Err(failure)),
        };
        let is_all = messages.len() < DISCORD_MISSED_MESSAGES;
        let last = messages.iter().filter_map(|message| snowflake(&message.id));
        let last = last.max().filter(|_| !is_all);
        self.take_missed(messages, is_group)?;
        if last.is_some() && pages + 1 >= DISCORD_MISSED_PAGES {
            tracing::warn!(
                chat,
                "too much was written since Discord was last reached, so the newest of it stays unanswered"
            );
            return Ok(Ok(None));
        }
        Ok(Ok(last.map(|last| Question::Messages {
            chat: chat.clone(),
            is_group,
            after: Some(last),
            pages: pages + 1,
        })))
    }

    fn take_missed(&mut self, messages: Vec<Message>, is_group: bool) -> Result<(), End> {
        let intake = self.parts.intake.clone();
        let reader = Reader {
            me: &self.me,
            policy: self.parts.config.group_policy,
            awaits: &|chat, person| intake.is_awaited(chat, person),
        };
        let read = |mut message: Message| {
            // Replies of the REST API do not name the server.
            message.guild_id = is_group.then(String::new);
            reader.missed(&message)
        };
        let batch = messages.into_iter().filter_map(read).collect();
        self.take(batch)
    }
}

/// The chats that were active last, and then the private chats of people who have access.
fn first_questions(active: &VecDeque<(String, bool)>, mut people: Vec<String>) -> Vec<Question> {
    people.retain(|person| snowflake(person).is_some());
    people.truncate(MISSED_CHATS);
    let chats = active.iter().cloned();
    let chats = chats.map(|(chat, is_group)| Question::about(chat, is_group));
    chats
        .chain(people.into_iter().map(Question::Person))
        .collect()
}
