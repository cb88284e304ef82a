//! Writes a home folder as an archive, also while a gateway works in it.
//!
//! No lock is taken: small files are replaced by a rename and so are whole, and of logs everything up to the last newline
//! is copied, because they only grow. What makes the set fit together is the order. Each thing is copied before that
//! which it turns into: the places of the channels (`state/`) before the inbox, the inbox before jobs and journals, these
//! before the outbox, the outbox before its files, and journals before their archives and the memory. So what was
//! accepted before the copy began is in at least one place of it. Where it is in two, the ids tell, as after a crash; an
//! answer that left the outbox meanwhile may be given again. Journals are copied in the order of their last change, so
//! that this can happen only within the moment between an active journal and the outbox.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::unpack::{DEPTH_MAX, ENTRIES_MAX};
use super::{CONFIG, KEPT_NAMES, MANIFEST, Manifest, is_aside};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::sandbox::files::tar::{self, Member};
use crate::store::append_log::Tail;
use crate::sys::at::{self, Kind, Use};
use crate::sys::file::open_to_read;

/// Bytes of a file that is held in memory while it is copied, so that it is from one moment: conversations and queues are
/// smaller than this with the usual settings.
const WHOLE_BYTES_MAX: u64 = 8 << 20;
/// How often a file is read again that became shorter meanwhile: it was emptied or archived.
const READ_TRIES: usize = 3;
/// Bytes that are copied at a time.
const COPY_BYTES: usize = 64 * 1024;
/// Files that are named when they could not be copied.
const UNREADABLE_NAMED: usize = 5;

/// Paths of things that are made again when they are needed, or belong to this machine: of `programs`, what servers of tools
/// download and keep for themselves, in any number.
const LEFT_OUT: [&str; 4] = ["state/root", "state/empty", "state/tools", "programs"];
/// Names that are copied first, in this order; then the journals come.
const FIRST: [&str; 3] = ["state", "inbox.jsonl", "cron"];
/// Names that are copied behind the journals.
const BEHIND_JOURNALS: [&str; 2] = ["outbox.jsonl", "outgoing"];

/// A copy to be made.
pub struct Packing<'a> {
    /// The home folder.
    pub home: &'a Path,
    /// The text of the configuration, in place of the file's; `None` when there is none.
    pub config: Option<&'a str>,
    /// Describes the backup.
    pub manifest: &'a Manifest,
    /// Paths in the home folder that are left out.
    pub left_out: &'a [PathBuf],
    /// Stops it.
    pub cancel: &'a Cancel,
}

/// Counts of a copy.
#[derive(Debug, Default)]
pub struct Packed {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Links and devices, which are left out.
    pub links: usize,
    /// Files and folders that could not be read.
    pub unreadable: usize,
    /// The first of these.
    pub unreadable_names: Vec<String>,
}

/// Writes the archive.
pub fn pack(packing: &Packing<'_>, to: &mut dyn Write) -> Result<Packed> {
    let mut walk = Walk {
        packing,
        to,
        packed: Packed::default(),
        entries: 0,
        journals: BTreeSet::new(),
    };
    walk.text(MANIFEST, &packing.manifest.to_json())?;
    if let Some(config) = packing.config {
        walk.text(CONFIG, config)?;
        walk.packed.files += 1;
        walk.packed.bytes += config.len() as u64;
    }
    let root = open_top(packing.home).map_err(Error::io("open", packing.home))?;
    for name in FIRST {
        walk.top(&root, OsStr::new(name))?;
    }
    walk.active_journals()?;
    for name in BEHIND_JOURNALS {
        walk.top(&root, OsStr::new(name))?;
    }
    for name in sorted_names(&root).map_err(Error::io("list", packing.home))? {
        let is_done = |list: &[&str]| list.iter().any(|one| *one == name);
        let text = name.to_string_lossy();
        let is_own = is_done(&KEPT_NAMES) || is_done(&[CONFIG, MANIFEST]) || is_aside(&text);
        if is_own || is_done(&FIRST) || is_done(&BEHIND_JOURNALS) {
            continue;
        }
        walk.top(&root, &name)?;
    }
    walk.write(&tar::END)?;
    Ok(walk.packed)
}

fn open_top(path: &Path) -> io::Result<OwnedFd> {
    at::open_folder(at::open_root(path)?, OsStr::new("."))
}

/// The names in a folder, of which there are at most as many as an archive may have.
fn sorted_names(folder: impl AsFd) -> io::Result<Vec<OsString>> {
    let (mut names, more) = at::names(folder, ENTRIES_MAX)?;
    if more {
        return Err(io::Error::other("it has too many files"));
    }
    names.sort_unstable();
    Ok(names)
}

struct Walk<'a> {
    packing: &'a Packing<'a>,
    to: &'a mut dyn Write,
    packed: Packed,
    entries: usize,
    /// The journals that are copied already.
    journals: BTreeSet<PathBuf>,
}

impl Walk<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.packing.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        self.to.write_all(bytes).map_err(writing)
    }

    fn header(&mut self, path: &Path, kind: tar::Kind, status: &at::Status) -> Result<()> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            let text = format!("A backup has at most {ENTRIES_MAX} files and folders.");
            return Err(Error::Failed(text));
        }
        let mut bytes = path.as_os_str().as_bytes().to_vec();
        if kind == tar::Kind::Folder {
            bytes.push(b'/');
        }
        self.write(&tar::header(&Member {
            path: &bytes,
            kind,
            size: status.size,
            mode: status.mode,
            modified: status.modified,
        }))
    }

    /// Writes a file of our own.
    fn text(&mut self, name: &str, text: &str) -> Result<()> {
        let member = Member {
            path: name.as_bytes(),
            kind: tar::Kind::File,
            size: text.len() as u64,
            mode: 0o600,
            modified: Clock::System.now().timestamp(),
        };
        self.write(&tar::header(&member))?;
        self.write(text.as_bytes())?;
        self.write(&[0; tar::BLOCK][..tar::padding(text.len() as u64)])
    }

    /// A file or folder at the top of the home. Only there is a link followed: the person has made it, where the agent
    /// cannot change anything.
    fn top(&mut self, root: &OwnedFd, name: &OsStr) -> Result<()> {
        let path = Path::new(name);
        if LEFT_OUT.iter().any(|one| path == Path::new(one)) {
            return Ok(());
        }
        let is_link = at::status_at(root, name).is_ok_and(|found| found.kind == Kind::Link);
        if !is_link {
            return self.name(root, name, path, 0);
        }
        let target = self.packing.home.join(name).canonicalize();
        let target = target.unwrap_or_default();
        if target.is_dir() && !self.packing.home.starts_with(&target) {
            match open_top(&target).and_then(|folder| Ok((at::status(&folder)?, folder))) {
                Ok((status, folder)) => self.folder(&folder, &status, path, 0),
                Err(_) => self.unreadable(path),
            }
        } else if target.is_file() {
            match open_to_read(&target) {
                Ok(file) => self.file(file, path, &|| open_to_read(&target)),
                Err(_) => self.unreadable(path),
            }
        } else {
            self.packed.links += 1;
            Ok(())
        }
    }

    fn unreadable(&mut self, path: &Path) -> Result<()> {
        self.packed.unreadable += 1;
        if self.packed.unreadable_names.len() < UNREADABLE_NAMED {
            let name = path.display().to_string();
            self.packed.unreadable_names.push(name);
        }
        Ok(())
    }

    fn name(&mut self, folder: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> Result<()> {
        let is_left_out = LEFT_OUT.iter().any(|one| path == Path::new(one))
            || self.packing.left_out.iter().any(|one| path == one);
        if is_temporary(name) || is_left_out || self.journals.contains(path) {
            return Ok(());
        }
        let status = match at::status_at(folder, name) {
            Ok(status) => status,
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => return self.unreadable(path),
        };
        match status.kind {
            Kind::Folder => match at::open_folder(folder, name) {
                Ok(inner) => self.folder(&inner, &status, path, depth + 1),
                Err(_) => self.unreadable(path),
            },
            Kind::File => {
                let open = || {
                    let file = at::open_file(folder, name, Use::Read)?;
                    match at::status(&file)?.kind {
                        Kind::File => Ok(file),
                        _ => Err(io::ErrorKind::InvalidInput.into()),
                    }
                };
                match open() {
                    Ok(file) => self.file(file, path, &open),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                    Err(_) => self.unreadable(path),
                }
            }
            Kind::Link | Kind::Special => {
                self.packed.links += 1;
                Ok(())
            }
        }
    }

    fn folder(
        &mut self,
        folder: &OwnedFd,
        status: &at::Status,
        path: &Path,
        depth: usize,
    ) -> Result<()> {
        let Ok(names) = sorted_names(folder) else {
            return self.unreadable(path);
        };
        if depth >= DEPTH_MAX || at::is_kernel_view(folder).unwrap_or(true) {
            return self.unreadable(path);
        }
        self.header(path, tar::Kind::Folder, status)?;
        for name in names {
            self.name(folder, &name, &path.join(&name), depth)?;
        }
        Ok(())
    }

    /// Copies the journals of all agents, the ones that were changed last at the end.
    fn active_journals(&mut self) -> Result<()> {
        let mut folders = vec![PathBuf::from("sessions")];
        let agents = self.packing.home.join("agents");
        let agents = std::fs::read_dir(agents).into_iter().flatten().flatten();
        folders.extend(agents.map(|agent| {
            let id = agent.file_name();
            Path::new("agents").join(id).join("sessions")
        }));
        let mut found = Vec::new();
        for folder in folders {
            let inside = self.packing.home.join(&folder);
            for entry in std::fs::read_dir(inside).into_iter().flatten().flatten() {
                let path = folder.join(entry.file_name());
                let about = entry.metadata().ok();
                if let Some(about) = about.filter(|about| about.is_file() && is_log(&path)) {
                    found.push((about.modified().ok(), path));
                }
            }
        }
        found.sort_unstable();
        for (_, path) in found {
            if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
                && let Ok(folder) = open_top(&self.packing.home.join(folder))
            {
                self.name(&folder, name, &path, 0)?;
            }
            self.journals.insert(path);
        }
        Ok(())
    }

    fn file(
        &mut self,
        mut file: File,
        path: &Path,
        open: &dyn Fn() -> io::Result<File>,
    ) -> Result<()> {
        for _ in 0..READ_TRIES {
            let about = at::status(&file).and_then(|status| Ok((status, end_of(&file, path)?)));
            let Ok((mut status, end)) = about else {
                return self.unreadable(path);
            };
            status.size = end;
            if end > WHOLE_BYTES_MAX {
                return self.stream(file, path, &status);
            }
            let mut content = Vec::with_capacity(end as usize);
            let Ok(read) = (&file).take(end).read_to_end(&mut content) else {
                return self.unreadable(path);
            };
            if read as u64 == end {
                self.header(path, tar::Kind::File, &status)?;
                self.write(&content)?;
                return self.finish_file(end);
            }
            match open() {
                Ok(again) => file = again,
                Err(_) => break,
            }
        }
        self.unreadable(path)
    }

    /// Copies a file that is too large to be held. What is missing at its end, because it became shorter meanwhile, is
    /// filled up: with newlines in a log, whose readers pass over them.
    fn stream(&mut self, mut file: File, path: &Path, status: &at::Status) -> Result<()> {
        self.header(path, tar::Kind::File, status)?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut left = status.size;
        while left > 0 {
            let most = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(&mut buffer[..most]).unwrap_or(0);
            let read = match read {
                0 => {
                    buffer.fill(if is_log(path) { b'\n' } else { 0 });
                    most
                }
                read => read,
            };
            self.write(&buffer[..read])?;
            left -= read as u64;
        }
        self.finish_file(status.size)
    }

    fn finish_file(&mut self, size: u64) -> Result<()> {
        self.packed.files += 1;
        self.packed.bytes += size;
        self.write(&[0; tar::BLOCK][..tar::padding(size)])
    }
}

/// Whether a file is a log of ours, which only grows.
fn is_log(path: &Path) -> bool {
    let names: Vec<_> = path.iter().filter_map(OsStr::to_str).collect();
    let is_ours = matches!(
        *names,
        [_] | ["cron" | "sessions", ..] | ["agents", _, "sessions", ..]
    );
    is_ours && path.extension().is_some_and(|ending| ending == "jsonl")
}

/// Whether a name is that of a file that a write which goes on or was interrupted has made; see
/// [`write_atomic`](crate::sys::file::write_atomic).
fn is_temporary(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix('.'));
    let middle = middle.and_then(|name| name.strip_suffix(".tmp"));
    let number = middle.and_then(|name| name.rsplit('.').next());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The length of a file as far as it is copied: a log up to its last newline.
fn end_of(file: &File, path: &Path) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut last = [0];
    if !is_log(path) || length == 0 || file.read_at(&mut last, length - 1)? == 0 || last == [b'\n']
    {
        return Ok(length);
    }
    let last = Tail::new(file, length).previous()?;
    Ok(last.map_or(0, |last| last.offset))
}

/// The error of writing an archive.
pub(super) fn writing(source: io::Error) -> Error {
    Error::io("write", "the backup")(source)
}
