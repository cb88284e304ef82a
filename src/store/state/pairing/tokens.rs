//! Tokens of programs, which are paired with the HTTP server under a name and a role.
//!
//! Of a token only its hash is kept. Tokens have 256 random bits, so that a fast hash is as good as a slow one.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{Paired, Pairing};
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::message::Sender;
use crate::base::secret::Secret;
use crate::sys::random;

/// The name of the HTTP server in addresses and among the paired.
pub const CHANNEL: &str = "http";
/// Tokens of one home: more than programs that a board serves.
const TOKENS: usize = 64;
/// Names of revoked tokens that are remembered.
const REVOKED: usize = 256;
/// How a token begins, so that scanners for secrets recognise it.
const PREFIX: &str = "pcb_";
/// Characters of a token's name.
const NAME_CHARS: usize = 32;

/// A token, without itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name.
    pub name: String,
    /// The SHA-256 of the token, base64.
    hash: String,
    /// When it was made, RFC 3339.
    pub since: String,
    /// The hooks that it opens. With any it opens nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// A name whose token was revoked. Its conversations, and what was allowed there always, are still the name's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    name: String,
    role: Role,
}

/// The SHA-256 of a secret, base64.
pub(super) fn hash(token: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes()))
}

/// Whether a name can be one of a token, which is in addresses and in the log.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_CHARS).contains(&name.len()) && name.bytes().all(fits)
}

impl Pairing {
    /// Makes a token, which is told only now.
    ///
    /// Fails when the name is taken or none, when a token of another role had it, or when there are too many.
    pub fn add_token(&self, name: &str, role: Role, hooks: Vec<String>) -> Result<Secret> {
        if !is_name(name) {
            return Err(Error::Usage(format!(
                "{name:?} cannot be a token's name: use up to {NAME_CHARS} small letters, digits and dashes"
            )));
        }
        let bytes: [u8; 32] = random::bytes()?;
        let token = Secret::new(&format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)));
        let since = self.clock.now().to_rfc3339();
        self.file.update(|known| {
            if known.tokens.iter().any(|one| one.name == name) {
                return Err(Error::Failed(format!(
                    "There is a token {name} already. Revoke it first, or choose another name."
                )));
            }
            if known.tokens.len() >= TOKENS {
                return Err(Error::Failed(format!(
                    "There are {TOKENS} tokens already. Revoke one first."
                )));
            }
            let before = known.revoked.iter().find(|one| one.name == name);
            if let Some(before) = before.filter(|before| before.role != role) {
                return Err(Error::Failed(format!(
                    "{name} was a token with the role {}, whose conversations a new one would have. Choose another name.",
                    before.role
                )));
            }
            known.check_capacity()?;
            known
                .paired
                .retain(|one| one.channel != CHANNEL || one.sender.id != name);
            known.paired.push(Paired {
                channel: CHANNEL.to_owned(),
                sender: Sender {
                    id: name.to_owned(),
                    name: name.to_owned(),
                    ..Sender::default()
                },
                since: since.clone(),
                role,
                chat: None,
            });
            known.tokens.push(Token {
                name: name.to_owned(),
                hash: hash(token.expose()),
                since,
                hooks,
            });
            Ok(())
        })?;
        Ok(token)
    }

    /// Revokes a token; false when there is none of this name.
    pub fn remove_token(&self, name: &str) -> Result<bool> {
        self.file.update(|known| {
            let before = known.tokens.len();
            known.tokens.retain(|one| one.name != name);
            if known.tokens.len() < before
                && let Some(role) = known.find(CHANNEL, name)
            {
                known.revoked.retain(|one| one.name != name);
                let over = (known.revoked.len() + 1).saturating_sub(REVOKED);
                known.revoked.drain(..over);
                let name = name.to_owned();
                known.revoked.push(Revoked { name, role });
            }
            known
                .paired
                .retain(|one| one.channel != CHANNEL || one.sender.id != name);
            Ok(known.tokens.len() < before)
        })
    }

    /// All tokens with their roles, oldest first.
    pub fn tokens(&self) -> Result<Vec<(Token, Role)>> {
        let known = self.file.read()?;
        let tokens = known.tokens.iter().cloned();
        // One whose name is paired no longer opens nothing.
        Ok(tokens
            .filter_map(|one| known.find(CHANNEL, &one.name).map(|role| (one, role)))
            .collect())
    }

    /// The token that this is, with its role. Every one is compared, each in constant time.
    pub fn find_token(&self, token: &str) -> Result<Option<(Token, Role)>> {
        let hash = hash(token);
        let mut found = None;
        for one in self.tokens()? {
            if bool::from(one.0.hash.as_bytes().ct_eq(hash.as_bytes())) {
                found = Some(one);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Clock;

    #[test]
    fn a_token_is_known_by_its_hash_alone_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let pairing = Pairing::new(folder.path(), Clock::System);
        let token = pairing
            .add_token("kuma", Role::User, vec!["a".into()])
            .unwrap();
        let stored = std::fs::read_to_string(folder.path().join("pairing.json")).unwrap();
        assert!(!stored.contains(token.expose()) && token.expose().len() > 40);
        let (found, role) = pairing.find_token(token.expose()).unwrap().unwrap();
        assert_eq!((found.name.as_str(), role), ("kuma", Role::User));
        assert_eq!(pairing.role_of(CHANNEL, "kuma"), Some(Role::User));
        for wrong in ["", "pcb_", &token.expose()[1..], &found.hash] {
            assert_eq!(pairing.find_token(wrong).unwrap(), None, "{wrong}");
        }
        assert!(pairing.add_token("kuma", Role::Owner, Vec::new()).is_err());
        assert!(pairing.remove_token("kuma").unwrap());
        assert!(!pairing.remove_token("kuma").unwrap());
        assert_eq!(pairing.find_token(token.expose()).unwrap(), None);
        assert_eq!(pairing.role_of(CHANNEL, "kuma"), None);
    }

    #[test]
    fn a_name_with_another_role_does_not_inherit_conversations() {
        let folder = tempfile::tempdir().unwrap();
        let pairing = Pairing::new(folder.path(), Clock::System);
        let add = |role| pairing.add_token("kuma", role, Vec::new());
        let first = add(Role::Owner).unwrap();
        assert!(pairing.remove_token("kuma").unwrap());
        assert!(add(Role::Guest).is_err() && add(Role::User).is_err());
        let second = add(Role::Owner).unwrap();
        assert!(first.expose() != second.expose());
        for number in 0..2 * REVOKED {
            let name = format!("t{number}");
            pairing.add_token(&name, Role::Guest, Vec::new()).unwrap();
            assert!(pairing.remove_token(&name).unwrap());
        }
        assert_eq!(pairing.file.read().unwrap().revoked.len(), REVOKED);
    }

    #[test]
    fn a_token_whose_name_lost_its_access_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let pairing = Pairing::new(folder.path(), Clock::System);
        let token = pairing.add_token("n8n", Role::Guest, Vec::new()).unwrap();
        assert!(pairing.remove(CHANNEL, "n8n").unwrap());
        assert_eq!(pairing.find_token(token.expose()).unwrap(), None);
    }

    #[test]
    fn names_are_plain_and_tokens_are_bounded() {
        for name in ["", "a b", "A", "a:b", "ü", "a\n", &"a".repeat(33)] {
            assert!(!is_name(name), "{name:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let pairing = Pairing::new(folder.path(), Clock::System);
        for count in 0..TOKENS {
            pairing
                .add_token(&format!("t{count}"), Role::Guest, Vec::new())
                .unwrap();
        }
        assert!(pairing.add_token("more", Role::Guest, Vec::new()).is_err());
    }
}
