//! The gateway's clock: whether it can be trusted, when it is set, and the last known time on the disk.

pub mod alarm;
mod texts;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::Gateway;
use crate::base::clock::{Clock, Reason, Trust, judge, note_trust};
use crate::base::language::Language;
use crate::base::sync::Mutex;
use crate::store::state::KnownTime;

/// How often it is looked whether the time can be trusted by now, while it cannot.
const TRUST_LOOK: Duration = Duration::from_secs(5);
/// How often the time is written to the disk: SD cards wear.
const KNOWN_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// How far the clock has to jump to be logged. Less is the usual work of a time service.
const JUMP_LOGGED: Duration = Duration::from_secs(60 * 60);
/// How often it is looked whether a time that nothing confirms has been confirmed.
const UNCONFIRMED_LOOK: Duration = Duration::from_secs(10 * 60);
/// How much earlier than after [`KNOWN_INTERVAL`] the time is kept all the same.
const KNOWN_EARLY: Duration = Duration::from_mins(1);

/// The clock, and what is known about it.
pub struct Timekeeper {
    clock: Clock,
    known: KnownTime,
    /// The latest time that was known at the start, in seconds since 1970.
    known_at_start: Option<i64>,
    state: Mutex<State>,
    /// Who has to know when the clock was set or is trusted now.
    watchers: Mutex<Vec<Arc<Notify>>>,
}

struct State {
    trust: Trust,
    /// The wall clock minus the uptime, in milliseconds: changes only when the clock is set.
    offset: i64,
    /// The time that is on the disk, in milliseconds since 1970.
    kept: i64,
}

impl Timekeeper {
    /// Looks at the clock for the first time.
    pub(super) fn new(clock: Clock, known: KnownTime) -> Self {
        let known_at_start = known.latest(&clock);
        let trust = judge(&KnownTime::facts(&clock, known_at_start, None));
        note_trust(trust);
        let state = State {
            trust,
            offset: alarm::offset(&clock),
            kept: known_at_start.map_or_else(|| clock.now_ms(), |known| known.saturating_mul(1000)),
        };
        Self {
            clock,
            known,
            known_at_start,
            state: Mutex::new(state),
            watchers: Mutex::default(),
        }
    }

    /// Whether the clock can be trusted.
    pub fn trust(&self) -> Trust {
        self.state.lock().trust
    }

    /// The latest time that was known at the start, in seconds since 1970.
    pub(super) fn known_at_start(&self) -> Option<i64> {
        self.known_at_start
    }

    /// Notifies this from now on when the clock was set by more than a moment, and when it becomes
    /// trusted. A notification that comes while nothing waits is kept.
    pub fn watch(&self, changed: &Arc<Notify>) {
        self.watchers.lock().push(Arc::clone(changed));
    }

    /// Keeps the time on the disk, as the gateway stops.
    pub(super) fn save(&self) {
        if !self.trust().is_trusted() {
            return;
        }
        let now = self.clock.now_ms();
        match self.known.keep(now) {
            Ok(()) => self.state.lock().kept = now,
            Err(error) => tracing::warn!("failed to save the time: {error}"),
        }
    }

    /// Whether the time that was saved is to be replaced: once in a while.
    fn is_old(&self) -> bool {
        let kept = self.state.lock().kept;
        let age = self.clock.now_ms().saturating_sub(kept).unsigned_abs();
        // A timer may end a moment early.
        age.saturating_add(KNOWN_EARLY.as_millis() as u64) >= KNOWN_INTERVAL.as_millis() as u64
    }

    /// Looks at the clock again, and says what has changed.
    fn look(&self) {
        let offset = alarm::offset(&self.clock);
        let mut state = self.state.lock();
        let jump = offset.saturating_sub(state.offset);
        let was_set = alarm::is_jump(jump);
        let before = state.trust;
        let mut facts = KnownTime::facts(&self.clock, self.known_at_start, Some(before));
        facts.was_set = was_set;
        facts.was_set_far = jump.unsigned_abs() >= JUMP_LOGGED.as_millis() as u64;
        state.trust = judge(&facts);
        state.offset = offset;
        let after = state.trust;
        drop(state);
        note_trust(after);
        if was_set && jump.unsigned_abs() >= JUMP_LOGGED.as_millis() as u64 {
            let now = self.clock.now().format("%Y-%m-%d %H:%M");
            let (time, way) = (format_span(jump), if jump < 0 { "back" } else { "forward" });
            tracing::info!("the clock was set {way} by {time}, it is {now} now");
        }
        if before.is_trusted() != after.is_trusted() {
            self.log_trust();
        }
        if was_set || before.is_trusted() != after.is_trusted() {
            self.watchers
                .lock()
                .iter()
                .for_each(|watcher| watcher.notify_one());
        }
    }

    /// Logs whether the clock is trusted.
    fn log_trust(&self) {
        let now = self.clock.now().format("%Y-%m-%d %H:%M");
        match self.trust() {
            Trust::Trusted => tracing::info!("the clock is trusted now: {now}"),
            Trust::Unconfirmed => {
                tracing::info!("the clock is used now, although nothing confirms it: {now}");
            }
            Trust::NotYet(reason) => tracing::warn!(
                "the clock {reason}, it says {now}: scheduled jobs and the heartbeat wait"
            ),
        }
    }

    /// When the clock is to be looked at next, in milliseconds since 1970.
    fn next_look(&self) -> i64 {
        let wait = match self.trust() {
            Trust::NotYet(_) => TRUST_LOOK,
            Trust::Unconfirmed => UNCONFIRMED_LOOK,
            Trust::Trusted => KNOWN_INTERVAL,
        };
        self.clock.now_ms().saturating_add(wait.as_millis() as i64)
    }
}

/// A span of time for the log.
fn format_span(millis: i64) -> String {
    let span = Duration::from_millis(millis.unsigned_abs());
    let hours = span.as_secs() / 3600;
    match hours {
        0..48 => format!("{hours} h"),
        _ => format!("{} days", hours / 24),
    }
}

impl Gateway {
    /// The clock of everything that is dated.
    pub fn clock(&self) -> &Clock {
        &self.time.clock
    }

    /// Whether the clock can be trusted. Nothing dated happens before it is.
    pub fn trust(&self) -> Trust {
        self.time.trust()
    }

    /// A line for people about a clock that is not confirmed; `None` while all is well.
    pub(super) fn describe_clock(&self, language: Language) -> Option<String> {
        let reason = match self.trust() {
            Trust::Trusted => return None,
            Trust::Unconfirmed => return Some(texts::unconfirmed(language).to_owned()),
            Trust::NotYet(reason) => reason,
        };
        let reason = match reason {
            Reason::BeforeBuild => texts::before_build(language).to_owned(),
            Reason::BeforeKnown(known) => {
                let known = chrono::DateTime::from_timestamp(known, 0).unwrap_or_default();
                texts::before_known(language, &known.format("%Y-%m-%d %H:%M"))
            }
            Reason::FarAhead => texts::far_ahead(language).to_owned(),
            Reason::NotSynchronized => texts::not_synchronized(language).to_owned(),
        };
        Some(texts::waits(language, &reason))
    }
}

/// Looks at the clock when it is set, often while it is not trusted, and rarely then.
pub(super) async fn keep(gateway: Arc<Gateway>) {
    let time = &gateway.time;
    if !time.trust().is_trusted() {
        time.log_trust();
    }
    let never = Notify::new();
    let mut is_begun = false;
    loop {
        if time.trust().is_trusted() {
            // A power cut soon after the start was not before it.
            match std::mem::replace(&mut is_begun, true) {
                false => gateway.later(|gateway| gateway.time.save()),
                true if time.is_old() => gateway.later(|gateway| gateway.time.save()),
                true => {}
            }
        }
        let since = time.state.lock().offset;
        alarm::until_since(&time.clock, Some(time.next_look()), &never, since).await;
        time.look();
    }
}
