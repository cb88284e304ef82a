//! `peacrab mcp`: the MCP servers whose tools the agent can use.

mod change;
mod list;
mod login;
mod texts;
mod try_out;

use clap::{Args, Subcommand};

use super::Context;
use super::compose::mcp_of;
use crate::base::error::{Error, Exit, Result};
use crate::config::Loaded;
use crate::text::{nearest, one_line};
use crate::tools::mcp::Mcp;

const AFTER_HELP: &str = "\
Examples:
  peacrab mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  peacrab mcp add git --env 'TOKEN=${GIT_TOKEN}' -- uvx mcp-server-git
  peacrab mcp add notes https://notes.example/mcp
  peacrab mcp login notes
  peacrab mcp call files read_text_file '{\"path\": \"notes.md\"}'

A program runs in the sandbox of commands, with the same folders and network, and only \
while it is used. `peacrab config explain tools.mcpServers` shows all settings.";

/// `peacrab mcp …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The agent of agents.list [default: the default agent]
    #[arg(long, global = true, value_name = "ID")]
    agent: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers
    #[command(alias = "ls")]
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Connect to a server, and list its tools
    #[command(alias = "tools")]
    Test {
        /// Its name
        #[arg(value_name = "NAME")]
        server: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Call a tool of a server, as the agent would
    Call {
        /// Its name
        #[arg(value_name = "NAME")]
        server: String,
        /// The tool
        #[arg(value_name = "TOOL")]
        server_tool: String,
        /// Its arguments, as a JSON object
        #[arg(value_name = "JSON", default_value = "{}")]
        arguments: String,
    },
    /// Add a server to the configuration, and test it
    Add(change::AddArguments),
    /// Remove a server from the configuration
    #[command(aliases = ["rm", "delete"])]
    Remove(Named),
    /// Sign in to a server
    Login(Named),
    /// Forget a login
    Logout(Named),
}

/// A server.
#[derive(Debug, Args)]
struct Named {
    /// Its name
    #[arg(value_name = "NAME")]
    server: String,
}

impl Arguments {
    /// Whether the configuration or a login is changed.
    pub fn changes(&self) -> bool {
        !matches!(self.action, None | Some(Action::List { .. }))
    }
}

/// Runs the action.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let agent = arguments.agent.as_deref();
    if let Some(Action::Add(add)) = &arguments.action {
        return change::add(context, agent, add);
    }
    let loaded = context.start()?.of_agent(agent)?;
    match arguments.action {
        None => list::run(context, &loaded, false),
        Some(Action::List { json }) => list::run(context, &loaded, json),
        Some(Action::Test { server, json }) => try_out::test(context, &loaded, &server, json),
        Some(Action::Call {
            server,
            server_tool,
            arguments,
        }) => try_out::call(context, &loaded, &server, &server_tool, &arguments),
        Some(Action::Add(_)) => Ok(Exit::Done),
        Some(Action::Remove(Named { server })) => change::remove(context, &loaded, &server),
        Some(Action::Login(Named { server })) => login::login(context, &loaded, &server),
        Some(Action::Logout(Named { server })) => login::logout(context, &loaded, &server),
    }
}

/// The names of the servers in a configuration, for completions.
pub fn names(loaded: &Loaded) -> Vec<(String, String)> {
    let servers = loaded.config.tools.mcp_servers.iter();
    let named = servers.map(|(name, server)| (name.clone(), list::target(server)));
    named.collect()
}

/// The tools of all servers that are enabled. Fails when this server is not one of them.
fn open(context: &Context, loaded: &Loaded, server: &str) -> Result<Mcp> {
    let servers = &loaded.config.tools.mcp_servers;
    match servers.get(server) {
        Some(settings) if !settings.enabled => return Err(Error::Usage(texts::disabled(server))),
        Some(_) => {}
        None => {
            let server = one_line(server, 40);
            let near = nearest(&server, servers.keys().map(String::as_str));
            return Err(Error::Usage(texts::unknown(&server, near)));
        }
    }
    let tls = super::compose::tls(&loaded.config.tls)?;
    let opened = mcp_of(context, &context.home()?, loaded, tls, None)?;
    opened.ok_or_else(|| Error::Usage(texts::disabled(server)))
}
