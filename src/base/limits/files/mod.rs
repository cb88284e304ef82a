//! Bounds of the workspace and of the file tools' way into it.

/// Links followed in one path, as many as Linux follows (path_resolution(7)).
pub const LINKS: usize = 40;
/// Folders below each other that a listing or search goes down, each held open meanwhile.
pub const WALK_DEPTH: usize = 32;
/// Names of one folder that are held and sorted: about a megabyte.
pub const FOLDER_NAMES: usize = 10_000;
/// Things that links of the prompt lead to. Each is a mount in the view of a command.
pub const PROMPT_LINKS: usize = 64;
