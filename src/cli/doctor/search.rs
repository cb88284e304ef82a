//! The search engine that web_search asks. Nothing is sent to it.

use super::report::Row;
use crate::cli::Context;
use crate::config::Loaded;
use crate::tools::web::Engine;

/// The engine, and what it lacks; nothing where the web tools are turned off.
pub fn search(context: &Context, loaded: &Loaded) -> Option<Row> {
    let settings = &loaded.config.tools.web;
    let variable = |name: &str| context.environment().get(name).cloned();
    let engine = Engine::choose(&settings.search, &variable);
    let key = match engine.key.is_empty() {
        true => "no API key needed",
        false => "API key set",
    };
    settings.enabled.then(|| match engine.problem {
        Some(problem) => Row::failed("search", problem),
        None => Row::ok("search", format!("{} ({key})", engine.known.name)),
    })
}
