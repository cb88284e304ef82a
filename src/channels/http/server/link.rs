//! The bytes of a connection, with TLS or without. Nothing here waits.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

/// A connection.
pub struct Link {
    socket: Socket,
    tls: Option<Box<ServerConnection>>,
    /// Where it comes from; `None` for a program on this machine.
    pub peer: Option<IpAddr>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Link {
    pub(super) fn tcp(
        stream: TcpStream,
        peer: IpAddr,
        tls: Option<Arc<ServerConfig>>,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // The pieces of an answer are not to wait for each other.
        stream.set_nodelay(true)?;
        let tls = tls.map(ServerConnection::new).transpose();
        Ok(Self {
            socket: Socket::Tcp(stream),
            tls: tls.map_err(io::Error::other)?.map(Box::new),
            peer: Some(peer),
        })
    }

    pub(super) fn unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            socket: Socket::Unix(stream),
            tls: None,
            peer: None,
        })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }

    /// Reads what has come; 0 at the end, `WouldBlock` when nothing has.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.read(buffer);
        };
        loop {
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // An end without a farewell is one too: a request says itself how long it is.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // The handshake's next part, or why it has failed.
            let written = write_tls(tls, &mut self.socket);
            processed.map_err(io::Error::other)?;
            written?;
        }
    }

    /// Writes as much as goes now; returns how much was taken.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.socket.write(bytes);
        };
        write_tls(tls, &mut self.socket)?;
        if tls.wants_write() || tls.is_handshaking() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = tls.writer().write(bytes)?;
        match write_tls(tls, &mut self.socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(count),
        }
    }

    /// Whether something of TLS waits to be written.
    pub(super) fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Writes what TLS has to.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => write_tls(tls, &mut self.socket),
            None => Ok(()),
        }
    }

    /// Says that nothing more comes.
    pub(super) fn end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = write_tls(tls, &mut self.socket);
        }
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(std::net::Shutdown::Write),
        };
    }
}

/// Writes the records of TLS that wait; `WouldBlock` when some are left.
fn write_tls(tls: &mut ServerConnection, socket: &mut Socket) -> io::Result<()> {
    while tls.wants_write() {
        if tls.write_tls(socket)? == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}
