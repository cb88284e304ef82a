//! What machine this is.

pub mod account;

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType};

/// The kernel's name, release and machine, such as `Linux 6.12.20 aarch64` (uname(2)).
pub fn kernel() -> String {
    let uname = rustix::system::uname();
    let part = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!(
        "{} {} {}",
        part(uname.sysname()),
        part(uname.release()),
        part(uname.machine())
    )
}

/// Bytes of a page of memory.
#[expect(unsafe_code, reason = "rustix has it in a feature of its own")]
pub fn page_size() -> u64 {
    // SAFETY: the call has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

/// The host's name.
pub fn name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The name of the operating system, such as `Debian GNU/Linux 13 (trixie)` (os-release(5)); empty where
/// there is none.
pub fn os() -> String {
    let release = ["/etc/os-release", "/usr/lib/os-release"]
        .into_iter()
        .find_map(|path| std::fs::read_to_string(path).ok());
    os_name(&release.unwrap_or_default()).to_owned()
}

fn os_name(release: &str) -> &str {
    let mut lines = release.lines();
    let name = lines.find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or_default().trim_matches(['"', '\'', ' '])
}

/// The board's model where the firmware tells it, such as `Raspberry Pi 4 Model B Rev 1.4`.
pub fn board() -> Option<String> {
    let model = std::fs::read_to_string("/proc/device-tree/model").ok()?;
    Some(model.trim_end_matches('\0').trim().to_owned()).filter(|model| !model.is_empty())
}

/// The IPv4 address of a network interface such as `wlan0` (netdevice(7)); none where it has none.
#[expect(unsafe_code, reason = "an interface's ioctl")]
pub fn ipv4_address(interface: &str) -> Option<Ipv4Addr> {
    /// `struct ifreq`, of which the name and an IPv4 address are used.
    #[repr(C)]
    #[derive(Default)]
    struct Request {
        name: [u8; 16],
        family: u16,
        port: u16,
        address: [u8; 4],
        rest: [u8; 16],
    }
    let mut request = Request::default();
    // One byte stays zero: the name's end.
    let name = request.name[..15].get_mut(..interface.len())?;
    name.copy_from_slice(interface.as_bytes());
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    // SAFETY: the request is as large as the kernel's (40 bytes, 32 on 32-bit) and outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFADDR as _, &raw mut request) };
    (done == 0).then(|| Ipv4Addr::from(request.address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_os_has_the_name_that_people_know() {
        let release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n";
        assert_eq!(os_name(release), "Debian GNU/Linux 13 (trixie)");
        assert_eq!(os_name("PRETTY_NAME=Alpine\n"), "Alpine");
        assert_eq!(os_name("ID=unknown"), "");
    }

    #[test]
    fn an_interface_has_its_address() {
        assert_eq!(ipv4_address("lo"), Some(Ipv4Addr::LOCALHOST));
        for stranger in ["", "none-such", "a-name-that-is-much-too-long"] {
            assert_eq!(ipv4_address(stranger), None, "{stranger}");
        }
    }
}
