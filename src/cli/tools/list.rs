//! `peacrab tools list`.

use std::fmt::Write;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Checked, Custom, texts};
use crate::base::chat::ToolSpec;
use crate::base::error::{Error, Exit, Result};
use crate::base::json;
use crate::cli::Context;
use crate::cli::terminal::print;
use crate::config::Loaded;
use crate::store::state::ToolApproval;
use crate::text::{escape_json, reveal};
use crate::tools::{Capabilities, specs};

/// Lists the built-in tools and those of the workspace.
pub fn run(context: &Context, loaded: &Loaded, json: bool) -> Result<Exit> {
    let mut text = String::new();
    let capabilities = Capabilities {
        commands: loaded.config.tools.exec.enabled,
        board: true,
        memory: true,
        web: loaded.config.tools.has_web(),
        cron: loaded.config.cron.enabled,
        watch: loaded.config.watch.enabled,
        chats: loaded.config.channels.enabled().next().is_some(),
        subagents: true,
    };
    for spec in specs(capabilities) {
        if json {
            let _ = writeln!(text, "{}", as_json(&spec)?);
        } else {
            text.push_str(&format_tool(&spec)?)
        }
    }
    let custom = Custom::of(context, loaded)?;
    let checked = custom.check();
    if json {
        text.push_str(&custom_as_json(&checked))
    } else {
        for one in &checked {
            text.push_str(&format_custom(one, custom.is_enabled)?);
        }
    }
    if json {
        print::json(text.trim_end())?
    } else {
        print::out(&text)?
    }
    Ok(Exit::Done)
}

fn as_json(spec: &ToolSpec) -> Result<Value> {
    let parameters: &RawValue = json::borrowed_from_str(&spec.parameters).map_err(broken)?;
    let parameters = serde_json::to_value(parameters).map_err(broken)?;
    Ok(json!({"name": spec.name, "description": spec.description, "parameters": parameters}))
}

/// The tools of the workspace, one JSON object a line.
pub fn custom_as_json(checked: &[Checked]) -> String {
    let mut text = String::new();
    for one in checked {
        let mut value = match &one.state {
            Ok((candidate, approval)) => {
                let spec = candidate.manifest.spec(&one.name);
                let mut value = as_json(&spec).unwrap_or_default();
                value["state"] = json!(match approval {
                    ToolApproval::Approved => "ready",
                    ToolApproval::New => "new",
                    ToolApproval::Changed => "changed",
                });
                value["hash"] = json!(candidate.contents.hash);
                value
            }
            Err(_) => json!({"name": one.name, "state": "fault", "fault": one.fault()}),
        };
        value["custom"] = json!(true);
        let _ = writeln!(text, "{}", escape_json(&value.to_string()));
    }
    text
}

fn format_custom(checked: &Checked, is_enabled: bool) -> Result<String> {
    let (candidate, approval) = match &checked.state {
        Ok(state) => state,
        Err(_) => {
            let fault = checked.fault().unwrap_or_default();
            let name = print::bold(&checked.name).into_owned();
            return Ok(format!(
                "{}\n    {}\n",
                reveal(&name),
                texts::unusable(&fault)
            ));
        }
    };
    let state = match approval {
        _ if !is_enabled => texts::DISABLED.to_owned(),
        ToolApproval::Approved => texts::READY.to_owned(),
        ToolApproval::New => texts::waits(&checked.name),
        ToolApproval::Changed => texts::waits_changed(&checked.name),
    };
    let mut spec = candidate.manifest.spec(&checked.name);
    let description = spec.description.replace('\n', " ");
    spec.description = reveal(&description).into_owned().into();
    Ok(format!(
        "{}    {}\n",
        format_tool(&spec)?,
        print::dim(&state)
    ))
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
