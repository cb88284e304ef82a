//! `commands`: slash commands of chats that run a shell line.

use serde::Deserialize;

/// A slash command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnCommand {
    /// What `sh -c` gets; the arguments are `$1`, `$2` and `"$@"`.
    pub run: String,
    /// What it does, for the menu; empty: the line itself.
    pub help: String,
    /// Where it runs.
    pub r#where: Place,
    /// Whether a button has to be pressed first.
    pub confirm: bool,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the sandbox.
    #[default]
    Sandbox,
    /// On the board itself.
    Host,
}
