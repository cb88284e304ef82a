//! `/reboot` and `/shutdown`, and what is said when the machine is back.

use std::sync::Arc;

use tokio::sync::{Notify, oneshot};

use super::services::{lacks_rights, parse_confirmed, with_rights};
use super::unit::missing_rights;
use super::{Answer, Asking, texts};
use super::{CHANGE_TIME, LOOK_TIME};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::cancel::POLL;
use crate::base::message::{DraftKey, Envelope, OutgoingMessage};
use crate::gateway::cron::zone_of;
use crate::gateway::{Gateway, commands, spawn};
use crate::store::state::starts::{Asked, Back};
use crate::tools::Caller;
use crate::tools::commands::OwnerAction;
use std::time::Duration;

/// How long the answer to a restart of the machine may take to be sent before the machine goes down.
const FAREWELL_TIME: Duration = Duration::from_secs(5);

/// What is done with the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    /// It is restarted.
    Reboot,
    /// It is switched off.
    Shutdown,
}

impl Power {
    fn line(self) -> String {
        let (systemd, other) = match self {
            Self::Reboot => ("systemctl reboot", "reboot"),
            Self::Shutdown => ("systemctl poweroff", "poweroff"),
        };
        let systemd = with_rights(systemd);
        format!(
            "if command -v systemctl >/dev/null; then {systemd}; \
             elif [ \"$(id -u)\" != 0 ] && sudo -n -l {other} >/dev/null 2>&1; then exec sudo -n {other}; \
             else exec {other}; fi"
        )
    }
}

impl Asking<'_> {
    pub(in crate::gateway) fn reboot(&self) -> Result<Answer> {
        self.power(Power::Reboot)
    }

    pub(in crate::gateway) fn shut_down(&self) -> Result<Answer> {
        self.power(Power::Shutdown)
    }

    fn power(&self, power: Power) -> Result<Answer> {
        let language = self.language;
        let (question, label, command, usage, farewell) = match power {
            Power::Reboot => (
                texts::reboot_question(language),
                texts::reboot(language),
                "/reboot",
                texts::reboot_usage(language),
                texts::rebooting(language),
            ),
            Power::Shutdown => (
                texts::shutdown_question(language),
                texts::shutdown(language),
                "/shutdown",
                texts::shutdown_usage(language),
                texts::shutting_down(language),
            ),
        };
        let confirmed = parse_confirmed(&mut self.argument.split_whitespace());
        match confirmed.ok_or_else(|| Error::Usage(usage.to_owned()))? {
            None => {
                let typed = format!("{command} now");
                let command = |time: i64| format!("{typed} {time}");
                Ok(self.confirm(question.to_owned(), label, command, &typed))
            }
            Some(confirmed) => {
                self.check_confirmed(confirmed, label)?;
                self.begin()?;
                Ok(Answer {
                    text: farewell.to_owned(),
                    then: Some(power),
                    ..Answer::default()
                })
            }
        }
    }
}

impl Gateway {
    /// Restarts the machine or switches it off, once the answer to the command has been sent.
    pub(super) fn switch(self: &Arc<Self>, power: Power, message: &Envelope) {
        let (to, language) = (message.address(), message.language());
        let watch = Stopwatch::start();
        let cancel = Cancel::new();
        while self.parts.outbox.count() > 0 && watch.elapsed() < FAREWELL_TIME {
            cancel.wait(POLL);
        }
        let asked = Asked {
            chat: to.clone(),
            language,
            at_ms: self.clock().now_ms(),
        };
        if let Err(error) = self.parts.starts.ask(Some(asked)) {
            tracing::warn!(chat = %to, "failed to note who asked for a restart of the machine: {error}");
        }
        tracing::info!(chat = %to, "{power:?} of the machine, as asked");
        let draft = DraftKey::command(&message.id);
        let asking = Asking {
            gateway: self,
            message,
            argument: "",
            language,
            cancel: &cancel,
            draft: &draft,
        };
        let action = OwnerAction {
            line: &power.line(),
            unsandboxed: true,
            changes: true,
            configured: None,
            decision: "confirmed by the person",
            time: Some(CHANGE_TIME),
            language,
        };
        let why = match asking.run(action, false) {
            Ok(ran) if ran.is_success => return,
            // The machine goes down, and this command with it.
            _ if self.is_stopping() => return,
            Ok(ran) if lacks_rights(&ran.output) => missing_rights(&ran.output, language),
            Ok(ran) => super::describe_output(ran, "").text,
            Err(error) => commands::texts::format_error(&error, language),
        };
        if let Err(error) = self.parts.starts.ask(None) {
            tracing::warn!("failed to forget who asked for a restart of the machine: {error}");
        }
        self.tell(&to, &texts::not_switched(language, &why));
    }
}

/// Says once that the machine is back: to the one who asked for the restart, or to an owner after a power
/// cut or a crash. Waits until the time is known.
pub async fn tell_back(gateway: Arc<Gateway>) {
    let Some(boot) = gateway.parts.board.boot_id() else {
        return;
    };
    let (sender, receiver) = oneshot::channel();
    let id = boot.clone();
    gateway.later(move |gateway| {
        let begun = gateway
            .parts
            .starts
            .begin(&id, gateway.time.known_at_start());
        let back = begun.unwrap_or_else(|error| {
            tracing::warn!("failed to note the start of the machine: {error}");
            None
        });
        let _ = sender.send(back);
    });
    let Ok(Some(back)) = receiver.await else {
        return;
    };
    let changed = Arc::new(Notify::new());
    gateway.time.watch(&changed);
    while !gateway.trust().is_trusted() {
        changed.notified().await;
    }
    let telling = Arc::clone(&gateway);
    let spawned = spawn("back", move || telling.tell_back_from(back, &boot));
    if let Err(error) = spawned {
        tracing::warn!("failed to tell that the machine is back: {error}");
    }
}

impl Gateway {
    fn tell_back_from(&self, back: Back, boot: &str) {
        let board = &self.parts.board;
        let now = board.now();
        let started = now.saturating_sub_unsigned(board.uptime());
        let text = match &back {
            Back::Asked(asked) => {
                let span = now.saturating_sub(asked.at_ms / 1000).max(0);
                let span = commands::texts::format_seconds(span.unsigned_abs(), asked.language);
                Some((asked.chat.clone(), texts::back_after(asked.language, &span)))
            }
            Back::Unexpected { last } => self.owner_chat().map(|chat| {
                let language = self.parts.languages.get(&chat);
                let last = (*last).max(self.last_journalled(started));
                (chat, describe_cut(self, last, started, language))
            }),
        };
        tracing::warn!("the machine was restarted: {back:?}");
        if let Some((chat, text)) = text {
            self.tell_with(OutgoingMessage {
                // A kill before the note below does not repeat it.
                once: format!("back:{boot}"),
                ..OutgoingMessage::text(&chat, text)
            });
        }
        if let Err(error) = self.parts.starts.told() {
            tracing::warn!("failed to note that the start of the machine was told: {error}");
        }
    }

    /// When the system's journal was written before this start of the machine, in seconds since 1970: our own
    /// files are written once an hour only.
    fn last_journalled(&self, started: i64) -> Option<i64> {
        let (live, cancel) = (self.live(), Cancel::new());
        let caller = Caller::new("gateway", Role::Owner, "", &cancel);
        let action = OwnerAction {
            line: "journalctl -q --no-pager -b -1 -n 1 -o short-unix",
            unsandboxed: true,
            changes: false,
            configured: None,
            decision: "allowed: built in, it only reads",
            time: Some(LOOK_TIME),
            language: Language::English,
        };
        let toolbox = live.agents.default_agent().toolbox();
        let ran = toolbox.act(action, &caller, &mut |_| {}).ok()?;
        let (seconds, _) = ran.output.split_once('.')?;
        let seconds = seconds.trim().parse().ok();
        seconds.filter(|seconds| *seconds < started)
    }
}

/// From when to when the machine was off, in local time.
fn describe_cut(gateway: &Gateway, last: Option<i64>, started: i64, language: Language) -> String {
    let zone = zone_of(&gateway.live().cron.tz);
    let (start, now) = (zone.at(started), zone.at(gateway.parts.board.now()));
    let last = last
        .filter(|last| *last < started)
        .map(|last| zone.at(last));
    let is_today = last.is_none_or(|last| last.date_naive() == now.date_naive());
    let format = if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    match last {
        Some(last) => texts::back_from_cut(language, &last.format(format), &start.format(format)),
        None => texts::back_from_cut_since(language, &start.format(format)),
    }
}
