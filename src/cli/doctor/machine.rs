//! Checks that need no network: configuration, clock, disk, service, sandbox.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::StatVfsMountFlags;

use super::report::Row;
use super::sandbox::describe;
use crate::base::clock::{Clock, Reason, Trust};
use crate::base::error::Result;
use crate::base::secret::mask_address;
use crate::cli::Context;
use crate::cli::compose::{check_agents, check_workspace, exec_of, models_of};
use crate::cli::config::check::missing_backup_folder;
use crate::cli::config::installation;
use crate::cli::gateway::damaged_files;
use crate::cli::service::manager::{self, NotDone, Properties};
use crate::cli::service::{self, Scope, account_name, is_running, no_linger};
use crate::cli::sessions::size;
use crate::config::check::weaknesses;
use crate::config::schema::SandboxChoice;
use crate::config::{Home, Loaded};
use crate::store::state::KnownTime;
use crate::sys::{file, random};
use crate::update::key::PublicKey;

/// Free bytes of the disk below which a journal may soon not be written.
const FREE_BYTES: u64 = 16 * 1024 * 1024;
/// Free bytes below which it is time to tidy up: some weeks of conversations with files.
const FREE_BYTES_COMFORTABLE: u64 = 256 * 1024 * 1024;

/// The configuration, which could be loaded.
pub fn config(context: &Context, loaded: &Loaded) -> Result<Row> {
    let path = context.config_file()?;
    let shown = path.display();
    if !path.exists() {
        return Ok(Row::warning(
            "config",
            format!(
                "{shown} does not exist yet, so the defaults apply. Create it with `peacrab onboard`"
            ),
        ));
    }
    let open = loaded
        .secret_files
        .iter()
        .filter_map(|file| warn_if_readable(file));
    let mut at = installation(context)?;
    // It is usually root who examines a service that runs as another account.
    at.is_root = false;
    let weak = weaknesses(&loaded.config, &at);
    let warnings: Vec<String> = loaded
        .ignored
        .iter()
        .chain(&loaded.warnings)
        .cloned()
        .chain(open)
        .chain(weak)
        .chain(missing_backup_folder(&context.home()?, &loaded.config))
        .collect();
    Ok(if warnings.is_empty() {
        Row::ok("config", shown.to_string())
    } else {
        Row::warning("config", warnings.join("; "))
    })
}

/// A warning about a file with a key that others can read.
fn warn_if_readable(path: &Path) -> Option<String> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let path = path.display();
    (mode & 0o077 != 0).then(|| {
        format!("other users can read {path}, which contains a key. Run `chmod 600 {path}`")
    })
}

/// The wall clock.
pub fn clock(home: &Home) -> Row {
    let clock = Clock::System;
    let now = clock.now().format("%Y-%m-%d %H:%M");
    let zone = clock.zone_name();
    const HOW: &str =
        "Set it from the network with `timedatectl set-ntp true`, or by hand with `date -s`";
    match KnownTime::new(&home.state()).trust(&clock) {
        Trust::Trusted => Row::ok("clock", format!("{now}, {zone}")),
        Trust::Unconfirmed => Row::ok(
            "clock",
            format!("{now}, {zone} (no time service confirms it)"),
        ),
        Trust::NotYet(Reason::BeforeBuild) => Row::failed(
            "clock",
            format!(
                "the clock says {now}, which is in the past, so certificates cannot be checked. {HOW}"
            ),
        ),
        Trust::NotYet(reason) => Row::warning(
            "clock",
            format!(
                "{now}, {zone}: the clock {reason}. Scheduled jobs and the heartbeat wait. {HOW}"
            ),
        ),
    }
}

/// The disk that the home folder is on, or will be.
pub fn disk(home: &Home) -> Row {
    let home = home.path();
    let Some(place) = home.ancestors().find(|place| place.exists()) else {
        return Row::failed("disk", format!("cannot access {}", home.display()));
    };
    let found = match rustix::fs::statvfs(place) {
        Ok(found) => found,
        Err(error) => return Row::failed("disk", format!("{}: {error}", place.display())),
    };
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Row::failed(
            "disk",
            format!(
                "{} is on a disk that is mounted read-only. SD cards often are after an error: look at \
                 `dmesg`, and check the disk with fsck",
                place.display()
            ),
        );
    }
    if let Err(error) = try_to_write(place) {
        return Row::failed("disk", error.to_string());
    }
    space(place, found.f_bavail.saturating_mul(found.f_frsize))
}

/// Writes a small file and deletes it again.
fn try_to_write(folder: &Path) -> Result<()> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    file::write_atomic(&path, b"written by peacrab doctor\n", 0o600)?;
    // The file was written, which is what the check is about.
    let _ = std::fs::remove_file(path);
    Ok(())
}

fn space(place: &Path, free: u64) -> Row {
    let text = format!("{} is writable, {} free", place.display(), size(free));
    let tidy = "`du -h --max-depth=2` shows what takes the space";
    if free < FREE_BYTES {
        Row::failed(
            "disk",
            format!("{text}, which is too little for a conversation. {tidy}"),
        )
    } else if free < FREE_BYTES_COMFORTABLE {
        Row::warning("disk", format!("{text}. {tidy}"))
    } else {
        Row::ok("disk", text)
    }
}

/// The files that say who is paired and what is always allowed; nothing when they are as they should be.
pub fn state_files(home: &Home) -> Option<Row> {
    let errors = damaged_files(&home.state());
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| Row::failed("state", texts.join("; ")))
}

/// The systemd service.
pub fn service(context: &Context) -> Row {
    let Some((scope, unit)) = service::installed(context) else {
        if let Some(script) = service::init_script() {
            return Row::ok(
                "service",
                format!("installed; `{script} status` shows whether it is running"),
            );
        }
        return Row::warning(
            "service",
            "not installed. To keep the gateway running, use `peacrab service install`",
        );
    };
    let account = account_name(context);
    let ends = scope == Scope::User && !manager::lingers(account);
    let ends = ends.then(|| no_linger(context));
    state(&unit, scope, manager::properties(scope), ends)
}

/// Whether updates can be verified; `None` when they come from nowhere. The server is not asked.
pub fn updates(loaded: &Loaded) -> Option<Row> {
    let url = mask_address(&loaded.config.update.url);
    let row = || match PublicKey::built_in() {
        Ok(_) => Row::ok("updates", format!("from {url}, when you ask for one")),
        Err(error) => Row::warning("updates", format!("update.url is set, but: {error}")),
    };
    (!url.is_empty()).then(row)
}

fn state(
    unit: &Path,
    scope: Scope,
    known: Result<Properties, NotDone>,
    ends: Option<String>,
) -> Row {
    let own = match scope {
        Scope::System => "",
        Scope::User => "--user ",
    };
    let unit = unit.display();
    match (known, ends) {
        (Err(not_done), _) => Row::warning(
            "service",
            format!(
                "{unit} is installed, but systemd does not report its state: {}",
                not_done.why
            ),
        ),
        (Ok(known), _) if !is_running(&known) => Row::failed(
            "service",
            format!(
                "{unit} is installed, but not running. Start it with `systemctl {own}restart peacrab`; \
                 `journalctl {own}-u peacrab` shows why it stopped"
            ),
        ),
        (Ok(_), Some(ends)) => Row::warning("service", format!("running, but {ends}")),
        (Ok(_), None) => Row::ok("service", format!("running ({unit})")),
    }
}

/// The workspace and the model of each agent; `None` where `main` is the only one.
pub fn agents(context: &Context, loaded: &Loaded) -> Result<Option<Row>> {
    let agents = &loaded.config.agents;
    if !agents.are_several() {
        return Ok(None);
    }
    let home = context.home()?;
    let mut problems: Vec<String> = Vec::new();
    if let Err(error) = check_agents(&home, loaded) {
        problems.push(error.to_string());
    }
    let profiles = agents.profiles();
    for profile in &profiles {
        let workspace = home.workspace(&profile.settings.workspace);
        let its = loaded.of_agent(Some(&profile.id))?;
        // A missing one is created when it is needed.
        let folder = if workspace.exists() {
            check_workspace(context, &its, &workspace).map(drop)
        } else {
            Ok(())
        };
        // That of the default agent has rows of its own.
        let model = if profile.id == agents.default_id() {
            Ok(())
        } else {
            models_of(context, &its).map(drop)
        };
        for error in [folder, model].into_iter().filter_map(Result::err) {
            problems.push(format!("{}: {error}", profile.id));
        }
    }
    let names: Vec<&str> = profiles.iter().map(|profile| &*profile.id).collect();
    Ok(Some(if problems.is_empty() {
        Row::ok("agents", names.join(", "))
    } else {
        Row::failed("agents", problems.join("; "))
    }))
}

/// The sandbox for commands, with a live escape test.
pub fn sandbox(context: &Context, loaded: &Loaded) -> Result<Row> {
    let exec = &loaded.config.tools.exec;
    let home = context.home()?;
    if !exec.enabled {
        return Ok(Row::ok(
            "sandbox",
            "not needed: commands are turned off (tools.exec.enabled)",
        ));
    }
    if exec.sandbox == SandboxChoice::Off {
        return Ok(Row::warning(
            "sandbox",
            "off, so commands have all rights of this account. Set tools.exec.sandbox to auto",
        ));
    }
    let workspace = home.workspace(&loaded.config.agents.defaults.workspace);
    let tried = if workspace.exists() {
        try_sandbox(context, &home, loaded)
    } else {
        // Created here, it could belong to root, who examines the home of a service.
        try_elsewhere(context, loaded)
    };
    Ok(tried.unwrap_or_else(|error| Row::failed("sandbox", error.to_string())))
}

/// Tests the sandbox in a home of its own, which is deleted then.
fn try_elsewhere(context: &Context, loaded: &Loaded) -> Result<Row> {
    let number = u64::from_ne_bytes(random::bytes()?);
    let folder = std::env::temp_dir().join(format!("peacrab-doctor-{number:016x}"));
    let tried = try_at(context, &folder.join("home"), loaded);
    if let Err(error) = std::fs::remove_dir_all(&folder) {
        tracing::warn!("failed to delete {}: {error}", folder.display());
    }
    tried
}

fn try_at(context: &Context, home: &Path, loaded: &Loaded) -> Result<Row> {
    let workspace = home.join("workspace");
    file::private_folder(&workspace)?;
    let mut loaded = loaded.clone();
    loaded.config.agents.defaults.workspace = workspace.to_string_lossy().into_owned();
    let home = Home::find(Some(home), |_| None)?;
    try_sandbox(context, &home, &loaded)
}

/// The account, where it is root: what is found is what root finds.
pub fn account(context: &Context) -> Result<Option<Row>> {
    let is_root = rustix::process::geteuid().is_root();
    let home = context.home()?;
    let text = format!(
        "root, with the home folder {}. Commands that you allow outside the sandbox have all rights. \
         A service that runs as another account has its own home folder",
        home.path().display()
    );
    Ok(is_root.then(|| Row::ok("account", text)))
}

fn try_sandbox(context: &Context, home: &Home, loaded: &Loaded) -> Result<Row> {
    let exec = exec_of(context, home, loaded)?;
    let isolation = exec.isolation()?;
    let rows = exec.self_test(home.path())?;
    let out: Vec<&str> = rows
        .iter()
        .filter(|row| !row.held)
        .map(|row| row.attempt.as_str())
        .collect();
    Ok(if out.is_empty() {
        Row::ok(
            "sandbox",
            format!(
                "{} escape attempts, all blocked ({})",
                rows.len(),
                describe(isolation)
            ),
        )
    } else {
        Row::failed(
            "sandbox",
            format!(
                "a command was able to {}. See `peacrab doctor sandbox`, and set tools.exec.enabled to \
             false until this is fixed",
                out.join(", ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::report::State;
    use super::*;

    #[test]
    fn a_disk_is_judged_by_what_is_free() {
        let place = Path::new("/home");
        assert_eq!(space(place, 1 << 40).state, State::Ok);
        assert_eq!(space(place, 100 << 20).state, State::Warning);
        let full = space(place, 1 << 20);
        assert_eq!(full.state, State::Failed);
        assert!(
            full.text.starts_with("/home is writable, 1.0 MB free"),
            "{}",
            full.text
        );
    }

    #[test]
    fn a_home_that_is_not_there_yet_is_looked_for_above() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::find(Some(&folder.path().join("a/b")), |_| None).unwrap();
        let row = disk(&home);
        assert_ne!(row.state, State::Failed, "{row:?}");
        assert!(row.text.contains(&folder.path().display().to_string()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_service_is_judged_by_what_systemd_says() {
        let unit = Path::new("/u/peacrab.service");
        let known = |state: &str| Ok([("ActiveState".to_owned(), state.to_owned())].into());
        let unknown = Err(NotDone {
            command: "systemctl show".to_owned(),
            why: "no bus".to_owned(),
        });
        let ends = || Some("it ends".to_owned());
        for (known, ends, expected, word) in [
            (known("active"), None, State::Ok, "running ("),
            (known("active"), ends(), State::Warning, "it ends"),
            (
                known("failed"),
                ends(),
                State::Failed,
                "journalctl --user -u peacrab",
            ),
            (unknown, None, State::Warning, "no bus"),
        ] {
            let row = state(unit, Scope::User, known, ends);
            assert_eq!(row.state, expected, "{row:?}");
            assert!(row.text.contains(word), "{row:?}");
        }
    }
}
