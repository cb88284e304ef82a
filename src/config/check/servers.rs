//! What is wrong with the servers in `tools.mcpServers`, beyond single values. Pure.

use serde_json::{Map, Value};

use super::SECRET_NAME_BYTES;
use super::SECRET_NAMES;
use crate::config::key::Key;
use crate::config::schema::Tools;
use crate::config::texts;

/// Servers in the configuration.
const SERVERS: usize = 32;
/// Bytes of a server's name: half of what a tool's name has.
const SERVER_NAME_BYTES: usize = 32;

/// Whether a server can have this name, which becomes a part of its tools' names.
pub fn is_server_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= SERVER_NAME_BYTES && name.bytes().all(is_plain)
}

/// What is wrong with the servers of a configuration, each with the names in the path that it is about.
pub fn server_problems(values: &Map<String, Value>) -> Vec<(Vec<String>, String)> {
    const PATH: &str = "tools.mcpServers";
    let tools = values.get("tools").and_then(Value::as_object);
    let servers = tools.and_then(|tools| tools.get("mcpServers")?.as_object());
    let Some(servers) = servers else {
        return Vec::new();
    };
    let names = |below: &[&str]| {
        let above = PATH.split('.');
        above
            .chain(below.iter().copied())
            .map(str::to_owned)
            .collect()
    };
    let mut found = Vec::new();
    if servers.len() > SERVERS {
        found.push((names(&[]), texts::too_many_entries(PATH, SERVERS)));
    }
    for (name, server) in servers {
        let path = format!("{PATH}.{}", super::safe_path([&**name].into_iter()));
        let text = |key: &str| server[key].as_str().unwrap_or_default();
        let (command, url) = match text("type") {
            "" | "auto" => (text("command"), text("url")),
            "stdio" => (text("command"), ""),
            _ => ("", text("url")),
        };
        let has_arguments = server["args"]
            .as_array()
            .is_some_and(|args| !args.is_empty());
        let only = server["enabledTools"].as_array();
        let is_pattern = |one: &Value| {
            let one = one.as_str().unwrap_or_default();
            let name = one.strip_suffix('*').unwrap_or(one);
            !one.is_empty() && !name.contains('*')
        };
        let is_beginning = |other: &&String| {
            let rest = name.strip_prefix(other.as_str());
            rest.is_some_and(|rest| rest.starts_with('_'))
        };
        let variables = server["env"].as_object().into_iter().flatten();
        let mut texts_of_program = server["args"].as_array().into_iter().flatten();
        let problem = if !is_server_name(name) {
            texts::wrong_server_name(&path, SERVER_NAME_BYTES)
        } else if let Some(other) = servers.keys().find(is_beginning) {
            texts::server_names_overlap(&path, other)
        } else if has_nul(&server["command"]) || texts_of_program.any(has_nul) {
            texts::has_nul(&path)
        } else if let Some(variable) = wrong_variable(variables) {
            texts::wrong_variable(&path, &super::safe_path([variable].into_iter()))
        } else if command.is_empty() == url.is_empty() {
            texts::command_or_url(&path, command.is_empty())
        } else if !has_arguments && is_command_line(command) {
            texts::command_is_a_line(&path)
        } else if only.is_some_and(|only| !only.iter().all(is_pattern)) {
            texts::wrong_tool_pattern(&path)
        } else {
            continue;
        };
        found.push((names(&[name]), problem));
    }
    found
}

fn has_nul(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains('\0'))
}

/// A variable that no program can be given.
fn wrong_variable<'v>(
    mut variables: impl Iterator<Item = (&'v String, &'v Value)>,
) -> Option<&'v str> {
    let is_wrong = |(name, value): &(&String, &Value)| {
        name.is_empty() || name.contains(['=', '\0']) || has_nul(value)
    };
    variables.find(is_wrong).map(|(name, _)| name.as_str())
}

/// Whether a text is in the environment of a server's program without being a secret, by all that can be
/// seen: else a folder or a word such as `production` would be removed from all texts. Both values are the
/// setting's: as it is written, and with its references followed.
pub fn is_plain_variable(key: &Key, (written, value): (&Value, &Value), text: &str) -> bool {
    if !key.path.ends_with(".env") {
        return false;
    }
    let variables = value.as_object().into_iter().flatten();
    let mut of_text = variables.filter(|(_, value)| value.as_str() == Some(text));
    of_text.all(|(name, _)| {
        let written = written[name].as_str().unwrap_or_default();
        let upper = format!("{name} {written}").to_uppercase();
        let is_path = text.starts_with('/');
        let is_url = text.contains("://") && !text.contains(['@', '?']);
        !(written.starts_with("file:") || SECRET_NAMES.iter().any(|part| upper.contains(part)))
            && (is_path || is_url || text.len() < SECRET_NAME_BYTES)
    })
}

/// The folders that servers get, by their settings, and whether they may write to them.
pub fn paths_of_servers(tools: &Tools) -> impl Iterator<Item = (String, &[String], bool)> {
    tools.mcp_servers.iter().flat_map(|(name, server)| {
        let path = |key: &str| format!("tools.mcpServers.{name}.{key}");
        [
            (path("allowedPaths"), &*server.allowed_paths, true),
            (path("readOnlyPaths"), &*server.read_only_paths, false),
        ]
    })
}

/// Whether the program's name has its arguments too. A path may contain spaces.
fn is_command_line(command: &str) -> bool {
    let has_spaces = command.trim().contains(char::is_whitespace);
    has_spaces && (!command.starts_with('/') || command.contains(" -"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(name: &str, server: Value) -> String {
        let values = json!({"tools": {"mcpServers": {name: server}}});
        let found = server_problems(values.as_object().unwrap());
        let mut texts = found.into_iter().map(|(_, text)| text);
        texts.next().unwrap_or_default()
    }

    #[test]
    fn a_server_has_a_plain_name_and_either_a_program_or_an_address() {
        assert_eq!(
            problem("git-hub_1", json!({"command": "npx", "args": ["-y", "x"]})),
            ""
        );
        assert_eq!(problem("x", json!({"url": "https://a/mcp"})), "");
        assert_eq!(problem("x", json!({"command": "/opt/my server/run"})), "");
        for name in ["", "a b", "ä", "a.b", &"x".repeat(SERVER_NAME_BYTES + 1)] {
            let text = problem(name, json!({"command": "x"}));
            assert!(text.contains("letters, digits"), "{name}: {text}");
        }
        assert!(problem("x", json!({})).contains("needs a command or a url"));
        let both = json!({"command": "npx", "url": "https://a/mcp"});
        assert!(problem("x", both).contains("not both"));
    }

    #[test]
    fn no_server_can_have_a_tool_by_the_name_of_anothers() {
        let problems = |names: &[&str]| {
            let servers = names.iter().map(|name| (*name, json!({"command": "x"})));
            let servers: Map<String, Value> =
                servers.map(|(name, one)| (name.to_owned(), one)).collect();
            let values = json!({"tools": {"mcpServers": servers}});
            server_problems(values.as_object().unwrap())
        };
        assert!(problems(&["a", "ab", "a-b", "b_a"]).is_empty());
        let found = problems(&["a", "a_b"]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].1.contains("tools.mcpServers.a_b"),
            "{}",
            found[0].1
        );
    }

    #[test]
    fn what_no_program_can_be_given_is_found() {
        for server in [
            json!({"command": "a\0"}),
            json!({"command": "x", "args": ["a", "b\0"]}),
            json!({"command": "x", "env": {"A=B": "c"}}),
            json!({"command": "x", "env": {"": "c"}}),
            json!({"command": "x", "env": {"A": "\0"}}),
        ] {
            assert!(!problem("x", server.clone()).is_empty(), "{server}");
        }
        let good = json!({"command": "x", "args": ["a=b"], "env": {"A": "b=c", "_B": ""}});
        assert_eq!(problem("x", good), "");
    }

    #[test]
    fn a_whole_command_line_and_odd_patterns_are_found() {
        for line in ["npx -y server", "/usr/bin/npx -y server", "python3 a.py"] {
            let text = problem("x", json!({"command": line}));
            assert!(text.contains("args"), "{line}: {text}");
        }
        for pattern in ["", "a*b", "**"] {
            let text = problem("x", json!({"command": "x", "enabledTools": [pattern]}));
            assert!(text.contains("enabledTools"), "{pattern}: {text}");
        }
        assert_eq!(
            problem("x", json!({"command": "x", "enabledTools": ["a", "get_*"]})),
            ""
        );
    }

    #[test]
    fn only_what_may_be_a_secret_is_one() {
        let key = crate::config::table::find("tools.mcpServers.x.env").unwrap();
        let plain = |name: &str, written: &str, text: &str| {
            let value = json!({name: text});
            is_plain_variable(key, (&json!({name: written}), &value), text)
        };
        assert!(plain("NODE_ENV", "production", "production"));
        assert!(plain(
            "NOTES",
            "${HOME}/my notes/are/here",
            "/home/ana/my notes/are/here"
        ));
        assert!(plain(
            "GITLAB",
            "https://git.example.com/api",
            "https://git.example.com/api"
        ));
        for (name, written, text) in [
            ("API_KEY", "abc", "abc"),
            ("X", "${GIT_TOKEN}", "short"),
            ("X", "file:/run/x", "short"),
            ("X", "ghp_0123456789abcdef", "ghp_0123456789abcdef"),
            ("DB", "postgres://u:p@host/db", "postgres://u:p@host/db"),
        ] {
            assert!(!plain(name, written, text), "{name} {written}");
        }
        let key = crate::config::table::find("providers.x.apiKey").unwrap();
        assert!(!is_plain_variable(key, (&json!("a"), &json!("a")), "a"));
    }

    #[test]
    fn there_are_only_so_many() {
        let many = (0..=SERVERS).map(|n| (n.to_string(), json!({"command": "x"})));
        let many: Map<String, Value> = many.collect();
        let values = json!({"tools": {"mcpServers": many}});
        assert_eq!(server_problems(values.as_object().unwrap()).len(), 1);
    }
}
