//! `/cron` and `/remind`: the jobs of this conversation.

mod texts;

use super::{CommandAnswer, Invocation, Surface};
use crate::agent::Agent;
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Author, CommandButton};
use crate::schedule::edit::{self, NewJob};
use crate::schedule::meant_hour;
use crate::schedule::when::impossible_time;
use crate::schedule::{Job, PayloadKind, Schedule, show};
use crate::text::markup::{inline_code, plain};
use crate::text::reveal;
use crate::tools::cron::{Changer, Planner, Scope};

/// Jobs that `/cron` and `/remind` list, those that run next: two screens of a phone.
const JOBS_LISTED_MAX: usize = 40;

/// The jobs that a command works with, and who typed it.
struct Jobs<'a> {
    planner: &'a Planner,
    scope: Scope,
    language: Language,
    surface: Surface,
    /// The id of the message with the command.
    message: &'a str,
    author: Option<&'a Author>,
    role: Role,
}

impl Agent {
    /// Answers `/cron`: lists, plans and changes jobs.
    pub fn answer_cron(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let jobs = self.jobs_of(invocation)?;
        let argument = invocation.argument;
        let (word, rest) = argument
            .split_once(char::is_whitespace)
            .unwrap_or((argument, ""));
        jobs.answer_cron(&word.to_lowercase(), rest.trim())
    }

    /// Answers `/remind`: plans a reminder, or lists those that are pending.
    pub fn answer_remind(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let jobs = self.jobs_of(invocation)?;
        let text = invocation.argument;
        match text.split_once(char::is_whitespace) {
            None if matches!(text, "" | "list" | "ls") => jobs.list_reminders().map(Into::into),
            // No time begins so.
            Some(("remove" | "rm" | "cancel" | "delete", name)) => {
                jobs.answer_cron("remove", name.trim())
            }
            _ => jobs.remind(&self.toolbox.cleaned(text)),
        }
    }

    fn jobs_of<'a>(&'a self, invocation: &Invocation<'a>) -> Result<Jobs<'a>> {
        let language = invocation.language;
        let planner = self.toolbox.planner();
        let planner =
            planner.ok_or_else(|| Error::Usage(texts::turned_off(language).to_owned()))?;
        Ok(Jobs {
            planner,
            scope: Scope::of(invocation.key.as_str(), invocation.role),
            language,
            surface: invocation.surface,
            message: invocation.message,
            author: invocation.author,
            role: invocation.role,
        })
    }
}

impl Jobs<'_> {
    fn by(&self) -> Changer<'_> {
        Changer {
            scope: &self.scope,
            role: self.role,
            person: self.author,
            language: self.language,
        }
    }

    fn answer_cron(&self, word: &str, rest: &str) -> Result<CommandAnswer> {
        let Self {
            planner,
            scope,
            language,
            ..
        } = self;
        let language = *language;
        if matches!(word, "remove" | "rm" | "enable" | "disable" | "run") && rest.is_empty() {
            return Err(Error::Usage(texts::which(language).to_owned()));
        }
        let text = match word {
            "" | "list" => {
                let jobs = planner.jobs(scope)?;
                let lines = match jobs.is_empty() {
                    true => texts::no_jobs(language).to_owned(),
                    false => self.lines(&jobs),
                };
                format!("{lines}\n\n{}", texts::cron_usage(language))
            }
            "add" => {
                let (schedule, task) = self.split(rest, texts::cron_usage)?;
                if task.is_empty() {
                    return Err(self.without_text(&schedule, texts::no_task));
                }
                let new = NewJob {
                    kind: PayloadKind::AgentTurn,
                    message: task.to_owned(),
                    said: edit::said(rest, task),
                    made_from: edit::mark(self.message, ""),
                    planned_by: self.author.cloned(),
                    role: self.role,
                    ..NewJob::default()
                };
                let job = planner.add(scope, schedule, new, language)?;
                return Ok(self.added(&job, texts::planned(language, &self.line(&job))));
            }
            "remove" | "rm" => {
                let label = planner.remove(self.by(), rest)?;
                texts::removed(language, &plain(&reveal(&label)))
            }
            "enable" => {
                let job = planner.enable(self.by(), rest, true)?;
                texts::enabled(language, &self.line(&job))
            }
            "disable" => {
                let job = planner.enable(self.by(), rest, false)?;
                texts::disabled(language, &self.line(&job))
            }
            "run" => plain(&planner.run(self.by(), rest)?),
            _ => return Err(Error::Usage(texts::cron_usage(language).to_owned())),
        };
        Ok(text.into())
    }

    fn remind(&self, text: &str) -> Result<CommandAnswer> {
        let language = self.language;
        let (schedule, what) = self.split(text, texts::remind_usage)?;
        if what.is_empty() {
            return Err(self.without_text(&schedule, texts::no_text));
        }
        let new = NewJob {
            kind: PayloadKind::Reminder,
            message: what.to_owned(),
            said: edit::said(text, what),
            made_from: edit::mark(self.message, ""),
            planned_by: self.author.cloned(),
            role: self.role,
            ..NewJob::default()
        };
        let asker = self.planner.asker(language);
        let day = text.strip_suffix(what).unwrap_or_default().trim();
        let hour = edit::suggest_hour(day, what, asker);
        let job = self.planner.add(&self.scope, schedule, new, language)?;
        let listed = self.listed(&job);
        let what = plain(&reveal(&listed.title));
        let text = match job.schedule {
            Schedule::At { .. } => texts::reminder_set(language, &what, &listed.next),
            _ => {
                let schedule = plain(&listed.schedule);
                texts::reminder_set_repeating(language, &what, &schedule, &listed.next)
            }
        };
        let text = match hour {
            Some((hour, meant)) => {
                let command = inline_code(&format!("/remind {meant}"));
                format!("{text}\n{}", meant_hour(language, &hour, &command))
            }
            None => text,
        };
        Ok(self.added(&job, text))
    }

    /// The answer to a job that was planned: with a button that removes it.
    fn added(&self, job: &Job, mut text: String) -> CommandAnswer {
        let note = if self.surface == Surface::Terminal && !self.planner.runner.is_running() {
            texts::no_gateway(self.language)
        } else if self.scope.chat().is_none() {
            texts::goes_to_owner(self.language)
        } else {
            ""
        };
        if !note.is_empty() {
            text.push('\n');
            text += note;
        }
        let cancel = CommandButton {
            label: texts::cancel_button(self.language).to_owned(),
            command: format!("/cron remove {}", job.id),
        };
        CommandAnswer {
            text,
            buttons: match self.surface {
                Surface::Terminal => Vec::new(),
                _ => vec![vec![cancel]],
            },
            is_private: false,
        }
    }

    fn list_reminders(&self) -> Result<String> {
        let mut jobs = self.planner.jobs(&self.scope)?;
        let asker = self.planner.asker(self.language);
        jobs.retain(|job| {
            let next = show::next_run(job, asker.now_ms, asker.zone);
            job.payload.kind == PayloadKind::Reminder && job.enabled && next.is_some()
        });
        Ok(match jobs.is_empty() {
            true => {
                let (none, usage) = (
                    texts::no_reminders(self.language),
                    texts::remind_usage(self.language),
                );
                format!("{none}\n\n{usage}")
            }
            false => format!("{}\n{}", texts::pending(self.language), self.lines(&jobs)),
        })
    }

    /// The schedule at the beginning of a text, and the rest. The error says how it is meant.
    fn split<'t>(
        &self,
        text: &'t str,
        usage: fn(Language) -> &'static str,
    ) -> Result<(Schedule, &'t str)> {
        let found = edit::split(text, None, self.planner.asker(self.language))?;
        let (schedule, rest) = found.ok_or_else(|| {
            let problem = impossible_time(text);
            let problem = problem.unwrap_or_else(|| texts::no_time(self.language).to_owned());
            Error::Usage(format!("{problem}\n\n{}", usage(self.language)))
        })?;
        Ok((schedule, rest.trim()))
    }

    /// The error for a time without a text: what is missing, after the time as it was understood.
    fn without_text(
        &self,
        schedule: &Schedule,
        missing: fn(Language, &dyn std::fmt::Display) -> String,
    ) -> Error {
        let asker = self.planner.asker(self.language);
        let time = match schedule {
            Schedule::At { at_ms } => show::time(*at_ms, asker.now_ms, asker.zone, self.language),
            schedule => crate::schedule::when::describe(schedule, asker.zone, self.language),
        };
        Error::Usage(missing(self.language, &time))
    }

    /// The jobs as a list, the next one first.
    fn lines(&self, jobs: &[Job]) -> String {
        let asker = self.planner.asker(self.language);
        let mut jobs: Vec<(i64, &Job)> = jobs
            .iter()
            .map(|job| {
                let next = show::next_run(job, asker.now_ms, asker.zone);
                (next.filter(|_| job.enabled).unwrap_or(i64::MAX), job)
            })
            .collect();
        jobs.sort_by_key(|(next, _)| *next);
        let shown = jobs.iter().take(JOBS_LISTED_MAX);
        let mut lines: Vec<String> = shown
            .map(|(_, job)| format!("- {}", self.line(job)))
            .collect();
        if let Some(more @ 1..) = jobs.len().checked_sub(JOBS_LISTED_MAX) {
            lines.push(texts::and_more(self.language, &more));
        }
        lines.join("\n")
    }

    /// A job as a line of Markdown.
    fn line(&self, job: &Job) -> String {
        let asker = self.planner.asker(self.language);
        show::line(job, asker.now_ms, asker.zone, self.language)
    }

    fn listed(&self, job: &Job) -> show::Listed {
        let asker = self.planner.asker(self.language);
        show::list(job, asker.now_ms, asker.zone, self.language)
    }
}
