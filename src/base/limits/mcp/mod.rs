//! Bounds of MCP servers.

pub mod http;

use std::time::Duration;

/// Bytes of one message from a server: an image of 3 MB in base64.
pub const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Messages in one batch, which versions before 2025-06-18 have.
pub const BATCH: usize = 64;
/// Bytes of a call's arguments.
pub const ARGUMENTS_BYTES: usize = 1024 * 1024;
/// Servers in the configuration.
pub const SERVERS: usize = 32;
/// Bytes of a server's name: half of what a tool's name has.
pub const SERVER_NAME_BYTES: usize = 32;
/// Tools, resources or prompts of one server.
pub const LISTED: usize = 512;
/// Pages of a list.
pub const PAGES: usize = 64;
/// Time for all pages of a list.
pub const LIST_READ_TIME: Duration = Duration::from_secs(120);
/// Bytes of a list that are kept.
pub const LIST_BYTES: usize = 512 * 1024;
/// Bytes of a tool's name as the server says it.
pub const NAME_BYTES: usize = 256;
/// Bytes of one tool's schema.
pub const SCHEMA_BYTES: usize = 32 * 1024;
/// Time for a new server's first answer and for its lists. `npx` and `uvx` download a server when it is started first.
pub const CONNECT_TIME: Duration = Duration::from_secs(60);
/// Time for the answer to `server/discover`: servers before 2026-07-28 may ignore it.
pub const DISCOVER_TIME: Duration = Duration::from_secs(5);
/// How long a turn waits until a server is connected or its lists are read. Both go on without it.
pub const TURN_TIME: Duration = Duration::from_secs(10);
/// Characters of an unreadable answer that its error shows.
pub const UNREADABLE_CHARS: usize = 40;
/// Time that a call can take in all, however often it reports progress.
pub const CALL_TIME: Duration = Duration::from_secs(3600);
/// How often one call may want to know more from a person.
pub const ROUNDS: u32 = 8;
/// Questions of a server within one round.
pub const QUESTIONS: usize = 8;
/// Values of a form.
pub const FIELDS: usize = 20;
/// Values that can be chosen from.
pub const CHOICES: usize = 50;
/// Characters of a text that a server shows to a person.
pub const SHOWN_CHARS: usize = 1000;
/// Characters of a report of progress.
pub const PROGRESS_CHARS: usize = 120;
/// Bytes of messages that wait for a server to read them; beyond that it does not read.
pub const UNREAD_BYTES: usize = 4 * 1024 * 1024;
/// Questions that wait until their call can take them.
pub const QUESTIONS_WAITING: usize = 8;
/// Bytes read from a server at once.
pub const READ_BYTES: usize = 16 * 1024;
/// Bytes that a program writes to its standard error within a second; beyond that it is ended.
pub const ERRORS_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of room for messages that a server keeps between two of them.
pub const KEPT_BYTES: usize = 4 * 1024;
/// Stack of the thread that serves all programs; reading a message needs 20 kB.
pub const STACK_BYTES: usize = 256 * 1024;
/// How long a program has to end after its input was closed.
pub const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Characters of a line that is no message in the log.
pub const LOGGED_CHARS: usize = 200;
/// Seconds until a server is started again, after the first failure in a row, the second, and so on.
pub const RETRY_SECONDS: [u64; 6] = [0, 5, 30, 120, 600, 1800];
/// How long a list is fresh when its server does not say.
pub const LIST_TIME: Duration = Duration::from_secs(24 * 3600);
/// How long a list is fresh at least: reading it may start a program.
pub const LIST_TIME_MIN: Duration = Duration::from_secs(300);
/// Reasons that are kept why something on a list was left out.
pub const REFUSED: usize = 16;
/// Bytes of a file with a server's four lists; a schema in JSON has a sign before each quote.
pub const STORED_BYTES: usize = 4 * LIST_BYTES;
/// Messages of a prompt that a server has for a model.
pub const SAMPLE_MESSAGES: usize = 50;
/// Tokens of a model's answer to a server.
pub const SAMPLE_TOKENS: u32 = 4096;
/// Bytes of the specs of all servers' tools in a request: about 1,500 tokens. When they have more, the
/// model finds them with `find_tools`.
pub const SPECS_BYTES: usize = 6_000;
/// Tools of servers in a request; providers take 128 in all.
pub const SPECS: usize = 40;
/// Bytes of a schema as the model gets it.
pub const SIMPLE_BYTES: usize = 3_000;
/// Schemas within one schema, once its references are followed.
pub const SCHEMA_NODES: usize = 400;
/// References that lead to references.
pub const SCHEMA_REFERENCES: usize = 8;
/// Values of an enumeration that are kept.
pub const SCHEMA_VALUES: usize = 40;
/// Characters of a tool's description as the model gets it.
pub const DESCRIPTION_CHARS: usize = 600;
/// Characters of the description of an argument.
pub const ARGUMENT_CHARS: usize = 200;
/// Resources, templates or prompts that a description names.
pub const NAMED: usize = 12;
/// Tools that one search finds.
pub const FOUND: usize = 5;
/// Found tools that a conversation keeps; the oldest go.
pub const FOUND_KEPT: usize = 12;
/// Conversations whose found tools are kept.
pub const FOUND_CONVERSATIONS: usize = 32;
/// Characters of a found tool's description.
pub const FOUND_CHARS: usize = 200;
/// Bytes of the names that a search without a result lists.
pub const FOUND_NAMES_BYTES: usize = 2_000;
/// Words of a search.
pub const FIND_WORDS: usize = 16;
/// Calls that wait for an answer of a person.
pub const PARKED: usize = 8;
/// Parts of a result.
pub const PARTS: usize = 64;
/// Parts of a result that are stored as files.
pub const FILES: usize = 16;
/// Characters of a result that `peacrab mcp call` prints; the rest goes to a file.
pub const RESULT_CHARS: usize = 200_000;
/// Bytes of the first line of a browser's request at the end of a login.
pub const REDIRECT_BYTES: u64 = 16 * 1024;
/// How often it is looked whether the browser has come.
pub const REDIRECT_PAUSE: Duration = Duration::from_millis(200);
/// How long the browser is waited for.
pub const REDIRECT_TIME: Duration = Duration::from_secs(600);
/// Characters of a server's name that a person types.
pub const TYPED_NAME_CHARS: usize = 60;
