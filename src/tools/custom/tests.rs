use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::*;
use crate::config::schema::Tools;
use crate::sandbox::files::Places;
use crate::sys::beneath::Resolver;

struct Scene {
    top: tempfile::TempDir,
    workspace: Workspace,
}

impl Scene {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("w");
        fs::create_dir(&path).unwrap();
        let places = Places {
            workspace: &path,
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        Self { top, workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("w/tools").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn executable(&self, name: &str, content: &str) {
        self.put(name, content);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn tool(&self, name: &str) {
        self.put(&format!("{name}/tool.json"), r#"{"description": "x"}"#);
        self.executable(&format!("{name}/run"), "#!/bin/sh\ncat\n");
    }

    fn faults(&self) -> Vec<String> {
        let fault = |one: Listed| Some(format!("{}: {}", one.name, one.manifest.err()?));
        list(&self.workspace)
            .into_iter()
            .filter_map(fault)
            .collect()
    }

    fn hash(&self, name: &str) -> String {
        examine(&self.workspace, name).unwrap().contents.hash
    }

    fn why(&self, name: &str) -> String {
        examine(&self.workspace, name).unwrap_err().to_string()
    }
}

#[test]
fn a_folder_that_cannot_be_a_tool_is_named_with_the_reason_and_the_others_are_there() {
    let scene = Scene::new();
    assert!(list(&scene.workspace).is_empty());
    scene.tool("lamp");
    for name in ["exec", "web_fetch", "mcp_x_y", "Lamp"] {
        scene.tool(name);
    }
    fs::create_dir(scene.path("empty")).unwrap();
    fs::create_dir(scene.path(".git")).unwrap();
    scene.put("README.md", "not a tool");
    scene.put("garbage/tool.json", b"\xff\xfe\x00");
    scene.put(
        "list/tool.json",
        r#"{"description": "x", "parameters": {"type": "array"}}"#,
    );
    let large = fs::File::create(scene.path("empty/large")).unwrap();
    large.set_len(1 << 30).unwrap();
    fs::create_dir(scene.path("large")).unwrap();
    fs::rename(scene.path("empty/large"), scene.path("large/tool.json")).unwrap();
    fs::create_dir(scene.path("pipe")).unwrap();
    let pipe = scene.path("pipe/tool.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    symlink("/etc", scene.path("out")).unwrap();
    fs::create_dir(scene.path("outside")).unwrap();
    symlink("/etc/passwd", scene.path("outside/tool.json")).unwrap();
    let faults = scene.faults();
    let expected = [
        "Lamp: the name of a tool has 1 to 48",
        "empty: cannot read tools/empty/tool.json: no such file",
        "exec: exec is the name of a built-in tool",
        "garbage: tool.json: ",
        "large: tool.json: it is larger than 8 kB",
        "list: tool.json: parameters must be a JSON schema",
        "mcp_x_y: names that begin with mcp_ are those of MCP servers",
        "out: it is a link or something else",
        "outside: ",
        "pipe: ",
        "web_fetch: web_fetch is the name of a built-in tool",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault} instead of {expected}");
    }
    let specs = CustomTools::specs(&scene.workspace);
    assert_eq!(specs.len(), 1);
    assert_eq!(specs[0].name, "lamp");
    assert_eq!(CustomTools::specs(&scene.workspace), specs);
}

#[test]
fn what_would_take_too_much_of_the_prompt_is_left_out() {
    let scene = Scene::new();
    let long = "x".repeat(CUSTOM_SPECS_BYTES_MAX / 2 - 100);
    for name in ["a", "b", "c"] {
        scene.put(
            &format!("{name}/tool.json"),
            format!(r#"{{"description": "{long}"}}"#),
        );
    }
    scene.tool("d");
    let specs = CustomTools::specs(&scene.workspace);
    let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["a", "b", "d"]);
    assert!(specs.iter().map(ToolSpec::bytes).sum::<usize>() <= CUSTOM_SPECS_BYTES_MAX);
    assert!(scene.faults()[0].starts_with("c: left out: "));
    for number in 0..CUSTOM_TOOLS_MAX {
        scene.tool(&format!("t{number:02}"));
    }
    let faults = scene.faults();
    assert_eq!(list(&scene.workspace).len(), CUSTOM_TOOLS_MAX + 1);
    assert!(
        faults
            .last()
            .unwrap()
            .ends_with("there can be at most 32 tools")
    );
}

#[test]
fn the_hash_is_of_everything_in_the_folder() {
    let scene = Scene::new();
    scene.tool("lamp");
    scene.tool("fan");
    let mut seen = vec![scene.hash("lamp"), scene.hash("fan")];
    let mut differs = |what: &str| {
        let hash = scene.hash("lamp");
        assert!(!seen.contains(&hash), "{what}");
        seen.push(hash);
    };
    scene.put("lamp/lib/a.py", "1");
    differs("a new file");
    scene.put("lamp/lib/a.py", "2");
    differs("another content");
    fs::rename(scene.path("lamp/lib/a.py"), scene.path("lamp/lib/b.py")).unwrap();
    differs("another name");
    fs::set_permissions(
        scene.path("lamp/lib/b.py"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    differs("an executable");
    fs::create_dir(scene.path("lamp/none")).unwrap();
    differs("an empty folder");
    scene.put("lamp/tool.json", r#"{"description": "y"}"#);
    differs("another description");
    let hash = scene.hash("lamp");
    scene.put("lamp/tool.json", r#"{"description": "y"}"#);
    assert_eq!(scene.hash("lamp"), hash, "the same again");
    let contents = examine(&scene.workspace, "lamp").unwrap().contents;
    let paths: Vec<&str> = contents.files.iter().map(|file| &*file.path).collect();
    assert_eq!(paths, ["run", "tool.json", "lib/b.py"]);
    assert_eq!(contents.files[0].head, "#!/bin/sh\ncat");
}

#[test]
fn a_folder_that_cannot_be_bound_to_an_approval_is_refused() {
    let scene = Scene::new();
    scene.tool("lamp");
    let run = scene.path("lamp/run");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        scene.why("lamp"),
        "tools/lamp/run is not executable: chmod +x tools/lamp/run"
    );
    fs::remove_file(&run).unwrap();
    assert_eq!(scene.why("lamp"), "there is no executable tools/lamp/run");
    symlink("/bin/sh", &run).unwrap();
    assert_eq!(
        scene.why("lamp"),
        "tools/lamp: run is neither a file nor a folder"
    );
    fs::remove_file(&run).unwrap();
    scene.executable("lamp/run", "");
    let large = fs::File::create(scene.path("lamp/large")).unwrap();
    large.set_len(CUSTOM_BYTES_MAX).unwrap();
    assert_eq!(
        scene.why("lamp"),
        "tools/lamp: its files have more than 16 MB"
    );
    fs::remove_file(scene.path("lamp/large")).unwrap();
    for number in 0..10_000 {
        scene.put(&format!("lamp/{number}"), "");
    }
    assert_eq!(
        scene.why("lamp"),
        format!("tools/lamp: it has more than {CUSTOM_FILES_MAX} files and folders")
    );
}

#[test]
fn the_copy_is_what_was_hashed_or_there_is_none() {
    let scene = Scene::new();
    scene.tool("lamp");
    scene.put("lamp/lib/a.py", "1");
    let hash = scene.hash("lamp");
    let copies = Copies(scene.top.path().join("copies"));
    let keep = |hash: &str| copies.keep(&scene.workspace, "lamp", hash, &[]).unwrap();
    let copy = keep(&hash).unwrap();
    assert_eq!(fs::read(copy.join("lib/a.py")).unwrap(), b"1");
    let mode = |name: &str| fs::metadata(copy.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run"), mode("lib/a.py")), (0o500, 0o400));
    scene.put("lamp/lib/a.py", "2");
    assert_eq!(keep(&hash).unwrap(), copy, "it is still there");
    assert_eq!(keep(&"0".repeat(64)), None);
    symlink("a.py", scene.path("lamp/lib/link")).unwrap();
    copies.keep(&scene.workspace, "lamp", "1", &[]).unwrap_err();
    let left = fs::read_dir(&copies.0).unwrap().count();
    assert_eq!(left, 1, "nothing else is left");
}

#[test]
fn the_shell_keeps_output_errors_and_status_apart() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("it's a tool");
    let script = "#!/bin/sh\nread -r line; echo \"got $line\"; echo wrong >&2; echo more; exit 3\n";
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let line = with_errors(&quote(program.to_str().unwrap()), "MARK");
    let input = fs::File::create_new(folder.path().join("input")).unwrap();
    fs::write(folder.path().join("input"), "{}\n").unwrap();
    drop(input);
    let mut shell = std::process::Command::new("sh");
    let input = fs::File::open(folder.path().join("input")).unwrap();
    let output = shell.arg("-c").arg(line).stdin(input).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "got {}\nmore\n\nMARK\nwrong"
    );
    assert!(output.stderr.is_empty());
}
