//! `peacrab watch`: rules over the board that speak up.

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::markdown::{Look, Renderer};
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::base::language::Language;
use crate::base::message::Address;
use crate::board::watch::{Store, Watch, rule};
use crate::config::Home;
use crate::gateway::control::{self, Request};
use crate::gateway::watch::{add_to_file, describe_offline};

const AFTER_HELP: &str = "\
Examples:
  peacrab watch add 'temperature > 75 for 5m'
  peacrab watch add service nginx --to telegram:123456789
  peacrab watch add cmd 'test -e done' succeeds every 5m
  peacrab watch test 1

Put a rule with > or < in quotes. Watches run while the gateway runs; the same rules \
work in a chat, as /watch RULE.";

/// Columns of what goes into a pipe: there it is read line by line.
const PIPE_COLUMNS: usize = 10_000;

/// Said where the watches are shown or changed.
const NOT_RUNNING: &str =
    "The gateway is not running, so nothing is watched. Start it: `peacrab gateway`";

/// The list where nothing was added.
const NO_WATCHES: &str =
    "No watches of your own yet. Add one: peacrab watch add 'temperature > 75 for 5m'";

/// `peacrab watch …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the watches and what they see
    #[command(alias = "ls")]
    List,
    /// Add a watch
    #[command(alias = "new")]
    Add {
        /// The rule, such as: service nginx for 30s
        #[arg(required = true)]
        rule: Vec<String>,
        /// The chat to tell, such as telegram:123456789 [default: the one in which an owner wrote last]
        #[arg(long, value_name = "CHAT", allow_hyphen_values = true)]
        to: Option<String>,
    },
    /// Remove watches
    #[command(aliases = ["rm", "delete"])]
    Remove(Chosen),
    /// Keep watches, but do not look
    Pause(Chosen),
    /// Let paused watches look again
    Resume(Chosen),
    /// Show what a watch sees now
    Test {
        /// Its number, or the name of a built-in one
        watch: String,
    },
}

/// Some watches.
#[derive(Debug, Args)]
struct Chosen {
    /// Their numbers
    #[arg(required = true, value_name = "NUMBER")]
    watches: Vec<u32>,
}

/// The numbers of the watches with their rules, for completions.
pub fn names(home: &Home) -> Vec<(String, String)> {
    let watches = Store::open(home.path()).read().unwrap_or_default().watches;
    let named = |watch: &Watch| (watch.id.to_string(), watch.rule.to_string());
    watches.iter().map(named).collect()
}

/// Runs the action on the home's watches.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    let store = Store::open(home.path());
    if !loaded.config.watch.enabled {
        print::notice("Watches are turned off (watch.enabled).");
    }
    let ask = |argument: String| control::ask(&home.control(), &Request::Watch(argument));
    let text = match arguments.action.unwrap_or(Action::List) {
        Action::List => match ask("list".to_owned())? {
            Some(text) => return show(&text),
            None => {
                print::notice(NOT_RUNNING);
                let text = describe_offline(&store)?;
                print::line(match text.trim_end() {
                    "" => NO_WATCHES,
                    text => text,
                })?;
                return Ok(Exit::Done);
            }
        },
        Action::Test { watch } => match ask(format!("test {watch}"))? {
            Some(text) => return show(&text),
            None => {
                let text = "The gateway is not running, so nothing can be tested. Start it with `peacrab gateway`.";
                return Err(Error::Failed(text.to_owned()));
            }
        },
        Action::Add { rule, to } => {
            let to = to
                .map(|to| chat(&loaded.config.channels, &to))
                .transpose()?;
            let added = add_to_file(&store, &joined(&rule), to.as_ref(), Language::English)?;
            // What the gateway sees counts: it may run as another account.
            let seen = added.id.map(|id| ask(format!("added {id}")));
            match seen {
                Some(Ok(Some(text))) => return show(&text),
                // It sees the change in the file itself.
                _ => added.text,
            }
        }
        Action::Remove(chosen) => change(&store, &chosen, "Removed", &|list, id| {
            list.retain(|watch| watch.id != id);
        })?,
        Action::Pause(chosen) => change(&store, &chosen, "Paused", &|list, id| {
            set_paused(list, id, true)
        })?,
        Action::Resume(chosen) => change(&store, &chosen, "Watching again", &|list, id| {
            set_paused(list, id, false);
        })?,
    };
    show(&text)?;
    match ask("changed".to_owned()) {
        Ok(Some(_)) => {}
        Ok(None) => print::notice(NOT_RUNNING),
        // It sees the change in the file itself.
        Err(error) => print::notice(&error.to_string()),
    }
    Ok(Exit::Done)
}

fn set_paused(list: &mut [Watch], id: u32, is_paused: bool) {
    let found = list.iter_mut().find(|watch| watch.id == id);
    found
        .into_iter()
        .for_each(|watch| watch.is_paused = is_paused);
}

/// Changes watches, or none when one of them does not exist. Returns a line for each.
fn change(
    store: &Store,
    chosen: &Chosen,
    done: &str,
    change: &dyn Fn(&mut Vec<Watch>, u32),
) -> Result<String> {
    store.change(|list| {
        let mut text = String::new();
        for id in &chosen.watches {
            let watch = list.iter().find(|watch| watch.id == *id);
            let watch = watch.ok_or_else(|| {
                Error::Usage(format!("There is no watch {id}: see `peacrab watch list`"))
            })?;
            text += &format!(
                "{done}: {}\n\n",
                crate::text::markup::inline_code(&watch.rule.to_string())
            );
            change(list, *id);
        }
        Ok(text)
    })
}

fn chat(channels: &crate::config::schema::Channels, text: &str) -> Result<Address> {
    let address = Address::parse(text);
    if address.chat.is_empty() || channels.named(&address.channel).is_none() {
        return Err(Error::Usage(format!(
            "Unknown channel {:?}. A chat is written as telegram:123456789",
            address.channel
        )));
    }
    Ok(address)
}

/// The rule of some arguments: the shell has taken the quotes away.
fn joined(words: &[String]) -> String {
    match words {
        [one] => one.clone(),
        words => {
            let words = words
                .iter()
                .map(|word| match word.contains(char::is_whitespace) {
                    true => rule::quoted(word),
                    false => word.clone(),
                });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Prints Markdown.
fn show(text: &str) -> Result<Exit> {
    use std::io::IsTerminal;
    let is_terminal = std::io::stdout().is_terminal();
    let look = Look::detect();
    let look = match is_terminal {
        true => look,
        false => Look {
            columns: || PIPE_COLUMNS,
            is_styled: false,
            ..look
        },
    };
    let (mut renderer, mut shown) = (Renderer::new(look), String::new());
    renderer.push(text, &mut shown);
    renderer.finish(&mut shown);
    let shown = format!("{}\n", shown.trim_end());
    match is_terminal {
        // The renderer has cleaned the text between its own codes.
        true => print::control(&shown),
        false => print::out(&shown)?,
    }
    Ok(Exit::Done)
}
