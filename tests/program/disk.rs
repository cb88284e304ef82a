//! Disks that are full, worn out or hold too much.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use serde_json::json;

use crate::harness::feature;
use crate::harness::home::Home;
use crate::harness::model::{INPUT_TOKENS, Model, call, say};
use crate::harness::program::{Output, PEACRAB, Program};

/// Whether this system lets a test have mounts of its own.
pub fn has_mounts_of_its_own() -> bool {
    let tried = Command::new("unshare")
        .args(IN_OWN_MOUNTS)
        .args(["mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    let found = match tried {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    };
    feature::has("mounts", found)
}

pub const IN_OWN_MOUNTS: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// Shell functions that fill the disk of a folder and make room on it again. While it is full it also takes
/// what is given back meanwhile, as when a message that was stored has been sent. It ends with the script.
pub const FILL: &str = r#"
    fill() {
        : >"$1/full"
        cat /dev/zero >"$1/fill" 2>/dev/null || true
        while [ -e "$1/full" ] && kill -0 $$ 2>/dev/null; do
            cat /dev/zero >>"$1/fill" 2>/dev/null || sleep 0.01
        done &
        filler=$!
    }
    free_again() {
        rm "$1/full"
        wait "$filler"
        rm "$1/fill"
    }
"#;

/// Runs a shell script in a mount namespace of its own; `$P` is the program.
fn in_own_mounts(home: &Home, script: &str) -> Output {
    let unshare = Program::of("unshare", home).args(IN_OWN_MOUNTS);
    unshare
        .args(["sh", "-eu", "-c", script])
        .env("P", PEACRAB)
        .run()
}

#[test]
fn a_full_disk_is_said_and_costs_nothing_that_was_there() {
    if !has_mounts_of_its_own() {
        return;
    }
    let model = Model::playing([say("before"), say("after")]);
    let home = Home::with_model(&model);
    let output = in_own_mounts(
        &home,
        r#"
        mkdir "$HOME.small"
        mount -t tmpfs -o size=256k none "$HOME.small"
        cp -a "$HOME/." "$HOME.small"
        export PEACRAB_HOME="$HOME.small"
        cd "$PEACRAB_HOME"
        "$P" agent -s default -m first
        cp sessions/cli_default.jsonl "$HOME/before"
        cat /dev/zero >fill 2>/dev/null || true
        # Longer than what is left of the journal's last page.
        long=$(head -c 9000 /dev/zero | tr '\0' x)
        "$P" agent -s default -m "$long" && echo "ended with 0" || echo "ended with $?"
        cmp sessions/cli_default.jsonl "$HOME/before"
        rm fill
        "$P" agent -s default -m third
        "$P" sessions show default
        "#,
    );
    let _ = fs::remove_dir(format!("{}.small", home.path().display()));
    let output = output.ends_with(0);
    output.complains_of(&["no space left"]);
    assert!(output.stdout.contains("ended with 1"), "{output:#?}");
    // A message that could not be kept is not answered, and what was kept is still there.
    let last = model.requests()[1].body["messages"].to_string();
    assert!(!last.contains("xxx"), "{last}");
    assert!(
        last.contains("first") && last.contains("before") && last.contains("third"),
        "{last}"
    );
}

/// What a power cut leaves on some file systems: blocks that were never filled.
#[test]
fn blocks_of_nothing_in_a_journal_cost_only_what_stood_there() {
    let model = Model::answering(|_| say("noted"));
    let home = Home::with_model(&model);
    let ask = |text: &str| {
        Program::new(&home)
            .args(["agent", "-s", "default", "-m", text])
            .run()
    };
    let spoil = |bytes: &[u8]| {
        let journal = home.path().join("sessions/cli_default.jsonl");
        let mut file = File::options().append(true).open(journal).unwrap();
        file.write_all(bytes).unwrap();
    };
    ask("first").ends_with(0);
    spoil(&[0; 10_000]);
    ask("second")
        .ends_with(0)
        .complains_of(&["10000 bytes", "torn"]);
    spoil(&[[0; 5000].as_slice(), b"\n"].concat());
    spoil(b"{\"role\":\"user\",\"content\":\"third\"}\n");
    ask("fourth").ends_with(0).complains_of(&["1 unreadable"]);
    let last = model.requests()[2].body["messages"].to_string();
    let said = ["first", "second", "third", "fourth"];
    assert!(said.iter().all(|text| last.contains(text)), "{last}");
}

/// The workspace is a disk of its own here, so that the journal can tell what happened.
#[test]
fn a_full_workspace_keeps_every_file_as_it_was() {
    if !has_mounts_of_its_own() {
        return;
    }
    let long = "x".repeat(9000);
    let model = Model::playing([
        call("write_file", json!({"path": "old.txt", "content": long}))
            .and_call("append_file", json!({"path": "old.txt", "content": long}))
            .and_call(
                "edit_file",
                json!({"path": "old.txt", "old_text": "kept", "new_text": long}),
            )
            .and_call("append_file", json!({"path": "new.txt", "content": long}))
            .and_call("write_file", json!({"path": "new.txt", "content": long}))
            .and_call("list_dir", json!({"path": "many"})),
        say("full"),
    ]);
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/maxToolResultChars", json!(500));
    let output = in_own_mounts(
        &home,
        r#"
        mount -t tmpfs -o size=128k none "$HOME/workspace"
        cd "$HOME/workspace"
        echo kept >old.txt
        mkdir many
        for number in $(seq 50); do : >"many/a-file-with-a-long-name-$number"; done
        cat /dev/zero >fill 2>/dev/null || true
        "$P" agent -s default -m "fill it"
        ls -A
        ls -A .results
        cat old.txt
        "#,
    );
    let output = output.ends_with(0);
    assert_eq!(output.stdout, "full\n.results\nfill\nmany\nold.txt\nkept\n");
    let results: Vec<String> = model.requests()[1]
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert_eq!(results.len(), 6);
    for result in &results[..5] {
        assert!(result.contains("no space left on device"), "{result}");
    }
    let listing = &results[5];
    let is_told = listing.contains("the whole could not be kept: cannot write .results");
    assert!(is_told && listing.contains("long-name-9 "), "{listing}");
}

#[test]
fn a_full_home_keeps_the_configuration_and_the_counts() {
    if !has_mounts_of_its_own() {
        return;
    }
    let model = Model::playing([say("one"), say("two")]);
    let home = Home::with_model(&model);
    let output = in_own_mounts(
        &home,
        r#"
        "$P" agent -s default -m first
        mkdir "$HOME.kept" "$HOME.small"
        cp "$HOME/state/usage.json" "$HOME.kept"
        mount -t tmpfs -o size=4k,nr_inodes=3 none "$HOME/state"
        cp "$HOME.kept/usage.json" "$HOME/state"
        "$P" agent -s default -m second
        cmp "$HOME.kept/usage.json" "$HOME/state/usage.json"
        ls -A "$HOME/state"

        mount -t tmpfs -o size=64k none "$HOME.small"
        cp "$HOME/config.json" "$HOME.small"
        cat /dev/zero >"$HOME.small/fill" 2>/dev/null || true
        "$P" --home "$HOME.small" config set log.level debug && exit 1
        cmp "$HOME/config.json" "$HOME.small/config.json"
        ls -A "$HOME.small"
        "#,
    );
    for name in ["kept", "small"] {
        let _ = fs::remove_dir_all(format!("{}.{name}", home.path().display()));
    }
    let output = output.ends_with(0);
    assert_eq!(output.stdout, "one\ntwo\nusage.json\nconfig.json\nfill\n");
    output.complains_of(&[
        "failed to save the token usage, keeping it in memory: cannot write",
        "config.json: no space left on device",
    ]);
}

/// Whether there is strace.
pub fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output();
    feature::has("strace", found.map(drop))
}

/// What is synced, in order. It is seen from outside only, by strace.
fn synced(home: &Home) -> Vec<String> {
    let trace = home.path().join("trace");
    Program::of("strace", home)
        .args(["-f", "-y", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .args([PEACRAB, "agent", "-s", "default", "-m", "hi"])
        .run()
        .ends_with(0);
    let text = fs::read_to_string(trace).unwrap();
    let file_of = |line: &str| Some(line.split_once('<')?.1.split_once('>')?.0.to_owned());
    let top = format!("{}/", home.path().display());
    let names = text.lines().filter_map(file_of);
    names.map(|name| name.replace(&top, "")).collect()
}

#[test]
fn each_step_is_forced_to_the_disk_and_each_new_name_too() {
    if !has_strace() {
        return;
    }
    let script = || {
        let content = json!({"path": "new/note.txt", "content": "x"});
        [
            call("write_file", content.clone()),
            call("append_file", content),
            say("done"),
        ]
    };
    let count =
        |files: &[String], name: &str| files.iter().filter(|file| file.starts_with(name)).count();
    let model = Model::playing(script().into_iter().chain(script()));
    let home = Home::with_model(&model);
    let files = synced(&home);
    let journal = "sessions/cli_default.jsonl";
    // Its first line with the message, two calls with their results, the answer with the turn's end.
    assert_eq!(count(&files, journal), 6, "{files:?}");
    // The folder in which it is new; the folder that was made for the note, and both its files. The
    // tokens need no folder.
    for (name, least) in [
        ("sessions", 7),
        ("workspace", 4),
        ("workspace/new", 3),
        ("state", 1),
    ] {
        assert!(count(&files, name) >= least, "{name}: {files:?}");
    }

    let mut sparing = Home::with_model(&model);
    sparing.set("/storage/fsync", json!("turn"));
    let files = synced(&sparing);
    // The end of the turn.
    assert_eq!(count(&files, journal), 1, "{files:?}");
}

#[test]
fn a_read_only_home_is_said_in_plain_words() {
    if !has_mounts_of_its_own() {
        return;
    }
    let model = Model::answering(|_| say("before"));
    let home = Home::with_model(&model);
    let output = in_own_mounts(
        &home,
        r#"
        "$P" agent -s default -m first
        mount --bind "$HOME" "$HOME"
        mount -o remount,bind,ro "$HOME"
        # A new conversation, one that exists, and a question through a pipe.
        for arguments in "-s new -m hi" "-m hi" ""; do
            echo hi | "$P" agent $arguments && echo "ended with 0" || echo "ended with $?"
        done
        "#,
    );
    let output = output.ends_with(0);
    let failed = "ended with 1\n".repeat(3);
    assert_eq!(output.stdout, format!("before\n{failed}"), "{output:#?}");
    let said = |text: &str| output.stderr.matches(text).count();
    assert_eq!(said("read-only file system"), 3, "{output:#?}");
    assert_eq!(said("sessions/"), 3, "{output:#?}");
    assert_eq!(
        model.requests().len(),
        1,
        "nothing is asked that cannot be kept"
    );
}

/// The disk is full from the first reply on: what the model said cannot be kept, so it is not asked
/// any further.
#[test]
fn a_disk_that_fills_within_a_turn_ends_it_and_asks_no_more() {
    if !has_mounts_of_its_own() {
        return;
    }
    let long = "x".repeat(9000);
    let model = Model::answering(move |_| call("list_dir", json!({"path": long})));
    let home = Home::with_model(&model);
    let output = in_own_mounts(
        &home,
        r#"
        mkdir "$HOME/sessions"
        mount -t tmpfs -o size=8k none "$HOME/sessions"
        "$P" agent -s default -m first && echo "ended with 0" || echo "ended with $?"
        "#,
    );
    let output = output.ends_with(0);
    assert!(output.stdout.contains("ended with 1"), "{output:#?}");
    output.complains_of(&["cli_default.jsonl", "no space left on device"]);
    assert_eq!(model.requests().len(), 1);
    let counts = fs::read_to_string(home.path().join("state/usage.json")).unwrap();
    assert!(counts.contains(&INPUT_TOKENS.to_string()), "{counts}");
}

#[test]
fn a_file_of_two_gigabytes_neither_fills_the_memory_nor_the_conversation() {
    let model = Model::playing([
        call("read_file", json!({"path": "huge.bin"}))
            .and_call("read_file", json!({"path": "huge.txt", "limit": 1}))
            .and_call("grep", json!({"path": "huge.txt", "pattern": "beginning"})),
        say("too large"),
    ]);
    let home = Home::with_model(&model);
    File::create(home.workspace("huge.bin"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    let text = "the beginning\n".repeat(10_000);
    fs::write(home.workspace("huge.txt"), text).unwrap();
    let file = File::options()
        .append(true)
        .open(home.workspace("huge.txt"))
        .unwrap();
    file.set_len(2 << 30).unwrap();

    // 500 MB of addresses: a program that takes the file into memory cannot.
    let limited = Program::of("sh", &home).args([
        "-c",
        r#"ulimit -v 500000; exec "$P" agent -s default -m "look""#,
    ]);
    let output = limited.env("P", PEACRAB).run().ends_with(0);
    assert_eq!(output.stdout, "too large\n");
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(asked.contains("huge.bin"), "{asked}");
    assert!(asked.len() < 500_000, "{} bytes", asked.len());
}

#[test]
fn a_change_that_is_said_to_have_failed_has_not_happened_whichever_call_fails() {
    if !has_strace() {
        return;
    }
    let skill = tempfile::tempdir().unwrap();
    fs::write(
        skill.path().join("SKILL.md"),
        "---\nname: lamp\ndescription: A lamp\n---\nOn.\n",
    )
    .unwrap();
    let folder = skill.path().to_str().unwrap();
    let changes: [(&[&str], &str, &str); 3] = [
        (
            &["config", "set", "agents.defaults.temperature", "0.3"],
            "config.json",
            "0.3",
        ),
        (
            &["cron", "add", "every day at 8", "bread", "--remind"],
            "cron/jobs.json",
            "bread",
        ),
        (
            &["skills", "install", folder, "--yes"],
            "workspace/skills/lamp/SKILL.md",
            "On.",
        ),
    ];
    for (change, file, content) in changes {
        for calls in ["fsync,fdatasync", "/^rename", "/^unlink", "/^fchmod"] {
            for number in 1.. {
                let home = Home::new();
                let trace = home.path().join("trace");
                let output = Program::of("strace", &home)
                    .args(["-f", "-e", &format!("trace={calls}"), "-e"])
                    .arg(format!("inject={calls}:error=EIO:when={number}"))
                    .arg("-o")
                    .arg(&trace)
                    .arg(PEACRAB)
                    .args(change)
                    .run();
                let injected = fs::read_to_string(trace).unwrap();
                let found = fs::read_to_string(home.path().join(file));
                let has_happened = found.is_ok_and(|text| text.contains(content));
                assert_eq!(
                    output.code == Some(0),
                    has_happened,
                    "{change:?}: {injected}{}",
                    output.stderr
                );
                if !injected.contains("INJECTED") {
                    break;
                }
            }
        }
    }
}
