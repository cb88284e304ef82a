//! Runs `systemctl`, without a shell.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::texts;
use super::unit::Scope;

/// The unit's name.
pub const NAME: &str = "peacrab.service";

/// A command that failed: what to type, and why it failed.
#[derive(Debug)]
pub struct NotDone {
    /// The command as it is typed.
    pub command: String,
    /// Why it failed.
    pub why: String,
}

/// The properties of the service by name (systemctl(1), `show`).
pub type Properties = BTreeMap<String, String>;

/// Runs `systemctl …`, with `--user` for a per-user service, and returns what it prints.
pub fn systemctl(scope: Scope, arguments: &[&str]) -> Result<String, NotDone> {
    let own: &[&str] = match scope {
        Scope::System => &[],
        Scope::User => &["--user"],
    };
    run("systemctl", &[own, arguments].concat())
}

/// Runs any program and returns what it prints.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, NotDone> {
    let not_done = |why: String| NotDone {
        command: format!("{program} {}", arguments.join(" ")),
        why,
    };
    let ran = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_done(texts::cannot_start(program, &error)))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let first = stderr.lines().find(|line| !line.trim().is_empty());
    Err(not_done(match first {
        Some(line) => line.trim().to_owned(),
        None => ran.status.to_string(),
    }))
}

/// The properties of the service.
pub fn properties(scope: Scope) -> Result<Properties, NotDone> {
    let wanted = "--property=ActiveState,SubState,UnitFileState,MainPID,NRestarts,Result,\
                  StatusText,ActiveEnterTimestamp,NeedDaemonReload";
    systemctl(scope, &["show", NAME, wanted]).map(|text| parse(&text))
}

/// Whether the account's services run without a login (logind has a file for each such account).
pub fn lingers(account: &str) -> bool {
    !account.is_empty() && Path::new("/var/lib/systemd/linger").join(account).exists()
}

/// Reads properties as `show` prints them.
pub fn parse(text: &str) -> Properties {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_lines_of_a_name_and_a_value() {
        let known = parse("ActiveState=active\nStatusText=a=b\nMainPID=7\n\n");
        assert_eq!(known["ActiveState"], "active");
        assert_eq!(known["StatusText"], "a=b");
        assert_eq!(known.len(), 3);
    }

    #[test]
    fn a_missing_command_is_named_with_its_arguments() {
        let error = run("peacrab-no-such-program", &["enable", NAME]).unwrap_err();
        assert_eq!(
            error.command,
            "peacrab-no-such-program enable peacrab.service"
        );
        assert!(error.why.contains("cannot start"), "{}", error.why);
    }
}
