//! The public key of the releases, and the check of a signature.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};

use super::texts;
use crate::base::error::{Error, Result};

/// Bytes of an Ed25519 public key.
const KEY_BYTES: usize = 32;

/// The public key, as base64: set when the program is built.
const BUILT_IN: Option<&str> = option_env!("PEACRAB_UPDATE_KEY");

/// The variable from which a build for tests takes another key, or with nothing in it none.
#[cfg(feature = "test-hooks")]
const TEST_VARIABLE: &str = "PEACRAB_TEST_UPDATE_KEY";

/// A public key.
#[derive(Clone, Copy, Debug)]
pub struct PublicKey([u8; KEY_BYTES]);

impl PublicKey {
    /// The key that is built in. Fails in a program that was built without one.
    pub fn built_in() -> Result<Self> {
        #[cfg(feature = "test-hooks")]
        if let Ok(key) = std::env::var(TEST_VARIABLE) {
            return Self::parse_if_set(&key);
        }
        Self::parse_if_set(BUILT_IN.unwrap_or_default())
    }

    fn parse_if_set(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::Failed(texts::NO_KEY.to_owned()));
        }
        Self::parse(text)
    }

    /// Reads a key from base64.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        key.map(Self)
            .ok_or_else(|| Error::Failed(texts::BROKEN_KEY.to_owned()))
    }

    /// Whether the signature is that of these bytes by this key.
    pub fn verifies(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(bytes, signature)
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    #[test]
    fn only_the_signature_of_these_bytes_by_this_key_is_right() {
        let pair = |byte| Ed25519KeyPair::from_seed_unchecked(&[byte; 32]).unwrap();
        let (ours, other) = (pair(1), pair(2));
        let key = PublicKey::parse(&STANDARD.encode(ours.public_key())).unwrap();
        let signature = ours.sign(b"list");
        assert!(key.verifies(b"list", signature.as_ref()));
        assert!(!key.verifies(b"lisd", signature.as_ref()));
        assert!(!key.verifies(b"list", other.sign(b"list").as_ref()));
        assert!(!key.verifies(b"list", &signature.as_ref()[..63]));
        assert!(!key.verifies(b"list", b""));
        for odd in ["", "AAAA", "not base64!", &STANDARD.encode([0; 33])] {
            assert!(PublicKey::parse(odd).is_err(), "{odd}");
        }
    }
}
