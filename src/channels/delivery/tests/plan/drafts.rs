//! Drafts: when they are shown, edited, moved and removed.

use super::*;
use crate::channels::delivery::plan::REMOVALS;

#[test]
fn a_draft_waits_is_edited_and_its_answer_takes_its_place() {
    let mut plan = empty();
    plan.draft(&key("a"), &chat("1"), text("one".to_owned(), "7"), SECOND);
    assert_eq!(waits_until(&plan, SECOND), 2 * SECOND);
    plan.draft(
        &key("a"),
        &chat("1"),
        text("one two".to_owned(), "7"),
        SECOND,
    );
    let ticket = take(&mut plan, 2 * SECOND);
    let shows = |ticket: &Ticket, wanted: &str, in_message: Option<&str>| {
        matches!(&ticket.job, Job::Show { text, message, .. }
            if text.text == wanted && message.as_deref() == in_message)
    };
    assert!(shows(&ticket, "one two", None), "{ticket:?}");
    finish(&mut plan, ticket, done("55"), 2 * SECOND);
    plan.draft(
        &key("a"),
        &chat("1"),
        text("one two".to_owned(), "7"),
        3 * SECOND,
    );
    assert!(
        matches!(plan.look(9 * SECOND), Next::Nothing),
        "the same again"
    );
    plan.draft(
        &key("a"),
        &chat("1"),
        text("three".to_owned(), "7"),
        3 * SECOND,
    );
    let ticket = take(&mut plan, 3 * SECOND);
    assert!(shows(&ticket, "three", Some("55")), "{ticket:?}");
    let edited = Outcome::Done {
        message: None,
        is_last: true,
    };
    finish(&mut plan, ticket, edited, 3 * SECOND);
    // The answer is in the outbox: a newer draft is not shown any more.
    plan.draft(
        &key("a"),
        &chat("1"),
        text("four".to_owned(), "7"),
        4 * SECOND,
    );
    plan.set_backlog(backlog([head(1, "1", Some("a"))]));
    plan.resting(&key("a"));
    let ticket = take(&mut plan, 5 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: Some(edits), .. } if edits == "55"),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done("55"), 5 * SECOND);
    plan.set_backlog(Backlog::default());
    assert!(matches!(plan.look(99 * SECOND), Next::Nothing));
    assert!(plan.works.is_empty());
}

#[test]
fn what_goes_on_for_long_is_shown_less_often() {
    let mut plan = empty();
    let mut now = SECOND;
    let mut gaps = Vec::new();
    for number in 0..4 * DRAFT_EDITS {
        plan.draft(&key("a"), &chat("1"), text(number.to_string(), ""), now);
        let at = match plan.look(now) {
            Next::At(at) => at,
            _ => now,
        };
        gaps.push((at - now).as_secs());
        now = at;
        let ticket = take(&mut plan, now);
        finish(&mut plan, ticket, done("5"), now);
    }
    assert_eq!(gaps[..5], [1, 1, 1, 1, 2]);
    assert_eq!(gaps.last(), Some(&8));
}

#[test]
fn two_commands_and_a_turn_in_one_chat_have_a_message_each() {
    let mut plan = empty();
    for (name, second) in [("turn", 1), ("one", 2), ("two", 3)] {
        let now = second * SECOND;
        plan.working(&key(name), &chat("1"), now);
        plan.draft(&key(name), &chat("1"), text(name.to_owned(), ""), now);
    }
    let mut now = 9 * SECOND;
    for _ in 0..3 {
        now += SECOND;
        let ticket = take(&mut plan, now);
        let Job::Show { text, .. } = &ticket.job else {
            panic!("{ticket:?}");
        };
        let message = format!("message of {}", text.text);
        finish(&mut plan, ticket, done(&message), now);
    }
    plan.set_backlog(backlog([head(1, "1", Some("two"))]));
    plan.resting(&key("two"));
    now += SECOND;
    let ticket = take(&mut plan, now);
    let own = "message of two";
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: Some(edits), .. } if edits == own),
        "{ticket:?}"
    );
}

#[test]
fn drafts_move_below_what_is_sent_and_go_when_nothing_replaces_them() {
    let left = Draft {
        key: key("old"),
        to: chat("2"),
        message: "66".to_owned(),
    };
    let mut plan = Plan::new(capabilities(), 5, is_group, false, vec![left]);
    plan.working(&key("a"), &chat("1"), SECOND);
    plan.draft(&key("a"), &chat("1"), text("one".to_owned(), ""), SECOND);
    let ticket = take(&mut plan, 2 * SECOND);
    let ticket = match ticket.job {
        Job::Type { .. } => {
            finish(&mut plan, ticket, done(""), 2 * SECOND);
            take(&mut plan, 2 * SECOND)
        }
        _ => ticket,
    };
    finish(&mut plan, ticket, done("55"), 2 * SECOND);
    plan.set_backlog(backlog([head(1, "1", None), head(2, "2", None)]));
    let mut jobs = Vec::new();
    for second in 3..9 {
        while let Next::Do(ticket) = plan.take(second * SECOND) {
            jobs.push(match &ticket.job {
                Job::Delete { message, .. } => format!("delete {message}"),
                Job::Deliver { id, .. } => format!("deliver {id}"),
                Job::Show { text, .. } => format!("show {}", text.text),
                Job::Type { .. } => "type".to_owned(),
                other => panic!("{other:?}"),
            });
            let heads = match &ticket.job {
                Job::Deliver { id: 1, .. } => vec![head(2, "2", None)],
                Job::Deliver { .. } => Vec::new(),
                _ => plan_heads(&jobs),
            };
            finish(&mut plan, ticket, done("77"), second * SECOND);
            plan.set_backlog(backlog(heads));
        }
    }
    jobs.retain(|job| job != "type");
    assert_eq!(
        jobs,
        [
            "delete 55",
            "deliver 1",
            "delete 66",
            "deliver 2",
            "show one"
        ]
    );
    plan.resting(&key("a"));
    let ticket = take(&mut plan, 20 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Delete { message, again: false, .. } if message == "77"),
        "{ticket:?}"
    );
}

#[test]
fn the_end_of_work_under_which_somebody_wrote_is_a_message_of_its_own() {
    let mut plan = empty();
    plan.draft(&key("a"), &chat("1"), text("one".to_owned(), ""), SECOND);
    let ticket = take(&mut plan, 3 * SECOND);
    finish(&mut plan, ticket, done("55"), 3 * SECOND);
    plan.overtake(&chat("1"));
    plan.draft(
        &key("a"),
        &chat("1"),
        text("two".to_owned(), ""),
        4 * SECOND,
    );
    let ticket = take(&mut plan, 20 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Delete { message, .. } if message == "55"),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done(""), 20 * SECOND);
    let ticket = take(&mut plan, 40 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Show { message: None, .. }),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done("66"), 40 * SECOND);
    plan.set_backlog(backlog([head(1, "1", Some("a"))]));
    plan.resting(&key("a"));
    let ticket = take(&mut plan, 60 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Delete { message, .. } if message == "66"),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done(""), 60 * SECOND);
    let ticket = take(&mut plan, 80 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: None, .. }),
        "{ticket:?}"
    );
}

/// What is still to be delivered after these jobs.
fn plan_heads(jobs: &[String]) -> Vec<Head> {
    let heads = [head(1, "1", None), head(2, "2", None)].into_iter();
    heads
        .filter(|head| !jobs.contains(&format!("deliver {}", head.id)))
        .collect()
}

fn live(words: &str) -> DraftText {
    DraftText {
        is_live: true,
        ..text(words.to_owned(), "")
    }
}

#[test]
fn a_live_view_is_shown_at_once_and_never_less_often() {
    let mut plan = empty();
    let mut now = SECOND;
    plan.draft(&key("a"), &chat("1"), live("0"), now);
    let ticket = take(&mut plan, now);
    finish(&mut plan, ticket, done("55"), now);
    for number in 1..100 {
        plan.draft(&key("a"), &chat("1"), live("passing"), now);
        plan.draft(&key("a"), &chat("1"), live(&number.to_string()), now);
        assert_eq!(waits_until(&plan, now), now + SECOND, "{number}");
        now += SECOND;
        let ticket = take(&mut plan, now);
        let is_newest = matches!(&ticket.job, Job::Show { text, message: Some(_), .. } if text.text == number.to_string());
        assert!(is_newest, "{ticket:?}");
        finish(&mut plan, ticket, done("55"), now);
    }
}

#[test]
fn what_is_lowered_is_deleted_and_sent_again() {
    let mut plan = empty();
    plan.lower(&key("a"));
    plan.draft(&key("a"), &chat("1"), live("screen"), SECOND);
    let ticket = take(&mut plan, SECOND);
    finish(&mut plan, ticket, done("55"), SECOND);
    assert!(matches!(plan.look(9 * SECOND), Next::Nothing));
    plan.lower(&key("a"));
    let ticket = take(&mut plan, 9 * SECOND);
    let is_deleted =
        matches!(&ticket.job, Job::Delete { message, again: true, .. } if message == "55");
    assert!(is_deleted, "{ticket:?}");
    finish(&mut plan, ticket, done(""), 9 * SECOND);
    let ticket = take(&mut plan, 9 * SECOND);
    let is_sent =
        matches!(&ticket.job, Job::Show { text, message: None, .. } if text.text == "screen");
    assert!(is_sent, "{ticket:?}");
    finish(&mut plan, ticket, done("56"), 9 * SECOND);
    assert!(matches!(plan.look(99 * SECOND), Next::Nothing));
}

#[test]
fn a_message_is_deleted_once_and_again_after_a_failure() {
    let mut plan = empty();
    plan.remove(&chat("1"), "7");
    let ticket = take(&mut plan, SECOND);
    let is_removed =
        |ticket: &Ticket| matches!(&ticket.job, Job::Remove { message, .. } if message == "7");
    assert!(is_removed(&ticket), "{ticket:?}");
    finish(&mut plan, ticket, Outcome::RetryAfter(5 * SECOND), SECOND);
    let at = waits_until(&plan, SECOND);
    assert!(at >= 6 * SECOND, "{at:?}");
    let ticket = take(&mut plan, at);
    assert!(is_removed(&ticket), "{ticket:?}");
    finish(&mut plan, ticket, done(""), at);
    assert!(matches!(plan.look(at + 99 * SECOND), Next::Nothing));
    for number in 0..1000 {
        plan.remove(&chat("1"), &number.to_string());
    }
    let mut count = 0;
    let mut now = at;
    while let Next::Do(ticket) = plan.take(now) {
        count += 1;
        now += SECOND;
        finish(&mut plan, ticket, done(""), now);
    }
    assert_eq!(count, REMOVALS);
}

#[test]
fn a_draft_that_is_rate_limited_holds_back_no_answer() {
    let mut plan = empty();
    plan.draft(&key("a"), &chat("1"), text("one".to_owned(), ""), SECOND);
    let ticket = take(&mut plan, 2 * SECOND);
    finish(&mut plan, ticket, done("55"), 2 * SECOND);
    plan.draft(
        &key("a"),
        &chat("1"),
        text("two".to_owned(), ""),
        3 * SECOND,
    );
    let ticket = take(&mut plan, 3 * SECOND);
    let limited = Outcome::RetryAfter(600 * SECOND);
    finish(&mut plan, ticket, limited, 3 * SECOND);
    assert_eq!(waits_until(&plan, 4 * SECOND), 603 * SECOND, "the draft");
    plan.set_backlog(backlog([head(1, "1", Some("a"))]));
    plan.resting(&key("a"));
    let ticket = take(&mut plan, 4 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: Some(edits), .. } if edits == "55"),
        "{ticket:?}"
    );
    finish(
        &mut plan,
        ticket,
        Outcome::RetryAfter(9 * SECOND),
        4 * SECOND,
    );
    assert_eq!(waits_until(&plan, 4 * SECOND), 13 * SECOND, "the chat");
}

#[test]
fn a_preview_is_renewed_before_it_goes_and_costs_nothing_of_the_pace() {
    let mut plan = empty();
    let (turn, to) = (DraftKey::turn(&chat("1").session()), chat("1"));
    plan.working(&turn, &to, SECOND);
    plan.draft(&turn, &to, text("one".to_owned(), ""), SECOND);
    let ticket = take(&mut plan, 2 * SECOND);
    let number = |ticket: &Ticket| match &ticket.job {
        Job::Show {
            preview: Some(number),
            message: None,
            text,
            ..
        } => (*number, text.text.clone()),
        job => panic!("{job:?}"),
    };
    let (first, shown) = number(&ticket);
    assert_eq!(shown, "one");
    finish(&mut plan, ticket, Outcome::Previewed, 2 * SECOND);
    // Shown as often as it changes, however long it takes.
    for second in 3..40 {
        let news = second.to_string();
        plan.draft(&turn, &to, text(news.clone(), ""), second * SECOND);
        let ticket = take(&mut plan, second * SECOND);
        assert_eq!(number(&ticket), (first, news));
        finish(&mut plan, ticket, Outcome::Previewed, second * SECOND);
    }
    // It says "typing" meanwhile, which is looked at elsewhere.
    plan.works
        .values_mut()
        .for_each(|work| work.typing_at = None);
    assert_eq!(waits_until(&plan, 40 * SECOND), 59 * SECOND);
    let ticket = take(&mut plan, 59 * SECOND);
    assert_eq!(number(&ticket), (first, "39".to_owned()));
    finish(&mut plan, ticket, Outcome::Previewed, 59 * SECOND);
    // The answer waits for no preview.
    plan.set_backlog(backlog([head(1, "1", None)]));
    plan.resting(&turn);
    let ticket = take(&mut plan, 59 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Deliver { edits: None, .. }),
        "{ticket:?}"
    );
    finish(&mut plan, ticket, done("8"), 59 * SECOND);
    plan.set_backlog(backlog([]));
    assert!(matches!(plan.look(600 * SECOND), Next::Nothing));
    // The next turn has another number, and buttons need a message.
    plan.working(&turn, &to, 700 * SECOND);
    plan.draft(&turn, &to, text("again".to_owned(), ""), 700 * SECOND);
    let ticket = take(&mut plan, 701 * SECOND);
    assert_ne!(number(&ticket).0, first);
    finish(&mut plan, ticket, done("9"), 701 * SECOND);
    plan.draft(&turn, &to, text("more".to_owned(), ""), 701 * SECOND);
    let ticket = take(&mut plan, 703 * SECOND);
    assert!(
        matches!(&ticket.job, Job::Show { preview: None, message: Some(message), .. } if message == "9"),
        "where there are none, it is a message: {ticket:?}"
    );
}
