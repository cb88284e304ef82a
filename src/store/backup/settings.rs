//! The configuration in a backup: folders elsewhere, and its secrets.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::NAMES_MAX;
use crate::base::error::{Error, Result};
use crate::base::limits::config::FILE_BYTES;
use crate::base::secret::in_words;
use crate::config::key::{Key, Kind};
use crate::config::resolve::refers;
use crate::config::settings::{Setting, Settings};
use crate::sys::file::read_at_most;

/// Folders with logins, and what each file in them is.
const LOGINS: [(&str, &str); 2] = [
    ("state/signin", "sign-in with"),
    ("state/mcp", "login to the MCP server"),
];
/// Bytes beside references from which on a value has a secret of its own.
const SECRET_BYTES: usize = 8;

/// The parts of the configuration that go into a backup.
#[derive(Debug, Default)]
pub struct Settled {
    /// Its text; `None` when there is no file.
    pub text: Option<String>,
    /// Secrets that are left out, for people.
    pub missing: Vec<String>,
    /// The paths in the home folder of what is left out.
    pub left_out: Vec<PathBuf>,
    /// Workspaces outside the home folder.
    pub outside: Vec<String>,
}

/// Reads the configuration. A file with flaws is copied as it is, but secrets are taken out only of one that is valid:
/// elsewhere they could be anywhere.
pub fn settle(
    home: &Path,
    file: &Path,
    user_home: Option<&str>,
    is_without_secrets: bool,
) -> Result<Settled> {
    let text = match read_at_most(file, FILE_BYTES) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error),
    };
    let mut settled = Settled::default();
    let mut settings = Settings::new(None);
    let name = file.display().to_string();
    let taken = match text.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(text) => settings.take_file(text, &name),
        None => Ok(()),
    };
    settled.outside = outside(home, &settings, user_home);
    settled.text = text;
    if !is_without_secrets {
        return Ok(settled);
    }
    taken.and_then(|()| settings.verdict())?;
    let folder = file.parent().unwrap_or(home);
    let set: Vec<(String, Setting)> = std::mem::take(&mut settings.set).into_iter().collect();
    for (path, Setting { key, value, .. }) in set {
        for reference in file_references(key, &value) {
            leave_out(home, &folder.join(reference), &mut settled);
        }
        if let Some(names) = key.split(&path)
            && let Some(left) = without_secrets(key, &value)
        {
            settings.forget(&names);
            if let Some(value) = left {
                let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                crate::config::settings::insert(&mut settings.values, &names, value);
            }
            settled.missing.push(path);
        }
    }
    let stripped = serde_json::to_string_pretty(&settings.values);
    let stripped = stripped.map_err(|error| Error::Failed(error.to_string()))?;
    settled.text = settled.text.map(|_| stripped + "\n");
    for (logins, what) in LOGINS {
        let entries = std::fs::read_dir(home.join(logins)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let names = names.filter_map(|name| {
            let name = name.strip_suffix(".json")?;
            Some(name.trim_end_matches(".login").to_owned())
        });
        let names = names.map(|name| format!("{what} {name}"));
        settled.missing.extend(names);
        settled.left_out.push(logins.into());
    }
    settled.missing.truncate(NAMES_MAX);
    Ok(settled)
}

/// The workspaces that are not in the home folder.
fn outside(home: &Path, settings: &Settings<'_>, user_home: Option<&str>) -> Vec<String> {
    let agents = &settings.values.get("agents");
    let agents = agents.unwrap_or(&Value::Null);
    let list = agents["list"].as_array().into_iter().flatten();
    let named = list.chain([&agents["defaults"]]);
    let paths = named.filter_map(|agent| agent["workspace"].as_str());
    let absolute = paths.map(|path| match (path.strip_prefix("~/"), user_home) {
        (Some(rest), Some(user_home)) => Path::new(user_home).join(rest),
        _ => home.join(path),
    });
    let mut outside: Vec<String> = absolute
        .filter(|path| !path.starts_with(home))
        .map(|path| path.display().to_string())
        .collect();
    outside.sort_unstable();
    outside.dedup();
    outside.truncate(NAMES_MAX);
    outside
}

/// Leaves a file out that has a secret, where it is in the home.
fn leave_out(home: &Path, path: &Path, settled: &mut Settled) {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let beneath = |path: &Path| path.strip_prefix(home).map(Path::to_owned);
    for inside in [beneath(path), beneath(&real)].into_iter().flatten() {
        if !settled.left_out.contains(&inside) {
            settled
                .missing
                .push(format!("the file {}", inside.display()));
            settled.left_out.push(inside);
        }
    }
}

/// The paths of files that a secret is read from.
fn file_references<'a>(key: &Key, value: &'a Value) -> impl Iterator<Item = &'a str> {
    let members = value.as_object().into_iter().flat_map(|all| all.values());
    let texts = members.chain([value]).filter_map(Value::as_str);
    let is_secret = key.is_secret();
    texts.filter_map(move |text| text.strip_prefix("file:").filter(|_| is_secret))
}

/// The value without what is secret in it, or nothing of it; `None` when nothing is secret.
fn without_secrets(key: &Key, value: &Value) -> Option<Option<Value>> {
    let is_own = |text: &str| !text.is_empty() && has_own_secret(text);
    match (key.kind, value) {
        (Kind::Secret, Value::String(text)) => is_own(text).then_some(None),
        (Kind::Secrets, Value::Object(members)) => {
            let mut left = members.clone();
            let mut is_changed = false;
            for value in left.values_mut() {
                if value.as_str().is_some_and(is_own) {
                    (*value, is_changed) = (Value::from(""), true);
                }
            }
            is_changed.then_some(Some(Value::Object(left)))
        }
        (_, value) => {
            let words = value.as_str().unwrap_or_default().split_whitespace();
            let is_any = !key.secrets_within(value).is_empty() || !in_words(words).is_empty();
            is_any.then_some(None)
        }
    }
}

/// Whether a value is more than references to variables or a file.
fn has_own_secret(text: &str) -> bool {
    if !refers(text) {
        return true;
    }
    if text.starts_with("file:") {
        return false;
    }
    let mut parts = text.split("${");
    let first = parts.next().map_or(0, str::len);
    let others = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest).len());
    first + others.sum::<usize>() > SECRET_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(config: &str) -> Settled {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        std::fs::create_dir_all(home.join("state/mcp")).unwrap();
        std::fs::write(home.join("state/mcp/far.login.json"), "{}").unwrap();
        std::fs::write(home.join("key"), "sk-0123456789").unwrap();
        std::fs::write(home.join("config.json"), config).unwrap();
        settle(home, &home.join("config.json"), Some("/home/pi"), true).unwrap()
    }

    #[test]
    fn keys_passwords_and_tokens_go_and_all_else_stays() {
        let config = r#"{
            "unknown": {"apiKey": "sk-canary-0-0123456789"},
            "agents": {"defaults": {"model": "m", "workspace": "~/ws"}, "list": [{"id": "b", "workspace": "/srv/b"}]},
            "providers": {
                "openai": {"apiKey": "sk-canary-1-0123456789"},
                "anthropic": {"apiKey": "${ANTHROPIC}"},
                "mine": {"apiKey": "file:key", "extraHeaders": {"X": "Bearer ${TOKEN}", "Y": "canary-2-0123"},
                    "proxy": "http://me:canary-3-xyz@p:1"}
            },
            "channels": {"telegram": {"enabled": true, "token": "123:canary-4-0123456789"}},
            "tools": {"mcpServers": {"near": {"command": "npx", "args": ["--api-key", "canary-5-0123456789"],
                "env": {"K": "canary-6"}}}},
            "update": {"url": "https://me:canary-7-xyz@far.invalid/x"},
            "commands": {"x": {"run": "curl https://me:canary-8-xyz@far.invalid/"}}
        }"#;
        let found = settled(config);
        let text = found.text.unwrap();
        for secret in ["canary", "sk-"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        for kept in [
            "\"m\"",
            "${ANTHROPIC}",
            "file:key",
            "Bearer ${TOKEN}",
            "\"enabled\": true",
            "\"npx\"",
        ] {
            assert!(text.contains(kept), "{kept} is missing in {text}");
        }
        for missing in [
            "providers.openai.apiKey",
            "providers.mine.extraHeaders",
            "providers.mine.proxy",
            "channels.telegram.token",
            "tools.mcpServers.near.args",
            "tools.mcpServers.near.env",
            "update.url",
            "commands.x.run",
            "the file key",
            "login to the MCP server far",
        ] {
            assert!(
                found.missing.iter().any(|one| one == missing),
                "{missing}: {:?}",
                found.missing
            );
        }
        assert_eq!(found.missing.len(), 10, "{:?}", found.missing);
        assert!(found.left_out.contains(&PathBuf::from("key")));
        assert_eq!(found.outside, ["/home/pi/ws", "/srv/b"]);
    }

    #[test]
    fn secrets_cannot_be_taken_out_of_what_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, "{ broken").unwrap();
        let settle = |without| settle(folder.path(), &file, None, without);
        assert!(settle(true).is_err());
        assert_eq!(settle(false).unwrap().text.as_deref(), Some("{ broken"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(settle(true).unwrap().text, None);
    }
}
