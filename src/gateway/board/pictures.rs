//! Pictures that were made for a message: files in the home, which the delivery deletes once they are sent.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::base::error::{Error, Result};
use crate::base::message::NAME_MARK;
use crate::gateway::Gateway;
use crate::sys;

/// Pictures that wait for their delivery. Older ones are deleted, and their message says so.
const WAITING_MAX: usize = 16;
/// How long a picture waits that no message has taken along.
const WAITING_TIME: Duration = Duration::from_secs(7 * 24 * 3600);

impl Gateway {
    /// Stores a picture for a message, under a name that people see, and returns its path. Older ones make
    /// room for it.
    pub(in crate::gateway) fn store_picture(&self, name: &str, png: &[u8]) -> Result<String> {
        let folder = &self.parts.pictures;
        sys::file::private_folder(folder)?;
        self.prune_pictures();
        let number = u64::from_ne_bytes(sys::random::bytes()?);
        let path = folder.join(format!("{number:016x}{NAME_MARK}{name}"));
        sys::file::replace_unsynced(&path, png, 0o600)?;
        path.into_os_string()
            .into_string()
            .map_err(|path| Error::Failed(format!("{} is not UTF-8", path.display())))
    }

    /// Deletes what is old, and the oldest of what is too much.
    fn prune_pictures(&self) {
        let entries = std::fs::read_dir(&self.parts.pictures)
            .into_iter()
            .flatten();
        let mut found: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
            })
            .collect();
        found.sort_unstable();
        let over = (found.len() + 1).saturating_sub(WAITING_MAX);
        let now = u64::try_from(self.clock().now_ms()).unwrap_or(0);
        let earliest = Duration::from_millis(now).saturating_sub(WAITING_TIME);
        let is_old = |time: &SystemTime| *time < UNIX_EPOCH + earliest;
        for (index, (time, path)) in found.iter().enumerate() {
            if index < over || is_old(time) {
                tracing::info!("deleting a picture that was not sent: {}", path.display());
                if let Err(error) = std::fs::remove_file(path) {
                    tracing::warn!("failed to delete {}: {error}", path.display());
                }
            }
        }
    }
}
