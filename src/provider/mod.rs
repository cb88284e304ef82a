//! Floor 6: everything about models.

pub mod anthropic;
pub mod breaker;
pub mod classify;
pub mod offline;
pub mod openai;
pub mod quirks;
pub mod retry;
pub mod route;
pub mod table;
pub mod wire;
