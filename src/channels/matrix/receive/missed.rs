//! Events that a sync has left out, because there were too many since the last one.

use std::collections::BTreeMap;

use super::{Fault, Me, Receiver, note_name};
use crate::base::limits::channels::CALL_TIME;
use crate::channels::kit::adapter::Failure;
use crate::channels::matrix::sync::{self, Event};

/// Pages of older events that are fetched for one room at a time.
const MISSED_PAGES: usize = 6;
/// Bytes of older events of one room that are kept until they are read in their order.
const MISSED_BYTES: usize = 1024 * 1024;

impl Receiver<'_> {
    /// The events of a room between the last sync and those of this one, oldest first. `before` is where they end.
    pub(super) fn missed(
        &self,
        room: &str,
        before: &str,
        me: &Me,
        names: &mut BTreeMap<String, String>,
    ) -> Result<Vec<String>, Fault> {
        let since = me.kept.since().unwrap_or_default();
        let mut from = before.to_owned();
        let mut missed: Vec<String> = Vec::new();
        let mut bytes = 0;
        for _ in 0..MISSED_PAGES {
            self.parts.heartbeat.beat(CALL_TIME);
            let text = match self.api.messages(room, &from, since) {
                // The bot was removed from the room since.
                Err(Failure::Gone { .. } | Failure::Refused(_) | Failure::MessageGone) => break,
                text => text?,
            };
            let Some(page) = sync::page(&text) else {
                return Err(
                    Failure::Trouble("unexpected reply from the homeserver".to_owned()).into(),
                );
            };
            for raw in &page.state {
                Event::read(raw.get())
                    .iter()
                    .for_each(|event| note_name(names, event));
            }
            for raw in &page.events {
                bytes += raw.get().len();
                missed.push(raw.get().to_owned());
            }
            match page.end {
                Some(_) if bytes >= MISSED_BYTES => break,
                // A page may be empty although there are more: the filter left nothing of it.
                Some(end) if end != from => from = end,
                _ => {
                    missed.reverse();
                    return Ok(missed);
                }
            }
        }
        tracing::warn!(
            %room,
            "too much was written since Matrix was last reached, so the oldest of it stays unanswered"
        );
        missed.reverse();
        Ok(missed)
    }
}
