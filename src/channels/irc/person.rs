//! Who somebody is on IRC, where anyone can take a nick, and where messages go. Pure.
//!
//! A person is their services account, which the server vouches for. Where that is missing, an entry of the configuration
//! may name a mask, `nick!user@host`, which is compared with all that the server shows of the sender. Everyone else is
//! whatever the server shows of them, and that is nobody whom an entry or a pairing could mean. Accounts have no `!`, so
//! that none of these can be taken for another.

pub mod people;

use super::ID_BYTES;
use super::NAME;
use super::session::line::Source;
use super::session::support::CaseMapping;
use crate::base::message::Address;
use crate::channels::kit::adapter::{Failure, Sent};

/// What an id tells about a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The server says that they are logged in.
    Account,
    /// An entry names what the server shows of them.
    Mask,
    /// None.
    None,
}

/// The id of a sender with this account, if any. `known` are the ids that have access, as they are spelled there.
pub fn identify(
    source: &Source,
    account: Option<&str>,
    known: &[String],
    case: CaseMapping,
) -> (String, Proof) {
    let account = account.filter(|account| is_account(account));
    let is_account_of = |entry: &&String| account.is_some_and(|it| case.is_same(entry, it));
    if let Some(entry) = known.iter().find(is_account_of) {
        return (entry.clone(), Proof::Account);
    }
    if let Some(entry) = known.iter().find(|entry| is_named_by(entry, source, case)) {
        return (entry.clone(), Proof::Mask);
    }
    match account {
        Some(account) => (case.fold(account), Proof::Account),
        None => (source.mask(), Proof::None),
    }
}

/// A channel as it is spelled among the entries of the configuration, if one of them names it.
pub fn channel_of<'k>(name: &str, known: &'k [String], case: CaseMapping) -> Option<&'k str> {
    let mut entries = known.iter().filter(|entry| is_channel(entry));
    let found = entries.find(|entry| case.is_same(entry, name));
    found.map(String::as_str)
}

/// Whether an id is a mask that fits a sender.
pub fn is_named_by(id: &str, source: &Source, case: CaseMapping) -> bool {
    is_mask(id) && fits(&case.fold(id), &case.fold(&source.mask()))
}

/// Whether an entry is a mask and no account.
pub fn is_mask(entry: &str) -> bool {
    let parts = entry.split_once('!').map(|(_, rest)| rest.split_once('@'));
    parts.flatten().is_some()
}

/// Whether a mask says something of the host, and not only of what people choose themselves: nick and user name.
pub fn has_host(mask: &str) -> bool {
    let host = mask.rsplit_once('@').map_or("", |(_, host)| host);
    host.chars().any(char::is_alphanumeric)
}

fn is_account(name: &str) -> bool {
    let is_odd = |char: char| char.is_whitespace() || char.is_control() || "!@*?,".contains(char);
    (1..=ID_BYTES).contains(&name.len()) && !name.contains(is_odd)
}

/// Whether a text is what a pattern with `*` and `?` means.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut place) = (0, 0);
    // The last `*`, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while let Some(char) = text.get(place) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(meant) if *meant == '?' || meant == char => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((star_at, reached)) = star else {
                    return false;
                };
                star = Some((star_at, reached + 1));
                at = star_at + 1;
                place = reached + 1;
            }
        }
    }
    pattern.iter().skip(at).all(|char| *char == '*')
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The private chat of the person with this id, whatever their nick is.
    Person(String),
    /// The channel of this name.
    Channel(String),
}

impl Place {
    /// Whether several people read it.
    pub fn is_channel(&self) -> bool {
        matches!(self, Self::Channel(_))
    }

    /// Its address.
    pub fn address(&self) -> Address {
        let (Self::Person(name) | Self::Channel(name)) = self;
        Address::new(NAME, &name.replace('%', "%25").replace(':', "%3A"))
    }

    /// The place of an address.
    pub fn of(address: &Address) -> Sent<Self> {
        let name = address.chat.replace("%3A", ":").replace("%25", "%");
        let is_ours = address.channel == NAME && address.thread.is_none();
        let is_word = |char: char| !char.is_whitespace() && !char.is_control() && char != ',';
        let is_name = (1..=ID_BYTES).contains(&name.len()) && name.chars().all(is_word);
        match is_ours && is_name {
            true if is_channel(&name) => Ok(Self::Channel(name)),
            true => Ok(Self::Person(name)),
            false => Err(Failure::Refused(format!("{address} is not a chat of IRC"))),
        }
    }

    /// The nick to look for a person at first: most people's nick is their account.
    pub fn likely_nick(&self) -> Option<&str> {
        let Self::Person(id) = self else {
            return None;
        };
        let nick = id.split('!').next().unwrap_or_default();
        (!nick.is_empty() && !nick.contains(['*', '?', '@'])).then_some(nick)
    }
}

/// Whether a name is a channel's.
pub fn is_channel(name: &str) -> bool {
    name.starts_with(['#', '&', '+', '!'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(mask: &str) -> Source {
        let (nick, rest) = mask.split_once('!').unwrap();
        let (user, host) = rest.split_once('@').unwrap();
        Source {
            nick: nick.to_owned(),
            user: user.to_owned(),
            host: host.to_owned(),
        }
    }

    fn known(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn a_person_is_their_account_whatever_their_nick() {
        let known = known(&["Ana", "bob!*@*.example.org"]);
        let who = |mask: &str, account: Option<&str>| {
            identify(&source(mask), account, &known, CaseMapping::Rfc1459)
        };
        let account = |id: &str| (id.to_owned(), Proof::Account);
        assert_eq!(who("ana!~a@h", Some("ana")), account("Ana"));
        assert_eq!(who("sleepy!~x@elsewhere", Some("ANA")), account("Ana"));
        assert_eq!(who("cleo!~c@h", Some("Cleo")), account("cleo"));
        // Thieves of a nick.
        for account in [None, Some(""), Some("*")] {
            let (id, proof) = who("Ana!ana@h", account);
            assert_eq!((id.as_str(), proof), ("Ana!ana@h", Proof::None));
        }
        assert_eq!(who("Ana!ana@h", Some("mallory")), account("mallory"));
        let mask = |id: &str| (id.to_owned(), Proof::Mask);
        assert_eq!(
            who("BOB!~b@pc.example.org", None),
            mask("bob!*@*.example.org")
        );
        assert_eq!(who("bob!~b@pc.example.net", None).1, Proof::None);
        assert_eq!(who("bobby!~b@pc.example.org", None).1, Proof::None);
    }

    #[test]
    fn a_channel_is_the_one_of_an_entry_however_that_is_spelled() {
        let known = known(&["ana", "#GARDEN[1]", "#shed"]);
        for (name, case, expected) in [
            ("#garden{1}", CaseMapping::Rfc1459, Some("#GARDEN[1]")),
            ("#garden{1}", CaseMapping::Ascii, None),
            ("#Shed", CaseMapping::Ascii, Some("#shed")),
            ("#house", CaseMapping::Ascii, None),
            ("ana", CaseMapping::Ascii, None),
        ] {
            assert_eq!(channel_of(name, &known, case), expected, "{name}");
        }
    }

    #[test]
    fn no_account_can_look_like_a_mask() {
        let known = known(&["ana!*@home.example"]);
        let thief = source("eve!~e@elsewhere");
        for account in ["ana!*@home.example", "ana!x@home.example", "a b", "*"] {
            let (id, proof) = identify(&thief, Some(account), &known, CaseMapping::Ascii);
            assert_eq!((id, proof), (thief.mask(), Proof::None));
        }
        assert!(is_mask("a!b@c") && !is_mask("ana") && !is_mask("ana@home") && !is_mask("a!b"));
        assert!(has_host("*!*@home") && !has_host("ana!ana@*") && !has_host("ana!*@*.*"));
    }

    #[test]
    fn patterns_fit_as_they_do_on_servers() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("**a", "ba", true),
            ("", "a", false),
            ("*.org*", "x.orb.org", true),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn people_and_channels_have_addresses() {
        for (place, address) in [
            (Place::Person("ana".to_owned()), "irc:ana"),
            (Place::Channel("#crab".to_owned()), "irc:#crab"),
            (Place::Channel("#a:b%".to_owned()), "irc:#a%3Ab%25"),
            (
                Place::Person("ana!*@2001:db8::1".to_owned()),
                "irc:ana!*@2001%3Adb8%3A%3A1",
            ),
        ] {
            assert_eq!(place.address().to_string(), address);
            assert_eq!(Place::of(&Address::parse(address)).ok(), Some(place));
        }
        for address in [
            "irc:",
            "irc:a b",
            "irc:a,b",
            "irc:a\r\nQUIT",
            "irc:a:b",
            "qq:a",
        ] {
            assert!(Place::of(&Address::parse(address)).is_err(), "{address}");
        }
        let nick = |id: &str| {
            Place::Person(id.to_owned())
                .likely_nick()
                .map(str::to_owned)
        };
        assert_eq!(nick("ana").as_deref(), Some("ana"));
        assert_eq!(nick("ana!*@home").as_deref(), Some("ana"));
        assert_eq!(nick("*!ana@home"), None);
    }

    proptest! {
        #[test]
        fn without_an_account_no_nick_makes_anyone_known(nick in "[a-z]{1,9}", user in "[a-z~]{1,9}") {
            let known = known(&["ana", "bob", &nick, "ana!*@home.example"]);
            let source = Source { nick, user, host: "elsewhere.example".to_owned() };
            let (id, proof) = identify(&source, None, &known, CaseMapping::Rfc1459);
            prop_assert_eq!(proof, Proof::None);
            prop_assert!(!known.contains(&id));
        }

        #[test]
        fn a_text_fits_itself_and_patterns_end(text in "[a-c*?]{0,12}", pattern in "[a-c*?]{0,12}") {
            prop_assert!(fits(&text, &text));
            let _ = fits(&pattern, &text);
        }
    }
}
