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
        (r#"{"name":"launch","arguments":{}}"#, "launch {}"),
        (r#"{"name":"launch the rocket"}"#, "launchtherocket {}"),
        (
            r#"{'name': 'read_file', 'arguments': {'path': 'a',}}"#,
            call,
        ),
        (r#"{"name":"read_file","arguments":{"path":"a"}"#, call),
        (r#"{"name":"read_file","arguments":{"path":"a"}}}"#, call),
        (
            r#"[{"read_file": {"path":"a"}}, {"list_dir": {}}]"#,
            "read_file {\"path\":\"a\"}; list_dir {}",
        ),
        (
            r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"a"}}]}"#,
            call,
        ),
        (r#"{"path":"a"}"#, ""),
        (r#"{"name":"read_file""#, "read_file {}"),
        (r#"{"name":"read_file","arguments":{"path":"a"#, ""),
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

const CALL: &str = r#"read_file {"path":"a"}"#;
const BOTH: &str = r#"read_file {"path":"a"}; list_dir {}"#;

/// Calls in each form, and how they are read.
const FORMS: &[(Form, &str, &str)] = &[
    (
        Form::Tags,
        "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
        CALL,
    ),
    (
        Form::Tags,
        r#"<function=read_file>{"path":"a"}</function>"#,
        CALL,
    ),
    (
        Form::Tags,
        r#"<invoke name="read_file">
<parameter name="path">a</parameter>
</invoke>
<invoke name="list_dir"></invoke>"#,
        BOTH,
    ),
    (
        Form::Tags,
        r#"<｜DSML｜invoke name="read_file"><｜DSML｜parameter name="path" string="true">a</｜DSML｜parameter></｜DSML｜invoke>"#,
        CALL,
    ),
    (
        Form::Tags,
        "<function=read_file><parameter=lines>7</parameter><parameter=path>7</parameter></function>",
        r#"read_file {"lines":7,"path":"7"}"#,
    ),
    (
        Form::Tags,
        "read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n",
        CALL,
    ),
    (Form::Tags, "list_dir", "list_dir {}"),
    (Form::Tags, "<function=read_file>\n<parameter=path>\na", ""),
    (Form::Tags, "<function=read_file>", "read_file {}"),
    (Form::Tags, "read_file(path='a')", CALL),
    (Form::Tags, "[read_file(path='a'), list_dir()]", BOTH),
    (
        Form::Tags,
        "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n",
        CALL,
    ),
    (
        Form::Tags,
        "{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</function>",
        CALL,
    ),
    (
        Form::Loose,
        "result = read_file(path='a')\nprint(result)",
        CALL,
    ),
    (
        Form::Tags,
        "<function=read_file><parameter=path><function=x><parameter=y>z</parameter></function></parameter></function>",
        r#"read_file {"path":"<function=x><parameter=y>z</parameter></function>"}"#,
    ),
    (Form::Bare, "read_file[ARGS]{\"path\":\"a\"}", CALL),
    (
        Form::Bare,
        "functions.read_file:0<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|>",
        CALL,
    ),
    (
        Form::Tags,
        "<function=read_file>\n<parameter=path>\na\n</function>",
        CALL,
    ),
    (
        Form::Tags,
        "<function=read_file>\n<parameter=path>\na\n</parameter>",
        CALL,
    ),
    (
        Form::Tags,
        "<function=read_file>\n<parameter=path>\na\n<parameter=lines>\n7\n</parameter>\n</function>",
        r#"read_file {"lines":7,"path":"a"}"#,
    ),
    (
        Form::Tags,
        "<function=read_file><parameter=path>a</parameter> or </function> it</parameter></function>",
        r#"read_file {"path":"a</parameter> or </function> it"}"#,
    ),
    (
        Form::Tags,
        "<function=read_file><parameter=path>a</parameter></function>\n<function=list_dir></function>",
        BOTH,
    ),
    (
        Form::Tags,
        r#"<function name="read_file"><param name="path"><![CDATA[a]]></param></function>"#,
        CALL,
    ),
    (
        Form::Tags,
        r#"]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a]<]minimax[>[</path>]<]minimax[>[</invoke>"#,
        CALL,
    ),
    (
        Form::Tags,
        r#"<|open|>call tool="read_file" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>a<|close|>argument<|sep|><|close|>call<|sep|>"#,
        CALL,
    ),
    (
        Form::Tags,
        r#"<|open|>call tool="read_file"<|sep|><|open|>json type="object"<|sep|>{"path":"a"}<|close|>json<|sep|><|close|>call<|sep|>"#,
        CALL,
    ),
    (
        Form::Tags,
        "<tool_call>read_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>\n<tool_call>list_dir<tool_sep></tool_call>",
        BOTH,
    ),
    (
        Form::Tags,
        "read_file<longcat_arg_key>path</longcat_arg_key><longcat_arg_value>a</longcat_arg_value>",
        CALL,
    ),
    (
        Form::Tags,
        "read_file\n<arg_key>path</arg_key>\n<arg_value>a",
        "",
    ),
    (Form::Tags, "read_file\n{\"path\":\"a\"}", CALL),
    (
        Form::Tags,
        "read_file\n<arg_key>lines</arg_key><arg_value>'7'",
        "",
    ),
    (Form::Bare, "read_file\n{\"path\":\"a\"}", CALL),
    (Form::Bare, "read_file\n{\"path\":\"a\"}\nIt is.", ""),
    (
        Form::Named("[TOOL_CALLS]"),
        r#"read_file{"path":"[TOOL_CALLS]list_dir{}"}"#,
        r#"read_file {"path":"[TOOL_CALLS]list_dir{}"}"#,
    ),
    (Form::Named("[TOOL_CALLS]"), "launch[ARGS]{}", "launch {}"),
    (
        Form::Named("<｜tool▁call▁begin｜>"),
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>launch\n```json\n{}\n```<｜tool▁call▁end｜>",
        "launch {}",
    ),
    (
        Form::Named("<｜tool_call_begin｜>"),
        r#"<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file"><steptml:parameter name="path">a</steptml:parameter></steptml:invoke><｜tool_call_end｜>"#,
        CALL,
    ),
    (
        Form::Named("<|tool_call:begin|>"),
        r#"<|tool_call:begin|>0<|tool_call:name|>read_file<|tool_call:args|>{"path":"a"}<|tool_call:end|>"#,
        CALL,
    ),
    (
        Form::Named("[TOOL_CALLS]"),
        r#"read_file[ARGS]{"path":"a"}[TOOL_CALLS]list_dir[ARGS]{}"#,
        BOTH,
    ),
    (
        Form::Named("[TOOL_CALLS]"),
        r#"read_file[CALL_ID]abc[ARGS]{"path":"a"}"#,
        CALL,
    ),
    (
        Form::Named("[TOOL_CALLS]"),
        r#"[{"name":"read_file","arguments":{"path":"a"}}]"#,
        CALL,
    ),
    (
        Form::Named("<|tool_call_begin|>"),
        r#"<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|><|tool_call_begin|>functions.list_dir:1<|tool_call_argument_begin|>{}<|tool_call_end|>"#,
        BOTH,
    ),
    (
        Form::Named("<｜tool▁call▁begin｜>"),
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜>",
        CALL,
    ),
    (
        Form::Named("<｜tool▁call▁begin｜>"),
        r#"<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path":"a"}<｜tool▁call▁end｜>"#,
        CALL,
    ),
    (
        Form::Named("[TOOL_CALLS]"),
        r#"read_file[ARGS]{"path":"a"} is how it is written"#,
        "",
    ),
];

#[test]
fn every_form_of_a_template_is_read() {
    for &(form, text, expected) in FORMS {
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
            r#"list_dir {"all":true,"none":null,"in":["x",[1,2]],"quote":"it's \"\n\""}"#,
        ),
        (Form::Loose, "launch(x=1)", r#"launch {"x":1}"#),
        (Form::Loose, "print(read_file(path='a'))", call),
        (Form::Loose, "result = read_file(path='a')", call),
        (
            Form::Loose,
            "print(default_api.read_file(path='a'))\nprint(list_dir())",
            both,
        ),
        (Form::Loose, "list_dir(", "list_dir {}"),
        (Form::Loose, "read_file(path='a", ""),
        (Form::Loose, "read_file('a')", ""),
        (Form::Loose, "list_dir() is how", ""),
        (Form::Loose, "list_dir](a.md)", ""),
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
