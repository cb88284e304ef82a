//! `/model`: the model of a conversation.

mod list;

use std::fmt::Write;

use super::{CommandAnswer, Invocation};
use crate::agent::{Agent, texts};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{CommandButton, SessionKey};
use crate::models::offers::{self, ListError, Offers};
use crate::models::prices;
use crate::models::route::Route;
use crate::text::markup::inline_code;
use crate::text::{join_with_last, reveal};

/// What a model's name stands for.
enum Meant {
    /// This model, with a warning when it could not be checked.
    One {
        name: String,
        warning: Option<String>,
    },
    /// Models of several providers, with the providers' names.
    Several(Vec<String>),
}

/// Whether an argument of `/model` changes nothing.
pub fn lists_models(argument: &str) -> bool {
    argument.is_empty() || argument.eq_ignore_ascii_case("list")
}

impl Agent {
    /// Answers `/model`.
    pub fn answer_model(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        if lists_models(invocation.argument) {
            self.list_models(invocation)
        } else {
            self.choose_model(invocation)
        }
    }

    /// Uses another model for a chat from the next turn on; `default` goes back to the configured one.
    /// A name that no server knows is refused, but for the whole name of a model of one's own server; one that several
    /// have is asked about, and one that a server spells otherwise, or that is a part of only one name, is stored in the
    /// server's spelling. Where the server cannot be asked, a warning says so.
    fn choose_model(&self, invocation: &Invocation<'_>) -> Result<CommandAnswer> {
        let Invocation { key, language, .. } = *invocation;
        let name = invocation.argument;
        if name.eq_ignore_ascii_case("default") {
            self.selection.choose(key.as_str(), None)?;
            return Ok(self.model_line(key, language).into());
        }
        let (name, warning) = match self.find_model(name, invocation)? {
            Meant::One { name, warning } => (name, warning),
            Meant::Several(names) => return Ok(ask_which(name, &names, language)),
        };
        self.selection.choose(key.as_str(), Some(&name))?;
        let line = match self.lacks_model(key) {
            true => texts::no_provider_for(language, &inline_code(&name)),
            false => self.model_line(key, language),
        };
        let text = match warning {
            Some(warning) => texts::with_note(language, &line, &warning),
            None => line,
        };
        Ok(text.into())
    }

    /// Finds a model by what was typed: at the provider that the name names, else at all that are connected.
    fn find_model(&self, typed: &str, invocation: &Invocation<'_>) -> Result<Meant> {
        let language = invocation.language;
        let models = self.selection.preview(Some(typed))?;
        let route = models.primary();
        let as_typed = |warning| Meant::One {
            name: typed.to_owned(),
            warning,
        };
        // What is before the model: the provider's name or nothing.
        let before = typed.strip_suffix(&*route.model).unwrap_or_default();
        let mut routes = models.providers();
        if !before.is_empty() {
            routes.truncate(1);
        }
        if route.is_offline() && routes.len() == 1 {
            return Ok(as_typed(None));
        }
        let lists = offers::list_all(self.connections.tls(), &routes, invocation.cancel);
        let mut lists: Vec<_> = routes.into_iter().zip(lists).collect();
        if lists[0]
            .1
            .as_ref()
            .is_ok_and(|offers| !offers::is_offered(&route.model, offers))
        {
            // It may be the whole name of another's: `openai/gpt-oss-120b` at Groq.
            let others = models.providers().split_off(lists.len());
            let more = offers::list_all(self.connections.tls(), &others, invocation.cancel);
            lists.extend(others.into_iter().zip(more));
        }
        let found = spellings(typed, route, &lists);
        match (found.as_slice(), &lists[0].1) {
            ([(provider, spelling)], _) if provider.provider == route.provider => {
                let name = match *spelling == route.model {
                    true => typed.to_owned(),
                    false => format!("{before}{spelling}"),
                };
                Ok(Meant::One {
                    name,
                    warning: None,
                })
            }
            ([(other, spelling)], _) => Ok(Meant::One {
                name: format!("{}/{spelling}", other.provider),
                warning: None,
            }),
            ([_, _, ..], _) => Ok(Meant::Several(
                found
                    .iter()
                    .map(|(route, spelling)| format!("{}/{spelling}", route.provider))
                    .collect(),
            )),
            ([], Ok(offers)) if offers::is_offered(&route.model, offers) => Ok(as_typed(None)),
            ([], Ok(offers)) => match offers::only_match(&route.model, &offers.names) {
                // The whole name is meant as it is.
                _ if !before.is_empty() && !route.is_of_cloud() => {
                    let model = inline_code(&route.model);
                    let warning = texts::unlisted_model(language, &route.provider, &model);
                    Ok(as_typed(Some(warning)))
                }
                Some(only) => Ok(Meant::One {
                    name: format!("{before}{only}"),
                    warning: None,
                }),
                None => Err(unknown_model(typed, route, &lists, language)),
            },
            ([], Err(_)) if route.is_offline() => Ok(as_typed(None)),
            ([], Err(error)) => {
                let warning = texts::unchecked_model(language, error);
                Ok(as_typed(Some(warning)))
            }
        }
    }

    /// Fails when the model that was named for a conversation at the start does not exist: when its
    /// provider lists its models without it, or lists none and the name is a slip of a known one. A server
    /// of one's own may have models that it does not list, so nothing is said about those. Returns a remark where only
    /// longer names are listed: the provider decides.
    pub fn check_named_model(&self, key: &SessionKey, cancel: &Cancel) -> Result<Option<String>> {
        let models = self.selection.models_of(key.as_str())?;
        let route = models.primary();
        let (provider, model) = (&route.provider, &*route.model);
        let is_known = prices::window(provider, model).is_some();
        if is_known || !route.is_of_cloud() || route.key.is_empty() {
            return Ok(None);
        }
        let advice = match offers::list(self.connections.tls(), route, cancel) {
            Ok(offers) if offers.names.is_empty() || offers::is_offered(model, &offers) => None,
            Ok(offers) => match offers::longer(model, &offers) {
                None => Some(offers::suggestion(model, &offers.names)),
                Some(longer) => {
                    let (model, longer) = (reveal(model), reveal(longer));
                    return Ok(Some(format!(
                        "{provider} lists no {model}, only longer names such as {longer}. It is tried all the same."
                    )));
                }
            },
            Err(ListError::Ended(error)) => return Err(error),
            Err(_) => prices::slip_of(provider, model).map(|near| format!("Did you mean {near}?")),
        };
        let model = reveal(model);
        let refuse =
            |advice| Error::Usage(format!("No model named {model} at {provider}. {advice}"));
        advice.map(refuse).map_or(Ok(None), Err)
    }
}

/// The list of a provider, as far as it could be had.
type Listed<'a> = (&'a Route, std::result::Result<Offers, ListError>);

/// The providers that list a model of this name, with their spellings. The primary one may also list it
/// with a date behind it.
fn spellings<'a>(
    typed: &str,
    primary: &Route,
    lists: &'a [Listed<'a>],
) -> Vec<(&'a Route, String)> {
    let find = |(route, list): &'a Listed<'a>| {
        let offers = list.as_ref().ok()?;
        let spelling = match route.provider == primary.provider {
            true => offers::find_spelling(&primary.model, offers),
            false => offers.names.iter().map(String::as_str).find(|name| {
                name.eq_ignore_ascii_case(typed)
                    || name
                        .strip_suffix(":latest")
                        .is_some_and(|name| name.eq_ignore_ascii_case(typed))
            }),
        };
        Some((*route, spelling?.to_owned()))
    };
    lists.iter().filter_map(find).collect()
}

fn unknown_model(typed: &str, primary: &Route, lists: &[Listed<'_>], language: Language) -> Error {
    let near_of = |(route, list): &Listed<'_>| {
        let (model, prefix) = match route.provider == primary.provider {
            true => (&*primary.model, String::new()),
            false => (typed, format!("{}/", route.provider)),
        };
        let names = list.as_ref().map_or(&[][..], |offers| &offers.names);
        let near = offers::nearest(model, names).into_iter();
        near.map(|name| inline_code(&format!("{prefix}{name}")))
            .collect::<Vec<_>>()
    };
    // Another provider's name is only of use where the primary one has nothing like it.
    let near = lists.iter().map(near_of).find(|near| !near.is_empty());
    let (provider, model) = (&primary.provider, inline_code(&primary.model));
    Error::Usage(match near {
        None => texts::unknown_model(language, provider, &model),
        Some(near) => {
            let near = join_with_last(&near, texts::comma(language), texts::or(language));
            texts::unknown_model_near(language, provider, &model, &near)
        }
    })
}

/// Asks which provider's model is meant.
fn ask_which(typed: &str, names: &[String], language: Language) -> CommandAnswer {
    let mut text = texts::which_provider(language, &inline_code(typed));
    for name in names {
        let _ = write!(text, "\n- {}", inline_code(&format!("/model {name}")));
    }
    let button = |name: &String| {
        vec![CommandButton {
            label: name.clone(),
            command: format!("/model {name}"),
        }]
    };
    CommandAnswer {
        text,
        buttons: names.iter().map(button).collect(),
        is_private: false,
    }
}
