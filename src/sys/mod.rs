//! Floor 2: safe wrappers for the system. Every raw system call and all `unsafe` code is here.

pub mod at;
pub mod beneath;
pub mod descriptor;
pub mod environment;
pub mod file;
pub mod host;
mod isolation;
pub mod notify;
pub mod port;
pub mod process;
pub mod random;

pub use isolation::{attempt, landlock, mounts, namespaces, seccomp};
pub use process::memory;
