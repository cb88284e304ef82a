//! What a recorded day of chat costs with each way of caching: the real requests, against a cache that keeps Anthropic's
//! rules (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>), at the table's prices.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::{DateTime, FixedOffset, TimeDelta};
use serde_json::Value;

use super::encoded_with;
use crate::base::chat::{Entry, EntryKind, NANODOLLARS, Request, Usage};
use crate::config::schema::{CacheTime, Provider};
use crate::models::anthropic::{CACHE_HOUR, CACHE_MINUTES, CACHE_REACH};
use crate::models::prices::charge;
use crate::models::route::Route;
use crate::models::wire::example::{call, request};

/// As `peacrab context` shows for a home that has some memory.
const SYSTEM_BYTES: usize = 11_000;
const BYTES_PER_TOKEN: usize = 4;
/// What is shorter is not cached.
const CACHED_TOKENS_MIN: u64 = 1024;
const STEP_SECS: i64 = 10;

/// A turn of the day; sizes are in bytes.
struct Turn<'a> {
    at: DateTime<FixedOffset>,
    session: &'a str,
    asked: usize,
    results: Vec<usize>,
    answer: usize,
}

/// The turns of a text in the form of day.txt.
fn turns(day: &str) -> Vec<Turn<'_>> {
    let lines = day.lines().filter(|line| !line.starts_with('#'));
    let turns = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let time = format!("2026-11-24T{}:00+01:00", words[0]);
        let results = words[3].split(',').filter(|word| *word != "-");
        Turn {
            at: DateTime::parse_from_rfc3339(&time).unwrap(),
            session: words[1],
            asked: words[2].parse().unwrap(),
            results: results.map(|word| word.parse().unwrap()).collect(),
            answer: words[4].parse().unwrap(),
        }
    });
    turns.collect()
}

/// What Anthropic keeps.
#[derive(Default)]
struct Cache {
    /// By what is kept, from the beginning of the request: until when, and for how long from each use.
    kept: HashMap<u64, (DateTime<FixedOffset>, TimeDelta)>,
}

/// A block of a request: what goes before its end, as a hash and in tokens, and its mark.
struct Block {
    beginning: u64,
    tokens: u64,
    mark: Option<TimeDelta>,
}

/// The blocks in the order in which they are cached.
fn blocks(body: &Value) -> Vec<Block> {
    let list = |name: &str| body[name].as_array().unwrap().clone().into_iter();
    let messages =
        list("messages").flat_map(|message| message["content"].as_array().unwrap().clone());
    let (mut hasher, mut bytes) = (DefaultHasher::new(), 0);
    let blocks = list("tools").chain(list("system")).chain(messages);
    let blocks = blocks.map(|mut block| {
        let mark = block.as_object_mut().unwrap().remove("cache_control");
        let text = block.to_string();
        text.hash(&mut hasher);
        bytes += text.len();
        let time = |mark: Value| match mark["ttl"].as_str() {
            Some("1h") => TimeDelta::from_std(CACHE_HOUR).unwrap(),
            _ => TimeDelta::from_std(CACHE_MINUTES).unwrap(),
        };
        Block {
            beginning: hasher.finish(),
            tokens: (bytes / BYTES_PER_TOKEN) as u64,
            mark: mark.map(time),
        }
    });
    blocks.collect()
}

impl Cache {
    /// Takes a request; returns its input.
    fn ask(&mut self, body: &str, now: DateTime<FixedOffset>) -> Usage {
        let blocks = blocks(&crate::base::json::from_str(body).unwrap());
        let marks: Vec<usize> = (0..blocks.len())
            .filter(|index| blocks[*index].mark.is_some())
            .filter(|index| blocks[*index].tokens >= CACHED_TOKENS_MIN)
            .collect();
        let is_kept = |index: &usize| {
            let kept = self.kept.get(&blocks[*index].beginning);
            kept.is_some_and(|(until, _)| *until >= now)
        };
        let reach = |mark: &usize| (mark.saturating_sub(CACHE_REACH)..=*mark).rev();
        let hit = marks.iter().rev().flat_map(reach).find(is_kept);
        let mut usage = Usage {
            input: blocks.last().unwrap().tokens,
            cached: hit.map_or(0, |index| blocks[index].tokens),
            ..Usage::default()
        };
        if let Some(index) = hit {
            let (until, time) = self.kept.get_mut(&blocks[index].beginning).unwrap();
            *until = now + *time;
        }
        let mut before = usage.cached;
        let mut last = CACHE_HOUR;
        for block in marks.iter().map(|index| &blocks[*index]) {
            let time = block.mark.unwrap();
            assert!(time.to_std().unwrap() <= last, "an hour comes first");
            last = time.to_std().unwrap();
            if block.tokens <= usage.cached {
                // It was used, too.
                if let Some((until, time)) = self.kept.get_mut(&block.beginning) {
                    *until = now + *time;
                }
                continue;
            }
            let written = block.tokens - before;
            before = block.tokens;
            usage.written += written;
            if last == CACHE_HOUR {
                usage.written_for_hour += written;
            }
            self.kept.insert(block.beginning, (now + time, time));
        }
        usage
    }
}

/// The conversations of a day, and what they used.
struct Day {
    cache: Cache,
    time: CacheTime,
    used: Vec<Usage>,
}

impl Day {
    /// The input of each request of a day, with a conversation of so many bytes before it.
    fn play_all(day: &str, earlier: usize, time: CacheTime) -> Vec<Usage> {
        let mut played = Self {
            cache: Cache::default(),
            time,
            used: Vec::new(),
        };
        let turns = turns(day);
        assert!(turns.len() > 10, "the day has turns");
        let evening = turns[0].at - TimeDelta::hours(9);
        let mut chat = vec![
            at(evening, EntryKind::Person, "a", 100),
            at(evening, EntryKind::Assistant, "b", earlier),
        ];
        for (number, turn) in turns.iter().enumerate() {
            match turn.session {
                "chat" => played.play(turn, number, &mut chat),
                _ => played.play(turn, number, &mut Vec::new()),
            }
        }
        played.used
    }

    fn play(&mut self, turn: &Turn<'_>, number: usize, entries: &mut Vec<Entry>) {
        let stable = entries.len();
        let mut now = turn.at;
        let facts = Entry::new(
            EntryKind::Note,
            format!("[facts] {now} {}", "f".repeat(100)),
        );
        entries.push(facts);
        entries.push(at(
            now,
            EntryKind::Person,
            &format!("{number} "),
            turn.asked,
        ));
        for (step, result) in turn.results.iter().enumerate() {
            self.ask(entries, stable, now);
            now += TimeDelta::seconds(STEP_SECS);
            let id = format!("call_{number}_{step}");
            entries.push(Entry {
                tool_calls: vec![call(&id, "read_file", r#"{"path":"notes.txt"}"#)],
                ..at(now, EntryKind::Assistant, "I look.", 0)
            });
            entries.push(Entry {
                tool_call_id: Some(id),
                ..at(now, EntryKind::Tool, "", *result)
            });
        }
        self.ask(entries, stable, now);
        entries.push(at(now, EntryKind::Assistant, "", turn.answer));
        // The facts of a turn are not kept.
        entries.remove(stable);
    }

    fn ask(&mut self, entries: &[Entry], stable: usize, now: DateTime<FixedOffset>) {
        let system = "s".repeat(SYSTEM_BYTES);
        let asked = Request {
            system: &system,
            stable,
            ..request(entries)
        };
        let body = encoded_with(&asked, "claude-sonnet-5-5", self.time);
        self.used.push(self.cache.ask(&body, now));
    }
}

/// What requests cost, in dollars.
fn dollars(used: &[Usage], model: &str) -> f64 {
    let key = |_: &str| Some("key".to_owned());
    let route = Route::unsaved("anthropic", Provider::default(), &key);
    let costs = used.iter().map(|usage| charge(&route, model, *usage).cost);
    costs.sum::<u64>() as f64 / NANODOLLARS
}

fn at(time: DateTime<FixedOffset>, kind: EntryKind, begin: &str, bytes: usize) -> Entry {
    Entry {
        timestamp: Some(time),
        ..Entry::new(kind, format!("{begin}{}", "x".repeat(bytes)))
    }
}

const TIMES: [CacheTime; 4] = [
    CacheTime::Off,
    CacheTime::FiveMinutes,
    CacheTime::Hour,
    CacheTime::Auto,
];

#[test]
fn the_rule_is_the_cheapest_for_a_recorded_day() {
    for earlier in [0, 40_000] {
        let used = TIMES.map(|time| Day::play_all(include_str!("day.txt"), earlier, time));
        for model in [
            "claude-sonnet-5-5",
            "claude-sonnet-5",
            "claude-opus-4-8",
            "claude-haiku-4-5",
        ] {
            let costs = used.each_ref().map(|used| dollars(used, model));
            println!("{model}, {earlier} bytes before: off, 5m, 1h, auto = {costs:.3?} dollars");
            let [off, minutes, hour, auto] = costs;
            assert!(auto < 0.7 * minutes, "{model}, {earlier}: {costs:?}");
            assert!(auto < 1.06 * hour, "{model}, {earlier}: {costs:?}");
            assert!(minutes < 0.5 * off, "{model}, {earlier}: {costs:?}");
        }
    }
}

/// Days that are not like the recorded one: every two hours a few messages, and all within one hour.
#[test]
fn the_rule_costs_little_where_an_hour_does_not_pay() {
    let every = |minutes: &dyn Fn(usize) -> usize| {
        let line = |turn| {
            let minute = 6 * 60 + minutes(turn);
            let (hours, minutes) = (minute / 60, minute % 60);
            format!("{hours:02}:{minutes:02} chat 200 1600 600\n")
        };
        (0..24).map(line).collect::<String>()
    };
    let sparse = every(&|turn| turn / 3 * 120 + turn % 3 * 3);
    let burst = every(&|turn| turn * 3);
    for day in [sparse, burst] {
        for earlier in [0, 40_000] {
            let used = TIMES.map(|time| Day::play_all(&day, earlier, time));
            let costs = used
                .each_ref()
                .map(|used| dollars(used, "claude-sonnet-5-5"));
            println!("{earlier} bytes before: off, 5m, 1h, auto = {costs:.3?} dollars");
            let [_, minutes, hour, auto] = costs;
            assert!(auto < 1.06 * minutes && auto < hour, "{earlier}: {costs:?}");
        }
    }
}

#[test]
fn pauses_within_an_hour_have_the_history_kept_for_one() {
    let morning = DateTime::parse_from_rfc3339("2026-11-24T07:00:00+01:00").unwrap();
    let marked_for_hour = |pauses: &[i64]| {
        let mut now = morning;
        let mut entries = vec![
            at(now, EntryKind::Person, "q", 1),
            at(now, EntryKind::Assistant, "a", 1),
        ];
        for pause in pauses {
            now += TimeDelta::minutes(*pause);
            entries.push(Entry::new(EntryKind::Note, "facts"));
            entries.push(at(now, EntryKind::Person, "q", 1));
            entries.push(at(now, EntryKind::Assistant, "a", 1));
        }
        let asked = Request {
            stable: 2,
            ..request(&entries)
        };
        let body = encoded_with(&asked, "claude-sonnet-5-5", CacheTime::Auto);
        body.matches(r#""ttl":"1h""#).count()
    };
    // Tools and system prompt, and the history.
    let (all, prompt, nothing) = (3, 2, 0);
    for (pauses, marks) in [
        (&[][..], prompt),
        (&[1, 5, 3], prompt),
        (&[6], all),
        (&[60], all),
        (&[61], nothing),
        (&[300, 20], all),
        (&[300, 300, 20], nothing),
        // Only the last ones count, and a clock that was put back says nothing.
        (&[20, 20, 20, 90, 90, 90, 90, 90, 90, 90, 90], nothing),
        (&[90, 90, 90, 20, 20, 20, 20, 20, 20, 20, 20], all),
        (&[-20], prompt),
    ] {
        assert_eq!(marked_for_hour(pauses), marks, "{pauses:?}");
    }
}

#[test]
fn a_setting_decides_for_how_long() {
    let entries = super::conversation(Vec::new());
    let marks = |time| {
        let body = encoded_with(&request(&entries), "claude-sonnet-5-5", time);
        let all = body.matches("cache_control").count();
        (all, body.matches(r#""ttl":"1h""#).count())
    };
    assert_eq!(TIMES.map(marks), [(0, 0), (4, 0), (4, 3), (4, 2)]);
}
