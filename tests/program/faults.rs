//! Models that fail, in every way that was seen.

use std::net::TcpListener;

use serde_json::json;

use crate::harness::home::{Home, KEY};
use crate::harness::model::{
    Model, Step, broken_json, call, error, hang, html, huge, overflow, say, silence,
};
use crate::harness::program::{Output, Program};

/// Asks a model that plays a script; returns what the program made of it, and how often it asked.
fn ask(script: impl IntoIterator<Item = Step>) -> (Output, usize) {
    let model = Model::playing(script);
    let output = ask_at(&Home::with_model(&model));
    let asked = model.requests().len();
    (output, asked)
}

fn ask_at(home: &Home) -> Output {
    let output = Program::new(home)
        .args(["agent", "-s", "default", "-m", "hi"])
        .run();
    let said = format!(
        "{}{}{}",
        output.stdout,
        output.stderr,
        home.journal("default")
    );
    assert!(!said.contains(KEY), "the key is shown: {said}");
    assert!(!said.contains("panicked"), "{said}");
    output
}

#[test]
fn a_busy_model_is_asked_again_when_it_says() {
    let script = [
        error(429, "slow down").header("retry-after", "0"),
        say("now"),
    ];
    let (output, asked) = ask(script);
    assert_eq!(output.ends_with(0).stdout, "now\n");
    assert_eq!(asked, 2);
}

#[test]
fn a_broken_server_is_asked_again() {
    let script = [error(500, "oops").header("retry-after", "0"), say("now")];
    let (output, asked) = ask(script);
    assert_eq!(output.ends_with(0).stdout, "now\n");
    assert_eq!(asked, 2);
}

#[test]
fn a_wrong_key_is_said_with_what_to_do_and_not_tried_again() {
    let (output, asked) = ask([error(401, "Incorrect API key provided")]);
    let output = output.ends_with(1);
    output.complains_of(&["Incorrect API key provided", "providers.fake.apiKey"]);
    assert_eq!(asked, 1);
}

#[test]
fn a_model_that_does_not_exist_is_said_and_not_tried_again() {
    let (output, asked) = ask([error(404, "The model `fake-model` does not exist")]);
    output.ends_with(1).complains_of(&["fake-model"]);
    assert_eq!(asked, 1);
}

#[test]
fn an_unknown_model_is_said_with_the_nearest_that_the_server_has() {
    let model = Model::playing([error(404, "The model `fake-modle` does not exist")]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/model", json!("fake-modle"));
    let output = ask_at(&home).ends_with(1);
    output.complains_of(&["fake has no model named fake-modle. Did you mean fake-model?"]);
}

#[test]
fn a_rejected_temperature_is_left_out_from_then_on() {
    let rejected = error(400, "Unsupported value: 'temperature' does not support 0.1");
    let calling = call("read_file", json!({"path": "none.txt"}));
    let model = Model::playing([rejected, calling, say("done")]);
    let output = ask_at(&Home::with_model(&model)).ends_with(0);
    assert_eq!(output.stdout, "done\n");
    let sent: Vec<bool> = model
        .requests()
        .iter()
        .map(|request| request.body.get("temperature").is_some())
        .collect();
    assert_eq!(sent, [true, false, false]);
}

#[test]
fn images_are_sent_to_a_server_of_your_own_when_the_configuration_says_that_it_sees() {
    for (images, is_sent) in [
        (json!(null), false),
        (json!(true), true),
        (json!(false), false),
    ] {
        let model = Model::playing([call("read_file", json!({"path": "dot.png"})), say("I see")]);
        let mut home = Home::with_model(&model);
        home.set("/providers/fake/images", images.clone());
        std::fs::write(home.workspace("dot.png"), DOT).unwrap();
        ask_at(&home).ends_with(0);
        let asked = model.requests()[1].body.to_string();
        assert_eq!(
            asked.contains("data:image/png;base64,"),
            is_sent,
            "{images}: {asked}"
        );
    }
}

/// A PNG of one pixel.
const DOT: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

#[test]
fn a_page_for_people_is_no_answer() {
    let (output, _) = ask([html("<html><title>Log in to the hotel</title></html>")]);
    let output = output.ends_with(1);
    output.complains_of(&["web page", "apiBase"]);
    assert!(!output.stdout.contains("<html>"));
}

#[test]
fn broken_json_is_no_answer() {
    let (output, _) = ask([broken_json(), broken_json(), broken_json(), broken_json()]);
    assert_eq!(output.ends_with(1).stdout, "");
}

#[test]
fn an_answer_without_end_is_refused_at_the_limit() {
    let page = || huge(4 * 1024 * 1024);
    let (output, _) = ask([page(), page(), page(), page()]);
    assert_eq!(output.ends_with(1).stdout, "");
}

#[test]
fn a_stream_that_breaks_before_its_text_is_asked_for_again() {
    let calling = || call("read_file", json!({"path": "none.txt"}));
    let (output, asked) = ask([calling().cut_off(), say("whole")]);
    assert_eq!(output.ends_with(0).stdout, "whole\n");
    assert_eq!(asked, 2);
}

#[test]
fn half_an_answer_is_never_saved_as_a_whole_one() {
    let half = || say("one two three four").in_pieces(8).cut_off();
    let model = Model::playing([half(), half(), half(), half()]);
    let home = Home::with_model(&model);
    ask_at(&home).ends_with(1);
    let journal = home.journal("default");
    assert!(!journal.contains("\"assistant\""), "{journal}");
}

#[test]
fn a_conversation_that_does_not_fit_is_said_in_plain_words() {
    for anthropic in [false, true] {
        let long = || say(&"long ".repeat(1000));
        let model = Model::playing([long(), overflow(), overflow()]);
        let home = match anthropic {
            true => Home::with_anthropic_model(&model),
            false => Home::with_model(&model),
        };
        ask_at(&home).ends_with(0);
        let output = ask_at(&home).ends_with(1);
        output.complains_of(&["asking again with less of it", "fake-model"]);
        assert_eq!(model.requests().len(), 3);
    }
}

#[test]
fn half_of_a_conversation_is_its_newer_half() {
    let model = Model::playing([say("noted"), overflow(), say("it fits")]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/contextWindowTokens", json!(8192 + 20_000));
    for name in ["older", "newer"] {
        let message = format!("{name} {}", "long ".repeat(4000));
        let ask = Program::new(&home).args(["agent", "-s", "default", "-m", &message]);
        ask.run().ends_with(0);
    }
    let asked = model.requests();
    let says = |request: usize, name: &str| asked[request].last_message().contains(name);
    assert!(asked[1].body.to_string().contains("older long"));
    assert!(!asked[2].body.to_string().contains("older long"));
    assert!(says(1, "newer long") && says(2, "newer long"));
}

#[test]
fn calls_without_number_are_answered_and_not_all_run() {
    let reply = (0..40).fold(say(""), |reply, number| {
        reply.and_call(
            "write_file",
            json!({"path": number.to_string(), "content": ""}),
        )
    });
    let model = Model::playing([reply, say("enough")]);
    let home = Home::with_model(&model);
    ask_at(&home).ends_with(0);
    let asked = model.requests()[1].body["messages"].to_string();
    assert_eq!(asked.matches("this one was not run").count(), 8);
    assert!(home.workspace("31").exists() && !home.workspace("32").exists());
}

#[test]
fn a_silent_model_is_given_up_at_the_idle_timeout() {
    for step in [silence, hang] {
        let model = Model::playing([step(), step(), step(), step()]);
        let mut home = Home::with_model(&model);
        home.set("/providers/fake/timeoutSecs", json!(1));
        home.set("/providers/fake/streamIdleTimeoutSecs", json!(1));
        ask_at(&home).ends_with(1).complains_of(&["127.0.0.1"]);
    }
}

#[test]
fn a_closed_port_is_said_with_its_address() {
    // Bound and given back: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let home = Home::with_endpoint("openai", &format!("http://{address}/v1"));
    ask_at(&home)
        .ends_with(1)
        .complains_of(&[&address.to_string(), "refuses connections"]);
}

#[test]
fn a_model_that_repeats_itself_is_stopped() {
    let model = Model::answering(|_| call("read_file", json!({"path": "missing.txt"})));
    let output = ask_at(&Home::with_model(&model));
    let asked = model.requests().len();
    assert!((3..=6).contains(&asked), "asked {asked} times: {output:?}");
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    let (output, asked) = ask([say(""), say("here I am")]);
    assert_eq!(output.ends_with(0).stdout, "here I am\n");
    assert_eq!(asked, 2);
}

#[test]
fn a_cut_off_answer_is_asked_for_once_more() {
    let (output, asked) = ask([say("It begins").too_long(), say(" and ends.")]);
    let output = output.ends_with(0);
    assert!(output.stdout.contains("and ends."), "{output:?}");
    assert_eq!(asked, 2);
}
