//! OpenAI's Responses API: chosen, learned, left, and gone on with after a power cut.

use std::io::BufRead;

use serde_json::{Value, json};

use crate::harness::gate::Gate;
use crate::harness::home::Home;
use crate::harness::model::{Format, Model, Request, Step, call, error, say};
use crate::harness::program::{Output, Program};

fn home(model: &Model, name: &str, api: &str) -> Home {
    let mut home = Home::with_model(model);
    home.set("/agents/defaults/model", json!(name));
    home.set("/providers/fake/api", json!(api));
    home
}

fn ask(home: &Home) -> Output {
    asking(home).run()
}

fn asking(home: &Home) -> Program {
    Program::new(home).args(["agent", "-s", "default", "-m", "go"])
}

/// The formats of all requests, in order.
fn formats(model: &Model) -> Vec<Format> {
    model
        .requests()
        .iter()
        .map(|request| request.format)
        .collect()
}

fn look(thought: &str) -> Step {
    call("list_dir", json!({"path": "."})).thinking(thought)
}

/// The types of the items in a request.
fn kinds(request: &Request) -> String {
    let kind = |item: &Value| {
        let kind = item["type"].as_str().or(item["role"].as_str());
        kind.unwrap_or_default().to_owned()
    };
    request
        .messages()
        .iter()
        .map(kind)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_turn_with_tools_keeps_its_reasoning_and_nothing_at_the_server() {
    let model = Model::playing_as_openai([look("first"), look("second"), say("Done.")]);
    let mut home = home(&model, "gpt-6-astra", "responses");
    home.set("/agents/defaults/reasoningEffort", json!("high"));
    assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
    let requests = model.requests();
    let last = &requests[2];
    let step = "reasoning function_call function_call_output";
    assert_eq!(kinds(last), format!("user {step} {step}"));
    assert!(
        last.messages()[4]["encrypted_content"]
            .as_str()
            .unwrap()
            .contains("second")
    );
    for request in &requests {
        assert_eq!(request.format, Format::Responses);
        assert_eq!(request.body["reasoning"]["effort"], "high");
        assert_eq!(
            request.body["include"],
            json!(["reasoning.encrypted_content"])
        );
    }
    // One key for the conversation, which does not name it.
    let key = |request: &Request| {
        request.body["prompt_cache_key"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(key(&requests[0]), key(last));
    assert!(key(last).bytes().all(|byte| byte.is_ascii_hexdigit()) && key(last).len() == 32);
    let usage = Program::new(&home)
        .args(["usage", "--json"])
        .run()
        .ends_with(0)
        .stdout;
    assert!(usage.contains("300"), "{usage}");
}

#[test]
fn reasoning_survives_a_power_cut_between_two_steps() {
    let gate = Gate::default();
    let model = Model::playing_as_openai([
        look("first"),
        look("second"),
        say("never").after(&gate),
        look("third"),
        say("Done."),
    ]);
    let home = home(&model, "gpt-6.1-sol", "responses");
    let mut running = asking(&home).start();
    model.wait_for_requests(3);
    running.kill();
    running.finish();
    gate.open();
    let output = Program::new(&home)
        .args(["agent", "--resume"])
        .run()
        .ends_with(0);
    assert_eq!(output.stdout, "Done.\n");
    let requests = model.requests();
    let step = "reasoning function_call function_call_output";
    let [before, after, last] = [&requests[2], &requests[3], &requests[4]];
    assert_eq!(kinds(after), kinds(before));
    assert_eq!(after.messages()[1], before.messages()[1], "unchanged");
    assert_eq!(
        after.body["prompt_cache_key"],
        before.body["prompt_cache_key"]
    );
    assert_eq!(kinds(last), format!("user {step} {step} {step}"));

    // The next turn, and another process, have no use for it.
    drop(model);
    let model = Model::playing_as_openai([say("Hello.")]);
    let mut home = home;
    home.set(
        "/providers/fake/apiBase",
        json!(format!("{}/v1", model.url())),
    );
    ask(&home).ends_with(0);
    assert!(!kinds(&model.requests()[0]).contains("reasoning"));
}

#[test]
fn a_server_that_wants_responses_is_asked_again_that_way() {
    for name in ["gpt-6-astra", "gpt-6.2-sol", "gpt-5.6-luna"] {
        let model = Model::playing_as_openai([look("hm"), say("Done.")]);
        let output = ask(&home(&model, name, "auto")).ends_with(0);
        assert_eq!(output.stdout, "Done.\n", "{name}");
        assert_eq!(
            formats(&model)[1..],
            [Format::Responses, Format::Responses],
            "{name}"
        );
    }
    // What is configured is left alone.
    let model = Model::playing_as_openai([]);
    let output = ask(&home(&model, "gpt-6-astra", "chat")).ends_with(1);
    output.complains_of(&["/v1/responses", "providers.fake.api"]);
    assert!(!formats(&model).contains(&Format::Responses));
}

#[test]
fn a_server_without_responses_is_asked_with_chat_completions() {
    let model = Model::answering(|request| match request.format {
        Format::Responses => error(404, "Not Found"),
        _ => match request.messages().len() {
            2 => call("list_dir", json!({"path": "."})),
            _ => say("Done."),
        },
    });
    let output = ask(&home(&model, "qwen3", "responses")).ends_with(0);
    assert_eq!(output.stdout, "Done.\n");
    let expected = [Format::Responses, Format::OpenAi, Format::OpenAi];
    assert_eq!(formats(&model), expected);
}

#[test]
fn what_another_server_refuses_of_it_is_left_out() {
    let model = Model::answering(|request| {
        match ["prompt_cache_key", "include"]
            .iter()
            .find(|name| request.body.get(**name).is_some())
        {
            Some(&"include") => error(400, "Encrypted content is not supported with this model."),
            Some(name) => error(400, &format!("body.{name}: Extra inputs are not permitted")),
            None => say("Done."),
        }
    });
    let output = ask(&home(&model, "qwen3", "responses")).ends_with(0);
    assert_eq!(output.stdout, "Done.\n");
    assert_eq!(model.requests().len(), 3);
}

/// A home whose first model, at a server of OpenAI's kind, has a fallback at one of Anthropic's.
fn with_fallback(model: &Model) -> Home {
    let mut home = home(model, "fake/gpt-6.1-sol", "responses");
    let second = json!({"apiBase": model.url(), "apiType": "anthropic", "apiKey": "k"});
    home.set("/providers/second", second);
    home.set(
        "/agents/defaults/fallbackModels",
        json!(["second/claude-sonnet-5-5"]),
    );
    home.set("/agents/defaults/reasoningEffort", json!("medium"));
    home
}

#[test]
fn reasoning_stays_with_its_model_when_another_one_goes_on() {
    // The second answer comes from the other model, and the next turn begins with the first again.
    for is_first_back in [false, true] {
        let model = Model::playing_as_openai([
            look("first"),
            error(401, "bad key"),
            look("second"),
            if is_first_back {
                error(401, "bad key")
            } else {
                look("third")
            },
            if is_first_back {
                look("third")
            } else {
                say("Done.")
            },
            say("Done."),
        ]);
        let home = with_fallback(&model);
        assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
        let requests = model.requests();
        assert_eq!(requests[2].format, Format::Anthropic);
        assert!(!requests[2].raw.contains("sealed"), "{}", requests[2].raw);
        if is_first_back {
            assert_eq!(requests[4].format, Format::Responses);
            let step = "function_call function_call_output";
            assert_eq!(kinds(&requests[4]), format!("user reasoning {step} {step}"));
        }
    }
}

#[test]
fn a_slow_stream_is_shown_as_it_comes_and_cut_ones_are_asked_again() {
    let gate = Gate::default();
    let model = Model::playing_as_openai([
        say("Half of it").cut_off(),
        say("Slow and whole.").in_pieces(5).pausing_at(&gate),
    ]);
    let home = home(&model, "gpt-6.1-sol", "responses");
    let running = asking(&home).start();
    model.wait_for_requests(2);
    gate.open();
    assert_eq!(running.finish().ends_with(0).stdout, "Slow and whole.\n");
}

#[test]
#[ignore = "for tests/openai/check.py, which asks it"]
fn serve() {
    // As strict as the others, but a refusal is expected here.
    let model = Model::refusing(|request| {
        let items = request.messages().iter();
        let results = items
            .filter(|item| item["type"] == "function_call_output")
            .count();
        match results {
            0 => look("hm"),
            _ => say("Only a.txt."),
        }
    });
    println!("{}", json!({"url": model.url()}));
    for line in std::io::stdin().lock().lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(step["do"], "requests");
        let requests: Vec<String> = model
            .requests()
            .into_iter()
            .map(|request| request.raw)
            .collect();
        println!("{}", json!({ "answer": requests }));
    }
}
