//! `peacrab channels`: how people reach the agent, and who has access.

pub mod approvals;
pub mod texts;

use std::path::Path;

use clap::{Args, Subcommand};

use super::Context;
use super::send::hand_over;
use super::send::texts::{invalid_chat, unknown_channel};
use super::terminal::interrupt::Foreground;
use super::terminal::print;
use crate::base::access::Role;
use crate::base::bus::Heartbeats;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::language::Language;
use crate::base::limits::state::PAIRING_VALID_SECS;
use crate::channels::http;
use crate::channels::kit::adapter::{Failure, Post};
use crate::channels::kit::service::{Login, Service};
use crate::channels::kit::texts::{describe_paired, describe_rejection, welcome};
use crate::channels::table;
use crate::channels::table::title;
use crate::config::Loaded;
use crate::config::channels::{self, Bot};
use crate::config::home::command_for;
use crate::gateway::control::{self, Request};
use crate::net::http::Tls;
use crate::store::state::Pairing;
use crate::store::state::pairing::{Paired, Pairings};

/// The column in which the state of a channel begins.
const INDENT: usize = 10;

/// `peacrab channels …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
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
    /// Log in to a channel where that takes more than a setting, such as WhatsApp
    Login {
        /// The channel
        channel: String,
    },
    /// Check that the channels can be reached and accept the bot
    Test {
        /// Test only this channel, even if it is disabled
        channel: Option<String>,
        /// Also send a message to this chat
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        chat: Option<String>,
    },
}

/// Runs the action.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    match arguments.action.as_ref().unwrap_or(&Action::List) {
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
        Action::Login { channel } => login(&loaded, channel),
        Action::Test { channel, chat } => {
            test(context, &loaded, channel.as_deref(), chat.as_deref())
        }
    }
}

/// The channel of this name, in the words of the table; the error lists all channels.
fn service(name: &str) -> Result<&'static Service> {
    table::find(name).ok_or_else(|| Error::Usage(unknown_channel(name)))
}

fn list(context: &Context, loaded: &Loaded) -> Result<Exit> {
    let paired = pairing(context)?.list()?.paired;
    for service in table::ALL {
        let name = service.name;
        let config = loaded.config.channels.of(name);
        let is_set_up = service.is_set_up(&config);
        // With a dozen channels, those that are not used are one line at the end.
        if !is_set_up && !table::is_first(service) {
            continue;
        }
        let lacks = service.lacks(&config).map(|need| need.key);
        let state = texts::channel_state(name, config.enabled, lacks);
        let count = paired.iter().filter(|one| one.channel == name).count();
        let access = texts::access(&config.rules(), count);
        let gap = " ".repeat(INDENT - name.len());
        let (name, indent) = (print::bold(name), " ".repeat(INDENT));
        print::line(&format!("{name}{gap}{state}\n{indent}{access}"))?;
    }
    let unused = table::ALL.iter().filter(|service| {
        !table::is_first(service) && !service.is_set_up(&loaded.config.channels.of(service.name))
    });
    let unused: Vec<&str> = unused.map(|service| service.name).collect();
    if !unused.is_empty() {
        print::line(&texts::unused_channels(&unused))?;
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
    hand_over(&context.home()?, &context.load()?, request).map(drop)
}

fn invite(context: &Context, role: Role) -> Result<Exit> {
    let code = pairing(context)?.invite(role)?;
    print::line(&texts::invitation(&code, PAIRING_VALID_SECS / 60))?;
    Ok(Exit::Done)
}

fn remove(context: &Context, id: &str) -> Result<Exit> {
    let pairing = pairing(context)?;
    let mut is_removed = false;
    for channel in channels::names().chain([http::NAME]) {
        is_removed |= pairing.remove(channel, id)?;
    }
    if !is_removed {
        return Err(Error::Usage(texts::not_paired(id)));
    }
    // An older gateway notices it with the next step of a turn, or the next message.
    let _ = control::ask(&context.home()?.control(), &Request::AccessChanged);
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
    // The advice for the first person needs a bot that answers.
    if paired.is_empty() && offers.is_empty() && !is_running(context)? {
        print::notice(texts::NO_GATEWAY);
    }
    Ok(Exit::Done)
}

fn is_running(context: &Context) -> Result<bool> {
    let status = control::ask(&context.home()?.control(), &Request::Status)?;
    Ok(status.is_some())
}

/// The command that pairs a person with the bot of this home, without the code.
pub fn pair_command(context: &Context) -> Result<String> {
    let command = command_for(&context.home()?, context.environment());
    Ok(format!("{command} channels pair"))
}

fn test(
    context: &Context,
    loaded: &Loaded,
    channel: Option<&str>,
    chat: Option<&str>,
) -> Result<Exit> {
    let tls = Tls::new(loaded.config.tls.ca_file.as_deref().map(Path::new))?;
    let all = &loaded.config.channels;
    let mut meant: Vec<&Service> = match channel {
        // One that is set up is tried even before it is enabled.
        Some(name) => vec![service(name)?],
        None => table::ALL.to_vec(),
    };
    if channel.is_none() {
        meant.retain(|service| service.is_set_up(&all.of(service.name)));
    }
    if chat.is_some() && meant.len() > 1 {
        return Err(Error::Usage(texts::WHICH_CHANNEL.to_owned()));
    }
    if meant.is_empty() {
        meant.extend(table::ALL.first());
    }
    let state = context.home()?.state();
    for service in meant {
        let bot = all.of(service.name);
        check_settings(service, &bot)?;
        let adapter = service.adapter(bot, &tls, state.clone());
        let failed = |failure: Failure| Error::Failed(failure.to_string());
        let name = adapter.identify(&Cancel::new()).map_err(failed)?;
        print::line(&texts::bot_works(service.title, &name))?;
        if let Some(chat) = chat {
            let address = texts::address(service.name, chat);
            if adapter.is_group(&address).is_none() {
                return Err(invalid_chat(chat));
            }
            let heartbeat = Heartbeats::default().register("test");
            let mut connection = adapter.connect(&Cancel::new(), &heartbeat)?;
            let post = Post {
                text: texts::TEST_MESSAGE,
                ..Post::default()
            };
            connection.send(&address, &post).map_err(failed)?;
            print::line(&texts::test_sent(chat))?;
        }
    }
    Ok(Exit::Done)
}

fn login(loaded: &Loaded, channel: &str) -> Result<Exit> {
    let service = service(channel)?;
    let Some(login) = service.login else {
        return Err(Error::Usage(texts::needs_no_login(
            service.title,
            service.name,
        )));
    };
    let bot = loaded.config.channels.of(service.name);
    check_settings(service, &bot)?;
    let tls = Tls::new(loaded.config.tls.ca_file.as_deref().map(Path::new))?;
    Foreground::new()?.run(move |cancel| {
        login(&mut Login {
            bot,
            tls,
            cancel: cancel.clone(),
            is_ascii: print::is_ascii(),
            show: &mut |text| print::line(text),
        })
    })??;
    Ok(Exit::Done)
}

/// Fails when a channel lacks a setting, or has one that cannot be right; says what to do.
pub fn check_settings(service: &Service, bot: &Bot) -> Result<()> {
    if let Some(need) = service.lacks(bot) {
        return Err(Error::Config(texts::lacks(service.name, need)));
    }
    match (service.check)(bot) {
        Some(problem) => Err(Error::Config(problem.to_owned())),
        None => Ok(()),
    }
}

fn pairing(context: &Context) -> Result<Pairing> {
    Ok(Pairing::new(&context.home()?.state(), Clock::System))
}
