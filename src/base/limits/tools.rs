//! Bounds of the tools.

use std::time::Duration;

/// Characters kept free in a result for the note that says how to go on.
pub const NOTE_CHARS: usize = 240;
/// Objects and arrays within each other in the schema of a custom tool.
pub const CUSTOM_SCHEMA_DEPTH_MAX: usize = 5;
/// The largest length that such a schema may name.
pub const CUSTOM_SCHEMA_COUNT_MAX: u64 = 1_000_000;
/// Processor time of one search or list: a pattern and a text that do not go well together take hours.
pub const SEARCH_TIME: Duration = Duration::from_secs(5);
/// Files that one call of message sends.
pub const FILES_SENT: usize = 10;
/// Characters of a button. What comes back with a press has 64 bytes on Telegram.
pub const BUTTON_CHARS: usize = 40;
/// Characters of a typed command's output that are shown in a chat, about a message of Telegram's;
/// of more, the end, with the whole in a file.
pub const SHELL_CHARS: usize = 3500;
/// How long results that were too long are kept.
pub const RESULTS_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Bytes of a script that a question shows.
pub const SCRIPT_HEAD_BYTES: usize = 1000;
/// Scripts within scripts (`sh -c`) that are searched for risky commands.
pub const SPLIT_DEPTH: usize = 16;
/// Bytes of an unfinished line of input that are kept to be checked together with its rest.
pub const INPUT_LINE_BYTES: usize = 4 * 1024;
/// Bytes of a tool's name: what OpenAI and Anthropic accept.
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// Bytes of the name of a custom tool: shorter than a provider's limit, for it is also a folder's name.
pub const CUSTOM_NAME_BYTES_MAX: usize = 48;
/// Bytes of a tool.json that are read; one that fits into a request has less.
pub const CUSTOM_MANIFEST_BYTES_MAX: usize = 8 * 1024;
/// Bytes of the specs of all custom tools, which go into every request: about 1,000 tokens.
pub const CUSTOM_SPECS_BYTES_MAX: usize = 4000;
/// Files and folders in the folder of a custom tool: all are hashed before each call.
pub const CUSTOM_FILES_MAX: usize = 64;
/// Bytes of all files of a custom tool, enough for a compiled program; hashing them takes a slow board
/// a quarter of a second.
pub const CUSTOM_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Words of a pattern of allowed commands.
pub const ALLOWED_WORDS_MAX: usize = 24;
