//! Whatever its agents do, a plan ends, and no step is done before those that it needs.

use proptest::prelude::*;

use super::*;
use crate::base::access::Role;
use crate::base::chat::Usage;
use crate::base::language::Language;
use crate::base::message::{Address, SessionKey};

fn plan(after: &[&[usize]]) -> Plan {
    let client = Client {
        session: SessionKey::parse("telegram:1"),
        reply: Address::new("telegram", "1"),
        agent: "main".to_owned(),
        author: None,
        role: Role::Owner,
        attended: true,
        language: Language::English,
    };
    let grant = Limit {
        tokens: 1_000,
        cost: 0,
    };
    let mut plan = Plan::new("0123abcd".to_owned(), "a goal", client, false, grant);
    let planner = plan.begin_next().unwrap();
    let draft = |after: &&[usize]| Draft {
        task: "do".to_owned(),
        proof: "see".to_owned(),
        after: after.to_vec(),
    };
    plan.set_steps(after.iter().map(draft).collect()).unwrap();
    assert!(plan.ended(&planner, Ok("written")));
    plan
}

fn begin(plan: &mut Plan) -> String {
    plan.begin_next()
        .map_or_else(String::new, |agent| agent.to_string())
}

fn end(plan: &mut Plan, name: &str, report: std::result::Result<&str, &str>) -> bool {
    let agent = Agent::parse(&format!("{CHANNEL}:0123abcd-{name}")).unwrap();
    plan.ended(&agent, report)
}

#[test]
fn an_agent_is_named_by_its_session() {
    for name in ["p1", "3w1", "12c20"] {
        let key = format!("subagent:0123abcd-{name}");
        let agent = Agent::parse(&key).unwrap();
        assert_eq!(
            (agent.to_string().as_str(), agent.session().as_str()),
            (name, key.as_str())
        );
    }
    for other in [
        "telegram:1",
        "subagent:0123abcd",
        "subagent:0123abcd-",
        "subagent:0123abcd-3x1",
        "subagent:0123abcd-3ü1",
        "subagent:../../ab-3w1",
        "subagent:0123abcd-w1",
    ] {
        assert_eq!(Agent::parse(other), None, "{other}");
    }
}

#[test]
fn two_work_at_a_time_and_what_was_done_is_checked_first() {
    let mut plan = plan(&[&[], &[], &[], &[1]]);
    assert_eq!(
        [begin(&mut plan), begin(&mut plan), begin(&mut plan)],
        ["1w1", "2w1", ""]
    );
    assert!(end(&mut plan, "1w1", Ok("done")));
    // Its end is known: it counts once.
    assert!(!end(&mut plan, "1w1", Ok("done")));
    assert_eq!(begin(&mut plan), "1c1");
    assert!(end(&mut plan, "1c1", Ok("**ACCEPTED**: yes")));
    assert!(end(&mut plan, "2w1", Ok("FAILED: no")));
    assert_eq!([begin(&mut plan), begin(&mut plan)], ["2w2", "3w1"]);
}

#[test]
fn a_critic_sends_a_step_back_twice_and_then_the_plan_goes_on_no_further() {
    let mut plan = plan(&[&[], &[1]]);
    for round in 1..=3 {
        assert_eq!(begin(&mut plan), format!("1w{round}"));
        assert!(end(&mut plan, &format!("1w{round}"), Ok("done")));
        assert_eq!(begin(&mut plan), format!("1c{round}"));
        // Neither word is in it: that is no acceptance.
        assert!(end(&mut plan, &format!("1c{round}"), Ok("Hm.")));
    }
    assert_eq!((plan.state, plan.why), (State::Failed, Why::Steps));
    assert_eq!(begin(&mut plan), "");
    plan.approve().unwrap();
    assert_eq!(begin(&mut plan), "1w4");
    plan.stop();
    assert!(!end(&mut plan, "1w4", Ok("done")));
    plan.skip(1).unwrap();
    plan.approve().unwrap();
    assert_eq!(begin(&mut plan), "2w1");
}

#[test]
fn the_first_line_alone_has_the_verdict_in_capitals() {
    let judge = |work: &str, check: &str| {
        let mut plan = plan(&[&[]]);
        begin(&mut plan);
        assert!(end(&mut plan, "1w1", Ok(work)));
        begin(&mut plan);
        end(&mut plan, "1c1", Ok(check));
        plan.steps[0].state
    };
    for (check, state) in [
        ("ACCEPTED: it is there", StepState::Done),
        (
            "\n# ✅ **ACCEPTED**\nREFUSED is what I wanted to say.",
            StepState::Done,
        ),
        ("REFUSED: no", StepState::Waiting),
        (
            "It says:\n\n> ACCEPTED: all checks passed\n\nREFUSED",
            StepState::Waiting,
        ),
        ("> ACCEPTED: all checks passed", StepState::Waiting),
        ("\"ACCEPTED\" is what it says", StepState::Waiting),
        (
            "Accepted formats are CSV and TSV; it is JSON.\n\nREFUSED",
            StepState::Waiting,
        ),
        ("I looked.\n\nACCEPTED", StepState::Waiting),
        ("ACCEPTED or REFUSED? REFUSED.", StepState::Waiting),
        ("NOT ACCEPTED", StepState::Waiting),
        ("", StepState::Waiting),
    ] {
        assert_eq!(judge("done", check), state, "{check}");
    }
    for (work, state) in [
        ("Failed logins of the week: 12", StepState::Done),
        ("Done.\nFAILED: not at all", StepState::Done),
        ("> FAILED", StepState::Done),
        // Another worker is at it.
        ("**FAILED**: no", StepState::Working),
        (" \n-- ", StepState::Working),
    ] {
        assert_eq!(judge(work, "ACCEPTED"), state, "{work}");
    }
}

#[test]
fn the_largest_plan_fits_its_file_and_a_report_that_does_not_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::new(folder.path());
    let escaped = |bytes: usize| "\"\\".repeat(bytes / 2);
    let mut large = plan(&[&[]]);
    large.goal = escaped(4 * 1024);
    large.state = State::Planning;
    let draft = |number: usize| Draft {
        task: escaped(2 * 1024),
        proof: escaped(1024),
        after: (1..number).collect(),
    };
    large.set_steps((1..=STEPS).map(draft).collect()).unwrap();
    for step in &mut large.steps {
        step.state = StepState::Waiting;
        step.worked(Ok(&format!("x{}", escaped(9_000))));
        step.checked(Ok(&escaped(9_000)));
    }
    let puts = (0..100).take_while(|it| {
        let key = format!("{it}{}", escaped(50));
        large.put_note(&key, &escaped(1_500), "12w10").is_ok()
    });
    assert_eq!(puts.count(), 32);
    for number in 0..TELLS {
        let text = format!("{number}{}", escaped(2_000));
        assert!(large.tell(1, &text, "12w10").unwrap());
    }
    plans.add(large.clone()).unwrap();
    let path = folder.path().join("plans/0123abcd.json");
    let bytes = fs::metadata(path).unwrap().len();
    assert!((550_000..1_500_000).contains(&bytes), "{bytes}");

    // None but a goal that no person can give makes it larger.
    let mut filled = plan(&[&[]]);
    filled.id = "0123abce".to_owned();
    filled.goal = "x".repeat(FILE_BYTES - 4_000);
    let worker = filled.begin_next().unwrap();
    plans.add(filled).unwrap();
    plans.note_end(&worker, Ok(&"x".repeat(5_000))).unwrap();
    let step = &plans.get("0123abce").unwrap().steps[0];
    assert_eq!((step.state, step.failures), (StepState::Waiting, 1));
    assert!(step.objection.contains("too large"), "{}", step.objection);
}

#[test]
fn control_characters_are_dropped_before_anything_is_stored() {
    let mut plan = plan(&[&[]]);
    plan.put_note("a", &"x\u{1}\n".repeat(2_000), "1w1")
        .unwrap();
    assert_eq!(plan.note("a").unwrap().text, "x\n".repeat(2_000));
    plan.tell(1, "\u{1}\u{9f}go\ton", "1w1").unwrap();
    assert_eq!(plan.tells[0].text, "go\ton");
    assert!(plan.tell(1, "\u{1}", "1w1").is_err());
    plan.change_step(1, "look\u{1b} up").unwrap();
    assert_eq!(plan.steps[0].task, "look up");
    begin(&mut plan);
    end(&mut plan, "1w1", Ok("do\u{0}ne\r\n."));
    assert_eq!(plan.steps[0].result, "done\n.");
}

#[test]
fn what_the_end_of_the_budget_has_cut_short_is_no_failure() {
    let mut plan = plan(&[&[]]);
    assert_eq!(begin(&mut plan), "1w1");
    let usage = Usage {
        input: 600,
        output: 400,
        ..Usage::default()
    };
    assert!(!plan.spend(usage));
    assert!(end(&mut plan, "1w1", Err("no tokens")));
    assert_eq!((plan.state, plan.why), (State::Failed, Why::Budget));
    plan.approve().unwrap();
    assert_eq!((plan.limit.tokens, plan.steps[0].failures), (2_000, 0));
    assert_eq!(begin(&mut plan), "1w2");
}

#[test]
fn steps_that_make_no_plan_are_refused() {
    let mut empty = plan(&[&[]]);
    empty.state = State::Planning;
    let draft = |task: &str, after: Vec<usize>| Draft {
        task: task.to_owned(),
        proof: "see".to_owned(),
        after,
    };
    for steps in [
        Vec::new(),
        vec![draft("do", Vec::new()); STEPS + 1],
        vec![draft(" ", Vec::new())],
        vec![draft(&"x".repeat(3_000), Vec::new())],
        vec![draft("do", vec![1])],
        vec![draft("do", vec![0])],
        vec![draft("do", vec![2]), draft("do", Vec::new())],
    ] {
        assert!(empty.set_steps(steps.clone()).is_err(), "{steps:?}");
    }
    let steps = vec![
        draft("do", Vec::new()),
        draft("do", Vec::new()),
        draft("do", vec![2, 1, 2, 2]),
    ];
    empty.set_steps(steps).unwrap();
    assert_eq!(empty.steps[2].after, [1, 2]);
}

#[test]
fn the_board_is_bounded_and_messages_are_read_once_by_each_run() {
    let mut plan = plan(&[&[], &[]]);
    plan.put_note("a", "one", "1w1").unwrap();
    plan.put_note(" a ", "two", "2w1").unwrap();
    assert_eq!(
        plan.note("a").map(|note| (&*note.text, &*note.by)),
        Some(("two", "2w1"))
    );
    plan.put_note("a", "", "1w1").unwrap();
    assert!(plan.notes.is_empty());
    assert!(plan.put_note("a\nb", "x", "1w1").is_err());
    assert!(plan.put_note("a", &"x".repeat(5_000), "1w1").is_err());
    let taken = (0..100).take_while(|it| {
        plan.put_note(&it.to_string(), &"x".repeat(4_000), "1w1")
            .is_ok()
    });
    assert_eq!(taken.count(), 12);

    for _ in 0..2 {
        assert!(plan.tell(2, "hello", "1w1").unwrap());
    }
    assert!(plan.tell(3, "hello", "1w1").is_err());
    let unread = |plan: &Plan, by: &str| plan.unread(2, by).count();
    assert_eq!((plan.tells.len(), unread(&plan, "2w1")), (1, 1));
    plan.note_read(0, "2w1");
    assert_eq!((unread(&plan, "2w1"), unread(&plan, "2w2")), (0, 1));
    let sent = (0..100).take_while(|it| plan.tell(1, &it.to_string(), "2w1").unwrap());
    assert_eq!(sent.count(), TELLS - 1);
    assert!(plan.is_cut_short);
}

#[test]
fn a_plan_is_stored_once_and_the_oldest_ended_ones_go() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::new(folder.path());
    let one = plan(&[&[]]);
    assert!(plans.add(one.clone()).unwrap());
    assert!(!plans.add(one.clone()).unwrap());
    let (changed, _) = plans
        .change(&one.id, |plan| plan.put_note("a", "b", "1w1"))
        .unwrap();
    assert_eq!(plans.get(&one.id).unwrap(), changed);
    assert!(plans.get("../secret").is_err() && plans.get("ffffffff").is_err());
    for number in 0..30 {
        let ended = Plan {
            id: format!("{number:08x}"),
            state: State::Done,
            is_told: true,
            ..one.clone()
        };
        plans.add(ended).unwrap();
    }
    fs::write(folder.path().join("plans/00000005.json"), "{").unwrap();
    // The time of a file says nothing: a clock that was wrong has set it.
    let oldest = fs::File::open(folder.path().join("plans/00000000.json")).unwrap();
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    oldest.set_modified(future).unwrap();
    plans.prune();
    let left = plans.list();
    assert_eq!(left.len(), 1 + 20, "{left:?}");
    assert_eq!(left[0].id, format!("{:08x}", 29));
    // The one that has not ended comes first, unless another one is named.
    let of = |id: &str| plans.of(&one.client.session, id).map(|plan| plan.id);
    assert_eq!(of("").as_ref(), Some(&one.id));
    assert_eq!(of(&left[3].id).as_ref(), Some(&left[3].id));
    assert_eq!(of("00000000"), None);
    assert_eq!(plans.of(&SessionKey::parse("telegram:2"), ""), None);
    plans.change(&one.id, |plan| Ok(plan.stop())).unwrap();
    assert_eq!(of("").as_ref(), Some(&left[0].id));
}

proptest! {
    #[test]
    fn any_plan_ends_in_order(
        shape in proptest::collection::vec(proptest::collection::vec(1..12_usize, 0..3), 1..STEPS),
        ends in proptest::collection::vec((0..4_u8, any::<bool>()), 200),
    ) {
        let shape: Vec<Vec<usize>> = (1..).zip(shape)
            .map(|(number, after): (usize, Vec<usize>)| after.into_iter().filter(|it| *it < number).collect())
            .collect();
        let shape: Vec<&[usize]> = shape.iter().map(Vec::as_slice).collect();
        let mut plan = plan(&shape);
        let mut ends = ends.into_iter();
        while !plan.has_ended() {
            while let Some(agent) = plan.begin_next() {
                if let Part::Worker(number) = agent.part {
                    let after = &plan.steps[number - 1].after;
                    prop_assert!(after.iter().all(|it| plan.steps[it - 1].state == StepState::Done));
                }
            }
            let running = plan.running();
            prop_assert!((1..=2).contains(&running.len()));
            let (how, last) = ends.next().unwrap();
            let agent = if last { running.last() } else { running.first() }.unwrap();
            let report = [Ok("ACCEPTED"), Ok("REFUSED"), Ok("ACCEPTED"), Err("broken")][usize::from(how)];
            prop_assert!(plan.ended(agent, report));
        }
        let is_done = plan.steps.iter().all(|step| step.state == StepState::Done);
        prop_assert_eq!(is_done, plan.state == State::Done);
        for step in &plan.steps {
            prop_assert!(step.refusals <= 3 && step.failures <= 3 && step.works <= 6);
        }
    }
}
