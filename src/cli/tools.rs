//! `peacrab tools`: the tools that the model can use.

use std::fmt::Write;

use clap::{Args, Subcommand};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Context;
use super::terminal::print;
use crate::chat::ToolSpec;
use crate::error::{Error, Exit, Result};
use crate::json;
use crate::tools::{Capabilities, specs};

/// `peacrab tools …`
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the tools with their parameters
    List {
        /// Print JSON as the model gets it, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// Runs the action.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let Action::List { json } = arguments.action;
    let mut text = String::new();
    let capabilities = Capabilities {
        commands: loaded.config.tools.exec.enabled,
        board: true,
        memory: true,
        web: loaded.config.tools.web.enabled,
        cron: loaded.config.cron.enabled,
        chats: loaded.config.channels.telegram.enabled,
        subagents: true,
    };
    for spec in specs(capabilities) {
        if json {
            let parameters: &RawValue = json::from_str(&spec.parameters).map_err(broken)?;
            let parameters = serde_json::to_value(parameters).map_err(broken)?;
            let value = json!({"name": spec.name, "description": spec.description, "parameters": parameters});
            let _ = writeln!(text, "{value}");
        } else {
            text.push_str(&format_tool(&spec)?);
        }
    }
    match json {
        true => print::json(text.trim_end())?,
        false => print::out(&text)?,
    }
    Ok(Exit::Done)
}

/// A tool for people to read. Required parameters have a star.
fn format_tool(spec: &ToolSpec) -> Result<String> {
    let schema: Value = json::from_str(&spec.parameters).map_err(broken)?;
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|each| each == name))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let (needed, optional): (Vec<&str>, Vec<&str>) = properties
        .map(|(name, _)| name.as_str())
        .partition(|name| required(name));
    let starred = needed.iter().map(|name| format!("{name}*"));
    let parameters: Vec<String> = starred
        .chain(optional.iter().map(ToString::to_string))
        .collect();
    Ok(format!(
        "{}({})\n    {}\n",
        print::bold(&spec.name),
        parameters.join(", "),
        spec.description
    ))
}

fn broken(error: serde_json::Error) -> Error {
    Error::Failed(format!("the schema of a tool is not valid JSON: {error}"))
}
