//! Looks that take no time: files of the kernel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::built_in::{self, Earlier};
use super::{Item, Look, Shared, Watching, system};
use crate::board::reading::{Reading, share_used};
use crate::board::watch::process::identity;
use crate::board::watch::{Blind, BuiltIn, Moment, Phase, Quantity, Subject, What};
use crate::gateway::Gateway;
use crate::sys::port;

/// What looks at the same time share.
pub(super) struct Tick {
    pub now: Moment,
    pub reading: Reading,
}

/// What is remembered from look to look.
#[derive(Debug, Default)]
pub(super) struct Before {
    earlier: Earlier,
    was_writable: bool,
}

impl Watching {
    /// The watches that look, each with whether it has an alarm.
    pub(in crate::gateway) fn alarms(&self) -> Vec<(String, bool)> {
        let shared = self.shared.lock();
        let items = shared.items.iter().filter(|item| !item.is_paused);
        let is_alarm = |item: &Arc<Item>| {
            let entry = shared.entries.get(&item.key);
            let phase = entry.map(|entry| entry.tracker.phase);
            (
                item.key.clone(),
                matches!(phase, Some(Phase::Raised { .. })),
            )
        };
        items.map(is_alarm).collect()
    }

    /// Reads the board.
    pub(super) fn tick(&self, now: Moment) -> Tick {
        Tick {
            now,
            reading: Reading::take(&self.root, &self.home),
        }
    }

    /// A path of the system, below the root.
    fn below(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A value of the board; `None` if it does not have it.
    pub(super) fn value(&self, quantity: &Quantity, tick: &Tick) -> Option<f64> {
        let Tick { now, reading } = tick;
        let percent = |total: u64, free: u64| {
            let used = total.saturating_sub(free) as f64;
            (total > 0).then(|| used * 100.0 / total as f64)
        };
        // As `df` counts.
        let share = |all: u64, free: u64, available: u64| {
            share_used(all.saturating_sub(free), available).map(f64::from)
        };
        match quantity {
            Quantity::Temperature => {
                let hottest = reading.temperatures.first()?;
                Some(f64::from(hottest.millidegrees) / 1000.0)
            }
            Quantity::Load => Some(f64::from(reading.load.as_ref()?.averages[0]) / 100.0),
            Quantity::Memory => percent(reading.memory?.total, reading.memory?.available),
            Quantity::Swap => percent(reading.memory?.swap_total, reading.memory?.swap_free),
            Quantity::Disk(path) => {
                let found = self.file_system(path.as_deref())?;
                share(found.f_blocks, found.f_bfree, found.f_bavail)
            }
            Quantity::Inodes(path) => {
                let found = self.file_system(path.as_deref())?;
                share(found.f_files, found.f_ffree, found.f_favail)
            }
            Quantity::Traffic => {
                let bytes = reading.traffic()?;
                self.shared.lock().traffic(bytes, *now)
            }
            Quantity::Pressure => system::pressure(&self.read("proc/pressure/memory")?),
        }
    }

    /// Why the board does not have a value; `None` where it may have one at the next look.
    fn why_no_value(&self, quantity: &Quantity, tick: &Tick) -> Option<Blind> {
        if let Some(path) = quantity.path()
            && !self.below(path).exists()
        {
            return Some(Blind::NoFolder);
        }
        // A rate needs two looks.
        let has_traffic = *quantity == Quantity::Traffic && tick.reading.traffic().is_some();
        (!has_traffic).then_some(Blind::NotReported)
    }

    fn file_system(&self, path: Option<&str>) -> Option<rustix::fs::StatVfs> {
        let path = path.map_or_else(|| self.home.clone(), |path| self.below(path));
        // A made-up tree without anything has no disks either.
        let is_there = self.root.is_dir();
        rustix::fs::statvfs(&path).ok().filter(|_| is_there)
    }

    /// Looks at an item; `None` when that needs a [probe](super::probe).
    pub(super) fn look(
        &self,
        gateway: &Gateway,
        item: &Item,
        tick: &Tick,
        before: &mut Before,
    ) -> Option<Look> {
        let rule = match &item.subject {
            Subject::Rule(rule) => rule,
            Subject::BuiltIn(built_in) => {
                return self.look_built_in(gateway, *built_in, tick, before);
            }
        };
        Some(match &rule.what {
            What::Value { quantity, .. } => {
                let value = self.value(quantity, tick);
                let blind = || self.why_no_value(quantity, tick);
                Look {
                    value,
                    blind: if value.is_none() { blind() } else { None },
                    ..Look::default()
                }
            }
            What::Service(name) => match system::services(&self.root) {
                None => Look::blind(Blind::NoService),
                Some(_) => {
                    let group = system::service(&self.root, name);
                    let runs = group.is_some_and(|group| system::is_populated(&group));
                    Look {
                        blind: system::blind_service(&self.root, name),
                        ..Look::is_bad(!runs, "")
                    }
                }
            },
            What::Port(port) => match port::listeners(*port) {
                Ok(listeners) => Look::is_bad(listeners.is_empty(), ""),
                Err(_) => Look::default(),
            },
            What::Pid(pid) => {
                let (name, start) = item.process.clone().unwrap_or_default();
                let now = identity(*pid).map(|(_, start)| start);
                Look::is_bad(now != Some(start), name)
            }
            // Its lines are read by the thread that follows it.
            What::File { .. } => Look::default(),
            What::Host { .. } | What::Log { .. } | What::Command { .. } => return None,
        })
    }

    fn look_built_in(
        &self,
        gateway: &Gateway,
        built_in: BuiltIn,
        tick: &Tick,
        before: &mut Before,
    ) -> Option<Look> {
        Some(match built_in {
            // Only Raspberry Pis know.
            BuiltIn::UnderVoltage | BuiltIn::Throttling if tick.reading.throttling.is_none() => {
                Look::blind(Blind::NotReported)
            }
            BuiltIn::UnderVoltage => before.earlier.look(tick.reading.throttling).0,
            BuiltIn::Throttling => Earlier::default().look(tick.reading.throttling).1,
            BuiltIn::ReadOnly => {
                built_in::read_only(self.read("proc/self/mounts"), &mut before.was_writable)
            }
            BuiltIn::Clock => Look::is_bad(!gateway.trust().is_trusted(), ""),
            BuiltIn::OutOfMemory | BuiltIn::Address | BuiltIn::Login => Look::default(),
            BuiltIn::Units => match Path::is_dir(&self.root.join("run/systemd/system")) {
                true => return None,
                false => Look::blind(Blind::NotReported),
            },
        })
    }
}

impl Shared {
    /// Kilobytes a second since the look before, or the last that is known when that was a moment ago.
    fn traffic(&mut self, bytes: u64, now: Moment) -> Option<f64> {
        const MOMENT_MS: i64 = 5000;
        let before = self.traffic;
        let (since, rate) = match before {
            Some((count, at, rate)) => {
                let span = now.up_ms.saturating_sub(at);
                if (0..MOMENT_MS).contains(&span) {
                    return rate;
                }
                let moved = bytes.checked_sub(count);
                // Bytes in a millisecond are kilobytes in a second.
                (span, moved.map(|moved| moved as f64 / span as f64))
            }
            None => (0, None),
        };
        let rate = rate.filter(|_| since > 0).map(f64::round);
        self.traffic = Some((bytes, now.up_ms, rate));
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_what_moved_in_a_second() {
        let mut shared = Shared::default();
        let at = |seconds: i64| Moment {
            up_ms: seconds * 1000,
            ..Moment::default()
        };
        assert_eq!(shared.traffic(1_000_000, at(10)), None);
        assert_eq!(shared.traffic(4_000_000, at(40)), Some(100.0));
        assert_eq!(
            shared.traffic(9_000_000, at(41)),
            Some(100.0),
            "a moment later"
        );
        assert_eq!(shared.traffic(5, at(70)), None, "the counter began again");
        assert_eq!(shared.traffic(5, at(100)), Some(0.0));
    }
}
