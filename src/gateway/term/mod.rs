//! `/term`: a terminal in a chat. Messages and buttons type into it, and one message shows its screen.
//!
//! `request` and `view` are PURE. A thread for each terminal follows it (`follow`); nothing else waits for it: what is typed
//! is left where that thread takes it. A secret never comes through the queue of messages: the channels ask before
//! they store a message.

mod asked;
mod follow;
mod picture;
mod request;
mod secret;
mod texts;
mod view;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use rustix::event::{EventfdFlags, eventfd};

use super::Gateway;
use super::commands::texts::format_error;
use super::commands::{Call, Command, KEY, ParsedMessage, TERM};
use crate::agent::commands::CommandAnswer;
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::gateway::term as limits;
use crate::base::message::{Address, DraftKey, Envelope, OutgoingMessage};
use crate::base::sync::Mutex;
use crate::sandbox::confine::Keyboard;
use crate::sys::pty::Size;
use crate::text::emulator::keys::{self, BadKeys, Key};
use crate::text::markup::inline_code;
use crate::text::one_line;
use crate::tools::commands::{OpenTerminal, TypedTerminal};

use asked::Asked;
use request::Request;

/// Columns: below this no program is usable, above it no chat shows a whole line.
const COLUMNS: std::ops::RangeInclusive<u16> = 20..=132;
/// Rows, for the same reasons.
const ROWS: std::ops::RangeInclusive<u16> = 5..=60;
/// Cells of a screen. Each takes 32 bytes, twice where a program uses the alternate screen, so that a terminal
/// stays below 250 kB; and a message of Telegram's has 4096 characters.
const CELLS_MAX: u32 = 3_200;
/// Bytes that wait to be typed into a program that does not read: a long pasted text.
const INPUT_BYTES: usize = 64 * 1024;

/// Open terminals of all chats together; each has a thread and a screen.
const OPEN_MAX: usize = 4;
/// Stack of the thread that follows a terminal; formatting a screen needs most of it.
const STACK_BYTES: usize = 256 * 1024;
/// Bytes of a `/key` command; more is better sent as a message.
const KEYS_BYTES: usize = 400;
/// Typed messages after which the screen is shown again below them.
const TYPED_ABOVE_MAX: u32 = 4;

/// The open terminals, by their chats.
#[derive(Default)]
pub struct Terminals {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    open: BTreeMap<Address, Arc<Open>>,
    /// The people who were asked for a secret.
    asked: Asked,
    is_shutting_down: bool,
}

/// Whether the chat asks for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    No,
    /// Nothing was typed since.
    Yes,
    /// Something was typed, and the program has not taken note of it yet.
    Answered,
}

/// An open terminal, as those see it who type into it.
struct Open {
    to: Address,
    /// The message that shows it.
    draft: DraftKey,
    /// The id of the person who opened it.
    person: String,
    /// Whether others are in the chat too.
    is_group: bool,
    language: Language,
    unsandboxed: bool,
    keyboard: Keyboard,
    /// Wakes the thread that follows it.
    wake: OwnedFd,
    state: Mutex<State>,
}

/// What is left for the thread of a terminal, and what that thread leaves.
struct State {
    /// What is to be typed.
    input: Vec<u8>,
    /// Why it is to be closed.
    closing: Option<Closing>,
    /// The size that it is to have.
    size: Option<Size>,
    /// The modes that the program has set.
    application_cursor: bool,
    bracketed_paste: bool,
    asking: Asking,
    /// Whether a picture of the screen is to be sent.
    wants_picture: bool,
    /// Messages that were typed in since the screen was shown at the end of the chat.
    typed: u32,
    /// Since something was typed.
    used: Stopwatch,
}

/// Why a terminal is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// A person wanted it.
    Wanted,
    /// Nobody types any more.
    Idle,
    /// The gateway ends.
    Shutdown,
    /// The person who opened it is no owner any more.
    NotOwner,
}

impl Terminals {
    fn at(&self, chat: &Address) -> Option<Arc<Open>> {
        self.inner.lock().open.get(chat).cloned()
    }

    /// Adds a terminal; an error when there is no room for it, or no longer.
    fn add(&self, open: &Arc<Open>) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.is_shutting_down {
            return Err(Error::Stopped);
        }
        inner.check_room(&open.to, open.language)?;
        inner.open.insert(open.to.clone(), Arc::clone(open));
        Ok(())
    }

    fn remove(&self, chat: &Address) {
        self.inner.lock().open.remove(chat);
    }

    /// Closes all, now and from now on: the gateway stops.
    pub fn shut_down(&self) {
        let mut inner = self.inner.lock();
        inner.is_shutting_down = true;
        inner
            .open
            .values()
            .for_each(|open| open.close(Closing::Shutdown));
    }

    /// Whether one is open.
    pub fn is_any_open(&self) -> bool {
        !self.inner.lock().open.is_empty()
    }
}

impl Inner {
    fn check_room(&self, chat: &Address, language: Language) -> Result<()> {
        if self.open.contains_key(chat) {
            return Err(Error::Usage(texts::already_open(language).to_owned()));
        }
        if self.open.len() >= OPEN_MAX {
            return Err(Error::Usage(texts::too_many(language, &OPEN_MAX)));
        }
        Ok(())
    }
}

impl Open {
    /// Whether a message is by the person who opened it. In a private chat nobody else writes.
    fn is_by(&self, message: &Envelope) -> bool {
        message
            .sender()
            .is_some_and(|sender| sender.id == self.person)
    }

    /// Leaves something to be typed; false when too much waits already.
    fn push(&self, bytes: &[u8]) -> bool {
        let mut state = self.state.lock();
        state.used = Stopwatch::start();
        if state.asking == Asking::Yes {
            state.asking = Asking::Answered;
        }
        if state.input.len() + bytes.len() > INPUT_BYTES {
            return false;
        }
        state.input.extend_from_slice(bytes);
        drop(state);
        self.wake();
        true
    }

    /// Notes whether the chat asks for a secret now, and returns whether it did.
    fn ask(&self, hides_input: bool) -> Asking {
        let mut state = self.state.lock();
        let before = state.asking;
        state.asking = match (hides_input, before) {
            (false, _) => Asking::No,
            (true, Asking::No) => Asking::Yes,
            (true, asking) => asking,
        };
        before
    }

    fn close(&self, why: Closing) {
        self.state.lock().closing.get_or_insert(why);
        self.wake();
    }

    fn resize(&self, size: Size) {
        self.state.lock().size = Some(size);
        self.wake();
    }

    fn wake(&self) {
        // Full, it has been woken often enough.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// The bytes of a message that is typed; `None` when it is not for the terminal.
    fn bytes_of(
        &self,
        message: &Envelope,
        command: Option<&Command>,
    ) -> Option<std::result::Result<Vec<u8>, BadKeys>> {
        if let Some(argument) = argument_of(command, KEY) {
            let application_cursor = self.state.lock().application_cursor;
            if argument.len() > KEYS_BYTES {
                return Some(Err(BadKeys::TooMany));
            }
            let pressed = keys::parse(argument);
            return Some(pressed.map(|keys| keys::encode(&keys, application_cursor)));
        }
        if !is_text(message, command) {
            return None;
        }
        let (text, end): (&str, &[u8]) = match message.typed_text().strip_suffix('\\') {
            Some(text) => (text, b""),
            None => (message.typed_text(), b"\r"),
        };
        let bracketed_paste = self.state.lock().bracketed_paste;
        let mut bytes = keys::encode_text(text, bracketed_paste);
        bytes.extend_from_slice(end);
        Some(Ok(bytes))
    }
}

/// The argument of a command of this name.
fn argument_of<'a>(command: Option<&'a Command>, name: &str) -> Option<&'a str> {
    let command = command.filter(|command| command.is(name));
    command.map(|command| command.argument.as_str())
}

/// Whether a message types something that a program could take for a secret: not only Ctrl-C or the like.
fn may_be_secret(message: &Envelope, command: Option<&Command>) -> bool {
    let types_text = |argument| match keys::parse(argument) {
        Ok(keys) => keys.iter().any(|key| matches!(key, Key::Text(_))),
        Err(bad) => bad != BadKeys::Missing,
    };
    let is_typed = message.pressed.is_none() && !message.is_relayed;
    is_text(message, command) || is_typed && argument_of(command, KEY).is_some_and(types_text)
}

/// Whether a message is a text that a person typed. A word with a slash that is not a command is a search in an editor.
fn is_text(message: &Envelope, command: Option<&Command>) -> bool {
    command.is_none_or(|command| command.row.is_none())
        && !message.is_relayed
        && !message.text.is_empty()
        && message.attachments.is_empty()
        && message.remote_files.is_empty()
}

impl Gateway {
    /// Types a message into the terminal of its chat. Returns whether it was for that.
    pub(super) fn type_message(self: &Arc<Self>, message: &ParsedMessage) -> bool {
        let to = message.address();
        let Some(open) = self.terminals.at(&to).filter(|open| open.is_by(message)) else {
            return false;
        };
        let language = message.language();
        let command = message.command();
        let bytes = open.bytes_of(message, command);
        if message.role < Role::Owner {
            open.close(Closing::NotOwner);
            // What was meant for the terminal is not meant for a model.
            if bytes.is_none() && argument_of(command, TERM).is_none() {
                return false;
            }
            self.forget(message);
            return true;
        }
        match bytes {
            None => {
                // At once and not on a thread of its own: what is typed next is for the new size.
                let request = argument_of(command, TERM).map(request::parse);
                if !request.is_some_and(|request| self.change_terminal(&open, &request)) {
                    return false;
                }
            }
            Some(Err(bad)) => self.say_later(&to, &describe_bad(&bad, language)),
            Some(Ok(bytes)) if open.push(&bytes) => {
                if message.pressed.is_none() {
                    self.lower_terminal(&open);
                }
            }
            Some(Ok(_)) => self.say_later(&to, texts::input_full(language)),
        }
        self.forget(message);
        true
    }

    /// Does what a `/term` says about an open terminal. Returns whether it said something of that kind.
    fn change_terminal(&self, open: &Open, request: &Request<'_>) -> bool {
        match request {
            Request::Close => open.close(Closing::Wanted),
            Request::Picture => {
                open.state.lock().wants_picture = true;
                open.wake();
            }
            Request::Open {
                unsandboxed: false,
                size,
                line: "",
            } => {
                if let Some(size) = size {
                    open.resize(*size);
                }
                self.show_terminal_below(open);
            }
            Request::Open { .. } | Request::BadSize => return false,
        }
        true
    }

    /// Shows the screen below what was typed, when that has pushed it up.
    fn lower_terminal(&self, open: &Open) {
        if !self.edits(&open.to) {
            // It is sent below anyway, once it is still.
            return;
        }
        let mut state = open.state.lock();
        state.typed += 1;
        if state.typed >= TYPED_ABOVE_MAX {
            state.typed = 0;
            drop(state);
            self.show_terminal_below(open);
        }
    }

    fn show_terminal_below(&self, open: &Open) {
        if let Some(delivery) = self.delivery(&open.to) {
            delivery.lower(&open.draft);
        }
    }

    /// Answers a `/key` for which there is no terminal.
    pub(super) fn answer_key(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let text = match self.terminals.at(&call.message.address()) {
            Some(_) => texts::not_yours(call.language),
            None => texts::none_open(call.language),
        };
        Ok(text.to_owned().into())
    }

    /// Performs `/term`.
    pub(super) fn terminal(self: &Arc<Self>, call: &Call<'_>) {
        match self.try_terminal(call) {
            Ok(()) => self.parts.inbox.taken(&call.message.id),
            Err(_) if self.approvals.says_refusal(&call.message.id) => {
                self.parts.inbox.taken(&call.message.id);
            }
            Err(error) => self.finish_command(call.message, format_error(&error, call.language)),
        }
    }

    fn try_terminal(self: &Arc<Self>, call: &Call<'_>) -> Result<()> {
        let Call {
            message,
            argument,
            language,
            cancel,
        } = *call;
        let to = message.address();
        let usage = |text: &str| Err(Error::Usage(text.to_owned()));
        let open = self.terminals.at(&to);
        let request = request::parse(argument);
        if let Some(open) = &open
            && self.change_terminal(open, &request)
        {
            return Ok(());
        }
        let (unsandboxed, size, line) = match (request, open) {
            (Request::BadSize, _) => {
                let span =
                    |of: std::ops::RangeInclusive<u16>| format!("{}-{}", of.start(), of.end());
                let (columns, rows) = (span(COLUMNS), span(ROWS));
                let text = texts::bad_size(language, &columns, &rows, &CELLS_MAX);
                return usage(&text);
            }
            (Request::Close | Request::Picture, _) => return usage(texts::none_open(language)),
            (Request::Open { .. }, Some(_)) => return usage(texts::already_open(language)),
            (
                Request::Open {
                    unsandboxed,
                    size,
                    line,
                },
                None,
            ) => (unsandboxed, size, line),
        };
        self.terminals.inner.lock().check_room(&to, language)?;
        // From here on it does not open again after a kill.
        self.parts.inbox.begin(&message.id)?;
        let typed = TypedTerminal {
            line,
            unsandboxed,
            language,
            size: size.unwrap_or(request::USUAL),
        };
        let opened = self.start_terminal(message, typed, cancel)?;
        self.follow_terminal(message, typed, opened)
    }

    /// Starts the command, once a person has allowed what has to be.
    fn start_terminal(
        self: &Arc<Self>,
        message: &Envelope,
        typed: TypedTerminal<'_>,
        cancel: &Cancel,
    ) -> Result<Box<OpenTerminal>> {
        let hosted = self.agent_for(&self.live(), &message.session, Some(message));
        let agent = hosted.agent()?;
        let toolbox = agent.toolbox();
        self.run_typed(message, &hosted, cancel, |caller| {
            toolbox.terminal(typed, caller)
        })
    }

    /// Shows a terminal in its chat, on a thread of its own.
    fn follow_terminal(
        self: &Arc<Self>,
        message: &Envelope,
        typed: TypedTerminal<'_>,
        opened: Box<OpenTerminal>,
    ) -> Result<()> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|error| Error::io("follow", "a terminal")(error.into()))?;
        let open = Arc::new(Open {
            to: message.address(),
            draft: DraftKey::terminal(&message.id),
            person: message
                .sender()
                .map_or_else(String::new, |sender| sender.id.clone()),
            is_group: message.is_group,
            language: typed.language,
            unsandboxed: typed.unsandboxed,
            keyboard: opened.terminal.keyboard()?,
            wake,
            state: Mutex::new(State {
                input: Vec::new(),
                closing: None,
                size: None,
                application_cursor: false,
                bracketed_paste: false,
                asking: Asking::No,
                wants_picture: false,
                typed: 0,
                used: Stopwatch::start(),
            }),
        });
        self.terminals.add(&open)?;
        let (gateway, size) = (Arc::clone(self), typed.size);
        let builder = thread::Builder::new().name("terminal".to_owned());
        let to = open.to.clone();
        let spawned = crate::base::sync::spawn(
            builder.stack_size(STACK_BYTES),
            Box::new(move || follow::follow(&gateway, &open, *opened, size)),
        );
        spawned.map_err(|error| {
            self.terminals.remove(&to);
            Error::Failed(format!("The terminal has no thread: {error}"))
        })
    }

    /// Tells the chats whose terminals the last run has left open that they are closed.
    pub(super) fn settle_terminals(&self) {
        let pending = self.parts.outbox.pending();
        for channel in self.deliveries.keys() {
            for draft in self.parts.outbox.drafts(channel) {
                let is_told = pending
                    .iter()
                    .any(|pending| pending.message.replaces.as_ref() == Some(&draft.key));
                if draft.key.is_of_terminal() && !is_told {
                    let language = self.parts.languages.get(&draft.to);
                    self.tell_with(OutgoingMessage {
                        replaces: Some(draft.key),
                        ..OutgoingMessage::text(&draft.to, texts::restarted(language))
                    });
                }
            }
        }
    }
}

fn describe_bad(bad: &BadKeys, language: Language) -> String {
    match bad {
        BadKeys::Missing => texts::key_usage(language).to_owned(),
        BadKeys::Unknown(word) => {
            let word = inline_code(&one_line(word, limits::TITLE_CHARS));
            texts::unknown_key(language, &word)
        }
        BadKeys::Unclosed => texts::unclosed(language).to_owned(),
        BadKeys::TooMany => texts::too_many_keys(language, &limits::KEYS_MAX),
    }
}
