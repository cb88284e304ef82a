//! Turns with the offline helper as the model. On a full disk it asks for `list_dir` first, and then
//! answers with the result.

use std::path::PathBuf;

use super::*;
use crate::base::approval::{Answer, Question};
use crate::base::chat::{Entry, EntryKind, ToolCall, ToolResult, ToolSpec};
use crate::base::secret::Eraser;
use crate::config::schema::{Config, Tools};
use crate::models::Models;
use crate::models::route::Sources;
use crate::net::http::{Pool, Tls};
use crate::sandbox::files::{Places, Workspace};
use crate::store::append_log::tests::{is_alone, limit_files, run_alone};
use crate::store::session::Settings;
use crate::store::session::line::TurnEnd;
use crate::sys::beneath::Resolver;
use crate::tools::arguments::Arguments;
use crate::tools::{Context, Tool};
use consolidate::Why;
use host::TurnEvent;
use serde_json::json;

struct Bench {
    top: tempfile::TempDir,
    agent: Agent,
    session: SessionKey,
}

impl Bench {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = top.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let workspace = folder("workspace");
        std::fs::write(workspace.join("shopping.txt"), "").unwrap();
        let places = Places {
            workspace: &workspace,
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let eraser = Eraser::new([]);
        let toolbox = Toolbox::new(workspace, 1_000, eraser, Clock::System);
        let config = Config::default();
        let settings = config.agents.defaults.clone();
        let models = {
            let settings = settings.clone();
            move |_: Option<&str>| {
                let sources = Sources {
                    providers: &Default::default(),
                    variable: &|_| None,
                    sign_ins: None,
                };
                Models::new(&settings, None, &sources, Pool::new(Tls::new(None)?))
            }
        };
        let state = folder("state");
        let agent = Agent::new(Parts {
            connections: Pool::new(Tls::new(None).unwrap()),
            models: Box::new(models),
            hearing: Box::new(|| Ok(None)),
            speaking: Box::new(|| Ok(None)),
            model: None,
            choices: ModelChoices::new(&state),
            toolbox,
            ledger: TokenUsage::new(&state, Clock::System),
            first_turns: FirstTurns::new(&state, "main"),
            learned: Learned::new(&state),
            clock: Clock::System,
            host_info: HostInfo::default(),
            settings,
            limits: config.limits,
            stream: false,
            label: None,
        });
        Self {
            agent: agent.unwrap(),
            top,
            session: SessionKey::parse("test"),
        }
    }

    fn open(&self) -> Session {
        let settings = Settings::new(&Config::default(), Clock::System);
        Session::open(self.top.path(), &self.session, settings).unwrap()
    }

    fn journal(&self) -> PathBuf {
        self.top.path().join("cli_test.jsonl")
    }

    fn length(&self) -> u64 {
        self.journal().metadata().map_or(0, |journal| journal.len())
    }

    /// Lets the journal grow by so many bytes.
    fn leave_room(&self, bytes: u64) {
        limit_files(Some(self.length() + bytes));
    }

    fn run(&self, text: Option<&str>, host: &mut Host<'_>) -> Result<Report> {
        let message = text.map(|text| Envelope::typed(&self.session, text));
        let mut session = self.open();
        self.agent
            .run(&mut session, message.as_ref(), host, &Cancel::new())
    }

    /// The kinds of the entries that are in the journal, and whether a turn is unfinished.
    fn kinds(&self) -> (Vec<EntryKind>, bool) {
        let session = self.open();
        let entries = session.conversation().entries();
        let kinds = entries.map(|held| held.entry.kind).collect();
        (kinds, session.is_unfinished())
    }
}

/// Counts what happens, and makes room when a write has failed twice.
struct Host<'a> {
    bench: &'a Bench,
    /// How often it makes room, and how many bytes; then it gives up.
    room: (u32, u64),
    failures: u32,
    calls: u32,
    replies: u32,
    /// What was stored for delivery, and the journal's length that goes with it.
    stored: Vec<(String, Option<u64>)>,
    stored_fails: u32,
}

impl<'a> Host<'a> {
    fn new(bench: &'a Bench, room: (u32, u64)) -> Self {
        Self {
            bench,
            room,
            failures: 0,
            calls: 0,
            replies: 0,
            stored: Vec::new(),
            stored_fails: 1,
        }
    }
}

impl TurnHost for Host<'_> {
    fn on_event(&mut self, event: TurnEvent<'_>) {
        match event {
            TurnEvent::ToolHint(_) => self.calls += 1,
            TurnEvent::Said(_) => self.replies += 1,
            _ => {}
        }
    }

    fn ask(&mut self, _: &Question, _: &Cancel) -> Answer {
        Answer::Deny
    }

    fn close(&mut self, text: &str, journal: Option<u64>) -> Result<()> {
        if self.stored_fails > 0 {
            self.stored_fails -= 1;
            return Err(Error::Failed("the outbox is full".to_owned()));
        }
        self.stored.push((text.to_owned(), journal));
        Ok(())
    }

    fn retry_write(&mut self, _: &Error, _: &Cancel) -> bool {
        self.failures += 1;
        if self.failures % 2 == 1 {
            return true;
        }
        if self.room.0 == 0 {
            return false;
        }
        self.room.0 -= 1;
        self.bench.leave_room(self.room.1);
        true
    }
}

#[test]
fn on_a_full_disk_the_write_is_tried_again_and_not_the_turn() {
    run_alone("agent::tests::every_step_waits_for_room");
}

#[test]
#[ignore = "on_a_full_disk_the_write_is_tried_again_and_not_the_turn runs it"]
fn every_step_waits_for_room() {
    if !is_alone() {
        return;
    }
    let bench = Bench::new();
    let mut host = Host::new(&bench, (u32::MAX, 500));
    bench.leave_room(10);
    let report = bench.run(Some("list files"), &mut host).unwrap();
    limit_files(None);
    assert!(matches!(report.outcome, Outcome::Answered));
    assert!(report.text.contains("shopping.txt"), "{}", report.text);
    assert!(host.failures >= 4, "{} failures", host.failures);
    assert_eq!((host.calls, host.replies, host.stored.len()), (1, 1, 1));
    use EntryKind::{Assistant, Person, Tool};
    assert_eq!(
        bench.kinds(),
        (vec![Person, Assistant, Tool, Assistant], false)
    );
}

#[test]
fn a_turn_that_gives_up_leaves_the_journal_as_it_was_and_can_go_on() {
    run_alone("agent::tests::wherever_it_gives_up");
}

#[test]
#[ignore = "a_turn_that_gives_up_leaves_the_journal_as_it_was_and_can_go_on runs it"]
fn wherever_it_gives_up() {
    if !is_alone() {
        return;
    }
    let mut found = std::collections::BTreeSet::new();
    for (times, bytes) in (0..5).flat_map(|times| [220, 300, 400, 500].map(|bytes| (times, bytes)))
    {
        let bench = Bench::new();
        let mut host = Host::new(&bench, (times, bytes));
        bench.leave_room(10);
        let ended = bench.run(Some("list files"), &mut host);
        limit_files(None);
        let Err(error) = ended else { continue };
        let (kinds, is_unfinished) = bench.kinds();
        found.insert((kinds.len(), !host.stored.is_empty()));
        let journal = std::fs::read(bench.journal()).unwrap();
        assert!(
            journal.is_empty() || journal.ends_with(b"\n"),
            "no half line"
        );
        assert_eq!(is_unfinished, !kinds.is_empty());
        assert!(matches!(error, Error::Io { .. } | Error::Failed(_)));
        // What was stored names the place of the journal, so that it can be closed with it later.
        for (answer, place) in &host.stored {
            assert!(answer.contains("shopping.txt"), "{answer}");
            assert_eq!(*place, Some(bench.length()));
        }
        if is_unfinished {
            let mut host = Host::new(&bench, (0, 0));
            host.stored_fails = 0;
            bench.run(None, &mut host).unwrap();
            assert!(!bench.kinds().1);
        }
    }
    let every_step = [(0, false), (1, false), (2, false), (3, true)];
    assert!(
        every_step.iter().all(|step| found.contains(step)),
        "{found:?}"
    );
}

#[test]
fn an_answer_that_cannot_be_stored_does_not_end_the_turn() {
    let bench = Bench::new();
    let mut host = Host::new(&bench, (0, 0));
    host.stored_fails = u32::MAX;
    assert!(bench.run(Some("list files"), &mut host).is_err());
    let (kinds, is_unfinished) = bench.kinds();
    assert_eq!((kinds.len(), is_unfinished, host.failures), (3, true, 2));
}

#[test]
fn an_abandoned_turn_has_ended_and_the_model_was_not_asked() {
    let bench = Bench::new();
    let mut session = bench.open();
    let mut host = Host::new(&bench, (0, 0));
    let cancel = Cancel::new();
    cancel.cancel();
    bench
        .agent
        .abandon(&mut session, &mut host, &cancel)
        .unwrap();
    assert_eq!(bench.length(), 0, "nothing was unfinished");

    session
        .append(Entry::new(EntryKind::Person, "list files"))
        .unwrap();
    let mut calling = Entry::new(EntryKind::Assistant, "");
    calling.tool_calls.push(ToolCall {
        id: "1".to_owned(),
        name: "list_dir".to_owned(),
        arguments: "{}".to_owned(),
        signature: None,
    });
    session.append(calling).unwrap();
    bench
        .agent
        .abandon(&mut session, &mut host, &cancel)
        .unwrap();
    assert!(!session.is_unfinished());
    drop(session);
    use EntryKind::{Assistant, Person, Tool};
    assert_eq!(
        bench.kinds(),
        (vec![Person, Assistant, Tool, Assistant], false)
    );
    assert_eq!((host.calls, host.replies), (0, 0));
    let journal = std::fs::read_to_string(bench.journal()).unwrap();
    assert!(journal.contains("[stopped by the person]"), "{journal}");
    assert!(journal.contains(r#""turn":"stopped""#), "{journal}");
}

/// The offline helper calls only tools of its request, with a schema that takes what it gives them.
#[test]
fn a_tool_made_at_run_time_is_in_the_request_and_is_run() {
    struct Echo;
    impl Tool for Echo {
        fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
            let command = arguments.text("command", "a command")?;
            let text = format!("{} ran {command}", context.caller.session);
            Ok(ToolResult::new(text))
        }
    }
    let mut bench = Bench::new();
    let ask = |bench: &Bench| {
        let mut host = Host::new(bench, (0, 0));
        bench.run(Some("run df -h"), &mut host).unwrap().text
    };
    let without = ask(&bench);
    assert!(without.contains("`exec`"), "{without}");
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    });
    let spec = ToolSpec {
        name: ["ex", "ec"].concat().into(),
        description: "Made at run time.".to_owned().into(),
        parameters: schema.to_string().into(),
        read_only: false,
    };
    bench.agent.toolbox.add(spec, Box::new(Echo)).unwrap();
    let with = ask(&bench);
    assert!(with.contains("cli:test ran df -h"), "{with}");
}

#[test]
fn an_unfinished_turn_is_not_consolidated_before_its_end() {
    let bench = Bench::new();
    let mut session = bench.open();
    let said = |kind| Entry::new(kind, "tea");
    session.append(said(EntryKind::Person)).unwrap();
    let answer = said(EntryKind::Assistant);
    session.end_turn(Some(answer), TurnEnd::Answered).unwrap();
    session.clear().unwrap();
    assert_eq!(bench.agent.consolidation_due(&session), Some(Why::New));
    // Its result could not be noted, and each attempt would begin again at once, without end.
    session.append(said(EntryKind::Person)).unwrap();
    assert_eq!(bench.agent.consolidation_due(&session), None);
    session.end_turn(None, TurnEnd::Stopped).unwrap();
    assert_eq!(bench.agent.consolidation_due(&session), Some(Why::New));
}
