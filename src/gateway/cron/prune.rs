//! The conversations of jobs that were removed: by whom and how is seen in the file of jobs only.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::run::{CHANNEL, own_session, session_of};
use crate::gateway::Gateway;
use crate::schedule::Jobs;
use crate::store::session::store;

impl Gateway {
    /// Deletes the conversations of jobs that are not in the file any more, once after each change of it: those of
    /// the jobs' own. A conversation that a job was given is a person's, whatever its key begins with. `stamp` is
    /// [`Store::changed`](crate::schedule::Store::changed) from before the file was read.
    pub(super) fn prune_conversations(&self, read: &Jobs, running: &BTreeSet<String>, stamp: u64) {
        // Without a file, or with a job whose id cannot be read, it is not known whose they are.
        let is_unclear = stamp == 0 || read.faults.iter().any(|fault| fault.id.is_none());
        if is_unclear || *self.cron.pruned.lock() == stamp {
            return;
        }
        let usable = read.jobs.iter().map(|job| &job.id);
        let unusable = read.faults.iter().filter_map(|fault| fault.id.as_ref());
        for hosted in self.live().agents.all() {
            let ids = usable.clone().chain(unusable.clone()).chain(running);
            let own = ids.map(|id| own_session(id));
            let keys = own.chain(read.jobs.iter().map(session_of));
            let kept: BTreeSet<PathBuf> = keys
                .map(|key| store::path_of(&hosted.sessions, &key))
                .collect();
            let prefix = format!("{CHANNEL}_");
            if let Err(error) = store::delete_others(&hosted.sessions, &prefix, &kept) {
                tracing::warn!("failed to delete the conversations of removed jobs: {error}");
            }
        }
        // A job that is removed after its run is looked at once more.
        if running.iter().all(|id| read.find(id).is_some()) {
            *self.cron.pruned.lock() = stamp;
        }
    }
}
