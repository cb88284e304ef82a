//! A page that looks at a chat: its events, as long as its browser is signed in.

use std::time::Duration;

use super::{Session, known};
use crate::channels::http::routes::Place;
use crate::channels::http::web::view::Look;
use crate::channels::http::wire::reply::begin_events;

/// How long a browser counts as signed in without another look at that.
const TRUST_TIME: Duration = Duration::from_secs(2);

/// A page that looks at a chat.
pub struct Stream {
    session: Session,
    chat: String,
    seen: u64,
    /// When the browser was found to be signed in.
    checked: Duration,
    _look: Look,
}

impl Stream {
    /// A page that has seen nothing so far.
    pub(super) fn new(session: Session, chat: String, look: Look) -> Self {
        Self {
            session,
            chat,
            seen: 0,
            checked: Duration::ZERO,
            _look: look,
        }
    }

    /// How its events begin.
    pub fn begin(&self) -> Vec<u8> {
        begin_events(&[])
    }

    /// Whether its browser is still signed in, and its person has access.
    pub fn may_look(&mut self, place: &Place<'_>, now: Duration) -> bool {
        self.checked = now;
        known(place, &self.session.secret).is_some_and(|known| known.role == self.session.role)
    }

    /// What is new, as an event; empty for nothing, `None` when the browser may look no longer.
    pub fn news(&mut self, place: &Place<'_>, now: Duration) -> Option<Vec<u8>> {
        let view = &place.channel.web.view;
        let Some((news, version)) = view.since(&self.chat, self.seen) else {
            return Some(Vec::new());
        };
        if now.saturating_sub(self.checked) >= TRUST_TIME && !self.may_look(place, now) {
            return None;
        }
        self.seen = version;
        Some(format!("data: {news}\n\n").into_bytes())
    }
}
