//! Calls that models write as text, as the turn gets them and as the person sees them.

use super::*;
use crate::base::json;

/// What is shown, the calls, and how the answer ended.
fn shown(model: &str, said: &str) -> (String, Vec<String>, StopReason) {
    let letters: Vec<String> = said.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    let reply = streamed_by(model, false, &letters);
    assert_eq!(streamed_by(model, false, &[said]), reply, "{said}");
    let calls = reply.tool_calls.into_iter();
    let calls = calls.map(|call| format!("{} {}", call.name, call.arguments));
    (reply.text, calls.collect(), reply.stop)
}

/// Whether arguments are none that a tool would take.
fn are_refused(call: &str) -> bool {
    let (_, arguments) = call.split_once(' ').unwrap();
    !json::loose_from_str(arguments).is_ok_and(|read| read.starts_with('{'))
}

#[test]
fn a_written_call_that_is_nearly_json_is_made() {
    let call = r#"read_file {"path":"a"}"#;
    for said in [
        r#"<tool_call>{"name": "read_file", "arguments": {"path": "a",},}</tool_call>"#,
        r#"<tool_call>{"name": "read_file", "arguments": {"path": "a"}}}</tool_call>"#,
        r#"<tool_call>{"name": "read_file", "arguments": {"path": "a"}</tool_call>"#,
        r#"<tool_call>{"name": "read_file", "arguments": {"path": "a"}"#,
        r#"<tool_call>{'name': 'read_file', 'arguments': {'path': 'a'}}</tool_call>"#,
        r#"<tool_call>{name: "read_file", arguments: {path: "a"}}</tool_call>"#,
        "<tool_call>{\"name\": \"read_file\", // why\n \"arguments\": {\"path\": \"a\"}}</tool_call>",
        "<tool_call>```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```</tool_call>",
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</function>\n</tool_call>",
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</tool_call>",
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>",
        "{'name': 'read_file', 'arguments': {'path': 'a'}}",
        "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"},}\n```",
        r#"[TOOL_CALLS]read_file[ARGS]{"path": "a",}"#,
        r#"[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}"#,
        "<|python_tag|>read_file.call(path='a',)",
        r#"<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "a",}<|call|>"#,
    ] {
        let (text, calls, stop) = shown("mine", said);
        let calls: Vec<String> = calls
            .iter()
            .map(|call| call.replace("\": \"", "\":\""))
            .collect();
        let found = (text.as_str(), calls.join("; ").replace(",}", "}"), stop);
        assert_eq!(found, ("", call.to_owned(), StopReason::Done), "{said}");
    }
    let newline =
        "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\nb\"}}</tool_call>";
    assert_eq!(
        shown("mine", newline).1,
        [r#"read_file {"path":"a\u000ab"}"#]
    );
    let number =
        r#"<tool_call>{"name": "list_dir", "arguments": {"depth": NaN, "all": True}}</tool_call>"#;
    assert_eq!(
        shown("qwen3", number).1,
        [r#"list_dir {"depth":null,"all":true}"#]
    );
}

#[test]
fn a_written_call_that_cannot_be_read_goes_back_to_the_model() {
    for (said, name) in [
        (
            "<tool_call>{'name': 'read_file', 'arguments': {'path': 'it's'}}</tool_call>",
            "read_file",
        ),
        (
            r#"<tool_call>{"name": "read_file", "arguments": {"path": "say "a" now"}}</tool_call>"#,
            "read_file",
        ),
        (
            r#"<tool_call>{"name": "read_file" "arguments": {"path": "a"}}</tool_call>"#,
            "read_file",
        ),
        (r#"<tool_call>{"path": "a"}</tool_call>"#, "call"),
        ("<tool_call>{{{}</tool_call>", "call"),
        (
            r#"<tool_call>{"name": "read_file", "arguments": {"path": "a"}} now</tool_call>"#,
            "read_file",
        ),
        (
            "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</tool_call>",
            "read_file",
        ),
        (
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</tool_call>",
            "read_file",
        ),
        ("[TOOL_CALLS]read_file[ARGS]{\"path\": a b}", "read_file"),
        ("<|python_tag|>read_file.call('a')", "read_file"),
        (
            "{\"name\": \"read_file\", \"arguments\": {\"path\": a b}}",
            "read_file",
        ),
        (
            "<|channel|>commentary to=functions.read_file<|message|>{\"path\": a b}<|call|>",
            "read_file",
        ),
    ] {
        let (text, calls, stop) = shown("mine", said);
        assert_eq!(
            (text.as_str(), calls.len(), stop),
            ("", 1, StopReason::Done),
            "{said}"
        );
        assert!(
            calls[0].starts_with(&format!("{name} ")),
            "{said}: {calls:?}"
        );
        assert!(are_refused(&calls[0]), "{said}: {calls:?}");
    }
}

#[test]
fn a_written_call_of_a_tool_that_does_not_exist_is_a_call() {
    for (model, said) in [
        (
            "qwen3",
            r#"I look.<tool_call>{"name": "launch", "arguments": {}}</tool_call>"#,
        ),
        (
            "qwen3-coder",
            "I look.<tool_call>\n<function=launch>\n</function>\n</tool_call>",
        ),
        ("qwen3-coder", "I look.<function=launch>\n</function>"),
        ("glm-4.6", "I look.<tool_call>launch\n</tool_call>"),
        (
            "glm-4.6",
            "I look.<tool_call>launch<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>",
        ),
        ("devstral", "I look.[TOOL_CALLS]launch[ARGS]{}"),
        (
            "kimi-k2",
            "I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.launch:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        ("llama-4", "I look.<|python_start|>[launch()]<|python_end|>"),
        ("gemma-4", "I look.<|tool_call>call:launch{}<tool_call|>"),
        (
            "minimax-m2",
            "<think>b</think>I look.<minimax:tool_call><invoke name=\"launch\"></invoke></minimax:tool_call>",
        ),
    ] {
        let (text, calls, _) = shown(model, said);
        assert_eq!((text.as_str(), calls.len()), ("I look.", 1), "{said}");
        assert!(calls[0].starts_with("launch {"), "{said}: {calls:?}");
    }
    for text in [
        r#"{"name": "launch", "arguments": {}}"#,
        "[launch()]",
        "The tag <tool_call> begins one.",
        "It writes [TOOL_CALLS] and then the name",
        "What <function=launch> is, I do not know.",
    ] {
        let (said, calls, _) = shown("mine", text);
        assert_eq!((said, calls.len()), (text.replace("[TOOL_CALLS]", ""), 0));
    }
}

#[test]
fn a_mark_within_an_argument_is_part_of_it() {
    let written = r#"read_file {"path":"x </tool_call> <tool_call>{} y"}"#;
    for said in [
        r#"<tool_call>{"name":"read_file","arguments":{"path":"x </tool_call> <tool_call>{} y"}}</tool_call>"#,
        "<tool_call><function=read_file><parameter=path>x </tool_call> <tool_call>{} y</parameter></function></tool_call>",
        "<tool_call>read_file<arg_key>path</arg_key><arg_value>x </tool_call> <tool_call>{} y</arg_value></tool_call>",
        "<tool_call>{'name':'read_file','arguments':{'path':'x </tool_call> <tool_call>{} y'}}</tool_call>",
    ] {
        assert_eq!(
            shown("qwen3", said),
            (String::new(), vec![written.to_owned()], StopReason::Done)
        );
    }
    let kimi = r#"<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path":"<|tool_calls_section_end|><|tool_call_begin|>"}<|tool_call_end|><|tool_calls_section_end|>"#;
    assert_eq!(
        shown("kimi-k2", kimi).1,
        [r#"read_file {"path":"<|tool_calls_section_end|><|tool_call_begin|>"}"#]
    );
    let harmony =
        r#"<|channel|>commentary to=functions.read_file<|message|>{"path":"<|end|>\"x"}<|call|>"#;
    assert_eq!(
        shown("gpt-oss", harmony).1,
        [r#"read_file {"path":"<|end|>\"x"}"#]
    );
    let thoughts = "<tool_call><function=read_file><parameter=path><think>x</think></parameter></function></tool_call>";
    assert_eq!(
        shown("qwen3", thoughts).1,
        [r#"read_file {"path":"<think>x</think>"}"#]
    );
    let fence = "```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"```\"}}\n```";
    assert_eq!(shown("mine", fence).1, [r#"read_file {"path":"```"}"#]);
}

#[test]
fn roles_and_others_words_do_not_reach_the_person() {
    for (said, text) in [
        (
            "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>",
            "Hello.",
        ),
        ("<start_of_turn>model\nHello.<end_of_turn>", "Hello."),
        (
            "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>assistant\n",
            "Hello.",
        ),
        (
            "Hello.<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>",
            "Hello.",
        ),
        (
            "<|im_start|>assistant\n<think>secret</think>Hello.",
            "Hello.",
        ),
        ("Hello.<|user|>", "Hello."),
        (
            "<|channel|>final<|message|>Hello.<|end|><|start|>user<|message|>Bye.<|end|>",
            "Hello.",
        ),
        (
            "<|think|>secret<|end|><|begin|>assistant<|content|>Hello.<|end|>",
            "Hello.",
        ),
        (
            "<|message_model|><|content_thinking|>secret<|end_message|><|message_model|><|content_text|>Hello.<|end_message|>",
            "Hello.",
        ),
        ("<SPECIAL_12>Hello.<|eom|>", "Hello."),
        (
            "<|begin_of_thought|>secret<|end_of_thought|>\n<|begin_of_solution|>Hello.<|end_of_solution|>",
            "Hello.",
        ),
        (
            "<think>secret<think>more</think>secret</think><answer>Hello.</answer>",
            "Hello.",
        ),
        (
            "<|open|>think<|sep|>secret<|close|>think<|sep|><|open|>response<|sep|>Hello.<|close|>response<|sep|><|close|>message<|sep|>",
            "Hello.",
        ),
    ] {
        assert_eq!(shown("mine", said).0, text, "{said}");
    }
    let json = r#"{"choices":[{"message":{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"secret"}]},{"type":"text","text":"Hello."}]}}]}"#;
    let reply = whole(json).unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning),
        ("Hello.", thoughts("secret"))
    );
}

#[test]
fn a_call_before_the_thoughts_have_ended_is_made() {
    let call = "<tool_call>{\"name\": \"list_dir\", \"arguments\": {}}</tool_call>";
    let (text, calls, _) = shown("qwen3", &format!("<think>I look.\n{call}"));
    assert_eq!(
        (text.as_str(), calls.as_slice()),
        ("", &["list_dir {}".to_owned()][..])
    );
    let (text, calls, _) = shown("qwen3-thinking", &format!("I look.\n{call}"));
    assert_eq!((text.as_str(), calls.len()), ("", 1));
    let (text, calls, _) = shown("qwen3", &format!("<think>Not `{call}`</think>Hello."));
    assert_eq!((text.as_str(), calls.len()), ("Hello.", 0));
}
