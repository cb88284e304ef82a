//! Changes or removes one value in the file's text. The rest stays as the user wrote it: the order of the
//! members, the indentation, the spelling of names.

use std::ops::Range;

use serde_json::{Map, Value};

use super::super::key::Key;
use super::super::table;
use super::scan::{self, Member};

/// The text with the setting at the path set to the value; missing levels are added. The text has to be a
/// valid JSON object, and the path one of the setting's.
pub fn set(text: &str, key: &Key, path: &str, value: &Value) -> String {
    let names = key.split(path).unwrap_or_default();
    let members = scan::members(text);
    for depth in (1..=names.len()).rev() {
        // Of two equal names the last one counts.
        if let Some(member) = members
            .iter()
            .rfind(|member| leads(member, key, &names[..depth]))
        {
            let rest = Rest {
                names: &names[depth..],
                value,
            };
            let within = |other: &&Member| {
                other.path.len() == depth + 1 && member.value.contains(&other.start)
            };
            return rest.put(text, member.value.clone(), members.iter().rfind(within));
        }
    }
    let root =
        text.find('{').unwrap_or_default()..text.rfind('}').map_or(text.len(), |end| end + 1);
    let top = members.iter().rfind(|member| member.path.len() == 1);
    Rest {
        names: &names,
        value,
    }
    .put(text, root, top)
}

/// The text without the member at a path, in either spelling; `None` when there is none. The path may be
/// that of a section or of something unknown. Sections that are empty without a setting go too.
pub fn remove(text: &str, path: &str) -> Option<String> {
    let known = table::find_spelt(path);
    let spelt = known.as_ref().map(|(_, path)| path.clone());
    let is_meant = |member: &Member| {
        let names = member
            .path
            .iter()
            .map(|name| crate::config::key::camel_case(name));
        let camel = names.collect::<Vec<_>>().join(".");
        member.path.join(".") == path || Some(camel) == spelt
    };
    let mut left = text.to_owned();
    // A name may be there twice.
    while let Some(member) = scan::members(&left).into_iter().find(is_meant) {
        left = without(&left, &member);
        if let Some((key, _)) = &known {
            left = without_empty(left, member.path, key);
        }
    }
    (left != text).then_some(left)
}

/// The text without the sections around a setting of this path that have nothing in them. One that has a name of the
/// user's, such as an agent, means something without any setting.
fn without_empty(mut text: String, mut path: Vec<String>, key: &Key) -> String {
    let names: Vec<&str> = key.path.split('.').collect();
    while path.pop().is_some()
        && path
            .len()
            .checked_sub(1)
            .is_some_and(|last| names.get(last) != Some(&"*"))
    {
        let is_empty = |member: &Member| {
            let value = text.get(member.value.clone()).unwrap_or_default();
            let inner = value
                .strip_prefix('{')
                .and_then(|value| value.strip_suffix('}'));
            member.path == path && inner.is_some_and(|inner| inner.trim().is_empty())
        };
        let Some(member) = scan::members(&text).into_iter().find(is_empty) else {
            break;
        };
        text = without(&text, &member);
    }
    text
}

/// The text without a member and without the comma that it no longer needs.
fn without(text: &str, member: &Member) -> String {
    let (before, after) = (&text[..member.start], &text[member.value.end..]);
    let is_last = !after.trim_start().starts_with(',');
    let (before, after) = if !is_last {
        (before, after.trim_start()[1..].trim_start())
    } else {
        let before = before.trim_end();
        match before.strip_suffix(',') {
            Some(before) => (before, after),
            None => (before, after.trim_start()),
        }
    };
    format!("{before}{after}")
}

/// Whether the member is at the path of these names, in either spelling.
fn leads(member: &Member, key: &Key, names: &[&str]) -> bool {
    let known = key.path.split('.').zip(&member.path).zip(names);
    member.path.len() == names.len()
        && known
            .into_iter()
            .all(|((known, written), name)| match known {
                "*" => written == name,
                _ => crate::config::key::camel_case(written) == *name,
            })
}

/// What has to be added below the part of the path that exists.
struct Rest<'a> {
    names: &'a [&'a str],
    value: &'a Value,
}

impl Rest<'_> {
    /// Adds it to the object at `place`, after its last member; or replaces what is there.
    fn put(&self, text: &str, place: Range<usize>, last: Option<&Member>) -> String {
        let Some((first, below)) = self.names.split_first() else {
            return self.replace(text, place);
        };
        let Some(last) = last else {
            return self.replace(text, place);
        };
        let below = Rest {
            names: below,
            value: self.value,
        }
        .nested();
        let name = Value::from(*first);
        let end = last.value.end;
        match own_line(text, last.start) {
            Some(indent) => {
                let below = pretty(&below, indent);
                replaced(text, end..end, &format!(",\n{indent}{name}: {below}"))
            }
            None => replaced(text, end..end, &format!(", {name}: {below}")),
        }
    }

    fn replace(&self, text: &str, place: Range<usize>) -> String {
        let line = text[..place.start].rfind('\n').map_or(0, |end| end + 1);
        let rest = &text[line..];
        let indent = &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()];
        replaced(text, place, &pretty(&self.nested(), indent))
    }

    /// The value, within an object for each name.
    fn nested(&self) -> Value {
        self.names.iter().rfold(self.value.clone(), |inner, name| {
            Value::Object(Map::from_iter([((*name).to_owned(), inner)]))
        })
    }
}

/// The white space before a name that is the first on its line.
fn own_line(text: &str, start: usize) -> Option<&str> {
    let line = text[..start].rfind('\n')? + 1;
    let indent = &text[line..start];
    indent.trim().is_empty().then_some(indent)
}

/// JSON on several lines, each but the first with the indentation before it.
fn pretty(value: &Value, indent: &str) -> String {
    let lines = serde_json::to_string_pretty(value).unwrap_or_default();
    lines.replace('\n', &format!("\n{indent}"))
}

fn replaced(text: &str, place: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..place.start], &text[place.end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn after(text: &str, path: &str, value: Value) -> String {
        set(text, table::find(path).unwrap(), path, &value)
    }

    #[test]
    fn a_value_is_changed_and_nothing_else() {
        let text = "{\n    \"log\": { \"level\":\"info\" , \"format\" : \"text\"},\n    \"agents\": {\"defaults\": {\"max_tokens\": 1}}\n}\n";
        assert_eq!(
            after(text, "log.level", json!("debug")),
            text.replace("\"info\"", "\"debug\"")
        );
        assert_eq!(
            after(text, "agents.defaults.maxTokens", json!(77)),
            text.replace(": 1}", ": 77}")
        );
        assert_eq!(
            after(text, "agents.defaults.model", json!("m")),
            text.replace(": 1}", ": 1, \"model\": \"m\"}")
        );
    }

    #[test]
    fn missing_levels_are_added_and_indented_like_their_neighbours() {
        let first = after("{}\n", "agents.defaults.model", json!("m"));
        assert_eq!(
            first,
            "{\n  \"agents\": {\n    \"defaults\": {\n      \"model\": \"m\"\n    }\n  }\n}\n"
        );
        let second = after(&first, "agents.defaults.maxTokens", json!(5));
        assert_eq!(
            second,
            first.replace("\"m\"\n", "\"m\",\n      \"maxTokens\": 5\n")
        );
        let third = after(&second, "providers.my.host.apiKey", json!("k"));
        assert_eq!(
            third,
            second.replace(
                "  }\n}\n",
                "  },\n  \"providers\": {\n    \"my.host\": {\n      \"apiKey\": \"k\"\n    }\n  }\n}\n"
            )
        );
    }

    #[test]
    fn a_value_is_removed_with_its_comma_and_nothing_else() {
        let text = "{\n  \"log\": {\"level\": \"info\", \"format\": \"text\"},\n  \"modle\": 1,\n  \"agents\": {\"defaults\": {\"max_tokens\": 1}}\n}\n";
        let without = |path: &str| remove(text, path).unwrap();
        assert_eq!(
            without("log.level"),
            text.replace("\"level\": \"info\", ", "")
        );
        assert_eq!(
            without("log.format"),
            text.replace(", \"format\": \"text\"", "")
        );
        assert_eq!(without("modle"), text.replace("  \"modle\": 1,\n", ""));
        assert_eq!(
            without("agents.defaults.maxTokens"),
            text.replace(
                ",\n  \"agents\": {\"defaults\": {\"max_tokens\": 1}}\n",
                "\n"
            )
        );
        let of_user = r#"{"agents": {"list": {"crab": {"model": "x"}}}}"#;
        if let Some(left) = remove(of_user, "agents.list.crab.model") {
            assert!(left.contains("crab"), "{left}");
        }
        assert!(without("agents").ends_with("\"modle\": 1\n}\n"));
        assert_eq!(remove(text, "log.color"), None);
        assert_eq!(remove("{\"a\": 1, \"a\": 2}", "a").unwrap(), "{}");
    }

    #[test]
    fn a_section_that_is_empty_or_null_is_filled() {
        assert_eq!(
            after("{\"log\": {}}", "log.level", json!("off")),
            "{\"log\": {\n  \"level\": \"off\"\n}}"
        );
        assert_eq!(
            after("{\"log\": null}", "log.level", json!("off")),
            "{\"log\": {\n  \"level\": \"off\"\n}}"
        );
    }

    proptest! {
        #[test]
        fn keys_set_in_any_order_in_any_layout_are_all_in_the_file(
            order in Just((0..table::keys().count()).collect::<Vec<_>>()).prop_shuffle(),
            pretty in any::<bool>(),
        ) {
            let mut text = "{}".to_owned();
            let paths = || order.iter().map(|at| {
                let key = table::keys().nth(*at).unwrap();
                (key, key.path.replace('*', "a.b"))
            });
            for (key, path) in paths() {
                text = set(&text, key, &path, &key.default_value());
                if !pretty {
                    text.retain(|char| char != '\n');
                }
            }
            let value: Value = serde_json::from_str(&text).unwrap();
            let mut rest = text.clone();
            for (_, path) in paths() {
                rest = remove(&rest, &path).unwrap();
                let _: Value = serde_json::from_str(&rest).unwrap();
            }
            for (key, path) in paths() {
                let names = key.split(&path).unwrap();
                let found = names.iter().try_fold(&value, |value, name| value.get(*name));
                prop_assert_eq!(found, Some(&key.default_value()));
            }
        }
    }
}
