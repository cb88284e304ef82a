//! Why an access fails: one of our rules, or the system.

use std::io;
use std::path::Path;

use crate::error::Error;
use crate::sys::beneath;

/// The rules, told apart by what would allow the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It leads out of the folders, or to something that may have come in from outside.
    Outside,
    /// It is the program's own.
    Hidden,
    /// It may be read only.
    ReadOnly,
    /// It is a FIFO, socket or device.
    Special,
}

/// An access that was refused or failed.
#[derive(Debug)]
pub(super) enum Failure {
    Rule(Rule),
    System(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if beneath::leads_out(&error) {
            Self::Rule(Rule::Outside)
        } else {
            Self::System(error)
        }
    }
}

impl From<Rule> for Failure {
    fn from(rule: Rule) -> Self {
        Self::Rule(rule)
    }
}

impl Failure {
    /// In the model's words. `folders` names the folders that tools may use.
    pub(super) fn explain(self, doing: &'static str, path: &Path, folders: &str) -> Error {
        let rule = match self {
            Self::System(source) => return Error::io(doing, path)(source),
            Self::Rule(rule) => rule,
        };
        let why = match rule {
            Rule::Outside => format!(
                "not in the folders that tools may use ({folders}); '..', links (hard ones too) and \
                 mounts that lead out are refused. tools.allowedPaths in the configuration can add \
                 a folder"
            ),
            Rule::Hidden => "it belongs to the program (configuration, keys, sessions), and no \
                             tool may open it; nothing can allow that"
                .to_owned(),
            Rule::ReadOnly => "it may be read but not changed (tools.readOnlyPaths or \
                               tools.protectedPaths in the configuration)"
                .to_owned(),
            Rule::Special => "it is a FIFO, socket or device; tools open only regular files and \
                              folders"
                .to_owned(),
        };
        let path = path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        Error::Refused { path, why }
    }
}
