//! The history over days, restarts, wrong clocks and damaged files.

use std::path::Path;

use super::row::{FILE_BYTES, ROW_BYTES};
use super::store::Store;
use super::*;
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::board::SHOWN_SAMPLES;
use proptest::prelude::*;
use tempfile::TempDir;

const STEP: u64 = SAMPLE_INTERVAL.as_secs();
/// 2026-11-22 00:00 UTC.
const START: i64 = 1_795_305_600;

fn at(uptime: u64) -> Moment {
    at_clock(START + uptime as i64, uptime)
}

fn at_clock(seconds: i64, uptime: u64) -> Moment {
    Moment {
        now_ms: seconds * 1000,
        uptime,
    }
}

fn store(folder: &TempDir) -> Store {
    Store::new(folder.path().join("state/history.bin"))
}

/// Takes samples as the gateway does, with a value in each column.
fn run(store: &mut Store, steps: std::ops::Range<u64>) {
    for step in steps {
        let moment = at(step * STEP);
        store.add(moment, &[step as f32; 5], &[]);
        if store.is_due() {
            store.write(moment).unwrap();
        }
    }
}

/// The first column from a step on, up to a moment.
fn first(store: &Store, since: u64, moment: Moment) -> Vec<Option<f32>> {
    let since = at(since * STEP).slot();
    let values = store.read(&[0], since, moment).remove(0);
    values
        .into_iter()
        .map(|value| Some(value).filter(|value| value.is_finite()))
        .collect()
}

fn some(values: impl IntoIterator<Item = u32>) -> Vec<Option<f32>> {
    values.into_iter().map(|value| Some(value as f32)).collect()
}

#[test]
fn a_day_is_written_once_an_hour_and_a_kilobyte_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    run(&mut store, 0..1);
    assert_eq!(store.wear().writes, 0, "nothing is written for one sample");
    run(&mut store, 1..288);
    let wear = store.wear();
    let (hours, header) = (24, 1024);
    assert_eq!(wear.writes, hours + 1, "one more for the new file");
    assert_eq!(wear.bytes, 288 * ROW_BYTES as u64 + header);
    assert!(wear.bytes < 30_000, "{wear:?}");
    let length = std::fs::metadata(folder.path().join("state/history.bin"))
        .unwrap()
        .len();
    assert_eq!(length, FILE_BYTES);
    assert!(length < 200_000);
}

#[test]
fn it_survives_a_restart_and_keeps_a_week() {
    let folder = tempfile::tempdir().unwrap();
    let mut before = store(&folder);
    run(&mut before, 0..2100);
    before.write(at(2099 * STEP)).unwrap();
    let again = store(&folder);
    let now = at(2099 * STEP);
    let week = first(&again, 0, now);
    assert_eq!(week.len(), SAMPLES);
    assert_eq!(week, some(2100 - SAMPLES as u32..2100));
    // A power cut loses what was not written: at most an hour.
    run(&mut before, 2100..2100 + WRITTEN_TOGETHER as u64 - 1);
    let lost = first(&store(&folder), 2098, at(2101 * STEP));
    assert_eq!(lost, [Some(2098.0), Some(2099.0), None, None]);
}

#[test]
fn samples_before_the_clock_was_set_get_their_right_places() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    for step in 0..4 {
        store.add(
            at_clock((step * STEP) as i64, step * STEP),
            &[step as f32; 5],
            &[],
        );
    }
    let in_1970 = store.read(&[0], 0, at_clock(900, 900)).remove(0);
    assert_eq!(
        in_1970,
        [0.0, 1.0, 2.0, 3.0],
        "they are shown by the clock as it is"
    );
    store.write(at(3 * STEP)).unwrap();
    assert_eq!(first(&store, 0, at(3 * STEP)), some(0..4));
    // A clock that is never set fills no memory.
    for step in 0..1000 {
        store.add(at_clock(0, step), &[0.0; 5], &[]);
    }
    store.write(at(5000 * STEP)).unwrap();
    assert!(store.wear().bytes <= 1024 + (UNWRITTEN_MAX * ROW_BYTES) as u64 + 4 * ROW_BYTES as u64);
}

#[test]
fn jumps_of_the_clock_leave_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder);
    run(&mut store, 0..3);
    store.write(at(2 * STEP)).unwrap();
    run(&mut store, 6..8);
    assert_eq!(
        first(&store, 0, at(7 * STEP)),
        [
            Some(0.0),
            Some(1.0),
            Some(2.0),
            None,
            None,
            None,
            Some(6.0),
            Some(7.0)
        ]
    );
    store.write(at(7 * STEP)).unwrap();
    // Set back by half an hour: what was "later" is not there until that time has come.
    assert_eq!(first(&store, 0, at(2 * STEP)), some(0..3));
    // A month later everything is gone, although the rows are still in the file.
    let later = first(&store, 31 * 288 - 2, at(31 * 288 * STEP));
    assert_eq!(later, [None; 3]);
    for seconds in [i64::MIN / 1000, -1, 0, i64::MAX / 1000] {
        store.add(at_clock(seconds, u64::MAX), &[1.0; 5], &[]);
        store.write(at_clock(seconds, 0)).unwrap();
        let _ = store.read(&[0], 0, at_clock(seconds, u64::MAX));
        let _ = store.read(&[0], u32::MAX, at_clock(seconds, 0));
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_a_torn_row_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/history.bin");
    let mut one = store(&folder);
    run(&mut one, 0..12);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[super::row::offset(at(4 * STEP).slot()) as usize + 7] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let torn = first(&store(&folder), 3, at(5 * STEP));
    assert_eq!(torn, [Some(3.0), None, Some(5.0)]);
    for damaged in [&bytes[..5000], b"", &[7; FILE_BYTES as usize]] {
        std::fs::write(&path, damaged).unwrap();
        let mut again = store(&folder);
        assert_eq!(first(&again, 0, at(STEP)), [None, None]);
        again.add(at(0), &[5.0; 5], &[]);
        again.write(at(0)).unwrap();
        assert_eq!(first(&store(&folder), 0, at(0)), [Some(5.0)]);
        let aside = std::fs::read(path.with_extension("damaged")).unwrap();
        assert_eq!(aside, damaged);
    }
}

#[test]
fn other_values_have_their_names_and_a_new_one_shows_nothing_of_the_old() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = store(&folder);
    let named = |name: &str, value: f64| (name.to_owned(), value);
    one.add(
        at(0),
        &[],
        &[named("pressure", 1013.25), named("湿度", 40.0)],
    );
    one.write(at(0)).unwrap();
    let again = store(&folder);
    assert_eq!(again.names(), ["pressure", "湿度"]);
    let (column, since) = again.column("湿度").unwrap();
    assert_eq!(again.read(&[column], since, at(0)), [[40.0]]);
    assert_eq!(again.column("none"), None);
    // Sixteen others take their places.
    let mut again = again;
    let others: Vec<_> = (0..OTHERS + 3)
        .map(|number| named(&format!("w{number}"), 7.0))
        .collect();
    again.add(at(3 * STEP), &[], &others);
    again.write(at(3 * STEP)).unwrap();
    let last = store(&folder);
    assert_eq!(last.names().len(), OTHERS);
    assert_eq!(last.column("pressure"), None);
    let (column, since) = last.column("w0").unwrap();
    assert_eq!(since, at(3 * STEP).slot());
    assert_eq!(last.read(&[column], since, at(3 * STEP)), [[7.0]]);
}

#[test]
fn a_disk_that_cannot_be_written_loses_nothing_for_four_hours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    std::fs::write(&path, "no folder").unwrap();
    let mut store = store(&folder);
    for step in 0..UNWRITTEN_MAX as u64 {
        store.add(at(step * STEP), &[step as f32; 5], &[]);
        let written = store.write(at(step * STEP));
        assert!(written.is_err());
    }
    std::fs::remove_file(&path).unwrap();
    let now = at((UNWRITTEN_MAX as u64 - 1) * STEP);
    store.write(now).unwrap();
    assert_eq!(first(&store, 0, now), some(0..UNWRITTEN_MAX as u32));
}

fn history(values: &[Option<i32>]) -> History {
    let values = values
        .iter()
        .map(|value| value.map_or(f32::NAN, |value| value as f32));
    History::new(vec![values.collect()])
}

fn columns_of(history: &History) -> Vec<Option<f32>> {
    history.course(Quantity::Temperature).unwrap().columns
}

#[test]
fn a_few_samples_have_a_column_each_and_a_day_has_24() {
    let few = history(&[None, None, Some(0), Some(1), Some(2), Some(3), None]);
    assert_eq!(few.count(), 4);
    let course = few.course(Quantity::Temperature).unwrap();
    assert_eq!(course.columns, some(0..4));
    assert_eq!(course.line(), "▁▃▆█");
    assert_eq!((course.least, course.most, course.mean), (0.0, 3.0, 1.5));
    let day: Vec<_> = (0..SHOWN_SAMPLES as i32).map(Some).collect();
    let day = history(&day);
    let columns = columns_of(&day);
    assert_eq!(columns.len(), COLUMNS);
    assert_eq!((columns[0], columns[23]), (Some(11.0), Some(287.0)));
    assert_eq!(day.course(Quantity::Disk), None, "it was never known");
}

#[test]
fn a_single_missing_sample_is_bridged_and_more_are_a_gap() {
    let one = history(&[Some(10), None, Some(20), None, None, Some(30)]);
    assert_eq!(
        columns_of(&one),
        [Some(10.0), Some(15.0), Some(20.0), None, None, Some(30.0)]
    );
    assert_eq!(one.course(Quantity::Temperature).unwrap().line(), "▁▃▅··█");
    assert_eq!(history(&[Some(1)]).course(Quantity::Temperature), None);
    assert_eq!(history(&[]).count(), 0);
    let level = history(&[Some(42); 3])
        .course(Quantity::Temperature)
        .unwrap();
    assert_eq!(level.line(), "▁▁▁");
}

proptest! {
    #[test]
    fn no_course_is_wider_than_a_telephone(values in prop::collection::vec(any::<Option<i32>>(), 0..300)) {
        let history = history(&values);
        if let Some(course) = history.course(Quantity::Temperature) {
            prop_assert!(course.line().chars().count() <= COLUMNS);
        }
    }

    #[test]
    fn no_clocks_and_no_files_panic(
        moments in prop::collection::vec((any::<i64>(), any::<u64>(), any::<bool>()), 0..40),
        damage in prop::collection::vec((0..FILE_BYTES as usize, any::<u8>()), 0..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder);
        for (now_ms, uptime, writes) in moments {
            let moment = Moment { now_ms, uptime };
            store.add(moment, &[1.0; 5], &[("x".to_owned(), 2.0)]);
            if writes {
                store.write(moment).unwrap();
            }
            let _ = store.read(&[0, 5, 99], moment.slot().saturating_sub(50), moment);
        }
        spoil(&folder.path().join("state/history.bin"), &damage);
        let _ = (store.names(), store.read(&[0], 0, at(0)));
    }
}

fn spoil(path: &Path, damage: &[(usize, u8)]) {
    if let Ok(mut bytes) = std::fs::read(path) {
        for (place, byte) in damage {
            bytes[*place] = *byte;
        }
        std::fs::write(path, bytes).unwrap();
    }
}
