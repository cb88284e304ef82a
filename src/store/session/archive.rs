//! Moving the older part of a journal that has grown too long to the archive.

use chrono::{DateTime, FixedOffset};

use crate::base::error::{Error, Result};

use super::PENDING_JOURNALS;
use super::line::{self, Marks, State};
use super::window::read_window;
use super::{Session, store};

/// Bytes of a journal below which it is not worth to rewrite it for the archive.
const ARCHIVE_MIN_BYTES: u64 = 64 * 1024;

impl Session {
    /// Moves entries that no longer go to the model to the archive, when the journal has grown beyond its
    /// limit and no turn is running. A failure is only logged: the journal is as it was, and the next
    /// attempt comes when it has grown some more.
    pub(super) fn archive(&mut self) {
        let length = self.log.length();
        if self.unfinished || length <= self.archive_above {
            return;
        }
        self.archive_above = length + ARCHIVE_MIN_BYTES.min(self.settings.journal_bytes / 8);
        match self.try_archive(length) {
            Ok(true) => self.archive_above = self.settings.journal_bytes,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(session = %self.chat, "failed to archive the journal: {error}")
            }
        }
    }

    /// Returns whether enough could go to be worth it.
    fn try_archive(&mut self, length: u64) -> Result<bool> {
        let path = self.log.path().to_owned();
        // What is in memory may be less than what goes to the model after the next start.
        let window = read_window(self.log.tail(), self.settings.window)
            .map_err(Error::io("read the session", &path))?;
        let unneeded = window.first_offset.unwrap_or(length);
        let mut keep = unneeded.min(self.marks.remembered_to);
        if keep < unneeded && length > self.settings.journal_bytes * PENDING_JOURNALS {
            tracing::warn!(session = %self.chat, "archived messages that are not in the memory yet");
            keep = unneeded;
        }
        let (now, head) = (self.settings.clock.now(), self.head_of_rest(keep));
        let begin = head.len() as u64;
        if keep < length / 2 || keep < begin {
            return Ok(false);
        }
        store::remove_links(&path)?;
        let archive = store::archive_path(&path, now);
        self.log
            .archive(&archive, keep, &head, |line| line::moved(line, keep, begin))?;
        self.conversation = window.conversation;
        self.conversation.moved(keep, begin);
        self.marks = self.marks.moved(keep, begin);
        store::prune_archive(&path, self.settings.archive_bytes)?;
        Ok(true)
    }

    /// The first line of a new journal: whose it is.
    pub(super) fn head(&self) -> Vec<u8> {
        self.head_with(self.settings.clock.now(), None, None)
    }

    /// The first line of a journal that goes on with what is at the byte `keep` of this one: it has the
    /// marks, and the summary if that is before.
    fn head_of_rest(&self, keep: u64) -> Vec<u8> {
        let summary = self.conversation.summary_text();
        let is_before = self.marks.summary_at.is_some_and(|place| place < keep);
        let summary = summary.filter(|_| is_before);
        // The places in it depend on its length. None of them is behind the end of this journal.
        let end = self.log.length();
        let widest = Marks {
            remembered_to: end,
            cleared_to: end,
            window_from: end,
            shortened_to: end,
            summary_at: Some(end),
        };
        let now = self.settings.clock.now();
        let length = self.head_with(now, Some(widest), summary).len();
        let marks = self.marks.moved(keep, length as u64);
        line::padded(self.head_with(now, Some(marks), summary), length)
    }

    fn head_with(
        &self,
        now: DateTime<FixedOffset>,
        marks: Option<Marks>,
        summary: Option<&str>,
    ) -> Vec<u8> {
        let state = State {
            key: Some(self.chat.to_string()),
            created_at: Some(now.to_rfc3339()),
            summary: summary.map(str::to_owned),
            marks,
            ..State::default()
        };
        line::encode_state(&state, now)
    }
}
