//! The AppArmor profile that lets this program create user namespaces (apparmor.d(5), `userns`).

use std::path::Path;

use super::unit::Scope;
use super::{is_roots, manager, texts};
use crate::base::error::{Error, Result};
use crate::cli::terminal::print;

/// The profile for a program in one of the usual places.
const PROFILE: &str = include_str!("../../../scripts/systemd/apparmor/peacrab");

/// The programs that the profile is for.
const PROGRAMS: &str = "/usr/{local/,}bin/peacrab";

/// The profile's place.
pub const FILE: &str = "/etc/apparmor.d/peacrab";

/// The ending of the profile that was there before. AppArmor loads each file in that folder, except those with
/// some endings of which this is one (`ignored_suffixes` of libapparmor).
pub const KEPT_ENDING: &str = ".orig";

/// Rules for user namespaces need it; without it, the parser rejects the profile (AppArmor before 4.0).
const ABI: &str = "/etc/apparmor.d/abi/4.0";

/// The profile for this program. Fails for a path that cannot be in a profile.
pub fn profile(program: &Path) -> Result<String> {
    let is_usual = ["/usr/bin/peacrab", "/usr/local/bin/peacrab"].map(Path::new);
    if is_usual.contains(&program) {
        return Ok(PROFILE.to_owned());
    }
    // These mean something in a profile.
    let special = |char: char| char.is_control() || "\"\\,*?[]{}^@#".contains(char);
    match program.to_str().filter(|path| !path.contains(special)) {
        Some(path) => Ok(PROFILE.replacen(PROGRAMS, &format!("\"{path}\""), 1)),
        None => Err(Error::Usage(texts::odd_profile_path(program))),
    }
}

/// Installs the profile for a system service, and loads it, where AppArmor knows user namespaces. A profile for
/// a program that others can replace would give user namespaces to anyone.
pub fn install(
    scope: Scope,
    program: &Path,
    write: impl Fn(&Path, &str) -> Result<()>,
) -> Result<()> {
    if scope == Scope::User || !Path::new(ABI).exists() || !is_roots(program) {
        return Ok(());
    }
    write(Path::new(FILE), &profile(program)?)?;
    load("-r", texts::no_profile)
}

/// Removes the profile.
pub fn uninstall(scope: Scope) -> Result<()> {
    if scope == Scope::User || !Path::new(FILE).exists() {
        return Ok(());
    }
    load("-R", texts::no_profile)?;
    std::fs::remove_file(FILE).map_err(Error::io("remove", FILE))?;
    print::line(&texts::removed(Path::new(FILE)))
}

/// Has the kernel take or drop the profile. A failure is only a note: AppArmor may be off.
fn load(option: &str, note: fn(&str, &str) -> String) -> Result<()> {
    match manager::run("apparmor_parser", &[option, FILE]) {
        Ok(_) => print::line(&texts::ran(&format!("apparmor_parser {option} {FILE}"))),
        Err(not_done) => print::line(&note(&not_done.command, &not_done.why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_for_the_path_of_the_program() {
        let line = |program: &str| {
            let text = profile(Path::new(program)).unwrap();
            let line = text.lines().find(|line| line.starts_with("profile "));
            line.unwrap().to_owned()
        };
        let usual = "profile peacrab /usr/{local/,}bin/peacrab flags=(unconfined) {";
        assert_eq!(line("/usr/bin/peacrab"), usual);
        assert_eq!(line("/usr/local/bin/peacrab"), usual);
        let other = "profile peacrab \"/opt/pea crab\" flags=(unconfined) {";
        assert_eq!(line("/opt/pea crab"), other);
        for odd in ["/opt/*", "/opt/a\"b", "/opt/{a,b}", "/opt/@{HOME}"] {
            assert!(profile(Path::new(odd)).is_err(), "{odd}");
        }
    }
}
