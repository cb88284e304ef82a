//! The words of a line that may be paths, as far as they can be told before it runs: for people to see, not for deciding what
//! the line does.

use super::missing::{self, is_listed};
use super::{Place, Result, too_long};
use crate::sandbox::line;
use crate::tools::commands::SPLIT_DEPTH;

/// Different words of a line that are looked at for an approval.
const BOUND_WORDS: usize = 4096;

/// Characters at which a line is cut into what may be paths, beside the words of the shell.
const SEPARATORS: &str = "'\"`()[]{}<>;|&=,:@$*?!#\\%^";

/// Characters by which a word may be a line of its own, for a shell within the line or for `env -S`.
const OF_LINES: &str = " \t\r\n'\"\\`$<>;|&(){}";

/// Letters of an option behind which its value is looked for.
const LETTERS: usize = 6;

/// Programs for which a `\`, a pattern or a `/` is a part of a text.
const OF_TEXT: &str = "grep egrep fgrep zgrep rg sed awk gawk mawk tr cut journalctl printf echo find date curl jq \
                       timedatectl base64 xxd od rev";

/// What a line says.
#[derive(Default)]
pub(super) struct Line {
    /// Whatever may be a path, each once.
    pub words: Vec<String>,
    /// Words that may name a file, even where there is none.
    pub candidates: Vec<String>,
}

impl Line {
    pub fn read(text: &str, place: &Place<'_>) -> Result<Self> {
        let (folder, home) = (place.folder.to_string_lossy(), place.home.to_string_lossy());
        let with_home = expand(&text.replace("\\\n", ""), "HOME", &home);
        let with_folder = |folder: &str| {
            let line = expand(&with_home, "PWD", folder);
            line.replace("$(pwd)", folder).replace("`pwd`", folder)
        };
        // Behind a `cd` it is another folder.
        let tops = [text.to_owned(), with_folder("."), with_folder(&folder)];
        let mut lines = Vec::new();
        for top in &tops {
            collect(top, 0, &mut lines)?;
        }
        let mut words = lines.iter().flat_map(|line| line::words(line));
        let runs_lines = words.any(|word| missing::is_runner(base(&word)));
        let mut line = Self::default();
        for text in &lines {
            line.add(text, &home, runs_lines || tops.contains(text))?;
        }
        Ok(line)
    }

    /// Takes the words of one line.
    fn add(&mut self, text: &str, home: &str, is_run: bool) -> Result<()> {
        for words in line::commands(text) {
            let is_text = words.iter().any(|word| is_listed(OF_TEXT, base(word)));
            for name in missing::candidates(&words, is_run && !is_text) {
                push(&mut self.candidates, at_home(&name, home));
            }
            for word in &words {
                let value = word.split_once('=').map(|(_, value)| value);
                // Options of one letter can be written together, and with a value.
                let letters = word.strip_prefix('-').unwrap_or_default().char_indices();
                let behind = letters.skip(1).take(LETTERS).map(|(at, _)| &word[at + 1..]);
                let parts = [Some(word.as_str()), value, word.strip_prefix('@')];
                for part in parts.into_iter().flatten().chain(behind) {
                    self.push(part, home);
                }
            }
        }
        let is_separator = |char: char| char.is_whitespace() || SEPARATORS.contains(char);
        for part in text.split(is_separator) {
            self.push(part, home);
        }
        if self.words.len() > BOUND_WORDS {
            return Err(too_long());
        }
        Ok(())
    }

    fn push(&mut self, word: &str, home: &str) {
        if self.words.len() <= BOUND_WORDS {
            push(&mut self.words, word.to_owned());
            push(&mut self.words, at_home(word, home));
        }
    }
}

/// A line, and each that may be one within it.
fn collect(text: &str, depth: usize, lines: &mut Vec<String>) -> Result<()> {
    if lines.len() > BOUND_WORDS {
        return Err(too_long());
    }
    if lines.iter().any(|line| line == text) {
        return Ok(());
    }
    lines.push(text.to_owned());
    if depth == SPLIT_DEPTH {
        return Ok(());
    }
    let words = line::words(text);
    for word in &words {
        if word.contains(|char| OF_LINES.contains(char)) && word.len() < text.len() {
            collect(word, depth + 1, lines)?;
        }
    }
    // The body of a here-document.
    if text.contains("<<") {
        for body in text.lines().skip(1) {
            collect(body, depth + 1, lines)?;
        }
    }
    Ok(())
}

/// Puts in the value of a variable, where the line has no longer name.
fn expand(line: &str, name: &str, value: &str) -> String {
    let line = line.replace(&format!("${{{name}}}"), value);
    let dollar = format!("${name}");
    let mut parts = line.split(&dollar);
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer = part.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '_');
        expanded.push_str(if is_longer { &dollar } else { value });
        expanded.push_str(part);
    }
    expanded
}

fn at_home(word: &str, home: &str) -> String {
    match word.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => word.to_owned(),
    }
}

pub(super) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn push(list: &mut Vec<String>, word: String) {
    if !word.is_empty() && !list.contains(&word) {
        list.push(word);
    }
}
