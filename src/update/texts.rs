//! What is wrong with a release.

use std::fmt::Display;
use std::path::Path;

/// The program has no public key.
pub const NO_KEY: &str = "This program was built without the public key of the releases, so it cannot tell \
     which updates are genuine. Build it with `make boards` or `make release`.";

/// The key that was built in cannot be used.
pub const BROKEN_KEY: &str = "The public key of the releases is not 32 bytes in base64. Build the program with \
     the key that scripts/release/key prints.";

/// The list is not text.
pub const LIST_IS_NOT_TEXT: &str = "SHA256SUMS is not text";

/// The list was not signed with the right key.
pub fn bad_signature() -> String {
    "The signature of SHA256SUMS is wrong: it was changed, or signed with another key than the one built into \
     this program. Nothing was changed."
        .to_owned()
}

pub fn broken_line(number: usize) -> String {
    format!("Line {number} of SHA256SUMS is not a checksum and a file name.")
}

pub fn too_many_files(limit: usize) -> String {
    format!("SHA256SUMS lists more than {limit} files.")
}

pub fn listed_twice(name: &str) -> String {
    format!("SHA256SUMS lists {name} twice.")
}

pub fn several_versions(architecture: &str) -> String {
    format!("SHA256SUMS lists several programs for {architecture}; a release has one.")
}

/// `others`: the architectures that there are; may be empty.
pub fn no_program(architecture: &str, others: &str) -> String {
    if others.is_empty() {
        format!("The release has no program for {architecture}.")
    } else {
        format!("The release has no program for {architecture}, only for {others}.")
    }
}

pub fn not_in_list(name: &str) -> String {
    format!(
        "SHA256SUMS beside {name} does not list it as a program. A release's programs are called \
         peacrab-VERSION-ARCHITECTURE, such as peacrab-0.2.0-arm64."
    )
}

pub fn other_architecture(name: &str, architecture: &str, own: &str) -> String {
    format!("{name} is for {architecture}, but this program is for {own}. Nothing was changed.")
}

pub fn wrong_checksum(name: &str, length: u64) -> String {
    format!(
        "{name} does not have the checksum in SHA256SUMS ({length} bytes came): it is incomplete or was \
         changed. Nothing was changed here."
    )
}

/// The program's folder cannot be written by this account.
pub fn needs_root(program: &Path) -> String {
    format!(
        "Replacing {} needs root. Run: sudo peacrab update",
        program.display()
    )
}

/// Another update is running.
pub const LOCKED: &str = "Another update is running. Wait until it has finished.";

/// The new program does not print its version.
pub fn does_not_run(version: &dyn Display, why: &dyn Display) -> String {
    format!("{version} does not run on this machine: {why}. Nothing was changed.")
}

/// There is no old program.
pub fn no_old(old: &Path) -> String {
    format!(
        "There is no previous version: {} does not exist.",
        old.display()
    )
}
