//! Descriptors that go from one process to another (unix(7), SCM_RIGHTS).

#![expect(unsafe_code, reason = "dup2(2) and fcntl(2) to a number of our choice")]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Sends a descriptor through a Unix socket.
pub fn send(socket: impl AsFd, descriptor: OwnedFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&descriptors));
    // At least one byte has to go with it.
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(b".")],
        &mut message,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Makes a descriptor known by this number too, also to the program that this process becomes. What had the
/// number before is closed.
pub fn place(descriptor: impl AsFd, number: RawFd) -> io::Result<()> {
    let own = descriptor.as_fd().as_raw_fd();
    // SAFETY: both calls take numbers only. The caller gives up what has the number.
    let done = unsafe {
        if own == number {
            libc::fcntl(own, libc::F_SETFD, 0)
        } else {
            libc::dup2(own, number)
        }
    };
    match done {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Waits for a descriptor; none when the other end is closed before one comes.
pub fn receive(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::io::retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(&socket, &mut parts, &mut message, RecvFlags::CMSG_CLOEXEC)
    })?;
    let found = message.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_descriptor_goes_through_a_socket_or_its_end_is_reported() {
        let (here, there) = UnixStream::pair().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        send(&here, writer).unwrap();
        let writer = receive(&there).unwrap().unwrap();
        rustix::io::write(&writer, b"through").unwrap();
        drop(writer);
        let mut text = String::new();
        std::fs::File::from(reader)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "through");
        drop(here);
        assert!(receive(&there).unwrap().is_none());
    }
}
