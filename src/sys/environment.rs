//! The process's environment: read once at the start; only `TZ` is ever set.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Variables by name. Those that are not UTF-8 are left out: none of them is ours.
pub type Environment = BTreeMap<String, String>;

/// The folder of the time zones, for musl's libc and for chrono.
const ZONES: &str = "/usr/share/zoneinfo";

/// The variables that this process was started with.
pub fn variables() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Whether the system has any zones (Debian's package tzdata), so that a missing zone is a wrong name.
pub fn has_time_zones() -> bool {
    Path::new(ZONES).is_dir()
}

/// Whether the name is a zone of this system, such as `Europe/Zurich`.
pub fn is_time_zone(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/_+-".contains(char);
    if !name.starts_with(|first: char| first.is_ascii_alphanumeric()) || !name.chars().all(plain) {
        return false;
    }
    // The folder also has lists such as `zone.tab`; a zone begins with a magic number (RFC 8536).
    let mut magic = [0; 4];
    std::fs::File::open(Path::new(ZONES).join(name))
        .and_then(|mut file| file.read_exact(&mut magic))
        .is_ok_and(|()| &magic == b"TZif")
}

/// Sets the time zone of the process (`TZ`). Does nothing and returns false when the process has more than
/// one thread: call it before the first is started.
#[expect(
    unsafe_code,
    reason = "the zone of a process can be set in no other way"
)]
pub fn set_time_zone(name: &str) -> bool {
    let alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if alone {
        // SAFETY: setenv(3) races with threads that read the environment. There is no other thread:
        // it was counted, and only this one could start another.
        unsafe { std::env::set_var("TZ", name) };
    }
    alone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_file_in_the_zone_folder() {
        assert!(has_time_zones(), "the package tzdata is missing");
        assert!(is_time_zone("Europe/Zurich"));
        assert!(is_time_zone("Etc/GMT+5"));
        for name in [
            "",
            "auto",
            "Europe",
            "Europe/Nowhere",
            "zone.tab",
            "/etc/localtime",
            "../../../etc/localtime",
            ":UTC",
        ] {
            assert!(!is_time_zone(name), "{name}");
        }
    }

    #[test]
    fn the_zone_is_not_set_beside_other_threads() {
        let (keep, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv().is_err());
        assert!(!set_time_zone("Europe/Zurich"));
        drop(keep);
        assert!(other.join().unwrap());
    }
}
