//! Floor 2: the system under safe names. Every raw system call of the program stands here, and
//! `unsafe` nowhere else.

pub mod at;
pub mod beneath;
pub mod environment;
pub mod file;
pub mod host;
