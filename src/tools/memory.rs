//! memory: searches what is remembered and what was said, and adds to the notes.

use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate};

use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::{EntryKind, ToolResult, ToolSpec};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::append_log::LINE_BYTES;
use crate::base::message::SessionKey;
use crate::sandbox::files::{Next, Workspace};
use crate::store::memory::search::{
    self, Hit, LineKind, Message, MessageLines, Query, Source, Sources,
};
use crate::store::memory::{FOLDER, Memory};
use crate::store::session::line::{self, Line};
use crate::store::session::store;
use crate::sys;
use crate::sys::at::Kind;

use super::arguments::Arguments;
use super::{Context, Tool};

/// Bytes that a search reads at a time.
const SEARCH_BLOCK_BYTES: usize = 64 * 1024;
/// Bytes of one file of notes that are searched.
const SEARCH_FILE_BYTES: u64 = 4 * 1024 * 1024;

pub(super) const MEMORY: ToolSpec = ToolSpec::fixed(
    "memory",
    "search: find words, \"exact phrases\" and dates (2026-11) in past conversations, notes and history. append: add a line to today's notes.",
    r#"{"type":"object","properties":{"action":{"enum":["search","append"]},"text":{"type":"string"},"days":{"type":"integer","description":"Search only the last days"}},"required":["action"]}"#,
);

/// Reads and adds to the memory.
pub(super) struct MemoryTool {
    /// The folder of the journals.
    pub sessions: PathBuf,
    pub clock: Clock,
}

impl Tool for MemoryTool {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let text = arguments.optional_text("text", "words to look for, or the note")?;
        let text = text.unwrap_or_default();
        let text = match arguments.text("action", "search or append")?.as_ref() {
            "search" => {
                let days = arguments.number("days", "a number of days")?;
                let query = Query::parse(&text, days, self.clock.now().date_naive())?;
                let caller = SessionKey::parse(context.caller.session);
                let past = Past {
                    workspace: context.workspace,
                    sessions: &self.sessions,
                    reach: Reach::of(&caller, context.caller.role),
                };
                format_hits(&past.search(&query, context.caller.cancel)?)
            }
            "append" => {
                let memory = Memory::new(context.workspace, &self.clock);
                let file = memory.append(&context.eraser.clean(&text))?;
                format!("Noted in {}.", file.display())
            }
            other => {
                return Err(Error::Failed(format!(
                    "action wants search or append, not {other:?}"
                )));
            }
        };
        Ok(ToolResult::new(text))
    }
}

/// The hits as a list, for the model and for people at the terminal.
fn format_hits(hits: &[Hit]) -> String {
    if hits.is_empty() {
        return "Nothing found. Try other or fewer words.".to_owned();
    }
    let mut text = String::new();
    for hit in hits {
        let _ = writeln!(text, "- {}: {}", describe_place(hit), hit.text);
    }
    text
}

/// Where, when and by whom a passage was written: `telegram:1, 2026-11-16 10:30, person`.
pub fn describe_place(hit: &Hit) -> String {
    let mut place = hit.place.clone();
    if let Some(time) = hit.time {
        let time = time.format("%Y-%m-%d %H:%M").to_string();
        let _ = write!(place, ", {}", time.strip_suffix(" 00:00").unwrap_or(&time));
    }
    if let Some(who) = hit.who {
        let _ = write!(place, ", {who}");
    }
    place
}

/// Whose conversations a search may read. The files of the memory are always searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// Only this one, without its last turn while that runs: what one chat said is private to it.
    Conversation(&'a SessionKey),
    /// All of them: an owner at the terminal can read the files anyway. Without the running turn of
    /// this one.
    All(Option<&'a SessionKey>),
}

impl<'a> Reach<'a> {
    /// What a search may read that is made in a conversation for someone with a role. The run of a job can have that of
    /// the terminal, and has the role of a user.
    pub fn of(conversation: &'a SessionKey, role: Role) -> Self {
        match conversation.parts() {
            ("cli", _) if role == Role::Owner => Self::All(Some(conversation)),
            _ => Self::Conversation(conversation),
        }
    }
}

/// Everything that can be searched.
pub struct Past<'a> {
    /// The workspace with the files of the memory.
    pub workspace: &'a Workspace,
    /// The folder of the journals.
    pub sessions: &'a Path,
    /// Whose conversations.
    pub reach: Reach<'a>,
}

impl Past<'_> {
    /// The passages that fit best.
    pub fn search(&self, query: &Query, cancel: &Cancel) -> Result<Vec<Hit>> {
        let since = query.first_day();
        search::search(query, &mut Files { past: self, since }, cancel)
    }

    fn each_note(&self, visit: &mut dyn FnMut(Source<'_>) -> Result<()>) -> Result<()> {
        let mut visited = Ok(());
        let walked = self.workspace.walk(Path::new(FOLDER), &mut |found| {
            let name = found
                .path
                .to_str()
                .and_then(|name| name.strip_suffix(".md"));
            if let (Some(name), Kind::File) = (name, found.status.kind)
                && let Ok(file) = found.open()
            {
                visited = visit(Source {
                    place: &format!("{FOLDER}/{name}.md"),
                    date: name.parse().ok(),
                    reader: &mut buffered(file.take(SEARCH_FILE_BYTES)),
                    lines: None,
                });
            }
            match visited {
                Ok(()) => Next::Pass,
                Err(_) => Next::Stop,
            }
        });
        match walked {
            // There is no memory yet.
            Err(Error::Io { .. }) => Ok(()),
            walked => walked.and(visited),
        }
    }

    fn each_journal(
        &self,
        since: Option<NaiveDate>,
        visit: &mut dyn FnMut(Source<'_>) -> Result<()>,
    ) -> Result<()> {
        let (chat, own) = match self.reach {
            Reach::Conversation(chat) => (Some(chat), Some(chat)),
            Reach::All(own) => (None, own),
        };
        let running = own.map(|own| store::path_of(self.sessions, own));
        for path in store::files(self.sessions, chat)? {
            let Ok(file) = sys::file::open_to_read(&path) else {
                continue;
            };
            let Ok(metadata) = file.metadata() else {
                continue;
            };
            let changed = DateTime::from_timestamp(metadata.mtime(), 0);
            // A day more: this one is not in the zone of the others.
            let is_old = |since| changed.is_some_and(|changed| changed.date_naive() < since);
            if since.and_then(|since| since.pred_opt()).is_some_and(is_old) {
                continue;
            }
            let end = if running.as_ref() == Some(&path) {
                store::end_of_turns(&file).unwrap_or(0)
            } else {
                metadata.len()
            };
            let mut reader = buffered(file.take(end));
            let Ok(place) = name_of(&mut reader, &path) else {
                continue;
            };
            visit(Source {
                place: &place,
                date: None,
                reader: &mut reader,
                lines: Some(MESSAGES),
            })?;
        }
        Ok(())
    }
}

/// The files that a search reads.
struct Files<'a> {
    past: &'a Past<'a>,
    /// Journals that were last written before this day are left out.
    since: Option<NaiveDate>,
}

impl Sources for Files<'_> {
    fn each(&mut self, visit: &mut dyn FnMut(Source<'_>) -> Result<()>) -> Result<()> {
        self.past.each_note(visit)?;
        self.past.each_journal(self.since, visit)
    }
}

fn buffered<R: Read>(file: R) -> BufReader<R> {
    BufReader::with_capacity(SEARCH_BLOCK_BYTES, file)
}

/// The session key of a journal, from its first line, which is read.
fn name_of(reader: &mut impl BufRead, path: &Path) -> std::io::Result<String> {
    let mut first = Vec::new();
    reader
        .take(LINE_BYTES as u64)
        .read_until(b'\n', &mut first)?;
    Ok(match line::decode(&first) {
        Some(Line::State(state)) => state.key,
        _ => None,
    }
    .unwrap_or_else(|| {
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }))
}

/// What people and the agent said. Results of tools are left out: they are long, and much of them is
/// what files and pages say.
const MESSAGES: MessageLines = MessageLines {
    kind: |line| {
        let beginning = line.get(..line.len().min(24)).unwrap_or_default();
        let has = |word: &[u8]| beginning.windows(word.len()).any(|window| window == word);
        if line.starts_with(br#"{"_type":"metadata","turn":"stopped""#) {
            // Stopped during its review.
            LineKind::TakesBack
        } else if line.starts_with(br#"{"_type":"metadata","turn":"#) {
            LineKind::EndsTurn
        } else if line.starts_with(br#"{"role":"user","kind":"note","#) {
            LineKind::TakesBack
        } else if line.ends_with(br#","proposed":true}"#) {
            LineKind::Proposed
        } else if has(b"\"user\"") || has(b"\"assistant\"") {
            LineKind::Message
        } else {
            LineKind::Other
        }
    },
    decode: |bytes| {
        let Some(Line::Entry(entry)) = line::decode(bytes) else {
            return None;
        };
        let who = match entry.kind {
            EntryKind::Person => "person",
            EntryKind::Assistant => "agent",
            EntryKind::Summary => "summary",
            EntryKind::Note | EntryKind::Tool => return None,
        };
        Some(Message {
            who,
            time: entry.timestamp,
            text: entry.content,
        })
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::chat::Entry;
    use crate::store::session::line::{State, TurnEnd};
    use crate::tools::tests::Bench;

    const TELEGRAM: &str = r#"{"_type":"metadata","key":"telegram:1"}
{"role":"user","content":"the boiler makes noise","timestamp":"2026-11-16T10:30:00+01:00"}
{"role":"tool","content":"boiler.md","timestamp":"2026-11-16T10:30:01+01:00"}
{"role":"user","kind":"note","content":"a boiler of the runtime","timestamp":"2026-11-16T10:30:01+01:00"}
{"role":"assistant","content":"I noted that, with the key sk-canary-98765: noise","timestamp":"2026-11-16T10:30:05+01:00"}
{"_type":"metadata","turn":"answered","timestamp":"2026-11-16T10:30:05+01:00"}
{"role":"user","content":"what about the boiler?","timestamp":"2026-11-23T10:30:00+01:00"}
"#;

    fn bench() -> Bench {
        let mut bench = Bench::new(16_000);
        let sessions = bench.path("sessions");
        bench.toolbox = bench.toolbox.with_memory(sessions, Clock::System);
        bench
    }

    fn search_in(bench: &Bench, session: &str, text: &str) -> String {
        search_as(bench, (session, Role::Owner), text)
    }

    fn search_as(bench: &Bench, (session, role): (&str, Role), text: &str) -> String {
        let call = crate::base::chat::ToolCall {
            id: String::new(),
            name: "memory".to_owned(),
            arguments: json!({"action": "search", "text": text}).to_string(),
            signature: None,
        };
        let caller = crate::tools::Caller {
            session,
            role,
            message: "",
            cancel: &Cancel::new(),
            answer: None,
            progress: None,
            input: None,
            without: &[],
            author: None,
            is_asked: true,
        };
        bench.toolbox.run(&call, &caller).text
    }

    #[test]
    fn what_is_appended_is_found_without_secrets() {
        let bench = bench();
        let note = json!({"action": "append", "text": "boiler: sk-canary-98765"});
        let noted = bench.succeeds("memory", note);
        assert!(noted.starts_with("Noted in memory/20"), "{noted}");
        let found = search_in(&bench, "telegram:1", "boiler");
        assert!(
            found.starts_with("- memory/20") && found.contains("boiler"),
            "{found}"
        );
        assert!(!found.contains("canary"), "{found}");
        for file in std::fs::read_dir(bench.path("memory")).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            assert!(!text.contains("canary"), "{text}");
        }
        assert_eq!(
            search_in(&bench, "cli:a", "kettle"),
            "Nothing found. Try other or fewer words."
        );
        assert!(!bench.toolbox.is_read_only("memory"));
        for (arguments, error) in [
            (json!({"text": "x"}), "the parameter action is missing"),
            (json!({"action": "forget"}), "action wants search or append"),
            (json!({"action": "search"}), "Nothing to look for"),
            (
                json!({"action": "append", "text": " "}),
                "The note is empty",
            ),
        ] {
            let told = bench.fails("memory", arguments);
            assert!(told.starts_with(error), "{told}");
        }
    }

    #[test]
    fn an_answer_that_a_review_has_refused_was_not_said() {
        let bench = bench();
        let said = |text: &str, is_proposed| {
            line::encode_entry(&Entry {
                is_proposed,
                ..Entry::new(EntryKind::Assistant, text)
            })
        };
        let end = |turn| {
            let state = State {
                turn: Some(turn),
                ..State::default()
            };
            line::encode_state(&state, Clock::System.now())
        };
        let ended = end(TurnEnd::Answered);
        let journal = [
            b"{\"_type\":\"metadata\",\"key\":\"telegram:1\"}\n".to_vec(),
            said("the boiler is full", true),
            line::encode_entry(&Entry::new(EntryKind::Note, "[Not sent]")),
            said("the boiler is empty", true),
            ended.clone(),
            said("the boiler is warm", true),
            said("a doubt about the boiler", false),
            ended,
            said("the boiler is cold", true),
            end(TurnEnd::Stopped),
            said("the boiler is gone", true),
        ];
        bench.put("sessions/telegram_1.jsonl", journal.concat());
        let found = search_in(&bench, "cli:a", "boiler");
        for text in ["is empty", "is warm", "a doubt"] {
            assert!(found.contains(text), "{text}: {found}");
        }
        for text in ["is full", "is cold", "is gone"] {
            assert!(!found.contains(text), "{text}: {found}");
        }
    }

    #[test]
    fn a_chat_finds_what_was_said_in_it_and_the_terminal_everything() {
        let bench = bench();
        bench.put("sessions/telegram_1.jsonl", TELEGRAM);
        let asked = TELEGRAM.lines().count() - 1;
        let ended: Vec<&str> = TELEGRAM.lines().take(asked).collect();
        let archived = (ended.join("\n") + "\n")
            .replace("2026-11-16", "2026-05-01")
            .replace("noise", "steam");
        bench.put(
            "sessions/archive/telegram_1-20260601T100000000.jsonl",
            archived,
        );
        bench.put(
            "sessions/cli_a.jsonl",
            "{\"_type\":\"metadata\",\"key\":\"cli:a\"}\n",
        );
        let own = search_in(&bench, "telegram:1", "boiler");
        assert_eq!(
            own,
            "- telegram:1, 2026-11-16 10:30, person: the boiler makes noise\n\
             - telegram:1, 2026-05-01 10:30, person: the boiler makes steam\n"
        );
        assert!(search_in(&bench, "telegram:1", "steam 2026-05").contains("2026-05-01 10:30"));
        assert!(!search_in(&bench, "telegram:1", "noted").contains("canary"));
        assert!(search_in(&bench, "telegram:-100", "boiler").starts_with("Nothing found"));
        assert!(search_in(&bench, "telegram:1:7", "boiler").starts_with("Nothing found"));
        // Only the turn that asks is left out.
        let all = search_in(&bench, "cli:a", "what boiler");
        assert!(all.contains("what about the boiler?"), "{all}");
        // The run of a job in that conversation is not the owner at the terminal.
        let of_job = search_as(&bench, ("cli:a", Role::User), "what boiler");
        assert!(of_job.starts_with("Nothing found"), "{of_job}");
    }
}
