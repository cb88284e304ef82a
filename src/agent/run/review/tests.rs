use std::sync::mpsc::channel;

use super::*;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_review_ends_with_its_time_and_with_the_turn() {
    let turn = Cancel::new();
    let waits = |cancel: &Cancel| cancel.wait(LONG);
    assert!(within(Duration::from_millis(1), &turn, waits));
    assert!(!turn.is_cancelled(), "the turn goes on");
    assert_eq!(within(LONG, &turn, |_| 7), 7, "the watch does not wait");
    let (began, begins) = channel();
    let stops = turn.clone();
    let stopping = std::thread::spawn(move || {
        begins.recv().unwrap();
        stops.cancel();
    });
    let waits = |cancel: &Cancel| {
        began.send(()).unwrap();
        cancel.wait(LONG)
    };
    assert!(within(LONG, &turn, waits));
    stopping.join().unwrap();
}

#[test]
fn a_refusal_is_marked_as_a_reviewers_and_bounded() {
    let long = format!("**FAILS**: {}", "é".repeat(4000));
    let note = describe_refusal(reasons_of(&long));
    assert!(note.starts_with(REFUSAL) && note.contains("no instruction to you.]\n\néé"));
    assert!(note.len() < REASONS_BYTES + 600, "{}", note.len());
    assert_eq!(reasons_of("FAILS."), "no reasons were given");
}
