//! Commands that the kernel confines.
//!
//! [`Exec`] starts a fresh process of this program for each command. It gets its `policy` over a
//! pipe, confines itself and becomes the command (see `confine`), so nothing delicate happens between
//! fork and exec, and a daemon with threads can do it. What the kernel offers is found out once, by
//! trying; where neither namespaces nor Landlock work nothing is run.

mod confine;
pub mod offer;
mod output;
mod policy;
mod run;
mod self_test;
mod session;
mod settings;
mod view;

use std::path::Path;
use std::process::{Command, Stdio};

pub use offer::Offer;
pub use output::{Captured, Output, Piece};
#[doc(hidden)]
pub use policy::Step;
pub use policy::{Namespaces, Walls};
pub use run::{End, Outcome};
pub use self_test::Row;
pub use session::{Listed, Sessions, Since};
pub use settings::{Choice, Settings};

use crate::error::{Error, Result};
use crate::sync::Mutex;
use policy::{Policy, Task};
use run::Running;

/// The hidden subcommand. `main` has to look for it before anything else.
pub const CONFINE: &str = "__confine";

/// Confines this process as the policy on its standard input says and becomes the command. It must
/// be called before anything else has been set up, by a process that was started for this.
pub fn confine_main() -> ! {
    confine::main()
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// What `sh -c` gets.
    pub command: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// Whether a person has lifted the sandbox for this one command.
    pub lifted: bool,
}

/// Runs commands within the walls.
pub struct Exec {
    settings: Settings,
    /// The walls that hold, once tried.
    walls: Mutex<Option<Walls>>,
    skip: u8,
    /// The newest version of Landlock that is used.
    landlock: u32,
}

impl Exec {
    /// Makes ready; nothing is tried before the first command.
    pub fn new(settings: Settings) -> Result<Self> {
        Ok(Self {
            settings: settings.resolved()?,
            walls: Mutex::new(None),
            skip: 0,
            landlock: u32::MAX,
        })
    }

    /// Leaves a step of the confinement out, for the tests that show that the step is needed.
    #[doc(hidden)]
    pub fn without(mut self, step: Step) -> Self {
        self.skip |= step as u8;
        self
    }

    /// Uses Landlock as an older kernel has it, for the tests that show that it is enough.
    #[doc(hidden)]
    pub fn with_landlock_at_most(mut self, version: u32) -> Self {
        self.landlock = version;
        self
    }

    /// The walls that stand around a command here; an error that says what to change where there
    /// are not enough.
    pub fn walls(&self) -> Result<Walls> {
        let mut known = self.walls.lock();
        if let Some(walls) = *known {
            return Ok(walls);
        }
        let walls = self.offer().walls(self.settings.choice)?;
        *known = Some(walls);
        Ok(walls)
    }

    /// What a command would be told, within these walls.
    fn policy(&self, walls: Walls, task: Task, folder: &Path) -> Policy {
        let settings = &self.settings;
        let skips = |step: Step| self.skip & step as u8 != 0;
        let walls = Walls {
            namespaces: match skips(Step::Namespaces) {
                true => Namespaces::None,
                false => walls.namespaces,
            },
            landlock: match skips(Step::FileRights) {
                true => 0,
                false => walls.landlock.min(self.landlock),
            },
            ..walls
        };
        Policy {
            walls,
            network: settings.network,
            whole: settings.whole,
            keep_input: false,
            task,
            folder: folder.to_owned(),
            write: settings.write.clone(),
            read: settings.read.clone(),
            protect: settings.protect.clone(),
            hide: settings.hide.clone(),
            environment: settings.environment.clone(),
            bounds: settings.bounds,
            skip: self.skip,
        }
    }

    /// What a job is told.
    fn policy_for(&self, job: &Job<'_>) -> Result<Policy> {
        let walls = match job.lifted {
            true => Walls::default(),
            false => self.walls()?,
        };
        Ok(self.policy(walls, Task::Shell(job.command.into()), job.folder))
    }

    /// Starts a child with its policy.
    fn start(&self, policy: &Policy) -> Result<Running> {
        let child = Command::new(&self.settings.program)
            .arg(CONFINE)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io("start", &self.settings.program))?;
        Running::new(child, policy)
    }

    /// After a failure the walls are tried again: a setting of the system may have changed.
    fn forget_walls(&self) {
        *self.walls.lock() = None;
    }
}
