//! Clients whose connection stays open between one use and the next.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::{Client, Settings, Tls};
use crate::base::cancel::{Cancel, Registration};
use crate::base::clock::Stopwatch;
use crate::base::error::Result;
use crate::base::limits::http::IDLE_AGE;
use crate::base::sync::Mutex;

/// Clients that are kept with their connection between turns, over all models: the model's and a
/// fallback's. Each holds about 55 kB with TLS (measured).
const KEPT_CLIENTS: usize = 2;

/// Keeps clients for a while after their use, so that the next one needs no handshake. Clones share
/// what is kept.
///
/// Nothing runs in the background: the owner of the pool calls [`close_idle`](Self::close_idle) when
/// there is nothing else to do, so that idle connections cost no memory for longer than
/// [`IDLE_AGE`].
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    tls: Tls,
    keep: Duration,
    /// The one that was used last at the end.
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    key: String,
    client: Arc<Client>,
    since: Stopwatch,
}

impl Idle {
    /// What is left of the time for which it is kept.
    fn left(&self, keep: Duration) -> Option<Duration> {
        keep.checked_sub(self.since.elapsed())
    }
}

impl Pool {
    /// An empty pool.
    pub fn new(tls: Tls) -> Self {
        Self::keeping(tls, IDLE_AGE)
    }

    pub(super) fn keeping(tls: Tls, keep: Duration) -> Self {
        let idle = Mutex::default();
        Self(Arc::new(Shared { tls, keep, idle }))
    }

    /// The certificates that its clients trust.
    pub fn tls(&self) -> &Tls {
        &self.0.tls
    }

    /// A client that `cancel` stops: one that was kept under the same key, or a new one. The key
    /// stands for the server and the settings, which are only used for a new one.
    pub fn client(&self, key: &str, settings: Settings, cancel: &Cancel) -> Result<PooledClient> {
        self.close_idle();
        let kept = {
            let mut idle = self.0.idle.lock();
            let found = idle.iter().rposition(|idle| idle.key == key);
            found.map(|index| idle.remove(index))
        };
        let client = match kept {
            Some(kept) => kept.client,
            None => Arc::new(Client::new(&self.0.tls, settings, &Cancel::new())?),
        };
        let of_client = client.cancel().clone();
        Ok(PooledClient {
            key: key.to_owned(),
            client,
            link: Some(cancel.on_cancel(move || of_client.cancel())),
            pool: self.clone(),
        })
    }

    /// Closes what has been idle for too long, and gives the time after which this should be called
    /// again; none when nothing is left.
    pub fn close_idle(&self) -> Option<Duration> {
        let keep = self.0.keep;
        let mut idle = self.0.idle.lock();
        idle.retain(|idle| idle.left(keep).is_some());
        idle.iter().filter_map(|idle| idle.left(keep)).min()
    }

    fn put_back(&self, key: String, client: Arc<Client>) {
        let since = Stopwatch::start();
        let mut idle = self.0.idle.lock();
        idle.push(Idle { key, client, since });
        let over = idle.len().saturating_sub(KEPT_CLIENTS);
        idle.drain(..over);
    }
}

/// A client of a [`Pool`], which gets it back when this is dropped. Its bodies must be read by then.
pub struct PooledClient {
    key: String,
    client: Arc<Client>,
    /// Passes the user's cancellation on to the client.
    link: Option<Registration>,
    pool: Pool,
}

impl Deref for PooledClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        // From here on a cancellation is not meant for the client.
        self.link = None;
        if self.client.is_worth_keeping() {
            let key = std::mem::take(&mut self.key);
            self.pool.put_back(key, Arc::clone(&self.client));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::http::server::{Answer, Authority, Server, answer, close, silence};

    const LONG: Duration = Duration::from_secs(60);

    fn pool(keep: Duration) -> Pool {
        Pool::keeping(Tls::new(None).unwrap(), keep)
    }

    fn settings(may_repeat: bool) -> Settings {
        Settings {
            may_repeat,
            ..Settings::new(LONG, LONG)
        }
    }

    /// A turn: takes a client, asks once, and gives it back.
    fn turn(pool: &Pool, url: &str, may_repeat: bool) -> Result<Vec<u8>> {
        let client = pool.client("model", settings(may_repeat), &Cancel::new())?;
        client.post(url, &[], b"{}")?.read_to_end(99)
    }

    fn answers(count: usize) -> Vec<Answer> {
        (0..count).map(|_| answer("200 OK", "", b"hello")).collect()
    }

    #[test]
    fn turns_in_a_row_need_one_handshake() {
        let authority = Authority::new();
        let server = Server::tls(authority.issue("localhost", |_| ()), answers(3));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        let pool = Pool::new(Tls::new(Some(&file)).unwrap());
        for _ in 0..3 {
            turn(&pool, &server.https(), false).unwrap();
        }
        assert_eq!(server.connections(), 1);
    }

    #[test]
    fn after_its_time_a_connection_is_closed_and_a_new_one_made() {
        let server = Server::plain(answers(2));
        let brief = pool(Duration::from_millis(30));
        assert_eq!(brief.close_idle(), None);
        turn(&brief, &server.http(), false).unwrap();
        let left = brief.close_idle().unwrap();
        assert!(left <= Duration::from_millis(30));
        Cancel::new().wait(left + Duration::from_millis(5));
        assert_eq!(brief.close_idle(), None);
        assert!(brief.0.idle.lock().is_empty());
        turn(&brief, &server.http(), false).unwrap();
        assert_eq!(server.connections(), 2);
    }

    #[test]
    fn few_clients_are_kept_and_each_for_its_own_key() {
        let server = Server::plain(answers(9));
        let pool = pool(LONG);
        for key in ["a", "b", "c", "a"] {
            let client = pool.client(key, settings(false), &Cancel::new()).unwrap();
            client
                .get(&server.http(), &[])
                .unwrap()
                .read_to_end(99)
                .unwrap();
        }
        assert_eq!(server.connections(), 4);
        assert_eq!(pool.0.idle.lock().len(), KEPT_CLIENTS);
        drop(
            pool.client("unused", settings(false), &Cancel::new())
                .unwrap(),
        );
        assert_eq!(pool.0.idle.lock().len(), KEPT_CLIENTS);
    }

    #[test]
    fn a_connection_that_the_server_has_closed_meanwhile_is_replaced() {
        let goodbye = || close("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
        let server = Server::plain([goodbye(), goodbye()]);
        let pool = pool(LONG);
        turn(&pool, &server.http(), false).unwrap();
        Cancel::new().wait(Duration::from_millis(50));
        turn(&pool, &server.http(), false).unwrap();
        assert_eq!(server.connections(), 2);
    }

    /// The server closes when it has the second request: the client cannot see that before sending it.
    #[test]
    fn a_request_that_meets_a_closing_connection_is_repeated_once_where_it_may_be() {
        for (may_repeat, expected) in [(true, 2), (false, 1)] {
            let [first, second] = [(); 2].map(|()| answer("200 OK", "", b"hello"));
            let server = Server::plain([first, close(""), second]);
            let pool = pool(LONG);
            turn(&pool, &server.http(), may_repeat).unwrap();
            assert_eq!(turn(&pool, &server.http(), may_repeat).is_ok(), may_repeat);
            assert_eq!(server.connections(), expected);
        }
    }

    #[test]
    fn a_request_is_not_repeated_on_a_fresh_connection_or_after_a_part_of_the_reply() {
        let server = Server::plain([
            close(""),
            answer("200 OK", "", b"hello"),
            close("HTTP/1.1 2"),
        ]);
        let pool = pool(LONG);
        turn(&pool, &server.http(), true).unwrap_err();
        turn(&pool, &server.http(), true).unwrap();
        turn(&pool, &server.http(), true).unwrap_err();
        assert_eq!(server.connections(), 2);
    }

    #[test]
    fn a_cancelled_turn_ends_at_once_and_its_connection_is_not_kept() {
        let server = Server::plain([silence()]);
        let pool = pool(LONG);
        let cancel = Cancel::new();
        let client = pool.client("model", settings(true), &cancel).unwrap();
        let url = server.http();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| client.post(&url, &[], b"{}").map(drop));
            drop(server.request());
            cancel.cancel();
            let outcome = call.join().unwrap();
            assert!(
                matches!(outcome, Err(crate::base::error::Error::Stopped)),
                "{outcome:?}"
            );
        });
        drop(client);
        assert!(pool.0.idle.lock().is_empty());
    }

    #[test]
    fn a_token_of_a_turn_that_is_over_stops_nothing() {
        let server = Server::plain(answers(2));
        let pool = pool(LONG);
        let old = Cancel::new();
        let client = pool.client("model", settings(false), &old).unwrap();
        client
            .get(&server.http(), &[])
            .unwrap()
            .read_to_end(99)
            .unwrap();
        drop(client);
        old.cancel();
        turn(&pool, &server.http(), false).unwrap();
        assert_eq!(server.connections(), 1);
    }
}
