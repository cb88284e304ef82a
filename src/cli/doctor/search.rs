//! The search engine that web_search asks. Nothing is sent to it.

use super::report::Row;
use crate::cli::Context;
use crate::config::Loaded;
use crate::tools::web::Engine;

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
