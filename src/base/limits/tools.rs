//! Bounds of the tools.

use std::time::Duration;

/// Characters of a hint's argument, as nanobot shows them: what fits a line on a telephone.
pub const HINT_CHARS: usize = 40;
/// Characters that one read_file gives, however large a result may be.
pub const READ_CHARS: usize = 128 * 1024;
/// Characters kept free in a result for the note that says how to go on.
pub const NOTE_CHARS: usize = 240;
/// Bytes at a file's beginning by which it is told what it is.
pub const SNIFF_BYTES: usize = 8 * 1024;
/// Objects and arrays within each other in the schema of a custom tool.
pub const CUSTOM_SCHEMA_DEPTH_MAX: usize = 5;
/// The largest length that such a schema may name.
pub const CUSTOM_SCHEMA_COUNT_MAX: u64 = 1_000_000;
/// Bytes of a line that are held; the rest of a longer one is passed over.
pub const LINE_BYTES: usize = 128 * 1024;
/// Bytes of a file that is edited: it is held whole, twice.
pub const EDIT_BYTES: usize = 2 * 1024 * 1024;
/// Places shown when the text to be replaced is not found.
pub const EDIT_CANDIDATES: usize = 3;
/// Lines shown of each such place.
pub const EDIT_CANDIDATE_LINES: usize = 12;
/// Line numbers named when the text to be replaced stands in several places.
pub const EDIT_PLACES: usize = 10;
/// Names in a listing, unless the call says otherwise.
pub const LIST_NAMES: usize = 200;
/// Names in a listing, whatever the call says.
pub const LIST_NAMES_MOST: usize = 5000;
/// Matching lines of a search, unless the call says otherwise.
pub const GREP_MATCHES: usize = 100;
/// Matching lines of a search, whatever the call says.
pub const GREP_MATCHES_MOST: usize = 1000;
/// Lines around a match, whatever the call says.
pub const GREP_CONTEXT_MOST: usize = 20;
/// Characters shown of a line that a search finds; minified files have one line.
pub const GREP_LINE_CHARS: usize = 300;
/// Bytes that one search reads: some ten seconds on a board.
pub const GREP_BYTES: u64 = 256 * 1024 * 1024;
/// Processor time of one search or list: a pattern and a text that do not go well together take hours.
pub const SEARCH_TIME: Duration = Duration::from_secs(5);
/// Bytes between two looks at the processor time of a search.
pub const SEARCH_CHECK_BYTES: usize = 4 * 1024;
/// Bytes of a line in which a pattern is looked for at once; with the longest pattern a second on a board.
pub const GREP_PIECE_BYTES: usize = 8 * 1024;
/// Bytes that two such pieces share: a longer match may be missed.
pub const GREP_SHARED_BYTES: usize = 1024;
/// Bytes of a regular expression or a glob as it is written.
pub const PATTERN_BYTES: usize = 1000;
/// Bytes of a regular expression as it is held: each byte of a text is compared with all of it.
pub const PATTERN_HELD_BYTES: usize = 128 * 1024;
/// Groups `{a,b}` of a glob, and commas in all of them: each combination is tried with each path.
pub const GLOB_GROUPS: usize = 6;
/// See [`GLOB_GROUPS`].
pub const GLOB_COMMAS: usize = 32;
/// Processor time in which places near to a text that was not found are looked for.
pub const EDIT_NEAR_TIME: Duration = Duration::from_secs(2);
/// Files that one call of message sends.
pub const FILES_SENT: usize = 10;
/// Rows of buttons, as many as a telephone shows at once.
pub const BUTTON_ROWS: usize = 8;
/// Buttons side by side; more cannot be read.
pub const BUTTONS_IN_ROW: usize = 4;
/// Characters of a button. What comes back with a press has 64 bytes on Telegram.
pub const BUTTON_CHARS: usize = 40;
/// Bytes of a long output that wait until a whole line of it can be written to its file.
pub const SPILL_BYTES: usize = 16 * 1024;
/// Characters of a typed command's output that are shown in a chat, about a message of Telegram's;
/// of more, the end, with the whole in a file.
pub const SHELL_CHARS: usize = 3500;
/// How long results that were too long are kept.
pub const RESULTS_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Bytes of all results that are kept.
pub const RESULTS_BYTES: u64 = 64 * 1024 * 1024;
/// Scripts within scripts (`sh -c`) that are searched for risky commands.
pub const SPLIT_DEPTH: usize = 16;
/// Files on a command's line that are bound to an approval; a person looks at a few.
pub const BOUND_FILES: usize = 64;
/// Bytes of all files that are hashed for an approval: 10 seconds on a board, and more than an agent writes.
pub const BOUND_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a file that are read at a time for that.
pub const BOUND_BUFFER: usize = 64 * 1024;
/// Different words of a line that are looked at for an approval.
pub const BOUND_WORDS: usize = 4096;
/// Paths that are tried to find the files that a command's line names: half a second on a board.
pub const BOUND_LOOKUPS: usize = 20_000;
/// Links that are followed to where a file will be that does not exist yet.
pub const LINKS_FOLLOWED: usize = 8;
/// Names in a folder that are looked at for an approval.
pub const BOUND_NAMES: usize = 1024;
/// Files in the agent's folders that are bound to an approval as a whole: a second on a board.
pub const BOUND_TREE: usize = 10_000;
/// Names of influences that a question lists.
pub const INFLUENCES: usize = 8;
/// Bytes of a script that a question shows.
pub const SCRIPT_HEAD_BYTES: usize = 1000;
/// Lines of a script that a question shows.
pub const SCRIPT_HEAD_LINES: usize = 15;
/// Files, and characters and lines of a narrow screen of all of them, that every question shows whole.
pub const WHOLE_FILES: usize = 4;
/// See [`WHOLE_FILES`].
pub const WHOLE_CHARS: usize = 200;
/// See [`WHOLE_FILES`].
pub const WHOLE_LINES: usize = 8;
/// Bytes of an unfinished line of input that are kept to be checked together with its rest.
pub const INPUT_LINE_BYTES: usize = 4 * 1024;
/// Tools that the model is told about. Providers take 128 at most, and choose worse from many.
pub const TOOLS_MAX: usize = 64;
/// Bytes of a tool's name: what OpenAI and Anthropic accept.
pub const TOOL_NAME_BYTES_MAX: usize = 64;
/// Bytes of a tool's name, description and schema together.
pub const SPEC_BYTES_MAX: usize = 8 * 1024;
/// Bytes of all tools' specs, which go into every request: about 16,000 tokens.
pub const SPECS_BYTES_MAX: usize = 64 * 1024;
/// Characters of a refused command that a person is shown again as what to send; a longer one they have.
pub const TYPED_AGAIN_CHARS: usize = 60;
/// Characters of a command and of a folder in a list of standing approvals.
pub const STANDING_CHARS: usize = 80;
/// Folders in `tools/` that are looked at for custom tools; models choose worse from more tools.
pub const CUSTOM_TOOLS_MAX: usize = 32;
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
/// Bytes of the arguments of a call of a custom tool: they fit into a pipe, so a tool that does not
/// read them holds nothing up.
pub const CUSTOM_INPUT_BYTES_MAX: usize = 32 * 1024;
/// Bytes of what a failed custom tool wrote to standard error that the model gets: the end.
pub const CUSTOM_ERRORS_BYTES: usize = 2000;
/// How long the copy of a tool that was allowed once is kept; no run takes longer.
pub const CUSTOM_COPY_AGE: Duration = Duration::from_secs(48 * 60 * 60);
/// How long everything is allowed in a chat when an owner says so: enough for one repair.
pub const ALLOWANCE_TIME: Duration = Duration::from_mins(10);
/// How often the time that is left of it is shown.
pub const ALLOWANCE_SHOWN: Duration = Duration::from_mins(1);
/// Chats of an agent in which everything is allowed at a time; the oldest gives way.
pub const ALLOWANCES_MAX: usize = 16;
/// Words of a pattern of allowed commands.
pub const ALLOWED_WORDS_MAX: usize = 24;
/// Characters of such a pattern.
pub const ALLOWED_CHARS_MAX: usize = 300;
