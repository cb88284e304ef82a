//! The thread of a terminal: what programs write comes onto the screen, the screen into the chat, and what people type to
//! the programs.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use super::INPUT_BYTES;
use super::{Closing, Open, picture, texts, view};
use crate::base::clock::Stopwatch;
use crate::base::language::Language;
use crate::base::message::OutgoingMessage;
use crate::gateway::Gateway;
use crate::gateway::commands::texts::format_error;
use crate::sandbox::confine::End;
use crate::sys::process;
use crate::sys::pty::Size;
use crate::text::emulator::{Emulator, FEED_BYTES};
use crate::tools::commands::OpenTerminal;
use crate::tools::commands::texts::describe_end;

/// Bytes of output that are taken at once.
const READ_BYTES: usize = 4 * 1024;
/// Bytes of output within [`FRAME_TIME`] after which the program has to wait: nobody sees more of it, and the emulator would
/// take the whole processor.
const FRAME_BYTES: usize = 256 * 1024;
/// How long output is collected before the screen is shown: longer than most programs need to redraw it.
const FRAME_TIME: Duration = Duration::from_millis(100);
/// How long it has to be quiet for the screen to be shown sooner: a key's echo comes at once.
const QUIET_TIME: Duration = Duration::from_millis(25);
/// When it is looked, after the last output, whether the program has turned the echo off: it does so a moment after or before it
/// asks, and the kernel does not say when.
const ECHO_LOOKS: [Duration; 3] = [
    Duration::from_millis(150),
    Duration::from_millis(600),
    Duration::from_secs(3),
];
/// A terminal into which nobody types is closed after this.
const IDLE: Duration = Duration::from_hours(2);

/// When the screen is shown, and when it is looked whether the echo is off.
struct Frame {
    /// Since the first output that is not shown.
    first: Option<Stopwatch>,
    /// Since the last output.
    last: Stopwatch,
    /// Bytes of output that are not shown.
    bytes: usize,
    /// Looks at the echo since the last output.
    looks: usize,
}

impl Frame {
    fn new() -> Self {
        Self {
            first: Some(Stopwatch::start()),
            last: Stopwatch::start(),
            bytes: 0,
            looks: 0,
        }
    }

    /// Output has come, or the screen has changed in another way.
    fn change(&mut self, bytes: usize) {
        self.first.get_or_insert_with(Stopwatch::start);
        self.last = Stopwatch::start();
        self.bytes += bytes;
        self.looks = 0;
    }

    /// The time until something is to be shown or looked at; `None`: never.
    fn left(&self) -> Option<Duration> {
        let last = self.last.elapsed();
        if let Some(first) = &self.first {
            let whole = FRAME_TIME.saturating_sub(first.elapsed());
            return Some(whole.min(QUIET_TIME.saturating_sub(last)));
        }
        let look = ECHO_LOOKS.get(self.looks)?;
        Some(look.saturating_sub(last))
    }

    /// The screen is being shown.
    fn show(&mut self) {
        if self.first.take().is_none() {
            self.looks += 1;
        }
        self.bytes = 0;
    }
}

/// Follows a terminal until its program has ended or it is closed.
pub(super) fn follow(gateway: &Arc<Gateway>, open: &Open, opened: OpenTerminal, size: Size) {
    let OpenTerminal {
        mut terminal,
        entry,
        ..
    } = opened;
    let mut emulator = Emulator::new(size.columns, size.rows);
    let mut buffer = vec![0; READ_BYTES];
    let mut frame = Frame::new();
    // What is being typed, and the terminal's own answers.
    let mut input: Vec<u8> = Vec::new();
    let closing = loop {
        let idle = {
            let mut state = open.state.lock();
            if let Some(why) = state.closing {
                break Some(why);
            }
            input.append(&mut state.input);
            if let Some(size) = state.size.take() {
                let _ = open.keyboard.resize(size);
                emulator.resize(size.columns, size.rows);
                frame.change(0);
            }
            if std::mem::take(&mut state.wants_picture) {
                drop(state);
                gateway.send_screen(open, &emulator);
                continue;
            }
            IDLE.saturating_sub(state.used.elapsed())
        };
        if idle.is_zero() {
            break Some(Closing::Idle);
        }
        let left = frame.left();
        if left.is_some_and(|left| left.is_zero()) {
            frame.show();
            gateway.show_terminal(open, &emulator);
            continue;
        }
        let time = left.unwrap_or(idle).min(idle);
        if frame.bytes >= FRAME_BYTES {
            // The program waits meanwhile.
            let _ = process::readable([open.wake.as_fd()], Some(time));
            frame.bytes = 0;
            continue;
        }
        let event = match terminal.wait((&mut buffer, &input), open.wake.as_fd(), Some(time)) {
            Ok(event) => event,
            Err(error) => {
                tracing::warn!(chat = %open.to, "failed to follow a terminal: {error}");
                break None;
            }
        };
        input.drain(..event.typed.min(input.len()));
        if event.woken {
            let mut count = [0; 8];
            let _ = rustix::io::read(&open.wake, &mut count);
        }
        if event.length > 0 {
            let output = buffer.get(..event.length).unwrap_or_default();
            let watch = Stopwatch::start();
            feed(&mut emulator, output, &mut input, open);
            if watch.elapsed() > QUIET_TIME {
                // A few bytes that stand for a long work: not all of the processor is for them.
                frame.bytes = FRAME_BYTES;
            }
            frame.change(event.length);
            let screen = emulator.screen();
            let mut state = open.state.lock();
            state.application_cursor = screen.has_application_cursor();
            state.bracketed_paste = screen.has_bracketed_paste();
        }
        if event.closed {
            break None;
        }
    };
    let end = terminal.end(closing.map(|_| End::Cancelled));
    entry.end(&end.to_string());
    gateway.close_terminal(open, &emulator, &describe(closing, &end, open.language));
}

/// Puts output onto the screen, piece by piece because one can take long, and takes the terminal's answers.
fn feed(emulator: &mut Emulator, output: &[u8], input: &mut Vec<u8>, open: &Open) {
    for piece in output.chunks(FEED_BYTES) {
        let replies = emulator.feed(piece);
        if input.len() + replies.len() <= INPUT_BYTES {
            input.extend(replies);
        }
        if open.state.lock().closing.is_some() {
            break;
        }
    }
}

/// Why a terminal is closed, for its chat.
fn describe(closing: Option<Closing>, end: &End, language: Language) -> String {
    match closing {
        None => texts::ended(language, &describe_end(language, end)),
        Some(Closing::Wanted) => texts::closed(language).to_owned(),
        Some(Closing::Idle) => texts::idle(language, &(IDLE.as_secs() / 3600)),
        Some(Closing::Shutdown) => texts::restarted(language).to_owned(),
        Some(Closing::NotOwner) => texts::not_owner(language).to_owned(),
    }
}

impl Gateway {
    /// Shows the screen as it is now, as soon as the channel's pace allows.
    fn show_terminal(&self, open: &Open, emulator: &Emulator) {
        let Some(delivery) = self.delivery(&open.to) else {
            return;
        };
        let mut notes = Vec::new();
        if open.unsandboxed {
            notes.push(texts::outside(open.language));
        }
        let hides_input = open.keyboard.hides_input();
        self.note_asking(open, hides_input);
        if hides_input {
            notes.push(match open.is_group {
                true => texts::secret_in_group(open.language),
                false => texts::secret(open.language),
            });
        }
        let text = view::render(&emulator.screen(), &notes);
        let live = self.live();
        let text = live.agents.default_agent().toolbox().cleaned(&text);
        delivery.show_live(
            &open.draft,
            &open.to,
            text.into_owned(),
            view::buttons(open.language),
        );
    }

    /// Sends the screen as a picture.
    fn send_screen(&self, open: &Open, emulator: &Emulator) {
        let live = self.live();
        let toolbox = live.agents.default_agent().toolbox();
        let clean = |text: &str| toolbox.cleaned(text).into_owned();
        let png = picture::png(&emulator.screen(), &clean);
        match self.parts.outgoing.store("screen.png", &png) {
            Ok(path) => self.tell_with(OutgoingMessage {
                files: vec![path],
                ..OutgoingMessage::text(&open.to, "")
            }),
            Err(error) => self.tell(&open.to, &format_error(&error, open.language)),
        }
    }

    /// Leaves the last screen in the chat, and what became of it.
    fn close_terminal(&self, open: &Open, emulator: &Emulator, note: &str) {
        self.tell_with(OutgoingMessage {
            replaces: Some(open.draft.clone()),
            ..OutgoingMessage::text(&open.to, view::render_last(&emulator.screen(), note))
        });
        if let Some(delivery) = self.delivery(&open.to) {
            delivery.resting(&open.draft);
        }
        self.note_asking(open, false);
        self.terminals.remove(&open.to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_shown_when_it_is_quiet_and_not_again() {
        let mut frame = Frame::new();
        assert!(frame.left().unwrap() <= QUIET_TIME);
        frame.show();
        assert!(frame.left().unwrap() > QUIET_TIME);
        frame.change(FRAME_BYTES);
        assert!(frame.left().unwrap() <= QUIET_TIME);
        assert!(frame.bytes >= FRAME_BYTES);
        frame.show();
        assert_eq!(frame.bytes, 0);
        for _ in ECHO_LOOKS {
            assert!(frame.left().is_some());
            frame.show();
        }
        assert_eq!(frame.left(), None, "nothing wakes an idle terminal");
    }
}
