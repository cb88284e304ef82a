//! `peacrab agent`: one question, or a conversation.

mod input;
mod memory;
mod one_shot;
mod opening;
mod question;
mod talk;
mod texts;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use self::question::Question;
use super::Context;
use super::compose::{self, RunOptions};
use super::terminal::print;
use super::terminal::view::{Mode, View};
use crate::agent::Agent;
use crate::agent::commands::describe_ended;
use crate::agent::host::TurnEvent;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::base::language::Language;
use crate::base::message::SessionKey;
use crate::board::Board;
use crate::models::table::OFFLINE;
use crate::net::http::Pool;
use crate::store::session::{Session, Settings};

/// Bytes of piped text and of attached text files together that go into a question; the rest of a
/// message is left for what was typed.
const INLINED_BYTES: usize = 96 * 1024;

/// `peacrab agent …`
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// The question; without one, piped text is the question, or a conversation starts
    #[arg(value_name = "QUESTION")]
    words: Vec<String>,
    /// The question, as one argument; piped text is put below it
    #[arg(short, long, value_name = "TEXT", conflicts_with = "words")]
    message: Option<String>,
    /// Attach a file: text, image or other (repeatable); so does @PATH in the question
    #[arg(short, long = "file", value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Continue this conversation [default: "default"; a new one for a single question]
    #[arg(short, long, value_name = "NAME")]
    session: Option<String>,
    /// Talk to this agent of agents.list [default: the default agent]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Use this model instead of agents.defaults.model
    #[arg(long)]
    model: Option<String>,
    /// Print the answer, the tools used and the tokens as one JSON object
    #[arg(long)]
    json: bool,
    /// Print the answer as the model wrote it
    #[arg(long)]
    no_markdown: bool,
    /// Continue the turn that was interrupted
    #[arg(long, conflicts_with_all = ["message", "words", "files"])]
    resume: bool,
}

/// Answers one question, or talks until the person leaves.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let name = arguments.session.as_deref();
    if name.is_some_and(|name| name.trim().is_empty()) {
        return Err(texts::no_session_name());
    }
    let is_typing = std::io::stdin().is_terminal() && !arguments.json;
    if arguments.resume {
        return resume(context, arguments, is_typing);
    }
    let text = match &arguments.message {
        None if arguments.words.is_empty() => None,
        None => Some(arguments.words.join(" ")),
        Some(message) => Some(message.clone()),
    };
    if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(texts::no_message());
    }
    let is_asked = text.is_some() || !arguments.files.is_empty();
    if !is_asked && is_typing {
        return talk::run(context, arguments, name);
    }
    let piped = if std::io::stdin().is_terminal() && is_asked {
        None
    } else {
        Some(input::read(INLINED_BYTES, is_asked)?)
    };
    let question = Question::new(&text.unwrap_or_default(), &arguments.files, piped)?;
    if question.is_empty() {
        return Err(texts::no_message());
    }
    one_shot::run(context, arguments, name, Some(question))
}

/// Continues the interrupted turn of the named conversation, else of the last one that has any. On a
/// terminal the conversation goes on afterwards.
fn resume(context: &Context, arguments: &Arguments, is_typing: bool) -> Result<Exit> {
    let found = match &arguments.session {
        Some(name) => Some(name.clone()),
        None => {
            let loaded = context.load()?.of_agent(arguments.agent.as_deref())?;
            opening::find_interrupted(&context.home()?.sessions_of(loaded.agent_id()))?
        }
    };
    if is_typing {
        talk::run(context, arguments, found.as_deref())
    } else {
        one_shot::run(context, arguments, found.as_deref(), None)
    }
}

impl Arguments {
    fn mode(&self) -> Mode {
        Mode::detect(!self.no_markdown, self.json)
    }
}

/// An agent, ready to talk in a session.
struct Ready {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its session.
    pub session: Session,
    /// Where the journals are.
    pub sessions: PathBuf,
}

/// Loads the configuration, makes what is missing of the home, and opens the session with `open`.
fn prepare(
    context: &Context,
    arguments: &Arguments,
    stream: bool,
    open: impl FnOnce(&Path, Settings) -> Result<Session>,
) -> Result<Ready> {
    let home = context.home()?;
    let all = context.start()?;
    compose::check_agents(&home, &all)?;
    let loaded = all.of_agent(arguments.agent.as_deref())?;
    let settings = Settings::new(&loaded.config, Clock::System);
    let sessions = home.sessions_of(loaded.agent_id());
    let mut session = open(&sessions, settings)?;
    let options = RunOptions {
        model: arguments.model.clone(),
        stream,
        chats: false,
        board: Arc::new(Board::here(home.path())),
        connections: Pool::new(compose::tls(&loaded.config.tls)?),
        before: None,
    };
    let agent = compose::agent(context, &home, loaded, options)?;
    warn_without_provider(&agent, session.chat(), arguments.model.as_deref());
    memory::apply(&agent, &sessions, &mut session);
    Ok(Ready {
        agent: Arc::new(agent),
        session,
        sessions,
    })
}

/// Warns that no provider has the model that was named, and says what answers instead.
fn warn_without_provider(agent: &Agent, chat: &SessionKey, model: Option<&str>) {
    if let Some(model) = model.filter(|model| *model != OFFLINE && agent.lacks_model(chat)) {
        print::complain(&texts::no_provider(model));
    }
}

/// Shows what had to be repaired in the journal.
fn show_repairs<Output: Write, Errors: Write>(session: &Session, view: &mut View<Output, Errors>) {
    for repair in session.repairs() {
        view.show(TurnEvent::Notice(repair));
    }
}

/// Ends the background commands of a conversation that is over, and names them: they cannot outlive the
/// program. The programs of servers end too.
fn end_background_commands(agent: &Agent, chat: &SessionKey) {
    if let Some(mcp) = agent.toolbox().mcp() {
        mcp.servers().stop_all();
    }
    let ended = describe_ended(&agent.end_background(chat), Language::English);
    if !ended.is_empty() {
        print::notice(&ended);
    }
}
