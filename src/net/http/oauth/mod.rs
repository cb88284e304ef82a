//! What every login over OAuth 2 needs, at a server of tools or of models: addresses and forms, and what binds a
//! login's end to its beginning.

pub mod form;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use crate::base::error::Result;
use crate::sys::random;

/// Binds the end of a login to its beginning: the code to us (PKCE with S256, RFC 7636), and the address at which
/// the browser ends to this one login.
pub struct Binding {
    /// Goes to the authorization server with the code.
    pub verifier: String,
    /// The `state` of the addresses.
    pub state: String,
}

impl Binding {
    /// A new one, which cannot be guessed.
    pub fn new() -> Result<Self> {
        Ok(Self {
            verifier: BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<32>()?),
            state: BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<16>()?),
        })
    }

    /// The `code_challenge` that goes with the link.
    pub fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let binding = Binding {
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            state: String::new(),
        };
        assert_eq!(
            binding.challenge(),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        let (one, other) = (Binding::new().unwrap(), Binding::new().unwrap());
        assert!(one.verifier != other.verifier && one.state != other.state);
        assert!(one.verifier.len() >= 43);
    }
}
