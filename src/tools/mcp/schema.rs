//! A server's schema, made such that every provider takes it. Pure.
//!
//! References are followed, alternatives become one type, and keywords that not every provider knows are
//! left out. What is lost this way the server checks itself. An argument that cannot be expressed is left
//! out when the call needs it not, else the object that it belongs to may have any members.

use serde_json::{Map, Value, json};

use crate::base::json;
use crate::base::limits::tools::{CUSTOM_SCHEMA_COUNT_MAX, CUSTOM_SCHEMA_DEPTH_MAX};
use crate::text::truncate_chars;
use crate::tools::schema::{check, fits_type, is_of, is_property_name};

/// Bytes of a schema as the model gets it.
const SIMPLE_BYTES: usize = 3_000;
/// Schemas within one schema, once its references are followed.
const SCHEMA_NODES: usize = 400;
/// References that lead to references.
const SCHEMA_REFERENCES: usize = 8;
/// Values of an enumeration that are kept.
const SCHEMA_VALUES: usize = 40;
/// Characters of the description of an argument.
const ARGUMENT_CHARS: usize = 200;

/// The schema of an object with any members.
pub const ANY: &str = r#"{"type":"object","properties":{}}"#;

/// The schema as JSON; `None` when the tool has to do with [`ANY`].
pub fn simplify(schema: &str) -> Option<String> {
    let root: Value = json::from_str(schema).ok()?;
    let mut simplifier = Simplifier {
        root: &root,
        nodes: 0,
    };
    let mut simplified = simplifier.object(root.as_object()?, 1)?;
    simplified.entry("properties").or_insert_with(|| json!({}));
    let mut simplified = Value::Object(simplified);
    check(&simplified).ok()?;
    if simplified.to_string().len() > SIMPLE_BYTES {
        strip_descriptions(&mut simplified, 0);
    }
    let text = simplified.to_string();
    (text.len() <= SIMPLE_BYTES).then_some(text)
}

/// Removes what describes arguments within arguments.
fn strip_descriptions(schema: &mut Value, depth: usize) {
    if let Some(members) = schema.as_object_mut() {
        if depth > 1 {
            members.remove("description");
        }
        if let Some(items) = members.get_mut("items") {
            strip_descriptions(items, depth + 1);
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            for property in properties.values_mut() {
                strip_descriptions(property, depth + 1);
            }
        }
    }
}

struct Simplifier<'a> {
    root: &'a Value,
    nodes: usize,
}

impl Simplifier<'_> {
    /// One schema within another; `None` when it cannot be expressed.
    fn simplify(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.nodes += 1;
        if depth > CUSTOM_SCHEMA_DEPTH_MAX || self.nodes > SCHEMA_NODES {
            return None;
        }
        let empty = Map::new();
        // `true` allows anything.
        let flat = self.flat(schema.as_object().unwrap_or(&empty), 0)?;
        let kind = kind_of(&flat);
        let mut simplified = match kind {
            "object" => self.object(&flat, depth)?,
            "array" => {
                let any = json!({});
                let items = self.simplify(flat.get("items").unwrap_or(&any), depth + 1)?;
                Map::from_iter([("items".to_owned(), items)])
            }
            _ => Map::new(),
        };
        simplified.insert("type".to_owned(), kind.into());
        describe(&mut simplified, &flat);
        for key in ["minItems", "maxItems", "minLength", "maxLength"] {
            let count = flat.get(key).and_then(Value::as_u64);
            if let Some(count) = count.filter(|count| *count <= CUSTOM_SCHEMA_COUNT_MAX) {
                simplified.insert(key.to_owned(), count.into());
            }
        }
        for key in ["minimum", "maximum"] {
            if let Some(number) = flat.get(key).filter(|number| number.is_number()) {
                simplified.insert(key.to_owned(), number.clone());
            }
        }
        if let Some(default) = flat.get("default").filter(|value| is_of(kind, value)) {
            simplified.insert("default".to_owned(), default.clone());
        }
        let values = values_of(&flat, kind);
        if (1..=SCHEMA_VALUES).contains(&values.len()) {
            simplified.insert("enum".to_owned(), values.into());
        }
        simplified.retain(|key, _| fits_type(key, kind));
        Some(simplified.into())
    }

    /// An object with its members. Those that cannot be expressed and need not be there are left out.
    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        let schema = self.flat(schema, 0)?;
        let required: Vec<&str> = names(&schema, "required").collect();
        let mut properties = Map::new();
        let empty = Map::new();
        let of_server = schema.get("properties").and_then(Value::as_object);
        for (name, property) in of_server.unwrap_or(&empty) {
            let simplified = self
                .simplify(property, depth + 1)
                .filter(|_| is_property_name(name));
            match simplified {
                Some(simplified) => drop(properties.insert(name.clone(), simplified)),
                None if !required.contains(&name.as_str()) => {}
                // The tool as a whole: its description says what it takes.
                None if depth == 1 => return None,
                None => {
                    properties.clear();
                    break;
                }
            }
        }
        let mut object = Map::from_iter([("type".to_owned(), "object".into())]);
        let mut needed: Vec<&str> = Vec::new();
        for name in required {
            if properties.contains_key(name) && !needed.contains(&name) {
                needed.push(name);
            }
        }
        if !needed.is_empty() {
            object.insert("required".to_owned(), needed.into());
        }
        if !properties.is_empty() {
            object.insert("properties".to_owned(), properties.into());
        }
        Some(object)
    }

    /// The schema without references and alternatives.
    fn flat(&self, schema: &Map<String, Value>, depth: usize) -> Option<Map<String, Value>> {
        if depth > SCHEMA_REFERENCES {
            return None;
        }
        let mut flat = schema.clone();
        if let Some(reference) = flat.remove("$ref") {
            let path = reference.as_str()?.strip_prefix('#')?;
            let target = self.root.pointer(path)?.as_object()?;
            let target = self.flat(target, depth + 1)?;
            target.into_iter().for_each(|(key, value)| {
                flat.entry(key).or_insert(value);
            });
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            let Some(Value::Array(members)) = flat.remove(key) else {
                continue;
            };
            let is_null = |one: &&Value| one["type"] == "null";
            let members = members
                .iter()
                .filter(|one| !is_null(one))
                .take(SCHEMA_VALUES);
            let members = members.map(|one| self.flat(one.as_object()?, depth + 1));
            let members: Vec<Map<String, Value>> = members.collect::<Option<_>>()?;
            merge(&mut flat, members, key == "allOf");
        }
        Some(flat)
    }
}

/// Adds what the members of an alternative have: all of it, or what a value of the first one's type may
/// have.
fn merge(flat: &mut Map<String, Value>, members: Vec<Map<String, Value>>, are_all: bool) {
    let [first, ..] = &members[..] else { return };
    let kind = if flat.contains_key("type") {
        kind_of(flat)
    } else {
        kind_of(first)
    };
    let count = members.len();
    let mut times: Map<String, Value> = Map::new();
    let mut values = Vec::new();
    let mut is_open = false;
    for mut member in members {
        let of_kind = member.contains_key("type") || !member.contains_key("required");
        if !are_all && of_kind && kind_of(&member) != kind {
            continue;
        }
        let own = values_of(&member, kind);
        is_open |= own.is_empty();
        values.extend(own);
        member.remove("enum");
        member.remove("const");
        for name in names(&member, "required") {
            let times = times.entry(name).or_insert_with(|| 0.into());
            *times = (times.as_u64().unwrap_or_default() + 1).into();
        }
        member.remove("required");
        if let Some(Value::Object(properties)) = member.remove("properties") {
            let all = flat.entry("properties").or_insert_with(|| json!({}));
            if let Some(all) = all.as_object_mut() {
                for (name, property) in properties {
                    add_property(all, name, property);
                }
            }
        }
        // Bounds of one alternative are not those of the others.
        let kept = |key: &str| are_all || count == 1 || matches!(key, "items" | "description");
        member.retain(|key, _| kept(key));
        member.into_iter().for_each(|(key, value)| {
            flat.entry(key).or_insert(value);
        });
    }
    if !are_all || !flat.contains_key("type") {
        flat.entry("type").or_insert_with(|| kind.into());
    }
    if !values.is_empty() && !is_open {
        flat.entry("enum").or_insert(values.into());
    }
    let needed = times
        .iter()
        .filter(|(_, times)| are_all || times.as_u64() == Some(count as u64));
    let mut needed: Vec<Value> = needed.map(|(name, _)| name.as_str().into()).collect();
    needed.extend(names(flat, "required").map(Value::from));
    if !needed.is_empty() {
        flat.insert("required".to_owned(), needed.into());
    }
}

/// Adds a property, which another alternative may have too.
fn add_property(all: &mut Map<String, Value>, name: String, property: Value) {
    let Some(old) = all.get_mut(&name) else {
        all.insert(name, property);
        return;
    };
    if *old == property {
        return;
    }
    match old.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(both) => both.push(property),
        None => *old = json!({"anyOf": [old.take(), property]}),
    }
}

fn names<'a>(schema: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// The one type of a schema: the one that it names, the first of several, or what its keywords go with.
fn kind_of(schema: &Map<String, Value>) -> &'static str {
    let named = schema.get("type");
    let list = named.and_then(Value::as_array).into_iter().flatten();
    let mut named = named
        .into_iter()
        .chain(list)
        .filter_map(|kind| match kind.as_str()? {
            "string" => Some("string"),
            "number" => Some("number"),
            "integer" => Some("integer"),
            "boolean" => Some("boolean"),
            "array" => Some("array"),
            "object" => Some("object"),
            _ => None,
        });
    let value = || match schema.get("const").or(schema.get("enum")?.get(0))? {
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        _ => Some("string"),
    };
    let has = |key: &str| schema.contains_key(key);
    named.next().or_else(value).unwrap_or(match () {
        () if has("properties") || has("additionalProperties") || has("required") => "object",
        () if has("items") => "array",
        () => "string",
    })
}

/// The values of an enumeration that have the schema's type, each once.
fn values_of(schema: &Map<String, Value>, kind: &str) -> Vec<Value> {
    let all = schema.get("enum").and_then(Value::as_array);
    let all = all.into_iter().flatten().chain(schema.get("const"));
    let mut values = Vec::new();
    for value in all.take(SCHEMA_VALUES + 1) {
        if is_of(kind, value) && !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}

fn describe(simplified: &mut Map<String, Value>, schema: &Map<String, Value>) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let text = text("description").or(text("title")).unwrap_or_default();
    if !text.is_empty() {
        let text = truncate_chars(text, ARGUMENT_CHARS);
        simplified.insert("description".to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests;
