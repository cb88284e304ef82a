//! Slow lines, and a watchdog that has to be fed meanwhile.

use std::time::Duration;

use super::scene::Scene;
use crate::harness::line::Rate;
use crate::harness::model::say;

#[test]
fn a_model_on_a_slow_line_does_not_starve_the_watchdog() {
    let scene = Scene::playing([say(&"word ".repeat(400)).in_pieces(40)]);
    scene.model.set_rate(Rate::down(4_000));
    let (gateway, watchdog) = scene.start_with_watchdog(Duration::from_secs(4));
    watchdog.wait_for("READY=1");
    scene.ana.says("tell me");
    scene.wait_for(&"word ".repeat(399));
    watchdog.wait_for_meals(2);
    gateway.stop().ends_with(0);
    watchdog.wait_for("STOPPING=1");
    watchdog.assert_fed();
}
