//! A root folder of one's own: programs read-only, the policy's folders at their own paths, and a
//! private /tmp, /dev and /proc. What is not shown is not there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::MountFlags;

use super::rules::{self as view, replaced};
use super::supervise::{Failure, Status, While};
use crate::sandbox::confine::policy::Policy;
use crate::sys::at;
use crate::sys::namespaces::{self as sys, Without};

/// Bytes of a command's root folder, which holds names only.
const ROOT_BYTES: u64 = 1024 * 1024;
/// Bytes of a command's /dev/shm.
const SHARED_BYTES: u64 = 16 * 1024 * 1024;

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

/// The folder for temporary files that are kept longer. In a view of its own it is the same as /tmp.
const OTHER_TEMPORARY: &str = "/var/tmp";

/// Folders that every view has of its own.
const OWN: [&str; 2] = ["/dev", "/proc"];

/// Where there is what stands for hidden paths.
const COVERS: &str = "/dev/.hidden";

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
    let changes = changes(policy).doing("open a folder of the policy")?;
    // A full or read-only disk, or one with other names on it, is no reason not to run.
    let disk = prepare(policy, &shown, &changes).ok();
    let stage = Stage::new(policy, disk).doing("mount a new root")?;
    for one in &shown {
        stage.show(one).doing("show the system's folders")?;
    }
    stage.make_links(policy).doing("make the system's links")?;
    stage.make_devices(policy).doing("make devices")?;
    stage.make_temporary(policy).doing("make /tmp")?;
    if let Err(error) = stage.make_processes() {
        // Where parts of /proc are covered, as in many containers, the kernel gives no new one.
        status.note(&format!("there is no /proc: {error}"));
    }
    stage
        .make_covers()
        .doing("make what stands for hidden paths")?;
    for (path, change) in &changes {
        match change {
            Change::Show(one) => stage.show(one).doing("show a folder of the policy")?,
            Change::Protect(inode) => {
                let done = stage.protect(policy, path, *inode);
                done.doing("protect a path")?;
            }
            Change::Hide(inode) => stage.hide(policy, path, *inode).doing("hide a path")?,
            Change::Fix => stage.fix(policy, path).doing("fix a link")?,
        }
    }
    if policy.whole {
        return Ok(());
    }
    // Also in a root that is prepared: those in a folder such as /tmp, which is mounted over it.
    stage.link(policy);
    if !stage.is_prepared {
        let root = stage.reopen(Path::new("/")).doing("open the new root")?;
        sys::seal(root.as_fd()).doing("close the new root")?;
    }
    sys::change_root(&stage.path).doing("change the root")
}

/// What the policy changes at a path.
enum Change {
    Show(Mounted),
    /// By device and inode.
    Protect((u64, u64)),
    /// By device and inode.
    Hide((u64, u64)),
    /// A link keeps its name.
    Fix,
}

/// All that the policy changes. A folder comes before what is in it, so that what is said of the
/// closest folder counts: the workspace is seen although the home around it is hidden.
fn changes(policy: &Policy) -> io::Result<Vec<(&Path, Change)>> {
    let mut changes = Vec::new();
    for (paths, without) in [(&policy.read, READ), (&policy.write, WRITE)] {
        for path in paths {
            changes.push((path.as_path(), Change::Show(grant(path, without)?)));
        }
    }
    let protected = policy.protected();
    changes.extend(protected.map(|(path, inode)| (path, Change::Protect(inode))));
    let hidden = policy.hidden();
    changes.extend(hidden.map(|(path, inode)| (path, Change::Hide(inode))));
    let fixed = policy.fixed.iter();
    changes.extend(fixed.map(|link| (link.as_path(), Change::Fix)));
    changes.sort_by_key(|(path, _)| *path);
    Ok(changes)
}

fn path_handle(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// A folder of the policy. Its path was without links when the policy was made; a link that is
/// there now was put there since.
fn grant(path: &Path, without: Without) -> io::Result<Mounted> {
    let source = at::hold_below(path_handle(Path::new("/"))?, path, None)
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

/// Makes the folder on the disk that becomes the root: there are only names in it, on which the rest is
/// mounted. What is there already is not written again, so a command costs the disk nothing.
fn prepare(policy: &Policy, shown: &[Mounted], changes: &[(&Path, Change)]) -> io::Result<OwnedFd> {
    if policy.root.as_os_str().is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let root = at::hold_below(path_handle(Path::new("/"))?, &policy.root, None)?;
    let granted = changes.iter().filter_map(|(_, change)| match change {
        Change::Show(one) => Some(one),
        Change::Protect(_) | Change::Hide(_) | Change::Fix => None,
    });
    for one in shown.iter().chain(granted) {
        prepare_name(&root, &one.path, one.kind()?)?;
    }
    for folder in ["/dev", "/tmp", "/proc"] {
        prepare_name(&root, Path::new(folder), FileType::Directory)?;
    }
    if holds_files(policy) {
        prepare_name(&root, Path::new(OTHER_TEMPORARY), FileType::Directory)?;
    }
    for (path, target) in system_links(policy) {
        prepare_link(&root, Path::new(path), &target)?;
    }
    for (link, target) in wanted_links(policy) {
        // A command can do without one.
        let _ = prepare_link(&root, link, target);
    }
    Ok(root)
}

/// Something to mount on. What was there with the name before has to be of the same kind.
fn prepare_name(root: &OwnedFd, path: &Path, kind: FileType) -> io::Result<()> {
    let found = rustix::fs::fstat(at::hold_below(root, path, Some(kind))?)?;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    if is_folder == (kind == FileType::Directory) {
        Ok(())
    } else {
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

fn prepare_link(root: &OwnedFd, path: &Path, target: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let above = at::hold_below(root, above, Some(FileType::Directory))?;
    match rustix::fs::symlinkat(target, &above, name) {
        Err(rustix::io::Errno::EXIST) if at::read_link(&above, name)? == target.as_os_str() => {
            Ok(())
        }
        done => Ok(done?),
    }
}

/// Whether something of the policy is below /var/tmp. Then it is no link, for nothing is shown below one.
fn holds_files(policy: &Policy) -> bool {
    let mut paths = policy.write.iter().chain(&policy.read).chain(&policy.links);
    paths.any(|path| path.starts_with(OTHER_TEMPORARY))
}

/// The links of the system's own folders.
fn system_links(policy: &Policy) -> Vec<(&'static str, PathBuf)> {
    let programs = view::PROGRAMS.iter();
    let mut links: Vec<_> = programs
        .filter_map(|program| Some((*program, fs::read_link(program).ok()?)))
        .collect();
    if !holds_files(policy) {
        links.push((OTHER_TEMPORARY, "/tmp".into()));
    }
    links.push(("/etc/mtab", "/proc/self/mounts".into()));
    links
}

/// The links of the policy that are not in a folder to write, where they would stay.
fn wanted_links(policy: &Policy) -> impl Iterator<Item = (&Path, &Path)> {
    let pairs = policy.links.chunks_exact(2);
    let pairs = pairs.filter_map(|pair| Some((pair.first()?.as_path(), pair.get(1)?.as_path())));
    pairs.filter(|(link, _)| {
        let above = link.parent();
        above.is_some_and(|above| !policy.write.iter().any(|folder| above.starts_with(folder)))
    })
}

impl Mounted {
    /// What has to be there to mount it on.
    fn kind(&self) -> io::Result<FileType> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&self.source)?.st_mode);
        Ok(match kind {
            FileType::Directory => FileType::Directory,
            _ => FileType::RegularFile,
        })
    }
}

/// Where the new root is put together.
struct Stage {
    path: PathBuf,
    /// Whether all names are there already, on a disk.
    is_prepared: bool,
}

impl Stage {
    /// An empty root on top of a folder, the prepared one, or the one that there is.
    fn new(policy: &Policy, disk: Option<OwnedFd>) -> io::Result<Self> {
        let mut stage = Self {
            path: "/".into(),
            is_prepared: false,
        };
        if policy.whole {
            return Ok(stage);
        }
        // What is shown with everything in it would have the stage in it too.
        let is_shown = |path: &Path| {
            let mut shown = policy.read.iter().chain(&policy.write);
            shown.any(|shown| path.starts_with(shown))
        };
        let mut paths = STAGES.iter().map(Path::new);
        let path = paths.find(|path| path.is_dir() && !is_shown(path));
        let path = path.ok_or(io::ErrorKind::NotFound)?.to_owned();
        stage.path.clone_from(&path);
        if let Some(disk) = disk
            && sys::bind(disk.as_fd(), path_handle(&path)?.as_fd()).is_ok()
        {
            sys::restrict(path_handle(&path)?.as_fd(), READ)?;
            stage.is_prepared = true;
            return Ok(stage);
        }
        let options = format!("mode=0755,size={}", ROOT_BYTES);
        sys::mount_new("tmpfs", &path, MountFlags::NODEV, &options)?;
        Ok(stage)
    }

    /// A path of the new root as it is called now.
    fn at(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// A handle on what is at a path of the new root now.
    fn reopen(&self, path: &Path) -> io::Result<OwnedFd> {
        at::hold_below(path_handle(&self.path)?, path, None)
    }

    fn show(&self, one: &Mounted) -> io::Result<()> {
        let make = Some(one.kind()?);
        let place = at::hold_below(path_handle(&self.path)?, &one.path, make)?;
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
        let shown = self.reopen(path)?;
        // The rights are not to be taken from something else that has the path by now.
        if at::status(&shown)?.inode != at::status(source)?.inode {
            return Err(replaced(path));
        }
        sys::restrict(shown.as_fd(), without)
    }

    fn make_links(&self, policy: &Policy) -> io::Result<()> {
        if policy.whole || self.is_prepared {
            return Ok(());
        }
        fs::create_dir_all(self.at("/var"))?;
        let mut links = system_links(policy).into_iter();
        links.try_for_each(|(path, target)| symlink(target, self.at(path)))
    }

    fn make_devices(&self, policy: &Policy) -> io::Result<()> {
        let nodes: Vec<_> = view::DEVICES
            .iter()
            .filter_map(|name| {
                let path = Path::new("/dev").join(name);
                path_handle(&path).ok().map(|source| (name, source))
            })
            .collect();
        let folder = self.at("/dev");
        if !policy.whole && !self.is_prepared {
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
        self.scratch("/dev/shm", SHARED_BYTES.min(policy.bounds.tmp_bytes))
    }

    fn make_temporary(&self, policy: &Policy) -> io::Result<()> {
        if policy.whole {
            // Everybody's is among what is seen.
            return Ok(());
        }
        if !self.is_prepared {
            fs::create_dir(self.at("/tmp"))?;
        }
        self.scratch("/tmp", policy.bounds.tmp_bytes)?;
        if !holds_files(policy) {
            return Ok(());
        }
        // The same folder by both names, as with the link.
        let place = self.at(OTHER_TEMPORARY);
        fs::create_dir_all(&place)?;
        let source = path_handle(&self.at("/tmp"))?;
        sys::bind(source.as_fd(), path_handle(&place)?.as_fd())
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

    /// Makes the links of the policy, where they are not among what is shown already. A command can do
    /// without them, so one that cannot be made is left out.
    fn link(&self, policy: &Policy) {
        for (link, target) in wanted_links(policy) {
            if let Ok(root) = path_handle(&self.path) {
                let _ = prepare_link(&root, link, target);
            }
        }
    }

    /// Makes a path read-only that lies in a folder to write.
    fn protect(&self, policy: &Policy, path: &Path, inode: (u64, u64)) -> io::Result<()> {
        if policy.writable_above(path).is_none() || self.find(policy, path, inode)?.is_none() {
            return Ok(());
        }
        self.pin(policy, path)?;
        if let Some(place) = self.find(policy, path, inode)? {
            self.bind(&place, &place, path, READ)?;
        }
        Ok(())
    }

    /// The path that the policy means; `None` when it is not in this view. Something else at a path that a command
    /// could have changed is an error.
    fn find(&self, policy: &Policy, path: &Path, inode: (u64, u64)) -> io::Result<Option<OwnedFd>> {
        let mut covered = policy.hide.iter().filter(|above| *above != path);
        let is_covered = covered.any(|above| path.starts_with(above))
            || OWN.iter().any(|folder| path.starts_with(folder));
        match self.reopen(path) {
            Ok(place) if at::status(&place)?.inode.numbers() == inode => Ok(Some(place)),
            Ok(place) if policy.writable_above(path).is_none() => Ok(Some(place)),
            Err(_) if is_covered || policy.writable_above(path).is_none() => Ok(None),
            _ => Err(replaced(path)),
        }
    }

    /// Keeps a link where it is, if it is in a folder to write: a mount has its name to itself.
    fn fix(&self, policy: &Policy, link: &Path) -> io::Result<()> {
        let (Some(above), Some(name)) = (link.parent(), link.file_name()) else {
            return Ok(());
        };
        if !self.pin(policy, link)? {
            return Ok(());
        }
        let place = at::hold(self.reopen(above)?, name)?;
        if at::status(&place)?.kind != at::Kind::Link {
            return Err(replaced(link));
        }
        sys::bind(place.as_fd(), place.as_fd())
    }

    /// Keeps a path where it is, if it lies in a folder to write. The folders on the way are mounted
    /// onto themselves, because only what is a mount cannot be renamed from within.
    fn pin(&self, policy: &Policy, path: &Path) -> io::Result<bool> {
        let Some(root) = policy.writable_above(path) else {
            return Ok(false);
        };
        let below = |one: &&Path| one.starts_with(root) && *one != root;
        let mut between: Vec<_> = path.ancestors().skip(1).filter(below).collect();
        between.reverse();
        for folder in between {
            let onto = self.reopen(folder)?;
            sys::bind(onto.as_fd(), onto.as_fd())?;
        }
        Ok(true)
    }

    /// What is put in the place of hidden paths.
    fn make_covers(&self) -> io::Result<()> {
        let file = self.at(COVERS).join("file");
        fs::create_dir(self.at(COVERS))?;
        fs::File::create(&file)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000))
    }

    /// Puts nothing in the place of a path. A folder of the policy in there is still to be shown, so
    /// there are the folders on the way to it.
    fn hide(&self, policy: &Policy, path: &Path, inode: (u64, u64)) -> io::Result<()> {
        if self.find(policy, path, inode)?.is_none() {
            return Ok(());
        }
        self.pin(policy, path)?;
        let Some(place) = self.find(policy, path, inode)? else {
            return Ok(());
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
        if kind != FileType::Directory {
            let file = path_handle(&self.at(COVERS).join("file"))?;
            return self.bind(&file, &place, path, READ);
        }
        // A folder of its own for each, with a name that no other has.
        let cover = self
            .at(COVERS)
            .join(rustix::fs::fstat(&place)?.st_ino.to_string());
        if !cover.is_dir() {
            fs::create_dir(&cover)?;
        }
        let shown = policy.read.iter().chain(&policy.write);
        let mut mode = 0o000;
        for inner in shown.filter_map(|shown| shown.strip_prefix(path).ok()) {
            at::hold_below(path_handle(&cover)?, inner, Some(FileType::Directory))?;
            mode = 0o755;
        }
        fs::set_permissions(&cover, fs::Permissions::from_mode(mode))?;
        self.bind(&path_handle(&cover)?, &place, path, READ)
    }
}
