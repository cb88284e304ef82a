//! Any text is an answer of a homeserver's, or nothing. A message from it can be answered.

use super::check_incoming;
use peacrab::channels::matrix::event::{Reader, needed};
use peacrab::channels::matrix::html::plain;
use peacrab::channels::matrix::sync::{Event, joined_at, page, read};
use peacrab::config::schema::GroupPolicy;

fn take(room: &str, events: &[Event<'_>]) {
    joined_at(events, "@me:example.org");
    for event in events {
        event.member();
        let before = needed(event);
        let before = events
            .iter()
            .find(|other| Some(&other.id) == before.as_ref());
        for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
            let reader = Reader {
                me: "@me:example.org",
                my_name: "Pea",
                room,
                is_group: policy != GroupPolicy::Off,
                policy,
                name_of: &|_| "Ann".to_owned(),
                awaits: &|_, _| false,
            };
            let incoming = reader.read(event, before);
            incoming.iter().for_each(check_incoming);
        }
    }
}

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    if let Some(batch) = read(text, "@me:example.org") {
        for room in batch.rooms {
            let events = room.state.iter().chain(&room.timeline);
            let events: Vec<_> = events.filter_map(|raw| Event::read(raw.get())).collect();
            take(&room.id, &events);
        }
    }
    if let Some(event) = Event::read(text) {
        take("!a:example.org", &[event]);
    }
    page(text);
    plain(text);
}
