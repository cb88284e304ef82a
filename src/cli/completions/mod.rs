//! `peacrab completions`: a script that lets a shell complete our commands. The scripts ask
//! `peacrab __complete`, which knows the settings, providers, sessions and channels too.

use clap::{Arg, Args, Command, CommandFactory, ValueEnum};

use super::terminal::print;
use super::{Cli, Context};
use crate::base::error::{Exit, Result};
use crate::config::channels;
use crate::config::table::keys;
use crate::config::{Home, Loaded, load};
use crate::models::table::PROVIDERS;
use crate::store::session::store;

const AFTER_HELP: &str = "\
To install it in bash, in zsh (in a folder of your $fpath) or in fish:
  peacrab completions bash > ~/.local/share/bash-completion/completions/peacrab
  peacrab completions zsh > ~/.zfunc/_peacrab
  peacrab completions fish > ~/.config/fish/completions/peacrab.fish";

/// `peacrab completions SHELL`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Your shell
    shell: Shell,
}

/// `peacrab __complete SHELL -- WORD…`
#[derive(Debug, Args)]
pub struct CompleteArguments {
    /// The shell that asks
    shell: Shell,
    /// The words behind `peacrab` up to the cursor; the last one is to be completed
    #[arg(last = true)]
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script.
#[inline(never)]
pub fn run(arguments: &Arguments) -> Result<Exit> {
    print::out(match arguments.shell {
        Shell::Bash => include_str!("peacrab.bash"),
        Shell::Zsh => include_str!("peacrab.zsh"),
        Shell::Fish => include_str!("peacrab.fish"),
    })?;
    Ok(Exit::Done)
}

/// Prints what the last word may become, one candidate per line in the form of the shell.
pub fn complete(context: &Context, arguments: &CompleteArguments) -> Result<Exit> {
    let is_bash = arguments.shell == Shell::Bash;
    let words = if is_bash {
        join_breaks(&arguments.words)
    } else {
        arguments.words.clone()
    };
    let mut command = Cli::command();
    command.build();
    let mut lines = String::new();
    let current = words.last().map_or("", String::as_str);
    // bash replaces only what is behind the last of its word breaks.
    let kept = current.rfind([':', '=']).map_or(0, |at| at + 1);
    for (value, meaning) in candidates(context, &command, &words) {
        let meaning = meaning.lines().next().unwrap_or_default();
        match arguments.shell {
            Shell::Bash => lines.push_str(value.get(kept..).unwrap_or_default()),
            Shell::Zsh => lines.push_str(&[&value.replace(':', "\\:"), ":", meaning].concat()),
            Shell::Fish => lines.push_str(&[&value, "\t", meaning].concat()),
        }
        lines.push('\n');
    }
    print::out(&lines)?;
    Ok(Exit::Done)
}

/// bash breaks words at `:` and `=` (`COMP_WORDBREAKS`): joins them again.
fn join_breaks(parts: &[String]) -> Vec<String> {
    let is_break = |part: &str| !part.is_empty() && part.chars().all(|c| ":=".contains(c));
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    for part in parts {
        match words.last_mut().filter(|_| joins || is_break(part)) {
            Some(word) => word.push_str(part),
            None => words.push(part.clone()),
        }
        joins = is_break(part);
    }
    words
}

/// A candidate and what it means.
type Candidate = (String, String);

/// What the last word may become.
fn candidates(context: &Context, root: &Command, words: &[String]) -> Vec<Candidate> {
    let Some((current, before)) = words.split_last() else {
        return Vec::new();
    };
    let place = Place::find(root, before);
    let found = match (place.option, current.split_once('=')) {
        (Some(option), _) => values(context, &place, option),
        (None, Some((name, _))) if current.starts_with("--") => {
            let option = place.find_long(name.trim_start_matches('-'));
            let found = option.map(|option| values(context, &place, option));
            let with_name = |(value, meaning)| (format!("{name}={value}"), meaning);
            found.into_iter().flatten().map(with_name).collect()
        }
        _ if current.starts_with('-') && !place.has_only_values => place.options(),
        _ => {
            let commands = place.commands();
            let argument = place.argument();
            let values = argument.map(|argument| values(context, &place, argument));
            commands.chain(values.unwrap_or_default()).collect()
        }
    };
    let is_safe = |c: char| c.is_alphanumeric() || "-_.:=@/+".contains(c);
    let fits = |(value, _): &Candidate| value.starts_with(current) && value.chars().all(is_safe);
    found.into_iter().filter(fits).collect()
}

/// Where in the command line the last word is.
struct Place<'a> {
    command: &'a Command,
    /// The option whose value it is.
    option: Option<&'a Arg>,
    /// How many positional arguments come before it.
    position: usize,
    /// Whether it comes after `--`.
    has_only_values: bool,
    home: Option<String>,
    config: Option<String>,
    agent: Option<String>,
}

impl<'a> Place<'a> {
    fn find(root: &'a Command, before: &[String]) -> Self {
        let mut place = Self {
            command: root,
            option: None,
            position: 0,
            has_only_values: false,
            home: None,
            config: None,
            agent: None,
        };
        for word in before {
            place.pass(word);
        }
        place
    }

    fn pass(&mut self, word: &str) {
        if let Some(option) = self.option.take() {
            self.note(option, word);
        } else if self.has_only_values || word == "-" || !word.starts_with('-') {
            match self.command.find_subcommand(word) {
                Some(command) if self.position == 0 && !self.has_only_values => {
                    self.command = command;
                }
                _ => self.position += 1,
            }
        } else if word == "--" {
            self.has_only_values = true;
        } else if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => {
                    if let Some(option) = self.find_long(name) {
                        self.note(option, value);
                    }
                }
                None => self.option = self.find_long(long).filter(|option| takes_value(option)),
            }
        } else {
            let last = word.chars().next_back();
            let mut options = self.command.get_opts();
            self.option = options.find(|option| option.get_short() == last);
        }
    }

    fn note(&mut self, option: &Arg, value: &str) {
        match option.get_id().as_str() {
            "home" => self.home = Some(value.to_owned()),
            "config" => self.config = Some(value.to_owned()),
            "agent" => self.agent = Some(value.to_owned()),
            _ => {}
        }
    }

    fn find_long(&self, name: &str) -> Option<&'a Arg> {
        let mut options = self.command.get_arguments();
        options.find(|option| option.get_long() == Some(name))
    }

    /// The positional argument that comes next; the last one may be repeated.
    fn argument(&self) -> Option<&'a Arg> {
        let mut arguments = self.command.get_positionals();
        arguments.nth(self.position)
    }

    fn commands(&self) -> impl Iterator<Item = Candidate> + use<'a> {
        let is_first = self.position == 0 && !self.has_only_values;
        let commands = self.command.get_subcommands();
        commands
            .filter(move |command| is_first && !command.is_hide_set())
            .map(|command| describe(command.get_name(), command.get_about()))
    }

    fn options(&self) -> Vec<Candidate> {
        let options = self
            .command
            .get_arguments()
            .filter(|option| !option.is_hide_set());
        let named = |option: &Arg| {
            Some(describe(
                &["--", option.get_long()?].concat(),
                option.get_help(),
            ))
        };
        options.filter_map(named).collect()
    }

    /// The home that the command line or the environment names.
    fn home(&self, context: &Context) -> Option<Home> {
        match &self.home {
            Some(home) => Home::find(Some(home.as_ref()), |_| None).ok(),
            None => context.home().ok(),
        }
    }

    /// The configuration; `None` when there is no valid one.
    fn load(&self, context: &Context) -> Option<Loaded> {
        let file = match &self.config {
            Some(file) => Some(file.into()),
            None => self.home(context).map(|home| home.config_file()),
        };
        file.and_then(|file| load(&file, false, context.environment()).ok())
    }

    /// The conversations of the agent that was named, else of the default one.
    fn sessions(&self, context: &Context) -> Option<Vec<store::Summary>> {
        let loaded = self.load(context).unwrap_or_default();
        let agent = loaded.of_agent(self.agent.as_deref()).ok()?;
        let folder = self.home(context)?.sessions_of(agent.agent_id());
        store::list(&folder).ok()
    }

    /// The names of the providers in the configuration.
    fn providers(&self, context: &Context) -> Vec<String> {
        self.load(context).map_or_else(Vec::new, |loaded| {
            loaded.config.providers.keys().cloned().collect()
        })
    }
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

fn describe(name: &str, meaning: Option<&clap::builder::StyledStr>) -> Candidate {
    let meaning = meaning.map(ToString::to_string);
    (name.to_owned(), meaning.unwrap_or_default())
}

/// What an argument may be.
fn values(context: &Context, place: &Place<'_>, argument: &Arg) -> Vec<Candidate> {
    let named = |name: &str| describe(name, None);
    let known = PROVIDERS.iter().map(|provider| provider.name.to_owned());
    match (place.command.get_name(), argument.get_id().as_str()) {
        (_, "key") => {
            let mut providers = place.providers(context);
            providers.extend(
                known
                    .filter(|name| !providers.contains(name))
                    .collect::<Vec<_>>(),
            );
            let paths = |path: &str| {
                if path.contains('*') {
                    providers
                        .iter()
                        .map(|name| path.replace('*', name))
                        .collect()
                } else {
                    vec![path.to_owned()]
                }
            };
            let keys = keys().map(|key| (paths(key.path), key.meaning));
            keys.flat_map(|(paths, meaning)| {
                paths
                    .into_iter()
                    .map(move |path| (path, meaning.to_owned()))
            })
            .collect()
        }
        (_, "provider") => known.map(|name| named(&name)).collect(),
        (_, "agent") => {
            let agents = place.load(context).map(|loaded| loaded.config.agents);
            let profiles = agents.unwrap_or_default().profiles().into_iter();
            profiles.map(|agent| (agent.id, agent.name)).collect()
        }
        (_, "session") => {
            let sessions = place.sessions(context);
            // As `sessions list` shows them: those of the terminal by their names.
            let named = |session: store::Summary| match session.chat.parts() {
                ("cli", name) => (name.to_owned(), session.last),
                _ => (session.chat.to_string(), session.last),
            };
            sessions.into_iter().flatten().map(named).collect()
        }
        (_, "skill") => super::skills::names(context),
        (_, "server") => {
            let loaded = place.load(context);
            loaded.map_or_else(Vec::new, |loaded| super::mcp::names(&loaded))
        }
        (_, "tool") => super::tools::names(context),
        (_, "job" | "jobs") => {
            let home = place.home(context);
            home.map_or_else(Vec::new, |home| super::cron::names(&home))
        }
        (_, "watch" | "watches") => {
            let home = place.home(context);
            home.map_or_else(Vec::new, |home| super::watch::names(&home))
        }
        (_, "channel") => channels::names().map(named).collect(),
        _ => {
            let values = argument.get_possible_values();
            let values = values.iter().filter(|value| !value.is_hide_set());
            values
                .map(|value| describe(value.get_name(), value.get_help()))
                .collect()
        }
    }
}
