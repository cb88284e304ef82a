use super::*;
use crate::store::append_log::{AppendLog, Durability};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn packing<'a>(home: &'a Path, manifest: &'a Manifest, cancel: &'a Cancel) -> Packing<'a> {
    Packing {
        home,
        config: Some("{}"),
        manifest,
        left_out: &[],
        cancel,
    }
}

fn pack(home: &Path) -> (Packed, Vec<(String, Vec<u8>)>) {
    let (manifest, cancel) = (Manifest::default(), Cancel::new());
    let mut archive = Vec::new();
    let packed = pack::pack(&packing(home, &manifest, &cancel), &mut archive).unwrap();
    let mut found = Vec::new();
    unpack::read_tar(&mut &*archive, &mut |entry, content| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        if !entry.is_folder {
            found.push((entry.path.display().to_string(), bytes));
        }
        Ok(())
    })
    .unwrap();
    (packed, found)
}

fn fill(home: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

#[test]
fn each_thing_is_copied_before_what_it_turns_into() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    fill(
        home,
        &[
            ("agents/b/sessions/x.jsonl", "{}\n"),
            ("agents/b/workspace/memory/MEMORY.md", "m"),
            ("audit.jsonl", "{}\n"),
            ("config.json", "not this one"),
            ("cron/jobs.json", "{}"),
            ("inbox.jsonl", "{}\n"),
            ("outbox.jsonl", "{}\n"),
            ("outgoing/a.png", "p"),
            ("sessions/archive/old.jsonl", "{}\n"),
            ("sessions/a.jsonl", "{}\n"),
            ("state/telegram.json", "{}"),
            ("workspace/memory/MEMORY.md", "m"),
        ],
    );
    let old = fs::File::open(home.join("sessions/a.jsonl")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    let (packed, found) = pack(home);
    let paths: Vec<&str> = found.iter().map(|(path, _)| &**path).collect();
    assert_eq!(
        paths,
        [
            MANIFEST,
            CONFIG,
            "state/telegram.json",
            "inbox.jsonl",
            "cron/jobs.json",
            "sessions/a.jsonl",
            "agents/b/sessions/x.jsonl",
            "outbox.jsonl",
            "outgoing/a.png",
            "agents/b/workspace/memory/MEMORY.md",
            "audit.jsonl",
            "sessions/archive/old.jsonl",
            "workspace/memory/MEMORY.md",
        ]
    );
    assert_eq!(found[1].1, b"{}");
    assert_eq!(packed.files, paths.len() - 1);
}

#[test]
fn what_is_not_the_homes_own_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    fill(elsewhere.path(), &[("note", "n"), ("inner/deep", "d")]);
    fill(
        home,
        &[
            (".config.json.123.tmp", "x"),
            (".restore/new/a", "x"),
            ("backups/a.tar.gz", "x"),
            ("before-restore-2/a", "x"),
            ("gateway.lock", "1"),
            ("programs/mcp.lamp.0123/.config/token", "x"),
            ("state/root/bin/sh", "x"),
            ("state/tools/abc/run", "x"),
            ("update/request", "x"),
            ("workspace/.notes.tmp", "kept"),
        ],
    );
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, home.join(name)).unwrap();
    };
    link(Path::new("/etc/passwd"), "workspace/passwd");
    link(Path::new("/"), "whole-system");
    link(&elsewhere.path().join("inner"), "linked");
    let _socket = std::os::unix::net::UnixListener::bind(home.join("odd.sock")).unwrap();
    let (packed, found) = pack(home);
    let paths: Vec<&str> = found[2..].iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths, ["linked/deep", "workspace/.notes.tmp"]);
    assert_eq!((packed.links, packed.unreadable), (3, 0));
}

#[test]
fn a_log_ends_at_its_last_newline_and_a_file_of_the_person_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let long = format!("{{}}\n{}", "x".repeat(70_000));
    fill(
        home,
        &[
            ("audit.jsonl", "{}\n{\"torn"),
            ("inbox.jsonl", "torn"),
            ("outbox.jsonl", ""),
            ("sessions/a.jsonl", &long),
            ("sessions/b.jsonl", "{}\n{}\n"),
            ("workspace/data.jsonl", "{}\n{\"last\":1}"),
        ],
    );
    let (_, found) = pack(home);
    let length = |path: &str| found.iter().find(|(one, _)| one == path).unwrap().1.len();
    let files = [
        "audit.jsonl",
        "inbox.jsonl",
        "outbox.jsonl",
        "sessions/a.jsonl",
        "sessions/b.jsonl",
    ];
    assert_eq!(files.map(length), [3, 0, 0, 3, 6]);
    assert_eq!(length("workspace/data.jsonl"), 13);
}

/// Numbers behind a word in the lines of a log.
fn numbers(found: &[(String, Vec<u8>)], path: &str, word: &str) -> BTreeSet<usize> {
    let (_, bytes) = found.iter().find(|(one, _)| one == path).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .collect()
}

#[test]
fn whatever_moves_on_meanwhile_is_in_one_place_at_least() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let log = |name: &str| {
        let opened = AppendLog::open(&home.join(name), |_| true);
        opened.unwrap().unwrap()
    };
    let (accepted, delivered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = AtomicBool::new(false);
    // Everything stays for a while where it is, about as long as a copy takes.
    let mut state = 1_u64;
    let mut wait = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (0..state >> 52).for_each(|_| std::thread::yield_now());
    };
    let (accepted, delivered, is_over) = (&accepted, &delivered, &is_over);
    let work = move || {
        let (mut inbox, mut journal, mut outbox) = (
            log("inbox.jsonl"),
            log("sessions/a.jsonl"),
            log("outbox.jsonl"),
        );
        let mut number = 0;
        while !is_over.load(Ordering::SeqCst) {
            number += 1;
            let put = |log: &mut AppendLog, word: &str| {
                let line = format!("{word} {number}\n");
                log.append(line.as_bytes(), Durability::Buffered).unwrap();
            };
            put(&mut inbox, "message");
            accepted.store(number, Ordering::SeqCst);
            wait();
            put(&mut journal, "message");
            inbox.restart(b"", Durability::Buffered).unwrap();
            put(&mut outbox, "answer");
            put(&mut journal, "end");
            wait();
            outbox.restart(b"", Durability::Buffered).unwrap();
            delivered.store(number, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        while accepted.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        for _ in 0..300 {
            let before = accepted.load(Ordering::SeqCst);
            let (packed, found) = pack(home);
            let after = delivered.load(Ordering::SeqCst);
            assert_eq!(packed.unreadable, 0, "{packed:?}");
            let mut known = numbers(&found, "inbox.jsonl", "message");
            known.extend(numbers(&found, "sessions/a.jsonl", "message"));
            let lost = (1..=before).find(|number| !known.contains(number));
            assert_eq!(lost, None, "accepted before the copy began");
            let answers = numbers(&found, "outbox.jsonl", "answer");
            let ended = numbers(&found, "sessions/a.jsonl", "end");
            let lost = ended
                .into_iter()
                .find(|it| *it > after + 1 && !answers.contains(it));
            assert_eq!(lost, None, "an answer is in the outbox or delivered");
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

fn written(home: &Path, passphrase: Option<&Secret>, to: &Path) -> PathBuf {
    let (manifest, cancel) = (Manifest::default(), Cancel::new());
    write_file(&packing(home, &manifest, &cancel), passphrase, to).unwrap();
    to.to_owned()
}

fn opened(file: &Path) -> Backup {
    Backup::new(fs::File::open(file).unwrap(), file).unwrap()
}

#[test]
fn a_backup_comes_back_with_its_permissions_and_what_was_there_goes_aside() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let large = "large".repeat(2 << 20);
    fill(
        &one,
        &[
            ("key", "k"),
            ("sessions/a.jsonl", "{}\n"),
            ("state/a.json", "{}"),
            ("workspace/run.sh", "#!/bin/sh"),
            ("workspace/large", &large),
        ],
    );
    let run = fs::Permissions::from_mode(0o775);
    fs::set_permissions(one.join("workspace/run.sh"), run).unwrap();
    let secret = Secret::new("correct horse");
    let file = written(&one, Some(&secret), &folder.path().join("b"));
    fill(
        &two,
        &[
            ("config.json", "{}"),
            ("key", "other"),
            ("sessions/b.jsonl", "{}\n"),
        ],
    );
    fill(&two, &[("update/release", "stays"), ("backups/x", "stays")]);
    let cancel = Cancel::new();
    let mut backup = opened(&file);
    assert!(backup.is_encrypted());
    backup.unlock(secret);
    let survey = backup.survey(&two, &cancel).unwrap();
    let changes = |name: &str| survey.changes[name];
    let none = Changes::default();
    assert_eq!(changes("config.json"), Changes { same: 1, ..none });
    assert_eq!(changes("key"), Changes { changed: 1, ..none });
    assert_eq!(
        changes("sessions"),
        Changes {
            new: 1,
            aside: 1,
            ..none
        }
    );
    assert_eq!((survey.files, survey.changes.len()), (6, 5));
    let new = swap::prepare(&two).unwrap();
    backup.extract(&survey, &new, &cancel).unwrap();
    let aside = swap::exchange(&two).unwrap().unwrap();
    assert_eq!(aside, two.join("before-restore"));
    assert_eq!(fs::read_to_string(aside.join("key")).unwrap(), "other");
    assert_eq!(fs::read_to_string(two.join("key")).unwrap(), "k");
    assert_eq!(
        fs::read_to_string(two.join("workspace/large")).unwrap(),
        large
    );
    assert!(two.join("update/release").exists() && two.join("backups/x").exists());
    assert!(!two.join(".restore").exists() && !aside.join("update").exists());
    let mode = |path: &str| fs::metadata(two.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("key"), 0o600);
    assert_eq!((mode("state"), mode("state/a.json")), (0o700, 0o600));
    assert_eq!(mode("workspace/run.sh"), 0o755);
}

#[test]
fn names_that_no_backup_has_and_doubled_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    for (name, words) in [
        ("gateway.lock", "not part of a backup"),
        (".restore/ready", "not part of a backup"),
        ("before-restore/x", "not part of a backup"),
        ("config.json", "twice"),
    ] {
        let path = folder.path().join("b");
        let mut gzip = Gzip::new(fs::File::create(&path).unwrap()).unwrap();
        let manifest = Manifest::default().to_json();
        for (name, content) in [(MANIFEST, &*manifest), (CONFIG, "{}"), (name, "{}")] {
            let size = content.len() as u64;
            let header = crate::sandbox::files::tar::header(&crate::sandbox::files::tar::Member {
                path: name.as_bytes(),
                kind: crate::sandbox::files::tar::Kind::File,
                size,
                mode: 0o600,
                modified: 0,
            });
            let padding = vec![0; crate::sandbox::files::tar::padding(size)];
            gzip.write_all(&[&*header, content.as_bytes(), &padding].concat())
                .unwrap();
        }
        gzip.write_all(&crate::sandbox::files::tar::END).unwrap();
        gzip.finish().unwrap();
        let home = folder.path().join("home");
        let new = swap::prepare(&home).unwrap();
        let mut backup = opened(&path);
        let read = backup.survey(&home, &cancel);
        let read = read.and_then(|survey| backup.extract(&survey, &new, &cancel));
        let error = read.unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn nothing_is_moved_from_under_an_open_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for journal in ["sessions/a.jsonl", "agents/b/sessions/a.jsonl"] {
        let open = AppendLog::open(&home.join(journal), |_| true).unwrap();
        let error = swap::prepare(home).unwrap_err().to_string();
        assert!(error.contains(journal), "{error}");
        drop(open);
        swap::prepare(home).unwrap();
    }
}

#[test]
fn a_stop_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), &[("home/workspace/a", "a")]);
    let (manifest, cancel) = (Manifest::default(), Cancel::new());
    cancel.cancel();
    let home = folder.path().join("home");
    let to = folder.path().join("b");
    let stopped = write_file(&packing(&home, &manifest, &cancel), None, &to);
    assert!(matches!(stopped, Err(crate::base::error::Error::Stopped)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
