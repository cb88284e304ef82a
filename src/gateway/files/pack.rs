//! What is too large for one message, and folders: written next to the workspace's files in parts that the
//! channel takes, and removed once they are delivered.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{DraftKey, Envelope, NAME_MARK};
use crate::base::sync::Mutex;
use crate::gateway::Gateway;
use crate::sandbox::files::gzip::Gzip;
use crate::sandbox::files::tar::{self, Member};
use crate::sandbox::files::{Next, Workspace};
use crate::sys::at::Kind;
use crate::sys::random;
use crate::text::markup::inline_code;

use super::{COPY_BYTES, GET_PARTS_MAX};
use super::{format_bytes, format_digest, texts};
use std::time::Duration;

/// Bytes of the disk that stay free while something is packed.
const GET_FREE_BYTES: u64 = 100_000_000;
/// How long something is packed before people see how far it is, and how often then.
const GET_SHOWN_AFTER: Duration = Duration::from_secs(2);
/// After what time something that was packed and not delivered is removed.
const OUTGOING_AGE: Duration = Duration::from_hours(24);

/// The folder of what was made to be sent, in the workspace.
pub(super) const FOLDER: &str = ".outgoing";

/// Shows how far packing is, when it takes long.
pub(super) struct Shown<'a> {
    gateway: &'a Arc<Gateway>,
    message: &'a Envelope,
    draft: &'a DraftKey,
    since: Mutex<Stopwatch>,
}

impl<'a> Shown<'a> {
    pub fn new(gateway: &'a Arc<Gateway>, message: &'a Envelope, draft: &'a DraftKey) -> Self {
        Self {
            gateway,
            message,
            draft,
            since: Mutex::new(Stopwatch::start()),
        }
    }

    fn show(&self, bytes: u64) {
        let mut since = self.since.lock();
        if since.elapsed() < GET_SHOWN_AFTER {
            return;
        }
        *since = Stopwatch::start();
        let to = self.message.address();
        if let Some(delivery) = self.gateway.delivery(&to) {
            let text = texts::packing(self.message.language(), &format_bytes(bytes));
            delivery.draft(self.draft, &to, text, &self.message.reference);
        }
    }
}

/// What was packed.
pub(super) struct Packed {
    /// The parts, as paths in the workspace.
    pub parts: Vec<String>,
    /// Bytes of all parts.
    pub bytes: u64,
    hash: String,
    files: usize,
    left_out: usize,
}

impl Packed {
    /// What it is, and how the parts are joined again.
    pub fn describe(&self, language: Language, name: &str) -> String {
        let (shown, bytes) = (inline_code(name), format_bytes(self.bytes));
        let hash = inline_code(&self.hash);
        let mut text = texts::packed(language, &shown, &bytes, &hash);
        if self.files > 0 {
            text += &format!("\n{}", texts::with_files(language, &self.files));
        }
        if self.left_out > 0 {
            text += &format!("\n{}", texts::left_out(language, &self.left_out));
        }
        if self.parts.len() > 1 {
            let quoted = quoted(name);
            let join = inline_code(&format!("cat {quoted}.0* > {quoted}"));
            text += &format!("\n{}", texts::join(language, &self.parts.len(), &join));
        }
        text
    }
}

/// A name for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.+,@".contains(char);
    if name.chars().all(is_plain) && !name.starts_with('-') {
        name.to_owned()
    } else {
        format!("./'{}'", name.replace('\'', r"'\''"))
    }
}

/// Writes parts of a bounded size.
pub(super) struct Packer<'a> {
    workspace: &'a Workspace,
    shown: &'a Shown<'a>,
    cancel: &'a Cancel,
    /// The path of the first part while it is the only one; the others have a number behind it.
    path: String,
    limit: u64,
    parts: Vec<String>,
    file: Option<File>,
    in_part: u64,
    bytes: u64,
    digest: Context,
}

impl<'a> Packer<'a> {
    pub fn new(
        workspace: &'a Workspace,
        name: &str,
        limit: u64,
        (shown, cancel): (&'a Shown<'a>, &'a Cancel),
    ) -> Result<Self> {
        prune(workspace);
        let number = u32::from_ne_bytes(random::bytes()?);
        Ok(Self {
            workspace,
            shown,
            cancel,
            path: format!("{FOLDER}/{number:08x}{NAME_MARK}{name}"),
            limit: limit.max(1),
            parts: Vec::new(),
            file: None,
            in_part: 0,
            bytes: 0,
            digest: Context::new(&SHA256),
        })
    }

    /// Begins the next part. The disk keeps some room for everything else.
    fn next_part(&mut self) -> io::Result<&mut File> {
        let other = |error: Error| io::Error::other(error.to_string());
        let number = self.parts.len();
        if number >= GET_PARTS_MAX {
            return Err(io::Error::other(format!("more than {GET_PARTS_MAX} parts")));
        }
        if number == 1 {
            let first = format!("{}.001", self.path);
            self.workspace
                .rename(Path::new(&self.path), Path::new(&first))
                .map_err(other)?;
            self.parts = vec![first];
        }
        let path = match number {
            0 => self.path.clone(),
            number => format!("{}.{:03}", self.path, number + 1),
        };
        let file = self.workspace.create(Path::new(&path)).map_err(other)?;
        self.parts.push(path);
        self.in_part = 0;
        Ok(self.file.insert(file))
    }

    fn check(&self) -> io::Result<()> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other(Error::Stopped.to_string()));
        }
        let free = rustix::fs::statvfs(self.workspace.path()).map_or(u64::MAX, |found| {
            found.f_bavail.saturating_mul(found.f_frsize)
        });
        if free < GET_FREE_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn finish(mut self, files: usize, left_out: usize) -> Packed {
        Packed {
            parts: std::mem::take(&mut self.parts),
            bytes: self.bytes,
            hash: format_digest(self.digest.clone()),
            files,
            left_out,
        }
    }
}

impl Write for Packer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() || self.in_part >= self.limit {
            self.check()?;
            self.next_part()?;
        }
        let room = usize::try_from(self.limit - self.in_part).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        let Some(file) = self.file.as_mut() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let written = file.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or_default());
        self.in_part += written as u64;
        let before = self.bytes / CHECKED_BYTES;
        self.bytes += written as u64;
        if self.bytes / CHECKED_BYTES > before {
            self.check()?;
        }
        self.shown.show(self.bytes);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many bytes are written until it is looked again at the disk and whether it was stopped.
const CHECKED_BYTES: u64 = 1 << 20;

/// What was begun and not handed over is of no use.
impl Drop for Packer<'_> {
    fn drop(&mut self) {
        for part in &self.parts {
            if let Err(error) = self.workspace.remove(Path::new(part)) {
                tracing::warn!("failed to remove what was packed: {error}");
            }
        }
    }
}

/// A file in parts.
pub(super) fn file(mut packer: Packer<'_>, path: &Path) -> Result<Packed> {
    let mut from = packer.workspace.open_read(path)?;
    copy(&mut from, &mut packer).map_err(|error| failed(&packer, path, error))?;
    Ok(packer.finish(0, 0))
}

/// A folder as an archive that is compressed. Links are left out: they would lead elsewhere.
pub(super) fn folder(packer: Packer<'_>, path: &Path) -> Result<Packed> {
    let (workspace, cancel) = (packer.workspace, packer.cancel);
    let packing = |error| Error::io("pack", path)(error);
    let own = path.file_name().or_else(|| workspace.path().file_name());
    let top = own.map_or_else(PathBuf::new, PathBuf::from);
    let mut gzip = Gzip::new(packer).map_err(packing)?;
    let (mut files, mut left_out, mut fault) = (0, 0, None);
    let walked = workspace.walk(path, &mut |found| {
        let name = top.join(found.path);
        let written = match found.status.kind {
            _ if is_ours(path, found.path) => return Next::Pass,
            Kind::Folder => write_folder(&mut gzip, &name, found.status.modified),
            Kind::File => match found.open() {
                Ok(mut file) => {
                    files += 1;
                    let status = (found.status.size, found.status.mode, found.status.modified);
                    write_file(&mut gzip, &name, status, &mut file)
                }
                Err(_) => {
                    left_out += 1;
                    Ok(())
                }
            },
            Kind::Link | Kind::Special => {
                left_out += 1;
                Ok(())
            }
        };
        match written {
            Ok(()) => Next::Enter,
            Err(error) => {
                fault = Some(error);
                Next::Stop
            }
        }
    })?;
    if cancel.is_cancelled() {
        return Err(Error::Stopped);
    }
    if let Some(error) = fault {
        return Err(packing(error));
    }
    if walked.cut {
        return Err(Error::Failed(
            "The folder has too many files, or folders within each other, for one archive"
                .to_owned(),
        ));
    }
    gzip.write_all(&tar::END).map_err(packing)?;
    let packer = gzip.finish().map_err(packing)?;
    Ok(packer.finish(files, left_out + walked.unreadable))
}

/// Whether it is what was made to be sent.
fn is_ours(base: &Path, path: &Path) -> bool {
    base.join(path)
        .components()
        .any(|part| part.as_os_str() == FOLDER)
}

fn write_folder(to: &mut dyn Write, path: &Path, modified: i64) -> io::Result<()> {
    let path = format!("{}/", path.to_string_lossy());
    to.write_all(&tar::header(&Member {
        path: path.as_bytes(),
        kind: tar::Kind::Folder,
        size: 0,
        mode: 0o755,
        modified,
    }))
}

fn write_file(
    to: &mut dyn Write,
    path: &Path,
    (size, mode, modified): (u64, u32, i64),
    from: &mut dyn Read,
) -> io::Result<()> {
    let path = path.to_string_lossy();
    to.write_all(&tar::header(&Member {
        path: path.as_bytes(),
        kind: tar::Kind::File,
        size,
        mode,
        modified,
    }))?;
    let copied = copy(&mut from.take(size), to)?;
    // It may have become shorter since.
    let missing = size - copied.min(size);
    copy(
        &mut io::repeat(0).take(missing + tar::padding(size) as u64),
        to,
    )?;
    Ok(())
}

fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<u64> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut copied = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(read) => {
                to.write_all(buffer.get(..read).unwrap_or_default())?;
                copied += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn failed(packer: &Packer<'_>, path: &Path, error: io::Error) -> Error {
    if packer.cancel.is_cancelled() {
        return Error::Stopped;
    }
    Error::io("pack", path)(error)
}

impl Gateway {
    /// Removes what the last run has packed, or begun to pack, and what no message will deliver. Called before
    /// anything is packed.
    pub(in crate::gateway) fn clear_outgoing(&self) {
        let pending = self.parts.outbox.pending().into_iter();
        let kept: BTreeSet<String> = pending.flat_map(|one| one.message.files).collect();
        for hosted in self.live().agents.all() {
            let folder = PathBuf::from(hosted.absolute(FOLDER));
            if !folder.is_dir() {
                continue;
            }
            match hosted.workspace() {
                Ok(workspace) => remove(&workspace, |path, _| {
                    !kept.contains(&*folder.join(path).to_string_lossy())
                }),
                Err(error) => tracing::warn!("failed to look at {}: {error}", folder.display()),
            }
        }
    }
}

/// Removes what an earlier run has made and never delivered.
fn prune(workspace: &Workspace) {
    let clock = Clock::System;
    if !clock.is_set() {
        return;
    }
    let now = clock.now().timestamp();
    remove(workspace, |_, modified| {
        let age = now.saturating_sub(modified);
        u64::try_from(age).is_ok_and(|age| age > OUTGOING_AGE.as_secs())
    });
}

/// Removes the packed files that are superfluous, by their path in the folder and when they were written.
fn remove(workspace: &Workspace, is_superfluous: impl Fn(&Path, i64) -> bool) {
    let mut found = Vec::new();
    let walked = workspace.walk(Path::new(FOLDER), &mut |seen| {
        if is_superfluous(seen.path, seen.status.modified) {
            found.push(Path::new(FOLDER).join(seen.path));
        }
        Next::Pass
    });
    if walked.is_err() {
        return;
    }
    for path in found {
        if let Err(error) = workspace.remove(&path) {
            tracing::debug!("failed to remove what was packed: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_where_a_shell_would_read_more_than_a_name() {
        for (name, expected) in [
            ("a-b_1.tar.gz", "a-b_1.tar.gz"),
            ("a b", "./'a b'"),
            ("-rf", "./'-rf'"),
            ("it's $(id)", r"./'it'\''s $(id)'"),
        ] {
            assert_eq!(quoted(name), expected);
        }
    }
}
