//! What a confined command sees of the system beside its own folders: programs, and what programs
//! need to know to run. Nothing of it can be written, and no key and no person's file is in it.

/// Folders of programs. A link among them (`/bin` to `usr/bin`) stays a link.
pub const PROGRAMS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
];

/// What of /etc is seen: names of users and hosts, certificates, zones, the loader's and the
/// languages' settings. Not there: shadow, keys, passwords of services.
pub const SETTINGS: [&str; 56] = [
    "adduser.conf",
    "alternatives",
    "apk",
    "apt/sources.list",
    "apt/sources.list.d",
    "bash.bashrc",
    "bash_completion",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "dpkg",
    "ethertypes",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "issue",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld-musl-aarch64.path",
    "ld-musl-armhf.path",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "netconfig",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.11",
    "python3.13",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
];

/// What is known of the hardware; where settings of the kernel could be written stays away.
pub const HARDWARE: [&str; 6] = [
    "/sys/block",
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/firmware/devicetree",
];

/// What package managers know, so that `dpkg -l` and its like answer.
pub const PACKAGES: [&str; 3] = ["/var/lib/dpkg", "/lib/apk/db", "/var/lib/apt/lists"];

/// The devices that every program may use.
pub const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// The links of /dev that lead to a process's own descriptors.
pub const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
