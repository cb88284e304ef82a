//! Settles the model.

use super::super::forms::{Choice, choose};
use super::super::texts;
use super::{Interview, MODEL, PROVIDER, Verdict};
use crate::base::error::Result;
use crate::cli::config::texts::small_window;
use crate::config::check::looks_secret;
use crate::models::offers::{is_offered, suggestion};
use crate::models::table::{OFFLINE, known};

/// Models that are shown at a time to choose from: with the question they fit a screen of 24 lines.
const MODELS_SHOWN: usize = 15;

impl Interview<'_> {
    /// Settles the model.
    pub fn model(&mut self, provider: &str, flag: Option<&str>) -> Result<()> {
        let current = self.current(MODEL);
        let before = self.current(PROVIDER);
        let route = self.found.sources.choose(&before, &current);
        // The model of one provider is unknown to another.
        let is_kept =
            matches!(provider, "" | "auto") || route.is_ok_and(|route| route.provider == provider);
        let kept = if is_kept { &*current } else { "" };
        let usual = known(provider).map_or("", |row| row.model);
        let asks = self.outside.can_ask() && !matches!(provider, "" | OFFLINE);
        let model = match flag {
            Some(model) => {
                let model = model.trim();
                if let Some(reason) = self.judge_model(provider, model) {
                    self.outside.warn(&reason)?;
                }
                model.to_owned()
            }
            None if asks => {
                self.ask_model(provider, kept, if kept.is_empty() { usual } else { kept })?
            }
            None => kept.to_owned(),
        };
        self.want(MODEL, &model);
        self.warn_of_window(&model)
    }

    /// Warns of a model that has less than it needs on a server of one's own.
    fn warn_of_window(&mut self, model: &str) -> Result<()> {
        let first = self.offers.as_ref().and_then(|offers| offers.names.first());
        let Some(first) = first.cloned() else {
            return Ok(());
        };
        let model = if model.is_empty() { &first } else { model };
        let window = self.outside.find_window(model)?;
        let warning = window.and_then(|window| small_window(model, window, None));
        warning.map_or(Ok(()), |warning| self.outside.warn(&warning))
    }

    /// Why a model may be wrong.
    fn judge_model(&self, provider: &str, model: &str) -> Option<String> {
        let offers = self.offers.as_ref()?;
        (!is_offered(model, offers))
            .then(|| texts::model_not_listed(provider, model, &suggestion(model, &offers.names)))
    }

    fn ask_model(&mut self, provider: &str, kept: &str, default: &str) -> Result<String> {
        let offers = self.offers.clone().unwrap_or_default().names;
        if let ([only], "") = (offers.as_slice(), default) {
            self.outside.say(&texts::chosen(only))?;
            return Ok(kept.to_owned());
        }
        let mut shown = self.show_models(&offers)?;
        let first = offers.first().map_or("", String::as_str);
        let question = texts::ask_model(if default.is_empty() { first } else { default });
        let model = self.ask(None, question, &mut |this, answer| {
            Ok(match choose(answer, &shown, &offers) {
                Choice::Take(model) => {
                    if model != answer && !answer.is_empty() {
                        this.outside.say(&texts::chosen(&model))?;
                    }
                    Verdict::Take(model)
                }
                Choice::Narrow(models) => {
                    shown = this.show_models(&models)?;
                    Verdict::Reject(String::new())
                }
                Choice::NoSuchNumber => Verdict::Reject(texts::no_such_number(shown.len())),
                Choice::Unknown
                    if answer.contains(char::is_whitespace)
                        || !answer.contains(char::is_alphanumeric) =>
                {
                    Verdict::Reject(texts::NOT_A_MODEL.to_owned())
                }
                Choice::Unknown if looks_secret(answer) => {
                    Verdict::Reject(texts::KEY_AS_MODEL.to_owned())
                }
                Choice::Unknown => match this.judge_model(provider, answer) {
                    Some(reason) => Verdict::doubt(reason, answer),
                    None => Verdict::Take(answer.to_owned()),
                },
            })
        })?;
        // Without an answer the provider's usual one is not written, so that it can change.
        Ok(if model.is_empty() {
            kept.to_owned()
        } else {
            model
        })
    }

    /// Shows the first models of a list; returns those.
    fn show_models(&mut self, models: &[String]) -> Result<Vec<String>> {
        let shown = models[..models.len().min(MODELS_SHOWN)].to_vec();
        if !shown.is_empty() {
            let others = models.len() - shown.len();
            self.outside.say(&texts::model_list(&shown, others))?;
        }
        Ok(shown)
    }
}
