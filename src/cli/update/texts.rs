//! What `peacrab update` says.

use std::fmt::Display;
use std::path::Path;

use crate::update::Version;

/// No source is set.
pub const NO_SOURCE: &str = "Where should the update come from? Name a release folder or URL with --from, or set it once:\n  \
     peacrab config set update.url URL";

pub fn available(version: Version, own: Version, command: &str) -> String {
    format!("{version} is available (you have {own}). Install it with: {command}")
}

pub fn newest(own: Version) -> String {
    format!("{own} is the newest version.")
}

pub fn is_older(version: Version, own: Version) -> String {
    format!(
        "{version} is not newer than {own}, which you have. To install it anyway, add --allow-older."
    )
}

/// What is in the folder `update` of the home.
pub fn not_newer(version: Version, own: Version) -> String {
    format!("{version} is not newer than {own}.")
}

/// The program belongs to a package; `command` updates that.
pub fn packaged(program: &Path, package: &str, command: &str) -> String {
    format!(
        "{} belongs to the package {package}. Update the package instead:\n  {command}",
        program.display()
    )
}

pub fn downloading(version: Version, bytes: u64) -> String {
    format!(
        "\rFetching {version}: {}.{} MB",
        bytes / 1_000_000,
        bytes / 100_000 % 10
    )
}

pub fn installed(version: Version, program: &Path, old: &Path) -> String {
    format!(
        "installed  {version} at {}\nkept       the previous version as {}",
        program.display(),
        old.display()
    )
}

pub fn restarting(what: &str) -> String {
    format!("restarting {what}")
}

pub fn ready(version: Version) -> String {
    format!("ready      the gateway runs {version}")
}

pub const NO_GATEWAY: &str = "gateway    not running, so nothing was restarted";

/// Another program's gateway runs in this home.
pub fn other_program(program: &str) -> String {
    format!("gateway    runs from {program}, so it was not restarted")
}

/// A new version was taken back. `log`: the last lines of its log; may be empty.
pub fn rolled_back(version: Version, why: &str, back: &str, log: &str) -> String {
    let mut text = format!("{version} did not become ready: {why}. {back}");
    if !log.is_empty() {
        text.push_str("\nThe last lines of its log:");
        for line in log.lines() {
            text.push_str("\n  ");
            text.push_str(line);
        }
    }
    text
}

pub fn is_back(own: Version) -> String {
    format!("{own} is back and running.")
}

pub fn is_back_and_stopped(own: Version, why: &dyn Display) -> String {
    format!("{own} is back in place, but does not run either: {why}.")
}

pub fn not_restored(program: &Path, old: &Path, why: &dyn Display) -> String {
    format!(
        "The previous version could not be put back ({why}). Run: sudo mv {} {}",
        old.display(),
        program.display()
    )
}

pub fn not_ready(seconds: u64) -> String {
    format!("nothing answered within {seconds} s")
}

pub fn systemd_gave_up(result: &str) -> String {
    format!("systemd gave up (result: {result})")
}
