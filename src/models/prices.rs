//! What models cost: a small dated table, and the prices of the configuration, which win. A model that
//! is in neither has no price: a guess would be worse than none.

mod rows;

use crate::base::chat::{NANODOLLARS, Usage};
use crate::base::clock::Clock;
use crate::config::schema::Price;
use crate::models::route::{Route, is_private};
use rows::{CHANGES, PRICES, TIERS};

/// The month since which all prices of the table have been those of the providers' pages.
pub const PRICES_DATE: &str = "2026-10";

/// One model: name, window in tokens, then input, cached input, output and what is written to the
/// cache, in US dollars per million tokens.
type Row = (&'static str, u32, f64, f64, f64, f64);

/// Above so many tokens of input, a request costs more: the factors of all input and of the output.
struct Tier {
    pub models: &'static [&'static str],
    pub above: u64,
    pub input: f64,
    pub output: f64,
}

/// From a day on, given in seconds since 1970, all prices of these models have another factor.
struct Change {
    pub models: &'static [&'static str],
    pub from: i64,
    pub factor: f64,
}

/// What is known about a model's price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriceKnown {
    /// It runs on a machine of the person's own, or a subscription covers it.
    Free,
    /// What the configuration says.
    Configured(Price),
    /// What the table says.
    Listed(Price),
    /// Nothing.
    No,
}

impl PriceKnown {
    /// Looks a model of a route up: in the configuration, then in the table, where the route leads to the
    /// provider's own address.
    pub fn of_model(route: &Route, model: &str) -> Self {
        if let Some(price) = configured(route, model) {
            return Self::Configured(price);
        }
        if is_own(route) {
            return Self::Free;
        }
        let is_provider = route.needs_key;
        match listed(&route.provider, model).filter(|_| is_provider) {
            Some(row) => Self::Listed(price_of(row, Clock::System.now_ms() / 1000)),
            None if route.provider == "openrouter" && model.ends_with(":free") => Self::Free,
            None => Self::No,
        }
    }

    /// The price per million tokens; `None` when it is not known.
    pub fn price(self) -> Option<Price> {
        match self {
            Self::Free => Some(Price::default()),
            Self::Configured(price) | Self::Listed(price) => Some(price),
            Self::No => None,
        }
    }
}

/// The usage of one request with what it cost. `usage.cost` may hold what the server said that it cost,
/// which counts where we know no better and the server is one that charges in dollars.
pub fn charge(route: &Route, model: &str, usage: Usage) -> Usage {
    let known = PriceKnown::of_model(route, model);
    let reported = Some(usage.cost).filter(|cost| *cost > 0 && route.provider == "openrouter");
    let charged = match (known, known.price()) {
        (PriceKnown::Listed(price), _) => {
            let name = listed(&route.provider, model).map_or("", |row| row.0);
            Some(cost(price, usage, factors(name, usage)))
        }
        (_, Some(price)) => Some(cost(price, usage, (1.0, 1.0))),
        (_, None) => reported,
    };
    let assumed = match charged {
        Some(_) => 0,
        None => dearest(&route.provider, usage),
    };
    Usage {
        requests: 1,
        cost: charged.unwrap_or(0),
        unpriced: u64::from(charged.is_none()),
        assumed,
        ..usage
    }
}

/// What a request costs with the dearest model of a provider in the table, else of all providers: what it counts as
/// whose price is not known.
fn dearest(provider: &str, usage: Usage) -> u64 {
    let of_provider = PRICES.iter().find(|(name, _)| *name == provider);
    let providers = of_provider.map_or(PRICES, std::slice::from_ref);
    let now = Clock::System.now_ms() / 1000;
    let rows = providers.iter().flat_map(|(_, rows)| *rows);
    let costs = rows.map(|row| cost(price_of(*row, now), usage, factors(row.0, usage)));
    costs.max().unwrap_or(0)
}

/// What Anthropic's cache costs for an hour, as a factor of its price for five minutes: twice the input instead of 1.25
/// times (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
const HOUR_FACTOR: f64 = 2.0 / 1.25;

/// Billionths of a dollar. `factors`: those of the input and of the output.
fn cost(price: Price, usage: Usage, factors: (f64, f64)) -> u64 {
    const TOKENS: f64 = 1e6;
    let cached = usage.cached.min(usage.input);
    let written = usage.written.min(usage.input - cached);
    let fresh = usage.input - cached - written;
    let for_hour = usage.written_for_hour.min(written);
    let hour_price = price.cache_write.map(|write| write * HOUR_FACTOR);
    let input = fresh as f64 * price.input
        + cached as f64 * price.cached.unwrap_or(price.input)
        + (written - for_hour) as f64 * price.cache_write.unwrap_or(price.input)
        + for_hour as f64 * hour_price.unwrap_or(price.input);
    let dollars = (input * factors.0 + usage.output as f64 * price.output * factors.1) / TOKENS;
    (dollars * NANODOLLARS).round() as u64
}

/// What the configuration says: the exact name, else the longest beginning.
fn configured(route: &Route, model: &str) -> Option<Price> {
    let model = model.to_lowercase();
    let matching = route.prices.iter().filter_map(|(name, price)| {
        let name = name.to_lowercase();
        let score = match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
            None => (name == model).then_some(usize::MAX),
        };
        Some((score?, *price))
    });
    let best = matching.max_by_key(|(score, _)| *score);
    best.map(|(_, price)| price)
}

/// The window of a provider's model in tokens, if the table has it.
pub fn window(provider: &str, model: &str) -> Option<u32> {
    listed(provider, model).map(|row| row.1)
}

/// The model of a provider whose name this one is a slip of: a letter or two differ, but no digit, as in
/// those of a newer model.
pub fn slip_of(provider: &str, model: &str) -> Option<&'static str> {
    let model = model.to_lowercase();
    let digits = |name: &str| name.replace(|char: char| !char.is_ascii_digit(), "");
    let (_, rows) = PRICES.iter().find(|(name, _)| *name == provider)?;
    let near = rows.iter().filter_map(|row| {
        let distance = strsim::osa_distance(&model, &row.0.to_lowercase());
        let is_slip = (1..=2).contains(&distance) && digits(&model) == digits(row.0);
        is_slip.then_some((distance, row.0))
    });
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn listed(provider: &str, model: &str) -> Option<Row> {
    let (_, rows) = PRICES.iter().find(|(name, _)| *name == provider)?;
    let row = rows.iter().find(|row| is_version(model, row.0))?;
    Some(*row)
}

/// Whether a model is this one or a dated version of it. Anything else behind the name is another model.
fn is_version(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let date: usize = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with(['-', '@'])
        && rest[1..]
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
        && date == 8;
    rest.is_empty() || is_date
}

/// `now`: seconds since 1970.
fn price_of((name, _, input, cached, output, written): Row, now: i64) -> Price {
    let is_due = |change: &&Change| change.from <= now && change.models.contains(&name);
    let factor = CHANGES.iter().find(is_due).map_or(1.0, |row| row.factor);
    Price {
        input: input * factor,
        output: output * factor,
        cached: Some(cached * factor),
        cache_write: Some(written * factor),
    }
}

/// The factors of the input and of the output for a model with this name in the table.
fn factors(name: &str, usage: Usage) -> (f64, f64) {
    let is_above = |tier: &&Tier| usage.input > tier.above && tier.models.contains(&name);
    let tier = TIERS.iter().find(is_above);
    tier.map_or((1.0, 1.0), |tier| (tier.input, tier.output))
}

/// Whether the server is the person's own: a program that runs at home, or any that needs no key and is
/// on this machine or in a private network.
fn is_own(route: &Route) -> bool {
    let is_at_home = route.runs_at_home() || route.key.is_empty() && is_private(&route.base);
    // A subscription is paid by the month.
    is_at_home || route.sign_in.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::schema::Provider;
    use crate::models::table::known;

    fn route(name: &str, settings: Provider) -> Route {
        Route::unsaved(name, settings, &|_| Some("key".to_owned()))
    }

    fn own(name: &str) -> Route {
        route(name, Provider::default())
    }

    fn usage(input: u64, cached: u64, written: u64, output: u64) -> Usage {
        Usage {
            input,
            output,
            cached,
            written,
            ..Usage::default()
        }
    }

    #[test]
    fn a_request_costs_what_the_page_says() {
        let anthropic = own("anthropic");
        // 1000 fresh, 8000 from the cache, 1000 written to it, 500 out.
        let cost = charge(
            &anthropic,
            "claude-sonnet-4-5-20250929",
            usage(10_000, 8_000, 1_000, 500),
        );
        assert_eq!(cost.cost, 3_000_000 + 2_400_000 + 3_750_000 + 7_500_000);
        assert_eq!((cost.requests, cost.unpriced), (1, 0));
        let for_hour = Usage {
            written_for_hour: 600,
            ..usage(10_000, 8_000, 1_000, 500)
        };
        let more = charge(&anthropic, "claude-sonnet-4-5", for_hour).cost - cost.cost;
        assert_eq!(more, 600 * (6_000 - 3_750), "twice the input");
        let openai = own("openai");
        let short = charge(&openai, "gpt-6-sol", usage(100_000, 0, 0, 1_000));
        assert_eq!(short.dollars(), Some(0.21));
        let long = charge(&openai, "gpt-6-sol", usage(300_000, 0, 0, 1_000));
        assert_eq!(long.dollars(), Some(1.215), "long requests cost more");
    }

    #[test]
    fn a_model_that_is_not_in_the_table_has_no_price() {
        for (provider, model) in [
            ("openai", "gpt-5-pro"),
            ("openai", "gpt-5.9"),
            ("openai", "gpt-4o-audio-preview"),
            ("openai", "gpt-5-chat-latest"),
            ("anthropic", "claude-sonnet-5-7"),
            ("anthropic", "claude-opus-6"),
            ("deepseek", "deepseek-flash"),
            ("aihubmix", "gpt-5"),
            ("", "gpt-5"),
        ] {
            let known = PriceKnown::of_model(&own(provider), model);
            assert_eq!(known, PriceKnown::No, "{provider}/{model}");
            let charged = charge(&own(provider), model, usage(10, 0, 0, 1));
            assert_eq!((charged.unpriced, charged.dollars()), (1, None));
        }
        for model in ["gpt-5", "gpt-5-2025-08-07", "gpt-4.1-mini", "o3"] {
            let known = PriceKnown::of_model(&own("openai"), model);
            assert!(matches!(known, PriceKnown::Listed(_)), "{model}");
        }
        let elsewhere = Provider {
            api_base: "https://proxy.example.org/v1".to_owned(),
            ..Provider::default()
        };
        let known = PriceKnown::of_model(&route("openai", elsewhere), "gpt-5");
        assert_eq!(known, PriceKnown::No, "a proxy has prices of its own");
    }

    #[test]
    fn an_unknown_price_counts_as_the_dearest_of_the_day_and_of_a_request_of_that_length() {
        let assumed = |input| {
            let charged = charge(&own("openai"), "gpt-9", usage(input, 0, 0, 1_000));
            assert_eq!(charged.unpriced, 1);
            charged.assumed
        };
        let dearest = charge(&own("openai"), "gpt-6-astra", usage(300_000, 0, 0, 1_000)).cost;
        assert_eq!(assumed(300_000), dearest);
        assert!(
            assumed(300_000) > 3 * assumed(100_000),
            "long requests cost more"
        );
        let gemini = charge(&own("gemini"), "gemini-9", usage(1_000, 0, 0, 1_000)).assumed;
        for (name, ..) in PRICES.iter().find(|(name, _)| *name == "gemini").unwrap().1 {
            assert!(
                charge(&own("gemini"), name, usage(1_000, 0, 0, 1_000)).cost <= gemini,
                "{name}"
            );
        }
    }

    #[test]
    fn the_configuration_wins_and_its_longest_name_does() {
        let price = |input| Price {
            input,
            ..Price::default()
        };
        let settings = Provider {
            prices: [("*", 1.0), ("gpt-5*", 2.0), ("gpt-5-mini", 3.0)]
                .map(|(name, input)| (name.to_owned(), price(input)))
                .into(),
            ..Provider::default()
        };
        let route = route("openai", settings);
        for (model, input) in [("gpt-5-mini", 3.0), ("GPT-5.2", 2.0), ("other", 1.0)] {
            let known = PriceKnown::of_model(&route, model);
            assert_eq!(known, PriceKnown::Configured(price(input)), "{model}");
        }
        let million = charge(&route, "other", usage(1_000_000, 500_000, 0, 7));
        assert_eq!(million.dollars(), Some(1.0), "cached input costs as much");
    }

    #[test]
    fn a_server_of_ones_own_costs_nothing_unless_it_needs_a_key() {
        let at = |base: &str, key: &str| Provider {
            api_base: base.to_owned(),
            api_key: crate::base::secret::Secret::new(key),
            ..Provider::default()
        };
        let known = |name: &str, settings| {
            let route = Route::unsaved(name, settings, &|_| None);
            PriceKnown::of_model(&route, "some-model")
        };
        for base in [
            "http://127.0.0.1:8080/v1",
            "http://[::1]:1/v1",
            "http://nas.local:8000",
            "http://192.168.1.5:8000/v1",
        ] {
            assert_eq!(known("house", at(base, "")), PriceKnown::Free, "{base}");
            assert_eq!(known("house", at(base, "k")), PriceKnown::No, "{base}");
        }
        let far = at("http://ollama.example.org", "k");
        assert_eq!(known("ollama", far), PriceKnown::Free);
        let far = at("https://api.example.org/v1", "");
        assert_eq!(known("house", far), PriceKnown::No);
        let free = charge(&own("ollama"), "qwen3:8b", usage(10, 0, 0, 1));
        assert_eq!(free.dollars(), Some(0.0));
    }

    #[test]
    fn openrouter_says_what_a_request_cost() {
        let told = Usage {
            cost: 1_234_567,
            ..usage(10, 0, 0, 1)
        };
        let charged = charge(&own("openrouter"), "openrouter/auto", told);
        assert_eq!((charged.cost, charged.unpriced), (1_234_567, 0));
        let other = charge(&own("xai"), "grok-9", told);
        assert_eq!((other.cost, other.unpriced), (0, 1), "others are not asked");
    }

    #[test]
    fn no_model_is_in_the_table_twice_and_the_cache_is_never_dearer() {
        for (provider, rows) in PRICES {
            assert!(known(provider).is_some(), "{provider}");
            for (index, (name, window, input, cached, output, written)) in rows.iter().enumerate() {
                assert!(rows[..index].iter().all(|row| row.0 != *name), "{name}");
                assert!(
                    cached <= input && input <= written && input < output,
                    "{name}"
                );
                assert!((32_000..=10_000_000).contains(window), "{name}");
            }
        }
        let all = PRICES.iter().flat_map(|(_, rows)| *rows);
        let names: Vec<_> = all.map(|row| row.0).collect();
        let tiers = TIERS.iter().flat_map(|tier| tier.models);
        let changes = CHANGES.iter().flat_map(|change| change.models);
        assert!(tiers.chain(changes).all(|name| names.contains(name)));
    }

    #[test]
    fn a_price_that_changes_has_done_so_from_that_day_on() {
        let row = listed("gemini", "gemini-4-argon").unwrap();
        let day = CHANGES[0].from;
        assert_eq!(price_of(row, day - 1).output, 10.0);
        let after = price_of(row, day);
        assert_eq!((after.input, after.output), (4.0, 20.0));
        assert_eq!((after.cached, after.cache_write), (Some(0.2), Some(4.0)));
    }

    #[test]
    fn the_models_of_today_have_a_price_and_a_window() {
        for (provider, model, tokens) in [
            ("anthropic", "claude-fable-5-2", 1_000_000),
            ("anthropic", "claude-mythos-5-2", 1_000_000),
            ("openai", "gpt-6.2-sol", 1_050_000),
            ("openai", "gpt-6.1-terra", 1_050_000),
            ("gemini", "gemini-3.8-flash", 1_048_576),
            ("moonshot", "kimi-k3.1-pro", 1_048_576),
            ("xai", "grok-4.7", 500_000),
        ] {
            let known = PriceKnown::of_model(&own(provider), model);
            assert!(matches!(known, PriceKnown::Listed(_)), "{model}");
            assert_eq!(window(provider, model), Some(tokens), "{model}");
        }
        assert_eq!(window("openai", "gpt-5.9"), None);
    }

    #[test]
    fn a_slip_is_one_of_letters() {
        for (model, expected) in [
            ("claude-sonet-5-5", Some("claude-sonnet-5-5")),
            ("cluade-opus-5", Some("claude-opus-5")),
            ("claude-sonnet-5-6", None),
            ("claude-opus-6", None),
            ("claude-sonnet-5-5", None),
            ("nope", None),
        ] {
            let slip = slip_of("anthropic", model);
            // A name of the table is a slip of no other.
            let slip = slip.filter(|_| window("anthropic", model).is_none());
            assert_eq!(slip, expected, "{model}");
        }
        assert_eq!(slip_of("openai", "gtp-6-sol"), Some("gpt-6-sol"));
    }

    #[test]
    fn every_row_has_the_date_of_its_check_and_the_oldest_is_shown() {
        let text = include_str!("prices/rows.rs");
        let day = |text: &str| chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").unwrap();
        let (mut checked, mut dated) = (None, 0);
        let mut oldest = "9999-12-31".to_owned();
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix("// checked ") {
                let (dates, source) = comment.split_once(": ").unwrap();
                assert!(!source.is_empty(), "{line}");
                let (first, until) = dates.split_once(", until ").unwrap_or((dates, ""));
                let is_after = until.is_empty() || day(until) > day(first);
                assert!(is_after, "{line}");
                checked = Some(first.to_owned());
            } else if line.ends_with(", &[") {
                checked = None;
            } else if line.starts_with("(\"") {
                let date = checked.clone().unwrap_or_else(|| panic!("no date: {line}"));
                oldest = oldest.min(date);
                dated += 1;
            }
        }
        let rows: usize = PRICES.iter().map(|(_, rows)| rows.len()).sum();
        assert_eq!(dated, rows);
        assert!(oldest.starts_with(PRICES_DATE), "{oldest}");
    }
}
