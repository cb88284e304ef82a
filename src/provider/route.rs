//! Which provider and model answer: a pure choice from configuration and environment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::table::{Format, Known, OFFLINE, PROVIDERS, Prefix, known};
use crate::config::check::safe_path;
use crate::config::schema::{ApiType, Provider};
use crate::error::{Error, Result};
use crate::secret::Secret;

/// Where a request goes, and with what.
#[derive(Clone, Debug)]
pub struct Route {
    /// The provider's name, for people.
    pub provider: String,
    /// The endpoint, without a slash at its end.
    pub base: String,
    /// What it speaks.
    pub format: Format,
    /// The key; may be empty.
    pub key: Secret,
    /// The key as a header's value in OpenAI's format; empty without a key.
    pub bearer: Secret,
    /// Whether it is pointless to ask without a key.
    pub needs_key: bool,
    /// The model as it is sent; empty: the first that the server lists.
    pub model: String,
    /// Headers added to each request.
    pub headers: Vec<(String, Secret)>,
    /// Members added to each request's body.
    pub extra_body: Map<String, Value>,
    /// How long the answer may take to begin.
    pub first_byte: Duration,
    /// How long an answer may be silent.
    pub idle: Duration,
    /// A proxy's URL; none: from the environment.
    pub proxy: Option<Secret>,
}

/// What a choice is made from.
pub struct Sources<'a> {
    /// The configuration's `providers`.
    pub providers: &'a BTreeMap<String, Provider>,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    /// Chooses for a wanted provider (`auto` or empty: any) and model (empty: the provider's own):
    /// the provider by name, else by the model's prefix, else by how the model's name begins, else
    /// the first with a key, else the offline helper.
    ///
    /// An unknown provider that has an `apiBase` in the configuration speaks OpenAI's format. Its
    /// key is looked up in `NAME_API_KEY` too. Fails when the named provider is neither.
    pub fn choose(&self, provider: &str, model: &str) -> Result<Route> {
        let model = model.trim();
        if !matches!(provider, "" | "auto") {
            self.check_name(provider)?;
            return Ok(self.route(provider, model));
        }
        let named = self.by_prefix(model).or_else(|| by_keyword(model));
        match named {
            Some(name) if self.is_usable(&name) => Ok(self.route(&name, model)),
            Some(name) => match self.usable_gateway() {
                Some(gateway) => Ok(self.route(gateway.name, &at_gateway(gateway, &name, model))),
                // Without a key it fails, and says which one is missing.
                None => Ok(self.route(&name, model)),
            },
            None => Ok(match self.first_usable() {
                Some(name) => self.route(name, model),
                None => self.route(OFFLINE, ""),
            }),
        }
    }

    /// Chooses for a fallback model: its own name decides, and the primary's provider only where
    /// it does not.
    pub fn choose_fallback(&self, provider: &str, model: &str) -> Result<Route> {
        let says_so = self.by_prefix(model).is_some() || by_keyword(model).is_some();
        self.choose(if says_so { "auto" } else { provider }, model)
    }

    /// Whether nobody has said which model to use, and no key is there.
    pub fn is_untouched(&self, provider: &str, model: &str) -> bool {
        matches!(provider, "" | "auto") && model.is_empty() && self.first_usable().is_none()
    }

    fn check_name(&self, name: &str) -> Result<()> {
        if known(name).is_some() || self.has_base(name) {
            return Ok(());
        }
        let name = safe_path([name].into_iter());
        let names: Vec<_> = PROVIDERS.iter().map(|row| row.name).collect();
        Err(Error::Config(format!(
            "agents.defaults.provider: there is no provider \"{name}\". Known are {}; any other needs providers.{name}.apiBase",
            names.join(", ")
        )))
    }

    /// The provider that stands before the model's first slash, if it is one.
    fn by_prefix(&self, model: &str) -> Option<String> {
        let (name, rest) = model.split_once('/')?;
        let is_one = !rest.is_empty() && (known(name).is_some() || self.has_base(name));
        is_one.then(|| name.to_owned())
    }

    fn has_base(&self, name: &str) -> bool {
        let configured = self.providers.get(name);
        configured.is_some_and(|provider| !provider.api_base.is_empty())
    }

    fn is_usable(&self, name: &str) -> bool {
        let is_free = known(name).is_some_and(|row| row.variables.is_empty());
        is_free || self.has_base(name) || !self.key(name).is_empty()
    }

    fn usable_gateway(&self) -> Option<&'static Known> {
        let mut gateways = PROVIDERS.iter().filter(|row| row.gateway);
        gateways.find(|row| self.is_usable(row.name))
    }

    /// The first provider with a key or an endpoint of its own: the table's, then the others. A
    /// local server counts where the configuration mentions it.
    fn first_usable(&self) -> Option<&str> {
        let of_table = PROVIDERS.iter().map(|row| row.name).find(|name| {
            let mentioned = self.providers.contains_key(*name);
            self.is_usable(name) && (mentioned || !self.key(name).is_empty())
        });
        of_table.or_else(|| {
            let mut names = self.providers.keys().map(String::as_str);
            names.find(|name| known(name).is_none() && self.has_base(name))
        })
    }

    fn key(&self, name: &str) -> Secret {
        let configured = self.providers.get(name).map(|provider| &provider.api_key);
        if let Some(key) = configured.filter(|key| !key.is_empty()) {
            return key.clone();
        }
        let own = [name.to_uppercase().replace('-', "_") + "_API_KEY"];
        let found = match known(name) {
            Some(row) => row.variables.iter().find_map(|name| (self.variable)(name)),
            None => (self.variable)(&own[0]),
        };
        Secret::new(&found.unwrap_or_default())
    }

    fn route(&self, name: &str, model: &str) -> Route {
        let row = known(name);
        let default = Provider::default();
        let configured = self.providers.get(name).unwrap_or(&default);
        let own_base = row.map_or("", |row| row.base);
        let base = match configured.api_base.trim_end_matches('/') {
            "" => own_base,
            base => base,
        };
        let model = match model {
            "" => row.map_or("", |row| row.model).to_owned(),
            model => without_prefix(name, row, model).to_owned(),
        };
        let key = self.key(name);
        let bearer = match key.expose() {
            "" => Secret::default(),
            key => Secret::new(&format!("Bearer {key}")),
        };
        Route {
            provider: name.to_owned(),
            base: base.to_owned(),
            format: format(configured.api_type, row),
            key,
            bearer,
            needs_key: base == own_base && row.is_some_and(|row| !row.variables.is_empty()),
            model,
            headers: configured.extra_headers.clone().into_iter().collect(),
            extra_body: configured.extra_body.clone(),
            first_byte: Duration::from_secs(configured.timeout_secs),
            idle: Duration::from_secs(configured.stream_idle_timeout_secs),
            proxy: configured.proxy.clone(),
        }
    }
}

impl Route {
    /// The route to a provider that is not in the configuration yet, from what somebody has just
    /// entered. `variable` looks up an environment variable, for a key that is not in `settings`.
    pub fn unsaved(
        name: &str,
        settings: Provider,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let providers = BTreeMap::from([(name.to_owned(), settings)]);
        let sources = Sources {
            providers: &providers,
            variable,
        };
        sources.route(name, "")
    }

    /// The address of the server's list of models.
    pub fn models_url(&self) -> String {
        let url = self.url();
        let base = ["/chat/completions", "/messages"]
            .iter()
            .find_map(|path| url.strip_suffix(path))
            .unwrap_or(&url);
        // Anthropic lists 20 models otherwise, and 1000 at most.
        let limit = match self.format {
            Format::Anthropic => "?limit=1000",
            _ => "",
        };
        format!("{base}/models{limit}")
    }

    /// Whether the helper in the program answers.
    pub fn is_offline(&self) -> bool {
        self.format == Format::Offline
    }

    /// Whether requests have headers that are secret.
    pub fn carries_secret(&self) -> bool {
        !self.key.is_empty() || !self.headers.is_empty()
    }

    /// The address that requests are posted to. A base that is the whole address already stays.
    pub fn url(&self) -> String {
        let (path, version) = match self.format {
            Format::Anthropic => ("/messages", "/v1"),
            _ => ("/chat/completions", ""),
        };
        let base = &self.base;
        if base.ends_with(path) {
            base.clone()
        } else if base.ends_with("/v1") {
            format!("{base}{path}")
        } else {
            format!("{base}{version}{path}")
        }
    }

    /// The route to a local server of the table, with the first model it lists.
    pub fn to_local(row: &Known) -> Self {
        let providers = BTreeMap::new();
        let sources = Sources {
            providers: &providers,
            variable: &|_| None,
        };
        sources.route(row.name, "")
    }
}

/// The provider whose models' names begin like this one.
fn by_keyword(model: &str) -> Option<String> {
    let model = model.to_lowercase();
    let row = PROVIDERS.iter().find(|row| {
        let mut keywords = row.keywords.iter();
        keywords.any(|keyword| model.starts_with(keyword))
    });
    row.map(|row| row.name.to_owned())
}

/// The model's name as a gateway wants it, with its vendor before it where that is known.
fn at_gateway(gateway: &Known, provider: &str, model: &str) -> String {
    let row = known(provider);
    let bare = without_prefix(provider, row, model);
    match row.map_or("", |row| row.vendor) {
        vendor if gateway.prefix == Prefix::CutBeforeVendor && !vendor.is_empty() => {
            format!("{vendor}/{bare}")
        }
        _ => bare.to_owned(),
    }
}

fn without_prefix<'a>(name: &str, row: Option<&Known>, model: &'a str) -> &'a str {
    let rest = model
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty());
    match (rest, row.map(|row| row.prefix)) {
        (Some(rest), Some(Prefix::CutBeforeVendor)) if !rest.contains('/') => model,
        (Some(rest), _) => rest,
        (None, _) => model,
    }
}

fn format(wanted: ApiType, row: Option<&Known>) -> Format {
    match wanted {
        ApiType::Auto => row.map_or(Format::OpenAi, |row| row.format),
        ApiType::OpenAi => Format::OpenAi,
        ApiType::Anthropic => Format::Anthropic,
        ApiType::Offline => Format::Offline,
    }
}

#[cfg(test)]
mod tests;
