//! The folders that tools may use, held open from the start on.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::config::resolve::{Folder, Folders};
use crate::config::schema::Tools;
use crate::sys::at::{self, Inode, Kind};
use crate::sys::beneath::{self, Scope};
use crate::sys::mounts::{self, Mounts};

/// Where things lie for the tools. All paths are absolute.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// The folder the agent works in; it has to exist.
    pub workspace: &'a Path,
    /// Files and folders that no tool reads or writes: the program's home (the workspace within it
    /// is exempt), and files with keys.
    pub hidden: &'a [&'a Path],
    /// What `~` stands for in configured paths.
    pub user_home: Option<&'a Path>,
}

/// A folder that tools may use.
#[derive(Debug)]
pub(super) struct Root {
    /// As it was configured.
    shown: PathBuf,
    /// The same without links.
    canonical: PathBuf,
    pub(super) handle: OwnedFd,
    /// The mount that it is on.
    pub(super) mount: u64,
    pub(super) inode: Inode,
    pub(super) is_kernel_view: bool,
    pub(super) writable: bool,
    pub(super) scope: Scope,
}

impl Root {
    /// Opens a folder by its real path. A link on the way was made since that path was found.
    fn open(shown: &Path, real: &Path, writable: bool, scope: Scope) -> io::Result<Self> {
        let handle = at::hold_below(at::open_root(Path::new("/"))?, real, None)?;
        let status = at::status(&handle)?;
        if status.kind != Kind::Folder {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self {
            shown: shown.to_owned(),
            inode: status.inode,
            mount: mounts::number_of(&handle)?,
            is_kernel_view: at::is_kernel_view(&handle)?,
            canonical: real.to_owned(),
            handle,
            writable,
            scope,
        })
    }

    /// The rest of an absolute path whose text begins with this root's.
    pub(super) fn rest_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.shown)
            .or_else(|_| path.strip_prefix(&self.canonical))
            .ok()
    }
}

/// All of them, and what is protected within.
#[derive(Debug)]
pub(super) struct Roots {
    /// The one with the longest path first, so that the first that fits is the closest.
    pub(super) roots: Vec<Root>,
    pub(super) guards: Vec<Arc<Guard>>,
    /// The folders, for people and the model.
    pub(super) described: String,
    pub(super) workspace: Inode,
}

impl Roots {
    /// Opens the folders of the configuration and finds what is protected within them.
    pub(super) fn open(places: &Places<'_>, tools: &Tools) -> Result<Self> {
        let real = beneath::canonical(places.workspace);
        let workspace = real.and_then(|real| {
            Ok((
                Root::open(places.workspace, &real, true, Scope::Beneath)?,
                real,
            ))
        });
        let (workspace, real) =
            workspace.map_err(Error::io("open the workspace", places.workspace))?;
        let mut all = Self {
            described: format!("workspace {}", places.workspace.display()),
            workspace: workspace.inode,
            roots: vec![workspace],
            guards: Vec::new(),
        };
        let folders = Folders::of(tools, &real, places.user_home)?;
        all.add_configured(&folders, tools)?;
        all.add_guards(places, &folders)?;
        all.roots
            .sort_by_key(|root| std::cmp::Reverse(root.shown.components().count()));
        Ok(all)
    }

    /// The real path of the workspace.
    pub(super) fn workspace_path(&self) -> Option<&Path> {
        let mut roots = self.roots.iter();
        let found = roots.find(|root| root.inode == self.workspace);
        found.map(|root| root.canonical.as_path())
    }

    fn add_configured(&mut self, folders: &Folders, tools: &Tools) -> Result<()> {
        for folder in &folders.write {
            self.add("tools.allowedPaths", folder, true)?;
        }
        for folder in &folders.read {
            self.add("tools.readOnlyPaths", folder, false)?;
        }
        if !tools.restrict_to_workspace {
            let top = Path::new("/");
            let root = Root::open(top, top, true, Scope::System).map_err(Error::io("open", top))?;
            self.roots.push(root);
            self.described.push_str(", every other folder");
        }
        Ok(())
    }

    fn add(&mut self, key: &str, folder: &Folder, writable: bool) -> Result<()> {
        let opened = folder
            .real
            .as_ref()
            .map(|real| Root::open(&folder.named, real, writable, Scope::Beneath));
        let remark = match opened {
            Some(Ok(root)) => {
                self.roots.push(root);
                if writable { "" } else { " (read only)" }
            }
            None => " (not used: reached through a link in a folder that tools can change)",
            // A USB stick that is not plugged in does not prevent the start.
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                " (missing at the start)"
            }
            Some(Err(error)) => {
                return Err(Error::Config(format!(
                    "{key}: {} cannot be opened as a folder: {error}",
                    folder.named.display()
                )));
            }
        };
        // Writing to a String does not fail.
        let _ = write!(self.described, ", {}{remark}", folder.named.display());
        Ok(())
    }

    fn add_guards(&mut self, places: &Places<'_>, folders: &Folders) -> Result<()> {
        for path in places.hidden {
            self.guard(path, Protection::Hidden)?;
        }
        self.refuse_hidden_roots(places.hidden)?;
        for path in &folders.protect {
            self.close_protected_roots(path)?;
            self.guard(path, Protection::ReadOnly)?;
        }
        for folder in &folders.read {
            self.guard(&folder.named, Protection::ReadOnly)?;
        }
        Ok(())
    }

    /// A folder within the program's home cannot be given to the tools, however it is mounted.
    fn refuse_hidden_roots(&self, hidden: &[&Path]) -> Result<()> {
        for root in &self.roots {
            let mut within = self
                .hides_mount_of(root)?
                .then_some(root.canonical.as_path());
            for hidden in hidden {
                let Some(inode) = inode_of(hidden) else {
                    continue;
                };
                let lies_within = is_beneath(root, inode)? && !is_beneath(root, self.workspace)?;
                if root.inode == inode || lies_within {
                    within = Some(hidden);
                }
            }
            if let Some(hidden) = within {
                let what = if root.inode == self.workspace {
                    "agents.defaults.workspace"
                } else {
                    "tools.allowedPaths or tools.readOnlyPaths"
                };
                return Err(Error::Config(format!(
                    "{what}: {} is inside {}, which contains the configuration, keys and sessions; \
                     tools may not use it. Choose another folder",
                    root.shown.display(),
                    hidden.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether a root is a mount of something within the home, which lies elsewhere by its path.
    fn hides_mount_of(&self, root: &Root) -> Result<bool> {
        match self.check_mount(root.mount, Intent::Read, &[]) {
            // In a chroot(2) without a mount of its own the table lacks what the root lies on.
            Ok(()) | Err(Failure::Rule(Rule::Outside)) => Ok(false),
            Err(Failure::Rule(_)) => Ok(true),
            Err(Failure::System(error)) => Err(Error::io("open", &root.shown)(error)),
        }
    }

    /// Refuses a mount that shows what lies within a protected place. The place itself is recognised by its inode.
    pub(super) fn check_mount(
        &self,
        number: u64,
        intent: Intent,
        kept: &[Arc<Guard>],
    ) -> Result<(), Failure> {
        let mounts = Mounts::read()?;
        let Some(origin) = mounts.origin(number) else {
            return Err(Rule::Outside.into());
        };
        let mut workspace = None;
        if let Some(root) = self.roots.iter().find(|root| root.inode == self.workspace) {
            workspace = mounts.location(&root.handle)?;
        }
        for guard in self.guards.iter().chain(kept) {
            let Some(rule) = guard.protection.forbids(intent) else {
                continue;
            };
            let Some((handle, _)) = &guard.first else {
                continue;
            };
            let Some(place) = mounts.location(handle)? else {
                continue;
            };
            let of_workspace = workspace.as_ref().is_some_and(|workspace| {
                guard.protection == Protection::Hidden
                    && place.contains(workspace)
                    && workspace.contains(origin)
            });
            if place.contains(origin) && place != *origin && !of_workspace {
                return Err(rule.into());
            }
        }
        Ok(())
    }

    /// What lies in a protected place is protected, also when it is configured as a folder to write.
    fn close_protected_roots(&mut self, protected: &Path) -> Result<()> {
        let Some(inode) = inode_of(protected) else {
            return Ok(());
        };
        for root in &mut self.roots {
            if is_beneath(root, inode)? {
                root.writable = false;
            }
        }
        Ok(())
    }

    fn guard(&mut self, place: &Path, protection: Protection) -> Result<()> {
        let (real, links) = beneath::links_on_the_way(place);
        let guard = Guard::of_real(real.as_deref().unwrap_or(place), protection);
        let guard = guard.map_err(Error::io("protect", place))?;
        self.guards.push(Arc::new(guard));
        // Nothing is put in the place of a link that leads there.
        let guards = links.iter().filter_map(|link| Guard::of_link(link).ok());
        self.guards.extend(guards.map(Arc::new));
        Ok(())
    }
}

fn inode_of(path: &Path) -> Option<Inode> {
    let handle = at::open_root(path).ok()?;
    Some(at::status(handle).ok()?.inode)
}

fn is_beneath(root: &Root, other: Inode) -> Result<bool> {
    lies_beneath(root.handle.as_fd(), other).map_err(Error::io("open", &root.shown))
}

/// What an access is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Read,
    Write,
}

/// How a place is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Neither read nor written; the workspace within it is exempt.
    Hidden,
    /// Not written.
    ReadOnly,
}

impl Protection {
    fn forbids(self, intent: Intent) -> Option<Rule> {
        match (self, intent) {
            (Self::Hidden, _) => Some(Rule::Hidden),
            (Self::ReadOnly, Intent::Write) => Some(Rule::ReadOnly),
            (Self::ReadOnly, Intent::Read) => None,
        }
    }
}

/// A protected place.
#[derive(Debug)]
pub(super) struct Guard {
    folder: OwnedFd,
    folder_inode: Inode,
    name: OsString,
    /// What it was at the start: it stays protected when it is moved. It is held, because the
    /// inode of a file that is gone is soon another file's.
    first: Option<(OwnedFd, Inode)>,
    protection: Protection,
}

impl Guard {
    /// Guards a place by its path without links. One that does not exist is guarded from the first folder on that is
    /// missing.
    fn of_real(place: &Path, protection: Protection) -> io::Result<Self> {
        let mut name = place.file_name().unwrap_or(OsStr::new("."));
        let mut above = place.parent().unwrap_or(place);
        let folder = loop {
            match (at::open_root(above), above.parent()) {
                (Err(error), Some(parent)) if is_out_of_sight(&error) => {
                    name = above.file_name().unwrap_or(name);
                    above = parent;
                }
                (folder, _) => break folder?,
            }
        };
        Self::of_name(folder, name, protection)
    }

    /// Guards the name of a link; what it leads to has a guard of its own.
    pub(super) fn of_link(link: &Path) -> io::Result<Self> {
        let (Some(above), Some(name)) = (link.parent(), link.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Self::of_name(at::open_root(above)?, name, Protection::ReadOnly)
    }

    fn of_name(folder: OwnedFd, name: &OsStr, protection: Protection) -> io::Result<Self> {
        let first = match at::hold(&folder, name) {
            Ok(handle) => {
                let inode = at::status(&handle)?.inode;
                Some((handle, inode))
            }
            Err(error) if is_out_of_sight(&error) => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            folder_inode: at::status(&folder)?.inode,
            first,
            name: name.to_owned(),
            folder,
            protection,
        })
    }

    /// The place as it is now, for comparing.
    pub(super) fn mark(self: &Arc<Self>) -> io::Result<Mark> {
        Ok(Mark {
            guard: Arc::clone(self),
            now: inode_at(&self.folder, &self.name)?,
        })
    }
}

/// A protected place as it is at this moment.
#[derive(Debug)]
pub(super) struct Mark {
    guard: Arc<Guard>,
    now: Option<Inode>,
}

impl Mark {
    /// The same place as it is now.
    pub(super) fn again(&self) -> io::Result<Self> {
        self.guard.mark()
    }

    fn is(&self, inode: Inode) -> bool {
        let first = self.guard.first.as_ref().map(|(_, inode)| *inode);
        self.now == Some(inode) || first == Some(inode)
    }

    fn is_name(&self, folder: Inode, name: &OsStr) -> bool {
        self.guard.folder_inode == folder && self.guard.name == name
    }

    /// Whether what has this name in this folder is hidden.
    pub(super) fn hides(&self, folder: Inode, name: &OsStr, inode: Inode) -> bool {
        self.guard.protection == Protection::Hidden
            && (self.is(inode) || self.is_name(folder, name))
    }
}

/// Refuses what meets a protected place, if its protection forbids the intent.
fn refuse(marks: &[Mark], intent: Intent, meets: impl Fn(&Mark) -> bool) -> Result<(), Failure> {
    let mut met = marks.iter().filter(|mark| meets(mark));
    match met.find_map(|mark| mark.guard.protection.forbids(intent)) {
        Some(rule) => Err(rule.into()),
        None => Ok(()),
    }
}

/// Compares a thing with the protected ones, whatever its name.
pub(super) fn check_thing(marks: &[Mark], inode: Inode, intent: Intent) -> Result<(), Failure> {
    refuse(marks, intent, |mark| mark.is(inode))
}

/// Refuses to move a folder with something protected in it, which would be at another path then.
pub(super) fn check_within(marks: &[Mark], folder: Inode) -> Result<(), Failure> {
    for mark in marks {
        if mark.is(folder) || lies_beneath(mark.guard.folder.as_fd(), folder)? {
            return refuse(std::slice::from_ref(mark), Intent::Write, |_| true);
        }
    }
    Ok(())
}

/// A name in an open folder, beneath a root.
pub(super) struct Place<'a> {
    pub(super) folder: (BorrowedFd<'a>, Inode),
    pub(super) name: &'a OsStr,
    pub(super) root: Inode,
    pub(super) workspace: Inode,
}

/// Compares a name and every folder above it, up to the root, with the protected places.
pub(super) fn check_place(
    marks: &[Mark],
    place: &Place<'_>,
    intent: Intent,
) -> Result<(), Failure> {
    let (_, folder) = place.folder;
    refuse(marks, intent, |mark| mark.is_name(folder, place.name))?;
    let mut in_workspace = false;
    let reached = climb(place.folder, |here| {
        in_workspace |= here == place.workspace;
        refuse(marks, intent, |mark| {
            let exempt = in_workspace && mark.guard.protection == Protection::Hidden;
            mark.is(here) && !exempt
        })?;
        Ok::<bool, Failure>(here == place.root)
    })?;
    if reached {
        Ok(())
    } else {
        // The folder was moved out of the root while it was held.
        Err(Rule::Outside.into())
    }
}

/// Whether a folder is the root or lies beneath it.
fn lies_beneath(folder: BorrowedFd<'_>, root: Inode) -> io::Result<bool> {
    climb((folder, at::status(folder)?.inode), |here| Ok(here == root))
}

/// Goes from a folder up to the top of the file system until `found` says true. False at the top.
fn climb<E: From<io::Error>>(
    (folder, mut here): (BorrowedFd<'_>, Inode),
    mut found: impl FnMut(Inode) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut held: Option<OwnedFd> = None;
    loop {
        if found(here)? {
            return Ok(true);
        }
        let above = at::open_above(held.as_ref().map_or(folder, AsFd::as_fd))?;
        let inode = at::status(&above)?.inode;
        if inode == here {
            return Ok(false);
        }
        here = inode;
        held = Some(above);
    }
}

fn is_out_of_sight(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}

/// What stands at the name. What may not even be looked at cannot be reached by tools either.
fn inode_at(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Inode>> {
    match at::status_if_any(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        status => Ok(status?.map(|status| status.inode)),
    }
}

/// Why an access is refused, by what would allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It leads out of the folders, or to something that may have come in from outside.
    Outside,
    /// It belongs to the program.
    Hidden,
    /// It may only be read.
    ReadOnly,
    /// It is a FIFO, socket or device.
    Special,
    /// It is a link, where the program follows none.
    Link,
}

impl Rule {
    fn as_str(self) -> &'static str {
        match self {
            Self::Outside => {
                "outside the workspace. Add its folder to tools.allowedPaths to allow it"
            }
            Self::Hidden => {
                "off limits: it belongs to Peacrab (configuration, keys, sessions). No setting allows it"
            }
            Self::ReadOnly => {
                "read-only for tools (see tools.readOnlyPaths and tools.protectedPaths)"
            }
            Self::Link => {
                "a link, or behind one, where the program keeps files of its own. Remove the link"
            }
            Self::Special => "a FIFO, socket or device. Tools open only regular files and folders",
        }
    }
}

/// Whether an access was refused because the path is outside the folders.
pub fn is_outside(error: &Error) -> bool {
    matches!(error, Error::Refused { why, .. } if why == Rule::Outside.as_str())
}

/// An access that was refused or failed.
#[derive(Debug)]
pub(super) enum Failure {
    Rule(Rule),
    System(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if beneath::leads_out(&error) {
            Self::Rule(Rule::Outside)
        } else {
            Self::System(error)
        }
    }
}

impl From<Rule> for Failure {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

impl Failure {
    /// The error for people and the model. What only the model has to know beyond it is in
    /// [`Workspace::rules`](super::Workspace::rules).
    pub(super) fn explain(self, doing: &'static str, path: &Path) -> Error {
        let rule = match self {
            Self::System(source) => return Error::io(doing, path)(source),
            Self::Rule(rule) => rule,
        };
        let path = path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let why = rule.as_str().to_owned();
        Error::Refused { path, why }
    }
}

#[cfg(test)]
mod tests;
