//! How the kernel isolates a process, and the system calls that test it.

pub mod attempt;
pub mod landlock;
pub mod mounts;
pub mod namespaces;
pub mod seccomp;
