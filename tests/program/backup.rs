//! Everything in one file, made while the bot runs, and brought back on another board.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::disk::{FILL, IN_OWN_MOUNTS, has_mounts_of_its_own};
use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, say};
use crate::harness::program::{Output, PEACRAB, Program};
use crate::harness::telegram::{TOKEN, Telegram};
use crate::harness::terminal::{CTRL_C, RETURN, Terminal};

const PASSPHRASE: &str = "correct horse battery";

fn peacrab(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).args(arguments).run()
}

/// A place for files that are not in any home.
struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// The file with the passphrase.
    fn passphrase(&self) -> String {
        let file = self.file("passphrase");
        fs::write(&file, format!("{PASSPHRASE}\n")).unwrap();
        file
    }

    /// Unpacks a backup as a person would.
    fn unpack(&self, backup: &str) -> PathBuf {
        let to = self.0.path().join("unpacked");
        fs::create_dir(&to).unwrap();
        let tar = Command::new("tar")
            .args(["xzf", backup, "-C"])
            .arg(&to)
            .status();
        assert!(tar.unwrap().success());
        to
    }
}

/// All files below a folder, as one text.
fn all_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &all_of(&path);
        } else {
            text += &String::from_utf8_lossy(&fs::read(&path).unwrap());
        }
    }
    text
}

#[test]
fn a_conversation_goes_on_from_a_backup_that_was_made_while_the_bot_ran() {
    let model = Model::playing([say("The boiler is blue."), say("It is blue, as I said.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    fs::create_dir(home.workspace("memory")).unwrap();
    fs::write(home.workspace("memory/MEMORY.md"), "likes tea\n").unwrap();
    let gateway = Gateway::start(&home);
    ana.says("What colour is the boiler?");
    telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("boiler is blue")
    });
    let shelf = Shelf::new();
    let file = shelf.file("b.tar.gz");
    let saved = peacrab(&home, &["backup", &file]).ends_with(0);
    assert!(saved.stdout.contains("Saved "), "{saved:?}");
    saved.complains_of(&["API keys", "--encrypt"]);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    peacrab(&home, &["backup", &file])
        .ends_with(1)
        .complains_of(&["exists already"]);

    let checked = peacrab(&home, &["restore", "--check", &file]).ends_with(0);
    assert!(
        checked.stdout.contains("The backup is intact."),
        "{checked:?}"
    );
    peacrab(&home, &["restore", "--yes", &file])
        .ends_with(1)
        .complains_of(&["The bot is running", "systemctl stop"]);
    gateway.stop();

    let other = Home::new();
    let restored = peacrab(&other, &["restore", "--yes", &file]).ends_with(0);
    assert!(restored.stdout.contains("Restored "), "{restored:?}");
    let memory = fs::read_to_string(other.workspace("memory/MEMORY.md"));
    assert_eq!(memory.unwrap(), "likes tea\n");
    let gateway = Gateway::start(&other);
    ana.says("Which colour again?");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("as I said"));
    gateway.stop();
    let requests = model.requests();
    assert_eq!(
        requests.len(),
        2,
        "the first message was not answered again"
    );
    assert!(requests[1].body.to_string().contains("The boiler is blue."));
}

#[test]
fn a_backup_without_secrets_has_none_and_says_what_to_set_again() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set(
        "/providers/fake/extraHeaders",
        json!({"X-Token": "canary-header-1"}),
    );
    for (path, text) in [
        ("state/signin/github-copilot.json", "canary-login-2"),
        ("state/mcp/far.login.json", "canary-login-3"),
        ("keys/other", "canary-file-4"),
    ] {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    home.set("/providers/openai", json!({"apiKey": "file:keys/other"}));
    let shelf = Shelf::new();
    let file = shelf.file("b.tar.gz");
    peacrab(&home, &["backup", "--without-secrets", &file])
        .ends_with(0)
        .complains_of(&["channels.telegram.token", "the file keys/other"]);
    let unpacked = shelf.unpack(&file);
    let all = all_of(&unpacked);
    for secret in [KEY, TOKEN, "canary"] {
        assert!(!all.contains(secret), "{secret} is in {all}");
    }
    assert!(
        all.contains("fake-model") && all.contains("file:keys/other"),
        "{all}"
    );

    let other = Home::new();
    let restored = peacrab(&other, &["restore", "--yes", &file]).ends_with(0);
    for command in [
        "config set channels.telegram.token",
        "config set providers.fake.apiKey",
        "config set providers.fake.extraHeaders",
        " login github-copilot",
        " mcp login far",
        "the file keys/other",
    ] {
        assert!(restored.stdout.contains(command), "{command}: {restored:?}");
    }
    peacrab(&other, &["config", "get", "agents.defaults.model"]).ends_with(0);
}

#[test]
fn a_passphrase_is_asked_for_twice_and_without_it_nothing_is_read() {
    let home = Home::new();
    fs::write(home.workspace("notes"), "canary-note ".repeat(100)).unwrap();
    let shelf = Shelf::new();
    let file = shelf.file("b.backup");
    let mut terminal = Terminal::start(&home, &["backup", "--encrypt", &file]);
    terminal.wait_for("(hidden): ");
    terminal.type_text(&format!("short{RETURN}"));
    terminal.wait_for("at least 8");
    terminal.type_text(&format!("{PASSPHRASE}{RETURN}"));
    terminal.wait_for("again: ");
    terminal.type_text(&format!("another one{RETURN}"));
    terminal.wait_for("differ");
    terminal.wait_for("(hidden): ");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    let mut terminal = Terminal::start(&home, &["backup", "-e", &file]);
    terminal.wait_for("(hidden): ");
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130));
    assert!(!Path::new(&file).exists());

    let mut terminal = Terminal::start(&home, &["backup", "-e", &file]);
    for question in ["(hidden): ", "again: "] {
        terminal.wait_for(question);
        terminal.type_text(&format!("{PASSPHRASE}{RETURN}"));
    }
    terminal.wait_for("Saved");
    assert_eq!(terminal.finish(), Some(0));
    assert!(!terminal.shown().contains(PASSPHRASE));
    let bytes = fs::read(&file).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("canary"));

    fs::write(shelf.file("wrong"), "wrong horse battery").unwrap();
    peacrab(
        &home,
        &[
            "restore",
            "--check",
            &file,
            "--passphrase-file",
            &shelf.file("wrong"),
        ],
    )
    .ends_with(1)
    .complains_of(&["the passphrase is wrong"]);
    peacrab(
        &home,
        &[
            "restore",
            "--check",
            &file,
            "--passphrase-file",
            &shelf.passphrase(),
        ],
    )
    .ends_with(0);

    fs::write(home.workspace("notes"), "changed").unwrap();
    let mut terminal = Terminal::start(&home, &["restore", &file]);
    terminal.wait_for("(hidden): ");
    terminal.type_text(&format!("{PASSPHRASE}{RETURN}"));
    terminal.wait_for("1 changed");
    terminal.wait_for("Put this in the place of what is in");
    terminal.wait_for("[y/N]");
    terminal.type_text(&format!("n{RETURN}"));
    terminal.wait_for("Nothing was changed.");
    assert_eq!(terminal.finish(), Some(0));
    assert_eq!(fs::read(home.workspace("notes")).unwrap(), b"changed");
    let mut terminal = Terminal::start(&home, &["restore", &file]);
    terminal.wait_for("(hidden): ");
    terminal.type_text(&format!("{PASSPHRASE}{RETURN}"));
    terminal.wait_for("[y/N]");
    terminal.type_text(&format!("y{RETURN}"));
    terminal.wait_for("Restored");
    assert_eq!(terminal.finish(), Some(0));
    assert!(
        fs::read_to_string(home.workspace("notes"))
            .unwrap()
            .contains("canary")
    );
}

#[test]
fn a_home_that_is_not_there_yet_is_asked_about_as_a_new_one() {
    let (home, shelf) = (Home::new(), Shelf::new());
    let file = shelf.file("b.tar.gz");
    peacrab(&home, &["backup", &file]).ends_with(0);
    let new = shelf.file("new");
    let arguments: [&str; 4] = ["--home", &new, "restore", &file];
    let mut terminal = Terminal::start(&home, &arguments);
    terminal.wait_for("Restore this into the new home folder");
    terminal.wait_for("[y/N]");
    terminal.type_text(RETURN);
    terminal.wait_for("Nothing was changed.");
    assert_eq!(terminal.finish(), Some(0));
    let refused = Program::new(&home).args(arguments).run().ends_with(2);
    refused.complains_of(&["Add --yes"]);
    assert!(
        !refused.stderr.contains("has no configuration"),
        "{refused:?}"
    );
}

#[test]
fn ctrl_c_at_the_question_of_a_restore_changes_nothing() {
    let (home, shelf) = (Home::new(), Shelf::new());
    let file = shelf.file("b.tar.gz");
    peacrab(&home, &["backup", &file]).ends_with(0);
    fs::write(home.workspace("notes"), "changed").unwrap();
    for kind in ["xterm", "dumb"] {
        for is_key in [true, false] {
            let mut terminal =
                Terminal::start_on(&home, &["restore", &file], 80, &[("TERM", kind)]);
            terminal.wait_for("[y/N]");
            match is_key {
                true => terminal.type_text(CTRL_C),
                false => terminal.send(Signal::INT),
            }
            assert_eq!(terminal.finish(), Some(130), "{kind}");
        }
    }
    assert_eq!(fs::read(home.workspace("notes")).unwrap(), b"changed");
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_home_or_is_completed() {
    let shelf = Shelf::new();
    let file = shelf.file("b.tar.gz");
    let source = Home::new();
    source.write_config(r#"{"agents": {"defaults": {"model": "from-backup"}}}"#);
    fs::write(source.workspace("notes"), "from backup").unwrap();
    peacrab(&source, &["backup", &file]).ends_with(0);
    for step in ["extracted", "ready", "aside", "moved", "new"] {
        let home = Home::new();
        home.write_config(r#"{"agents": {"defaults": {"model": "from-before"}}}"#);
        fs::write(home.workspace("notes"), "from before").unwrap();
        let killed = Program::new(&home)
            .args(["restore", "--yes", &file])
            .env("PEACRAB_TEST_CUT_AT", step)
            .run();
        assert_eq!(killed.code, None, "{step}: {killed:?}");
        let expected = if step == "extracted" {
            "from-before"
        } else {
            "from-backup"
        };
        let model = peacrab(&home, &["config", "get", "agents.defaults.model"]).ends_with(0);
        assert!(model.stdout.contains(expected), "{step}: {model:?}");
        // There are keys in it.
        assert!(!home.path().join(".restore").exists(), "{step}");
        let notes = fs::read_to_string(home.workspace("notes")).unwrap();
        assert_eq!(notes.replace(' ', "-"), expected, "{step}");
        let is_aside = home.path().join("before-restore/workspace/notes").exists();
        assert_eq!(is_aside, step != "extracted", "{step}");
        // Whatever was left, the next one works.
        peacrab(&home, &["restore", "--yes", &file]).ends_with(0);
        let notes = fs::read_to_string(home.workspace("notes")).unwrap();
        assert_eq!(notes, "from backup", "{step}");
        assert!(!home.path().join(".restore").exists(), "{step}");
    }
}

#[test]
fn what_is_no_backup_or_is_damaged_changes_nothing() {
    let home = Home::new();
    fs::write(home.workspace("notes"), "mine").unwrap();
    let shelf = Shelf::new();
    let whole = shelf.file("whole.tar.gz");
    fs::write(home.workspace("large"), vec![7; 500_000]).unwrap();
    peacrab(&home, &["backup", &whole]).ends_with(0);
    let bytes = fs::read(&whole).unwrap();
    fs::write(shelf.file("cut"), &bytes[..bytes.len() - 9]).unwrap();
    fs::write(shelf.file("text"), "not a backup").unwrap();
    fs::write(shelf.file("empty"), "").unwrap();
    let evil = shelf.0.path().join("evil");
    fs::create_dir(&evil).unwrap();
    fs::write(evil.join("config.json"), "{}").unwrap();
    let tar = Command::new("tar")
        .arg("czf")
        .arg(shelf.file("foreign"))
        .args(["-C"])
        .arg(&evil)
        .arg(".")
        .status();
    assert!(tar.unwrap().success());
    for (name, words) in [
        ("cut", "damaged or was cut off"),
        ("text", "not a backup"),
        ("empty", "damaged or was cut off"),
        ("foreign", "not a backup"),
        ("missing", "no such file"),
    ] {
        for arguments in [["restore", "--check"], ["restore", "--yes"]] {
            let output = peacrab(&home, &[&arguments[..], &[&shelf.file(name)]].concat());
            output.ends_with(1).complains_of(&[words]);
        }
    }
    assert_eq!(fs::read(home.workspace("notes")).unwrap(), b"mine");
    assert!(!home.path().join("before-restore").exists());
}

#[test]
fn standard_input_and_output_are_for_what_the_account_cannot_open() {
    let home = Home::new();
    fs::write(home.workspace("notes"), "kept").unwrap();
    let shelf = Shelf::new();
    let script = format!(
        r#"
        "$P" backup - >"{file}"
        echo other >"$HOME/workspace/notes"
        "$P" restore --yes - <"{file}"
        cat "$HOME/workspace/notes"
        cat "{file}" | "$P" restore --yes - && exit 3
        exit 0
        "#,
        file = shelf.file("b.tar.gz")
    );
    let output = Program::of("sh", &home)
        .args(["-euc", &script])
        .env("P", PEACRAB)
        .run()
        .ends_with(0);
    assert!(output.stdout.ends_with("kept"), "{output:?}");
    output.complains_of(&["cannot come through a pipe"]);
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    if !has_mounts_of_its_own() {
        return;
    }
    let home = Home::new();
    fs::write(home.workspace("notes"), "mine").unwrap();
    let mut state = 1_u64;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(600_000).collect();
    fs::write(home.workspace("noise"), noise).unwrap();
    fs::create_dir(home.path().join("small")).unwrap();
    let script = format!(
        r#"{FILL}
        "$P" backup "$HOME/whole"
        mount -t tmpfs -o size=200k none "$HOME/small"
        if "$P" backup "$HOME/small/b"; then exit 3; fi
        ls -A "$HOME/small"
        PEACRAB_HOME="$HOME/small/home" "$P" restore --yes "$HOME/whole" && exit 4
        ls -A "$HOME/small/home"
        "#
    );
    let output = Program::of("unshare", &home)
        .args(IN_OWN_MOUNTS)
        .args(["sh", "-eu", "-c", &script])
        .env("P", PEACRAB)
        .run();
    let output = output.ends_with(0);
    assert!(
        output.stderr.contains("no space left on device"),
        "{output:?}"
    );
    assert!(output.stderr.contains("Restoring needs "), "{output:?}");
    assert!(
        !output.stdout.contains(".tmp") && !output.stdout.contains(".restore"),
        "{output:?}"
    );
    let mode = fs::metadata(home.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Files in a folder, by their names.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn automatic_backups_are_kept_sent_to_the_owner_and_given_to_a_command() {
    let model = Model::playing([say("hello")]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let shelf = Shelf::new();
    let folder = shelf.0.path().join("stick");
    fs::create_dir(&folder).unwrap();
    // Two of them are there already, and one is too many then.
    for name in [
        "peacrab-2026-01-01T000000Z.backup",
        "peacrab-2026-01-02T000000Z.backup",
    ] {
        fs::write(folder.join(name), "old").unwrap();
    }
    let copied = shelf.file("copied");
    // Ana writes first, so that there is a chat.
    let gateway = Gateway::start(&home);
    ana.says("hi");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("hello"));
    gateway.stop();
    home.set(
        "/backup",
        json!({
            "every": 24, "keep": 2, "folder": folder, "passphrase": PASSPHRASE, "send": true,
            "run": format!("cp \"$1\" '{copied}' && echo done"),
        }),
    );
    let gateway = Gateway::start(&home);
    let sent = telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("peacrab restore peacrab-20")
    });
    assert!(sent.text.contains(".backup"), "{sent:?}");
    gateway.wait_for_log("backup of ");
    gateway.stop();
    let names = names_in(&folder);
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(names[0], "peacrab-2026-01-02T000000Z.backup");
    let made = folder.join(&names[1]);
    assert_eq!(fs::read(&made).unwrap(), fs::read(&copied).unwrap());
    peacrab(
        &home,
        &[
            "restore",
            "--check",
            &copied,
            "--passphrase-file",
            &shelf.passphrase(),
        ],
    )
    .ends_with(0);
    // The next one is due tomorrow.
    let gateway = Gateway::start(&home);
    telegram.wait_for_poll();
    gateway.stop();
    assert_eq!(names_in(&folder), names);
    // One that is made by hand is not sent, and says so.
    let by_hand = peacrab(&home, &["backup"]).ends_with(0);
    assert!(
        by_hand.stderr.contains("peacrab send --file"),
        "{by_hand:?}"
    );
}

#[test]
fn an_automatic_backup_that_fails_is_told_and_one_with_keys_is_never_sent() {
    let model = Model::playing([say("hello")]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let shelf = Shelf::new();
    let gateway = Gateway::start(&home);
    ana.says("hi");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("hello"));
    home.set(
        "/backup",
        json!({"every": 24, "folder": shelf.file("no-stick")}),
    );
    peacrab(&home, &["reload"]).ends_with(0);
    telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("backup failed") && message.text.contains("no-stick")
    });
    home.set("/backup", json!({"every": 24, "send": true}));
    peacrab(&home, &["reload"]).ends_with(0);
    gateway.wait_for_log("backup of ");
    gateway.stop();
    assert_eq!(names_in(&home.path().join("backups")).len(), 1);
    let texts = telegram
        .messages(ana.chat())
        .into_iter()
        .map(|message| message.text);
    let texts: Vec<String> = texts.collect();
    assert!(
        !texts.iter().any(|text| text.contains("peacrab restore")),
        "{texts:?}"
    );
    let checked = peacrab(&home, &["config", "check"]);
    checked.complains_of(&["backup.send needs backup.passphrase"]);
    // By hand, as the automatic ones.
    let saved = peacrab(&home, &["backup"]).ends_with(0);
    assert!(saved.stdout.contains("/backups/peacrab-20"), "{saved:?}");
}

#[test]
fn a_passphrase_that_cannot_be_read_ends_backups_and_nothing_else() {
    let model = Model::playing([say("hello")]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    let set = ["config", "set", "backup.passphrase", "file:passphrase"];
    peacrab(&home, &set)
        .ends_with(78)
        .complains_of(&["Create the file first"]);
    home.set(
        "/backup",
        json!({"every": 24, "passphrase": "file:passphrase"}),
    );
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("Automatic backups are off");
    telegram.wait_for_poll();
    peacrab(&home, &["backup"])
        .ends_with(78)
        .complains_of(&["backup.passphrase refers to a file"]);
    let doctor = peacrab(&home, &["doctor"]);
    // However it was wrapped.
    let words: Vec<&str> = doctor.stdout.split_whitespace().collect();
    assert!(
        words.join(" ").contains("Automatic backups are off"),
        "{doctor:?}"
    );
    gateway.stop();
    assert!(!home.path().join("backups").exists());
}

#[test]
fn commands_do_not_see_the_folder_of_backups() {
    let shelf = Shelf::new();
    let folder = shelf.0.path().join("stick");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("canary-name"), "canary-content").unwrap();
    let line = format!("cat '{}'/*; ls '{}'", folder.display(), folder.display());
    let model = Model::playing([
        crate::harness::model::call("exec", json!({"command": line})),
        crate::harness::model::call("read_file", json!({"path": folder.join("canary-name")})),
        say("nothing"),
    ]);
    let mut home = Home::with_model(&model);
    home.set("/backup", json!({"folder": folder}));
    home.set("/tools", json!({"readOnlyPaths": [shelf.0.path()]}));
    peacrab(&home, &["agent", "-m", "look"]).ends_with(0);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        let result = request.last_message();
        assert!(!result.contains("canary-content"), "{result}");
    }
}

#[test]
fn a_folder_gets_a_file_with_the_time_in_its_name() {
    let (home, shelf) = (Home::new(), Shelf::new());
    home.write_config("{}");
    let folder = shelf.file("usb");
    fs::create_dir(&folder).unwrap();
    let output = peacrab(&home, &["backup", &folder]).ends_with(0);
    let made: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let [made] = made.as_slice() else {
        panic!("{made:?}")
    };
    let name = made.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("peacrab-20") && name.ends_with("Z.tar.gz"),
        "{name}"
    );
    assert!(output.stdout.contains(made.to_str().unwrap()), "{output:?}");
}
