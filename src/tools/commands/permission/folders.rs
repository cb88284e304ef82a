//! Folders in which the commands of a line may run: a path that begins nowhere else leads through each of them. PURE.

use std::path::Path;

use crate::sandbox::line::Part;

/// Folders that a line may enter and that are looked at; a longer one may run anywhere.
const FOLDERS: usize = 32;
/// Options of programs that run another, behind which its folder is a word of its own.
const OPTIONS: [&str; 4] = ["-C", "-D", "--chdir", "--working-directory"];

/// Folders in which the commands of a line may run.
#[derive(Clone, Debug, Default)]
pub(in crate::tools::commands) struct Folders {
    known: Vec<String>,
    /// Whether it may be any other one too.
    is_unknown: bool,
}

impl Folders {
    /// The one in which a line begins.
    pub fn at(folder: &Path) -> Self {
        Self {
            known: vec![folder.to_string_lossy().into_owned()],
            is_unknown: false,
        }
    }

    /// The one in which a running command has begun, which may have entered another one since.
    pub fn since(folder: &Path) -> Self {
        Self {
            is_unknown: true,
            ..Self::at(folder)
        }
    }

    /// Adds those that the commands of a line enter. A `cd` may fail, or be in a subshell: the ones before stay.
    pub fn enter(&mut self, commands: &[Part]) {
        for command in commands {
            let words = command.words.iter().map(String::as_str);
            let mut words = words.skip_while(|word| matches!(*word, "command" | "builtin"));
            let first = words.clone().next().unwrap_or_default();
            if matches!(first, "cd" | "pushd" | "chdir") {
                let named = words.find(|word| *word == "-" || !is_entering_option(word));
                self.enter_one(named.unwrap_or("-"));
                continue;
            }
            while let Some(word) = words.next() {
                match word.split_once('=') {
                    _ if OPTIONS.contains(&word) => self.enter_one(words.next().unwrap_or("-")),
                    Some((option, folder)) if OPTIONS.contains(&option) => self.enter_one(folder),
                    _ => {}
                }
            }
        }
    }

    fn enter_one(&mut self, word: &str) {
        let is_open = word == "-" || word.starts_with('~') || word.contains(['$', '*', '?', '[']);
        let is_outside = !self.known.is_empty();
        let entered: Vec<String> = match word.starts_with('/') {
            _ if is_open => Vec::new(),
            true => vec![plain(word)],
            false => self.known.iter().map(|from| join(from, word)).collect(),
        };
        for folder in entered {
            if !self.known.contains(&folder) {
                self.known.push(folder);
            }
        }
        // In the sandbox, where none is known, the kernel decides.
        self.is_unknown |= is_outside && (is_open || self.known.len() > FOLDERS);
        self.known.truncate(FOLDERS);
    }

    /// Whether a word names what `is` knows by its whole path.
    pub fn lead(&self, word: &str, is: fn(&str) -> bool) -> bool {
        if word.starts_with('/') {
            return is(&plain(word));
        }
        let is_relative = !word.is_empty() && !word.starts_with(['-', '~', '$']);
        let in_known = || self.known.iter().any(|from| is(&join(from, word)));
        let in_unknown = || could_be_device(word) && is(&join("/dev", word));
        let in_unknown = || in_unknown() || is(&join("/proc", word));
        is(word) || is_relative && (in_known() || self.is_unknown && in_unknown())
    }
}

/// Whether a word behind `cd` is none of a folder.
fn is_entering_option(word: &str) -> bool {
    word.starts_with('-') || matches!(word, "cd" | "pushd" | "chdir")
}

/// Whether a name is such as disks, cards and the kernel's memory have in `/dev`.
fn could_be_device(name: &str) -> bool {
    let name = name.trim_start_matches("./");
    let numbered = ["mmcblk", "nvme", "md"].iter().any(|kind| {
        let number = name.strip_prefix(kind);
        number.is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()))
    });
    let lettered = ["sd", "hd", "vd", "xvd"].iter().any(|kind| {
        let letters = name.strip_prefix(kind).unwrap_or_default();
        let letters = letters.trim_end_matches(|char: char| char.is_ascii_digit());
        (1..=2).contains(&letters.len()) && letters.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    let is_below = name.starts_with("disk/") || name.starts_with("mapper/");
    numbered || lettered || is_below || matches!(name, "mem" | "kmem" | "port")
}

fn join(folder: &str, word: &str) -> String {
    plain(&format!("{folder}/{word}"))
}

/// A path without `//`, `.` and `..`.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
