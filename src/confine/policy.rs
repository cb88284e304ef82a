//! What a confined child has to obey, and how it travels through the pipe.
//!
//! The two ends are the same program, so the form is plain: a length, a version, then the members
//! one after the other, numbers little-endian, texts with a length before them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::limits::confine as bounds;

/// Raised whenever the form changes: a daemon may run while its file is replaced by an update.
const VERSION: u8 = 1;

/// How the child gets a view of the machine of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// It does not.
    #[default]
    None,
    /// In a user namespace, as everybody may where the system allows it.
    User,
    /// Without one, as root may.
    Plain,
}

/// Which of the kernel's walls stand around a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    /// A view of its own.
    pub namespaces: Namespaces,
    /// The version of Landlock; 0: none.
    pub landlock: u32,
    /// The system call filter, no new privileges, no capabilities.
    pub system_calls: bool,
}

impl Walls {
    /// Whether the child has a view of its own.
    pub fn own_view(self) -> bool {
        self.namespaces != Namespaces::None
    }
}

/// A step of the confinement that a test may leave out, to see that something then gets out. No
/// configuration and no command reaches this.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    Namespaces = 1,
    FileRights = 2,
    SystemCalls = 4,
    Capabilities = 8,
    Descriptors = 16,
    Limits = 32,
    Sweep = 64,
}

/// Limits of each process of a child (setrlimit(2)), and of the child's private /tmp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Bytes of writable memory.
    pub memory_bytes: u64,
    /// Bytes of a file that it writes.
    pub file_bytes: u64,
    /// Bytes of /tmp, which is memory.
    pub tmp_bytes: u64,
    /// Processes and threads beyond those that run already.
    pub processes: u64,
    /// Open files.
    pub files: u64,
}

/// What the child does once it is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// `sh -c` with this command.
    Shell(OsString),
    /// Tries to get out and says what happened.
    Escape,
}

/// Everything that a child is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The walls.
    pub walls: Walls,
    /// Whether it may reach the network.
    pub network: bool,
    /// Whether it sees all files, less what is hidden, and not just the folders below.
    pub whole: bool,
    /// Whether the pipe that brings this policy goes on as the command's input.
    pub keep_input: bool,
    /// What to do.
    pub task: Task,
    /// Where to do it.
    pub folder: PathBuf,
    /// Folders and files to read and write. Real paths, without links.
    pub write: Vec<PathBuf>,
    /// Folders and files to read.
    pub read: Vec<PathBuf>,
    /// What is not written even inside a folder to write.
    pub protect: Vec<PathBuf>,
    /// What is not seen even inside a folder to read.
    pub hide: Vec<PathBuf>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The limits.
    pub bounds: Bounds,
    /// The bits of the steps that a test leaves out.
    pub skip: u8,
}

impl Policy {
    /// Whether a test leaves this step out.
    pub fn skips(&self, step: Step) -> bool {
        self.skip & step as u8 != 0
    }

    /// The policy as it goes through the pipe, with its length before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.push(VERSION);
        let namespaces = match self.walls.namespaces {
            Namespaces::None => 0,
            Namespaces::User => 1,
            Namespaces::Plain => 2,
        };
        out.extend([namespaces, self.walls.landlock as u8]);
        for flag in [
            self.walls.system_calls,
            self.network,
            self.whole,
            self.keep_input,
        ] {
            out.push(u8::from(flag));
        }
        out.push(self.skip);
        match &self.task {
            Task::Shell(command) => {
                out.push(0);
                text(&mut out, command);
            }
            Task::Escape => out.push(1),
        }
        text(&mut out, self.folder.as_os_str());
        for paths in [&self.write, &self.read, &self.protect, &self.hide] {
            count(&mut out, paths.len());
            paths
                .iter()
                .for_each(|path| text(&mut out, path.as_os_str()));
        }
        count(&mut out, self.environment.len());
        for (name, value) in &self.environment {
            text(&mut out, name);
            text(&mut out, value);
        }
        out.extend(numbers(&self.bounds).into_iter().flat_map(u64::to_le_bytes));
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// Reads what [`Policy::encode`] wrote, after its length; none when it is not that.
    pub fn decode(content: &[u8]) -> Option<Self> {
        let mut from = Reader(content);
        if from.byte()? != VERSION {
            return None;
        }
        let namespaces = match from.byte()? {
            0 => Namespaces::None,
            1 => Namespaces::User,
            2 => Namespaces::Plain,
            _ => return None,
        };
        let landlock = u32::from(from.byte()?);
        let walls = Walls {
            namespaces,
            landlock,
            system_calls: from.flag()?,
        };
        let policy = Self {
            walls,
            network: from.flag()?,
            whole: from.flag()?,
            keep_input: from.flag()?,
            skip: from.byte()?,
            task: match from.byte()? {
                0 => Task::Shell(from.text()?),
                1 => Task::Escape,
                _ => return None,
            },
            folder: from.text()?.into(),
            write: from.paths()?,
            read: from.paths()?,
            protect: from.paths()?,
            hide: from.paths()?,
            environment: from.list(|from| Some((from.text()?, from.text()?)))?,
            bounds: Bounds {
                cpu_seconds: from.number()?,
                memory_bytes: from.number()?,
                file_bytes: from.number()?,
                tmp_bytes: from.number()?,
                processes: from.number()?,
                files: from.number()?,
            },
        };
        from.0.is_empty().then_some(policy)
    }
}

fn numbers(bounds: &Bounds) -> [u64; 6] {
    [
        bounds.cpu_seconds,
        bounds.memory_bytes,
        bounds.file_bytes,
        bounds.tmp_bytes,
        bounds.processes,
        bounds.files,
    ]
}

fn count(out: &mut Vec<u8>, number: usize) {
    out.extend((number as u32).to_le_bytes());
}

fn text(out: &mut Vec<u8>, value: &OsStr) {
    count(out, value.len());
    out.extend(value.as_bytes());
}

/// Takes members off the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.byte()? != 0)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?) as usize)
    }

    fn text(&mut self) -> Option<OsString> {
        let length = self.count()?;
        Some(OsString::from_vec(self.take(length)?.to_vec()))
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self
            .count()
            .filter(|count| *count <= bounds::POLICY_ITEMS)?;
        (0..count).map(|_| one(self)).collect()
    }

    fn paths(&mut self) -> Option<Vec<PathBuf>> {
        self.list(|from| from.text().map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(command: &str, paths: Vec<String>, number: u64) -> Policy {
        let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
        Policy {
            walls: Walls {
                namespaces: Namespaces::User,
                landlock: 7,
                system_calls: true,
            },
            network: false,
            whole: false,
            keep_input: true,
            task: Task::Shell(command.into()),
            folder: "/w".into(),
            write: paths.clone(),
            read: Vec::new(),
            protect: paths,
            hide: vec!["/h".into()],
            environment: vec![("PATH".into(), "/bin".into())],
            bounds: Bounds {
                cpu_seconds: number,
                files: 7,
                ..Bounds::default()
            },
            skip: 4,
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives(
            command in ".*",
            paths in proptest::collection::vec("[a-z/]*", 0..5),
            number: u64,
        ) {
            let sent = policy(&command, paths, number);
            let wire = sent.encode();
            let length = u32::from_le_bytes(wire[..4].try_into().unwrap()) as usize;
            prop_assert_eq!(length, wire.len() - 4);
            prop_assert_eq!(Policy::decode(&wire[4..]), Some(sent));
            prop_assert_eq!(Policy::decode(&wire[4..wire.len() - 1]), None);
        }

        #[test]
        fn anything_else_is_refused_without_harm(bytes: Vec<u8>) {
            let _ = Policy::decode(&bytes);
        }
    }

    #[test]
    fn another_version_is_refused() {
        let mut wire = policy("true", Vec::new(), 1).encode();
        wire[4] += 1;
        assert_eq!(Policy::decode(&wire[4..]), None);
    }
}
