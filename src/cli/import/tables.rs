//! What each setting of another program is called here: a row a setting. Names are in camelCase; snake_case is read too.

use serde_json::{Map, Value, json};

use super::source::Program;
use crate::config::key::{Key, camel_case};
use crate::config::table::find_spelt;
use crate::models::table::{PROVIDERS, find};

/// How a value is brought into our form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it is, or as the type of our setting has it.
    Same,
    /// Seconds become milliseconds.
    Milliseconds,
    /// Seconds become minutes.
    Minutes,
    /// A boolean that says the opposite becomes the other word: false, true.
    Words(&'static str, &'static str),
    /// Only its part before a colon.
    Host,
    /// It is dealt with elsewhere, or says nothing.
    Silent,
    /// It is not taken, for this reason.
    Never(&'static str),
}

/// A setting of another program, and ours. `*` is one name, `**` at the end all that follows.
struct Row {
    /// Its path.
    theirs: &'static str,
    /// Our path, with the same names filled in.
    ours: &'static str,
    /// What happens to its value.
    how: How,
}

const fn row(theirs: &'static str, ours: &'static str, how: How) -> Row {
    Row { theirs, ours, how }
}

const fn same(theirs: &'static str, ours: &'static str) -> Row {
    row(theirs, ours, How::Same)
}

const fn never(theirs: &'static str, why: &'static str) -> Row {
    row(theirs, "", How::Never(why))
}

const fn silent(theirs: &'static str) -> Row {
    row(theirs, "", How::Silent)
}

/// Reasons.
const SANDBOX: &str = "what commands may do is decided here";
const EVERYONE: &str = "it would give everyone access";
const REACH: &str = "what the tools can reach is decided here";
const MENTIONS: &str = "the bot answers mentions in groups; channels.NAME.groupPolicy changes that";

/// Our settings that are never taken from another home, wherever a row leads.
pub const NEVER: [&str; 12] = [
    "roles",
    "defaultRole",
    "allowedPaths",
    "readOnlyPaths",
    "cwd",
    "network",
    "sampling",
    "requireAuthentication",
    "restrictToWorkspace",
    "socket",
    "mediaDir",
    "allowHosts",
];

#[rustfmt::skip]
const NANOBOT: &[Row] = &[
    silent("agents.defaults.workspace"),
    silent("agents.defaults.timezoneMode"),
    same("agents.defaults.*", "agents.defaults.*"),
    same("pairing.*", "channels.*.allowFrom"),
    same("providers.*.*", "providers.*.*"),
    row("channels.*.streamEditInterval", "channels.*.streamEditIntervalMs", How::Milliseconds),
    same("channels.*.dm.allowFrom", "channels.*.allowFrom"),
    same("channels.*.*", "channels.*.*"),
    same("channels.*", "channels.*"),
    never("tools.exec.**", SANDBOX),
    never("tools.restrictToWorkspace", SANDBOX),
    never("tools.allowedPaths", REACH),
    never("tools.ssrfWhitelist", REACH),
    same("tools.web.search.*", "tools.web.search.*"),
    same("tools.mcpServers.*.*", "tools.mcpServers.*.*"),
    same("transcription.provider", "transcription.provider"),
    same("gateway.heartbeat.enabled", "heartbeat.enabled"),
    row("gateway.heartbeat.intervalS", "heartbeat.interval", How::Minutes),
];

#[rustfmt::skip]
const PICOCLAW: &[Row] = &[
    silent("version"),
    silent("agents.defaults.workspace"),
    never("agents.defaults.restrictToWorkspace", SANDBOX),
    never("agents.defaults.allowReadOutsideWorkspace", SANDBOX),
    same("agents.defaults.contextWindow", "agents.defaults.contextWindowTokens"),
    silent("agents.defaults.modelName"),
    same("agents.defaults.*", "agents.defaults.*"),
    same("modelList.*.*", "providers.*.*"),
    same("providers.*.*", "providers.*.*"),
    silent("channelList.*.type"),
    same("channelList.qq.settings.appSecret", "channels.qq.secret"),
    row("channelList.feishu.settings.isLark", "channels.feishu.domain", How::Words("feishu", "lark")),
    same("channelList.*.settings.baseUrl", "channels.*.apiBase"),
    same("channelList.*.settings.streaming.enabled", "channels.*.streaming"),
    row("channelList.irc.settings.server", "channels.irc.server", How::Host),
    same("channelList.irc.settings.user", "channels.irc.username"),
    same("channelList.irc.settings.realName", "channels.irc.realname"),
    never("channelList.*.groupTrigger.mentionOnly", MENTIONS),
    same("channelList.*.settings.*", "channels.*.*"),
    same("channelList.*.*", "channels.*.*"),
    same("channels.qq.appSecret", "channels.qq.secret"),
    row("channels.irc.server", "channels.irc.server", How::Host),
    never("channels.*.groupTrigger.mentionOnly", MENTIONS),
    never("channels.*.mentionOnly", MENTIONS),
    same("channels.*.baseUrl", "channels.*.apiBase"),
    same("channels.*.*", "channels.*.*"),
    same("webSearch.*", "tools.web.search.*"),
    never("tools.exec.**", SANDBOX),
    never("tools.allowReadPaths", REACH),
    never("tools.allowWritePaths", REACH),
    same("tools.mcp.servers.*.*", "tools.mcpServers.*.*"),
    same("heartbeat.enabled", "heartbeat.enabled"),
    same("heartbeat.interval", "heartbeat.interval"),
];

#[rustfmt::skip]
const OPENCLAW: &[Row] = &[
    silent("meta.**"),
    silent("wizard.**"),
    silent("agents.defaults.workspace"),
    same("agents.defaults.model.primary", "agents.defaults.model"),
    same("agents.defaults.model.fallbacks", "agents.defaults.fallbackModels"),
    same("agents.defaults.model", "agents.defaults.model"),
    same("agents.defaults.userTimezone", "agents.defaults.timezone"),
    same("agents.defaults.contextTokens", "agents.defaults.contextWindowTokens"),
    same("agent.model", "agents.defaults.model"),
    never("agents.defaults.sandbox.**", SANDBOX),
    same("models.providers.*.apiKey", "providers.*.apiKey"),
    same("models.providers.*.baseUrl", "providers.*.apiBase"),
    same("channels.telegram.botToken", "channels.telegram.token"),
    same("channels.matrix.homeserver", "channels.matrix.homeserver"),
    same("channels.*.dm.allowFrom", "channels.*.allowFrom"),
    never("channels.*.groups.*.requireMention", MENTIONS),
    same("channels.*.*", "channels.*.*"),
    same("telegram.botToken", "channels.telegram.token"),
    same("tools.web.search.provider", "tools.web.search.provider"),
    same("tools.web.search.apiKey", "tools.web.search.apiKey"),
    never("tools.exec.**", SANDBOX),
    never("tools.elevated.**", SANDBOX),
    never("approvals.**", SANDBOX),
    same("mcp.servers.*.*", "tools.mcpServers.*.*"),
];

#[rustfmt::skip]
const HERMES: &[Row] = &[
    same("model", "agents.defaults.model"),
    same("model.default", "agents.defaults.model"),
    same("model.provider", "agents.defaults.provider"),
    same("timezone", "agents.defaults.timezone"),
    same("agent.maxTurns", "agents.defaults.maxToolIterations"),
    same("agent.reasoningEffort", "agents.defaults.reasoningEffort"),
    same("mcpServers.*.*", "tools.mcpServers.*.*"),
    same("providers.*.apiKey", "providers.*.apiKey"),
    same("providers.*.baseUrl", "providers.*.apiBase"),
    never("approvals.**", SANDBOX),
    never("terminal.**", SANDBOX),
    never("commandAllowlist", SANDBOX),
    same("env.TELEGRAM_BOT_TOKEN", "channels.telegram.token"),
    same("env.TELEGRAM_ALLOWED_USERS", "channels.telegram.allowFrom"),
    same("env.DISCORD_BOT_TOKEN", "channels.discord.token"),
    same("env.DISCORD_ALLOWED_USERS", "channels.discord.allowFrom"),
    same("env.SLACK_BOT_TOKEN", "channels.slack.botToken"),
    same("env.SLACK_APP_TOKEN", "channels.slack.appToken"),
    same("env.SLACK_ALLOWED_USERS", "channels.slack.allowFrom"),
    same("env.MATRIX_HOMESERVER", "channels.matrix.homeserver"),
    same("env.MATRIX_ACCESS_TOKEN", "channels.matrix.accessToken"),
    same("env.MATRIX_ALLOWED_USERS", "channels.matrix.allowFrom"),
    same("env.EMAIL_ADDRESS", "channels.email.imapUsername"),
    same("env.EMAIL_PASSWORD", "channels.email.imapPassword"),
    same("env.EMAIL_IMAP_HOST", "channels.email.imapHost"),
    same("env.EMAIL_SMTP_HOST", "channels.email.smtpHost"),
    same("env.EMAIL_ALLOWED_USERS", "channels.email.allowFrom"),
    never("env.GATEWAY_ALLOW_ALL_USERS", EVERYONE),
    never("env.TELEGRAM_ALLOW_ALL_USERS", EVERYONE),
];

#[rustfmt::skip]
const ZEROCLAW: &[Row] = &[
    silent("schemaVersion"),
    same("defaultModel", "agents.defaults.model"),
    same("defaultTemperature", "agents.defaults.temperature"),
    same("defaultProvider", "agents.defaults.provider"),
    same("agent.maxToolIterations", "agents.defaults.maxToolIterations"),
    same("provider.*.*", "providers.*.*"),
    same("providers.models.*.apiKey", "providers.*.apiKey"),
    same("providers.models.*.baseUrl", "providers.*.apiBase"),
    same("providers.models.*.*.apiKey", "providers.*.apiKey"),
    same("providers.models.*.*.uri", "providers.*.apiBase"),
    same("providers.models.*.*.baseUrl", "providers.*.apiBase"),
    silent("providers.models.*.*.model"),
    same("channelsConfig.slack.botToken", "channels.slack.botToken"),
    same("channelsConfig.*.botToken", "channels.*.token"),
    same("channelsConfig.*.allowedUsers", "channels.*.allowFrom"),
    same("channelsConfig.*.allowedSenders", "channels.*.allowFrom"),
    never("channelsConfig.*.mentionOnly", MENTIONS),
    row("channelsConfig.*.draftUpdateIntervalMs", "channels.*.streamEditIntervalMs", How::Same),
    same("channelsConfig.*.*", "channels.*.*"),
    same("channels.*.allowFrom", "channels.*.allowFrom"),
    same("channels.slack.*.botToken", "channels.slack.botToken"),
    same("channels.slack.*.appToken", "channels.slack.appToken"),
    same("channels.*.*.botToken", "channels.*.token"),
    same("channels.*.*.enabled", "channels.*.enabled"),
    never("channels.*.*.mentionOnly", MENTIONS),
    same("heartbeat.enabled", "heartbeat.enabled"),
    same("heartbeat.intervalMinutes", "heartbeat.interval"),
    never("autonomy.**", SANDBOX),
    never("security.**", SANDBOX),
    never("runtime.**", SANDBOX),
    never("riskProfiles.**", SANDBOX),
];

/// The rows of a program; the first that fits counts.
fn rows(program: Program) -> &'static [Row] {
    match program {
        Program::Nanobot => NANOBOT,
        Program::PicoClaw => PICOCLAW,
        Program::OpenClaw => OPENCLAW,
        Program::Hermes => HERMES,
        Program::ZeroClaw => ZEROCLAW,
    }
}

/// The row that fits a setting.
pub struct Found {
    /// Our setting.
    pub ours: Option<(&'static Key, String)>,
    /// What happens to its value.
    pub how: How,
    /// How many names of the path a report has.
    pub depth: usize,
}

/// The row that fits a path, and our setting where it leads to one.
pub fn find_row(program: Program, path: &[String]) -> Option<Found> {
    if let [first, .., name] = path
        && first == "env"
        && let Some(row) = PROVIDERS
            .iter()
            .find(|row| row.variables.contains(&&**name))
    {
        return Some(Found {
            ours: find_spelt(&format!("providers.{}.apiKey", row.name)),
            how: How::Same,
            depth: path.len(),
        });
    }
    rows(program).iter().find_map(|row| {
        let filled = fill(row.theirs, row.ours, path)?;
        let ours = find_spelt(&filled).map(|(key, path)| (key, known_provider(path)));
        // The next row may know it.
        let is_settled = ours.is_some() || !matches!(row.how, How::Same);
        let depth = match row.theirs.strip_suffix(".**") {
            Some(section) => section.split('.').count(),
            None => path.len(),
        };
        let how = row.how;
        is_settled.then_some(Found { ours, how, depth })
    })
}

/// The path with a provider's usual name.
fn known_provider(path: String) -> String {
    let Some((name, rest)) = path
        .strip_prefix("providers.")
        .and_then(|rest| rest.rsplit_once('.'))
    else {
        return path;
    };
    match find(name) {
        Some(row) => format!("providers.{}.{rest}", row.name),
        None => path,
    }
}

/// Our path for one of theirs that fits the pattern.
fn fill(theirs: &str, ours: &str, path: &[String]) -> Option<String> {
    let mut chosen = Vec::new();
    let pattern: Vec<_> = theirs.split('.').collect();
    let is_open = pattern.last() == Some(&"**");
    if path.len() != pattern.len() && !(is_open && path.len() >= pattern.len()) {
        return None;
    }
    for (one, name) in pattern.iter().zip(path) {
        match *one {
            "*" => chosen.push(name.as_str()),
            "**" => {}
            one if one == name || one == camel_case(name) => {}
            _ => return None,
        }
    }
    let mut chosen = chosen.into_iter();
    let names = ours.split('.').map(|name| match name {
        "*" => chosen.next().unwrap_or_default(),
        name => name,
    });
    Some(names.collect::<Vec<_>>().join("."))
}

/// A path of theirs as one of ours, where its row is the same.
pub fn camel_case_path(path: &str) -> String {
    let names: Vec<_> = path.split('.').map(camel_case).collect();
    names.join(".")
}

/// Brings what is not a name and its value into that form.
pub fn prepare(program: Program, settings: &mut Value) {
    match (program, settings) {
        (Program::Nanobot, settings) => prepare_nanobot(settings),
        (Program::PicoClaw, Value::Object(root)) => prepare_picoclaw(root),
        (Program::ZeroClaw, Value::Object(root)) => prepare_zeroclaw(root),
        _ => {}
    }
}

/// Defaults of one of its versions, which all are written to the file: they were not chosen.
const NANOBOT_DEFAULTS: [(&str, &[&str]); 10] = [
    ("/agents/defaults/timezone", &["\"UTC\""]),
    ("/agents/defaults/contextWindowTokens", &["65536", "200000"]),
    ("/agents/defaults/maxToolIterations", &["20", "40", "200"]),
    ("/agents/defaults/memoryWindow", &["50", "100"]),
    ("/agents/defaults/temperature", &["0.7", "0.1"]),
    ("/channels/sendMaxRetries", &["3"]),
    ("/channels/sendToolHints", &["false"]),
    ("/gateway/heartbeat/intervalS", &["1800"]),
    (
        "/tools/web/search/provider",
        &["\"brave\"", "\"duckduckgo\""],
    ),
    ("/transcription/provider", &["\"groq\""]),
];

fn prepare_nanobot(settings: &mut Value) {
    for (path, defaults) in NANOBOT_DEFAULTS {
        if let Some(value) = settings.pointer_mut(path)
            && defaults.contains(&value.to_string().as_str())
        {
            *value = Value::Null;
        }
    }
}

/// Each model has a key of its own there: those of the default model and of one model of each other provider count.
fn prepare_picoclaw(root: &mut Map<String, Value>) {
    let text = |value: &Value, names: &[&str]| {
        let mut values = names.iter().filter_map(|name| value.get(*name)?.as_str());
        values.find(|text| !text.is_empty()).map(str::to_owned)
    };
    if let Some(web) = root
        .get("tools")
        .and_then(|tools| tools.get("web"))
        .cloned()
    {
        for engine in ["brave", "tavily", "perplexity", "searxng"] {
            let Some(found) = web.get(engine).filter(|one| one["enabled"] == true) else {
                continue;
            };
            let key = found["api_keys"].get(0).or(found.get("api_key"));
            let base = found.get("base_url").cloned().unwrap_or_default();
            let search = json!({"provider": engine, "api_key": key, "base_url": base});
            root.insert("web_search".to_owned(), search);
            let web = root.get_mut("tools").and_then(|tools| tools.get_mut("web"));
            if let Some(web) = web.and_then(Value::as_object_mut) {
                web.remove(engine);
            }
            break;
        }
    }
    let Some(Value::Array(mut models)) = root.remove("model_list") else {
        return;
    };
    let defaults = root.get("agents").and_then(|agents| agents.get("defaults"));
    let default = defaults.and_then(|defaults| text(defaults, &["model_name", "model"]));
    let is_default = |model: &Value| default.is_some() && text(model, &["model_name"]) == default;
    models.sort_by_key(|model| !is_default(model));
    let mut providers = Map::new();
    let mut chosen = None;
    for model in &models {
        let Some(name) = text(model, &["model"]) else {
            continue;
        };
        let (provider, name) = match (text(model, &["provider"]), name.split_once('/')) {
            (Some(provider), _) => (provider, name),
            (None, Some((provider, rest))) => (provider.to_owned(), rest.to_owned()),
            (None, None) => ("openai".to_owned(), name),
        };
        let provider = provider.trim_end_matches("-messages").to_owned();
        let known = find(&provider).map_or(provider, |row| row.name.to_owned());
        if is_default(model) {
            chosen = Some((known.clone(), name));
        }
        let key = model["api_keys"].get(0).or(model.get("api_key")).cloned();
        let has_key = key
            .as_ref()
            .and_then(Value::as_str)
            .is_some_and(|key| !key.is_empty());
        let is_at_home = find(&known).is_some_and(crate::models::table::Known::is_at_home);
        if (has_key || is_at_home && is_default(model)) && !providers.contains_key(&known) {
            let member = |name: &str| model.get(name).cloned().unwrap_or_default();
            let entry =
                json!({"api_key": key, "api_base": member("api_base"), "proxy": member("proxy")});
            providers.insert(known, entry);
        }
    }
    root.insert("model_list".to_owned(), Value::Object(providers));
    let defaults = root
        .get_mut("agents")
        .and_then(|agents| agents.get_mut("defaults"));
    if let (Some((provider, model)), Some(Value::Object(defaults))) = (chosen, defaults) {
        defaults.insert("provider".to_owned(), provider.into());
        defaults.insert("model".to_owned(), model.into());
    }
}

/// One key and address for the default provider, in the older form; groups of people in the newer one.
fn prepare_zeroclaw(root: &mut Map<String, Value>) {
    let key = root.remove("api_key");
    let base = root.remove("api_url");
    let provider = root.get("default_provider").and_then(Value::as_str);
    if let (Some(provider), Some(key)) = (provider, key) {
        let entry = json!({ provider: {"api_key": key, "api_base": base} });
        root.insert("provider".to_owned(), entry);
    }
    if !root.contains_key("default_model")
        && let Some((provider, model)) = first_model(root)
    {
        root.insert("default_provider".to_owned(), provider.into());
        root.insert("default_model".to_owned(), model.into());
    }
    let groups = root.remove("peer_groups");
    for group in groups
        .iter()
        .filter_map(Value::as_object)
        .flat_map(Map::values)
    {
        let channel = group["channel"].as_str().unwrap_or_default();
        let channel = channel.split('.').next().unwrap_or_default();
        let channels = root.get_mut("channels").and_then(Value::as_object_mut);
        if let Some(Value::Object(found)) = channels.and_then(|all| all.get_mut(channel)) {
            found.insert("allow_from".to_owned(), group["external_peers"].clone());
        }
    }
}

/// The provider and the name of the first model of the newer form.
fn first_model(root: &Map<String, Value>) -> Option<(String, String)> {
    let providers = root.get("providers")?.get("models")?.as_object()?;
    providers.iter().find_map(|(provider, models)| {
        let mut models = models.as_object()?.values();
        let model = models.find_map(|model| model.get("model")?.as_str())?;
        Some((provider.clone(), model.to_owned()))
    })
}
