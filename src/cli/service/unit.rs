//! The text of a unit. Pure. The files in scripts/systemd are complete units; this inserts the program's
//! path, the user and the home folder, and finds the home folder in an installed unit.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::texts;
use crate::base::error::{Error, Result};

/// Whose service it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A system service, which starts at boot.
    System,
    /// A per-user service.
    User,
}

/// How strictly systemd confines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// As strict as possible
    #[default]
    Hardened,
    /// Not confined, so /sh can use sudo
    Terminal,
}

/// The file that creates the user of the hardened service (sysusers.d(5)).
pub const SYSUSERS: &str = include_str!("../../../scripts/systemd/peacrab.sysusers");

/// The lines of the files that are replaced.
const PROGRAM: &str = "ExecStart=/usr/local/bin/peacrab gateway";
const USER: &str = "User=peacrab";

/// What is inserted into a unit.
#[derive(Clone, Debug)]
pub struct Unit<'a> {
    /// Whose service it is.
    pub scope: Scope,
    /// How it is confined.
    pub profile: Profile,
    /// The program's absolute path.
    pub program: &'a Path,
    /// The user that a system service with the terminal profile runs as.
    pub user: &'a str,
    /// `--home` and `--config`, each with its path.
    pub options: Vec<(&'static str, &'a Path)>,
}

impl Unit<'_> {
    /// The whole unit. Fails for a path that cannot be in a unit.
    pub fn text(&self) -> Result<String> {
        let unit = template(self.scope, self.profile);
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

/// The unit before anything is inserted.
fn template(scope: Scope, profile: Profile) -> &'static str {
    match (scope, profile) {
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
    }
}

/// Whether the unit has all settings of one that [`Unit::text`] writes, and no others. What is inserted, and
/// comments, do not count.
pub fn is_current(scope: Scope, unit: &str) -> bool {
    let settings = |text: &str| -> Vec<String> {
        let is_setting =
            |line: &&str| !line.is_empty() && !line.starts_with(['#', ';']) && !is_inserted(line);
        text.lines().filter(is_setting).map(str::to_owned).collect()
    };
    let found = settings(unit);
    [Profile::Hardened, Profile::Terminal]
        .iter()
        .any(|profile| settings(template(scope, *profile)) == found)
}

/// Whether [`Unit::text`] inserts something into that line.
fn is_inserted(line: &str) -> bool {
    line.starts_with("ExecStart=") || line.starts_with("User=")
}

/// A path as a word of a command line in a unit (systemd.service(5), "Command lines").
pub fn quoted(path: &Path) -> Result<String> {
    let special = |char: char| char.is_control() || "\"'\\$".contains(char);
    match path.to_str().filter(|path| !path.contains(special)) {
        Some(path) if path.contains(char::is_whitespace) => {
            Ok(format!("\"{}\"", path.replace('%', "%%")))
        }
        Some(path) => Ok(path.replace('%', "%%")),
        None => Err(Error::Usage(texts::odd_path(path))),
    }
}

/// What an installed unit says about the home folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitHome {
    /// The path of `--home`.
    pub home: Option<PathBuf>,
    /// The path of `--config`.
    pub config: Option<PathBuf>,
    /// The program of `ExecStart=`.
    pub program: Option<PathBuf>,
    /// `User=`
    pub user: Option<String>,
    /// Whether systemd confines it (`NoNewPrivileges=yes`).
    pub is_hardened: bool,
    /// Whether systemd provides the home folder (`StateDirectory=peacrab`).
    pub has_state_directory: bool,
}

impl UnitHome {
    /// Reads a unit that `Unit::text` has written. Anything else is left out.
    pub fn read(unit: &str) -> Self {
        let mut found = Self::default();
        for line in unit.lines() {
            if let Some(command) = line.strip_prefix("ExecStart=") {
                let words = split_command(command);
                let option = |name: &str| {
                    let at = words.iter().position(|word| word == name)?;
                    words.get(at + 1).map(PathBuf::from)
                };
                found.program = words.first().map(PathBuf::from);
                found.home = option("--home");
                found.config = option("--config");
            } else if let Some(user) = line.strip_prefix("User=") {
                found.user = Some(user.to_owned());
            } else if line == "NoNewPrivileges=yes" {
                found.is_hardened = true;
            } else if line == "StateDirectory=peacrab" {
                found.has_state_directory = true;
            }
        }
        found
    }
}

/// The words of a command line, as [`quoted`] writes them.
fn split_command(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for char in command.replace("%%", "%").chars() {
        match char {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            char => words
                .last_mut()
                .into_iter()
                .for_each(|word| word.push(char)),
        }
    }
    words
}

/// Whether the hardened system service cannot see this path: `ProtectHome=`, `PrivateTmp=`.
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
    fn a_path_reaches_the_program_unchanged_and_is_read_back() {
        let mut unit = unit(Scope::User, Profile::Hardened, "/opt/100%/pea crab");
        unit.options = vec![("--home", Path::new("/srv/home"))];
        let text = unit.text().unwrap();
        let line = "ExecStart=\"/opt/100%%/pea crab\" --home /srv/home gateway\n";
        assert!(text.contains(line), "{text}");
        unit.options = vec![
            ("--home", Path::new("/srv/100% mine")),
            ("--config", Path::new("/etc/peacrab.json")),
        ];
        let read = UnitHome::read(&unit.text().unwrap());
        assert_eq!(read.home.as_deref(), Some(Path::new("/srv/100% mine")));
        assert_eq!(read.config.as_deref(), Some(Path::new("/etc/peacrab.json")));
        unit.options.clear();
        (unit.scope, unit.program) = (Scope::System, Path::new("/opt/peacrab"));
        let read = UnitHome::read(&unit.text().unwrap());
        assert!(read.has_state_directory && read.home.is_none());
        unit.profile = Profile::Terminal;
        let read = UnitHome::read(&unit.text().unwrap());
        assert_eq!(
            (read.user.as_deref(), read.has_state_directory),
            (Some("pi"), false)
        );
        for odd in ["/a\nUser=root", "/a\"b", "/a$b", "/a\\b"] {
            unit.program = Path::new(odd);
            assert!(unit.text().is_err(), "{odd}");
        }
    }

    #[test]
    fn a_unit_of_another_version_is_recognised() {
        for scope in [Scope::System, Scope::User] {
            for profile in [Profile::Hardened, Profile::Terminal] {
                let mut unit = unit(scope, profile, "/opt/peacrab");
                unit.options = vec![("--home", Path::new("/srv/home"))];
                let text = unit.text().unwrap();
                assert!(is_current(scope, &text) && is_current(scope, &format!("# mine\n{text}")));
                assert!(!is_current(
                    scope,
                    &text.replace("WatchdogSec=60", "WatchdogSec=9")
                ));
                assert!(!is_current(scope, &format!("{text}PrivateUsers=yes\n")));
                let read = UnitHome::read(&text);
                assert_eq!(read.program.as_deref(), Some(Path::new("/opt/peacrab")));
                assert_eq!(read.is_hardened, profile == Profile::Hardened);
            }
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
    fn the_hardened_service_cannot_see_homes() {
        assert!(is_hidden(Path::new("/home/pi/peacrab")));
        assert!(is_hidden(Path::new("/root/bin/peacrab")));
        assert!(!is_hidden(Path::new("/usr/local/bin/peacrab")));
        assert!(!is_hidden(Path::new("/homestead/peacrab")));
    }
}
