//! What was read of each session and panel, and what is new. Pure.

use std::collections::BTreeMap;

use super::{MESSAGES, TARGETS};
use serde::{Deserialize, Serialize};

/// What was read, by the ids of sessions and panels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Places {
    /// The cursors of sessions: the number of the last event.
    sessions: BTreeMap<String, u64>,
    /// When the newest message of each panel was written, in milliseconds since 1970.
    panels: BTreeMap<String, i64>,
    /// The ids of the messages of that millisecond.
    newest: BTreeMap<String, Vec<String>>,
}

impl Places {
    /// The cursor of a session; `None` for one that was never read.
    pub fn cursor(&self, session: &str) -> Option<u64> {
        self.sessions.get(session).copied()
    }

    /// Events of a session up to this one have been taken. Returns whether that is new.
    pub fn read_session(&mut self, session: &str, cursor: u64) -> bool {
        let known = self.cursor(session);
        let is_new = known.is_none_or(|known| cursor > known);
        if is_new && (known.is_some() || self.sessions.len() < TARGETS) {
            self.sessions.insert(session.to_owned(), cursor);
        }
        is_new
    }

    /// Whether a message of a session is new. What a session had before it was read for the first time is not, unless
    /// it was written since the program began: then the session is a new one.
    pub fn is_new_in_session(
        &self,
        session: &str,
        sequence: Option<u64>,
        at: Option<i64>,
        began: i64,
    ) -> bool {
        match (self.cursor(session), sequence) {
            (Some(cursor), Some(sequence)) => sequence > cursor,
            (Some(_), None) => true,
            (None, _) => at.is_some_and(|at| at >= began),
        }
    }

    /// Whether a message of a panel is new; those of the same millisecond are told apart by their ids.
    pub fn is_new_in_panel(&self, panel: &str, id: &str, at: Option<i64>, began: i64) -> bool {
        let since = self.panels.get(panel).copied().unwrap_or(began);
        let is_known = || {
            let newest = self.newest.get(panel);
            newest.is_some_and(|ids| ids.iter().any(|known| known == id))
        };
        at.is_some_and(|at| at > since || at == since && !is_known())
    }

    /// This message of a panel has been taken. Returns whether that is new.
    pub fn read_panel(&mut self, panel: &str, id: &str, at: i64) -> bool {
        let known = self.panels.get(panel).copied();
        if known.is_none() && self.panels.len() >= TARGETS || known.is_some_and(|known| at < known)
        {
            return false;
        }
        if known != Some(at) {
            self.panels.insert(panel.to_owned(), at);
            self.newest.remove(panel);
        }
        let ids = self.newest.entry(panel.to_owned()).or_default();
        let is_new = ids.len() < MESSAGES && !ids.iter().any(|known| known == id);
        if is_new {
            ids.push(id.to_owned());
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: i64 = 1_732_390_000_000;

    #[test]
    fn the_history_of_a_session_is_not_new_and_what_follows_is() {
        let mut places = Places::default();
        let is_new = |places: &Places, sequence, at| {
            places.is_new_in_session("session_1", Some(sequence), Some(at), BEGAN)
        };
        assert!(!is_new(&places, 3, BEGAN - 1));
        // Its first message was written just now: somebody has begun it.
        assert!(is_new(&places, 1, BEGAN + 1));
        assert!(places.read_session("session_1", 3));
        assert!(!places.read_session("session_1", 2));
        assert!(!is_new(&places, 3, BEGAN + 5) && is_new(&places, 4, BEGAN - 5));
        assert_eq!(places.cursor("session_1"), Some(3));
    }

    #[test]
    fn a_panel_is_read_from_the_newest_known_message_on() {
        let mut places = Places::default();
        let is_new = |places: &Places, id, at| places.is_new_in_panel("p", id, at, BEGAN);
        assert!(!is_new(&places, "a", Some(BEGAN - 1)));
        assert!(is_new(&places, "a", Some(BEGAN + 1)));
        assert!(places.read_panel("p", "a", BEGAN + 9));
        assert!(!is_new(&places, "b", Some(BEGAN + 8)));
        let same = Some(BEGAN + 9);
        assert!(is_new(&places, "b", same) && !is_new(&places, "a", same));
        assert!(places.read_panel("p", "b", BEGAN + 9) && !is_new(&places, "b", same));
        assert!(!is_new(&places, "c", None));
        assert!(!places.read_panel("p", "c", BEGAN));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut places = Places::default();
        for number in 0..3 * TARGETS {
            places.read_session(&number.to_string(), 1);
            places.read_panel(&number.to_string(), "a", 1);
        }
        assert_eq!(
            (places.sessions.len(), places.panels.len()),
            (TARGETS, TARGETS)
        );
    }
}
