//! The terminal's modes: raw at the prompt, quiet while a turn runs, and in the end as they were.

use std::io::{self, IsTerminal, Read};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use crate::base::sync::Mutex;
use crate::cli::terminal::print;
use crate::sys::process::readable;

/// Bytes of the keys that were typed ahead and are kept while a question is asked; the terminal
/// itself keeps as many.
const TYPED_AHEAD_BYTES: usize = 4096;

static STATE: Mutex<State> = Mutex::new(State {
    original: None,
    quiet: None,
    typed: Vec::new(),
});

struct State {
    /// The modes that the terminal had before the program changed them.
    original: Option<Termios>,
    /// The modes of [`Quiet`], and whether keys are kept for the prompt.
    quiet: Option<(Termios, bool)>,
    /// Keys that were typed before a question and are for the prompt.
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

/// While this exists, what is typed is not shown. It stays with the terminal, for the next reader.
pub struct Quiet(());

impl Quiet {
    /// Stops showing what is typed. `for_prompt` says that the prompt reads it later: then keys are kept
    /// one by one, as typed. `None` when there is no terminal, or another program has it.
    pub fn start(for_prompt: bool) -> Option<Self> {
        let stdin = io::stdin();
        // Who changes a terminal from the background is stopped by the system (tcsetattr(3)).
        let is_ours = tcgetpgrp(&stdin).is_ok_and(|group| group == rustix::process::getpgrp());
        if !is_ours {
            return None;
        }
        let original = tcgetattr(&stdin).ok()?;
        let mut quiet = original.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        // Ctrl-C would throw away what was typed before it.
        quiet.local_modes.insert(LocalModes::NOFLSH);
        if for_prompt {
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
        let is_kept = matches!(STATE.lock().quiet, Some((_, true)));
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
        if let Some((quiet, _)) = &STATE.lock().quiet {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, quiet);
        }
    }
}

fn keep(keys: &[u8]) {
    let typed = &mut STATE.lock().typed;
    let room = TYPED_AHEAD_BYTES.saturating_sub(typed.len());
    typed.extend_from_slice(&keys[..keys.len().min(room)]);
}

/// Takes the keys that were typed before a question.
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
