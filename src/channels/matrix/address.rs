//! Ids of Matrix, and the addresses that name them. Pure.
//!
//! Ids contain colons, which part an address, so there they are percent-encoded: the room `!abc:example.org` is
//! `matrix:!abc%3Aexample.org`, and a thread in it `matrix:!abc%3Aexample.org:$root`. What people type is understood
//! too: `matrix:!abc:example.org`, and `matrix:@ana:example.org` for the private chat with a person.
//! <https://spec.matrix.org/latest/appendices/#identifier-grammar>

use super::NAME;
use crate::base::message::Address;

/// Bytes of an id: of a room, a person or an event (the specification's bound).
const ID_BYTES: usize = 255;

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A room, and the thread in it that this event has begun.
    Room {
        /// The room's id.
        room: String,
        /// The id of the thread's first event.
        thread: Option<String>,
    },
    /// The private chat with a person.
    Person(String),
}

impl Target {
    /// Reads an address; `None` when it is not one of Matrix.
    pub fn read(address: &Address) -> Option<Self> {
        if address.channel != NAME {
            return None;
        }
        let thread = address.thread.as_deref();
        if let Some(thread) = thread.map(decode).filter(|thread| is_id('$', thread)) {
            let room = decode(&address.chat);
            let thread = Some(thread);
            return is_id('!', &room).then_some(Self::Room { room, thread });
        }
        // Typed as it is, its server looks like a thread.
        let id = match thread {
            Some(server) => [&address.chat, ":", server].concat(),
            None => decode(&address.chat),
        };
        match () {
            () if is_id('!', &id) => Some(Self::Room {
                room: id,
                thread: None,
            }),
            () if is_user(&id) => Some(Self::Person(id)),
            () => None,
        }
    }
}

/// The address of a room, or of a thread in it.
pub fn address(room: &str, thread: Option<&str>) -> Address {
    Address {
        thread: thread.map(encode),
        ..Address::new(NAME, &encode(room))
    }
}

/// Whether a text is an id that begins with this sign: `!` for rooms, `$` for events, `@` for people.
pub fn is_id(sign: char, text: &str) -> bool {
    let fits = |char: char| !char.is_whitespace() && !char.is_control();
    let rest = text.strip_prefix(sign);
    rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(fits)) && text.len() <= ID_BYTES
}

/// Whether a text is the id of a person.
pub fn is_user(text: &str) -> bool {
    let has_server = text.split_once(':').is_some_and(|(name, server)| {
        let fits = |char: char| char.is_ascii_alphanumeric() || ".-:[]".contains(char);
        name.len() > 1 && !server.is_empty() && server.chars().all(fits)
    });
    is_id('@', text) && has_server
}

/// The name within its server of a person's id.
pub fn local_part(user: &str) -> &str {
    let name = user.strip_prefix('@').unwrap_or(user);
    name.split_once(':').map_or(name, |(name, _)| name)
}

/// The server and the id of a file, from `mxc://server/id`.
pub fn media(uri: &str) -> Option<(&str, &str)> {
    let (server, id) = uri.strip_prefix("mxc://")?.split_once('/')?;
    let fits = |text: &str, more: &str| {
        let fits = |char: char| char.is_ascii_alphanumeric() || more.contains(char);
        !text.is_empty() && text.len() <= ID_BYTES && text.chars().all(fits)
    };
    (fits(server, ".-:[]") && fits(id, "-_")).then_some((server, id))
}

/// An id without colons.
fn encode(id: &str) -> String {
    id.replace('%', "%25").replace(':', "%3A")
}

/// What [`encode`] was given.
fn decode(part: &str) -> String {
    part.replace("%3A", ":")
        .replace("%3a", ":")
        .replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(id: &str, thread: Option<&str>) -> Target {
        Target::Room {
            room: id.to_owned(),
            thread: thread.map(str::to_owned),
        }
    }

    #[test]
    fn ids_with_colons_come_back_and_what_people_type_is_understood() {
        for (text, target) in [
            ("matrix:!a%3Ax.org", room("!a:x.org", None)),
            ("matrix:!a:x.org", room("!a:x.org", None)),
            ("matrix:!a:x.org:8448", room("!a:x.org:8448", None)),
            ("matrix:!opaque-id", room("!opaque-id", None)),
            ("matrix:!a%3Ax.org:$root", room("!a:x.org", Some("$root"))),
            (
                "matrix:!a%3Ax.org:$1%3Ax.org",
                room("!a:x.org", Some("$1:x.org")),
            ),
            ("matrix:@ana:x.org", Target::Person("@ana:x.org".to_owned())),
            (
                "matrix:@ana%3Ax.org",
                Target::Person("@ana:x.org".to_owned()),
            ),
        ] {
            assert_eq!(Target::read(&Address::parse(text)), Some(target), "{text}");
        }
        for text in [
            "matrix:",
            "matrix:a",
            "matrix:@ana",
            "matrix:! a",
            "telegram:!a",
            "matrix:$a",
        ] {
            assert_eq!(Target::read(&Address::parse(text)), None, "{text}");
        }
    }

    #[test]
    fn only_files_of_servers_are_files() {
        assert_eq!(
            media("mxc://x.org:8448/aB_-9"),
            Some(("x.org:8448", "aB_-9"))
        );
        for uri in [
            "",
            "https://x.org/a",
            "mxc://x.org",
            "mxc://x.org/",
            "mxc:///a",
            "mxc://x.org/../a",
            "mxc://x.org/a/b",
            "mxc://x.org/a?b",
            "mxc://x org/a",
        ] {
            assert_eq!(media(uri), None, "{uri}");
        }
    }

    proptest! {
        #[test]
        fn any_room_and_thread_come_back(id in "![!-~]{1,40}", root in "\\$[!-~]{1,40}") {
            for thread in [None, Some(root.as_str())] {
                let written = address(&id, thread).to_string();
                prop_assert_eq!(Target::read(&Address::parse(&written)), Some(room(&id, thread)));
            }
        }
    }
}
