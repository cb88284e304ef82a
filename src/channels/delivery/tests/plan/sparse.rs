//! A channel that can edit nothing: what is shown of work there.

use super::*;
use crate::base::message::CommandButton;
use crate::channels::delivery::work::{SPARSE_INTERVAL, STILL_TIME};

fn without_edits(drafts: Vec<Draft>) -> Plan {
    let capabilities = Capabilities {
        edits: false,
        buttons: false,
        ..capabilities()
    };
    Plan::new(capabilities, 5, is_group, false, drafts)
}

fn live(content: &str) -> DraftText {
    DraftText {
        is_live: true,
        ..text(content, "")
    }
}

#[track_caller]
fn shows(plan: &mut Plan, now: Duration, wanted: &str) {
    let ticket = take(plan, now);
    let is_new =
        matches!(&ticket.job, Job::Show { text, message: None, .. } if text.text == wanted);
    assert!(is_new, "{ticket:?}");
    finish(plan, ticket, done("55"), now);
}

#[test]
fn progress_comes_once_a_minute_and_only_what_is_new_of_it() {
    let mut plan = without_edits(Vec::new());
    let draft = |plan: &mut Plan, content: &str, now| {
        plan.draft(&key("a"), &chat("1"), text(content, ""), now);
    };
    draft(&mut plan, "one", SECOND);
    assert_eq!(waits_until(&plan, SECOND), SECOND + SPARSE_INTERVAL);
    draft(&mut plan, "one\n\ntwo", 2 * SECOND);
    let first = SECOND + SPARSE_INTERVAL;
    shows(&mut plan, first, "one\n\ntwo");
    draft(&mut plan, "one\n\ntwo\n\nthree", first + SECOND);
    assert_eq!(waits_until(&plan, first + SECOND), first + SPARSE_INTERVAL);
    shows(&mut plan, first + SPARSE_INTERVAL, "three");
    assert_eq!(plan.shown_by(&key("a")), ["55"]);
    // Neither what a person writes nor the answer deletes or edits anything.
    plan.overtake(&chat("1"));
    plan.set_backlog(backlog([head(1, "1", Some("a"))]));
    plan.resting(&key("a"));
    let ticket = take(&mut plan, first + 2 * SPARSE_INTERVAL);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: None, .. }),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done("56"), first + 2 * SPARSE_INTERVAL);
    assert!(plan.works.is_empty());
}

#[test]
fn a_message_that_would_be_edited_is_sent() {
    let mut plan = without_edits(vec![Draft {
        key: key("left"),
        to: chat("1"),
        message: "5".to_owned(),
    }]);
    let edit = Head {
        edits: Some("5".to_owned()),
        ..head(1, "1", Some("left"))
    };
    plan.set_backlog(backlog([edit]));
    let ticket = take(&mut plan, SECOND);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: None, .. }),
        "{ticket:?}"
    );
}

#[test]
fn a_screen_is_shown_when_it_is_still_or_wanted() {
    let mut plan = without_edits(Vec::new());
    let draw = |plan: &mut Plan, content: &str, now| {
        plan.draft(&key("t"), &chat("1"), live(content), now);
    };
    for tick in 1..20 {
        draw(&mut plan, &format!("screen {tick}"), tick * SECOND);
        assert_eq!(
            waits_until(&plan, tick * SECOND),
            tick * SECOND + STILL_TIME
        );
    }
    // The same again is no change.
    draw(&mut plan, "screen 19", 20 * SECOND);
    shows(&mut plan, 19 * SECOND + STILL_TIME, "screen 19");
    assert!(matches!(plan.look(99 * SECOND), Next::Nothing));
    plan.lower(&key("t"));
    shows(&mut plan, 100 * SECOND, "screen 19");
    draw(&mut plan, "screen 20", 101 * SECOND);
    plan.lower(&key("t"));
    shows(&mut plan, 102 * SECOND, "screen 20");
    assert!(matches!(plan.look(999 * SECOND), Next::Nothing));
}

#[test]
fn what_lasts_is_said_once() {
    let mut plan = without_edits(Vec::new());
    for minute in 0..5 {
        let lasting = DraftText {
            buttons: vec![vec![CommandButton {
                label: "Revoke".to_owned(),
                command: "/approvals revoke".to_owned(),
            }]],
            ..text(format!("{} min left", 10 - minute), "")
        };
        let now = minute * 60 * SECOND;
        plan.draft(&key("a"), &chat("1"), lasting, now);
        if minute == 0 {
            shows(&mut plan, now, "10 min left");
        }
        assert!(matches!(plan.look(now + 59 * SECOND), Next::Nothing));
    }
}

#[test]
fn a_question_does_not_wait_for_what_it_belongs_to() {
    let mut plan = without_edits(Vec::new());
    plan.draft(&key("a"), &chat("1"), text("building", ""), SECOND);
    plan.notify(&chat("1"), question(7));
    let ticket = take(&mut plan, SECOND);
    assert!(matches!(ticket.job, Job::Notify { .. }), "{ticket:?}");
}
