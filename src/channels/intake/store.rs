//! The folder of received files: their names, and deletion when there are too many.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::channels::kit::names;
use crate::sandbox::files::{Next, RECEIVED, Workspace};
use crate::store::inbox::Inbox;
use crate::sys::at::Kind;

/// Files of the same name and second; an album has ten.
const FILE_NUMBERS: u32 = 100;
/// Received files that are kept, whatever their size: a folder of more is slow to list.
const INBOX_FILES: usize = 5_000;
/// Age below which a received file is never deleted: a conversation may be about it.
const INBOX_FILE_AGE: Duration = Duration::from_hours(24);
/// Files after which the folder of received files is looked at again.
const INBOX_LOOK_FILES: u64 = 50;

/// The folder within the workspace.
const FOLDER: &str = RECEIVED;
/// The share of the bound on bytes after which the folder is checked again.
const LOOK_SHARE: u64 = 16;

/// Keeps the folder within its bounds.
#[derive(Debug)]
pub(super) struct Store {
    max_bytes: Option<u64>,
    max_files: usize,
    /// Files and bytes stored since the folder was last checked; `None` before the first check.
    since: Mutex<Option<(u64, u64)>>,
}

/// A file that was received, as the folder has it.
#[derive(Debug)]
struct Received {
    modified: i64,
    name: String,
    size: u64,
}

impl Store {
    pub fn new(max_bytes: Option<u64>) -> Self {
        Self {
            max_bytes,
            max_files: INBOX_FILES,
            since: Mutex::default(),
        }
    }

    /// A file of so many bytes has been stored. Deletes the oldest files if there are too many, except what
    /// a message in the inbox needs and what is younger than [`INBOX_FILE_AGE`].
    pub fn stored(&self, bytes: u64, workspace: &Workspace, inbox: &Inbox, clock: &Clock) {
        if !self.is_look_due(bytes) {
            return;
        }
        if !clock.is_set() {
            tracing::debug!("old received files are not deleted while the clock is not set");
            return;
        }
        match self.tidy(workspace, inbox, clock.now().timestamp()) {
            Ok((0, _)) => {}
            Ok((files, bytes)) => {
                tracing::info!(files, bytes, "deleted the oldest received files");
            }
            Err(error) => tracing::warn!("failed to delete old received files: {error}"),
        }
    }

    fn is_look_due(&self, bytes: u64) -> bool {
        let mut since = self.since.lock();
        let (files, bytes) = match *since {
            Some((files, before)) => (files + 1, before.saturating_add(bytes)),
            None => (INBOX_LOOK_FILES, bytes),
        };
        let share = self.max_bytes.map_or(u64::MAX, |max| max / LOOK_SHARE);
        let is_due = files >= INBOX_LOOK_FILES || bytes >= share;
        *since = Some(if is_due { (0, 0) } else { (files, bytes) });
        is_due
    }

    /// Returns how many files were deleted, and their bytes.
    fn tidy(&self, workspace: &Workspace, inbox: &Inbox, now: i64) -> Result<(usize, u64)> {
        let mut files = list(workspace)?;
        let mut bytes: u64 = files.iter().map(|file| file.size).sum();
        let mut count = files.len();
        let max_bytes = self.max_bytes.unwrap_or(u64::MAX);
        let mut deleted = (0, 0);
        if count <= self.max_files && bytes <= max_bytes {
            return Ok(deleted);
        }
        files.sort_by(|a, b| (a.modified, &a.name).cmp(&(b.modified, &b.name)));
        let needed = inbox.files();
        let age = i64::try_from(INBOX_FILE_AGE.as_secs()).unwrap_or(i64::MAX);
        for file in files {
            if count <= self.max_files && bytes <= max_bytes {
                break;
            }
            let path = format!("{FOLDER}/{}", file.name);
            if now.saturating_sub(file.modified) < age || needed.contains(&path) {
                continue;
            }
            if let Err(error) = workspace.remove(Path::new(&path)) {
                tracing::warn!("failed to delete a received file: {error}");
                continue;
            }
            count -= 1;
            bytes -= file.size;
            deleted = (deleted.0 + 1, deleted.1 + file.size);
        }
        Ok(deleted)
    }
}

/// Creates a file with a new name, `20261121-143005-NAME`. Also returns its path within the workspace.
pub fn create(
    workspace: &Workspace,
    name: &str,
    now: DateTime<FixedOffset>,
) -> Result<(String, File)> {
    make(name, now, |path| workspace.receiving().create(path))
}

/// A file that is being received. Where the file system can, it has no name until all of it is there: a kill leaves
/// nothing of it, and what a command reads in its folder does not grow meanwhile.
pub(super) struct Receiving {
    /// The file, open to be written.
    pub file: File,
    path: Option<String>,
}

impl Receiving {
    /// Begins a file of this name.
    pub fn begin(workspace: &Workspace, name: &str, now: DateTime<FixedOffset>) -> Result<Self> {
        let unnamed = workspace.receiving().create_unnamed(Path::new(FOLDER))?;
        match unnamed {
            Some(file) => Ok(Self { file, path: None }),
            None => create(workspace, name, now).map(|(path, file)| Self {
                file,
                path: Some(path),
            }),
        }
    }

    /// All of it is there. Returns its path within the workspace.
    pub fn finish(
        self,
        workspace: &Workspace,
        name: &str,
        now: DateTime<FixedOffset>,
    ) -> Result<String> {
        match self.path {
            Some(path) => Ok(path),
            None => {
                let name_it = |path: &Path| workspace.receiving().name(&self.file, path);
                make(name, now, name_it).map(|(path, ())| path)
            }
        }
    }

    /// Nothing of it is to stay. It may have a name already.
    pub fn discard(self, workspace: &Workspace) -> Result<()> {
        let path = self.path.as_ref();
        path.map_or(Ok(()), |path| workspace.remove(Path::new(path)))
    }
}

/// Finds a name that is free by making something of that name.
fn make<T>(
    name: &str,
    now: DateTime<FixedOffset>,
    make: impl Fn(&Path) -> Result<T>,
) -> Result<(String, T)> {
    let date = now.format("%Y%m%d-%H%M%S");
    let name = names::clean_file_name(name);
    let mut number = 1;
    loop {
        let path = match number {
            1 => format!("{FOLDER}/{date}-{name}"),
            _ => format!("{FOLDER}/{date}-{number}-{name}"),
        };
        match make(Path::new(&path)) {
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::AlreadyExists && number < FILE_NUMBERS =>
            {
                number += 1;
            }
            created => return Ok((path, created?)),
        }
    }
}

/// The files that [`create`] made. Others belong to the person or the agent, and stay.
fn list(workspace: &Workspace) -> Result<Vec<Received>> {
    let mut files = Vec::new();
    workspace.walk(Path::new(FOLDER), &mut |found| {
        let name = found.path.to_str().filter(|name| is_received(name));
        if let Some(name) = name.filter(|_| found.status.kind == Kind::File) {
            files.push(Received {
                modified: found.status.modified,
                name: name.to_owned(),
                size: found.status.size,
            });
        }
        Next::Pass
    })?;
    Ok(files)
}

/// Whether a name begins as [`create`] begins it.
fn is_received(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() > 16
        && bytes[..16].iter().enumerate().all(|(at, byte)| match at {
            8 | 15 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::base::clock::BUILD_EPOCH;
    use crate::base::message::{Attachment, Envelope, Media, SessionKey};
    use crate::config::schema::Tools;
    use crate::sandbox::files::Places;
    use crate::sys::beneath::Resolver;

    const DAY: i64 = 24 * 60 * 60;
    /// The time in these tests: ten days after the earliest that is believed.
    const NOW: i64 = BUILD_EPOCH + 10 * DAY;

    struct Scene {
        top: tempfile::TempDir,
        workspace: Workspace,
        inbox: Inbox,
    }

    impl Scene {
        fn new() -> Self {
            let top = tempfile::tempdir().unwrap();
            for folder in ["workspace", "outside"] {
                fs::create_dir(top.path().join(folder)).unwrap();
            }
            let places = Places {
                workspace: &top.path().join("workspace"),
                hidden: &[],
                user_home: None,
            };
            let workspace =
                Workspace::open(&places, &Tools::default(), Resolver::detect()).unwrap();
            let inbox = Inbox::open(&top.path().join("inbox.jsonl"), Clock::System).unwrap();
            Self {
                top,
                workspace,
                inbox,
            }
        }

        /// A file of 100 bytes that is so many days old.
        fn put(&self, folder: &str, name: &str, days: i64) {
            let folder = self.top.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), [0; 100]).unwrap();
            let file = File::options().write(true).open(folder.join(name)).unwrap();
            let modified = Duration::from_secs((NOW - days * DAY) as u64);
            file.set_modified(SystemTime::UNIX_EPOCH + modified)
                .unwrap();
        }

        fn names(&self, folder: &str) -> BTreeSet<String> {
            let entries = fs::read_dir(self.top.path().join(folder)).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        }

        fn create(&self, name: &str) -> Result<(String, File)> {
            let now = DateTime::parse_from_rfc3339("2026-11-21T14:30:05+01:00").unwrap();
            create(&self.workspace, name, now)
        }
    }

    #[test]
    fn the_oldest_go_first_and_what_is_needed_or_not_ours_stays() {
        let scene = Scene::new();
        for (name, days) in [
            ("20261101-000000-old", 9),
            ("20261101-000001-needed", 8),
            ("20261102-000000-middle", 7),
            ("20261103-000000-newer", 6),
            ("20261110-000000-today", 0),
            ("list of the person's own", 9),
        ] {
            scene.put("workspace/inbox", name, days);
        }
        scene.put("workspace/inbox/20261101-000000-folder", "x", 9);
        let mut message = Envelope::typed(&SessionKey::parse("a"), "look");
        message.attachments = vec![Attachment {
            media: Media::Document,
            path: "inbox/20261101-000001-needed".to_owned(),
        }];
        scene.inbox.accept(vec![message]).unwrap();
        let store = Store::new(Some(300));
        let tidied = store.tidy(&scene.workspace, &scene.inbox, NOW).unwrap();
        assert_eq!(tidied, (2, 200));
        let left = scene.names("workspace/inbox");
        assert_eq!(left.len(), 5, "{left:?}");
        assert!(!left.contains("20261101-000000-old") && !left.contains("20261102-000000-middle"));
        // Below the bound nothing is deleted; and what is of today never is.
        let tidied = store.tidy(&scene.workspace, &scene.inbox, NOW).unwrap();
        assert_eq!(tidied, (0, 0));
        let nothing = Store::new(Some(1));
        nothing.tidy(&scene.workspace, &scene.inbox, NOW).unwrap();
        let left = scene.names("workspace/inbox");
        assert!(left.contains("20261110-000000-today") && left.contains("20261101-000001-needed"));
        assert_eq!(left.len(), 4, "{left:?}");
    }

    #[test]
    fn their_number_is_bounded_too() {
        let scene = Scene::new();
        for number in 0..5 {
            let name = format!("20261101-00000{number}-x");
            scene.put("workspace/inbox", &name, 9 - number);
        }
        let store = Store {
            max_files: 3,
            ..Store::new(None)
        };
        store.tidy(&scene.workspace, &scene.inbox, NOW).unwrap();
        let left: Vec<String> = scene.names("workspace/inbox").into_iter().collect();
        assert_eq!(left[0], "20261101-000002-x");
    }

    #[test]
    fn the_folder_is_looked_at_first_and_then_now_and_then() {
        let store = Store::new(Some(16_000));
        assert!(store.is_look_due(1));
        assert!(!store.is_look_due(500));
        assert!(store.is_look_due(500) && !store.is_look_due(1));
        let looks = (0..500).filter(|_| store.is_look_due(0)).count();
        assert_eq!(looks, 10);
    }

    #[test]
    fn a_link_leads_nowhere() {
        let scene = Scene::new();
        scene.put("outside", "20261101-000000-theirs", 9);
        let folder = scene.top.path().join("workspace/inbox");
        std::os::unix::fs::symlink("../outside", &folder).unwrap();
        let store = Store::new(Some(1));
        assert!(store.tidy(&scene.workspace, &scene.inbox, NOW).is_err());
        assert!(scene.create("a.txt").is_err());
        fs::remove_file(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        let to = folder.join("20261121-143005-a.txt");
        std::os::unix::fs::symlink("../../outside/a.txt", to).unwrap();
        assert!(scene.create("a.txt").is_err());
        assert_eq!(scene.names("outside").len(), 1);
    }

    #[test]
    fn files_of_one_name_and_second_get_different_names() {
        let scene = Scene::new();
        let (first, _) = scene.create("../../a.txt").unwrap();
        let (second, _) = scene.create("a.txt").unwrap();
        assert_eq!(first, "inbox/20261121-143005-a.txt");
        assert_eq!(second, "inbox/20261121-143005-2-a.txt");
    }
}
