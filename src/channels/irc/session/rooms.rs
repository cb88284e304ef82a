//! The channels that the bot is in: joined at the beginning, and again after it was removed.

use std::time::Duration;

use super::Action;
use super::REJOIN_WAIT;
use crate::channels::irc::CHANNELS;
use crate::channels::irc::session::line::write;
use crate::channels::irc::session::support::CaseMapping;
use crate::channels::irc::settings::{Room, Settings};

/// The longest one.
const REJOIN_WAIT_MAX: Duration = Duration::from_mins(10);
/// Time in a channel after which being removed from it counts as the first time.
const REJOIN_STEADY: Duration = Duration::from_mins(10);

/// The channels.
#[derive(Debug)]
pub struct Rooms(Vec<Stay>);

#[derive(Debug)]
struct Stay {
    room: Room,
    /// Since when it is joined.
    since: Option<Duration>,
    /// When it is to be joined.
    join_at: Option<Duration>,
    /// Times in a row that it was left or refused.
    failures: u32,
}

impl Rooms {
    pub fn new(settings: &Settings) -> Self {
        let stays = settings.rooms.iter().map(|room| Stay::new(room.clone()));
        Self(stays.collect())
    }

    /// One more channel, joined from this time on.
    pub fn add(&mut self, channel: &str, now: Duration) {
        if self.0.len() < CHANNELS {
            self.0.push(Stay {
                join_at: Some(now),
                ..Stay::new(Room {
                    name: channel.to_owned(),
                    key: None,
                })
            });
        }
    }

    /// The server has let us in: all are to be joined.
    pub fn begin(&mut self, now: Duration) {
        self.0.iter_mut().for_each(|stay| stay.join_at = Some(now));
    }

    /// Joins what is due.
    pub fn tick(&mut self, now: Duration) -> Vec<Action> {
        let due = self
            .0
            .iter_mut()
            .filter(|stay| stay.join_at.is_some_and(|at| now >= at));
        due.map(|stay| {
            // Without an answer it is tried again.
            stay.join_at = Some(now + REJOIN_WAIT_MAX);
            let key = stay.room.key.as_ref().map(|key| key.expose());
            let words: Vec<&str> = [stay.room.name.as_str()].into_iter().chain(key).collect();
            Action::Chore(write("JOIN", &words, None))
        })
        .collect()
    }

    pub fn next(&self) -> Option<Duration> {
        self.0.iter().filter_map(|stay| stay.join_at).min()
    }

    pub fn joined(&mut self, channel: &str, case: CaseMapping, now: Duration) {
        if let Some(stay) = self.find(channel, case) {
            stay.since = Some(now);
            stay.join_at = None;
        }
    }

    /// We were removed, or have left.
    pub fn left(&mut self, channel: &str, case: CaseMapping, now: Duration) {
        if let Some(stay) = self.find(channel, case) {
            let was_steady = stay.since.is_some_and(|since| now >= since + REJOIN_STEADY);
            stay.since = None;
            stay.failures = if was_steady { 0 } else { stay.failures };
            stay.again(now);
        }
    }

    /// The channel cannot be joined now. Returns whether that is new.
    pub fn refused(&mut self, channel: &str, case: CaseMapping, now: Duration) -> bool {
        let Some(stay) = self.find(channel, case).filter(|stay| stay.since.is_none()) else {
            return false;
        };
        let is_new = stay.failures == 0;
        stay.again(now);
        is_new
    }

    pub fn is_in(&self, channel: &str, case: CaseMapping) -> bool {
        let mut stays = self.0.iter();
        stays.any(|stay| stay.since.is_some() && case.is_same(&stay.room.name, channel))
    }

    pub fn name(&self, channel: &str, case: CaseMapping) -> Option<String> {
        let mut stays = self.0.iter();
        let found = stays.find(|stay| case.is_same(&stay.room.name, channel));
        found.map(|stay| stay.room.name.clone())
    }

    fn find(&mut self, channel: &str, case: CaseMapping) -> Option<&mut Stay> {
        let mut stays = self.0.iter_mut();
        stays.find(|stay| case.is_same(&stay.room.name, channel))
    }
}

impl Stay {
    fn new(room: Room) -> Self {
        Self {
            room,
            since: None,
            join_at: None,
            failures: 0,
        }
    }

    fn again(&mut self, now: Duration) {
        let times = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let wait = REJOIN_WAIT.saturating_mul(times).min(REJOIN_WAIT_MAX);
        self.failures = self.failures.saturating_add(1);
        self.join_at = Some(now + wait);
    }
}
