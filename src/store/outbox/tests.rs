//! The life of an outbox: messages pending, sent piece by piece, killed, torn, full, empty.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::base::limits::append_log::{COMPACT_BYTES, CONTENT_BYTES};
use crate::base::limits::outbox::ONCE_IDS_MAX;
use crate::base::limits::schedule::{CHAT_ROOM_MAX, OUTBOX_ROOM_MAX};
use crate::base::message::Writer;
use crate::store::append_log::tests::{is_alone, limit_files, run_alone};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("outbox.jsonl")
    }

    fn open(&self) -> Outbox {
        Outbox::open(&self.file()).unwrap()
    }

    fn reopen(&self, outbox: Outbox) -> Outbox {
        drop(outbox);
        self.open()
    }

    fn length(&self) -> u64 {
        std::fs::metadata(self.file()).unwrap().len()
    }
}

fn chat(number: u32) -> Address {
    Address::new("telegram", &number.to_string())
}

fn key(number: u32) -> DraftKey {
    DraftKey::turn(&chat(number).session())
}

fn closes(number: u32, journal: u64) -> Option<ClosesTurn> {
    let session = chat(number).session();
    Some(ClosesTurn { session, journal })
}

fn show(outbox: &Outbox, number: u32, message: Option<&str>) {
    let chat = chat(number);
    outbox.set_draft(&key(number), message.map(|message| (&chat, message)));
}

/// The number of the next message that may be sent to one of the chats.
fn next(outbox: &Outbox, not: &[u32]) -> Option<u64> {
    let not: Vec<Address> = not.iter().map(|number| chat(*number)).collect();
    let heads = outbox.backlog("telegram").heads;
    let head = heads.into_iter().find(|head| !not.contains(&head.to));
    head.map(|head| head.id)
}

fn answer(number: u32, text: &str) -> OutgoingMessage {
    OutgoingMessage {
        replaces: Some(key(number)),
        ..OutgoingMessage::text(&chat(number), text)
    }
}

fn ids(outbox: &Outbox) -> Vec<u64> {
    outbox.pending().iter().map(|pending| pending.id).collect()
}

#[test]
fn a_message_stays_until_it_is_confirmed_and_then_the_file_is_empty() {
    let place = Place::new();
    let outbox = place.open();
    let mut parcel = OutgoingMessage::text(&chat(1), "an answer");
    parcel.files.push("/w/chart.png".into());
    parcel.buttons.push(vec!["yes".into(), "no".into()]);
    parcel.reply_to = "55".into();
    let first = outbox.add(&parcel, closes(1, 1234)).unwrap();
    let second = outbox.add(&answer(1, "another"), None).unwrap();
    outbox.sent(first, 2).unwrap();
    let outbox = place.reopen(outbox);
    let pending = &outbox.pending()[0];
    assert_eq!((pending.id, pending.pieces), (first, 2));
    assert_eq!(pending.message, parcel);
    assert_eq!(pending.closes, closes(1, 1234));
    assert_ne!(pending.key, outbox.pending()[1].key);
    outbox.done(first).unwrap();
    assert_eq!(ids(&outbox), [second]);
    outbox.done(second).unwrap();
    assert_eq!(place.length(), 0);
    let third = outbox.add(&answer(1, "later"), None).unwrap();
    assert!(third > second);
    drop(outbox);
    assert_eq!(ids(&place.open()), [third]);
}

#[test]
fn what_closes_a_turn_is_held_until_the_turn_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outbox.jsonl");
    let outbox = Outbox::open(&path).unwrap();
    let next = |outbox: &Outbox| next(outbox, &[]);
    let closing = outbox
        .add(&answer(1, "closes a turn"), closes(1, 100))
        .unwrap();
    outbox.add(&answer(1, "behind it"), None).unwrap();
    assert_eq!(next(&outbox), None);
    let elsewhere = outbox.add(&answer(2, "elsewhere"), None).unwrap();
    assert_eq!(next(&outbox), Some(elsewhere));
    drop(outbox);
    let outbox = Outbox::open(&path).unwrap();
    assert_eq!(
        next(&outbox),
        Some(elsewhere),
        "it is not known to have ended"
    );
    outbox.release(&chat(1).session());
    assert_eq!(next(&outbox), Some(closing));
}

#[test]
fn an_answer_that_is_given_up_holds_back_nothing() {
    let place = Place::new();
    let outbox = place.open();
    outbox.add(&answer(1, "given up"), closes(1, 7)).unwrap();
    outbox.add(&answer(2, "goes on"), closes(2, 7)).unwrap();
    let other = outbox.add(&answer(1, "what follows"), None).unwrap();
    assert_eq!(next(&outbox, &[]), None);
    outbox.withdraw(&chat(1).session()).unwrap();
    assert_eq!(next(&outbox, &[]), Some(other));
    let outbox = place.reopen(outbox);
    let left: Vec<String> = outbox
        .pending()
        .into_iter()
        .map(|pending| pending.message.text)
        .collect();
    assert_eq!(left, ["goes on", "what follows"]);
    // An earlier turn's is on its way, and the last one's is not.
    outbox.release_before(&chat(2).session(), 7);
    assert_eq!(next(&outbox, &[1]), None);
    outbox.release_before(&chat(2).session(), 8);
    assert!(next(&outbox, &[1]).is_some());
    outbox.withdraw(&chat(2).session()).unwrap();
    assert_eq!(outbox.count(), 2);
}

/// Who waits for a chat that cannot be served would look again and again without a pause.
#[test]
fn a_chat_whose_next_words_are_held_has_nothing_to_be_sent() {
    let place = Place::new();
    let outbox = place.open();
    outbox.add(&answer(1, "held"), closes(1, 700)).unwrap();
    outbox
        .add(&OutgoingMessage::text(&chat(1), "behind it"), None)
        .unwrap();
    outbox
        .add(&OutgoingMessage::text(&chat(2), "free"), None)
        .unwrap();
    let chats = |outbox: &Outbox| -> Vec<Address> {
        let heads = outbox.backlog("telegram").heads;
        heads.into_iter().map(|head| head.to).collect()
    };
    assert_eq!(chats(&outbox), [chat(2)]);
    assert_eq!(outbox.count(), 3);
    assert_eq!(outbox.backlog("telegram").replaces, [key(1)]);
    outbox.release(&chat(2).session());
    assert_eq!(chats(&outbox), [chat(2)]);
    outbox.release(&chat(1).session());
    assert_eq!(chats(&outbox), [chat(1), chat(2)]);
    assert_eq!(outbox.backlog("other"), Backlog::default());
}

#[test]
fn the_oldest_of_a_channel_comes_first_and_chats_do_not_wait_for_each_other() {
    let place = Place::new();
    let outbox = place.open();
    let add = |parcel| outbox.add(&parcel, None).unwrap();
    let other = add(OutgoingMessage::text(
        &Address::new("other", "1"),
        "elsewhere",
    ));
    let (one, _) = (add(answer(1, "a")), add(answer(1, "b")));
    let two = add(answer(2, "c"));
    assert_eq!(next(&outbox, &[]), Some(one));
    assert_eq!(next(&outbox, &[1]), Some(two));
    assert_eq!(next(&outbox, &[1, 2]), None);
    let heads = outbox.backlog("other").heads;
    assert_eq!((heads.len(), heads[0].id), (1, other));
}

#[test]
fn a_chat_that_has_moved_takes_its_messages_along_in_order() {
    let place = Place::new();
    let outbox = place.open();
    let one = outbox.add(&answer(1, "a"), None).unwrap();
    let two = outbox.add(&answer(2, "b"), None).unwrap();
    let three = outbox.add(&answer(1, "c"), None).unwrap();
    show(&outbox, 1, Some("77"));
    outbox.moved(&chat(1), &chat(9)).unwrap();
    let outbox = place.reopen(outbox);
    let to: Vec<(u64, Address)> = outbox
        .pending()
        .into_iter()
        .map(|pending| (pending.id, pending.message.to))
        .collect();
    assert_eq!(to, [(one, chat(9)), (two, chat(2)), (three, chat(9))]);
    assert_eq!(outbox.draft(&key(1)), None);
}

#[test]
fn a_confirmation_that_says_nothing_new_is_not_written() {
    let place = Place::new();
    let outbox = place.open();
    let id = outbox.add(&answer(1, "a"), None).unwrap();
    outbox.sent(id, 2).unwrap();
    let length = place.length();
    outbox.sent(id, 1).unwrap();
    outbox.sent(id + 7, 1).unwrap();
    outbox.done(id + 7).unwrap();
    assert_eq!((place.length(), outbox.pending()[0].pieces), (length, 2));
}

#[test]
fn a_draft_is_known_after_a_restart_until_its_answer_has_taken_its_place() {
    let place = Place::new();
    let outbox = place.open();
    show(&outbox, 1, Some("77"));
    show(&outbox, 2, Some("88"));
    let id = outbox.add(&answer(1, "the answer"), None).unwrap();
    let outbox = place.reopen(outbox);
    assert_eq!(outbox.draft(&key(1)).as_deref(), Some("77"));
    outbox.sent(id, 1).unwrap();
    assert_eq!(outbox.draft(&key(1)), None);
    // The next turn of the chat has begun while the rest of the answer is on its way.
    show(&outbox, 1, Some("99"));
    outbox.done(id).unwrap();
    let outbox = place.reopen(outbox);
    assert_eq!(outbox.draft(&key(1)).as_deref(), Some("99"));
    assert_eq!(outbox.draft(&key(2)).as_deref(), Some("88"));
    show(&outbox, 1, None);
    show(&outbox, 2, None);
    assert_eq!(place.length(), 0);
}

#[test]
fn an_answer_of_one_piece_takes_the_draft_with_it_and_other_parcels_do_not() {
    let place = Place::new();
    let outbox = place.open();
    show(&outbox, 1, Some("77"));
    let note = outbox
        .add(&OutgoingMessage::text(&chat(1), "by the way"), None)
        .unwrap();
    outbox.done(note).unwrap();
    assert_eq!(outbox.draft(&key(1)).as_deref(), Some("77"));
    let id = outbox.add(&answer(1, "short"), None).unwrap();
    outbox.done(id).unwrap();
    assert_eq!((outbox.draft(&key(1)), place.length()), (None, 0));
}

#[test]
fn drafts_are_bounded_and_the_oldest_go() {
    let place = Place::new();
    let outbox = place.open();
    for number in 0..100 {
        show(&outbox, number, Some("1"));
    }
    let outbox = place.reopen(outbox);
    assert_eq!(outbox.draft(&key(99 - DRAFTS_MAX as u32)), None);
    assert!(outbox.draft(&key(100 - DRAFTS_MAX as u32)).is_some());
}

#[test]
fn a_full_outbox_says_so_and_keeps_what_it_has() {
    let place = Place::new();
    let outbox = place.open();
    let full = |chats: std::ops::Range<u32>| {
        let mut all = chats.flat_map(|chat| (0..CHAT_MAX).map(move |_| chat));
        all.find_map(|chat| outbox.add(&answer(chat, "x"), None).err())
    };
    let error = full(0..9).unwrap().to_string();
    assert!(error.contains("The outbox is full: 450"), "{error}");
    // Chats for which nothing waits have some room yet.
    for chat in 100..150 {
        outbox.add(&answer(chat, "x"), None).unwrap();
    }
    let error = outbox.add(&answer(200, "x"), None).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("The outbox is full: 500"), "{error}");
    outbox.done(1).unwrap();
    outbox.add(&answer(200, "y"), None).unwrap();
    assert_eq!(ids(&outbox).len(), MESSAGES_MAX);
}

/// Adds as many messages of a writer for a chat as it may, and returns how many these are.
fn fill(outbox: &Outbox, from: Writer, number: u32, text: &str) -> usize {
    let message = OutgoingMessage {
        from,
        ..OutgoingMessage::text(&chat(number), text)
    };
    let added = (0..).take_while(|_| outbox.add(&message, None).is_ok());
    added.count()
}

#[test]
fn what_models_send_leaves_room_for_answers_in_each_chat_and_in_all() {
    let place = Place::new();
    let outbox = place.open();
    assert_eq!(fill(&outbox, Writer::Model, 1, "x"), CHAT_ROOM_MAX);
    assert_eq!(
        fill(&outbox, Writer::Notice, 1, "x"),
        CHAT_NOTICES_MAX - CHAT_ROOM_MAX
    );
    outbox.add(&answer(1, "an answer"), closes(1, 7)).unwrap();
    // Also after a restart.
    let outbox = place.reopen(outbox);
    assert_eq!(fill(&outbox, Writer::Model, 1, "x"), 0);
    for number in 2..100 {
        fill(&outbox, Writer::Model, number, "x");
    }
    assert_eq!(outbox.count(), OUTBOX_ROOM_MAX);
    for number in 100..200 {
        fill(&outbox, Writer::Notice, number, "x");
    }
    assert_eq!(outbox.count(), NOTICES_MAX);
    outbox.add(&answer(1, "an answer"), closes(1, 9)).unwrap();
    outbox.add(&answer(999, "an answer"), None).unwrap();
}

#[test]
fn long_messages_to_a_chat_take_neither_its_room_nor_that_of_others() {
    let long = "x".repeat(CONTENT_BYTES / 8);
    let place = Place::new();
    let outbox = place.open();
    for number in 1..100 {
        assert!(fill(&outbox, Writer::Model, number, &long) < 5);
    }
    outbox.add(&answer(1, &long), closes(1, 7)).unwrap();
    for number in 100..110 {
        outbox.add(&answer(number, &long), None).unwrap();
    }
}

#[test]
fn one_chat_never_takes_the_room_of_another() {
    let place = Place::new();
    let outbox = place.open();
    // What others ask for leaves an owner's answers and questions room.
    let of_others = fill(&outbox, Writer::Others, 1, "x");
    assert!((CHAT_MAX / 2..CHAT_MAX).contains(&of_others), "{of_others}");
    assert_eq!(fill(&outbox, Writer::Answer, 1, "x"), CHAT_MAX - of_others);
    let error = outbox.add(&answer(1, "x"), None).unwrap_err().to_string();
    assert!(error.contains("100 messages to telegram:1"), "{error}");
    outbox.add(&answer(2, "x"), None).unwrap();
    // What is set aside holds up nothing in its chat.
    outbox.set_aside(1).unwrap();
    outbox.add(&answer(1, "x"), None).unwrap();
}

#[test]
fn pending_messages_are_bounded_by_bytes_and_a_long_text_is_cut() {
    let place = Place::new();
    let outbox = place.open();
    let long = answer(1, &"\u{1}".repeat(2 * CONTENT_BYTES));
    let longs = (0..9).map(|number| OutgoingMessage {
        to: chat(number),
        ..long.clone()
    });
    let refused = longs.filter(|long| outbox.add(long, None).is_err());
    assert!(refused.count() > 0);
    assert!(place.length() <= BYTES_MAX as u64, "{}", place.length());
    let pending = place.reopen(outbox).pending();
    assert!(pending.len() > 1 && pending[0].message.text.ends_with("bytes in all]"));
    let mut huge = answer(1, "");
    huge.files = vec!["/x".repeat(LINE_BYTES)];
    let error = Place::new().open().add(&huge, None).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn while_one_chat_cannot_be_reached_the_file_stays_short() {
    let place = Place::new();
    let outbox = place.open();
    show(&outbox, 3, Some("77"));
    let stuck = outbox.add(&answer(1, "stuck"), closes(1, 9)).unwrap();
    outbox.sent(stuck, 3).unwrap();
    for _ in 0..400 {
        let id = outbox.add(&answer(2, &"x".repeat(1000)), None).unwrap();
        outbox.done(id).unwrap();
        assert!(place.length() < COMPACT_BYTES + 2048, "{}", place.length());
    }
    let before = outbox.pending();
    assert_eq!(before[0].pieces, 3);
    let outbox = place.reopen(outbox);
    assert_eq!(outbox.pending(), before);
    assert_eq!(outbox.draft(&key(3)).as_deref(), Some("77"));
    let id = outbox.add(&answer(2, "x"), None).unwrap();
    assert!(id > before[0].id);
}

#[test]
fn garbled_lines_are_skipped_and_reported() {
    let place = Place::new();
    let outbox = place.open();
    for text in ["one", "two", "three"] {
        outbox.add(&answer(1, text), None).unwrap();
    }
    drop(outbox);
    let content = std::fs::read_to_string(place.file()).unwrap();
    let content = content.replace("two", "\0\0\0") + "{\"done\":1";
    std::fs::write(place.file(), content).unwrap();
    let outbox = place.open();
    assert_eq!(ids(&outbox), [1, 3]);
    assert_eq!(
        outbox.repairs(),
        [
            "the last 9 bytes of the outbox were torn by a crash and have been cut off",
            "1 unreadable lines of the outbox were skipped"
        ]
    );
}

#[test]
fn on_a_full_disk_nothing_is_pending_that_is_not_stored() {
    run_alone("store::outbox::tests::on_a_full_disk");
}

#[test]
#[ignore = "on_a_full_disk_nothing_is_pending_that_is_not_stored runs it"]
fn on_a_full_disk() {
    if !is_alone() {
        return;
    }
    let place = Place::new();
    let outbox = place.open();
    let (one, two) = (answer(1, "one"), answer(2, "two"));
    let id = outbox.add(&one, None).unwrap();
    outbox.add(&two, None).unwrap();
    limit_files(Some(place.length() + 5));
    assert!(outbox.add(&one, None).is_err());
    // What the channel has confirmed is not sent again, whatever the disk says.
    assert!(outbox.sent(id, 1).is_err());
    assert!(outbox.done(id).is_err());
    assert_eq!(outbox.pending()[0].message, two);
    limit_files(None);
    let third = outbox.add(&one, None).unwrap();
    let outbox = place.reopen(outbox);
    assert_eq!(ids(&outbox), [2, third]);
    assert!(outbox.repairs().is_empty());
    // The last one is confirmed even where no byte more can be written.
    outbox.done(third).unwrap();
    limit_files(Some(place.length()));
    outbox.done(2).unwrap();
    assert_eq!(place.length(), 0);
}

/// What can happen to an outbox; numbers of messages count from the oldest pending one.
#[derive(Clone, Debug)]
enum Step {
    Add(u32),
    Sent(usize, usize),
    Done(usize),
    Draft(u32, Option<u32>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u32..3).prop_map(Step::Add),
        2 => (0usize..3, 1usize..4).prop_map(|(nth, pieces)| Step::Sent(nth, pieces)),
        1 => (0usize..3).prop_map(Step::Done),
        1 => (0u32..3, proptest::option::of(0u32..9)).prop_map(|(chat, draft)| Step::Draft(chat, draft)),
    ]
}

fn play(outbox: &Outbox, step: &Step) {
    let nth = |nth: usize| outbox.pending().get(nth).map(|pending| pending.id);
    match step {
        Step::Add(number) => drop(outbox.add(&answer(*number, "words"), None).unwrap()),
        Step::Sent(index, pieces) => nth(*index)
            .into_iter()
            .for_each(|id| outbox.sent(id, *pieces).unwrap()),
        Step::Done(index) => nth(*index)
            .into_iter()
            .for_each(|id| outbox.done(id).unwrap()),
        Step::Draft(number, draft) => {
            let reference = draft.map(|draft| draft.to_string());
            show(outbox, *number, reference.as_deref());
        }
    }
}

/// All that can be seen of an outbox.
fn seen(outbox: &Outbox) -> (Vec<Pending>, Vec<Option<String>>) {
    let drafts = (0..3).map(|number| outbox.draft(&key(number)));
    (outbox.pending(), drafts.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A power cut can leave any beginning of what was written since the file was empty.
    #[test]
    fn cut_anywhere_it_is_as_it_was_after_the_last_whole_line(
        steps in proptest::collection::vec(step(), 0..20),
        cut in any::<proptest::sample::Index>(),
    ) {
        let place = Place::new();
        let outbox = place.open();
        let mut history = vec![(0, seen(&outbox))];
        for step in &steps {
            play(&outbox, step);
            let length = place.length();
            // While nothing is pending the file is rewritten; if it is as long, nothing was written.
            history.retain(|(before, _)| *before < length && !outbox.pending().is_empty());
            history.push((length, seen(&outbox)));
        }
        drop(outbox);
        let content = std::fs::read(place.file()).unwrap();
        // A file rewritten with drafts begins with one write, and no state precedes it.
        let first = history[0].0 as usize;
        let cut = first + cut.index(content.len() - first + 1);
        std::fs::write(place.file(), &content[..cut]).unwrap();
        let (_, expected) = history.iter().rfind(|(length, _)| *length as usize <= cut).unwrap();

        let outbox = place.open();
        prop_assert_eq!(&seen(&outbox), expected);
        let id = outbox.add(&answer(9, "goes on"), None).unwrap();
        prop_assert!(expected.0.iter().all(|pending| pending.id < id));
        drop(outbox);
        let outbox = place.open();
        prop_assert_eq!(outbox.pending().len(), expected.0.len() + 1);
        prop_assert!(outbox.repairs().is_empty());
    }
}

#[test]
fn a_message_with_an_id_of_its_own_is_added_once() {
    let place = Place::new();
    let reminder = |run: usize| OutgoingMessage {
        once: format!("cron:a:{run}"),
        ..OutgoingMessage::text(&chat(1), "bread")
    };
    let outbox = place.open();
    let number = outbox.add(&reminder(0), None).unwrap();
    assert_eq!(outbox.add(&reminder(0), None).unwrap(), number);
    assert_eq!(ids(&outbox), [number]);
    outbox.done(number).unwrap();
    assert_eq!(outbox.add(&reminder(0), None).unwrap(), 0, "delivered");
    drop(outbox);
    let outbox = place.open();
    assert_eq!(
        outbox.add(&reminder(0), None).unwrap(),
        0,
        "after a restart"
    );
    for run in 1..=2 * ONCE_IDS_MAX {
        let number = outbox.add(&reminder(run), None).unwrap();
        outbox.done(number).unwrap();
    }
    assert_eq!(outbox.add(&reminder(2 * ONCE_IDS_MAX), None).unwrap(), 0);
    assert_ne!(outbox.add(&reminder(0), None).unwrap(), 0, "long ago");
}

#[test]
fn what_edits_a_message_says_so_until_its_first_piece_is_confirmed() {
    let place = Place::new();
    let outbox = place.open();
    let message = OutgoingMessage {
        edits: "7".to_owned(),
        ..OutgoingMessage::text(&chat(1), "done")
    };
    let number = outbox.add(&message, None).unwrap();
    let edits = |outbox: &Outbox| outbox.backlog("telegram").heads[0].edits.clone();
    assert_eq!(edits(&outbox).as_deref(), Some("7"));
    outbox.moved(&chat(1), &chat(2)).unwrap();
    assert_eq!(edits(&outbox), None, "a number of the old chat");
    outbox.add(&message, None).unwrap();
    outbox.done(number).unwrap();
    assert_eq!(edits(&outbox).as_deref(), Some("7"));
    outbox.sent(number + 1, 1).unwrap();
    assert_eq!(edits(&outbox), None);
}

#[test]
fn an_urgent_message_goes_first_also_before_one_that_is_held() {
    let place = Place::new();
    let mut outbox = place.open();
    let add = |urgent: bool, text: &str| {
        let message = OutgoingMessage {
            urgent,
            ..OutgoingMessage::text(&chat(1), text)
        };
        outbox.add(&message, None).unwrap()
    };
    let (first, stopped) = (add(false, "much output"), add(true, "Stopped."));
    outbox = place.reopen(outbox);
    assert_eq!(next(&outbox, &[]), Some(stopped));
    outbox.done(stopped).unwrap();
    assert_eq!(next(&outbox, &[]), Some(first));
}

#[test]
fn what_is_set_aside_delays_nothing_and_comes_again_when_it_is_asked_for() {
    let place = Place::new();
    let mut outbox = place.open();
    let add = |outbox: &Outbox, text| outbox.add(&answer(1, text), None).unwrap();
    let (first, second) = (add(&outbox, "bad"), add(&outbox, "good"));
    let secs = Duration::from_secs;
    outbox.note_failing(first, secs(0), "not yet", 7);
    outbox = place.reopen(outbox);
    outbox.note_failing(first, secs(90), "no", 8);
    assert_eq!(outbox.backlog("telegram").heads[0].failed, secs(90));
    outbox.set_aside(first).unwrap();
    outbox.set_aside(first).unwrap();
    for _ in 0..2 {
        assert_eq!(next(&outbox, &[]), Some(second));
        assert_eq!((outbox.count(), outbox.count_aside()), (1, 1));
        assert!(
            !outbox.backlog("telegram").replaces.is_empty(),
            "the second one replaces the draft"
        );
        outbox = place.reopen(outbox);
    }
    outbox.done(second).unwrap();
    assert_eq!(next(&outbox, &[]), None);
    assert!(outbox.backlog("telegram").replaces.is_empty());
    // It is still known after the file was compacted.
    for number in 0..2000 {
        let id = outbox.add(&answer(2, &"x".repeat(500)), None).unwrap();
        outbox.done(id).unwrap();
        assert!(number > 0 || place.length() > 0);
    }
    assert!(place.length() < COMPACT_BYTES * 2);
    outbox = place.reopen(outbox);
    assert_eq!(outbox.count_aside(), 1);
    let failing = outbox.failing(first).unwrap();
    assert_eq!(
        (failing.since_ms, failing.secs, &*failing.why),
        (7, 90, "no")
    );
    assert_eq!(outbox.retry().unwrap(), 1);
    outbox = place.reopen(outbox);
    assert_eq!(outbox.failing(first), None, "it begins again");
    assert_eq!(next(&outbox, &[]), Some(first));
    assert_eq!(outbox.retry().unwrap(), 0);
}
