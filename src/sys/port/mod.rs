//! Which users have a port of this machine open: sock_diag(7), proc_pid_net(5), proc_pid_fd(5) and passwd(5).

mod sockets;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use rustix::process::getpid;

use super::file::read_at_most;
use super::process::{descendants_of, has_children};
use crate::base::error::{Error, Result};
use crate::base::limits::service::ACCOUNTS_BYTES;
pub use sockets::Socket;

/// Bytes of the table of TCP sockets that are read, 150 each: a busy server has a thousand.
const SOCKETS_BYTES: usize = 1024 * 1024;

/// The sockets that may be the other end of a connection from `ours` to `theirs`: the one that has taken it, or
/// until then everything that listens there. Only those of this network namespace are seen.
pub fn holders(theirs: SocketAddr, ours: SocketAddr) -> Result<Vec<Socket>> {
    let (theirs, ours) = (canonical(theirs), canonical(ours));
    // A kernel may lack it (CONFIG_INET_DIAG).
    let Ok(accepted) = sockets::accepted(theirs, ours) else {
        return holders_in_tables(theirs, ours);
    };
    if let Some(accepted) = accepted {
        return Ok(vec![accepted]);
    }
    let mut listening = listeners(theirs.port())?;
    listening.retain(|socket| socket.is_at(theirs));
    Ok(listening)
}

/// The same from the tables, of which a reading may miss a line.
fn holders_in_tables(theirs: SocketAddr, ours: SocketAddr) -> Result<Vec<Socket>> {
    const READINGS: usize = 3;
    let mut listening = Vec::new();
    for _ in 0..READINGS {
        for (socket, remote) in read_tables()? {
            match socket.listens {
                _ if !socket.is_at(theirs) => {}
                true if !listening.contains(&socket) => listening.push(socket),
                false if remote == ours && socket.inode != 0 => return Ok(vec![socket]),
                _ => {}
            }
        }
    }
    Ok(listening)
}

/// The sockets that wait for connections to a port, on any address.
pub fn listeners(port: u16) -> Result<Vec<Socket>> {
    if let Ok(listening) = sockets::listeners(port) {
        return Ok(listening);
    }
    let found = read_tables()?.into_iter().map(|(socket, _)| socket);
    Ok(found
        .filter(|socket| socket.listens && socket.local.port() == port)
        .collect())
}

impl Socket {
    fn is_at(&self, address: SocketAddr) -> bool {
        let ip = self.local.ip();
        self.local.port() == address.port() && (ip == address.ip() || ip.is_unspecified())
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// All sockets in the kernel's tables, each with the other end of its connection.
fn read_tables() -> Result<Vec<(Socket, SocketAddr)>> {
    let mut found = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let table = match read_at_most(Path::new(table), SOCKETS_BYTES) {
            // A kernel without IPv6 has no second table.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
            table => table?,
        };
        let lines = std::str::from_utf8(&table).unwrap_or_default().lines();
        found.extend(lines.filter_map(read_line));
    }
    Ok(found)
}

fn read_line(line: &str) -> Option<(Socket, SocketAddr)> {
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, local, remote, state, _, _, _, user, _, inode, ..] = fields[..] else {
        return None;
    };
    let socket = Socket {
        local: address(local)?,
        listens: state == LISTENS,
        user: user.parse().ok()?,
        inode: inode.parse().ok()?,
    };
    Some((socket, address(remote)?))
}

/// An address and a port as the tables have them: each 32 bits as this processor has them in memory.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words = |word: &[u8]| {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let bytes: Vec<u8> = ip
        .as_bytes()
        .chunks(8)
        .map(words)
        .collect::<Option<Vec<[u8; 4]>>>()?
        .concat();
    let ip = match <[u8; 4]>::try_from(&*bytes) {
        Ok(bytes) => Ipv4Addr::from(bytes).into(),
        Err(_) => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(&*bytes).ok()?)),
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddr::new(ip.to_canonical(), port))
}

/// Whether each of these sockets is open in a process that does not descend from this one. A socket that
/// nobody is seen to have may be on its way from one process to another, so it does not count as found.
/// Where nothing descends from this process there is nothing to look for.
pub fn are_held_by_others(holders: &[Socket]) -> bool {
    if !has_children() {
        return true;
    }
    let below = descendants_of(getpid());
    if below.is_empty() {
        return true;
    }
    let mut missing: Vec<String> = holders
        .iter()
        .filter(|holder| holder.inode != 0)
        .map(|holder| format!("socket:[{}]", holder.inode))
        .collect();
    if missing.is_empty() {
        return false;
    }
    let is_other = |process: &Path| {
        let number = process
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        number.is_some_and(|number: i32| below.iter().all(|pid| pid.as_raw_pid() != number))
    };
    let processes = entries("/proc").unwrap_or_default();
    for process in processes.iter().filter(|process| is_other(process)) {
        for descriptor in entries(process.join("fd")).unwrap_or_default() {
            if let Ok(link) = std::fs::read_link(descriptor) {
                missing.retain(|missing| link.as_os_str() != missing.as_str());
            }
        }
        if missing.is_empty() {
            return true;
        }
    }
    false
}

/// What is in a folder of /proc; nothing when the process has ended, `None` when it cannot be read.
fn entries(folder: impl AsRef<Path>) -> Option<Vec<std::path::PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()).ok())
            .collect(),
        Err(error) => {
            let gone = [Some(libc::ENOENT), Some(libc::ESRCH)];
            gone.contains(&error.raw_os_error()).then(Vec::new)
        }
    }
}

/// This process's user.
pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The id of a user, given by name or number.
pub fn user_number(name: &str) -> Option<u32> {
    let named = || accounts().into_iter().find(|account| account.0 == name);
    name.parse()
        .ok()
        .or_else(|| named().map(|account| account.1))
}

/// A user's name, or the number where this machine's own list has none.
pub fn user_name(number: u32) -> String {
    let mut accounts = accounts().into_iter();
    match accounts.find(|account| account.1 == number) {
        Some((name, _)) => name,
        None => number.to_string(),
    }
}

/// The shell with which a user logs in, where this machine's own list has one that runs commands.
pub fn login_shell(number: u32) -> Option<String> {
    let list = read_at_most(Path::new("/etc/passwd"), ACCOUNTS_BYTES).ok()?;
    let list = String::from_utf8_lossy(&list);
    let of_user = |line: &&str| line.split(':').nth(2) == Some(number.to_string().as_str());
    let shell = list.lines().find(of_user)?.split(':').nth(6)?;
    // Services have one that says no.
    let is_one = shell.starts_with('/') && !shell.ends_with("nologin") && !shell.ends_with("false");
    (is_one && Path::new(shell).exists()).then(|| shell.to_owned())
}

fn accounts() -> Vec<(String, u32)> {
    let list = read_at_most(Path::new("/etc/passwd"), ACCOUNTS_BYTES).unwrap_or_default();
    let account = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    let list = String::from_utf8_lossy(&list);
    list.lines().filter_map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    fn inode_of(socket: impl std::os::fd::AsFd) -> u64 {
        rustix::fs::fstat(socket).unwrap().st_ino
    }

    fn inodes(sockets: &[Socket]) -> Vec<u64> {
        sockets.iter().map(|socket| socket.inode).collect()
    }

    #[test]
    fn connection_is_found_once_it_is_accepted_in_both_families() {
        for (bound, host) in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("[::]:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
        ] {
            let Ok(listener) = TcpListener::bind(bound) else {
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let stream = TcpStream::connect((host, port)).unwrap();
            let (theirs, ours) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
            let found = inodes(&holders(theirs, ours).unwrap());
            assert!(found.contains(&inode_of(&listener)), "{bound}");
            let taken = listener.accept().unwrap().0;
            for find in [holders, holders_in_tables] {
                assert_eq!(
                    inodes(&find(theirs, ours).unwrap()),
                    [inode_of(&taken)],
                    "{bound}"
                );
            }
            let listening = inodes(&listeners(port).unwrap());
            assert!(listening.contains(&inode_of(&listener)), "{bound}");
        }
    }

    #[test]
    fn sockets_are_found_while_thousands_of_others_come_and_go() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let taken = listener.accept().unwrap().0;
        let (theirs, ours) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
        let (expected, listening) = (inode_of(&taken), inode_of(&listener));
        let churn = thread::spawn(|| {
            for _ in 0..50 {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let mut open = Vec::new();
                for _ in 0..50 {
                    open.push(TcpStream::connect(address).unwrap());
                    open.push(listener.accept().unwrap().0);
                }
            }
        });
        while !churn.is_finished() {
            let found = inodes(&holders(theirs, ours).unwrap());
            assert_eq!(found, [expected]);
            let found = inodes(&listeners(address.port()).unwrap());
            assert!(found.contains(&listening));
        }
        churn.join().unwrap();
    }

    #[test]
    fn addresses_of_both_families_are_read() {
        let four = u32::from_ne_bytes([127, 0, 0, 1]);
        assert_eq!(
            address(&format!("{four:08X}:1F90")),
            Some(SocketAddr::from(([127, 0, 0, 1], 8080)))
        );
        let (zero, one) = (0, u32::from_ne_bytes([0, 0, 0, 1]));
        let six = format!("{zero:08X}{zero:08X}{zero:08X}{one:08X}:0050");
        assert_eq!(address(&six), Some((Ipv6Addr::LOCALHOST, 80).into()));
        let mapped = u32::from_ne_bytes([0, 0, 255, 255]);
        let six = format!("{zero:08X}{zero:08X}{mapped:08X}{four:08X}:0050");
        assert_eq!(address(&six), Some((Ipv4Addr::LOCALHOST, 80).into()));
        for broken in ["", "x", "0100007F:", "0100007F:10000", "é:1"] {
            assert_eq!(address(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_listener_is_found_on_its_address_and_on_every_address() {
        for bound in [
            "127.0.0.1:0",
            "0.0.0.0:0",
            "[::]:0",
            "[::1]:0",
            "127.0.0.3:0",
        ] {
            let Ok(listener) = TcpListener::bind(bound) else {
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let theirs = match bound {
                "[::1]:0" => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
                _ => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            };
            let found = holders(theirs, (Ipv4Addr::LOCALHOST, 1).into()).unwrap();
            if bound == "127.0.0.3:0" {
                // Another test may listen on that port of 127.0.0.1.
                let ours = rustix::fs::fstat(&listener).unwrap().st_ino;
                assert!(found.iter().all(|holder| holder.inode != ours));
                continue;
            }
            assert_eq!(found[0].user, own_user(), "{bound}");
            assert!(are_held_by_others(&found));
            let in_tables = read_tables().unwrap();
            assert!(in_tables.iter().any(|(socket, _)| *socket == found[0]));
        }
    }

    #[test]
    fn the_process_that_accepted_counts_when_the_listener_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let accepted = listener.accept().unwrap();
        drop(listener);
        let (theirs, ours) = (stream.peer_addr().unwrap(), stream.local_addr().unwrap());
        let found = holders(theirs, ours).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let while_open = are_held_by_others(&found);
        drop(accepted);
        let when_closed = are_held_by_others(&found);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found.len(), while_open, when_closed), (1, true, false));
    }

    #[test]
    fn users_are_known_by_name_and_number() {
        assert_eq!(
            (user_number("root"), user_number("4242")),
            (Some(0), Some(4242))
        );
        assert_eq!(user_number("no such user"), None);
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(3_999_999), "3999999");
        assert_eq!(login_shell(3_999_999), None);
        assert!(login_shell(0).is_none_or(|shell| shell.starts_with('/')));
    }
}
