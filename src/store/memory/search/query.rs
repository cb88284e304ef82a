//! What is looked for: words, phrases in quotes, a date. Pure.

use chrono::{Days, NaiveDate, NaiveDateTime};

use crate::base::error::{Error, Result};
use crate::text::truncate_bytes;

use super::scanner::{Needle, Scanner, fold, is_unspaced};
use super::{QUERY_PHRASES, QUERY_WORDS};

/// Bytes of a query; words beyond are not looked for.
const QUERY_BYTES_MAX: usize = 1000;
/// Days that a query can look back.
const QUERY_DAYS_MAX: usize = 36_500;

/// A query, ready for a search.
pub struct Query {
    /// Finds the words, after them the phrases, and after them the date.
    pub(super) scanner: Scanner,
    /// How many words there are.
    pub(super) words: usize,
    /// How many phrases there are.
    pub(super) phrases: usize,
    /// The beginning of a date, such as `2026-11`.
    pub(super) date: Option<String>,
    /// The first day that counts.
    pub(super) since: Option<NaiveDate>,
}

impl Query {
    /// Reads a query: words, "exact phrases" in quotes, and a date such as 2026-11 or 2026-11-23. With
    /// `days` it finds only what has a date in that many days up to `today`.
    pub fn parse(text: &str, days: Option<usize>, today: NaiveDate) -> Result<Self> {
        let text = truncate_bytes(text, QUERY_BYTES_MAX);
        let mut phrases = Vec::new();
        // Every second part is within quotes, unless the last quote is not closed.
        let parts: Vec<&str> = text
            .split(['"', '“', '”', '„', '「', '」', '«', '»'])
            .collect();
        let last = parts.len().saturating_sub(1);
        for (_, part) in parts
            .iter()
            .enumerate()
            .filter(|(index, _)| index % 2 == 1 && *index < last)
        {
            let phrase: Vec<char> = part.trim().chars().map(fold).collect();
            if !phrase.is_empty() && phrases.len() < QUERY_PHRASES {
                phrases.push(Needle::new(phrase));
            }
        }
        let (mut date, mut needles) = (None, Vec::new());
        for word in text.split(|char: char| !char.is_alphanumeric() && char != '-') {
            if is_date(word) {
                date = Some(word.to_owned())
            } else {
                add_words(word, &mut needles)
            }
        }
        if needles.is_empty() && date.is_none() && days.is_none() {
            return Err(Error::Usage(
                "Nothing to look for: give a word, or a date such as 2026-11.".to_owned(),
            ));
        }
        let (words, phrase_count) = (needles.len(), phrases.len());
        needles.append(&mut phrases);
        needles.extend(
            date.as_deref()
                .map(|date| Needle::new(date.chars().collect())),
        );
        let days = days.map(|days| Days::new(days.min(QUERY_DAYS_MAX) as u64));
        Ok(Self {
            scanner: Scanner::new(needles),
            words,
            phrases: phrase_count,
            date,
            since: days.and_then(|days| today.checked_sub_days(days)),
        })
    }

    /// The first day that counts, if not all do.
    pub fn first_day(&self) -> Option<NaiveDate> {
        self.since
    }

    /// Whether a passage of this time, with this text, is of the dates that are looked for.
    pub(super) fn is_when(&self, time: Option<NaiveDateTime>, text: &str) -> bool {
        let is_since = self
            .since
            .is_none_or(|since| time.is_some_and(|time| time.date() >= since));
        let is_on = self.date.as_deref().is_none_or(|date| {
            time.is_some_and(|time| time.date().to_string().starts_with(date))
                || text.contains(date)
        });
        is_since && is_on
    }
}

/// Whether a word is a month or a day: `2026-11`, `2026-11-23`.
fn is_date(word: &str) -> bool {
    let is_digits =
        |part: &str, digits| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = word.split('-');
    let is_month = parts.next().is_some_and(|year| is_digits(year, 4))
        && parts.next().is_some_and(|month| is_digits(month, 2));
    is_month && parts.next().is_none_or(|day| is_digits(day, 2)) && parts.next().is_none()
}

/// Adds the words of a text. Of scripts that put no spaces between words, each pair of characters is one.
fn add_words(text: &str, needles: &mut Vec<Needle>) {
    let mut add = |chars: &[char]| {
        let needle = Needle::new(chars.to_vec());
        if !chars.is_empty() && needles.len() < QUERY_WORDS && !needles.contains(&needle) {
            needles.push(needle);
        }
    };
    for word in text.split('-') {
        let chars: Vec<char> = word.chars().map(fold).collect();
        for run in chars.chunk_by(|one, next| is_unspaced(*one) == is_unspaced(*next)) {
            if run.first().is_some_and(|first| is_unspaced(*first)) && run.len() > 1 {
                run.windows(2).for_each(&mut add)
            } else {
                add(run)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (Vec<String>, Vec<String>, Option<String>) {
        let query = Query::parse(text, None, NaiveDate::default()).unwrap();
        let needles = query.scanner.needles().iter().map(ToString::to_string);
        let mut words: Vec<String> = needles.collect();
        let phrases = words.split_off(query.words);
        let phrases = phrases.into_iter().take(query.phrases).collect();
        (words, phrases, query.date)
    }

    #[test]
    fn a_query_has_words_phrases_and_a_date() {
        assert_eq!(
            parse("The \"living room\" Fan, 2026-11 api-key!"),
            (
                ["the", "living", "room", "fan", "api", "key"]
                    .map(str::to_owned)
                    .to_vec(),
                vec!["living room".to_owned()],
                Some("2026-11".to_owned())
            )
        );
        assert_eq!(
            parse("GPIO引脚配置 风").0,
            ["gpio", "引脚", "脚配", "配置", "风"]
        );
        assert_eq!(parse("an \"unclosed quote").1, Vec::<String>::new());
        assert_eq!(parse("2026-11-23").2.as_deref(), Some("2026-11-23"));
        assert_eq!(parse("2026 1-2").0, ["2026", "1", "2"]);
        assert_eq!(
            parse(&"a b c d e f g h i j k l m n o p q ".repeat(9))
                .0
                .len(),
            QUERY_WORDS
        );
        let nothing = Query::parse(" \"\" ?!", None, NaiveDate::default());
        assert!(nothing.is_err());
        assert!(Query::parse("", Some(7), NaiveDate::default()).is_ok());
    }
}
