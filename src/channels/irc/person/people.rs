//! The nicks that people have: a person is answered where they write, and found again later. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::channels::irc::session::support::CaseMapping;

/// How long it counts who has a nick. Later the server is asked before something is sent there.
const VERIFIED_TIME: Duration = Duration::from_secs(10);
/// People whose nicks are remembered.
const PEOPLE: usize = 64;

/// People, those who were heard of last at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct People(Vec<Known>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    id: String,
    nick: String,
    /// When the server has last said that they have the nick, on this connection.
    #[serde(skip)]
    at: Option<Duration>,
}

impl People {
    /// The nick of a person, and whether they have it for sure.
    pub fn nick(&self, id: &str, now: Duration) -> Option<(String, bool)> {
        let known = self.0.iter().find(|known| known.id == id)?;
        let is_sure = known.at.is_some_and(|at| now < at + VERIFIED_TIME);
        Some((known.nick.clone(), is_sure))
    }

    /// Whether a person has been seen with this nick on this connection, and not been seen leaving it.
    pub fn is_at(&self, id: &str, nick: &str, case: CaseMapping) -> bool {
        let known = self.0.iter().find(|known| known.id == id);
        known.is_some_and(|known| known.at.is_some() && case.is_same(&known.nick, nick))
    }

    /// The server says that a person has this nick. Returns whether the nick is new.
    pub fn verified(&mut self, id: &str, nick: &str, now: Duration) -> bool {
        let place = self.0.iter().position(|known| known.id == id);
        let known = place.map(|place| self.0.remove(place));
        let is_new = known.is_none_or(|known| known.nick != nick);
        self.0.push(Known {
            id: id.to_owned(),
            nick: nick.to_owned(),
            at: Some(now),
        });
        let over = self.0.len().saturating_sub(PEOPLE);
        self.0.drain(..over);
        is_new
    }

    /// It is not sure any more where a person is.
    pub fn doubt(&mut self, id: &str) {
        self.change(|known| known.id == id);
    }

    /// Someone has left, or has given up a nick.
    pub fn nick_left(&mut self, nick: &str, case: CaseMapping) {
        self.change(|known| case.is_same(&known.nick, nick));
    }

    /// The connection is another one: nothing is sure.
    pub fn forget_all(&mut self) {
        self.change(|_| true);
    }

    fn change(&mut self, is_meant: impl Fn(&Known) -> bool) {
        let meant = self.0.iter_mut().filter(|known| is_meant(known));
        meant.for_each(|known| known.at = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nick_is_sure_for_a_short_time_only() {
        let mut people = People::default();
        let at = Duration::from_secs;
        assert!(people.verified("ana", "ana_", at(100)));
        assert!(!people.verified("ana", "ana_", at(101)));
        let sure = |people: &People, now| people.nick("ana", now).unwrap();
        assert_eq!(sure(&people, at(102)), ("ana_".to_owned(), true));
        assert!(!sure(&people, at(101) + VERIFIED_TIME).1);
        people.nick_left("ANA_", CaseMapping::Ascii);
        assert!(!sure(&people, at(102)).1);
        people.verified("ana", "ana", at(103));
        people.doubt("ana");
        assert!(!sure(&people, at(103)).1);
        assert_eq!(people.nick("bob", at(103)), None);
        let json = serde_json::to_string(&people).unwrap();
        assert_eq!(json, r#"[{"id":"ana","nick":"ana"}]"#);
    }

    #[test]
    fn there_is_a_bound_for_people() {
        let mut people = People::default();
        for number in 0..2 * PEOPLE {
            people.verified(&number.to_string(), "x", Duration::ZERO);
        }
        assert_eq!(people.0.len(), PEOPLE);
        assert!(people.nick("0", Duration::ZERO).is_none());
    }
}
