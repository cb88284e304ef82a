//! A live escape test: what `peacrab doctor sandbox` tries and shows.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::Exec;
use super::TRY_TIME;
use super::policy::{ChildTask, Isolation};
use super::run::End;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::sys::attempt;
use crate::sys::file::private_folder;
use std::time::Duration;

/// How long the escape test waits for a process that outlives its command; it shows after 0.2 s.
const OUTLIVE_TIME: Duration = Duration::from_millis(500);

/// An attempt and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscapeAttempt {
    /// What it was aimed at: a word.
    pub target: String,
    /// What was tried.
    pub attempt: String,
    /// Whether it was blocked.
    pub held: bool,
}

/// Bait in a folder; it is taken away again when this is dropped.
struct Bait {
    folder: PathBuf,
    /// Files that attempts make in the home and beside it.
    traces: [PathBuf; 2],
    /// None where the folder's path is too long for a socket's name.
    _socket: Option<UnixListener>,
    _abstract: Option<UnixListener>,
    network: Option<TcpListener>,
}

impl Bait {
    fn new(home: &Path, network: bool) -> Result<Self> {
        let own = std::process::id();
        let folder = std::path::absolute(home.join(format!("sandbox-test-{own}")))
            .map_err(Error::io("find", home))?;
        private_folder(&folder)?;
        let traces = traces(&folder);
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
                _abstract: abstract_address(own)
                    .and_then(|address| UnixListener::bind_addr(&address))
                    .ok(),
                folder: folder.clone(),
                traces: traces.clone(),
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
        dialled || self.folder.join(bait::FILE).exists() || !self.folder.exists()
    }
}

impl Drop for Bait {
    fn drop(&mut self) {
        // They are our own, and what remains of them is harmless.
        let _ = std::fs::remove_dir_all(&self.folder);
        for trace in &self.traces {
            let _ = std::fs::remove_file(trace);
        }
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
        let [in_home, beside] = bait.traces.each_ref().map(|trace| trace.exists());
        for (target, attempt, got_out) in [
            (FILES, "put an approval into the home folder", in_home),
            // Whoever may write there may rename the home folder.
            (FILES, "write beside the home folder", beside),
            (FILES, "leave a trace outside", bait.is_taken()),
            (PROCESSES, "outlive its command", self.outlives(isolation)?),
        ] {
            rows.push(EscapeAttempt {
                target: target.to_owned(),
                attempt: attempt.to_owned(),
                held: !got_out,
            });
        }
        Ok(rows)
    }

    fn attempts(&self, isolation: Isolation, bait: &Bait) -> Result<Vec<EscapeAttempt>> {
        let mut policy = self.policy(isolation, ChildTask::Escape, &self.settings.workspace)?;
        policy.environment = bait.told();
        let running = self.start(&policy)?;
        let outcome = running.follow(TRY_TIME, &Cancel::new(), &mut |_| ())?;
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
        running.follow(TRY_TIME, &Cancel::new(), &mut |_| ())?;
        Cancel::new().wait(OUTLIVE_TIME);
        let outlived = path.exists();
        if outlived {
            // It was only a mark.
            let _ = std::fs::remove_file(&path);
        }
        Ok(outlived)
    }
}

/// What attempts are aimed at.
const FILES: &str = "files";
const PROCESSES: &str = "processes";
const KERNEL: &str = "kernel";
const RIGHTS: &str = "rights";
const NETWORK: &str = "network";

/// The files that attempts make in the home folder and beside it, given the bait's folder in the home.
fn traces(folder: &Path) -> [PathBuf; 2] {
    let home = folder.parent().unwrap_or(folder);
    let beside = home.parent().unwrap_or(home);
    let name = folder.with_extension("json");
    let name = name.file_name().unwrap_or_default();
    [home.join(name), beside.join(name)]
}

/// The daemon's socket that has a name and no file (unix(7)).
fn abstract_address(daemon: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("peacrab-sandbox-test-{daemon}"))
}

fn row(line: &str) -> Option<EscapeAttempt> {
    let (word, rest) = line.split_once(' ')?;
    let (target, attempt) = rest.split_once(' ')?;
    let held = match word {
        "held" => true,
        "out" => false,
        _ => return None,
    };
    Some(EscapeAttempt {
        target: target.to_owned(),
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
    for (target, name, got_out) in attempts(&find) {
        report.push_str(if got_out { "out " } else { "held " });
        report.push_str(target);
        report.push(' ');
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

/// What was aimed at, what was tried, and whether it got out.
type Made = (&'static str, &'static str, bool);

fn attempts<'a>(find: &impl Fn(&str) -> &'a OsStr) -> Vec<Made> {
    let folder = PathBuf::from(find(bait::FOLDER));
    let number = |name: &str| {
        find(name)
            .to_str()
            .and_then(|text| text.parse::<i32>().ok())
    };
    let daemon = number(bait::DAEMON).and_then(Pid::from_raw);
    // Before anything else opens one.
    let kept_open = attempt::descriptors_from(3) > 0;
    let mut made = on_files(&PathBuf::from(find(bait::SECRET)), &folder, daemon);
    made.push((FILES, "keep an open file", kept_open));
    made.extend(own_files());
    made.extend(on_sockets(&folder, daemon, number(bait::PORT)));
    let mut call = |target, calls: &[attempt::Call]| {
        made.extend(
            calls
                .iter()
                .map(|call| (target, call.0, attempt::gets_through(call))),
        );
    };
    call(NETWORK, attempt::NETWORK);
    call(KERNEL, attempt::KERNEL);
    if let Some(daemon) = daemon {
        call(PROCESSES, &attempt::on_process(daemon));
        let signalled = rustix::process::test_kill_process(daemon).is_ok();
        made.push((PROCESSES, "signal the daemon", signalled));
        made.push((PROCESSES, "trace the daemon", attempt::trace(daemon)));
    }
    let here = std::env::current_dir().unwrap_or_default();
    made.extend([
        (RIGHTS, "mount", attempt::mount_over(&here)),
        (
            RIGHTS,
            "change the root",
            rustix::process::chroot("/").is_ok(),
        ),
        (RIGHTS, "lift a limit", attempt::lift_limit()),
        (RIGHTS, "gain rights", attempt::gain_rights()),
        // The last, for everything after it would be tried with other rights.
        (
            RIGHTS,
            "make a user namespace",
            attempt::new_user_namespace(),
        ),
    ]);
    made
}

fn on_files(secret: &Path, folder: &Path, daemon: Option<Pid>) -> Vec<Made> {
    let readable = |path: &Path| fs::read(path).is_ok_and(|content| !content.is_empty());
    let writable = |path: &str| OpenOptions::new().append(true).open(path).is_ok();
    let of_daemon = |file: &str| {
        let daemon = daemon.map_or(0, Pid::as_raw_pid);
        PathBuf::from(format!("/proc/{daemon}/{file}"))
    };
    let secret_of_daemon = of_daemon("root").join(secret.strip_prefix("/").unwrap_or(secret));
    let devices = [
        "/dev/mem",
        "/dev/kmsg",
        "/dev/sda",
        "/dev/vda",
        "/dev/mmcblk0",
        "/dev/nvme0n1",
        "/proc/kcore",
    ];
    // What came of these is looked at from outside: the same names may be in a view of one's own.
    for trace in traces(folder) {
        let _ = fs::write(trace, "x");
    }
    let moved = folder.with_extension("moved");
    let moves = fs::rename(folder, &moved).is_ok();
    if moves {
        let _ = fs::rename(&moved, folder);
    }
    vec![
        (FILES, "read a secret", readable(secret)),
        (
            FILES,
            "read the daemon's files",
            readable(&secret_of_daemon),
        ),
        (
            FILES,
            "write outside",
            fs::write(folder.join(bait::FILE), "x").is_ok(),
        ),
        (FILES, "move what is outside", moves),
        (
            FILES,
            "write to /etc",
            writable("/etc/passwd") || fs::write("/etc/peacrab-bait", "").is_ok(),
        ),
        (
            PROCESSES,
            "read the daemon's environment",
            readable(&of_daemon("environ")),
        ),
        (
            PROCESSES,
            "read the environment of process 1",
            readable(Path::new("/proc/1/environ")),
        ),
        (
            KERNEL,
            "write to the kernel's settings",
            writable("/proc/sys/kernel/core_pattern") || writable("/sys/power/state"),
        ),
        (
            KERNEL,
            "open a disk or the memory",
            devices.iter().any(|path| fs::File::open(path).is_ok()),
        ),
    ]
    .into_iter()
    .chain(with_links(secret))
    .collect()
}

/// What is tried with names in the workspace that stand for something outside.
fn with_links(secret: &Path) -> [Made; 2] {
    let name = own_name();
    let linked = std::os::unix::fs::symlink(secret, &name).is_ok() && fs::read(&name).is_ok();
    let _ = fs::remove_file(&name);
    let hard = fs::hard_link(secret, &name).is_ok();
    let _ = fs::remove_file(&name);
    [
        (FILES, "follow a link to a secret", linked),
        (FILES, "give a secret a second name", hard),
    ]
}

/// What is tried with files of the workspace.
fn own_files() -> [Made; 3] {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let name = own_name();
    let mode = Mode::from_raw_mode(0o600);
    let device = mknodat(CWD, &name, FileType::BlockDevice, mode, makedev(7, 0)).is_ok();
    let _ = fs::remove_file(&name);
    let given =
        fs::write(&name, "").is_ok() && std::os::unix::fs::chown(&name, Some(12_345), None).is_ok();
    let mode = Permissions::from_mode(0o4700);
    let lends = fs::set_permissions(&name, mode).is_ok()
        && fs::metadata(&name).is_ok_and(|found| found.mode() & 0o4000 != 0);
    let _ = fs::remove_file(&name);
    [
        (RIGHTS, "make a set-user-ID file", lends),
        (RIGHTS, "make a device", device),
        (RIGHTS, "give a file to another user", given),
    ]
}

/// The name of a file of ours in the folder where the attempts are made.
fn own_name() -> String {
    format!("sandbox-test-{}.tmp", std::process::id())
}

fn on_sockets(folder: &Path, daemon: Option<Pid>, port: Option<i32>) -> Vec<Made> {
    let address = abstract_address(daemon.map_or(0, |daemon| daemon.as_raw_pid().cast_unsigned()));
    let named = address.and_then(|address| UnixStream::connect_addr(&address));
    let mut made = vec![
        (
            NETWORK,
            "reach a service's socket",
            UnixStream::connect(folder.join(bait::SOCKET)).is_ok(),
        ),
        (
            NETWORK,
            "reach a service's socket without a file",
            named.is_ok(),
        ),
    ];
    let Some(port) = port.and_then(|port| u16::try_from(port).ok()) else {
        // In a network of its own a command may listen.
        let listens = TcpListener::bind(("127.0.0.1", 0)).is_ok();
        made.push((NETWORK, "pose as a server on this machine", listens));
        return made;
    };
    made.push((
        NETWORK,
        "reach the network",
        TcpStream::connect(("127.0.0.1", port)).is_ok(),
    ));
    made
}
