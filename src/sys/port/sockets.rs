//! TCP sockets of this network namespace, as the kernel knows them: sock_diag(7).
//!
//! Its tables in /proc (proc_pid_net(5)) are read in pieces while they change, so that a line may be missed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// A socket and its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its own address.
    pub local: SocketAddr,
    /// Whether it waits for connections.
    pub listens: bool,
    /// The user who made it.
    pub user: u32,
    /// Its number, as the links of descriptors have it; 0 while no process has it.
    pub inode: u64,
}

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// `TCP_LISTEN` of net/tcp_states.h.
const LISTEN: u8 = 10;
/// Bytes of `struct nlmsghdr`, before each message.
const HEADER_BYTES: usize = 16;
/// Bytes of `struct inet_diag_msg` of linux/inet_diag.h.
const ANSWER_BYTES: usize = 72;
/// Bytes of an answer of several messages: the kernel fills no more than this much at once (`NLMSG_GOODSIZE`).
const BUFFER_BYTES: usize = 32 * 1024;
/// Sockets that listen on one port are few; more than this many are not read.
const LISTENERS_MAX: usize = 1024;

/// The socket that has taken the connection from `remote` to `local`, if there is one: the same look-up that an
/// incoming packet gets. `None` while the connection waits to be accepted.
pub fn accepted(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Socket>> {
    let request = Request {
        family: family_of(local),
        protocol: libc::IPPROTO_TCP as u8,
        flags: 0,
        states: u32::MAX,
        local,
        remote: Some(remote),
    };
    let found = match request.ask() {
        // That there is no such socket, or that the module for TCP cannot be loaded, as behind an update of the
        // kernel: then the question for lists has no answer either.
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            listeners(local.port())?;
            None
        }
        found => found?.pop(),
    };
    Ok(found.filter(|socket| !socket.listens && socket.inode != 0))
}

/// The sockets that wait for connections to a port of any address.
pub fn listeners(port: u16) -> io::Result<Vec<Socket>> {
    let mut found = Vec::new();
    for any in [
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::from(Ipv6Addr::UNSPECIFIED),
    ] {
        let local = SocketAddr::new(any, port);
        let request = Request {
            family: family_of(local),
            protocol: libc::IPPROTO_TCP as u8,
            flags: libc::NLM_F_DUMP as u16,
            states: 1 << LISTEN,
            local,
            remote: None,
        };
        match request.ask() {
            // A kernel without IPv6.
            Err(error) if any.is_ipv6() && error.raw_os_error() == Some(libc::ENOENT) => {}
            sockets => found.extend(sockets?),
        }
    }
    found.retain(|socket| socket.listens && socket.local.port() == port);
    Ok(found)
}

fn family_of(address: SocketAddr) -> u8 {
    match address {
        SocketAddr::V4(_) => libc::AF_INET as u8,
        SocketAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

/// A question about sockets.
struct Request {
    family: u8,
    /// `IPPROTO_TCP`.
    protocol: u8,
    flags: u16,
    /// A bit for each state of net/tcp_states.h.
    states: u32,
    local: SocketAddr,
    remote: Option<SocketAddr>,
}

impl Request {
    /// Asks the kernel, which has answered when the request is sent.
    fn ask(&self) -> io::Result<Vec<Socket>> {
        let kind = SocketType::RAW;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::SOCK_DIAG);
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, protocol)?;
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&socket, &self.encode(), SendFlags::empty(), &kernel)?;
        read(&socket, self.flags != 0)
    }

    /// `struct inet_diag_req_v2` of linux/inet_diag.h behind its header.
    fn encode(&self) -> Vec<u8> {
        const BYTES: u32 = 72;
        let mut bytes = Vec::with_capacity(BYTES as usize);
        bytes.extend(BYTES.to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend((libc::NLM_F_REQUEST as u16 | self.flags).to_ne_bytes());
        // The sequence number and the port: a socket that asks once needs none.
        bytes.extend([0; 8]);
        bytes.extend([self.family, self.protocol, 0, 0]);
        bytes.extend(self.states.to_ne_bytes());
        let unnamed = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let remote = self.remote.unwrap_or(unnamed);
        bytes.extend(self.local.port().to_be_bytes());
        bytes.extend(remote.port().to_be_bytes());
        bytes.extend(octets(self.local.ip()));
        bytes.extend(octets(remote.ip()));
        let interface = match self.local {
            SocketAddr::V6(local) => local.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        bytes.extend(interface.to_ne_bytes());
        // `INET_DIAG_NOCOOKIE`, twice.
        bytes.extend([0xff; 8]);
        bytes
    }
}

/// An address in 16 bytes, those of IPv4 in the first four.
fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&ip.octets());
            octets
        }
    }
}

/// Reads the messages of an answer; of one of several parts, up to its end.
fn read(socket: &OwnedFd, has_parts: bool) -> io::Result<Vec<Socket>> {
    let mut found = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let (count, _) = rustix::net::recv(socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..count];
        while let Some((kind, content, after)) = split_message(rest) {
            rest = after;
            // Both begin with a negative error number, or with 0.
            let code = content.first_chunk().copied().map_or(0, i32::from_ne_bytes);
            match i32::from(kind) {
                libc::NLMSG_DONE if code >= 0 => return Ok(found),
                libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                    return Err(io::Error::from_raw_os_error(-code));
                }
                _ if found.len() >= LISTENERS_MAX => return Ok(found),
                _ => found.extend(decode(content)),
            }
        }
        if !has_parts || count == 0 {
            return Ok(found);
        }
    }
}

/// The first message: its type, its content, and what follows. `None` at the end and for what is broken.
fn split_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (header, _) = bytes.split_first_chunk::<HEADER_BYTES>()?;
    let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
    let content = bytes.get(HEADER_BYTES..length)?;
    // The next one begins at a multiple of four bytes (netlink(7)).
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((u16::from_ne_bytes([header[4], header[5]]), content, after))
}

/// `struct inet_diag_msg`: family, state, 2 bytes, ports, addresses, 24 bytes, the user and the inode.
fn decode(content: &[u8]) -> Option<Socket> {
    let answer: &[u8; ANSWER_BYTES] = content.first_chunk()?;
    let word = |at: usize| [answer[at], answer[at + 1], answer[at + 2], answer[at + 3]];
    let ip: IpAddr = match i32::from(answer[0]) {
        libc::AF_INET => word(8).into(),
        _ => <[u8; 16]>::try_from(&answer[8..24]).ok()?.into(),
    };
    Some(Socket {
        local: SocketAddr::new(
            ip.to_canonical(),
            u16::from_be_bytes([answer[4], answer[5]]),
        ),
        listens: answer[1] == LISTEN,
        user: u32::from_ne_bytes(word(64)),
        inode: u32::from_ne_bytes(word(68)).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asked for a protocol that has no sockets, the kernel says so in both kinds of answers.
    #[test]
    fn an_unknown_protocol_is_an_error_and_no_empty_list() {
        const UNASSIGNED: u8 = 200;
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        for (flags, remote) in [(0, Some(local)), (libc::NLM_F_DUMP as u16, None)] {
            let request = Request {
                family: family_of(local),
                protocol: UNASSIGNED,
                flags,
                states: u32::MAX,
                local,
                remote,
            };
            let error = request.ask().unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{flags}");
        }
    }

    #[test]
    fn broken_answers_are_refused() {
        for length in [0_u32, 8, 15, 17, u32::MAX] {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend([0; 12]);
            let split = split_message(&bytes);
            assert!(split.is_none(), "{length}: {split:?}");
        }
        assert_eq!(decode(&[0; ANSWER_BYTES - 1]), None);
    }
}
