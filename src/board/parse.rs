//! PURE: what single files of /proc and /sys say. Whatever they hold, nothing panics.

use std::net::Ipv6Addr;

/// Processors that a list may name; Linux is built for 8192 at most.
const PROCESSORS: usize = 8192;

/// A number alone in its file.
pub fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

/// A hexadecimal number alone in its file, with or without `0x`.
pub fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.trim();
    u32::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
}

/// The whole seconds that /proc/uptime begins with (proc_uptime(5)).
pub fn uptime(text: &str) -> Option<u64> {
    text.split('.').next().and_then(number)
}

/// The load of 1, 5 and 15 minutes in hundredths, from /proc/loadavg (proc_loadavg(5)).
pub fn loads(text: &str) -> Option<[u32; 3]> {
    let mut words = text.split_ascii_whitespace().map(hundredths);
    Some([words.next()??, words.next()??, words.next()??])
}

/// A decimal number in hundredths: `0.4` is 40 and `1.239` is 123.
fn hundredths(word: &str) -> Option<u32> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let digit = |place| match fraction.as_bytes().get(place) {
        Some(byte) => char::from(*byte).to_digit(10),
        None => Some(0),
    };
    let fraction = digit(0)? * 10 + digit(1)?;
    number::<u32>(whole)?
        .checked_mul(100)?
        .checked_add(fraction)
}

/// How many processors a list such as `0-3,6` names (/sys/devices/system/cpu/online).
pub fn processors(text: &str) -> Option<usize> {
    let mut count: usize = 0;
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (number(first)?, number(last)?);
        count = count.saturating_add(last.checked_sub(first)?.saturating_add(1));
    }
    (count <= PROCESSORS).then_some(count)
}

/// A value of /proc/meminfo in bytes (proc_meminfo(5)).
pub fn memory(text: &str, name: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kilobytes: u64 = number(value.trim().strip_suffix("kB")?)?;
    kilobytes.checked_mul(1024)
}

/// The strength of a Wi-Fi interface's signal in dBm, from /proc/net/wireless. A driver that counts
/// in a unit of its own writes no negative number.
pub fn signal(text: &str, interface: &str) -> Option<i32> {
    let values = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    // Status, link quality, level: `0000   54.  -56.  -256 …`.
    let level = values.split_ascii_whitespace().nth(2)?;
    number(level.trim_end_matches('.')).filter(|level| *level < 0)
}

/// An interface's first lasting global IPv6 address, from /proc/net/if_inet6.
pub fn ipv6_address(text: &str, interface: &str) -> Option<Ipv6Addr> {
    const GLOBAL: &str = "00";
    // `IFA_F_TEMPORARY` of linux/if_addr.h: for privacy, and another one tomorrow.
    const TEMPORARY: u8 = 1;
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (address, _index, _prefix) = (words.next()?, words.next()?, words.next()?);
        let (scope, flags, name) = (words.next()?, words.next()?, words.next()?);
        let is_lasting = u8::from_str_radix(flags, 16).ok()? & TEMPORARY == 0;
        let is_wanted = name == interface && scope == GLOBAL && is_lasting && address.len() == 32;
        is_wanted.then(|| u128::from_str_radix(address, 16).ok().map(Ipv6Addr::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_the_kernel_writes_them() {
        assert_eq!(number::<i32>("-5250\n"), Some(-5250));
        assert_eq!(hexadecimal("50005\n"), Some(0x50005));
        assert_eq!(hexadecimal("0x8"), Some(8));
        assert_eq!(uptime("350735.47 234388.90\n"), Some(350_735));
        assert_eq!(loads("0.03 1.5 34.899 1/88 20930"), Some([3, 150, 3489]));
        assert_eq!(processors("0-3,6\n"), Some(5));
        assert_eq!(processors("0"), Some(1));
    }

    #[test]
    fn a_value_of_the_memory_is_found_by_its_whole_name() {
        let text =
            "MemTotal:         945364 kB\nMemFree: 1 kB\nSwapCached: 7 kB\nSwapTotal: 0 kB\n";
        assert_eq!(memory(text, "MemTotal"), Some(945_364 * 1024));
        assert_eq!(memory(text, "SwapTotal"), Some(0));
        assert_eq!(memory(text, "Mem"), None);
        assert_eq!(memory(text, "MemAvailable"), None);
    }

    #[test]
    fn a_signal_is_found_by_its_interface_and_only_in_dbm() {
        let text = "Inter-| sta-|   Quality        |\n face | tus | link level noise |\n \
                    wlan1: 0000   54.  200.  -256        0\n wlan0: 0000   54.  -56.  -256        0\n";
        assert_eq!(signal(text, "wlan0"), Some(-56));
        assert_eq!(signal(text, "wlan1"), None);
        assert_eq!(signal(text, "wlan"), None);
    }

    #[test]
    fn the_address_is_a_global_one_that_lasts() {
        let text = "fe80000000000000dea632fffe000001 03 40 20 80    wlan0\n\
                    20010db8000000000000000000000bad 03 40 00 01    wlan0\n\
                    20010db8000000000000000000000001 02 40 00 80     eth0\n\
                    20010db8000000000000000000000002 03 40 00 00    wlan0\n";
        let address = ipv6_address(text, "wlan0").unwrap();
        assert_eq!(address.to_string(), "2001:db8::2");
        assert_eq!(ipv6_address(text, "wlan1"), None);
    }

    #[test]
    fn garbage_and_numbers_without_measure_are_not_known() {
        let huge = "99999999999999999999999999999999999999999999";
        for text in [
            "",
            "\n",
            "?",
            "-",
            ".",
            ",",
            "1-",
            "5-2",
            "0-9999999",
            huge,
            "é.é",
        ] {
            assert_eq!(number::<i32>(text), None, "{text}");
            assert_eq!(loads(text), None, "{text}");
            assert_eq!(loads(&format!("1 2 {text}")), None, "{text}");
            assert_eq!(processors(text), None, "{text}");
            assert_eq!(memory(&format!("MemTotal: {text} kB"), "MemTotal"), None);
        }
        let most = u64::MAX;
        assert_eq!(memory(&format!("MemTotal: {most} kB"), "MemTotal"), None);
        assert_eq!(processors(&format!("0-{most}")), None);
        assert_eq!(loads("42949673 1 1"), None);
    }

    proptest! {
        #[test]
        fn no_content_panics(
            text in "[ -~é\n]{0,200}|[0-9a-f.,:\\- kB\nw]{0,80}",
            name in "[a-z0-9]{0,3}",
        ) {
            let _ = (number::<i64>(&text), hexadecimal(&text), uptime(&text), loads(&text));
            let line = format!("{name}: {text}");
            let _ = (processors(&text), memory(&line, &name), signal(&line, &name));
            let _ = ipv6_address(&text, &name);
            let _ = ipv6_address(&format!("{text} 1 2 00 00 {name}"), &name);
        }
    }
}
