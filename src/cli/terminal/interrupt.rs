//! Runs blocking work on a thread of its own while the signals are listened to.
//!
//! tokio's current_thread runtime owns the signals; the turn is plain blocking code beside it.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cancel::Cancel;
use crate::error::{Error, Exit, Result};
use crate::limits::agent::TURN_STACK_BYTES;
use crate::sync::Mutex;

/// The runtime, and the token of what runs now.
pub struct Foreground {
    runtime: Runtime,
    running: Arc<Mutex<Option<Cancel>>>,
}

impl Foreground {
    /// Takes the signals over: from now on Ctrl-C and SIGTERM stop the work, and a second one, or one
    /// while nothing runs, ends the process.
    pub fn new() -> Result<Self> {
        let running = Arc::new(Mutex::new(None));
        let built = Builder::new_current_thread().enable_all().build();
        let runtime = built.map_err(no_runtime)?;
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let _entered = runtime.enter();
            let mut signals = signal(kind).map_err(no_runtime)?;
            let running = Arc::clone(&running);
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    stop_or_leave(&running);
                }
            });
        }
        Ok(Self { runtime, running })
    }

    /// Runs `work` to its end. The token that it gets is raised by a signal. Fails when the system
    /// has no thread left; the runtime's own pool would panic there.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T> {
        let cancel = Cancel::new();
        let (sender, receiver) = oneshot::channel();
        *self.running.lock() = Some(cancel.clone());
        let spawned = thread::Builder::new()
            .name("turn".to_owned())
            .stack_size(TURN_STACK_BYTES)
            .spawn(move || {
                // The one who waits for it is below, and waits to the end.
                let _ = sender.send(work(&cancel));
            });
        let result = match spawned {
            Ok(_) => self.runtime.block_on(receiver).map_err(|_| no_result()),
            Err(error) => Err(no_thread(error)),
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
        _ => std::process::exit(Exit::Stopped as i32),
    }
}

fn no_thread(error: std::io::Error) -> Error {
    Error::Failed(format!(
        "the system has no thread left for the turn: {error}; try again when fewer programs run"
    ))
}

fn no_result() -> Error {
    Error::Failed("the turn's thread ended without a result".to_owned())
}

fn no_runtime(error: std::io::Error) -> Error {
    Error::Failed(format!(
        "the system does not let the program start: {error}"
    ))
}
