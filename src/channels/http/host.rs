//! What the HTTP server asks of the gateway that it belongs to.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::hook::HookCall;
use super::site::{Reach, Site};
use crate::base::access::Role;
use crate::base::error::Result;
use crate::base::message::SessionKey;
use crate::store::state::pairing::pages::Visitor;

/// Whether a figure only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// It grows until the next start, or until midnight.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A number about the gateway or the board.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name behind `peacrab_`, with its unit at the end.
    pub name: &'static str,
    /// One sentence about it.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: FigureKind,
    /// Tells it from others of the same name.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

/// The gateway, as the HTTP server sees it. Its methods wait for nothing but the disk.
pub trait Host: Send + Sync {
    /// Whether the gateway works: `None`, or what does not.
    fn trouble(&self) -> Option<String>;

    /// Numbers about the gateway and the board; those of one name stand together.
    fn figures(&self) -> Vec<Figure>;

    /// The ids of the agents.
    fn agents(&self) -> Vec<String>;

    /// Takes a call of a hook: what it comes to is on the disk when this returns. The same delivery is taken once.
    fn hook(&self, call: HookCall) -> Result<()>;

    /// What a person who uses the page may do now; `None` without access.
    fn role_of(&self, visitor: &Visitor) -> Option<Role>;

    /// What was said in a conversation, the newest last, at most so many.
    fn said(&self, session: &SessionKey, most: usize) -> Vec<Said>;

    /// The names of the conversations that a person has had on the page.
    fn conversations(&self, visitor: &Visitor) -> Vec<String>;

    /// A part of the page for a person with a role, as JSON. The caller has looked at the role.
    fn show(&self, part: &Part, visitor: &Visitor, role: Role) -> Result<Value>;

    /// A file of the workspace, of at most so many bytes. The caller has looked at the role.
    fn load(&self, visitor: &Visitor, path: &str, most: u64) -> Result<Vec<u8>>;

    /// Stores a file in the workspace: its path, and whether it may take the place of one. The caller has looked at the
    /// role.
    fn store(&self, visitor: &Visitor, place: (&str, bool), bytes: &[u8]) -> Result<()>;
}

/// Something that the page shows besides the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The answer to a command without an argument, as Markdown in `text`; `wait` asks to try again soon.
    Report(String),
    /// The board now, and its history of so many seconds.
    Board(u64),
    /// The newest entries of the audit log.
    Audit,
    /// The settings with what they are for, and their values.
    Settings,
    /// Tokens and cost by day.
    Usage,
    /// What is in a folder of the workspace.
    Folder(String),
}

/// Something that was said in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether it was a person; else the agent.
    pub is_person: bool,
    /// What it was, as Markdown where the agent has said it.
    pub text: String,
    /// When, in milliseconds since 1970; 0 where that is unknown.
    pub at_ms: i64,
}

/// The place of the gateway, which is made after its channels.
#[derive(Clone)]
pub struct Slot(Arc<Inside>);

struct Inside {
    host: OnceLock<Arc<dyn Host>>,
    port: OnceLock<u16>,
    site: Site,
}

impl Slot {
    /// A place for the gateway, with where its page is.
    pub fn new(site: Site) -> Self {
        Self(Arc::new(Inside {
            host: OnceLock::new(),
            port: OnceLock::new(),
            site,
        }))
    }

    /// Notes the port that the system gave.
    pub fn listens(&self, port: Option<u16>) {
        if let Some(port) = port {
            let _ = self.0.port.set(port);
        }
    }

    /// The addresses of the page, the one to try first before the other; empty where only the owner of a proxy knows it.
    pub fn addresses(&self, reach: Reach) -> Vec<String> {
        self.0.site.addresses(self.0.port.get().copied(), reach)
    }

    /// Whether browsers elsewhere cannot reach the page.
    pub fn is_local(&self) -> bool {
        self.0.site.is_local()
    }

    /// Names the gateway, once.
    pub fn fill(&self, host: Arc<dyn Host>) {
        let _ = self.0.host.set(host);
    }

    /// The gateway; `None` before it is complete.
    pub fn host(&self) -> Option<&dyn Host> {
        self.0.host.get().map(AsRef::as_ref)
    }
}
