//! The life of an inbox: messages accepted, taken, killed, torn, full, compacted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::base::access::Role;
use crate::base::limits::append_log::{COMPACT_BYTES, CONTENT_BYTES};
use crate::base::message::{Address, Media, RemoteFile};
use crate::store::append_log::tests::{is_alone, limit_files, run_alone};

struct Place {
    folder: tempfile::TempDir,
    millis: Arc<AtomicI64>,
}

impl Place {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            millis: Arc::new(AtomicI64::new(1_800_000_000_000)),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("inbox.jsonl")
    }

    fn open(&self) -> Inbox {
        Inbox::open(&self.file(), Clock::Hand(self.millis.clone())).unwrap()
    }
}

fn message(id: &str) -> Envelope {
    Envelope {
        id: id.to_owned(),
        reference: id.to_owned(),
        ..Envelope::typed(
            &Address::new("telegram", "1").session(),
            &format!("the text of {id}"),
        )
    }
}

fn update(number: u32) -> Envelope {
    message(&format!("telegram:{number}"))
}

fn ids(messages: &[Envelope]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn what_was_accepted_waits_until_a_session_has_it() {
    let place = Place::new();
    let inbox = place.open();
    let accepted = inbox.accept(vec![update(1), update(2)]).unwrap();
    assert_eq!(accepted, [update(1), update(2)]);
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.waiting(), [update(1), update(2)]);
    inbox.taken("telegram:1");
    assert_eq!(inbox.waiting(), [update(2)]);
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.waiting(), [update(2)]);
    assert!(inbox.repairs().is_empty());
}

#[test]
fn the_same_message_seen_twice_is_accepted_once() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1), update(2), update(1)]).unwrap();
    inbox.taken("telegram:1");
    drop(inbox);
    let inbox = place.open();
    let again = inbox.accept(vec![update(1), update(2), update(3)]).unwrap();
    assert_eq!(again, [update(3)]);
    let length = std::fs::metadata(place.file()).unwrap().len();
    assert!(inbox.accept(vec![update(3)]).unwrap().is_empty());
    assert_eq!(std::fs::metadata(place.file()).unwrap().len(), length);
}

#[test]
fn a_message_without_an_id_is_always_new_and_can_be_taken() {
    let place = Place::new();
    let inbox = place.open();
    let accepted = inbox.accept(vec![message(""), message("")]).unwrap();
    assert_eq!(inbox.waiting(), accepted);
    assert_ne!(accepted[0].id, accepted[1].id);
    inbox.taken(&accepted[0].id);
    assert_eq!(inbox.waiting(), accepted[1..]);
    inbox.taken("");
    inbox.taken("telegram:unknown");
    assert_eq!(inbox.waiting().len(), 1);
}

#[test]
fn what_was_begun_and_interrupted_is_told_apart_from_what_waits() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1), update(2), update(3)]).unwrap();
    inbox.begin("telegram:2").unwrap();
    inbox.begin("telegram:3").unwrap();
    inbox.ask("telegram:2").unwrap();
    assert_eq!(inbox.begun().len(), 1);
    inbox.begin("telegram:2").unwrap();
    inbox.taken("telegram:3");
    drop(inbox);
    let inbox = place.open();
    assert_eq!(ids(&inbox.waiting()), ["telegram:1"]);
    assert_eq!(ids(&inbox.begun()), ["telegram:2"]);
    let error = inbox.begin("telegram:3").unwrap_err().to_string();
    assert!(error.contains("not in the inbox"), "{error}");
}

#[test]
fn the_last_update_is_known_with_its_time() {
    let place = Place::new();
    let inbox = place.open();
    assert_eq!(inbox.last_update("telegram"), None);
    inbox
        .accept(vec![
            update(7),
            message("other:900"),
            message("slack:17.C1"),
            message("slack:command.18"),
            message(""),
        ])
        .unwrap();
    place.millis.fetch_add(5000, Ordering::Relaxed);
    inbox.accept(vec![update(8)]).unwrap();
    inbox.taken("telegram:8");
    drop(inbox);
    let (number, at) = place.open().last_update("telegram").unwrap();
    assert_eq!((number, at.timestamp()), (8, 1_800_000_005));
    assert_eq!(place.open().last_update("other").unwrap().0, 900);
    // What stands behind a dot belongs to the id, not to the number.
    assert_eq!(place.open().last_update("slack").unwrap().0, 17);
}

#[test]
fn an_album_stands_first_and_has_the_last_number_of_its_batch() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(9), update(8)]).unwrap();
    assert_eq!(inbox.last_update("telegram").unwrap().0, 9);
    place.millis.fetch_add(1, Ordering::Relaxed);
    // After a week the channel may begin at a lower number.
    inbox.accept(vec![update(3)]).unwrap();
    drop(inbox);
    assert_eq!(place.open().last_update("telegram").unwrap().0, 3);
}

fn with_files(number: u32) -> Envelope {
    let file = |id: &str| RemoteFile {
        media: Media::Photo,
        id: id.to_owned(),
        size: None,
        name: "photo.jpg".to_owned(),
    };
    Envelope {
        reference: number.to_string(),
        remote_files: vec![file("a"), file("b")],
        ..update(number)
    }
}

#[test]
fn an_edit_counts_while_a_message_waits_and_outlives_a_kill() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept((1..4).map(with_files).collect()).unwrap();
    let session = Address::new("telegram", "1").session();
    inbox.begin("telegram:2").unwrap();
    inbox.taken("telegram:3");
    let length = || std::fs::metadata(place.file()).unwrap().len();
    assert_eq!(inbox.edit(&session, "1", "new").as_deref(), Some("new"));
    let before = length();
    for (session, reference, text) in [
        (&session, "1", "new"),
        (&session, "2", "begun"),
        (&session, "3", "taken"),
        (&session, "4", "unknown"),
        (&Address::new("telegram", "2").session(), "1", "elsewhere"),
    ] {
        assert_eq!(inbox.edit(session, reference, text), None, "{text}");
    }
    assert_eq!(length(), before);
    drop(inbox);
    assert_eq!(place.open().waiting()[0].text, "new");
}

#[test]
fn edits_without_end_fill_neither_the_inbox_nor_the_disk() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![with_files(1)]).unwrap();
    let session = Address::new("telegram", "1").session();
    for number in 0..300 {
        let text = format!("{number} {}", "x".repeat(2000));
        assert!(inbox.edit(&session, "1", &text).is_some());
    }
    let length = std::fs::metadata(place.file()).unwrap().len();
    assert!(length < COMPACT_BYTES + 8 * 1024, "{length}");
    assert!(inbox.lock().state.live_bytes() < 4 * 1024);
    drop(inbox);
    assert!(place.open().waiting()[0].text.starts_with("299 "));
}

#[test]
fn what_became_of_the_files_is_known_after_a_kill_and_a_compaction() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![with_files(1), with_files(2)]).unwrap();
    let photo = Attachment {
        media: Media::Photo,
        path: "inbox/1-photo.jpg".to_owned(),
    };
    let note = "[photo.jpg could not be fetched: gone]".to_owned();
    let fetched = inbox.fetched("telegram:1", vec![photo.clone()], vec![note.clone()]);
    let fetched = fetched.unwrap();
    assert_eq!(fetched.attachments, [photo]);
    assert_eq!(fetched.text, format!("the text of telegram:1\n{note}"));
    assert!(fetched.remote_files.is_empty());
    assert_eq!(inbox.fetched("telegram:9", Vec::new(), Vec::new()), None);
    assert_eq!(inbox.files().len(), 1);
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.waiting(), [fetched.clone(), with_files(2)]);
    // Many messages come and go, so that the file is rewritten.
    for batch in 0..100 {
        let numbers = 50 * batch + 10..50 * batch + 60;
        inbox.accept(numbers.clone().map(update).collect()).unwrap();
        numbers.for_each(|number| inbox.taken(&format!("telegram:{number}")));
    }
    let session = Address::new("telegram", "1").session();
    let edited = inbox.edit(&session, "1", "another text").unwrap();
    assert_eq!(edited, format!("another text\n{note}"));
    drop(inbox);
    let edited = Envelope {
        text: edited,
        ..fetched
    };
    assert_eq!(place.open().waiting(), [edited, with_files(2)]);
}

#[test]
fn a_full_inbox_says_so_and_takes_nothing_in() {
    let place = Place::new();
    let inbox = place.open();
    let many = |from: usize, to: usize| (from..to).map(|n| update(n as u32)).collect::<Vec<_>>();
    inbox.accept(many(0, MESSAGES - 1)).unwrap();
    let error = inbox
        .accept(many(MESSAGES - 1, MESSAGES + 1))
        .unwrap_err()
        .to_string();
    assert!(error.contains("The inbox is full"), "{error}");
    assert_eq!(inbox.waiting().len(), MESSAGES - 1);
    inbox.taken("telegram:0");
    // The same batch again: it was not accepted, so it is new.
    let accepted = inbox.accept(many(MESSAGES - 1, MESSAGES + 1)).unwrap();
    assert_eq!(accepted.len(), 2);
}

#[test]
fn messages_are_bounded_by_their_bytes_too_and_a_text_is_cut() {
    let place = Place::new();
    let inbox = place.open();
    let long = |number| Envelope {
        text: "\u{1}".repeat(2 * CONTENT_BYTES),
        ..update(number)
    };
    let mut accepted = 0;
    while inbox.accept(vec![long(accepted)]).is_ok() {
        accepted += 1;
    }
    let length = std::fs::metadata(place.file()).unwrap().len();
    assert!(
        length <= BYTES as u64 && accepted > 1,
        "{length}, {accepted}"
    );
    drop(inbox);
    let waiting = place.open().waiting();
    assert_eq!(waiting.len(), accepted as usize);
    assert!(waiting[0].text.ends_with("bytes in all]"));
}

#[test]
fn after_ten_thousand_messages_the_file_is_short_and_nothing_is_forgotten() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1), update(2)]).unwrap();
    inbox.begin("telegram:2").unwrap();
    for batch in 0..200 {
        let numbers = 50 * batch + 10..50 * batch + 60;
        inbox.accept(numbers.clone().map(update).collect()).unwrap();
        numbers.for_each(|number| inbox.taken(&format!("telegram:{number}")));
        let length = std::fs::metadata(place.file()).unwrap().len();
        assert!(length < COMPACT_BYTES + 16 * 1024, "{length}");
    }
    drop(inbox);
    let inbox = place.open();
    assert_eq!(ids(&inbox.waiting()), ["telegram:1"]);
    assert_eq!(ids(&inbox.begun()), ["telegram:2"]);
    assert_eq!(inbox.last_update("telegram").unwrap().0, 10_009);
    let newest = 10_010 - SEEN as u32..10_010;
    let again = newest.chain([1, 2]).map(update).collect();
    assert_eq!(inbox.accept(again).unwrap(), []);
    assert!(inbox.repairs().is_empty());
}

#[test]
fn what_others_write_does_not_make_an_owners_message_new_again() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1), message("slack:1")]).unwrap();
    inbox.taken("telegram:1");
    inbox.taken("slack:1");
    let guest = |number| Envelope {
        role: Role::Guest,
        ..update(number)
    };
    for number in 10..10 + SEEN as u32 + 50 {
        inbox.accept(vec![guest(number)]).unwrap();
        inbox.taken(&format!("telegram:{number}"));
    }
    let again = || vec![update(1), message("slack:1"), guest(100)];
    assert_eq!(inbox.accept(again()).unwrap(), []);
    assert_eq!(
        inbox.accept(vec![guest(10)]).unwrap().len(),
        1,
        "the oldest"
    );
    drop(inbox);
    assert_eq!(place.open().accept(again()).unwrap(), []);
}

#[test]
fn a_file_that_was_just_compacted_says_the_same() {
    let place = Place::new();
    let inbox = place.open();
    let long = |number| Envelope {
        text: "x".repeat(4096),
        ..update(number)
    };
    inbox.accept((0..40).map(long).collect()).unwrap();
    (0..38).for_each(|number| inbox.taken(&format!("telegram:{number}")));
    inbox.begin("telegram:38").unwrap();
    inbox.accept(vec![update(40)]).unwrap();
    let content = std::fs::read_to_string(place.file()).unwrap();
    assert!(content.contains("\"seen\"") && content.len() < 16 * 1024);
    drop(inbox);
    let inbox = place.open();
    assert_eq!(ids(&inbox.begun()), ["telegram:38"]);
    assert_eq!(ids(&inbox.waiting()), ["telegram:39", "telegram:40"]);
    assert_eq!(inbox.last_update("telegram").unwrap().0, 40);
    assert_eq!(inbox.accept((0..41).map(update).collect()).unwrap(), []);
}

#[test]
fn garbled_lines_are_skipped_and_reported() {
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1), update(2), update(3)]).unwrap();
    drop(inbox);
    let content = std::fs::read_to_string(place.file()).unwrap();
    let content = content.replace("{\"accepted\":{\"id\":\"telegram:2", "\0\0");
    std::fs::write(place.file(), content + "\0\0\0").unwrap();
    let inbox = place.open();
    assert_eq!(ids(&inbox.waiting()), ["telegram:1", "telegram:3"]);
    assert_eq!(
        inbox.repairs(),
        [
            "the last 3 bytes of the inbox were torn by a crash and have been cut off",
            "1 unreadable lines of the inbox were skipped"
        ]
    );
    // Its channel gives it again, because it was not told otherwise.
    assert_eq!(inbox.accept(vec![update(2)]).unwrap().len(), 1);
}

#[test]
fn on_a_full_disk_nothing_is_accepted_and_nothing_is_lost() {
    run_alone("store::inbox::tests::on_a_full_disk");
}

#[test]
#[ignore = "on_a_full_disk_nothing_is_accepted_and_nothing_is_lost runs it"]
fn on_a_full_disk() {
    if !is_alone() {
        return;
    }
    let place = Place::new();
    let inbox = place.open();
    inbox.accept(vec![update(1)]).unwrap();
    limit_files(Some(300));
    let batch = || (2..9).map(update).collect::<Vec<_>>();
    assert!(inbox.accept(batch()).is_err());
    assert_eq!(inbox.waiting(), [update(1)]);
    inbox.begin("telegram:1").unwrap();
    limit_files(None);
    assert_eq!(inbox.accept(batch()).unwrap().len(), 7);
    drop(inbox);
    let inbox = place.open();
    assert_eq!(inbox.waiting(), batch());
    assert!(inbox.repairs().is_empty());
}

/// What can happen to an inbox.
#[derive(Clone, Debug)]
enum Step {
    Accept(Vec<u32>),
    Edit(u32),
    Fetch(u32),
    Begin(u32),
    Take(u32),
}

/// What a line says, as far as the test is concerned.
#[derive(Clone, Copy)]
enum Told {
    Accepted(u32),
    Edited(u32),
    Fetched(u32),
    Begun(u32),
    Taken(u32),
}

/// The text that an edit gives.
const EDITED: &str = "edited";
/// The note on a file that did not come.
const NOTE: &str = "[a file could not be fetched]";

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        proptest::collection::vec(0u32..12, 0..4).prop_map(Step::Accept),
        (0u32..12).prop_map(Step::Edit),
        (0u32..12).prop_map(Step::Fetch),
        (0u32..12).prop_map(Step::Begin),
        (0u32..12).prop_map(Step::Take),
    ]
}

/// Does the steps; returns what each line of the file says.
fn play(inbox: &Inbox, steps: &[Step]) -> Vec<Told> {
    let mut told = Vec::new();
    let holds = |number: u32| inbox.holds(&format!("telegram:{number}"));
    for step in steps {
        match step {
            Step::Accept(numbers) => {
                let messages = numbers.iter().map(|number| update(*number)).collect();
                for message in inbox.accept(messages).unwrap() {
                    let number = message.id.trim_start_matches("telegram:").parse();
                    told.push(Told::Accepted(number.unwrap()));
                }
            }
            Step::Edit(number) => {
                let message = update(*number);
                let edited = inbox.edit(&message.session, &message.reference, EDITED);
                if edited.is_some() {
                    told.push(Told::Edited(*number));
                }
            }
            Step::Fetch(number) => {
                let notes = vec![NOTE.to_owned()];
                if let Some(message) = inbox.fetched(&update(*number).id, Vec::new(), notes) {
                    assert!(message.text.ends_with(NOTE));
                    told.push(Told::Fetched(*number));
                }
            }
            Step::Begin(number) => {
                if inbox.begin(&format!("telegram:{number}")).is_ok() {
                    told.push(Told::Begun(*number));
                }
            }
            Step::Take(number) => {
                if holds(*number) {
                    told.push(Told::Taken(*number));
                }
                inbox.taken(&format!("telegram:{number}"));
            }
        }
    }
    told
}

/// What is left after some lines: the messages that wait, and those that were begun.
fn outcome(told: &[Told]) -> (Vec<Envelope>, Vec<Envelope>) {
    struct Left {
        message: Envelope,
        notes: usize,
        is_begun: bool,
    }
    let mut left: Vec<Left> = Vec::new();
    for record in told {
        let (Told::Accepted(number)
        | Told::Edited(number)
        | Told::Fetched(number)
        | Told::Begun(number)
        | Told::Taken(number)) = record;
        let id = update(*number).id;
        if let Told::Accepted(_) = record {
            left.push(Left {
                message: update(*number),
                notes: 0,
                is_begun: false,
            });
        }
        let found = left.iter().position(|left| left.message.id == id);
        let found = found.expect("a line about a message that is not there");
        match record {
            Told::Accepted(_) => {}
            Told::Edited(_) => left[found].message.text = EDITED.to_owned(),
            Told::Fetched(_) => left[found].notes += 1,
            Told::Begun(_) => left[found].is_begun = true,
            Told::Taken(_) => drop(left.remove(found)),
        }
    }
    let (begun, waiting): (Vec<_>, Vec<_>) = left.into_iter().partition(|left| left.is_begun);
    let messages = |list: Vec<Left>| {
        let message = |mut left: Left| {
            left.message.text += &format!("\n{NOTE}").repeat(left.notes);
            left.message
        };
        list.into_iter().map(message).collect()
    };
    (messages(waiting), messages(begun))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A power cut can leave any beginning of what was written.
    #[test]
    fn cut_anywhere_it_says_what_its_whole_lines_say(
        steps in proptest::collection::vec(step(), 0..16),
        cut in any::<proptest::sample::Index>(),
    ) {
        let place = Place::new();
        let inbox = place.open();
        let told = play(&inbox, &steps);
        prop_assert_eq!((inbox.waiting(), inbox.begun()), outcome(&told));
        drop(inbox);
        let content = std::fs::read(place.file()).unwrap();
        let cut = cut.index(content.len() + 1);
        let whole = content[..cut].iter().filter(|byte| **byte == b'\n').count();
        std::fs::write(place.file(), &content[..cut]).unwrap();

        let inbox = place.open();
        let (mut waiting, begun) = outcome(&told[..whole]);
        prop_assert_eq!((inbox.waiting(), inbox.begun()), (waiting.clone(), begun.clone()));
        prop_assert_eq!(inbox.repairs().is_empty(), content[..cut].is_empty() || content[cut - 1] == b'\n');
        // What its lines say is known again; and it goes on.
        let accepted = told[..whole].iter().filter_map(|fact| match fact {
            Told::Accepted(number) => Some(update(*number)),
            _ => None,
        });
        prop_assert_eq!(inbox.accept(accepted.collect()).unwrap(), vec![]);
        inbox.accept(vec![update(99)]).unwrap();
        drop(inbox);
        waiting.push(update(99));
        let inbox = place.open();
        prop_assert_eq!((inbox.waiting(), inbox.begun()), (waiting, begun));
    }
}
