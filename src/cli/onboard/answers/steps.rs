//! The questions one after the other, and back again.

use std::collections::BTreeMap;

use super::{Arguments, Interview, OFFLINE, is_auto, texts};
use crate::base::error::{Error, Result};

/// The word that leads back to the question before.
const BACK: &str = "back";

/// Settles what one or more questions belong to. Each has a place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Provider,
    Connection,
    Model,
    Workspace,
    Telegram,
}

const STEPS: [Step; 5] = [
    Step::Provider,
    Step::Connection,
    Step::Model,
    Step::Workspace,
    Step::Telegram,
];

/// A step that is over, for those who go back to it.
struct Passed {
    place: usize,
    /// How many settings were wanted before it.
    wanted: usize,
}

/// Where an interview is.
#[derive(Default)]
pub(super) struct Progress {
    /// Questions of this step that were answered.
    answered: usize,
    /// Whether the person wants the question before.
    goes_back: bool,
    /// The answers by their questions, which are offered to those who go back.
    given: BTreeMap<String, String>,
}

impl Progress {
    /// Counts an answer. One that leads back ends the step.
    pub(super) fn note(&mut self, answer: &str) -> Result<()> {
        self.goes_back = answer.eq_ignore_ascii_case(BACK);
        if self.goes_back {
            Err(Error::Stopped)
        } else {
            Ok(())
        }
    }

    /// Counts a question that is done with.
    pub(super) fn answered(&mut self, question: &str, answer: &str) {
        self.answered += 1;
        self.remember(question, answer);
    }

    /// Keeps an answer for those who go back. An empty one is the question's default.
    pub(super) fn remember(&mut self, question: &str, answer: &str) {
        match answer {
            "" => self.forget(question),
            answer => _ = self.given.insert(question.to_owned(), answer.to_owned()),
        }
    }

    /// The answer that a question had before.
    pub(super) fn given(&self, question: &str) -> Option<String> {
        self.given.get(question).cloned()
    }

    fn forget(&mut self, question: &str) {
        self.given.remove(question);
    }
}

impl Interview<'_> {
    /// Settles everything, one step after the other.
    pub(super) fn run(&mut self, flags: &Arguments) -> Result<()> {
        if let Some(name) = &flags.channel {
            return self.channel(name);
        }
        let mut provider = String::new();
        self.steps(STEPS.len(), &mut |this, place| {
            let step = STEPS[place];
            if matches!(step, Step::Provider | Step::Connection) {
                (this.offers, this.is_unreachable) = (None, false);
            }
            match step {
                Step::Provider => {
                    let chosen = this.provider(flags)?;
                    if chosen != provider {
                        this.progress.forget(texts::WHICH_MODEL);
                    }
                    provider = chosen;
                }
                Step::Connection => this.connection(&provider, flags)?,
                Step::Model => this.model(&provider, flags.model.as_deref())?,
                Step::Workspace => this.workspace(flags)?,
                Step::Telegram => this.telegram(flags.telegram_token.as_deref())?,
            }
            // A provider alone was not tried.
            Ok(step != Step::Provider)
        })
    }

    /// Takes the steps at the places before `count`. Each returns whether what is wanted by then is kept when the person
    /// stops. Who goes back comes to the last step with a question, and what was wanted since then is wanted no more.
    pub(super) fn steps(
        &mut self,
        count: usize,
        take: &mut dyn FnMut(&mut Self, usize) -> Result<bool>,
    ) -> Result<()> {
        let mut passed: Vec<Passed> = Vec::new();
        let mut place = 0;
        while place < count {
            let wanted = self.wanted.len();
            self.progress.answered = 0;
            let taken = take(self, place);
            if !std::mem::take(&mut self.progress.goes_back) {
                if taken? {
                    self.settled = self.wanted.len();
                }
                if self.progress.answered > 0 {
                    passed.push(Passed { place, wanted });
                }
                place += 1;
                continue;
            }
            let here = Passed { place, wanted };
            let to = if self.progress.answered > 0 {
                here
            } else if let Some(before) = passed.pop() {
                before
            } else {
                self.outside.say(texts::FIRST_QUESTION)?;
                here
            };
            self.wanted.truncate(to.wanted);
            self.settled = self.settled.min(to.wanted);
            place = to.place;
        }
        Ok(())
    }

    fn connection(&mut self, provider: &str, flags: &Arguments) -> Result<()> {
        if !matches!(provider, "" | OFFLINE) && !is_auto(provider) {
            return self.connect(provider, flags);
        }
        if flags.api_key.is_some() || flags.api_base.is_some() {
            return Err(Error::Usage(texts::FLAGS_WITHOUT_PROVIDER.to_owned()));
        }
        Ok(())
    }
}
