//! `make boards`: the static binary of every board, with a cross/build that only pretends.

use std::fs;

use crate::harness::executable;
use crate::harness::home::Home;
use crate::harness::program::{Output, Program};

const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// A clone with two boards, the real `cross/boards`, and this text as `cross/build`.
fn clone_with(build: &str) -> Home {
    let home = Home::new();
    let clone = home.path().join("clone");
    for folder in ["cross", "scripts/release"] {
        fs::create_dir_all(clone.join(folder)).unwrap();
    }
    executable::script(&clone.join("cross/build"), build);
    executable::script(&clone.join("scripts/release/key"), "echo the-public-key\n");
    let boards = format!("{SOURCES}/cross/boards");
    executable::copy(boards, &clone.join("cross/boards"));
    fs::write(
        clone.join("cross/targets"),
        "# …\nsmall small-linux 10\nlarge large-linux 10\n",
    )
    .unwrap();
    home
}

fn make_boards(home: &Home, arguments: &[&str]) -> Output {
    let boards = home.path().join("clone/cross/boards");
    Program::of(boards.to_str().unwrap(), home)
        .args(arguments)
        .run()
}

#[test]
fn make_boards_builds_every_target_and_refuses_a_binary_that_is_too_large() {
    let home = clone_with(
        "mkdir -p built/$1; echo noise >&2
case $1 in small-*) printf 1234567890 ;; *) printf 12345678901 ;; esac >built/$1/peacrab
echo \"$1 $PEACRAB_UPDATE_KEY\" >>calls
echo built/$1/peacrab\n",
    );
    let output = make_boards(&home, &[]).ends_with(1);
    for text in [
        "10 bytes [",
        "11 bytes [",
        "[2/2]\n",
        "small              10         10  ok\n",
        "large              11         10  too large\n",
    ] {
        assert!(output.stdout.contains(text), "{text:?} in {output:?}");
    }
    assert_eq!(
        output.stderr, "",
        "the output of the builds is in their logs"
    );
    let clone = home.path().join("clone");
    assert_eq!(
        fs::read(clone.join("dist/boards/small/peacrab"))
            .unwrap()
            .len(),
        10
    );
    let calls = fs::read_to_string(clone.join("calls")).unwrap();
    // They run side by side.
    let mut calls: Vec<&str> = calls.lines().collect();
    calls.sort_unstable();
    assert_eq!(
        calls,
        ["large-linux the-public-key", "small-linux the-public-key"]
    );

    make_boards(&home, &["small"]).ends_with(0);
    let unknown = make_boards(&home, &["smal"]).ends_with(2);
    assert!(
        unknown.stderr.contains("unknown architecture smal"),
        "{unknown:?}"
    );
}

#[test]
fn make_boards_shows_the_log_of_a_build_that_fails_and_builds_the_others() {
    let home = clone_with(
        "case $1 in small-*) echo 'error: no space left' >&2; exit 1 ;; esac
printf 1 >peacrab; echo peacrab\n",
    );
    let output = make_boards(&home, &[]).ends_with(1);
    for text in [
        "failed after",
        "error: no space left",
        "small               -         10  failed\n",
        "large               1         10  ok\n",
    ] {
        assert!(output.stdout.contains(text), "{text:?} in {output:?}");
    }
}
