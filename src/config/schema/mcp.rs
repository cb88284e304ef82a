//! `tools.mcpServers`

use std::collections::BTreeMap;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

use crate::base::secret::Secret;

/// `tools.mcpServers.NAME`: a program that is started, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// How it is reached, by other programs' names; it decides where there is a program and an address.
    pub r#type: String,
    /// The program of a server that is started here; empty for one that has an address.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, beside that of commands.
    pub env: BTreeMap<String, Secret>,
    /// The folder that it is started in; empty: the workspace.
    pub cwd: String,
    /// Whether it reaches the network; `None`: as `tools.exec.network`.
    pub network: Option<bool>,
    /// Further folders that it may read and write.
    pub allowed_paths: Vec<String>,
    /// Further folders that it may read.
    pub read_only_paths: Vec<String>,
    /// The address of a server that runs elsewhere; empty for one that is started.
    pub url: String,
    /// HTTP headers for every request.
    pub headers: BTreeMap<String, Secret>,
    /// The id of a client that was registered by hand; empty: none was.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
    /// The authorization server that the client is for, as it names itself; empty: what the server names, if its page
    /// and its tokens are at one origin.
    pub issuer: String,
    /// Seconds for a call, and between two reports of its progress.
    pub tool_timeout: u64,
    /// Seconds without a call after which a program is stopped.
    pub idle_timeout: u64,
    /// The tools that the agent may use, by the server's names; `*` at the end of a name stands for anything.
    pub enabled_tools: Vec<String>,
    /// Whether it may ask the agent's model.
    pub sampling: bool,
    /// Whether it is used.
    pub enabled: bool,
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            r#type: "auto".to_owned(),
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: String::new(),
            network: None,
            allowed_paths: Vec::new(),
            read_only_paths: Vec::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            client_id: String::new(),
            client_secret: Secret::default(),
            issuer: String::new(),
            tool_timeout: 30,
            idle_timeout: 300,
            enabled_tools: vec!["*".to_owned()],
            sampling: false,
            enabled: true,
        }
    }
}

/// By hand: a derived reader of so many members costs several times as much.
impl<'de> Deserialize<'de> for McpServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::deserialize(deserializer)?;
        read(members).map_err(D::Error::custom)
    }
}

fn read(mut members: Map<String, Value>) -> serde_json::Result<McpServer> {
    let mut server = McpServer::default();
    let from = &mut members;
    take(from, "type", &mut server.r#type)?;
    take(from, "command", &mut server.command)?;
    take(from, "args", &mut server.args)?;
    take(from, "env", &mut server.env)?;
    take(from, "cwd", &mut server.cwd)?;
    take(from, "network", &mut server.network)?;
    take(from, "allowedPaths", &mut server.allowed_paths)?;
    take(from, "readOnlyPaths", &mut server.read_only_paths)?;
    take(from, "url", &mut server.url)?;
    take(from, "headers", &mut server.headers)?;
    take(from, "clientId", &mut server.client_id)?;
    take(from, "clientSecret", &mut server.client_secret)?;
    take(from, "issuer", &mut server.issuer)?;
    take(from, "toolTimeout", &mut server.tool_timeout)?;
    take(from, "idleTimeout", &mut server.idle_timeout)?;
    take(from, "enabledTools", &mut server.enabled_tools)?;
    take(from, "sampling", &mut server.sampling)?;
    take(from, "enabled", &mut server.enabled)?;
    match server.r#type.as_str() {
        "auto" => {}
        "stdio" => server.url.clear(),
        _ => server.command.clear(),
    }
    Ok(server)
}

fn take<T: DeserializeOwned>(
    from: &mut Map<String, Value>,
    name: &str,
    into: &mut T,
) -> serde_json::Result<()> {
    if let Some(value) = from.remove(name) {
        *into = serde_json::from_value(value)?;
    }
    Ok(())
}
