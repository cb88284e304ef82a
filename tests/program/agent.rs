//! A conversation with a model that answers.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::{Home, KEY, MODEL};
use crate::harness::model::{
    Format, Gate, INPUT_TOKENS, Model, OUTPUT_TOKENS, call, error, overflow, say,
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

#[test]
fn with_a_message_nothing_waits_for_standard_input() {
    let model = Model::playing([say("hello")]);
    let home = Home::with_model(&model);
    let arguments = ["agent", "-m", "hi"];
    let output = Program::new(&home)
        .args(arguments)
        .stdin("not for it")
        .run();
    assert_eq!(output.ends_with(0).stdout, "hello\n");
    assert!(!model.requests()[0].last_message().contains("not for it"));
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
            .args(["agent", "-m", "read it"])
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
    let ask = || Program::new(&home).args(["agent", "-m", "hi"]);
    let first = ask().start();
    model.wait_for_requests(1);
    ask()
        .run()
        .ends_with(1)
        .complains_of(&["has the conversation"]);
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
    run(&["agent", "-m", "read it"]);
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
    resumed.complains_of(&["nothing to go on with"]);
    let list = run(&["sessions", "list"]).ends_with(0).stdout;
    assert!(list.contains("no sessions yet"), "{list}");
    run(&["agent", "-s", " ", "-m", "hi"])
        .ends_with(2)
        .complains_of(&["needs a name"]);
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
        .args(["agent", "-m", TASK])
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
        .complains_of(&["nothing in it can be shortened"]);
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
    let ask = |text: &str| Program::new(&home).args(["agent", "-m", text]).run();
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
