//! Waits for a time of the wall clock.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;

use crate::base::clock::Clock;
use crate::base::limits::clock::TURNED_LOOK;
use crate::sys;
use crate::sys::time::{Expired, WallTimer};

/// The smallest jump that counts as setting the clock, where the kernel does not tell.
const JUMP_MILLIS_MIN: u64 = 1000;
/// The longest wait for a time where the kernel gives no timer; a clock that is set is noticed after it.
const ALARM_RETRY: Duration = Duration::from_secs(30);

/// Why a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The time has come, or had come before.
    Due,
    /// The caller's notification came.
    Changed,
    /// The wall clock was set.
    ClockSet,
}

/// Waits until a time in milliseconds since 1970, or for ever. Returns earlier when `changed` is notified
/// or the clock is set. In between nothing runs: the kernel has a timer on the wall clock.
///
/// A notification has precedence, so that a time that has passed cannot hide it. A clock that is set
/// between two calls is not reported; see [`Timekeeper::watch`](super::Timekeeper::watch).
pub async fn until(clock: &Clock, at_ms: Option<i64>, changed: &Notify) -> Woken {
    until_since(clock, at_ms, changed, offset(clock)).await
}

/// The same, but a clock that was set since its [`offset`] was this one is reported at once.
pub(super) async fn until_since(
    clock: &Clock,
    at_ms: Option<i64>,
    changed: &Notify,
    since: i64,
) -> Woken {
    let mut changed = pin!(changed.notified());
    let mut woken = pin!(wait(clock, at_ms, since));
    poll_fn(|context| match changed.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(Woken::Changed),
        Poll::Pending => woken.as_mut().poll(context),
    })
    .await
}

async fn wait(clock: &Clock, at_ms: Option<i64>, since: i64) -> Woken {
    let at = at_ms.unwrap_or(i64::MAX);
    if clock.turned().is_some() {
        return wait_turned(clock, at, since).await;
    }
    loop {
        if clock.now_ms() >= at {
            return Woken::Due;
        }
        let expired = match WallTimer::at(at) {
            // From here on the timer notices it.
            Ok(_) if is_jump(offset(clock).saturating_sub(since)) => Ok(Expired::ClockSet),
            Ok(timer) => timer.expired().await,
            Err(error) => Err(error),
        };
        match expired {
            Ok(Expired::Due) => {}
            Ok(Expired::ClockSet) => return Woken::ClockSet,
            // There are no descriptors left, or the kernel has no timers: look now and then.
            Err(error) => {
                tracing::debug!("failed to set a timer: {error}");
                let left = at.saturating_sub(clock.now_ms()).max(0).unsigned_abs();
                let left = Duration::from_millis(left);
                tokio::time::sleep(left.min(ALARM_RETRY)).await;
            }
        }
    }
}

/// Waits for a clock that a test turns.
async fn wait_turned(clock: &Clock, at_ms: i64, since: i64) -> Woken {
    loop {
        if is_jump(offset(clock).saturating_sub(since)) {
            return Woken::ClockSet;
        }
        if clock.now_ms() >= at_ms {
            return Woken::Due;
        }
        tokio::time::sleep(TURNED_LOOK).await;
    }
}

/// The wall clock minus the uptime, in milliseconds. It changes only when the clock is set.
pub(in crate::gateway) fn offset(clock: &Clock) -> i64 {
    let turned = clock.turned();
    let uptime = turned.map_or_else(sys::time::uptime, |turned| turned.uptime);
    let uptime = i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX);
    clock.now_ms().saturating_sub(uptime)
}

/// Whether two such offsets differ by more than the work of a time service and the time between two looks.
pub(super) fn is_jump(difference: i64) -> bool {
    difference.unsigned_abs() >= JUMP_MILLIS_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(future)
    }

    #[test]
    fn it_wakes_at_its_time_or_when_something_changes() {
        block_on(async {
            let (clock, changed) = (Clock::System, Notify::new());
            let now = clock.now_ms();
            assert_eq!(until(&clock, Some(now - 1), &changed).await, Woken::Due);
            assert_eq!(until(&clock, Some(i64::MIN), &changed).await, Woken::Due);
            assert_eq!(until(&clock, Some(now + 50), &changed).await, Woken::Due);
            assert!(clock.now_ms() >= now + 50);
            changed.notify_one();
            assert_eq!(until(&clock, None, &changed).await, Woken::Changed);
            changed.notify_one();
            assert_eq!(until(&clock, Some(0), &changed).await, Woken::Changed);
        });
    }

    #[test]
    fn a_clock_turned_by_hand_wakes_it() {
        block_on(async {
            let millis = Arc::new(AtomicI64::new(1_000));
            let (clock, changed) = (Clock::Hand(Arc::clone(&millis)), Notify::new());
            let turned = tokio::spawn(async move {
                millis.store(86_400_000, Ordering::Relaxed);
            });
            let woken = until(&clock, Some(86_400_000), &changed).await;
            turned.await.unwrap();
            assert_eq!(woken, Woken::Due);
        });
    }
}
