use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::decode::Decoder;
use super::encode::encode;
use crate::base::chat::{
    Entry, EntryKind, Fault, Reasoning, ReasoningEffort, Reply, Request, Sealed, StopReason, Usage,
};
use crate::models::classify::Failure;
use crate::models::openai::decode as chat;
use crate::models::quirks::{Effort, Quirks};
use crate::models::table::Format;
use crate::models::wire::body::Target;
use crate::models::wire::example::{TOOLS, conversation, request};

const MODEL: &str = "gpt-6.1-sol";

fn quirks() -> Quirks {
    Quirks::of_name("openai", Format::OpenAi, MODEL)
}

fn encoded(request: &Request<'_>, quirks: Quirks) -> String {
    let target = Target {
        model: MODEL,
        provider: "openai",
        quirks,
        extra_body: &Map::new(),
    };
    String::from_utf8(encode(request, &target).unwrap()).unwrap()
}

fn input(entries: &[Entry]) -> Vec<Value> {
    let body: Value = serde_json::from_str(&encoded(&request(entries), quirks())).unwrap();
    body["input"].as_array().unwrap().clone()
}

fn sealed(model: &str, place: usize, id: &str) -> Reasoning {
    let item = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "c2Vh"});
    Reasoning::Sealed(Sealed {
        model: model.to_owned(),
        place,
        item: item.to_string(),
    })
}

fn kinds(items: &[Value]) -> String {
    let kind = |item: &Value| match (&item["type"], &item["role"]) {
        (Value::String(kind), _) | (_, Value::String(kind)) => kind.clone(),
        _ => "?".to_owned(),
    };
    items.iter().map(kind).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_conversation_is_written_as_the_responses_api_reads_it() {
    let entries = conversation(Vec::new());
    let asked = Request {
        reasoning_effort: Some(ReasoningEffort::Low),
        cache_key: Some("0123"),
        ..request(&entries)
    };
    let expected = concat!(
        r#"{"model":"gpt-6.1-sol","instructions":"Be brief.","input":["#,
        r#"{"role":"user","content":"hello"},"#,
        r#"{"role":"assistant","content":"Hello!","phase":"final_answer"},"#,
        r#"{"role":"user","content":"[facts]\n\nwhat is \"cat.png\"?"},"#,
        r#"{"role":"assistant","content":"I look.","phase":"commentary"},"#,
        r#"{"type":"function_call","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"cat.png\"}"},"#,
        r#"{"type":"function_call","call_id":"call:2","name":"list_dir","arguments":"{}"},"#,
        r#"{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"an image"},"#,
        r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]},"#,
        r#"{"type":"function_call_output","call_id":"call:2","output":"(no output)"},"#,
        r#"{"role":"user","content":"quickly"}],"#,
        r#""tools":[{"type":"function","name":"read_file","description":"Reads a file.","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"strict":false},"#,
        r#"{"type":"function","name":"list_dir","description":"Lists a folder.","#,
        r#""parameters":{"type":"object","properties":{}},"strict":false}],"#,
        r#""max_output_tokens":1124,"reasoning":{"effort":"low"},"store":false,"#,
        r#""include":["reasoning.encrypted_content"],"prompt_cache_key":"0123","stream":true}"#,
    );
    assert_eq!(encoded(&asked, quirks()), expected);
    let refused = Quirks {
        sealed: false,
        cache_key: false,
        effort: Effort::Never,
        ..quirks()
    };
    let end = r#""max_output_tokens":1124,"store":false,"stream":true}"#;
    assert!(encoded(&asked, refused).ends_with(end));
}

#[test]
fn thoughts_have_no_more_room_than_the_window() {
    let entries = conversation(Vec::new());
    let bound = |thoughts_max| {
        let asked = Request {
            reasoning_effort: Some(ReasoningEffort::High),
            thoughts_max,
            ..request(&entries)
        };
        let body: Value = serde_json::from_str(&encoded(&asked, quirks())).unwrap();
        body["max_output_tokens"].as_u64().unwrap()
    };
    assert_eq!((bound(0), bound(500)), (100, 600));
    assert!(bound(u32::MAX) > 10_000);
}

#[test]
fn reasoning_goes_back_to_its_own_model_before_what_it_led_to() {
    let own = "openai/gpt-6.1-sol";
    let items = input(&conversation(vec![
        sealed(own, 0, "rs_1"),
        Reasoning::Text("a summary".to_owned()),
        sealed(own, 2, "rs_2"),
        // Nothing follows it.
        sealed(own, 3, "rs_3"),
    ]));
    let calls = "reasoning assistant function_call reasoning function_call";
    let results = "function_call_output function_call_output user";
    assert_eq!(
        kinds(&items),
        format!("user assistant user {calls} {results}")
    );
    assert_eq!(
        items[3],
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vh"})
    );
    assert_eq!(items[6]["id"], "rs_2");

    let foreign = [
        sealed("openai/gpt-6-sol", 0, "rs"),
        sealed("other/gpt-6.1-sol", 0, "rs"),
    ];
    let damaged = Reasoning::Sealed(Sealed {
        model: own.to_owned(),
        place: 0,
        item: r#"{"type":"#.to_owned(),
    });
    let signed = Reasoning::Signed {
        text: "hm".to_owned(),
        signature: "c2ln".to_owned(),
    };
    let others = foreign.into_iter().chain([damaged, signed]).collect();
    assert!(!kinds(&input(&conversation(others))).contains("reasoning"));
    // The turn is over.
    let mut entries = conversation(vec![sealed(own, 0, "rs_1")]);
    entries.push(Entry::new(EntryKind::Assistant, "A cat."));
    entries.push(Entry::new(EntryKind::Person, "thanks"));
    assert!(!kinds(&input(&entries)).contains("reasoning"));
}

#[test]
fn an_id_that_is_too_long_is_the_same_short_one_in_call_and_result() {
    let mut entries = conversation(Vec::new());
    let id = "x".repeat(65);
    entries[4].tool_calls[0].id.clone_from(&id);
    entries[5].tool_call_id = Some(id);
    let items = input(&entries);
    assert_eq!(items[4]["call_id"], items[6]["call_id"]);
    assert!(items[4]["call_id"].as_str().unwrap().len() <= 64);
}

fn decoder<'a>() -> Decoder<'a> {
    Decoder::new(chat::Decoder::new(&TOOLS, 7), ("openai", MODEL))
}

fn streamed(events: &[Value]) -> Result<(Reply, String), Failure> {
    let (mut decoder, mut shown) = (decoder(), String::new());
    for event in events {
        decoder.event(&event.to_string(), &mut |text| shown.push_str(text))?;
    }
    let reply = decoder.finish(&mut |text| shown.push_str(text))?;
    Ok((reply, shown))
}

fn usage() -> Value {
    json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 20},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 30}, "total_tokens": 150,
    })
}

fn call_item(arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file",
        "arguments": arguments, "status": "completed",
    })
}

fn reasoning_item() -> Value {
    json!({
        "type": "reasoning", "id": "rs_1", "status": null, "content": null,
        "summary": [{"type": "summary_text", "text": "I read it."}], "encrypted_content": "c2Vh\"",
    })
}

fn message_item(text: &str) -> Value {
    json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn done(output: &[Value]) -> Value {
    json!({"type": "response.completed", "response": {
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "incomplete_details": null, "output": output, "usage": usage(),
    }})
}

/// All that a reply can have, in pieces.
fn stream() -> Vec<Value> {
    let item = |kind: &str, index: u64, item: Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let delta = |kind: &str, index: u64, id: &str, delta: &str| json!({"type": format!("response.{kind}.delta"), "output_index": index, "item_id": id, "delta": delta});
    let mut begun = reasoning_item();
    begun["encrypted_content"] = json!("incomplete");
    vec![
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null, "output": []}}),
        item("added", 0, begun),
        delta("reasoning_summary_text", 0, "rs_1", "I read it."),
        item("done", 0, reasoning_item()),
        item(
            "added",
            1,
            json!({"type": "message", "id": "msg_1", "content": []}),
        ),
        json!({"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text"}}),
        delta("output_text", 1, "msg_1", "I lo"),
        delta("output_text", 1, "msg_1", "ok."),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "I look."}),
        item("done", 1, message_item("I look.")),
        json!({"type": "response.hologram.delta", "output_index": 2, "delta": "?"}),
        item("added", 2, json!({"type": "hologram", "id": "h"})),
        item("added", 3, call_item("")),
        delta("function_call_arguments", 3, "fc_1", "{\"path\":"),
        delta("function_call_arguments", 3, "fc_1", "\"a\"}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 3, "arguments": "{\"path\":\"a\"}"}),
        item("done", 3, call_item("{\"path\":\"a\"}")),
        json!({"type": "keepalive", "sequence_number": 9}),
        done(&[
            reasoning_item(),
            message_item("I look."),
            call_item("{\"path\":\"a\"}"),
        ]),
    ]
}

#[test]
fn a_stream_is_put_together() {
    let (reply, shown) = streamed(&stream()).unwrap();
    assert_eq!(
        (reply.text.as_str(), shown.as_str()),
        ("I look.", "I look.")
    );
    assert_eq!((reply.tool_calls.len(), reply.stop), (1, StopReason::Done));
    let call = &reply.tool_calls[0];
    assert_eq!(
        (call.id.as_str(), call.name.as_str()),
        ("call_1", "read_file")
    );
    assert_eq!(call.arguments, r#"{"path":"a"}"#);
    let expected = Usage {
        input: 100,
        output: 50,
        cached: 60,
        written: 20,
        ..Usage::default()
    };
    assert_eq!(reply.usage, expected);
    let sealed = Sealed {
        model: "openai/gpt-6.1-sol".to_owned(),
        place: 0,
        item: concat!(
            r#"{"type":"reasoning","id":"rs_1","summary":[{"text":"I read it.","type":"summary_text"}],"#,
            r#""encrypted_content":"c2Vh\""}"#
        )
        .to_owned(),
    };
    assert_eq!(reply.reasoning[1], Reasoning::Sealed(sealed));
}

#[test]
fn the_same_answer_comes_whole_and_without_half_of_the_events() {
    let (expected, _) = streamed(&stream()).unwrap();
    let output = [
        reasoning_item(),
        message_item("I look."),
        call_item(r#"{"path":"a"}"#),
    ];
    let same = |reply: &Reply| {
        assert_eq!(reply.text, expected.text);
        assert_eq!(reply.tool_calls, expected.tool_calls);
        assert_eq!(reply.reasoning.last(), expected.reasoning.last());
        assert_eq!(reply.usage, expected.usage);
    };
    let whole = done(&output)["response"].to_string();
    same(&decoder().whole(&whole).unwrap());
    // Only the last event.
    same(&streamed(&[done(&output)]).unwrap().0);
    for left_out in [".added", ".delta", ".done", "_item.done"] {
        let is_left_out = |event: &&Value| {
            let kind = event["type"].as_str().unwrap();
            !kind.ends_with(left_out) || left_out == ".done" && kind.contains("item")
        };
        let events: Vec<_> = stream().iter().filter(is_left_out).cloned().collect();
        let (reply, _) = streamed(&events).unwrap();
        assert_eq!(reply.text, "I look.", "{left_out}");
        assert_eq!(reply.tool_calls.len(), 1, "{left_out}");
    }
}

/// The calls of a reply, as `id name arguments`, and its text.
fn said(events: &[Value]) -> (Vec<String>, String) {
    let (reply, shown) = streamed(events).unwrap();
    assert_eq!(reply.text.trim(), shown.trim());
    let calls = reply.tool_calls.iter();
    let calls = calls.map(|call| format!("{} {} {}", call.id, call.name, call.arguments));
    (calls.collect(), reply.text)
}

/// The events of an item at a place of the output.
fn events_of(index: u64, item: &Value) -> Vec<Value> {
    let id = &item["id"];
    let mut begun = item.clone();
    begun["arguments"] = json!("");
    begun["content"] = json!([]);
    let pieces = match item["type"].as_str().unwrap() {
        "message" => vec![
            json!({"type": "response.output_text.delta", "output_index": index, "content_index": 0, "item_id": id, "delta": item["content"][0]["text"]}),
            json!({"type": "response.output_text.done", "output_index": index, "content_index": 0, "item_id": id, "text": item["content"][0]["text"]}),
        ],
        "function_call" => vec![
            json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": id, "delta": item["arguments"]}),
            json!({"type": "response.function_call_arguments.done", "output_index": index, "item_id": id, "arguments": item["arguments"]}),
        ],
        _ => Vec::new(),
    };
    let around = |kind: &str, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let mut events = vec![around("added", &begun)];
    events.extend(pieces);
    events.push(around("done", item));
    events
}

fn call_of(number: usize, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "name": "list_dir", "arguments": arguments,
    })
}

#[test]
fn a_place_in_the_output_may_be_used_again_by_another_item() {
    let items = [
        reasoning_item(),
        message_item("I look."),
        call_of(1, r#"{"path":"a"}"#),
        call_of(2, r#"{"path":"b"}"#),
    ];
    let expected = (
        vec![
            r#"call_1 list_dir {"path":"a"}"#.to_owned(),
            r#"call_2 list_dir {"path":"b"}"#.to_owned(),
        ],
        "I look.".to_owned(),
    );
    for left_out in ["nothing", ".added", ".delta", "arguments.done", "item.done"] {
        for output in [&items[..], &[]] {
            let events = items.iter().flat_map(|item| events_of(0, item));
            let kept = |event: &Value| !event["type"].as_str().unwrap().ends_with(left_out);
            let mut events: Vec<Value> = events.filter(kept).collect();
            events.push(done(output));
            assert_eq!(said(&events), expected, "{left_out} {}", output.len());
        }
    }
    // Both at once, and the calls of other items in between.
    let both = [events_of(0, &items[2]), events_of(0, &items[3])];
    let mixed = (0..4).flat_map(|at| [both[0][at].clone(), both[1][at].clone()]);
    let mut mixed: Vec<Value> = mixed.collect();
    mixed.push(done(&[]));
    assert_eq!(said(&mixed).0, expected.0);
    // Only the ids of the calls differ.
    let mut second = items[3].clone();
    second["id"] = json!("fc_1");
    let mut events = [events_of(0, &items[2]), events_of(0, &second)].concat();
    events.push(done(&[items[2].clone(), second.clone()]));
    assert_eq!(said(&events).0, expected.0);
    assert_eq!(said(&[done(&[items[2].clone(), second])]).0, expected.0);
}

#[test]
fn an_item_whose_id_differs_in_each_event_is_one_item() {
    let items = [
        reasoning_item(),
        message_item("I look."),
        call_of(1, r#"{"path":"a"}"#),
        call_of(2, r#"{"path":"a"}"#),
    ];
    let mut events: Vec<Value> = (0..4)
        .flat_map(|at| events_of(at, &items[at as usize]))
        .collect();
    events.push(done(&items));
    for (number, event) in events.iter_mut().enumerate() {
        if event.get("item_id").is_some() {
            event["item_id"] = json!(format!("x{number}"));
        }
        if event.get("item").is_some() {
            event["item"]["id"] = json!(format!("y{number}"));
        }
    }
    for item in events.last_mut().unwrap()["response"]["output"]
        .as_array_mut()
        .unwrap()
    {
        item["id"] = json!(format!("z{}", item["type"]));
    }
    let expected: Vec<String> = [1, 2]
        .map(|n| format!(r#"call_{n} list_dir {{"path":"a"}}"#))
        .into();
    assert_eq!(said(&events), (expected, "I look.".to_owned()));
    let (reply, _) = streamed(&events).unwrap();
    assert_eq!(Entry::of_reply(&reply).sealed().count(), 1);
    // The ids of calls are made up again for the end of each and for the whole.
    let made_up = (0..4).flat_map(|at| events_of(at, &items[at as usize]));
    let mut made_up: Vec<Value> = made_up.collect();
    for event in &mut made_up {
        if event["type"] == "response.output_item.done" && event["item"].get("call_id").is_some() {
            event["item"]["call_id"] = json!("made_up");
        }
    }
    let mut output = items.clone();
    output[2]["call_id"] = json!("other_1");
    output[3]["call_id"] = json!("other_2");
    made_up.push(done(&output));
    assert_eq!(said(&made_up).0.len(), 2);
}

#[test]
fn what_comes_only_at_the_end_is_part_of_the_answer() {
    let call = call_of(1, r#"{"path":"a"}"#);
    let items = [reasoning_item(), message_item("I look."), call.clone()];
    let expected = (
        vec![r#"call_1 list_dir {"path":"a"}"#.to_owned()],
        "I look.".to_owned(),
    );
    for streamed_one in &items {
        let mut events = events_of(0, streamed_one);
        events.push(done(&items));
        assert_eq!(said(&events), expected, "{}", streamed_one["type"]);
        let (reply, _) = streamed(&events).unwrap();
        let places: Vec<usize> = Entry::of_reply(&reply)
            .sealed()
            .map(|it| it.place)
            .collect();
        assert_eq!(places, [0], "{}", streamed_one["type"]);
    }
    // A second call.
    let mut events = events_of(0, &call);
    let second = call_of(2, r#"{"path":"a"}"#);
    events.push(done(&[call, second]));
    assert_eq!(said(&events).0.len(), 2);
}

#[test]
fn a_text_may_come_only_with_its_end() {
    let end = |index: u64, part: u64, text: &str| json!({"type": "response.output_text.done", "output_index": index, "content_index": part, "item_id": format!("msg_{index}"), "text": text});
    let events = [end(0, 0, "Hello "), end(0, 1, "there."), done(&[])];
    assert_eq!(said(&events).1, "Hello there.");
    let refused = json!({"type": "response.refusal.done", "output_index": 0, "content_index": 0, "refusal": "No."});
    assert_eq!(said(&[refused, done(&[])]).1, "No.");
    let again = [end(0, 0, "Hello."), done(&[message_item("Hello.")])];
    assert_eq!(said(&again).1, "Hello.");
}

#[test]
fn reasoning_without_an_id_goes_back_without_one() {
    for id in [Value::Null, json!("")] {
        let mut item = reasoning_item();
        item["id"] = id;
        let (reply, _) = streamed(&[done(&[item, call_item("{}")])]).unwrap();
        let entry = Entry::of_reply(&reply);
        let sealed = entry.sealed().next().unwrap();
        assert!(!sealed.item.contains("\"id\""), "{}", sealed.item);
        assert!(sealed.item.starts_with(r#"{"type":"reasoning","summary":"#));
    }
}

#[test]
fn reasoning_has_its_place_between_calls() {
    let second = json!({"type": "function_call", "call_id": "call_2", "name": "list_dir", "arguments": "{}"});
    let output = [call_item("{}"), reasoning_item(), second.clone()];
    let places = |reply: &Reply| -> Vec<usize> {
        let entry = Entry::of_reply(reply);
        entry.sealed().map(|sealed| sealed.place).collect()
    };
    let (reply, _) = streamed(&[done(&output)]).unwrap();
    assert_eq!(places(&reply), [1]);
    let mut another = reasoning_item();
    another["id"] = json!("rs_2");
    let output = [
        message_item("Now."),
        reasoning_item(),
        second,
        another,
        call_item("{}"),
    ];
    let (reply, _) = streamed(&[done(&output)]).unwrap();
    assert_eq!(places(&reply), [1, 2]);
}

#[test]
fn an_answer_that_ends_early_says_why() {
    let incomplete = |reason: &str| {
        json!({"type": "response.incomplete", "response": {
            "status": "incomplete", "incomplete_details": {"reason": reason}, "error": null,
            "output": [message_item("half")],
        }})
    };
    for (reason, stop) in [
        ("max_output_tokens", StopReason::Length),
        ("something new", StopReason::Length),
        ("content_filter", StopReason::Filtered),
    ] {
        let (reply, _) = streamed(&[incomplete(reason)]).unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("half", stop));
    }
    let failed = |code: &str| {
        json!({"type": "response.failed", "response": {
            "status": "failed", "error": {"code": code, "message": "no"}, "output": [],
        }})
    };
    for (event, fault) in [
        (failed("server_error"), Fault::Busy),
        (failed("rate_limit_exceeded"), Fault::Rate),
        (failed("invalid_prompt"), Fault::Filter),
        (failed("bio_policy"), Fault::Filter),
        (failed("invalid_image"), Fault::Request),
        (
            json!({"type": "error", "code": "server_error", "message": "no", "param": null}),
            Fault::Busy,
        ),
        (
            json!({"type": "error", "error": {"type": "x", "code": "context_length_exceeded", "message": "no"}}),
            Fault::Overflow,
        ),
        (
            json!({"type": "response.cancelled", "response": {"status": "cancelled"}}),
            Fault::Cut,
        ),
    ] {
        assert_eq!(
            streamed(std::slice::from_ref(&event)).unwrap_err().fault,
            fault,
            "{event}"
        );
    }
    let cut = streamed(&stream()[..8]).unwrap_err();
    assert_eq!(cut.fault, Fault::Cut);
    assert_eq!(decoder().whole("{}").unwrap_err().fault, Fault::Garbage);
    assert_eq!(
        decoder()
            .whole(r#"{"error":{"message":"busy"}}"#)
            .unwrap_err()
            .reason,
        "busy"
    );
}

#[test]
fn a_refusal_and_halves_of_an_emoji_are_text() {
    let (mut decoder, mut shown) = (decoder(), String::new());
    for data in [
        r#"{"type":"response.refusal.delta","output_index":0,"delta":"No \ud83d"}"#,
        r#"{"type":"response.refusal.delta","output_index":0,"delta":"\ude00."}"#,
        r#"{"type":"response.completed","response":{"status":"completed"}}"#,
    ] {
        decoder
            .event(data, &mut |text| shown.push_str(text))
            .unwrap();
    }
    assert_eq!(decoder.finish(&mut |_| {}).unwrap().text, "No 😀.");
    assert_eq!(shown, "No 😀.");
}

#[test]
fn a_server_of_ones_own_may_write_its_calls() {
    let server = chat::Server {
        model: "qwen3",
        has_called: &AtomicBool::new(false),
    };
    let chat = chat::Decoder::new(&TOOLS, 7).of_server(server);
    let written = r#"<tool_call>{"name":"read_file","arguments":{"path":"a"}}</tool_call>"#;
    let answer = done(&[message_item(written)])["response"].to_string();
    let reply = Decoder::new(chat, ("house", "qwen3"))
        .whole(&answer)
        .unwrap();
    assert_eq!((reply.tool_calls.len(), reply.text.as_str()), (1, ""));
}

#[test]
fn an_answer_without_end_is_refused() {
    for event in [
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": "x".repeat(100_000)}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "x".repeat(100_000)}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "x".repeat(100_000)}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": {
            "type": "reasoning", "encrypted_content": "x".repeat(100_000)}}),
    ] {
        let mut decoder = decoder();
        let data = event.to_string();
        let failure = (0..100).find_map(|_| decoder.event(&data, &mut |_| {}).err());
        assert_eq!(
            failure.map(|failure| failure.fault),
            Some(Fault::Garbage),
            "{}",
            event["type"]
        );
    }
    // Items of nothing.
    let mut decoder = decoder();
    let failure = (0..1_000_000).find_map(|index| {
        let data = format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{}}}}"#
        );
        decoder.event(&data, &mut |_| {}).err()
    });
    assert!(failure.is_some());
}

proptest! {
    #[test]
    fn no_input_brings_the_decoder_down(
        kinds in proptest::collection::vec((0usize..9, 0u64..3, "[a-z{}\\\\\"]{0,12}"), 0..12),
        raw in ".{0,60}",
    ) {
        let mut decoder = decoder();
        let _ = decoder.event(&raw, &mut |_| {});
        for (kind, index, text) in kinds {
            let kind = [
                "output_item.added", "output_item.done", "output_text.delta", "refusal.delta",
                "function_call_arguments.delta", "function_call_arguments.done",
                "reasoning_text.delta", "completed", "failed",
            ][kind];
            let odd = json!([text, {"type": text, "content": text, "output": [text]}]);
            let event = json!({
                "type": format!("response.{kind}"), "output_index": index, "delta": text,
                "arguments": odd, "item": {"type": "message", "content": odd, "summary": text},
                "response": {"status": text, "output": odd, "usage": text, "error": odd},
            });
            let _ = decoder.event(&event.to_string(), &mut |_| {});
        }
        let _ = decoder.finish(&mut |_| {});
    }
}
