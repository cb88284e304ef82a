//! PURE: the curves of a table in a text file: numbers separated by commas, semicolons or tabs. The first column is
//! the time or a number, the others are curves; a table of one column is drawn over its rows.

use chrono::NaiveDate;

use super::plot::Curve;
use super::{CURVES_MAX, NAME_CHARS};
use crate::base::zone::{Local, Zone};
use crate::text::truncate_chars;

/// Rows of a table that are drawn, which is more than a plot has pixels.
const CSV_ROWS_MAX: usize = 5000;

/// What is in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A curve for each column but the first, at most `CURVES_MAX`.
    pub curves: Vec<Curve>,
    /// Whether the first column is a time, in seconds since 1970.
    pub is_timed: bool,
    /// The smallest and the largest of the first column.
    pub range: (f64, f64),
    /// Rows that were left out, because there are more than `CSV_ROWS_MAX`.
    pub left_out: usize,
}

/// What the first column is.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Time,
    Number,
    /// Something else, or the only column: rows are counted.
    Row,
}

/// Reads a table; times without an offset are in the zone. `None` when there is no number in it.
pub fn read(text: &str, zone: &Zone) -> Option<Table> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .peekable();
    let separator = separator(lines.peek()?);
    let number = |cell: &str| parse_number(cell, separator);
    let head = cells(lines.peek()?, separator);
    let has_names = head
        .iter()
        .skip(1)
        .chain(head.first().filter(|_| head.len() == 1));
    let has_names = has_names
        .into_iter()
        .all(|cell| !cell.is_empty() && number(cell).is_none());
    if has_names {
        lines.next();
    }
    let first = match lines.peek().map(|line| cells(line, separator)) {
        Some(cells) if cells.len() > 1 => match cells.first() {
            Some(cell) if parse_time(cell, zone).is_some() => First::Time,
            Some(cell) if number(cell).is_some() => First::Number,
            _ => First::Row,
        },
        _ => First::Row,
    };
    let skipped = usize::from(head.len() > 1);
    let name = |index: usize| match head.get(index + skipped) {
        Some(name) if has_names => truncate_chars(name, NAME_CHARS).to_owned(),
        _ => format!("column {}", index + skipped + 1),
    };
    let columns = head.len().saturating_sub(skipped).min(CURVES_MAX);
    let mut curves: Vec<Curve> = (0..columns)
        .map(|index| Curve {
            name: name(index),
            ..Curve::default()
        })
        .collect();
    let mut range: Option<(f64, f64)> = None;
    for (row, line) in lines.by_ref().take(CSV_ROWS_MAX).enumerate() {
        let cells = cells(line, separator);
        let at = match first {
            First::Row => Some(row as f64),
            First::Number => cells.first().and_then(|cell| number(cell)),
            First::Time => cells.first().and_then(|cell| parse_time(cell, zone)),
        };
        let Some(at) = at else { continue };
        let (low, high) = range.unwrap_or((at, at));
        range = Some((low.min(at), high.max(at)));
        for (index, curve) in curves.iter_mut().enumerate() {
            let value = cells.get(index + skipped).and_then(|cell| number(cell));
            curve.points.push((at, value.unwrap_or(f64::NAN)));
        }
    }
    for curve in &mut curves {
        curve
            .points
            .sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    let has_values = curves.iter().any(|curve| curve.summary().is_some());
    Some(Table {
        curves,
        is_timed: first == First::Time,
        range: range.filter(|_| has_values)?,
        left_out: lines.count(),
    })
}

/// What separates the cells of a line: what is there most often.
fn separator(line: &str) -> char {
    let count = |separator: &char| line.matches(*separator).count();
    // Of equally frequent ones the last counts, and a comma may be part of a number.
    [',', ';', '\t']
        .into_iter()
        .max_by_key(count)
        .unwrap_or(',')
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = line.split(|char: char| {
        is_quoted ^= char == '"';
        char == separator && !is_quoted
    });
    parts
        .map(|cell| cell.trim().trim_matches('"').trim())
        .collect()
}

/// A number; with a decimal comma where commas do not separate.
fn parse_number(cell: &str, separator: char) -> Option<f64> {
    let number = match separator {
        ',' => cell.parse(),
        _ => cell.replace(',', ".").parse(),
    };
    number.ok().filter(|number: &f64| number.is_finite())
}

/// A time such as `2026-11-23T12:00:00+01:00`, with or without seconds, offset and time of day; or seconds since
/// 1970.
fn parse_time(cell: &str, zone: &Zone) -> Option<f64> {
    // 2001 to 2128.
    const SECONDS: std::ops::RangeInclusive<f64> = 1e9..=5e9;
    if let Some(number) = cell.parse().ok().filter(|number| SECONDS.contains(number)) {
        return Some(number);
    }
    let (date, rest) = cell.split_at_checked(10)?;
    let date = numbers(date, '-')?;
    let date = NaiveDate::from_ymd_opt(i32::try_from(date[0]).ok()?, date[1], date[2])?;
    let rest = rest.trim_start_matches(['T', ' ']);
    // The offset, with its sign.
    let place = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, offset) = rest.split_at(place);
    let [hour, minute, second] = match time {
        "" => [0; 3],
        time => numbers(time.split('.').next()?, ':')?,
    };
    let local = date.and_hms_opt(hour, minute, second)?;
    let seconds = local.and_utc().timestamp();
    let at = match (offset.chars().next(), offset.get(1..)) {
        (Some('Z'), _) => seconds,
        (Some(sign), Some(offset)) => {
            let [hours, minutes, _] = numbers(offset, ':')?;
            let offset = i64::from(hours) * 3600 + i64::from(minutes) * 60;
            seconds + if sign == '+' { -offset } else { offset }
        }
        _ => match zone.resolve(local) {
            Local::Once(at) | Local::Gap { after: at } | Local::Twice(at, _) => at,
        },
    };
    Some(at as f64)
}

/// Two or three numbers of at most four digits; the third is 0 when it is missing.
fn numbers(text: &str, separator: char) -> Option<[u32; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let is_number =
            (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| is_number)
    });
    let found = [
        parts.next()??,
        parts.next()??,
        parts.next().unwrap_or(Some(0))?,
    ];
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(text: &str) -> Table {
        read(text, &Zone::utc()).unwrap()
    }

    fn names(table: &Table) -> Vec<&str> {
        table
            .curves
            .iter()
            .map(|curve| curve.name.as_str())
            .collect()
    }

    #[test]
    fn times_numbers_and_rows_lead_to_the_right() {
        let times = table(
            "time,inside,outside\n2026-11-23T12:00,20.5,3\n2026-11-23 12:05:00,20.7,\n2026-11-23T13:10:00+01:00,21,4\n",
        );
        assert!(times.is_timed);
        assert_eq!(names(&times), ["inside", "outside"]);
        assert_eq!(times.range, (1_795_435_200.0, 1_795_435_800.0));
        assert_eq!(times.curves[0].summary(), Some((20.5, 21.0, 21.0)));
        assert!(
            times.curves[1].points[1].1.is_nan(),
            "an empty cell is a gap"
        );
        let numbers = table("1;2,5\n2;3,5\n");
        assert_eq!((numbers.is_timed, numbers.range), (false, (1.0, 2.0)));
        assert_eq!(names(&numbers), ["column 2"]);
        assert_eq!(numbers.curves[0].points, [(1.0, 2.5), (2.0, 3.5)]);
        let one = table("value\n5\n7\nx\n");
        assert_eq!((names(&one), one.range), (vec!["value"], (0.0, 2.0)));
        assert_eq!(one.curves[0].points[..2], [(0.0, 5.0), (1.0, 7.0)]);
        let labels = table("place\tvisits\nZurich\t4\nBern\t6\n");
        assert_eq!(labels.curves[0].points, [(0.0, 4.0), (1.0, 6.0)]);
        let epoch = table("\u{feff}t,\"a, b\"\n1795435200,1\n1795435260,2\n");
        assert!(epoch.is_timed && names(&epoch) == ["a, b"]);
        let unsorted = table("x,y\n3,1\n1,2\n");
        assert_eq!(unsorted.curves[0].points, [(1.0, 2.0), (3.0, 1.0)]);
    }

    #[test]
    fn times_are_read_in_many_spellings() {
        let zone = Zone::from_rule("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let noon = Some(1_795_431_600.0);
        for text in [
            "2026-11-23 12:00",
            "2026-11-23T12:00:00",
            "2026-11-23T12:00:00.250",
            "2026-11-23T11:00:00Z",
            "2026-11-23T13:00+02:00",
            "2026-11-23T05:30:00-05:30",
            "1795431600",
        ] {
            assert_eq!(parse_time(text, &zone), noon, "{text}");
        }
        assert_eq!(parse_time("2026-11-23", &zone), Some(1_795_388_400.0));
        for text in [
            "",
            "12:00",
            "2026-13-01",
            "2026-11-23 25:00",
            "2026-11-23T12",
            "23.11.2026",
            "2026-11-23 12:00 x",
            "ééééééé",
        ] {
            assert_eq!(parse_time(text, &zone), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_table_is_refused_and_a_long_one_is_cut() {
        for text in ["", "\n\n", "hello", "a,b\nc,d\n", "a,b\n"] {
            assert_eq!(read(text, &Zone::utc()), None, "{text:?}");
        }
        let long = "1,2\n".repeat(CSV_ROWS_MAX + 7);
        let long = table(&long);
        assert_eq!(
            (long.curves[0].points.len(), long.left_out),
            (CSV_ROWS_MAX, 7)
        );
        let wide = table(&format!("0{}\n", ",1".repeat(40)));
        assert_eq!(wide.curves.len(), CURVES_MAX);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9a-z,;\t\"\n.:T é]{0,200}", any in ".{0,80}") {
            let _ = (read(&text, &Zone::utc()), read(&any, &Zone::utc()));
        }
    }
}
