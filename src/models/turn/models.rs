//! The models that may answer, in the order in which they are asked.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Turn;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Result;
use crate::base::limits;
use crate::base::sync::{Mutex, MutexGuard};
use crate::config::schema::AgentDefaults;
use crate::models::call::settings;
use crate::models::offers;
use crate::models::prices::PriceKnown;
use crate::models::quirks::window::{self, Window};
use crate::models::quirks::{Quirks, ThinkingControl};
use crate::models::retry::CircuitBreaker;
use crate::models::route::{Route, Sources};
use crate::models::table::{Api, known};
use crate::net::http::{Client, Pool, PooledClient, Tls};

/// Providers whose models `/model` lists: each is asked at the same time.
const PROVIDERS_MAX: usize = 6;

/// The local servers to look for, the likeliest first.
const PROBED: [&str; 3] = ["ollama", "lmstudio", "vllm"];

/// The configured models, and what is remembered about them between turns. Turns may share it.
pub struct Models {
    /// The primary model, then the fallbacks.
    candidates: Vec<Candidate>,
    /// The other providers that are connected, as far as [`PROVIDERS_MAX`] goes.
    others: Vec<Route>,
    connections: Pool,
    /// The monotonic clock of the circuit breakers.
    pub(in crate::models) watch: Stopwatch,
    /// Whether no model is configured and there is no key.
    untouched: bool,
}

/// One of the models.
pub(in crate::models) struct Candidate {
    pub route: Route,
    /// Whether it has ever made a call as its API has it, so that what it writes is no call.
    pub has_called: AtomicBool,
    state: Mutex<State>,
}

/// What is remembered about a model.
pub(in crate::models) struct State {
    pub breaker: CircuitBreaker,
    /// How its API differs, as far as is known by now.
    pub quirks: Quirks,
    /// The name as it is sent; empty while the server has to be asked for it.
    pub model: String,
    /// Its window, where its server has told it.
    pub window: Option<Window>,
    /// How often the server was asked for it.
    pub window_asks: u32,
}

impl Candidate {
    fn new(route: Route) -> Self {
        let state = State {
            breaker: CircuitBreaker::default(),
            quirks: Quirks::of_model(&route, &route.model),
            model: route.model.clone(),
            window: None,
            window_asks: 0,
        };
        Self {
            route,
            has_called: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The model's name as it is sent, and how its API differs.
    pub fn model(&self) -> (String, Quirks) {
        let state = self.state();
        (state.model.clone(), state.quirks)
    }

    /// Sets the model that the server lists first, where none is named.
    pub fn set_model(&self, model: String) {
        let mut state = self.state();
        state.quirks = Quirks::of_model(&self.route, &model);
        state.model = model;
    }

    /// The name that people use: `openai/gpt-6-sol`.
    pub fn name(&self) -> String {
        let model = &self.state().model;
        match model.split_once('/') {
            // `openrouter/auto` is a whole name.
            Some((vendor, _)) if vendor == self.route.provider => model.clone(),
            _ if model.is_empty() => self.route.provider.clone(),
            _ => format!("{}/{model}", self.route.provider),
        }
    }
}

impl Models {
    /// Chooses from the configuration, the environment and the sign-ins, with the model
    /// `named` in place of the configured one. Nothing is connected. Fails with [`Error::Config`](crate::base::error::Error::Config) for a provider that
    /// does not exist.
    pub fn new(
        agent: &AgentDefaults,
        named: Option<&str>,
        sources: &Sources<'_>,
        connections: Pool,
    ) -> Result<Self> {
        let mut routes = vec![match named {
            Some(model) => sources.choose_named(&agent.provider, model)?,
            None => sources.choose(&agent.provider, &agent.model)?,
        }];
        let mut others = sources.connected_beside(&routes[0].provider);
        others.truncate(PROVIDERS_MAX - 1);
        for model in &agent.fallback_models {
            routes.push(sources.choose_fallback(&agent.provider, model)?);
        }
        Ok(Self {
            candidates: routes.into_iter().map(Candidate::new).collect(),
            others,
            connections,
            watch: Stopwatch::start(),
            untouched: sources.is_untouched(&agent.provider, named.unwrap_or(&agent.model)),
        })
    }

    /// Where no model is configured and there is no key, looks for a model server on this machine
    /// and uses the first model it lists. Each of the three has
    /// [`PROBE`](limits::models::PROBE) to answer.
    pub fn discover(&mut self, cancel: &Cancel) -> Result<()> {
        if self.untouched {
            let rows = PROBED.iter().filter_map(|name| known(name));
            let routes: Vec<_> = rows.map(Route::to_local).collect();
            if let Some(found) = first_answering(&self.connections, routes, cancel)? {
                self.candidates[0] = Candidate::new(found);
            }
        }
        Ok(())
    }

    /// The primary model's route. Its model is empty where the server will be asked for it.
    pub fn primary(&self) -> &Route {
        &self.candidates[0].route
    }

    /// The providers that are connected, the primary model's first. The others' routes have their usual
    /// models.
    pub fn providers(&self) -> Vec<&Route> {
        let others = self.others.iter();
        let others = others.filter(|route| route.provider != self.primary().provider);
        std::iter::once(self.primary()).chain(others).collect()
    }

    /// What a person can choose about the primary model's thinking.
    pub fn thinking_control(&self) -> ThinkingControl {
        let primary = &self.candidates[0];
        let quirks = primary.state().quirks;
        quirks.thinking_control(primary.route.format)
    }

    /// What is known about the primary model's price.
    pub fn price(&self) -> PriceKnown {
        let primary = &self.candidates[0];
        PriceKnown::of_model(&primary.route, &primary.state().model)
    }

    /// The models whose price is not known.
    pub fn unpriced(&self) -> Vec<String> {
        let is_unpriced = |candidate: &&Candidate| {
            let known = PriceKnown::of_model(&candidate.route, &candidate.state().model);
            known == PriceKnown::No && !candidate.route.is_offline()
        };
        let found = self.candidates.iter().filter(is_unpriced);
        found.map(Candidate::name).collect()
    }

    /// The models' names as people write them, the primary one first.
    pub fn names(&self) -> Vec<String> {
        self.candidates.iter().map(Candidate::name).collect()
    }

    /// Whom connections trust.
    pub(in crate::models) fn tls(&self) -> &Tls {
        self.connections.tls()
    }

    /// Takes what is known from earlier about models that make calls as their APIs have them, by name.
    pub fn remember_calls(&self, makes_calls: &dyn Fn(&str) -> bool) {
        for candidate in &self.candidates {
            let is_known = makes_calls(&candidate.name());
            candidate.has_called.fetch_or(is_known, Ordering::Relaxed);
        }
    }

    /// Begins a turn, which `cancel` stops.
    pub fn for_turn(&self, cancel: &Cancel) -> Turn<'_> {
        for candidate in &self.candidates {
            // Another turn may have met a server that did not have it yet.
            if candidate.route.is_set_to_responses() {
                candidate.state().quirks.api = Api::Responses;
            }
        }
        Turn::new(self, cancel.clone())
    }

    /// The candidates in the order in which to ask them: those that do not rest before those that do,
    /// because asking these costs a try at most and may succeed, and among each `current` first. None
    /// beyond the offline helper, which always answers.
    pub(in crate::models) fn order(&self, current: Option<&Candidate>) -> Vec<&Candidate> {
        let now = self.watch.elapsed();
        let is_model = |candidate: &&Candidate| !candidate.route.is_offline();
        let mut order: Vec<_> = self.candidates.iter().take_while(is_model).collect();
        let is_current =
            |candidate| current.is_some_and(|current| std::ptr::eq(current, candidate));
        // A stable sort, for which each is looked at once: another turn may change the breakers meanwhile.
        order.sort_by_cached_key(|candidate| {
            let rests = candidate.state().breaker.rests(now);
            (rests, !is_current(*candidate))
        });
        order
    }

    /// A client for a route, with the connection of an earlier turn where one is open.
    pub(in crate::models) fn client(&self, route: &Route, cancel: &Cancel) -> Result<PooledClient> {
        let key = format!("{} {}", route.provider, route.url(Api::Chat));
        self.connections.client(&key, settings(route), cancel)
    }
}

/// Asks the server of a route for the window of its model, over a connection of its own. `None` where it is no server of
/// one's own, or does not tell.
pub fn ask_window(tls: &Tls, route: &Route, cancel: &Cancel) -> Option<Window> {
    let client = Client::new(tls, settings(route), cancel).ok()?;
    let ask = || {
        let model = match route.model.as_str() {
            "" => offers::first(&client, route).ok()?,
            model => model.to_owned(),
        };
        window::ask(&client, route, &model)
    };
    route
        .is_local()
        .then(|| window::within_time(&client, ask))?
}

/// The first of the servers that lists a model, with that model.
pub(in crate::models) fn first_answering(
    connections: &Pool,
    routes: Vec<Route>,
    cancel: &Cancel,
) -> Result<Option<Route>> {
    for route in routes {
        let probed = Route {
            first_byte: limits::models::PROBE,
            idle: limits::models::PROBE,
            ..route.clone()
        };
        let client = Client::new(connections.tls(), settings(&probed), cancel)?;
        if let Ok(model) = offers::first(&client, &probed) {
            return Ok(Some(Route { model, ..route }));
        }
    }
    Ok(None)
}

/// An unpredictable number, from the seed of the hash maps: nothing here needs to be a secret.
pub(in crate::models) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
