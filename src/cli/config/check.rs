//! Checks everything that start-up checks, so that a mistake is found when it is made.

use std::path::Path;

use super::texts;
use crate::base::error::Result;
use crate::base::message::Address;
use crate::channels::http;
use crate::cli::compose::{check_agents, models_of, open_workspace, tls};
use crate::cli::{Context, gateway};
use crate::config::resolve::Folders;
use crate::config::schema::Config;
use crate::config::{Home, Loaded};
use crate::models::table::known;
use crate::tools::commands::risk::Patterns;

/// Fails as a start would fail. Returns warnings: what starts, but will not work.
pub fn check_start(context: &Context, loaded: &Loaded) -> Result<Vec<String>> {
    let config = &loaded.config;
    gateway::check_channels(&config.channels)?;
    http::check(&config.http)?;
    tls(&config.tls)?;
    let exec = &config.tools.exec;
    Patterns::new(&exec.deny_patterns, &exec.allow_patterns)?;
    let home = context.home()?;
    check_agents(&home, loaded)?;
    let user_home = context.environment().get("HOME").map(Path::new);
    let mut warnings = hooks_without_chat(config);
    warnings.extend(missing_backup_folder(&home, config));
    for profile in config.agents.profiles() {
        let loaded = &loaded.of_agent(Some(&profile.id))?;
        let workspace = home.workspace(&profile.settings.workspace);
        Folders::of(&config.tools, &workspace, user_home)?;
        // A check creates nothing, and opening creates the workspace.
        if workspace.is_dir() {
            open_workspace(context, &home, loaded)?;
        }
        let models = models_of(context, loaded)?;
        let route = models.primary();
        if let Some([variable, ..]) = known(&route.provider).map(|known| known.variables)
            && route.needs_key
            && route.key.is_empty()
        {
            let warning = texts::no_api_key(&route.provider, variable);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        if let Some(sign_in) = route.sign_in.as_ref().filter(|sign_in| !sign_in.is_there()) {
            warnings.push(texts::not_signed_in(sign_in.service().name()));
        }
        if config.limits.usd_per_day > 0.0 {
            let unpriced = models.unpriced();
            let unpriced = unpriced.iter().map(|model| texts::no_price(model));
            warnings.extend(unpriced);
        }
    }
    Ok(warnings)
}

/// A warning where there is no folder for the automatic backups; it is not made, for a disk may be missing there.
pub fn missing_backup_folder(home: &Home, config: &Config) -> Option<String> {
    let folder = &config.backup.folder;
    let path = home.backups(folder);
    (!folder.is_empty() && !path.is_dir()).then(|| texts::no_backup_folder(&path))
}

/// Warnings of hooks whose messages could never be sent.
fn hooks_without_chat(config: &Config) -> Vec<String> {
    let hooks = config.http.hooks.iter();
    let warnings = hooks
        .filter(|_| config.http.enabled)
        .filter_map(|(name, hook)| {
            let channel = Address::parse(&hook.to).channel;
            let is_on =
                channel == http::PAGE || config.channels.enabled().any(|bot| bot.name == channel);
            (!hook.to.is_empty() && !is_on)
                .then(|| texts::hook_without_chat(name, &hook.to, &channel))
        });
    warnings.collect()
}
