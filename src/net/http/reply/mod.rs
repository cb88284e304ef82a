//! Replies from their bytes: heads, frames, and what is packed. PURE but for what is read.

pub mod frames;
pub mod head;
pub mod inflate;
