//! What a sync and other replies of a homeserver say. Pure. Events stay as they are written until they are read.
//! <https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3sync>

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::address::{is_id, is_user};
use crate::base::json::{Members, envelope_from_str, to_seconds};
use crate::channels::kit::names;

/// Events of a room in one sync. Older ones are fetched in pages.
const TIMELINE_EVENTS: usize = 10;
/// Events in one page of older ones.
const MISSED_EVENTS: usize = 20;
/// Bytes of a token for a place in the stream of events. Synapse's have less than 200.
const TOKEN_BYTES: usize = 4096;

/// The kinds of events in timelines that are of use.
const KINDS: [&str; 5] = [
    "m.room.message",
    "m.sticker",
    "m.room.encrypted",
    "m.room.member",
    "m.room.tombstone",
];

/// What a sync brings.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    /// Where the next sync goes on.
    pub next: String,
    /// The rooms with news.
    pub rooms: Vec<Room<'a>>,
    /// Invitations.
    pub invitations: Vec<Invitation>,
    /// Rooms that the bot is no longer in.
    pub left: Vec<String>,
}

/// The news of a room.
#[derive(Debug)]
pub struct Room<'a> {
    /// Its id.
    pub id: String,
    /// How many people have joined it, the bot among them, where that has changed.
    pub joined: Option<u64>,
    /// Where older events are that are not in the timeline, when there are any.
    pub before: Option<String>,
    /// Events that describe it.
    pub state: Vec<&'a RawValue>,
    /// What has happened in it, oldest first.
    pub timeline: Vec<&'a RawValue>,
}

/// An invitation into a room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Invitation {
    /// The room's id.
    pub room: String,
    /// Who invites.
    pub from: String,
    /// The name that they show.
    pub name: String,
    /// Whether the room is to be a private chat.
    pub is_direct: bool,
    /// How often it was tried in vain to join.
    pub tries: u32,
}

/// Reads a sync for the account `me`; `None` when it is not one.
pub fn read<'a>(text: &'a str, me: &str) -> Option<Batch<'a>> {
    let whole = Members::read(text)?;
    let next = whole.text("next_batch")?;
    if next.is_empty() || next.len() > TOKEN_BYTES {
        return None;
    }
    let rooms = whole.members("rooms");
    let by_id = |name: &str| -> BTreeMap<String, &'a RawValue> {
        let raw = rooms.raw(name);
        raw.and_then(|raw| envelope_from_str(raw.get()).ok())
            .unwrap_or_default()
    };
    let is_room = |id: &String| is_id('!', id);
    let joined = by_id("join").into_iter().filter(|(id, _)| is_room(id));
    let invited = by_id("invite").into_iter().filter(|(id, _)| is_room(id));
    Some(Batch {
        next,
        rooms: joined.filter_map(|(id, raw)| room(id, raw)).collect(),
        invitations: invited
            .filter_map(|(id, raw)| invitation(id, raw, me))
            .collect(),
        left: by_id("leave").into_keys().filter(is_room).collect(),
    })
}

fn room(id: String, raw: &RawValue) -> Option<Room<'_>> {
    let room = Members::read(raw.get())?;
    let timeline = room.members("timeline");
    let is_limited = timeline.is_true("limited");
    let summary = room.members("summary");
    Some(Room {
        id,
        joined: summary.value("m.joined_member_count").as_u64(),
        before: timeline
            .text("prev_batch")
            .filter(|token| is_limited && token.len() <= TOKEN_BYTES),
        state: room.members("state").list("events").unwrap_or_default(),
        timeline: timeline.list("events").unwrap_or_default(),
    })
}

fn invitation(room: String, raw: &RawValue, me: &str) -> Option<Invitation> {
    let state = Members::read(raw.get())?.members("invite_state");
    let events: Vec<Event<'_>> = state
        .list("events")?
        .into_iter()
        .filter_map(|raw| Event::read(raw.get()))
        .collect();
    let ours = events
        .iter()
        .find(|event| event.kind == "m.room.member" && event.state_key.as_deref() == Some(me))?;
    let name = events
        .iter()
        .filter_map(Event::member)
        .find(|(user, _)| *user == ours.sender);
    is_user(&ours.sender).then(|| Invitation {
        room,
        from: ours.sender.clone(),
        name: names::clean_name(&name.map_or_else(String::new, |(_, member)| member.name)),
        is_direct: ours.content.is_true("is_direct"),
        tries: 0,
    })
}

/// An event.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// Its id; empty in an invitation.
    pub id: String,
    /// Who sent it.
    pub sender: String,
    /// Its kind, such as `m.room.message`.
    pub kind: String,
    /// What it is the state of; `None` for a message.
    pub state_key: Option<String>,
    /// When it was sent by the server's clock, in seconds since 1970.
    pub sent_at: Option<i64>,
    /// What it says. Nothing is left of one that was deleted.
    pub content: Members<'a>,
    /// The membership that it replaces.
    before: String,
}

/// What the account of a person is in a room.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Such as `join`.
    pub membership: String,
    /// The membership before; empty when there was none.
    pub before: String,
    /// The name that they show in this room; may be anything, also empty.
    pub name: String,
}

impl<'a> Event<'a> {
    /// Reads an event; `None` when it is not one.
    pub fn read(text: &'a str) -> Option<Self> {
        let event = Members::read(text)?;
        let id = event.text_or_empty("event_id");
        let sender = event.text("sender")?;
        let unsigned = event.members("unsigned");
        let is_valid = (id.is_empty() || is_id('$', &id)) && is_id('@', &sender);
        is_valid.then(|| Self {
            id,
            sender,
            kind: event.text_or_empty("type"),
            state_key: event.text("state_key"),
            sent_at: event.number("origin_server_ts").and_then(to_seconds),
            content: event.members("content"),
            before: unsigned.members("prev_content").text_or_empty("membership"),
        })
    }

    /// The person that it is about and what they are in the room, when that is what it says.
    pub fn member(&self) -> Option<(&str, Member)> {
        let user = self.state_key.as_deref()?;
        (self.kind == "m.room.member").then(|| {
            let member = Member {
                membership: self.content.text_or_empty("membership"),
                before: self.before.clone(),
                name: self.content.text_or_empty("displayname"),
            };
            (user, member)
        })
    }
}

/// The filter of a sync. With `is_narrow` a room gets one event: what is missing is fetched in pages.
pub fn filter(is_narrow: bool) -> Value {
    let nothing = json!({"types": []});
    let limit = if is_narrow { 1 } else { TIMELINE_EVENTS };
    let members = json!({
        "types": ["m.room.member"], "lazy_load_members": true, "include_redundant_members": true,
    });
    let mut timeline = members.clone();
    timeline["types"] = json!(KINDS);
    timeline["limit"] = json!(limit);
    json!({
        "presence": nothing,
        "account_data": nothing,
        "event_fields": [
            "event_id", "sender", "type", "state_key", "content", "unsigned.prev_content",
        ],
        "room": {
            "account_data": nothing, "ephemeral": nothing, "state": members, "timeline": timeline,
        },
    })
}

/// The filter of a page of older events.
pub fn page_filter() -> Value {
    json!({"types": KINDS, "limit": MISSED_EVENTS, "lazy_load_members": true})
}

/// A page of older events.
#[derive(Debug, Default)]
pub struct Page<'a> {
    /// The events, newest first.
    pub events: Vec<&'a RawValue>,
    /// The people who sent them.
    pub state: Vec<&'a RawValue>,
    /// Where the next page is, if there is one.
    pub end: Option<String>,
}

/// Reads a page; `None` when it is not one.
pub fn page(text: &str) -> Option<Page<'_>> {
    let page = Members::read(text)?;
    Some(Page {
        events: page.list("chunk")?,
        state: page.list("state").unwrap_or_default(),
        end: page.text("end").filter(|token| token.len() <= TOKEN_BYTES),
    })
}

/// Where the events of a timeline begin that are for a bot which has only now joined the room: with its invitation,
/// else with its joining. `None` when it has not joined in there.
pub fn joined_at(timeline: &[Event<'_>], me: &str) -> Option<usize> {
    let ours = |event: &Event<'_>| {
        let (user, member) = event.member()?;
        (user == me).then_some(member)
    };
    let joined = timeline.iter().rposition(|event| {
        let member = ours(event);
        member.is_some_and(|member| member.membership == "join" && member.before != "join")
    })?;
    let invited = timeline[..joined].iter().rposition(|event| {
        let member = ours(event);
        member.is_some_and(|member| member.membership == "invite")
    });
    Some(invited.unwrap_or(joined))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ME: &str = "@bot:x.org";

    #[test]
    fn a_sync_has_rooms_invitations_and_what_was_left() {
        let text = json!({
            "next_batch": "s2",
            "rooms": {
                "join": {
                    "!a:x.org": {
                        "summary": {"m.joined_member_count": 2},
                        "state": {"events": [{"x": 1}]},
                        "timeline": {"events": [{}, {}], "limited": true, "prev_batch": "p1"},
                    },
                    "!b:x.org": {"timeline": {"events": [], "limited": false, "prev_batch": "p2"}},
                    "nonsense": {},
                },
                "invite": {
                    "!c:x.org": {"invite_state": {"events": [
                        {"type": "m.room.member", "sender": "@ana:x.org", "state_key": "@ana:x.org",
                         "content": {"membership": "join", "displayname": "Ana"}},
                        {"type": "m.room.member", "sender": "@ana:x.org", "state_key": ME,
                         "content": {"membership": "invite", "is_direct": true}},
                    ]}},
                    "!d:x.org": {"invite_state": {"events": []}},
                },
                "leave": {"!e:x.org": {}},
            },
        });
        let text = text.to_string();
        let batch = read(&text, ME).unwrap();
        assert_eq!(batch.next, "s2");
        let rooms: Vec<_> = batch
            .rooms
            .iter()
            .map(|room| {
                (
                    room.id.as_str(),
                    room.joined,
                    room.before.as_deref(),
                    room.timeline.len(),
                )
            })
            .collect();
        assert_eq!(
            rooms,
            [
                ("!a:x.org", Some(2), Some("p1"), 2),
                ("!b:x.org", None, None, 0)
            ]
        );
        let invitation = Invitation {
            room: "!c:x.org".to_owned(),
            from: "@ana:x.org".to_owned(),
            name: "Ana".to_owned(),
            is_direct: true,
            tries: 0,
        };
        assert_eq!(batch.invitations, [invitation]);
        assert_eq!(batch.left, ["!e:x.org"]);
        for text in [
            "",
            "[]",
            "{}",
            r#"{"next_batch": ""}"#,
            r#"{"next_batch": {}}"#,
        ] {
            assert!(read(text, ME).is_none(), "{text}");
        }
    }

    #[test]
    fn a_new_room_begins_with_the_invitation() {
        let member = |who: &str, membership: &str, before: &str| {
            json!({
                "event_id": "$1", "sender": "@ana:x.org", "type": "m.room.member", "state_key": who,
                "content": {"membership": membership},
                "unsigned": {"prev_content": {"membership": before}},
            })
        };
        let said = json!({"event_id": "$2", "sender": "@ana:x.org", "type": "m.room.message", "content": {}});
        let at = |events: &[Value]| {
            let texts: Vec<String> = events.iter().map(Value::to_string).collect();
            let events: Vec<Event<'_>> =
                texts.iter().filter_map(|text| Event::read(text)).collect();
            joined_at(&events, ME)
        };
        let invited = member(ME, "invite", "");
        let joined = member(ME, "join", "invite");
        let renamed = member(ME, "join", "join");
        let other = member("@ana:x.org", "join", "");
        assert_eq!(
            at(&[other.clone(), invited, said.clone(), joined.clone()]),
            Some(1)
        );
        assert_eq!(at(&[said.clone(), joined, said.clone()]), Some(1));
        assert_eq!(at(&[said, renamed, other]), None);
        assert_eq!(at(&[]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_sync_or_none(text in "[{}\\[\\]\":,a-z0-9!@$._ ]{0,200}") {
            let _ = read(&text, ME);
            let _ = page(&text);
            let _ = Event::read(&text);
        }
    }
}
