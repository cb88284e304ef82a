//! The configuration file as a text: what stands where, what is broken, and how one value is changed
//! without touching the rest.

pub mod edit;
pub mod read;
pub mod scan;
