//! Sets commands and their sandbox up from the configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::Context;
use crate::cli::service::account;
use crate::clock::Clock;
use crate::config::schema::SandboxChoice;
use crate::config::{Home, Loaded};
use crate::confine::{Exec, SandboxMode, Settings};
use crate::error::Result;
use crate::state::{Approvals, Audit};
use crate::tools::commands::{Commands, Records};

/// The commands that the model may use; none where the configuration wants none.
pub fn commands_of(context: &Context, home: &Home, loaded: &Loaded) -> Result<Option<Commands>> {
    let config = &loaded.config;
    if !config.tools.exec.enabled {
        return Ok(None);
    }
    let exec = exec_of(context, home, loaded)?;
    let records = Records {
        approvals: Approvals::new(&home.state()),
        audit: Audit::new(home.audit(), Clock::System),
        clock: Clock::System,
    };
    Commands::new(exec, &config.tools.exec, records).map(Some)
}

/// What runs commands, isolated as the configuration says. Nothing is tried yet.
pub fn exec_of(context: &Context, home: &Home, loaded: &Loaded) -> Result<Exec> {
    let config = &loaded.config;
    let tools = &config.tools;
    let workspace = home.workspace(&config.agents.defaults.workspace);
    let user_home = context.environment().get("HOME").map(Path::new);
    let paths = |list: &[String]| list.iter().map(|path| expanded(path, user_home)).collect();
    let variable = |name: &str| context.environment().get(name).map(OsString::from);
    let settings = Settings {
        mode: match tools.exec.sandbox {
            SandboxChoice::Auto => SandboxMode::Auto,
            SandboxChoice::Namespaces => SandboxMode::Namespaces,
            SandboxChoice::Landlock => SandboxMode::Landlock,
            SandboxChoice::Off => SandboxMode::Off,
        },
        network: tools.exec.network,
        whole: !tools.restrict_to_workspace,
        write: paths(&tools.allowed_paths),
        read: paths(&tools.read_only_paths),
        protect: paths(&tools.protected_paths),
        account_home: account::own().map(|account| account.home),
        empty_home: Some(home.state().join("empty")),
        hide: hidden(context, home, loaded, &workspace)?,
        ..Settings::new(&workspace)
    };
    Exec::new(settings.environment(
        &tools.exec.path_append,
        &tools.exec.allowed_env_keys,
        variable,
    ))
}

/// What no command sees: the home folder, less the workspace where that lies in it, the configuration
/// and the files of keys wherever they are.
fn hidden(
    context: &Context,
    home: &Home,
    loaded: &Loaded,
    workspace: &Path,
) -> Result<Vec<PathBuf>> {
    let mut hidden = vec![context.config_file()?];
    hidden.extend(loaded.secret_files.iter().cloned());
    if !workspace.starts_with(home.path()) {
        hidden.push(home.path().to_owned());
        return Ok(hidden);
    }
    // A home that is not there yet has nothing to hide.
    let entries = std::fs::read_dir(home.path())
        .into_iter()
        .flatten()
        .flatten();
    hidden.extend(
        entries
            .map(|entry| entry.path())
            .filter(|path| !workspace.starts_with(path)),
    );
    Ok(hidden)
}

fn expanded(path: &str, user_home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}
