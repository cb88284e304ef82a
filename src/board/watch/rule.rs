//! PURE: a rule as a value, and as the text that people type and the file keeps.

use std::fmt::{self, Write};

use super::judge::Criterion;
use crate::base::limits::watch::{EVENT_EVERY_SECONDS, GAP_INTERVALS, VALUE_EVERY_SECONDS};

/// Seconds between two looks at a host that answers.
const HOST_EVERY_SECONDS: u64 = 60;
/// Seconds between two runs of a command.
const COMMAND_EVERY_SECONDS: u64 = 300;
/// Seconds between two looks at the journal: each starts `journalctl`.
const LOG_EVERY_SECONDS: u64 = 60;
/// The levels of the journal, from the most to the least urgent, as journalctl names them (syslog(3)).
pub const LEVELS: [&str; 8] = [
    "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
];
/// How long a service may be away, in seconds: a restart is no alarm.
const SERVICE_HOLD_SECONDS: u64 = 5;
/// How far a value has to go back below its threshold to count as normal again, in percent of it.
const HYSTERESIS_PERCENT: f64 = 5.0;

/// What is watched, when that is an alarm, and what happens then. [`parse`](super::parse::parse) reads it from a
/// text, and `Display` writes one that reads as the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What is watched.
    pub what: What,
    /// How long it has to last, in seconds; `None`: the usual time of its kind.
    pub hold: Option<u64>,
    /// Seconds between two looks; `None`: the usual time of its kind.
    pub every: Option<u64>,
    /// Seconds after which an alarm that lasts is told again; `None`: never.
    pub repeat: Option<u64>,
    /// Whether messages make a sound.
    pub sound: Sound,
    /// What happens besides the message.
    pub then: Then,
}

/// What is watched.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A value of the board.
    Value {
        /// Which one.
        quantity: Quantity,
        /// Whether it is too large or too small beyond the threshold.
        is_over: bool,
        /// The threshold.
        threshold: f64,
        /// Where it is normal again; `None`: `HYSTERESIS_PERCENT` of the threshold back.
        back: Option<f64>,
    },
    /// Whether a service of systemd runs, such as `nginx`.
    Service(String),
    /// Whether a host answers: on a port, else to a ping.
    Host {
        /// Its name or address.
        host: String,
        /// The port.
        port: Option<u16>,
    },
    /// Whether something listens on a port of this board.
    Port(u16),
    /// When a process ends.
    Pid(u32),
    /// Lines of a file that match a pattern.
    File {
        /// Its path.
        path: String,
        /// The regular expression.
        pattern: String,
    },
    /// Lines of the system's journal.
    Log {
        /// The unit that they are of, or `kernel`; `None`: any.
        unit: Option<String>,
        /// The least urgent level that counts, as an index of [`LEVELS`]; `None`: any.
        level: Option<usize>,
        /// The regular expression; `None`: any line.
        pattern: Option<String>,
    },
    /// What a command of the sandbox comes to.
    Command {
        /// The line for `sh -c`.
        line: String,
        /// What is told.
        told: Told,
    },
}

/// What is told about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// When it fails, and when it succeeds again.
    Both,
    /// The same, but the first outcome is not news.
    Changes,
    /// When it succeeds.
    Success,
}

/// A value of the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The hottest sensor, in degrees Celsius.
    Temperature,
    /// The load of one minute.
    Load,
    /// Memory in use, in percent.
    Memory,
    /// Swap in use, in percent.
    Swap,
    /// Space in use on the file system with a path, else with the home, in percent.
    Disk(Option<String>),
    /// The same for inodes.
    Inodes(Option<String>),
    /// What goes over the network, in kilobytes a second.
    Traffic,
    /// Time in which all tasks wait for memory, in percent.
    Pressure,
}

/// Whether messages make a sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sound {
    /// Outside of the quiet hours.
    #[default]
    Usual,
    /// Never.
    Quiet,
    /// Always.
    Loud,
}

/// What happens besides the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    #[default]
    Tell,
    /// A command runs in the sandbox.
    Run(String),
    /// The agent gets a prompt.
    Ask(String),
}

impl Quantity {
    /// The names with which it can be typed; the first one is shown. The number of the variant is its row.
    pub const NAMES: [&'static [&'static str]; 8] = [
        &["temperature", "temp", "温度"],
        &["load", "负载"],
        &["memory", "mem", "ram", "内存"],
        &["swap"],
        &["disk", "磁盘"],
        &["inodes"],
        &["traffic", "network", "流量"],
        &["pressure"],
    ];

    /// The quantity of a row of [`Self::NAMES`].
    pub fn of_row(row: usize, path: Option<String>) -> Option<Self> {
        Some(match row {
            0 => Self::Temperature,
            1 => Self::Load,
            2 => Self::Memory,
            3 => Self::Swap,
            4 => Self::Disk(path),
            5 => Self::Inodes(path),
            6 => Self::Traffic,
            7 => Self::Pressure,
            _ => return None,
        })
    }

    fn row(&self) -> usize {
        match self {
            Self::Temperature => 0,
            Self::Load => 1,
            Self::Memory => 2,
            Self::Swap => 3,
            Self::Disk(_) => 4,
            Self::Inodes(_) => 5,
            Self::Traffic => 6,
            Self::Pressure => 7,
        }
    }

    /// Its name, such as `temperature`.
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.row()].first().copied().unwrap_or_default()
    }

    /// The path that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Disk(path) | Self::Inodes(path) => path.as_deref(),
            _ => None,
        }
    }

    /// What follows a number of it.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Temperature => " °C",
            Self::Load => "",
            Self::Traffic => " kB/s",
            _ => " %",
        }
    }

    /// A value for people, such as `78 °C`.
    pub fn format(&self, value: f64) -> String {
        let digits = match self {
            Self::Load => 2,
            Self::Temperature if value.fract() != 0.0 => 1,
            _ => 0,
        };
        format!("{value:.digits$}{}", self.unit())
    }
}

impl Rule {
    /// A rule without options.
    pub fn new(what: What) -> Self {
        Self {
            what,
            hold: None,
            every: None,
            repeat: None,
            sound: Sound::default(),
            then: Then::default(),
        }
    }

    /// Seconds between two looks.
    pub fn interval(&self) -> u64 {
        self.every.unwrap_or(match &self.what {
            What::Value { .. } => VALUE_EVERY_SECONDS,
            What::Host { .. } | What::Port(_) => HOST_EVERY_SECONDS,
            What::Log { .. } => LOG_EVERY_SECONDS,
            What::Command { .. } => COMMAND_EVERY_SECONDS,
            What::Service(_) | What::Pid(_) | What::File { .. } => EVENT_EVERY_SECONDS,
        })
    }

    /// Seconds for which it has to last.
    pub fn hold_seconds(&self) -> u64 {
        self.hold.unwrap_or(match &self.what {
            What::Service(_) => SERVICE_HOLD_SECONDS,
            _ => 0,
        })
    }

    /// When it is an alarm. What is either so or not counts as 1 when it is bad and as 0 when it is good.
    pub fn criterion(&self) -> Criterion {
        let (is_over, threshold, back) = match &self.what {
            What::Value {
                is_over,
                threshold,
                back,
                ..
            } => {
                let usual = threshold.abs() * HYSTERESIS_PERCENT / 100.0;
                let sign = if *is_over { -1.0 } else { 1.0 };
                (
                    *is_over,
                    *threshold,
                    back.unwrap_or(threshold + sign * usual),
                )
            }
            _ => (true, 0.5, 0.5),
        };
        Criterion {
            is_over,
            threshold,
            back,
            hold_ms: millis(self.hold_seconds()),
            repeat_ms: self.repeat.map(millis),
            gap_ms: millis(self.interval()).saturating_mul(GAP_INTERVALS),
        }
    }
}

/// Seconds in milliseconds.
pub fn millis(seconds: u64) -> i64 {
    i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// A time as it is typed, in its largest unit without a remainder: `90s`, `5m`, `2h`, `1d`.
pub fn format_seconds(seconds: u64) -> String {
    for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)] {
        if seconds > 0 && seconds.is_multiple_of(length) {
            return format!("{}{unit}", seconds / length);
        }
    }
    format!("{seconds}s")
}

/// A text as one word of a rule: in quotes unless it can be read without.
pub fn quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-@+:,%^$*?".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if text.contains('\'') {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("'{text}'")
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Value {
                quantity,
                is_over,
                threshold,
                back,
            } => {
                f.write_str(quantity.name())?;
                if let Some(path) = quantity.path() {
                    write!(f, " {}", quoted(path))?;
                }
                let sign = if *is_over { '>' } else { '<' };
                let unit = quantity.unit().trim_start();
                let unit = if unit == "%" { unit } else { "" };
                write!(f, " {sign} {threshold}{unit}")?;
                if let Some(back) = back {
                    write!(f, " back {back}{unit}")?;
                }
            }
            What::Service(unit) => write!(f, "service {}", quoted(unit))?,
            What::Host { host, port } => {
                write!(f, "host {}", quoted(host))?;
                if let Some(port) = port {
                    write!(f, " port {port}")?;
                }
            }
            What::Port(port) => write!(f, "port {port}")?,
            What::Pid(pid) => write!(f, "pid {pid}")?,
            What::File { path, pattern } => {
                write!(f, "file {} matches {}", quoted(path), quoted(pattern))?;
            }
            What::Log {
                unit,
                level,
                pattern,
            } => {
                f.write_str("log")?;
                if let Some(unit) = unit {
                    write!(f, " {unit}")?;
                }
                if let Some(level) = level.and_then(|level| LEVELS.get(level)) {
                    write!(f, " level {level}")?;
                }
                if let Some(pattern) = pattern {
                    write!(f, " matches {}", quoted(pattern))?;
                }
            }
            What::Command { line, told } => {
                write!(f, "cmd {}", quoted(line))?;
                match told {
                    Told::Changes => {}
                    Told::Both => f.write_str(" fails")?,
                    Told::Success => f.write_str(" succeeds")?,
                }
            }
        }
        for (word, seconds) in [
            ("for", self.hold),
            ("every", self.every),
            ("repeat", self.repeat),
        ] {
            if let Some(seconds) = seconds {
                write!(f, " {word} {}", format_seconds(seconds))?;
            }
        }
        match self.sound {
            Sound::Usual => {}
            Sound::Quiet => f.write_str(" quiet")?,
            Sound::Loud => f.write_str(" loud")?,
        }
        match &self.then {
            Then::Tell => Ok(()),
            Then::Run(line) => write!(f, " then run {line}"),
            Then::Ask(prompt) => write!(f, " then ask {prompt}"),
        }
    }
}

/// A rule without what follows the alarm: for lists.
pub fn summary(rule: &Rule) -> String {
    let mut text = String::new();
    let plain = Rule {
        then: Then::Tell,
        ..rule.clone()
    };
    // Writing to a string does not fail.
    let _ = write!(text, "{plain}");
    text
}
