//! Files that survive a power cut: atomic writes, locks, bounded reads.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::limits::state::{LOCK_PAUSE, LOCK_TRIES};

/// Bytes to make room for when a file does not say its size.
const UNKNOWN_SIZE: u64 = 1024;

/// Has the disk keep room for bytes of a file, also beyond its end, which stays where it is (fallocate(2)). Does nothing
/// on a file system that cannot.
pub fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        reserved => Ok(reserved?),
    }
}

/// Writes a file so that after a crash at any instant there is the old content or the new, whole:
/// a temporary file beside it, fsync, rename, fsync of the folder (rename(2), fsync(2)).
///
/// `name` is one component within `folder`. `mode` is what the file gets, whatever the umask. A full
/// disk leaves the old file as it was and no temporary file behind. An error says that nothing has happened.
pub fn write_atomic_at(
    folder: impl AsFd,
    name: &OsStr,
    content: &[u8],
    mode: u32,
) -> io::Result<()> {
    let folder = folder.as_fd();
    replace_at(folder, name, mode, true, |file| file.write_all(content))?;
    settle_folder(folder);
    Ok(())
}

/// Writes a file atomically, by its path. See [`write_atomic_at`].
pub fn write_atomic(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let written =
        open_parent(path).and_then(|(folder, name)| write_atomic_at(&folder, name, content, mode));
    written.map_err(Error::io("write", path))
}

/// Like [`write_atomic`], but without the fsync of the folder, half of the wear: after a power cut
/// there still is the old content or the new, whole, but it may be the old one for some seconds.
///
/// `fill` writes the content, and may lock the file before others find it under its name. Returns the
/// new file, open to be read and appended to.
pub fn replace(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<File> {
    let written = open_parent(path)
        .and_then(|(folder, name)| replace_at(folder.as_fd(), name, mode, true, fill));
    written.map_err(Error::io("write", path))
}

/// Like [`replace`], but without any fsync. A killed process still leaves the old content or the new,
/// whole; a power cut within seconds may leave an empty file on some file systems.
pub fn replace_unsynced(path: &Path, content: &[u8], mode: u32) -> Result<()> {
    let fill = |file: &mut File| file.write_all(content);
    let written = open_parent(path)
        .and_then(|(folder, name)| replace_at(folder.as_fd(), name, mode, false, fill));
    written.map(drop).map_err(Error::io("write", path))
}

/// Makes a folder and those above it, each with mode 0700; what exists is left as it is.
pub fn private_folder(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(Error::io("make the folder", path))
}

/// Opens a file of the program's own as the options say, never waiting for it: what is no regular file, such as a
/// pipe, a socket, a device or a folder, is an error. A link is followed if it and what it leads to belong to this
/// account or to root.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let link = path.symlink_metadata().ok();
    let link = link.filter(|found| found.file_type().is_symlink());
    let own = rustix::process::geteuid().as_raw();
    let is_ours = |found: &Metadata| found.uid() == own || found.uid() == 0;
    let foreign = || io::Error::other("it is a link of another account, or to its file");
    if link.as_ref().is_some_and(|link| !is_ours(link)) {
        return Err(foreign());
    }
    let (file, _) = open_sized(path, options)?;
    if link.is_some() && !is_ours(&file.metadata()?) {
        return Err(foreign());
    }
    Ok(file)
}

/// Opens a regular file as the options say, with its size.
fn open_sized(path: &Path, options: &mut OpenOptions) -> io::Result<(File, u64)> {
    // A pipe without a reader or writer would be waited for (open(2), O_NONBLOCK).
    sized(options.custom_flags(libc::O_NONBLOCK).open(path))
}

/// The same to read. rustix spares the second system call that musl makes for each file of std's.
fn open_sized_to_read(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, path, flags, Mode::empty());
    sized(opened.map(File::from).map_err(io::Error::from))
}

/// A file that was opened, with its size, if it is a regular one.
fn sized(opened: io::Result<File>) -> io::Result<(File, u64)> {
    let irregular = || io::Error::other("it is not a regular file");
    let file = match opened {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EISDIR)) => {
            return Err(irregular());
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    if found.is_file() {
        Ok((file, found.len()))
    } else {
        Err(irregular())
    }
}

/// Opens a regular file to be read, never waiting for it. Links are followed.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open_sized_to_read(path).map(|(file, _)| file)
}

/// Opens a folder, links followed.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// Reads a regular file of at most `limit` bytes.
pub fn read_at_most(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let content = open_sized_to_read(path)
        .and_then(|(file, size)| read_sized(&file, size, limit as u64 + 1))
        .map_err(Error::io("read", path))?;
    if content.len() > limit {
        return Err(Error::TooLarge {
            what: path.display().to_string(),
            limit,
        });
    }
    Ok(content)
}

/// Reads at most `limit` bytes from the beginning of a file, in one call where its size is known.
pub fn read_beginning(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    read_sized(file, file.metadata()?.len(), limit)
}

/// See [`read_beginning`]; with the size that the file has just had.
pub fn read_sized(mut file: &File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    // Files of /proc have no size.
    let expected = if size == 0 { UNKNOWN_SIZE } else { size };
    let length = usize::try_from(expected.min(limit)).unwrap_or(0);
    let mut content = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = content.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    if size == 0 && filled == length {
        file.take(limit - filled as u64).read_to_end(&mut content)?;
    }
    Ok(content)
}

/// Shares a file or folder with others that do, without waiting (flock(2)); false when another open description has
/// it for itself.
pub fn try_share(file: impl AsFd) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the whole file for this open description, without waiting (flock(2)); false when another
/// one has it. The lock goes with the description, also when the process is killed.
pub fn try_lock(file: impl AsFd) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Keeps other processes from changing the folder's state files for as long as the result lives. The
/// files themselves are replaced, so a lock on one of them would have no effect. `None` where
/// the file system has no locks.
pub fn lock_folder(folder: &Path) -> Result<Option<OwnedFd>> {
    let handle = open_folder(folder).map_err(Error::io("open", folder))?;
    for _ in 0..LOCK_TRIES {
        match try_lock(&handle) {
            Ok(true) => return Ok(Some(handle)),
            Ok(false) => std::thread::sleep(LOCK_PAUSE),
            Err(_) => return Ok(None),
        }
    }
    let folder = folder.display();
    Err(Error::Failed(format!(
        "Another peacrab has locked {folder}. Try again."
    )))
}

/// Releases a lock, on every copy of the description. Closing the file is not enough: a child that
/// another thread starts has a copy of it between fork(2) and execve(2).
pub fn unlock(file: impl AsFd) -> io::Result<()> {
    rustix::fs::flock(file, FlockOperation::Unlock).map_err(io::Error::from)
}

/// Keeps other threads and processes from doing the same at the same time, for as long as it lives.
pub struct Exclusive(File);

impl Exclusive {
    /// Waits for the lock on a file, which is created with mode 0600. Those that hold it have limits of their own;
    /// [`Error::Stopped`] when the token is raised.
    pub fn wait(path: &Path, cancel: &Cancel) -> Result<Self> {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(path).map_err(Error::io("open", path))?;
        // Some file systems have no locks.
        while !try_lock(&lock).unwrap_or(true) {
            if cancel.wait(POLL) {
                return Err(Error::Stopped);
            }
        }
        Ok(Self(lock))
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = unlock(&self.0);
    }
}

/// Forces a folder's entries to the disk, so that a new or renamed file is found after a power cut.
pub fn sync_folder(folder: BorrowedFd<'_>) -> io::Result<()> {
    crate::base::sync::may_wait_for_disk();
    match rustix::fs::fsync(folder) {
        // Some network and FUSE file systems cannot do it for folders (fsync(2), EINVAL).
        Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Forces a folder's entries to the disk behind a change of them that stays. A failure is logged and nothing else: what
/// has happened must not be reported as not done.
pub fn settle_folder(folder: BorrowedFd<'_>) {
    if let Err(error) = sync_folder(folder) {
        tracing::warn!("failed to sync a folder, so a power cut may undo its last change: {error}");
    }
}

/// The folder of a path, and its last component.
fn open_parent(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    Ok((open_folder(parent)?, name))
}

/// A new file takes the place of `name`, or nothing has happened.
fn replace_at(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    mode: u32,
    synced: bool,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    crate::base::sync::may_wait_for_disk();
    let (file, temporary) = create_beside(folder, name)?;
    let written = write_new(file, Mode::from_raw_mode(mode), fill).and_then(|file| {
        if synced {
            file.sync_all()?;
        }
        rustix::fs::renameat(folder, &temporary, folder, name)?;
        Ok(file)
    });
    if written.is_err() {
        // The first error has the cause.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

/// Makes a temporary file in the folder of a file. Returns its name.
fn create_beside(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<(File, OsString)> {
    let access = OFlags::RDWR | OFlags::APPEND;
    let flags = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |name: &OsStr| {
        let opened = rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR);
        opened.map(File::from)
    };
    let thread = rustix::thread::gettid().as_raw_nonzero();
    let temporary = temporary_name(name, &thread.to_string());
    match open(&temporary) {
        Err(rustix::io::Errno::EXIST) => {
            // Left by a process that was killed: the number in the name was ours then.
            if rustix::fs::unlinkat(folder, &temporary, AtFlags::empty()).is_ok() {
                return Ok((open(&temporary)?, temporary));
            }
            // A folder, which somebody has made there.
            let number = u64::from_ne_bytes(super::random::bytes().map_err(io::Error::other)?);
            let temporary = temporary_name(name, &format!("{number:016x}"));
            Ok((open(&temporary)?, temporary))
        }
        opened => Ok((opened?, temporary)),
    }
}

fn write_new(
    mut file: File,
    mode: Mode,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    fill(&mut file)?;
    match rustix::fs::fchmod(&file, mode) {
        // FAT, on a stick or a boot partition, keeps no modes and refuses most of them.
        Ok(()) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(file)
}

/// Removes the temporary files in a folder whose writers have ended, such as killed ones. What fails stays.
pub fn remove_unfinished(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let middle = name
            .to_str()
            .and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
        let writer = middle.and_then(|name| name.rsplit_once('.')?.1.parse::<u32>().ok());
        // Threads have a folder there, too (proc(5)).
        if writer.is_some_and(|writer| !Path::new("/proc").join(writer.to_string()).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A name beside the file, with something of its own, at most as long as a file name may be.
fn temporary_name(name: &OsStr, own: &str) -> OsString {
    let mut temporary = OsString::from(".");
    let suffix = format!(".{own}.tmp");
    // 255 bytes is NAME_MAX; a name near it keeps its beginning only.
    let kept = name.as_encoded_bytes().len().min(254 - suffix.len());
    temporary.push(
        name.to_string_lossy()
            .chars()
            .scan(0, |length, char| {
                *length += char.len_utf8();
                (*length <= kept).then_some(char)
            })
            .collect::<String>(),
    );
    temporary.push(suffix);
    temporary
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_atomic_write_replaces_the_content_sets_the_mode_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        write_atomic(&path, b"old", 0o600).unwrap();
        write_atomic(&path, b"new", 0o640).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_in_the_place_of_the_temporary_file_is_no_hindrance() {
        let folder = tempfile::tempdir().unwrap();
        let thread = rustix::thread::gettid().as_raw_nonzero();
        std::fs::create_dir(folder.path().join(format!(".a.{thread}.tmp"))).unwrap();
        write_atomic(&folder.path().join("a"), b"new", 0o600).unwrap();
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_an_ended_writer_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!(".a.jsonl.{}.tmp", rustix::thread::gettid().as_raw_nonzero());
        let kept = [
            own.as_str(),
            ".a.jsonl.x.tmp",
            "a.4294967295.tmp",
            ".a.jsonl",
        ];
        for name in kept.iter().chain(&[".a.jsonl.4294967295.tmp"]) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_unfinished(folder.path());
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            kept.len()
        );
        assert!(kept.iter().all(|name| folder.path().join(name).exists()));
    }

    #[test]
    fn a_failed_atomic_write_names_the_file_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("taken/inside")).unwrap();
        let error = write_atomic(&folder.path().join("taken"), b"new", 0o600).unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_read_stops_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        assert!(matches!(
            read_at_most(&path, 4),
            Err(Error::TooLarge { limit: 4, .. })
        ));
    }

    #[test]
    fn anything_but_a_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let fifo = rustix::fs::mkfifoat(CWD, path("fifo"), Mode::RUSR | Mode::WUSR);
        fifo.unwrap();
        std::fs::create_dir(path("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        std::os::unix::fs::symlink("fifo", path("link")).unwrap();
        for name in ["fifo", "folder", "socket", "zero", "link"] {
            let mut ways = [OpenOptions::new(), OpenOptions::new(), OpenOptions::new()];
            ways[0].read(true);
            ways[1].read(true).append(true).create(true);
            ways[2].write(true);
            for options in &mut ways {
                let error = open_regular(&path(name), options).unwrap_err();
                assert_eq!(error.to_string(), "it is not a regular file", "{name}");
            }
            let error = read_at_most(&path(name), 9).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("regular"), "{error}");
        }
    }

    #[test]
    fn a_link_of_another_account_is_not_followed() {
        use std::os::unix::fs::{chown, lchown, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("own"), "").unwrap();
        symlink("own", path("link")).unwrap();
        let open = |name: &str| open_regular(&path(name), OpenOptions::new().append(true));
        open("link").unwrap();
        // Only root can give files away.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        symlink("own", path("their link")).unwrap();
        lchown(path("their link"), Some(65534), None).unwrap();
        std::fs::write(path("theirs"), "").unwrap();
        chown(path("theirs"), Some(65534), None).unwrap();
        symlink("theirs", path("link to theirs")).unwrap();
        open("theirs").unwrap();
        for name in ["their link", "link to theirs"] {
            let error = open(name).unwrap_err().to_string();
            assert!(error.contains("another account"), "{name}: {error}");
        }
    }

    #[test]
    fn a_lock_belongs_to_one_opening_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&second).unwrap());
        let copy = first.try_clone().unwrap();
        drop(first);
        assert!(!try_lock(&second).unwrap(), "a copy is open");
        unlock(&copy).unwrap();
        assert!(try_lock(&second).unwrap());
    }
}
