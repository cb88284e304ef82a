//! The kernel's walls around a process, and the system calls that try them.

pub mod attempt;
pub mod landlock;
pub mod namespaces;
pub mod seccomp;
