//! People who use the web page: the links that sign them in, and their browsers.
//!
//! A link and a browser's cookie are 256 random bits each, of which only the hash is kept, beside the tokens of programs.
//! A browser acts for a person of a chat, whose role is looked up for every request.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::tokens::hash;
use super::{Pairing, Pairings, is_within};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::Address;
use crate::base::secret::Secret;
use crate::sys::random;

/// Seconds for which a link signs in.
pub const LINK_SECS: i64 = 5 * 60;
/// Seconds for which a browser stays signed in.
pub const SIGNED_IN_SECS: i64 = 30 * 24 * 3600;
/// Links that are valid at a time; of more the oldest is dropped.
const LINKS: usize = 16;
/// Browsers that are signed in; of more the oldest is dropped.
const BROWSERS: usize = 64;
/// The same of one person: a phone, a tablet, and some computers.
const BROWSERS_OF_PERSON: usize = 8;

/// A person of a chat who uses the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitor {
    /// The private chat in which they asked for the page.
    pub chat: Address,
    /// Their id on its channel.
    pub id: String,
    /// The name by which others write to them, without its `@`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// The name that people see.
    pub name: String,
    /// Their language.
    #[serde(default, skip_serializing_if = "Language::is_default")]
    pub language: Language,
}

impl Visitor {
    /// Their id on the channel of the page, and the chat of their conversations in addresses there.
    pub fn key(&self) -> String {
        let whole = format!("{}:{}", self.chat.channel, self.id);
        whole.replace('%', "%25").replace(':', "%3A")
    }
}

/// A link or a browser, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The SHA-256 of the secret, base64.
    hash: String,
    /// Who it acts for.
    visitor: Visitor,
    /// When it was made, in seconds since 1970.
    at: i64,
}

impl Pass {
    fn is(&self, hash: &str) -> bool {
        bool::from(self.hash.as_bytes().ct_eq(hash.as_bytes()))
    }

    fn is_of(&self, visitor: &Visitor) -> bool {
        self.visitor.key() == visitor.key()
    }
}

fn new_secret() -> Result<Secret> {
    let bytes: [u8; 32] = random::bytes()?;
    // Digits and letters: no channel takes a part of a link for markup.
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(&hex))
}

/// Adds one. Where that are too many, the oldest of the person who has most is dropped.
fn add(all: &mut Vec<Pass>, most: usize, pass: Pass) {
    all.push(pass);
    while all.len() > most {
        let count = |of: &Pass| all.iter().filter(|one| one.is_of(&of.visitor)).count();
        let counts: Vec<usize> = all.iter().map(count).collect();
        let greatest = counts.iter().max();
        let Some(oldest) = counts.iter().position(|count| Some(count) == greatest) else {
            return;
        };
        all.remove(oldest);
    }
}

impl Pairings {
    fn drop_old_pages(&mut self, now: i64) {
        self.links.retain(|one| is_within(one.at, LINK_SECS, now));
        self.browsers
            .retain(|one| is_within(one.at, SIGNED_IN_SECS, now));
    }

    /// Signs all browsers out of a person who loses their access, and takes their links back.
    pub(super) fn forget_visitor(&mut self, channel: &str, id: &str) {
        let is_other = |one: &Pass| one.visitor.chat.channel != channel || one.visitor.id != id;
        self.links.retain(is_other);
        self.browsers.retain(is_other);
    }
}

impl Pairing {
    /// Makes the secret of a link, which signs one browser in.
    pub fn add_link(&self, visitor: &Visitor) -> Result<Secret> {
        let secret = new_secret()?;
        let at = self.clock.now().timestamp();
        self.file.update(|known| {
            known.drop_old_pages(at);
            let pass = Pass {
                hash: hash(secret.expose()),
                visitor: visitor.clone(),
                at,
            };
            add(&mut known.links, LINKS, pass);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Signs a browser in by the secret of a link, which is used up. Returns the secret of the browser; `None` when the link
    /// is unknown, used or too old.
    pub fn use_link(&self, secret: &str) -> Result<Option<Secret>> {
        let wanted = hash(secret);
        let at = self.clock.now().timestamp();
        // A guess writes nothing.
        if !self.file.read()?.links.iter().any(|one| one.is(&wanted)) {
            return Ok(None);
        }
        let browser = new_secret()?;
        self.file.update(|known| {
            known.drop_old_pages(at);
            let Some(index) = known.links.iter().position(|one| one.is(&wanted)) else {
                return Ok(None);
            };
            let visitor = known.links.remove(index).visitor;
            let own = known.browsers.iter().filter(|one| one.is_of(&visitor));
            if own.count() >= BROWSERS_OF_PERSON
                && let Some(oldest) = known.browsers.iter().position(|one| one.is_of(&visitor))
            {
                known.browsers.remove(oldest);
            }
            let pass = Pass {
                hash: hash(browser.expose()),
                visitor,
                at,
            };
            add(&mut known.browsers, BROWSERS, pass);
            Ok(Some(browser))
        })
    }

    /// Notes the name that a channel has seen a person with: their links and browsers have it from now on, and those of
    /// anyone else who had it before no name.
    pub fn note_name(&self, channel: &str, id: &str, username: &str) -> Result<()> {
        let is_wrong = |one: &Pass| {
            let (known, is_own) = (&one.visitor, one.visitor.id == id);
            let has_it = known.username.eq_ignore_ascii_case(username);
            known.chat.channel == channel
                && (is_own && !has_it || !is_own && has_it && !username.is_empty())
        };
        let known = self.file.read()?;
        if !known.links.iter().chain(&known.browsers).any(is_wrong) {
            return Ok(());
        }
        self.file.update(|known| {
            let all = known.links.iter_mut().chain(&mut known.browsers);
            for one in all.filter(|one| is_wrong(one)) {
                match one.visitor.id == id {
                    true => username.clone_into(&mut one.visitor.username),
                    false => one.visitor.username.clear(),
                }
            }
            Ok(())
        })
    }

    /// The person for whom a browser acts. Every one is compared, each in constant time.
    pub fn find_browser(&self, secret: &str) -> Result<Option<Visitor>> {
        let wanted = hash(secret);
        let now = self.clock.now().timestamp();
        let known = self.file.read()?;
        let mut found = None;
        for one in &known.browsers {
            if one.is(&wanted) && is_within(one.at, SIGNED_IN_SECS, now) {
                found = Some(one.visitor.clone());
            }
        }
        Ok(found)
    }

    /// The person of this key, as long as a browser acts for them. With a file that cannot be read there is none.
    pub fn visitor(&self, key: &str) -> Option<Visitor> {
        let now = self.clock.now().timestamp();
        let known = self.file.read().ok()?;
        let mut browsers = known.browsers.iter();
        let found = browsers
            .find(|one| one.visitor.key() == key && is_within(one.at, SIGNED_IN_SECS, now))?;
        Some(found.visitor.clone())
    }

    /// Signs one browser out.
    pub fn sign_out(&self, secret: &str) -> Result<()> {
        let wanted = hash(secret);
        self.file.update(|known| {
            known.browsers.retain(|one| !one.is(&wanted));
            Ok(())
        })
    }

    /// Signs all browsers of a person out, and takes their links back. Returns how many browsers it was.
    pub fn sign_out_all(&self, key: &str) -> Result<usize> {
        self.file.update(|known| {
            let before = known.browsers.len();
            known.links.retain(|one| one.visitor.key() != key);
            known.browsers.retain(|one| one.visitor.key() != key);
            Ok(before - known.browsers.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Clock;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    fn visitor(id: &str) -> Visitor {
        Visitor {
            chat: Address::new("telegram", id),
            id: id.to_owned(),
            username: String::new(),
            name: "Ana".to_owned(),
            language: Language::English,
        }
    }

    struct Place {
        folder: tempfile::TempDir,
        millis: Arc<AtomicI64>,
        pairing: Pairing,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
            let pairing = Pairing::new(folder.path(), Clock::Hand(Arc::clone(&millis)));
            Self {
                folder,
                millis,
                pairing,
            }
        }

        fn pass(&self, seconds: i64) {
            self.millis.fetch_add(1000 * seconds, Ordering::Relaxed);
        }

        fn sign_in(&self, id: &str) -> Secret {
            let link = self.pairing.add_link(&visitor(id)).unwrap();
            self.pairing.use_link(link.expose()).unwrap().unwrap()
        }

        fn is_in(&self, browser: &Secret) -> bool {
            let found = self.pairing.find_browser(browser.expose()).unwrap();
            found.is_some()
        }
    }

    #[test]
    fn a_link_signs_in_once_and_for_five_minutes() {
        let place = Place::new();
        let link = place.pairing.add_link(&visitor("7")).unwrap();
        for guess in ["", "x", &link.expose()[1..]] {
            assert_eq!(place.pairing.use_link(guess).unwrap(), None, "{guess}");
        }
        let browser = place.pairing.use_link(link.expose()).unwrap().unwrap();
        assert_eq!(place.pairing.use_link(link.expose()).unwrap(), None, "once");
        let found = place.pairing.find_browser(browser.expose()).unwrap();
        assert_eq!(found, Some(visitor("7")));
        let stored = std::fs::read_to_string(place.folder.path().join("pairing.json")).unwrap();
        assert!(!stored.contains(link.expose()) && !stored.contains(browser.expose()));
        let old = place.pairing.add_link(&visitor("7")).unwrap();
        place.pass(LINK_SECS);
        assert_eq!(place.pairing.use_link(old.expose()).unwrap(), None, "old");
    }

    #[test]
    fn a_browser_is_signed_out_by_itself_by_its_person_and_by_time() {
        let place = Place::new();
        let (first, second, other) = (place.sign_in("7"), place.sign_in("7"), place.sign_in("8"));
        place.pairing.sign_out(first.expose()).unwrap();
        assert!(!place.is_in(&first) && place.is_in(&second));
        let key = visitor("7").key();
        assert_eq!(place.pairing.visitor(&key), Some(visitor("7")));
        assert_eq!(place.pairing.sign_out_all(&key).unwrap(), 1);
        assert!(!place.is_in(&second) && place.is_in(&other));
        assert_eq!(place.pairing.visitor(&key), None);
        let lost = place.sign_in("9");
        place.pairing.remove("telegram", "9").unwrap();
        assert!(!place.is_in(&lost) && place.is_in(&other));
        place.pass(SIGNED_IN_SECS);
        assert!(!place.is_in(&other));
        assert_eq!(place.pairing.visitor(&visitor("8").key()), None);
    }

    #[test]
    fn links_and_browsers_are_bounded() {
        let place = Place::new();
        let first = place.sign_in("7");
        let other = place.sign_in("8");
        let mut newest = None;
        for _ in 0..BROWSERS_OF_PERSON {
            newest = Some(place.sign_in("7"));
        }
        assert!(!place.is_in(&first) && place.is_in(&other) && place.is_in(&newest.unwrap()));
        let fair = place.pairing.add_link(&visitor("6")).unwrap();
        for _ in 0..2 * LINKS {
            place.pairing.add_link(&visitor("7")).unwrap();
        }
        let fair = place.pairing.use_link(fair.expose()).unwrap();
        assert!(fair.is_some(), "others have taken it");
        for id in 0..BROWSERS {
            place.sign_in(&format!("p{id}"));
        }
        assert!(!place.is_in(&other));
        for _ in 0..2 * LINKS {
            place.pairing.add_link(&visitor("7")).unwrap();
        }
        let known = place.pairing.list().unwrap();
        assert_eq!((known.links.len(), known.browsers.len()), (LINKS, BROWSERS));
    }

    #[test]
    fn a_name_is_that_of_the_person_whom_the_channel_saw_last_with_it() {
        let place = Place::new();
        let named = Visitor {
            username: "anaxx".to_owned(),
            ..visitor("7")
        };
        let link = place.pairing.add_link(&named).unwrap();
        place.pairing.use_link(link.expose()).unwrap().unwrap();
        let name = || place.pairing.visitor(&named.key()).unwrap().username;
        place.pairing.note_name("telegram", "8", "other").unwrap();
        place.pairing.note_name("matrix", "7", "").unwrap();
        assert_eq!(name(), "anaxx");
        place.pairing.note_name("telegram", "7", "renamed").unwrap();
        assert_eq!(name(), "renamed");
        place.pairing.note_name("telegram", "8", "Renamed").unwrap();
        assert_eq!(name(), "", "someone else has it now");
    }

    #[test]
    fn keys_tell_people_of_different_channels_apart() {
        let mut odd = visitor("7");
        odd.id = "a:b%3A".to_owned();
        assert_eq!(odd.key(), "telegram%3Aa%3Ab%253A");
        let mut other = visitor("7");
        other.chat.channel = "matrix".to_owned();
        assert_ne!(visitor("7").key(), other.key());
    }
}
