//! What connections that stay open share: when to try again, where they went on, and what was missed meanwhile.

pub mod backoff;
pub mod history;
pub mod missed;
pub mod session;
