//! Automatic backups: made on a thread that exists only meanwhile, sent to the owner, and given to a command.

mod texts;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::commands::texts::format_error;
use super::time::alarm::{self, Woken};
use super::{Gateway, spawn};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::OutgoingMessage;
use crate::base::sync::Mutex;
use crate::config::home::quote_for_shell;
use crate::store::backup::series::{Made, Series};
use crate::sys::file::open_to_read;
use crate::text::markup::{inline_code, plain};
use crate::tools::Caller;
use crate::tools::commands::OwnerAction;

/// The longest pause before a backup is tried again that failed, such as for want of its disk.
const RETRY_MAX: Duration = Duration::from_hours(1);
/// How long the command may take that a backup is given to: it may send it over a slow line.
const COMMAND_TIME: Duration = Duration::from_hours(2);
/// The key of the conversation that the command counts to.
const SESSION: &str = "backup";
const HOUR_MS: i64 = 60 * 60 * 1000;

/// The state of automatic backups.
#[derive(Default)]
pub struct Backups {
    /// Wakes the loop: something that it depends on has changed.
    changed: Arc<Notify>,
    state: Mutex<State>,
    /// Raised when the gateway stops.
    cancel: Cancel,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// In milliseconds since 1970; `None` until the folder was looked at.
    next_ms: Option<i64>,
    /// The failure of the last one, which is told once.
    failure: String,
}

impl Backups {
    /// Looks again when the next one is.
    pub fn look_again(&self) {
        self.state.lock().next_ms = None;
        self.changed.notify_one();
    }

    /// Stops one that is being made, and begins no other.
    pub fn stop(&self) {
        self.cancel.cancel();
    }
}

/// Waits for each backup, and begins it.
pub(super) async fn keep(gateway: Arc<Gateway>) {
    let backups = &gateway.backups;
    gateway.time.watch(&backups.changed);
    loop {
        let next = gateway.plan_backup();
        let woken = alarm::until(gateway.clock(), next, &backups.changed).await;
        if gateway.is_stopping() {
            return;
        }
        if woken == Woken::Due {
            gateway.begin_backup();
        }
    }
}

impl Gateway {
    /// When the next backup is, or when the folder is looked at for that, in milliseconds since 1970.
    fn plan_backup(&self) -> Option<i64> {
        let is_on = self.live().backups.settings.every > 0 && self.trust().is_trusted();
        let state = self.backups.state.lock();
        let next = state.next_ms.unwrap_or_else(|| self.clock().now_ms());
        (is_on && !state.is_running).then_some(next)
    }

    fn begin_backup(self: &Arc<Self>) {
        self.backups.state.lock().is_running = true;
        let gateway = Arc::clone(self);
        let spawned = spawn("backup", move || {
            let series = gateway.live().backups.clone();
            let next = gateway.back_up_if_due(&series);
            gateway.end_backup(next);
        });
        if let Err(error) = spawned {
            tracing::error!("failed to start a backup: {error}");
            self.end_backup(self.clock().now_ms() + HOUR_MS);
        }
    }

    fn end_backup(&self, next_ms: i64) {
        let mut state = self.backups.state.lock();
        (state.is_running, state.next_ms) = (false, Some(next_ms));
        self.backups.changed.notify_one();
    }

    /// Makes a backup, unless the last one is younger. Returns when to look again.
    fn back_up_if_due(self: &Arc<Self>, series: &Series) -> i64 {
        let every = i64::try_from(series.settings.every).unwrap_or(i64::MAX);
        let every = every.saturating_mul(HOUR_MS);
        let now = self.clock().now_ms();
        // A file from the future, made with a wrong clock, does not put it off.
        let last = series.last_ms().filter(|last| *last <= now);
        if let Some(next) = last.map(|last| last.saturating_add(every))
            && next > now
        {
            return next;
        }
        let made = series.make(&Clock::System, &self.backups.cancel);
        let done = made.and_then(|made| {
            self.hand_over(series, &made)?;
            let (path, files) = (made.path.display(), made.packed.files);
            tracing::info!("backup of {files} files: {path}");
            Ok(())
        });
        if self.backups.cancel.is_cancelled() {
            return now;
        }
        let is_made = series.last_ms() > last;
        self.tell_backup_failure(done.err());
        match is_made {
            true => now.saturating_add(every),
            false => now.saturating_add(every.min(RETRY_MAX.as_millis() as i64)),
        }
    }

    /// Sends a backup and gives it to the command, as the configuration says.
    fn hand_over(self: &Arc<Self>, series: &Series, made: &Made) -> Result<()> {
        let settings = &series.settings;
        let is_safe = !settings.passphrase.is_empty() || settings.without_secrets;
        let sent = match settings.send && is_safe {
            true => self.send_backup(made),
            false => Ok(()),
        };
        let ran = match &*settings.run {
            "" => Ok(()),
            run => self.run_on_backup(run, &made.path),
        };
        let missing = match made.packed.unreadable_names.first() {
            None => Ok(()),
            Some(name) => Err(Error::Failed(format!(
                "{} files could not be read, such as {name}",
                made.packed.unreadable
            ))),
        };
        sent.and(ran).and(missing)
    }

    fn send_backup(self: &Arc<Self>, made: &Made) -> Result<()> {
        let no_chat = || Error::Failed("no owner has written to the bot yet".to_owned());
        let to = self.owner_chat().ok_or_else(no_chat)?;
        let limit = self.delivery(&to).map(|it| it.upload_bytes());
        if limit.is_some_and(|limit| made.size > limit) {
            let what = "a backup for the chat".to_owned();
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            let limit = limit.unwrap_or(usize::MAX);
            return Err(Error::TooLarge { what, limit });
        }
        let name = made.path.file_name().unwrap_or_default().to_string_lossy();
        // It may be deleted before it is delivered.
        let outgoing = &self.parts.outgoing;
        let (copy, mut file) = outgoing.create(&name)?;
        let copied = open_to_read(&made.path).and_then(|mut from| io::copy(&mut from, &mut file));
        if let Err(error) = copied {
            outgoing.remove(&copy);
            return Err(Error::io("write", &copy)(error));
        }
        let language = self.parts.languages.get(&to);
        let restore = inline_code(&format!("peacrab restore {name}"));
        let message = OutgoingMessage {
            files: vec![copy.clone()],
            silent: true,
            ..OutgoingMessage::text(&to, texts::sent(language, &restore))
        };
        let stored = self.enqueue(message, None).map(drop);
        stored.inspect_err(|_| outgoing.remove(&copy))
    }

    fn run_on_backup(self: &Arc<Self>, run: &str, path: &Path) -> Result<()> {
        let live = self.live();
        let line = format!("set -- {}\n{run}", quote_for_shell(path));
        let action = OwnerAction {
            line: &line,
            unsandboxed: true,
            changes: false,
            configured: Some(run),
            decision: "allowed: backup.run of the configuration",
            time: Some(COMMAND_TIME),
            language: Language::English,
        };
        let caller = Caller::new(SESSION, Role::Owner, "", &self.backups.cancel);
        let toolbox = live.agents.default_agent().toolbox();
        let ran = toolbox.act(action, &caller, &mut |_| {})?;
        match ran.is_success {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "backup.run: {} {}",
                ran.end,
                ran.output.trim()
            ))),
        }
    }

    /// Tells the owner what went wrong, once for each fault.
    fn tell_backup_failure(self: &Arc<Self>, error: Option<Error>) {
        let text = error.as_ref().map_or_else(String::new, Error::to_string);
        let before = std::mem::replace(&mut self.backups.state.lock().failure, text.clone());
        let Some(error) = error else {
            return;
        };
        tracing::warn!("the automatic backup failed: {text}");
        let to = self.owner_chat().filter(|_| before != text);
        if let Some(to) = to {
            let language = self.parts.languages.get(&to);
            let error = plain(&format_error(&error, language));
            self.tell(&to, &texts::failed(language, &error));
        }
    }
}
