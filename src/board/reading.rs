//! PURE: the state of the board at one moment, as values. What the machine does not offer is `None`.

use std::net::IpAddr;

/// How the board is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The temperatures of its sensors, hottest first.
    pub temperatures: Vec<Temperature>,
    /// Whether the processor is throttled; only known on Raspberry Pis.
    pub throttling: Option<Throttling>,
    /// How busy it is.
    pub load: Option<Load>,
    /// Its memory.
    pub memory: Option<Memory>,
    /// The file system of the home folder.
    pub disk: Option<Disk>,
    /// Seconds since it was started, those asleep included.
    pub uptime: Option<u64>,
    /// Its network interfaces without the loopback, those with hardware first.
    pub interfaces: Vec<Interface>,
}

/// The temperature of one sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temperature {
    /// The sensor's name, such as `cpu-thermal`.
    pub sensor: String,
    /// Thousandths of a degree Celsius.
    pub millidegrees: i32,
}

/// Why the processor is or was throttled: the bits of the Raspberry Pi's firmware
/// (<https://www.raspberrypi.com/documentation/computers/os.html#get_throttled>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling(pub u32);

/// A reason for throttling. Their order is that of the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// The voltage is too low.
    UnderVoltage,
    /// The frequency is capped.
    FrequencyCapped,
    /// The processor is throttled.
    Throttled,
    /// The soft temperature limit is reached.
    SoftLimit,
}

impl Throttling {
    /// The bit of [`Throttle::UnderVoltage`]. The bits of what has been since the start are 16 higher.
    pub const UNDER_VOLTAGE: u32 = 1;
    const REASONS: [Throttle; 4] = [
        Throttle::UnderVoltage,
        Throttle::FrequencyCapped,
        Throttle::Throttled,
        Throttle::SoftLimit,
    ];

    /// The reasons now.
    pub fn now(self) -> impl Iterator<Item = Throttle> {
        Self::reasons(self.0)
    }

    /// The reasons since the start that have passed.
    pub fn earlier(self) -> impl Iterator<Item = Throttle> {
        Self::reasons((self.0 >> 16) & !self.0)
    }

    fn reasons(bits: u32) -> impl Iterator<Item = Throttle> {
        let all = Self::REASONS.into_iter().enumerate();
        all.filter_map(move |(bit, reason)| (bits >> bit & 1 == 1).then_some(reason))
    }
}

/// How busy the board is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Processes that run or wait for it, on average over 1, 5 and 15 minutes, in hundredths.
    pub averages: [u32; 3],
    /// Processors that are switched on.
    pub processors: Option<usize>,
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All that the kernel has.
    pub total: u64,
    /// What programs could get without swapping.
    pub available: u64,
    /// All swap there is.
    pub swap_total: u64,
    /// Swap that is free.
    pub swap_free: u64,
}

impl Memory {
    /// The share that is in use.
    pub fn used_percent(self) -> Option<u8> {
        let used = self.total.saturating_sub(self.available);
        let percent = used.saturating_mul(100).checked_div(self.total);
        percent.map(|percent| percent.min(100) as u8)
    }
}

/// A file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Its size.
    pub total: u64,
    /// What files take.
    pub used: u64,
    /// What we could still write. Together with what is used that is less than all: some is reserved for root.
    pub free: u64,
    /// Whether nothing can be written: Linux mounts a broken card so.
    pub is_read_only: bool,
}

impl Disk {
    /// The share that is in use, as `df` counts it.
    pub fn used_percent(self) -> Option<u8> {
        share_used(self.used, self.free)
    }
}

/// The share that is used of what is used and what is available, in percent, rounded up as `df` does (POSIX).
pub fn share_used(used: u64, available: u64) -> Option<u8> {
    let (used, all) = (
        u128::from(used) * 100,
        u128::from(used) + u128::from(available),
    );
    (all > 0).then(|| used.div_ceil(all) as u8)
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `wlan0`.
    pub name: String,
    /// The kernel's word for its state, such as `up` or `down`.
    pub state: Option<String>,
    /// Whether there is a device behind it, unlike a bridge or a tunnel.
    pub is_hardware: bool,
    /// Where it is reached.
    pub address: Option<IpAddr>,
    /// The strength of the Wi-Fi's signal, in dBm.
    pub signal: Option<i32>,
    /// Bytes that came in since it was made.
    pub received: Option<u64>,
    /// Bytes that went out since it was made.
    pub sent: Option<u64>,
}

impl Reading {
    /// Bytes that went through the interfaces in both directions. Those with hardware count, because
    /// what goes through a bridge or a tunnel goes through them too; without any, all do.
    pub fn traffic(&self) -> Option<u64> {
        let has_hardware = self.interfaces.iter().any(|one| one.is_hardware);
        let counted = self.interfaces.iter();
        counted
            .filter(|one| one.is_hardware || !has_hardware)
            .filter_map(|one| one.received?.checked_add(one.sent?))
            .reduce(u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_as_full_as_df_says() {
        for (used, free, percent) in [
            (0, 100, Some(0)),
            (1, 999, Some(1)),
            (25, 75, Some(25)),
            (720, 280, Some(72)),
            (721, 280, Some(73)),
            // With a tenth of it reserved for root.
            (90, 0, Some(100)),
            (u64::MAX, u64::MAX, Some(50)),
            (0, 0, None),
        ] {
            let disk = Disk {
                total: 1000,
                used,
                free,
                is_read_only: false,
            };
            assert_eq!(disk.used_percent(), percent, "{used} {free}");
        }
    }
}
