//! Names in a command's line of files that do not exist yet. What is made under such a name decides what the command does, so
//! it is part of what is approved.

use std::path::{Component, Path, PathBuf};

use super::risk;
use crate::approval::pattern::is_plain_line;
use crate::limits::tools::{LINKS_FOLLOWED, SPLIT_DEPTH};

/// Programs whose first argument is a script, or a folder of them.
const RUNNERS: &str = "sh bash dash ash zsh ksh . source python perl node ruby php lua run-parts";

/// Programs whose arguments are files, or behind whose `-f` one stands.
const READERS: &str = "cp mv install ln cat dpkg crontab patch insmod";

/// Endings of names that somebody runs.
const SCRIPTS: &str = "sh bash py pl rb js php lua mk so";

/// Endings of what decides how something runs, where an option names it.
const SETTINGS: &str = "conf cfg ini yml yaml toml json env";

/// Programs that do not care in which folder they run, and read no file that their line names but for options that are not
/// among the [`PLAIN_OPTIONS`].
const FOLDERLESS: &str = "systemctl journalctl service apt apt-get df free uptime hostnamectl loginctl networkctl \
                          resolvectl nmcli iw rfkill vcgencmd reboot poweroff shutdown ping who w kill pkill id";

/// Options that name no file for any of these.
const PLAIN_OPTIONS: &str =
    "-y -h -H -n -u -q -l -a -e -x -b -f -fu -r --now --yes --all --no-pager";

/// Words that may name a file, as far as anybody can tell without running the line: with a path, with the ending of a
/// script, or behind a program that runs scripts.
pub(super) fn candidates(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(line, 0, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut Vec<String>) {
    for words in risk::commands(line) {
        command(words, line, depth, found);
    }
}

fn command(words: Vec<String>, line: &str, depth: usize, found: &mut Vec<String>) {
    // Whether the word is an argument of a runner, one of a reader, or behind `-f`.
    let (mut is_run, mut is_read, mut is_file) = (false, false, false);
    for word in words {
        let is_line = word.contains(char::is_whitespace) && word.len() < line.len();
        if is_line && depth < SPLIT_DEPTH {
            collect(&word, depth + 1, found);
        }
        let option = word.strip_prefix('-');
        let part = match (word.split_once('='), option, word.strip_prefix('@')) {
            (Some((_, value)), ..) => value,
            (None, Some(_), _) => word.get(2..).unwrap_or_default(),
            (None, None, Some(behind)) => behind,
            (None, None, None) => &word,
        };
        let is_script = (is_run || is_read || is_file) && option.is_none();
        let is_set = word.contains('=') && is_listed(SETTINGS, ending_of(part));
        if is_name(part) && (is_script || is_set || is_like_a_file(part)) {
            found.push(part.to_owned());
        }
        is_file = option.is_some_and(|letters| letters == "f" || letters == "-file");
        is_run = match option {
            // The next word is a line.
            Some(letters) => is_run && !letters.contains(['c', 'e', 'm']),
            None => {
                let program = word.rsplit('/').next().unwrap_or(&word);
                is_read |= is_listed(READERS, program);
                let version = |char: char| char.is_ascii_digit() || char == '.';
                is_listed(RUNNERS, program) || is_listed(RUNNERS, program.trim_end_matches(version))
            }
        };
    }
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

fn is_listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

/// Whether a line runs one program, with plain words, that does not care where it runs.
pub(in crate::tools::commands) fn ignores_folder(line: &str) -> bool {
    let mut words = line
        .split_ascii_whitespace()
        .skip_while(|word| *word == "sudo" || *word == "-n");
    is_plain_line(line)
        && words
            .next()
            .is_some_and(|program| is_listed(FOLDERLESS, program))
        && words.all(|word| !word.starts_with('-') || is_listed(PLAIN_OPTIONS, word))
}

/// Whether names in a line are only known once a shell has read it.
pub(super) fn has_open_names(line: &str) -> bool {
    let known = KNOWN_VARIABLES.iter().fold(line.to_owned(), |rest, name| {
        let rest = rest.replace(&format!("${{{name}}}"), "");
        rest.replace(&format!("${name}"), "")
    });
    known.contains(['*', '?', '[', '{', '$', '`'])
}

/// Whether a line has an option by which `find` runs a program (find(1)): `-exec`, `-execdir`, `-ok`, `-okdir`.
pub(super) fn runs_what_it_finds(line: &str) -> bool {
    let line = line.replace(['\'', '"', '\\'], "");
    line.contains("-exec") || line.contains("-ok")
}

/// Variables that the line gets from us, and not from a file.
const KNOWN_VARIABLES: [&str; 7] = ["HOME", "PWD", "PATH", "USER", "LANG", "TERM", "TZ"];

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
