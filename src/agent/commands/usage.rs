//! `/usage`, how usage and prices are shown everywhere, and the daily limits.

use std::fmt::Write;

use chrono::{Days, NaiveDate};

use super::{CommandAnswer, Invocation};
use crate::agent::run::Report;
use crate::agent::{Agent, texts};
use crate::base::access::Role;
use crate::base::chat::{NANODOLLARS, Usage};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::SessionKey;
use crate::models::Models;
use crate::models::prices::{PRICES_DATE, PriceKnown};
use crate::store::state::LastTurn;
use crate::store::state::usage::{ByModel, Day};
use crate::text::markup::inline_code;
use crate::text::{format_dollars, format_tokens};

/// What the name of a model ends with under which its reviews of answers are counted.
const REVIEWS: &str = " (reviews)";

/// The periods that `/usage` shows beside today and yesterday, in days.
const PERIODS: [u64; 2] = [7, 30];

/// The part of a day's limits that is for people who are no owners: half. An owner is never refused because of others.
const OTHERS_SHARE: u64 = 2;

impl Agent {
    /// Answers `/usage`: tokens and cost by period, and by model.
    pub fn answer_usage(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let language = invocation.language;
        let days = self.ledger.days();
        let today = self.clock.now().date_naive();
        let [week, month] = PERIODS;
        let rows = [
            (texts::usage_today(language).to_owned(), (0, 1)),
            (texts::usage_yesterday(language).to_owned(), (1, 1)),
            (texts::usage_days(language, &week), (0, week)),
            (texts::usage_days(language, &month), (0, month)),
        ];
        let models = by_model(&days, today, 0, month);
        if models.is_empty() {
            return Ok(texts::no_usage(language, &month).into());
        }
        let colon = texts::colon(language);
        let mut text = texts::usage_title(language).to_owned();
        for (name, (ago, count)) in rows {
            let sum = crate::store::state::usage::sum(&by_model(&days, today, ago, count));
            let usage = format_usage(sum, language);
            let _ = write!(text, "\n- {name}{colon}{usage}");
        }
        let _ = write!(text, "\n\n{}", texts::usage_by_model(language));
        for (model, usage) in &models {
            let usage = format_usage(*usage, language);
            let name = match model.strip_suffix(REVIEWS) {
                Some(model) => texts::usage_reviews(language, &inline_code(model)),
                None => inline_code(model),
            };
            let _ = write!(text, "\n- {name}{colon}{usage}");
        }
        for note in price_notes(&models, language) {
            let _ = write!(text, "\n\n{note}");
        }
        if let Some(note) = self.note_of_others(language) {
            let _ = write!(text, "\n\n{note}");
        }
        if self.limits.usd_per_day > 0.0
            && let Some(note) = note_of_assumed(self.ledger.counts().today(), language)
        {
            let _ = write!(text, "\n\n{note}");
        }
        Ok(text.into())
    }

    /// Fails when a limit of the day is reached: for people who are no owners their part of it. Call it before every
    /// request to a model.
    pub(in crate::agent) fn check_spending(&self, role: Role, language: Language) -> Result<()> {
        let (tokens, dollars) = (self.limits.tokens_per_day, self.limits.usd_per_day);
        if tokens == 0 && dollars <= 0.0 {
            return Ok(());
        }
        let counts = self.ledger.counts();
        let today = counts.today();
        if role < Role::Owner
            && let Some((used, limit)) = self.others_used_up(counts.others)
        {
            // They are shown it, unlike other failures.
            let text = texts::others_used_up(language, &used, &limit);
            return Err(Error::Usage(text));
        }
        let used = tokens_of(today);
        if tokens > 0 && used >= tokens {
            let text = texts::too_many_tokens(language, &used, &tokens);
            return Err(Error::Failed(text));
        }
        let spent = dollars_of(today);
        if dollars > 0.0 && spent >= dollars {
            let (spent, limit) = (format_dollars(spent), format_dollars(dollars));
            let mut text = texts::too_expensive(language, &spent, &limit);
            if let Some(note) = note_of_assumed(today, language) {
                let _ = write!(text, " {note}");
            }
            return Err(Error::Failed(text));
        }
        Ok(())
    }

    /// How much people who are no owners have used, and their limit, when they have reached it.
    fn others_used_up(&self, others: Usage) -> Option<(String, String)> {
        let mut limits = self.limits_of_others(others);
        let used_up = limits.find(|(used, limit, _)| used >= limit);
        used_up.map(|(used, limit, show)| (show(used), show(limit)))
    }

    /// The limits of a day for people who are no owners: what was used, the limit, and how both are shown.
    fn limits_of_others(&self, others: Usage) -> impl Iterator<Item = (f64, f64, ShowAmount)> {
        let (tokens_max, dollars_max) = (self.limits.tokens_per_day, self.limits.usd_per_day);
        let share = OTHERS_SHARE as f64;
        let limits: [(f64, f64, ShowAmount); 2] = [
            (
                tokens_of(others) as f64,
                tokens_max as f64 / share,
                show_tokens,
            ),
            (dollars_of(others), dollars_max / share, format_dollars),
        ];
        limits.into_iter().filter(|(_, limit, _)| *limit > 0.0)
    }

    /// How much of their part people who are no owners have used today, where there is a limit.
    fn note_of_others(&self, language: Language) -> Option<String> {
        let others = self.ledger.counts().others;
        if others == Usage::default() {
            return None;
        }
        let limits = self.limits_of_others(others);
        let (used, limit, show) =
            limits.max_by(|one, other| (one.0 / one.1).total_cmp(&(other.0 / other.1)))?;
        Some(texts::used_by_others(language, &show(used), &show(limit)))
    }

    /// Counts what requests for someone took, and returns the sum.
    pub(in crate::agent) fn count(
        &self,
        models: &mut crate::models::Turn<'_>,
        role: Role,
    ) -> Usage {
        self.count_for(models, role, "")
    }

    /// Counts what a review took, apart from other requests to the same model, and returns the sum.
    pub(in crate::agent) fn count_review(
        &self,
        models: &mut crate::models::Turn<'_>,
        role: Role,
    ) -> Usage {
        self.count_for(models, role, REVIEWS)
    }

    fn count_for(&self, models: &mut crate::models::Turn<'_>, role: Role, purpose: &str) -> Usage {
        let mut sum = Usage::default();
        for (model, usage) in models.take_spent() {
            self.ledger.add(&format!("{model}{purpose}"), usage, role);
            sum.add(usage);
        }
        sum
    }

    /// Remembers what a turn's requests have shown about a conversation, for `/status`.
    pub(in crate::agent) fn note_turn(&self, chat: &SessionKey, report: &Report) {
        if report.context > 0 {
            self.ledger.note_turn(LastTurn {
                session: chat.to_string(),
                context: report.context,
                input: report.usage.input,
                cached: report.usage.cached,
            });
        }
    }
}

/// Shows an amount.
type ShowAmount = fn(f64) -> String;

fn tokens_of(usage: Usage) -> u64 {
    usage.input.saturating_add(usage.output)
}

/// The dollars of some usage that count for the limit of a day.
fn dollars_of(usage: Usage) -> f64 {
    usage.cost.saturating_add(usage.assumed) as f64 / NANODOLLARS
}

/// Tokens of a limit as they are shown.
fn show_tokens(tokens: f64) -> String {
    format!("{tokens:.0} tokens")
}

/// The usage by model of so many days that end so many days ago.
pub fn by_model(days: &[Day], today: NaiveDate, ago: u64, count: u64) -> ByModel {
    let back = |days: u64| {
        let date = today.checked_sub_days(Days::new(days)).unwrap_or_default();
        date.to_string()
    };
    // Dates in this form sort as texts.
    let (first, last) = (back((ago + count).saturating_sub(1)), back(ago));
    let mut models = ByModel::new();
    let within = days
        .iter()
        .filter(|day| (&*first..=&*last).contains(&&*day.day));
    for (model, usage) in within.flat_map(|day| &day.models) {
        models.entry(model.clone()).or_default().add(*usage);
    }
    models
}

/// Tokens and cost, such as `12.4k in (80% cached), 1.2k out, $0.0310`.
pub fn format_usage(usage: Usage, language: Language) -> String {
    if usage.input == 0 && usage.output == 0 {
        // What listens is paid by the minute.
        return match usage.requests {
            0 => texts::no_tokens(language).to_owned(),
            _ => format_cost(usage, language),
        };
    }
    let (input, output) = (format_tokens(usage.input), format_tokens(usage.output));
    let tokens = match usage.cached_percent() {
        0 => texts::usage_plain(language, &input, &output),
        percent => texts::usage_cached(language, &input, &percent, &output),
    };
    let then = texts::clause_comma(language);
    format!("{tokens}{then}{}", format_cost(usage, language))
}

/// What it cost, or that this is not known.
pub fn format_cost(usage: Usage, language: Language) -> String {
    match usage.dollars() {
        None => texts::price_unknown(language).to_owned(),
        Some(dollars) if usage.unpriced > 0 => texts::at_least(language, &format_dollars(dollars)),
        Some(0.0) => texts::free(language).to_owned(),
        Some(dollars) => format_dollars(dollars),
    }
}

/// What a person should know about the amounts that are shown.
pub fn price_notes(models: &ByModel, language: Language) -> Vec<String> {
    let has = |is_so: fn(&Usage) -> bool| models.values().any(is_so);
    let mut notes = Vec::new();
    if has(|usage| usage.cost > 0) {
        notes.push(texts::about_prices(language, &PRICES_DATE));
    }
    if has(|usage| usage.unpriced > 0) {
        notes.push(texts::how_to_set_prices(language).to_owned());
    }
    notes
}

/// What requests without a known price count as for the limit of the day, if there were any.
fn note_of_assumed(today: Usage, language: Language) -> Option<String> {
    let assumed = format_dollars(today.assumed as f64 / NANODOLLARS);
    (today.assumed > 0).then(|| texts::counts_as_dearest(language, &assumed))
}

/// The price of the first of the models, as a line; `None` when only the offline helper answers.
pub(super) fn describe_price(models: &Models, language: Language) -> Option<String> {
    if models.primary().is_offline() {
        return None;
    }
    let known = models.price();
    let about = match known {
        PriceKnown::Free => return Some(texts::price_free(language).to_owned()),
        PriceKnown::Configured(_) => texts::price_configured(language).to_owned(),
        PriceKnown::Listed(_) => texts::price_as_of(language, &PRICES_DATE),
        PriceKnown::No => return Some(texts::price_not_known(language).to_owned()),
    };
    let price = known.price().unwrap_or_default();
    Some(texts::price(language, &price.input, &price.output, &about))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(date: &str, model: &str, input: u64, cost: u64, unpriced: u64) -> Day {
        let usage = Usage {
            input,
            output: 10,
            cached: input / 2,
            requests: 1,
            cost,
            unpriced,
            ..Usage::default()
        };
        Day {
            day: date.to_owned(),
            models: [(model.to_owned(), usage)].into(),
        }
    }

    #[test]
    fn a_period_has_its_days_and_no_other() {
        let days = [
            day("2026-03-02", "a", 1, 0, 0),
            day("2026-03-01", "a", 2, 0, 0),
            day("2026-02-24", "b", 4, 0, 0),
            day("2026-02-23", "a", 8, 0, 0),
            day("2026-02-01", "a", 16, 0, 0),
            day("2026-01-31", "a", 32, 0, 0),
        ];
        let today = NaiveDate::from_ymd_opt(2026, 3, 2).unwrap();
        let input = |ago, count| {
            let models = by_model(&days, today, ago, count);
            models.values().map(|usage| usage.input).sum::<u64>()
        };
        assert_eq!((input(0, 1), input(1, 1)), (1, 2));
        assert_eq!((input(0, 7), input(0, 30)), (1 + 2 + 4, 1 + 2 + 4 + 8 + 16));
    }

    #[test]
    fn usage_is_shown_with_its_cost_as_far_as_it_is_known() {
        let shown = |cost, unpriced, language| {
            let day = day("2026-03-02", "a", 12_400, cost, unpriced);
            format_usage(day.usage(), language)
        };
        let english = |cost, unpriced| shown(cost, unpriced, Language::English);
        assert_eq!(
            english(31_000_000, 0),
            "12.4k in (50% cached), 10 out, $0.0310"
        );
        assert_eq!(english(0, 0), "12.4k in (50% cached), 10 out, free");
        assert_eq!(
            english(0, 1),
            "12.4k in (50% cached), 10 out, price unknown"
        );
        assert!(english(1_270_000_000, 1).ends_with(", at least $1.27"));
        assert_eq!(
            shown(31_000_000, 0, Language::Chinese),
            "输入 12.4k（缓存 50%），输出 10，$0.0310"
        );
        let none = format_usage(Usage::default(), Language::English);
        assert_eq!(none, "none yet");
    }
}
