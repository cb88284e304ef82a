//! What a skill needs and does not find here.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::manifest::Manifest;

/// Why a skill cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A program that commands do not find.
    Program(String),
    /// Programs of which commands find none.
    AnyProgram(Vec<String>),
    /// An environment variable that commands do not see.
    Variable(String),
    /// It is for other operating systems.
    System(Vec<String>),
    /// It needs programs, and commands are turned off.
    Commands,
    /// Its SKILL.md cannot be read, and why.
    Unreadable(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(name) => write!(f, "needs the program {name}"),
            Self::AnyProgram(names) => write!(f, "needs one of the programs {}", names.join(", ")),
            Self::Variable(name) => write!(
                f,
                "needs the environment variable {name} (set it, and name it in tools.exec.allowedEnvKeys)"
            ),
            Self::System(names) => write!(f, "is for {} only", names.join(", ")),
            Self::Commands => {
                f.write_str("needs commands, which are turned off (tools.exec.enabled)")
            }
            Self::Unreadable(error) => f.write_str(error),
        }
    }
}

/// What a skill needs and does not find, as commands see the system.
pub(super) fn find(
    manifest: &Manifest,
    environment: Option<&[(OsString, OsString)]>,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    if !is_for_linux(&manifest.systems) {
        missing.push(Missing::System(manifest.systems.clone()));
    }
    let Some(environment) = environment else {
        if !manifest.programs.is_empty() || !manifest.any_programs.is_empty() {
            missing.push(Missing::Commands);
        }
        return missing;
    };
    let value = |name: &str| {
        let mut found = environment.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_os_str())
    };
    let path = value("PATH").unwrap_or_default();
    let needed = manifest
        .programs
        .iter()
        .filter(|name| !is_program(name, path));
    missing.extend(needed.cloned().map(Missing::Program));
    let groups = manifest.any_programs.iter();
    let needed = groups.filter(|group| !group.iter().any(|name| is_program(name, path)));
    missing.extend(needed.cloned().map(Missing::AnyProgram));
    let is_set = |name: &str| value(name).is_some_and(|value| !value.is_empty());
    let needed = manifest.variables.iter().filter(|name| !is_set(name));
    missing.extend(needed.cloned().map(Missing::Variable));
    missing
}

fn is_for_linux(systems: &[String]) -> bool {
    let ours = ["linux", "unix", "posix", "all", "any", "*"];
    let is_ours = |name: &String| ours.iter().any(|our| our.eq_ignore_ascii_case(name));
    systems.is_empty() || systems.iter().any(is_ours)
}

/// Whether a program of this name is in one of the folders of PATH.
pub fn is_program(name: &str, path: &OsStr) -> bool {
    let is_executable = |file: &Path| {
        let about = std::fs::metadata(file);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        name.starts_with('/') && is_executable(Path::new(name))
    } else {
        std::env::split_paths(path).any(|folder| is_executable(&folder.join(name)))
    }
}
