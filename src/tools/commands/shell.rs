//! What a person types in a chat: it runs in the chat's shell, which remembers. Each line is decided about and
//! recorded like every other command, before the shell gets it.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use super::exec::record_end;
use super::{Attempt, Commands, Folder, Permit, Request, ShellResult, TypedCommand, Uses, texts};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::sandbox::confine::{
    End, Exec, Note, Outcome, OutputChunk, Shell as LongShell, ShellCommand, ShellInput, ShellLine,
    ShellOutcome, Taken, short_folder,
};
use crate::store::state::chats::shells::{History, LastFolder};
use crate::text::markup::inline_code;
use crate::text::{ellipsize_chars, reveal};
use crate::tools::results::Spool;
use crate::tools::{Caller, Toolbox};

/// Lines of it that are shown: the last ones.
const EARLIER_LINES: usize = 15;
/// Bytes of these lines.
const EARLIER_BYTES: usize = 1024;
/// Paths of a command that are looked for outside when it did not find them inside.
const PATHS_LOOKED_UP: usize = 8;
/// Characters of a path that a person is told of.
const PATH_CHARS: usize = 100;

/// What the person sees while a command runs.
#[derive(Clone, Copy, Debug)]
pub enum Watched<'a> {
    /// It begins; the prompt without the command.
    Prompt(&'a str),
    /// It has written this; empty when nothing has come for a while.
    Output(&'a [u8]),
}

/// The way in and out of a command while it runs.
pub struct Attached<'a> {
    /// Where others can write to it.
    pub input: &'a ShellInput,
    /// Who sees what it writes.
    pub watch: &'a mut dyn FnMut(Watched<'_>),
}

/// The shell of a chat between two commands.
#[derive(Clone, Debug, Default)]
pub struct Background {
    /// The command lines of what runs in it.
    pub processes: Vec<String>,
    /// The end of what that has written since the last command.
    pub output: String,
    /// A sentence about it.
    pub about: Option<&'static str>,
}

/// A shell for one line.
struct Opened {
    shell: LongShell,
    /// Whether it holds the chat's place, and is kept.
    is_kept: bool,
    /// Whether a command runs in the chat's shell, and this one runs beside it.
    is_beside: bool,
    is_new: bool,
}

/// The hash of the settings that commands run with.
pub(super) fn hash_settings(exec: &Exec) -> u64 {
    let mut hasher = DefaultHasher::new();
    exec.hash_settings(&mut hasher);
    hasher.finish()
}

impl Toolbox {
    /// Runs a command that a person typed, in the shell of their chat.
    pub fn type_line(
        &self,
        typed: TypedCommand<'_>,
        caller: &Caller<'_>,
        attached: Attached<'_>,
    ) -> Result<Attempt<ShellResult>> {
        let commands = self
            .commands
            .as_ref()
            .ok_or_else(|| Error::Failed(texts::turned_off(typed.language).to_owned()))?;
        // The chat's shell has an owner's rights.
        if caller.role < Role::Owner {
            let watch = &mut |bytes: &[u8]| (attached.watch)(Watched::Output(bytes));
            return self.shell(typed, caller, watch);
        }
        let last = commands.memory.folder(caller.session);
        let folder = last.as_ref().map(|last| last.path.as_path());
        let unsandboxed = typed.unsandboxed || commands.is_shell_outside;
        let mut request = Request {
            command: typed.line.to_owned(),
            folder: self.folder_of_shell(folder, unsandboxed)?,
            unsandboxed,
            reason: String::new(),
            typed_in: Some(typed.language),
            is_background: false,
            on_terminal: false,
            is_in_own_shell: commands.is_shell_outside && !typed.unsandboxed,
            uses: Uses::default(),
            held: None,
        };
        let entry = match commands.permit(&mut request, caller)? {
            Permit::Run(entry) => entry,
            Permit::Ask(question) => return Ok(Attempt::Ask(question)),
        };
        let opened = commands.shell_for(&request, caller, self.workspace.path());
        let mut opened = opened.inspect_err(|error| entry.end(&error.to_string()))?;
        let before = opened.shell.folder();
        let earlier = opened.shell.take_unread();
        let flood = earlier
            .is_flooded
            .then(|| texts::flooded(typed.language).to_owned());
        let shown = before.as_deref().unwrap_or(&request.folder.path);
        let prompt = commands.prompt(shown, self.workspace.path(), unsandboxed);
        let keeper = self.keeper_of_typed(commands, unsandboxed || commands.is_shell_outside);
        let mut spool = Spool::new(keeper, &self.eraser, "sh");
        let Attached { input, watch } = attached;
        watch(Watched::Prompt(&prompt));
        let mut output = |chunk: OutputChunk<'_>| match chunk {
            OutputChunk::Fresh(bytes) => watch(Watched::Output(bytes)),
            OutputChunk::Whole(bytes) => spool.write(bytes),
        };
        let observer = commands.observer(entry.clone(), true);
        let line = ShellLine {
            line: typed.line,
            timeout: commands.max_timeout,
            cancel: caller.cancel,
            input: (input, &observer),
        };
        let outcome = opened.shell.run(&line, &mut output);
        let has_ended_shell = opened.is_kept && ended_itself(&outcome);
        let about = commands.put_away(
            opened,
            &outcome,
            (before, last.as_ref()),
            (caller.session, typed.language),
        );
        let outcome = outcome.map(|outcome| commands.with_missed(typed.line, outcome, unsandboxed));
        record_end(&entry, &outcome);
        let outcome = outcome?;
        let result = self.shell_result(&outcome, (keeper, spool.finish()), typed.language);
        let notes = outcome.notes.iter();
        let notes = notes.map(|note| note.in_language(typed.language));
        Ok(Attempt::Done(ShellResult {
            prompt,
            has_ended_shell,
            earlier: self.earlier(&earlier.text),
            about: (notes.chain(flood).chain(about)).collect(),
            ..result
        }))
    }

    /// The folder in which a line will run, as a person is shown it. What is only in the sandbox has a path
    /// and nothing more.
    fn folder_of_shell(&self, folder: Option<&Path>, unsandboxed: bool) -> Result<Folder> {
        match folder.map(|path| (path, Folder::at(path))) {
            Some((_, Ok(folder))) => Ok(folder),
            Some((path, Err(_))) if !unsandboxed => Ok(Folder {
                path: path.to_owned(),
                inode: (0, 0),
            }),
            _ => Folder::at(self.workspace.path()),
        }
    }

    /// The end of what programs in the background have written.
    fn earlier(&self, text: &str) -> String {
        last_lines(&self.cleaned(text.trim_end()), EARLIER_LINES, EARLIER_BYTES)
    }

    /// Adds a typed command to the history of a chat, without secrets.
    pub fn remember_line(&self, session: &str, line: &str) {
        if let Some(commands) = &self.commands
            && let Err(error) = commands.memory.add_line(session, &self.cleaned(line))
        {
            tracing::warn!("failed to save a command in the history: {error}");
        }
    }

    /// Whether what is typed runs in the sandbox, and that shows none of these folders.
    pub fn hides(&self, typed: &TypedCommand<'_>, folders: &[&str]) -> bool {
        let is_hidden = |commands: &Commands| {
            let is_shown = |folder: &&str| commands.exec.is_shown(Path::new(folder));
            commands.sandboxed && !commands.is_shell_outside && !folders.iter().any(is_shown)
        };
        !typed.unsandboxed && self.commands.as_deref().is_some_and(is_hidden)
    }

    /// See [`describe_unseen`]; `None` where commands run without a sandbox.
    pub fn unseen_by(&self, line: &str, language: Language) -> Option<String> {
        let commands = self.commands.as_ref().filter(|it| it.sandboxed)?;
        describe_unseen(line, |path| commands.exec.is_shown(path), language)
    }

    /// What was typed in a chat.
    pub fn typed_lines(&self, session: &str) -> History {
        let commands = self.commands.as_ref();
        commands.map_or_else(History::default, |commands| {
            commands.memory.history(session)
        })
    }

    /// What runs in the background of a chat's shell; `None` when it has none, or a command runs in it.
    pub fn background(&self, session: &str, language: Language) -> Option<Background> {
        let shells = &self.commands.as_ref()?.shells;
        let (processes, unread) =
            shells.look(session, |shell| (shell.background(), shell.take_unread()))?;
        Some(Background {
            processes,
            output: self.earlier(&unread.text),
            about: unread.is_flooded.then(|| texts::flooded(language)),
        })
    }

    /// Ends what a chat's shell has left running in the background, and returns the command lines. Blocks until
    /// it is gone.
    pub fn end_in_shell(&self, session: &str) -> Vec<String> {
        let commands = self.commands.as_ref();
        let ended =
            commands.and_then(|commands| commands.shells.look(session, LongShell::end_background));
        ended.unwrap_or_default()
    }
}

impl Commands {
    /// The prompt of a shell in a folder, with `~` for the HOME that it has.
    fn prompt(&self, folder: &Path, workspace: &Path, unsandboxed: bool) -> String {
        let is_root = unsandboxed && rustix::process::geteuid().is_root();
        let sign = if is_root { '#' } else { '$' };
        let folder = match unsandboxed {
            true => short_folder(folder, &self.exec.outside_home()),
            false => short_folder(folder, workspace),
        };
        format!("{} {sign}", one_line(&folder))
    }

    /// The outcome of a line, with what it did not find and is there outside.
    fn with_missed(&self, line: &str, outcome: ShellOutcome, unsandboxed: bool) -> Outcome {
        let is_shown = |path: &Path| self.exec.is_shown(path);
        let missed = match unsandboxed || !outcome.notes.is_empty() {
            true => None,
            false => missed_outside(line, &outcome.end, &outcome.output.text(), is_shown),
        };
        Outcome {
            needs_more: !unsandboxed && (outcome.needs_more || missed.is_some()),
            end: outcome.end,
            output: outcome.output,
            notes: outcome.notes.into_iter().chain(missed).collect(),
        }
    }

    /// The shell for a line: the chat's own, or one for this line alone.
    fn shell_for(
        &self,
        request: &Request,
        caller: &Caller<'_>,
        workspace: &Path,
    ) -> Result<Opened> {
        // What was allowed once is not to be done by a shell that goes on.
        let is_kept = !request.unsandboxed || self.is_shell_outside;
        let taken = if is_kept {
            self.shells
                .take(caller.session, self.settings, request.unsandboxed)
        } else {
            Taken::Busy
        };
        let is_busy = matches!(taken, Taken::Busy);
        if let Taken::Kept(shell) = taken {
            return Ok(Opened {
                shell: *shell,
                is_kept,
                is_beside: false,
                is_new: false,
            });
        }
        let opened = self.open(request, workspace, caller.cancel);
        if opened.is_err() && !is_busy {
            self.shells.give_up(caller.session);
        }
        Ok(Opened {
            shell: opened?,
            is_kept: is_kept && !is_busy,
            is_beside: is_kept && is_busy,
            is_new: true,
        })
    }

    fn open(&self, request: &Request, workspace: &Path, cancel: &Cancel) -> Result<LongShell> {
        let command = |folder| ShellCommand {
            line: "",
            folder,
            inode: Some(request.folder.inode).filter(|_| request.unsandboxed),
            unsandboxed: request.unsandboxed,
        };
        let opened = self.exec.open_shell(&command(&request.folder.path), cancel);
        match opened {
            // A folder of the last sandbox, such as one below /tmp, is not in this one.
            Err(_) if !request.unsandboxed && request.folder.path != workspace => {
                self.exec.open_shell(&command(workspace), cancel)
            }
            opened => opened,
        }
    }

    /// Keeps a shell for the next line, with the folder that it is in. Returns what the person has to know
    /// about it.
    fn put_away(
        &self,
        opened: Opened,
        outcome: &Result<ShellOutcome>,
        (before, last): (Option<PathBuf>, Option<&LastFolder>),
        (session, language): (&str, Language),
    ) -> Vec<String> {
        let mut about = Vec::new();
        let folder = opened.shell.folder().or_else(|| before.clone());
        if !opened.is_kept {
            if opened.is_beside && folder != before {
                about.push(texts::shell_beside(language).to_owned());
            }
            return about;
        }
        if opened.is_new && last.is_some_and(|last| !last.is_told) {
            about.push(texts::shell_is_new(language).to_owned());
        }
        let went_on = outcome.as_ref().is_ok_and(|outcome| outcome.is_alive);
        let is_full = went_on && self.shells.holds_too_much(&opened.shell);
        let is_alive = went_on && !is_full;
        let ended_itself = ended_itself(outcome);
        if is_alive {
            self.shells.give_back(session, opened.shell, self.settings)
        } else {
            drop(opened.shell);
            self.shells.give_up(session);
            about.push(match ended_itself {
                _ if is_full => texts::shell_was_full(language).to_owned(),
                true => texts::shell_has_ended(language).to_owned(),
                false => texts::shell_was_lost(language).to_owned(),
            });
        }
        let next = match is_alive || is_full || !ended_itself {
            true => folder.map(|path| LastFolder {
                path,
                is_told: !is_alive,
            }),
            false => None,
        };
        if next.as_ref() != last
            && let Err(error) = self.memory.set_folder(session, next.as_ref())
        {
            tracing::warn!("failed to save the folder of a shell: {error}");
        }
        about
    }
}

/// Whether a line has ended its shell, as `exit` does.
fn ended_itself(outcome: &Result<ShellOutcome>) -> bool {
    let is_end = |end: &End| matches!(end, End::Exit(_) | End::Signal(_));
    matches!(outcome, Ok(outcome) if !outcome.is_alive && is_end(&outcome.end))
}

/// The path of a folder, whose name may have line breaks, in one line.
fn one_line(folder: &str) -> String {
    let shown = reveal(folder);
    shown.replace('\n', "\\n").replace('\t', "\\t")
}

/// The last lines of a text, behind an ellipsis where it was longer.
fn last_lines(text: &str, lines: usize, bytes: usize) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    let end = text.get(from..).unwrap_or_default();
    let starts = end.rmatch_indices('\n').map(|(index, _)| index + 1);
    let first = starts
        .take(lines)
        .last()
        .filter(|_| from > 0 || end.lines().count() > lines);
    match (first, from) {
        (Some(first), _) => format!("…\n{}", end.get(first..).unwrap_or_default()),
        (None, 0) => end.to_owned(),
        (None, _) => format!("…{end}"),
    }
}

/// What programs and the shells say of a path that is not there.
const NOT_FOUND: [&str; 4] = ["No such file", "can't cd to", "nonexistent", "not found"];

/// What a command in the sandbox did not find and is there outside: a path that it names, or the folder of one that it was
/// to make. The status of several commands is that of the last one, so what is said counts. Only for a person: a model
/// would learn the names of files that it may not see.
fn missed_outside(
    line: &str,
    end: &End,
    output: &str,
    is_shown: impl Fn(&Path) -> bool,
) -> Option<Note> {
    if !matches!(end, End::Exit(_)) {
        return None;
    }
    let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    let is_hidden = |path: &Path| {
        let mut folders = HIDDEN.iter().filter(|folder| !TEMPORARY.contains(folder));
        folders.any(|folder| path.starts_with(folder)) && !is_shown(path)
    };
    let complaint = |line: &&str| NOT_FOUND.iter().any(|words| line.contains(words));
    let complaints: Vec<&str> = output.lines().filter(complaint).collect();
    named_paths(line).find_map(|path| {
        if !complaints.iter().any(|line| line.contains(path)) {
            return None;
        }
        let (path, folder) = (Path::new(path), Path::new(path).parent());
        let hides = |folder: &&Path| is_hidden(folder) && is_there(folder);
        let missed = match is_there(path) {
            true => Some(path),
            false => folder.filter(hides),
        };
        missed.map(|path| Note::Missed(path.display().to_string()))
    })
}

/// The paths that a command names as words, from the root.
fn named_paths(line: &str) -> impl Iterator<Item = &str> {
    let is_end = |char: char| char.is_whitespace() || "'\"<>|&;()".contains(char);
    let words = line.split(is_end);
    let paths = words.filter(|word| word.starts_with('/') && word.len() > 1);
    paths.take(PATHS_LOOKED_UP)
}

/// Folders of the board that the sandbox hides, or has one of its own for.
const HIDDEN: [&str; 9] = [
    "/tmp", "/var/tmp", "/home", "/root", "/var/log", "/run", "/mnt", "/media", "/srv",
];

/// Those of which it has one of its own.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// A note for the person about a command that runs in the sandbox by itself: a path in it leads to nothing of the board,
/// as far as `is_shown` says. `None` when there is no such path.
pub fn describe_unseen(
    line: &str,
    is_shown: impl Fn(&Path) -> bool,
    language: Language,
) -> Option<String> {
    let is_hidden = |path: &&str| {
        let path = Path::new(path);
        HIDDEN.iter().any(|folder| path.starts_with(folder)) && !is_shown(path)
    };
    let path = named_paths(line).find(is_hidden)?;
    let folder = HIDDEN
        .iter()
        .find(|folder| Path::new(path).starts_with(folder));
    let path = inline_code(&ellipsize_chars(path, PATH_CHARS));
    Some(match folder {
        Some(folder) if TEMPORARY.contains(folder) => texts::temporary_of_its_own(language, &path),
        _ => texts::unseen(language, &path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_last_lines_are_shown() {
        for (text, shown) in [
            ("", ""),
            ("a\nb", "a\nb"),
            ("a\nb\nc", "a\nb\nc"),
            ("a\nb\nc\nd", "…\nb\nc\nd"),
            ("0123456789abc", "…3456789abc"),
            ("0123\n56789abc", "…\n56789abc"),
            ("üüüüüüü", "…üüüüü"),
        ] {
            assert_eq!(last_lines(text, 3, 10), shown, "{text:?}");
        }
    }

    #[test]
    fn what_a_command_did_not_find_and_is_there_outside_is_named_at_any_status() {
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().join("dpkg.log").display().to_string();
        std::fs::write(&file, "x").unwrap();
        let missed = |line: &str, output: &str, status| {
            let (line, output) = (line.replace('@', &file), output.replace('@', &file));
            missed_outside(&line, &End::Exit(status), &output, |_| true).map(|it| it.to_string())
        };
        let says = "cat: @: No such file or directory";
        let named = Some(format!("the sandbox does not show {file}"));
        assert_eq!(missed("cat @ | tail -1", says, 0), named);
        assert_eq!(missed("cat @", says, 1), named);
        assert_eq!(
            missed("cat notes", says, 1),
            None,
            "the line does not name it"
        );
        let other = "cat: x: No such file or directory\n@";
        assert_eq!(missed("cat x; echo @", other, 0), None, "it is not missing");
        assert_eq!(
            missed("cat @.no", "cat: @.no: No such file", 1),
            None,
            "it is nowhere"
        );
    }

    #[test]
    fn a_folder_is_one_line() {
        assert_eq!(one_line("~/a\nb\tc\u{202e}"), "~/a\\nb\\tc\\u{202e}");
    }
}
