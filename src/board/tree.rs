//! The files of /proc and /sys that make a reading. What is missing or odd is none.

use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

use rustix::fs::StatVfsMountFlags;

use super::parse;
use super::reading::{Disk, Interface, Load, Memory, Reading, Temperature, Throttling};
use crate::base::limits::board::{FILE_BYTES, INTERFACES, NAMES};
use crate::sys;

/// The coldest and the hottest that a working sensor says, in thousandths of a degree Celsius;
/// broken ones say -274000 or the largest number that there is.
const MILLIDEGREES: std::ops::RangeInclusive<i32> = -60_000..=200_000;

impl Reading {
    /// Reads the files below `root` (`/`, or a made-up tree), the file system that holds `home`, and
    /// the interfaces' addresses.
    pub fn take(root: &Path, home: &Path) -> Self {
        let tree = Tree(root);
        Self {
            temperatures: tree.temperatures(),
            throttling: tree.throttling(),
            load: tree.load(),
            memory: tree.memory(),
            disk: disk(home),
            uptime: tree
                .text("proc/uptime")
                .and_then(|text| parse::uptime(&text)),
            interfaces: tree.interfaces(),
        }
    }
}

fn disk(home: &Path) -> Option<Disk> {
    let found = rustix::fs::statvfs(home).ok()?;
    Some(Disk {
        total: found.f_blocks.saturating_mul(found.f_frsize),
        used: found
            .f_blocks
            .saturating_sub(found.f_bfree)
            .saturating_mul(found.f_frsize),
        free: found.f_bavail.saturating_mul(found.f_frsize),
        is_read_only: found.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// The folder that holds `proc` and `sys`.
struct Tree<'a>(&'a Path);

impl Tree<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let bytes = sys::file::read_at_most(&self.0.join(path), FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A text that is one word.
    fn word(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        parse::number(&self.text(path)?)
    }

    /// The names in a folder, sorted.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .take(NAMES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    fn temperatures(&self) -> Vec<Temperature> {
        const FOLDER: &str = "sys/class/thermal";
        let zones = self.names(FOLDER).into_iter();
        let mut found: Vec<Temperature> = zones
            .filter(|name| name.starts_with("thermal_zone"))
            .filter_map(|zone| {
                let millidegrees = self.number(&format!("{FOLDER}/{zone}/temp"))?;
                let sensor = self.word(&format!("{FOLDER}/{zone}/type"));
                MILLIDEGREES.contains(&millidegrees).then(|| Temperature {
                    sensor: sensor.unwrap_or(zone),
                    millidegrees,
                })
            })
            .collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.millidegrees));
        found
    }

    fn throttling(&self) -> Option<Throttling> {
        self.firmware_throttling()
            .or_else(|| self.voltage_alarm())
            .map(Throttling)
    }

    /// What the firmware's driver of Raspberry Pi's own kernels says. The folder's name has the
    /// system's address on some (`soc@107c000000`), and none on others. The kernel logs once that the
    /// file is deprecated; nothing else tells as much without a child process.
    fn firmware_throttling(&self) -> Option<u32> {
        const FOLDER: &str = "sys/devices/platform";
        let folders = self.names(FOLDER).into_iter();
        folders
            .filter(|name| name.starts_with("soc"))
            .find_map(|soc| {
                let text = self.text(&format!("{FOLDER}/{soc}/{soc}:firmware/get_throttled"))?;
                parse::hexadecimal(&text)
            })
    }

    /// All that the voltage monitor of other kernels says (drivers/hwmon/raspberrypi-hwmon.c).
    fn voltage_alarm(&self) -> Option<u32> {
        const FOLDER: &str = "sys/class/hwmon";
        self.names(FOLDER).into_iter().find_map(|monitor| {
            let name = self.word(&format!("{FOLDER}/{monitor}/name"))?;
            let alarm: u32 = self.number(&format!("{FOLDER}/{monitor}/in0_lcrit_alarm"))?;
            (name == "rpi_volt").then_some(alarm.min(1) * Throttling::UNDER_VOLTAGE)
        })
    }

    fn load(&self) -> Option<Load> {
        Some(Load {
            averages: parse::loads(&self.text("proc/loadavg")?)?,
            processors: self
                .text("sys/devices/system/cpu/online")
                .and_then(|text| parse::processors(&text)),
        })
    }

    fn memory(&self) -> Option<Memory> {
        let text = self.text("proc/meminfo")?;
        let value = |name| parse::memory(&text, name);
        Some(Memory {
            total: value("MemTotal")?,
            available: value("MemAvailable")?,
            swap_total: value("SwapTotal").unwrap_or(0),
            swap_free: value("SwapFree").unwrap_or(0),
        })
    }

    fn interfaces(&self) -> Vec<Interface> {
        let wireless = self.text("proc/net/wireless").unwrap_or_default();
        let inet6 = self.text("proc/net/if_inet6").unwrap_or_default();
        let names = self.names("sys/class/net").into_iter();
        let mut found: Vec<Interface> = names
            .filter(|name| name != "lo")
            .map(|name| self.interface(name, &wireless, &inet6))
            .filter(|one| one.is_hardware || one.state.as_deref() != Some("down"))
            .collect();
        found.sort_by_key(|one| !one.is_hardware);
        found.truncate(INTERFACES);
        found
    }

    /// One interface, from its own folder and the files that tell of all.
    fn interface(&self, name: String, wireless: &str, inet6: &str) -> Interface {
        let folder = format!("sys/class/net/{name}");
        let ipv4 = sys::host::ipv4_address(&name).map(IpAddr::from);
        let ipv6 = || parse::ipv6_address(inet6, &name).map(IpAddr::from);
        Interface {
            state: self.word(&format!("{folder}/operstate")),
            is_hardware: self.0.join(&folder).join("device").exists(),
            address: ipv4.or_else(ipv6),
            signal: parse::signal(wireless, &name),
            received: self.number(&format!("{folder}/statistics/rx_bytes")),
            sent: self.number(&format!("{folder}/statistics/tx_bytes")),
            name,
        }
    }
}
