//! Whether a value fits its setting, how a wrong one is shown, and which settings weaken what
//! SECURITY.md promises. Pure, apart from [`Installation::examine`].

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::key::{Key, Kind};
use super::resolve;
use super::schema::{Config, GroupPolicy, SandboxChoice, ShellPlace};
use super::texts;
use crate::base::limits::config as limits;
use crate::text::ellipsize_chars;
pub use commands::{TAKEN, command_problems};
pub use quiet::QuietHours;
use servers::paths_of_servers;
pub use servers::{is_plain_variable, is_server_name, server_problems};
pub use values::{arguments, plainly};
use values::{
    is_host, is_id, is_name, is_proxy, is_readable_on_the_way, is_role, price_problem, wrong_role,
};

pub mod agents;
mod commands;
mod guards;
mod quiet;
mod servers;
mod values;

/// Bytes from which on a name with digits may be a key or a token in the wrong place; the shortest of
/// the providers have 32.
const SECRET_NAME_BYTES: usize = 16;

/// Bytes from which on a value may be a key or a password; nothing shorter protects anything.
const SECRET_BYTES: usize = 8;

/// The setting without which backups are not encrypted.
pub const PASSPHRASE: &str = "backup.passphrase";

/// What is wrong with the value of the setting at the path; `None` when it is valid. `open`: references
/// have not been followed, so that a string with one may become anything.
pub fn problem(key: &Key, path: &str, value: &Value, open: bool) -> Option<String> {
    // Null means the default; other programs write it for everything that is not set.
    if value.is_null() {
        return None;
    }
    if matches!(key.kind, Kind::Agents | Kind::Bindings) {
        return agents::problem(key.kind, path, value, open);
    }
    let shown = || safe_path(path.split('.'));
    if key.path == PASSPHRASE
        && let Some(text) = value.as_str()
        && !(text.is_empty() || open && resolve::refers(text))
        && text.chars().count() < limits::PASSPHRASE_CHARS_MIN
    {
        return Some(texts::short_passphrase(&shown()));
    }
    if key.kind == Kind::Prices && value.is_object() {
        return price_problem(&shown(), value);
    }
    if accepts(key.kind, value, open) {
        let proxy = value.as_str().filter(|_| path.ends_with(".proxy"));
        let is_wrong = |text: &&str| !(is_proxy(text) || open && resolve::refers(text));
        return proxy.filter(is_wrong).map(|_| texts::wrong_proxy(&shown()));
    }
    let what = match (key.kind, value) {
        _ if key.is_secret() => kind_of(value).to_owned(),
        (
            Kind::Ids | Kind::Names | Kind::Hosts | Kind::Paths | Kind::Texts,
            Value::Array(entries),
        ) => {
            let is_wrong = |one: &&Value| !accepts(key.kind, &Value::from([(*one).clone()]), open);
            describe_text_or(entries.iter().find(is_wrong).unwrap_or(value))
        }
        (Kind::Roles | Kind::NamedRoles, Value::Object(roles)) => {
            wrong_role(roles, key.kind, open).unwrap_or_else(|| describe_value(value))
        }
        (Kind::Url | Kind::Path | Kind::Choice(_) | Kind::QuietHours, _) => {
            describe_text_or(&key.masked(value.clone()))
        }
        _ => describe_value(value),
    };
    let path = shown();
    Some(texts::wrong_value(&path, key.kind, key.nullable, &what))
}

/// Whether an empty string is a value of the setting, and not the same as nothing.
pub fn accepts_empty(key: &Key, path: &str) -> bool {
    // A zone is checked later, with those of the system.
    key.kind != Kind::Zone && problem(key, path, &Value::from(""), false).is_none()
}

fn accepts(kind: Kind, value: &Value, open: bool) -> bool {
    let text = |right: &dyn Fn(&str) -> bool| {
        let right = |text: &str| right(text) || open && resolve::refers(text);
        value.as_str().is_some_and(right)
    };
    let list = value.as_array();
    let each = |right: &dyn Fn(&str) -> bool| {
        let right = |value: &Value| value.as_str().is_some_and(right);
        list.is_some_and(|values| values.iter().all(right))
    };
    let is_path = |text: &str| {
        text.starts_with('/') || open && (text.starts_with('~') || resolve::refers(text))
    };
    match kind {
        Kind::Flag | Kind::Whole(..) | Kind::Real(..)
            if open && value.as_str().is_some_and(resolve::refers) =>
        {
            true
        }
        Kind::Flag => value.is_boolean(),
        Kind::Whole(least, most) => value
            .as_u64()
            .is_some_and(|number| (least..=most).contains(&number)),
        Kind::Real(least, most) => value
            .as_f64()
            .is_some_and(|number| (least..=most).contains(&number)),
        Kind::Text | Kind::Zone | Kind::Secret => value.is_string(),
        Kind::Choice(words) => text(&|text| words.contains(&text)),
        Kind::Texts => each(&|_| true),
        Kind::QuietHours => text(&|text| text.is_empty() || QuietHours::parse(text).is_some()),
        Kind::Hosts => each(&|text| is_host(text) || open && resolve::refers(text)),
        Kind::Ids => list.is_some_and(|ids| ids.iter().all(|id| is_id(id, open))),
        Kind::Names => list.is_some_and(|names| names.iter().all(is_name)),
        Kind::Url => text(&|text| {
            text.is_empty() || text.starts_with("http://") || text.starts_with("https://")
        }),
        Kind::Path => text(&|text| text.is_empty() || is_path(text)),
        Kind::Paths => each(&is_path),
        Kind::Secrets => value
            .as_object()
            .is_some_and(|members| members.values().all(Value::is_string)),
        Kind::Roles | Kind::NamedRoles => value.as_object().is_some_and(|roles| {
            roles
                .iter()
                .all(|(id, role)| is_role(kind, (id, role), open))
        }),
        Kind::Object | Kind::Prices => value.is_object(),
        Kind::Agents | Kind::Bindings => value.is_array(),
    }
}

/// A wrong value for people: a number, a boolean or a short string itself, anything else by its type,
/// because it may be an API key in the wrong place.
pub fn describe_value(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.len() < SECRET_BYTES => value.to_string(),
        _ => kind_of(value).to_owned(),
    }
}

/// The same where any string is of the right type: it is shown unless a part of it may be a key or a password.
fn describe_text_or(value: &Value) -> String {
    let Some(text) = value.as_str().filter(|text| text.len() >= SECRET_BYTES) else {
        return describe_value(value);
    };
    if text.contains('@') || text.split(['/', '.', ':']).any(looks_secret) {
        "this string".to_owned()
    } else {
        Value::from(&*ellipsize_chars(text, limits::EXCERPT_CHARS)).to_string()
    }
}

/// A path of names that may be anything, cut to fit on a line. Names that may be API keys or tokens are
/// hidden.
pub fn safe_path<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names
        .map(|name| if looks_secret(name) { HIDDEN } else { name })
        .collect();
    ellipsize_chars(&names.join("."), limits::EXCERPT_CHARS).into_owned()
}

/// Replaces a name that is hidden.
const HIDDEN: &str = "[hidden]";

/// Whether a name may be an API key or a token: very long, or long with digits and letters. No setting has
/// such a name.
pub fn looks_secret(name: &str) -> bool {
    let is_mixed = name.contains(|char: char| char.is_ascii_digit())
        && name.contains(|char: char| char.is_alphabetic());
    let least = if is_mixed {
        SECRET_NAME_BYTES
    } else {
        2 * SECRET_NAME_BYTES
    };
    name.len() >= least
}

/// The type of a value, which shows nothing of it.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Where Peacrab is installed, which decides whether a setting weakens it.
#[derive(Clone, Debug)]
pub struct Installation {
    /// Peacrab's home folder.
    pub home: PathBuf,
    /// The account's home folder, for paths that begin with `~`.
    pub user_home: Option<PathBuf>,
    /// `home` and folders above it that other users can enter or change, with their mode.
    pub open: Vec<(PathBuf, u32)>,
    /// Whether Peacrab runs as root.
    pub is_root: bool,
}

impl Installation {
    /// Examines the home folder and those above it.
    pub fn examine(home: &Path, user_home: Option<&Path>) -> Self {
        let mode = |path: &Path| Some(std::fs::metadata(path).ok()?.permissions().mode());
        let open = home.ancestors().filter_map(|path| {
            let mode = mode(path)? & 0o7777;
            // With the sticky bit, others cannot rename the home.
            let others_change = mode & 0o002 != 0 && mode & 0o1000 == 0;
            let is_open = others_change || path == home && mode & 0o077 != 0;
            is_open.then(|| (path.to_owned(), mode))
        });
        Self {
            home: home.to_owned(),
            user_home: user_home.map(Path::to_owned),
            open: open.collect(),
            is_root: rustix::process::geteuid().is_root(),
        }
    }
}

/// System folders: a change there changes what runs outside the sandbox.
const SYSTEM: [&str; 10] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr",
];
/// Folders with keys in the home of an account.
const KEYS: [&str; 5] = [".ssh", ".gnupg", ".aws", ".kube", ".docker"];
/// Parts of the names of variables with secrets.
const SECRET_NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASS"];

/// The settings that weaken a promise of SECURITY.md, each with its consequence and what to do instead.
pub fn weaknesses(config: &Config, at: &Installation) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |what: String, opens: &str| found.push(format!("{what}: {opens}"));
    weak_tools(config, at, &mut add);
    weak_connections(config, &mut add);
    for (path, mode) in &at.open {
        let shown = path.display();
        if *path == at.home {
            add(
                format!("{shown} is open to other users (mode {mode:03o})"),
                "they can read conversations and keys. Run chmod 700 on it",
            )
        } else {
            add(
                format!("{shown} can be changed by all users (mode {mode:03o})"),
                "they can replace the home folder. Run chmod o-w on it",
            )
        }
    }
    if at.is_root {
        add(
            "Peacrab runs as root".to_owned(),
            "commands that you approve outside the sandbox can do anything. Use a separate account",
        );
    }
    found
}

/// Takes a setting and its consequence.
type Add<'a> = &'a mut dyn FnMut(String, &str);

fn weak_tools(config: &Config, at: &Installation, add: Add<'_>) {
    let (tools, exec) = (&config.tools, &config.tools.exec);
    if exec.enabled && exec.sandbox == SandboxChoice::Off {
        add(
            "tools.exec.sandbox is off".to_owned(),
            "commands can do whatever this account can, and read its keys. Set it to auto",
        );
    }
    if exec.enabled && exec.shell == ShellPlace::Host {
        add(
            "tools.exec.shell is host".to_owned(),
            "what is typed with /sh runs outside the sandbox. Set it to sandbox unless only you use the bot",
        );
    }
    if !tools.restrict_to_workspace {
        add(
            "tools.restrictToWorkspace is false".to_owned(),
            "tools and commands can use all files of this account except Peacrab's home folder. Set it \
             to true and list folders in tools.allowedPaths",
        );
    }
    let workspace = std::slice::from_ref(&config.agents.defaults.workspace);
    let workspaces = config.agents.workspaces();
    let lists = [
        ("agents.defaults.workspace", workspace, true),
        ("agents.list", &*workspaces, true),
        ("tools.allowedPaths", &*tools.allowed_paths, true),
        ("tools.readOnlyPaths", &*tools.read_only_paths, false),
    ];
    let lists = lists.map(|(name, paths, writes)| (name.to_owned(), paths, writes));
    for (name, paths, writes) in lists.into_iter().chain(paths_of_servers(tools)) {
        for path in paths.iter().filter(|path| !path.is_empty()) {
            if let Some(opens) = opened(path, name.starts_with("agents"), writes, at) {
                add(format!("{name} contains {path}"), opens);
            }
        }
    }
    for name in &exec.allowed_env_keys {
        let upper = name.to_uppercase();
        if SECRET_NAMES.iter().any(|part| upper.contains(part)) {
            add(
                format!("tools.exec.allowedEnvKeys contains {name}"),
                "every command can read it and send it to others. Remove it",
            );
        }
    }
}

fn weak_connections(config: &Config, add: Add<'_>) {
    for (name, provider) in &config.providers {
        let secret = !provider.api_key.is_empty() || !provider.extra_headers.is_empty();
        if secret && is_readable_on_the_way(&provider.api_base) {
            add(
                format!("providers.{name}.apiBase is plain HTTP to another machine"),
                "others on the network can read the API key and the conversation. Use https",
            );
        }
    }
    for (name, server) in &config.tools.mcp_servers {
        let secret = !server.headers.is_empty() || !server.client_secret.is_empty();
        if secret && is_readable_on_the_way(&server.url) {
            add(
                format!("tools.mcpServers.{name}.url is plain HTTP to another machine"),
                "others on the network can read the headers and all calls. Use https",
            );
        }
    }
    for bot in config.channels.enabled() {
        let name = bot.name;
        if is_readable_on_the_way(&bot.api_base) {
            add(
                format!("channels.{name}.apiBase is plain HTTP to another machine"),
                "others on the network can read the bot's token and all messages. Use https",
            );
        }
        for who in &bot.allow_from {
            let what = format!("channels.{name}.allowFrom contains {who}");
            if who == "*" {
                add(
                    what,
                    "anyone can use the agent and its tools in the sandbox. List numeric ids instead, or set defaultRole to guest",
                );
            } else if who.starts_with('@') {
                add(what, "a user name can change hands. Use the numeric id");
            }
        }
        if bot.group_policy == GroupPolicy::Open {
            add(
                format!("channels.{name}.groupPolicy is open"),
                "all messages in its groups go to the model, not only those to the bot. Set it to mention",
            );
        }
    }
}

/// Why a folder is dangerous to give to tools; `None` for an ordinary one.
fn opened(path: &str, is_workspace: bool, writes: bool, at: &Installation) -> Option<&'static str> {
    let user_home = at.user_home.as_deref().unwrap_or(Path::new("/root"));
    let path = match path.strip_prefix('~') {
        Some(rest) => user_home.join(rest.trim_start_matches('/')),
        None => at.home.join(path),
    };
    let is_within = |folder: &str| path.starts_with(folder);
    let holds_keys = user_home.starts_with(&path)
        || Path::new("/home").starts_with(&path)
        || Path::new("/root").starts_with(&path)
        || path
            .components()
            .any(|part| KEYS.iter().any(|keys| part.as_os_str() == *keys));
    if at.home.starts_with(&path) {
        Some(
            "it contains Peacrab's home folder, which stays hidden, and what is around it. Choose a smaller folder",
        )
    } else if holds_keys {
        Some("it contains keys, such as those in ~/.ssh. Choose a folder without keys")
    } else if path.starts_with(&at.home) && !is_workspace {
        Some("it is inside Peacrab's home folder, which tools must not reach. Remove it")
    } else if writes && SYSTEM.iter().any(|folder| is_within(folder)) {
        Some("a change there affects programs outside the sandbox. Use tools.readOnlyPaths")
    } else if path == Path::new("/etc") {
        Some("it contains passwords and keys of the system. List single files instead")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
