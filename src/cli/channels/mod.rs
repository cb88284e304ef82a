//! `peacrab channels`: how people reach the agent, and who has access.

pub mod approvals;
pub mod texts;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::Context;
use super::send::hand_over;
use super::terminal::print;
use crate::access::Role;
use crate::cancel::Cancel;
use crate::channels::adapter::{Adapter, Failure, Post};
use crate::channels::discord::{self, Discord};
use crate::channels::names::title;
use crate::channels::telegram::{self, Telegram, api};
use crate::channels::texts::{describe_paired, describe_rejection, welcome};
use crate::clock::Clock;
use crate::config::Loaded;
use crate::config::home::command_for;
use crate::config::schema::Bot;
use crate::error::{Error, Exit, Result};
use crate::gateway::control::{self, Request};
use crate::http::Tls;
use crate::language::Language;
use crate::limits::channels::TEST_PATIENCE;
use crate::limits::state::PAIRING_VALID_SECS;
use crate::state::Pairing;
use crate::state::pairing::{Paired, Pairings};

const CHANNELS: [&str; 2] = [telegram::NAME, discord::NAME];
/// The column in which the state of a channel begins.
const INDENT: usize = 10;

/// `peacrab channels …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the channels and who has access
    List,
    /// Show what the running gateway is doing, and channels that cannot be reached
    Status,
    /// Give someone access by the code that the bot sent them; without a code, list who waits and who is paired
    Pair {
        /// The code that the bot sent them
        code: Option<String>,
        /// What they may do: everything, use the agent and its tools in the sandbox, or only talk
        #[arg(long, value_parser = ["owner", "user", "guest"], default_value = "owner", conflicts_with = "remove")]
        role: String,
        /// Remove someone's access
        #[arg(long, value_name = "ID", conflicts_with = "code")]
        remove: Option<String>,
        /// Create a one-time code: the first to send it to the bot within ten minutes gets access
        #[arg(long, conflicts_with_all = ["code", "remove"])]
        invite: bool,
    },
    /// Check that the bot tokens work
    Test {
        /// Test only this channel, even if it is disabled
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
            code: Some(code),
            role,
            ..
        } => pair(context, code, named(role)),
        Action::Pair {
            invite: true, role, ..
        } => invite(context, named(role)),
        Action::Pair { .. } => list_pairings(context),
        Action::Test { channel, chat } => test(&loaded, channel.as_deref(), *chat),
    }
}

/// The channel that the configuration describes under a name.
pub fn adapter(name: &str, bot: &Bot, tls: &Tls, state: &Path) -> Arc<dyn Adapter> {
    let (bot, tls) = (bot.clone(), tls.clone());
    match name {
        discord::NAME => Arc::new(Discord::new(bot, tls, Clock::System)),
        _ => Arc::new(Telegram::new(bot, tls, Clock::System).remembering(state.to_owned())),
    }
}

fn list(context: &Context, loaded: &Loaded) -> Result<Exit> {
    let paired = pairing(context)?.list()?.paired;
    for (name, config) in loaded.config.channels.all() {
        let state = texts::channel_state(name, config.enabled, !config.token.is_empty());
        let count = paired.iter().filter(|one| one.channel == name).count();
        let access = texts::access(&config.rules(), count);
        let gap = " ".repeat(INDENT - name.len());
        let (name, indent) = (print::bold(name), " ".repeat(INDENT));
        print::line(&format!("{name}{gap}{state}\n{indent}{access}"))?;
    }
    Ok(Exit::Done)
}

fn status(context: &Context) -> Result<Exit> {
    match control::ask(&context.home()?.control(), &Request::Status)? {
        Some(text) => print::line(&text).map(|()| Exit::Done),
        None => {
            print::complain(texts::NO_GATEWAY);
            Ok(Exit::Failed)
        }
    }
}

/// The role of this name, one of those that the argument takes.
fn named(role: &str) -> Role {
    Role::parse(role).unwrap_or(Role::Guest)
}

fn pair(context: &Context, code: &str, role: Role) -> Result<Exit> {
    let request = Request::Pair {
        code: code.to_owned(),
        role,
    };
    let answer = match control::ask(&context.home()?.control(), &request)? {
        Some(answer) => answer,
        None => match pairing(context)?.confirm(code, role)? {
            Ok(one) => {
                if let Err(error) = welcome_later(context, &one) {
                    print::complain(&texts::welcome_failed(&error));
                }
                let person = texts::person(&one.sender.name, &one.sender.id);
                describe_paired(Language::English, &person, &title(&one.channel), role)
            }
            Err(rejected) => {
                let why = describe_rejection(Language::English, &rejected);
                return Err(Error::Usage(why));
            }
        },
    };
    print::line(&answer)?;
    Ok(Exit::Done)
}

/// Has the next gateway welcome a person.
fn welcome_later(context: &Context, one: &Paired) -> Result<()> {
    let request = Request::Send {
        chat: Some(one.private_chat()),
        text: welcome(one.sender.language).to_owned(),
        files: Vec::new(),
        waits: false,
    };
    hand_over(&context.home()?, request).map(drop)
}

fn invite(context: &Context, role: Role) -> Result<Exit> {
    let code = pairing(context)?.invite(role)?;
    print::line(&texts::invitation(&code, PAIRING_VALID_SECS / 60))?;
    Ok(Exit::Done)
}

fn remove(context: &Context, id: &str) -> Result<Exit> {
    let pairing = pairing(context)?;
    let mut is_removed = false;
    for channel in CHANNELS {
        is_removed |= pairing.remove(channel, id)?;
    }
    if !is_removed {
        return Err(Error::Usage(texts::not_paired(id)));
    }
    print::line(&texts::removed(id))?;
    Ok(Exit::Done)
}

fn list_pairings(context: &Context) -> Result<Exit> {
    let Pairings { paired, offers, .. } = pairing(context)?.list()?;
    let now = Clock::System.now().timestamp();
    print::line(&texts::pairings(
        &paired,
        &offers,
        &pair_command(context)?,
        now,
    ))?;
    Ok(Exit::Done)
}

/// The command that pairs a person with the bot of this home, without the code.
pub fn pair_command(context: &Context) -> Result<String> {
    let command = command_for(&context.home()?, context.environment());
    Ok(format!("{command} channels pair"))
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
        return Err(Error::Usage(texts::WHICH_CHANNEL.to_owned()));
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
        return Err(Error::Config(texts::NO_TELEGRAM_TOKEN.to_owned()));
    }
    let failed = |error: api::ApiError| Error::Failed(error.to_string());
    let api = api::Api::new(tls, config, TEST_PATIENCE, &Cancel::new())?;
    let me = api.get_me().map_err(failed)?;
    print::line(&texts::token_works(&format!("@{}", me.username)))?;
    if let Some(chat) = chat {
        let words = api::MessageBody {
            text: texts::TEST_MESSAGE,
            ..api::MessageBody::default()
        };
        let place = api::ChatTarget { chat, thread: None };
        api.send_message(place, &words, None).map_err(failed)?;
        print::line(&texts::test_sent(chat))?;
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
    print::line(&texts::token_works(&format!("{} on Discord", me.username)))?;
    if let Some(chat) = chat {
        let post = Post {
            text: texts::TEST_MESSAGE,
            ..Post::default()
        };
        let sent = api.create_message(&chat.to_string(), &post);
        sent.map_err(failed)?;
        print::line(&texts::test_sent(chat))?;
    }
    Ok(())
}

fn pairing(context: &Context) -> Result<Pairing> {
    Ok(Pairing::new(&context.home()?.state(), Clock::System))
}
