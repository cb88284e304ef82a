//! Plans under bad conditions: a channel without edits, a slow line, a clock in 1970, a budget that ends.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::plans::{GOAL, Who, beginnings, counting, is_result, read, scene, steps, who};
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::irc::Irc;
use crate::harness::line::Rate;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::wait_until;

/// Bytes a second of a line from the country.
const SLOW: u32 = 40_000;
/// The watchdog's time.
const EVERY: Duration = Duration::from_secs(4);

/// A plan whose steps 2 and 3 are done side by side.
fn forked(request: &Request) -> Step {
    match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1], &[1], &[2, 3]]),
        _ => counting(request),
    }
}

/// The same with one step after the other.
fn in_line(request: &Request) -> Step {
    match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1], &[2]]),
        _ => counting(request),
    }
}

#[test]
fn where_nothing_can_be_edited_a_plan_is_shown_before_it_begins_and_at_its_end() {
    let model = Model::answering(forked);
    let irc = Irc::start();
    let mut home = Home::with_model(&model);
    home.set("/channels", json!({"irc": irc.section()}));
    if let Some(authority) = irc.authority() {
        home.set("/tls/caFile", json!(authority));
    }
    let ana = irc.person("ana", Some("ana"));
    let gateway = Gateway::start(&home);
    irc.wait_for_clients(1);
    ana.says(&format!("/plan {GOAL}"));
    irc.wait_for("ana", "I'm writing the plan.");
    let proposed = irc.wait_for("ana", "starts it").lines.join("\n");
    assert!(proposed.contains("/plan approve"), "{proposed}");
    ana.says("/plan approve");
    irc.wait_for("ana", "All of it is done.");
    irc.wait_for("ana", "The lake has 36 birds.");
    gateway.stop().ends_with(0);
    let said = irc.texts("ana").join("\n");
    for (words, count) in [
        (GOAL, 2),
        ("◽ 4. Look at shore 4", 1),
        ("✅ 4. Look at shore 4", 1),
    ] {
        assert_eq!(said.matches(words).count(), count, "{words}: {said}");
    }
    assert!(!said.contains("▶️"), "{said}");
}

#[test]
fn on_a_line_of_40_kilobytes_a_plan_is_done_side_by_side_and_others_are_answered() {
    let scene = scene(|request| match (who(request), is_result(request)) {
        // Its requests are long.
        (Who::Worker(step), false) => call("read_file", json!({"path": "lake.txt"})).and_call(
            "append_file",
            json!({"path": "log.txt", "content": format!("shore {step}\n")}),
        ),
        (Who::Worker(step), true) => say(&format!("Shore {step} has {step} birds.")),
        (Who::Critic(_), _) => say("ACCEPTED"),
        _ => forked(request),
    });
    let scene = scene.set("allowFrom", json!(["1001", "1002"]));
    let ben = scene.telegram.person(1002, "Ben", None);
    let lake = "reeds and water, and no bird in sight\n".repeat(400);
    fs::write(scene.home.workspace("lake.txt"), lake).unwrap();
    scene.model.set_rate(Rate::both(SLOW));
    scene.telegram.set_rate(Rate::both(SLOW));
    let (gateway, watchdog) = scene.start_with_watchdog(EVERY);
    watchdog.wait_for("READY=1");
    scene.ana.says(&format!("/plan {GOAL}"));
    wait_until("the first step", || {
        beginnings(&scene).contains_key(&Who::Worker(1))
    });
    ben.says("hi");
    scene.wait_in(ben.chat(), "Hello.");
    assert!(!beginnings(&scene).contains_key(&Who::Report));
    scene.wait_for("All of it is done.");
    scene.wait_for("The lake has 36 birds.");
    gateway.stop().ends_with(0);
    watchdog.wait_for("STOPPING=1");
    watchdog.assert_fed();
    let requests = scene.model.requests();
    let at = |wanted: (Who, bool)| {
        let mut all = requests.iter();
        all.position(|it| (who(it), is_result(it)) == wanted)
            .unwrap()
    };
    // Each has begun before the other has ended.
    for (one, other) in [(2, 3), (3, 2)] {
        let (begun, ended) = ((Who::Worker(one), false), (Who::Critic(other), false));
        assert!(at(begun) < at(ended), "{one}");
    }
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["shore 1", "shore 2", "shore 3", "shore 4"]);
    let shown = scene.texts();
    let shown = shown.iter().filter(|text| text.contains(GOAL)).count();
    assert_eq!(shown, 1, "{:?}", scene.texts());
}

#[test]
fn plans_are_made_and_done_with_a_clock_in_1970() {
    let clock = Turned::unsynchronized("1970-01-01T00:00:20Z");
    let mut scene = scene(in_line);
    scene.home.turn(&clock);
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(true));
    let gateway = scene.start();
    let goals = ["count the herons", "count the coots", "count the grebes"];
    for (round, goal) in (1..).zip(goals) {
        scene.ana.says(&format!("/plan {goal}"));
        scene.wait_for_question("starts it");
        read();
        scene.ana.says("yes");
        scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.text.contains(goal) && message.text.contains("All of it is done.")
            });
        wait_until("the report", || {
            let texts = scene.texts();
            let reports = texts.iter().filter(|text| text.contains("36 birds"));
            reports.count() == round
        });
        // The last one that was made, whatever the clock said then.
        scene.ana.says("/plan");
        wait_until("the plan once more", || {
            let texts = scene.texts();
            texts.iter().filter(|text| text.contains(goal)).count() == 2
        });
        match round {
            1 => clock.set("2025-03-01T07:00:00Z"),
            _ => clock.set("1970-01-01T00:00:30Z"),
        }
    }
    gateway.stop().ends_with(0);
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "shore 1\nshore 2\nshore 3\n".repeat(goals.len()));
}

/// What the agents of a plan have asked.
fn asked_for_plan(model: &Model) -> usize {
    let requests = model.requests();
    let of_plan = requests
        .iter()
        .filter(|it| !matches!(who(it), Who::Report | Who::Talk));
    of_plan.count()
}

#[test]
fn a_plan_asks_nothing_more_once_its_tokens_or_its_money_are_used_up() {
    // A request of the fake model has 110 tokens, and costs $2 here.
    let prices = json!({"*": {"input": 10_000, "output": 100_000}});
    for (limits, told) in [
        (json!({"maxTokens": 500}), "Tokens: 550 of 500"),
        (json!({"maxTokens": 0, "maxUsd": 9.5}), "$10.00 of $9.50"),
    ] {
        let mut scene = scene(in_line);
        scene.home.set("/providers/fake/prices", prices.clone());
        for (name, limit) in limits.as_object().unwrap() {
            let setting = format!("/agents/defaults/plan/{name}");
            scene.home.set(&setting, limit.clone());
        }
        let gateway = scene.start();
        scene.ana.says(&format!("/plan {GOAL}"));
        let ended = scene.wait_for("The budget is used up.");
        assert!(ended.text.contains(told), "{told}: {}", ended.text);
        scene.wait_for("The lake has 36 birds.");
        gateway.stop().ends_with(0);
        // A start changes nothing.
        let gateway = scene.start();
        scene.ana.says("hi");
        scene.wait_for("Hello.");
        gateway.stop().ends_with(0);
        assert_eq!(asked_for_plan(&scene.model), 5, "{told}");
    }
}
