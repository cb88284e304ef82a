//! A root folder of one's own: programs read-only, the policy's folders at their own paths, and a
//! private /tmp, /dev and /proc. What is not shown is not there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::MountFlags;

use super::rules as view;
use super::supervise::{Failure, Status, While};
use crate::confine::policy::Policy;
use crate::limits::confine as bounds;
use crate::sys::namespaces::{self as sys, Without};

/// Folders of which every system has one; the new root is put together on top of it.
const STAGES: [&str; 4] = ["/tmp", "/mnt", "/run", "/usr"];

/// What a mount of a foreign file system may be used for.
const READ: Without = Without {
    writing: true,
    devices: true,
};
const WRITE: Without = Without {
    writing: false,
    devices: true,
};

/// A file or folder of the old root that is shown in the new one.
struct Mounted {
    path: PathBuf,
    source: OwnedFd,
    without: Without,
}

/// Puts the new root together and moves into it. Needs mount and process namespaces of its own.
pub fn enter(policy: &Policy, status: &Status) -> Result<(), Failure> {
    sys::make_mounts_private().doing("keep mounts private")?;
    // All are opened first: the stage covers a part of the old root.
    let shown = match policy.whole {
        true => settings_of_kernel(),
        false => system(),
    };
    let shown = shown.doing("open the system's folders")?;
    let mut own = Vec::new();
    for (paths, without) in [(&policy.read, READ), (&policy.write, WRITE)] {
        for path in paths {
            own.push(grant(path, without).doing("open a folder of the policy")?);
        }
    }
    // A folder comes before those in it.
    own.sort_by(|a, b| a.path.cmp(&b.path));
    let stage = Stage::new(policy.whole).doing("mount a new root")?;
    for one in &shown {
        stage.show(one).doing("show the system's folders")?;
    }
    stage
        .make_links(policy.whole)
        .doing("make the system's links")?;
    stage.make_devices(policy.whole).doing("make devices")?;
    stage.make_temporary(policy).doing("make /tmp")?;
    if let Err(error) = stage.make_processes() {
        // Where parts of /proc are covered, as in many containers, the kernel gives no new one.
        status.note(&format!("there is no /proc: {error}"));
    }
    for one in &own {
        stage.show(one).doing("show a folder of the policy")?;
    }
    stage.protect(policy).doing("protect a path")?;
    stage.hide(policy).doing("hide a path")?;
    if policy.whole {
        return Ok(());
    }
    let root = stage.reopen(Path::new("/")).doing("open the new root")?;
    sys::seal(root.as_fd()).doing("close the new root")?;
    sys::change_root(&stage.path).doing("change the root")
}

fn path_handle(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// A folder of the policy. Its path was without links when the policy was made; a link that is
/// there now was put there since.
fn grant(path: &Path, without: Without) -> io::Result<Mounted> {
    let root = path_handle(Path::new("/"))?;
    let source = sys::handle(root.as_fd(), path, None)
        .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&source)?.st_mode);
    let device = matches!(kind, FileType::CharacterDevice | FileType::BlockDevice);
    Ok(Mounted {
        path: path.to_owned(),
        source,
        without: Without {
            devices: without.devices && !device,
            ..without
        },
    })
}

/// The programs and settings that there are.
fn system() -> io::Result<Vec<Mounted>> {
    let programs = view::PROGRAMS.iter().map(PathBuf::from);
    let settings = view::SETTINGS
        .iter()
        .map(|name| Path::new("/etc").join(name));
    let others = [&view::HARDWARE[..], &view::PACKAGES]
        .into_iter()
        .flatten()
        .map(PathBuf::from);
    let mut shown = Vec::new();
    for path in programs.chain(settings).chain(others) {
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if is_link
            && view::PROGRAMS
                .iter()
                .any(|program| path == Path::new(program))
        {
            continue;
        }
        match path_handle(&path) {
            Ok(source) => shown.push(Mounted {
                path,
                source,
                without: READ,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    Ok(shown)
}

/// Where all is seen that is there: what the kernel would let root's number change.
fn settings_of_kernel() -> io::Result<Vec<Mounted>> {
    Ok(vec![Mounted {
        path: "/sys".into(),
        source: path_handle(Path::new("/sys"))?,
        without: READ,
    }])
}

/// Where the new root is put together.
struct Stage {
    path: PathBuf,
}

impl Stage {
    /// An empty root on top of a folder, or the one that there is.
    fn new(whole: bool) -> io::Result<Self> {
        if whole {
            return Ok(Self { path: "/".into() });
        }
        let path = STAGES.iter().map(Path::new).find(|path| path.is_dir());
        let path = path.ok_or(io::ErrorKind::NotFound)?.to_owned();
        let options = format!("mode=0755,size={}", bounds::ROOT_BYTES);
        sys::mount_new("tmpfs", &path, MountFlags::NODEV, &options)?;
        Ok(Self { path })
    }

    /// A path of the new root as it is called now.
    fn at(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// A handle on what is at a path of the new root now.
    fn reopen(&self, path: &Path) -> io::Result<OwnedFd> {
        sys::handle(path_handle(&self.path)?.as_fd(), path, None)
    }

    fn show(&self, one: &Mounted) -> io::Result<()> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&one.source)?.st_mode);
        let make = match kind {
            FileType::Directory => FileType::Directory,
            _ => FileType::RegularFile,
        };
        let place = sys::handle(path_handle(&self.path)?.as_fd(), &one.path, Some(make))?;
        self.bind(&one.source, &place, &one.path, one.without)
    }

    /// Binds and then takes rights from what is seen at the path afterwards.
    fn bind(
        &self,
        source: &OwnedFd,
        place: &OwnedFd,
        path: &Path,
        without: Without,
    ) -> io::Result<()> {
        sys::bind(source.as_fd(), place.as_fd())?;
        sys::restrict(self.reopen(path)?.as_fd(), without)
    }

    fn make_links(&self, whole: bool) -> io::Result<()> {
        if whole {
            return Ok(());
        }
        for program in view::PROGRAMS {
            if let Ok(target) = fs::read_link(program) {
                symlink(target, self.at(program))?;
            }
        }
        fs::create_dir_all(self.at("/var"))?;
        symlink("/tmp", self.at("/var/tmp"))?;
        symlink("/proc/self/mounts", self.at("/etc/mtab"))
    }

    fn make_devices(&self, whole: bool) -> io::Result<()> {
        let nodes: Vec<_> = view::DEVICES
            .iter()
            .filter_map(|name| {
                let path = Path::new("/dev").join(name);
                path_handle(&path).ok().map(|source| (name, source))
            })
            .collect();
        let folder = self.at("/dev");
        if !whole {
            fs::create_dir(&folder)?;
        }
        sys::mount_new("tmpfs", &folder, MountFlags::NOEXEC, "mode=0755,size=64k")?;
        for (name, source) in nodes {
            let place = folder.join(name);
            fs::File::create(&place)?;
            sys::bind(source.as_fd(), path_handle(&place)?.as_fd())?;
        }
        for (name, target) in view::DEVICE_LINKS {
            symlink(target, folder.join(name))?;
        }
        fs::create_dir(folder.join("pts"))?;
        let terminals = "newinstance,ptmxmode=0666,mode=0620";
        // A kernel without it only lacks terminals in there.
        let _ = sys::mount_new("devpts", &folder.join("pts"), MountFlags::NOEXEC, terminals);
        fs::create_dir(folder.join("shm"))?;
        self.scratch("/dev/shm", bounds::SHARED_BYTES)
    }

    fn make_temporary(&self, policy: &Policy) -> io::Result<()> {
        if policy.whole {
            // Everybody's is among what is seen.
            return Ok(());
        }
        fs::create_dir(self.at("/tmp"))?;
        self.scratch("/tmp", policy.bounds.tmp_bytes)
    }

    /// A folder in memory that everybody may write to, as /tmp is.
    fn scratch(&self, path: &str, size: u64) -> io::Result<()> {
        let path = self.at(path);
        let options = format!("mode=1777,size={size}");
        sys::mount_new("tmpfs", &path, MountFlags::NODEV, &options)
    }

    fn make_processes(&self) -> io::Result<()> {
        let path = self.at("/proc");
        fs::create_dir_all(&path)?;
        // Not to be written, for root's number alone opens many a setting of the kernel there.
        let flags = MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOEXEC;
        sys::mount_new("proc", &path, flags, "")
    }

    /// Makes paths read-only that lie in folders to write. The folders on the way are mounted onto
    /// themselves, because only what is a mount cannot be renamed from within.
    fn protect(&self, policy: &Policy) -> io::Result<()> {
        for path in &policy.protect {
            let Ok(place) = self.reopen(path) else {
                continue;
            };
            let whole = policy.whole.then_some(Path::new("/"));
            let roots = policy.write.iter().map(PathBuf::as_path).chain(whole);
            let roots = roots.filter(|root| path.starts_with(root));
            let Some(root) = roots.max_by_key(|root| root.as_os_str().len()) else {
                continue;
            };
            let below = |one: &&Path| one.starts_with(root) && *one != root;
            let mut between: Vec<_> = path.ancestors().skip(1).filter(below).collect();
            between.reverse();
            for folder in between {
                let onto = self.reopen(folder)?;
                sys::bind(onto.as_fd(), onto.as_fd())?;
            }
            drop(place);
            let place = self.reopen(path)?;
            self.bind(&place, &place, path, READ)?;
        }
        Ok(())
    }

    /// Puts nothing in the place of paths that lie in folders that are shown.
    fn hide(&self, policy: &Policy) -> io::Result<()> {
        if policy.hide.is_empty() {
            return Ok(());
        }
        let empty = self.at("/dev/.hidden");
        fs::create_dir(&empty)?;
        let folder = empty.join("folder");
        let file = empty.join("file");
        fs::create_dir(&folder)?;
        fs::File::create(&file)?;
        for path in [&folder, &file] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o000))?;
        }
        for path in &policy.hide {
            if let Ok(place) = self.reopen(path) {
                let kind = FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
                let source = match kind {
                    FileType::Directory => path_handle(&folder)?,
                    _ => path_handle(&file)?,
                };
                self.bind(&source, &place, path, READ)?;
            }
        }
        Ok(())
    }
}
