//! The earlier texts of MEMORY.md: `memory/.versions/NUMBER.md`, the highest number is the newest.

use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::sandbox::files::Next;
use crate::sys::at::Kind;

use super::{FACTS, Memory, if_any};
use super::{FACTS_FILE_BYTES_MAX, VERSIONS};

/// Bytes of all of them; the newest one is kept whatever its size.
const VERSIONS_BYTES: u64 = 1024 * 1024;

const FOLDER: &str = "memory/.versions";

/// An earlier text of MEMORY.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Names it. A later version has a higher number; numbers are not used twice.
    pub number: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was replaced, in seconds since 1970.
    pub replaced: i64,
}

impl Memory<'_> {
    /// The earlier texts of MEMORY.md, the newest first.
    pub fn versions(&self) -> Result<Vec<Version>> {
        let mut versions = Vec::new();
        let walked = self.workspace.walk(Path::new(FOLDER), &mut |found| {
            let name = found
                .path
                .to_str()
                .and_then(|name| name.strip_suffix(".md"));
            let number = name.and_then(|name| name.parse().ok());
            if let Some(number) = number.filter(|_| found.status.kind == Kind::File) {
                versions.push(Version {
                    number,
                    bytes: found.status.size,
                    replaced: found.status.modified,
                });
            }
            Next::Pass
        });
        if_any(walked)?;
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(version.number));
        Ok(versions)
    }

    /// What a version says. Fails with [`Error::Usage`] when there is no such version.
    pub fn version(&self, number: u32) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.read_version(number)?).into_owned())
    }

    /// Replaces MEMORY.md with a version, and keeps the present text as the newest version.
    pub fn restore(&self, number: u32) -> Result<()> {
        let content = self.read_version(number)?;
        while !self.replace(&self.current()?, &content)? {}
        Ok(())
    }

    fn read_version(&self, number: u32) -> Result<Vec<u8>> {
        let content = self.read_beginning(&path_of(number), FACTS_FILE_BYTES_MAX)?;
        content.ok_or_else(|| {
            Error::Usage(format!(
                "No version {number} of {FACTS}. `peacrab memory history` shows all of them."
            ))
        })
    }

    /// Keeps a text as the newest version, unless it is that already or blank.
    pub(super) fn keep(&self, content: &[u8]) -> Result<()> {
        if content.trim_ascii().is_empty() {
            return Ok(());
        }
        let newest = self.versions()?.first().map_or(0, |newest| newest.number);
        if newest > 0 && self.read_version(newest)? == content {
            return Ok(());
        }
        let path = path_of(newest.saturating_add(1));
        self.workspace.write(&path, content)
    }

    /// Removes the oldest versions beyond the bounds. What cannot be removed is left for the next time.
    pub(super) fn prune_versions(&self) {
        let mut bytes = 0;
        for (index, version) in self.versions().unwrap_or_default().into_iter().enumerate() {
            bytes += version.bytes;
            if index >= VERSIONS || (index > 0 && bytes > VERSIONS_BYTES) {
                let _ = self.workspace.remove(&path_of(version.number));
            }
        }
    }
}

fn path_of(number: u32) -> PathBuf {
    Path::new(FOLDER).join(format!("{number}.md"))
}
