//! The configuration as the rooms get it: each takes its own section, never the whole.
//!
//! Only keys that something obeys stand here. `table` has their meanings and ranges for people, and
//! a test holds the two together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::chat::ReasoningEffort;
use crate::secret::Secret;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// Who answers, and how.
    pub agents: Agents,
    /// Models' endpoints by name.
    pub providers: BTreeMap<String, Provider>,
    /// What tools may do.
    pub tools: Tools,
    /// How journals are kept.
    pub storage: Storage,
    /// What may be spent.
    pub limits: Limits,
    /// Whom to trust.
    pub tls: Tls,
    /// What is logged.
    pub log: Log,
}

/// `agents`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Agents {
    /// What holds for every agent.
    pub defaults: AgentDefaults,
}

/// `agents.defaults`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentDefaults {
    /// The folder the agent works in; empty: `workspace` in the home folder.
    pub workspace: String,
    /// A provider's name, or `auto`.
    pub provider: String,
    /// The model; empty: the first provider that has a key decides.
    pub model: String,
    /// Models that are tried in order when the first fails.
    pub fallback_models: Vec<String>,
    /// Most tokens of an answer.
    pub max_tokens: u32,
    /// The model's window, in tokens.
    pub context_window_tokens: u32,
    /// Sampling temperature; none: not sent.
    pub temperature: Option<f64>,
    /// How hard a reasoning model thinks; none: not sent.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most steps of a turn.
    pub max_tool_iterations: u32,
    /// Most entries of the history in a request.
    pub memory_window: usize,
    /// Characters of a tool's result in the conversation; the rest goes to a file.
    pub max_tool_result_chars: usize,
    /// An IANA zone, or `auto`.
    pub timezone: String,
}

impl Default for AgentDefaults {
    fn default() -> Self {
        Self {
            workspace: String::new(),
            provider: "auto".to_owned(),
            model: String::new(),
            fallback_models: Vec::new(),
            max_tokens: 8192,
            context_window_tokens: 128_000,
            temperature: Some(0.1),
            reasoning_effort: None,
            max_tool_iterations: 40,
            memory_window: 100,
            max_tool_result_chars: 16_000,
            timezone: "auto".to_owned(),
        }
    }
}

/// The wire format of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiType {
    /// As the table of providers says; for unknown names OpenAI's.
    #[default]
    Auto,
    /// OpenAI chat completions.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// The helper in the program.
    Offline,
}

/// `providers.<name>`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Provider {
    /// The key; empty: from the provider's variable.
    pub api_key: Secret,
    /// The endpoint; empty: the provider's own.
    pub api_base: String,
    /// The wire format.
    pub api_type: ApiType,
    /// Headers added to each request. Their values count as secrets.
    pub extra_headers: BTreeMap<String, Secret>,
    /// Members added to each request's body.
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// A proxy's URL; none: from the environment.
    pub proxy: Option<Secret>,
    /// Seconds until the answer has to begin.
    pub timeout_secs: u64,
    /// Seconds of silence within an answer.
    pub stream_idle_timeout_secs: u64,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            api_key: Secret::default(),
            api_base: String::new(),
            api_type: ApiType::Auto,
            extra_headers: BTreeMap::new(),
            extra_body: serde_json::Map::new(),
            proxy: None,
            timeout_secs: 120,
            stream_idle_timeout_secs: 90,
        }
    }
}

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
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            restrict_to_workspace: true,
            allowed_paths: Vec::new(),
            read_only_paths: Vec::new(),
            protected_paths: Vec::new(),
        }
    }
}

/// When a journal is forced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// After every entry.
    #[default]
    Always,
    /// At the end of a turn.
    Turn,
}

/// `storage`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Storage {
    /// When journals are forced to the disk.
    pub fsync: Fsync,
}

/// `limits`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Limits {
    /// Tokens a day over all models; 0: no limit.
    pub tokens_per_day: u64,
}

/// `tls`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tls {
    /// A PEM file of certificates added to the built-in roots.
    pub ca_file: Option<String>,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people and journald.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What failed and was given up.
    Error,
    /// What went wrong and was got around.
    Warn,
    /// What was done.
    #[default]
    Info,
    /// How it was done.
    Debug,
    /// Everything.
    Trace,
}

/// `log`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Log {
    /// How much.
    pub level: LogLevel,
    /// In which form.
    pub format: LogFormat,
}
