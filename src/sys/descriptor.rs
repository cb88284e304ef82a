//! Descriptors that go from one process to another (unix(7), SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

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
