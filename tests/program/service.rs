//! The systemd service, with a `systemctl` that only writes down what it is asked.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::executable;
use crate::harness::home::Home;
use crate::harness::program::{PEACRAB, Program};

/// A `systemctl` in a folder of its own: it notes its arguments in `asked`, says what `answer` says,
/// and ends with its status.
struct Systemctl(tempfile::TempDir);

impl Systemctl {
    fn that(answer: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("systemctl");
        let asked = folder.path().join("asked");
        let script = format!("echo \"$*\" >>'{}'\n{answer}\n", asked.display());
        executable::script(&file, &script);
        Self(folder)
    }

    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.0.path().join("asked")).unwrap_or_default();
        asked.lines().map(str::to_owned).collect()
    }

    fn peacrab(&self, home: &Home, arguments: &[&str]) -> Program {
        let path = format!("{}:/usr/bin:/bin", self.0.path().display());
        let program = Program::new(home).arg("service").args(arguments);
        program.env("PATH", &path).env("USER", "nobody-here")
    }
}

/// With it the gateway starts.
const REACHABLE: &str = r#"{"channels": {"telegram": {"enabled": true, "token": "1001:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"}}}"#;

fn unit(home: &Home) -> PathBuf {
    home.path().join(".config/systemd/user/peacrab.service")
}

#[test]
fn a_service_is_installed_twice_and_removed_and_the_home_stays() {
    let home = Home::new();
    home.write_config(REACHABLE);
    let systemctl = Systemctl::that("exit 0");
    let install = systemctl.peacrab(&home, &["install", "--user"]).run();
    let stdout = install.ends_with(0).stdout;
    let text = fs::read_to_string(unit(&home)).unwrap();
    // The home of this story is not the one that the program would find by itself.
    let line = format!(
        "ExecStart={PEACRAB} --home {} gateway\n",
        home.path().display()
    );
    assert!(text.contains(&line), "{text}");
    assert!(stdout.contains("enable-linger nobody-here"), "{stdout}");
    let told = [
        "daemon-reload",
        "enable peacrab.service",
        "enable peacrab-update.path",
        "restart peacrab-update.path",
        "restart peacrab.service",
    ];
    let told = told.map(|command| format!("--user {command}"));
    assert_eq!(systemctl.asked(), told);

    // What installs an update that was asked for in a chat.
    let update = |kind: &str| unit(&home).with_file_name(format!("peacrab-update.{kind}"));
    let path = fs::read_to_string(update("path")).unwrap();
    let watched = format!("\nPathExists={}/update/request\n", home.path().display());
    assert!(
        path.contains(&watched) && path.contains("=default.target"),
        "{path}"
    );
    let service = fs::read_to_string(update("service")).unwrap();
    let line = format!(
        "\nExecStart={PEACRAB} --home {} update --staged\n",
        home.path().display()
    );
    assert!(service.contains(&line), "{service}");
    assert!(
        !service.contains("ProtectSystem="),
        "a per-user service cannot have it"
    );

    let again = systemctl
        .peacrab(&home, &["install", "--user", "--profile", "terminal"])
        .run();
    let stdout = again.ends_with(0).stdout;
    assert!(
        stdout.contains("peacrab.service.old") && stdout.contains("sudo"),
        "{stdout}"
    );
    let old = unit(&home).with_extension("service.old");
    assert_eq!(fs::read_to_string(old).unwrap(), text);

    let removed = systemctl.peacrab(&home, &["uninstall", "--user"]).run();
    assert!(
        removed
            .ends_with(0)
            .stdout
            .contains("kept    the home folder")
    );
    assert!(!update("path").exists() && !update("service").exists());
    assert!(!unit(&home).exists() && home.path().join("config.json").exists());
    assert!(
        systemctl
            .asked()
            .contains(&"--user disable --now peacrab.service".to_owned())
    );
}

#[test]
fn what_would_not_start_is_not_installed() {
    for (config, words) in [
        ("{}", "No channel is enabled"),
        ("{\"agents\": ", "config.json"),
        (
            r#"{"channels": {"telegram": {"enabled": true}}}"#,
            "channels.telegram.token",
        ),
    ] {
        let home = Home::new();
        home.write_config(config);
        let systemctl = Systemctl::that("exit 0");
        systemctl
            .peacrab(&home, &["install", "--user"])
            .run()
            .ends_with(78)
            .complains_of(&["would not start", words]);
        assert!(systemctl.asked().is_empty() && !unit(&home).exists());
    }
}

#[test]
fn a_key_of_the_shell_is_not_the_services() {
    let home = Home::new();
    let settings = REACHABLE.strip_suffix('}').unwrap();
    home.write_config(&format!(
        r#"{settings}, "agents": {{"defaults": {{"model": "openai/gpt-5"}}}}}}"#
    ));
    let systemctl = Systemctl::that("exit 0");
    systemctl
        .peacrab(&home, &["install", "--user"])
        .env("OPENAI_API_KEY", "sk-1234567890abcdef")
        .run()
        .ends_with(0)
        .complains_of(&["no API key for openai"]);
}

#[test]
fn a_home_is_deleted_with_its_service_only_when_that_is_wanted_and_it_is_one() {
    let home = Home::new();
    let own = home.path().join("own");
    fs::create_dir(&own).unwrap();
    let config = own.join("config.json");
    fs::write(&config, REACHABLE).unwrap();
    let systemctl = Systemctl::that("exit 0");
    let named = ["--home", own.to_str().unwrap()];
    let install = [&named[..], &["install", "--user"]].concat();
    systemctl.peacrab(&home, &install).run().ends_with(0);
    let uninstall = |more: &[&str]| {
        let arguments = [&["uninstall", "--user"], more].concat();
        systemctl.peacrab(&home, &arguments)
    };
    uninstall(&["--yes"]).run().ends_with(2);
    uninstall(&["--purge"])
        .run()
        .ends_with(2)
        .complains_of(&["Add --yes"]);
    // Below it is all that the account has.
    let account = own.join("account");
    fs::create_dir(&account).unwrap();
    let settings = home.path().join(".config");
    uninstall(&["--purge", "--yes"])
        .env("XDG_CONFIG_HOME", settings.to_str().unwrap())
        .env("HOME", account.to_str().unwrap())
        .run()
        .ends_with(2)
        .complains_of(&["does not look like a home folder"]);
    fs::remove_dir(account).unwrap();
    // An account lives in it.
    fs::write(own.join(".profile"), "").unwrap();
    uninstall(&["--purge", "--yes"])
        .run()
        .ends_with(2)
        .complains_of(&["does not look like a home folder"]);
    fs::remove_file(own.join(".profile")).unwrap();
    assert!(config.exists() && unit(&home).exists());
    let removed = uninstall(&["--purge", "--yes"]).run().ends_with(0);
    assert!(
        removed
            .stdout
            .contains(&format!("removed {}", own.display()))
    );
    assert!(!own.exists() && !unit(&home).exists());
}

#[test]
fn a_masked_unit_is_replaced() {
    let home = Home::new();
    fs::create_dir_all(unit(&home).parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/null", unit(&home)).unwrap();
    let systemctl = Systemctl::that("exit 0");
    systemctl
        .peacrab(&home, &["install", "--user"])
        .run()
        .ends_with(0);
    let text = fs::read_to_string(unit(&home)).unwrap();
    assert!(text.contains("ExecStart="), "{text}");
    assert!(!unit(&home).with_extension("service.old").exists());
}

#[test]
fn what_systemd_does_not_do_is_there_to_be_typed() {
    let home = Home::new();
    let systemctl = Systemctl::that("echo 'no bus' >&2; exit 1");
    let output = systemctl
        .peacrab(&home, &["install", "--user"])
        .run()
        .ends_with(1);
    for words in [
        "no bus",
        "  systemctl --user daemon-reload\n  systemctl --user enable peacrab.service\n",
        "systemd refused (no bus). Run these yourself:",
        "there is no configuration",
    ] {
        assert!(
            output.stdout.contains(words),
            "{words:?} is missing in {output:#?}"
        );
    }
    assert!(unit(&home).exists());
}

#[test]
fn the_status_is_what_systemd_says() {
    let home = Home::new();
    let systemctl =
        Systemctl::that("echo ActiveState=failed; echo SubState=failed; echo Result=watchdog");
    let status = || {
        systemctl
            .peacrab(&home, &["status", "--user"])
            .run()
            .ends_with(1)
            .stdout
    };
    assert!(status().contains("not installed; run `peacrab service install`"));
    fs::create_dir_all(unit(&home).parent().unwrap()).unwrap();
    fs::write(unit(&home), "").unwrap();
    let stdout = status();
    assert!(
        stdout.contains("state      failed (failed)\nresult     watchdog\n"),
        "{stdout}"
    );
    let systemctl = Systemctl::that("echo ActiveState=active; echo SubState=running");
    systemctl
        .peacrab(&home, &["status", "--user"])
        .run()
        .ends_with(0);
}

#[test]
fn a_unit_is_printed_and_nothing_is_touched() {
    let home = Home::new();
    let systemctl = Systemctl::that("exit 1");
    let print = |arguments: &[&str]| {
        let arguments = [&["print"], arguments].concat();
        let program = systemctl.peacrab(&home, &arguments);
        program.env("PEACRAB_HOME", "").run()
    };
    let hardened = print(&["--system"]).ends_with(0).stdout;
    assert!(hardened.contains("\nUser=peacrab\n") && hardened.contains("ProtectSystem=strict"));
    let terminal = print(&["--user", "--profile", "terminal"])
        .ends_with(0)
        .stdout;
    assert!(!terminal.contains("NoNewPrivileges=yes"));
    print(&["--system", "--home", "/srv"])
        .ends_with(2)
        .complains_of(&["/var/lib/peacrab", "--user"]);
    print(&["--user", "--system"]).ends_with(2);
    let profile = print(&["--apparmor"]).ends_with(0).stdout;
    assert!(profile.contains(&format!("profile peacrab \"{PEACRAB}\" flags=(unconfined)")));
    systemctl
        .peacrab(&home, &["print", "--system"])
        .env("PEACRAB_HOME", "/srv")
        .run()
        .ends_with(2)
        .complains_of(&["/var/lib/peacrab", "/srv"]);
    assert!(systemctl.asked().is_empty() && !unit(&home).exists());
}

#[test]
fn doctor_says_what_the_service_lacks() {
    let home = Home::new();
    home.write_config(REACHABLE);
    let systemctl = Systemctl::that(
        "echo ActiveState=active; echo Version=252.38-1; echo RuntimeWatchdogUSec=1min",
    );
    let doctor = || {
        let path = format!("{}:/usr/bin:/bin", systemctl.0.path().display());
        // What this machine offers decides about the status.
        let program = Program::new(&home).args(["doctor", "service", "--json"]);
        let output = program.env("PATH", &path).env("USER", "nobody-here").run();
        let found: Value = serde_json::from_str(&output.stdout).unwrap();
        move |name: &str| {
            let rows = found["rows"].as_array().unwrap();
            let row = rows.iter().find(|row| row["name"] == name);
            let row = row.unwrap_or_else(|| panic!("no row {name} in {found:#}"));
            (
                row["state"].as_str().unwrap().to_owned(),
                row["text"].as_str().unwrap().to_owned(),
            )
        }
    };
    let (state, text) = doctor()("service");
    assert!(
        state == "warning" && text.contains("not installed"),
        "{text}"
    );

    systemctl
        .peacrab(&home, &["install", "--user"])
        .run()
        .ends_with(0);
    let row = doctor();
    assert!(row("service").1.contains("enable-linger nobody-here"));
    assert_eq!(row("unit").0, "ok", "{}", row("unit").1);
    assert_eq!(row("program"), ("ok".to_owned(), PEACRAB.to_owned()));
    assert!(row("systemd").1.starts_with("252.38-1: before 254"));
    for name in [
        "board",
        "clock",
        "log",
        "ram",
        "files",
        "watchdog",
        "memory",
        "namespace",
        "landlock",
        "seccomp",
    ] {
        assert!(!row(name).1.is_empty(), "{name}");
    }

    let text = fs::read_to_string(unit(&home)).unwrap();
    fs::write(unit(&home), text.replace("WatchdogSec=60", "WatchdogSec=6")).unwrap();
    let (state, text) = doctor()("unit");
    assert_eq!(state, "warning");
    assert!(
        text.contains("`peacrab service install --user` writes it again")
            && text.contains("`systemctl --user edit peacrab`"),
        "{text}"
    );
}
