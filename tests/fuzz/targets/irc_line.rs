//! Any bytes are lines of an IRC server's, or nothing: what they make the program say is lines, and what it reads is text.

use std::time::Duration;

use peacrab::channels::irc::format::wrap;
use peacrab::channels::irc::incoming::Reader;
use peacrab::channels::irc::session::line::{Line, write};
use peacrab::channels::irc::session::{Action, Session};
use peacrab::channels::irc::settings::Settings;
use peacrab::config::schema::{Bot, GroupPolicy};
use serde_json::json;

pub fn run(bytes: &[u8]) {
    let mut bot = Bot::of("irc");
    for (key, value) in [
        ("nick", json!("crab")),
        ("saslUser", json!("a")),
        ("saslPassword", json!("b")),
    ] {
        bot.set(key, value);
    }
    let (mut session, _) = Session::begin(Settings::new(&bot), Duration::ZERO);
    let mut reader = Reader::default();
    for (second, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let Some(line) = Line::parse(bytes) else {
            continue;
        };
        let now = Duration::from_secs(second as u64);
        let actions = [session.receive(&line, now), session.tick(now)].concat();
        for action in actions {
            if let Action::Send(line) | Action::Chore(line) = action {
                assert!(!line.contains(['\r', '\n', '\0']));
            }
        }
        if let Some(message) = reader.read(&line, &session, GroupPolicy::Open) {
            assert!(!message.text.trim().is_empty());
            for text in wrap(&message.text, 100) {
                assert!(
                    text.len() <= 100
                        && !write("PRIVMSG", &["x"], Some(&text)).contains(['\r', '\n', '\0'])
                );
            }
        }
    }
}
