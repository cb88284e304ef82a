//! Which JSON schemas a custom tool may have. Pure.
//!
//! A provider refuses a whole request for one schema that it does not like, and then the agent cannot
//! answer at all. So only what every provider takes is let through.

use serde_json::Value;

use crate::base::limits::tools::{
    CUSTOM_SCHEMA_COUNT_MAX, CUSTOM_SCHEMA_DEPTH_MAX, TOOL_NAME_BYTES_MAX,
};

const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];

/// Checks the schema of a tool's parameters. The error names the place and what it should be.
pub fn check(schema: &Value) -> Result<(), String> {
    match schema["type"].as_str() {
        Some("object") => check_at(schema, "parameters", 1),
        _ => Err(r#"parameters must be a JSON schema with "type": "object""#.to_owned()),
    }
}

fn check_at(schema: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > CUSTOM_SCHEMA_DEPTH_MAX {
        return Err(format!(
            "{at} is nested too deeply: at most {CUSTOM_SCHEMA_DEPTH_MAX} levels"
        ));
    }
    let members = schema
        .as_object()
        .ok_or_else(|| format!("{at} must be a JSON schema, an object"))?;
    let kind = schema["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) {
        return Err(format!("{at}.type must be one of {}", TYPES.join(", ")));
    }
    if kind == "array" && !members.contains_key("items") {
        return Err(format!("{at}.items is missing: the schema of the elements"));
    }
    for (key, value) in members {
        let at = format!("{at}.{key}");
        if !fits_type(key, kind) {
            return Err(format!("{at} does not go with the type {kind}"));
        }
        check_member(schema, (key, value), &at, depth)?;
    }
    Ok(())
}

/// Whether a keyword has a meaning for a type; true for those that are not known.
pub fn fits_type(key: &str, kind: &str) -> bool {
    match key {
        "items" | "minItems" | "maxItems" => kind == "array",
        "properties" | "required" | "additionalProperties" => kind == "object",
        "minLength" | "maxLength" => kind == "string",
        "minimum" | "maximum" => matches!(kind, "number" | "integer"),
        "enum" => matches!(kind, "string" | "number" | "integer"),
        "default" => !matches!(kind, "object" | "array"),
        _ => true,
    }
}

/// Whether a value is of a scalar type.
pub fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => value.is_boolean(),
    }
}

fn check_member(
    schema: &Value,
    (key, value): (&str, &Value),
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let is_count = |value: &Value| {
        value
            .as_u64()
            .is_some_and(|count| count <= CUSTOM_SCHEMA_COUNT_MAX)
    };
    let should_be = match key {
        "type" => return Ok(()),
        "default" if value.is_null() || is_of(kind, value) => return Ok(()),
        "default" => "a value of its type",
        "items" => return check_at(value, at, depth + 1),
        "properties" => return check_properties(value, at, depth),
        "title" | "description" if value.is_string() => return Ok(()),
        "title" | "description" => "a string",
        "minimum" | "maximum" if value.is_number() => return Ok(()),
        "minimum" | "maximum" => "a number",
        "minLength" | "maxLength" | "minItems" | "maxItems" if is_count(value) => return Ok(()),
        "minLength" | "maxLength" | "minItems" | "maxItems" => "a whole number, at most 1,000,000",
        "additionalProperties" if value.is_boolean() => return Ok(()),
        "additionalProperties" => "true or false",
        "enum" if is_list_of(value, |one| is_of(kind, one)) => return Ok(()),
        "enum" => "a list of different values of its type",
        "required" if has_all(&schema["properties"], value) => return Ok(()),
        "required" => "a list of different names of properties",
        _ => {
            return Err(format!(
                "{at} cannot be used: not every model provider knows it. Describe it in words"
            ));
        }
    };
    Err(format!("{at} must be {should_be}"))
}

/// Whether every provider takes a property with this name.
pub fn is_property_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= TOOL_NAME_BYTES_MAX && name.bytes().all(is_plain)
}

fn check_properties(value: &Value, at: &str, depth: usize) -> Result<(), String> {
    let properties = value
        .as_object()
        .ok_or_else(|| format!("{at} must be an object"))?;
    for (name, property) in properties {
        if !is_property_name(name) {
            return Err(format!(
                "{at}: a name must have 1 to {TOOL_NAME_BYTES_MAX} letters, digits, _ or -, and begin with a letter or _"
            ));
        }
        check_at(property, &format!("{at}.{name}"), depth + 1)?;
    }
    Ok(())
}

fn is_list_of(value: &Value, is_right: impl Fn(&Value) -> bool) -> bool {
    let list = value.as_array();
    list.is_some_and(|list| !list.is_empty() && list.iter().all(is_right) && are_different(list))
}

fn are_different(list: &[Value]) -> bool {
    let mut list = list.iter().enumerate();
    let all = list.clone();
    list.all(|(index, one)| !all.clone().skip(index + 1).any(|(_, other)| one == other))
}

/// Whether all names of a list are those of properties.
fn has_all(properties: &Value, names: &Value) -> bool {
    let is_known = |name: &Value| {
        name.as_str()
            .is_some_and(|name| properties.get(name).is_some())
    };
    names
        .as_array()
        .is_some_and(|names| names.iter().all(is_known) && are_different(names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(schema: Value) -> String {
        check(&schema).unwrap_err()
    }

    #[test]
    fn what_every_provider_takes_is_taken() {
        check(&json!({"type": "object"})).unwrap();
        check(&json!({
            "type": "object", "additionalProperties": false, "required": ["city"],
            "properties": {
                "city": {"type": "string", "description": "x", "minLength": 1, "default": null},
                "days": {"type": "integer", "minimum": 1, "maximum": 7},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                "more": {"type": "object", "properties": {"a-b_c": {"type": "boolean"}}},
            },
        }))
        .unwrap();
    }

    #[test]
    fn everything_else_is_named() {
        for schema in [
            json!(null),
            json!([]),
            json!({}),
            json!({"type": "array"}),
            json!({"type": ["object"]}),
        ] {
            assert!(fault(schema).starts_with("parameters must be a JSON schema with"));
        }
        let property =
            |property: Value| fault(json!({"type": "object", "properties": {"x": property}}));
        assert_eq!(
            property(json!(5)),
            "parameters.properties.x must be a JSON schema, an object"
        );
        assert!(
            property(json!({})).starts_with("parameters.properties.x.type must be one of string, ")
        );
        assert!(property(json!({"type": "array"})).contains("x.items is missing"));
        assert!(property(json!({"type": "string", "$ref": "#"})).contains("x.$ref cannot be used"));
        assert!(
            property(json!({"type": "string", "enum": []}))
                .ends_with("x.enum must be a list of different values of its type")
        );
        assert!(
            property(json!({"type": "string", "maxLength": -1}))
                .ends_with("must be a whole number, at most 1,000,000")
        );
        assert!(
            fault(json!({"type": "object", "required": ["x"]}))
                .ends_with("a list of different names of properties")
        );
        assert!(
            fault(json!({"type": "object", "properties": []}))
                .ends_with("properties must be an object")
        );
        assert!(
            fault(json!({"type": "object", "properties": {"a b": {"type": "string"}}}))
                .contains("1 to 64")
        );
        for twice_or_elsewhere in [
            json!({"type": "string", "enum": ["a", "a"]}),
            json!({"type": "string", "enum": [1]}),
            json!({"type": "boolean", "enum": ["a"]}),
            json!({"type": "string", "items": {"type": "string"}}),
            json!({"type": "integer", "maxLength": 1}),
            json!({"type": "string", "maxLength": u64::MAX}),
            json!({"type": "integer", "default": "a"}),
        ] {
            property(twice_or_elsewhere);
        }
        let mut deep = json!({"type": "string"});
        for _ in 0..CUSTOM_SCHEMA_DEPTH_MAX {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(property(deep).contains("nested too deeply"));
        fault(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "a"]}),
        );
        fault(json!({"type": "object", "properties": {"-1": {"type": "string"}}}));
    }
}
