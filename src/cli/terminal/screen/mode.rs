//! The terminal's modes: raw at the prompt, quiet while a turn runs, and in the end as they were.

use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use crate::base::cancel::Cancel;
use crate::base::limits::cancel::POLL;
use crate::base::sync::Mutex;
use crate::cli::terminal::print;
use crate::sys::process::readable;

/// Bytes of the keys that were typed ahead and are kept while a question is asked; the terminal
/// itself keeps as many.
const TYPED_AHEAD_BYTES: usize = 4096;

static STATE: Mutex<State> = Mutex::new(State {
    original: None,
    quiet: None,
    is_cooked: false,
    typed: Vec::new(),
});

struct State {
    /// The modes that the terminal had before the program changed them.
    original: Option<Termios>,
    /// The modes of [`Quiet`], and whether keys are kept for the prompt.
    quiet: Option<(Termios, bool)>,
    /// Whether a question is asked, so that what is typed is for it.
    is_cooked: bool,
    /// Keys that were typed while a turn ran, before any question, and are for the prompt.
    typed: Vec<u8>,
}

/// Whether the program can move the cursor on the screen.
pub fn is_screen() -> bool {
    !print::is_dumb() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

/// Columns and rows of the terminal; 80 and 24 where it does not say.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// What a changed size is written to; `None` while no prompt waits for it.
static RESIZED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// A descriptor that can be read once the size has changed.
pub fn watch_size() -> io::Result<OwnedFd> {
    let (changed, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    *RESIZED.lock() = Some(writer);
    Ok(changed)
}

/// The size has changed (SIGWINCH).
pub fn resized() {
    if let Some(writer) = &*RESIZED.lock() {
        // A full pipe says it already.
        let _ = rustix::io::write(writer, b"!");
    }
}

/// Sets the terminal back to the modes that it had at the start.
pub fn restore() {
    if let Some(original) = &STATE.lock().original {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, original);
    }
}

/// Sets the terminal back at the end of the program, and throws away what was typed ahead for it: the next reader is a
/// shell, which would run it.
pub fn leave() {
    restore();
    if STATE.lock().original.is_some() && is_ours() {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

/// Whether the program is in the foreground. The system stops one that changes the terminal, or reads from it, in the
/// background (tcsetattr(3), read(2)).
fn is_ours() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// While this exists, what is typed is not shown. It stays with the terminal, for the next reader.
pub struct Quiet(());

impl Quiet {
    /// Stops showing what is typed. `for_prompt` says that the prompt reads it later: then keys are kept
    /// one by one, as typed. `None` when there is no terminal, or another program has it.
    pub fn start(for_prompt: bool) -> Option<Self> {
        if !is_ours() {
            return None;
        }
        let stdin = io::stdin();
        let original = tcgetattr(&stdin).ok()?;
        let mut quiet = original.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        if for_prompt {
            // Ctrl-C would throw away what was typed before it.
            quiet.local_modes.insert(LocalModes::NOFLSH);
            quiet.local_modes.remove(LocalModes::ICANON);
            quiet.input_modes.remove(InputModes::ICRNL);
        }
        let mut state = STATE.lock();
        tcsetattr(&stdin, OptionalActions::Now, &quiet).ok()?;
        state.original = Some(original);
        state.quiet = Some((quiet, for_prompt));
        Some(Self(()))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        restore();
        STATE.lock().quiet = None;
    }
}

/// While this exists, the terminal shows what is typed and hands it over by the line, for a question.
/// What was typed before is no answer to it: it is kept for the prompt, where there is one.
pub struct Cooked(());

impl Cooked {
    /// Interrupts [`Quiet`].
    pub fn start() -> Self {
        let is_kept = {
            let mut state = STATE.lock();
            state.is_cooked = true;
            matches!(state.quiet, Some((_, true)))
        };
        if is_kept {
            let mut keys = [0; TYPED_AHEAD_BYTES];
            let mut stdin = io::stdin().lock();
            while readable([rustix::stdio::stdin()], Some(Duration::ZERO))
                .is_ok_and(|[ready]| ready)
            {
                match stdin.read(&mut keys) {
                    Ok(count @ 1..) => keep(&keys[..count]),
                    _ => break,
                }
            }
        }
        restore();
        if !is_kept {
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        Self(())
    }

    /// Drops what was typed until now: it is no answer to what is asked next.
    pub fn forget_typed(&self) {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

impl Drop for Cooked {
    fn drop(&mut self) {
        let mut state = STATE.lock();
        state.is_cooked = false;
        if let Some((quiet, _)) = &state.quiet {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, quiet);
        }
    }
}

fn keep(keys: &[u8]) {
    let typed = &mut STATE.lock().typed;
    let room = TYPED_AHEAD_BYTES.saturating_sub(typed.len());
    typed.extend_from_slice(&keys[..keys.len().min(room)]);
}

/// While this exists, a line `/stop` that is typed ahead acts at once, where keys are kept for the prompt.
pub struct Stoppable {
    /// Closed at the end, which the thread sees.
    ending: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Stoppable {
    /// Listens to the keyboard. Without another thread the line waits for the prompt, as others do.
    pub fn start(cancel: &Cancel) -> Self {
        let mut listening = Self {
            ending: None,
            thread: None,
        };
        if let Ok((ended, ending)) = pipe_with(PipeFlags::CLOEXEC) {
            let cancel = cancel.clone();
            let builder = thread::Builder::new().name("keys".to_owned());
            listening.ending = Some(ending);
            listening.thread = builder.spawn(move || listen(&ended, &cancel)).ok();
        }
        listening
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes keys for the prompt until `ended` is closed or the terminal is gone, and stops the turn at `/stop`.
fn listen(ended: &OwnedFd, cancel: &Cancel) {
    let stdin = rustix::stdio::stdin();
    while let Ok([_, false]) = readable([stdin, ended.as_fd()], None) {
        match take_keys() {
            Ok(Some(true)) => cancel.cancel(),
            Ok(Some(false)) => {}
            // A question is asked, or it is full: the rest stays with the terminal.
            Ok(None) => {
                if !matches!(readable([ended.as_fd()], Some(POLL)), Ok([false])) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Takes the keys that the terminal has, and says whether `/stop` was among them. `None` when they are not for the
/// prompt, or there is room for no more.
fn take_keys() -> io::Result<Option<bool>> {
    let stdin = rustix::stdio::stdin();
    let mut state = STATE.lock();
    let room = TYPED_AHEAD_BYTES.saturating_sub(state.typed.len());
    let is_for_prompt = matches!(state.quiet, Some((_, true))) && !state.is_cooked && is_ours();
    if room == 0 || !is_for_prompt || !readable([stdin], Some(Duration::ZERO))?[0] {
        return Ok(None);
    }
    let mut keys = [0_u8; TYPED_AHEAD_BYTES];
    match rustix::io::read(stdin, &mut keys[..room])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => {
            state.typed.extend_from_slice(&keys[..count]);
            Ok(Some(take_stop(&mut state.typed)))
        }
    }
}

/// Takes a line `/stop` out of what was typed, together with what is before it and waits: as in a chat.
fn take_stop(typed: &mut Vec<u8>) -> bool {
    let (mut begin, mut end) = (0, 0);
    for (index, byte) in typed.iter().enumerate() {
        if matches!(byte, b'\r' | b'\n') {
            if typed[begin..index]
                .trim_ascii()
                .eq_ignore_ascii_case(b"/stop")
            {
                end = index + 1;
            }
            begin = index + 1;
        }
    }
    typed.drain(..end);
    end > 0
}

/// Takes the keys that were typed before anyone read them.
pub fn take_typed() -> Vec<u8> {
    std::mem::take(&mut STATE.lock().typed)
}

/// While this exists, each key comes as it is typed, Ctrl-C too.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Changes the modes, and has pasted text marked.
    pub fn start() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.input_modes.remove(
            InputModes::BRKINT
                | InputModes::ICRNL
                | InputModes::INPCK
                | InputModes::ISTRIP
                | InputModes::IXON,
        );
        raw.local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG);
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Now, &raw)?;
        STATE.lock().original.get_or_insert_with(|| before.clone());
        print::control("\x1b[?2004h");
        Ok(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        print::control("\x1b[?2004l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_says_stop_is_taken_with_what_waited_before_it() {
        for (typed, left, is_stop) in [
            ("more\r/stop\rnext", "next", true),
            (" /STOP \n", "", true),
            ("/stop\r/stop\r", "", true),
            ("/stop", "/stop", false),
            ("say /stop\r/stopped\r", "say /stop\r/stopped\r", false),
            ("", "", false),
        ] {
            let mut keys = typed.as_bytes().to_vec();
            assert_eq!(take_stop(&mut keys), is_stop, "{typed:?}");
            assert_eq!(keys, left.as_bytes(), "{typed:?}");
        }
    }
}
