//! `peacrab channels`: where people are reached, and who may speak there.

use std::fmt::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::cancel::Cancel;
use crate::channels::adapter::{Failure, Post};
use crate::channels::discord::{self, Discord};
use crate::channels::telegram::{self, api};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::config::schema::Bot;
use crate::error::{Error, Exit, Result};
use crate::gateway::control::{self, Request};
use crate::http::Tls;
use crate::limits::channels::TEST_PATIENCE;
use crate::limits::state::PAIRING_VALID_SECS;
use crate::state::{Pairing, pairing::Pairings};

const CHANNELS: [&str; 2] = [telegram::NAME, discord::NAME];
/// The column in which the state of a channel begins.
const INDENT: usize = 10;
const TEST_MESSAGE: &str = "This is a test of peacrab's.";

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
        /// Make a one-time code: the person who sends it to the bot within ten minutes is let in
        #[arg(long, conflicts_with_all = ["code", "remove"])]
        invite: bool,
    },
    /// Try whether Telegram and Discord accept their tokens
    Test {
        /// Only this channel, and even if it is not enabled
        #[arg(value_parser = ["telegram", "discord"])]
        channel: Option<String>,
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
        Action::Pair { invite: true, .. } => invite(context),
        Action::Pair { .. } => pairings(context),
        Action::Test { channel, chat } => test(&loaded, channel.as_deref(), *chat),
    }
}

fn list(context: &Context, loaded: &Loaded) -> Result<Exit> {
    let paired = pairing(context)?.list()?.paired;
    for (name, config) in loaded.config.channels.all() {
        let state = match (config.enabled, config.token.is_empty()) {
            (true, false) => "enabled".to_owned(),
            (true, true) => format!("enabled, but channels.{name}.token is empty"),
            (false, false) => format!("off (channels.{name}.enabled), with a token"),
            (false, true) => format!("off (channels.{name}.enabled), no token"),
        };
        let allowed = match config.allow_from.as_slice() {
            [] => "nobody by the configuration".to_owned(),
            list if list.iter().any(|entry| entry == "*") => "everyone".to_owned(),
            list => list.join(", "),
        };
        let paired = paired.iter().filter(|one| one.channel == name).count();
        let gap = " ".repeat(INDENT - name.len());
        print::out(&format!(
            "{}{gap}{state}\n          may speak: {allowed}; {paired} paired\n",
            print::bold(name)
        ))?;
    }
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

fn invite(context: &Context) -> Result<Exit> {
    let code = pairing(context)?.invite()?;
    print::line(&format!(
        "Whoever sends this to the bot within {} minutes is let in: /pair {code}",
        PAIRING_VALID_SECS / 60
    ))?;
    Ok(Exit::Done)
}

fn remove(context: &Context, id: &str) -> Result<Exit> {
    let pairing = pairing(context)?;
    let mut is_removed = false;
    for channel in CHANNELS {
        is_removed |= pairing.remove(channel, id)?;
    }
    if !is_removed {
        return Err(Error::Usage(format!(
            "nobody with the id {id} is paired; `peacrab channels pair` lists who is"
        )));
    }
    print::line(&format!("{id} is out."))?;
    Ok(Exit::Done)
}

fn pairings(context: &Context) -> Result<Exit> {
    let Pairings { paired, offers, .. } = pairing(context)?.list()?;
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

fn test(loaded: &Loaded, channel: Option<&str>, chat: Option<i64>) -> Result<Exit> {
    let tls = Tls::new(loaded.config.tls.ca_file.as_deref().map(Path::new))?;
    let channels = &loaded.config.channels;
    let is_set_up = |config: &Bot| config.enabled || !config.token.is_empty();
    let set_up = channels
        .all()
        .into_iter()
        .filter(|(_, config)| is_set_up(config));
    if chat.is_some() && channel.is_none() && set_up.count() > 1 {
        return Err(Error::Usage(
            "Say which channel the chat is on: `peacrab channels test discord --chat ID`"
                .to_owned(),
        ));
    }
    let mut tested = 0;
    for (name, config) in channels.all() {
        // One that is set up is tried even before it is enabled.
        let is_meant = match channel {
            Some(channel) => channel == name,
            None => is_set_up(config),
        };
        if !is_meant {
            continue;
        }
        tested += 1;
        match name {
            discord::NAME => test_discord(config, &tls, chat)?,
            _ => test_telegram(config, &tls, chat)?,
        }
    }
    if tested == 0 {
        test_telegram(&channels.telegram, &tls, chat)?;
    }
    Ok(Exit::Done)
}

fn test_telegram(config: &Bot, tls: &Tls, chat: Option<i64>) -> Result<()> {
    if config.token.is_empty() {
        return Err(Error::Config(
            "channels.telegram.token is empty: @BotFather on Telegram gives you one".to_owned(),
        ));
    }
    let failed = |error: api::ApiError| Error::Failed(error.to_string());
    let api = api::Api::new(tls, config, TEST_PATIENCE, &Cancel::new())?;
    let me = api.get_me().map_err(failed)?;
    print::line(&format!(
        "Telegram accepts the token: it is @{}'s.",
        me.username
    ))?;
    if let Some(chat) = chat {
        let words = api::Words {
            text: TEST_MESSAGE,
            ..api::Words::default()
        };
        let place = api::Place { chat, thread: None };
        api.send_message(place, &words, None).map_err(failed)?;
        print::line(&format!("A message went to {chat}."))?;
    }
    Ok(())
}

fn test_discord(config: &Bot, tls: &Tls, chat: Option<i64>) -> Result<()> {
    if config.token.is_empty() {
        return Err(Error::Config(format!(
            "channels.discord.token is empty. {}",
            discord::HOW_TO_GET_A_TOKEN
        )));
    }
    let failed = |failure: Failure| Error::Failed(failure.to_string());
    let discord = Discord::new(config.clone(), tls.clone(), Clock::System);
    let api = discord.api(TEST_PATIENCE, &Cancel::new())?;
    let me = api.get_me().map_err(failed)?;
    print::line(&format!("The Discord token works: {}", me.username))?;
    if let Some(chat) = chat {
        let post = Post {
            text: TEST_MESSAGE,
            ..Post::default()
        };
        let sent = api.create_message(&chat.to_string(), &post);
        sent.map_err(failed)?;
        print::line(&format!("Sent a message to {chat}."))?;
    }
    Ok(())
}

fn pairing(context: &Context) -> Result<Pairing> {
    Ok(Pairing::new(&context.home()?.state(), Clock::System))
}
