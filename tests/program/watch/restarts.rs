//! What a restart, a kill, a reload or a broken file leaves of watches.

use super::*;

#[test]
fn a_restart_in_the_middle_neither_repeats_the_alarm_nor_forgets_its_end() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("📈 load 8.00 (over 4).");
    // What comes after it says that it was confirmed: else it would have to be sent again.
    asks_until(&scene, "/watch", "🔴 8.00");
    drop(gateway.kill());
    clock.forward(10 * MINUTE);
    let gateway = scene.start();
    asks_until(&scene, "/watch", "1. load > 4: 🔴 8.00, for 1");
    gateway.stop().ends_with(0);
    board.write("proc/loadavg", "0.20 1.00 1.00 1/88 900\n");
    clock.forward(10 * MINUTE);
    let gateway = scene.start();
    scene.wait_for("✅ load is back to 0.20 after 2");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "📈"), 1, "{:?}", scene.texts());
}

/// Commands that were written while the gateway was off are about all watches, however soon they come after the start.
#[test]
fn commands_that_wait_for_the_start_find_all_watches() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    for number in 1..=3 {
        scene.ana.says(&format!("/watch load > {number}"));
        scene.wait_for(&format!("(number {number}). Now: 0.10."));
    }
    gateway.stop().ends_with(0);
    for (number, first) in [(1, "1. load > 1"), (2, "1. load > 1: 0.10, muted for 2 h")] {
        let before = scene.texts().len();
        scene.ana.says("/watch list");
        scene.ana.says(&format!("/watch mute {number} 2h"));
        let gateway = scene.start();
        scene.wait_for(&format!("Muted for 2 h: load > {number}"));
        let is_whole = |text: &String| {
            let parts = [first, "2. load > 2: 0.10", "3. load > 3: 0.10", "disk: "];
            parts.iter().all(|part| text.contains(part))
        };
        wait_until("a list of all", || {
            scene.texts().iter().skip(before).any(is_whole)
        });
        gateway.stop().ends_with(0);
        assert_eq!(count(&scene, "Nothing is watched"), 0);
    }
}

#[test]
fn a_file_that_is_broken_by_hand_stops_nothing_and_loses_nothing() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    let file = scene.home.path().join("watches.json");
    let good = fs::read_to_string(&file).unwrap();
    let broken = good.replace("\"watches\"", "watches");
    // Written in place, as some editors do.
    fs::write(&file, &broken).unwrap();
    gateway.wait_for_log("cannot be read: key must be a string at line 4");
    scene.ana.says("/watch");
    scene.wait_for("key must be a string");
    let listed = Program::new(&scene.home).args(["watch", "list"]).run();
    listed.ends_with(1).complains_of(&["key must be a string"]);
    scene.ana.says("/watch port 1");
    scene.wait_for("It was left as it is");
    assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 8.00 (over 4)");
    replace(&file, &good.replace("load > 4", "load > 6"));
    asks_until(&scene, "/watch", "1. load > 6: ");
    gateway.stop().ends_with(0);
}

/// As an editor saves a file.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

#[test]
fn a_command_that_a_kill_has_cut_off_is_told_once() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(
        &scene,
        "load > 4 quiet then run touch started; sleep 60",
        "0.10",
    );
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 8.00 (over 4)");
    let (started, watch) = (scene.home.workspace("started"), std::time::Instant::now());
    while !started.exists() {
        assert!(watch.elapsed() < crate::harness::PATIENCE, "it never ran");
        std::thread::yield_now();
    }
    drop(gateway.kill());
    let gateway = scene.start();
    scene.wait_for("sleep 60 was interrupted by a restart");
    asks_until(&scene, "/watch", "🔴 8.00");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    asks_until(&scene, "/watch", "🔴 8.00");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "was interrupted"), 1);
}

#[test]
fn what_is_turned_off_or_an_alarm_stays_so_while_watches_are_disabled() {
    let (mut scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    scene.ana.says("/watch off disk");
    scene.wait_for("Turned off: disk.");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 8.00 (over 4)");
    for enabled in [false, true] {
        scene.home.set("/watch", json!({"enabled": enabled}));
        Program::new(&scene.home).arg("reload").run().ends_with(0);
    }
    asks_until(&scene, "/watch", "• disk: off");
    clock.forward(MINUTE);
    asks_until(&scene, "/watch", "1. load > 4: 🔴 8.00, for 1");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "📈"), 1, "{:?}", scene.texts());
}
