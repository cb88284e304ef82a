use super::*;
use proptest::prelude::*;

/// What stops the program.
fn problems(text: &str) -> String {
    let mut settings = Settings::new(None);
    let taken = settings.take_file(text, "f");
    settings.settle_channels();
    let verdict = taken.and_then(|()| settings.verdict());
    verdict
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

/// What is ignored.
fn ignored(text: &str) -> Vec<String> {
    let mut settings = Settings::new(None);
    settings.take_file(text, "f").unwrap();
    settings.settle_channels();
    settings.verdict().unwrap();
    settings.take_ignored()
}

#[test]
fn each_problem_has_its_line_and_what_would_be_valid() {
    assert_eq!(
        ignored("{\n\"agents\": {\"defaults\": {\n\"modle\": \"x\"}}}"),
        ["f:3: Unknown setting agents.defaults.modle. Did you mean agents.defaults.model?"]
    );
    assert_eq!(
        ignored("{\"agents\": {\"defaults\": {\"max_tokens\": \"many\"}}}"),
        [
            "f:1: agents.defaults.maxTokens must be a whole number from 1 to 1000000, not \"many\". The default is used: 8192"
        ]
    );
    assert_eq!(
        problems("{\"agents\": []}"),
        "f:1: agents must be an object { … }, not a list"
    );
    assert_eq!(
        problems("[1]"),
        "f: the configuration must be an object { … }, not a list"
    );
    assert_eq!(
        ignored("{\"log\": {\"level\": \"info\",\n\"level\": \"off\"}}"),
        ["f:2: log.level is set twice; the first time on line 1"]
    );
}

#[test]
fn what_other_programs_turn_off_by_another_name_is_off() {
    let read = |text: &str| {
        let mut settings = Settings::new(None);
        settings.take_file(text, "f").unwrap();
        settings.verdict().unwrap();
        assert_eq!(settings.take_ignored(), [""; 0], "{text}");
        Value::Object(settings.values)
    };
    for (text, path, expected) in [
        (
            r#"{"tools": {"exec": {"enable": false}}}"#,
            "/tools/exec/enabled",
            false,
        ),
        (
            r#"{"tools": {"web": {"disabled": "true"}}}"#,
            "/tools/web/enabled",
            false,
        ),
        (
            r#"{"tools": {"exec": {"disable": false}}}"#,
            "/tools/exec/enabled",
            true,
        ),
        (
            r#"{"tools": {"mcpServers": {"s": {"command": "x", "disabled": true}}}}"#,
            "/tools/mcpServers/s/enabled",
            false,
        ),
        (
            r#"{"tools": {"mcp_servers": {"s": {"command": "x", "enable": true}}}}"#,
            "/tools/mcpServers/s/enabled",
            true,
        ),
        (
            r#"{"channels": {"slack": {"enable": 0, "disabled": true}}}"#,
            "",
            false,
        ),
    ] {
        if path.is_empty() {
            assert!(
                !problems(text).is_empty() || !ignored(text).is_empty(),
                "{text}"
            );
            continue;
        }
        assert_eq!(
            read(text).pointer(path),
            Some(&Value::Bool(expected)),
            "{text}"
        );
    }
    let unknown = problems(r#"{"tools": {"restrict": false, "enabled": false}}"#);
    assert!(
        unknown.contains("Unknown setting tools.enabled"),
        "{unknown}"
    );
    assert_eq!(
        problems(r#"{"tools": {"image": {"enabled": false}, "enable": true}}"#),
        ""
    );
}

#[test]
fn an_invalid_secret_is_not_shown() {
    let text = ignored("{\"providers\": {\"x\": {\"apiKey\": [\"sk-canary\"]}}}");
    assert_eq!(
        text,
        [
            "f:1: providers.x.apiKey must be a string, ${NAME} or file:PATH, not a list. The default is used: \"\""
        ]
    );
}

#[test]
fn several_problems_are_shown_together_up_to_a_screenful() {
    let few = problems("{\"tools\": {\"restrictToWorkspace\": 1}, \"channels\": 2}");
    assert!(
        few.starts_with(
            "Found 2 problems in the configuration:\n  f:1: tools.restrictToWorkspace must be"
        ),
        "{few}"
    );
    let many: Vec<String> = (0..100).map(|number| format!("\"k{number}\": 1")).collect();
    let many = ignored(&format!("{{{}}}", many.join(",")));
    assert_eq!(many.len(), super::PROBLEMS + 1);
    assert!(many.last().unwrap().ends_with("more"), "{many:?}");
}

#[test]
fn wrong_values_stop_the_program_only_where_their_settings_guard_something() {
    for text in [
        r#"{"tools": {"exec": {"sandbox": "non"}}}"#,
        r#"{"tools": {"restrictToWorkspace": "yes"}}"#,
        r#"{"channels": {"telegram": {"enabled": true, "allowFrom": "me"}}}"#,
        r#"{"channels": {"telegram": {"enabled": true, "groupPolicy": "everyone"}}}"#,
        r#"{"channels": {"email": {"enabled": true, "requireAuthentication": "no"}}}"#,
        r#"{"channels": {"irc": {"enabled": true, "tls": "no"}}}"#,
        r#"{"channels": []}"#,
        r#"{"providers": {"x": {"apiBase": "here"}}}"#,
        r#"{"providers": {"x": {"proxy": "ftp://a"}}}"#,
        r#"{"limits": {"usdPerDay": "five"}}"#,
        r#"{"agents": {"list": [{"id": "A b"}]}}"#,
        r#"{"agents": {"bindings": [{"agent": "main", "chat": "1", "rome": 1}]}}"#,
    ] {
        assert_ne!(problems(text), "", "{text}");
    }
    for text in [
        r#"{"log": {"level": "loud"}}"#,
        r#"{"log": 1}"#,
        r#"{"agents": {"defaults": {"temperature": "warm"}}}"#,
        r#"{"agents": {"list": [{"id": "a", "modell": "x"}]}}"#,
        r#"{"agents": {"list": [{"id": "a", "maxTokens": "x"}]}}"#,
        r#"{"channels": {"telegram": {"enabled": 1}}}"#,
        r#"{"tools": {"exec": {"timeout": -1}}}"#,
        r#"{"tools": {"mcpServers": {"x": {"command": "a", "env": ["b"]}}}}"#,
        r#"{"commands": {"x": {"run": true}}}"#,
    ] {
        assert_eq!(ignored(text).len(), 1, "{text}: {:?}", ignored(text));
    }
}

#[test]
fn what_is_wrong_in_a_channel_that_is_off_stops_no_start() {
    for setting in [
        r#""groupPolicy": "allowlist""#,
        r#""proxy": "socks5://127.0.0.1:1080""#,
        r#""allowFrom": "123""#,
        r#""defaultRole": "king""#,
        r#""groupPolicy": "open", "groupPolicy": "open""#,
        r#""roles": 7"#,
    ] {
        for (switch, stops) in [
            ("", false),
            (r#", "enabled": false"#, false),
            (r#", "disabled": true"#, false),
            (r#", "enabled": true"#, true),
        ] {
            let text = format!(r#"{{"channels": {{"telegram": {{{setting}{switch}}}}}}}"#);
            let mut settings = Settings::new(None);
            settings.take_file(&text, "f").unwrap();
            settings.settle_channels();
            assert_eq!(settings.verdict().is_err(), stops, "{text}");
            assert_eq!(settings.take_ignored().len(), usize::from(!stops), "{text}");
        }
    }
    let mut settings = Settings::new(None);
    settings
        .take_file(r#"{"channels": {"telegram": 7}}"#, "f")
        .unwrap();
    settings.settle_channels();
    assert!(settings.verdict().is_ok());
}

#[test]
fn numbers_and_booleans_may_be_strings_and_the_reverse() {
    let text = r#"{"agents": {"defaults": {"maxTokens": "8192", "temperature": " 0.2 ", "memoryWindow": 50.0, "model": 7},
        "list": [{"id": 1, "default": "True", "maxTokens": "100", "skills": [1]}], "bindings": [{"agent": 1, "chat": -5}]},
        "providers": {"x": {"apiKey": 123, "timeoutSecs": "60", "images": "false", "extraHeaders": {"X-Id": 7, "X-On": true},
            "prices": {"m": {"input": "0.5", "output": 1}}}},
        "tools": {"restrictToWorkspace": "true", "mcpServers": {"x": {"command": "a", "args": ["-p", 8080, false],
            "env": {"PORT": 8080, "RATE": 1.5, "UNSET": null}, "toolTimeout": "30"},
            "y": {"command": "npx", "args": "-y 'a b' c\\ d\"e\"  \"\""}}},
        "limits": {"usdPerDay": "5"}, "channels": {"irc": {"tls": "false", "port": "6697"}}}"#;
    assert_eq!(ignored(text), [""; 0]);
    let mut settings = Settings::new(None);
    settings.take_file(text, "f").unwrap();
    for (path, expected) in [
        ("agents.defaults.maxTokens", "8192"),
        ("agents.defaults.temperature", "0.2"),
        ("agents.defaults.memoryWindow", "50"),
        ("agents.defaults.model", r#""7""#),
        (
            "agents.list",
            r#"[{"default":true,"id":"1","maxTokens":100,"skills":["1"]}]"#,
        ),
        ("agents.bindings", r#"[{"agent":"1","chat":"-5"}]"#),
        ("providers.x.apiKey", r#""123""#),
        ("providers.x.timeoutSecs", "60"),
        ("providers.x.images", "false"),
        ("providers.x.extraHeaders", r#"{"X-Id":"7","X-On":"true"}"#),
        ("providers.x.prices", r#"{"m":{"input":0.5,"output":1}}"#),
        ("tools.restrictToWorkspace", "true"),
        ("tools.mcpServers.x.args", r#"["-p","8080","false"]"#),
        ("tools.mcpServers.x.env", r#"{"PORT":"8080","RATE":"1.5"}"#),
        ("tools.mcpServers.y.args", r#"["-y","a b","c de",""]"#),
        ("tools.mcpServers.x.toolTimeout", "30"),
        ("limits.usdPerDay", "5"),
        ("channels.irc.tls", "false"),
        ("channels.irc.port", "6697"),
    ] {
        assert_eq!(settings.set[path].value.to_string(), expected, "{path}");
    }
    for doubtful in [
        r#"{"maxTokens": "8k"}"#,
        r#"{"maxTokens": 8192.5}"#,
        r#"{"maxTokens": true}"#,
        r#"{"temperature": "0,1"}"#,
        r#"{"model": true}"#,
        r#"{"model": 1.5}"#,
    ] {
        let text = format!(r#"{{"agents": {{"defaults": {doubtful}}}}}"#);
        assert_eq!(ignored(&text).len(), 1, "{doubtful}");
    }
}

#[test]
fn a_wrong_word_is_shown_with_what_would_be_right() {
    for (text, told) in [
        (
            r#"{"tools": {"exec": {"sandbox": "sometimes"}}}"#,
            r#"must be one of auto, namespaces, landlock, off, not "sometimes""#,
        ),
        (
            r#"{"tools": {"allowedPaths": ["/srv", "my documents"]}}"#,
            r#"not "my documents""#,
        ),
        (
            r#"{"channels": {"telegram": {"enabled": true, "groupPolicy": "sk-0123456789abcdef0123456789abcdef"}}}"#,
            "not this string",
        ),
    ] {
        assert!(problems(text).ends_with(told), "{}", problems(text));
    }
    let told = ignored(r#"{"agents": {"defaults": {"fallbackModels": ["a", {"model": "b"}]}}}"#);
    assert!(told[0].contains("not an object"), "{told:?}");
    let told = ignored(r#"{"cron": {"quietHours": "at night only"}}"#);
    assert!(told[0].contains(r#"not "at night only""#), "{told:?}");
}

#[test]
fn empty_strings_mean_not_set_where_they_are_no_value() {
    let text = r#"{"agents": {"defaults": {"timezone": "", "maxTokens": "", "reasoningEffort": ""},
        "list": [{"id": "a", "temperature": ""}]},
        "providers": {"x": {"proxy": "", "apiType": ""}}, "log": {"level": ""},
        "tools": {"exec": {"sandbox": ""}},
        "channels": {"telegram": {"enabled": "", "allowFrom": "", "groupPolicy": ""}}}"#;
    assert_eq!(ignored(text), [""; 0]);
    let mut settings = Settings::new(None);
    settings.take_file(text, "f").unwrap();
    assert_eq!(settings.set.keys().collect::<Vec<_>>(), ["agents.list"]);
}

#[test]
fn ids_may_be_numbers() {
    let mut settings = Settings::new(None);
    let text = "{\"channels\": {\"telegram\": {\"allowFrom\": [123456, \"@ann\", -100]}}}";
    settings.take_file(text, "f").unwrap();
    settings.verdict().unwrap();
    assert_eq!(
        settings.set["channels.telegram.allowFrom"].value,
        serde_json::json!(["123456", "@ann", "-100"])
    );
    let wrong = ignored(&text.replace("-100", "1.5, \"\"")).concat();
    assert!(wrong.contains("must be a list of ids"), "{wrong}");
    assert!(wrong.ends_with("not 1.5. It is ignored"), "{wrong}");
}

#[test]
fn null_means_the_default_unless_it_is_a_value() {
    let mut settings = Settings::new(None);
    let text =
        "{\"agents\": {\"defaults\": {\"model\": null, \"temperature\": null}}, \"tls\": null}";
    settings.take_file(text, "f").unwrap();
    settings.verdict().unwrap();
    assert_eq!(
        settings.set.keys().collect::<Vec<_>>(),
        ["agents.defaults.temperature"]
    );
}

#[test]
fn an_unknown_variable_with_our_prefix_is_ignored_and_said_and_others_are_not() {
    let mut settings = Settings::new(None);
    let variables = [
        ("PEACRAB_HOME", "/h"),
        ("OTHER__THING", "1"),
        ("PEACRAB_LOG__LEVLE", "info"),
    ];
    settings.take_environment(variables.into_iter());
    assert_eq!(
        settings.take_ignored(),
        [
            "PEACRAB_LOG__LEVLE: This environment variable matches no setting. Did you mean PEACRAB_LOG__LEVEL?"
        ]
    );
}

proptest! {
    #[test]
    fn no_object_makes_it_panic_and_each_unknown_name_is_shown(
        names in proptest::collection::btree_set("[a-z_.*]{1,12}", 1..5), deep in any::<bool>()
    ) {
        let inner = names.iter().map(|name| (name.clone(), Value::from(1))).collect();
        let mut value = Value::Object(inner);
        if deep {
            value = serde_json::json!({"providers": {"x": value}});
        }
        let shown = ignored(&value.to_string()).concat();
        for name in &names {
            prop_assert!(shown.contains(name.as_str()), "{shown}");
        }
    }
}
