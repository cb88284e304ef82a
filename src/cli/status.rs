//! `peacrab status`: what is set up, which model answers, tokens of today.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Context;
use super::compose::{models_of, who_answers};
use super::sessions::size;
use super::terminal::print;
use crate::clock::Clock;
use crate::error::{Exit, Result};
use crate::gateway::control::{self, Request};
use crate::session::store;
use crate::state::{Counts, TokenUsage};
use crate::sys;

/// `peacrab status …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

/// Shows the status. Nothing is made, and no model is asked.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let status = Status::of(context)?;
    match arguments.json {
        true => print::json(&status.as_json().to_string()),
        false => print::out(&status.in_words()),
    }?;
    Ok(Exit::Done)
}

/// What is shown.
struct Status {
    machine: String,
    home: PathBuf,
    config: PathBuf,
    workspace: PathBuf,
    models: Vec<String>,
    /// The models in words; none where there is only the offline helper.
    answering: Option<String>,
    /// What the running gateway says; none where none runs.
    gateway: Option<String>,
    sessions: usize,
    session_bytes: u64,
    clock_is_set: bool,
    counts: Counts,
}

impl Status {
    fn of(context: &Context) -> Result<Self> {
        let loaded = context.start()?;
        let home = context.home()?;
        let sessions = store::list(&home.sessions())?;
        let models = models_of(context, &loaded)?;
        Ok(Self {
            machine: sys::host::board().unwrap_or_else(sys::host::kernel),
            config: context.config_file()?,
            workspace: home.workspace(&loaded.config.agents.defaults.workspace),
            models: models.names(),
            answering: who_answers(&models),
            gateway: control::ask(&home.control(), &Request::Status).unwrap_or(None),
            sessions: sessions.len(),
            session_bytes: sessions.iter().map(|session| session.bytes).sum(),
            clock_is_set: Clock::System.is_set(),
            counts: TokenUsage::new(&home.state(), Clock::System).counts(),
            home: home.path().to_owned(),
        })
    }

    fn as_json(&self) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "machine": self.machine,
            "home": self.home.display().to_string(),
            "config": self.config.display().to_string(),
            "workspace": self.workspace.display().to_string(),
            "models": self.models,
            "gateway": self.gateway,
            "sessions": self.sessions,
            "sessionBytes": self.session_bytes,
            "clockIsSet": self.clock_is_set,
            "tokensToday": self.counts.today(),
            "tokensByModel": self.counts.models,
        })
    }

    fn in_words(&self) -> String {
        let offline = || "none is connected; the offline helper answers".to_owned();
        let sessions = match self.sessions {
            0 => "none yet".to_owned(),
            count => format!("{count}, {}", size(self.session_bytes)),
        };
        let gateway = self.gateway.as_deref().unwrap_or("not running").to_owned();
        let mut rows = vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("machine", self.machine.clone()),
            ("home", place(&self.home)),
            ("config", place(&self.config)),
            ("workspace", place(&self.workspace)),
            ("model", self.answering.clone().unwrap_or_else(offline)),
            ("gateway", gateway),
            ("sessions", sessions),
            ("today", self.counts.today().to_string()),
        ];
        if self.counts.models.len() > 1 {
            let by_model = self.counts.models.iter();
            rows.extend(by_model.map(|(name, usage)| ("", format!("{name}: {usage}"))));
        }
        if !self.clock_is_set {
            rows.push((
                "clock",
                "not set yet: certificates cannot be checked".to_owned(),
            ));
        }
        rows.iter()
            .map(|(name, value)| format!("{name:<11}{value}\n"))
            .collect()
    }
}

/// A place, and whether there is something.
fn place(path: &Path) -> String {
    let note = match path.exists() {
        true => "",
        false => " (not there yet; `peacrab onboard` makes it)",
    };
    format!("{}{note}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Usage;

    fn status() -> Status {
        Status {
            machine: "a board".to_owned(),
            home: "/".into(),
            config: "/no such file".into(),
            workspace: "/".into(),
            models: vec!["a/m".to_owned(), "b/n".to_owned()],
            answering: Some("a/m, then b/n".to_owned()),
            gateway: Some("up 3 min".to_owned()),
            sessions: 2,
            session_bytes: 1500,
            clock_is_set: true,
            counts: Counts::default(),
        }
    }

    #[test]
    fn a_row_reads_like_a_sentence() {
        let mut status = status();
        let usage = Usage {
            input: 3,
            output: 1,
            cached: 2,
        };
        status.counts.models = [("m".to_owned(), usage), ("n".to_owned(), usage)].into();
        let words = status.in_words();
        for row in [
            "model      a/m, then b/n\n",
            "gateway    up 3 min\n",
            "sessions   2, 1.5 kB\n",
            "today      6 tokens in (4 cached), 2 out\n           m: 3 tokens in (2 cached), 1 out\n",
            "config     /no such file (not there yet; `peacrab onboard` makes it)\n",
        ] {
            assert!(words.contains(row), "{row:?} is missing in {words}");
        }
        assert!(!words.contains("clock"), "{words}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut status = status();
        status.answering = None;
        status.gateway = None;
        (status.sessions, status.clock_is_set) = (0, false);
        let words = status.in_words();
        for row in [
            "model      none is connected",
            "gateway    not running\n",
            "sessions   none yet",
            "clock      not set",
        ] {
            assert!(words.contains(row), "{row:?} is missing in {words}");
        }
    }
}
