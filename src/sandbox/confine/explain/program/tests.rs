use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::sandbox::confine::{Isolation, Namespaces, Settings};

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
        let exec = crate::sandbox::confine::Exec::new(settings).unwrap();
        let isolation = Isolation {
            namespaces: Namespaces::User,
            landlock: 0,
            system_calls: true,
        };
        let task = crate::sandbox::confine::policy::ChildTask::Shell("x".into());
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
        said.map(|said| said.note.to_string()).unwrap_or_default()
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
                .map(|said| said.note.to_string());
            let said = said.unwrap_or_default();
            assert_eq!(said.contains(&advice), is_told, "{line}: {said}");
        }
    }
    let uvx = "sh: 1: ./uvx: not found";
    let said = board.view.explain_at(&tools, "./uvx", &End::Exit(127), uvx);
    assert!(said.unwrap().note.to_string().contains(&advice));
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
    assert!(fine.is_none());
}
