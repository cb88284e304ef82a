//! Asks the person at the terminal, and tries what was answered.

use std::path::Path;

use super::outside::{Outside, Question, Trial};
use super::texts::{self, sentence};
use crate::base::error::{Error, Fault, Result};
use crate::base::limits::channels::TEST_PATIENCE;
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::service::Service;
use crate::channels::telegram::api::{Api, ApiError};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::print;
use crate::cli::terminal::prompt::{Prompt, Typed};
use crate::config::Loaded;
use crate::config::schema::{Bot, Provider};
use crate::models::offers::{self, ListError, Offers};
use crate::models::route::Route;
use crate::models::{Window, ask_window};
use crate::net::http::Tls;
use crate::text::reveal;

/// The person at the terminal, or a script.
pub struct Terminal<'a> {
    context: &'a Context,
    loaded: &'a Loaded,
    tls: Tls,
    /// Line editing; `None` in a script and on a terminal that cannot move its cursor.
    prompt: Option<Prompt>,
    /// Whether there is a person to ask.
    can_ask: bool,
    /// The server that was asked for its models last.
    listed: Option<Route>,
    /// Runs what Ctrl-C can stop; `None` until something was tried.
    foreground: Option<Foreground>,
}

/// Asks, and returns the answer without the white space around it. [`Error::Stopped`] when the person ends it.
pub fn ask(editor: Option<&mut Prompt>, question: &Question) -> Result<String> {
    let text = format!("\n{} [{}]: ", question.text, question.hint);
    let (above, prompt) = text.rsplit_once('\n').unwrap_or(("", &text));
    print::paragraph(above)?;
    let answer = match editor {
        Some(editor) => match editor.ask(&reveal(prompt), question.is_hidden)? {
            Typed::Line(answer) => answer,
            Typed::Cleared | Typed::Interrupt | Typed::End => return Err(Error::Stopped),
        },
        None if question.is_hidden => print::ask_hidden(prompt, std::io::stdin())?,
        None => print::ask(prompt)?,
    };
    Ok(answer.trim().to_owned())
}

/// Line editing; `None` on a terminal that cannot move its cursor.
pub fn editor() -> Option<Prompt> {
    Some(Prompt::for_questions()).filter(Prompt::reads_keys)
}

impl<'a> Terminal<'a> {
    /// The terminal, or where nobody is to be asked, only what tries.
    pub fn new(context: &'a Context, loaded: &'a Loaded, can_ask: bool) -> Result<Self> {
        let prompt = if can_ask { editor() } else { None };
        Ok(Self {
            context,
            loaded,
            tls: compose::tls(&loaded.config.tls)?,
            prompt,
            can_ask,
            listed: None,
            foreground: None,
        })
    }

    /// Runs something that waits for a server. Ctrl-C ends it with [`Error::Stopped`].
    fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&crate::base::cancel::Cancel) -> T + Send + 'static,
    ) -> Result<T> {
        let foreground = match self.foreground.take() {
            Some(foreground) => foreground,
            None => Foreground::new()?,
        };
        self.foreground.insert(foreground).run(work)
    }
}

impl Outside for Terminal<'_> {
    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn ask(&mut self, question: &Question) -> Result<String> {
        ask(self.prompt.as_mut(), question)
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
