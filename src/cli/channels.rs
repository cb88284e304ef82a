//! `peacrab channels`: where people are reached, and who may speak there.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::cancel::Cancel;
use crate::channels::telegram::{self, api};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::error::{Error, Exit, Result};
use crate::gateway::control::{self, Request};
use crate::http::Tls;
use crate::limits::channels::TEST_PATIENCE;
use crate::state::{Pairing, pairing::Pairings};

/// `peacrab channels …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the channels, whether they are set up, and who may speak there
    List,
    /// Show whether the gateway runs, and what it is doing
    Status,
    /// Let somebody in who has got a code; without a code, list who is in and who asks
    Pair {
        /// The code that the agent gave to the stranger
        code: Option<String>,
        /// Take somebody out again, by the id
        #[arg(long, value_name = "ID", conflicts_with = "code")]
        remove: Option<String>,
    },
    /// Try whether Telegram accepts the token
    Test {
        /// Also send a message to this chat
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        chat: Option<i64>,
    },
}

/// Runs the action.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    match &arguments.action {
        Action::List => list(context, &loaded),
        Action::Status => status(context),
        Action::Pair {
            remove: Some(id), ..
        } => remove(context, id),
        Action::Pair {
            code: Some(code), ..
        } => pair(context, code),
        Action::Pair { .. } => pairings(context),
        Action::Test { chat } => test(&loaded, *chat),
    }
}

fn list(context: &Context, loaded: &Loaded) -> Result<Exit> {
    let config = &loaded.config.channels.telegram;
    let paired = pairing(context)?.list()?.paired.len();
    let state = match (config.enabled, config.token.is_empty()) {
        (true, false) => "enabled",
        (true, true) => "enabled, but channels.telegram.token is empty",
        (false, false) => "off (channels.telegram.enabled), with a token",
        (false, true) => "off (channels.telegram.enabled), no token",
    };
    let allowed = match config.allow_from.as_slice() {
        [] => "nobody by the configuration".to_owned(),
        list if list.iter().any(|entry| entry == "*") => "everyone".to_owned(),
        list => list.join(", "),
    };
    print::out(&format!(
        "{}  {state}\n          may speak: {allowed}; {paired} paired\n",
        print::bold(telegram::NAME)
    ))?;
    Ok(Exit::Done)
}

fn status(context: &Context) -> Result<Exit> {
    match control::ask(&context.home()?.control(), &Request::Status)? {
        Some(text) => print::line(&text).map(|()| Exit::Done),
        None => {
            print::complain(
                "no gateway is running here; start one with `peacrab gateway`, or as a service with \
                 `peacrab service install`",
            );
            Ok(Exit::Failed)
        }
    }
}

fn pair(context: &Context, code: &str) -> Result<Exit> {
    let request = Request::Pair {
        code: code.to_owned(),
    };
    let said = match control::ask(&context.home()?.control(), &request)? {
        Some(said) => said,
        None => {
            let paired = pairing(context)?.confirm(code)?;
            let (id, name) = (&paired.sender.id, &paired.sender.name);
            format!("{name} ({id}) may talk with me on {} now.", paired.channel)
        }
    };
    print::line(&said)?;
    Ok(Exit::Done)
}

fn remove(context: &Context, id: &str) -> Result<Exit> {
    if !pairing(context)?.remove(telegram::NAME, id)? {
        return Err(Error::Usage(format!(
            "nobody with the id {id} is paired; `peacrab channels pair` lists who is"
        )));
    }
    print::line(&format!("{id} is out."))?;
    Ok(Exit::Done)
}

fn pairings(context: &Context) -> Result<Exit> {
    let Pairings { paired, offers } = pairing(context)?.list()?;
    let mut text = String::new();
    for one in &paired {
        let (id, name) = (&one.sender.id, &one.sender.name);
        let _ = writeln!(text, "{id}  {name}  in since {}", one.since);
    }
    for one in &offers {
        let (id, name) = (&one.sender.id, &one.sender.name);
        let _ = writeln!(text, "{id}  {name}  asks to be let in");
    }
    if text.is_empty() {
        text.push_str("Nobody is paired. Write to the bot, and it tells you a code.\n");
    }
    print::out(&text)?;
    Ok(Exit::Done)
}

fn test(loaded: &Loaded, chat: Option<i64>) -> Result<Exit> {
    let config = &loaded.config.channels.telegram;
    if config.token.is_empty() {
        return Err(Error::Config(
            "channels.telegram.token is empty: @BotFather on Telegram gives you one".to_owned(),
        ));
    }
    let failed = |error: api::ApiError| Error::Failed(error.to_string());
    let tls = Tls::new(loaded.config.tls.ca_file.as_deref().map(Path::new))?;
    let api = api::Api::new(&tls, config, TEST_PATIENCE, &Cancel::new())?;
    let me = api.get_me().map_err(failed)?;
    print::line(&format!(
        "Telegram accepts the token: it is @{}'s.",
        me.username
    ))?;
    if let Some(chat) = chat {
        let words = api::Words {
            text: "This is a test of peacrab's.",
            ..api::Words::default()
        };
        let place = api::Place { chat, thread: None };
        api.send_message(place, &words, None).map_err(failed)?;
        print::line(&format!("A message went to {chat}."))?;
    }
    Ok(Exit::Done)
}

fn pairing(context: &Context) -> Result<Pairing> {
    Ok(Pairing::new(&context.home()?.state(), Clock::System))
}
