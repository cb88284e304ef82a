//! What is known of the host: files below `/`, or below a made-up tree, and what systemd answers.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::limits::doctor as limits;
use crate::cli::service::manager::{self, Properties};
use crate::sys;

/// Bytes of a file of the host that are read; a kernel's configuration has 300 kB.
const FILE_BYTES: usize = 1024 * 1024;

/// A Linux security module that confines by path: its switch for user namespaces, and its profile.
#[derive(Clone, Debug, Default)]
pub struct AppArmor {
    /// Whether programs without a profile may not use user namespaces.
    pub restricts_namespaces: bool,
    /// Whether its parser knows rules for user namespaces.
    pub knows_namespaces: bool,
    /// Whether our profile is installed.
    pub has_profile: bool,
    /// Whether this program has a profile, which is ours.
    pub is_attached: bool,
}

/// What is known of the host. `None` and empty texts are unknown.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The board's model.
    pub board: Option<String>,
    /// The system's name.
    pub system: String,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's command line.
    pub command_line: String,
    /// How the kernel was configured, where the file is not compressed.
    pub options: Option<String>,
    /// The security modules in use.
    pub modules: Option<String>,
    /// The version of Landlock; 0 for none.
    pub landlock: u32,
    /// The controllers of cgroup v2.
    pub controllers: Option<String>,
    /// Whether the kernel has user namespaces.
    pub has_namespaces: bool,
    /// `user.max_user_namespaces`
    pub max_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone` of Debian's kernels.
    pub may_clone: Option<u64>,
    /// AppArmor.
    pub apparmor: AppArmor,
    /// Whether the kernel filters system calls.
    pub seccomp: bool,
    /// /proc/meminfo
    pub memory: String,
    /// /proc/swaps
    pub swaps: String,
    /// The file systems that are mounted.
    pub mounts: String,
    /// Whether the board has a clock with a battery.
    pub rtc: bool,
    /// Where journald keeps its log: `Storage=`.
    pub storage: String,
    /// Whether the log's folder on the disk exists.
    pub has_journal: bool,
    /// Whether there is a hardware watchdog.
    pub watchdog: bool,
    /// Tenths of its life that the disk has used, if it tells (`life_time` of eMMC).
    pub worn: Option<u32>,
    /// The file that has the kernel's command line on this board.
    pub boot: Boot,
    /// Whether the system was booted with systemd (sd_booted(3)).
    pub is_booted_with_systemd: bool,
    /// Whether this is a container.
    pub is_container: bool,
    /// Whether an init script starts the service where there is no systemd.
    pub has_init_script: bool,
    /// systemd's own properties.
    pub manager: Option<Properties>,
    /// Whether and how the clock is set.
    pub time: Option<Properties>,
}

/// Where the kernel's command line is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boot {
    /// A file with just that line, by its path: Raspberry Pi's firmware reads it.
    Line(&'static str),
    /// Armbian's boot script.
    Armbian,
    /// A setting of Debian's tools: its file, its name, and the command that applies it.
    Setting(&'static str, &'static str, &'static str),
    /// Not known.
    #[default]
    Unknown,
}

/// Files that tell how a board is booted, the surest first. Raspberry Pi OS leaves an old cmdline.txt in
/// /boot that nothing reads.
const BOOT: [(&str, Boot); 6] = [
    (
        "boot/firmware/cmdline.txt",
        Boot::Line("/boot/firmware/cmdline.txt"),
    ),
    ("boot/armbianEnv.txt", Boot::Armbian),
    ("boot/cmdline.txt", Boot::Line("/boot/cmdline.txt")),
    (
        "etc/default/u-boot",
        Boot::Setting("/etc/default/u-boot", "U_BOOT_PARAMETERS", "u-boot-update"),
    ),
    (
        "etc/default/flash-kernel",
        Boot::Setting(
            "/etc/default/flash-kernel",
            "LINUX_KERNEL_CMDLINE",
            "flash-kernel",
        ),
    ),
    (
        "etc/default/grub",
        Boot::Setting(
            "/etc/default/grub",
            "GRUB_CMDLINE_LINUX_DEFAULT",
            "update-grub",
        ),
    ),
];

impl Facts {
    /// Reads the files below `root`, and takes the rest from this kernel and its systemd.
    pub fn of_host(root: &Path) -> Self {
        let show = |program: &str, wanted: &str| {
            let text = manager::run(program, &["show", wanted]).ok()?;
            Some(manager::parse(&text))
        };
        Self {
            landlock: sys::landlock::version(),
            manager: show("systemctl", "--property=Version,RuntimeWatchdogUSec"),
            time: show("timedatectl", "--property=NTP,NTPSynchronized"),
            ..Self::read(root)
        }
    }

    /// Whether systemd runs here; it may not answer this account.
    pub fn has_systemd(&self) -> bool {
        self.is_booted_with_systemd || self.manager.is_some()
    }

    /// What the files below `root` say.
    pub fn read(root: &Path) -> Self {
        let tree = Tree(root);
        let kernel = tree.word("proc/sys/kernel/osrelease");
        let is_on = |path: &str| tree.number(path).is_some_and(|value| value != 0);
        let profile = tree.word("proc/self/attr/apparmor/current");
        Self {
            board: Some(tree.word("proc/device-tree/model")).filter(|model| !model.is_empty()),
            system: tree.system(),
            command_line: tree.word("proc/cmdline"),
            options: tree.text(&format!("boot/config-{kernel}")),
            modules: tree.text("sys/kernel/security/lsm"),
            controllers: tree.text("sys/fs/cgroup/cgroup.controllers"),
            has_namespaces: tree.has("proc/sys/user/max_user_namespaces"),
            max_namespaces: tree.number("proc/sys/user/max_user_namespaces"),
            may_clone: tree.number("proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: AppArmor {
                restricts_namespaces: is_on(
                    "proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                ),
                knows_namespaces: tree.has("etc/apparmor.d/abi/4.0"),
                has_profile: tree.has("etc/apparmor.d/peacrab"),
                is_attached: profile.starts_with("peacrab"),
            },
            seccomp: tree.has("proc/sys/kernel/seccomp/actions_avail"),
            memory: tree.word("proc/meminfo"),
            swaps: tree.word("proc/swaps"),
            mounts: tree.word("proc/self/mounts"),
            rtc: tree.has("sys/class/rtc/rtc0"),
            storage: tree.storage(),
            has_journal: tree.has("var/log/journal"),
            watchdog: tree.has("sys/class/watchdog/watchdog0"),
            worn: tree.worn(),
            is_booted_with_systemd: tree.has("run/systemd/system"),
            // Docker, Podman, and what systemd-nspawn and LXC have.
            is_container: [".dockerenv", "run/.containerenv", "run/systemd/container"]
                .iter()
                .any(|path| tree.has(path)),
            has_init_script: tree.has("etc/init.d/peacrab"),
            boot: BOOT
                .iter()
                .find(|(path, _)| tree.has(path))
                .map_or(Boot::Unknown, |(_, boot)| *boot),
            kernel,
            ..Self::default()
        }
    }
}

/// The root folder.
struct Tree<'a>(&'a Path);

impl Tree<'_> {
    fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = sys::file::read_at_most(&self.0.join(path), FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A text without what surrounds it; empty where there is none.
    fn word(&self, path: &str) -> String {
        let text = self.text(path).unwrap_or_default();
        text.trim_matches(|char: char| char == '\0' || char.is_whitespace())
            .to_owned()
    }

    fn number(&self, path: &str) -> Option<u64> {
        self.word(path).parse().ok()
    }

    /// The names in a folder, sorted.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .take(limits::NAMES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// The system's name (os-release(5)). Raspberry Pi OS calls itself Debian there.
    fn system(&self) -> String {
        let release = self.word("etc/os-release");
        let name = release
            .lines()
            .find_map(|line| line.strip_prefix("PRETTY_NAME="))
            .map_or("", |name| name.trim_matches('"'));
        match (self.has("etc/rpi-issue"), self.has("etc/armbian-release")) {
            (true, _) => format!("Raspberry Pi OS ({name})"),
            (_, true) if !name.contains("Armbian") => format!("Armbian ({name})"),
            _ => name.to_owned(),
        }
    }

    /// `Storage=` of journald.conf(5): the last drop-in by name, else the main file. A drop-in in /etc replaces
    /// the one of the same name in /run, and that the one in /usr/lib.
    fn storage(&self) -> String {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for folder in ["usr/lib", "run", "etc"] {
            let folder = format!("{folder}/systemd/journald.conf.d");
            let names = self.names(&folder).into_iter();
            files.extend(
                names
                    .filter(|name| name.ends_with(".conf"))
                    .map(|name| (name.clone(), format!("{folder}/{name}"))),
            );
        }
        let main = "etc/systemd/journald.conf".to_owned();
        let paths = [main].into_iter().chain(files.into_values());
        let mut values = paths.filter_map(|path| {
            let text = self.text(&path)?;
            let value = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("Storage="))
                .next_back()?;
            Some(value.trim().to_owned())
        });
        values.next_back().unwrap_or_else(|| "auto".to_owned())
    }

    /// Tenths of its life that the most worn eMMC has used, from 1 to 11 (JESD84-B51, `DEVICE_LIFE_TIME_EST`).
    /// SD cards do not tell.
    fn worn(&self) -> Option<u32> {
        let devices = self.names("sys/block").into_iter();
        devices
            .filter(|name| name.starts_with("mmcblk"))
            .flat_map(|name| {
                let text = self.word(&format!("sys/block/{name}/device/life_time"));
                let tenths = |word: &str| u32::from_str_radix(word.trim_start_matches("0x"), 16);
                let words = text.split_whitespace();
                words
                    .filter_map(|word| tenths(word).ok())
                    .collect::<Vec<_>>()
            })
            .filter(|tenths| *tenths > 0)
            .max()
    }
}
