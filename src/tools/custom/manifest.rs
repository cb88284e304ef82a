//! What a tool.json says. Pure.

use serde::Deserialize;
use serde_json::Value;

use super::{CUSTOM_MANIFEST_BYTES_MAX, CUSTOM_NAME_BYTES_MAX, CUSTOM_SPECS_BYTES_MAX};
use crate::base::chat::ToolSpec;
use crate::base::json;
use crate::tools::schema;

/// The executable that is called where the tool.json names none.
pub const COMMAND: &str = "run";

/// A tool.json that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// What the tool does, for the model.
    pub description: String,
    /// The JSON schema of its parameters, as JSON without whitespace.
    pub parameters: String,
    /// The executable: a path within the tool's folder.
    pub command: String,
    /// Seconds that a run may take; `None`: as many as a command of exec.
    pub timeout: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Option<String>,
    description: String,
    parameters: Option<Value>,
    command: Option<String>,
    timeout: Option<u64>,
}

/// Reads the bytes of a tool.json, at most one more than are allowed. `folder` is the name of its folder.
pub fn read(folder: &str, bytes: &[u8]) -> Result<Manifest, String> {
    if bytes.len() > CUSTOM_MANIFEST_BYTES_MAX {
        return Err(format!(
            "it is larger than {} kB",
            CUSTOM_MANIFEST_BYTES_MAX / 1024
        ));
    }
    let raw: Raw = json::from_slice(bytes).map_err(|error| error.to_string())?;
    if let Some(name) = raw.name.filter(|name| name != folder) {
        return Err(format!(
            "the name {name:?} is not that of the folder, {folder:?}"
        ));
    }
    let description = raw.description.trim();
    if description.is_empty() || description.contains(|c: char| c.is_control() && c != '\n') {
        return Err("description must say what the tool does, as plain text".to_owned());
    }
    let parameters = match raw.parameters {
        Some(parameters) => {
            schema::check(&parameters)?;
            parameters.to_string()
        }
        None => r#"{"type":"object","properties":{}}"#.to_owned(),
    };
    let command = raw.command.unwrap_or_else(|| COMMAND.to_owned());
    if !is_path_within(&command) {
        return Err(format!(
            "command must be the path of an executable in this folder, such as \"run\", not {command:?}"
        ));
    }
    if raw.timeout == Some(0) {
        return Err("timeout must be at least 1, in seconds".to_owned());
    }
    let manifest = Manifest {
        description: description.to_owned(),
        parameters,
        command,
        timeout: raw.timeout,
    };
    match manifest.spec(folder).bytes() {
        bytes if bytes > CUSTOM_SPECS_BYTES_MAX => Err(format!(
            "its description and parameters take {bytes} bytes of every request; all custom tools together may \
             take {CUSTOM_SPECS_BYTES_MAX}"
        )),
        _ => Ok(manifest),
    }
}

impl Manifest {
    /// The tool as the model is told about it.
    pub fn spec(&self, name: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned().into(),
            description: self.description.clone().into(),
            parameters: self.parameters.clone().into(),
            read_only: false,
        }
    }
}

/// Whether a folder can be a tool by its name.
pub fn is_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    begins && name.len() <= CUSTOM_NAME_BYTES_MAX && name.bytes().all(is_fine)
}

/// Whether a text is the plain path of something within a folder.
fn is_path_within(path: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_fine);
    path.len() <= CUSTOM_MANIFEST_BYTES_MAX && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        read("lamp", text.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_description_is_enough() {
        let manifest = read("lamp", br#"{"description": " Switches the lamp. "}"#).unwrap();
        assert_eq!(manifest.command, "run");
        assert_eq!(manifest.timeout, None);
        let spec = manifest.spec("lamp");
        assert_eq!(
            (&*spec.name, &*spec.description),
            ("lamp", "Switches the lamp.")
        );
        assert_eq!(spec.parameters, r#"{"type":"object","properties":{}}"#);
        let full = r#"{"name": "lamp", "description": "x", "command": "bin/lamp.sh", "timeout": 5,
            "parameters": { "type" : "object", "properties": {"on": {"type": "boolean"}} }}"#;
        let manifest = read("lamp", full.as_bytes()).unwrap();
        assert_eq!(
            (&*manifest.command, manifest.timeout),
            ("bin/lamp.sh", Some(5))
        );
        assert!(!manifest.parameters.contains(' '));
    }

    #[test]
    fn a_fault_says_what_it_should_be() {
        assert!(fault("{").contains("EOF"));
        assert!(
            fault(r#"{"description": "x", "paramaters": {}}"#)
                .contains("unknown field `paramaters`")
        );
        assert!(fault("{}").contains("missing field `description`"));
        assert!(fault(r#"{"description": " "}"#).starts_with("description must say"));
        assert!(fault("{\"description\": \"\\u001b[2J\"}").starts_with("description must say"));
        assert!(
            fault(r#"{"description": "x", "name": "fan"}"#).contains("the name \"fan\" is not")
        );
        assert!(
            fault(r#"{"description": "x", "parameters": []}"#).starts_with("parameters must be")
        );
        assert!(fault(r#"{"description": "x", "timeout": 0}"#).starts_with("timeout must be"));
        for command in ["../run", "/bin/sh", "", "a//b", "run me", "./run", "$x"] {
            let text = format!(r#"{{"description": "x", "command": "{command}"}}"#);
            assert!(fault(&text).starts_with("command must be"), "{command}");
        }
        let long = "x".repeat(CUSTOM_SPECS_BYTES_MAX);
        assert!(fault(&format!(r#"{{"description": "{long}"}}"#)).contains("of every request"));
        assert!(fault(&" ".repeat(CUSTOM_MANIFEST_BYTES_MAX + 1)).contains("larger than 8 kB"));
        assert!(read("lamp", b"\xff\xfe").is_err());
    }

    #[test]
    fn a_name_is_a_word_of_small_letters() {
        for name in ["a", "lamp_2", &"x".repeat(CUSTOM_NAME_BYTES_MAX)] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "Lamp",
            "a-b",
            "ä",
            "a b",
            ".git",
            &"x".repeat(CUSTOM_NAME_BYTES_MAX + 1),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_has_a_fault(text in "\\PC{0,200}") {
            let _ = read("lamp", text.as_bytes());
        }

        #[test]
        fn what_is_read_is_a_spec_that_a_provider_takes(
            description in "\\PC{1,40}", kind in "object|array|string|\\PC{0,6}", name in "[a-z ]{0,8}",
            inner in "string|array|number|nothing",
        ) {
            let text = serde_json::json!({
                "description": description,
                "parameters": {"type": kind, "properties": {name: {"type": inner}}},
            });
            if let Ok(manifest) = read("lamp", text.to_string().as_bytes()) {
                let schema: Value = serde_json::from_str(&manifest.parameters).unwrap();
                prop_assert_eq!(&schema["type"], "object");
                prop_assert!(["string", "number"].contains(&inner.as_str()));
            }
        }
    }
}
