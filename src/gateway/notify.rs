//! Notifications to systemd: that the channels poll, and that everything is alive.

use std::sync::Arc;

use super::{Gateway, sleep};
use crate::base::bus::Heartbeats;
use crate::base::language::Language;
use crate::sys::notify::Notifier;
use std::time::Duration;

/// How often it is looked whether the channels' threads have begun.
const READY_LOOK: Duration = Duration::from_millis(50);

/// Reports readiness once every receiver has begun, then answers restarts (see [`Gateway::say_back`]),
/// and feeds the watchdog while this runtime and all threads with a heartbeat are alive. `notifier`:
/// `None` when no supervisor asked for notifications.
pub(super) async fn keep(
    gateway: Arc<Gateway>,
    heartbeats: Heartbeats,
    notifier: Option<Arc<Notifier>>,
) {
    while !heartbeats.have_begun() {
        sleep(READY_LOOK).await;
    }
    if gateway.is_stopping() {
        return;
    }
    let ready = notifier.clone();
    // After what is written at the start, which a power cut from now on finds.
    gateway.later(move |gateway| {
        tracing::info!("ready");
        gateway.say_back();
        gateway.say_updated();
        if let Some(notifier) = ready {
            log_failure(notifier.status(&gateway.status_line(Language::English)));
            log_failure(notifier.ready());
        }
    });
    let Some(notifier) = notifier else {
        return;
    };
    let Some(interval) = notifier.watchdog() else {
        return;
    };
    loop {
        sleep(interval / 2).await;
        match heartbeats.late() {
            None => log_failure(notifier.alive()),
            Some(thread) => {
                tracing::error!("the thread {thread} hangs, the watchdog is not fed");
            }
        }
    }
}

/// A failed notification is logged and otherwise ignored: the gateway keeps serving.
pub(super) fn log_failure(notified: std::io::Result<()>) {
    if let Err(error) = notified {
        tracing::warn!("failed to notify systemd: {error}");
    }
}
