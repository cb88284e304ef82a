use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::base::limits::files::PROMPT_LINKS;
use crate::config::schema::Tools;
use crate::sandbox::files::roots::{Failure, Intent, Rule};
use crate::sandbox::files::{Places, Workspace};
use crate::sys::beneath::Resolver;

fn hold(workspace: &Path) -> Result<PromptPlaces> {
    PromptPlaces::hold(workspace, &|_| false, Arc::new(|| true))
}

#[test]
fn places_are_made_while_they_are_kept_and_what_was_put_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("AGENTS.md"), "kind").unwrap();
    let first = hold(folder.path()).unwrap();
    let second = hold(folder.path()).unwrap();
    drop(first);
    assert!(at("SOUL.md").is_file() && at("skills").is_dir());
    fs::write(at("USER.md"), "Ana").unwrap();
    drop(second);
    assert!(!PromptPlaces::are_kept(folder.path()));
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    left.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
    let left: Vec<_> = left
        .into_iter()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["AGENTS.md", "USER.md"]);
}

#[test]
fn links_and_what_they_lead_to_are_kept_as_far_as_prompts_are_read_through_them() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let at = |path: &str| top.join(path);
    for path in ["skills/own/notes", "projects/foo", "lib", "notes"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    for path in ["CLAUDE.md", "lib/a.md", "lib/b.md", "notes/MEMORY.md"] {
        fs::write(at(path), "kind").unwrap();
    }
    for (target, link) in [
        ("first.md", "AGENTS.md"),
        ("CLAUDE.md", "first.md"),
        ("notes", "memory"),
        ("../projects/foo", "skills/foo"),
        ("../../lib/a.md", "projects/foo/SKILL.md"),
        ("../../../lib/b.md", "skills/own/notes/b.md"),
        ("own", "skills/again"),
        ("circle", "skills/circle"),
        ("/etc/hostname", "skills/host"),
        ("../new/foo", "skills/new"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    let kept = hold(&top).unwrap();
    let paths = kept.paths();
    for path in [
        "AGENTS.md",
        "first.md",
        "CLAUDE.md",
        "memory",
        "notes",
        "skills",
        "projects/foo",
        "lib/a.md",
        "lib/b.md",
        "new",
        "SOUL.md",
    ] {
        assert!(paths.contains(&at(path)), "{path}: {paths:#?}");
    }
    for path in [
        "skills/own",
        "skills/foo",
        "projects/foo/SKILL.md",
        "lib",
        "new/foo",
    ] {
        assert!(!paths.contains(&at(path)), "{path}: {paths:#?}");
    }
    let now = PromptPlaces::look(&top).unwrap();
    assert!(kept.are_still(&now, &["skills/own/notes/b.md".to_owned()]));
    drop(kept);
    assert!(!at("new").exists() && !at("SOUL.md").exists());
    assert!(PromptPlaces::look(&top).is_none());
}

#[test]
fn what_cannot_be_protected_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir_all(top.join("skills")).unwrap();
    let refused = |target: &str, can_write: bool| {
        let link = top.join("skills/x");
        let _ = fs::remove_file(&link);
        symlink(target, &link).unwrap();
        let held = PromptPlaces::hold(&top, &|_| can_write, Arc::new(|| true));
        held.map_err(|error| error.to_string()).err()
    };
    let why = refused("..", false).unwrap();
    assert!(
        why.contains("skills/x leads to the workspace itself"),
        "{why}"
    );
    assert_eq!(refused("/nowhere/x", false), None);
    // What a command can put in the place of the folder decides where something would be made and removed.
    fs::create_dir_all(top.join("a/d")).unwrap();
    let why = refused("../a/d/outbox.jsonl", false).unwrap();
    assert!(why.contains("a/d/outbox.jsonl is missing"), "{why}");
    let why = refused("/nowhere/x", true).unwrap();
    assert!(
        why.contains("/nowhere is missing, and a link leads to it"),
        "{why}"
    );
    fs::create_dir(top.join("many")).unwrap();
    for number in 0..=PROMPT_LINKS {
        fs::write(top.join(format!("many/{number}")), "").unwrap();
        symlink(
            format!("../many/{number}"),
            top.join(format!("skills/{number}")),
        )
        .unwrap();
    }
    let why = refused("/nowhere/x", false).unwrap();
    assert!(why.contains("one of more than 64"), "{why}");
}

#[test]
fn what_is_made_after_the_look_at_the_guards_is_guarded_too() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places {
        workspace: folder.path(),
        hidden: &[],
        user_home: None,
    };
    let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
    let keeping = whole.keeping_places();
    let marks = keeping.marks(Intent::Write).unwrap();
    // As another command has the places made.
    let _kept = hold(folder.path()).unwrap();
    let root = &keeping.folders.roots.roots[0];
    for path in [
        "skills/evil",
        "skills/evil/SKILL.md",
        "tools/x",
        "memory/x",
        "SOUL.md",
        "inbox/voice.ogg",
    ] {
        let located = keeping.locate_or_make(root, Path::new(path), &marks);
        assert!(
            matches!(located, Err(Failure::Rule(Rule::ReadOnly))),
            "{path}"
        );
    }
    assert!(
        keeping
            .locate_or_make(root, Path::new("own/x"), &marks)
            .is_ok()
    );
    whole
        .receiving()
        .create(Path::new("inbox/voice.ogg"))
        .unwrap();
    keeping.open_read(Path::new("inbox/voice.ogg")).unwrap();
}

#[test]
fn what_keeps_a_file_has_ended_before_another_one_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("skills/x")).unwrap();
    fs::write(at("AGENTS.md"), "old").unwrap();
    let places = Places {
        workspace: folder.path(),
        hidden: &[],
        user_home: None,
    };
    let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let (agents, seen) = (at("AGENTS.md"), Arc::clone(&ended));
    // It takes a while to end.
    let end = Arc::new(move || {
        let mut seen = seen.lock();
        seen.push(fs::read_to_string(&agents).unwrap_or_default());
        seen.len() % 2 == 0
    });
    let count = || std::mem::take(&mut *ended.lock());
    let _kept = PromptPlaces::hold(folder.path(), &|_| false, end).unwrap();
    let path = Path::new;
    whole.write(path("own.txt"), b"x").unwrap();
    whole.write(path("skills/x/SKILL.md"), b"x").unwrap();
    whole.receiving().create(path("inbox/a")).unwrap();
    let keeping = whole.keeping_places();
    keeping.write(path("AGENTS.md"), b"evil").unwrap_err();
    assert_eq!(count(), [""; 0]);
    whole.write(path("AGENTS.md"), b"new").unwrap();
    assert_eq!(count(), ["old", "old"]);
    whole.rename(path("own.txt"), path("USER.md")).unwrap();
    assert_eq!(count(), ["new", "new"]);
    whole.append(path("SOUL.md"), b"kind").unwrap();
    whole.remove(path("AGENTS.md")).unwrap();
    assert_eq!(count(), ["new"; 4]);
}

#[test]
fn what_took_the_place_of_a_prompt_file_is_noticed_and_a_write_in_place_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let at = |path: &str| top.join(path);
    fs::create_dir_all(at("skills/x")).unwrap();
    fs::create_dir_all(at("projects/foo")).unwrap();
    fs::write(at("AGENTS.md"), "kind").unwrap();
    fs::write(at("skills/x/SKILL.md"), "kind").unwrap();
    let replace = |path: &str| {
        fs::write(at("new"), "new").unwrap();
        fs::rename(at("new"), at(path)).unwrap();
    };
    let skill = ["skills/x/SKILL.md".to_owned()];
    let are_still = |kept: &PromptPlaces| {
        let now = PromptPlaces::look(&top).unwrap();
        (kept.are_still(&now, &[]), kept.are_still(&now, &skill))
    };
    let hold = || hold(&top).unwrap();
    let first = hold();
    fs::write(at("AGENTS.md"), "in place").unwrap();
    fs::write(at("skills/x/SKILL.md"), "in place").unwrap();
    assert_eq!(are_still(&first), (true, true));
    // Nothing of a command can be there that was not before, but what was moved there may be open.
    replace("skills/x/SKILL.md");
    assert_eq!(are_still(&first), (true, false));
    let second = hold();
    replace("AGENTS.md");
    assert_eq!(are_still(&second), (false, false));
    let third = hold();
    symlink("../projects/foo", at("skills/foo")).unwrap();
    assert_eq!(are_still(&third), (false, false));
    let fourth = hold();
    assert_eq!(are_still(&fourth), (true, true));
    fs::remove_file(at("SOUL.md")).unwrap();
    assert_eq!(are_still(&fourth), (false, false));
}

#[test]
fn a_view_that_keeps_the_prompt_does_not_change_what_links_of_it_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["skills", "projects/foo", "tools", "lib/x", "notes"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    let files = [
        "CLAUDE.md",
        "projects/foo/SKILL.md",
        "lib/x/tool.json",
        "notes/MEMORY.md",
    ];
    for path in files {
        fs::write(at(path), "kind").unwrap();
    }
    let places = Places {
        workspace: folder.path(),
        hidden: &[],
        user_home: None,
    };
    let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
    let keeping = whole.keeping_places();
    // Some are made when the workspace is open already.
    for (target, link) in [
        ("CLAUDE.md", "AGENTS.md"),
        ("../projects/foo", "skills/foo"),
        ("../lib/x", "tools/x"),
        ("notes", "memory"),
        ("later.md", "USER.md"),
    ] {
        symlink(target, at(link)).unwrap();
    }
    fs::write(at("own.md"), "own").unwrap();
    let others = [
        "AGENTS.md",
        "memory/MEMORY.md",
        "skills/foo/SKILL.md",
        "skills/foo/new.md",
        "later.md",
        "USER.md",
    ];
    for path in files.into_iter().chain(others) {
        let path = Path::new(path);
        assert!(keeping.write(path, b"EVIL").is_err(), "{path:?}");
        assert!(keeping.append(path, b"EVIL").is_err(), "{path:?}");
        assert!(
            keeping.rename(Path::new("own.md"), path).is_err(),
            "{path:?}"
        );
        assert!(keeping.remove(path).is_err(), "{path:?}");
    }
    keeping.write(Path::new("own.md"), b"more").unwrap();
    fs::remove_file(at("AGENTS.md")).unwrap();
    assert!(keeping.write(Path::new("AGENTS.md"), b"EVIL").is_err());
    whole.write(Path::new("CLAUDE.md"), b"new").unwrap();
}

#[test]
fn what_a_killed_program_has_left_is_removed_unless_another_one_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let below = |path: &str| folder.path().join(path);
    fs::create_dir(below("skills")).unwrap();
    symlink("../new/foo", below("skills/foo")).unwrap();
    fs::write(below("AGENTS.md"), "").unwrap();
    let top = at::open_root(folder.path()).unwrap();
    for path in ["SOUL.md", "USER.md", "memory", "new", "tools"] {
        make(&top, OsStr::new(path)).unwrap();
    }
    fs::write(below("USER.md"), "Ana").unwrap();
    fs::write(below("tools/note"), "").unwrap();
    let other = fs::File::open(folder.path()).unwrap();
    assert!(try_share(&other).unwrap());
    PromptPlaces::clean(folder.path());
    assert!(below("SOUL.md").exists());
    drop(other);
    PromptPlaces::clean(folder.path());
    for (path, is_there) in [
        ("SOUL.md", false),
        ("memory", false),
        ("new", false),
        ("AGENTS.md", true),
        ("USER.md", true),
        ("tools", true),
        ("skills", true),
    ] {
        assert_eq!(below(path).exists(), is_there, "{path}");
    }
}

#[test]
fn a_view_that_keeps_the_prompt_changes_none_of_it_however_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("memory")).unwrap();
    fs::create_dir_all(at("sub")).unwrap();
    fs::write(at("memory/MEMORY.md"), "kind").unwrap();
    fs::write(at("AGENTS.md"), "kind").unwrap();
    fs::write(at("own.md"), "own").unwrap();
    std::os::unix::fs::symlink("SOUL.md", at("link")).unwrap();
    std::os::unix::fs::symlink("..", at("sub/up")).unwrap();
    let places = Places {
        workspace: folder.path(),
        hidden: &[],
        user_home: None,
    };
    let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
    let keeping = whole.keeping_places();
    let absolute = at("USER.md");
    for path in [
        "AGENTS.md",
        "./SOUL.md",
        "memory/../TOOLS.md",
        "memory/MEMORY.md",
        "memory/2026-11-27.md",
        "skills/x/SKILL.md",
        "tools/x/tool.json",
        "link",
        "sub/up/IDENTITY.md",
        absolute.to_str().unwrap(),
    ] {
        let path = Path::new(path);
        assert!(keeping.write(path, b"EVIL").is_err(), "{path:?}");
        assert!(keeping.append(path, b"EVIL").is_err(), "{path:?}");
        assert!(keeping.create(path).is_err(), "{path:?}");
        assert!(
            keeping.rename(Path::new("own.md"), path).is_err(),
            "{path:?}"
        );
        assert!(
            keeping.rename(path, Path::new("away.md")).is_err(),
            "{path:?}"
        );
        assert!(keeping.remove(path).is_err(), "{path:?}");
    }
    keeping.write(Path::new("own.md"), b"more").unwrap();
    assert!(keeping.open_read(Path::new("AGENTS.md")).is_ok());
    assert!(!at("skills").exists() && !at("SOUL.md").exists());
    whole.write(Path::new("skills/x/SKILL.md"), b"new").unwrap();
    assert!(
        keeping
            .write(Path::new("skills/x/SKILL.md"), b"EVIL")
            .is_err()
    );
}
