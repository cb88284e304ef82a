//! `peacrab send`: how a script tells the owner something.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Context;
use super::compose::open_workspace;
use super::terminal::{input, print};
use crate::channels::{discord, telegram};
use crate::clock::Stopwatch;
use crate::config::{Home, Loaded};
use crate::error::{Error, Exit, Result};
use crate::gateway::control::{self, Request};
use crate::limits::cancel::POLL;
use crate::limits::channels::UPLOAD_BYTES;
use crate::limits::gateway::LOCK_TIME;
use crate::limits::tools::FILES_SENT;
use crate::message::{Address, NAME_MARK, OutgoingMessage};
use crate::outbox::Outbox;
use crate::state::LastChat;
use crate::sys;

const AFTER_HELP: &str = "\
Examples:
  peacrab send 'The backup is done'
  df -h | peacrab send -
  peacrab send --file plot.png 'Today'
  peacrab send --chat -100123456 'Good morning, all'";

/// `peacrab send …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// What to say, as Markdown; - reads standard input
    #[arg(value_name = "TEXT", required_unless_present = "files")]
    text: Option<String>,
    /// A file to go along; repeat for more
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The channel [default: the one that is enabled, Telegram if both are]
    #[arg(long)]
    channel: Option<String>,
    /// The chat's id [default: the chat where somebody spoke last]
    #[arg(long, allow_hyphen_values = true)]
    chat: Option<String>,
}

/// Hands it to the gateway; without one it waits for the next.
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let loaded = context.start()?;
    let home = context.home()?;
    let text = match arguments.text.as_deref() {
        Some("-") => input::whole()?,
        text => text.unwrap_or_default().to_owned(),
    };
    if text.trim().is_empty() && arguments.files.is_empty() {
        return Err(Error::Usage("there is nothing to send".to_owned()));
    }
    let chat = arguments.chat.as_deref();
    let enabled = loaded.config.channels.enabled().next();
    let channel = match &arguments.channel {
        Some(channel) => channel,
        None => enabled.map_or(telegram::NAME, |(name, _)| name),
    };
    let chat = chat.map(|chat| address(channel, chat)).transpose()?;
    let files = copy(context, &home, &loaded, &arguments.files)?;
    let request = Request::Send { chat, text, files };
    let watch = Stopwatch::start();
    // A gateway may be about to start or to end, and another send may hold the lock for an instant.
    while control::ask(&home.control(), &request)?.is_none() {
        if let Some(lock) = super::gateway::try_lock(&home)? {
            let stored = store(&home, request);
            let _ = sys::file::unlock(&lock);
            return stored.map(|()| Exit::Done);
        }
        if watch.elapsed() >= LOCK_TIME {
            return Err(Error::Failed(
                "The gateway is not answering. Try again.".to_owned(),
            ));
        }
        std::thread::sleep(POLL);
    }
    Ok(Exit::Done)
}

/// A chat's address: `--chat` may be its id alone, or all of it.
fn address(channel: &str, chat: &str) -> Result<Address> {
    let address = match chat
        .strip_prefix(channel)
        .is_some_and(|rest| rest.starts_with(':'))
    {
        true => Address::parse(chat),
        false => Address::parse(&format!("{channel}:{chat}")),
    };
    let is_number = |id: &String| id.parse::<i64>().is_ok();
    let is_known = is_number(&address.chat) && address.thread.iter().all(is_number);
    // The ids of both channels are numbers.
    match is_known || ![telegram::NAME, discord::NAME].contains(&channel) {
        true => Ok(address),
        false => Err(Error::Usage(format!(
            "{chat:?} is not the id of a chat. /id in the chat shows it."
        ))),
    }
}

/// Puts it into the outbox of a gateway that is not running.
fn store(home: &Home, request: Request) -> Result<()> {
    let Request::Send { chat, text, files } = request else {
        return Ok(());
    };
    let chat = chat.or_else(|| LastChat::new(&home.state()).get());
    let chat = chat.ok_or_else(|| {
        Error::Usage("No chat yet. Message the bot first, or use --chat ID.".to_owned())
    })?;
    let parcel = OutgoingMessage {
        files,
        ..OutgoingMessage::text(&chat, text)
    };
    Outbox::open(&home.outbox())?.add(&parcel, None)?;
    print::complain("Queued: no gateway is running. It will be sent when one starts.");
    Ok(())
}

/// Copies the files to where the gateway may read them, and where they are removed after a while.
fn copy(context: &Context, home: &Home, loaded: &Loaded, files: &[PathBuf]) -> Result<Vec<String>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    if files.len() > FILES_SENT {
        return Err(Error::Usage(format!(
            "at most {FILES_SENT} files go at a time"
        )));
    }
    sys::file::private_folder(home.path())?;
    let workspace = open_workspace(context, home, loaded)?;
    let mut copied = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut from = std::fs::File::open(file).map_err(Error::io("open", file))?;
        let length = from.metadata().map_err(Error::io("look at", file))?.len();
        if length > UPLOAD_BYTES {
            return Err(Error::TooLarge {
                what: file.display().to_string(),
                limit: UPLOAD_BYTES as usize,
            });
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = format!(
            ".results/send-{}-{number}{NAME_MARK}{name}",
            std::process::id()
        );
        let mut to = workspace.create(Path::new(&path))?;
        std::io::copy(&mut from, &mut to).map_err(Error::io("copy", file))?;
        copied.push(path);
    }
    Ok(copied)
}
