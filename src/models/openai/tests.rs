mod written;

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use serde_json::Map;

use super::decode::{Decoder, Server};
use super::encode::encode;
use crate::base::chat::{
    Entry, EntryKind, Fault, Reasoning, ReasoningEffort, Reply, Request, StopReason, Usage,
};
use crate::models::classify::Failure;
use crate::models::quirks::Quirks;
use crate::models::table::Format;
use crate::models::wire::body::Target;
use crate::models::wire::example::{TOOLS, call, conversation, request};
use crate::net::http::sse::Parser;

fn encoded(request: &Request<'_>, provider: &str, model: &str) -> String {
    let target = Target {
        model,
        provider,
        quirks: Quirks::of_name(provider, Format::OpenAi, model),
        extra_body: &Map::new(),
    };
    String::from_utf8(encode(request, &target).unwrap()).unwrap()
}

fn thoughts(text: &str) -> Vec<Reasoning> {
    vec![Reasoning::Text(text.to_owned())]
}

#[test]
fn a_conversation_is_written_as_openai_reads_it() {
    let entries = conversation(thoughts("hm"));
    let expected = concat!(
        r#"{"model":"gpt-4o","messages":["#,
        r#"{"role":"system","content":"Be brief."},"#,
        r#"{"role":"user","content":"hello"},"#,
        r#"{"role":"assistant","content":"Hello!"},"#,
        r#"{"role":"user","content":"[facts]\n\nwhat is \"cat.png\"?"},"#,
        r#"{"role":"assistant","content":"I look.","tool_calls":["#,
        r#"{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"cat.png\"}"}},"#,
        r#"{"id":"call:2","type":"function","function":{"name":"list_dir","arguments":"{}"}}]},"#,
        r#"{"role":"tool","content":"an image","tool_call_id":"call_1"},"#,
        r#"{"role":"tool","content":"(no output)","tool_call_id":"call:2"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"[image cat.png]"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},"#,
        r#"{"type":"text","text":"quickly"}]}],"#,
        r#""tools":[{"type":"function","function":{"name":"read_file","description":"Reads a file.","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}},"#,
        r#"{"type":"function","function":{"name":"list_dir","description":"Lists a folder.","#,
        r#""parameters":{"type":"object","properties":{}}}}],"#,
        r#""max_tokens":100,"temperature":0.5,"stream":true,"stream_options":{"include_usage":true}}"#,
    );
    assert_eq!(encoded(&request(&entries), "openai", "gpt-4o"), expected);
}

#[test]
fn a_model_that_does_not_see_is_told_where_the_image_is() {
    let entries = conversation(Vec::new());
    let body = encoded(&request(&entries), "groq", "llama-3.3-70b");
    assert!(
        body.contains(r#""content":"an image\n\n[image cat.png: this model cannot see images]""#)
    );
    assert!(!body.contains("image_url"));
}

#[test]
fn reasoning_models_get_their_own_parameters() {
    let entries = [Entry::new(EntryKind::Person, "hi")];
    let wanted = Request {
        reasoning_effort: Some(ReasoningEffort::High),
        stream: false,
        ..request(&entries)
    };
    let end = |provider, model, wanted: &Request<'_>| {
        let body = encoded(wanted, provider, model);
        body.rsplit_once("]").unwrap().1.to_owned()
    };
    assert_eq!(
        end("openai", "o3", &wanted),
        r#","max_completion_tokens":100,"reasoning_effort":"high"}"#
    );
    assert_eq!(
        end("openai", "gpt-6-sol", &wanted),
        r#","max_completion_tokens":100,"reasoning_effort":"none"}"#
    );
    let off = Request {
        reasoning_effort: Some(ReasoningEffort::Off),
        ..wanted.clone()
    };
    for (provider, model, expected) in [
        ("house", "qwen3", r#""reasoning_effort":"none"}"#),
        ("openai", "o3", r#""reasoning_effort":"low"}"#),
        ("openai", "gpt-4o", r#""temperature":0.5}"#),
    ] {
        let end = end(provider, model, &off);
        assert!(end.ends_with(expected), "{model}: {end}");
    }
    let bare = Request {
        tools: &[],
        ..wanted
    };
    assert_eq!(
        end("openai", "gpt-6-sol", &bare),
        r#","max_completion_tokens":100,"reasoning_effort":"high"}"#
    );
    assert_eq!(
        end("mistral", "mistral-medium-latest", &request(&entries)),
        r#","max_tokens":100,"temperature":0.5,"stream":true}"#
    );
}

#[test]
fn reasoning_goes_back_with_the_running_turns_calls() {
    let entries = conversation(thoughts("hm"));
    let body = encoded(&request(&entries), "deepseek", "deepseek-v4-pro");
    assert!(body.contains(r#""content":"I look.","reasoning_content":"hm","tool_calls""#));
    let closing = r#"{"role":"assistant","content":"Hello!","reasoning_content":""}"#;
    assert!(body.contains(closing), "{body}");

    // Resumed from the disk, where no reasoning is.
    let entries = conversation(Vec::new());
    let body = encoded(&request(&entries), "deepseek", "deepseek-v4-pro");
    assert!(body.contains(r#""reasoning_content":"","tool_calls""#));

    // The turn is over.
    let mut entries = conversation(thoughts("hm"));
    entries.push(Entry::new(EntryKind::Assistant, "A cat."));
    entries.push(Entry::new(EntryKind::Person, "thanks"));
    let body = encoded(&request(&entries), "moonshot", "kimi-k3");
    assert!(body.contains(r#""reasoning_content":"tool call""#));
    assert_eq!(body.matches("reasoning_content").count(), 1);
}

#[test]
fn gemini_gets_its_signatures_back_or_the_word_for_a_lost_one() {
    let mut entries = conversation(Vec::new());
    let body = encoded(&request(&entries), "gemini", "gemini-flash-latest");
    let lost =
        r#""extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}"#;
    assert_eq!(body.matches(lost).count(), 1);
    entries[4].tool_calls[0].signature = Some("Ag==".to_owned());
    let body = encoded(&request(&entries), "gemini", "gemini-flash-latest");
    assert!(body.contains(r#"{"thought_signature":"Ag=="}"#) && !body.contains(lost));
    assert!(!encoded(&request(&entries), "openai", "gpt-4o").contains("Ag=="));
}

#[test]
fn mistral_gets_ids_of_nine_letters_in_call_and_result() {
    let entries = conversation(Vec::new());
    let body = encoded(&request(&entries), "mistral", "mistral-large-latest");
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    let id = json["messages"][4]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(json["messages"][5]["tool_call_id"], id);
}

#[test]
fn an_assistant_that_said_nothing_is_left_out() {
    let entries = [
        Entry::new(EntryKind::Person, "a"),
        Entry::new(EntryKind::Assistant, " "),
        Entry::new(EntryKind::Person, ""),
    ];
    let body = encoded(&request(&entries), "openai", "gpt-4o");
    assert!(
        body.contains(r#"{"role":"user","content":"a\n\n(empty)"}]"#),
        "{body}"
    );
    let mut calling = Entry::new(EntryKind::Assistant, "");
    calling.tool_calls.push(call("1", "list_dir", "not json"));
    let body = encoded(&request(&[calling]), "openai", "gpt-4o");
    assert!(body.contains(r#"{"role":"assistant","content":null,"tool_calls""#));
    assert!(body.contains(r#""arguments":"{\"arguments\":\"not json\"}""#));
}

fn whole(json: &str) -> Result<Reply, Failure> {
    Decoder::new(&TOOLS, 1).whole(json)
}

/// Decodes the events, and gathers what was shown.
fn stream(events: &[&str]) -> Result<(Reply, String), Failure> {
    let mut decoder = Decoder::new(&TOOLS, 1);
    let mut shown = String::new();
    for event in events {
        decoder.event(event, &mut |text| shown.push_str(text))?;
    }
    let reply = decoder.finish(&mut |text| shown.push_str(text))?;
    Ok((reply, shown))
}

/// Decodes the pieces of a text that a model on some server streams.
fn streamed_by(model: &str, has_called: bool, pieces: &[&str]) -> Reply {
    let has_called = AtomicBool::new(has_called);
    let server = Server {
        model,
        has_called: &has_called,
    };
    let mut decoder = Decoder::new(&TOOLS, 1).of_server(server);
    for piece in pieces {
        let event = serde_json::json!({"choices": [{"delta": {"content": piece}}]});
        decoder.event(&event.to_string(), &mut |_| {}).unwrap();
    }
    decoder.event("[DONE]", &mut |_| {}).unwrap();
    decoder.finish(&mut |_| {}).unwrap()
}

#[test]
fn a_written_call_counts_for_a_model_on_a_server_that_has_never_made_one() {
    let said = "I look.\n<tool_call>\n{\"name\": \"list_dir\", \"arguments\": {}}\n</tool_call>";
    let reply = streamed_by("qwen3", false, &[said]);
    assert_eq!(reply.text, "I look.");
    assert_eq!(
        reply.tool_calls,
        [call("call_00000001_0", "list_dir", "{}")]
    );
    let reply = streamed_by("qwen3", true, &[said]);
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), (said, 0));
    let event = serde_json::json!({"choices": [{"message": {"content": said}}]}).to_string();
    let reply = whole(&event).unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.tool_calls.len()),
        (said, 0),
        "an official API"
    );
}

#[test]
fn a_call_that_is_made_turns_written_ones_into_quotations() {
    let has_called = AtomicBool::new(false);
    let server = Server {
        model: "qwen3",
        has_called: &has_called,
    };
    let said = "<tool_call>{\"name\": \"list_dir\"}</tool_call>";
    let made = serde_json::json!([{"index": 0, "id": "a", "function": {"name": "list_dir"}}]);
    let event =
        serde_json::json!({"choices": [{"message": {"content": said, "tool_calls": made}}]});
    let decoder = Decoder::new(&TOOLS, 1).of_server(server);
    let reply = decoder.whole(&event.to_string()).unwrap();
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), (said, 1));
    assert!(has_called.into_inner(), "and it is remembered");
}

#[test]
fn what_is_left_of_a_template_does_not_reach_the_person() {
    for (model, pieces, text) in [
        ("mine", &["Hello.<|im_end|>"][..], "Hello."),
        (
            "mine",
            &["<|start_header_id|>assistant<|end_header_id|>\n\nHello."],
            "Hello.",
        ),
        ("mine", &["why\n</think>\n\nHel", "lo."], "Hello."),
        ("mine", &["wh", "y\n</thi", "nk>", "\n\nHello."], "Hello."),
        ("deepseek-r1:8b", &["wh", "y</think>Hello."], "Hello."),
        (
            "gpt-oss:20b",
            &[
                "<|channel|>analysis<|mess",
                "age|>why<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
            ],
            "Hello.",
        ),
        ("qwen3", &["[TOOL_CALLS]Hello."], "Hello."),
    ] {
        let reply = streamed_by(model, false, pieces);
        assert_eq!(reply.text, text, "{pieces:?}");
        assert!(reply.tool_calls.is_empty());
    }
}

/// The same in pieces of one letter.
fn in_letters(said: &str) -> Reply {
    let letters: Vec<String> = said.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    streamed_by("mine", false, &letters)
}

#[test]
fn thoughts_anywhere_in_an_answer_are_no_text() {
    for (said, text, thought) in [
        ("Hello. <think>secret</think>Bye.", "Hello. Bye.", "secret"),
        (
            "<think>a</think>Hello.\n<think>secret</think>\n\nBye.",
            "Hello.\nBye.",
            "asecret",
        ),
        ("Hello.\n<thinking>secret", "Hello.", "secret"),
        (
            "Hello.\n[THINK]secret[/THINK]\nBye.",
            "Hello.\nBye.",
            "secret",
        ),
        (
            "I look.<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Bye.",
            "I look.\n\nBye.",
            "secret",
        ),
        (
            "Hi.<|end|><|start|>assistant<|channel|>analysis<|message|>secret<|channel|>final<|message|>Bye.",
            "Hi.\n\nBye.",
            "secret",
        ),
        (
            "<|channel|>analysis secret<|end|><|channel|>final Bye.",
            "Bye.",
            "secret",
        ),
        (
            "<|channel|>analysis<|message|>secret<|start|>assistant<|channel|>final<|message|>Bye.",
            "Bye.",
            "secret",
        ),
        ("<|channel|>final Bye.", "Bye.", ""),
        (
            "analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Bye.",
            "Bye.",
            "secret",
        ),
        (
            "<|START_THINKING|>secret<|END_THINKING|><|START_RESPONSE|>Bye.<|END_RESPONSE|>",
            "Bye.",
            "secret",
        ),
        (
            "It's a test: `a\n\nHi.\n<think>secret</think>\nBye.",
            "It's a test: `a\n\nHi.\nBye.",
            "secret",
        ),
    ] {
        for reply in [streamed_by("mine", false, &[said]), in_letters(said)] {
            let reasoning = match thought {
                "" => Vec::new(),
                _ => thoughts(thought),
            };
            assert_eq!(
                (reply.text.as_str(), reply.reasoning),
                (text, reasoning),
                "{said}"
            );
        }
    }
}

#[test]
fn what_is_left_of_channels_without_marks_is_parted() {
    let said = "analysisThey greet. Say hi.assistantfinalHello.";
    for pieces in [
        &[said][..],
        &["analysis", "They greet. Say hi.assistant", "finalHello."],
    ] {
        let reply = streamed_by("gpt-oss:20b", false, pieces);
        assert_eq!(
            (reply.text.as_str(), reply.reasoning),
            ("Hello.", thoughts("They greet. Say hi."))
        );
        assert_eq!(streamed_by("mine", false, pieces).text, said);
    }
    for text in ["analysis of it follows", "analysis", "Hi. assistantfinal"] {
        assert_eq!(streamed_by("gpt-oss:20b", false, &[text]).text, text);
    }
}

#[test]
fn thoughts_that_are_quoted_are_text() {
    for quotation in [
        "It writes `<think>a</think>` first.",
        "So:\n```\n<think>a</think>\n<|channel|>analysis<|message|>b<|end|>\n```\nThat is it.",
        "They wrote:\n> <think>a</think>",
        "The mark \"<think>a</think>\" is one.",
        "Write “<think>” and then “</think>”.",
        "The tag <think> begins it.",
        "Use `<|channel|>analysis<|message|>` for it.",
        "- `a`\n- b < c [THINK] d",
        "The '<think>' tag ends with '</think>'.",
        "**<think>** begins and **</think>** ends it.",
        "| mark | means |\n|---|---|\n| <think> | begins |\n| </think> | ends |",
        "The marks (<think> and </think>) are tags.",
    ] {
        for reply in [
            streamed_by("mine", false, &[quotation]),
            in_letters(quotation),
        ] {
            assert_eq!((reply.text.as_str(), reply.reasoning.len()), (quotation, 0));
        }
    }
}

#[test]
fn a_written_call_that_is_cut_off_is_a_call_cut_off_and_no_text() {
    let ended = |model: &str, said: &str, reason: &str| {
        let has_called = AtomicBool::new(false);
        let server = Server {
            model,
            has_called: &has_called,
        };
        let event = serde_json::json!({"choices": [{"message": {"content": said}, "finish_reason": reason}]});
        let decoder = Decoder::new(&TOOLS, 1).of_server(server);
        let reply = decoder.whole(&event.to_string()).unwrap();
        (reply.text, reply.tool_calls.len(), reply.stop)
    };
    for (model, call) in [
        ("qwen3", r#"<tool_call>{"name": "read_file", "argum"#),
        ("qwen3", "<tool_call>"),
        ("qwen3", "<tool_ca"),
        (
            "qwen3",
            "<tool_call>\n<function=read_file>\n<parameter=path>\na",
        ),
        (
            "qwen3",
            r#"<tool_call>{"name": "list_dir", "arguments": {}}</tool_call><tool_call>{"na"#,
        ),
        ("mistral-nemo", r#"[TOOL_CALLS][{"name": "read_file", "ar"#),
        ("devstral", r#"[TOOL_CALLS]read_file[ARGS]{"path": "a"#),
        (
            "kimi-k2",
            r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"pa"#,
        ),
        ("llama3.2", r#"<|python_tag|>read_file.call(path="a"#),
        (
            "deepseek-v3.2",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read_file\">",
        ),
        (
            "gpt-oss",
            "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"pa",
        ),
    ] {
        let expected = ("I look.".to_owned(), 1, StopReason::Length);
        for reason in ["length", "stop"] {
            if reason == "stop" && call.starts_with("<tool_ca") && call.len() < 12 {
                continue;
            }
            let said = format!("I look.\n{call}");
            assert_eq!(ended(model, &said, reason), expected, "{reason}: {call}");
        }
    }
    let bare = r#"{"name": "read_file", "arguments": {"pa"#;
    assert_eq!(
        ended("llama3.2", bare, "length"),
        (String::new(), 1, StopReason::Length)
    );
    let data = r#"{"name": "Ada", "arguments": {"pa"#;
    assert_eq!(
        ended("llama3.2", data, "length"),
        (data.to_owned(), 0, StopReason::Length)
    );
    let quoted = "They write `<tool_call>{\"name\": \"read_file\"";
    assert_eq!(
        ended("qwen3", quoted, "length"),
        (quoted.to_owned(), 0, StopReason::Length)
    );
    assert_eq!(ended("qwen3", "if a <", "length").0, "if a <");
}

#[test]
fn halves_of_an_emoji_in_two_pieces_are_one() {
    let text = |member: &str, pieces: &[&str]| {
        let events: Vec<String> = pieces
            .iter()
            .map(|piece| format!(r#"{{"choices":[{{"delta":{{"{member}":"{piece}"}}}}]}}"#))
            .chain(["[DONE]".to_owned()])
            .collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let (reply, shown) = stream(&events).unwrap();
        assert_eq!(reply.text, shown);
        reply.text
    };
    for (pieces, expected) in [
        (&[r"a\ud83d", r"\ude00b"][..], "a😀b"),
        (&[r"a\ud83d", "", r"\ude00b"], "a😀b"),
        (&[r"a\ud83d", "b"], "a\u{fffd}b"),
        (&[r"a\ud83d", r"\ud83d", r"\ude00"], "a\u{fffd}😀"),
        (&["a", r"\ude00b"], "a\u{fffd}b"),
        (&["a", r"b\ud83d"], "ab\u{fffd}"),
        (&[r"a\\ud83d", r"\ude00"], "a\\ud83d\u{fffd}"),
    ] {
        for member in ["content", "reasoning_content", "reasoning", "refusal"] {
            assert_eq!(text(member, pieces), expected, "{member} {pieces:?}");
        }
    }
    let piece = |arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"read_file","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let events = [piece(r#"{\"path\":\"\ud83d"#), piece(r#"\ude00\"}"#)];
    let (reply, _) = stream(&[&events[0], &events[1], "[DONE]"]).unwrap();
    assert_eq!(reply.tool_calls[0].arguments, r#"{"path":"😀"}"#);
}

#[test]
fn a_call_in_gpt_oss_channels_is_made_unless_the_server_understands_them() {
    let said = "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"path\":\"a\"}<|call|>";
    let reply = streamed_by("gpt-oss:20b", false, &[said]);
    assert_eq!(
        reply.tool_calls,
        [call("call_00000001_0", "read_file", "{\"path\":\"a\"}")]
    );
    assert_eq!(
        (reply.text.as_str(), reply.reasoning),
        ("", thoughts("why"))
    );
    let reply = streamed_by("gpt-oss:20b", true, &[said]);
    assert!(
        reply.tool_calls.is_empty() && !reply.text.contains("<|"),
        "{}",
        reply.text
    );
}

#[test]
fn an_answer_that_came_as_reasoning_is_the_answer() {
    for field in ["reasoning_content", "reasoning"] {
        let json = |stop: &str| {
            format!(
                r#"{{"choices":[{{"message":{{"content":"","{field}":"Hello."}},"finish_reason":"{stop}"}}]}}"#
            )
        };
        let reply = whole(&json("stop")).unwrap();
        assert_eq!((reply.text.as_str(), reply.reasoning.len()), ("Hello.", 0));
        let reply = whole(&json("length")).unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.reasoning.len()),
            ("", 1),
            "it was still thinking"
        );
    }
    for delta in [
        r#""reasoning_content":"Hello.""#,
        r#""content":null,"reasoning_details":[{"type":"reasoning.text","text":"Hello.","index":0}]"#,
        r#""reasoning_details":[{"type":"reasoning.summary","summary":"Hello."},{"type":"reasoning.encrypted","data":"eA=="}]"#,
        r#""reasoning":"Hello.","reasoning_details":[{"type":"reasoning.text","text":"Hello."}]"#,
    ] {
        let event = format!(r#"{{"choices":[{{"delta":{{{delta}}},"finish_reason":"stop"}}]}}"#);
        assert_eq!(stream(&[&event]).unwrap().1, "Hello.", "{delta}");
    }
    assert_eq!(
        streamed_by("mine", false, &["<think>Hello."]).text,
        "Hello."
    );
}

#[test]
fn a_member_that_nobody_needs_loses_no_answer() {
    for member in [
        r#""usage":{"prompt_tokens":12.0,"completion_tokens":"3","prompt_tokens_details":[]}"#,
        r#""usage":{"prompt_tokens":-1,"cost":"free"}"#,
        r#""usage":7"#,
        r#""id":7,"created":1.5e9,"object":{},"model":null"#,
        r#""base_resp":{"status_code":"0"}"#,
        r#""base_resp":"fine","error":{}"#,
        r#""error":{"code":0,"message":"ok"},"detail":"cached""#,
        r#""error":0"#,
        r#""error":[],"tags":[1,],"list":{"a":2,}"#,
        &format!(r#""deep":{}1{}"#, "[".repeat(200), "]".repeat(200)),
        r#""x":NaN,"y":[-Infinity,Infinity]"#,
        r#""error":"","system_fingerprint":"\ud83d""#,
    ] {
        let json = format!(
            r#"{{{member},"choices":[{{"index":"0","delta":{{"content":"Hello."}},"logprobs":"none","finish_reason":"stop"}}]}}"#
        );
        let (reply, shown) = stream(&[&json]).unwrap();
        assert_eq!(
            (reply.text.as_str(), shown.as_str()),
            ("Hello.", "Hello."),
            "{member}"
        );
        let anthropic = format!(
            r#"{{{member},"type":"message","content":[{{"type":"text","text":"Hello."}}]}}"#
        );
        let reply = crate::models::anthropic::decode::Decoder::new(1).whole(&anthropic);
        assert_eq!(reply.unwrap().text, "Hello.", "{member}");
    }
    for (delta, text) in [
        (r#"{"content":"Hello.","reasoning":{"effort":1}}"#, "Hello."),
        (r#"{"content":"a \ud83d b","role":7}"#, "a \u{fffd} b"),
        (r#"{"content":"\ud83d\ude00","tool_calls":"none"}"#, "😀"),
        (r#"{"content":{"type":"text","text":"Hello."}}"#, "Hello."),
        (
            r#"{"content":["Hel",{"text":"lo."},{"image":1}]}"#,
            "Hello.",
        ),
        (r#"{"content":5,"tool_calls":[null,7,{}]}"#, "5"),
        (
            r#"{"content":"Hello.","tool_calls":{},"function_call":null}"#,
            "Hello.",
        ),
    ] {
        let json = format!(r#"{{"choices":[{{"delta":{delta},"finish_reason":"stop"}}]}}"#);
        let reply = stream(&[&json]).unwrap().0;
        assert_eq!(
            (reply.text.as_str(), reply.tool_calls.len()),
            (text, 0),
            "{delta}"
        );
    }
    let json =
        r#"[{"choices":[{"delta":{"content":"Hel"}}]},{"choices":[{"delta":{"content":"lo."}}]}]"#;
    assert_eq!(
        stream(&[json, "7", "null", "\"ping\"", "[DONE]"])
            .unwrap()
            .0
            .text,
        "Hello."
    );
    let usage = r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12.0,"completion_tokens":"3"}}"#;
    let usage = stream(&[usage]).unwrap().0.usage;
    assert_eq!((usage.input, usage.output), (12, 3));
}

#[test]
fn an_answer_is_read_in_every_shape() {
    for events in [
        &[r#"{"choices":{"delta":{"content":"Hello."},"finish_reason":"stop"}}"#][..],
        &[r#"{"choices":{"0":{"delta":{"content":"Hello."},"finish_reason":"stop"}}}"#],
        &[
            r#"{"choices":[{"text":"Hel"}]}"#,
            r#"{"choices":[{"text":"lo.","finish_reason":"stop"}]},"#,
        ],
        &[
            r#"{"choices":[{"message":{"content":"Hel"}}]}"#,
            r#"{"choices":[{"delta":{},"message":{"content":"lo."}}]}"#,
            "[DONE]",
        ],
        &[
            "ping",
            "still working",
            r#"{"choices":[{"delta":{"content":"Hello."}}]}"#,
            "ping",
            "[DONE]",
        ],
        // What goes wrong once the model has ended.
        &[
            r#"{"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}"#,
            r#"{"error":{"message":"no usage"}}"#,
        ],
        &[
            r#"{"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}"#,
            "{\"choi",
        ],
    ] {
        let (reply, shown) = stream(events).unwrap();
        assert_eq!((&*reply.text, &*shown), ("Hello.", "Hello."), "{events:?}");
    }
    let again = [
        r#"{"choices":[{"delta":{"content":"A long answer, "}}]}"#,
        r#"{"choices":[{"delta":{"content":"in two pieces."}}]}"#,
        r#"{"choices":[{"message":{"content":"A long answer, in two pieces."},"finish_reason":"stop"}]}"#,
    ];
    assert_eq!(stream(&again).unwrap().1, "A long answer, in two pieces.");
}

#[test]
fn calls_are_read_in_every_shape() {
    for calls in [
        r#""tool_calls":[{"index":"0","id":7,"function":{"name":"read_file","arguments":{"path":"a"}}}]"#,
        r#""tool_calls":{"id":"7","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
        r#""tool_calls":[{"id":"7","name":"read_file","arguments":{"path":"a"}}]"#,
    ] {
        let json = format!(r#"{{"choices":[{{"message":{{{calls}}}}}]}}"#);
        let reply = whole(&json).unwrap();
        assert_eq!(
            reply.tool_calls,
            [call("7", "read_file", r#"{"path":"a"}"#)],
            "{calls}"
        );
    }
    let old = r#"{"choices":[{"message":{"function_call":{"name":"list_dir","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    assert_eq!(whole(old).unwrap().tool_calls[0].name, "list_dir");
}

#[test]
fn an_answer_that_the_server_gave_up_is_cut_off() {
    for (reason, fault) in [
        ("abort", Fault::Cut),
        ("cancelled", Fault::Cut),
        ("error", Fault::Busy),
    ] {
        let json = format!(
            r#"{{"choices":[{{"delta":{{"content":"Half"}},"finish_reason":"{reason}"}}]}}"#
        );
        assert_eq!(stream(&[&json]).unwrap_err().fault, fault);
    }
    let unfinished = r#"{"choices":[{"delta":{"content":"Half"},"finish_reason":"None"}]}"#;
    assert_eq!(stream(&[unfinished]).unwrap_err().fault, Fault::Cut);
}

#[test]
fn a_whole_answer_is_read() {
    let reply = whole(
        r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":" Hi. ","reasoning_content":"greet","refusal":null,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"list_dir","arguments":"{}"}},{"id":"","type":"function","function":{"name":"read_file","arguments":{"path":"x"}}}]},
        "finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}}"#,
    )
    .unwrap();
    assert_eq!(reply.text, "Hi.");
    assert_eq!(reply.reasoning, thoughts("greet"));
    assert_eq!(
        reply.tool_calls,
        [
            call("a", "list_dir", "{}"),
            call("call_00000001_1", "read_file", r#"{"path":"x"}"#),
        ]
    );
    assert_eq!(
        reply.usage,
        Usage {
            input: 10,
            output: 5,
            cached: 4,
            ..Usage::default()
        }
    );
    assert_eq!(reply.stop, StopReason::Done);
}

#[test]
fn answers_of_many_servers_are_understood() {
    let message = |message: &str, reason: &str| {
        whole(&format!(
            r#"{{"choices":[{{"message":{message},"finish_reason":"{reason}"}}]}}"#
        ))
        .unwrap()
    };
    let reply = message(r#"{"content":"<think>hm</think>\nyes"}"#, "stop");
    assert_eq!(
        (reply.text.as_str(), reply.reasoning),
        ("yes", thoughts("hm"))
    );
    let reply = message(
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"yes"}]}"#,
        "stop",
    );
    assert_eq!(
        (reply.text.as_str(), reply.reasoning),
        ("yes", thoughts("hm"))
    );
    let reply = message(r#"{"content":null,"refusal":"No."}"#, "content_filter");
    assert_eq!(
        (reply.text.as_str(), reply.stop),
        ("No.", StopReason::Filtered)
    );
    let reply = message(r#"{"content":"half"}"#, "length");
    assert_eq!(reply.stop, StopReason::Length);
    let signed = r#"{"tool_calls":[{"id":"g","function":{"name":"list_dir","arguments":"{}"},"extra_content":{"google":{"thought_signature":"Ag=="}}}]}"#;
    let signature = message(signed, "tool_calls").tool_calls.remove(0).signature;
    assert_eq!(signature.as_deref(), Some("Ag=="));
}

#[test]
fn what_is_no_answer_is_told_apart() {
    for (json, fault) in [
        ("{}", Fault::Garbage),
        (r#"{"choices":[]}"#, Fault::Garbage),
        ("{\"choices\":", Fault::Garbage),
        (
            r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#,
            Fault::Busy,
        ),
        (
            r#"{"object":"error","message":"maximum context length is 10","code":400}"#,
            Fault::Overflow,
        ),
        (
            r#"{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#,
            Fault::Quota,
        ),
        (
            r#"{"choices":[{"message":{"content":""},"finish_reason":"error"}]}"#,
            Fault::Busy,
        ),
    ] {
        assert_eq!(whole(json).unwrap_err().fault, fault, "{json}");
    }
}

#[test]
fn what_a_server_says_in_place_of_an_answer_is_told() {
    const HALF: &str = r#"{"choices":[{"delta":{"content":"Half"}}]}"#;
    for says in [
        r#"{"detail":"The disk is full"}"#,
        r#"{"message":"The disk is full"}"#,
        r#"{"error":"The disk is full"}"#,
        r#"{"error":{"code":0,"message":"The disk is full"}}"#,
        r#"{"type":"error","message":"The disk is full"}"#,
        r#"{"success":false,"msg":"The disk is full","choices":[]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"The disk is full"}}]}"#,
    ] {
        let reasons = [
            whole(says).unwrap_err().reason,
            stream(&[says]).unwrap_err().reason,
            stream(&[says, "[DONE]"]).unwrap_err().reason,
            stream(&[HALF, says]).unwrap_err().reason,
        ];
        assert_eq!(reasons, ["The disk is full"; 4], "{says}");
    }
    let words = stream(&["ping", "The disk is full", "ping"]).unwrap_err();
    assert_eq!(words.reason, "The disk is full");
    let cut = stream(&[HALF, r#"{"detail":"The disk is full"}"#]).unwrap_err();
    assert_eq!(cut.fault, Fault::Cut);
    let page = stream(&["<html><title>Login</title></html>", "[DONE]"]).unwrap_err();
    assert_eq!(page.reason, "it sent a web page, \"Login\"");
    assert_eq!(stream(&["ping"]).unwrap_err().fault, Fault::Cut);
}

const CHUNKS: [&str; 9] = [
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"let me"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":" see"}}],"usage":null}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"I "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"löök."}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"list_dir","arguments":"{"}},{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}},{"index":1,"id":"b","function":{"name":"list_dir","arguments":"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":2}}"#,
];

#[test]
fn a_stream_is_put_together_by_index() {
    let (reply, shown) = stream(&CHUNKS).unwrap();
    assert_eq!(shown, "I löök.");
    assert_eq!(reply.text, shown);
    assert_eq!(reply.reasoning, thoughts("let me see"));
    assert_eq!(
        reply.tool_calls,
        [
            call("a", "read_file", r#"{"path":"x"}"#),
            call("b", "list_dir", "{}")
        ]
    );
    assert_eq!((reply.usage.input, reply.usage.cached), (7, 2));
}

#[test]
fn a_stream_that_stops_before_its_end_is_no_answer() {
    assert_eq!(stream(&CHUNKS[..7]).unwrap_err().fault, Fault::Cut);
    assert_eq!(stream(&[]).unwrap_err().fault, Fault::Cut);
    assert!(stream(&CHUNKS[..8]).is_ok());
    let done = [CHUNKS[2], "[DONE]"];
    assert_eq!(stream(&done).unwrap().0.text, "I");
    let broken = [
        CHUNKS[2],
        r#"{"error":{"message":"Overloaded","code":529}}"#,
    ];
    assert_eq!(stream(&broken).unwrap_err().fault, Fault::Busy);
    let html = [CHUNKS[2], "<html>"];
    assert_eq!(stream(&html).unwrap_err().fault, Fault::Garbage);
}

#[test]
fn calls_that_all_claim_to_be_the_first_are_kept_apart() {
    let piece = |id: &str, name: &str, arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"{id}","function":{{"name":"{name}","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let names = |pieces: &[String]| {
        let mut events: Vec<_> = pieces.iter().map(String::as_str).collect();
        events.push("[DONE]");
        let calls = stream(&events).unwrap().0.tool_calls.into_iter();
        calls
            .map(|call| call.name + &call.arguments)
            .collect::<Vec<_>>()
    };
    let two = ["list_dir{}", "read_file{}"];
    assert_eq!(
        names(&[piece("a", "list_dir", "{}"), piece("b", "read_file", "{}")]),
        two
    );
    assert_eq!(
        names(&[piece("", "list_dir", "{}"), piece("", "read_file", "{}")]),
        two
    );
    assert_eq!(
        names(&[piece("a", "list_dir", "{"), piece("a", "list_dir", "}")]),
        two[..1]
    );
    assert_eq!(
        names(&[piece("a", "list_dir", "{"), piece("", "", "}")]),
        two[..1]
    );
}

#[test]
fn an_answer_without_end_is_refused() {
    let long = "x".repeat(100_000);
    for delta in [
        format!(r#""content":"{long}""#),
        format!(r#""refusal":"{long}""#),
        format!(r#""reasoning":"{long}""#),
        format!(r#""tool_calls":[{{"index":0,"function":{{"arguments":"{long}"}}}}]"#),
    ] {
        let event = format!(r#"{{"choices":[{{"delta":{{{delta}}}}}]}}"#);
        let mut events = vec![event.as_str(); 30];
        events.push("[DONE]");
        let failure = stream(&events).unwrap_err();
        assert!(
            failure.reason.contains("an answer of more than"),
            "{failure:?}"
        );
    }
    let call =
        |id| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"{id}"}}]}}}}]}}"#);
    let calls: Vec<_> = (0..20_000).map(call).collect();
    let calls: Vec<_> = calls.iter().map(String::as_str).collect();
    assert_eq!(stream(&calls).unwrap_err().fault, Fault::Garbage);
}

/// A long file that is written in one call comes in tens of thousands of pieces of a few letters.
#[test]
fn a_long_call_in_many_small_pieces_is_one_answer() {
    let piece = |arguments: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"call_1","function":{{"name":"read_file","arguments":"{arguments}"}}}}]}}}}]}}"#
        )
    };
    let (begin, middle, end) = (piece(r#"{\"path\":\""#), piece("abc"), piece(r#"\"}"#));
    let mut events = vec![middle.as_str(); 100_000];
    events[0] = &begin;
    events.extend([end.as_str(), "[DONE]"]);
    let reply = stream(&events).unwrap().0;
    assert_eq!(reply.tool_calls[0].arguments.len(), 11 + 99_999 * 3);
}

/// What reads a connection: bytes in, an answer out.
fn of_bytes(pieces: &[&[u8]]) -> (Reply, String) {
    let mut decoder = Decoder::new(&TOOLS, 1);
    let mut parser = Parser::default();
    let mut shown = String::new();
    let mut show = |text: &str| shown.push_str(text);
    let mut handle = |event: crate::net::http::sse::Event<'_>| decoder.event(event.data, &mut show);
    for piece in pieces {
        parser.push(piece, &mut handle).unwrap();
    }
    parser.finish(&mut handle).unwrap();
    let reply = decoder.finish(&mut show).unwrap();
    (reply, shown)
}

fn streamed_bytes() -> Vec<u8> {
    let thinking = [
        r#"{"choices":[{"delta":{"content":"<thi"}}]}"#,
        r#"{"choices":[{"delta":{"content":"nk>ä</think>So: <tool_call>{\"name\":"}}]}"#,
        r#"{"choices":[{"delta":{"content":"\"list_dir\"}</tool_call>"}}]}"#,
    ];
    let events = thinking
        .iter()
        .chain(&CHUNKS)
        .map(|chunk| format!("data: {chunk}\r\n\r\n"));
    (events.collect::<String>() + "data: [DONE]\n\n").into_bytes()
}

#[test]
fn every_cut_in_two_gives_the_same_answer() {
    let bytes = streamed_bytes();
    let whole = of_bytes(&[&bytes]);
    assert_eq!(whole.0.tool_calls.len(), 2);
    for cut in 0..=bytes.len() {
        assert_eq!(
            of_bytes(&[&bytes[..cut], &bytes[cut..]]),
            whole,
            "cut at {cut}"
        );
    }
}

proptest! {
    #[test]
    fn any_cuts_give_the_same_answer(mut cuts in prop::collection::vec(0_usize..2500, 0..40)) {
        let bytes = streamed_bytes();
        cuts.retain(|cut| *cut <= bytes.len());
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(of_bytes(&pieces), of_bytes(&[&bytes]));
    }

    #[test]
    fn what_is_left_of_templates_is_read_the_same_in_any_pieces(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<think>"), Just("</think>"), Just("<|channel|>"), Just("analysis"), Just("final"),
                Just("<|message|>"), Just("<|start|>assistant"), Just("<|end|>"), Just("<tool_call>"),
                Just("</tool_call>"), Just(r#"{"name":"list_dir"}"#), Just(r#"{"name":"#), Just("</s>"),
                Just("<s>"), Just("functools["), Just("]"), Just("`"), Just("```"), Just("\n"), Just("> "),
                Just("Hi. "), Just("\""), Just("é"), Just("<|im_"), Just("end|>"), Just(" to=list_dir"),
            ],
            0..14,
        ),
        cuts in prop::collection::vec(0_usize..160, 0..4),
    ) {
        let said = parts.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| said.floor_char_boundary(*cut)).collect();
        cuts.extend([0, said.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|pair| &said[pair[0]..pair[1]]).collect();
        for model in ["mine", "qwq", "gpt-oss"] {
            let whole = streamed_by(model, false, &[&said]);
            prop_assert_eq!(streamed_by(model, false, &pieces), whole, "{}", model);
        }
    }

    #[test]
    fn no_input_brings_the_decoder_down(events in prop::collection::vec(".{0,60}", 0..6)) {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let _ = stream(&events);
    }
}

#[test]
fn a_reply_that_is_nested_deeply_is_refused_on_the_smallest_stack() {
    for levels in [12, 16, 17, 40, 100_000] {
        let event = format!(
            r#"{{"choices":[{{"delta":{{"content":{}"x"{}}}}}]}}"#,
            r#"[{"thinking":"#.repeat(levels),
            "}]".repeat(levels)
        );
        let thread = std::thread::Builder::new();
        let thread = thread.stack_size(crate::base::limits::agent::CALL_STACK_BYTES);
        let read = thread.spawn(move || stream(&[&event, "[DONE]"]));
        let failure = read.unwrap().join().unwrap().err();
        let is_refused = failure.is_some_and(|failure| failure.reason.contains("nested"));
        assert_eq!(is_refused, levels > 16, "{levels}");
    }
}
