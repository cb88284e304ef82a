//! The server's port, and a thread for each connection. The network can be cut for a while,
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

/// The server's address and connections.
pub(super) struct Network {
    address: SocketAddr,
    open: Mutex<Open>,
    rates: Arc<Rates>,
    /// Reserves the port while the network is cut: bound, and never listening.
    _port: OwnedFd,
}

#[derive(Default)]
struct Open {
    listener: Option<Arc<TcpListener>>,
    sockets: BTreeMap<usize, TcpStream>,
    connections: usize,
}

impl Network {
    /// Reserves a port without listening on it yet.
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

    /// The number of connections so far.
    pub(super) fn connections(&self) -> usize {
        self.open().connections
    }

    /// Refuses new connections, and cuts the existing ones.
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

    /// Accepts connections, and serves each on its own thread.
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
                // The listener is closed.
                Err(_) => return,
            };
            socket.set_nodelay(true).unwrap();
            let Some(number) = self.keep(listener, &socket) else {
                return;
            };
            let (network, serve) = (Arc::clone(self), serve.clone());
            thread::spawn(move || {
                // A client may disconnect at any time.
                let _ = serve(&socket);
                let _ = socket.shutdown(Shutdown::Both);
                network.open().sockets.remove(&number);
            });
        }
    }

    /// The speed limit for a new connection.
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

    /// Registers an accepted connection so that it can be cut; `None` if the network was cut meanwhile.
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
