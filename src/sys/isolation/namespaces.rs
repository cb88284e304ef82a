//! Namespaces and mounts: a view of the machine of one's own (namespaces(7), mount(2)).

#![expect(
    unsafe_code,
    reason = "unshare(2), mount_setattr(2) and an interface's ioctl"
)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::UnshareFlags;

use crate::sys::process::Alone;

/// Leaves the mount, IPC and host name namespaces for new ones, has the next child be the first of a
/// new process namespace, and takes a new network namespace if `network`. With `user` it happens in
/// a new user namespace, in which this process may do all that; without, it needs CAP_SYS_ADMIN.
pub fn leave(_alone: Alone, user: bool, network: bool) -> io::Result<()> {
    let mut flags =
        UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    flags.set(UnshareFlags::NEWUSER, user);
    flags.set(UnshareFlags::NEWNET, network);
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: descriptors are shared with nothing (FILES is not asked for), and there is one thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|error| match error {
        // The kernel reports in this way that a limit of namespaces is reached (unshare(2)).
        rustix::io::Errno::NOSPC => io::Error::other("user.max_user_namespaces forbids it"),
        other => other.into(),
    })?;
    if user {
        // The same number inside as outside, so that files keep their owner's name. A group map may
        // be written without rights only after setgroups is given up (user_namespaces(7)).
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write(
            "/proc/self/uid_map",
            format!("{uid} {uid} 1", uid = uid.as_raw()),
        )?;
        fs::write(
            "/proc/self/gid_map",
            format!("{gid} {gid} 1", gid = gid.as_raw()),
        )?;
    }
    Ok(())
}

/// Keeps our mounts to ourselves.
pub fn make_mounts_private() -> io::Result<()> {
    let all = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    Ok(rustix::mount::mount_change("/", all)?)
}

/// Mounts a file system of the kernel's own (`tmpfs`, `proc`, `devpts`) without set-user-ID.
pub fn mount_new(kind: &str, target: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    let flags = flags | MountFlags::NOSUID;
    Ok(rustix::mount::mount(
        kind,
        target,
        kind,
        flags,
        options.as_c_str(),
    )?)
}

/// Shows the file or folder behind `source`, with what is mounted beneath it, at `target` too.
/// Descriptors, because a path could lead elsewhere a moment later.
pub fn bind(source: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::mount::mount_bind_recursive(
        path_of(source),
        path_of(target),
    )?)
}

/// What a mount is not to allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// No writing.
    pub writing: bool,
    /// No devices.
    pub devices: bool,
}

/// Takes rights from the mount whose root is `mount`, and from all beneath it; set-user-ID always.
pub fn restrict(mount: BorrowedFd<'_>, without: Without) -> io::Result<()> {
    set_attributes(mount, without).or_else(|error| match error.raw_os_error() {
        // The kernel is too old, or a filter forbids the call: that of systemd before 248 does not know it.
        Some(libc::ENOSYS | libc::EPERM) => remount_each(mount, without),
        _ => Err(error),
    })
}

/// Makes the one mount whose root is `mount` read-only, not those beneath it.
pub fn seal(mount: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount_remount(path_of(mount), flags, "")?)
}

/// `struct mount_attr`
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// mount_setattr(2), from kernel 5.12 on.
fn set_attributes(mount: BorrowedFd<'_>, without: Without) -> io::Result<()> {
    const NUMBER: libc::c_long = 442;
    const READ_ONLY: u64 = 1;
    const NO_SET_USER_ID: u64 = 2;
    const NO_DEVICES: u64 = 4;
    const EMPTY_PATH_RECURSIVE: u32 = 0x1000 | 0x8000;
    let attributes = MountAttributes {
        set: NO_SET_USER_ID
            | if without.writing { READ_ONLY } else { 0 }
            | if without.devices { NO_DEVICES } else { 0 },
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    // SAFETY: the path is a C string and the structure has the size that is passed; both outlive it.
    let done = unsafe {
        libc::syscall(
            NUMBER,
            mount.as_raw_fd(),
            c"".as_ptr(),
            EMPTY_PATH_RECURSIVE,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The older way: every mount beneath is mounted again with what it had and what is asked.
fn remount_each(mount: BorrowedFd<'_>, without: Without) -> io::Result<()> {
    let top = fs::read_link(path_of(mount))?;
    let table = fs::read("/proc/self/mountinfo")?;
    for (point, mut flags) in table.split(|byte| *byte == b'\n').filter_map(mount_point) {
        if point.starts_with(&top) {
            flags |= MountFlags::BIND | MountFlags::NOSUID;
            flags.set(
                MountFlags::RDONLY,
                without.writing || flags.contains(MountFlags::RDONLY),
            );
            flags.set(
                MountFlags::NODEV,
                without.devices || flags.contains(MountFlags::NODEV),
            );
            rustix::mount::mount_remount(&point, flags, "")?;
        }
    }
    Ok(())
}

/// The place and the flags in a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
fn mount_point(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let point = PathBuf::from(OsString::from_vec(super::mounts::unescaped(fields.next()?)));
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(|byte| *byte == b',') {
        flags |= match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some((point, flags))
}

/// Makes `root` the root and lets go of the old one (pivot_root(2), "pivot_root(".", ".")").
pub fn change_root(root: &Path) -> io::Result<()> {
    rustix::process::chdir(root)?;
    rustix::process::pivot_root(".", ".")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH)?;
    Ok(rustix::process::chdir("/")?)
}

/// Switches the loopback interface of a new network namespace on.
pub fn loopback_up() -> io::Result<()> {
    /// `struct ifreq`, of which the name and the flags are used.
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        flags: i16,
        rest: [u8; 22],
    }
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = Request {
        name: [0; 16],
        flags: (libc::IFF_UP | libc::IFF_RUNNING) as i16,
        rest: [0; 22],
    };
    request.name[..2].copy_from_slice(b"lo");
    // SAFETY: the request is as large as the kernel's (40 bytes, 32 on 32-bit) and outlives the call.
    let done = unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw mut request,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A path to the file of a descriptor.
fn path_of(descriptor: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_mount_table_is_read_with_its_escapes() {
        let line = br"36 35 98:0 /mnt1 /mnt/a\040b rw,noatime,nosuid master:1 - ext3 /dev/root rw";
        let (point, flags) = mount_point(line).unwrap();
        assert_eq!(point, Path::new("/mnt/a b"));
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NOSUID);
        assert!(mount_point(b"").is_none());
        assert!(mount_point(b"1 2 3").is_none());
    }
}
