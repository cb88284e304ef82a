//! Connections with a speed limit: bytes per second, for each connection and direction.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

/// Pieces per second in which a slow connection sends its bytes, unless a piece would be less than a byte.
const PIECES: u32 = 20;
/// Maximum segment size of a slow connection, in bytes: Ethernet's; loopback's would be 64 KiB.
const SEGMENT: u32 = 1400;
/// The kernel's buffer of a slow connection, in bytes. The kernel doubles the number.
const WINDOW: usize = 8 << 10;

/// The speed of a connection, in bytes per second. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// From the client to the server.
    pub up: Option<u32>,
    /// From the server to the client.
    pub down: Option<u32>,
}

impl Rate {
    /// No limit in either direction.
    pub const FULL: Self = Self {
        up: None,
        down: None,
    };

    /// Uploads are slow.
    pub fn up(bytes: u32) -> Self {
        Self {
            up: Some(bytes),
            ..Self::FULL
        }
    }

    /// Downloads are slow.
    pub fn down(bytes: u32) -> Self {
        Self {
            down: Some(bytes),
            ..Self::FULL
        }
    }

    /// Both are slow.
    pub fn both(bytes: u32) -> Self {
        Self {
            up: Some(bytes),
            down: Some(bytes),
        }
    }
}

/// The rates of a server's connections, which may change at any time.
#[derive(Default)]
pub(super) struct Rates {
    table: Mutex<Table>,
    /// Whether there has ever been a limit: new connections then get small buffers.
    narrow: AtomicBool,
}

#[derive(Default)]
struct Table {
    all: Rate,
    by_kind: BTreeMap<String, Rate>,
}

impl Rates {
    /// Sets the rate of every connection.
    pub(super) fn set(&self, rate: Rate) {
        self.change(|table| table.all = rate);
    }

    /// Sets the rate of a connection while it carries a request of this kind.
    pub(super) fn set_of(&self, kind: &str, rate: Rate) {
        self.change(|table| {
            table.by_kind.insert(kind.to_owned(), rate);
        });
    }

    /// Forgets all rates.
    pub(super) fn clear(&self) {
        self.change(|table| *table = Table::default());
    }

    /// Gives new connections of a listener small buffers, once there is a
    /// limit. Loopback's would accept megabytes at once, and nothing would look slow to the client.
    pub(super) fn fit(&self, listener: &TcpListener) {
        if self.narrow.load(Ordering::SeqCst) {
            let socket = SockRef::from(listener);
            socket.set_tcp_mss(SEGMENT).unwrap();
            socket.set_recv_buffer_size(WINDOW).unwrap();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        self.narrow.store(true, Ordering::SeqCst);
        change(&mut self.table.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn of(&self, kind: &str) -> Rate {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.by_kind.get(kind).copied().unwrap_or(table.all)
    }
}

/// One connection's rate.
pub(super) struct Line {
    rates: Arc<Rates>,
    kind: Mutex<String>,
}

impl Line {
    /// A connection with the default rate.
    pub(super) fn new(rates: &Arc<Rates>) -> Arc<Self> {
        Arc::new(Self {
            rates: Arc::clone(rates),
            kind: Mutex::default(),
        })
    }

    /// Sets the kind of request that the connection carries.
    pub(super) fn carries(&self, kind: &str) {
        kind.clone_into(&mut self.kind.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn rate(&self) -> Rate {
        let kind = self.kind.lock().unwrap_or_else(PoisonError::into_inner);
        self.rates.of(&kind)
    }
}

/// A socket with a speed limit.
pub(super) struct Paced {
    pub socket: TcpStream,
    pub line: Arc<Line>,
}

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(rate) = self.line.rate().up else {
            return self.socket.read(buffer);
        };
        let piece = piece(rate, buffer.len());
        let read = self.socket.read(&mut buffer[..piece])?;
        pause(rate, read);
        Ok(read)
    }
}

impl Write for Paced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(rate) = self.line.rate().down else {
            return self.socket.write(bytes);
        };
        let written = self.socket.write(&bytes[..piece(rate, bytes.len())])?;
        pause(rate, written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn piece(rate: u32, most: usize) -> usize {
    ((rate / PIECES).max(1) as usize).min(most)
}

fn pause(rate: u32, bytes: usize) {
    thread::sleep(Duration::from_secs_f64(
        bytes as f64 / f64::from(rate.max(1)),
    ));
}
