//! Asks the person at the terminal, and tries what was answered.

use std::path::Path;
use std::sync::Arc;

use super::outside::{Outside, Question, Trial};
use super::texts::{self, sentence};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Fault, Result};
use crate::base::limits::channels::TEST_PATIENCE;
use crate::base::sync::Mutex;
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::service::Service;
use crate::channels::telegram::api::{Api, ApiError};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::print;
use crate::cli::terminal::prompt::Prompt;
use crate::config::Loaded;
use crate::config::schema::{Bot, Provider};
use crate::models::offers::{self, ListError, Offers};
use crate::models::route::Route;
use crate::models::{Window, ask_window};
use crate::net::http::Tls;

/// The person who is asked, and may stop everything.
pub struct Person {
    prompt: Arc<Mutex<Prompt>>,
    /// Takes Ctrl-C wherever it comes: once any work has taken it, the system does not end the program at it any more.
    foreground: Foreground,
}

impl Person {
    /// The person at the terminal.
    pub fn new() -> Result<Self> {
        Ok(Self {
            prompt: Arc::new(Mutex::new(Prompt::for_questions())),
            foreground: Foreground::new()?,
        })
    }

    /// Asks, and returns the answer without the white space around it. [`Error::Stopped`] when the person ends it.
    pub fn ask(&self, question: &Question) -> Result<String> {
        let text = format!("\n{} [{}]: ", question.text, question.hint);
        let (above, prompt) = text.rsplit_once('\n').unwrap_or(("", &text));
        print::paragraph(above)?;
        self.foreground
            .ask(&self.prompt, prompt, question.is_hidden)
    }
}

/// The person at the terminal, or a script.
pub struct Terminal<'a> {
    context: &'a Context,
    loaded: &'a Loaded,
    tls: Tls,
    person: &'a Person,
    /// Whether there is a person to ask.
    can_ask: bool,
    /// The server that was asked for its models last.
    listed: Option<Route>,
}

impl<'a> Terminal<'a> {
    /// The terminal, or where nobody is to be asked, only what tries.
    pub fn new(
        context: &'a Context,
        loaded: &'a Loaded,
        person: &'a Person,
        can_ask: bool,
    ) -> Result<Self> {
        Ok(Self {
            context,
            loaded,
            tls: compose::tls(&loaded.config.tls)?,
            person,
            can_ask,
            listed: None,
        })
    }

    /// Runs something that waits for a server. Ctrl-C ends it with [`Error::Stopped`].
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T> {
        self.person.foreground.run(work)
    }
}

impl Outside for Terminal<'_> {
    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn ask(&mut self, question: &Question) -> Result<String> {
        self.person.ask(question)
    }

    fn say(&mut self, text: &str) -> Result<()> {
        if self.can_ask {
            print::paragraph(text)
        } else {
            Ok(())
        }
    }

    fn warn(&mut self, text: &str) -> Result<()> {
        if self.can_ask {
            print::paragraph(&texts::warning(text))
        } else {
            print::complain(&texts::script_warning(text));
            Ok(())
        }
    }

    fn list_models(&mut self, provider: &str, settings: &Provider) -> Result<Trial<Offers>> {
        let environment = self.context.environment();
        let variable = |name: &str| environment.get(name).cloned();
        let route = Route::unsaved(provider, settings.clone(), &variable);
        self.say(&texts::trying(provider))?;
        self.listed = Some(route.clone());
        let tls = self.tls.clone();
        let listed = self.run(move |cancel| offers::list(&tls, &route, cancel))?;
        Ok(match listed {
            Ok(models) => Trial::Works(models),
            Err(ListError::NotOffered { reason, .. }) => Trial::Unclear(sentence(&reason)),
            Err(ListError::Ended(error)) => return Err(error),
            Err(ListError::Failed(error)) => {
                let said = sentence(&error.reason);
                match error.fault {
                    Fault::Key => Trial::Refused(said),
                    Fault::Network | Fault::Timeout => Trial::Unreachable(said),
                    _ => Trial::Unclear(said),
                }
            }
        })
    }

    fn find_window(&mut self, model: &str) -> Result<Option<Window>> {
        let Some(route) = self.listed.clone() else {
            return Ok(None);
        };
        let route = Route {
            model: model.to_owned(),
            ..route
        };
        let tls = self.tls.clone();
        self.run(move |cancel| ask_window(&tls, &route, cancel))
    }

    fn find_bot(&mut self, bot: &Bot) -> Result<Trial<String>> {
        self.say(&texts::trying("Telegram"))?;
        let (tls, bot) = (self.tls.clone(), bot.clone());
        let found =
            self.run(move |cancel| Api::new(&tls, &bot, TEST_PATIENCE, cancel)?.get_me())?;
        Ok(match found {
            Ok(me) => Trial::Works(me.username),
            Err(ApiError::Stopped) => return Err(Error::Stopped),
            Err(ApiError::Local(error)) => return Err(error),
            Err(ApiError::Token) => Trial::Refused(texts::TOKEN_REFUSED.to_owned()),
            Err(error @ (ApiError::Network(_) | ApiError::Timeout(_))) => {
                Trial::Unreachable(sentence(&error.to_string()))
            }
            Err(error) => Trial::Unclear(sentence(&error.to_string())),
        })
    }

    fn find_channel(&mut self, service: &'static Service, bot: &Bot) -> Result<Trial<String>> {
        self.say(&texts::trying(service.title))?;
        let state = self.context.home()?.state();
        let adapter = service.adapter(bot.clone(), &self.tls, state);
        let found = self.run(move |cancel| adapter.identify(cancel))?;
        Ok(match found {
            Ok(name) => Trial::Works(name),
            Err(Failure::Stopped) => return Err(Error::Stopped),
            Err(Failure::Local(error)) => return Err(error),
            Err(failure @ (Failure::Down(_) | Failure::Refused(_))) => {
                Trial::Refused(sentence(&failure.to_string()))
            }
            Err(failure) => Trial::Unclear(sentence(&failure.to_string())),
        })
    }

    fn check_workspace(&self, folder: &Path) -> Result<()> {
        compose::check_workspace(self.context, self.loaded, folder)
    }
}
