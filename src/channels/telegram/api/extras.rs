//! What newer servers take: tried until one of them refuses it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Something that not every server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Texts that are shown while they are written (Bot API 9.3).
    Drafts,
    /// Messages in groups that one person sees (Bot API 10.2).
    Ephemeral,
    /// Messages of blocks, such as tables (Bot API 10.1).
    Rich,
}

/// What the server takes, as far as is known. All connections share it.
#[derive(Debug, Default)]
pub struct Extras([AtomicBool; 3]);

impl Extras {
    /// These are tried.
    pub fn of(wanted: [(Extra, bool); 3]) -> Self {
        let extras = Self::default();
        for (extra, is_wanted) in wanted {
            extras.flag(extra).store(is_wanted, Ordering::Relaxed);
        }
        extras
    }

    /// Whether it is tried.
    pub fn has(&self, extra: Extra) -> bool {
        self.flag(extra).load(Ordering::Relaxed)
    }

    /// The server has refused it, and is not asked again.
    pub fn forget(&self, extra: Extra, said: &str) {
        tracing::info!("Telegram takes no {extra:?}, so this goes as with older servers: {said}");
        self.flag(extra).store(false, Ordering::Relaxed);
    }

    fn flag(&self, extra: Extra) -> &AtomicBool {
        let [drafts, ephemeral, rich] = &self.0;
        match extra {
            Extra::Drafts => drafts,
            Extra::Ephemeral => ephemeral,
            Extra::Rich => rich,
        }
    }
}
