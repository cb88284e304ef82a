//! What keeps agents apart: each sees its own workspace, and no other agent's.

use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::config::check::agents as check;
use crate::config::{Home, Loaded, texts};
use crate::sys::beneath::real_path;
use crate::sys::file::private_folder;

/// The workspaces of the other agents, which neither tools nor commands may see. What is in the home is
/// hidden with it.
pub fn workspaces_of_others(home: &Home, loaded: &Loaded) -> Vec<PathBuf> {
    let others = loaded.others.iter().map(|path| home.workspace(path));
    others
        .filter(|path| !path.starts_with(home.path()))
        .collect()
}

/// Fails when agents could see each other's files, or those of the program.
pub fn check_agents(home: &Home, loaded: &Loaded) -> Result<()> {
    let agents = &loaded.config.agents;
    check::places(agents, home)?;
    if !agents.are_several() {
        return Ok(());
    }
    let tools = &loaded.config.tools;
    for profile in agents.profiles() {
        let workspace = home.workspace(&profile.settings.workspace);
        for (key, paths) in [
            ("tools.allowedPaths", &tools.allowed_paths),
            ("tools.readOnlyPaths", &tools.read_only_paths),
        ] {
            let is_in = |path: &&String| {
                let path = Path::new(path.as_str());
                let real = real_path(path, &[]).unwrap_or_else(|_| path.to_owned());
                path.is_absolute() && real.starts_with(&workspace)
            };
            if let Some(path) = paths.iter().find(is_in) {
                let text = texts::workspace_given_away(key, path, &profile.id);
                return Err(Error::Config(text));
            }
        }
    }
    Ok(())
}

/// Creates every agent's workspace that is missing, so that each can be hidden from the others.
pub fn create_workspaces(home: &Home, loaded: &Loaded) -> Result<()> {
    let profiles = loaded.config.agents.profiles().into_iter();
    let mut folders = profiles.map(|profile| home.workspace(&profile.settings.workspace));
    folders.try_for_each(|folder| private_folder(&folder))
}
