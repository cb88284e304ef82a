//! A command that is to run, and the question about it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use super::bound::{Located, Uses};
use super::permission::folders::Folders;
use super::risk;
use crate::base::approval::{AlwaysOption, Cause, Mark, Question, Script};
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::language::Language;
use crate::sandbox::confine::Held;
use crate::sys::port::user_name;
use crate::text::{ends_of, reveal};

/// Files, and characters and lines of a narrow screen of all of them, that every question shows whole.
const WHOLE_FILES: usize = 4;
/// See [`WHOLE_FILES`].
const WHOLE_CHARS: usize = 200;
/// See [`WHOLE_FILES`].
const WHOLE_LINES: usize = 8;

/// A command that the model or a person wants to run.
pub(super) struct Request {
    /// The argument of `sh -c`.
    pub command: String,
    /// Where it will run.
    pub folder: Folder,
    /// Whether it should run outside the sandbox.
    pub unsandboxed: bool,
    /// Why, in the model's words.
    pub reason: String,
    /// The language of the person who typed it; `None` for a command of the model's.
    pub typed_in: Option<Language>,
    /// Whether it will run in the background.
    pub is_background: bool,
    /// Whether it gets a terminal, in which more than this can be typed.
    pub on_terminal: bool,
    /// Whether it is typed into a shell that the configuration puts outside the sandbox.
    pub is_in_own_shell: bool,
    /// What it uses of the files that the model can write; found when it is asked about.
    pub uses: Uses,
    /// Keeps them as they are while it runs outside the sandbox.
    pub held: Option<Held>,
}

/// A folder as a person is shown it: its real path, and which folder it was then.
pub(super) struct Folder {
    pub path: PathBuf,
    pub inode: (u64, u64),
}

impl Folder {
    /// Fails when there is none.
    pub fn at(path: &Path) -> Result<Self> {
        let found = Located::at(path).filter(|found| found.metadata.is_dir());
        let found =
            found.ok_or_else(|| Error::Failed(format!("there is no folder {}", path.display())))?;
        Ok(Self {
            inode: (found.metadata.dev(), found.metadata.ino()),
            path: found.path,
        })
    }
}

/// SHA-256 of texts, in hexadecimal; where one ends and the next begins counts too.
pub(super) fn hash(parts: &[&[u8]]) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    hex(context.finish().as_ref())
}

impl Request {
    /// The question to a person, for this cause.
    pub fn question(&self, cause: Cause) -> Question {
        let risk = match self.unsandboxed {
            true => risk::find_any_risk(&self.command, Folders::at(&self.folder.path)),
            false => risk::find_risk(&self.command),
        };
        let always = match risk {
            Some(risk) => AlwaysOption::TooRisky(risk),
            None if self.on_terminal => AlwaysOption::Terminal,
            None if self.uses.loads_unbound || self.uses.reads_changing => AlwaysOption::Changeable,
            None if !self.is_shown_whole() => AlwaysOption::Changeable,
            None => AlwaysOption::Offered,
        };
        Question {
            command: self.command.clone(),
            folder: self.folder.path.to_string_lossy().into_owned(),
            reason: self.reason.clone(),
            account: account(),
            cause,
            asked_for: String::new(),
            always,
            can_allow_all: false,
            is_standing: false,
            unsandboxed: self.unsandboxed,
            influences: self.uses.influences.clone(),
            scripts: self.uses.scripts.clone(),
            marks: Arc::new(self.uses.marks.clone()),
            hash: self.hash(),
        }
    }

    /// Whether every question has the whole text of the files that are bound.
    fn is_shown_whole(&self) -> bool {
        let texts: String = self
            .uses
            .scripts
            .iter()
            .map(|script| reveal(&script.head))
            .collect();
        self.uses.scripts.is_empty()
            || self.uses.scripts.len() <= WHOLE_FILES
                && self.uses.scripts.iter().all(Script::is_whole)
                && ends_of(&texts, WHOLE_CHARS, (WHOLE_LINES, 0)).is_none()
                && ends_of(&reveal(&self.command), WHOLE_CHARS, (WHOLE_LINES, 0)).is_none()
    }

    /// SHA-256, in hexadecimal, of the command, the folder, whether it is unsandboxed, and the files that
    /// are bound. The folder's inode counts too, so that another folder with the same path is another
    /// one.
    pub fn hash(&self) -> String {
        let (device, inode) = self.folder.inode;
        let (device, inode) = (device.to_le_bytes(), inode.to_le_bytes());
        let mut parts: Vec<&[u8]> = vec![
            self.command.as_bytes(),
            self.folder.path.as_os_str().as_encoded_bytes(),
            &device,
            &inode,
            if self.unsandboxed { b"1" } else { b"0" },
        ];
        if self.on_terminal {
            parts.push(b"terminal");
        }
        parts.extend(self.uses.parts());
        hash(&parts)
    }
}

/// The path of the first file that is not what it was.
pub(super) fn first_changed(before: &[Mark], now: &[Mark]) -> Option<String> {
    let differ = |(before, now): &(&Mark, &Mark)| before != now;
    let (path, other) = match before.iter().zip(now).find(differ) {
        Some(((path, _), (other, _))) => (path, other),
        None => {
            let rest = now.get(before.len()..).filter(|rest| !rest.is_empty());
            let (path, _) = rest.or(before.get(now.len()..))?.first()?;
            (path, path)
        }
    };
    Some(path.min(other).to_string_lossy().into_owned())
}

/// The name of the account that commands run as.
pub(super) fn account() -> String {
    user_name(rustix::process::geteuid().as_raw())
}
