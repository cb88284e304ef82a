//! What search engines reply. PURE.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::RESULTS_MAX;
use crate::base::json;
use crate::base::limits::web::VALUE_BYTES;
use crate::text::html::{Sink, Tag, Tokenizer, link};

/// One result. Its texts may contain HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// The title.
    pub title: String,
    /// The address, in ASCII.
    pub url: String,
    /// Some sentences of the page.
    pub summary: String,
}

/// DuckDuckGo has had enough.
pub const TOO_MANY: &str = "DuckDuckGo refuses more searches for a while. Wait, or set up a search engine with \
                            an API key: tools.web.search.provider and tools.web.search.apiKey";

/// A result as any of the APIs writes it; each has one of the texts.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Row {
    title: Option<String>,
    url: Option<String>,
    /// Brave
    description: Option<String>,
    /// Tavily, SearXNG
    content: Option<String>,
    /// Perplexity
    snippet: Option<String>,
    /// Exa
    text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reply {
    results: Hits,
    /// Brave
    web: Option<Web>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Web {
    results: Hits,
}

impl Row {
    fn into_hit(self) -> Option<Hit> {
        let summary = self.description.or(self.content).or(self.snippet);
        Some(Hit {
            title: self.title.unwrap_or_default(),
            url: link::whole(&self.url?)?,
            summary: summary.or(self.text).unwrap_or_default(),
        })
    }
}

/// The first results of a list. Only those are kept, and what is not a result is passed over.
#[derive(Default)]
struct Hits(Vec<Hit>);

impl<'de> Deserialize<'de> for Hits {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        struct First;
        impl<'de> Visitor<'de> for First {
            type Value = Hits;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of results")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Hits, A::Error> {
                let mut hits = Vec::new();
                while hits.len() < RESULTS_MAX
                    && let Some(row) = list.next_element::<&RawValue>()?
                {
                    let row = json::from_str::<Row>(row.get()).ok();
                    hits.extend(row.and_then(Row::into_hit));
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Hits(hits))
            }
        }
        list.deserialize_seq(First)
    }
}

/// The results in the reply of an API. The error says what is wrong with it.
pub fn of_json(reply: &[u8]) -> Result<Vec<Hit>, &'static str> {
    let Ok(reply) = json::from_slice::<Reply>(reply) else {
        return Err(
            "the reply of the search engine is not what it should be. Check tools.web.search.baseUrl if it is set",
        );
    };
    Ok(reply.web.map_or(reply.results, |web| web.results).0)
}

/// The results on a page of DuckDuckGo. The error says why it has none.
pub fn of_page(page: &str) -> Result<Vec<Hit>, &'static str> {
    let mut tokens = Tokenizer::default();
    let mut found = Found::default();
    page.chars().for_each(|char| tokens.push(char, &mut found));
    tokens.finish(&mut found);
    if found.hits.is_empty() && found.is_refused {
        Err(TOO_MANY)
    } else {
        Ok(found.hits)
    }
}

/// Collects the results: a link of one class, then its summary in an element of another.
#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    /// The element that is being read, and whether it is a summary.
    open: Option<(String, bool)>,
    /// Whether the page asks for a proof that a person searches.
    is_refused: bool,
}

impl Sink for Found {
    fn start(&mut self, tag: &Tag) {
        let class = tag.attribute("class").unwrap_or_default();
        let has = |name| class.split_ascii_whitespace().any(|one| one == name);
        self.is_refused |= class.contains("anomaly");
        if has("result__a") {
            self.open = None;
            let url = tag.attribute("href").and_then(target);
            if let Some(url) = url.filter(|_| self.hits.len() < RESULTS_MAX) {
                self.hits.push(Hit {
                    url,
                    ..Hit::default()
                });
                self.open = Some((tag.name.clone(), false));
            }
        } else if has("result__snippet") {
            let is_new = self.hits.last().is_some_and(|hit| hit.summary.is_empty());
            self.open = is_new.then(|| (tag.name.clone(), true));
        }
    }

    fn end(&mut self, name: &str) {
        if self.open.as_ref().is_some_and(|(open, _)| open == name) {
            self.open = None;
        }
    }

    fn text(&mut self, char: char) {
        if let (Some((_, is_summary)), Some(hit)) = (&self.open, self.hits.last_mut()) {
            let text = if *is_summary {
                &mut hit.summary
            } else {
                &mut hit.title
            };
            if text.len() < VALUE_BYTES {
                // It was decoded, and will be read as HTML again.
                match char {
                    '<' => text.push_str("&lt;"),
                    '&' => text.push_str("&amp;"),
                    _ => text.push(char),
                }
            }
        }
    }
}

/// Where a link on the page leads: the address is a part of one at DuckDuckGo's. `None` for advertisements.
fn target(href: &str) -> Option<String> {
    let url = match href.split_once("uddg=") {
        Some((_, rest)) => decode(rest.split('&').next()?),
        None => href.to_owned(),
    };
    let url = link::absolute("https://html.duckduckgo.com/", &url)?;
    let (host, _) = link::host_and_port(&url)?;
    (host != "duckduckgo.com" && !host.ends_with(".duckduckgo.com")).then_some(url)
}

/// A part of an address without percent signs.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = [ahead.next(), ahead.next()].map(|digit| char::from(digit?).to_digit(16));
        match (byte, digits) {
            (b'%', [Some(high), Some(low)]) => {
                bytes.push((high * 16 + low) as u8);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(title: &str, url: &str, summary: &str) -> Hit {
        Hit {
            title: title.to_owned(),
            url: url.to_owned(),
            summary: summary.to_owned(),
        }
    }

    #[test]
    fn the_results_of_every_api_are_understood() {
        let expected = [hit("A", "https://a.org/", "text")];
        for reply in [
            r#"{"web": {"results": [{"title": "A", "url": "https://a.org", "description": "text", "age": 1}]}}"#,
            r#"{"query": "x", "results": [{"title": "A", "url": "https://a.org", "content": "text", "score": 0.9}]}"#,
            r#"{"results": [{"id": "1", "title": "A", "url": "https://a.org/", "snippet": "text", "date": null}]}"#,
            r#"{"results": [{"title": "A", "url": "https://a.org/", "text": "text", "author": null}]}"#,
        ] {
            assert_eq!(of_json(reply.as_bytes()).unwrap(), expected, "{reply}");
        }
        let odd = br#"{"results": [{"title": null}, {"url": "javascript:x"}, 5, {"url": "/x"},
            {"title": {}, "url": "http://c"}, {"url": "http://b"}]}"#;
        assert_eq!(of_json(odd).unwrap(), [hit("", "http://b/", "")]);
        assert_eq!(of_json(b"{}").unwrap(), []);
        assert!(of_json(b"<html>").is_err());
        let row = r#"{"url": "http://b"}"#;
        let many = format!(r#"{{"results": [{}]}}"#, [row; 50].join(","));
        assert_eq!(of_json(many.as_bytes()).unwrap().len(), RESULTS_MAX);
    }

    #[test]
    fn the_results_on_a_page_of_duckduckgo_are_found_without_advertisements() {
        let page = r#"<div class="result results_links"><h2><a rel="nofollow" class="result__a"
            href="//duckduckgo.com/y.js?ad_domain=x&amp;u=1">Buy</a></h2></div>
          <div class="result"><h2><a class="result__a"
            href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.org%2F%3Fq%3D1%26r%3D%C3%A4&amp;rut=9">An <b>oven</b> &amp; more</a></h2>
            <a class="result__url" href="x">a.org</a>
            <a class="result__snippet" href="x">Hot &lt;b&gt; <b>ovens</b></a></div>
          <div class="result"><a class="result__a" href="https://b.org/x">B</a></div>"#;
        assert_eq!(
            of_page(page).unwrap(),
            [
                hit(
                    "An oven &amp; more",
                    "https://a.org/?q=1&r=%C3%A4",
                    "Hot &lt;b> ovens"
                ),
                hit("B", "https://b.org/x", ""),
            ]
        );
        assert_eq!(of_page("<div class='no-results'>"), Ok(Vec::new()));
        assert_eq!(of_page("<div class='anomaly-modal__title'>"), Err(TOO_MANY));
    }

    proptest::proptest! {
        #[test]
        fn any_reply_has_results_or_none(reply in ".{0,80}") {
            let _ = (of_json(reply.as_bytes()), of_page(&reply), target(&reply));
        }
    }
}
