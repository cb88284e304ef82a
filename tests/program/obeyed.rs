//! Each key of the configuration is obeyed: what it says is seen in what the program asks and does.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::{Home, KEY};
use crate::harness::model::{
    INPUT_TOKENS, Model, OUTPUT_TOKENS, Request, Step, call, error, overflow, say,
};
use crate::harness::program::{Output, Program};

fn ask(home: &Home, text: &str) -> Output {
    Program::new(home)
        .args(["agent", "-s", "default", "-m", text])
        .run()
}

/// What a model is asked for "hi" under a configuration with some keys set.
fn asked_with(keys: &[(&str, Value)]) -> Request {
    let model = Model::playing([say("done")]);
    let mut home = Home::with_model(&model);
    for (pointer, value) in keys {
        home.set(pointer, value.clone());
    }
    ask(&home, "hi").ends_with(0);
    model.requests().remove(0)
}

#[test]
fn what_is_said_of_the_answer_is_in_the_request() {
    let usual = asked_with(&[]).body;
    assert_eq!(usual["temperature"], 0.1);
    assert_eq!(usual["max_tokens"], 8192);
    assert_eq!(usual["reasoning_effort"], Value::Null);

    let request = asked_with(&[
        ("/agents/defaults/temperature", Value::Null),
        ("/agents/defaults/maxTokens", json!(77)),
        ("/agents/defaults/reasoningEffort", json!("high")),
        (
            "/providers/fake/extraBody",
            json!({"top_k": 5, "stop": ["#"]}),
        ),
        (
            "/providers/fake/extraHeaders",
            json!({"X-Title": "Peacrab"}),
        ),
    ]);
    assert!(request.body.get("temperature").is_none());
    assert_eq!(request.body["max_tokens"], 77);
    assert_eq!(request.body["reasoning_effort"], "high");
    assert_eq!(request.body["top_k"], 5);
    assert_eq!(request.body["stop"], json!(["#"]));
    assert_eq!(request.header("x-title"), Some("Peacrab"));
}

#[test]
fn the_time_is_told_in_the_configured_zone() {
    let key = "/agents/defaults/timezone";
    for zone in ["Asia/Tokyo", "Europe/Zurich"] {
        let facts = asked_with(&[(key, json!(zone))]).last_message();
        assert!(facts.contains(&format!("({zone})")), "{facts}");
    }
}

#[test]
fn a_fallback_model_answers_when_the_first_one_is_not_there() {
    let model = Model::playing([error(404, "no such model"), say("from the second")]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/fallbackModels", json!(["second-model"]));
    let output = ask(&home, "hi").ends_with(0);
    assert_eq!(output.stdout, "from the second\n");
    output.complains_of(&["using fake/second-model instead"]);
    assert_eq!(model.requests()[1].body["model"], "second-model");
}

/// A home whose models, `fake/a` and its fallbacks `fake/b` and `fake/c`, answer as the function says.
fn with_fallbacks(model: &Model) -> Home {
    let mut home = Home::with_model(model);
    home.set("/agents/defaults/model", json!("fake/a"));
    home.set(
        "/agents/defaults/fallbackModels",
        json!(["fake/b", "fake/c"]),
    );
    home
}

/// The tool results in a request: the step of the turn that it belongs to.
fn step_of(request: &Request) -> usize {
    let messages = request.messages().iter();
    messages.filter(|message| message["role"] == "tool").count()
}

fn look(step: usize) -> Step {
    call(
        "list_dir",
        json!({"path": format!("./{}", "./".repeat(step))}),
    )
}

#[test]
fn a_turn_of_twenty_steps_works_while_the_first_model_is_down() {
    for down_from in [0, 7] {
        let model = Model::answering(move |request| match step_of(request) {
            step if request.body["model"] == "a" && step >= down_from => error(401, "bad key"),
            step if step < 20 => look(step),
            _ => say("twenty steps done"),
        });
        let output = ask(&with_fallbacks(&model), "go").ends_with(0);
        assert_eq!(output.stdout, "twenty steps done\n");
        let asked = model.requests();
        let of = |name: &str| asked.iter().filter(|one| one.body["model"] == name).count();
        assert_eq!(
            (of("a"), of("b"), of("c")),
            (down_from + 1, 21 - down_from, 0)
        );
    }
}

#[test]
fn a_fallback_with_a_small_window_gets_a_shorter_conversation() {
    let long = "word ".repeat(2000);
    let model = Model::answering(move |request| match request.body["model"].as_str() {
        Some("a") if request.body.to_string().contains("the last one") => error(401, "bad key"),
        Some("b") if request.body.to_string().len() > 60_000 => overflow(),
        Some("b") if step_of(request) == 0 => look(1),
        Some("b") => say("short enough"),
        _ => say(&long),
    });
    let home = with_fallbacks(&model);
    for number in 0..6 {
        ask(&home, &format!("tell me more, {number}")).ends_with(0);
    }
    let output = ask(&home, "the last one").ends_with(0);
    assert_eq!(output.stdout, "short enough\n");
    // It is the fallback's window that was learned to be small.
    let learned = fs::read_to_string(home.path().join("state/learned.json")).unwrap();
    let learned: Value = serde_json::from_str(&learned).unwrap();
    let models = learned["models"].as_array().unwrap();
    let window = |name: &str| {
        let model = models.iter().find(|model| model["name"] == name);
        model.is_some_and(|model| model.get("window").is_some())
    };
    assert!(window("fake/b") && !window("fake/a"), "{learned}");
}

#[test]
fn a_model_whose_window_is_too_small_gives_way_to_the_next() {
    for too_small_from in [0, 1] {
        let model = Model::answering(move |request| {
            let step = step_of(request);
            match request.body["model"].as_str() {
                Some("a") if step >= too_small_from => overflow(),
                Some("b") => overflow(),
                _ if step < 2 => look(step),
                _ => say("room enough"),
            }
        });
        let output = ask(&with_fallbacks(&model), "hi").ends_with(0);
        assert_eq!(output.stdout, "room enough\n");
        output.complains_of(&[
            "too long for a; using fake/b instead",
            "using fake/c instead",
        ]);
    }
}

#[test]
fn the_bound_of_steps_ends_a_turn_with_an_account() {
    let step = |path: &str| call("list_dir", json!({"path": path}));
    let model = Model::playing([step("."), step("./.")]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/maxToolIterations", json!(2));
    let output = ask(&home, "go on for ever").ends_with(1);
    assert_eq!(output.stdout, "");
    output.complains_of(&["limit of 2 steps", "list_dir(\".\")"]);
}

#[test]
fn only_the_models_words_go_to_standard_output_when_a_turn_ends_without_a_whole_answer() {
    let rows = [
        (vec![say(""), say("")], "", "empty answer twice"),
        (
            vec![say("half of it").too_long(); 5],
            "half of it",
            "cut off",
        ),
    ];
    for (script, said, why) in rows {
        let model = Model::playing(script.clone());
        let output = ask(&Home::with_model(&model), "hi").ends_with(1);
        assert!(!output.stdout.contains(why), "{output:?}");
        assert!(output.stdout.starts_with(said), "{output:?}");
        output.complains_of(&[why]);

        let model = Model::playing(script);
        let home = Home::with_model(&model);
        let output = Program::new(&home)
            .args(["agent", "--json", "-m", "hi"])
            .run()
            .ends_with(1);
        let json: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(!json["text"].as_str().unwrap().contains(why), "{json}");
        assert!(json["error"].as_str().unwrap().contains(why), "{json}");
        output.complains_of(&[why]);
    }
}

#[test]
fn the_history_keeps_within_its_window_of_turns_and_of_tokens() {
    let long = "long ".repeat(500);
    for (key, value) in [("memoryWindow", 2), ("contextWindowTokens", 8192 + 1000)] {
        let model = Model::answering(|_| say("noted"));
        let mut home = Home::with_model(&model);
        home.set(&format!("/agents/defaults/{key}"), json!(value));
        for number in 1..=4 {
            ask(&home, &format!("message {number} {long}")).ends_with(0);
        }
        let last = model.requests()[3].body["messages"].to_string();
        assert!(last.contains("message 4 "), "{key}");
        assert!(last.contains("message 3 "), "{key}: {last}");
        assert!(!last.contains("message 1 "), "{key}: {last}");
    }
}

#[test]
fn the_tokens_of_a_day_are_counted_and_bounded() {
    let model = Model::playing([say("one"), say("two")]);
    let mut home = Home::with_model(&model);
    let turn = INPUT_TOKENS + OUTPUT_TOKENS;
    home.set("/limits/tokensPerDay", json!(turn + 1));
    ask(&home, "first").ends_with(0);
    ask(&home, "second").ends_with(0);
    let output = ask(&home, "third").ends_with(1);
    output.complains_of(&["limits.tokensPerDay", &(2 * turn).to_string()]);
    assert_eq!(model.requests().len(), 2);
    assert!(!home.journal("default").contains("tokensPerDay"));
    let status = Program::new(&home).args(["status", "--json"]).run();
    assert!(
        status
            .ends_with(0)
            .stdout
            .contains(&(2 * INPUT_TOKENS).to_string())
    );
}

#[test]
fn further_folders_are_opened_read_only_or_protected() {
    let other = tempfile::tempdir().unwrap();
    let place = |name: &str| other.path().join(name);
    for name in ["allowed", "read", "closed"] {
        fs::create_dir(place(name)).unwrap();
        fs::write(place(name).join("a.txt"), name).unwrap();
    }
    let write = |name: &str| {
        let path = place(name).join("a.txt");
        call("write_file", json!({"path": path, "content": "new"}))
    };
    let read = |name: &str| call("read_file", json!({"path": place(name).join("a.txt")}));
    let model = Model::playing([
        write("allowed"),
        write("read"),
        read("read"),
        read("closed"),
        call("write_file", json!({"path": "rules.md", "content": "new"})),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    home.set("/tools/allowedPaths", json!([place("allowed")]));
    home.set("/tools/readOnlyPaths", json!([place("read")]));
    home.set("/tools/protectedPaths", json!([home.workspace("rules.md")]));
    fs::write(home.workspace("rules.md"), "old").unwrap();
    ask(&home, "try").ends_with(0);
    let results: Vec<String> = model.requests()[1..]
        .iter()
        .map(Request::last_message)
        .collect();
    let expected = [
        "Wrote 3 bytes",
        "read-only for tools",
        "read",
        "outside the workspace",
        "read-only for tools",
    ];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert!(result.contains(expected), "{result}");
    }
    assert_eq!(
        fs::read_to_string(home.workspace("rules.md")).unwrap(),
        "old"
    );

    let model = Model::playing([read("closed"), say("done")]);
    let mut home = Home::with_model(&model);
    home.set("/tools/restrictToWorkspace", json!(false));
    ask(&home, "try").ends_with(0);
    assert!(model.requests()[1].last_message().contains("closed"));
}

/// A name that no proxy of the tests could serve: it has to be refused before anything is called.
#[test]
fn a_proxy_of_a_kind_that_is_not_spoken_is_refused() {
    let mut home = Home::with_endpoint("openai", "http://model.invalid/v1");
    home.set("/providers/fake/proxy", json!("socks5://127.0.0.1:9"));
    ask(&home, "hi")
        .ends_with(78)
        .complains_of(&["proxy must look like http://host:port"]);
}

#[test]
fn the_log_has_the_configured_level_and_form() {
    let log_of = |level: &str, format: &str| {
        let model = Model::playing([say("done")]);
        let mut home = Home::with_model(&model);
        home.set("/log", json!({"level": level, "format": format}));
        ask(&home, "hi").ends_with(0).stderr
    };
    assert_eq!(log_of("info", "text"), "");
    let text = log_of("debug", "text");
    assert!(text.contains("http host=127.0.0.1"), "{text}");
    let json: Value = serde_json::from_str(log_of("debug", "json").trim()).unwrap();
    assert_eq!(json["status"], 200);
    assert!(!json.to_string().contains(KEY));
}
