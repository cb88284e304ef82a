//! The words of a line that may be paths, and what of it is unresolved. This is the one place that decides which names are
//! known before the line runs: whatever a shell or a program may still read as another name is unresolved.

use super::missing::{self, is_listed};
use super::{INTERPRETERS, Place, Result, bounds, risk, too_long};
use risk::commands;

/// Characters at which a line is cut into what may be paths, beside the words of the shell.
const SEPARATORS: &str = "'\"`()[]{}<>;|&=,:@$*?!#\\%^";

/// Characters by which a word may be a line of its own, for a shell within the line or for `env -S`.
const OF_LINES: &str = " \t\r\n'\"\\`$<>;|&(){}";

/// Letters of an option behind which its value is looked for.
const LETTERS: usize = 6;

/// Programs for which a `\`, a pattern or a `/` is a part of a text.
const OF_TEXT: &str = "grep egrep fgrep zgrep rg sed awk gawk mawk tr cut journalctl printf echo find date curl jq \
                       timedatectl base64 xxd od rev";

/// Programs that run what they read.
const OF_INPUT: &str = "su at batch ssh crontab machinectl";

/// Programs after which a path leads elsewhere.
const RELOCATORS: &str =
    "chroot ln unshare nsenter bwrap proot systemd-nspawn pivot_root fakechroot";

/// Parts of options after which a path leads elsewhere for some programs: `mount --bind`, `sudo -R`, `docker run -v`,
/// `systemd-run -p RootDirectory=`.
const RELOCATIONS: [(&str, &str); 4] = [
    ("mount", "bind move lay dir= -B -R -M"),
    ("sudo doas", "-R --chroot"),
    ("docker podman", "-v --volume --mount"),
    ("systemd-run", "Root Bind"),
];

/// Programs that may run their line with another HOME.
const OTHER_HOMES: &str = "sudo su doas runuser pkexec env setpriv login machinectl systemd-run";

/// What a line says.
#[derive(Default)]
pub(super) struct Line {
    /// Whatever may be a path, each once.
    pub words: Vec<String>,
    /// Words that may name a file, even where there is none.
    pub candidates: Vec<String>,
    /// What is only known once it runs, as a person sees it.
    pub unresolved: Vec<String>,
    /// Whether it has characters of open names, also in a text.
    pub has_open_names: bool,
    /// Whether paths may lead elsewhere once it runs.
    pub relocates: bool,
    /// Whether it has a program that runs scripts.
    runs_lines: bool,
}

impl Line {
    pub fn read(text: &str, place: &Place<'_>) -> Result<Self> {
        let (folder, home) = (place.folder.to_string_lossy(), place.home.to_string_lossy());
        let joined = text.replace("\\\n", "");
        let with_home = expand(&joined, "HOME", &home);
        let with_folder = |folder: &str| {
            let line = expand(&with_home, "PWD", folder);
            line.replace("$(pwd)", folder).replace("`pwd`", folder)
        };
        // Behind a `cd` it is another folder.
        let known = with_folder(&folder);
        let tops = [text.to_owned(), with_folder("."), known.clone()];
        let (mut lines, mut known_lines) = (Vec::new(), Vec::new());
        collect(&known, 0, &mut known_lines)?;
        for top in &tops {
            collect(top, 0, &mut lines)?;
        }
        let all: Vec<String> = lines.iter().flat_map(|line| risk::words(line)).collect();
        let has = |list: &str| all.iter().any(|word| is_listed(list, base(word)));
        let relocates = |(programs, options): &(&str, &str)| {
            has(programs) && options.split(' ').any(|option| text.contains(option))
        };
        let mut line = Self {
            has_open_names: known.contains(['*', '?', '[', '{', '$', '`']),
            relocates: has(RELOCATORS) || RELOCATIONS.iter().any(relocates),
            runs_lines: lines.iter().any(|line| runs_lines(line)),
            ..Self::default()
        };
        for text in &lines {
            line.add(text, &home, tops.contains(text))?;
        }
        for text in &known_lines {
            line.judge(text);
        }
        let has_tilde = all.iter().any(|word| word.starts_with('~'));
        let has_home = with_home != joined;
        let is_within = has_tilde && joined.contains(['\'', '"', '\\'])
            || has_home && joined.contains(['\'', '\\']);
        let is_set = |name| expand(&joined, name, "").contains(name);
        if is_within && has(OTHER_HOMES)
            || (has_tilde || has_home) && is_set("HOME")
            || known != with_home && is_set("PWD")
        {
            line.unresolved.push(joined);
        }
        Ok(line)
    }

    /// Takes the words of one line.
    fn add(&mut self, text: &str, home: &str, is_top: bool) -> Result<()> {
        for words in risk::commands(text) {
            let is_plain = (is_top || self.runs_lines) && !is_text(&words);
            for name in missing::candidates(&words, is_plain) {
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
        match self.words.len() > bounds::BOUND_WORDS {
            true => Err(too_long()),
            false => Ok(()),
        }
    }

    fn push(&mut self, word: &str, home: &str) {
        if self.words.len() <= bounds::BOUND_WORDS {
            push(&mut self.words, word.to_owned());
            push(&mut self.words, at_home(word, home));
        }
    }

    /// Notes what of one line is unresolved.
    fn judge(&mut self, text: &str) {
        let commands = risk::commands(text);
        let mut open: Vec<String> = Vec::new();
        if has_expansion(text) {
            let is_open = |word: &&String| word.contains(['$', '`', '{']);
            let word = commands.iter().flatten().find(is_open);
            open.push(word.map_or(text, String::as_str).to_owned());
        }
        for words in &commands {
            let is_text = is_text(words) && !self.runs_lines;
            let splits = |word: &String| word.starts_with("-S") || word.starts_with("--split");
            let is_env = words.iter().any(|word| base(word) == "env");
            if is_env && words.iter().any(splits) && text.contains('\\') || makes_names(words) {
                open.push(text.to_owned());
            }
            for word in words {
                // A line of its own is judged by itself.
                if !is_text && !word.contains(char::is_whitespace) && is_open_word(word) {
                    open.push(word.clone());
                }
            }
        }
        let is_joined = commands.iter().flatten().any(|word| word == "eval")
            && text.contains(['\'', '"', '\\']);
        if is_fed(text) || is_joined {
            open.push(text.to_owned());
        }
        for word in open {
            push(&mut self.unresolved, word);
        }
    }
}

/// A line, and each that may be one within it.
fn collect(text: &str, depth: usize, lines: &mut Vec<String>) -> Result<()> {
    if lines.len() > bounds::BOUND_WORDS {
        return Err(too_long());
    }
    if lines.iter().any(|line| line == text) {
        return Ok(());
    }
    lines.push(text.to_owned());
    if depth == bounds::SPLIT_DEPTH {
        return Ok(());
    }
    let words = risk::words(text);
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

/// Whether a shell that reads a line puts something in that is not known here.
fn has_expansion(line: &str) -> bool {
    let (mut in_single, mut in_double) = (false, false);
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        let is_at_start =
            line[..at].ends_with(|char: char| char.is_whitespace() || ";|&(".contains(char));
        let is_at_start = at == 0 || is_at_start;
        let rest = &line[at + char.len_utf8()..];
        let next = rest.chars().next().unwrap_or(' ');
        match char {
            '\'' if !in_double => in_single = !in_single,
            _ if in_single => {}
            '\\' => drop(chars.next()),
            '"' => in_double = !in_double,
            '#' if !in_double && is_at_start => {
                while chars.next().is_some_and(|(_, char)| char != '\n') {}
            }
            '`' => return true,
            '$' if next.is_ascii_alphanumeric() || "_{([?#!$@*-".contains(next) => return true,
            '$' if "'\"".contains(next) && !in_double => return true,
            // A pattern of bash's (extglob).
            '?' | '*' | '+' | '@' | '!' if next == '(' && !in_double => return true,
            '{' if !in_double => {
                let list = rest
                    .split(['}', ' ', '\t', '\n'])
                    .next()
                    .unwrap_or_default();
                if list.contains(',') || list.contains("..") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether a word without its quotes may be read as another one: a backslash, the home of another account, or a
/// pattern for a folder.
fn is_open_word(word: &str) -> bool {
    let folder = word.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_of_someone = |part: &str| {
        let rest = part.strip_prefix('~').unwrap_or_default();
        !rest.is_empty() && !rest.starts_with('/')
    };
    word.contains('\\')
        // A class or a range, which shells read in different ways.
        || word.contains('[') && !is_listed("[ [[", word)
        || folder.contains(['*', '?', '['])
        || word.split(['=', ':']).any(is_of_someone)
}

/// Whether a line has a program that runs lines of scripts.
fn runs_lines(line: &str) -> bool {
    let is_folder = |at: usize, word: &str| at > 0 && base(word) == ".";
    risk::commands(line).iter().any(|words| {
        let mut words = words.iter().enumerate();
        words.any(|(at, word)| missing::is_runner(base(word)) && !is_folder(at, word))
    })
}

/// Whether a command has code that can put names together: of an interpreter, or of awk where that runs or reads something.
fn makes_names(words: &[String]) -> bool {
    let letters = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let letters = letters
            .strip_prefix('-')
            .map_or(letters, |name| name.get(..1).unwrap_or_default());
        letters.contains(['c', 'e', 'E', 'r', 'p'])
    };
    let reaches = |word: &String| {
        ["system", "getline", "|", "@load"]
            .iter()
            .any(|part| word.contains(part))
    };
    let is_awk = |word: &String| base(word).ends_with("awk");
    let is_interpreter =
        |word: &String| INTERPRETERS.iter().any(|name| base(word).starts_with(name));
    words.iter().any(is_awk) && words.iter().any(reaches)
        || words.iter().any(is_interpreter) && words.iter().any(letters)
}

/// Whether a line runs what it makes: a shell without a script, behind anything but a file as it is.
fn is_fed(line: &str) -> bool {
    let commands = commands(line);
    let is_file = |words: &Vec<String>| {
        words.first().is_some_and(|word| base(word) == "cat")
            && words[1..].iter().all(|word| !word.starts_with('-'))
    };
    let mut runs = commands.iter().enumerate();
    runs.any(|(at, words)| {
        let makes = line.contains('|') && !commands[..at].iter().all(is_file);
        is_run_from_input(words) && (makes || line.contains("<<<"))
    })
}

/// Whether a command runs what it reads: a shell without a script.
fn is_run_from_input(words: &[String]) -> bool {
    let is_input = |word: &String| word == "-s" || word.starts_with("/dev/");
    let mut before_texts = words
        .iter()
        .enumerate()
        .take_while(|(_, word)| !is_listed(OF_TEXT, base(word)));
    before_texts.any(|(at, word)| {
        let rest = words.get(at + 1..).unwrap_or_default();
        let is_bare = !is_listed(". source", word) && rest.iter().all(|word| word.starts_with('-'));
        is_listed(OF_INPUT, base(word))
            || missing::is_runner(base(word)) && (is_bare || rest.iter().any(is_input))
    })
}

fn is_text(words: &[String]) -> bool {
    words.iter().any(|word| is_listed(OF_TEXT, base(word)))
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
