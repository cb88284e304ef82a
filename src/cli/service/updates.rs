//! The units that install an update that was asked for in a chat: a path that is watched, and what is run
//! then, as root for a system service.

use std::path::{Path, PathBuf};

use super::UNIT_BYTES;
use super::unit::{Scope, quoted};
use super::{Plan, texts, unit_path};
use crate::base::error::{Error, Result};
use crate::cli::Context;
use crate::config::Home;
use crate::sys;

/// The unit that is enabled; it starts the other one.
pub const PATH_UNIT: &str = "peacrab-update.path";

const SERVICE_UNIT: &str = "peacrab-update.service";

const PATH: &str = include_str!("../../../scripts/systemd/peacrab-update.path");
const SERVICE: &str = include_str!("../../../scripts/systemd/peacrab-update.service");

/// The lines and words of the files that are replaced.
const HOME: &str = "/var/lib/peacrab";
const COMMAND: &str = "ExecStart=/usr/local/bin/peacrab --home /var/lib/peacrab update";
const FOLDERS: &str = "ReadWritePaths=/usr/local/bin /var/lib/peacrab";
const TARGET: &str = "WantedBy=multi-user.target";

/// Where the part begins that per-user services cannot have.
const SYSTEM_ONLY: &str = "# From here on";

/// The two units with their paths. None for a per-user service whose program the user cannot replace.
pub fn units(context: &Context, plan: &Plan) -> Result<Vec<(PathBuf, String)>> {
    let folder = plan.program.parent().unwrap_or(Path::new("/"));
    let can_replace = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    if plan.scope == Scope::User && !can_replace {
        return Ok(Vec::new());
    }
    let place = unit_path(context, plan.scope)?;
    let home = plan.home.to_str().filter(|home| !home.contains('\n'));
    let home = home.ok_or_else(|| Error::Usage(texts::odd_path(&plan.home)))?;
    let mut path = PATH.replacen(HOME, &home.replace('%', "%%"), 1);
    let command = format!(
        "ExecStart={} --home {} update",
        quoted(&plan.program)?,
        quoted(&plan.home)?
    );
    let folders = format!("ReadWritePaths={} {}", quoted(folder)?, quoted(&plan.home)?);
    let mut service = SERVICE
        .replacen(COMMAND, &command, 1)
        .replacen(FOLDERS, &folders, 1);
    if plan.scope == Scope::User {
        path = path.replacen(TARGET, "WantedBy=default.target", 1);
        service.truncate(service.find(SYSTEM_ONLY).unwrap_or(service.len()));
    }
    Ok(vec![
        (place.with_file_name(PATH_UNIT), path),
        (place.with_file_name(SERVICE_UNIT), service),
    ])
}

/// The paths of the two units of a scope, whether they exist or not.
pub fn paths(context: &Context, scope: Scope) -> Result<[PathBuf; 2]> {
    let place = unit_path(context, scope)?;
    Ok([PATH_UNIT, SERVICE_UNIT].map(|name| place.with_file_name(name)))
}

/// Tells whether systemd waits for a request in this home.
pub fn has_update_unit(context: &Context, home: &Home) -> Box<dyn Fn() -> bool + Send + Sync> {
    let scopes = [Scope::User, Scope::System].into_iter();
    let found = scopes.filter_map(|scope| paths(context, scope).ok());
    let packaged = PathBuf::from("/usr/lib/systemd/system").join(PATH_UNIT);
    let units: Vec<PathBuf> = found.map(|[path, _]| path).chain([packaged]).collect();
    let request = home.update().join("request");
    let line = format!("PathExists={}", request.display()).replace('%', "%%");
    Box::new(move || {
        let mut texts = units
            .iter()
            .filter_map(|unit| sys::file::read_at_most(unit, UNIT_BYTES).ok());
        texts.any(|text| {
            String::from_utf8_lossy(&text)
                .lines()
                .any(|own| own == line)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_replaced_is_in_the_units() {
        assert_eq!(PATH.matches(HOME).count(), 1);
        assert!(PATH.contains(TARGET));
        for part in [COMMAND, FOLDERS, SYSTEM_ONLY] {
            assert_eq!(SERVICE.matches(part).count(), 1, "{part}");
        }
    }
}
