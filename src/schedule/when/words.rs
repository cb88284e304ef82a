//! The words that times are made of, in English and Chinese. PURE.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

/// Words at the beginning of a message that are looked at for its time.
const WHEN_WORDS: usize = 24;

/// A word of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    In,
    At,
    /// Before a day.
    On,
    /// Before a day of the week, which is not today then.
    Next,
    Every,
    And,
    The,
    Of,
    /// `later`, `from now`: after a duration.
    Later,
    /// 0 is today.
    Day(u64),
    Tonight,
    Part(Part),
    /// A weekday from Sunday, and whether it is abbreviated.
    Weekday(u32, bool),
    /// `mondays`.
    Each(u32),
    Weekdays,
    Weekends,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
    /// `month`, whichever it is.
    Months,
    /// `月`: behind the number of a month, or a month.
    MonthNumber,
    /// `year`, whichever it is.
    Years,
    /// A month from 1.
    Month(u32),
    /// The day of a month: `1st`.
    Nth(u32),
    /// `last`: before or instead of `day`.
    Last,
    /// `号`: after the number of a day of the month.
    DayNumber,
    Number(u32),
    Half,
    /// `half past`: before the number of an hour.
    Past,
    Unit(Unit),
    /// `1h30m`.
    Duration(Duration),
    /// A time of day that is complete.
    Time(NaiveTime),
    /// `点`: after the number of an hour.
    Hour,
    /// Whether it is after noon: after the number of an hour.
    Noon(bool),
    Date(NaiveDate),
    /// `24.12.`: a day and a month, and whether the dot behind them is written.
    Dotted(u32, u32, bool),
    Local(NaiveDateTime),
    /// In milliseconds since 1970.
    Instant(i64),
}

impl Word {
    /// Whether it says a time, and not only days.
    pub fn has_time(&self) -> bool {
        match self {
            Self::At | Self::Noon(_) | Self::Hour | Self::Half | Self::Hourly => true,
            Self::Time(_) | Self::Local(_) | Self::Instant(_) => true,
            Self::Duration(duration) => duration.ms > 0,
            Self::Unit(unit) => matches!(unit, Unit::Second | Unit::Minute | Unit::Hour),
            _ => false,
        }
    }
}

/// A part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Morning,
    Midday,
    Afternoon,
    Evening,
}

/// A unit of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
}

/// Days of the calendar and milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration {
    pub days: u32,
    pub ms: i64,
}

impl Duration {
    pub fn of(count: u32, unit: Unit) -> Option<Self> {
        let ms = |unit_ms: i64| Self {
            days: 0,
            ms: i64::from(count) * unit_ms,
        };
        Some(match unit {
            Unit::Second => ms(1000),
            Unit::Minute => ms(60_000),
            Unit::Hour => ms(3_600_000),
            Unit::Day => Self { days: count, ms: 0 },
            Unit::Week => Self {
                days: count.checked_mul(7)?,
                ms: 0,
            },
        })
    }

    /// Hundredths of one.
    pub fn part(hundredths: u32, unit: Unit) -> Self {
        let unit_ms = match unit {
            Unit::Second => 1000,
            Unit::Minute => 60_000,
            Unit::Hour => 3_600_000,
            Unit::Day => 86_400_000,
            Unit::Week => 604_800_000,
        };
        Self {
            days: 0,
            ms: i64::from(hundredths) * unit_ms / 100,
        }
    }

    pub fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            days: self.days.checked_add(other.days)?,
            ms: self.ms.checked_add(other.ms)?,
        })
    }
}

/// The words of each meaning, also as they are often misspelt.
const ENGLISH: [(&str, Word); 64] = {
    use Word::{And, At, Daily, Day, Every, Half, Hourly, In, Later, Next, Number, On, Tonight};
    use Word::{Last, Monthly, Months, Nth, Of, Past, The, Weekly, Yearly, Years};
    use Word::{Month, Noon, Part as P, Unit as U, Weekday, Weekdays, Weekends};
    [
        ("in", In),
        ("at", At),
        ("on", On),
        ("next", Next),
        ("every each", Every),
        ("and", And),
        ("the", The),
        ("of", Of),
        ("later", Later),
        ("a an", Number(1)),
        ("half", Half),
        ("past", Past),
        ("today", Day(0)),
        (
            "tomorrow tomorow tommorow tommorrow tomorrw tmrw tmr",
            Day(1),
        ),
        ("tonight", Tonight),
        ("morning", P(Part::Morning)),
        ("noon", P(Part::Midday)),
        ("afternoon", P(Part::Afternoon)),
        ("evening", P(Part::Evening)),
        ("o'clock uhr", Word::Hour),
        ("am a.m.", Noon(false)),
        ("pm p.m.", Noon(true)),
        ("weekday weekdays", Weekdays),
        ("weekend weekends", Weekends),
        ("hourly", Hourly),
        ("daily", Daily),
        ("weekly", Weekly),
        ("monthly", Monthly),
        ("yearly annually", Yearly),
        ("month months", Months),
        ("year years", Years),
        ("first", Nth(1)),
        ("last", Last),
        ("s sec secs second seconds", U(Unit::Second)),
        ("m min mins minute minutes", U(Unit::Minute)),
        ("h hr hrs hour hours", U(Unit::Hour)),
        ("d day days", U(Unit::Day)),
        ("w week weeks", U(Unit::Week)),
        ("sunday", Weekday(0, false)),
        ("monday", Weekday(1, false)),
        ("tuesday tuseday teusday", Weekday(2, false)),
        ("wednesday wensday wednsday", Weekday(3, false)),
        ("thursday thurday", Weekday(4, false)),
        ("friday", Weekday(5, false)),
        ("saturday saterday", Weekday(6, false)),
        ("sun", Weekday(0, true)),
        ("mon", Weekday(1, true)),
        ("tue tues", Weekday(2, true)),
        ("wed", Weekday(3, true)),
        ("thu thurs", Weekday(4, true)),
        ("fri", Weekday(5, true)),
        ("sat", Weekday(6, true)),
        ("jan", Month(1)),
        ("feb", Month(2)),
        ("mar", Month(3)),
        ("apr", Month(4)),
        ("may", Month(5)),
        ("jun", Month(6)),
        ("jul", Month(7)),
        ("aug", Month(8)),
        ("sep sept", Month(9)),
        ("oct", Month(10)),
        ("nov", Month(11)),
        ("dec", Month(12)),
    ]
};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The numbers that are written out, from 1.
const NUMBERS: [&str; 19] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

/// The tens that are written out, from 20.
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// The words of each meaning; of those that a text begins with, the longest counts.
const CHINESE: [(&str, Word); 33] = {
    use Word::{And, Daily, Day, DayNumber, Every, Half, Hour, Last, Later, MonthNumber, Months};
    use Word::{Part as P, Tonight, Unit as U};
    use Word::{Weekday, Weekdays, Weekends, Years};
    [
        ("每天 每日", Daily),
        ("每个 每隔 每", Every),
        ("今天晚上 今晚", Tonight),
        ("今天", Day(0)),
        ("明天", Day(1)),
        ("后天", Day(2)),
        ("凌晨 早上 早晨 上午", P(Part::Morning)),
        ("中午", P(Part::Midday)),
        ("下午", P(Part::Afternoon)),
        ("傍晚 晚上", P(Part::Evening)),
        ("工作日", Weekdays),
        ("周末", Weekends),
        ("周日 周天 星期日 星期天", Weekday(0, false)),
        ("周一 星期一", Weekday(1, false)),
        ("周二 星期二", Weekday(2, false)),
        ("周三 星期三", Weekday(3, false)),
        ("周四 星期四", Weekday(4, false)),
        ("周五 星期五", Weekday(5, false)),
        ("周六 星期六", Weekday(6, false)),
        ("点钟 点", Hour),
        ("半", Half),
        ("秒钟 秒", U(Unit::Second)),
        ("分钟 分", U(Unit::Minute)),
        ("个小时 小时 钟头", U(Unit::Hour)),
        ("天", U(Unit::Day)),
        ("个星期 星期 周", U(Unit::Week)),
        ("后 以后 之后", Later),
        ("个月", Months),
        ("月", MonthNumber),
        ("年", Years),
        ("号 日", DayNumber),
        ("最后一天 最后一日 月底", Last),
        ("和", And),
    ]
};

/// The words at the beginning of a text, each with the place where it ends, up to the first that is not
/// one of a time.
pub fn read(text: &str) -> Vec<(Word, usize)> {
    let mut words = Vec::new();
    let mut rest = text;
    while words.len() < WHEN_WORDS {
        rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == ',');
        let Some((word, length)) = read_word(rest) else {
            break;
        };
        rest = rest.get(length..).unwrap_or_default();
        words.push((word, text.len() - rest.len()));
    }
    words
}

fn read_word(text: &str) -> Option<(Word, usize)> {
    if !text.starts_with(|first: char| first.is_ascii()) {
        return read_chinese(text);
    }
    for name in ["the day after tomorrow", "day after tomorrow"] {
        if let Some((begin, rest)) = text.split_at_checked(name.len())
            && begin.eq_ignore_ascii_case(name)
            && !rest.starts_with(|char: char| char.is_ascii_alphanumeric())
        {
            return Some((Word::Day(2), name.len()));
        }
    }
    let word = text.split(is_end).next()?;
    if let Some((duration, length)) = read_decimal(word, text.get(word.len()..)?) {
        return Some((Word::Duration(duration), word.len() + length));
    }
    // `2026-12-24 18:00` may be one word, with a T.
    let plain = word.trim_end_matches([':', ';']);
    let read = read_english(&plain.to_ascii_lowercase())?;
    // "twenty five": one number in two words.
    let ones = text.get(word.len()..)?.strip_prefix(' ');
    let ones = ones.and_then(|rest| rest.split(is_end).next());
    if let Some(ones) = ones
        && let Some(number) = read_number(&format!("{word}-{ones}").to_ascii_lowercase())
    {
        return Some((Word::Number(number), word.len() + 1 + ones.len()));
    }
    Some((read, word.len()))
}

/// What a word ends at.
fn is_end(char: char) -> bool {
    char.is_whitespace() || char == ',' || !char.is_ascii()
}

/// `1.5` with the unit behind it, and where that ends.
fn read_decimal(word: &str, behind: &str) -> Option<(Duration, usize)> {
    let (whole, hundredths) = decimal(word).filter(|_| word.contains('.'))?;
    let start = behind.trim_start();
    let name = start.split(is_end).next()?;
    let (unit, length) = if name.is_empty() && !start.starts_with([',', '，']) {
        read_chinese(start)?
    } else {
        let plain = name.trim_end_matches([':', ';']);
        (find_english(&plain.to_ascii_lowercase())?, name.len())
    };
    let Word::Unit(unit) = unit else {
        return None;
    };
    let sum = Duration::of(whole, unit)?.plus(Duration::part(hundredths, unit))?;
    Some((sum, behind.len() - start.len() + length))
}

/// A number such as `20`, `1.5` or `0.25`, and hundredths.
fn decimal(text: &str) -> Option<(u32, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_fraction = (1..=2).contains(&fraction.len()) && is_digits(fraction);
    let number: u32 = fraction.parse().ok().filter(|_| is_fraction)?;
    let hundredths = if fraction.len() == 1 {
        number * 10
    } else {
        number
    };
    Some((whole.parse().ok().filter(|_| is_digits(whole))?, hundredths))
}

fn read_english(word: &str) -> Option<Word> {
    if word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        if word == "midnight" {
            return Some(Word::Time(NaiveTime::MIN));
        }
        let each = || match find_english(word.strip_suffix('s')?)? {
            Word::Weekday(day, false) => Some(Word::Each(day)),
            _ => None,
        };
        return find_english(word)
            .or_else(|| number_in(&MONTHS, word).map(Word::Month))
            .or_else(|| read_number(word).map(Word::Number))
            .or_else(each);
    }
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return word.parse().ok().map(Word::Number);
    }
    read_nth(word)
        .map(Word::Nth)
        .or_else(|| read_time(word).map(Word::Time))
        .or_else(|| read_duration(word).map(Word::Duration))
        .or_else(|| word.parse().ok().map(Word::Date))
        .or_else(|| read_dotted(word))
        .or_else(|| read_instant(word))
}

/// The place of a word among names, from 1.
fn number_in(names: &[&str], word: &str) -> Option<u32> {
    let at = names.iter().position(|name| *name == word)?;
    Some(u32::try_from(at).ok()? + 1)
}

/// `seven`, `twenty`, `twenty-five`.
fn read_number(word: &str) -> Option<u32> {
    if let Some(number) = number_in(&NUMBERS, word) {
        return Some(number);
    }
    let (tens, ones) = match word.split_once('-') {
        Some((tens, ones)) => (tens, number_in(&NUMBERS, ones).filter(|ones| *ones < 10)?),
        None => (word, 0),
    };
    Some((number_in(&TENS, tens)? + 1) * 10 + ones)
}

/// `24.12.`, `24.12`, `24.12.2026`.
fn read_dotted(word: &str) -> Option<Word> {
    let mut parts = word.splitn(3, '.');
    let mut number = || {
        let part = parts.next()?;
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
        part.parse::<u32>().ok().filter(|_| is_number)
    };
    let (day, month) = (number()?, number()?);
    match parts.next() {
        Some(year) if !year.is_empty() => {
            let is_year = year.len() == 4 && year.bytes().all(|it| it.is_ascii_digit());
            let year = year.parse().ok().filter(|_| is_year)?;
            NaiveDate::from_ymd_opt(year, month, day).map(Word::Date)
        }
        end => {
            // In a year that has all days.
            NaiveDate::from_ymd_opt(2000, month, day)?;
            Some(Word::Dotted(day, month, end.is_some()))
        }
    }
}

fn find_english(word: &str) -> Option<Word> {
    let has = |names: &str| names.split(' ').any(|name| name == word);
    let (_, found) = ENGLISH.iter().find(|(names, _)| has(names))?;
    Some(*found)
}

/// RFC 3339, or without the offset a local time.
fn read_instant(word: &str) -> Option<Word> {
    let word = word.to_ascii_uppercase();
    if let Ok(instant) = DateTime::parse_from_rfc3339(&word) {
        return Some(Word::Instant(instant.timestamp_millis()));
    }
    let (date, time) = word.split_once('T')?;
    let date: NaiveDate = date.parse().ok()?;
    Some(Word::Local(date.and_time(read_time(time)?)))
}

/// `1st`, `22nd`, `15th`.
fn read_nth(word: &str) -> Option<u32> {
    let endings = ["st", "nd", "rd", "th"];
    let number = endings.iter().find_map(|end| word.strip_suffix(end))?;
    number.parse().ok()
}

/// `7:30`, `07:30:15`, `7:30pm`, `7pm`.
fn read_time(word: &str) -> Option<NaiveTime> {
    let half = |suffix| word.strip_suffix(suffix);
    let (time, after_noon) = match (half("am"), half("pm")) {
        (Some(time), _) => (time, Some(false)),
        (_, Some(time)) => (time, Some(true)),
        _ => (word, None),
    };
    let mut parts = [0; 3];
    let mut count = 0;
    for text in time.split(':') {
        let is_number =
            (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        *parts.get_mut(count)? = text.parse().ok().filter(|_| is_number)?;
        count += 1;
    }
    if count == 1 && after_noon.is_none() {
        return None;
    }
    let [hour, minute, second] = parts;
    NaiveTime::from_hms_opt(hour_of_day(hour, after_noon)?, minute, second)
}

/// The hour of the day from 0, from one of twelve where it is said which half of the day is meant.
pub fn hour_of_day(hour: u32, after_noon: Option<bool>) -> Option<u32> {
    match after_noon {
        None => (hour < 24).then_some(hour),
        Some(after_noon) => (1..=12)
            .contains(&hour)
            .then_some(hour % 12 + if after_noon { 12 } else { 0 }),
    }
}

/// `20m`, `1h30m`, `1.5h`, `2d`.
fn read_duration(word: &str) -> Option<Duration> {
    let mut sum = Duration::default();
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (count, after) = rest.split_at_checked(digits)?;
        let (count, hundredths) = decimal(count)?;
        let letters = after.find(|char: char| !char.is_ascii_alphabetic());
        let (name, after) = after.split_at_checked(letters.unwrap_or(after.len()))?;
        let Some(Word::Unit(unit)) = find_english(name) else {
            return None;
        };
        sum = sum.plus(Duration::of(count, unit)?)?;
        sum = sum.plus(Duration::part(hundredths, unit))?;
        rest = after;
    }
    Some(sum)
}

fn read_chinese(text: &str) -> Option<(Word, usize)> {
    let all = CHINESE
        .iter()
        .flat_map(|(names, word)| names.split(' ').map(move |name| (name, word)));
    let known = all.filter(|(name, _)| text.starts_with(name));
    if let Some((name, word)) = known.max_by_key(|(name, _)| name.len()) {
        return Some((*word, name.len()));
    }
    if text.starts_with('，') {
        let (word, length) = read_word(text.strip_prefix('，')?)?;
        return Some((word, length + '，'.len_utf8()));
    }
    read_chinese_number(text).map(|(number, length)| (Word::Number(number), length))
}

/// A number up to 99, such as `七` or `二十五`.
fn read_chinese_number(text: &str) -> Option<(u32, usize)> {
    let digit = |char: char| match char {
        '零' => Some(0),
        '两' => Some(2),
        _ => "一二三四五六七八九"
            .chars()
            .position(|known| known == char)
            .and_then(|at| u32::try_from(at + 1).ok()),
    };
    let (mut number, mut tens, mut length) = (None, false, 0);
    for char in text.chars().take(3) {
        number = match (digit(char), number) {
            (Some(ones), None) => Some(ones),
            (Some(ones), Some(number)) if tens => {
                length += char.len_utf8();
                return Some((number + ones, length));
            }
            (None, _) if char == '十' && !tens => {
                tens = true;
                Some(number.unwrap_or(1) * 10)
            }
            _ => break,
        };
        length += char.len_utf8();
    }
    number.map(|number| (number, length))
}
