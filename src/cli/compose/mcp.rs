//! The MCP servers of an agent.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exec_of;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::cli::Context;
use crate::config::agents::MAIN;
use crate::config::schema::McpServer;
use crate::config::{Home, Loaded};
use crate::net::http::Tls;
use crate::tools::mcp::client::servers::{Parts, Servers};
use crate::tools::mcp::client::stdio::{Launcher, Sandboxed};
use crate::tools::mcp::{Logins, Mcp};

/// The tools of the servers that are enabled; `None` when there are none. Nothing is started. The running
/// servers of `before` go on where their settings have not changed.
pub fn mcp_of(
    context: &Context,
    home: &Home,
    loaded: &Loaded,
    tls: Tls,
    before: Option<&Mcp>,
) -> Result<Option<Mcp>> {
    let mut servers: BTreeMap<String, McpServer> = BTreeMap::new();
    for (name, server) in &loaded.config.tools.mcp_servers {
        if server.enabled {
            servers.insert(name.clone(), server.clone());
        }
    }
    if servers.is_empty() {
        return Ok(None);
    }
    let workspace = home.workspace(&loaded.config.agents.defaults.workspace);
    let logins = Logins {
        tls: tls.clone(),
        folder: folder_of(home, loaded),
        clock: Clock::System,
    };
    let parts = Parts {
        servers: servers.clone(),
        launcher: launcher(context, home, loaded, &workspace)?,
        tls,
        folder: logins.folder.clone(),
        root: file_uri(&workspace),
        elicitation: true,
        clock: Clock::System,
    };
    let servers_of = match before {
        Some(before) => Servers::continuing(parts, before.servers()),
        None => Servers::new(parts),
    };
    Ok(Some(Mcp::new(Arc::new(servers_of), servers, logins)))
}

/// Starts programs like commands; `None` where these are turned off.
fn launcher(
    context: &Context,
    home: &Home,
    loaded: &Loaded,
    workspace: &Path,
) -> Result<Option<Arc<dyn Launcher>>> {
    let tools = &loaded.config.tools;
    if !tools.exec.enabled {
        return Ok(None);
    }
    let exec = exec_of(context, home, loaded)?;
    let user_home = context.environment().get("HOME").map(PathBuf::from);
    let sandboxed = Sandboxed::new(exec, tools, workspace.to_owned(), user_home);
    Ok(Some(Arc::new(sandboxed)))
}

/// The folder with the lists and logins of an agent's servers.
pub fn folder_of(home: &Home, loaded: &Loaded) -> PathBuf {
    let folder = home.state().join("mcp");
    match loaded.agent_id() {
        MAIN => folder,
        // No server has a name with a dot.
        agent => folder.join(format!("agent.{agent}")),
    }
}

/// The address of a folder (RFC 8089).
fn file_uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_folder_is_ascii() {
        assert_eq!(
            file_uri(Path::new("/home/pi/a b/ö")),
            "file:///home/pi/a%20b/%C3%B6"
        );
    }
}
