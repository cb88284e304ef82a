//! A client's connection, with TLS or without: one thread reads it, and others write.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags};
use rustls::{ServerConfig, ServerConnection};

/// The connection.
pub(super) struct Pipe {
    socket: TcpStream,
    tls: Option<Mutex<ServerConnection>>,
    /// Held while a line is written without TLS.
    writing: Mutex<()>,
}

impl Pipe {
    pub(super) fn new(socket: &TcpStream, tls: Option<&Arc<ServerConfig>>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let tls = tls.map(|config| ServerConnection::new(Arc::clone(config)));
        Ok(Self {
            socket: socket.try_clone()?,
            tls: tls.transpose().map_err(io::Error::other)?.map(Mutex::new),
            writing: Mutex::default(),
        })
    }

    fn poll(&self, flags: PollFlags) -> io::Result<()> {
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), flags)];
        rustix::event::poll(&mut fds, None)?;
        Ok(())
    }

    /// Waits for bytes; none: the client has gone.
    pub(super) fn read(&self, into: &mut Vec<u8>) -> io::Result<bool> {
        let before = into.len();
        loop {
            self.poll(PollFlags::IN)?;
            let mut chunk = [0; 4096];
            let Some(tls) = &self.tls else {
                let count = (&self.socket).read(&mut chunk)?;
                into.extend(&chunk[..count]);
                return Ok(count > 0);
            };
            let mut tls = tls.lock().unwrap_or_else(PoisonError::into_inner);
            if tls.read_tls(&mut &self.socket)? == 0 {
                return Ok(false);
            }
            tls.process_new_packets().map_err(io::Error::other)?;
            self.flush(&mut tls)?;
            loop {
                match tls.reader().read(&mut chunk) {
                    Ok(0) => return Ok(false),
                    Ok(count) => into.extend(&chunk[..count]),
                    Err(_) => break,
                }
            }
            if into.len() > before {
                return Ok(true);
            }
        }
    }

    /// Sends a line.
    pub(super) fn send(&self, line: &str) {
        // The client may be gone.
        let _ = self.write(format!("{line}\r\n").as_bytes());
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            let mut tls = tls.lock().unwrap_or_else(PoisonError::into_inner);
            tls.writer().write_all(bytes)?;
            return self.flush(&mut tls);
        }
        let _one_at_a_time = self.writing.lock();
        while !bytes.is_empty() {
            match (&self.socket).write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.poll(PollFlags::OUT)?
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn flush(&self, tls: &mut ServerConnection) -> io::Result<()> {
        while tls.wants_write() {
            match tls.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.poll(PollFlags::OUT)?
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Breaks the connection.
    pub(super) fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
