//! `peacrab approvals`: commands that are always allowed.

use clap::{Args, Subcommand};

use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::language::Language;
use crate::cli::Context;
use crate::cli::context::owner_chat;
use crate::cli::terminal::print;
use crate::store::state::Approvals;
use crate::text::reveal;
use crate::tools::commands::parse_pattern;

/// `peacrab approvals …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the commands that are always allowed, with their numbers
    List,
    /// Always allow the commands that match a pattern; * stands for one word
    Add {
        /// The pattern, such as: systemctl restart '*'
        #[arg(
            required = true,
            value_name = "WORD",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        words: Vec<String>,
        /// The chat that it is for, such as telegram:1001 [default: the one in which an owner wrote last]
        #[arg(long, value_name = "CHAT")]
        chat: Option<String>,
        /// The agent that it is for
        #[arg(long, value_name = "ID", default_value = "main")]
        agent: String,
    },
    /// Ask again before a command runs
    #[command(visible_alias = "revoke")]
    Remove {
        /// Its number in the list
        #[arg(required = true, value_name = "NUMBER")]
        numbers: Vec<u64>,
    },
}

/// Runs the action. A running gateway notices the change at once.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let state = context.home()?.state();
    let approvals = Approvals::new(&state);
    match &arguments.action {
        None | Some(Action::List) => list(&approvals)?,
        Some(Action::Add { words, chat, agent }) => {
            let home = context.home()?;
            let owner = || owner_chat(&home, &loaded).map(|chat| chat.to_string());
            let chat = chat.clone().or_else(owner).ok_or_else(|| {
                Error::Usage("No chat yet. Message the bot first, or use --chat CHAT.".to_owned())
            })?;
            let pattern = parse_pattern(&words.join(" "), Language::English)?;
            let since = Clock::System.now().to_rfc3339();
            let approvals = approvals.of_agent(agent);
            let number = approvals.add_pattern(&pattern, &chat, since)?;
            print::line(&format!(
                "Always allowed for {}: {pattern} (number {number})",
                on_line(&chat)
            ))?;
        }
        Some(Action::Remove { numbers }) => remove(&approvals, numbers)?,
    }
    Ok(Exit::Done)
}

fn list(approvals: &Approvals) -> Result<()> {
    let list = approvals.list(None)?;
    if list.is_empty() {
        return print::line("No command is always allowed.");
    }
    for one in &list {
        let sandbox = if one.unsandboxed {
            "outside the sandbox"
        } else {
            "in the sandbox"
        };
        let chat = match &one.chat {
            Some(chat) => match &one.agent {
                Some(agent) => format!("for {} with the agent {agent}", on_line(chat)),
                None => format!("for {}", on_line(chat)),
            },
            None => "for no chat (from an earlier version; no longer used)".to_owned(),
        };
        let since = one.since.split('T').next().unwrap_or_default();
        if one.is_pattern {
            print::line(&format!(
                "{:>3}  {}\n     a pattern, outside the sandbox too, {chat}, since {}",
                one.number,
                on_line(&one.command),
                on_line(since),
            ))?;
            continue;
        }
        print::line(&format!(
            "{:>3}  {}\n     in {}, {sandbox}, {chat}, since {}",
            one.number,
            on_line(&one.command),
            on_line(&one.folder),
            on_line(since),
        ))?;
    }
    print::line("To remove one: peacrab approvals remove NUMBER")
}

fn remove(approvals: &Approvals, numbers: &[u64]) -> Result<()> {
    for number in numbers {
        let Some(removed) = approvals.remove(*number, None)? else {
            return Err(Error::Usage(format!(
                "There is no approval with the number {number}. `peacrab approvals list` shows them."
            )));
        };
        print::line(&format!("Removed: {}", on_line(&removed.command)))?;
    }
    Ok(())
}

/// What the model chose, on one line.
fn on_line(text: &str) -> String {
    reveal(text).replace('\n', "\\n")
}
