use super::*;
use proptest::prelude::*;

/// The simplified schema of one argument, `x`.
fn argument(schema: Value, definitions: Value) -> Value {
    let schema = json!({
        "type": "object", "required": ["x"], "properties": {"x": schema}, "$defs": definitions
    });
    let simplified = simplify(&schema.to_string()).unwrap_or_else(|| panic!("{schema}"));
    let mut simplified: Value = serde_json::from_str(&simplified).unwrap();
    simplified["properties"]["x"].take()
}

#[test]
fn what_every_provider_takes_stays() {
    let schema = json!({
        "type": "object", "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "x", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
    });
    let simplified: Value = serde_json::from_str(&simplify(&schema.to_string()).unwrap()).unwrap();
    assert_eq!(simplified, schema);
    let simplified = simplify(r#"{"type":"object","additionalProperties":false,"$schema":"x"}"#);
    assert_eq!(
        simplified.as_deref(),
        Some(r#"{"properties":{},"type":"object"}"#)
    );
}

#[test]
fn references_are_followed_and_alternatives_become_one_type() {
    let definitions = json!({
        "unit": {"type": "string", "enum": ["C", "F"]},
        "again": {"$ref": "#/$defs/unit"},
    });
    let cases = [
        (
            json!({"$ref": "#/$defs/again"}),
            json!({"type": "string", "enum": ["C", "F"]}),
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "integer", "maximum": 3}], "default": null, "title": "X"}),
            json!({"type": "integer", "maximum": 3, "description": "X"}),
        ),
        (
            json!({"type": ["null", "string"], "format": "uri"}),
            json!({"type": "string"}),
        ),
        (
            json!({"anyOf": [{"type": "string", "minLength": 3}, {"type": "number"}]}),
            json!({"type": "string"}),
        ),
        (
            json!({"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "k": {"const": "1"}}, "required": ["a", "k"]},
                {"type": "object", "properties": {"b": {"type": "string"}, "k": {"const": "2"}}, "required": ["b", "k"]},
            ]}),
            json!({"type": "object", "required": ["k"], "properties": {
                "a": {"type": "string"}, "b": {"type": "string"}, "k": {"type": "string", "enum": ["1", "2"]},
            }}),
        ),
        (
            json!({"allOf": [{"properties": {"a": {"type": "boolean"}}, "required": ["a"]}, {"properties": {"b": true}}]}),
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}, "b": {"type": "string"}}}),
        ),
        (
            json!({"type": "array"}),
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (json!({}), json!({"type": "string"})),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"type": "object"}),
        ),
        (
            json!({"type": "string", "enum": ["a", 1, "a", null]}),
            json!({"type": "string", "enum": ["a"]}),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(
            argument(schema.clone(), definitions.clone()),
            expected,
            "{schema}"
        );
    }
}

#[test]
fn what_cannot_be_expressed_is_left_out_where_a_call_does_not_need_it() {
    // A tree: each level has the same again.
    let tree = json!({"tree": {
        "type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    }});
    let simplified = argument(json!({"$ref": "#/$defs/tree"}), tree);
    let inner = &simplified["properties"]["children"]["items"];
    assert_eq!(inner["properties"]["name"]["type"], "string");
    assert!(inner["properties"].get("children").is_none());
    let schema = json!({"type": "object", "properties": {"a b": {"type": "string"}, "c": {"type": "string"}}});
    let simplified = simplify(&schema.to_string()).unwrap();
    assert!(!simplified.contains("a b") && simplified.contains("\"c\""));
    for schema in [
        json!({"type": "object", "required": ["a b"], "properties": {"a b": {"type": "string"}}}),
        json!({"type": "object", "required": ["x"], "properties": {"x": {"$ref": "https://a/b"}}}),
        json!({"$ref": "#"}),
        json!([]),
    ] {
        assert_eq!(simplify(&schema.to_string()), None, "{schema}");
    }
    assert_eq!(simplify("{"), None);
}

#[test]
fn a_schema_has_only_so_many_bytes() {
    let inner = |n: usize| json!({"type": "object", "properties": {"a": {"type": "string", "description": "x".repeat(n)}}});
    let many = |n: usize, inner: Value| {
        let all = (0..n).map(|number| (format!("p{number}"), inner.clone()));
        json!({"type": "object", "properties": all.collect::<Map<String, Value>>()}).to_string()
    };
    let simplified = simplify(&many(20, inner(190))).unwrap();
    assert!(simplified.len() <= SIMPLE_BYTES && !simplified.contains("xxx"));
    assert_eq!(simplify(&many(200, inner(1))), None);
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({"const": 7})),
        proptest::sample::select(vec!["string", "null", "integer", "array", "object", "odd"])
            .prop_map(|kind| json!({"type": kind, "minimum": 1, "maxLength": -1, "default": "x"})),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({"anyOf": all})),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|all| json!({"allOf": all, "type": "object"})),
            inner.clone().prop_map(|items| json!({"type": ["array", "null"], "items": items})),
            (proptest::collection::vec(inner, 0..4), any::<bool>()).prop_map(|(all, needs)| {
                let names = ["a", "b c", "c", "-d"];
                let properties: Map<String, Value> =
                    names.iter().map(ToString::to_string).zip(all).collect();
                let required: &[&str] = if needs { &["a", "c", "z"] } else { &[] };
                json!({"properties": properties, "required": required, "$defs": {"a": {"type": "string"}}})
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_comes_what_is_left_is_taken_by_every_provider(schema in any_schema()) {
        if let Some(simplified) = simplify(&schema.to_string()) {
            let simplified: Value = serde_json::from_str(&simplified).unwrap();
            prop_assert_eq!(check(&simplified), Ok(()));
        }
    }
}
