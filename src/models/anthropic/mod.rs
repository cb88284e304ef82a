//! Anthropic messages (<https://docs.claude.com/en/api/messages>). Pure.

mod cache;
pub mod decode;
pub mod encode;

#[cfg(test)]
mod tests;
