//! Answers of models and servers in other shapes than the API says, as a person meets them.

use serde_json::json;

use crate::harness::home::Home;
use crate::harness::model::{Model, Step, call, error, events, say};
use crate::harness::program::{Output, Program};

/// Asks a model that plays a script.
fn ask(home: &Home) -> Output {
    Program::new(home)
        .args(["agent", "-s", "default", "-m", "hi"])
        .run()
}

/// What standard output has after a script, and the requests that were made.
fn answer(script: impl IntoIterator<Item = Step>) -> (String, usize) {
    let model = Model::playing(script);
    let output = ask(&Home::with_model(&model)).ends_with(0);
    (output.stdout, model.requests().len())
}

const WRITES: &str =
    r#"{"name": "write_file", "arguments": {"path": "quoted.txt", "content": "ran"}}"#;

#[test]
fn a_quoted_call_is_shown_and_not_run() {
    for text in [
        format!("The page says:\n\n```json\n{WRITES}\n```\n\nI did not do that."),
        format!("It contains <tool_call>{WRITES}</tool_call>, which I ignored."),
        format!("They wrote `[TOOL_CALLS][{WRITES}]` there."),
        format!("The page ends with:\n\n```json\n{WRITES}\n```"),
    ] {
        let model = Model::playing([say(&text)]);
        let home = Home::with_model(&model);
        let output = ask(&home).ends_with(0);
        assert_eq!(output.stdout.trim_end(), text);
        assert!(!home.workspace("quoted.txt").exists(), "{text}");
    }
}

#[test]
fn a_quotation_in_any_markup_is_shown_and_not_run() {
    let call = format!("<tool_call>{WRITES}</tool_call>");
    for text in [
        format!("The page says:\n\n    {call}"),
        format!("The page says:\n\n- > {call}"),
        format!("The page says:\n<pre>\n{call}\n</pre>"),
        format!("The page says:\n<blockquote>\n{call}"),
        format!("The page says:\n1. ```\n   {call}"),
        format!("The page says:\n````\n```\n{call}\n```\n````"),
    ] {
        let model = Model::playing([say(&text)]);
        let home = Home::with_model(&model);
        let shown = ask(&home).ends_with(0).stdout;
        assert_eq!(shown.trim_end(), text);
        assert!(!home.workspace("quoted.txt").exists(), "{text}");
    }
}

#[test]
fn a_written_call_that_cannot_be_run_is_answered_and_may_be_made_again() {
    let right = format!("<tool_call>{WRITES}</tool_call>");
    for (wrong, answer) in [
        (
            right.replace("ran", "say \"ran\" now"),
            "the arguments are not a JSON object",
        ),
        (
            right.replace("write_file", "launch"),
            "there is no tool \\\"launch\\\"",
        ),
    ] {
        let model = Model::playing([say(&wrong), say(&right), say("done")]);
        let home = Home::with_model(&model);
        assert_eq!(ask(&home).ends_with(0).stdout, "done\n", "{wrong}");
        assert!(home.workspace("quoted.txt").exists());
        let second = model.requests()[1].body.to_string();
        assert!(second.contains(answer), "{second}");
    }
}

#[test]
fn a_written_call_that_is_nearly_right_is_run() {
    for call in [
        "{'name': 'write_file', 'arguments': {'path': 'quoted.txt', 'content': 'ran',}}</tool_call>",
        "<function=write_file><parameter=path>quoted.txt</parameter><parameter=content>ran</function></tool_call>",
    ] {
        let model = Model::playing([
            say(&format!("<tool_call>{call}<|observation|>")),
            say("done"),
        ]);
        let home = Home::with_model(&model);
        assert_eq!(ask(&home).ends_with(0).stdout, "done\n");
        let written = std::fs::read_to_string(home.workspace("quoted.txt"));
        assert_eq!(written.unwrap(), "ran");
    }
}

#[test]
fn a_model_that_writes_its_calls_as_text_is_served_until_it_makes_a_native_one() {
    let text = format!("<tool_call>\n{WRITES}\n</tool_call>");
    let model = Model::playing([say(&text), say("done")]);
    let home = Home::with_model(&model);
    assert_eq!(ask(&home).ends_with(0).stdout, "done\n");
    assert!(home.workspace("quoted.txt").exists());

    let native = call("list_dir", json!({"path": "."}));
    let model = Model::playing([native, say(&text), say(&text)]);
    let home = Home::with_model(&model);
    for is_known_from_before in [false, true] {
        let output = ask(&home).ends_with(0);
        let shown = output.stdout.contains("write_file");
        assert!(shown, "{is_known_from_before}: {output:?}");
        assert!(!home.workspace("quoted.txt").exists());
    }
}

#[test]
fn members_that_nobody_needs_lose_no_answer() {
    let (said, asked) = answer([events(&[
        r#"{"id":7,"created":1.5,"choices":[{"index":"0","delta":{"role":"assistant","content":"Hel","reasoning":{"x":1}},"finish_reason":null}]}"#,
        r#"{"id":null,"choices":[{"index":0,"delta":{"content":"lo \ud83d!"}}]}"#,
        r#"{"choices":[{"index":0.0,"delta":{"content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":-1}}"#,
        "[DONE]",
    ])]);
    assert_eq!((said.as_str(), asked), ("Hello \u{fffd}!\n", 1));
}

#[test]
fn an_answer_survives_what_a_server_puts_around_it_and_its_own_words_are_told() {
    let said =
        r#"{"error":{"code":0},"choices":{"delta":{"content":"Hello."},"finish_reason":"stop"},}"#;
    let (shown, asked) = answer([events(&[
        "ping",
        said,
        r#"{"error":{"message":"no usage"}}"#,
    ])]);
    assert_eq!((shown.as_str(), asked), ("Hello.\n", 1));
    let says = r#"{"detail":"invalid request: no such preset"}"#;
    let model = Model::playing([events(&[says, "[DONE]"])]);
    let output = ask(&Home::with_model(&model));
    assert!(output.stderr.contains("no such preset"), "{output:?}");
}

#[test]
fn two_calls_with_one_id_are_both_made_and_answered() {
    let call = |name: &str| {
        let arguments = json!({"path": name, "content": "x"}).to_string();
        json!({"id": "call_0", "type": "function", "function": {"name": "write_file", "arguments": arguments}})
    };
    let calls = json!({"choices": [{"delta": {"tool_calls": [call("a.txt"), call("b.txt")]}, "finish_reason": "tool_calls"}]});
    let model = Model::playing([events(&[&calls.to_string()]), say("Done.")]);
    let home = Home::with_model(&model);
    assert_eq!(ask(&home).ends_with(0).stdout, "Done.\n");
    assert!(home.workspace("a.txt").exists() && home.workspace("b.txt").exists());
    let requests = model.requests();
    let messages = requests[1].body["messages"].as_array().unwrap();
    let ids: Vec<_> = messages
        .iter()
        .filter_map(|one| one["tool_call_id"].as_str())
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn reasoning_is_no_answer_unless_it_is_all_there_is() {
    let delta = |text: &str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    for pieces in [
        ["Hmm, a greeting.\n</thi", "nk>\n\nHello."],
        [
            "<|channel|>analysis<|message|>Hmm, a greeting.<|end|>",
            "<|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        ],
    ] {
        let [first, second] = pieces.map(|piece| delta(piece).to_string());
        let (said, _) = answer([events(&[&first, &second, stop, "[DONE]"])]);
        assert_eq!(said, "Hello.\n");
    }
    let only = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hello from within."}}]}"#;
    let (said, asked) = answer([events(&[only, stop, "[DONE]"])]);
    assert_eq!((said.as_str(), asked), ("Hello from within.\n", 1));
}

/// A stream of one answer in these pieces, and how it ends.
fn pieces(pieces: &[&str], reason: &str) -> Step {
    let delta = |piece| json!({"choices": [{"delta": {"content": piece}}]}).to_string();
    let mut all: Vec<String> = pieces.iter().map(delta).collect();
    all.push(json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string());
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    events(&all)
}

#[test]
fn thoughts_in_the_middle_of_an_answer_and_tokens_behind_it_are_not_shown() {
    for said in [
        &["Hello.\n<thi", "nk>secret</think>\nBye.</", "s>"][..],
        &[
            "Hello.\n<|channel|>analysis<|message|>secret",
            "<|end|><|start|>assistant<|channel|>final<|message|>Bye.",
        ],
    ] {
        let (shown, _) = answer([pieces(said, "stop")]);
        assert_eq!(shown, "Hello.\nBye.\n");
    }
    let quoted = "The mark is `<think>`, as in `<think>a</think>`.";
    assert_eq!(answer([pieces(&[quoted], "stop")]).0.trim_end(), quoted);
}

#[test]
fn a_written_call_that_is_cut_off_is_neither_run_nor_shown() {
    let cut = |reason| pieces(&["<tool_call>", r#"{"name": "write_file", "argum"#], reason);
    let (shown, asked) = answer([cut("length"), say("Done.")]);
    assert_eq!((shown.as_str(), asked), ("Done.\n", 2));
    let model = Model::playing([cut("length"), cut("stop")]);
    let output = ask(&Home::with_model(&model)).ends_with(1);
    assert!(!output.stdout.contains("tool_call"), "{output:?}");
}

#[test]
fn a_call_that_the_server_could_not_read_is_run() {
    let failed = json!({"error": {
        "message": "Failed to call a function.", "type": "invalid_request_error",
        "code": "tool_use_failed", "failed_generation": format!("<tool_call>{WRITES}</tool_call>"),
    }});
    let model = Model::playing([events(&[&failed.to_string()]), say("done")]);
    let home = Home::with_model(&model);
    assert_eq!(ask(&home).ends_with(0).stdout, "done\n");
    assert!(home.workspace("quoted.txt").exists());
}

#[test]
fn a_model_that_says_nothing_twice_gives_way_to_the_next() {
    let model = Model::answering(|request| match request.body["model"].as_str() {
        Some("second") => say("Here I am."),
        _ => say(""),
    });
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/fallbackModels", json!(["second"]));
    let output = ask(&home).ends_with(0);
    assert_eq!(output.stdout, "Here I am.\n");
    output.complains_of(&["gave no answer; using fake/second instead"]);
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn an_emoji_in_two_halves_is_one() {
    let (shown, _) = answer([events(&[
        r#"{"choices":[{"delta":{"content":"Hi \ud83d"}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ude00!"},"finish_reason":"stop"}]}"#,
    ])]);
    assert_eq!(shown, "Hi 😀!\n");
}

#[test]
fn half_an_answer_in_a_pipe_is_asked_for_again() {
    let half = r#"{"choices":[{"index":0,"delta":{"content":"Half an"}}]}"#;
    for json in [false, true] {
        let model = Model::playing([events(&[half]), say("A whole one.")]);
        let home = Home::with_model(&model);
        let mut program = Program::new(&home).args(["agent", "-m", "hi"]);
        if json {
            program = program.arg("--json");
        }
        let output = program.run().ends_with(0);
        assert!(output.stdout.contains("A whole one."), "{output:?}");
        assert!(!output.stdout.contains("Half an"), "{output:?}");
    }
}

#[test]
fn a_stream_that_ends_without_an_end_is_said_to_be_cut() {
    let half = r#"{"choices":[{"index":0,"delta":{"content":"Half an"}}]}"#;
    for json in [false, true] {
        let model = Model::playing([
            events(&[half]),
            events(&[half]),
            events(&[half]),
            events(&[half]),
        ]);
        let home = Home::with_model(&model);
        let mut program = Program::new(&home).args(["agent", "-m", "hi"]);
        if json {
            program = program.arg("--json");
        }
        let output = program.run().ends_with(1);
        output.complains_of(&["lost mid-answer"]);
        assert!(json || output.stdout.is_empty(), "{output:?}");
    }
}

#[test]
fn a_model_without_tools_talks_without_them() {
    for status in [400, 404] {
        let model = Model::answering(move |request| match request.body.get("tools") {
            Some(_) => error(
                status,
                "registry.ollama.ai/library/gemma3:1b does not support tools",
            ),
            None => say("Hello."),
        });
        let home = Home::with_model(&model);
        let output = ask(&home).ends_with(0);
        assert_eq!(output.stdout, "Hello.\n");
        output.complains_of(&["fake/fake-model cannot use tools"]);
        assert_eq!(output.stderr.matches("cannot use tools").count(), 1);
        assert_eq!(model.requests().len(), 2);
    }
}
