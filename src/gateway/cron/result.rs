//! The results of jobs that go to files: `cron/NAME-ID-DATE.md` in the workspace, the last ones of each job.

use std::path::{Path, PathBuf};

use super::run::JobRun;
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::gateway::Gateway;
use crate::gateway::agents::Hosted;
use crate::sandbox::confine::Hold;
use crate::sandbox::files::{Next, Workspace};

/// Files with results that are kept of each job.
const RESULTS_KEPT: usize = 20;
/// Characters of a job's name in the names of its files.
const RESULT_NAME_CHARS: usize = 40;

/// The folder within the workspace.
const FOLDER: &str = "cron";

impl Gateway {
    /// Writes what a run came to into a file of the workspace. A run that is repeated after a kill writes
    /// the same file.
    pub(in crate::gateway) fn write_result(
        &self,
        hosted: &Hosted,
        run: &JobRun,
        text: &str,
    ) -> Result<()> {
        let planned = run.zone.at(run.planned.planned_ms.div_euclid(1000));
        let date = planned.format(DATE_FORM).to_string();
        let _writing = Hold::of_process().write_later(&run.cancel)?;
        self.write_file(hosted, &prefix(run.name(), &run.job.id), &date, text)
    }

    /// Writes what no channel can bring to a person.
    pub(in crate::gateway) fn write_news(
        &self,
        hosted: &Hosted,
        (name, text): (&str, &str),
        cancel: &Cancel,
    ) -> Result<()> {
        let _writing = Hold::of_process().write_later(cancel)?;
        let date = self.clock().now().format(DATE_FORM).to_string();
        self.write_file(hosted, &prefix(name, name), &date, text)
    }

    fn write_file(&self, hosted: &Hosted, prefix: &str, date: &str, text: &str) -> Result<()> {
        let live = self.live();
        let text = live.agents.default_agent().toolbox().cleaned(text);
        let workspace = hosted.workspace()?.straight();
        let path = Path::new(FOLDER).join(format!("{prefix}{date}.md"));
        workspace.write(&path, format!("{}\n", text.trim_end()).as_bytes())?;
        remove_oldest(&workspace, prefix);
        Ok(())
    }
}

/// How the date of a run is part of a file's name: in the order of time.
const DATE_FORM: &str = "%Y-%m-%d-%H%M%S";
/// Its length.
const DATE_BYTES: usize = "2026-11-23-070000".len();

/// How the names of a job's files begin.
fn prefix(name: &str, id: &str) -> String {
    let plain = |text: &str| -> String {
        let chars = text.chars().take(RESULT_NAME_CHARS);
        let plain = chars.map(|char| if char.is_alphanumeric() { char } else { '-' });
        plain.collect::<String>().trim_matches('-').to_owned()
    };
    if name == id {
        format!("{}-", plain(id))
    } else {
        format!("{}-{}-", plain(name), plain(id))
    }
}

/// Whether a name is that of a result whose name begins so.
fn is_result(name: &str, prefix: &str) -> bool {
    let date = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(".md"));
    date.is_some_and(|date| {
        date.len() == DATE_BYTES
            && date
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
    })
}

/// Removes the oldest results of a job. One that cannot be removed stays.
fn remove_oldest(workspace: &Workspace, prefix: &str) {
    let mut found: Vec<PathBuf> = Vec::new();
    let walked = workspace.walk(Path::new(FOLDER), &mut |one| {
        let name = one.path.to_str();
        if name.is_some_and(|name| is_result(name, prefix)) {
            found.push(Path::new(FOLDER).join(one.path));
        }
        Next::Pass
    });
    found.sort();
    let over = found.len().saturating_sub(RESULTS_KEPT);
    let removed = found
        .iter()
        .take(over)
        .try_for_each(|path| workspace.remove(path));
    if let Err(error) = walked.map(drop).and(removed) {
        tracing::warn!("failed to remove old results of jobs: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_jobs_name_and_its_date() {
        assert_eq!(prefix("Night backup!", "j7k2"), "Night-backup-j7k2-");
        assert_eq!(prefix("../../etc", "j7k2"), "etc-j7k2-");
        assert_eq!(prefix("j7k2", "j7k2"), "j7k2-");
        let name = "Night-backup-j7k2-2026-11-23-070000.md";
        assert!(is_result(name, "Night-backup-j7k2-"));
        for other in [
            "Night-backup-j7k2-notes.md",
            "Night-backup-j7k2-2026-11-23-070000.txt",
            "x.md",
        ] {
            assert!(!is_result(other, "Night-backup-j7k2-"), "{other}");
        }
    }
}
