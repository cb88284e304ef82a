//! Dialects of Markdown that more than one channel writes.

pub mod cards;
pub mod discord;
pub mod html;
