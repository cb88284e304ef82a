//! `peacrab agent`: one question, or a conversation.

mod commands;
mod one_shot;
mod setup;
mod talk;

use std::io::IsTerminal;

use clap::Args;

pub use commands::exec_of;
pub use setup::{Manner, build, models_of, open_workspace, who_answers};

use super::Context;
use super::terminal::input;
use super::terminal::view::Mode;
use crate::error::{Error, Exit, Result};

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
