//! systemd as it is asked: through `systemctl`, with arguments only and no shell.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use super::unit::Scope;

/// The unit's name.
pub const NAME: &str = "peacrab.service";

/// A command that was not done: what to type, and what was said.
#[derive(Debug)]
pub struct NotDone {
    /// The command as a person types it.
    pub command: String,
    /// Why it was not done.
    pub why: String,
}

/// What systemd knows of the service: properties by name (systemctl(1), `show`).
pub type Properties = BTreeMap<String, String>;

/// `systemctl …`, with `--user` for an account's own manager. What it prints comes back.
pub fn systemctl(scope: Scope, arguments: &[&str]) -> Result<String, NotDone> {
    let own: &[&str] = match scope {
        Scope::System => &[],
        Scope::User => &["--user"],
    };
    run("systemctl", &[own, arguments].concat())
}

/// Any command of systemd's.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, NotDone> {
    let not_done = |why: String| NotDone {
        command: format!("{program} {}", arguments.join(" ")),
        why,
    };
    let ran = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_done(format!("{program} cannot be started: {error}")))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty());
    Err(not_done(match first {
        Some(line) => line.trim().to_owned(),
        None => ran.status.to_string(),
    }))
}

/// How the service is. Nobody is asked where the unit is not known.
pub fn properties(scope: Scope) -> Result<Properties, NotDone> {
    let wanted = "--property=ActiveState,SubState,UnitFileState,MainPID,NRestarts,Result,\
                  StatusText,ActiveEnterTimestamp,NeedDaemonReload";
    systemctl(scope, &["show", NAME, wanted]).map(|text| parse(&text))
}

/// Whether an account's services run without a login (logind keeps a file for each).
pub fn lingers(account: &str) -> bool {
    !account.is_empty() && Path::new("/var/lib/systemd/linger").join(account).exists()
}

fn parse(text: &str) -> Properties {
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
    fn a_command_that_is_not_there_is_named_with_its_arguments() {
        let error = run("peacrab-no-such-program", &["enable", NAME]).unwrap_err();
        assert_eq!(
            error.command,
            "peacrab-no-such-program enable peacrab.service"
        );
        assert!(error.why.contains("cannot be started"), "{}", error.why);
    }
}
