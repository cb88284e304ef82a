//! Where DingTalk's messages go: to a person, or to a group. Pure.
//!
//! A group's id begins with `cid`, and an organisation may give a person any id. A person's address therefore never
//! begins so: the first letter is percent-encoded there. So are the characters that addresses cannot have, and those
//! that ids seldom have; those of base64 stay.

use super::ID_BYTES;
use super::NAME;
use crate::base::message::Address;
use crate::channels::kit::adapter::{Failure, Sent};

/// How the ids of conversations begin.
const CONVERSATION: &str = "cid";

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The private chat of the person with this staff id.
    Person(String),
    /// The group with this open conversation id.
    Group(String),
}

impl Place {
    /// A person; `None` if that is no id.
    pub fn person(id: &str) -> Option<Self> {
        is_id(id).then(|| Self::Person(id.to_owned()))
    }

    /// A group; `None` if that is no id of one.
    pub fn group(id: &str) -> Option<Self> {
        let is_group = is_id(id) && id.starts_with(CONVERSATION);
        is_group.then(|| Self::Group(id.to_owned()))
    }

    /// Whether several people read it.
    pub fn is_group(&self) -> bool {
        matches!(self, Self::Group(_))
    }

    /// Its address.
    pub fn address(&self) -> Address {
        let chat = match self {
            Self::Group(id) => encode(id),
            Self::Person(id) => match id.strip_prefix('c') {
                Some(rest) if id.starts_with(CONVERSATION) => {
                    format!("%63{}", encode(rest))
                }
                _ => encode(id),
            },
        };
        Address::new(NAME, &chat)
    }

    /// The place of an address.
    pub fn of(address: &Address) -> Sent<Self> {
        let refused = || Failure::Refused(format!("{address} is not a chat of DingTalk"));
        let is_ours = address.channel == NAME && address.thread.is_none();
        let id = decode(&address.chat).filter(|_| is_ours);
        let id = id.ok_or_else(refused)?;
        let place = if address.chat.starts_with(CONVERSATION) {
            Self::group(&id)
        } else {
            Self::person(&id)
        };
        place.ok_or_else(refused)
    }
}

/// Whether a text can be an id: DingTalk's have letters, digits and punctuation.
pub fn is_id(text: &str) -> bool {
    (1..=ID_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn encode(id: &str) -> String {
    let mut encoded = String::with_capacity(id.len());
    for byte in id.bytes() {
        match char::from(byte) {
            kept if kept.is_ascii_alphanumeric() || "-_.~+/=@".contains(kept) => encoded.push(kept),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Undoes percent-encoding; `None` where that is broken.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(address: &str) -> Option<Place> {
        Place::of(&Address::parse(address)).ok()
    }

    #[test]
    fn people_and_groups_are_told_apart() {
        for (place, address) in [
            (Place::person("manager1234"), "dingtalk:manager1234"),
            (Place::person("0123-45_6"), "dingtalk:0123-45_6"),
            (Place::person("cid7"), "dingtalk:%63id7"),
            (Place::person("a:b%c"), "dingtalk:a%3Ab%25c"),
            (Place::group("cidA+/b=="), "dingtalk:cidA+/b=="),
        ] {
            let place = place.unwrap();
            assert_eq!(place.address().to_string(), address);
            assert_eq!(of(address), Some(place));
        }
        // As a person may write it.
        assert_eq!(of("dingtalk:cidA%2B%2Fb%3d%3d"), Place::group("cidA+/b=="));
        assert_eq!(Place::group("manager1234"), None);
        for address in [
            "dingtalk:",
            "dingtalk:a:b",
            "dingtalk:a%2",
            "dingtalk:%zz",
            "dingtalk:a b",
            "qq:a",
        ] {
            assert_eq!(of(address), None, "{address}");
        }
    }

    proptest! {
        #[test]
        fn every_id_comes_back_from_its_address(id in "(cid)?[!-~]{1,60}") {
            let person = Place::person(&id).unwrap();
            let address = Address::parse(&person.address().to_string());
            prop_assert_eq!(Place::of(&address).ok(), Some(person));
            if let Some(group) = Place::group(&id) {
                let address = Address::parse(&group.address().to_string());
                prop_assert_eq!(Place::of(&address).ok(), Some(group));
            }
        }
    }
}
