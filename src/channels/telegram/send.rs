//! What goes out: first what is owed, then what is only shown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Parts;
use super::api::{Api, ApiError, Place, SendAs, Upload, Words};
use super::backoff::Backoff;
use super::draft::{Asked, Display};
use super::pace::Pace;
use super::question;
use crate::approval::Question;
use crate::bus::{Heard, OutboundReceiver, Pulse};
use crate::cancel::Cancel;
use crate::channels::markup::{self, Piece};
use crate::clock::Stopwatch;
use crate::limits::channels::{DISPLAYS, IDLE_LOOK, PATIENCE, PHOTO_BYTES};
use crate::message::{ChatId, Outbound, Parcel};
use crate::outbox::Owed;

type Sent<T = ()> = Result<T, ApiError>;

/// The thread that sends.
pub(super) struct Sender {
    parts: Arc<Parts>,
    api: Api,
    outbound: OutboundReceiver,
    cancel: Cancel,
    pulse: Pulse,
    displays: BTreeMap<ChatId, Display>,
    /// Questions that are to be asked, and those whose buttons are to go.
    questions: Vec<(ChatId, u64, Box<Question>)>,
    settled: Vec<(ChatId, u64, String)>,
    pace: Pace,
    watch: Stopwatch,
    backoff: Backoff,
    /// Until when nothing is tried after a failure.
    resting_until: Duration,
    /// Whether the menu of commands is set.
    has_menu: bool,
    is_over: bool,
}

impl Sender {
    pub fn new(
        parts: Arc<Parts>,
        api: Api,
        outbound: OutboundReceiver,
        cancel: Cancel,
        pulse: Pulse,
    ) -> Self {
        Self {
            backoff: Backoff::new("sending to Telegram", parts.clock.clone()),
            parts,
            api,
            outbound,
            cancel,
            pulse,
            displays: BTreeMap::new(),
            questions: Vec::new(),
            settled: Vec::new(),
            pace: Pace::default(),
            watch: Stopwatch::start(),
            resting_until: Duration::ZERO,
            has_menu: false,
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
                    wait
                }
            };
            self.pulse.beat(wait + 4 * PATIENCE);
            self.hear(wait);
        }
    }

    fn now(&self) -> Duration {
        self.watch.elapsed()
    }

    /// Takes everything that has come, waiting for the first of it.
    fn hear(&mut self, wait: Duration) {
        let mut wait = wait;
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
            Outbound::Draft { chat, text } => {
                self.display(chat, |display| display.draft(text, now));
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
    fn display(&mut self, chat: ChatId, change: impl FnOnce(&mut Display)) {
        if self.displays.len() >= DISPLAYS {
            self.displays.retain(|_, display| !display.is_idle());
        }
        if self.displays.len() < DISPLAYS || self.displays.contains_key(&chat) {
            change(self.displays.entry(chat).or_default());
        }
    }

    /// Does what can be done now; says how long nothing else can.
    fn work(&mut self) -> Sent<Duration> {
        let resting = self.resting_until.saturating_sub(self.now());
        if !resting.is_zero() {
            return Ok(resting);
        }
        while self.deliver_next()? {}
        self.settle()?;
        self.ask()?;
        let wait = self.show()?;
        if !self.has_menu {
            self.set_menu()?;
        }
        Ok(wait)
    }

    /// Telegram's menu shows the commands. Descriptions may have 256 characters.
    fn set_menu(&mut self) -> Sent {
        match self.api.set_my_commands(&self.parts.menu) {
            Err(ApiError::Refused(said)) => tracing::warn!("the menu is not set: {said}"),
            other => other?,
        }
        self.has_menu = true;
        self.backoff.worked();
        Ok(())
    }

    /// Sends the next part of what is owed; false when none can be sent now.
    fn deliver_next(&mut self) -> Sent<bool> {
        let now = self.now();
        let must_wait = |chat: &ChatId| {
            Place::of(chat).is_some_and(|place| !self.pace.wait(place.chat, now).is_zero())
        };
        let Some(owed) = self.parts.outbox.next(super::NAME, &must_wait) else {
            return Ok(false);
        };
        if self.cancel.is_cancelled() {
            return Err(ApiError::Stopped);
        }
        self.pulse.beat(4 * PATIENCE);
        let chat = owed.parcel.chat.clone();
        match self.deliver(&owed) {
            Ok(()) => {
                self.backoff.worked();
                Ok(true)
            }
            Err(error) => self.undelivered(&owed, error, &chat).map(|()| true),
        }
    }

    /// What becomes of a part that was not sent: some things come right by waiting, others never.
    fn undelivered(&mut self, owed: &Owed, error: ApiError, chat: &ChatId) -> Sent {
        match error {
            ApiError::TooManyRequests { retry_after } => {
                tracing::warn!(%chat, seconds = retry_after.as_secs(), "Telegram wants us to wait");
                let place = Place::of(chat).map_or(0, |place| place.chat);
                let now = self.now();
                self.pace.hold(place, retry_after, now);
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
                let parcel = Parcel {
                    chat: place.key(),
                    ..owed.parcel.clone()
                };
                self.parts.outbox.add(&parcel, None)?;
                Ok(self.parts.outbox.done(owed.id)?)
            }
            ApiError::Gone { .. } | ApiError::Refused(_) | ApiError::TooLong => {
                tracing::error!(%chat, "what is owed cannot be delivered and is given up: {error}");
                Ok(self.parts.outbox.done(owed.id)?)
            }
            error => Err(error),
        }
    }

    /// Sends the first part of a parcel that is not confirmed: a piece of its text, or a file.
    fn deliver(&mut self, owed: &Owed) -> Sent {
        let Owed {
            id, parcel, pieces, ..
        } = owed;
        let texts = markup::render(&parcel.text);
        let total = texts.len() + parcel.files.len();
        let Some(place) = Place::of(&parcel.chat) else {
            tracing::error!(chat = %parcel.chat, "this is no chat of Telegram's; what is owed to it is given up");
            return Ok(self.parts.outbox.done(*id)?);
        };
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
        parcel: &Parcel,
        piece: &Piece,
        (is_first, is_last): (bool, bool),
    ) -> Sent {
        let buttons = match is_last {
            true => question::words(&parcel.buttons),
            false => Vec::new(),
        };
        let draft = match is_first && parcel.replaces_draft {
            true => self.take_draft(&parcel.chat),
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
                tracing::warn!(chat = %parcel.chat, "sent as plain text, because Telegram says: {said}");
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
    fn take_draft(&mut self, chat: &ChatId) -> Option<i64> {
        if let Some(display) = self.displays.get_mut(chat) {
            display.forget_draft();
        }
        self.parts.outbox.draft(chat)?.parse().ok()
    }

    /// Sends a file of the workspace; what stands in the way is told in its place.
    fn deliver_file(&self, place: Place, path: &str) -> Sent {
        let name = Parcel::name_of(path);
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

    /// Takes the buttons from questions that are over.
    fn settle(&mut self) -> Sent {
        while let Some((chat, number, outcome)) = self.settled.first() {
            let display = self.displays.get_mut(chat);
            let asked = display.and_then(|display| display.asked.remove(number));
            if let (Some(asked), Some(place)) = (asked, Place::of(chat)) {
                let text = format!("{}\n\n<b>{}</b>", asked.html, markup::escape(outcome));
                let words = Words {
                    text: &text,
                    html: true,
                    buttons: &[],
                };
                let edited = self.api.edit_message_text(place, asked.message, &words);
                shown(chat, edited)?;
            }
            self.settled.remove(0);
        }
        Ok(())
    }

    /// Asks what is to be asked. A question that could not be sent is tried again until it is over.
    fn ask(&mut self) -> Sent {
        let mut index = 0;
        while let Some((chat, number, question)) = self.questions.get(index) {
            let now = self.now();
            let Some(place) = Place::of(chat) else {
                self.questions.remove(index);
                continue;
            };
            if !self.pace.wait(place.chat, now).is_zero() {
                index += 1;
                continue;
            }
            let (chat, number) = (chat.clone(), *number);
            let pieces = markup::render(&question::text(number, question));
            let asked = self.ask_in(place, number, &pieces)?;
            self.pace.sent(place.chat, now);
            self.questions.remove(index);
            self.display(chat, |display| drop(display.asked.insert(number, asked)));
        }
        Ok(())
    }

    fn ask_in(&self, place: Place, number: u64, pieces: &[Piece]) -> Sent<Asked> {
        let mut asked = Asked {
            message: 0,
            html: String::new(),
        };
        let buttons = question::answers(number);
        for (index, piece) in pieces.iter().enumerate() {
            let is_last = index + 1 == pieces.len();
            let words = Words {
                text: &piece.html,
                html: true,
                buttons: if is_last { &buttons } else { &[] },
            };
            asked.message = self.api.send_message(place, &words, None)?;
            asked.html.clone_from(&piece.html);
        }
        Ok(asked)
    }

    /// Shows drafts, typing and signs; says how long there is nothing to be shown.
    fn show(&mut self) -> Sent<Duration> {
        let chats: Vec<ChatId> = self.displays.keys().cloned().collect();
        let mut wait = self.next_delivery();
        for chat in chats {
            wait = wait.min(self.show_in(&chat)?);
        }
        self.displays.retain(|_, display| !display.is_idle());
        Ok(wait)
    }

    /// In how long something that is owed or asked can go out, and waits only for its pace.
    fn next_delivery(&self) -> Duration {
        let now = self.now();
        let owed = self.parts.outbox.pending();
        let chats = owed
            .iter()
            .map(|owed| &owed.parcel.chat)
            .chain(self.questions.iter().map(|(chat, ..)| chat));
        let waits = chats
            .filter_map(Place::of)
            .map(|place| self.pace.wait(place.chat, now));
        waits.min().unwrap_or(IDLE_LOOK).min(IDLE_LOOK)
    }

    fn show_in(&mut self, chat: &ChatId) -> Sent<Duration> {
        let Some(place) = Place::of(chat) else {
            self.displays.remove(chat);
            return Ok(IDLE_LOOK);
        };
        let now = self.now();
        let config = &self.parts.channels.telegram;
        let interval = Duration::from_millis(config.stream_edit_interval_ms);
        let Some(display) = self.displays.get_mut(chat) else {
            return Ok(IDLE_LOOK);
        };
        if let Some(reference) = display.reactions.pop()
            && let Ok(message) = reference.parse()
        {
            let reacted = self
                .api
                .set_message_reaction(place, message, &config.react_emoji);
            shown(chat, reacted)?;
        }
        if display.typing_wait(now) == Some(Duration::ZERO) {
            display.typed(now);
            shown(chat, self.api.send_chat_action(place, "typing"))?;
        }
        let paced = self.pace.wait(place.chat, now);
        if display.draft_wait(interval, now) == Some(Duration::ZERO)
            && paced.is_zero()
            && let Some(text) = display.take_draft(now)
        {
            self.show_draft(chat, place, &text)?;
        }
        if !self
            .displays
            .get(chat)
            .is_some_and(|display| display.is_working)
        {
            self.clear_draft(chat, place)?;
        }
        let now = self.now();
        let Some(display) = self.displays.get(chat) else {
            return Ok(IDLE_LOOK);
        };
        let draft = display.draft_wait(interval, now);
        let draft = draft.map(|wait| wait.max(self.pace.wait(place.chat, now)));
        let typing = display.typing_wait(now);
        let signs = (!display.reactions.is_empty()).then_some(Duration::ZERO);
        let waits = [draft, typing, signs].into_iter().flatten();
        Ok(waits.min().unwrap_or(IDLE_LOOK))
    }

    fn show_draft(&mut self, chat: &ChatId, place: Place, text: &str) -> Sent {
        let Some(piece) = markup::draft(text) else {
            return Ok(());
        };
        let words = Words {
            text: &piece.html,
            html: true,
            buttons: &[],
        };
        let outbox = &self.parts.outbox;
        let known = outbox.draft(chat).and_then(|message| message.parse().ok());
        let now = self.watch.elapsed();
        self.pace.sent(place.chat, now);
        let edited = match known {
            Some(message) => self.api.edit_message_text(place, message, &words),
            None => Err(ApiError::MessageGone),
        };
        match edited {
            Err(ApiError::MessageGone) => match self.api.send_message(place, &words, None) {
                Ok(message) => {
                    outbox.set_draft(chat, Some(&message.to_string()));
                    Ok(())
                }
                Err(error) => shown(chat, Err(error)),
            },
            done => shown(chat, done),
        }
    }

    /// A draft whose work has ended, and that no answer will replace, goes away.
    fn clear_draft(&self, chat: &ChatId, place: Place) -> Sent {
        let outbox = &self.parts.outbox;
        let Some(message) = outbox.draft(chat) else {
            return Ok(());
        };
        let replaces = |owed: &Owed| owed.parcel.chat == *chat && owed.parcel.replaces_draft;
        if outbox.pending().iter().any(replaces) {
            return Ok(());
        }
        if let Ok(message) = message.parse() {
            shown(chat, self.api.delete_message(place, message))?;
        }
        outbox.set_draft(chat, None);
        Ok(())
    }
}

/// What is only shown may fail: what comes right by waiting is no reason to give up on the rest.
fn shown(chat: &ChatId, result: Sent) -> Sent {
    match result {
        Err(
            error @ (ApiError::Stopped
            | ApiError::Network(_)
            | ApiError::Timeout(_)
            | ApiError::Token
            | ApiError::TooManyRequests { .. }),
        ) => Err(error),
        Err(error) => {
            tracing::debug!(%chat, "not shown: {error}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Whether a name is that of a picture that Telegram shows as one.
fn is_photo(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    ["jpg", "jpeg", "png", "webp"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}
