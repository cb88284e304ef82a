//! `peacrab onboard`: creates the home folder, connects a model and a channel, and says what it did.

mod answers;
mod forms;
mod outside;
mod terminal;
mod texts;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::compose::{self, files, models_of, who_answers};
use super::config::texts::no_price;
use super::terminal::print;
use super::{Context, import};
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::channels::telegram;
use crate::config::home::command_for;
use crate::config::key::Key;
use crate::config::load::{self, Change};
use crate::config::settings::Source;
use crate::config::table;
use crate::config::{Home, Loaded};
use crate::models::route::Sources;
use crate::store::state::PromptChanges;
use answers::{Answers, Found};
use terminal::{Person, Terminal};

/// `peacrab onboard …`; every question has a flag.
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// The model provider: anthropic, openai, ollama, …, or any name with --api-base
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Its API key; '${NAME}' reads it from the environment, file:PATH from a file
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// The address of your own OpenAI-compatible server, such as http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL")]
    api_base: Option<String>,
    /// The model [default: the provider's usual one]
    #[arg(long)]
    model: Option<String>,
    /// The folder that the agent works in [default: workspace in the home folder]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The token of a Telegram bot, from @BotFather; file:PATH reads it from a file
    #[arg(long, value_name = "TOKEN")]
    telegram_token: Option<String>,
    /// Set up only this channel, such as discord or slack
    #[arg(long, value_name = "CHANNEL", conflicts_with_all = ["provider", "api_key", "api_base", "model", "workspace", "telegram_token"])]
    channel: Option<String>,
    /// Ask nothing: use the flags, keys in the environment, and defaults
    #[arg(long)]
    non_interactive: bool,
}

/// Asks, writes the configuration, creates the folders, and says what was done and what is next.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let home = context.home()?;
    let file = context.config_file()?;
    let can_ask = print::can_ask() && !arguments.non_interactive;
    let is_new = !file.exists();
    let person = Person::new()?;
    let mut taken = Vec::new();
    if is_new && arguments.channel.is_none() {
        match offer_import(context, can_ask.then_some(&person), &mut taken) {
            Err(Error::Stopped) if can_ask => {
                print::line(&texts::stopped(&taken, &[], &file, None))?;
                return Ok(Exit::Stopped);
            }
            offered => offered?,
        }
    }
    let loaded = match !is_new {
        true => context.start()?,
        // The file that --config names may be created here.
        false => load::load(&file, false, context.environment())?,
    };
    if can_ask {
        print::line(&texts::introduction(home.path()))?;
    }
    let environment = context.environment();
    let found = Found {
        home: &home,
        folder: file.parent().unwrap_or(Path::new(".")),
        loaded: &loaded,
        environment,
        sources: Sources {
            providers: &loaded.config.providers,
            variable: &|name| environment.get(name).cloned(),
            sign_ins: None,
        },
    };
    let mut terminal = Terminal::new(context, &loaded, &person, can_ask)?;
    let answers = answers::gather(arguments, &found, &mut terminal)?;
    if answers.is_stopped {
        if !answers.wanted.is_empty() {
            configure(&loaded, &file, &answers.wanted)?;
        }
        let saved: Vec<_> = answers.wanted.iter().map(|(path, _)| &**path).collect();
        print::line(&texts::stopped(
            &taken,
            &saved,
            &file,
            arguments.channel.as_deref(),
        ))?;
        return Ok(Exit::Stopped);
    }
    apply(context, &home, &loaded, &file, &answers)?;
    Ok(Exit::Done)
}

/// Offers to take over the homes of other programs. `taken` are the programs whose home was.
fn offer_import(
    context: &Context,
    person: Option<&Person>,
    taken: &mut Vec<&'static str>,
) -> Result<()> {
    for (program, folder) in import::homes(context) {
        let Some(person) = person else {
            let command = import::command(context, &folder)?;
            print::notice(&texts::can_import(program, &command));
            continue;
        };
        let question = texts::ask_to_import(program, &folder);
        let is_wanted = loop {
            let answer = person.ask(&question)?;
            match &*answer.to_ascii_lowercase() {
                "y" | "yes" => break true,
                "" | "n" | "no" => break false,
                _ => print::line(texts::YES_OR_NO)?,
            }
        };
        if is_wanted {
            import::import(context, &folder, None, true)?;
            taken.push(program);
        }
    }
    Ok(())
}

/// Has the agent take the files of a new workspace as known: where it has worked before, they do not count as changes.
fn note_as_known(context: &Context, home: &Home, loaded: &Loaded, files: &[&str]) {
    let changes = PromptChanges::new(&home.state(), loaded.agent_id(), Clock::System);
    let noted = compose::open_workspace(context, home, loaded).and_then(|workspace| {
        files
            .iter()
            .try_for_each(|file| changes.pass(&workspace, file))
    });
    if let Err(error) = noted {
        tracing::debug!("failed to note new files as known: {error}");
    }
}

/// Creates what is missing, writes the settings, and reports both.
fn apply(
    context: &Context,
    home: &Home,
    before: &Loaded,
    file: &Path,
    answers: &Answers,
) -> Result<()> {
    let is_new = !home.path().exists();
    files::make_home(home)?;
    let changes = configure(before, file, &answers.wanted)?;
    let loaded = context.load()?;
    let workspace = home.workspace(&loaded.config.agents.defaults.workspace);
    let new_files = files::fill_workspace(&workspace)?;
    note_as_known(context, home, &loaded, &new_files);
    let made = texts::created(is_new.then_some(home.path()), &workspace, &new_files);
    if made.is_empty() && changes.is_empty() {
        print::out(texts::NOTHING_CHANGED)?
    } else {
        print::out(&print::folded(&format!("\n{made}{changes}")))?
    }
    let telegram = loaded.config.channels.of(telegram::NAME);
    let bots = match answers.channel {
        _ if answers.is_doubtful => None,
        Some(service) => Some((service.title, "")),
        None => telegram
            .enabled
            .then(|| ("Telegram", answers.bot.as_deref().unwrap_or_default())),
    };
    let models = models_of(context, &loaded)?;
    if loaded.config.limits.usd_per_day > 0.0 {
        for model in models.unpriced() {
            print::complain(&texts::script_warning(&no_price(&model)));
        }
    }
    let model = who_answers(&models);
    let peacrab = command_for(home, context.environment());
    print::out(&texts::next_steps(&peacrab, model.as_deref(), bots))?;
    if answers.is_doubtful {
        let (title, name) = match answers.channel {
            Some(service) => (service.title, service.name),
            None => ("Telegram", telegram::NAME),
        };
        let warning = texts::does_not_work(title, name, &peacrab);
        print::line(&format!("\n{}", texts::warning(&warning)))?;
    }
    Ok(())
}

/// Writes the settings; each is a line of the report. Creates the file when it is missing.
fn configure(loaded: &Loaded, file: &Path, wanted: &[(String, Value)]) -> Result<String> {
    let changes: Vec<Change<'_>> = wanted
        .iter()
        .filter_map(|(path, value)| Some((table::find(path)?, path.as_str(), value)))
        .collect();
    if !changes.is_empty() || !file.exists() {
        load::change(file, &changes)?;
    }
    let lines = changes
        .iter()
        .map(|(key, path, value)| describe(loaded, key, path, value));
    Ok(lines.collect())
}

/// A change in a line, with the value before.
fn describe(loaded: &Loaded, key: &Key, path: &str, value: &Value) -> String {
    let (old, source) = loaded.current(key, path);
    // A reference to a variable is not secret, and worth seeing.
    let is_shown = !key.is_secret() || value.as_str().is_some_and(|text| text.starts_with("${"));
    let shown = |value: Value| {
        let value = if key.is_secret() {
            value
        } else {
            key.masked(value)
        };
        value.to_string()
    };
    let (old, new) = (shown(old), shown(value.clone()));
    match source {
        Source::Default => texts::set(path, is_shown.then_some(&*new)),
        _ => texts::changed(path, (!key.is_secret()).then_some((&*old, &*new))),
    }
}
