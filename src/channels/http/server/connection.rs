//! One connection: what it is at, and how long that may take.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::PollFlags;

use super::link::Link;
use crate::channels::http::guard::Guard;
use crate::channels::http::hub::News;
use crate::channels::http::routes::{self, Exchange, Gate, Outcome, Place, Route, Stream};
use crate::channels::http::wire::reply::Reply;
use crate::channels::http::wire::request::{Head, Reader, Refusal, Step};

/// Time from a connection's or a request's first byte to the end of its head: one packet, also from a telephone.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time without any byte of a body.
const PROGRESS_TIME: Duration = Duration::from_secs(15);
/// Bytes of a body within a second, on the average of the whole: the slowest network of a telephone.
const BODY_RATE: usize = 16 * 1024;
/// Time in which a client takes nothing of a reply.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// Time that a connection without a request is kept.
const IDLE_TIME: Duration = Duration::from_secs(60);
/// Time for which bytes are still taken after a reply that ends the connection: a client that writes would else
/// lose the reply (RFC 9112, 9.6).
const LINGER_TIME: Duration = Duration::from_secs(2);
/// Time between two signs of life in a stream, for proxies that end silent ones after 30 s or a minute.
const PING_TIME: Duration = Duration::from_secs(15);
/// Time that an answer may take: turns with many steps take minutes.
const ANSWER_TIME: Duration = Duration::from_mins(30);
/// Bytes that are read at a time.
const READ_BYTES: usize = 4 * 1024;
/// Reads of one connection before it is another's turn.
const READS: usize = 16;
/// Bytes of a stream that wait for the client; with more, growth is told later.
const OUT_BYTES: usize = 64 * 1024;

/// What a connection is at.
pub enum Phase {
    /// A request may come.
    Reading,
    /// The body of a request comes.
    Body(Head, Route),
    /// A reply waits until a time: of one who guesses.
    Late(Duration, Head, Reply),
    /// An answer is being made.
    Waiting(Exchange),
    /// A page looks at a chat.
    Looking(Box<Stream>),
    /// A reply is written, and the connection ends with it.
    Ending,
    /// The reply is written, and what still comes is thrown away.
    Lingering,
    /// It is over.
    Over,
}

/// A connected client.
pub struct Client {
    link: Link,
    reader: Reader,
    out: Vec<u8>,
    /// What it is at.
    pub phase: Phase,
    /// Whether the head of its last request has said whose it is.
    is_known: bool,
    /// When the present phase began.
    since: Duration,
    /// When a byte came or went last.
    pub moved: Duration,
    /// When something was put into the stream last.
    spoke: Duration,
    /// What its request waits for.
    pub ticket: Option<u64>,
}

impl Client {
    pub(super) fn new(link: Link, now: Duration) -> Self {
        Self {
            link,
            reader: Reader::default(),
            out: Vec::new(),
            phase: Phase::Reading,
            is_known: false,
            since: now,
            moved: now,
            spoke: now,
            ticket: None,
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.link.fd()
    }

    /// What to wake up for.
    pub(super) fn interest(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.reads() {
            flags |= PollFlags::IN;
        }
        if self.is_writing() {
            flags |= PollFlags::OUT;
        }
        flags
    }

    fn reads(&self) -> bool {
        match self.phase {
            Phase::Lingering => true,
            Phase::Reading | Phase::Body(..) => self.out.is_empty() && self.reader.wants_more(),
            // The end of the connection; more of the client is not read meanwhile.
            Phase::Waiting(_) | Phase::Looking(_) | Phase::Late(..) => self.reader.is_idle(),
            Phase::Ending | Phase::Over => false,
        }
    }

    /// Whether something waits to be written.
    pub(super) fn is_writing(&self) -> bool {
        !matches!(self.phase, Phase::Over) && (!self.out.is_empty() || self.link.wants_write())
    }

    /// Bytes of requests that it holds.
    pub(super) fn held(&self) -> usize {
        self.reader.held()
    }

    /// Whether it may end for another one: it has no request at work, or one whose sender is not known yet, who may also
    /// leave a reply unread.
    pub(super) fn may_be_dropped(&self) -> bool {
        match &self.phase {
            Phase::Reading | Phase::Late(..) | Phase::Lingering => {
                !self.is_known || self.out.is_empty()
            }
            Phase::Body(..) | Phase::Ending => !self.is_known,
            Phase::Waiting(_) | Phase::Looking(_) | Phase::Over => false,
        }
    }

    /// When it has to be looked at although nothing comes.
    pub(super) fn due(&self) -> Option<Duration> {
        let written = (self.is_writing()).then(|| self.moved + WRITE_TIME);
        let phase = match &self.phase {
            Phase::Reading if !self.out.is_empty() => None,
            Phase::Reading if self.reader.is_idle() && self.moved > self.since => {
                Some(self.moved + IDLE_TIME)
            }
            Phase::Reading => Some(self.since + HEAD_TIME),
            Phase::Body(..) => {
                let bytes = self.reader.held() / BODY_RATE;
                let whole = self.since + 2 * PROGRESS_TIME + Duration::from_secs(bytes as u64);
                Some(whole.min(self.moved + PROGRESS_TIME))
            }
            Phase::Late(due, ..) => Some(*due),
            Phase::Waiting(exchange) if exchange.is_stream() => {
                Some((self.spoke + PING_TIME).min(self.since + ANSWER_TIME))
            }
            Phase::Waiting(_) => Some(self.since + ANSWER_TIME),
            Phase::Looking(_) => Some(self.spoke + PING_TIME),
            Phase::Lingering => Some(self.since + LINGER_TIME),
            Phase::Ending | Phase::Over => None,
        };
        written.into_iter().chain(phase).min()
    }

    fn enter(&mut self, phase: Phase, now: Duration) {
        self.phase = phase;
        self.since = now;
    }

    /// Takes news about what its request waits for.
    pub(super) fn tell(&mut self, ticket: u64, news: &News, now: Duration) {
        if self.ticket != Some(ticket) {
            return;
        }
        let Phase::Waiting(exchange) = &mut self.phase else {
            return;
        };
        match news {
            News::Growth(text) if self.out.len() <= OUT_BYTES => {
                let bytes = exchange.grow(text);
                if !bytes.is_empty() {
                    self.out.extend(bytes);
                    self.spoke = now;
                }
            }
            News::Growth(_) => {}
            News::Done { beside, text } => {
                self.out.extend(exchange.finish(beside, text));
                let keeps = exchange.keeps();
                self.end_exchange(keeps, now);
            }
            News::Failed(why) => {
                self.out.extend(exchange.fail(routes::FAILED, why));
                self.end_exchange(false, now);
            }
            News::Refused(why) => {
                self.out.extend(exchange.fail(routes::REFUSED, why));
                self.end_exchange(false, now);
            }
        }
    }

    fn end_exchange(&mut self, keeps: bool, now: Duration) {
        self.ticket = None;
        self.moved = now;
        let phase = if keeps { Phase::Reading } else { Phase::Ending };
        self.enter(phase, now);
    }

    /// The gateway stops: those that wait are told so.
    pub(super) fn stop(&mut self, _: &Place<'_>) {
        if let Phase::Waiting(exchange) = &mut self.phase {
            let bytes = exchange.fail(
                503,
                "the gateway stops; the answer is in the conversation later",
            );
            self.out.extend(bytes);
        }
        self.phase = match self.out.is_empty() {
            true => Phase::Over,
            false => Phase::Ending,
        };
    }

    /// Does what can be done now. `left`: bytes of bodies that all connections may still take.
    pub(super) fn go_on(
        &mut self,
        place: &Place<'_>,
        guard: &mut Guard,
        (is_ready, now, left): (bool, Duration, usize),
    ) {
        let was_idle = self.interest().is_empty();
        self.write(now);
        if is_ready && was_idle {
            // Nothing was waited for, so that it is the end of the connection, which would be told again and again.
            self.phase = Phase::Over;
        }
        // A request may have come behind one that is answered now.
        self.take(place, guard, now);
        if is_ready && self.reads() {
            self.read(place, guard, (now, left));
        }
        self.look(place, now);
        self.pass_time(place, now);
        self.write(now);
        if matches!(self.phase, Phase::Ending) && !self.is_writing() {
            self.link.end();
            self.enter(Phase::Lingering, now);
        }
    }

    fn write(&mut self, now: Duration) {
        if self.link.flush().is_err_and(|it| !may_pass(&it)) {
            self.phase = Phase::Over;
        }
        while !self.out.is_empty() && !matches!(self.phase, Phase::Over) {
            match self.link.write(&self.out) {
                Ok(0) => self.phase = Phase::Over,
                Ok(count) => {
                    self.out.drain(..count);
                    self.moved = now;
                }
                Err(error) if may_pass(&error) => return,
                Err(_) => self.phase = Phase::Over,
            }
        }
        if self.out.is_empty() {
            self.out.shrink_to(0);
        }
    }

    fn read(&mut self, place: &Place<'_>, guard: &mut Guard, (now, left): (Duration, usize)) {
        let mut buffer = [0; READ_BYTES];
        for _ in 0..READS {
            match self.link.read(&mut buffer) {
                Ok(0) => {
                    // The client has gone. Its turn goes on, and the answer is in the conversation.
                    self.phase = Phase::Over;
                    return;
                }
                Ok(_) if matches!(self.phase, Phase::Lingering) => {}
                Ok(count) => {
                    if self.reader.is_idle() && matches!(self.phase, Phase::Reading) {
                        self.since = now;
                    }
                    self.moved = now;
                    self.reader.push(buffer.get(..count).unwrap_or_default());
                    if matches!(self.phase, Phase::Body(..)) && left == 0 {
                        return self.refuse(503, "too much is being received", now);
                    }
                    self.take(place, guard, now);
                }
                Err(error) if may_pass(&error) => return,
                Err(_) => {
                    self.phase = Phase::Over;
                    return;
                }
            }
            if !self.reads() {
                return;
            }
        }
    }

    /// Takes what has come of requests.
    fn take(&mut self, place: &Place<'_>, guard: &mut Guard, now: Duration) {
        while matches!(self.phase, Phase::Reading | Phase::Body(..)) && self.out.is_empty() {
            match self.reader.step() {
                Ok(Step::More) => return,
                Ok(Step::Head(head)) => self.admit(place, guard, head, now),
                Ok(Step::Body(body)) => {
                    let before = std::mem::replace(&mut self.phase, Phase::Reading);
                    if let Phase::Body(head, route) = before {
                        let outcome = routes::answer(place, guard, (&head, &route), &body, now);
                        self.carry_out(place, guard, (head, outcome), now);
                    }
                }
                Err(Refusal { status, why }) => self.refuse(status, why, now),
            }
        }
    }

    fn admit(&mut self, place: &Place<'_>, guard: &mut Guard, head: Head, now: Duration) {
        let gate = routes::gate(place, &head, guard, (self.link.peer, now));
        self.is_known = matches!(&gate, Gate::Body(_, route) if route.is_of_known());
        match gate {
            Gate::Body(most, route) => {
                if head.expects {
                    self.out.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
                    self.write(now);
                }
                self.reader.allow(most);
                self.enter(Phase::Body(head, route), now);
            }
            Gate::Reply(reply) => self.reply(place, (&head, reply), (false, now)),
            Gate::Denied(reply, wait) => self.enter(Phase::Late(now + wait, head, reply), now),
        }
    }

    fn carry_out(
        &mut self,
        place: &Place<'_>,
        guard: &mut Guard,
        (head, outcome): (Head, Outcome),
        now: Duration,
    ) {
        match outcome {
            Outcome::Reply(reply) => self.reply(place, (&head, reply), (head.keep, now)),
            Outcome::Guess(reply) => {
                let wait = routes::note_guess(guard, (self.link.peer, now));
                self.enter(Phase::Late(now + wait, head, reply), now);
            }
            Outcome::Look(stream) => {
                self.out.extend(stream.begin());
                self.spoke = now;
                self.enter(Phase::Looking(stream), now);
                self.look(place, now);
            }
            Outcome::Wait(mut exchange) => {
                self.out.extend(exchange.begin());
                self.ticket = Some(exchange.ticket());
                self.spoke = now;
                self.enter(Phase::Waiting(exchange), now);
            }
        }
    }

    fn reply(
        &mut self,
        place: &Place<'_>,
        (head, reply): (&Head, Reply),
        (keeps, now): (bool, Duration),
    ) {
        let reply = routes::for_origin(place, head, reply);
        self.out.extend(reply.bytes(keeps, head.method == "HEAD"));
        self.end_exchange(keeps, now);
        self.write(now);
    }

    /// Refuses what cannot be read, and ends: where the next request begins is unknown.
    fn refuse(&mut self, status: u16, why: &str, now: Duration) {
        self.out
            .extend(Reply::error(status, why).bytes(false, false));
        self.enter(Phase::Ending, now);
    }

    /// Shows a page what is new in its chat, as far as it has taken the news before.
    fn look(&mut self, place: &Place<'_>, now: Duration) {
        let Phase::Looking(stream) = &mut self.phase else {
            return;
        };
        if self.out.len() > OUT_BYTES {
            return;
        }
        match stream.news(place) {
            Some(bytes) if bytes.is_empty() => {}
            Some(bytes) => {
                self.out.extend(bytes);
                self.spoke = now;
            }
            None => self.enter(Phase::Ending, now),
        }
    }

    /// Does what is due.
    fn pass_time(&mut self, place: &Place<'_>, now: Duration) {
        if self.due().is_none_or(|due| now < due) {
            return;
        }
        if self.is_writing() && now >= self.moved + WRITE_TIME {
            self.phase = Phase::Over;
            return;
        }
        match &mut self.phase {
            Phase::Reading if self.reader.is_idle() => self.phase = Phase::Over,
            Phase::Reading | Phase::Body(..) => {
                self.refuse(408, "the request comes too slowly", now)
            }
            Phase::Late(_, head, reply) => {
                let bytes = reply.bytes(false, head.method == "HEAD");
                self.out.extend(bytes);
                self.enter(Phase::Ending, now);
            }
            Phase::Waiting(exchange) if now >= self.since + ANSWER_TIME => {
                let bytes = exchange.fail(
                    504,
                    "the answer takes too long; it is in the conversation later",
                );
                self.out.extend(bytes);
                self.enter(Phase::Ending, now);
            }
            Phase::Waiting(exchange) => {
                self.out.extend(exchange.ping());
                self.spoke = now;
            }
            Phase::Looking(stream) => match stream.may_look(place) {
                true => {
                    self.out.extend(b": ping\n\n");
                    self.spoke = now;
                }
                false => self.enter(Phase::Ending, now),
            },
            Phase::Lingering => self.phase = Phase::Over,
            Phase::Ending | Phase::Over => {}
        }
    }
}

fn may_pass(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
