//! `peacrab doctor sandbox`: what the kernel offers, what is in use, and a live escape test.

use std::fmt::Write;

use serde_json::json;

use crate::base::error::{Exit, Result};
use crate::cli::Context;
use crate::cli::compose::exec_of;
use crate::cli::terminal::print;
use crate::sandbox::confine::{EscapeAttempt, Exec, Isolation, Namespaces};
use crate::sys;

/// Runs the checks; the exit status is 1 when commands cannot be sandboxed or an escape succeeds.
pub fn run(context: &Context, json: bool) -> Result<Exit> {
    let loaded = context.start()?.of_agent(None)?;
    let home = context.home()?;
    for folder in [
        home.path(),
        &home.workspace(&loaded.config.agents.defaults.workspace),
    ] {
        sys::file::private_folder(folder)?;
    }
    let exec = exec_of(context, &home, &loaded)?;
    let findings = examine(&exec, &home)?;
    print::out(&if json {
        findings.as_json()
    } else {
        findings.as_text()
    })?;
    Ok(if findings.is_ok() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Describes the isolation, such as `namespaces, Landlock v7, seccomp`.
pub fn describe(isolation: Isolation) -> String {
    let mut parts = Vec::new();
    match isolation.namespaces {
        Namespaces::User => parts.push("namespaces".to_owned()),
        Namespaces::Plain => parts.push("namespaces (without user namespaces)".to_owned()),
        Namespaces::None => {}
    }
    if isolation.landlock > 0 {
        parts.push(format!("Landlock v{}", isolation.landlock));
    }
    if isolation.system_calls {
        parts.push("seccomp".to_owned());
    }
    if parts.is_empty() {
        "none (tools.exec.sandbox is off)".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Characters of a line of the report.
const WIDTH: usize = 78;

/// The findings.
struct Findings {
    /// What the kernel offers, by name.
    offers: Vec<(&'static str, String)>,
    /// The isolation of commands, or why there is none.
    in_force: std::result::Result<String, String>,
    /// What commands lack without being less isolated.
    notes: Vec<String>,
    rows: Vec<EscapeAttempt>,
}

fn examine(exec: &Exec, home: &crate::config::Home) -> Result<Findings> {
    let offer = exec.kernel_support();
    let namespaces = match &offer.namespaces {
        Ok(Namespaces::User) => "available (user namespaces)".to_owned(),
        Ok(Namespaces::Plain) => "available to root only; user namespaces are not".to_owned(),
        Ok(Namespaces::None) => "none".to_owned(),
        Err(why) => format!("not available: {why}"),
    };
    let landlock = match offer.landlock {
        0 => "not available".to_owned(),
        version => format!("version {version}"),
    };
    let filter = if offer.system_calls {
        "available"
    } else {
        "not available"
    };
    let isolation = exec.isolation();
    let rows = if isolation.is_ok() {
        exec.self_test(home.path())?
    } else {
        Vec::new()
    };
    Ok(Findings {
        offers: vec![
            ("namespaces", namespaces),
            ("landlock", landlock),
            ("seccomp", filter.to_owned()),
        ],
        in_force: isolation.map(describe).map_err(|error| error.to_string()),
        notes: offer.notes,
        rows,
    })
}

impl Findings {
    fn is_ok(&self) -> bool {
        self.in_force.is_ok() && self.rows.iter().all(|row| row.held)
    }

    fn as_text(&self) -> String {
        let mut text = String::from("Offered by the kernel\n");
        for (name, what) in &self.offers {
            let _ = writeln!(text, "  {name:<20} {what}");
        }
        let in_force = self.in_force.as_ref().unwrap_or_else(|why| why);
        let _ = writeln!(text, "\nIn use\n  {in_force}");
        for note in &self.notes {
            let _ = writeln!(text, "  note: {note}");
        }
        if self.rows.is_empty() {
            return text;
        }
        let out: Vec<&EscapeAttempt> = self.rows.iter().filter(|row| !row.held).collect();
        let count = self.rows.len();
        let _ = match out.len() {
            0 => writeln!(text, "\nEscape test: {count} attempts, all blocked"),
            out => writeln!(text, "\nEscape test: {count} attempts, {out} NOT BLOCKED"),
        };
        for row in out {
            let _ = writeln!(text, "  NOT BLOCKED  {}: {}", row.target, row.attempt);
        }
        self.list_blocked(&mut text);
        text
    }

    /// Lists what was blocked, one paragraph for each target.
    fn list_blocked(&self, text: &mut String) {
        let mut targets: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.held) {
            if !targets.contains(&row.target.as_str()) {
                targets.push(&row.target);
            }
        }
        for target in targets {
            let mut line = format!("  {target:<10}");
            let of_target = |row: &&EscapeAttempt| row.held && row.target == target;
            let mut rows = self.rows.iter().filter(of_target).peekable();
            while let Some(row) = rows.next() {
                if line.len() + row.attempt.len() > WIDTH {
                    let _ = writeln!(text, "{line}");
                    line = format!("  {:<10}", "");
                }
                let comma = if rows.peek().is_some() { "," } else { "" };
                let _ = write!(line, " {}{comma}", row.attempt);
            }
            let _ = writeln!(text, "{line}");
        }
    }

    fn as_json(&self) -> String {
        let offers: serde_json::Map<String, serde_json::Value> = self
            .offers
            .iter()
            .map(|(name, what)| ((*name).to_owned(), json!(what)))
            .collect();
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| json!({"target": row.target, "attempt": row.attempt, "held": row.held}))
            .collect();
        let value = json!({
            "offers": offers,
            "inForce": self.in_force.as_ref().ok(),
            "refused": self.in_force.as_ref().err(),
            "notes": self.notes,
            "attempts": rows,
            "held": self.is_ok(),
        });
        format!("{value}\n")
    }
}
