//! What goes out: first what is owed, then what is only shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::api::{Api, ApiError, Place, SendAs, Upload, Words};
use super::backoff::Backoff;
use super::draft::{Display, Draft};
use super::html::{self, Piece};
use super::pace::Pace;
use super::question;
use super::{Parts, Watched};
use crate::approval::Question;
use crate::bus::{Heard, OutboundReceiver, Pulse};
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::limits::channels::{
    DISPLAYS, IDLE_LOOK, LONGEST_BACKOFF, OUTAGE_LOOK, PATIENCE, PHOTO_BYTES,
};
use crate::message::{Address, Outbound, OutgoingMessage};
use crate::outbox::Owed;
use crate::sys::memory;

pub(super) type Sent<T = ()> = Result<T, ApiError>;

/// The thread that sends.
pub(super) struct Sender {
    pub(super) parts: Arc<Parts>,
    pub(super) api: Api,
    outbound: OutboundReceiver,
    cancel: Cancel,
    pulse: Pulse,
    pub(super) displays: BTreeMap<Address, Display>,
    /// Questions that are to be asked, and those whose buttons are to go.
    pub(super) questions: Vec<(Address, u64, Box<Question>)>,
    pub(super) settled: Vec<(Address, u64, String)>,
    pub(super) pace: Pace,
    watch: Stopwatch,
    backoff: Backoff,
    /// Until when nothing is tried after a failure, unless Telegram is reached again before.
    resting_until: Duration,
    reached: Arc<AtomicBool>,
    /// When the menu of commands is to be set; none: it is.
    menu_at: Option<Duration>,
    is_over: bool,
}

impl Sender {
    pub fn new(parts: Arc<Parts>, api: Api, outbound: OutboundReceiver, watched: Watched) -> Self {
        Self {
            backoff: Backoff::new("sending to Telegram", parts.clock.clone()),
            parts,
            api,
            outbound,
            cancel: watched.cancel,
            pulse: watched.pulse,
            reached: watched.reached,
            displays: BTreeMap::new(),
            questions: Vec::new(),
            settled: Vec::new(),
            pace: Pace::default(),
            watch: Stopwatch::start(),
            resting_until: Duration::ZERO,
            menu_at: Some(Duration::ZERO),
            is_over: false,
        }
    }

    /// Sends until the token is raised or the gateway has gone.
    pub fn run(mut self) {
        while !self.cancel.is_cancelled() && !self.is_over {
            let wait = match self.work() {
                Ok(wait) => wait,
                Err(ApiError::Stopped) => break,
                Err(error) => {
                    let wait = self
                        .backoff
                        .failed(&error, self.parts.channels.send_max_retries);
                    self.resting_until = self.now() + wait;
                    self.reached.store(false, Ordering::Relaxed);
                    wait.min(OUTAGE_LOOK)
                }
            };
            self.pulse.beat(wait + 4 * PATIENCE);
            self.hear(wait);
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.watch.elapsed()
    }

    /// Takes everything that has come, waiting for the first of it.
    fn hear(&mut self, wait: Duration) {
        let mut wait = wait;
        if wait >= IDLE_LOOK {
            memory::give_back_stack();
        }
        loop {
            match self.outbound.receive(wait) {
                Heard::Outbound(outbound) => self.note(outbound),
                Heard::Nothing => return,
                Heard::Closed => {
                    self.is_over = true;
                    return;
                }
            }
            wait = Duration::ZERO;
        }
    }

    fn note(&mut self, outbound: Outbound) {
        let now = self.now();
        match outbound {
            Outbound::Owed => {}
            Outbound::Taken { chat, reference } => {
                if !self.parts.channels.telegram.react_emoji.is_empty() {
                    self.display(chat, |display| display.react(reference));
                }
            }
            Outbound::Working(chat) => self.display(chat, |display| display.is_working = true),
            Outbound::Resting(chat) => self.display(chat, |display| {
                display.is_working = false;
                display.forget_draft();
            }),
            Outbound::Draft {
                chat,
                text,
                reply_to,
            } => {
                let draft = Draft { text, reply_to };
                self.display(chat, |display| display.draft(draft, now));
            }
            Outbound::Asked {
                chat,
                number,
                question,
            } => self.questions.push((chat, number, question)),
            Outbound::Settled {
                chat,
                number,
                outcome,
            } => {
                self.questions.retain(|(_, other, _)| *other != number);
                self.settled.push((chat, number, outcome));
            }
        }
    }

    /// Changes what a chat shows. Of too many chats those that show nothing are forgotten.
    pub(super) fn display(&mut self, chat: Address, change: impl FnOnce(&mut Display)) {
        if self.displays.len() >= DISPLAYS {
            self.displays.retain(|_, display| !display.is_idle());
        }
        if self.displays.len() < DISPLAYS || self.displays.contains_key(&chat) {
            change(self.displays.entry(chat).or_default());
        }
    }

    /// Does what can be done now; says how long nothing else can.
    fn work(&mut self) -> Sent<Duration> {
        if self.reached.swap(false, Ordering::Relaxed) {
            self.resting_until = Duration::ZERO;
        }
        let resting = self.resting_until.saturating_sub(self.now());
        if !resting.is_zero() {
            return Ok(resting.min(OUTAGE_LOOK));
        }
        while self.deliver_next()? {}
        self.settle()?;
        self.ask()?;
        let wait = self.show()?;
        match self.menu_at {
            Some(at) if at <= self.now() => self.set_menu(),
            _ => Ok(wait),
        }
    }

    /// Telegram's menu shows the commands. It is no reason to keep anybody waiting, so what stands in
    /// its way is tried again much later.
    fn set_menu(&mut self) -> Sent<Duration> {
        let again = match self.api.set_my_commands(&self.parts.menu) {
            Ok(()) => {
                self.backoff.worked();
                None
            }
            Err(ApiError::Stopped) => return Err(ApiError::Stopped),
            Err(error) => {
                tracing::warn!("the menu of commands is not set: {error}");
                let wait = match &error {
                    ApiError::TooManyRequests { retry_after } => *retry_after,
                    _ => LONGEST_BACKOFF,
                };
                (!error.is_final()).then(|| self.now() + wait)
            }
        };
        self.menu_at = again;
        // Something may have come meanwhile.
        Ok(Duration::ZERO)
    }

    /// Sends the next part of what is owed; false when none can be sent now.
    fn deliver_next(&mut self) -> Sent<bool> {
        let now = self.now();
        let must_wait = |chat: &Address| {
            Place::of(chat).is_some_and(|place| !self.pace.wait(place.chat, now).is_zero())
        };
        let Some(owed) = self.parts.outbox.next(super::NAME, &must_wait) else {
            return Ok(false);
        };
        if self.cancel.is_cancelled() {
            return Err(ApiError::Stopped);
        }
        self.pulse.beat(4 * PATIENCE);
        let chat = owed.parcel.to.clone();
        match self.deliver(&owed) {
            Ok(()) => {
                self.backoff.worked();
                Ok(true)
            }
            Err(error) => self.undelivered(&owed, error, &chat).map(|()| true),
        }
    }

    /// What becomes of a part that was not sent: some things come right by waiting, others never.
    fn undelivered(&mut self, owed: &Owed, error: ApiError, chat: &Address) -> Sent {
        match error {
            ApiError::TooManyRequests { retry_after } => {
                self.hold(chat, retry_after);
                Ok(())
            }
            ApiError::Gone {
                moved_to: Some(moved_to),
                ..
            } => {
                let place = Place {
                    chat: moved_to,
                    thread: None,
                };
                tracing::info!(%chat, to = moved_to, "the group has moved, and what is owed to it follows");
                let parcel = OutgoingMessage {
                    to: place.key(),
                    ..owed.parcel.clone()
                };
                self.parts.outbox.add(&parcel, None)?;
                Ok(self.parts.outbox.done(owed.id)?)
            }
            error if error.is_final() => {
                tracing::error!(%chat, "what is owed cannot be delivered and is given up: {error}");
                Ok(self.parts.outbox.done(owed.id)?)
            }
            error => Err(error),
        }
    }

    /// Telegram wants a chat to wait. The others need not.
    pub(super) fn hold(&mut self, chat: &Address, time: Duration) {
        tracing::warn!(%chat, seconds = time.as_secs(), "Telegram wants us to wait");
        let place = Place::of(chat).map_or(0, |place| place.chat);
        let now = self.now();
        self.pace.hold(place, time, now);
    }

    /// Sends the first part of a parcel that is not confirmed: a piece of its text, or a file.
    fn deliver(&mut self, owed: &Owed) -> Sent {
        let Owed {
            id, parcel, pieces, ..
        } = owed;
        let texts = html::render(&parcel.text);
        let total = texts.len() + parcel.files.len();
        let Some(place) = Place::of(&parcel.to) else {
            tracing::error!(chat = %parcel.to, "this is no chat of Telegram's; what is owed to it is given up");
            return Ok(self.parts.outbox.done(*id)?);
        };
        if !parcel.replaces_draft {
            self.remove_draft(&parcel.to, place)?;
            if let Some(display) = self.displays.get_mut(&parcel.to) {
                display.show_again();
            }
        }
        if let Some(piece) = texts.get(*pieces) {
            let is_last = *pieces + 1 == texts.len();
            self.deliver_text(place, parcel, piece, (*pieces == 0, is_last))?;
        } else if let Some(file) = parcel.files.get(pieces.saturating_sub(texts.len())) {
            self.deliver_file(place, file)?;
        }
        let now = self.now();
        self.pace.sent(place.chat, now);
        match pieces + 1 >= total {
            true => Ok(self.parts.outbox.done(*id)?),
            false => Ok(self.parts.outbox.sent(*id, pieces + 1)?),
        }
    }

    fn deliver_text(
        &mut self,
        place: Place,
        parcel: &OutgoingMessage,
        piece: &Piece,
        (is_first, is_last): (bool, bool),
    ) -> Sent {
        let buttons = match is_last {
            true => question::words(&parcel.buttons),
            false => Vec::new(),
        };
        let draft = match is_first && parcel.replaces_draft {
            true => self.take_draft(&parcel.to),
            false => None,
        };
        let quotes = self.parts.channels.telegram.reply_to_message && is_first;
        let reply_to = parcel.reply_to.parse().ok().filter(|_| quotes);
        let send = |words: &Words<'_>| match draft {
            Some(message) => match self.api.edit_message_text(place, message, words) {
                Err(ApiError::NotModified) => Ok(()),
                Err(ApiError::MessageGone) => {
                    self.api.send_message(place, words, reply_to).map(drop)
                }
                done => done,
            },
            None => self.api.send_message(place, words, reply_to).map(drop),
        };
        let words = Words {
            text: &piece.html,
            html: true,
            buttons: &buttons,
        };
        match send(&words) {
            Err(ApiError::CannotParse(said)) => {
                tracing::warn!(chat = %parcel.to, "sent as plain text, because Telegram says: {said}");
                send(&Words {
                    text: &piece.plain,
                    html: false,
                    ..words
                })
            }
            done => done,
        }
    }

    /// The message that shows the work whose result comes now.
    fn take_draft(&mut self, chat: &Address) -> Option<i64> {
        if let Some(display) = self.displays.get_mut(chat) {
            display.forget_draft();
        }
        self.parts.outbox.draft(chat)?.parse().ok()
    }

    /// Sends a file of the workspace; what stands in the way is told in its place.
    fn deliver_file(&self, place: Place, path: &str) -> Sent {
        let name = OutgoingMessage::name_of(path);
        let sent = self.upload(place, path, name);
        let Err(ApiError::Local(_) | ApiError::Refused(_) | ApiError::TooLong) = &sent else {
            return sent;
        };
        let why = sent
            .err()
            .map_or_else(String::new, |error| error.to_string());
        tracing::warn!(chat = %place.key(), "a file is not sent: {why}");
        let words = Words {
            text: &format!("The file {name} could not be sent: {why}"),
            ..Words::default()
        };
        self.api.send_message(place, &words, None).map(drop)
    }

    fn upload(&self, place: Place, path: &str, name: &str) -> Sent {
        let open = || self.parts.workspace.open_read(std::path::Path::new(path));
        let file = open()?;
        let length = file.metadata().map(|data| data.len()).unwrap_or(u64::MAX);
        let upload = Upload {
            file: &file,
            name,
            send_as: SendAs::Document,
            caption: Words::default(),
        };
        if is_photo(name) && length <= PHOTO_BYTES {
            let photo = Upload {
                send_as: SendAs::Photo,
                ..upload
            };
            match self.api.send_file(place, &photo, None) {
                // Too wide, too high, or no picture after all.
                Err(ApiError::Refused(_)) => {}
                sent => return sent.map(drop),
            }
            let file = open()?;
            return self
                .api
                .send_file(
                    place,
                    &Upload {
                        file: &file,
                        ..upload
                    },
                    None,
                )
                .map(drop);
        }
        self.api.send_file(place, &upload, None).map(drop)
    }
}

/// Whether a name is that of a picture that Telegram shows as one.
fn is_photo(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    ["jpg", "jpeg", "png", "webp"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}
