//! One quiet line below the conversation that shows what a turn waits for, and for how long. Everything
//! else that is written takes it away first.

use std::io::{self, Write};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::mode;
use crate::base::clock::Stopwatch;
use crate::base::sync::{Condvar, Mutex, MutexGuard};
use crate::cli::terminal::STATUS_CHARS;
use crate::cli::terminal::{print, texts};
use crate::text::{ellipsize_chars, one_line, reveal};

/// How long nothing is said of what a turn waits for, so that a quick answer does not flicker.
const STATUS_DELAY: Duration = Duration::from_millis(400);

static LINE: Mutex<Line> = Mutex::new(Line {
    is_running: false,
    is_dim: false,
    is_shown: false,
    what: None,
});
static CHANGED: Condvar = Condvar::new();

/// The line, and what is to be in it.
pub struct Line {
    is_running: bool,
    is_dim: bool,
    is_shown: bool,
    /// What is waited for, and since when.
    what: Option<(String, Stopwatch)>,
}

/// Takes the line off the screen until the guard is dropped; while something else is written.
pub fn hide() -> MutexGuard<'static, Line> {
    let mut line = LINE.lock();
    line.erase();
    line
}

/// What is waited for from now on; `None` while text comes.
pub fn set(what: Option<String>) {
    let mut line = hide();
    if line.is_running {
        line.what = what.map(|what| (tame(&what), Stopwatch::start()));
        CHANGED.notify_all();
    }
}

/// Keeps the line up to date while it exists.
pub struct Status(Option<JoinHandle<()>>);

impl Status {
    /// Starts, where there is a screen. Without another thread there is no line.
    pub fn start(is_dim: bool) -> Self {
        if !mode::is_screen() {
            return Self(None);
        }
        {
            let mut line = LINE.lock();
            line.is_running = true;
            line.is_dim = is_dim;
        }
        let builder = thread::Builder::new().name("status".to_owned());
        Self(builder.spawn(keep_up_to_date).ok())
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        {
            let mut line = hide();
            line.is_running = false;
            line.what = None;
            CHANGED.notify_all();
        }
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

fn keep_up_to_date() {
    const SECOND: Duration = Duration::from_secs(1);
    let mut line = LINE.lock();
    while line.is_running {
        let elapsed = line.what.as_ref().map(|(_, since)| since.elapsed());
        let wait = match elapsed {
            Some(elapsed) if elapsed >= STATUS_DELAY => {
                line.show();
                // To the next full second.
                SECOND.saturating_sub(Duration::from_nanos(elapsed.subsec_nanos().into()))
            }
            Some(elapsed) => STATUS_DELAY.saturating_sub(elapsed),
            None => SECOND,
        };
        line = CHANGED.wait_timeout(line, wait);
    }
}

impl Line {
    fn show(&mut self) {
        let Some((what, since)) = &self.what else {
            return;
        };
        let (columns, _) = mode::size();
        let text = texts::waiting(what, since.elapsed());
        let text = print::signs(&text);
        let text = ellipsize_chars(&text, columns.saturating_sub(1));
        let text = if self.is_dim {
            format!("\r\x1b[2m{text}\x1b[0m\x1b[K")
        } else {
            format!("\r{text}\x1b[K")
        };
        write(&text);
        self.is_shown = true;
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    // When the terminal is gone, the turn's own output fails as well.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The name of a model or a tool may have anything in it, also codes for the terminal.
fn tame(what: &str) -> String {
    one_line(&reveal(what), STATUS_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_in_a_models_name_reaches_the_terminal() {
        let shown = tame(&texts::asking("gpt\x1b]0;PWN\x07\u{202e}-4\nand more\r!"));
        assert!(
            shown.chars().all(|char| matches!(char, ' '..='~')),
            "{shown:?}"
        );
        assert!(shown.starts_with(r"asking gpt\u{1b}]0;PWN"), "{shown}");
    }
}
