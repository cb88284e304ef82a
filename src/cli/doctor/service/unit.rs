//! The installed service: its state, its unit, its program, its keys.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::machine;
use super::super::report::Row;
use crate::cli::Context;
use crate::cli::service::{self, Scope, UnitHome};

/// Where systemd looks for keys that only root can read (systemd.exec(5), `LoadCredential=`).
const KEYS: &str = "/etc/credstore";

/// The rows about the installed service.
pub fn rows(context: &Context) -> Vec<Row> {
    let mut rows = vec![machine::service(context)];
    if let Some((scope, path)) = service::installed(context) {
        match service::read_unit(&path) {
            Ok(text) => {
                rows.push(unit(scope, &path, &text));
                rows.extend(program(scope, &UnitHome::read(&text)));
            }
            Err(error) => rows.push(Row::failed("unit", error.to_string())),
        }
        rows.extend(keys(Path::new(KEYS)));
    }
    rows
}

/// Whether the unit is the one that this version would write.
fn unit(scope: Scope, path: &Path, text: &str) -> Row {
    const NAME: &str = "unit";
    let shown = path.display();
    let packaged = service::packaged_unit(scope);
    // `systemctl edit` writes them there for the unit of a package too.
    let own_changes = match packaged {
        Some(_) => Path::new("/etc/systemd/system/peacrab.service.d").to_owned(),
        None => service::with_ending(path, ".d"),
    };
    let changes = if own_changes.is_dir() {
        format!(", with your changes in {}", own_changes.display())
    } else {
        String::new()
    };
    if let Some(packaged) = packaged.as_ref().filter(|packaged| *packaged != path) {
        return Row::warning(
            NAME,
            format!(
                "{shown} overrides {} of the package. To use the package's: `sudo rm {shown} && sudo systemctl \
                 daemon-reload && sudo systemctl restart peacrab`",
                packaged.display()
            ),
        );
    }
    if service::is_current(scope, text) {
        Row::ok(NAME, format!("{shown}, as this version writes it{changes}"))
    } else {
        Row::warning(
            NAME,
            format!(
                "{shown} was written by another version, or changed. {}. Make your own changes with `{} edit \
             peacrab`",
                match (scope, packaged) {
                    (Scope::System, Some(_)) =>
                        "`sudo apt install --reinstall peacrab` writes it again",
                    (Scope::System, None) =>
                        "`sudo peacrab service install` writes it again and keeps the old one",
                    (Scope::User, _) =>
                        "`peacrab service install --user` writes it again and keeps the old one",
                },
                match scope {
                    Scope::System => "sudo systemctl",
                    Scope::User => "systemctl --user",
                },
            ),
        )
    }
}

/// Whether the service can start its program, and only root can replace it.
fn program(scope: Scope, unit: &UnitHome) -> Option<Row> {
    const NAME: &str = "program";
    let program = unit.program.as_deref()?;
    let shown = program.display();
    Some(if !program.exists() {
        Row::failed(
            NAME,
            format!("{shown} does not exist, so the service cannot start"),
        )
    } else if scope == Scope::System && unit.is_hardened && service::is_hidden(program) {
        Row::failed(
            NAME,
            format!(
                "the hardened service cannot see {shown}. `sudo install {shown} /usr/local/bin/peacrab && \
                 sudo /usr/local/bin/peacrab service install`"
            ),
        )
    } else if scope == Scope::System && !service::is_roots(program) {
        Row::warning(
            NAME,
            format!(
                "users other than root can replace {shown}, and with it what the service does. \
                 `sudo chown root: {shown} && sudo chmod 755 {shown}`, and the same for its folder"
            ),
        )
    } else {
        Row::ok(NAME, shown.to_string())
    })
}

/// Keys in files that others than root can read; nothing when there are none, or when this account cannot see.
/// Debian's folder is closed to other users, whatever the modes of the files in it.
fn keys(folder: &Path) -> Option<Row> {
    if std::fs::metadata(folder).ok()?.permissions().mode() & 0o011 == 0 {
        return None;
    }
    let entries = std::fs::read_dir(folder).ok()?;
    let open: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("peacrab."))
        .filter(|entry| {
            let mode = entry
                .metadata()
                .map_or(0, |found| found.permissions().mode());
            mode & 0o077 != 0
        })
        .map(|entry| entry.path().display().to_string())
        .collect();
    (!open.is_empty()).then(|| {
        Row::warning(
            "keys",
            format!(
                "other users can read keys. `sudo chmod 600 {}`",
                open.join(" ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::report::State;
    use super::*;

    #[test]
    fn keys_that_others_can_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("peacrab.model");
        std::fs::write(&file, "k").unwrap();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        set(folder.path(), 0o755);
        set(&file, 0o600);
        assert_eq!(keys(folder.path()), None);
        set(&file, 0o640);
        let row = keys(folder.path()).unwrap();
        assert!(row.text.ends_with("/peacrab.model`"), "{row:?}");
        set(folder.path(), 0o700);
        assert_eq!(keys(folder.path()), None);
        assert_eq!(keys(Path::new("/no such folder")), None);
    }

    #[test]
    fn a_program_that_is_missing_or_hidden_cannot_start() {
        let unit = |program: &str| UnitHome {
            program: Some(program.into()),
            is_hardened: true,
            ..UnitHome::default()
        };
        let state = |scope, path| program(scope, &unit(path)).unwrap().state;
        assert_eq!(state(Scope::System, "/usr/bin/env"), State::Ok);
        assert_eq!(state(Scope::System, "/no/such/program"), State::Failed);
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let file = folder.path().join("peacrab");
        std::fs::write(&file, "").unwrap();
        let path = file.to_str().unwrap();
        assert_eq!(state(Scope::System, path), State::Failed);
        assert_eq!(state(Scope::User, path), State::Ok);
    }
}
