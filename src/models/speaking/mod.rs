//! Speaking: words become a recording, from a server with OpenAI's `/audio/speech`.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::time::Duration;

use serde_json::json;

use super::call::{NoAnswer, before_the_answer, settings};
use super::classify::Failure;
use super::hearing::{Recording, explain, price, repeat};
use super::route::{Route, Sources, headers};
use super::table::Format;
use crate::base::cancel::Cancel;
use crate::base::chat::{Fault, Usage};
use crate::base::error::{Error, Result};
use crate::config::check::safe_path;
use crate::config::schema::{Provider, Speech};
use crate::net::http::{Client, Settings, Tls};

/// Bytes of a spoken answer: 4,000 characters take five minutes, which as a WAV have half of it.
pub const SPEECH_BYTES: usize = 32 * 1024 * 1024;
/// Time until the speech begins: a server at home may need as long as the speech takes.
const ANSWER_TIME: Duration = Duration::from_mins(5);
/// The name of a server of one's own.
const OWN: &str = "speech";
/// The models that are used where none is named: OpenAI's, and the name that most servers know.
const MODELS: [&str; 2] = ["gpt-4o-mini-tts", "tts-1"];

/// How answers are spoken.
#[derive(Clone, Debug)]
pub struct Speaking {
    /// What speaks.
    pub way: Way,
    /// Characters of an answer that are spoken.
    pub max_chars: usize,
}

/// What speaks.
#[derive(Clone, Debug)]
pub enum Way {
    /// A server.
    Server(Box<Speaker>),
    /// A line of the shell, which reads the text and writes the file `$1`.
    Command(String),
}

/// A server that speaks.
#[derive(Clone, Debug)]
pub struct Speaker {
    route: Route,
    voice: String,
}

/// Chooses what speaks; `None` where nothing is set. Fails for a provider that does not exist or cannot speak.
pub fn choose(settings: &Speech, sources: &Sources<'_>) -> Result<Option<Speaking>> {
    if !settings.is_set() {
        return Ok(None);
    }
    let way = if !settings.command.is_empty() {
        Way::Command(settings.command.clone())
    } else {
        let mut route = route(settings, sources)?;
        let [openai, other] = MODELS;
        route.model = match (settings.model.as_str(), route.provider.as_str()) {
            ("", "openai") => openai,
            ("", _) => other,
            (model, _) => model,
        }
        .to_owned();
        let voice = settings.voice.clone();
        Way::Server(Box::new(Speaker { route, voice }))
    };
    Ok(Some(Speaking {
        way,
        max_chars: settings.max_chars,
    }))
}

fn route(settings: &Speech, sources: &Sources<'_>) -> Result<Route> {
    if !settings.api_base.is_empty() {
        let server = Provider {
            api_base: settings.api_base.clone(),
            ..Provider::default()
        };
        return Ok(Route::unsaved(OWN, server, &|_| None));
    }
    let name = safe_path([settings.provider.as_str()].into_iter());
    let known = sources.resolve(&settings.provider);
    let known =
        known.map_err(|_| Error::Config(format!("Unknown provider \"{name}\" in speech.provider")));
    let route = sources.choose(known?, "")?;
    if route.format != Format::OpenAi || route.sign_in.is_some() {
        return Err(Error::Config(format!(
            "{name} cannot speak. Set speech.provider to openai, speech.apiBase to a server of your own, or \
             speech.command to a program"
        )));
    }
    Ok(route)
}

impl Speaker {
    /// The provider and its model, for people and for the count of usage.
    pub fn name(&self) -> String {
        format!("{}/{}", self.route.provider, self.route.model)
    }

    /// The provider, where it needs a key that is not there.
    pub fn lacks_key(&self) -> Option<&str> {
        let lacks = self.route.needs_key && self.route.key.is_empty();
        lacks.then_some(self.route.provider.as_str())
    }

    /// Has a text spoken into a file, which is empty. Blocks until the speech is there or `cancel` is raised. `spent`
    /// becomes what it took, whatever came of it.
    pub fn speak(
        &self,
        text: &str,
        file: &mut File,
        (tls, cancel): (&Tls, &Cancel),
        spent: &mut Usage,
    ) -> Result<()> {
        let fail = |failure| explain(&self.route, OWN, failure);
        if self.lacks_key().is_some() {
            return Err(fail(Failure::new(Fault::Key, "")));
        }
        let settings = Settings {
            first_byte: ANSWER_TIME,
            ..settings(&self.route)
        };
        let client = Client::new(tls, settings, cancel)?;
        let body = json!({
            "model": self.route.model, "voice": self.voice, "response_format": "opus", "input": text,
        })
        .to_string();
        repeat(cancel, &fail, &mut || {
            let spoken = self.ask(&client, &body, file);
            let is_spent = spoken.as_ref().map_or_else(NoAnswer::may_cost, |()| true);
            if client.was_sent() && is_spent {
                spent.add(price::of_chars(&self.route, text.chars().count()));
            }
            spoken
        })
    }

    fn ask(&self, client: &Client, body: &str, file: &mut File) -> Result<(), NoAnswer> {
        let io = |error| NoAnswer::Ended(Error::io("write", "the speech")(error));
        file.set_len(0).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut headers = headers(&self.route);
        headers.push(("content-type", "application/json"));
        let answer = client.post(&url(&self.route), &headers, body.as_bytes());
        let came = answer.and_then(|answer| answer.download(file, SPEECH_BYTES, &|_| ()));
        came.map_err(before_the_answer)?;
        let recording = file.try_clone().map_err(io)?;
        let recording = Recording::open(recording).map_err(NoAnswer::Ended)?;
        match recording.ending() {
            Some(_) => Ok(()),
            None => Err(Failure::new(Fault::Garbage, "it did not send speech").into()),
        }
    }
}

/// Where texts are posted to. An `apiBase` that is the full URL already is kept.
fn url(route: &Route) -> String {
    const PATH: &str = "/audio/speech";
    match route.base.ends_with(PATH) {
        true => route.base.clone(),
        false => format!("{}{PATH}", route.base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaker(settings: &Speech) -> Result<String> {
        let sources = Sources {
            providers: &Default::default(),
            variable: &|_| None,
            sign_ins: None,
        };
        Ok(
            match choose(settings, &sources)?.map(|speaking| speaking.way) {
                None => "nobody".to_owned(),
                Some(Way::Command(line)) => line,
                Some(Way::Server(speaker)) => {
                    [&speaker.name(), ": ", &url(&speaker.route)].concat()
                }
            },
        )
    }

    #[test]
    fn what_is_set_speaks_and_nothing_else() {
        let of = |provider: &str, api_base: &str, model: &str| Speech {
            provider: provider.to_owned(),
            api_base: api_base.to_owned(),
            model: model.to_owned(),
            ..Speech::default()
        };
        let name = |provider, base, model| speaker(&of(provider, base, model));
        assert_eq!(name("", "", "tts-9").unwrap(), "nobody");
        let openai = "openai/gpt-4o-mini-tts: https://api.openai.com/v1/audio/speech";
        assert_eq!(name("OpenAI", "", "").unwrap(), openai);
        let own = name("openai", "http://nas:1/v1/audio/speech", "");
        assert_eq!(own.unwrap(), "speech/tts-1: http://nas:1/v1/audio/speech");
        let own = name("", "http://nas:1/v1/", "kokoro");
        assert_eq!(own.unwrap(), "speech/kokoro: http://nas:1/v1/audio/speech");
        for (provider, reason) in [("anthropic", "cannot speak"), ("nobody", "speech.provider")] {
            let error = name(provider, "", "").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let command = Speech {
            command: "espeak-ng".to_owned(),
            ..of("openai", "", "")
        };
        assert_eq!(speaker(&command).unwrap(), "espeak-ng");
    }
}
