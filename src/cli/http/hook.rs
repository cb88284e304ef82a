//! `peacrab hook`: hooks that programs call over HTTP.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::base::error::{Error, Exit, Result};
use crate::base::json;
use crate::channels::http::hook::{Action, call, check, list_missing};
use crate::cli::Context;
use crate::cli::terminal::{input, print};
use crate::config::schema::{Hook, Http};

const AFTER_HELP: &str = "\
Examples:
  peacrab config set http.hooks.deploy.text 'Deployed {{repository.name}}'
  peacrab hook test deploy < body.json";

/// `peacrab hook …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<HookAction>,
}

#[derive(Debug, Subcommand)]
enum HookAction {
    /// List the hooks
    #[command(alias = "ls")]
    List,
    /// Show what a call would come to; its body is read from standard input
    Test {
        /// The hook's name
        name: String,
    },
}

/// Shows the hooks of the configuration. Nothing is sent, asked or run.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let http = context.start()?.config.http;
    check(&http.hooks)?;
    match arguments.action.unwrap_or(HookAction::List) {
        HookAction::List => print::out(&format_hooks(&http))?,
        HookAction::Test { name } => {
            let hook = http.hooks.get(&name).ok_or_else(|| {
                Error::Usage(format!(
                    "Unknown hook {name}. `peacrab hook list` lists them."
                ))
            })?;
            print::out(&format_call(&name, hook, &input::whole()?))?;
        }
    }
    Ok(Exit::Done)
}

fn format_hooks(http: &Http) -> String {
    let mut text = String::new();
    for (name, hook) in &http.hooks {
        let what = match (hook.text.is_empty(), hook.ask.is_empty()) {
            (false, _) => "sends a message",
            (_, false) => "asks the agent",
            _ => "runs a command",
        };
        let opened = match hook.secret.is_empty() {
            true => "with a token",
            false => "with a signature",
        };
        let _ = writeln!(text, "{name:<24} {what}, {opened}");
    }
    if text.is_empty() {
        text += "No hooks. `peacrab config explain http.hooks` says how to make one.\n";
    } else if !http.enabled {
        text += "HTTP is off. To turn it on: peacrab config set http.enabled true\n";
    }
    text
}

/// A note about the values of the text that the body does not have.
fn format_missing(hook: &Hook, body: &str) -> String {
    match list_missing(hook, body).as_slice() {
        [] => String::new(),
        _ if json::from_str::<Value>(body).is_err() => {
            "\nThe body is not JSON, so it has no fields. {{body}} stands for all of it.\n"
                .to_owned()
        }
        missing => format!("\nNot found in the body: {}\n", missing.join(", ")),
    }
}

fn format_call(name: &str, hook: &Hook, body: &str) -> String {
    let call = call(name, hook, body, "");
    let to = match call.to.as_str() {
        "" => "the private chat in which an owner wrote last",
        to => to,
    };
    match call.action {
        Action::Text(text) => format!("To {to}:\n{text}\n{}", format_missing(hook, body)),
        Action::Ask(prompt) => format!("The agent is asked, and answers to {to}:\n{prompt}\n"),
        Action::Run(line) => format!("Runs in the sandbox, and the output goes to {to}:\n{line}\n"),
    }
}
