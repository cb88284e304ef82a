//! What is wrong with the slash commands in `commands`, beyond single values. Pure.

use serde_json::{Map, Value};

use crate::base::limits::gateway::board::OWN_COMMANDS_MAX;
use crate::config::texts;

/// The names that the program has for commands of its own, also earlier and other ones.
pub const TAKEN: &[&str] = &[
    "agents",
    "answer",
    "approvals",
    "approve",
    "bg",
    "clear",
    "compact",
    "context",
    "cron",
    "deny",
    "diff",
    "exit",
    "get",
    "heartbeat",
    "help",
    "history",
    "id",
    "in",
    "ip",
    "jobs",
    "key",
    "keys",
    "lang",
    "language",
    "lessons",
    "log",
    "logs",
    "ls",
    "mcp",
    "memory",
    "model",
    "models",
    "new",
    "now",
    "own",
    "pair",
    "plan",
    "plans",
    "plot",
    "poweroff",
    "put",
    "quit",
    "reboot",
    "remind",
    "reminder",
    "reminders",
    "reset",
    "restart",
    "retry",
    "service",
    "services",
    "sh",
    "shutdown",
    "skill",
    "skills",
    "start",
    "status",
    "stop",
    "svc",
    "tasks",
    "term",
    "terminal",
    "think",
    "thinking",
    "tools",
    "top",
    "undo",
    "update",
    "upgrade",
    "usage",
    "voice",
    "watch",
    "watches",
    "web",
    "wol",
];

/// What is wrong with the commands of a configuration, each with the names in the path that it is about.
pub fn command_problems(values: &Map<String, Value>) -> Vec<(Vec<String>, String)> {
    const PATH: &str = "commands";
    let Some(commands) = values.get(PATH).and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if commands.len() > OWN_COMMANDS_MAX {
        let problem = texts::too_many_entries(PATH, OWN_COMMANDS_MAX);
        found.push((vec![PATH.to_owned()], problem));
    }
    for (name, command) in commands {
        let path = format!("{PATH}.{}", super::safe_path([&**name].into_iter()));
        let run = command["run"].as_str().unwrap_or_default();
        let problem = if !is_command_name(name) {
            texts::wrong_command_name(&path)
        } else if TAKEN.contains(&name.as_str()) {
            texts::taken_command_name(&path, name)
        } else if run.trim().is_empty() || run.contains('\0') {
            texts::nothing_to_run(&path)
        } else {
            continue;
        };
        found.push((vec![PATH.to_owned(), name.clone()], problem));
    }
    found
}

/// Whether the channels accept a name in their menus: Telegram takes the fewest.
fn is_command_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.starts_with(|char: char| char.is_ascii_lowercase());
    begins && name.len() <= 32 && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commands_need_a_name_of_their_own_and_a_line() {
        let problems = |value: Value| {
            let found = command_problems(value.as_object().unwrap());
            found
                .into_iter()
                .map(|(_, problem)| problem)
                .collect::<Vec<_>>()
        };
        let good = json!({"commands": {"backup": {"run": "tar c ."}, "lights_on2": {"run": "x"}}});
        assert_eq!(problems(good), [""; 0]);
        for (name, run, expected) in [
            ("Backup", "x", "commands.Backup: "),
            ("a-b", "x", "commands.a-b: "),
            ("status", "x", "/status is built in"),
            ("backup", " ", "commands.backup.run is empty"),
        ] {
            let found = problems(json!({"commands": {name: {"run": run}}}));
            assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
        }
        let many: Map<String, Value> = (0..31)
            .map(|n| (format!("c{n}"), json!({"run": "x"})))
            .collect();
        assert_eq!(problems(json!({"commands": many})).len(), 1);
    }
}
