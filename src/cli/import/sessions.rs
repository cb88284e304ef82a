//! Conversations, from the JSON files in which these programs keep them.

use serde_json::Value;

use super::formats::read_json;
use super::report::{Mark, Report};
use super::source::{Folder, Program, Source};
use super::texts;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::json;
use crate::base::message::SessionKey;
use crate::config::Home;
use crate::config::channels;
use crate::store::session::store::path_of;
use crate::store::session::taken::Taken;
use crate::text::count_of;

/// Bytes of a conversation: years of a chat. It is held in memory while it is written.
const SESSION_BYTES: usize = 32 * 1024 * 1024;
/// Conversations of a home.
const SESSIONS: usize = 1_000;
/// Bytes of a file that says of which chat a conversation is.
const META_BYTES: usize = 1024 * 1024;

/// Takes the conversations.
pub fn take(source: &Source, home: &Home, write: bool, report: &mut Report) -> Result<()> {
    report.part(texts::SESSIONS);
    let found = match source.program {
        Program::OpenClaw => openclaw(source),
        _ => all(source),
    };
    for (folder, path, key) in found.iter().take(SESSIONS) {
        let Some(taken) = read(source.program, folder, path, key.clone(), report) else {
            continue;
        };
        let (key, taken) = taken;
        let Some(chat) = chat_of(&key) else {
            report.add(Mark::Left, &key, texts::NO_CHAT);
            continue;
        };
        if taken.entries.is_empty() {
            continue;
        }
        let sessions = home.sessions();
        let is_new = match write {
            true => taken.write(&sessions, &chat, &Clock::System)?,
            false => path_of(&sessions, &chat).symlink_metadata().is_err(),
        };
        let count = count_of(taken.entries.len(), "entry", "entries");
        match is_new {
            true if chat.as_str() == key => report.add(Mark::Taken, &key, &count),
            true => report.add(Mark::Changed, &format!("{key} -> {chat}"), &count),
            false => report.add(Mark::Kept, chat.as_str(), ""),
        }
    }
    if found.len() > SESSIONS {
        report.add(
            Mark::Left,
            texts::OTHER_SESSIONS,
            &texts::more(found.len() - SESSIONS),
        );
    }
    databases(source, report);
    Ok(())
}

/// A file, the folder that it is in, and the key of its conversation where that is known.
type Found<'a> = (&'a Folder, String, Option<String>);

/// The files in the folders of sessions; nanobot has moved them twice.
fn all(source: &Source) -> Vec<Found<'_>> {
    let folders = [source.workspace.as_ref(), Some(&source.home)];
    let files = folders.into_iter().flatten().flat_map(|folder| {
        let files = folder.files("sessions", 2).into_iter();
        files.map(move |(path, _)| (folder, format!("sessions/{path}"), None))
    });
    let is_session = |path: &str| {
        path.ends_with(".jsonl")
            || path.ends_with(".json")
                && !path.ends_with(".meta.json")
                && !path.ends_with("checkpoint.json")
    };
    files.filter(|(_, path, _)| is_session(path)).collect()
}

/// Those of OpenClaw's main agent, as its index names them.
fn openclaw(source: &Source) -> Vec<Found<'_>> {
    let folder = "agents/main/sessions";
    let index = source
        .home
        .read_text(&format!("{folder}/sessions.json"), META_BYTES);
    let index = index.ok().flatten().and_then(|text| read_json(&text));
    let entries = index
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let files = entries.filter_map(|(key, entry)| {
        let id = entry["sessionId"].as_str()?;
        let is_plain = id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let to = [&entry["origin"]["from"], &entry["lastTo"]]
            .into_iter()
            .find_map(Value::as_str);
        // The main conversation is that of the chat in which was spoken last.
        let channel = entry["lastChannel"].as_str();
        let key = match (key.ends_with(":main"), channel, to) {
            (true, Some(channel), Some(to)) => {
                let to = to.rsplit(':').next().unwrap_or(to);
                format!("{channel}:{to}")
            }
            _ => key.clone(),
        };
        is_plain.then(|| (&source.home, format!("{folder}/{id}.jsonl"), Some(key)))
    });
    files.collect()
}

fn read(
    program: Program,
    folder: &Folder,
    path: &str,
    key: Option<String>,
    report: &mut Report,
) -> Option<(String, Taken)> {
    let text = match folder.read_text(path, SESSION_BYTES) {
        Ok(Some(text)) => text,
        Ok(None) => return None,
        Err(error) => {
            report.add(Mark::Left, path, &error.to_string());
            return None;
        }
    };
    let mut taken = Taken::default();
    let stem = path.rsplit('/').next().unwrap_or(path);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let mut named = key;
    if path.ends_with(".json") {
        let session = read_json(&text)?;
        named = session["key"].as_str().map(str::to_owned).or(named);
        taken.summary = text_of(&session["summary"]);
        for message in session["messages"].as_array().into_iter().flatten() {
            taken.push(message.to_string().as_bytes());
        }
        taken.left_out = 0;
    } else {
        for line in text.lines() {
            if !push(program, &mut taken, line) {
                about(&mut taken, &mut named, line);
            }
        }
        let meta = format!("{}.meta.json", path.strip_suffix(".jsonl").unwrap_or(path));
        let meta = folder.read_text(&meta, META_BYTES).ok().flatten();
        if let Some(meta) = meta.and_then(|text| read_json(&text)) {
            taken.summary = text_of(&meta["summary"]);
            taken.left_out = number(&meta["skip"]);
            taken.remembered = taken.left_out;
            named = key_in(&meta).or(named);
        }
    }
    taken.left_out = taken.left_out.min(taken.entries.len());
    // The older files have no key but their name.
    let named = named.unwrap_or_else(|| stem.replacen('_', ":", 1));
    Some((named, taken))
}

/// Adds a line that has a message; OpenClaw has it in a member.
fn push(program: Program, taken: &mut Taken, line: &str) -> bool {
    if program != Program::OpenClaw {
        return taken.push(line.as_bytes());
    }
    let Ok(event) = json::from_str::<Value>(line) else {
        return false;
    };
    let message = &event["message"];
    let is_said = message["role"] == "user" || message["role"] == "assistant";
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            let texts = texts.filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let entry = serde_json::json!({
        "role": message["role"], "content": text, "timestamp": event["timestamp"],
    });
    is_said && !text.trim().is_empty() && taken.push(entry.to_string().as_bytes())
}

/// Reads what a line says of the conversation.
fn about(taken: &mut Taken, named: &mut Option<String>, line: &str) {
    let Ok(about) = json::from_str::<Value>(line) else {
        return;
    };
    if about["_type"] != "metadata" {
        return;
    }
    if let Some(key) = about["key"].as_str() {
        *named = Some(key.to_owned());
    }
    taken.created_at = text_of(&about["created_at"]).or(taken.created_at.take());
    let remembered = [&about["last_archived"], &about["last_consolidated"]];
    taken.remembered = remembered.into_iter().map(number).max().unwrap_or_default();
}

/// The key in PicoClaw's file about a conversation: of its names the one that has a chat.
fn key_in(meta: &Value) -> Option<String> {
    let scope = &meta["scope"];
    let chat = scope["values"]["chat"]
        .as_str()
        .or(scope["values"]["sender"].as_str());
    let of_scope = chat.zip(scope["channel"].as_str()).map(|(chat, channel)| {
        let chat = chat.rsplit(':').next().unwrap_or(chat);
        format!("{channel}:{chat}")
    });
    let aliases = meta["aliases"].as_array().into_iter().flatten();
    let names = aliases.chain([&meta["key"]]).filter_map(Value::as_str);
    let of_names = names
        .map(str::to_owned)
        .find(|name| chat_of(name).is_some());
    of_scope
        .filter(|key| chat_of(key).is_some())
        .or(of_names)
        .or_else(|| text_of(&meta["key"]))
}

/// Our key of a conversation; `None` when it is not that of a chat that we have.
fn chat_of(key: &str) -> Option<SessionKey> {
    let key = key
        .strip_prefix("agent:")
        .and_then(|rest| rest.split_once(':'))
        .map_or(key, |(_, rest)| rest);
    if key == "cli:direct" || key == "cli:default" {
        return Some(SessionKey::parse("cli:default"));
    }
    let (channel, rest) = key.split_once(':')?;
    let mut chat = rest.replace(":topic:", ":").replace(":thread:", ":");
    for kind in ["direct:", "dm:", "group:", "channel:", "default:direct:"] {
        if let Some(bare) = chat.strip_prefix(kind) {
            chat = bare.to_owned();
        }
    }
    let is_plain = !chat.is_empty() && chat.len() <= 200 && !chat.chars().any(char::is_control);
    (channels::NAMES.contains(&channel) && is_plain)
        .then(|| SessionKey::parse(&format!("{channel}:{chat}")))
}

/// Names the databases, which are not read.
fn databases(source: &Source, report: &mut Report) {
    let known = [
        "state.db",
        "sessions.db",
        "state/openclaw.sqlite",
        "agents/main/agent/openclaw-agent.sqlite",
        "workspace/sessions/sessions.db",
        "workspace/memory/brain.db",
        "workspace/cron/jobs.db",
        "data/sessions.db",
        "data/memory/brain.db",
        "data/cron/jobs.db",
        "data/sessions/sessions.db",
    ];
    for name in known.into_iter().filter(|name| source.home.has(name)) {
        report.add(Mark::Left, name, texts::DATABASE);
    }
}

fn text_of(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned)
}

fn number(value: &Value) -> usize {
    value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or_default()
}
