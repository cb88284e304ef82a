//! A board without a clock: it starts in 1970 or in the past, and the time comes later.

use std::fs;
use std::time::Duration;

use crate::gateway::scene::Scene;
use crate::harness::PATIENCE;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, say};
use crate::harness::program::Program;
use crate::harness::telegram::Telegram;

const HOUR: Duration = Duration::from_secs(3600);

/// Waits until `/status` was answered so often, each time with a clock that is behind.
fn wait_for_answers(scene: &Scene, count: usize) {
    let behind = "Clock: behind, it was 2027-03-01 07:00 UTC before";
    let begin = std::time::Instant::now();
    while scene
        .texts()
        .iter()
        .filter(|text| text.contains(behind))
        .count()
        < count
    {
        assert!(begin.elapsed() < PATIENCE, "{:?}", scene.texts());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn scene(clock: &Turned) -> Scene {
    let mut scene = Scene::playing([]);
    scene.home.turn(clock);
    scene
}

#[test]
fn a_board_that_starts_in_1970_waits_for_the_time_and_keeps_it() {
    let clock = Turned::unsynchronized("1970-01-01T00:00:10Z");
    let scene = scene(&clock);
    let file = scene.home.path().join("state/clock.json");
    let gateway = scene.start();
    gateway.wait_for_log("the clock has not been set");
    assert!(!file.exists(), "a time in 1970 is not worth keeping");
    clock.synchronize(true);
    clock.set("2027-03-01T07:00:00Z");
    gateway.wait_for_log("the clock is trusted now: 2027-03-01 07:00");
    gateway.stop().ends_with(0);
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.contains(&clock.now_ms().to_string()), "{kept}");

    // The power is cut, and without a network the board starts at the date of its last image.
    clock.synchronize(false);
    clock.reboot();
    clock.set("2027-02-11T12:00:00Z");
    let gateway = scene.start();
    gateway.wait_for_log("the clock is behind: it was 2027-03-01 07:00 UTC before");
    // A service that nudges the clock by seconds has not looked at its date.
    for nudge in 1..=5 {
        clock.set(&format!("2027-02-11T12:0{nudge}:00Z"));
        scene.ana.says("/status");
        wait_for_answers(&scene, nudge);
    }
    assert!(!gateway.log().contains("the clock is used now"));
    // Somebody types `date -s`.
    clock.set("2027-03-02T08:30:00Z");
    gateway.wait_for_log("the clock is used now, although nothing confirms it: 2027-03-02 08:30");
    gateway.stop().ends_with(0);
}

#[test]
fn a_clock_that_jumps_by_hours_is_logged_once() {
    let clock = Turned::at("2027-03-01T07:00:00Z");
    let scene = scene(&clock);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.back(5 * HOUR);
    gateway.wait_for_log("the clock was set back by 5 h, it is 2027-03-01 02:00 now");
    clock.set("2027-03-05T02:00:00Z");
    gateway.wait_for_log("the clock was set forward by 4 days, it is 2027-03-05 02:00 now");
    // Time that passes is no jump.
    clock.forward(30 * HOUR);
    let log = gateway.stop().ends_with(0).stderr;
    assert_eq!(log.matches("the clock was set").count(), 2, "{log}");
}

/// Before the time is known no certificate is valid; what was sent meanwhile is answered afterwards.
#[test]
fn certificates_wait_for_the_time_and_the_gateway_works_as_soon_as_it_is_set() {
    let clock = Turned::unsynchronized("1970-01-01T00:00:10Z");
    let model = Model::playing_with_tls([say("Good morning.")]);
    let telegram = Telegram::start_with_tls();
    let mut home = Home::with_telegram(&model, &telegram);
    home.turn(&clock);
    let ana = telegram.person(1001, "Ana", None);
    ana.says("Good morning");
    let gateway = Gateway::start(&home);
    gateway.wait_for_log(
        "the clock says 1970-01-01; certificates cannot be checked until the time is set",
    );
    clock.set("2027-03-01T07:00:00Z");
    telegram.wait_for_message(ana.chat(), |message| message.text == "Good morning.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_person_sees_why_jobs_wait() {
    let clock = Turned::unsynchronized("2027-03-01T07:00:00Z");
    let scene = scene(&clock);
    let gateway = scene.start();
    scene.ana.says("/status");
    scene.wait_for("Clock: not synchronized yet. Scheduled jobs and the heartbeat wait.");
    scene.ana.says("/heartbeat");
    scene.wait_for("Heartbeat: waiting for the clock to be set");
    let shown = Program::new(&scene.home).arg("status").run().ends_with(0);
    let row = "clock      the clock has not been synchronized since the machine started: scheduled";
    assert!(shown.stdout.contains(row), "{}", shown.stdout);
    let add = ["cron", "add", "every 2h", "drink water"];
    Program::new(&scene.home).args(add).run().ends_with(0);
    let doctor = Program::new(&scene.home).arg("doctor").run();
    let waits = "1 job waits until the clock can be trusted";
    assert!(doctor.stdout.contains(waits), "{}", doctor.stdout);
    let said = "the clock has not been synchronized since the machine started. Scheduled jobs";
    assert!(doctor.stdout.contains(said), "{}", doctor.stdout);
    // A network that never comes does not keep the jobs from running.
    clock.forward(Duration::from_secs(10 * 60));
    gateway.wait_for_log("the clock is used now, although nothing confirms it: 2027-03-01 07:10");
    gateway.stop().ends_with(0);
}
