//! The gateway's main loop: starts the channels, hears the signals, and stops in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::{Gateway, Order, Parts, control, notify, spawn};
use crate::bus::{self, Pulse};
use crate::cancel::Cancel;
use crate::channels::{Channel, Started, Wiring};
use crate::clock::Stopwatch;
use crate::error::{Error, Exit, Result};
use crate::limits::board::SAMPLE_INTERVAL;
use crate::limits::cancel::POLL;
use crate::limits::gateway::{SEND_GRACE, STOP_GRACE};
use crate::message::Outbound;
use crate::sys::memory;
use crate::sys::notify::Notifier;

/// Why the gateway has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A signal.
    Stopped,
    /// Somebody wants it to start anew.
    Restart,
}

/// The channels at work, and what stops them.
struct Workers {
    started: Vec<Started>,
    polling: Cancel,
    sending: Cancel,
}

/// Runs the gateway until a signal or a restart. It listens for the command line at `socket`.
pub fn run(
    parts: Parts,
    channels: Vec<Channel>,
    socket: &Path,
    notifier: Option<Notifier>,
) -> Result<Ending> {
    let notifier = notifier.map(Arc::new);
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let (orders, mut ordered) = mpsc::channel(4);
    watch_signals(&runtime, &orders)?;
    let (inbound_sender, mut inbound) = bus::inbound();
    let mut workers = Workers {
        started: Vec::new(),
        polling: Cancel::new(),
        sending: Cancel::new(),
    };
    let mut outbound = BTreeMap::new();
    // Polling begins before anything else is looked at: what comes waits in the queue.
    for channel in channels {
        let (sender, receiver) = bus::outbound(runtime.handle().clone());
        outbound.insert(channel.name(), sender);
        workers.started.push(channel.start(Wiring {
            inbound: inbound_sender.clone(),
            outbound: receiver,
            polling: workers.polling.clone(),
            sending: workers.sending.clone(),
        })?);
    }
    let gateway = Gateway::new(parts, outbound, orders, runtime.handle().clone());
    let order = runtime.block_on(async {
        control::listen(&gateway, socket);
        gateway.recover();
        let taking = Arc::clone(&gateway);
        tokio::spawn(async move {
            while let Some(next) = inbound.recv().await {
                taking.take(next);
            }
        });
        tokio::spawn(sample(Arc::clone(&gateway)));
        tokio::spawn(notify::keep(
            Arc::clone(&gateway),
            workers.pulses(),
            notifier.clone(),
        ));
        // The start went deeper than anything that this thread does from now on.
        memory::give_back_stack();
        ordered.recv().await
    });
    tracing::info!("stopping");
    if let Some(notifier) = &notifier {
        notify::told(notifier.stopping());
    }
    // The runtime goes on meanwhile: the channels' workers wait on its timers.
    let (done, is_done) = oneshot::channel();
    let stopping = Arc::clone(&gateway);
    let stop = move || {
        stop(&stopping, workers);
        let _ = done.send(());
    };
    if spawn("stop", stop).is_ok() {
        let _ = runtime.block_on(is_done);
    }
    // A turn that is still running ends with the process: its journal is whole, and it goes on later.
    runtime.shutdown_background();
    let _ = std::fs::remove_file(socket);
    Ok(match order {
        Some(Order::Restart) => Ending::Restart,
        Some(Order::Stop) | None => Ending::Stopped,
    })
}

impl Workers {
    fn pulses(&self) -> Vec<Pulse> {
        let started = self.started.iter();
        started.flat_map(|started| started.pulses.clone()).collect()
    }
}

/// Takes nothing more in, lets what runs end, and sends what is owed as far as that goes.
fn stop(gateway: &Gateway, workers: Workers) {
    workers.polling.cancel();
    gateway.wind_down(STOP_GRACE);
    let watch = Stopwatch::start();
    while gateway.parts.outbox.count() > 0 && watch.elapsed() < SEND_GRACE {
        workers.sending.wait(POLL);
    }
    workers.sending.cancel();
    // A worker that waits for something to show looks up.
    gateway.outbound.values().for_each(|sender| {
        sender.send(Outbound::Owed);
    });
    for started in workers.started {
        for thread in started.threads {
            let _ = thread.join();
        }
    }
    match gateway.parts.outbox.count() {
        0 => tracing::info!("stopped; nothing is owed"),
        owed => tracing::info!("stopped; {owed} to be sent after the next start"),
    }
}

/// Keeps the board's history.
async fn sample(gateway: Arc<Gateway>) {
    let mut interval = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        interval.tick().await;
        gateway.parts.board.sample();
    }
}

/// SIGTERM and Ctrl-C stop in order; a second one ends at once, which loses nothing either.
fn watch_signals(runtime: &Runtime, orders: &mpsc::Sender<Order>) -> Result<()> {
    let _entered = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind).map_err(cannot_start)?;
        let orders = orders.clone();
        runtime.spawn(async move {
            signals.recv().await;
            let _ = orders.send(Order::Stop).await;
            signals.recv().await;
            std::process::exit(Exit::Stopped as i32);
        });
    }
    Ok(())
}

fn cannot_start(error: std::io::Error) -> Error {
    Error::Failed(format!(
        "the system does not let the gateway start: {error}"
    ))
}
