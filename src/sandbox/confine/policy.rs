//! What a confined child has to obey.

pub(super) mod hidden;
pub(super) mod pinned;
mod wire;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::POLICY_BYTES;
use crate::base::error::{Error, Result};
use crate::sys::beneath::canonical;
use crate::sys::file::private_folder;
use crate::sys::{process, pty};

/// Entries of each of the policy's lists; the longest honest one has a dozen.
const POLICY_ITEMS: usize = 1024;

/// Seconds of processor time of each process; a command in the foreground has less time anyway.
const CPU_SECONDS: u64 = 3600;
/// Bytes of writable memory of each process: as much as a large board has.
const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Bytes of one file that a command writes: an image of a system fits, a full card is far.
const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Most bytes of a command's /tmp, which is memory as far as it is used.
const TMP_BYTES: u64 = 256 * 1024 * 1024;
/// The share of the machine's memory that it may be where that is less: one part of so many. The same for /dev/shm.
const TMP_PARTS: u64 = 8;
/// Processes and threads of a command; a parallel build has fifty.
const PROCESSES: u64 = 512;
/// Open files of each process.
const FILES: u64 = 1024;

/// How the child gets a view of the machine of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// It does not.
    #[default]
    None,
    /// In a user namespace, as everybody may where the system allows it.
    User,
    /// Without one, as root may.
    Plain,
}

/// How the kernel isolates a child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Isolation {
    /// A view of its own.
    pub namespaces: Namespaces,
    /// The version of Landlock; 0: none.
    pub landlock: u32,
    /// The system call filter, no new privileges, no capabilities.
    pub system_calls: bool,
}

impl Isolation {
    /// Whether the child has a view of its own.
    pub fn own_view(self) -> bool {
        self.namespaces != Namespaces::None
    }
}

/// A step of the confinement that a test may leave out, to see that something then gets out.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    #[cfg(feature = "test-hooks")]
    Namespaces = 1,
    #[cfg(feature = "test-hooks")]
    FileRights = 2,
    SystemCalls = 4,
    Capabilities = 8,
    Descriptors = 16,
    Limits = 32,
    Sweep = 64,
}

/// What a child reports when a test has weakened its confinement. `cross/build` refuses a binary that
/// has this text in it.
#[cfg(feature = "test-hooks")]
#[doc(hidden)]
pub const HOOKED: &str = "a build for tests has left out a step of the confinement";

/// How tests weaken the confinement. Without the feature `test-hooks`, which no release has, there is
/// nothing in it and every step is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    #[cfg(feature = "test-hooks")]
    skip: u8,
}

impl Hooks {
    /// Leaves a step out.
    #[cfg(feature = "test-hooks")]
    pub fn skip(&mut self, step: Step) {
        self.skip |= step as u8;
    }

    /// Whether a step is left out.
    #[cfg(feature = "test-hooks")]
    pub fn skips(self, step: Step) -> bool {
        self.skip & step as u8 != 0
    }

    /// Whether a step is left out: never.
    #[cfg(not(feature = "test-hooks"))]
    pub fn skips(self, _step: Step) -> bool {
        false
    }

    #[cfg(feature = "test-hooks")]
    fn encode(self) -> u8 {
        self.skip
    }

    #[cfg(not(feature = "test-hooks"))]
    fn encode(self) -> u8 {
        0
    }

    #[cfg(feature = "test-hooks")]
    fn decode(byte: u8) -> Option<Self> {
        Some(Self { skip: byte })
    }

    #[cfg(not(feature = "test-hooks"))]
    fn decode(byte: u8) -> Option<Self> {
        (byte == 0).then_some(Self {})
    }
}

/// Limits of each process of a child (setrlimit(2)), and of the child's private /tmp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Bytes of writable memory.
    pub memory_bytes: u64,
    /// Bytes of a file that it writes.
    pub file_bytes: u64,
    /// Bytes of /tmp, which is memory.
    pub tmp_bytes: u64,
    /// Processes and threads beyond those that run already.
    pub processes: u64,
    /// Open files.
    pub files: u64,
}

/// What the child does once it is confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildTask {
    /// `sh -c` with this command.
    Shell(OsString),
    /// Tries to get out and says what happened.
    Escape,
    /// An interactive `sh` that takes its commands from the socket on which the policy came. The pipe that is
    /// the commands' input follows the policy there.
    Interactive,
}

/// Everything that a child is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How it is isolated.
    pub isolation: Isolation,
    /// Whether it may reach the network.
    pub network: bool,
    /// Whether it sees all files, less what is hidden, and not just the folders below.
    pub whole: bool,
    /// Whether the pipe that brings this policy goes on as the command's input.
    pub keep_input: bool,
    /// Whether the command's errors follow what its supervisor reports, and not its output.
    pub errors_apart: bool,
    /// The size of the terminal that the command gets; its other end goes back through the socket that brings this
    /// policy.
    pub terminal: Option<pty::Size>,
    /// What to do.
    pub task: ChildTask,
    /// Where to do it.
    pub folder: PathBuf,
    /// Device and inode that the folder has to have, or nothing is done.
    pub inode: Option<(u64, u64)>,
    /// Folders and files to read and write. Real paths, without links.
    pub write: Vec<PathBuf>,
    /// Folders and files to read.
    pub read: Vec<PathBuf>,
    /// What is not written even inside a folder to write.
    pub protect: Vec<PathBuf>,
    /// What is not seen even inside a folder to read.
    pub hide: Vec<PathBuf>,
    /// Device and inode of each path of `protect` and then of `hide`. Where something else is found, nothing is done.
    pub inodes: Vec<(u64, u64)>,
    /// Links on the way to paths of the configuration. Nothing is put in their place even inside a folder to write.
    pub fixed: Vec<PathBuf>,
    /// Links to folders, by which they are known too: a link and where it leads, one after the other.
    pub links: Vec<PathBuf>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// A folder on a disk that becomes the root of a view of its own, so that the disk's size is seen there; empty
    /// for a root in memory.
    pub root: PathBuf,
    /// The folder of the control group in which the command begins; empty for none.
    pub group: PathBuf,
    /// The limits.
    pub bounds: Bounds,
    /// What a test leaves out.
    pub hooks: Hooks,
}

/// What a policy says of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read and write.
    Write,
    /// To read.
    Read,
    /// Not to be seen.
    Hidden,
}

/// What lists of folders say of a path: what is said of the closest folder counts, and of the same
/// folder what allows less.
pub(super) fn closest<const N: usize>(
    path: &Path,
    lists: [(&[PathBuf], Access); N],
) -> Option<Access> {
    let all = lists
        .iter()
        .flat_map(|(paths, access)| paths.iter().map(move |path| (path, *access)));
    all.filter(|(folder, _)| path.starts_with(folder))
        .max_by_key(|(folder, access)| (folder.components().count(), *access as u8))
        .map(|(_, access)| access)
}

impl Policy {
    /// The paths to protect, each with its device and inode.
    pub fn protected(&self) -> impl Iterator<Item = (&Path, (u64, u64))> {
        let inodes = self.inodes.iter().copied();
        self.protect.iter().map(PathBuf::as_path).zip(inodes)
    }

    /// The paths to hide, each with its device and inode.
    pub fn hidden(&self) -> impl Iterator<Item = (&Path, (u64, u64))> {
        let inodes = self.inodes.iter().copied().skip(self.protect.len());
        self.hide.iter().map(PathBuf::as_path).zip(inodes)
    }

    /// The folders of a view of its own that are memory.
    pub fn in_memory(&self) -> &'static [&'static str] {
        match (self.isolation.own_view(), self.whole) {
            (false, _) => &[],
            (true, true) => &["/dev/shm"],
            (true, false) => &["/dev/shm", "/tmp"],
        }
    }

    /// The closest folder in which a path may be written, were it not protected.
    pub fn writable_above(&self, path: &Path) -> Option<&Path> {
        let whole = self.whole.then_some(Path::new("/"));
        let roots = self.write.iter().map(PathBuf::as_path).chain(whole);
        let roots = roots.filter(|root| path.starts_with(root));
        roots.max_by_key(|root| root.as_os_str().len())
    }

    /// What a command may do with a real path; none where the policy says nothing.
    pub fn access(&self, path: &Path) -> Option<Access> {
        closest(
            path,
            [
                (&self.write, Access::Write),
                (&self.read, Access::Read),
                (&self.protect, Access::Read),
                (&self.hide, Access::Hidden),
            ],
        )
    }

    /// Fails when the child would not take the policy: each mount that shows something hidden is a path in it.
    pub fn check_size(&self) -> Result<()> {
        let paths = self.hide.len().saturating_add(self.protect.len());
        let is_long = paths.max(self.fixed.len()) > POLICY_ITEMS;
        if !is_long && self.encode().len() <= POLICY_BYTES {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "the command was not run: what it must not see or change is at {paths} paths, more than the sandbox takes. \
             Most are mounts of the same folders (/proc/self/mountinfo): unmount some of them"
        )))
    }
}

/// Which isolation commands get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxMode {
    /// All that works, and at least namespaces or Landlock.
    #[default]
    Auto,
    /// Namespaces, and not Landlock.
    Namespaces,
    /// Landlock, and not namespaces.
    Landlock,
    /// None.
    Off,
}

/// What commands may do and see.
#[derive(Clone, Debug, Hash)]
pub struct Settings {
    /// This program, which confines itself when it is called with [`super::CONFINE`].
    pub program: PathBuf,
    /// Which isolation.
    pub mode: SandboxMode,
    /// Whether commands reach the network.
    pub network: bool,
    /// Whether commands see all files and not just the folders below.
    pub whole: bool,
    /// The folder to work in; it is HOME of commands too.
    pub workspace: PathBuf,
    /// The folder in which programs of the configuration have homes of their own; without it the workspace is theirs.
    pub programs: Option<PathBuf>,
    /// The folder with all such homes, of any agent: what such a program can write.
    pub homes: Option<PathBuf>,
    /// The home of the program that is started, which sees and writes it although it is in `home`.
    pub own: Option<PathBuf>,
    /// Further folders, read and write.
    pub write: Vec<PathBuf>,
    /// Further folders, read only.
    pub read: Vec<PathBuf>,
    /// Folders beside the workspace that some command or server of tools can write, of this agent or another one.
    pub others: Vec<PathBuf>,
    /// Never written, even inside a folder to write.
    pub protect: Vec<PathBuf>,
    /// The home of the program, of which only the workspace is seen.
    pub home: Option<PathBuf>,
    /// Never seen either, even inside a folder to read: files of keys.
    pub hide: Vec<PathBuf>,
    /// Links of the configuration, and where each leads: they are there in every view.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Further paths of the configuration. No command replaces a link on the way to one of them.
    pub named: Vec<PathBuf>,
    /// The account's home folder; it is HOME of commands outside the sandbox.
    pub account_home: Option<PathBuf>,
    /// A folder that commands in a view of their own see as `/`: on the disk of the home, and made when it is
    /// needed. Without one the root is in memory.
    pub root: Option<PathBuf>,
    /// A folder in which there is nothing: HOME outside the sandbox where commands in the sandbox can
    /// write what programs look for in the account's own. It is made when it is needed.
    pub empty_home: Option<PathBuf>,
    /// The whole environment; see [`Settings::environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// Limits of a command's processes.
    pub bounds: Bounds,
}

impl Settings {
    /// The usual ones, with this workspace and nothing beside it.
    pub fn new(workspace: &Path) -> Self {
        Self {
            // The running program, even if its file has been replaced since.
            program: "/proc/self/exe".into(),
            mode: SandboxMode::Auto,
            network: true,
            whole: false,
            workspace: workspace.to_owned(),
            programs: None,
            homes: None,
            own: None,
            write: Vec::new(),
            read: Vec::new(),
            others: Vec::new(),
            protect: Vec::new(),
            home: None,
            hide: Vec::new(),
            links: Vec::new(),
            named: Vec::new(),
            account_home: None,
            root: None,
            empty_home: None,
            environment: Vec::new(),
            bounds: Bounds {
                cpu_seconds: CPU_SECONDS,
                memory_bytes: MEMORY_BYTES,
                file_bytes: FILE_BYTES,
                tmp_bytes: TMP_BYTES.min(process::memory::memory_of_machine() / TMP_PARTS),
                processes: PROCESSES,
                files: FILES,
            },
        }
    }

    /// The clean environment: PATH with `append` behind it, HOME, LANG, TERM, TZ and the keys that
    /// the configuration allows. `variable` looks a name up in our own environment.
    pub fn environment(
        mut self,
        append: &str,
        allowed: &[String],
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let path = variable("PATH").and_then(|path| path.into_string().ok());
        let folders = path
            .as_deref()
            .unwrap_or(USUAL_PATH)
            .split(':')
            .chain(append.split(':'));
        // A relative folder would be one that the model can fill.
        let folders: Vec<&str> = folders.filter(|folder| folder.starts_with('/')).collect();
        let mut set = |name: &str, value: OsString| {
            self.environment.retain(|(known, _)| known != name);
            self.environment.push((name.into(), value));
        };
        set("PATH", folders.join(":").into());
        set("LANG", variable("LANG").unwrap_or_else(|| "C.UTF-8".into()));
        set("TERM", "dumb".into());
        for name in allowed.iter().map(String::as_str).chain(["TZ"]) {
            if let Some(value) = variable(name) {
                set(name, value);
            }
        }
        set("HOME", self.workspace.clone().into());
        self
    }

    /// The folder that commands see as `/`; `None` where there is no place for it.
    pub(super) fn root_on_disk(&self) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        if !root.is_dir() {
            std::fs::create_dir(root).ok()?;
            std::fs::set_permissions(root, Permissions::from_mode(0o755)).ok()?;
        }
        canonical(root).ok()
    }

    /// The same with the folders that there are. Those of the configuration come as real paths.
    pub(super) fn resolved(mut self) -> Result<Self> {
        let workspace = canonical(&self.workspace);
        self.workspace = workspace.map_err(Error::io("find the workspace", &self.workspace))?;
        let home = real(self.home.as_slice());
        let closed = real(&self.protect);
        // Mounted, the old root would cover what the new one has of its own.
        let top = |path: &PathBuf| path == Path::new("/");
        self.whole |= self.write.iter().any(top);
        self.write.retain(|path| !top(path));
        let within = |path: &Path, folders: &[PathBuf]| {
            folders.iter().any(|folder| path.starts_with(folder))
        };
        // A folder in the workspace is there already, and nothing of the home is given but that.
        let given = |path: &PathBuf| {
            !path.starts_with(&self.workspace) && !within(path, &home) && path.exists()
        };
        let write = std::mem::take(&mut self.write).into_iter().filter(given);
        let write = std::iter::once(self.workspace.clone()).chain(write);
        let (read, write): (Vec<_>, Vec<_>) = write.partition(|path| within(path, &closed));
        let (inside, apart): (Vec<_>, Vec<_>) = std::mem::take(&mut self.read)
            .into_iter()
            .partition(|path| within(path, &write));
        self.read = apart.into_iter().filter(given).chain(read).collect();
        self.protect.extend(inside);
        self.write = write;
        let own = match &self.own {
            Some(own) => {
                let own = canonical(own).map_err(Error::io("find the program's home", own))?;
                self.write.push(own.clone());
                own
            }
            None => self.workspace.clone(),
        };
        self.environment.retain(|(name, _)| name != "HOME");
        self.environment.push(("HOME".into(), own.into()));
        Ok(self)
    }

    /// The home of a program of the configuration, which is made when it is needed. What programs load from their home,
    /// such as `.local/lib/python3`, `.npmrc` and `.cache`, no tool and no command writes there.
    pub(super) fn program_home(&self, name: &str) -> Result<PathBuf> {
        let Some(programs) = &self.programs else {
            return Ok(self.workspace.clone());
        };
        let path = programs.join(name);
        private_folder(&path)?;
        Ok(path)
    }
}

/// The real paths of those that exist.
pub(super) fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = paths.iter().map(|path| canonical(path));
    real.filter_map(std::result::Result::ok).collect()
}

pub(super) const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[cfg(test)]
mod tests;
