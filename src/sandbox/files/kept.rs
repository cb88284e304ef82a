//! The files of the prompt, kept in place while commands run that must not make or change it.
//!
//! The kernel can protect only what is there. Where a place is missing, an empty file or folder takes it until the
//! last of these commands has ended. It shows a time that nothing else does: by that the next start finds those that
//! a killed program has left.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::sys::at::{self, Inode, Kind, Use};
use crate::sys::file::{try_lock, try_share, unlock};

use super::survey::{PromptSurvey, refused};

/// When what was made was changed, as it shows: on 3 February 2001, at 4:05:06 UTC.
const MADE: Duration = Duration::from_secs(981_173_106);

/// The workspaces in which such commands run. Agents that are loaded again share a workspace's entry.
static KEPT: Mutex<BTreeMap<PathBuf, Weak<Made>>> = Mutex::new(BTreeMap::new());

/// The places of a workspace's prompts as a command found them, all of which are there until this is dropped.
#[derive(Debug)]
pub struct PromptPlaces {
    found: PromptSurvey,
    _made: Arc<Made>,
}

/// What was made in a workspace because it was missing. In its other folders nothing is made: a command can put something
/// else in their place.
#[derive(Debug)]
struct Made {
    workspace: PathBuf,
    folder: OwnedFd,
    /// The workspace, shared with other processes that keep it; `None` where it cannot be.
    shared: Option<File>,
    things: Mutex<Vec<(PathBuf, Inode)>>,
}

impl PromptPlaces {
    /// Whether they are kept now: an empty one may be there for a command.
    pub fn are_kept(workspace: &Path) -> bool {
        made_in(workspace).is_some()
    }

    /// Makes what is missing, and keeps it. `can_write` says whether a command could make something at a real path outside
    /// the workspace. Fails where a link leads to what cannot be protected.
    pub fn hold(workspace: &Path, can_write: &dyn Fn(&Path) -> bool) -> Result<Self> {
        let workspace = workspace
            .canonicalize()
            .map_err(Error::io("find the workspace", workspace))?;
        let mut kept = KEPT.lock();
        kept.retain(|_, made| made.strong_count() > 0);
        let made = match kept.get(&workspace).and_then(Weak::upgrade) {
            Some(made) => made,
            None => Arc::new(Made::none_in(&workspace)?),
        };
        kept.insert(workspace, Arc::downgrade(&made));
        let found = made.fill(can_write);
        // Before what was made can be dropped, which takes the lock too.
        drop(kept);
        Ok(Self {
            found: found?,
            _made: made,
        })
    }

    /// Whether what is at a real path was made here to keep a place, and has nothing in it.
    pub fn is_made(path: &Path, found: &Metadata) -> bool {
        if found.is_file() && found.len() > 0 || !(found.is_file() || found.is_dir()) {
            return false;
        }
        let made = path.parent().and_then(|workspace| {
            let kept = KEPT.lock();
            kept.get(workspace).and_then(Weak::upgrade)
        });
        let is_known = made.is_some_and(|made| {
            let things = made.things.lock();
            let numbers = (found.dev(), found.ino());
            let mut things = things.iter();
            things.any(|(known, inode)| known == path && inode.numbers() == numbers)
        });
        let is_empty = || {
            path.read_dir()
                .is_ok_and(|mut entries| entries.next().is_none())
        };
        is_known && (found.is_file() || is_empty())
    }

    /// Removes what a killed program has left, unless another process keeps it.
    pub fn clean(workspace: &Path) {
        let Ok(workspace) = workspace.canonicalize() else {
            return;
        };
        let kept = KEPT.lock();
        if kept.get(&workspace).and_then(Weak::upgrade).is_some() {
            return;
        }
        let (Ok(folder), Ok(found)) = (File::open(&workspace), PromptSurvey::look(&workspace, &[]))
        else {
            return;
        };
        if !try_lock(&folder).unwrap_or(true) {
            return;
        }
        let missing = found.missing();
        let above = missing.iter().filter_map(|path| path.parent());
        for path in found.paths().iter().map(PathBuf::as_path).chain(above) {
            if let Some(name) = name_in(&workspace, path)
                && let Ok(status) = at::status_at(&folder, name)
                && u64::try_from(status.modified) == Ok(MADE.as_secs())
            {
                remove(&folder, name, status.inode);
            }
        }
        let _ = unlock(&folder);
    }

    /// The paths that have to be protected: places, links, and what these lead to.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.found.paths()
    }

    /// The places as they are now; `None` while they are kept for no command.
    pub fn look(workspace: &Path) -> Option<Result<PromptSurvey>> {
        let made = made_in(workspace)?;
        let paths = made.paths();
        Some(PromptSurvey::look(&made.workspace, &paths))
    }

    /// Whether the places are still those that were found, and what has the changed paths in the workspace too: what took
    /// their place is not protected from what has begun before.
    pub fn are_still(&self, now: &Result<PromptSurvey>, changed: &[String]) -> bool {
        let now = now.as_ref();
        now.is_ok_and(|now| self.found.has_all_of(now, changed))
    }
}

fn made_in(workspace: &Path) -> Option<Arc<Made>> {
    let workspace = workspace.canonicalize().ok()?;
    KEPT.lock().get(&workspace).and_then(Weak::upgrade)
}

impl Made {
    fn none_in(workspace: &Path) -> Result<Self> {
        // By its real path: no link is followed.
        let folder = at::open_root(Path::new("/"))
            .and_then(|top| at::hold_below(top, workspace, None))
            .map_err(Error::io("open the workspace", workspace))?;
        let shared = File::open(workspace).ok();
        Ok(Self {
            shared: shared.filter(|folder| try_share(folder).is_ok_and(|is_shared| is_shared)),
            workspace: workspace.to_owned(),
            folder,
            things: Mutex::default(),
        })
    }

    fn paths(&self) -> Vec<PathBuf> {
        let things = self.things.lock();
        things.iter().map(|(path, _)| path.clone()).collect()
    }

    /// Makes what is missing, and returns all that is there then.
    fn fill(&self, can_write: &dyn Fn(&Path) -> bool) -> Result<PromptSurvey> {
        let mut found = PromptSurvey::look(&self.workspace, &self.paths())?;
        for path in found.missing() {
            let Some(name) = name_in(&self.workspace, &path) else {
                let is_open =
                    path.starts_with(&self.workspace) || path.parent().is_some_and(can_write);
                if is_open {
                    return Err(refused(&path, "is missing, and a link leads to it"));
                } else {
                    continue;
                }
            };
            match make(&self.folder, name) {
                Ok(inode) => self.things.lock().push((path.clone(), inode)),
                // Someone else's, which stays.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("make", &path)(error)),
            }
            found.fill(path)?;
        }
        Ok(found)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut kept = KEPT.lock();
        let others = kept.get(&self.workspace).and_then(Weak::upgrade);
        if let Some(others) = others {
            // A command that began meanwhile has found them in place.
            others.things.lock().append(&mut self.things.lock());
            drop(kept);
            return;
        }
        kept.remove(&self.workspace);
        let folder = self.shared.as_ref();
        if folder.is_none_or(|folder| try_lock(folder).unwrap_or(true)) {
            for (path, inode) in self.things.lock().iter() {
                if let Some(name) = path.file_name() {
                    remove(&self.folder, name, *inode);
                }
            }
        }
        let _ = folder.map(unlock);
    }
}

/// The name of what is in the workspace itself.
fn name_in<'a>(workspace: &Path, path: &'a Path) -> Option<&'a OsStr> {
    path.file_name()
        .filter(|_| path.parent() == Some(workspace))
}

/// Makes an empty file, or a folder where the name has no ending.
fn make(folder: &OwnedFd, name: &OsStr) -> io::Result<Inode> {
    let made = match Path::new(name).extension() {
        Some(_) => at::open_file(folder, name, Use::Create)?,
        None => {
            at::make_new_folder(folder, name)?;
            File::from(at::open_folder(folder, name)?)
        }
    };
    made.set_modified(SystemTime::UNIX_EPOCH + MADE)?;
    Ok(at::status(&made)?.inode)
}

/// Removes what was made. A folder with something in it stays, and so does a file; and what is there instead.
fn remove(folder: impl std::os::fd::AsFd, name: &OsStr, inode: Inode) {
    let Ok(found) = at::status_at(&folder, name) else {
        return;
    };
    let _ = match found.kind {
        _ if found.inode != inode => Ok(()),
        Kind::Folder => at::remove_folder(&folder, name),
        Kind::File if found.size == 0 => at::remove_file(&folder, name),
        _ => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::base::limits::files::PROMPT_LINKS;
    use crate::config::schema::Tools;
    use crate::sandbox::files::roots::{Failure, Intent, Rule};
    use crate::sandbox::files::{Places, Workspace};
    use crate::sys::beneath::Resolver;

    #[test]
    fn places_are_made_while_they_are_kept_and_what_was_put_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::write(at("AGENTS.md"), "kind").unwrap();
        let first = PromptPlaces::hold(folder.path(), &|_| false).unwrap();
        let second = PromptPlaces::hold(folder.path(), &|_| false).unwrap();
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
    }

    #[test]
    fn links_and_what_they_lead_to_are_kept_as_far_as_prompts_are_read_through_them() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for path in ["skills/own/notes", "projects/foo", "lib", "notes"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in ["CLAUDE.md", "lib/a.md", "lib/b.md", "notes/MEMORY.md"] {
            fs::write(at(path), "kind").unwrap();
        }
        for (target, link) in [
            ("first.md", "AGENTS.md"),
            ("CLAUDE.md", "first.md"),
            ("notes", "memory"),
            ("../projects/foo", "skills/foo"),
            ("../../lib/a.md", "projects/foo/SKILL.md"),
            ("../../../lib/b.md", "skills/own/notes/b.md"),
            ("own", "skills/again"),
            ("circle", "skills/circle"),
            ("/etc/hostname", "skills/host"),
            ("../new/foo", "skills/new"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        let kept = PromptPlaces::hold(&top, &|_| false).unwrap();
        let paths = kept.paths();
        for path in [
            "AGENTS.md",
            "first.md",
            "CLAUDE.md",
            "memory",
            "notes",
            "skills",
            "projects/foo",
            "lib/a.md",
            "lib/b.md",
            "new",
            "SOUL.md",
        ] {
            assert!(paths.contains(&at(path)), "{path}: {paths:#?}");
        }
        for path in [
            "skills/own",
            "skills/foo",
            "projects/foo/SKILL.md",
            "lib",
            "new/foo",
        ] {
            assert!(!paths.contains(&at(path)), "{path}: {paths:#?}");
        }
        let now = PromptPlaces::look(&top).unwrap();
        assert!(kept.are_still(&now, &["skills/own/notes/b.md".to_owned()]));
        drop(kept);
        assert!(!at("new").exists() && !at("SOUL.md").exists());
        assert!(PromptPlaces::look(&top).is_none());
    }

    #[test]
    fn what_cannot_be_protected_is_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("skills")).unwrap();
        let refused = |target: &str, can_write: bool| {
            let link = top.join("skills/x");
            let _ = fs::remove_file(&link);
            symlink(target, &link).unwrap();
            let held = PromptPlaces::hold(&top, &|_| can_write);
            held.map_err(|error| error.to_string()).err()
        };
        let why = refused("..", false).unwrap();
        assert!(
            why.contains("skills/x leads to the workspace itself"),
            "{why}"
        );
        assert_eq!(refused("/nowhere/x", false), None);
        // What a command can put in the place of the folder decides where something would be made and removed.
        fs::create_dir_all(top.join("a/d")).unwrap();
        let why = refused("../a/d/outbox.jsonl", false).unwrap();
        assert!(why.contains("a/d/outbox.jsonl is missing"), "{why}");
        let why = refused("/nowhere/x", true).unwrap();
        assert!(
            why.contains("/nowhere is missing, and a link leads to it"),
            "{why}"
        );
        fs::create_dir(top.join("many")).unwrap();
        for number in 0..=PROMPT_LINKS {
            fs::write(top.join(format!("many/{number}")), "").unwrap();
            symlink(
                format!("../many/{number}"),
                top.join(format!("skills/{number}")),
            )
            .unwrap();
        }
        let why = refused("/nowhere/x", false).unwrap();
        assert!(why.contains("one of more than 64"), "{why}");
    }

    #[test]
    fn what_is_made_after_the_look_at_the_guards_is_guarded_too() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places {
            workspace: folder.path(),
            hidden: &[],
            user_home: None,
        };
        let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let keeping = whole.keeping_prompt();
        let marks = keeping.marks(Intent::Write).unwrap();
        // As another command has the places made.
        let _kept = PromptPlaces::hold(folder.path(), &|_| false).unwrap();
        let root = &keeping.folders.roots.roots[0];
        for path in [
            "skills/evil",
            "skills/evil/SKILL.md",
            "tools/x",
            "memory/x",
            "SOUL.md",
        ] {
            let located = keeping.locate_or_make(root, Path::new(path), &marks);
            assert!(
                matches!(located, Err(Failure::Rule(Rule::ReadOnly))),
                "{path}"
            );
        }
        assert!(
            keeping
                .locate_or_make(root, Path::new("own/x"), &marks)
                .is_ok()
        );
    }

    #[test]
    fn what_took_the_place_of_a_prompt_file_is_noticed_and_a_write_in_place_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        fs::create_dir_all(at("skills/x")).unwrap();
        fs::create_dir_all(at("projects/foo")).unwrap();
        fs::write(at("AGENTS.md"), "kind").unwrap();
        fs::write(at("skills/x/SKILL.md"), "kind").unwrap();
        let replace = |path: &str| {
            fs::write(at("new"), "new").unwrap();
            fs::rename(at("new"), at(path)).unwrap();
        };
        let skill = ["skills/x/SKILL.md".to_owned()];
        let are_still = |kept: &PromptPlaces| {
            let now = PromptPlaces::look(&top).unwrap();
            (kept.are_still(&now, &[]), kept.are_still(&now, &skill))
        };
        let hold = || PromptPlaces::hold(&top, &|_| false).unwrap();
        let first = hold();
        fs::write(at("AGENTS.md"), "in place").unwrap();
        fs::write(at("skills/x/SKILL.md"), "in place").unwrap();
        assert_eq!(are_still(&first), (true, true));
        // Nothing of a command can be there that was not before, but what was moved there may be open.
        replace("skills/x/SKILL.md");
        assert_eq!(are_still(&first), (true, false));
        let second = hold();
        replace("AGENTS.md");
        assert_eq!(are_still(&second), (false, false));
        let third = hold();
        symlink("../projects/foo", at("skills/foo")).unwrap();
        assert_eq!(are_still(&third), (false, false));
        let fourth = hold();
        assert_eq!(are_still(&fourth), (true, true));
        fs::remove_file(at("SOUL.md")).unwrap();
        assert_eq!(are_still(&fourth), (false, false));
    }

    #[test]
    fn a_view_that_keeps_the_prompt_does_not_change_what_links_of_it_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["skills", "projects/foo", "tools", "lib/x", "notes"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let files = [
            "CLAUDE.md",
            "projects/foo/SKILL.md",
            "lib/x/tool.json",
            "notes/MEMORY.md",
        ];
        for path in files {
            fs::write(at(path), "kind").unwrap();
        }
        let places = Places {
            workspace: folder.path(),
            hidden: &[],
            user_home: None,
        };
        let whole = Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
        let keeping = whole.keeping_prompt();
        // Some are made when the workspace is open already.
        for (target, link) in [
            ("CLAUDE.md", "AGENTS.md"),
            ("../projects/foo", "skills/foo"),
            ("../lib/x", "tools/x"),
            ("notes", "memory"),
            ("later.md", "USER.md"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        fs::write(at("own.md"), "own").unwrap();
        let others = [
            "AGENTS.md",
            "memory/MEMORY.md",
            "skills/foo/SKILL.md",
            "skills/foo/new.md",
            "later.md",
            "USER.md",
        ];
        for path in files.into_iter().chain(others) {
            let path = Path::new(path);
            assert!(keeping.write(path, b"EVIL").is_err(), "{path:?}");
            assert!(keeping.append(path, b"EVIL").is_err(), "{path:?}");
            assert!(
                keeping.rename(Path::new("own.md"), path).is_err(),
                "{path:?}"
            );
            assert!(keeping.remove(path).is_err(), "{path:?}");
        }
        keeping.write(Path::new("own.md"), b"more").unwrap();
        fs::remove_file(at("AGENTS.md")).unwrap();
        assert!(keeping.write(Path::new("AGENTS.md"), b"EVIL").is_err());
        whole.write(Path::new("CLAUDE.md"), b"new").unwrap();
    }

    #[test]
    fn what_a_killed_program_has_left_is_removed_unless_another_one_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let below = |path: &str| folder.path().join(path);
        fs::create_dir(below("skills")).unwrap();
        symlink("../new/foo", below("skills/foo")).unwrap();
        fs::write(below("AGENTS.md"), "").unwrap();
        let top = at::open_root(folder.path()).unwrap();
        for path in ["SOUL.md", "USER.md", "memory", "new", "tools"] {
            make(&top, OsStr::new(path)).unwrap();
        }
        fs::write(below("USER.md"), "Ana").unwrap();
        fs::write(below("tools/note"), "").unwrap();
        let other = fs::File::open(folder.path()).unwrap();
        assert!(try_share(&other).unwrap());
        PromptPlaces::clean(folder.path());
        assert!(below("SOUL.md").exists());
        drop(other);
        PromptPlaces::clean(folder.path());
        for (path, is_there) in [
            ("SOUL.md", false),
            ("memory", false),
            ("new", false),
            ("AGENTS.md", true),
            ("USER.md", true),
            ("tools", true),
            ("skills", true),
        ] {
            assert_eq!(below(path).exists(), is_there, "{path}");
        }
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
