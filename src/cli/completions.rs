//! `peacrab completions`: what a shell reads to complete our commands.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::shells;

use super::Cli;
use super::terminal::print;
use crate::error::{Error, Exit, Result};

/// `peacrab completions SHELL`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Which shell; for bash: peacrab completions bash > ~/.local/share/bash-completion/completions/peacrab
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completions.
pub fn run(arguments: &Arguments) -> Result<Exit> {
    let mut command = Cli::command();
    let mut script = Vec::new();
    match arguments.shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut command, "peacrab", &mut script),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, "peacrab", &mut script),
        Shell::Fish => clap_complete::generate(shells::Fish, &mut command, "peacrab", &mut script),
    }
    let script = String::from_utf8(script).map_err(|error| Error::Failed(error.to_string()))?;
    print::out(&script)?;
    Ok(Exit::Done)
}
