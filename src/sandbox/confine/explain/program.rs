//! Programs that a command did not find because the sandbox hides them.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Note, explain};
use crate::sandbox::confine::child::PROGRAMS;
use crate::sandbox::confine::policy::{Access, Policy, closest};
use crate::sandbox::confine::run::End;
use crate::sys::file::open_to_read;

/// Names of programs in a command's output that are looked for when it fails.
const PROGRAM_NAMES: usize = 4;
/// Paths in a command's own line that are looked for then.
const PATHS: usize = 8;
/// Bytes of a script that may say what runs it; Linux reads as many.
const SHEBANG_BYTES: u64 = 256;
/// Parts of a path up to which it is not named for one of its folders: `/home/pi`.
const FOLDERS_NAMED: usize = 3;

/// Where people have programs of their own, below their home folder.
const OWN_PROGRAMS: [&str; 7] = [
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    ".npm-global/bin",
    "go/bin",
];

/// How the names of scripts end that an interpreter is given.
const SCRIPTS: [&str; 12] = [
    "py", "js", "mjs", "cjs", "ts", "sh", "bash", "pl", "rb", "php", "lua", "jar",
];

/// What a command sees of the board, as far as that explains its failures.
#[derive(Clone, Debug)]
pub struct View {
    policy: Box<Policy>,
    account_home: Option<PathBuf>,
}

/// Why a command failed in the sandbox.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The reason.
    pub note: Note,
    /// Whether the command would work outside the sandbox.
    pub needs_more: bool,
}

impl View {
    /// The view of a command with this policy.
    pub fn new(policy: &Policy, account_home: Option<&Path>) -> Self {
        Self {
            policy: Box::new(Policy {
                // They may have secrets, and only one of them is needed.
                environment: policy
                    .environment
                    .iter()
                    .filter(|(name, _)| name == "PATH")
                    .cloned()
                    .collect(),
                ..policy.clone()
            }),
            account_home: account_home.map(Path::to_owned),
        }
    }

    /// Why a command failed; `None` when it succeeded, or the sandbox is not known to be the reason.
    pub fn explain(&self, line: &str, end: &End, output: &str) -> Option<Explanation> {
        self.explain_at(&self.policy.folder, line, end, output)
    }

    /// The same for a command that ran in a folder.
    pub fn explain_at(
        &self,
        folder: &Path,
        line: &str,
        end: &End,
        output: &str,
    ) -> Option<Explanation> {
        if let Some(reason) = explain(self.policy.isolation, line, end, output) {
            return Some(Explanation {
                note: Note::Reason(reason.text),
                needs_more: reason.needs_more,
            });
        }
        // The status of several commands is that of the last one; what the shell said of the others counts.
        let of_shell: String;
        let output = match end {
            End::Exit(1..) => output,
            End::Exit(0) if line.contains(['|', ';', '&', '\n']) => {
                of_shell = lines_of_shell(output);
                &of_shell
            }
            _ => return None,
        };
        if !self.policy.isolation.system_calls {
            return None;
        }
        let mut names = missing_names(output);
        // What the output alone names is not looked for: it would tell what there is elsewhere.
        names.retain(|name| !name.contains('/') || line.contains(*name));
        // A script is named by the line of its interpreter, each of which complains in its own words.
        let paths = line.split(|char: char| char.is_whitespace() || SEPARATORS.contains(char));
        let is_meant = |word: &&str| self.is_service() || output.contains(*word);
        let paths = paths.filter(|word| word.contains('/')).filter(is_meant);
        let places = Places::of(folder, line);
        let note = names
            .into_iter()
            .take(PROGRAM_NAMES)
            .chain(paths.take(PATHS))
            .find_map(|name| self.hides(name, &places))?;
        Some(Explanation {
            note,
            needs_more: true,
        })
    }

    /// Whether the line is that of a server: the person's own, and not a model's, which is not to learn from
    /// what is explained which files there are.
    fn is_service(&self) -> bool {
        self.policy.errors_apart
    }

    /// What hides a program, and which setting shows it.
    fn hides(&self, name: &str, places: &Places) -> Option<Note> {
        let (path, is_in_path) = self.locate(name, places)?;
        let real = path.canonicalize().ok()?;
        let mut hidden: Vec<&Path> = Vec::new();
        let is_folder = real.is_dir();
        // No one is advised to show all of a home folder.
        let is_home = self
            .account_home
            .as_ref()
            .is_some_and(|home| home.starts_with(&real));
        if is_folder && is_home && !self.is_service() {
            return None;
        }
        // Without a slash at its end, behind which a link is what it leads to.
        let path: PathBuf = path.components().collect();
        let folders = match is_folder {
            true if path.is_symlink() => [path.parent(), Some(&*real)],
            true => [Some(&*path), Some(&*real)],
            false => [path.parent(), real.parent()],
        };
        for folder in folders.into_iter().flatten() {
            match self.access(folder) {
                // Peacrab's own files are not shown by any setting.
                Some(Access::Hidden) => return None,
                Some(_) => {}
                None if self.is_of_system(folder) => {}
                None if hidden.contains(&folder) => {}
                None => hidden.push(folder),
            }
        }
        if hidden.is_empty() {
            return self.hides_interpreter(&real, places);
        }
        let common = hidden
            .iter()
            .skip(1)
            .fold(hidden[0].to_owned(), |common, folder| {
                let same = common
                    .iter()
                    .zip(folder.iter())
                    .take_while(|(one, other)| one == other);
                same.map(|(one, _)| one).collect()
            });
        // One folder for a link and what it leads to, unless that is a home folder or more.
        let is_small = common.components().count() > FOLDERS_NAMED
            && self
                .account_home
                .as_ref()
                .is_none_or(|home| !home.starts_with(&common));
        let hidden = if is_small {
            vec![common.as_path()]
        } else {
            hidden
        };
        let folder = path.parent()?.display().to_string();
        let show = hidden.iter().map(|folder| folder.display().to_string());
        Some(Note::Hidden {
            name: name.to_owned(),
            folder: (!is_folder).then(|| folder.clone()),
            show: show.collect(),
            append: (!is_in_path).then_some(folder),
        })
    }

    /// The same for the program that runs a script.
    fn hides_interpreter(&self, script: &Path, places: &Places) -> Option<Note> {
        let mut start = Vec::new();
        let file = open_to_read(script).ok()?;
        file.take(SHEBANG_BYTES).read_to_end(&mut start).ok()?;
        let first = start
            .strip_prefix(b"#!")?
            .split(|byte| *byte == b'\n')
            .next()?;
        let mut words = str::from_utf8(first).ok()?.split_whitespace();
        let program = words.next()?;
        let program = match Path::new(program).file_name() == Some(OsStr::new("env")) {
            true => words.find(|word| !word.starts_with('-'))?,
            false => program,
        };
        // A script that runs itself would not end.
        let is_other = self.locate(program, places)?.0.canonicalize().ok()? != script;
        is_other.then(|| self.hides(program, places)).flatten()
    }

    fn access(&self, path: &Path) -> Option<Access> {
        let real = path.canonicalize().ok();
        let policy = &self.policy;
        closest(
            real.as_deref().unwrap_or(path),
            [
                (&policy.write, Access::Write),
                (&policy.read, Access::Read),
                (&policy.hide, Access::Hidden),
            ],
        )
    }

    fn is_of_system(&self, folder: &Path) -> bool {
        self.policy.whole || PROGRAMS.iter().any(|known| folder.starts_with(known))
    }

    /// The program or the folder on the board with this name, and whether it is where commands look for
    /// programs.
    fn locate(&self, name: &str, places: &Places) -> Option<(PathBuf, bool)> {
        let is_program = |path: &PathBuf| {
            let about = path.metadata().ok();
            about.is_some_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        let mut here = places.folders.iter().map(|folder| folder.join(name));
        if name.contains('/') {
            return here.find_map(|path| {
                let is_script = path
                    .extension()
                    .is_some_and(|ending| SCRIPTS.iter().any(|known| ending == *known));
                let is_right = is_program(&path)
                    || path.is_dir()
                    || is_script && path.is_file()
                    || self.is_service() && path.exists();
                is_right.then_some((path, true))
            });
        }
        if let Some(folder) = here.find(|path| path.is_dir()) {
            return Some((folder, true));
        }
        let path = self
            .policy
            .environment
            .first()
            .map(|(_, path)| path.as_bytes());
        let parts = path.unwrap_or_default().split(|byte| *byte == b':');
        let folders = parts.map(|part| PathBuf::from(OsStr::from_bytes(part)));
        let folders = places.path.iter().cloned().chain(folders);
        let found = folders.map(|folder| folder.join(name)).find(is_program);
        found.map(|path| (path, true)).or_else(|| {
            let home = self.account_home.as_ref()?;
            let own = OWN_PROGRAMS
                .iter()
                .map(|folder| home.join(folder).join(name));
            Some((own.into_iter().find(is_program)?, false))
        })
    }
}

/// What stands between the words of a line.
const SEPARATORS: &str = "'\"`;|&()<>=";

/// Where the commands of a line look for what they name.
struct Places {
    /// The folder of the line, and those that it changes to.
    folders: Vec<PathBuf>,
    /// What the line sets as `PATH`.
    path: Vec<PathBuf>,
}

impl Places {
    fn of(folder: &Path, line: &str) -> Self {
        let mut places = Self {
            folders: vec![folder.to_owned()],
            path: Vec::new(),
        };
        let words = line.split(|char: char| char.is_whitespace() || ";|&()".contains(char));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_quote = |char: char| matches!(char, '\'' | '"');
        for (at, word) in words.iter().enumerate() {
            let last = &places.folders[places.folders.len() - 1];
            if let Some(path) = word.strip_prefix("PATH=") {
                let parts = path.trim_matches(is_quote).split(':').take(PATHS);
                places.path = parts.map(|part| last.join(part)).collect();
            } else if matches!(*word, "cd" | "pushd") && places.folders.len() <= PATHS {
                let target = words
                    .get(at + 1)
                    .map(|target| last.join(target.trim_matches(is_quote)));
                places.folders.extend(target);
            }
        }
        places
    }
}

/// The lines of an output in which a shell says that there is no such program.
fn lines_of_shell(output: &str) -> String {
    let shells = [
        "sh: ",
        "ash: ",
        "bash: ",
        "-sh: ",
        "/bin/sh: ",
        "/bin/bash: ",
    ];
    let lines = output.lines().filter(|line| {
        line.ends_with("not found") && shells.iter().any(|shell| line.starts_with(shell))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The names of programs that an output says are not there, as shells, env, Node and Python write it.
fn missing_names(output: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in output.lines().rev() {
        let before = |words: &str| {
            let (before, _) = line.split_once(words)?;
            Some(before.rsplit(": ").next().unwrap_or_default())
        };
        let after = |words: &str| Some(line.split_once(words)?.1);
        let name = after("command not found: ")
            .or_else(|| before(": command not found"))
            .or_else(|| before(": not found"))
            .or_else(|| before(": cannot execute"))
            .or_else(|| after("No such file or directory: "))
            .or_else(|| before(": No such file or directory"))
            .or_else(|| before(": Permission denied"))
            .or_else(|| after("spawn ")?.split_once(" ENOENT").map(|(name, _)| name))
            .or_else(|| after("can't cd to "));
        let is_quote = |char: char| matches!(char, '\'' | '"' | '‘' | '’' | '`');
        // As in `nohup: failed to run command 'x'`.
        let name = name.unwrap_or_default().trim();
        let name = match name.rsplit_once(' ') {
            Some((_, last)) if last.starts_with(is_quote) => last,
            Some((before, last)) if before.ends_with("can't cd to") => last,
            _ => name,
        };
        let name = name.trim_matches(is_quote);
        let is_name = !name.is_empty()
            && name.len() <= 255
            && !name.contains(|char: char| char.is_whitespace() || char.is_control());
        if is_name && !names.contains(&name) {
            names.push(name);
        }
        if names.len() == PROGRAM_NAMES {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests;
