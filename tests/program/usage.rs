//! What is used and what it costs: shown, kept, and bounded; and how much the model thinks.

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, MODEL};
use crate::harness::model::{INPUT_TOKENS, Model, OUTPUT_TOKENS, Step, call, error, events, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::Telegram;

/// Prices with which a request of the fake model costs $0.12.
fn prices() -> Value {
    json!({"fake*": {"input": 1000, "output": 2000}})
}

fn run(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).args(arguments).run()
}

fn ask(home: &Home, text: &str) -> Output {
    run(home, &["agent", "-s", "default", "-m", text])
}

fn usage(home: &Home) -> Value {
    let output = run(home, &["usage", "--json"]).ends_with(0);
    serde_json::from_str(&output.stdout).unwrap()
}

/// Anthropic's answer to a request of which it has written so much to its cache.
fn wrote(minutes: u32, hour: u32) -> Step {
    let usage = json!({
        "input_tokens": 0, "output_tokens": 1, "cache_creation_input_tokens": minutes + hour,
        "cache_creation": {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour},
    });
    events(&[
        &json!({"type": "message_start", "message": {"content": [], "usage": usage}}).to_string(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"done"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        // The end has no word of how long.
        &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
            "output_tokens": 100, "cache_creation_input_tokens": minutes + hour,
        }})
        .to_string(),
        r#"{"type":"message_stop"}"#,
    ])
}

#[test]
fn what_anthropic_caches_for_an_hour_is_asked_for_and_costs_more() {
    let model = Model::playing([wrote(1000, 0), wrote(0, 1000), wrote(600, 400)]);
    let mut home = Home::with_anthropic_model(&model);
    let prices = json!({"*": {"input": 4, "output": 20, "cached": 0.4, "cacheWrite": 5}});
    home.set("/providers/fake/prices", prices);
    for (cost, for_hour) in [(0.007, 0), (0.01, 1000), (0.0082, 400)] {
        let said = run(&home, &["agent", "--json", "-m", "hi"]).ends_with(0);
        let said: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(said["cost"], json!(cost));
        assert_eq!(said["usage"]["cacheWritesForHour"], for_hour);
    }
    assert_eq!(usage(&home)["total"]["cost"], json!(0.0252));
    for request in model.requests() {
        let body: Value = serde_json::from_str(&request.raw).unwrap();
        let hour = json!({"type": "ephemeral", "ttl": "1h"});
        let tools = body["tools"].as_array().unwrap();
        assert_eq!(tools.last().unwrap()["cache_control"], hour);
        assert_eq!(body["system"][0]["cache_control"], hour);
        let messages = body["messages"].to_string();
        assert_eq!(messages.matches("cache_control").count(), 1);
        assert!(!messages.contains("\"ttl\""), "{messages}");
    }
    // The limit of a day counts it, too.
    home.set("/limits", json!({"usdPerDay": 0.0251}));
    let output = run(&home, &["agent", "-m", "hi"]).ends_with(1);
    output.complains_of(&["Daily cost limit reached"]);
}

#[test]
fn a_server_that_knows_no_hour_or_no_cache_is_asked_without() {
    let no_ttl = "system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted";
    let no_cache = "tools.15.cache_control: Extra inputs are not permitted";
    let steps = [
        error(400, no_ttl),
        say("one"),
        error(400, no_ttl),
        error(400, no_cache),
        say("two"),
    ];
    let model = Model::playing(steps);
    let mut home = Home::with_anthropic_model(&model);
    for answer in ["one", "two"] {
        let output = ask(&home, "hi").ends_with(0);
        assert_eq!(output.stdout.trim(), answer);
    }
    let marks = |what: &str| -> Vec<bool> {
        let requests = model.requests();
        requests
            .iter()
            .map(|request| request.raw.contains(what))
            .collect()
    };
    assert_eq!(marks("\"ttl\""), [true, false, true, false, false]);
    assert_eq!(marks("cache_control"), [true, true, true, true, false]);
    // A setting spares it the question.
    for (cache, expected) in [("5m", [true, false]), ("off", [false, false])] {
        let model = Model::playing([say("done")]);
        home.set("/providers/fake/apiBase", json!(model.url()));
        home.set("/providers/fake/cache", json!(cache));
        ask(&home, "hi").ends_with(0);
        let raw = &model.requests()[0].raw;
        assert_eq!(
            [raw.contains("cache_control"), raw.contains("\"ttl\"")],
            expected
        );
    }
}

#[test]
fn what_a_request_cost_is_shown_and_kept_when_prices_change() {
    let model = Model::answering(|_| say("done"));
    let mut home = Home::with_model(&model);
    let before = run(&home, &["usage"]).ends_with(0);
    assert_eq!(before.stdout, "No requests in the last 7 days.\n");

    home.set("/providers/fake/prices", prices());
    let said = run(&home, &["agent", "--json", "-m", "one"]).ends_with(0);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["cost"], json!(0.12));
    assert_eq!(said["usage"]["input"], INPUT_TOKENS);

    home.set(
        "/providers/fake/prices",
        json!({MODEL: {"input": 1, "output": 1}}),
    );
    assert_eq!(usage(&home)["total"]["cost"], json!(0.12));
    let shown = run(&home, &["usage"]).ends_with(0).stdout;
    let row = shown.lines().find(|line| line.starts_with(MODEL)).unwrap();
    assert!(row.ends_with("$0.12"), "{shown}");
    let status = run(&home, &["status"]).ends_with(0).stdout;
    assert!(
        status.contains("today      100 in, 10 out, $0.12\n"),
        "{status}"
    );

    // Without a price, nothing is guessed: the server wants a key, so it is not free either.
    home.set("/providers/fake/prices", json!({}));
    let said = run(&home, &["agent", "--json", "-m", "two"]).ends_with(0);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["cost"], Value::Null);
    let shown = run(&home, &["usage"]).ends_with(0).stdout;
    assert!(shown.contains("at least $0.12"), "{shown}");
    assert!(shown.contains("explain providers.NAME.prices"), "{shown}");
    let total = &usage(&home)["total"];
    assert_eq!(
        (&total["requests"], &total["unpriced"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(total["output"], json!(2 * OUTPUT_TOKENS));
}

#[test]
fn the_cost_of_a_day_is_bounded() {
    let model = Model::answering(|_| say("done"));
    let mut home = Home::with_model(&model);
    home.set("/providers/fake/prices", prices());
    home.set("/limits", json!({"usdPerDay": 0.2}));
    ask(&home, "one").ends_with(0);
    ask(&home, "two").ends_with(0);
    let output = ask(&home, "three").ends_with(1);
    output.complains_of(&["limits.usdPerDay", "$0.24 of $0.20", "midnight"]);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_model_without_a_known_price_counts_as_the_dearest_for_the_limit_of_a_day() {
    let model = Model::answering(|_| say("done"));
    let mut home = Home::with_model(&model);
    let output = run(&home, &["config", "set", "limits.usdPerDay", "0.001"]);
    output.complains_of(&["the price of fake/", "providers.NAME.prices"]);
    ask(&home, "one").ends_with(0);
    let output = ask(&home, "two").ends_with(1);
    output.complains_of(&["Daily cost limit reached", "without a known price"]);
    assert_eq!(model.requests().len(), 1);
    let total = &usage(&home)["total"];
    assert_eq!(total["unpriced"], json!(1));
    assert_eq!(
        total["cost"],
        Value::Null,
        "what is assumed is not shown as what it cost"
    );
    let report = run(&home, &["doctor"]).stdout;
    assert!(report.contains("the price of fake/"), "{report}");
    home.set("/providers/fake/prices", prices());
    home.set("/limits", json!({"usdPerDay": 0.001}));
    let checked = run(&home, &["config", "check"]).ends_with(0);
    assert!(!checked.stderr.contains("the price of"), "{checked:#?}");
}

#[test]
fn a_server_that_reports_no_tokens_is_counted_all_the_same() {
    let said = r#"{"choices":[{"index":0,"delta":{"content":"done"}}]}"#;
    let ended = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let model = Model::answering(move |_| events(&[said, ended, "[DONE]"]));
    for (limit, words) in [
        (json!({"tokensPerDay": 1_000}), "limits.tokensPerDay"),
        (json!({"usdPerDay": 0.001}), "limits.usdPerDay"),
    ] {
        let mut home = Home::with_model(&model);
        home.set("/limits", limit);
        let before = model.requests().len();
        ask(&home, "one").ends_with(0);
        ask(&home, "two").ends_with(1).complains_of(&[words]);
        assert_eq!(model.requests().len(), before + 1);
        let total = &usage(&home)["total"];
        let input = total["input"].as_u64().unwrap();
        assert!((1_000..8_000).contains(&input), "{total}");
    }
}

#[test]
fn an_answer_that_breaks_off_is_counted() {
    let said = r#"{"choices":[{"index":0,"delta":{"content":"half of an answer"}}]}"#;
    let model = Model::answering(move |_| events(&[said]));
    let mut home = Home::with_model(&model);
    home.set("/limits", json!({"tokensPerDay": 1_000}));
    ask(&home, "one").ends_with(1);
    let asked = model.requests().len();
    ask(&home, "two")
        .ends_with(1)
        .complains_of(&["limits.tokensPerDay"]);
    assert_eq!(model.requests().len(), asked);
}

#[test]
fn a_wrong_price_is_named_by_its_path() {
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    for (prices, words) in [
        (json!({"m": {"input": 1}}), "prices.m.output is missing"),
        (
            json!({"m": {"input": 1, "output": "two"}}),
            "prices.m.output must be a number from 0",
        ),
        (
            json!({"m": {"input": 1, "output": 2, "cashed": 1}}),
            "Unknown price providers.fake.prices.m.cashed. Did you mean cached?",
        ),
    ] {
        home.set("/providers/fake/prices", prices);
        run(&home, &["config", "check"])
            .ends_with(78)
            .complains_of(&[words]);
    }
}

#[test]
fn status_and_usage_in_a_chat_have_the_real_numbers() {
    let model = Model::answering(|_| say("done"));
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set("/providers/fake/prices", prices());
    home.set("/agents/defaults/contextWindowTokens", json!(10_000));
    let ana = telegram.person(1001, "Ana", None);
    let wait = |words: &str| {
        telegram
            .wait_for_message(ana.chat(), |message| message.text.contains(words))
            .text
    };
    let gateway = Gateway::start(&home);
    ana.says("/status");
    wait("Context: nothing sent yet, 10k tokens left");
    ana.says("hello");
    wait("done");
    ana.says("/usage");
    let usage = wait("Yesterday");
    for part in [
        "Today: 100 in, 10 out, $0.12",
        "Yesterday: none yet",
        "7 days: 100 in, 10 out, $0.12",
        "30 days: 100 in, 10 out, $0.12",
        "fake-model: 100 in, 10 out, $0.12",
        "Amounts in US dollars",
    ] {
        assert!(usage.contains(part), "{part} is missing in {usage}");
    }
    gateway.stop().ends_with(0);

    let gateway = Gateway::start(&home);
    ana.says("/status");
    let status = wait("Context: 110 of 10k tokens used (1%), 9.9k left");
    for part in [
        "Price: $1000 in, $2000 out per million tokens (as configured)",
        "Thinking: the model's own default",
        "Cache: 0% of the last turn's input",
        "Tokens today: 100 in, 10 out, $0.12",
        "Long-term memory: empty",
    ] {
        assert!(status.contains(part), "{part} is missing in {status}");
    }
    ana.says("/new");
    wait("Started a new conversation");
    ana.says("/status");
    // What the consolidation costs may be among it already.
    telegram.wait_for_message(ana.chat(), |message| {
        let text = &message.text;
        text.contains("nothing sent yet") && !text.contains("Tokens today: none yet")
    });
    gateway.stop().ends_with(0);
}

#[test]
fn a_conversation_chooses_how_much_the_model_thinks() {
    let model = Model::answering(|_| say("done"));
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let wait = |words: &str| {
        telegram.wait_for_message(ana.chat(), |message| message.text.contains(words));
    };
    let gateway = Gateway::start(&home);
    ana.says("/think hard");
    wait("Unknown level hard. Use /think off, low,");
    ana.says("/think");
    wait("Thinking: the model's own default. Change it with /think off");
    ana.says("/think high");
    wait("Thinking: high");
    ana.says("one");
    model.wait_for_requests(1);
    gateway.stop().ends_with(0);

    let gateway = Gateway::start(&home);
    ana.says("two");
    model.wait_for_requests(2);
    ana.says("/think off");
    wait("Thinking: off");
    ana.says("three");
    model.wait_for_requests(3);
    ana.says("/think default");
    wait("Thinking: the model's own default");
    ana.says("four");
    model.wait_for_requests(4);
    gateway.stop().ends_with(0);
    let requests = model.requests();
    let efforts = requests.iter().map(|it| &it.body["reasoning_effort"]);
    let efforts: Vec<&Value> = efforts.collect();
    let expected = [json!("high"), json!("high"), json!("none"), Value::Null];
    assert_eq!(efforts, expected.iter().collect::<Vec<_>>());
}

#[test]
fn a_turn_with_calls_counts_each_of_its_requests() {
    let model = Model::playing([call("list_dir", json!({"path": "."})), say("done")]);
    let mut home = Home::with_model(&model);
    home.set("/providers/fake/prices", prices());
    let said = run(&home, &["agent", "--json", "-m", "look"]).ends_with(0);
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["cost"], json!(0.24));
    assert_eq!(said["usage"]["requests"], json!(2));
}
