//! Builds the command tools and their sandbox from the configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::agents::workspaces_of_others;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::cli::Context;
use crate::config::agents::MAIN;
use crate::config::resolve::{Folder, Folders};
use crate::config::schema::{SandboxChoice, Tools};
use crate::config::{Home, Loaded};
use crate::sandbox::confine::{Exec, Hold, SandboxMode, Settings};
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::{Approvals, Audit, ShellMemory};
use crate::sys::host::account;
use crate::tools::commands::{Commands, Records};

/// The command tools of the model; `None` when the configuration turns commands off.
pub fn commands_of(context: &Context, home: &Home, loaded: &Loaded) -> Result<Option<Commands>> {
    let config = &loaded.config;
    if !config.tools.exec.enabled {
        return Ok(None);
    }
    let exec = exec_of(context, home, loaded)?;
    let records = Records {
        outgoing: OutgoingFiles::new(home.outgoing()),
        approvals: Approvals::new(&home.state()).of_agent(loaded.agent_id()),
        audit: Audit::new(home.audit(), Clock::System),
        shells: ShellMemory::new(&home.state()).of_agent(loaded.agent_id()),
        clock: Clock::System,
    };
    Commands::new(exec, &config.tools.exec, records).map(Some)
}

/// The runner of commands, with the configured isolation. It has not tried any yet.
pub fn exec_of(context: &Context, home: &Home, loaded: &Loaded) -> Result<Exec> {
    let config = &loaded.config;
    let tools = &config.tools;
    let workspace = home.workspace(&config.agents.defaults.workspace);
    let user_home = context.environment().get("HOME").map(Path::new);
    let folders = Folders::of(tools, &workspace, user_home)?;
    let links = folders.links();
    let configured = folders.write.iter().chain(&folders.read);
    let mut named: Vec<_> = configured.map(|folder| folder.named.clone()).collect();
    let profiles = config.agents.profiles().into_iter();
    named.extend(profiles.map(|profile| home.path().join(profile.settings.workspace)));
    let paths = |list: Vec<Folder>| list.into_iter().filter_map(|folder| folder.real).collect();
    let mut hide = vec![context.config_file()?];
    hide.extend(loaded.secret_files.iter().cloned());
    hide.extend(home.elsewhere(&workspace));
    hide.extend(backups_elsewhere(home, loaded, &workspace));
    hide.extend(workspaces_of_others(home, loaded));
    let variable = |name: &str| context.environment().get(name).map(OsString::from);
    let others = changeable(home, loaded, &workspace, user_home);
    let settings = Settings {
        mode: match tools.exec.sandbox {
            SandboxChoice::Auto => SandboxMode::Auto,
            SandboxChoice::Namespaces => SandboxMode::Namespaces,
            SandboxChoice::Landlock => SandboxMode::Landlock,
            SandboxChoice::Off => SandboxMode::Off,
        },
        network: tools.exec.network,
        whole: !tools.restrict_to_workspace,
        others,
        write: paths(folders.write),
        read: paths(folders.read),
        protect: folders.protect,
        home: Some(home.path().to_owned()),
        hide,
        links,
        named,
        account_home: account::own().map(|account| account.home),
        programs: Some(home.programs(loaded.agent_id())),
        homes: Some(homes_of_programs(home)),
        root: Some(home.state().join("root")),
        empty_home: Some(home.state().join("empty")),
        ..Settings::new(&workspace)
    };
    let exec = Exec::new(settings.environment(
        &tools.exec.path_append,
        &tools.exec.allowed_env_keys,
        variable,
    ))?;
    Ok(exec.sharing(Hold::of_process()))
}

/// The folder of automatic backups, where it is not in the home: all keys may be in them. One that has the workspace in it
/// gets no backups.
pub fn backups_elsewhere(home: &Home, loaded: &Loaded, workspace: &Path) -> Option<PathBuf> {
    let folder = home.backups(&loaded.config.backup.folder);
    let folder = folder.canonicalize().ok()?;
    let is_beside = |inner: &Path| !inner.starts_with(&folder);
    (is_beside(home.path()) && is_beside(workspace) && !folder.starts_with(home.path()))
        .then_some(folder)
}

/// The real path of the folder with the homes of all agents' programs, which may not be there yet.
fn homes_of_programs(home: &Home) -> PathBuf {
    let homes = home.programs(MAIN);
    homes.canonicalize().unwrap_or(homes)
}

/// The folders beside an agent's workspace that a command or a server of tools can write, of any agent.
fn changeable(
    home: &Home,
    loaded: &Loaded,
    workspace: &Path,
    user_home: Option<&Path>,
) -> Vec<PathBuf> {
    let tools = &loaded.config.tools;
    let others = loaded.others.iter().map(|path| home.workspace(path));
    let mut found: Vec<PathBuf> = others.filter_map(|path| path.canonicalize().ok()).collect();
    let servers = tools.mcp_servers.values();
    let of_servers = servers.map(|server| &server.allowed_paths);
    for paths in of_servers
        .chain([&tools.allowed_paths])
        .filter(|paths| !paths.is_empty())
    {
        let tools = Tools {
            allowed_paths: paths.clone(),
            ..tools.clone()
        };
        // A wrong path is refused where it is used.
        let folders = Folders::of(&tools, workspace, user_home).map_or(Vec::new(), |of| of.write);
        found.extend(folders.into_iter().filter_map(|folder| folder.real));
    }
    found
}
