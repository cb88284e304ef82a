//! How fast and how often a screen is shown, and what a terminal costs.

use std::time::Instant;

use super::*;

#[test]
fn a_thousand_changes_a_second_stay_within_pace_and_memory() {
    let line = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); echo \"number $i\"; done; read x";
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    let closed = anonymous_kb(&gateway);
    scene.ana.says("/term sh");
    prompts(&scene);
    let before = anonymous_kb(&gateway);
    println!(
        "an open terminal takes {} kB",
        before.saturating_sub(closed)
    );
    scene.ana.says(line);
    shows(&scene, "number 30000");
    let after = anonymous_kb(&gateway);
    let times = scene.telegram.edit_times(scene.ana.chat());
    for pair in times.windows(2) {
        let apart = pair[1].duration_since(pair[0]);
        assert!(apart >= Duration::from_millis(900), "{apart:?}");
    }
    assert!(after < before + 1024, "from {before} to {after} kB");
    scene.ana.presses("Ctrl-C");
    scene.ana.presses("Close");
    closes(&scene, "Terminal closed");
    gateway.stop().ends_with(0);
}

/// The memory of a gateway that is not of files.
fn anonymous_kb(gateway: &Gateway) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon"));
    let number = line.unwrap().split_ascii_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

/// The shortest time between two edits of a message, which the channel sets.
const PACE: Duration = Duration::from_secs(1);

/// The time from a message's delivery to the edit that shows what it did, without the part for which the channel's pace
/// made the edit wait. The figure of a release is checked by scripts/footprint.
#[test]
fn what_is_typed_shows_as_soon_as_the_pace_allows() {
    let (scene, gateway) = open("/term sh");
    prompts(&scene);
    let mut times: Vec<Duration> = (0..7)
        .map(|number| {
            let typed = Instant::now();
            scene.ana.says(&format!("echo $((1000 + {number}))!"));
            shows(&scene, &format!("\n{}!", 1000 + number));
            let edits = scene.telegram.edit_times(scene.ana.chat());
            // The echo of the line may have been shown before its output.
            let mut newest = edits.iter().rev();
            let shown = *newest.next().unwrap();
            let begins = newest.next().map_or(typed, |last| typed.max(*last + PACE));
            prompts(&scene);
            shown.saturating_duration_since(begins)
        })
        .collect();
    times.sort();
    println!("from a key to the screen, beside the pace: {times:?}");
    let median = times[times.len() / 2];
    assert!(median < Duration::from_secs(2), "{times:?}");
    scene.ana.says("exit");
    ends(&scene, gateway);
}
