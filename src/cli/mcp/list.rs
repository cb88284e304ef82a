//! `peacrab mcp list`.

use std::fmt::Write;

use serde_json::json;

use super::texts;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::base::secret::{mask_address, mask_words};
use crate::cli::Context;
use crate::cli::compose::{mcp_of, tls};
use crate::cli::terminal::print;
use crate::config::Loaded;
use crate::config::schema::McpServer;
use crate::text::{count_of, ellipsize_chars, escape_json, one_line, reveal};
use crate::tools::mcp::Overview;
use crate::tools::mcp::client::servers::ListState;

/// Characters of a command line or an address in the list.
const TARGET_CHARS: usize = 70;

/// Characters of a server's last error.
const ERROR_CHARS: usize = 200;

/// What a server is: its command line, or its address.
pub fn target(server: &McpServer) -> String {
    let text = if server.url.is_empty() {
        let words = [&server.command].into_iter().chain(&server.args);
        mask_words(words.map(String::as_str)).join(" ")
    } else {
        mask_address(&server.url).into_owned()
    };
    ellipsize_chars(&reveal(&text), TARGET_CHARS).into_owned()
}

/// Lists all servers of the configuration. Nothing is started.
pub fn run(context: &Context, loaded: &Loaded, json: bool) -> Result<Exit> {
    let tls = tls(&loaded.config.tls)?;
    let mcp = mcp_of(context, &context.home()?, loaded, tls, None)?;
    let overviews = mcp.as_ref().map(|mcp| mcp.overview()).unwrap_or_default();
    let eraser = context.eraser(loaded);
    let mut text = String::new();
    for (name, server) in &loaded.config.tools.mcp_servers {
        let overview = overviews.iter().find(|one| one.name == name);
        let target = eraser.clean(&target(server)).into_owned();
        if json {
            let line = as_json(name, server, &target, overview);
            let _ = writeln!(text, "{}", escape_json(&line));
            continue;
        }
        let state = overview.map_or_else(|| texts::DISABLED.to_owned(), describe);
        let _ = writeln!(
            text,
            "{}  {state}\n    {}",
            print::bold(name),
            print::dim(&target)
        );
    }
    if json {
        print::json(text.trim_end())?;
    } else if text.is_empty() {
        print::line(texts::NO_SERVERS)?;
    } else {
        if mcp.is_some_and(|mcp| mcp.is_searched()) {
            let _ = writeln!(text, "\n{}", texts::SEARCHED);
        }
        print::out(&text)?;
    }
    Ok(Exit::Done)
}

fn as_json(
    name: &str,
    server: &McpServer,
    target: &str,
    overview: Option<&Overview<'_>>,
) -> String {
    let listed_at = overview.and_then(|one| one.status.listed_at);
    let failed = overview.and_then(|one| match &one.state {
        ListState::Failed(why) => Some(why.clone()),
        _ => one.status.error.clone(),
    });
    json!({
        "name": name,
        "enabled": server.enabled,
        "transport": if server.url.is_empty() { "stdio" } else { "http" },
        "target": target,
        "tools": overview.filter(|one| one.state != ListState::Never).map(|one| one.tools),
        "listedAtMs": listed_at,
        "loggedIn": overview.is_some_and(|one| one.is_logged_in),
        "error": failed,
    })
    .to_string()
}

/// The state of a server that is enabled, on one line.
fn describe(overview: &Overview<'_>) -> String {
    let mut parts = Vec::new();
    let error = match &overview.state {
        ListState::Failed(why) => Some(why),
        _ => overview.status.error.as_ref(),
    };
    match &overview.state {
        ListState::Failed(_) => {}
        ListState::Never if error.is_some() => {}
        ListState::Never => parts.push(texts::not_listed(overview.name)),
        ListState::Fresh | ListState::Stale => {
            parts.push(count_of(overview.tools, "tool", "tools"));
            if let Some(at) = overview.status.listed_at {
                let seconds = (Clock::System.now_ms() - at).max(0) / 1000;
                parts.push(texts::listed(seconds));
            }
        }
    }
    if let Some(why) = error {
        parts.push(texts::failed(&one_line(why, ERROR_CHARS)));
    }
    if overview.is_logged_in {
        parts.push(texts::LOGGED_IN.to_owned());
    }
    parts.join(", ")
}
