//! What is watched without a rule of a person.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::{Item, Look, system};
use crate::base::access::Role;
use crate::base::limits::watch::SYSTEM_BYTES;
use crate::board::reading::{Reading, Throttle, Throttling};
use crate::board::watch::{BuiltIn, Entry, Quantity, Rule, Seen, Subject, What};
use crate::config::schema::BuiltInWatches;
use crate::sys;

/// Sessions and addresses that are remembered, so that none is told twice.
const KNOWN_MAX: usize = 32;
/// Files of a folder of sessions that are looked at.
const SESSIONS_MAX: usize = 64;
/// The temperature that counts as too hot where the board names none, in degrees Celsius.
const HOT: f64 = 80.0;
/// Percent of the time in which all tasks wait for memory that count as pressure.
const PRESSURE: f64 = 20.0;
/// How long memory pressure, heat and an unset clock have to last before they are told, in seconds.
const PRESSURE_HOLD_SECONDS: u64 = 60;
/// See [`PRESSURE_HOLD_SECONDS`].
const HOT_HOLD_SECONDS: u64 = 60;

/// The built-in watches that the configuration turns on.
pub fn items(config: &BuiltInWatches, root: &Path, home: &Path) -> Vec<Arc<Item>> {
    let mut items = Vec::new();
    let mut add = |key: &str, subject: Subject| {
        items.push(Arc::new(Item {
            key: key.to_owned(),
            rule: match &subject {
                Subject::Rule(rule) => rule.to_string(),
                Subject::BuiltIn(_) => key.to_owned(),
            },
            subject,
            chat: None,
            is_paused: false,
            by_model: false,
            process: None,
            is_built_in: true,
            role: Role::Owner,
            author: None,
        }));
    };
    let over = |quantity: Quantity, threshold: f64, hold: Option<u64>| {
        Subject::Rule(Rule {
            hold,
            ..Rule::new(What::Value {
                quantity,
                is_over: true,
                threshold,
                back: None,
            })
        })
    };
    let hot = match config.temperature {
        None => Some(system::trip_point(root).unwrap_or(HOT)),
        Some(0) => None,
        Some(degrees) => Some(degrees as f64),
    };
    if let Some(hot) = hot {
        add(
            "temperature",
            over(Quantity::Temperature, hot, Some(HOT_HOLD_SECONDS)),
        );
    }
    let slash = || Some("/".to_owned());
    if config.disk > 0 {
        add(
            "disk",
            over(Quantity::Disk(slash()), config.disk as f64, None),
        );
        if !are_one_disk(root, home) {
            add(
                "disk-home",
                over(Quantity::Disk(None), config.disk as f64, None),
            );
        }
    }
    if config.inodes > 0 {
        add(
            "inodes",
            over(Quantity::Inodes(slash()), config.inodes as f64, None),
        );
    }
    if config.pressure {
        add(
            "pressure",
            over(Quantity::Pressure, PRESSURE, Some(PRESSURE_HOLD_SECONDS)),
        );
    }
    for (key, is_on, built_in) in [
        ("oom", config.oom, BuiltIn::OutOfMemory),
        ("undervoltage", config.undervoltage, BuiltIn::UnderVoltage),
        ("throttling", config.throttling, BuiltIn::Throttling),
        ("readonly", config.read_only, BuiltIn::ReadOnly),
        ("units", config.units, BuiltIn::Units),
        ("clock", config.clock, BuiltIn::Clock),
        ("address", config.address, BuiltIn::Address),
        ("login", config.login, BuiltIn::Login),
    ] {
        if is_on {
            add(key, Subject::BuiltIn(built_in));
        }
    }
    items
}

/// Whether two folders are on the same disk: on one file system, or on parts of one that share their space, as those of
/// btrfs do.
fn are_one_disk(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|data| data.dev()).ok();
    if device(one).is_some() && device(one) == device(other) {
        return true;
    }
    let space = |path: &Path| {
        let found = rustix::fs::statvfs(path).ok()?;
        Some((
            found.f_blocks,
            found.f_bfree,
            found.f_bavail,
            found.f_frsize,
        ))
    };
    space(one).is_some_and(|(blocks, ..)| blocks > 0) && space(one) == space(other)
}

/// The bits of the firmware that say what has been since the start, at the look before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Earlier(Option<u32>);

impl Earlier {
    /// Whether the voltage is too low, or was since the look before, and whether the processor is throttled for another
    /// reason.
    pub fn look(&mut self, throttling: Option<Throttling>) -> (Look, Look) {
        let Some(now) = throttling else {
            return <(Look, Look)>::default();
        };
        let sticky = now.0 >> 16;
        let fresh = self.0.map_or(0, |before| sticky & !before);
        self.0 = Some(sticky);
        let is_low = (now.0 | fresh) & Throttling::UNDER_VOLTAGE != 0;
        let is_slow = now.now().any(|reason| reason != Throttle::UnderVoltage);
        (
            Look::is_bad(is_low, ""),
            Look::is_bad(is_slow && !is_low, ""),
        )
    }
}

/// Whether the file system at `/` became read-only since it was seen writable.
pub fn read_only(text: Option<String>, was_writable: &mut bool) -> Look {
    let is_read_only = text.as_deref().and_then(system::is_root_read_only);
    *was_writable |= is_read_only == Some(false);
    match is_read_only {
        // Some systems are meant to be so.
        Some(is) => Look::is_bad(is && *was_writable, "/"),
        None => Look::default(),
    }
}

/// Notes processes that the kernel has ended since the count before, also if that was before the gateway was.
pub fn note_kills(entry: &mut Entry, seen: &mut Seen, kills: Option<u64>, boot: u32) -> bool {
    let Some(kills) = kills else { return false };
    let now = vec![boot.to_string(), kills.to_string()];
    if entry.known.as_ref() == Some(&now) {
        return false;
    }
    let before = entry.known.replace(now);
    let before = before.and_then(|before| match before.as_slice() {
        [same, count] if *same == boot.to_string() => count.parse::<u64>().ok(),
        // The machine was started since.
        _ => Some(0),
    });
    if let Some(more @ 1..) = before.and_then(|before| kills.checked_sub(before)) {
        seen.note(u32::try_from(more).unwrap_or(u32::MAX), String::new());
    }
    true
}

/// Notes what is new among things that were seen before, such as addresses. At the first look nothing is.
pub fn note_new(entry: &mut Entry, found: Vec<(String, String)>) -> bool {
    let Some(known) = &mut entry.known else {
        entry.known = Some(
            found
                .into_iter()
                .map(|(id, _)| id)
                .take(KNOWN_MAX)
                .collect(),
        );
        return true;
    };
    let mut is_new = false;
    for (id, text) in found {
        if known.contains(&id) {
            continue;
        }
        known.push(id);
        entry.seen.note(1, text);
        is_new = true;
    }
    let over = known.len().saturating_sub(KNOWN_MAX);
    known.drain(..over);
    is_new
}

/// The addresses of the board, each with its interface: of those with hardware, where there are any.
pub fn addresses(reading: &Reading) -> Vec<(String, String)> {
    let hardware = reading.interfaces.iter().filter(|one| one.is_hardware);
    let found = hardware.filter_map(|one| Some((one.address?, &one.name)));
    found
        .map(|(address, name)| (address.to_string(), format!("{address} ({name})")))
        .collect()
}

/// The sessions over ssh: an id that comes once, and `user@host`.
pub fn logins(root: &Path) -> Vec<(String, String)> {
    let folder = root.join("run/systemd/sessions");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return utmp(root);
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // Beside each session there is a pipe, `NAME.ref`.
    let names = names.filter(|name| !name.contains('.'));
    let session = |name: String| {
        let text = system::read(root, &format!("run/systemd/sessions/{name}"))?;
        session(&name, &text)
    };
    names.take(SESSIONS_MAX).filter_map(session).collect()
}

/// A session of logind, if it is one over ssh.
fn session(name: &str, text: &str) -> Option<(String, String)> {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    if value("SERVICE") != Some("sshd") || value("CLASS").is_some_and(|class| class != "user") {
        return None;
    }
    let id = format!("{name}:{}", value("REALTIME").unwrap_or_default());
    Some((
        id,
        at_host(value("USER")?, value("REMOTE_HOST").unwrap_or_default()),
    ))
}

fn at_host(user: &str, host: &str) -> String {
    match host {
        "" => user.to_owned(),
        host => format!("{user}@{host}"),
    }
}

/// The same from the file of logins that systems without logind have (utmp(5)).
fn utmp(root: &Path) -> Vec<(String, String)> {
    let paths = ["run/utmp", "var/run/utmp"].map(|path| root.join(path));
    let read = paths
        .iter()
        .find_map(|path| sys::file::read_at_most(path, SYSTEM_BYTES).ok());
    utmp_entries(&read.unwrap_or_default())
}

/// The remote logins of a `utmp`. Its records differ with the architecture, by the size of a time.
fn utmp_entries(bytes: &[u8]) -> Vec<(String, String)> {
    // `struct utmp`: the type, `ut_line`, `ut_user` and `ut_host` are at the same places in both.
    const USER_PROCESS: u8 = 7;
    let size = match bytes.len() {
        length if length.is_multiple_of(384) => 384,
        length if length.is_multiple_of(400) => 400,
        _ => return Vec::new(),
    };
    let text = |record: &[u8], at: usize, length: usize| {
        let bytes = record.get(at..at + length).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
        String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
    };
    let records = bytes.chunks_exact(size).take(SESSIONS_MAX);
    let remote = records.filter(|record| record.first() == Some(&USER_PROCESS));
    let entries = remote.filter_map(|record| {
        let (line, user, host) = (
            text(record, 8, 32),
            text(record, 44, 32),
            text(record, 76, 256),
        );
        let is_remote = !host.is_empty() && !host.starts_with(':');
        let time = record.get(340..352).unwrap_or_default();
        is_remote.then(|| (format!("{line}:{time:x?}"), at_host(&user, &host)))
    });
    entries.collect()
}

/// The names of the failed services that `systemctl --failed --plain --no-legend` prints.
pub fn failed_units(text: &str) -> BTreeSet<String> {
    let names = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next());
    names
        .filter(|name| name.contains('.'))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::watch::Moment;

    fn bad(look: &Look) -> bool {
        look.value == Some(1.0)
    }

    #[test]
    fn a_dip_of_the_voltage_between_two_looks_is_seen() {
        let mut earlier = Earlier::default();
        for (bits, is_low, is_slow) in [
            // Since the start, before the gateway was.
            (0x50000, false, false),
            (0x50005, true, false),
            (0x50000, false, false),
            (0x40000, false, false),
            (0x50000, true, false),
            (0x50000, false, false),
            (0x50004, false, true),
        ] {
            let (low, slow) = earlier.look(Some(Throttling(bits)));
            assert_eq!((bad(&low), bad(&slow)), (is_low, is_slow), "{bits:x}");
        }
        assert_eq!(earlier.look(None), Default::default());
    }

    #[test]
    fn a_disk_is_watched_once() {
        let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let count = |home: &Path| {
            let items = items(&BuiltInWatches::default(), root.path(), home);
            let disks = items.iter().filter(|item| item.key.starts_with("disk"));
            disks.count()
        };
        assert_eq!(count(home.path()), 1);
        assert_eq!(count(Path::new("/proc")), 2, "another file system");
    }

    #[test]
    fn only_what_was_writable_becomes_read_only() {
        let mounts = |options: &str| Some(format!("/dev/a / ext4 {options} 0 0\n"));
        let mut was = false;
        assert!(!bad(&read_only(mounts("ro"), &mut was)), "meant to be so");
        assert!(!bad(&read_only(mounts("rw"), &mut was)));
        assert!(bad(&read_only(mounts("ro,noatime"), &mut was)));
        assert_eq!(read_only(None, &mut was).value, None);
    }

    fn kills(entry: &mut Entry, count: u64, boot: u32) -> Option<u32> {
        let mut seen = std::mem::take(&mut entry.seen);
        note_kills(entry, &mut seen, Some(count), boot);
        Some(seen.take(Moment::default())?.0)
    }

    #[test]
    fn what_the_kernel_ended_before_the_first_look_is_old() {
        let mut entry = Entry::default();
        assert_eq!(kills(&mut entry, 4, 1), None);
        assert_eq!(kills(&mut entry, 4, 1), None);
        assert_eq!(kills(&mut entry, 6, 1), Some(2));
        assert_eq!(
            kills(&mut entry, 1, 2),
            Some(1),
            "after a restart of the machine"
        );
    }

    #[test]
    fn what_was_seen_before_is_not_new() {
        let mut entry = Entry::default();
        let found = |names: &[&str]| {
            names
                .iter()
                .map(|name| ((*name).to_owned(), (*name).to_owned()))
                .collect()
        };
        assert!(note_new(&mut entry, found(&["a"])));
        assert!(!note_new(&mut entry, found(&["a"])));
        assert!(note_new(&mut entry, found(&["a", "b", "c"])));
        assert_eq!(
            entry.seen.take(Moment::default()),
            Some((2, "c".to_owned()))
        );
        assert!(!note_new(&mut entry, found(&[])));
        assert!(!note_new(&mut entry, found(&["b"])), "it came back");
        let many: Vec<String> = (0..2 * KNOWN_MAX)
            .map(|number| number.to_string())
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        note_new(&mut entry, found(&many));
        assert_eq!(entry.known.unwrap().len(), KNOWN_MAX);
    }

    #[test]
    fn only_sessions_over_ssh_are_logins() {
        let text =
            "USER=pi\nREMOTE=1\nREMOTE_HOST=192.168.1.5\nSERVICE=sshd\nCLASS=user\nREALTIME=77\n";
        let expected = ("4:77".to_owned(), "pi@192.168.1.5".to_owned());
        assert_eq!(session("4", text), Some(expected));
        assert_eq!(session("4", &text.replace("sshd", "login")), None);
        assert_eq!(
            session("4", &text.replace("CLASS=user", "CLASS=manager")),
            None
        );
    }

    #[test]
    fn a_utmp_of_either_size_is_read() {
        for size in [384, 400] {
            let mut record = vec![0_u8; size];
            record[0] = 7;
            record[8..13].copy_from_slice(b"pts/0");
            record[44..46].copy_from_slice(b"pi");
            record[76..84].copy_from_slice(b"10.0.0.9");
            let mut local = record.clone();
            local[76..84].fill(0);
            let found = utmp_entries(&[record, local].concat());
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].1, "pi@10.0.0.9");
        }
        assert_eq!(utmp_entries(&[7; 100]), []);
    }

    #[test]
    fn failed_units_are_named() {
        let text = "nginx.service loaded failed failed A web server\n\ncron.service x\nnoise\n";
        let names: Vec<String> = failed_units(text).into_iter().collect();
        assert_eq!(names, ["cron.service", "nginx.service"]);
    }
}
