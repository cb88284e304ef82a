//! What happens with a good, a broken and a missing configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, say};
use crate::harness::program::{Output, Program};

fn check(home: &Home) -> Output {
    Program::new(home).args(["config", "check"]).run()
}

#[test]
fn a_comma_too_many_is_named_by_line_and_column() {
    let home = Home::new();
    home.write_config("{\n  \"log\": {\"level\": \"info\"},\n}\n");
    let output = check(&home).ends_with(78);
    output.complains_of(&["config.json:3:1:", "Remove the last comma on line 2"]);
    // Whatever needs the configuration stops there.
    Program::new(&home)
        .args(["agent", "-m", "hi"])
        .run()
        .ends_with(78)
        .complains_of(&["config.json:3:1:"]);
}

#[test]
fn a_comment_is_called_a_comment() {
    let home = Home::new();
    home.write_config("{\n  \"log\": {},\n  // the bot\n  \"channels\": {}\n}\n");
    check(&home)
        .ends_with(78)
        .complains_of(&["config.json:3:3: JSON has no comments. Remove the // on line 3"]);
}

#[test]
fn the_status_works_with_a_damaged_an_empty_and_a_missing_file() {
    let home = Home::new();
    let status = || Program::new(&home).arg("status").run().ends_with(0);
    for (text, says) in [
        ("{\"log\": ", "the file ends too early"),
        ("\0\0\0\0", ":1:1: invalid JSON"),
        (
            "{\"agents\": {\"defaults\": {\"provider\": \"nosuch\"}}}",
            "nosuch",
        ),
        ("", "config.json is empty"),
    ] {
        home.write_config(text);
        let output = status();
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains(says), "{says:?} is missing in {output:#?}");
        for row in ["version ", "sessions ", "gateway    not running"] {
            assert!(
                output.stdout.contains(row),
                "{row:?} is missing in {output:#?}"
            );
        }
    }
    fs::remove_file(home.path().join("config.json")).unwrap();
    assert!(
        status()
            .stdout
            .contains("does not exist; run `peacrab onboard`")
    );
}

#[test]
fn a_folder_of_backups_that_is_missing_is_warned_of() {
    let home = Home::new();
    Program::new(&home)
        .args(["config", "set", "backup.folder", "/no/such/folder"])
        .run()
        .ends_with(0)
        .complains_of(&["no automatic backup is made: backup.folder /no/such/folder"]);
    let doctor = Program::new(&home).arg("doctor").run();
    assert!(
        doctor.stdout.contains("/no/such/folder"),
        "{}",
        doctor.stdout
    );
}

#[test]
fn a_change_with_which_nothing_would_start_is_refused_in_the_words_of_the_check() {
    let home = Home::with_endpoint("openai", "http://127.0.0.1:9/v1");
    let file = home.path().join("config.json");
    let good = fs::read_to_string(&file).unwrap();
    let set = |key: &str, value: &str| {
        Program::new(&home)
            .args(["config", "set", key, value])
            .run()
    };
    for (key, value, says) in [
        ("agents.defaults.provider", "nosuch", "nosuch"),
        (
            "agents.defaults.timezone",
            "Mars",
            "Unknown time zone \"Mars\"",
        ),
        ("cron.tz", "Mars", "Unknown time zone \"Mars\""),
        (
            "channels.telegram.enabled",
            "true",
            "channels.telegram.token is empty",
        ),
        (
            "tools.exec.denyPatterns",
            "[\"(\"]",
            "tools.exec.denyPatterns",
        ),
        ("tools.readOnlyPaths", "/", "every key on this machine"),
        ("tls.caFile", "/no/such/file", "tls.caFile"),
        ("channels.telegram.allowFrom", "[\"Ann\"]", "not \"Ann\""),
        ("channels.telegram.allowFrom", "[\"@\"]", "not \"@\""),
        (
            "channels.telegram.proxy",
            "nonsense",
            "must look like http://host:port",
        ),
        ("log.level", "loud", "must be one of off, error"),
        ("backup.send", "true", "backup.send needs backup.passphrase"),
    ] {
        set(key, value).ends_with(78).complains_of(&[says]);
        assert_eq!(fs::read_to_string(&file).unwrap(), good, "{key}");
        // The check says the same of a file that somebody else has written.
        let mut other = Home::with_endpoint("openai", "http://127.0.0.1:9/v1");
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let value = match key.ends_with("Paths") {
            true => serde_json::json!([value]),
            false => value,
        };
        let (section, name) = key.rsplit_once('.').unwrap();
        other.set(
            &format!("/{}", section.replace('.', "/")),
            match section {
                "agents.defaults" => serde_json::json!({"model": "m", name: value}),
                _ => serde_json::json!({name: value}),
            },
        );
        // What is safe to leave out does not stop a start.
        let is_ignored = [
            "agents.defaults.timezone",
            "backup.send",
            "channels.telegram.allowFrom",
            // The channel is off.
            "channels.telegram.proxy",
            "cron.tz",
            "log.level",
        ]
        .contains(&key);
        let exit = if is_ignored { 1 } else { 78 };
        check(&other).ends_with(exit).complains_of(&[says]);
    }
    set("channels.telegram.token", "not a token").ends_with(0);
    set("channels.telegram.enabled", "true")
        .ends_with(78)
        .complains_of(&["does not look like a bot token"]);
    set("agents.defaults.provider", "openai")
        .ends_with(0)
        .complains_of(&["warning: openai has no API key. Set OPENAI_API_KEY"]);
    check(&home).ends_with(0);
    // A variable may be set for the service alone.
    set("providers.openai.apiKey", "${ONLY_FOR_THE_SERVICE}")
        .ends_with(0)
        .complains_of(&["warning: ", "ONLY_FOR_THE_SERVICE"]);
}

#[test]
fn a_setting_is_removed_and_so_is_an_unknown_one() {
    let home = Home::new();
    home.write_config("{\n  \"lgo\": 1,\n  \"agents\": {\"defaults\": {\"max_tokens\": 77}}\n}\n");
    let unset = |key: &str| Program::new(&home).args(["config", "unset", key]).run();
    unset("lgo").ends_with(0);
    let output = unset("agents.defaults.maxTokens").ends_with(0);
    assert_eq!(
        output.stdout,
        "Reset agents.defaults.maxTokens to its default (8192)\n"
    );
    let text = fs::read_to_string(home.path().join("config.json")).unwrap();
    assert_eq!(text, "{}\n", "no empty sections are left");
    let again = unset("agents.defaults.maxTokens").ends_with(0);
    assert!(again.stdout.contains("is not set in"), "{again:?}");
    unset("agents.defaults.modle")
        .ends_with(78)
        .complains_of(&["Did you mean agents.defaults.model?"]);
}

#[test]
fn a_provider_may_be_written_in_any_case() {
    let home = Home::new();
    home.write_config(&format!(
        r#"{{"agents": {{"defaults": {{"provider": "OpenAI"}}}}, "providers": {{"OpenAI": {{"apiKey": "{KEY}"}}}}}}"#
    ));
    let output = check(&home).ends_with(0);
    assert!(!output.stdout.contains("API key"), "{output:?}");
    let status = Program::new(&home).arg("status").run().ends_with(0);
    assert!(status.stdout.contains("model      openai/"), "{status:?}");
    let set = ["config", "set", "agents.defaults.provider", "ChatGPT"];
    Program::new(&home).args(set).run().ends_with(0);
}

#[test]
fn only_what_was_changed_is_shown() {
    let home = Home::new();
    let show = || {
        let show = |word: &str| {
            let words = ["config", "show", word].into_iter();
            let show = Program::new(&home).args(words.filter(|word| !word.is_empty()));
            show.run().ends_with(0).stdout
        };
        let shown = show("");
        assert_eq!(show("--changed"), shown);
        let all = show("--all");
        assert!(all.contains("limits.usdPerDay = 0  (default)"), "{all}");
        shown
    };
    assert_eq!(
        show(),
        "All settings have their defaults. `peacrab config show --all` lists them.\n"
    );
    home.write_config(
        "{\"log\": {\"level\": \"debug\", \"format\": \"text\"},\n\"channels\": {\"telegram\": {\"allowFrom\": [123456]}}}",
    );
    assert_eq!(
        show(),
        "channels.telegram.allowFrom = [\"123456\"]  (file, line 2)\nlog.level = \"debug\"  (file, line 1)\n"
    );
}

#[test]
fn a_word_finds_the_settings_that_it_is_about() {
    let home = Home::new();
    let explain = |word: &str| Program::new(&home).args(["config", "explain", word]).run();
    for words in [&["quiet hours"][..], &["quiet", "Hours"]] {
        let found = Program::new(&home)
            .args(["config", "explain"])
            .args(words)
            .run();
        assert!(
            found.ends_with(0).stdout.contains("cron.quietHours"),
            "{words:?}"
        );
    }
    let found = explain("Temperature").ends_with(0).stdout;
    for key in [
        "agents.defaults.temperature\n",
        "watch.builtIn.temperature\n",
    ] {
        assert!(found.contains(key), "{found}");
    }
    let many = explain("seconds").ends_with(0);
    assert!(!many.stdout.contains("type: "), "{many:?}");
    assert!(many.stderr.contains("says more"), "{many:?}");
    explain("xyzzy").ends_with(78);
    explain("agents.defaults.temp").ends_with(78);
}

#[test]
fn a_line_without_a_command_says_what_to_type() {
    let home = Home::new();
    for (line, said) in [
        ("what time is it", "peacrab agent 'what time is it'"),
        ("logs", "journalctl -u peacrab"),
        ("uninstall", "peacrab service uninstall"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = Program::new(&home).args(words).run().ends_with(2);
        assert!(output.stderr.contains(said), "{output:?}");
    }
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    let home = Home::new();
    home.write_config(r#"{"agents": {"defaults": {"modle": "x"}}}"#);
    let output = check(&home).ends_with(1);
    output.complains_of(&["agents.defaults.modle", "model", "config.json"]);
    assert!(output.stdout.contains("1 setting is ignored"), "{output:?}");
}

#[test]
fn a_file_with_settings_of_another_program_starts_and_says_what_is_ignored() {
    let model = Model::playing([say("Hello.")]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/contextBlockLimit", serde_json::json!(3));
    home.set(
        "/gateway",
        serde_json::json!({"host": "0.0.0.0", "port": 18790}),
    );
    home.set("/agents/defaults/temperature", serde_json::json!("warm"));
    home.set(
        "/channels/telegram",
        serde_json::json!({"token": "", "proxy": "", "allow_from": [""]}),
    );
    let output = Program::new(&home).args(["agent", "-m", "hi"]).run();
    let output = output.ends_with(0);
    assert_eq!(output.stdout, "Hello.\n");
    output.complains_of(&[
        "warning: ",
        "Unknown setting agents.defaults.contextBlockLimit",
        "Unknown setting gateway.",
        "agents.defaults.temperature must be a number from 0 to 2, or null, not \"warm\". The default is used: 0.1",
    ]);
    assert!(!output.stderr.contains("telegram"), "{output:?}");
    assert_eq!(model.requests()[0].body["temperature"], 0.1);
    let doctor = Program::new(&home).args(["doctor"]).run();
    assert!(doctor.stdout.contains("contextBlockLimit"), "{doctor:?}");
}

#[test]
fn a_key_written_in_snake_case_is_understood() {
    let home = Home::new();
    home.write_config(r#"{"agents": {"defaults": {"max_tokens": 77}}}"#);
    check(&home).ends_with(0);
    let get = Program::new(&home).args(["config", "get", "agents.defaults.maxTokens"]);
    assert_eq!(get.run().ends_with(0).stdout.trim(), "77");
}

#[test]
fn a_variable_that_is_not_set_is_named_with_its_key() {
    let home = Home::new();
    home.write_config(r#"{"providers": {"openai": {"apiKey": "${NO_SUCH_KEY}"}}}"#);
    check(&home)
        .ends_with(1)
        .complains_of(&["NO_SUCH_KEY", "providers.openai.apiKey"]);
    let set = Program::new(&home)
        .args(["config", "check"])
        .env("NO_SUCH_KEY", KEY);
    set.run().ends_with(0);
}

#[test]
fn a_wrong_type_is_named_with_its_key() {
    let home = Home::new();
    home.write_config(r#"{"agents": {"defaults": {"maxTokens": "many"}}}"#);
    check(&home)
        .ends_with(1)
        .complains_of(&["agents.defaults.maxTokens"]);
}

#[test]
fn a_variable_of_the_environment_wins_over_the_file() {
    let home = Home::new();
    home.write_config(r#"{"agents": {"defaults": {"model": "from-file"}}}"#);
    let get = || Program::new(&home).args(["config", "get", "agents.defaults.model"]);
    assert!(get().run().ends_with(0).stdout.contains("from-file"));
    let overridden = get()
        .env("PEACRAB_AGENTS__DEFAULTS__MODEL", "from-environment")
        .run();
    assert!(overridden.ends_with(0).stdout.contains("from-environment"));
}

#[test]
fn a_key_is_set_in_a_file_that_only_its_owner_reads() {
    let home = Home::new();
    let set = |key: &str, value: &str| {
        Program::new(&home)
            .args(["config", "set", key, value])
            .run()
    };
    set("agents.defaults.maxTokens", "99").ends_with(0);
    set("agents.defaults.maxTokens", "many").ends_with(78);
    set("agents.defaults.maxTokenz", "99")
        .ends_with(78)
        .complains_of(&["maxTokens"]);
    let file = home.path().join("config.json");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = fs::read_to_string(file).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["agents"]["defaults"]["maxTokens"], 99);
}

#[test]
fn an_api_key_is_never_shown() {
    let home = Home::with_endpoint("openai", "http://127.0.0.1:9/v1");
    for arguments in [
        &["config", "show"][..],
        &["config", "get", "providers"],
        &["status", "--json"],
    ] {
        let output = Program::new(&home).args(arguments).run();
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(!said.contains(KEY), "{arguments:?} shows the key: {said}");
    }
}

#[test]
fn a_missing_file_is_a_home_with_defaults() {
    check(&Home::new()).ends_with(0);
    let path = Program::new(&Home::new())
        .args(["config", "path"])
        .run()
        .ends_with(0);
    assert!(path.stdout.trim().ends_with("config.json"), "{path:?}");
}

#[test]
fn onboarding_keeps_what_it_finds() {
    let home = Home::new();
    let onboard = || {
        Program::new(&home)
            .args(["onboard", "--non-interactive"])
            .run()
            .ends_with(0)
    };
    onboard();
    check(&home).ends_with(0);
    let rules = home.workspace("AGENTS.md");
    fs::write(&rules, "mine").unwrap();
    onboard();
    assert_eq!(fs::read_to_string(rules).unwrap(), "mine");
}

#[test]
fn a_key_in_the_environment_connects_a_model_and_leaves_no_trace_in_the_file() {
    let home = Home::new();
    let with_key = |arguments: &[&str]| {
        Program::new(&home)
            .args(arguments)
            .env("ANTHROPIC_API_KEY", KEY)
            .run()
            .ends_with(0)
    };
    let onboarded = with_key(&["onboard", "--non-interactive", "--provider", "anthropic"]);
    assert!(
        onboarded.stdout.contains("Model: anthropic/"),
        "{onboarded:?}"
    );
    let file = fs::read_to_string(home.path().join("config.json")).unwrap();
    assert!(
        file.contains("anthropic") && !file.contains("API_KEY"),
        "{file}"
    );
    assert!(!file.contains(KEY), "{file}");
    // A start without the variable still shows what there is.
    let status = Program::new(&home).arg("status").run().ends_with(0);
    let row = status.stdout.lines().find(|row| row.starts_with("model "));
    let row = row.unwrap_or_default();
    assert!(
        row.contains(" anthropic/") && row.contains("set ANTHROPIC_API_KEY"),
        "{status:?}"
    );
}
