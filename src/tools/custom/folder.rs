//! The folder of a tool: read whole and hashed, and copied to where the model cannot write.
//!
//! The copy is what runs. It is made from the bytes that are hashed, so nothing can be swapped between
//! the question to a person and the run.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256, digest};

use super::{CUSTOM_BYTES_MAX, CUSTOM_FILES_MAX, CUSTOM_MANIFEST_BYTES_MAX};
use super::{FILE, FOLDER};
use crate::base::approval::Script;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::limits::tools::SCRIPT_HEAD_BYTES;
use crate::sandbox::files::{Found, Next, Workspace};
use crate::sys;
use crate::sys::at::Kind;
use crate::tools::commands::bound::{Lines, first_lines};
use std::time::Duration;

/// How long the copy of a tool that was allowed once is kept; no run takes longer.
const CUSTOM_COPY_AGE: Duration = Duration::from_secs(48 * 60 * 60);

/// Mode bits of which one says that a file can be executed.
const EXECUTABLE: u32 = 0o111;

/// What was in the folder of a tool when it was read.
#[derive(Debug)]
pub struct Contents {
    /// SHA-256 of the names, the contents and which files can be executed, in hexadecimal.
    pub hash: String,
    /// The files, with paths within the folder.
    pub files: Vec<Script>,
    /// The paths of those that can be executed.
    pub executables: Vec<String>,
    /// The bytes of its tool.json, at most one more than are allowed.
    pub manifest: Vec<u8>,
}

/// Reads the folder of a tool, and copies it to `copy` at the same time.
pub fn read(workspace: &Workspace, name: &str, copy: Option<&Path>) -> Result<Contents> {
    let mut reading = Reading {
        name,
        copy,
        context: Context::new(&SHA256),
        entries: 0,
        bytes: 0,
        contents: Contents {
            hash: String::new(),
            files: Vec::new(),
            executables: Vec::new(),
            manifest: Vec::new(),
        },
    };
    reading.add(b"tool", name.as_bytes());
    let mut failed = None;
    let walked = workspace.walk(&Path::new(FOLDER).join(name), &mut |found| {
        reading.take(found).unwrap_or_else(|error| {
            failed = Some(error);
            Next::Stop
        })
    })?;
    match failed {
        Some(error) => return Err(error),
        None if walked.cut || walked.unreadable > 0 => {
            return Err(reading.fault("a folder in it cannot be read"));
        }
        None => {}
    }
    let Reading {
        context,
        mut contents,
        ..
    } = reading;
    contents.hash = hex(context.finish().as_ref());
    Ok(contents)
}

struct Reading<'a> {
    name: &'a str,
    copy: Option<&'a Path>,
    context: Context,
    entries: usize,
    bytes: u64,
    contents: Contents,
}

impl Reading<'_> {
    fn take(&mut self, found: &Found<'_>) -> Result<Next> {
        self.entries += 1;
        if self.entries > CUSTOM_FILES_MAX {
            let why = format!("it has more than {CUSTOM_FILES_MAX} files and folders");
            return Err(self.fault(&why));
        }
        let Some(path) = found.path.to_str() else {
            return Err(self.fault("the name of a file is not UTF-8"));
        };
        if path.chars().any(char::is_control) {
            return Err(
                self.fault("the name of a file has a line break or another control character")
            );
        }
        match found.status.kind {
            Kind::Folder => {
                self.add(b"folder", path.as_bytes());
                if let Some(copy) = self.copy {
                    sys::file::private_folder(&copy.join(path))?;
                }
                Ok(Next::Enter)
            }
            Kind::File => self.file(path, found).map(|()| Next::Enter),
            Kind::Link | Kind::Special => {
                let why = format!("{path} is neither a file nor a folder");
                Err(self.fault(&why))
            }
        }
    }

    fn file(&mut self, path: &str, found: &Found<'_>) -> Result<()> {
        let is_executable = found.status.mode & EXECUTABLE != 0;
        let mut copy = self
            .copy
            .map(|copy| create(&copy.join(path), is_executable))
            .transpose()?;
        let is_manifest = path == FILE;
        let (mut file, mut content) = (found.open()?, Context::new(&SHA256));
        let (mut buffer, mut head, mut length) = ([0; 8 * 1024], Vec::new(), 0);
        let mut lines = Lines::default();
        loop {
            let count = file.read(&mut buffer).map_err(Error::io("read", path))?;
            let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            length += count as u64;
            lines.add(bytes);
            self.bytes += count as u64;
            if self.bytes > CUSTOM_BYTES_MAX {
                let why = format!("its files have more than {} MB", CUSTOM_BYTES_MAX >> 20);
                return Err(self.fault(&why));
            }
            content.update(bytes);
            keep_head(&mut head, bytes, SCRIPT_HEAD_BYTES);
            if is_manifest {
                let most = CUSTOM_MANIFEST_BYTES_MAX + 1;
                keep_head(&mut self.contents.manifest, bytes, most);
            }
            if let Some(copy) = &mut copy {
                copy.write_all(bytes).map_err(Error::io("copy", path))?;
            }
        }
        if let Some(copy) = copy {
            copy.sync_all().map_err(Error::io("copy", path))?;
        }
        let kind: &[u8] = if is_executable { b"program" } else { b"file" };
        self.add(kind, path.as_bytes());
        self.context.update(content.finish().as_ref());
        if is_executable {
            self.contents.executables.push(path.to_owned());
        }
        self.contents.files.push(Script {
            path: path.to_owned(),
            bytes: length,
            head: first_lines(&head),
            lines: lines.count(),
            is_missing: false,
        });
        Ok(())
    }

    fn add(&mut self, kind: &[u8], text: &[u8]) {
        for part in [kind, text] {
            self.context.update(&(part.len() as u64).to_le_bytes());
            self.context.update(part);
        }
    }

    fn fault(&self, why: &str) -> Error {
        Error::Failed(format!("{FOLDER}/{}: {why}", self.name))
    }
}

fn keep_head(head: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let free = most.saturating_sub(head.len()).min(bytes.len());
    head.extend_from_slice(bytes.get(..free).unwrap_or_default());
}

fn create(path: &Path, is_executable: bool) -> Result<File> {
    let mode = if is_executable { 0o500 } else { 0o400 };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    file.map_err(Error::io("make", path))
}

/// A folder with copies of tools, where no command can write.
#[derive(Clone, Debug)]
pub struct Copies(pub PathBuf);

impl Copies {
    /// The copy of a tool, which is made when there is none; `None` when the tool no longer has this
    /// hash. `kept` are the hashes of tools whose copies are kept.
    pub fn keep(
        &self,
        workspace: &Workspace,
        name: &str,
        hash: &str,
        kept: &[String],
    ) -> Result<Option<PathBuf>> {
        let copy = self.0.join(hash);
        if copy.is_dir() {
            return Ok(Some(copy));
        }
        self.remove_old(kept);
        let new = self.0.join(hex(&sys::random::bytes::<8>()?));
        sys::file::private_folder(&new)?;
        let is_same = read(workspace, name, Some(&new)).map(|contents| contents.hash == hash);
        if let Ok(true) = is_same {
            let moved = std::fs::rename(&new, &copy);
            // Another turn may have made it meanwhile.
            if moved.is_ok() || copy.is_dir() {
                sync(&copy);
                sync(&self.0);
                remove(&new);
                return Ok(Some(copy));
            }
            moved.map_err(Error::io("rename", &new))?;
        }
        remove(&new);
        is_same.map(|_| None)
    }

    /// Removes the copies of tools that were allowed once, or are no longer allowed.
    fn remove_old(&self, kept: &[String]) {
        let now = Clock::System.now().timestamp();
        for entry in std::fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let is_kept = kept.iter().any(|hash| entry.file_name() == hash.as_str());
            let made = entry.metadata().and_then(|found| found.modified());
            let made = made.ok().and_then(|made| {
                let since = made.duration_since(std::time::UNIX_EPOCH).ok()?;
                i64::try_from(since.as_secs()).ok()
            });
            let age = now.saturating_sub(made.unwrap_or_default());
            if !is_kept && age.unsigned_abs() > CUSTOM_COPY_AGE.as_secs() {
                remove(&entry.path());
            }
        }
    }
}

/// What cannot be removed is removed with one of the next copies.
fn remove(copy: &Path) {
    let _ = std::fs::remove_dir_all(copy);
}

/// After a power cut a copy that is not on the disk is made again.
fn sync(folder: &Path) {
    let _ = File::open(folder).map(|folder| sys::file::sync_folder(folder.as_fd()));
}

/// A word that stands between what a run of this tool writes to its output and its errors.
pub fn mark(name: &str, hash: &str) -> String {
    let hash = digest(&SHA256, hash.as_bytes());
    let word = hex(hash.as_ref().get(..8).unwrap_or_default());
    format!("--- standard error of {name} ({word}) ---")
}
