//! The draft that shows a running turn: its steps so far, and the text as it comes. Pure but for the
//! stopwatch.

use std::collections::VecDeque;
use std::time::Duration;

use crate::agent::host::TurnEvent;
use crate::base::clock::Stopwatch;
use crate::config::schema::Channels;
use crate::text::markup::inline_code;

/// Bytes of a growing answer that are shown while it comes: a message of Telegram's holds less.
const DRAFT_BYTES: usize = 16 * 1024;
/// Lines of what has happened that are shown above it.
const DRAFT_LINES: usize = 8;

/// Time between two updates for programs, which show each as it comes.
const PROGRAM_INTERVAL: Duration = Duration::from_millis(200);

/// What is shown of a running turn.
#[derive(Clone, Copy, Debug)]
pub struct DisplaySettings {
    /// The texts of the model between the steps.
    pub progress: bool,
    /// The tools that run.
    pub hints: bool,
    /// The answer as it comes.
    pub streaming: bool,
    /// The time between two updates.
    pub interval: Duration,
}

impl DisplaySettings {
    /// For programs: the growing answer alone, a few times a second.
    pub fn of_programs() -> Self {
        Self {
            progress: false,
            hints: false,
            streaming: true,
            interval: PROGRAM_INTERVAL,
        }
    }

    /// For the web page: all of it, as it comes.
    pub fn of_pages() -> Self {
        Self {
            progress: true,
            hints: true,
            ..Self::of_programs()
        }
    }

    /// As the configuration says for a channel.
    pub fn new(config: &Channels, channel: &str) -> Self {
        let bot = config.of(channel);
        Self {
            progress: config.send_progress,
            hints: config.send_tool_hints,
            streaming: bot.streaming,
            interval: Duration::from_millis(bot.stream_edit_interval_ms),
        }
    }
}

/// The draft of one turn.
pub struct Progress {
    settings: DisplaySettings,
    /// The steps so far, the newest last.
    lines: VecDeque<String>,
    /// The text so far of the current reply.
    partial: String,
    /// How far the running call is.
    call: String,
    shown: Option<Stopwatch>,
    is_fresh: bool,
    /// Whether the news is shown at once: what follows may take long.
    is_pressing: bool,
    /// Whether a later update is scheduled.
    is_scheduled: bool,
    /// Whether the answer has replaced the draft.
    is_over: bool,
}

impl Progress {
    /// Nothing has happened yet.
    pub fn new(settings: DisplaySettings) -> Self {
        Self {
            settings,
            lines: VecDeque::new(),
            partial: String::new(),
            call: String::new(),
            shown: None,
            is_fresh: false,
            is_pressing: false,
            is_scheduled: false,
            is_over: false,
        }
    }

    /// Takes an event of the turn.
    pub fn on_event(&mut self, event: &TurnEvent<'_>) {
        if !matches!(event, TurnEvent::Progress(_)) {
            self.call.clear();
        }
        match event {
            TurnEvent::Delta(piece) if self.settings.streaming => {
                if self.partial.len() + piece.len() <= DRAFT_BYTES {
                    self.partial.push_str(piece);
                    self.is_fresh = true;
                }
            }
            TurnEvent::Retracted => self.partial.clear(),
            // The end of the turn brings the account.
            TurnEvent::Delta(_) | TurnEvent::Asking(_) | TurnEvent::Bounded(_) => {}
            // A text between steps is followed by a hint; the answer by the end.
            TurnEvent::Said(text) => (*text).clone_into(&mut self.partial),
            TurnEvent::ToolHint(hint) => {
                let said = std::mem::take(&mut self.partial);
                if self.settings.progress && !said.trim().is_empty() {
                    self.line(said);
                }
                if self.settings.hints {
                    self.line(format!("▸ {}", inline_code(hint)));
                }
            }
            TurnEvent::Progress(text) if self.settings.hints => {
                self.call = format!("· {}", inline_code(text));
                self.is_fresh = true;
            }
            TurnEvent::Progress(_) => {}
            // Messages of their own, which stay.
            TurnEvent::Unsandboxed(_) | TurnEvent::Lasting(_) => {}
            TurnEvent::ToolFailed(what) if self.settings.hints => {
                self.line(format!("✗ {}", inline_code(what)));
            }
            TurnEvent::ToolFailed(_) => {}
            TurnEvent::Notice(what) => self.line(format!("· {}", inline_code(what))),
        }
    }

    /// The draft, if there is something new and the last update was long enough ago.
    pub fn due(&mut self) -> Option<String> {
        if self.wait() != Some(Duration::ZERO) {
            return None;
        }
        (self.is_fresh, self.is_pressing) = (false, false);
        self.shown = Some(Stopwatch::start());
        let lines = self.lines.iter().map(String::as_str);
        let rest = [self.partial.as_str(), self.call.as_str()];
        let rest = rest.into_iter().filter(|text| !text.trim().is_empty());
        Some(lines.chain(rest).collect::<Vec<_>>().join("\n\n"))
    }

    /// The time until the draft is due; `None` while there is nothing new.
    fn wait(&self) -> Option<Duration> {
        if !self.is_fresh || self.is_over {
            return None;
        }
        Some(match &self.shown {
            Some(shown) if !self.is_pressing => {
                self.settings.interval.saturating_sub(shown.elapsed())
            }
            _ => Duration::ZERO,
        })
    }

    /// The time after which the caller has to update again, because the news came too early; `None` if an
    /// update is scheduled already. So a model that pauses leaves nothing half shown.
    pub fn schedule(&mut self) -> Option<Duration> {
        let wait = self.wait().filter(|_| !self.is_scheduled)?;
        self.is_scheduled = true;
        Some(wait)
    }

    /// The update of [`schedule`](Self::schedule) was made.
    pub fn run_scheduled(&mut self) {
        self.is_scheduled = false;
    }

    /// The answer replaces the draft: from now on nothing is due.
    pub fn close(&mut self) {
        self.is_over = true;
    }

    fn line(&mut self, mut text: String) {
        text.truncate(text.floor_char_boundary(DRAFT_BYTES / DRAFT_LINES));
        if self.lines.len() >= DRAFT_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(text);
        (self.is_fresh, self.is_pressing) = (true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> DisplaySettings {
        DisplaySettings {
            progress: true,
            hints: true,
            streaming: true,
            interval: Duration::ZERO,
        }
    }

    #[test]
    fn half_an_answer_that_begins_again_is_shown_no_longer() {
        let mut progress = Progress::new(settings());
        progress.on_event(&TurnEvent::Delta("half"));
        assert_eq!(progress.due().unwrap(), "half");
        progress.on_event(&TurnEvent::Retracted);
        progress.on_event(&TurnEvent::Notice("retrying"));
        progress.on_event(&TurnEvent::Delta("whole"));
        assert_eq!(progress.due().unwrap(), "· `retrying`\n\nwhole");
    }

    #[test]
    fn how_far_a_call_is_is_shown_until_it_has_ended() {
        let mut progress = Progress::new(settings());
        progress.on_event(&TurnEvent::ToolHint("build()"));
        progress.on_event(&TurnEvent::Progress("1/3"));
        progress.on_event(&TurnEvent::Progress("2/3 linking"));
        assert_eq!(progress.due().unwrap(), "▸ `build()`\n\n· `2/3 linking`");
        progress.on_event(&TurnEvent::Said("Done."));
        progress.on_event(&TurnEvent::Delta(" "));
        assert!(!progress.due().unwrap().contains("2/3"));
    }

    fn shown(settings: DisplaySettings, events: &[TurnEvent<'_>]) -> Option<String> {
        let mut progress = Progress::new(settings);
        events.iter().for_each(|event| progress.on_event(event));
        progress.due()
    }

    const TURN: [TurnEvent<'_>; 5] = [
        TurnEvent::Delta("I look."),
        TurnEvent::Said("I look."),
        TurnEvent::ToolHint("read_file(\"a\")"),
        TurnEvent::ToolFailed("read_file: no such file"),
        TurnEvent::Delta("It is"),
    ];

    #[test]
    fn a_draft_has_the_steps_and_then_the_current_text() {
        assert_eq!(
            shown(settings(), &TURN).unwrap(),
            "I look.\n\n▸ `read_file(\"a\")`\n\n✗ `read_file: no such file`\n\nIt is"
        );
    }

    #[test]
    fn each_part_can_be_left_out() {
        let hints = DisplaySettings {
            hints: false,
            ..settings()
        };
        assert_eq!(shown(hints, &TURN).unwrap(), "I look.\n\nIt is");
        let progress = DisplaySettings {
            progress: false,
            ..settings()
        };
        assert!(!shown(progress, &TURN).unwrap().contains("I look."));
        let streaming = DisplaySettings {
            streaming: false,
            ..settings()
        };
        assert!(!shown(streaming, &TURN).unwrap().contains("It is"));
        let nothing = DisplaySettings {
            progress: false,
            hints: false,
            ..streaming
        };
        assert_eq!(shown(nothing, &TURN), None);
    }

    #[test]
    fn an_update_waits_for_the_interval_and_for_something_new() {
        let mut progress = Progress::new(DisplaySettings {
            interval: Duration::from_secs(600),
            ..settings()
        });
        assert_eq!(progress.due(), None);
        progress.on_event(&TurnEvent::Delta("a"));
        assert_eq!(progress.due().as_deref(), Some("a"));
        progress.on_event(&TurnEvent::Delta("b"));
        assert_eq!(progress.due(), None);
        assert!(
            progress
                .schedule()
                .is_some_and(|wait| wait > Duration::ZERO)
        );
        assert_eq!(progress.schedule(), None, "one update is enough");
        progress.run_scheduled();
        progress.on_event(&TurnEvent::ToolHint("exec(\"make\")"));
        assert!(progress.due().is_some(), "a tool may run for long");
        progress.on_event(&TurnEvent::ToolHint("exec(\"make\")"));
        progress.close();
        assert_eq!((progress.due(), progress.schedule()), (None, None));
    }
}
