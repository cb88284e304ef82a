//! A conversation at the terminal.

use std::path::Path;
use std::sync::Arc;

use super::memory::{self, Background};
use super::question::Question;
use super::{Arguments, Ready, opening, texts};
use crate::agent::commands::{self, Invocation, Surface};
use crate::agent::host::TurnEvent;
use crate::agent::{Outcome, Report};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::chat::EntryKind;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::language::Language;
use crate::base::message::Envelope;
use crate::base::sync::Mutex;
use crate::cli::terminal;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::mode::{self, Quiet, Stoppable};
use crate::cli::terminal::print;
use crate::cli::terminal::prompt::{Prompt, Typed};
use crate::cli::terminal::status::Status;
use crate::cli::terminal::view::{Mode, View};
use crate::cli::{Context, has_command};
use crate::gateway;
use crate::gateway::commands::{Command, Reader, Terminal, format_help, unknown_command};
use crate::store::session::Session;

/// The agent with its session, which the prompt's thread and the turn's use in turns.
type Shared = Arc<Mutex<Ready>>;

type TerminalView = View<std::io::Stdout, std::io::Stderr>;

/// A conversation, as it is shown.
struct Talk {
    foreground: Foreground,
    shared: Shared,
    memory: Mutex<Background>,
    mode: Mode,
    /// Whether the prompt reads single keys.
    reads_keys: bool,
}

/// Talks until the person leaves: Ctrl-D, `/exit`, or Ctrl-C twice.
pub fn run(context: &Context, arguments: &Arguments, name: Option<&str>) -> Result<Exit> {
    let mode = arguments.mode();
    let foreground = Foreground::new()?;
    let open = |folder: &Path, settings| opening::open_window(folder, name, settings);
    let ready = super::prepare(context, arguments, true, open)?;
    if arguments.model.is_some() {
        let (agent, chat) = (Arc::clone(&ready.agent), ready.session.chat().clone());
        let checked = foreground.run(move |cancel| agent.check_named_model(&chat, cancel))??;
        if let Some(remark) = checked {
            print::notice(&remark);
        }
    }
    let prompt = Prompt::new(context.home()?.state().join("prompt_history"));
    let _quiet = prompt.reads_keys().then(|| Quiet::start(true));
    print::paragraph(&describe_start(&ready))?;
    super::show_repairs(&ready.session, &mut view(mode));
    let is_unfinished = ready.session.is_unfinished();
    let talk = Talk {
        foreground,
        shared: Arc::new(Mutex::new(ready)),
        memory: Mutex::default(),
        mode,
        reads_keys: prompt.reads_keys(),
    };
    let prompt = Arc::new(Mutex::new(prompt));
    if is_unfinished {
        print::paragraph(texts::RESUMING)?;
        talk.run_turn(None)?;
    } else if arguments.resume {
        print::paragraph(texts::NOTHING_TO_RESUME)?;
    }
    print::line("")?;
    let mut is_leaving = false;
    while !talk.foreground.must_end() {
        talk.memory.lock().tend(&talk.shared.lock());
        let prompt = Arc::clone(&prompt);
        let typed = talk
            .foreground
            .run(move |cancel| prompt.lock().read(cancel))??;
        let line = match &typed {
            Typed::Line(line) => line.trim(),
            Typed::Cleared => {
                is_leaving = false;
                continue;
            }
            Typed::Interrupt if !is_leaving && !talk.foreground.must_end() => {
                print::paragraph(texts::HOW_TO_QUIT)?;
                is_leaving = true;
                continue;
            }
            Typed::Interrupt | Typed::End => break,
        };
        is_leaving = false;
        let command = parse(line);
        let terminal = command.as_ref().and_then(|command| command.row?.terminal);
        match (command, terminal) {
            _ if line.is_empty() => continue,
            (_, Some(Terminal::Exit)) => break,
            (Some(command), _) => show_answer(&talk.answer(&command), mode),
            (None, _) => talk.ask(line)?,
        }
        print::line("")?;
    }
    talk.memory.lock().stop();
    let ready = &mut *talk.shared.lock();
    memory::apply(&ready.agent, &ready.sessions, &mut ready.session);
    super::end_background_commands(&ready.agent, ready.session.chat());
    mode::leave();
    Ok(Exit::Done)
}

/// A slash command, or one of the words that people type without the slash.
fn parse(line: &str) -> Option<Command> {
    let line = match line.to_ascii_lowercase().as_str() {
        "exit" | "quit" => "/exit",
        "help" | "?" | "/?" => "/help",
        _ => line,
    };
    gateway::commands::parse(line)
}

impl Talk {
    /// Asks the agent, with the files that the text names.
    fn ask(&self, text: &str) -> Result<()> {
        let message = Question::new(text, &[], None).and_then(|question| {
            let ready = self.shared.lock();
            question.into_message(ready.session.chat(), ready.agent.toolbox().workspace())
        });
        match message {
            Ok(message) => self.run_turn(Some(message)),
            Err(error) => {
                print::complain(&error.to_string());
                Ok(())
            }
        }
    }

    /// Runs a turn and shows it. Its failure ends the turn, not the conversation.
    fn run_turn(&self, message: Option<Envelope>) -> Result<()> {
        let (mode, shared, reads_keys) = (self.mode, Arc::clone(&self.shared), self.reads_keys);
        // Where the prompt reads keys, the terminal is quiet all the time.
        let _quiet = (!self.reads_keys).then(|| Quiet::start(false));
        let status = Status::start(mode == Mode::Rendered);
        let ran = self.foreground.run(move |cancel: &Cancel| {
            let _stoppable = reads_keys.then(|| Stoppable::start(cancel));
            let ready = &mut *shared.lock();
            memory::apply(&ready.agent, &ready.sessions, &mut ready.session);
            let mut view = view(mode);
            let report = ready
                .agent
                .run(&mut ready.session, message.as_ref(), &mut view, cancel);
            (report, view)
        });
        drop(status);
        match ran {
            Ok((Ok(report), mut view)) => show_end(report, &mut view),
            Ok((Err(error), _)) | Err(error) => print::complain(&error.to_string()),
        }
        Ok(())
    }

    /// Answers a slash command.
    fn answer(&self, command: &Command) -> Result<String> {
        let language = Language::English;
        let ready = || self.shared.lock();
        let answer = match command.row.and_then(|row| row.terminal) {
            Some(Terminal::Help) => {
                return Ok(format_help(
                    Reader::owner(Surface::Terminal),
                    &command.argument,
                    language,
                ));
            }
            Some(Terminal::Compact) => return self.compact(),
            Some(Terminal::New) => {
                let ready = &mut *ready();
                ready
                    .agent
                    .start_new(&mut ready.session, Role::Owner, language)
            }
            Some(Terminal::Agent(run)) => {
                let ready = ready();
                let invocation = Invocation {
                    key: ready.session.chat(),
                    argument: &command.argument,
                    language,
                    surface: Surface::Terminal,
                    message: "",
                    author: None,
                    role: Role::Owner,
                    folder: &ready.sessions,
                    cancel: &Cancel::new(),
                };
                run(&ready.agent, &invocation)
            }
            None if command.row.is_some_and(|row| row.name() == "stop") => {
                return Ok(texts::HOW_TO_STOP.to_owned());
            }
            Some(Terminal::Exit) | None => {
                let unknown = unknown_command(&command.word, Surface::Terminal, language);
                let word = command.word.to_ascii_lowercase();
                return Ok(match has_command(&word) {
                    true => format!("{unknown}\n\n{}", texts::in_the_shell(&word)),
                    false => unknown,
                });
            }
        };
        answer.map(|answer| answer.text)
    }

    /// Answers `/compact`, which Ctrl-C and `/stop` stop.
    fn compact(&self) -> Result<String> {
        // What runs in the background would be in the way.
        self.memory.lock().stop();
        let (shared, reads_keys) = (Arc::clone(&self.shared), self.reads_keys);
        let status = Status::start(self.mode == Mode::Rendered);
        let compacted = self.foreground.run(move |cancel: &Cancel| {
            let _stoppable = reads_keys.then(|| Stoppable::start(cancel));
            let ready = &mut *shared.lock();
            memory::apply(&ready.agent, &ready.sessions, &mut ready.session);
            let before = ready.agent.window_tokens(&ready.session);
            let turns = memory::compact(ready, cancel)?;
            let after = ready.agent.window_tokens(&ready.session);
            Ok::<_, Error>(turns.map(|turns| {
                commands::describe_compacted(turns, (before, after), Language::English)
            }))
        });
        drop(status);
        let told = compacted??;
        Ok(told.unwrap_or_else(|| commands::nothing_to_compact(Language::English)))
    }
}

/// Shows how a turn ended where its answer does not.
fn show_end(report: Report, view: &mut TerminalView) {
    view.close();
    match report.outcome {
        Outcome::Stopped => view.show(TurnEvent::Notice(terminal::texts::STOPPED)),
        Outcome::Failed(error) => print::complain(&error.to_string()),
        Outcome::Answered | Outcome::Bounded(_) => {}
    }
}

/// Shows the answer to a slash command.
fn show_answer(answer: &Result<String>, mode: Mode) {
    match answer {
        Ok(text) => view(mode).say(text),
        Err(error) => print::complain(&error.to_string()),
    }
}

/// What the person sees first: the model, whether a conversation goes on, and how to connect a model
/// where there is none.
fn describe_start(ready: &Ready) -> String {
    let mut text = format!(
        "peacrab {} · {} · /help",
        crate::update::current(),
        ready
            .agent
            .model_line(ready.session.chat(), Language::English)
    );
    if ready.agent.lacks_model(ready.session.chat()) {
        text = format!("{text}\n{}", texts::HOW_TO_CONNECT);
    }
    if let Some(line) = describe_conversation(&ready.session) {
        text = format!("{text}\n{line}");
    }
    text
}

/// How much of a conversation there is already; `None` for a new one.
fn describe_conversation(session: &Session) -> Option<String> {
    let entries = session.conversation().entries().map(|found| &found.entry);
    let is_message = |kind| matches!(kind, EntryKind::Person | EntryKind::Assistant);
    let messages = entries.filter(|entry| is_message(entry.kind) && !entry.content.is_empty());
    let times: Vec<_> = messages.map(|entry| entry.timestamp).collect();
    let last = *times.last()?;
    Some(texts::goes_on(times.len(), last, Clock::System.now()))
}

fn view(mode: Mode) -> TerminalView {
    View::new(mode, std::io::stdout(), std::io::stderr()).fitted()
}
