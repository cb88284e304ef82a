//! Looks that take a while: hosts, commands and `systemctl`. Each is made on a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use super::journal::Wanted;
use super::look::{Before, Tick};
use super::{Item, Look, built_in, journal};
use crate::agent::Agent;
use crate::base::access::Role;
use crate::base::approval::Question;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::watch::HOST_TIMEOUT;
use crate::base::message::SessionKey;
use crate::board::watch::{Blind, Subject, Told, What};
use crate::gateway::Gateway;
use crate::net::guard::special_purpose;
use crate::net::{Dialer, Failure, Guard};
use crate::sys::watch::ping::ping;
use crate::text::one_line;
use crate::tools::Caller;
use crate::tools::commands::{ShellResult, TypedCommand, ask_and_retry};

/// Questions to a host before it counts as away.
const HOST_TRIES: usize = 3;
/// How long a watched command may run. A shorter limit of the configuration applies first.
const COMMAND_TIME: Duration = Duration::from_secs(60);
/// Bytes of a command's output that a message shows.
const OUTPUT_BYTES: usize = 600;
/// Bytes of what `systemctl` prints that are read.
const SYSTEMCTL_BYTES: usize = 16 * 1024;

impl Gateway {
    /// Looks at an item now, however long it takes.
    pub(super) fn probe(self: &Arc<Self>, item: &Item, tick: &Tick) -> Look {
        let watches = &self.parts.watches;
        match &item.subject {
            Subject::Rule(rule) => match &rule.what {
                What::Host { host, port } => self.probe_host(host, *port, item.by_model),
                What::Command { line, told } => match self.run_watched(item, line) {
                    Ok(ran) => Look {
                        value: Some(f64::from(u8::from(
                            ran.is_success == (*told == Told::Success),
                        ))),
                        note: note_of(&ran),
                        blind: None,
                    },
                    // What cannot be run at all is no outcome.
                    Err(error) => Look {
                        note: one_line(&error.to_string(), OUTPUT_BYTES),
                        ..Look::default()
                    },
                },
                What::Log {
                    unit,
                    level,
                    pattern,
                } => self.probe_journal(
                    item,
                    Wanted {
                        unit: unit.as_deref(),
                        level: *level,
                        pattern: pattern.as_deref(),
                    },
                ),
                _ => watches
                    .look(self, item, tick, &mut Before::default())
                    .unwrap_or_default(),
            },
            Subject::BuiltIn(_) => match failed_units() {
                Ok(names) => {
                    let names: Vec<String> = names.into_iter().collect();
                    Look::is_bad(!names.is_empty(), names.join(", "))
                }
                Err(error) => {
                    tracing::debug!("failed to look for services that failed: {error}");
                    Look::default()
                }
            },
        }
    }

    /// Whether a host answers: on a port, else to a ping, else, where this account may not ping, on any usual port.
    fn probe_host(&self, host: &str, port: Option<u16>, by_model: bool) -> Look {
        /// Usual ports. That one is refused is an answer too.
        const USUAL: [u16; 3] = [80, 22, 443];
        let guard = match by_model {
            // What the model has asked for reaches what its own tools reach.
            true => Guard::new(|address| special_purpose(address.ip()).map_or(Ok(()), Err)),
            false => Guard::default(),
        };
        let dialer = Dialer {
            guard,
            ..Dialer::new(&self.parts.watches.cancel)
        };
        let ports = port.map_or_else(|| USUAL.to_vec(), |port| vec![port]);
        let mut blind = None;
        for number in 1..=HOST_TRIES {
            let first = ports.first().copied().unwrap_or_default();
            let addresses = match dialer.resolve(host, first, HOST_TIMEOUT) {
                Ok(addresses) => addresses,
                Err(_) => {
                    blind = Some(Blind::NoName);
                    continue;
                }
            };
            if let Some(Err(Failure::Refused { why, .. })) = addresses
                .first()
                .map(|address| dialer.guard.check(*address))
            {
                return Look {
                    note: why.to_owned(),
                    ..Look::default()
                };
            }
            if port.is_none()
                && let Some(address) = addresses.first()
            {
                match ping(address.ip(), number as u16, HOST_TIMEOUT) {
                    Ok(true) => return Look::is_bad(false, ""),
                    Ok(false) => continue,
                    Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
                    // Such as a network that cannot be reached.
                    Err(_) => {
                        if self.parts.watches.cancel.wait(Duration::from_secs(1)) {
                            return Look::default();
                        }
                        continue;
                    }
                }
            }
            for port in &ports {
                let targets: Vec<_> = addresses
                    .iter()
                    .map(|address| (address.ip(), *port).into())
                    .collect();
                let is_refusal = |failure: &Failure| matches!(failure, Failure::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused);
                match dialer.connect(&targets, HOST_TIMEOUT) {
                    Ok(_) => return Look::is_bad(false, ""),
                    Err(failure) if ports.len() > 1 && is_refusal(&failure) => {
                        return Look::is_bad(false, "");
                    }
                    Err(_) => {}
                }
            }
            if dialer.cancel.is_cancelled() {
                return Look::default();
            }
        }
        Look {
            blind,
            ..Look::is_bad(true, "")
        }
    }

    /// The agent in whose sandbox the commands of a watch run.
    pub(super) fn agent_of_watch(self: &Arc<Self>, item: &Item) -> Result<Arc<Agent>> {
        let session = match &item.chat {
            Some(chat) => chat.session(),
            None => SessionKey::parse("watch"),
        };
        self.agent_for(&self.live(), &session, None).agent()
    }

    /// Runs a command of a watch in the sandbox, by the rules for `/sh`. One that a person would be asked about fails.
    pub(super) fn run_watched(self: &Arc<Self>, item: &Item, line: &str) -> Result<ShellResult> {
        let agent = self.agent_of_watch(item)?;
        let cancel = Cancel::new();
        let (stop, late) = (self.parts.watches.cancel.clone(), cancel.clone());
        let _hook = stop.on_cancel(move || late.cancel());
        let late = cancel.clone();
        let timer = self.timers.spawn(async move {
            tokio::time::sleep(COMMAND_TIME).await;
            late.cancel();
        });
        let owner = format!("watch:{}", item.key);
        let typed = TypedCommand {
            line,
            unsandboxed: false,
            language: Language::English,
        };
        // As for a job: no owner is there.
        let caller = Caller::new(&owner, item.role.min(Role::User), "", &cancel);
        let toolbox = agent.toolbox();
        let ask = |question: &Question| Ok(question.unattended());
        let ran = ask_and_retry(&caller, typed.language, ask, |caller| {
            toolbox.shell(typed, caller, &mut |_| {})
        });
        timer.abort();
        ran
    }
}

/// How a command ended, and the end of what it printed, in one line.
fn note_of(ran: &ShellResult) -> String {
    let output = one_line(ran.output.trim(), OUTPUT_BYTES);
    match (ran.is_success, output.is_empty()) {
        (true, _) => output,
        (false, true) => ran.end.clone(),
        (false, false) => format!("{}: {output}", ran.end),
    }
}

/// The services of systemd that have failed.
fn failed_units() -> Result<std::collections::BTreeSet<String>> {
    let mut text = Vec::new();
    let arguments = ["--failed", "--plain", "--no-legend", "--no-pager"];
    let take = &mut |piece: &[u8]| text.extend_from_slice(piece);
    match journal::run("systemctl", &arguments, SYSTEMCTL_BYTES, take) {
        Ok(false) => Err(Error::Failed("systemctl failed".to_owned())),
        // So many have failed that the rest matters no more.
        Ok(true) | Err(Error::TooLarge { .. }) => {
            Ok(built_in::failed_units(&String::from_utf8_lossy(&text)))
        }
        Err(error) => Err(error),
    }
}
