//! What the program says about itself.

use crate::harness::home::Home;
use crate::harness::program::Program;

#[test]
fn help_names_every_command_and_every_exit_code() {
    let help = Program::new(&Home::new())
        .arg("--help")
        .run()
        .ends_with(0)
        .stdout;
    for command in [
        "agent",
        "onboard",
        "status",
        "config",
        "sessions",
        "tools",
        "completions",
    ] {
        assert!(help.contains(command), "{command} is missing in {help}");
    }
    for code in ["0", "1", "2", "78", "130"] {
        let is_line = |line: &str| line.split_whitespace().next() == Some(code);
        assert!(help.lines().any(is_line), "{code} is missing in {help}");
    }
}

#[test]
fn version_prints_the_version_and_touches_nothing() {
    let home = Home::new();
    let output = Program::new(&home).arg("--version").run().ends_with(0);
    assert_eq!(
        output.stdout,
        format!("peacrab {}\n", env!("CARGO_PKG_VERSION"))
    );
    let found: Vec<_> = home
        .path()
        .read_dir()
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(found, ["workspace"]);
}

#[test]
fn a_mistyped_command_is_wrong_usage_and_says_the_right_one() {
    let output = Program::new(&Home::new()).arg("agnet").run().ends_with(2);
    output.complains_of(&["agnet", "agent"]);
    assert_eq!(output.stdout, "");
    Program::new(&Home::new())
        .args(["agent", "--no-such-flag"])
        .run()
        .ends_with(2);
}

#[test]
fn completions_are_printed_for_a_shell() {
    let output = Program::new(&Home::new())
        .args(["completions", "bash"])
        .run()
        .ends_with(0);
    assert!(output.stdout.contains("_peacrab"), "{output:?}");
}

#[test]
fn the_tools_are_listed() {
    let output = Program::new(&Home::new())
        .args(["tools", "list"])
        .run()
        .ends_with(0);
    let tools = [
        "read_file",
        "write_file",
        "edit_file",
        "append_file",
        "list_dir",
        "find_files",
        "grep",
    ];
    for tool in tools {
        assert!(
            output.stdout.contains(tool),
            "{tool} is missing in {output:?}"
        );
    }
}
