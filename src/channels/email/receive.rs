//! Reads the mailbox and passes mails on to the intake.
//!
//! A mail is marked as read, and its number remembered, when the intake has it on the disk. What was not
//! remembered is read again after a crash, and recognised by its id.

use std::collections::VecDeque;
use std::time::Duration;

use super::TEXT_BYTES;
use super::adapter::Parts;
use super::imap::structure::Part;
use super::imap::value::Value;
use super::imap::{Imap, Mailbox, structure};
use super::incoming::{Fetched, Judgement, envelope, judge, own_word, subject, text_of};
use super::mime::address::Mailbox as Person;
use super::mime::headers::{HEADER_BYTES, Headers};
use super::mime::trust::Trust;
use super::mime::vouched::{Doubt, Word};
use super::texts::{doubtful, unconfirmed};
use super::threads::Place;
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::language::Language;
use crate::base::limits::channels::email::ANSWER_TIME;
use crate::base::limits::channels::{FIRST_WAIT, INBOX_BACKOFF};
use crate::base::message::{Address, Origin, Sender};
use crate::channels::kit::adapter::{Failure, Sent};
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::{Backoff, with_jitter};
use crate::sys::memory;
use crate::text::markup::inline_code;

/// Time between two IDLE commands: servers may end one after 29 minutes (RFC 2177).
const IDLE_RENEWAL: Duration = Duration::from_mins(25);
/// A connection that was shorter counts as a failure: the next one waits longer.
const STEADY: Duration = Duration::from_secs(60);
/// Bytes of a mail of which more than the headers is read. Gmail and most others take 25 MB.
const MAIL_BYTES: u64 = 35 * 1024 * 1024;
/// Mails of one sender that are accepted within [`ACCEPTED_SPAN`], as two programs may answer each other; and mails of all
/// unknown senders whose text is looked at. Others of people who have access wait.
const ACCEPTED: usize = 30;
/// See [`ACCEPTED`].
const ACCEPTED_SPAN: Duration = Duration::from_hours(1);
/// Mails whose times are remembered for that, of all senders.
const ACCEPTED_KEPT: usize = 2000;
/// Mails that wait for that.
const WAITING: usize = 200;
/// Bytes of the text of an unknown sender, which may have an invitation.
const INVITATION_BYTES: usize = 4 * 1024;
/// The name under which mails of unknown senders are counted.
const STRANGERS: &str = "";
/// Unread mails of the last day that are answered when the mailbox is seen for the first time.
const FIRST_MAILS: usize = 20;
/// Mails that are read before others are looked for.
const MAILS_AT_ONCE: usize = 500;
/// Tries to read a mail with which the server or the connection fails.
const MAIL_TRIES: u32 = 3;

/// Receives until the token is raised.
pub(super) fn run(parts: &Parts, intake: &SharedSink, heartbeat: &Heartbeat, cancel: &Cancel) {
    let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), intake.health());
    let mut receiver = Receiver {
        backoff: backoff(Task::Receive, "read the mailbox"),
        full: backoff(Task::Accept, "store mails"),
        parts,
        intake,
        heartbeat,
        cancel,
        watch: Stopwatch::start(),
        accepted: VecDeque::new(),
        waiting: Vec::new(),
        tries: (0, 0),
        works_since: None,
    };
    receiver.run();
}

struct Receiver<'a> {
    parts: &'a Parts,
    intake: &'a SharedSink,
    heartbeat: &'a Heartbeat,
    cancel: &'a Cancel,
    backoff: Backoff,
    full: Backoff,
    watch: Stopwatch,
    /// Whose mails were accepted, and when, on `watch`; the oldest first.
    accepted: VecDeque<(String, Duration)>,
    /// See [`Place::waiting`].
    waiting: Vec<(String, u64)>,
    /// The mail that could not be read, and how often it was tried.
    tries: (u64, u32),
    /// When the present session began to work, on `watch`.
    works_since: Option<Duration>,
}

/// Why a session is over.
enum End {
    Failed(Failure),
    /// The inbox cannot store mails.
    Inbox(Error),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

/// A mail whose head was fetched.
struct Opened {
    uid: u64,
    number: String,
    headers: Headers,
    content: structure::Content,
    bytes: u64,
}

impl Receiver<'_> {
    fn run(&mut self) {
        while !self.cancel.is_cancelled() {
            self.works_since = None;
            let Err(end) = self.session() else { continue };
            let wait = match end {
                End::Failed(Failure::Stopped) => return,
                End::Failed(failure) => {
                    let since = self.works_since.map(|at| self.watch.elapsed() - at);
                    match since {
                        // Servers end silent sessions now and then.
                        Some(time) if time >= STEADY => {
                            tracing::debug!("reading the mailbox again: {failure}");
                            with_jitter(FIRST_WAIT)
                        }
                        _ => self.backoff.failed(&failure, None),
                    }
                }
                End::Inbox(error) => self.full.failed(&error, None).min(INBOX_BACKOFF),
            };
            self.heartbeat.beat(wait + ANSWER_TIME);
            memory::give_back_stack();
            if self.cancel.wait(wait) {
                return;
            }
        }
    }

    /// Reads the mailbox until the session fails.
    fn session(&mut self) -> Result<(), End> {
        let mut imap = self.parts.imap(self.cancel, self.heartbeat)?;
        let mailbox = imap.select(&self.parts.settings.mailbox)?;
        self.works_since = Some(self.watch.elapsed());
        let mut place = self.place(&mut imap, mailbox)?;
        loop {
            while self.collect(&mut imap, &mut place)? {}
            // Not earlier: a server that opens the mailbox may still refuse to give mails.
            if self.backoff.succeeded() {
                self.intake.reachable();
            }
            self.rest(&mut imap)?;
        }
    }

    /// Waits until there may be something new.
    fn rest(&self, imap: &mut Imap) -> Result<(), End> {
        if imap.can("IDLE") {
            return Ok(imap.idle(IDLE_RENEWAL)?);
        }
        let wait = Duration::from_secs(self.parts.settings.poll_seconds);
        self.heartbeat.beat(wait + ANSWER_TIME);
        memory::give_back_stack();
        if self.cancel.wait(wait) {
            Err(Failure::Stopped.into())
        } else {
            Ok(imap.look()?)
        }
    }

    /// Where reading goes on. A mailbox that is seen for the first time, or whose mails are numbered anew, begins
    /// with what is unread of the last day.
    fn place(&mut self, imap: &mut Imap, mailbox: Mailbox) -> Result<Place, End> {
        let settings = &self.parts.settings;
        let name = format!(
            "{}@{}/{}",
            settings.imap.user, settings.imap.server.host, settings.mailbox
        );
        let known = self.parts.threads.place()?;
        if known.mailbox == name && known.validity == mailbox.validity {
            self.waiting.clone_from(&known.waiting);
            return Ok(known);
        }
        self.waiting.clear();
        if known.mailbox == name {
            tracing::info!("the mail server has numbered its mails again");
        }
        let next = match mailbox.next {
            // The server does not say.
            0 => imap.search("UID *")?.last().map_or(1, |last| last + 1),
            next => next,
        };
        let since = self.parts.clock.now() - chrono::TimeDelta::days(1);
        let unread = imap.search(&format!("UNSEEN SINCE {}", since.format("%-d-%b-%Y")))?;
        let skipped = unread.len().saturating_sub(FIRST_MAILS);
        for uid in unread.into_iter().skip(skipped).filter(|uid| *uid < next) {
            self.read(imap, mailbox.validity, uid)?;
        }
        let mut place = Place {
            mailbox: name,
            validity: mailbox.validity,
            next,
            waiting: Vec::new(),
        };
        self.remember(&mut place)?;
        Ok(place)
    }

    fn remember(&self, place: &mut Place) -> Result<(), End> {
        place.waiting.clone_from(&self.waiting);
        self.parts.threads.set_place(place).map_err(End::Inbox)
    }

    /// Reads the mails that have waited, as far as there is room for them now.
    fn collect_waiting(&mut self, imap: &mut Imap, place: &mut Place) -> Result<(), End> {
        let mut at = 0;
        while let Some((from, uid)) = self.waiting.get(at).cloned() {
            if !self.has_room(&from) {
                at += 1;
                continue;
            }
            self.waiting.remove(at);
            self.read(imap, place.validity, uid)?;
            self.remember(place)?;
        }
        Ok(())
    }

    /// Reads what is new, in order. Whether there may be more.
    fn collect(&mut self, imap: &mut Imap, place: &mut Place) -> Result<bool, End> {
        self.collect_waiting(imap, place)?;
        let found = imap.search(&format!("UID {}:*", place.next))?;
        // The server names the last mail also when that is an older one.
        let first = place.next;
        let mut new = found.into_iter().filter(|uid| *uid >= first);
        let mails: Vec<u64> = new.by_ref().take(MAILS_AT_ONCE).collect();
        for uid in mails {
            self.read(imap, place.validity, uid)?;
            place.next = uid.saturating_add(1);
            self.remember(place)?;
        }
        Ok(new.next().is_some())
    }

    /// Reads a mail. One that cannot be read is skipped after some tries.
    fn read(&mut self, imap: &mut Imap, validity: u64, uid: u64) -> Result<(), End> {
        let failure = match self.read_once(imap, validity, uid) {
            Err(End::Failed(failure @ (Failure::Trouble(_) | Failure::Refused(_)))) => failure,
            outcome => return outcome,
        };
        let tries = match self.tries {
            (of, tries) if of == uid => tries + 1,
            _ => 1,
        };
        self.tries = (uid, tries);
        if tries < MAIL_TRIES {
            return Err(failure.into());
        }
        tracing::warn!(uid, "skipped a mail that cannot be read: {failure}");
        Ok(())
    }

    fn read_once(&mut self, imap: &mut Imap, validity: u64, uid: u64) -> Result<(), End> {
        let Some(opened) = open(imap, validity, uid)? else {
            // It was deleted or moved meanwhile.
            return Ok(());
        };
        match judge(&opened.headers, &self.parts.settings.policy) {
            Judgement::From(person) => self.accept(imap, &opened, person),
            Judgement::Automatic(why) => {
                tracing::info!(uid, "ignored a mail: {why}");
                Ok(())
            }
            Judgement::Unclear => {
                tracing::info!(
                    uid,
                    "ignored a mail: its sender is not exactly one plain address"
                );
                Ok(())
            }
            Judgement::Unconfirmed { from, trust } => {
                self.refuse(&from, &trust);
                Ok(())
            }
        }
    }

    /// Passes a mail of a confirmed sender on, if they have access or bring an invitation.
    fn accept(&mut self, imap: &mut Imap, opened: &Opened, person: Person) -> Result<(), End> {
        let settings = &self.parts.settings;
        let address = person.address.clone();
        let sender = Sender {
            id: settings.person(&address),
            ..Default::default()
        };
        if !self.intake.has_access(&sender, "") {
            return self.accept_stranger(imap, opened, &person);
        }
        // Others may send it as often as they like: it takes no room from the person's own mails.
        let word = self.word(opened, &person);
        match word.doubt {
            Some(Doubt::Dated) => {
                tracing::info!(from = %address, "took a mail for a forwarded one: it is old");
            }
            Some(doubt) => {
                tracing::warn!(from = %address, "refused a mail: {}", doubt.why());
                self.report_once(&|language| doubtful(language, &inline_code(&address), doubt));
                return Ok(());
            }
            None => {}
        }
        if !self.has_room(&address) {
            self.keep(address, opened.uid);
            return Ok(());
        }
        let is_too_large = opened.bytes > MAIL_BYTES;
        let (mut text, mut attached) = (String::new(), String::new());
        if !is_too_large {
            let own: Vec<&Part> = opened.content.texts.iter().collect();
            text = self.texts(imap, opened, &own, TEXT_BYTES)?.join("\n\n");
            let parts = opened.content.attached.iter();
            let (lines, parts): (Vec<&String>, Vec<&Part>) =
                parts.map(|(line, part)| (line, part)).unzip();
            let texts = self.texts(imap, opened, &parts, TEXT_BYTES)?;
            for (line, text) in lines.iter().zip(texts) {
                attached += &format!("\n\n{line}\n{}", text.trim());
            }
        }
        let fetched = Fetched {
            headers: &opened.headers,
            content: &opened.content,
            attached: &attached,
            number: &opened.number,
            bytes: opened.bytes,
            is_too_large,
            word,
        };
        let mut envelope = envelope(&fetched, &person, &text, settings.body_chars);
        let subject = subject(&opened.headers);
        if let Origin::Person(person) = &mut envelope.origin {
            person.id = sender.id;
        }
        let place = envelope.address();
        if let (Some(thread), false) = (&place.thread, envelope.reference.is_empty()) {
            let threads = &self.parts.threads;
            let added = threads.add(&place.chat, thread, &subject, &envelope.reference);
            added.map_err(End::Inbox)?;
        }
        let incoming = Incoming::Message {
            envelope,
            username: String::new(),
        };
        let taken = self.intake.take(vec![incoming], self.heartbeat);
        let is_new = taken.map_err(End::Inbox)? > 0;
        self.full.succeeded();
        if is_new {
            self.count(address);
        }
        if settings.marks_seen {
            match imap.mark_seen(opened.uid) {
                Err(Failure::Refused(said)) => {
                    tracing::debug!("failed to mark a mail as read: {said}");
                }
                marked => marked?,
            }
        }
        Ok(())
    }

    fn word(&self, opened: &Opened, person: &Person) -> Word {
        let clock = &self.parts.clock;
        let now = clock.is_set().then(|| clock.now());
        own_word(&opened.headers, person, &self.parts.settings.policy, now)
    }

    /// Pairs an unknown sender who brings an invitation. They get no answer: their address may be someone else's. Of the
    /// text, only the beginning is fetched, and only of so many mails that those of others do not have to wait.
    fn accept_stranger(
        &mut self,
        imap: &mut Imap,
        opened: &Opened,
        person: &Person,
    ) -> Result<(), End> {
        let settings = &self.parts.settings;
        let word = self.word(opened, person);
        let mut text = String::new();
        let part = opened.content.texts.first();
        if let (Some(part), None, true) = (part, word.doubt, self.has_room(STRANGERS)) {
            self.count(STRANGERS.to_owned());
            text = self
                .texts(imap, opened, &[part], INVITATION_BYTES)?
                .concat();
        }
        let fetched = Fetched {
            headers: &opened.headers,
            content: &opened.content,
            attached: "",
            number: &opened.number,
            bytes: opened.bytes,
            is_too_large: false,
            word,
        };
        let mut envelope = envelope(&fetched, person, &text, settings.body_chars);
        if let Origin::Person(person) = &mut envelope.origin {
            person.id = settings.person(&person.id);
        }
        let sender = envelope.sender().cloned().unwrap_or_default();
        let chat = Address::new(super::NAME, &person.address);
        let is_own = !envelope.is_relayed && opened.content.attached.is_empty();
        let subject = subject(&opened.headers);
        let mut written = [&envelope.text, &subject].into_iter();
        let is_paired =
            is_own && written.any(|text| self.intake.accept_invitation(text, &chat, &sender));
        if !is_paired {
            tracing::info!(from = %person.address, "ignored mail from unknown user");
        }
        Ok(())
    }

    /// Keeps a mail for later.
    fn keep(&mut self, from: String, uid: u64) {
        if self.waiting.len() >= WAITING {
            tracing::warn!(%from, "ignored a mail: too many wait for their turn");
            return;
        }
        tracing::warn!(%from, "a mail waits: too many from this sender within an hour");
        self.waiting.push((from, uid));
    }

    /// The texts of parts of a mail, as far as so many bytes of each go.
    fn texts(
        &self,
        imap: &mut Imap,
        opened: &Opened,
        parts: &[&Part],
        bytes: usize,
    ) -> Result<Vec<String>, End> {
        let mut texts = Vec::new();
        for part in parts {
            let section = &part.section;
            let items = format!("UID BODY.PEEK[{section}]<0.{bytes}>");
            let wanted = format!("BODY[{section}]");
            let found = imap.fetch(opened.uid, &items, &wanted)?;
            let bytes = found.as_ref().and_then(|found| found.named(&wanted));
            let bytes = bytes.and_then(Value::bytes).unwrap_or_default();
            // A quotation at the end is cut off later, so that more is read than is given.
            texts.push(text_of(part, bytes, 4 * self.parts.settings.body_chars));
        }
        Ok(texts)
    }

    /// Refuses a mail that may be from someone else. If it says that it is from a person who has access, the owners
    /// are told once a day.
    fn refuse(&self, from: &str, trust: &Trust) {
        let sender = Sender {
            id: self.parts.settings.person(from),
            ..Default::default()
        };
        let (why, server) = match trust {
            Trust::Confirmed => return,
            Trust::Denied => ("the mail server says that it is from someone else", ""),
            Trust::Unreadable => ("its Authentication-Results cannot be read", ""),
            Trust::Unknown(Some(server)) => (
                "another mail server than expected has checked its sender",
                server.as_str(),
            ),
            Trust::Unknown(None) => ("the mail server has not checked its sender", ""),
        };
        if !self.intake.has_access(&sender, "") {
            tracing::info!(%from, "ignored a mail: {why}");
            return;
        }
        tracing::warn!(%from, server, "refused a mail: {why}");
        self.report_once(&|language| unconfirmed(language, &inline_code(from), trust));
    }

    /// Tells owners of a refused mail, of one a day.
    fn report_once(&self, text: &dyn Fn(Language) -> String) {
        let today = self.parts.clock.now().format("%Y-%m-%d").to_string();
        match self.parts.threads.note_day(&today) {
            Ok(true) => self.intake.report(text),
            Ok(false) => {}
            Err(error) => tracing::warn!("failed to note that a mail was refused: {error}"),
        }
    }

    /// Whether another mail of a sender may be accepted now.
    fn has_room(&mut self, from: &str) -> bool {
        let now = self.watch.elapsed();
        self.accepted
            .retain(|(_, at)| now.saturating_sub(*at) < ACCEPTED_SPAN);
        let own = self.accepted.iter().filter(|(known, _)| known == from);
        own.count() < ACCEPTED
    }

    fn count(&mut self, from: String) {
        if self.accepted.len() >= ACCEPTED_KEPT {
            self.accepted.pop_front();
        }
        self.accepted.push_back((from, self.watch.elapsed()));
    }
}

/// Fetches the head of a mail and what it consists of; `None` when there is no such mail.
fn open(imap: &mut Imap, validity: u64, uid: u64) -> Sent<Option<Opened>> {
    let items = format!("UID RFC822.SIZE BODYSTRUCTURE BODY.PEEK[HEADER]<0.{HEADER_BYTES}>");
    let Some(found) = imap.fetch(uid, &items, "BODY[HEADER]")? else {
        return Ok(None);
    };
    let headers = found.named("BODY[HEADER]").and_then(Value::bytes);
    let structure = found.named("BODYSTRUCTURE");
    let bytes = found.named("RFC822.SIZE").and_then(Value::number);
    let (Some(headers), Some(bytes)) = (headers, bytes) else {
        return Err(Failure::Trouble(
            "the mail server did not send its headers".to_owned(),
        ));
    };
    Ok(Some(Opened {
        uid,
        number: format!("{validity}.{uid}"),
        headers: Headers::parse(headers),
        content: structure.map(structure::content).unwrap_or_default(),
        bytes,
    }))
}
