//! Names in a command's line of files that do not exist yet. What is made under such a name decides what the command does, so
//! it is part of what is approved.

use std::path::{Component, Path, PathBuf};

/// Links that are followed to where a file will be that does not exist yet.
const LINKS_FOLLOWED: usize = 8;

/// Programs whose first argument is a script, or a folder of them.
const RUNNERS: &str = "sh bash dash ash zsh ksh . source python perl node ruby php lua run-parts";

/// Programs whose arguments are files, or behind whose `-f` one stands.
const READERS: &str = "cp mv install ln cat dpkg crontab patch insmod";

/// Endings of names that somebody runs.
const SCRIPTS: &str = "sh bash py pl rb js php lua mk so";

/// Endings of what decides how something runs, where an option names it.
const SETTINGS: &str = "conf cfg ini yml yaml toml json env";

/// Words of a command that may name a file, as far as anybody can tell without running it: with a path, with the ending of a
/// script, or behind a program that runs scripts. A `/` alone makes a path only where `is_plain`: not in a text.
pub(super) fn candidates(words: &[String], is_plain: bool) -> Vec<String> {
    let mut found = Vec::new();
    // Whether the word is an argument of a runner, one of a reader, or behind `-f`.
    let (mut is_run, mut is_read, mut is_file) = (false, false, false);
    for word in words {
        let option = word.strip_prefix('-');
        let part = match (word.split_once('='), option, word.strip_prefix('@')) {
            (Some((_, value)), ..) => value,
            (None, Some(_), _) => word.get(2..).unwrap_or_default(),
            (None, None, Some(behind)) => behind,
            (None, None, None) => word,
        };
        let is_script = (is_run || is_read || is_file) && option.is_none();
        let is_set = word.contains('=') && is_listed(SETTINGS, ending_of(part));
        let (name, _) = word.split_once('=').unwrap_or_default();
        if is_name(part) && (is_script || is_set) {
            found.push(part.to_owned());
        }
        // A list of folders, or a place on another machine.
        for part in part.split(':').filter(|part| is_name(part)) {
            let is_path = is_plain && part.contains('/') && !is_address(part);
            if is_path || is_like_a_file(part) || name.ends_with("PATH") {
                found.push(part.to_owned());
            }
        }
        is_file = option.is_some_and(|letters| is_listed("f file -file", letters));
        is_run = match option {
            // The next word is a line.
            Some(letters) => is_run && !letters.contains(['c', 'e', 'm']),
            None => {
                let program = word.rsplit('/').next().unwrap_or(word);
                is_file |= program == "file";
                is_read |= is_listed(READERS, program);
                is_runner(program)
            }
        };
    }
    found
}

/// Whether a program runs scripts, in whatever version.
pub(super) fn is_runner(program: &str) -> bool {
    let version = |char: char| char.is_ascii_digit() || char == '.';
    let bare = program.trim_end_matches(version);
    is_listed(RUNNERS, program) || is_listed(RUNNERS, bare)
}

/// Whether a word is a network such as `10.0.0.0/8`, or a port such as `22/tcp`.
fn is_address(word: &str) -> bool {
    let (before, after) = word.split_once('/').unwrap_or_default();
    let is_number = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|char| char.is_ascii_digit() || more.contains(char))
    };
    is_number(before, ".") && (is_number(after, "") || is_listed("tcp udp", after))
}

/// Whether a word is a name as it stands, and no text, pattern, address or option.
fn is_name(word: &str) -> bool {
    let is_open = |char: char| char.is_whitespace() || "'\"`$*?[]{}()<>|;&\\".contains(char);
    !word.is_empty() && !word.starts_with('-') && !word.contains(is_open) && !word.contains("://")
}

fn is_like_a_file(word: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| word.starts_with(start));
    is_path || is_listed(SCRIPTS, ending_of(word))
}

fn ending_of(name: &str) -> &str {
    let ending = Path::new(name)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.unwrap_or_default()
}

pub(super) fn is_listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// Where a path will be that does not lead to anything now: the real path of the nearest folder that exists, with the
/// rest behind it. `None` when it cannot be told.
pub(super) fn place_of(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    // A link may lead to what is not there.
    for _ in 0..LINKS_FOLLOWED {
        let Ok(target) = std::fs::read_link(&path) else {
            break;
        };
        path = path.parent()?.join(target);
    }
    let mut rest = Vec::new();
    let mut folder = path.as_path();
    loop {
        if let Ok(real) = folder.canonicalize() {
            let rest = rest.iter().rev();
            return Some(rest.fold(real, |path, part| path.join(part)));
        }
        match folder.components().next_back()? {
            Component::Normal(part) => rest.push(part.to_owned()),
            Component::CurDir => {}
            // Nobody knows what is above a folder that may become a link.
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
        folder = folder.parent()?;
    }
}
