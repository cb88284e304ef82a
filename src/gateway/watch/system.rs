//! Files of /proc, /sys and /run below a root. What is missing or odd is none.

use std::path::{Path, PathBuf};

use super::GROUPS_MAX;
use crate::base::limits::watch::SYSTEM_BYTES;
use crate::board::watch::Blind;
use crate::sys::file;

/// Between these a trip point of the board is believed, in degrees Celsius.
const TRIPS: std::ops::RangeInclusive<f64> = 60.0..=95.0;

/// A text.
pub fn read(root: &Path, path: &str) -> Option<String> {
    let bytes = file::read_at_most(&root.join(path), SYSTEM_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folders in which the control groups of services can be, with the newest layout first.
const GROUPS: [&str; 3] = [
    "sys/fs/cgroup/system.slice",
    "sys/fs/cgroup/unified/system.slice",
    "sys/fs/cgroup/systemd/system.slice",
];

/// The folder with the services' control groups; `None` without systemd.
pub fn services(root: &Path) -> Option<PathBuf> {
    let folders = GROUPS.iter().map(|folder| root.join(folder));
    folders.into_iter().find(|folder| folder.is_dir())
}

/// The folder of a service's control group, while it has one: in that of all services, or in a slice of its own.
pub fn service(root: &Path, name: &str) -> Option<PathBuf> {
    let services = services(root)?;
    let unit = format!("{name}.service");
    let direct = services.join(&unit);
    if direct.is_dir() {
        return Some(direct);
    }
    // Those of a template are in `system-NAME.slice`; a unit may name another slice.
    let beside = services.parent()?.to_owned();
    let folders = [services, beside].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.take(GROUPS_MAX).map(|entry| entry.path())
    });
    let slices = folders.filter(|path| path.extension().is_some_and(|end| end == "slice"));
    let mut found = slices.map(|slice| slice.join(&unit));
    found.find(|path| path.is_dir())
}

/// The folders in which systemd looks for units (systemd.unit(5)), and that of the scripts which it makes units of.
const UNITS: [&str; 10] = [
    "etc/systemd/system",
    "run/systemd/system",
    "run/systemd/transient",
    "run/systemd/generator",
    "run/systemd/generator.early",
    "run/systemd/generator.late",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "etc/init.d",
];

/// That there is no service of this name; `None` where there is one, running or not.
pub fn blind_service(root: &Path, name: &str) -> Option<Blind> {
    let unit = format!("{name}.service");
    // One of a template: `getty@.service`.
    let template = name
        .split_once('@')
        .map(|(name, _)| format!("{name}@.service"));
    let names = [Some(unit.as_str()), template.as_deref(), Some(name)];
    let is_there = |folder: &str| {
        let folder = root.join(folder);
        let mut names = names.into_iter().flatten();
        // A masked one is a link that leads nowhere.
        names.any(|name| folder.join(name).symlink_metadata().is_ok())
    };
    let is_known = UNITS.iter().any(|folder| is_there(folder)) || service(root, name).is_some();
    (!is_known).then_some(Blind::NoService)
}

/// Whether a control group has processes (cgroups(7), `cgroup.events`).
pub fn is_populated(group: &Path) -> bool {
    let read = |name: &str| {
        let bytes = file::read_at_most(&group.join(name), SYSTEM_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    match read("cgroup.events") {
        Some(events) => events.lines().any(|line| line.trim() == "populated 1"),
        // The first layout has no such file.
        None => read("cgroup.procs").is_some_and(|list| !list.trim().is_empty()),
    }
}

/// The percentage of `full avg10` of a pressure file.
pub fn pressure(text: &str) -> Option<f64> {
    let full = text.lines().find_map(|line| line.strip_prefix("full "))?;
    let value = full
        .split(' ')
        .find_map(|word| word.strip_prefix("avg10="))?;
    value.parse().ok()
}

/// How many processes the kernel has ended since the start because there was no memory (/proc/vmstat).
pub fn oom_kills(text: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    value.trim().parse().ok()
}

/// Whether the file system at `/` is read-only, by /proc/self/mounts: the last mount counts.
pub fn is_root_read_only(text: &str) -> Option<bool> {
    let mut options = text.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        (words.next()? == "/").then(|| words.nth(1)).flatten()
    });
    let last = options.next_back()?;
    Some(last.split(',').any(|option| option == "ro"))
}

/// The lowest trip point of the board's sensors at which it slows down, in degrees Celsius.
pub fn trip_point(root: &Path) -> Option<f64> {
    let zones = std::fs::read_dir(root.join("sys/class/thermal")).ok()?;
    let mut lowest: Option<f64> = None;
    for zone in zones.flatten().take(GROUPS_MAX) {
        for number in 0..8 {
            let part = |end: &str| {
                let path = zone.path().join(format!("trip_point_{number}_{end}"));
                let bytes = file::read_at_most(&path, SYSTEM_BYTES).ok()?;
                Some(String::from_utf8_lossy(&bytes).trim().to_owned())
            };
            let Some(kind) = part("type") else { break };
            let degrees = part("temp").and_then(|text| text.parse::<f64>().ok());
            let degrees = degrees.map(|millis| millis / 1000.0);
            let degrees = degrees.filter(|_| matches!(kind.as_str(), "passive" | "hot"));
            let degrees = degrees.filter(|value| TRIPS.contains(value));
            if let Some(degrees) = degrees {
                lowest = Some(lowest.map_or(degrees, |lowest| lowest.min(degrees)));
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_are_read_as_the_kernel_writes_them() {
        let psi = "some avg10=1.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=12.50 avg60=0.00 avg300=0.00 total=1\n";
        assert_eq!(pressure(psi), Some(12.5));
        assert_eq!(oom_kills("pgfault 1\noom_kill 3\n"), Some(3));
        let mounts =
            "/dev/a / ext4 ro 0 0\nproc /proc proc rw 0 0\n/dev/b / ext4 rw,relatime 0 0\n";
        assert_eq!(is_root_read_only(mounts), Some(false));
        assert_eq!(
            is_root_read_only("/dev/a / ext4 errors=remount-ro,ro 0 0"),
            Some(true)
        );
        assert_eq!(is_root_read_only("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn a_service_is_found_by_its_control_group() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(services(root.path()), None);
        let slice = root.path().join("sys/fs/cgroup/system.slice");
        let group = |path: &str, populated: u8| {
            std::fs::create_dir_all(slice.join(path)).unwrap();
            let events = format!("populated {populated}\nfrozen 0\n");
            std::fs::write(slice.join(path).join("cgroup.events"), events).unwrap();
        };
        group("nginx.service", 1);
        group("system-getty.slice/getty@tty1.service", 1);
        group("idle.service", 0);
        group("../mine.slice/mine.service", 1);
        let runs =
            |name: &str| service(root.path(), name).is_some_and(|group| is_populated(&group));
        assert!(runs("nginx") && runs("getty@tty1") && runs("mine"));
        assert!(!runs("idle") && !runs("missing"));
    }

    #[test]
    fn a_service_is_known_by_its_unit_also_when_it_does_not_run() {
        let root = tempfile::tempdir().unwrap();
        for path in [
            "etc/systemd/system/own.service",
            "lib/systemd/system/getty@.service",
            "etc/init.d/old",
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let masked = root.path().join("etc/systemd/system/masked.service");
        std::os::unix::fs::symlink("/nowhere", masked).unwrap();
        for known in ["own", "getty@tty1", "old", "masked"] {
            assert_eq!(blind_service(root.path(), known), None, "{known}");
        }
        let unknown = blind_service(root.path(), "owm");
        assert_eq!(unknown, Some(Blind::NoService));
    }

    #[test]
    fn a_trip_point_is_one_at_which_the_board_slows_down() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(trip_point(root.path()), None);
        let zone = root.path().join("sys/class/thermal/thermal_zone0");
        std::fs::create_dir_all(&zone).unwrap();
        for (number, (kind, temp)) in [
            ("critical", "110000"),
            ("passive", "85000"),
            ("hot", "200000"),
        ]
        .iter()
        .enumerate()
        {
            std::fs::write(zone.join(format!("trip_point_{number}_type")), kind).unwrap();
            std::fs::write(zone.join(format!("trip_point_{number}_temp")), temp).unwrap();
        }
        assert_eq!(trip_point(root.path()), Some(85.0));
    }

    proptest! {
        #[test]
        fn no_content_panics(text in "[ -~é\n]{0,200}|(full |avg10=|oom_kill|/ | ro|\n){0,40}") {
            let _ = (pressure(&text), oom_kills(&text), is_root_read_only(&text));
        }
    }
}
