//! The side of systemd for a service of `Type=notify` with a watchdog: sd_notify(3).

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::harness::PATIENCE;

/// Ends the collecting thread; no service sends it.
const END: &[u8] = b"X_END_OF_TEST=1";

/// A service manager that records the notifications of one service, with their times. It never
/// ends the service: [`Watchdog::longest_gap`] shows whether systemd would have.
pub struct Watchdog {
    folder: TempDir,
    every: Duration,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    notices: Mutex<Vec<Notice>>,
    grown: Condvar,
}

/// One line that the service has sent.
#[derive(Clone, Debug)]
pub struct Notice {
    /// When it arrived.
    pub at: Instant,
    /// Such as `READY=1` or `STATUS=2 turns`.
    pub text: String,
}

impl Watchdog {
    /// A manager that would end a service after this time without a notification.
    pub fn new(every: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(Log::default());
        let watchdog = Self { folder, every, log };
        let socket = UnixDatagram::bind(watchdog.socket()).unwrap();
        let log = Arc::clone(&watchdog.log);
        thread::spawn(move || log.collect(&socket));
        watchdog
    }

    /// The environment variables of a service with this manager.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [
            ("NOTIFY_SOCKET", self.socket().display().to_string()),
            ("WATCHDOG_USEC", self.every.as_micros().to_string()),
        ]
    }

    /// All notifications so far, oldest first.
    pub fn notices(&self) -> Vec<Notice> {
        self.log.notices().clone()
    }

    /// Waits for a line; returns the newest one with this text.
    pub fn wait_for(&self, text: &str) -> Notice {
        self.wait_until(text, |notices| {
            notices.iter().rfind(|notice| notice.text == text).cloned()
        })
    }

    /// Waits until this many watchdog notifications have arrived in total.
    pub fn wait_for_meals(&self, count: usize) {
        self.wait_until(&format!("meal {count}"), |notices| {
            let meals = notices.iter().filter(|notice| notice.is_meal());
            (meals.count() >= count).then_some(())
        });
    }

    /// The longest time between two notifications, from `READY=1` until `STOPPING=1` or, if that
    /// has not arrived, until now. Zero before the service was ready.
    pub fn longest_gap(&self) -> Duration {
        let mut last = None;
        let mut longest = Duration::ZERO;
        for notice in self.log.notices().iter() {
            let ends = notice.text == "STOPPING=1";
            if ends || notice.is_meal() || notice.text == "READY=1" {
                let gap = last.map_or(Duration::ZERO, |last| notice.at - last);
                longest = longest.max(gap);
                last = Some(notice.at);
            }
            if ends {
                return longest;
            }
        }
        longest.max(last.map_or(Duration::ZERO, |last| last.elapsed()))
    }

    /// Fails where systemd would have ended the service.
    #[track_caller]
    pub fn assert_fed(&self) {
        let gap = self.longest_gap();
        assert!(
            gap < self.every,
            "the watchdog was not fed for {gap:?}, and its time is {:?}",
            self.every
        );
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("notify")
    }

    fn wait_until<T>(&self, what: &str, mut look: impl FnMut(&[Notice]) -> Option<T>) -> T {
        let mut found = None;
        let waited = self
            .log
            .grown
            .wait_timeout_while(self.log.notices(), PATIENCE, |notices| {
                found = look(notices);
                found.is_none()
            });
        drop(waited);
        found.unwrap_or_else(|| panic!("systemd never heard {what}: {:#?}", self.notices()))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Ends the collecting thread, which may have ended already.
        if let Ok(socket) = UnixDatagram::unbound() {
            let _ = socket.send_to(END, self.socket());
        }
    }
}

impl Notice {
    fn is_meal(&self) -> bool {
        self.text == "WATCHDOG=1"
    }
}

impl Log {
    fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect(&self, socket: &UnixDatagram) {
        let mut buffer = [0; 4096];
        while let Ok(length) = socket.recv(&mut buffer) {
            let at = Instant::now();
            if &buffer[..length] == END {
                return;
            }
            // One datagram may have several lines.
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let lines = text.lines().map(|line| Notice {
                at,
                text: line.to_owned(),
            });
            self.notices().extend(lines);
            self.grown.notify_all();
        }
    }
}
