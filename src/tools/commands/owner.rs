//! Actions of the owner that need no question of their own: fixed command lines that only read, changes that a
//! pressed button has confirmed, and commands of the configuration. Each is recorded like any other command.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::exec::record_end;
use super::request::hash;
use super::{Folder, Permit, Request, Uses, quote, texts, with_errors};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::config::schema::ApprovalMode;
use crate::sandbox::confine::OutputChunk;
use crate::sys::file::replace_unsynced;
use crate::sys::random;
use crate::tools::results::Spool;
use crate::tools::{Caller, Toolbox};

use super::exec::ShellResult;

/// Digits of the hash of a line in the name of its home.
const HASH_CHARS: usize = 16;
/// Bytes of an output beyond its limit that are taken: the errors are behind it.
const OUTPUT_SLACK: usize = 4 * 1024;

/// What makes Ogg with Opus of the file `$1`, unless it is that already or nothing can.
const TO_OGG: &str = r#">/dev/null || exit; o="${1%.wav}.ogg"
if [ "$(head -c 4 "$1")" = OggS ]; then exit 0
elif command -v opusenc >/dev/null; then opusenc --quiet --bitrate 32 "$1" "$o" || rm -f "$o"
elif command -v ffmpeg >/dev/null; then ffmpeg -v error -nostdin -y -i "$1" -c:a libopus -b:a 32k "$o" || rm -f "$o"
fi >/dev/null"#;

/// An action.
#[derive(Clone, Copy, Debug)]
pub struct OwnerAction<'a> {
    /// What `sh -c` gets. It contains nothing of the model's, and what it contains of a person's is quoted.
    pub line: &'a str,
    /// Whether it runs on the board itself.
    pub unsandboxed: bool,
    /// Whether it changes anything there: not while `tools.exec.approval` is `never`.
    pub changes: bool,
    /// The line of the configuration that it runs, if it does: it may read what the model can write.
    pub configured: Option<&'a str>,
    /// Why it may run, for the audit log.
    pub decision: &'a str,
    /// When it is ended; `None`: as other commands.
    pub time: Option<Duration>,
    /// The person's language.
    pub language: Language,
}

impl Toolbox {
    /// Runs a line of the configuration in the sandbox, in a home of its own, with a file as `$1`. Returns what it writes
    /// to its output, which has at most `limit` bytes; what it writes to its errors explains a failure. It
    /// leaves the files of the prompt as they are.
    pub fn read_out(
        &self,
        (run, path): (&str, &str),
        language: Language,
        limit: usize,
        caller: &Caller<'_>,
    ) -> Result<String> {
        let file = self.workspace.path().join(path);
        let command = format!("sh -c {} sh {}", quote(run), quote(&file.to_string_lossy()));
        let mark = format!("--- {:016x} ---", u64::from_le_bytes(random::bytes()?));
        let action = OwnerAction {
            line: &with_errors(&command, &mark),
            unsandboxed: false,
            changes: false,
            configured: Some(run),
            decision: "allowed: a command of the configuration",
            time: None,
            language,
        };
        // A command that writes without end is ended.
        let cancel = Cancel::new();
        let own = cancel.clone();
        let link = caller.cancel.on_cancel(move || own.cancel());
        let own_caller = Caller {
            cancel: &cancel,
            role: caller.role.min(Role::User),
            ..*caller
        };
        let mut output = Vec::new();
        let folder = self.program_home(run)?;
        let ran = self.act_in(&folder, action, &own_caller, &mut |bytes| {
            output.extend_from_slice(bytes);
            if output.len() > limit + OUTPUT_SLACK {
                cancel.cancel();
            }
        })?;
        drop(link);
        if caller.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let too_large = || Error::TooLarge {
            what: "what the command wrote".to_owned(),
            limit,
        };
        if cancel.is_cancelled() {
            return Err(too_large());
        }
        let output = String::from_utf8_lossy(&output);
        let (text, errors) = output
            .rsplit_once(&format!("\n{mark}\n"))
            .unwrap_or((&output, ""));
        if !ran.is_success {
            let errors = self.cleaned(errors.trim());
            return Err(Error::Failed(format!("{}: {errors}", ran.end)));
        }
        if text.len() > limit {
            return Err(too_large());
        }
        Ok(text.trim().to_owned())
    }

    /// Has a line of the configuration speak in the sandbox: it reads the text from its input and writes WAV or Ogg to the
    /// file `$1`. Ogg with Opus is made of a WAV where a program for it is there. At most `limit` bytes get into the file.
    pub fn speak(
        &self,
        (run, text): (&str, &str),
        language: Language,
        (file, limit): (&mut File, u64),
        caller: &Caller<'_>,
    ) -> Result<()> {
        let line = format!(
            "sh -c {} sh \"$1\" <\"${{1%.wav}}.txt\" {TO_OGG}",
            quote(run)
        );
        // Where no other command reads or writes.
        let name = format!("speech-{:016x}.txt", u64::from_le_bytes(random::bytes()?));
        let words = self.program_home(&line)?.join(name);
        replace_unsynced(&words, text.as_bytes(), 0o600)?;
        let spoken = words.with_extension("wav");
        let ogg = words.with_extension("ogg");
        let path = spoken.to_string_lossy();
        let ran = self.read_out((&line, &path), language, OUTPUT_SLACK, caller);
        let copied = ran.and_then(|_| {
            let opened = open_unlinked(&ogg).or_else(|_| open_unlinked(&spoken));
            let opened = opened.map_err(Error::io("open", &spoken))?;
            let copied = io::copy(&mut opened.take(limit + 1), file);
            copied.map_err(Error::io("write", "the speech"))
        });
        for path in [words, spoken, ogg] {
            // The program may have written only one of them.
            let _ = std::fs::remove_file(path);
        }
        if copied? > limit {
            let what = "the speech".to_owned();
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Err(Error::TooLarge { what, limit });
        }
        Ok(())
    }

    /// The home of a line of the configuration.
    fn program_home(&self, line: &str) -> Result<PathBuf> {
        match &self.commands {
            Some(commands) => commands.exec.program_home(&home_of(line)),
            None => Ok(self.workspace.path().to_owned()),
        }
    }

    /// Runs an action, and passes its output on as it comes: in the workspace, and one outside the sandbox in its HOME,
    /// where the model writes nothing that a program loads.
    pub fn act(
        &self,
        action: OwnerAction<'_>,
        caller: &Caller<'_>,
        watch: &mut dyn FnMut(&[u8]),
    ) -> Result<ShellResult> {
        let outside = self.commands.as_ref().filter(|_| action.unsandboxed);
        let home = outside.map(|commands| commands.exec.outside_folder());
        let home = home.transpose()?;
        let folder = home.as_deref().unwrap_or(self.workspace.path());
        self.act_in(folder, action, caller, watch)
    }

    fn act_in(
        &self,
        folder: &Path,
        action: OwnerAction<'_>,
        caller: &Caller<'_>,
        watch: &mut dyn FnMut(&[u8]),
    ) -> Result<ShellResult> {
        let language = action.language;
        let commands = self
            .commands
            .as_ref()
            .ok_or_else(|| Error::Failed(texts::turned_off(language).to_owned()))?;
        if action.changes && action.unsandboxed && commands.mode == ApprovalMode::Never {
            return Err(Error::Failed(texts::never(language).to_owned()));
        }
        let mut request = Request {
            command: action.line.to_owned(),
            folder: Folder::at(folder)?,
            unsandboxed: action.unsandboxed,
            reason: String::new(),
            typed_in: Some(language),
            is_background: false,
            is_in_own_shell: false,
            on_terminal: false,
            uses: Uses::default(),
            held: None,
        };
        if action.unsandboxed && action.configured.is_some() {
            commands.hold_still(&mut request, caller)?;
        }
        let Permit::Run(entry) = commands.start(&request, caller, action.decision)? else {
            return Err(Error::Failed(texts::denied(language).to_owned()));
        };
        let keeper = self.keeper_of_typed(commands, action.unsandboxed);
        let mut spool = Spool::new(keeper, &self.eraser, "sh");
        let mut output = |chunk: OutputChunk<'_>| match chunk {
            OutputChunk::Fresh(bytes) => watch(bytes),
            OutputChunk::Whole(bytes) => spool.write(bytes),
        };
        let time = action.time.unwrap_or(commands.max_timeout);
        let program = action.configured.filter(|_| !action.unsandboxed);
        let outcome = commands.run_for(caller, action.unsandboxed, &mut |exec, cancel| {
            let own = program.map(|line| exec.of_program(&home_of(line)));
            let own = own.transpose()?;
            let exec = own.as_ref().unwrap_or(exec);
            exec.run(&request.shell_command(), time, cancel, &mut output)
        });
        record_end(&entry, &outcome);
        Ok(self.shell_result(&outcome?, (keeper, spool.finish()), language))
    }
}

/// The name of the home of a line of the configuration: no other line has it. No server has a name with a dot.
fn home_of(line: &str) -> String {
    format!("commands.{}", &hash(&[line.as_bytes()])[..HASH_CHARS])
}

/// Opens a regular file to be read, and not what a link leads to: the program may have put one there.
fn open_unlinked(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
