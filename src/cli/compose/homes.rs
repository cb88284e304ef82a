//! The homes of programs that the configuration no longer has: what they have left goes to no other program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;

use crate::base::error::Error;
use crate::config::agents::MAIN;
use crate::config::{Home, Loaded};
use crate::sys::at;
use crate::sys::random;

/// Names that one removal goes through; the next start of the gateway removes what is left.
const NAMES_MAX: usize = 50_000;
/// Names of a folder that are read at a time.
const NAMES_AT_ONCE: usize = 1024;
/// The beginning of the name of a folder with an agent's homes.
const AGENT: &str = "agent.";
/// The beginning of the name of a server's home.
const SERVER: &str = "mcp.";
/// The home that all commands of the configuration shared once.
const SHARED: &str = "commands.configured";

/// Removes the homes of servers and agents that the configuration does not have, as far as it was understood: a mistake in
/// a section costs no home. What a server has kept under another command or other arguments stays until it is removed.
pub fn remove_unused_homes(home: &Home, loaded: &Loaded) {
    if !loaded.ignored.is_empty() {
        return;
    }
    let servers = loaded.config.tools.mcp_servers.iter();
    let used: Vec<String> = servers
        .map(|(name, _)| format!("{SERVER}{name}."))
        .collect();
    let profiles = loaded.config.agents.profiles();
    sweep(home, &|name| {
        if let Some(id) = name.strip_prefix(AGENT) {
            return profiles.iter().all(|profile| profile.id != id);
        }
        name == SHARED || name.starts_with(SERVER) && !used.iter().any(|own| name.starts_with(own))
    });
}

/// Removes the homes of the server with this name, of all agents.
pub fn remove_homes_of(home: &Home, server: &str) {
    let (own, before) = (format!("{SERVER}{server}"), format!("{SERVER}{server}."));
    sweep(home, &|name| name == own || name.starts_with(&before));
}

/// Removes what is unused among the homes of all agents. What cannot be removed stays: no other program gets it.
fn sweep(home: &Home, is_unused: &dyn Fn(&str) -> bool) {
    let mut left = NAMES_MAX;
    let top = home.programs(MAIN);
    let swept = at::open_root(&top).and_then(|top| {
        let folder = at::open_folder(top, OsStr::new("."))?;
        for name in sweep_in(&folder, is_unused, &mut left)? {
            let of_agent = at::open_folder(&folder, &name)?;
            sweep_in(&of_agent, is_unused, &mut left)?;
        }
        Ok(())
    });
    if let Err(error) = swept
        && error.kind() != io::ErrorKind::NotFound
    {
        let error = Error::io("remove the homes of programs in", &top)(error);
        tracing::warn!("{error}");
    }
}

/// The same in one folder. Returns the names of the folders with the homes of agents.
fn sweep_in(
    folder: &impl AsFd,
    is_unused: &dyn Fn(&str) -> bool,
    left: &mut usize,
) -> io::Result<Vec<OsString>> {
    let (names, _) = at::names(folder, NAMES_AT_ONCE)?;
    let mut of_agents = Vec::new();
    for name in names {
        let text = name.to_string_lossy();
        if is_unused(&text) {
            remove(folder, &name, left)?;
        } else if text.starts_with(AGENT) {
            of_agents.push(name);
        }
    }
    Ok(of_agents)
}

/// Removes a folder with all that is in it, and follows no link. What is deeper moves up first, so that the depth does not
/// matter.
fn remove(above: &impl AsFd, name: &OsStr, left: &mut usize) -> io::Result<()> {
    if at::remove_file(above, name).is_ok() {
        return Ok(());
    }
    let top = at::open_folder(above, name)?;
    loop {
        let (names, _) = at::names(&top, NAMES_AT_ONCE)?;
        if names.is_empty() {
            return at::remove_folder(above, name);
        }
        for inner in names {
            count(left)?;
            if at::remove_file(&top, &inner).is_ok() || at::remove_folder(&top, &inner).is_ok() {
                continue;
            }
            let folder = at::open_folder(&top, &inner)?;
            for deeper in at::names(&folder, NAMES_AT_ONCE)?.0 {
                count(left)?;
                if at::remove_file(&folder, &deeper).is_err() {
                    let random = random::bytes().map_err(io::Error::other)?;
                    let moved = format!("{:032x}", u128::from_ne_bytes(random));
                    at::rename(&folder, &deeper, &top, OsStr::new(&moved), false)?;
                }
            }
        }
    }
}

fn count(left: &mut usize) -> io::Result<()> {
    let rest = left.checked_sub(1);
    *left = rest.ok_or_else(|| io::Error::other("they have too many files for one time"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load::load;
    use crate::sys::environment::Environment;
    use crate::tools::mcp::client::stdio::home_of;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn home_in(folder: &Path) -> Home {
        Home::find(Some(folder), |_| None).unwrap()
    }

    #[test]
    fn what_a_removed_server_has_left_goes_and_links_in_it_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "programs/mcp.lamp.0123/a/b",
            "programs/mcp.lamp",
            "programs/mcp.lamp-2.0123",
            "programs/agent.work/mcp.lamp.4567",
            "programs/agent.work/commands.89ab",
            "outside",
        ] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("outside/kept"), "").unwrap();
        symlink(at("outside"), at("programs/mcp.lamp.0123/a/link")).unwrap();
        symlink(at("outside"), at("programs/mcp.lamp.89ab")).unwrap();
        std::fs::write(at("programs/mcp.lamp.0123/a/b/file"), "").unwrap();
        let mut deep = at("programs/mcp.lamp.0123/deep");
        for _ in 0..200 {
            deep.push("deep");
        }
        std::fs::create_dir_all(deep).unwrap();
        remove_homes_of(&home_in(folder.path()), "lamp");
        assert!(!at("programs/mcp.lamp.89ab").is_symlink());
        assert!(!at("programs/mcp.lamp.0123").exists() && !at("programs/mcp.lamp").exists());
        assert!(!at("programs/agent.work/mcp.lamp.4567").exists());
        for kept in [
            "outside/kept",
            "programs/mcp.lamp-2.0123",
            "programs/agent.work/commands.89ab",
        ] {
            assert!(at(kept).exists(), "{kept}");
        }
    }

    #[test]
    fn a_start_removes_the_homes_that_fit_no_server_and_no_agent() {
        let folder = tempfile::tempdir().unwrap();
        let home = home_in(folder.path());
        let config = r#"{"tools": {"mcpServers": {"lamp": {"command": "lamp", "args": ["on"]}}}}"#;
        std::fs::write(home.config_file(), config).unwrap();
        let loaded = load(&home.config_file(), false, &Environment::default()).unwrap();
        let own = home_of("lamp", &loaded.config.tools.mcp_servers["lamp"]);
        let at = |name: &str| home.programs(MAIN).join(name);
        for name in [
            &*own,
            "mcp.lamp.0123",
            "mcp.old",
            SHARED,
            "agent.gone/x",
            "commands.1",
        ] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        remove_unused_homes(&home, &loaded);
        let names = std::fs::read_dir(home.programs(MAIN)).unwrap().flatten();
        let names: BTreeSet<OsString> = names.map(|entry| entry.file_name()).collect();
        // Under other arguments the server that is still there finds what it has kept.
        let kept = [own.as_str(), "mcp.lamp.0123", "commands.1"].map(OsString::from);
        assert_eq!(names, BTreeSet::from(kept));
    }
}
