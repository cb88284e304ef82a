//! PURE: where packets leave the machine, and which servers know names, from the system's files.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of one kind that are shown.
const ADDRESSES_MAX: usize = 6;

/// The gateways of the default routes with their interfaces, the preferred one first (/proc/net/route).
pub fn gateways(text: &str) -> Vec<(Ipv4Addr, String)> {
    let mut found: Vec<(u32, Ipv4Addr, String)> = text
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [
                interface,
                destination,
                gateway,
                flags,
                _,
                _,
                metric,
                mask,
                ..,
            ] = fields[..]
            else {
                return None;
            };
            let number = |text: &str| u32::from_str_radix(text, 16).ok();
            // RTF_GATEWAY
            let is_default =
                number(destination)? == 0 && number(mask)? == 0 && number(flags)? & 2 != 0;
            // The numbers are in the machine's own order of bytes.
            let gateway = Ipv4Addr::from(number(gateway)?.to_ne_bytes());
            is_default.then(|| {
                (
                    metric.parse().unwrap_or(u32::MAX),
                    gateway,
                    interface.to_owned(),
                )
            })
        })
        .collect();
    found.sort_by_key(|(metric, ..)| *metric);
    let found = found.into_iter().take(ADDRESSES_MAX);
    found
        .map(|(_, gateway, interface)| (gateway, interface))
        .collect()
}

/// The addresses of an interface that others can reach (/proc/net/if_inet6); not those of the link.
pub fn ipv6_addresses(text: &str, interface: &str) -> Vec<Ipv6Addr> {
    let address = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [address, _, _, _, _, name] = fields[..] else {
            return None;
        };
        let address = Ipv6Addr::from(u128::from_str_radix(address, 16).ok()?);
        (name == interface && !address.is_unicast_link_local()).then_some(address)
    };
    text.lines()
        .filter_map(address)
        .take(ADDRESSES_MAX)
        .collect()
}

/// The servers of names (resolv.conf(5)).
pub fn name_servers(text: &str) -> Vec<IpAddr> {
    let server = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse().ok();
    text.lines()
        .filter_map(server)
        .take(ADDRESSES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_routes_and_the_servers_are_found() {
        let hexadecimal = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let [first, second, network] =
            [[192, 168, 1, 1], [10, 0, 0, 1], [192, 168, 1, 0]].map(hexadecimal);
        let table = format!(
            "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
             wlan0 00000000 {first} 0003 0 0 600 00000000 0 0 0\n\
             eth0 00000000 {second} 0003 0 0 100 00000000 0 0 0\n\
             wlan0 {network} 00000000 0001 0 0 600 00FFFFFF 0 0 0\nshort\n"
        );
        let found = gateways(&table);
        let found: Vec<String> = found.iter().map(|(at, by)| format!("{at} {by}")).collect();
        assert_eq!(found, ["10.0.0.1 eth0", "192.168.1.1 wlan0"]);
        let servers = name_servers(
            "# x\nnameserver 192.168.1.1\nsearch lan\nnameserver fe80::1\nnameserver x\n",
        );
        assert_eq!(servers.len(), 2);
        let inet6 = "20010db8000000000000000000000002 03 40 00 00 wlan0\n\
                     fe800000000000000000000000000002 03 40 20 80 wlan0\n\
                     20010db8000000000000000000000003 03 40 00 00 eth0\n";
        let addresses = ipv6_addresses(inet6, "wlan0");
        assert_eq!(addresses, ["2001:db8::2".parse::<Ipv6Addr>().unwrap()]);
    }

    proptest! {
        #[test]
        fn no_file_panics(text in ".{0,300}", words in prop::collection::vec("[0-9A-F]{0,9}", 0..30)) {
            let table = format!("head\n{}\n", words.join(" "));
            let _ = (gateways(&text), gateways(&table), ipv6_addresses(&text, "x"), name_servers(&text));
        }
    }
}
