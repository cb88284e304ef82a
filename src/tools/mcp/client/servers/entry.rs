//! One server: whether it runs, when it failed, and how old its lists are.

use std::sync::Arc;
use std::time::Duration;

use super::listing::{Age, Stored, fingerprint};
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::sync::Mutex;
use crate::config::schema::McpServer;
use crate::tools::mcp::client::link::Link;
use crate::tools::mcp::client::stdio::{Connection, End};

/// Seconds until a server is started again, after the first failure in a row, the second, and so on.
const RETRY_SECONDS: [u64; 6] = [0, 5, 30, 120, 600, 1800];

/// A server of the configuration.
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub server: McpServer,
    /// A hash of them, without secrets.
    pub fingerprint: String,
    /// What has happened to it.
    pub state: Mutex<State>,
}

/// What has happened to a server.
#[derive(Default)]
pub struct State {
    /// The connection to it.
    pub up: Option<Up>,
    /// Whether a thread is connecting.
    pub is_starting: bool,
    /// How many threads work for turns, and since when one or more do.
    pub working: Option<(usize, Stopwatch)>,
    /// The last failure, unless a call has succeeded since.
    pub failure: Option<Failure>,
    /// How often it was found to have said that its lists have changed.
    pub changes: u64,
    /// How many of these changes are in the lists that were read last.
    pub changes_read: u64,
    /// How old its lists are; `None`: not looked up yet, or there are none.
    pub age: Option<Age>,
    /// The lists, where they cannot be stored.
    pub kept: Option<Stored>,
}

/// A failure.
pub struct Failure {
    since: Stopwatch,
    /// How many there were in a row.
    count: usize,
    /// What happened.
    pub why: String,
    /// Whether a person has to log in first, so that trying again is of no use.
    pub needs_login: bool,
}

/// A connection to a server.
#[derive(Clone)]
pub struct Up {
    /// What speaks with it.
    pub link: Arc<Link>,
    /// Its program; `None` for one that has an address.
    pub connection: Option<Arc<Connection>>,
    /// Since when.
    pub since: Stopwatch,
}

impl Up {
    /// Why no calls can be made any more.
    pub fn end(&self) -> Option<End> {
        match &self.connection {
            Some(connection) => connection.end(),
            None => self.link.is_over().then_some(End::Stopped),
        }
    }

    /// Whether it has said since the last time that its lists have changed.
    pub fn take_change(&self) -> bool {
        let by_program = (self.connection.as_ref()).is_some_and(|one| one.take_change());
        self.link.take_change() || by_program
    }
}

impl Entry {
    /// A server of which nothing has happened yet.
    pub fn new(name: String, server: McpServer) -> Self {
        Self {
            fingerprint: fingerprint(&server),
            name,
            server,
            state: Mutex::default(),
        }
    }

    /// Ends its connection.
    pub fn stop(&self) {
        let up = self.state.lock().up.take();
        if let Some(connection) = up.and_then(|up| up.connection) {
            connection.stop();
        }
    }
}

impl State {
    /// The connection, when calls can be made.
    pub fn live(&mut self) -> Option<Up> {
        match self.up.as_ref()?.end() {
            None => return self.up.clone(),
            Some(End::Stopped) => {}
            Some(End::Failed(why)) => self.fail(why),
        }
        self.up = None;
        None
    }

    /// Forgets a connection, so that the next call makes a new one.
    pub fn forget(&mut self, up: &Up) {
        if (self.up.as_ref()).is_some_and(|now| Arc::ptr_eq(&now.link, &up.link)) {
            self.up = None;
        }
    }

    /// Whether the server has said that its lists have changed since they were read.
    pub fn has_changed(&mut self) -> bool {
        self.changes += u64::from(self.up.as_ref().is_some_and(Up::take_change));
        self.changes > self.changes_read
    }

    /// Notes a failure.
    pub fn fail(&mut self, why: String) {
        let count = self.failure.as_ref().map_or(0, |failure| failure.count);
        self.failure = Some(Failure {
            since: Stopwatch::start(),
            count: count + 1,
            why,
            needs_login: false,
        });
    }

    /// Notes that connecting failed.
    pub fn fail_with(&mut self, error: &Error) {
        self.fail(error.to_string());
        if let (
            Error::Status {
                status: 401 | 403, ..
            },
            Some(failure),
        ) = (error, &mut self.failure)
        {
            (failure.needs_login, failure.count) = (true, 0);
        }
    }

    /// How long it is not tried again.
    pub fn wait(&self) -> Option<Duration> {
        let failure = self.failure.as_ref()?;
        let at = failure.count.clamp(1, RETRY_SECONDS.len()) - 1;
        let time = Duration::from_secs(RETRY_SECONDS.get(at).copied().unwrap_or_default());
        let left = time.saturating_sub(failure.since.elapsed());
        (!left.is_zero()).then_some(left)
    }

    /// The error of a call that would have to connect, while it is too early for that.
    pub fn too_early(&self, name: &str) -> Option<Error> {
        let seconds = self.wait()?.as_secs() + 1;
        let why = self.failure.as_ref().map_or("", |failure| &failure.why);
        Some(Error::Failed(format!(
            "the MCP server {name} cannot be used now, and is tried again in {seconds} s. Last error: {why}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_failures_in_a_row_a_server_is_tried_less_and_less() {
        let mut state = State::default();
        assert_eq!(state.wait(), None);
        state.fail("ended".to_owned());
        assert_eq!(state.wait(), None, "once more, at once");
        let mut last = 0;
        for _ in 0..10 {
            state.fail("ended (exit status 1)".to_owned());
            let wait = state.wait().unwrap().as_secs() + 1;
            assert!(wait >= last);
            last = wait;
        }
        assert_eq!(last, 1800);
        let error = state.too_early("lamp").unwrap().to_string();
        assert!(
            error.contains("lamp") && error.contains("1800 s") && error.contains("exit status 1"),
            "{error}"
        );
        state.failure = None;
        assert!(state.too_early("lamp").is_none());
        for _ in 0..3 {
            state.fail_with(&Error::Status {
                host: "lamp".to_owned(),
                status: 401,
                retry_after: None,
                body: String::new(),
            });
            assert_eq!(state.wait(), None, "a call offers the login each time");
        }
        assert!(state.failure.unwrap().needs_login);
    }
}
