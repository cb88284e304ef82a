//! Paired people, who have access to a channel because the owner has confirmed their code:
//! `state/pairing.json`.
//!
//! An unknown sender gets a code and tells it to the owner, who confirms it. The file is read for every
//! decision: another process may have confirmed one.
//!
//! A channel has a number of places for codes, so a crowd on one takes no place of another. A code holds its place for
//! some minutes; when all are taken, the oldest gives way after that. As a crowd could take all of them, it also works
//! the other way round: the owner creates an invitation, and the person who sends it to the bot is paired.

pub mod pages;
pub mod tokens;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::access::Role;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::state::{PAIRED, PAIRING_CODE_LETTERS, PAIRING_VALID_SECS};
use crate::base::message::{Address, Sender};
use crate::sys;
use crate::text::one_line;

use super::file::{Damaged, Policy, StateFile};

/// Seconds for which a code is remembered, so that an expired one can be called so.
const PAIRING_KEPT_SECS: i64 = 60 * 60;
/// Codes of strangers that are valid at a time on one channel: a crowd fills no disk.
const PAIRING_OFFERS: usize = 64;
/// Seconds for which a code keeps its place: a crowd makes the card write a few times a minute.
const PAIRING_HELD_SECS: i64 = 5 * 60;
/// Invitations that are valid at a time.
const PAIRING_INVITES: usize = 4;
/// Bytes of a stranger's id that is worth a code; those of the channels are a tenth of it.
const SENDER_ID_BYTES: usize = 256;
/// Characters kept of a stranger's name, which may be anything.
const SENDER_NAME_CHARS: usize = 64;
/// Bytes of the file of pairings that are read; what we write is a quarter of it.
const PAIRING_FILE_BYTES: usize = 1024 * 1024;

/// With a damaged file nobody is paired, and it is not written over.
const POLICY: Policy = Policy {
    bytes_max: PAIRING_FILE_BYTES,
    damaged: Damaged::Refuse,
    synced: true,
};

/// Letters and digits that are not mistaken for each other: no `0`, `O`, `1` and `I`. There are 32, so
/// that each is as likely as the others.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Someone who is paired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// The channel, such as `telegram`.
    pub channel: String,
    /// Who it is, with the name that they had when they were paired.
    pub sender: Sender,
    /// When, RFC 3339.
    pub since: String,
    /// What they may do. Those of an earlier version are owners.
    #[serde(default, skip_serializing_if = "Role::is_owner")]
    pub role: Role,
    /// Where they asked, which need not have the sender's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<Address>,
}

impl Paired {
    /// Where they are welcomed.
    pub fn private_chat(&self) -> Address {
        let of_sender = || Address::new(&self.channel, &self.sender.id);
        self.chat.clone().unwrap_or_else(of_sender)
    }
}

/// A code that an unknown sender was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The code, in capitals.
    pub code: String,
    /// The channel.
    pub channel: String,
    /// Who asked.
    pub sender: Sender,
    /// When, in seconds since 1970.
    pub at: i64,
    /// Where they asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<Address>,
}

impl Offer {
    /// Seconds for which the code is still valid; `now` is in seconds since 1970.
    pub fn seconds_left(&self, now: i64) -> i64 {
        self.at
            .saturating_add(PAIRING_VALID_SECS)
            .saturating_sub(now)
    }

    /// Whether it was created within the last `seconds`. The wall clock may have been set back since:
    /// one from the future counts as too old.
    fn is_within(&self, seconds: i64, now: i64) -> bool {
        is_within(self.at, seconds, now)
    }
}

/// A code that the owner has created, for the person who sends it to the bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The code, in capitals.
    pub code: String,
    /// When, in seconds since 1970.
    pub at: i64,
    /// What that person may do.
    #[serde(default, skip_serializing_if = "Role::is_owner")]
    pub role: Role,
}

fn is_within(at: i64, seconds: i64, now: i64) -> bool {
    (0..seconds).contains(&now.saturating_sub(at))
}

/// Who is paired, and who waits to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pairings {
    /// Who is paired, oldest first.
    pub paired: Vec<Paired>,
    /// Codes that were given out, oldest first.
    pub offers: Vec<Offer>,
    /// Codes that the owner has created, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invitations: Vec<Invitation>,
    /// Tokens of programs, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<tokens::Token>,
    /// Names of tokens that were revoked, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub revoked: Vec<tokens::Revoked>,
    /// Links that sign browsers in to the web page, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<pages::Pass>,
    /// Browsers that are signed in, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub browsers: Vec<pages::Pass>,
}

/// Why a code pairs nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// No one was given this code.
    Unknown(String),
    /// The code was valid once.
    Expired(String),
    /// As many people as possible are paired.
    Full,
}

/// The file of one home, for all threads and processes.
#[derive(Debug)]
pub struct Pairing {
    file: StateFile<Pairings>,
    clock: Clock,
}

impl Pairing {
    /// The pairings below the folder `state`.
    pub fn new(state: &Path, clock: Clock) -> Self {
        Self {
            file: StateFile::new(state.join("pairing.json"), POLICY),
            clock,
        }
    }

    /// Whether someone is paired. With a file that cannot be read nobody is.
    pub fn is_paired(&self, channel: &str, sender_id: &str) -> bool {
        let pairings = self.file.read();
        pairings.is_ok_and(|known| known.has(channel, sender_id))
    }

    /// The role of someone who is paired; `None` for others.
    pub fn role_of(&self, channel: &str, sender_id: &str) -> Option<Role> {
        self.file.read().ok()?.find(channel, sender_id)
    }

    /// Creates a code for an unknown sender who wrote in a chat; `None` when none is due: the person is
    /// paired, has one that is valid, or all places of the channel are held.
    pub fn offer(&self, chat: &Address, sender: &Sender) -> Result<Option<String>> {
        let channel = chat.channel.as_str();
        let now = self.clock.now().timestamp();
        self.file.update(|known| {
            let offers = &mut known.offers;
            offers.retain(|offer| {
                // The person's own expired code is replaced.
                let is_valid = offer.is_within(PAIRING_VALID_SECS, now);
                is_valid
                    || offer.is_within(PAIRING_KEPT_SECS, now) && !is(offer, channel, &sender.id)
            });
            let has_one = offers.iter().any(|offer| is(offer, channel, &sender.id));
            let is_odd = sender.id.len() > SENDER_ID_BYTES;
            if has_one || is_odd || known.has(channel, &sender.id) {
                return Ok(None);
            }
            let offers = &mut known.offers;
            let here = offers.iter().filter(|offer| offer.channel == channel);
            if here.count() >= PAIRING_OFFERS
                && let Some(oldest) = offers.iter().position(|offer| offer.channel == channel)
            {
                if offers[oldest].is_within(PAIRING_HELD_SECS, now) {
                    return Ok(None);
                }
                offers.remove(oldest);
            }
            let code = new_code()?;
            known.offers.push(Offer {
                code: code.clone(),
                channel: channel.to_owned(),
                sender: Sender {
                    id: sender.id.clone(),
                    name: one_line(&sender.name, SENDER_NAME_CHARS),
                    language: sender.language,
                    thread_of: None,
                },
                at: now,
                chat: Some(chat.clone()),
            });
            Ok(Some(code))
        })
    }

    /// Pairs the person who was given this code, with this role. Lower case is accepted; spaces and dashes are ignored.
    pub fn confirm(&self, code: &str, role: Role) -> Result<std::result::Result<Paired, Rejected>> {
        let code: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
        let code = code.to_ascii_uppercase();
        let now = self.clock.now();
        self.file.update(|known| {
            let Some(index) = known.offers.iter().position(|offer| offer.code == code) else {
                return Ok(Err(Rejected::Unknown(code)));
            };
            if !known.offers[index].is_within(PAIRING_VALID_SECS, now.timestamp()) {
                return Ok(Err(Rejected::Expired(code)));
            }
            if known.paired.len() >= PAIRED {
                return Ok(Err(Rejected::Full));
            }
            let Offer {
                channel,
                sender,
                chat,
                ..
            } = known.offers.remove(index);
            let paired = Paired {
                channel,
                sender,
                since: now.to_rfc3339(),
                role,
                chat,
            };
            known.paired.push(paired.clone());
            Ok(Ok(paired))
        })
    }

    /// Creates an invitation: see [`Pairing::accept`]. Of too many the oldest is dropped.
    pub fn invite(&self, role: Role) -> Result<String> {
        let at = self.clock.now().timestamp();
        self.file.update(|known| {
            let invitations = &mut known.invitations;
            invitations.retain(|one| is_within(one.at, PAIRING_VALID_SECS, at));
            if invitations.len() >= PAIRING_INVITES {
                invitations.remove(0);
            }
            let code = new_code()?;
            invitations.push(Invitation {
                code: code.clone(),
                at,
                role,
            });
            Ok(code)
        })
    }

    /// Pairs the sender of a text whose last word is an invitation, which is used up then. Returns whether
    /// it was one.
    ///
    /// Fails when too many people are paired.
    pub fn accept(&self, text: &str, chat: &Address, sender: &Sender) -> Result<bool> {
        let word = text.split_whitespace().next_back().unwrap_or_default();
        let code = word.to_ascii_uppercase();
        let now = self.clock.now();
        let find = |known: &Pairings| {
            known.invitations.iter().position(|one| {
                one.code == code && is_within(one.at, PAIRING_VALID_SECS, now.timestamp())
            })
        };
        // A message without an invitation writes nothing.
        if sender.id.len() > SENDER_ID_BYTES || find(&self.file.read()?).is_none() {
            return Ok(false);
        }
        self.file.update(|known| {
            let Some(index) = find(known) else {
                return Ok(false);
            };
            known.check_capacity()?;
            known
                .offers
                .retain(|offer| !is(offer, &chat.channel, &sender.id));
            let role = known.invitations.remove(index).role;
            known.paired.push(Paired {
                channel: chat.channel.clone(),
                sender: Sender {
                    id: sender.id.clone(),
                    name: one_line(&sender.name, SENDER_NAME_CHARS),
                    language: sender.language,
                    thread_of: None,
                },
                since: now.to_rfc3339(),
                role,
                chat: Some(chat.clone()),
            });
            Ok(true)
        })
    }

    /// Who is paired, and the codes that can be confirmed now.
    pub fn list(&self) -> Result<Pairings> {
        let mut known = self.file.read()?;
        let now = self.clock.now().timestamp();
        known
            .offers
            .retain(|offer| offer.is_within(PAIRING_VALID_SECS, now));
        Ok(known)
    }

    /// Removes a person and a code that they may have. Returns whether there was one.
    pub fn remove(&self, channel: &str, sender_id: &str) -> Result<bool> {
        self.file.update(|known| {
            let before = known.paired.len() + known.offers.len();
            known
                .paired
                .retain(|paired| paired.channel != channel || paired.sender.id != sender_id);
            known.offers.retain(|offer| !is(offer, channel, sender_id));
            known.forget_visitor(channel, sender_id);
            Ok(known.paired.len() + known.offers.len() < before)
        })
    }
}

impl Pairings {
    fn has(&self, channel: &str, sender_id: &str) -> bool {
        self.find(channel, sender_id).is_some()
    }

    fn find(&self, channel: &str, sender_id: &str) -> Option<Role> {
        let mut paired = self.paired.iter();
        paired.find_map(|one| {
            (one.channel == channel && one.sender.id == sender_id).then_some(one.role)
        })
    }

    fn check_capacity(&self) -> Result<()> {
        if self.paired.len() >= PAIRED {
            Err(Error::Failed(format!(
                "{PAIRED} people are already paired; remove some, or add people to allowFrom"
            )))
        } else {
            Ok(())
        }
    }
}

fn is(offer: &Offer, channel: &str, sender_id: &str) -> bool {
    offer.channel == channel && offer.sender.id == sender_id
}

fn new_code() -> Result<String> {
    let bytes: [u8; PAIRING_CODE_LETTERS] = sys::random::bytes()?;
    let letters = bytes.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
    Ok(letters.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    struct Place {
        folder: tempfile::TempDir,
        millis: Arc<AtomicI64>,
    }

    impl Place {
        fn new() -> Self {
            Self {
                folder: tempfile::tempdir().unwrap(),
                millis: Arc::new(AtomicI64::new(1_800_000_000_000)),
            }
        }

        fn pairing(&self) -> Pairing {
            Pairing::new(self.folder.path(), Clock::Hand(self.millis.clone()))
        }

        fn pass(&self, seconds: i64) {
            self.millis.fetch_add(1000 * seconds, Ordering::Relaxed);
        }
    }

    fn chat() -> Address {
        Address::new("telegram", "7")
    }

    fn sender(id: &str) -> Sender {
        Sender {
            id: id.into(),
            name: format!("Name of {id}"),
            ..Sender::default()
        }
    }

    #[test]
    fn an_unknown_sender_gets_a_code_and_is_paired_with_it() {
        let place = Place::new();
        let gateway = place.pairing();
        assert!(!gateway.is_paired("telegram", "7"));
        let code = gateway.offer(&chat(), &sender("7")).unwrap().unwrap();
        assert!(code.len() == 8 && code.bytes().all(|letter| ALPHABET.contains(&letter)));
        assert_eq!(gateway.list().unwrap().offers[0].code, code);

        let command_line = place.pairing();
        let typed = format!(" {}-{} ", &code[..4].to_lowercase(), &code[4..]);
        let paired = command_line.confirm(&typed, Role::Owner).unwrap().unwrap();
        assert_eq!(
            (paired.channel.as_str(), paired.sender),
            ("telegram", sender("7"))
        );

        assert!(gateway.is_paired("telegram", "7"));
        assert!(!gateway.is_paired("other", "7") && !gateway.is_paired("telegram", "8"));
        assert_eq!(gateway.offer(&chat(), &sender("7")).unwrap(), None);
        let again = gateway.confirm(&code, Role::Owner).unwrap();
        assert_eq!(again, Err(Rejected::Unknown(code)), "a code works once");
        assert_eq!(gateway.list().unwrap().offers, []);
        assert!(gateway.remove("telegram", "7").unwrap());
        assert!(!gateway.remove("telegram", "7").unwrap());
        assert!(!command_line.is_paired("telegram", "7"));
        let file = std::fs::metadata(place.folder.path().join("pairing.json")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_code_is_valid_for_ten_minutes_and_then_there_is_another() {
        let place = Place::new();
        let pairing = place.pairing();
        let code = pairing.offer(&chat(), &sender("7")).unwrap().unwrap();
        place.pass(PAIRING_VALID_SECS - 1);
        assert_eq!(pairing.offer(&chat(), &sender("7")).unwrap(), None);
        place.pass(1);
        let expired = Err(Rejected::Expired(code.clone()));
        assert_eq!(pairing.confirm(&code, Role::Owner).unwrap(), expired);
        assert_eq!(pairing.list().unwrap().offers, []);
        let later = pairing.offer(&chat(), &sender("7")).unwrap().unwrap();
        assert_ne!(later, code);
        place.pass(PAIRING_VALID_SECS - 1);
        assert!(pairing.confirm(&later, Role::Owner).unwrap().is_ok());
        let unknown = Err(Rejected::Unknown("ABCDEFGH".to_owned()));
        assert_eq!(pairing.confirm("ABCD EFGH", Role::Owner).unwrap(), unknown);
    }

    #[test]
    fn a_code_from_the_future_has_expired_and_does_not_prevent_another() {
        let place = Place::new();
        let pairing = place.pairing();
        let code = pairing.offer(&chat(), &sender("7")).unwrap().unwrap();
        place.pass(-1);
        let expired = Err(Rejected::Expired(code.clone()));
        assert_eq!(pairing.confirm(&code, Role::Owner).unwrap(), expired);
        let again = pairing.offer(&chat(), &sender("7")).unwrap().unwrap();
        assert!(pairing.confirm(&again, Role::Owner).unwrap().is_ok());
    }

    #[test]
    fn a_crowd_gets_a_bounded_number_of_codes_and_the_file_stays_short() {
        let place = Place::new();
        let pairing = place.pairing();
        let mut offered = 0;
        for number in 0..2 * PAIRING_OFFERS {
            let stranger = Sender {
                id: number.to_string(),
                name: "\u{1b}[2J".to_owned() + &"ä".repeat(5000),
                ..Sender::default()
            };
            offered += usize::from(pairing.offer(&chat(), &stranger).unwrap().is_some());
            place.pass(1);
        }
        assert_eq!(offered, PAIRING_OFFERS);
        assert_eq!(pairing.list().unwrap().offers.len(), PAIRING_OFFERS);
        let length = std::fs::metadata(place.folder.path().join("pairing.json"))
            .unwrap()
            .len();
        assert!(length < 32 * 1024, "{length}");
        assert!(
            pairing.list().unwrap().offers[0]
                .sender
                .name
                .starts_with("[2Jä")
        );
        let endless = sender(&"9".repeat(SENDER_ID_BYTES + 1));
        place.pass(PAIRING_VALID_SECS);
        assert_eq!(pairing.offer(&chat(), &endless).unwrap(), None);
        assert!(pairing.offer(&chat(), &sender("7")).unwrap().is_some());
    }

    #[test]
    fn a_thousand_unknown_senders_lock_nobody_out() {
        let place = Place::new();
        let pairing = place.pairing();
        let crowd = |range: std::ops::Range<u32>| {
            let mut codes = 0;
            for number in range {
                let stranger = sender(&format!("crowd{number}"));
                codes += usize::from(pairing.offer(&chat(), &stranger).unwrap().is_some());
                pairing
                    .accept("/pair AAAAAAAA", &chat(), &stranger)
                    .unwrap();
            }
            codes
        };
        // Of a code that was just given out nobody takes the place.
        let elsewhere = Address::new("discord", "7");
        let other = pairing.offer(&elsewhere, &sender("7")).unwrap().unwrap();
        let code = pairing.offer(&chat(), &sender("early")).unwrap().unwrap();
        assert_eq!(crowd(0..500), PAIRING_OFFERS - 1);
        // The oldest one of the same channel gives way later.
        place.pass(PAIRING_HELD_SECS);
        assert_eq!(crowd(500..501), 1);
        let unknown = Err(Rejected::Unknown(code.clone()));
        assert_eq!(pairing.confirm(&code, Role::Owner).unwrap(), unknown);
        let again = pairing.offer(&chat(), &sender("early")).unwrap().unwrap();
        crowd(501..501 + PAIRING_OFFERS as u32);
        for (code, id) in [(&again, "early"), (&other, "7")] {
            let paired = pairing.confirm(code, Role::Owner).unwrap().unwrap();
            assert_eq!(paired.sender.id, id);
        }
        assert!(pairing.list().unwrap().offers.len() <= PAIRING_OFFERS);
        // An invited person needs none.
        let invitation = pairing.invite(Role::Owner).unwrap();
        crowd(0..1000);
        let said = format!("/start {}", invitation.to_lowercase());
        assert!(pairing.accept(&said, &chat(), &sender("last")).unwrap());
        assert!(pairing.is_paired("telegram", "last"));
        assert!(
            !pairing.accept(&said, &chat(), &sender("other")).unwrap(),
            "it works once"
        );
        let old = pairing.invite(Role::Owner).unwrap();
        place.pass(PAIRING_VALID_SECS);
        assert!(
            !pairing.accept(&old, &chat(), &sender("other")).unwrap(),
            "it is over"
        );
    }

    #[test]
    fn with_a_file_that_cannot_be_read_nobody_is_paired_and_it_is_not_written_over() {
        let place = Place::new();
        let path = place.folder.path().join("pairing.json");
        std::fs::write(&path, "{\"paired\":[").unwrap();
        let pairing = place.pairing();
        assert!(!pairing.is_paired("telegram", "7"));
        let error = pairing
            .offer(&chat(), &sender("7"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("pairing.json is damaged"), "{error}");
        assert!(pairing.confirm("ABCDEFGH", Role::Owner).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"paired\":[");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_is_typed_only_the_code_pairs(typed in "\\PC{0,12}") {
            let place = Place::new();
            let pairing = place.pairing();
            let code = pairing.offer(&chat(), &sender("7")).unwrap().unwrap();
            let letters: String = typed.chars().filter(char::is_ascii_alphanumeric).collect();
            let is_right = letters.to_ascii_uppercase() == code;
            prop_assert_eq!(pairing.confirm(&typed, Role::Owner).unwrap().is_ok(), is_right);
            prop_assert_eq!(pairing.is_paired("telegram", "7"), is_right);
        }
    }
}
