//! Texts of `peacrab import`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::report::Report;
use super::source::Source;
use crate::base::error::Error;
use crate::config::home::quote_for_shell;
use crate::text::{count_of, reveal};

/// The parts of a report, in the order in which they are shown: first who has access and what acts here.
pub const PARTS: [&str; 6] = [CHANNELS, SKILLS, JOBS, SETTINGS, FILES, SESSIONS];
/// A part of the report.
pub const CHANNELS: &str = "Channels and people";
/// A part of the report.
pub const SETTINGS: &str = "Settings";
/// A part of the report.
pub const FILES: &str = "Workspace and memory";
/// A part of the report.
pub const SKILLS: &str = "Skills";
/// A part of the report.
pub const JOBS: &str = "Jobs";
/// A part of the report.
pub const SESSIONS: &str = "Conversations";

/// A setting refers to something.
pub const REFERS: &str = "it refers to a variable or file that is not in that home";
/// A setting is encrypted.
pub const ENCRYPTED: &str = "it is encrypted; set it yourself";
/// A setting has an unfit string.
pub const UNFIT: &str = "it has a newline or another control character, or is too long";
/// A key is that of an example.
pub const EXAMPLE: &str = "an example, not a real value";
/// A value that ours does not have.
pub const OTHER_VALUE: &str = "this value does not exist here";
/// A wildcard.
pub const EVERYONE: &str = "* would give everyone access; add people one by one";
/// An entry that is a pattern.
pub const PATTERN: &str = "it matches more than one person; add people one by one";
/// A group is ours already.
pub const CONFIGURED: &str = "it is configured here already";
/// Variables that no setting here is like.
pub const VARIABLES: &str = "environment variables of that home (.env)";
/// Channels that are off.
pub const OFF: &str = "channels that are off there";
/// A channel is off.
pub const OFF_THERE: &str = "off there";
/// A channel without a token.
pub const NO_TOKEN: &str = "it has no token";
/// A provider without a key.
pub const NO_KEY: &str = "it has no API key of its own";
/// A provider that is unknown.
pub const NO_PROVIDER: &str = "unknown provider without an address";
/// An address that would get a key of ours.
pub const NO_OWN_KEY: &str = "its address has no API key of its own, and would get yours";
/// A model without a provider.
pub const NO_MODEL: &str = "its provider was not taken; set a provider with `peacrab onboard`";
/// A channel that does not exist here.
pub const NO_CHANNEL: &str = "this channel does not exist here";
/// A conversation without a chat.
pub const NO_CHAT: &str = "it does not belong to a chat of a channel that exists here";
/// The workspace is elsewhere.
pub const ELSEWHERE: &str = "it is missing, or outside of that home; name it with --workspace DIR";
/// A skill came with the program.
pub const SHIPPED: &str = "it came with that program";
/// A remark on a skill.
pub const HAS_PROGRAMS: &str = "it has programs, which the agent may run in the sandbox";
/// A skill is too large.
pub const TOO_MANY_FILES: &str = "too many files";
/// Skills beyond the limit.
pub const OTHER_SKILLS: &str = "other skills";
/// Conversations beyond the limit.
pub const OTHER_SESSIONS: &str = "other conversations";
/// A file is unreadable.
pub const UNREADABLE: &str = "it is not a readable list of jobs";
/// Too many jobs.
pub const TOO_MANY_JOBS: &str = "there are too many jobs here";
/// A job of the past.
pub const PAST: &str = "its time has passed";
/// A job for a place that is no chat.
pub const NO_PLACE: &str =
    "its recipient has a newline or another control character, or is too long";
/// A link out of the home, a hard link or a device.
pub const LINK: &str = "a link, a file with a second name, or a device; only plain files are taken";
/// A database.
pub const DATABASE: &str = "a database, which is not read";

/// The folder is this program's own home.
pub const OWN_HOME: &str =
    "This is Peacrab's own home folder. To bring back a backup, use `peacrab restore`.";

/// A kind of setting that is never taken.
pub fn never(name: &str) -> String {
    format!("{name} is never taken from another home; set it yourself")
}

/// How many more there are.
pub fn more(count: usize) -> String {
    format!("at least {count} more than are taken")
}

/// A job that runs a command is off.
pub fn disabled(id: &str) -> String {
    format!("it runs a command, so it is disabled until you run `peacrab cron enable {id}`")
}

/// An MCP server that is a program is off.
pub fn switched_off(path: &str) -> String {
    format!("it starts a program, so it is off until you run `peacrab config set {path} true`")
}

/// A folder that is not a home.
pub fn unknown_home(path: &Path) -> String {
    format!(
        "{} is not a home folder of nanobot, PicoClaw, OpenClaw, Hermes or zeroclaw: it has no config.json, openclaw.json, \
         config.toml or config.yaml of theirs.",
        path.display()
    )
}

/// The settings of a home are unreadable, from this line on.
pub fn unreadable_settings(file: &Path, line: Option<usize>) -> String {
    let what = match line {
        Some(line) => format!("there is a mistake in line {line}, or just above it"),
        None => "it is damaged, or nested too deeply".to_owned(),
    };
    format!(
        "{} cannot be read: {what}. Correct it and import again. Nothing was changed.",
        file.display()
    )
}

/// No folder was named.
pub fn name_one(found: &[(&str, PathBuf)]) -> String {
    if found.is_empty() {
        return "Name the home folder of the other program, such as: peacrab import ~/.nanobot"
            .to_owned();
    }
    let lines = found.iter().map(|(name, path)| {
        let path = quote_for_shell(path);
        format!("\n  peacrab import --dry-run {path}   # {name}")
    });
    format!(
        "Name the home folder. Found here:{}",
        lines.collect::<String>()
    )
}

/// Adds what to do where a home cannot be read.
pub fn explain(error: Error, from: &Path) -> Error {
    match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Error::Failed(format!(
                "{} cannot be read by the account that Peacrab runs as. Copy it to a folder that this account can read, and \
             import it from there.",
                from.display()
            ))
        }
        error => error,
    }
}

/// The gateway is running.
pub fn gateway_runs(home: &Path) -> String {
    format!(
        "The bot is running with {}. Stop it first, such as with: sudo systemctl stop peacrab",
        home.display()
    )
}

/// The first line.
pub fn heading(source: &Source, writes: bool) -> String {
    let (name, path) = (source.program.name(), source.path.display().to_string());
    let path = reveal(&path);
    match writes {
        true => format!("From {name} in {path}:"),
        false => format!("This would become of {name} in {path}:"),
    }
}

/// The last lines.
pub fn outcome(source: &Source, report: &Report, writes: bool) -> String {
    let count = count_of(report.taken(), "thing", "things");
    let name = source.program.name();
    match (writes, report.taken()) {
        (_, 0) => "Nothing new. Nothing was changed.".to_owned(),
        (false, _) => format!("Nothing was written. Without --dry-run, {count} would be taken."),
        (true, _) => {
            let mut text = format!("Took {count}. Nothing was changed in that home.\n");
            if report.has_token() {
                text += &format!(
                    "Stop {name} before you start this bot: two programs with the same token take each other's messages. "
                );
            }
            if report.has_people() {
                text += "People in allowFrom are owners here: see `peacrab channels list`; channels.NAME.roles changes that. ";
            }
            text + "`peacrab doctor` checks the rest."
        }
    }
}

/// The part of the report in which a setting of ours is.
pub fn part_of(path: &str) -> &'static str {
    match path.starts_with("channels.") {
        true => CHANNELS,
        false => SETTINGS,
    }
}

/// A path of theirs as the report shows it.
pub fn plain_path(path: &str) -> String {
    reveal(path).into_owned()
}
