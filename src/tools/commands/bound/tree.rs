//! What is in files and folders, as far as it can change what a command does that reads them: their content, and no times. A
//! store into a mapped file changes no time.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::OFlags;

use super::reach::{Reach, is_in_proc};
use super::{Error, Place, Result, Uses, refused};
use crate::base::limits::tools::SCRIPT_HEAD_BYTES;
use crate::sandbox::files::PromptPlaces;
use crate::sys::beneath::links_on_the_way;
use crate::sys::mounts::Mounts;
use crate::text::reveal_name;

/// Bytes of all files that are hashed for an approval: 10 seconds on a board, and more than an agent writes.
pub(super) const BOUND_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a file that are read at a time for that.
const BOUND_BUFFER: usize = 64 * 1024;
/// Files in the agent's folders that are bound to an approval as a whole: a second on a board.
pub(super) const BOUND_TREE: usize = 10_000;

/// Opens a file without using it.
const LOOK: i32 = OFlags::PATH.union(OFlags::NOFOLLOW).bits() as i32;

/// Folders into which packages of the system put programs; links to those are common.
const PACKAGED: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/etc"];

/// The kernel's own folder, of which each link leads to many others.
const OF_KERNEL: &str = "/sys";

/// What may still be looked at for an approval.
pub(super) struct Budget {
    files: usize,
    bytes: u64,
}

impl Budget {
    /// That of one approval.
    pub fn new() -> Self {
        Self {
            files: BOUND_TREE,
            bytes: BOUND_BYTES,
        }
    }
}

/// What is in a file.
#[derive(Default)]
pub(super) struct Content {
    /// A hash over its content, its kind and its mode.
    pub mark: Vec<u8>,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its lines, also one without a newline at the end; 0 when it is not text.
    pub lines: u64,
    /// Its first bytes.
    pub head: Vec<u8>,
    /// A name in its text of what changes without it, see [`Reach`].
    pub reach: Option<String>,
}

/// Adds the mark of each file in the folders and below them, and in those outside to which links in them lead. What the program
/// itself keeps a place with comes and goes with other commands, and is left out.
pub(super) fn mark(roots: &[PathBuf], place: &Place<'_>, uses: &mut Uses) -> Result<()> {
    let mut walk = Walk {
        place,
        roots,
        linked: Vec::new(),
        mounts: Mounts::read().ok(),
        budget: Budget::new(),
        reach: None,
        uses,
    };
    for root in roots {
        walk.folder(root, None)?;
    }
    let mut at = 0;
    while let Some((folder, link)) = walk.linked.get(at).cloned() {
        walk.folder(&folder, Some(&link))?;
        at += 1;
    }
    if let Some(name) = walk.reach {
        walk.uses.reads(name);
    }
    Ok(())
}

/// Adds the mark of each name in a folder and below it, and of where links lead.
pub(super) fn mark_names(folder: &Path, budget: &mut Budget, uses: &mut Uses) -> Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in paths_in(&folder, None, budget)? {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            if PromptPlaces::is_made(&path, &metadata) {
                continue;
            }
            let mut context = Context::new(&SHA256);
            add(&mut context, &metadata.mode().to_le_bytes());
            let target = std::fs::read_link(&path).unwrap_or_default();
            add(&mut context, target.as_os_str().as_encoded_bytes());
            uses.marks
                .push((path.clone(), context.finish().as_ref().to_vec()));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Whether a file is the system's, so that it is the same until that is updated or configured.
pub(super) fn is_steady(path: &Path) -> bool {
    let is_packaged = PACKAGED.iter().any(|folder| path.starts_with(folder));
    // Programs below /opt write logs there.
    is_packaged && !path.starts_with("/opt") || path == Path::new("/dev/null")
}

/// The sorted paths in a folder; `link` is the one that leads there from the agent's.
fn paths_in(folder: &Path, link: Option<&Path>, budget: &mut Budget) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        // Neither can the model, where it is not its own.
        Err(_) if is_of_another(folder) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        budget.files = budget.files.checked_sub(1).ok_or_else(|| {
            let [folder, link] = [folder, link.unwrap_or(folder)].map(|path| path.to_string_lossy());
            let (most, path, link) = (BOUND_TREE, reveal_name(&folder), reveal_name(&link));
            refused(&match link == path {
                true => format!(
                    "the folders of the agent have more than {most} files, too many to be bound to an approval ({path}); \
                     delete or move some, or use a simple command"
                ),
                false => format!(
                    "with the folder that {link} leads to there are more than {most} files, too many to be bound to an \
                     approval ({path}); delete the link, or use a simple command"
                ),
            })
        })?;
        paths.push(entry.map_err(|error| unreadable(folder, &error))?.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

/// A look at everything that is bound.
struct Walk<'a> {
    place: &'a Place<'a>,
    /// The folders that hold what the model can write.
    roots: &'a [PathBuf],
    /// Folders outside of those, and the links to them.
    linked: Vec<(PathBuf, PathBuf)>,
    mounts: Option<Mounts>,
    budget: Budget,
    /// The first file whose text names what changes without it.
    reach: Option<String>,
    uses: &'a mut Uses,
}

impl Walk<'_> {
    /// Takes a folder; `link` is the one that leads out to it.
    fn folder(&mut self, top: &Path, link: Option<&Path>) -> Result<()> {
        let mut folders = vec![top.to_owned()];
        while let Some(folder) = folders.pop() {
            for path in paths_in(&folder, link, &mut self.budget)? {
                let Ok(metadata) = path.symlink_metadata() else {
                    continue;
                };
                if PromptPlaces::is_made(&path, &metadata) {
                    continue;
                }
                let mark = match link {
                    _ if metadata.is_symlink() => self.link(&path)?,
                    None => self.entry(&path, &metadata)?,
                    Some(_) if self.roots.contains(&path) => continue,
                    Some(link) => self.entry_outside(&path, &metadata, link)?,
                };
                self.uses.marks.push((path.clone(), mark));
                if metadata.is_dir() {
                    folders.push(path);
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, metadata: &Metadata) -> Result<Vec<u8>> {
        let kind = metadata.file_type();
        if kind.is_file() {
            let none = |_: &str| false;
            let reach = Reach::new(&none);
            let content = content((path, path), metadata, &mut self.budget, reach)?;
            if self.reach.is_none() {
                let path = path.strip_prefix(self.place.folder).unwrap_or(path);
                let named = |name: String| format!("{} → {name}", path.display());
                self.reach = content.reach.map(named);
            }
            return Ok(content.mark);
        }
        // What is in a pipe cannot be looked at.
        if kind.is_fifo() {
            return Err(refused(&format!(
                "{} is a pipe, into which commands in the sandbox can write; delete it first",
                reveal_name(&path.to_string_lossy())
            )));
        }
        let mut context = Context::new(&SHA256);
        add(&mut context, &metadata.mode().to_le_bytes());
        add(&mut context, &metadata.rdev().to_le_bytes());
        Ok(context.finish().as_ref().to_vec())
    }

    /// The mark of what lies outside and a link leads to: its times, and its content where the model can write that.
    fn entry_outside(&mut self, path: &Path, metadata: &Metadata, link: &Path) -> Result<Vec<u8>> {
        let names = names_of(path, self.mounts.as_ref());
        if names.iter().any(|name| (self.place.is_hidden)(name)) {
            return Err(refused_link(
                link,
                path,
                "which changes without being asked about",
            ));
        }
        let mut context = Context::new(&SHA256);
        add(&mut context, &metadata.dev().to_le_bytes());
        add(&mut context, &metadata.ino().to_le_bytes());
        if names.iter().any(|name| (self.place.is_writable)(name)) {
            add(&mut context, &self.entry(path, metadata)?);
        } else if metadata.is_file() {
            add(&mut context, &metadata.len().to_le_bytes());
            for time in [
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ] {
                add(&mut context, &time.to_le_bytes());
            }
        }
        Ok(context.finish().as_ref().to_vec())
    }

    /// The mark of a link: where it ends, and what is there, if that is not bound by itself. Fails where other programs write,
    /// or another process decides, what is there: it could change after the approval. People see where a link leads out of
    /// what is bound, but for files that the system's packages bring.
    fn link(&mut self, path: &Path) -> Result<Vec<u8>> {
        let target = std::fs::read_link(path).unwrap_or_default();
        let (end, links) = links_on_the_way(path);
        let mut context = Context::new(&SHA256);
        add(&mut context, target.as_os_str().as_encoded_bytes());
        // It may lead in a circle.
        let Ok(end) = end else {
            return Ok(context.finish().as_ref().to_vec());
        };
        if links.iter().chain([&end]).any(|it| is_in_proc(it)) {
            let why = "which a process can change at any time";
            return Err(refused_link(path, &target, why));
        }
        let mut names = names_of(&end, self.mounts.as_ref()).into_iter();
        if names.any(|name| (self.place.is_hidden)(&name)) {
            let why = "which changes without being asked about";
            return Err(refused_link(path, &target, why));
        }
        add(&mut context, end.as_os_str().as_encoded_bytes());
        let found = end.symlink_metadata().ok();
        if self.is_bound(&end) {
            if let Some(found) = &found {
                add(&mut context, &found.dev().to_le_bytes());
                add(&mut context, &found.ino().to_le_bytes());
            }
            return Ok(context.finish().as_ref().to_vec());
        }
        let is_folder = found.as_ref().is_some_and(Metadata::is_dir);
        let is_packaged = PACKAGED.iter().any(|folder| end.starts_with(folder));
        let is_packaged = is_packaged && !(self.place.is_writable)(&end);
        let is_own = self.roots.iter().any(|root| path.starts_with(root));
        if (is_folder || !is_packaged) && (is_own || (self.place.is_writable)(path)) {
            self.uses.leads_out(path, &target, self.place);
        }
        let Some(found) = found else {
            return Ok(context.finish().as_ref().to_vec());
        };
        add(&mut context, &self.entry_outside(&end, &found, path)?);
        // Of what packages bring and root alone can change, it is enough that people see it.
        let is_of_root = found.uid() == 0 && found.mode() & 0o022 == 0;
        if is_folder && !end.starts_with(OF_KERNEL) && !(is_packaged && is_of_root) {
            self.linked.push((end, path.to_owned()));
        }
        Ok(context.finish().as_ref().to_vec())
    }

    /// Whether a real path is in one of the folders that are looked at.
    fn is_bound(&self, path: &Path) -> bool {
        let linked = self.linked.iter().map(|(folder, _)| folder);
        let mut all = self.roots.iter().chain(linked);
        all.any(|folder| path.starts_with(folder))
    }
}

/// A real path, and the others at which mounts show what is there.
pub(super) fn names_of(path: &Path, mounts: Option<&Mounts>) -> Vec<PathBuf> {
    let mut names = vec![path.to_owned()];
    let open = |above: &Path| File::options().read(true).custom_flags(LOOK).open(above);
    let held = path.ancestors().find_map(|above| {
        let handle = open(above).ok()?;
        Some((handle, path.strip_prefix(above).ok()?))
    });
    if let (Some(mounts), Some((handle, rest))) = (mounts, held)
        && let Ok(Some(place)) = mounts.location(&handle)
    {
        let others = mounts.paths_to(&place, None).into_iter();
        names.extend(others.map(|other| other.join(rest)));
    }
    names
}

fn refused_link(link: &Path, target: &Path, why: &str) -> Error {
    let [link, target] = [link, target].map(|path| path.to_string_lossy());
    let (link, target) = (reveal_name(&link), reveal_name(&target));
    refused(&format!(
        "{link} is a link to {target}, {why}; delete it first"
    ))
}

/// Reads a whole file. Of one of another account that we cannot read only the inode counts: the model cannot write it either.
/// `shown` is its name for people.
pub(super) fn content(
    (path, shown): (&Path, &Path),
    metadata: &Metadata,
    budget: &mut Budget,
    mut reach: Reach<'_>,
) -> Result<Content> {
    let mut context = Context::new(&SHA256);
    add(&mut context, &metadata.mode().to_le_bytes());
    let mut content = Content::default();
    // What was a file a moment ago may hold nobody up.
    let flags = OFlags::NONBLOCK.bits() as i32;
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(mut file) => {
            let read = read_into(&mut file, &mut context, &mut content, (budget, &mut reach));
            read.map_err(|error| unreadable(shown, &error))?;
            content.reach = reach.found().filter(|_| content.lines > 0);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) if metadata.uid() != rustix::process::geteuid().as_raw() => {
            add(&mut context, &metadata.dev().to_le_bytes());
            add(&mut context, &metadata.ino().to_le_bytes());
        }
        Err(error) => return Err(unreadable(shown, &error)),
    }
    content.mark = context.finish().as_ref().to_vec();
    Ok(content)
}

fn read_into(
    file: &mut File,
    context: &mut Context,
    content: &mut Content,
    (budget, reach): (&mut Budget, &mut Reach<'_>),
) -> std::io::Result<()> {
    if file.metadata()?.len() > budget.bytes {
        return Err(too_large());
    }
    let mut buffer = vec![0; BOUND_BUFFER];
    let mut lines = Lines::default();
    loop {
        let length = file.read(&mut buffer)?;
        let bytes = &buffer[..length];
        if bytes.is_empty() {
            break;
        }
        budget.bytes = budget
            .bytes
            .checked_sub(length as u64)
            .ok_or_else(too_large)?;
        let free = SCRIPT_HEAD_BYTES - content.head.len();
        content.head.extend_from_slice(&bytes[..length.min(free)]);
        context.update(bytes);
        content.bytes += length as u64;
        lines.add(bytes);
        reach.add(bytes);
    }
    content.lines = lines.count();
    Ok(())
}

/// The lines of a text that is read piece by piece.
#[derive(Default)]
pub struct Lines {
    whole: u64,
    is_open: bool,
    has_nul: bool,
}

impl Lines {
    /// Takes the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.whole += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.is_open = bytes.last().map_or(self.is_open, |last| *last != b'\n');
        self.has_nul |= bytes.contains(&0);
    }

    /// How many there are, with one that has no newline; 0 when it is not text.
    pub fn count(&self) -> u64 {
        if self.has_nul {
            0
        } else {
            self.whole + u64::from(self.is_open)
        }
    }
}

fn too_large() -> std::io::Error {
    let most = BOUND_BYTES >> 20;
    std::io::Error::other(format!(
        "with it there are more than {most} MiB that commands in the sandbox can change, too many to be bound to an approval; \
         delete or move some, or use a simple command"
    ))
}

fn is_of_another(folder: &Path) -> bool {
    let metadata = folder.symlink_metadata();
    metadata.is_ok_and(|metadata| metadata.uid() != rustix::process::geteuid().as_raw())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let path = path.to_string_lossy();
    refused(&format!("failed to read {}: {error}", reveal_name(&path)))
}

/// Adds a part to a hash; where one ends counts too.
fn add(context: &mut Context, part: &[u8]) {
    context.update(&(part.len() as u64).to_le_bytes());
    context.update(part);
}
