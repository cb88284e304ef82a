//! What happens when a button of a reminder is pressed. The last press counts, also of several
//! people: done takes back a reminder that was to come again, and there is at most one such for each message.

use chrono::{Days, NaiveDateTime};
use ring::digest::{SHA256, digest};

use super::REMINDER_BUTTONS;
use super::SNOOZE_MINUTES;
use super::texts;
use crate::agent::Agent;
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::language::Language;
use crate::base::limits::schedule::{JOBS_MAX, MESSAGE_BYTES_MAX};
use crate::base::message::{Address, Envelope, OutgoingMessage, PressedMessage};
use crate::base::zone::{Local, Zone};
use crate::gateway::Gateway;
use crate::gateway::commands::Call;
use crate::gateway::commands::texts::format_error;
use crate::schedule::show;
use crate::schedule::{Job, Payload, PayloadKind, Schedule};
use crate::text::markup::plain;
use crate::text::{one_line, reveal_but, truncate_bytes};
use crate::tools::cron::Planner;
use std::sync::Arc;

/// Characters of the name of a person who has pressed a button.
const REMINDER_NAME_CHARS: usize = 40;

/// What [`REMINDER_BUTTONS`] mean.
const CHOICES: [Choice; 3] = [Choice::Done, Choice::Snooze, Choice::Tomorrow];

/// What a button says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Done,
    /// Again in some minutes.
    Snooze,
    /// Again at the same time on the next day.
    Tomorrow,
}

/// A press, as the button's command says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Press<'a> {
    pub choice: Choice,
    pub job: &'a str,
    pub planned_ms: i64,
}

impl<'a> Press<'a> {
    /// Reads what follows `/remind`; `None` when it is not from a button of a reminder.
    pub fn parse(argument: &'a str) -> Option<Self> {
        let mut words = argument.split_whitespace();
        let word = words.next()?;
        let known = REMINDER_BUTTONS.iter().zip(&CHOICES);
        let (_, choice) = known.into_iter().find(|(known, _)| **known == word)?;
        let press = Self {
            choice: *choice,
            job: words.next()?,
            planned_ms: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(press)
    }

    /// The words for when it comes again, by which it is [corrected](crate::schedule::correct::correct).
    pub fn words(&self, zone: &Zone) -> Option<String> {
        match self.choice {
            Choice::Done => None,
            Choice::Snooze => Some(format!("in {SNOOZE_MINUTES}m")),
            Choice::Tomorrow => {
                let planned = zone.at(self.planned_ms.div_euclid(1000));
                Some(format!("tomorrow {}", planned.format("%H:%M")))
            }
        }
    }

    /// When it comes again; `None` when it is done.
    pub fn again_at(&self, now_ms: i64, zone: &Zone) -> Option<i64> {
        match self.choice {
            Choice::Done => None,
            Choice::Snooze => Some(now_ms.saturating_add(SNOOZE_MINUTES * 60_000)),
            Choice::Tomorrow => {
                let now = zone.at(now_ms.div_euclid(1000));
                let planned = zone.at(self.planned_ms.div_euclid(1000));
                let day = now.date_naive().checked_add_days(Days::new(1))?;
                let time = NaiveDateTime::new(day, planned.time());
                let seconds = match zone.resolve(time) {
                    Local::Once(at) | Local::Twice(at, _) => at,
                    Local::Gap { after } => after,
                };
                Some(seconds.saturating_mul(1000))
            }
        }
    }
}

impl Gateway {
    /// Answers `/remind`. A press of a reminder's button edits its message.
    pub(in crate::gateway) fn answer_remind(self: &Arc<Self>, call: &Call<'_>) {
        let message = call.message;
        let press = Press::parse(call.argument);
        let Some((pressed, press)) = message.pressed.as_ref().zip(press) else {
            return self.finish_with(message, self.have_agent_answer(call, Agent::answer_remind));
        };
        match self.try_press(message, pressed, press) {
            Ok(edit) => {
                if let Err(error) = self.enqueue(edit, None) {
                    tracing::error!(chat = %message.address(), "failed to store a message: {error}");
                }
                self.parts.inbox.taken(&message.id);
            }
            Err(error) => {
                let text = format_error(&error, message.language());
                self.finish_command(message, text);
            }
        }
    }

    fn try_press(
        &self,
        message: &Envelope,
        pressed: &PressedMessage,
        press: Press<'_>,
    ) -> Result<OutgoingMessage> {
        let (to, language) = (message.address(), message.language());
        let live = self.live();
        let planner = live.agents.default_agent().toolbox().planner();
        let Some(planner) = planner else {
            return Err(Error::Usage(texts::turned_off(language).to_owned()));
        };
        let asker = planner.asker(language);
        let (now_ms, zone) = (asker.now_ms, asker.zone);
        let again_at = press.again_at(now_ms, zone);
        if settle(planner, (&to, pressed, message), press, again_at, language)? {
            self.cron.look_soon();
        }
        let who = message.sender().map(|sender| &sender.name);
        let who = who.filter(|name| message.is_group && !name.trim().is_empty());
        let who = who.map(|name| plain(&one_line(name, REMINDER_NAME_CHARS)));
        let time = |ms: i64| plain(&show::time(ms, now_ms, zone, language));
        let clock = zone.at(now_ms.div_euclid(1000)).format("%H:%M");
        let outcome = match (again_at, who) {
            (None, None) => texts::done(language, &clock),
            (None, Some(who)) => texts::done_by(language, &clock, &who),
            (Some(at), None) => texts::again(language, &time(at)),
            (Some(at), Some(who)) => texts::again_by(language, &time(at), &who),
        };
        let said = without_outcome(pressed.text.trim());
        let said = plain(&reveal_but(said, &["\n"]));
        Ok(match said.is_empty() || !self.edits(&to) {
            // The channel has not said what the message is, or cannot edit it: an answer leaves it as it is.
            true => OutgoingMessage {
                reply_to: pressed.id.clone(),
                ..OutgoingMessage::text(&to, outcome)
            },
            false => OutgoingMessage {
                edits: pressed.id.clone(),
                ..OutgoingMessage::text(&to, format!("{said}\n\n{outcome}"))
            },
        })
    }
}

/// Plans the reminder that comes again, or removes it. Returns whether the jobs have changed.
fn settle(
    planner: &Planner,
    (to, pressed, message): (&Address, &PressedMessage, &Envelope),
    press: Press<'_>,
    again_at: Option<i64>,
    language: Language,
) -> Result<bool> {
    let id = follow_up_id(to, &pressed.id);
    let jobs = planner.store.read()?.jobs;
    let Some(at_ms) = again_at else {
        let is_planned = jobs.iter().any(|job| job.id == id);
        if is_planned {
            planner.store.change(|jobs| {
                jobs.retain(|job| job.id != id);
                Ok(())
            })?;
        }
        return Ok(is_planned);
    };
    // A button's data can be forged: a job that names no chat is known only by the pressed message's text.
    let is_here = |job: &&Job| {
        let chat = job.payload.chat();
        job.id == press.job && chat.is_some_and(|chat| chat == *to)
    };
    let of_job = jobs.iter().find(is_here);
    let of_job = of_job.filter(|job| job.payload.kind == PayloadKind::Reminder);
    let text = match of_job {
        Some(job) => job.payload.message.clone(),
        None => text_of(&pressed.text).to_owned(),
    };
    if text.is_empty() {
        return Err(Error::Usage(texts::text_unknown(language).to_owned()));
    }
    let payload = Payload {
        kind: PayloadKind::Reminder,
        message: truncate_bytes(&text, MESSAGE_BYTES_MAX).to_owned(),
        channel: Some(to.channel.clone()),
        to: Some(to.within_channel()),
        ..Payload::default()
    };
    let asker = planner.asker(language);
    let now_ms = asker.now_ms;
    let said = press.words(asker.zone).filter(|_| !asker.is_clock_right);
    planner.store.change(|jobs| {
        jobs.retain(|job| job.id != id);
        let most = message.role.places(JOBS_MAX);
        if jobs.len() >= most {
            return Err(Error::Usage(match message.role {
                Role::Owner => texts::too_many(language, &most),
                _ => texts::too_many_of_others(language, &most),
            }));
        }
        let mut job = Job::new(&id, Schedule::At { at_ms }, payload, now_ms);
        job.delete_after_run = true;
        job.said = said;
        job.planned_by = message.author();
        job.planned_role = job.planned_by.is_some().then_some(message.role);
        jobs.push(job);
        Ok(())
    })?;
    Ok(true)
}

/// The id of the job that repeats the reminder of a message: the same for each press of its buttons.
fn follow_up_id(to: &Address, message: &str) -> String {
    let hash = digest(&SHA256, format!("{to}/{message}").as_bytes());
    format!("again-{}", hex(hash.as_ref().iter().take(5)))
}

/// The text of a reminder's message without what an earlier press has added to it.
pub(super) fn without_outcome(message: &str) -> &str {
    let begins = |last: &str| {
        let outcomes = |language| [texts::done(language, &GAP), texts::again(language, &GAP)];
        Language::ALL.into_iter().flat_map(outcomes).any(|outcome| {
            let begin = outcome.split(GAP).next().unwrap_or_default();
            !begin.is_empty() && last.starts_with(begin)
        })
    };
    match message.trim_end().rsplit_once("\n\n") {
        Some((text, last)) if !last.contains('\n') && begins(last) => text.trim_end(),
        _ => message,
    }
}

/// The value with which texts are filled, to find the words around it.
const GAP: char = '\0';

/// What is around the values behind the text of a late reminder, in every language.
fn late_endings() -> impl Iterator<Item = (String, String)> {
    let late = |language| {
        [
            texts::late_reminder(language, &GAP, &GAP, &GAP),
            texts::after_full_disk(language, &GAP, &GAP),
            texts::after_failures(language, &GAP, &GAP),
        ]
    };
    Language::ALL.into_iter().flat_map(late).filter_map(|text| {
        let (_, behind) = text.split_once(GAP)?;
        let (begin, rest) = behind.split_once(GAP)?;
        let (_, end) = rest.rsplit_once(GAP).unwrap_or(("", rest));
        Some((begin.to_owned(), end.to_owned()))
    })
}

/// What a reminder was about, from the text of its message.
pub(super) fn text_of(message: &str) -> &str {
    let text = without_outcome(message.trim());
    let text = text.strip_prefix('⏰').unwrap_or(text).trim_start();
    let without = late_endings().find_map(|(begin, end)| {
        let (text, _) = text.strip_suffix(&*end)?.rsplit_once(&*begin)?;
        Some(text)
    });
    without.unwrap_or(text).trim_end()
}
