//! The folders that tools may use and the only way into them.
//!
//! What a model asks for is untrusted, and matching the text of a path is no boundary. Every access
//! resolves its path beneath an open folder, in the kernel where that can be; what is then opened is
//! a single name in a folder that is held open, so nothing can be swapped between a check and its
//! use. What is inside and still off limits is recognised by inode, not by name.

mod changing;
mod folders;
pub mod gzip;
mod kept;
mod roots;
mod spot;
mod survey;
pub mod tar;
mod walk;

#[cfg(test)]
mod escape_tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::limits::files::LINKS;
use crate::config::schema::Tools;
use crate::sys::at::{self, Kind, Status, Use};
use crate::sys::beneath::{Resolver, canonical};
use crate::sys::{file, mounts};

pub use changing::End;
pub use kept::PromptPlaces;
use roots::{Failure, Guard, Intent, Mark, Place, Root, Roots, Rule};
pub use roots::{Places, is_outside};
use spot::Spot;
pub use survey::PromptSurvey;
pub use walk::{Found, Next, Walked};

/// Folders below each other that a listing or search goes down, each held open meanwhile.
const WALK_DEPTH: usize = 32;
/// Names of one folder that are held and sorted: about a megabyte.
const FOLDER_NAMES: usize = 10_000;

/// Bytes of a path; Linux's PATH_MAX less the closing zero.
const PATH_BYTES: usize = 4095;

/// The workspace's files and folders that make up requests: they stay as they are in what is done for no owner.
pub const PROMPT_PLACES: [&str; 13] = [
    "AGENT.md",
    "AGENTS.md",
    "BOOTSTRAP.md",
    "HEARTBEAT.md",
    "IDENTITY.md",
    "MEMORY.md",
    "SOUL.md",
    "TOOLS.md",
    "USER.md",
    "memory",
    "skills",
    "stickers",
    "tools",
];

/// The folder of what people have sent. Others read there what someone has sent, under that person's name: what is done
/// for someone who is not an owner leaves it as it is, too.
pub const RECEIVED: &str = "inbox";

/// The name of a folder within itself.
fn itself() -> &'static OsStr {
    OsStr::new(".")
}

/// The folders that tools may use. Paths are absolute, or relative to the workspace.
#[derive(Debug)]
pub struct Workspace {
    folders: Arc<Opened>,
    kept: Kept,
    /// The protected places as they were when a batch of reading began.
    marks: Option<Arc<[Mark]>>,
    /// Whether no link is followed.
    is_straight: bool,
}

/// Places of a workspace that are only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Nothing,
    /// [`PROMPT_PLACES`].
    Prompt,
    /// These and [`RECEIVED`].
    PromptAndReceived,
}

/// The folders, which views of a workspace share.
#[derive(Debug)]
struct Opened {
    path: PathBuf,
    roots: Roots,
    restricted: bool,
    resolver: Resolver,
}

impl Workspace {
    /// Opens the folders that the configuration gives to tools. A folder that does not exist is left
    /// out; a folder that cannot be given to them is an [`Error::Config`].
    pub fn open(places: &Places<'_>, tools: &Tools, resolver: Resolver) -> Result<Self> {
        Ok(Self {
            folders: Arc::new(Opened {
                path: places.workspace.to_owned(),
                roots: Roots::open(places, tools)?,
                restricted: tools.restrict_to_workspace,
                resolver,
            }),
            kept: Kept::Nothing,
            marks: None,
            is_straight: false,
        })
    }

    /// The same folders, of which [`PROMPT_PLACES`] and [`RECEIVED`] are only read: for what is done for someone who is
    /// not an owner.
    pub fn keeping_places(&self) -> Self {
        self.keeping(Kept::PromptAndReceived)
    }

    /// The same folders, of which [`PROMPT_PLACES`] are only read: for what people send.
    pub fn receiving(&self) -> Self {
        self.keeping(Kept::Prompt)
    }

    fn keeping(&self, kept: Kept) -> Self {
        Self {
            folders: Arc::clone(&self.folders),
            kept,
            marks: None,
            is_straight: self.is_straight,
        }
    }

    /// The same folders without any link: for what the program itself writes, replaces and removes under names of its
    /// own, which those whom it works for can foresee.
    pub fn straight(&self) -> Self {
        Self {
            is_straight: true,
            ..self.keeping(self.kept)
        }
    }

    /// The same folders, for a batch of files that are read one after the other and now: the protected places are looked
    /// up once for all of them. Writing looks them up each time.
    pub fn at_once(&self) -> Self {
        Self {
            marks: self.marks(Intent::Read).ok(),
            ..self.keeping(self.kept)
        }
    }

    /// The folder the agent works in.
    pub fn path(&self) -> &Path {
        &self.folders.path
    }

    /// The folders, for people and the model: `workspace /x, /data, /doc (read only)`.
    pub fn folders(&self) -> &str {
        &self.folders.roots.described
    }

    /// What the model is told when a path was refused, beyond what the error says.
    pub fn rules(&self) -> String {
        format!(
            "Tools may use: {}. '..', links (hard ones too) and mounts that lead out of these folders are \
             refused. Only the person can change this.",
            self.folders()
        )
    }

    /// Opens a regular file to be read.
    pub fn open_read(&self, path: &Path) -> Result<File> {
        self.access("read", path, |root, rest| {
            let marks = self.marks(Intent::Read)?;
            let spot = self.locate(root, rest, Intent::Read, &marks)?;
            self.open_file(&spot, Use::Read, &marks)
        })
    }

    /// Replaces a file's content, or makes it and the folders it is in. Atomic: after a crash there
    /// is the old content or the new. The file keeps its permissions.
    pub fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.access("write", path, |root, rest| {
            let _changing = self.changing(root, rest)?;
            let marks = self.marks(Intent::Write)?;
            let spot = self.locate_or_make(root, rest, &marks)?;
            let mode = match &spot.found {
                Some(before) => {
                    self.vet(before)?;
                    roots::check_thing(&marks, before.inode, Intent::Write)?;
                    writable_mode(before)?
                }
                None => at::new_file_mode(),
            };
            let folder = at::open_folder(&spot.folder, itself())?;
            Ok(file::write_atomic_at(&folder, &spot.name, content, mode)?)
        })
    }

    /// Adds to a file's end and forces it to the disk; makes the file and the folders it is in.
    pub fn append(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.access("append to", path, |root, rest| {
            let _changing = self.changing(root, rest)?;
            let marks = self.marks(Intent::Write)?;
            let spot = self.locate_or_make(root, rest, &marks)?;
            let is_new = spot.found.is_none();
            let mut file = if is_new {
                at::open_file(&spot.folder, &spot.name, Use::Create)?
            } else {
                self.open_file(&spot, Use::Append, &marks)?
            };
            let before = at::status(&file)?.size;
            let added = file.write_all(content).and_then(|()| file.sync_all());
            if let Err(error) = added {
                // A full disk leaves what was there, not half of the text.
                let _ = if is_new {
                    at::remove_file(&spot.folder, &spot.name)
                } else {
                    file.set_len(before)
                };
                return Err(error.into());
            }
            if is_new {
                at::settle_names(&spot.folder);
            }
            Ok(())
        })
    }

    /// Makes a new file, empty and open to be written, and the folders it is in.
    pub fn create(&self, path: &Path) -> Result<File> {
        self.access("make", path, |root, rest| {
            let _changing = self.changing(root, rest)?;
            let spot = self.locate_or_make(root, rest, &self.marks(Intent::Write)?)?;
            Ok(at::open_file(&spot.folder, &spot.name, Use::Create)?)
        })
    }

    /// Makes a new file for a folder, which is made too, and gives it no name: no one finds it, and it is gone when it is
    /// closed. `None` where the file system cannot.
    pub fn create_unnamed(&self, folder: &Path) -> Result<Option<File>> {
        let path = folder.join("new");
        self.access("make", &path, |root, rest| {
            let spot = self.locate_or_make(root, rest, &self.marks(Intent::Write)?)?;
            Ok(at::make_unnamed(at::open_folder(&spot.folder, itself())?)?)
        })
    }

    /// Gives such a file a name where there is none.
    pub fn name(&self, file: &File, path: &Path) -> Result<()> {
        self.access("make", path, |root, rest| {
            let _changing = self.changing(root, rest)?;
            let spot = self.locate_or_make(root, rest, &self.marks(Intent::Write)?)?;
            at::name_file(file, &spot.folder, &spot.name)?;
            at::settle_names(&spot.folder);
            Ok(())
        })
    }

    /// Removes a regular file.
    pub fn remove(&self, path: &Path) -> Result<()> {
        self.access("remove", path, |root, rest| {
            self.needs_writable(root)?;
            let _changing = self.changing(root, rest)?;
            let spot = self.locate_file(root, rest)?;
            Ok(at::remove_file(&spot.folder, &spot.name)?)
        })
    }

    /// Gives a regular file another path, in the place of a file that is there, and makes the folders it is in.
    /// On another file system it is copied.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let renamed = self.access("rename", from, |root, rest| {
            self.needs_writable(root)?;
            self.locate_file(root, rest)
        });
        let from_spot = renamed?;
        let is_elsewhere = self.access("write", to, |root, rest| {
            let _changing = self.changing(root, rest)?;
            let marks = self.marks(Intent::Write)?;
            let spot = self.locate_or_make(root, rest, &marks)?;
            if let Some(before) = &spot.found {
                self.vet(before)?;
                roots::check_thing(&marks, before.inode, Intent::Write)?;
                writable_mode(before)?;
            }
            let (folder, name) = (&from_spot.folder, &from_spot.name);
            // A handle that only names a folder cannot be synchronised.
            match at::rename(folder, name, &spot.folder, &spot.name, false) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Ok(true),
                renamed => {
                    renamed?;
                    at::settle_names(&spot.folder);
                    Ok(false)
                }
            }
        })?;
        if is_elsewhere {
            let (source, made) = (self.open_read(from)?, beside(to));
            let copied = self.create(&made).and_then(|mut target| {
                io::copy(&mut &source, &mut target)
                    .and_then(|_| target.sync_all())
                    .map_err(Error::io("copy", to))?;
                self.rename(&made, to)
            });
            if copied.is_err() {
                let _ = self.remove(&made);
            }
            copied?;
            self.remove(from)?;
        }
        Ok(())
    }

    /// What a path is, links followed: a file, a folder, or something that no tool opens.
    pub fn kind(&self, path: &Path) -> Result<Kind> {
        self.status(path).map(|status| status.kind)
    }

    /// What stat(2) says of a path, links followed.
    pub fn status(&self, path: &Path) -> Result<Status> {
        self.access("read", path, |root, rest| {
            let spot = self.locate(root, rest, Intent::Read, &self.marks(Intent::Read)?)?;
            Ok(*spot.status()?)
        })
    }

    /// Opens a folder to be listed, with the protected places that may lie in it.
    fn open_listing(&self, path: &Path) -> Result<(Spot<'_>, Arc<[Mark]>)> {
        self.access("list", path, |root, rest| {
            let marks = self.marks(Intent::Read)?;
            let spot = self.locate(root, rest, Intent::Read, &marks)?;
            let listed = Spot::within(root, at::open_folder(&spot.folder, &spot.name)?)?;
            self.permit(root, &listed, Intent::Read, &marks)?;
            Ok((listed, marks))
        })
    }

    /// Does something with a path in the closest of the folders whose text it begins with, and when
    /// it leads out of that one, in the next.
    fn access<'a, T>(
        &'a self,
        doing: &'static str,
        path: &Path,
        act: impl Fn(&'a Root, &Path) -> Result<T, Failure>,
    ) -> Result<T> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() > PATH_BYTES {
            return Err(Error::Failed(format!(
                "cannot {doing} a path of {} bytes: the limit is {PATH_BYTES}",
                bytes.len()
            )));
        }
        let mut outcome = Err(Rule::Outside.into());
        if !bytes.contains(&0) {
            let absolute = self.folders.path.join(path);
            for root in &self.folders.roots.roots {
                if let Some(rest) = root.rest_of(&absolute) {
                    outcome = act(root, rest);
                    if !matches!(outcome, Err(Failure::Rule(Rule::Outside))) {
                        break;
                    }
                }
            }
        }
        outcome.map_err(|failure| failure.explain(doing, path))
    }

    /// Follows a path beneath its root to a name that is not a link and does not lie in a place that
    /// is protected against the intent.
    fn locate<'a>(
        &self,
        root: &'a Root,
        path: &Path,
        intent: Intent,
        marks: &[Mark],
    ) -> Result<Spot<'a>, Failure> {
        let mut path = path.to_owned();
        for _ in 0..=LINKS {
            let (above, name) = match path.file_name() {
                Some(name) => (path.parent().unwrap_or(Path::new("")), name),
                None => (path.as_path(), itself()),
            };
            let mut spot = self.hold(root, above)?;
            match at::status_if_any(&spot.folder, name)? {
                Some(status) if status.kind == Kind::Link && self.is_straight => {
                    return Err(Rule::Link.into());
                }
                Some(status) if status.kind == Kind::Link => {
                    path = above.join(at::read_link(&spot.folder, name)?);
                }
                found => {
                    spot.name = name.to_owned();
                    spot.found = found;
                    self.permit(root, &spot, intent, marks)?;
                    return Ok(spot);
                }
            }
        }
        Err(Rule::Outside.into())
    }

    /// Opens a folder beneath a root.
    fn hold<'a>(&self, root: &'a Root, path: &Path) -> Result<Spot<'a>, Failure> {
        if path.as_os_str().is_empty() {
            return Spot::of_root(root);
        }
        if self.is_straight {
            let folder = at::hold_below(&root.handle, path, None)?;
            return match at::status(&folder)?.kind {
                Kind::Link => Err(Rule::Link.into()),
                _ => Spot::within(root, folder),
            };
        }
        let resolver = self.folders.resolver;
        Spot::within(
            root,
            resolver.open_folder(root.handle.as_fd(), path, root.scope)?,
        )
    }

    /// Like [`Workspace::locate`], a regular file that may be removed.
    fn locate_file<'a>(&self, root: &'a Root, path: &Path) -> Result<Spot<'a>, Failure> {
        let marks = self.marks(Intent::Write)?;
        let spot = self.locate(root, path, Intent::Write, &marks)?;
        let status = spot.status()?;
        self.vet(status)?;
        roots::check_thing(&marks, status.inode, Intent::Write)?;
        Ok(spot)
    }

    /// Like [`Workspace::locate`], to write; makes the folders that are missing.
    fn locate_or_make<'a>(
        &self,
        root: &'a Root,
        path: &Path,
        marks: &[Mark],
    ) -> Result<Spot<'a>, Failure> {
        self.needs_writable(root)?;
        match self.locate(root, path, Intent::Write, marks) {
            Err(Failure::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folders(root, path.parent().unwrap_or(Path::new("")), marks)?;
                self.locate(root, path, Intent::Write, marks)
            }
            located => located,
        }
    }

    fn make_folders(&self, root: &Root, path: &Path, marks: &[Mark]) -> Result<(), Failure> {
        let mut reached = PathBuf::new();
        for component in path.components() {
            reached.push(component);
            let opened =
                self.folders
                    .resolver
                    .open_folder(root.handle.as_fd(), &reached, root.scope);
            match opened {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let spot = self.locate(root, &reached, Intent::Write, marks)?;
                    at::make_folder(&spot.folder, &spot.name)?;
                    at::settle_names(&spot.folder);
                }
                opened => drop(opened?),
            }
        }
        Ok(())
    }

    /// Opens the file at a spot. What it was counts before, because opening a FIFO or a device does something already,
    /// and what it is counts afterwards, because that is what will be used.
    fn open_file(&self, spot: &Spot<'_>, purpose: Use, marks: &[Mark]) -> Result<File, Failure> {
        self.vet(spot.status()?)?;
        let file = at::open_file(&spot.folder, &spot.name, purpose)?;
        let (status, mount) = mounts::status_and_number(&file)?;
        self.vet(&status)?;
        let intent = match purpose {
            Use::Read => Intent::Read,
            Use::Append | Use::Create => Intent::Write,
        };
        // On the folder's mount it is on the folder's file system.
        self.cross(spot.mount, mount, intent)?;
        if mount != spot.mount && at::is_kernel_view(&file)? {
            return Err(Rule::Outside.into());
        }
        roots::check_thing(marks, status.inode, intent)?;
        Ok(file)
    }

    /// Only regular files are opened, and only those that have no other name, which may be outside.
    fn vet(&self, status: &Status) -> Result<(), Failure> {
        match status.kind {
            Kind::File if self.folders.restricted && status.links > 1 => Err(Rule::Outside.into()),
            Kind::File => Ok(()),
            Kind::Folder => Err(Failure::System(io::ErrorKind::IsADirectory.into())),
            Kind::Link => Err(Rule::Outside.into()),
            Kind::Special => Err(Rule::Special.into()),
        }
    }

    fn needs_writable(&self, root: &Root) -> Result<(), Failure> {
        if root.writable {
            Ok(())
        } else {
            Err(Rule::ReadOnly.into())
        }
    }

    /// What is protected against the intent in this view alone: the places as they are now, for the links in it may have
    /// changed since the start.
    fn kept(&self, intent: Intent) -> io::Result<Vec<Arc<Guard>>> {
        if self.kept != Kept::Nothing && intent == Intent::Write {
            guard_places(&self.folders.path, self.kept).map_err(io::Error::other)
        } else {
            Ok(Vec::new())
        }
    }

    fn marks(&self, intent: Intent) -> io::Result<Arc<[Mark]>> {
        if let (Some(marks), Intent::Read) = (&self.marks, intent) {
            return Ok(Arc::clone(marks));
        }
        let kept = self.kept(intent)?;
        let guards = self.folders.roots.guards.iter().chain(&kept);
        guards.map(Guard::mark).collect()
    }

    /// Refuses a name in a folder that is protected or has left the root.
    fn permit(
        &self,
        root: &Root,
        spot: &Spot<'_>,
        intent: Intent,
        marks: &[Mark],
    ) -> Result<(), Failure> {
        self.cross(root.mount, spot.mount, intent)?;
        let place = Place {
            folder: (spot.folder.as_fd(), spot.inode),
            name: &spot.name,
            root: root.inode,
            workspace: self.folders.roots.workspace,
        };
        match intent {
            Intent::Read => roots::check_place(marks, &place, intent),
            // Something that was missing may have been made before the folder was opened.
            Intent::Write => {
                let marks: io::Result<Vec<_>> = marks.iter().map(Mark::again).collect();
                roots::check_place(&marks?, &place, intent)
            }
        }
    }

    /// Refuses to go on from one mount to another one that shows what is protected elsewhere.
    fn cross(&self, from: u64, to: u64, intent: Intent) -> Result<(), Failure> {
        if from == to {
            return Ok(());
        }
        let roots = &self.folders.roots;
        roots.check_mount(to, intent, &self.kept(intent)?)
    }
}

/// Guards the places of a workspace.
fn guard_places(workspace: &Path, kept: Kept) -> Result<Vec<Arc<Guard>>> {
    let workspace = canonical(workspace).map_err(Error::io("find the workspace", workspace))?;
    let guard = |path: PathBuf| match Guard::of_link(&path) {
        Ok(guard) => Ok(Arc::new(guard)),
        Err(error) => Err(Error::io("protect", &path)(error)),
    };
    let things = PromptSurvey::look(&workspace, &[], kept)?;
    things.all().map(guard).collect()
}

/// A path in the same folder for a file that takes the place of another one once it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    path.with_file_name(name)
}

/// The permissions of a file that is about to be replaced. A rename would ignore a missing write
/// permission, which is there for a reason.
fn writable_mode(status: &Status) -> io::Result<u32> {
    if status.mode & 0o222 == 0 {
        Err(io::ErrorKind::PermissionDenied.into())
    } else {
        Ok(status.mode)
    }
}
