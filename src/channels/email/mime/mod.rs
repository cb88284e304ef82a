//! The parts of mails: headers, encoded words, addresses, transfer encodings, and what the receiving server
//! says about the sender, and what is their own word. PURE.

pub mod address;
pub mod body;
pub mod decode;
pub mod headers;
pub mod results;
pub mod trust;
pub mod vouched;
pub mod words;

#[cfg(test)]
mod tests;

/// Characters up to which quoted history is kept.
const QUOTE_CHARS: usize = 600;
/// Bytes of the quoted-printable lines that are written (RFC 2045, section 6.7).
const QUOTED_LINE_BYTES: usize = 76;
