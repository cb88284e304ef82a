//! What the kernel offers to the service and to the sandbox for its commands. PURE: facts in, rows out.

use super::super::report::Row;
use super::facts::{Boot, Facts};

/// The rows about the kernel.
pub fn rows(facts: &Facts) -> Vec<Row> {
    let mut rows = vec![namespaces(facts), landlock(facts), seccomp(facts)];
    // What it is about is a setting of systemd's unit.
    if facts.has_systemd() {
        rows.insert(0, memory(facts));
    }
    rows
}

/// How to add a parameter to the kernel's command line on this board.
fn add_parameter(facts: &Facts, parameter: &str) -> String {
    let what = match facts.boot {
        Boot::Line(file) => format!("`sudo sed -i '1s/$/ {parameter}/' {file}`"),
        Boot::Armbian => {
            format!("Add {parameter} to the line extraargs= in /boot/armbianEnv.txt")
        }
        Boot::Setting(file, name, command) => {
            format!("Add {parameter} to {name} in {file}, run `sudo {command}`")
        }
        Boot::Unknown => {
            format!("Add {parameter} to the kernel's command line in the boot loader")
        }
    };
    format!("{what}, and restart with `sudo reboot`")
}

/// How the kernel was built: `None` where that is not known.
fn option(facts: &Facts, name: &str) -> Option<bool> {
    let options = facts.options.as_deref()?;
    Some(
        options
            .lines()
            .any(|line| line.strip_prefix(name).is_some_and(|rest| rest == "=y")),
    )
}

/// The controller that limits memory.
fn memory(facts: &Facts) -> Row {
    const NAME: &str = "memory";
    let without = "so MemoryMax= has no effect, and a command that uses up the memory can take the \
                   gateway with it";
    let Some(controllers) = &facts.controllers else {
        return Row::warning(
            NAME,
            format!(
                "cgroup v2 is not used, {without}. {}",
                add_parameter(facts, "systemd.unified_cgroup_hierarchy=1")
            ),
        );
    };
    if controllers.split_whitespace().any(|one| one == "memory") {
        return Row::ok(NAME, "limited by systemd (MemoryMax=)");
    }
    if option(facts, "CONFIG_MEMCG") == Some(false) {
        return Row::warning(
            NAME,
            format!(
                "the kernel {} was built without CONFIG_MEMCG, {without}",
                facts.kernel
            ),
        );
    }
    // The firmware of a Raspberry Pi puts this before the rest of the line; the last one counts.
    let by = if facts.command_line.contains("cgroup_disable=memory") {
        " (cgroup_disable=memory in /proc/cmdline)"
    } else {
        ""
    };
    Row::warning(
        NAME,
        format!(
            "the kernel's memory controller is off{by}, {without}. {}",
            add_parameter(facts, "cgroup_enable=memory")
        ),
    )
}

/// Why user namespaces cannot be used, and what to do; `None` when they can.
fn no_namespaces(facts: &Facts) -> Option<String> {
    let set = |name: &str, value: &str| {
        format!(
            "{name} is 0. `echo {name}={value} | sudo tee /etc/sysctl.d/90-peacrab.conf && sudo sysctl --system`"
        )
    };
    if !facts.has_namespaces {
        return Some(format!(
            "the kernel {} was built without them (CONFIG_USER_NS)",
            facts.kernel
        ));
    }
    if facts.max_namespaces == Some(0) {
        return Some(set("user.max_user_namespaces", "1024"));
    }
    if facts.may_clone == Some(0) {
        return Some(set("kernel.unprivileged_userns_clone", "1"));
    }
    let apparmor = &facts.apparmor;
    if !apparmor.restricts_namespaces || apparmor.is_attached {
        return None;
    }
    Some(match (apparmor.knows_namespaces, apparmor.has_profile) {
        (_, true) => "AppArmor denies them to this program, although /etc/apparmor.d/peacrab exists. \
                      `sudo apparmor_parser -r /etc/apparmor.d/peacrab` loads it; the path of the program \
                      must be the one in it"
            .to_owned(),
        (true, false) => "AppArmor denies them to programs without a profile. `peacrab service print \
                          --apparmor | sudo tee /etc/apparmor.d/peacrab && sudo apparmor_parser -r \
                          /etc/apparmor.d/peacrab`"
            .to_owned(),
        (false, false) => "AppArmor denies them (kernel.apparmor_restrict_unprivileged_userns), and its \
                           parser is too old for a profile that allows them. Update the package apparmor"
            .to_owned(),
    })
}

/// User namespaces, in which commands are confined.
fn namespaces(facts: &Facts) -> Row {
    const NAME: &str = "namespace";
    match no_namespaces(facts) {
        None => Row::ok(NAME, "user namespaces are available"),
        Some(why) if facts.landlock > 0 => Row::warning(
            NAME,
            format!("no user namespaces, so only Landlock confines commands: {why}"),
        ),
        Some(why) => Row::failed(
            NAME,
            format!("no user namespaces, and no Landlock, so no command can run: {why}"),
        ),
    }
}

/// Landlock, which confines commands as well.
fn landlock(facts: &Facts) -> Row {
    const NAME: &str = "landlock";
    if facts.landlock > 0 {
        return Row::ok(NAME, format!("version {}", facts.landlock));
    }
    let kernel = &facts.kernel;
    let is_built = option(facts, "CONFIG_SECURITY_LANDLOCK");
    let modules = facts.modules.as_deref().map(str::trim);
    let is_active = modules.is_some_and(|list| list.split(',').any(|one| one == "landlock"));
    let why = match (is_built, modules) {
        (Some(false), _) => format!(
            "the kernel {kernel} was built without it (CONFIG_SECURITY_LANDLOCK). Only another kernel has it, \
             such as Debian's own"
        ),
        _ if is_active => "the kernel lists it, but refuses it here (a container?)".to_owned(),
        (Some(true), Some(list)) => {
            format!("it is not active. {}", add_parameter(facts, &lsm(list)))
        }
        _ => format!(
            "the kernel {kernel} does not offer it. If `zgrep CONFIG_SECURITY_LANDLOCK= /proc/config.gz` \
             shows =y, it is built in: {}",
            add_parameter(facts, &lsm(modules.unwrap_or(USUAL_MODULES)))
        ),
    };
    match no_namespaces(facts) {
        None => Row::warning(
            NAME,
            format!("not available, so only namespaces confine commands: {why}"),
        ),
        Some(_) => Row::failed(NAME, format!("not available: {why}")),
    }
}

/// The security modules of Debian's kernels, where those in use are not known. A kernel ignores those that it lacks.
const USUAL_MODULES: &str = "lockdown,yama,integrity,apparmor,bpf";

/// The parameter that adds Landlock to the security modules. The kernel adds `capability` by itself.
fn lsm(modules: &str) -> String {
    let others = modules
        .split(',')
        .filter(|one| !matches!(*one, "" | "capability"));
    let list: Vec<&str> = ["landlock"].into_iter().chain(others).collect();
    format!("lsm={}", list.join(","))
}

/// The filter of system calls, without which no command runs.
fn seccomp(facts: &Facts) -> Row {
    if facts.seccomp {
        Row::ok("seccomp", "available")
    } else {
        Row::failed(
            "seccomp",
            format!(
                "the kernel {} does not filter system calls (CONFIG_SECCOMP_FILTER), so no command can run. \
             Use a newer kernel",
                facts.kernel
            ),
        )
    }
}
