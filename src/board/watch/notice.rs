//! PURE: a notice, as a value that survives a restart and as the text of a message.

use serde::{Deserialize, Serialize};

use super::FLAP_CALM_MS;
use super::judge::{Event, Moment};
use super::rule::{Quantity, Rule, What};
use super::texts;
use crate::base::language::Language;
use crate::text::markup::{inline_code, plain};
use crate::text::{ellipsize_chars, reveal};

/// Characters of a line that a message shows.
const LINE_CHARS: usize = 300;

/// What is watched.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// By a rule.
    Rule(Rule),
    /// By the program itself, what no rule can say.
    BuiltIn(BuiltIn),
}

/// What is watched without a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// The voltage is too low.
    UnderVoltage,
    /// The processor is throttled.
    Throttling,
    /// A file system has become read-only.
    ReadOnly,
    /// The kernel has ended a process because there was no memory.
    OutOfMemory,
    /// Services of systemd have failed.
    Units,
    /// The clock cannot be trusted.
    Clock,
    /// The board has a new address.
    Address,
    /// A person has logged in over ssh.
    Login,
}

/// What happened to a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// An alarm.
    Raised,
    /// It lasts.
    Repeated,
    /// It is over.
    Recovered,
    /// Something has happened, which is not over at any time.
    Seen,
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// What it is.
    pub kind: Kind,
    /// When it was.
    pub at: Moment,
    /// The value.
    #[serde(default)]
    pub value: f64,
    /// The worst value.
    #[serde(default)]
    pub peak: f64,
    /// How long it has lasted, in milliseconds.
    #[serde(default)]
    pub lasted_ms: Option<i64>,
    /// Whether it comes and goes.
    #[serde(default)]
    pub flaps: bool,
    /// How many times it has happened.
    #[serde(default)]
    pub count: u32,
    /// Details: a line, a name, the end of a command. Untrusted.
    #[serde(default)]
    pub note: String,
}

impl Notice {
    /// What an event of a tracker tells.
    pub fn of(event: Event, at: Moment, note: &str) -> Self {
        let (kind, value, peak, lasted_ms, flaps) = match event {
            Event::Raised {
                value,
                held_ms,
                flaps,
            } => (Kind::Raised, value, value, Some(held_ms), flaps),
            Event::Repeated {
                value,
                lasted_ms,
                peak,
            } => (Kind::Repeated, value, peak, lasted_ms, false),
            Event::Recovered {
                value,
                lasted_ms,
                peak,
            } => (Kind::Recovered, value, peak, lasted_ms, false),
        };
        Self {
            kind,
            at,
            value,
            peak,
            lasted_ms,
            flaps,
            count: 1,
            note: note.to_owned(),
        }
    }

    /// Something that has happened so many times, at last this.
    pub fn seen(at: Moment, count: u32, note: String) -> Self {
        Self {
            kind: Kind::Seen,
            at,
            value: 0.0,
            peak: 0.0,
            lasted_ms: None,
            flaps: false,
            count,
            note,
        }
    }

    /// What makes its message the same as another: told again after a kill, it is not sent again.
    pub fn once(&self, key: &str) -> String {
        let Moment {
            up_ms,
            wall_ms,
            boot,
        } = self.at;
        // An alarm and its end may come at the same moment.
        format!("watch:{key}:{wall_ms}:{boot:x}:{up_ms}:{:?}", self.kind)
    }

    /// The message, as Markdown.
    pub fn describe(&self, subject: &Subject, language: Language) -> String {
        let mut text = match subject {
            Subject::Rule(rule) => self.describe_rule(rule, language),
            Subject::BuiltIn(built_in) => self.describe_built_in(*built_in, language),
        };
        if self.flaps {
            text += language.sentence_space();
            text += &texts::flaps(language, &(FLAP_CALM_MS / 60_000));
        }
        text
    }

    fn describe_rule(&self, rule: &Rule, language: Language) -> String {
        let good = self.kind == Kind::Recovered;
        let text = match &rule.what {
            What::Value { quantity, .. } => return self.describe_value(rule, quantity, language),
            What::File { path, .. } => return self.describe_lines(&plain(path), language),
            What::Log { unit, .. } => {
                let unit = unit.as_deref().map(plain);
                let name = unit.unwrap_or_else(|| texts::journal(language).to_owned());
                return self.describe_lines(&name, language);
            }
            What::Pid(pid) => {
                let name = match self.note.as_str() {
                    "" => pid.to_string(),
                    name => format!("{} ({pid})", plain(&reveal(name))),
                };
                return self.with_span(texts::pid_ended(language, &name), language);
            }
            What::Service(name) if good => texts::service_up(language, &plain(name)),
            What::Service(name) => texts::service_down(language, &plain(name)),
            What::Host { host, port } => {
                let name = match port {
                    Some(port) => format!("{}:{port}", plain(host)),
                    None => plain(host),
                };
                if good {
                    texts::host_up(language, &name)
                } else {
                    texts::host_down(language, &name)
                }
            }
            What::Port(port) if good => texts::port_up(language, port),
            What::Port(port) => texts::port_down(language, port),
            What::Command { line, told } => {
                let line = inline_code(&ellipsize_chars(line, LINE_CHARS));
                // Of a command whose success is told, that is the alarm.
                let succeeds = good != (*told == super::rule::Told::Success);
                let mut text = match succeeds {
                    true => texts::command_works(language, &line),
                    false => texts::command_fails(language, &line),
                };
                if !self.note.is_empty() {
                    text += language.sentence_space();
                    text += &inline_code(&ellipsize_chars(&self.note, LINE_CHARS));
                }
                text
            }
        };
        let text = match self.kind {
            Kind::Repeated => texts::still(language, &text),
            _ => text,
        };
        self.with_span(text, language)
    }

    /// Lines of a file or of the journal.
    fn describe_lines(&self, name: &str, language: Language) -> String {
        let line = reveal(&self.note);
        let line = inline_code(&ellipsize_chars(&line, LINE_CHARS));
        match self.count {
            0 | 1 => texts::line(language, &name, &line),
            count => texts::lines(language, &name, &count, &line),
        }
    }

    /// The text with how long it has lasted, where that is worth a word.
    fn with_span(&self, text: String, language: Language) -> String {
        let span = self.lasted_ms.filter(|span| *span >= 1000);
        let open = text.trim_end_matches(['.', '。']);
        match (span, self.kind) {
            (Some(span), Kind::Recovered) => {
                texts::after(language, &open, &format_span(span, language))
            }
            (Some(span), _) => texts::since(language, &open, &format_span(span, language)),
            (None, _) => text,
        }
    }

    fn describe_value(&self, rule: &Rule, quantity: &Quantity, language: Language) -> String {
        let What::Value {
            is_over, threshold, ..
        } = &rule.what
        else {
            return String::new();
        };
        let name = name_of(quantity, language);
        let format = |value: f64| quantity.format(value);
        let span = self.lasted_ms.filter(|span| *span >= 1000);
        let span = span.map(|span| format_span(span, language));
        match self.kind {
            Kind::Recovered => match span {
                Some(span) => {
                    let (value, peak) = (format(self.value), format(self.peak));
                    texts::value_back_after(language, &name, &value, &span, &peak)
                }
                None => texts::value_back(language, &name, &format(self.value), &format(self.peak)),
            },
            Kind::Repeated => {
                let (value, peak) = (format(self.value), format(self.peak));
                let text = texts::value_still(language, &icon_of(quantity), &name, &value, &peak);
                self.with_span(text, language)
            }
            Kind::Raised | Kind::Seen => {
                let why = match (is_over, span) {
                    (true, Some(span)) => texts::over_for(language, threshold, &span),
                    (true, None) => texts::over(language, threshold),
                    (false, Some(span)) => texts::under_for(language, threshold, &span),
                    (false, None) => texts::under(language, threshold),
                };
                let value = format(self.value);
                texts::value(language, &icon_of(quantity), &name, &value, &why)
            }
        }
    }

    fn describe_built_in(&self, built_in: BuiltIn, language: Language) -> String {
        let good = self.kind == Kind::Recovered;
        let note = plain(&reveal(&ellipsize_chars(&self.note, LINE_CHARS)));
        let text = match (built_in, good) {
            (BuiltIn::UnderVoltage, false) => texts::undervoltage(language).to_owned(),
            (BuiltIn::UnderVoltage, true) => texts::undervoltage_over(language).to_owned(),
            (BuiltIn::Throttling, false) => texts::throttled(language).to_owned(),
            (BuiltIn::Throttling, true) => texts::throttled_over(language).to_owned(),
            (BuiltIn::ReadOnly, false) => texts::read_only(language, &note),
            (BuiltIn::ReadOnly, true) => texts::read_only_over(language, &note),
            (BuiltIn::OutOfMemory, _) if self.count == 1 => {
                texts::out_of_memory_once(language).to_owned()
            }
            (BuiltIn::OutOfMemory, _) => texts::out_of_memory(language, &self.count),
            (BuiltIn::Units, false) => texts::units_failed(language, &note),
            (BuiltIn::Units, true) => texts::units_fine(language).to_owned(),
            (BuiltIn::Clock, false) => texts::no_clock(language).to_owned(),
            (BuiltIn::Clock, true) => texts::clock_set(language).to_owned(),
            (BuiltIn::Address, _) => texts::new_address(language, &note),
            (BuiltIn::Login, _) => {
                let text = match self.note.split_once('@') {
                    Some((user, host)) => {
                        let part = |part: &str| plain(&reveal(&ellipsize_chars(part, LINE_CHARS)));
                        texts::login_from(language, &part(user), &part(host))
                    }
                    None => texts::login(language, &note),
                };
                match self.count {
                    0 | 1 => text,
                    count => texts::more_like_this(language, &text, &count),
                }
            }
        };
        if good {
            self.with_span(text, language)
        } else {
            text
        }
    }
}

/// The name of a quantity for people, as Markdown.
pub fn name_of(quantity: &Quantity, language: Language) -> String {
    let path = || quantity.path().map(plain);
    match quantity {
        Quantity::Temperature => texts::temperature(language).to_owned(),
        Quantity::Load => texts::load(language).to_owned(),
        Quantity::Memory => texts::memory(language).to_owned(),
        Quantity::Swap => texts::swap(language).to_owned(),
        Quantity::Disk(_) => path().map_or_else(
            || texts::home_disk(language).to_owned(),
            |path| texts::disk(language, &path),
        ),
        Quantity::Inodes(_) => path().map_or_else(
            || texts::home_inodes(language).to_owned(),
            |path| texts::inodes(language, &path),
        ),
        Quantity::Traffic => texts::traffic(language).to_owned(),
        Quantity::Pressure => texts::pressure(language).to_owned(),
    }
}

fn icon_of(quantity: &Quantity) -> &'static str {
    match quantity {
        Quantity::Temperature => "🌡",
        Quantity::Load | Quantity::Pressure => "📈",
        Quantity::Memory | Quantity::Swap => "🧠",
        Quantity::Disk(_) | Quantity::Inodes(_) => "💾",
        Quantity::Traffic => "📶",
    }
}

/// A span in its largest unit, and in the next one where that is not zero.
pub fn format_span(ms: i64, language: Language) -> String {
    let seconds = ms.max(0) / 1000;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    let minutes_text = || texts::minutes(language, &minutes);
    let parts = match (days, hours, minutes) {
        (0, 0, 0) => [Some(texts::seconds(language, &rest)), None],
        (0, 0, minutes) if minutes < 5 => [
            Some(minutes_text()),
            (rest > 0).then(|| texts::seconds(language, &rest)),
        ],
        (0, 0, _) => [Some(minutes_text()), None],
        (0, hours, minutes) => [
            Some(texts::hours(language, &hours)),
            (minutes > 0).then(minutes_text),
        ],
        (days, hours, _) => [
            Some(texts::days(language, &days)),
            (hours > 0).then(|| texts::hours(language, &hours)),
        ],
    };
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
