//! The models of one provider or of several: how they are listed, chosen and refused.

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY, MODEL};
use crate::harness::model::{Model, Request, Step, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::Telegram;

/// A home in which OpenAI has the address of a fake.
fn home_with_openai(model: &Model) -> Home {
    let home = Home::new();
    let config = json!({
        "agents": {"defaults": {"provider": "openai", "timezone": "UTC"}},
        "providers": {"openai": {"apiBase": format!("{}/v1", model.url()), "apiKey": KEY}},
    });
    home.write_config(&config.to_string());
    home
}

fn ask(home: &Home, model: &str) -> Output {
    let words = ["agent", "--model", model, "hello"];
    Program::new(home).args(words).run()
}

/// A fake that answers with its own name and the model's.
fn named(name: &'static str) -> impl Fn(&Request) -> Step + Send + Sync + 'static {
    move |request| {
        say(&format!(
            "{name} {}",
            request.body["model"].as_str().unwrap()
        ))
    }
}

#[test]
fn a_model_that_the_provider_does_not_list_is_refused_before_it_is_asked() {
    let model = Model::playing([]);
    model.offers(["gpt-8-sol", "gpt-8-luna"]);
    let home = home_with_openai(&model);
    let output = ask(&home, "gtp-8-sol").ends_with(2);
    let said = "No model named gtp-8-sol at openai. Did you mean gpt-8-sol?";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    let output = ask(&home, "nope").ends_with(2);
    let said = "No model named nope at openai. It offers gpt-8-sol, gpt-8-luna.";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(model.requests().is_empty());
}

#[test]
fn a_model_of_which_only_longer_names_are_listed_is_tried_with_a_remark() {
    let model = Model::answering(named("openai"));
    model.offers(["gpt-8-mini", "gpt-8-sol"]);
    let home = home_with_openai(&model);
    let output = ask(&home, "gpt-8").ends_with(0);
    assert_eq!(output.stdout, "openai gpt-8\n");
    let said = "openai lists no gpt-8, only longer names such as gpt-8-";
    assert!(output.stderr.contains(said), "{}", output.stderr);
}

#[test]
fn without_a_list_only_a_slip_is_refused() {
    let model = Model::answering(named("openai"));
    model.set_offers(&[], "another key");
    let home = home_with_openai(&model);
    let output = ask(&home, "gtp-6.2-sol").ends_with(2);
    let said = "Did you mean gpt-6.2-sol?";
    assert!(output.stderr.contains(said), "{}", output.stderr);
    assert!(model.requests().is_empty());
    let output = ask(&home, "gpt-8-sol").ends_with(0);
    assert_eq!(output.stdout, "openai gpt-8-sol\n");
}

#[test]
fn a_server_of_ones_own_may_have_models_that_it_does_not_list() {
    let model = Model::answering(named("fake"));
    model.offers([MODEL, "other-model"]);
    let home = Home::with_model(&model);
    let output = ask(&home, "othr-model").ends_with(0);
    assert_eq!(output.stdout, "fake othr-model\n");
}

#[test]
fn a_model_of_another_provider_is_chosen_by_a_tap_and_outlives_the_gateway() {
    let (fake, other) = (
        Model::answering(named("fake")),
        Model::answering(named("other")),
    );
    fake.offers([MODEL, "both-have-it"]);
    other.offers(["large-2", "both-have-it", "nomic-embed-text"]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&fake, &telegram);
    let prices = json!({"large-2": {"input": 3, "output": 15.5}});
    let base = format!("{}/v1", other.url());
    home.set(
        "/providers/other",
        json!({"apiBase": base, "apiKey": KEY, "prices": prices}),
    );
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let wait =
        |text: &str| telegram.wait_for_message(ana.chat(), |message| message.text.contains(text));
    let gateway = Gateway::start(&home);
    ana.says("/model");
    let list = wait("other offers:");
    for part in [
        "fake offers (tap one",
        "✓ fake-model",
        "other/large-2 · $3/$15.5",
        "price of a million tokens",
    ] {
        assert!(list.text.contains(part), "{part}: {}", list.text);
    }
    assert!(!list.text.contains("embed"), "{}", list.text);
    ana.presses("other/large-2");
    wait("Model: other/large-2");
    ana.says("/model both-have-it");
    let question = wait("Which one do you mean?");
    assert!(question.button("fake/both-have-it").is_some());
    assert!(question.button("other/both-have-it").is_some());
    gateway.kill();
    let gateway = Gateway::start(&home);
    ana.says("who are you?");
    wait("other large-2");
    ana.presses("fake/both-have-it");
    wait("Model: fake/both-have-it");
    ana.says("and now?");
    wait("fake both-have-it");
    ana.says("/model LARGE-2");
    ana.says("at last?");
    telegram.wait_for_message(ana.chat(), |message| {
        message.text == "other large-2" && message.id > question.id
    });
    gateway.stop().ends_with(0);
}

#[test]
fn a_part_of_a_name_stands_for_the_only_model_with_it_and_is_never_sent() {
    let model = Model::answering(named("fake"));
    model.offers([MODEL, "blind-model", "eye-small", "eye-large"]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let wait =
        |text: &str| telegram.wait_for_message(ana.chat(), |message| message.text.contains(text));
    let gateway = Gateway::start(&home);
    ana.says("/model blind");
    wait("Model: fake/blind-model");
    ana.says("/model eye");
    wait("No model named eye at fake. Did you mean eye-large or eye-small?");
    ana.says("who are you?");
    wait("fake blind-model");
    // The whole name of one that the server does not list.
    ana.says("/model fake/hidden");
    wait("fake does not list hidden");
    ana.says("and now?");
    wait("fake hidden");
    gateway.stop().ends_with(0);
}
