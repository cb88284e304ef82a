//! Times as people write them, and schedules in words: PURE.

use crate::error::{Error, Result};
use crate::language::Language;
use crate::zone::Zone;

use super::schedule::Schedule;

/// Reads a time or a schedule, such as `in 20m`, `tomorrow 7:00`, `every 2h`, `0 7 * * 1-5`,
/// `20分钟后`. A time of day that has passed today means tomorrow.
pub fn parse(text: &str, _now_ms: i64, _zone: &Zone) -> Result<Schedule> {
    Err(Error::Usage(format!("Cannot read the time \"{text}\"")))
}

/// Reads a time or a schedule at the beginning of a text; also returns the rest, without the space
/// before it. `None` when the text does not begin with one.
pub fn take_leading<'a>(_text: &'a str, _now_ms: i64, _zone: &Zone) -> Option<(Schedule, &'a str)> {
    None
}

/// A schedule in words, such as `every day at 07:00`. `zone` is the owner's.
pub fn describe(schedule: &Schedule, _zone: &Zone, _language: Language) -> String {
    format!("{schedule:?}")
}
