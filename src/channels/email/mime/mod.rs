//! The parts of mails: headers, encoded words, addresses, transfer encodings, and what the receiving server
//! says about the sender. PURE.

pub mod address;
pub mod body;
pub mod decode;
pub mod headers;
pub mod results;
pub mod trust;
pub mod words;

#[cfg(test)]
mod tests;
