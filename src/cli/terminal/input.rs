//! What comes in on a pipe.

use std::io::Read;

use crate::base::error::{Error, Result};
use crate::base::limits::agent::MESSAGE_BYTES;

/// All of standard input as a text of at most [`MESSAGE_BYTES`]; what is no UTF-8 is replaced.
pub fn whole() -> Result<String> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    let read = stdin.take(MESSAGE_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(Error::io("read", "standard input"))?;
    if bytes.len() > MESSAGE_BYTES {
        return Err(Error::TooLarge {
            what: "the text on standard input".to_owned(),
            limit: MESSAGE_BYTES,
        });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
