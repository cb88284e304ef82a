//! The files of the prompt, kept in place while commands run that must not make or change it.
//!
//! The kernel can protect only what is there. Where a place is missing, an empty file or folder takes it until the
//! last of these commands has ended.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use crate::error::{Error, Result};
use crate::sync::Mutex;

use super::PROMPT_PLACES;

/// The workspaces in which such commands run. Agents that are loaded again share a workspace's entry.
static KEPT: Mutex<BTreeMap<PathBuf, Weak<PromptPlaces>>> = Mutex::new(BTreeMap::new());

/// The places of a workspace's prompts, all of which are there until this is dropped.
#[derive(Debug)]
pub struct PromptPlaces {
    workspace: PathBuf,
    /// What was made because it was missing.
    made: Mutex<Vec<PathBuf>>,
}

impl PromptPlaces {
    /// The paths of the places.
    pub fn paths(workspace: &Path) -> Vec<PathBuf> {
        let places = PROMPT_PLACES.into_iter();
        places.map(|place| workspace.join(place)).collect()
    }

    /// Whether they are kept now: an empty one may be there for a command.
    pub fn are_kept(workspace: &Path) -> bool {
        let workspace = workspace.canonicalize().unwrap_or_default();
        let kept = KEPT.lock();
        kept.get(&workspace)
            .is_some_and(|places| places.strong_count() > 0)
    }

    /// Makes what is missing, and keeps it. Fails where a place is a link, which a command could replace.
    pub fn hold(workspace: &Path) -> Result<Arc<Self>> {
        let workspace = workspace
            .canonicalize()
            .map_err(Error::io("find the workspace", workspace))?;
        let mut kept = KEPT.lock();
        kept.retain(|_, places| places.strong_count() > 0);
        let known = kept.get(&workspace).and_then(Weak::upgrade);
        let places = known.unwrap_or_else(|| {
            Arc::new(Self {
                workspace: workspace.clone(),
                made: Mutex::default(),
            })
        });
        kept.insert(workspace, Arc::downgrade(&places));
        let filled = places.fill();
        // Before the places can be dropped, which takes the lock too.
        drop(kept);
        filled.map(|()| places)
    }

    /// Makes what is missing.
    fn fill(&self) -> Result<()> {
        let mut made = self.made.lock();
        for path in Self::paths(&self.workspace) {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => return Err(is_link(&path)),
                Ok(_) => continue,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read", &path)(error)),
            }
            match make(&path) {
                Ok(()) => made.push(path),
                // Someone else's, which stays.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make", &path)(error)),
            }
        }
        Ok(())
    }
}

impl Drop for PromptPlaces {
    fn drop(&mut self) {
        let mut kept = KEPT.lock();
        let others = kept.get(&self.workspace).and_then(Weak::upgrade);
        if let Some(others) = others {
            // A command that began meanwhile has found them in place.
            others.made.lock().append(&mut self.made.lock());
            drop(kept);
            return;
        }
        kept.remove(&self.workspace);
        for path in self.made.lock().iter() {
            // A folder with something in it stays, and so does a file.
            let _ = match fs::symlink_metadata(path) {
                Ok(found) if found.is_dir() => fs::remove_dir(path),
                Ok(found) if found.is_file() && found.len() == 0 => fs::remove_file(path),
                _ => Ok(()),
            };
        }
    }
}

/// Makes an empty file, or a folder where the place has no ending.
fn make(path: &Path) -> io::Result<()> {
    match path.extension() {
        Some(_) => fs::File::create_new(path).map(drop),
        None => fs::create_dir(path),
    }
}

fn is_link(path: &Path) -> Error {
    Error::Failed(format!(
        "the command was not run: {} is a link, so it cannot be protected from what is run for someone who is not an \
         owner. Put the file itself there",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema::Tools;
    use crate::files::{Places, Workspace};
    use crate::sys::beneath::Resolver;

    #[test]
    fn places_are_made_while_they_are_kept_and_what_was_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::write(at("AGENTS.md"), "kind").unwrap();
        let first = PromptPlaces::hold(folder.path()).unwrap();
        let second = PromptPlaces::hold(folder.path()).unwrap();
        drop(first);
        assert!(at("SOUL.md").is_file() && at("skills").is_dir());
        fs::write(at("USER.md"), "Ana").unwrap();
        drop(second);
        assert!(!PromptPlaces::are_kept(folder.path()));
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        left.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        let left: Vec<_> = left
            .into_iter()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["AGENTS.md", "USER.md"]);
        std::os::unix::fs::symlink("AGENTS.md", at("SOUL.md")).unwrap();
        let refused = PromptPlaces::hold(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("SOUL.md is a link"), "{refused}");
    }

    #[test]
    fn a_view_that_keeps_the_prompt_changes_none_of_it_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("memory")).unwrap();
        fs::create_dir_all(at("sub")).unwrap();
        fs::write(at("memory/MEMORY.md"), "kind").unwrap();
        fs::write(at("AGENTS.md"), "kind").unwrap();
        fs::write(at("own.md"), "own").unwrap();
        std::os::unix::fs::symlink("SOUL.md", at("link")).unwrap();
        std::os::unix::fs::symlink("..", at("sub/up")).unwrap();
        let places = Places {
            workspace: folder.path(),
            hidden: &[],
            user_home: None,
        };
        let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let keeping = whole.keeping_prompt();
        let absolute = at("USER.md");
        for path in [
            "AGENTS.md",
            "./SOUL.md",
            "memory/../TOOLS.md",
            "memory/MEMORY.md",
            "memory/2026-11-27.md",
            "skills/x/SKILL.md",
            "tools/x/tool.json",
            "link",
            "sub/up/IDENTITY.md",
            absolute.to_str().unwrap(),
        ] {
            let path = Path::new(path);
            assert!(keeping.write(path, b"EVIL").is_err(), "{path:?}");
            assert!(keeping.append(path, b"EVIL").is_err(), "{path:?}");
            assert!(keeping.create(path).is_err(), "{path:?}");
            assert!(
                keeping.rename(Path::new("own.md"), path).is_err(),
                "{path:?}"
            );
            assert!(
                keeping.rename(path, Path::new("away.md")).is_err(),
                "{path:?}"
            );
            assert!(keeping.remove(path).is_err(), "{path:?}");
        }
        keeping.write(Path::new("own.md"), b"more").unwrap();
        assert!(keeping.open_read(Path::new("AGENTS.md")).is_ok());
        assert!(!at("skills").exists() && !at("SOUL.md").exists());
        whole.write(Path::new("skills/x/SKILL.md"), b"new").unwrap();
        assert!(
            keeping
                .write(Path::new("skills/x/SKILL.md"), b"EVIL")
                .is_err()
        );
    }
}
