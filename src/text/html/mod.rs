//! Pages of the web, in HTML and XML, as readable text. PURE, apart from the reader that a page comes from.
//!
//! A page is converted while it arrives, and only what is kept of it is in memory. Parsers that follow the
//! whole standard were measured: html5gum adds 410 kB to the program.

pub mod charset;
mod document;
mod entities;
mod hidden;
pub mod link;
mod lists;
mod markdown;
mod tokens;

#[cfg(test)]
mod tests;

pub use document::Document;
pub use entities::named;
pub use markdown::{Form, Page, Writer};
pub use tokens::{Sink, Tag, Tokenizer};
