//! The folders that tools may use, held open from the start on.

use std::fmt::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::config::schema::Tools;
use crate::error::{Error, Result};
use crate::sys::at::{self, Inode};
use crate::sys::beneath::Scope;

use super::guard::{self, Guard, Protection};

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
    pub(super) inode: Inode,
    pub(super) writable: bool,
    pub(super) scope: Scope,
    /// The protected places that lie beneath it.
    pub(super) guards: Vec<usize>,
}

impl Root {
    fn open(path: &Path, writable: bool, scope: Scope) -> std::io::Result<Self> {
        let canonical = path.canonicalize()?;
        let handle = at::open_root(&canonical)?;
        Ok(Self {
            shown: path.to_owned(),
            inode: at::status(&handle)?.inode,
            canonical,
            handle,
            writable,
            scope,
            guards: Vec::new(),
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
    pub(super) guards: Vec<Guard>,
    /// The folders in words.
    pub(super) described: String,
    pub(super) workspace: Inode,
}

impl Roots {
    /// Opens the folders of the configuration and finds what is protected within them.
    pub(super) fn open(places: &Places<'_>, tools: &Tools) -> Result<Self> {
        let workspace = Root::open(places.workspace, true, Scope::Beneath)
            .map_err(Error::io("open the workspace", places.workspace))?;
        let mut all = Self {
            described: format!("workspace {}", places.workspace.display()),
            workspace: workspace.inode,
            roots: vec![workspace],
            guards: Vec::new(),
        };
        all.add_configured(places, tools)?;
        all.add_guards(places, tools)?;
        all.roots
            .sort_by_key(|root| std::cmp::Reverse(root.shown.components().count()));
        Ok(all)
    }

    fn add_configured(&mut self, places: &Places<'_>, tools: &Tools) -> Result<()> {
        for text in &tools.allowed_paths {
            self.add("tools.allowedPaths", &expand(text, places)?, true)?;
        }
        for text in &tools.read_only_paths {
            self.add("tools.readOnlyPaths", &expand(text, places)?, false)?;
        }
        if !tools.restrict_to_workspace {
            let top = Path::new("/");
            let root = Root::open(top, true, Scope::System).map_err(Error::io("open", top))?;
            self.roots.push(root);
            self.described.push_str(", every other folder");
        }
        Ok(())
    }

    fn add(&mut self, key: &str, path: &Path, writable: bool) -> Result<()> {
        let remark = match Root::open(path, writable, Scope::Beneath) {
            Ok(root) => {
                self.roots.push(root);
                if writable { "" } else { " (read only)" }
            }
            // A stick that is not plugged in is no reason not to start.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                " (which was not there at the start)"
            }
            Err(error) => {
                return Err(Error::Config(format!(
                    "{key}: {} cannot be opened as a folder: {error}",
                    path.display()
                )));
            }
        };
        // Writing to a String does not fail.
        let _ = write!(self.described, ", {}{remark}", path.display());
        Ok(())
    }

    fn add_guards(&mut self, places: &Places<'_>, tools: &Tools) -> Result<()> {
        for path in places.hidden {
            self.refuse_hidden_roots(path)?;
            self.guard(path, Protection::Hidden)?;
        }
        for text in &tools.protected_paths {
            let path = expand(text, places)?;
            self.close_protected_roots(&path)?;
            self.guard(&path, Protection::ReadOnly)?;
        }
        for text in &tools.read_only_paths {
            self.guard(&expand(text, places)?, Protection::ReadOnly)?;
        }
        Ok(())
    }

    /// A folder within the program's home cannot be given to the tools.
    fn refuse_hidden_roots(&self, hidden: &Path) -> Result<()> {
        let Some(hidden_inode) = inode_of(hidden) else {
            return Ok(());
        };
        for root in &self.roots {
            let is_workspace = root.inode == self.workspace;
            let within = is_beneath(root, hidden_inode)? && !is_beneath(root, self.workspace)?;
            if root.inode == hidden_inode || within {
                let what = if is_workspace {
                    "agents.defaults.workspace"
                } else {
                    "tools.allowedPaths or tools.readOnlyPaths"
                };
                return Err(Error::Config(format!(
                    "{what}: {} is or lies in {}, which holds the configuration, keys and sessions; \
                     tools may not use it. Name another folder",
                    root.shown.display(),
                    hidden.display()
                )));
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
        let guard = Guard::new(place, protection).map_err(Error::io("protect", place))?;
        for root in &mut self.roots {
            if guard
                .is_beneath(root.inode)
                .map_err(Error::io("protect", place))?
            {
                root.guards.push(self.guards.len());
            }
        }
        self.guards.push(guard);
        Ok(())
    }
}

fn inode_of(path: &Path) -> Option<Inode> {
    let handle = at::open_root(path).ok()?;
    Some(at::status(handle).ok()?.inode)
}

fn is_beneath(root: &Root, other: Inode) -> Result<bool> {
    guard::is_beneath(root.handle.as_fd(), other).map_err(Error::io("open", &root.shown))
}

/// A configured path with `~` replaced; a relative one is meant from the workspace.
fn expand(text: &str, places: &Places<'_>) -> Result<PathBuf> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(places.workspace.join(text));
    };
    match (places.user_home, rest.strip_prefix('/')) {
        (Some(home), _) if rest.is_empty() => Ok(home.to_owned()),
        (Some(home), Some(rest)) => Ok(home.join(rest.trim_start_matches('/'))),
        (None, _) => Err(Error::Config(format!(
            "tools: {text}: HOME is not set, so '~' stands for nothing; write the whole path"
        ))),
        (Some(_), None) => Err(Error::Config(format!(
            "tools: {text}: another person's home cannot be named with '~'; write the whole path"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_paths_mean_what_a_shell_would_make_of_them() {
        let places = Places {
            workspace: Path::new("/w"),
            hidden: &[],
            user_home: Some(Path::new("/home/me")),
        };
        let expanded = |text| expand(text, &places).unwrap();
        assert_eq!(expanded("~"), Path::new("/home/me"));
        assert_eq!(expanded("~/a//b"), Path::new("/home/me/a/b"));
        assert_eq!(expanded("~//a"), Path::new("/home/me/a"));
        assert_eq!(expanded("/data"), Path::new("/data"));
        assert_eq!(expanded("notes"), Path::new("/w/notes"));
        assert!(expand("~root/x", &places).is_err());
        let nobody = Places {
            user_home: None,
            ..places
        };
        assert!(expand("~/x", &nobody).is_err());
    }

    #[test]
    fn a_folder_of_the_programs_own_home_cannot_be_given_to_tools() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("home");
        std::fs::create_dir_all(home.join("workspace/sub")).unwrap();
        std::fs::create_dir(home.join("sessions")).unwrap();
        let open = |workspace: &Path, allowed: &Path| {
            let places = Places {
                workspace,
                hidden: &[&home],
                user_home: None,
            };
            let tools = Tools {
                allowed_paths: vec![allowed.to_str().unwrap().to_owned()],
                ..Tools::default()
            };
            Roots::open(&places, &tools).map(drop)
        };
        let workspace = home.join("workspace");
        open(&workspace, &workspace.join("sub")).unwrap();
        open(&workspace, &top.path().join("missing")).unwrap();
        for refused in [
            open(&workspace, &home),
            open(&workspace, &home.join("sessions")),
            open(&home, top.path()),
        ] {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Config(_)), "{error}");
            assert!(
                error.to_string().contains("tools may not use it"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_closest_folder_comes_first() {
        let top = tempfile::tempdir().unwrap();
        let workspace = top.path().join("w");
        std::fs::create_dir_all(workspace.join("docs")).unwrap();
        let places = Places {
            workspace: &workspace,
            hidden: &[],
            user_home: Some(top.path()),
        };
        let tools = Tools {
            allowed_paths: vec!["~".to_owned()],
            read_only_paths: vec!["docs".to_owned()],
            restrict_to_workspace: false,
            ..Tools::default()
        };
        let roots = Roots::open(&places, &tools).unwrap();
        let writable: Vec<bool> = roots.roots.iter().map(|root| root.writable).collect();
        assert_eq!(writable, [false, true, true, true]);
        let path = workspace.join("docs/a/../b");
        let rest = roots.roots[0].rest_of(&path);
        assert_eq!(rest, Some(Path::new("a/../b")));
    }
}
