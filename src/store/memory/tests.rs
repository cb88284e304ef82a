//! The memory on real files, with what people and crashes do to them in between.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use chrono::DateTime;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::base::limits::memory::NOTE_BYTES;
use crate::config::schema::Tools;
use crate::sandbox::files::Places;
use crate::sys::beneath::Resolver;

struct Bench {
    top: TempDir,
    workspace: Workspace,
    clock: Clock,
}

impl Bench {
    fn new() -> Self {
        Self::at("2026-11-23T10:30:00Z")
    }

    fn at(time: &str) -> Self {
        let top = tempfile::tempdir().unwrap();
        let places = Places {
            workspace: top.path(),
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let millis = DateTime::parse_from_rfc3339(time)
            .unwrap()
            .timestamp_millis();
        Self {
            top,
            workspace,
            clock: Clock::Hand(Arc::new(AtomicI64::new(millis))),
        }
    }

    fn memory(&self) -> Memory<'_> {
        Memory::new(&self.workspace, &self.clock)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.path().join("memory").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What a model makes of the facts as they are now.
    fn consolidated(&self, entry: &str, update: &str) -> Consolidated {
        Consolidated {
            history_entry: entry.to_owned(),
            memory_update: update.to_owned(),
            base: self.memory().all_facts().unwrap().map(|facts| facts.digest),
            is_confirmed: false,
        }
    }
}

#[test]
fn facts_are_missing_whole_or_cut_between_lines() {
    let bench = Bench::new();
    assert_eq!(bench.memory().facts().unwrap(), None);
    bench.put("MEMORY.md", " \n");
    assert_eq!(bench.memory().facts().unwrap(), None);
    bench.put("MEMORY.md", "- tea\n");
    let facts = bench.memory().facts().unwrap().unwrap();
    assert_eq!((facts.text.as_str(), facts.is_cut), ("- tea\n", false));
    bench.put("MEMORY.md", "- ä long line\n".repeat(1000));
    let facts = bench.memory().facts().unwrap().unwrap();
    assert!(facts.is_cut && facts.text.ends_with("line\n"));
    assert!(facts.text.len() <= FACTS_BYTES && facts.text.len() > FACTS_BYTES - 20);
    for odd in [
        "ä".repeat(FACTS_BYTES).into_bytes(),
        vec![0xff; 3 * FACTS_BYTES],
    ] {
        bench.put("MEMORY.md", odd);
        let facts = bench.memory().facts().unwrap().unwrap();
        assert!(facts.is_cut && facts.text.len() <= FACTS_BYTES);
    }
}

#[test]
fn what_was_saved_is_found_again_and_saving_it_again_changes_nothing() {
    let bench = Bench::new();
    let first = bench.consolidated("We met.", "- Ann likes tea\n");
    for _ in 0..2 {
        assert_eq!(bench.memory().save(&first).unwrap(), Saved::Done);
        assert_eq!(bench.text("MEMORY.md"), "- Ann likes tea\n");
        assert_eq!(bench.text("HISTORY.md"), "[2026-11-23 10:30] We met.\n\n");
        assert!(bench.memory().versions().unwrap().is_empty());
    }
    let dated = "[2026-11-23 09:00] The fan\n\nwas replaced.";
    let second = bench.consolidated(dated, "- Ann likes tea\n- new fan");
    for _ in 0..2 {
        assert_eq!(bench.memory().save(&second).unwrap(), Saved::Done);
        assert_eq!(bench.text("MEMORY.md"), "- Ann likes tea\n- new fan\n");
        let history = "[2026-11-23 10:30] We met.\n\n[2026-11-23 09:00] The fan\nwas replaced.\n\n";
        assert_eq!(bench.text("HISTORY.md"), history);
        assert_eq!(bench.memory().versions().unwrap().len(), 1);
    }
    assert_eq!(bench.memory().version(1).unwrap(), "- Ann likes tea\n");
}

#[test]
fn an_update_that_drops_most_is_refused_once() {
    let bench = Bench::new();
    bench.put("MEMORY.md", "- one\n- two\n- three\n- four\n");
    let mut short = bench.consolidated("Less.", "- one");
    let refused = Saved::Shrinks { from: 26, to: 5 };
    assert_eq!(bench.memory().save(&short).unwrap(), refused);
    assert_eq!(bench.text("HISTORY.md"), "");
    short.is_confirmed = true;
    assert_eq!(bench.memory().save(&short).unwrap(), Saved::Done);
    assert_eq!(bench.text("MEMORY.md"), "- one\n");
    assert_eq!(
        bench.memory().version(1).unwrap(),
        "- one\n- two\n- three\n- four\n"
    );
    // A model that says nothing about the facts does not mean that there are none.
    let blank = bench.consolidated("Nothing new.", " \n");
    assert_eq!(bench.memory().save(&blank).unwrap(), Saved::Done);
    assert_eq!(bench.text("MEMORY.md"), "- one\n");
    let long = bench.consolidated("", &"x".repeat(UPDATE_BYTES_MAX + 1));
    let error = bench.memory().save(&long).unwrap_err().to_string();
    assert_eq!(
        error,
        "memory_update has 32769 bytes; at most 32768 are saved. Shorten it"
    );
}

#[test]
fn lines_added_meanwhile_are_kept_and_other_changes_begin_again() {
    let bench = Bench::new();
    bench.put("MEMORY.md", "- tea\n- cake\n");
    let update = bench.consolidated("Tea.", "- green tea\n- cake\n");
    bench.put("MEMORY.md", "- tea\n- cake\n- door code 1234\n");
    for _ in 0..2 {
        assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
        assert_eq!(
            bench.text("MEMORY.md"),
            "- green tea\n- cake\n- door code 1234\n"
        );
    }
    assert_eq!(bench.text("HISTORY.md").matches("Tea.").count(), 1);
    let update = bench.consolidated("Cake.", "- green tea\n- no cake\n- door code 1234\n");
    for edited in [
        "- coffee\n- cake\n",
        "- green tea\n- cake\n- door code 1234 5\n",
        "",
    ] {
        bench.put("MEMORY.md", edited);
        assert_eq!(bench.memory().save(&update).unwrap(), Saved::Changed);
        assert_eq!(bench.text("MEMORY.md"), edited);
    }
    assert!(!bench.text("HISTORY.md").contains("Cake."));
    // A first consolidation, while a person begins a MEMORY.md.
    let first = Consolidated {
        base: None,
        ..bench.consolidated("A.", "- a")
    };
    bench.put("MEMORY.md", "- mine");
    assert_eq!(bench.memory().save(&first).unwrap(), Saved::Done);
    assert_eq!(bench.text("MEMORY.md"), "- a\n- mine");
}

#[test]
fn what_the_model_could_not_read_is_kept() {
    let bench = Bench::new();
    let long: String = (0..4000)
        .map(|number| format!("- fact {number}\n"))
        .collect();
    bench.put("MEMORY.md", &long);
    let facts = bench.memory().facts().unwrap().unwrap();
    let update = Consolidated {
        base: Some(facts.digest),
        ..bench.consolidated("", &facts.text.replace("fact 7\n", "fact seven\n"))
    };
    for _ in 0..2 {
        assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
        assert_eq!(
            bench.text("MEMORY.md"),
            long.replace("fact 7\n", "fact seven\n")
        );
    }
}

#[test]
fn a_step_that_fails_is_done_when_the_same_is_saved_again() {
    let bench = Bench::new();
    bench.put("MEMORY.md", "- tea\n");
    let update = bench.consolidated("Two.", "- tea\n- two\n");
    // The version cannot be kept: nothing is replaced.
    bench.put(".versions", "a file where the folder should be");
    bench.memory().save(&update).unwrap_err();
    assert_eq!(
        (
            bench.text("MEMORY.md").as_str(),
            bench.text("HISTORY.md").as_str()
        ),
        ("- tea\n", "")
    );
    std::fs::remove_file(bench.path(".versions")).unwrap();
    // The paragraph cannot be written: the facts are, and again changes nothing of them.
    std::fs::create_dir(bench.path("HISTORY.md")).unwrap();
    for _ in 0..2 {
        bench.memory().save(&update).unwrap_err();
        assert_eq!(bench.text("MEMORY.md"), "- tea\n- two\n");
    }
    // Meanwhile the day goes on.
    std::fs::remove_dir(bench.path("HISTORY.md")).unwrap();
    bench.put("MEMORY.md", "- tea\n- two\n- three\n");
    for _ in 0..2 {
        assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
        assert_eq!(bench.text("MEMORY.md"), "- tea\n- two\n- three\n");
        assert_eq!(bench.text("HISTORY.md"), "[2026-11-23 10:30] Two.\n\n");
        assert_eq!(bench.memory().versions().unwrap().len(), 1);
    }
}

#[test]
fn what_an_editor_writes_at_the_last_moment_is_kept() {
    let bench = Bench::new();
    let memory = bench.memory();
    let open = || bench.workspace.open_read(Path::new(FACTS)).unwrap();
    bench.put("MEMORY.md", "- tea\n");
    // Before the text is replaced.
    assert!(!memory.replace(b"- coffee\n", b"- new\n").unwrap());
    assert_eq!(bench.text("MEMORY.md"), "- tea\n");
    // Afterwards, to the file that is replaced.
    let replaced = open();
    bench.put("MEMORY.md", "- tea\n- cake\n");
    let late = open();
    std::fs::remove_file(bench.path("MEMORY.md")).unwrap();
    bench.put("MEMORY.md", "- green tea\n");
    memory.rescue(b"- tea\n", late).unwrap();
    assert_eq!(bench.text("MEMORY.md"), "- green tea\n- cake\n");
    memory.rescue(b"- other\n", replaced).unwrap();
    let newest = memory.versions().unwrap()[0].number;
    assert_eq!(memory.version(newest).unwrap(), "- tea\n- cake\n");
}

#[test]
fn twenty_versions_are_kept_and_one_is_restored() {
    let bench = Bench::new();
    for number in 0..VERSIONS + 5 {
        let update = bench.consolidated("", &format!("- fact {number:03}"));
        assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
    }
    let versions = bench.memory().versions().unwrap();
    let numbers: Vec<u32> = versions.iter().map(|version| version.number).collect();
    assert_eq!(numbers, (5..=24).rev().collect::<Vec<u32>>());
    // The oldest goes when it is restored, because the present text is kept; it is not lost.
    bench.memory().restore(5).unwrap();
    assert_eq!(bench.text("MEMORY.md"), "- fact 004\n");
    assert_eq!(bench.memory().version(25).unwrap(), "- fact 024\n");
    bench.memory().restore(25).unwrap();
    assert_eq!(bench.text("MEMORY.md"), "- fact 024\n");
    bench.memory().restore(26).unwrap();
    let error = bench.memory().restore(99).unwrap_err().to_string();
    assert_eq!(
        error,
        "No version 99 of memory/MEMORY.md. `peacrab memory history` shows all of them."
    );
}

#[test]
fn many_large_versions_are_fewer() {
    let bench = Bench::new();
    for number in 0..10 {
        bench.put("MEMORY.md", format!("{number}\n").repeat(100_000));
        let update = bench.consolidated("", &format!("- {number}"));
        let save = Consolidated {
            is_confirmed: true,
            base: None,
            ..update
        };
        assert_eq!(bench.memory().save(&save).unwrap(), Saved::Done);
    }
    assert_eq!(bench.memory().versions().unwrap().len(), 5);
}

#[test]
fn a_remark_goes_to_the_days_notes_or_without_a_clock_to_the_facts() {
    let bench = Bench::new();
    let file = bench.memory().append("the fan\nis loud").unwrap();
    assert_eq!(file, Path::new("memory/2026-11-23.md"));
    bench.memory().append("replaced").unwrap();
    let expected = "- 10:30 the fan\n  is loud\n- 10:30 replaced\n";
    assert_eq!(bench.text("2026-11-23.md"), expected);
    bench.put("2026-11-21.md", "- 09:00 old".repeat(1000));
    bench.put("2026-11-20.md", "- older");
    let notes = bench.memory().notes();
    assert_eq!(notes.len(), 2);
    assert_eq!(
        (notes[0].text.as_str(), notes[0].is_cut),
        (expected.trim(), false)
    );
    assert_eq!(notes[1].date.to_string(), "2026-11-21");
    assert!(notes[1].is_cut && notes[1].text.len() <= NOTE_BYTES);

    let bench = Bench::at("1970-01-01T00:10:00Z");
    bench.put("MEMORY.md", "- no newline");
    bench.put("1970-01-01.md", "- a lie");
    assert_eq!(bench.memory().append("tea").unwrap(), Path::new(FACTS));
    assert_eq!(bench.text("MEMORY.md"), "- no newline\n- tea\n");
    assert!(bench.memory().notes().is_empty());
    assert!(bench.memory().append(" ").is_err());
    assert!(bench.memory().append(&"x".repeat(5000)).is_err());
}

#[test]
fn a_full_history_is_set_aside_once() {
    let bench = Bench::new();
    let old = format!("[2026-03-01 08:00] {}\n\n", "x".repeat(1000))
        .repeat(HISTORY_BYTES_MAX as usize / 1000);
    bench.put("HISTORY.md", &old);
    // As after a kill before the new one was written.
    bench.put("HISTORY-2026-03-01.md", &old);
    bench
        .memory()
        .save(&bench.consolidated("New.", ""))
        .unwrap();
    assert_eq!(bench.text("HISTORY.md"), "[2026-11-23 10:30] New.\n\n");
    assert_eq!(bench.text("HISTORY-2026-03-01.md"), old);
    bench.put("HISTORY.md", old.replace('x', "y"));
    bench
        .memory()
        .save(&bench.consolidated("Newer.", ""))
        .unwrap();
    assert_eq!(bench.text("HISTORY-2026-03-01-2.md"), old.replace('x', "y"));
    assert_eq!(bench.text("HISTORY.md"), "[2026-11-23 10:30] Newer.\n\n");
}

#[test]
fn a_history_that_is_too_long_to_be_set_aside_goes_on() {
    let bench = Bench::new();
    let old = "An old log that a person has brought.\n\n".repeat(30_000);
    bench.put("HISTORY.md", &old);
    let saved = bench.memory().save(&bench.consolidated("New.", "- a"));
    assert_eq!(saved.unwrap(), Saved::Done);
    let history = bench.text("HISTORY.md");
    assert_eq!(
        history.strip_prefix(&old),
        Some("[2026-11-23 10:30] New.\n\n")
    );
}

#[test]
fn a_memory_that_cannot_be_saved_is_an_error_before_a_model_is_asked() {
    let bench = Bench::new();
    bench.put("MEMORY.md", "- fact\n".repeat(40_000));
    assert!(bench.memory().facts_to_update(usize::MAX).is_err());
    assert!(bench.memory().all_facts().unwrap().unwrap().is_cut);
    bench.put("MEMORY.md", "- one\n- two\n");
    let part = bench.memory().facts_to_update(8).unwrap().unwrap();
    assert_eq!((part.text.as_str(), part.is_cut), ("- one\n", true));
    let update = Consolidated {
        base: Some(part.digest),
        ..bench.consolidated("They met.", "- 1")
    };
    assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
    assert_eq!(bench.text("MEMORY.md"), "- 1\n- two\n");
}

#[test]
fn what_is_not_a_file_is_an_error_and_not_waited_for() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, bench.path("MEMORY.md"), fifo, mode, 0).unwrap();
    assert!(bench.memory().facts().is_err());
    let update = Consolidated {
        history_entry: "a".to_owned(),
        memory_update: "b".to_owned(),
        base: None,
        is_confirmed: false,
    };
    assert!(bench.memory().save(&update).is_err());
    bench.put(".versions/x.md", "not ours");
    assert!(bench.memory().versions().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is saved, edited and repeated: each line that the model was not given is still there,
    /// and what was replaced is a version.
    #[test]
    fn no_line_is_lost_that_the_model_did_not_read(
        base in "([a-c]{1,3}\n){0,5}",
        appended in "([x-z]{1,3}\n){0,3}",
        update in "([a-f]{1,3}\n){1,5}",
        edited in proptest::option::of("([a-z]{1,3}\n){0,4}"),
        is_confirmed: bool,
    ) {
        let bench = Bench::new();
        bench.put("MEMORY.md", &base);
        let update = Consolidated { is_confirmed, ..bench.consolidated("Once.", &update) };
        let present = edited.clone().unwrap_or(format!("{base}{appended}"));
        bench.put("MEMORY.md", &present);
        let first = bench.memory().save(&update).unwrap();
        let after = bench.text("MEMORY.md");
        if first == Saved::Done {
            if edited.is_none() {
                for line in appended.lines() {
                    prop_assert!(after.lines().any(|other| other == line), "{line}: {after}");
                }
            }
            let version = bench.memory().version(1).unwrap_or_default();
            prop_assert!(after == present || present.trim().is_empty() || version == present);
            prop_assert_eq!(bench.memory().save(&update).unwrap(), Saved::Done);
        } else {
            prop_assert_eq!(&after, &present);
        }
        prop_assert_eq!(&bench.text("MEMORY.md"), &after);
        prop_assert!(bench.text("HISTORY.md").matches("Once.").count() == usize::from(first == Saved::Done));
    }

    #[test]
    fn any_bytes_in_the_files_are_survived(content in proptest::collection::vec(any::<u8>(), 0..400)) {
        let bench = Bench::new();
        for name in ["MEMORY.md", "HISTORY.md", "2026-11-23.md"] {
            bench.put(name, &content);
        }
        bench.memory().facts().unwrap();
        bench.memory().notes();
        let update = bench.consolidated("History.", "- facts");
        bench.memory().append("remark").unwrap();
        let save = Consolidated { is_confirmed: true, ..update };
        prop_assert_eq!(bench.memory().save(&save).unwrap(), Saved::Done);
        let written = std::fs::read(bench.path("HISTORY.md")).unwrap();
        prop_assert!(written.starts_with(&content) && written.ends_with(b"[2026-11-23 10:30] History.\n\n"));
    }
}

fn lesson(about: &str, text: &str) -> Lesson {
    Lesson {
        about: about.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn lessons_are_lines_among_which_a_persons_own_stay() {
    let bench = Bench::new();
    let memory = bench.memory();
    assert_eq!(memory.lessons().unwrap(), []);
    let ping = lesson("exec ping", "box: unknown; box.lan works");
    memory.learn(std::slice::from_ref(&ping)).unwrap();
    memory.learn(std::slice::from_ref(&ping)).unwrap();
    assert_eq!(memory.lessons().unwrap(), std::slice::from_ref(&ping));
    let text = bench.text("LESSONS.md");
    assert!(text.starts_with("# Lessons\n"), "{text}");
    bench.put("LESSONS.md", format!("{text}- buy milk\nMine: not one.\n"));
    memory.note_shown(&ping, false).unwrap();
    assert!(
        bench
            .text("LESSONS.md")
            .contains("works (did not help the last time)\n- buy")
    );
    assert_eq!(memory.lessons().unwrap(), std::slice::from_ref(&ping));
    memory.note_shown(&ping, true).unwrap();
    assert!(!bench.text("LESSONS.md").contains("did not help"));
    memory.note_shown(&ping, false).unwrap();
    memory.note_shown(&ping, false).unwrap();
    assert_eq!(memory.lessons().unwrap(), []);
    assert!(
        bench
            .text("LESSONS.md")
            .ends_with("\n- buy milk\nMine: not one.\n")
    );
}

#[test]
fn the_oldest_lessons_make_room_and_a_file_that_is_too_long_is_left_alone() {
    let bench = Bench::new();
    let memory = bench.memory();
    for number in 0..50 {
        let text = format!("lesson {number}");
        memory.learn(&[lesson("exec ls", &text)]).unwrap();
    }
    let lessons = memory.lessons().unwrap();
    assert_eq!((lessons.len(), lessons[0].text.as_str()), (40, "lesson 10"));
    memory.forget_lesson(&lessons[0]).unwrap();
    assert_eq!(memory.lessons().unwrap()[0].text, "lesson 11");
    bench.put("LESSONS.md", "x".repeat(64 * 1024));
    assert!(memory.lessons().is_err());
    assert!(memory.learn(&[lesson("exec ls", "new")]).is_err());
    assert_eq!(bench.text("LESSONS.md").len(), 64 * 1024);
}

#[test]
fn what_no_person_could_see_in_a_lesson_is_not_read() {
    let bench = Bench::new();
    let memory = bench.memory();
    bench.put(
        "LESSONS.md",
        "- exec ping: \u{1b}box\u{202e}: \u{e0041}unknown\n",
    );
    let ping = lesson("exec ping", "box: unknown");
    assert_eq!(memory.lessons().unwrap(), std::slice::from_ref(&ping));
    memory.learn(std::slice::from_ref(&ping)).unwrap();
    assert_eq!(memory.lessons().unwrap().len(), 1);
    memory.forget_lesson(&ping).unwrap();
    assert_eq!(memory.lessons().unwrap(), []);
}

#[test]
fn a_file_of_lessons_that_is_not_utf_8_is_read_and_not_rewritten() {
    let bench = Bench::new();
    let memory = bench.memory();
    let content = b"Caf\xe9\n- exec ping: box.lan works\n";
    bench.put("LESSONS.md", content);
    let ping = lesson("exec ping", "box.lan works");
    assert_eq!(memory.lessons().unwrap(), std::slice::from_ref(&ping));
    let new = lesson("exec ls", "new");
    for refused in [
        memory.forget_lesson(&ping),
        memory.note_shown(&ping, false),
        memory.learn(std::slice::from_ref(&new)),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("is not UTF-8 text"), "{error}");
    }
    assert_eq!(std::fs::read(bench.path("LESSONS.md")).unwrap(), content);
}
