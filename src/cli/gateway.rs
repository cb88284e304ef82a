//! `peacrab gateway`: the daemon.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use clap::Args;

use super::Context;
use super::compose::{self, RunOptions, open_workspace};
use crate::board::Board;
use crate::channels::adapter::Adapter;
use crate::channels::discord::{self, Discord};
use crate::channels::telegram::Telegram;

use crate::clock::{Clock, Stopwatch};
use crate::config::check::token_problems;
use crate::config::schema::{Bot, Channels};
use crate::config::{Home, Loaded};
use crate::error::{Error, Exit, Result};
use crate::gateway::{Channel, Ending, Parts, run as run_gateway};
use crate::http::Tls;
use crate::inbox::Inbox;
use crate::limits::cancel::POLL;
use crate::limits::gateway::LOCK_TIME;
use crate::outbox::Outbox;
use crate::session::Settings;
use crate::state::{LastChat, Pairing};
use crate::sys;
use crate::sys::notify::Notifier;

/// `peacrab gateway`
#[derive(Debug, Args)]
pub struct Arguments {}

/// Runs the gateway until it is stopped.
pub fn run(context: &Context, _arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    check(&loaded)?;
    let home = context.home()?;
    sys::file::private_folder(home.path())?;
    let lock = take_lock(&home)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(home = %home.path().display(), "peacrab {version}: the gateway starts");
    let ending = start(context, &home, loaded)?;
    let _ = sys::file::unlock(&lock);
    match ending {
        Ending::Stopped => Ok(Exit::Done),
        Ending::Restart => Err(start_anew()),
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
    let board = Arc::new(Board::new(Path::new("/"), home.path()));
    let tls = compose::tls(&config.tls)?;
    let workspace = open_workspace(context, home, &loaded)?;
    let options = RunOptions {
        model: None,
        stream: config.channels.enabled().any(|(_, bot)| bot.streaming),
        chats: true,
        board: Arc::clone(&board),
        tls: tls.clone(),
    };
    let channels = channels(&config.channels, &tls, &state);
    let parts = Parts {
        agent: compose::agent(context, home, loaded, options)?,
        sessions: home.sessions(),
        journals: Settings::new(&config, Clock::System),
        inbox,
        outbox,
        pairing,
        workspace: Arc::new(workspace),
        files_max_bytes: config.storage.inbox_max_bytes(),
        recent: LastChat::new(&state),
        board,
        max_parallel_turns: config.agents.defaults.max_parallel_turns,
        channels: config.channels,
    };
    let variable = |name: &str| context.environment().get(name).cloned();
    run_gateway(
        parts,
        channels,
        &home.control(),
        Notifier::connect(variable).unwrap_or_else(|error| {
            tracing::warn!("systemd will not be told how it goes: {error}");
            None
        }),
    )
}

/// The channels that are enabled.
fn channels(config: &Channels, tls: &Tls, state: &Path) -> Vec<Channel> {
    let channel = |(name, bot): (&str, &Bot)| {
        let (bot, tls) = (bot.clone(), tls.clone());
        let allow_from = bot.allow_from.clone();
        let adapter: Arc<dyn Adapter> = match name {
            discord::NAME => Arc::new(Discord::new(bot, tls, Clock::System)),
            _ => Arc::new(Telegram::new(bot, tls, Clock::System).remembering(state.to_owned())),
        };
        Channel {
            adapter,
            allow_from,
        }
    };
    config.enabled().map(channel).collect()
}

/// Whether there is a channel that can be used; says what is missing.
fn check(loaded: &Loaded) -> Result<()> {
    let channels = &loaded.config.channels;
    if channels.enabled().next().is_none() {
        return Err(Error::Config(
            "No channel is enabled, so nobody could talk to the gateway. Write /newbot to @BotFather on Telegram; \
             it gives you a token for:\n  \
             peacrab onboard --telegram-token TOKEN\n\
             For Discord, set channels.discord.token and channels.discord.enabled."
                .to_owned(),
        ));
    }
    check_tokens(channels)
}

/// Fails when a channel that is enabled has no token, or one that cannot be right; says how to get one.
pub fn check_tokens(channels: &Channels) -> Result<()> {
    if let Some(problem) = token_problems(channels).first() {
        return Err(Error::Config((*problem).to_owned()));
    }
    let without = channels.enabled().find(|(_, bot)| bot.token.is_empty());
    let Some((name, _)) = without else {
        return Ok(());
    };
    let how = match name {
        discord::NAME => discord::HOW_TO_GET_A_TOKEN,
        _ => {
            "Write /newbot to @BotFather on Telegram; it gives you a token for:\n  \
             peacrab onboard --telegram-token TOKEN"
        }
    };
    Err(Error::Config(format!(
        "channels.{name}.token is empty. {how}"
    )))
}

/// Makes sure that this is the home's only gateway, and says who it is. A `peacrab send` holds the lock
/// for an instant, too.
fn take_lock(home: &Home) -> Result<File> {
    let watch = Stopwatch::start();
    loop {
        if let Some(file) = try_lock(home)? {
            return Ok(file);
        }
        if watch.elapsed() >= LOCK_TIME {
            break;
        }
        std::thread::sleep(POLL);
    }
    let pid = sys::file::read_at_most(&home.lock(), 32).unwrap_or_default();
    Err(Error::Failed(format!(
        "A gateway is already running in this home (process {}). Stop it first, or give this one its own home with \
         --home.",
        String::from_utf8_lossy(&pid).trim()
    )))
}

/// Takes the lock of the home's gateway; `None` while somebody has it.
pub fn try_lock(home: &Home) -> Result<Option<File>> {
    let path = home.lock();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    let opened = sys::file::open_regular(&path, &mut options);
    let mut file = opened.map_err(Error::io("open", &path))?;
    if !sys::file::try_lock(&file).map_err(Error::io("lock", &path))? {
        return Ok(None);
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(Error::io("write", &path))?;
    Ok(Some(file))
}

/// Puts a new run of the program in this one's place: the same process, arguments and environment.
fn start_anew() -> Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return Error::io("find", "this program")(error),
    };
    // After an update the system says that the file was deleted, and the new one lies in its place.
    let named = program.to_string_lossy();
    let program = Path::new(named.trim_end_matches(" (deleted)"));
    let failed = Command::new(program)
        .args(std::env::args_os().skip(1))
        .exec();
    Error::io("start anew", program)(failed)
}
