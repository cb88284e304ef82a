//! What is in files and folders, as far as it can change what a command does that reads them: their content, and no times. A
//! store into a mapped file changes no time.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::OFlags;

use super::{Error, Place, Result, Uses, refused};
use crate::base::limits::tools::SCRIPT_HEAD_BYTES;
use crate::sandbox::files::PromptPlaces;
use crate::sys::beneath::links_on_the_way;
use crate::text::reveal_name;

/// Bytes of all files that are hashed for an approval: 10 seconds on a board, and more than an agent writes.
pub(super) const BOUND_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a file that are read at a time for that.
const BOUND_BUFFER: usize = 64 * 1024;
/// Files in the agent's folders that are bound to an approval as a whole: a second on a board.
pub(super) const BOUND_TREE: usize = 10_000;

/// Folders into which packages of the system put programs; links to those are common.
const PACKAGED: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/etc"];

/// What may still be looked at for an approval.
pub(super) struct Budget {
    files: usize,
    bytes: u64,
}

impl Budget {
    /// That of one approval.
    pub fn new() -> Self {
        Self {
            files: BOUND_TREE,
            bytes: BOUND_BYTES,
        }
    }
}

/// What is in a file.
#[derive(Default)]
pub(super) struct Content {
    /// A hash over its content, its kind and its mode.
    pub mark: Vec<u8>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines, also one without a newline at the end; 0 when it is not text.
    pub lines: u64,
    /// Its first bytes.
    pub head: Vec<u8>,
}

/// Adds the mark of each file in a folder and below it. It follows no links, and takes where one ends into its mark. What the
/// program itself keeps a place with comes and goes with other commands, and is left out.
pub(super) fn mark(
    folder: &Path,
    place: &Place<'_>,
    budget: &mut Budget,
    uses: &mut Uses,
) -> Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // Neither can the model, where it is not its own.
            Err(_) if is_of_another(&folder) => continue,
            Err(error) => return Err(unreadable(&folder, &error)),
        };
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in entries {
            budget.files = budget.files.checked_sub(1).ok_or_else(|| {
                let (most, path) = (BOUND_TREE, reveal_name(&folder.to_string_lossy()).into_owned());
                refused(&format!(
                    "the folders of the agent have more than {most} files, too many to be bound to an approval ({path}); \
                     delete or move some, or use a simple command"
                ))
            })?;
            paths.push(entry.map_err(|error| unreadable(&folder, &error))?.path());
        }
        paths.sort_unstable();
        for path in paths {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if PromptPlaces::is_made(&path, &metadata) {
                continue;
            }
            let mark = match metadata.is_symlink() {
                true => of_link(&path, place, uses)?,
                false => of_entry(&path, &metadata, budget)?,
            };
            uses.marks.push((path.clone(), mark));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

fn of_entry(path: &Path, metadata: &Metadata, budget: &mut Budget) -> Result<Vec<u8>> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return content(path, path, metadata, budget).map(|content| content.mark);
    }
    // What is in a pipe cannot be looked at.
    if kind.is_fifo() {
        return Err(refused(&format!(
            "{} is a pipe, into which commands in the sandbox can write; delete it first",
            reveal_name(&path.to_string_lossy())
        )));
    }
    let mut context = Context::new(&SHA256);
    add(&mut context, &metadata.mode().to_le_bytes());
    add(&mut context, &metadata.rdev().to_le_bytes());
    Ok(context.finish().as_ref().to_vec())
}

/// The mark of a link: where it ends, and the times of what is there, if the model cannot write that. Fails where other
/// programs write, or another process decides, what is there: it could change after the approval. People see where a link
/// leads out of what is bound, but for what the system's packages bring.
fn of_link(path: &Path, place: &Place<'_>, uses: &mut Uses) -> Result<Vec<u8>> {
    let target = std::fs::read_link(path).unwrap_or_default();
    let (end, links) = links_on_the_way(path);
    let mut context = Context::new(&SHA256);
    add(&mut context, target.as_os_str().as_encoded_bytes());
    // It may lead in a circle.
    let Ok(end) = end else {
        return Ok(context.finish().as_ref().to_vec());
    };
    let is_of_process = links.iter().chain([&end]).any(|it| it.starts_with("/proc"));
    if is_of_process || (place.is_hidden)(&end) {
        let [name, target] = [path, &target].map(|path| path.to_string_lossy());
        let (name, target) = (reveal_name(&name), reveal_name(&target));
        let why = match is_of_process {
            true => "which a process can change at any time",
            false => "which changes without being asked about",
        };
        return Err(refused(&format!(
            "{name} is a link to {target}, {why}; delete it first"
        )));
    }
    add(&mut context, end.as_os_str().as_encoded_bytes());
    let is_bound = (place.is_writable)(&end);
    if !is_bound && !PACKAGED.iter().any(|folder| end.starts_with(folder)) {
        uses.leads_out(path, &target, place);
    }
    if let Ok(found) = end.symlink_metadata() {
        add(&mut context, &found.dev().to_le_bytes());
        add(&mut context, &found.ino().to_le_bytes());
        if !is_bound && found.is_file() {
            add(&mut context, &found.len().to_le_bytes());
            for time in [
                found.mtime(),
                found.mtime_nsec(),
                found.ctime(),
                found.ctime_nsec(),
            ] {
                add(&mut context, &time.to_le_bytes());
            }
        }
    }
    Ok(context.finish().as_ref().to_vec())
}

/// Reads a whole file. Of one of another account that we cannot read only the inode counts: the model cannot write it either.
/// `shown` is its name for people.
pub(super) fn content(
    path: &Path,
    shown: &Path,
    metadata: &Metadata,
    budget: &mut Budget,
) -> Result<Content> {
    let mut context = Context::new(&SHA256);
    add(&mut context, &metadata.mode().to_le_bytes());
    let mut content = Content::default();
    // What was a file a moment ago may hold nobody up.
    let flags = OFlags::NONBLOCK.bits() as i32;
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(mut file) => {
            let read = read_into(&mut file, &mut context, &mut content, budget);
            read.map_err(|error| unreadable(shown, &error))?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) if metadata.uid() != rustix::process::geteuid().as_raw() => {
            add(&mut context, &metadata.dev().to_le_bytes());
            add(&mut context, &metadata.ino().to_le_bytes());
        }
        Err(error) => return Err(unreadable(shown, &error)),
    }
    content.mark = context.finish().as_ref().to_vec();
    Ok(content)
}

fn read_into(
    file: &mut File,
    context: &mut Context,
    content: &mut Content,
    budget: &mut Budget,
) -> std::io::Result<()> {
    if file.metadata()?.len() > budget.bytes {
        return Err(too_large());
    }
    let mut buffer = vec![0; BOUND_BUFFER];
    let mut lines = Lines::default();
    loop {
        let length = file.read(&mut buffer)?;
        let bytes = &buffer[..length];
        if bytes.is_empty() {
            break;
        }
        budget.bytes = budget
            .bytes
            .checked_sub(length as u64)
            .ok_or_else(too_large)?;
        let free = SCRIPT_HEAD_BYTES - content.head.len();
        content.head.extend_from_slice(&bytes[..length.min(free)]);
        context.update(bytes);
        content.bytes += length as u64;
        lines.add(bytes);
    }
    content.lines = lines.count();
    Ok(())
}

/// The lines of a text that is read piece by piece.
#[derive(Default)]
pub struct Lines {
    whole: u64,
    is_open: bool,
    has_nul: bool,
}

impl Lines {
    /// Takes the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.whole += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.is_open = bytes.last().map_or(self.is_open, |last| *last != b'\n');
        self.has_nul |= bytes.contains(&0);
    }

    /// How many there are, with one that has no newline; 0 when it is not text.
    pub fn count(&self) -> u64 {
        if self.has_nul {
            0
        } else {
            self.whole + u64::from(self.is_open)
        }
    }
}

fn too_large() -> std::io::Error {
    let most = BOUND_BYTES >> 20;
    std::io::Error::other(format!(
        "with it there are more than {most} MiB that commands in the sandbox can change, too many to be bound to an approval; \
         delete or move some, or use a simple command"
    ))
}

fn is_of_another(folder: &Path) -> bool {
    let metadata = folder.symlink_metadata();
    metadata.is_ok_and(|metadata| metadata.uid() != rustix::process::geteuid().as_raw())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let path = path.to_string_lossy();
    refused(&format!("failed to read {}: {error}", reveal_name(&path)))
}

/// Adds a part to a hash; where one ends counts too.
fn add(context: &mut Context, part: &[u8]) {
    context.update(&(part.len() as u64).to_le_bytes());
    context.update(part);
}
