//! Hearing: what is said in a recording, as text.
//!
//! `choose` decides from the settings who listens, `recording` looks at a file before it is sent anywhere, and
//! [`Listener::hear`] asks a server. What was heard are words of the speaker: nothing here acts on them.

mod choose;
mod gemini;
mod length;
mod mp4;
pub(super) mod price;
mod recording;

use choose::OWN;
pub use choose::{Hearing, Way, choose};
pub use recording::Recording;

use serde_json::Value;

use super::call::{NoAnswer, before_the_answer, settings};
use super::classify::Failure;
use super::prices::charge;
use super::retry::{self, Failed};
use super::route::{Route, headers};
use super::turn::jitter;
use crate::base::cancel::Cancel;
use crate::base::chat::{Fault, Usage};
use crate::base::error::{Error, Result};
use crate::base::json::{self, Members};
use crate::net::http::multipart::Form;
use crate::net::http::{Client, Tls, Upload};
use std::time::Duration;

/// Bytes of an answer: four hours of talk have a quarter of it.
pub const ANSWER_BYTES: usize = 1024 * 1024;
/// Time until an answer begins: a server at home needs about as long as the recording.
const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Bytes of a recording that OpenAI takes
/// (<https://developers.openai.com/api/docs/guides/speech-to-text>); others take as much.
const RECORDING_BYTES: u64 = 25 * 1024 * 1024;

/// A server that listens.
#[derive(Clone, Debug)]
pub struct Listener {
    route: Route,
    /// Whether it is asked in the form of Gemini's own API.
    is_gemini: bool,
}

impl Listener {
    /// The provider and its model, for people and for the count of usage.
    pub fn name(&self) -> String {
        format!("{}/{}", self.route.provider, self.route.model)
    }

    /// The provider's name and its model.
    pub fn parts(&self) -> (&str, &str) {
        (&self.route.provider, &self.route.model)
    }

    /// Whether the server needs a key that is not there.
    pub fn lacks_key(&self) -> bool {
        self.route.needs_key && self.route.key.is_empty()
    }

    /// Sends a recording, and again where that may help. Blocks until there is an answer or `cancel` is raised.
    /// Returns the words, which are empty where none were said. `spent` becomes what it took, whatever came of it.
    pub fn hear(
        &self,
        recording: &Recording,
        (tls, cancel): (&Tls, &Cancel),
        spent: &mut Usage,
    ) -> Result<String> {
        let fail = |failure| explain(&self.route, OWN, failure);
        if self.lacks_key() {
            return Err(fail(Failure::new(Fault::Key, "")));
        }
        let limit = match self.is_gemini {
            true => gemini::RECORDING_BYTES,
            false => RECORDING_BYTES,
        };
        if recording.bytes() > limit {
            let what = "the recording".to_owned();
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            return Err(Error::TooLarge { what, limit });
        }
        let settings = crate::net::http::Settings {
            first_byte: ANSWER_TIME,
            ..settings(&self.route)
        };
        let client = Client::new(tls, settings, cancel)?;
        repeat(cancel, &fail, &mut || {
            let answered = self.ask(&client, recording, spent);
            if client.was_sent() && answered.as_ref().is_err_and(NoAnswer::may_cost) {
                spent.add(price::of_seconds(&self.route, recording.seconds()));
            }
            answered
        })
    }

    fn ask(
        &self,
        client: &Client,
        recording: &Recording,
        spent: &mut Usage,
    ) -> Result<String, NoAnswer> {
        let (file_name, media_type) = recording.kind().map_err(NoAnswer::Ended)?;
        let file = recording.reader().map_err(NoAnswer::Ended)?;
        let posted = if self.is_gemini {
            let (mut body, length) = gemini::body(media_type, file, recording.bytes());
            let headers = gemini::headers(&self.route);
            let upload = Upload::new(&mut body, length);
            client.post_reader(&gemini::url(&self.route), &headers, upload)
        } else {
            let fields = [
                ("model", Value::from(self.route.model.as_str())),
                ("response_format", Value::from("json")),
            ];
            let form = Form::new(&fields, "file", file_name);
            let form = form.of_type(media_type);
            let mut headers = headers(&self.route);
            headers.push(("content-type", &form.content_type));
            let mut body = form.reader(file, recording.bytes());
            let upload = Upload::new(&mut body, form.length(recording.bytes()));
            client.post_reader(&url(&self.route), &headers, upload)
        };
        let answer = posted.and_then(|answer| answer.read_to_end(ANSWER_BYTES));
        let answer = answer.map_err(before_the_answer)?;
        let garbage = || Failure::new(Fault::Garbage, "it did not send what it heard");
        let bytes = answer.len() as u64;
        let answer = json::envelope_from_slice::<Members<'_>>(&answer).map_err(|_| garbage())?;
        if self.is_gemini {
            let usage = gemini::usage(&answer, (recording.bytes(), bytes));
            spent.add(charge(&self.route, &self.route.model, usage));
            return Ok(gemini::words(&answer)?);
        }
        let words = answer.raw("text").map(|_| answer.text_or_empty("text"));
        let words = words.ok_or_else(garbage)?;
        spent.add(price::of_seconds(&self.route, recording.seconds()));
        Ok(words)
    }
}

/// Asks, and again where that may help.
pub(super) fn repeat<T>(
    cancel: &Cancel,
    explain: &dyn Fn(Failure) -> Error,
    ask: &mut dyn FnMut() -> Result<T, NoAnswer>,
) -> Result<T> {
    let mut before = 0;
    loop {
        let failure = match ask() {
            Ok(answer) => return Ok(answer),
            Err(NoAnswer::Ended(error)) => return Err(error),
            Err(NoAnswer::Failed(failure)) => failure,
        };
        let failed = Failed {
            before,
            fault: failure.fault,
            shown: false,
            retry_after: failure.retry_after,
        };
        // One that took its time would take it again.
        let wait = retry::wait(failed, jitter()).filter(|_| failure.fault != Fault::Timeout);
        let Some(wait) = wait else {
            return Err(explain(failure));
        };
        if cancel.wait(wait) {
            return Err(Error::Stopped);
        }
        before += 1;
    }
}

/// A failure with what can be done about it: other settings than for answers, in this section.
pub(super) fn explain(route: &Route, section: &str, failure: Failure) -> Error {
    let mut error = failure.into_error(route, &route.model);
    let is_own = route.provider == section;
    let hint = match error.fault {
        Fault::Key if is_own => format!(
            "Set {section}.provider to a name of your choice, and the key and the address in providers.NAME"
        ),
        _ if is_own => format!("Check {section}.apiBase and {section}.model"),
        Fault::Key => return Error::Model(Box::new(error)),
        Fault::Rate | Fault::Busy | Fault::Network | Fault::Timeout | Fault::Cut => {
            format!("Try again later, or use another {section}.provider")
        }
        _ => format!("Check {section}.model, or use another {section}.provider"),
    };
    error.hint = Some(hint);
    Error::Model(Box::new(error))
}

/// Where recordings are posted to. An `apiBase` that is the full URL already is kept.
fn url(route: &Route) -> String {
    const PATH: &str = "/audio/transcriptions";
    match route.base.ends_with(PATH) {
        true => route.base.clone(),
        false => format!("{}{PATH}", route.base),
    }
}
