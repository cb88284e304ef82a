//! The text of a unit: pure. The files in scripts/systemd are whole units; the program's path, the
//! user and the home folder are put into them here.

use std::path::Path;

use clap::ValueEnum;

use crate::error::{Error, Result};

/// Whose service it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The system's, which starts with the machine.
    System,
    /// An account's own.
    User,
}

/// How much of systemd's protection stands around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// All that leaves it its work
    #[default]
    Hardened,
    /// None, so that /sh can use sudo
    Terminal,
}

/// The file that makes the user of the hardened service (sysusers.d(5)).
pub const SYSUSERS: &str = include_str!("../../../scripts/systemd/peacrab.sysusers");

/// What differs from the files, as they stand there.
const PROGRAM: &str = "ExecStart=/usr/local/bin/peacrab gateway";
const USER: &str = "User=peacrab";

/// What is put into a unit.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// Whose service it is.
    pub scope: Scope,
    /// How it is protected.
    pub profile: Profile,
    /// The program's absolute path.
    pub program: &'a Path,
    /// Whom the terminal profile of a system's service runs as.
    pub user: &'a str,
    /// `--home` and `--config`, each with its path.
    pub options: Vec<(&'static str, &'a Path)>,
}

impl Unit<'_> {
    /// The whole unit. Fails for a path that systemd cannot be told.
    pub fn text(&self) -> Result<String> {
        let unit = match (self.scope, self.profile) {
            (Scope::System, Profile::Hardened) => {
                include_str!("../../../scripts/systemd/system-hardened.service")
            }
            (Scope::System, Profile::Terminal) => {
                include_str!("../../../scripts/systemd/system-terminal.service")
            }
            (Scope::User, Profile::Hardened) => {
                include_str!("../../../scripts/systemd/user-hardened.service")
            }
            (Scope::User, Profile::Terminal) => {
                include_str!("../../../scripts/systemd/user-terminal.service")
            }
        };
        let mut program = format!("ExecStart={}", quoted(self.program)?);
        for (option, path) in &self.options {
            program.push_str(&format!(" {option} {}", quoted(path)?));
        }
        program.push_str(" gateway");
        let unit = unit.replacen(PROGRAM, &program, 1);
        Ok(match self.profile {
            Profile::Terminal => unit.replacen(USER, &format!("User={}", self.user), 1),
            Profile::Hardened => unit,
        })
    }
}

/// A path as a word of a command line in a unit (systemd.service(5), "Command lines").
fn quoted(path: &Path) -> Result<String> {
    let special = |letter: char| letter.is_control() || "\"'\\$".contains(letter);
    match path.to_str().filter(|path| !path.contains(special)) {
        Some(path) if path.contains(char::is_whitespace) => {
            Ok(format!("\"{}\"", path.replace('%', "%%")))
        }
        Some(path) => Ok(path.replace('%', "%%")),
        None => Err(Error::Usage(format!(
            "{} has letters that a systemd unit cannot hold: use a path of plain letters",
            path.display()
        ))),
    }
}

/// Whether the hardened service of the system cannot see this path: `ProtectHome=`, `PrivateTmp=`.
pub fn is_hidden(path: &Path) -> bool {
    ["/home", "/root", "/run/user", "/tmp", "/var/tmp"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit<'a>(scope: Scope, profile: Profile, program: &'a str) -> Unit<'a> {
        Unit {
            scope,
            profile,
            program: Path::new(program),
            user: "pi",
            options: Vec::new(),
        }
    }

    #[test]
    fn each_unit_starts_the_program_as_the_right_user() {
        for scope in [Scope::System, Scope::User] {
            for profile in [Profile::Hardened, Profile::Terminal] {
                let text = unit(scope, profile, "/opt/peacrab").text().unwrap();
                assert!(
                    text.contains("\nExecStart=/opt/peacrab gateway\n"),
                    "{text}"
                );
                assert!(!text.contains("/usr/local/bin"), "{text}");
                let user = match (scope, profile) {
                    (Scope::System, Profile::Hardened) => Some("User=peacrab"),
                    (Scope::System, Profile::Terminal) => Some("User=pi"),
                    (Scope::User, _) => None,
                };
                let found = text.lines().find(|line| line.starts_with("User="));
                assert_eq!(found, user);
            }
        }
    }

    #[test]
    fn a_path_reaches_the_program_as_it_is() {
        let mut unit = unit(Scope::User, Profile::Hardened, "/opt/100%/pea crab");
        unit.options = vec![("--home", Path::new("/srv/home"))];
        let text = unit.text().unwrap();
        let line = "ExecStart=\"/opt/100%%/pea crab\" --home /srv/home gateway\n";
        assert!(text.contains(line), "{text}");
        for odd in ["/a\nUser=root", "/a\"b", "/a$b", "/a\\b"] {
            unit.program = Path::new(odd);
            assert!(unit.text().is_err(), "{odd}");
        }
    }

    #[test]
    fn only_the_hardened_profiles_forbid_new_privileges() {
        let forbids = |scope, profile| {
            let text = unit(scope, profile, "/p").text().unwrap();
            text.contains("\nNoNewPrivileges=yes\n")
        };
        for scope in [Scope::System, Scope::User] {
            assert!(forbids(scope, Profile::Hardened));
            assert!(!forbids(scope, Profile::Terminal));
        }
    }

    #[test]
    fn what_the_hardened_service_cannot_see_is_known() {
        assert!(is_hidden(Path::new("/home/pi/peacrab")));
        assert!(is_hidden(Path::new("/root/bin/peacrab")));
        assert!(!is_hidden(Path::new("/usr/local/bin/peacrab")));
        assert!(!is_hidden(Path::new("/homestead/peacrab")));
    }
}
