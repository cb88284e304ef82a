//! Arguments of a command that are built only when it is the one that is run.

use std::ops::Deref;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of one of many commands: building those of all takes longer than most of what they do.
#[derive(Debug)]
pub struct Deferred<A>(pub A);

impl<A> Deref for Deferred<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A: Args> Args for Deferred<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| {
            // What the list of commands says of it stays.
            let about = command.get_about().cloned();
            let command = A::augment_args(command);
            match about {
                Some(about) => command.about(about),
                None => command,
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::cli::Cli;

    #[test]
    fn arguments_are_built_for_the_command_that_runs_alone() {
        let mut command = Cli::command();
        let line = ["peacrab", "sessions", "list"];
        command.try_get_matches_from_mut(line).unwrap();
        let has_arguments = |command: &&clap::Command| {
            let is_own = |argument: &clap::Arg| !argument.is_global_set();
            command.has_subcommands() || command.get_arguments().any(is_own)
        };
        let built: Vec<_> = command
            .get_subcommands()
            .filter(has_arguments)
            .map(clap::Command::get_name)
            .collect();
        // clap's own `help` has the names of all.
        assert_eq!(built, ["sessions", "help"]);
    }
}
