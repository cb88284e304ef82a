//! The configuration as the rooms get it: each takes its own section, never the whole.
//!
//! Only keys that something obeys stand here. `table` has their meanings and ranges for people, and
//! a test holds the two together.

mod agents;
mod backup;
mod commands;
mod http;
mod mcp;
mod speech;
mod tools;
mod transcription;
mod watch;
mod web;

use std::collections::BTreeMap;

pub use super::channels::{Bot, Channels, GroupPolicy};
pub use agents::{AgentEntry, Binding, MAIN};
pub use backup::Backup;
pub use commands::{OwnCommand, Place};
pub use http::{Hook, HookSignature, Http, HttpApprovals, HttpTls};
pub use mcp::McpServer;
pub use speech::Speech;
pub use tools::{ApprovalMode, CustomTools, ExecTool, SandboxChoice, ShellPlace, Tools};
pub use transcription::Transcription;
pub use watch::{BuiltInWatches, Watch};
pub use web::{SearchProvider, WebFetch, WebSearch, WebTools};

use serde::{Deserialize, Serialize};

use crate::base::chat::ReasoningEffort;
use crate::base::secret::Secret;

/// The whole file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// Who answers, and how.
    pub agents: Agents,
    /// Models' endpoints by name.
    pub providers: BTreeMap<String, Provider>,
    /// Where people are reached.
    pub channels: Channels,
    /// What tools may do.
    pub tools: Tools,
    /// How journals are kept.
    pub storage: Storage,
    /// `heartbeat`
    pub heartbeat: Heartbeat,
    /// `watch`
    pub watch: Watch,
    /// What may be spent.
    pub limits: Limits,
    /// Scheduled jobs.
    pub cron: Cron,
    /// Whom to trust.
    pub tls: Tls,
    /// Automatic backups.
    pub backup: Backup,
    /// Where new versions come from.
    pub update: Update,
    /// What is logged.
    pub log: Log,
    /// How voice messages become text.
    pub transcription: Transcription,
    /// How answers are spoken.
    pub speech: Speech,
    /// The HTTP server for programs and browsers.
    pub http: Http,
    /// Slash commands of chats, by their names.
    pub commands: BTreeMap<String, OwnCommand>,
}

/// `agents`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Agents {
    /// What holds for every agent.
    pub defaults: AgentDefaults,
    /// More agents, or other settings for `main`.
    pub list: Vec<AgentEntry>,
    /// Which agent answers where.
    pub bindings: Vec<Binding>,
}

/// `agents.defaults`
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// The model's window, in tokens; `None`: what a server of one's own tells, else the usual one.
    pub context_window_tokens: Option<u32>,
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
    /// The only skills that the agent may use; none: all.
    pub skills: Option<Vec<String>>,
    /// Subagents.
    pub subagents: Subagents,
    /// Plans.
    pub plan: Plan,
    /// Which answers are reviewed before they go out.
    pub review: Review,
    /// The model that reviews them; empty: that of the turn.
    pub review_model: String,
    /// Most turns at a time over all sessions; one session never runs two.
    pub max_parallel_turns: usize,
    /// An IANA zone, or `auto`.
    pub timezone: String,
}

/// Which answers a model reviews before they go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Review {
    /// None.
    #[default]
    Off,
    /// Those of turns in which something was changed, ran outside the sandbox, or failed.
    Auto,
    /// All.
    On,
}

/// `agents.defaults.subagents`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Subagents {
    /// Their model; empty: that of their agent.
    pub model: String,
    /// The ids of other agents that may be given tasks; `*`: all.
    pub allow_agents: Vec<String>,
}

/// `agents.defaults.plan`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Plan {
    /// Whether the steps of a plan wait for a person's word.
    pub approval: bool,
    /// Most tokens of a plan; 0: no limit.
    pub max_tokens: u64,
    /// Most US dollars of a plan; 0: no limit.
    pub max_usd: f64,
    /// The model that writes plans; empty: that of subagents.
    pub planner_model: String,
    /// The model that does their steps, likewise.
    pub worker_model: String,
    /// The model that checks them, likewise.
    pub critic_model: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            approval: true,
            max_tokens: 1_000_000,
            max_usd: 0.0,
            planner_model: String::new(),
            worker_model: String::new(),
            critic_model: String::new(),
        }
    }
}

impl Default for AgentDefaults {
    fn default() -> Self {
        Self {
            workspace: String::new(),
            provider: "auto".to_owned(),
            model: String::new(),
            fallback_models: Vec::new(),
            max_tokens: 8192,
            context_window_tokens: None,
            temperature: Some(0.1),
            reasoning_effort: None,
            max_tool_iterations: 40,
            memory_window: 100,
            max_tool_result_chars: 16_000,
            skills: None,
            subagents: Subagents::default(),
            plan: Plan::default(),
            review: Review::Off,
            review_model: String::new(),
            max_parallel_turns: 2,
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

/// Which of OpenAI's two APIs an endpoint is asked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenAiApi {
    /// The one that the model needs, as far as is known.
    #[default]
    Auto,
    /// Chat completions.
    Chat,
    /// Responses.
    Responses,
}

/// How long Anthropic's cache is asked to keep what a request has in common with later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheTime {
    /// An hour where the person mostly comes back within one, else five minutes.
    #[default]
    Auto,
    /// Five minutes for all.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour for all but the running turn.
    #[serde(rename = "1h")]
    Hour,
    /// Nothing is cached.
    Off,
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
    /// Which API of OpenAI's format.
    pub api: OpenAiApi,
    /// How long Anthropic's format has the server cache.
    pub cache: CacheTime,
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
    /// Whether its models understand images; `None`: the model's name decides.
    pub images: Option<bool>,
    /// What its models cost, by their names; a name may end with `*`.
    pub prices: BTreeMap<String, Price>,
}

/// `providers.<name>.prices.<model>`: what a model costs, in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Price {
    /// What goes in.
    pub input: f64,
    /// What comes out, reasoning among it.
    pub output: f64,
    /// What goes in and is in the provider's cache; `None`: as much as other input.
    pub cached: Option<f64>,
    /// What goes in and is written to the provider's cache, for five minutes where it may choose; `None`: as much as
    /// other input.
    pub cache_write: Option<f64>,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            api_key: Secret::default(),
            api_base: String::new(),
            api_type: ApiType::Auto,
            api: OpenAiApi::Auto,
            cache: CacheTime::Auto,
            extra_headers: BTreeMap::new(),
            extra_body: serde_json::Map::new(),
            proxy: None,
            timeout_secs: 120,
            stream_idle_timeout_secs: 90,
            images: None,
            prices: BTreeMap::new(),
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
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Storage {
    /// When journals are forced to the disk.
    pub fsync: Fsync,
    /// Megabytes of received files that are kept; 0: no limit.
    pub inbox_max_mb: u64,
    /// Megabytes of one journal beyond which its older part goes to the archive.
    pub journal_max_mb: u64,
    /// Megabytes of the archive of all journals; the oldest files go.
    pub archive_max_mb: u64,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            fsync: Fsync::Always,
            inbox_max_mb: 512,
            journal_max_mb: 4,
            archive_max_mb: 64,
        }
    }
}

impl Storage {
    /// Bytes of received files that are kept; `None` for no limit.
    pub fn inbox_max_bytes(&self) -> Option<u64> {
        let bytes = self.inbox_max_mb.saturating_mul(1_000_000);
        (bytes > 0).then_some(bytes)
    }
}

/// `limits`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Limits {
    /// Tokens a day over all models; 0: no limit.
    pub tokens_per_day: u64,
    /// US dollars a day over all models; 0: no limit.
    pub usd_per_day: f64,
}

/// `cron`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Cron {
    /// Whether the gateway runs jobs.
    pub enabled: bool,
    /// When reminders wait and jobs make no sound in chats, such as `22:00-07:00`; empty: never.
    pub quiet_hours: String,
    /// The zone of jobs that name none; empty: the system's.
    pub tz: String,
}

impl Default for Cron {
    fn default() -> Self {
        Self {
            enabled: true,
            quiet_hours: String::new(),
            tz: String::new(),
        }
    }
}

/// `heartbeat`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Heartbeat {
    /// Whether the agents look at their HEARTBEAT.md.
    pub enabled: bool,
    /// Minutes between two looks.
    pub interval: u64,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: 30,
        }
    }
}

/// `tls`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tls {
    /// A PEM file of certificates added to the built-in roots.
    pub ca_file: Option<String>,
    /// Users whose servers on this machine get keys without TLS.
    pub local_server_users: Vec<String>,
}

/// `update`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Update {
    /// The URL of a folder with a release; empty: none.
    pub url: String,
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
