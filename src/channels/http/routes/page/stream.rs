//! A page that looks at a chat: its events, as long as its browser is signed in.

use super::{Session, known};
use crate::channels::http::routes::Place;
use crate::channels::http::web::looks::Look;
use crate::channels::http::wire::reply::begin_events;

/// A page that looks at a chat.
pub struct Stream {
    session: Session,
    chat: String,
    seen: u64,
    look: Look,
}

impl Stream {
    /// A page that has seen nothing so far.
    pub(super) fn new(session: Session, chat: String, look: Look) -> Self {
        Self {
            session,
            chat,
            seen: 0,
            look,
        }
    }

    /// How its events begin.
    pub fn begin(&self) -> Vec<u8> {
        begin_events(&[])
    }

    /// Whether its browser is still signed in, with the same role, and its place is still its own.
    pub fn may_look(&self, place: &Place<'_>) -> bool {
        let session = &self.session;
        !self.look.is_over()
            && known(place, &session.secret).is_some_and(|known| known.role == session.role)
    }

    /// What is new, as an event; empty for nothing, `None` when the browser may look no longer.
    pub fn news(&mut self, place: &Place<'_>) -> Option<Vec<u8>> {
        let view = &place.channel.web.view;
        if self.look.is_over() {
            return None;
        }
        let Some((news, version)) = view.since(&self.chat, self.seen) else {
            return Some(Vec::new());
        };
        if !self.may_look(place) {
            return None;
        }
        self.seen = version;
        Some(format!("data: {news}\n\n").into_bytes())
    }
}
