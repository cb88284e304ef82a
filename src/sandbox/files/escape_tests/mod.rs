//! Every way out that we know of, tried with every operation, by both resolvers.
//!
//! Each attempt has to fail with the rule that the table names, show nothing of what is outside, and
//! leave all that is outside or protected exactly as it was.

mod places;
mod race;
mod scene;
mod table;

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};

use super::{Next, Places, Workspace};
use crate::base::error::{Error, Result};
use crate::config::schema::Tools;
use crate::sys::beneath::Resolver;

use super::WALK_DEPTH;
use places::Mount;
use scene::{CANARY, Scene};
use table::*;

const BOTH: [Resolver; 2] = [Resolver::Kernel, Resolver::Walk];

/// Does what a tool would do; what comes back is what the model would see.
fn perform(workspace: &Workspace, operation: Operation, path: &Path) -> Result<String> {
    let read = || -> Result<String> {
        let mut text = String::new();
        let mut file = workspace.open_read(path)?.take(1000);
        file.read_to_string(&mut text)
            .map_err(Error::io("read", path))?;
        Ok(text)
    };
    match operation {
        Look => read(),
        Write => workspace
            .write(path, b"overwritten")
            .map(|()| String::new()),
        Append => workspace.append(path, b"appended").map(|()| String::new()),
        Edit => {
            let text = read()?;
            let changed = workspace.write(path, text.replace('a', "b").as_bytes());
            changed.map(|()| text)
        }
        Remove => workspace.remove(path).map(|()| String::new()),
        List => {
            let mut seen = String::new();
            workspace.walk(path, &mut |found| {
                seen.push_str(&found.path.to_string_lossy());
                Next::Enter
            })?;
            Ok(seen)
        }
    }
}

fn end_of(error: &Error) -> End {
    let Error::Refused { why, .. } = error else {
        return Plain;
    };
    let rules = [
        ("outside the workspace.", Outside),
        ("off limits: it belongs to Peacrab", Hidden),
        ("read-only for tools", ReadOnly),
        ("a FIFO, socket or device", Special),
    ];
    let known = rules.iter().find(|(text, _)| why.starts_with(text));
    known.unwrap_or_else(|| panic!("an unknown rule: {why}")).1
}

#[test]
fn no_attempt_to_get_out_succeeds_or_touches_anything() {
    assert!(ATTEMPTS.len() >= 150, "the table shrank");
    let mut tried = 0;
    for resolver in BOTH {
        let scene = Scene::new();
        let workspace = scene.open(resolver);
        let before = scene.untouchable();
        assert!(before.len() > 15);
        for (text, operations, expected) in ATTEMPTS {
            let path = PathBuf::from(text.replace('@', scene.top.path().to_str().unwrap()));
            for operation in *operations {
                let what = format!("{operation:?} {text:?} by {resolver:?}");
                match perform(&workspace, *operation, &path) {
                    Ok(seen) => panic!("{what} succeeded: {seen}"),
                    Err(error) => {
                        // An edit of what does not exist fails at its reading already.
                        let reading = *operation == Edit || *operation == Remove;
                        let end = end_of(&error);
                        let is_absent = reading && *expected == ReadOnly && end == Plain;
                        assert!(end == *expected || is_absent, "{what}: {error}");
                        assert!(!error.to_string().contains(CANARY), "{what}: {error}");
                    }
                }
                assert_eq!(before, scene.untouchable(), "{what} changed something");
                tried += 1;
            }
        }
    }
    assert!(tried >= 800, "only {tried} attempts were made");
}

#[test]
fn names_that_no_text_can_hold_or_that_are_too_long_are_no_way_out() {
    for resolver in BOTH {
        let scene = Scene::new();
        let bytes = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        symlink(
            "../outside/secret.txt",
            scene.path("w").join(bytes(b"\xff")),
        )
        .unwrap();
        symlink("../outside", scene.path("w").join(bytes(b"\xfe\n"))).unwrap();
        let workspace = scene.open(resolver);
        let before = scene.untouchable();
        let attempts: [(OsString, End); 8] = [
            (bytes(b"\xff"), Outside),
            (bytes(b"\xfe\n/secret.txt"), Outside),
            (bytes(b"\xfe\n/\xff"), Outside),
            (bytes(b"a/\xf0\x28/../../../outside/\xff"), Plain),
            ("x".repeat(256).into(), Plain),
            ("x/".repeat(2048).into(), Plain),
            ("x/".repeat(100_000).into(), Plain),
            (
                format!("{}outside/secret.txt", "../".repeat(1300)).into(),
                Outside,
            ),
        ];
        for (path, expected) in &attempts {
            for operation in [Look, Edit, Remove, List] {
                let error = perform(&workspace, operation, Path::new(path)).unwrap_err();
                assert_eq!(end_of(&error), *expected, "{operation:?} {path:?}: {error}");
                assert!(error.to_string().len() < 5000);
            }
        }
        for path in ["x".repeat(256), "x/".repeat(2048)] {
            for operation in CREATES {
                let error = perform(&workspace, *operation, Path::new(&path)).unwrap_err();
                assert_eq!(end_of(&error), Plain, "{error}");
            }
        }
        assert_eq!(before, scene.untouchable());
    }
}

#[test]
fn what_leads_out_is_refused_in_one_and_the_same_words() {
    let scene = Scene::new();
    let workspace = scene.open(Resolver::Kernel);
    let mut texts: Vec<String> = [
        "../x",
        "/etc/passwd",
        "link-file",
        "hard",
        "/proc/version",
        "circle-1",
    ]
    .map(|path| match perform(&workspace, Look, Path::new(path)) {
        Err(Error::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    })
    .into();
    texts.dedup();
    let place = scene.path("w");
    assert_eq!(
        texts,
        ["outside the workspace. Add its folder to tools.allowedPaths to allow it"]
    );
    assert_eq!(
        workspace.rules(),
        format!(
            "Tools may use: workspace {}, /proc, /sys, {} (read only), {}/inside-docs (read only). '..', \
             links (hard ones too) and mounts that lead out of these folders are refused. Only the person \
             can change this.",
            place.display(),
            scene.path("docs").display(),
            place.display(),
        )
    );
}

/// Without this, a workspace that refuses everything would pass the table above.
#[test]
fn what_is_allowed_works() {
    for resolver in BOTH {
        let scene = Scene::new();
        symlink("a/../file.txt", scene.path("w/link-good")).unwrap();
        symlink("../w/file.txt", scene.path("w/a/link-bad")).unwrap();
        symlink("new.txt", scene.path("w/a/link-new")).unwrap();
        let workspace = scene.open(resolver);
        let text = |path: &str| perform(&workspace, Look, Path::new(path));
        let absolute = scene.path("w/file.txt");
        for path in [
            "file.txt",
            "./a/b/../../file.txt",
            "link-good",
            "AGENTS.md",
            "guarded/inner.txt",
            "inside-docs/guide.txt",
            absolute.to_str().unwrap(),
            scene.path("docs/guide.txt").to_str().unwrap(),
        ] {
            assert_eq!(text(path).unwrap(), "plain", "{path} by {resolver:?}");
        }
        perform(&workspace, Write, Path::new("new/deep/file")).unwrap();
        perform(&workspace, Append, Path::new("new/deep/file")).unwrap();
        perform(&workspace, Append, Path::new("new/other/file")).unwrap();
        perform(&workspace, Edit, Path::new("link-good")).unwrap();
        perform(&workspace, Write, Path::new("a/link-new")).unwrap();
        assert_eq!(text("new/deep/file").unwrap(), "overwrittenappended");
        assert_eq!(text("new/other/file").unwrap(), "appended");
        assert_eq!(text("file.txt").unwrap(), "plbin");
        assert_eq!(text("a/new.txt").unwrap(), "overwritten");
        let links = ["w/link-good", "w/a/link-new"];
        assert!(
            links.iter().all(|link| scene.path(link).is_symlink()),
            "links stay links"
        );
        perform(&workspace, Remove, Path::new("link-good")).unwrap();
        assert!(text("file.txt").is_err());
    }
}

#[test]
fn a_walk_stays_inside_and_shows_nothing_hidden() {
    for resolver in BOTH {
        let scene = Scene::new();
        let name = OsStr::from_bytes(b"not-utf8-\xff");
        std::fs::write(scene.path("w/a").join(name), "x").unwrap();
        let workspace = scene.open(resolver);
        let mut seen = Vec::new();
        let mut opened = 0;
        let mut refused = 0;
        let walked = workspace.walk(Path::new(""), &mut |found| {
            seen.push(found.path.to_owned());
            let mut text = String::new();
            match found.open() {
                Ok(mut file) => {
                    opened += file.read_to_string(&mut text).map_or(0, |_| 1);
                }
                Err(_) => refused += 1,
            }
            assert!(!text.contains(CANARY), "{:?}", found.path);
            Next::Enter
        });
        assert_eq!(walked.unwrap(), super::Walked::default());
        assert!(seen.is_sorted());
        assert!(seen.contains(&PathBuf::from("guarded/deep/inner.txt")));
        assert!(seen.contains(&Path::new("a").join(name)));
        assert!(seen.contains(&PathBuf::from("link-folder")));
        assert!(!seen.contains(&PathBuf::from("link-folder/secret.txt")));
        assert!(!seen.iter().any(|path| path.starts_with(".peacrab")));
        assert_eq!(opened, 6, "the files of the scene that are ours");
        assert!(
            refused > 20,
            "links, folders, hard links, the FIFO and the socket"
        );
    }
}

#[test]
fn a_walk_ends_at_its_depth_and_says_so() {
    let scene = Scene::new();
    let deep = "d/".repeat(WALK_DEPTH + 1);
    std::fs::create_dir_all(scene.path("w/b").join(&deep)).unwrap();
    let workspace = scene.open(Resolver::Kernel);
    let mut seen = 0;
    let walked = workspace.walk(Path::new("b"), &mut |_| {
        seen += 1;
        Next::Enter
    });
    assert!(walked.unwrap().cut);
    assert_eq!(seen, WALK_DEPTH);
}

#[test]
fn a_protected_place_stays_protected_when_it_is_moved_replaced_or_made_later() {
    for resolver in BOTH {
        let scene = Scene::new();
        let workspace = scene.open(resolver);
        let end = |operation, path: &str| {
            let outcome = perform(&workspace, operation, Path::new(path));
            outcome.map_err(|error| end_of(&error))
        };
        // Moved: it is told by its inode.
        std::fs::rename(scene.path("w/.peacrab"), scene.path("w/a/moved")).unwrap();
        std::fs::rename(scene.path("w/AGENTS.md"), scene.path("w/a/other.md")).unwrap();
        assert_eq!(end(Look, "a/moved/config.json"), Err(Hidden));
        assert_eq!(end(Write, "a/moved/new.json"), Err(Hidden));
        assert_eq!(end(List, "a/moved/sessions"), Err(Hidden));
        assert_eq!(end(Write, "a/other.md"), Err(ReadOnly));
        // Replaced: it is told by its name.
        std::fs::create_dir(scene.path("w/.peacrab")).unwrap();
        std::fs::write(scene.path("w/.peacrab/config.json"), CANARY).unwrap();
        std::fs::write(scene.path("w/AGENTS.md"), "new").unwrap();
        assert_eq!(end(Look, ".peacrab/config.json"), Err(Hidden));
        assert_eq!(end(Append, "AGENTS.md"), Err(ReadOnly));
        // Made later, and reached by a link to its folder.
        std::fs::create_dir_all(scene.path("w/later/deep")).unwrap();
        std::fs::write(scene.path("w/later/deep/file"), "plain").unwrap();
        symlink("later", scene.path("w/sooner")).unwrap();
        assert_eq!(end(Write, "sooner/deep/file"), Err(ReadOnly));
        assert_eq!(end(Look, "sooner/deep/file"), Ok("plain".to_owned()));
    }
}

#[test]
fn without_the_restriction_only_the_protected_stays_closed() {
    for resolver in BOTH {
        let scene = Scene::new();
        let (workspace, home) = (scene.path("w/.peacrab/own"), scene.path("w/.peacrab"));
        std::fs::create_dir(&workspace).unwrap();
        let config = home.join("config.json");
        let places = Places {
            workspace: &workspace,
            hidden: &[&home, &config],
            user_home: None,
        };
        let tools = Tools {
            restrict_to_workspace: false,
            protected_paths: vec![scene.path("docs").to_str().unwrap().to_owned()],
            ..Tools::default()
        };
        let workspace = Workspace::open(&places, &tools, resolver).unwrap();
        let end = |operation, path: &str| {
            let outcome = perform(&workspace, operation, &scene.path("w").join(path));
            outcome.map(drop).map_err(|error| end_of(&error))
        };
        for allowed in [
            "../outside/secret.txt",
            "hard",
            "link-file-absolute",
            "link-folder-absolute/new",
        ] {
            assert_eq!(end(Append, allowed), Ok(()), "{allowed} by {resolver:?}");
        }
        assert_eq!(end(Look, "../docs/guide.txt"), Ok(()));
        assert_eq!(end(Write, "../docs/guide.txt"), Err(ReadOnly));
        for hidden in [
            ".peacrab/config.json",
            "link-home/sessions/a.jsonl",
            "hard-config",
        ] {
            assert_eq!(end(Look, hidden), Err(Hidden), "{hidden} by {resolver:?}");
            assert_eq!(end(Write, hidden), Err(Hidden), "{hidden} by {resolver:?}");
        }
        // The workspace within the home is exempt, by its own path and through a link from outside.
        symlink(".peacrab/own", scene.path("w/link-own")).unwrap();
        assert_eq!(end(Write, ".peacrab/own/file"), Ok(()));
        assert_eq!(end(Look, "link-own/file"), Ok(()));
        let relative = perform(&workspace, Look, Path::new("../../../outside/secret.txt"));
        assert!(
            relative.unwrap().contains(CANARY),
            "'..' may lead to any other folder"
        );
        assert_eq!(end(Look, "/proc/self/environ"), Err(Outside));
        assert_eq!(end(Write, "fifo"), Err(Special));
    }
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_one_without_the_right_to_write_is_kept() {
    let scene = Scene::new();
    let workspace = scene.open(Resolver::Kernel);
    let path = scene.path("w/file.txt");
    let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    set(0o751);
    workspace.write(Path::new("file.txt"), b"new").unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    set(0o444);
    let error = workspace
        .write(Path::new("file.txt"), b"newer")
        .unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

/// Devices need root; who is not finds the same check in the attempts on the FIFO and the socket.
#[test]
fn a_device_is_not_opened() {
    let scene = Scene::new();
    let null = rustix::fs::makedev(1, 3);
    let mode = Mode::from_raw_mode(0o666);
    let kind = FileType::CharacterDevice;
    if rustix::fs::mknodat(CWD, scene.path("w/device"), kind, mode, null).is_err() {
        return;
    }
    for resolver in BOTH {
        let workspace = scene.open(resolver);
        for operation in ON_FILES {
            let error = perform(&workspace, *operation, Path::new("device")).unwrap_err();
            assert_eq!(end_of(&error), Special, "{operation:?}: {error}");
        }
        let error = perform(&workspace, List, Path::new("device")).unwrap_err();
        assert_eq!(end_of(&error), Plain, "{error}");
    }
}

/// Mounts need root; who is not finds the same check in the attempts on /proc above.
#[test]
fn a_mount_of_proc_inside_is_no_way_out() {
    let scene = Scene::new();
    let place = scene.path("w/a/b");
    let Some(_mount) = Mount::bind(Path::new("/proc"), &place) else {
        return;
    };
    for resolver in BOTH {
        let workspace = scene.open(resolver);
        let by_magic = format!(
            "a/b/self/root{}",
            scene.path("outside/secret.txt").display()
        );
        let attempts: [(&str, &[table::Operation]); 5] = [
            (&by_magic, ON_FILES),
            ("a/b/self/environ", LOOKS),
            ("a/b/self/cwd", LOOKS),
            ("a/b/version", LOOKS),
            ("a/b/self/fd/0", LOOKS),
        ];
        for (path, operations) in attempts {
            for operation in operations {
                let error = perform(&workspace, *operation, Path::new(path)).unwrap_err();
                assert_eq!(end_of(&error), Outside, "{operation:?} {path}: {error}");
            }
        }
        let error = perform(&workspace, List, Path::new("a/b")).unwrap_err();
        assert_eq!(end_of(&error), Outside);
        let seen = perform(&workspace, List, Path::new("a")).unwrap();
        assert!(!seen.contains("self"), "{seen}");
    }
}
