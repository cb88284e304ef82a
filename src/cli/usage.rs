//! `peacrab usage`: tokens and cost by day and model.

use std::fmt::Write;

use clap::Args;
use serde_json::{Map, Value, json};

use super::Context;
use super::terminal::print;
use crate::agent::commands::usage::{by_model, format_cost, price_notes};
use crate::base::chat::Usage;
use crate::base::clock::Clock;
use crate::base::error::{Exit, Result};
use crate::base::language::Language;
use crate::base::limits::state::USAGE_DAYS;
use crate::models::prices::PRICES_DATE;
use crate::store::state::TokenUsage;
use crate::store::state::usage::{ByModel, Day, sum};
use crate::text::{format_tokens, reveal};

/// `peacrab usage …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// How many days to show, today included
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=USAGE_DAYS as u64))]
    days: u64,
    /// Print JSON; amounts are in US dollars, null where the price is not known
    #[arg(long)]
    json: bool,
}

/// Shows the usage. Nothing is created, and no model is asked.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let state = context.home()?.state();
    let days = TokenUsage::new(&state, Clock::System).days();
    let today = Clock::System.now().date_naive();
    let is_within =
        |day: &Day| !by_model(std::slice::from_ref(day), today, 0, arguments.days).is_empty();
    let days: Vec<Day> = days.into_iter().filter(is_within).collect();
    let models = by_model(&days, today, 0, arguments.days);
    if arguments.json {
        print::json(&format_json(&days, &models).to_string())
    } else {
        print::paragraph(format(&days, &models, arguments.days).trim_end())
    }?;
    Ok(Exit::Done)
}

/// Usage as JSON, with the cost in US dollars.
pub fn to_json(usage: Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "cacheWrites": usage.written,
        "cacheWritesForHour": usage.written_for_hour,
        "requests": usage.requests,
        "unpriced": usage.unpriced,
        "cost": usage.dollars(),
    })
}

/// Usage by model as JSON.
pub fn models_to_json(models: &ByModel) -> Value {
    let members = models
        .iter()
        .map(|(name, usage)| (name.clone(), to_json(*usage)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn format_json(days: &[Day], models: &ByModel) -> Value {
    let days = days.iter().map(|day| {
        json!({"day": day.day, "total": to_json(day.usage()), "models": models_to_json(&day.models)})
    });
    json!({
        "days": days.collect::<Value>(),
        "models": models_to_json(models),
        "total": to_json(sum(models)),
        "pricesAsOf": PRICES_DATE,
    })
}

/// A table: the days, then the models, then the sum.
fn format(days: &[Day], models: &ByModel, count: u64) -> String {
    if days.is_empty() {
        return match count {
            1 => "No requests today.\n".to_owned(),
            count => format!("No requests in the last {count} days.\n"),
        };
    }
    let mut rows: Vec<(String, Usage)> = Vec::new();
    rows.extend(days.iter().map(|day| (day.day.clone(), day.usage())));
    let by_model = models
        .iter()
        .map(|(name, usage)| (reveal(name).into_owned(), *usage));
    rows.extend(by_model);
    rows.push(("total".to_owned(), sum(models)));
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>8} {:>7} {:>8} {:>9}  cost\n",
        "", "input", "cached", "output", "requests"
    );
    for (index, (name, usage)) in rows.iter().enumerate() {
        if index == days.len() || index + 1 == rows.len() {
            text.push('\n');
        }
        let cached = format!("{}%", usage.cached_percent());
        let (input, output) = (format_tokens(usage.input), format_tokens(usage.output));
        let cost = format_cost(*usage, Language::English);
        let _ = writeln!(
            text,
            "{name:width$}  {input:>8} {cached:>7} {output:>8} {:>9}  {cost}",
            usage.requests
        );
    }
    for note in price_notes(models, Language::English) {
        let _ = write!(text, "\n{note}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_days_models_and_a_total() {
        let usage = |input, cost, unpriced| Usage {
            input,
            output: 1200,
            cached: input / 4,
            requests: 2,
            cost,
            unpriced,
            ..Usage::default()
        };
        let models: ByModel = [
            ("large".to_owned(), usage(12_400, 31_000_000, 0)),
            ("small".to_owned(), usage(800, 0, 2)),
        ]
        .into();
        let days = [Day {
            day: "2026-11-23".to_owned(),
            models: models.clone(),
        }];
        assert_eq!(
            format(&days, &models, 7),
            "               input  cached   output  requests  cost\n\
             2026-11-23     13.2k     25%     2.4k         4  at least $0.0310\n\
             \n\
             large          12.4k     25%     1.2k         2  $0.0310\n\
             small            800     25%     1.2k         2  price unknown\n\
             \n\
             total          13.2k     25%     2.4k         4  at least $0.0310\n\
             \n\
             Amounts in US dollars; the built-in prices are as of 2026-10.\n\
             \n\
             Some requests have no known price. `peacrab config explain providers.NAME.prices` tells how \
             to set it.\n"
        );
        assert_eq!(format(&[], &ByModel::new(), 1), "No requests today.\n");
        let json = format_json(&days, &models);
        assert_eq!(json["models"]["large"]["cost"], json!(0.031));
        assert_eq!(json["models"]["small"]["cost"], Value::Null);
    }
}
