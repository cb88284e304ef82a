//! The gateway that runs the program: how it is restarted, and whether it is ready.

use std::path::{Path, PathBuf};

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Result;
use crate::cli::Context;
use crate::cli::service::{self, Scope, manager};
use crate::gateway::control::{self, Request, RunInfo};
use crate::sys;
use crate::update::Version;

use super::texts;
use std::time::Duration;

/// How long a new version may take until it is ready: 3 s on a fast board, 20 s on a slow one that
/// has interrupted turns to read.
const READY_TIME: Duration = Duration::from_secs(60);
/// How often it is looked whether it is. Each look may start systemctl.
const READY_LOOK: Duration = Duration::from_millis(500);
/// Lines of the log that are shown when a new version did not become ready.
const LOG_LINES: usize = 8;

/// What restarts the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd(Scope),
    /// [`SCRIPT`].
    Script,
    /// The gateway itself, over its control socket.
    Itself,
}

/// The script of boards without systemd.
const SCRIPT: &str = "/etc/init.d/peacrab";

/// A running gateway.
pub struct Running {
    manager: Manager,
    control: PathBuf,
    /// What answered before the restart; `None` when nothing did.
    before: Option<RunInfo>,
}

/// What [`find`] has found.
pub enum Found {
    /// No gateway.
    None,
    /// A gateway that another program runs.
    Other(String),
    /// One that this program runs.
    Running(Running),
}

/// Finds the gateway that runs the program at this path.
pub fn find(context: &Context, program: &Path) -> Result<Found> {
    let mut other = None;
    let mut is_ours = |info: &RunInfo| {
        let ours = Path::new(&info.program) == program;
        if !ours {
            other = Some(info.program.clone());
        }
        ours
    };
    let own = context.home()?;
    for found in service::homes(context) {
        let control = found.home.join("control.sock");
        let before = run_info(&control);
        let is_running = || {
            let known = manager::properties(found.scope).unwrap_or_default();
            let state = known.get("ActiveState").map_or("", String::as_str);
            matches!(state, "active" | "reloading" | "activating")
        };
        // One that crashes again and again does not answer, and an update may be the remedy.
        if before.as_ref().is_none_or(&mut is_ours) && is_running() {
            return Ok(Found::Running(Running {
                manager: Manager::Systemd(found.scope),
                control,
                before,
            }));
        }
    }
    let has_script = sys::process::is_administrator() && Path::new(SCRIPT).exists();
    let of_services = service::homes(context)
        .into_iter()
        .map(|found| found.home.join("control.sock"));
    for control in of_services.chain([own.control()]) {
        let Some(before) = run_info(&control).filter(&mut is_ours) else {
            continue;
        };
        let manager = if has_script && control != own.control() {
            Manager::Script
        } else {
            Manager::Itself
        };
        return Ok(Found::Running(Running {
            manager,
            control,
            before: Some(before),
        }));
    }
    Ok(other.map_or(Found::None, Found::Other))
}

/// Who answers at a control socket.
fn run_info(control: &Path) -> Option<RunInfo> {
    let answer = control::ask(control, &Request::Version).ok()??;
    crate::base::json::from_str(&answer).ok()
}

impl Running {
    /// What is restarted, for people.
    pub fn name(&self) -> &'static str {
        match self.manager {
            Manager::Systemd(Scope::System) => "peacrab.service",
            Manager::Systemd(Scope::User) => "peacrab.service of this account",
            Manager::Script => SCRIPT,
            Manager::Itself => "the gateway",
        }
    }

    /// Restarts the gateway, and waits until the new run has this version and is ready. An error says
    /// why it is not.
    pub fn restart(&mut self, version: Version) -> Result<(), String> {
        let restarted = match self.manager {
            Manager::Systemd(scope) => {
                manager::systemctl(scope, &["restart", "--no-block", manager::NAME])
            }
            Manager::Script => manager::run(SCRIPT, &["restart"]),
            Manager::Itself => match control::ask(&self.control, &Request::Restart) {
                Ok(Some(answer)) => Ok(answer),
                Ok(None) => return Err("the gateway is not running any more".to_owned()),
                Err(error) => return Err(error.to_string()),
            },
        };
        restarted.map_err(|not_done| format!("{}: {}", not_done.command, not_done.why))?;
        let watch = Stopwatch::start();
        while watch.elapsed() < READY_TIME {
            if self.is_ready(version)? {
                return Ok(());
            }
            Cancel::new().wait(READY_LOOK);
        }
        Err(texts::not_ready(READY_TIME.as_secs()))
    }

    fn is_ready(&mut self, version: Version) -> Result<bool, String> {
        let state = match self.manager {
            Manager::Systemd(scope) => manager::properties(scope).ok(),
            Manager::Script | Manager::Itself => None,
        };
        let value = |name: &str| state.as_ref()?.get(name).map(String::as_str);
        if value("ActiveState") == Some("failed") {
            let result = value("Result").unwrap_or("unknown");
            return Err(texts::systemd_gave_up(result));
        }
        // systemd calls it active once it has sent READY=1.
        if value("ActiveState").is_some_and(|state| state != "active") {
            return Ok(false);
        }
        let Some(info) = run_info(&self.control) else {
            return Ok(false);
        };
        let is_new = self
            .before
            .as_ref()
            .is_none_or(|before| before.run != info.run);
        if !is_new || info.version != version.to_string() {
            return Ok(false);
        }
        self.before = Some(info);
        Ok(true)
    }

    /// The last lines of its log; empty where the system does not keep it.
    pub fn log(&self) -> String {
        let lines = LOG_LINES.to_string();
        let own: &[&str] = match self.manager {
            Manager::Systemd(Scope::System) => &[],
            Manager::Systemd(Scope::User) => &["--user"],
            Manager::Script | Manager::Itself => return String::new(),
        };
        let arguments = [
            "--unit",
            manager::NAME,
            "--lines",
            &lines,
            "--output=cat",
            "--no-pager",
        ];
        manager::run("journalctl", &[own, &arguments].concat()).unwrap_or_default()
    }
}
