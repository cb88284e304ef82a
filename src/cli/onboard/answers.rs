//! What the configuration should say: from the flags, the environment, and the person.

use serde_json::Value;

use super::Arguments;
use crate::config::{Loaded, table};
use crate::error::{Error, Result};
use crate::sys::environment::Environment;

/// A provider that is known by name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The variables that by custom hold its key; none: it needs no key.
    pub variables: &'static [&'static str],
}

/// What is there already.
pub struct Found<'a> {
    /// Providers that need no address.
    pub known: &'a [Known],
    /// The configuration before.
    pub loaded: &'a Loaded,
    /// The variables of the environment.
    pub environment: &'a Environment,
}

/// Asks a question and gives back the answer.
pub type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<String>;

/// The keys to set, with their values; what is so already is not among them. Without `ask` a
/// question's answer is what stands there already, or the default.
pub fn gather(
    flags: &Arguments,
    found: &Found<'_>,
    ask: Option<Ask<'_>>,
) -> Result<Vec<(String, Value)>> {
    let mut answers = Answers {
        found,
        ask,
        wanted: Vec::new(),
    };
    let provider = answers.provider(flags)?;
    if !provider.is_empty() {
        answers.key(&provider, flags.api_key.as_deref())?;
        answers.base(&provider, flags.api_base.as_deref())?;
    } else if flags.api_key.is_some() || flags.api_base.is_some() {
        let text = "--api-key and --api-base belong to a provider: add --provider NAME";
        return Err(Error::Usage(text.to_owned()));
    }
    answers.model(flags.model.as_deref())?;
    answers.workspace(flags)?;
    answers.telegram(flags)?;
    Ok(answers.wanted)
}

struct Answers<'a, 'q> {
    found: &'a Found<'a>,
    ask: Option<Ask<'q>>,
    wanted: Vec<(String, Value)>,
}

impl Answers<'_, '_> {
    /// Settles which provider answers; empty: nobody said.
    fn provider(&mut self, flags: &Arguments) -> Result<String> {
        const PATH: &str = "agents.defaults.provider";
        let configured = self.current(PATH);
        let default = match configured.as_str() {
            // What the environment has is found at every start, and so need not stand in the file.
            "auto" if self.ask.is_none() => "",
            "auto" => self.detected().unwrap_or_default(),
            name => name,
        };
        let names: Vec<&str> = self.found.known.iter().map(|known| known.name).collect();
        let question = format!(
            "Known by name: {}.\nAny other name is an OpenAI-compatible server of your own.\n\
             Which provider answers?",
            names.join(", ")
        );
        let instead = if default.is_empty() {
            "none yet"
        } else {
            default
        };
        let provider = self.answer(flags.provider.as_deref(), &question, (default, instead))?;
        if !provider.is_empty() {
            self.want(PATH.to_owned(), &provider);
        }
        Ok(provider)
    }

    /// The first provider whose key is in the environment, while no provider is configured.
    fn detected(&self) -> Option<&'static str> {
        let is_provider = |path: &String| path.starts_with("providers.");
        if self.found.loaded.settings.keys().any(is_provider) {
            return None;
        }
        let has_key = |known: &&Known| self.variable(known.variables).is_some();
        self.found
            .known
            .iter()
            .find(has_key)
            .map(|known| known.name)
    }

    /// The first of the variables that has a value.
    fn variable(&self, names: &'static [&'static str]) -> Option<&'static str> {
        let has_value = |name: &&&str| {
            self.found
                .environment
                .get(**name)
                .is_some_and(|value| !value.is_empty())
        };
        names.iter().find(has_value).copied()
    }

    /// Settles the key. One that the environment has under its usual name is found there by itself:
    /// in the file it would be a copy, and a reference to it would make every start without the
    /// variable fail.
    fn key(&mut self, provider: &str, flag: Option<&str>) -> Result<()> {
        let path = format!("providers.{provider}.apiKey");
        let known = self.found.known.iter().find(|known| known.name == provider);
        if flag.is_none() && known.is_some_and(|known| known.variables.is_empty()) {
            return Ok(());
        }
        let variable = known.and_then(|known| self.variable(known.variables));
        let instead = match variable {
            _ if !self.current(&path).is_empty() => "the one that is there",
            Some(_) => "the one in the environment",
            None => "none",
        };
        let question = format!("The key of {provider}?");
        let key = self.answer(flag, &question, ("", instead))?;
        if !key.is_empty() {
            self.want(path, &key);
        }
        Ok(())
    }

    fn base(&mut self, provider: &str, flag: Option<&str>) -> Result<()> {
        let path = format!("providers.{provider}.apiBase");
        let is_known =
            provider == "auto" || self.found.known.iter().any(|known| known.name == provider);
        let current = self.current(&path);
        let base = match flag {
            None if is_known || !current.is_empty() => return Ok(()),
            flag => {
                let question =
                    format!("The address of {provider}, such as http://127.0.0.1:8000/v1?");
                self.answer(flag, &question, ("", "none"))?
            }
        };
        if base.is_empty() {
            let names: Vec<&str> = self.found.known.iter().map(|known| known.name).collect();
            let names = names.join(", ");
            return Err(Error::Usage(format!(
                "{provider} is not known by name, so it needs --api-base URL; known are {names}"
            )));
        }
        self.want(path, &base);
        Ok(())
    }

    fn model(&mut self, flag: Option<&str>) -> Result<()> {
        const PATH: &str = "agents.defaults.model";
        let current = self.current(PATH);
        let instead = if current.is_empty() {
            "the provider's usual one"
        } else {
            &current
        };
        let model = self.answer(flag, "Which model?", (&current, instead))?;
        self.want(PATH.to_owned(), &model);
        Ok(())
    }

    fn workspace(&mut self, flags: &Arguments) -> Result<()> {
        const PATH: &str = "agents.defaults.workspace";
        let flag = flags
            .workspace
            .as_ref()
            .map(|path| path.display().to_string());
        let current = self.current(PATH);
        let instead = if current.is_empty() {
            "workspace in the home folder"
        } else {
            &current
        };
        let folder = self.answer(
            flag.as_deref(),
            "In which folder should it work?",
            (&current, instead),
        )?;
        if folder.is_empty() || folder.starts_with('~') {
            self.want(PATH.to_owned(), &folder);
        } else {
            let folder = std::path::absolute(&folder).map_err(Error::io("find", &folder))?;
            self.want(PATH.to_owned(), &folder.display().to_string());
        }
        Ok(())
    }

    /// Settles whether it is reached on Telegram: with a token it is.
    fn telegram(&mut self, flags: &Arguments) -> Result<()> {
        const TOKEN: &str = "channels.telegram.token";
        const ENABLED: &str = "channels.telegram.enabled";
        let instead = match self.current(TOKEN).is_empty() {
            true => "none, so not on Telegram",
            false => "the one that is there",
        };
        let question = "To be reached on Telegram it needs a bot of its own: write /newbot to @BotFather there.\n\
                        The bot's token?";
        let token = self.answer(flags.telegram_token.as_deref(), question, ("", instead))?;
        if !token.is_empty() {
            self.want(TOKEN.to_owned(), &token);
            let is_enabled = table::find(ENABLED)
                .is_some_and(|key| self.found.loaded.current(key, ENABLED).0 == true);
            if !is_enabled {
                self.wanted.push((ENABLED.to_owned(), true.into()));
            }
        }
        Ok(())
    }

    /// The flag, else what the person answers, else the first default; the second one is its words.
    fn answer(
        &mut self,
        flag: Option<&str>,
        question: &str,
        default: (&str, &str),
    ) -> Result<String> {
        let (default, words) = default;
        let answered = match (flag, &mut self.ask) {
            (Some(flag), _) => return Ok(flag.trim().to_owned()),
            (None, Some(ask)) => ask(&format!("{question}\n  [Enter: {words}] "))?,
            (None, None) => String::new(),
        };
        Ok(if answered.is_empty() {
            default.to_owned()
        } else {
            answered
        })
    }

    /// The text that holds for a key now.
    fn current(&self, path: &str) -> String {
        let value = table::find(path).map(|key| self.found.loaded.current(key, path).0);
        value
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    fn want(&mut self, path: String, value: &str) {
        let variable = value
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'));
        let meant = variable.and_then(|name| self.found.environment.get(name));
        if self.current(&path) != meant.map_or(value, String::as_str) {
            self.wanted.push((path, value.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    const KNOWN: &[Known] = &[
        Known {
            name: "anthropic",
            variables: &["ANTHROPIC_API_KEY"],
        },
        Known {
            name: "zhipu",
            variables: &["ZHIPU_API_KEY", "ZAI_API_KEY"],
        },
        Known {
            name: "ollama",
            variables: &[],
        },
    ];

    /// What is wanted with the file, the environment, the flags and the person's answers.
    fn wanted(
        file: &str,
        environment: &[(&str, &str)],
        flags: &Arguments,
        answers: Option<&[&str]>,
    ) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, file).unwrap();
        let pairs = environment.iter();
        let environment: Environment = pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let loaded = load(&path, true, &environment)?;
        let found = Found {
            known: KNOWN,
            loaded: &loaded,
            environment: &environment,
        };
        let mut left = answers.unwrap_or_default().iter();
        let mut ask = |_: &str| {
            left.next()
                .map(|answer| (*answer).to_owned())
                .ok_or(Error::Stopped)
        };
        let ask: Option<Ask<'_>> = answers.is_some().then_some(&mut ask);
        let pairs = gather(flags, &found, ask)?;
        assert_eq!(left.len(), 0, "not all was asked");
        let lines = pairs
            .iter()
            .map(|(path, value)| format!("{path}={}", value.as_str().unwrap_or("true")));
        Ok(lines.collect::<Vec<_>>().join(" "))
    }

    fn flags(provider: &str, key: &str, base: &str) -> Arguments {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Arguments {
            provider: given(provider),
            api_key: given(key),
            api_base: given(base),
            ..Arguments::default()
        }
    }

    #[test]
    fn a_key_of_the_environment_is_found_and_not_copied() {
        let none = Arguments::default();
        let environment = [("ZAI_API_KEY", "k-1"), ("ANTHROPIC_API_KEY", "")];
        assert_eq!(wanted("{}", &environment, &none, None).unwrap(), "");
        let zhipu = "agents.defaults.provider=zhipu";
        let named = flags("zhipu", "", "");
        assert_eq!(wanted("{}", &environment, &named, None).unwrap(), zhipu);
        let enter = Some(["", "", "", "", ""].as_slice());
        assert_eq!(wanted("{}", &environment, &none, enter).unwrap(), zhipu);
        let given = flags("zhipu", "k-1", "");
        assert_eq!(
            wanted("{}", &environment, &given, None).unwrap(),
            format!("{zhipu} providers.zhipu.apiKey=k-1"),
            "whoever gives a key wants it kept"
        );
    }

    #[test]
    fn what_is_there_is_kept_unless_a_flag_says_otherwise() {
        let file = r#"{"agents": {"defaults": {"provider": "anthropic", "model": "m"}},
                       "providers": {"anthropic": {"apiKey": "k-old"}}}"#;
        let environment = [("ANTHROPIC_API_KEY", "k-1")];
        assert_eq!(
            wanted(file, &environment, &Arguments::default(), None).unwrap(),
            ""
        );
        assert_eq!(
            wanted(file, &environment, &flags("anthropic", "k-new", ""), None).unwrap(),
            "providers.anthropic.apiKey=k-new"
        );
        assert_eq!(
            wanted(
                file,
                &[],
                &Arguments::default(),
                Some(&["", "", "", "", ""])
            )
            .unwrap(),
            ""
        );
    }

    #[test]
    fn a_person_is_asked_what_no_flag_says() {
        let none = Arguments::default();
        assert_eq!(
            wanted(
                "{}",
                &[],
                &none,
                Some(&["mine", "k", "http://h/v1", "m", "~/w", ""])
            )
            .unwrap(),
            "agents.defaults.provider=mine providers.mine.apiKey=k providers.mine.apiBase=http://h/v1 \
             agents.defaults.model=m agents.defaults.workspace=~/w"
        );
        assert_eq!(
            wanted("{}", &[], &none, Some(&["ollama", "", "", "1:a"])).unwrap(),
            "agents.defaults.provider=ollama channels.telegram.token=1:a channels.telegram.enabled=true"
        );
        assert!(matches!(
            wanted("{}", &[], &none, Some(&["ollama"])),
            Err(Error::Stopped)
        ));
    }

    #[test]
    fn what_cannot_work_is_wrong_usage() {
        let error = wanted("{}", &[], &flags("mine", "k", ""), None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("needs --api-base URL; known are anthropic, zhipu, ollama")
        );
        assert!(matches!(
            wanted("{}", &[], &flags("", "k", ""), None),
            Err(Error::Usage(_))
        ));
    }
}
