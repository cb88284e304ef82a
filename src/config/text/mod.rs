//! The configuration file as text: where its members are, where its grammar is broken, and how to change
//! one value without touching the rest.

pub mod edit;
pub mod read;
pub mod scan;
