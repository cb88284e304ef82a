//! Floor 0: errors, time, secrets, messages and other basics, which know nothing of the system.

pub mod access;
pub mod approval;
pub mod bus;
pub mod cancel;
pub mod chat;
pub mod checksum;
pub mod clock;
pub mod error;
pub mod hex;
pub mod json;
pub mod language;
pub mod limits;
pub mod message;
pub mod secret;
pub mod sync;
pub mod tokens;
pub mod zone;
