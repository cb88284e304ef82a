//! A person at a terminal.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, call, hang, say, silence};
use crate::harness::program::Program;
use crate::harness::terminal::{CTRL_C, CTRL_D, RETURN, Terminal};

/// Within which a stop has to take effect, on a busy machine: without it, these wait for minutes.
pub const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn ctrl_c_stops_a_silent_model_at_once() {
    for step in [silence, hang] {
        let model = Model::playing([step()]);
        let home = Home::with_model(&model);
        let mut terminal = Terminal::start(&home, &["agent", "-m", "hi"]);
        model.wait_for_requests(1);
        let pressed = Instant::now();
        terminal.type_text(CTRL_C);
        assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
        assert!(
            pressed.elapsed() < AT_ONCE,
            "it took {:?}",
            pressed.elapsed()
        );
    }
}

#[test]
fn a_conversation_at_the_prompt_goes_on_after_a_stop() {
    let model = Model::playing([say("Hello there."), silence(), say("Still here.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    let say_to_it = |terminal: &mut Terminal, text: &str| {
        terminal.wait_for("› ");
        terminal.type_text(text);
        terminal.type_text(RETURN);
    };
    say_to_it(&mut terminal, "hi");
    terminal.wait_for("Hello there.");
    say_to_it(&mut terminal, "think long");
    model.wait_for_requests(2);
    terminal.type_text(CTRL_C);
    say_to_it(&mut terminal, "still there?");
    terminal.wait_for("Still here.");
    terminal.wait_for("› ");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn markdown_is_rendered_on_a_terminal_and_left_alone_in_a_pipe() {
    let model = Model::playing([say("This is **bold** text.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-m", "hi"]);
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.screen(), "This is bold text.");
    let shown = terminal.shown();
    assert!(!shown.contains("**bold**"), "{shown}");
}

/// Types a line at the prompt.
fn tell(terminal: &mut Terminal, text: &str) {
    terminal.wait_for("› ");
    terminal.type_text(text);
    terminal.type_text(RETURN);
}

#[test]
fn an_answer_that_ends_its_line_is_shown_once() {
    let model = Model::playing([say("first line\nsecond line\n")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-m", "hi"]);
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.shown().matches("second line").count(), 1);
}

#[test]
fn what_the_model_had_said_when_it_was_stopped_is_kept_and_marked() {
    let gate = Gate::default();
    let model = Model::playing([
        say("the first half, and then the second half")
            .in_pieces(8)
            .pausing_at(&gate),
        say("Then not."),
    ]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "tell me");
    terminal.wait_for("first half");
    terminal.type_text(CTRL_C);
    terminal.wait_for("\n\u{1b}[2m· stopped");
    tell(&mut terminal, "never mind");
    terminal.wait_for("Then not.");
    let journal = home.journal("default");
    assert!(journal.contains(r"[stopped by the person]"), "{journal}");
    assert!(!journal.contains("second half"), "{journal}");
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(asked.contains("the first half") && asked.contains("[stopped by the person]"));
}

#[test]
fn a_stop_before_the_first_word_is_kept_too_so_that_the_next_turn_does_not_do_it() {
    let model = Model::playing([silence(), say("Good.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "delete everything");
    model.wait_for_requests(1);
    terminal.type_text(CTRL_C);
    tell(&mut terminal, "hello");
    terminal.wait_for("Good.");
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(asked.contains("[stopped by the person]"), "{asked}");
}

#[test]
fn the_prompt_remembers_what_was_typed_even_when_it_was_cut_off() {
    const UP: &str = "\x1b[A";
    const PASTED: &str = "\x1b[200~two\nlines\x1b[201~";
    let model = Model::playing([say("One."), say("Two."), say("Again.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "one line");
    terminal.wait_for("One.");
    tell(&mut terminal, PASTED);
    terminal.wait_for("Two.");
    terminal.wait_for("› ");
    // Dropping it kills the program.
    drop(terminal);

    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, UP);
    terminal.wait_for("Again.");
    let asked = model.requests()[2].last_message();
    assert!(asked.contains(r"two\nlines"), "{asked}");
}

#[test]
fn a_typed_command_is_completed_and_help_says_how_to_leave() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, &["agent"]);
    terminal.wait_for("peacrab onboard");
    tell(&mut terminal, "/he\t");
    terminal.wait_for("/exit");
    tell(&mut terminal, "/exit");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert_eq!(home.journal("default"), "", "nothing was said to the agent");
}

/// The screen once the prompt waits for the next line, below so many earlier prompts.
fn screen_at_prompt(terminal: &Terminal, earlier: usize) -> String {
    terminal.wait_until(|screen| {
        screen.matches("› ").count() >= earlier && screen.lines().last() == Some("›")
    });
    terminal.screen()
}

#[test]
fn a_long_line_is_wrapped_below_itself_at_each_width() {
    let line = "please look at 中文 and tell me what the words of this long line mean, all of them";
    for (columns, expected) in [
        (
            40,
            "› please look at 中文 and tell me what t\n  \
             he words of this long line mean, all o\n  \
             f them",
        ),
        (
            80,
            "› please look at 中文 and tell me what the words of this long line mean, all of\n  \
             them",
        ),
        (
            200,
            "› please look at 中文 and tell me what the words of this long line mean, all of them",
        ),
    ] {
        let model = Model::playing([say("They mean well.")]);
        let home = Home::with_model(&model);
        let mut terminal = Terminal::start_on(&home, &["agent"], columns, &[]);
        screen_at_prompt(&terminal, 0);
        terminal.type_text(line);
        terminal.wait_for_screen(expected);
        // To the beginning, and back: the painted text stays the same.
        terminal.type_text("\x01X\x08\x05");
        terminal.type_text(RETURN);
        let screen = screen_at_prompt(&terminal, 1);
        let expected = format!("\n\n{expected}\nThey mean well.\n\n›");
        assert!(screen.ends_with(&expected), "{columns} columns:\n{screen}");
        assert!(model.requests()[0].last_message().contains(line));
    }
}

#[test]
fn several_lines_are_typed_and_pasted_into_one_message() {
    let model = Model::playing([say("One."), say("Two."), say("Three."), say("Four.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    for (number, (keys, expected)) in [
        // Alt-Enter, and as some terminals send it.
        ("a\x1b\rb\x1b[13;2uc\r", r"a\nb\nc"),
        // A backslash before the return key.
        ("x\\\r", r""),
        // Pasted without marks, and with them.
        ("one\rtwo\rthree\rfour\r", r"one\ntwo\nthree\nfour"),
        ("\x1b[200~five\rsix\x1b[201~\r", r"five\nsix"),
    ]
    .into_iter()
    .enumerate()
    {
        terminal.wait_until(|screen| screen.lines().last() == Some("›"));
        terminal.type_text(keys);
        if expected.is_empty() {
            terminal.wait_until(|screen| screen.ends_with("› x"));
            terminal.type_text("y\r");
        }
        model.wait_for_requests(number + 1);
        let asked = model.requests()[number].last_message();
        let expected = if expected.is_empty() {
            r"x\ny"
        } else {
            expected
        };
        assert!(asked.contains(expected), "{asked}");
    }
}

#[test]
fn the_keys_of_every_line_editor_work_at_the_prompt() {
    const LEFT: &str = "\x1b[D";
    let model = Model::playing([say("One."), say("Two."), say("Three."), say("Four.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    let keys = [
        (format!("helo{LEFT}l\x1b[F!\r"), "hello!"),
        ("one two three\x17\x17\x19\r".to_owned(), "one two"),
        // Up twice and down, then the search for an older line.
        ("\x1b[A\x1b[A\x1b[B\r".to_owned(), "one two"),
        ("\x12hel\r".to_owned(), "hello!"),
    ];
    for (number, (keys, expected)) in keys.into_iter().enumerate() {
        terminal.wait_until(|screen| screen.lines().last() == Some("›"));
        terminal.type_text(&keys);
        model.wait_for_requests(number + 1);
        let asked = model.requests()[number].last_message();
        assert!(
            asked.contains(&format!("{expected}\"")),
            "{expected}: {asked}"
        );
    }
}

#[test]
fn a_quiet_line_shows_what_is_waited_for_and_goes_when_text_comes() {
    for columns in [40, 80, 200] {
        let gate = Gate::default();
        let model = Model::playing([
            call(
                "exec",
                json!({"command": "while ! test -e go; do sleep 0.1; done"}),
            ),
            say("All done.").after(&gate),
        ]);
        let home = Home::with_model(&model);
        let mut terminal = Terminal::start_on(&home, &["agent", "-m", "hi"], columns, &[]);
        terminal.wait_for_screen("running exec… 1 s · Ctrl-C stops");
        fs::write(home.workspace("go"), "").unwrap();
        terminal.wait_for_screen("asking fake/fake-model… 1 s · Ctrl-C s");
        gate.open();
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let screen = terminal.screen();
        assert!(
            screen.ends_with(")\nAll done."),
            "{columns} columns:\n{screen}"
        );
        assert!(!screen.contains("Ctrl-C"), "{columns} columns:\n{screen}");
    }
}

#[test]
fn nothing_is_rewritten_on_a_terminal_that_cannot_and_in_a_pipe() {
    let gate = Gate::default();
    let model = Model::playing([say("first").after(&gate), say("second"), say("third")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start_on(&home, &["agent"], 80, &[("TERM", "dumb")]);
    terminal.wait_for("> ");
    terminal.type_text("hi\n");
    model.wait_for_requests(1);
    std::thread::sleep(Duration::from_millis(600));
    gate.open();
    terminal.wait_for("first");
    terminal.wait_for("> ");
    terminal.type_text("go on\n");
    terminal.wait_for("second");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let shown = terminal.shown();
    assert!(!shown.contains('\x1b') && shown.is_ascii(), "{shown:?}");
    assert!(!shown.contains("asking"), "{shown:?}");

    let mut terminal = Terminal::start_shell(&home, "\"$PEACRAB\" agent -m hi | cat");
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(terminal.shown(), "third\r\n");
}

#[test]
fn what_is_typed_during_a_turn_is_not_in_the_answer_and_not_lost() {
    let gate = Gate::default();
    let model = Model::playing([
        say("the first half, and then the second half")
            .in_pieces(8)
            .pausing_at(&gate),
        say("Next answer."),
    ]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "tell me");
    terminal.wait_for("first half");
    terminal.type_text("and next\r");
    terminal.type_text("begun");
    gate.open();
    // What was finished with the return key is asked; what was not stands in the prompt.
    model.wait_for_requests(2);
    let asked = model.requests()[1].last_message();
    assert!(asked.contains("and next"), "{asked}");
    terminal.wait_for_screen("› and next\nNext answer.\n\n› begun");
    let screen = terminal.screen();
    assert!(
        screen.contains("\nthe first half, and then the second half\n"),
        "{screen}"
    );
}

#[test]
fn words_and_commands_are_taken_as_people_type_them() {
    let home = Home::new();
    for word in ["exit", "Quit", "/EXIT"] {
        let mut terminal = Terminal::start(&home, &["agent"]);
        tell(&mut terminal, "?");
        terminal.wait_for_screen("/new");
        tell(&mut terminal, "/HELP");
        terminal.wait_for_screen("› /HELP\n• /help");
        tell(&mut terminal, word);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    }
    assert_eq!(home.journal("default"), "", "nothing was said to the agent");
}

#[test]
fn what_works_only_with_a_gateway_or_in_chats_says_so() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "/remind 20m tea");
    terminal.wait_for_screen("The gateway is not running: nothing comes until you start it");
    tell(&mut terminal, "/heartbeat");
    terminal.wait_for_screen("/heartbeat works only in chats.");
    tell(&mut terminal, "/watch");
    terminal.wait_for_screen("In the shell there is");
    tell(&mut terminal, "/exit");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn a_second_window_has_a_conversation_of_its_own_and_says_so() {
    let model = Model::playing([say("one"), say("two"), say("three"), say("four")]);
    let home = Home::with_model(&model);
    let mut first = Terminal::start(&home, &["agent"]);
    tell(&mut first, "first window");
    first.wait_for("one");
    let mut second = Terminal::start(&home, &["agent"]);
    second.wait_for(
        "\"default\" is open in another window; this is a new conversation, \"default-2\".",
    );
    tell(&mut second, "second window");
    second.wait_for("two");
    let output = Program::new(&home)
        .args(["agent", "-m", "beside both"])
        .run();
    assert_eq!(output.ends_with(0).stdout, "three\n");
    drop((first, second));

    let mut again = Terminal::start(&home, &["agent"]);
    again.wait_for_screen("Continuing: 2 messages, today at ");
    again.wait_for_screen(" · /new starts over");
    tell(&mut again, "/new");
    tell(&mut again, "exit");
    assert_eq!(again.finish(), Some(0));
    let mut fresh = Terminal::start(&home, &["agent"]);
    fresh.wait_for("› ");
    assert!(!fresh.screen().contains("Continuing"), "{}", fresh.screen());
}

#[test]
fn to_resume_without_an_interrupted_turn_opens_the_conversation() {
    let model = Model::playing([say("Hello.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "--resume"]);
    terminal.wait_for("Nothing to resume: no turn was interrupted.");
    tell(&mut terminal, "hi");
    terminal.wait_for("Hello.");
}

#[test]
fn a_conversation_is_deleted_only_when_the_person_says_so() {
    let model = Model::playing([say("Hello.")]);
    let home = Home::with_model(&model);
    let ask = ["agent", "-s", "work", "-m", "who are you?"];
    Program::new(&home).args(ask).run().ends_with(0);
    let delete = |arguments: &[&str], answer: &str| {
        let mut terminal = Terminal::start(&home, arguments);
        if !answer.is_empty() {
            terminal.wait_for("Delete cli:work \"who are you?\" (");
            terminal.type_text(answer);
        }
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        terminal.screen()
    };
    assert!(delete(&["sessions", "delete", "work"], "\n").ends_with("Not deleted."));
    assert!(home.journal("work").contains("Hello."));
    assert!(delete(&["sessions", "delete", "work", "--yes"], "").ends_with("Deleted cli:work."));
    assert_eq!(home.journal("work"), "");
}

#[test]
fn keys_typed_before_a_question_are_no_answer_to_it_and_reach_the_prompt() {
    let gate = Gate::default();
    let model = Model::playing([
        call(
            "exec",
            json!({"command": "true", "escalate": true, "reason": "a test"}),
        )
        .after(&gate),
        say("done"),
        say("Next answer."),
    ]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "do it");
    model.wait_for_requests(1);
    terminal.type_text("y\r");
    gate.open();
    terminal.wait_for("Run it?");
    terminal.type_text("n\r");
    model.wait_for_requests(3);
    let refused = model.requests()[1].last_message();
    assert!(refused.contains("denied"), "{refused}");
    assert!(
        model.requests()[2].last_message().contains(r#"\n\ny""#),
        "{:?}",
        model.requests()[2].last_message()
    );
}

#[test]
fn background_commands_are_named_when_the_conversation_ends() {
    let model = Model::playing([
        call("exec", json!({"command": "sleep 600", "background": true})),
        say("it runs"),
    ]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "start it");
    terminal.wait_for("it runs");
    screen_at_prompt(&terminal, 1);
    terminal.type_text(CTRL_C);
    terminal.wait_for("(press Ctrl-C again, Ctrl-D or type /exit to quit)");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let screen = terminal.screen();
    assert!(
        screen.ends_with("· 1 background command was ended: `sleep 600`."),
        "{screen}"
    );
}

#[test]
fn a_signal_at_the_prompt_ends_the_conversation_in_good_order() {
    for variables in [&[][..], &[("TERM", "dumb")]] {
        let model = Model::playing([
            call("exec", json!({"command": "sleep 600", "background": true})),
            say("it runs"),
        ]);
        let home = Home::with_model(&model);
        let mut terminal = Terminal::start_on(&home, &["agent"], 80, variables);
        terminal.wait_for("/help");
        terminal.type_text("start it");
        terminal.type_text(RETURN);
        terminal.wait_for("it runs");
        terminal.send(Signal::TERM);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let shown = terminal.shown();
        assert!(shown.contains("1 background command was ended"), "{shown}");
    }
}

#[test]
fn ctrl_c_gives_up_a_text_first_and_slash_stop_says_what_stops() {
    let home = Home::with_model(&Model::playing([]));
    let mut terminal = Terminal::start(&home, &["agent"]);
    terminal.wait_for("› ");
    let quit = "(press Ctrl-C again, Ctrl-D or type /exit to quit)";
    for _ in 0..2 {
        terminal.type_text("half a thought");
        terminal.wait_for_screen("half a thought");
        terminal.type_text(CTRL_C);
        terminal.wait_for("\r\n");
        terminal.wait_for("› ");
    }
    assert!(!terminal.screen().contains(quit), "{}", terminal.screen());
    terminal.type_text(CTRL_C);
    terminal.wait_for(quit);
    terminal.wait_for("› ");
    // A text in between begins the count again.
    terminal.type_text("another");
    terminal.wait_for_screen("another");
    terminal.type_text(CTRL_C);
    terminal.wait_for("\r\n");
    terminal.wait_for("› ");
    terminal.type_text("/stop\r");
    terminal.wait_for("Ctrl-C stops it");
    terminal.wait_for("› ");
    terminal.type_text(CTRL_C);
    terminal.wait_for(quit);
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn a_line_is_drawn_again_when_the_terminal_has_another_size() {
    let home = Home::with_model(&Model::playing([]));
    let mut terminal = Terminal::start(&home, &["agent"]);
    terminal.wait_for("› ");
    let text = "x".repeat(60);
    terminal.type_text(&text);
    terminal.wait_for(&format!("› {text}"));
    terminal.resize(40);
    // 38 behind the prompt, and the rest below them; the terminal itself has made two rows of the old one.
    terminal.wait_for(&format!("\x1b[1A\r\x1b[J› {}\r", "x".repeat(38)));
    terminal.wait_for(&format!("\n  {}", "x".repeat(22)));
    terminal.type_text("y");
    terminal.wait_for(&format!("{}y", "x".repeat(22)));
    terminal.type_text(CTRL_C);
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn on_a_plain_terminal_ctrl_c_twice_quits_as_elsewhere() {
    let home = Home::with_model(&Model::playing([]));
    let mut terminal = Terminal::start_on(&home, &["agent"], 80, &[("TERM", "dumb")]);
    terminal.wait_for("> ");
    terminal.type_text(CTRL_C);
    terminal.wait_for("(press Ctrl-C again, Ctrl-D or type /exit to quit)");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn a_memory_that_could_not_be_saved_is_not_tried_again_after_each_line() {
    // It never calls the tool that saves the memory.
    let model = Model::answering(|_| say("fine"));
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "hello");
    terminal.wait_for("fine");
    screen_at_prompt(&terminal, 1);
    tell(&mut terminal, "/new");
    terminal.wait_for("answered twice in a way that cannot be saved");
    for _ in 0..3 {
        terminal.type_text("/think");
        terminal.type_text(RETURN);
        terminal.wait_for("Change it with /think");
    }
    terminal.type_text("/exit");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let requests = model.requests().into_iter();
    assert_eq!(
        requests
            .filter(|request| request.is_consolidation())
            .count(),
        2
    );
    // What tells the model how to go on is not for people.
    assert!(!terminal.shown().contains("Answer with that call"));
}

#[test]
fn a_stop_that_is_typed_ahead_acts_at_once_and_drops_what_waited_before_it() {
    let model = Model::playing([silence(), say("Still here.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent"]);
    tell(&mut terminal, "think long");
    model.wait_for_requests(1);
    terminal.type_text("more text\r/stop\r");
    terminal.wait_for("· stopped");
    tell(&mut terminal, "still there?");
    terminal.wait_for("Still here.");
    terminal.wait_for("› ");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(
        !asked.contains("more text") && !asked.contains("/stop"),
        "{asked}"
    );
}

#[test]
fn what_was_typed_ahead_goes_to_no_shell_behind_the_program() {
    let model = Model::playing([silence()]);
    let home = Home::with_model(&model);
    // The shell reads what is left for it, as far as anything is.
    let line = "sh -c 'echo \"pid $$ .\"; exec \"$PEACRAB\" agent'; \
                stty -icanon min 0 time 10; echo \"left [$(head -c 64)]\"";
    let mut terminal = Terminal::start_shell(&home, line);
    tell(&mut terminal, "think long");
    model.wait_for_requests(1);
    terminal.type_text("echo LEAK\r");
    let shown = terminal.shown();
    let pid = shown.split("pid ").nth(1).unwrap();
    let pid = pid.split(' ').next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    terminal.wait_for("left []");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}
