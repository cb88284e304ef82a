//! Fetches messages that were written while no connection was open. Slack sends an event again a few times within
//! some minutes only. Asked are the chats and threads that were active since the start, then the other ones that
//! the app is in; what is fetched and comes again is recognised by its number.

use super::{End, Line, Receiver};
use crate::channels::adapter::{Failure, Sent};
use crate::channels::backoff::doubled;
use crate::channels::slack::api::Api;
use crate::channels::slack::event::is_group;
use crate::channels::slack::{NAME, is_id, micros, ts_of};
use crate::clock::Stopwatch;
use crate::json::Members;
use crate::limits::channels::slack::{
    MISSED_CHATS, MISSED_OVERLAP_MICROS, MISSED_PAGES, MISSED_THREADS, MISSED_TIME,
};
use crate::limits::channels::{CALL_TIME, PATIENCE};
use crate::message::Address;

/// The search for messages that were missed.
struct Search {
    api: Api,
    /// The number from which on messages are asked for.
    since: i64,
    watch: Stopwatch,
    /// Why it is incomplete.
    failed: Option<Failure>,
}

impl Receiver<'_> {
    /// Fetches the messages that came after those that are known. Between two calls the connection is kept alive.
    pub(super) fn fetch_missed(&mut self, newest: i64, line: &mut Line) -> Result<(), End> {
        let mut search = Search {
            api: self.api(PATIENCE)?,
            since: newest.saturating_sub(MISSED_OVERLAP_MICROS),
            watch: Stopwatch::start(),
            failed: None,
        };
        let threads: Vec<Address> = self.chats.iter().cloned().collect();
        for chat in self.chats_to_ask(&mut search, line)? {
            let mut below = self.ask(&mut search, line, (&chat, None))?;
            let known = threads.iter().filter(|known| known.chat == chat);
            below.extend(known.filter_map(|known| known.thread.clone()));
            below.sort();
            below.dedup();
            // The newest first, as those are in use.
            for thread in below.iter().rev().take(MISSED_THREADS) {
                self.ask(&mut search, line, (&chat, Some(thread)))?;
            }
        }
        if let Some(failure) = search.failed {
            tracing::warn!(
                "failed to fetch messages that were written while Slack was not connected, so some may stay \
                 unanswered: {failure}"
            );
        }
        self.missed_since = None;
        Ok(())
    }

    /// The chats in which something newer may have been written, private ones first.
    fn chats_to_ask(&self, search: &mut Search, line: &mut Line) -> Result<Vec<String>, End> {
        let mut chats: Vec<String> = Vec::new();
        for known in self.chats.iter().rev() {
            if !chats.contains(&known.chat) {
                chats.push(known.chat.clone());
            }
        }
        let list = |api: &Api| {
            let kinds = "im,mpim,private_channel,public_channel";
            let arguments = [
                ("types", kinds),
                ("exclude_archived", "true"),
                ("limit", "200"),
            ];
            api.call("users.conversations", &arguments)
        };
        let reply = self.try_call(search, line, list)?.unwrap_or_default();
        let reply = Members::read(&reply).unwrap_or_default();
        let all = reply.list("channels").unwrap_or_default();
        let ids = all
            .iter()
            .filter_map(|channel| Members::read(channel.get())?.text("id"));
        let mut ids: Vec<String> = ids.filter(|id| is_id(id) && !chats.contains(id)).collect();
        ids.sort_by_key(|id| is_group(id));
        chats.extend(ids);
        chats.truncate(MISSED_CHATS);
        Ok(chats)
    }

    /// Takes the newer messages of a chat or a thread; returns the threads that have newer ones.
    fn ask(
        &mut self,
        search: &mut Search,
        line: &mut Line,
        (chat, thread): (&str, Option<&str>),
    ) -> Result<Vec<String>, End> {
        // Of a chat, older messages are looked at too: they may have newer ones below them.
        let oldest = thread.map_or_else(String::new, |_| ts_of(search.since));
        let (mut cursor, mut found, mut threads) = (String::new(), Vec::new(), Vec::new());
        for _ in 0..MISSED_PAGES {
            let get = |api: &Api| api.messages(chat, thread, (&oldest, &cursor), false);
            let Some(page) = self.try_call(search, line, get)? else {
                break;
            };
            let reply = Members::read(&page.reply).unwrap_or_default();
            let mut is_older = false;
            for message in reply.list("messages").unwrap_or_default() {
                let message = Members::read(message.get()).unwrap_or_default();
                let number = |name: &str| message.text(name).and_then(|ts| micros(&ts));
                let is_newer = |number: Option<i64>| number.is_some_and(|it| it > search.since);
                if thread.is_none() && is_newer(number("latest_reply")) {
                    threads.extend(message.text("thread_ts"));
                }
                if !is_newer(number("ts")) {
                    is_older = true;
                    continue;
                }
                let incoming = self.read(|reader| reader.message(chat, &message, false));
                found.extend(number("ts").zip(incoming));
            }
            cursor = page.cursor;
            if cursor.is_empty() || is_older && thread.is_none() {
                break;
            }
        }
        found.sort_by_key(|(number, _)| *number);
        let batch: Vec<_> = found.into_iter().map(|(_, incoming)| incoming).collect();
        if !batch.is_empty() {
            tracing::debug!(chat, count = batch.len(), "fetched messages of {NAME}");
            self.take(batch)?;
        }
        Ok(threads)
    }

    /// Makes a call, and repeats it while that may help and there is time. `None` when it failed.
    fn try_call<T>(
        &self,
        search: &mut Search,
        line: &mut Line,
        call: impl Fn(&Api) -> Sent<T>,
    ) -> Result<Option<T>, End> {
        for tries in 0.. {
            self.parts.heartbeat.beat(CALL_TIME);
            self.keep(line)?;
            let failure = match Self::stopped(call(&search.api))? {
                Ok(value) => return Ok(Some(value)),
                // The chat is gone, or not for the app to read.
                Err(Failure::Gone { .. } | Failure::Refused(_) | Failure::MessageGone) => break,
                Err(failure) => failure,
            };
            let wait = match &failure {
                Failure::RetryAfter(wait) => *wait,
                _ => doubled(tries),
            };
            if search.watch.elapsed() + wait > MISSED_TIME {
                search.failed = Some(failure);
                break;
            }
            if !self.wait(wait) {
                return Err(End::Stopped);
            }
        }
        Ok(None)
    }
}
