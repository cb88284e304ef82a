//! Keys and tokens that were pasted in the wrong place of the configuration: no error repeats them.

use std::fs;

use crate::harness::home::Home;
use crate::harness::program::Program;

const TOKENS: [&str; 3] = [
    "sk-canary-Zq81LmP0wXy7TtRb22",
    "7123456789:AAFcanaryQx9Zl-3kWb7",
    "canaryABCDEFGHIJKLMNOPQRSTUVWXYZabcd",
];

/// Configurations with `@` in the place of the token.
const WRONG: [&str; 16] = [
    r#"{"@": 1}"#,
    r#"{"agents": "@"}"#,
    r#"{"agents": {"defaults": {"@": 1}}}"#,
    r#"{"agents": {"defaults": {"maxTokens": "@"}}}"#,
    r#"{"agents": {"defaults": {"provider": "@"}}}"#,
    r#"{"agents": {"defaults": {"timezone": "@"}}}"#,
    r#"{"providers": {"@": "x"}}"#,
    r#"{"providers": {"openai": "@"}}"#,
    r#"{"providers": {"openai": {"@": ""}}}"#,
    r#"{"providers": {"openai": {"apiType": "@"}}}"#,
    r#"{"providers": {"openai": {"apiBase": "@"}}}"#,
    r#"{"providers": {"openai": {"extraHeaders": ["@"]}}}"#,
    r#"{"channels": {"telegram": {"groupPolicy": "@", "allowFrom": "@", "enabled": "@"}}}"#,
    r#"{"tools": {"allowedPaths": ["@"]}, "log": {"level": ["@"]}}"#,
    r#"["@"]"#,
    "{\"providers\": {\"openai\": {\n\"apiKey\": \"@\"\n\"@\": 3",
];

fn hides(home: &Home, arguments: &[&str], token: &str) {
    let output = Program::new(home).args(arguments).run();
    // What is ignored is said too.
    assert_ne!(output.stderr, "", "{arguments:?} {}", output.stdout);
    let said = output.stdout + &output.stderr;
    let part = &token[token.len() - 10..];
    assert!(
        !said.contains("canary") && !said.contains(part),
        "{arguments:?}: {said}"
    );
}

#[test]
fn no_error_of_the_configuration_repeats_a_token() {
    for token in TOKENS {
        let home = Home::new();
        for wrong in WRONG {
            fs::write(home.path().join("config.json"), wrong.replace('@', token)).unwrap();
            hides(&home, &["agent", "-m", "hello"], token);
        }
        fs::remove_file(home.path().join("config.json")).unwrap();
        for arguments in [
            &["config", "set", token, "x"][..],
            &["config", "set", &format!("providers.{token}"), "x"],
            &["config", "set", &format!("providers.openai.{token}"), "x"],
            &["config", "set", "agents.defaults.maxTokens", token],
            &["config", "set", "agents.defaults.timezone", token],
            &["config", "set", "log.level", token],
            &["config", "set", "providers.openai.apiKey", "Bearer", token],
            &["config", "get", token],
        ] {
            hides(&home, arguments, token);
        }
    }
}
