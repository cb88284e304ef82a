//! Syncs, and pages of older events.
//! <https://spec.matrix.org/latest/client-server-api/#syncing>

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::BOT_ID;
use super::fault::Refusal;
use super::request::Call;
use super::server::{Server, State};
use super::store::{Event, Room};

/// The most that a client may wait for.
const LONGEST: Duration = Duration::from_secs(60);

/// The part of a filter that is understood.
struct Filter {
    types: Option<Vec<String>>,
    limit: usize,
    is_lazy: bool,
}

impl Filter {
    /// Reads a filter for events; one that the real server would not take is refused.
    fn read(value: &Value) -> Result<Self, Refusal> {
        let bad = |words: &str| Refusal::bad(format!("{words}: {value}"));
        let types = match &value["types"] {
            Value::Null => None,
            Value::Array(types) => {
                let types = types.iter().map(|one| one.as_str().map(str::to_owned));
                Some(types.collect::<Option<_>>().ok_or_else(|| bad("types"))?)
            }
            _ => return Err(bad("types")),
        };
        let limit = match &value["limit"] {
            Value::Null => 10,
            limit => limit
                .as_u64()
                .filter(|limit| *limit > 0)
                .ok_or_else(|| bad("limit"))?,
        };
        Ok(Self {
            types,
            limit: limit as usize,
            is_lazy: value["lazy_load_members"] == true,
        })
    }

    fn takes(&self, event: &Event) -> bool {
        let fits = |kind: &String| match kind.strip_suffix('*') {
            Some(start) => event.kind.starts_with(start),
            None => *kind == event.kind,
        };
        self.types
            .as_ref()
            .is_none_or(|types| types.iter().any(fits))
    }
}

impl Server {
    /// Answers a sync, at once or when something has happened.
    pub(super) fn sync(&self, call: &Call) -> Result<Value, Refusal> {
        let filter = match call.asked("filter") {
            Some(filter) => serde_json::from_str(&filter)
                .map_err(|_| Refusal::new(400, "M_INVALID_PARAM", "Invalid filter JSON"))?,
            None => json!({}),
        };
        let wait = call.asked("timeout").map_or(Ok(0), |time| time.parse());
        let wait = wait.map_err(|_| Refusal::new(400, "M_INVALID_PARAM", "timeout"))?;
        let end = Instant::now() + Duration::from_millis(wait).min(LONGEST);
        let since = call.asked("since");
        let mut state = self.state();
        let outcome = loop {
            let since = match since.as_deref().map(|since| state.place(since)).transpose() {
                Ok(since) => since,
                Err(refusal) => break Err(refusal),
            };
            let answer = state.news(since, &filter);
            let is_news = |answer: &Value| {
                answer["rooms"]
                    .as_object()
                    .is_some_and(|rooms| !rooms.is_empty())
            };
            let is_due = since.is_none() || Instant::now() >= end || state.is_closing;
            if answer.is_err() || is_due || answer.as_ref().is_ok_and(is_news) {
                break answer;
            }
            let left = end.saturating_duration_since(Instant::now());
            state = self.wait_for_change(state, left);
        };
        drop(state);
        outcome
    }
}

impl State {
    /// The place in the stream that a token names.
    fn place(&self, token: &str) -> Result<u64, Refusal> {
        let place = token.strip_prefix('s').and_then(|place| place.parse().ok());
        match place {
            Some(place) if place < self.oldest => {
                Err(Refusal::new(400, "M_UNKNOWN", "Invalid stream token").innocent())
            }
            Some(place) if place <= self.store.last => Ok(place),
            _ => Err(Refusal::new(400, "M_UNKNOWN", "Invalid stream token")),
        }
    }

    /// What has happened since a place.
    fn news(&self, since: Option<u64>, filter: &Value) -> Result<Value, Refusal> {
        let timeline = Filter::read(&filter["room"]["timeline"])?;
        let mut rooms = json!({});
        for (id, room) in &self.store.rooms {
            let ours = room.state("m.room.member", BOT_ID, u64::MAX);
            let Some(ours) = ours else { continue };
            let is_new = since.is_none_or(|since| ours.at > since);
            match ours.membership().map_or("", |(_, membership)| membership) {
                "join" => {
                    let was_in =
                        since.is_some_and(|since| room.membership(BOT_ID, since) == "join");
                    let since = since.filter(|_| was_in);
                    if let Some(news) = joined(id, room, since, &timeline) {
                        rooms["join"][id] = news;
                    }
                }
                "invite" if is_new => rooms["invite"][id] = invited(room),
                "leave" | "ban" if is_new && since.is_some() => {
                    rooms["leave"][id] =
                        json!({"timeline": {"events": []}, "state": {"events": []}});
                }
                _ => {}
            }
        }
        Ok(json!({
            "next_batch": format!("s{}", self.store.last), "rooms": rooms,
            "account_data": {"events": []}, "presence": {"events": []},
            "to_device": {"events": []}, "device_lists": {"changed": [], "left": []},
            "device_one_time_keys_count": {},
        }))
    }

    /// A page of a room's events before a place, newest first.
    pub(super) fn page(&self, call: &Call) -> Result<Value, Refusal> {
        let id = call.argument(0);
        let room = self.store.joined(id)?;
        let missing = |name: &str| Refusal::new(400, "M_MISSING_PARAM", name);
        if call.asked("dir").as_deref() != Some("b") {
            return Err(missing("dir"));
        }
        let from = self.place(&call.asked("from").ok_or_else(|| missing("from"))?)?;
        let to = match call.asked("to") {
            Some(to) => self.place(&to)?,
            None => 0,
        };
        let filter = call.asked("filter").unwrap_or_else(|| "{}".to_owned());
        let filter = serde_json::from_str(&filter)
            .map_err(|_| Refusal::new(400, "M_INVALID_PARAM", "Invalid filter JSON"))?;
        let filter = Filter::read(&filter)?;
        let limit = call
            .asked("limit")
            .and_then(|limit| limit.parse().ok())
            .unwrap_or(10);
        let within = room.events.iter().rev();
        let within = within.filter(|event| event.at <= from && event.at > to);
        let page: Vec<&Event> = within.take(limit).collect();
        // What the filter leaves out counts for the page.
        let chunk: Vec<&Event> = page
            .iter()
            .copied()
            .filter(|event| filter.takes(event))
            .collect();
        let mut answer = json!({
            "start": format!("s{from}"),
            "chunk": chunk.iter().map(|event| event.json(id)).collect::<Vec<_>>(),
            "state": if filter.is_lazy { members(id, room, &chunk, from) } else { json!([]) },
        });
        if let Some(last) = page.last() {
            answer["end"] = json!(format!("s{}", last.at - 1));
        }
        Ok(answer)
    }
}

/// The news of a room that the bot has joined; `None` when there are none.
fn joined(id: &str, room: &Room, since: Option<u64>, filter: &Filter) -> Option<Value> {
    let is_new = |event: &&Event| since.is_none_or(|since| event.at > since);
    let all: Vec<&Event> = room.events.iter().filter(is_new).collect();
    if all.is_empty() {
        return None;
    }
    let fitting: Vec<&Event> = all
        .iter()
        .copied()
        .filter(|event| filter.takes(event))
        .collect();
    let first = fitting.len().saturating_sub(filter.limit);
    let shown = &fitting[first..];
    let begin = shown
        .first()
        .map_or(room.events.last()?.at, |event| event.at - 1);
    let mut news = json!({
        "timeline": {
            "events": shown.iter().map(|event| event.json(id)).collect::<Vec<_>>(),
            "limited": first > 0 || since.is_none(), "prev_batch": format!("s{begin}"),
        },
        "state": {"events": members(id, room, shown, begin)},
        "account_data": {"events": []}, "ephemeral": {"events": []},
        "unread_notifications": {"highlight_count": 0, "notification_count": 0}, "summary": {},
    });
    if since.is_none() || all.iter().any(|event| event.membership().is_some()) {
        news["summary"] = json!({
            "m.joined_member_count": room.joined().len(), "m.invited_member_count": 0,
        });
    }
    Some(news)
}

/// The members that have sent events.
fn members(id: &str, room: &Room, events: &[&Event], at: u64) -> Value {
    let mut senders: Vec<&str> = events.iter().map(|event| event.sender.as_str()).collect();
    senders.sort();
    senders.dedup();
    let members = senders
        .iter()
        .filter_map(|sender| room.state("m.room.member", sender, at));
    members.map(|event| event.json(id)).collect()
}

/// What a person sees of a room that they are invited to.
fn invited(room: &Room) -> Value {
    let ours = room.state("m.room.member", BOT_ID, u64::MAX);
    let inviter = ours.and_then(|ours| room.state("m.room.member", &ours.sender, u64::MAX));
    let stripped = |event: &Event| {
        json!({
            "type": event.kind, "sender": event.sender, "state_key": event.state_key,
            "content": event.content,
        })
    };
    let events: Vec<Value> = inviter.into_iter().chain(ours).map(stripped).collect();
    json!({"invite_state": {"events": events}})
}
