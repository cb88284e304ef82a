//! A folder with everything in it, as far as it can change what a command does that runs or reads it as a whole.

use std::fs::symlink_metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ring::digest::{Context, SHA256};

use super::status;

/// A hash over the names in a folder and below it, and the inode, size and time of change of each. It follows a link to its
/// file, but into no folder. `None` when there are more than are left.
pub(super) fn mark(folder: &Path, left: &mut usize) -> Option<Vec<u8>> {
    let mut context = Context::new(&SHA256);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What we may not read cannot be told apart; its own time of change is in the mark.
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut paths = Vec::new();
        for entry in entries {
            *left = left.checked_sub(1)?;
            paths.push(entry.path());
        }
        paths.sort_unstable();
        for path in paths {
            context.update(path.as_os_str().as_bytes());
            // The byte that no path holds.
            context.update(&[0]);
            let Ok(metadata) = symlink_metadata(&path) else {
                continue;
            };
            // The time of a folder changes with what is in it, which is looked at anyway.
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            context.update(&status(&metadata));
            if let Some(target) = path.metadata().ok().filter(|_| metadata.is_symlink()) {
                context.update(&status(&target));
            }
        }
    }
    Some(context.finish().as_ref().to_vec())
}
