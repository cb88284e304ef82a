//! Bounds of the workspace and of the file tools' way into it.

/// Bytes of a path; Linux's PATH_MAX less the closing zero.
pub const PATH_BYTES: usize = 4095;
/// Links followed in one path, as many as Linux follows (path_resolution(7)).
pub const LINKS: usize = 40;
/// How often openat2 is asked again when a rename somewhere in the system disturbs it (EAGAIN).
pub const RESOLVE_TRIES: usize = 16;
/// Folders held open while a path is resolved without openat2; a process may have 1024 files.
pub const RESOLVE_HANDLES: usize = 128;
/// Folders below each other that a listing or search goes down, each held open meanwhile.
pub const WALK_DEPTH: usize = 32;
/// Names that one listing or search looks at: some seconds on a slow card.
pub const WALK_NAMES: usize = 50_000;
/// Names of one folder that are held and sorted: about a megabyte.
pub const FOLDER_NAMES: usize = 10_000;
/// How hard an archive is compressed, of 10: more takes a board much longer for little.
pub const GZIP_LEVEL: i32 = 4;
/// Bytes of a compressor's output that are held.
pub const GZIP_BUFFER_BYTES: usize = 16 * 1024;
/// Folders below each other that are looked through for links of the prompt: `skills`, one in it, and one in that.
pub const PROMPT_DEPTH: usize = 3;
/// Names that are looked at for links of the prompt, the nearest ones first: about 20 ms on a board.
pub const PROMPT_NAMES: usize = 4096;
/// Things that links of the prompt lead to. Each is a mount in the view of a command.
pub const PROMPT_LINKS: usize = 64;
