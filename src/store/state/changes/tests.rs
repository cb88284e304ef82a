use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::base::secret::Secret;
use crate::config::schema::Tools;
use crate::sandbox::files::Places;
use crate::sys::beneath::Resolver;

/// The 27th of November 2026.
fn today() -> Clock {
    Clock::Hand(Arc::new(AtomicI64::new(1_795_780_800_000)))
}

fn open(path: &Path) -> Workspace {
    let places = Places {
        workspace: path,
        hidden: &[],
        user_home: None,
    };
    Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap()
}

#[test]
fn what_a_turn_changes_is_named_shown_and_taken_back() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| folder.path().join(path);
    fs::write(at("SOUL.md"), "kind\n").unwrap();
    let workspace = open(folder.path());
    let changes = || PromptChanges::new(state.path(), MAIN, today());
    let first = changes();
    first.begin_turn(&workspace, false).unwrap();
    assert_eq!(first.end_turn(&workspace).unwrap(), [""; 0]);
    // By hand, between turns.
    fs::write(at("USER.md"), "Ana\n").unwrap();
    assert_eq!(first.begin_turn(&workspace, false).unwrap(), ["USER.md"]);
    fs::write(at("SOUL.md"), "kind\nevil\n").unwrap();
    fs::create_dir_all(at("skills/x")).unwrap();
    fs::write(at("skills/x/SKILL.md"), "new\n").unwrap();
    fs::create_dir_all(at("memory")).unwrap();
    fs::write(at("memory/2026-11-27.md"), "- noted\n").unwrap();
    fs::write(at("notes.md"), "other\n").unwrap();
    // It was killed, and goes on.
    let second = changes();
    second.begin_turn(&workspace, true).unwrap();
    let named = second.end_turn(&workspace).unwrap();
    assert_eq!(named, ["SOUL.md", "skills/x/SKILL.md"]);
    let (path, diff) = second.diff(&workspace, "SOUL.md").unwrap().unwrap();
    assert_eq!(
        (path.as_str(), diff.as_str()),
        ("SOUL.md", "@@ line 2 @@\n  kind\n+ evil")
    );
    assert_eq!(
        second.undo(&workspace, "./SOUL.md").unwrap().as_deref(),
        Some("SOUL.md")
    );
    assert_eq!(fs::read_to_string(at("SOUL.md")).unwrap(), "kind\n");
    second.undo(&workspace, "SKILL.md").unwrap();
    assert!(!at("skills/x/SKILL.md").exists());
    // What was taken back can be brought back.
    second.undo(&workspace, "SOUL.md").unwrap();
    assert_eq!(fs::read_to_string(at("SOUL.md")).unwrap(), "kind\nevil\n");
    assert_eq!(second.undo(&workspace, "notes.md").unwrap(), None);
}

#[test]
fn what_links_of_the_prompt_lead_to_is_looked_at_too() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| folder.path().join(path);
    for path in ["skills", "projects/foo", "notes"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    for (target, link) in [
        ("CLAUDE.md", "AGENTS.md"),
        ("notes", "memory"),
        ("../projects/foo", "skills/foo"),
        ("../skills", "skills/circle"),
    ] {
        std::os::unix::fs::symlink(target, at(link)).unwrap();
    }
    let files = ["CLAUDE.md", "notes/MEMORY.md", "projects/foo/SKILL.md"];
    for path in files {
        fs::write(at(path), "kind\n").unwrap();
    }
    let workspace = open(folder.path());
    let changes = PromptChanges::new(state.path(), MAIN, today());
    changes.begin_turn(&workspace, false).unwrap();
    for path in files {
        fs::write(at(path), "new\n").unwrap();
    }
    let mut named = changes.end_turn(&workspace).unwrap();
    named.retain(|path| !path.starts_with("skills/circle/"));
    assert_eq!(
        named,
        ["AGENTS.md", "memory/MEMORY.md", "skills/foo/SKILL.md"]
    );
    changes.undo(&workspace, "AGENTS.md").unwrap();
    assert_eq!(fs::read_to_string(at("CLAUDE.md")).unwrap(), "kind\n");
    assert!(at("AGENTS.md").is_symlink());
    changes.end_turn(&workspace).unwrap();
    std::os::unix::fs::symlink("own.md", at("USER.md")).unwrap();
    fs::write(at("own.md"), "own\n").unwrap();
    let refused = changes.undo(&workspace, "USER.md").unwrap_err().to_string();
    assert!(refused.contains("a link is on the way"), "{refused}");
    assert!(at("own.md").exists());
}

#[test]
fn a_long_file_has_changed_whatever_time_it_shows() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("SOUL.md");
    let size = CHANGED_TEXT_BYTES as usize + 1;
    fs::write(&path, "a".repeat(size)).unwrap();
    let workspace = open(folder.path());
    let changes = PromptChanges::new(state.path(), MAIN, today());
    changes.begin_turn(&workspace, false).unwrap();
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "b".repeat(size)).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(changes.end_turn(&workspace).unwrap(), ["SOUL.md"]);
}

#[test]
fn a_day_that_is_in_no_prompt_any_more_has_not_changed() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("memory")).unwrap();
    let workspace = open(folder.path());
    let clock = today();
    let changes = PromptChanges::new(state.path(), MAIN, clock.clone());
    for day in 25..=27 {
        fs::write(at(&format!("memory/2026-11-{day}.md")), "- noted\n").unwrap();
    }
    fs::write(at("BOOTSTRAP.md"), "Ask.\n").unwrap();
    changes.begin_turn(&workspace, false).unwrap();
    let set_day = |day: i64| match &clock {
        Clock::Hand(millis) => {
            millis.store(
                1_795_780_800_000 + (day - 27) * 86_400_000,
                Ordering::Relaxed,
            );
        }
        Clock::System => unreachable!(),
    };
    set_day(28);
    fs::write(at("memory/2026-11-28.md"), "- noted\n").unwrap();
    fs::write(at("BOOTSTRAP.md"), "Ask, and EVIL.\n").unwrap();
    assert_eq!(changes.end_turn(&workspace).unwrap(), ["BOOTSTRAP.md"]);
    fs::write(at("memory/2026-11-25.md"), "- by hand\n").unwrap();
    fs::remove_file(at("BOOTSTRAP.md")).unwrap();
    let undone = changes.undo(&workspace, "memory/2026-11-25.md");
    assert_eq!(undone.unwrap(), None);
    assert_eq!(changes.begin_turn(&workspace, false).unwrap(), [""; 0]);
    // It is in the prompt again.
    set_day(27);
    let named = changes.end_turn(&workspace).unwrap();
    assert_eq!(named, ["memory/2026-11-25.md"]);
}

#[test]
fn notes_that_go_into_prompts_may_only_grow_without_a_word() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| folder.path().join(path);
    let note = "memory/2026-11-27.md";
    fs::create_dir(at("memory")).unwrap();
    fs::write(at(note), "- buy milk\n").unwrap();
    // None of these is in a prompt.
    for day in 1..=3 {
        fs::write(at(&format!("memory/2997-01-0{day}.md")), "- noted\n").unwrap();
    }
    let workspace = open(folder.path());
    let changes = PromptChanges::new(state.path(), MAIN, today());
    changes.begin_turn(&workspace, false).unwrap();
    let after = |change: &dyn Fn()| {
        change();
        let named = changes.end_turn(&workspace).unwrap();
        assert_eq!(changes.begin_turn(&workspace, false).unwrap(), [""; 0]);
        named
    };
    let writes = |text: &str| fs::write(at(note), text).unwrap();
    assert_eq!(after(&|| writes("- buy milk\n- and bread\n")), [""; 0]);
    assert_eq!(after(&|| fs::remove_file(at(note)).unwrap()), [note]);
    assert_eq!(after(&|| writes("- new\n")), [""; 0]);
    assert_eq!(after(&|| writes(" \n")), [note], "emptied");
    assert_eq!(
        changes.undo(&workspace, note).unwrap().as_deref(),
        Some(note)
    );
    assert_eq!(fs::read_to_string(at(note)).unwrap(), "- new\n");
    assert_eq!(after(&|| writes("- ne")), [note], "shorter");
    assert_eq!(after(&|| writes("- EVIL\n")), [note], "replaced");
    let (path, diff) = changes.diff(&workspace, "").unwrap().unwrap();
    assert_eq!(path, note);
    assert!(
        diff.contains("- - ne") && diff.contains("+ - EVIL"),
        "{diff}"
    );
    let of_later = || fs::write(at("memory/2997-01-01.md"), "- EVIL\n").unwrap();
    assert_eq!(after(&of_later), [""; 0], "it is in no prompt");
}

#[test]
fn what_goes_into_prompts_is_looked_at_however_many_files_there_are() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |path: &str| folder.path().join(path);
    fs::write(at("SOUL.md"), "kind\n").unwrap();
    let workspace = open(folder.path());
    let changes = PromptChanges::new(state.path(), MAIN, today());
    changes.begin_turn(&workspace, false).unwrap();
    fs::create_dir_all(at("skills/a")).unwrap();
    for number in 0..CHANGED_FILES + 50 {
        fs::write(at(&format!("skills/a/{number}")), "x").unwrap();
    }
    fs::create_dir_all(at("skills/evil")).unwrap();
    fs::write(at("skills/evil/SKILL.md"), "evil\n").unwrap();
    fs::write(at("USER.md"), "evil\n").unwrap();
    fs::remove_file(at("SOUL.md")).unwrap();
    let named = changes.end_turn(&workspace).unwrap();
    let other = |path: &&String| !path.starts_with("skills/a/");
    let named: Vec<&String> = named.iter().filter(other).collect();
    assert_eq!(
        named,
        ["SOUL.md", "USER.md", "skills/*", "skills/evil/SKILL.md"]
    );
    // Nor can what comes later hide.
    fs::write(at("SOUL.md"), "evil\n").unwrap();
    fs::write(at("skills/a/99"), "evil").unwrap();
    fs::write(at("skills/evil/SKILL.md"), "worse\n").unwrap();
    let named = changes.begin_turn(&workspace, false).unwrap();
    assert_eq!(named, ["SOUL.md", "skills/*", "skills/evil/SKILL.md"]);
    changes.undo(&workspace, "SOUL.md").unwrap();
    assert!(!at("SOUL.md").exists());
    let refused = changes
        .undo(&workspace, "skills/*")
        .unwrap_err()
        .to_string();
    assert!(refused.contains("was not kept"), "{refused}");
}

#[test]
fn the_versions_are_bounded() {
    let mut kept = Kept::default();
    for number in 0..3 * CHANGES {
        kept.changes.push(Change {
            path: format!("{number}"),
            before: Some(Content::Text("x".repeat(CHANGES_BYTES / 8))),
        });
        kept.prune();
    }
    assert_eq!(kept.changes.len(), 8);
    assert_eq!(kept.changes[7].path, (3 * CHANGES - 1).to_string());
}

#[test]
fn a_text_with_a_secret_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("TOOLS.md"), "the key is canary-0123456789\n").unwrap();
    let workspace = open(folder.path());
    let secret = Secret::new("canary-0123456789");
    let changes = PromptChanges::new(state.path(), MAIN, today()).hiding(Eraser::new([secret]));
    changes.begin_turn(&workspace, false).unwrap();
    fs::write(at("TOOLS.md"), "the key was canary-0123456789\n").unwrap();
    assert_eq!(changes.end_turn(&workspace).unwrap(), ["TOOLS.md"]);
    let kept = fs::read_to_string(state.path().join("changes.json")).unwrap();
    assert!(!kept.contains("canary"), "{kept}");
    let written = changes.write(&workspace, FACTS, || {
        fs::create_dir(at("memory")).unwrap();
        fs::write(at(FACTS), "Tom\n").unwrap();
        Ok(())
    });
    written.unwrap();
    assert_eq!(changes.end_turn(&workspace).unwrap(), [""; 0]);
}

#[test]
fn a_look_at_settled_files_finds_every_change() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outside = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["skills/x", "tools/t", "memory"] {
        fs::create_dir_all(at(path)).unwrap();
    }
    fs::write(at("SOUL.md"), "kind\n").unwrap();
    fs::write(at("USER.md"), "\n").unwrap();
    fs::write(at("skills/x/SKILL.md"), "one\n").unwrap();
    fs::write(at("skills/x/more.md"), "more\n").unwrap();
    fs::write(outside.path().join("tools"), "a\n").unwrap();
    fs::write(outside.path().join("other"), "other\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("tools"), at("TOOLS.md")).unwrap();
    let tools = Tools {
        restrict_to_workspace: false,
        allowed_paths: vec![outside.path().display().to_string()],
        ..Tools::default()
    };
    let places = Places {
        workspace: folder.path(),
        hidden: &[],
        user_home: None,
    };
    let workspace = Workspace::open(&places, &tools, Resolver::detect()).unwrap();
    // Far enough ahead for everything that is written here to be old.
    let ahead = Clock::Hand(Arc::new(AtomicI64::new(4_000_000_000_000)));
    let changes = PromptChanges::new(state.path(), MAIN, ahead);
    let seen = || *changes.seen.lock();
    assert_eq!(changes.look(&workspace).unwrap(), [""; 0]);
    let first = seen().unwrap();
    let steps: [(&str, &dyn Fn()); 8] = [
        ("SOUL.md", &|| fs::write(at("SOUL.md"), "evil!\n").unwrap()),
        ("USER.md", &|| fs::write(at("USER.md"), "Ana\n").unwrap()),
        ("skills/x/SKILL.md", &|| {
            fs::write(at("skills/x/new"), "two\n").unwrap();
            fs::rename(at("skills/x/new"), at("skills/x/SKILL.md")).unwrap();
        }),
        ("skills/x/more.md", &|| {
            fs::remove_file(at("skills/x/more.md")).unwrap()
        }),
        ("TOOLS.md", &|| {
            fs::write(outside.path().join("tools"), "longer\n").unwrap();
        }),
        ("TOOLS.md", &|| {
            fs::remove_file(at("TOOLS.md")).unwrap();
            std::os::unix::fs::symlink(outside.path().join("other"), at("TOOLS.md")).unwrap();
        }),
        ("tools/t/tool.json", &|| {
            fs::write(at("tools/t/tool.json"), "{}\n").unwrap();
        }),
        ("memory/MEMORY.md", &|| {
            fs::write(at("memory/MEMORY.md"), "fact\n").unwrap();
        }),
    ];
    let mut before = first;
    for (path, step) in steps {
        step();
        assert_eq!(changes.look(&workspace).unwrap(), [path]);
        let now = seen().unwrap();
        assert_ne!(now, before, "{path}");
        assert_eq!(changes.look(&workspace).unwrap(), [""; 0], "{path}");
        assert_eq!(seen().unwrap(), now, "{path}");
        before = now;
    }
    // Without our own file everything counts as known again, and the next change is found.
    fs::remove_file(state.path().join("changes.json")).unwrap();
    assert_eq!(changes.look(&workspace).unwrap(), [""; 0]);
    fs::write(at("SOUL.md"), "kind again\n").unwrap();
    assert_eq!(changes.look(&workspace).unwrap(), ["SOUL.md"]);
    // A clock that is behind makes no file old.
    let behind = PromptChanges::new(state.path(), MAIN, today());
    behind.look(&workspace).unwrap();
    assert_eq!(*behind.seen.lock(), None);
}
