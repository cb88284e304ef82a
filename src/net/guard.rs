//! Which addresses are on the public Internet. PURE.
//!
//! The rows are IANA's registries of special-purpose addresses, with the ranges for multicast and those that
//! were given up, which are in other registries:
//! <https://www.iana.org/assignments/iana-ipv4-special-registry> and
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>. Ranges that the registries call globally
//! reachable, such as AS112's servers of names, are refused too: no page is there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range: its first address, the bits that its addresses share, and what it is for.
struct Row<A>(A, u32, &'static str);

const fn v4(octets: [u8; 4], bits: u32, what: &'static str) -> Row<u32> {
    Row(u32::from_be_bytes(octets), bits, what)
}

const fn v6(segments: [u16; 4], bits: u32, what: &'static str) -> Row<u128> {
    let [a, b, c, d] = segments;
    Row(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_bits(), bits, what)
}

const V4: [Row<u32>; 19] = [
    v4([0, 0, 0, 0], 8, "it means this machine (RFC 791)"),
    v4([10, 0, 0, 0], 8, PRIVATE),
    v4(
        [100, 64, 0, 0],
        10,
        "it is a provider's own network (RFC 6598)",
    ),
    v4([127, 0, 0, 0], 8, LOOPBACK),
    v4(
        [169, 254, 0, 0],
        16,
        "it is on the local network (RFC 3927)",
    ),
    v4([172, 16, 0, 0], 12, PRIVATE),
    v4([192, 0, 0, 0], 24, "it is for protocols (RFC 6890)"),
    v4([192, 0, 2, 0], 24, "it is for documentation (RFC 5737)"),
    v4([192, 31, 196, 0], 24, "it is for name servers (RFC 7535)"),
    v4([192, 52, 193, 0], 24, "it is for relays (RFC 7450)"),
    v4([192, 88, 99, 0], 24, "it was for relays (RFC 7526)"),
    v4([192, 168, 0, 0], 16, PRIVATE),
    v4([192, 175, 48, 0], 24, "it is for name servers (RFC 7534)"),
    v4([198, 18, 0, 0], 15, "it is for benchmarks (RFC 2544)"),
    v4([198, 51, 100, 0], 24, "it is for documentation (RFC 5737)"),
    v4([203, 0, 113, 0], 24, "it is for documentation (RFC 5737)"),
    v4([224, 0, 0, 0], 4, "it is for multicast (RFC 5771)"),
    v4(
        [255, 255, 255, 255],
        32,
        "it means every machine of the network (RFC 919)",
    ),
    v4([240, 0, 0, 0], 4, "it is reserved (RFC 1112)"),
];

/// Those that carry an IPv4 address within are not here, but in [`embedded`].
const V6: [Row<u128>; 15] = [
    v6(
        [0, 0, 0, 0],
        96,
        "it is for this machine or an old form (RFC 4291)",
    ),
    v6(
        [0x64, 0xff9b, 1, 0],
        48,
        "it is translated locally (RFC 8215)",
    ),
    v6([0x100, 0, 0, 0], 64, "it is discarded (RFC 6666)"),
    v6([0x100, 0, 0, 1], 64, "it is a dummy (RFC 9780)"),
    v6([0x2001, 0, 0, 0], 32, "it is a Teredo tunnel (RFC 4380)"),
    v6([0x2001, 0, 0, 0], 23, "it is for protocols (RFC 2928)"),
    v6(
        [0x2001, 0xdb8, 0, 0],
        32,
        "it is for documentation (RFC 3849)",
    ),
    v6(
        [0x2620, 0x4f, 0x8000, 0],
        48,
        "it is for name servers (RFC 7534)",
    ),
    v6([0x3fff, 0, 0, 0], 20, "it is for documentation (RFC 9637)"),
    v6(
        [0x5f00, 0, 0, 0],
        16,
        "it is for segment routing (RFC 9602)",
    ),
    v6(
        [0xfc00, 0, 0, 0],
        7,
        "it is on a private network (RFC 4193)",
    ),
    v6(
        [0xfe80, 0, 0, 0],
        10,
        "it is on the local network (RFC 4291)",
    ),
    v6(
        [0xfec0, 0, 0, 0],
        10,
        "it is on a private network (RFC 3879)",
    ),
    v6([0xff00, 0, 0, 0], 8, "it is for multicast (RFC 4291)"),
    v6([0, 0, 0, 0], 8, "it is reserved (RFC 4291)"),
];

const PRIVATE: &str = "it is on a private network (RFC 1918)";
const LOOPBACK: &str = "it is this machine (RFC 1122)";

/// Why an address is not on the public Internet; `None` for one that is. An IPv4 address within an IPv6
/// address is judged as itself.
pub fn special_purpose(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some("it is this machine (RFC 4291)"),
        IpAddr::V6(address) => {
            if let Some(inner) = embedded(address) {
                return special_v4(inner);
            }
            let bits = address.to_bits();
            let row = V6.iter().find(|row| shares(bits ^ row.0, row.1));
            let is_assigned = shares(bits ^ (0x2000 << 112), 3);
            match row {
                Some(row) => Some(row.2),
                // The only range of which addresses have been given out (RFC 4291, section 2.4).
                None => (!is_assigned).then_some("it is not assigned (RFC 4291)"),
            }
        }
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let row = V4.iter().find(|row| {
        let differs = u128::from(address.to_bits() ^ row.0);
        shares(differs << 96, row.1)
    });
    row.map(|row| row.2)
}

/// Whether two addresses that differ in these bits share the first ones.
fn shares(differs: u128, bits: u32) -> bool {
    differs.leading_zeros() >= bits
}

/// The IPv4 address that packets to an IPv6 address end at: mapped (RFC 4291, `::ffff:0:0/96`), translated
/// (RFC 6052, `64:ff9b::/96`) or tunnelled (RFC 3056, `2002::/16`).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let in_pair = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(in_pair(high, low))
        }
        [0x2002, high, low, ..] => Some(in_pair(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str) -> Option<&'static str> {
        special_purpose(address.parse().unwrap())
    }

    /// The first and the last address of each range of the registries, and its RFC.
    const SPECIAL: [(&str, &str, &str); 45] = [
        ("0.0.0.0", "0.255.255.255", "RFC 791"),
        ("10.0.0.0", "10.255.255.255", "RFC 1918"),
        ("100.64.0.0", "100.127.255.255", "RFC 6598"),
        ("127.0.0.0", "127.255.255.255", "RFC 1122"),
        ("169.254.0.0", "169.254.255.255", "RFC 3927"),
        ("172.16.0.0", "172.31.255.255", "RFC 1918"),
        ("192.0.0.0", "192.0.0.255", "RFC 6890"),
        ("192.0.2.0", "192.0.2.255", "RFC 5737"),
        ("192.31.196.0", "192.31.196.255", "RFC 7535"),
        ("192.52.193.0", "192.52.193.255", "RFC 7450"),
        ("192.88.99.0", "192.88.99.255", "RFC 7526"),
        ("192.168.0.0", "192.168.255.255", "RFC 1918"),
        ("192.175.48.0", "192.175.48.255", "RFC 7534"),
        ("198.18.0.0", "198.19.255.255", "RFC 2544"),
        ("198.51.100.0", "198.51.100.255", "RFC 5737"),
        ("203.0.113.0", "203.0.113.255", "RFC 5737"),
        ("224.0.0.0", "239.255.255.255", "RFC 5771"),
        ("240.0.0.0", "255.255.255.254", "RFC 1112"),
        ("255.255.255.255", "255.255.255.255", "RFC 919"),
        ("::", "::", "RFC 4291"),
        ("::1", "::1", "RFC 4291"),
        ("::0.0.0.2", "::255.255.255.255", "RFC 4291"),
        ("::ffff:10.0.0.0", "::ffff:10.255.255.255", "RFC 1918"),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", "RFC 1122"),
        ("64:ff9b::10.0.0.0", "64:ff9b::10.255.255.255", "RFC 1918"),
        (
            "64:ff9b::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "RFC 3927",
        ),
        (
            "64:ff9b:1::",
            "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
            "RFC 8215",
        ),
        ("100::", "100::ffff:ffff:ffff:ffff", "RFC 6666"),
        ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", "RFC 9780"),
        ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "RFC 4380"),
        ("2001:1::1", "2001:1::3", "RFC 2928"),
        ("2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "RFC 2928"),
        (
            "2001:10::",
            "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 2928",
        ),
        (
            "2001:40::",
            "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 2928",
        ),
        (
            "2001:db8::",
            "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 3849",
        ),
        (
            "2002:a00::",
            "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 1918",
        ),
        ("2002:7f00:1::", "2002:7f00:1::1", "RFC 1122"),
        (
            "2620:4f:8000::",
            "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
            "RFC 7534",
        ),
        (
            "3fff::",
            "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 9637",
        ),
        (
            "5f00::",
            "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 9602",
        ),
        (
            "fc00::",
            "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 4193",
        ),
        (
            "fe80::",
            "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 4291",
        ),
        (
            "fec0::",
            "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 3879",
        ),
        (
            "ff00::",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "RFC 4291",
        ),
        ("4000::", "4000::1", "RFC 4291"),
    ];

    #[test]
    fn both_ends_of_every_special_range_are_refused_with_its_rfc() {
        for (first, last, rfc) in SPECIAL {
            for address in [first, last] {
                let why = refusal(address).unwrap_or_else(|| panic!("{address} is allowed"));
                assert!(why.ends_with(&format!("({rfc})")), "{address}: {why}");
            }
        }
    }

    #[test]
    fn what_is_beside_the_ranges_is_public() {
        for address in [
            "1.0.0.0",
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::1",
            "2001:200::1",
            "2001:db7:ffff::",
            "2001:db9::",
            "2606:4700::1111",
            "2a00:1450::1",
            "3ffe:ffff::1",
            "3fff:1000::",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
        ] {
            assert_eq!(refusal(address), None, "{address}");
        }
    }

    proptest::proptest! {
        #[test]
        fn an_inner_address_is_judged_as_itself(bits in proptest::prelude::any::<u32>()) {
            let inner = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = inner.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            for outer in [
                inner.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                proptest::prop_assert_eq!(special_purpose(outer.into()), special_v4(inner));
            }
        }
    }
}
