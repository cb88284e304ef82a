//! web_search: asks a search engine.

use std::fmt::Write;

use serde_json::json;

use super::RESULTS_MAX;
use super::results::{self, Hit};
use super::{Context, Web, answered, marked, plain};
use crate::base::chat::ToolResult;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::config::schema::SearchProvider;
use crate::net::Guard;
use crate::net::http::{Client, Response};
use crate::text::truncate_chars;
use crate::tools::arguments::Arguments;

/// Characters of a query; Brave takes 400.
const QUERY_CHARS: usize = 400;
/// Characters of one result's summary.
const SNIPPET_CHARS: usize = 400;
/// Bytes of a search engine's reply.
const SEARCH_BYTES: usize = 1024 * 1024;

/// Runs a call.
pub fn search(web: &Web, context: &Context<'_>, arguments: &Arguments) -> Result<ToolResult> {
    let query = arguments.text("query", "what to search for")?;
    let query = truncate_chars(query.trim(), QUERY_CHARS);
    if query.is_empty() {
        return Err(Error::Failed("the query is empty".to_owned()));
    }
    let count = arguments.number("count", "a number from 1 to 10")?;
    let count = count
        .unwrap_or(web.settings.search.max_results)
        .clamp(1, RESULTS_MAX);
    if let Some(problem) = &web.engine.problem {
        return Err(Error::Failed(problem.clone()));
    }
    // The address is the owner's, or in the program.
    let carries_secret = !web.engine.key.is_empty();
    let bound = (Stopwatch::start(), SEARCH_BYTES as u64);
    let cancel = context.caller.cancel;
    let client = web.client(Guard::default(), carries_secret, bound, cancel)?;
    let reply = ask(web, &client, query, count).map_err(|error| explain(web, error))?;
    let reply = reply.read_to_end(SEARCH_BYTES)?;
    let hits = match web.engine.known.provider {
        SearchProvider::DuckDuckGo => results::of_page(&String::from_utf8_lossy(&reply)),
        _ => results::of_json(&reply),
    };
    let mut hits = hits.map_err(|what| Error::Failed(what.to_owned()))?;
    hits.truncate(count);
    Ok(ToolResult::new(if hits.is_empty() {
        format!(
            "{} found nothing. Try other or fewer words.",
            web.engine.known.name
        )
    } else {
        marked(&format_hits(&hits))?
    }))
}

fn ask(web: &Web, client: &Client, query: &str, count: usize) -> Result<Response> {
    let key = web.engine.key.expose();
    let base = &web.engine.base;
    let encoded = encode(query);
    let json = ("accept", "application/json");
    let post = |name: &str, value: &str, body: serde_json::Value| {
        let headers = [json, ("content-type", "application/json"), (name, value)];
        client.post(
            &format!("{base}/search"),
            &headers,
            body.to_string().as_bytes(),
        )
    };
    let bearer = format!("Bearer {key}");
    match web.engine.known.provider {
        SearchProvider::Brave => {
            let url = format!("{base}/res/v1/web/search?q={encoded}&count={count}");
            client.get(&url, &[json, ("x-subscription-token", key)])
        }
        SearchProvider::Tavily => post(
            "authorization",
            &bearer,
            json!({"query": query, "max_results": count}),
        ),
        SearchProvider::Exa => {
            let text = json!({"text": {"maxCharacters": SNIPPET_CHARS}});
            post(
                "x-api-key",
                key,
                json!({"query": query, "numResults": count, "contents": text}),
            )
        }
        SearchProvider::Perplexity => post(
            "authorization",
            &bearer,
            json!({"query": query, "max_results": count}),
        ),
        SearchProvider::Searxng => {
            client.get(&format!("{base}/search?q={encoded}&format=json"), &[json])
        }
        SearchProvider::Auto | SearchProvider::DuckDuckGo => {
            let agent = "Mozilla/5.0 (compatible; Peacrab)";
            let headers = [("accept", "text/html"), ("user-agent", agent)];
            client.get(&format!("{base}/html/?q={encoded}"), &headers)
        }
    }
}

/// What to do about an error.
fn explain(web: &Web, error: Error) -> Error {
    let known = web.engine.known;
    let Error::Status { status, body, .. } = &error else {
        return error;
    };
    let name = known.name;
    Error::Failed(match (status, known.provider) {
        (403, SearchProvider::Searxng) => format!(
            "{name} does not answer in JSON. Add json to search.formats in its settings.yml"
        ),
        (401 | 403, _) if !known.variable.is_empty() => format!(
            "{name} refused the API key (HTTP status {status}). Check tools.web.search.apiKey or {}",
            known.variable
        ),
        (402 | 432 | 433, _) => {
            format!("The searches of this {name} account are used up (HTTP status {status})")
        }
        (429, SearchProvider::DuckDuckGo) => results::TOO_MANY.to_owned(),
        (429, _) => format!("Too many searches at {name}. Wait a while, and search less often"),
        // That is in our words.
        (300..=399, _) => return error,
        _ => return answered(name, *status, body),
    })
}

/// A text as it is in the query of an address.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

fn format_hits(hits: &[Hit]) -> String {
    let line = |html: &str| {
        let text = plain(html, SNIPPET_CHARS);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut text = String::new();
    for (number, hit) in (1..).zip(hits) {
        let separator = if number > 1 { "\n\n" } else { "" };
        let _ = write!(
            text,
            "{separator}{number}. {}\n{}",
            line(&hit.title),
            hit.url
        );
        let summary = line(&hit.summary);
        if !summary.is_empty() {
            let _ = write!(text, "\n{summary}");
        }
    }
    text
}
