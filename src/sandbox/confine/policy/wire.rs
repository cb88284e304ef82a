//! A policy on its way through the pipe. PURE.
//!
//! The two ends are the same program, so the form is plain: a length, a version, then the members
//! one after the other, numbers little-endian, texts with a length before them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::POLICY_ITEMS;
use super::{Bounds, ChildTask, Hooks, Isolation, Namespaces, Policy};
use crate::sys::pty;

/// Raised whenever the form changes: a daemon may run while its file is replaced by an update.
const VERSION: u8 = 6;

impl Policy {
    /// The policy as it goes through the pipe, with its length before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.push(VERSION);
        let namespaces = match self.isolation.namespaces {
            Namespaces::None => 0,
            Namespaces::User => 1,
            Namespaces::Plain => 2,
        };
        out.extend([namespaces, self.isolation.landlock as u8]);
        for flag in [
            self.isolation.system_calls,
            self.network,
            self.whole,
            self.keep_input,
            self.errors_apart,
        ] {
            out.push(u8::from(flag));
        }
        let size = self.terminal.map(|size| [size.columns, size.rows]);
        out.extend(
            size.unwrap_or_default()
                .into_iter()
                .flat_map(u16::to_le_bytes),
        );
        out.push(self.hooks.encode());
        match &self.task {
            ChildTask::Shell(command) => {
                out.push(0);
                text(&mut out, command);
            }
            ChildTask::Escape => out.push(1),
            ChildTask::Interactive => out.push(2),
        }
        text(&mut out, self.folder.as_os_str());
        out.push(u8::from(self.inode.is_some()));
        let (device, inode) = self.inode.unwrap_or_default();
        out.extend([device, inode].into_iter().flat_map(u64::to_le_bytes));
        let lists = [
            &self.write,
            &self.read,
            &self.protect,
            &self.hide,
            &self.fixed,
            &self.links,
        ];
        for paths in lists {
            count(&mut out, paths.len());
            paths
                .iter()
                .for_each(|path| text(&mut out, path.as_os_str()));
        }
        count(&mut out, self.inodes.len());
        for (device, inode) in &self.inodes {
            out.extend([*device, *inode].into_iter().flat_map(u64::to_le_bytes));
        }
        count(&mut out, self.environment.len());
        for (name, value) in &self.environment {
            text(&mut out, name);
            text(&mut out, value);
        }
        text(&mut out, self.root.as_os_str());
        text(&mut out, self.group.as_os_str());
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
        let isolation = Isolation {
            namespaces,
            landlock,
            system_calls: from.flag()?,
        };
        let policy = Self {
            isolation,
            network: from.flag()?,
            whole: from.flag()?,
            keep_input: from.flag()?,
            errors_apart: from.flag()?,
            terminal: {
                let columns = u16::from_le_bytes([from.byte()?, from.byte()?]);
                let rows = u16::from_le_bytes([from.byte()?, from.byte()?]);
                (columns > 0).then_some(pty::Size { columns, rows })
            },
            hooks: Hooks::decode(from.byte()?)?,
            task: match from.byte()? {
                0 => ChildTask::Shell(from.text()?),
                1 => ChildTask::Escape,
                2 => ChildTask::Interactive,
                _ => return None,
            },
            folder: from.text()?.into(),
            inode: {
                let is_known = from.flag()?;
                let inode = (from.number()?, from.number()?);
                is_known.then_some(inode)
            },
            write: from.paths()?,
            read: from.paths()?,
            protect: from.paths()?,
            hide: from.paths()?,
            fixed: from.paths()?,
            links: from.paths()?,
            inodes: from.list(|from| Some((from.number()?, from.number()?)))?,
            environment: from.list(|from| Some((from.text()?, from.text()?)))?,
            root: from.text()?.into(),
            group: from.text()?.into(),
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
        let count = self.count().filter(|count| *count <= POLICY_ITEMS)?;
        (0..count).map(|_| one(self)).collect()
    }

    fn paths(&mut self) -> Option<Vec<PathBuf>> {
        self.list(|from| from.text().map(PathBuf::from))
    }
}
