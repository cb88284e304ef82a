//! Floor 1: safe wrappers for the system. Every raw system call and all `unsafe` code is here.

pub mod at;
pub mod beneath;
pub mod descriptor;
pub mod environment;
pub mod file;
pub mod freezer;
pub mod host;
mod isolation;
pub mod notify;
pub mod port;
pub mod process;
pub mod pty;
pub mod random;
pub mod socket;
pub mod time;
pub mod watch;

pub use isolation::{attempt, landlock, mounts, namespaces, seccomp};
pub use process::memory;

// With 32 bits the clock ends on 2038-01-19, and a board with a wrong clock can be there today.
// The standard library needs the same, so do not only set the flag for libc.
#[allow(
    deprecated,
    reason = "musl's is marked, as a warning of the change that this asserts"
)]
const _: () = assert!(
    size_of::<libc::time_t>() == 8,
    "this build would have 32-bit time. Build with cross/build TARGET, or see cross/README.md"
);
