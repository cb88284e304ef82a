//! The heartbeat: the agent looks at HEARTBEAT.md, and speaks only when there is news.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::gateway::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Step, say};
use crate::harness::program::Program;

const HALF_HOUR: Duration = Duration::from_secs(30 * 60);

/// A scene at a time of the clock, whose gateway says in the log how each beat went.
fn scene(clock: &Turned, script: impl IntoIterator<Item = Step>) -> Scene {
    let mut scene = Scene::playing(script);
    scene.home.turn(clock);
    scene
}

fn start(scene: &Scene) -> Gateway {
    Gateway::of(Program::new(&scene.home).args(["gateway", "-v"]))
}

fn write_list(scene: &Scene, text: &str) {
    fs::write(scene.home.workspace("HEARTBEAT.md"), text).unwrap();
}

#[test]
fn a_day_without_tasks_asks_no_model_and_says_nothing() {
    let clock = Turned::at("2027-03-01T07:00:00Z");
    let scene = scene(&clock, [say("Hello, Ana.")]);
    write_list(&scene, "# Heartbeat\n<!-- - [ ] look -->\n- [x] done\n");
    let gateway = start(&scene);
    scene.ana.says("Hi");
    scene.wait_for("Hello, Ana.");
    gateway.wait_for_log("turn answered");
    for beat in 1..=48 {
        clock.forward(HALF_HOUR);
        let minutes = 7 * 60 + beat * 30;
        let (day, hour, minute) = (1 + minutes / 1440, minutes / 60 % 24, minutes % 60);
        let time = format!("2027-03-{day:02} {hour:02}:{minute:02}");
        gateway.wait_for_log(&format!("heartbeat of {time}: nothing in HEARTBEAT.md"));
    }
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1, "only Ana's message");
    assert_eq!(scene.texts(), ["Hello, Ana."]);
}

#[test]
fn without_a_channel_it_works_and_its_news_are_in_a_file() {
    let clock = Turned::at("2027-03-01T07:00:00Z");
    let mut scene = scene(&clock, [say("The disk is 93 % full.")]);
    scene.home.set("/channels/telegram/enabled", json!(false));
    let output = Program::new(&scene.home).arg("gateway").run();
    assert_ne!(output.code, Some(0));
    output.complains_of(&["No channel is enabled", "nothing to do"]);
    write_list(&scene, "- [ ] When the disk is full, say so.\n");
    let gateway = start(&scene);
    gateway.wait_for_log("no channel is enabled: jobs, watches and the heartbeat run");
    gateway.wait_for_log("ready");
    clock.forward(HALF_HOUR);
    gateway.wait_for_log("heartbeat of 2027-03-01 07:30: wrote its news to a file");
    gateway.stop().ends_with(0);
    let mut files = fs::read_dir(scene.home.workspace("cron")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert_eq!(
        fs::read_to_string(file).unwrap(),
        "The disk is 93 % full.\n"
    );
}

#[test]
fn it_speaks_once_when_there_is_news_and_is_quiet_at_night() {
    let clock = Turned::at("2027-03-01T21:00:00Z");
    let script = [
        say("Hello, Ana."),
        say("**HEARTBEAT_OK**"),
        say("The disk is 93 % full."),
    ];
    let mut scene = scene(&clock, script);
    scene
        .home
        .set("/cron", json!({"quietHours": "22:00-07:00"}));
    write_list(&scene, "- [x] old\n- [ ] When the disk is full, tell me.\n");
    let gateway = start(&scene);
    scene.ana.says("Hi");
    scene.wait_for("Hello, Ana.");
    gateway.wait_for_log("turn answered");
    clock.forward(HALF_HOUR);
    gateway.wait_for_log("heartbeat of 2027-03-01 21:30: all is well");
    for time in ["22:00", "22:30"] {
        clock.forward(HALF_HOUR);
        gateway.wait_for_log(&format!(
            "heartbeat of 2027-03-01 {time}: skipped, quiet hours"
        ));
    }
    // The board sleeps until the morning: what was missed is not made up.
    clock.forward(Duration::from_secs(8 * 3600 + 1800));
    scene.wait_for("The disk is 93 % full.");
    gateway.wait_for_log("heartbeat of 2027-03-02 07:00: sent a message");
    let asked = scene.asked(2);
    assert!(asked.contains("When the disk is full, tell me."), "{asked}");
    assert!(!asked.contains("old") && !asked.contains("Hi"), "{asked}");
    scene.ana.says("/heartbeat");
    scene.wait_for(
        "Heartbeat: every 30 min, next at 07:30\nLast at 07:00: sent a message; said, not shown",
    );
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
}

#[test]
fn a_look_that_shows_what_it_did_says_only_how_it_went() {
    let clock = Turned::at("2027-03-01T08:00:00Z");
    let done = crate::harness::model::call(
        "write_file",
        json!({"path": "seen.md", "content": "All green.\n"}),
    );
    let scene = scene(&clock, [say("Hello, Ana."), done, say("HEARTBEAT_OK")]);
    write_list(&scene, "- [ ] Look.\n");
    let gateway = start(&scene);
    scene.ana.says("Hi");
    scene.wait_for("Hello, Ana.");
    gateway.wait_for_log("turn answered");
    clock.forward(HALF_HOUR);
    gateway.wait_for_log("heartbeat of 2027-03-01 08:30");
    scene.ana.says("/heartbeat");
    let text = scene.wait_for("Last at 08:30: all is well").text;
    assert!(!text.contains("said"), "{text}");
    gateway.stop().ends_with(0);
}

#[test]
fn a_person_turns_it_off_or_asks_for_one_now() {
    let clock = Turned::at("2027-03-01T08:00:00Z");
    let scene = scene(&clock, []);
    let gateway = start(&scene);
    scene.ana.says("/heartbeat now");
    scene.wait_for("Heartbeat: nothing in HEARTBEAT.md.");
    scene.ana.says("/heartbeat off");
    scene.wait_for("Heartbeat: off until /heartbeat on or the next restart");
    clock.forward(2 * HALF_HOUR);
    scene.ana.says("/heartbeat on");
    scene.wait_for("next at 09:30");
    let log = gateway.stop().ends_with(0).stderr;
    assert_eq!(log.matches("heartbeat of").count(), 1, "{log}");
}

#[test]
fn a_beat_that_fails_disturbs_no_one() {
    let clock = Turned::at("2027-03-01T08:00:00Z");
    let scene = scene(
        &clock,
        [say("Hello, Ana."), crate::harness::model::error(401, "no")],
    );
    write_list(&scene, "Look at the disk.");
    let gateway = start(&scene);
    scene.ana.says("Hi");
    scene.wait_for("Hello, Ana.");
    gateway.wait_for_log("turn answered");
    clock.forward(HALF_HOUR);
    gateway.wait_for_log("the heartbeat of 2027-03-01 08:30 failed");
    assert_eq!(scene.texts(), ["Hello, Ana."]);
    scene.ana.says("/heartbeat");
    scene.wait_for("Last at 08:30: failed");
    gateway.stop().ends_with(0);
}

#[test]
fn the_news_of_one_agent_is_not_for_the_chat_of_another() {
    let clock = Turned::at("2027-03-01T08:00:00Z");
    let mut scene = scene(&clock, [say("Hello, Ana."), say("The disk is 93 % full.")]);
    scene.home.set("/agents/list", json!([{"id": "work"}]));
    let bindings = json!([{"agent": "work", "channel": "telegram", "sender": 2002}]);
    scene.home.set("/agents/bindings", bindings);
    write_list(&scene, "Look at the disk.");
    let work = scene.home.path().join("agents/work/workspace");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("HEARTBEAT.md"), "Look at the books.").unwrap();
    let gateway = start(&scene);
    scene.ana.says("Hi");
    scene.wait_for("Hello, Ana.");
    gateway.wait_for_log("turn answered");
    // Ana's chat was active last, and `main` serves it: `work` asks no model.
    clock.forward(HALF_HOUR);
    scene.wait_for("The disk is 93 % full.");
    gateway.wait_for_log("heartbeat of 2027-03-01 08:30: sent a message");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 2);
    assert!(scene.asked(1).contains("Look at the disk."));
}
