//! `peacrab onboard`: makes a home, connects a model, and says what it did.

mod answers;
mod files;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::config::masked;
use super::{Context, print};
use crate::config::load::{self, Change};
use crate::config::settings::Source;
use crate::config::table::{self, Key};
use crate::config::{Home, Loaded};
use crate::error::{Exit, Result};
use answers::Found;
pub use answers::Known;

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
    /// Ask nothing: take the flags, what the environment has, and the defaults
    #[arg(long)]
    non_interactive: bool,
}

/// Asks, writes the configuration, lays the folders out, and says what was done and what is next.
pub fn run(context: &Context, arguments: &Arguments, known: &[Known]) -> Result<Exit> {
    let home = context.home()?;
    let file = context.config_file()?;
    let loaded = match file.exists() {
        true => context.start()?,
        // The file that --config names may be made here.
        false => load::load(&file, false, context.environment())?,
    };
    print::line(&format!("Home: {}", home.path().display()))?;
    let ask = print::can_ask() && !arguments.non_interactive;
    let found = Found {
        known,
        loaded: &loaded,
        environment: context.environment(),
    };
    let wanted = answers::gather(arguments, &found, ask.then_some(&mut print::ask))?;

    files::make_home(&home)?;
    configure(&loaded, &file, &wanted)?;
    let loaded = context.load()?;
    files::fill_workspace(&home.workspace(&loaded.config.agents.defaults.workspace))?;
    say_what_is_next(&loaded, &home)?;
    Ok(Exit::Done)
}

/// Writes what is not so already, and says each change.
fn configure(loaded: &Loaded, file: &Path, wanted: &[(String, Value)]) -> Result<()> {
    let changes: Vec<Change<'_>> = wanted
        .iter()
        .filter_map(|(path, value)| Some((table::find(path)?, path.as_str(), value)))
        .collect();
    let is_new = !file.exists();
    if !changes.is_empty() || is_new {
        load::change(file, &changes)?;
    }
    let verb = if is_new { "made   " } else { "kept   " };
    print::line(&format!("{verb} {}", file.display()))?;
    for (key, path, value) in changes {
        print::line(&said(loaded, key, path, value))?;
    }
    Ok(())
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
        Source::Default => format!("set     {path} = {new}"),
        _ => format!("changed {path} from {} to {new}", masked(key, old)),
    }
}

fn say_what_is_next(loaded: &Loaded, home: &Home) -> Result<()> {
    let config = &loaded.config;
    let connected = config
        .providers
        .values()
        .any(|provider| !provider.api_key.is_empty() || !provider.api_base.is_empty())
        || config.agents.defaults.provider != "auto";
    let mut text = String::from("\n");
    if !connected {
        text.push_str(
            "No model is connected yet: the offline helper answers. To connect one later:\n  \
             peacrab onboard --provider anthropic --api-key KEY\n\n",
        );
    }
    let folder = home.path().display();
    text.push_str(&format!(
        "Next:\n  peacrab agent                 talk to it\n  \
         peacrab config explain        all that can be set\n\
         Everything lies in {folder}; remove that folder, and nothing is left.\n"
    ));
    print::out(&text)
}
