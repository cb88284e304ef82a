//! The servers' tools, resources and prompts by the names that the model calls.

use std::collections::BTreeSet;

use serde_json::json;

use super::{names, schema};
use crate::base::chat::ToolSpec;
use crate::text::{ellipsize_chars, one_line};
use crate::tools::mcp::client::servers::Listing;
use crate::tools::mcp::client::tool::{Prompt, Resource, Tool};

/// Characters of a tool's description as the model gets it.
const DESCRIPTION_CHARS: usize = 600;
/// Resources, templates or prompts that a description names.
const NAMED: usize = 12;

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Target {
    /// A tool of the server.
    Tool(Tool),
    /// Its resources; the text describes them.
    ReadResource(String),
    /// Its prompts; the text describes them.
    GetPrompt(String),
}

/// Something of a server that the model can call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name for the model.
    pub name: String,
    /// The server's name in the configuration.
    pub server: String,
    /// What is called.
    pub target: Target,
}

/// A server's tool for its resources.
const READ_RESOURCE: &str = "read_resource";
/// A server's tool for its prompts.
const GET_PROMPT: &str = "get_prompt";

/// What a server has, in its order, as far as the configuration allows it. The names are given later.
pub fn targets(listing: Listing, enabled: &[String]) -> Vec<Target> {
    let is_enabled = |name: &str| enabled.iter().any(|pattern| fits(pattern, name));
    let mut found: Vec<Target> = Vec::new();
    let tools = listing.tools.into_iter();
    found.extend(
        tools
            .filter(|tool| is_enabled(&tool.name))
            .map(Target::Tool),
    );
    let has_resources = !(listing.resources.is_empty() && listing.templates.is_empty());
    if has_resources && is_enabled(READ_RESOURCE) {
        let text = describe_resources(&listing.resources, &listing.templates);
        found.push(Target::ReadResource(text));
    }
    if !listing.prompts.is_empty() && is_enabled(GET_PROMPT) {
        found.push(Target::GetPrompt(describe_prompts(&listing.prompts)));
    }
    found
}

/// Whether a name fits a pattern, of which only the end can be `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

fn describe_resources(resources: &[Resource], templates: &[Resource]) -> String {
    let describe = |one: &Resource| {
        if one.name.is_empty() || one.name == one.uri {
            one_line(&one.uri, 100)
        } else {
            format!("{} ({})", one_line(&one.uri, 100), one_line(&one.name, 60))
        }
    };
    let list = |all: &[Resource]| {
        let named: Vec<String> = all.iter().take(NAMED).map(describe).collect();
        let more = if all.len() > NAMED { ", …" } else { "" };
        format!("{}{more}", named.join(", "))
    };
    let mut text = "Read a resource by its URI.".to_owned();
    if !resources.is_empty() {
        text += &format!(" Resources: {}.", list(resources));
    }
    if !templates.is_empty() {
        text += &format!(" Templates, to be filled in: {}.", list(templates));
    }
    text
}

fn describe_prompts(prompts: &[Prompt]) -> String {
    let describe = |one: &Prompt| {
        let arguments = one.arguments.iter();
        let arguments = arguments.map(|argument| {
            if argument.required {
                format!("{}*", one_line(&argument.name, 40))
            } else {
                one_line(&argument.name, 40)
            }
        });
        let arguments: Vec<String> = arguments.collect();
        let what = one_line(&one.description, 80);
        format!(
            "{}({}): {what}",
            one_line(&one.name, 60),
            arguments.join(", ")
        )
    };
    let named: Vec<String> = prompts.iter().take(NAMED).map(describe).collect();
    format!(
        "Get the text of a prompt that the server offers: {}",
        named.join("; ")
    )
}

impl Target {
    /// The server's name for it.
    pub fn title(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::ReadResource(_) => READ_RESOURCE,
            Self::GetPrompt(_) => GET_PROMPT,
        }
    }

    /// What it does, in the server's words.
    pub fn description(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.description,
            Self::ReadResource(text) | Self::GetPrompt(text) => text,
        }
    }
}

/// Gives each its name: a plain one, or one with a hash where that is too long or taken.
#[derive(Default)]
pub struct Namer(BTreeSet<String>);

impl Namer {
    /// The entry of a server's target. Servers and targets have to come in their order.
    pub fn entry(&mut self, server: &str, target: Target) -> Entry {
        let plain = names::plain(server, target.title());
        let plain = plain.filter(|name| self.0.insert(name.clone()));
        Entry {
            name: plain.unwrap_or_else(|| names::hashed(server, target.title())),
            server: server.to_owned(),
            target,
        }
    }
}

impl Entry {
    /// Whether it only reads, as the server says. It is believed for the order of calls alone.
    pub fn is_read_only(&self) -> bool {
        match &self.target {
            Target::Tool(tool) => tool.read_only,
            _ => true,
        }
    }

    /// Whether the model may mean it by this name.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || names::hashed(&self.server, self.target.title()) == name
    }

    /// The entry as the model is told about it. `clean` removes secrets.
    pub fn spec(&self, clean: &dyn Fn(&str) -> String) -> ToolSpec {
        let mut description = format!(
            "[MCP server {}] {}",
            self.server,
            ellipsize_chars(self.target.description().trim(), DESCRIPTION_CHARS)
        );
        let parameters = match &self.target {
            Target::Tool(tool) => schema::simplify(&tool.schema).unwrap_or_else(|| {
                // The model reads what it cannot be held to.
                let told = ellipsize_chars(&tool.schema, DESCRIPTION_CHARS);
                description += &format!("\nArguments (JSON schema): {told}");
                schema::ANY.to_owned()
            }),
            Target::ReadResource(_) => json!({
                "type": "object", "required": ["uri"], "properties": {"uri": {"type": "string"}},
            })
            .to_string(),
            Target::GetPrompt(_) => json!({
                "type": "object", "required": ["name"],
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
            })
            .to_string(),
        };
        ToolSpec {
            name: self.name.clone().into(),
            description: clean(&description).into(),
            parameters: clean(&parameters).into(),
            read_only: self.is_read_only(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: "Does it".to_owned(),
            schema: r#"{"type":"object"}"#.to_owned(),
            ..Tool::default()
        }
    }

    fn names_of(servers: &[(&str, &[&str])]) -> Vec<Entry> {
        let mut namer = Namer::default();
        let mut entries = Vec::new();
        for (server, tools) in servers {
            for name in *tools {
                entries.push(namer.entry(server, Target::Tool(tool(name))));
            }
        }
        entries
    }

    #[test]
    fn two_tools_with_the_same_name_are_told_apart_and_found_again() {
        let entries = names_of(&[("a", &["b_c", "x.y", "x_y"]), ("a_b", &["c"])]);
        let names: BTreeSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names.contains("mcp_a_b_c") && names.contains("mcp_a_x_y"));
        for entry in &entries {
            let found = entries.iter().find(|one| one.answers_to(&entry.name));
            let found = found.unwrap();
            assert_eq!(
                (&found.server, found.target.title()),
                (&entry.server, entry.target.title())
            );
        }
    }

    #[test]
    fn only_what_is_enabled_is_there() {
        let listing = || Listing {
            tools: vec![tool("get_a"), tool("get_b"), tool("delete")],
            resources: vec![Resource {
                uri: "note://1".into(),
                ..Resource::default()
            }],
            prompts: vec![Prompt {
                name: "review".into(),
                ..Prompt::default()
            }],
            ..Listing::default()
        };
        let titles = |enabled: &[&str]| {
            let enabled: Vec<String> = enabled.iter().map(ToString::to_string).collect();
            let all = targets(listing(), &enabled);
            all.iter()
                .map(|one| one.title().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            titles(&["*"]),
            "get_a get_b delete read_resource get_prompt"
        );
        assert_eq!(titles(&["get_*"]), "get_a get_b get_prompt");
        assert_eq!(titles(&["delete", "read_resource"]), "delete read_resource");
        assert_eq!(titles(&[]), "");
    }

    #[test]
    fn a_spec_says_whose_words_it_has_and_is_without_secrets() {
        let mut one = tool("on");
        one.description = "Uses sk-1".to_owned();
        let entry = Namer::default().entry("lamp", Target::Tool(one.clone()));
        let spec = entry.spec(&|text| text.replace("sk-1", "***"));
        assert_eq!(spec.description, "[MCP server lamp] Uses ***");
        one.schema = r#"{"type":"object","required":["a b"],"properties":{"a b":{}}}"#.to_owned();
        let entry = Namer::default().entry("lamp", Target::Tool(one));
        let spec = entry.spec(&str::to_owned);
        assert_eq!(spec.parameters, schema::ANY);
        assert!(spec.description.contains("\"a b\""), "{}", spec.description);
    }
}
