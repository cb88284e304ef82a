//! Chooses the provider and the model from the configuration and the environment. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Map, Value};

use super::table::{
    Api, Format, Known, OFFLINE, PROVIDERS, Prefix, find, known, list_names, nearest,
};
use crate::base::error::{Error, Result};
use crate::base::secret::Secret;
use crate::config::check::safe_path;
use crate::config::schema::{ApiType, CacheTime, OpenAiApi, Price, Provider};
use crate::models::signin::codex::CLIENT_VERSION;
use crate::models::signin::{Service, SignIn, SignIns};

/// Where a request goes, and with which settings.
#[derive(Clone, Debug)]
pub struct Route {
    /// The provider's name, for people.
    pub provider: String,
    /// The endpoint, without a slash at its end.
    pub base: String,
    /// The wire format.
    pub format: Format,
    /// Which API of OpenAI's format, as the configuration says.
    pub api: OpenAiApi,
    /// How long Anthropic's format has the server cache, as the configuration says.
    pub cache: CacheTime,
    /// The key; may be empty.
    pub key: Secret,
    /// The key as the value of OpenAI's `Authorization` header; empty without a key.
    pub bearer: Secret,
    /// Whether the server accepts no request without a key.
    pub needs_key: bool,
    /// The sign-in with a subscription that each request is made with, in place of a key.
    pub sign_in: Option<SignIn>,
    /// The model as it is sent; empty for the first one that the server lists.
    pub model: String,
    /// Headers added to each request.
    pub headers: Vec<(String, Secret)>,
    /// Members added to each request's body.
    pub extra_body: Map<String, Value>,
    /// Time limit for the start of the answer.
    pub first_byte: Duration,
    /// Time limit for a silence within the answer.
    pub idle: Duration,
    /// A proxy's URL; `None` takes it from the environment.
    pub proxy: Option<Secret>,
    /// Whether its models understand images; `None`: the model's name decides.
    pub images: Option<bool>,
    /// What its models cost, as the configuration says.
    pub prices: BTreeMap<String, Price>,
}

/// What the choice is made from.
pub struct Sources<'a> {
    /// The configuration's `providers`.
    pub providers: &'a BTreeMap<String, Provider>,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The sign-ins with subscriptions; `None`: there are none.
    pub sign_ins: Option<&'a SignIns>,
}

impl Sources<'_> {
    /// Chooses for a provider (`auto` or empty for any) and a model (empty for the provider's
    /// default): the provider by its name, else by the model's prefix, else by how the model's name
    /// begins, else the first with a key, else the offline helper.
    ///
    /// An unknown provider that has an `apiBase` in the configuration speaks OpenAI's format. Its
    /// key is looked up in `NAME_API_KEY` too. Fails when the named provider is neither.
    pub fn choose(&self, provider: &str, model: &str) -> Result<Route> {
        let model = &*self.with_exact_prefix(model.trim());
        if !is_auto(provider) {
            return Ok(self.route(self.resolve(provider)?, model));
        }
        let named = self.by_prefix(model).or_else(|| by_keyword(model));
        match named {
            Some(name) if self.is_taken(&name) => Ok(self.route(&name, model)),
            Some(name) => match self.usable_gateway() {
                Some(gateway) => Ok(self.route(gateway.name, &at_gateway(gateway, &name, model))),
                // The request will fail and name the missing key.
                None => Ok(self.route(&name, model)),
            },
            None => Ok(match self.first_usable() {
                Some(name) => self.route(name, model),
                None => self.route(OFFLINE, ""),
            }),
        }
    }

    /// Chooses for a model that a person names in place of the configured one: a provider before its name
    /// wins over the configured provider when it is connected.
    pub fn choose_named(&self, provider: &str, model: &str) -> Result<Route> {
        let meant = self.by_prefix(&self.with_exact_prefix(model.trim()));
        let is_connected = meant.is_some_and(|name| self.is_taken(&name));
        self.choose(if is_connected { "auto" } else { provider }, model)
    }

    /// Chooses for a fallback model: its own name decides, or else the primary model's provider.
    pub fn choose_fallback(&self, provider: &str, model: &str) -> Result<Route> {
        let model = &*self.with_exact_prefix(model.trim());
        let names_one = self.by_prefix(model).is_some() || by_keyword(model).is_some();
        self.choose(if names_one { "auto" } else { provider }, model)
    }

    /// Whether neither provider nor model is set, and there is no key.
    pub fn is_untouched(&self, provider: &str, model: &str) -> bool {
        is_auto(provider) && model.is_empty() && self.first_usable().is_none()
    }

    /// The exact name of the provider that is meant: a server of the person's own, else what
    /// [`find`] finds.
    pub fn resolve<'n>(&self, name: &'n str) -> Result<&'n str> {
        if self.has_base(name) {
            return Ok(name);
        }
        let row = find(name).ok_or_else(|| unknown_provider(name))?;
        Ok(row.name)
    }

    /// The model with its provider's exact name before the slash: `openai/gpt-6` for `OpenAI/gpt-6`.
    /// A vendor's name counts only where that provider has a key, because gateways have models like
    /// `google/gemma`.
    fn with_exact_prefix<'m>(&self, model: &'m str) -> Cow<'m, str> {
        let meant = model.split_once('/').and_then(|(prefix, rest)| {
            let row = find(prefix).filter(|row| row.name != prefix && !self.has_base(prefix))?;
            let is_meant = row.name.eq_ignore_ascii_case(prefix) || self.is_taken(row.name);
            is_meant.then(|| format!("{}/{rest}", row.name))
        });
        meant.map_or(Cow::Borrowed(model), Cow::Owned)
    }

    /// The provider before the model's first slash, if it is one.
    fn by_prefix(&self, model: &str) -> Option<String> {
        let (name, rest) = model.split_once('/')?;
        let is_one = !rest.is_empty() && (known(name).is_some() || self.has_base(name));
        is_one.then(|| name.to_owned())
    }

    /// The name under which the configuration has a provider: that of a known one may be written in
    /// any way there.
    pub fn section_name<'n>(&'n self, name: &'n str) -> &'n str {
        let means_it = |(key, provider): &(&String, &Provider)| {
            provider.api_base.is_empty() && find(key).is_some_and(|row| row.name == name)
        };
        if self.providers.contains_key(name) {
            name
        } else {
            self.providers
                .iter()
                .find(means_it)
                .map_or(name, |(key, _)| key)
        }
    }

    fn section(&self, name: &str) -> Option<&Provider> {
        self.providers.get(self.section_name(name))
    }

    fn has_base(&self, name: &str) -> bool {
        let configured = self.providers.get(name);
        configured.is_some_and(|provider| !provider.api_base.is_empty())
    }

    fn is_usable(&self, name: &str) -> bool {
        if let Some(sign_in) = self.sign_in(name) {
            return sign_in.is_there();
        }
        let is_free = known(name).is_some_and(Known::is_at_home);
        is_free || self.has_base(name) || !self.key(name).is_empty()
    }

    /// Whether a provider's name before a model's decides. A subscription has no other models, so its name does so
    /// without a sign-in too, and the request says what to type.
    fn is_taken(&self, name: &str) -> bool {
        self.is_usable(name) || self.sign_in(name).is_some()
    }

    /// The sign-in that a provider needs. With an `apiBase` it is a server of the person's own, which gets no token
    /// of a subscription.
    fn sign_in(&self, name: &str) -> Option<SignIn> {
        let service = known(name)?.sign_in.filter(|_| !self.has_base(name))?;
        let proxy = self.section(name).and_then(|section| section.proxy.clone());
        Some(self.sign_ins?.of(service, proxy))
    }

    fn usable_gateway(&self) -> Option<&'static Known> {
        let mut gateways = PROVIDERS.iter().filter(|row| row.gateway);
        gateways.find(|row| self.is_usable(row.name))
    }

    /// The first provider with a key or a configured endpoint.
    fn first_usable(&self) -> Option<&str> {
        self.connected().next()
    }

    /// The providers with a key or a configured endpoint: those of the table first. A local server counts
    /// only where the configuration mentions it.
    fn connected(&self) -> impl Iterator<Item = &str> {
        let of_table = PROVIDERS.iter().map(|row| row.name).filter(|name| {
            let is_at_home = known(name).is_some_and(Known::is_at_home);
            self.is_usable(name) && (!is_at_home || self.section(name).is_some())
        });
        let names = self.providers.keys().map(String::as_str);
        of_table.chain(names.filter(|name| known(name).is_none() && self.has_base(name)))
    }

    /// The routes to the providers that are connected, beyond this one and the offline helper.
    pub fn connected_beside(&self, provider: &str) -> Vec<Route> {
        let others = self
            .connected()
            .filter(|name| *name != provider && *name != OFFLINE);
        others.map(|name| self.route(name, "")).collect()
    }

    fn key(&self, name: &str) -> Secret {
        let configured = self.section(name).map(|provider| &provider.api_key);
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
        let configured = self.section(name).unwrap_or(&default);
        let sign_in = self.sign_in(name);
        let own_base = row.map_or("", |row| row.base);
        let own_base = sign_in.as_ref().map_or(own_base, SignIn::base);
        let base = match configured.api_base.trim_end_matches('/') {
            "" => own_base,
            base => base,
        };
        let model = match model {
            "" => row.map_or("", |row| row.model).to_owned(),
            model => without_prefix(name, row, model).to_owned(),
        };
        let key = match sign_in {
            Some(_) => Secret::default(),
            None => self.key(name),
        };
        let bearer = match key.expose() {
            "" => Secret::default(),
            key => Secret::new(&format!("Bearer {key}")),
        };
        Route {
            provider: name.to_owned(),
            base: base.to_owned(),
            format: format(configured.api_type, row),
            api: configured.api,
            cache: configured.cache,
            key,
            bearer,
            needs_key: base == own_base && row.is_some_and(|row| !row.variables.is_empty()),
            sign_in,
            model,
            headers: configured.extra_headers.clone().into_iter().collect(),
            extra_body: configured.extra_body.clone(),
            first_byte: Duration::from_secs(configured.timeout_secs),
            idle: Duration::from_secs(configured.stream_idle_timeout_secs),
            proxy: configured.proxy.clone(),
            images: configured.images,
            prices: configured.prices.clone(),
        }
    }
}

/// Whether no provider is named.
pub fn is_auto(provider: &str) -> bool {
    provider.is_empty() || provider.eq_ignore_ascii_case("auto")
}

fn unknown_provider(name: &str) -> Error {
    let meant = nearest(name).map(|row| format!("Did you mean {}? ", row.name));
    let name = safe_path([name].into_iter());
    Error::Config(format!(
        "Unknown provider \"{name}\" in agents.defaults or agents.list. {}The known ones are {}. For your \
         own OpenAI-compatible server, set providers.{name}.apiBase to its address.",
        meant.unwrap_or_default(),
        list_names()
    ))
}

impl Route {
    /// The route to a provider that is not in the configuration yet, from what a person has just
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
            sign_ins: None,
        };
        sources.route(name, "")
    }

    /// The address of the server's list of models.
    pub fn models_url(&self) -> String {
        let url = self.url(Api::Chat);
        let base = [CHAT, "/messages"]
            .iter()
            .find_map(|path| url.strip_suffix(path))
            .unwrap_or(&url);
        // Anthropic lists 20 models otherwise, and 1000 at most.
        let query = match self.format {
            Format::Anthropic => "?limit=1000".to_owned(),
            _ if self.is_with(Service::Codex) => format!("?client_version={CLIENT_VERSION}"),
            _ => String::new(),
        };
        format!("{base}/models{query}")
    }

    /// Whether the offline helper answers.
    pub fn is_offline(&self) -> bool {
        self.format == Format::Offline
    }

    /// Whether it leads to a provider of the table in the cloud, by the endpoint's host: those understand
    /// the models that they serve.
    pub fn is_official(&self) -> bool {
        let own = host(&self.base);
        let cloud = PROVIDERS.iter().filter(|row| !row.is_at_home());
        self.sign_in.is_some() || cloud.into_iter().any(|row| host(row.base) == own)
    }

    /// Whether it leads to a provider of the table in the cloud, by the provider's name.
    pub fn is_of_cloud(&self) -> bool {
        known(&self.provider).is_some_and(|row| !row.is_at_home())
    }

    /// Whether requests are made with a subscription of this service.
    pub fn is_with(&self, service: Service) -> bool {
        let sign_in = self.sign_in.as_ref();
        sign_in.is_some_and(|sign_in| sign_in.service() == service)
    }

    /// The API that a model is asked with at first; `by_name` is what its name says.
    pub fn api(&self, by_name: Api) -> Api {
        let is_own = known(&self.provider).is_some_and(|row| host(row.base) == host(&self.base));
        let is_own = is_own || self.sign_in.is_some();
        match self.api {
            _ if self.is_with(Service::Codex) => Api::Responses,
            OpenAiApi::Chat => Api::OnlyChat,
            OpenAiApi::Responses => Api::Responses,
            OpenAiApi::Auto if self.base.ends_with(RESPONSES) => Api::Responses,
            OpenAiApi::Auto if is_own => by_name,
            OpenAiApi::Auto => Api::Chat,
        }
    }

    /// Whether the configuration has it asked with the Responses API.
    pub fn is_set_to_responses(&self) -> bool {
        self.format == Format::OpenAi
            && (self.api == OpenAiApi::Responses || self.base.ends_with(RESPONSES))
    }

    /// Whether the provider is a program that runs at home rather than a service.
    pub fn runs_at_home(&self) -> bool {
        known(&self.provider).is_some_and(Known::is_at_home)
    }

    /// Whether its server is one of one's own, or at least near: it may tell what it gives a model.
    pub fn is_local(&self) -> bool {
        let name = self.provider.to_ascii_lowercase();
        let is_own = self.runs_at_home() || LLAMA_CPP.contains(&&*name);
        let is_own = is_own && !self.base.contains("//ollama.com");
        !self.is_offline() && !self.is_official() && (is_own || is_private(&self.base))
    }

    /// Whether requests have secret headers.
    pub fn carries_secret(&self) -> bool {
        !self.key.is_empty() || !self.headers.is_empty() || self.sign_in.is_some()
    }

    /// The URL that requests are posted to. An `apiBase` that is the full URL already is kept.
    pub fn url(&self, api: Api) -> String {
        let (path, version, other) = match (self.format, api) {
            (Format::Anthropic, _) => ("/messages", "/v1", ""),
            (_, Api::Responses) => (RESPONSES, "", CHAT),
            _ => (CHAT, "", RESPONSES),
        };
        let base = &self.base;
        let base = base.strip_suffix(other).unwrap_or(base);
        if base.ends_with(path) {
            base.to_owned()
        } else if base.ends_with("/v1") {
            format!("{base}{path}")
        } else {
            format!("{base}{version}{path}")
        }
    }

    /// The route to a local server of the table, for the first model that it lists.
    pub fn to_local(row: &Known) -> Self {
        let providers = BTreeMap::new();
        let sources = Sources {
            providers: &providers,
            variable: &|_| None,
            sign_ins: None,
        };
        sources.route(row.name, "")
    }
}

/// The paths of OpenAI's two APIs.
const CHAT: &str = "/chat/completions";
const RESPONSES: &str = "/responses";

/// The host of a URL, in lower case.
fn host(url: &str) -> String {
    url.split('/').nth(2).unwrap_or_default().to_lowercase()
}

/// The provider whose models have names that begin like this one.
fn by_keyword(model: &str) -> Option<String> {
    let model = model.to_lowercase();
    let row = PROVIDERS.iter().find(|row| {
        let mut keywords = row.keywords.iter();
        keywords.any(|keyword| model.starts_with(keyword))
    });
    row.map(|row| row.name.to_owned())
}

/// The model's name at a gateway: with its vendor before it, where that is known.
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

/// Whether an address is on this machine or in a private network.
pub fn is_private(base: &str) -> bool {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    let server = rest.split(['/', '?']).next().unwrap_or_default();
    let server = server.rsplit('@').next().unwrap_or_default();
    let host = match server.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => server.split(':').next().unwrap_or_default(),
    };
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            // 100.64.0.0/10 is what providers and Tailscale give to machines behind them.
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            address.is_loopback() || address.is_private() || address.is_link_local() || is_shared
        }
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => is_home_name(host),
    }
}

/// Whether a name is one that only a network at home knows: without a dot, or below a domain that is kept for it.
fn is_home_name(host: &str) -> bool {
    const DOMAINS: &[&str] = &[
        ".localhost",
        ".local",
        ".lan",
        ".home",
        ".home.arpa",
        ".internal",
    ];
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_bare = !host.is_empty() && !host.contains('.');
    is_bare || DOMAINS.iter().any(|domain| host.ends_with(domain))
}

/// What people call a provider that is llama.cpp's server.
const LLAMA_CPP: [&str; 3] = ["llamacpp", "llama.cpp", "llama-cpp"];

/// The version of Anthropic's API (<https://docs.claude.com/en/api/versioning>).
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The headers of a request: the key as the format has it, and those of the configuration, which win.
pub(super) fn headers(route: &Route) -> Vec<(&str, &str)> {
    let extra = route.headers.iter();
    let mut headers: Vec<_> = extra
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    let own: &[(&str, &str)] = match route.format {
        Format::Anthropic => &[
            ("anthropic-version", ANTHROPIC_VERSION),
            ("x-api-key", route.key.expose()),
        ],
        _ => &[("authorization", route.bearer.expose())],
    };
    for (name, value) in own {
        let is_set = headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name));
        if !is_set && !value.is_empty() {
            headers.push((name, value));
        }
    }
    headers
}

#[cfg(test)]
mod tests;
