//! PURE: answers that the sandbox makes odd, whatever the exit status says: by the program that was run, and by what
//! was printed. In a pipe the status is that of the last program.

use super::{CHANGES, NO_CHANGES, NO_RIGHTS, NO_SERVICE, NO_SERVICES, RIGHTS, Reason, SERVICES};
use super::{is_refused, lacks_package, outside, texts};
use crate::sandbox::line::programs;

const OWN_PROCESSES: Reason = outside(texts::own_processes);
const OWN_MOUNTS: Reason = outside(texts::own_mounts);
const NO_LOGINS: Reason = outside(texts::no_logins);
const NO_CRONTAB: Reason = outside(texts::no_crontab);

const NO_SSH: Reason = outside(texts::no_ssh);
const NO_DEVICES: Reason = outside(texts::no_devices);

/// Programs that log in with the keys of `ssh`, and what it says without them, or without the names in its settings.
const SSH: [&str; 7] = ["ssh", "scp", "sftp", "rsync", "git", "sshfs", "ssh-copy-id"];
const SSH_FAILS: [&str; 7] = [
    "Could not resolve hostname",
    "Permission denied (publickey",
    "Permission denied (password",
    "Permission denied (keyboard",
    "Permission denied (gssapi",
    "Host key verification failed",
    "Could not create directory",
];

/// Programs that show devices, and what they say when there are none.
const DEVICES: [&str; 11] = [
    "lsusb",
    "vcgencmd",
    "i2cdetect",
    "i2cget",
    "gpiodetect",
    "gpioinfo",
    "pinctrl",
    "v4l2-ctl",
    "rfkill",
    "aplay",
    "arecord",
];
const NO_DEVICE: [&str; 4] = ["/dev/", "libusb", "VCHI ", "no soundcards"];

/// What an output says that shows nothing.
const NOTHING: [&str; 4] = ["", "0", "-- No entries --", "-- No entries --\n0"];

/// Why the answer to a line is odd; `None` where it is as it would be outside, as far as that is known.
pub(super) fn explain(own_view: bool, line: &str, output: &str) -> Option<Reason> {
    programs(line).iter().find_map(|words| {
        let (program, arguments) = words.split_first()?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let program = program.rsplit('/').next().unwrap_or_default();
        let only_asks = |word: &&str| matches!(*word, "--version" | "--help" | "-V");
        if arguments.iter().any(only_asks) || arguments == ["-h"] && program != "df" {
            return None;
        }
        of_program(own_view, program, &arguments, output)
    })
}

fn of_program(own_view: bool, program: &str, arguments: &[&str], output: &str) -> Option<Reason> {
    let shows_nothing = NOTHING.contains(&output.trim());
    let says = |part: &str| output.contains(part);
    let complains = || {
        let begins = |line: &str| line.starts_with(&format!("{program}:"));
        output.lines().any(|line| begins(line) && is_refused(line))
    };
    let found = match program {
        "ps" if lists_others(arguments) => own_view.then_some(OWN_PROCESSES),
        "top" if has_letter(arguments, &['b']) => own_view.then_some(OWN_PROCESSES),
        "pstree" | "lsof" | "fuser" => own_view.then_some(OWN_PROCESSES),
        "ss" | "netstat" if has_letter(arguments, &['p']) => own_view.then_some(OWN_PROCESSES),
        "pgrep" | "pidof" | "pkill" | "killall" if shows_nothing || says("no process found") => {
            own_view.then_some(OWN_PROCESSES)
        }
        "kill" if says("No such process") && names_process(arguments) => {
            own_view.then_some(OWN_PROCESSES)
        }
        "findmnt" => own_view.then_some(OWN_MOUNTS),
        "lsblk" if says("MOUNTPOINT") => own_view.then_some(OWN_MOUNTS),
        "mount" if lists_mounts(arguments) => own_view.then_some(OWN_MOUNTS),
        "df" if lists_file_systems(arguments) => own_view.then_some(OWN_MOUNTS),
        "blkid" if shows_nothing => Some(NO_RIGHTS),
        "who" | "users" | "lastlog" if shows_nothing => own_view.then_some(NO_LOGINS),
        // Its heading has two lines.
        "w" if output.trim().lines().count() <= 2 => own_view.then_some(NO_LOGINS),
        "last" if shows_nothing || says("/wtmp") => own_view.then_some(NO_LOGINS),
        "crontab" if arguments.contains(&"-l") => {
            let words = [
                "no crontab",
                "not allowed",
                "rivileged",
                "an't open",
                "annot",
                "must be",
            ];
            let is_odd = shows_nothing || is_refused(output) || words.iter().any(|part| says(part));
            is_odd.then_some(NO_CRONTAB)
        }
        // A table with a mistake in it is refused outside too.
        "crontab" if says("must be suid") || says("not allowed to use this program") => {
            Some(NO_CRONTAB)
        }
        "journalctl" if shows_nothing || says("-- No entries --") => Some(NO_SERVICES),
        "service" if says("/etc/init.d") || says("unrecognized service") => Some(NO_SERVICES),
        // They begin a complaint with what they were to do.
        "iw" | "iwlist" | "iwconfig" if is_refused(output) => Some(NO_RIGHTS),
        _ => None,
    };
    let is_one_of = |programs: &[&str]| programs.contains(&program);
    found.or_else(|| {
        if is_one_of(&SSH) && SSH_FAILS.iter().any(|words| says(words)) {
            Some(NO_SSH)
        } else if is_one_of(&DEVICES)
            && (shows_nothing || NO_DEVICE.iter().any(|words| says(words)))
        {
            own_view.then_some(NO_DEVICES)
        } else if is_one_of(&SERVICES) && NO_SERVICE.iter().any(|words| says(words)) {
            Some(NO_SERVICES)
        } else if is_one_of(&CHANGES)
            && !asks_only(program, arguments)
            && !lacks_package(output)
            && (is_refused(output) || HAS_NOT_CHANGED.iter().any(|words| says(words)))
        {
            own_view.then_some(NO_CHANGES)
        } else if is_one_of(&RIGHTS) && complains() {
            Some(NO_RIGHTS)
        } else {
            None
        }
    })
}

/// Whether a package manager is asked for what it knows, which it tells in the sandbox too, below a warning about settings
/// that are not shown.
fn asks_only(program: &str, arguments: &[&str]) -> bool {
    let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
    let asks = ["list", "search", "show", "policy", "depends", "rdepends"];
    program == "apt" && words.next().is_some_and(|word| asks.contains(word))
}

/// What package managers say where their folders are missing or cannot be written.
const HAS_NOT_CHANGED: [&str; 4] = [
    "are you root",
    "ead-only file system",
    "directory /var/cache/apt/archives/partial is missing",
    "Unable to read /etc/apt/",
];

/// Whether the options of `ps` ask for processes that are not the shell's own. A word without a dash is in the style of
/// BSD, and a number is a process.
fn lists_others(arguments: &[&str]) -> bool {
    arguments.iter().any(|word| match word.strip_prefix('-') {
        Some(long) if long.starts_with('-') => ["-pid", "-ppid", "-user", "-User", "-forest"]
            .contains(&long.split('=').next().unwrap_or_default()),
        // What follows an o is a format.
        Some(letters) => {
            let chosen = letters.split('o').next().unwrap_or_default();
            chosen.contains(['e', 'A', 'a', 'd', 'C', 'p', 'u', 'U', 'G', 'x'])
        }
        None => {
            let is_style = word.chars().all(|char| "axulfhjsvwogTr".contains(char));
            is_style && word.contains(['a', 'x']) || word.parse::<u32>().is_ok()
        }
    })
}

/// Whether `mount` lists what is mounted.
fn lists_mounts(arguments: &[&str]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-t" | "-O" => _ = rest.next(),
            "-l" | "-v" => {}
            _ => return false,
        }
    }
    true
}

/// Whether `df` lists all file systems: no path is named.
fn lists_file_systems(arguments: &[&str]) -> bool {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-t" | "-x" | "-B" => _ = rest.next(),
            word if word.starts_with('-') => {}
            _ => return false,
        }
    }
    true
}

/// Whether `kill` is given the number of a process, and not one that the line has begun itself.
fn names_process(arguments: &[&str]) -> bool {
    arguments.iter().any(|word| word.parse::<u32>().is_ok())
}

/// Whether a word of options, such as `-tlnp`, has one of these letters.
fn has_letter(arguments: &[&str], letters: &[char]) -> bool {
    let options = arguments.iter().filter_map(|word| word.strip_prefix('-'));
    options
        .filter(|word| !word.starts_with('-'))
        .any(|word| word.contains(letters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::language::Language;
    use proptest::prelude::*;

    const PS: &str = "USER PID COMMAND\npi 1 peacrab\npi 2 sh\npi 3 ps\n";
    const BUS: &str =
        "System has not been booted with systemd as init system (PID 1). Can't operate.";

    fn assert_explained(line: &str, output: &str, part: &str) {
        let reason = explain(true, line, output);
        let text = reason.map_or("", |reason| (reason.text)(Language::English));
        assert!(text.contains(part), "{line}: {text:?}");
        assert!(reason.is_some_and(|reason| reason.needs_more), "{line}");
    }

    #[test]
    fn an_odd_answer_is_explained_whatever_the_status_is() {
        for (line, output, part) in [
            ("ps aux", PS, "only its own processes"),
            ("ps -ef | grep nginx", "", "only its own processes"),
            ("ps ax | wc -l", "3", "only its own processes"),
            ("/bin/ps -e", PS, "only its own processes"),
            ("ps 812", "PID TTY", "only its own processes"),
            (
                "LANG=C timeout 5 top -b -n 1",
                "top - 12:00",
                "only its own processes",
            ),
            ("pgrep nginx | wc -l", "0", "only its own processes"),
            ("ss -tlnp", "State Recv-Q", "only its own processes"),
            (
                "journalctl -n 3",
                "No journal files were found.\n-- No entries --",
                "logs",
            ),
            ("journalctl -q -n 3", "", "logs"),
            ("journalctl -u ssh | tail -2", "-- No entries --", "logs"),
            (
                "dmesg | tail -2",
                "dmesg: read kernel buffer failed: Operation not permitted",
                "rights",
            ),
            ("systemctl status ssh | head -3", BUS, "services"),
            (
                "apt-get install jq | tail",
                "E: Could not open lock file - open (13: Permission denied)",
                "read-only",
            ),
            (
                "apt-get install -y bc",
                "W: Unable to read /etc/apt/apt.conf.d/ - DirectoryExists (2: No such file or directory)\n\
                 E: Archives directory /var/cache/apt/archives/partial is missing.",
                "read-only",
            ),
            (
                "dpkg -i x.deb; true",
                "dpkg: error: requires superuser privilege, Permission denied",
                "read-only",
            ),
            ("mount", "tmpfs on / type tmpfs", "mounts of its own"),
            ("df -h", "tmpfs 256M 0 256M 0% /tmp", "mounts of its own"),
            ("df -x tmpfs | tail -1", "/dev/sda", "mounts of its own"),
            ("lsblk", "NAME SIZE MOUNTPOINTS", "mounts of its own"),
            ("blkid", "", "rights"),
            (
                "kill -0 812",
                "sh: 1: kill: No such process",
                "only its own processes",
            ),
            ("mount | grep sda", "", "mounts of its own"),
            ("who", "", "logged in"),
            ("w", " 12:00 up 3 days\nUSER TTY FROM", "logged in"),
            ("crontab -l", "no crontab for pi", "crontab"),
            (
                "echo x | crontab -",
                "crontab: must be suid to work properly",
                "crontab",
            ),
            (
                "echo x | crontab -",
                "/var/spool/cron/: mkstemp: Permission denied",
                "read-only",
            ),
            ("if true; then ps aux; fi", PS, "only its own processes"),
            ("echo \"$(ps aux)\"", PS, "only its own processes"),
        ] {
            assert_explained(line, output, part);
        }
    }

    #[test]
    fn what_services_keys_and_devices_are_missing_for_is_explained() {
        for (line, output, part) in [
            (
                "service --status-all",
                "/usr/sbin/service: 76: cd: can't cd to /etc/init.d",
                "services",
            ),
            (
                "service ssh status",
                "ssh: unrecognized service",
                "services",
            ),
            (
                "nmcli",
                "Error: Could not create NMClient object: Could not connect: No such file or directory.",
                "services",
            ),
            ("bluetoothctl show", "Failed to connect to bus", "services"),
            (
                "ssh pi@nas",
                "ssh: Could not resolve hostname nas: Name or service not known",
                "SSH keys",
            ),
            (
                "rsync -a photos pi@nas:",
                "pi@nas: Permission denied (publickey,password).",
                "SSH keys",
            ),
            (
                "scp a nas: | cat",
                "Host key verification failed.",
                "SSH keys",
            ),
            ("lsusb", "", "devices"),
            (
                "vcgencmd measure_temp",
                "Can't open device file: /dev/vcio",
                "devices",
            ),
            (
                "vcgencmd get_throttled",
                "VCHI initialization failed",
                "devices",
            ),
            (
                "iw dev wlan0 scan",
                "command failed: Operation not permitted (-1)",
                "rights",
            ),
        ] {
            assert_explained(line, output, part);
        }
    }

    #[test]
    fn what_is_as_it_would_be_outside_is_not() {
        for (line, output) in [
            ("ps --version", "ps from procps-ng 4.0.4"),
            ("ps", PS),
            ("ps 2>/dev/null", PS),
            ("cat <<END\nps aux\nEND", PS),
            ("ps -o pid,args", PS),
            ("echo dmesg", "dmesg"),
            ("echo 'ps aux'", "ps aux"),
            ("grep journalctl notes.txt", ""),
            ("cat ps aux.txt", PS),
            ("man journalctl", ""),
            ("top --version", "top"),
            ("dpkg -l jq", "ii jq 1.7"),
            ("df -h /", "/dev/sda 29G"),
            ("df -B 1M .", "/dev/sda 29G"),
            ("lsblk -d -o NAME", "NAME"),
            ("sleep 1 & kill $!", "sh: 1: kill: No such process"),
            ("kill 12", ""),
            (
                "apt-get install jqq",
                "W: Unable to read /etc/apt/apt.conf.d/ - DirectoryExists (2: No such file or directory)\n\
                 E: Unable to locate package jqq",
            ),
            ("apt list --installed", "jq/stable"),
            (
                "apt list --upgradable 2>&1 | head",
                "W: Unable to read /etc/apt/apt.conf.d/ - DirectoryExists (2: No such file or directory)\n\
                 Listing...",
            ),
            (
                "ls /root; date",
                "ls: cannot open directory '/root': Permission denied\nToday",
            ),
            ("pgrep sleep", "12"),
            ("lsusb", "Bus 001 Device 001: ID 1d6b:0002"),
            ("lsusb", "sh: 1: lsusb: not found"),
            (
                "ssh pi@nas",
                "ssh: connect to host nas port 22: Connection refused",
            ),
            ("git status", "On branch main"),
            (
                "rsync -a /root/x .",
                "rsync: opendir \"/root/x\" failed: Permission denied (13)",
            ),
            ("git log | head -1", "Fix \"Permission denied\""),
            ("who", "pi tty1"),
            ("ss -tln", "State Recv-Q"),
            ("mount --version", "mount from util-linux"),
            ("systemctl --version", "systemd 257"),
            (
                "cat notes",
                "No journal files were found. System has not been booted with systemd",
            ),
            ("crontab -l", "0 5 * * * backup"),
            ("echo x | crontab -", ""),
            (
                "echo x | crontab -",
                "\"-\":0: bad minute\nerrors in crontab file, can't install.",
            ),
        ] {
            assert!(explain(true, line, output).is_none(), "{line}");
        }
        assert!(
            explain(false, "ps aux", PS).is_none(),
            "without a view of its own"
        );
    }

    proptest! {
        #[test]
        fn no_line_panics(line in ".{0,60}", words in "[a-z'\"|;&$() \\\\-]{0,40}", output in ".{0,60}") {
            let _ = (explain(true, &line, &output), explain(true, &words, &output));
        }
    }
}
