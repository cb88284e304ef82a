//! Files of questions, from the request until the message that has them is in its workspace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::chat::short_hash;
use crate::base::error::Error;
use crate::base::message::{Media, RemoteFile};
use crate::channels::kit::adapter::{Failure, Sent};
use crate::channels::kit::names::clean_file_name;
use crate::sys::file::private_folder;

/// How long a file is kept for a message that waits for room in its workspace.
const KEPT_TIME: Duration = Duration::from_hours(24);
/// Files that are kept, the newest: some messages with as many as there may be.
pub const KEPT_FILES: usize = 64;

/// A file of a question.
pub struct Sent64 {
    /// Its kind.
    pub media: Media,
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Reads a file in a question: `data:image/png;base64,…`, or only what comes behind the comma.
pub fn read_data(url: &str, name: &str, media: Media) -> Result<Sent64, &'static str> {
    let (kind, data) = match url.strip_prefix("data:") {
        Some(rest) => rest
            .split_once(";base64,")
            .ok_or("a data URL has to be base64")?,
        None if url.contains(':') => {
            return Err("files are taken only as data: URLs; nothing is fetched for a client");
        }
        None => ("", url),
    };
    let bytes = BASE64_STANDARD.decode(data.trim());
    let bytes = bytes.map_err(|_| "a file is not base64")?;
    let ending = match kind.split(';').next().unwrap_or_default() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "",
    };
    let name = match (name, ending) {
        ("", "") => "file".to_owned(),
        ("", ending) => format!("image.{ending}"),
        (name, _) => clean_file_name(name).to_string(),
    };
    Ok(Sent64 { media, name, bytes })
}

/// Stores a file on the disk for a message.
pub fn store(folder: &Path, reference: &str, file: &Sent64) -> Result<RemoteFile, Error> {
    private_folder(folder)?;
    let id = format!("{reference}-{}", file.bytes.len());
    let path = folder.join(&id);
    let mut options = File::options();
    let written = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut made| {
            made.write_all(&file.bytes)?;
            made.sync_all()
        });
    if let Err(error) = written {
        let _ = fs::remove_file(&path);
        return Err(Error::io("write", &path)(error));
    }
    Ok(RemoteFile {
        media: file.media,
        id,
        size: Some(file.bytes.len() as u64),
        name: file.name.clone(),
    })
}

/// Copies a file of a message to where it belongs.
pub fn fetch_file(folder: &Path, id: &str, into: &mut File, limit: usize) -> Sent {
    if id.contains('/') || id.starts_with('.') || id.is_empty() {
        return Err(Failure::MessageGone);
    }
    let path = folder.join(id);
    let source = match crate::sys::file::open_to_read(&path) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Failure::MessageGone),
        Err(error) => return Err(Failure::Local(Error::io("read", &path)(error))),
    };
    let copied = io::copy(&mut source.take(limit as u64), into);
    copied
        .map(drop)
        .map_err(|error| Failure::Local(Error::io("copy", &path)(error)))
}

/// The name of a file of a person, which tells whose it is.
pub fn owned_name(person: &str, name: &str) -> String {
    format!("{}.{name}", short_hash(person))
}

/// Removes files that no message needs any more: old ones, those above half of `most` of a person, and above `most` those of
/// the person who has most, the oldest first.
pub fn clear_files(folder: &Path, most: usize) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    // Each person's files, the newest first.
    let mut known = BTreeMap::<String, Vec<_>>::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let person = name.split_once('.').map_or("", |(person, _)| person);
        let modified = entry.metadata().and_then(|status| status.modified());
        let age = modified.map(|at| at.elapsed().unwrap_or_default());
        if let Ok(age) = age {
            let own = known.entry(person.to_owned()).or_default();
            own.push((age, entry.path()));
        }
    }
    known.values_mut().for_each(|own| own.sort());
    loop {
        let all: usize = known.values().map(Vec::len).sum();
        let is_old =
            |own: &Vec<(Duration, PathBuf)>| own.last().is_some_and(|(age, _)| *age >= KEPT_TIME);
        let is_excess = |own: &&mut Vec<(Duration, PathBuf)>| {
            is_old(own) || own.len() > most / 2 || (all > most && !own.is_empty())
        };
        let excess = known.values_mut().filter(is_excess);
        let Some(own) = excess.max_by_key(|own| (is_old(own), own.len())) else {
            return;
        };
        if let Some((_, path)) = own.pop() {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};

    #[test]
    fn a_file_of_a_question_is_stored_and_fetched() {
        let file = read_data("data:image/png;base64,aGk=", "", Media::Photo).unwrap();
        assert_eq!(
            (file.name.as_str(), &*file.bytes),
            ("image.png", &b"hi"[..])
        );
        let folder = tempfile::tempdir().unwrap();
        let stored = store(folder.path(), "r", &file).unwrap();
        let mut into = tempfile::tempfile().unwrap();
        fetch_file(folder.path(), &stored.id, &mut into, 100).unwrap();
        into.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        into.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hi");
        for id in ["", "../r-2", "/etc/passwd", ".", "gone"] {
            let fetched = fetch_file(folder.path(), id, &mut into, 100);
            assert!(matches!(fetched, Err(Failure::MessageGone)), "{id}");
        }
    }

    #[test]
    fn a_person_with_many_files_takes_no_place_of_others() {
        let file = read_data("aGk=", "", Media::Document).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let put = |person: &str, name: usize| {
            store(folder.path(), &owned_name(person, &name.to_string()), &file).unwrap()
        };
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let first = put("owner", 0);
        (0..2 * KEPT_FILES).for_each(|one| drop(put("guest", one)));
        clear_files(folder.path(), KEPT_FILES);
        assert_eq!(count(), KEPT_FILES / 2 + 1);
        for one in 0..4 * KEPT_FILES {
            put(&format!("guest{}", one % 3), one);
        }
        clear_files(folder.path(), KEPT_FILES);
        assert_eq!(count(), KEPT_FILES);
        assert!(folder.path().join(first.id).exists());
    }

    #[test]
    fn nothing_is_fetched_for_a_client() {
        for url in [
            "http://169.254.169.254/",
            "file:///etc/passwd",
            "data:image/png,x",
            "data:;base64,???",
        ] {
            assert!(read_data(url, "", Media::Photo).is_err(), "{url}");
        }
        assert_eq!(
            read_data("aGk=", "a/b.txt", Media::Document).unwrap().bytes,
            b"hi"
        );
    }
}
