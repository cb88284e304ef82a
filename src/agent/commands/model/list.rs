//! The models of all providers that are connected, grouped by provider.

use std::fmt::Write;

use super::super::{CommandAnswer, Invocation, Surface, usage};
use crate::agent::{Agent, texts};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::CommandButton;
use crate::models::offers::{self, Offers};
use crate::models::prices::{PriceKnown, window};
use crate::models::route::Route;
use crate::text::format_tokens;
use crate::text::markup::inline_code;

/// Models that `/model` lists as text; a provider with more has a page for them.
const MODELS_LISTED_MAX: usize = 40;
/// Models that get a button below that list, as many as a phone shows at once.
const MODEL_BUTTONS_MAX: usize = 8;

impl Agent {
    /// The model of a conversation, and what the servers offer, with buttons to choose another. The
    /// provider of the conversation comes first.
    pub(in crate::agent::commands) fn list_models(
        &self,
        invocation: &Invocation<'_>,
    ) -> Result<CommandAnswer> {
        let Invocation { key, language, .. } = *invocation;
        let mut text = self.model_line(key, language);
        let models = self.selection.models_of(key.as_str())?;
        if let Some(price) = usage::describe_price(&models, language) {
            let _ = write!(text, "\n{price}");
        }
        let routes = models.providers();
        if models.primary().is_offline() && routes.len() == 1 {
            return Ok(text.into());
        }
        let lists = offers::list_all(self.connections.tls(), &routes, invocation.cancel);
        let mut groups = Vec::new();
        for (route, list) in routes.iter().zip(lists) {
            match list {
                _ if route.is_offline() => {}
                Ok(offers) => groups.push((*route, offers)),
                Err(error) => {
                    let _ = write!(text, "\n\n{error}");
                }
            }
        }
        let count = groups.len().max(1);
        let bounds = (
            MODELS_LISTED_MAX / count,
            (MODEL_BUTTONS_MAX / count).max(1),
        );
        let mut buttons = Vec::new();
        let mut has_facts = false;
        for (index, (route, offers)) in groups.into_iter().enumerate() {
            let is_first = index == 0;
            let group = Group::new(route, offers, &models.primary().provider);
            let heading = match (is_first, invocation.surface) {
                (false, _) => texts::offers(language, &route.provider),
                (true, Surface::Terminal) => texts::offers_typed(language, &route.provider),
                (true, _) => texts::offers_tapped(language, &route.provider),
            };
            let _ = write!(text, "\n\n{heading}");
            has_facts |= group.write(&mut text, bounds.0, language);
            buttons.extend(group.buttons(bounds.1));
        }
        if has_facts {
            let _ = write!(text, "\n\n{}", texts::offers_legend(language));
        }
        Ok(CommandAnswer {
            text,
            buttons,
            is_private: false,
        })
    }
}

/// The models of one provider.
struct Group<'a> {
    route: &'a Route,
    offers: Offers,
    /// Whether the conversation's model is the first.
    has_current: bool,
    /// What is before the models' names: nothing for the conversation's provider.
    prefix: String,
}

impl<'a> Group<'a> {
    fn new(route: &'a Route, mut offers: Offers, primary: &str) -> Self {
        let is_primary = route.provider == primary;
        // The current one first, whatever else is left out.
        let current = offers.names.iter().position(|name| *name == route.model);
        let current = current.filter(|_| is_primary);
        if let Some(index) = current {
            offers.names[..=index].rotate_right(1);
        }
        Self {
            route,
            offers,
            has_current: current.is_some(),
            prefix: match is_primary {
                true => String::new(),
                false => format!("{}/", route.provider),
            },
        }
    }

    fn mark(&self, index: usize) -> &'static str {
        match (index, self.has_current) {
            (0, true) => "✓ ",
            _ => "",
        }
    }

    /// Adds the lines of at most `max` models; returns whether a window or a price is known.
    fn write(&self, text: &mut String, max: usize, language: Language) -> bool {
        let mut has_facts = false;
        for (index, name) in self.offers.names.iter().take(max).enumerate() {
            let shown = inline_code(&format!("{}{name}", self.prefix));
            let facts = self.facts(name);
            has_facts |= !facts.is_empty();
            let _ = write!(text, "\n- {}{shown}{facts}", self.mark(index));
        }
        if let Some(left @ 1..) = self.offers.names.len().checked_sub(max) {
            let _ = write!(text, "\n\n{}", texts::more_offers(language, &left));
        }
        has_facts
    }

    /// The window and the price of a model, such as ` · 1M · $2/$10`, as far as they are known. A server of
    /// one's own has no price.
    fn facts(&self, name: &str) -> String {
        let told = self.offers.windows.get(name).copied();
        let window = told.or_else(|| window(&self.route.provider, name).map(u64::from));
        let mut facts = String::new();
        if let Some(tokens) = window {
            let _ = write!(facts, " · {}", format_tokens(tokens));
        }
        let known = PriceKnown::of_model(self.route, name);
        if let PriceKnown::Configured(price) | PriceKnown::Listed(price) = known {
            let _ = write!(facts, " · ${}/${}", price.input, price.output);
        }
        facts
    }

    fn buttons(&self, max: usize) -> impl Iterator<Item = Vec<CommandButton>> {
        let names = self.offers.names.iter().take(max).enumerate();
        names.map(|(index, name)| {
            vec![CommandButton {
                label: format!("{}{}{name}", self.mark(index), self.prefix),
                command: format!("/model {}/{name}", self.route.provider),
            }]
        })
    }
}
