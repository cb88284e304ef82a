//! Front matter in the shapes in which people publish skills.

use super::*;

/// What was read, as one line.
fn show(text: &str) -> String {
    let read = read(text);
    let manifest = &read.manifest;
    let mut shown = format!("{} | {}", manifest.name, manifest.description);
    let any: Vec<String> = manifest
        .any_programs
        .iter()
        .map(|group| group.join("/"))
        .collect();
    for (label, values) in [
        ("bins", &manifest.programs),
        ("any", &any),
        ("env", &manifest.variables),
        ("os", &manifest.systems),
    ] {
        if !values.is_empty() {
            shown.push_str(&format!(" | {label} {}", values.join(",")));
        }
    }
    for (label, value) in [("license", &manifest.license), ("tools", &manifest.tools)] {
        if !value.is_empty() {
            shown.push_str(&format!(" | {label} {value}"));
        }
    }
    if manifest.always {
        shown.push_str(" | always");
    }
    for fault in &read.faults {
        shown.push_str(&format!(" | {}: {}", fault.line, fault.text));
    }
    shown
}

/// Where the shape is used, the front matter, and what is read.
const SHAPES: [(&str, &str, &str); 28] = [
    (
        "Agent Skills, the least",
        "name: pdf-forms\ndescription: Fill in PDF forms. Use when a form is to be filled.",
        "pdf-forms | Fill in PDF forms. Use when a form is to be filled.",
    ),
    (
        "Agent Skills, with everything",
        "name: pdf-forms\ndescription: Fill in forms.\nlicense: Apache-2.0\ncompatibility: Needs poppler\nmetadata:\n  author: example-org\n  version: \"1.0\"\nallowed-tools: Bash(pdftk:*) Read",
        "pdf-forms | Fill in forms. | license Apache-2.0 | tools Bash(pdftk:*) Read",
    ),
    (
        "Claude Code: tools with commas",
        "name: commit\ndescription: Write a commit message\nallowed-tools: Read, Grep, Bash(git log:*)\nmodel: inherit\ndisable-model-invocation: true",
        "commit | Write a commit message | tools Read, Grep, Bash(git log:*)",
    ),
    (
        "Claude Code: tools as a list",
        "name: review\ndescription: \"Review: find bugs\"\nallowed-tools:\n  - Read\n  - Bash(git diff *)\nargument-hint: \"[number]\"",
        "review | Review: find bugs | tools Read, Bash(git diff *)",
    ),
    (
        "a folded description",
        "name: deploy\ndescription: >\n  Deploys the site\n  to the server.\n\n  Use it on request.\nlicense: MIT",
        "deploy | Deploys the site to the server. Use it on request. | license MIT",
    ),
    (
        "a description of several lines",
        "name: notes\ndescription: |-\n  Keeps notes:\n  - adds them\n  - finds them",
        "notes | Keeps notes: - adds them - finds them",
    ),
    (
        "a plain description that goes on",
        "name: notes\ndescription: Keeps notes in files\n  and finds them again.\nversion: 2.1.0",
        "notes | Keeps notes in files and finds them again.",
    ),
    (
        "nanobot: JSON in a line",
        "name: tmux\ndescription: Control tmux.\nmetadata: {\"nanobot\":{\"emoji\":\"🧵\",\"os\":[\"darwin\",\"linux\"],\"requires\":{\"bins\":[\"tmux\"]}}}",
        "tmux | Control tmux. | bins tmux | os darwin,linux",
    ),
    (
        "nanobot: always, at the top",
        "name: memory\ndescription: Two layers of memory.\nalways: true",
        "memory | Two layers of memory. | always",
    ),
    (
        "nanobot: always, within metadata",
        "name: house\ndescription: \"Lamps and more\"\nmetadata: {\"nanobot\":{\"emoji\":\"🏠\",\"always\":true}}",
        "house | Lamps and more | always",
    ),
    (
        "nanobot: metadata in a string",
        "name: gh\ndescription: Issues.\nmetadata: '{\"nanobot\":{\"requires\":{\"bins\":[\"gh\"],\"env\":[\"GH_TOKEN\"]}}}'",
        "gh | Issues. | bins gh | env GH_TOKEN",
    ),
    (
        "PicoClaw",
        "name: hardware\ndescription: I2C and SPI.\nhomepage: https://example.org\nmetadata: {\"picoclaw\":{\"emoji\":\"🔧\",\"requires\":{\"tools\":[\"i2c\",\"spi\"]}}}",
        "hardware | I2C and SPI. | 5: requires.tools is ignored",
    ),
    (
        "OpenClaw: JSON over many lines, with trailing commas",
        "name: places\ndescription: Find places.\nhomepage: https://example.org/places\nmetadata:\n  {\n    \"openclaw\":\n      {\n        \"emoji\": \"📍\",\n        \"requires\": { \"bins\": [\"uv\"], \"env\": [\"PLACES_KEY\"] },\n        \"primaryEnv\": \"PLACES_KEY\",\n        \"install\":\n          [\n            {\n              \"id\": \"brew\",\n              \"kind\": \"brew\",\n              \"bins\": [\"uv\"],\n            },\n          ],\n      },\n  }",
        "places | Find places. | bins uv | env PLACES_KEY",
    ),
    (
        "OpenClaw: anyBins and config",
        "name: coder\ndescription: Run a coding agent.\nmetadata: { \"openclaw\": { \"requires\": { \"anyBins\": [\"claude\", \"codex\"], \"config\": [\"browser.enabled\"] } } }",
        "coder | Run a coding agent. | any claude/codex | 4: requires.config is ignored",
    ),
    (
        "Clawdbot, and only for a Mac",
        "name: apple-notes\ndescription: Notes.\nmetadata: {\"clawdbot\":{\"os\":[\"darwin\"],\"requires\":{\"bins\":[\"memo\"]}}}",
        "apple-notes | Notes. | bins memo | os darwin",
    ),
    (
        "ClawHub: metadata as YAML",
        "name: todo\ndescription: Tasks.\nmetadata:\n  openclaw:\n    requires:\n      env:\n        - TODO_KEY\n      bins:\n        - curl\n        - jq\n    primaryEnv: TODO_KEY\n    always: false",
        "todo | Tasks. | bins curl,jq | env TODO_KEY",
    ),
    (
        "variables with their descriptions",
        "name: mail\ndescription: Mail.\nmetadata:\n  openclaw:\n    requires:\n      env:\n        - name: MAIL_KEY\n          required: true\n          description: From the settings\n        - name: MAIL_DEBUG\n          required: false",
        "mail | Mail. | env MAIL_KEY",
    ),
    (
        "requirements directly in metadata",
        "name: disk\ndescription: Disk.\nmetadata:\n  requires:\n    bins: [smartctl, lsblk]\n    os: [linux]",
        "disk | Disk. | bins smartctl,lsblk | os linux",
    ),
    (
        "requirements at the top",
        "name: x-post\ndescription: Post.\nrequires:\n  bins: curl\n  any_bins: [jq, python3]\n  env: X_KEY, X_SECRET\nos: linux",
        "x-post | Post. | bins curl | any jq/python3 | env X_KEY,X_SECRET | os linux",
    ),
    (
        "two agents in one file",
        "name: both\ndescription: Both.\nmetadata: {\"openclaw\":{\"requires\":{\"bins\":[\"a\",\"b\"]}},\"nanobot\":{\"requires\":{\"bins\":[\"b\",\"c\"]}}}",
        "both | Both. | bins a,b,c",
    ),
    (
        "indented with tabs",
        "name: tabs\ndescription: Tabs.\nmetadata:\n\topenclaw:\n\t\trequires:\n\t\t\tbins:\n\t\t\t\t- git",
        "tabs | Tabs. | bins git | 5: indent with spaces, not with tabs",
    ),
    (
        "a colon that YAML does not allow",
        "name: translate\ndescription: Translates. Use when: the person says \"translate\"",
        "translate | Translates. Use when: the person says \"translate\" | 3: put the value in quotes, because it contains a colon",
    ),
    (
        "Chinese, with another quotation mark",
        "name: 天气\ndescription: “查询天气”：温度、降水\ntags: [天气, 工具]",
        "天气 | “查询天气”：温度、降水",
    ),
    (
        "single quotes and a comment",
        "# by hand\nname: 'it' # short\ndescription: 'It''s here'",
        "it | It's here",
    ),
    (
        "keys that no one knows, with deep values",
        "name: deep\ntriggers:\n  - pattern: \"^x\"\n    actions: [{run: [a, {b: c}]}]\nexamples: |\n  name: not this one\n  description: nor this\ndescription: Deep.",
        "deep | Deep.",
    ),
    (
        "a list where a string belongs",
        "name: [a, b]\ndescription:\n  - one\n  - two",
        " | The first words. | 2: name must be a string | 3: description must be a string | 3: the description is empty",
    ),
    (
        "keys given twice",
        "name: a\nname: b\ndescription: x",
        "b | x | 3: name is given twice; the last one counts",
    ),
    (
        "JSON throughout",
        "{\"name\": \"json\", \"description\": \"All \\u2713\", \"metadata\": {\"os\": [\"linux\"]}}",
        "json | All ✓ | os linux",
    ),
];

#[test]
fn front_matter_in_the_shapes_of_others_is_read() {
    for (shape, front, expected) in SHAPES {
        for newline in ["\n", "\r\n"] {
            let front = front.replace('\n', newline);
            let text =
                format!("---{newline}{front}{newline}---{newline}# Title{newline}The first words.");
            assert_eq!(show(&text), expected, "{shape}");
        }
    }
}

#[test]
fn without_front_matter_the_first_paragraph_describes_it() {
    assert_eq!(
        show("# Lamps\n\n```sh\nx\n```\nSwitches lamps."),
        " | x | 1: there is no front matter: the first line must be --- | 0: there is no description"
    );
    let none = show("---\nname: a\n---\n");
    assert_eq!(
        none,
        "a |  | 0: there is no description | 0: there are no instructions below the front matter"
    );
}
