//! Why a command failed, where the sandbox is the reason and the program does not say so.

use super::policy::Isolation;
use super::run::End;

/// Programs that need a terminal, which only a view of its own has.
const TERMINALS: [&str; 5] = ["script", "tmux", "screen", "expect", "unbuffer"];

/// The reason, for whoever reads the outcome; none when it succeeded or the sandbox is not known to be
/// the reason.
pub fn explain(isolation: Isolation, line: &str, end: &End, output: &str) -> Option<&'static str> {
    if !isolation.system_calls || !matches!(end, End::Exit(1..)) {
        return None;
    }
    let says = |part: &str| output.contains(part);
    let words = || line.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    let names = |programs: &[&str]| words().any(|word| programs.contains(&word));
    let refused = says("ermission denied") || says("EACCES") || says("not permitted");
    if says("no new privileges") || names(&["su", "sudo", "doas", "pkexec"]) {
        Some("commands get no new privileges in the sandbox: use escalate to ask for more")
    } else if says("PTRACE_") || says("ptrace:") {
        Some("the sandbox does not let processes be traced")
    } else if !isolation.own_view() && (names(&TERMINALS) || says("out of pty") || says("openpty"))
    {
        Some(
            "there are no terminals in the sandbox, because this kernel has no namespaces for commands",
        )
    } else if !isolation.own_view()
        && (says("multiprocessing") || says("SemLock") || says("/dev/shm"))
    {
        Some(
            "there is no shared memory in the sandbox, because this kernel has no namespaces for commands",
        )
    } else if refused && (says("listen") || says("http.server")) {
        Some("commands may not listen on the network in the sandbox: use escalate to ask for that")
    } else if says("Operation not permitted") && names(&["chmod", "install", "tar", "cp"]) {
        Some("the sandbox refuses set-user-ID and set-group-ID, and modes outside the workspace")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::policy::Namespaces;

    fn reason(namespaces: Namespaces, line: &str, end: End, output: &str) -> &'static str {
        let isolation = Isolation {
            namespaces,
            landlock: 0,
            system_calls: true,
        };
        explain(isolation, line, &end, output).unwrap_or_default()
    }

    #[test]
    fn a_failure_that_the_sandbox_causes_is_explained() {
        let rows = [
            (
                Namespaces::User,
                "sudo -n true",
                "sudo: The \"no new privileges\" flag is set",
                "escalate",
            ),
            (
                Namespaces::User,
                "su -c id",
                "su: Authentication failure",
                "escalate",
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
                "chmod u+s f",
                "chmod: changing permissions: Operation not permitted",
                "set-user-ID",
            ),
        ];
        for (namespaces, line, output, part) in rows {
            let said = reason(namespaces, line, End::Exit(1), output);
            assert!(said.contains(part), "{line}: {said}");
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
    }
}
