//! The board as people meet it: files in, Markdown out, on made-up trees.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;

use super::history::Quantity;
use super::*;
use crate::base::limits::board::{COLUMNS, FILE_BYTES, INTERFACES, SAMPLE_INTERVAL};
use crate::base::zone::Zone;

/// A Raspberry Pi that is warm, on Wi-Fi, and short of current now and then.
const RASPBERRY: &[(&str, &str)] = &[
    ("sys/class/thermal/thermal_zone0/temp", "51234\n"),
    ("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n"),
    ("sys/class/thermal/thermal_zone1/temp", "-274000\n"),
    ("sys/class/thermal/cooling_device0/type", "fan\n"),
    (
        "sys/devices/platform/soc/soc:firmware/get_throttled",
        "50000\n",
    ),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("proc/loadavg", "0.42 0.31 0.28 1/140 2093\n"),
    (
        "proc/meminfo",
        "MemTotal:  945364 kB\nMemFree: 1 kB\nMemAvailable:  472682 kB\nSwapTotal:  102396 kB\nSwapFree:  102396 kB\n",
    ),
    ("proc/uptime", "273600.47 1000000.90\n"),
    (
        "proc/net/wireless",
        "head\nhead\n test-w: 0000 54. -56. -256 0\n",
    ),
    (
        "proc/net/if_inet6",
        "20010db8000000000000000000000002 03 40 00 00 test-w\n",
    ),
    ("sys/class/net/test-w/operstate", "up\n"),
    ("sys/class/net/test-w/device/uevent", ""),
    ("sys/class/net/test-w/statistics/rx_bytes", "1200000\n"),
    ("sys/class/net/test-w/statistics/tx_bytes", "345678\n"),
    ("sys/class/net/test-e/operstate", "down\n"),
    ("sys/class/net/test-e/device/uevent", ""),
    ("sys/class/net/test-bridge/operstate", "down\n"),
    ("sys/class/net/lo/operstate", "unknown\n"),
    ("sys/class/net/lo/statistics/rx_bytes", "99\n"),
];

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in files {
        put(root.path(), path, content.as_bytes());
    }
    root
}

fn put(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// The lines of the status whose values do not depend on the machine that runs the tests.
fn status(board: &Board) -> Vec<String> {
    let text = board.format_status(Language::English);
    let lines = text.lines().filter(|line| !line.starts_with("- Disk"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_raspberry_says_how_it_is() {
    let root = tree(RASPBERRY);
    let board = Board::new(root.path(), root.path());
    let lines = status(&board);
    assert!(lines[0].ends_with("**, up 3 d 4 h"), "{}", lines[0]);
    assert_eq!(
        lines[1..],
        [
            "- Temperature: 51.2 °C (`cpu-thermal`)",
            "- Throttling: none; earlier: under-voltage, throttled",
            "- Load: 0.42, 0.31, 0.28 over 1, 5, 15 minutes, 4 processors",
            "- Memory: 484.0 MB free of 968.0 MB (50 % used), swap 0 bytes of 104.8 MB used",
            "- Network `test-e`: down",
            "- Network `test-w`: up, 2001:db8::2, signal -56 dBm, 1.2 MB in, 345.6 kB out",
        ]
    );
    let disk = board.reading().disk.unwrap();
    assert!(disk.total > disk.free && !disk.is_read_only, "{disk:?}");
}

#[test]
fn what_a_machine_does_not_tell_is_not_known_and_no_error() {
    let nothing = tempfile::tempdir().unwrap();
    let board = Board::new(nothing.path(), &nothing.path().join("none"));
    assert_eq!(board.reading(), Reading::default());
    let text = board.format_status(Language::English);
    assert!(text.lines().next().unwrap().ends_with("**, uptime unknown"));
    let unknown = text.lines().skip(1);
    assert!(
        unknown
            .clone()
            .all(|line| line.ends_with(": not available"))
    );
    assert_eq!(unknown.count(), 5, "{text}");
    board.record(false, &[]).unwrap();
    assert_eq!(
        board.format_status(Language::English),
        text,
        "a sample of nothing"
    );
}

#[test]
fn throttling_is_found_where_other_kernels_have_it() {
    let address = "sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled";
    let cases: [(&[(&str, &str)], u32); 3] = [
        (&[(address, "0x2")], 2),
        (
            &[
                ("sys/class/hwmon/hwmon0/name", "cpu_thermal\n"),
                ("sys/class/hwmon/hwmon1/name", "rpi_volt\n"),
                ("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n"),
            ],
            1,
        ),
        (
            &[
                ("sys/class/hwmon/hwmon1/name", "rpi_volt\n"),
                ("sys/class/hwmon/hwmon1/in0_lcrit_alarm", "0\n"),
            ],
            0,
        ),
    ];
    for (files, bits) in cases {
        let root = tree(files);
        let throttling = Board::new(root.path(), root.path()).reading().throttling;
        assert_eq!(throttling.map(|found| found.0), Some(bits), "{files:?}");
    }
}

#[test]
fn the_hottest_sensor_is_shown() {
    let root = tree(&[
        ("sys/class/thermal/thermal_zone0/temp", "40000"),
        ("sys/class/thermal/thermal_zone1/temp", "61900"),
        ("sys/class/thermal/thermal_zone1/type", "gpu"),
        ("sys/class/thermal/thermal_zone2/temp", "-5000"),
    ]);
    let board = Board::new(root.path(), root.path());
    assert_eq!(
        status(&board)[1],
        "- Temperature: 61.9 °C (`gpu`, the hottest of 3)"
    );
}

#[test]
fn a_host_of_containers_shows_its_hardware_first_and_counts_only_that() {
    let root = tree(&[
        ("sys/class/net/test-z/device/uevent", ""),
        ("sys/class/net/test-z/statistics/rx_bytes", "5"),
        ("sys/class/net/test-z/statistics/tx_bytes", "7"),
    ]);
    for number in 0..40 {
        let bytes = format!("sys/class/net/test-v{number}/statistics");
        put(root.path(), &format!("{bytes}/rx_bytes"), b"1000");
        put(root.path(), &format!("{bytes}/tx_bytes"), b"1000");
    }
    let reading = Board::new(root.path(), root.path()).reading();
    assert_eq!(reading.interfaces.len(), INTERFACES);
    assert_eq!(reading.interfaces[0].name, "test-z");
    assert_eq!(reading.traffic(), Some(12));
}

/// A board whose clock a test turns by hand.
fn clocked(root: &Path) -> (Board, Arc<AtomicI64>) {
    let hand = Arc::new(AtomicI64::new(1_795_305_600_000));
    let board = Board::new(root, root).with_clock(Clock::Hand(Arc::clone(&hand)));
    (board, hand)
}

fn pass(hand: &AtomicI64) {
    hand.fetch_add(SAMPLE_INTERVAL.as_millis() as i64, Ordering::Relaxed);
}

#[test]
fn a_history_grows_below_the_values_and_survives_a_restart() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    assert!(
        board
            .format_history()
            .starts_with("There is no history yet: it begins when the gateway")
    );
    let zone = "sys/class/thermal/thermal_zone0/temp";
    let received = "sys/class/net/test-w/statistics/rx_bytes";
    for step in 0..40_u64 {
        if step > 0 {
            pass(&hand);
        }
        let degrees = format!("{}", 40_000 + step * 500);
        put(root.path(), zone, degrees.as_bytes());
        put(
            root.path(),
            received,
            format!("{}", 1000 + step * 600_000).as_bytes(),
        );
        board.record(true, &[]).unwrap();
        board.record(true, &[]).unwrap();
    }
    let before = status(&board);
    let lines = before.clone();
    assert_eq!(lines[1], "- Temperature: 59.5 °C (`cpu-thermal`)  ");
    assert_eq!(lines[2], "  `▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▇▇▇██` 40.0 to 59.5 °C");
    assert_eq!(
        lines.last().unwrap(),
        "The small lines show the last 3 h 20 min."
    );
    let history = board.format_history();
    let mut lines = history.lines();
    assert_eq!(
        lines.next().unwrap(),
        "The last 3 h 20 min, oldest first. Each value is the highest of 10 minutes; - is a gap."
    );
    assert_eq!(lines.next().unwrap(), "- Temperature: mean 49.8 °C  ");
    assert!(
        lines.nth(1).unwrap().starts_with("  40.5 41.5 42.5 "),
        "{history}"
    );
    assert!(history.contains("\n- Load: mean 0.31  \n"), "{history}");
    assert!(
        history.contains("\n- Network in and out: mean 2.0 kB/s  \n"),
        "{history}"
    );

    board.save(true).unwrap();
    let again = Board::new(root.path(), root.path()).with_clock(Clock::Hand(hand));
    assert_eq!(status(&again), before);
    let series = again.series("temperature", 3600).unwrap();
    assert_eq!(
        (series.name.as_str(), series.unit.as_str()),
        ("temperature", "°C")
    );
    assert_eq!(series.points.len(), 13);
    assert_eq!(series.points.last(), Some(&(again.now() as f64, 59.5)));
    assert_eq!(series.summary(), Some((53.5, 59.5, 59.5)));
}

#[test]
fn a_curve_begins_with_the_first_sample_and_goes_on_to_now() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    let later = |seconds: i64| hand.fetch_add(seconds * 1000, Ordering::Relaxed);
    later(100);
    let first = board.now() as f64;
    board.record(true, &[]).unwrap();
    pass(&hand);
    board.record(true, &[]).unwrap();
    let times = || {
        let points = board.series("temperature", 3600).unwrap().points;
        let from_first = points.into_iter().skip_while(|(_, value)| value.is_nan());
        let known = from_first.map(|(at, value)| value.is_finite().then_some(at - first));
        known.collect::<Vec<_>>()
    };
    assert_eq!(times(), [Some(0.0), Some(300.0)]);
    later(50);
    assert_eq!(times(), [Some(0.0), Some(300.0), Some(350.0)]);
    // The slot of now has no sample yet.
    later(200);
    assert_eq!(times(), [Some(0.0), Some(300.0), Some(550.0)]);
    later(1200);
    let apart = times();
    assert_eq!(apart.last(), Some(&Some(1750.0)));
    assert!(apart.contains(&None), "a real gap stays: {apart:?}");
    board.record(true, &[]).unwrap();
    let zone = "sys/class/thermal/thermal_zone0/temp";
    put(root.path(), zone, b"71000\n");
    let now = board.series("temperature", 3600).unwrap().points;
    let last = now.last().copied();
    assert_eq!(last, Some((board.now() as f64, 71.0)), "the value of now");
}

#[test]
fn watched_values_have_a_history_under_their_names() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    for step in 0..3 {
        let value = ("greenhouse".to_owned(), f64::from(step) * 2.5);
        board.record(true, &[value]).unwrap();
        pass(&hand);
    }
    board.save(false).unwrap();
    assert!(
        !root.path().join("state").exists(),
        "the clock was not trusted"
    );
    board.save(true).unwrap();
    let names = [
        "temperature",
        "load",
        "memory",
        "disk",
        "network",
        "greenhouse",
    ];
    assert_eq!(board.names(), names);
    let series = board.series("greenhouse", 7 * 86_400).unwrap();
    assert_eq!(series.summary(), Some((0.0, 5.0, 5.0)));
    assert_eq!(series.points.len(), 4, "from its first sample on");
    assert_eq!(board.series("pond", 3600), None);
}

#[test]
fn what_has_a_built_in_history_is_not_listed_twice() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    for _ in 0..2 {
        let values = ["temperature", "disk", "disk /", "disk /none", "swap"];
        let values = values.map(|name| (name.to_owned(), 5.0));
        board.record(true, &values).unwrap();
        pass(&hand);
    }
    let built_in = ["temperature", "load", "memory", "disk", "network"];
    let all = [&built_in[..], &["disk /", "disk /none", "swap"]].concat();
    assert_eq!(board.names(), all, "a name that was typed is still known");
    let listed = [&built_in[..], &["disk /none", "swap"]].concat();
    assert_eq!(board.listed_names(), listed);
    let text = board.list_values();
    assert_eq!(text.lines().count(), listed.len(), "{text}");
    assert!(text.contains("\nload: 0.31 (24 h)\n"), "{text}");
    assert!(text.ends_with("swap: 5.00 (24 h)"), "{text}");
}

#[test]
fn what_is_watched_for_yes_or_no_is_listed_in_words() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    for value in [1.0, 0.0] {
        let watched = [("cmd 'test -e x' succeeds", value), ("port 443", 1.0)];
        let watched = watched.map(|(name, value)| (name.to_owned(), value));
        board.record(true, &watched).unwrap();
        pass(&hand);
    }
    let text = board.list_values();
    // That it succeeds may be good news.
    let changed = "\ncmd 'test -e x' succeeds: succeeds to fails, now succeeds (24 h)\n";
    assert!(text.contains(changed), "{text}");
    assert!(text.ends_with("port 443: ok (24 h)"), "{text}");
}

#[test]
fn the_small_lines_of_a_day_fit_a_telephone() {
    let root = tree(RASPBERRY);
    let (board, hand) = clocked(root.path());
    for _ in 0..300 {
        board.record(true, &[]).unwrap();
        pass(&hand);
    }
    let status = board.format_status(Language::English);
    let lines: Vec<&str> = status
        .split('`')
        .filter(|part| part.starts_with(|first| ('▁'..='█').contains(&first)))
        .collect();
    assert_eq!(lines.len(), Quantity::ALL.len(), "{status}");
    assert!(lines.iter().all(|line| line.chars().count() == COLUMNS));
}

#[test]
fn this_machine_tells_its_memory_load_and_uptime() {
    let board = Board::new(Path::new("/"), Path::new("/"));
    let reading = board.reading();
    let memory = reading.memory.unwrap();
    assert!(
        memory.total > memory.available && memory.available > 0,
        "{memory:?}"
    );
    assert!(reading.load.unwrap().processors.unwrap() > 0);
    assert!(reading.uptime.is_some() && reading.disk.unwrap().total > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each file in turn holds anything, also what is no text and what is too long.
    #[test]
    fn no_content_of_any_file_panics(which in 0..RASPBERRY.len(), content in prop::collection::vec(any::<u8>(), 0..300), is_long: bool) {
        let root = tree(RASPBERRY);
        let content = if is_long { content.repeat(FILE_BYTES) } else { content };
        put(root.path(), RASPBERRY[which].0, &content);
        let board = Board::new(root.path(), root.path());
        board.record(true, &[]).unwrap();
        let _ = (board.format_status(Language::English), board.format_history());
    }
}

#[test]
fn before_the_first_start_a_plot_of_the_disk_says_that_measurements_begin_then() {
    let root = tree(RASPBERRY);
    let board = Board::new(root.path(), &root.path().join("none"));
    let said = board.plot_words("disk", &Zone::utc()).unwrap_err();
    assert!(
        said.to_string()
            .contains("measurements begin when the bot runs"),
        "{said}"
    );
    assert!(board.list_values().contains("disk: no values in 24 h"));
}
