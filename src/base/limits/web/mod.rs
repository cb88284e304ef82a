//! Bounds of the web tools.

use std::time::Duration;

/// Characters of a page that the model gets, unless the call says otherwise or a result has less room.
/// nanobot's number.
pub const FETCH_CHARS: usize = 50_000;
/// Characters of a result around the page and its address: the title, the marks and a note.
pub const FRAME_CHARS: usize = 600;
/// Characters of a page, whatever the call says: at most 400 kB of memory.
pub const FETCH_CHARS_MAX: usize = 100_000;
/// Characters that are read beyond those, so that a secret at the end is found before it is cut.
pub const SECRET_CHARS: usize = 200;
/// Time in which a page has to come. What has come until then is used.
pub const FETCH_TIME: Duration = Duration::from_secs(60);
/// Bytes that may come beyond the page's own: headers, and what the transfer adds.
pub const WIRE_SPARE: u64 = 256 * 1024;
/// Time until a server's reply begins, and the longest silence within it.
pub const SERVER_TIME: Duration = Duration::from_secs(20);
/// Bytes of an address. Servers accept 8 kB.
pub const URL_BYTES: usize = 4 * 1024;
/// Characters of the name of a type or a character set; the longest registered ones have 85 and 45.
pub const LABEL_CHARS: usize = 100;
/// Characters of the page that comes with an HTTP error, such as 404.
pub const ERROR_CHARS: usize = 500;
/// Bytes at a page's beginning by which its character set and its type are recognised (HTML, section 13.2.3.2).
pub const SNIFF_BYTES: usize = 1024;
/// Bytes that are decoded at once.
pub const CHUNK_BYTES: usize = 8 * 1024;
/// Unpacked bytes of the largest table of a character set.
pub const CHARSET_TABLE_BYTES: usize = 48 * 1024;

/// Characters of a tag's or an attribute's name; no name that means something is as long.
pub const NAME_CHARS: usize = 24;
/// Bytes of an attribute's value. Data within addresses is longer, and not used.
pub const VALUE_BYTES: usize = 2 * 1024;
/// Characters of the longest name of a character, such as `&CounterClockwiseContourIntegral;`.
pub const ENTITY_CHARS: usize = 32;
/// Bytes of one `<style>` that are read; the longest ones of pages that people read have some 30 kB.
pub const STYLE_BYTES: usize = 32 * 1024;
/// Rules kept of them that show or hide something.
pub const STYLE_RULES: usize = 256;
/// Bytes of one rule's declarations; what hides text has a few dozen.
pub const STYLE_BLOCK_BYTES: usize = 256;
/// Bytes of a selector.
pub const STYLE_SELECTOR_BYTES: usize = 64;
/// Characters of a page's title.
pub const TITLE_CHARS: usize = 200;
/// Lists within lists whose items are indented further.
pub const LIST_LEVELS: usize = 8;
/// Items of a list that is numbered backwards from an unknown number; those beyond keep none.
pub const REVERSED_ITEMS: usize = 500;
/// Quotations within quotations that are marked.
pub const QUOTE_LEVELS: usize = 4;
/// Elements within elements whose ends are known. Pages have up to 60.
pub const OPEN_ELEMENTS: usize = 128;
/// Columns of a table whose header is marked.
pub const TABLE_COLUMNS: usize = 32;
/// Characters of a page's main part below which the page's other parts are used too.
pub const MAIN_CHARS: usize = 200;

/// Results of a search, whatever the call says.
pub const RESULTS_MAX: usize = 10;
/// Characters of a query; Brave takes 400.
pub const QUERY_CHARS: usize = 400;
/// Characters of one result's summary.
pub const SNIPPET_CHARS: usize = 400;
/// Bytes of a search engine's reply.
pub const SEARCH_BYTES: usize = 1024 * 1024;
