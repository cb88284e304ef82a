//! `/logs` and `/svc`: the services of the system.

use super::services::{
    Change, Logs, MISSING, NO_UNIT, Services, lacks_rights, polkit_rule, read_list, sudoers_line,
};
use super::{Answer, Asking, button, describe_output, in_rows, texts};
use super::{CHANGE_TIME, LOOK_TIME};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::CommandButton;
use crate::board::look::journal;
use crate::gateway::shell::Begun;
use crate::sys::port::user_name;
use crate::text::markup::{code_block, inline_code, plain};
use crate::tools::commands::{OwnerAction, ShellResult, Watched};
use std::time::Duration;

/// How long a log is followed.
const FOLLOW_TIME: Duration = Duration::from_secs(10 * 60);
/// Units that get buttons below a list of services.
const UNIT_BUTTONS: usize = 4;
/// Units that a list of services names.
const UNITS_SHOWN: usize = 20;

impl Asking<'_> {
    pub(in crate::gateway) fn logs(&self) -> Result<Answer> {
        let language = self.language;
        let usage = || Error::Usage(texts::logs_usage(language).to_owned());
        let asked = Logs::parse(self.argument).ok_or_else(usage)?;
        let (time, is_shown) = match asked {
            Logs::Follow(_) => (FOLLOW_TIME, true),
            Logs::Warnings | Logs::Last(..) => (LOOK_TIME, false),
        };
        let _following = match asked {
            Logs::Follow(unit) => self.begin_following(unit)?,
            Logs::Warnings | Logs::Last(..) => None,
        };
        let mut ran = self.look(&asked.line(), time, is_shown)?;
        if ran.status == Some(MISSING) {
            return Err(Error::Failed(texts::no_journal(language).to_owned()));
        }
        // It ends when it is stopped, or after its time: as it should.
        ran.is_success |= is_shown && ran.status.is_none();
        self.check_journal(&ran)?;
        let empty = match asked {
            Logs::Warnings => texts::no_warnings(language).to_owned(),
            Logs::Last(unit, _) | Logs::Follow(unit) => {
                texts::no_lines(language, &inline_code(unit))
            }
        };
        Ok(describe_output(ran, &empty))
    }

    /// Lists it as a running command until the end, in which nothing can be typed. Fails when the journal has nothing
    /// that could be followed, or there is no such unit: journalctl would wait for it in silence.
    fn begin_following(&self, unit: &str) -> Result<Option<Begun<'_>>> {
        let checked = self.look(Logs::CHECK, LOOK_TIME, false)?;
        let mut lines = checked.output.lines();
        let is_indented = |line: &str| line.is_empty() || line.starts_with(' ');
        if !lines.any(|line| !is_indented(line) && journal::is_entry(line)) {
            self.check_complaint(&checked.output)?;
        }
        let found = self.look(&Logs::find(unit), LOOK_TIME, false)?;
        if found.status == Some(NO_UNIT) {
            return Err(Error::Failed(texts::no_unit(
                self.language,
                &inline_code(unit),
            )));
        }
        let running = self.gateway.commands.begin(self.message);
        if let Some(running) = &running {
            running.input.refuse();
            running.set_line(&format!("/logs {}", self.argument));
            running.watch(Watched::Prompt("$"), Duration::MAX);
        }
        Ok(running)
    }

    /// Fails when the journal cannot be read, or only in part, as far as an empty output would hide that.
    fn check_journal(&self, ran: &ShellResult) -> Result<()> {
        if !ran.output.trim().is_empty() {
            return self.check_complaint(&ran.output);
        }
        let again = self.look(Logs::CHECK, LOOK_TIME, false)?;
        self.check_complaint(&again.output)
    }

    /// Fails when journalctl says that it cannot read the journal.
    fn check_complaint(&self, output: &str) -> Result<()> {
        let language = self.language;
        let Some(why) = journal::complaint(output) else {
            return Ok(());
        };
        let why = plain(why);
        if rustix::process::geteuid().is_root() {
            return Err(Error::Failed(texts::no_readable_journal(language, &why)));
        }
        let hint = format!("sudo usermod -aG systemd-journal {}", account());
        let hint = code_block(&hint, "");
        Err(Error::Failed(texts::unreadable_journal(
            language, &why, &hint,
        )))
    }

    pub(in crate::gateway) fn services(&self) -> Result<Answer> {
        let language = self.language;
        let usage = || Error::Usage(texts::svc_usage(language).to_owned());
        match Services::parse(self.argument).ok_or_else(usage)? {
            asked @ Services::List => {
                let ran = self.look(&asked.line(), LOOK_TIME, false)?;
                Ok(list(&ran.output, language))
            }
            asked @ Services::Status(unit) => {
                let mut ran = self.look(&asked.line(), LOOK_TIME, false)?;
                if ran.status == Some(MISSING) {
                    return Err(Error::Failed(texts::no_services(language).to_owned()));
                }
                // systemctl's status says how the service is, not how it went.
                ran.is_success |= !ran.output.trim().is_empty();
                let answer = describe_output(ran, "");
                Ok(Answer {
                    buttons: buttons_of(unit, language),
                    ..answer
                })
            }
            Services::Change(unit, change, None) => {
                let checked = self.look(&Services::check(unit), LOOK_TIME, false)?;
                if checked.status == Some(MISSING) {
                    return Err(Error::Failed(texts::no_services(language).to_owned()));
                }
                let (question, label) = question(change, unit, language);
                let typed = format!("/svc {unit} {} now", change.word());
                let command = |time: i64| format!("{typed} {time}");
                Ok(self.confirm(question, label, command, &typed))
            }
            asked @ Services::Change(unit, change, Some(confirmed)) => {
                let (_, label) = question(change, unit, self.language);
                self.check_confirmed(confirmed, label)?;
                self.change(asked, unit)
            }
        }
    }

    fn change(&self, asked: Services<'_>, unit: &str) -> Result<Answer> {
        let language = self.language;
        self.begin()?;
        let action = OwnerAction {
            line: &asked.line(),
            unsandboxed: true,
            changes: true,
            configured: None,
            decision: "confirmed by the person",
            time: Some(CHANGE_TIME),
            language,
        };
        let ran = self.run(action, false)?;
        if ran.status == Some(MISSING) {
            return Err(Error::Failed(texts::no_services(language).to_owned()));
        }
        if !ran.is_success && lacks_rights(&ran.output) {
            return Err(Error::Failed(missing_rights(&ran.output, language)));
        }
        let is_success = ran.is_success;
        let mut answer = describe_output(ran, texts::done(language));
        if is_success {
            answer.text = texts::changed(language, &inline_code(unit), &answer.text);
        }
        answer.buttons = buttons_of(unit, language);
        Ok(answer)
    }
}

/// That rights are missing, and the lines that give them.
pub(super) fn missing_rights(output: &str, language: Language) -> String {
    let (output, account) = (code_block(output.trim_end(), ""), account());
    let polkit = code_block(&polkit_rule(&account), "");
    let sudoers = code_block(&sudoers_line(&account), "");
    texts::missing_rights(language, &output, &inline_code(&account), &polkit, &sudoers)
}

fn account() -> String {
    user_name(rustix::process::geteuid().as_raw())
}

fn list(output: &str, language: Language) -> Answer {
    let (failed, own) = read_list(output);
    if failed.is_empty() && own.is_empty() && !output.trim().is_empty() {
        // Not systemd: its own words.
        return code_block(output.trim_end(), "").into();
    }
    let mut text = match failed.is_empty() {
        true => texts::none_failed(language).to_owned(),
        false => texts::failed(language).to_owned(),
    };
    for unit in failed.iter().take(UNITS_SHOWN) {
        text.push_str(&format!("\n- {}", inline_code(unit)));
    }
    if !own.is_empty() {
        text.push_str(&format!("\n\n{}", texts::own_units(language)));
    }
    for (unit, state) in own.iter().take(UNITS_SHOWN) {
        text.push_str(&format!(
            "\n- {}: {}",
            inline_code(unit),
            inline_code(state)
        ));
    }
    let units = failed
        .iter()
        .copied()
        .chain(own.iter().map(|(unit, _)| *unit));
    let buttons = units
        .take(UNIT_BUTTONS)
        .map(|unit| button(unit, format!("/svc {unit}")));
    Answer {
        text,
        buttons: in_rows(buttons.collect()),
        ..Answer::default()
    }
}

/// What can be done with a unit.
fn buttons_of(unit: &str, language: Language) -> Vec<Vec<CommandButton>> {
    let change =
        |label: &str, change: Change| button(label, format!("/svc {unit} {}", change.word()));
    in_rows(vec![
        change(texts::restart(language), Change::Restart),
        change(texts::start(language), Change::Start),
        change(texts::stop(language), Change::Stop),
        button(texts::logs(language), format!("/logs {unit}")),
    ])
}

fn question(change: Change, unit: &str, language: Language) -> (String, &'static str) {
    let unit = inline_code(unit);
    match change {
        Change::Start => (
            texts::start_question(language, &unit),
            texts::start(language),
        ),
        Change::Stop => (texts::stop_question(language, &unit), texts::stop(language)),
        Change::Restart => (
            texts::restart_question(language, &unit),
            texts::restart(language),
        ),
    }
}
