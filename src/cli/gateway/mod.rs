//! `peacrab gateway`: the daemon.

mod greeting;
pub mod reload;

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use clap::Args;

use super::Context;
use super::channels::{check_settings, pair_command};
use super::compose;
use super::service::has_update_unit;
use super::terminal::print;
use super::update;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cancel::POLL;
use crate::base::message::SessionKey;
use crate::base::sync::Mutex;
use crate::board::Board;
use crate::board::watch;
use crate::channels::intake::AccessList;
use crate::channels::{http, table};
use crate::config::agents::MAIN;
use crate::config::schema::{Bot, Channels};
use crate::config::{Home, Loaded};
use crate::gateway::heartbeat::has_tasks as has_heartbeat;
use crate::gateway::watch::Watching;
use crate::gateway::{Channel, Ending, Parts, Updates, run as run_gateway};
use crate::net::http::Tls;
use crate::schedule::Store;
use crate::store::inbox::Inbox;
use crate::store::outbox::Outbox;
use crate::store::outgoing::OutgoingFiles;
use crate::store::state::updates::UpdateRequest;
use crate::store::state::{
    Approvals, AskedSecrets, KnownTime, Languages, LastChat, OpenQuestions, Pairing,
    RestartRequests, Starts, ToolApprovals,
};
use crate::sys;
use crate::sys::notify::Notifier;
use crate::update::{Staged, current};
use reload::Reloader;
use std::time::Duration;

/// How long a gateway that starts waits for the lock of the home: a `peacrab send` has it for an
/// instant.
const LOCK_TIME: Duration = Duration::from_secs(3);

/// `peacrab gateway`
#[derive(Debug, Args)]
pub struct Arguments {}

/// Runs the gateway until it is stopped.
#[inline(never)]
pub fn run(context: &Context, _arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    check(&home, &loaded)?;
    sys::file::private_folder(home.path())?;
    let lock = take_lock(&home)?;
    compose::remove_unused_homes(&home, &loaded);
    let version = current();
    tracing::info!(home = %home.path().display(), "peacrab {version}: the gateway starts");
    let ending = start(context, &home, loaded)?;
    let _ = sys::file::unlock(&lock);
    match ending {
        Ending::Stopped => Ok(Exit::Done),
        Ending::Restart => Err(restart()),
    }
}

fn start(context: &Context, home: &Home, loaded: Loaded) -> Result<Ending> {
    let config = loaded.config.clone();
    let state = home.state();
    let inbox = Arc::new(Inbox::open(&home.inbox(), Clock::System)?);
    let outbox = Arc::new(Outbox::open(&home.outbox())?);
    for repair in inbox.repairs().into_iter().chain(outbox.repairs()) {
        tracing::warn!("{repair}");
    }
    let pairing = Arc::new(Pairing::new(&state, Clock::System));
    for error in damaged_files(&state) {
        tracing::error!("{error}");
    }
    let board = Arc::new(Board::here(home.path()));
    let tls = compose::tls(&config.tls)?;
    let reloader = Arc::new(Reloader::new(context, home, &loaded, &board, &tls));
    let (to_check, checker) = (context.clone(), Arc::clone(&reloader));
    let to_show = context.clone();
    let mut channels = channels(&config.channels, &tls, &state, &reloader);
    let (servers, http) = http::open(&config.http, &pairing, &state)?.unzip();
    let servers = servers.into_iter().flatten();
    channels.extend(servers.map(|adapter| Channel {
        adapter,
        access: AccessList::default(),
    }));
    let ignored_settings = loaded.ignored.clone();
    let live = reloader.make(loaded, None)?;
    let default_agent = live.agents.default_agent();
    let lacks_model = default_agent.lacks_model(&SessionKey::parse("default"));
    let greet =
        greeting::is_wanted(context).then(|| greeting::prepare(&channels, &pairing, lacks_model));
    let updates = Updates {
        staged: Staged::new(home.update()),
        requested: UpdateRequest::new(&state),
        tls: tls.clone(),
        program: update::program()?,
        has_unit: has_update_unit(context, home),
        command: update::command(context)?,
    };
    crate::sandbox::confine::remove_leftovers();
    let parts = Parts {
        live: Arc::new(Mutex::new(Arc::new(live))),
        reload: Mutex::new(Box::new(move |live| reloader.reload(live))),
        check_start: Box::new(move || check_start(&to_check, &checker)),
        settings: Box::new(move || Ok(to_show.load()?.describe())),
        inbox,
        outbox,
        pair_command: pair_command(context)?,
        pairing,
        files_max_bytes: config.storage.inbox_max_bytes(),
        owner_chat: LastChat::of_owner(&state),
        known_time: KnownTime::new(&state),
        state: state.clone(),
        languages: Arc::new(Languages::new(&state)),
        restarts: RestartRequests::new(&state),
        asked: AskedSecrets::new(&state),
        open_questions: OpenQuestions::new(&state),
        updates,
        jobs: Store::open(home.path()),
        board,
        outgoing: OutgoingFiles::new(home.outgoing()),
        ignored_settings,
        starts: Starts::new(&state),
        watches: Watching::new(home.path()),
        http,
        max_parallel_turns: config.agents.defaults.max_parallel_turns,
        send_max_retries: config.channels.send_max_retries,
    };
    let variable = |name: &str| context.environment().get(name).cloned();
    run_gateway(
        parts,
        channels,
        &home.control(),
        Notifier::connect(variable).unwrap_or_else(|error| {
            tracing::warn!("failed to reach systemd's notification socket: {error}");
            None
        }),
        // It says that Ctrl-C stops the gateway.
        || greet.map_or((), greeting::print_later),
    )
}

/// Does what can fail in a start because of the configuration, as it is now.
fn check_start(context: &Context, reloader: &Reloader) -> Result<()> {
    let loaded = context.load()?;
    check(&context.home()?, &loaded)?;
    compose::tls(&loaded.config.tls)?;
    reloader.make(loaded, None).map(drop)
}

/// What is wrong with the files that say who may do what: with a damaged one no person is paired, or no
/// standing approval applies.
pub fn damaged_files(state: &Path) -> Vec<Error> {
    let pairing = Pairing::new(state, Clock::System).list().err();
    let approvals = Approvals::new(state).list(None).err();
    let tools = ToolApprovals::new(state, MAIN).hashes().err();
    let errors = [pairing, approvals, tools].into_iter();
    errors.flatten().collect()
}

/// The channels that are enabled.
fn channels(config: &Channels, tls: &Tls, state: &Path, reloader: &Reloader) -> Vec<Channel> {
    let channel = |bot: &Bot| {
        Some(Channel {
            adapter: table::find(bot.name)?.adapter(bot.clone(), tls, state.to_owned()),
            access: reloader.access_list(bot.name),
        })
    };
    config.enabled().filter_map(channel).collect()
}

/// Refuses a configuration with which the gateway does not start as a service, by what that sees: it has no variables of
/// this shell. Says what starts and will not work.
pub fn check_service(service: &Context) -> Result<()> {
    let tried = || {
        let loaded = service.load()?;
        check(&service.home()?, &loaded)?;
        compose::models_of(service, &loaded)
    };
    let models = tried().map_err(|error| match error {
        Error::Config(why) => Error::Config(format!(
            "The service would not start, so it is not installed. {why}"
        )),
        error => error,
    })?;
    let route = models.primary();
    if compose::who_answers(&models).is_none() {
        print::complain(
            "warning: no model is connected, so the offline helper will answer. Connect one with `peacrab onboard`",
        );
    } else if route.needs_key && route.key.is_empty() {
        print::complain(&format!(
            "warning: the service will have no API key for {0}: it does not see the variables of your shell. \
             Set it: peacrab config set providers.{0}.apiKey",
            route.provider
        ));
    }
    Ok(())
}

/// Whether there is something to do, and each channel can be used; says what is missing.
fn check(home: &Home, loaded: &Loaded) -> Result<()> {
    let channels = &loaded.config.channels;
    http::check(&loaded.config.http)?;
    if channels.enabled().next().is_some() || loaded.config.http.enabled {
        return check_channels(channels);
    }
    if !has_own_work(home, loaded)? {
        return Err(Error::Config(
            "No channel is enabled, and there are no jobs, no watches and no tasks in HEARTBEAT.md: there is \
             nothing to do. To connect a Telegram bot, create one with @BotFather (/newbot) and run:\n  \
             peacrab onboard\n\
             For other services see `peacrab channels list` and README.md."
                .to_owned(),
        ));
    }
    tracing::warn!(
        "no channel is enabled: jobs, watches and the heartbeat run, and nothing can be sent to a chat"
    );
    Ok(())
}

/// Whether something runs without a message of a person.
fn has_own_work(home: &Home, loaded: &Loaded) -> Result<bool> {
    let has_jobs = Store::open(home.path())
        .read()?
        .jobs
        .iter()
        .any(|job| job.enabled);
    let has_backups = loaded.config.backup.every > 0;
    if has_jobs || has_backups || !watch::Store::open(home.path()).read()?.is_empty() {
        return Ok(true);
    }
    let mut agents = loaded.config.agents.profiles().into_iter();
    Ok(loaded.config.heartbeat.enabled
        && agents.any(|agent| has_heartbeat(&home.workspace(&agent.settings.workspace))))
}

/// Fails when a channel that is enabled lacks a setting, or has one that cannot be right; says what to do.
pub fn check_channels(channels: &Channels) -> Result<()> {
    channels
        .enabled()
        .try_for_each(|bot| match table::find(bot.name) {
            Some(service) => check_settings(service, bot),
            None => Err(Error::Config(format!(
                "channels.{0}.enabled is true, but this program was built without {0}",
                bot.name
            ))),
        })
}

/// Locks the home, so that this is its only gateway, and writes the process's id into the file. A
/// `peacrab send` holds the lock for an instant, too.
fn take_lock(home: &Home) -> Result<File> {
    let watch = Stopwatch::start();
    loop {
        if let Some(file) = home.try_lock()? {
            return Ok(file);
        }
        if watch.elapsed() >= LOCK_TIME {
            break;
        }
        std::thread::sleep(POLL);
    }
    let pid = sys::file::read_at_most(&home.lock(), 32).unwrap_or_default();
    Err(Error::Failed(format!(
        "A gateway is already running in this home (process {}). Stop it first, or use another home with --home.",
        String::from_utf8_lossy(&pid).trim()
    )))
}

/// Replaces this process by a new run of the program, with the same arguments and environment. Returns
/// only when that fails.
fn restart() -> Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Error::io("find", "this program")(error),
    };
    // After an update the kernel calls the running file deleted; the new one has the same path.
    let named = program.to_string_lossy();
    let program = Path::new(named.trim_end_matches(" (deleted)"));
    let failed = Command::new(program)
        .args(std::env::args_os().skip(1))
        .exec();
    Error::io("restart", program)(failed)
}
