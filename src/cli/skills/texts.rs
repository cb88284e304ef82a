//! What `peacrab skills` says.

use crate::base::limits::skills::SKILLS_MAX;
use crate::text::count_of;
use crate::tools::skills::FILE;

/// Below a skill of which all goes into every prompt.
pub const ALWAYS: &str = "always in the prompt";
/// The skill was not removed.
pub const NOT_REMOVED: &str = "Not removed.";
/// The skill was not installed.
pub const NOT_INSTALLED: &str = "Not installed.";
/// There is no terminal to ask at.
pub const NEEDS_YES: &str = "Confirm with --yes: there is no terminal to ask you.";
/// Above the scripts of a skill that is to be installed.
pub const SCRIPTS: &str = "Scripts that the model can run, in the sandbox:";
/// Before a skill from others is installed.
pub const TRUST: &str = "The model follows what a skill says. Install only what you trust.";
/// There is no fault in any skill.
pub const NO_FAULTS: &str = "No problems found.";
/// A skill's address without TLS.
pub const NEEDS_TLS: &str = "Use an https:// address. --allow-private also accepts http:// and addresses of your own network.";
/// The guard's reason.
pub const PRIVATE: &str = "it is a private address (--allow-private accepts it)";

/// Why a skill is not available.
pub fn unavailable(reasons: &str) -> String {
    format!("not available: {reasons}")
}

/// Asks before a skill is removed.
pub fn ask_to_remove(name: &str) -> String {
    format!("Remove the skill {name} and all its files? [y/N] ")
}

/// A skill was removed.
pub fn removed(name: &str) -> String {
    format!("Removed {name}.")
}

/// Asks before a skill is installed.
pub fn ask_to_install(name: &str, replaces: bool) -> String {
    if replaces {
        format!("Replace the skill {name}? [y/N] ")
    } else {
        format!("Install it as {name}? [y/N] ")
    }
}

/// A skill was installed.
pub fn installed(name: &str) -> String {
    format!("Installed skills/{name}/{FILE}. The model sees it from the next message on.")
}

/// A skill was made.
pub fn made(path: &str, name: &str) -> String {
    format!("Made {path}. Describe the task there, then run `peacrab skills check {name}`.")
}

/// A new skill has the name of one in the workspace.
pub fn already_there(name: &str) -> String {
    format!("There is a skill {name} already. Choose another name, or edit skills/{name}/{FILE}.")
}

/// Below a list of skills that does not have all folders.
pub fn not_used(folders: usize) -> String {
    let folders = count_of(folders, "more folder", "more folders");
    format!(
        "Only the first {SKILLS_MAX} skills of the workspace are used. {folders} in skills/ are left out."
    )
}

/// A skill's name that cannot be one.
pub fn bad_name(name: &str) -> String {
    format!(
        "{name:?} cannot be a skill's name. Use lower-case letters, digits and hyphens, at most 64 characters."
    )
}

/// How much is installed.
pub fn size(files: usize, bytes: usize) -> String {
    let files = count_of(files, "file", "files");
    match bytes {
        0..10_000 => format!("{files}, {bytes} bytes"),
        _ => format!("{files}, {} kB", bytes / 1000),
    }
}

/// A built-in skill has this name.
pub fn replaces_built_in(name: &str) -> String {
    format!("It replaces the built-in skill {name}.")
}

/// The number of faults that were found.
pub fn faults(count: usize) -> String {
    format!("Found {}.", count_of(count, "problem", "problems"))
}

/// The SKILL.md of a new skill.
pub fn template(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: What it does, and when to use it, in one or two sentences.\n---\n\
         # {name}\n\n\
         Say here, step by step, what the model should do: the commands that work, what their output means,\n\
         and what to ask you before.\n"
    )
}
