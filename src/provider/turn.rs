//! Puts a question to the models until one answers.

use std::time::Duration;

use super::call::{Call, NoAnswer};
use super::classify::Failure;
use super::models::{Candidate, Models, random};
use super::offers;
use super::offline;
use super::retry::{self, Failed};
use super::table::OFFLINE;
use crate::cancel::Cancel;
use crate::chat::{Fault, ModelError, Reply, Request};
use crate::error::{Error, NO_KEY, Result};
use crate::http::{Client, PooledClient};
use crate::limits::provider::{LEARNINGS, RETRIES};

/// What happens while a question is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A piece of the answer's text.
    Delta(&'a str),
    /// Something the person should know: a new try, another model.
    Notice(&'a str),
}

/// Hears of [`Progress`].
pub type Listener<'a> = dyn FnMut(Progress<'_>) + 'a;

/// An answer, and who gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What was answered.
    pub reply: Reply,
    /// The provider that answered; `offline` for the helper in the program.
    pub provider: String,
    /// The model that answered; empty for the helper.
    pub model: String,
    /// Why no model answered, when the helper stands in for them.
    pub failure: Option<Box<ModelError>>,
}

/// The models for one turn: they are asked one question after the other over the same connection,
/// which stays open for the next turn for a while.
pub struct Turn<'a> {
    models: &'a Models,
    cancel: Cancel,
    /// The connection, and whose it is.
    client: Option<(&'a Candidate, PooledClient)>,
    /// Why no model answered an earlier question of this turn.
    failure: Option<ModelError>,
}

/// Why a candidate gave no answer.
enum GivenUp {
    /// The next one may.
    Next(ModelError),
    /// Nothing else should be tried.
    Ended(Error),
}

impl<'a> Turn<'a> {
    pub(super) fn new(models: &'a Models, cancel: Cancel) -> Self {
        Self {
            models,
            cancel,
            client: None,
            failure: None,
        }
    }

    /// Asks the primary model, with retries; then the fallback models; then the offline helper, so
    /// that there is an answer in the end. Once it has come to the helper, the turn stays with it:
    /// its calls mean nothing to a model, and every question would wait for all the retries.
    ///
    /// Fails with [`Error::Stopped`]; with [`Error::Model`] of [`Fault::Overflow`], for the caller
    /// to shorten the conversation and ask again; and with [`Error::Model`] when it went wrong
    /// after a part of the answer was heard, because nothing is tried again then.
    pub fn ask(&mut self, request: &Request<'_>, listener: &mut Listener<'_>) -> Result<Answer> {
        let asked = if self.failure.is_some() {
            Vec::new()
        } else {
            self.models.order()
        };
        for candidate in asked {
            if candidate.route.is_offline() {
                break;
            }
            if let Some(error) = &self.failure {
                let what = short(error.fault);
                let name = candidate.name();
                let text = format!("{} {what}; falling back to {name}", error.provider);
                listener(Progress::Notice(&text));
            }
            match self.ask_one(candidate, request, listener) {
                Ok(reply) => return Ok(answered(candidate, reply)),
                Err(GivenUp::Ended(error)) => return Err(error),
                // The first failure is the one to be mended: it is the model that was wanted.
                Err(GivenUp::Next(error)) => self.failure = self.failure.take().or(Some(error)),
            }
        }
        Ok(Answer {
            reply: offline::reply(request, random() as u32),
            provider: OFFLINE.to_owned(),
            model: String::new(),
            failure: self.failure.clone().map(Box::new),
        })
    }

    /// Asks one model until it answers or trying again makes no sense.
    fn ask_one(
        &mut self,
        candidate: &'a Candidate,
        request: &Request<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Reply, GivenUp> {
        let now = self.models.watch.elapsed();
        // A model that should rest is asked only because all do: one try has to do.
        let rests = candidate.state().breaker.rests(now);
        let mut before = if rests { RETRIES } else { 0 };
        let mut learned = 0;
        loop {
            let mut shown = false;
            let tried = self.try_once(candidate, request, &mut |text| {
                shown = true;
                listener(Progress::Delta(text));
            });
            let failure = match tried {
                Ok(reply) => {
                    candidate.state().breaker.succeeded();
                    return Ok(reply);
                }
                Err(NoAnswer::Ended(error)) => return Err(GivenUp::Ended(error)),
                Err(NoAnswer::Failed(failure)) => failure,
            };
            let is_refused = failure.fault == Fault::Request && learned < LEARNINGS;
            if is_refused && candidate.state().quirks.learn(&failure.said) {
                learned += 1;
                continue;
            }
            let failed = Failed {
                before,
                fault: failure.fault,
                shown,
                retry_after: failure.retry_after,
            };
            let Some(wait) = retry::wait(failed, jitter()) else {
                return Err(self.give_up(candidate, failure, shown));
            };
            let text = again(&candidate.route.provider, failure.fault, wait);
            listener(Progress::Notice(&text));
            if self.cancel.wait(wait) {
                return Err(GivenUp::Ended(Error::Stopped));
            }
            before += 1;
        }
    }

    fn try_once(
        &mut self,
        candidate: &'a Candidate,
        request: &Request<'_>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Reply, NoAnswer> {
        let route = &candidate.route;
        if route.needs_key && route.key.is_empty() {
            return Err(Failure::new(Fault::Key, NO_KEY).into());
        }
        let client = self.client(candidate).map_err(NoAnswer::Ended)?;
        if candidate.state().model.is_empty() {
            let model = offers::first(client, route)?;
            candidate.set_model(model);
        }
        let (model, quirks) = candidate.model();
        let call = Call {
            client,
            route,
            model: &model,
            quirks,
            nonce: random() as u32,
        };
        call.ask(request, show)
    }

    /// The connection to a candidate: the one of the question before, if that went to it too.
    fn client(&mut self, candidate: &'a Candidate) -> Result<&Client> {
        let kept = self.client.take();
        let kept = kept.filter(|(owner, _)| std::ptr::eq(*owner, candidate));
        let client = match kept {
            Some((_, client)) => client,
            None => self.models.client(&candidate.route, &self.cancel)?,
        };
        Ok(&self.client.insert((candidate, client)).1)
    }

    fn give_up(&self, candidate: &Candidate, failure: Failure, shown: bool) -> GivenUp {
        // What is wrong with the question says nothing about the model's health.
        let of_question = matches!(
            failure.fault,
            Fault::Request | Fault::Filter | Fault::Overflow
        );
        let mut state = candidate.state();
        if !of_question {
            state.breaker.failed(self.models.watch.elapsed());
        }
        let ends = shown || failure.fault == Fault::Overflow;
        let error = failure.of_route(&candidate.route, &state.model);
        match ends {
            true => GivenUp::Ended(Error::Model(Box::new(error))),
            false => GivenUp::Next(error),
        }
    }
}

fn answered(candidate: &Candidate, reply: Reply) -> Answer {
    Answer {
        reply,
        provider: candidate.route.provider.clone(),
        model: candidate.state().model.clone(),
        failure: None,
    }
}

/// From 0 to 1.
fn jitter() -> f64 {
    f64::from(random() as u32) / f64::from(u32::MAX)
}

fn again(provider: &str, fault: Fault, wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil();
    format!("{provider} {}; trying again in {seconds} s", short(fault))
}

/// What a provider did, in a few words.
fn short(fault: Fault) -> &'static str {
    match fault {
        Fault::Key => "does not accept the key",
        Fault::Quota => "has no credit or quota left",
        Fault::Rate => "gets too many requests",
        Fault::Busy => "is overloaded or broken",
        Fault::Unknown => "does not know the model",
        Fault::Request => "does not accept the request",
        Fault::Filter => "refuses this",
        Fault::Overflow => "cannot read that much",
        Fault::Network => "cannot be reached",
        Fault::Timeout => "does not answer",
        Fault::Cut => "broke off",
        Fault::Garbage => "does not answer as it should",
    }
}

#[cfg(test)]
mod tests;
