//! Bounds of skills.

/// Bytes of a SKILL.md that are read. Guides recommend 500 lines, about 20 kB.
pub const FILE_BYTES: usize = 64 * 1024;
/// Skills of a workspace that are listed; the index of as many has about 20 kB.
pub const SKILLS_MAX: usize = 100;
/// Characters of a skill's name, as in Anthropic's specification.
pub const NAME_CHARS: usize = 64;
/// Characters of a description, as in Anthropic's specification.
pub const DESCRIPTION_CHARS: usize = 1024;
/// Characters of another value, such as a license or the name of a program.
pub const VALUE_CHARS: usize = 200;
/// Lines of front matter; a long one has 60.
pub const LINES: usize = 2000;
/// Levels of lists and maps in front matter; OpenClaw's have five.
pub const LEVELS: usize = 16;
/// Faults of a skill that are kept.
pub const FAULTS: usize = 20;
/// Programs, variables or systems that a skill may name, each.
pub const REQUIREMENTS: usize = 32;
/// Files of a skill that is installed; large ones have 60.
pub const FILES_MAX: usize = 500;
/// Bytes of all files of a skill that is installed: they are held in memory meanwhile.
pub const PACKAGE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an archive. It may have more than one skill.
pub const ARCHIVE_BYTES: usize = 8 * 1024 * 1024;
/// Names in an archive or a folder that is installed from.
pub const NAMES_MAX: usize = 5000;
/// Bytes of a path in a skill.
pub const PATH_BYTES: usize = 256;
/// Folders below each other in a skill.
pub const DEPTH: usize = 8;
/// Files of a skill that are named before it is installed.
pub const FILES_SHOWN: usize = 40;
/// Skills that one message can load with `$NAME`.
pub const LOADED_MAX: usize = 3;
/// Bytes of the instructions of each of them; the model reads the rest with `read_file`.
pub const LOADED_BYTES: usize = 24 * 1024;
/// How long a server may take until a skill begins to come, and how long it may pause.
pub const SERVER_TIME: std::time::Duration = std::time::Duration::from_secs(20);
