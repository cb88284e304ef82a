//! `peacrab status`: what is set up, which model answers, and today's tokens. It always works: what cannot
//! be read is shown as such, beside the rest.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::compose::{models_of, who_answers};
use super::sessions::size;
use super::terminal::print;
use super::usage::{models_to_json, to_json};
use crate::agent::commands::usage::format_usage;
use crate::base::chat::Usage;
use crate::base::clock::{Clock, Reason, Trust};
use crate::base::error::{Exit, Result};
use crate::base::language::Language;
use crate::base::secret::mask_address;
use crate::config::Loaded;
use crate::gateway::control::{self, Request};
use crate::store::session::store;
use crate::store::state::{Counts, KnownTime, TokenUsage};
use crate::sys;
use crate::update;

/// `peacrab status …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows the status. Nothing is created, and no model is asked.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let (loaded, error) = match context.start() {
        Ok(loaded) => (loaded, None),
        Err(error) => (Loaded::default(), Some(error)),
    };
    let mut status = Status::collect(context, &loaded)?;
    status.config_error = error.map(|error| error.to_string());
    if arguments.json {
        print::json(&status.to_json().to_string())
    } else {
        print::out(&print::folded(&status.format()))
    }?;
    Ok(Exit::Done)
}

/// What is shown.
struct Status {
    machine: String,
    home: PathBuf,
    config: PathBuf,
    /// Why the configuration cannot be used; the defaults are shown then.
    config_error: Option<String>,
    workspace: PathBuf,
    models: Vec<String>,
    /// The models for people, or why none can be used; `None` when only the offline helper answers.
    answering: Option<String>,
    /// The status of the running gateway; `None` when none runs.
    gateway: Option<String>,
    /// The command that shows the status of the installed service, if this account cannot.
    service: Option<String>,
    /// Where new versions come from; empty: nowhere.
    update_url: String,
    sessions: usize,
    session_bytes: u64,
    trust: Trust,
    counts: Counts,
}

impl Status {
    fn collect(context: &Context, loaded: &Loaded) -> Result<Self> {
        let home = context.home()?;
        // A folder that cannot be read has no sessions that could be counted.
        let agents = loaded.config.agents.profiles().into_iter();
        let folders = agents.map(|profile| home.sessions_of(&profile.id));
        let lists = folders.map(|folder| store::list(&folder).unwrap_or_default());
        let sessions: Vec<_> = lists.flatten().collect();
        let loaded = &loaded.of_agent(None)?;
        let (models, answering) = match models_of(context, loaded) {
            Ok(models) => (models.names(), who_answers(&models)),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(Self {
            machine: sys::host::board().unwrap_or_else(sys::host::kernel),
            config: context.config_file()?,
            workspace: home.workspace(&loaded.config.agents.defaults.workspace),
            models,
            answering,
            config_error: None,
            service: context
                .unreadable_home()
                .map(|home| context.home_command(home) + " status"),
            gateway: control::ask(&home.control(), &Request::Status).unwrap_or(None),
            update_url: mask_address(&loaded.config.update.url).into_owned(),
            sessions: sessions.len(),
            session_bytes: sessions.iter().map(|session| session.bytes).sum(),
            trust: KnownTime::new(&home.state()).trust(&Clock::System),
            counts: TokenUsage::new(&home.state(), Clock::System).counts(),
            home: home.path().to_owned(),
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "version": update::current(),
            "machine": self.machine,
            "home": self.home.display().to_string(),
            "config": self.config.display().to_string(),
            "configError": self.config_error,
            "workspace": self.workspace.display().to_string(),
            "models": self.models,
            "gateway": self.gateway,
            "updateUrl": self.update_url,
            "sessions": self.sessions,
            "sessionBytes": self.session_bytes,
            "clockIsSet": self.trust != Trust::NotYet(Reason::BeforeBuild),
            "clockIsTrusted": self.trust.is_trusted(),
            "tokensToday": to_json(self.counts.today()),
            "tokensByModel": models_to_json(&self.counts.models),
        })
    }

    fn format(&self) -> String {
        let offline =
            || "none (the offline helper answers; `peacrab onboard` connects one)".to_owned();
        let model = match self.config_error {
            None => self.answering.clone().unwrap_or_else(offline),
            Some(_) => "unknown".to_owned(),
        };
        let sessions = match self.sessions {
            0 => "none yet".to_owned(),
            count => format!("{count}, {}", size(self.session_bytes)),
        };
        let gateway = self.gateway.as_deref().unwrap_or("not running");
        let gateway = gateway.replace('\n', "\n           ");
        let mut rows = vec![
            ("version", update::current().to_owned()),
            ("machine", self.machine.clone()),
            ("home", format_path(&self.home)),
            ("config", self.format_config()),
            ("workspace", format_path(&self.workspace)),
            ("model", model),
            ("gateway", gateway),
            ("sessions", sessions),
            (
                "today",
                format_usage(self.counts.today(), Language::English),
            ),
        ];
        if self.counts.models.len() > 1 {
            let by_model = self.counts.models.iter();
            let row = |usage: &Usage| format_usage(*usage, Language::English);
            rows.extend(by_model.map(|(name, usage)| ("", format!("{name}: {}", row(usage)))));
        }
        if !self.update_url.is_empty() {
            let url = &self.update_url;
            rows.push((
                "updates",
                format!("{url} (look with `peacrab update --check`)"),
            ));
        }
        if let Some(command) = &self.service {
            rows.push((
                "service",
                format!("installed, with its own home folder: {command}"),
            ));
        }
        match self.trust {
            Trust::Trusted | Trust::Unconfirmed => {}
            Trust::NotYet(Reason::BeforeBuild) => rows.push((
                "clock",
                "not set yet: certificates cannot be checked, scheduled jobs and the heartbeat wait"
                    .to_owned(),
            )),
            Trust::NotYet(reason) => rows.push((
                "clock",
                format!("the clock {reason}: scheduled jobs and the heartbeat wait"),
            )),
        }
        rows.iter()
            .map(|(name, value)| format!("{name:<11}{value}\n"))
            .collect()
    }

    /// The file, and below it what is wrong with it.
    fn format_config(&self) -> String {
        match &self.config_error {
            None => format_path(&self.config),
            Some(error) => {
                let error = error.replace('\n', "\n           ");
                format!(
                    "{} cannot be used:\n           {error}",
                    self.config.display()
                )
            }
        }
    }
}

/// A path, and whether it exists.
fn format_path(path: &Path) -> String {
    let note = if path.exists() {
        ""
    } else {
        " (does not exist; run `peacrab onboard`)"
    };
    format!("{}{note}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            machine: "a board".to_owned(),
            home: "/".into(),
            config: "/no such file".into(),
            config_error: None,
            workspace: "/".into(),
            models: vec!["a/m".to_owned(), "b/n".to_owned()],
            answering: Some("a/m, then b/n".to_owned()),
            gateway: Some("up 3 min".to_owned()),
            service: None,
            update_url: String::new(),
            sessions: 2,
            session_bytes: 1500,
            trust: Trust::Trusted,
            counts: Counts::default(),
        }
    }

    #[test]
    fn each_fact_has_a_row() {
        let mut status = status();
        let usage = Usage {
            input: 3,
            output: 1,
            cached: 2,
            ..Usage::default()
        };
        status.counts.models = [("m".to_owned(), usage), ("n".to_owned(), usage)].into();
        let shown = status.format();
        for row in [
            "model      a/m, then b/n\n",
            "gateway    up 3 min\n",
            "sessions   2, 1.5 kB\n",
            "today      6 in (66% cached), 2 out, price unknown\n           m: 3 in (66% cached), 1 out, price unknown\n",
            "config     /no such file (does not exist; run `peacrab onboard`)\n",
        ] {
            assert!(shown.contains(row), "{row:?} is missing in {shown}");
        }
        assert!(!shown.contains("clock"), "{shown}");
    }

    #[test]
    fn what_is_missing_or_broken_is_shown() {
        let mut status = status();
        status.update_url = "https://example.org/peacrab".to_owned();
        status.answering = None;
        status.gateway = None;
        (status.sessions, status.trust) = (0, Trust::NotYet(Reason::BeforeBuild));
        status.config_error = Some("f:1: wrong\nhere".to_owned());
        let shown = status.format();
        for row in [
            "config     /no such file cannot be used:\n           f:1: wrong\n           here\n",
            "model      unknown\n",
            "gateway    not running\n",
            "sessions   none yet",
            "clock      not set",
            "updates    https://example.org/peacrab (look with",
        ] {
            assert!(shown.contains(row), "{row:?} is missing in {shown}");
        }
    }
}
