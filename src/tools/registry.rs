//! The list of tools, in the order of a request.

use serde::Deserialize;

use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::tools::TOOL_NAME_BYTES_MAX;

use super::Context;
use super::arguments::Arguments;

/// Tools that the model is told about. Providers take 128 at most, and choose worse from many.
const TOOLS_MAX: usize = 64;
/// Bytes of a tool's name, description and schema together.
const SPEC_BYTES_MAX: usize = 8 * 1024;
/// Bytes of all tools' specs, which go into every request: about 16,000 tokens.
const SPECS_BYTES_MAX: usize = 64 * 1024;

/// Something that runs the calls of one tool.
pub trait Tool: Send + Sync {
    /// Runs a call. Several may run at the same time.
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult>;
}

/// A built-in tool that needs nothing but the context.
pub(super) type BuiltIn = fn(&Context<'_>, &Arguments) -> Result<ToolResult>;

impl Tool for BuiltIn {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        self(context, arguments)
    }
}

/// The tools by name. Their number and the bytes that they add to every request are bounded.
#[derive(Default)]
pub(super) struct Registry {
    specs: Vec<ToolSpec>,
    /// In the order of the specs.
    tools: Vec<Box<dyn Tool>>,
}

impl Registry {
    /// The specs, in the order of registration.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<(&ToolSpec, &dyn Tool)> {
        let index = self.specs.iter().position(|spec| spec.name == name)?;
        Some((self.specs.get(index)?, self.tools.get(index)?.as_ref()))
    }

    /// Adds a built-in tool, whose spec the tests have checked. It takes the place of one with its name.
    pub fn add_built_in(&mut self, spec: ToolSpec, tool: Box<dyn Tool>) {
        let index = self.specs.iter().position(|old| old.name == spec.name);
        match index.and_then(|index| self.specs.get_mut(index).zip(self.tools.get_mut(index))) {
            Some(slot) => (*slot.0, *slot.1) = (spec, tool),
            None => {
                self.specs.push(spec);
                self.tools.push(tool);
            }
        }
    }

    /// Adds a tool whose spec comes from outside, and which may be anything.
    pub fn add(&mut self, spec: ToolSpec, tool: Box<dyn Tool>) -> Result<()> {
        self.check(&spec)?;
        self.specs.push(spec);
        self.tools.push(tool);
        Ok(())
    }

    /// A provider refuses the whole request for one invalid name or schema.
    fn check(&self, spec: &ToolSpec) -> Result<()> {
        let name = &spec.name;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > TOOL_NAME_BYTES_MAX || !name.chars().all(is_plain) {
            let shown: String = name.chars().take(TOOL_NAME_BYTES_MAX).collect();
            return Err(Error::Failed(format!(
                "invalid tool name {shown:?}: use 1 to {TOOL_NAME_BYTES_MAX} letters, digits, _ or -"
            )));
        }
        if self.get(name).is_some() {
            return Err(Error::Failed(format!(
                "there already is a tool named {name}"
            )));
        }
        if self.specs.len() >= TOOLS_MAX {
            return Err(Error::Failed(format!(
                "failed to add the tool {name}: there can be at most {TOOLS_MAX}"
            )));
        }
        let too_large = |what: String, limit| Err(Error::TooLarge { what, limit });
        if spec.bytes() > SPEC_BYTES_MAX {
            return too_large(format!("the spec of the tool {name}"), SPEC_BYTES_MAX);
        }
        let bytes: usize = self.specs.iter().map(ToolSpec::bytes).sum();
        if bytes + spec.bytes() > SPECS_BYTES_MAX {
            return too_large(format!("the tool list with {name}"), SPECS_BYTES_MAX);
        }
        match json::from_str::<Schema>(&spec.parameters) {
            Ok(schema) if schema.r#type == "object" => Ok(()),
            Ok(schema) => Err(Error::Failed(format!(
                "the schema of the tool {name} has the type {:?} instead of \"object\"",
                schema.r#type
            ))),
            Err(error) => Err(Error::Failed(format!(
                "the schema of the tool {name} is not a JSON schema of type object: {error}"
            ))),
        }
    }
}

/// The part of a JSON schema that every provider insists on.
#[derive(Deserialize)]
struct Schema {
    r#type: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

    fn spec(name: &str, description: &str, parameters: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned().into(),
            description: description.to_owned().into(),
            parameters: parameters.to_owned().into(),
            read_only: false,
        }
    }

    fn tool(text: &'static str) -> Box<dyn Tool> {
        struct Says(&'static str);
        impl Tool for Says {
            fn run(&self, _: &Context<'_>, _: &Arguments) -> Result<ToolResult> {
                Ok(ToolResult::new(self.0))
            }
        }
        Box::new(Says(text))
    }

    fn refusal(registry: &mut Registry, spec: ToolSpec) -> String {
        let before = registry.specs().len();
        let error = registry.add(spec, tool("")).unwrap_err().to_string();
        assert_eq!(registry.specs().len(), before);
        error
    }

    #[test]
    fn a_name_is_taken_once() {
        let mut registry = Registry::default();
        registry.add(spec("one", "", SCHEMA), tool("")).unwrap();
        registry.add(spec("two", "", SCHEMA), tool("")).unwrap();
        assert_eq!(
            refusal(&mut registry, spec("one", "", SCHEMA)),
            "there already is a tool named one"
        );
        registry.add_built_in(spec("one", "new", SCHEMA), tool(""));
        let described = |spec: &ToolSpec| format!("{}: {}", spec.name, spec.description);
        let specs: Vec<String> = registry.specs().iter().map(described).collect();
        assert_eq!(specs, ["one: new", "two: "]);
        assert!(registry.get("three").is_none());
    }

    #[test]
    fn a_spec_that_a_provider_would_refuse_is_refused() {
        let mut registry = Registry::default();
        for name in ["", "a b", "ä", "a/b", &"x".repeat(TOOL_NAME_BYTES_MAX + 1)] {
            let error = refusal(&mut registry, spec(name, "", SCHEMA));
            assert!(error.starts_with("invalid tool name \""), "{error}");
        }
        for schema in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"type":"object""#,
            r#"{"type":["object"]}"#,
        ] {
            let error = refusal(&mut registry, spec("x", "", schema));
            assert!(error.contains("of type object: "), "{schema}: {error}");
        }
        let error = refusal(&mut registry, spec("x", "", r#"{"type":"array"}"#));
        assert!(error.contains("the type \"array\""), "{error}");
    }

    #[test]
    fn the_number_and_the_bytes_of_the_specs_are_bounded() {
        let mut registry = Registry::default();
        let long = "x".repeat(SPEC_BYTES_MAX - SCHEMA.len() - 4);
        let error = refusal(&mut registry, spec("large", &long, SCHEMA));
        assert!(error.starts_with("the spec of the tool large is larger"));
        let mut added = 0;
        while added < TOOLS_MAX {
            let spec = spec(&format!("t{added:03}"), &long, SCHEMA);
            if registry.add(spec, tool("")).is_err() {
                break;
            }
            added += 1;
        }
        assert_eq!(added, SPECS_BYTES_MAX / SPEC_BYTES_MAX);
        let error = refusal(&mut registry, spec("more", &long, SCHEMA));
        assert!(
            error.starts_with("the tool list with more is larger"),
            "{error}"
        );

        let mut registry = Registry::default();
        for number in 0..TOOLS_MAX {
            let spec = spec(&format!("t{number}"), "", SCHEMA);
            registry.add(spec, tool("")).unwrap();
        }
        let error = refusal(&mut registry, spec("more", "", SCHEMA));
        assert!(error.ends_with("there can be at most 64"), "{error}");
    }
}
