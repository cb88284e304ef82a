//! `peacrab approvals`: commands that are always allowed.

use clap::{Args, Subcommand};

use crate::cli::Context;
use crate::cli::terminal::print;
use crate::error::{Error, Exit, Result};
use crate::state::Approvals;
use crate::text::reveal;

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
    /// Ask again before a command runs
    Remove {
        /// Its number in the list
        #[arg(required = true, value_name = "NUMBER")]
        numbers: Vec<u64>,
    },
}

/// Runs the action. A running gateway notices the change at once.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let _ = context.start()?;
    let approvals = Approvals::new(&context.home()?.state());
    match &arguments.action {
        None | Some(Action::List) => list(&approvals)?,
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
        let sandbox = match one.unsandboxed {
            true => "outside the sandbox",
            false => "in the sandbox",
        };
        let chat = match &one.chat {
            Some(chat) => match &one.agent {
                Some(agent) => format!("for {} with the agent {agent}", on_line(chat)),
                None => format!("for {}", on_line(chat)),
            },
            None => "for no chat (from an earlier version; no longer used)".to_owned(),
        };
        let since = one.since.split('T').next().unwrap_or_default();
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
