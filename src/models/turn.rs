//! Asks the models one after the other until one answers.

pub mod models;

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::call::{Call, NoAnswer, signed};
use super::classify::Failure;
use super::offers;
use super::offline;
use super::openai::responses;
use super::prices::charge;
use super::quirks::window::{self, Window};
use super::retry::{self, Failed};
use super::route::Route;
use super::table::{Api, OFFLINE};
use crate::base::cancel::Cancel;
use crate::base::chat::{Fault, ModelError, Reply, Request, Usage};
use crate::base::error::{Error, Result};
use crate::base::language::{Language, texts};
use crate::base::limits::models::RETRIES;
use crate::net::http::{Client, PooledClient};
use models::{Candidate, Models, random};

/// Parameters that may be changed one after the other because a server rejects them.
const LEARNINGS: u32 = 5;
/// Times that it is asked for a model until it is certain.
const WINDOW_ASKS_MAX: u32 = 3;

/// What happens while a question is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A piece of the answer's text.
    Delta(&'a str),
    /// The pieces so far are no part of the answer: it begins again.
    Again,
    /// Something the person should know: a new try, another model.
    Notice(&'a str),
    /// A model of this name cannot use tools, and is asked without them.
    WithoutTools(&'a str),
    /// A model of this name does not see the pictures of the conversation.
    Blind(&'a str),
}

/// Is called with each [`Progress`].
pub type Listener<'a> = dyn FnMut(Progress<'_>) + 'a;

/// An answer and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The answer.
    pub reply: Reply,
    /// The provider that answered; `offline` for the helper in the program.
    pub provider: String,
    /// The model that answered; empty for the helper.
    pub model: String,
    /// Tokens of the request as the server has counted them; 0 where it has not.
    pub counted: u64,
    /// Whether the model has ever made a call as its API has it.
    pub makes_calls: bool,
    /// Why no model answered, when the helper answers instead.
    pub failure: Option<Box<ModelError>>,
}

/// The models during one turn. Its questions share a connection, which stays open for the next turn
/// for a while.
pub struct Turn<'a> {
    models: &'a Models,
    cancel: Cancel,
    /// The connection, and the candidate it belongs to.
    client: Option<(&'a Candidate, PooledClient)>,
    /// The candidate that answered last, or for which the conversation was too long: the next question
    /// goes to it first.
    current: Option<&'a Candidate>,
    /// Candidates that are not asked again in this turn.
    left: Vec<&'a Candidate>,
    /// Whether pieces that were handed over can be taken back.
    takes_back: bool,
    /// The language of notices.
    language: Language,
    /// Why no model answered an earlier question, so that the helper did.
    failure: Option<ModelError>,
    /// What requests took that nobody has asked for yet, by model.
    spent: Vec<(String, Usage)>,
}

/// Why a candidate gave no answer.
enum GivenUp {
    /// The next one may.
    Next(Box<ModelError>),
    /// Nothing else should be tried.
    Ended(Error),
}

impl<'a> Turn<'a> {
    pub(super) fn new(models: &'a Models, cancel: Cancel) -> Self {
        Self {
            models,
            cancel,
            client: None,
            current: None,
            left: Vec::new(),
            takes_back: false,
            language: Language::default(),
            failure: None,
            spent: Vec::new(),
        }
    }

    /// Takes what the requests since the last call took, by model. Those whose answer failed are among them, once
    /// some of it had come: they were paid for all the same.
    pub fn take_spent(&mut self) -> Vec<(String, Usage)> {
        std::mem::take(&mut self.spent)
    }

    /// The name of the model that the next question goes to first.
    pub fn model_name(&self) -> String {
        let order = self.order();
        let first = order.first().map(|candidate| candidate.name());
        // Without a model the offline helper is asked.
        let first = first.or_else(|| self.models.names().into_iter().next());
        first.unwrap_or_default()
    }

    /// The window of the model that the next question goes to first, as a server of one's own tells it. It is asked
    /// when that is not known yet, at most `WINDOW_ASKS_MAX` times, and no server in the cloud is.
    pub fn window(&mut self) -> Option<Window> {
        let candidate = *self.order().first()?;
        let state = candidate.state();
        let (model, known, asks) = (state.model.clone(), state.window, state.window_asks);
        drop(state);
        let is_settled = known.is_some_and(|window| window.is_certain) || asks >= WINDOW_ASKS_MAX;
        let route = &candidate.route;
        if is_settled || !route.is_local() {
            return known;
        }
        let client = self.client(candidate).ok()?;
        let told = window::within_time(client, || {
            if !model.is_empty() {
                return window::ask(client, route, &model);
            }
            let first = offers::first(client, route).ok()?;
            candidate.set_model(first.clone());
            window::ask(client, route, &first)
        });
        let mut state = candidate.state();
        state.window_asks += 1;
        state.window = told.or(known);
        state.window
    }

    /// The same turn for a listener that can take pieces of an answer back, or shows none: then an answer
    /// that breaks off is asked for again.
    pub fn taking_back(mut self, takes_back: bool) -> Self {
        self.takes_back = takes_back;
        self
    }

    /// The same turn with notices in a language.
    pub fn speaking(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// The model that was asked last is of no use: its window is too small, or it says nothing. This turn
    /// goes on with the others. Returns whether there are any.
    pub fn leave(&mut self) -> bool {
        let current = self.current.take();
        self.left.extend(current);
        current.is_some() && !self.order().is_empty()
    }

    fn order(&self) -> Vec<&'a Candidate> {
        let is_left = |left: &&Candidate| self.left.iter().any(|one| std::ptr::eq(*one, *left));
        let mut order = self.models.order(self.current);
        order.retain(|candidate| !is_left(candidate));
        order
    }

    /// Asks the model that answered last in this turn, at first the primary one, with retries; then
    /// the others in their order; then the offline helper, which always answers. Once the helper has answered, the turn stays with it: its calls mean nothing
    /// to a model, and every question would wait for all the retries again.
    ///
    /// Fails with [`Error::Stopped`]; with [`Error::Model`] of [`Fault::Overflow`], for the caller
    /// to shorten the conversation and ask again; and with [`Error::Model`] when it went wrong
    /// after a part of the answer was shown that cannot be taken back, because nothing is tried again then.
    pub fn ask(&mut self, request: &Request<'_>, listener: &mut Listener<'_>) -> Result<Answer> {
        let asked = match self.failure {
            Some(_) => Vec::new(),
            None => self.order(),
        };
        let mut failures: Vec<ModelError> = Vec::new();
        for candidate in asked {
            if let Some(error) = failures.last() {
                let summary = error.summary(self.language);
                let text = using_another(self.language, &summary, &candidate.name());
                listener(Progress::Notice(&text));
            }
            match self.ask_one(candidate, request, listener) {
                Ok(reply) => {
                    self.current = Some(candidate);
                    let spent = self.spent.last().map(|(_, usage)| *usage);
                    return Ok(answered(candidate, reply, spent.unwrap_or_default()));
                }
                Err(GivenUp::Ended(error)) => return Err(error),
                Err(GivenUp::Next(error)) => failures.push(*error),
            }
        }
        // The first failure is the one to report: it is of the model that was chosen.
        let first = failures.into_iter().next();
        self.failure = self.failure.take().or(first);
        if has_pictures(request) {
            listener(Progress::Blind(OFFLINE));
        }
        Ok(Answer {
            reply: offline::reply(request, random() as u32, self.language),
            provider: OFFLINE.to_owned(),
            model: String::new(),
            counted: 0,
            makes_calls: false,
            failure: self.failure.clone().map(Box::new),
        })
    }

    /// Asks one model until it answers or another try makes no sense.
    fn ask_one(
        &mut self,
        candidate: &'a Candidate,
        request: &Request<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Reply, GivenUp> {
        let now = self.models.watch.elapsed();
        // A resting model is asked only when all rest: one try is enough.
        let rests = candidate.state().breaker.rests(now);
        let mut before = if rests { RETRIES } else { 0 };
        let mut learned = 0;
        if !candidate.model().1.tools && !request.tools.is_empty() {
            listener(Progress::WithoutTools(&candidate.name()));
        }
        let has_pictures = has_pictures(request);
        if !candidate.model().1.sees && has_pictures {
            listener(Progress::Blind(&candidate.name()));
        }
        let mut has_failed_call = false;
        loop {
            let mut came = false;
            let tried = self.try_once(candidate, request, &mut |text| {
                came = true;
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
            let shown = came && !self.takes_back;
            if came && !shown {
                listener(Progress::Again);
            }
            // The model may do better the second time.
            if failure.failed_call.is_some() && !shown && !has_failed_call {
                has_failed_call = true;
                continue;
            }
            let learn = || {
                let quirks = &mut candidate.state().quirks;
                let asked = match quirks.api {
                    Api::Responses => responses::encode::bound(request, *quirks),
                    Api::Chat | Api::OnlyChat => request.max_tokens.min(quirks.max_tokens),
                };
                quirks.learn_from(&failure, &candidate.route, asked)
            };
            let (_, before_learning) = candidate.model();
            if learned < LEARNINGS && learn() {
                learned += 1;
                if before_learning.tools && !candidate.model().1.tools {
                    listener(Progress::WithoutTools(&candidate.name()));
                }
                if before_learning.sees && !candidate.model().1.sees && has_pictures {
                    listener(Progress::Blind(&candidate.name()));
                }
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
            let error = failure.into_error(&candidate.route, &candidate.model().0);
            listener(Progress::Notice(&retry_notice(&error, wait, self.language)));
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
            return Err(Failure::new(Fault::Key, "").into());
        }
        let cancel = self.cancel.clone();
        signed::with_access(route, &cancel, &mut |route| {
            self.try_at(candidate, route, request, show)
        })
    }

    /// Asks at this route, which is the candidate's with what makes a request valid.
    fn try_at(
        &mut self,
        candidate: &'a Candidate,
        route: &Route,
        request: &Request<'_>,
        show: &mut dyn FnMut(&str),
    ) -> Result<Reply, NoAnswer> {
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
            has_called: &candidate.has_called,
        };
        let mut spent = Usage::default();
        let answered = call.ask(request, show, &mut spent);
        if spent != Usage::default() {
            let usage = charge(route, &model, spent);
            self.spent.push((model, usage));
        }
        answered
    }

    /// The connection to a candidate: the previous question's, if that went to it too.
    fn client(&mut self, candidate: &'a Candidate) -> Result<&Client> {
        let kept = self.client.take();
        let kept = kept.filter(|(owner, _)| std::ptr::eq(*owner, candidate));
        let client = match kept {
            Some((_, client)) => client,
            None => self.models.client(&candidate.route, &self.cancel)?,
        };
        Ok(&self.client.insert((candidate, client)).1)
    }

    fn give_up(&mut self, candidate: &'a Candidate, failure: Failure, shown: bool) -> GivenUp {
        // A problem with the question says nothing about the model's health.
        let of_question = matches!(
            failure.fault,
            Fault::Request | Fault::Filter | Fault::Overflow
        );
        let mut state = candidate.state();
        if !of_question {
            state.breaker.failed(self.models.watch.elapsed());
        }
        let model = state.model.clone();
        drop(state);
        let is_too_long = failure.fault == Fault::Overflow;
        if is_too_long {
            self.current = Some(candidate);
        }
        let ends = shown || is_too_long;
        let mut error = failure.into_error(&candidate.route, &model);
        if error.fault == Fault::Unknown && !model.is_empty() {
            error.suggestion = self.suggest(candidate, &model);
        }
        if ends {
            GivenUp::Ended(Error::Model(Box::new(error)))
        } else {
            GivenUp::Next(Box::new(error))
        }
    }

    /// The models that the server has instead of an unknown one; `None` where it has that model, so
    /// that the failure means something else, or does not list its models.
    fn suggest(&self, candidate: &Candidate, model: &str) -> Option<String> {
        let tls = self.models.tls();
        let offers = offers::list(tls, &candidate.route, &self.cancel).ok()?;
        let is_unknown = !offers.names.is_empty() && !offers::is_offered(model, &offers);
        is_unknown.then(|| offers::suggestion(model, &offers.names))
    }
}

fn answered(candidate: &Candidate, mut reply: Reply, spent: Usage) -> Answer {
    let model = candidate.state().model.clone();
    let counted = std::mem::replace(&mut reply.usage, spent).input;
    Answer {
        counted,
        reply,
        provider: candidate.route.provider.clone(),
        model,
        makes_calls: candidate.has_called.load(Ordering::Relaxed),
        failure: None,
    }
}

/// From 0 to 1.
pub(super) fn jitter() -> f64 {
    f64::from(random() as u32) / f64::from(u32::MAX)
}

fn retry_notice(error: &ModelError, wait: Duration, language: Language) -> String {
    let seconds = wait.as_secs_f64().ceil();
    retrying(language, &error.summary(language), &seconds)
}

/// Whether pictures go along with a request.
fn has_pictures(request: &Request<'_>) -> bool {
    request.entries.iter().any(|entry| !entry.images.is_empty())
}

texts! {
    fn retrying(summary, seconds) {
        "{summary}; retrying in {seconds} s",
        "{summary}；{seconds} 秒后重试",
    }
    /// That another model is asked, behind what happened.
    pub fn using_another(summary, model) {
        "{summary}; using {model} instead",
        "{summary}；改用 {model}",
    }
}

#[cfg(test)]
mod tests;
