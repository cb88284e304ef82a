//! The servers as people see them.

use super::Mcp;
use crate::config::schema::McpServer;
use crate::tools::mcp::client::oauth;
use crate::tools::mcp::client::servers::{ListState, Status};

/// A server that is enabled.
pub struct Overview<'a> {
    /// Its name in the configuration.
    pub name: &'a str,
    /// Its settings.
    pub settings: &'a McpServer,
    /// How many tools the agent has from it.
    pub tools: usize,
    /// How old its lists are.
    pub state: ListState,
    /// How it is.
    pub status: Status,
    /// Whether a login is stored; false for a program.
    pub is_logged_in: bool,
}

/// A tool of a server.
pub struct ToolOfServer {
    /// Its name for the model.
    pub name: String,
    /// Its name there.
    pub title: String,
    /// What it does, in the server's words.
    pub description: String,
}

impl Mcp {
    /// All servers that are enabled, by their names. Nothing is started.
    pub fn overview(&self) -> Vec<Overview<'_>> {
        let servers = self.settings.iter();
        let servers = servers.map(|(name, settings)| Overview {
            name,
            settings,
            tools: self.tools_of(name).len(),
            state: self.servers.listing(name).state,
            status: self.servers.status(name),
            is_logged_in: self.is_logged_in(name, settings),
        });
        servers.collect()
    }

    fn is_logged_in(&self, server: &str, settings: &McpServer) -> bool {
        !settings.url.is_empty() && oauth::has_token(&self.logins.parts(server, settings.clone()))
    }

    /// What the agent has from a server, by the names that the model calls.
    pub fn tools_of(&self, server: &str) -> Vec<ToolOfServer> {
        // The names depend on all servers.
        let entries = self.catalog(&|_| true).entries.into_iter();
        let tools = entries.filter(|entry| entry.server == server);
        let tools = tools.map(|entry| ToolOfServer {
            title: entry.target.title().to_owned(),
            description: entry.target.description().to_owned(),
            name: entry.name,
        });
        tools.collect()
    }

    /// Whether the tools of all servers are too many for each request, so that the model searches them.
    pub fn is_searched(&self) -> bool {
        let is_listed = |name: &String| self.servers.listing(name).state != ListState::Never;
        let specs = self.specs("", &str::to_owned);
        let is_searched = specs.iter().any(|spec| spec.name == super::FIND_TOOLS);
        is_searched && self.settings.keys().all(is_listed)
    }
}
