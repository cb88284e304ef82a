//! Where a message goes. Pure.
//!
//! A person's chat is their open id alone, as in nanobot. A group is `group-ID`, a channel of a guild `channel-ID`, and
//! the private chat with a member of a guild `dm-ID`, by the id of the guild that QQ makes for it.

use super::NAME;
use super::{GROUP_REPLY_MS, ID_BYTES, PRIVATE_REPLY_MS};
use crate::base::message::Address;
use crate::channels::kit::adapter::{Failure, Sent};

/// A chat, by its kind and QQ's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A person.
    Person(&'a str),
    /// A group.
    Group(&'a str),
    /// A channel of a guild.
    Channel(&'a str),
    /// A private chat with a member of a guild.
    Direct(&'a str),
}

impl<'a> Place<'a> {
    /// The chat of an address.
    pub fn of(to: &'a Address) -> Sent<Self> {
        let is_ours = to.channel == NAME && to.thread.is_none();
        let place = Self::parse(&to.chat).filter(|_| is_ours);
        place.ok_or_else(|| Failure::Refused(format!("{to} is not a chat of QQ")))
    }

    /// Reads what [`Place::chat`] wrote.
    pub fn parse(chat: &'a str) -> Option<Self> {
        let (place, id) = match chat.split_once('-') {
            Some(("group", id)) => (Self::Group(id), id),
            Some(("channel", id)) => (Self::Channel(id), id),
            Some(("dm", id)) => (Self::Direct(id), id),
            _ => (Self::Person(chat), chat),
        };
        is_id(id).then_some(place)
    }

    /// The chat in an address.
    pub fn chat(self) -> String {
        match self {
            Self::Person(id) => id.to_owned(),
            Self::Group(id) => format!("group-{id}"),
            Self::Channel(id) => format!("channel-{id}"),
            Self::Direct(id) => format!("dm-{id}"),
        }
    }

    /// Where its messages are sent to, below the API's base.
    pub fn path(self) -> String {
        match self {
            Self::Person(id) => format!("/v2/users/{id}"),
            Self::Group(id) => format!("/v2/groups/{id}"),
            Self::Channel(id) => format!("/channels/{id}"),
            Self::Direct(id) => format!("/dms/{id}"),
        }
    }

    /// Whether others read there.
    pub fn is_group(self) -> bool {
        matches!(self, Self::Group(_) | Self::Channel(_))
    }

    /// Whether it is of the newer API, with kinds of messages, numbered replies and files of any kind.
    pub fn is_numbered(self) -> bool {
        matches!(self, Self::Person(_) | Self::Group(_))
    }

    /// How long a message there can be replied to, in milliseconds.
    pub fn reply_ms(self) -> i64 {
        match self {
            Self::Person(_) => PRIVATE_REPLY_MS,
            _ => GROUP_REPLY_MS,
        }
    }
}

/// Whether a text can be an id. It becomes a part of a path.
pub fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !text.is_empty() && text.len() <= ID_BYTES && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_chat_has_its_path() {
        for (chat, path) in [
            ("8F2C", "/v2/users/8F2C"),
            ("group-8F2C", "/v2/groups/8F2C"),
            ("channel-12", "/channels/12"),
            ("dm-34", "/dms/34"),
        ] {
            let place = Place::parse(chat).unwrap();
            assert_eq!((place.path().as_str(), place.chat().as_str()), (path, chat));
        }
        for chat in ["", "group-", "a/b", "a b", "dm-1?x", "..", "a:b"] {
            assert_eq!(Place::parse(chat), None, "{chat}");
        }
        for address in ["telegram:8F2C", "qq:8F2C:7"] {
            assert!(Place::of(&Address::parse(address)).is_err(), "{address}");
        }
    }
}
