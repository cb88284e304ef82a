//! The programs whose use of files is known: they open what their line names, and run nothing else.

use super::missing::{is_listed, is_runner};
use super::words::base;
use crate::base::limits::tools::SPLIT_DEPTH;
use crate::tools::commands::risk::{self, Part};

/// Programs that open only files that their words name, and run none.
const KNOWN: &str = "\
    true false : echo printf test [ cd pwd cat tac head tail nl wc sort uniq cut tr rev paste comm diff cmp ls dir stat \
    file du df find readlink realpath basename dirname mkdir rmdir touch rm ln chmod chown chgrp cp mv tee dd truncate \
    grep egrep fgrep zgrep zcat sed awk gawk mawk md5sum sha1sum sha256sum sha512sum cksum base64 base32 xxd od strings \
    date sleep seq id whoami who w users groups getent hostname uname arch uptime free vmstat nproc ps pgrep pkill kill \
    killall top lsof fuser lscpu lsusb lspci lsmod lsblk blkid findmnt mount umount swapon swapoff sync fdisk dmesg \
    journalctl systemctl loginctl timedatectl hostnamectl localectl networkctl resolvectl service apt apt-get apt-cache \
    dpkg dpkg-query ping traceroute ip ss netstat ifconfig iw iwconfig iwgetid rfkill nmcli ufw curl wget host dig \
    nslookup rsync scp ssh vcgencmd pinctl reboot poweroff halt shutdown logger wall crontab useradd usermod userdel \
    groupadd passwd which whereis type exit wait umask";

/// Programs that take a folder with all that is in it.
const OF_FOLDERS: &str = "cp mv rsync scp tar zip chmod chown chgrp";

/// Programs that run the rest of their line, and the options that change nothing about that.
const WRAPPERS: [(&str, &str); 7] = [
    ("sudo", "-n"),
    ("nohup", ""),
    ("setsid", ""),
    ("command", ""),
    ("exec", ""),
    ("nice", "-n"),
    ("timeout", ""),
];

/// Variables that change no program and no path.
const HARMLESS: &str =
    "LANG LANGUAGE LC_ALL LC_MESSAGES LC_TIME TZ TERM COLUMNS LINES DEBIAN_FRONTEND NO_COLOR";

/// Letters of options with which a shell still runs one script, or the line behind `-c`.
const OF_SHELLS: &str = "euxvnlcV";

/// What is known of the programs of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    /// Each opens what the line names.
    #[default]
    All,
    /// One opens what it likes.
    NotAll,
    /// One runs names that it puts together.
    Nothing,
}

/// What is known of a line. `is_bound` says whether a word is a file that is bound.
pub(super) fn judge(line: &str, is_bound: &dyn Fn(&str) -> bool) -> Known {
    of_line(line, is_bound, 0)
}

fn of_line(line: &str, is_bound: &dyn Fn(&str) -> bool, depth: usize) -> Known {
    if depth > SPLIT_DEPTH {
        return Known::Nothing;
    }
    let (parts, others) = risk::parts(line);
    let sets = |word: &String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !is_listed(HARMLESS, name))
    };
    let mut known = match others.iter().any(sets) {
        true => Known::NotAll,
        false => Known::All,
    };
    for (at, part) in parts.iter().enumerate() {
        known = known.max(of_command(&part.words, is_bound, depth));
        if let Some(script) = script_of(&part.words).filter(|script| !is_bound(script)) {
            let is_it = |word: &String| base(word) == base(script);
            let made = |one: &Part| one.writes.iter().chain(&one.words).any(is_it);
            let is_made = parts[..at].iter().any(made) || part.writes.iter().any(is_it);
            if is_made {
                known = Known::Nothing;
            }
        }
    }
    known
}

fn of_command(words: &[String], is_bound: &dyn Fn(&str) -> bool, depth: usize) -> Known {
    let Some(words) = unwrapped(words) else {
        return Known::NotAll;
    };
    let Some((first, arguments)) = words.split_first() else {
        return Known::All;
    };
    let program = base(first);
    if program == "sed" && !has_plain_script(arguments) {
        return Known::Nothing;
    }
    if is_shell(program) {
        return of_shell(arguments, is_bound, depth);
    }
    let is_own = is_runner(program) && arguments.first().is_some_and(|word| is_bound(word));
    let is_known = is_listed(KNOWN, program) && is_of_system(first);
    match is_known
        || is_own && is_listed(". source", first)
        || first.contains('/') && is_bound(first)
    {
        true => Known::All,
        false => Known::NotAll,
    }
}

fn of_shell(arguments: &[String], is_bound: &dyn Fn(&str) -> bool, depth: usize) -> Known {
    let mut rest = arguments.iter();
    let mut is_line = false;
    for word in rest.by_ref() {
        let Some(letters) = word.strip_prefix('-') else {
            return match is_line {
                true => of_line(word, is_bound, depth + 1),
                false => Known::All,
            };
        };
        if letters.chars().any(|letter| !OF_SHELLS.contains(letter))
            && word != "--version"
            && word != "-s"
        {
            return Known::Nothing;
        }
        is_line |= letters.contains('c');
    }
    Known::All
}

/// The script that a command runs: behind a shell, or its program where that is a path.
fn script_of(words: &[String]) -> Option<&String> {
    let words = unwrapped(words)?;
    let (first, arguments) = words.split_first()?;
    if is_runner(base(first)) {
        return arguments.iter().find(|word| !word.starts_with('-'));
    }
    Some(first).filter(|first| first.contains('/') && !is_of_system(first))
}

/// Whether a command may take a whole folder of those it names.
pub(super) fn takes_folders(words: &[String]) -> bool {
    words.iter().any(|word| is_listed(OF_FOLDERS, base(word)))
}

/// The command behind programs that run it as it is; `None` where they may run it as another one.
fn unwrapped(mut words: &[String]) -> Option<&[String]> {
    while let Some((first, rest)) = words.split_first() {
        let Some((name, options)) = WRAPPERS.iter().find(|(name, _)| *name == base(first)) else {
            break;
        };
        words = rest;
        while let Some(word) = words.first().filter(|word| word.starts_with('-')) {
            let is_number = word[1..].bytes().all(|byte| byte.is_ascii_digit());
            if !(is_listed(options, word) || *name == "nice" && is_number) {
                return None;
            }
            // The number behind `-n`.
            words = words.get(1 + usize::from(*name == "nice" && !is_number)..)?;
        }
        if *name == "timeout" {
            words = words.get(1..)?;
        }
    }
    Some(words)
}

fn is_shell(program: &str) -> bool {
    is_listed("sh bash dash ash zsh ksh . source", program)
}

fn is_of_system(program: &str) -> bool {
    let folders = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"];
    !program.contains('/')
        || folders
            .iter()
            .any(|folder| program.strip_prefix(folder) == Some(base(program)))
}

/// Whether all that sed is told is one substitution, or to print or delete lines: no command that runs or writes
/// something (`e`, `w`, and what else a longer script may hide).
fn has_plain_script(arguments: &[String]) -> bool {
    let (mut scripts, mut rest) = (Vec::new(), arguments.iter());
    let mut first = None;
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            Some("e" | "-expression") => scripts.extend(rest.next()),
            Some(letters) if letters.starts_with('i') || letters.starts_with("-in-place") => {}
            Some(letters) if letters.chars().all(|letter| "nErsuz".contains(letter)) => {}
            Some(_) => return false,
            None => first = first.or(Some(word)),
        }
    }
    if scripts.is_empty() {
        scripts.extend(first);
    }
    scripts.iter().all(|script| is_plain_edit(script))
}

fn is_plain_edit(script: &str) -> bool {
    let is_address = |char: char| char.is_ascii_digit() || "$,~+ ".contains(char);
    let script = script.trim_start_matches(is_address);
    let (command, rest) = match script.strip_prefix('/') {
        Some(rest) => match rest.split_once('/') {
            Some((_, command)) => (command, ""),
            None => return false,
        },
        None => script
            .strip_prefix('s')
            .map_or((script, ""), |rest| ("s", rest)),
    };
    if command != "s" {
        return is_listed("d p q = D P", command.trim());
    }
    let mut chars = rest.chars();
    let Some(mark) = chars
        .next()
        .filter(|mark| mark.is_ascii_punctuation() && *mark != '\\')
    else {
        return false;
    };
    let mut left = 2;
    while left > 0 {
        match chars.next() {
            Some('\\') => drop(chars.next()),
            Some(char) => left -= u8::from(char == mark),
            None => return false,
        }
    }
    chars.all(|char| char.is_ascii_digit() || "gIipm ".contains(char))
}
