mod any_line;
mod due;
mod line;
mod when;

use chrono::{DateTime, NaiveDateTime};

use crate::base::zone::{Local, Zone};

/// A local time as milliseconds since 1970; where it comes twice, the first.
fn ms(zone: &Zone, local: &str) -> i64 {
    let read = |format| NaiveDateTime::parse_from_str(local, format);
    if let Ok(instant) = DateTime::parse_from_rfc3339(local) {
        return instant.timestamp_millis();
    }
    let time = read("%Y-%m-%d %H:%M").or_else(|_| read("%Y-%m-%d %H:%M:%S"));
    match zone.resolve(time.unwrap_or_else(|_| panic!("{local}"))) {
        Local::Once(seconds) | Local::Twice(seconds, _) => seconds * 1000,
        Local::Gap { .. } => panic!("{local} does not exist"),
    }
}

/// An instant in local time, with its offset, which tells two equal local times apart.
fn show(zone: &Zone, ms: i64) -> String {
    assert_eq!(ms % 1000, 0, "{ms}");
    zone.at(ms / 1000)
        .format("%Y-%m-%d %H:%M:%S%:z")
        .to_string()
}
