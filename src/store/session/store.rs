//! The journals of a home folder: their names, their archive, and reading them without a lock.

use std::collections::BTreeSet;
use std::fs::{DirEntry, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset};
use ring::digest::{SHA256, digest};

use crate::base::chat::EntryKind;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::language::{NO, YES};
use crate::base::limits::append_log::LINE_BYTES;
use crate::base::message::SessionKey;
use crate::store::append_log::{Lines, Tail};
use crate::sys;

use super::line::{self, Line};
pub use super::pending::read_pending;
use super::window::closes_turn;
pub use super::window::{count_window, read_conversation};

/// Bytes of a journal's file name before its ending; 255 is the file systems' own limit.
const NAME_BYTES: usize = 120;

/// The folder of older parts of journals, beside the journals.
const ARCHIVE: &str = "archive";

/// Where the older part of a journal goes now: `archive/{name}-{date}.jsonl`.
pub(super) fn archive_path(journal: &Path, now: DateTime<FixedOffset>) -> PathBuf {
    let stem = journal.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}-{}.jsonl", now.format(ARCHIVE_DATE));
    archive_of(journal).join(name)
}

/// How the name of an archive says when it was made. Always as long as [`ARCHIVE_DATE_CHARS`] says.
const ARCHIVE_DATE: &str = "%Y%m%dT%H%M%S%3f";
const ARCHIVE_DATE_CHARS: usize = 18;

fn archive_of(journal: &Path) -> PathBuf {
    journal.parent().unwrap_or(Path::new("")).join(ARCHIVE)
}

/// The files of the archive, the oldest first.
fn archived(journal: &Path) -> Result<Vec<(DirEntry, Metadata)>> {
    let folder = archive_of(journal);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read the folder", &folder)(error)),
    };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let metadata = entry.metadata().ok()?;
        metadata.is_file().then_some((entry, metadata))
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by_cached_key(|(entry, metadata)| {
        (metadata.mtime(), metadata.mtime_nsec(), entry.file_name())
    });
    Ok(files)
}

/// Removes names in the archive that lead to the journal itself, which a kill between two steps leaves.
pub(super) fn remove_links(journal: &Path) -> Result<()> {
    let ours = std::fs::metadata(journal).map_err(Error::io("read", journal))?;
    if ours.nlink() < 2 {
        return Ok(());
    }
    for (entry, metadata) in archived(journal)? {
        if (metadata.dev(), metadata.ino()) == (ours.dev(), ours.ino()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Deletes the oldest files of the archive until at most so many bytes are left.
pub(super) fn prune_archive(journal: &Path, most: u64) -> Result<()> {
    let files = archived(journal)?;
    let mut bytes: u64 = files.iter().map(|(_, metadata)| metadata.len()).sum();
    for (entry, metadata) in files {
        if bytes <= most {
            break;
        }
        remove(&entry.path())?;
        bytes -= metadata.len();
    }
    Ok(())
}

/// The archived parts of one journal, the oldest first.
fn archives_of(journal: &Path) -> Result<Vec<PathBuf>> {
    let stem = journal.file_stem().unwrap_or_default().to_string_lossy();
    let is_ours = |name: &str| {
        let rest = name
            .strip_prefix(&*stem)
            .and_then(|rest| rest.strip_prefix('-'));
        let date = rest.and_then(|rest| rest.strip_suffix(".jsonl"));
        date.is_some_and(|date| date.len() == ARCHIVE_DATE_CHARS && !date.contains('-'))
    };
    let files = archived(journal)?.into_iter().map(|(entry, _)| entry);
    let ours = files.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    Ok(ours.map(|entry| entry.path()).collect())
}

fn remove(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(Error::io("delete", path))
}

/// A journal as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Whose conversation it is, as its first line says.
    pub chat: SessionKey,
    /// Bytes of the journal.
    pub bytes: u64,
    /// The time of the last write, in seconds since 1970.
    pub changed: i64,
    /// What was said last, its first line.
    pub last: String,
    /// The first line of the conversation's first question; empty when there is none.
    pub title: String,
}

/// The path of a chat's journal: `{channel}_{chat}.jsonl`. Characters that a file name should not have
/// become `_`, and such a name gets a hash of the key, so that no two keys collide.
pub fn path_of(folder: &Path, chat: &SessionKey) -> PathBuf {
    let (channel, name) = chat.parts();
    let plain = format!("{channel}_{name}");
    let safe = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let mut name: String = plain
        .chars()
        .map(|char| if safe(char) { char } else { '_' })
        .collect();
    // A channel's name has no `_`, so the first one is where the chat begins.
    if name != plain || name.len() > NAME_BYTES || name.starts_with('.') || channel.contains('_') {
        name.truncate(NAME_BYTES);
        name = format!(
            "{}-{:016x}",
            name.trim_start_matches('.'),
            fnv1a(chat.to_string().as_bytes())
        );
    }
    folder.join(name + ".jsonl")
}

/// All journals, the one written last first. Other files are left out.
pub fn list(folder: &Path) -> Result<Vec<Summary>> {
    let mut summaries: Vec<Summary> = journals(folder)?
        .into_iter()
        .filter_map(|path| summary(&path).ok().flatten())
        .collect();
    summaries.sort_by_key(|summary| std::cmp::Reverse(summary.changed));
    Ok(summaries)
}

/// The journals that were written last, at most so many, with the times of their last writes in seconds
/// since 1970. Reads no more of them than their first lines.
pub fn newest(folder: &Path, most: usize) -> Result<Vec<(SessionKey, i64)>> {
    let changed = |path: PathBuf| Some((path.metadata().ok()?.mtime(), path));
    let mut found: Vec<_> = journals(folder)?.into_iter().filter_map(changed).collect();
    found.sort_unstable_by_key(|(changed, _)| std::cmp::Reverse(*changed));
    let newest = found.into_iter().take(most).filter_map(|(changed, path)| {
        let key = key_of(&sys::file::open_to_read(&path).ok()?).ok()??;
        Some((SessionKey::parse(&key), changed))
    });
    Ok(newest.collect())
}

/// The sessions whose last turn has not ended. Other files are left out.
pub fn unfinished(folder: &Path) -> Result<Vec<SessionKey>> {
    let mut chats = Vec::new();
    for path in journals(folder)? {
        match is_unfinished(&path) {
            Ok(Some(chat)) => chats.push(chat),
            Ok(None) => {}
            Err(error) => tracing::warn!("failed to read {}: {error}", path.display()),
        }
    }
    Ok(chats)
}

/// Reads a whole journal, line by line; unreadable ones are counted. Does not lock it.
///
/// Returns the number of unreadable lines. Fails with [`Error::Usage`] when there is no such session.
pub fn read(
    folder: &Path,
    chat: &SessionKey,
    mut each: impl FnMut(Line) -> Result<()>,
) -> Result<usize> {
    let path = existing(folder, chat)?;
    let file = sys::file::open_to_read(&path).map_err(Error::io("read the session", &path))?;
    let mut lines = Lines::new(BufReader::new(file));
    let mut garbled = 0;
    while let Some(bytes) = lines
        .following()
        .map_err(Error::io("read the session", &path))?
    {
        match line::decode(bytes) {
            Some(line) => each(line)?,
            None => garbled += 1,
        }
    }
    Ok(garbled)
}

/// Copies the journal's bytes, as they are, to `output`: those in the archive first.
pub fn export(folder: &Path, chat: &SessionKey, output: &mut impl std::io::Write) -> Result<()> {
    let path = existing(folder, chat)?;
    for path in archives_of(&path)?.iter().chain([&path]) {
        let mut file =
            sys::file::open_to_read(path).map_err(Error::io("read the session", path))?;
        std::io::copy(&mut file, output).map_err(Error::io("copy", path))?;
    }
    Ok(())
}

/// The files of one conversation, or of all of them: the archived parts first. They may be gone when they
/// are opened.
pub fn files(folder: &Path, chat: Option<&SessionKey>) -> Result<Vec<PathBuf>> {
    let Some(chat) = chat else {
        let mut files = journals(&folder.join(ARCHIVE))?;
        files.extend(journals(folder)?);
        return Ok(files);
    };
    let journal = path_of(folder, chat);
    let mut files = archives_of(&journal)?;
    files.push(journal);
    Ok(files)
}

/// Where the turn begins that a journal's end has not closed; the end when there is none. A journal of
/// nanobot's has no ends of turns: there it is where the person spoke last.
pub fn end_of_turns(file: &File) -> io::Result<u64> {
    let end = file.metadata()?.len();
    let mut tail = Tail::new(file, end);
    let (mut has_entries, mut last_question) = (false, end);
    while let Some(line) = tail.previous()? {
        match line::decode(&line.bytes) {
            Some(Line::State(state)) if state.turn.is_some() => {
                let after = line.offset + line.bytes.len() as u64 + 1;
                return Ok(if has_entries { after } else { end });
            }
            Some(Line::Entry(entry)) => {
                let is_last = last_question == end && entry.kind == EntryKind::Person;
                if is_last {
                    last_question = line.offset;
                }
                has_entries = true;
            }
            _ => {}
        }
    }
    Ok(last_question)
}

/// Deletes a journal that is not open, and its archived parts.
pub fn delete(folder: &Path, chat: &SessionKey) -> Result<()> {
    let path = existing(folder, chat)?;
    let file = sys::file::open_to_read(&path).map_err(Error::io("open the session", &path))?;
    if !sys::file::try_lock(&file).map_err(Error::io("lock the session", &path))? {
        return Err(Error::Failed(format!(
            "Another peacrab has the session {chat} open. Close it first."
        )));
    }
    remove(&path)?;
    archives_of(&path)?.iter().try_for_each(|path| remove(path))
}

/// Deletes journals whose file names begin with `prefix`, except the `keep` written last. One that is in
/// use stays.
pub fn delete_oldest(folder: &Path, prefix: &str, keep: usize) -> Result<()> {
    let mut found: Vec<(i64, PathBuf)> = journals(folder)?
        .into_iter()
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(prefix))
        })
        .filter_map(|path| Some((path.metadata().ok()?.mtime(), path)))
        .collect();
    found.sort();
    let excess = found.len().saturating_sub(keep);
    found
        .drain(..excess)
        .try_for_each(|(_, path)| delete_unused(&path))
}

/// Deletes journals whose file names begin with `prefix`, except those at these paths, and those without a message
/// that is named after the journal. One that is in use stays.
pub fn delete_others(folder: &Path, prefix: &str, kept: &BTreeSet<PathBuf>) -> Result<()> {
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_other = name.is_some_and(|name| name.starts_with(prefix)) && !kept.contains(path);
        is_other && has_own_messages(path).unwrap_or_default()
    };
    let mut others = journals(folder)?.into_iter().filter(is_meant);
    others.try_for_each(|path| delete_unused(&path))
}

/// Whether a journal has a message whose id is the journal's key and something more, as the runs of a job have in
/// the job's own conversation.
fn has_own_messages(path: &Path) -> io::Result<bool> {
    let mut file = sys::file::open_to_read(path)?;
    let Some(key) = key_of(&file)? else {
        return Ok(false);
    };
    file.rewind()?;
    let mut lines = Lines::new(BufReader::new(file));
    while let Some(bytes) = lines.following()? {
        let Some(Line::Entry(entry)) = line::decode(bytes) else {
            continue;
        };
        let more = entry.origin.as_deref().and_then(|id| id.strip_prefix(&key));
        if more.is_some_and(|more| more.starts_with(':')) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn delete_unused(path: &Path) -> Result<()> {
    let file = sys::file::open_to_read(path).map_err(Error::io("open the session", path))?;
    if sys::file::try_lock(&file).map_err(Error::io("lock the session", path))? {
        remove(path)?;
        archives_of(path)?
            .iter()
            .try_for_each(|path| remove(path))?;
    }
    Ok(())
}

fn journals(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("read the folder", folder)(error)),
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    Ok(paths.filter(is_journal).collect())
}

/// The path of a session's journal. Fails when there is none.
pub fn existing(folder: &Path, chat: &SessionKey) -> Result<PathBuf> {
    let path = path_of(folder, chat);
    if path.exists() {
        return Ok(path);
    }
    Err(Error::Usage(format!(
        "No session {chat}. `peacrab sessions list` shows all of them."
    )))
}

/// The key of a journal, from its first line; `None` for any other file.
fn key_of(file: &File) -> std::io::Result<Option<String>> {
    let mut first = Vec::new();
    BufReader::new(file.take(LINE_BYTES as u64)).read_until(b'\n', &mut first)?;
    Ok(match line::decode(&first) {
        Some(Line::State(line::State { key, .. })) => key,
        _ => None,
    })
}

/// What tells a journal from all others and says nothing of the person: a hash of its first line, in which
/// the moment stands at which it was begun. `None` before that.
pub fn cache_key(path: &Path) -> Option<String> {
    let file = sys::file::open_to_read(path).ok()?;
    let mut first = Vec::new();
    let begin = BufReader::new(file.take(LINE_BYTES as u64)).read_until(b'\n', &mut first);
    let hash = digest(&SHA256, &first);
    let key = hex(hash.as_ref().iter().take(CACHE_KEY_BYTES));
    begin.is_ok_and(|length| length > 0).then_some(key)
}

/// Bytes of the hash that make a [`cache_key`].
const CACHE_KEY_BYTES: usize = 16;

/// The journal's chat when its last turn has not ended: entries follow the last end of a turn.
fn is_unfinished(path: &Path) -> std::io::Result<Option<SessionKey>> {
    let file = sys::file::open_to_read(path)?;
    let mut tail = Tail::new(&file, file.metadata()?.len());
    while let Some(line) = tail.previous()? {
        let is_open = match line::decode(&line.bytes) {
            // A journal of nanobot's has no ends of turns: there an answer is one.
            Some(Line::Entry(entry)) => !closes_turn(&entry),
            Some(Line::State(state)) if state.turn.is_some() => false,
            _ => continue,
        };
        let key = if is_open { key_of(&file)? } else { None };
        return Ok(key.map(|key| SessionKey::parse(&key)));
    }
    Ok(None)
}

fn summary(path: &Path) -> std::io::Result<Option<Summary>> {
    let file = sys::file::open_to_read(path)?;
    let metadata = file.metadata()?;
    let Some(key) = key_of(&file)? else {
        return Ok(None);
    };
    let mut tail = Tail::new(&file, metadata.len());
    let mut last = String::new();
    while let Some(line) = tail.previous()? {
        if let Some(Line::Entry(entry)) = line::decode(&line.bytes) {
            last = entry.content.lines().next().unwrap_or_default().to_owned();
            break;
        }
    }
    let changed = metadata.mtime();
    Ok(Some(Summary {
        chat: SessionKey::parse(&key),
        bytes: metadata.len(),
        changed,
        last,
        title: first_question(&file)?,
    }))
}

/// The first line of what the person said first, after the last place where the conversation was
/// begun again. A `yes` or a number is passed over where more was said.
fn first_question(mut file: &File) -> io::Result<String> {
    file.rewind()?;
    let mut title = String::new();
    let mut is_settled = false;
    let mut lines = Lines::new(BufReader::new(file));
    while let Some(bytes) = lines.following()? {
        // Most lines need not be decoded: only one that begins again counts once there is a title.
        let marks = bytes.windows(BEGIN_AGAIN.len());
        if is_settled && !marks.into_iter().any(|mark| mark == BEGIN_AGAIN) {
            continue;
        }
        match line::decode(bytes) {
            Some(Line::Entry(entry)) if !is_settled && entry.kind == EntryKind::Person => {
                let first = entry.content.lines().find(|line| !line.trim().is_empty());
                let first = first.unwrap_or_default().trim();
                is_settled = !says_little(first);
                if is_settled || title.is_empty() {
                    first.clone_into(&mut title);
                }
            }
            Some(Line::State(state)) if state.begins_conversation() => {
                title.clear();
                is_settled = false;
            }
            _ => {}
        }
    }
    Ok(title)
}

/// Bytes of a text that may say little.
const LITTLE_BYTES: usize = 16;
/// Answers besides those of [`YES`] and [`NO`].
const ANSWERS: [&str; 6] = ["y", "n", "ok", "okay", "好", "不"];

/// Whether a text only answers something, or is made of marks: no title of a conversation.
fn says_little(text: &str) -> bool {
    let words = text.trim_matches(|char: char| !char.is_alphanumeric());
    if words.len() > LITTLE_BYTES {
        return false;
    }
    let lower = words.to_lowercase();
    let words = lower.as_str();
    words.bytes().all(|byte| byte.is_ascii_digit())
        || YES.contains(&words)
        || NO.contains(&words)
        || ANSWERS.contains(&words)
}

/// What a line has in it that begins the conversation again.
const BEGIN_AGAIN: &[u8] = b"\"consolidated_to\"";

/// FNV-1a, 64 bits: stable over versions and machines, which std's hasher does not promise.
/// <https://www.ietf.org/archive/id/draft-eastlake-fnv-17.html>
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_becomes_a_safe_name_and_no_two_keys_the_same() {
        let name = |channel: &str, chat: &str| {
            let path = path_of(
                Path::new("s"),
                &SessionKey::parse(&format!("{channel}:{chat}")),
            );
            path.to_str().unwrap().to_owned()
        };
        assert_eq!(name("cli", "default"), "s/cli_default.jsonl");
        assert_eq!(name("telegram", "-100123"), "s/telegram_-100123.jsonl");
        let keys = [
            ("a", "b_c"),
            ("a_b", "c"),
            ("a", "b:c"),
            ("a", "b/c"),
            ("a", "../b"),
            ("..", "b"),
            ("a", &"x".repeat(500)),
        ];
        let names: std::collections::HashSet<String> = keys
            .iter()
            .map(|(channel, chat)| name(channel, chat))
            .collect();
        assert_eq!(names.len(), keys.len());
        for name in &names {
            assert!(
                name.len() < 160 && name.matches('/').count() == 1 && !name.starts_with("s/."),
                "{name}"
            );
        }
    }
}
