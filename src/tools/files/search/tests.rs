//! Globs, long lines and patterns that take long.

use super::*;
use std::time::Duration;

#[test]
fn a_glob_without_a_slash_is_about_names_at_any_depth() {
    let matches = |glob: &str, path: &str| Glob::new(glob).unwrap().matches(Path::new(path));
    assert!(matches("*.rs", "src/a/b.rs"));
    assert!(matches("*.{rs,toml}", "Cargo.toml"));
    assert!(matches("src/**/*.rs", "src/a/b.rs"));
    assert!(matches("./src/*.rs", "src/b.rs"));
    assert!(!matches("src/*.rs", "src/a/b.rs"));
    assert!(!matches("*.rs", "src/b.rst"));
    assert!(Glob::new("src/{a").is_err());
}

#[test]
fn a_glob_with_many_combinations_is_refused() {
    assert!(Glob::new("src/**/*.{rs,toml,md,txt,json,yaml,yml}").is_ok());
    for glob in [
        "{a,b}".repeat(20),
        format!("{{{}}}", "a,".repeat(40)),
        "*a".repeat(600),
    ] {
        assert!(Glob::new(&glob).is_err(), "{glob}");
    }
}

fn search<'a>(pattern: &str, time: Duration, cancel: &'a Cancel, eraser: &'a Eraser) -> Search<'a> {
    Search {
        regex: RegexBuilder::new(pattern)
            .size_limit(PATTERN_HELD_BYTES)
            .build()
            .unwrap(),
        around: 0,
        max: 100,
        cancel,
        eraser,
        text: String::new(),
        matches: 0,
        bytes: 0,
        unreadable: 0,
        budget: CpuBudget::new(time),
        unchecked: 0,
        is_spent: false,
    }
}

#[test]
fn a_long_line_is_searched_in_pieces_as_if_it_were_one() {
    let (cancel, eraser) = (Cancel::default(), Eraser::default());
    let find = |pattern: &str, line: &str| {
        search(pattern, Duration::from_secs(600), &cancel, &eraser).find(line)
    };
    let line = format!("{}needle é{}", "é".repeat(20_000), "x".repeat(30_000));
    for (pattern, expected) in [
        ("needle", Some(40_000)),
        ("needle.*", Some(40_000)),
        ("needle.*x$", Some(40_000)),
        ("x$", Some(line.len() - 1)),
        ("^é", Some(0)),
        ("^needle", None),
        ("^x", None),
        (r"x\b.", None),
        ("é$", None),
        ("nothing", None),
    ] {
        assert_eq!(find(pattern, &line), expected, "{pattern}");
    }
    for at in 8_000..8_300 {
        let line = format!("{}needle{}", "y".repeat(at), "y".repeat(9_000));
        assert_eq!(find("needle", &line), Some(at));
        assert_eq!(find("needle$|yy$", &line), Some(line.len() - 2));
    }
}

/// The processor time of a search that a pattern makes slow ends with the budget, within one line and over many.
#[test]
fn a_pattern_that_takes_long_is_stopped_and_the_result_says_so() {
    let (cancel, eraser) = (Cancel::default(), Eraser::default());
    let pattern = "(a?){30}(a|b|c|aa|ab)*(a?){200}z";
    for text in [
        "a".repeat(120_000),
        format!("{}\n", "a".repeat(200)).repeat(600),
    ] {
        let mut search = search(pattern, Duration::from_millis(50), &cancel, &eraser);
        let begun = CpuBudget::new(Duration::from_secs(3));
        let mut lines = Lines::new(text.as_bytes(), Path::new("x"), &cancel);
        search.lines("x", &mut lines).unwrap();
        assert!(!begun.is_spent(), "it goes on after its time");
        assert!(search.is_over());
        let result = search.result().text;
        assert!(
            result.contains("[stopped after 5 s of processor time"),
            "{result}"
        );
    }
}

#[test]
fn a_path_that_was_found_can_be_used_again() {
    assert_eq!(path_below(".", Path::new("a/b")), "a/b");
    assert_eq!(path_below("./src", Path::new("b")), "src/b");
    assert_eq!(path_below("/data/", Path::new("b\nc")), "/data/b\u{fffd}c");
}
