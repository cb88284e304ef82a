//! What a SKILL.md says about its skill, in the forms that nanobot, PicoClaw, OpenClaw and Anthropic's
//! Agent Skills use. Pure. Unknown keys are ignored.

use std::borrow::Cow;

use super::front_matter::{self, Fault, Member, Value};
use super::{FAULTS, REQUIREMENTS};
use crate::base::limits::skills::NAME_CHARS;
use crate::text::one_line;

/// Characters of a description, as in Anthropic's specification.
const DESCRIPTION_CHARS: usize = 1024;
/// Characters of another value, such as a license or the name of a program.
const VALUE_CHARS: usize = 200;

/// What the front matter of a SKILL.md says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Its name. The folder's name counts.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// Whether all of it goes into every prompt.
    pub always: bool,
    /// Programs of which each is needed.
    pub programs: Vec<String>,
    /// Groups of programs of which one is needed.
    pub any_programs: Vec<Vec<String>>,
    /// Environment variables of which each is needed.
    pub variables: Vec<String>,
    /// The operating systems that it is for; empty when it is for all.
    pub systems: Vec<String>,
    /// Its license; empty when it names none.
    pub license: String,
    /// The tools that it uses, as it names them; empty when it names none.
    pub tools: String,
}

/// A SKILL.md that has been read.
#[derive(Clone, Debug)]
pub struct Read<'a> {
    /// What its front matter says.
    pub manifest: Manifest,
    /// The instructions.
    pub body: &'a str,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

/// Reads a SKILL.md. There is always a description: that of the front matter, else the first paragraph.
pub fn read(text: &str) -> Read<'_> {
    let document = front_matter::parse(text);
    let mut reader = Reader {
        manifest: Manifest::default(),
        faults: document.faults,
    };
    reader.top(&document.front);
    let body = document.body.trim();
    if body.is_empty() {
        reader.note(0, "there are no instructions below the front matter");
    }
    let mut manifest = reader.manifest;
    if manifest.description.is_empty() {
        manifest.description = first_paragraph(body);
    }
    Read {
        manifest,
        body,
        faults: reader.faults,
    }
}

fn first_paragraph(body: &str) -> String {
    let is_prose =
        |line: &&str| !line.is_empty() && !line.starts_with(['#', '-', '`', '<', '>', '|']);
    let lines = body.lines().map(str::trim);
    one_line(
        lines.clone().find(is_prose).unwrap_or_default(),
        DESCRIPTION_CHARS,
    )
}

struct Reader {
    manifest: Manifest,
    faults: Vec<Fault>,
}

impl Reader {
    fn note(&mut self, line: usize, text: impl Into<String>) {
        if self.faults.len() < FAULTS {
            self.faults.push(Fault {
                line,
                text: text.into(),
            });
        }
    }

    fn top(&mut self, front: &Value) {
        if let Some(member) = front.get("name") {
            self.manifest.name = self.text(member, NAME_CHARS);
        }
        match front.get("description") {
            Some(member) => {
                let description = self.text(member, DESCRIPTION_CHARS);
                if description.is_empty() {
                    self.note(member.line, "the description is empty");
                } else if description.ends_with('…') {
                    let text =
                        format!("the description is longer than {DESCRIPTION_CHARS} characters");
                    self.note(member.line, text);
                }
                self.manifest.description = description;
            }
            None => self.note(0, "there is no description"),
        }
        if let Some(member) = front.get("license") {
            self.manifest.license = self.text(member, VALUE_CHARS);
        }
        let tools = front.get("allowed-tools").or_else(|| front.get("tools"));
        if let Some(Member { value, .. }) = tools {
            self.manifest.tools = one_line(&join(value), DESCRIPTION_CHARS);
        }
        self.conditions(front);
        let Some(metadata) = front.get("metadata") else {
            return;
        };
        // Some have it as JSON in a string.
        let inner = match &metadata.value {
            Value::Text(text) if !text.is_empty() => {
                front_matter::parse_value(text).map(Cow::Owned)
            }
            value => Some(Cow::Borrowed(value)),
        };
        let Some(Value::Map(members)) = inner.as_deref() else {
            if inner.is_none() {
                self.note(metadata.line, "metadata must be a map");
            }
            return;
        };
        self.conditions(&Value::Map(members.clone()));
        // `nanobot`, `picoclaw`, `openclaw`, `clawdbot` and others.
        for member in members {
            self.conditions(&member.value);
        }
    }

    /// What `always`, `os` and `requires` of a map say.
    fn conditions(&mut self, map: &Value) {
        if let Some(Member { value, .. }) = map.get("always") {
            let yes = ["true", "yes", "on", "1"];
            self.manifest.always |= yes.iter().any(|yes| join(value).eq_ignore_ascii_case(yes));
        }
        if let Some(member) = map.get("os") {
            let systems = self.list(member);
            add(&mut self.manifest.systems, systems);
        }
        let Some(requires) = map.get("requires") else {
            return;
        };
        let Value::Map(members) = &requires.value else {
            if requires.value != Value::Text(String::new()) {
                self.note(
                    requires.line,
                    "requires must be a map with bins, anyBins, env or os",
                );
            }
            return;
        };
        for member in members {
            let key = member.key.to_ascii_lowercase().replace(['_', '-'], "");
            match key.as_str() {
                "bins" | "bin" | "binaries" | "commands" => {
                    let programs = self.list(member);
                    add(&mut self.manifest.programs, programs);
                }
                "anybins" => {
                    let group = self.list(member);
                    let groups = &mut self.manifest.any_programs;
                    if !group.is_empty() && groups.len() < REQUIREMENTS && !groups.contains(&group)
                    {
                        groups.push(group);
                    }
                }
                "env" | "envs" => {
                    let variables = self.list(member);
                    add(&mut self.manifest.variables, variables);
                }
                "os" => {
                    let systems = self.list(member);
                    add(&mut self.manifest.systems, systems);
                }
                _ => self.note(
                    member.line,
                    format!("requires.{} is ignored", shown(&member.key)),
                ),
            }
        }
    }

    fn text(&mut self, member: &Member, chars: usize) -> String {
        match &member.value {
            Value::Text(text) => one_line(text, chars),
            _ => {
                self.note(
                    member.line,
                    format!("{} must be a string", shown(&member.key)),
                );
                String::new()
            }
        }
    }

    /// The strings of a list, or the words of a string.
    fn list(&mut self, member: &Member) -> Vec<String> {
        let mut found = Vec::new();
        match &member.value {
            Value::Text(text) => found.extend(words(text).map(str::to_owned)),
            Value::List(items) => {
                for item in items {
                    match item {
                        Value::Text(text) => found.push(text.clone()),
                        // `- name: API_KEY` with more about it below.
                        Value::Map(_) => found.extend(named(item)),
                        Value::List(_) => {}
                    }
                }
            }
            Value::Map(_) => {
                let text = format!("{} must be a list", shown(&member.key));
                self.note(member.line, text);
            }
        }
        let values = found.iter().map(|text| one_line(text, VALUE_CHARS));
        values
            .filter(|text| !text.is_empty())
            .take(REQUIREMENTS)
            .collect()
    }
}

fn shown(key: &str) -> String {
    one_line(key, NAME_CHARS)
}

fn add(to: &mut Vec<String>, values: Vec<String>) {
    for value in values {
        if to.len() < REQUIREMENTS && !to.contains(&value) {
            to.push(value);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|char: char| char == ',' || char.is_whitespace());
    parts.filter(|part| !part.is_empty())
}

/// The name of a requirement that is a map, unless it says that it is optional.
fn named(item: &Value) -> Option<String> {
    let text = |key| match &item.get(key)?.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let is_optional = text("required").is_some_and(|text| text == "false");
    text("name").filter(|_| !is_optional)
}

/// A string, or the strings of a list.
fn join(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::List(items) => {
            let texts = items.iter().map(|item| match item {
                Value::Text(text) => text.as_str(),
                _ => "",
            });
            texts
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        }
        Value::Map(_) => String::new(),
    }
}

#[cfg(test)]
mod shapes;
