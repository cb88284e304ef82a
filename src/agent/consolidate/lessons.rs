//! Lessons of a conversation: calls that failed, and calls like them that then worked. PURE.
//!
//! Two calls are alike when they call the same tool about the same thing: the first program of a command, the host of an
//! address, or the name of a file without its folders and its ending. Of a tool whose calls have none of these, all are
//! alike.

use std::fmt::Write;

use super::request::is_kept;
use crate::base::chat::{CameTo, Entry, EntryKind, Reply, ToolCall, ToolSpec};
use crate::store::memory::{LESSON_BYTES, Lesson};
use crate::store::session::conversation::{NOT_ALLOWED_YET, STOPPED_OUTCOME, UNKNOWN_OUTCOME};
use crate::text::html::link;
use crate::text::{ellipsize_bytes, one_line};
use crate::tools::arguments::Arguments;

use super::request::SAVE_MEMORY;

/// Pairs of which one request makes lessons.
const PAIRS_MAX: usize = 4;
/// Calls of a turn that have failed and are kept until one like them works.
const FAILED_MAX: usize = 16;
/// Characters of a call's arguments in the request.
const ARGUMENTS_CHARS: usize = 200;
/// Characters of an error in the request.
const ERROR_CHARS: usize = 300;
/// Characters of what a call is about.
const ABOUT_CHARS: usize = 60;
/// Words in front of a command that run the program behind them.
const LEADING: [&str; 5] = ["sudo", "env", "nohup", "nice", "time"];

/// The member of the tool's schema that takes the lessons.
const MEMBER: &str = r#","lessons":{"type":"array","items":{"type":"string"},"description":"One line for each numbered pair of calls, in their order: what failed, why, and what works instead, with the exact words of the call. An empty string where nothing is to be learned for later."}"#;

/// A call that failed and one like it that then worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    about: String,
    failed: String,
    error: String,
    worked: String,
}

/// Which calls are like this one: the tool, and what it is called about.
pub fn about(call: &ToolCall) -> String {
    let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
    let text = |name| arguments.optional_text(name, "").ok().flatten();
    let thing = if let Some(command) = text("command") {
        program_of(&command).to_owned()
    } else if let Some(url) = text("url") {
        let url = link::typed(&url).unwrap_or_default();
        let host = link::host_and_port(&url).map(|(host, _)| host.to_owned());
        host.unwrap_or_default()
    } else if let Some(path) = text("path") {
        let name = path.trim_end_matches('/').rsplit('/').next();
        let name = name.unwrap_or_default();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        stem.to_owned()
    } else {
        String::new()
    };
    let is_plain = |char: &char| char.is_alphanumeric() || matches!(char, '.' | '_' | '-' | '+');
    let plain =
        |text: &str| -> String { text.chars().filter(is_plain).take(ABOUT_CHARS).collect() };
    let (tool, thing) = (plain(&call.name), plain(&thing.to_lowercase()));
    match thing.is_empty() {
        true => tool,
        false => format!("{tool} {thing}"),
    }
}

/// The name of the first program of a command that does more than to lead to another one.
fn program_of(command: &str) -> &str {
    let parts = command.split([';', '&', '|', '\n', '(', ')']);
    let mut programs = parts.filter_map(|part| {
        let mut words = part.split_whitespace();
        words.find(|word| !LEADING.contains(word) && !word.contains('='))
    });
    let program = programs
        .find(|program| *program != "cd")
        .unwrap_or_default();
    program.rsplit('/').next().unwrap_or_default()
}

/// Whether a call of a tool went wrong: it failed, or the command that it ran has said so by its exit status.
pub fn went_wrong(tool: &str, came_to: CameTo, text: &str) -> bool {
    let status = text.strip_prefix("exit status ");
    let status = status.filter(|_| tool == "exec");
    let is_zero = |status: &str| status.split_whitespace().next() == Some("0");
    came_to == CameTo::Failure || status.is_some_and(|status| !is_zero(status))
}

/// The pairs of a part of a conversation, at most [`PAIRS_MAX`]. Both calls of one are of the same turn. The same call that
/// works at another try teaches nothing.
pub fn find(entries: &[Entry]) -> Vec<Pair> {
    let mut found = Vec::new();
    let mut failed: Vec<(String, &ToolCall, &str)> = Vec::new();
    let mut calls: &[ToolCall] = &[];
    for entry in entries {
        match entry.kind {
            EntryKind::Person => {
                failed.clear();
                calls = &[];
            }
            EntryKind::Assistant => calls = &entry.tool_calls,
            EntryKind::Note | EntryKind::Summary => {}
            EntryKind::Tool => {
                let id = entry.tool_call_id.as_deref();
                let Some(call) = calls.iter().find(|call| Some(&*call.id) == id) else {
                    continue;
                };
                let about = about(call);
                if went_wrong(&call.name, entry.came_to, &entry.content) {
                    if failed.len() < FAILED_MAX && !was_not_run(&entry.content) {
                        failed.push((about, call, &entry.content));
                    }
                    continue;
                }
                let like = failed.iter().rev().find(|(other, ..)| *other == about);
                if let Some((_, before, error)) = like
                    && before.arguments != call.arguments
                    && found.len() < PAIRS_MAX
                {
                    found.push(Pair {
                        about: about.clone(),
                        failed: one_line(&before.arguments, ARGUMENTS_CHARS),
                        error: one_line(error, ERROR_CHARS),
                        worked: one_line(&call.arguments, ARGUMENTS_CHARS),
                    });
                }
                failed.retain(|(other, ..)| *other != about);
            }
        }
    }
    found
}

/// Whether a result says that something else than the call was in the way.
fn was_not_run(text: &str) -> bool {
    [UNKNOWN_OUTCOME, STOPPED_OUTCOME, NOT_ALLOWED_YET].contains(&text)
}

/// The section of the material with the pairs; nothing where there are none.
pub fn format(pairs: &[Pair]) -> String {
    let mut text = String::new();
    if !pairs.is_empty() {
        text.push_str("\n# Calls that failed, and calls like them that then worked\n");
    }
    for (index, pair) in pairs.iter().enumerate() {
        let Pair {
            about,
            failed,
            error,
            worked,
        } = pair;
        let number = index + 1;
        let _ = write!(
            text,
            "{number}. {about}\n  failed: {failed}\n  with: {error}\n  worked: {worked}\n"
        );
    }
    text
}

/// The tool of the request. Without pairs it is as ever.
pub fn tool(pairs: &[Pair]) -> ToolSpec {
    const END: &str = r#"},"required""#;
    let mut tool = SAVE_MEMORY;
    if !pairs.is_empty() {
        let parameters = tool.parameters.replacen(END, &format!("{MEMBER}{END}"), 1);
        tool.parameters = parameters.into();
    }
    tool
}

/// The lessons of an answer. A model that writes none has learned nothing.
pub fn read(reply: &Reply, pairs: &[Pair]) -> Vec<Lesson> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut calls = reply.tool_calls.iter();
    let call = calls.find(|call| call.name == SAVE_MEMORY.name);
    let arguments = call.and_then(|call| Arguments::parse(&call.arguments).ok());
    let lines = arguments.and_then(|arguments| arguments.texts("lessons", "lines").ok());
    let lines = lines.unwrap_or_default();
    let lessons = pairs.iter().zip(lines).filter_map(|(pair, line)| {
        let line: String = line.chars().filter(is_kept).collect();
        let line = one_line(&line, LESSON_BYTES);
        let text = ellipsize_bytes(&line, LESSON_BYTES).into_owned();
        (!text.is_empty()).then(|| Lesson {
            about: pair.about.clone(),
            text,
        })
    });
    lessons.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chat::ToolResult;
    use serde_json::json;

    fn call(id: &str, name: &str, arguments: &serde_json::Value) -> ToolCall {
        ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
            signature: None,
        }
    }

    fn made(call: &ToolCall, result: ToolResult) -> [Entry; 2] {
        let asked = Entry {
            tool_calls: vec![call.clone()],
            ..Entry::new(EntryKind::Assistant, "")
        };
        [asked, Entry::of_result(call, result)]
    }

    #[test]
    fn calls_are_alike_by_their_tool_and_their_program_host_or_file() {
        for (name, arguments, expected) in [
            ("exec", json!({"command": "ping -c1 box"}), "exec ping"),
            (
                "exec",
                json!({"command": "cd /x && A=1 sudo /bin/Make -j2"}),
                "exec make",
            ),
            ("exec", json!({"command": "cd /x"}), "exec"),
            (
                "web_fetch",
                json!({"url": "https://Example.org/a?b"}),
                "web_fetch example.org",
            ),
            (
                "read_file",
                json!({"path": "notes/Boiler.md"}),
                "read_file boiler",
            ),
            ("read_file", json!({"path": "docs/"}), "read_file docs"),
            ("cron", json!({"action": "add"}), "cron"),
            ("a b\n", json!({"command": "x: y; z"}), "ab x"),
        ] {
            assert_eq!(about(&call("1", name, &arguments)), expected);
        }
        let broken = ToolCall {
            arguments: "{".into(),
            ..call("1", "exec", &json!({}))
        };
        assert_eq!(about(&broken), "exec");
    }

    #[test]
    fn a_call_that_failed_and_one_like_it_that_worked_are_a_pair() {
        let ping =
            |id: &str, host: &str| call(id, "exec", &json!({"command": format!("ping {host}")}));
        let unknown = || ToolResult::new("exit status 2\nping: box: unknown host");
        let works = || ToolResult::new("exit status 0\n1 received");
        let person = || vec![Entry::new(EntryKind::Person, "ping it")];
        let turn = |results: Vec<[Entry; 2]>| [person(), results.concat()].concat();
        let pair = turn(vec![
            made(&ping("1", "box"), unknown()),
            made(&ping("2", "box.lan"), works()),
        ]);
        let found = find(&pair);
        assert_eq!(found.len(), 1);
        let text = format(&found);
        assert!(
            text.contains("1. exec ping\n  failed: {\"command\":\"ping box\"}\n  with: exit status 2 ping: box"),
            "{text}"
        );
        for (what, entries) in [
            (
                "the same call again",
                turn(vec![
                    made(&ping("1", "box"), unknown()),
                    made(&ping("2", "box"), works()),
                ]),
            ),
            (
                "another turn",
                [
                    turn(vec![made(&ping("1", "box"), unknown())]),
                    turn(vec![made(&ping("2", "box.lan"), works())]),
                ]
                .concat(),
            ),
            (
                "another program",
                turn(vec![
                    made(&ping("1", "box"), unknown()),
                    made(&call("2", "exec", &json!({"command": "ls"})), works()),
                ]),
            ),
            (
                "one that was never run",
                turn(vec![
                    made(&ping("1", "box"), ToolResult::failed(UNKNOWN_OUTCOME)),
                    made(&ping("2", "box.lan"), works()),
                ]),
            ),
        ] {
            assert_eq!(find(&entries), [], "{what}");
        }
        assert_eq!(format(&[]), "");
        assert_eq!(tool(&[]), SAVE_MEMORY);
    }

    #[test]
    fn an_answer_has_a_line_for_each_pair_or_none() {
        let pair = |about: &str| Pair {
            about: about.into(),
            failed: "{}".into(),
            error: "no".into(),
            worked: "{\"a\":1}".into(),
        };
        let pairs = [pair("exec ping"), pair("exec ls"), pair("exec df")];
        let spec = tool(&pairs);
        let schema: serde_json::Value = serde_json::from_str(&spec.parameters).unwrap();
        assert_eq!(schema["properties"]["lessons"]["type"], "array");
        assert_eq!(
            schema["required"],
            json!(["history_entry", "memory_update"])
        );
        let reply = |lessons: serde_json::Value| Reply {
            tool_calls: vec![call("1", "save_memory", &json!({"lessons": lessons}))],
            ..Reply::default()
        };
        let long = "é".repeat(LESSON_BYTES);
        let lessons = read(
            &reply(json!(["ping needs\n.lan\u{202e}", " ", long, "more"])),
            &pairs,
        );
        assert_eq!(lessons.len(), 2);
        assert_eq!(
            lessons[0],
            Lesson {
                about: "exec ping".into(),
                text: "ping needs .lan".into()
            }
        );
        assert!(lessons[1].about == "exec df" && lessons[1].text.len() <= LESSON_BYTES + 3);
        for nothing in [json!(null), json!([]), json!({"a": 1})] {
            assert_eq!(read(&reply(nothing), &pairs), []);
        }
        assert_eq!(read(&Reply::default(), &pairs), []);
    }
}
