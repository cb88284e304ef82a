//! Functions over everything that reads bytes from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a target finds a fault by panicking"
)]

mod anthropic_stream;
mod checksums;
mod command_line;
mod config_file;
mod dingtalk_event;
mod discord_event;
mod emulator;
mod feishu_frame;
mod html;
mod http_reply;
mod http_request;
mod irc_line;
mod journal_line;
mod json;
mod login;
mod mail;
mod mail_sender;
mod markdown;
mod markup;
mod matrix_sync;
mod mcp_message;
mod mochat_event;
mod office_document;
mod openai_stream;
mod overstrike;
mod pdf_document;
mod qq_event;
mod search_results;
mod skill_package;
mod slack_event;
mod sse;
mod table;
mod table_file;
mod telegram_update;
mod time;
mod tool_arguments;
mod watch_rule;
mod websocket;
mod whatsapp_frame;
mod zone;

use peacrab::channels::kit::names::clean_file_name;
use peacrab::channels::kit::sink::Incoming;
use peacrab::text::documents::{self, Kind, TEXT_BYTES};

/// Reads a document from its first page and from its second one. Its text is bounded, and reading goes on.
fn read_document(kind: Kind, bytes: &[u8]) {
    for first in 1..=2 {
        if let Ok(text) = documents::read(kind, bytes, first) {
            assert!(text.text.len() < 2 * TEXT_BYTES);
            assert!(text.next.is_none_or(|next| next > first));
            assert!(!text.about.contains('\n'));
        }
    }
}

/// Takes an input, and panics when something is wrong.
type Run = fn(&[u8]);

/// All targets by their names, which are those of the folders in `corpus/`.
pub const TARGETS: &[(&str, Run)] = &[
    ("anthropic_stream", anthropic_stream::run),
    ("checksums", checksums::run),
    ("command_line", command_line::run),
    ("config_file", config_file::run),
    ("dingtalk_event", dingtalk_event::run),
    ("discord_event", discord_event::run),
    ("emulator", emulator::run),
    ("feishu_frame", feishu_frame::run),
    ("html", html::run),
    ("http_reply", http_reply::run),
    ("http_request", http_request::run),
    ("irc_line", irc_line::run),
    ("journal_line", journal_line::run),
    ("json", json::run),
    ("login", login::run),
    ("mail", mail::run),
    ("mail_sender", mail_sender::run),
    ("markdown", markdown::run),
    ("markup", markup::run),
    ("matrix_sync", matrix_sync::run),
    ("mcp_message", mcp_message::run),
    ("mochat_event", mochat_event::run),
    ("office_document", office_document::run),
    ("openai_stream", openai_stream::run),
    ("overstrike", overstrike::run),
    ("pdf_document", pdf_document::run),
    ("qq_event", qq_event::run),
    ("search_results", search_results::run),
    ("skill_package", skill_package::run),
    ("slack_event", slack_event::run),
    ("sse", sse::run),
    ("table", table::run),
    ("table_file", table_file::run),
    ("telegram_update", telegram_update::run),
    ("time", time::run),
    ("tool_arguments", tool_arguments::run),
    ("watch_rule", watch_rule::run),
    ("websocket", websocket::run),
    ("whatsapp_frame", whatsapp_frame::run),
    ("zone", zone::run),
];

/// The number in the first bytes, the lowest first, and the rest.
fn number(bytes: &[u8], count: usize) -> (i64, &[u8]) {
    let (first, rest) = bytes.split_at(count.min(bytes.len()));
    let number = first
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | i64::from(*byte));
    (number, rest)
}

/// What follows a number of two bytes: all of it, and cut into two pieces at that number.
fn in_two(bytes: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let (cut, rest) = number(bytes, 2);
    let (left, right) = rest.split_at((cut as usize).min(rest.len()));
    (rest, left, right)
}

/// Checks what a channel has read: it can be answered, and the names of its files are no paths.
fn check_incoming(incoming: &Incoming) {
    match incoming {
        Incoming::Message { envelope, .. } => {
            assert!(!envelope.text.is_empty() || !envelope.remote_files.is_empty());
            assert!(envelope.reply.is_some());
            for file in &envelope.remote_files {
                assert!(!clean_file_name(&file.name).contains('/'));
            }
        }
        Incoming::Pressed { data, .. } => assert!(!data.is_empty()),
        Incoming::Edited { .. } => {}
    }
}
