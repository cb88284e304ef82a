//! Fetches messages that were written while no connection was open. Slack sends an event again a few times within
//! some minutes only. Asked are the chats and threads that were active last, then the other ones that the app is in;
//! what is fetched and comes again is recognised by its number.

use std::collections::VecDeque;
use std::time::Duration;

use super::{End, Line, Receiver};
use crate::base::clock::Stopwatch;
use crate::base::json::Members;
use crate::base::limits::channels::{CALL_TIME, MISSED_CHATS, PATIENCE};
use crate::base::message::Address;
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::sink::Incoming;
use crate::channels::slack::api::{Api, Page};
use crate::channels::slack::event::is_group;
use crate::channels::slack::{NAME, is_id, micros, ts_of};

/// How often one chat or thread is asked for more.
const MISSED_PAGES: u32 = 3;
/// Threads of one chat that are asked for missed messages.
const MISSED_THREADS: usize = 16;
/// Messages that are this much older than the newest known one are fetched again: events may come slightly out
/// of order. In microseconds, as Slack numbers messages.
const MISSED_OVERLAP_MICROS: i64 = 10_000_000;

/// A call that may find messages that were missed.
pub(super) enum Question {
    /// The chats that the app is in.
    Chats,
    /// The messages of a chat or a thread.
    Messages(Search),
}

/// The search in a chat or a thread, as far as it has come.
#[derive(Default)]
pub(super) struct Search {
    chat: String,
    thread: Option<String>,
    /// The next page; empty: the first one.
    cursor: String,
    pages: u32,
    /// What was found, with its numbers.
    found: Vec<(i64, Incoming)>,
    /// The threads that have newer messages.
    threads: Vec<String>,
}

impl Question {
    fn about(chat: &str, thread: Option<String>) -> Self {
        Self::Messages(Search {
            chat: chat.to_owned(),
            thread,
            ..Search::default()
        })
    }
}

/// What Slack has answered.
enum Answer {
    Chats(String),
    Page(Search, Page),
    /// The chat is gone, or not for the app to read.
    Nothing(Question),
}

/// The chats that were active last, the newest first, and then the other ones.
fn first_questions(active: &VecDeque<Address>) -> Vec<Question> {
    let mut chats: Vec<&str> = Vec::new();
    for known in active.iter().rev() {
        if !chats.contains(&known.chat.as_str()) {
            chats.push(&known.chat);
        }
    }
    let questions = chats.into_iter().map(|chat| Question::about(chat, None));
    questions.chain([Question::Chats]).collect()
}

impl Receiver<'_> {
    /// Fetches the messages that came after those that are known, for some time. Between two calls the connection is
    /// kept alive.
    pub(super) fn fetch_missed(&mut self, line: &mut Line, time: Duration) -> Result<(), End> {
        if self.missed.wait(self.now()) != Some(Duration::ZERO) {
            return Ok(());
        }
        let watch = Stopwatch::start();
        let api = self.api(PATIENCE)?;
        loop {
            let now = self.now();
            let Some(question) = self.missed.next(now, first_questions) else {
                return Ok(());
            };
            self.parts.heartbeat.beat(CALL_TIME);
            self.keep(line)?;
            if let Some(answer) = self.ask(&api, question)? {
                self.read_answer(answer)?;
            }
            if watch.elapsed() > time {
                return Ok(());
            }
        }
    }

    /// Makes a call; `None` when it is to be made again later.
    fn ask(&mut self, api: &Api, question: Question) -> Result<Option<Answer>, End> {
        let since = ts_of(self.missed_since());
        let (question, failure) = match question {
            Question::Chats => {
                let kinds = "im,mpim,private_channel,public_channel";
                let arguments = [
                    ("types", kinds),
                    ("exclude_archived", "true"),
                    ("limit", "200"),
                ];
                match Self::stopped(api.call("users.conversations", &arguments))? {
                    Ok(reply) => return Ok(Some(Answer::Chats(reply))),
                    Err(failure) => (Question::Chats, failure),
                }
            }
            Question::Messages(search) => {
                let thread = search.thread.as_deref();
                // Of a chat, older messages are looked at too: they may have newer ones below them.
                let oldest = thread.map_or("", |_| since.as_str());
                let page = api.messages(&search.chat, thread, (oldest, &search.cursor), false);
                match Self::stopped(page)? {
                    Ok(page) => return Ok(Some(Answer::Page(search, page))),
                    Err(failure) => (Question::Messages(search), failure),
                }
            }
        };
        Ok(match failure {
            Failure::Gone { .. } | Failure::Refused(_) | Failure::MessageGone => {
                Some(Answer::Nothing(question))
            }
            failure => {
                self.missed.failed(question, &failure, self.now());
                None
            }
        })
    }

    /// The number from which on messages are asked for.
    fn missed_since(&self) -> i64 {
        let since = self.missed.since().unwrap_or(i64::MAX);
        since.saturating_sub(MISSED_OVERLAP_MICROS)
    }

    fn read_answer(&mut self, answer: Answer) -> Result<(), End> {
        match answer {
            Answer::Chats(reply) => {
                let others = self.other_chats(&reply);
                self.missed.answered(Vec::new(), others);
                Ok(())
            }
            Answer::Page(search, page) => self.read_page(search, &page),
            Answer::Nothing(Question::Messages(search)) => self.finish(search),
            Answer::Nothing(Question::Chats) => {
                self.missed.answered(Vec::new(), Vec::new());
                Ok(())
            }
        }
    }

    /// The chats that the app is in besides those that were active last, private ones first.
    fn other_chats(&self, reply: &str) -> Vec<Question> {
        let reply = Members::read(reply).unwrap_or_default();
        let all = reply.list("channels").unwrap_or_default();
        let ids = all
            .iter()
            .filter_map(|channel| Members::read(channel.get())?.text("id"));
        let known = self.missed.chats();
        let is_known = |id: &String| known.iter().any(|known| known.chat == *id);
        let mut ids: Vec<String> = ids.filter(|id| is_id(id) && !is_known(id)).collect();
        ids.sort_by_key(|id| is_group(id));
        ids.truncate(MISSED_CHATS);
        ids.iter().map(|id| Question::about(id, None)).collect()
    }

    /// Reads the newer messages of a page, and asks for the next one while there are more.
    fn read_page(&mut self, mut search: Search, page: &Page) -> Result<(), End> {
        let since = self.missed_since();
        let reply = Members::read(&page.reply).unwrap_or_default();
        let mut is_older = false;
        let (found, threads) = (search.found.len(), search.threads.len());
        for message in reply.list("messages").unwrap_or_default() {
            let message = Members::read(message.get()).unwrap_or_default();
            let number = |name: &str| message.text(name).and_then(|ts| micros(&ts));
            let is_newer = |number: Option<i64>| number.is_some_and(|it| it > since);
            if search.thread.is_none() && is_newer(number("latest_reply")) {
                search.threads.extend(message.text("thread_ts"));
            }
            if !is_newer(number("ts")) {
                is_older = true;
                continue;
            }
            let read = self.read(|reader| reader.message(&search.chat, &message, false));
            let Some(incoming) = read else {
                // The page is asked for again.
                search.found.truncate(found);
                search.threads.truncate(threads);
                let failure = Failure::Trouble("a sender's name is unknown".to_owned());
                self.missed
                    .failed(Question::Messages(search), &failure, self.now());
                return Ok(());
            };
            search.found.extend(number("ts").zip(incoming));
        }
        search.pages += 1;
        search.cursor.clone_from(&page.cursor);
        let is_last = search.cursor.is_empty() || is_older && search.thread.is_none();
        if is_last {
            return self.finish(search);
        }
        if search.pages >= MISSED_PAGES {
            tracing::warn!(
                chat = search.chat,
                "too much was written since Slack was last reached, so some of it stays unanswered"
            );
            return self.finish(search);
        }
        self.missed
            .answered(vec![Question::Messages(search)], Vec::new());
        Ok(())
    }

    /// Takes what was found in a chat or a thread; then the threads of a chat are asked for.
    fn finish(&mut self, search: Search) -> Result<(), End> {
        let Search {
            chat,
            thread,
            mut found,
            threads: mut below,
            ..
        } = search;
        let mut next = Vec::new();
        if thread.is_none() {
            let known = self.missed.chats().iter();
            let known = known.filter(|known| known.chat == chat);
            below.extend(known.filter_map(|known| known.thread.clone()));
            below.sort();
            below.dedup();
            // The newest first, as those are in use.
            let newest = below.into_iter().rev().take(MISSED_THREADS);
            next.extend(newest.map(|thread| Question::about(&chat, Some(thread))));
        }
        found.sort_by_key(|(number, _)| *number);
        let batch: Vec<_> = found.into_iter().map(|(_, incoming)| incoming).collect();
        if !batch.is_empty() {
            tracing::debug!(chat, count = batch.len(), "fetched messages of {NAME}");
            self.take(batch)?;
        }
        self.missed.answered(next, Vec::new());
        Ok(())
    }
}
