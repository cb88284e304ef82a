//! Commands that try to get out, by class. A table, so it may be long. What must be seen afterwards
//! is the same for all: no secret in the output or in a folder that may be written, nothing changed
//! outside, no process killed or left over, nobody reached, no `GOT-OUT`. Where the sandbox is broken
//! they do no lasting harm to the machine: a bomb ends by itself, and what is sent to all is SIGCONT.

pub mod files;
pub mod processes;
pub mod work;

/// The class of the commands that multiply.
const MULTIPLY: &str = "multiply";

/// Whether a class is among what a mode promises. Landlock alone does not promise to stop root's commands
/// from multiplying, as SECURITY.md says: root's processes have no limit outside a namespace of users or
/// processes (setrlimit(2), RLIMIT_NPROC). They would fill the machine's table, and a supervisor that sees
/// it has no room to act in.
pub fn applies(class: &str, mode: &str) -> bool {
    let is_root = rustix::process::getuid().is_root();
    !(class == MULTIPLY && is_root && mode.starts_with("Landlock"))
}

/// A class of attacks, and its commands.
pub type Class = (&'static str, &'static [&'static str]);

/// All attacks, by class.
pub fn all() -> impl Iterator<Item = &'static Class> {
    files::ATTACKS.iter().chain(processes::ATTACKS)
}
