//! The skills that the model can use: `skills/NAME/SKILL.md` in the workspace, and those that
//! come with the program. One in the workspace replaces the built-in one of its name.
//!
//! A skill is listed whatever is wrong with it; what keeps it from being used is a [`Missing`].

pub mod built_in;
pub mod front_matter;
mod install;
pub mod manifest;
mod missing;
pub mod package;
mod zip;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::limits::skills::{NAME_CHARS, SKILLS_MAX};
use crate::sandbox::files::{Next, Workspace};
use crate::sys::at::Kind;
use crate::sys::file::read_beginning;
use crate::text::{nearest, one_line, truncate_bytes};

use built_in::{BUILT_IN, built_in};
use front_matter::Fault;
use manifest::Manifest;
pub use missing::{Missing, is_program};

/// Faults of a skill that are kept.
const FAULTS: usize = 20;
/// Programs, variables or systems that a skill may name, each.
const REQUIREMENTS: usize = 32;
/// Files of a skill that is installed; large ones have 60.
const FILES_MAX: usize = 500;
/// Bytes of all files of a skill that is installed: they are held in memory meanwhile.
const PACKAGE_BYTES: usize = 8 * 1024 * 1024;
/// Names in an archive or a folder that is installed from.
const NAMES_MAX: usize = 5000;

/// Bytes of a SKILL.md that are read; of a larger one, `read_file` shows the rest. Guides recommend 500
/// lines, about 20 kB, and Anthropic's own claude-api has more than 65 kB.
const FILE_BYTES: usize = 256 * 1024;

/// The folder of the workspace's skills.
pub const FOLDER: &str = "skills";
/// The file of a skill with its description and instructions.
pub const FILE: &str = "SKILL.md";

/// Where a skill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It comes with the program.
    BuiltIn,
    /// It is in the workspace.
    Workspace,
}

/// A skill as it is listed.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Its name, that of its folder.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// Where it comes from.
    pub place: Place,
    /// The path of its SKILL.md as `read_file` takes it.
    pub path: String,
    /// Whether all of it goes into every prompt.
    pub always: bool,
    /// Why it cannot be used; empty when it can.
    pub missing: Vec<Missing>,
}

impl Skill {
    /// Why it cannot be used, in English, on one line; empty when it can.
    pub fn reasons(&self) -> String {
        join(&self.missing)
    }
}

fn join(missing: &[Missing]) -> String {
    let reasons: Vec<String> = missing.iter().map(Missing::to_string).collect();
    reasons.join(", ")
}

/// All that a SKILL.md says, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Details {
    /// The skill as it is listed.
    pub skill: Skill,
    /// What the front matter says.
    pub manifest: Manifest,
    /// The instructions, with `{baseDir}` replaced by the skill's folder.
    pub body: String,
    /// What is wrong with the SKILL.md.
    pub faults: Vec<Fault>,
}

/// The skills of a workspace. Cheap to make; each call reads the files as they are then.
#[derive(Clone, Copy)]
pub struct Skills<'a> {
    workspace: &'a Workspace,
    environment: Option<&'a [(OsString, OsString)]>,
    only: Option<&'a [String]>,
}

impl<'a> Skills<'a> {
    /// `environment` is that of commands; `None` when commands are turned off.
    pub fn new(workspace: &'a Workspace, environment: Option<&'a [(OsString, OsString)]>) -> Self {
        Self {
            workspace,
            environment,
            only: None,
        }
    }

    /// The same without skills of other names; `None` leaves all of them.
    #[must_use]
    pub fn only(self, names: Option<&'a [String]>) -> Self {
        Self {
            only: names,
            ..self
        }
    }

    fn has(&self, name: &str) -> bool {
        self.only
            .is_none_or(|names| names.iter().any(|one| one == name))
    }

    /// The skills, sorted by name: the built-in ones and at most [`SKILLS_MAX`] of the workspace.
    pub fn list(&self) -> Vec<Skill> {
        self.list_and_rest().0
    }

    /// The same, and the number of folders in the workspace that were not looked at.
    pub fn list_and_rest(&self) -> (Vec<Skill>, usize) {
        let mut skills: Vec<Skill> = Vec::new();
        let mut folders = self.folders().into_iter();
        for name in folders.by_ref() {
            skills.extend(
                self.details_in_workspace(&name)
                    .map(|details| details.skill),
            );
            if skills.len() == SKILLS_MAX {
                break;
            }
        }
        for (name, text) in BUILT_IN {
            if self.has(name) && !skills.iter().any(|skill| skill.name == name) {
                skills.push(self.details(name, Place::BuiltIn, text).skill);
            }
        }
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        (skills, folders.len())
    }

    /// The instructions of a skill: its SKILL.md without the front matter.
    pub fn body(&self, name: &str) -> Result<String> {
        self.find(name).map(|details| details.body)
    }

    /// All about one skill. The error of an unknown one names the nearest.
    pub fn find(&self, name: &str) -> Result<Details> {
        if !self.has(name) {
            return Err(self.unknown(name));
        }
        let found = if is_folder_name(name) {
            self.details_in_workspace(name)
        } else {
            None
        };
        let built_in = || Some(self.details(name, Place::BuiltIn, built_in(name)?));
        found.or_else(built_in).ok_or_else(|| self.unknown(name))
    }

    /// The error of a name that no skill has, with the nearest one.
    fn unknown(&self, name: &str) -> Error {
        let skills = self.list();
        let name = one_line(name, NAME_CHARS);
        let near = nearest(&name, skills.iter().map(|skill| skill.name.as_str()));
        Error::Usage(match near {
            Some(near) => format!("Unknown skill {name}. Did you mean {near}?"),
            None => format!("Unknown skill {name}. `peacrab skills list` shows them."),
        })
    }

    /// Why a skill with this front matter could not be used here; empty when it could.
    pub fn reasons(&self, manifest: &Manifest) -> String {
        join(&missing::find(manifest, self.environment))
    }

    /// The folder of a skill in the workspace.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.workspace.path().join(FOLDER).join(name)
    }

    /// The SKILL.md of a skill as it is, without secrets being removed.
    pub fn text(&self, name: &str) -> Result<String> {
        let file = Path::new(FOLDER).join(name).join(FILE);
        match (self.read(&file), built_in(name)) {
            (Ok((text, _)), _) => Ok(text),
            (Err(error), Some(text)) if error.is_not_found() => Ok(text.to_owned()),
            (Err(error), _) => Err(error),
        }
    }

    /// The names of the folders in the workspace's folder for skills, sorted.
    fn folders(&self) -> Vec<String> {
        let mut names = Vec::new();
        // Without the folder there are only the built-in ones.
        let _ = self.workspace.walk(Path::new(FOLDER), &mut |found| {
            let is_folder = matches!(found.status.kind, Kind::Folder | Kind::Link);
            if let Some(name) = found
                .path
                .to_str()
                .filter(|name| is_folder && is_folder_name(name) && self.has(name))
            {
                names.push(name.to_owned());
            }
            Next::Pass
        });
        names
    }

    /// `None` when the workspace has no such skill.
    fn details_in_workspace(&self, name: &str) -> Option<Details> {
        let file = Path::new(FOLDER).join(name).join(FILE);
        match self.read(&file) {
            Ok((text, fault)) => {
                let mut details = self.details(name, Place::Workspace, &text);
                details.faults.splice(0..0, fault);
                Some(details)
            }
            Err(error) if error.is_not_found() => None,
            Err(error) => {
                let mut details = self.details(name, Place::Workspace, "");
                details.skill.missing = vec![Missing::Unreadable(error.to_string())];
                Some(details)
            }
        }
    }

    fn details(&self, name: &str, place: Place, text: &str) -> Details {
        let read = manifest::read(text);
        let folder = format!("{FOLDER}/{name}");
        let skill = Skill {
            name: name.to_owned(),
            description: read.manifest.description.clone(),
            place,
            path: format!("{folder}/{FILE}"),
            always: read.manifest.always,
            missing: missing::find(&read.manifest, self.environment),
        };
        Details {
            skill,
            body: read.body.replace("{baseDir}", &folder),
            manifest: read.manifest,
            faults: read.faults,
        }
    }

    /// A text file of the workspace, as far as it is read, and what is wrong with it.
    fn read(&self, path: &Path) -> Result<(String, Option<Fault>)> {
        let file = self.workspace.open_read(path)?;
        let bytes =
            read_beginning(&file, FILE_BYTES as u64 + 1).map_err(Error::io("read", path))?;
        Ok(decode(bytes))
    }
}

/// The bytes of a SKILL.md as text, and what is wrong with them.
pub fn decode(bytes: Vec<u8>) -> (String, Option<Fault>) {
    let is_long = bytes.len() > FILE_BYTES;
    let (mut text, is_utf8) = match String::from_utf8_lossy(&bytes) {
        Cow::Borrowed(text) => (text.to_owned(), true),
        Cow::Owned(text) => (text, is_long),
    };
    let fault = |text: String| Some(Fault { line: 0, text });
    if is_long {
        let length = truncate_bytes(&text, FILE_BYTES).len();
        text.truncate(length);
        return (
            text,
            fault(format!(
                "{FILE} is larger than {} kB; the model finds the rest with read_file",
                FILE_BYTES / 1024
            )),
        );
    }
    if is_utf8 {
        (text, None)
    } else {
        (text, fault(format!("{FILE} is not UTF-8")))
    }
}

/// Whether a folder can be a skill: its name is a word of ASCII that is not hidden.
pub fn is_folder_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty()
        && name.len() <= NAME_CHARS
        && !name.starts_with('.')
        && name.bytes().all(is_fine)
}

/// Whether a name is what guides ask for: lower-case letters, digits and hyphens.
pub fn is_proper_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    is_folder_name(name) && !name.starts_with('-') && name.bytes().all(is_fine)
}

#[cfg(test)]
mod tests;
