//! The policy as Landlock's file rights and as the filter's questions.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::confine::policy::{Policy, Step};
use crate::confine::view;
use crate::limits::confine as bounds;
use crate::sys::landlock::{self, Ruleset, rights};
use crate::sys::seccomp;

/// Takes all file rights but those of the policy from this process.
pub fn restrict(policy: &Policy, temporary: &Path) -> io::Result<()> {
    let own_view = policy.walls.own_view();
    let rules = Ruleset::new(policy.walls.landlock, policy.network || own_view)?;
    let except = Exceptions::of(policy);
    if policy.whole {
        let all = rights::WRITE | rights::IOCTL_DEVICE;
        grant(&rules, Path::new("/"), all, &except)?;
        // The names of what is hidden are no secret here.
        allow(&rules, Path::new("/"), rights::READ_DIR)?;
    }
    for path in system_paths() {
        grant(&rules, &path, rights::READ, &except)?;
    }
    for name in view::DEVICES {
        let device = Path::new("/dev").join(name);
        allow(
            &rules,
            &device,
            rights::READ | rights::WRITE_FILE | rights::IOCTL_DEVICE,
        )?;
    }
    allow(&rules, Path::new("/proc"), rights::READ)?;
    allow(&rules, temporary, rights::WRITE)?;
    if own_view {
        // Whatever there is in this view may be listed.
        allow(&rules, Path::new("/"), rights::READ_DIR)?;
        allow(&rules, Path::new("/dev/shm"), rights::WRITE)?;
        let terminals = rights::READ | rights::WRITE_FILE | rights::IOCTL_DEVICE;
        allow(&rules, Path::new("/dev/pts"), terminals)?;
    }
    for path in &policy.read {
        grant(&rules, path, rights::READ, &except)?;
    }
    for path in &policy.write {
        grant(&rules, path, rights::WRITE | rights::IOCTL_DEVICE, &except)?;
    }
    rules.restrict_self()
}

/// What is taken back from a grant.
#[derive(Default)]
struct Exceptions {
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
}

impl Exceptions {
    fn of(policy: &Policy) -> Self {
        if policy.walls.own_view() {
            // They are mounted over.
            return Self::default();
        }
        let mut except = Self {
            hidden: policy.hide.clone(),
            protected: policy.protect.clone(),
        };
        if policy.whole {
            // A disk holds what is hidden, and root's number alone changes the kernel's settings.
            except.hidden.push("/dev".into());
            except.protected.extend(["/proc".into(), "/sys".into()]);
        }
        except
    }
}

/// Allows rights beneath a path, less the exceptions. Landlock cannot take anything back, so where
/// an exception lies deeper its neighbours get their rights one by one; what is made beside them
/// later, in the folders on the way, has none.
fn grant(rules: &Ruleset, path: &Path, wanted: u64, except: &Exceptions) -> io::Result<()> {
    let in_one_of = |paths: &[PathBuf]| paths.iter().any(|one| path.starts_with(one));
    let above_one_of = |paths: &[PathBuf]| paths.iter().any(|one| one.starts_with(path));
    if in_one_of(&except.hidden) {
        return Ok(());
    }
    let writes = wanted & rights::WRITE_FILE != 0;
    let wanted = match writes && in_one_of(&except.protected) {
        true => rights::READ,
        false => wanted,
    };
    let crossed = above_one_of(&except.hidden)
        || (wanted & rights::WRITE_FILE != 0 && above_one_of(&except.protected));
    if !crossed {
        return allow(rules, path, wanted);
    }
    if !above_one_of(&except.hidden) {
        allow(rules, path, rights::READ)?;
    }
    let entries = match std::fs::read_dir(path) {
        // What we may not list a command may not either.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        entries => entries?,
    };
    for entry in entries.take(bounds::NEIGHBOURS) {
        let entry = entry?;
        // A link's target has its own place, with its own rights.
        if !entry.file_type()?.is_symlink() {
            grant(rules, &entry.path(), wanted, except)?;
        }
    }
    Ok(())
}

/// Allows rights beneath a path. One that is not there, or that we may not reach, needs none.
fn allow(rules: &Ruleset, path: &Path, wanted: u64) -> io::Result<()> {
    // Not through the standard library: musl counts O_PATH among the access modes, and those are
    // taken out of custom flags.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    let possible = match kind {
        FileType::Directory => wanted,
        _ => wanted & rights::OF_FILES,
    };
    rules.allow(file.as_fd(), possible)
}

fn system_paths() -> impl Iterator<Item = PathBuf> {
    let etc = view::SETTINGS
        .iter()
        .map(|name| Path::new("/etc").join(name));
    let others = [&view::PROGRAMS[..], &view::HARDWARE, &view::PACKAGES]
        .into_iter()
        .flatten();
    etc.chain(others.map(PathBuf::from))
}

/// The questions of the filter, which close what the other walls leave open.
pub fn filter(policy: &Policy) -> seccomp::Filter {
    let walls = policy.walls;
    let own_view = walls.own_view();
    let mut families = Vec::new();
    if policy.network || own_view {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    // Over a Unix socket one can have others do what one may not: the session's bus starts any
    // program. They are out of reach where no foreign path is seen and no abstract name either.
    let abstract_names_apart = !policy.network || walls.landlock >= landlock::SCOPES_FROM;
    if own_view && abstract_names_apart && !policy.whole {
        families.push(libc::AF_UNIX);
    }
    seccomp::Filter {
        families: families.into_iter().map(|family| family as u32).collect(),
        asks_before_signals: asks_before_signals(policy),
        steers_itself_only: !own_view,
        no_truncation: !own_view && walls.landlock < landlock::TRUNCATE_FROM,
    }
}

/// Whether the supervisor has to decide about signals, because neither a process namespace nor
/// Landlock keeps them inside.
pub fn asks_before_signals(policy: &Policy) -> bool {
    let apart = policy.walls.own_view() || policy.walls.landlock >= landlock::SCOPES_FROM;
    policy.walls.system_calls && !policy.skips(Step::SystemCalls) && !apart
}
