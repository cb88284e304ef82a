use proptest::prelude::*;
use serde_json::Map;

mod day;

use super::decode::Decoder;
use super::encode::encode;
use crate::base::chat::{
    Entry, EntryKind, Fault, Reasoning, ReasoningEffort, Reply, Request, StopReason, Usage,
};
use crate::config::schema::CacheTime;
use crate::models::classify::Failure;
use crate::models::quirks::Quirks;
use crate::models::table::Format;
use crate::models::wire::body::Target;
use crate::models::wire::example::{call, conversation, request};
use crate::net::http::sse::{Event, Parser};

fn encoded(request: &Request<'_>, model: &str) -> String {
    encoded_with(request, model, CacheTime::Auto)
}

fn encoded_with(request: &Request<'_>, model: &str, cache: CacheTime) -> String {
    let target = Target {
        model,
        provider: "anthropic",
        quirks: Quirks {
            cache,
            ..Quirks::of_name("anthropic", Format::Anthropic, model)
        },
        extra_body: &Map::new(),
    };
    String::from_utf8(encode(request, &target).unwrap()).unwrap()
}

fn signed() -> Vec<Reasoning> {
    vec![
        Reasoning::Signed {
            text: "hm".to_owned(),
            signature: "c2ln".to_owned(),
        },
        Reasoning::Redacted("c2VjcmV0".to_owned()),
        Reasoning::Text("of another provider".to_owned()),
    ]
}

#[test]
fn a_conversation_is_written_as_anthropic_reads_it() {
    let entries = conversation(signed());
    let expected = concat!(
        r#"{"model":"claude-opus-4-5","max_tokens":100,"#,
        r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"hello"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Hello!","cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"user","content":[{"type":"text","text":"[facts]"},{"type":"text","text":"what is \"cat.png\"?"}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},"#,
        r#"{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"text","text":"I look."},"#,
        r#"{"type":"tool_use","id":"call_1","name":"read_file","input":{"path":"cat.png"}},"#,
        r#"{"type":"tool_use","id":"call_2","name":"list_dir","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"an image"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},"#,
        r#"{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"(no output)"}]},"#,
        r#"{"type":"text","text":"quickly","cache_control":{"type":"ephemeral"}}]}],"#,
        r#""tools":[{"name":"read_file","description":"Reads a file.","#,
        r#""input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},"#,
        r#"{"name":"list_dir","description":"Lists a folder.","input_schema":{"type":"object","properties":{}},"#,
        r#""cache_control":{"type":"ephemeral","ttl":"1h"}}],"temperature":0.5,"stream":true}"#,
    );
    assert_eq!(encoded(&request(&entries), "claude-opus-4-5"), expected);
}

/// The texts of the marked blocks of messages, of a conversation in which turn after turn has that many
/// calls; the last one is running, and has got that many replies.
fn marked(turns: &[usize], replies: usize) -> Vec<String> {
    let mut entries = Vec::new();
    let mut stable = 0;
    for (turn, calls) in turns.iter().enumerate() {
        let is_running = turn + 1 == turns.len();
        if is_running {
            stable = entries.len();
            entries.push(Entry::new(EntryKind::Note, "facts"));
        }
        entries.push(Entry::new(EntryKind::Person, format!("question {turn}")));
        for number in 0..if is_running { replies } else { *calls } {
            let id = format!("{turn}-{number}");
            entries.push(Entry {
                tool_calls: vec![call(&id, "list_dir", "{}")],
                ..Entry::new(EntryKind::Assistant, "")
            });
            entries.push(Entry {
                tool_call_id: Some(id.clone()),
                ..Entry::new(EntryKind::Tool, format!("result {id}"))
            });
        }
        if !is_running {
            entries.push(Entry::new(EntryKind::Assistant, format!("answer {turn}")));
        }
    }
    let asked = Request {
        stable,
        ..request(&entries)
    };
    let body: serde_json::Value =
        crate::base::json::from_str(&encoded(&asked, "claude-opus-4-5")).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
    let marked = blocks.filter(|block| block.get("cache_control").is_some());
    let text = |block: &serde_json::Value| {
        let inner = &block["content"][0]["text"];
        let text = block["text"].as_str().or(inner.as_str());
        text.unwrap_or_default().to_owned()
    };
    marked.map(text).collect()
}

#[test]
fn the_cache_is_marked_where_a_later_request_can_read_it() {
    assert_eq!(marked(&[0], 0), ["question 0"]);
    assert_eq!(marked(&[0], 2), ["result 0-1"]);
    assert_eq!(marked(&[1, 0], 0), ["answer 0", "question 1"]);
    assert_eq!(marked(&[1, 0], 3), ["answer 0", "result 1-2"]);
    // The mark before a long turn is repeated once, because it is out of reach.
    assert_eq!(marked(&[1, 9, 0], 0), ["answer 0", "answer 1"]);
    assert_eq!(marked(&[1, 9, 0], 1), ["answer 1", "result 2-0"]);
    assert_eq!(marked(&[9, 0], 0), ["answer 0"]);
}

#[test]
fn thinking_is_asked_for_in_the_way_of_the_models_age() {
    let entries = [Entry::new(EntryKind::Person, "hi")];
    let wanted = Request {
        reasoning_effort: Some(ReasoningEffort::Medium),
        tools: &[],
        stream: false,
        ..request(&entries)
    };
    let old = encoded(&wanted, "claude-sonnet-4-5");
    assert!(old.contains(r#""max_tokens":4196"#), "{old}");
    assert!(
        old.ends_with(r#"],"thinking":{"type":"enabled","budget_tokens":4096}}"#),
        "{old}"
    );
    let new = encoded(&wanted, "claude-sonnet-5");
    assert!(new.contains(r#""max_tokens":100"#));
    assert!(
        new.ends_with(r#"],"thinking":{"type":"adaptive"},"output_config":{"effort":"medium"}}"#),
        "{new}"
    );
    let plain = Request {
        reasoning_effort: None,
        temperature: Some(1.5),
        ..wanted
    };
    assert!(encoded(&plain, "claude-sonnet-4-5").ends_with(r#"],"temperature":1.0}"#));
    assert!(encoded(&plain, "claude-opus-4-7").ends_with("}]}]}"));
    let off = Request {
        reasoning_effort: Some(ReasoningEffort::Off),
        ..plain
    };
    assert!(encoded(&off, "claude-sonnet-4-5").ends_with(r#"],"temperature":1.0}"#));
    assert!(encoded(&off, "claude-sonnet-5").ends_with(r#"],"thinking":{"type":"disabled"}}"#));
    let least = r#""output_config":{"effort":"low"}}"#;
    assert!(encoded(&off, "claude-fable-5").ends_with(least));
}

/// With a budget, the API refuses a turn that begins without thinking and goes on with it.
#[test]
fn a_turn_resumed_without_its_thinking_goes_on_without_unless_it_is_adaptive() {
    let wanted_of = |model: &str, entries: &[Entry]| {
        let request = Request {
            reasoning_effort: Some(ReasoningEffort::Low),
            ..request(entries)
        };
        encoded(&request, model).contains(r#""thinking":{"#)
    };
    let wanted = |entries: &[Entry]| wanted_of("claude-opus-4-5", entries);
    assert!(wanted(&conversation(signed())));
    let mut resumed = conversation(Vec::new());
    assert!(!wanted(&resumed));
    assert!(wanted_of("claude-sonnet-5-5", &resumed));
    resumed.push(Entry::new(EntryKind::Assistant, "A cat."));
    resumed.push(Entry::new(EntryKind::Person, "And now?"));
    assert!(wanted(&resumed));
}

#[test]
fn the_thinking_of_finished_turns_stays_away() {
    let mut entries = conversation(signed());
    entries.push(Entry::new(EntryKind::Assistant, "A cat."));
    entries.push(Entry::new(EntryKind::Person, "And now?"));
    assert!(!encoded(&request(&entries), "claude-opus-4-5").contains("c2ln"));
}

fn whole(json: &str) -> Result<Reply, Failure> {
    Decoder::new(1).whole(json)
}

fn stream(events: &[&str]) -> Result<(Reply, String), Failure> {
    let mut decoder = Decoder::new(1);
    let mut shown = String::new();
    for event in events {
        decoder.event(event, &mut |text| shown.push_str(text))?;
    }
    let reply = decoder.finish(&mut |text| shown.push_str(text))?;
    Ok((reply, shown))
}

#[test]
fn a_whole_answer_is_read() {
    let reply = whole(
        r#"{"id":"m","type":"message","role":"assistant","content":[
        {"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},
        {"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"read_file","input":{"path":"x"}}],
        "stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,
        "cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3},"output_tokens":7}}"#,
    )
    .unwrap();
    assert_eq!(reply.text, "I look.");
    assert_eq!(
        reply.tool_calls,
        [call("a", "read_file", r#"{"path":"x"}"#)]
    );
    assert_eq!(reply.reasoning[..1], signed()[..1]);
    assert_eq!(reply.reasoning[1], Reasoning::Redacted("x".to_owned()));
    assert_eq!(
        reply.usage,
        Usage {
            input: 100,
            output: 7,
            cached: 90,
            written: 5,
            written_for_hour: 3,
            ..Usage::default()
        }
    );
}

#[test]
fn thinking_alone_is_the_answer() {
    let reply = whole(
        r#"{"type":"message","content":[{"type":"thinking","thinking":"Hello.","signature":"c2ln"}],"stop_reason":"end_turn"}"#,
    )
    .unwrap();
    assert_eq!((reply.text.as_str(), reply.reasoning.len()), ("Hello.", 0));
    let cut = whole(
        r#"{"type":"message","content":[{"type":"thinking","thinking":"Hell"}],"stop_reason":"max_tokens"}"#,
    )
    .unwrap();
    assert_eq!(cut.text, "");
}

#[test]
fn thinking_that_is_the_answer_is_shown() {
    let (reply, shown) = stream(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":" Hel"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"lo. "}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ])
    .unwrap();
    assert_eq!((reply.text.as_str(), shown.as_str()), ("Hello.", "Hello."));
}

#[test]
fn the_reasons_to_stop_and_the_errors_are_told_apart() {
    let stop = |reason: &str| {
        whole(&format!(
            r#"{{"type":"message","content":[],"stop_reason":"{reason}"}}"#
        ))
        .unwrap()
        .stop
    };
    assert_eq!(stop("end_turn"), StopReason::Done);
    assert_eq!(stop("pause_turn"), StopReason::Done);
    assert_eq!(stop("max_tokens"), StopReason::Length);
    assert_eq!(stop("refusal"), StopReason::Filtered);
    for (json, fault) in [
        ("{}", Fault::Garbage),
        ("{\"type\"", Fault::Garbage),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Fault::Busy,
        ),
    ] {
        assert_eq!(whole(json).unwrap_err().fault, fault, "{json}");
    }
}

const EVENTS: [&str; 16] = [
    r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_read_input_tokens":90,"output_tokens":1}}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"h"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I "}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"löök."}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"read_file","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"","name":"list_dir","input":{}}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn a_stream_is_put_together_by_index() {
    let (reply, shown) = stream(&EVENTS).unwrap();
    assert_eq!(shown, "I löök.");
    assert_eq!(reply.text, shown);
    assert_eq!(reply.reasoning, signed()[..1]);
    assert_eq!(
        reply.tool_calls,
        [
            call("a", "read_file", r#"{"path":"x"}"#),
            call("call_00000001_1", "list_dir", "{}"),
        ]
    );
    assert_eq!(
        reply.usage,
        Usage {
            input: 95,
            output: 7,
            cached: 90,
            ..Usage::default()
        }
    );
}

#[test]
fn what_other_servers_leave_out_loses_no_answer() {
    let end = [
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answer = |events: &[&str]| stream(&[events, &end].concat()).unwrap();
    // No block begins (Bedrock's Converse), or another one did.
    let thought = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#;
    let text =
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi."}}"#;
    let (reply, shown) = answer(&[thought, text]);
    assert_eq!((reply.text.as_str(), shown.as_str()), ("Hi.", "Hi."));
    assert_eq!(reply.reasoning, [Reasoning::Text("hm".to_owned())]);
    // The input is whole at once, and an empty one follows.
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"ls","input":{"path":"."}}}"#;
    let empty = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let (reply, _) = answer(&[call, empty]);
    assert_eq!(reply.tool_calls[0].arguments, r#"{"path":"."}"#);
    // A call of nothing is none.
    let nameless = call.replace(r#""ls""#, r#""""#);
    let (reply, _) = answer(&[&nameless, text]);
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("Hi.", 0));
    let odd = text.replace(
        "{\"type\"",
        &format!(
            "{{\"error\":{{\"code\":0}},\"deep\":{}{},\"type\"",
            "[".repeat(200),
            "]".repeat(200)
        ),
    );
    let (reply, _) = answer(&["ping", &odd.replace("}}", "},}")]);
    assert_eq!(reply.text, "Hi.");
    let late = r#"{"type":"error","error":{"message":"no usage"}}"#;
    assert!(stream(&[text, end[0], late]).is_ok());
    for says in [
        r#"{"detail":"The disk is full"}"#,
        r#"{"error":"The disk is full"}"#,
    ] {
        assert_eq!(whole(says).unwrap_err().reason, "The disk is full");
        assert_eq!(
            stream(&[text, says]).unwrap_err().reason,
            "The disk is full"
        );
    }
    let text = r#"{"type":"message","content":"Hi.","stop_reason":"end_turn"}"#;
    assert_eq!(whole(text).unwrap().text, "Hi.");
}

#[test]
fn a_stream_that_stops_or_fails_before_its_end_is_no_answer() {
    assert_eq!(stream(&EVENTS[..14]).unwrap_err().fault, Fault::Cut);
    assert!(stream(&EVENTS[..15]).is_ok());
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(
        stream(&[EVENTS[0], overloaded]).unwrap_err().fault,
        Fault::Busy
    );
    assert_eq!(stream(&[EVENTS[11]]).unwrap_err().fault, Fault::Garbage);
    assert_eq!(stream(&["<html>"]).unwrap_err().fault, Fault::Garbage);
}

/// What is shown is what is kept: a block of a type that is newer than this program is neither.
#[test]
fn the_text_of_an_unknown_block_is_neither_shown_nor_kept() {
    let events = [
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"novel","text":"a"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}"#,
        EVENTS[14],
    ];
    let (reply, shown) = stream(&events).unwrap();
    assert_eq!((reply.text.as_str(), shown.as_str()), ("", ""));
}

fn of_bytes(pieces: &[&[u8]]) -> (Reply, String) {
    let mut decoder = Decoder::new(1);
    let mut parser = Parser::default();
    let mut shown = String::new();
    let mut handle = |event: Event<'_>| decoder.event(event.data, &mut |text| shown.push_str(text));
    for piece in pieces {
        parser.push(piece, &mut handle).unwrap();
    }
    parser.finish(&mut handle).unwrap();
    let reply = decoder.finish(&mut |text| shown.push_str(text)).unwrap();
    (reply, shown)
}

fn streamed_bytes() -> Vec<u8> {
    let events = EVENTS
        .iter()
        .map(|event| format!("event: x\ndata: {event}\n\n"));
    events.collect::<String>().into_bytes()
}

#[test]
fn every_cut_in_two_gives_the_same_answer() {
    let bytes = streamed_bytes();
    let whole = of_bytes(&[&bytes]);
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
    fn no_input_brings_the_decoder_down(events in prop::collection::vec(".{0,60}", 0..6)) {
        let events: Vec<_> = events.iter().map(String::as_str).collect();
        let _ = stream(&events);
    }
}

#[test]
fn halves_of_an_emoji_in_two_pieces_are_one() {
    let delta = |kind: &str, member: &str, piece: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{member}":"{piece}"}}}}"#
        )
    };
    for (pieces, expected) in [
        ([r"a\ud83d", r"\ude00b"], "a😀b"),
        ([r"a\ud83d", "b"], "a\u{fffd}b"),
        (["a", r"b\ud83d"], "ab\u{fffd}"),
    ] {
        let [first, second] = pieces.map(|piece| delta("text_delta", "text", piece));
        let (reply, shown) = stream(&[&first, &second, r#"{"type":"message_stop"}"#]).unwrap();
        assert_eq!(reply.text, expected);
        assert!(expected.starts_with(&shown) && shown.len() > 1, "{shown}");
    }
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"ls","input":{}}}"#;
    let [first, second] = [r#"{\"a\":\"\ud83d"#, r#"\ude00\"}"#]
        .map(|piece| delta("input_json_delta", "partial_json", piece));
    let (reply, _) = stream(&[start, &first, &second, r#"{"type":"message_stop"}"#]).unwrap();
    assert_eq!(reply.tool_calls[0].arguments, r#"{"a":"😀"}"#);
}
