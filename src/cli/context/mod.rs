//! What every command is started with: the options, the environment, and the home folder they lead to.

mod installed;

pub use installed::HomeNote;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::level_filters::LevelFilter;

use super::Global;
use super::service;
use super::terminal::{log, print};
use crate::base::clock::Clock;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cli::IGNORED_SHOWN;
use crate::base::message::Address;
use crate::base::secret::{Eraser, Secret};
use crate::config::schema::Log;
use crate::config::{Home, Loaded, load};
use crate::models::table::PROVIDERS;
use crate::store::state::{LastChat, Pairing};
use crate::sys;
use crate::sys::environment::{self, Environment};
use crate::tools::web;

/// Which home folder a command works on when none is named and the user's own has no configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeUse {
    /// The user's own.
    Own,
    /// The installed service's, if this account can read it; else the user's own.
    Readable,
    /// The installed service's; an error if this account cannot read it.
    Installed,
}

/// What every command is started with.
#[derive(Clone)]
pub struct Context {
    global: Global,
    environment: Environment,
    /// The home folder of the installed service, if this account cannot read it.
    unreadable_home: Option<PathBuf>,
    /// Whether the command has asked for its home folder or the configuration.
    has_looked: Arc<AtomicBool>,
}

impl Context {
    /// Chooses the home folder. As root, the process becomes the account that the home belongs to, so that no file
    /// in there becomes root's and nothing in there is done with root's rights.
    pub(super) fn new(global: Global, environment: Environment, home_use: HomeUse) -> Result<Self> {
        let mut context = Self {
            global,
            environment,
            unreadable_home: None,
            has_looked: Arc::default(),
        };
        if home_use != HomeUse::Own {
            context.choose_home(home_use)?;
        }
        context.has_looked.store(false, Ordering::Relaxed);
        Ok(context)
    }

    /// The same for a service with this home, configuration file and home folder of its account: it has none of the
    /// variables of this process.
    pub fn of_service(&self, home: &Path, config: &Path, user_home: &Path) -> Self {
        let mut context = self.clone();
        context.global.home = Some(home.to_owned());
        context.global.config = Some(config.to_owned());
        let user_home = user_home.to_string_lossy().into_owned();
        context.environment = Environment::from([("HOME".to_owned(), user_home)]);
        context
    }

    /// The folder of `--home`, if it was given.
    pub fn home_option(&self) -> Option<&Path> {
        self.global.home.as_deref()
    }

    /// Whether `-q` was given.
    pub fn is_quiet(&self) -> bool {
        self.global.quiet > 0
    }

    /// Whether `--config` was given.
    pub fn is_config_named(&self) -> bool {
        self.global.config.is_some()
    }

    /// The home folder of the installed service, if this account cannot read it.
    pub fn unreadable_home(&self) -> Option<&Path> {
        self.unreadable_home.as_deref()
    }

    /// The home folder. Nothing is created.
    pub fn home(&self) -> Result<Home> {
        self.has_looked.store(true, Ordering::Relaxed);
        let variable = |name: &str| self.environment.get(name).cloned();
        Home::find(self.global.home.as_deref(), variable)
    }

    /// The environment variables.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The configuration file, whether it exists or not.
    pub fn config_file(&self) -> Result<PathBuf> {
        match &self.global.config {
            Some(file) => std::path::absolute(file).map_err(Error::io("find", file)),
            None => Ok(self.home()?.config_file()),
        }
    }

    /// Loads the configuration, without any effect on the process.
    pub fn load(&self) -> Result<Loaded> {
        load(
            &self.config_file()?,
            self.global.config.is_some(),
            &self.environment,
        )
    }

    /// How much is logged: what the configuration says, moved by `-v` and `-q`.
    pub fn log_level(&self, config: &Log) -> LevelFilter {
        log::level(config.level, self.global.verbose, self.global.quiet)
    }

    /// Redacts the secrets of the configuration, and the API keys in the environment.
    pub fn eraser(&self, loaded: &Loaded) -> Eraser {
        let variables = PROVIDERS.iter().flat_map(|provider| provider.variables);
        let variables = variables.chain(&web::VARIABLES);
        let keys = variables.filter_map(|name| self.environment.get(*name));
        Eraser::new(
            loaded
                .secrets
                .iter()
                .cloned()
                .chain(keys.map(|key| Secret::new(key))),
        )
    }

    /// Loads the configuration and applies it to the process: prints its warnings, sets the time zone,
    /// starts the log. Call it before any thread is started.
    pub fn start(&self) -> Result<Loaded> {
        // From here on keys are in memory, and commands may run as the same user.
        if let Err(error) = sys::process::set_undumpable() {
            print::complain(&format!(
                "warning: cannot protect API keys in memory from other processes of this account: {error}"
            ));
        }
        let loaded = self.load()?;
        let ignored = loaded.ignored.iter().take(IGNORED_SHOWN);
        for warning in ignored.chain(&loaded.warnings) {
            print::complain(&format!("warning: {warning}"));
        }
        let more = loaded.ignored.len().saturating_sub(IGNORED_SHOWN);
        if more > 0 {
            print::complain(&format!(
                "warning: {more} more settings are ignored; `peacrab config check` lists them"
            ));
        }
        let zone = &loaded.config.agents.defaults.timezone;
        if zone != "auto" && !environment::set_time_zone(zone) {
            print::complain("warning: cannot set the time zone; using the system's");
        }
        let settings = &loaded.config.log;
        let level = self.log_level(settings);
        let journal = self.environment.contains_key("JOURNAL_STREAM");
        log::start(
            level,
            log::Form::new(settings.format, journal),
            self.eraser(&loaded),
        );
        Ok(loaded)
    }
}

/// The private chat in which an owner wrote last, who still is one.
pub fn owner_chat(home: &Home, loaded: &Loaded) -> Option<Address> {
    let pairing = Pairing::new(&home.state(), Clock::System);
    LastChat::of_owner(&home.state()).get(&loaded.config.channels, &pairing)
}
