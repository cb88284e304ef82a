//! Whether the custom tools can be used, and the search engine that web_search asks. Nothing is sent to it.

use super::report::Row;
use crate::base::error::Result;
use crate::cli::Context;
use crate::cli::tools::{Checked, Custom};
use crate::config::Loaded;
use crate::store::state::ToolApproval;
use crate::text::count_of;
use crate::tools::web::Engine;

/// The custom tools of an agent; nothing when there are none, or they are turned off.
pub fn tools(context: &Context, loaded: &Loaded) -> Result<Option<Row>> {
    let custom = Custom::of(context, loaded)?;
    let checked = if custom.is_enabled() {
        custom.check()
    } else {
        Vec::new()
    };
    Ok((!checked.is_empty()).then(|| judge(&checked)))
}

fn judge(checked: &[Checked]) -> Row {
    let mut faults = checked.iter().filter_map(Checked::fault);
    if let Some(first) = faults.next() {
        let more = match faults.count() {
            0 => String::new(),
            more => format!(" (and {more} more: `peacrab tools check`)"),
        };
        return Row::warning("tools", format!("{first}{more}"));
    }
    let count = count_of(checked.len(), "custom tool", "custom tools");
    let waits = |one: &&Checked| !matches!(one.state, Ok((_, ToolApproval::Approved)));
    Row::ok(
        "tools",
        match checked.iter().filter(waits).count() {
            0 => count,
            waiting => format!("{count}, {waiting} not approved yet (`peacrab tools list`)"),
        },
    )
}

/// The engine, and what it lacks, or why the web tools are off; nothing where they are turned off by
/// themselves.
pub fn search(context: &Context, loaded: &Loaded) -> Option<Row> {
    let settings = &loaded.config.tools.web;
    let variable = |name: &str| context.environment().get(name).cloned();
    let engine = Engine::choose(&settings.search, &variable);
    let key = if engine.key.is_empty() {
        "no API key needed"
    } else {
        "API key set"
    };
    if !loaded.config.tools.has_web() {
        return settings.enabled.is_none().then(|| {
            Row::ok(
                "search",
                "off, because tools.exec.network is false; set tools.web.enabled to true to search and \
                 read pages anyway",
            )
        });
    }
    Some(match engine.problem {
        Some(problem) => Row::failed("search", problem),
        None => Row::ok("search", format!("{} ({key})", engine.known.name)),
    })
}
