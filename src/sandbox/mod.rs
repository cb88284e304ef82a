//! Floor 4: what keeps tools within their folders: files beneath a handle, and commands and readers of documents
//! that the kernel confines.

pub mod confine;
pub mod documents;
pub mod files;
mod hold;
pub mod line;
