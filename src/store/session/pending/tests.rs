//! What has been said is remembered once, whatever is killed in between.

use std::fs::OpenOptions;

use proptest::prelude::*;

use super::super::tests::{Place, archives, archiving, calling, say, texts, user};
use super::super::{Settings, TurnEnd};
use super::*;
use crate::base::chat::ToolResult;
use crate::store::session::PENDING_JOURNALS;

fn read(place: &Place, up_to: UpTo, max_bytes: usize) -> Option<Range> {
    read_pending(place.0.path(), &SessionKey::parse("test"), up_to, max_bytes).unwrap()
}

fn said(range: &Range) -> Vec<&str> {
    let people = range.entries.iter();
    let people = people.filter(|entry| entry.kind == EntryKind::Person);
    people.map(|entry| entry.content.as_str()).collect()
}

fn remembered(range: &Range, summary: Option<&str>) -> Remembered {
    Remembered {
        anchor: range.anchor,
        bytes: range.bytes,
        summary: summary.map(str::to_owned),
        forget: summary.is_some(),
    }
}

fn turns(session: &mut Session, numbers: std::ops::Range<usize>) {
    for number in numbers {
        say(session, &format!("question {number}"), "answer");
    }
}

#[test]
fn what_was_remembered_is_pending_no_longer_and_only_once() {
    let place = Place::new();
    let mut session = place.open();
    assert!(session.pending().is_empty());
    assert!(read(&place, UpTo::End, 10_000).is_none());
    turns(&mut session, 0..3);
    let pending = session.pending();
    assert_eq!((pending.turns, pending.window_turns), (3, 3));
    assert!(!pending.is_empty() && pending.bytes() > 100);

    let range = read(&place, UpTo::End, 10_000).unwrap();
    assert_eq!(said(&range), ["question 0", "question 1", "question 2"]);
    assert!(range.is_all && range.earlier_summary.is_none());
    // Meanwhile somebody goes on.
    turns(&mut session, 3..4);
    let done = remembered(&range, None);
    assert!(session.remember(&done).unwrap());
    assert!(!session.remember(&done).unwrap(), "applied twice");
    assert_eq!(
        (session.pending().turns, session.pending().window_turns),
        (1, 4)
    );
    drop(session);
    let mut session = place.open();
    assert!(!session.remember(&done).unwrap(), "applied after a kill");
    assert_eq!(session.pending().turns, 1);
    assert_eq!(
        texts(&session).len(),
        8,
        "all of it still goes to the model"
    );
    let rest = read(&place, UpTo::End, 10_000).unwrap();
    assert_eq!(said(&rest), ["question 3"]);
    assert!(session.remember(&remembered(&rest, None)).unwrap());
    assert!(session.pending().is_empty() && session.pending().bytes() == 0);
    assert!(read(&place, UpTo::End, 10_000).is_none());
}

#[test]
fn a_compaction_replaces_the_older_half_of_the_window_with_its_summary() {
    let place = Place::new();
    let mut session = place.open();
    turns(&mut session, 0..10);
    let range = read(&place, UpTo::HalfWindow, 10_000).unwrap();
    assert_eq!(said(&range).len(), 5);
    let done = remembered(&range, Some("They counted to four."));
    assert!(session.remember(&done).unwrap());
    let check = |session: &Session| {
        assert_eq!(texts(session)[0], "question 5");
        let summary = session.conversation().summary().unwrap();
        assert_eq!(summary.kind, EntryKind::Summary);
        assert!(summary.content.ends_with("They counted to four."));
    };
    check(&session);
    turns(&mut session, 10..14);
    drop(session);
    let mut session = place.open();
    check(&session);
    let facts = Entry::new(EntryKind::Note, "facts");
    let fitted = session.fit(100_000, &facts);
    assert_eq!(fitted.entries[0].kind, EntryKind::Summary);
    assert_eq!(fitted.entries[fitted.turn].content, "facts");

    let range = read(&place, UpTo::HalfWindow, 10_000).unwrap();
    let earlier = range.earlier_summary.as_deref();
    assert_eq!(earlier, Some("They counted to four."));
    let long = "and on, ".repeat(SUMMARY_BYTES / 8 - 1);
    assert!(session.remember(&remembered(&range, Some(&long))).unwrap());
    let summary = session.conversation().summary_text().unwrap();
    assert_eq!(summary, long.trim(), "the oldest paragraph is cut");

    session.clear().unwrap();
    assert!(session.conversation().summary().is_none());
    drop(session);
    assert!(place.open().conversation().summary().is_none());
}

#[test]
fn after_a_new_conversation_the_old_one_is_still_pending() {
    let place = Place::new();
    let mut session = place.open();
    turns(&mut session, 0..3);
    assert!(read(&place, UpTo::Window, 10_000).is_none());
    session.clear().unwrap();
    let pending = session.pending();
    assert_eq!((pending.turns, pending.window_turns), (0, 0));
    assert!(!pending.is_empty());
    turns(&mut session, 3..5);
    session.append(user("a turn that runs")).unwrap();
    let range = read(&place, UpTo::Window, 10_000).unwrap();
    assert_eq!(said(&range), ["question 0", "question 1", "question 2"]);
    assert_eq!(
        said(&read(&place, UpTo::End, 10_000).unwrap()).len(),
        5,
        "without the turn that runs"
    );
    // Its summary is not for the new conversation.
    let done = remembered(&range, Some("They counted."));
    assert!(session.remember(&done).unwrap());
    assert!(session.conversation().summary().is_none());
    assert_eq!(texts(&session)[0], "question 3");
    assert_eq!(session.pending().turns, 3);
    drop(session);
    let mut session = place.open();
    assert!(session.is_unfinished());
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    let rest = read(&place, UpTo::End, 10_000).unwrap();
    session.remember(&remembered(&rest, None)).unwrap();
    session.clear().unwrap();
    assert!(session.pending().is_empty(), "nothing new was said");
}

#[test]
fn a_summary_says_nothing_about_the_conversation_before_a_new_one() {
    let place = Place::new();
    let mut session = place.open();
    turns(&mut session, 0..2);
    session.clear().unwrap();
    turns(&mut session, 2..6);
    let old = read(&place, UpTo::HalfWindow, 10_000).unwrap();
    assert_eq!(said(&old), ["question 0", "question 1"]);
    assert!(!old.is_all);
    assert!(session.remember(&remembered(&old, Some("Old."))).unwrap());
    assert_eq!(session.conversation().summary_text(), None);
    assert_eq!(session.pending().window_turns, 4);
    let new = read(&place, UpTo::HalfWindow, 10_000).unwrap();
    assert_eq!(said(&new), ["question 2", "question 3"]);
    assert!(new.is_all);
    assert!(session.remember(&remembered(&new, Some("New."))).unwrap());
    assert_eq!(session.conversation().summary_text(), Some("New."));
}

#[test]
fn a_range_is_whole_turns_within_its_bound_and_a_single_long_one_is_cut() {
    let place = Place::new();
    let mut session = place.open();
    turns(&mut session, 0..10);
    let range = read(&place, UpTo::End, 500).unwrap();
    let count = said(&range).len();
    assert!((2..5).contains(&count) && !range.is_all, "{count}");
    assert_eq!(range.entries.len(), 2 * count);
    session.remember(&remembered(&range, None)).unwrap();
    let rest = read(&place, UpTo::End, 10_000).unwrap();
    assert_eq!(said(&rest)[0], format!("question {count}"));
    session.remember(&remembered(&rest, None)).unwrap();

    session.append(user("the long one")).unwrap();
    for number in 0..20 {
        session.append(calling(&number.to_string())).unwrap();
        let call = session.unanswered().remove(0);
        let result = ToolResult::new("x".repeat(5_000));
        session.append(Entry::of_result(&call, result)).unwrap();
    }
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    turns(&mut session, 10..11);
    let range = read(&place, UpTo::End, 4_000).unwrap();
    assert_eq!(said(&range), ["the long one"]);
    let last = range.entries.last().unwrap();
    assert!(last.content.contains("more entries of this turn"));
    assert!(!range.is_all && range.entries.len() < 15);
    session.remember(&remembered(&range, None)).unwrap();
    let rest = read(&place, UpTo::End, 4_000).unwrap();
    assert_eq!((said(&rest), rest.is_all), (vec!["question 10"], true));
}

#[test]
fn an_older_journal_counts_as_remembered_up_to_its_window() {
    let place = Place::new();
    let mut session = place.open();
    turns(&mut session, 0..20);
    drop(session);
    // As a version without marks wrote it.
    let journal = std::fs::read_to_string(place.file()).unwrap();
    let lines = journal.lines().map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = value.as_object_mut().unwrap();
        members.retain(|name, _| !["remembered_to", "window_from"].contains(&name.as_str()));
        format!("{value}\n")
    });
    std::fs::write(place.file(), lines.collect::<String>()).unwrap();
    assert!(read(&place, UpTo::End, 10_000).is_none());
    let mut session = place.open_with(5).unwrap();
    assert_eq!(session.pending().turns, 6);
    turns(&mut session, 20..21);
    let range = read(&place, UpTo::End, 10_000).unwrap();
    assert_eq!(said(&range)[0], "question 14");
}

#[test]
fn the_archive_leaves_what_is_not_remembered_up_to_a_bound() {
    let place = Place::new();
    let mut session = place.open_as(archiving(4_000, 1_000_000)).unwrap();
    turns(&mut session, 0..20);
    assert!(session.length() > 4_000 && archives(&place).is_empty());
    let range = read(&place, UpTo::End, 100_000).unwrap();
    let done = remembered(&range, None);
    assert!(session.remember(&done).unwrap());
    drop(session);
    let mut session = place.open_as(archiving(4_000, 1_000_000)).unwrap();
    assert_eq!(archives(&place).len(), 1);
    assert!(session.pending().is_empty() && !session.remember(&done).unwrap());
    assert_eq!(texts(&session)[0], "question 15");

    turns(&mut session, 20..60);
    assert!(archives(&place).len() >= 2, "a journal has a bound");
    assert!(session.length() < 4_000 * PENDING_JOURNALS + 300);
    let range = read(&place, UpTo::End, 100_000).unwrap();
    let last = said(&range).last().unwrap().to_string();
    assert_eq!((last.as_str(), range.is_all), ("question 59", true));
}

#[test]
fn the_summary_moves_on_when_its_line_goes_to_the_archive() {
    let place = Place::new();
    let settings = || Settings {
        window: 6,
        ..archiving(6_000, 1_000_000)
    };
    let mut session = place.open_as(settings()).unwrap();
    turns(&mut session, 0..6);
    let range = read(&place, UpTo::HalfWindow, 10_000).unwrap();
    session
        .remember(&remembered(&range, Some("They began.")))
        .unwrap();
    let mut number = 6;
    while archives(&place).len() < 2 {
        turns(&mut session, number..number + 1);
        number += 1;
        let range = read(&place, UpTo::End, 100_000).unwrap();
        // A result that comes after the archive has moved all places.
        let done = remembered(&range, None);
        drop(session);
        session = place.open_as(settings()).unwrap();
        assert!(session.remember(&done).unwrap());
        let summary = session.conversation().summary_text();
        assert_eq!(summary, Some("They began."), "{number}");
        assert!(session.pending().is_empty());
    }
    assert!(number > 20);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Turn { calls: usize, bytes: usize },
    Clear,
    Read { up_to: UpTo, max_bytes: usize },
    Apply { forget: bool },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let up_to = prop_oneof![Just(UpTo::Window), Just(UpTo::HalfWindow), Just(UpTo::End)];
    prop_oneof![
        6 => (0usize..3, 0usize..300).prop_map(|(calls, bytes)| Step::Turn { calls, bytes }),
        1 => Just(Step::Clear),
        3 => (up_to, 200usize..20_000).prop_map(|(up_to, max_bytes)| Step::Read { up_to, max_bytes }),
        3 => any::<bool>().prop_map(|forget| Step::Apply { forget }),
        2 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every step may be killed, with any beginning of what it wrote on the disk. Each question comes into
    /// the memory once and in order, and the window is what a new start reads.
    #[test]
    fn everything_is_remembered_once_whatever_is_killed(
        steps in proptest::collection::vec((step(), proptest::option::weighted(0.2, 0.0f64..1.0)), 1..40)
    ) {
        let place = Place::new();
        // No history is long enough for the bound at which even what is not remembered leaves the journal.
        let settings = || Settings { journal_bytes: 32_000, window: 8, ..archiving(0, 10_000_000) };
        let mut session = Some(place.open_as(settings()).unwrap());
        let (mut asked, mut in_memory) = (Vec::<String>::new(), Vec::<String>::new());
        // A range that was read, and what is in it.
        let mut staged: Option<(Remembered, Vec<String>)> = None;
        let mut number = 0;
        for (step, kill) in steps {
            let mut open = session.take().unwrap();
            let length = open.length();
            let mut question = None;
            let mut applied = false;
            match step {
                Step::Turn { calls, bytes } => {
                    number += 1;
                    let text = format!("question {number}");
                    question = Some(text.clone());
                    open.append(user(&text)).unwrap();
                    for id in 0..calls {
                        open.append(calling(&id.to_string())).unwrap();
                        let call = open.unanswered().remove(0);
                        let result = ToolResult::new("x".repeat(bytes));
                        open.append(Entry::of_result(&call, result)).unwrap();
                    }
                    let last = Entry::new(EntryKind::Assistant, "answer");
                    open.end_turn(Some(last), TurnEnd::Answered).unwrap();
                }
                Step::Clear => open.clear().unwrap(),
                Step::Read { up_to, max_bytes } => {
                    if let Some(range) = read(&place, up_to, max_bytes) {
                        let texts = said(&range).into_iter().map(str::to_owned).collect();
                        staged = Some((remembered(&range, None), texts));
                    }
                }
                Step::Apply { forget } => {
                    if let Some((done, _)) = &mut staged {
                        done.forget = forget;
                        done.summary = forget.then(|| "It was about this.".to_owned());
                        applied = open.remember(done).unwrap();
                        prop_assert!(!applied || !open.remember(done).unwrap());
                    }
                }
                Step::Reopen => {}
            }
            let written = open.length();
            let before = texts(&open).join("\n");
            let summary = open.conversation().summary().cloned();
            drop(open);
            let mut is_whole = true;
            if let Some(part) = kill.filter(|_| written > length) {
                let kept = length + ((written - length) as f64 * part) as u64;
                let file = OpenOptions::new().write(true).open(place.file()).unwrap();
                file.set_len(kept).unwrap();
                is_whole = false;
            }
            let mut opened = place.open_as(settings()).unwrap();
            if is_whole {
                asked.extend(question);
                if applied {
                    in_memory.extend(staged.as_ref().unwrap().1.clone());
                }
                prop_assert!(before.ends_with(&texts(&opened).join("\n")));
                prop_assert_eq!(opened.conversation().summary(), summary.as_ref());
            } else {
                opened.end_turn(None, TurnEnd::Stopped).unwrap();
                // It was said if its line is there.
                let is_said = |text: &String| texts(&opened).contains(&text.as_str());
                asked.extend(question.filter(is_said));
            }
            let pending = read(&place, UpTo::End, usize::MAX);
            let pending = pending.as_ref().map(said).unwrap_or_default();
            let found: Vec<&str> = in_memory.iter().map(String::as_str).chain(pending).collect();
            prop_assert_eq!(&found, &asked);
            prop_assert_eq!(opened.pending().is_empty(), found.len() == in_memory.len());
            session = Some(opened);
        }
    }
}
