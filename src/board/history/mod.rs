//! The last week of the board, in a file of a fixed size; the last day as small lines. Apart from [`store`] it is PURE.

mod row;
pub mod store;

#[cfg(test)]
mod tests;

use super::reading::Reading;
use crate::base::limits::board::COLUMNS;

pub use store::Moment;

/// Samples that are kept: a week of them. Their file has 188 kB.
const SAMPLES: usize = 7 * 24 * 12;
/// Samples that are written together: an hour of them, because SD cards wear.
const WRITTEN_TOGETHER: usize = 12;
/// Samples that wait in memory while the clock cannot be trusted or the disk is full: four hours, 5 kB.
const UNWRITTEN_MAX: usize = 48;
/// Values beside the built-in quantities that have a history: watched ones.
const OTHERS: usize = 16;
/// Bytes of the name of such a value.
const NAME_BYTES: usize = 48;

/// Missing samples that a curve goes on across: one can fall between two others when the clock is corrected.
const BRIDGED: usize = 1;

/// A quantity with a history, in the order of the columns of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The hottest sensor.
    Temperature,
    /// The load of 5 minutes.
    Load,
    /// Memory in use.
    Memory,
    /// Disk in use.
    Disk,
    /// What went over the network since the sample before.
    Network,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Temperature,
        Self::Load,
        Self::Memory,
        Self::Disk,
        Self::Network,
    ];

    /// Its name in commands and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Load => "load",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Network => "network",
        }
    }

    /// The unit of its values; empty for the load.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Temperature => "°C",
            Self::Load => "",
            Self::Memory | Self::Disk => "%",
            Self::Network => "kB/s",
        }
    }

    /// Its value in a reading; not a number when it is not known. `moved` is what went over the network, in
    /// bytes a second.
    fn value(self, reading: &Reading, moved: Option<f32>) -> f32 {
        let share = |used: u64, total: u64| (total > 0).then(|| used as f32 * 100.0 / total as f32);
        let value = match self {
            Self::Temperature => reading
                .temperatures
                .first()
                .map(|one| one.millidegrees as f32 / 1e3),
            Self::Load => reading
                .load
                .as_ref()
                .map(|load| load.averages[1] as f32 / 100.0),
            Self::Memory => reading.memory.and_then(|memory| {
                share(memory.total.saturating_sub(memory.available), memory.total)
            }),
            Self::Disk => reading
                .disk
                .and_then(|disk| disk.used_percent())
                .map(f32::from),
            Self::Network => moved.map(|bytes| bytes / 1e3),
        };
        value.unwrap_or(f32::NAN)
    }
}

/// The built-in values of a sample.
pub fn values_of(reading: &Reading, moved: Option<f32>) -> [f32; Quantity::ALL.len()] {
    Quantity::ALL.map(|quantity| quantity.value(reading, moved))
}

/// Fills gaps that are too short to be real: one value between two others is missing when the clock was
/// corrected a bit.
pub fn bridge(values: &mut [f32]) {
    let mut before: Option<(usize, f32)> = None;
    for index in 0..values.len() {
        let value = values[index];
        if !value.is_finite() {
            continue;
        }
        if let Some((at, known)) = before
            && (2..=BRIDGED + 1).contains(&(index - at))
        {
            values[at + 1..index].fill(f32::midpoint(known, value));
        }
        before = Some((index, value));
    }
}

/// Some hours of the built-in quantities.
#[derive(Debug, Default)]
pub struct History {
    /// The values of each quantity, oldest first.
    values: Vec<Vec<f32>>,
    count: usize,
}

impl History {
    /// The history that these values make, from the first known one on.
    pub fn new(mut values: Vec<Vec<f32>>) -> Self {
        values.iter_mut().for_each(|values| bridge(values));
        let is_known = |at: &usize| {
            let mut all = values.iter();
            all.any(|values| values.get(*at).is_some_and(|value| value.is_finite()))
        };
        let length = values.iter().map(Vec::len).max().unwrap_or(0);
        let first = (0..length).find(is_known).unwrap_or(length);
        // The slot of now may have no sample yet.
        let last = length.saturating_sub(1);
        let end = if is_known(&last) { length } else { last };
        for values in &mut values {
            values.truncate(end);
            values.drain(..first.min(values.len()));
        }
        Self {
            values,
            count: end.saturating_sub(first),
        }
    }

    /// The number of samples, gaps included.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The course of a quantity; `None` before two samples have it.
    pub fn course(&self, quantity: Quantity) -> Option<Course> {
        let values = self.values.get(quantity as usize)?;
        let known = || values.iter().copied().filter(|value| value.is_finite());
        let count = known().count();
        if count < 2 {
            return None;
        }
        Some(Course {
            least: known().reduce(f32::min)?,
            most: known().reduce(f32::max)?,
            mean: known().sum::<f32>() / count as f32,
            columns: columns(values),
        })
    }
}

/// The number of samples in one column, for so many samples.
pub fn samples_per_column(samples: usize) -> usize {
    samples.div_ceil(COLUMNS).max(1)
}

/// The largest value of each column, oldest first. The newest column is always a full one.
fn columns(values: &[f32]) -> Vec<Option<f32>> {
    let largest = |chunk: &[f32]| {
        let known = chunk.iter().copied().filter(|value| value.is_finite());
        known.reduce(f32::max)
    };
    let newest_first = values.rchunks(samples_per_column(values.len()));
    let mut columns: Vec<_> = newest_first.map(largest).collect();
    columns.reverse();
    columns
}

/// How a quantity went.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The smallest value of a sample.
    pub least: f32,
    /// The largest value of a sample.
    pub most: f32,
    /// The mean of the samples that there are.
    pub mean: f32,
    /// The largest value of each column, oldest first; none is a gap. At most `COLUMNS`.
    pub columns: Vec<Option<f32>>,
}

impl Course {
    /// The columns as a line, from the least to the most that there was: `▁▃█·▂`.
    pub fn line(&self) -> String {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const GAP: char = '·';
        let span = self.most - self.least;
        let block = |value: f32| {
            // A level course is a level line.
            let share = if span > 0.0 {
                (value - self.least) / span
            } else {
                0.0
            };
            let height = (share * (BLOCKS.len() - 1) as f32).round() as usize;
            BLOCKS.get(height).copied().unwrap_or('█')
        };
        let columns = self.columns.iter();
        columns.map(|value| value.map_or(GAP, block)).collect()
    }
}
