//! What systemd is told: that the channels poll, and that everything is still alive.

use std::sync::Arc;

use tokio::time::sleep;

use super::Gateway;
use crate::bus::Pulse;
use crate::limits::gateway::READY_LOOK;
use crate::sys::notify::Notifier;

/// Says that it is ready once every channel's thread has begun, and feeds the watchdog while the loop
/// that runs this and all those threads are alive. `notifier`: none where nobody wants to know.
pub(super) async fn keep(
    gateway: Arc<Gateway>,
    pulses: Vec<Pulse>,
    notifier: Option<Arc<Notifier>>,
) {
    while !pulses.iter().all(Pulse::has_begun) {
        sleep(READY_LOOK).await;
    }
    if gateway.is_stopping() {
        return;
    }
    tracing::info!("ready");
    let Some(notifier) = notifier else {
        return;
    };
    told(notifier.status(&gateway.figures()));
    told(notifier.ready());
    let Some(interval) = notifier.watchdog() else {
        return;
    };
    loop {
        sleep(interval / 2).await;
        match pulses.iter().find(|pulse| !pulse.is_alive()) {
            None => told(notifier.alive()),
            Some(dead) => {
                tracing::error!("the thread {} hangs; the watchdog is not fed", dead.name());
            }
        }
    }
}

/// What systemd does not hear is no reason not to serve people.
pub(super) fn told(told: std::io::Result<()>) {
    if let Err(error) = told {
        tracing::warn!("systemd is not told: {error}");
    }
}
