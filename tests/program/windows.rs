//! Models on servers of one's own, which give them a window of their own size.

use std::fs;

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY, MODEL};
use crate::harness::model::{Local, Model, Request, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::Telegram;

/// The window that Ollama gives a model by default.
const SMALL: u64 = 4_096;

fn ask(home: &Home, text: &str) -> Output {
    Program::new(home)
        .args(["agent", "-s", "default", "-m", text])
        .run()
}

fn serving(local: Local) -> Model {
    let model = Model::answering(|_| say("done"));
    model.serve_as(local);
    model
}

fn ollama(tokens: u64) -> Local {
    Local::Ollama {
        tokens,
        parameters: "stop \"<|im_end|>\"",
    }
}

/// A home with a provider of this name, and with more in its files than a small window takes.
fn home_with(model: &Model, provider: &str, key: &str) -> Home {
    let mut home = Home::new();
    let section = json!({"apiBase": format!("{}/v1", model.url()), "apiKey": key});
    home.set("/providers", json!({provider: section}));
    home.set(
        "/agents",
        json!({"defaults": {"provider": provider, "model": MODEL, "timezone": "UTC"}}),
    );
    fs::create_dir(home.workspace("memory")).unwrap();
    for file in ["USER.md", "AGENTS.md", "memory/MEMORY.md"] {
        fs::write(home.workspace(file), "The garden has a pump. ".repeat(300)).unwrap();
    }
    home
}

/// About how many tokens the request and its reply may be.
fn tokens(request: &Request) -> u64 {
    let reply = &request.body["max_tokens"];
    request.raw.len() as u64 / 4 + reply.as_u64().unwrap()
}

fn tools(request: &Request) -> usize {
    request.body["tools"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_conversation_stays_within_what_ollama_gives() {
    for (provider, key) in [("ollama", ""), ("house", KEY)] {
        let model = serving(ollama(SMALL));
        let home = home_with(&model, provider, key);
        for number in 0..6 {
            let text = format!("Question {number}: {}", "how is the pump? ".repeat(60));
            ask(&home, &text).ends_with(0);
        }
        for (number, request) in model.requests().iter().enumerate() {
            assert!(tokens(request) <= SMALL, "{number}: {}", tokens(request));
            assert!(request.raw.contains(&format!("Question {number}: ")));
            assert!((1..=6).contains(&tools(request)), "{}", tools(request));
        }
    }
}

#[test]
fn what_a_model_is_loaded_with_counts_and_is_not_asked_again() {
    let model = Model::counting();
    model.serve_as(ollama(32_768));
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    for number in 1..=3 {
        ana.says(&format!("question {number}"));
        let answer = format!("{number}.");
        telegram.wait_for_message(ana.chat(), |message| message.text.ends_with(&answer));
    }
    gateway.stop().ends_with(0);
    let requests = model.requests();
    assert!(tools(&requests[0]) <= 6);
    assert!(requests[1..3].iter().all(|request| tools(request) > 6));
    let shown = ["GET /v1/models", "GET /api/ps", "POST /api/show"];
    let loaded = ["GET /v1/models", "GET /api/ps"];
    assert_eq!(model.asked(), [&shown[..], &loaded[..]].concat());
}

#[test]
fn a_configured_window_is_not_asked_for() {
    let model = serving(ollama(SMALL));
    let mut home = home_with(&model, "ollama", "");
    home.set("/agents/defaults/contextWindowTokens", json!(128_000));
    ask(&home, "one").ends_with(0);
    assert_eq!(model.asked(), [""; 0]);
    assert!(tools(&model.requests()[0]) > 6);
    let report = Program::new(&home).args(["doctor"]).run().stdout;
    assert!(
        report.contains("contextWindowTokens is 128,000"),
        "{report}"
    );
}

#[test]
fn doctor_warns_of_a_small_window_and_says_how_to_raise_it() {
    let modelfile = Local::Ollama {
        tokens: SMALL,
        parameters: "num_ctx                        6000\ntemperature 0.6",
    };
    for (local, words) in [
        (
            ollama(SMALL),
            ["4,096 tokens by default", "OLLAMA_CONTEXT_LENGTH"],
        ),
        (modelfile, ["6,000 tokens", "OLLAMA_CONTEXT_LENGTH"]),
        (Local::LmStudio(5_000), ["5,000 tokens", "LM Studio"]),
        (Local::LlamaCpp(2_048), ["2,048 tokens", "--ctx-size"]),
        (Local::Vllm(7_000), ["7,000 tokens", "--max-model-len"]),
        (Local::Vllm(32_768), ["32,768 tokens", MODEL]),
    ] {
        let model = serving(local);
        let home = home_with(&model, "house", KEY);
        let report = Program::new(&home).args(["doctor"]).run().stdout;
        for word in words {
            assert!(report.contains(word), "{word}: {report}");
        }
    }
}
