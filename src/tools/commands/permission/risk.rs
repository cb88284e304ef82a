//! Risky command lines. The kernel confines commands; these patterns only explain a refusal early, and
//! give a second look to what a person allows outside the sandbox. They are no boundary.

use regex_lite::Regex;

use super::folders::Folders;
use crate::base::approval::Risk;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::sandbox::line::{Part, is_one_of, parts};
use crate::tools::commands::SPLIT_DEPTH;
use crate::tools::commands::texts::describe_objection;

/// The patterns of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    deny: Vec<Regex>,
    allow: Vec<Regex>,
}

/// What speaks against a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// A built-in pattern, which a person can overrule.
    Risk(Risk),
    /// A pattern of `tools.exec.denyPatterns` matches.
    DenyPattern(String),
    /// A command of the line matches no pattern of `tools.exec.allowPatterns`.
    NotListed(String),
}

impl Objection {
    /// The name of a built-in pattern, or a setting with its pattern.
    pub fn rule(&self) -> String {
        match self {
            Self::Risk(risk) => risk.name().to_owned(),
            Self::DenyPattern(pattern) => format!("tools.exec.denyPatterns: {pattern}"),
            Self::NotListed(_) => "tools.exec.allowPatterns".to_owned(),
        }
    }

    /// The objection as a clause for the model.
    pub fn for_model(&self) -> String {
        let why = describe_objection(Language::English, self);
        match self {
            Self::Risk(risk) => format!("{why} (built-in pattern {})", risk.name()),
            Self::DenyPattern(_) | Self::NotListed(_) => why,
        }
    }

    /// Whether the configuration forbids it, so that no one is asked.
    pub fn is_configured(&self) -> bool {
        !matches!(self, Self::Risk(_))
    }
}

impl Patterns {
    /// Compiles patterns in regex-lite's syntax. An error names the setting and the pattern.
    pub fn new(deny: &[String], allow: &[String]) -> Result<Self> {
        Ok(Self {
            deny: compile("tools.exec.denyPatterns", deny)?,
            allow: compile("tools.exec.allowPatterns", allow)?,
        })
    }

    /// What speaks against running a line: the configuration first, because that is final. With allow
    /// patterns every command of the line has to match one of them.
    pub fn objection(&self, line: &str) -> Option<Objection> {
        let is_allowed = |command: &&Part| self.allow.iter().any(|one| one.is_match(&command.text));
        let not_listed = || {
            let commands = parts(line).0;
            let other = commands.iter().find(|one| !is_allowed(one))?;
            Some(Objection::NotListed(other.text.clone()))
        };
        let not_listed = || (!self.allow.is_empty()).then(not_listed).flatten();
        self.denied(line)
            .or_else(not_listed)
            .or_else(|| find_risk(line).map(Objection::Risk))
    }

    /// What speaks against a line of input for a running command. Allow patterns say which programs may
    /// be started, not what is typed into them.
    pub fn objection_to_input(&self, line: &str) -> Option<Objection> {
        self.denied(line)
            .or_else(|| find_risk(line).map(Objection::Risk))
    }

    /// A deny pattern is looked for in the whole line and in each command, with and without quotes.
    fn denied(&self, line: &str) -> Option<Objection> {
        if self.deny.is_empty() {
            return None;
        }
        let commands = parts(line).0;
        let mut texts = vec![line.to_owned()];
        for command in commands {
            texts.extend([command.words.join(" "), command.text]);
        }
        let is_match = |pattern: &&Regex| texts.iter().any(|text| pattern.is_match(text));
        let found = self.deny.iter().find(is_match);
        found.map(|pattern| Objection::DenyPattern(pattern.to_string()))
    }
}

fn compile(setting: &str, patterns: &[String]) -> Result<Vec<Regex>> {
    let compile = |pattern: &String| {
        Regex::new(pattern).map_err(|error| {
            Error::Config(format!("{setting}: invalid pattern \"{pattern}\": {error}"))
        })
    };
    patterns.iter().map(compile).collect()
}

/// A built-in pattern: the risk, and whether a command has it.
type Pattern = (Risk, fn(&Command<'_>) -> bool);

const PATTERNS: [Pattern; 6] = [
    (Risk::DeleteRoot, |command| {
        command.is("rm") && command.is_recursive() && command.names(is_vital)
            || command.is("find")
                && command.has(|word| word == "-delete")
                && command.names(is_vital)
    }),
    (Risk::OpenRoot, |command| {
        command.is("chmod chown chgrp") && command.is_recursive() && command.names(is_vital)
    }),
    (Risk::Format, |command| {
        command.name.starts_with("mkfs") || command.is("mke2fs mkdosfs")
    }),
    (Risk::WriteDevice, |command| {
        let leads = |word: &str| command.folders.lead(word, is_device);
        let output = |word: &str| word.strip_prefix("of=").is_some_and(leads);
        let last = command.arguments.last().is_some_and(|word| leads(word));
        let zaps = |word: &str| is_one_of(word, "--zap --zap-all --clear");
        command.is("dd") && command.has(output)
            || command.is("sgdisk")
                && (command.has(zaps) || command.has_short_option(&['Z', 'z', 'o']).is_some())
            || command.is("rpi-eeprom-update")
                && command.has_short_option(&['a', 'f', 'r']).is_some()
            || command.is("cp mv") && last
            || command.is("tee shred mkswap wipefs blkdiscard") && command.names(is_device)
            || command.writes_to(is_device)
    }),
    (Risk::Power, |command| {
        let verb = command.arguments.iter().find(|word| !word.starts_with('-'));
        let is_verb = |verbs| verb.is_some_and(|verb| is_one_of(verb, verbs));
        let is_harmless = command.has(|word| word == "-c" || word == "--help");
        command.is("shutdown poweroff halt reboot") && !is_harmless
            || command.is("init telinit") && is_verb("0 6")
            || command.is("systemctl loginctl") && is_verb(POWER_VERBS)
            || command.is("systemctl service")
                && command.has(|word| is_one_of(word, STARTING_VERBS))
                && command.has(is_power_target)
            || command.is("tee cp") && command.names(is_power_file)
            || command.writes_to(is_power_file)
    }),
    (Risk::StopPeacrab, |command| {
        let is_ours = |word: &str| is_one_of(word, "peacrab peacrab.service");
        let stops = |word: &str| is_one_of(word, "stop disable mask kill");
        // As the first argument it is the signal.
        let is_everything = command.arguments.iter().skip(1).any(|word| word == "-1");
        command.is("kill") && is_everything
            || command.is("systemctl service") && command.has(stops) && command.has(is_ours)
    }),
];

const POWER_VERBS: &str = "poweroff reboot halt kexec suspend soft-reboot hibernate hybrid-sleep suspend-then-hibernate rescue \
     emergency exit switch-root";

/// What makes systemd start a unit, now or with the machine.
const STARTING_VERBS: &str = "isolate start restart try-restart condrestart force-restart reload-or-restart reload-or-try-restart \
     try-reload-or-restart force-reload enable reenable set-default";

/// Whether a unit of systemd's shuts the machine down, restarts it or leaves it without its services.
fn is_power_target(word: &str) -> bool {
    const TARGETS: &str = "reboot poweroff halt kexec soft-reboot shutdown rescue emergency runlevel0 runlevel1 \
         runlevel6 ctrl-alt-del suspend hibernate hybrid-sleep suspend-then-hibernate sleep final umount exit";
    let name = word
        .trim_end_matches(".target")
        .trim_end_matches(".service");
    is_one_of(name.strip_prefix("systemd-").unwrap_or(name), TARGETS)
}

/// Whether through this file the kernel is made to restart at once, or to sleep.
fn is_power_file(path: &str) -> bool {
    path == "/proc/sysrq-trigger" || path.starts_with("/sys/power/")
}

/// The first built-in pattern that a line matches.
pub(in crate::tools::commands) fn find_risk(line: &str) -> Option<Risk> {
    find_risk_in(line, &mut Folders::default())
}

fn find_risk_in(line: &str, folders: &mut Folders) -> Option<Risk> {
    if is_fork_bomb(line) {
        Some(Risk::ForkBomb)
    } else {
        risk_within(line, folders, 0)
    }
}

/// The worst that a line may be, for what is to run outside the sandbox, in one of these folders: shells end here-documents,
/// quotes and comments in different ways, so each of its lines counts by itself too.
pub(in crate::tools::commands) fn find_any_risk(line: &str, mut folders: Folders) -> Option<Risk> {
    let joined = line.replace("\\\n", "");
    // In bash a quote can be escaped within these.
    let quoted = line.contains("$'").then(|| line.replace('\'', "\n"));
    let texts = [Some(line.to_owned()), Some(joined), quoted];
    texts.into_iter().flatten().find_map(|text| {
        find_risk_in(&text, &mut folders).or_else(|| {
            let mut lines = text.lines();
            lines.find_map(|line| find_risk_in(line, &mut folders))
        })
    })
}

fn risk_within(line: &str, folders: &mut Folders, depth: usize) -> Option<Risk> {
    let commands = parts(line).0;
    // A function may be called in a folder that is entered further behind.
    folders.enter(&commands);
    commands.iter().find_map(|simple| {
        let command = Command::parse(simple, folders);
        let found = PATTERNS.iter().find(|(_, matches)| matches(&command));
        let direct = found.map(|(risk, _)| *risk);
        let script = command.script().filter(|_| depth < SPLIT_DEPTH);
        direct.or_else(|| risk_within(&script?, folders, depth + 1))
    })
}

/// `name(){ name|name& };name`, with any name and spaces.
fn is_fork_bomb(line: &str) -> bool {
    let dense: String = line.split_whitespace().collect();
    dense.match_indices("(){").any(|(at, _)| {
        let is_separator = |char: char| !char.is_alphanumeric() && !"_:.".contains(char);
        let name = dense[..at].rsplit(is_separator).next().unwrap_or_default();
        !name.is_empty() && dense[at + 3..].starts_with(&format!("{name}|{name}&"))
    })
}

/// A simple command without what only runs it: `sudo`, `env`, `nohup` …
struct Command<'a> {
    /// The program, without its folder.
    name: &'a str,
    arguments: &'a [String],
    writes: &'a [String],
    folders: &'a Folders,
}

const WRAPPERS: &str = "sudo doas env nohup nice ionice setsid exec command time timeout busybox xargs systemd-run pkexec nsenter";

impl<'a> Command<'a> {
    fn parse(simple: &'a Part, folders: &'a Folders) -> Self {
        let mut words = &simple.words[..];
        while let Some((first, mut rest)) = words.split_first()
            && is_one_of(base(first), WRAPPERS)
        {
            // Options, assignments, times, folders and the names of users are the wrapper's own.
            while let Some(word) = rest.first() {
                let is_own = word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
                match is_one_of(word, "-u -g -I -k -C -D --chdir --working-directory") {
                    true => rest = rest.get(2..).unwrap_or_default(),
                    false if is_own || word.contains('=') => rest = &rest[1..],
                    false => break,
                }
            }
            words = rest;
        }
        Self {
            name: words.first().map_or("", |word| base(word)),
            arguments: words.get(1..).unwrap_or_default(),
            writes: &simple.writes,
            folders,
        }
    }

    fn is(&self, names: &str) -> bool {
        is_one_of(self.name, names)
    }

    fn has(&self, matches: impl Fn(&str) -> bool) -> bool {
        self.arguments.iter().any(|word| matches(word))
    }

    /// Whether an argument leads to such a path from where it may run.
    fn names(&self, is: fn(&str) -> bool) -> bool {
        self.has(|word| self.folders.lead(word, is))
    }

    fn writes_to(&self, is: fn(&str) -> bool) -> bool {
        let mut writes = self.writes.iter();
        writes.any(|word| self.folders.lead(word, is))
    }

    fn has_short_option(&self, letters: &[char]) -> Option<usize> {
        let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
        let mut words = self.arguments.iter();
        words.position(|word| is_short(word) && word.contains(letters))
    }

    fn is_recursive(&self) -> bool {
        self.has(|word| word == "--recursive") || self.has_short_option(&['r', 'R']).is_some()
    }

    /// What a shell or `eval` is given to run.
    fn script(&self) -> Option<String> {
        if self.is("eval") {
            return Some(self.arguments.join(" "));
        }
        let at = self.has_short_option(&['c'])?;
        let is_shell = self.is("sh bash dash ash zsh ksh su");
        self.arguments.get(at + 1).filter(|_| is_shell).cloned()
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The root, a folder of the system right below it, or a home folder, however it is written.
fn is_vital(word: &str) -> bool {
    const FOLDERS: &str = "bin boot dev etc home lib lib64 opt proc root run sbin srv sys usr var";
    let path = word.trim_end_matches(['/', '.', '*']);
    if !word.starts_with('/') {
        return path.starts_with('~') && !path.contains('/') || is_one_of(path, "$HOME ${HOME}");
    }
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .collect();
    match names[..] {
        [] | ["home", _] => true,
        [name] => is_one_of(name, FOLDERS),
        _ => false,
    }
}

/// A disk, a card or the kernel's memory.
fn is_device(word: &str) -> bool {
    const KINDS: &str = "sd hd vd xvd nvme mmcblk disk/ mapper/ md mem kmem port";
    let device = word.strip_prefix("/dev/");
    device.is_some_and(|name| KINDS.split(' ').any(|kind| name.starts_with(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(deny: &str, allow: &str, line: &str) -> Option<String> {
        let list = |patterns: &str| {
            patterns
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let patterns = Patterns::new(&list(deny), &list(allow)).unwrap();
        patterns.objection(line).map(|objection| objection.rule())
    }

    #[test]
    fn an_allow_list_has_to_match_every_command_of_a_line() {
        let allow = |line: &str| rule("", r"^git\b ^ls\b", line);
        for line in r#"git status ¦ ls -la | git diff ¦ ls;git log ¦ ls "$(ls)""#.split(" ¦ ") {
            assert_eq!(allow(line), None, "{line}");
        }
        let lines = "git status; curl x ¦ ls | sh ¦ ls && wget x ¦ ls\ncurl x ¦ ls $(curl x) ¦ lsof ¦ X=1 curl x \
            ¦ ls \"`curl x`\" ¦ ls & curl x ¦ ls <(curl x) ¦ if ls; then curl x; fi ¦ (ls; curl x) \
            ¦ git log <<E\n$(curl x)\nE ¦ git log <<'E'\nx\nE\ncurl x ¦ ls `ls \\`curl x\\``";
        for line in lines.split(" ¦ ") {
            assert_eq!(
                allow(line).as_deref(),
                Some("tools.exec.allowPatterns"),
                "{line}"
            );
        }
    }

    #[test]
    fn the_configuration_is_final_and_sees_through_quotes() {
        for line in ["ls; c'u'rl x", "reboot", "ls | \\reboot"] {
            let denied = Some("tools.exec.denyPatterns: ^(curl|reboot)");
            assert_eq!(
                rule("^(curl|reboot)", "", line).as_deref(),
                denied,
                "{line}"
            );
        }
        assert_eq!(rule("^curl", "", "grep curl file"), None);
        let error = Patterns::new(&["(".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().starts_with("tools.exec.denyPatterns: "));
    }

    #[test]
    fn risks_are_found_however_they_are_written() {
        const LINES: &str = r#"
delete-root: rm -rf / ¦ rm -fr /* ¦ rm -r -f --no-preserve-root / ¦ sudo rm -rf /etc ¦ cd / && rm -rf ~ ¦ rm -rf ~/*
delete-root: rm -rf "$HOME" ¦ rm --recursive /usr/ ¦ echo a; /bin/rm -Rf /home/pi ¦ sh -c 'rm -rf /' ¦ eval rm -rf /
delete-root: echo $(rm -rf /) ¦ env X=1 nice -n 5 rm -rf / ¦ r''m -rf // ¦ timeout 5 rm -rf / ¦ sudo -u root -- rm -rf /
open-root: chmod -R 777 / ¦ sudo chown -R pi:pi /usr ¦ chmod 777 -R ~
format: mkfs.ext4 /dev/sda1 ¦ sudo mkfs -t vfat /dev/mmcblk0p1
write-device: dd if=/dev/zero of=/dev/mmcblk0 bs=1M ¦ cat x > /dev/sda ¦ xz -dc i | sudo tee /dev/sdb ¦ cp i /dev/mmcblk0
write-device: wipefs -a /dev/sda ¦ sgdisk -Z /dev/sda ¦ sudo sgdisk --zap-all /dev/mmcblk0 ¦ sudo rpi-eeprom-update -r
delete-root: find / -delete ¦ find / -xdev -type f -delete ¦ sudo find ~ -mindepth 1 -delete
power: echo b > /proc/sysrq-trigger ¦ echo b | sudo tee /proc/sysrq-trigger ¦ systemctl soft-reboot ¦ systemctl hibernate
power: systemctl isolate reboot.target ¦ sudo systemctl --no-block isolate poweroff.target ¦ systemctl start halt.target
stop-peacrab: kill -9 -1 ¦ sudo kill -KILL -1 ¦ kill -- -1 ¦ kill -s KILL -1 ¦ systemctl stop peacrab ¦ service peacrab stop
stop-peacrab: sudo systemctl disable --now peacrab.service ¦ systemctl --user mask peacrab
power: systemctl restart reboot.target ¦ systemctl try-restart poweroff.target ¦ systemctl reload-or-restart halt.target
power: systemctl condrestart kexec.target ¦ sudo systemctl restart -q emergency ¦ systemctl restart nginx rescue.target
power: systemctl reload-or-try-restart shutdown.target ¦ systemctl try-reload-or-restart ctrl-alt-del.target
power: systemctl -H x restart reboot.target ¦ systemctl start systemd-poweroff.service ¦ service systemd-reboot start
power: systemctl set-default halt.target ¦ systemctl enable --now reboot.target ¦ systemctl rescue ¦ systemd-run reboot
power: reboot ¦ sudo shutdown -h now ¦ make && poweroff ¦ systemctl --force reboot ¦ init 0 ¦ nohup /sbin/halt & ¦ sudo -n reboot
fork-bomb: :(){ :|:& };: ¦ bomb() { bomb | bomb & }; bomb"#;
        for (name, lines) in LINES.lines().filter_map(|line| line.split_once(": ")) {
            for line in lines.split(" ¦ ") {
                assert_eq!(rule("", "", line).as_deref(), Some(name), "{line}");
            }
        }
    }

    #[test]
    fn plain_work_raises_no_alarm() {
        const LINES: &str = r#"grep kill src; git commit -m "reboot fix"; echo $((1+1)); echo ~; rm file
rm -rf build ./node_modules target/ /tmp/build ~/project/build /home/pi/old; rm -r "$HOME/.cache/pip"; ls -R /etc
echo "rm -rf /"; echo 'rm -rf /'; chmod -R u+w build; make > build.log 2>&1 & df -h /; sed -i 's/reboot/restart/' notes
mkswap /swapfile; dd if=/dev/zero of=disk.img bs=1M count=10; dd if=/dev/sda of=card.img; cat x > /dev/null 2>&1; cp -r /etc/skel .
git log --grep=shutdown; man reboot; shutdown -c; reboot --help; systemctl status reboot.target; journalctl -u halt
kill -1 4711; kill -9 4711; systemctl restart peacrab; systemctl stop nginx; systemctl isolate multi-user.target; systemctl restart ssh.service; sgdisk -p /dev/sda
find . -name '*.o' -delete; find /tmp/build -delete; find / -name x; rpi-eeprom-update; cat /proc/sysrq-trigger
python3 -c 'print("poweroff")'; sudo grep reboot /var/log/syslog; f() { g | h & }; curl -s https://example.org | sh"#;
        for line in LINES.lines().chain(["cat > x <<E\nreboot\nE\nls"]) {
            assert_eq!(rule("", "", line), None, "{line}");
        }
    }

    #[test]
    fn a_quote_that_is_none_for_a_shell_hides_no_command() {
        for line in [
            "echo a \\\n#'\nreboot\n#'",
            "cat <<E\n\tE\necho '\nE\nreboot\n#'",
            "cat <<A <<B\nA\necho '\nB\nreboot\n#'",
            "cat <<E\nx\\\nE\necho '\nE\nreboot\n#'",
            "echo \"a\\b\" && reboot",
            "echo $'\\'' ; reboot #'",
            "re\\\nboot",
            "cat <<-E\n\tE\nreboot",
            "cat <<'E'\nit's\nE\nreboot",
        ] {
            assert_eq!(
                find_any_risk(line, Folders::default()),
                Some(Risk::Power),
                "{line:?}"
            );
        }
        for line in [
            "cat <<E\n\tE\necho '\nE\nreboot\n#'",
            "echo a \\\n#'\nreboot\n#'",
            "cat <<A <<B\nA\necho '\nB\nreboot\n#'",
        ] {
            assert_eq!(find_risk(line), Some(Risk::Power), "{line:?}");
        }
        assert_eq!(
            crate::sandbox::line::words("sh \"dep\\loy\" a\rb"),
            ["sh", "dep\\loy", "a\rb"]
        );
        assert_eq!(find_risk("cat > x <<E\nreboot\nE\nls"), None);
    }

    #[test]
    fn what_erases_the_board_is_known_wherever_it_is_written_from() {
        const RISKY: &str = r"
/dev: cat x > sda ¦ cat x > ./sda ¦ dd if=x of=sda ¦ cp x vda ¦ tee mmcblk0 < x ¦ tee x sda ¦ cat x > ../dev/sda ¦ sudo wipefs sda -a
/: cat x > dev/sda ¦ rm -rf etc ¦ rm -rf * ¦ rm -rf ./usr/ ¦ chmod -R 0 . ¦ echo b > proc/sysrq-trigger ¦ find . -delete
/proc: echo b > sysrq-trigger ¦ echo b | tee ./sysrq-trigger
/sys: echo mem > power/state ¦ cp x power/disk
/home/pi/x: rm -rf .. ¦ rm -rf ../.. ¦ rm -rf ../../../etc ¦ chmod -R 0 ../
/srv: cat x > /dev//sda ¦ cat x > /dev/./sda ¦ cat x > /srv/../dev/sda ¦ dd of=//dev/sda ¦ echo mem > /sys/power/state
/srv: cd /dev && dd if=x of=sda ¦ (cd /dev; cat x > sda) ¦ cd / && cd dev && cat x > sda ¦ cd ../dev; cp x vda ¦ pushd /dev; cp x sdb
/srv: cd -P /dev; cp x vda ¦ command cd /dev; cp x vda ¦ sh -c 'cd /dev; cp x vda' ¦ f() { cp x vda; }; cd /dev; f
/srv: cd $D && dd if=x of=sda ¦ cd $(echo /dev); cat x > nvme0n1 ¦ cd - && cp x mmcblk0p1 ¦ cd /d*v; cat x > sdzz4 ¦ cd $D; cat x > mem
/srv: env -C /dev dd if=x of=sda ¦ sudo --chdir=/dev cp x vda ¦ sudo -D /dev wipefs sda ¦ cd /dev\ncp x vda ¦ cd $D; echo b > sysrq-trigger";
        const PLAIN: &str = r"
/srv/app: cat x > sda ¦ rm -rf etc ¦ cd build && rm -rf * ¦ cd $D && cat x > sdcard.img ¦ cd ~/app; echo x > md.txt ¦ rm -rf ./dev
/srv/app: cd /dev/shm && cat x > notes ¦ cd .. && ls ¦ grep -C 3 x sda ¦ make -C sub install ¦ cat /sys/power/state ¦ cd /dev; cat sda > /srv/x
/home/pi/app: rm -rf build ¦ rm -rf ../old ¦ chmod -R u+w . ¦ find . -name x -delete ¦ cd sub && rm -rf .
/dev: cat x > null ¦ ls sda ¦ dd if=sda of=/srv/card.img ¦ cp sda /srv/card.img
/: ls dev ¦ cat x > srv/notes ¦ rm -rf tmp/x";
        for (folder, lines) in RISKY.lines().filter_map(|line| line.split_once(": ")) {
            for line in lines.split(" ¦ ") {
                let line = line.replace("\\n", "\n");
                let found = find_any_risk(&line, Folders::at(folder.as_ref()));
                assert!(found.is_some(), "{folder}: {line}");
            }
        }
        for (folder, lines) in PLAIN.lines().filter_map(|line| line.split_once(": ")) {
            for line in lines.split(" ¦ ") {
                let found = find_any_risk(line, Folders::at(folder.as_ref()));
                assert_eq!(found, None, "{folder}: {line}");
            }
        }
        let typed = |line: &str| find_any_risk(line, Folders::since("/srv".as_ref()));
        assert_eq!(typed("cat x > sda"), Some(Risk::WriteDevice));
        assert_eq!(typed("cat x > notes"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_split_and_what_stands_before_it_is_seen(line in ".{0,80}") {
            let more = ["curl x\n", &line].concat();
            prop_assert!(rule("", "^ls$", &more).is_some());
        }
    }
}
