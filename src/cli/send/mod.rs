//! `peacrab send`: how a script sends a message.

mod columns;
pub mod texts;

use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Context;
use super::terminal::print;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Exit, Result};
use crate::base::limits::cancel::POLL;
use crate::base::limits::channels::UPLOAD_BYTES;
use crate::base::limits::tools::{FILES_SENT, SHELL_CHARS};
use crate::base::message::{Address, OutgoingMessage, Writer};
use crate::channels::{table, telegram};
use crate::cli::context::owner_chat;
use crate::config::channels::Bot;
use crate::config::{Home, Loaded};
use crate::gateway::control::{self, Request};
use crate::store::outbox::Outbox;
use crate::store::outgoing::OutgoingFiles;
use crate::sys;
use crate::text::{end_in_lines, markup};
use std::time::Duration;

/// How long a `peacrab send` waits for a gateway that starts or ends: some seconds on a board.
const SEND_LOCK_TIME: Duration = Duration::from_secs(15);
/// Bytes that `peacrab send` takes from standard input: more is a file to attach.
const SEND_INPUT_BYTES: u64 = 4 * 1024 * 1024;

const AFTER_HELP: &str = "\
Examples:
  peacrab send 'The backup is done'
  df -h | peacrab send
  peacrab send --file plot.png 'Today'
  peacrab send --chat -100123456 'Good morning, all'

The output tells whether the message was sent, or queued because the channel \
cannot be reached or no gateway is running. With -q there is no output.";

/// The name of the file for text that is too long for a message.
const INPUT_NAME: &str = "output.txt";

/// `peacrab send …`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The message, as Markdown; - or nothing reads standard input
    #[arg(value_name = "TEXT")]
    words: Vec<String>,
    /// Attach a file; repeat for more
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send to this channel, such as telegram [default: the first one that is enabled]
    #[arg(long)]
    channel: Option<String>,
    /// Send to this chat ID [default: the one in which an owner wrote last]
    #[arg(long, alias = "to", value_name = "ID", allow_hyphen_values = true)]
    chat: Option<String>,
    /// Send the text as code, in a fixed-width font [default: only if it has columns]
    #[arg(long)]
    code: bool,
    /// Do not wait until the channel has confirmed the message
    #[arg(long)]
    no_wait: bool,
}

/// Hands the message to the gateway; without one it waits for the next.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    if arguments.files.len() > FILES_SENT {
        return Err(texts::too_many_files(FILES_SENT));
    }
    let input = read_input(arguments)?;
    let words = arguments.words.join(" ");
    let text = input.as_deref().unwrap_or(&words);
    if text.trim().is_empty() && arguments.files.is_empty() {
        return Err(texts::nothing_to_send());
    }
    let loaded = context.start()?.of_agent(None)?;
    let home = context.home()?;
    let chat = find_chat(&loaded, arguments)?;
    let is_long = input.is_some() && text.chars().count() > SHELL_CHARS;
    let mut files = Vec::new();
    if is_long || !arguments.files.is_empty() {
        sys::file::private_folder(home.path())?;
        let outgoing = OutgoingFiles::new(home.outgoing());
        if is_long {
            files.push(outgoing.store(INPUT_NAME, text.as_bytes())?);
        }
        for file in &arguments.files {
            files.push(copy(&outgoing, file)?);
        }
    }
    let request = Request::Send {
        chat,
        text: compose(text, is_long, arguments.code),
        files,
        waits: !arguments.no_wait,
    };
    let outcome = hand_over(&home, &loaded, request)?;
    if !context.is_quiet() {
        print::line(&outcome)?;
    }
    Ok(Exit::Done)
}

/// Asks the gateway to send it, or stores it for the next one. Returns what became of it.
pub(super) fn hand_over(home: &Home, loaded: &Loaded, request: Request) -> Result<String> {
    let watch = Stopwatch::start();
    // A gateway may be about to start or to end, and another send may have the lock for an instant.
    loop {
        if let Some(outcome) = control::ask(&home.control(), &request)? {
            return Ok(outcome);
        }
        if let Some(lock) = home.try_lock()? {
            let stored = store(home, loaded, request);
            let _ = sys::file::unlock(&lock);
            return stored.map(|()| texts::QUEUED.to_owned());
        }
        if watch.elapsed() >= SEND_LOCK_TIME {
            return Err(texts::no_answer());
        }
        std::thread::sleep(POLL);
    }
}

/// The address that the arguments name; `None` for the one in which an owner wrote last.
fn find_chat(loaded: &Loaded, arguments: &Arguments) -> Result<Option<Address>> {
    let named = arguments
        .chat
        .as_deref()
        .and_then(|chat| chat.split_once(':'));
    // The chat may be its ID alone, or all of its address.
    let prefix = named
        .map(|(channel, _)| channel)
        .filter(|channel| channel.parse::<i64>().is_err());
    let enabled = loaded.config.channels.enabled().next();
    let channel = match (arguments.channel.as_deref(), prefix) {
        (Some(channel), Some(prefix)) if channel != prefix => {
            let chat = arguments.chat.as_deref().unwrap_or_default();
            return Err(texts::two_channels(channel, chat));
        }
        (Some(channel), _) | (None, Some(channel)) => channel,
        (None, None) => enabled.map_or(telegram::NAME, |bot| bot.name),
    };
    let Some(bot) = loaded.config.channels.named(channel) else {
        return Err(Error::Usage(texts::unknown_channel(channel)));
    };
    if !bot.enabled {
        return Err(texts::disabled_channel(channel));
    }
    let Some(chat) = arguments.chat.as_deref() else {
        return Ok(None);
    };
    let address = match prefix {
        Some(_) => Address::parse(chat),
        None => Address::parse(&format!("{channel}:{chat}")),
    };
    if reaches(loaded, bot, &address)? {
        Ok(Some(address))
    } else {
        Err(texts::invalid_chat(chat))
    }
}

/// Whether a channel can deliver to an address, by its form.
fn reaches(loaded: &Loaded, bot: Bot, address: &Address) -> Result<bool> {
    let Some(service) = table::find(bot.name) else {
        return Ok(false);
    };
    let tls = crate::cli::compose::tls(&loaded.config.tls)?;
    let adapter = service.adapter(bot, &tls, PathBuf::new());
    Ok(adapter.is_group(address).is_some())
}

/// Standard input, if it was asked for or if nothing else is to be sent.
fn read_input(arguments: &Arguments) -> Result<Option<String>> {
    let mut stdin = std::io::stdin().lock();
    match &*arguments.words {
        [word] if word == "-" => {}
        [] if arguments.files.is_empty() && !stdin.is_terminal() => {}
        _ => return Ok(None),
    }
    let mut bytes = Vec::new();
    let read = stdin
        .by_ref()
        .take(SEND_INPUT_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(Error::io("read", "standard input"))?;
    if bytes.len() as u64 > SEND_INPUT_BYTES {
        return Err(Error::TooLarge {
            what: "the text on standard input".to_owned(),
            limit: SEND_INPUT_BYTES as usize,
        });
    }
    if bytes.contains(&0) {
        return Err(texts::binary_input());
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The message for some text: as code if that is wanted or if it has columns; of long text the end.
fn compose(text: &str, is_long: bool, is_code: bool) -> String {
    let text = text.trim_end();
    let is_code = is_code || is_long || columns::has_columns(text);
    let end = if is_long {
        end_in_lines(text, SHELL_CHARS)
    } else {
        text
    };
    let mut message = if is_code {
        markup::code_block(end, "")
    } else {
        end.to_owned()
    };
    if is_long {
        message.push_str("\n\n");
        message.push_str(texts::SHORTENED);
    }
    message
}

/// Puts it into the outbox of a gateway that is not running.
fn store(home: &Home, loaded: &Loaded, request: Request) -> Result<()> {
    let Request::Send {
        chat, text, files, ..
    } = request
    else {
        return Ok(());
    };
    let chat = chat.or_else(|| owner_chat(home, loaded));
    let chat = chat.ok_or_else(texts::no_chat)?;
    let message = OutgoingMessage {
        files,
        from: Writer::Notice,
        ..OutgoingMessage::text(&chat, text)
    };
    let message = OutgoingFiles::new(home.outgoing()).taken_along(message);
    Outbox::open(&home.outbox())?.add(&message, None)?;
    Ok(())
}

/// Copies a file to where the gateway reads it, and nothing in the sandbox.
fn copy(outgoing: &OutgoingFiles, file: &Path) -> Result<String> {
    let mut from = std::fs::File::open(file).map_err(Error::io("open", file))?;
    let about = from.metadata().map_err(Error::io("look at", file))?;
    if about.is_dir() {
        return Err(Error::io("send", file)(ErrorKind::IsADirectory.into()));
    }
    if about.len() > UPLOAD_BYTES {
        return Err(Error::TooLarge {
            what: file.display().to_string(),
            limit: UPLOAD_BYTES as usize,
        });
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (path, mut to) = outgoing.create(&name)?;
    let copied = std::io::copy(&mut from, &mut to).and_then(|_| to.flush());
    if let Err(error) = copied {
        outgoing.remove(&path);
        return Err(Error::io("copy", file)(error));
    }
    Ok(path)
}
