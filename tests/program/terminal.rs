//! Somebody sits at a terminal.

use std::time::{Duration, Instant};

use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, hang, say, silence};
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
