//! The harness's own gateway: a program in the background that is watched, killed and stopped.

use serde_json::Value;

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::Model;
use crate::harness::program::Program;
use crate::harness::telegram::{TOKEN, Telegram};

/// A shell in the place of the gateway.
fn shell(home: &Home, script: &str) -> Gateway {
    Gateway::of(Program::of("sh", home).args(["-c", script]))
}

#[test]
fn its_log_is_read_while_it_runs_and_it_stops_in_good_order() {
    let home = Home::new();
    let script =
        "trap 'echo bye >&2; exit 3' TERM; echo out; echo ready >&2; while :; do sleep 0.1; done";
    let mut gateway = shell(&home, script);
    gateway.wait_for_log("ready");
    assert!(gateway.is_running() && gateway.id() > 0 && gateway.log() == "ready\n");
    let output = gateway.stop().ends_with(3);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("out\n", "ready\nbye\n")
    );
}

#[test]
fn a_kill_gives_it_no_time() {
    let home = Home::new();
    let gateway = shell(&home, "trap '' TERM; echo ready >&2; exec sleep 1000");
    gateway.wait_for_log("ready");
    assert_eq!(gateway.kill().code, None);
}

#[test]
fn one_that_cannot_start_says_why() {
    let home = Home::new();
    home.write_config("{");
    let output = Gateway::start(&home).finish();
    assert!(
        output.code.is_some_and(|code| code != 0) && !output.stderr.is_empty(),
        "{output:#?}"
    );
}

#[test]
fn the_home_of_both_fakes_is_in_order() {
    for (model, telegram) in [
        (Model::playing([]), Telegram::start()),
        (Model::playing_with_tls([]), Telegram::start_with_tls()),
    ] {
        let home = Home::with_telegram(&model, &telegram);
        let checked = Program::new(&home)
            .args(["config", "check"])
            .run()
            .ends_with(0);
        assert!(!checked.stdout.contains(TOKEN) && !checked.stdout.contains(KEY));
        let text = std::fs::read_to_string(home.path().join("config.json")).unwrap();
        let config: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(config["channels"]["telegram"]["apiBase"], telegram.url());
        assert_eq!(
            config["tls"]["caFile"].is_string(),
            telegram.authority_file().is_some()
        );
    }
}
