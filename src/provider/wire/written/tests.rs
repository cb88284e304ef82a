use super::*;

static TOOLS: [ToolSpec; 2] = [
    ToolSpec::fixed(
        "read_file",
        "",
        r#"{"properties":{"path":{"type":"string"},"lines":{"type":"integer"}}}"#,
    ),
    ToolSpec::fixed("list_dir", "", "{}"),
];

fn found(text: &str, form: Form) -> String {
    let calls = read(text, form, &TOOLS).unwrap_or_default();
    let calls: Vec<_> = calls
        .iter()
        .map(|call| format!("{} {}", call.name, call.arguments))
        .collect();
    calls.join("; ")
}

#[test]
fn json_is_a_call_when_the_tool_exists() {
    let call = r#"read_file {"path":"a"}"#;
    for (text, expected) in [
        (r#"{"name":"read_file","arguments":{"path":"a"}}"#, call),
        (
            r#" {"name": "read_file", "parameters": {"path":"a"}} "#,
            call,
        ),
        (
            r#"{"name":"read_file","arguments":"{\"path\":\"a\"}"}"#,
            call,
        ),
        (r#"{"tool":"read_file","input":{"path":"a"}}"#, call),
        (r#"{"function":"read_file","args":{"path":"a"}}"#, call),
        (
            r#"{"type":"function","function":{"name":"read_file","arguments":{"path":"a"}}}"#,
            call,
        ),
        (r#"[{"name":"read_file","arguments":{"path":"a"}}]"#, call),
        (r#"{"name":"read_file"}"#, "read_file {}"),
        (
            r#"{"name":"read_file"}; {"name":"read_file"}"#,
            "read_file {}; read_file {}",
        ),
        (r#"{"name":"launch","arguments":{}}"#, ""),
        (r#"{"path":"a"}"#, ""),
        (r#"{"name":"read_file""#, ""),
        (r#"{"name":"read_file"} and more"#, ""),
        ("read the file", ""),
        ("[1, 2]", ""),
        (&r#"{"function":"#.repeat(100_000), ""),
        ("[]", ""),
        ("", ""),
    ] {
        assert_eq!(found(text, Form::Json), expected, "{text}");
    }
}

#[test]
fn every_form_of_a_template_is_read() {
    let call = r#"read_file {"path":"a"}"#;
    let both = r#"read_file {"path":"a"}; list_dir {}"#;
    for (form, text, expected) in [
        (
            Form::Tags,
            "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
            call,
        ),
        (
            Form::Tags,
            r#"<function=read_file>{"path":"a"}</function>"#,
            call,
        ),
        (
            Form::Tags,
            r#"<invoke name="read_file">
<parameter name="path">a</parameter>
</invoke>
<invoke name="list_dir"></invoke>"#,
            both,
        ),
        (
            Form::Tags,
            r#"<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="path" string="true">a</｜DSML｜parameter></｜DSML｜invoke>"#,
            call,
        ),
        (
            Form::Tags,
            "<function=read_file><parameter=lines>7</parameter><parameter=path>7</parameter></function>",
            r#"read_file {"lines":7,"path":"7"}"#,
        ),
        (
            Form::Tags,
            "read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n",
            call,
        ),
        (Form::Tags, "list_dir", "list_dir {}"),
        (Form::Tags, "<function=read_file>\n<parameter=path>\na", ""),
        (
            Form::Named("[TOOL_CALLS]"),
            r#"read_file[ARGS]{"path":"a"}[TOOL_CALLS]list_dir[ARGS]{}"#,
            both,
        ),
        (
            Form::Named("[TOOL_CALLS]"),
            r#"read_file[CALL_ID]abc[ARGS]{"path":"a"}"#,
            call,
        ),
        (
            Form::Named("[TOOL_CALLS]"),
            r#"[{"name":"read_file","arguments":{"path":"a"}}]"#,
            call,
        ),
        (
            Form::Named("<|tool_call_begin|>"),
            r#"<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_call_begin|>functions.list_dir:1<|tool_call_argument_begin|>{}<|tool_call_end|>"#,
            both,
        ),
        (
            Form::Named("<｜tool▁call▁begin｜>"),
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜>",
            call,
        ),
        (
            Form::Named("<｜tool▁call▁begin｜>"),
            r#"<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path":"a"}<｜tool▁call▁end｜>"#,
            call,
        ),
        (
            Form::Named("[TOOL_CALLS]"),
            r#"read_file[ARGS]{"path":"a"} is how it is written"#,
            "",
        ),
    ] {
        assert_eq!(found(text, form), expected, "{text}");
    }
}

#[test]
fn calls_as_in_python_and_in_gemmas_templates_are_read() {
    let call = r#"read_file {"path":"a"}"#;
    let both = r#"read_file {"path":"a"}; list_dir {}"#;
    for (form, text, expected) in [
        (Form::Loose, r#"[read_file(path="a"), list_dir()]"#, both),
        (Form::Loose, "read_file(path='a')\nlist_dir()", both),
        (Form::Loose, r#"read_file.call(path="a")"#, call),
        (Form::Loose, "call:read_file{path:<escape>a<escape>}", call),
        (
            Form::Loose,
            r#"call:read_file{path:<|"|>a<|"|>,lines:7}"#,
            r#"read_file {"path":"a","lines":7}"#,
        ),
        (
            Form::Loose,
            r#"list_dir(all=True, none=None, in=["x", (1, 2)], quote='it\'s "\n"')"#,
            r#"list_dir {"all":true, "none":null, "in":["x", [1, 2]], "quote":"it's \"\n\""}"#,
        ),
        (Form::Loose, "launch(x=1)", ""),
        (Form::Loose, "list_dir(", ""),
        (
            Form::Loose,
            &format!("list_dir({}", "[".repeat(100_000)),
            "",
        ),
    ] {
        assert_eq!(found(text, form), expected, "{text}");
    }
}

#[test]
fn llama_may_leave_out_the_sign_before_its_arguments() {
    for text in [
        r#"<function=read_file{"path":"a"}></function>"#,
        r#"<function=read_file {"path":"a"}</function>"#,
    ] {
        assert_eq!(
            found(text, Form::Tags),
            r#"read_file {"path":"a"}"#,
            "{text}"
        );
    }
}

#[test]
fn escapes_of_string_literals_are_read_as_python_reads_them() {
    for (text, expected) in [
        (r#"a\\b\u00e9\x41" rest"#, "a\\bé A".replace(' ', "")),
        (r#"caf\u00e9 \r\n\t" rest"#, "café \r\n\t".to_owned()),
        (r#"\U0001f600 \0 \' \"" rest"#, "😀 \0 ' \"".to_owned()),
        (r#"\d+ \u12 \xg" rest"#, r"\d+ \u12 \xg".to_owned()),
        (r#"\ud83d\é" rest"#, "\u{fffd}\\é".to_owned()),
    ] {
        assert_eq!(quoted(text, "\""), Some((expected, " rest")), "{text}");
    }
    for text in [r"\", r"\u", r"\x4", "a\\\u{e9}"] {
        assert_eq!(quoted(text, "\""), None, "{text}");
    }
}
