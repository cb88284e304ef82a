//! A clock for the program that a test turns, so that no story waits for a real hour.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use chrono::DateTime;
use tempfile::TempDir;

/// The variable with the clock's file, in a build for tests.
pub const VARIABLE: &str = "PEACRAB_TEST_CLOCK";

/// A clock. The programs of a home follow it after [`Home::turn`](crate::harness::home::Home::turn), within
/// some milliseconds. It stands still until it is turned.
pub struct Turned {
    folder: TempDir,
    face: Mutex<Face>,
}

#[derive(Clone, Copy)]
struct Face {
    millis: i64,
    uptime: Duration,
    is_synchronized: bool,
}

impl Turned {
    /// A clock that a time service keeps right, at a time such as `2026-11-23T07:00:00Z`. The machine has
    /// just started.
    pub fn at(time: &str) -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
            face: Mutex::new(Face {
                millis: parse(time),
                uptime: Duration::from_secs(30),
                is_synchronized: true,
            }),
        };
        clock.change(|_| ());
        clock
    }

    /// The same, which nothing has confirmed.
    pub fn unsynchronized(time: &str) -> Self {
        let clock = Self::at(time);
        clock.change(|face| face.is_synchronized = false);
        clock
    }

    /// Lets time pass.
    pub fn forward(&self, time: Duration) {
        self.change(|face| {
            face.millis += i64::try_from(time.as_millis()).unwrap();
            face.uptime += time;
        });
    }

    /// Sets the clock back.
    pub fn back(&self, time: Duration) {
        self.change(|face| face.millis -= i64::try_from(time.as_millis()).unwrap());
    }

    /// Sets the clock.
    pub fn set(&self, time: &str) {
        self.change(|face| face.millis = parse(time));
    }

    /// Whether a time service keeps it right, from now on.
    pub fn synchronize(&self, is_synchronized: bool) {
        self.change(|face| face.is_synchronized = is_synchronized);
    }

    /// The machine starts again: the uptime begins anew.
    pub fn reboot(&self) {
        self.change(|face| face.uptime = Duration::from_secs(30));
    }

    /// Its time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.face.lock().unwrap().millis
    }

    /// The file that the program reads.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("clock")
    }

    fn change(&self, change: impl FnOnce(&mut Face)) {
        let mut face = self.face.lock().unwrap();
        change(&mut face);
        let (uptime, synchronized) = (face.uptime.as_millis(), i32::from(face.is_synchronized));
        // Replaced as a whole: the program must never read half of it.
        let new: &Path = &self.folder.path().join("new");
        fs::write(new, format!("{} {uptime} {synchronized}\n", face.millis)).unwrap();
        fs::rename(new, self.file()).unwrap();
    }
}

fn parse(time: &str) -> i64 {
    DateTime::parse_from_rfc3339(time)
        .unwrap()
        .timestamp_millis()
}
