//! Where a release comes from: a server or a folder.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use rustix::fs::{CWD, Mode, OFlags};

use super::key::PublicKey;
use super::list::{Checksums, Program, read_name};
use super::{ARCHITECTURE, LIST, SIGNATURE, Version, texts};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::http::COPY_BYTES;
use crate::net::http::{Client, Settings, Tls, error_of};
use std::time::Duration;

/// Bytes of a release's list of checksums; one has 17 files in 2 kB.
const LIST_BYTES: usize = 64 * 1024;
/// Bytes of the list's signature: Ed25519's, and one more to see that it is too long.
const SIGNATURE_BYTES: usize = 65;
/// Bytes of a program. A release has 4 MB; a build for tests has ten times as many.
const PROGRAM_BYTES: usize = 64 * 1024 * 1024;
/// How long a server may take until its answer begins.
const FIRST_BYTE_TIME: Duration = Duration::from_secs(20);
/// How long a transfer may pause.
const IDLE_TIME: Duration = Duration::from_secs(20);

/// How long the transfer of a file may take beside what its bytes need.
const TRANSFER_TIME: Duration = Duration::from_secs(60);
/// Bytes in a second of the slowest line that is waited for: one that drips would hold an update for hours.
const SLOWEST_LINE: u64 = 1_000;

/// A folder with the files of a release.
pub enum Source {
    /// On a server: its URL, with a slash at the end.
    Server(Box<Client>, String),
    /// On this machine.
    Folder(OwnedFd, PathBuf),
}

impl Source {
    /// The folder at a URL or a path, and the name of the file if one in it was meant.
    pub fn open(from: &str, tls: &Tls, cancel: &Cancel) -> Result<(Self, Option<String>)> {
        if !from.starts_with("http://") && !from.starts_with("https://") {
            return Self::open_path(Path::new(from));
        }
        let (folder, name) = match from.rsplit_once('/') {
            Some((folder, name)) if read_name(name).is_some() => (folder, Some(name.to_owned())),
            _ => (from.trim_end_matches('/'), None),
        };
        let settings = Settings {
            // What comes from there is believed only because of its signature.
            carries_secret: false,
            ..Settings::new(FIRST_BYTE_TIME, IDLE_TIME)
        };
        let client = Client::new(tls, settings, cancel)?;
        Ok((Self::Server(Box::new(client), format!("{folder}/")), name))
    }

    fn open_path(path: &Path) -> Result<(Self, Option<String>)> {
        let found = path.canonicalize().map_err(Error::io("open", path))?;
        if found.is_dir() {
            return Ok((Self::open_folder(found)?, None));
        }
        let name = found.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default().to_owned();
        let folder = found.parent().unwrap_or(Path::new("/")).to_owned();
        Ok((Self::open_folder(folder)?, Some(name)))
    }

    /// A folder, without following a link in the last part of its path.
    pub fn open_folder(path: PathBuf) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|errno| Error::io("open", &path)(errno.into()))?;
        Ok(Self::Folder(folder, path))
    }

    /// Opens a file of at most `limit` bytes to be read.
    fn reader(&self, name: &str, limit: usize) -> Result<Box<dyn Read>> {
        match self {
            Self::Server(client, base) => {
                let response = client.get_moved(&format!("{base}{name}"))?;
                Ok(Box::new(response.into_reader(limit)))
            }
            Self::Folder(folder, path) => {
                let failed = |source| Error::io("read", path.join(name))(source);
                // Neither a link nor a pipe: another account may have put it there.
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(folder, name, flags, Mode::empty());
                let file = File::from(opened.map_err(|errno| failed(errno.into()))?);
                let is_file = file.metadata().map_err(failed)?.is_file();
                if !is_file {
                    return Err(failed(io::Error::other("it is not a regular file")));
                }
                Ok(Box::new(file.take(limit as u64 + 1)))
            }
        }
    }

    fn read(&self, name: &str, limit: usize) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut copy = |block: &[u8]| {
            content.extend_from_slice(block);
            Ok(())
        };
        self.copy(name, limit, &mut copy)?;
        Ok(content)
    }

    /// Reads a file in blocks.
    fn copy(
        &self,
        name: &str,
        limit: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.reader(name, limit)?;
        let mut buffer = vec![0; COPY_BYTES];
        let mut length = 0;
        let watch = Stopwatch::start();
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(match self {
                        Self::Server(..) => error_of(error),
                        Self::Folder(_, path) => Error::io("read", path.join(name))(error),
                    });
                }
            };
            length += count;
            if length > limit {
                let what = name.to_owned();
                return Err(Error::TooLarge { what, limit });
            }
            if is_too_slow(watch.elapsed(), length) {
                return Err(error_of(io::ErrorKind::TimedOut.into()));
            }
            take(&buffer[..count])?;
        }
    }
}

fn is_too_slow(time: Duration, bytes: usize) -> bool {
    time > TRANSFER_TIME + Duration::from_secs(bytes as u64 / SLOWEST_LINE)
}

/// A release whose list has the right signature, and its program for this machine.
pub struct Release {
    source: Source,
    /// The program.
    pub program: Program,
    /// The list, as it was signed.
    pub list: Vec<u8>,
    /// Its signature.
    pub signature: Vec<u8>,
}

impl Release {
    /// Reads the list of a source and verifies its signature. `name` is that of the program, if it
    /// matters which one.
    pub fn find(source: Source, name: Option<&str>, key: PublicKey) -> Result<Self> {
        let list = source.read(LIST, LIST_BYTES)?;
        let signature = source.read(SIGNATURE, SIGNATURE_BYTES)?;
        if !key.verifies(&list, &signature) {
            return Err(Error::Failed(texts::bad_signature()));
        }
        let failed = |why: String| Error::Failed(why);
        let checksums = Checksums::parse(&list).map_err(failed)?;
        let program = match name {
            None => checksums.program(ARCHITECTURE).map_err(failed)?,
            Some(name) => checksums
                .programs()
                .find(|program| program.name == name)
                .ok_or_else(|| failed(texts::not_in_list(name)))?,
        };
        if program.architecture != ARCHITECTURE {
            return Err(failed(texts::other_architecture(
                &program.name,
                program.architecture,
                ARCHITECTURE,
            )));
        }
        Ok(Self {
            source,
            program,
            list,
            signature,
        })
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.program.version
    }

    /// Writes the program to a file, and forces it to the disk. Fails when it does not have the checksum
    /// of the list. `progress` is told how many bytes have come.
    pub fn fetch(&self, to: &mut File, progress: &dyn Fn(u64)) -> Result<()> {
        let name = &self.program.name;
        let mut digest = Context::new(&SHA256);
        let mut length = 0;
        let mut take = |block: &[u8]| {
            digest.update(block);
            length += block.len() as u64;
            to.write_all(block).map_err(Error::io("store", name))?;
            progress(length);
            Ok(())
        };
        self.source.copy(name, PROGRAM_BYTES, &mut take)?;
        if digest.finish().as_ref() != self.program.checksum {
            return Err(Error::Failed(texts::wrong_checksum(name, length)));
        }
        to.sync_all().map_err(Error::io("store", name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_drips_is_not_waited_for_and_a_slow_line_is() {
        let seconds = Duration::from_secs;
        assert!(!is_too_slow(seconds(60), 60));
        assert!(is_too_slow(seconds(61), 61));
        // 5 MB at 2 kB/s.
        assert!(!is_too_slow(seconds(2_500), 5_000_000));
        assert!(is_too_slow(seconds(5_100), 5_000_000));
    }
}
