//! A journal's life: said, killed, torn, repaired, gone on.

use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;

use super::conversation::NO_REPLY;
use super::line::Line;
use super::*;
use crate::base::chat::{EntryKind, ToolResult};
use crate::store::append_log::tests::{is_alone, limit_files, run_alone};

pub(super) struct Place(pub tempfile::TempDir);

pub(super) fn settings(window: usize) -> Settings {
    let mut config = Config::default();
    config.agents.defaults.memory_window = window;
    Settings::new(&config, Clock::System)
}

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn open_with(&self, window: usize) -> Result<Session> {
        self.open_as(settings(window))
    }

    pub fn open_as(&self, settings: Settings) -> Result<Session> {
        Session::open(self.0.path(), &SessionKey::parse("test"), settings)
    }

    pub fn open(&self) -> Session {
        self.open_with(100).unwrap()
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.0.path().join("cli_test.jsonl")
    }
}

pub(super) fn texts(session: &Session) -> Vec<&str> {
    session
        .conversation()
        .entries()
        .map(|held| held.entry.content.as_str())
        .collect()
}

/// A turn with an answer.
pub(super) fn say(session: &mut Session, text: &str, answer: &str) {
    session.append(user(text)).unwrap();
    let answer = Entry::new(EntryKind::Assistant, answer);
    session.end_turn(Some(answer), TurnEnd::Answered).unwrap();
}

pub(super) fn user(text: &str) -> Entry {
    Entry::new(EntryKind::Person, text)
}

pub(super) fn calling(id: &str) -> Entry {
    let mut entry = Entry::new(EntryKind::Assistant, "calling");
    entry.tool_calls.push(ToolCall {
        id: id.into(),
        name: "t".into(),
        arguments: "{}".into(),
        signature: None,
    });
    entry
}

#[test]
fn what_was_said_is_there_when_it_is_opened_again() {
    let place = Place::new();
    let mut session = place.open();
    session.append(user("hello")).unwrap();
    session
        .end_turn(
            Some(Entry::new(EntryKind::Assistant, "hi")),
            TurnEnd::Answered,
        )
        .unwrap();
    drop(session);
    let session = place.open();
    assert_eq!(texts(&session), ["hello", "hi"]);
    assert!(!session.is_unfinished() && session.repairs().is_empty());
}

#[test]
fn a_session_that_was_only_looked_at_is_none_yet() {
    let place = Place::new();
    drop(place.open());
    assert_eq!(store::list(place.0.path()).unwrap(), []);
    place.open().append(user("hello")).unwrap();
    assert_eq!(store::list(place.0.path()).unwrap().len(), 1);
    assert_eq!(texts(&place.open()), ["hello"]);
}

#[test]
fn only_one_has_it_open() {
    let place = Place::new();
    let session = place.open();
    let error = place.open_with(100).err().unwrap();
    assert!(
        error.to_string().contains("has the conversation"),
        "{error}"
    );
    drop(session);
    place.open();
}

#[test]
fn a_turn_that_was_killed_is_seen_and_its_open_calls_too() {
    let place = Place::new();
    let mut session = place.open();
    session.append(user("do it")).unwrap();
    session.append(calling("1")).unwrap();
    drop(session);
    let mut session = place.open();
    assert!(session.is_unfinished());
    assert_eq!(session.unanswered()[0].id, "1");
    let call = session.unanswered().remove(0);
    session
        .append(Entry::of_result(&call, ToolResult::default()))
        .unwrap();
    assert!(session.unanswered().is_empty());
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    drop(session);
    assert!(!place.open().is_unfinished());
}

#[test]
fn a_torn_last_line_is_cut_off_and_reported() {
    let place = Place::new();
    let mut session = place.open();
    session.append(user("kept")).unwrap();
    drop(session);
    let mut file = OpenOptions::new().append(true).open(place.file()).unwrap();
    file.write_all(b"{\"role\":\"assistant\",\"content\":\"tor")
        .unwrap();
    let mut session = place.open();
    assert_eq!(texts(&session), ["kept"]);
    assert!(
        session.repairs()[0].contains("torn"),
        "{:?}",
        session.repairs()
    );
    session
        .append(Entry::new(EntryKind::Assistant, "after"))
        .unwrap();
    drop(session);
    assert_eq!(texts(&place.open()), ["kept", "after"]);
}

#[test]
fn a_garbled_line_in_the_middle_is_skipped_and_reported() {
    let place = Place::new();
    let mut session = place.open();
    session.append(user("one")).unwrap();
    session.append(user("two")).unwrap();
    session.append(user("three")).unwrap();
    drop(session);
    let content = std::fs::read_to_string(place.file())
        .unwrap()
        .replace("{\"role\":\"user\",\"content\":\"two", "\0\0");
    std::fs::write(place.file(), content).unwrap();
    let session = place.open();
    assert_eq!(texts(&session), ["one", "three"]);
    assert_eq!(
        session.repairs(),
        ["1 unreadable lines of the session were skipped"]
    );
}

#[test]
fn after_a_clear_nothing_older_comes_back() {
    let place = Place::new();
    let mut session = place.open();
    session.append(user("old")).unwrap();
    session.clear().unwrap();
    session.append(user("new")).unwrap();
    drop(session);
    assert_eq!(texts(&place.open()), ["new"]);
    let mut all = Vec::new();
    let garbled = store::read(place.0.path(), &SessionKey::parse("test"), |line| {
        all.extend(match line {
            Line::Entry(entry) => Some(entry.content),
            Line::State(_) => None,
        });
        Ok(())
    });
    assert_eq!(
        (garbled.unwrap(), all),
        (0, vec!["old".to_owned(), "new".to_owned()]),
        "the journal keeps it"
    );
}

#[test]
fn the_window_bounds_what_is_held() {
    let place = Place::new();
    let mut session = place.open();
    for number in 0..50 {
        session.append(user(&number.to_string())).unwrap();
        session.end_turn(None, TurnEnd::Failed).unwrap();
    }
    drop(session);
    let session = place.open_with(3).unwrap();
    assert_eq!(texts(&session).len(), 7);
    assert_eq!(texts(&session)[..2], ["46", NO_REPLY]);
}

#[test]
fn of_the_last_turn_nothing_is_missing_however_long_it_is() {
    let place = Place::new();
    let mut session = place.open();
    say(&mut session, "old", "Old");
    session.append(user("the task")).unwrap();
    for number in 0..20 {
        session.append(calling(&number.to_string())).unwrap();
        let call = session.unanswered().remove(0);
        let result = ToolResult {
            text: "x".repeat(40_000),
            ..ToolResult::default()
        };
        session.append(Entry::of_result(&call, result)).unwrap();
    }
    drop(session);
    let mut session = place.open_with(4).unwrap();
    assert!(session.is_unfinished());
    let facts = Entry::new(EntryKind::Note, "facts");
    let fitted = session.fit(200_000, &facts);
    assert_eq!(fitted.entries[fitted.turn + 1].content, "the task");
    assert_eq!(fitted.entries.len() - fitted.turn, 42);
    assert!(
        fitted.tokens < 200_000,
        "memory is bounded: {}",
        fitted.tokens
    );
    // The next turn still sees it.
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    drop(session);
    assert_eq!(texts(&place.open_with(4).unwrap())[0], "the task");
}

#[test]
fn a_window_is_counted_beside_a_turn_that_is_running() {
    let place = Place::new();
    let key = SessionKey::parse("test");
    let count = |window| store::count_window(place.0.path(), &key, window).unwrap();
    assert_eq!(count(10), 0);
    let mut session = place.open();
    say(&mut session, "one", "One");
    say(&mut session, "two", "Two");
    session.append(user("three")).unwrap();
    assert_eq!((count(10), count(0)), (5, 3));
    session.clear().unwrap();
    assert_eq!(count(10), 0);
}

#[test]
fn a_write_that_fails_is_tried_again_while_that_is_wanted() {
    run_alone("store::session::tests::on_a_full_disk");
}

#[test]
#[ignore = "a_write_that_fails_is_tried_again_while_that_is_wanted runs it"]
fn on_a_full_disk() {
    if !is_alone() {
        return;
    }
    let place = Place::new();
    let mut session = place.open();
    session.append(user("first")).unwrap();
    let before = std::fs::read(place.file()).unwrap();
    limit_files(Some(before.len() as u64 + 10));
    assert!(session.append(user("lost")).is_err());
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
    assert_eq!(texts(&session), ["first"]);
    let mut tries = 0;
    let mut retry = |error: &Error| {
        assert!(matches!(error, Error::Io { .. }), "{error}");
        tries += 1;
        if tries == 3 {
            limit_files(None);
        }
        true
    };
    session.append_with(user("second"), &mut retry).unwrap();
    assert_eq!(tries, 3);
    assert_eq!(texts(&session), ["first", "second"]);
    drop(session);
    assert_eq!(texts(&place.open()), ["first", "second"]);
}

/// A journal that goes to the archive beyond so many bytes.
pub(super) fn archiving(journal_bytes: u64, archive_bytes: u64) -> Settings {
    Settings {
        journal_bytes,
        archive_bytes,
        ..settings(4)
    }
}

pub(super) fn archives(place: &Place) -> Vec<std::path::PathBuf> {
    let folder = place.0.path().join("archive");
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// Everything that people and the model have said, in the archive and in the journal.
pub(super) fn exported(place: &Place) -> Vec<String> {
    let mut bytes = Vec::new();
    store::export(place.0.path(), &SessionKey::parse("test"), &mut bytes).unwrap();
    let lines = bytes.split(|byte| *byte == b'\n').map(line::decode);
    lines
        .filter_map(|line| match line {
            Some(Line::Entry(entry)) => Some(entry.content),
            _ => None,
        })
        .collect()
}

#[test]
fn a_journal_that_is_too_long_goes_to_the_archive_between_two_turns() {
    let place = Place::new();
    let mut session = place.open_as(archiving(2_000, 1_000_000)).unwrap();
    let mut said = Vec::new();
    for number in 0..40 {
        let (word, answer) = (format!("word {number}"), format!("answer {number}"));
        say(&mut session, &word, &answer);
        said.extend([word, answer]);
        assert!(session.length() < 2 * 2_000 + 700, "{}", session.length());
    }
    assert!(archives(&place).len() >= 2);
    assert_eq!(
        exported(&place),
        said,
        "nothing is lost, nothing is there twice"
    );
    let held: Vec<(u64, &str)> = session
        .conversation()
        .entries()
        .map(|held| (held.offset, held.entry.content.as_str()))
        .collect();
    let journal = std::fs::read_to_string(place.file()).unwrap();
    for (offset, content) in held {
        let line = journal[offset as usize..].lines().next().unwrap();
        assert!(line.contains(content), "{line}");
    }
    // The new journal is locked for others too.
    assert!(place.open_with(4).is_err());
    drop(session);
    assert_eq!(texts(&place.open_with(4).unwrap()), said[70..]);
    let list = store::list(place.0.path()).unwrap();
    assert_eq!(list.len(), 1);

    store::delete(place.0.path(), &SessionKey::parse("test")).unwrap();
    assert_eq!(archives(&place).len(), 0);
}

#[test]
fn a_running_turn_and_what_is_cleared_are_kept_apart_by_the_archive() {
    let place = Place::new();
    let mut session = place.open();
    say(&mut session, "old", &"x".repeat(3_000));
    session.append(user("the task")).unwrap();
    drop(session);
    let mut session = place.open_as(archiving(1_000, 1_000_000)).unwrap();
    let length = session.length();
    session.append(calling("1")).unwrap();
    assert!(session.length() > length && archives(&place).is_empty());
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    assert!(archives(&place).is_empty(), "all of it may go to the model");
    session.clear().unwrap();
    say(&mut session, "new", "New");
    drop(session);
    let session = place.open_as(archiving(1_000, 1_000_000)).unwrap();
    assert_eq!(
        (archives(&place).len(), texts(&session)),
        (1, vec!["new", "New"])
    );
    assert_eq!(exported(&place).len(), 6);
}

#[test]
fn the_archive_keeps_its_bound_by_deleting_the_oldest() {
    let place = Place::new();
    let mut session = place.open_as(archiving(2_000, 5_000)).unwrap();
    for number in 0..100 {
        say(&mut session, &format!("word {number}"), "answer");
    }
    let archives = archives(&place);
    let bytes: u64 = archives
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .sum();
    assert!((2_000..=5_000).contains(&bytes), "{bytes}");
    let kept = exported(&place);
    let begin: usize = 100 - kept.len() / 2;
    assert_eq!(kept[0], format!("word {begin}"), "what is kept has no gap");

    let none = Place::new();
    let mut session = none.open_as(archiving(1_000, 0)).unwrap();
    for number in 0..20 {
        say(&mut session, &format!("word {number}"), "answer");
    }
    assert!(self::archives(&none).is_empty());
}

/// A kill between any two steps of archiving leaves all lines, and the next time it comes to an end.
#[test]
fn a_kill_while_archiving_loses_nothing() {
    let fill = |place: &Place| {
        let mut session = place.open();
        let words = (0..30).map(|number| format!("word {number}"));
        words.for_each(|word| say(&mut session, &word, "answer"));
    };
    let whole = || archiving(1_000, 1_000_000);
    let place = Place::new();
    fill(&place);
    let said = exported(&place);
    let before = std::fs::read(place.file()).unwrap();

    // After the link and before the new journal; then a turn comes, which both names have.
    let archive = place.0.path().join("archive");
    std::fs::create_dir(&archive).unwrap();
    std::fs::hard_link(
        place.file(),
        archive.join("cli_test-20260101T000000000.jsonl"),
    )
    .unwrap();
    std::fs::write(place.0.path().join(".cli_test.jsonl.7.tmp"), b"half a li").unwrap();
    drop(place.open_as(whole()).unwrap());
    assert_eq!(
        (exported(&place), archives(&place).len()),
        (said.clone(), 1)
    );
    assert!(std::fs::metadata(place.file()).unwrap().len() < 2_000);

    // After the new journal and before the archive is cut: its last lines are there twice.
    let archived = archives(&place).remove(0);
    std::fs::write(&archived, &before).unwrap();
    let found = exported(&place);
    assert!(said.iter().all(|word| found.contains(word)));
    assert_eq!(texts(&place.open_as(whole()).unwrap()), said[50..]);
}

#[test]
fn a_list_names_the_sessions_by_their_true_keys() {
    let place = Place::new();
    let odd = SessionKey::parse("cli:naïve/../name");
    let mut session = Session::open(place.0.path(), &odd, settings(10)).unwrap();
    session.append(user("first line\nsecond")).unwrap();
    std::fs::write(place.0.path().join("other.jsonl"), "no journal").unwrap();
    let list = store::list(place.0.path()).unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0].chat, list[0].last.as_str()), (&odd, "first line"));
    let newest = store::newest(place.0.path(), 2).unwrap();
    assert_eq!(newest, [(odd.clone(), list[0].changed)]);
    assert!(store::newest(place.0.path(), 0).unwrap().is_empty());
    assert!(
        store::delete(place.0.path(), &odd)
            .unwrap_err()
            .to_string()
            .contains("open. Close it first")
    );
    drop(session);
    store::delete(place.0.path(), &odd).unwrap();
    assert!(store::list(place.0.path()).unwrap().is_empty());
}

#[test]
fn a_title_is_the_first_message_that_says_something() {
    let place = Place::new();
    let title = || store::list(place.0.path()).unwrap().remove(0).title;
    let mut session = place.open();
    for (said, expected) in [
        ("Yes!", "Yes!"),
        ("2", "Yes!"),
        ("👍", "Yes!"),
        ("\nwater the plants\nat 7", "water the plants"),
        ("and the garden", "water the plants"),
    ] {
        say(&mut session, said, "Done.");
        assert_eq!(title(), expected, "{said}");
    }
    session.clear().unwrap();
    say(&mut session, "ok", "Done.");
    assert_eq!(title(), "ok");
    say(&mut session, "why?", "Done.");
    assert_eq!(title(), "why?");
}

#[test]
fn an_unfinished_turn_is_known_by_the_message_that_it_began_with() {
    let place = Place::new();
    let of = |text: &str, id: &str| Entry {
        origin: Some(id.to_owned()),
        ..user(text)
    };
    let mut session = place.open();
    session.append(of("the job", "a")).unwrap();
    assert!(session.is_answering("a"));
    let answer = Entry::new(EntryKind::Assistant, "done");
    session.end_turn(Some(answer), TurnEnd::Answered).unwrap();
    assert!(!session.is_answering("a"));
    session.append(of("a question", "b")).unwrap();
    session.append(of("and another one", "c")).unwrap();
    drop(session);
    let session = place.open();
    let answering = ["a", "b", "c"].map(|id| session.is_answering(id));
    assert_eq!(answering, [false, true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A power cut can leave any beginning of what was written.
    #[test]
    fn cut_anywhere_it_opens_with_the_lines_that_were_whole(cut in 0usize..700) {
        let place = Place::new();
        let mut session = place.open();
        session.append(user("one")).unwrap();
        session.append(calling("1")).unwrap();
        session.append(user("three")).unwrap();
        drop(session);
        let content = std::fs::read(place.file()).unwrap();
        let cut = cut.min(content.len());
        std::fs::write(place.file(), &content[..cut]).unwrap();
        let whole = content[..cut].iter().filter(|byte| **byte == b'\n').count();
        let mut session = place.open();
        let expected = &["one", "calling", "three"][..whole.saturating_sub(1)];
        // A call that has no result has one in memory, once something else is said.
        let mut found = texts(&session);
        found.retain(|text| !text.starts_with("Error: interrupted"));
        prop_assert_eq!(found, expected);
        session.append(user("goes on")).unwrap();
        drop(session);
        let session = place.open();
        let found = texts(&session);
        prop_assert_eq!(found.last(), Some(&"goes on"));
    }
}

#[test]
fn an_answer_that_is_reviewed_leaves_its_turn_open_and_is_journalled_once() {
    let place = Place::new();
    let propose = |session: &mut Session| {
        session.append(user("hello")).unwrap();
        session
            .append(Entry {
                is_proposed: true,
                ..Entry::new(EntryKind::Assistant, "hi")
            })
            .unwrap();
    };
    propose(&mut place.open());
    let mut session = place.open();
    assert!(session.is_unfinished());
    assert_eq!(session.conversation().proposed(), Some("hi"));
    assert_eq!(store::unfinished(place.0.path()).unwrap().len(), 1);
    // A reviewer's doubt was added to it.
    session
        .end_answered("hi\n\nBut see.", &mut |_| false)
        .unwrap();
    propose(&mut session);
    session.end_answered("hi", &mut |_| false).unwrap();
    drop(session);
    let session = place.open();
    assert!(!session.is_unfinished());
    assert_eq!(texts(&session), ["hello", "hi", "But see.", "hello", "hi"]);
    let (before, turn) = session.conversation().split_last_turn();
    assert_eq!((before.len(), turn.len()), (3, 2));
}
