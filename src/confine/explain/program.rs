//! Programs that a command did not find because the sandbox hides them.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::explain;
use crate::confine::child::PROGRAMS;
use crate::confine::policy::{Access, Policy, closest};
use crate::confine::run::End;
use crate::limits::confine::{FOLDERS_NAMED, PATHS, PROGRAM_NAMES, SHEBANG_BYTES};
use crate::sys::file::open_to_read;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// For the model and for people alike.
    pub text: String,
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
                text: reason.text.to_owned(),
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
        let text = names
            .into_iter()
            .take(PROGRAM_NAMES)
            .chain(paths.take(PATHS))
            .find_map(|name| self.hides(name, &places))?;
        Some(Explanation {
            text,
            needs_more: true,
        })
    }

    /// Whether the line is that of a server: the person's own, and not a model's, which is not to learn from
    /// what is explained which files there are.
    fn is_service(&self) -> bool {
        self.policy.errors_apart
    }

    /// What hides a program, and which setting shows it.
    fn hides(&self, name: &str, places: &Places) -> Option<String> {
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
        let list = |folders: &[&Path]| {
            let folders = folders.iter().map(|folder| folder.display().to_string());
            folders.collect::<Vec<_>>().join(" and ")
        };
        let folder = path.parent()?.display();
        let place = match is_folder {
            true => "a folder".to_owned(),
            false => format!("in {folder}"),
        };
        let mut text = format!(
            "{name} is {place}, which the sandbox hides: add {} to tools.readOnlyPaths",
            list(&hidden)
        );
        if !is_in_path {
            text.push_str(&format!(" and {folder} to tools.exec.pathAppend"));
        }
        Some(text)
    }

    /// The same for the program that runs a script.
    fn hides_interpreter(&self, script: &Path, places: &Places) -> Option<String> {
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
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::confine::{Isolation, Namespaces, Settings};

    #[test]
    fn names_are_found_in_what_shells_and_others_say() {
        for (output, expected) in [
            ("sh: 1: uvx: not found", "uvx"),
            ("/bin/sh: 1: exec: uvx: not found\n", "uvx"),
            ("sh: uvx: not found", "uvx"),
            ("bash: line 1: uvx: command not found", "uvx"),
            ("zsh:1: command not found: uvx", "uvx"),
            ("/usr/bin/env: ‘node’: No such file or directory", "node"),
            (
                "env: can't execute 'node': No such file or directory",
                "node",
            ),
            (
                "nohup: failed to run command ‘uvx’: No such file or directory",
                "uvx",
            ),
            ("sudo: uvx: command not found", "uvx"),
            ("sh: 1: cd: can't cd to /home/pi/x", "/home/pi/x"),
            (
                "sh: cd: line 1: can't cd to /home/pi/x: No such file or directory",
                "/home/pi/x",
            ),
            (
                "ls: cannot access '/home/pi/x': No such file or directory",
                "/home/pi/x",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'",
                "ffmpeg",
            ),
            ("Error: spawn uvx ENOENT", "uvx"),
            ("sh: 1: /home/pi/run: Permission denied", "/home/pi/run"),
            (
                "bash: ./run: cannot execute: required file not found",
                "./run",
            ),
            ("404: page not found at all", ""),
            ("all is well", ""),
        ] {
            let found = missing_names(output);
            assert_eq!(
                found.first().copied().unwrap_or_default(),
                expected,
                "{output}"
            );
        }
    }

    struct Board {
        folder: tempfile::TempDir,
        view: View,
    }

    impl Board {
        /// A board whose home folder is hidden, with a workspace in it.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path().canonicalize().unwrap();
            let workspace = home.join("workspace");
            fs::create_dir(&workspace).unwrap();
            let path = format!("/usr/bin:{}/.local/bin", home.display());
            let mut settings = Settings::new(&workspace);
            settings.environment = vec![("PATH".into(), path.into())];
            let exec = crate::confine::Exec::new(settings).unwrap();
            let isolation = Isolation {
                namespaces: Namespaces::User,
                landlock: 0,
                system_calls: true,
            };
            let task = crate::confine::policy::ChildTask::Shell("x".into());
            let policy = exec.policy(isolation, task, &workspace).unwrap();
            Self {
                view: View::new(&policy, Some(&home)),
                folder,
            }
        }

        fn home(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap()
        }

        fn program(&self, path: &str, text: &str) -> PathBuf {
            let path = self.home().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn says(&self, line: &str, output: &str) -> String {
            let said = self.view.explain(line, &End::Exit(127), output);
            said.map(|said| said.text).unwrap_or_default()
        }
    }

    #[test]
    fn a_program_that_the_sandbox_hides_is_named_with_the_setting_that_shows_it() {
        let board = Board::new();
        let home = board.home().display().to_string();
        board.program(".local/bin/uvx", "x");
        assert_eq!(
            board.says("uvx x", "sh: 1: uvx: not found"),
            format!(
                "uvx is in {home}/.local/bin, which the sandbox hides: add {home}/.local/bin to tools.readOnlyPaths"
            )
        );
        // A link and what it leads to: what both have in common is enough.
        let real = board.program(".local/lib/tool/cli.js", "x");
        symlink(real, board.home().join(".local/bin/tool")).unwrap();
        assert!(
            board
                .says("tool", "sh: 1: tool: not found")
                .ends_with(&format!("add {home}/.local to tools.readOnlyPaths"))
        );
        // Outside of PATH too.
        board.program(".cargo/bin/rg", "x");
        assert!(board.says("rg x", "sh: 1: rg: not found").ends_with(&format!(
            "add {home}/.cargo/bin to tools.readOnlyPaths and {home}/.cargo/bin to tools.exec.pathAppend"
        )));
        // What runs a script.
        board.program(".local/bin/python9", "x");
        board.program("workspace/run.py", "#!/usr/bin/env python9\n");
        assert!(
            board
                .says("./run.py", "sh: 1: ./run.py: not found")
                .starts_with("python9 is in")
        );
        board.program("workspace/me", "#!./me\n");
        assert_eq!(board.says("./me", "sh: 1: ./me: not found"), "");
    }

    #[test]
    fn a_hidden_program_is_named_in_any_line() {
        let board = Board::new();
        let home = board.home().display().to_string();
        board.program("tools/uvx", "x");
        fs::write(board.home().join("tools/notes.txt"), "x").unwrap();
        let tools = board.home().join("tools");
        symlink(&tools, board.home().join("workspace/link")).unwrap();
        symlink(tools.join("uvx"), board.home().join("workspace/in-x")).unwrap();
        fs::create_dir(board.home().join("workspace/sub")).unwrap();
        symlink(tools.join("uvx"), board.home().join("workspace/sub/run")).unwrap();
        let advice = format!("add {home}/tools to tools.readOnlyPaths");
        for (line, output) in [
            ("cd @/tools && ./uvx", "sh: 1: cd: can't cd to @/tools"),
            (
                "cd '@/tools'; ./uvx",
                "bash: line 1: cd: @/tools: No such file or directory",
            ),
            (
                "ls @/tools",
                "ls: cannot access '@/tools': No such file or directory",
            ),
            (
                "ls link/",
                "ls: cannot access 'link/': No such file or directory",
            ),
            ("cd link && ./uvx", "sh: 1: cd: can't cd to link"),
            ("cd sub && ./run", "sh: 1: ./run: not found"),
            (
                "cd sub/ && cd ../sub && ./run x",
                "bash: line 1: ./run: No such file or directory",
            ),
            ("PATH=@/tools:$PATH uvx x", "sh: 1: uvx: not found"),
            (
                "export PATH=\"$PATH:@/tools\"; uvx",
                "sh: 1: uvx: not found",
            ),
            (
                "nohup @/tools/uvx",
                "nohup: failed to run command '@/tools/uvx': No such file or directory",
            ),
            ("@/tools/uvx | head", "sh: 1: @/tools/uvx: not found"),
        ] {
            let (line, output) = (line.replace('@', &home), output.replace('@', &home));
            for end in [End::Exit(127), End::Exit(0)] {
                let is_of_shell = output.starts_with("sh: ") && output.ends_with("not found");
                let is_told =
                    matches!(end, End::Exit(127)) || is_of_shell && line.contains(['|', ';', '&']);
                let said = board
                    .view
                    .explain(&line, &end, &output)
                    .map(|said| said.text);
                let said = said.unwrap_or_default();
                assert_eq!(said.contains(&advice), is_told, "{line}: {said}");
            }
        }
        let uvx = "sh: 1: ./uvx: not found";
        let said = board.view.explain_at(&tools, "./uvx", &End::Exit(127), uvx);
        assert!(said.unwrap().text.contains(&advice));
        for (line, output) in [
            ("ls @", "ls: cannot access '@': No such file or directory"),
            (
                "cat @/tools/notes.txt",
                "cat: @/tools/notes.txt: No such file or directory",
            ),
            ("grep -r x . | head", "log: sh: 1: @/tools/uvx: not found"),
            (
                "ls @/none",
                "ls: cannot access '@/none': No such file or directory",
            ),
        ] {
            let (line, output) = (line.replace('@', &home), output.replace('@', &home));
            assert_eq!(board.says(&line, &output), "", "{line}");
        }
    }

    #[test]
    fn a_script_of_an_interpreter_is_named_and_no_other_file() {
        let board = Board::new();
        let home = board.home().display().to_string();
        for (name, line, output) in [
            (
                "x.py",
                "python3 X",
                "python3: can't open file 'X': [Errno 2]",
            ),
            (
                "x.js",
                "node 'X' -v",
                "Error: Cannot find module 'X'\n    at",
            ),
            ("x.sh", "sh X; false", "sh: 0: cannot open X: No such file"),
            ("x.jar", "java -jar X", "Error: Unable to access jarfile X"),
            (
                "x.pl",
                "A=X; perl X",
                "Can't open perl script \"X\": No such",
            ),
        ] {
            let path = format!("{home}/apps/{name}");
            board.program(&format!("apps/{name}"), "x");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            let (line, output) = (line.replace('X', &path), output.replace('X', &path));
            assert_eq!(
                board.says(&line, &output),
                format!(
                    "{path} is in {home}/apps, which the sandbox hides: add {home}/apps to tools.readOnlyPaths"
                )
            );
            assert_eq!(board.says(&line, "it is broken"), "", "not said");
        }
        let key = format!("{home}/.ssh/id");
        fs::create_dir(board.home().join(".ssh")).unwrap();
        fs::write(&key, "x").unwrap();
        let output = format!("python3: can't open file '{key}'");
        assert_eq!(board.says(&format!("python3 {key}"), &output), "");
    }

    #[test]
    fn files_and_folders_in_the_arguments_of_a_server_are_named() {
        let mut board = Board::new();
        board.view.policy.errors_apart = true;
        let home = board.home().display().to_string();
        fs::create_dir_all(board.home().join("notes/old")).unwrap();
        fs::write(board.home().join("notes/lamp.toml"), "x").unwrap();
        let hint = |what: &str| {
            format!("{what}, which the sandbox hides: add {home}/notes to tools.readOnlyPaths")
        };
        for (line, what) in [
            (
                format!("exec 'files' '{home}/notes'"),
                format!("{home}/notes is a folder"),
            ),
            (
                format!("exec 'lampd' '--config={home}/notes/lamp.toml'"),
                format!("{home}/notes/lamp.toml is in {home}/notes"),
            ),
        ] {
            assert_eq!(board.says(&line, "no such thing"), hint(&what));
        }
        let seen = format!("exec 'files' '{home}/workspace' '{home}/none' '/usr/bin'");
        assert_eq!(board.says(&seen, "broken"), "");
    }

    #[test]
    fn what_is_not_there_or_seen_is_not_explained_and_output_alone_finds_no_paths() {
        let board = Board::new();
        let secret = board.program("private/tool", "x").display().to_string();
        let not_found = |name: &str| format!("sh: 1: {name}: not found");
        assert_eq!(board.says("ls", &not_found(&secret)), "");
        assert!(
            board
                .says(&secret, &not_found(&secret))
                .contains("tools.readOnlyPaths")
        );
        assert_eq!(board.says("nothing", &not_found("nothing")), "");
        board.program("workspace/tool", "x");
        assert_eq!(board.says("./tool", &not_found("./tool")), "");
        board.program(".local/bin/uvx", "x");
        let fine = board.view.explain("uvx", &End::Exit(0), &not_found("uvx"));
        assert_eq!(fine, None);
    }
}
