//! Texts of `peacrab backup` and `restore`.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

use crate::base::error::Error;
use crate::cli::sessions::size;
use crate::config::Home;
use crate::config::home::quote_for_shell;
use crate::store::backup::{Manifest, Packed, Survey};
use crate::text::{count_of, one_line};

/// Characters of a name in a backup, which anyone may have written.
const NAME_CHARS: usize = 100;

/// A question.
pub const NEW_PASSPHRASE: &str = "Passphrase for the backup (hidden): ";
/// A question.
pub const AGAIN: &str = "The same again: ";
/// A question.
pub const PASSPHRASE: &str = "Passphrase of the backup (hidden): ";
/// The two answers differ.
pub const DIFFERENT: &str = "The two passphrases differ. Type it again.";
/// A remark.
pub const REMEMBER: &str =
    "Keep the passphrase somewhere else than on this board: without it the backup cannot be read.";
/// There is no terminal to ask at.
pub const NO_TERMINAL: &str =
    "There is no terminal to ask for the passphrase. Use --passphrase-file FILE.";
/// Binary output on a terminal.
pub const TO_A_TERMINAL: &str =
    "Standard output is a terminal. Redirect it: peacrab backup - >FILE";
/// Nothing on standard input.
pub const FROM_A_TERMINAL: &str =
    "Standard input is a terminal. Redirect it: peacrab restore - <FILE";
/// It cannot be read twice.
pub const FROM_A_PIPE: &str =
    "A backup is read twice, so it cannot come through a pipe. Use a file: peacrab restore - <FILE";
/// A warning about secrets in the file.
pub const PLAIN: &str = "It contains your API keys and tokens, and everyone who can read it can use them. Use --encrypt or \
                         --without-secrets for a file that leaves this board.";
/// All of it was read.
pub const INTACT: &str = "The backup is intact. Nothing was changed.";
/// The person said no.
pub const UNCHANGED: &str = "Nothing was changed.";
/// No one can be asked.
pub const NEEDS_YES: &str = "Add --yes to restore without being asked, or --check to only look.";

/// What becomes of files that the backup does not have, below its description.
const MOVED: &str = "\nFiles that are only in the present home are not deleted: a restore moves the present home to before-restore.";

/// A warning.
pub fn warning(error: &Error) -> String {
    format!("warning: {error}")
}

/// The new file is there already.
pub fn exists(file: &Path) -> String {
    format!("{} exists already. Choose another name.", file.display())
}

/// There is nothing to save.
pub fn no_home(home: &Path) -> String {
    format!(
        "There is nothing to save: {} does not exist.",
        home.display()
    )
}

/// A backup that the gateway did not make stays where it is, whatever the settings say.
pub fn not_handed_over(file: &Path) -> String {
    format!(
        "backup.send and backup.run are for the backups that the running bot makes by itself. To send this one: \
         peacrab send --file {}",
        quote_for_shell(file)
    )
}

/// The passphrase is too short.
pub fn too_short(least: usize) -> String {
    format!("The passphrase must have at least {least} characters.")
}

/// Adds what to do where the account of the service cannot reach a file.
pub fn explain(error: Error, command: &str) -> Error {
    match error {
        Error::Io { source, path, .. }
            if source.kind() == ErrorKind::PermissionDenied
                && !rustix::process::geteuid().is_root() =>
        {
            let (sign, name) = (if command == "backup" { '>' } else { '<' }, path.display());
            Error::Failed(format!(
                "Cannot open {name} as the account that the home folder belongs to. Have your shell open it:\n  \
                 sudo peacrab {command} - {sign}{name}"
            ))
        }
        error => error,
    }
}

fn files(count: usize) -> String {
    count_of(count, "file", "files")
}

/// A backup was made.
pub fn saved(packed: &Packed, bytes: Option<u64>) -> String {
    let bytes = bytes.map_or_else(String::new, |bytes| {
        format!(" in a file of {}", size(bytes))
    });
    format!(
        "Saved {} ({}){bytes}.",
        files(packed.files),
        size(packed.bytes)
    )
}

/// An automatic backup was made.
pub fn saved_at(packed: &Packed, bytes: u64, path: &Path) -> String {
    format!("{} {}", saved(packed, Some(bytes)), path.display())
}

/// Files could not be read.
pub fn unreadable(packed: &Packed) -> String {
    format!(
        "{} could not be read and are not in the backup: {}",
        files(packed.unreadable),
        packed.unreadable_names.join(", ")
    )
}

/// Lines about things that a new backup does not have.
pub fn notes(packed: &Packed, manifest: &Manifest) -> Vec<String> {
    let mut notes = not_included(manifest);
    if packed.links > 0 {
        let links = count_of(packed.links, "link or socket", "links or sockets");
        notes.push(format!("Left out {links}."));
    }
    notes
}

fn not_included(manifest: &Manifest) -> Vec<String> {
    let shown = |names: &[String]| {
        let names = names.iter().map(|name| one_line(name, NAME_CHARS));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut notes = Vec::new();
    if manifest.is_without_secrets {
        notes.push(match manifest.missing.is_empty() {
            true => "Without secrets; there were none.".to_owned(),
            false => format!(
                "Left out because it is secret: {}",
                shown(&manifest.missing)
            ),
        });
    }
    if !manifest.outside.is_empty() {
        notes.push(format!(
            "Not in the backup, because it is outside the home folder: {}. Copy it yourself.",
            shown(&manifest.outside)
        ));
    }
    notes
}

/// Describes a backup and the changes that it would make.
pub fn describe(survey: &Survey) -> String {
    let Survey { manifest, .. } = survey;
    let mut text = format!(
        "Backup of {} by Peacrab {}: {}, {}.",
        one_line(&manifest.made, NAME_CHARS),
        one_line(&manifest.program, NAME_CHARS),
        files(survey.files),
        size(survey.bytes)
    );
    let widest = survey.changes.keys().map(|name| name.chars().count()).max();
    let width = widest.unwrap_or(0).min(NAME_CHARS);
    for (name, changes) in &survey.changes {
        let counts = [
            (changes.new, "new"),
            (changes.changed, "changed"),
            (changes.same, "unchanged"),
            (changes.aside, "only in the present home"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let name = one_line(name, NAME_CHARS);
        let _ = write!(text, "\n  {name:width$}  {}", counts.join(", "));
    }
    if survey.changes.values().any(|changes| changes.aside > 0) {
        text.push_str(MOVED);
    }
    text
}

/// Lines about things that the backup does not have.
pub fn survey_notes(survey: &Survey) -> Vec<String> {
    not_included(&survey.manifest)
}

/// Asks before anything changes.
pub fn question(home: &Path, is_new: bool) -> String {
    let home = home.display();
    match is_new {
        true => format!("Restore this into the new home folder {home}? [y/N] "),
        false => format!("Put this in the place of what is in {home}? [y/N] "),
    }
}

/// A gateway has the home.
pub fn gateway_runs(home: &Path) -> String {
    format!(
        "The bot is running with {}. Stop it first, such as with: sudo systemctl stop peacrab",
        home.display()
    )
}

/// A backup was restored.
pub fn restored(survey: &Survey, home: &Path, aside: Option<&Path>) -> String {
    let text = format!("Restored {} into {}.", files(survey.files), home.display());
    match aside {
        None => text,
        Some(aside) => format!(
            "{text} What was there is in {}; remove that when you no longer need it.",
            aside.display()
        ),
    }
}

/// The configuration in use is elsewhere.
pub fn other_config(config: &Path, home: &Home) -> String {
    format!(
        "The configuration in use, {}, is outside the home folder and stays as it is. The one of the backup is {}.",
        config.display(),
        home.config_file().display()
    )
}

/// The list of settings and logins to set again; `None` when nothing was left out.
pub fn to_set_again(survey: &Survey, peacrab: &str) -> Option<String> {
    let Manifest { missing, .. } = &survey.manifest;
    if missing.is_empty() {
        return None;
    }
    let mut text = "To be set again:".to_owned();
    for name in missing {
        let name = one_line(name, NAME_CHARS);
        let words: Vec<&str> = name.rsplitn(2, ' ').collect();
        let command = match *words {
            [which, "sign-in with"] => format!("{peacrab} login {which}"),
            [which, "login to the MCP server"] => format!("{peacrab} mcp login {which}"),
            [path] => format!("{peacrab} config set {path} …"),
            _ => name.to_string(),
        };
        let _ = write!(text, "\n  {command}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::backup::Changes;

    #[test]
    fn files_that_a_backup_does_not_have_are_said_to_move() {
        let mut survey = Survey::default();
        let changes = Changes {
            same: 96,
            ..Changes::default()
        };
        survey.changes.insert("workspace".to_owned(), changes);
        assert!(!describe(&survey).contains("before-restore"));
        let changes = Changes {
            aside: 33,
            ..changes
        };
        survey.changes.insert("workspace".to_owned(), changes);
        let text = describe(&survey);
        assert!(
            text.contains("\n  workspace  96 unchanged, 33 only in the present home\n"),
            "{text}"
        );
        assert!(
            text.ends_with("moves the present home to before-restore."),
            "{text}"
        );
    }
}
