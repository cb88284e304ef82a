//! What is nearly always a mistake, with a reason each. The sandbox does not need it: it explains
//! early, and for commands that a person lets out of the sandbox it is a second look.

use super::split::{Simple, commands};
use crate::limits::tools as bounds;

/// A kind of mistake.
pub struct Mistake {
    /// What it is called in a refusal and in the log.
    pub name: &'static str,
    /// Why it is one.
    pub reason: &'static str,
    is: fn(&Command<'_>) -> bool,
}

/// All of them.
pub const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "delete-root",
        reason: "it deletes the system or a home folder",
        is: |command| command.is_one_of(&["rm"]) && command.recursive() && command.on_vital_path(),
    },
    Mistake {
        name: "find-delete-root",
        reason: "it deletes everything that it finds, from the root or a home folder on",
        is: |command| {
            command.is_one_of(&["find"])
                && command.arguments.first().is_some_and(|path| is_vital(path))
                && (command.has("-delete") || command.has("rm"))
                && !command
                    .arguments
                    .iter()
                    .any(|word| word.ends_with("name") || word == "-path")
        },
    },
    Mistake {
        name: "format",
        reason: "it makes a new file system where there is one already",
        is: |command| command.name.starts_with("mkfs") || command.is_one_of(&["mke2fs", "mkdosfs"]),
    },
    Mistake {
        name: "wipe-device",
        reason: "it wipes a disk or a card",
        is: |command| {
            command.is_one_of(&["blkdiscard", "shred", "wipefs", "mkswap"])
                && command.arguments.iter().any(|word| is_block_device(word))
        },
    },
    Mistake {
        name: "write-device",
        reason: "it writes over a disk or a card",
        is: |command| {
            let is_target = |word: &String| word.strip_prefix("of=").is_some_and(is_block_device);
            (command.is_one_of(&["dd"]) && command.arguments.iter().any(is_target))
                || command.is_one_of(&["cp", "tee", "mv"])
                    && command
                        .arguments
                        .last()
                        .is_some_and(|word| is_block_device(word))
                || command.writes.iter().any(|word| is_block_device(word))
        },
    },
    Mistake {
        name: "write-kernel",
        reason: "it orders the kernel to restart, or writes over memory",
        is: |command| {
            let targets = ["/proc/sysrq-trigger", "/dev/mem", "/dev/kmem", "/dev/port"];
            let is_target = |word: &String| targets.contains(&word.as_str());
            command.writes.iter().any(is_target)
                || command.is_one_of(&["tee"]) && command.arguments.iter().any(is_target)
        },
    },
    Mistake {
        name: "power",
        reason: "it switches the machine off or restarts it, and you with it",
        is: |command| {
            let cancels = command.has("-c") || command.has("--help");
            command.is_one_of(&["shutdown", "poweroff", "halt", "reboot"]) && !cancels
                || command.is_one_of(&["init", "telinit"])
                    && command
                        .arguments
                        .first()
                        .is_some_and(|level| level == "0" || level == "6")
                || command.is_one_of(&["systemctl", "loginctl"])
                    && command.first_plain().is_some_and(|verb| {
                        [
                            "poweroff",
                            "reboot",
                            "halt",
                            "kexec",
                            "suspend",
                            "hibernate",
                        ]
                        .contains(&verb)
                    })
        },
    },
    Mistake {
        name: "open-root",
        reason: "it gives away the system's or a home folder's files to everybody or to another user",
        is: |command| {
            command.is_one_of(&["chmod", "chown", "chgrp"])
                && command.recursive()
                && command.on_vital_path()
        },
    },
    Mistake {
        name: "move-root",
        reason: "it moves the system or a home folder away",
        is: |command| {
            command.is_one_of(&["mv"])
                && (command
                    .arguments
                    .iter()
                    .rev()
                    .skip(1)
                    .any(|word| is_vital(word))
                    || command
                        .arguments
                        .last()
                        .is_some_and(|word| word == "/dev/null"))
        },
    },
    Mistake {
        name: "kill-all",
        reason: "it kills every process that it may, or the first one",
        is: |command| {
            let everybody = |word: &String| word == "-1" || word == "1" || word == "0";
            command.is_one_of(&["killall5"])
                || command.is_one_of(&["kill"])
                    && command.arguments.len() > 1
                    && command.arguments.last().is_some_and(everybody)
        },
    },
    Mistake {
        name: "remove-jobs",
        reason: "it deletes all cron jobs of the user without asking",
        is: |command| command.is_one_of(&["crontab"]) && command.has("-r"),
    },
    Mistake {
        name: "remove-root-user",
        reason: "it takes away the account that repairs the system",
        is: |command| command.is_one_of(&["userdel", "deluser"]) && command.has("root"),
    },
];

/// The first mistake in a line.
pub fn mistake_in(line: &str) -> Option<&'static Mistake> {
    if is_fork_bomb(line) {
        return Some(&FORK_BOMB);
    }
    find(line, 0)
}

const FORK_BOMB: Mistake = Mistake {
    name: "fork-bomb",
    reason: "it starts itself twice until the machine stands still",
    is: |_| false,
};

fn find(line: &str, depth: usize) -> Option<&'static Mistake> {
    commands(line).iter().find_map(|simple| {
        let command = Command::new(simple);
        let inner = command
            .script
            .as_deref()
            .filter(|_| depth < bounds::SPLIT_DEPTH);
        let direct = MISTAKES.iter().find(|mistake| (mistake.is)(&command));
        direct.or_else(|| inner.and_then(|script| find(script, depth + 1)))
    })
}

/// `name(){ name|name& };name`, with any name and spaces.
fn is_fork_bomb(line: &str) -> bool {
    let dense: String = line
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    dense.match_indices("(){").any(|(at, mark)| {
        let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':' | '.');
        let name: &str = dense[..at]
            .rsplit(|letter| !is_name(letter))
            .next()
            .unwrap_or_default();
        let body = &dense[at + mark.len()..];
        !name.is_empty() && body.starts_with(&format!("{name}|{name}&"))
    })
}

/// A simple command seen through what only runs it: `sudo`, `env`, `nohup` …
struct Command<'a> {
    /// The program, without its folder.
    name: &'a str,
    arguments: &'a [String],
    writes: &'a [String],
    /// What a shell is given to run.
    script: Option<String>,
}

/// Programs that run the rest of their words, and those of their options that take a word.
const WRAPPERS: [(&str, &str); 17] = [
    ("sudo", "ugCpTrth"),
    ("doas", "uC"),
    ("env", "uCS"),
    ("nohup", ""),
    ("nice", "n"),
    ("ionice", "cnp"),
    ("setsid", ""),
    ("exec", "a"),
    ("command", ""),
    ("builtin", ""),
    ("time", "fo"),
    ("timeout", "ks"),
    ("stdbuf", "ioe"),
    ("xargs", "ILnPsdEa"),
    ("busybox", ""),
    ("chronic", ""),
    ("unbuffer", ""),
];

impl<'a> Command<'a> {
    fn new(simple: &'a Simple) -> Self {
        let mut words = &simple.words[..];
        while let Some((first, rest)) = words.split_first() {
            let name = base(first);
            let Some((_, with_word)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) else {
                break;
            };
            words = after_options(rest, with_word);
            if name == "timeout" {
                words = words.get(1..).unwrap_or_default();
            }
        }
        let name = words.first().map(|word| base(word)).unwrap_or_default();
        let arguments = words.get(1..).unwrap_or_default();
        Self {
            name,
            arguments,
            writes: &simple.writes,
            script: script(name, arguments),
        }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    fn has(&self, word: &str) -> bool {
        self.arguments.iter().any(|argument| argument == word)
    }

    fn first_plain(&self) -> Option<&str> {
        self.arguments
            .iter()
            .map(String::as_str)
            .find(|word| !word.starts_with('-'))
    }

    fn recursive(&self) -> bool {
        self.arguments
            .iter()
            .take_while(|word| *word != "--")
            .any(|word| {
                word == "--recursive"
                    || word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R'])
            })
    }

    fn on_vital_path(&self) -> bool {
        self.arguments.iter().any(|word| is_vital(word))
    }
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn after_options<'a>(mut words: &'a [String], with_word: &str) -> &'a [String] {
    while let Some((first, rest)) = words.split_first() {
        let takes_word = first.len() == 2 && first.ends_with(|letter| with_word.contains(letter));
        words = match first.as_str() {
            "--" => return rest,
            option if option.starts_with('-') && takes_word => rest.get(1..).unwrap_or_default(),
            option if option.starts_with('-') || option.contains('=') => rest,
            _ => return words,
        };
    }
    words
}

/// What a shell or `eval` is given to run.
fn script(name: &str, arguments: &[String]) -> Option<String> {
    match name {
        "eval" => Some(arguments.join(" ")),
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "su" => {
            let is_c = |word: &String| {
                word.starts_with('-') && !word.starts_with("--") && word.contains('c')
            };
            let at = arguments.iter().position(is_c)?;
            arguments.get(at + 1).cloned()
        }
        _ => None,
    }
}

/// The root, a folder of the system right below it, or a home folder, however it is written.
fn is_vital(word: &str) -> bool {
    const FOLDERS: [&str; 17] = [
        "", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "run",
        "sbin", "srv", "sys", "usr", "var",
    ];
    let path = word
        .strip_suffix("/*")
        .or_else(|| word.strip_suffix("/.*"))
        .unwrap_or(word);
    let path = path.trim_end_matches(['/', '.']);
    if word.starts_with('/') {
        let mut names = path
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".");
        let first = names.next().unwrap_or_default();
        let second = names.next();
        let home = first == "home" && names.next().is_none();
        return FOLDERS.contains(&first) && (second.is_none() || home);
    }
    let is_home = ["~", "$HOME", "${HOME}", "~root"].contains(&path);
    is_home || path.starts_with('~') && !path.contains('/')
}

fn is_block_device(word: &str) -> bool {
    const KINDS: [&str; 9] = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk/", "mapper/", "md",
    ];
    let device = word.strip_prefix("/dev/");
    device.is_some_and(|name| KINDS.iter().any(|kind| name.starts_with(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found_however_they_are_written() {
        let table: &[(&str, &[&str])] = &[
            (
                "delete-root",
                &[
                    "rm -rf /",
                    "rm -fr /*",
                    "rm -r -f --no-preserve-root /",
                    "sudo rm -rf /etc",
                    "cd / && rm -rf ~",
                    "rm -rf \"$HOME\"",
                    "rm -rf ${HOME}/",
                    "rm --recursive /usr/",
                    "echo a; /bin/rm -Rf /home/pi",
                    "sh -c 'rm -rf /'",
                    "bash -lc \"rm -rf ~/\"",
                    "echo $(rm -rf /)",
                    "true || (rm -rf /var)",
                    "env X=1 nice -n 5 rm -rf /",
                    "find . | xargs -n 1 rm -rf /",
                    "eval rm -rf /",
                    "r''m -rf //",
                    "timeout 5 rm -rf /",
                    "sudo -u root -- rm -rf /",
                    "rm -rf /../",
                    "rm -rf ~/*",
                ],
            ),
            (
                "find-delete-root",
                &["find / -delete", "find ~ -type f -exec rm {} +"],
            ),
            (
                "format",
                &["mkfs.ext4 /dev/sda1", "sudo mkfs -t vfat /dev/mmcblk0p1"],
            ),
            ("wipe-device", &["wipefs -a /dev/sda", "shred /dev/nvme0n1"]),
            (
                "write-device",
                &[
                    "dd if=/dev/zero of=/dev/mmcblk0 bs=1M",
                    "cat x > /dev/sda",
                    "xz -dc i.xz | sudo tee /dev/sdb",
                    "cp image.img /dev/mmcblk0",
                ],
            ),
            (
                "write-kernel",
                &[
                    "echo b > /proc/sysrq-trigger",
                    "echo b | sudo tee /proc/sysrq-trigger",
                ],
            ),
            (
                "fork-bomb",
                &[":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"],
            ),
            (
                "power",
                &[
                    "reboot",
                    "sudo shutdown -h now",
                    "make && poweroff",
                    "systemctl reboot",
                    "init 0",
                    "systemctl --force poweroff",
                    "/sbin/halt",
                    "nohup reboot &",
                ],
            ),
            (
                "open-root",
                &[
                    "chmod -R 777 /",
                    "sudo chown -R pi:pi /usr",
                    "chmod 777 -R ~",
                ],
            ),
            (
                "move-root",
                &["mv / /tmp/x", "mv ~ /tmp", "mv important.txt /dev/null"],
            ),
            ("kill-all", &["kill -9 -1", "sudo kill -9 1", "killall5 -9"]),
            ("remove-jobs", &["crontab -r"]),
            ("remove-root-user", &["sudo userdel root"]),
        ];
        for (name, lines) in table {
            for line in *lines {
                assert_eq!(
                    mistake_in(line).map(|found| found.name),
                    Some(*name),
                    "{line}"
                );
            }
        }
        assert_eq!(table.len(), MISTAKES.len() + 1);
    }

    #[test]
    fn plain_work_raises_no_alarm() {
        let lines = [
            "grep kill src",
            "git commit -m \"reboot fix\"",
            "echo $((1+1))",
            "chmod 755 run.sh",
            "echo ~",
            "rm -rf build",
            "echo \"rm -rf /\"",
            "echo 'rm -rf /'",
            "rm file",
            "rm -rf ./node_modules target/",
            "rm -rf /tmp/build",
            "rm -rf ~/project/build",
            "rm -r \"$HOME/.cache/pip\"",
            "rm -rf /home/pi/old",
            "rm /etc/hostname.bak",
            "ls -la /",
            "ls -R /etc",
            "find . -name '*.pyc' -delete",
            "find / -name core -type f",
            "find /var/log -name '*.gz' -exec rm {} +",
            "dd if=/dev/zero of=disk.img bs=1M count=10",
            "dd if=/dev/urandom of=/dev/null count=1",
            "cat /dev/null > log.txt",
            "echo done > /dev/null 2>&1",
            "make > build.log 2>&1 &",
            "cat <<E\nrm -rf /\nE",
            "git log --grep=shutdown",
            "man reboot",
            "apropos mkfs",
            "which shutdown",
            "shutdown -c",
            "reboot --help",
            "systemctl status reboot.target",
            "systemctl is-system-running",
            "journalctl -u halt",
            "python3 -c 'print(\"poweroff\")'",
            "kill %1",
            "kill $PID",
            "kill -9 12345",
            "kill -l",
            "pkill -f server.py",
            "chmod -R u+w build",
            "chown pi file",
            "chmod +x /usr/local/bin/tool",
            "mv a b",
            "mv *.log /tmp/",
            "crontab -l",
            "lsblk /dev/sda",
            "fdisk -l /dev/sda",
            "sudo smartctl -a /dev/sda",
            "test -b /dev/mmcblk0 && echo card",
            "df -h /",
            "tar czf backup.tgz -C / etc",
            "cp -r /etc/skel .",
            "sed -i 's/reboot/restart/' notes.md",
            "f() { g | h & }; f",
            "awk '{print $1}' file | sort | uniq -c",
            "for i in 1 2 3; do echo $i; done",
            "curl -s https://example.org | sh",
            "init_db.sh 0",
        ];
        assert!(lines.len() >= 60);
        for line in lines {
            let found = mistake_in(line).map(|mistake| mistake.name);
            assert_eq!(found, None, "{line}");
        }
    }
}
