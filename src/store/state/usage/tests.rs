//! Days of usage: counted, ended, written late, and come back.

use super::*;
use crate::base::access::Role;
use crate::base::clock::BUILD_EPOCH;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

#[test]
fn a_day_is_counted_by_model_and_later_as_a_sum() {
    let folder = tempfile::tempdir().unwrap();
    let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
    let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
    let usage = Usage {
        input: 10,
        output: 2,
        cached: 4,
        ..Usage::default()
    };
    tokens.add("a", usage, Role::Owner);
    tokens.add("b", usage, Role::Owner);
    tokens.add("a", usage, Role::Owner);
    assert_eq!(tokens.counts().models["a"].input, 20);
    assert_eq!(tokens.counts().today().output, 6);
    millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
    tokens.add("a", usage, Role::Owner);
    assert_eq!(tokens.counts().today(), usage);
    assert_eq!(tokens.days()[1].usage().input, 30);
    assert_eq!(tokens.days()[1].models["a"].input, 20);
}

#[test]
fn what_is_for_others_is_counted_apart_for_the_day_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let now = (BUILD_EPOCH + 10 * 86_400) * 1000;
    let millis = Arc::new(AtomicI64::new(now));
    let usage = Usage {
        input: 10,
        cost: 3,
        ..Usage::default()
    };
    // As an earlier version has left it.
    let day = Clock::Hand(millis.clone()).now().format("%Y-%m-%d");
    let old = format!(r#"{{"day":"{day}","models":{{"a":{{"input":5}}}}}}"#);
    std::fs::write(folder.path().join("usage.json"), old).unwrap();
    for known in [0, 20] {
        // A start of its own.
        let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        assert_eq!(tokens.counts().others.input, known);
        tokens.add("a", usage, Role::Owner);
        tokens.add("a", usage, Role::User);
        tokens.add("b", usage, Role::Guest);
        tokens.sync();
    }
    let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
    let counts = tokens.counts();
    assert_eq!((counts.others.input, counts.others.cost), (40, 12));
    assert_eq!(counts.today().input, 65);
    millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
    assert_eq!(tokens.counts().others, Usage::default());
}

#[test]
fn a_day_that_comes_again_has_what_was_used_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let today = (BUILD_EPOCH + 10 * 86_400) * 1000;
    let millis = Arc::new(AtomicI64::new(today));
    let used = |at: i64, input: u64| {
        millis.store(at, Ordering::Relaxed);
        // A start of its own.
        let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        let before = tokens.counts().today().input;
        let usage = Usage {
            input,
            ..Usage::default()
        };
        tokens.add("a", usage, Role::Owner);
        assert_eq!(tokens.counts().today().input, before + input);
        tokens.sync();
        assert_eq!(tokens.counts().today().input, before + input);
        before
    };
    assert_eq!(used(today, 10), 0);
    // 1970 is surely wrong: the newest day goes on.
    assert_eq!(used(1000, 5), 10);
    assert_eq!(used(DAY_MILLIS * 5, 1), 15);
    assert_eq!(used(today, 4), 16);
    // Yesterday, back, and yesterday again.
    assert_eq!(used(today - DAY_MILLIS, 7), 0);
    assert_eq!(used(today, 2), 20);
    assert_eq!(used(today - DAY_MILLIS, 3), 7);
    assert_eq!(used(today, 1), 22);
    let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
    let days = tokens.days();
    let inputs: Vec<u64> = days.iter().map(|day| day.usage().input).collect();
    assert_eq!(inputs, [23, 10]);
}

#[test]
fn turns_that_end_at_the_same_time_are_all_counted() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenUsage::new(folder.path(), Clock::System);
    let usage = Usage {
        input: 1,
        ..Usage::default()
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| tokens.add("a", usage, Role::Owner)));
        }
    });
    let counts = tokens.counts();
    assert_eq!(counts.day, tokens.today());
    let days = tokens.days();
    let all: u64 = days.iter().map(|day| day.usage().input).sum();
    assert_eq!(all, 80);
}

#[test]
fn the_file_stays_small_and_a_broken_one_counts_as_empty() {
    let folder = tempfile::tempdir().unwrap();
    let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
    let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
    let usage = Usage {
        input: 123_456_789,
        output: 123_456_789,
        cached: 123_456_789,
        requests: 1234,
        cost: 123_456_789_123,
        ..Usage::default()
    };
    for day in 0..3 * USAGE_DAYS {
        for model in 0..3 * USAGE_MODELS {
            tokens.add(&format!("vendor/model-{model}-{day}"), usage, Role::Owner);
        }
        tokens.note_turn(LastTurn {
            session: format!("telegram:{day}"),
            context: 123_456,
            input: 1_234_567,
            cached: 1_234_567,
        });
        tokens.sync();
        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
    }
    let path = folder.path().join("usage.json");
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < 2500, "{length} bytes written by every turn");
    let earlier = std::fs::metadata(folder.path().join("usage_days.json")).unwrap();
    let length = earlier.len();
    let most = USAGE_DAYS_FILE_BYTES as u64 / 2;
    assert!(length < most, "{length} bytes written once a day");
    assert_eq!(tokens.days().len(), USAGE_DAYS + 1);
    std::fs::write(&path, "{\"day\":").unwrap();
    assert_eq!(tokens.counts().today(), Usage::default());
}

#[test]
fn what_cannot_be_written_is_counted_and_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
    let tokens = TokenUsage::new(&state, Clock::Hand(millis.clone()));
    let usage = Usage {
        input: 10,
        output: 2,
        cached: 4,
        ..Usage::default()
    };
    tokens.add("a", usage, Role::Owner);
    tokens.sync();
    let kept = folder.path().join("kept");
    std::fs::rename(&state, &kept).unwrap();
    std::fs::write(&state, "no folder").unwrap();
    tokens.add("a", usage, Role::Owner);
    tokens.add("b", usage, Role::Owner);
    tokens.sync();
    assert_eq!(tokens.counts().today().input, 20, "all but what is hidden");

    millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
    tokens.add("a", usage, Role::Owner);
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(&kept, &state).unwrap();
    assert_eq!(tokens.days()[1].usage().input, 30);
    tokens.add("a", usage, Role::Owner);
    tokens.sync();
    let written = TokenUsage::new(&state, Clock::Hand(millis));
    assert_eq!(written.counts(), tokens.counts());
    assert_eq!(written.counts().today().input, 20);
    assert_eq!(written.days().len(), 2);
    assert_eq!(written.days()[1].usage().input, 30);
}

#[test]
fn a_kill_between_the_two_files_counts_no_day_twice() {
    let folder = tempfile::tempdir().unwrap();
    let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
    let usage = Usage {
        input: 10,
        cost: 7,
        requests: 1,
        ..Usage::default()
    };
    let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
    tokens.add("a", usage, Role::Owner);
    tokens.sync();
    millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
    tokens.add("a", usage, Role::Owner);
    // The day that has ended is in the first file, then in both, then in the second one.
    let before = std::fs::read(folder.path().join("usage.json")).unwrap();
    tokens.sync();
    let expected = tokens.days();
    assert_eq!(expected.len(), 2);
    std::fs::write(folder.path().join("usage.json"), before).unwrap();
    let again = TokenUsage::new(folder.path(), Clock::Hand(millis));
    again.add("a", usage, Role::Owner);
    assert_eq!(again.days(), expected);
    again.sync();
    assert_eq!(again.days(), expected);
    assert_eq!(again.days()[1].usage(), usage);
}

#[test]
fn the_sums_of_an_earlier_version_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let old = r#"{"day":"2020-01-02","models":{"m":{"input":3,"output":1,"cached":0}},
        "past":[{"day":"2020-01-01","input":5,"output":2,"cached":1}]}"#;
    std::fs::write(folder.path().join("usage.json"), old).unwrap();
    let tokens = TokenUsage::new(folder.path(), Clock::System);
    tokens.add("m", Usage::default(), Role::Owner);
    tokens.sync();
    let days = tokens.days();
    let inputs: Vec<u64> = days.iter().map(|day| day.usage().input).collect();
    assert_eq!(inputs, [0, 3, 5]);
    assert_eq!(days[2].usage().dollars(), None);
}

#[test]
fn the_last_turn_of_a_conversation_is_remembered_until_it_starts_over() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = TokenUsage::new(folder.path(), Clock::System);
    let turn = LastTurn {
        session: "cli:a".to_owned(),
        context: 1200,
        input: 2000,
        cached: 900,
    };
    tokens.note_turn(turn.clone());
    assert_eq!(tokens.last_turn("cli:a"), Some(turn.clone()));
    tokens.sync();
    let again = TokenUsage::new(folder.path(), Clock::System);
    assert_eq!(again.last_turn("cli:a"), Some(turn));
    assert_eq!(again.last_turn("cli:b"), None);
    let other = TokenUsage::new(folder.path(), Clock::System).of_agent("work");
    assert_eq!(
        other.last_turn("cli:a"),
        None,
        "another agent's conversation"
    );
    again.forget_turn("cli:a");
    assert_eq!(tokens.last_turn("cli:a"), None);
}
