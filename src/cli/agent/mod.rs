//! `peacrab agent`: one question, or a conversation.

mod one_shot;
mod talk;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::Context;
use super::compose::{self, RunOptions};
use super::terminal::view::{Mode, View};
use super::terminal::{input, print};
use crate::agent::Agent;
use crate::agent::host::TurnEvent;
use crate::board::Board;
use crate::clock::Clock;
use crate::error::{Error, Exit, Result};
use crate::message::SessionKey;
use crate::provider::table::OFFLINE;
use crate::session::{Session, Settings};

/// `peacrab agent …`
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// One question; without it standard input is read when it is piped, else a conversation begins
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Which conversation
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    session: String,
    /// The model, instead of agents.defaults.model
    #[arg(long)]
    model: Option<String>,
    /// Print the answer, the tools used and the tokens as one JSON object
    #[arg(long)]
    json: bool,
    /// Print the answer as the model wrote it
    #[arg(long)]
    no_markdown: bool,
    /// Go on with the turn that was interrupted
    #[arg(long, conflicts_with = "message")]
    resume: bool,
}

/// Runs one turn, or turns until the person leaves.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    if arguments.session.trim().is_empty() {
        return Err(Error::Usage(
            "a session needs a name: --session NAME".to_owned(),
        ));
    }
    match &arguments.message {
        _ if arguments.resume => one_shot::run(context, arguments, None),
        Some(message) if message.trim().is_empty() => Err(nothing_to_say()),
        Some(message) => one_shot::run(context, arguments, Some(message.clone())),
        None if arguments.json || !std::io::stdin().is_terminal() => {
            one_shot::run(context, arguments, Some(input()?))
        }
        None => talk::run(context, arguments),
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
    pub agent: Agent,
    /// Its session.
    pub session: Session,
    /// Where the journals are.
    pub sessions: PathBuf,
}

/// Loads the configuration, makes what is missing of the home, and opens the session.
fn prepare(context: &Context, arguments: &Arguments, stream: bool) -> Result<Ready> {
    let home = context.home()?;
    let loaded = context.start()?;
    let chat = SessionKey::parse(&arguments.session);
    let session = Session::open(
        &home.sessions(),
        &chat,
        Settings::new(&loaded.config, Clock::System),
    )?;
    let options = RunOptions {
        model: arguments.model.clone(),
        stream,
        chats: false,
        board: Arc::new(Board::new(Path::new("/"), home.path())),
        tls: compose::tls(&loaded.config.tls)?,
        before: None,
    };
    let agent = compose::agent(context, &home, loaded, options)?;
    warn_of_stranger(&agent, &chat, arguments.model.as_deref());
    Ok(Ready {
        agent,
        session,
        sessions: home.sessions(),
    })
}

/// Says that nobody is known for the model that was asked for, and who answers in its stead.
fn warn_of_stranger(agent: &Agent, chat: &SessionKey, model: Option<&str>) {
    if let Some(model) = model.filter(|model| *model != OFFLINE && agent.lacks_model(chat)) {
        print::complain(&format!(
            "no provider is connected for the model {model}, so the offline helper answers; \
             `peacrab onboard` connects one"
        ));
    }
}

/// Says what had to be repaired in the journal.
fn say_repairs<Output: Write, Errors: Write>(session: &Session, view: &mut View<Output, Errors>) {
    for repair in session.repairs() {
        view.show(TurnEvent::Notice(repair));
    }
}

fn nothing_to_say() -> Error {
    Error::Usage("there is nothing to say: give a text with -m, or on standard input".to_owned())
}

/// The message from standard input.
fn input() -> Result<String> {
    let text = input::whole()?;
    match text.trim() {
        "" => Err(nothing_to_say()),
        text => Ok(text.to_owned()),
    }
}
