//! Commands that the kernel confines.
//!
//! [`Exec`] starts a fresh process of this program for each command. It gets its `policy` over a
//! pipe, confines itself and becomes the command (see `child`), so nothing delicate happens between
//! fork and exec, and a daemon with threads can do it. What the kernel supports is found out once, by
//! trying; where neither namespaces nor Landlock work nothing is run.

mod child;
mod exec;
mod explain;
mod outside;
mod policy;
mod run;
mod self_test;
mod served;
mod session;
mod shell;
mod terminal;

use crate::base::sync::Mutex;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

pub use super::hold::{Change, Held, Hold, Writing};
pub use child::remove_leftovers;
pub use explain::Note;
#[cfg(feature = "test-hooks")]
#[doc(hidden)]
pub use policy::{HOOKED, Step};
pub use policy::{Isolation, Namespaces, SandboxMode, Settings};
pub use run::{Captured, End, Outcome, Output, OutputChunk};
pub use self_test::EscapeAttempt;
pub use served::{Served, ServedErrors, Service};
pub use session::{Observer, SessionEvent, SessionInfo, SessionStart, Sessions, UnreadOutput};
pub use shell::{Shell, ShellInput, ShellLine, ShellOutcome, Shells, Taken, Unread, short_folder};
pub use terminal::{Keyboard, Terminal, TerminalEvent, TerminalRequest};

use crate::base::error::{Error, Result};
use crate::sys::{landlock, seccomp};
use policy::pinned::{Found, Pinned};
use policy::{ChildTask, Hooks, Policy, hidden};
use run::{Running, Spawned, SupervisorReport};
use std::time::Duration;

/// Bytes of a confined child's policy; a command line of Linux is at most 128 KiB.
const POLICY_BYTES: usize = 512 * 1024;
/// Wait between two such rounds, for the killed ones to be gone.
const SWEEP_PAUSE: Duration = Duration::from_millis(5);
/// Neighbours of a protected path that get their rights one by one.
const NEIGHBOURS: usize = 4096;
/// Bytes of output that are kept for the conversation; the rest goes to a file.
const OUTPUT_BYTES: usize = 64 * 1024;
/// Bytes of output after which a command is stopped: nobody will read it, and the card fills.
/// In the tests for emulated boards (`cross/build --tests`) it is less: they would take minutes for so much.
const FLOOD_BYTES: u64 = match cfg!(emulated) {
    true => 4 * 1024 * 1024,
    false => 64 * 1024 * 1024,
};
/// How often whoever watches an output is told that nothing new has come.
const OUTPUT_LOOK: Duration = Duration::from_secs(1);
/// Bytes read from a pipe at once: a screen of output. Each command at work holds them.
const PIPE_BYTES: usize = 8 * 1024;
/// Bytes read at once of what a supervisor says, which is a few lines.
const STATUS_BYTES: usize = 512;
/// How long a command may take until it is confined, on a board that is very busy with something else. Only for waits that a
/// stop ends; others have [`TRY_TIME`].
const START_TIME: Duration = Duration::from_mins(1);
/// How long finding out what the kernel supports may take. On the slowest board it needs 50 ms.
const TRY_TIME: Duration = Duration::from_secs(10);

/// The hidden subcommand. `main` has to look for it before anything else.
pub const CONFINE: &str = "__confine";

/// Confines this process as the policy on its standard input says and becomes the command. It must
/// be called before anything else has been set up, by a process that was started for this.
pub fn confine_main() -> ! {
    child::main()
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct ShellCommand<'a> {
    /// What `sh -c` gets.
    pub line: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// The folder's device and inode. When another folder has its path by then, nothing runs.
    pub inode: Option<(u64, u64)>,
    /// Whether it runs without isolation, because a person has allowed that for this one command.
    pub unsandboxed: bool,
}

/// A command and what it gets beside what the settings say.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The command.
    pub command: &'a ShellCommand<'a>,
    /// Its standard input, which has to fit into a pipe; `None`: nothing.
    pub input: Option<&'a [u8]>,
    /// Files and folders that it can read, also within what is hidden from commands.
    pub shown: &'a [PathBuf],
}

/// Runs commands, isolated as the settings say.
pub struct Exec {
    settings: Settings,
    home: Option<hidden::Home>,
    /// What is protected, and what is hidden beside the home.
    protect: Vec<Pinned>,
    hide: Vec<Pinned>,
    /// The isolation that works here, once tried.
    isolation: Arc<Mutex<Option<Isolation>>>,
    /// Who else changes files, or needs them unchanged.
    hold: Arc<Hold>,
    hooks: Hooks,
    /// The newest version of Landlock that is used.
    #[cfg(feature = "test-hooks")]
    landlock: u32,
}

impl Exec {
    /// Makes ready; nothing is tried before the first command.
    pub fn new(settings: Settings) -> Result<Self> {
        let home = match &settings.home {
            Some(path) => hidden::Home::hold(path)?,
            None => None,
        };
        let settings = settings.resolved()?;
        Ok(Self {
            home,
            protect: Pinned::all(&settings.protect),
            hide: Pinned::all(&settings.hide),
            settings,
            isolation: Arc::default(),
            hold: Arc::default(),
            hooks: Hooks::default(),
            #[cfg(feature = "test-hooks")]
            landlock: u32::MAX,
        })
    }

    /// The same commands, of which none changes these places either.
    pub fn protecting(&self, places: &[PathBuf]) -> Result<Self> {
        let mut settings = self.settings.clone();
        settings.protect.extend_from_slice(places);
        self.with_settings(settings)
    }

    /// The same, for a program of the configuration: its home is its own, and not the workspace.
    pub fn of_program(&self, name: &str) -> Result<Self> {
        let mut settings = self.settings.clone();
        settings.own = Some(self.program_home(name)?);
        self.with_settings(settings.resolved()?)
    }

    /// That home: a folder that no tool and no command writes to.
    pub fn program_home(&self, name: &str) -> Result<PathBuf> {
        self.settings.program_home(name)
    }

    fn with_settings(&self, settings: Settings) -> Result<Self> {
        Ok(Self {
            home: match &settings.home {
                Some(path) => hidden::Home::hold(path)?,
                None => None,
            },
            protect: Pinned::all(&settings.protect),
            hide: Pinned::all(&settings.hide),
            settings,
            isolation: Arc::clone(&self.isolation),
            hold: Arc::clone(&self.hold),
            hooks: self.hooks,
            #[cfg(feature = "test-hooks")]
            landlock: self.landlock,
        })
    }

    /// Shares its changes of files with others.
    #[must_use]
    pub fn sharing(mut self, hold: Arc<Hold>) -> Self {
        self.hold = hold;
        self
    }

    /// Who changes files, or needs them unchanged.
    pub fn changes(&self) -> &Arc<Hold> {
        &self.hold
    }

    /// Leaves a step of the confinement out, for the tests that show that the step is needed.
    #[cfg(feature = "test-hooks")]
    #[doc(hidden)]
    pub fn without(mut self, step: Step) -> Self {
        self.hooks.skip(step);
        self
    }

    /// Uses Landlock as an older kernel has it, for the tests that show that it is enough.
    #[cfg(feature = "test-hooks")]
    #[doc(hidden)]
    pub fn with_landlock_at_most(mut self, version: u32) -> Self {
        self.landlock = version;
        self
    }

    /// The folder that commands work in: its real path.
    pub fn workspace(&self) -> &Path {
        &self.settings.workspace
    }

    /// Whether commands in the sandbox are shown what is at this path of the board.
    pub fn is_shown(&self, path: &Path) -> bool {
        let Settings {
            workspace,
            write,
            read,
            ..
        } = &self.settings;
        let mut shown = write.iter().chain(read).chain([workspace]);
        shown.any(|folder| path.starts_with(folder))
    }

    /// The environment of commands in the sandbox.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.settings.environment
    }

    /// The isolation that commands get here. Where the kernel supports too little, the error says what
    /// to change.
    pub fn isolation(&self) -> Result<Isolation> {
        let mut known = self.isolation.lock();
        if let Some(isolation) = *known {
            return Ok(isolation);
        }
        let isolation = self.kernel_support().isolation(self.settings.mode)?;
        *known = Some(isolation);
        Ok(isolation)
    }

    /// The policy of a child with this isolation, with what there is to hide and to protect now.
    fn policy(&self, isolation: Isolation, task: ChildTask, folder: &Path) -> Result<Policy> {
        self.policy_by(&self.settings, isolation, task, folder)
    }

    fn policy_by(
        &self,
        settings: &Settings,
        isolation: Isolation,
        task: ChildTask,
        folder: &Path,
    ) -> Result<Policy> {
        let (mut hide, mut protect, mut fixed) = (Found::default(), Found::default(), Vec::new());
        if isolation.system_calls {
            let home = self
                .home
                .as_ref()
                .map(|home| home.path().map(Path::to_owned));
            let home = home.transpose()?;
            let workspace = Some(&*settings.workspace);
            hide = Found::look(&self.hide, &settings.hide, home.as_slice(), workspace)?;
            protect = Found::look(&self.protect, &settings.protect, &[], None)?;
            fixed = settings.links_to_keep();
        }
        let inodes = [protect.inodes, hide.inodes].concat();
        #[cfg(feature = "test-hooks")]
        let isolation = self.weakened(isolation);
        let policy = Policy {
            isolation,
            network: settings.network,
            whole: settings.whole,
            keep_input: false,
            errors_apart: false,
            terminal: None,
            task,
            folder: folder.to_owned(),
            inode: None,
            write: settings.write.clone(),
            read: settings.read.clone(),
            protect: protect.paths,
            hide: hide.paths,
            inodes,
            fixed,
            links: settings
                .links
                .iter()
                .flat_map(|(link, target)| [link.clone(), target.clone()])
                .collect(),
            environment: settings.environment.clone(),
            root: PathBuf::new(),
            group: match isolation.system_calls {
                true => self.hold.group().unwrap_or(Path::new("")).to_owned(),
                false => PathBuf::new(),
            },
            bounds: settings.bounds,
            hooks: self.hooks,
        };
        policy.check_size()?;
        Ok(policy)
    }

    #[cfg(feature = "test-hooks")]
    fn weakened(&self, mut isolation: Isolation) -> Isolation {
        if self.hooks.skips(Step::Namespaces) {
            isolation.namespaces = Namespaces::None;
        }
        isolation.landlock = match self.hooks.skips(Step::FileRights) {
            true => 0,
            false => isolation.landlock.min(self.landlock),
        };
        isolation
    }

    /// The isolation of a command that starts now.
    fn isolation_of_commands(&self) -> Result<Isolation> {
        // Before the kernel is tried, for with a home that was moved nothing is started.
        self.home
            .as_ref()
            .map_or(Ok(()), |home| home.path().map(drop))?;
        self.isolation()
    }

    /// The policy of a command.
    fn policy_for(&self, command: &ShellCommand<'_>) -> Result<Policy> {
        let isolation = match command.unsandboxed {
            true => Isolation::default(),
            false => self.isolation_of_commands()?,
        };
        let task = ChildTask::Shell(command.line.into());
        let mut policy = self.policy(isolation, task, command.folder)?;
        let is_swappable = command.unsandboxed || self.settings.is_writable(command.folder);
        // The sandbox has a /tmp of its own, which is another folder.
        policy.inode = command.inode.filter(|_| is_swappable);
        if isolation.own_view() && !policy.whole {
            policy.root = self.settings.root_on_disk().unwrap_or_default();
        }
        if command.unsandboxed {
            policy.environment = self.settings.outside_environment()?;
        }
        Ok(policy)
    }

    /// Starts a child with its policy.
    fn start(&self, policy: &Policy) -> Result<Running> {
        let spawned = self.spawn(policy, Stdio::piped(), Stdio::piped())?;
        Running::new(spawned, policy)
    }

    /// Starts a child, which waits for its policy on its input.
    fn spawn(&self, policy: &Policy, input: Stdio, output: Stdio) -> Result<Spawned> {
        let is_confined = policy.isolation.system_calls;
        let change = is_confined.then(|| self.hold.change()).transpose()?;
        let child = Command::new(&self.settings.program)
            .arg(CONFINE)
            .env_clear()
            .current_dir("/")
            .stdin(input)
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io("start", &self.settings.program))?;
        Ok(Spawned { child, change })
    }

    /// After a failure the kernel is tried again: a setting of the system may have changed.
    fn forget_isolation(&self) {
        *self.isolation.lock() = None;
    }
}

/// What the kernel supports.
#[derive(Clone, Debug)]
pub struct KernelSupport {
    /// Whether it filters system calls.
    pub system_calls: bool,
    /// The version of Landlock; 0: none.
    pub landlock: u32,
    /// The namespaces that work, or why none do.
    pub namespaces: Result<Namespaces, String>,
    /// What commands lack without being less isolated, such as /proc.
    pub notes: Vec<String>,
}

impl KernelSupport {
    /// The isolation that a mode uses. An error says what is missing and what to change.
    pub fn isolation(&self, mode: SandboxMode) -> Result<Isolation> {
        let namespaces = match mode {
            SandboxMode::Auto | SandboxMode::Namespaces => {
                self.namespaces.clone().unwrap_or_default()
            }
            SandboxMode::Landlock | SandboxMode::Off => Namespaces::None,
        };
        let landlock = match mode {
            SandboxMode::Auto | SandboxMode::Landlock => self.landlock,
            SandboxMode::Namespaces | SandboxMode::Off => 0,
        };
        let off = mode == SandboxMode::Off;
        let isolation = Isolation {
            namespaces,
            landlock,
            system_calls: !off,
        };
        let enough = isolation.own_view() || landlock > 0;
        if off || (enough && self.system_calls) {
            Ok(isolation)
        } else {
            Err(self.refusal(mode))
        }
    }

    fn refusal(&self, mode: SandboxMode) -> Error {
        let namespaces = match (mode, &self.namespaces) {
            (SandboxMode::Landlock, _) => "namespaces are turned off".to_owned(),
            (_, Err(why)) => format!("namespaces do not work ({why})"),
            (_, Ok(_)) => "namespaces work".to_owned(),
        };
        let landlock = match (mode, self.landlock) {
            (SandboxMode::Namespaces, _) => "Landlock is turned off",
            (_, 0) => "the kernel has no Landlock",
            _ => "Landlock works",
        };
        let filter = if self.system_calls {
            ""
        } else {
            ", and it does not filter system calls"
        };
        let setting = match mode {
            SandboxMode::Namespaces | SandboxMode::Landlock => {
                ", or set tools.exec.sandbox to \"auto\"; with \"off\""
            }
            SandboxMode::Auto | SandboxMode::Off => "; with tools.exec.sandbox set to \"off\"",
        };
        Error::Failed(format!(
            "commands cannot be sandboxed here, so none are run: {namespaces}, {landlock}{filter}. Allow user namespaces \
             (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns=0), or boot the kernel with \
             lsm=landlock{setting} commands run without isolation"
        ))
    }
}

impl Exec {
    /// Finds out what the kernel supports. It takes a few milliseconds.
    pub fn kernel_support(&self) -> KernelSupport {
        let mut notes = Vec::new();
        KernelSupport {
            system_calls: seccomp::available(),
            landlock: landlock::version(),
            namespaces: self.namespaces(&mut notes),
            notes,
        }
    }

    /// Tries the namespaces with a command that does nothing: on some systems they can be made and
    /// are then of no use (AppArmor on Ubuntu), on others they cannot be made at all.
    fn namespaces(&self, notes: &mut Vec<String>) -> Result<Namespaces, String> {
        let mut first = None;
        for namespaces in [Namespaces::User, Namespaces::Plain] {
            if namespaces == Namespaces::Plain && !crate::sys::process::is_administrator() {
                continue;
            }
            let report = self
                .try_namespaces(namespaces)
                .map_err(|error| error.to_string())?;
            match (report.failed, report.confined) {
                (None, true) => {
                    *notes = report.notes;
                    return Ok(namespaces);
                }
                (failed, _) => {
                    let why = failed.unwrap_or_else(|| "the first process was killed".to_owned());
                    first.get_or_insert(why);
                }
            }
        }
        Err(first.unwrap_or_default())
    }

    fn try_namespaces(&self, namespaces: Namespaces) -> Result<SupervisorReport> {
        let isolation = Isolation {
            namespaces,
            landlock: 0,
            system_calls: seccomp::available(),
        };
        let task = ChildTask::Shell(":".into());
        // A path that a command has swapped for another one must not look like a kernel without them: there is none.
        let mut policy = self.policy(Isolation::default(), task, Path::new("/"))?;
        policy.isolation = isolation;
        for paths in [&mut policy.write, &mut policy.read] {
            paths.clear();
        }
        let mut running = self.start(&policy)?;
        let mut buffer = [0; STATUS_BYTES];
        let watch = crate::base::clock::Stopwatch::start();
        while watch.elapsed() < TRY_TIME {
            let left = TRY_TIME.saturating_sub(watch.elapsed());
            match running.read_pipes(&mut buffer, left) {
                Ok(event) if !event.closed => {}
                _ => break,
            }
        }
        Ok(std::mem::take(&mut running.report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(landlock: u32, namespaces: Result<Namespaces, String>) -> KernelSupport {
        KernelSupport {
            system_calls: true,
            landlock,
            namespaces,
            notes: Vec::new(),
        }
    }

    #[test]
    fn auto_takes_all_that_works_and_needs_one_of_the_two() {
        let forbidden = || Err("not permitted".to_owned());
        let both = offer(7, Ok(Namespaces::User))
            .isolation(SandboxMode::Auto)
            .unwrap();
        assert_eq!((both.own_view(), both.landlock), (true, 7));
        let one = offer(2, forbidden()).isolation(SandboxMode::Auto).unwrap();
        assert_eq!((one.own_view(), one.landlock), (false, 2));
        let other = offer(0, Ok(Namespaces::Plain))
            .isolation(SandboxMode::Auto)
            .unwrap();
        assert_eq!((other.own_view(), other.landlock), (true, 0));
        let none = offer(0, forbidden())
            .isolation(SandboxMode::Auto)
            .unwrap_err()
            .to_string();
        assert!(
            none.contains("not permitted") && none.contains("sysctl"),
            "{none}"
        );
    }

    #[test]
    fn a_choice_is_not_replaced_by_another_one() {
        let forbidden = offer(7, Err("not permitted".to_owned()));
        assert!(forbidden.isolation(SandboxMode::Namespaces).is_err());
        assert!(
            offer(0, Ok(Namespaces::User))
                .isolation(SandboxMode::Landlock)
                .is_err()
        );
        let alone = offer(7, Ok(Namespaces::User))
            .isolation(SandboxMode::Namespaces)
            .unwrap();
        assert_eq!(alone.landlock, 0);
    }

    #[test]
    fn nothing_runs_without_the_filter_unless_all_is_off() {
        let mut offer = offer(7, Ok(Namespaces::User));
        offer.system_calls = false;
        assert!(offer.isolation(SandboxMode::Auto).is_err());
        assert_eq!(
            offer.isolation(SandboxMode::Off).unwrap(),
            Isolation::default()
        );
    }
}
