//! web_fetch and web_search: pages and search engines.
//!
//! Pages come from addresses that a model names, so each address that is dialled is checked, also those
//! after a redirect. What pages say is marked as what it is: data from outside.

mod engine;
mod fetch;
mod hosts;
pub mod results;
mod search;

#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;
use std::time::Duration;

use super::arguments::Arguments;
use super::{Context, Tool};
use crate::base::cancel::Cancel;
use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::config::schema::WebTools;
use crate::net::http::{Bound, Client, Settings, Tls};
use crate::net::{Guard, Lookup, system_lookup};
use crate::text::html::{Form, Page, Tokenizer, Writer};

pub use engine::{Engine, VARIABLES};

/// Results of a search, whatever the call says.
const RESULTS_MAX: usize = 10;

/// Time in which a page has to come. What has come until then is used.
const FETCH_TIME: Duration = Duration::from_secs(60);
/// Bytes that may come beyond the page's own: headers, and what the transfer adds.
const WIRE_SPARE: u64 = 256 * 1024;
/// Time until a server's reply begins, and the longest silence within it.
const SERVER_TIME: Duration = Duration::from_secs(20);
/// Characters of the page that comes with an HTTP error, such as 404.
const ERROR_CHARS: usize = 500;

pub(super) const WEB_SEARCH: ToolSpec = ToolSpec::fixed(
    "web_search",
    "Search the web",
    r#"{"type":"object","properties":{"query":{"type":"string"},"count":{"type":"integer"}},"required":["query"]}"#,
)
.read_only();

pub(super) const WEB_FETCH: ToolSpec = ToolSpec::fixed(
    "web_fetch",
    "Read a web page",
    r#"{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}"#,
)
.read_only();

/// What both tools work with.
pub struct Web {
    settings: WebTools,
    tls: Tls,
    engine: Engine,
    lookup: Lookup,
    /// Time for a page or a search.
    page_time: Duration,
    /// Time until a reply begins, and for any silence in it.
    server_time: Duration,
}

impl Web {
    /// Prepares both tools. `variable` gives the value of an environment variable, for the key of a search
    /// engine.
    pub fn new(settings: WebTools, tls: Tls, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            engine: Engine::choose(&settings.search, variable),
            settings,
            tls,
            lookup: system_lookup,
            page_time: FETCH_TIME,
            server_time: SERVER_TIME,
        }
    }

    /// The picture at an address that a file of the workspace names, of at most so many bytes.
    pub fn picture(&self, context: &Context<'_>, url: &str, bytes: usize) -> Result<Vec<u8>> {
        fetch::picture(self, context, url, bytes)
    }

    /// A client for what began with `watch`, and has at most `bytes`.
    fn client(
        &self,
        guard: Guard,
        carries_secret: bool,
        (watch, bytes): (Stopwatch, u64),
        cancel: &Cancel,
    ) -> Result<Client> {
        let settings = Settings {
            proxy: self.settings.proxy.clone(),
            proxy_from_environment: false,
            lookup: self.lookup,
            guard,
            carries_secret,
            bound: Some(Bound {
                watch,
                time: self.page_time,
                bytes: bytes.saturating_add(WIRE_SPARE),
            }),
            ..Settings::new(self.server_time, self.server_time)
        };
        Client::new(&self.tls, settings, cancel)
    }
}

/// Runs web_search.
pub(super) struct Search(pub Arc<Web>);

impl Tool for Search {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        search::search(&self.0, context, arguments)
    }
}

/// Runs web_fetch.
pub(super) struct Fetch(pub Arc<Web>);

impl Tool for Fetch {
    fn run(&self, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
        fetch::fetch(&self.0, context, arguments)
    }
}

/// A text of the web between two lines that say so.
fn marked(text: &str) -> Result<String> {
    super::results::marked("web content", text)
}

/// An HTTP error, with the beginning of what came with it.
fn answered(who: &str, status: u16, body: &str) -> Error {
    let what = format!("{who} answered with HTTP status {status}");
    match Some(plain(body, ERROR_CHARS)).filter(|body| !body.is_empty()) {
        None => Error::Failed(what),
        Some(body) => marked(&body).map_or_else(
            |error| error,
            |body| Error::Failed(format!("{what}\n\n{body}")),
        ),
    }
}

/// HTML that is at hand as a text of at most so many characters.
fn plain(html: &str, limit: usize) -> String {
    let mut tokens = Tokenizer::default();
    let mut writer = Writer::new(Form::Text, "", limit);
    html.chars().for_each(|char| tokens.push(char, &mut writer));
    tokens.finish(&mut writer);
    let Page { text, is_cut, .. } = writer.finish();
    if is_cut { text + "…" } else { text }
}
