//! What is kept on the disk: the places of the prompt and of what people have sent, the links in them, and what these
//! lead to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::limits::files::PROMPT_LINKS;
use crate::sys::beneath::{links_on_the_way, real_path};

use super::{Kept, PROMPT_PLACES, RECEIVED};

/// Folders below each other that are looked through for links of the prompt: `skills`, one in it, and one in that.
const PROMPT_DEPTH: usize = 3;
/// Names that are looked at for links of the prompt, the nearest ones first: about 20 ms on a board.
const PROMPT_NAMES: usize = 4096;

/// The device and the inode of what is at a path; `None` where nothing is there.
type Identity = Option<(u64, u64)>;

/// The things of a workspace's prompt as they were at a look, each by its path, with no links on the way to it.
#[derive(Debug, Default)]
pub struct PromptSurvey {
    workspace: PathBuf,
    /// What has to be protected by itself: places, links, and what links lead to. Where that is missing, the first thing
    /// on the way that is.
    things: BTreeMap<PathBuf, Identity>,
    /// What is protected because a folder is in which it is, as far as it was looked at.
    within: BTreeMap<PathBuf, Identity>,
    /// Folders that are still to be looked at, each with its depth.
    ahead: VecDeque<(PathBuf, usize)>,
    passed: BTreeSet<PathBuf>,
    links: usize,
}

impl PromptSurvey {
    /// Looks at a workspace, by its real path, for what is kept of it. `made` is what keeps the name of something that is missing.
    pub(super) fn look(workspace: &Path, made: &[PathBuf], kept: Kept) -> Result<Self> {
        let mut survey = Self {
            workspace: workspace.to_owned(),
            ..Self::default()
        };
        let mut links = Vec::new();
        let received = (kept == Kept::PromptAndReceived).then_some(RECEIVED);
        for place in PROMPT_PLACES.into_iter().chain(received) {
            let path = workspace.join(place);
            let found = status(&path)?;
            survey.things.insert(path.clone(), identity(found.as_ref()));
            match found {
                Some(found) if found.is_symlink() => links.push(path),
                // No prompt is read through links in what was received.
                Some(found) if found.is_dir() && place != RECEIVED => {
                    survey.ahead.push_back((path, 1));
                }
                _ => {}
            }
        }
        for link in links {
            survey.follow(&link, 1, made)?;
        }
        while let Some((folder, depth)) = survey.ahead.pop_front() {
            survey.enter(&folder, depth, made)?;
        }
        Ok(survey)
    }

    /// Looks at the names in a folder. What cannot be listed cannot be read for a prompt either.
    fn enter(&mut self, folder: &Path, depth: usize, made: &[PathBuf]) -> Result<()> {
        if !self.passed.insert(folder.to_owned()) {
            return Ok(());
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.within.len() == PROMPT_NAMES {
                return Err(too_many(folder));
            }
            let path = entry.path();
            let Some(found) = status(&path)? else {
                continue;
            };
            if found.is_symlink() {
                self.follow(&path, depth, made)?;
            } else if found.is_dir() && depth < PROMPT_DEPTH {
                self.ahead.push_back((path.clone(), depth + 1));
            }
            self.within.insert(path, identity(Some(&found)));
        }
        Ok(())
    }

    /// Takes a link, those behind it and what they lead to.
    fn follow(&mut self, link: &Path, depth: usize, made: &[PathBuf]) -> Result<()> {
        let (target, links) = links_on_the_way(link);
        for passed in links {
            self.add(passed, made)?;
        }
        // Links that lead in circles lead to nothing.
        let Ok(target) = target else {
            return Ok(());
        };
        if self.workspace.starts_with(&target) {
            return Err(refused(link, "leads to the workspace itself"));
        }
        if status(&target)?.is_some_and(|found| found.is_dir()) {
            self.ahead.push_back((target.clone(), depth));
        }
        self.add(target, made)
    }

    /// Takes what has to be protected beside the places.
    fn add(&mut self, path: PathBuf, made: &[PathBuf]) -> Result<()> {
        let (path, found) = first_missing(path, made)?;
        let mut above = path.ancestors().skip(1);
        let is_new = !self.things.contains_key(&path);
        if !is_new || above.any(|folder| self.things.contains_key(folder)) {
            return Ok(());
        }
        self.links += 1;
        if self.links > PROMPT_LINKS {
            let why =
                format!("is one of more than {PROMPT_LINKS} that links of the prompt lead to");
            return Err(refused(&path, &why));
        }
        self.things.insert(path, found);
        Ok(())
    }

    /// The paths of all that has to be protected. The folder above each is there.
    pub(super) fn all(&self) -> impl Iterator<Item = PathBuf> {
        self.things.keys().cloned()
    }

    /// What has to be protected and is there.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let there = self.things.iter().filter(|(_, found)| found.is_some());
        there.map(|(path, _)| path.clone()).collect()
    }

    /// What has to be protected and is missing.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let missing = self.things.iter().filter(|(_, found)| found.is_none());
        missing.map(|(path, _)| path.clone()).collect()
    }

    /// Takes note of what is now at the path of something that was missing.
    pub(super) fn fill(&mut self, path: PathBuf) -> Result<()> {
        let found = identity(status(&path)?.as_ref());
        self.things.insert(path, found);
        Ok(())
    }

    /// Whether all that has to be protected now was there already, and nothing took the place of what is at the changed
    /// paths, which are below the workspace.
    pub(super) fn has_all_of(&self, now: &Self, changed: &[String]) -> bool {
        let is_same = |path: &PathBuf| match now.identity(path) {
            Some(found) => self.identity(path) == Some(found),
            None => true,
        };
        let mut things = now.things.iter();
        things.all(|(path, found)| self.things.get(path) == Some(found))
            && changed.iter().all(|path| {
                let path = now.workspace.join(path);
                is_same(&real_path(&path, &[]).unwrap_or(path))
            })
    }

    /// What is at a path; `None` where nothing is there.
    fn identity(&self, path: &Path) -> Identity {
        let known = self.things.get(path).or_else(|| self.within.get(path));
        known.copied().flatten()
    }
}

/// What a path is, without following a link; `None` where nothing is there.
fn status(path: &Path) -> Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) => match error.kind() {
            // What is out of our reach is out of a command's.
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => {
                Ok(None)
            }
            _ => Err(Error::io("read", path)(error)),
        },
    }
}

fn identity(found: Option<&Metadata>) -> Identity {
    found.map(|found| (found.dev(), found.ino()))
}

/// The path, or what keeps its name, or the first thing on the way that is missing.
fn first_missing(path: PathBuf, made: &[PathBuf]) -> Result<(PathBuf, Identity)> {
    if let Some(found) = status(&path)? {
        return Ok((path, identity(Some(&found))));
    }
    let mut first = path.as_path();
    for above in path.ancestors().skip(1) {
        if let Some(found) = status(above)? {
            let keeps = made.iter().any(|made| made == above) && !found.is_symlink();
            if keeps {
                return Ok((above.to_owned(), identity(Some(&found))));
            }
            break;
        }
        first = above;
    }
    Ok((first.to_owned(), None))
}

/// The error for a prompt in which links may be that were not looked at.
fn too_many(folder: &Path) -> Error {
    Error::Failed(format!(
        "memory, skills and tools of the workspace have more than {PROMPT_NAMES} files and folders ({} among them), so links \
         there cannot be protected from what is done for someone who is not an owner. Move other files elsewhere",
        folder.display()
    ))
}

/// The error for a prompt that cannot be protected.
pub(super) fn refused(path: &Path, why: &str) -> Error {
    Error::Failed(format!(
        "{} {why}, so it cannot be protected from what is done for someone who is not an owner. Remove the link, or put \
         the files themselves there",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_with_more_names_than_are_looked_at_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let full = folder.path().join("skills/full");
        fs::create_dir_all(&full).unwrap();
        // With `full` itself, one less than are looked at.
        for number in 2..PROMPT_NAMES {
            fs::write(full.join(number.to_string()), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", full.join("link")).unwrap();
        let look = || PromptSurvey::look(folder.path(), &[], Kept::PromptAndReceived);
        let protected = look().unwrap().paths();
        assert!(
            protected.contains(&PathBuf::from("/etc/passwd")),
            "{protected:?}"
        );
        fs::write(full.join("more"), "").unwrap();
        let refused = look().unwrap_err().to_string();
        assert!(refused.contains("more than 4096"), "{refused}");
    }
}
