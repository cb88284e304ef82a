//! Runs blocking work on a thread of its own, and handles signals meanwhile.
//!
//! tokio's current_thread runtime owns the signals; the turn is plain blocking code beside it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::prompt::{Prompt, Typed};
use super::{mode, print, texts};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::agent::TURN_STACK_BYTES;
use crate::base::sync::{self, Mutex};
use crate::sys::process::writable;
use crate::text::reveal;

/// The runtime, and the token of what runs now.
pub struct Foreground {
    runtime: Runtime,
    running: Arc<Mutex<Option<Cancel>>>,
    /// Whether SIGTERM came.
    must_end: Arc<AtomicBool>,
}

impl Foreground {
    /// Takes over the signals: from now on Ctrl-C and SIGTERM stop the work, and a second one ends the
    /// process. One that comes while nothing runs stops what runs next, at once.
    pub fn new() -> Result<Self> {
        let running = Arc::new(Mutex::new(None));
        let must_end = Arc::new(AtomicBool::new(false));
        let built = Builder::new_current_thread().enable_all().build();
        let runtime = built.map_err(texts::no_runtime)?;
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let _entered = runtime.enter();
            let mut signals = signal(kind).map_err(texts::no_runtime)?;
            let (running, must_end) = (Arc::clone(&running), Arc::clone(&must_end));
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    must_end.fetch_or(kind == SignalKind::terminate(), Ordering::Relaxed);
                    stop_or_leave(&running);
                }
            });
        }
        let _entered = runtime.enter();
        let mut sizes = signal(SignalKind::window_change()).map_err(texts::no_runtime)?;
        runtime.spawn(async move {
            while sizes.recv().await.is_some() {
                mode::resized();
            }
        });
        drop(_entered);
        Ok(Self {
            runtime,
            running,
            must_end,
        })
    }

    /// Whether somebody asked the program to end, not only what runs to stop.
    pub fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }

    /// Shows a remark when what runs next takes longer than this.
    pub fn say_after(&self, time: Duration, text: String) {
        self.runtime.spawn(async move {
            tokio::time::sleep(time).await;
            print::notice(&text);
        });
    }

    /// Runs `work` to its end. A signal raises the token that it is given. Fails when the system has no
    /// threads left, where the runtime's own pool would panic.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T> {
        let slot = Arc::new(Mutex::new(None));
        let result = Arc::clone(&slot);
        self.run_boxed(Box::new(move |cancel| *result.lock() = Some(work(cancel))))?;
        let result = slot.lock().take();
        result.ok_or_else(texts::no_result)
    }

    /// Asks for one line, and returns it without the white space around it. [`Error::Stopped`] at Ctrl-C, also where that
    /// came before the question, and at the end of the input.
    pub fn ask(&self, prompt: &Arc<Mutex<Prompt>>, text: &str, is_hidden: bool) -> Result<String> {
        let (prompt, text) = (Arc::clone(prompt), reveal(text).into_owned());
        let typed = self.run(move |cancel| prompt.lock().ask(&text, is_hidden, cancel))?;
        match typed? {
            Typed::Line(line) => Ok(line.trim().to_owned()),
            Typed::Cleared | Typed::Interrupt | Typed::End => Err(Error::Stopped),
        }
    }

    /// In the program once, and not for each kind of work and result.
    fn run_boxed(&self, work: Box<dyn FnOnce(&Cancel) + Send>) -> Result<()> {
        let cancel = Cancel::new();
        let (sender, receiver) = oneshot::channel();
        *self.running.lock() = Some(cancel.clone());
        let builder = thread::Builder::new().name("turn".to_owned());
        let work = Box::new(move || {
            work(&cancel);
            // The receiver below waits until the end.
            let _ = sender.send(());
        });
        let result = match sync::spawn(builder.stack_size(TURN_STACK_BYTES), work) {
            Ok(()) => self
                .runtime
                .block_on(receiver)
                .map_err(|_| texts::no_result()),
            Err(error) => Err(texts::no_thread(error)),
        };
        *self.running.lock() = None;
        result
    }
}

fn stop_or_leave(running: &Mutex<Option<Cancel>>) {
    let current = running.lock().clone();
    match current {
        Some(cancel) if !cancel.is_cancelled() => cancel.cancel(),
        // The journal is whole at every instant, so leaving at once loses nothing.
        _ => {
            mode::leave();
            say_stopped();
            std::process::exit(Exit::Stopped as i32);
        }
    }
}

/// Says on a terminal that the program was stopped. What it was doing may keep everything else from being written.
fn say_stopped() {
    let stderr = rustix::stdio::stderr();
    if io::stderr().is_terminal() && writable(stderr, Duration::ZERO).is_ok_and(|ready| ready) {
        // A screen may show what the turn waited for.
        let begin = if mode::is_screen() { "\r\x1b[K" } else { "\n" };
        let line = format!(
            "{begin}{}\n",
            print::signs(&format!("· {}", texts::STOPPED))
        );
        let _ = rustix::io::write(stderr, line.as_bytes());
    }
}
