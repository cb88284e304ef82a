//! Runs blocking work on a pool thread while the signals are listened to.
//!
//! tokio's current_thread runtime owns the signals; the turn is plain blocking code beside it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::cancel::Cancel;
use crate::error::{Error, Exit, Result};
use crate::limits::agent::TURN_STACK_BYTES;
use crate::limits::cli::POOL_THREADS;

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
        let built = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(POOL_THREADS)
            .thread_stack_size(TURN_STACK_BYTES)
            .thread_name("turn")
            .build();
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

    /// Runs `work` to its end. The token that it gets is raised by a signal.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T> {
        let cancel = Cancel::new();
        *lock(&self.running) = Some(cancel.clone());
        let task = self.runtime.spawn_blocking(move || work(&cancel));
        let result = self.runtime.block_on(task);
        *lock(&self.running) = None;
        result.map_err(|error| Error::Failed(format!("the turn's thread ended: {error}")))
    }
}

fn stop_or_leave(running: &Mutex<Option<Cancel>>) {
    let current = lock(running).clone();
    match current {
        Some(cancel) if !cancel.is_cancelled() => cancel.cancel(),
        // The journal is whole at every instant, so leaving at once loses nothing.
        _ => std::process::exit(Exit::Stopped as i32),
    }
}

fn lock(running: &Mutex<Option<Cancel>>) -> MutexGuard<'_, Option<Cancel>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_runtime(error: std::io::Error) -> Error {
    Error::Failed(format!(
        "the system does not let the program start: {error}"
    ))
}
