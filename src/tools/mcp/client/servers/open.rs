//! Connects with a server.

use std::sync::Arc;
use std::time::Duration;

use super::entry::Entry;
use super::{Inner, Servers};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::secret::Eraser;
use crate::sandbox::files::PromptSurvey;
use crate::tools::mcp::client::http::{Http, HttpParts};
use crate::tools::mcp::client::link::{Link, Options};
use crate::tools::mcp::client::protocol::{self, Abilities};
use crate::tools::mcp::client::stdio::{Connection, End, Settings, Stdio};

type Opened = (Arc<Link>, Option<Arc<Connection>>);

impl Servers {
    /// Whether a program that runs could change what the prompt has now, at the changed paths too.
    pub fn are_open_to(&self, now: &Result<PromptSurvey>, changed: &[String]) -> bool {
        self.0.entries.iter().any(|entry| {
            let up = entry.state.lock().up.clone();
            let connection = up.and_then(|up| up.connection);
            connection.is_some_and(|one| one.is_open_to(now, changed))
        })
    }
}

impl Inner {
    pub(super) fn open(&self, entry: &Entry, cancel: &Cancel) -> Result<Opened> {
        let server = &entry.server;
        let abilities = Abilities {
            elicitation: self.parts.elicitation,
            sampling: server.sampling,
        };
        let mut options = Options::new(&entry.name, abilities, self.parts.root.clone());
        let stored = self.stored(entry);
        options.known_version = stored.and_then(|stored| protocol::version(stored.version()));
        if !server.url.is_empty() {
            let http = Http::new(HttpParts {
                name: entry.name.clone(),
                server: server.clone(),
                tls: self.parts.tls.clone(),
                logins: self.parts.folder.clone(),
                clock: self.parts.clock.clone(),
            })?;
            return Ok((Link::open(Box::new(http), options, cancel)?, None));
        }
        let is_new = options.known_version.is_none();
        let (opened, connection) = self.start(entry, options.clone(), cancel)?;
        let has_failed = matches!(connection.end(), Some(End::Failed(_)));
        let (opened, connection) = match opened {
            // Some programs end when their first message is one that they do not know.
            Err(_) if is_new && has_failed => {
                options.known_version = protocol::LEGACY.first().copied();
                self.start(entry, options, cancel)?
            }
            opened => (opened, connection),
        };
        let link = opened?;
        link.subscribe(cancel)?;
        Ok((link, Some(connection)))
    }

    /// Starts a program and says hello.
    fn start(
        &self,
        entry: &Entry,
        options: Options,
        cancel: &Cancel,
    ) -> Result<(Result<Arc<Link>>, Arc<Connection>)> {
        let server = &entry.server;
        let launcher = self.parts.launcher.as_ref().ok_or_else(|| {
            Error::Failed(format!(
                "the MCP server {} is a program, and commands are turned off (tools.exec.enabled)",
                entry.name
            ))
        })?;
        let (served, kept) = launcher.launch(&entry.name, server, cancel)?;
        let settings = Settings {
            name: entry.name.clone(),
            eraser: Eraser::new(server.env.values().cloned()),
            root: self.parts.root.clone(),
            idle: Duration::from_secs(server.idle_timeout),
            patience: Duration::from_secs(server.tool_timeout),
            kept,
        };
        let connection = self.hub.attach(served, settings)?;
        let transport = Box::new(Stdio(Arc::clone(&connection)));
        Ok((Link::open(transport, options, cancel), connection))
    }
}
