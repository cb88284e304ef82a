//! IANA time zones, from the system's data or, without that, from a table of today's rules.

mod built_in;
mod file;
mod rule;

#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset, NaiveDateTime, TimeZone, Utc};

use crate::base::clock;

use file::Data;
use rule::Rule;

pub use built_in::suggest;

/// Bytes of a zone's name; the longest has 32.
const NAME_BYTES: usize = 64;
/// Seconds between a zone's time and UTC, below a day, as chrono wants it; the largest is 15 h 13 min.
const OFFSET_SECONDS_MAX: i32 = 86_399;

/// Bytes of a zone's file; the largest has 4 kB.
const FILE_BYTES: u64 = 64 * 1024;

/// The system's data: a file for each zone.
const FOLDER: &str = "/usr/share/zoneinfo";
/// The system's own zone, as a file.
const SYSTEM_FILE: &str = "/etc/localtime";
/// The system's own zone on OpenWrt, as a rule.
const SYSTEM_RULE: &str = "/etc/TZ";

/// A time zone. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Zone(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    data: Data,
}

/// The instants, in seconds since 1970, at which the clocks of a zone show a local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    /// One instant.
    Once(i64),
    /// None: the clocks were put forward across that time.
    Gap {
        /// The first instant after the gap.
        after: i64,
    },
    /// Two, because the clocks were put back; the earlier one first.
    Twice(i64, i64),
}

/// A time in which the clocks of a zone are not changed. Instants are seconds since 1970, offsets seconds
/// east of Greenwich.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first instant; `i64::MIN` when it has none.
    pub start: i64,
    /// The offset before it.
    pub before: i32,
    /// The offset in it.
    pub offset: i32,
    /// The first instant after it; `i64::MAX` when it has no end.
    pub end: i64,
}

/// The value of `TZ` for a zone as people write it: a name with other capitals, or hours from UTC, such as
/// `UTC+2` and `GMT-3:30`, which are east with a plus: POSIX has it the other way round.
pub fn variable(name: &str) -> Option<String> {
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    if let Some(spelt) = built_in::spelt(name) {
        return Some(spelt);
    }
    let upper = name.to_ascii_uppercase();
    let offset = ["UTC", "GMT"]
        .iter()
        .find_map(|zone| upper.strip_prefix(zone));
    let offset = offset.unwrap_or(&upper).trim_start();
    let (own, west) = [('+', '-'), ('-', '+')]
        .into_iter()
        .find(|(own, _)| offset.starts_with(*own))?;
    let (hours, minutes) = match offset[1..].split_once(':') {
        Some(both) => both,
        None if offset.len() == "+0530".len() => offset[1..].split_at_checked(2)?,
        None => (&offset[1..], "0"),
    };
    let number = |digits: &str| {
        let is_number =
            (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok())?
    };
    let (hours, minutes): (u8, u8) = (number(hours)?, number(minutes)?);
    let is_zone = hours <= 14 && minutes < 60;
    is_zone.then(|| format!("<UTC{own}{hours:02}{minutes:02}>{west}{hours}:{minutes:02}"))
}

impl Zone {
    /// The zone with an IANA name such as `Europe/Zurich`, or with what [`variable`] takes for one; `None` for an
    /// unknown name.
    pub fn find(name: &str) -> Option<Self> {
        let other = || Self::from_variable(&variable(name)?);
        Self::named(name).or_else(other)
    }

    fn named(name: &str) -> Option<Self> {
        if !is_name(name) {
            return None;
        }
        let of_system = || file::parse(&read_bytes(format!("{FOLDER}/{name}"))?);
        // Data that counts leap seconds, beneath `right`, is refused by the parser.
        let built_in = || Rule::parse(built_in::find_rule(name)?).map(Data::from);
        Some(Self::new(name, of_system().or_else(built_in)?))
    }

    /// The system's zone: `TZ`, else /etc/localtime, else UTC.
    pub fn system() -> Self {
        let variable = std::env::var("TZ").unwrap_or_default();
        let of_variable = || Self::from_variable(&variable);
        let name = clock::zone_of_system;
        let of_file = || {
            let name = name().unwrap_or_else(|| "local time".to_owned());
            Self::from_file(&name, &read_bytes(SYSTEM_FILE)?)
        };
        // Without zone data on the system, the link still has the name.
        let of_name = || Self::named(&name()?);
        let of_rule =
            || Self::from_variable(str::from_utf8(&read_bytes(SYSTEM_RULE)?).ok()?.trim());
        of_variable()
            .or_else(of_file)
            .or_else(of_name)
            .or_else(of_rule)
            .unwrap_or_else(Self::utc)
    }

    /// The zone of a value of `TZ`: a name, a file, or a rule (tzset(3)).
    fn from_variable(value: &str) -> Option<Self> {
        let value = value.strip_prefix(':').unwrap_or(value);
        if value.starts_with('/') {
            return Self::from_file(value, &read_bytes(value)?);
        }
        Self::named(value).or_else(|| Self::from_rule(value))
    }

    /// The zone of a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `None` when it is not one.
    pub fn from_rule(rule: &str) -> Option<Self> {
        let parsed = Data::from(Rule::parse(rule)?);
        Some(Self::new(clock::zone_label(rule), parsed))
    }

    /// The zone of a TZif file's bytes; `None` when they are damaged.
    pub fn from_file(name: &str, bytes: &[u8]) -> Option<Self> {
        Some(Self::new(name, file::parse(bytes)?))
    }

    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self::new("UTC", Data::from(Rule::UTC))
    }

    fn new(name: &str, data: Data) -> Self {
        let name = name.to_owned();
        Self(Arc::new(Inner { name, data }))
    }

    /// The zone's IANA name, or the rule or file that defines it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The local time at an instant, in seconds since 1970.
    pub fn at(&self, seconds: i64) -> DateTime<FixedOffset> {
        let utc = DateTime::<Utc>::from_timestamp(seconds, 0).unwrap_or_default();
        match FixedOffset::east_opt(self.span(seconds).offset) {
            Some(offset) => offset.from_utc_datetime(&utc.naive_utc()),
            None => utc.fixed_offset(),
        }
    }

    /// When the zone's clocks show a local time.
    pub fn resolve(&self, local: NaiveDateTime) -> Local {
        /// More than the largest offset and the longest gap, a day in Samoa, together.
        const AROUND: i64 = 3 * 86_400;
        let local = local.and_utc().timestamp();
        let (mut first, mut last, mut gap) = (None, None, None);
        let mut at = local.saturating_sub(AROUND);
        while at < local.saturating_add(AROUND) {
            let span = self.span(at);
            if gap.is_none() && span.start.saturating_add(i64::from(span.offset)) > local {
                gap = Some(span.start);
            }
            let instant = local.saturating_sub(i64::from(span.offset));
            if (span.start..span.end).contains(&instant) {
                first = first.or(Some(instant));
                last = Some(instant);
            }
            at = span.end;
        }
        match (first, last) {
            (Some(first), Some(last)) if first != last => Local::Twice(first, last),
            (Some(once), _) => Local::Once(once),
            (None, _) => Local::Gap {
                after: gap.unwrap_or(local),
            },
        }
    }

    /// The time around an instant in which the clocks are not changed.
    pub fn span(&self, seconds: i64) -> Span {
        let Data {
            first,
            changes,
            rule,
        } = &self.0.data;
        let passed = changes.partition_point(|(instant, _)| *instant <= seconds);
        let offset_after = |count: usize| {
            let last = count.checked_sub(1).and_then(|at| changes.get(at));
            last.map_or(*first, |(_, offset)| *offset)
        };
        let last = passed.checked_sub(1).and_then(|at| changes.get(at));
        let span = Span {
            start: last.map_or(i64::MIN, |(instant, _)| *instant),
            before: offset_after(passed.saturating_sub(1)),
            offset: offset_after(passed),
            end: changes
                .get(passed)
                .map_or(i64::MAX, |(instant, _)| *instant),
        };
        match rule {
            Some(rule) if span.end == i64::MAX => {
                let of_rule = rule.span(seconds);
                if of_rule.start > span.start {
                    of_rule
                } else {
                    Span {
                        offset: of_rule.offset,
                        end: of_rule.end,
                        ..span
                    }
                }
            }
            _ => span,
        }
    }
}

impl From<Rule> for Data {
    fn from(rule: Rule) -> Self {
        Self {
            first: 0,
            changes: Vec::new(),
            rule: Some(rule),
        }
    }
}

/// Whether a name can be that of a zone, and not a path to any other file.
fn is_name(name: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_+-".contains(char);
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric()) && part.chars().all(is_plain)
    };
    name.len() <= NAME_BYTES && name.split('/').all(is_part)
}

fn read_bytes(path: impl AsRef<Path>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    u64::try_from(bytes.len())
        .is_ok_and(|length| length <= FILE_BYTES)
        .then_some(bytes)
}
