//! The threads of channels in which we take part, `state/slack-threads.json`: what people write there is for us
//! without another mention. It is written when a thread is new.

use std::collections::VecDeque;
use std::path::Path;

use crate::base::message::Address;
use crate::store::state::StateFile;
use crate::store::state::file::{Damaged, Policy};

/// Threads of channels that are remembered: what is written there is for us.
const THREADS: usize = 64;
/// Bytes of the file with them; one takes 50.
const THREADS_FILE_BYTES: usize = 16 * 1024;

/// The threads, the newest at the end.
pub(super) struct Threads {
    file: StateFile<VecDeque<Address>>,
    known: VecDeque<Address>,
}

impl Threads {
    /// Those of a home, below its folder `state`.
    pub fn read(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: THREADS_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: false,
        };
        let file = StateFile::new(state.join("slack-threads.json"), policy);
        let mut known: VecDeque<Address> = file.read().unwrap_or_default();
        known.truncate(THREADS);
        Self { file, known }
    }

    /// Whether it is one of them.
    pub fn has(&self, thread: &Address) -> bool {
        self.known.contains(thread)
    }

    /// Notes a thread. The oldest one is forgotten.
    pub fn add(&mut self, thread: &Address) {
        if self.has(thread) {
            return;
        }
        if self.known.len() >= THREADS {
            self.known.pop_front();
        }
        self.known.push_back(thread.clone());
        let written = self.file.update(|stored| {
            stored.clone_from(&self.known);
            Ok(())
        });
        if let Err(error) = written {
            tracing::warn!("failed to save the threads of Slack: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_remembered_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let thread = |number: usize| Address::parse(&format!("slack:C1:{number}.000001"));
        let mut threads = Threads::read(folder.path());
        for number in 0..=THREADS {
            threads.add(&thread(number));
            threads.add(&thread(number));
        }
        for threads in [threads, Threads::read(folder.path())] {
            assert!(!threads.has(&thread(0)) && threads.has(&thread(1)));
            assert!(threads.has(&thread(THREADS)));
            assert_eq!(threads.known.len(), THREADS);
        }
        std::fs::write(folder.path().join("slack-threads.json"), "[").unwrap();
        assert!(!Threads::read(folder.path()).has(&thread(1)));
    }
}
