//! Random numbers for codes and keys.

use ring::rand::{SecureRandom, SystemRandom};

use crate::base::error::{Error, Result};

/// Random bytes from the system (getrandom(2)).
pub fn bytes<const LENGTH: usize>() -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::Failed("the system gives no random numbers".to_owned()))?;
    Ok(bytes)
}
