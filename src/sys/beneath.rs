//! Folders beneath an open folder: a path is resolved so that no `..`, link or race leads out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::base::limits::files::LINKS;

/// How often openat2 is asked again when a rename somewhere in the system disturbs it (EAGAIN).
const RESOLVE_TRIES: usize = 16;
/// Folders held open while a path is resolved without openat2; a process may have 1024 files.
const RESOLVE_HANDLES: usize = 128;

/// Who resolves paths. Both give the same answers; [`Resolver::detect`] takes the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolver {
    /// The kernel, in one call (openat2(2), Linux 5.6 on).
    Kernel,
    /// We, component by component, where the kernel or an old seccomp filter does not let us.
    Walk,
}

/// What a root makes of paths that rise above it and of absolute links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They are refused.
    Beneath,
    /// The root is the system's own, so they mean what they always mean.
    System,
}

/// Whether the error says that a path leads out of its root, or that links lead in circles.
pub fn leads_out(error: &io::Error) -> bool {
    [Errno::XDEV, Errno::LOOP]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Resolver {
    /// Asks the kernel whether it knows openat2. Anything but a yes (ENOSYS before 5.6, EPERM by a
    /// seccomp filter) means the walk, which is right everywhere.
    pub fn detect() -> Self {
        let tried =
            rustix::fs::openat2(CWD, "/", FOLDER, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
        if tried.is_ok() {
            Self::Kernel
        } else {
            Self::Walk
        }
    }

    /// Opens the folder at `path` beneath `root`, for use as the base of further calls only
    /// (`O_PATH`). The empty path is the root itself. Fails with `EXDEV` or `ELOOP`, as
    /// [`leads_out`] tells, when the path leads out of the root or through a magic link.
    pub fn open_folder(
        self,
        root: BorrowedFd<'_>,
        path: &Path,
        scope: Scope,
    ) -> io::Result<OwnedFd> {
        match self {
            Self::Kernel => open_by_kernel(root, path, scope),
            Self::Walk => open_by_walk(root, path, scope),
        }
    }
}

fn open_by_kernel(root: BorrowedFd<'_>, path: &Path, scope: Scope) -> io::Result<OwnedFd> {
    let bounded = match scope {
        Scope::Beneath => ResolveFlags::BENEATH,
        Scope::System => ResolveFlags::IN_ROOT,
    };
    // The others imply it for now; openat2(2) asks not to rely on that.
    let resolve = bounded | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    for _ in 0..RESOLVE_TRIES {
        match rustix::fs::openat2(root, path, FOLDER, Mode::empty(), resolve) {
            // A rename or mount anywhere in the system while a `..` was resolved.
            Err(Errno::AGAIN) => {}
            opened => return Ok(opened?),
        }
    }
    // The walk does not depend on a quiet system.
    open_by_walk(root, path, scope)
}

/// Resolves by hand. The handles passed on the way down are kept, and `..` goes back to the one
/// before, never to what the file system says is above: so it cannot get above the root, whatever
/// is moved meanwhile. Links are read as text, so a magic link leads nowhere.
fn open_by_walk(root: BorrowedFd<'_>, path: &Path, scope: Scope) -> io::Result<OwnedFd> {
    let mut passed: Vec<OwnedFd> = Vec::new();
    let mut ahead: Vec<OsString> = Vec::new();
    let mut links = 0;
    push_reversed(&mut ahead, path);
    while let Some(component) = ahead.pop() {
        match (component.as_encoded_bytes(), scope) {
            (b"/", Scope::Beneath) => return Err(Errno::XDEV.into()),
            (b"/", Scope::System) => passed.clear(),
            (b"..", _) => {
                if passed.pop().is_none() && scope == Scope::Beneath {
                    return Err(Errno::XDEV.into());
                }
            }
            _ => {
                let here = passed.last().map_or(root, AsFd::as_fd);
                match step(here, &component)? {
                    Step::Folder(_) if passed.len() == RESOLVE_HANDLES => {
                        return Err(Errno::NAMETOOLONG.into());
                    }
                    Step::Folder(handle) => passed.push(handle),
                    Step::Link(_) if links == LINKS => return Err(Errno::LOOP.into()),
                    Step::Link(target) => {
                        links += 1;
                        push_reversed(&mut ahead, Path::new(&target));
                    }
                }
            }
        }
    }
    match passed.pop() {
        Some(handle) => Ok(handle),
        None => Ok(rustix::fs::openat(root, ".", FOLDER, Mode::empty())?),
    }
}

enum Step {
    Folder(OwnedFd),
    Link(OsString),
}

fn step(here: BorrowedFd<'_>, name: &OsStr) -> io::Result<Step> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(here, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode) {
        FileType::Directory => Ok(Step::Folder(handle)),
        FileType::Symlink => Ok(Step::Link(super::at::read_link(&handle, OsStr::new(""))?)),
        _ => Err(Errno::NOTDIR.into()),
    }
}

fn push_reversed(ahead: &mut Vec<OsString>, path: &Path) {
    let steps = path
        .components()
        .rev()
        .filter(|component| *component != Component::CurDir)
        .map(|component| component.as_os_str().to_owned());
    ahead.extend(steps);
}

/// The path without links, `..` and doubled slashes, also of what does not exist yet: there its text
/// counts. A link in one of the folders `changeable` is not followed, because anyone who can change the
/// folder could have put it there; the error is `ELOOP` then.
pub fn real_path(path: &Path, changeable: &[PathBuf]) -> io::Result<PathBuf> {
    follow_links(path, changeable, &mut Vec::new())
}

/// The path without links as in [`real_path`], and the links on the way to it, by their own real paths; those that were
/// passed before the limit where they lead in circles.
pub fn links_on_the_way(path: &Path) -> (io::Result<PathBuf>, Vec<PathBuf>) {
    let mut links = Vec::new();
    (follow_links(path, &[], &mut links), links)
}

/// The path without links, like [`Path::canonicalize`], but with one call where none is on the way.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    path_without_links(path).map_or_else(|| path.canonicalize(), Ok)
}

/// An absolute path on which there is no link, as the kernel knows at once; `None` where there is one, where something is
/// missing, or where the kernel does not say.
fn path_without_links(path: &Path) -> Option<PathBuf> {
    open_without_links(path)?.ok()?;
    Some(path.components().collect())
}

/// The same of a path whose last name may be missing.
fn new_path_without_links(path: &Path) -> Option<PathBuf> {
    match open_without_links(path)? {
        // A link that leads nowhere would be `ELOOP`.
        Err(Errno::NOENT) => Some(path_without_links(path.parent()?)?.join(path.file_name()?)),
        opened => opened.ok().map(|_| path.components().collect()),
    }
}

fn open_without_links(path: &Path) -> Option<rustix::io::Result<OwnedFd>> {
    let is_plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return None;
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    Some(rustix::fs::openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        resolve,
    ))
}

fn follow_links(
    path: &Path,
    changeable: &[PathBuf],
    links: &mut Vec<PathBuf>,
) -> io::Result<PathBuf> {
    if let Some(path) = new_path_without_links(path) {
        return Ok(path);
    }
    let mut real = PathBuf::from("/");
    let mut ahead = Vec::new();
    push_reversed(&mut ahead, path);
    while let Some(component) = ahead.pop() {
        match component.as_encoded_bytes() {
            b"/" => real = PathBuf::from("/"),
            b".." => drop(real.pop()),
            _ => {
                real.push(&component);
                let Ok(target) = std::fs::read_link(&real) else {
                    continue;
                };
                let foreign = changeable.iter().any(|folder| real.starts_with(folder));
                if foreign || links.len() == LINKS {
                    return Err(Errno::LOOP.into());
                }
                links.push(real.clone());
                real.pop();
                push_reversed(&mut ahead, &target);
            }
        }
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::at;
    use std::os::unix::fs::symlink;

    /// `top/root` is the root, `top/outside` is beside it.
    fn tree() -> (tempfile::TempDir, OwnedFd) {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("root/a/b")).unwrap();
        std::fs::create_dir(top.path().join("outside")).unwrap();
        std::fs::write(top.path().join("root/file"), "x").unwrap();
        let link = |target: &str, name: &str| symlink(target, top.path().join("root").join(name));
        link("a/b/../b", "inside").unwrap();
        link("../a", "a/up").unwrap();
        link("../outside", "relative").unwrap();
        link("/", "absolute").unwrap();
        link("circle", "circle").unwrap();
        link("a/none", "dangling").unwrap();
        let root = at::open_root(&top.path().join("root")).unwrap();
        (top, root)
    }

    fn outcome(resolver: Resolver, root: &OwnedFd, path: &str) -> Result<at::Inode, Option<i32>> {
        resolver
            .open_folder(root.as_fd(), Path::new(path), Scope::Beneath)
            .and_then(at::status)
            .map(|status| status.inode)
            .map_err(|error| error.raw_os_error())
    }

    #[test]
    fn the_kernel_and_the_walk_give_the_same_answers() {
        assert_eq!(
            Resolver::detect(),
            Resolver::Kernel,
            "the machine that runs the tests has openat2"
        );
        let (_top, root) = tree();
        let paths = [
            "",
            ".",
            "a",
            "a//b/.",
            "a/..",
            "a/../a/b/../..",
            "inside",
            "inside/..",
            "a/up/up/b",
            "..",
            "a/../..",
            "../root",
            "relative",
            "absolute",
            "/",
            "circle",
            "missing",
            "missing/..",
            "file",
            "file/..",
        ];
        let mut opened = 0;
        for path in paths {
            let by_kernel = outcome(Resolver::Kernel, &root, path);
            assert_eq!(
                by_kernel,
                outcome(Resolver::Walk, &root, path),
                "for {path:?}"
            );
            opened += usize::from(by_kernel.is_ok());
        }
        assert_eq!(opened, 9, "the others are refused or are no folders");
    }

    #[test]
    fn a_path_that_leads_out_differs_from_one_that_leads_nowhere() {
        let (_top, root) = tree();
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let error = |path: &str| {
                let opened = resolver.open_folder(root.as_fd(), Path::new(path), Scope::Beneath);
                opened.unwrap_err()
            };
            for path in ["..", "relative", "absolute", "circle", "/"] {
                assert!(leads_out(&error(path)), "{path} by {resolver:?}");
            }
            for path in ["missing", "file"] {
                assert!(!leads_out(&error(path)), "{path} by {resolver:?}");
            }
        }
    }

    #[test]
    fn with_the_systems_own_root_absolute_links_mean_what_they_mean() {
        let (top, _) = tree();
        let root = at::open_root(Path::new("/")).unwrap();
        let slash = at::status(&root).unwrap().inode;
        let link = top.path().join("root/absolute");
        let beneath = link.strip_prefix("/").unwrap();
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let opened = resolver.open_folder(root.as_fd(), beneath, Scope::System);
            assert_eq!(at::status(opened.unwrap()).unwrap().inode, slash);
        }
    }

    #[test]
    fn the_magic_links_of_proc_lead_nowhere() {
        let root = at::open_root(Path::new("/proc")).unwrap();
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            for path in ["self/root", "self/cwd", "thread-self/root/etc"] {
                let opened = resolver.open_folder(root.as_fd(), Path::new(path), Scope::Beneath);
                assert!(leads_out(&opened.unwrap_err()), "{path} by {resolver:?}");
            }
        }
    }

    #[test]
    fn a_canonical_path_is_what_the_standard_library_says() {
        let (top, _) = tree();
        for path in [
            "root",
            "root//a/./b/",
            "root/inside",
            "root/inside/..",
            "root/a/../file",
            "root/file",
            "root/file/",
            "root/missing",
            "root/circle",
            "root/a/up/b",
        ] {
            let path = top.path().join(path);
            let kind = |found: io::Result<PathBuf>| found.map_err(|error| error.kind());
            assert_eq!(
                kind(canonical(&path)),
                kind(path.canonicalize()),
                "{path:?}"
            );
        }
        assert!(canonical(Path::new(".")).unwrap().is_absolute());
    }

    #[test]
    fn a_real_path_has_no_links_and_follows_none_that_others_may_have_made() {
        let (top, _) = tree();
        let top = top.path().canonicalize().unwrap();
        let real = |path: &str| real_path(&top.join(path), &[]);
        for (path, wanted) in [
            ("root//a/./b/", "root/a/b"),
            ("root/inside/..", "root/a"),
            ("root/relative", "outside"),
            ("root/relative/../root", "root"),
            ("root/missing/../x/y", "root/x/y"),
            ("root/a/missing", "root/a/missing"),
            ("root/dangling", "root/a/none"),
            ("root/dangling/x", "root/a/none/x"),
            ("root/relative/missing/deep", "outside/missing/deep"),
        ] {
            assert_eq!(real(path).unwrap(), top.join(wanted), "{path}");
        }
        assert_eq!(real("root/absolute/etc").unwrap(), Path::new("/etc"));
        assert!(leads_out(&real("root/circle").unwrap_err()));
        let changeable = [top.join("root")];
        let refused = real_path(&top.join("root/relative"), &changeable);
        assert!(leads_out(&refused.unwrap_err()));
        assert!(real_path(&top.join("root/a"), &changeable).is_ok());
        assert!(real_path(&top.join("root/relative"), &[top.join("outside")]).is_ok());
    }
}
