//! A connection with a server: its bytes, its session, and what is to be sent over it.

mod wire;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::person::people::People;
use super::session::line::{Line, write};
use super::session::outgoing::Outgoing;
use super::session::{Action, Ending, Pace, Session};
use super::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::channels::kit::adapter::Failure;
use crate::net::Tls;
use std::collections::VecDeque;
use wire::Wire;

/// Time in which the farewell has to be written.
const QUIT_TIME: Duration = Duration::from_secs(1);
/// Lines of our own business, such as joining channels, that wait to be sent.
const CHORES: usize = 64;

/// Why a connection is over.
#[derive(Debug)]
pub enum End {
    /// It failed.
    Failed(String),
    /// It will not work until the configuration is changed.
    Fatal(String),
    /// The token was raised.
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            Failure::Refused(why) => Self::Fatal(why),
            failure => Self::Failed(failure.to_string()),
        }
    }
}

impl From<End> for Failure {
    fn from(end: End) -> Self {
        match end {
            End::Stopped => Self::Stopped,
            End::Failed(why) | End::Fatal(why) => Self::Down(why),
        }
    }
}

/// An open connection.
pub struct Link {
    wire: Wire,
    session: Session,
    /// What is to be delivered.
    pub outgoing: Outgoing,
    /// Who has which nick.
    pub people: People,
    /// Lines of our own business.
    chores: VecDeque<String>,
    pace: Pace,
    watch: Stopwatch,
    /// Why the connection is over, until that is told.
    end: Option<End>,
}

impl Link {
    /// Connects, and says the first words. What is written to `wake` ends waits, and so does the token.
    pub fn open(
        settings: &Settings,
        people: People,
        tls: &Tls,
        cancel: &Cancel,
        wake: &Arc<OwnedFd>,
    ) -> Result<Self, End> {
        let wire = Wire::dial(settings, tls, cancel, wake)?;
        let watch = Stopwatch::start();
        let now = watch.elapsed();
        let (session, actions) = Session::begin(settings.clone(), now);
        let mut link = Self {
            wire,
            session,
            outgoing: Outgoing::default(),
            people,
            chores: VecDeque::new(),
            pace: Pace::new(settings.interval, now),
            watch,
            end: None,
        };
        link.people.forget_all();
        link.perform(actions)?;
        Ok(link)
    }

    /// Its session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The time on its watch.
    pub fn now(&self) -> Duration {
        self.watch.elapsed()
    }

    /// Joins a channel that is not in the configuration.
    pub fn join(&mut self, channel: &str) {
        self.session.join(channel, self.watch.elapsed());
    }

    /// Sends a line when there is room for it.
    pub fn chore(&mut self, line: String) {
        if self.chores.len() < CHORES {
            self.chores.push_back(line);
        }
    }

    /// Does what is due, and waits at most this long for something to happen. Returns the lines that came. What came
    /// before the connection ended is returned first, and the end the next time.
    pub fn step(&mut self, most: Duration) -> Result<Vec<Line>, End> {
        if let Some(end) = self.end.take() {
            return Err(end);
        }
        let actions = self.session.tick(self.now());
        self.perform(actions)?;
        self.send()?;
        let came = if self.wire.wait(self.wait(most))? {
            self.read()
        } else {
            Vec::new()
        };
        if self.end.is_none() {
            self.end = self.check().and_then(|()| self.send()).err();
        }
        match self.end.take_if(|_| came.is_empty()) {
            Some(end) => Err(end),
            None => Ok(came),
        }
    }

    /// How long to wait for something to happen.
    fn wait(&self, most: Duration) -> Duration {
        // Whoever waits for it is told first.
        if self.outgoing.has_finished() {
            return Duration::ZERO;
        }
        let now = self.now();
        let line = self.has_line().then(|| self.pace.next());
        let others = [line, self.outgoing.deadline()].into_iter().flatten();
        let next = others.fold(self.session.next(), Duration::min);
        most.min(next.saturating_sub(now))
    }

    /// Reads what has come. If the connection ends with it, that is kept in `end`.
    fn read(&mut self) -> Vec<Line> {
        self.end = self.wire.receive().err().map(End::from);
        let mut came = Vec::new();
        while let Some(bytes) = self.wire.line() {
            let Some(line) = Line::parse(&bytes) else {
                continue;
            };
            if self.end.is_none() {
                self.end = self.receive(&line).err();
            }
            came.push(line);
        }
        came
    }

    /// Fails if the server does not answer what it was asked.
    fn check(&self) -> Result<(), End> {
        let deadline = self.outgoing.deadline();
        if deadline.is_some_and(|deadline| self.now() >= deadline) {
            Err(End::Failed("the server does not answer".to_owned()))
        } else {
            Ok(())
        }
    }

    fn receive(&mut self, line: &Line) -> Result<(), End> {
        let now = self.now();
        if matches!(line.command.as_str(), "QUIT" | "NICK") {
            let case = self.session.support().case;
            self.people.nick_left(&line.source.nick, case);
        }
        let actions = self.session.receive(line, now);
        let session = &self.session;
        self.outgoing.receive(line, session, &mut self.people, now);
        self.perform(actions)
    }

    fn perform(&mut self, actions: Vec<Action>) -> Result<(), End> {
        for action in actions {
            match action {
                Action::Send(line) => self.write(&line)?,
                Action::Chore(line) => self.chore(line),
                Action::Ready => {
                    tracing::debug!(nick = self.session.nick(), "registered at an IRC server")
                }
                Action::End(Ending::Failed(why)) => return Err(End::Failed(why)),
                Action::End(Ending::Fatal(why)) => return Err(End::Fatal(why)),
            }
        }
        Ok(())
    }

    fn has_line(&self) -> bool {
        self.session.is_ready() && (!self.chores.is_empty() || self.outgoing.has_line())
    }

    /// Sends what the pace allows.
    fn send(&mut self) -> Result<(), End> {
        while self.has_line() && self.pace.next() <= self.now() {
            let line = match self.chores.pop_front() {
                Some(line) => Some(line),
                None => {
                    let now = self.watch.elapsed();
                    self.outgoing
                        .next_line(&self.session, &mut self.people, now)
                }
            };
            let Some(line) = line else {
                break;
            };
            self.write(&line)?;
        }
        Ok(())
    }

    fn write(&mut self, line: &str) -> Result<(), End> {
        self.pace.sent(self.watch.elapsed());
        Ok(self.wire.write(line)?)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.wire
            .say_farewell(&write("QUIT", &[], Some("")), QUIT_TIME);
    }
}
