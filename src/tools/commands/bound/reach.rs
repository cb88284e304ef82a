//! What changes without any of the files that are bound: what processes hold in procfs, and names of that and of the program's
//! own files in texts. In a text it finds what is written plainly, and no more.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC};

use crate::sys::beneath::links_on_the_way;

/// Bytes of a word that are looked at together.
const WORD_BYTES: usize = 256;
/// Bytes that the next piece of a longer word begins with.
const OVERLAP_BYTES: usize = 16;

/// Inode of the top of a procfs (PROC_ROOT_INO).
const PROC_ROOT: u64 = 1;

/// Parts of what procfs says of the process that reads it, which no process decides.
const OF_KERNEL: [&str; 6] = ["mounts", "mountinfo", "net", "status", "cgroup", "limits"];

/// The first such name in a text that is read piece by piece.
pub(super) struct Reach<'a> {
    is_own: &'a dyn Fn(&str) -> bool,
    word: Vec<u8>,
    found: Option<String>,
}

impl<'a> Reach<'a> {
    /// `is_own` says whether a word with a slash names a file of the program's own.
    pub fn new(is_own: &'a dyn Fn(&str) -> bool) -> Self {
        Self {
            is_own,
            word: Vec::new(),
            found: None,
        }
    }

    /// Takes the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        if self.found.is_some() {
            return;
        }
        for byte in bytes {
            if byte.is_ascii_whitespace() || b"\0'\"`()<>|;&,=:{}".contains(byte) {
                self.look();
                self.word.clear();
                continue;
            }
            if self.word.len() == WORD_BYTES {
                self.look();
                self.word.drain(..WORD_BYTES - OVERLAP_BYTES);
            }
            self.word.push(*byte);
        }
    }

    /// The name, if there is one.
    pub fn found(mut self) -> Option<String> {
        self.look();
        self.found
    }

    fn look(&mut self) {
        if self.found.is_some() || !self.word.contains(&b'/') {
            return;
        }
        let word = String::from_utf8_lossy(&self.word);
        if names_process(&word) || (self.is_own)(&word) {
            self.found = Some(word.into_owned());
        }
    }
}

/// Whether a word is a path of procfs with a part that may stand for a process: anything but a name such as `meminfo`.
fn names_process(word: &str) -> bool {
    let mut parts = word
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .skip_while(|part| *part == "..");
    let is_proc = word.starts_with(['/', '.']) && parts.next() == Some("proc");
    is_proc
        && match parts.next() {
            Some(part) => !part.starts_with(|char: char| char.is_ascii_alphabetic()),
            // A variable or a list may stand behind it.
            None => word.ends_with('/'),
        }
}

/// Whether the way of a path leads through a link of a process in procfs: that of `cwd`, `root`, `exe` or a descriptor.
pub(super) fn leads_by_process(path: &Path) -> bool {
    let (_, links) = links_on_the_way(path);
    links.iter().any(|link| is_of_process(link))
}

/// Whether a path leads to what a process holds, also of one that is not there yet, or through that.
pub(super) fn is_by_process(path: &Path) -> bool {
    if is_stream(path) {
        return false;
    }
    let (end, links) = links_on_the_way(path);
    let mut way = links.iter().chain(end.as_ref().ok());
    way.any(|one| is_of_process(one))
}

/// Whether a pattern or a variable within a word may stand for the number of a process.
pub(super) fn may_name_process(folder: &Path, word: &str) -> bool {
    let Some(open) = word.find(['*', '?', '[', '{', '$', '`']) else {
        return false;
    };
    let above = word[..open].rfind('/').map_or(0, |slash| slash + 1);
    is_top_of_proc(&folder.join(&word[..above]))
}

/// Whether a real path is in a procfs, wherever that is mounted.
pub(super) fn is_in_proc(path: &Path) -> bool {
    path.ancestors().any(is_proc)
}

/// Whether a real path is in the folder of a process in a procfs.
fn is_of_process(path: &Path) -> bool {
    let above = path.ancestors().skip_while(|one| !is_proc(one));
    let Some(top) = above.take_while(|one| is_proc(one)).last() else {
        return false;
    };
    // A part of a procfs that is mounted by itself may be that of a process.
    if !is_top_of_proc(top) {
        return true;
    }
    let rest = path.strip_prefix(top).unwrap_or(path);
    let mut parts = rest.iter().map(OsStr::to_string_lossy);
    let Some(number) = parts.next() else {
        return false;
    };
    let is_own = *number == *std::process::id().to_string()
        && parts.next().is_some_and(|part| OF_KERNEL.contains(&&*part));
    number.bytes().all(|byte| byte.is_ascii_digit()) && !is_own
}

fn is_top_of_proc(path: &Path) -> bool {
    is_proc(path) && path.metadata().is_ok_and(|found| found.ino() == PROC_ROOT)
}

/// Whether a path without links on the way is in a procfs, also if it is a link itself.
fn is_proc(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, path, flags, Mode::empty());
    let found = opened.and_then(rustix::fs::fstatfs);
    found.is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

/// Whether a path is a stream of the command itself, and no file.
pub(super) fn is_stream(path: &Path) -> bool {
    let streams = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];
    streams.iter().any(|stream| path == Path::new(stream))
}
