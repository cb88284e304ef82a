//! PURE: programs that draw on a terminal, which a command of `/sh` does not have, and those that would wait forever in
//! the sandbox.

use crate::sandbox::line::programs;

/// Programs that always need one.
const ALWAYS: [&str; 32] = [
    "vi",
    "vim",
    "nvim",
    "view",
    "nano",
    "pico",
    "joe",
    "mcedit",
    "micro",
    "htop",
    "btop",
    "atop",
    "iotop",
    "iftop",
    "nmon",
    "mc",
    "ranger",
    "nnn",
    "ncdu",
    "tig",
    "lazygit",
    "raspi-config",
    "nmtui",
    "alsamixer",
    "cfdisk",
    "visudo",
    "mutt",
    "irssi",
    "weechat",
    "minicom",
    "picocom",
    "watch",
];
/// Programs that need one to talk with a person: without arguments but for options.
const ALONE: [&str; 17] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "python",
    "python3",
    "node",
    "irb",
    "lua",
    "ghci",
    "tmux",
    "screen",
    "aptitude",
    "bc",
    "ftp",
    "redis-cli",
];
/// The same for databases, unless they are given what to do.
const DATABASES: [&str; 3] = ["mysql", "mariadb", "psql"];

/// Where the system's journal is.
pub const JOURNALS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// Whether a line follows the system's journal until it is ended.
pub fn follows_journal(line: &str) -> bool {
    let first = line.split(['|', ';', '\n']).next().unwrap_or_default();
    let mut words = first.split_whitespace();
    let is_journal = words.next() == Some("journalctl") && !line.contains('&');
    is_journal
        && words.any(|word| {
            let letters = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
            // What follows one of these is its value.
            let options = letters.and_then(|all| all.split(char::is_uppercase).next());
            let options = options.and_then(|all| all.split(['n', 'u', 'p', 'o', 't', 'g']).next());
            word == "--follow" || options.is_some_and(|all| all.contains('f'))
        })
}

/// The program of a line that needs a terminal; `None` where it needs none, or gets its input or output elsewhere.
pub fn needed_by(line: &str) -> Option<String> {
    if line.contains(['|', '<', '>', ';', '&', '\n']) {
        return None;
    }
    let mut all = programs(line).into_iter();
    let (words, None) = (all.next()?, all.next()) else {
        return None;
    };
    let mut words = words.iter().map(String::as_str);
    let program = match words.next()? {
        "sudo" => words.next()?,
        program => program,
    };
    let program = program.rsplit('/').next()?;
    let arguments: Vec<&str> = words.collect();
    let has = |option: &str| arguments.contains(&option);
    let is_group = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let needs = match program {
        _ if has("--version") || has("--help") || arguments == ["-h"] => false,
        "top" => {
            let is_batch = |word: &&str| is_group(word) && word.contains('b') || *word == "--batch";
            !arguments.iter().any(is_batch)
        }
        "emacs" => !has("--batch") && !has("-batch"),
        "crontab" => has("-e"),
        "sqlite3" => {
            arguments
                .iter()
                .filter(|word| !word.starts_with('-'))
                .count()
                < 2
        }
        program if DATABASES.contains(&program) => {
            let long = ["--execute", "--command", "--file", "--list"];
            let does = |word: &&str| {
                let is_short = ["-e", "-c", "-f", "-l"]
                    .iter()
                    .any(|start| word.starts_with(start));
                is_group(word) && is_short || long.iter().any(|start| word.starts_with(start))
            };
            !arguments.iter().any(does)
        }
        program if ALONE.contains(&program) => {
            arguments.iter().all(|word| matches!(*word, "-i" | "-q"))
        }
        program => ALWAYS.contains(&program),
    };
    needs.then(|| program.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_follows_the_journal_is_known() {
        for line in [
            "journalctl -f",
            "journalctl -xef",
            "journalctl -u ssh -f | grep x",
            "journalctl --follow -n 5",
            "journalctl -fu ssh",
        ] {
            assert!(follows_journal(line), "{line}");
        }
        for line in [
            "journalctl",
            "journalctl -n 5",
            "journalctl -ofull",
            "journalctl | grep -f x",
            "journalctl --no-follow",
            "journalctl -f & sleep 5; kill $!",
            "timeout 5 journalctl -f",
            "tail -f log",
        ] {
            assert!(!follows_journal(line), "{line}");
        }
    }

    #[test]
    fn programs_that_draw_are_known_by_their_words() {
        for line in [
            "vim x",
            "sudo nano /etc/hosts",
            "htop",
            "top",
            "top -d 5",
            "python3",
            "python3 -q",
            "bash",
            "sudo sh",
            "mysql",
            "mysql -u root -p shop",
            "psql shop",
            "/usr/bin/vi a.txt",
            "EDITOR=vi crontab -e",
            "sqlite3 a.db",
            "watch -n 1 date",
            "sudo raspi-config",
        ] {
            assert!(needed_by(line).is_some(), "{line}");
        }
        for line in [
            "vim --version",
            "echo vim",
            "top -b -n 1",
            "top -bn1",
            "python3 x.py",
            "sh x.sh",
            "bash -c 'ls'",
            "python3 -c 'print(1)'",
            "mysql -e 'show tables'",
            "mysql --execute=x",
            "psql -c 'select 1'",
            "echo 1 | python3",
            "python3 < x.py",
            "crontab -l",
            "sqlite3 a.db .tables",
            "tmux ls",
            "which nano",
            "cat vim",
            "ls",
            "",
            "sudo",
            "bc <<< 1+1",
            "watch --version",
        ] {
            assert_eq!(needed_by(line), None, "{line}");
        }
    }
}
