//! The installed program: another one takes its place, and can give it back.
//!
//! At every instant there is a whole program under its name: the new one is written beside it, forced to
//! the disk, and renamed over it (rename(2)). The one before stays as `peacrab.old`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::texts;
use super::version::Version;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::sys::file::{settle_folder, try_lock, unlock};
use crate::sys::process::cut_at;
use std::time::Duration;

/// How long a new program may take to print its version; an old board reads it from a slow card.
const VERSION_TIME: Duration = Duration::from_secs(20);
/// Bytes of what it prints.
const VERSION_BYTES: u64 = 200;

/// An installed program that no other update is working on.
pub struct Installed {
    /// Its path, without links.
    path: PathBuf,
    /// Its folder.
    folder: OwnedFd,
    name: OsString,
    /// The file whose lock this has. Other accounts cannot open it: with a lock of the folder or the program, any
    /// of them could prevent updates.
    lock: OwnedFd,
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.folder, self.named(".", ".lock"), AtFlags::empty());
        let _ = unlock(&self.lock);
    }
}

impl Installed {
    /// The program at this path. Fails while another process updates it.
    pub fn lock(program: &Path) -> Result<Self> {
        let found = program.canonicalize();
        let path = found.map_err(Error::io("find", program))?;
        let name = path.file_name().unwrap_or_default().to_owned();
        let parent = path.parent().unwrap_or(Path::new("/"));
        let failed = |source| Error::io("open", parent)(source);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, parent, flags, Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        let lock = lock_beside(&folder, &named(&name, ".", ".lock"))
            .map_err(|error| explain(&path, error))?;
        let Some(lock) = lock else {
            return Err(Error::Failed(texts::LOCKED.to_owned()));
        };
        Ok(Self {
            path,
            folder,
            name,
            lock,
        })
    }

    /// The program's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the one before.
    pub fn old_path(&self) -> PathBuf {
        self.path.with_file_name(self.named("", ".old"))
    }

    /// Whether there is one before.
    pub fn has_old(&self) -> bool {
        self.old_path().is_file()
    }

    /// The path of the new one.
    pub fn new_path(&self) -> PathBuf {
        self.path.with_file_name(self.new_name())
    }

    /// Creates the file for the new program, in the same folder, which only this account can read and nothing can run.
    /// What an update that was interrupted has left there is removed.
    pub fn create_new(&self) -> Result<File> {
        self.discard();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::openat(&self.folder, self.new_name(), flags, mode)
            .map(File::from)
            .map_err(|errno| self.explain(errno.into()))
    }

    /// Lets all accounts run what was written there, once it is known to be what it should be.
    pub fn allow_running(&self, file: &File) -> Result<()> {
        rustix::fs::fchmod(file, Mode::from_raw_mode(0o755))
            .map_err(|errno| self.explain(errno.into()))
    }

    /// Removes the new program that was not used.
    pub fn discard(&self) {
        let _ = rustix::fs::unlinkat(&self.folder, self.new_name(), AtFlags::empty());
    }

    /// Puts the new program in place, and keeps the present one as the old one.
    pub fn swap(&self) -> Result<()> {
        cut_at("fetched");
        let kept = self.copy_name(&self.name, &self.named(".", ".kept"));
        kept.and_then(|()| self.rename(&self.named(".", ".kept"), &self.named("", ".old")))
            .and_then(|()| {
                cut_at("kept");
                self.rename(&self.new_name(), &self.name)
            })
            .map_err(|error| self.explain(error))?;
        cut_at("swapped");
        Ok(())
    }

    /// Puts the old program back in place of one that did not become ready.
    pub fn restore(&self) -> Result<()> {
        self.copy_name(&self.named("", ".old"), &self.new_name())
            .and_then(|()| self.rename(&self.new_name(), &self.name))
            .map_err(|error| self.explain(error))
    }

    /// Makes the old program the new one, so that [`swap`](Self::swap) exchanges the two.
    pub fn take_old(&self) -> Result<()> {
        if !self.has_old() {
            return Err(Error::Failed(texts::no_old(&self.old_path())));
        }
        self.discard();
        self.copy_name(&self.named("", ".old"), &self.new_name())
            .map_err(|error| self.explain(error))
    }

    fn new_name(&self) -> OsString {
        self.named(".", ".new")
    }

    fn named(&self, before: &str, after: &str) -> OsString {
        named(&self.name, before, after)
    }

    /// Gives a file a second name, or makes a copy where the file system knows one name only (FAT).
    fn copy_name(&self, from: &OsString, to: &OsString) -> io::Result<()> {
        let _ = rustix::fs::unlinkat(&self.folder, to, AtFlags::empty());
        let linked = rustix::fs::linkat(&self.folder, from, &self.folder, to, AtFlags::empty());
        if linked.is_ok() {
            return Ok(());
        }
        let to = self.path.with_file_name(to);
        fs::copy(self.path.with_file_name(from), &to)?;
        File::open(&to)?.sync_all()
    }

    fn rename(&self, from: &OsString, to: &OsString) -> io::Result<()> {
        rustix::fs::renameat(&self.folder, from, &self.folder, to)?;
        // Two names of one file both stay (rename(2)): an update that was interrupted leaves such.
        let _ = rustix::fs::unlinkat(&self.folder, from, AtFlags::empty());
        settle_folder(self.folder.as_fd());
        Ok(())
    }

    fn explain(&self, error: io::Error) -> Error {
        explain(&self.path, error)
    }
}

fn named(name: &OsStr, before: &str, after: &str) -> OsString {
    let mut whole = OsString::from(before);
    whole.push(name);
    whole.push(after);
    whole
}

fn explain(program: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Failed(texts::needs_root(program)),
        _ => Error::io("replace", program)(error),
    }
}

/// Creates the file and locks it. `None` while another process has it, or has just removed it.
fn lock_beside(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    let is_ours = try_lock(&file)? && rustix::fs::fstat(&file)?.st_nlink > 0;
    Ok(is_ours.then_some(file))
}

/// Starts the program at this path to print its version: it has to run on this machine, and to be the
/// version that it is said to be. Returns the version; `expected` is `None` for any.
pub fn check_program(path: &Path, expected: Option<Version>) -> Result<Version> {
    let shown = match expected {
        Some(version) => version.to_string(),
        None => path.display().to_string(),
    };
    let failed = |why: String| Error::Failed(texts::does_not_run(&shown, &why));
    let printed = print_version(path).map_err(|error| failed(error.to_string()))?;
    let version = printed.trim().strip_prefix("peacrab ");
    match version.and_then(Version::parse) {
        Some(version) if expected.is_none_or(|expected| expected == version) => Ok(version),
        _ => Err(failed(format!("--version printed {:?}", printed.trim()))),
    }
}

fn print_version(path: &Path) -> io::Result<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let watch = Stopwatch::start();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if watch.elapsed() >= VERSION_TIME {
            let _ = child.kill();
            let _ = child.wait();
            let seconds = VERSION_TIME.as_secs();
            return Err(io::Error::other(format!(
                "--version did not end within {seconds} s"
            )));
        }
        Cancel::new().wait(POLL);
    };
    if !status.success() {
        return Err(io::Error::other(format!("--version ended with {status}")));
    }
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(VERSION_BYTES).read_to_end(&mut printed)?;
    }
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

/// The Debian package that the program at this path belongs to, if one does (dpkg-query(1)).
pub fn package_of(program: &Path) -> Option<String> {
    let found = Command::new("dpkg-query")
        .arg("--search")
        .arg(program)
        .stdin(Stdio::null())
        .output();
    let found = found.ok().filter(|found| found.status.success())?;
    let line = String::from_utf8_lossy(&found.stdout);
    let (package, _) = line.split_once(": ")?;
    Some(package.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("peacrab");
        fs::write(&program, "one").unwrap();
        (folder, program)
    }

    #[test]
    fn a_program_is_replaced_given_back_and_exchanged() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, program) = folder();
        let installed = Installed::lock(&program).unwrap();
        let content = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        assert!(installed.take_old().is_err());
        for (number, text) in ["two", "three"].iter().enumerate() {
            let mut file = installed.create_new().unwrap();
            io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            let mode = |file: &fs::File| file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&file), 0o600);
            installed.allow_running(&file).unwrap();
            assert_eq!(mode(&file), 0o755);
            installed.swap().unwrap();
            assert_eq!(content("peacrab"), *text);
            assert_eq!(content("peacrab.old"), ["one", "two"][number]);
        }
        installed.restore().unwrap();
        assert_eq!(
            (content("peacrab"), content("peacrab.old")),
            ("two".into(), "two".into())
        );
        fs::write(folder.path().join("other"), "four").unwrap();
        fs::rename(folder.path().join("other"), &program).unwrap();
        installed.take_old().unwrap();
        installed.swap().unwrap();
        assert_eq!(
            (content("peacrab"), content("peacrab.old")),
            ("two".into(), "four".into())
        );
        drop(installed);
        assert_eq!(names(), 2);
    }

    #[test]
    fn one_update_at_a_time() {
        let (_folder, program) = folder();
        let first = Installed::lock(&program).unwrap();
        assert!(Installed::lock(&program).is_err());
        let lock = program.with_file_name(".peacrab.lock");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&lock).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "no other account can take it");
        drop(first);
        assert!(!lock.exists());
        Installed::lock(&program).unwrap();
    }

    #[test]
    fn a_program_that_is_not_what_it_is_said_to_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = |text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join("program");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let version = Version::parse("0.2.0");
        let good = program("#!/bin/sh\necho peacrab 0.2.0\n");
        assert_eq!(check_program(&good, version).unwrap(), version.unwrap());
        for text in [
            "#!/bin/sh\necho peacrab 0.3.0\n",
            "#!/bin/sh\necho peacrab 0.2.0; exit 1\n",
            "#!/bin/sh\n",
            "#!/no/such/shell\n",
            "\u{7f}ELF",
        ] {
            let error = check_program(&program(text), version).unwrap_err();
            assert!(
                error.to_string().starts_with("0.2.0 does not run"),
                "{error}"
            );
        }
    }
}
