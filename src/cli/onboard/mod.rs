//! `peacrab onboard`: makes a home, connects a model, and says what it did.

mod answers;
mod files;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::Context;
use super::compose::{models_of, who_answers};
use super::config::masked;
use super::terminal::print;
use crate::config::Loaded;
use crate::config::load::{self, Change};
use crate::config::settings::Source;
use crate::config::table::{self, Key};
use crate::error::{Exit, Result};
use crate::provider::Models;
use crate::provider::table::{Known as Row, PROVIDERS};
use answers::Found;
use answers::Known;
use files::Report;

/// `peacrab onboard …`; every question has a flag.
#[derive(Debug, Default, Args)]
pub struct Arguments {
    /// Which provider answers, such as anthropic, openai, ollama; or any name with --api-base
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Its key; '${NAME}' takes it from the environment, file:PATH from a file
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Its address, such as http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL")]
    api_base: Option<String>,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// The folder that the agent works in [default: workspace in the home folder]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The token of a Telegram bot, from @BotFather; file:PATH takes it from a file
    #[arg(long, value_name = "TOKEN")]
    telegram_token: Option<String>,
    /// Ask nothing: take the flags, what the environment has, and the defaults
    #[arg(long)]
    non_interactive: bool,
}

/// Asks, writes the configuration, lays the folders out, and says what was done and what is next.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let home = context.home()?;
    let file = context.config_file()?;
    let has_file = file.exists();
    let loaded = match has_file {
        true => context.start()?,
        // The file that --config names may be made here.
        false => load::load(&file, false, context.environment())?,
    };
    print::line(&format!("Home: {}", home.path().display()))?;
    let ask = print::can_ask() && !arguments.non_interactive;
    let named = |provider: &Row| Known {
        name: provider.name,
        variables: provider.variables,
    };
    let known: Vec<Known> = PROVIDERS.iter().map(named).collect();
    let found = Found {
        known: &known,
        loaded: &loaded,
        environment: context.environment(),
    };
    let wanted = answers::gather(arguments, &found, ask.then_some(&mut print::ask))?;

    let mut report = Report::new(home.path());
    files::make_home(&home, &mut report)?;
    let changes = configure(&loaded, &file, &wanted)?;
    report.note(has_file, &file);
    let loaded = context.load()?;
    let workspace = home.workspace(&loaded.config.agents.defaults.workspace);
    files::fill_workspace(&workspace, &mut report)?;
    print::out(&report.made)?;
    match report.kept {
        0 => {}
        1 => print::line("kept    what was there")?,
        kept => print::line(&format!("kept    {kept} files and folders that were there"))?,
    }
    print::out(&changes)?;
    let is_on_telegram = loaded.config.channels.telegram.enabled;
    print::out(&what_is_next(&models_of(context, &loaded)?, is_on_telegram))?;
    Ok(Exit::Done)
}

/// Writes what is not so already; each change is a line of the answer.
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
        .map(|(key, path, value)| said(loaded, key, path, value));
    Ok(lines.collect())
}

/// A change in a line: what was there before is said.
fn said(loaded: &Loaded, key: &Key, path: &str, value: &Value) -> String {
    let (old, source) = loaded.current(key, path);
    // A reference to a variable is no secret, and it is worth seeing.
    let new = match value.as_str().is_some_and(|text| text.starts_with("${")) {
        true => value.clone(),
        false => masked(key, value.clone()),
    };
    match source {
        Source::Default => format!("set     {path} = {new}\n"),
        _ => format!("changed {path} from {} to {new}\n", masked(key, old)),
    }
}

/// Who answers now, and what can be done next.
fn what_is_next(models: &Models, is_on_telegram: bool) -> String {
    let model = match who_answers(models) {
        Some(model) => format!("Model: {model}"),
        None => "No model is connected yet: the offline helper answers. To connect one later:\n  \
                 peacrab onboard --provider anthropic --api-key KEY"
            .to_owned(),
    };
    let telegram = match is_on_telegram {
        true => {
            "  peacrab gateway           be reached on Telegram; the bot tells you how to be let in\n  \
             peacrab service install   the same for good, with systemd\n"
        }
        false => "",
    };
    format!(
        "\n{model}\n\nNext:\n  peacrab agent             talk to it\n{telegram}  \
         peacrab doctor            see whether all is well\n  \
         peacrab config explain    all that can be set\n"
    )
}
