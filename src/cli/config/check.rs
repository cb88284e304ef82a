//! Checks everything that start-up checks, so that a mistake is found when it is made.

use super::texts;
use crate::cli::compose::{commands_of, models_of, open_workspace, tls};
use crate::cli::{Context, gateway};
use crate::config::Loaded;
use crate::error::Result;
use crate::provider::table::known;

/// Fails as a start would fail. Returns warnings: what starts, but will not work.
pub fn check_start(context: &Context, loaded: &Loaded) -> Result<Vec<String>> {
    let config = &loaded.config;
    gateway::check_tokens(&config.channels)?;
    tls(&config.tls)?;
    let home = context.home()?;
    commands_of(context, &home, loaded)?;
    // Without the folder there is nothing to open, and a check creates nothing.
    if home.workspace(&config.agents.defaults.workspace).is_dir() {
        open_workspace(context, &home, loaded)?;
    }
    let models = models_of(context, loaded)?;
    let route = models.primary();
    let mut warnings = Vec::new();
    if let Some([variable, ..]) = known(&route.provider).map(|known| known.variables)
        && route.needs_key
        && route.key.is_empty()
    {
        warnings.push(texts::no_api_key(&route.provider, variable));
    }
    Ok(warnings)
}
