//! `peacrab agents`: the agents of the configuration.

use clap::Args;
use serde_json::json;

use super::Context;
use super::compose::{check_agents, models_of, who_answers};
use super::terminal::print;
use crate::base::error::{Exit, Result};
use crate::config::schema::Binding;
use crate::store::session::store;
use crate::text::{count_of, escape_json, reveal};

/// `peacrab agents …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Lists the agents. Nothing is created, and no model is asked.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    check_agents(&home, &loaded)?;
    let agents = &loaded.config.agents;
    for (index, profile) in agents.profiles().into_iter().enumerate() {
        let workspace = home.workspace(&profile.settings.workspace);
        let models = models_of(context, &loaded.of_agent(Some(&profile.id))?);
        let model = match &models {
            Ok(models) => who_answers(models).unwrap_or_else(|| "none (offline helper)".to_owned()),
            Err(error) => error.to_string(),
        };
        let is_default = profile.id == agents.default_id();
        let bindings = agents.bindings.iter();
        let bindings = bindings.filter(|binding| binding.agent == profile.id);
        let bindings: Vec<String> = bindings.map(describe).collect();
        // A folder that cannot be read has no sessions that could be counted.
        let sessions = store::list(&home.sessions_of(&profile.id)).unwrap_or_default();
        if arguments.json {
            let value = json!({
                "id": profile.id,
                "name": profile.name,
                "default": is_default,
                "model": model,
                "workspace": workspace.display().to_string(),
                "bindings": bindings,
                "sessions": sessions.len(),
            });
            print::json(&escape_json(&value.to_string()))?;
            continue;
        }
        let gap = if index == 0 { "" } else { "\n" };
        let mut serves = bindings;
        if is_default {
            let rest = if agents.bindings.is_empty() {
                "everything"
            } else {
                "everything else"
            };
            serves.push(rest.to_owned());
        }
        let serves = if serves.is_empty() {
            "nothing (no binding)".to_owned()
        } else {
            serves.join("; ")
        };
        print::out(&format!(
            "{gap}{}\n  model      {}\n  workspace  {}\n  answers    {}\n  sessions   {}\n",
            print::bold(&reveal(&profile.label())),
            reveal(&model),
            reveal(&workspace.display().to_string()),
            reveal(&serves),
            count_of(sessions.len(), "conversation", "conversations"),
        ))?;
    }
    Ok(Exit::Done)
}

/// Which messages a binding is about, such as `telegram, chat -100123`.
fn describe(binding: &Binding) -> String {
    let part = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}{value}"));
    let parts = [
        part("", &binding.channel),
        part("chat ", &binding.chat),
        part("sender ", &binding.sender),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_is_described_by_what_it_names() {
        let binding = Binding {
            agent: "work".to_owned(),
            channel: "telegram".to_owned(),
            chat: "-100".to_owned(),
            sender: String::new(),
        };
        assert_eq!(describe(&binding), "telegram, chat -100");
    }
}
