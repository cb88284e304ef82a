//! A log's life: written, torn, repaired, on a full disk, rewritten.

use std::cell::Cell;
use std::process::Command;

use proptest::prelude::*;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::*;

fn open(path: &Path) -> AppendLog {
    let is_line = |line: &[u8]| line.first() == Some(&b'{');
    AppendLog::open(path, is_line).unwrap().unwrap()
}

/// Runs an ignored test in a process of its own, where [`limit_files`] makes the disk full.
pub fn run_alone(test: &str) {
    // What a shell ignores stays ignored in what it becomes: write(2) then fails with EFBIG.
    let script = r#"trap '' XFSZ; exec "$0" --exact --ignored "$1""#;
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program).arg(test);
    let output = command.env("PEACRAB_TEST_ALONE", "1").output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let is_passed = output.status.success() && stdout.contains("1 passed");
    assert!(
        is_passed,
        "{stdout}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Whether [`run_alone`] has started this process; if not, an ignored test has nothing to do.
pub fn is_alone() -> bool {
    std::env::var_os("PEACRAB_TEST_ALONE").is_some()
}

/// Lets no file of this process grow beyond so many bytes: a write goes as far and no farther.
pub fn limit_files(bytes: Option<u64>) {
    let mut limit = getrlimit(Resource::Fsize);
    limit.current = bytes.or(limit.maximum);
    setrlimit(Resource::Fsize, limit).unwrap();
}

#[test]
fn lines_are_there_when_it_is_opened_again_and_only_one_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/log.jsonl");
    let mut log = open(&path);
    log.append(b"{1}\n{2}\n", Durability::Synced).unwrap();
    log.append(b"{3}\n", Durability::Buffered).unwrap();
    assert!(AppendLog::open(&path, |_| true).unwrap().is_none());
    drop(log);
    let log = open(&path);
    assert_eq!(log.length(), 12);
    assert_eq!(log.tail().previous().unwrap().unwrap().bytes, b"{3}");
    assert!(log.repairs("log", 0).is_empty());
}

#[test]
fn a_log_that_was_closed_can_be_opened_although_a_child_still_has_a_copy_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = open(&path);
    // As a child has it between fork(2) and execve(2).
    let _copy = log.file.try_clone().unwrap();
    drop(log);
    assert!(AppendLog::open(&path, |_| true).unwrap().is_some());
}

#[test]
fn what_is_dead_leaves_with_a_new_file_and_lines_go_on_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = open(&path);
    log.append(b"{short}\n", Durability::Synced).unwrap();
    assert!(!log.compact(0, Vec::new), "too short to be worth it");
    let dead = [vec![b'{'; COMPACT_BYTES as usize], b"\n".to_vec()].concat();
    log.append(&dead, Durability::Synced).unwrap();
    assert!(!log.compact(dead.len(), Vec::new), "nothing is dead");
    assert!(log.compact(8, || b"{kept}\n".to_vec()));
    log.append(b"{after}\n", Durability::Synced).unwrap();
    assert!(AppendLog::open(&path, |_| true).unwrap().is_none());
    assert_eq!(std::fs::read(&path).unwrap(), b"{kept}\n{after}\n");
    log.restart(b"{anew}\n", Durability::Synced).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"{anew}\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_log_that_cannot_be_rewritten_goes_on_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = open(&path);
    let dead = [vec![b'{'; COMPACT_BYTES as usize], b"\n".to_vec()].concat();
    log.append(&dead, Durability::Synced).unwrap();
    // A folder stands where the name leads, so no file can take its place.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(!log.compact(0, Vec::new));
    let mut is_asked_again = false;
    assert!(!log.compact(0, || {
        is_asked_again = true;
        Vec::new()
    }));
    assert!(!is_asked_again, "it is tried again when it has grown");
    log.append(b"{after}\n", Durability::Synced).unwrap();
    assert_eq!(log.length(), dead.len() as u64 + 8);
}

#[test]
fn a_disk_that_is_full_leaves_the_log_as_it_was() {
    run_alone("store::append_log::tests::on_a_full_disk");
}

#[test]
#[ignore = "a_disk_that_is_full_leaves_the_log_as_it_was runs it"]
fn on_a_full_disk() {
    if !is_alone() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut log = open(&path);
    log.append(b"{first}\n", Durability::Synced).unwrap();
    limit_files(Some(20));
    let long = b"{this line is longer than what is left}\n";
    for durability in [Durability::Synced, Durability::Buffered] {
        let error = log.append(long, durability).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"{first}\n");
    }
    log.append(b"{short}\n", Durability::Synced).unwrap();
    assert!(log.append(long, Durability::Synced).is_err());
    limit_files(None);
    log.append(long, Durability::Synced).unwrap();
    drop(log);
    let log = open(&path);
    assert_eq!(log.length() as usize, 16 + long.len());
    assert!(log.repairs("log", 0).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A power cut can leave any beginning of what was written, and rubbish behind it.
    #[test]
    fn cut_anywhere_the_whole_lines_stay(
        lines in proptest::collection::vec("[{][a-z]{0,40}", 0..12),
        cut in 0usize..500,
        rubbish in "[\0a-z\n]{0,9}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let kept = &content[..cut.min(content.len())];
        let whole = kept.rfind('\n').map_or(0, |end| end + 1);
        let torn = kept[whole..].to_owned() + rubbish.trim_end_matches('\n');
        std::fs::write(&path, content[..whole].to_owned() + &torn).unwrap();

        let mut log = open(&path);
        // Of garbage with newlines in it, the last line goes here; the reader skips the others.
        prop_assert!(log.length() as usize >= whole);
        prop_assert_eq!(log.repairs("log", 0).is_empty(), torn.is_empty());
        log.append(b"{after}\n", Durability::Buffered).unwrap();
        drop(log);
        let read = std::fs::read_to_string(&path).unwrap();
        let is_kept = read.starts_with(&content[..whole]) && read.ends_with('\n');
        prop_assert!(is_kept, "{}", read);
        prop_assert_eq!(read.lines().last(), Some("{after}"));
    }
}

thread_local! {
    /// How many syncs of folders succeed before one fails; `None`: all do.
    static SYNCS_BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Stands before each sync of a folder; fails once when a test has asked for it.
pub fn fail_sync() -> io::Result<()> {
    match SYNCS_BEFORE_FAILURE.get() {
        Some(0) => {
            SYNCS_BEFORE_FAILURE.set(None);
            Err(io::Error::from_raw_os_error(libc::EIO))
        }
        left => {
            SYNCS_BEFORE_FAILURE.set(left.map(|left| left - 1));
            Ok(())
        }
    }
}

#[test]
fn archiving_loses_nothing_whichever_sync_of_a_folder_fails() {
    for before in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let (path, archive) = (folder.path().join("log"), folder.path().join("old/log"));
        let mut log = open(&path);
        log.append(b"{1}\n{2}\n{3}\n", Durability::Synced).unwrap();
        SYNCS_BEFORE_FAILURE.set(Some(before));
        let archived = log.archive(&archive, 4, b"{head}\n", |line| [line, b"\n"].concat());
        SYNCS_BEFORE_FAILURE.set(None);
        let now = std::fs::read(&path).unwrap();
        match archived {
            Ok(()) => {
                assert_eq!(now, b"{head}\n{2}\n{3}\n");
                assert!(std::fs::read(&archive).unwrap().starts_with(b"{1}\n"));
            }
            Err(_) => {
                assert_eq!(now, b"{1}\n{2}\n{3}\n");
                assert!(!archive.exists());
            }
        }
        assert_eq!(log.length(), now.len() as u64, "sync {before}");
        log.append(b"{4}\n", Durability::Synced).unwrap();
        assert_eq!(
            std::fs::read(&path).unwrap(),
            [now, b"{4}\n".to_vec()].concat()
        );
    }
}
