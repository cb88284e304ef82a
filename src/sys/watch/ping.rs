//! Whether a host answers an echo request, without the rights of root: a ping socket (icmp(7), `ping_group_range`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};

use super::events::{Waited, wait};

/// Asks once and waits for the answer. Fails with `PermissionDenied` where this account may not.
pub fn ping(host: IpAddr, number: u16, time: Duration) -> io::Result<bool> {
    // Echo requests: type 8 of RFC 792, type 128 of RFC 4443. The kernel fills in the id and the checksum.
    let (family, protocol, kind) = match host {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, 8),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, 128),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
    let [high, low] = number.to_be_bytes();
    let request = [kind, 0, 0, 0, 0, 0, high, low];
    // Connected, so that only answers of this host come.
    rustix::net::connect(&socket, &SocketAddr::new(host, 0))?;
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let waited = Waited {
        descriptor: std::os::fd::AsFd::as_fd(&socket),
        is_priority: false,
    };
    if wait(&[waited], Some(time))? != [true] {
        return Ok(false);
    }
    let mut answer = [0; 64];
    // An answer that the host cannot be reached is an error of the socket.
    Ok(rustix::net::recv(&socket, &mut answer, RecvFlags::empty()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn this_machine_answers_where_it_may_be_asked() {
        match ping(Ipv4Addr::LOCALHOST.into(), 1, Duration::from_secs(5)) {
            Ok(answered) => assert!(answered),
            // As in a container without a range of groups.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
