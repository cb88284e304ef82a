//! The server's port, and a thread for each connection to it. The network can be gone for a while,
//! and comes back at the same port.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use crate::harness::line::{Line, Rates};
use rustix::net::sockopt::set_socket_reuseport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Where the server is reached.
pub(super) struct Network {
    address: SocketAddr,
    open: Mutex<Open>,
    rates: Arc<Rates>,
    /// Holds the port while nobody listens: bound, and never listening.
    _port: OwnedFd,
}

#[derive(Default)]
struct Open {
    listener: Option<Arc<TcpListener>>,
    sockets: BTreeMap<usize, TcpStream>,
    connections: usize,
}

impl Network {
    /// Takes a port; nobody listens at it yet.
    pub(super) fn new() -> Arc<Self> {
        let port = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = SocketAddrV4::try_from(rustix::net::getsockname(&port).unwrap()).unwrap();
        Arc::new(Self {
            address: address.into(),
            open: Mutex::default(),
            rates: Arc::default(),
            _port: port,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections there have been.
    pub(super) fn connections(&self) -> usize {
        self.open().connections
    }

    /// Refuses connections from now on, and cuts those that there are.
    pub(super) fn close(&self) {
        let mut open = self.open();
        if let Some(listener) = open.listener.take() {
            // This refuses clients at once, and ends the accepting thread.
            rustix::net::shutdown(&*listener, rustix::net::Shutdown::Both).unwrap();
        }
        for socket in open.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Accepts connections from now on, and serves each on a thread of its own.
    pub(super) fn listen(
        self: &Arc<Self>,
        serve: impl Fn(&TcpStream) -> io::Result<()> + Clone + Send + 'static,
    ) {
        let mut open = self.open();
        if open.listener.is_some() {
            return;
        }
        let socket = bound(self.address);
        listen(&socket, BACKLOG).unwrap();
        let listener = Arc::new(TcpListener::from(socket));
        self.rates.fit(&listener);
        open.listener = Some(Arc::clone(&listener));
        let network = Arc::clone(self);
        thread::spawn(move || network.accept(&listener, &serve));
    }

    fn accept(
        self: &Arc<Self>,
        listener: &Arc<TcpListener>,
        serve: &(impl Fn(&TcpStream) -> io::Result<()> + Clone + Send + 'static),
    ) {
        loop {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // Nobody listens any more.
                Err(_) => return,
            };
            socket.set_nodelay(true).unwrap();
            let Some(number) = self.keep(listener, &socket) else {
                return;
            };
            let (network, serve) = (Arc::clone(self), serve.clone());
            thread::spawn(move || {
                // A client may hang up whenever it likes.
                let _ = serve(&socket);
                let _ = socket.shutdown(Shutdown::Both);
                network.open().sockets.remove(&number);
            });
        }
    }

    /// A line for a new connection.
    pub(super) fn line(&self) -> Arc<Line> {
        Line::new(&self.rates)
    }

    /// Changes how fast the connections are.
    pub(super) fn change_rates(&self, change: impl FnOnce(&Rates)) {
        change(&self.rates);
        if let Some(listener) = &self.open().listener {
            self.rates.fit(listener);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap()
    }

    /// Keeps an accepted connection so that it can be cut; none when the network is gone by now.
    fn keep(&self, listener: &Arc<TcpListener>, socket: &TcpStream) -> Option<usize> {
        let mut open = self.open();
        let current = open.listener.as_ref();
        if !current.is_some_and(|current| Arc::ptr_eq(current, listener)) {
            return None;
        }
        open.connections += 1;
        let number = open.connections;
        open.sockets.insert(number, socket.try_clone().unwrap());
        Some(number)
    }
}

/// A socket at an address, beside others of this process.
fn bound(address: SocketAddr) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    set_socket_reuseport(&socket, true).unwrap();
    bind(&socket, &address).unwrap();
    socket
}
