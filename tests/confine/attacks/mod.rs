//! Commands that try to escape, by class. A table, so it may be long. The result must be the same
//! for all: no secret in the output or in a writable folder, nothing changed
//! outside, no process killed or left over, no connection, no `GOT-OUT`. If the sandbox is broken,
//! they do no lasting harm to the machine: a fork bomb ends by itself, and signals to all are SIGCONT.

use std::path::Path;

pub mod files;
pub mod more;
pub mod processes;
pub mod work;

/// The class of fork bombs.
const MULTIPLY: &str = "multiply";
/// The class of the commands that fill what is memory in a view of their own, and the disk elsewhere.
const FILL: &str = "fill";

/// Whether a mode protects against a class. Landlock alone does not stop root's commands
/// from multiplying, as SECURITY.md says: root's processes have no limit outside a namespace of users or
/// processes (setrlimit(2), RLIMIT_NPROC). They would fill the machine's table, and a supervisor that sees
/// it could not act. Nor does Landlock alone give a command its own /tmp.
pub fn applies(class: &str, mode: &str) -> bool {
    let is_root = rustix::process::getuid().is_root();
    let view = !mode.starts_with("Landlock");
    view || (class != FILL && !(class == MULTIPLY && is_root))
}

/// A class of attacks, and its commands.
pub type Class = (&'static str, &'static [&'static str]);

/// All attacks, by class.
pub fn all() -> impl Iterator<Item = &'static Class> {
    let all = files::ATTACKS.iter().chain(processes::ATTACKS);
    all.chain(more::ATTACKS)
}

/// What is tried when the network is off.
pub fn network() -> impl Iterator<Item = &'static &'static str> {
    let all = processes::NETWORK_ATTACKS.iter();
    all.chain(more::NETWORK_ATTACKS)
}

/// The programs that a machine may lack. Without its program a command proves nothing.
const PROGRAMS: &[&str] = &[
    "awk", "bash", "cc", "chattr", "chrt", "curl", "ed", "ex", "fuser", "gdb", "git", "insmod",
    "ionice", "ip", "jq", "killall", "less", "losetup", "make", "modprobe", "node", "nsenter",
    "openssl", "patch", "perl", "pkill", "prlimit", "python3", "script", "setcap", "setpriv",
    "sqlite3", "ssh", "strace", "sudo", "tclsh", "tmux", "unshare", "unzip", "vim", "wget", "xxd",
    "xz", "zip",
];

/// The missing programs.
pub fn missing(programs: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let path = std::env::var("PATH").unwrap_or_default();
    let is_here = |name: &&str| {
        path.split(':')
            .any(|folder| Path::new(folder).join(name).exists())
    };
    programs.filter(|name| !is_here(name)).collect()
}

/// The missing programs of the tables, and how many commands have all of theirs.
pub fn programs() -> (Vec<&'static str>, usize) {
    let missing = missing(PROGRAMS.iter().copied());
    let whole = |command: &&&str| {
        let mut words = command.split(|letter: char| !letter.is_ascii_alphanumeric());
        !words.any(|word| missing.contains(&word))
    };
    let commands = all().flat_map(|(_, commands)| *commands).chain(network());
    let count = commands.filter(whole).count();
    (missing, count)
}
