//! A journal's life: said, killed, torn, repaired, gone on.

use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::chat::ToolResult;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open_with(&self, window: usize) -> Result<Session> {
        let settings = Settings {
            window,
            fsync: Fsync::Always,
            clock: Clock::System,
        };
        Session::open(self.0.path(), &SessionKey::parse("test"), settings)
    }

    fn open(&self) -> Session {
        self.open_with(100).unwrap()
    }

    fn file(&self) -> std::path::PathBuf {
        self.0.path().join("cli_test.jsonl")
    }
}

fn texts(session: &Session) -> Vec<&str> {
    session
        .entries()
        .iter()
        .map(|entry| entry.content.as_str())
        .collect()
}

fn user(text: &str) -> Entry {
    Entry::new(Role::User, text)
}

fn calling(id: &str) -> Entry {
    let mut entry = Entry::new(Role::Assistant, "calling");
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
        .end_turn(Some(Entry::new(Role::Assistant, "hi")), TurnEnd::Answered)
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
    assert!(error.to_string().contains("in use"), "{error}");
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
        .append(Entry::of_result(&call, &ToolResult::default()))
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
        .append(Entry::new(Role::Assistant, "after"))
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
    }
    drop(session);
    let session = place.open_with(3).unwrap();
    assert_eq!(texts(&session), ["47", "48", "49"]);
}

#[test]
fn a_list_names_the_sessions_by_their_true_keys() {
    let place = Place::new();
    let settings = Settings {
        window: 10,
        fsync: Fsync::Always,
        clock: Clock::System,
    };
    let odd = SessionKey::parse("cli:naïve/../name");
    let mut session = Session::open(place.0.path(), &odd, settings).unwrap();
    session.append(user("first line\nsecond")).unwrap();
    std::fs::write(place.0.path().join("other.jsonl"), "no journal").unwrap();
    let list = store::list(place.0.path()).unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0].chat, list[0].last.as_str()), (&odd, "first line"));
    assert!(
        store::delete(place.0.path(), &odd)
            .unwrap_err()
            .to_string()
            .contains("in use")
    );
    drop(session);
    store::delete(place.0.path(), &odd).unwrap();
    assert!(store::list(place.0.path()).unwrap().is_empty());
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
        prop_assert_eq!(texts(&session), expected);
        session.append(user("goes on")).unwrap();
        drop(session);
        prop_assert_eq!(texts(&place.open()).len(), expected.len() + 1);
    }
}
