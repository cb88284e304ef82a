//! PURE: when a value becomes an alarm, and when that is over.
//!
//! Spans are measured on the clock that runs since the machine was started, suspended or not. The wall clock counts
//! only across a restart of the machine, and only when both times are possible.

use serde::{Deserialize, Serialize};

use super::{FLAP_CALM_MS, SEEN_PAUSE_MS};
use crate::base::clock::BUILD_EPOCH;

/// Alarms within [`FLAP_WINDOW_MS`] from which a watch counts as flapping.
const FLAPS: usize = 3;
/// The time within which alarms are counted, in milliseconds.
const FLAP_WINDOW_MS: i64 = 60 * 60 * 1000;

/// A point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since the machine was started.
    pub up_ms: i64,
    /// Milliseconds since 1970, by the wall clock.
    pub wall_ms: i64,
    /// Which start of the machine it was.
    pub boot: u32,
}

impl Moment {
    /// The milliseconds from an earlier moment until this one; `None` when they cannot be known.
    pub fn since(self, earlier: Self) -> Option<i64> {
        if self.boot == earlier.boot && self.up_ms >= earlier.up_ms {
            return Some(self.up_ms - earlier.up_ms);
        }
        let is_possible = |moment: Self| moment.wall_ms / 1000 >= BUILD_EPOCH;
        let span = self.wall_ms.saturating_sub(earlier.wall_ms);
        (is_possible(self) && is_possible(earlier) && span >= 0).then_some(span)
    }

    fn is_within(self, earlier: Self, ms: i64) -> bool {
        self.since(earlier).is_some_and(|span| span < ms)
    }
}

/// When a value is an alarm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Whether it is one above the threshold, or below it.
    pub is_over: bool,
    /// The threshold.
    pub threshold: f64,
    /// Where the value is normal again.
    pub back: f64,
    /// How long it has to last, in milliseconds.
    pub hold_ms: i64,
    /// After how long an alarm that lasts is told again, in milliseconds.
    pub repeat_ms: Option<i64>,
    /// Two looks that are farther apart know nothing about the time between.
    pub gap_ms: i64,
}

impl Criterion {
    fn is_bad(&self, value: f64) -> bool {
        if self.is_over {
            value > self.threshold
        } else {
            value < self.threshold
        }
    }

    fn is_back(&self, value: f64) -> bool {
        if self.is_over {
            value <= self.back
        } else {
            value >= self.back
        }
    }

    fn worse(&self, one: f64, other: f64) -> f64 {
        if self.is_over {
            one.max(other)
        } else {
            one.min(other)
        }
    }
}

/// Where a watch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// All is well.
    #[default]
    Normal,
    /// Beyond the threshold, but not for long enough.
    Pending {
        /// Since when.
        since: Moment,
    },
    /// An alarm.
    Raised {
        /// Since when the value is beyond the threshold.
        since: Moment,
        /// When it was told last.
        told: Moment,
        /// The worst value.
        peak: f64,
        /// Since when it is normal again, but not for long enough.
        calm: Option<Moment>,
    },
}

/// The state of a watch, over its looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tracker {
    /// Where it is.
    #[serde(default)]
    pub phase: Phase,
    /// The last alarms, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    raises: Vec<Moment>,
    /// The last look that knew a value.
    #[serde(skip)]
    seen: Option<Moment>,
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// An alarm.
    Raised {
        /// The value.
        value: f64,
        /// How long it has lasted, in milliseconds.
        held_ms: i64,
        /// Whether it comes and goes.
        flaps: bool,
    },
    /// The alarm lasts.
    Repeated {
        /// The value now.
        value: f64,
        /// Its age in milliseconds; `None` if that is not known.
        lasted_ms: Option<i64>,
        /// The worst value.
        peak: f64,
    },
    /// It is over.
    Recovered {
        /// The value now.
        value: f64,
        /// How long it lasted, in milliseconds; `None` if that is not known.
        lasted_ms: Option<i64>,
        /// The worst value.
        peak: f64,
    },
}

impl Tracker {
    /// Whether there is an alarm.
    pub fn is_raised(&self) -> bool {
        matches!(self.phase, Phase::Raised { .. })
    }

    /// Since when there is an alarm.
    pub fn raised_since(&self) -> Option<Moment> {
        match self.phase {
            Phase::Raised { since, .. } => Some(since),
            _ => None,
        }
    }

    /// When the next look is needed at the latest, in milliseconds since the machine was started: something ends
    /// then that lasts.
    pub fn deadline(&self, criterion: &Criterion) -> Option<i64> {
        match self.phase {
            Phase::Pending { since } => Some(since.up_ms.saturating_add(criterion.hold_ms)),
            _ => None,
        }
    }

    /// Takes a look; `None` is one that could not find out.
    pub fn step(
        &mut self,
        criterion: &Criterion,
        value: Option<f64>,
        now: Moment,
    ) -> Option<Event> {
        let value = value.filter(|value| value.is_finite())?;
        let seen = self.seen.replace(now);
        let is_gap = seen.is_none_or(|seen| !now.is_within(seen, criterion.gap_ms.max(1)));
        match &mut self.phase {
            Phase::Normal => {
                if !criterion.is_bad(value) {
                    return None;
                }
                self.phase = Phase::Pending { since: now };
                self.raise_if_held(criterion, value, now)
            }
            Phase::Pending { since } => {
                if !criterion.is_bad(value) {
                    self.phase = Phase::Normal;
                    return None;
                }
                if is_gap {
                    *since = now;
                }
                self.raise_if_held(criterion, value, now)
            }
            Phase::Raised {
                since,
                told,
                peak,
                calm,
            } => {
                if criterion.is_back(value) {
                    if is_gap {
                        *calm = None;
                    }
                    let calm = *calm.get_or_insert(now);
                    let (since, peak) = (*since, *peak);
                    let is_over = match self.flaps(now) {
                        true => now.since(calm).is_none_or(|span| span >= FLAP_CALM_MS),
                        false => true,
                    };
                    return is_over.then(|| {
                        self.phase = Phase::Normal;
                        let lasted_ms = calm.since(since);
                        Event::Recovered {
                            value,
                            lasted_ms,
                            peak,
                        }
                    });
                }
                *calm = None;
                *peak = criterion.worse(*peak, value);
                let repeat_ms = criterion.repeat_ms?;
                // After a restart of the machine without a clock: from now on.
                let Some(span) = now.since(*told) else {
                    *told = now;
                    return None;
                };
                (span >= repeat_ms).then(|| {
                    *told = now;
                    Event::Repeated {
                        value,
                        lasted_ms: now.since(*since),
                        peak: *peak,
                    }
                })
            }
        }
    }

    fn raise_if_held(&mut self, criterion: &Criterion, value: f64, now: Moment) -> Option<Event> {
        let Phase::Pending { since } = self.phase else {
            return None;
        };
        let held_ms = now.since(since).unwrap_or_default();
        if held_ms < criterion.hold_ms {
            return None;
        }
        self.phase = Phase::Raised {
            since,
            told: now,
            peak: value,
            calm: None,
        };
        self.raises
            .retain(|raise| now.is_within(*raise, FLAP_WINDOW_MS));
        self.raises.push(now);
        let over = self.raises.len().saturating_sub(FLAPS);
        self.raises.drain(..over);
        Some(Event::Raised {
            value,
            held_ms,
            flaps: self.flaps(now),
        })
    }

    /// Whether it was raised so often lately that it counts as coming and going.
    fn flaps(&self, now: Moment) -> bool {
        let lately = self.raises.iter();
        lately
            .filter(|raise| now.is_within(**raise, FLAP_WINDOW_MS))
            .count()
            >= FLAPS
    }
}

/// Things that happen one by one, such as lines of a log: the first is told at once, and those of the next minutes
/// together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// When it was told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<Moment>,
    /// How many are not told yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    count: u32,
    /// The last of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    last: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Seen {
    /// Notes that something has happened so many times, at last this.
    pub fn note(&mut self, count: u32, last: String) {
        self.count = self.count.saturating_add(count);
        self.last = last;
    }

    /// What is to be told now: how many times, and the last.
    pub fn take(&mut self, now: Moment) -> Option<(u32, String)> {
        let waits = self
            .told
            .is_some_and(|told| now.is_within(told, SEEN_PAUSE_MS));
        if self.count == 0 || waits {
            return None;
        }
        self.told = Some(now);
        Some((
            std::mem::take(&mut self.count),
            std::mem::take(&mut self.last),
        ))
    }

    /// When there is something to be told, in milliseconds since the machine was started.
    pub fn deadline(&self, now: Moment) -> Option<i64> {
        if self.count == 0 {
            return None;
        }
        let span = self.told.and_then(|told| now.since(told));
        let left = span.map_or(0, |span| SEEN_PAUSE_MS.saturating_sub(span));
        Some(now.up_ms.saturating_add(left.max(0)))
    }
}
