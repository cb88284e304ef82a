//! A workspace with everything around it and in it that somebody could try to get out by.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use crate::base::limits::files::LINKS;
use crate::config::schema::Tools;
use crate::sandbox::files::{Places, Workspace};
use crate::sys::beneath::Resolver;

/// Stands in every file that no attempt may show.
pub(super) const CANARY: &str = "canary-5f1e";

pub(super) struct Scene {
    pub(super) top: TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        let scene = Self {
            top: tempfile::tempdir().unwrap(),
        };
        for folder in [
            "outside/folder",
            "w/a/b",
            "w/.peacrab/sessions",
            "w/guarded/deep",
            "w/inside-docs",
            "w2",
            "docs",
        ] {
            std::fs::create_dir_all(scene.path(folder)).unwrap();
        }
        for file in [
            "outside/secret.txt",
            "outside/folder/secret.txt",
            "w2/secret.txt",
            "w/.peacrab/config.json",
            "w/.peacrab/sessions/a.jsonl",
        ] {
            std::fs::write(scene.path(file), format!("{CANARY} in {file}")).unwrap();
        }
        for file in [
            "w/file.txt",
            "w/AGENTS.md",
            "w/guarded/inner.txt",
            "w/guarded/deep/inner.txt",
            "w/inside-docs/guide.txt",
            "docs/guide.txt",
        ] {
            std::fs::write(scene.path(file), "plain").unwrap();
        }
        scene.add_links();
        scene.add_special_files();
        scene
    }

    fn add_links(&self) {
        let link = |target: &str, name: &str| symlink(target, self.path("w").join(name)).unwrap();
        let absolute = |target: &str, name: &str| link(self.path(target).to_str().unwrap(), name);
        link("../outside/secret.txt", "link-file");
        absolute("outside/secret.txt", "link-file-absolute");
        link("../outside", "link-folder");
        absolute("outside", "link-folder-absolute");
        link("../outside/dangling.txt", "link-dangling");
        absolute("outside/dangling.txt", "link-dangling-absolute");
        absolute("w/file.txt", "link-inside-absolute");
        link("..", "link-up");
        link("../../outside", "a/link-deep");
        link("/", "link-top");
        link("/proc/self/root", "link-magic");
        link("a/../chain-2", "chain-1");
        link("./chain-3", "chain-2");
        link("link-folder", "chain-3");
        link("circle-2", "circle-1");
        link("circle-1", "circle-2");
        link("circle-self", "circle-self");
        for number in 0..=LINKS {
            link(&format!("many-{}", number + 1), &format!("many-{number}"));
        }
        link("a", &format!("many-{}", LINKS + 1));
        link("hard", "link-hard");
        link("fifo", "link-fifo");
        link(".peacrab", "link-home");
        link(".peacrab/config.json", "link-config");
        link("../link-home/sessions/a.jsonl", "a/link-session");
        link("AGENTS.md", "link-agents");
        link("guarded", "link-guarded");
        let hard = |file: &str, name: &str| {
            std::fs::hard_link(self.path(file), self.path("w").join(name)).unwrap();
        };
        hard("outside/secret.txt", "hard");
        hard("outside/folder/secret.txt", "a/hard");
        hard("w/.peacrab/config.json", "hard-config");
    }

    fn add_special_files(&self) {
        let mode = Mode::from_raw_mode(0o666);
        rustix::fs::mknodat(CWD, self.path("w/fifo"), FileType::Fifo, mode, 0).unwrap();
        drop(UnixListener::bind(self.path("w/socket")).unwrap());
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.top.path().join(below)
    }

    pub(super) fn open(&self, resolver: Resolver) -> Workspace {
        let text = |path: &str| self.path(path).to_str().unwrap().to_owned();
        let tools = Tools {
            restrict_to_workspace: true,
            allowed_paths: ["/proc", "/sys"].map(str::to_owned).to_vec(),
            read_only_paths: vec![text("docs"), "inside-docs".to_owned()],
            protected_paths: ["AGENTS.md", "guarded", "later.txt", "later/deep"]
                .map(str::to_owned)
                .to_vec(),
            ..Tools::default()
        };
        let (workspace, home) = (self.path("w"), self.path("w/.peacrab"));
        let places = Places {
            workspace: &workspace,
            hidden: &[&home],
            user_home: None,
        };
        Workspace::open(&places, &tools, resolver).unwrap()
    }

    /// All that no attempt may change: names, content, permissions, times of change.
    pub(super) fn untouchable(&self) -> BTreeMap<PathBuf, (String, u32, i64, i64)> {
        let mut found = BTreeMap::new();
        for place in [
            "outside",
            "w2",
            "docs",
            "w/.peacrab",
            "w/guarded",
            "w/inside-docs",
            "w/AGENTS.md",
            "w/later.txt",
            "w/later",
        ] {
            record(&self.path(place), &mut found);
        }
        // A new file beside the folders would show, too.
        for entry in std::fs::read_dir(self.top.path()).unwrap() {
            let name = PathBuf::from(entry.unwrap().file_name());
            found.insert(name, (String::new(), 0, 0, 0));
        }
        found
    }
}

fn record(path: &Path, found: &mut BTreeMap<PathBuf, (String, u32, i64, i64)>) {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return;
    };
    let mut content = String::new();
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            record(&entry.unwrap().path(), found);
        }
    } else {
        content = std::fs::read_to_string(path).unwrap();
    }
    let state = (
        content,
        metadata.mode(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    );
    found.insert(path.to_owned(), state);
}
