//! `watches.json`, which people may edit, and `state/watches.json`, which has what was told.
//!
//! The first file is the truth about what is watched. Each change locks the folder, reads, changes and writes, so that
//! the command line and the gateway never overwrite each other. A watch that cannot be read spoils no other one and
//! stays in the file. The second file is the gateway's alone; a damaged one counts as empty.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::judge::{Moment, Seen, Tracker};
use super::notice::Notice;
use super::parse::parse;
use super::process::identity;
use super::rule::{Quantity, Rule, What};
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::json::Members;
use crate::base::language::Language;
use crate::base::limits::watch::WATCHES_MAX;
use crate::base::message::{Address, Author};
use crate::sys;

/// Bytes of `watches.json`: 32 rules of the longest kind.
const FILE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of `state/watches.json`.
const STATE_BYTES_MAX: usize = 256 * 1024;

/// A watch of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// Its number, from 1.
    pub id: u32,
    /// The rule.
    pub rule: Rule,
    /// The chat that is told; `None` for the one of the built-in watches.
    pub chat: Option<Address>,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether the model has made it: then it reaches only what the model's tools reach.
    pub by_model: bool,
    /// What the one who has caused it may do. A watch that does not say so has a user's rights.
    pub role: Role,
    /// Who that is, where it is known.
    pub author: Option<Author>,
    /// The process of a watch of one: its name and when it was started, in ticks of the kernel.
    pub process: Option<(String, u64)>,
}

impl Watch {
    /// The role of the one who has made it. Only owners make some other than through the model.
    pub fn maker(&self) -> Role {
        match self.by_model {
            true => self.role,
            false => Role::Owner,
        }
    }
}

/// What is in the file.
#[derive(Debug, Default)]
pub struct Watches {
    /// Those that can be used, in the order of the file.
    pub watches: Vec<Watch>,
    /// What is wrong with the others, as sentences.
    pub faults: Vec<String>,
    /// The others, as they are in the file.
    unusable: Vec<Box<RawValue>>,
    /// The number of the next one: none is used again, for an old button may have it.
    next: u32,
}

impl Watches {
    fn note(&mut self, id: u32) {
        self.next = self.next.max(id.saturating_add(1));
    }
}

impl Deref for Watches {
    type Target = Vec<Watch>;

    fn deref(&self) -> &Vec<Watch> {
        &self.watches
    }
}

impl DerefMut for Watches {
    fn deref_mut(&mut self) -> &mut Vec<Watch> {
        &mut self.watches
    }
}

/// Who adds a watch.
#[derive(Clone, Copy, Debug)]
pub struct Cause<'a> {
    /// The chat that is told.
    pub chat: Option<&'a Address>,
    /// What they may do.
    pub role: Role,
    /// Who it is.
    pub author: Option<&'a Author>,
    /// Whether the model does it for them.
    pub by_model: bool,
}

impl Cause<'_> {
    /// The person at the board's own terminal.
    pub fn typed(chat: Option<&Address>) -> Cause<'_> {
        Cause {
            chat,
            role: Role::Owner,
            author: None,
            by_model: false,
        }
    }
}

/// The watches of a home. Opening it reads and creates nothing.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The watches of a home folder.
    pub fn open(home_folder: &Path) -> Self {
        Self {
            folder: home_folder.to_owned(),
        }
    }

    /// The home folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of watches.
    pub fn path(&self) -> PathBuf {
        self.folder.join("watches.json")
    }

    fn state_path(&self) -> PathBuf {
        self.folder.join("state/watches.json")
    }

    /// Reads the watches, without a lock. Fails when the file as a whole cannot be used.
    pub fn read(&self) -> Result<Watches> {
        let path = self.path();
        let bytes = match sys::file::read_at_most(&path, FILE_BYTES_MAX) {
            Err(Error::Io { source, .. })
                if source.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() =>
            {
                return Ok(Watches::default());
            }
            read => read?,
        };
        read_file(&bytes).map_err(|reason| {
            Error::Failed(format!(
                "The list of watches {} cannot be read: {reason}. It was left as it is. Repair it, or move it away to \
                 start with an empty list.",
                path.display()
            ))
        })
    }

    /// Changes the watches. Nothing is written when `change` fails, or when the file cannot be used.
    pub fn change<T>(&self, change: impl FnOnce(&mut Watches) -> Result<T>) -> Result<T> {
        sys::file::private_folder(&self.folder)?;
        let _lock = sys::file::lock_folder(&self.folder)?;
        let mut all = self.read()?;
        let before = all.watches.clone();
        let result = change(&mut all)?;
        if all.watches != before {
            let text = render(&all);
            if text.len() > FILE_BYTES_MAX {
                return Err(Error::TooLarge {
                    what: "The list of watches".to_owned(),
                    limit: FILE_BYTES_MAX,
                });
            }
            sys::file::write_atomic(&self.path(), text.as_bytes(), 0o600)?;
        }
        Ok(result)
    }

    /// Adds a watch of a rule.
    pub fn insert(&self, rule: Rule, cause: Cause<'_>) -> Result<Added> {
        if let What::File { path, .. } = &rule.what
            && !can_be_followed(Path::new(path))
        {
            return Ok(Added::NoFile);
        }
        let process = match rule.what {
            What::Pid(pid) => match identity(pid) {
                None => return Ok(Added::NoProcess(pid)),
                process => process,
            },
            _ => None,
        };
        let watch = Watch {
            id: 0,
            rule,
            chat: cause.chat.cloned(),
            is_paused: false,
            by_model: cause.by_model,
            role: cause.role,
            author: cause.author.cloned(),
            process,
        };
        let home = self.folder();
        self.change(|list| {
            // Without a chat it would be told to an owner, who has asked for it.
            let is_of_owner = |other: &Watch| other.role == Role::Owner && !other.by_model;
            let same = list.iter_mut().find(|other| {
                is_same(&other.rule, &watch.rule, home)
                    && (other.chat == watch.chat || watch.chat.is_none() && is_of_owner(other))
                    && other.process == watch.process
            });
            Ok(match same {
                // Someone who asks for it again wants it watched.
                Some(same) if same.is_paused && same.role <= watch.role => {
                    same.is_paused = false;
                    Added::New(same.id)
                }
                Some(same) => Added::Known(same.id),
                None => add(list, watch).map_or(Added::TooMany, Added::New),
            })
        })
    }

    /// A number that differs when the file has changed; 0 when there is none.
    pub fn stamp(&self) -> u64 {
        let Ok(metadata) = std::fs::metadata(self.path()) else {
            return 0;
        };
        let parts = [
            metadata.ino(),
            metadata.len(),
            metadata.mtime() as u64,
            metadata.mtime_nsec() as u64,
        ];
        // FNV-1a, by words.
        let mix = |hash: u64, part: &u64| (hash ^ part).wrapping_mul(0x0100_0000_01b3);
        parts.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Has the watches of a chat tell another one. Returns how many they are.
    pub fn move_chat(&self, from: &Address, to: &Address) -> Result<usize> {
        let is_there = |watch: &&mut Watch| watch.chat.as_ref() == Some(from);
        self.change(|watches| {
            let there = watches.iter_mut().filter(is_there);
            Ok(there.map(|watch| watch.chat = Some(to.clone())).count())
        })
    }

    /// What was told. A damaged file counts as empty.
    pub fn read_state(&self) -> BTreeMap<String, Box<Entry>> {
        let path = self.state_path();
        let bytes = match sys::file::read_at_most(&path, STATE_BYTES_MAX) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return BTreeMap::new();
            }
            read => read,
        };
        let read = bytes.and_then(|bytes| {
            json::from_slice(&bytes).map_err(|error| Error::Failed(error.to_string()))
        });
        read.unwrap_or_else(|error| {
            tracing::warn!("starting without what was told of watches: {error}");
            BTreeMap::new()
        })
    }

    /// Keeps what was told.
    pub fn write_state(&self, state: &BTreeMap<&str, &Entry>) -> Result<()> {
        let path = self.state_path();
        if let Some(folder) = path.parent() {
            sys::file::private_folder(folder)?;
        }
        let bytes = serde_json::to_vec(state);
        let bytes = bytes.map_err(|error| Error::Failed(error.to_string()))?;
        sys::file::write_atomic(&path, &bytes, 0o600)
    }
}

/// What became of a watch that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is there, with this number.
    New(u32),
    /// The same is there already.
    Known(u32),
    /// The process with this number is gone.
    NoProcess(u32),
    /// What is at the path is no file that grows.
    NoFile,
    /// There are as many as possible.
    TooMany,
}

/// Whether a path has, or may have later, a file that lines are added to: no device, pipe or folder, and nothing that the
/// kernel makes up.
pub fn can_be_followed(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_made_up = ["/proc", "/sys"].iter().any(|root| real.starts_with(root));
    !is_made_up && std::fs::metadata(path).map_or(true, |data| data.is_file())
}

/// Whether two rules are about the same: also where one names a path, and the other is about the file system of the home,
/// which has that path.
pub fn is_same(one: &Rule, other: &Rule, home: &Path) -> bool {
    let place = |rule: &Rule| match &rule.what {
        What::Value { quantity, .. } => {
            let path = quantity.path().map_or(home, Path::new);
            std::fs::metadata(path).ok().map(|data| data.dev())
        }
        _ => None,
    };
    let without_path = |rule: &Rule| {
        let mut rule = rule.clone();
        if let What::Value { quantity, .. } = &mut rule.what
            && let Quantity::Disk(path) | Quantity::Inodes(path) = quantity
        {
            *path = None;
        }
        rule
    };
    one == other
        || without_path(one) == without_path(other)
            && place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other))
}

/// Adds a watch with the next number, and returns that.
pub fn add(all: &mut Watches, mut watch: Watch) -> Option<u32> {
    if all.len() >= watch.role.places(WATCHES_MAX) {
        return None;
    }
    let is_free = |id: &u32| *id > 0 && all.iter().all(|watch| watch.id != *id);
    let id = Some(all.next).filter(is_free);
    // Only after a number that a person has made up as large as can be.
    let id = id.or_else(|| (1..).find(is_free))?;
    watch.id = id;
    all.watches.push(watch);
    all.note(id);
    Some(id)
}

fn read_file(bytes: &[u8]) -> std::result::Result<Watches, String> {
    // Some editors begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut all = Watches {
        next: 1,
        ..Watches::default()
    };
    if bytes.trim_ascii().is_empty() {
        return Ok(all);
    }
    let file: BTreeMap<String, &RawValue> =
        json::envelope_from_slice(bytes).map_err(|error| error.to_string())?;
    let list = file.get("watches").map(|raw| raw.get());
    let list: Option<Vec<&RawValue>> = match list {
        Some(list) => json::envelope_from_slice(list.as_bytes())
            .map_err(|error| format!("in \"watches\": {error}"))?,
        None => None,
    };
    let next = file.get("next").map(|raw| raw.get().parse::<u32>());
    if let Some(Ok(next)) = next {
        all.next = all.next.max(next);
    }
    for (index, raw) in list.unwrap_or_default().into_iter().enumerate() {
        let watch = read_watch(raw.get()).and_then(|watch| {
            if all.watches.iter().any(|other| other.id == watch.id) {
                return Err("another watch has the same id".to_owned());
            }
            if all.watches.len() < WATCHES_MAX {
                Ok(watch)
            } else {
                Err(format!("there are more than {WATCHES_MAX} watches"))
            }
        });
        if let Some(id) = Members::read(raw.get()).as_ref().and_then(id_of) {
            all.note(id);
        }
        match watch {
            Ok(watch) => all.watches.push(watch),
            Err(reason) => {
                all.faults.push(format!("watch {}: {reason}", index + 1));
                all.unusable.push(raw.to_owned());
            }
        }
    }
    Ok(all)
}

fn id_of(members: &Members) -> Option<u32> {
    let id = members.value("id").as_u64();
    id.and_then(|id| u32::try_from(id).ok())
        .filter(|id| *id > 0)
}

fn read_watch(raw: &str) -> std::result::Result<Watch, String> {
    let members = Members::read(raw).ok_or("it is not an object")?;
    let id = id_of(&members);
    let rule = members.text("rule").ok_or("its rule is missing")?;
    let start = members.value("processStart").as_u64();
    Ok(Watch {
        id: id.ok_or("its id must be a whole number from 1")?,
        rule: parse(&rule, Language::English)?,
        chat: members.text("chat").map(|chat| Address::parse(&chat)),
        is_paused: members.is_true("paused"),
        by_model: members.is_true("byModel"),
        role: members
            .text("role")
            .and_then(|role| Role::parse(&role))
            .unwrap_or(Role::User),
        author: members.text("person").map(|id| Author {
            id,
            username: members.text_or_empty("username"),
        }),
        process: start.map(|start| (members.text_or_empty("process"), start)),
    })
}

fn render(all: &Watches) -> String {
    let mut text = format!(
        "{{\n  \"version\": 1,\n  \"next\": {},\n  \"watches\": [",
        all.next
    );
    let good = all.watches.iter().map(render_watch);
    let bad = all.unusable.iter().map(|raw| raw.get().to_owned());
    for (index, watch) in good.chain(bad).enumerate() {
        text += if index == 0 { "\n    " } else { ",\n    " };
        text += &watch;
    }
    text + "\n  ]\n}\n"
}

fn render_watch(watch: &Watch) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut line = format!(
        "{{\"id\": {}, \"rule\": {}",
        watch.id,
        text(&watch.rule.to_string())
    );
    if let Some(chat) = &watch.chat {
        line += &format!(", \"chat\": {}", text(&chat.to_string()));
    }
    for (name, is_set) in [("paused", watch.is_paused), ("byModel", watch.by_model)] {
        if is_set {
            line += &format!(", \"{name}\": true");
        }
    }
    if watch.role != Role::User {
        line += &format!(", \"role\": \"{}\"", watch.role);
    }
    if let Some(author) = &watch.author {
        line += &format!(", \"person\": {}", text(&author.id));
        if !author.username.is_empty() {
            line += &format!(", \"username\": {}", text(&author.username));
        }
    }
    if let Some((name, start)) = &watch.process {
        line += &format!(", \"process\": {}, \"processStart\": {start}", text(name));
    }
    line + "}"
}

/// What is known of a watch besides its rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Entry {
    /// The rule that this belongs to: with another one it is forgotten.
    pub rule: String,
    /// Where it is.
    pub tracker: Tracker,
    /// What has happened and is not told yet.
    pub seen: Seen,
    /// What is to be told, until it is in the outbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Box<Notice>>,
    /// Until when nothing is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub muted: Option<Mute>,
    /// Whether there is an alarm that was not told.
    pub is_hushed: bool,
    /// Whether a person has turned a built-in watch off.
    pub is_off: bool,
    /// How far a file was read: its inode, and the offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<(u64, u64)>,
    /// The command of an alarm, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<Ran>>,
    /// What was seen before, such as addresses; `None` before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

/// A command of an alarm that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The command.
    pub line: String,
    /// The chat that is told.
    pub chat: Address,
    /// The id of the alarm's message.
    pub once: String,
}

/// A time in which nothing is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// When it began.
    pub since: Moment,
    /// How long it lasts, in milliseconds.
    pub ms: i64,
}

impl Mute {
    /// How long it still lasts, in milliseconds; `None` when it is over.
    pub fn left(&self, now: Moment) -> Option<i64> {
        let left = self.ms.saturating_sub(now.since(self.since)?);
        Some(left).filter(|left| *left > 0)
    }
}
