//! The journals of a home folder: their names, and reading them without taking them over.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::append_log::{Lines, Tail};
use crate::chat::Role;
use crate::error::{Error, Result};
use crate::limits::append_log::LINE_BYTES;
use crate::limits::session::NAME_BYTES;
use crate::message::SessionKey;
use crate::sys;

use super::line::{self, Line};

/// A journal, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Whose conversation it is, as its first line says.
    pub chat: SessionKey,
    /// Bytes of the journal.
    pub bytes: u64,
    /// When something was written last, in seconds since 1970.
    pub changed: i64,
    /// What was said last, its first line.
    pub last: String,
}

/// Where a chat's journal lies: `{channel}_{chat}.jsonl`. Letters that a file name should not have
/// become `_`, and a name that changed so gets a hash of the true key, so that no two keys meet.
pub fn path_of(folder: &Path, chat: &SessionKey) -> PathBuf {
    let (channel, name) = chat.parts();
    let plain = format!("{channel}_{name}");
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let mut name: String = plain
        .chars()
        .map(|letter| if safe(letter) { letter } else { '_' })
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

/// All journals, the one written last first. Files that are none are left out.
pub fn list(folder: &Path) -> Result<Vec<Summary>> {
    let mut summaries: Vec<Summary> = journals(folder)?
        .into_iter()
        .filter_map(|path| summary(&path).ok().flatten())
        .collect();
    summaries.sort_by_key(|summary| std::cmp::Reverse(summary.changed));
    Ok(summaries)
}

/// The sessions whose last turn has not ended. Files that are no journals are left out.
pub fn unfinished(folder: &Path) -> Result<Vec<SessionKey>> {
    let mut chats = Vec::new();
    for path in journals(folder)? {
        match is_unfinished(&path) {
            Ok(Some(chat)) => chats.push(chat),
            Ok(None) => {}
            Err(error) => tracing::warn!("{} cannot be read: {error}", path.display()),
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
    let file = File::open(&path).map_err(Error::io("read the session", &path))?;
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

/// Copies the journal's bytes, as they are, to `output`.
pub fn export(folder: &Path, chat: &SessionKey, output: &mut impl std::io::Write) -> Result<()> {
    let path = existing(folder, chat)?;
    let mut file = File::open(&path).map_err(Error::io("read the session", &path))?;
    std::io::copy(&mut file, output).map_err(Error::io("copy", &path))?;
    Ok(())
}

/// Deletes a journal that nobody has open.
pub fn delete(folder: &Path, chat: &SessionKey) -> Result<()> {
    let path = existing(folder, chat)?;
    let file = File::open(&path).map_err(Error::io("open the session", &path))?;
    if !sys::file::try_lock(&file).map_err(Error::io("lock the session", &path))? {
        return Err(Error::Failed(format!(
            "the session {chat} is in use by another peacrab"
        )));
    }
    std::fs::remove_file(&path).map_err(Error::io("delete", &path))
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

fn existing(folder: &Path, chat: &SessionKey) -> Result<PathBuf> {
    let path = path_of(folder, chat);
    if path.exists() {
        return Ok(path);
    }
    Err(Error::Usage(format!(
        "there is no session {chat}; `peacrab sessions list` shows what there is"
    )))
}

/// Whose journal it is, as its first line says; none when it is none.
fn key_of(file: &File) -> std::io::Result<Option<String>> {
    let mut first = Vec::new();
    BufReader::new(file.take(LINE_BYTES as u64)).read_until(b'\n', &mut first)?;
    Ok(match line::decode(&first) {
        Some(Line::State(line::State { key, .. })) => key,
        _ => None,
    })
}

/// The journal's chat when its last turn has not ended: entries stand behind the last end of one.
fn is_unfinished(path: &Path) -> std::io::Result<Option<SessionKey>> {
    let file = File::open(path)?;
    let mut tail = Tail::new(&file, file.metadata()?.len());
    while let Some(line) = tail.previous()? {
        let is_open = match line::decode(&line.bytes) {
            // A journal of nanobot's has no ends of turns: there an answer is one.
            Some(Line::Entry(entry)) => {
                entry.role != Role::Assistant || !entry.tool_calls.is_empty()
            }
            Some(Line::State(state)) if state.turn.is_some() => false,
            _ => continue,
        };
        let key = if is_open { key_of(&file)? } else { None };
        return Ok(key.map(|key| SessionKey::parse(&key)));
    }
    Ok(None)
}

fn summary(path: &Path) -> std::io::Result<Option<Summary>> {
    let file = File::open(path)?;
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
    let changed = std::os::unix::fs::MetadataExt::mtime(&metadata);
    Ok(Some(Summary {
        chat: SessionKey::parse(&key),
        bytes: metadata.len(),
        changed,
        last,
    }))
}

/// FNV-1a, 64 bits: stable over versions and machines, which std's hasher does not promise.
/// <https://www.ietf.org/archive/id/draft-eastlake-fnv-17.html>
fn fnv1a(bytes: &[u8]) -> u64 {
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
