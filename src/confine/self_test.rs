//! A live escape test: what `peacrab doctor sandbox` tries and shows.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use super::Exec;
use super::child::bait;
use super::policy::{Task, Walls};
use super::run::End;
use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::limits::confine as bounds;
use crate::sys::file::private_folder;

/// An attempt and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was tried.
    pub attempt: String,
    /// Whether the walls held.
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
    /// Starts a confined process that tries to get out, and says of each attempt whether the walls
    /// held. Bait is laid out in `home`, which is a folder that commands must not see. An error
    /// means that nothing could be tried.
    pub fn self_test(&self, home: &Path) -> Result<Vec<Row>> {
        let walls = self.walls()?;
        let bait = Bait::new(home, self.settings.network)?;
        let mut rows = self.attempts(walls, &bait)?;
        rows.push(Row {
            attempt: "leave a trace outside".to_owned(),
            held: !bait.is_taken(),
        });
        rows.push(Row {
            attempt: "outlive its command".to_owned(),
            held: !self.outlives(walls)?,
        });
        Ok(rows)
    }

    fn attempts(&self, walls: Walls, bait: &Bait) -> Result<Vec<Row>> {
        let mut policy = self.policy(walls, Task::Escape, &self.settings.workspace);
        policy.environment = bait.told();
        let running = self.start(&policy)?;
        let outcome = running.follow(bounds::TRY_TIME, &Cancel::new(), &mut |_| ())?;
        let rows: Vec<Row> = outcome.output.text().lines().filter_map(row).collect();
        match outcome.end {
            End::Exit(0) if !rows.is_empty() => Ok(rows),
            end => Err(Error::Failed(format!(
                "the escape test did not run to its end: {end}"
            ))),
        }
    }

    /// Whether a process that left its session and its parent lives on.
    fn outlives(&self, walls: Walls) -> Result<bool> {
        let mark = format!("outlived-{}", std::process::id());
        let path = self.settings.workspace.join(&mark);
        let line = format!("(setsid sh -c 'sleep 0.2; echo > {mark}' >/dev/null 2>&1 &) &");
        let task = Task::Shell(line.into());
        let policy = self.policy(walls, task, &self.settings.workspace);
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

fn row(line: &str) -> Option<Row> {
    let (word, attempt) = line.split_once(' ')?;
    let held = match word {
        "held" => true,
        "out" => false,
        _ => return None,
    };
    Some(Row {
        attempt: attempt.to_owned(),
        held,
    })
}
