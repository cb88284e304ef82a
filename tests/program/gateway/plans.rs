//! Plans: a planner, workers and critics that reach a goal in steps, each of which is done once.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

pub(super) const GOAL: &str = "count the birds of the lake";
/// How long a plan has been shown before a word can be meant for it.
const READ_TIME: Duration = Duration::from_secs(2);
/// The steps of the plan, by the numbers of those that they come after: 2 and 4 beside 3 and 5.
const AFTER: [&[usize]; 8] = [&[], &[1], &[1], &[2], &[3], &[4, 5], &[6], &[7]];
/// The step whose worker fails once, and the one that a critic sends back once.
const FAILS: usize = 5;
const REFUSED: usize = 4;

/// Who asks the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Planner,
    Worker(usize),
    Critic(usize),
    /// The conversation hears of the end.
    Report,
    Talk,
}

pub(super) fn who(request: &Request) -> Who {
    let text = request.body["messages"].to_string();
    let number = |words: &str| {
        let at = text.find(words)? + words.len();
        text[at..]
            .chars()
            .next()?
            .to_digit(10)
            .map(|it| it as usize)
    };
    if text.contains("Write a plan for this goal") {
        Who::Planner
    } else if let Some(step) = number("You do step ") {
        Who::Worker(step)
    } else if let Some(step) = number("You check step ") {
        Who::Critic(step)
    } else if request.last_message().contains("has ended:") {
        Who::Report
    } else {
        Who::Talk
    }
}

pub(super) fn is_result(request: &Request) -> bool {
    let messages = request.messages();
    messages.iter().any(|message| message["role"] == "tool")
}

/// The call that writes the plan.
pub(super) fn steps(after: &[&[usize]]) -> Step {
    let step = |(number, after): (usize, &&[usize])| {
        json!({
            "task": format!("Look at shore {number}."),
            "proof": format!("shore {number} is in log.txt"),
            "after": after,
        })
    };
    let steps: Vec<Value> = (1..).zip(after).map(step).collect();
    call("plan_steps", json!({"steps": steps}))
}

/// Notes that a worker has done its step, once for each time that it begins.
pub(super) fn note(step: usize) -> Step {
    call(
        "append_file",
        json!({"path": "log.txt", "content": format!("shore {step}\n")}),
    )
}

/// What the model says in the plan of eight steps. A failed attempt leaves nothing, and one that was sent back is told why.
pub(super) fn counting(request: &Request) -> Step {
    let body = request.body["messages"].to_string();
    let is_again = body.contains("The last attempt at this step did not succeed");
    match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&AFTER),
        (Who::Planner, true) => say("The plan is written."),
        (Who::Worker(FAILS), false) if !is_again => say("FAILED: the fog is too thick."),
        (Who::Worker(REFUSED), false) if is_again => say("Now with the young ones: twelve."),
        (Who::Worker(step), false) => note(step),
        (Who::Worker(step), true) => after_note(request, step),
        (Who::Critic(REFUSED), _) if !body.contains("young ones: twelve") => {
            say("REFUSED: the young ones are not counted.")
        }
        (Who::Critic(_), _) => say("**ACCEPTED**: it is in the log."),
        (Who::Report, _) => say("The lake has 36 birds."),
        (Who::Talk, _) => say("Hello."),
    }
}

/// What a worker does about the result of its call: after one that a kill has interrupted it looks first.
fn after_note(request: &Request, step: usize) -> Step {
    let messages = request.messages();
    let called = messages.iter().rfind(|it| it["tool_calls"].is_array());
    let has_looked = called.is_some_and(|it| it["tool_calls"].to_string().contains("read_file"));
    let last = request.last_message();
    match has_looked {
        true if last.contains(&format!("shore {step}")) => {}
        true => return note(step),
        false if last.contains("outcome unknown") => {
            return call("read_file", json!({"path": "log.txt"}));
        }
        false => {}
    }
    say(&format!("Shore {step} has {step} birds."))
}

pub(super) fn scene(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Scene {
    let mut scene = Scene::answering(answer).with_edits();
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(false));
    scene
}

/// How often each began to ask the model.
pub(super) fn beginnings(scene: &Scene) -> BTreeMap<Who, usize> {
    let mut counts = BTreeMap::new();
    for request in scene.model.requests().iter().filter(|it| !is_result(it)) {
        *counts.entry(who(request)).or_default() += 1;
    }
    counts
}

/// Each step has left one line, and none before those that it comes after.
fn check_log(scene: &Scene) {
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    let place = |step: usize| {
        let line = format!("shore {step}");
        let places: Vec<usize> = (0..)
            .zip(log.lines())
            .filter(|(_, it)| *it == line)
            .map(|it| it.0)
            .collect();
        assert_eq!(places.len(), 1, "step {step}:\n{log}");
        places[0]
    };
    for (number, after) in (1..).zip(AFTER) {
        for before in after {
            assert!(place(*before) < place(number), "{before}, {number}:\n{log}");
        }
    }
    assert_eq!(log.lines().count(), AFTER.len(), "{log}");
}

#[test]
fn a_plan_of_eight_steps_ends_right_with_a_worker_that_fails_and_a_critic_that_refuses() {
    // Step 2 is done only once step 3 has been begun: they are done side by side.
    let gate = Gate::default();
    let opens = gate.clone();
    let scene = scene(move |request| {
        if who(request) == Who::Worker(3) {
            opens.open();
        }
        match (who(request), is_result(request)) {
            (Who::Worker(2), false) => note(2).after(&gate),
            _ => counting(request),
        }
    });
    let gateway = scene.start();
    scene.ana.says("hi");
    scene.wait_for("Hello.");
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for("The lake has 36 birds.");
    let ended = scene.wait_for("All of it is done.");
    gateway.stop().ends_with(0);
    check_log(&scene);
    for words in [
        GOAL,
        "✅ 8. Look at shore 8",
        "✅ 5. Look at shore 5. (failed 1×)",
        "✅ 4. Look at shore 4. (sent back 1×)",
        "of 1M",
    ] {
        assert!(ended.text.contains(words), "{words}: {}", ended.text);
    }
    let counts = beginnings(&scene);
    for step in 1..=AFTER.len() {
        let tries = if [FAILS, REFUSED].contains(&step) {
            2
        } else {
            1
        };
        assert_eq!(counts[&Who::Worker(step)], tries, "step {step}");
        let checks = if step == REFUSED { 2 } else { 1 };
        assert_eq!(counts[&Who::Critic(step)], checks, "step {step}");
    }
    assert_eq!((counts[&Who::Planner], counts[&Who::Report]), (1, 1));
    let requests = scene.model.requests();
    let at = |wanted: (Who, bool)| {
        let mut all = requests.iter();
        all.position(|it| (who(it), is_result(it)) == wanted)
            .unwrap()
    };
    assert!(at((Who::Worker(3), false)) < at((Who::Worker(2), true)));
    // A person's own conversation has none of it.
    let tools = |request: &Request| request.body["tools"].to_string();
    assert!(
        !tools(&requests[0]).contains("note_put"),
        "{}",
        tools(&requests[0])
    );
    let worker = tools(&requests[at((Who::Worker(1), false))]);
    assert!(worker.contains("\"note_put\"") && worker.contains("\"tell\""));
    assert!(!worker.contains("\"spawn\"") && !worker.contains("\"plan_steps\""));
    // One message shows the plan.
    let shown = scene
        .texts()
        .iter()
        .filter(|text| text.contains(GOAL))
        .count();
    assert_eq!(shown, 1, "{:?}", scene.texts());
    let stored = fs::read_dir(scene.home.path().join("state/plans")).unwrap();
    assert_eq!(stored.count(), 1);
}

#[test]
fn a_kill_at_every_step_of_a_plan_loses_and_repeats_nothing() {
    let scene = scene(counting);
    let cuts = scene.home.path().join("cuts");
    let start = || {
        let program = Program::new(&scene.home).arg("gateway");
        Gateway::of(program.env("PEACRAB_TEST_PLAN_CUTS", cuts.to_str().unwrap()))
    };
    let mut gateway = start();
    scene.ana.says(&format!("/plan {GOAL}"));
    let mut kills = 0;
    let is_over = || {
        scene
            .texts()
            .iter()
            .any(|text| text.contains("The lake has 36 birds."))
    };
    loop {
        wait_until("a kill, or the end", || !gateway.is_running() || is_over());
        if gateway.is_running() {
            break;
        }
        kills += 1;
        assert_eq!(gateway.finish().code, None, "it has ended itself");
        gateway = start();
    }
    let ended = scene.wait_for("All of it is done.");
    gateway.stop().ends_with(0);
    check_log(&scene);
    // Each step is done, one of them after a failure and one after a refusal.
    for step in 1..=AFTER.len() {
        let words = match step {
            FAILS => format!("✅ {step}. Look at shore {step}. (failed 1×)"),
            REFUSED => format!("✅ {step}. Look at shore {step}. (sent back 1×)"),
            _ => format!("✅ {step}. Look at shore {step}.\n"),
        };
        assert!(ended.text.contains(&words), "{words}: {}", ended.text);
    }
    let counts = beginnings(&scene);
    let reached = fs::read_to_string(&cuts).unwrap();
    // One worker and one critic for each step, one more of each where it was needed, and the planner: begun, accepted,
    // ended and noted.
    let agents = 1 + AFTER.len() * 2 + 3;
    for step in ["begun", "accepted", "ended", "noted"] {
        let count = reached
            .lines()
            .filter(|line| line.starts_with(step))
            .count();
        // A thread that the other one's kill ends behind its step leaves no line, and does not reach it again.
        assert!((agents - 2..=agents).contains(&count), "{step}:\n{reached}");
    }
    for step in ["made", "told 1", "reported 1"] {
        assert!(
            reached.lines().any(|line| line == step),
            "{step}:\n{reached}"
        );
    }
    // Two threads may reach a step each before the end of the process.
    let steps = reached.lines().count();
    assert!(kills <= steps && kills > 3 * agents, "{kills} of {steps}");
    assert!(counts.keys().len() >= agents - 3, "{counts:?}");
    let texts = scene.texts();
    let told = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(told("The lake has 36 birds."), 1, "{texts:?}");
    // What is just being sent at a kill may come twice: two of them hit around it.
    assert!((1..=3).contains(&told("All of it is done.")), "{texts:?}");
    let reports = scene.model.requests();
    let reports = reports.iter().filter(|it| who(it) == Who::Report).count();
    assert_eq!(reports, 1);
}

/// Waits until a person can have read what was shown last.
pub(super) fn read() {
    let shown = Instant::now();
    wait_until("the plan can have been read", || {
        shown.elapsed() > READ_TIME
    });
}

#[test]
fn a_plain_yes_starts_the_plan_that_was_said_last() {
    let mut scene = scene(|request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[]]),
        (Who::Talk, _) if request.last_message().contains("yes") => say("Yes to what?"),
        _ => counting(request),
    });
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(true));
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for_question("starts it");
    scene.ana.says("hi");
    scene.wait_for("Hello.");
    read();
    // It may be about the greeting.
    scene.ana.says("yes");
    scene.wait_for("Yes to what?");
    assert!(!beginnings(&scene).contains_key(&Who::Worker(1)));
    scene.ana.says("/plan change 1");
    scene.wait_for("Name the step");
    scene.ana.says("/plan stop");
    scene.wait_for("The plan is stopped.");

    scene.ana.says("/plan count the fish of the lake");
    scene.wait_for_question("count the fish of the lake");
    read();
    scene.ana.says("Ja!");
    scene.wait_for("The plan is at work.");
    scene.wait_for("The lake has 36 birds.");
    gateway.stop().ends_with(0);
    assert_eq!(beginnings(&scene)[&Who::Worker(1)], 1);
}

#[test]
fn a_person_sees_the_plan_first_and_changes_it() {
    let mut scene = scene(|request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[], &[1, 2]]),
        _ => counting(request),
    });
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(true));
    let bob = scene.telegram.person(1002, "Bob", None);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for_question("starts it");
    // The plan of another conversation is not there for Bob.
    bob.says("/plan approve");
    scene.wait_in(bob.chat(), "There is no plan here");
    scene.ana.says("/plan another goal");
    scene.wait_for("This conversation has a plan");
    scene.ana.says("/plan skip 1");
    scene.wait_for("Step 1 is left out");
    scene.ana.says("/plan change 2 Look at the north shore.");
    scene.wait_for("Step 2 is changed");
    assert!(!beginnings(&scene).contains_key(&Who::Worker(2)));
    scene.ana.presses("Start");
    let ended = scene.wait_for("All of it is done.");
    scene.wait_for("The lake has 36 birds.");
    gateway.stop().ends_with(0);
    for words in ["⏭️ 1.", "✅ 2. Look at the north shore.", "✅ 3."] {
        assert!(ended.text.contains(words), "{words}: {}", ended.text);
    }
    let counts = beginnings(&scene);
    assert!(!counts.contains_key(&Who::Worker(1)), "{counts:?}");
    let requests = scene.model.requests();
    let worker = requests
        .iter()
        .find(|it| who(it) == Who::Worker(3))
        .unwrap();
    let told = worker.body["messages"].to_string();
    assert!(
        told.contains("left out by the person") && told.contains("Shore 2 has 2 birds."),
        "{told}"
    );
}

#[test]
fn agents_share_a_board_and_tell_each_other_a_few_things() {
    // Step 2 waits until step 1 has told it something.
    let gate = Gate::default();
    let opens = gate.clone();
    let scene = scene(move |request| {
        let calls = request
            .messages()
            .iter()
            .filter(|it| it["role"] == "tool")
            .count();
        match (who(request), calls) {
            (Who::Planner, 0) => steps(&[&[], &[], &[1, 2]]),
            (Who::Worker(1), 0) => call(
                "note_put",
                json!({"key": "herons", "text": "seventeen at the pier"}),
            ),
            // More than they may, in one reply that tries to go on for ever.
            (Who::Worker(1), 1) => (0..30).fold(say(""), |reply, number| {
                reply.and_call(
                    "tell",
                    json!({"step": 2, "text": format!("look at tree {number}")}),
                )
            }),
            (Who::Worker(1), 31) => (30..40).fold(say(""), |reply, number| {
                reply.and_call(
                    "tell",
                    json!({"step": 2, "text": format!("look at tree {number}")}),
                )
            }),
            (Who::Worker(1), _) => {
                opens.open();
                say("Told.")
            }
            (Who::Worker(2), 0) => call("notes", json!({})).after(&gate),
            (Who::Worker(2), 1) => call("note_get", json!({"key": "herons"})),
            (Who::Worker(2), _) => say("Looked."),
            (Who::Worker(3), 0) => call("tell", json!({"step": 1, "text": "thanks"})),
            _ => counting(request),
        }
    });
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for("The lake has 36 birds.");
    scene.ana.says("/tasks plan");
    let board = scene.wait_for("herons");
    gateway.stop().ends_with(0);
    for words in [
        "1w1",
        "seventeen at the pier",
        "1w1 → 2: look at tree 31",
        "sent each other 32 messages",
    ] {
        assert!(board.text.contains(words), "{words}: {}", board.text);
    }
    assert!(!board.text.contains("look at tree 32"), "{}", board.text);
    let requests = scene.model.requests();
    let last = |wanted: Who| {
        requests.iter().rfind(|it| who(it) == wanted).unwrap().body["messages"].to_string()
    };
    let of_two = last(Who::Worker(2));
    assert!(
        of_two.contains("herons: 21 bytes, by 1w1") && of_two.contains("seventeen at the pier"),
        "{of_two}"
    );
    assert_eq!(of_two.matches("look at tree 31").count(), 1, "{of_two}");
    assert!(last(Who::Worker(1)).contains("are used up"));
    assert!(last(Who::Worker(3)).contains("step 1 is over"));
    // Nothing of it went through the conversation.
    assert!(!last(Who::Report).contains("look at tree"));
}

#[test]
fn a_plan_keeps_within_its_budget_and_goes_on_when_a_person_says_so() {
    let mut scene = scene(|request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1], &[2]]),
        _ => counting(request),
    });
    scene
        .home
        .set("/agents/defaults/plan/maxTokens", json!(TOKENS));
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for("The budget is used up.");
    let asked = scene.model.requests().len();
    let mut rounds = 0;
    while !scene
        .texts()
        .iter()
        .any(|text| text.contains("All of it is done."))
    {
        rounds += 1;
        let used_up = || {
            let texts = scene.texts();
            let count = texts
                .iter()
                .filter(|text| text.contains("The budget is used up."))
                .count();
            count > rounds || texts.iter().any(|text| text.contains("All of it is done."))
        };
        assert!(rounds < 10, "{:?}", scene.texts());
        scene.ana.says("/plan approve");
        wait_until("the next end", used_up);
    }
    gateway.stop().ends_with(0);
    assert!(asked < scene.model.requests().len() && rounds > 0);
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "shore 1\nshore 2\nshore 3\n");
}

/// Tokens of the budget: a few requests of the fake model.
const TOKENS: u64 = 500;

#[test]
fn a_stop_ends_a_plan_and_an_approval_takes_it_up_again() {
    let gate = Gate::default();
    let waits = gate.clone();
    let scene = scene(move |request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1]]),
        (Who::Worker(2), false) => note(2).after(&waits),
        _ => counting(request),
    });
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    wait_until("step 2", || {
        beginnings(&scene).contains_key(&Who::Worker(2))
    });
    scene.ana.says("/stop");
    scene.wait_for("1 subagent ended");
    scene.wait_for("Stopped. /plan approve goes on.");
    scene.ana.says("/tasks");
    scene.wait_for("No subagent is running");
    gate.open();
    scene.ana.presses("Go on");
    scene.wait_for("All of it is done.");
    gateway.stop().ends_with(0);
    let counts = beginnings(&scene);
    assert_eq!((counts[&Who::Worker(1)], counts[&Who::Worker(2)]), (1, 2));
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "shore 1\nshore 2\n");
}

#[test]
fn each_part_asks_its_own_model_and_a_step_that_stays_wrong_ends_the_plan() {
    let mut scene = scene(|request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1], &[]]),
        (Who::Critic(1), _) => say("REFUSED: not so."),
        (Who::Worker(1), false) => say("It is done."),
        _ => counting(request),
    });
    for (part, name) in [
        ("planner", "big"),
        ("worker", "small"),
        ("critic", "strict"),
    ] {
        let setting = format!("/agents/defaults/plan/{part}Model");
        scene.home.set(&setting, json!(format!("fake/{name}")));
    }
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    let ended = scene.wait_for("It cannot go on.");
    scene.wait_for("The lake has 36 birds.");
    gateway.stop().ends_with(0);
    assert!(
        ended.text.contains("❌ 1.") && ended.text.contains("REFUSED: not so."),
        "{}",
        ended.text
    );
    assert!(
        ended.text.contains("✅ 3.") && ended.text.contains("◽ 2."),
        "{}",
        ended.text
    );
    let counts = beginnings(&scene);
    // At first, and twice sent back.
    assert_eq!(counts[&Who::Worker(1)], 3);
    assert!(!counts.contains_key(&Who::Worker(2)));
    for request in scene.model.requests() {
        let model = match who(&request) {
            Who::Planner => "big",
            Who::Worker(_) => "small",
            Who::Critic(_) => "strict",
            _ => continue,
        };
        assert_eq!(request.body["model"], model);
    }
}

#[test]
fn no_user_changes_the_plan_of_an_owner() {
    let gate = Gate::default();
    let waits = gate.clone();
    let mut scene = scene(move |request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[]]),
        (Who::Worker(1), false) => note(1).after(&waits),
        _ => counting(request),
    });
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(true));
    let scene = scene
        .set("roles", json!({"1002": "user"}))
        .set("groupPolicy", json!("open"));
    let bob = scene.telegram.person(1002, "Bob", None);
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(group, &format!("/plan {GOAL}"));
    scene.wait_in(group, "starts it");
    bob.says_in(group, "/plan change 1 Send me the keys.");
    scene.wait_in(group, "Only someone who may do as much");
    scene.ana.says_in(group, "/plan approve");
    wait_until("step 1", || {
        beginnings(&scene).contains_key(&Who::Worker(1))
    });
    bob.says_in(group, "/stop");
    scene.wait_in(group, "Nothing is running");
    gate.open();
    let ended = scene.wait_in(group, "All of it is done.");
    scene.wait_in(group, "The lake has 36 birds.");
    gateway.stop().ends_with(0);
    assert!(ended.text.contains("Look at shore 1."), "{}", ended.text);
}

#[test]
fn the_proposals_of_others_leave_room_and_a_skip_says_what_goes_on() {
    let mut scene = scene(|request| match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1]]),
        (Who::Worker(1), false) => say("FAILED: the fog is too thick."),
        _ => counting(request),
    });
    scene
        .home
        .set("/agents/defaults/plan/approval", json!(true));
    let scene = scene.set("groupPolicy", json!("open"));
    let gateway = scene.start();
    for number in [-901, -902, -903, -904] {
        let group = scene.telegram.group(number, "Home");
        scene.ana.says_in(group, &format!("/plan {GOAL}"));
        scene.wait_in(group, "starts it");
    }
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for_question("starts it");
    scene.ana.says("/plan approve");
    scene.wait_for("It cannot go on.");
    scene.ana.says("/plan skip 1");
    scene.wait_for("Step 1 is left out. /plan approve goes on.");
    scene.ana.says("/plan approve");
    scene.wait_for("All of it is done.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_long_plan_leaves_places_to_another_one() {
    const SHORT: &str = "count the boats";
    let gate = Gate::default();
    let waits = gate.clone();
    let mut scene = scene(move |request| {
        let is_short = request.body["messages"].to_string().contains(SHORT);
        match (who(request), is_result(request)) {
            (Who::Planner, false) if is_short => steps(&[&[]]),
            (Who::Planner, false) => steps(&[&[] as &[usize]; 6]),
            (Who::Worker(step), false) => note(step).after(&waits),
            (Who::Critic(_), _) => say("ACCEPTED"),
            _ => counting(request),
        }
    });
    scene
        .home
        .set("/channels/telegram/groupPolicy", json!("open"));
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    wait_until("two workers", || {
        beginnings(&scene).contains_key(&Who::Worker(2))
    });
    scene.ana.says_in(group, &format!("/plan {SHORT}"));
    scene.wait_in(group, "I'm writing the plan.");
    gate.open();
    scene.wait_in(group, "All of it is done.");
    scene.wait_for("All of it is done.");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    let at = |wanted: Who, goal: &str| {
        let is_it =
            |it: &Request| who(it) == wanted && it.body["messages"].to_string().contains(goal);
        requests.iter().position(is_it).unwrap()
    };
    assert!(at(Who::Critic(1), SHORT) < at(Who::Worker(5), GOAL));
}
