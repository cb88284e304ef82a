//! The tools as the model meets them: calls in, texts out, on real files.

mod files;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::base::limits::chat::IMAGE_BYTES;
use crate::base::limits::tools::RESULTS_AGE;
use crate::base::secret::Secret;
use crate::config::schema::Tools;
use crate::sandbox::files::Places;
use crate::store::plans::Plans;
use crate::sys::beneath::Resolver;

const SECRET: &str = "sk-canary-98765";

pub(super) struct Bench {
    pub top: TempDir,
    pub toolbox: Toolbox,
    time: Arc<AtomicI64>,
}

impl Bench {
    pub fn new(most_chars: usize) -> Self {
        let top = tempfile::tempdir().unwrap();
        let places = Places {
            workspace: top.path(),
            hidden: &[],
            user_home: None,
        };
        let workspace = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let time = Arc::new(AtomicI64::new(Clock::System.now().timestamp_millis()));
        let eraser = Eraser::new([Secret::new(SECRET)]);
        let toolbox = Toolbox::new(workspace, most_chars, eraser, Clock::Hand(time.clone()));
        Self { top, toolbox, time }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), content).unwrap();
    }

    fn text_of(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn run(&self, tool: &str, arguments: Value) -> ToolResult {
        self.toolbox
            .run(&call(tool, &arguments.to_string()), &caller(&Cancel::new()))
    }

    /// A call of a conversation, in the turn that answers this message.
    pub fn run_in(
        &self,
        tool: &str,
        session: &str,
        message: &str,
        arguments: &Value,
    ) -> ToolResult {
        let cancel = Cancel::new();
        let caller = Caller {
            session,
            message,
            ..caller(&cancel)
        };
        self.toolbox
            .run(&call(tool, &arguments.to_string()), &caller)
    }

    pub fn succeeds(&self, tool: &str, arguments: Value) -> String {
        let result = self.run(tool, arguments);
        assert!(!result.failed, "{}", result.text);
        result.text
    }

    pub fn fails(&self, tool: &str, arguments: Value) -> String {
        let result = self.run(tool, arguments);
        assert!(result.failed, "{}", result.text);
        assert!(result.text.starts_with("Error: "), "{}", result.text);
        let advice = "\n\nLook at the error and try another way.";
        let what = result.text.strip_suffix(advice);
        let is_refused = result.text.contains("\n\nTools may use: ");
        assert!(what.is_some() || is_refused, "{}", result.text);
        what.unwrap_or(&result.text)["Error: ".len()..].to_owned()
    }
}

/// What a call answered that succeeded.
pub(super) fn said(result: ToolResult) -> String {
    assert!(!result.failed, "{}", result.text);
    result.text
}

/// What a call answered that failed.
pub(super) fn refused(result: ToolResult) -> String {
    assert!(result.failed, "{}", result.text);
    result.text
}

fn caller(cancel: &Cancel) -> Caller<'_> {
    Caller {
        session: "cli:test",
        role: crate::base::access::Role::Owner,
        message: "",
        cancel,
        answer: None,
        progress: None,
        input: None,
        without: &[],
        author: None,
        is_asked: true,
    }
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "call_1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    }
}

#[test]
fn the_specs_are_valid_schemas_and_small() {
    let bench = Bench::new(16_000);
    let specs = bench.toolbox.specs();
    assert_eq!(specs.len(), 7);
    let mut bytes = 0;
    for spec in &specs {
        let schema: Value = serde_json::from_str(&spec.parameters).unwrap();
        assert_eq!(schema["type"], "object");
        let properties = schema["properties"].as_object().unwrap();
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(
                properties.contains_key(required.as_str().unwrap()),
                "{}",
                spec.name
            );
        }
        bytes += spec.bytes();
    }
    assert!(
        bytes < 3000,
        "the specs take {bytes} bytes of every request"
    );
    let read_only = |name: &&ToolSpec| bench.toolbox.is_read_only(&name.name);
    let names: Vec<&str> = specs
        .iter()
        .filter(read_only)
        .map(|spec| &*spec.name)
        .collect();
    assert_eq!(names, ["read_file", "list_dir", "find_files", "grep"]);
    assert!(!bench.toolbox.is_read_only("no_tool"));
}

/// Counts its calls, and returns what it is given as often as it was called.
struct Repeat(AtomicI64);

impl Tool for Repeat {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let word = arguments.text("word", "what to repeat")?;
        let words = word.repeat(count as usize);
        Ok(ToolResult::new(format!(
            "{}: {words}",
            context.caller.session
        )))
    }
}

#[test]
fn a_tool_made_at_run_time_is_told_run_and_cleaned_like_any_other() {
    let mut bench = Bench::new(600);
    let spec = |name: String| ToolSpec {
        name: name.into(),
        description: format!("Repeats {} times.", 1 + 1).into(),
        parameters: json!({"type": "object", "properties": {"word": {"type": "string"}}})
            .to_string()
            .into(),
        read_only: true,
    };
    let name = format!("repeat_{}", 2);
    let repeat = || Box::new(Repeat(AtomicI64::new(0)));
    bench.toolbox.add(spec(name.clone()), repeat()).unwrap();
    assert_eq!(bench.toolbox.specs().last(), Some(&spec(name.clone())));
    assert!(bench.toolbox.is_read_only(&name));
    assert_eq!(bench.succeeds(&name, json!({"word": "ab"})), "cli:test: ab");
    assert_eq!(bench.succeeds(&name, json!({"word": 7})), "cli:test: 77");
    assert!(bench.fails(&name, json!({})).contains("word is missing"));
    let secret = bench.succeeds(&name, json!({"word": SECRET}));
    assert!(secret.contains("[secret]") && !secret.contains(SECRET));
    let long = bench.succeeds(&name, json!({"word": "x".repeat(300)}));
    assert!(long.contains("-repeat_2-"), "{long}");
    let unknown = bench.fails("repeat", json!({}));
    assert!(unknown.ends_with("grep, repeat_2"), "{unknown}");

    for taken in [name, "grep".to_owned()] {
        let error = bench.toolbox.add(spec(taken.clone()), repeat());
        let error = error.unwrap_err().to_string();
        assert_eq!(error, format!("there already is a tool named {taken}"));
    }
}

#[test]
fn the_built_in_tools_pass_the_checks_for_others_and_are_listed_as_they_are_told() {
    let mut registry = Registry::default();
    for spec in specs(Capabilities::ALL) {
        registry
            .add(spec, Box::new(Repeat(AtomicI64::new(0))))
            .unwrap();
    }
    let names: Vec<&str> = registry.specs().iter().map(|spec| &*spec.name).collect();
    assert_eq!(
        names[7..],
        [
            "exec",
            "exec_session",
            "device",
            "memory",
            "web_search",
            "web_fetch",
            "cron",
            "watch",
            "spawn",
            "message"
        ]
    );

    let bench = Bench::new(600);
    let board = Board::new(&bench.path("tree"), bench.top.path());
    let toolbox = bench.toolbox.with_board(Arc::new(board));
    let toolbox = toolbox
        .with_memory(bench.top.path().to_owned(), Clock::System)
        .with_web(web::tests::web())
        .with_subagents(Plans::new(bench.top.path()))
        .with_chats(false);
    let without_commands = Capabilities {
        commands: false,
        cron: false,
        watch: false,
        ..Capabilities::ALL
    };
    assert_eq!(toolbox.specs(), specs(without_commands));
    // Only the agents of a plan have its tools.
    let more = |session: &str| toolbox.specs_for(session).len() - toolbox.specs().len();
    assert_eq!(more("subagent:0123abcd"), 0);
    assert_eq!(
        ["p1", "2w1", "2c1"].map(|it| more(&format!("subagent:0123abcd-{it}"))),
        [2, 4, 2]
    );
}

#[test]
fn a_bad_call_gets_an_error_that_helps_and_an_unknown_tool_the_list() {
    let bench = Bench::new(16_000);
    assert_eq!(
        bench.fails("read_files", json!({})),
        "there is no tool \"read_files\"; there are read_file, write_file, edit_file, append_file, \
         list_dir, find_files, grep"
    );
    assert_eq!(
        bench.fails("read_file", json!({"file": "x"})),
        "the parameter path is missing (a path, relative to the workspace or absolute); the call \
         has file"
    );
    assert_eq!(
        bench.fails("read_file", json!({"path": "none.txt"})),
        "cannot read none.txt: no such file or directory"
    );
    let error = bench
        .toolbox
        .run(&call("grep", "pattern"), &caller(&Cancel::new()));
    assert!(
        error.failed && error.text.contains("not a JSON object"),
        "{}",
        error.text
    );
    let stopped = Cancel::new();
    stopped.cancel();
    let result = bench
        .toolbox
        .run(&call("list_dir", "{}"), &caller(&stopped));
    assert_eq!(
        (result.text.as_str(), result.failed),
        ("Error: stopped", true)
    );
}

#[test]
fn no_tool_reaches_what_is_outside() {
    let bench = Bench::new(16_000);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "canary").unwrap();
    symlink(outside.path(), bench.path("out")).unwrap();
    let absolute = outside.path().join("secret");
    let mut tried = 0;
    for path in ["../x", "out/secret", "out", absolute.to_str().unwrap()] {
        for spec in bench.toolbox.specs() {
            let arguments = json!({
                "path": path, "content": "x", "old_text": "canary", "new_text": "x", "pattern": "c",
            });
            let error = bench.fails(&spec.name, arguments);
            assert!(
                error.contains("outside the workspace.")
                    && error.contains("Tools may use: workspace "),
                "{error}"
            );
            tried += 1;
        }
    }
    assert_eq!(tried, 28);
    assert_eq!(std::fs::read(absolute).unwrap(), b"canary");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    let everything = bench.succeeds("grep", json!({"pattern": "."}));
    assert_eq!(everything, "[no match]", "a search follows no link");
}

#[test]
fn a_result_that_is_too_long_keeps_its_ends_and_goes_whole_to_a_file() {
    let bench = Bench::new(1000);
    for number in 0..100 {
        bench.put(&format!("a-file-with-a-longer-name-{number:03}"), SECRET);
    }
    let listed = bench.succeeds("list_dir", json!({"path": "."}));
    assert!(listed.chars().count() <= 1000, "{}", listed.len());
    assert!(listed.starts_with("a-file-with-a-longer-name-000 ("));
    assert!(listed.ends_with("a-file-with-a-longer-name-099 (15 bytes)\n"));
    let (_, rest) = listed.split_once("the whole is in ").unwrap();
    let (path, _) = rest.split_once(']').unwrap();
    assert!(
        path.starts_with(".results/") && path.contains("-list_dir-"),
        "{path}"
    );
    let whole = bench.text_of(path);
    assert_eq!(whole.lines().count(), 100);
    let found = bench.succeeds("grep", json!({"pattern": "-050 ", "path": path}));
    assert!(
        found.ends_with(": a-file-with-a-longer-name-050 (15 bytes)\n"),
        "{found}"
    );

    let later = RESULTS_AGE.as_millis() as i64 + 60_000;
    bench.time.fetch_add(later, Ordering::Relaxed);
    bench.succeeds("list_dir", json!({"path": "."}));
    assert!(!bench.path(path).exists(), "a week later it is gone");
}

#[test]
fn no_text_that_leaves_holds_a_known_secret() {
    let bench = Bench::new(600);
    bench.put("key.txt", format!("the key is {SECRET}!\n"));
    bench.put("keys.txt", format!("{SECRET}\n").repeat(100));
    let read = bench.succeeds("read_file", json!({"path": "key.txt"}));
    assert_eq!(read, "the key is [secret]!\n");
    assert!(
        bench
            .fails("read_file", json!({"path": SECRET}))
            .contains("read [secret]")
    );
    let found = bench.succeeds("grep", json!({"pattern": "."}));
    assert!(!found.contains(SECRET), "{found}");
    let kept = std::fs::read_dir(bench.path(".results")).unwrap();
    let kept: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "the long result was kept");
    assert!(!std::fs::read_to_string(&kept[0]).unwrap().contains(SECRET));
    let hint = bench
        .toolbox
        .hint(&call("read_file", &json!({"path": SECRET}).to_string()));
    assert_eq!(hint, "read_file(\"[secret]\")");
}

/// The eraser knows whole keys only, so it has to come before whatever cuts a line.
#[test]
fn a_key_is_not_given_away_in_halves() {
    let bench = Bench::new(600);
    let half = &SECRET[..8];
    for before in 0..600 {
        let line = format!("{}{SECRET}{}", "x".repeat(before), "y".repeat(600));
        bench.put("long.txt", line);
        let read = bench.succeeds("read_file", json!({"path": "long.txt"}));
        assert!(!read.contains(half), "at {before}: {read}");
    }
    bench.put("long.txt", format!("{}{SECRET}", "x".repeat(600)));
    for pattern in [".", "x{200}", "x{400}", "x{500}", half, "[sk-]+canary"] {
        let found = bench.succeeds("grep", json!({"pattern": pattern, "path": "long.txt"}));
        assert!(!found.contains(half), "{pattern}: {found}");
    }
}

#[test]
fn a_hint_names_the_file_or_the_command_else_the_first_text() {
    let bench = Bench::new(16_000);
    let hint = |arguments: &str| bench.toolbox.hint(&call("x", arguments));
    assert_eq!(
        hint(r#"{"limit": 3, "path": "src/main.py"}"#),
        "x(\"src/main.py\")"
    );
    assert_eq!(hint(r#"{"pattern": "a\nb", "glob": "c"}"#), "x(\"a b\")");
    assert_eq!(
        hint(r#"{"content": "hello", "path": "a.txt"}"#),
        "x(\"a.txt\")"
    );
    assert_eq!(hint(r#"{"reason": "why", "command": "ls"}"#), "x(\"ls\")");
    assert_eq!(hint("{}"), "x()");
    assert_eq!(hint("garbage"), "x()");
    let long = "ä".repeat(41);
    let expected = format!("x(\"{}…\")", "ä".repeat(40));
    assert_eq!(hint(&json!({"text": long}).to_string()), expected);
}

#[test]
fn a_built_in_skill_is_read_where_the_workspace_has_none() {
    let bench = Bench::new(16_000);
    let path = "skills/weather/SKILL.md";
    let text = bench.succeeds("read_file", json!({ "path": path }));
    assert!(text.starts_with("---\nname: weather\n"), "{text}");
    let absolute = bench.path(path);
    assert_eq!(
        bench.succeeds("read_file", json!({ "path": absolute })),
        text
    );
    let part = bench.succeeds(
        "read_file",
        json!({ "path": path, "offset": 2, "limit": 1 }),
    );
    assert!(part.starts_with("name: weather\n\n[up to line 2"), "{part}");
    bench.fails("read_file", json!({ "path": "skills/wether/SKILL.md" }));
    bench.put(path, "Mine.");
    assert_eq!(
        bench.succeeds("read_file", json!({ "path": path })),
        "Mine.\n"
    );
    std::fs::remove_file(bench.path(path)).unwrap();
    symlink("/etc/hostname", bench.path(path)).unwrap();
    bench.fails("read_file", json!({ "path": path }));
}
