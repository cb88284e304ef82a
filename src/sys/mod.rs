//! Floor 2: the system under safe names. Every raw system call of the program stands here, and
//! `unsafe` nowhere else.

pub mod at;
pub mod beneath;
pub mod descriptor;
pub mod environment;
pub mod file;
pub mod host;
pub mod notify;
pub mod process;
pub mod random;
mod walls;

pub use process::memory;
pub use walls::{attempt, landlock, namespaces, seccomp};
