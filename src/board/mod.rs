//! Floor 5: how the board is, from /proc and /sys, how it was in the last week, and the rules that speak up about it.
//!
//! No child process is started, and nothing here fails: a value that the machine does not offer is
//! `None`.

pub mod history;
pub mod look;
mod parse;
pub mod plot;
pub mod reading;
mod text;
mod texts;
mod tree;
mod units;
pub mod watch;

#[cfg(test)]
mod tests;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::base::sync::Mutex;
use crate::sys;
use crate::text::picture::plot::Curve;

use history::store::Store;
use history::{History, Moment, Quantity};
use reading::Reading;

/// Samples that the small lines of the status show: a day.
const SHOWN_SAMPLES: usize = 24 * 12;
/// Bytes of the id of a start of the machine: a UUID and a newline.
const BOOT_ID_BYTES: usize = 64;

/// The board. Any thread may read it.
#[derive(Debug)]
pub struct Board {
    root: PathBuf,
    home: PathBuf,
    machine: String,
    clock: Clock,
    recorder: Mutex<Recorder>,
}

/// What takes samples.
#[derive(Debug)]
struct Recorder {
    store: Store,
    /// Seconds of uptime at the newest sample, and the bytes that had gone over the network by then.
    last: Option<(u64, Option<u64>)>,
}

impl Board {
    /// The board that the program runs on. The disk is the one that contains `home`.
    pub fn here(home: &Path) -> Self {
        Self::new(&root(), home)
    }

    /// A board whose `proc` and `sys` are in `root`. Its history is in `state/` of the home.
    pub fn new(root: &Path, home: &Path) -> Self {
        Self {
            root: root.to_owned(),
            home: home.to_owned(),
            machine: sys::host::board().unwrap_or_else(sys::host::kernel),
            clock: Clock::System,
            recorder: Mutex::new(Recorder {
                store: Store::new(home.join("state/history.bin")),
                last: None,
            }),
        }
    }

    /// The same board with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The folder that contains `proc` and `sys`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How the board is now.
    pub fn reading(&self) -> Reading {
        Reading::take(&self.root, &self.home)
    }

    /// Takes a sample for the history, with further values and their names. Call it every
    /// [`SAMPLE_INTERVAL`]; a missed call leaves a gap, and one that comes too soon is ignored. It is written
    /// to the disk once an hour, and only while the clock `is_trusted`.
    pub fn record(&self, is_trusted: bool, others: &[(String, f64)]) -> Result<()> {
        let (reading, moment) = (self.reading(), self.moment());
        let mut recorder = self.recorder.lock();
        let since = recorder
            .last
            .map(|(at, _)| moment.uptime.saturating_sub(at));
        if since.is_some_and(|since| since < SAMPLE_INTERVAL.as_secs() / 2) {
            return Ok(());
        }
        let traffic = reading.traffic();
        // A counter that has become smaller was reset, and after a gap it covers more than a sample.
        let moved = match (recorder.last, traffic, since) {
            (Some((_, Some(before))), Some(now), Some(since))
                if since < SAMPLE_INTERVAL.as_secs() * 2 =>
            {
                now.checked_sub(before)
                    .map(|bytes| bytes as f32 / since as f32)
            }
            _ => None,
        };
        recorder.last = Some((moment.uptime, traffic));
        let values = history::values_of(&reading, moved);
        // What is built in has its column already.
        let others = others.iter().filter(|(name, _)| built_in(name).is_none());
        let others: Vec<_> = others.cloned().collect();
        recorder.store.add(moment, &values, &others);
        match is_trusted && recorder.store.is_due() {
            true => recorder.store.write(moment),
            false => Ok(()),
        }
    }

    /// Writes the samples that are not on the disk yet: the program ends.
    pub fn save(&self, is_trusted: bool) -> Result<()> {
        match is_trusted {
            true => self.recorder.lock().store.write(self.moment()),
            false => Ok(()),
        }
    }

    /// The names of what has a history: the built-in quantities, then watched values.
    pub fn names(&self) -> Vec<String> {
        let mut names = Quantity::ALL
            .map(|quantity| quantity.name().to_owned())
            .to_vec();
        let others = self.recorder.lock().store.names();
        names.extend(others.into_iter().filter(|name| built_in(name).is_none()));
        names
    }

    /// The same without a second name of the home's disk, such as `disk /`.
    pub fn listed_names(&self) -> Vec<String> {
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let is_home = |path: &str| {
            let path = self.root.join(path.trim_start_matches('/'));
            device(&path).is_some() && device(&path) == device(&self.home)
        };
        let mut names = self.names();
        names.retain(|name| !name.strip_prefix("disk ").is_some_and(is_home));
        names
    }

    /// Whether the board has what a name is about, such as a sensor of the temperature. Watched values count as there.
    pub fn is_reported(&self, name: &str) -> bool {
        built_in(name).is_none_or(|quantity| {
            // The disk is that of the home, which the first start makes.
            if matches!(quantity, Quantity::Disk) && !self.home.exists() {
                return true;
            }
            let reading = self.reading();
            // A rate needs two samples.
            let moved = reading.traffic().map(|_| 0.0);
            history::values_of(&reading, moved)[quantity as usize].is_finite()
        })
    }

    /// The history of a name in the last `seconds`, at most a week, by the time of each sample; `None` when
    /// there is none.
    pub fn series(&self, name: &str, seconds: u64) -> Option<Curve> {
        let recorder = self.recorder.lock();
        let moment = self.moment();
        let built_in = built_in(name);
        let (column, first) = match built_in {
            Some(quantity) => (quantity as usize, 0),
            None => recorder.store.column(name)?,
        };
        let interval = SAMPLE_INTERVAL.as_secs();
        let slots = u32::try_from(seconds / interval).unwrap_or(u32::MAX);
        let since = moment.slot().saturating_sub(slots).max(first);
        let mut values = recorder.store.read(&[column], since, moment).pop()?;
        // The newest sample may be minutes old. What moved since then is no rate yet.
        let newest = built_in
            .map(|quantity| history::values_of(&self.reading(), None)[quantity as usize])
            .filter(|value| value.is_finite());
        // The slot of now may have no sample yet: the curve goes on to the value of now.
        let is_sampled = values.last().is_some_and(|value| value.is_finite());
        if let (false, Some(newest), Some(last)) = (is_sampled, newest, values.last_mut()) {
            *last = newest;
        }
        history::bridge(&mut values);
        let start = u64::from(moment.slot() + 1) - values.len() as u64;
        // Samples of one run come at the same second of their slots.
        let now = moment.now_ms.div_euclid(1000);
        let since_last = recorder
            .last
            .map(|(at, _)| moment.uptime.saturating_sub(at));
        let second = since_last.map_or(0, |since| {
            (now - since as i64).rem_euclid(interval as i64) as u64
        });
        let times = (start..).map(|slot| ((slot * interval + second) as f64).min(now as f64));
        let mut points: Vec<(f64, f64)> = times.zip(values.into_iter().map(f64::from)).collect();
        if let Some(newest) = newest {
            if !is_sampled {
                points.pop();
            }
            // A sample of this very second, or a second off at the border of its slot, is not newer.
            points.pop_if(|(at, _)| *at >= now as f64);
            points.push((now as f64, f64::from(newest)));
        }
        Some(Curve {
            name: name.to_owned(),
            unit: built_in.map_or("", Quantity::unit).to_owned(),
            points,
        })
    }

    /// How the board is, as Markdown: a line for each quantity, and a small line of its history
    /// below where there is one.
    pub fn format_status(&self, language: Language) -> String {
        text::format_status(&self.machine, &self.reading(), &self.last_day(), language)
    }

    /// The last 24 hours in numbers, as Markdown for the model, or when it begins.
    pub fn format_history(&self) -> String {
        text::format_history(&self.last_day())
    }

    /// The time that plots and the history go by, in seconds since 1970.
    pub fn now(&self) -> i64 {
        self.clock.now_ms().div_euclid(1000)
    }

    /// Seconds since the machine was started.
    pub fn uptime(&self) -> u64 {
        self.moment().uptime
    }

    /// What the kernel calls this start of the machine; `None` where it does not tell.
    pub fn boot_id(&self) -> Option<String> {
        let path = self.root.join("proc/sys/kernel/random/boot_id");
        let bytes = sys::file::read_at_most(&path, BOOT_ID_BYTES).ok()?;
        let id = String::from_utf8_lossy(&bytes).trim().to_owned();
        Some(id).filter(|id| !id.is_empty())
    }

    /// Load and memory in a line each, as Markdown.
    pub fn format_load(&self, language: Language) -> String {
        text::format_busy(&self.reading(), language)
    }

    /// A network interface as Markdown.
    pub fn format_interface(&self, interface: &reading::Interface, language: Language) -> String {
        let name = texts::network(language, &interface.name);
        let colon = texts::colon(language);
        format!(
            "{name}{colon}{}",
            text::format_interface(interface, language)
        )
    }

    fn last_day(&self) -> History {
        let moment = self.moment();
        let since = moment.slot().saturating_sub(SHOWN_SAMPLES as u32 - 1);
        let columns = Quantity::ALL.map(|quantity| quantity as usize);
        let recorder = self.recorder.lock();
        History::new(recorder.store.read(&columns, since, moment))
    }

    fn moment(&self) -> Moment {
        let turned = self.clock.turned();
        Moment {
            now_ms: self.clock.now_ms(),
            uptime: turned
                .map_or_else(sys::time::uptime, |turned| turned.uptime)
                .as_secs(),
        }
    }
}

/// The built-in quantity of this name.
fn built_in(name: &str) -> Option<Quantity> {
    let mut all = Quantity::ALL.into_iter();
    all.find(|quantity| quantity.name() == name)
}

/// The folder that contains `proc` and `sys`: in a build for tests what `PEACRAB_TEST_ROOT` names.
#[cfg(feature = "test-hooks")]
fn root() -> PathBuf {
    let named = std::env::var_os("PEACRAB_TEST_ROOT");
    named.map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// The folder that contains `proc` and `sys`.
#[cfg(not(feature = "test-hooks"))]
fn root() -> PathBuf {
    PathBuf::from("/")
}
