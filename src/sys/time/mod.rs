//! What the kernel says about the time, and a timer on the wall clock.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Clocks with a battery that are looked at; a board has one or two.
const RTCS_MAX: usize = 4;
/// Bytes of a number that the kernel shows in a file.
const RTC_BYTES: usize = 64;

/// How long the machine has run, suspended or not (`CLOCK_BOOTTIME`). Setting the wall clock does not
/// change it.
pub fn uptime() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A bound on what the calling thread computes: its processor time, which neither other programs nor a slow disk use up.
#[derive(Clone, Copy, Debug)]
pub struct CpuBudget(Duration);

impl CpuBudget {
    /// A budget that begins now, and counts only on this thread.
    pub fn new(time: Duration) -> Self {
        Self(Self::used().saturating_add(time))
    }

    /// Whether it is used up.
    pub fn is_spent(self) -> bool {
        Self::used() >= self.0
    }

    fn used() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }
}

/// Whether a time service keeps the clock right, as systemd-timesyncd, chrony or ntpd has told the kernel
/// or the file system. `None` where neither can be asked, as in some containers.
pub fn is_synchronized() -> Option<bool> {
    /// systemd-timesyncd creates it after the first answer of a server (systemd-timesyncd.service(8)).
    const TIMESYNCD: &str = "/run/systemd/timesync/synchronized";
    if std::fs::symlink_metadata(TIMESYNCD).is_ok() {
        return Some(true);
    }
    kernel_is_synchronized()
}

/// Whether the kernel's clock is disciplined (adjtimex(2)). Linux clears `STA_UNSYNC` only when a time
/// service says so, and then no longer returns `TIME_ERROR`.
#[expect(unsafe_code, reason = "rustix has no adjtimex")]
fn kernel_is_synchronized() -> Option<bool> {
    // `struct timex` has at most 208 bytes, and its first member, `modes`, says that nothing is changed. Only
    // what the call returns is read, so that the layout, which differs with 32-bit time, does not matter.
    let mut timex = [0_u64; 64];
    // SAFETY: the kernel writes one `struct timex` into a larger buffer that outlives the call.
    let state = unsafe { libc::syscall(libc::SYS_adjtimex, timex.as_mut_ptr()) };
    (state >= 0).then(|| state != libc::c_long::from(libc::TIME_ERROR))
}

/// What the clocks with a battery say, in seconds since 1970 (`/sys/class/rtc`). One without a battery
/// starts in 1970 or 2000.
pub fn hardware_clocks() -> Vec<i64> {
    let read = |number| {
        let path = format!("/sys/class/rtc/rtc{number}/since_epoch");
        let text = super::file::read_at_most(path.as_ref(), RTC_BYTES).ok()?;
        std::str::from_utf8(&text).ok()?.trim().parse().ok()
    };
    (0..RTCS_MAX).filter_map(read).collect()
}

/// Why a [`WallTimer`] has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Its time has come.
    Due,
    /// The wall clock was set; the timer has to be made again.
    ClockSet,
}

/// A timer for a time of the wall clock, which also expires when that clock is set (timerfd_create(2)).
#[derive(Debug)]
pub struct WallTimer(OwnedFd);

impl WallTimer {
    /// A timer for a time in milliseconds since 1970, which must be after 1970 began. Times that the
    /// kernel does not know count as the latest one.
    pub fn at(millis: i64) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        let at = |millis: i64| Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            // Zero would turn it off.
            it_value: Timespec {
                tv_sec: millis.max(1) / 1000,
                tv_nsec: (millis.max(1) % 1000 * 1_000_000) as _,
            },
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        match timerfd_settime(&timer, flags, &at(millis)) {
            // A kernel with 32-bit time.
            Err(Errno::OVERFLOW) => {
                timerfd_settime(&timer, flags, &at(i64::from(i32::MAX) * 1000))?
            }
            result => result?,
        };
        Ok(Self(timer))
    }

    /// Waits on tokio's runtime until it expires. Nothing runs meanwhile.
    #[expect(
        unsafe_code,
        reason = "tokio cannot know that the descriptor stays open"
    )]
    pub async fn expired(self) -> io::Result<Expired> {
        // SAFETY: the timer owns its descriptor, so `as_raw_fd` returns the same open one until the `AsyncFd`
        // drops it.
        let timer = unsafe { AsyncFd::register_with_interest(self, Interest::READABLE) }?;
        loop {
            let mut ready = timer.readable().await?;
            if let Some(expired) = timer.get_ref().read()? {
                return Ok(expired);
            }
            ready.clear_ready();
        }
    }

    /// `None` before it has expired.
    fn read(&self) -> io::Result<Option<Expired>> {
        match rustix::io::read(&self.0, &mut [0; 8]) {
            Ok(_) => Ok(Some(Expired::Due)),
            Err(Errno::CANCELED) => Ok(Some(Expired::ClockSet)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsRawFd for WallTimer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    #[test]
    fn a_timer_of_the_past_is_due_at_once_and_one_of_the_future_waits() {
        for past in [i64::MIN, 0, 1, 1_700_000_000_000] {
            let timer = WallTimer::at(past).unwrap();
            poll(&mut [PollFd::new(&timer.0, PollFlags::IN)], None).unwrap();
            assert_eq!(timer.read().unwrap(), Some(Expired::Due), "{past}");
        }
        for future in [7_258_118_400_000, i64::MAX] {
            let timer = WallTimer::at(future).unwrap();
            assert_eq!(timer.read().unwrap(), None, "{future}");
        }
    }

    #[test]
    fn what_the_kernel_says_can_be_read() {
        assert!(uptime() > Duration::ZERO);
        // Both may be missing, and that is not an error.
        let _ = (is_synchronized(), hardware_clocks());
    }
}
