//! PURE: the packet that wakes a machine (Wake-on-LAN), and where it goes.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The port that such packets usually go to.
const PORT: u16 = 9;

/// What a person asks for, such as `aa:bb:cc:dd:ee:ff` or `aa:bb:cc:dd:ee:ff 192.168.1.255`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The machine's hardware address.
    pub mac: [u8; 6],
    /// Where the packet goes: the broadcast address of a network.
    pub to: SocketAddrV4,
}

impl Wake {
    /// Reads the argument of `/wol`; `None` when it is not one.
    pub fn parse(argument: &str) -> Option<Self> {
        let mut words = argument.split_whitespace();
        let mac = parse_mac(words.next()?)?;
        let to = match words.next() {
            None => SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT),
            Some(text) => {
                let address = text.parse().map(|address| SocketAddrV4::new(address, PORT));
                address.or_else(|_| text.parse()).ok()?
            }
        };
        words.next().is_none().then_some(Self { mac, to })
    }

    /// The packet: six bytes of ones, then the address sixteen times.
    pub fn packet(&self) -> Vec<u8> {
        [vec![0xFF; 6], self.mac.repeat(16)].concat()
    }
}

/// A hardware address, its bytes apart by `:` or `-`, or together.
fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let digits: String = text.chars().filter(|char| !":-".contains(*char)).collect();
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits.len() != 12 || !is_hexadecimal {
        return None;
    }
    let number = u64::from_str_radix(&digits, 16).ok()?;
    let [_, _, mac @ ..] = number.to_be_bytes();
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_has_the_address_sixteen_times() {
        let wake = Wake::parse("AA:bb:cc:00:11:22").unwrap();
        assert_eq!(wake.mac, [0xAA, 0xBB, 0xCC, 0, 0x11, 0x22]);
        assert_eq!(wake.to.to_string(), "255.255.255.255:9");
        let packet = wake.packet();
        assert_eq!(packet.len(), 102);
        assert_eq!(packet[..6], [0xFF; 6]);
        assert!(packet[6..].chunks(6).all(|chunk| chunk == wake.mac));
        let other = Wake::parse("aabbcc001122 192.168.1.255").unwrap();
        assert_eq!(
            (other.mac, other.to.to_string().as_str()),
            (wake.mac, "192.168.1.255:9")
        );
        let port = Wake::parse("aa-bb-cc-00-11-22 10.0.0.255:7").unwrap();
        assert_eq!(port.to.port(), 7);
        for wrong in [
            "",
            "aa:bb",
            "aa:bb:cc:00:11:2g",
            "nas",
            "aabbcc001122 nas",
            "aabbcc001122 1.2.3.4 x",
        ] {
            assert_eq!(Wake::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_argument_panics(text in ".{0,40}") {
            let _ = Wake::parse(&text);
        }
    }
}
