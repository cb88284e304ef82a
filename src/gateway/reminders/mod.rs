//! Reminders in chats: their text, and the buttons below it.
//!
//! A button names the job and the planned time of the run, and a press brings the text of the message
//! along. So a press means the same after a restart, and after the job has been removed.

mod press;
mod queue;
mod texts;

pub use queue::JobCommands;

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::base::language::Language;
use crate::base::limits::schedule::LATE_TOLD_MS;
use crate::base::message::{Address, CommandButton, OutgoingMessage};
use crate::text::markup::plain;
use crate::text::{ellipsize_chars, reveal_but};

/// Minutes until a reminder comes again that was snoozed.
const SNOOZE_MINUTES: i64 = 10;

/// Characters of a reminder. With its time and its buttons it is one message on every channel.
const REMINDER_CHARS: usize = 1000;

/// A reminder that is due.
#[derive(Clone, Copy, Debug)]
pub struct Reminder<'a> {
    /// The id of its job.
    pub job: &'a str,
    /// What a person wanted to be reminded of.
    pub text: &'a str,
    /// When it should have come, in the owner's zone.
    pub planned: DateTime<FixedOffset>,
    /// What time it is, in the same zone.
    pub now: DateTime<FixedOffset>,
    /// Why it is late, if that is not that the board was off or busy.
    pub delay: Option<Delay>,
}

/// The words that the buttons of a reminder have after `/remind`: none of them is a time.
const REMINDER_BUTTONS: [&str; 3] = ["done", "snooze", "again"];

/// Whether an argument of `/remind` is a button's.
pub fn is_button(argument: &str) -> bool {
    let word = argument.split_whitespace().next();
    word.is_some_and(|word| REMINDER_BUTTONS.contains(&word))
}

/// What kept a reminder from coming at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The disk was full.
    FullDisk,
    /// It could not be stored for another reason.
    NotStored,
}

impl Reminder<'_> {
    /// The message for a chat. It has an id, so that the outbox takes it once for each planned time.
    pub fn message(&self, to: &Address, language: Language) -> OutgoingMessage {
        let planned_ms = self.planned.timestamp_millis();
        let button = |label: String, word: &str| CommandButton {
            label,
            command: format!("/remind {word} {} {planned_ms}", self.job),
        };
        let [done, snooze, tomorrow] = REMINDER_BUTTONS;
        OutgoingMessage {
            command_buttons: vec![vec![
                button(texts::done_button(language).to_owned(), done),
                button(texts::snooze_button(language, &SNOOZE_MINUTES), snooze),
                button(texts::tomorrow_button(language).to_owned(), tomorrow),
            ]],
            once: format!("cron:{}:{planned_ms}", self.job),
            ..OutgoingMessage::text(to, self.describe(language))
        }
    }

    /// What it says, as Markdown.
    fn describe(&self, language: Language) -> String {
        let text = ellipsize_chars(self.text.trim(), REMINDER_CHARS);
        let text = plain(&reveal_but(&text, &["\n"]));
        let late = self.now.signed_duration_since(self.planned);
        let planned = format_time(self.planned, self.now);
        match self.delay {
            Some(Delay::FullDisk) => return texts::after_full_disk(language, &text, &planned),
            Some(Delay::NotStored) => return texts::after_failures(language, &text, &planned),
            None => {}
        }
        if late.num_milliseconds() < LATE_TOLD_MS {
            return format!("⏰ {text}");
        }
        texts::late_reminder(language, &text, &planned, &format_span(late, language))
    }
}

/// A time as people read it now: `18:20`, with its date on another day.
fn format_time(time: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
    let is_today = time.date_naive() == now.date_naive();
    let format = if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    time.format(format).to_string()
}

/// A span in its largest unit, and in the next one where that is not zero.
fn format_span(span: TimeDelta, language: Language) -> String {
    let minutes = span.num_minutes();
    let (days, hours, minutes) = (minutes / (24 * 60), minutes / 60 % 24, minutes % 60);
    let parts = match (days, hours) {
        (0, 0) => [None, Some(texts::minutes(language, &minutes))],
        (0, hours) => [
            Some(texts::hours(language, &hours)),
            (minutes > 0).then(|| texts::minutes(language, &minutes)),
        ],
        (days, hours) => [
            Some(texts::days(language, &days)),
            (hours > 0).then(|| texts::hours(language, &hours)),
        ],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
