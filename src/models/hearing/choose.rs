//! Who listens, from the settings. Pure.

use super::Listener;
use crate::base::error::{Error, Result};
use crate::config::check::safe_path;
use crate::config::schema::{Provider, Transcription};
use crate::models::route::{Route, Sources, is_auto};
use crate::models::table::Format;

/// The providers that are used where none is named, with the model of each
/// (<https://developers.openai.com/api/docs/models/gpt-transcribe>, <https://console.groq.com/docs/speech-to-text>,
/// <https://ai.google.dev/gemini-api/docs/audio>, <https://docs.mistral.ai/capabilities/audio>).
const MODELS: [(&str, &str); 4] = [
    ("openai", "gpt-transcribe"),
    ("groq", "whisper-large-v3-turbo"),
    ("gemini", "gemini-3.8-flash"),
    ("mistral", "voxtral-mini-latest"),
];
/// The model of all others: servers at home take any name, or this one.
const OTHER_MODEL: &str = "whisper-1";
/// The name of a server of one's own.
pub(super) const OWN: &str = "transcription";

/// How voice messages become text.
#[derive(Clone, Debug)]
pub struct Hearing {
    /// Who listens; `None` where nobody can.
    pub way: Option<Way>,
    /// Whether that was chosen because of a key that is there for something else.
    pub is_assumed: bool,
    /// Minutes of audio that one message may have.
    pub max_minutes: u64,
}

/// Who listens.
#[derive(Clone, Debug)]
pub enum Way {
    /// A server.
    Server(Box<Listener>),
    /// A line of the shell, which gets the file as `$1`.
    Command(String),
}

/// Chooses who listens; `answers` are the provider and the model that answer, as they are configured. Fails for a provider that does not exist or cannot
/// listen.
pub fn choose(
    settings: &Transcription,
    answers: (&str, &str),
    sources: &Sources<'_>,
) -> Result<Option<Hearing>> {
    if !settings.enabled {
        return Ok(None);
    }
    let is_assumed = is_auto(&settings.provider);
    let (way, is_assumed) = if !settings.command.is_empty() {
        (Some(Way::Command(settings.command.clone())), false)
    } else if !settings.api_base.is_empty() {
        let server = Provider {
            api_base: settings.api_base.clone(),
            ..Provider::default()
        };
        let route = Route::unsaved(OWN, server, &|_| None);
        (Some(way(route, &settings.model)?), false)
    } else if is_assumed {
        let usual = MODELS.iter().map(|(name, _)| *name);
        let answers = sources.choose(answers.0, answers.1);
        let answers = answers.map_or_else(|_| String::new(), |route| route.provider);
        let answering = usual.clone().filter(|name| *name == answers);
        let with_key = answering.chain(usual).find_map(|name| {
            let route = sources.choose(name, "").ok()?;
            (!route.key.is_empty()).then_some(route)
        });
        let way = with_key.map(|route| way(route, &settings.model));
        (way.transpose()?, true)
    } else {
        let unknown = |_| {
            let name = safe_path([settings.provider.as_str()].into_iter());
            Error::Config(format!(
                "Unknown provider \"{name}\" in transcription.provider"
            ))
        };
        let name = sources.resolve(&settings.provider).map_err(unknown)?;
        (
            Some(way(sources.choose(name, "")?, &settings.model)?),
            false,
        )
    };
    Ok(Some(Hearing {
        way,
        is_assumed,
        max_minutes: settings.max_minutes,
    }))
}

/// The way to a server, with its usual model where none is named.
fn way(mut route: Route, model: &str) -> Result<Way> {
    let name = route.provider.as_str();
    if route.format != Format::OpenAi || route.sign_in.is_some() {
        return Err(Error::Config(format!(
            "{name} cannot transcribe. Set transcription.provider to openai, groq, gemini or mistral, or \
             transcription.apiBase to a server of your own"
        )));
    }
    let is_gemini = name == "gemini";
    route.model = match (model, MODELS.iter().find(|(known, _)| *known == name)) {
        ("", Some((_, usual))) => *usual,
        ("", None) => OTHER_MODEL,
        (model, _) => model,
    }
    .to_owned();
    Ok(Way::Server(Box::new(Listener { route, is_gemini })))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::secret::Secret;

    fn settings(provider: &str, model: &str) -> Transcription {
        Transcription {
            provider: provider.to_owned(),
            model: model.to_owned(),
            ..Transcription::default()
        }
    }

    /// Who listens where these providers have keys.
    fn listener(settings: &Transcription, answers: &str, keys: &[&str]) -> Result<String> {
        let key = |name: &&str| {
            let provider = Provider {
                api_key: Secret::new("key"),
                ..Provider::default()
            };
            ((*name).to_owned(), provider)
        };
        let providers: BTreeMap<String, Provider> = keys.iter().map(key).collect();
        let sources = Sources {
            providers: &providers,
            variable: &|_| None,
            sign_ins: None,
        };
        let hearing = choose(settings, ("auto", answers), &sources)?.unwrap();
        Ok(match hearing.way {
            None => String::new(),
            Some(Way::Command(line)) => line,
            Some(Way::Server(listener)) => listener.name(),
        })
    }

    #[test]
    fn without_a_setting_the_one_that_answers_listens_or_the_first_with_a_key() {
        let auto = settings("auto", "");
        for (answers, keys, expected) in [
            (
                "auto",
                &["gemini", "groq", "openai"][..],
                "openai/gpt-transcribe",
            ),
            (
                "gemini-4-argon",
                &["gemini", "openai"],
                "gemini/gemini-3.8-flash",
            ),
            (
                "anthropic",
                &["anthropic", "groq"],
                "groq/whisper-large-v3-turbo",
            ),
            (
                "anthropic",
                &["anthropic", "mistral"],
                "mistral/voxtral-mini-latest",
            ),
            ("", &[], ""),
        ] {
            assert_eq!(listener(&auto, answers, keys).unwrap(), expected);
        }
    }

    #[test]
    fn a_named_one_listens_with_its_usual_model_or_another() {
        let name = |provider, model| listener(&settings(provider, model), "", &["openai"]);
        assert_eq!(name("mistral", "").unwrap(), "mistral/voxtral-mini-latest");
        assert_eq!(
            name("Groq", "whisper-large-v3").unwrap(),
            "groq/whisper-large-v3"
        );
        assert_eq!(name("vllm", "").unwrap(), "vllm/whisper-1");
        assert!(
            name("anthropic", "")
                .unwrap_err()
                .to_string()
                .contains("cannot transcribe")
        );
        assert!(name("offline", "").is_err());
        assert!(
            name("nobody", "")
                .unwrap_err()
                .to_string()
                .contains("transcription.provider")
        );
        let own = Transcription {
            api_base: "http://nas:8000/v1/".to_owned(),
            ..settings("openai", "small")
        };
        assert_eq!(
            listener(&own, "", &["openai"]).unwrap(),
            "transcription/small"
        );
        let command = Transcription {
            command: "whisper \"$1\"".to_owned(),
            ..own
        };
        assert_eq!(listener(&command, "", &[]).unwrap(), "whisper \"$1\"");
    }
}
