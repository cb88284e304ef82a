//! A server of tools: a script in the workspace, and a file that says what it has.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::Home;

/// A server of tools in a home.
pub struct Server {
    list: std::path::PathBuf,
}

/// A tool with a description and one argument.
pub fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name, "description": description,
        "inputSchema": {"type": "object", "properties": {"room": {"type": "string"}}},
    })
}

impl Server {
    /// Writes a server that has this: `{"tools": [...], "resources": [...], "prompts": [...]}`.
    pub fn put(home: &Home, name: &str, has: &Value) -> Self {
        fs::write(home.workspace("server.py"), include_str!("server.py")).unwrap();
        let list = home.workspace(&format!("{name}.json"));
        fs::write(&list, has.to_string()).unwrap();
        Self { list }
    }

    /// The same, and in the configuration.
    pub fn configured(home: &mut Home, name: &str, has: &Value) -> Self {
        let server = Self::put(home, name, has);
        let settings = json!({
            "command": "python3",
            "args": ["server.py", format!("{name}.json")],
            "cwd": home.workspace(""),
        });
        home.set(&format!("/tools/mcpServers/{name}"), settings);
        server
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        let file = self.list.with_extension("json.starts");
        fs::read_to_string(file).map_or(0, |starts| starts.lines().count())
    }
}
