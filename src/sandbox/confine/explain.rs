//! Why a command failed or its answer is odd, where the sandbox is the reason and the program does not say so.

mod odd;
mod program;

pub use program::View;

use super::policy::Isolation;
use super::run::End;

/// Programs that need a terminal, which the sandbox has only with namespaces.
const TERMINALS: [&str; 5] = ["script", "tmux", "screen", "expect", "unbuffer"];

/// Programs that talk to the system's services, and what they say when there are none.
const SERVICES: [&str; 10] = [
    "systemctl",
    "service",
    "rc-service",
    "journalctl",
    "loginctl",
    "hostnamectl",
    "timedatectl",
    "nmcli",
    "docker",
    "podman",
];
const NO_SERVICE: [&str; 7] = [
    "o connect to",
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

/// Why a command failed in the sandbox, or its answer is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reason {
    /// For the model and for people alike.
    text: &'static str,
    /// Whether the command would work outside the sandbox.
    needs_more: bool,
}

const NO_PRIVILEGES: Reason = outside("commands cannot gain privileges in the sandbox");
const NO_LISTENING: Reason = outside("commands cannot listen on the network in the sandbox");
const NO_SERVICES: Reason = outside("the sandbox has no access to the system's services and logs");
const NO_CHANGES: Reason = outside("the system is read-only in the sandbox");
const NO_RIGHTS: Reason = outside("the sandbox does not have the rights for this");
const NO_TRACING: Reason = fixed("processes cannot be traced in the sandbox");
const NO_TERMINALS: Reason =
    fixed("the sandbox has no terminals, because this kernel has no namespaces for commands");
const NO_SHARED_MEMORY: Reason =
    fixed("the sandbox has no shared memory, because this kernel has no namespaces for commands");
const NO_SPECIAL_MODES: Reason = fixed(
    "set-user-ID and set-group-ID, and modes outside the workspace, cannot be set in the sandbox",
);

/// The command would work outside the sandbox.
const fn outside(text: &'static str) -> Reason {
    Reason {
        text,
        needs_more: true,
    }
}

/// Nothing is gained by going outside.
const fn fixed(text: &'static str) -> Reason {
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
        explain(isolation, line, &end, output).map_or("", |reason| reason.text)
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
