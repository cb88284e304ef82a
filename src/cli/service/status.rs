//! `peacrab service status`.

use super::manager::{self, Properties};
use super::unit::Scope;
use super::{account_name, find_unit, no_linger, texts};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::terminal::print;

/// Shows whether the service is installed and running; [`Exit::Failed`] when it is not running.
pub fn status(context: &Context, scope: Scope) -> Result<Exit> {
    let Some(path) = find_unit(context, scope)? else {
        print::line(texts::NOT_INSTALLED)?;
        return Ok(Exit::Failed);
    };
    print::line(&format!("unit       {}", path.display()))?;
    let known = manager::properties(scope)
        .map_err(|not_done| Error::Failed(texts::no_status(&not_done.why)))?;
    print::out(&format_properties(&known))?;
    if scope == Scope::User && !manager::lingers(account_name(context)) {
        print::line(&format!("logout     {}", no_linger(context)))?;
    }
    Ok(if is_running(&known) {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Whether the service is running, in systemd's words.
pub fn is_running(known: &Properties) -> bool {
    known
        .get("ActiveState")
        .is_some_and(|state| matches!(state.as_str(), "active" | "reloading"))
}

fn format_properties(known: &Properties) -> String {
    let value = |name: &str| known.get(name).map_or("", String::as_str);
    let mut rows = vec![(
        "state",
        format!("{} ({})", value("ActiveState"), value("SubState")),
    )];
    let mut row = |name: &'static str, value: &str| {
        if !matches!(value, "" | "0" | "success" | "no") {
            rows.push((name, value.to_owned()));
        }
    };
    row("since", value("ActiveEnterTimestamp"));
    row("status", value("StatusText"));
    row("process", value("MainPID"));
    row("restarts", value("NRestarts"));
    row("result", value("Result"));
    row("at boot", value("UnitFileState"));
    if value("NeedDaemonReload") == "yes" {
        rows.push((
            "unit",
            "has changed; run `systemctl daemon-reload`".to_owned(),
        ));
    }
    rows.iter()
        .map(|(name, value)| format!("{name:<11}{value}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_shown_in_rows_without_what_is_as_usual() {
        let known = |state: &str| {
            let pairs = [
                ("ActiveState", state),
                ("SubState", "running"),
                ("MainPID", "7"),
                ("NRestarts", "0"),
                ("Result", "success"),
                ("StatusText", "2 turns"),
                ("NeedDaemonReload", "no"),
            ];
            Properties::from(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        assert_eq!(
            format_properties(&known("active")),
            "state      active (running)\nstatus     2 turns\nprocess    7\n"
        );
        assert!(is_running(&known("active")));
        assert!(!is_running(&known("failed")));
        assert!(!is_running(&Properties::new()));
    }
}
