//! PURE: the last 24 hours in a fixed buffer, and a small line that shows them.

use heapless::HistoryBuf;

use super::reading::Reading;
use crate::limits::board::{COLUMNS, SAMPLE_INTERVAL, SAMPLES};

/// A quantity with a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The hottest sensor, in tenths of a degree Celsius.
    Temperature,
    /// The load of 15 minutes, in hundredths.
    Load,
    /// Memory in use, in percent.
    Memory,
    /// Disk in use, in percent.
    Disk,
    /// Bytes over the network since the sample before, in kilobytes.
    Traffic,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Temperature,
        Self::Load,
        Self::Memory,
        Self::Disk,
        Self::Traffic,
    ];
}

/// One value of each quantity, in their order; `None` if it was not known.
type Sample = [Option<i32>; Quantity::ALL.len()];

/// The samples of the last 24 hours.
#[derive(Debug, Default)]
pub struct History {
    samples: HistoryBuf<Sample, SAMPLES>,
    /// Seconds of uptime at the newest sample.
    uptime: Option<u64>,
    /// Bytes over the network at the newest sample.
    traffic: Option<u64>,
}

impl History {
    /// Takes a sample of a reading. Samples missed since the last one, by the uptime, become a gap; one
    /// that comes within half of the interval is ignored.
    pub fn add(&mut self, reading: &Reading) {
        let steps = self.steps_to(reading);
        if steps == 0 {
            return;
        }
        for _ in 1..steps.min(SAMPLES as u64) {
            self.samples.write(Sample::default());
        }
        let traffic = reading.traffic();
        // A counter that has become smaller was reset, and after a gap it covers more than a sample.
        let moved = match (traffic, self.traffic) {
            (Some(now), Some(before)) if steps == 1 => now.checked_sub(before),
            _ => None,
        };
        self.samples
            .write(Quantity::ALL.map(|quantity| match quantity {
                Quantity::Temperature => Some(reading.temperatures.first()?.millidegrees / 100),
                Quantity::Load => i32::try_from(reading.load.as_ref()?.averages[2]).ok(),
                Quantity::Memory => reading.memory?.used_percent().map(i32::from),
                Quantity::Disk => reading.disk?.used_percent().map(i32::from),
                Quantity::Traffic => {
                    moved.map(|bytes| i32::try_from(bytes / 1000).unwrap_or(i32::MAX))
                }
            }));
        (self.uptime, self.traffic) = (reading.uptime, traffic);
    }

    /// Intervals since the newest sample, rounded; 1 if that is not known.
    fn steps_to(&self, reading: &Reading) -> u64 {
        let interval = SAMPLE_INTERVAL.as_secs();
        match (self.uptime, reading.uptime) {
            (Some(before), Some(now)) => {
                let since = now.saturating_sub(before);
                since.saturating_add(interval / 2) / interval
            }
            _ => 1,
        }
    }

    /// The number of samples, gaps included.
    pub fn count(&self) -> usize {
        self.samples.len()
    }

    /// The course of a quantity; `None` before two samples have it.
    pub fn course(&self, quantity: Quantity) -> Option<Course> {
        let samples = self.samples.oldest_ordered();
        let values: Vec<Option<i32>> = samples.map(|sample| sample[quantity as usize]).collect();
        let known = || values.iter().flatten();
        let count = known().count();
        if count < 2 {
            return None;
        }
        Some(Course {
            least: *known().min()?,
            most: *known().max()?,
            mean: (known().map(|value| i64::from(*value)).sum::<i64>() / count as i64) as i32,
            columns: columns(&values),
        })
    }
}

/// The number of samples in one column, for so many samples.
pub fn samples_per_column(samples: usize) -> usize {
    samples.div_ceil(COLUMNS).max(1)
}

/// The largest value of each column, oldest first. The newest column is always a full one.
fn columns(values: &[Option<i32>]) -> Vec<Option<i32>> {
    let largest = |chunk: &[Option<i32>]| chunk.iter().copied().max().flatten();
    let newest_first = values.rchunks(samples_per_column(values.len()));
    let mut columns: Vec<_> = newest_first.map(largest).collect();
    columns.reverse();
    columns
}

/// How a quantity went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The smallest value of a sample.
    pub least: i32,
    /// The largest value of a sample.
    pub most: i32,
    /// The mean of the samples that there are.
    pub mean: i32,
    /// The largest value of each column, oldest first; none is a gap. At most `COLUMNS`.
    pub columns: Vec<Option<i32>>,
}

impl Course {
    /// The columns as a line, from the least to the most that there was: `▁▃█·▂`.
    pub fn line(&self) -> String {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        const GAP: char = '·';
        let top = BLOCKS.len() as i64 - 1;
        let span = (i64::from(self.most) - i64::from(self.least)).max(1);
        let block = |value: i32| {
            let above = i64::from(value) - i64::from(self.least);
            let height = (above * top + span / 2) / span;
            BLOCKS[height.clamp(0, top) as usize]
        };
        let columns = self.columns.iter();
        columns.map(|value| value.map_or(GAP, block)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::reading::{Interface, Memory};
    use proptest::prelude::*;

    const QUARTER: u64 = SAMPLE_INTERVAL.as_secs();

    /// A board with so many percent of its memory in use.
    fn using(percent: u64, uptime: u64) -> Reading {
        Reading {
            memory: Some(Memory {
                total: 100,
                available: 100 - percent,
                swap_total: 0,
                swap_free: 0,
            }),
            uptime: Some(uptime),
            ..Reading::default()
        }
    }

    /// A board that has moved so many bytes.
    fn moved(received: u64, uptime: u64) -> Reading {
        let interface = Interface {
            name: "wlan0".to_owned(),
            state: None,
            is_hardware: true,
            address: None,
            signal: None,
            received: Some(received),
            sent: Some(0),
        };
        Reading {
            interfaces: vec![interface],
            uptime: Some(uptime),
            ..Reading::default()
        }
    }

    fn memory(history: &History) -> Vec<Option<i32>> {
        history.course(Quantity::Memory).unwrap().columns
    }

    #[test]
    fn a_few_samples_have_a_column_each_and_a_day_has_24() {
        let mut history = History::default();
        for number in 0..200 {
            history.add(&using(number % 100, 7 + number * QUARTER));
            if number == 3 {
                let course = history.course(Quantity::Memory).unwrap();
                assert_eq!(course.columns, [Some(0), Some(1), Some(2), Some(3)]);
                assert_eq!(course.line(), "▁▃▆█");
                assert_eq!((course.least, course.most, course.mean), (0, 3, 1));
            }
        }
        assert_eq!(history.count(), SAMPLES);
        let day = memory(&history);
        assert_eq!(day.len(), COLUMNS);
        assert_eq!((day[0], day[23]), (Some(7), Some(99)));
        assert_eq!(history.course(Quantity::Disk), None, "it was never known");
    }

    #[test]
    fn what_was_missed_is_a_gap_and_what_comes_too_soon_is_not_taken() {
        let mut history = History::default();
        history.add(&using(10, 100));
        assert_eq!(history.course(Quantity::Memory), None);
        history.add(&using(99, 100 + QUARTER / 3));
        history.add(&using(20, 90 + QUARTER));
        history.add(&using(30, 110 + 4 * QUARTER));
        assert_eq!(memory(&history), [Some(10), Some(20), None, None, Some(30)]);
        let course = history.course(Quantity::Memory).unwrap();
        assert_eq!(course.line(), "▁▅··█");
        history.add(&using(40, u64::MAX));
        assert_eq!(history.course(Quantity::Memory), None, "a day of sleep");
    }

    #[test]
    fn without_an_uptime_each_sample_is_the_next() {
        let mut history = History::default();
        for percent in [5, 6] {
            let reading = using(percent, 0);
            history.add(&Reading {
                uptime: None,
                ..reading
            });
        }
        assert_eq!(memory(&history), [Some(5), Some(6)]);
    }

    #[test]
    fn traffic_is_what_moved_between_two_samples() {
        let mut history = History::default();
        for (quarter, bytes) in [
            (0, 5000),
            (1, 9000),
            (2, 12_000),
            (3, 400),
            (5, 9900),
            (6, 9900),
        ] {
            history.add(&moved(bytes, quarter * QUARTER));
        }
        let course = history.course(Quantity::Traffic).unwrap();
        let expected = [None, Some(4), Some(3), None, None, None, Some(0)];
        assert_eq!(course.columns, expected);
    }

    #[test]
    fn a_level_course_is_a_level_line() {
        let mut history = History::default();
        for quarter in 0..3 {
            history.add(&using(42, quarter * QUARTER));
        }
        assert_eq!(history.course(Quantity::Memory).unwrap().line(), "▁▁▁");
    }

    fn some_values() -> impl Strategy<Value = Vec<Option<i32>>> {
        prop::collection::vec(any::<Option<i32>>(), 0..300)
    }

    proptest! {
        #[test]
        fn no_course_is_wider_than_a_telephone(values in some_values()) {
            let course = Course {
                least: values.iter().flatten().min().copied().unwrap_or(0),
                most: values.iter().flatten().max().copied().unwrap_or(0),
                mean: 0,
                columns: columns(&values),
            };
            prop_assert!(course.line().chars().count() <= COLUMNS);
        }

        #[test]
        fn no_readings_panic(readings in prop::collection::vec(any::<(u64, u64)>(), 0..120)) {
            let mut history = History::default();
            for (bytes, uptime) in readings {
                history.add(&moved(bytes, uptime));
                let _ = history.course(Quantity::Traffic).map(|course| course.line());
            }
            prop_assert!(history.count() <= SAMPLES);
        }
    }
}
