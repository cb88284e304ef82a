use super::*;
use proptest::prelude::*;

static TOOLS: [ToolSpec; 1] = [ToolSpec::fixed("ls", "", "{}")];

fn part_of(model: &str, pieces: &[&str]) -> (String, Vec<String>) {
    let mut filter = Filter::new(&TOOLS, Some(model));
    let mut text: String = pieces.iter().map(|piece| filter.push(piece)).collect();
    let rest = filter.finish(false, false);
    text += &rest.text;
    let calls = rest
        .calls
        .into_iter()
        .map(|call| call.name + &call.arguments);
    let cut = rest.is_cut.then(|| "cut off".to_owned());
    (text, calls.chain(cut).collect())
}

#[test]
fn every_mark_that_counts_anywhere_begins_with_what_is_searched() {
    for template in Filter::new(&TOOLS, Some("mine")).templates {
        let is_found = template.open.starts_with(MARK_BEGINS);
        assert!(template.is_whole || is_found, "{template:?}");
    }
}

/// Reads answers; the text is all of it where it is `*`.
fn check(answers: &[(String, &str, usize)]) {
    for (answer, text, calls) in answers {
        let text = if *text == "*" { answer } else { *text };
        let (found_text, found_calls) = part_of("mine", &[answer]);
        assert_eq!(
            (found_text.as_str(), found_calls.len()),
            (text, *calls),
            "{answer}"
        );
    }
}

#[test]
fn a_call_counts_at_the_end_of_an_answer_and_is_a_quotation_elsewhere() {
    let call = r#"<tool_call>{"name":"ls","arguments":{}}</tool_call>"#;
    let fence = "```json\n{\"name\":\"ls\"}\n```";
    check(&[
        ("plain `code` <b>".to_owned(), "plain `code` <b>", 0),
        (call.to_owned(), "", 1),
        (format!("I look. {call}"), "I look. ", 1),
        (
            format!("I look.\n{call}\n{call}<|im_end|>\n"),
            "I look.\n",
            2,
        ),
        (format!("{call}<tool_call>{{\"name\":\"ls\"}}"), "", 2),
        (format!("I look. {call} So."), "*", 0),
        (format!("{call} is how it calls."), "*", 0),
        (format!("`{call}`"), "*", 0),
        (format!("```\n{call}\n```"), "*", 0),
        (format!("The page says:\n > {call}"), "*", 0),
        (format!("> So:\n> {call}\n> {call}"), "*", 0),
        (format!("> So.\n{call}"), "> So.\n", 1),
        (format!("{call} and {call}"), &*format!("{call} and "), 1),
        (fence.to_owned(), "", 1),
        (format!("\n{fence}\n"), "\n", 1),
        (format!("See:\n{fence}"), "*", 0),
        (format!("{fence}\nDone."), "*", 0),
        ("```json\n{\"a\":1}\n```".to_owned(), "*", 0),
        ("```rust\nfn main() {}\n```".to_owned(), "*", 0),
        (r#"{"name":"ls","parameters":{}}"#.to_owned(), "", 1),
        (r#"{"name":"Ada","age":36}"#.to_owned(), "*", 0),
        (r#"So: {"name":"ls"}"#.to_owned(), "*", 0),
        ("a <tool_call> tag".to_owned(), "*", 0),
        (
            "<tool_call>{\"name\":\"launch\"}</tool_call>".to_owned(),
            "",
            1,
        ),
        ("[ls](a.md) is a link".to_owned(), "*", 0),
        ("a < b".to_owned(), "*", 0),
        (String::new(), "", 0),
    ]);
}

#[test]
fn a_call_in_code_or_in_a_quotation_of_any_markup_is_none() {
    let call = r#"<tool_call>{"name":"ls","arguments":{}}</tool_call>"#;
    check(&[
        (format!("So:\n\n    {call}"), "*", 0),
        (format!("So:\n\t{call}"), "*", 0),
        (format!("<pre>{call}"), "*", 0),
        (format!("The page says \"{call}"), "*", 0),
        (format!("The page says “{call}"), "*", 0),
        (format!("| a | {call}"), "*", 0),
        (format!("It is 5\" wide: {call}"), "It is 5\" wide: ", 1),
        (format!("```a```\n{call}"), "```a```\n", 1),
        (format!("<code>{call}</code>"), "*", 0),
        (format!("<blockquote>\n{call}"), "*", 0),
        (format!("- > {call}"), "*", 0),
        (format!("1. It says\n2. > {call}"), "*", 0),
        (format!("- ```\n  {call}"), "*", 0),
        (format!("~~~\n{call}\n```"), "*", 0),
        (format!("```` \n```\n{call}"), "*", 0),
    ]);
}

#[test]
fn a_call_ends_where_its_value_ends_or_the_answer() {
    let call = r#"<tool_call>{"name":"ls","arguments":{}}</tool_call>"#;
    check(&[
        ("<tool_call>launch\n</tool_call>".to_owned(), "", 1),
        ("<tool_call>{'a': 'it's'}</tool_call>".to_owned(), "", 1),
        (
            "<tool_call>{'a': 'it's'}</tool_call> is one.".to_owned(),
            "*",
            0,
        ),
        (
            "<tool_call>{'a': 'it's'}</tool_call>\n{call}".replace("{call}", call),
            "",
            2,
        ),
        (format!("<tool_call>{{\"name\":\"ls\"}}\n{call}"), "", 2),
        (format!("{call}<|observation|>"), "", 1),
        (format!("{call}<|end_of_text|>\n<|eom|>"), "", 1),
        (
            format!("{call}<|im_end|>\n<|im_start|>user\n<tool_response>ok"),
            "",
            1,
        ),
        (
            format!("{call}<|im_end|>\n<|im_start|>assistant\nDone."),
            "",
            1,
        ),
        (format!("{call}<|im_end|> is how it calls."), "*", 0),
        (
            "<|im_start|>assistant\n{\"name\":\"ls\"}".to_owned(),
            "<|im_start|>assistant\n",
            1,
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{\"a\":\"</tool_call> b\"}}</tool_call>"
                .to_owned(),
            "",
            1,
        ),
    ]);
}

#[test]
fn a_call_is_read_where_its_marks_are_wrong_or_missing() {
    let call = r#"<tool_call>{"name":"ls","arguments":{}}</tool_call>"#;
    check(&[
        ("ls\n{\"a\": 1}".to_owned(), "", 1),
        ("<|assistant|>ls\n{\"a\": 1}".to_owned(), "<|assistant|>", 1),
        ("ls[ARGS]{\"a\": 1}".to_owned(), "", 1),
        (
            "functions.ls:0<|tool_call_argument_begin|>{}".to_owned(),
            "",
            1,
        ),
        (
            format!("{call}\n<tool_response>\nok\n</tool_response>\nIt is."),
            "",
            1,
        ),
        ("<tool_call>{\"name\":\"ls\"}<tool_call>".to_owned(), "", 1),
        (format!("<tool_call>\n{call}\n</tool_call>"), "", 1),
        (
            "<invoke name=\"ls\">\n</invoke>\n</minimax:tool_call>".to_owned(),
            "",
            1,
        ),
        (
            "<｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
                .to_owned(),
            "",
            1,
        ),
        (
            "I look.\n```tool_code\nls()\n```".to_owned(),
            "I look.\n",
            1,
        ),
        ("ls\nThat is all.".to_owned(), "*", 0),
        ("[{\"name\": \"ls\", \"arguments\": {}}]".to_owned(), "", 1),
        ("[x] done".to_owned(), "*", 0),
        (
            "{'name': 'ls', 'arguments': {'a': True,}}".to_owned(),
            "",
            1,
        ),
        (
            "{\"name\": \"ls\", \"arguments\": {\"a\": b c}}".to_owned(),
            "",
            1,
        ),
    ]);
}

/// A model of each family, and how it calls.
const CALLS: &[(&str, &str)] = &[
    (
        "Qwen/Qwen3-8B",
        "<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>",
    ),
    (
        "qwen3-coder:30b",
        "<tool_call>\n<function=ls>\n</function>\n</tool_call>",
    ),
    ("qwen3-coder:30b", "<function=ls>\n</function>"),
    // The server took the beginning for its own.
    (
        "qwen3-coder:30b",
        "<function=ls>\n</function>\n</tool_call>",
    ),
    ("hermes-3-8b", "<tool_call>{\"name\":\"ls\"}</tool_call>"),
    (
        "llama3.2:3b",
        r#"<|python_tag|>{"name": "ls", "parameters": {}}"#,
    ),
    ("llama3.2:3b", r#"{"name": "ls", "parameters": {}}"#),
    ("llama3.2:3b", "[ls()]<|eot_id|>"),
    ("llama-4-scout", "[ls()]<|eot|>"),
    ("llama-4-scout", "<|python_tag|>ls.call()<|eom_id|>"),
    (
        "mistral-nemo",
        r#"[TOOL_CALLS][{"name": "ls", "arguments": {}}]</s>"#,
    ),
    ("devstral-small", "[TOOL_CALLS]ls[ARGS]{}"),
    (
        "moonshotai/Kimi-K2-Instruct",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    ("glm-4.6", "<tool_call>ls\n</tool_call>"),
    (
        "MiniMax-M2",
        "<minimax:tool_call>\n<invoke name=\"ls\">\n</invoke>\n</minimax:tool_call>",
    ),
    (
        "deepseek-v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ),
    (
        "deepseek-v3.2",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"ls\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    ("gemma3:12b", "```tool_code\nls()\n```"),
    (
        "functiongemma",
        "<start_function_call>call:ls{}<end_function_call>",
    ),
    ("gemma-4-12b", "<|tool_call>call:ls{}<tool_call|>"),
    (
        "kimi-k2",
        "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|><|im_end|>",
    ),
    (
        "granite3.3:8b",
        r#"<|tool_call|>[{"name": "ls", "arguments": {}}]"#,
    ),
    (
        "phi4-mini",
        r#"<|tool_call|>[{"name": "ls", "arguments": {}}]<|/tool_call|>"#,
    ),
    (
        "phi-4-mini",
        r#"functools[{"name": "ls", "arguments": {}}]"#,
    ),
    (
        "nvidia-nemotron-nano-9b-v2",
        r#"<TOOLCALL>[{"name": "ls", "arguments": {}}]</TOOLCALL>"#,
    ),
    (
        "nemotron-3-nano",
        "<tool_call>\n<function=ls>\n</function>\n</tool_call>",
    ),
    (
        "command-r7b",
        r#"<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "ls", "parameters": {}}]<|END_ACTION|>"#,
    ),
    ("lfm2-1.2b", "<|tool_call_start|>[ls()]<|tool_call_end|>"),
    (
        "seed-oss-36b",
        "<seed:tool_call>\n<function=ls>\n</function>\n</seed:tool_call>",
    ),
    (
        "kimi-k2",
        "<|tool_call_section_begin|><|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_section_end|>",
    ),
    (
        "kimi-k3",
        "<|open|>tools<|sep|><|open|>call tool=\"ls\" index=\"1\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
    ),
    ("glm-4-9b-chat", "ls\n{}"),
    (
        "llama-4-scout",
        "<|python_start|>[ls()]<|python_end|><|eom|>",
    ),
    ("gemma3:12b", "```tool_code\nprint(ls())\n```"),
    (
        "gemma-4-12b",
        "<|tool_call>call:ls{}<tool_call|><|tool_response>",
    ),
    ("minicpm5", "<function name=\"ls\"></function>"),
    (
        "granite-20b-functioncalling",
        "<function_call> {\"name\": \"ls\", \"arguments\": {}}",
    ),
    (
        "c4ai-command-r-plus",
        "Action: ```json\n[{\"tool_name\": \"ls\", \"parameters\": {}}]\n```",
    ),
    (
        "MiniMax-M3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"ls\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    (
        "step3",
        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"ls\">\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    ),
    (
        "deepseek-v4",
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"ls\">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    (
        "GigaChat3.5",
        "<｜GCML｜tool_calls>\n<｜GCML｜invoke name=\"ls\">\n</｜GCML｜invoke>\n</｜GCML｜tool_calls><|message_sep|>",
    ),
    (
        "GigaChat3-10B",
        "function call<|role_sep|>\n{\"name\": \"ls\", \"arguments\": {}}",
    ),
    (
        "internlm3-8b",
        "<|action_start|><|plugin|>\n{\"name\": \"ls\", \"parameters\": {}}<|action_end|>",
    ),
    ("olmo-3-7b", "<function_calls>\nls()\n</function_calls>"),
    (
        "longcat-flash",
        "<longcat_tool_call>{\"name\": \"ls\", \"arguments\": {}}</longcat_tool_call>",
    ),
    (
        "longcat-flash",
        "<longcat_tool_call>ls\n</longcat_tool_call>",
    ),
    (
        "apertus-8b",
        "<|tools_prefix|>[{\"ls\": {}}]<|tools_suffix|>",
    ),
    (
        "solar-open-100b",
        "<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>ls<|tool_call:args|>{}<|tool_call:end|><|calls|>",
    ),
    (
        "inkling",
        "<|content_invoke_tool_json|>{\"name\": \"ls\", \"args\": {}}<|end_message|>",
    ),
    (
        "dots-1",
        "<dots_function_call>\n<invoke name=\"ls\">\n</invoke>\n</dots_function_call>",
    ),
    (
        "muse-glimmer",
        "<atem:function_calls>\n<atem:invoke name=\"ls\">\n</atem:invoke>\n</atem:function_calls>",
    ),
    (
        "k2-horizon",
        "<ifm|tool_call>{\"name\": \"ls\", \"arguments\": {}}</ifm|tool_call>",
    ),
    (
        "exaone-4",
        "<tool_call>{\"name\": \"ls\", \"arguments\": {}}</tool_call>[|endofturn|]",
    ),
    (
        "ernie-4.5",
        "<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>\n",
    ),
    (
        "hunyuan-a13b",
        "<tool_calls>[{\"name\": \"ls\", \"arguments\": {}}]</tool_calls>",
    ),
    (
        "hy3",
        "<tool_calls>\n<tool_call>ls<tool_sep>\n</tool_call>\n</tool_calls>",
    ),
    (
        "MiniMax-M1",
        "<tool_calls>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_calls>",
    ),
    (
        "jamba-1.6",
        r#"<tool_calls>[{"name": "ls", "arguments": {}}]</tool_calls>"#,
    ),
];

#[test]
fn each_family_has_its_own_template() {
    for &(model, call) in CALLS {
        let found = part_of(model, &[call]);
        assert_eq!(
            found,
            (String::new(), vec!["ls{}".to_owned()]),
            "{model}: {call}"
        );
        let found = part_of("mine", &[call]);
        assert_eq!(found.1, ["ls{}"], "a model of no known family: {call}");
        let quotation = format!("{call} is how it calls.");
        assert_eq!(part_of(model, &[&quotation]), (quotation, Vec::new()));
        let other = if model.contains("kimi") || model.contains("Kimi") {
            "gpt-oss:20b"
        } else {
            "kimi-k2"
        };
        // An object or a list alone is what small models of every family write.
        let mut bare = call;
        while let Some(length) = token_length(bare) {
            bare = bare[length..].trim_start();
        }
        let is_list = bare.starts_with(['{', '[']);
        let is_read = is_list || is_bare(bare, &TOOLS) == Some(true);
        let (text, calls) = part_of(other, &[call]);
        match is_read && !call.starts_with("[TOOL_CALLS]") {
            true => assert_eq!(calls, ["ls{}"], "{other}: {call}"),
            false => assert_eq!((text.as_str(), calls.len()), (call, 0), "{other}"),
        }
    }
}

#[test]
fn text_is_let_through_as_soon_as_it_can_be_no_call() {
    let mut filter = Filter::new(&TOOLS, Some("mine"));
    assert_eq!(filter.push("Hello <to"), "Hello ");
    assert_eq!(filter.push("mato"), "<tomato");
    assert_eq!(filter.push(" <tool_call>"), " ");
    assert_eq!(filter.push("s are"), "<tool_call>s are");
    for mut filter in [Filter::new(&[], Some("mine")), Filter::new(&TOOLS, None)] {
        assert_eq!(filter.push("{\"a\""), "{\"a\"");
    }
}

#[test]
fn a_model_that_makes_calls_writes_none() {
    let mut filter = Filter::new(&TOOLS, Some("mine"));
    let call = r#"<tool_call>{"name":"ls"}</tool_call>"#;
    assert_eq!(filter.push(call), "");
    let rest = filter.finish(true, true);
    assert_eq!((rest.text.as_str(), rest.calls.len()), (call, 0));
    assert!(!rest.is_cut);
}

#[test]
fn a_long_text_behind_a_mark_is_searched_once() {
    let mut filter = Filter::new(&TOOLS, Some("mine"));
    filter.push("<tool_call>{\"name\":\"ls\",\"arguments\":{\"a\":\"");
    let piece = "</tool".repeat(4);
    for _ in 0..40_000 {
        filter.push(&piece);
    }
    filter.push("\"}}</tool_call>");
    assert_eq!(filter.finish(false, false).calls.len(), 1);
}

proptest! {
    #[test]
    fn the_cuts_between_pieces_do_not_matter_and_no_text_is_lost(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<tool_call>"), Just("</tool_call>"), Just(r#"{"name":"ls"}"#), Just("ls"),
                Just("```json"), Just("```"), Just("<function=ls>"), Just("</function>"),
                Just("é "), Just("<"), Just("[TOOL_"), Just("CALLS]"), Just("\n"), Just("<|im_"), Just("end|>"),
                Just("<｜tool▁calls▁begin｜>"), Just("["), Just("<|im_start|>assistant"), Just("    "),
                Just("\""), Just("ls\n"), Just("<parameter=x>"), Just("{'a': 'it's'}"), Just("<pre>"), Just("- > "),
            ],
            0..10,
        ),
        cut in 0_usize..120,
    ) {
        let answer = parts.concat();
        let (left, right) = answer.split_at(answer.floor_char_boundary(cut.min(answer.len())));
        let whole = part_of("mine", &[&answer]);
        prop_assert_eq!(part_of("mine", &[left, right]), whole.clone());
        prop_assert!(answer.starts_with(&whole.0));
        prop_assert!(whole.0 == answer || !whole.1.is_empty());
    }
}
