//! The tools as the model meets them: calls in, texts out, on real files.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::config::schema::Tools;
use crate::files::Places;
use crate::limits::chat::IMAGE_BYTES;
use crate::limits::tools::RESULTS_AGE;
use crate::secret::Secret;
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

fn caller(cancel: &Cancel) -> Caller<'_> {
    Caller {
        session: "cli:test",
        role: crate::access::Role::Owner,
        message: "",
        cancel,
        answer: None,
        progress: None,
        input: None,
        without: &[],
        author: None,
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
        .with_subagents()
        .with_chats();
    let without_commands = Capabilities {
        commands: false,
        cron: false,
        watch: false,
        ..Capabilities::ALL
    };
    assert_eq!(toolbox.specs(), specs(without_commands));
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
fn read_file_gives_parts_that_say_how_to_go_on() {
    let bench = Bench::new(16_000);
    bench.put("four", "one\r\ntwo\nthree\nfour");
    let read = |arguments| bench.succeeds("read_file", arguments);
    assert_eq!(read(json!({"path": "four"})), "one\ntwo\nthree\nfour\n");
    assert_eq!(
        read(json!({"path": "four", "offset": "2", "limit": 2, "numbered": true})),
        "    2  two\n    3  three\n\n[up to line 3 of a longer file; go on with offset 4]"
    );
    assert_eq!(read(json!({"path": "four", "offset": 4})), "four\n");
    for offset in [5, 500] {
        assert_eq!(
            bench.fails("read_file", json!({"path": "four", "offset": offset})),
            format!("the offset {offset} is beyond the end: the file has 4 lines")
        );
    }
    bench.put("empty", "");
    assert_eq!(read(json!({"path": "empty"})), "[the file is empty]");
    bench.put("latin", b"caf\xe9\n");
    assert_eq!(read(json!({"path": "latin"})), "caf\u{fffd}\n");
}

#[test]
fn read_file_follows_its_own_notes_through_a_long_file() {
    let bench = Bench::new(1000);
    let lines: Vec<String> = (1..=300).map(|number| format!("line {number} ä")).collect();
    bench.put("long", lines.join("\n"));
    let mut offset = 1;
    let mut seen = String::new();
    for _ in 0..300 {
        let text = bench.succeeds("read_file", json!({"path": "long", "offset": offset}));
        assert!(text.chars().count() <= 1000);
        let Some((part, note)) = text.split_once("\n[up to line ") else {
            seen.push_str(&text);
            break;
        };
        seen.push_str(part);
        let next = note.rsplit_once(' ').unwrap().1.trim_end_matches(']');
        offset = next.parse().unwrap();
    }
    assert_eq!(seen.lines().collect::<Vec<_>>(), lines);
    assert!(
        !bench.path(".results").exists(),
        "the file itself has the whole"
    );
}

#[test]
fn read_file_never_reads_a_huge_file_whole() {
    let bench = Bench::new(16_000);
    bench.put("huge", "a line\n".repeat(5000));
    let file = std::fs::File::options()
        .append(true)
        .open(bench.path("huge"));
    file.unwrap().set_len(2 << 30).unwrap();
    let text = bench.succeeds("read_file", json!({"path": "huge"}));
    assert!(text.len() < 16_100);
    assert!(text.contains("go on with offset "), "{text}");
    let text = bench.succeeds("read_file", json!({"path": "huge", "offset": 5001}));
    assert!(text.contains("[this line is longer than what can be shown"));
    let error = bench.fails(
        "edit_file",
        json!({"path": "huge", "old_text": "a", "new_text": "b"}),
    );
    assert!(
        error.starts_with("huge is larger than the limit of "),
        "{error}"
    );
}

#[test]
fn read_file_names_what_is_no_text_and_gives_images() {
    let bench = Bench::new(16_000);
    bench.put("a.zip", b"PK\x03\x04\0\0");
    assert_eq!(
        bench.succeeds("read_file", json!({"path": "a.zip"})),
        "a.zip is not a text file: ZIP archive or Office document, 6 bytes"
    );
    let image = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![7; 20_000]].concat();
    bench.put("a.png", &image);
    let result = bench.run("read_file", json!({"path": "a.png"}));
    assert_eq!(result.text, "a.png: image/png, 20008 bytes");
    assert_eq!(result.images[0].media_type, "image/png");
    assert_eq!(result.images[0].path, "a.png");
    assert!(result.images[0].base64.starts_with("iVBORw0KGgoHBwcH"));
    bench.put("big.png", [image, vec![0; IMAGE_BYTES]].concat());
    let error = bench.fails("read_file", json!({"path": "big.png"}));
    assert!(
        error.contains("larger than the limit of 1500 kB"),
        "{error}"
    );
    bench.put("folder/x", "");
    let error = bench.fails("read_file", json!({"path": "folder"}));
    assert_eq!(error, "cannot read folder: is a directory");
}

#[test]
fn files_are_written_added_to_and_edited() {
    let bench = Bench::new(16_000);
    let note = "notes/today.md";
    assert_eq!(
        bench.succeeds("write_file", json!({"path": note, "content": "one\ntwo\n"})),
        "Wrote 8 bytes to notes/today.md"
    );
    assert_eq!(
        bench.succeeds("append_file", json!({"path": note, "content": "two\n"})),
        "Added 4 bytes to notes/today.md"
    );
    let edit = json!({"path": note, "old_text": "two", "new_text": "2"});
    assert_eq!(
        bench.fails("edit_file", edit),
        "notes/today.md: old_text occurs 2 times, at lines 2, 3; add lines around it until it \
         is unique, or set replace_all"
    );
    let edit = json!({"path": note, "old_text": "two", "new_text": "2", "replace_all": "true"});
    assert_eq!(
        bench.succeeds("edit_file", edit),
        "Edited notes/today.md at 2 places"
    );
    let edit = json!({"path": note, "old_text": "one\n", "new_text": ""});
    assert_eq!(
        bench.succeeds("edit_file", edit),
        "Edited notes/today.md at line 1"
    );
    assert_eq!(bench.text_of(note), "2\n2\n");
    let error = bench.fails("write_file", json!({"path": note, "content": {"a": 1}}));
    assert_eq!(
        error,
        "the parameter content wants the file's whole text, and is an object"
    );
}

#[test]
fn folders_are_listed_and_files_found() {
    let bench = Bench::new(16_000);
    bench.put("src/main.rs", "12345");
    bench.put("src/deep/lib.rs", "");
    bench.put("README.md", "x");
    bench.put(".git/config", "x");
    symlink("src", bench.path("link")).unwrap();
    assert_eq!(
        bench.succeeds("list_dir", json!({"path": "."})),
        ".git/\nREADME.md (1 bytes)\nlink (link)\nsrc/\n"
    );
    assert_eq!(
        bench.succeeds("list_dir", json!({"path": "link", "recursive": true})),
        "deep/\ndeep/lib.rs (0 bytes)\nmain.rs (5 bytes)\n"
    );
    let few = bench.succeeds("list_dir", json!({"path": "", "max_entries": 1}));
    assert!(few.starts_with(".git/\n[there are more than 1;"), "{few}");
    assert!(
        bench
            .fails("list_dir", json!({"path": "README.md"}))
            .contains("not a directory")
    );
    let find = |arguments| bench.succeeds("find_files", arguments);
    assert_eq!(
        find(json!({"glob": "*.rs"})),
        "src/deep/lib.rs\nsrc/main.rs\n"
    );
    assert_eq!(
        find(json!({"glob": "deep/*", "path": "src"})),
        "src/deep/lib.rs\n"
    );
    assert_eq!(find(json!({"type": "folder"})), ".git/\nsrc/\nsrc/deep/\n");
    assert_eq!(find(json!({"glob": "*.py"})), "[nothing found]");
    let error = bench.fails("find_files", json!({"glob": "{a"}));
    assert!(error.starts_with("the glob \"{a\" is wrong: "), "{error}");
    let error = bench.fails("find_files", json!({"type": "pipe"}));
    assert_eq!(
        error,
        "the parameter type wants file or folder, and is \"pipe\""
    );
}

#[test]
fn grep_shows_lines_with_their_numbers_and_surroundings() {
    let bench = Bench::new(16_000);
    bench.put("a/one.txt", "alpha\nbeta\ngamma\ndelta\nepsilon\nBETA\n");
    bench.put("a/two.md", "beta");
    bench.put("binary", b"beta\0beta");
    bench.put(".git/x", "beta");
    let grep = |arguments| bench.succeeds("grep", arguments);
    assert_eq!(
        grep(json!({"pattern": "^beta$"})),
        "a/one.txt\n2: beta\n\na/two.md\n1: beta\n"
    );
    assert_eq!(
        grep(json!({"pattern": "beta", "glob": "*.md", "path": "a"})),
        "a/two.md\n1: beta\n"
    );
    assert_eq!(
        grep(
            json!({"pattern": "beta", "path": "a/one.txt", "case_insensitive": true, "context": 1})
        ),
        "a/one.txt\n1- alpha\n2: beta\n3- gamma\n--\n5- epsilon\n6: BETA\n"
    );
    let one = grep(json!({"pattern": "a", "max_matches": 1, "context": 1}));
    assert!(
        one.starts_with("a/one.txt\n1: alpha\n2- beta\n\n[stopped after 1 matches;"),
        "{one}"
    );
    assert_eq!(grep(json!({"pattern": "none"})), "[no match]");
    bench.put(
        "minified",
        format!("{}needle{}", "x".repeat(5000), "y".repeat(5000)),
    );
    let found = grep(json!({"pattern": "needle"}));
    assert!(found.contains("xneedley") && found.len() < 400, "{found}");
    let error = bench.fails("grep", json!({"pattern": "a("}));
    assert!(
        error.starts_with("the pattern \"a(\" is not understood: "),
        "{error}"
    );
    assert!(error.ends_with("put a \\ before them"), "{error}");
    assert!(
        bench
            .fails("grep", json!({"pattern": "x".repeat(2000)}))
            .contains("limit of 1000")
    );
    let error = bench.fails("grep", json!({"pattern": "((a{500}){500}){500}"}));
    assert!(error.contains("not understood"), "{error}");
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
