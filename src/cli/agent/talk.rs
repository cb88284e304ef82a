//! A conversation at the terminal.

use std::sync::Arc;

use super::{Arguments, Ready};
use crate::agent::commands::{self, Command, Invocation, Slash, Surface};
use crate::agent::host::TurnEvent;
use crate::agent::{Outcome, Report};
use crate::cancel::Cancel;
use crate::cli::Context;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::print;
use crate::cli::terminal::prompt::{Prompt, Typed};
use crate::cli::terminal::view::{Mode, View};
use crate::error::{Exit, Result};
use crate::language::Language;
use crate::message::Envelope;
use crate::sync::Mutex;

/// The agent with its session, which the prompt's thread and the turn's take in turns.
type Shared = Arc<Mutex<Ready>>;

type TerminalView = View<std::io::Stdout, std::io::Stderr>;

/// Talks until the person leaves: Ctrl-D, `/exit`, or Ctrl-C twice.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let mode = arguments.mode();
    let foreground = Foreground::new()?;
    let ready = super::prepare(context, arguments, true)?;
    let mut prompt = Prompt::new(context.home()?.state().join("prompt_history"))?;
    print::line(&greeting(&ready))?;
    super::say_repairs(&ready.session, &mut view(mode));
    let unfinished = ready.session.is_unfinished();
    let shared = Arc::new(Mutex::new(ready));
    if unfinished {
        print::line("The last turn was interrupted; going on with it. Ctrl-C stops it.")?;
        turn(&foreground, &shared, mode, None)?;
    }
    print::line("")?;
    let mut leaving = false;
    loop {
        let typed = prompt.read("› ")?;
        let line = match &typed {
            Typed::Line(line) => line.trim(),
            Typed::Interrupt if !leaving => {
                print::line("(Ctrl-C again, Ctrl-D or /exit leaves)")?;
                leaving = true;
                continue;
            }
            Typed::Interrupt | Typed::End => break,
        };
        leaving = false;
        match commands::parse(line) {
            _ if line.is_empty() => continue,
            Some(Command {
                slash: Slash::Exit, ..
            }) => break,
            Some(command) => say(&answer(&shared, command), mode),
            None => turn(&foreground, &shared, mode, Some(line.to_owned()))?,
        }
        print::line("")?;
    }
    Ok(Exit::Done)
}

/// Runs a turn and shows it. Its failure ends the turn, not the conversation.
fn turn(
    foreground: &Foreground,
    shared: &Shared,
    mode: Mode,
    message: Option<String>,
) -> Result<()> {
    let shared = Arc::clone(shared);
    let ran = foreground.run(move |cancel: &Cancel| {
        let ready = &mut *shared.lock();
        let mut view = view(mode);
        let message = message.map(|text| Envelope::typed(ready.session.chat(), &text));
        let report = ready
            .agent
            .run(&mut ready.session, message.as_ref(), &mut view, cancel);
        (report, view)
    });
    match ran {
        Ok((Ok(report), mut view)) => show_end(report, &mut view),
        Ok((Err(error), _)) | Err(error) => print::complain(&error.to_string()),
    }
    Ok(())
}

/// Shows how a turn came out where its answer does not.
fn show_end(report: Report, view: &mut TerminalView) {
    match report.outcome {
        Outcome::Stopped => {
            view.stopped();
            view.show(TurnEvent::Notice("stopped"));
        }
        Outcome::Failed(error) => {
            view.close();
            print::complain(&error.to_string());
        }
        Outcome::Answered | Outcome::Bounded(_) => view.close(),
    }
}

/// Answers a slash command.
fn answer(shared: &Shared, command: Command<'_>) -> Result<String> {
    if matches!(command.slash, Slash::Help | Slash::Start) {
        return Ok(commands::format_help(Surface::Terminal, Language::English));
    }
    let ready = &mut *shared.lock();
    let key = ready.session.chat().clone();
    let invocation = Invocation {
        key: &key,
        command,
        language: Language::English,
        surface: Surface::Terminal,
        folder: &ready.sessions,
        cancel: &Cancel::new(),
    };
    let answer = ready
        .agent
        .answer_command(&invocation, || Ok(&mut ready.session))?;
    let unknown = || commands::unknown_command(command.word, Surface::Terminal, Language::English);
    Ok(answer.map_or_else(unknown, |answer| answer.text))
}

/// Shows what a typed command answers.
fn say(answer: &Result<String>, mode: Mode) {
    match answer {
        Ok(text) => view(mode).say(text),
        Err(error) => print::complain(&error.to_string()),
    }
}

/// What the person sees first: who answers, and how somebody who understands more would.
fn greeting(ready: &Ready) -> String {
    let mut text = format!(
        "peacrab {} · {} · /help",
        env!("CARGO_PKG_VERSION"),
        ready
            .agent
            .model_line(ready.session.chat(), Language::English)
    );
    if ready.agent.lacks_model(ready.session.chat()) {
        text.push_str(
            "\nTo connect a model: peacrab onboard, or set a key such as ANTHROPIC_API_KEY",
        );
    }
    text
}

fn view(mode: Mode) -> TerminalView {
    View::new(mode, std::io::stdout(), std::io::stderr()).fitted()
}
