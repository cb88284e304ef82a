//! Everything that reaches a person's eyes: printing, logging, Markdown.

pub mod log;
pub mod markdown;
pub mod print;
