//! The MCP servers that are enabled: whether their programs can be started. None is, and nothing is sent.

use std::ffi::OsStr;
use std::path::Path;

use super::report::Row;
use crate::base::error::Result;
use crate::cli::Context;
use crate::cli::compose::{exec_of, mcp_of, tls};
use crate::config::Loaded;
use crate::text::{count_of, one_line};
use crate::tools::mcp::Overview;
use crate::tools::mcp::client::servers::ListState;
use crate::tools::skills::is_program;

/// Characters of a server's last error.
const ERROR_CHARS: usize = 200;

/// The servers of an agent, as one row; nothing when there are none.
pub fn mcp(context: &Context, loaded: &Loaded) -> Result<Option<Row>> {
    let home = context.home()?;
    let Some(mcp) = mcp_of(context, &home, loaded, tls(&loaded.config.tls)?, None)? else {
        return Ok(None);
    };
    let overviews = mcp.overview();
    let has_commands = loaded.config.tools.exec.enabled;
    let exec = exec_of(context, &home, loaded)?;
    let environment = exec.environment();
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, path)| path);
    let mut faults = overviews.iter().filter_map(|one| {
        let command = &one.settings.command;
        let is_missing = !command.is_empty() && !is_program(command, path);
        if !command.is_empty() && !has_commands {
            return Some(Row::failed(
                "mcp",
                format!("{} is a program, and tools.exec.enabled is false", one.name),
            ));
        }
        is_missing.then(|| Row::failed("mcp", describe_missing(one, command)))
    });
    let failed = faults
        .next()
        .or_else(|| overviews.iter().find_map(last_error));
    Ok(Some(failed.unwrap_or_else(|| {
        let unlisted = overviews
            .iter()
            .filter(|one| one.state == ListState::Never)
            .count();
        let tools: usize = overviews.iter().map(|one| one.tools).sum();
        let unlisted = match unlisted {
            0 => String::new(),
            count => format!(", {count} not listed yet (peacrab mcp test NAME)"),
        };
        let servers = count_of(overviews.len(), "server", "servers");
        Row::ok(
            "mcp",
            format!("{servers}, {}{unlisted}", count_of(tools, "tool", "tools")),
        )
    })))
}

fn describe_missing(server: &Overview<'_>, command: &str) -> String {
    let command = one_line(command, ERROR_CHARS);
    let hint = match Path::new(&command).file_name().and_then(OsStr::to_str) {
        Some("npx" | "node" | "npm") => ": install Node.js",
        Some("uvx" | "uv") => ": install uv (https://docs.astral.sh/uv)",
        Some("docker") => ": commands in the sandbox cannot use Docker",
        _ => " (commands find programs in PATH; tools.exec.pathAppend adds folders)",
    };
    format!("{}: the program {command} is not there{hint}", server.name)
}

fn last_error(server: &Overview<'_>) -> Option<Row> {
    let why = match &server.state {
        ListState::Failed(why) => why,
        _ => server.status.error.as_ref()?,
    };
    Some(Row::warning(
        "mcp",
        format!("{}: {}", server.name, one_line(why, ERROR_CHARS)),
    ))
}
