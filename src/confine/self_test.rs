//! A live escape test: what `peacrab doctor sandbox` tries and shows.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::Exec;
use super::policy::{ChildTask, Isolation};
use super::run::End;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::limits::confine as bounds;
use crate::sys::attempt;
use crate::sys::file::private_folder;

/// An attempt and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapeAttempt {
    /// What was tried.
    pub attempt: String,
    /// Whether it was blocked.
    pub held: bool,
}

/// Bait in a folder; it is taken away again when this is dropped.
struct Bait {
    folder: PathBuf,
    /// None where the folder's path is too long for a socket's name.
    _socket: Option<UnixListener>,
    network: Option<TcpListener>,
}

impl Bait {
    fn new(home: &Path, network: bool) -> Result<Self> {
        let own = std::process::id();
        let folder = std::path::absolute(home.join(format!("sandbox-test-{own}")))
            .map_err(Error::io("find", home))?;
        private_folder(&folder)?;
        let make = || -> io::Result<Self> {
            std::fs::write(folder.join("secret"), "a secret")?;
            let listener = if network {
                None
            } else {
                Some(TcpListener::bind(("127.0.0.1", 0))?)
            };
            if let Some(listener) = &listener {
                listener.set_nonblocking(true)?;
            }
            Ok(Self {
                _socket: UnixListener::bind(folder.join(bait::SOCKET)).ok(),
                folder: folder.clone(),
                network: listener,
            })
        };
        make().map_err(Error::io("lay out bait in", &folder))
    }

    /// What the attempts have to know.
    fn told(&self) -> Vec<(OsString, OsString)> {
        let port = self
            .network
            .as_ref()
            .and_then(|listener| listener.local_addr().ok());
        let mut told = vec![
            (bait::SECRET.into(), self.folder.join("secret").into()),
            (bait::FOLDER.into(), self.folder.clone().into()),
            (bait::DAEMON.into(), std::process::id().to_string().into()),
        ];
        told.extend(port.map(|port| (bait::PORT.into(), port.port().to_string().into())));
        told
    }

    /// Whether the world shows that something got out, whatever was said inside.
    fn is_taken(&self) -> bool {
        let dialled = self
            .network
            .as_ref()
            .is_some_and(|listener| listener.accept().is_ok());
        dialled || self.folder.join(bait::FILE).exists()
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        // It is our own folder, and what remains of it is harmless.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Exec {
    /// Starts a confined process that tries to get out, and says of each attempt whether it was
    /// blocked. Bait is laid out in `home`, which is a folder that commands must not see. An error
    /// means that nothing could be tried.
    pub fn self_test(&self, home: &Path) -> Result<Vec<EscapeAttempt>> {
        let isolation = self.isolation()?;
        let bait = Bait::new(home, self.settings.network)?;
        let mut rows = self.attempts(isolation, &bait)?;
        rows.push(EscapeAttempt {
            attempt: "leave a trace outside".to_owned(),
            held: !bait.is_taken(),
        });
        rows.push(EscapeAttempt {
            attempt: "outlive its command".to_owned(),
            held: !self.outlives(isolation)?,
        });
        Ok(rows)
    }

    fn attempts(&self, isolation: Isolation, bait: &Bait) -> Result<Vec<EscapeAttempt>> {
        let mut policy = self.policy(isolation, ChildTask::Escape, &self.settings.workspace)?;
        policy.environment = bait.told();
        let running = self.start(&policy)?;
        let outcome = running.follow(bounds::TRY_TIME, &Cancel::new(), &mut |_| ())?;
        let rows: Vec<EscapeAttempt> = outcome.output.text().lines().filter_map(row).collect();
        match outcome.end {
            End::Exit(0) if !rows.is_empty() => Ok(rows),
            end => Err(Error::Failed(format!(
                "the escape test did not run to its end: {end}"
            ))),
        }
    }

    /// Whether a process that left its session and its parent lives on.
    fn outlives(&self, isolation: Isolation) -> Result<bool> {
        let mark = format!("outlived-{}", std::process::id());
        let path = self.settings.workspace.join(&mark);
        let line = format!("(setsid sh -c 'sleep 0.2; echo > {mark}' >/dev/null 2>&1 &) &");
        let task = ChildTask::Shell(line.into());
        let policy = self.policy(isolation, task, &self.settings.workspace)?;
        let running = self.start(&policy)?;
        running.follow(bounds::TRY_TIME, &Cancel::new(), &mut |_| ())?;
        Cancel::new().wait(bounds::OUTLIVE_TIME);
        let outlived = path.exists();
        if outlived {
            // It was only a mark.
            let _ = std::fs::remove_file(&path);
        }
        Ok(outlived)
    }
}

fn row(line: &str) -> Option<EscapeAttempt> {
    let (word, attempt) = line.split_once(' ')?;
    let held = match word {
        "held" => true,
        "out" => false,
        _ => return None,
    };
    Some(EscapeAttempt {
        attempt: attempt.to_owned(),
        held,
    })
}

/// What the daemon tells the attempts: where its bait is.
pub mod bait {
    /// A file with a secret.
    pub const SECRET: &str = "SECRET";
    /// A folder outside, and a socket in it.
    pub const FOLDER: &str = "FOLDER";
    /// The daemon's number.
    pub const DAEMON: &str = "DAEMON";
    /// A port on which the daemon listens, if the network is to be shut.
    pub const PORT: &str = "PORT";
    /// The name of the socket in the folder.
    pub const SOCKET: &str = "bait.sock";
    /// The name of the file that an attempt makes in the folder.
    pub const FILE: &str = "bait.out";
}

/// Makes every attempt and ends the process.
pub fn try_everything(told: &[(OsString, OsString)]) -> ! {
    let find = |name: &str| {
        let found = told.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_os_str())
            .unwrap_or_default()
    };
    let mut report = String::new();
    for (name, got_out) in attempts(&find) {
        report.push_str(if got_out { "out " } else { "held " });
        report.push_str(name);
        report.push('\n');
    }
    let mut rest = report.as_bytes();
    while let Ok(length) = rustix::io::write(rustix::stdio::stdout(), rest) {
        rest = &rest[length..];
        if rest.is_empty() {
            std::process::exit(0);
        }
    }
    std::process::exit(1)
}

fn attempts<'a>(find: &impl Fn(&str) -> &'a OsStr) -> Vec<(&'static str, bool)> {
    let secret = PathBuf::from(find(bait::SECRET));
    let folder = PathBuf::from(find(bait::FOLDER));
    let number = |name: &str| {
        find(name)
            .to_str()
            .and_then(|text| text.parse::<i32>().ok())
    };
    let daemon = number(bait::DAEMON).and_then(Pid::from_raw);
    let of_daemon = |file: &str| {
        PathBuf::from(format!(
            "/proc/{}/{file}",
            number(bait::DAEMON).unwrap_or(0)
        ))
    };
    let readable = |path: &PathBuf| fs::read(path).is_ok_and(|content| !content.is_empty());
    let writable = |path: &str| OpenOptions::new().append(true).open(path).is_ok();
    let devices = [
        "/dev/mem",
        "/dev/sda",
        "/dev/vda",
        "/dev/mmcblk0",
        "/dev/nvme0n1",
    ];
    let mut made = vec![
        ("read a secret", readable(&secret)),
        (
            "read the daemon's environment",
            readable(&of_daemon("environ")),
        ),
        (
            "read the daemon's files",
            readable(&of_daemon("root").join(secret.strip_prefix("/").unwrap_or(&secret))),
        ),
        (
            "write outside",
            fs::write(folder.join(bait::FILE), "x").is_ok(),
        ),
        (
            "write to /etc",
            writable("/etc/passwd") || fs::write("/etc/peacrab-bait", "").is_ok(),
        ),
        (
            "write to the kernel's settings",
            writable("/proc/sys/kernel/core_pattern"),
        ),
        (
            "open a disk",
            devices.iter().any(|path| fs::File::open(path).is_ok()),
        ),
        (
            "signal the daemon",
            daemon.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()),
        ),
        ("trace the daemon", daemon.is_some_and(attempt::trace)),
        (
            "reach a service's socket",
            UnixStream::connect(folder.join(bait::SOCKET)).is_ok(),
        ),
        ("keep an open file", attempt::descriptors_from(3) > 0),
        (
            "mount",
            attempt::mount_over(&std::env::current_dir().unwrap_or_default()),
        ),
        ("ask for the kernel's keys", attempt::keyring()),
        ("watch the kernel", attempt::performance_events()),
        ("change the root", rustix::process::chroot("/").is_ok()),
        ("gain rights", attempt::gain_rights()),
    ];
    if let Some(port) = number(bait::PORT).and_then(|port| u16::try_from(port).ok()) {
        made.push((
            "reach the network",
            TcpStream::connect(("127.0.0.1", port)).is_ok(),
        ));
    }
    // The last, for everything after it would be tried with other rights.
    made.push(("make a user namespace", attempt::new_user_namespace()));
    made
}
