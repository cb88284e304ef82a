//! The queue of updates: what is confirmed is gone, and what is not comes again.

use std::thread;

use serde_json::json;

use super::{Bot, fails, poll};
use crate::harness::telegram::{Media, Telegram, Upload};

fn ids(updates: &[serde_json::Value]) -> Vec<i64> {
    let id = |update: &serde_json::Value| update["update_id"].as_i64().unwrap();
    updates.iter().map(id).collect()
}

#[test]
fn an_update_comes_until_it_is_confirmed() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", Some("ana"));
    let bot = Bot::of(&telegram);
    let first = owner.says("one").update;
    let second = owner.says("two").update;
    assert_eq!(ids(&bot.polls(0, 0)), [first, second]);
    assert_eq!(ids(&bot.polls(0, 0)), [first, second]);
    assert_eq!(telegram.offset(), 0);
    assert_eq!(ids(&bot.polls(first + 1, 0)), [second]);
    assert_eq!(telegram.offset(), first);
    assert!(bot.polls(second + 1, 0).is_empty());
    assert!(bot.polls(0, 0).is_empty());
    telegram.wait_for_offset(second);
}

#[test]
fn what_was_said_before_the_start_comes_in_any_order_and_in_small_batches() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let photo = |name: &str| Upload::new(Media::Photo, name, "jpeg");
    telegram.hold_updates();
    let first = owner.sends_of_album("holiday", photo("1.jpg"));
    let text = owner.says("between");
    let second = owner.sends_of_album("holiday", photo("2.jpg"));
    let edit = owner.edits(&text, "in between");
    telegram.release_as(&[second.update, edit]);
    telegram.set_batch(3);
    let batch = bot.polls(0, 0);
    assert_eq!(ids(&batch), [second.update, edit, first.update]);
    assert_eq!(batch[1]["edited_message"]["text"], "in between");
    assert_eq!(
        batch[0]["message"]["media_group_id"],
        batch[2]["message"]["media_group_id"]
    );
}

#[test]
fn a_poll_waits_until_something_happens() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let waiting = bot.polls_beside(0);
    telegram.wait_for_poll();
    owner.says("hi");
    let (_, answer) = waiting.join().unwrap().unwrap();
    assert_eq!(answer["result"][0]["message"]["text"], "hi");
    assert_eq!(bot.polls(telegram.offset(), 1).len(), 1);
}

#[test]
fn a_confirmation_is_heard_of_though_the_answer_comes_at_once() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let first = owner.says("one").update;
    bot.polls(0, 0);
    owner.says("two");
    thread::scope(|scope| {
        scope.spawn(|| telegram.wait_for_offset(first));
        bot.polls(first + 1, 50);
    });
}

#[test]
fn the_end_of_the_time_is_an_empty_answer() {
    let telegram = Telegram::start();
    assert!(Bot::of(&telegram).polls(0, 1).is_empty());
}

#[test]
fn a_second_poll_ends_the_first_with_a_conflict() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let older = bot.polls_beside(0);
    telegram.wait_for_poll();
    let newer = bot.polls_beside(0);
    let (status, answer) = older.join().unwrap().unwrap();
    assert_eq!(status, 409);
    assert!(
        answer["description"]
            .as_str()
            .unwrap()
            .starts_with("Conflict: terminated by other")
    );
    telegram.wait_for_poll();
    telegram.person(1001, "Ana", None).says("hi");
    assert_eq!(newer.join().unwrap().unwrap().0, 200);
}

#[test]
fn a_poll_whose_bot_hung_up_waits_no_more() {
    let telegram = Telegram::start();
    let bot = Bot::of(&telegram);
    let gone = bot.polls_beside(0);
    telegram.wait_for_poll();
    telegram.go_offline();
    assert!(gone.join().unwrap().is_err());
    telegram.go_online();
    let back = bot.polls_beside(0);
    telegram.wait_for_poll();
    telegram.person(1001, "Ana", None).says("hi");
    assert_eq!(back.join().unwrap().unwrap().0, 200);
}

#[test]
fn only_what_is_wanted_is_queued_and_only_so_much_at_once() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    bot.call("getUpdates", json!({"allowed_updates": ["message"]}));
    let said = owner.says("helo");
    owner.edits(&said, "hello");
    let flood = owner.floods(10_000);
    assert_eq!(flood.clone().count(), 10_000);
    let some = bot.call("getUpdates", json!({"limit": 2}));
    assert_eq!(ids(some.as_array().unwrap()), [said.update, flood.start]);
    assert_eq!(
        bot.call("getUpdates", json!({})).as_array().unwrap().len(),
        100
    );
    assert_eq!(telegram.message(said.place, said.message).text, "hello");
}

#[test]
fn an_update_comes_again_when_the_story_says_so() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    let update = owner.says("pay").update;
    assert_eq!(ids(&bot.polls(0, 0)), [update]);
    telegram.repeat(update);
    assert_eq!(ids(&bot.polls(update + 1, 0)), [update]);
    assert!(bot.polls(update + 1, 0).is_empty());
}

#[test]
fn updates_come_out_of_order_when_the_story_says_so() {
    let telegram = Telegram::start();
    let owner = telegram.person(1001, "Ana", None);
    let bot = Bot::of(&telegram);
    telegram.hold_updates();
    let (first, second) = (owner.says("one").update, owner.says("two").update);
    assert!(bot.polls(0, 0).is_empty());
    telegram.release_reversed();
    assert_eq!(ids(&bot.polls(0, 0)), [second, first]);
}

#[test]
fn a_poll_that_no_bot_should_make_fails_the_test() {
    for parameters in [
        json!({}),
        json!({"allowed_updates": ["massage"]}),
        json!({"allowed_updates": ["message"], "timeout": 51}),
        json!({"allowed_updates": ["message"], "limit": 101}),
        json!({"allowed_updates": ["message"], "offset": -1}),
        json!({"allowed_updates": ["message"], "offset": 600_000_000}),
    ] {
        let telegram = Telegram::start();
        let words = Bot::of(&telegram).refused("getUpdates", parameters.clone());
        assert_eq!(words.0, 400, "{parameters}");
        assert!(fails(telegram), "{parameters}");
    }
    let telegram = Telegram::start();
    let update = telegram.person(1001, "Ana", None).says("never seen").update;
    Bot::of(&telegram).refused("getUpdates", poll(update + 1, 0));
    assert!(fails(telegram));
}
