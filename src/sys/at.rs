//! One name within an open folder: what it is, opening, making and removing it. No link is followed
//! and nothing that is not a file or folder is opened for more than a look.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RawDir, RenameFlags, SeekFrom, Stat, Statx,
};
use rustix::io::Errno;

/// What a file or folder is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    /// The numbers of the device and of the inode.
    pub fn numbers(self) -> (u64, u64) {
        (self.device, self.number)
    }
}

/// The kinds of things that have a name in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// The result of stat(2).
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Which one it is.
    pub inode: Inode,
    /// Of which kind.
    pub kind: Kind,
    /// The permission bits, without set-user-id and the like.
    pub mode: u32,
    /// How many names it has.
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// When the content was last changed, in seconds since 1970.
    pub modified: i64,
    /// When content or status was last changed, in nanoseconds since 1970. Only the kernel sets it.
    pub changed: i64,
}

/// Bytes of the entries of a folder that are read at once, on the stack.
const NAMES_BYTES: usize = 4096;

/// The permissions of a new file, before the umask.
const NEW_FILE: u32 = 0o644;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// To be read from the beginning.
    Read,
    /// To be written at its end.
    Append,
    /// To be made, empty, and written; it must not exist.
    Create,
}

// The widths of the fields differ between architectures.
#[allow(clippy::unnecessary_cast)]
fn status_of(stat: &Stat) -> Status {
    Status {
        inode: Inode {
            device: stat.st_dev as u64,
            number: stat.st_ino as u64,
        },
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode & 0o777,
        links: stat.st_nlink as u64,
        size: stat.st_size.max(0) as u64,
        modified: stat.st_mtime as i64,
        changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

/// The result of statx(2), where it was asked for what stat(2) says.
pub(super) fn status_of_statx(found: &Statx) -> Status {
    Status {
        inode: Inode {
            device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
            number: found.stx_ino,
        },
        kind: kind_of(FileType::from_raw_mode(found.stx_mode.into())),
        mode: u32::from(found.stx_mode) & 0o777,
        links: found.stx_nlink.into(),
        size: found.stx_size,
        modified: found.stx_mtime.tv_sec,
        changed: nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec.into()),
    }
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(more)
}

/// What an open file or folder is.
pub fn status(handle: impl AsFd) -> io::Result<Status> {
    Ok(status_of(&rustix::fs::fstat(handle)?))
}

/// What a name is.
pub fn status_at(folder: impl AsFd, name: &OsStr) -> io::Result<Status> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(status_of(&stat))
}

/// What a name is; none when there is no such name.
pub fn status_if_any(folder: impl AsFd, name: &OsStr) -> io::Result<Option<Status>> {
    match status_at(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        status => Ok(Some(status?)),
    }
}

/// Takes hold of whatever has this name, without opening it (`O_PATH`): while it is held, its inode
/// is not given to anything else.
pub fn hold(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

/// Takes hold of what is at a path below `root` (`O_PATH`) without following any link on the way. What
/// is missing is created if `make` has the type of the last component.
pub fn hold_below(root: impl AsFd, path: &Path, make: Option<FileType>) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(root, ".", flags | OFlags::DIRECTORY, Mode::empty())?;
    let mut names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut next = names.next();
    while let Some(name) = next {
        next = names.next();
        let mut opened = hold(&at, name);
        if let (Err(error), Some(kind)) = (&opened, make)
            && error.kind() == io::ErrorKind::NotFound
        {
            if next.is_some() || kind == FileType::Directory {
                rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o755))?;
            } else {
                let create = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                rustix::fs::openat(&at, name, create, Mode::from_raw_mode(0o444))?;
            }
            opened = hold(&at, name);
        }
        at = opened?;
        if status(&at)?.kind == Kind::Link {
            return Err(Errno::LOOP.into());
        }
    }
    Ok(at)
}

/// Where a link points, as it is written in it.
pub fn read_link(folder: impl AsFd, name: &OsStr) -> io::Result<OsString> {
    let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}

/// Opens a folder that is to be a root, by its path, links and all (`O_PATH`).
pub fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// Opens the folder with this name so that it can be listed and synced; `.` is the folder itself.
pub fn open_folder(folder: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

/// Forces the names in a folder to the disk, so that a new one is found after a power cut. See [`settle_folder`](super::file::settle_folder).
pub fn settle_names(folder: impl AsFd) {
    match open_folder(folder, OsStr::new(".")) {
        Ok(folder) => super::file::settle_folder(folder.as_fd()),
        Err(error) => tracing::warn!("failed to open a folder to sync it: {error}"),
    }
}

/// The folder above, as the file system has it now (`O_PATH`).
pub fn open_above(folder: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, "..", flags, Mode::empty())?)
}

/// Opens the file with this name. The caller looks at its kind before and after: the flags only
/// make sure that what was put there in between (a FIFO, a terminal) neither blocks nor takes over.
pub fn open_file(folder: impl AsFd, name: &OsStr, purpose: Use) -> io::Result<File> {
    let purpose = match purpose {
        Use::Read => OFlags::RDONLY,
        Use::Append => OFlags::WRONLY | OFlags::APPEND,
        Use::Create => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
    };
    let guards = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // For what is made; the kernel takes the umask off.
    let mode = Mode::from_raw_mode(NEW_FILE);
    Ok(rustix::fs::openat(folder, name, purpose | guards, mode)?.into())
}

/// Makes a file in a folder that has no name, so that no one finds it (open(2), `O_TMPFILE`); `None` on a file system that
/// cannot, such as FAT. It is gone when it is closed, unless it was [named](name_file).
pub fn make_unnamed(folder: impl AsFd) -> io::Result<Option<File>> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::openat(
        folder,
        OsStr::new("."),
        flags,
        Mode::from_raw_mode(NEW_FILE),
    ) {
        Ok(file) => Ok(Some(file.into())),
        // Kernels and file systems that know nothing of it take it for a folder that is opened to be written.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file without a name one that is free in a folder (linkat(2), `AT_SYMLINK_FOLLOW`).
pub fn name_file(file: &File, folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(
        CWD,
        own,
        folder,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

/// The permissions that a new file gets under this process's umask, for those who have to set them
/// by themselves. The umask is read from /proc (proc_pid_status(5)), because umask(2) cannot be read
/// without changing it for every other thread.
pub fn new_file_mode() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|line| {
        let digits = line.strip_prefix("Umask:")?.trim();
        u32::from_str_radix(digits, 8).ok()
    });
    NEW_FILE & !umask.unwrap_or(0o022)
}

/// Makes a folder, mode 0777 less the umask; one that exists is left as it is.
pub fn make_folder(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    match make_new_folder(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Makes a folder where there is nothing with this name.
pub fn make_new_folder(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::mkdirat(
        folder,
        name,
        Mode::from_raw_mode(0o777),
    )?)
}

/// Removes a name that is not a folder's.
pub fn remove_file(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
}

/// Removes the name of an empty folder.
pub fn remove_folder(folder: impl AsFd, name: &OsStr) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// Gives a folder another place and name. A folder with that name takes the old one when `exchanges` says
/// so; otherwise only an empty one is replaced.
pub fn rename(
    from: impl AsFd,
    name: &OsStr,
    to: impl AsFd,
    new_name: &OsStr,
    exchanges: bool,
) -> io::Result<()> {
    let renamed = if exchanges {
        rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::EXCHANGE)
    } else {
        rustix::fs::renameat(from, name, to, new_name)
    };
    Ok(renamed?)
}

/// The names in a folder as [`open_folder`] gives it, in no order, without `.` and `..`; at most
/// `limit`. True when there are more.
pub fn names(folder: impl AsFd, limit: usize) -> io::Result<(Vec<OsString>, bool)> {
    let mut names = Vec::new();
    rustix::fs::seek(&folder, SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if names.len() == limit {
            return Ok((names, true));
        }
        names.push(name.to_owned());
    }
    Ok((names, false))
}

/// Whether an open file or folder is a view into the kernel or into other processes (/proc, /sys
/// and their like), and no place where files are kept.
pub fn is_kernel_view(handle: impl AsFd) -> io::Result<bool> {
    // The field is signed or not, 32 or 64 bits, depending on the architecture; the numbers have 32.
    let magic = rustix::fs::fstatfs(handle)?.f_type as u32;
    Ok(KERNEL_VIEWS.contains(&magic))
}

/// File systems that hold no files (linux/magic.h; binfmt_misc's and configfs's stand there too).
const KERNEL_VIEWS: [u32; 19] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0x6e73_6673, // nsfs
    0x0000_1cd1, // devpts
    0x1980_0202, // mqueue
    0x6265_6570, // configfs
    0x4249_4e4d, // binfmt_misc
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x6573_5543, // fusectl
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stop_at_their_limit_and_say_so() {
        let top = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::write(top.path().join(name), name).unwrap();
        }
        let folder = open_folder(open_root(top.path()).unwrap(), OsStr::new(".")).unwrap();
        let (all, more) = names(&folder, 3).unwrap();
        assert_eq!((all.len(), more), (3, false));
        let (some, more) = names(&folder, 2).unwrap();
        assert_eq!((some.len(), more), (2, true));
    }

    #[test]
    fn a_new_file_gets_the_mode_that_we_say_it_gets() {
        let top = tempfile::tempdir().unwrap();
        let folder = open_root(top.path()).unwrap();
        let file = open_file(&folder, OsStr::new("new"), Use::Create).unwrap();
        assert_eq!(status(file).unwrap().mode, new_file_mode());
    }

    #[test]
    fn proc_and_sys_are_views_and_a_folder_of_files_is_not() {
        let is_view = |path: &str| is_kernel_view(open_root(Path::new(path)).unwrap()).unwrap();
        assert!(is_view("/proc/self"));
        assert!(is_view("/sys"));
        let top = tempfile::tempdir().unwrap();
        assert!(!is_view(top.path().to_str().unwrap()));
    }

    #[test]
    fn a_link_is_seen_as_such_and_not_opened() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", top.path().join("link")).unwrap();
        let folder = open_root(top.path()).unwrap();
        let link = OsStr::new("link");
        assert_eq!(status_at(&folder, link).unwrap().kind, Kind::Link);
        assert_eq!(read_link(&folder, link).unwrap(), "file");
        for purpose in [Use::Read, Use::Append, Use::Create] {
            assert!(open_file(&folder, link, purpose).is_err());
        }
        let none = status_if_any(&folder, OsStr::new("none"));
        assert!(none.unwrap().is_none());
    }

    #[test]
    fn what_is_held_below_a_folder_is_reached_by_no_link_and_made_where_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = File::open(folder.path()).unwrap();
        let file = Some(FileType::RegularFile);
        hold_below(&root, Path::new("/a/b/c"), file).unwrap();
        assert!(folder.path().join("a/b/c").is_file());
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        assert!(hold_below(&root, Path::new("link/b"), None).is_err());
        assert!(hold_below(&root, Path::new("link"), None).is_err());
        let missing = hold_below(&root, Path::new("a/x"), None).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
