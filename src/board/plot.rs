//! What a person asks to see as a plot. Reading it is PURE.

use super::{Board, texts};
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::limits::board::SAMPLE_INTERVAL;
use crate::base::zone::Zone;
use crate::text::nearest;
use crate::text::picture::plot::{Across, Curve, Plot, format_value};

const HOUR: u64 = 3600;
/// The shortest and the longest span, in seconds.
const SPANS: std::ops::RangeInclusive<u64> = HOUR..=7 * 24 * HOUR;
/// The span when none is named.
const USUAL: u64 = 24 * HOUR;

/// What is to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing was named: what there is.
    List,
    /// A file of the workspace.
    Csv(String),
    /// The history of these names, in so many seconds up to now.
    History(Vec<String>, u64),
}

/// Why nothing can be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// This has no history, and this may be meant.
    Name(String, Option<String>),
    /// The span is too short or too long, or not understood.
    Span(String),
}

/// Reads the argument of `/plot`, such as `temperature load 6h`; `names` have a history.
pub fn parse(argument: &str, names: &[String]) -> Result<Asked, Wrong> {
    let words: Vec<&str> = argument
        .split(|char: char| char.is_whitespace() || char == ',')
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return Ok(Asked::List);
    }
    if let Some(rest) = argument.trim().strip_prefix("csv ") {
        return Ok(Asked::Csv(rest.trim().to_owned()));
    }
    let (mut found, mut span): (Vec<String>, u64) = (Vec::new(), USUAL);
    let mut rest = words.as_slice();
    while let Some((word, after)) = rest.split_first() {
        // A name may have several words.
        let lengths = (1..=rest.len()).rev();
        let named = lengths.filter_map(|length| {
            let words = rest.get(..length)?.join(" ");
            Some((find(&words, names, length > 1)?, length))
        });
        if let Some((name, length)) = named.into_iter().next() {
            if !found.contains(name) {
                found.push(name.clone());
            }
            rest = rest.get(length..).unwrap_or_default();
        } else if let Some(seconds) = parse_span(word) {
            if !SPANS.contains(&seconds) {
                return Err(Wrong::Span((*word).to_owned()));
            }
            span = seconds;
            rest = after;
        } else if word.starts_with(|char: char| char.is_ascii_digit()) {
            return Err(Wrong::Span((*word).to_owned()));
        } else {
            let near = nearest(word, names.iter().map(String::as_str));
            return Err(Wrong::Name((*word).to_owned(), near.map(str::to_owned)));
        }
    }
    if found.is_empty() {
        Ok(Asked::List)
    } else {
        Ok(Asked::History(found, span))
    }
}

/// The name that is meant: exactly, or by its beginning when no other one begins so.
fn find<'a>(words: &str, names: &'a [String], is_exact: bool) -> Option<&'a String> {
    let same = |name: &&String| name.eq_ignore_ascii_case(words);
    if let Some(name) = names.iter().find(same) {
        return Some(name);
    }
    let begins = |name: &&String| {
        let start = name.get(..words.len());
        words.len() > 2 && start.is_some_and(|start| start.eq_ignore_ascii_case(words))
    };
    let mut beginning = names.iter().filter(begins);
    match (is_exact, beginning.next(), beginning.next()) {
        (false, Some(name), None) => Some(name),
        _ => None,
    }
}

/// A span such as `90m`, `6h`, `7d` or `1w`, in seconds; also one that is too long.
fn parse_span(word: &str) -> Option<u64> {
    let unit = word.chars().last()?;
    let number: u64 = word.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit.to_ascii_lowercase() {
        'm' => 60,
        'h' => HOUR,
        'd' => 24 * HOUR,
        'w' => 7 * 24 * HOUR,
        'y' => 365 * 24 * HOUR,
        _ => return None,
    };
    number.checked_mul(seconds)
}

/// A span in the words of [`parse`], such as `24h`.
pub fn format_span(seconds: u64) -> String {
    match seconds {
        seconds if seconds % HOUR != 0 => format!("{}m", seconds / 60),
        seconds if seconds > 48 * HOUR && seconds % (24 * HOUR) == 0 => {
            format!("{}d", seconds / (24 * HOUR))
        }
        seconds => format!("{}h", seconds / HOUR),
    }
}

/// A value of what is watched for yes or no, as a word; `None` for what is a number.
pub fn in_words(name: &str, value: f64, language: Language) -> Option<&'static str> {
    let (kind, _) = name.split_once(' ')?;
    let is_flag = ["service", "host", "port", "pid", "cmd"].contains(&kind);
    let tells_success = kind == "cmd" && name.ends_with(" succeeds");
    is_flag.then(|| match (tells_success, value > 0.5) {
        (false, true) => texts::well(language),
        (false, false) => texts::alarm(language),
        (true, true) => texts::fails(language),
        (true, false) => texts::succeeds(language),
    })
}

impl Board {
    /// Draws what is asked for on the command line, as PNG.
    pub fn plot_words(&self, words: &str, zone: &Zone) -> Result<Vec<u8>, Error> {
        let names = self.names();
        let unknown = |wrong| {
            let known = names.join(", ");
            Error::Usage(match wrong {
                Wrong::Span(span) => format!("A plot shows 1h to 7d, not {span}"),
                Wrong::Name(name, Some(near)) => {
                    format!("There are no values of {name}. Did you mean {near}?")
                }
                Wrong::Name(name, None) => {
                    format!("There are no values of {name}. Known: {known}")
                }
            })
        };
        let Asked::History(asked, seconds) = parse(words, &names).map_err(unknown)? else {
            return Err(unknown(Wrong::Name(words.to_owned(), None)));
        };
        let plotted = self.plot(&asked, seconds, zone);
        let (_, png) = plotted.ok_or_else(|| {
            let missing = asked.iter().find(|name| !self.is_reported(name));
            Error::Failed(match missing {
                Some(name) => {
                    let there = self.names_with_values(seconds).join(", ");
                    match &*there {
                        "" => format!("This board does not report {name}."),
                        there => format!("This board does not report {name}, but {there}."),
                    }
                }
                None => {
                    "There are no values yet: measurements begin when the bot runs (`peacrab gateway`), one every 5 minutes."
                        .to_owned()
                }
            })
        })?;
        Ok(png)
    }

    /// What there is to see, with the values of the last day, as lines for the command line.
    pub fn list_values(&self) -> String {
        let lines = self.listed_names().into_iter().map(|name| {
            let curve = self.series(&name, USUAL);
            let summary = curve.as_ref().and_then(|curve| {
                let (least, most, last) = curve.summary()?;
                let [least, most, last] = [least, most, last].map(|value| {
                    let word = in_words(&name, value, Language::English);
                    word.map_or_else(|| format_value(value, 0.0), str::to_owned)
                });
                let unit = &curve.unit;
                let now = format!("{last} {unit}");
                let now = now.trim_end();
                Some(match least == most {
                    true => format!("{now} (24 h)"),
                    false => format!("{least} to {most}, now {now} (24 h)"),
                })
            });
            let missing = match self.is_reported(&name) {
                true => "no values in 24 h",
                false => "this board does not report it",
            };
            format!("{name}: {}", summary.as_deref().unwrap_or(missing))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The names that have a value in the last `seconds`.
    pub fn names_with_values(&self, seconds: u64) -> Vec<String> {
        let mut names = self.listed_names();
        names.retain(|name| {
            let curve = self.series(name, seconds);
            curve.is_some_and(|curve| curve.summary().is_some())
        });
        names
    }

    /// Draws the history of some names as PNG; `None` when there is no value to draw.
    pub fn plot(
        &self,
        names: &[String],
        seconds: u64,
        zone: &Zone,
    ) -> Option<(Vec<Curve>, Vec<u8>)> {
        let series = names.iter().filter_map(|name| self.series(name, seconds));
        let curves: Vec<Curve> = series.collect();
        curves.iter().find_map(Curve::summary)?;
        let now = self.now();
        let shown = curves.iter().flat_map(|curve| &curve.points);
        let times = shown
            .filter(|(_, value)| value.is_finite())
            .map(|(at, _)| *at);
        // Before the first value there is nothing to see, and a single one needs some room.
        let first = times.fold(now as f64, f64::min);
        let first = first.min((now - SAMPLE_INTERVAL.as_secs() as i64) as f64);
        let plot = Plot {
            curves: &curves,
            range: (first.max((now - seconds as i64) as f64), now as f64),
            across: Across::Time(zone),
        };
        let png = plot.draw().png();
        Some((curves, png))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Vec<String> {
        [
            "temperature",
            "load",
            "memory",
            "disk",
            "network",
            "disk /data",
            "tempo",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn history(names: &[&str], hours: u64) -> Result<Asked, Wrong> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(Asked::History(names, hours * HOUR))
    }

    #[test]
    fn names_and_spans_come_in_any_order() {
        let parsed = |text| parse(text, &names());
        assert_eq!(parsed(" "), Ok(Asked::List));
        assert_eq!(parsed("7d"), Ok(Asked::List));
        assert_eq!(parsed("temperature"), history(&["temperature"], 24));
        assert_eq!(parsed("6h Load, mem load"), history(&["load", "memory"], 6));
        assert_eq!(parsed("disk /data 1w"), history(&["disk /data"], 168));
        assert_eq!(parsed("disk 90m").map(|_| ()), Ok(()));
        assert_eq!(
            parsed("csv my data.csv"),
            Ok(Asked::Csv("my data.csv".to_owned()))
        );
        assert_eq!(parsed("load 30m"), Err(Wrong::Span("30m".to_owned())));
        assert_eq!(parsed("load 8d"), Err(Wrong::Span("8d".to_owned())));
        assert_eq!(parsed("load 5x"), Err(Wrong::Span("5x".to_owned())));
        assert_eq!(parsed("load 1y"), Err(Wrong::Span("1y".to_owned())));
        let near = Some("load".to_owned());
        assert_eq!(parsed("laod"), Err(Wrong::Name("laod".to_owned(), near)));
        assert_eq!(
            parsed("temp"),
            Err(Wrong::Name(
                "temp".to_owned(),
                Some("temperature".to_owned())
            ))
        );
        assert_eq!(
            parsed("temper 99999999999999999999h"),
            Err(Wrong::Span("99999999999999999999h".to_owned()))
        );
    }

    #[test]
    fn spans_are_written_as_they_are_read() {
        for span in ["1h", "90m", "24h", "48h", "3d", "7d"] {
            assert_eq!(format_span(parse_span(span).unwrap()), span);
        }
    }

    proptest! {
        #[test]
        fn no_argument_panics(text in ".{0,60}", words in "[a-z0-9 ,/]{0,40}") {
            let _ = (parse(&text, &names()), parse(&words, &names()));
        }
    }
}
