//! Landlock: file rights that a process gives up permanently (landlock(7)).
//!
//! Three system calls with the same numbers on every architecture. What the running kernel does not
//! know is left out of the question, so that the same rules serve every version from the first on.

#![expect(unsafe_code, reason = "the three Landlock system calls")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Rights on files and folders (`LANDLOCK_ACCESS_FS_*`).
pub mod rights {
    /// Running a file.
    pub const EXECUTE: u64 = 1;
    /// Opening a file to write.
    pub const WRITE_FILE: u64 = 1 << 1;
    /// Opening a file to read.
    pub const READ_FILE: u64 = 1 << 2;
    /// Listing a folder.
    pub const READ_DIR: u64 = 1 << 3;
    /// Making, removing, linking and renaming of everything but devices: bits 4, 5, 7 to 10, 12
    /// and, from version 2 on, 13.
    pub const CHANGE: u64 = 0x37b0;
    /// Cutting a file off; from version 3 on.
    pub const TRUNCATE: u64 = 1 << 14;
    /// Commands to devices; from version 5 on.
    pub const IOCTL_DEVICE: u64 = 1 << 15;

    /// Reading and running.
    pub const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    /// Everything but commands to devices.
    pub const WRITE: u64 = READ | WRITE_FILE | CHANGE | TRUNCATE;
    /// What can be said about a file that is not a folder.
    pub const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;
}

/// The first version that knows rights about TCP.
pub const NETWORK_FROM: u32 = 4;
/// The first version that keeps signals and abstract sockets inside.
pub const SCOPES_FROM: u32 = 6;
/// The first version that knows that cutting a file off is writing.
pub const TRUNCATE_FROM: u32 = 3;

const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;
const ASK_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;
const RULE_NETWORK_PORT: u32 = 2;
/// Binding and connecting of TCP.
const BIND: u64 = 1;
const CONNECT: u64 = 1 << 1;
/// Abstract Unix sockets and signals.
const SCOPES: u64 = 0b11;

/// `struct landlock_ruleset_attr`
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`
#[repr(C, packed)]
struct PathBeneath {
    rights: u64,
    parent: i32,
}

/// The kernel's Landlock version; 0 when it has none or it is switched off.
pub fn version() -> u32 {
    // SAFETY: with this flag and a null pointer the kernel only answers with its version.
    let answer = unsafe { libc::syscall(CREATE_RULESET, std::ptr::null::<u8>(), 0, ASK_VERSION) };
    u32::try_from(answer).unwrap_or(0)
}

/// `struct landlock_net_port_attr`
#[repr(C)]
struct NetworkPort {
    rights: u64,
    port: u64,
}

/// What may be done with TCP, from version 4 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tcp {
    /// Everything.
    Any,
    /// Connecting, from a port that the kernel chooses. A socket that has a port of its own choice
    /// could take a connection without ever listening (RFC 9293, simultaneous open).
    Connect,
    /// Nothing.
    Nothing,
}

/// A set of rules. What no rule allows is refused once [`Ruleset::restrict_self`] is called.
pub struct Ruleset {
    descriptor: OwnedFd,
    /// The rights on files that this kernel knows.
    known: u64,
}

impl Ruleset {
    /// An empty set: all that `version` (at least 1) knows about files is refused, and TCP as
    /// `tcp` says. From version 6 on signals and abstract sockets do not leave the confined processes.
    pub fn new(version: u32, tcp: Tcp) -> io::Result<Self> {
        let known = match version {
            0 => return Err(io::ErrorKind::Unsupported.into()),
            1 => (1 << 13) - 1,
            2 => (1 << 14) - 1,
            3 | 4 => (1 << 15) - 1,
            _ => (1 << 16) - 1,
        };
        let attributes = RulesetAttributes {
            files: known,
            network: match tcp {
                Tcp::Any => 0,
                Tcp::Connect => BIND,
                Tcp::Nothing => BIND | CONNECT,
            },
            scoped: SCOPES,
        };
        // An older kernel takes only as much of the structure as it knows.
        let size: usize = match version {
            ..NETWORK_FROM => 8,
            NETWORK_FROM..SCOPES_FROM => 16,
            SCOPES_FROM.. => 24,
        };
        // SAFETY: the kernel reads `size` bytes, at most the structure's 24.
        let made = unsafe { libc::syscall(CREATE_RULESET, &raw const attributes, size, 0_u32) };
        let number = i32::try_from(made).map_err(|_| io::ErrorKind::InvalidData)?;
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor (close-on-exec) and nothing else has it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        let rules = Self { descriptor, known };
        if tcp == Tcp::Connect && version >= NETWORK_FROM {
            rules.add(
                RULE_NETWORK_PORT,
                &NetworkPort {
                    rights: BIND,
                    port: 0,
                },
            )?;
        }
        Ok(rules)
    }

    /// Allows `rights` on a file, or on a folder and all beneath it.
    pub fn allow(&self, path: BorrowedFd<'_>, rights: u64) -> io::Result<()> {
        let rule = PathBeneath {
            rights: rights & self.known,
            parent: path.as_raw_fd(),
        };
        self.add(RULE_PATH_BENEATH, &rule)
    }

    fn add<T>(&self, kind: u32, rule: &T) -> io::Result<()> {
        // SAFETY: the kernel reads the structure of this kind; what it points to lives until it returns.
        let added = unsafe {
            libc::syscall(
                ADD_RULE,
                self.descriptor.as_raw_fd(),
                kind,
                std::ptr::from_ref(rule),
                0_u32,
            )
        };
        done(added)
    }

    /// Confines this thread and all its children permanently. Needs `no_new_privs`.
    pub fn restrict_self(self) -> io::Result<()> {
        // SAFETY: it takes a descriptor and flags, no memory.
        done(unsafe { libc::syscall(RESTRICT_SELF, self.descriptor.as_raw_fd(), 0_u32) })
    }
}

fn done(returned: libc::c_long) -> io::Result<()> {
    match returned {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[path = "../../../tests/harness/feature.rs"]
mod feature;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_thread_keeps_only_what_its_rules_allow() {
        let found = match version() {
            0 => Err("this kernel does not have it"),
            _ => Ok(()),
        };
        if !feature::has("landlock", found) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outside"), "x").unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let outside = folder.path().join("outside");
        let confined = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            let rules = Ruleset::new(version(), Tcp::Nothing).unwrap();
            let folder = std::fs::File::open(&inside).unwrap();
            rules.allow(folder.as_fd(), rights::WRITE).unwrap();
            rules.restrict_self().unwrap();
            assert!(std::fs::write(inside.join("new"), "x").is_ok());
            assert!(std::fs::read(&outside).is_err());
            assert!(std::fs::write(&outside, "y").is_err());
            let dialled = std::net::TcpStream::connect(("127.0.0.1", 9));
            if version() >= NETWORK_FROM {
                assert_eq!(dialled.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            }
        });
        confined.join().unwrap();
        assert_eq!(std::fs::read(folder.path().join("outside")).unwrap(), b"x");
    }
}
