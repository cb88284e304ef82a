//! Folders that are mounted elsewhere, moved, made later or reached by a link of the configuration.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::scene::{CANARY, Scene};
use super::table::*;
use super::{BOTH, end_of, perform};
use crate::base::error::{Error, Result};
use crate::config::schema::Tools;
use crate::sandbox::files::{Places, Workspace};
use crate::sys::beneath::Resolver;

/// Mounts need root; who is not finds the same function in the test of `sys::mounts`.
#[test]
fn a_mount_inside_does_not_lead_to_what_is_protected() {
    let scene = Scene::new();
    let mut mounts = Vec::new();
    for (source, place) in [
        ("w/.peacrab/sessions", "m-sessions"),
        ("w/.peacrab", "a/m-home"),
        ("", "m-top"),
        ("w/.peacrab/sessions/a.jsonl", "m-config"),
        ("w/guarded/deep", "m-deep"),
        ("w/AGENTS.md", "a/m-agents"),
        ("w/b", "m-other"),
    ] {
        let (source, place) = (scene.path(source), scene.path("w").join(place));
        if source.is_file() {
            std::fs::write(&place, "").unwrap()
        } else {
            std::fs::create_dir_all(&source).unwrap();
            std::fs::create_dir(&place).unwrap();
        }
        let Some(mount) = Mount::bind(&source, &place) else {
            return;
        };
        mounts.push(mount);
    }
    for resolver in BOTH {
        let workspace = scene.open(resolver);
        let before = scene.untouchable();
        let attempts: [(&str, &[Operation], End); 18] = [
            ("m-sessions", &[List], Hidden),
            ("m-sessions/a.jsonl", ALL, Hidden),
            ("m-sessions/new", CREATES, Hidden),
            ("m-sessions/new/deep/new", CREATES, Hidden),
            ("m-sessions/../m-sessions/a.jsonl", ALL, Hidden),
            ("m-sessions/..", &[Write], Plain),
            ("a/m-home", &[List], Hidden),
            ("a/m-home/config.json", ALL, Hidden),
            ("a/m-home/sessions/a.jsonl", ALL, Hidden),
            ("a/m-home/new", CREATES, Hidden),
            ("m-top/w/.peacrab/config.json", ALL, Hidden),
            ("m-top/w/.peacrab/sessions/a.jsonl", ALL, Hidden),
            ("m-top/w/AGENTS.md", CHANGES, ReadOnly),
            ("m-top/w/guarded/inner.txt", CHANGES, ReadOnly),
            ("m-config", &[Look, Append, Edit], Hidden),
            ("m-deep/inner.txt", CHANGES, ReadOnly),
            ("m-deep/new", CREATES, ReadOnly),
            ("a/m-agents", CHANGES, ReadOnly),
        ];
        for (path, operations, expected) in attempts {
            for operation in operations {
                let what = format!("{operation:?} {path} by {resolver:?}");
                match perform(&workspace, *operation, Path::new(path)) {
                    Ok(seen) => panic!("{what} succeeded: {seen}"),
                    Err(error) => assert_eq!(end_of(&error), expected, "{what}: {error}"),
                }
                assert_eq!(before, scene.untouchable(), "{what} changed something");
            }
        }
        for folder in ["", "a", "m-top"] {
            let seen = perform(&workspace, List, Path::new(folder)).unwrap();
            for hidden in ["a.jsonl", "config.json"] {
                assert!(!seen.contains(hidden), "{folder}: {seen}");
            }
        }
        // A mount of what is not protected is as good as a folder.
        perform(&workspace, Append, Path::new("m-other/file")).unwrap();
        assert_eq!(
            perform(&workspace, Look, Path::new("b/file")).unwrap(),
            "appended"
        );
        assert_eq!(
            perform(&workspace, Look, Path::new("m-deep/inner.txt")).unwrap(),
            "plain"
        );
        perform(&workspace, Remove, Path::new("m-other/file")).unwrap();
    }
}

/// A workspace in a home, with what the configuration says beside it.
fn open(home: &Path, tools: Tools, resolver: Resolver) -> Result<Workspace> {
    let places = Places {
        workspace: &home.join("workspace"),
        hidden: &[home],
        user_home: None,
    };
    Workspace::open(&places, &tools, resolver)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_mount_of_the_home_is_not_given_to_tools() {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    for folder in ["home/workspace", "home/sessions/deep", "seen", "wide/m"] {
        std::fs::create_dir_all(top.path().join(folder)).unwrap();
    }
    std::fs::write(home.join("config.json"), CANARY).unwrap();
    let seen = top.path().join("seen");
    let Some(_mount) = Mount::bind(&home.join("sessions"), &seen) else {
        return;
    };
    for allowed in [seen.clone(), seen.join("deep")] {
        let tools = Tools {
            allowed_paths: vec![text(&allowed)],
            ..Tools::default()
        };
        let error = open(&home, tools, Resolver::Kernel).unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{error}");
    }
    // The home is seen within an allowed folder that it does not lie in.
    let Some(_mount) = Mount::bind(top.path(), &top.path().join("wide/m")) else {
        return;
    };
    for resolver in BOTH {
        let tools = Tools {
            allowed_paths: vec![text(&top.path().join("wide"))],
            ..Tools::default()
        };
        let workspace = open(&home, tools, resolver).unwrap();
        for path in [
            "m/home/config.json",
            "m/home/new",
            "m/seen/new",
            "m/home/sessions/new",
        ] {
            let path = top.path().join("wide").join(path);
            for operation in [Look, Append, Write] {
                let end = perform(&workspace, operation, &path).map_err(|error| end_of(&error));
                let is_seen = path.starts_with(top.path().join("wide/m/seen"));
                // The mount is not recursive: there it is the folder below the other mount.
                assert!(
                    is_seen || end == Err(Hidden),
                    "{operation:?} {}: {end:?}",
                    path.display()
                );
            }
        }
        perform(&workspace, Write, &top.path().join("wide/new")).unwrap();
    }
}

#[test]
fn what_is_made_in_the_home_later_or_after_it_was_moved_is_hidden() {
    for (wide, resolver) in [true, false].into_iter().zip(BOTH) {
        let top = tempfile::tempdir().unwrap();
        let (home, moved) = (top.path().join("home"), top.path().join("moved"));
        std::fs::create_dir_all(home.join("workspace")).unwrap();
        let tools = match wide {
            true => Tools {
                restrict_to_workspace: false,
                ..Tools::default()
            },
            false => Tools {
                allowed_paths: vec![text(top.path())],
                ..Tools::default()
            },
        };
        let workspace = open(&home, tools, resolver).unwrap();
        std::fs::create_dir(home.join("state")).unwrap();
        std::fs::write(home.join("state/approvals.json"), CANARY).unwrap();
        let end = |operation, path: PathBuf| {
            perform(&workspace, operation, &path).map_err(|error| end_of(&error))
        };
        let paths = [
            "state/approvals.json",
            "state/new",
            "new",
            "new/deep/new",
            "workspace/../new",
        ];
        for path in paths {
            for operation in CREATES {
                assert_eq!(end(*operation, home.join(path)), Err(Hidden), "{path}");
            }
        }
        assert_eq!(end(Look, home.join("state/approvals.json")), Err(Hidden));
        assert_eq!(end(List, home.clone()), Err(Hidden));
        assert!(end(Write, home.join("workspace/new")).is_ok());
        std::fs::rename(&home, &moved).unwrap();
        for path in paths {
            assert_eq!(end(Write, moved.join(path)), Err(Hidden), "{path}");
        }
        assert!(
            end(Write, home.join("state/x")).is_err(),
            "the place of the home stays closed"
        );
        assert!(end(Write, top.path().join("beside")).is_ok());
    }
}

#[test]
fn links_of_the_configuration_are_followed_where_tools_could_not_have_made_them() {
    for resolver in BOTH {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["home/workspace", "far", "outside"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("far/file"), "plain").unwrap();
        std::fs::write(at("outside/secret"), CANARY).unwrap();
        symlink(at("far"), at("near")).unwrap();
        symlink(at("outside"), at("home/workspace/docs")).unwrap();
        symlink(at("home"), at("link-home")).unwrap();
        let tools = Tools {
            allowed_paths: vec![format!("{}//", at("near").display())],
            read_only_paths: vec!["docs".to_owned(), text(&at("outside/../none"))],
            ..Tools::default()
        };
        let workspace = open(&at("link-home"), tools, resolver).unwrap();
        for path in ["near/file", "far/file", "near//./file"] {
            assert_eq!(
                perform(&workspace, Look, &at(path)).unwrap(),
                "plain",
                "{path}"
            );
        }
        for path in [
            "docs/secret",
            "link-home/workspace/docs/secret",
            "outside/secret",
        ] {
            let error = perform(&workspace, Look, &at("home/workspace").join(path)).unwrap_err();
            assert_ne!(end_of(&error), Hidden, "{error}");
            let error = perform(&workspace, Look, &at(path)).unwrap_err();
            assert_eq!(end_of(&error), Outside, "{error}");
        }
        assert!(
            workspace
                .folders()
                .contains("docs (not used: reached through a link"),
            "{}",
            workspace.folders()
        );
        // The home is a link; the workspace is found by both paths.
        for path in ["home/workspace/x", "link-home/workspace/x"] {
            perform(&workspace, Append, &at(path)).unwrap();
        }
        assert_eq!(
            perform(&workspace, Look, Path::new("x")).unwrap(),
            "appendedappended"
        );
    }
}

/// How a path of the configuration goes through links: the links with what is written in them, and the path.
const BY_LINKS: [(&[(&str, &str)], &str); 6] = [
    (&[("p", "real")], "p"),
    (&[("p", "@/real")], "p"),
    (&[("p", "real/data")], "p"),
    (&[("p", "real")], "p/data"),
    (&[("p", "q"), ("q", "@/a/r"), ("a/r", "../real")], "p"),
    (&[("p", "later")], "p"),
];

#[test]
fn what_the_configuration_names_by_a_link_is_not_changed_and_the_link_is_not_replaced() {
    for (links, named) in BY_LINKS {
        for (read_only, resolver) in [true, false].into_iter().zip(BOTH) {
            let top = tempfile::tempdir().unwrap();
            let w = top.path().join("home/workspace");
            std::fs::create_dir_all(w.join("real/deep")).unwrap();
            std::fs::create_dir_all(w.join("a")).unwrap();
            std::fs::create_dir_all(w.join("other")).unwrap();
            std::fs::write(w.join("real/data"), "plain").unwrap();
            std::fs::write(w.join("real/deep/data"), "plain").unwrap();
            for (link, target) in links {
                let target = target.replace('@', &text(&w));
                symlink(target, w.join(link)).unwrap();
            }
            let tools = match read_only {
                true => Tools {
                    read_only_paths: vec![named.to_owned()],
                    ..Tools::default()
                },
                false => Tools {
                    protected_paths: vec![named.to_owned()],
                    ..Tools::default()
                },
            };
            let workspace = open(&top.path().join("home"), tools, resolver).unwrap();
            let is_later = links[0].1 == "later";
            let paths = match is_later {
                true => ["p", "later", "later/new"],
                false => ["p", "p/data", "real/data"],
            };
            for path in paths {
                for operation in CHANGES.iter().chain(CREATES) {
                    let made = perform(&workspace, *operation, Path::new(path));
                    assert!(made.is_err(), "{operation:?} {path} by {named}");
                }
            }
            let (data, aside) = (Path::new("real/data"), Path::new("aside"));
            if !is_later {
                assert!(workspace.rename(data, aside).is_err(), "{named}");
                std::fs::write(w.join("mine"), "mine").unwrap();
                assert!(
                    workspace.rename(Path::new("mine"), data).is_err(),
                    "{named}"
                );
                for folder in ["real", "a"]
                    .into_iter()
                    .filter(|folder| *folder == "real" || links.len() > 1)
                {
                    let moved = workspace.move_folder(Path::new(folder), OsStr::new("away"));
                    assert!(moved.is_err(), "{folder} of {named}");
                    let swapped = workspace.move_folder(Path::new("other"), OsStr::new(folder));
                    assert!(swapped.is_err(), "{folder} of {named}");
                }
            }
            for (link, _) in links {
                assert!(
                    workspace.remove_folder(Path::new(link)).is_err(),
                    "{link} of {named}"
                );
                assert!(w.join(link).symlink_metadata().unwrap().is_symlink());
            }
            assert_eq!(std::fs::read_to_string(w.join(data)).unwrap(), "plain");
            perform(&workspace, Write, Path::new("beside")).unwrap();
        }
    }
}

/// A mount of the test's own; it is gone when this is dropped.
pub(super) struct Mount(PathBuf);

impl Mount {
    /// None where this account makes no mounts.
    pub(super) fn bind(source: &Path, place: &Path) -> Option<Self> {
        let mut command = std::process::Command::new("mount");
        let output = command.arg("--bind").args([source, place]).output().ok()?;
        output.status.success().then(|| Self(place.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}
