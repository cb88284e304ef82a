//! The policy as Landlock's file rights and as the filter's questions.

use crate::sandbox::confine::NEIGHBOURS;
use crate::sandbox::confine::policy::{ChildTask, Policy, Step};
use crate::sys::at::{self, Kind};
use crate::sys::landlock::{self, Ruleset, Tcp, rights};
use crate::sys::seccomp::{self, Verdict};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Takes all file rights but those of the policy from this process. `terminal` is its own.
pub fn restrict(policy: &Policy, temporary: &Path, terminal: Option<&Path>) -> io::Result<()> {
    let own_view = policy.isolation.own_view();
    let tcp = match (policy.network, own_view) {
        (true, _) => Tcp::Connect,
        // It is in a network of its own.
        (false, true) => Tcp::Any,
        (false, false) => Tcp::Nothing,
    };
    let rules = Ruleset::new(policy.isolation.landlock, tcp)?;
    let except = Exceptions::of(policy);
    if policy.whole {
        let all = rights::WRITE | rights::IOCTL_DEVICE;
        let top = Path::new("/");
        grant(&rules, open(top)?, top, all, &except)?;
        // The names of what is hidden are no secret here.
        allow(&rules, Path::new("/"), rights::READ_DIR)?;
    }
    for path in system_paths() {
        // `/lib` may be a link to where the home lies.
        let real = match except.is_empty() {
            true => Ok(path),
            false => std::fs::canonicalize(path),
        };
        if let Ok(real) = real
            && let Some(found) = there(open(&real))?
        {
            grant(&rules, found, &real, rights::READ, &except)?;
        }
    }
    for name in DEVICES {
        let device = Path::new("/dev").join(name);
        allow(
            &rules,
            &device,
            rights::READ | rights::WRITE_FILE | rights::IOCTL_DEVICE,
        )?;
    }
    allow(&rules, Path::new("/proc"), rights::READ)?;
    allow(&rules, temporary, rights::WRITE)?;
    let terminals = rights::READ | rights::WRITE_FILE | rights::IOCTL_DEVICE;
    if own_view {
        // Whatever there is in this view may be listed.
        allow(&rules, Path::new("/"), rights::READ_DIR)?;
        allow(&rules, Path::new("/dev/shm"), rights::WRITE)?;
        allow(&rules, Path::new("/dev/pts"), terminals)?;
    } else if let Some(terminal) = terminal {
        // Those beside it are other people's.
        allow(&rules, terminal, terminals)?;
    }
    let write = rights::WRITE | rights::IOCTL_DEVICE;
    for (paths, wanted) in [(&policy.read, rights::READ), (&policy.write, write)] {
        for path in paths {
            // What is a link now was none when the policy was made, and gets nothing.
            let found = at::hold_below(open(Path::new("/"))?, path, None);
            if let Some(found) = there(found)? {
                grant(&rules, found, path, wanted, &except.within(path))?;
            }
        }
    }
    if !own_view {
        check_inodes(policy)?;
    }
    rules.restrict_self()
}

/// Fails when something to protect or to hide was moved while its neighbours got their rights.
fn check_inodes(policy: &Policy) -> io::Result<()> {
    let all = policy.protected().chain(policy.hidden());
    for (path, inode) in all.filter(|(path, _)| policy.writable_above(path).is_some()) {
        let found = at::hold_below(open(Path::new("/"))?, path, None);
        let is_same = |found| at::status(found).is_ok_and(|it| it.inode.numbers() == inode);
        if !found.is_ok_and(is_same) {
            return Err(replaced(path));
        }
    }
    Ok(())
}

/// The error for a path that has changed since the policy was made.
pub fn replaced(path: &Path) -> io::Error {
    let path = path.display();
    io::Error::other(format!("{path} was replaced in this moment; try again"))
}

/// What is taken back from a grant.
#[derive(Clone, Default)]
struct Exceptions {
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    /// The same as they are now, whatever their paths.
    hidden_inodes: Vec<(u64, u64)>,
    protected_inodes: Vec<(u64, u64)>,
}

impl Exceptions {
    fn of(policy: &Policy) -> Self {
        if policy.isolation.own_view() {
            // They are mounted over.
            return Self::default();
        }
        let mut except = Self {
            hidden: policy.hide.clone(),
            // A link keeps its name where the folder with it gets no new names.
            protected: [&policy.protect[..], &policy.fixed].concat(),
            hidden_inodes: policy.hidden().map(|(_, inode)| inode).collect(),
            protected_inodes: policy.protected().map(|(_, inode)| inode).collect(),
        };
        if policy.whole {
            // A disk holds what is hidden, and root's number alone changes the kernel's settings.
            except.hidden.push("/dev".into());
            except.protected.extend(["/proc".into(), "/sys".into()]);
        }
        except
    }

    fn is_empty(&self) -> bool {
        self.hidden.is_empty() && self.protected.is_empty()
    }

    /// Those that concern a folder of the policy: what is said of the closest folder counts.
    fn within(&self, folder: &Path) -> Self {
        let within = |paths: &[PathBuf]| -> Vec<PathBuf> {
            // A folder that is itself protected, or hidden, stays so.
            let concerns = |path: &&PathBuf| *path == folder || !folder.starts_with(path);
            paths.iter().filter(concerns).cloned().collect()
        };
        Self {
            hidden: within(&self.hidden),
            protected: within(&self.protected),
            ..self.clone()
        }
    }
}

/// Allows rights beneath a path, less the exceptions. Landlock cannot take anything back, so where
/// an exception lies deeper its neighbours get their rights one by one; what is made beside them
/// later, in the folders on the way, has none.
fn grant(
    rules: &Ruleset,
    found: OwnedFd,
    path: &Path,
    wanted: u64,
    except: &Exceptions,
) -> io::Result<()> {
    let inode = at::status(&found)?.inode.numbers();
    let in_one_of = |paths: &[PathBuf], inodes: &[(u64, u64)]| {
        inodes.contains(&inode) || paths.iter().any(|one| path.starts_with(one))
    };
    let above_one_of = |paths: &[PathBuf]| paths.iter().any(|one| one.starts_with(path));
    if in_one_of(&except.hidden, &except.hidden_inodes) {
        return Ok(());
    }
    let writes = wanted & rights::WRITE_FILE != 0;
    let wanted = match writes && in_one_of(&except.protected, &except.protected_inodes) {
        true => rights::READ,
        false => wanted,
    };
    let crossed = above_one_of(&except.hidden)
        || (wanted & rights::WRITE_FILE != 0 && above_one_of(&except.protected));
    if !crossed {
        return allow_on(rules, &found, wanted);
    }
    if !above_one_of(&except.hidden) {
        allow_on(rules, &found, rights::READ)?;
    }
    let folder = match at::open_folder(&found, OsStr::new(".")) {
        // What we may not list a command may not either.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        folder => folder?,
    };
    for name in at::names(&folder, NEIGHBOURS)?.0 {
        // A link's target has its own place, with its own rights.
        if let Some(neighbour) = there(at::hold(&folder, &name))?
            && at::status(&neighbour)?.kind != Kind::Link
        {
            grant(rules, neighbour, &path.join(name), wanted, except)?;
        }
    }
    Ok(())
}

/// Allows rights beneath a path of the system's. One that is not there needs none.
fn allow(rules: &Ruleset, path: &Path, wanted: u64) -> io::Result<()> {
    match there(open(path))? {
        Some(found) => allow_on(rules, &found, wanted),
        None => Ok(()),
    }
}

fn allow_on(rules: &Ruleset, found: &OwnedFd, wanted: u64) -> io::Result<()> {
    let possible = match at::status(found)?.kind {
        Kind::Folder => wanted,
        _ => wanted & rights::OF_FILES,
    };
    rules.allow(found.as_fd(), possible)
}

/// Takes hold of what is at a path, links followed. Not through the standard library: musl counts
/// O_PATH among the access modes, and those are taken out of custom flags.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
}

/// What was opened; none when it is not there, when we may not reach it, or when a link is in the way.
fn there(opened: io::Result<OwnedFd>) -> io::Result<Option<OwnedFd>> {
    let nothing = [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS, Errno::LOOP];
    match opened {
        Err(error)
            if nothing
                .iter()
                .any(|errno| Some(errno.raw_os_error()) == error.raw_os_error()) =>
        {
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

/// What a command sees of the system.
pub fn system_paths() -> impl Iterator<Item = PathBuf> {
    let etc = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
    let others = [&PROGRAMS[..], &HARDWARE, &PACKAGES].into_iter().flatten();
    etc.chain(others.map(PathBuf::from))
}

/// The filter, which closes what the other kinds of isolation leave open. `gated` says whether the
/// supervisor can look at calls.
pub fn filter(policy: &Policy, gated: bool) -> seccomp::Filter {
    let isolation = policy.isolation;
    let own_view = isolation.own_view();
    let mut families = Vec::new();
    if policy.network || own_view {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    // Over a Unix socket one can have others do what one may not: the session's bus starts any
    // program. Where the gate looks at each connection they reach the command's own.
    let unix = own_view && gated;
    if unix {
        families.push(libc::AF_UNIX);
    }
    seccomp::Filter {
        families: families.into_iter().map(|family| family as u32).collect(),
        asks_before_signals: asks_before_signals(policy),
        // A shell that goes on would keep that memory until its end.
        shares_machine: !own_view || policy.task == ChildTask::Interactive,
        no_truncation: !own_view && isolation.landlock < landlock::TRUNCATE_FROM,
        listening: match (policy.network || !own_view, unix) {
            // Nobody else is in its network.
            (false, _) => Verdict::Allow,
            (true, true) => Verdict::Ask,
            (true, false) => Verdict::Refuse,
        },
        asks_before_connecting: unix,
        attributes: match (own_view, gated) {
            // What it could change is not there, or read-only.
            (true, _) => Verdict::Allow,
            (false, true) => Verdict::Ask,
            (false, false) => Verdict::Refuse,
        },
    }
}

/// Whether the supervisor has to decide about signals, because neither a process namespace nor
/// Landlock keeps them inside.
pub fn asks_before_signals(policy: &Policy) -> bool {
    let apart = policy.isolation.own_view() || policy.isolation.landlock >= landlock::SCOPES_FROM;
    policy.isolation.system_calls && !policy.hooks.skips(Step::SystemCalls) && !apart
}

// What a confined command sees of the system beside its own folders: programs, and what programs need
// to know to run. Nothing of it can be written, and no key and no personal file is in it.

/// Folders of programs. A link among them (`/bin` to `usr/bin`) stays a link.
pub const PROGRAMS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
];

/// What of /etc is seen: names of users and hosts, certificates, zones, the loader's and the
/// languages' settings. Not there: shadow, keys, passwords of services.
pub const SETTINGS: [&str; 59] = [
    "adduser.conf",
    "alternatives",
    "apk",
    "apt/preferences.d",
    "apt/sources.list",
    "apt/sources.list.d",
    "bash.bashrc",
    "bash_completion",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "dpkg",
    "ethertypes",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "issue",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld-musl-aarch64.path",
    "ld-musl-armhf.path",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mailname",
    "manpath.config",
    "mime.types",
    "netconfig",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.11",
    "python3.13",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
];

/// What is known of the hardware; where settings of the kernel could be written stays away.
pub const HARDWARE: [&str; 6] = [
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/firmware/devicetree",
];

/// What package managers know, so that `dpkg -l`, `apt policy` and their like answer. Without its two
/// caches apt makes them again each time, which takes a board half a minute.
pub const PACKAGES: [&str; 6] = [
    "/var/lib/dpkg",
    "/lib/apk/db",
    "/var/lib/apt/lists",
    "/var/lib/apt/extended_states",
    "/var/cache/apt/pkgcache.bin",
    "/var/cache/apt/srcpkgcache.bin",
];

/// The devices that every program may use.
pub const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The links of /dev that lead to a process's own descriptors.
pub const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
