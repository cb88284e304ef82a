//! Patterns of commands that an owner allows, such as `systemctl restart *`. Pure.
//!
//! A pattern is matched against the whole line, word by word, and only a line that no shell could read as
//! anything but these words is looked at.

use crate::base::limits::tools::ALLOWED_WORDS_MAX;

/// Characters of such a pattern.
const ALLOWED_CHARS_MAX: usize = 300;

/// Stands for one word.
const ANY: &str = "*";

/// Programs that run what their arguments say, or read and write the files that these name: any word behind one of them
/// can be anything.
const OPEN: &str = "sh bash dash ash zsh ksh fish python pypy perl node nodejs deno bun ruby php lua awk gawk mawk sed tclsh \
                    env sudo doas su runuser setpriv chroot unshare nsenter nohup nice ionice timeout time watch xargs \
                    parallel exec eval command builtin source setsid stdbuf script systemd-run at batch crontab flock \
                    strace gdb find ssh scp sftp rsync tar cpio zip unzip gzip xz zstd 7z cp mv ln install dd tee cat tac \
                    head tail less more grep egrep zgrep cut sort uniq diff cmp od xxd hexdump base64 strings split truncate \
                    shred rm chmod chown chgrp touch mkdir mount umount curl wget nc ncat socat openssl gpg jq yq git make \
                    cmake npm npx yarn pnpm pip uv cargo go docker podman kubectl ansible ansible-playbook vi vim nano ed \
                    emacs busybox toybox pkexec taskset setarch gosu chrt fakeroot numactl prlimit systemd-nspawn machinectl \
                    start-stop-daemon dbus-run-session tmux screen expect rbash csh tcsh mksh pwsh rscript julia java guile m4 \
                    sqlite3 psql mysql mariadb dpkg rpm insmod modprobe gcc cc run-parts visudo ip tc";

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is empty, too long or has too many words.
    Size,
    /// It has a character that means something to a shell.
    Character(char),
    /// Its first word, the program, is not written out.
    Program,
    /// A `*` is only a part of a word.
    Part,
    /// A `*` stands behind a program for which it could mean anything.
    Open(String),
}

/// A pattern as it is kept: its words, with one space between them.
pub fn parse(text: &str) -> Result<String, Fault> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if words.is_empty()
        || words.len() > ALLOWED_WORDS_MAX
        || text.chars().count() > ALLOWED_CHARS_MAX
    {
        return Err(Fault::Size);
    }
    for word in &words {
        if *word == ANY {
            continue;
        }
        if word.contains(ANY) {
            return Err(Fault::Part);
        }
        if let Some(char) = word.chars().find(|char| !is_plain(*char)) {
            return Err(Fault::Character(char));
        }
    }
    match words.first() {
        Some(first) if is_program(first) => {}
        _ => return Err(Fault::Program),
    }
    match words.iter().position(|word| *word == ANY) {
        Some(star) => {
            let before = words.get(..star).unwrap_or_default();
            // What root's rights are for is a command of its own.
            let command = match before {
                ["sudo", "-n", command @ ..] | ["sudo", command @ ..]
                    if command.first().is_some_and(|word| !word.starts_with('-')) =>
                {
                    command
                }
                whole => whole,
            };
            match command.first().filter(|word| is_open(word)) {
                Some(program) => Err(Fault::Open((*program).to_owned())),
                None => Ok(words.join(" ")),
            }
        }
        None => Ok(words.join(" ")),
    }
}

/// Whether a word is the name of one of the [`OPEN`] programs, in whatever folder and version.
fn is_open(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let version = |char: char| char.is_ascii_digit() || matches!(char, '.' | '-');
    let bare = name.trim_end_matches(version);
    OPEN.split_ascii_whitespace()
        .any(|open| open.eq_ignore_ascii_case(name) || open.eq_ignore_ascii_case(bare))
}

/// Whether a command line is one that a pattern allows. A `*` stands for exactly one word: not for an option, which can
/// turn a command into another one, and not for a path or an assignment.
pub fn matches(pattern: &str, line: &str) -> bool {
    if parse(pattern).is_err() || !is_plain_line(line) {
        return false;
    }
    let words = |text: &str| -> Vec<String> {
        text.split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (pattern, line) = (words(pattern), words(line));
    let is_same = |(expected, word): (&String, &String)| match expected.as_str() {
        ANY => !word.starts_with('-') && !word.contains(['/', '=']) && !word.starts_with('.'),
        expected => word == expected,
    };
    pattern.len() == line.len()
        && line.first().is_some_and(|first| is_program(first))
        && pattern.iter().zip(&line).all(is_same)
}

/// Whether a shell reads a line as nothing but the words that it shows.
pub fn is_plain_line(line: &str) -> bool {
    line.chars().all(|char| char == ' ' || is_plain(char))
}

/// Whether a shell reads a character as itself, wherever it is in a word.
fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(char, '-' | '_' | '.' | '/' | ':' | '@' | ',' | '+' | '=')
}

/// Whether a word can be the name of a program: with a `=` a shell would set a variable, and from a relative
/// path it depends on the folder what runs.
fn is_program(word: &str) -> bool {
    let is_relative = word.contains('/') && !word.starts_with('/');
    let begins_plain = word.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '/');
    begins_plain && !word.contains('=') && !is_relative
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_exactly_one_word() {
        for (pattern, line, expected) in [
            ("systemctl restart *", "systemctl restart nginx", true),
            ("systemctl restart *", "  systemctl   restart nginx ", true),
            ("systemctl restart *", "systemctl restart", false),
            ("systemctl restart *", "systemctl restart nginx ssh", false),
            ("systemctl restart *", "systemctl stop nginx", false),
            ("systemctl restart *", "systemctl restart --root=/x", false),
            ("systemctl restart *", "sudo systemctl restart nginx", false),
            (
                "systemctl restart *",
                "systemctl restart /root/.peacrab/config.json",
                false,
            ),
            ("systemctl restart *", "systemctl restart ../x", false),
            ("systemctl restart *", "systemctl restart a=b", false),
            ("sh job.sh", "sh job.sh", true),
            ("apt-get install -y *", "apt-get install -y nginx", true),
            (
                "sudo systemctl restart *",
                "sudo systemctl restart nginx",
                true,
            ),
            ("df -h", "df -h", true),
            ("df -h", "df -h /", false),
            ("* restart", "systemctl restart", false),
            ("systemctl restart *", "systemctl restart *", false),
            ("systemctl restart *", "systemctl\trestart nginx", false),
        ] {
            assert_eq!(matches(pattern, line), expected, "{pattern} / {line}");
        }
    }

    #[test]
    fn a_text_that_is_no_pattern_says_why() {
        for (text, fault) in [
            ("", Fault::Size),
            (&"a ".repeat(ALLOWED_WORDS_MAX + 1), Fault::Size),
            ("systemctl restart ngin*", Fault::Part),
            ("*", Fault::Program),
            ("* restart", Fault::Program),
            ("A=1 b", Fault::Program),
            ("./script", Fault::Program),
            ("-x", Fault::Program),
            ("cat $HOME", Fault::Character('$')),
            ("echo 'a'", Fault::Character('\'')),
            ("sh *", Fault::Open("sh".to_owned())),
            (
                "/usr/bin/python3.11 *",
                Fault::Open("/usr/bin/python3.11".to_owned()),
            ),
            ("sudo *", Fault::Open("sudo".to_owned())),
            ("env *", Fault::Open("env".to_owned())),
            ("sudo -n cp * *", Fault::Open("cp".to_owned())),
            ("cat *", Fault::Open("cat".to_owned())),
            ("sudo -u root * *", Fault::Open("sudo".to_owned())),
            ("sudo -n -i *", Fault::Open("sudo".to_owned())),
            ("taskset 1 * *", Fault::Open("taskset".to_owned())),
            ("echo ä", Fault::Character('ä')),
        ] {
            assert_eq!(parse(text).as_ref(), Err(&fault), "{text}");
        }
        assert_eq!(parse("  df   -h "), Ok("df -h".to_owned()));
    }

    proptest! {
        #[test]
        fn no_metacharacter_gets_through(
            before in "[a-z ]{0,8}", meta in "[;&|<>$`()\\n\\r\\t'\"\\\\*?\\[\\]{}~#!%^\u{a0}\u{2028}é]", after in "[a-z ]{0,8}",
        ) {
            let word = format!("{before}{meta}{after}");
            let line = format!("systemctl restart {word}");
            prop_assert!(!matches("systemctl restart *", &line));
            prop_assert!(!matches("systemctl restart * *", &line));
            prop_assert!(!matches(&line, &line));
        }

        #[test]
        fn what_matches_is_these_words_to_a_shell(line in "[a-z=/.@:,+*;&|$ -]{0,24}") {
            for pattern in ["a *", "a * *", "a", "a -b *"] {
                if matches(pattern, &line) {
                    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
                    let expected: Vec<&str> = pattern.split(' ').collect();
                    prop_assert_eq!(words.len(), expected.len());
                    for (word, expected) in words.iter().zip(expected) {
                        prop_assert!(word == &expected || expected == "*" && !word.starts_with('-'));
                        prop_assert!(word.chars().all(is_plain));
                    }
                }
            }
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "\\PC{0,60}", line in "\\PC{0,60}") {
            if let Ok(pattern) = parse(&text) {
                let again = parse(&pattern);
                prop_assert_eq!(again.as_ref(), Ok(&pattern));
                let _ = matches(&pattern, &line);
            }
        }
    }
}
