//! Somebody sits at a terminal.

use std::time::{Duration, Instant};

use crate::harness::home::Home;
use crate::harness::model::{Model, hang, say, silence};
use crate::harness::terminal::{CTRL_C, CTRL_D, RETURN, Terminal};

/// Within which a stop has to take effect.
const AT_ONCE: Duration = Duration::from_secs(1);

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
        terminal.wait_for("> ");
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
    terminal.wait_for("> ");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn markdown_is_rendered_on_a_terminal_and_left_alone_in_a_pipe() {
    let model = Model::playing([say("This is **bold** text.")]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-m", "hi"]);
    assert_eq!(terminal.finish(), Some(0));
    let shown = terminal.shown();
    assert!(
        shown.contains("bold") && !shown.contains("**bold**"),
        "{shown}"
    );
}
