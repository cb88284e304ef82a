//! `tools`: what the model may use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mcp::McpServer;
use super::web::WebTools;

/// `tools`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tools {
    /// Whether tools see only the workspace and the paths below.
    pub restrict_to_workspace: bool,
    /// Further folders, read and write.
    pub allowed_paths: Vec<String>,
    /// Further folders, read only.
    pub read_only_paths: Vec<String>,
    /// Never written, even inside an allowed folder.
    pub protected_paths: Vec<String>,
    /// Commands.
    pub exec: ExecTool,
    /// Tools in the workspace.
    pub custom: CustomTools,
    /// Pages and searches.
    pub web: WebTools,
    /// Servers of tools by their names.
    pub mcp_servers: BTreeMap<String, McpServer>,
}

/// `tools.custom`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomTools {
    /// Whether the tools in the workspace can be used.
    pub enabled: bool,
}

impl Default for CustomTools {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Which walls stand around commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxChoice {
    /// All that work; at least namespaces or Landlock.
    #[default]
    Auto,
    /// Namespaces and not Landlock.
    Namespaces,
    /// Landlock and not namespaces.
    Landlock,
    /// None.
    Off,
}

/// When a person is asked about a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Never: what needs more than the sandbox gives is refused.
    Never,
    /// When a command is to run outside the sandbox.
    #[default]
    Escalation,
    /// Also when a built-in pattern calls it risky.
    Risky,
    /// Every time.
    Always,
}

/// Where what a person types in a chat runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellPlace {
    /// In the sandbox, like the agent's commands.
    #[default]
    Sandbox,
    /// On the board itself.
    Host,
}

/// `tools.exec`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExecTool {
    /// Whether there are commands.
    pub enabled: bool,
    /// Seconds that a command gets when its call names none.
    pub timeout: u64,
    /// Seconds that a call may ask for.
    pub max_timeout: u64,
    /// The walls.
    pub sandbox: SandboxChoice,
    /// Whether commands reach the network.
    pub network: bool,
    /// When a person is asked.
    pub approval: ApprovalMode,
    /// Where the shells of chats are.
    pub shell: ShellPlace,
    /// Patterns that forbid a command.
    pub deny_patterns: Vec<String>,
    /// Patterns of which every command has to match one, unless there are none.
    pub allow_patterns: Vec<String>,
    /// Variables of our environment that commands get too.
    pub allowed_env_keys: Vec<String>,
    /// Folders put behind PATH, with colons between them.
    pub path_append: String,
}

impl Default for ExecTool {
    fn default() -> Self {
        Self {
            enabled: true,
            timeout: 60,
            max_timeout: 600,
            sandbox: SandboxChoice::Auto,
            network: true,
            approval: ApprovalMode::Escalation,
            shell: ShellPlace::Sandbox,
            deny_patterns: Vec::new(),
            allow_patterns: Vec::new(),
            allowed_env_keys: Vec::new(),
            path_append: String::new(),
        }
    }
}

impl Tools {
    /// Whether the agent may search and read pages. Where commands are kept from the network, only if the
    /// configuration says so: addresses and queries carry data out.
    pub fn has_web(&self) -> bool {
        self.web.enabled.unwrap_or(self.exec.network)
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            restrict_to_workspace: true,
            allowed_paths: Vec::new(),
            read_only_paths: Vec::new(),
            protected_paths: Vec::new(),
            exec: ExecTool::default(),
            custom: CustomTools::default(),
            web: WebTools::default(),
            mcp_servers: BTreeMap::new(),
        }
    }
}
