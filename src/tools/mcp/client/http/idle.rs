//! Closes connections that are not used any longer: each holds memory.

use std::sync::Arc;
use std::time::Duration;

use super::{Listener, Shared};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::limits::http::IDLE_AGE;

/// When a server was used last, and whether a thread waits to close what is idle.
#[derive(Default)]
pub struct Idle {
    since: Option<Stopwatch>,
    is_watched: bool,
}

/// After the time of the pool, which begins when it gets a client back: a little later than here.
const MARGIN: Duration = Duration::from_secs(1);

impl Shared {
    /// Notes that the server is used, and has its connections closed some time after the last use.
    pub fn touch(self: &Arc<Self>) {
        self.touch_for(IDLE_AGE + MARGIN);
    }

    pub(super) fn touch_for(self: &Arc<Self>, time: Duration) {
        let mut idle = self.idle.lock();
        idle.since = Some(Stopwatch::start());
        if idle.is_watched {
            return;
        }
        let shared = Arc::downgrade(self);
        let watches = move || {
            let mut left = time;
            while !left.is_zero() {
                Cancel::new().wait(left);
                let Some(shared) = shared.upgrade() else {
                    return;
                };
                left = shared.close_idle(time);
            }
        };
        // Without a thread they stay open until the next use.
        idle.is_watched =
            crate::base::sync::spawn(std::thread::Builder::new(), Box::new(watches)).is_ok();
    }

    /// Closes what has been idle for this time, and gives what is left of it.
    fn close_idle(&self, time: Duration) -> Duration {
        let mut listener = self.listener.lock();
        let is_used = matches!(&*listener, Listener::Open(stream) if stream.is_used());
        let mut idle = self.idle.lock();
        if is_used {
            idle.since = Some(Stopwatch::start());
        }
        let since = idle.since.map_or(time, |since| since.elapsed());
        let left = time.saturating_sub(since);
        if left.is_zero() {
            idle.is_watched = false;
            if matches!(*listener, Listener::Open(_)) {
                *listener = Listener::None;
            }
            self.pool.close_idle();
        }
        left
    }
}
