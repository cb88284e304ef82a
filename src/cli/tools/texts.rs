//! What `peacrab tools` says.

/// There is no folder in `tools/`.
pub const NO_TOOLS: &str = "No tools of your own. To write one: peacrab tools new NAME";
/// A tool that can run.
pub const READY: &str = "yours, approved";
/// The configuration turns custom tools off.
pub const DISABLED: &str = "yours, not used: tools.custom.enabled or tools.exec.enabled is false";
/// The tool was not approved.
pub const NOT_APPROVED: &str = "Not approved.";
/// There is no terminal to ask at.
pub const NEEDS_YES: &str = "Confirm with --yes: there is no terminal to ask you.";

/// A tool that no one has allowed.
pub fn waits(name: &str) -> String {
    format!(
        "yours, waits for approval: you are asked at its first call, or use `peacrab tools approve {name}`"
    )
}

/// A tool that was changed after it was allowed.
pub fn waits_changed(name: &str) -> String {
    format!(
        "yours, changed since it was approved: you are asked at its next call, or use `peacrab tools approve {name}`"
    )
}

/// A tool that cannot be used.
pub fn unusable(fault: &str) -> String {
    format!("yours, not used: {fault}")
}

/// The end of a check without faults; `tools` is a number of tools.
pub fn no_faults(tools: &str) -> String {
    format!("No problems found in {tools}.")
}

/// The end of a check; `problems` is a number of problems.
pub fn faults(problems: &str) -> String {
    format!("Found {problems}.")
}

/// There is something with this name already.
pub fn already_there(folder: &str) -> String {
    format!("{folder} already exists")
}

/// A tool was written.
pub fn made(folder: &str, name: &str) -> String {
    format!(
        "Made {folder} with an example that works: change tool.json, and the script in the file run.\n\
         To check it: peacrab tools check\n\
         You are asked before the agent runs it, unless you approve it: peacrab tools approve {name}"
    )
}

/// Above the files of a tool that is to be approved.
pub fn about(name: &str, description: &str) -> String {
    format!("{name}: {description}")
}

/// Below the files; they are shown in part.
pub fn files_are_in(folder: &str) -> String {
    format!("\nThe whole files are in {folder}")
}

/// Asks whether a tool is approved.
pub fn ask_to_approve(name: &str) -> String {
    format!("Let the agent run {name} in the sandbox, as it is now, without asking? [y/N] ")
}

/// A tool was approved.
pub fn approved(name: &str) -> String {
    format!("Approved {name}. If its folder changes, you are asked again.")
}

/// A tool is allowed already.
pub fn already_approved(name: &str) -> String {
    format!("{name} is already approved as it is.")
}

/// A tool is no longer allowed.
pub fn revoked(name: &str) -> String {
    format!("Revoked {name}. You are asked before it runs again.")
}

/// A tool that is not in the list of approved ones.
pub fn was_not_approved(name: &str) -> String {
    format!("{name} is not approved. `peacrab tools list` shows your tools.")
}

/// A name that no tool has; `near` is one that was perhaps meant.
pub fn unknown(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("No tool {name} in the workspace. Did you mean {near}?"),
        None => format!("No tool {name} in the workspace. `peacrab tools list` shows them."),
    }
}

/// The tool.json of a new tool.
pub const MANIFEST: &str = r#"{
  "description": "Greet a person by name.",
  "parameters": {
    "type": "object",
    "properties": {
      "name": { "type": "string", "description": "Who to greet" }
    },
    "required": ["name"]
  },
  "timeout": 10
}
"#;

/// The executable of a new tool, for the shell.
pub const SCRIPT_SH: &str = r#"#!/bin/sh
# The arguments come as JSON on standard input. What is printed is the result;
# after another exit status than 0, standard error says what went wrong.
# sed is enough for one simple string; for more use jq or Python.
name=$(sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
[ -n "$name" ] || { echo "name is missing" >&2; exit 1; }
echo "Hello, $name!"
"#;

/// The executable of a new tool, in Python.
pub const SCRIPT_PYTHON: &str = r#"#!/usr/bin/env python3
# The arguments come as JSON on standard input. What is printed is the result;
# after another exit status than 0, standard error says what went wrong.
import json
import sys

arguments = json.load(sys.stdin)
if not arguments.get("name"):
    sys.exit("name is missing")
print(f"Hello, {arguments['name']}!")
"#;
