//! Which search engine is asked.

use crate::base::secret::Secret;
use crate::config::schema::{SearchProvider, WebSearch};

/// What is known about a search engine.
#[derive(Debug)]
pub struct Known {
    /// Which it is.
    pub provider: SearchProvider,
    /// Its name, for people.
    pub name: &'static str,
    /// The variable with its key; empty where it needs none.
    pub variable: &'static str,
    /// What its keys begin with, where that is certain.
    prefix: &'static str,
    /// Where its API is.
    base: &'static str,
}

const fn row(
    provider: SearchProvider,
    name: &'static str,
    variable: &'static str,
    prefix: &'static str,
    base: &'static str,
) -> Known {
    Known {
        provider,
        name,
        variable,
        prefix,
        base,
    }
}

/// In the order in which `auto` looks for keys.
static KNOWN: [Known; 6] = [
    row(
        SearchProvider::Brave,
        "Brave",
        VARIABLES[0],
        "BSA",
        "https://api.search.brave.com",
    ),
    row(
        SearchProvider::Tavily,
        "Tavily",
        VARIABLES[1],
        "tvly-",
        "https://api.tavily.com",
    ),
    row(
        SearchProvider::Exa,
        "Exa",
        VARIABLES[2],
        "",
        "https://api.exa.ai",
    ),
    row(
        SearchProvider::Perplexity,
        "Perplexity",
        VARIABLES[3],
        "pplx-",
        "https://api.perplexity.ai",
    ),
    row(SearchProvider::Searxng, "SearXNG", "", "", ""),
    row(
        SearchProvider::DuckDuckGo,
        "DuckDuckGo",
        "",
        "",
        "https://html.duckduckgo.com",
    ),
];

/// The variables with keys of search engines.
pub const VARIABLES: [&str; 4] = [
    "BRAVE_API_KEY",
    "TAVILY_API_KEY",
    "EXA_API_KEY",
    "PERPLEXITY_API_KEY",
];

/// The search engine in use.
#[derive(Debug)]
pub struct Engine {
    /// Which it is.
    pub known: &'static Known,
    /// Its key; empty where it needs none.
    pub key: Secret,
    /// Where its API is, without a slash at the end.
    pub base: String,
    /// What is missing in the configuration, and how to add it.
    pub problem: Option<String>,
}

impl Engine {
    /// The engine that the configuration means. `variable` gives the value of an environment variable.
    pub fn choose(settings: &WebSearch, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let key_of = |known: &Known| {
            let of_variable = || variable(known.variable).filter(|_| !known.variable.is_empty());
            if settings.api_key.is_empty() {
                Secret::new(&of_variable().unwrap_or_default())
            } else {
                settings.api_key.clone()
            }
        };
        let [.., searxng, duckduckgo] = &KNOWN;
        let mut problem = None;
        let known = match settings.provider {
            SearchProvider::Auto if !settings.api_key.is_empty() => {
                let key = settings.api_key.expose();
                let has_prefix =
                    |known: &&Known| !known.prefix.is_empty() && key.starts_with(known.prefix);
                KNOWN.iter().find(has_prefix).unwrap_or_else(|| {
                    problem = Some(
                        "It is not clear which search engine tools.web.search.apiKey is for. Set \
                         tools.web.search.provider"
                            .to_owned(),
                    );
                    duckduckgo
                })
            }
            SearchProvider::Auto if !settings.base_url.is_empty() => searxng,
            SearchProvider::Auto => {
                let has_key = |known: &&Known| !key_of(known).is_empty();
                KNOWN.iter().find(has_key).unwrap_or(duckduckgo)
            }
            named => KNOWN
                .iter()
                .find(|known| known.provider == named)
                .unwrap_or(duckduckgo),
        };
        let base = if settings.base_url.is_empty() {
            known.base
        } else {
            &settings.base_url
        };
        let key = key_of(known);
        if !known.variable.is_empty() && key.is_empty() {
            problem = Some(format!(
                "{} needs an API key. Set tools.web.search.apiKey or {}",
                known.name, known.variable
            ));
        } else if base.is_empty() {
            problem = Some(format!(
                "The address of the {} server is missing. Set tools.web.search.baseUrl",
                known.name
            ));
        }
        Self {
            known,
            key,
            base: base.trim_end_matches('/').to_owned(),
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(settings: WebSearch, variables: &[&str]) -> (&'static str, String, Option<String>) {
        let value = |name: &str| variables.contains(&name).then(|| format!("key of {name}"));
        let engine = Engine::choose(&settings, &value);
        (
            engine.known.name,
            engine.key.expose().to_owned(),
            engine.problem,
        )
    }

    fn settings(provider: SearchProvider, key: &str, base: &str) -> WebSearch {
        WebSearch {
            provider,
            api_key: Secret::new(key),
            base_url: base.to_owned(),
            ..WebSearch::default()
        }
    }

    #[test]
    fn auto_takes_the_first_engine_with_a_key_and_else_duckduckgo() {
        let auto = |key: &str, base: &str| settings(SearchProvider::Auto, key, base);
        for (settings, variables, name, key) in [
            (auto("", ""), &[][..], "DuckDuckGo", ""),
            (
                auto("", ""),
                &["EXA_API_KEY", "TAVILY_API_KEY"],
                "Tavily",
                "key of TAVILY_API_KEY",
            ),
            (auto("tvly-1", ""), &["BRAVE_API_KEY"], "Tavily", "tvly-1"),
            (auto("pplx-1", ""), &[], "Perplexity", "pplx-1"),
            (
                auto("", "http://nas:8080/"),
                &["BRAVE_API_KEY"],
                "SearXNG",
                "",
            ),
        ] {
            assert_eq!(chosen(settings, variables), (name, key.to_owned(), None));
        }
        let (_, _, problem) = chosen(auto("who-knows", ""), &[]);
        assert!(problem.unwrap().ends_with("Set tools.web.search.provider"));
    }

    #[test]
    fn what_a_named_engine_lacks_is_said() {
        for (provider, base, problem) in [
            (
                SearchProvider::Brave,
                "",
                Some("Set tools.web.search.apiKey or BRAVE_API_KEY"),
            ),
            (
                SearchProvider::Searxng,
                "",
                Some("Set tools.web.search.baseUrl"),
            ),
            (SearchProvider::Searxng, "http://nas", None),
            (SearchProvider::DuckDuckGo, "", None),
        ] {
            let (_, _, found) = chosen(settings(provider, "", base), &["EXA_API_KEY"]);
            assert_eq!(found.is_some(), problem.is_some(), "{found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .ends_with(problem.unwrap_or_default())
            );
        }
        let named = settings(SearchProvider::Exa, "", "");
        assert_eq!(chosen(named, &VARIABLES).1, "key of EXA_API_KEY");
    }
}
