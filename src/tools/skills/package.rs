//! A skill that is to be installed: its files, from a folder, an archive or a single SKILL.md, checked
//! before anything is written.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::manifest::{self, Manifest};
use super::{FILE, decode, is_proper_name, zip};
use super::{FILES_MAX, NAMES_MAX, PACKAGE_BYTES};
use crate::base::error::{Error, Result};
use crate::sys::file::read_at_most;
use crate::text::{count_hidden, reveal};

/// Bytes of a path in a skill.
const PATH_BYTES: usize = 256;
/// Folders below each other in a skill.
const DEPTH: usize = 8;

/// Names that archives and folders have beside the skill.
const LEFT_OUT: [&str; 5] = [".git", ".github", "__MACOSX", ".DS_Store", "node_modules"];

/// A file of a skill.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path below the skill's folder.
    pub path: String,
    /// What is in it.
    pub content: Vec<u8>,
    /// Whether it may be run.
    pub is_executable: bool,
}

impl File {
    /// Whether it is a script or a program, by its permissions, its first bytes or its name.
    pub fn is_program(&self) -> bool {
        let extension = self
            .path
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension);
        self.is_executable
            || self.content.starts_with(b"#!")
            || self.content.starts_with(b"\x7fELF")
            || ["sh", "py", "js", "ts", "rb", "pl", "php", "lua"].contains(&extension)
    }
}

/// A skill with all its files.
#[derive(Clone, Debug)]
pub struct Package {
    /// The name of the folder that it gets.
    pub name: String,
    /// What its SKILL.md says.
    pub manifest: Manifest,
    /// Its files, SKILL.md first.
    pub files: Vec<File>,
}

impl Package {
    /// A skill in a folder of this machine. Links in it are refused.
    pub fn from_folder(folder: &Path, name: Option<&str>) -> Result<Self> {
        // Before a folder that is something else is read.
        let is_skill = |name: &str| folder.join(name).symlink_metadata().is_ok();
        if folder.is_dir() && ![FILE, "skill.md"].into_iter().any(is_skill) {
            let folder = folder.display();
            return Err(Error::Failed(format!("There is no {FILE} in {folder}.")));
        }
        let mut walk = Walk::default();
        walk.folder(folder, "", 0)?;
        let found = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let folder_name = found.file_name().and_then(|name| name.to_str());
        Self::new(walk.files, folder_name.unwrap_or_default(), name)
    }

    /// A skill in the bytes of an archive or of a SKILL.md. `source` is the path or address that they are
    /// from; the name of the skill may come from it.
    pub fn from_bytes(bytes: Vec<u8>, source: &str, name: Option<&str>) -> Result<Self> {
        let source = source.split(['?', '#']).next().unwrap_or_default();
        let (above, file) = source.rsplit_once('/').unwrap_or(("", source));
        if zip::is_archive(&bytes) {
            let (files, folder) = from_archive(&bytes)?;
            let stem = file.strip_suffix(".zip").unwrap_or(file);
            return Self::new(files, if folder.is_empty() { stem } else { &folder }, name);
        }
        if bytes.trim_ascii_start().starts_with(b"<")
            && !bytes.trim_ascii_start().starts_with(b"<!--")
        {
            return Err(Error::Failed(
                "This is a web page, not a skill. Use the address of the file itself or of a ZIP file.".to_owned(),
            ));
        }
        if bytes.contains(&0) {
            return Err(Error::Failed(
                "This is neither a SKILL.md nor a ZIP file.".to_owned(),
            ));
        }
        let skill = File {
            path: FILE.to_owned(),
            content: bytes,
            is_executable: false,
        };
        let folder = above.rsplit('/').next().unwrap_or_default();
        Self::new(vec![skill], folder, name)
    }

    /// A skill of files that were read already. `folder` is the name of the folder that they are from, and the skill's
    /// where it can be.
    pub fn from_files(files: Vec<File>, folder: &str) -> Result<Self> {
        Self::new(files, folder, is_proper_name(folder).then_some(folder))
    }

    fn new(mut files: Vec<File>, folder: &str, name: Option<&str>) -> Result<Self> {
        // Some publish it in lower case.
        if !files.iter().any(|file| file.path == FILE)
            && let Some(file) = files.iter_mut().find(|file| file.path == "skill.md")
        {
            file.path = FILE.to_owned();
        }
        files.sort_by(|a, b| (a.path != FILE, &a.path).cmp(&(b.path != FILE, &b.path)));
        let Some(skill) = files.first().filter(|file| file.path == FILE) else {
            return Err(Error::Failed(format!("There is no {FILE} in it.")));
        };
        let (text, _) = decode(skill.content.clone());
        let manifest = manifest::read(&text).manifest;
        let candidates = [name.unwrap_or(&manifest.name), folder]
            .into_iter()
            .take(if name.is_some() { 1 } else { 2 });
        let Some(name) = candidates
            .map(str::to_owned)
            .find(|name| is_proper_name(name))
        else {
            return Err(Error::Usage(
                "Choose a name with --name: lower-case letters, digits and hyphens, at most 64 characters.".to_owned(),
            ));
        };
        Ok(Self {
            name,
            manifest,
            files,
        })
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.content.len()).sum()
    }
}

/// Fails when a path is not one below the skill's folder that can be shown and written as it is.
pub fn check_path(path: &str) -> Result<(), String> {
    let parts = || path.split('/');
    let is_fine = path.len() <= PATH_BYTES
        && parts().count() <= DEPTH + 1
        && parts().all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.contains(['\\', ':', '\0', '\n', '\t'])
        && count_hidden(path) == 0;
    if is_fine {
        Ok(())
    } else {
        Err(format!(
            "The path {} cannot be installed.",
            reveal(path).replace('\n', "\\n")
        ))
    }
}

fn is_left_out(path: &str) -> bool {
    path.split('/').any(|part| LEFT_OUT.contains(&part))
}

/// The files of the only skill in an archive, and the name of its folder; empty when that is the top.
fn from_archive(bytes: &[u8]) -> Result<(Vec<File>, String)> {
    let failed = Error::Failed;
    let mut paths = zip::paths(bytes).map_err(failed)?;
    paths.retain(|path| !is_left_out(path));
    let folders = paths.iter().filter_map(|path| {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        file.eq_ignore_ascii_case(FILE).then_some(folder)
    });
    let mut folders: Vec<&str> = folders.collect();
    folders.sort_by_key(|folder| folder.len());
    let folder = match folders.as_slice() {
        [] => return Err(failed(format!("There is no {FILE} in the archive."))),
        // What is in the skill's own folder belongs to it.
        [first, others @ ..] if others.iter().all(|other| is_below(other, first)) => *first,
        several => {
            let names = several.join(", ");
            return Err(failed(format!(
                "The archive has several skills: {names}. Unpack it and install the folder that you want."
            )));
        }
    };
    let wanted = |path: &str| is_below(path, folder) && !is_left_out(path);
    let mut files = zip::read(bytes, &wanted).map_err(failed)?;
    if !folder.is_empty() {
        for file in &mut files {
            file.path.drain(..=folder.len());
        }
    }
    let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
    Ok((files, name))
}

fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

#[derive(Default)]
struct Walk {
    files: Vec<File>,
    names: usize,
    bytes: usize,
}

impl Walk {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<()> {
        let failed = || Error::io("read", folder);
        for entry in std::fs::read_dir(folder).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            self.names += 1;
            if self.names > NAMES_MAX || depth > DEPTH {
                return Err(Error::Failed(format!(
                    "{} has too many files or folders.",
                    folder.display()
                )));
            }
            let name = entry.file_name();
            let name = name
                .to_str()
                .ok_or_else(|| failed()(ErrorKind::InvalidFilename.into()))?;
            if LEFT_OUT.contains(&name) {
                continue;
            }
            let path = format!("{prefix}{name}");
            check_path(&path).map_err(Error::Failed)?;
            let about = entry.metadata().map_err(failed())?;
            if about.is_dir() {
                self.folder(&entry.path(), &format!("{path}/"), depth + 1)?;
            } else if about.is_file() {
                let left = PACKAGE_BYTES.saturating_sub(self.bytes);
                let content = read_at_most(&entry.path(), left)?;
                self.bytes += content.len();
                let is_executable = about.permissions().mode() & 0o111 != 0;
                self.files.push(File {
                    path,
                    content,
                    is_executable,
                });
                if self.files.len() > FILES_MAX {
                    return Err(Error::Failed(format!(
                        "The skill has more than {FILES_MAX} files."
                    )));
                }
            } else {
                let path = entry.path();
                return Err(Error::Failed(format!(
                    "{} is a link or a device. Only files and folders are installed.",
                    path.display()
                )));
            }
        }
        Ok(())
    }
}
