//! What is wrong with `agents.list` and `agents.bindings`, by the place in the list. Where the
//! workspaces are is checked with the home folder, in `places`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{describe_value, plainly, problem as problem_of_value, safe_path};
use crate::base::error::{Error, Result};
use crate::config::agents::table::{member, members};
use crate::config::home::Home;
use crate::config::key::{Kind, camel_case};
use crate::config::schema::{Agents, MAIN};
use crate::config::texts;
use crate::sys::beneath::real_path;

/// Entries of `agents.list`. Each that is used holds open folders and about as much memory as the first.
const AGENTS: usize = 32;
/// Bytes of an agent's id, which is the name of its folder too.
const AGENT_ID_BYTES: usize = 32;
/// Entries of `agents.bindings`, which are looked through for each message.
const BINDINGS: usize = 256;

/// The list with its names in camelCase, its values as they are written plainly, and without members that are null where that
/// means the default.
pub fn normalize(kind: Kind, value: Value) -> Value {
    let entry = |value: Value| match value {
        Value::Object(members) => {
            let members = members.into_iter().filter_map(|(name, value)| {
                let name = camel_case(&name);
                let is_id = kind == Kind::Bindings && matches!(&*name, "chat" | "sender");
                let known = member(kind, &name);
                let value = match known {
                    Some(key) => plainly(key.kind, value),
                    None => value,
                };
                let value = match value {
                    Value::String(text) if is_id => Value::String(text.trim().to_owned()),
                    Value::Null if known.is_some_and(|key| !key.nullable) => return None,
                    value => value,
                };
                Some((name, value))
            });
            Value::Object(members.collect())
        }
        value => value,
    };
    match value {
        Value::Array(entries) => Value::Array(entries.into_iter().map(entry).collect()),
        value => value,
    }
}

/// What is wrong with a list; `None` when it is valid. `open`: see [`problem_of_value`].
pub fn problem(kind: Kind, path: &str, value: &Value, open: bool) -> Option<String> {
    let value = normalize(kind, value.clone());
    let Value::Array(entries) = &value else {
        let what = describe_value(&value);
        return Some(texts::wrong_value(path, kind, false, &what));
    };
    let most = match kind {
        Kind::Agents => AGENTS,
        _ => BINDINGS,
    };
    if entries.len() > most {
        return Some(texts::too_many_entries(path, most));
    }
    let mut earlier: Vec<&Map<String, Value>> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Object(entry) = entry else {
            return Some(texts::section_is_not_an_object(
                &path,
                &describe_value(entry),
            ));
        };
        let wrong = problem_of_entry(kind, &path, entry, open).or_else(|| match kind {
            Kind::Agents => problem_of_agent(&path, entry, &earlier),
            _ => problem_of_binding(&path, entry),
        });
        if wrong.is_some() {
            return wrong;
        }
        earlier.push(entry);
    }
    None
}

fn problem_of_entry(
    kind: Kind,
    path: &str,
    entry: &Map<String, Value>,
    open: bool,
) -> Option<String> {
    entry
        .iter()
        .find_map(|member| problem_of_member(kind, path, member, open))
}

fn problem_of_member(
    kind: Kind,
    path: &str,
    (name, value): (&String, &Value),
    open: bool,
) -> Option<String> {
    let shown = safe_path(format!("{path}.{name}").split('.'));
    if let Some(key) = member(kind, name) {
        return problem_of_value(key, &shown, value, open);
    }
    let names: Vec<&str> = members(kind).map(|(name, _)| name).collect();
    let advice = match crate::text::nearest(name, names.iter().copied()) {
        Some(near) => texts::did_you_mean(near),
        None => texts::section_contains(path, &names),
    };
    Some(texts::unknown_setting(&shown, &advice))
}

/// Removes what an agent can do without from the list of agents: unknown members, and wrong values of settings
/// that guard nothing. Returns what was wrong. An unknown member of a binding stays, and is a problem: without
/// it the binding could claim more.
pub fn drop_unusable(kind: Kind, path: &str, list: &mut Value, open: bool) -> Vec<String> {
    let entries = match list {
        Value::Array(entries) if kind == Kind::Agents => entries,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (index, entry) in entries.iter_mut().enumerate() {
        let Value::Object(entry) = entry else {
            continue;
        };
        let path = format!("{path}[{index}]");
        entry.retain(|name, value| {
            let problem = match member(kind, name) {
                Some(key) if key.guards() => None,
                Some(_) if value == "" => return false,
                _ => problem_of_member(kind, &path, (name, value), open),
            };
            let is_right = problem.is_none();
            found.extend(problem.map(|problem| texts::used_instead(&problem, None)));
            is_right
        });
    }
    found
}

fn problem_of_agent(
    path: &str,
    entry: &Map<String, Value>,
    earlier: &[&Map<String, Value>],
) -> Option<String> {
    let id = text(entry, "id");
    if !is_id(id) {
        return Some(texts::wrong_agent_id(path, &describe_value(&id.into())));
    }
    let same = |name: &str| {
        let value = entry.get(name)?;
        earlier.iter().position(|one| one.get(name) == Some(value))
    };
    if let Some(first) = same("id") {
        return Some(texts::agent_twice(path, id, first));
    }
    let is_default = entry.get("default") == Some(&Value::Bool(true));
    let first = same("default").filter(|_| is_default);
    first.map(|first| texts::second_default(path, first))
}

fn problem_of_binding(path: &str, entry: &Map<String, Value>) -> Option<String> {
    if text(entry, "agent").is_empty() {
        return Some(texts::binding_without_agent(path));
    }
    let is_bound = ["channel", "chat", "sender"].map(|name| !text(entry, name).is_empty());
    (!is_bound.contains(&true)).then(|| texts::binding_for_everything(path))
}

fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an agent can have this id, which is the name of a folder too.
pub fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=AGENT_ID_BYTES).contains(&id.len()) && id.bytes().all(is_plain)
}

/// A binding that names no agent. `values` is the whole configuration as JSON.
pub fn unknown_agent(values: &Map<String, Value>) -> Option<String> {
    let list = |name: &str| values.get("agents")?.get(name)?.as_array();
    let entry_text = |entry: &Value, name: &str| Some(entry.get(name)?.as_str()?.to_owned());
    let known = list("list").into_iter().flatten();
    let known: Vec<String> = known.filter_map(|entry| entry_text(entry, "id")).collect();
    let bindings = list("bindings").into_iter().flatten().enumerate();
    let mut named =
        bindings.filter_map(|(index, entry)| Some((index, entry_text(entry, "agent")?)));
    let (index, id) = named.find(|(_, id)| id != MAIN && !known.contains(id))?;
    let names = [MAIN].into_iter().chain(known.iter().map(String::as_str));
    let names: Vec<&str> = names.collect();
    Some(texts::unknown_bound_agent(
        index,
        &describe_value(&id.into()),
        &names,
    ))
}

/// Fails when two agents could reach each other's files through their workspaces, or one the program's
/// own. With `main` alone everything is as the person says.
pub fn places(agents: &Agents, home: &Home) -> Result<()> {
    if !agents.are_several() {
        return Ok(());
    }
    let profiles = agents.profiles();
    let workspaces: Vec<(&str, PathBuf)> = profiles
        .iter()
        .map(|profile| (&*profile.id, home.workspace(&profile.settings.workspace)))
        .collect();
    for (index, (id, workspace)) in workspaces.iter().enumerate() {
        if is_private(home, id, workspace) {
            return Err(Error::Config(texts::private_workspace(id, workspace)));
        }
        for (other, its) in &workspaces[..index] {
            if workspace == its || workspace.starts_with(its) || its.starts_with(workspace) {
                return Err(Error::Config(texts::shared_workspace(other, id, workspace)));
            }
        }
    }
    Ok(())
}

/// Whether a workspace lies where the program keeps its own files, or contains them.
fn is_private(home: &Home, id: &str, workspace: &Path) -> bool {
    let real = |path: PathBuf| real_path(&path, &[]).unwrap_or(path);
    let agents = real(home.agents());
    let usual = real(home.agents().join(id));
    let own = [
        home.state(),
        home.update(),
        home.sessions(),
        home.sessions_of(id),
    ];
    let is_in_own = own.into_iter().any(|own| {
        let own = real(own);
        workspace.starts_with(&own) || own.starts_with(workspace)
    });
    let is_other_agents = workspace.starts_with(&agents) && !workspace.starts_with(&usual);
    is_in_own || is_other_agents || agents.starts_with(workspace) || workspace == usual
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of_list(list: Value) -> String {
        problem(Kind::Agents, "agents.list", &list, false).unwrap_or_default()
    }

    fn of_bindings(list: Value) -> String {
        problem(Kind::Bindings, "agents.bindings", &list, false).unwrap_or_default()
    }

    #[test]
    fn each_problem_names_its_place_in_the_list() {
        let valid = json!([
            {"id": "work", "name": "Office", "default": true, "workspace": "/w", "model": "m",
             "temperature": null, "max_tokens": 5, "provider": null},
            {"id": "main"},
        ]);
        assert_eq!(of_list(valid), "");
        for (list, begins) in [
            (json!("work"), "agents.list must be a list of objects"),
            (json!(["work"]), "agents.list[0] must be an object"),
            (
                json!([{"name": "x"}]),
                "agents.list[0].id must be 1 to 32 lower-case letters",
            ),
            (json!([{"id": "A"}]), "agents.list[0].id must be"),
            (
                json!([{"id": "a"}, {"id": "../x"}]),
                "agents.list[1].id must be",
            ),
            (json!([{"id": "a".repeat(33)}]), "agents.list[0].id must be"),
            (
                json!([{"id": "a"}, {"id": "b"}, {"id": "a"}]),
                "agents.list[2].id is \"a\", as in agents.list[0]",
            ),
            (
                json!([{"id": "a", "modle": "m"}]),
                "Unknown setting agents.list[0].modle. Did you mean model?",
            ),
            (
                json!([{"id": "a", "maxTokens": 0}]),
                "agents.list[0].maxTokens must be a whole number",
            ),
            (
                json!([{"id": "a", "workspace": "w"}]),
                "agents.list[0].workspace must be a path",
            ),
            (
                json!([{"id": "a", "timezone": "UTC"}]),
                "Unknown setting agents.list[0].timezone. ",
            ),
            (
                json!([{"id": "a", "default": true}, {"id": "b", "default": true}]),
                "agents.list[1].default is true, as in agents.list[0]",
            ),
        ] {
            let told = of_list(list.clone());
            assert!(told.starts_with(begins), "{list}: {told}");
        }
    }

    #[test]
    fn a_binding_says_who_and_what() {
        let valid = json!([{"agent": "a", "chat": -100, "sender": null}, {"agent": "a", "channel": "discord"}]);
        assert_eq!(of_bindings(valid.clone()), "");
        let normal = normalize(Kind::Bindings, valid);
        assert_eq!(normal[0], json!({"agent": "a", "chat": "-100"}));
        for (list, begins) in [
            (
                json!([{"chat": "1"}]),
                "agents.bindings[0].agent is missing",
            ),
            (
                json!([{"agent": "a"}]),
                "agents.bindings[0] needs channel, chat or sender",
            ),
            (
                json!([{"agent": "a", "channel": "icq"}]),
                "agents.bindings[0].channel must be one of",
            ),
            (
                json!([{"agent": "a", "chat": true}]),
                "agents.bindings[0].chat must be a string",
            ),
        ] {
            let told = of_bindings(list.clone());
            assert!(told.starts_with(begins), "{list}: {told}");
        }
        let unknown = json!({"agents": {"list": [{"id": "a"}], "bindings": [
            {"agent": "main", "chat": "1"}, {"agent": "a", "chat": "2"}, {"agent": "b", "chat": "3"},
        ]}});
        assert_eq!(
            unknown_agent(unknown.as_object().unwrap()).unwrap(),
            "agents.bindings[2].agent is \"b\", but there is no such agent. There are: main, a"
        );
    }

    #[test]
    fn no_workspace_is_anothers_or_the_programs() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let home = Home::find(Some(&top.join("home")), |_| None).unwrap();
        std::fs::create_dir_all(home.path().join("workspace")).unwrap();
        std::os::unix::fs::symlink(home.path().join("workspace"), top.join("link")).unwrap();
        let placed = |one: &str, other: &str| {
            let at = |path: &str| match path {
                "" => String::new(),
                path => top.join(path).display().to_string(),
            };
            let agents = json!({"list": [{"id": "a", "workspace": at(one)}, {"id": "b", "workspace": at(other)}]});
            let agents: Agents = serde_json::from_value(agents).unwrap();
            places(&agents, &home)
        };
        for (one, other) in [
            ("", ""),
            ("x", "y"),
            ("x", "xy"),
            ("home/agents/a/w", ""),
            ("home/w", ""),
        ] {
            placed(one, other).unwrap_or_else(|error| panic!("{one} {other}: {error}"));
        }
        for (one, other) in [
            ("x", "x"),
            ("x", "x/y"),
            ("x/y", "x"),
            ("home/workspace", ""),
            ("link", ""),
            ("home/workspace/a", ""),
            ("home", ""),
            ("", "home/sessions"),
            ("home/state/x", ""),
            ("home/agents", ""),
            ("home/agents/a", ""),
            ("home/agents/b/w", ""),
            ("home/agents/a/sessions/w", ""),
        ] {
            assert!(placed(one, other).is_err(), "{one} {other}");
        }
    }
}
