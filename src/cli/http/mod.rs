//! `peacrab http`: the tokens of programs and browsers.

pub mod hook;

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use super::Context;
use super::terminal::print;
use crate::base::access::Role;
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::gateway::control::{self, Request};
use crate::store::state::Pairing;
use crate::store::state::pairing::tokens::Token;

const AFTER_HELP: &str = "\
Examples:
  peacrab config set http.enabled true
  peacrab http token add homeassistant --role user
  peacrab http token add prometheus --role user
  peacrab http token revoke homeassistant

Roles: owner (everything), user (the agent's tools work in the sandbox), guest (only talk).";

/// `peacrab http …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Manage the tokens with which programs ask
    Token {
        #[command(subcommand)]
        action: Option<TokenAction>,
    },
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make a token, and print it this once
    #[command(alias = "new")]
    Add {
        /// A name for the program: small letters, digits and dashes
        name: String,
        /// What it may do
        #[arg(long, value_name = "ROLE", value_parser = ["guest", "user", "owner"], default_value = "user")]
        role: String,
        /// Hooks that it opens, separated by commas; it opens nothing else then
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        hooks: Vec<String>,
    },
    /// List the tokens, without themselves
    #[command(alias = "ls")]
    List,
    /// Revoke a token; what it has begun ends
    #[command(aliases = ["rm", "remove"])]
    Revoke {
        /// Its name
        name: String,
    },
}

/// Runs the action on the home's tokens.
#[inline(never)]
pub fn run(context: &Context, arguments: Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    let pairing = Pairing::new(&home.state(), Clock::System);
    let Action::Token { action } = arguments.action;
    match action.unwrap_or(TokenAction::List) {
        TokenAction::Add { name, role, hooks } => {
            let role = Role::parse(&role).unwrap_or(Role::Guest);
            let token = pairing.add_token(&name, role, hooks)?;
            print::notice("This is shown only now. It goes into the program as its API key:");
            print::line(token.expose())?;
            if !loaded.config.http.enabled {
                let text = "HTTP is off. To turn it on: peacrab config set http.enabled true";
                print::notice(text);
            }
        }
        TokenAction::List => print::out(&format_tokens(&pairing.tokens()?))?,
        TokenAction::Revoke { name } => {
            if !pairing.remove_token(&name)? {
                return Err(Error::Usage(format!(
                    "There is no token {name}. `peacrab http token list` lists them."
                )));
            }
            // Without a gateway nothing runs.
            let _ = control::ask(&home.control(), &Request::AccessChanged);
            print::line(&format!("{name} is revoked."))?;
        }
    }
    Ok(Exit::Done)
}

fn format_tokens(tokens: &[(Token, Role)]) -> String {
    let mut text = String::new();
    for (token, role) in tokens {
        let day = token.since.split('T').next().unwrap_or_default();
        let hooks = match token.hooks.as_slice() {
            [] => String::new(),
            hooks => format!("  only hooks: {}", hooks.join(", ")),
        };
        let _ = writeln!(text, "{:<24} {role:<6} {day}{hooks}", token.name);
    }
    if text.is_empty() {
        text += "No tokens. `peacrab http token add NAME` makes one.\n";
    }
    text
}
