//! A run of a custom tool: recorded before it begins, and confined like a command of exec.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Commands, account, exec};
use crate::base::error::{Error, Result};
use crate::config::schema::ApprovalMode;
use crate::sandbox::confine::{Invocation, Outcome, Output, ShellCommand};
use crate::store::state::audit::Record;
use crate::tools::Caller;

/// Bytes of what a failed program wrote to standard error that are kept: the end.
const ERRORS_BYTES: usize = 2000;

/// A run of a custom tool.
pub(in crate::tools) struct ToolRun<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The hash of its folder, in hexadecimal.
    pub hash: &'a str,
    /// Its standard input.
    pub input: &'a str,
    /// Where it runs.
    pub workspace: &'a Path,
    /// The time limit in seconds; `None`: that of a command.
    pub seconds: Option<u64>,
    /// Who or what allowed it.
    pub decision: &'a str,
}

impl Commands {
    /// Whether a person may be asked for an approval.
    pub fn can_ask(&self) -> bool {
        self.mode != ApprovalMode::Never
    }

    /// HOME of a command outside the sandbox.
    pub fn outside_home(&self) -> PathBuf {
        self.exec.outside_home()
    }

    /// The account that commands run as.
    pub(in crate::tools) fn account(&self) -> String {
        account()
    }

    /// Records that a tool is not run.
    pub(in crate::tools) fn refuse_tool(
        &self,
        run: &ToolRun<'_>,
        caller: &Caller<'_>,
    ) -> Result<()> {
        self.audit
            .refuse(record(run, caller, &run.command(), &run.folder()))
    }

    /// Runs a line of the shell for a tool, in the sandbox, where it also sees the folder `shown`.
    pub(in crate::tools) fn run_tool(
        &self,
        run: &ToolRun<'_>,
        (line, shown): (&str, PathBuf),
        caller: &Caller<'_>,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let started = self
            .audit
            .start(record(run, caller, &run.command(), &run.folder()));
        let entry = started.map_err(|error| {
            Error::Failed(format!(
                "the tool was not run, because it could not be recorded: {error}"
            ))
        })?;
        let command = ShellCommand {
            line,
            folder: run.workspace,
            inode: None,
            unsandboxed: false,
        };
        let invocation = Invocation {
            command: &command,
            input: Some(run.input.as_bytes()),
            shown: &[shown],
        };
        let timeout = run.seconds.map_or(self.timeout, Duration::from_secs);
        let timeout = timeout.min(self.max_timeout);
        let outcome = self.run_for(caller, false, &mut |exec, cancel| {
            exec.run_with(&invocation, timeout, cancel, output)
        });
        exec::record_end(&entry, &outcome);
        outcome
    }
}

impl ToolRun<'_> {
    fn command(&self) -> String {
        format!("{} {}", self.name, self.input)
    }

    fn folder(&self) -> String {
        self.workspace.to_string_lossy().into_owned()
    }
}

fn record<'a>(
    run: &'a ToolRun<'_>,
    caller: &'a Caller<'_>,
    command: &'a str,
    folder: &'a str,
) -> Record<'a> {
    Record {
        who: caller.session,
        tool: run.name,
        command,
        hash: run.hash,
        folder,
        decision: run.decision,
    }
}

/// A word of the shell, whatever is in it.
pub(in crate::tools) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The line of the shell that runs a simple command: its standard output, and the end of its standard error
/// behind the mark. The shell keeps the exit status.
pub(in crate::tools) fn with_errors(command: &str, mark: &str) -> String {
    format!(
        "exec 3>&1; s=$({{ {{ {command} 2>&1 >&3 3>&- 4>&-; echo $? >&4; }} | \
         {{ e=$(tail -c {ERRORS_BYTES}); printf '\\n%s\\n%s' '{mark}' \"$e\" >&3; }}; }} 4>&1); exit \"${{s:-1}}\""
    )
}
