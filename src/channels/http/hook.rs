//! Hooks: what a call of a program comes to, by the configuration. PURE.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::config::schema::Hook;
use crate::store::state::pairing::tokens::is_name;
use crate::text::markup::plain;
use crate::text::{ellipsize_chars, reveal};

/// Characters of a value in a text: a title or a line of a log.
const VALUE_CHARS: usize = 1_000;
/// Characters of a text for a chat, after which it is cut: three messages.
const TEXT_CHARS: usize = 8_000;

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a text, which is Markdown.
    Text(String),
    /// Asks the agent, in a conversation of the hook's own.
    Ask(String),
    /// Runs a shell command in the sandbox; its `$1` is a file with the body.
    Run(String),
}

/// What a call of a hook comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The hook's name.
    pub name: String,
    /// The chat; empty for the private one in which an owner wrote last.
    pub to: String,
    /// What it does.
    pub action: Action,
    /// What the program has sent. Untrusted.
    pub body: String,
    /// The program's id for this delivery: the same id is the same delivery. Empty where it has none.
    pub delivery: String,
}

/// Whether each hook can be called, and does one thing.
pub fn check(hooks: &BTreeMap<String, Hook>) -> Result<()> {
    for (name, hook) in hooks {
        let done = [&hook.text, &hook.ask, &hook.run];
        let count = done.iter().filter(|text| !text.trim().is_empty()).count();
        let why = if !is_name(name) {
            "a hook's name has up to 32 small letters, digits and dashes"
        } else if count != 1 {
            "set exactly one of text, ask and run"
        } else if hook.run.contains('\0') {
            "run must not contain NUL"
        } else {
            continue;
        };
        return Err(Error::Config(format!("http.hooks.{name}: {why}")));
    }
    Ok(())
}

/// What a call comes to.
pub fn call(name: &str, hook: &Hook, body: &str, delivery: &str) -> HookCall {
    let action = if !hook.text.trim().is_empty() {
        let text = fill(&hook.text, body, |value| plain(&reveal(value)));
        Action::Text(ellipsize_chars(&text, TEXT_CHARS).into_owned())
    } else if !hook.ask.trim().is_empty() {
        Action::Ask(hook.ask.clone())
    } else {
        Action::Run(hook.run.clone())
    };
    HookCall {
        name: name.to_owned(),
        to: hook.to.clone(),
        action,
        body: body.to_owned(),
        delivery: delivery.to_owned(),
    }
}

/// The paths in a hook's text that lead to nothing in a body, for who tries it.
pub fn list_missing(hook: &Hook, body: &str) -> Vec<String> {
    let value: Value = json::from_str(body).unwrap_or_default();
    let paths = hook.text.split("{{").skip(1);
    let paths = paths.filter_map(|rest| Some(rest.split_once("}}")?.0.trim()));
    let is_missing = |path: &&str| *path != "body" && find(&value, path).is_empty();
    paths.filter(is_missing).map(str::to_owned).collect()
}

/// Puts values of the body in place of `{{path}}`, such as `{{alerts.0.labels.alertname}}`; `{{body}}` is all of it.
/// Nothing in a value is looked at again. A body that is no JSON has no values: where the template has nothing else of
/// it, it takes the place of the first one.
fn fill(template: &str, body: &str, write: impl Fn(&str) -> String) -> String {
    let value: Option<Value> = json::from_str(body).ok();
    let is_filled = value.is_none() && template.contains("{{");
    if is_filled && !template.replace(' ', "").contains("{{body}}") {
        return write(&ellipsize_chars(body.trim(), VALUE_CHARS));
    }
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        text.push_str(before);
        let Some((path, after)) = behind.split_once("}}") else {
            text.push_str("{{");
            rest = behind;
            break;
        };
        let found = match path.trim() {
            "body" => body.to_owned(),
            path => value
                .as_ref()
                .map_or_else(String::new, |value| find(value, path)),
        };
        text.push_str(&write(&ellipsize_chars(&found, VALUE_CHARS)));
        rest = after;
    }
    text + rest
}

/// The value at a path; empty where there is none.
fn find(value: &Value, path: &str) -> String {
    let mut place = value;
    for name in path.split('.') {
        let next = match place {
            Value::Array(all) => name.parse::<usize>().ok().and_then(|index| all.get(index)),
            place => place.get(name),
        };
        match next {
            Some(next) => place = next,
            None => return String::new(),
        }
    }
    match place {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(text: &str, ask: &str, run: &str) -> Hook {
        Hook {
            text: text.to_owned(),
            ask: ask.to_owned(),
            run: run.to_owned(),
            ..Hook::default()
        }
    }

    #[test]
    fn values_of_the_body_are_words_and_no_markup() {
        let body = r#"{"a": {"b": [1, "*x* [y](http://z) {{a}}"]}, "n": null}"#;
        let text = |template: &str| match call("h", &hook(template, "", ""), body, "").action {
            Action::Text(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            text("**{{a.b.0}}** {{ a.b.1 }}"),
            r"**1** \*x\* \[y\]\(http\:\/\/z\) \{\{a\}\}"
        );
        assert_eq!(text("<{{a.c}}{{n}}{{a.b.7}}{{a.b.x}}>{{"), "<>{{");
        assert!(text("{{a}}").contains("b"));
        let long = format!("{{\"a\": \"{}\"}}", "x".repeat(2 * VALUE_CHARS));
        let Action::Text(text) = call("h", &hook("{{a}}", "", ""), &long, "").action else {
            panic!("no text");
        };
        assert!(text.chars().count() <= VALUE_CHARS + 1);
        let bare = call(
            "h",
            &hook("{{title}}: {{message}}", "", ""),
            "disk is full",
            "",
        );
        assert_eq!(bare.action, Action::Text("disk is full".to_owned()));
        let missing = list_missing(&hook("{{a}} {{ b.c }} {{body}}", "", ""), r#"{"a": 1}"#);
        assert_eq!(missing, ["b.c"]);
        let plain = call("h", &hook("{{body}}{{a}}", "", ""), "not JSON", "");
        assert_eq!(plain.action, Action::Text("not JSON".to_owned()));
    }

    #[test]
    fn nothing_of_the_body_gets_into_a_command_or_an_instruction() {
        let body = r#"{"a": "; rm -rf /"}"#;
        let run = call("h", &hook("", "", "echo {{a}}"), body, "");
        assert_eq!(run.action, Action::Run("echo {{a}}".to_owned()));
        let ask = call("h", &hook("", "look at {{a}}", ""), body, "");
        assert_eq!(ask.action, Action::Ask("look at {{a}}".to_owned()));
    }

    #[test]
    fn a_hook_has_a_name_and_does_one_thing() {
        let checked = |name: &str, hook: Hook| check(&BTreeMap::from([(name.to_owned(), hook)]));
        assert!(checked("deploy-1", hook("x", "", "")).is_ok());
        for (name, hook) in [
            ("Deploy", hook("x", "", "")),
            ("a/b", hook("x", "", "")),
            ("a", hook("", " ", "")),
            ("a", hook("x", "y", "")),
            ("a", hook("", "", "\0")),
        ] {
            assert!(checked(name, hook).is_err(), "{name}");
        }
    }
}
