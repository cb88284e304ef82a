//! What servers ask during a call.

use super::*;

#[test]
fn a_question_waits_for_its_answer_in_both_eras() {
    for era in ["legacy", "modern"] {
        let world = World::new(McpServer {
            idle_timeout: 1,
            ..lamp(&[era])
        });
        let Ok(Step::Asked(paused)) = world.step("ask", json!({})) else {
            panic!("{era}: no question");
        };
        assert!(
            matches!(&paused.request().kind, InputKind::Form(fields) if fields[0].name == "color")
        );
        assert_eq!(paused.request().message, "Which color?");
        let answer = json!({"color": "blue"});
        let answer = InputAnswer::Given(answer.as_object().unwrap().clone());
        let step = paused.answer(&answer, &Cancel::new(), &mut |_| ());
        assert!(done(step).contains("blue"), "{era}");
    }
}

#[test]
fn a_question_without_an_answer_is_cancelled_and_the_next_call_has_its_turn() {
    let world = World::new(McpServer {
        tool_timeout: 1,
        ..lamp(&["legacy"])
    });
    let Ok(Step::Asked(paused)) = world.step("ask", json!({})) else {
        panic!("no question");
    };
    let busy = world.fault("echo", json!({"text": "Bob's"}));
    assert!(busy.contains("busy with another call"), "{busy}");
    paused.give_up();
    assert_eq!(world.text("echo", json!({"text": "Bob's"})), "Bob's");
    let cancelled: Vec<u64> = json::from_str(&world.text("cancelled", json!({}))).unwrap();
    assert_eq!((cancelled.len(), world.started()), (1, 1));
}

#[test]
fn a_model_is_asked_where_that_is_allowed() {
    let world = World::new(McpServer {
        sampling: true,
        ..lamp(&["legacy"])
    });
    let Ok(Step::Asked(paused)) = world.step("sample", json!({})) else {
        panic!("no question");
    };
    let answer = InputAnswer::Sampled {
        text: "hello".to_owned(),
        model: "fake".to_owned(),
    };
    assert!(done(paused.answer(&answer, &Cancel::new(), &mut |_| ())).contains("hello"));
}
