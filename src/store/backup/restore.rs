//! A backup that is read: what it would change, and its files in a new folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::seal::{MAGIC, Opener};
use super::unpack::{Entry, Gunzip, damaged, read_tar};
use super::{CONFIG, KEPT_NAMES, MANIFEST, Manifest, is_aside, or_stopped};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::secret::Secret;
use crate::sys::file::open_to_read;

/// Bytes of the manifest.
const MANIFEST_BYTES_MAX: u64 = 64 * 1024;
/// Bytes that are compared or copied at a time.
const COPY_BYTES: usize = 64 * 1024;
/// Bytes of the disk that stay free.
const FREE_BYTES: u64 = 64 << 20;
/// Bytes of the disk that a file takes besides its own: half a block, and its name and inode.
const FILE_OVERHEAD_BYTES: u64 = 4096;
/// Folders whose files only this account reads.
const PRIVATE: [&str; 4] = ["state", "sessions", "cron", "outgoing"];

/// Changes to the files below one name at the top of the home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are not there now.
    pub new: usize,
    /// Files with another content now.
    pub changed: usize,
    /// Files that are the same.
    pub same: usize,
    /// Files that are there now and not in the backup.
    pub aside: usize,
}

/// A backup that was read, and the changes that it would make.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its description.
    pub manifest: Manifest,
    /// Its files, except the manifest.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether it has a configuration.
    pub has_config: bool,
    /// By the name at the top of the home.
    pub changes: BTreeMap<String, Changes>,
}

/// A file with a backup.
pub struct Backup {
    name: PathBuf,
    file: File,
    is_sealed: bool,
    passphrase: Option<Secret>,
}

/// Stops a long reading.
struct Watched<'a, R> {
    from: R,
    cancel: &'a Cancel,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("stopped")),
            false => self.from.read(to),
        }
    }
}

impl Backup {
    /// Opens a file, which must be one that can be read twice. `name` is for people.
    pub fn new(mut file: File, name: &Path) -> Result<Self> {
        let mut magic = Vec::new();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| (&file).take(MAGIC.len() as u64).read_to_end(&mut magic))
            .map_err(Error::io("read", name))?;
        Ok(Self {
            name: name.to_owned(),
            is_sealed: magic == MAGIC,
            file,
            passphrase: None,
        })
    }

    /// Whether a passphrase is needed.
    pub fn is_encrypted(&self) -> bool {
        self.is_sealed
    }

    /// Takes the passphrase.
    pub fn unlock(&mut self, passphrase: Secret) {
        self.passphrase = Some(passphrase);
    }

    /// Reads all of it, and shows what is allowed. The first member is the manifest, which is returned.
    fn read(
        &mut self,
        cancel: &Cancel,
        visit: &mut dyn FnMut(&Entry, &mut dyn Read) -> Result<()>,
    ) -> Result<Manifest> {
        let (mut manifest, mut fault) = (None, None);
        let mut show = |entry: &Entry, content: &mut dyn Read| {
            if manifest.is_none() {
                manifest = Some(read_manifest(entry, content)?);
                return Ok(());
            }
            check_top(entry)?;
            visit(entry, content).map_err(|error| {
                fault = Some(error);
                io::ErrorKind::Other.into()
            })
        };
        let reading = Error::io("read", self.name.clone());
        self.file
            .seek(SeekFrom::Start(0))
            .map_err(Error::io("read", self.name.clone()))?;
        let from = BufReader::new(Watched {
            from: &self.file,
            cancel,
        });
        let passphrase = self.passphrase.as_ref().filter(|_| self.is_sealed);
        let read = match passphrase {
            Some(passphrase) => Opener::new(from, passphrase)
                .and_then(Gunzip::new)
                .and_then(|mut from| read_tar(&mut from, &mut show)),
            None => Gunzip::new(from).and_then(|mut from| read_tar(&mut from, &mut show)),
        };
        let read = match (read, fault) {
            (Err(_), Some(fault)) => Err(fault),
            (read, _) => read.map_err(reading),
        };
        or_stopped(read, cancel)?;
        manifest.ok_or_else(|| {
            let name = self.name.display();
            Error::Failed(format!("{name} is not a backup: it is empty."))
        })
    }

    /// Reads and checks all of it, and compares it with what is in a home folder.
    pub fn survey(&mut self, home: &Path, cancel: &Cancel) -> Result<Survey> {
        let mut survey = Survey::default();
        let mut seen = BTreeSet::new();
        survey.manifest = self.read(cancel, &mut |entry, content| {
            if entry.is_folder {
                return Ok(());
            }
            survey.files += 1;
            survey.bytes += entry.size;
            survey.has_config |= entry.path == Path::new(CONFIG);
            let changes = survey.changes.entry(top_of(&entry.path)).or_default();
            let there = home.join(&entry.path);
            match is_same(&there, entry.size, content) {
                None => changes.new += 1,
                Some(true) => changes.same += 1,
                Some(false) => changes.changed += 1,
            }
            seen.insert(entry.path.clone());
            Ok(())
        })?;
        count_aside(home, Path::new(""), &mut |path| {
            if !seen.contains(path) && !cancel.is_cancelled() {
                survey.changes.entry(top_of(path)).or_default().aside += 1;
            }
        });
        Ok(survey)
    }

    /// Writes its files into a new folder, and forces them to the disk.
    pub fn extract(&mut self, survey: &Survey, to: &Path, cancel: &Cancel) -> Result<()> {
        let needed = survey.bytes + survey.files as u64 * FILE_OVERHEAD_BYTES + FREE_BYTES;
        let free = rustix::fs::statvfs(to).map_or(u64::MAX, |found| {
            found.f_bavail.saturating_mul(found.f_frsize)
        });
        if free < needed {
            let (needed, free) = (needed / 1_000_000, free / 1_000_000);
            return Err(Error::Failed(format!(
                "Restoring needs {needed} MB on the disk, and {free} MB are free. Nothing was changed."
            )));
        }
        let now = Clock::System.now().timestamp();
        self.read(cancel, &mut |entry, content| put(entry, content, to, now))?;
        let folder = File::open(to).map_err(Error::io("open", to))?;
        rustix::fs::syncfs(&folder).map_err(|errno| Error::io("write", to)(errno.into()))
    }
}

/// Reads the first member.
fn read_manifest(entry: &Entry, content: &mut dyn Read) -> io::Result<Manifest> {
    let none = || damaged("it is not a backup of Peacrab: its first file is another one");
    if entry.path != Path::new(MANIFEST) || entry.size > MANIFEST_BYTES_MAX {
        return Err(none());
    }
    let mut text = String::new();
    content.read_to_string(&mut text)?;
    Manifest::read(&text).map_err(|format| match format {
        0 => none(),
        _ => damaged("a newer Peacrab made it; update this one first"),
    })
}

/// Refuses names that are not part of any backup.
fn check_top(entry: &Entry) -> io::Result<()> {
    let top = top_of(&entry.path);
    if KEPT_NAMES.contains(&&*top) || is_aside(&top) || top == MANIFEST {
        return Err(damaged(format!("{top} is not part of a backup")));
    }
    Ok(())
}

fn top_of(path: &Path) -> String {
    let first = path.iter().next().unwrap_or_default();
    first.to_string_lossy().into_owned()
}

/// Whether a file has this content; `None` when there is none. The content is read to its end where that matters.
fn is_same(path: &Path, size: u64, content: &mut dyn Read) -> Option<bool> {
    let about = fs::symlink_metadata(path).ok()?;
    if !about.is_file() || about.len() != size {
        return Some(false);
    }
    let Ok(mut file) = open_to_read(path) else {
        return Some(false);
    };
    let (mut ours, mut theirs) = (vec![0; COPY_BYTES], vec![0; COPY_BYTES]);
    loop {
        // A fault of the backup comes again when the rest is passed over.
        let read = content.read(&mut theirs).unwrap_or(0);
        if read == 0 {
            return Some(true);
        }
        if file.read_exact(&mut ours[..read]).is_err() || ours[..read] != theirs[..read] {
            return Some(false);
        }
    }
}

/// Calls for each file in a home folder that a restore would move away.
fn count_aside(home: &Path, below: &Path, found: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(home.join(below))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = below.join(entry.file_name());
        let top = top_of(&path);
        if KEPT_NAMES.contains(&&*top) || is_aside(&top) {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => count_aside(home, &path, found),
            Ok(kind) if kind.is_file() => found(&path),
            _ => {}
        }
    }
}

/// Writes one file or folder.
fn put(entry: &Entry, content: &mut dyn Read, to: &Path, now: i64) -> Result<()> {
    let path = to.join(&entry.path);
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o700);
    let folder = match entry.is_folder {
        true => &path,
        false => path.parent().unwrap_or(to),
    };
    folders
        .create(folder)
        .map_err(Error::io("make the folder", folder))?;
    let writing = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::Failed(format!("The backup has {} twice.", entry.path.display()))
        }
        _ => Error::io("write", &path)(source),
    };
    let others = if is_private(entry) { 0 } else { 0o055 };
    let mode = entry.mode & (0o700 | others);
    if entry.is_folder {
        let mode = Permissions::from_mode(mode | 0o700);
        return fs::set_permissions(&path, mode).map_err(writing);
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&path).map_err(writing)?;
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let read = content.read(&mut buffer);
        let read = read.map_err(Error::io("read", "the backup"))?;
        if read == 0 {
            break;
        }
        io::Write::write_all(&mut file, &buffer[..read]).map_err(writing)?;
    }
    let modified = Duration::from_secs(entry.modified.clamp(0, now.max(0)).unsigned_abs());
    // FAT knows no permissions and few times.
    let _ = file.set_permissions(Permissions::from_mode(mode | 0o600));
    let _ = file.set_modified(UNIX_EPOCH + modified);
    Ok(())
}

/// Whether only this account may read it: all but the workspaces.
fn is_private(entry: &Entry) -> bool {
    let names: Vec<_> = entry.path.iter().filter_map(|name| name.to_str()).collect();
    match *names {
        [top, ..] if PRIVATE.contains(&top) => true,
        ["agents", _, "sessions", ..] => true,
        [_] => !entry.is_folder,
        _ => false,
    }
}
