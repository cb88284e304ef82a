//! `make run` and scripts/setup: from a clone of the sources to the first answer.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::executable;
use crate::harness::home::Home;
use crate::harness::program::{Output, PEACRAB, Program};

const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// `make run` in a new home, with a cargo that has built already.
fn make_run(home: &Home, stdin: &str) -> Output {
    let cargo = format!(
        r#"case $1 in build) exit ;; --version) echo cargo 9.9.9; exit ;; esac
while [ "$1" != -- ]; do shift; done
shift
exec {PEACRAB} "$@""#
    );
    executable::script(&home.path().join("cargo"), &cargo);
    let path = std::env::var("PATH").unwrap();
    Program::of("make", home)
        .args(["--no-print-directory", "--silent", "-C", SOURCES, "run"])
        .env("PATH", &format!("{}:{path}", home.path().display()))
        .stdin(stdin)
        .run()
}

#[test]
fn make_run_without_a_terminal_demonstrates_the_agent() {
    let home = Home::new();
    let first = make_run(&home, "").ends_with(0);
    for text in [
        "Next:",
        "> What is in AGENTS.md?",
        "# How to work",
        "(offline helper",
    ] {
        assert!(first.stdout.contains(text), "{text:?} in {first:?}");
    }
    assert_eq!(first.stderr, "▸ read_file(\"AGENTS.md\")\n");
    let second = make_run(&home, " \n").ends_with(0);
    assert!(
        second.stdout.contains("# How to work") && !second.stdout.contains("Next:"),
        "the home is there: {second:?}"
    );
}

#[test]
fn make_run_answers_a_question_from_a_pipe() {
    let home = Home::new();
    fs::write(home.workspace("note.txt"), "Water the plants.").unwrap();
    let output = make_run(&home, "read note.txt\n").ends_with(0);
    assert!(output.stdout.contains("Water the plants."), "{output:?}");
    assert!(!output.stdout.contains("AGENTS.md?"), "{output:?}");
}

/// Runs scripts/setup where the C compiler is missing and apt-get is a script.
fn set_up(home: &Home, apt_get: &str) -> Output {
    let programs = home.path().join("bin");
    fs::create_dir(&programs).unwrap();
    for name in [
        "sh", "cat", "cut", "dirname", "env", "grep", "head", "id", "mktemp", "rm", "sed", "sleep",
        "sort",
    ] {
        let folders = std::env::var_os("PATH").unwrap();
        let found = std::env::split_paths(&folders).map(|folder| folder.join(name));
        let program = found.into_iter().find(|path| path.is_file()).unwrap();
        symlink(program, programs.join(name)).unwrap();
    }
    executable::script(&programs.join("cargo"), "echo cargo 9.9.9");
    executable::script(&programs.join("sudo"), r#"exec "$@""#);
    executable::script(&programs.join("apt-get"), apt_get);
    Program::of(&format!("{SOURCES}/scripts/setup"), home)
        .arg("build")
        .env("PATH", programs.to_str().unwrap())
        .env("PEACRAB_APT_LOCK_PAUSE", "0")
        .env("PEACRAB_APT_LOCK_TRIES", "5")
        .run()
}

/// What apt says while another program holds its lock.
const LOCKED: &str = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 42";

#[test]
fn setup_waits_for_another_apt_and_says_so_once() {
    let home = Home::new();
    let calls = home.path().join("calls");
    let apt_get = format!(
        r#"echo "$*" >> '{0}'
[ $(grep -c '' '{0}') -gt 3 ] || {{ echo '{LOCKED}' >&2; exit 100; }}"#,
        calls.display()
    );
    let output = set_up(&home, &apt_get).ends_with(0);
    let waiting = "another program is using apt; waiting for it to finish";
    assert_eq!(output.stderr.matches(waiting).count(), 1, "{output:?}");
    assert!(!output.stderr.contains("Could not get lock"), "{output:?}");
    let calls = fs::read_to_string(calls).unwrap();
    assert_eq!(calls.lines().count(), 5, "{calls}");
    assert!(calls.ends_with("install --no-install-recommends gcc libc6-dev\n"));
}

#[test]
fn setup_does_not_wait_for_ever_and_not_for_other_faults() {
    let output = set_up(&Home::new(), &format!("echo '{LOCKED}' >&2; exit 100")).ends_with(1);
    output.complains_of(&["Could not get lock", "apt failed to install: gcc libc6-dev"]);
    let home = Home::new();
    let output = set_up(&home, "echo 'E: No space left on device' >&2; exit 100").ends_with(1);
    output.complains_of(&["No space left"]);
    assert!(!output.stderr.contains("another program"), "{output:?}");
}
