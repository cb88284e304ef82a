//! The thread of the connections: one loop over all of them, each a small state, so that a slow one holds up no other.

mod connection;
mod link;
mod listen;

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::connection::{Client, Phase};
pub use self::listen::{Listen, prepare};
use super::enabled::HttpChannel;
use super::guard::Guard;
use super::routes::{self, Place};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::limits::channels::PATIENCE;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::SharedSink;
use crate::channels::kit::stream::backoff::Backoff;
use crate::sys::memory;

/// Connections at a time. With more, the one that has asked for nothing for the longest time ends; when all are at work,
/// the new one ends at once. An idle one takes 300 bytes, or 30 kB with TLS.
const CONNECTIONS: usize = 64;
/// Bytes of all bodies that are being received: two of the longest, so that no crowd fills the memory of a board.
const BODIES_BYTES: usize = 16 * 1024 * 1024;
/// Longest wait of the loop. Nothing is due meanwhile: it only shows that the thread is alive.
const WAIT: Duration = Duration::from_mins(10);
/// Wait after a connection could not be accepted, such as for want of descriptors.
const ACCEPT_RETRY: Duration = Duration::from_secs(1);
/// How long a stop waits for replies that are being written.
const STOP_TIME: Duration = Duration::from_millis(500);

/// What the loop works with.
struct Server<'a> {
    place: Place<'a>,
    clients: Vec<Client>,
    watch: Stopwatch,
    guard: Guard,
    /// When connections are accepted again.
    accepts_at: Duration,
}

/// Serves until the token is raised.
pub(super) fn run(
    channel: &HttpChannel,
    intake: &SharedSink,
    heartbeat: &Heartbeat,
    cancel: &Cancel,
) {
    let name = "listen for HTTP";
    let mut backoff = Backoff::new(Task::Receive, name, Clock::System, intake.health());
    let hub = std::sync::Arc::clone(&channel.hub);
    let _hook = cancel.on_cancel(move || hub.wake());
    for folder in [&channel.files, &channel.web.received, &channel.web.files] {
        routes::clear_files(folder, routes::KEPT_FILES);
    }
    while !cancel.is_cancelled() {
        let mut server = Server {
            place: Place::new(channel, intake, heartbeat),
            clients: Vec::new(),
            watch: Stopwatch::start(),
            guard: Guard::default(),
            accepts_at: Duration::ZERO,
        };
        let served = channel.listen.bind().and_then(|listener| {
            backoff.succeeded();
            channel.slot.listens(listener.port());
            server.serve(&listener, cancel)
        });
        let Err(error) = served else {
            break;
        };
        let wait = backoff.failed(&format!("{}: {error}", channel.listen), None);
        heartbeat.beat(wait + PATIENCE);
        cancel.wait(wait);
    }
    channel.listen.remove();
}

impl Server<'_> {
    fn serve(&mut self, listener: &listen::Listener, cancel: &Cancel) -> std::io::Result<()> {
        loop {
            self.place.heartbeat.beat(WAIT + PATIENCE);
            memory::give_back_stack();
            // The news of a round may have taken the wake of a stop along, which is not waited for then.
            let ready = match cancel.is_cancelled() {
                true => Vec::new(),
                false => self.wait(Some(listener), WAIT)?,
            };
            if cancel.is_cancelled() {
                self.finish(&ready)?;
                return Ok(());
            }
            self.place.heartbeat.beat(PATIENCE);
            self.go_on(&ready);
            if ready.get(1) == Some(&true) {
                self.accept(listener);
            }
        }
    }

    /// Ends in order: replies that are being written are, as far as that is quick, and streams are told.
    fn finish(&mut self, ready: &[bool]) -> std::io::Result<()> {
        self.go_on(ready);
        let end = self.watch.elapsed() + STOP_TIME;
        self.clients
            .iter_mut()
            .for_each(|client| client.stop(&self.place));
        loop {
            self.clients.retain(|client| client.is_writing());
            let left = end.saturating_sub(self.watch.elapsed());
            if self.clients.is_empty() || left.is_zero() {
                return Ok(());
            }
            let ready = self.wait(None, left)?;
            self.go_on(&ready);
        }
    }

    /// Waits for something to do; returns which of these have something: the hub, the listener, each client.
    fn wait(
        &self,
        listener: Option<&listen::Listener>,
        most: Duration,
    ) -> std::io::Result<Vec<bool>> {
        let now = self.watch.elapsed();
        let due = self.clients.iter().filter_map(Client::due);
        let due = due.chain((self.accepts_at > now).then_some(self.accepts_at));
        let time = due
            .min()
            .map_or(most, |due| due.saturating_sub(now).min(most));
        let listens = match now >= self.accepts_at {
            true => PollFlags::IN,
            false => PollFlags::empty(),
        };
        let wake = self.place.channel.hub.wake_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(wake.as_fd(), PollFlags::IN)];
        let second = listener.map_or(wake.as_fd(), AsFd::as_fd);
        fds.push(PollFd::from_borrowed_fd(second, listens));
        for client in &self.clients {
            fds.push(PollFd::from_borrowed_fd(client.fd(), client.interest()));
        }
        // Rounded up: a wait that ends too early would be repeated.
        let time = time + Duration::from_millis(1);
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&time)) {
            Ok(_) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets each client go on that has something, or for which something is due.
    fn go_on(&mut self, ready: &[bool]) {
        let news = self.place.channel.hub.take_news();
        let now = self.watch.elapsed();
        for (ticket, news) in &news {
            for client in &mut self.clients {
                client.tell(*ticket, news, now);
            }
        }
        for index in 0..self.clients.len() {
            let used: usize = self.clients.iter().map(Client::held).sum();
            let left = BODIES_BYTES.saturating_sub(used);
            let is_ready = ready.get(index + 2).copied().unwrap_or_default();
            if let Some(client) = self.clients.get_mut(index) {
                client.go_on(&self.place, &mut self.guard, (is_ready, now, left));
            }
        }
        let hub = &self.place.channel.hub;
        self.clients.retain(|client| {
            let stays = !matches!(client.phase, Phase::Over);
            if let (false, Some(ticket)) = (stays, client.ticket) {
                hub.forget(ticket);
            }
            stays
        });
    }

    fn accept(&mut self, listener: &listen::Listener) {
        let now = self.watch.elapsed();
        let client = match listener.accept() {
            Ok(link) => Client::new(link, now),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            Err(error) => {
                // Such as too many open files, which passes.
                tracing::warn!("failed to accept a connection of HTTP: {error}");
                self.accepts_at = now + ACCEPT_RETRY;
                return;
            }
        };
        if self.clients.len() >= CONNECTIONS {
            let idle = self.clients.iter().enumerate();
            let idle = idle.filter(|(_, client)| client.may_be_dropped());
            let Some((idlest, _)) = idle.min_by_key(|(_, client)| client.moved) else {
                tracing::debug!("refused a connection of HTTP: all {CONNECTIONS} are at work");
                return;
            };
            self.clients.remove(idlest);
        }
        self.clients.push(client);
    }
}
