//! Floor 4: what keeps tools within their folders: files beneath a handle, and commands that the kernel confines.

pub mod confine;
pub mod files;
pub mod line;
