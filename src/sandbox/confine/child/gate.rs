//! The gate: calls about which a filter cannot decide, because what matters is behind a descriptor or
//! in memory. The supervisor takes the caller's descriptor and a copy of what it points to, looks at
//! them, makes the call itself and answers with what came of it. So there is nothing that could be
//! swapped between the look and the call.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::{Pid, Signal};

use super::rules;
use crate::sandbox::confine::policy::{Access, Policy, Step};
use crate::sys::process::{self, Alone, Fork};
use crate::sys::seccomp::Call;
use crate::sys::seccomp::caller::{self, Caller, path_of};
use crate::sys::seccomp::notify::{Listener, Question};

/// Connections of a command that are being made at a time, each by a process of its own; further ones
/// are told to try again (EAGAIN).
const CONNECTING: usize = 32;

/// What the gate is needed for and cannot do where it does not work.
const WITHOUT: [&str; 2] = [
    "there are no Unix sockets here: the kernel does not let the sandbox look at connections",
    "modes of files cannot be changed here: the kernel does not let the sandbox look at them",
];

/// Whether there is a gate for a command with this policy. The error is what it lacks without.
pub fn works(policy: &Policy) -> Result<bool, &'static str> {
    let filtered = policy.isolation.system_calls && !policy.hooks.skips(Step::SystemCalls);
    let own_view = policy.isolation.own_view();
    match filtered && !(own_view && policy.whole) {
        false => Ok(false),
        true if caller::available() => Ok(true),
        true => Err(WITHOUT[usize::from(!own_view)]),
    }
}

/// Where the questions of a filter are answered.
pub struct Gate<'a> {
    policy: &'a Policy,
    temporary: &'a Path,
    alone: Alone,
    listener: Listener,
    /// Processes that connect, and for which question: it may take long.
    workers: Vec<(Pid, Question)>,
}

impl<'a> Gate<'a> {
    /// Answers what arrives at a filter's descriptor. It needs a process whose descendants ask.
    pub fn new(policy: &'a Policy, temporary: &'a Path, alone: Alone, listener: OwnedFd) -> Self {
        Self {
            policy,
            temporary,
            alone,
            listener: Listener::new(listener),
            workers: Vec::new(),
        }
    }

    /// Answers the next question; false when no process is left that could ask.
    pub fn answer(&mut self) -> bool {
        let question = match self.listener.question() {
            Ok(question) => question,
            // Who asked was killed.
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
        };
        if question.call == Some(Call::Signal) {
            let allowed = stays_inside(question.number(0));
            self.listener.decide(&question, allowed);
            return true;
        }
        let result = match self.make(&question) {
            Ok(None) => return true,
            Ok(Some(value)) => Ok(value),
            Err(error) => Err(error),
        };
        self.listener.answer(&question, result);
        true
    }

    /// A child of the supervisor's has ended.
    pub fn reaped(&mut self, pid: Pid) {
        self.workers.retain(|(worker, _)| *worker != pid);
    }

    /// Makes the call of a question. None when it needs no answer from here.
    fn make(&mut self, question: &Question) -> io::Result<Option<i64>> {
        let caller = Caller::of(question.thread)?;
        let argument = question.arguments;
        let target = |folder, path, flags| Target {
            folder,
            path,
            flags,
        };
        let here = libc::AT_FDCWD;
        let (target, mode) = match question.call {
            Some(Call::Listen) => return self.listen(question, &caller),
            Some(Call::Connect) => return self.connect(question, &caller),
            Some(Call::Watch) => return self.watch(question, &caller),
            Some(Call::Chmod) => (target(here, caller.path(argument[0])?, 0), argument[1]),
            Some(Call::DescriptorMode) => {
                let itself = libc::AT_EMPTY_PATH;
                (target(question.number(0), Vec::new(), itself), argument[1])
            }
            Some(Call::ModeAt) => {
                let path = caller.path(argument[1])?;
                (target(question.number(0), path, 0), argument[2])
            }
            Some(Call::ModeAtFlags) => {
                let path = caller.path(argument[1])?;
                let flags = question.number(3);
                (target(question.number(0), path, flags), argument[2])
            }
            Some(Call::Signal) | None => return Err(Errno::NOSYS.into()),
        };
        let handle = target.open(&caller)?;
        if !self.may_change(&real_path(&handle)?) {
            return Err(Errno::PERM.into());
        }
        if self.listener.waits(question) {
            let mode = Mode::from_raw_mode(mode as _) & Mode::from_raw_mode(0o1777);
            rustix::fs::chmodat(CWD, path_of(&handle), mode, AtFlags::empty())?;
        }
        Ok(Some(0))
    }

    /// Whether a file's mode is the command's to change.
    fn may_change(&self, path: &Path) -> bool {
        let system = ["/dev", "/proc", "/sys"];
        match self.policy.access(path) {
            _ if path.starts_with(self.temporary) => true,
            Some(access) => access == Access::Write,
            None => self.policy.whole && !system.iter().any(|one| path.starts_with(one)),
        }
    }

    /// Watches a file or folder that may be read, or else nothing (inotify_add_watch(2)).
    fn watch(&self, question: &Question, caller: &Caller) -> io::Result<Option<i64>> {
        let watcher = caller.descriptor(question.number(0))?;
        let mask = question.arguments[2] as u32;
        let flags = match mask & libc::IN_DONT_FOLLOW != 0 {
            true => libc::AT_SYMLINK_NOFOLLOW,
            false => 0,
        };
        let target = Target {
            folder: libc::AT_FDCWD,
            path: caller.path(question.arguments[1])?,
            flags,
        };
        let handle = target.open(caller)?;
        let path = real_path(&handle)?;
        let is_readable = match self.policy.access(&path) {
            Some(access) => access != Access::Hidden,
            None => {
                self.may_change(&path) || rules::system_paths().any(|one| path.starts_with(one))
            }
        };
        if !is_readable {
            return Err(Errno::ACCESS.into());
        }
        if !self.listener.waits(question) {
            return Ok(None);
        }
        let mask = rustix::fs::inotify::WatchFlags::from_bits_retain(mask & !libc::IN_DONT_FOLLOW);
        let number = rustix::fs::inotify::add_watch(&watcher, path_of(&handle), mask)?;
        Ok(Some(number.into()))
    }

    /// Lets a Unix socket with a name among the files wait for connections. Any other could pose as
    /// a service of this machine, such as the model's server while that is down.
    fn listen(&self, question: &Question, caller: &Caller) -> io::Result<Option<i64>> {
        let socket = caller.descriptor(question.number(0))?;
        let name = match socket_domain(&socket)? {
            AddressFamily::UNIX => {
                SocketAddrUnix::try_from(rustix::net::getsockname(&socket)?).ok()
            }
            _ => None,
        };
        if name.is_none_or(|name| name.path_bytes().is_none()) {
            return Err(Errno::ACCESS.into());
        }
        rustix::net::listen(&socket, question.number(1))?;
        Ok(Some(0))
    }

    /// Connects a socket; in a process of its own where that may take long.
    fn connect(&mut self, question: &Question, caller: &Caller) -> io::Result<Option<i64>> {
        const LONGEST: u64 = size_of::<libc::sockaddr_storage>() as u64;
        let socket = caller.descriptor(question.number(0))?;
        let length = question.arguments[2] & u64::from(u32::MAX);
        if length > LONGEST {
            return Err(Errno::INVAL.into());
        }
        let mut address = caller.bytes(question.arguments[1], length as usize)?;
        if address.len() as u64 != length {
            return Err(Errno::FAULT.into());
        }
        // Held until the socket is connected, for its number is in the address.
        let mut _handle = None;
        if socket_domain(&socket)? == AddressFamily::UNIX
            && let Some(path) = unix_path(&address)
        {
            if path.is_empty() {
                // A name without a file: those are apart in a network of its own only.
                if self.policy.network {
                    return Err(Errno::ACCESS.into());
                }
            } else {
                let handle = open_socket(path, caller)?;
                address.truncate(size_of::<libc::sa_family_t>());
                address.extend(path_of(&handle).as_bytes());
                _handle = Some(handle);
            }
        }
        if !self.listener.waits(question) {
            return Ok(None);
        }
        // Whether it waits is not looked at: that can change until it is connected.
        if !matches!(
            socket_type(&socket)?,
            SocketType::STREAM | SocketType::SEQPACKET
        ) {
            caller::connect(socket.as_fd(), &address)?;
            return Ok(Some(0));
        }
        if self.workers.len() >= CONNECTING {
            // Those whose caller was killed make room.
            for (worker, question) in &self.workers {
                if !self.listener.waits(question) {
                    process::signal(*worker, Signal::KILL);
                }
            }
            self.workers
                .retain(|(_, question)| self.listener.waits(question));
        }
        if self.workers.len() >= CONNECTING {
            return Err(Errno::TIMEDOUT.into());
        }
        match self.alone.fork()? {
            Fork::Parent(worker) => {
                self.workers.push((worker, *question));
                Ok(None)
            }
            Fork::Child => {
                let result = caller::connect(socket.as_fd(), &address).map(|()| 0);
                self.listener.answer(question, result);
                std::process::exit(0)
            }
        }
    }
}

impl AsFd for Gate<'_> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// What a Unix socket's address names: a path, or nothing where it is no path. None when it is no
/// such address; the kernel then says so.
fn unix_path(address: &[u8]) -> Option<&[u8]> {
    let (family, name) = address.split_at_checked(size_of::<libc::sa_family_t>())?;
    let unix = libc::AF_UNIX as libc::sa_family_t;
    if family != unix.to_ne_bytes() || name.is_empty() {
        return None;
    }
    name.split(|byte| *byte == 0).next()
}

/// A socket's handle. Only where the command may write has it, or somebody of its own, made one.
fn open_socket(path: &[u8], caller: &Caller) -> io::Result<OwnedFd> {
    let target = Target {
        folder: libc::AT_FDCWD,
        path: path.to_owned(),
        flags: 0,
    };
    let handle = target.open(caller)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&handle)?.st_mode);
    if kind != FileType::Socket {
        return Err(Errno::CONNREFUSED.into());
    }
    let mount = rustix::fs::fstatvfs(&handle)?.f_flag;
    if mount.contains(StatVfsMountFlags::RDONLY) {
        return Err(Errno::ACCESS.into());
    }
    Ok(handle)
}

/// A file as a call names it.
struct Target {
    folder: i32,
    path: Vec<u8>,
    flags: i32,
}

impl Target {
    /// A handle on it, found as the caller would find it.
    fn open(&self, caller: &Caller) -> io::Result<OwnedFd> {
        let path = Path::new(OsStr::from_bytes(&self.path));
        if self.path.is_empty() && self.flags & libc::AT_EMPTY_PATH != 0 {
            return match self.folder {
                libc::AT_FDCWD => caller.folder(),
                number => caller.descriptor(number),
            };
        }
        if let Some(number) = own_descriptor(path) {
            return caller.descriptor(number);
        }
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        flags.set(
            OFlags::NOFOLLOW,
            self.flags & libc::AT_SYMLINK_NOFOLLOW != 0,
        );
        // What `/proc/self` means differs between us and the caller.
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let open = |folder: std::os::fd::BorrowedFd<'_>| {
            rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve)
        };
        let opened = match (path.is_absolute(), self.folder) {
            (true, _) => open(CWD),
            (false, libc::AT_FDCWD) => open(caller.folder()?.as_fd()),
            (false, number) => open(caller.descriptor(number)?.as_fd()),
        };
        Ok(opened?)
    }
}

/// The caller's descriptor that a path stands for: so libraries name what they have opened.
fn own_descriptor(path: &Path) -> Option<i32> {
    let number = path
        .strip_prefix("/proc/self/fd")
        .or_else(|_| path.strip_prefix("/dev/fd"));
    number.ok()?.to_str()?.parse().ok()
}

/// Where what a handle stands for is now.
fn real_path(handle: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(path_of(handle))
}

/// Whether a signal goes to descendants only. Process groups do not reach beyond their session, and
/// a session that a descendant is in was begun by one.
fn stays_inside(target: i32) -> bool {
    let own = rustix::process::getpid();
    match target {
        0 => true,
        -1 => false,
        number @ 1.. => process::is_below(number, own),
        group => process::descendants_of(own)
            .into_iter()
            .any(|pid| process::group(pid) == group.checked_neg()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_the_kernel_reads_it() {
        let address = |family: i32, name: &[u8]| {
            let family = family as libc::sa_family_t;
            [&family.to_ne_bytes()[..], name].concat()
        };
        let unix = libc::AF_UNIX;
        assert_eq!(unix_path(&address(unix, b"/a/b\0rest")), Some(&b"/a/b"[..]));
        assert_eq!(unix_path(&address(unix, b"/a/b")), Some(&b"/a/b"[..]));
        assert_eq!(unix_path(&address(unix, b"\0hidden")), Some(&b""[..]));
        assert_eq!(unix_path(&address(unix, b"")), None);
        assert_eq!(unix_path(&address(libc::AF_UNSPEC, b"/a")), None);
        assert_eq!(unix_path(b"x"), None);
    }

    #[test]
    fn a_path_can_be_a_descriptor_of_the_caller() {
        assert_eq!(own_descriptor(Path::new("/proc/self/fd/7")), Some(7));
        assert_eq!(own_descriptor(Path::new("/dev/fd/0")), Some(0));
        for path in [
            "/proc/self/fd",
            "/proc/self/fd/7/x",
            "/proc/1/fd/7",
            "7",
            "/proc/self/fd/-",
        ] {
            assert_eq!(own_descriptor(Path::new(path)), None, "{path}");
        }
    }
}
