//! Checks the rules of the code: which room may import which, what may be used where, and the language of
//! texts for people. ARCHITECTURE.md has the map.
//!
//! It reads the sources as text, with comments, strings and test modules taken out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail by panicking"
)]

#[path = "floors/house.rs"]
mod house;
#[path = "floors/phrases.rs"]
mod phrases;
#[path = "floors/prose.rs"]
mod prose;
#[path = "floors/source.rs"]
mod source;

use std::path::Path;

use house::{check_folders, check_source, circles, files_beneath, neighbours};
use prose::{check_document, check_strings};

#[test]
fn every_room_imports_only_from_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_beneath(&root);
    assert!(files.len() > 10, "only {} files were checked", files.len());

    let mut faults = check_folders(files.keys());
    for (path, text) in &files {
        faults.extend(check_source(path, text));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The daemon's parts are all about one gateway, and each may still call another.
const WITH_CIRCLES: &str = "gateway";

#[test]
fn within_a_room_imports_go_in_one_direction() {
    let files = files_beneath(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let mut found = circles(&files);
    found.retain(|circle| !circle.starts_with(WITH_CIRCLES));
    assert!(found.is_empty(), "\n{}", found.join("\n"));

    let channels: Vec<&str> = peacrab::config::channels::names().collect();
    assert!(channels.len() > 10, "{channels:?}");
    let found = neighbours(&files, &channels);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn circles_and_imports_of_a_neighbour_are_found_in_every_spelling() {
    let room = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string()));
        files.collect()
    };
    for back in [
        "use crate::tools::grep;",
        "use crate::tools::{exec, grep::Found};",
        "use super::grep::find;",
        "use super::{exec, grep};",
        "fn f() { super::grep::find() }",
        "mod inner { use super::super::grep; }",
    ] {
        let files = room(&[
            ("tools/grep.rs", "use super::web::fetch;"),
            ("tools/web.rs", back),
            ("tools/mod.rs", "pub mod grep; use web::fetch;"),
        ]);
        assert_eq!(circles(&files), ["tools: grep -> web -> grep"], "{back}");
    }
    let longer = room(&[
        ("tools/a/mod.rs", "use super::b;"),
        ("tools/b.rs", "use crate::tools::c::d;"),
        ("tools/c/d.rs", "use super::super::a::inner;"),
        ("agent/a.rs", "use super::b; use crate::tools::a;"),
    ]);
    assert_eq!(circles(&longer), ["tools: a -> b -> c -> a"]);
    let fine = room(&[
        (
            "tools/grep.rs",
            "use super::web::fetch; use crate::base::web;",
        ),
        (
            "tools/web/mod.rs",
            "mod grep; use self::grep::x; use super::Context;",
        ),
        ("tools/web/grep.rs", "use super::fetch; use super::grep::y;"),
    ]);
    assert!(circles(&fine).is_empty(), "{:?}", circles(&fine));

    for text in [
        "use super::super::irc::format;",
        "use crate::channels::{irc, kit};",
    ] {
        let files = room(&[("channels/slack/event.rs", text)]);
        assert_eq!(neighbours(&files, &["irc", "slack"]).len(), 1, "{text}");
    }
    let own = room(&[(
        "channels/slack/event.rs",
        "use crate::channels::{slack, kit}; use super::irc;",
    )]);
    assert!(neighbours(&own, &["irc", "slack"]).is_empty());
}

/// The faults of one source at this path.
fn faults(path: &str, text: &str) -> String {
    check_source(path, text).join("; ")
}

#[test]
fn an_import_from_above_or_beside_is_found_in_every_spelling() {
    for text in [
        "use crate::agent::run;",
        "use crate::{base::chat::Role, agent};",
        "use crate :: {\n    base::chat::{Role, Entry},\n    models,\n};",
        "fn f() { crate::cli::main() }",
        "use super::super::agent;",
        "mod inner { use super::super::super::agent; }",
        "const X: &str = \"// not a comment\"; use crate::agent;",
        "const Q: char = '\"'; use crate::agent;",
        "fn f<'a>(x: &'a str) { crate::agent::g(x) }",
    ] {
        assert!(
            faults("tools/grep.rs", text).contains("may not import"),
            "{text}"
        );
    }
}

#[test]
fn imports_from_below_from_the_same_room_or_only_in_tests_are_fine() {
    for text in [
        "use crate::{base::chat::Role, config, store::state::Audit};",
        "use crate::tools::path;",
        "use super::path; use super::super::base::chat::Role;",
        "// use crate::agent;\n/* use crate::agent; /* nested */ */",
        "const X: &str = \"use crate::agent;\"; const R: &str = r#\"\" crate::cli\"#;",
        "#[cfg(test)]\nmod tests {\n    use crate::agent; fn f() { let _ = \"}\"; unsafe {} }\n}",
        "fn f() { my_crate::agent() }",
    ] {
        assert_eq!(faults("tools/grep.rs", text), "", "{text}");
    }
}

#[test]
fn a_room_without_a_floor_is_found() {
    assert!(faults("attic.rs", "").contains("no floor"));
    assert!(faults("attic/box.rs", "").contains("no floor"));
    assert!(faults("cli/mod.rs", "use crate::attic;").contains("may not import"));
    assert_eq!(faults("main.rs", "fn main() { peacrab::cli::main(); }"), "");
    assert_eq!(faults("lib.rs", "pub mod cli;"), "");
}

#[test]
fn unsafe_clocks_and_printing_are_found_outside_their_rooms() {
    let cases = [
        ("unsafe { f() }", "sys/file.rs"),
        ("serde_json::from_str(text)", "base/json/mod.rs"),
        ("serde_json::from_slice::<Value>(bytes)", "base/json/mod.rs"),
        ("let now = chrono::Utc::now();", "base/clock.rs"),
        ("let now = Local :: now();", "base/clock.rs"),
        ("let now = Instant::now();", "base/clock.rs"),
        ("let now = std::time::SystemTime::now();", "base/clock.rs"),
        ("println!(\"{}\", 1)", "cli/main.rs"),
        ("eprintln!(\"\")", "cli/main.rs"),
        ("print!(\"\")", "cli/main.rs"),
        ("eprint!(\"\")", "cli/main.rs"),
    ];
    for (text, home) in cases {
        assert!(faults("tools/grep.rs", text).contains("outside"), "{text}");
        assert_eq!(faults(home, text), "", "{text} in {home}");
    }
    assert_eq!(
        faults("tools/grep.rs", "#![expect(unsafe_code)] // unsafe"),
        ""
    );
}

#[test]
fn a_long_file_is_found_unless_it_is_a_table() {
    let long = "\n".repeat(601);
    assert!(faults("tools/grep.rs", &long).contains("601 lines"));
    assert_eq!(faults("tools/grep.rs", &"\n".repeat(600)), "");
    assert_eq!(
        faults("tools/grep.rs", &format!("//! The table of keys.{long}")),
        ""
    );
}

#[test]
fn a_full_folder_is_found() {
    let files = |count| {
        (0..count)
            .map(|n| format!("tools/t{n}.rs"))
            .collect::<Vec<_>>()
    };
    assert!(check_folders(files(11).iter())[0].contains("11 files"));
    assert!(check_folders(files(10).iter()).is_empty());
}

#[test]
fn a_file_that_is_compiled_only_for_tests_is_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("tools")).unwrap();
    write(
        "tools/mod.rs",
        "mod grep;\n#[cfg(test)]\nmod tests;\n#[cfg(test)] mod fake;",
    );
    write("tools/tests.rs", "use crate::agent;");
    write("tools/grep.rs", "#[cfg(test)]\nmod stories;");
    std::fs::create_dir_all(folder.path().join("tools/grep")).unwrap();
    write("tools/grep/stories.rs", "use crate::agent;");
    std::fs::create_dir_all(folder.path().join("tools/fake")).unwrap();
    write("tools/fake/mod.rs", "use crate::agent;");
    let files = files_beneath(folder.path());
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        ["tools/grep.rs", "tools/mod.rs"]
    );
}

/// SECURITY.md names a test for each protection. Words with at least three underscores are test names.
#[test]
fn the_tests_named_in_security_exist() {
    fn read(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => read(&entry.path(), text),
                false => *text += &std::fs::read_to_string(entry.path()).unwrap_or_default(),
            }
        }
    }
    let mut sources = String::new();
    for folder in ["src", "tests"] {
        read(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut sources,
        );
    }
    let is_test = |word: &&str| {
        let is_name = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        word.matches('_').count() >= 3 && word.bytes().all(is_name)
    };
    let named: Vec<&str> = include_str!("../SECURITY.md")
        .split('`')
        .filter(is_test)
        .collect();
    assert!(named.len() > 40, "{}", named.len());
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !sources.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn what_people_read_is_plain_english() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files_beneath(&root.join("src"));
    let mut faults: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| check_strings(&format!("src/{path}"), text))
        .collect();
    let documents = documents(root);
    for (path, text) in &documents {
        faults.extend(check_document(path, text));
    }
    assert!(files.len() > 100 && documents.len() > 10);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The documents for people by their paths, and what the build tools print.
fn documents(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{folder}{name}");
            // No sources, no build folders, nothing hidden.
            let is_other = name.starts_with('.') || ["src", "tests", "target"].contains(&&*path);
            if is_other || entry.file_type().unwrap().is_symlink() {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(format!("{path}/"));
            } else if name == "Makefile" || name == "setup" || has_ending(&name) {
                found.push((path, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    found
}

fn has_ending(name: &str) -> bool {
    [".md", ".py", ".service"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

#[test]
fn a_listed_phrase_is_found_where_people_read_it() {
    let is_found = |text: &str| !check_strings("tools/grep.rs", text).is_empty();
    for (phrase, example) in phrases::PHRASES {
        assert!(
            is_found(&format!("const X: &str = \"Now {phrase} this\";")),
            "{phrase}"
        );
        assert!(!is_found(&format!("f(\"{example}\")")), "{example}");
    }
    assert!(is_found("f(\"it Is\n         no key\")"));
    assert!(is_found("f(\"it is \\\n         no key\")"));
    assert!(is_found("f(r#\"it is no \"key\"\"#)"));
    assert!(is_found(
        "texts! { fn x(a) { \"{a} is let in.\", \"好。\" } }"
    ));
    assert!(is_found(
        "use clap::Args;\n/// Tell\n/// somebody\nstruct X;"
    ));
    assert!(!check_document("README.md", "Fine.\n\nIt begins\nanew.").is_empty());
    assert!(check_document("README.md", "x\n\nIt begins\nanew.")[0].starts_with("README.md:3:"));

    assert!(!is_found("f(\"There is no file. It is no longer here.\")"));
    assert!(!is_found("f(\"nobody\"); // it is no key"));
    assert!(!is_found("/// Tells somebody.\nfn f() {}"));
    assert!(!is_found(
        "#[cfg(test)]\nmod tests { fn f() { g(\"it is no key\") } }"
    ));
    assert!(!is_found("f(\"the strangers_get_one_code test\")"));
}
