//! The system around the service: systemd, clock, log, memory, disk, watchdog. PURE: facts in, rows out.

use std::path::Path;

use super::super::report::Row;
use super::facts::Facts;
use crate::cli::service::manager::Properties;
use crate::cli::sessions::size;

/// Bytes of memory below which a board needs swap space to build or convert anything.
const RAM_BYTES_WITHOUT_SWAP: u64 = 600 * 1024 * 1024;
/// Tenths of its life after which a disk should be replaced.
const WORN_TENTHS: u32 = 9;

/// The rows about the system. `is_set`: whether the clock shows a time after this program was made.
pub fn rows(facts: &Facts, home: &Path, is_set: bool) -> Vec<Row> {
    let rows = [
        Some(board(facts)),
        Some(systemd(facts)),
        Some(clock(facts, is_set)),
        facts.has_systemd().then(|| log(facts)),
        Some(memory(facts)),
        Some(root(facts, home)),
        worn(facts),
        facts.has_systemd().then(|| watchdog(facts)),
    ];
    rows.into_iter().flatten().collect()
}

fn board(facts: &Facts) -> Row {
    let parts = [
        facts.board.as_deref().unwrap_or_default(),
        &facts.system,
        &format!("Linux {}", facts.kernel),
    ];
    let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Row::ok("board", known.join(", "))
}

fn value<'a>(properties: Option<&'a Properties>, name: &str) -> &'a str {
    properties
        .and_then(|properties| properties.get(name))
        .map_or("", String::as_str)
}

/// The version of systemd, and what an older one lacks.
fn systemd(facts: &Facts) -> Row {
    const NAME: &str = "systemd";
    let Some(manager) = &facts.manager else {
        return match (facts.is_booted_with_systemd, facts.has_init_script) {
            (true, _) => Row::failed(NAME, "it does not answer. `systemctl status` shows why"),
            (false, true) => Row::ok(
                NAME,
                "not used here; /etc/init.d/peacrab starts the service",
            ),
            (false, false) => Row::warning(
                NAME,
                "not used here, and there is no init script. The install.sh of a release adds one",
            ),
        };
    };
    let version = value(Some(manager), "Version");
    let digits = |char: char| !char.is_ascii_digit();
    let number: u32 = version
        .split(digits)
        .find_map(|part| part.parse().ok())
        .unwrap_or(0);
    let lacks = match number {
        254.. => return Row::ok(NAME, version),
        252.. => "",
        _ => "; it does not find keys in /etc/credstore, so they stay in config.json",
    };
    Row::ok(
        NAME,
        format!(
            "{version}: before 254, the time between two restarts does not grow; it stays at 5 s{lacks}"
        ),
    )
}

/// The clock, and what sets it.
fn clock(facts: &Facts, is_set: bool) -> Row {
    const NAME: &str = "clock";
    let after_start = if facts.rtc {
        ""
    } else {
        ". The board has no clock with a battery: after a start, it is wrong until then"
    };
    let time = facts.time.as_ref();
    match (value(time, "NTP"), value(time, "NTPSynchronized")) {
        ("no", "no") => unset(
            is_set,
            "nothing sets it from the network. `sudo timedatectl set-ntp true`; if that fails, `sudo apt install \
             systemd-timesyncd`",
        ),
        (_, "yes") => Row::ok(NAME, format!("set from the network{after_start}")),
        ("yes", _) => unset(
            is_set,
            "not yet set from the network since the start. `timedatectl timesync-status` or `chronyc tracking` \
             shows why",
        ),
        _ if is_set => Row::ok(NAME, "set; systemd does not report what sets it"),
        _ => unset(
            is_set,
            "systemd does not report what sets it. By hand: `sudo date -s`",
        ),
    }
}

/// A clock that is not right yet: that matters more if it is in the past.
fn unset(is_set: bool, text: &str) -> Row {
    if is_set {
        Row::warning("clock", text)
    } else {
        Row::failed("clock", format!("it is in the past, and {text}"))
    }
}

/// Whether the log survives a restart.
fn log(facts: &Facts) -> Row {
    const KEEP: &str = "To keep it: `sudo mkdir -p /etc/systemd/journald.conf.d && printf \
                        '[Journal]\\nStorage=persistent\\n' | sudo tee \
                        /etc/systemd/journald.conf.d/zz-peacrab.conf && sudo systemctl restart \
                        systemd-journald`";
    Row::ok(
        "log",
        match (facts.storage.as_str(), facts.has_journal) {
            ("none", _) => format!("not kept at all (journald.conf, Storage=none). {KEEP}"),
            ("persistent", _) | ("auto", true) => "kept on the disk (/var/log/journal)".to_owned(),
            _ => format!(
                "kept in memory, which spares the SD card; a restart of the board deletes it. {KEEP}"
            ),
        },
    )
}

/// The memory and the swap space.
fn memory(facts: &Facts) -> Row {
    const NAME: &str = "ram";
    let bytes = |name: &str| {
        let value = facts
            .memory
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kilobytes.checked_mul(1024)
    };
    let Some(total) = bytes("MemTotal") else {
        return Row::ok(NAME, "unknown");
    };
    let swap = bytes("SwapTotal").unwrap_or(0);
    let kind = if facts.swaps.contains("/dev/zram") {
        " (compressed memory)"
    } else {
        ""
    };
    match swap {
        0 if total < RAM_BYTES_WITHOUT_SWAP => Row::warning(
            NAME,
            format!(
                "{} without swap space, so a command that needs much memory is soon killed. `sudo apt install zram-tools` adds \
                 compressed memory, which spares the SD card",
                size(total)
            ),
        ),
        0 => Row::ok(NAME, format!("{}, no swap space", size(total))),
        swap => Row::ok(
            NAME,
            format!("{}, swap space {}{kind}", size(total), size(swap)),
        ),
    }
}

/// The file system with the home folder: whether it stays after a restart.
fn root(facts: &Facts, home: &Path) -> Row {
    const NAME: &str = "files";
    let Some((point, kind, options)) = mount_of(facts, home) else {
        return Row::ok(NAME, "unknown");
    };
    let shown = home.display();
    // What is written to an overlay is in its upper folder: on OpenWrt that is on the disk. Where it cannot be
    // seen, it is what the start has hidden, or outside the container.
    let upper = options
        .split(',')
        .find_map(|option| option.strip_prefix("upperdir="));
    let kept_on = match (kind, upper) {
        ("overlay", Some(upper)) => {
            mount_of(facts, Path::new(upper)).map_or(kind, |(_, kind, _)| kind)
        }
        _ => kind,
    };
    match kept_on {
        "overlay" if facts.is_container => Row::warning(
            NAME,
            format!(
                "{shown} is a part of this container, so every conversation is lost with it. Mount a volume \
                 there"
            ),
        ),
        "overlay" | "tmpfs" | "ramfs" => Row::warning(
            NAME,
            format!(
                "{shown} is in memory ({kind} on {point}), so every conversation is lost at a restart. On \
                 Raspberry Pi OS, `sudo raspi-config nonint disable_overlayfs && sudo reboot` turns that off"
            ),
        ),
        _ if options.split(',').any(|option| option == "ro") => Row::failed(
            NAME,
            format!(
                "{shown} is read-only ({kind} on {point}). `sudo mount -o remount,rw {point}`; if that \
                 fails, look at `dmesg`"
            ),
        ),
        _ => Row::ok(NAME, format!("{shown} is on the disk ({kind} on {point})")),
    }
}

/// The file system with a path: where it is mounted, its type, its options.
fn mount_of<'a>(facts: &'a Facts, path: &Path) -> Option<(&'a str, &'a str, &'a str)> {
    let mounts = facts.mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?, fields.next()?))
    });
    mounts
        .filter(|(point, _, _)| path.starts_with(point))
        // Of two on one point, the later one is seen.
        .max_by_key(|(point, _, _)| point.len())
}

/// A disk that is nearly worn out; nothing otherwise.
fn worn(facts: &Facts) -> Option<Row> {
    let tenths = facts.worn.filter(|tenths| *tenths >= WORN_TENTHS)?;
    Some(Row::warning(
        "disk",
        format!(
            "it has used about {} % of its life (eMMC's own estimate). Make a copy, and replace it soon",
            (tenths * 10).min(100)
        ),
    ))
}

/// The watchdog of the hardware, which restarts a board that hangs.
fn watchdog(facts: &Facts) -> Row {
    const NAME: &str = "watchdog";
    let time = value(facts.manager.as_ref(), "RuntimeWatchdogUSec");
    match (facts.watchdog, time) {
        (false, _) => Row::ok(NAME, "the board has none"),
        (true, "" | "0" | "infinity") => Row::ok(
            NAME,
            "not used, so a board that hangs needs you to restart it. To use it: `sudo mkdir -p \
             /etc/systemd/system.conf.d && printf '[Manager]\\nRuntimeWatchdogSec=15\\n' | sudo tee \
             /etc/systemd/system.conf.d/watchdog.conf && sudo systemctl daemon-reexec`",
        ),
        (true, time) => Row::ok(NAME, format!("restarts a board that hangs for {time}")),
    }
}
