//! Bounds of the providers.

use std::time::Duration;

/// Bytes of one answer: text, reasoning and arguments together. 128 k tokens are about 512 kB.
pub const REPLY_BYTES: usize = 2 * 1024 * 1024;
/// How many times the longest silence (`streamIdleTimeoutSecs`, 90 s) a reply may come without growing:
/// models that think send comments for minutes.
pub const REPLY_QUIET_IDLES: u32 = 4;
/// How many times that a reply may take as a whole: an hour, in which a model on the board itself
/// writes 7,000 tokens at two a second.
pub const REPLY_TOTAL_IDLES: u32 = 40;
/// Bytes read from a stream at once.
pub const READ_BYTES: usize = 4 * 1024;
/// Characters kept of what the other side said about an error.
pub const SAID_CHARS: usize = 300;
/// New tries after the first failure, each after twice the wait of the one before.
pub const RETRIES: u32 = 3;
/// Wait before the first new try. The following ones are 2 and 4 s.
pub const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait that a server may ask for. Beyond it the person is better served by an answer
/// that says so, or by a fallback model.
pub const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Failures in a row after which a model is left alone for a while.
pub const BREAKER_FAILURES: u32 = 3;
/// How long a failing model is left alone.
pub const BREAKER_REST: Duration = Duration::from_secs(60);
/// Parameters that may be changed one after the other because a server rejects them.
pub const LEARNINGS: u32 = 5;
/// Tokens of an answer below which OpenAI's Responses API refuses the request.
pub const OUTPUT_TOKENS_MIN: u32 = 16;
/// Smaller numbers in a complaint about `max_tokens` are not the most that a model accepts.
pub const LEARNED_TOKENS_MIN: u32 = 512;
/// Time in which a server on this machine has to list its models to be taken for one.
pub const PROBE: Duration = Duration::from_millis(300);
/// Time in which a server of one's own has to tell a model's window: a person is waiting.
pub const WINDOW_TIME: Duration = Duration::from_secs(2);
/// Tokens of a window beyond which a server does not tell the truth: a hundred times what models have.
pub const WINDOW_TOKENS_MAX: u64 = 100_000_000;
/// Bytes of each such answer. Ollama's about a model has its license and its template.
pub const WINDOW_BYTES_MAX: usize = 512 * 1024;
/// Times that it is asked for a model until it is certain.
pub const WINDOW_ASKS_MAX: u32 = 3;
/// Tokens that Ollama and LM Studio give a model by default (<https://docs.ollama.com/context-length>).
pub const UNLOADED_WINDOW_TOKENS: u64 = 4096;
/// Tokens that older Anthropic models may think, by effort. 1024 is the API's least.
pub const THINKING_LOW: u32 = 1024;
/// See [`THINKING_LOW`].
pub const THINKING_MEDIUM: u32 = 4096;
/// See [`THINKING_LOW`].
pub const THINKING_HIGH: u32 = 16_384;
/// See [`THINKING_LOW`].
pub const THINKING_MAX: u32 = 32_768;
/// Characters of one tool's result in an answer of the offline helper.
pub const OFFLINE_RESULT_CHARS: usize = 4000;
/// Characters of a provider's name that are compared with those that are known.
pub const NAME_CHARS: usize = 40;
/// How many characters a provider's name must have for each one that may be mistyped.
pub const SLIP_CHARS: usize = 4;
/// Bytes of a server's list of models. OpenRouter's, the longest, has some 700 kB.
pub const OFFERS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Models of such a list that are kept.
pub const OFFERS_MAX: usize = 1000;
/// Characters of a model's name; what is longer is not listed.
pub const OFFER_NAME_CHARS_MAX: usize = 200;
/// Providers whose models `/model` lists: each is asked at the same time.
pub const PROVIDERS_MAX: usize = 6;
/// Time that a server has to list its models: a person is waiting.
pub const OFFERS_TIME: Duration = Duration::from_secs(8);
/// Names that are suggested in place of an unknown one.
pub const NEAREST_NAMES_MAX: usize = 3;
/// Blocks of content before a mark in which Anthropic looks for something cached
/// (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
pub const CACHE_REACH: usize = 20;
/// How long Anthropic's cache keeps what is marked, from its last use, and how long it does for more money.
pub const CACHE_MINUTES: Duration = Duration::from_secs(5 * 60);
/// See [`CACHE_MINUTES`].
pub const CACHE_HOUR: Duration = Duration::from_secs(60 * 60);
/// Pauses of a conversation that say whether the next one will be shorter than an hour: those of about a day.
pub const CACHE_PAUSES: usize = 8;

/// Tokens that a server may count for an image beyond the bytes in which it was sent.
pub const IMAGE_TOKENS_MAX: u64 = 50_000;
/// Tokens that a server may add to a request: its template, and descriptions of tools of its own.
pub const TEMPLATE_TOKENS_MAX: u64 = 20_000;
/// How many times as many tokens as were asked for an answer may have, where a server does not count its thoughts
/// among them.
pub const REASONING_FACTOR: u64 = 8;
/// Cost of a token that a server may report, in billionths of a US dollar: several times that of the dearest model.
pub const TOKEN_COST_MAX: u64 = 5_000_000;
/// The same of a request beside its tokens, as for searches.
pub const REQUEST_COST_MAX: u64 = 5_000_000_000;
