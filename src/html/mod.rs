//! Floor 4: pages of the web as readable text. PURE, apart from the reader that a page comes from.
//!
//! A page is converted while it arrives, and only what is kept of it is in memory. Parsers that follow the
//! whole standard were measured: html5gum adds 410 kB to the program.

pub mod charset;
mod entities;
pub mod link;
mod markdown;
mod tokens;

#[cfg(test)]
mod tests;

pub use markdown::{Form, Page, Writer};
pub use tokens::{Sink, Tag, Tokenizer};
