//! Places of folders: a home around the workspace, within visible folders, moved, mounted
//! elsewhere or reached by a link. Each in every mode that the machine supports.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use peacrab::base::cancel::Cancel;
use peacrab::sandbox::confine::{Exec, Settings, ShellCommand};

use super::feature;
use super::world::{CANARY, GOT_OUT, World};
use super::{chosen_modes, named, works};

/// The modes that this machine supports, with changed settings.
pub fn modes(world: &World, change: impl Fn(&mut Settings)) -> Vec<(&'static str, Exec)> {
    let mut found = Vec::new();
    for (mode, choice, version) in chosen_modes() {
        let mut settings = world.settings(choice, true);
        // With Landlock alone, folders that contain a protected path cannot get new entries.
        settings.protect.clear();
        change(&mut settings);
        let exec = Exec::new(settings).unwrap().with_landlock_at_most(version);
        if works(&exec, choice) {
            found.push((named(mode, &exec), exec));
        }
    }
    assert!(!found.is_empty(), "no mode works here");
    found
}

/// The output of a command, or why it was not run.
pub fn output(exec: &Exec, folder: &Path, line: &str) -> String {
    let command = ShellCommand {
        line,
        folder,
        inode: None,
        unsandboxed: false,
    };
    match exec.run(
        &command,
        Duration::from_secs(5),
        &Cancel::new(),
        &mut |_| (),
    ) {
        Ok(outcome) => outcome.output.text(),
        Err(error) => error.to_string(),
    }
}

pub fn check(mode: &str, command: &str, output: &str) {
    assert!(
        !output.contains(CANARY) && !output.contains(GOT_OUT),
        "{mode}: {command}: {output}"
    );
}

/// A setting that makes more than the workspace visible, with its name.
type Widening = (&'static str, fn(&World, &mut Settings));

/// The settings with which the home is in a visible folder.
const WIDE: [Widening; 3] = [
    ("everything", |_, settings| settings.whole = true),
    ("the folder above", |world, settings| {
        settings.write.push(world.at("home"));
    }),
    ("the folder above that", |world, settings| {
        settings.write = vec![world.at("")];
    }),
];

#[test]
fn what_is_made_in_the_home_later_is_as_hidden_as_the_rest() {
    let world = World::new();
    let home = world.at("home/.peacrab");
    for (name, widen) in WIDE {
        for (mode, exec) in modes(&world, |settings| widen(&world, settings)) {
            let mode = format!("{mode}, {name}");
            let later = home.join("later");
            fs::create_dir(&later).unwrap();
            fs::write(later.join("secret"), CANARY).unwrap();
            fs::write(home.join("inbox.jsonl"), CANARY).unwrap();
            for command in [
                "cat {home}/.peacrab/later/secret {home}/.peacrab/inbox.jsonl ../inbox.jsonl",
                "ls -a .. | grep -e later -e json && echo GOT-OUT",
                "ls {home}/.peacrab/later && echo GOT-OUT",
                "echo x > {home}/.peacrab/later/new && echo GOT-OUT",
                "echo x > {home}/.peacrab/new && echo GOT-OUT",
                "mkdir -p {home}/.peacrab/other/deep && echo GOT-OUT",
                "echo forged > {home}/.peacrab/state/approvals.json && echo GOT-OUT",
                "rm -rf {home}/.peacrab/later",
                "ln {home}/.peacrab/later/secret hard && cat hard",
                "cat {home}/.peacrab/config.json /proc/self/root{home}/.peacrab/config.json",
                "cp -r {home}/.peacrab copy 2>/dev/null; cat copy/config.json copy/later/secret",
                "umount {home}/.peacrab && cat ../config.json",
            ] {
                let said = world.run(&exec, command).output.text();
                // If everything is visible, Landlock alone shows that a name exists.
                let told = command.starts_with("ls") && mode.starts_with("Landlock");
                assert!(told || !said.contains(GOT_OUT), "{mode}: {command}: {said}");
                assert!(!said.contains(CANARY), "{mode}: {command}: {said}");
                world.clean();
            }
            assert_eq!(fs::read(later.join("secret")).unwrap(), CANARY.as_bytes());
            assert_eq!(fs::read_dir(&later).unwrap().count(), 1, "{mode}");
            assert!(!home.join("new").exists() && !home.join("other").exists());
            let approvals = fs::read_to_string(home.join("state/approvals.json")).unwrap();
            assert!(approvals.contains(CANARY), "{mode}");
            // The workspace, and folders beside the home, stay allowed.
            let text = |command: &str| world.run(&exec, command).output.text();
            assert!(
                text("cat note.txt && echo x > new && cat {workspace}/new")
                    .contains("note\nsecond line\nx"),
                "{mode}"
            );
            assert!(
                text("cat {home}/.ssh/id_ed25519").contains(CANARY),
                "{mode}"
            );
            assert!(
                text("echo y > {home}/.ssh/y && cat {home}/.ssh/y; rm {home}/.ssh/y").contains('y'),
                "{mode}"
            );
            world.clean();
            fs::remove_dir_all(&later).unwrap();
            fs::remove_file(home.join("inbox.jsonl")).unwrap();
        }
    }
}

#[test]
fn the_home_cannot_be_moved_away() {
    let world = World::new();
    for (name, widen) in WIDE {
        for (mode, exec) in modes(&world, |settings| widen(&world, settings)) {
            let mode = format!("{mode}, {name}");
            for command in [
                "mv {home}/.peacrab {home}/moved && echo GOT-OUT",
                "mv {home} {home}-moved && echo GOT-OUT",
                "mv .. ../../moved && echo GOT-OUT",
                "perl -e 'rename(\"{home}\", \"{home}-moved\") and print \"GOT-OUT\"'",
                "mkdir {home}/e; perl -e 'syscall(316, -100, \"{home}/.peacrab\", -100, \"{home}/e\", 2) == 0 and print \"GOT-OUT\"'; rmdir {home}/e",
                "rm -rf {home}/.peacrab/state {home}/.peacrab/*.json",
                "rmdir {home}/.peacrab && echo GOT-OUT",
                "cat {home}/moved/config.json {home}-moved/.peacrab/config.json",
            ] {
                check(&mode, command, &world.run(&exec, command).output.text());
            }
            for path in ["config.json", "state/approvals.json", "workspace/sub"] {
                assert!(
                    world.at("home/.peacrab").join(path).exists(),
                    "{mode}: {path}"
                );
            }
        }
    }
}

#[test]
fn with_a_home_that_somebody_has_moved_no_command_runs() {
    let world = World::new();
    let (home, moved) = (world.at("home/.peacrab"), world.at("home/moved"));
    for (mode, exec) in modes(&world, |settings| settings.whole = true) {
        fs::rename(&home, &moved).unwrap();
        // Another folder at this path is not the home.
        for make in [
            |_: &Path| Ok(()),
            |home: &Path| fs::create_dir_all(home.join("workspace")),
        ] {
            make(&home).unwrap();
            let said = output(&exec, Path::new("/"), "echo GOT-OUT");
            assert!(said.contains("no longer at"), "{mode}: {said}");
        }
        fs::remove_dir_all(&home).unwrap();
        symlink(&moved, &home).unwrap();
        let said = output(&exec, Path::new("/"), "echo GOT-OUT");
        assert!(said.contains("no longer at"), "{mode}: {said}");
        fs::remove_file(&home).unwrap();
        fs::rename(&moved, &home).unwrap();
        let said = world.run(&exec, "echo it is back").output.text();
        assert!(said.contains("it is back"), "{mode}: {said}");
    }
}

/// Only root may write there.
#[test]
fn a_home_among_the_programs_is_hidden() {
    let world = World::new();
    if !rustix::process::getuid().is_root() {
        return;
    }
    for above in ["/opt", "/usr/lib"] {
        let folder = tempfile::tempdir_in(above).unwrap();
        let home = folder.path().join("home");
        let workspace = home.join("workspace");
        fs::create_dir_all(&workspace).unwrap();
        fs::write(home.join("config.json"), CANARY).unwrap();
        let change = |settings: &mut Settings| {
            settings.workspace.clone_from(&workspace);
            settings.home = Some(home.clone());
        };
        for (mode, exec) in modes(&world, change) {
            fs::create_dir(home.join("sessions")).unwrap();
            fs::write(home.join("sessions/a"), CANARY).unwrap();
            let home_text = home.display().to_string();
            for command in [
                format!("cat {home_text}/config.json {home_text}/sessions/a ../config.json"),
                format!("cat {}/config.json", home_text.trim_start_matches("/usr")),
                format!("ls {home_text} | grep -e config -e sessions && echo GOT-OUT"),
                format!("echo x > {home_text}/sessions/b && echo GOT-OUT"),
            ] {
                check(mode, &command, &output(&exec, &workspace, &command));
            }
            let said = output(
                &exec,
                &workspace,
                "echo works > x && cat x && ls /usr/bin | head -3; ls -d /usr/lib",
            );
            assert!(
                said.contains("works") && said.contains("/usr/lib"),
                "{mode}: {said}"
            );
            fs::remove_dir_all(home.join("sessions")).unwrap();
        }
    }
}

#[test]
fn a_folder_of_the_policy_that_is_swapped_for_a_link_gets_nothing() {
    let world = World::new();
    for inner in ["inner", "deep/inner"] {
        let path = world.at("allowed").join(inner);
        fs::create_dir_all(&path).unwrap();
        for writes in [true, false] {
            let change = |settings: &mut Settings| match writes {
                true => settings.write.push(path.clone()),
                false => settings.read.push(path.clone()),
            };
            for (mode, exec) in modes(&world, change) {
                let isolation = exec.isolation().unwrap();
                // A command that may write to the parent folder could do this.
                fs::rename(&path, world.at("allowed/aside")).unwrap();
                symlink(world.at("outside"), &path).unwrap();
                for command in [
                    world.fill("cat {secret}"),
                    world.fill("echo x > {outside}/new && echo GOT-OUT"),
                    format!("cat {0}/secret; ls {0}/ && echo GOT-OUT", path.display()),
                ] {
                    check(mode, &command, &output(&exec, &world.workspace(), &command));
                }
                assert!(!world.at("outside/new").exists(), "{mode}");
                // The isolation is not weaker because of it.
                assert_eq!(exec.isolation().unwrap(), isolation, "{mode}");
                fs::remove_file(&path).unwrap();
                fs::rename(world.at("allowed/aside"), &path).unwrap();
            }
        }
    }
}

/// A read-only folder in a writable one, and a writable one in that: the closest counts.
#[test]
fn what_is_said_of_the_closest_folder_counts() {
    let world = World::new();
    let docs = world.at("allowed/docs");
    fs::create_dir_all(docs.join("out")).unwrap();
    for (protect, expected) in [(false, true), (true, false)] {
        let change = |settings: &mut Settings| {
            settings.write.push(docs.join("out"));
            match protect {
                true => settings.protect.push(docs.clone()),
                false => settings.read.push(docs.clone()),
            }
        };
        for (mode, exec) in modes(&world, change) {
            let command = "echo x > {allowed}/docs/new && echo GOT-OUT";
            check(mode, command, &world.run(&exec, command).output.text());
            let command = "echo through > {allowed}/docs/out/x && cat {allowed}/docs/out/x";
            let said = world.run(&exec, command).output.text();
            assert_eq!(said.contains("through\n"), expected, "{mode}: {said}");
        }
    }
}

#[test]
fn a_protected_path_that_is_made_later_is_protected_from_the_next_command_on() {
    let world = World::new();
    let later = world.at("allowed/later");
    for (mode, exec) in modes(&world, |settings| settings.protect = vec![later.clone()]) {
        let said = world.run(&exec, "echo made > {allowed}/later && echo done");
        assert!(said.output.text().contains("done"), "{mode}");
        for command in [
            "echo x > {allowed}/later && echo GOT-OUT",
            "rm -f {allowed}/later && echo GOT-OUT",
            "mv {allowed}/later {allowed}/other && echo GOT-OUT",
        ] {
            check(mode, command, &world.run(&exec, command).output.text());
        }
        assert_eq!(fs::read_to_string(&later).unwrap(), "made\n", "{mode}");
        fs::remove_file(&later).unwrap();
    }
}

/// A mount of the test; dropping this removes it.
struct Mount(PathBuf);

impl Mount {
    fn bind(source: &Path, place: &Path) -> std::io::Result<Self> {
        let output = Command::new("mount")
            .arg("--bind")
            .args([source, place])
            .output()?;
        match output.status.success() {
            true => Ok(Self(place.to_owned())),
            false => Err(std::io::Error::other(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )),
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Only root can mount.
#[test]
fn a_mount_in_the_workspace_does_not_lead_to_the_home() {
    let world = World::new();
    if !rustix::process::getuid().is_root() {
        return;
    }
    let home = world.at("home/.peacrab");
    let places =
        ["state", "above", "itself", "file", "guard"].map(|name| world.at("allowed").join(name));
    for place in &places {
        match place.ends_with("file") {
            true => fs::write(place, "").unwrap(),
            false => fs::create_dir(place).unwrap(),
        }
    }
    let guarded = world.workspace().join("sub/deep");
    let sources = [
        home.join("state"),
        world.at("home"),
        home.clone(),
        home.join("config.json"),
        guarded.clone(),
    ];
    let mut mounts = Vec::new();
    for (source, place) in sources.iter().zip(&places) {
        let mount = Mount::bind(source, place);
        if !feature::has("mounts", mount.as_ref().map(drop)) {
            return;
        }
        mounts.extend(mount);
    }
    for (mode, exec) in modes(&world, |settings| {
        settings.protect = vec![guarded.join("guarded")]
    }) {
        for command in [
            "cat {allowed}/state/approvals.json",
            "ls {allowed}/state/approvals.json && echo GOT-OUT",
            "echo x > {allowed}/state/approvals.json && echo GOT-OUT",
            "echo x > {allowed}/state/new && echo GOT-OUT",
            "cat {allowed}/above/.peacrab/config.json",
            "echo x > {allowed}/above/.peacrab/state/approvals.json && echo GOT-OUT",
            "cat {allowed}/itself/config.json {allowed}/itself/sessions/a.jsonl",
            "ls {allowed}/itself | grep -e config -e sessions && echo GOT-OUT",
            "cat {allowed}/file",
            "echo x > {allowed}/file && echo GOT-OUT",
            "echo x > {allowed}/guard/guarded && echo GOT-OUT",
        ] {
            let said = world.run(&exec, command).output.text();
            // Landlock alone shows that a name exists.
            let told = command.starts_with("ls") && mode.starts_with("Landlock");
            assert!(told || !said.contains(GOT_OUT), "{mode}: {command}: {said}");
            assert!(!said.contains(CANARY), "{mode}: {command}: {said}");
        }
        let said = world.run(&exec, "cat note.txt").output.text();
        assert!(said.contains("a note"), "{mode}: {said}");
    }
    drop(mounts);
}

#[test]
fn a_home_that_is_a_link_is_hidden_and_its_workspace_is_used() {
    let world = World::new();
    let link = world.at("link");
    symlink(world.at("home/.peacrab"), &link).unwrap();
    let change = |settings: &mut Settings| {
        settings.workspace = link.join("workspace");
        settings.home = Some(link.clone());
    };
    for (mode, exec) in modes(&world, change) {
        let said = world
            .run(&exec, "cat note.txt && echo x > new && cat new")
            .output
            .text();
        assert!(said.contains("second line\nx"), "{mode}: {said}");
        let command = "cat {home}/.peacrab/config.json ../config.json";
        check(mode, command, &world.run(&exec, command).output.text());
        let by_link = format!("cat {}/config.json", link.display());
        check(mode, &by_link, &output(&exec, &world.workspace(), &by_link));
        let rows = exec.self_test(&link).unwrap();
        assert!(rows.len() >= 18, "{rows:?}");
        assert!(rows.iter().all(|row| row.held), "{mode}: {rows:?}");
        world.clean();
    }
}

/// Folders for temporary files, which a view of its own has itself, with names that need care.
#[test]
fn a_workspace_is_used_wherever_it_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let names = [
        "plain",
        "with space",
        "new\nline",
        "quote'\"$x",
        "back\\040slash",
    ]
    .map(OsStr::new);
    let odd = OsStr::from_bytes(b"\xff\xfe");
    for above in [
        "/var/tmp", "/tmp", "/dev/shm", "/run", "/srv", "/mnt", "/var/lib",
    ] {
        let Ok(top) = tempfile::tempdir_in(above) else {
            // Only root may write to some.
            continue;
        };
        let top = top.path();
        for name in names.iter().copied().chain([odd]) {
            let (workspace, beside) = (top.join(name), top.join("beside"));
            fs::create_dir_all(&workspace).unwrap();
            fs::create_dir_all(&beside).unwrap();
            fs::write(beside.join("read"), "what is read\n").unwrap();
            fs::write(top.join("secret"), CANARY).unwrap();
            let change = |settings: &mut Settings| {
                settings.workspace.clone_from(&workspace);
                settings.write = Vec::new();
                settings.read = vec![beside.clone()];
            };
            for (mode, exec) in modes(&world, change) {
                let place = format!("{mode}, {}", workspace.display());
                let line = format!(
                    "echo works > made && cat made {0}/read; echo y > {0}/new && echo GOT-OUT; cat ../secret",
                    beside.display()
                );
                let said = output(&exec, &workspace, &line);
                assert!(said.contains("works\nwhat is read\n"), "{place}: {said}");
                check(&place, &line, &said);
                assert_eq!(
                    fs::read_to_string(workspace.join("made")).unwrap(),
                    "works\n",
                    "{place}"
                );
                if exec.isolation().unwrap().own_view() {
                    let said = output(&exec, &workspace, "echo same > /var/tmp/x && cat /tmp/x");
                    assert!(said.contains("same"), "{place}: {said}");
                }
            }
        }
    }
}

/// The folders themselves, as folders that commands get.
#[test]
fn folders_for_temporary_files_can_be_given_to_commands() {
    let world = World::new();
    for folder in ["/var/tmp", "/tmp", "/dev/shm"] {
        let file = tempfile::NamedTempFile::new_in(folder).unwrap();
        fs::write(file.path(), "there").unwrap();
        for writes in [true, false] {
            let change = |settings: &mut Settings| match writes {
                true => settings.write.push(folder.into()),
                false => settings.read.push(folder.into()),
            };
            for (mode, exec) in modes(&world, change) {
                let line = format!("cat {}", file.path().display());
                let said = world.run(&exec, &line).output.text();
                assert!(said.contains("there"), "{mode}, {folder}, {writes}: {said}");
            }
        }
    }
}

/// Only root can mount.
#[test]
fn a_workspace_that_is_a_mount_is_used() {
    let world = World::new();
    if !rustix::process::getuid().is_root() {
        return;
    }
    let (source, workspace) = (world.at("source"), world.at("mounted"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&workspace).unwrap();
    let mount = Mount::bind(&source, &workspace);
    if !feature::has("mounts", mount.as_ref().map(drop)) {
        return;
    }
    for (mode, exec) in modes(&world, |settings| settings.workspace.clone_from(&workspace)) {
        let said = output(&exec, &workspace, "echo works > made && cat made");
        assert!(said.contains("works"), "{mode}: {said}");
        fs::remove_file(source.join("made")).unwrap();
    }
}
