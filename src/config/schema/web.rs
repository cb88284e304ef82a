//! `tools.web`

use serde::Deserialize;

use crate::base::secret::Secret;

/// `tools.web`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebTools {
    /// Whether the agent may search and read pages; see [`Tools::has_web`](super::Tools::has_web).
    pub enabled: Option<bool>,
    /// Searches.
    pub search: WebSearch,
    /// Pages.
    pub fetch: WebFetch,
    /// Hosts that may be read although they are not on the public Internet.
    pub allow_hosts: Vec<String>,
    /// A proxy's URL; `None`: no proxy.
    pub proxy: Option<Secret>,
}

/// A search engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// The first that has a key, else DuckDuckGo.
    #[default]
    Auto,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Perplexity's search.
    Perplexity,
    /// A SearXNG server of one's own.
    Searxng,
    /// DuckDuckGo's pages without scripts.
    DuckDuckGo,
}

/// `tools.web.search`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebSearch {
    /// The engine.
    pub provider: SearchProvider,
    /// Its key; empty: from the engine's variable.
    pub api_key: Secret,
    /// Where it is; empty: the engine's own address.
    pub base_url: String,
    /// Results, unless a call says otherwise.
    pub max_results: usize,
}

impl Default for WebSearch {
    fn default() -> Self {
        Self {
            provider: SearchProvider::Auto,
            api_key: Secret::default(),
            base_url: String::new(),
            max_results: 5,
        }
    }
}

/// `tools.web.fetch`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WebFetch {
    /// Bytes of a page that are read.
    pub max_bytes: u64,
}

impl Default for WebFetch {
    fn default() -> Self {
        Self {
            max_bytes: 5 * 1024 * 1024,
        }
    }
}
