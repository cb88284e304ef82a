//! The jobs of the home, for the tool and the slash commands.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::board::watch;
use crate::cli::cron::zone_of;
use crate::config::{Home, Loaded};
use crate::gateway::control::{self, CronRequest, Request};
use crate::schedule::Store;
use crate::tools::Toolbox;
use crate::tools::cron::{Planner, Runner};
use crate::tools::watch::Watches;

/// The jobs; `None` where they are turned off.
pub fn planner(home: &Home, loaded: &Loaded) -> Option<Arc<Planner>> {
    loaded.config.cron.enabled.then(|| {
        Arc::new(Planner {
            store: Store::open(home.path()),
            zone: zone_of(loaded),
            clock: Clock::System,
            runner: Box::new(OverSocket(home.control())),
            agent: loaded
                .config
                .agents
                .are_several()
                .then(|| loaded.agent_id().to_owned()),
        })
    })
}

/// The watches; `None` where they are turned off.
pub fn watches(home: &Home, loaded: &Loaded) -> Option<Watches> {
    let control = home.control();
    let changed = move || {
        let request = Request::Watch("changed".to_owned());
        if let Err(error) = control::ask(&control, &request) {
            // It sees the change in the file itself.
            tracing::debug!("failed to tell the gateway about a change of the watches: {error}");
        }
    };
    let store = watch::Store::open(home.path());
    let watches = Watches::new(store, Box::new(changed));
    loaded.config.watch.enabled.then_some(watches)
}

/// Adds the tools for both.
pub fn add_to(
    mut toolbox: Toolbox,
    (planner, watches): (Option<Arc<Planner>>, Option<Watches>),
) -> Toolbox {
    if let Some(planner) = planner {
        toolbox = toolbox.with_cron(planner);
    }
    match watches {
        Some(watches) => toolbox.with_watches(watches),
        None => toolbox,
    }
}

/// The gateway that runs the jobs, by the path of its control socket: this process, another one, or none.
struct OverSocket(PathBuf);

impl Runner for OverSocket {
    fn look_again(&self) {
        if let Err(error) = control::ask(&self.0, &Request::Cron(CronRequest::Changed)) {
            // It sees the change in the file itself, a little later.
            tracing::debug!("failed to tell the gateway about a change of the jobs: {error}");
        }
    }

    fn is_running(&self) -> bool {
        matches!(control::ask(&self.0, &Request::Version), Ok(Some(_)))
    }

    fn run(&self, id: &str) -> Result<String> {
        let request = Request::Cron(CronRequest::Run { id: id.to_owned() });
        let answer = control::ask(&self.0, &request)?;
        answer.ok_or_else(|| {
            Error::Failed("no gateway is running, and jobs run there: `peacrab gateway`".to_owned())
        })
    }
}
