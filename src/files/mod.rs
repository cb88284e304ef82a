//! Floor 4: the folders that tools may use and the only way into them.
//!
//! What a model asks for is untrusted, and matching the text of a path is no boundary. Every access
//! resolves its path beneath an open folder, in the kernel where that can be; what is then opened is
//! a single name in a folder that is held open, so nothing can be swapped between a check and its
//! use. What lies within and is still not for tools is told by inode, not by name.

mod guard;
mod refusal;
mod roots;
mod walk;
mod workspace;

#[cfg(test)]
mod escape_tests;

pub use roots::Places;
pub use walk::{Found, Next, Walked};
pub use workspace::Workspace;
