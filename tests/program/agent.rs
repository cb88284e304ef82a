//! A conversation with a model that answers.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::{Home, KEY, MODEL};
use crate::harness::model::{
    Format, Gate, INPUT_TOKENS, Model, OUTPUT_TOKENS, Request, call, error, overflow, say,
};
use crate::harness::program::{Output, Program};
use crate::harness::terminal::Terminal;

#[test]
fn a_question_gets_its_answer_on_stdout() {
    let model = Model::playing([say("It is four.")]);
    let home = Home::with_model(&model);
    let output = Program::new(&home)
        .args(["agent", "-m", "two and two?"])
        .run()
        .ends_with(0);
    assert_eq!(output.stdout, "It is four.\n");

    let request = &model.requests()[0];
    assert_eq!(request.format, Format::OpenAi);
    assert_eq!(
        request.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert_eq!(request.body["model"], MODEL);
    assert!(request.last_message().contains("two and two?"));
    let first = &request.messages()[0];
    assert_eq!(first["role"], "system");
    assert!(!first.to_string().contains(KEY));
}

#[test]
fn a_question_may_come_through_a_pipe() {
    let model = Model::playing([say("short")]);
    let home = Home::with_model(&model);
    let piped = Program::new(&home)
        .arg("agent")
        .stdin("sum up: crabs\n")
        .run()
        .ends_with(0);
    assert_eq!(piped.stdout, "short\n");
    assert!(model.requests()[0].last_message().contains("sum up: crabs"));
}

/// What the model was asked, as the person's own text.
fn asked(model: &Model, number: usize) -> String {
    let message: Value = serde_json::from_str(&model.requests()[number].last_message()).unwrap();
    match &message["content"] {
        Value::String(text) => text.clone(),
        parts => parts.to_string(),
    }
}

#[test]
fn piped_text_goes_below_the_question() {
    let model = Model::playing([say("an error"), say("a hint")]);
    let home = Home::with_model(&model);
    for arguments in [
        &["agent", "-m", "explain this"][..],
        &["agent", "explain", "this"],
    ] {
        let program = Program::new(&home).args(arguments).stdin("E42: no disk\n");
        program.run().ends_with(0);
    }
    for number in [0, 1] {
        let text = asked(&model, number);
        let expected =
            "explain this\n\n--- standard input ---\nE42: no disk\n--- end of standard input ---";
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn of_a_long_pipe_the_beginning_and_the_end_are_asked_about() {
    let model = Model::playing([say("long")]);
    let home = Home::with_model(&model);
    let lines: String = (0..200_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    let output = Program::new(&home)
        .args(["agent", "-m", "sum up"])
        .stdin(&lines)
        .run()
        .ends_with(0);
    output.complains_of(&["standard input is too long (2.3 MB); only its first and last 49.2 kB"]);
    let text = asked(&model, 0);
    assert!(text.len() < 100_000, "{} bytes", text.len());
    for part in [
        "---\nline 0\nline 1\n",
        "bytes left out here …]\nline",
        "line 199999\n---",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

/// The smallest PNG: one transparent pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

#[test]
fn files_are_attached_by_a_flag_and_by_a_word() {
    let model = Model::playing([
        say("a text"),
        say("a pixel"),
        say("a file"),
        say("nothing"),
        say("a typo"),
    ]);
    let mut home = Home::with_model(&model);
    // A model that sees, by its name.
    home.set("/agents/defaults/model", json!("gpt-4o"));
    fs::write(home.path().join("note.txt"), "hello from the note\n").unwrap();
    fs::write(home.path().join("pixel.png"), PIXEL).unwrap();
    let ask = |arguments: &[&str]| Program::new(&home).arg("agent").args(arguments).run();
    ask(&["what", "is", "in", "@note.txt?"]).ends_with(0);
    let text = asked(&model, 0);
    let expected =
        "what is in @note.txt?\n\n--- note.txt ---\nhello from the note\n--- end of note.txt ---";
    assert!(text.ends_with(expected), "{text}");

    ask(&["--file", "pixel.png", "-m", "what is this?"]).ends_with(0);
    let parts = asked(&model, 1);
    assert!(parts.contains("data:image/png;base64,iVBOR"), "{parts}");
    assert!(parts.contains("-pixel.png]"), "{parts}");
    let kept: Vec<_> = fs::read_dir(home.workspace("inbox")).unwrap().collect();
    assert_eq!(kept.len(), 1, "the agent's tools can read it: {kept:?}");

    ask(&["-m", "mail ann@note.txt about @nothing"]).ends_with(0);
    assert!(asked(&model, 2).ends_with("mail ann@note.txt about @nothing"));
    let mistyped = ask(&["read @nots.txt."]).ends_with(0);
    mistyped.complains_of(&["There is no file nots.txt, so @nots.txt is sent as text."]);
    for (path, why) in [
        ("missing.txt", "there is no such file"),
        (".", "it is a folder"),
    ] {
        ask(&["-f", path, "-m", "hi"])
            .ends_with(2)
            .complains_of(&["Cannot attach", path, why]);
    }
    let piped = Program::new(&home)
        .args(["agent", "-m", "hi"])
        .stdin("%PDF-1.7 \0");
    piped
        .run()
        .ends_with(2)
        .complains_of(&["PDF document", "--file PATH"]);
    assert_eq!(model.requests().len(), 4, "none of these were asked");
}

#[test]
fn a_picture_for_a_model_that_does_not_see_is_said() {
    let model = Model::playing([say("a file")]);
    let home = Home::with_model(&model);
    fs::write(home.path().join("pixel.png"), PIXEL).unwrap();
    Program::new(&home)
        .args(["agent", "--file", "pixel.png", "-m", "what is this?"])
        .run()
        .ends_with(0)
        .complains_of(&["cannot see pictures", ".images true"]);
}

#[test]
fn a_single_question_has_a_conversation_of_its_own_that_is_kept() {
    let model = Model::playing([say("Hello Ada."), say("Who knows.")]);
    let home = Home::with_model(&model);
    let ask = |text: &str| {
        Program::new(&home)
            .args(["agent", "-m", text])
            .run()
            .ends_with(0)
    };
    ask("I am Ada");
    ask("who am I?");
    assert!(
        !model.requests()[1].body["messages"]
            .to_string()
            .contains("Ada")
    );
    let list = Program::new(&home)
        .args(["sessions", "list"])
        .run()
        .ends_with(0)
        .stdout;
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(names.iter().all(|name| name.starts_with("ask-")), "{list}");
    assert!(
        list.contains("I am Ada") && list.contains("who am I?"),
        "{list}"
    );
    let first = list.lines().position(|line| line.contains("I am Ada"));
    let shown = Program::new(&home)
        .args(["sessions", "show", names[first.unwrap()]])
        .run()
        .ends_with(0);
    assert!(shown.stdout.contains("Hello Ada."), "{shown:?}");
}

#[test]
fn of_the_conversations_of_single_questions_only_the_last_ones_are_kept() {
    let model = Model::playing([say("hello")]);
    let home = Home::with_model(&model);
    let sessions = home.path().join("sessions");
    fs::create_dir(&sessions).unwrap();
    for number in 0..60 {
        let line = r#"{"_type":"metadata","key":"cli:ask-1"}"#;
        let file = sessions.join(format!("cli_ask-20200101-0000{number:02}.jsonl"));
        fs::write(file, format!("{line}\n")).unwrap();
    }
    fs::write(sessions.join("cli_work.jsonl"), "").unwrap();
    Program::new(&home)
        .args(["agent", "-m", "hi"])
        .run()
        .ends_with(0);
    assert_eq!(
        fs::read_dir(&sessions).unwrap().count(),
        50 + 1,
        "and the other conversation"
    );
    assert!(home.journals_of_questions().contains("hello"));
}

#[test]
fn a_background_command_that_ends_with_the_question_is_named() {
    let model = Model::playing([
        call("exec", json!({"command": "sleep 600", "background": true})),
        say("it runs"),
    ]);
    let home = Home::with_model(&model);
    let output = Program::new(&home).args(["agent", "-m", "start it"]).run();
    let output = output.ends_with(0);
    output.complains_of(&["1 background command was ended: `sleep 600`"]);
}

#[test]
fn runtime_notes_and_stops_are_shown_as_what_they_are() {
    let model = Model::playing([say(""), say("the third")]);
    let home = Home::with_model(&model);
    let run = |arguments: &[&str]| Program::new(&home).args(arguments).run().ends_with(0);
    run(&["agent", "-s", "work", "-m", "which one?"]);
    let shown = run(&["sessions", "show", "work"]).stdout;
    assert_eq!(shown.matches("you · ").count(), 1, "{shown}");
    assert!(shown.contains("runtime note · "), "{shown}");
}

#[test]
fn a_tool_reads_a_real_file_and_the_model_hears_of_it() {
    for anthropic in [false, true] {
        let model = Model::playing([
            call("read_file", json!({"path": "note.txt"})).thinking("what does it say?"),
            say("The note says hello."),
        ]);
        let home = match anthropic {
            true => Home::with_anthropic_model(&model),
            false => Home::with_model(&model),
        };
        fs::write(home.workspace("note.txt"), "hello from the note").unwrap();
        let output = Program::new(&home)
            .args(["agent", "-s", "default", "-m", "read it"])
            .run()
            .ends_with(0);
        assert_eq!(output.stdout, "The note says hello.\n");
        assert!(
            output.stderr.contains("read_file(\"note.txt\")"),
            "{output:?}"
        );

        let requests = model.requests();
        assert_eq!(requests.len(), 2);
        assert!(requests[1].last_message().contains("hello from the note"));
        assert_eq!(
            model.connections(),
            1,
            "the connection is kept between the steps of a turn"
        );
        let journal = home.journal("default");
        assert!(journal.contains("hello from the note"), "{journal}");
        assert!(
            !journal.contains("what does it say?"),
            "thoughts are not saved: {journal}"
        );
    }
}

#[test]
fn several_calls_of_one_reply_all_run_and_answer_in_order() {
    let model = Model::playing([
        call("write_file", json!({"path": "a.txt", "content": "first"}))
            .and_call(
                "append_file",
                json!({"path": "a.txt", "content": " second"}),
            )
            .and_call("read_file", json!({"path": "a.txt"})),
        say("done"),
    ]);
    let home = Home::with_model(&model);
    Program::new(&home)
        .args(["agent", "-m", "write"])
        .run()
        .ends_with(0);
    assert_eq!(
        fs::read_to_string(home.workspace("a.txt")).unwrap(),
        "first second"
    );
    let request = &model.requests()[1];
    let results: Vec<&Value> = request
        .messages()
        .iter()
        .filter(|m| m["role"] == "tool")
        .collect();
    assert_eq!(results.len(), 3);
    assert!(results[2].to_string().contains("first second"));
}

#[test]
fn anthropics_format_has_its_headers_and_its_system_prompt() {
    let model = Model::playing([say("hello")]);
    let home = Home::with_anthropic_model(&model);
    Program::new(&home)
        .args(["agent", "-m", "hi"])
        .run()
        .ends_with(0);
    let request = &model.requests()[0];
    assert_eq!(request.format, Format::Anthropic);
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert!(request.header("anthropic-version").is_some());
    assert!(request.body["system"].to_string().contains("Peacrab"));
}

#[test]
fn an_answer_that_shows_nothing_is_said_to_be_empty() {
    for answer in ["<!-- done -->", "\u{200b}\u{2060}", "```\n```", "\u{3164}"] {
        let model = Model::playing([say(answer), say(answer)]);
        let home = Home::with_model(&model);
        let output = Program::new(&home).args(["agent", "-m", "hi"]).run();
        assert_eq!(output.ends_with(0).stdout, "(empty answer)\n", "{answer:?}");
        let output = Program::new(&home)
            .args(["agent", "--json", "-m", "hi"])
            .run();
        let read: Value = serde_json::from_str(&output.ends_with(0).stdout).unwrap();
        assert_eq!(read["text"], "(empty answer)", "{answer:?}");
    }
}

#[test]
fn json_output_is_one_object_with_the_tools_and_the_cost() {
    let model = Model::playing([call("list_dir", json!({"path": "."})), say("one file")]);
    let home = Home::with_model(&model);
    fs::write(home.workspace("a.txt"), "").unwrap();
    let arguments = ["agent", "--json", "-s", "work", "-m", "list"];
    let output = Program::new(&home).args(arguments).run().ends_with(0);
    let said: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(said["session"], "cli:work");
    assert_eq!(said["text"], "one file");
    assert_eq!(said["model"], MODEL);
    assert_eq!(said["provider"], "fake");
    assert_eq!(said["steps"], 2);
    assert_eq!(said["tools"].as_array().map(Vec::len), Some(1), "{said}");
    assert!(said["tools"][0].to_string().contains("list_dir"), "{said}");
    assert_eq!(said["usage"]["input"], 2 * INPUT_TOKENS);
    assert_eq!(said["usage"]["output"], 2 * OUTPUT_TOKENS);
    assert_eq!(said["stopped"], false);
}

#[test]
fn a_conversation_is_remembered_and_another_session_knows_nothing_of_it() {
    let model = Model::playing([say("Hello Ada."), say("Ada."), say("I do not know.")]);
    let home = Home::with_model(&model);
    let ask = |session: &str, text: &str| {
        Program::new(&home)
            .args(["agent", "-s", session, "-m", text])
            .run()
            .ends_with(0)
    };
    ask("one", "I am Ada");
    ask("one", "who am I?");
    ask("two", "who am I?");
    let asked: Vec<String> = model
        .requests()
        .iter()
        .map(|r| r.body["messages"].to_string())
        .collect();
    assert!(asked[1].contains("I am Ada") && asked[1].contains("Hello Ada."));
    assert!(!asked[2].contains("Ada"));

    let sessions = |arguments: &[&str]| Program::new(&home).arg("sessions").args(arguments).run();
    let bare = sessions(&[]).ends_with(0).stdout;
    assert_eq!(bare, sessions(&["list"]).ends_with(0).stdout);
    let list = sessions(&["list"]).ends_with(0).stdout;
    assert!(list.contains("one") && list.contains("two"), "{list}");
    assert!(
        sessions(&["show", "one"])
            .ends_with(0)
            .stdout
            .contains("Hello Ada.")
    );
    sessions(&["delete", "one"]).ends_with(0);
    assert_eq!(home.journal("one"), "");
}

#[test]
fn an_answer_is_shown_while_it_comes() {
    let gate = Gate::default();
    let model = Model::playing([say("first half, second half")
        .in_pieces(4)
        .pausing_at(&gate)]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "--no-markdown", "-m", "hi"]);
    terminal.wait_for("first");
    assert!(!terminal.shown().contains("second half"));
    gate.open();
    terminal.wait_for("second half");
    assert_eq!(terminal.finish(), Some(0));
}

#[test]
fn a_server_with_its_own_authority_is_reached_through_tls() {
    let model = Model::playing_with_tls([call("list_dir", json!({"path": "."})), say("over TLS")]);
    let mut home = Home::with_model(&model);
    let output = Program::new(&home)
        .args(["agent", "-m", "hi"])
        .run()
        .ends_with(0);
    assert_eq!(output.stdout, "over TLS\n");

    home.set("/tls/caFile", Value::Null);
    let output = Program::new(&home).args(["agent", "-m", "hi"]).run();
    output.complains_of(&["certificate"]);
    assert_eq!(
        model.requests().len(),
        2,
        "nothing was sent to a server that nobody vouches for"
    );
}

#[test]
fn one_session_never_runs_two_turns() {
    let gate = Gate::default();
    let model = Model::playing([say("first").after(&gate)]);
    let home = Home::with_model(&model);
    let ask = || Program::new(&home).args(["agent", "-s", "work", "-m", "hi"]);
    let first = ask().start();
    model.wait_for_requests(1);
    let second = ask().run().ends_with(1);
    second.complains_of(&["Another peacrab has the conversation \"work\" open. Use `-s NAME`"]);
    gate.open();
    assert_eq!(first.finish().ends_with(0).stdout, "first\n");
}

#[test]
fn without_any_model_the_offline_helper_answers() {
    let home = Home::new();
    fs::write(home.workspace("shopping.txt"), "").unwrap();
    let output = Program::new(&home)
        .args(["agent", "-m", "list files"])
        .run()
        .ends_with(0);
    assert!(output.stdout.contains("shopping.txt"), "{output:?}");
}

#[test]
fn a_long_result_is_shown_in_part_and_in_full_on_request() {
    let model = Model::playing([call("read_file", json!({"path": "long.txt"})), say("long")]);
    let home = Home::with_model(&model);
    let lines: String = (0..50).map(|number| format!("line {number}\n")).collect();
    fs::write(home.workspace("long.txt"), lines).unwrap();
    let run = |arguments: &[&str]| Program::new(&home).args(arguments).run().ends_with(0);
    run(&["agent", "-s", "default", "-m", "read it"]);
    let part = run(&["sessions", "show", "default"]).stdout;
    assert!(
        part.contains("line 9\n… ") && !part.contains("line 49"),
        "{part}"
    );
    let full = run(&["sessions", "show", "default", "--full"]).stdout;
    assert!(full.contains("line 49") && !full.contains('…'), "{full}");
}

#[test]
fn a_session_that_has_nothing_to_go_on_with_is_not_begun() {
    let home = Home::new();
    let run = |arguments: &[&str]| Program::new(&home).args(arguments).run();
    let resumed = run(&["agent", "--resume", "-s", "never"]).ends_with(0);
    resumed.complains_of(&["Nothing to resume"]);
    let list = run(&["sessions", "list"]).ends_with(0).stdout;
    assert!(list.contains("No conversations yet"), "{list}");
    run(&["agent", "-s", " ", "-m", "hi"])
        .ends_with(2)
        .complains_of(&["A session needs a name"]);
}

#[test]
fn json_output_is_one_object_too_when_the_model_fails() {
    let model = Model::playing([error(401, "wrong key"), say("hello")]);
    let home = Home::with_model(&model);
    let turn = || Program::new(&home).args(["agent", "--json", "-m", "hi"]);
    let object = |output: Output| -> Value {
        let output = output.ends_with(1);
        assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    };
    let refused = object(turn().run());
    assert_eq!(refused["answered"], false);
    assert!(
        refused["error"].to_string().contains("wrong key"),
        "{refused}"
    );

    turn().run().ends_with(0);
    let limited = object(turn().env("PEACRAB_LIMITS__TOKENS_PER_DAY", "1").run());
    assert!(
        limited["error"].to_string().contains("tokensPerDay"),
        "{limited}"
    );
    assert_eq!(
        model.requests().len(),
        2,
        "nothing is asked above the limit"
    );
}

const TASK: &str = "compare the five files and tell me which one is wrong";

#[test]
fn a_note_from_the_runtime_does_not_push_the_task_out_of_a_long_turn() {
    let mut script: Vec<_> = (0..4)
        .map(|number| call("read_file", json!({"path": format!("{number}.txt")})))
        .collect();
    // The empty reply makes the runtime put a note behind the conversation.
    script.extend([say(""), say("the third")]);
    let model = Model::playing(script);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/memoryWindow", json!(4));
    Program::new(&home)
        .args(["agent", "-m", TASK])
        .run()
        .ends_with(0);
    let requests = model.requests();
    let last = requests[5].body["messages"].to_string();
    assert!(last.contains(TASK), "{last}");
    for number in 0..4 {
        assert!(last.contains(&format!("{number}.txt")), "{last}");
    }
}

#[test]
fn a_turn_that_is_too_long_for_the_model_is_asked_again_with_shorter_results() {
    let read = |name: &str| call("read_file", json!({"path": name}));
    let model = Model::playing([read("a.txt"), read("b.txt"), overflow(), say("b is newer")]);
    let home = Home::with_model(&model);
    for name in ["a", "b"] {
        let text = format!("the file {name} {}", "word ".repeat(2000));
        fs::write(home.workspace(&format!("{name}.txt")), text).unwrap();
    }
    let output = Program::new(&home)
        .args(["agent", "-s", "default", "-m", TASK])
        .run()
        .ends_with(0);
    assert_eq!(output.stdout, "b is newer\n");
    let requests = model.requests();
    let [too_long, shorter] = [2, 3].map(|number: usize| requests[number].body.to_string());
    assert!(
        shorter.len() + 5_000 < too_long.len(),
        "{} bytes, then {}",
        too_long.len(),
        shorter.len()
    );
    assert!(shorter.contains(TASK), "{shorter}");
    assert!(shorter.contains("the file a") && shorter.contains("the file b"));
    assert!(home.journal("default").contains(&"word ".repeat(2000)));
}

#[test]
fn what_cannot_be_shortened_is_not_sent_again() {
    let model = Model::playing([overflow()]);
    let home = Home::with_model(&model);
    let output = Program::new(&home).args(["agent", "-m", "hi"]).run();
    output
        .ends_with(1)
        .complains_of(&["too long for fake-model: it cannot be shortened further; "]);
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_call_with_huge_arguments_stays_in_the_journal_with_its_result() {
    let content = "\"quoted\" ".repeat(120_000);
    let model = Model::playing([
        call(
            "write_file",
            json!({"path": "huge.txt", "content": content}),
        ),
        say("written"),
        say("huge.txt"),
    ]);
    let home = Home::with_model(&model);
    let ask = |text: &str| {
        Program::new(&home)
            .args(["agent", "-s", "default", "-m", text])
            .run()
    };
    ask("write it").ends_with(0);
    let output = ask("which file was it?").ends_with(0);
    assert!(!output.stderr.contains("unreadable"), "{output:?}");
    assert_eq!(
        fs::read_to_string(home.workspace("huge.txt")).unwrap(),
        content
    );
    let request = &model.requests()[2];
    let roles: Vec<&str> = request
        .messages()
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(
        roles,
        ["system", "user", "assistant", "tool", "assistant", "user"]
    );
}

/// About how many bytes the conversation of a request is.
fn weight(request: &Request) -> usize {
    request.body["messages"].to_string().len()
}

#[test]
fn after_an_overflow_the_next_turn_fits_at_once() {
    // A server that takes 30,000 bytes, of which the configuration knows nothing.
    let model = Model::answering(|request| match weight(request) > 30_000 {
        true => overflow(),
        false => say("noted"),
    });
    let home = Home::with_model(&model);
    let ask = |number: usize| {
        let text = format!("message {number} {}", "many words ".repeat(500));
        let output = Program::new(&home).args(["agent", "-s", "default", "-m", &text]);
        output.run().ends_with(0);
    };
    let overflows = || {
        let requests = model.requests();
        let too_long = requests.iter().filter(|request| weight(request) > 30_000);
        too_long.count()
    };
    let mut asked = 0;
    while overflows() == 0 {
        asked += 1;
        assert!(asked < 20, "it never gets too long");
        ask(asked);
    }
    let learned = fs::read_to_string(home.path().join("state/learned.json")).unwrap();
    assert!(learned.contains("fake-model"), "{learned}");
    for number in 1..=6 {
        ask(asked + number);
        assert_eq!(overflows(), 1, "message {number} after the overflow");
    }
}

#[test]
fn at_the_terminal_a_subagent_does_its_task_within_the_call() {
    let model = Model::answering(|request| {
        let last = request.last_message();
        match request.body.to_string().contains("You are a subagent") {
            true if last.contains("count the herons") => call("list_dir", json!({"path": "."})),
            true => say("seventeen herons"),
            false if last.contains("seventeen herons") => say("There are seventeen."),
            false => call("spawn", json!({"task": "count the herons"})),
        }
    });
    let home = Home::with_model(&model);
    let output = Program::new(&home).args(["agent", "-s", "default", "-m", "count them"]);
    let output = output.run().ends_with(0);
    assert_eq!(output.stdout, "There are seventeen.\n");
    // People see what it does.
    assert!(output.stderr.contains("list_dir"), "{}", output.stderr);
    // Its conversation is not that of the person.
    assert!(!home.journal("default").contains("list_dir"));
}
