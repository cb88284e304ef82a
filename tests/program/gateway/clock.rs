//! A board without a clock: it starts in 1970 or in the past, and the time comes later.

use std::fs;
use std::time::Duration;

use crate::gateway::scene::Scene;
use crate::harness::clock::Turned;

const HOUR: Duration = Duration::from_secs(3600);

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
