//! The log on standard error: one line an event, without secrets, bounded.
//!
//! error: given up. warn: got around. info: what was done. debug: how. trace: all. Never logged, at
//! no level: keys, the texts of people and models, the contents of files.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::print;
use crate::base::clock::Clock;
use crate::base::secret::Eraser;
use crate::base::sync::Mutex;
use crate::config::schema::{LogFormat, LogLevel};
use crate::text::{ellipsize_bytes, escape_json, is_invisible};

/// Bytes of a value in a log line; the number of values is that in the source.
const LOG_VALUE_BYTES: usize = 1024;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With the time, for a terminal.
    Text,
    /// With the priority before it, for journald, which knows the time (sd-daemon(3)).
    Journal,
    /// One JSON object.
    Json,
}

impl Form {
    /// The form for a configuration; `journal`: standard error goes to journald.
    pub fn new(format: LogFormat, journal: bool) -> Self {
        match (format, journal) {
            (LogFormat::Json, _) => Self::Json,
            (LogFormat::Text, true) => Self::Journal,
            (LogFormat::Text, false) => Self::Text,
        }
    }
}

/// Starts the log; what comes before is lost. Only the first call has an effect.
pub fn start(level: LevelFilter, form: Form, eraser: Eraser) {
    let filter = Arc::new(Mutex::new(Filter { level, eraser }));
    let log = Log {
        filter: Arc::clone(FILTER.get_or_init(|| filter)),
        form,
        clock: Clock::System,
        write: match form {
            Form::Text => print::log_line,
            Form::Journal | Form::Json => print::raw_error,
        },
    };
    // An error says that there is a log already, which is what is wanted.
    let _ = tracing::subscriber::set_global_default(log);
}

/// Changes what is logged, and which secrets are erased from it. Without a log it does nothing.
pub fn change(level: LevelFilter, eraser: Eraser) {
    if let Some(filter) = FILTER.get() {
        *filter.lock() = Filter { level, eraser };
        // The places that log remember whether they are enabled.
        tracing::callsite::rebuild_interest_cache();
    }
}

static FILTER: OnceLock<Arc<Mutex<Filter>>> = OnceLock::new();

/// What a reload of the configuration changes.
struct Filter {
    level: LevelFilter,
    eraser: Eraser,
}

/// The level of the configuration, moved by `-v` (more) and `-q` (less).
pub fn level(configured: LogLevel, more: u8, less: u8) -> LevelFilter {
    const LEVELS: [LevelFilter; 6] = [
        LevelFilter::OFF,
        LevelFilter::ERROR,
        LevelFilter::WARN,
        LevelFilter::INFO,
        LevelFilter::DEBUG,
        LevelFilter::TRACE,
    ];
    let moved = (configured as usize + usize::from(more)).saturating_sub(usize::from(less));
    LEVELS[moved.min(LEVELS.len() - 1)]
}

struct Log {
    filter: Arc<Mutex<Filter>>,
    form: Form,
    clock: Clock,
    write: fn(&str),
}

impl Log {
    fn line(&self, event: &Event<'_>) -> String {
        let metadata = event.metadata();
        let mut fields = Fields {
            filter: &self.filter.lock(),
            message: String::new(),
            rest: Map::new(),
        };
        event.record(&mut fields);
        let Fields { message, rest, .. } = fields;
        let room = metadata.target();
        let room = room.strip_prefix("peacrab::").unwrap_or(room);
        let level = metadata.level().as_str().to_ascii_lowercase();
        if self.form == Form::Json {
            let mut members = rest;
            members.insert("time".to_owned(), self.clock.now().to_rfc3339().into());
            members.insert("level".to_owned(), level.into());
            members.insert("room".to_owned(), room.into());
            members.insert("message".to_owned(), message.into());
            return format!("{}\n", escape_json(&Value::Object(members).to_string()));
        }
        let mut line = match self.form {
            Form::Journal => format!("<{}>{room}: ", priority(*metadata.level())),
            _ => format!("{} {level:5} {room}: ", self.clock.now().format("%F %T")),
        };
        line.push_str(&one_line(&message));
        for (name, value) in &rest {
            let value = value.as_str().map_or_else(|| value.to_string(), one_line);
            line.push_str(&format!(" {name}={value}"));
        }
        line.push('\n');
        line
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.filter.lock().level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter.lock().level)
    }

    fn event(&self, event: &Event<'_>) {
        (self.write)(&self.line(event));
    }

    // There are no spans in this log.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Collects an event's fields: each without secrets and not too long.
struct Fields<'a> {
    filter: &'a Filter,
    message: String,
    rest: Map<String, Value>,
}

impl Fields<'_> {
    fn keep(&mut self, field: &Field, value: &str) {
        // First the secrets, then the cut: half a key is still half a key.
        let clean = self.filter.eraser.clean(value);
        let kept = ellipsize_bytes(&clean, LOG_VALUE_BYTES).into_owned();
        match field.name() {
            "message" => self.message = kept,
            name => drop(self.rest.insert(name.to_owned(), kept.into())),
        }
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.rest.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.rest.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.rest.insert(field.name().to_owned(), value.into());
    }
}

/// The text without line ends and other control characters: a log line cannot be forged or hidden.
fn one_line(text: &str) -> String {
    let escaped = |letter: char| {
        if is_invisible(letter) || letter.is_control() {
            letter.escape_default().to_string()
        } else {
            letter.to_string()
        }
    };
    text.chars().map(escaped).collect()
}

/// The priorities of syslog(3).
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::secret::Secret;
    use crate::net::http::with_log;
    use std::cell::RefCell;

    thread_local! {
        static WRITTEN: RefCell<String> = const { RefCell::new(String::new()) };
    }

    fn logged(form: Form, level: LevelFilter, act: impl FnOnce()) -> String {
        let eraser = Eraser::new([Secret::new("sk-canary-12345")]);
        let write = |line: &str| WRITTEN.with_borrow_mut(|written| written.push_str(line));
        let log = Log {
            filter: Arc::new(Mutex::new(Filter { level, eraser })),
            form,
            clock: Clock::Hand(Default::default()),
            write,
        };
        with_log(log, act);
        WRITTEN.take()
    }

    #[test]
    fn each_form_has_one_line_an_event_without_secrets_or_line_ends() {
        let act = || {
            tracing::warn!(target: "peacrab::net::http", status = 429, body = "x\nsk-canary-12345", "slow\n\u{202e}down");
        };
        assert_eq!(
            logged(Form::Text, LevelFilter::WARN, act),
            "1970-01-01 00:00:00 warn  net::http: slow\\n\\u{202e}down body=x\\n[secret] status=429\n"
        );
        assert_eq!(
            logged(Form::Journal, LevelFilter::WARN, act),
            "<4>net::http: slow\\n\\u{202e}down body=x\\n[secret] status=429\n"
        );
        let json: Value =
            serde_json::from_str(&logged(Form::Json, LevelFilter::WARN, act)).unwrap();
        assert_eq!(json["body"], "x\n[secret]");
        assert_eq!(json["status"], 429);
    }

    #[test]
    fn what_is_below_the_level_is_not_written_and_what_is_long_is_cut() {
        assert_eq!(
            logged(Form::Text, LevelFilter::ERROR, || tracing::warn!("no")),
            ""
        );
        let long = "é".repeat(LOG_VALUE_BYTES);
        let line = logged(Form::Journal, LevelFilter::INFO, || {
            tracing::info!("{long}")
        });
        assert!(line.len() < LOG_VALUE_BYTES + 100 && line.ends_with("…\n"));
    }

    #[test]
    fn the_flags_move_the_level_within_its_ends() {
        assert_eq!(level(LogLevel::Warn, 1, 0), LevelFilter::INFO);
        assert_eq!(level(LogLevel::Warn, 9, 0), LevelFilter::TRACE);
        assert_eq!(level(LogLevel::Warn, 0, 9), LevelFilter::OFF);
    }
}
