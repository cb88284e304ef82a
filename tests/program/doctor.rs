//! `peacrab doctor`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::home::{Home, KEY};
use crate::harness::model::Model;
use crate::harness::program::{Output, Program};
use crate::harness::release::{KEY_VARIABLE, Release};
use crate::harness::telegram::{BOT_NAME, TOKEN, Telegram};

/// The command without the sandbox, which has a story of its own.
fn doctor(home: &mut Home) -> Program {
    home.set("/tools", json!({"exec": {"enabled": false}}));
    Program::new(home).arg("doctor")
}

/// A server that says one thing to one request.
fn server_that_says(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
            line.clear();
        }
        // The program may have hung up.
        let _ = reader.get_mut().write_all(answer.as_bytes());
    });
    url
}

/// The row of that name.
#[track_caller]
fn row<'a>(output: &'a Output, name: &str) -> &'a str {
    let is_it = |line: &&str| line.split_whitespace().nth(1) == Some(name);
    let found = output.stdout.lines().find(is_it);
    found.unwrap_or_else(|| panic!("no row {name} in {output:#?}"))
}

#[test]
fn a_working_setup_passes_every_row() {
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    let telegram = Telegram::start();
    home.set(
        "/channels",
        json!({"telegram": {"enabled": true, "token": TOKEN, "apiBase": telegram.url()}}),
    );
    let output = doctor(&mut home).run().ends_with(0);
    for name in [
        "config", "clock", "disk", "tls", "keys", "model", "telegram",
    ] {
        assert!(row(&output, name).starts_with("ok "), "{output:#?}");
    }
    assert!(row(&output, "telegram").contains(BOT_NAME));
    assert!(
        row(&output, "service").starts_with("warning "),
        "{output:#?}"
    );
    assert!(output.stdout.ends_with("\nNo errors, 1 warning.\n"));
    assert!(!output.stdout.contains(KEY) && !output.stdout.contains(TOKEN));
}

#[test]
fn the_sandbox_is_one_row() {
    let home = Home::new();
    home.write_config("{}");
    let output = Program::new(&home).args(["doctor", "--json"]).run();
    let found: Value = serde_json::from_str(&output.ends_with(0).stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let sandbox = rows.iter().find(|row| row["name"] == "sandbox").unwrap();
    assert_eq!(sandbox["state"], "ok", "{sandbox}");
    assert!(sandbox["text"].as_str().unwrap().contains("all blocked"));
    assert_eq!(found["failed"], 0);
}

#[test]
fn the_sandbox_is_tested_before_there_is_a_workspace_and_nothing_stays() {
    let home = Home::new();
    let place = tempfile::tempdir().unwrap();
    let named = place.path().join("new");
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let output = Program::new(&home)
        .args(["--home", named.to_str().unwrap(), "doctor"])
        .env("TMPDIR", temporary.to_str().unwrap())
        .run()
        .ends_with(0);
    let found = row(&output, "sandbox");
    assert!(
        found.starts_with("ok ") && found.contains("all blocked"),
        "{found}"
    );
    assert!(!named.exists() && fs::read_dir(&temporary).unwrap().next().is_none());
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(output.stdout.contains(" account "), is_root, "{output:#?}");
}

#[test]
fn a_refused_key_a_wrong_server_and_no_server_are_distinguished() {
    let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 41\r\n\r\n\
                   {\"error\": {\"message\": \"no such key here\"}}";
    let garbage = "HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>";
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let nothing = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    for (server, words) in [
        (server_that_says(refused), "rejected the API key"),
        (server_that_says(garbage), "apiBase"),
        (server_that_says("what?\r\n\r\n"), "apiBase"),
        (nothing, "refuses connections"),
    ] {
        let mut home = Home::with_endpoint("openai", &format!("{server}/v1"));
        let output = doctor(&mut home).run().ends_with(1);
        let found = row(&output, "model");
        assert!(
            found.starts_with("failed ") && found.contains(words),
            "{output:#?}"
        );
        assert!(
            output.stdout.ends_with("\n1 error, 1 warning.\n"),
            "{output:#?}"
        );
        assert!(!output.stdout.contains(KEY));
    }
}

#[test]
fn a_model_that_the_server_does_not_list_is_a_warning_with_the_nearest_name() {
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    let output = doctor(&mut home).run().ends_with(0);
    assert!(row(&output, "model").contains("offers fake-model"));
    home.set("/agents/defaults/model", json!("fake-modle"));
    let output = doctor(&mut home).run().ends_with(0);
    let found = row(&output, "model");
    assert!(
        found.starts_with("warning ") && found.ends_with("Did you mean fake-model?"),
        "{output:#?}"
    );
}

#[test]
fn an_agent_without_a_model_that_can_answer_fails() {
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    home.set(
        "/agents/list",
        json!([{"id": "work", "provider": "nope"}, {"id": "home"}]),
    );
    let output = doctor(&mut home).run().ends_with(1);
    let found = row(&output, "agents");
    assert!(
        found.starts_with("failed ") && found.contains("work: Unknown provider \"nope\""),
        "{output:#?}"
    );
    home.set("/agents/list", json!([{"id": "work"}]));
    let output = doctor(&mut home).run().ends_with(0);
    assert!(row(&output, "agents").starts_with("ok "), "{output:#?}");
}

#[test]
fn telegram_without_or_with_a_wrong_token_fails_and_says_what_to_do() {
    let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 58\r\n\r\n\
                   {\"ok\":false,\"error_code\":401,\"description\":\"Unauthorized\"}";
    for (token, words) in [("", "@BotFather"), (TOKEN, "channels.telegram.token")] {
        let mut home = Home::new();
        let api = server_that_says(refused);
        home.set(
            "/channels",
            json!({"telegram": {"enabled": true, "token": token, "apiBase": api}}),
        );
        let output = doctor(&mut home).run().ends_with(1);
        let found = row(&output, "telegram");
        assert!(
            found.starts_with("failed ") && found.contains(words),
            "{output:#?}"
        );
        assert!(!output.stdout.contains(TOKEN));
    }
}

#[test]
fn a_server_that_is_silent_is_left_at_once_with_ctrl_c() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", silent.local_addr().unwrap());
    let mut home = Home::with_endpoint("openai", &base);
    let running = doctor(&mut home).start();
    let _connection = silent.accept().unwrap();
    let pid = Pid::from_raw(running.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = running.finish().ends_with(130);
    assert!(row(&output, "keys").starts_with("ok "), "{output:#?}");
}

#[test]
fn a_name_that_cannot_be_resolved_is_a_row_and_the_server_is_not_called() {
    let mut home = Home::with_endpoint("openai", "http://no-such-host.invalid/v1");
    let output = doctor(&mut home).run().ends_with(1);
    assert_eq!(
        row(&output, "dns"),
        "failed   dns       Cannot resolve no-such-host.invalid. Check the name and your network."
    );
    assert!(!output.stdout.contains(" model "), "{output:#?}");
    // Without a network nothing is said twice.
    for (host, expected) in [
        ("no-such-host", "no-such-host.invalid. Check the name and"),
        (
            "no-bot-host",
            "no-such-host.invalid and no-bot-host.invalid. Check the names and",
        ),
    ] {
        let base = format!("http://{host}.invalid");
        home.set(
            "/channels",
            json!({"telegram": {"enabled": true, "token": TOKEN, "apiBase": base}}),
        );
        let output = doctor(&mut home).run().ends_with(1);
        assert_eq!(output.stdout.matches(" dns ").count(), 1, "{output:#?}");
        assert!(row(&output, "dns").contains(expected), "{output:#?}");
    }
}

#[test]
fn with_a_broken_configuration_the_rest_is_examined_all_the_same() {
    let home = Home::new();
    home.write_config("{,}");
    let output = Program::new(&home).arg("doctor").run().ends_with(1);
    assert!(row(&output, "config").starts_with("failed "));
    assert!(row(&output, "clock").starts_with("ok ") && row(&output, "disk").starts_with("ok "));
}

#[test]
fn a_damaged_file_of_paired_people_fails_and_says_what_to_do() {
    let home = Home::new();
    let state = home.path().join("state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("pairing.json"), "{\"paired\":[").unwrap();
    let output = Program::new(&home).arg("doctor").run().ends_with(1);
    let row = row(&output, "state");
    assert!(row.starts_with("failed "), "{row}");
    assert!(
        row.contains("pairing.json is damaged, repair or delete it"),
        "{row}"
    );
}

#[test]
fn a_configuration_that_others_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    let program = doctor(&mut home);
    let file = home.path().join("config.json");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = program.run().ends_with(0);
    let found = row(&output, "config");
    assert!(
        found.starts_with("warning ") && found.contains("chmod 600"),
        "{output:#?}"
    );
}

#[test]
fn updates_are_mentioned_where_they_have_a_source_and_its_server_is_not_asked() {
    let mut home = Home::new();
    home.set("/update", json!({"url": "http://127.0.0.1:1/peacrab"}));
    let doctor = doctor(&mut home).env(KEY_VARIABLE, &Release::new().public_key());
    let output = doctor.run();
    assert!(row(&output, "updates").starts_with("ok "), "{output:#?}");
    assert!(
        row(&output, "updates").contains("from http://127.0.0.1:1/peacrab"),
        "{output:#?}"
    );
}

#[test]
fn who_listens_to_voice_messages_is_a_row_and_is_not_asked() {
    let model = Model::playing([]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/provider", json!("auto"));
    let mut check = |settings: Value, mark: &str, words: &str| {
        home.set("/transcription", settings);
        let output = doctor(&mut home).run();
        let row = row(&output, "voice");
        assert!(row.starts_with(mark) && row.contains(words), "{row}");
    };
    check(json!({}), "ok", "no one listens to voice messages");
    check(
        json!({"provider": "groq"}),
        "failed",
        "set providers.groq.apiKey",
    );
    check(
        json!({"provider": "gorq"}),
        "failed",
        "Unknown provider \"gorq\"",
    );
    check(
        json!({"provider": "anthropic"}),
        "failed",
        "anthropic cannot transcribe",
    );
    check(
        json!({"apiBase": "http://127.0.0.1:9"}),
        "ok",
        "transcription/whisper-1",
    );
    check(
        json!({"command": "whisper \"$1\""}),
        "warning",
        "tools.exec.enabled is false",
    );
    home.set("/transcription", json!({"enabled": false}));
    let output = doctor(&mut home).run();
    assert!(!output.stdout.contains(" voice "), "{output:#?}");
}
