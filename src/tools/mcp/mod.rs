//! The tools of MCP servers as tools of the agent.
//!
//! When the specs of all of them are small, they are in each request. Otherwise the model finds them with
//! find_tools, and what it has found is in the requests of that conversation. A tool always runs when it is
//! called by its full name. Nothing is started before a call needs it.

mod calls;
mod catalog;
pub mod client;
mod find;
pub(super) mod names;
mod overview;
mod results;
mod schema;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use super::results::marked;
use super::{Arguments, Context};
use crate::base::cancel::Cancel;
use crate::base::chat::{ToolCall, ToolResult, ToolSpec};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::config::schema::McpServer;
use crate::text::{count_of, one_line};
use crate::tools::mcp::client::servers::{ListState, Listing, Servers};

pub use calls::Logins;
use calls::Parked;
use catalog::{Entry, Namer, targets};
use find::Document;
pub use overview::{Overview, ToolOfServer};
use std::time::Duration;

/// How long a turn waits until a server is connected or its lists are read. Both go on without it.
const TURN_TIME: Duration = Duration::from_secs(10);

/// Bytes of the specs of all servers' tools in a request: about 1,500 tokens. When they have more, the
/// model finds them with `find_tools`.
const SPECS_BYTES: usize = 6_000;
/// Tools of servers in a request; providers take 128 in all.
const SPECS: usize = 40;
/// Tools that one search finds.
const FOUND: usize = 5;
/// Found tools that a conversation keeps; the oldest go.
const FOUND_KEPT: usize = 12;
/// Conversations whose found tools are kept.
const FOUND_CONVERSATIONS: usize = 32;
/// Characters of a found tool's description.
const FOUND_CHARS: usize = 200;
/// Bytes of the names that a search without a result lists.
const FOUND_NAMES_BYTES: usize = 2_000;

/// The tool that finds the tools of servers.
pub const FIND_TOOLS: &str = "find_tools";

/// The tools of the servers of one agent.
pub struct Mcp {
    servers: Arc<Servers>,
    /// Their settings, by their names.
    settings: BTreeMap<String, McpServer>,
    logins: Logins,
    found: Mutex<VecDeque<Found>>,
    parked: Mutex<VecDeque<Parked>>,
}

/// What servers have.
#[derive(Default)]
struct Catalog {
    entries: Vec<Entry>,
    /// The names of those servers whose lists were never read.
    unlisted: Vec<String>,
}

/// What a conversation has found.
struct Found {
    session: String,
    /// The names of the tools, the last one found last.
    names: Vec<String>,
}

impl Mcp {
    /// The tools of servers with these settings.
    pub fn new(
        servers: Arc<Servers>,
        settings: BTreeMap<String, McpServer>,
        logins: Logins,
    ) -> Self {
        Self {
            servers,
            settings,
            logins,
            found: Mutex::new(VecDeque::new()),
            parked: Mutex::new(VecDeque::new()),
        }
    }

    /// The servers.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// Begins a turn, whose specs have been read: calls of the one before that still wait are given up, and
    /// old lists are read again in the background.
    pub fn begin_turn(&self, session: &str) {
        self.give_up(session);
        self.servers.look_later();
    }

    /// What the servers have whose names are wanted.
    fn catalog(&self, is_wanted: &dyn Fn(&str) -> bool) -> Catalog {
        let mut namer = Namer::default();
        let mut catalog = Catalog::default();
        for (server, settings) in self.settings.iter().filter(|(name, _)| is_wanted(name)) {
            let listing = self.servers.listing(server);
            if listing.state == ListState::Never {
                catalog.unlisted.push(server.clone());
            }
            let all = targets(listing, &settings.enabled_tools).into_iter();
            let all = all.map(|target| namer.entry(server, target));
            catalog.entries.extend(all);
        }
        catalog
    }

    /// The specs for a conversation: all of them where they are small, else find_tools and what it has
    /// found. `clean` removes secrets.
    pub fn specs(&self, session: &str, clean: &dyn Fn(&str) -> String) -> Vec<ToolSpec> {
        let catalog = self.catalog(&|_| true);
        let mut specs = Vec::new();
        let mut bytes = 0;
        let mut fits = catalog.unlisted.is_empty();
        for entry in &catalog.entries {
            if !fits {
                break;
            }
            let spec = entry.spec(clean);
            bytes += spec.bytes();
            specs.push(spec);
            fits = bytes <= SPECS_BYTES && specs.len() <= SPECS;
        }
        if fits {
            return specs;
        }
        let mut specs = vec![self.find_tools(&catalog)];
        let found = self.found.lock();
        let found = found.iter().find(|found| found.session == session);
        let names = found.map_or(&[][..], |found| &found.names);
        let mut bytes = 0;
        // The newest first: what is too much are the oldest.
        for name in names.iter().rev() {
            let named = catalog.entries.iter().find(|entry| entry.name == *name);
            let Some(spec) = named.map(|entry| entry.spec(clean)) else {
                continue;
            };
            bytes += spec.bytes();
            if bytes > SPECS_BYTES {
                break;
            }
            specs.insert(1, spec);
        }
        specs
    }

    /// The spec of find_tools, which says what there is to find.
    fn find_tools(&self, catalog: &Catalog) -> ToolSpec {
        let server = |name: &String| {
            let of_server = catalog.entries.iter().filter(|entry| entry.server == *name);
            if catalog.unlisted.contains(name) {
                format!("{name} (not listed yet)")
            } else {
                format!("{name} ({})", count_of(of_server.count(), "tool", "tools"))
            }
        };
        let servers: Vec<String> = self.settings.keys().map(server).collect();
        let description = format!(
            "Find tools of MCP servers by what they do; what it finds can be called from then on. Servers: {}",
            servers.join(", ")
        );
        ToolSpec {
            name: FIND_TOOLS.into(),
            description: description.into(),
            parameters:
                r#"{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}"#
                    .into(),
            read_only: true,
        }
    }

    /// Whether a call of this name only reads, as the server says.
    pub fn is_read_only(&self, name: &str) -> bool {
        name == FIND_TOOLS || self.entry(name).is_some_and(|entry| entry.is_read_only())
    }

    /// What a name stands for, among the servers that it can be of.
    fn entry(&self, name: &str) -> Option<Entry> {
        if !name.starts_with(names::PREFIX) {
            return None;
        }
        let catalog = self.catalog(&|server| name.starts_with(&names::prefix(server)));
        let mut entries = catalog.entries.into_iter();
        entries.find(|entry| entry.answers_to(name))
    }

    /// Runs a call; `None` when no name of a server's tool looks like this one.
    pub fn run(
        &self,
        call: &ToolCall,
        context: &Context<'_>,
        arguments: &Arguments,
    ) -> Option<Result<ToolResult>> {
        let name = call.name.as_str();
        if name == FIND_TOOLS {
            // What it finds may do something; it does nothing.
            return Some(self.find(context, arguments).map(|found| ToolResult {
                is_talk: true,
                ..found
            }));
        }
        let mut fault = None;
        let entry = self.entry(name).or_else(|| {
            let may_have = |server: &&str| name.starts_with(&names::prefix(server));
            let unlisted = self.settings.keys().map(String::as_str).filter(may_have);
            let watch = Stopwatch::start();
            for server in unlisted {
                let listed = self.listed(server, &watch, context.caller.cancel);
                fault = listed
                    .err()
                    .map(|error| calls::named(server, error))
                    .or(fault.take());
            }
            self.entry(name)
        });
        match (entry, fault) {
            (Some(entry), _) => Some(self.call(&entry, call, context, arguments)),
            (None, Some(fault)) => Some(Err(fault)),
            (None, None) if name.starts_with(names::PREFIX) => Some(Err(Error::Failed(format!(
                "there is no tool {:?}: no MCP server has it, or tools.mcpServers does not allow it",
                one_line(name, FOUND_CHARS)
            )))),
            (None, None) => None,
        }
    }

    /// A server's lists, read now where they never were or could not be. `watch` runs since the turn began to
    /// wait for servers.
    fn listed(&self, server: &str, watch: &Stopwatch, cancel: &Cancel) -> Result<Listing> {
        let listing = self.servers.listing(server);
        match listing.state {
            ListState::Never | ListState::Failed(_) if listing.tools.is_empty() => {
                let left = TURN_TIME.saturating_sub(watch.elapsed());
                self.servers.refresh_for_turn(server, left, cancel)
            }
            _ => Ok(listing),
        }
    }

    /// Runs find_tools.
    fn find(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let query = arguments.text("query", "what the tool should do, in a few words")?;
        let mut faults = String::new();
        let watch = Stopwatch::start();
        for server in self.settings.keys() {
            if let Err(error) = self.listed(server, &watch, context.caller.cancel) {
                match calls::named(server, error) {
                    Error::Stopped => return Err(Error::Stopped),
                    error => drop(write!(faults, "\n\nNot searched: {error}")),
                }
            }
        }
        let catalog = self.catalog(&|_| true).entries;
        let document = |entry: &Entry| Document::new(&entry.name, entry.target.description());
        let documents: Vec<Document> = catalog.iter().map(document).collect();
        let places = find::best(&query, &documents, FOUND);
        let hits: Vec<&Entry> = places
            .iter()
            .filter_map(|place| catalog.get(*place))
            .collect();
        if hits.is_empty() {
            let mut names = String::new();
            for entry in &catalog {
                if names.len() + entry.name.len() > FOUND_NAMES_BYTES {
                    names.push_str(" …");
                    break;
                }
                let _ = write!(names, " {}", entry.name);
            }
            let text = format!("Nothing matches. Use other words; all names:{names}{faults}");
            return Ok(ToolResult::new(text));
        }
        self.keep(
            context.caller.session,
            hits.iter().map(|entry| entry.name.clone()),
        );
        let mut lines = Vec::new();
        for entry in hits {
            let description = one_line(entry.target.description(), FOUND_CHARS);
            lines.push(format!("- {}: {description}", entry.name));
        }
        let listed = marked("descriptions by MCP servers", &lines.join("\n"))?;
        Ok(ToolResult::new(format!(
            "These can be called now:\n{listed}{faults}"
        )))
    }

    /// Remembers what a conversation has found.
    fn keep(&self, session: &str, names: impl Iterator<Item = String>) {
        let mut all = self.found.lock();
        let place = all.iter().position(|found| found.session == session);
        let mut found = place
            .and_then(|place| all.remove(place))
            .unwrap_or_else(|| Found {
                session: session.to_owned(),
                names: Vec::new(),
            });
        // The best hit last, so that it stays longest.
        for name in names.collect::<Vec<_>>().into_iter().rev() {
            found.names.retain(|one| *one != name);
            found.names.push(name);
        }
        let surplus = found.names.len().saturating_sub(FOUND_KEPT);
        found.names.drain(..surplus);
        all.push_back(found);
        if all.len() > FOUND_CONVERSATIONS {
            all.pop_front();
        }
    }
}
