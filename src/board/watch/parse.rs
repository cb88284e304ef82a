//! PURE: rules as people type them, also on a phone: quotes may be curly, `>` may be a word.

mod near;
mod tokens;

use super::rule::{LEVELS, Quantity, Rule, Sound, Then, Told, What};
use super::texts;
use crate::base::language::Language;
use crate::base::limits::watch::SECONDS_MAX;
use crate::text::markup::{inline_code, plain};
use crate::text::{nearest, truncate_chars};
use tokens::{Word, tokens};

/// Bytes of a rule as it is typed: a shell line and a prompt have some hundreds.
const RULE_BYTES_MAX: usize = 2048;
/// Shortest time between two looks that a rule may ask for, in seconds.
const EVERY_SECONDS_MIN: u64 = 10;
/// The shortest for a command and the journal: each look is a process.
const COMMAND_EVERY_SECONDS_MIN: u64 = 30;
/// Shortest time between two repetitions of an alarm, in seconds.
const REPEAT_SECONDS_MIN: u64 = 60;
/// Bytes of a pattern.
const PATTERN_BYTES: usize = 512;
/// Bytes that a compiled pattern may hold.
const PATTERN_HELD_BYTES: usize = 64 * 1024;

/// How a rule is written where it is typed, for examples.
pub type Spelling = fn(&str) -> String;

/// A rule in a chat.
pub fn in_chat(rule: &str) -> String {
    format!("/watch {rule}")
}

/// A rule on the command line, where it is in quotes.
pub fn on_command_line(rule: &str) -> String {
    let quote = if rule.contains('\'') { '"' } else { '\'' };
    format!("peacrab watch add {quote}{rule}{quote}")
}

/// Reads a rule of a chat. The error says what is wrong, with an example of the nearest form, as Markdown.
pub fn parse(text: &str, language: Language) -> Result<Rule, String> {
    parse_spelled(text, in_chat, language)
}

/// The same, with the examples as they are written in another place.
pub fn parse_spelled(text: &str, spelling: Spelling, language: Language) -> Result<Rule, String> {
    if text.len() > RULE_BYTES_MAX {
        return Err(texts::too_long(language, &RULE_BYTES_MAX));
    }
    if text.contains('\0') || text.contains('\n') {
        return Err(texts::one_line(language).to_owned());
    }
    let (head, then) = split_then(text, spelling, language)?;
    let (mut words, is_closed) = tokens(head, false);
    if !is_closed {
        return Err(texts::open_quote(language).to_owned());
    }
    let Some(first) = words.first() else {
        return Err(texts::empty(language, &examples(spelling)));
    };
    let subject: String = first.text.to_lowercase();
    let name: &str = subject
        .split(['>', '<', '≥', '≤'])
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or(&subject);
    let rest = text.get(first.at + name.len()..);
    let row = Quantity::NAMES
        .iter()
        .position(|names| names.contains(&name));
    if row.is_some() {
        (words, _) = tokens(head, true);
    }
    let mut parser = Parser {
        rest: rest.unwrap_or_default(),
        words: words.into_iter().skip(1).collect(),
        at: 0,
        language,
        spelling,
        example: EXAMPLES
            .iter()
            .find(|(word, _)| *word == name)
            .map_or("", |(_, line)| line),
    };
    let what = match row {
        Some(row) => {
            parser.example = VALUE_EXAMPLES.get(row).copied().unwrap_or_default();
            parser.value(row)?
        }
        None => parser.other(name)?,
    };
    let mut rule = Rule {
        then,
        ..Rule::new(what)
    };
    while let Some(word) = parser.next() {
        parser.option(&mut rule, &word)?;
    }
    check_every(&rule, language)?;
    Ok(rule)
}

/// What can be watched, with an example of each.
const EXAMPLES: [(&str, &str); 10] = [
    // It has no percentage of its own.
    ("cpu", "load > 4 for 10m"),
    ("service", "service nginx"),
    ("host", "host 192.168.1.1 every 1m"),
    ("port", "port 443"),
    ("pid", "pid 1234"),
    ("process", "pid 1234"),
    ("file", "file /home/pi/app.log matches 'timed out'"),
    ("log", "log matches 'I/O error'"),
    ("cmd", "cmd 'test -e done' succeeds every 5m"),
    ("command", "cmd 'test -e done' succeeds every 5m"),
];

/// The same for the rows of [`Quantity::NAMES`].
const VALUE_EXAMPLES: [&str; 8] = [
    "temperature > 75 for 5m",
    "load > 4 for 10m",
    "memory > 90% for 5m",
    "swap > 50%",
    "disk / > 90%",
    "inodes / > 90%",
    "traffic > 5000 for 1m",
    "pressure > 20 for 1m",
];

/// A rule that does something.
const THEN_EXAMPLE: &str = "service nginx then run systemctl status nginx";

/// Some examples as code, for help.
pub fn examples(spelling: Spelling) -> String {
    let some = [
        "temperature > 75 for 5m",
        "disk / > 90%",
        "service nginx",
        "host 192.168.1.1",
        "port 443",
        "log matches 'I/O error'",
        "log nginx level err",
        "file /home/pi/app.log matches 'timed out'",
        "pid 1234",
        "cmd 'test -e done' succeeds every 5m",
    ];
    let lines = some.map(|line| format!("- {}", inline_code(&spelling(line))));
    lines.join("\n")
}

/// Cuts `then run …` and `then ask …` off, whose rest is taken as it is.
fn split_then(text: &str, spelling: Spelling, language: Language) -> Result<(&str, Then), String> {
    // A quote that is not closed may be in the rest.
    let (words, _) = tokens(text, false);
    let is_then = |word: &&Word| !word.is_quoted && word.text.eq_ignore_ascii_case("then");
    let Some(then) = words.iter().find(is_then) else {
        return Ok((text, Then::Tell));
    };
    let head = text.get(..then.at).unwrap_or_default();
    let rest = text
        .get(then.at + "then".len()..)
        .unwrap_or_default()
        .trim();
    let (verb, what) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let what = what.trim().to_owned();
    match verb.to_lowercase().as_str() {
        "run" if !what.is_empty() => Ok((head, Then::Run(what))),
        "ask" if !what.is_empty() => Ok((head, Then::Ask(what))),
        "tell" if what.is_empty() => Ok((head, Then::Tell)),
        _ => {
            let example = inline_code(&spelling(THEN_EXAMPLE));
            Err(texts::wrong_then(language, &example))
        }
    }
}

/// Reads the words after the first.
struct Parser<'a> {
    words: Vec<Word>,
    /// All that is typed behind the first word.
    rest: &'a str,
    at: usize,
    language: Language,
    spelling: Spelling,
    example: &'static str,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<Word> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    /// Takes the next word if it is one of these.
    fn skip(&mut self, names: &[&str]) -> bool {
        let is_it = self.words.get(self.at).is_some_and(|word| {
            !word.is_quoted && names.contains(&word.text.to_lowercase().as_str())
        });
        self.at += usize::from(is_it);
        is_it
    }

    fn example(&self) -> String {
        inline_code(&(self.spelling)(self.example))
    }

    fn wrong(&self, word: &str) -> String {
        let word = inline_code(truncate_chars(word, 60));
        texts::not_understood(self.language, &word, &self.example())
    }

    fn missing(&self) -> String {
        texts::incomplete(self.language, &self.example())
    }

    fn value(&mut self, row: usize) -> Result<What, String> {
        let mut path = None;
        let can_have_path = matches!(row, 4 | 5);
        if can_have_path
            && let Some(word) = self.words.get(self.at)
            && (word.is_quoted || word.text.starts_with('/'))
        {
            path = Some(word.text.clone());
            self.at += 1;
            if !path.as_deref().unwrap_or_default().starts_with('/') {
                return Err(texts::not_absolute(self.language).to_owned());
            }
        }
        let word = self.next().ok_or_else(|| self.missing())?;
        let is_over = match word.text.to_lowercase().as_str() {
            ">" | ">=" | "≥" | "=>" | "over" | "above" | "exceeds" => true,
            "<" | "<=" | "≤" | "=<" | "under" | "below" => false,
            _ => return Err(self.wrong(&word.text)),
        };
        let threshold = self.number()?;
        let back = match self.skip(&["back"]) {
            true => Some(self.number()?),
            false => None,
        };
        if back.is_some_and(|back| (is_over && back > threshold) || (!is_over && back < threshold))
        {
            return Err(texts::wrong_back(self.language).to_owned());
        }
        let quantity = Quantity::of_row(row, path).ok_or_else(|| self.missing())?;
        Ok(What::Value {
            quantity,
            is_over,
            threshold,
            back,
        })
    }

    /// A number with or without its unit.
    fn number(&mut self) -> Result<f64, String> {
        const LARGEST: f64 = 1e9;
        let word = self.next().ok_or_else(|| self.missing())?;
        let digits = word.text.trim_end_matches(|char: char| {
            matches!(char, '%' | '°' | 'C' | 'c' | '℃') || char.is_whitespace()
        });
        let is_number = |text: &str| {
            text.chars()
                .all(|char| char.is_ascii_digit() || matches!(char, '.' | ',' | '-'))
        };
        let number = Some(digits).filter(|digits| is_number(digits));
        let number: Option<f64> = number.and_then(|digits| digits.replace(',', ".").parse().ok());
        // A unit may be a word of its own.
        self.skip(&["%", "°c", "c", "kb/s", "degrees"]);
        let number = number.filter(|number| number.abs() <= LARGEST);
        number.ok_or_else(|| self.wrong(&word.text))
    }

    fn other(&mut self, name: &str) -> Result<What, String> {
        match name {
            "service" | "unit" => self.service(),
            "host" | "ping" => self.host(),
            "port" => self.port(),
            "pid" | "process" => {
                let word = self.next().ok_or_else(|| self.missing())?;
                let pid = word.text.parse::<u32>().ok();
                let pid = pid.filter(|pid| (1..=i32::MAX as u32).contains(pid));
                pid.map(What::Pid).ok_or_else(|| self.wrong(&word.text))
            }
            // A log by its path is a file.
            "log"
                if !self
                    .words
                    .first()
                    .is_some_and(|word| word.text.starts_with('/')) =>
            {
                self.log()
            }
            "file" | "log" => self.file(),
            "cmd" | "command" => self.command(),
            _ => Err(self.unknown(name)),
        }
    }

    fn service(&mut self) -> Result<What, String> {
        let word = self.next().ok_or_else(|| self.missing())?;
        let other_kind = [".timer", ".socket", ".mount", ".target", ".path", ".slice"];
        if other_kind.iter().any(|end| word.text.ends_with(end)) {
            return Err(texts::only_services(self.language).to_owned());
        }
        self.unit(&word).map(What::Service)
    }

    /// The name of a unit, without the ending of a service.
    fn unit(&self, word: &Word) -> Result<String, String> {
        let name = word.text.strip_suffix(".service").unwrap_or(&word.text);
        let is_part = |char: char| char.is_ascii_alphanumeric() || "-_.@:\\".contains(char);
        let is_unit = !name.is_empty()
            && name.len() <= 200
            && !name.starts_with(['.', '-'])
            && name.chars().all(is_part);
        if !is_unit {
            return Err(self.wrong(&word.text));
        }
        Ok(name.to_owned())
    }

    /// Lines of the journal: of a unit or of all, from a level on, with a pattern. A rule for each line is none.
    fn log(&mut self) -> Result<What, String> {
        let begins = |word: &Word| {
            let text = word.text.to_lowercase();
            word.is_quoted || text == "level" || MATCHES.contains(&text.as_str())
        };
        let unit = match self.words.get(self.at) {
            Some(word) if !begins(word) => {
                let unit = self.unit(&word.clone())?;
                self.at += 1;
                Some(unit)
            }
            _ => None,
        };
        let (mut level, mut pattern) = (None, None);
        loop {
            if level.is_none() && self.skip(&["level"]) {
                level = Some(self.level()?);
            } else if pattern.is_none() && self.skip(&MATCHES) {
                pattern = Some(self.pattern(&["level"])?);
            } else {
                break;
            }
        }
        if level.is_some() || pattern.is_some() {
            Ok(What::Log {
                unit,
                level,
                pattern,
            })
        } else {
            Err(self.missing())
        }
    }

    /// A level of the journal, by its name or number.
    fn level(&mut self) -> Result<usize, String> {
        let word = self.next().ok_or_else(|| self.missing())?;
        let name = match word.text.to_lowercase().as_str() {
            "error" | "errors" => "err".to_owned(),
            "warn" | "warnings" => "warning".to_owned(),
            "critical" => "crit".to_owned(),
            "emergency" | "panic" => "emerg".to_owned(),
            other => other.to_owned(),
        };
        let number = name.parse().ok().filter(|number| *number < LEVELS.len());
        let level = number.or_else(|| LEVELS.iter().position(|level| *level == name));
        level.ok_or_else(|| {
            let word = inline_code(truncate_chars(&word.text, 60));
            texts::wrong_level(self.language, &word, &LEVELS.join(", "))
        })
    }

    fn host(&mut self) -> Result<What, String> {
        let word = self.next().ok_or_else(|| self.missing())?;
        let host = self.host_name(&word)?;
        let has_port = self.skip(&["port"]);
        if has_port {
            self.example = "host 192.168.1.1 port 22";
        }
        let port = match has_port {
            true => Some(self.port_number()?),
            false => None,
        };
        Ok(What::Host { host, port })
    }

    fn host_name(&self, word: &Word) -> Result<String, String> {
        let is_part = |char: char| char.is_ascii_alphanumeric() || "-_.:".contains(char);
        let text = word.text.trim_matches(['[', ']']);
        let is_name = !text.is_empty() && text.len() <= 253 && text.chars().all(is_part);
        if is_name && !text.starts_with('-') {
            Ok(text.to_owned())
        } else {
            Err(self.wrong(&word.text))
        }
    }

    fn port_number(&mut self) -> Result<u16, String> {
        let word = self.next().ok_or_else(|| self.missing())?;
        let port = word.text.parse::<u16>().ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.wrong(&word.text))
    }

    fn port(&mut self) -> Result<What, String> {
        let port = self.port_number()?;
        if !self.skip(&["on", "at"]) {
            return Ok(What::Port(port));
        }
        let word = self.next().ok_or_else(|| self.missing())?;
        let host = self.host_name(&word)?;
        Ok(What::Host {
            host,
            port: Some(port),
        })
    }

    fn file(&mut self) -> Result<What, String> {
        let path = self.next().ok_or_else(|| self.missing())?.text;
        if !path.starts_with('/') {
            return Err(texts::not_absolute(self.language).to_owned());
        }
        if !self.skip(&MATCHES) {
            return Err(self.missing());
        }
        let pattern = self.pattern(&[])?;
        Ok(What::File { path, pattern })
    }

    /// A regular expression, after which comes an option, one of some words, or nothing.
    fn pattern(&mut self, others: &[&str]) -> Result<String, String> {
        let pattern = self.next().ok_or_else(|| self.missing())?.text;
        if let Err(error) = compile(&pattern) {
            let pattern = inline_code(truncate_chars(&pattern, 60));
            return Err(texts::wrong_pattern(
                self.language,
                &pattern,
                &plain(&error),
            ));
        }
        let after = self.words.get(self.at).map(|word| word.text.to_lowercase());
        match after.as_deref() {
            Some(word) if !OPTIONS.contains(&word) && !others.contains(&word) => {
                Err(texts::pattern_in_quotes(self.language, &self.example()))
            }
            _ => Ok(pattern),
        }
    }

    fn command(&mut self) -> Result<What, String> {
        let word = self.next().ok_or_else(|| self.missing())?;
        let line = word.text.trim().to_owned();
        let is_option = |word: &Word| {
            let text = word.text.to_lowercase();
            OPTIONS.contains(&text.as_str()) || OUTCOMES.contains(&text.as_str())
        };
        if !word.is_quoted && self.words.get(self.at).is_some_and(|word| !is_option(word)) {
            return Err(texts::command_in_quotes(self.language, &self.example()));
        }
        if line.is_empty() {
            return Err(self.missing());
        }
        let told = if self.skip(&["fails", "fail"]) {
            Told::Both
        } else if self.skip(&["succeeds", "succeed", "works"]) {
            Told::Success
        } else {
            self.skip(&["changes", "change"]);
            Told::Changes
        };
        Ok(What::Command { line, told })
    }

    fn option(&mut self, rule: &mut Rule, word: &Word) -> Result<(), String> {
        let place = match word.text.to_lowercase().as_str() {
            "for" => &mut rule.hold,
            "every" => &mut rule.every,
            "repeat" => &mut rule.repeat,
            "quiet" | "silent" => {
                rule.sound = Sound::Quiet;
                return Ok(());
            }
            "loud" => {
                rule.sound = Sound::Loud;
                return Ok(());
            }
            other => {
                let near = nearest(other, OPTIONS.into_iter());
                let word = inline_code(truncate_chars(&word.text, 60));
                return Err(match near {
                    Some(near) => texts::unknown_option_near(self.language, &word, &near),
                    None => texts::unknown_option(self.language, &word, &self.example()),
                });
            }
        };
        let time = self.next().ok_or_else(|| self.missing())?;
        let mut text = time.text.clone();
        // `5 min` is two words.
        if let Some(unit) = self.words.get(self.at)
            && text.chars().all(|char| char.is_ascii_digit())
            && seconds(&format!("1{}", unit.text)).is_some()
        {
            text += &unit.text;
            self.at += 1;
        }
        let read = seconds(&text).filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
        let read = read.ok_or_else(|| {
            let time = inline_code(truncate_chars(&text, 60));
            texts::wrong_time(self.language, &time)
        })?;
        *place = Some(read);
        Ok(())
    }
}

/// The words that begin an option.
const OPTIONS: [&str; 5] = ["for", "every", "repeat", "quiet", "loud"];
/// The words before a pattern.
const MATCHES: [&str; 4] = ["matches", "match", "contains", "has"];
/// The words after a command.
const OUTCOMES: [&str; 7] = [
    "fails", "fail", "succeeds", "succeed", "works", "changes", "change",
];

/// Reads a time such as `90s`, `5m`, `1h30m`, `5min` or `2d`, in seconds; a number alone is refused.
pub fn seconds(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit())?;
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let end = rest
            .find(|char: char| char.is_ascii_digit())
            .unwrap_or(rest.len());
        let length = match rest.get(..end)?.trim().to_lowercase().as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" | "秒" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" | "分" | "分钟" => 60,
            "h" | "hr" | "hour" | "hours" | "小时" => 3600,
            "d" | "day" | "days" | "天" => 86_400,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(length)?)?;
        rest = rest.get(end..)?;
    }
    (!text.trim().is_empty()).then_some(total)
}

/// The regular expression of a file's rule. Bounded in size, and its matching in time.
pub fn compile(pattern: &str) -> Result<regex_lite::Regex, String> {
    if pattern.is_empty() || pattern.len() > PATTERN_BYTES {
        return Err(format!("1 - {PATTERN_BYTES} bytes"));
    }
    let built = regex_lite::RegexBuilder::new(pattern)
        .size_limit(PATTERN_HELD_BYTES)
        .build();
    built.map_err(|error| error.to_string())
}

fn check_every(rule: &Rule, language: Language) -> Result<(), String> {
    let least = match rule.what {
        What::Command { .. } | What::Log { .. } => COMMAND_EVERY_SECONDS_MIN,
        _ => EVERY_SECONDS_MIN,
    };
    if rule.every.is_some_and(|every| every < least) {
        return Err(texts::too_often(language, &least));
    }
    if rule
        .repeat
        .is_some_and(|repeat| repeat < REPEAT_SECONDS_MIN)
    {
        return Err(texts::repeats_too_often(language, &REPEAT_SECONDS_MIN));
    }
    Ok(())
}
