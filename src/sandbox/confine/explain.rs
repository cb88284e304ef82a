//! Why a command failed or its answer is odd, where the sandbox is the reason and the program does not say so.

mod odd;
mod program;
mod texts;

pub use program::View;

use std::fmt;

use super::policy::Isolation;
use super::run::End;
use crate::base::language::Language;

/// Programs that need a terminal, which the sandbox has only with namespaces.
const TERMINALS: [&str; 5] = ["script", "tmux", "screen", "expect", "unbuffer"];

/// Programs that talk to the system's services, and what they say when there are none.
const SERVICES: [&str; 16] = [
    "systemctl",
    "service",
    "rc-service",
    "journalctl",
    "loginctl",
    "hostnamectl",
    "timedatectl",
    "localectl",
    "resolvectl",
    "networkctl",
    "bluetoothctl",
    "wpa_cli",
    "avahi-browse",
    "nmcli",
    "docker",
    "podman",
];
const NO_SERVICE: [&str; 9] = [
    "o connect to",
    "ould not connect:",
    "Daemon not running",
    "annot connect to",
    "not been booted with systemd",
    "No journal files",
    "not seeing messages",
    "nsufficient permissions",
    "NetworkManager is not running",
];

/// Programs that change the system.
const CHANGES: [&str; 12] = [
    "apt",
    "apt-get",
    "dpkg",
    "apk",
    "opkg",
    "pacman",
    "dnf",
    "useradd",
    "usermod",
    "passwd",
    "crontab",
    "update-rc.d",
];

/// Programs that need more than a user's rights, or devices that the sandbox does not show.
const RIGHTS: [&str; 22] = [
    "mount",
    "umount",
    "ping",
    "ping6",
    "traceroute",
    "tcpdump",
    "dmesg",
    "modprobe",
    "rmmod",
    "insmod",
    "ip",
    "iw",
    "iptables",
    "nft",
    "sysctl",
    "hwclock",
    "date",
    "fdisk",
    "hostname",
    "chown",
    "lsof",
    "vcgencmd",
];

/// What there is to know about how a command ended. Its `Display` is what the model reads.
#[derive(Clone, Debug)]
pub enum Note {
    /// What it lacked without being less isolated; in English for people too.
    Lacked(String),
    /// Why it failed, or its answer is odd.
    Reason(fn(Language) -> &'static str),
    /// A program, a script or a folder that the sandbox hides.
    Hidden {
        /// As the command names it.
        name: String,
        /// Its folder; `None`: it is one.
        folder: Option<String>,
        /// What shows it.
        show: Vec<String>,
        /// The folder in which commands do not look for programs.
        append: Option<String>,
    },
    /// A path that a person has named, and that is there outside.
    Missed(String),
}

impl Note {
    /// The note for a person.
    pub fn in_language(&self, language: Language) -> String {
        match self {
            Self::Lacked(text) => text.clone(),
            Self::Reason(text) => text(language).to_owned(),
            Self::Hidden {
                name,
                folder,
                show,
                append,
            } => {
                let show = show.iter().cloned();
                let show = show.reduce(|one, other| texts::both(language, &one, &other));
                let show = show.unwrap_or_default();
                let advice = match folder {
                    Some(folder) => texts::file_is_hidden(language, name, folder, &show),
                    None => texts::folder_is_hidden(language, name, &show),
                };
                match append {
                    Some(folder) => texts::and_to_path(language, &advice, folder),
                    None => advice,
                }
            }
            Self::Missed(path) => texts::not_shown(language, path),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.in_language(Language::English))
    }
}

/// Why a command failed in the sandbox, or its answer is odd.
#[derive(Clone, Copy, Debug)]
struct Reason {
    /// For the model and for people alike.
    text: fn(Language) -> &'static str,
    /// Whether the command would work outside the sandbox.
    needs_more: bool,
}

const NO_PRIVILEGES: Reason = outside(texts::no_privileges);
const NO_LISTENING: Reason = outside(texts::no_listening);
const NO_SERVICES: Reason = outside(texts::no_services);
const NO_CHANGES: Reason = outside(texts::no_changes);
const NO_RIGHTS: Reason = outside(texts::no_rights);
const NO_TRACING: Reason = fixed(texts::no_tracing);
const NO_TERMINALS: Reason = fixed(texts::no_terminals);
const NO_SHARED_MEMORY: Reason = fixed(texts::no_shared_memory);
const NO_SPECIAL_MODES: Reason = fixed(texts::no_special_modes);

/// The command would work outside the sandbox.
const fn outside(text: fn(Language) -> &'static str) -> Reason {
    Reason {
        text,
        needs_more: true,
    }
}

/// Nothing is gained by going outside.
const fn fixed(text: fn(Language) -> &'static str) -> Reason {
    Reason {
        text,
        needs_more: false,
    }
}

/// Whether a text says that something was not allowed.
fn is_refused(text: &str) -> bool {
    let words = ["ermission denied", "EACCES", "not permitted"];
    words.iter().any(|part| text.contains(part))
}

/// Whether a package manager says that it does not know what it is to install, which is so outside too.
fn lacks_package(text: &str) -> bool {
    let words = ["Unable to locate package", "no installation candidate"];
    words.iter().any(|part| text.contains(part))
}

/// The reason; `None` when the sandbox is not known to be one.
fn explain(isolation: Isolation, line: &str, end: &End, output: &str) -> Option<Reason> {
    let failed = match end {
        End::Exit(0) => false,
        End::Exit(1..) => true,
        _ => return None,
    };
    if !isolation.system_calls {
        return None;
    }
    let failure = || explain_failure(isolation, line, output);
    let reason = failed.then(failure).flatten();
    reason.or_else(|| odd::explain(isolation.own_view(), line, output))
}

fn explain_failure(isolation: Isolation, line: &str, output: &str) -> Option<Reason> {
    let says = |part: &str| output.contains(part);
    let words = || line.split(|char: char| !(char.is_alphanumeric() || "-_.".contains(char)));
    let names = |programs: &[&str]| words().any(|word| programs.contains(&word));
    let refused = is_refused(output);
    if says("no new privileges") || names(&["su", "sudo", "doas", "pkexec"]) {
        Some(NO_PRIVILEGES)
    } else if says("PTRACE_") || says("ptrace:") {
        Some(NO_TRACING)
    } else if !isolation.own_view() && (names(&TERMINALS) || says("out of pty") || says("openpty"))
    {
        Some(NO_TERMINALS)
    } else if !isolation.own_view()
        && (says("multiprocessing") || says("SemLock") || says("/dev/shm"))
    {
        Some(NO_SHARED_MEMORY)
    } else if refused && (says("listen") || says("http.server")) {
        Some(NO_LISTENING)
    } else if says("Operation not permitted") && names(&["chmod", "install", "tar", "cp"]) {
        Some(NO_SPECIAL_MODES)
    } else if names(&SERVICES) && NO_SERVICE.iter().any(|words| says(words)) {
        Some(NO_SERVICES)
    } else if says("ead-only file system")
        || names(&CHANGES) && !lacks_package(output) && (refused || says("are you root"))
    {
        // A file system can be read-only by itself too, but the system is so in each sandbox.
        isolation.own_view().then_some(NO_CHANGES)
    } else if names(&RIGHTS)
        && (refused || says("must be superuser") || says("must be root") || says("only root"))
    {
        Some(NO_RIGHTS)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::confine::policy::Namespaces;

    fn reason(namespaces: Namespaces, line: &str, end: End, output: &str) -> &'static str {
        let isolation = Isolation {
            namespaces,
            landlock: 0,
            system_calls: true,
        };
        let reason = explain(isolation, line, &end, output);
        reason.map_or("", |reason| (reason.text)(Language::English))
    }

    #[test]
    fn a_person_reads_the_reason_in_their_language_and_the_model_in_english() {
        let hidden = Note::Hidden {
            name: "uvx".to_owned(),
            folder: Some("/a".to_owned()),
            show: vec!["/a".to_owned(), "/b".to_owned()],
            append: Some("/a".to_owned()),
        };
        let missed = Note::Missed("/var/log/dpkg.log".to_owned());
        let odd = Note::Reason(texts::own_processes);
        for (note, english, german) in [
            (
                &hidden,
                "uvx is in /a, which the sandbox hides: add /a and /b to tools.readOnlyPaths and /a to \
                 tools.exec.pathAppend",
                "uvx liegt in /a, was die Sandbox verbirgt: Trage /a und /b in tools.readOnlyPaths ein und /a in \
                 tools.exec.pathAppend",
            ),
            (
                &missed,
                "the sandbox does not show /var/log/dpkg.log",
                "die Sandbox zeigt /var/log/dpkg.log nicht",
            ),
            (
                &odd,
                "the sandbox shows only its own processes",
                "die Sandbox zeigt nur ihre eigenen Prozesse",
            ),
        ] {
            assert_eq!(note.to_string(), english);
            assert_eq!(note.in_language(Language::German), german);
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn a_failure_that_the_sandbox_causes_is_explained() {
        let rows = [
            (
                Namespaces::User,
                "sudo -n true",
                "sudo: The \"no new privileges\" flag is set",
                "privileges",
            ),
            (
                Namespaces::User,
                "su -c id",
                "su: Authentication failure",
                "privileges",
            ),
            (
                Namespaces::User,
                "strace true",
                "strace: PTRACE_TRACEME: Operation not permitted",
                "traced",
            ),
            (
                Namespaces::None,
                "script -c true",
                "script: failed to create pseudo-terminal",
                "terminals",
            ),
            (
                Namespaces::None,
                "python3 pool.py",
                "_multiprocessing.SemLock: Permission denied",
                "shared memory",
            ),
            (
                Namespaces::User,
                "node x.js",
                "Error: listen EACCES: permission denied",
                "listen",
            ),
            (
                Namespaces::User,
                "systemctl restart nginx",
                "Failed to connect to bus: No such file or directory",
                "services",
            ),
            (
                Namespaces::User,
                "journalctl -u ssh",
                "No journal files were found.",
                "services",
            ),
            (
                Namespaces::User,
                "apt install jq",
                "E: Could not open lock file - open (13: Permission denied)",
                "read-only",
            ),
            (
                Namespaces::User,
                "touch /etc/motd",
                "touch: cannot touch '/etc/motd': Read-only file system",
                "read-only",
            ),
            (
                Namespaces::User,
                "ping -c1 192.168.1.1",
                "ping: socktype: SOCK_RAW: Operation not permitted",
                "rights",
            ),
            (
                Namespaces::None,
                "mount /dev/sda1 /mnt",
                "mount: /mnt: must be superuser to use mount.",
                "rights",
            ),
            (
                Namespaces::User,
                "python3 -m http.server 80",
                "PermissionError: [Errno 13] Permission denied (http.server)",
                "listen",
            ),
            (
                Namespaces::User,
                "chmod u+s f",
                "chmod: changing permissions: Operation not permitted",
                "set-user-ID",
            ),
        ];
        for (namespaces, line, output, part) in rows {
            let text = reason(namespaces, line, End::Exit(1), output);
            assert!(text.contains(part), "{line}: {text}");
        }
    }

    #[test]
    fn what_succeeded_or_failed_by_itself_is_not() {
        assert_eq!(reason(Namespaces::User, "sudo x", End::Exit(0), ""), "");
        assert_eq!(reason(Namespaces::User, "sudo x", End::Cancelled, ""), "");
        assert_eq!(reason(Namespaces::User, "script x", End::Exit(1), "x"), "");
        assert_eq!(
            reason(Namespaces::User, "cat issue", End::Exit(1), "No such file"),
            ""
        );
        let locked = "E: Could not open lock file - open (13: Permission denied)";
        let unknown = format!("{locked}\nE: Unable to locate package jqq");
        assert_eq!(
            reason(
                Namespaces::User,
                "apt install jqq",
                End::Exit(100),
                &unknown
            ),
            ""
        );
        let wrong = reason(
            Namespaces::User,
            "systemctl",
            End::Exit(1),
            "Unknown operation x.",
        );
        assert_eq!(wrong, "");
        assert_eq!(
            reason(Namespaces::User, "ping x", End::Exit(2), "unknown host"),
            ""
        );
    }
}
