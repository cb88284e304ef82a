//! Floor 2: the system under safe names. Every raw system call of the program stands here, and
//! `unsafe` nowhere else.

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
