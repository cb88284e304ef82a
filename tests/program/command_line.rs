//! What the program says about itself.

use std::fs;

use crate::harness::home::Home;
use crate::harness::program::{PEACRAB, Program};
use crate::harness::terminal::Terminal;

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
        "skills",
        "tools",
        "context",
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
    // Where the right place is known, similar words lead astray.
    let output = Program::new(&Home::new()).arg("logs").run().ends_with(2);
    output.complains_of(&["journalctl -u peacrab"]);
    assert!(!output.stderr.contains("similar"), "{output:?}");
    let run = |line: &[&str]| Program::new(&Home::new()).args(line).run().ends_with(2);
    let pair = run(&["pair", "K7QM"]);
    pair.complains_of(&["Did you mean:\n  peacrab channels pair K7QM"]);
    let explain = run(&["config", "expain", "temp"]);
    explain.complains_of(&["a similar subcommand exists: 'explain'"]);
    assert!(!explain.stderr.contains("peacrab agent"), "{explain:?}");
    Program::new(&Home::new())
        .args(["agent", "--no-such-flag"])
        .run()
        .ends_with(2);
}

#[test]
fn a_newcomer_sees_where_to_begin_and_a_sentence_is_offered_to_the_agent() {
    let home = Home::new();
    let alone = Program::new(&home).run().ends_with(2);
    alone.complains_of(&["peacrab onboard", "peacrab help lists all commands"]);
    assert!(alone.stderr.lines().count() <= 25, "{}", alone.stderr);
    let asked = Program::new(&home)
        .args(["what", "time", "is", "it"])
        .run()
        .ends_with(2);
    asked.complains_of(&["'what'", "peacrab agent 'what time is it'"]);
    assert_eq!(asked.stderr.lines().count(), 3, "{}", asked.stderr);
    let mistyped = Program::new(&home)
        .args(["chanels", "list"])
        .run()
        .ends_with(2);
    mistyped.complains_of(&["similar", "'channels'"]);
    let set = Program::new(&home)
        .args(["config", "set", "agents.defaults.modle", "x"])
        .run()
        .ends_with(78);
    assert_eq!(set.stderr.lines().count(), 1, "{}", set.stderr);
}

#[test]
fn a_commands_own_options_come_before_the_common_ones() {
    let home = Home::new();
    for command in ["agent", "send", "onboard", "status"] {
        let help = Program::new(&home)
            .args([command, "--help"])
            .run()
            .ends_with(0)
            .stdout;
        let place = |text: &str| {
            help.find(text)
                .unwrap_or_else(|| panic!("{text} in {help}"))
        };
        let (own, common) = (place("\nOptions:"), place("\nCommon options:"));
        assert!(own < common, "{help}");
        for option in ["--home", "--config", "--verbose", "--quiet", "--help"] {
            assert!(place(option) > common, "{option} in {help}");
        }
    }
}

#[test]
fn help_fits_eighty_columns() {
    let home = Home::new();
    for command in [
        "agent",
        "gateway",
        "send",
        "channels",
        "onboard",
        "config",
        "status",
        "sessions",
        "skills",
        "doctor",
        "service",
        "tools",
        "context",
        "completions",
    ] {
        let program = Program::new(&home)
            .args([command, "--help"])
            .env("COLUMNS", "80");
        let help = program.run().ends_with(0).stdout;
        let long = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{help}");
    }
}

#[test]
fn what_people_type_first_is_understood() {
    let home = Home::new();
    for (alias, command) in [
        ("chat", "agent"),
        ("start", "gateway"),
        ("run", "gateway"),
        ("setup", "onboard"),
        ("init", "onboard"),
    ] {
        let help = Program::new(&home)
            .args([alias, "--help"])
            .run()
            .ends_with(0)
            .stdout;
        assert!(help.contains(&format!("peacrab {command}")), "{help}");
    }
    let version = Program::new(&home).arg("version").run().ends_with(0).stdout;
    assert_eq!(version, format!("peacrab {}\n", env!("CARGO_PKG_VERSION")));
    let help = Program::new(&home).arg("help").run().ends_with(0).stdout;
    assert!(help.contains("Commands:"), "{help}");
}

/// What `peacrab __complete` offers for the last of these words.
fn complete(home: &Home, words: &[&str]) -> Vec<String> {
    let program = Program::new(home).args(["__complete", "bash", "--"]);
    let output = program.args(words).run().ends_with(0).stdout;
    output.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_commands_settings_providers_sessions_and_channels() {
    let home = Home::new();
    let sessions = home.path().join("sessions");
    fs::create_dir_all(&sessions).unwrap();
    Program::new(&home)
        .args(["agent", "-s", "garden", "-m", "hello"])
        .run();
    assert_eq!(complete(&home, &["ag"]), ["agent", "agents"]);
    assert_eq!(complete(&home, &["agent", "--no-m"]), ["--no-markdown"]);
    assert_eq!(
        complete(&home, &["config", "set", "tools.exec.t"]),
        ["tools.exec.timeout"]
    );
    assert_eq!(
        complete(&home, &["config", "get", "providers.openai.apiK"]),
        ["providers.openai.apiKey"]
    );
    assert_eq!(
        complete(&home, &["onboard", "--provider", "anth"]),
        ["anthropic"]
    );
    assert_eq!(
        complete(&home, &["send", "--channel", ""]),
        [
            "telegram", "discord", "slack", "matrix", "email", "feishu", "local", "whatsapp", "qq",
            "mochat", "dingtalk", "irc"
        ]
    );
    assert_eq!(complete(&home, &["agent", "-s", ""]), ["garden"]);
    // bash has broken the word at the colon, and replaces what is behind it.
    Program::new(&home)
        .args(["agent", "-s", "telegram:7", "-m", "hello"])
        .run();
    assert_eq!(
        complete(&home, &["sessions", "show", "telegram", ":"]),
        ["7"]
    );
    let elsewhere = home.path().join("elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    assert!(complete(&home, &["--home", elsewhere, "agent", "-s", ""]).is_empty());
}

#[test]
fn a_shell_completes_what_is_typed() {
    let home = Home::new();
    for (shell, load) in [
        (
            "bash --norc --noprofile -i",
            "source <(PEACRAB completions bash)",
        ),
        (
            "zsh -f -i",
            "autoload -U compinit; compinit -u; source <(PEACRAB completions zsh)",
        ),
        ("fish --no-config -i", "PEACRAB completions fish | source"),
    ] {
        let name = shell.split(' ').next().unwrap();
        if !std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .any(|folder| folder.join(name).exists())
        {
            // Only bash is on every machine that builds this.
            assert_ne!(name, "bash");
            continue;
        }
        let mut terminal = Terminal::start_shell(&home, &format!("exec {shell}"));
        terminal.type_text(&load.replace("PEACRAB", PEACRAB));
        terminal.type_text("; echo lo''aded\r");
        terminal.wait_for("loaded");
        terminal.type_text(&format!("{PEACRAB} config set tools.exec.ti\t"));
        terminal.wait_for_screen("tools.exec.timeout");
    }
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
