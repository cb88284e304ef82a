//! What `peacrab mcp` says.

use std::path::Path;

use crate::base::error::Error;
use crate::base::limits::mcp::CONNECT_TIME;

/// The configuration has none.
pub const NO_SERVERS: &str =
    "No MCP servers. To add one: peacrab mcp add NAME -- COMMAND, or peacrab mcp add NAME URL";
/// The configuration turns it off.
pub const DISABLED: &str = "disabled";
/// A login is stored.
pub const LOGGED_IN: &str = "logged in";
/// The agent does not see all tools at once.
pub const SEARCHED: &str =
    "These tools are too many for every request, so the agent searches them with find_tools.";
/// Nothing was there to forget.
pub const NOT_LOGGED_IN: &str = "There is no login.";
/// What a server needs was left out.
pub const WHAT_TO_ADD: &str = "Say what to add: a URL, or -- and a command with its arguments";

/// What follows a URL is no option, or does not go together with the others.
pub fn beside_url(word: &str) -> String {
    format!("A URL takes options only, which fit together, and no arguments: {word}")
}

/// A name that no server has; `near` is one that was perhaps meant.
pub fn unknown(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("No MCP server {name}. Did you mean {near}?"),
        None => format!("No MCP server {name}. `peacrab mcp list` shows them."),
    }
}

/// A server that the configuration turns off.
pub fn disabled(name: &str) -> String {
    format!(
        "{name} is disabled. To use it: peacrab config set tools.mcpServers.{name}.enabled true"
    )
}

/// A server whose tools were never read.
pub fn not_listed(name: &str) -> String {
    format!("not listed yet (peacrab mcp test {name})")
}

/// A server whose tools could not be read.
pub fn failed(why: &str) -> String {
    format!("failed: {why}")
}

/// How long ago the tools were read, in seconds.
pub fn listed(seconds: i64) -> String {
    match seconds {
        ..60 => "listed just now".to_owned(),
        60..7_200 => format!("listed {} min ago", seconds / 60),
        7_200..172_800 => format!("listed {} hours ago", seconds / 3_600),
        _ => format!("listed {} days ago", seconds / 86_400),
    }
}

/// A server with this name exists.
pub fn already_there(name: &str) -> String {
    format!(
        "There already is an MCP server {name}. To replace it, remove it first: peacrab mcp remove {name}"
    )
}

/// A pair of a name and a value is not one.
pub fn not_a_pair(option: &str, text: &str) -> String {
    let name = text.split(['=', ':']).next().unwrap_or_default();
    format!("{option} needs NAME=VALUE, not {name}")
}

/// A server was added.
pub fn added(name: &str, file: &Path) -> String {
    format!("Added {name} to {}.", file.display())
}

/// The folder in which a server's program starts.
pub fn starts_in(name: &str, folder: &str) -> String {
    format!("{name} starts in {folder}: all that can write there can change what it loads.")
}

/// A server that was added does not work.
pub fn added_but(name: &str, error: &Error) -> String {
    format!(
        "{name} was added, but does not work yet: {error}\nTo try again: peacrab mcp test {name}"
    )
}

/// A server was removed.
pub fn removed(name: &str) -> String {
    format!("Removed {name}.")
}

/// A server is set by a variable of the environment.
pub fn not_in_file(name: &str, file: &Path) -> String {
    format!("{name} is not in {}", file.display())
}

/// A server answered. `server` is its own name and version.
pub fn connected(name: &str, server: &str, version: &str, seconds: f32) -> String {
    let server = if server.is_empty() {
        "connected"
    } else {
        server
    };
    format!("{name}: {server}, MCP {version}, after {seconds:.1} s")
}

/// A server has not answered yet.
pub fn still_silent(name: &str) -> String {
    format!(
        "{name} has not answered yet. It is waited for {} s at most, because the first start of npx and uvx downloads \
         a server. Ctrl-C stops that.",
        CONNECT_TIME.as_secs()
    )
}

/// Something on a server's list is not used.
pub fn left_out(why: &str) -> String {
    format!("Left out: {why}")
}

/// A login has no use for a program.
pub fn no_url(name: &str) -> String {
    format!(
        "{name} is a program on this board: it has no login. Its keys are in tools.mcpServers.{name}.env"
    )
}

/// The login is stored.
pub fn logged_in(name: &str) -> String {
    format!("Logged in to {name}.")
}

/// The login was not finished.
pub fn not_finished(name: &str) -> String {
    format!("Not logged in to {name}: the login was not finished.")
}

/// A login is forgotten.
pub fn logged_out(name: &str) -> String {
    format!("Forgot the login to {name}.")
}

/// A tool that the server does not have.
pub fn no_tool(server: &str, tool: &str) -> String {
    format!(
        "{server} has no tool {tool}, or tools.mcpServers.{server}.enabledTools leaves it out. `peacrab mcp test {server}` lists them."
    )
}

/// A server answered 401 or 403.
pub fn needs_login(name: &str) -> String {
    format!("{name} needs a login: peacrab mcp login {name}")
}
