//! Reminders: set in words, sent on time or late, and answered with their buttons.

use std::fs::File;
use std::time::Duration;

use rustix::fs::FlockOperation;
use serde_json::json;

use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Step, call, say};
use crate::harness::telegram::{BOT_NAME, FOREVER, Fault, Message, Place};

const MINUTE: Duration = Duration::from_secs(60);

/// Monday, an hour before the sun rises.
const SEVEN: &str = "2026-11-23T07:00:00Z";

/// A scene with a clock that the story turns.
fn scene(script: impl IntoIterator<Item = Step>) -> (Scene, Turned) {
    let mut scene = Scene::playing(script);
    let clock = Turned::at(SEVEN);
    scene.home.turn(&clock);
    (scene, clock)
}

fn labels(message: &Message) -> Vec<String> {
    let Some(markup) = &message.markup else {
        return Vec::new();
    };
    let rows = markup["inline_keyboard"].as_array().unwrap().iter();
    let buttons = rows.flat_map(|row| row.as_array().unwrap());
    buttons
        .map(|button| button["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until a message that was there says this.
fn wait_for_edit(scene: &Scene, place: Place, message: &Message, words: &str) -> Message {
    scene.telegram.wait_for_message(place, |now| {
        now.id == message.id && now.text.contains(words)
    })
}

/// Waits for a reminder that is not one of these messages.
fn wait_for_another(scene: &Scene, place: Place, not: &[&Message], text: &str) -> Message {
    scene.telegram.wait_for_message(place, |now| {
        now.text.starts_with(text) && not.iter().all(|old| old.id != now.id)
    })
}

/// A press that Telegram reports, whatever the message is now: by this person in their own chat.
fn presses_raw(scene: &Scene, person: i64, (message, text): (i64, Option<&str>), data: &str) {
    let chat = json!({"id": person, "type": "private"});
    let mut message = json!({"message_id": message, "date": 0, "chat": chat});
    if let Some(text) = text {
        message["date"] = json!(1_795_417_200);
        message["text"] = json!(text);
    }
    let from = json!({"id": person, "is_bot": false, "first_name": "Ana"});
    let id = format!("{data} {text:?}");
    let press = json!({
        "id": id, "from": from, "message": message, "chat_instance": "1", "data": data,
    });
    scene.telegram.pushes("callback_query", press);
}

#[test]
fn a_reminder_repeats_by_words_and_says_what_it_understood() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    for (typed, told) in [
        (
            "/remind every month on the 1st at 9 pay rent",
            "⏰ pay rent: on day 1 of every month at 09:00, next 2026-12-01 09:00, in 8 days",
        ),
        (
            "/remind on the 31st of each month at 8:00 read the meter",
            "⏰ read the meter: on the last day of every month at 08:00, next 2026-11-30 08:00",
        ),
        (
            "/remind every month on the 30th pay the gardener",
            "on day 30 of every month (or its last day) at 09:00, next 2026-11-30 09:00",
        ),
        (
            "/remind at 8:30 on mondays the bins",
            "⏰ the bins: every Monday at 08:30, next today 08:30, in 1 h 30 min",
        ),
        (
            "/remind every month on the first Friday pay",
            "I can't read a time at the beginning.",
        ),
    ] {
        scene.ana.says(typed);
        scene.wait_for(told);
    }
    let set = scene.wait_for("⏰ the bins: every Monday");
    clock.forward(90 * MINUTE);
    wait_for_another(&scene, scene.ana.chat(), &[&set], "⏰ the bins");
    gateway.stop().ends_with(0);
}

fn remind(scene: &Scene, clock: &Turned) -> Message {
    scene.ana.says("/remind 20m take the bread out");
    let set = scene.wait_for("⏰ take the bread out: today 07:20, in 20 min");
    assert_eq!(labels(&set), ["Cancel"]);
    clock.forward(20 * MINUTE);
    wait_for_another(scene, scene.ana.chat(), &[&set], "⏰ take the bread out")
}

#[test]
fn a_reminder_comes_and_is_done_at_a_tap() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let reminder = remind(&scene, &clock);
    assert_eq!(reminder.text, "⏰ take the bread out");
    assert_eq!(labels(&reminder), ["✓ Done", "Snooze 10 min", "Tomorrow"]);
    clock.forward(2 * MINUTE);
    scene.ana.presses("✓ Done");
    let done = wait_for_edit(&scene, scene.ana.chat(), &reminder, "✓ Done 07:22");
    assert_eq!(done.text, "⏰ take the bread out\n\n✓ Done 07:22");
    assert!(labels(&done).is_empty(), "its buttons are still there");
    scene.ana.says("/remind");
    scene.wait_for("No reminders are pending here.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 3, "{:?}", scene.texts());
}

#[test]
fn a_snoozed_reminder_comes_again_after_a_restart_and_then_tomorrow() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let first = remind(&scene, &clock);
    gateway.stop().ends_with(0);
    scene.ana.presses("Snooze 10 min");
    let gateway = scene.start();
    let moved = wait_for_edit(&scene, scene.ana.chat(), &first, "💤 Again today 07:30");
    assert!(labels(&moved).is_empty());
    scene.ana.says("/remind");
    scene.wait_for("take the bread out: today 07:30");
    clock.forward(10 * MINUTE);
    let set = scene.wait_for("in 20 min");
    let second = wait_for_another(
        &scene,
        scene.ana.chat(),
        &[&set, &first],
        "⏰ take the bread out",
    );
    assert_eq!(second.text, "⏰ take the bread out");
    clock.forward(Duration::from_secs(2 * 3600));
    scene.ana.presses("Tomorrow");
    wait_for_edit(&scene, scene.ana.chat(), &second, "💤 Again tomorrow 07:30");
    clock.set("2026-11-24T07:30:00Z");
    let third = wait_for_another(
        &scene,
        scene.ana.chat(),
        &[&set, &first, &second],
        "⏰ take the bread out",
    );
    scene.ana.presses("✓ Done");
    wait_for_edit(&scene, scene.ana.chat(), &third, "✓ Done 07:30");
    gateway.stop().ends_with(0);
}

#[test]
fn a_reminder_that_the_board_slept_through_says_how_late_it_is() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    scene.ana.says("/remind 20m take the bread out");
    let set = scene.wait_for("in 20 min");
    gateway.stop().ends_with(0);
    clock.forward(Duration::from_secs(2 * 3600 + 20 * 60));
    let gateway = scene.start();
    let late = wait_for_another(&scene, scene.ana.chat(), &[&set], "⏰");
    assert_eq!(
        late.text,
        "⏰ take the bread out (planned for 07:20, 2 h late)"
    );
    // The job may be gone by then; what it said is not.
    scene.ana.says("/cron");
    scene.wait_for("/cron add");
    scene.ana.presses("Snooze 10 min");
    wait_for_edit(&scene, scene.ana.chat(), &late, "💤 Again today 09:30");
    clock.forward(10 * MINUTE);
    let again = wait_for_another(&scene, scene.ana.chat(), &[&set, &late], "⏰");
    assert_eq!(again.text, "⏰ take the bread out");
    gateway.stop().ends_with(0);
}

#[test]
fn of_two_people_who_press_at_once_the_last_one_counts() {
    let (mut scene, clock) = scene([]);
    let ben = scene.telegram.person(1002, "Ben", Some("ben"));
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let home = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    scene
        .ana
        .says_in(home, &format!("/remind@{BOT_NAME} 20m bins"));
    let set = scene.wait_in(home, "⏰ bins: today 07:20");
    clock.forward(20 * MINUTE);
    let reminder = wait_for_another(&scene, home, &[&set], "⏰ bins");
    scene.telegram.hold_updates();
    let snoozed = scene.ana.presses_in(home, "Snooze 10 min");
    let again = ben.presses_in(home, "Snooze 10 min");
    let done = ben.presses_in(home, "✓ Done");
    scene.telegram.release_as(&[snoozed, again, done]);
    wait_for_edit(&scene, home, &reminder, "✓ Done 07:20 (Ben)");
    clock.forward(Duration::from_secs(3600));
    // A reminder that is set after it comes, and so nothing else did before.
    scene.ana.says("/remind 1m stop");
    let last = scene.wait_for("⏰ stop: today 08:21");
    clock.forward(MINUTE);
    wait_for_another(&scene, scene.ana.chat(), &[&last], "⏰ stop");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts_in(home).len(), 2, "{:?}", scene.texts_in(home));
}

#[test]
fn a_very_old_button_still_has_an_answer() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let reminder = remind(&scene, &clock);
    scene.telegram.forgives("query is too old");
    scene.ana.says("/cron remove take");
    scene.wait_for("Removed ");
    clock.forward(Duration::from_secs(400 * 24 * 3600));
    // Telegram does not say any more what the message was.
    let old = |data: &str| presses_raw(&scene, 1001, (reminder.id, None), data);
    let data = |label: &str| reminder.button(label).unwrap().to_owned();
    old(&data("Snooze 10 min"));
    scene.wait_for("I can't move this reminder");
    old(&data("✓ Done"));
    let done = scene.wait_for("✓ Done 07:20");
    assert_ne!(done.id, reminder.id);
    gateway.stop().ends_with(0);
}

#[test]
fn a_reminder_in_chinese() {
    let (mut scene, clock) = scene([]);
    let wei = scene.telegram.person(1002, "Wei", None).speaking("zh-hans");
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1002"]));
    let gateway = scene.start();
    wei.says("/remind 20分钟后 取面包");
    let set = scene.wait_in(wei.chat(), "取面包，提醒时间：今天 07:20");
    clock.forward(20 * MINUTE);
    let reminder = wait_for_another(&scene, wei.chat(), &[&set], "⏰ 取面包");
    assert_eq!(
        labels(&reminder),
        ["✓ 完成", "10 分钟后再提醒", "明天再提醒"]
    );
    wei.presses("明天再提醒");
    wait_for_edit(&scene, wei.chat(), &reminder, "💤 明天 07:20 再次提醒");
    wei.says("/remind 面包");
    scene.wait_in(wei.chat(), "开头的时间无法识别");
    gateway.stop().ends_with(0);
}

#[test]
fn the_model_plans_a_reminder_and_the_person_cancels_it() {
    let plan = json!({"action": "add", "when": "20m", "message": "take the **bread** out"});
    let (scene, clock) = scene([call("cron", plan), say("I'll remind you at 07:20.")]);
    let gateway = scene.start();
    scene.ana.says("remind me in 20 minutes of the bread");
    scene.wait_for("I'll remind you at 07:20.");
    let result = scene.model.requests()[1].raw.clone();
    assert!(result.contains("Next: today 07:20, in 20 min"), "{result}");
    clock.forward(20 * MINUTE);
    let reminder = scene.wait_for("⏰ take the");
    assert_eq!(reminder.text, "⏰ take the **bread** out");
    scene.ana.says("/remind 1h nothing");
    scene.wait_for("⏰ nothing: today 08:20");
    scene.ana.presses("Cancel");
    scene.wait_for("Removed ");
    scene.ana.says("/cron");
    scene.wait_for("/cron remove|enable|disable|run NAME");
    gateway.stop().ends_with(0);
}

#[test]
fn each_command_about_jobs_has_an_answer() {
    let (scene, _clock) = scene([]);
    let gateway: Gateway = scene.start();
    let mut last = 0;
    for (typed, expected) in [
        ("/cron", "No jobs are planned here."),
        ("/cron list", "For a plain reminder use /remind."),
        ("/cron add every day at 7 tell me the weather", "Planned "),
        (
            "/cron",
            "tell me the weather: every day at 07:00; next tomorrow 07:00",
        ),
        ("/cron disable tell", "disabled"),
        ("/cron enable tell", "Enabled "),
        ("/cron add 20m", "add what to do"),
        (
            "/cron add nonsense",
            "I can't read a time at the beginning.",
        ),
        ("/cron remove", "Which job?"),
        ("/cron remove lamp", "There is no job \"lamp\"."),
        ("/cron frob", "/cron add every day at 7"),
        ("/cron remove tell", "Removed "),
        ("/remind", "No reminders are pending here."),
        (
            "/remind 20m",
            "Nothing is planned yet for today 07:20: add what to say",
        ),
        ("/remind 25:00 tea", "\"25:00\" is not a time of day"),
        ("/remind bread", "I can't read a time at the beginning."),
        ("/remind today 6:00 bread", "\"today 6:00\" has passed"),
        (
            "/remind every day at 26:00 pills",
            "\"at 26:00\" is not a time of day",
        ),
        (
            "/cron add every monday at 25:00 bins",
            "\"at 25:00\" is not a time of day",
        ),
        ("/remind every mon 9am bins", "⏰ bins: "),
        ("/remind", "Pending reminders:"),
        ("/remind list", "Pending reminders:"),
        (
            "/remind tomorrow 7 call mum",
            "tomorrow 09:00, in 26 h\nIf you meant 7:00: /remind tomorrow 7:00 call mum",
        ),
        ("/remind tomorrow 8 o'clock tea", "⏰ tea: tomorrow 08:00"),
        ("/remind cancel lamp", "There is no job \"lamp\"."),
        ("/remind remove bins", "Removed "),
        ("/remind done a 1", "I can't read a time at the beginning."),
    ] {
        scene.ana.says(typed);
        let answer = scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > last && message.text.contains(expected)
            });
        last = answer.id;
    }
    for (typed, expected) in [
        ("/remind tomorrow 3 eggs", "⏰ 3 eggs: tomorrow 09:00"),
        (
            "/remind tomorrow to buy 3 eggs",
            "⏰ buy 3 eggs: tomorrow 09:00",
        ),
    ] {
        scene.ana.says(typed);
        let counted = scene.wait_for(expected);
        assert!(!counted.text.contains("If you meant"), "{}", counted.text);
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_second_press_does_not_take_the_outcome_for_the_reminder() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let reminder = remind(&scene, &clock);
    scene.telegram.forgives("query is too old");
    let data = |label: &str| reminder.button(label).unwrap().to_owned();
    let (snooze, tomorrow) = (data("Snooze 10 min"), data("Tomorrow"));
    scene.ana.says("/cron remove take");
    scene.wait_for("Removed ");
    scene.ana.presses("Snooze 10 min");
    let chat = scene.ana.chat();
    let moved = wait_for_edit(&scene, chat, &reminder, "💤 Again today 07:30");
    // Another device of hers still shows the buttons.
    presses_raw(&scene, 1001, (reminder.id, Some(&moved.text)), &tomorrow);
    let moved = wait_for_edit(&scene, chat, &reminder, "💤 Again tomorrow 07:20");
    assert_eq!(
        moved.text,
        "⏰ take the bread out\n\n💤 Again tomorrow 07:20"
    );
    presses_raw(&scene, 1001, (reminder.id, Some(&moved.text)), &snooze);
    wait_for_edit(&scene, chat, &reminder, "💤 Again today 07:30");
    let set = scene.wait_for("in 20 min");
    clock.forward(10 * MINUTE);
    let again = wait_for_another(&scene, chat, &[&set, &reminder], "⏰");
    assert_eq!(again.text, "⏰ take the bread out");
    gateway.stop().ends_with(0);
}

#[test]
fn a_forged_button_reads_no_reminder_of_another_chat() {
    let (mut scene, clock) = scene([]);
    let ben = scene.telegram.person(1002, "Ben", None);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let gateway = scene.start();
    let reminder = remind(&scene, &clock);
    scene.telegram.forgives("query is too old");
    ben.says("/id");
    let own = scene.wait_in(ben.chat(), "This chat:");
    let data = reminder.button("Snooze 10 min").unwrap();
    presses_raw(&scene, 1002, (own.id, None), data);
    scene.wait_in(ben.chat(), "I can't move this reminder");
    presses_raw(&scene, 1002, (own.id, Some("⏰ my own")), data);
    scene.wait_in(ben.chat(), "💤 Again today 07:30");
    clock.forward(10 * MINUTE);
    scene
        .telegram
        .wait_for_message(ben.chat(), |message| message.text == "⏰ my own");
    gateway.stop().ends_with(0);
    let texts = scene.texts_in(ben.chat());
    assert!(!texts.concat().contains("bread"), "{texts:?}");
}

#[test]
fn a_press_waits_for_the_lock_of_the_jobs_and_nothing_else_does() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let reminder = remind(&scene, &clock);
    let folder = File::open(scene.home.path().join("cron")).unwrap();
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).unwrap();
    scene.ana.presses("Snooze 10 min");
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    let answered = |words: &str| scene.texts().iter().any(|text| text.contains(words));
    assert!(
        !answered("💤") && !answered("has locked"),
        "{:?}",
        scene.texts()
    );
    rustix::fs::flock(&folder, FlockOperation::Unlock).unwrap();
    wait_for_edit(&scene, scene.ana.chat(), &reminder, "💤 Again today 07:30");
    gateway.stop().ends_with(0);
}

#[test]
fn a_reminder_of_a_deleted_topic_comes_into_the_chat() {
    let (scene, clock) = scene([]);
    let gateway = scene.start();
    let topic = scene.ana.opens_topic(Some("Trip"));
    scene.ana.says_in(topic, "/remind 20m take the bread out");
    scene.wait_in(topic, "in 20 min");
    let deleted = Fault::BadRequest("message thread not found");
    scene.telegram.fail_in(topic, FOREVER, deleted);
    clock.forward(20 * MINUTE);
    let reminder = scene.wait_for("take the bread out");
    assert_eq!(reminder.text, "⏰ take the bread out");
    scene.ana.presses("✓ Done");
    wait_for_edit(&scene, scene.ana.chat(), &reminder, "✓");
    scene.ana.says_in(topic, "/status");
    scene.wait_for("Model");
    gateway.stop().ends_with(0);
}
