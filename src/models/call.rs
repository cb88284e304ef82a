//! One request to one model over HTTP.

use std::io::Read;
use std::sync::atomic::AtomicBool;

use super::classify::{Failure, classify, classify_stated, page_title};
use super::quirks::Quirks;
use super::route::{Route, headers};
use super::table::{Api, Format};
use super::wire::Stage;
use super::wire::body::Target;
use super::{anthropic, openai};
use crate::base::chat::{Fault, Reply, Request, Usage};
use crate::base::error::{Error, Result};
use crate::base::json::{self, Members};
use crate::base::limits;
use crate::net::http::sse::{Event, Parser};
use crate::net::http::{Body, Client, Settings, error_of};
use openai::responses;

mod estimate;
mod progress;
pub mod signed;

use progress::Progress;

/// Why there is no answer from a model.
#[derive(Debug)]
pub enum NoAnswer {
    /// The model, or the connection to it, failed; another model may answer.
    Failed(Failure),
    /// Another model would not help: the request was stopped, or the configuration is wrong.
    Ended(Error),
}

impl NoAnswer {
    /// Whether the server may have begun to answer, since it states nothing else.
    pub(super) fn may_cost(&self) -> bool {
        match self {
            Self::Failed(failure) => {
                matches!(failure.fault, Fault::Cut | Fault::Network | Fault::Timeout)
            }
            Self::Ended(error) => matches!(error, Error::Stopped),
        }
    }
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What one request needs besides its content.
pub struct Call<'a> {
    /// The connection.
    pub client: &'a Client,
    /// The endpoint.
    pub route: &'a Route,
    /// The model's name as it is sent.
    pub model: &'a str,
    /// How its API differs.
    pub quirks: Quirks,
    /// A number that differs for each request, for the ids of calls that come without one.
    pub nonce: u32,
    /// Whether the model has ever made a call as its API has it.
    pub has_called: &'a AtomicBool,
}

impl Call<'_> {
    /// Sends the request, and calls `show` with each piece of text as it arrives. What the server could not
    /// read as a call may be one for us.
    ///
    /// `spent` becomes the tokens that it took, whatever came of it; the usage of the reply is what the
    /// server reported.
    pub fn ask(
        &self,
        request: &Request<'_>,
        show: &mut dyn FnMut(&str),
        spent: &mut Usage,
    ) -> Result<Reply, NoAnswer> {
        let answered = self.exchange(request, show, spent);
        let Err(NoAnswer::Failed(failure)) = &answered else {
            return answered;
        };
        let text = failure.failed_call.as_deref();
        if let Some(text) = text.filter(|text| *spent == Usage::default() && !text.is_empty()) {
            *spent = estimate::of_failed(*spent, text.len(), request);
        }
        let read = |text| openai::decode::read_call(text, request.tools, self.nonce);
        match text.and_then(read) {
            Some(reply) => Ok(reply),
            None => answered,
        }
    }

    fn exchange(
        &self,
        request: &Request<'_>,
        show: &mut dyn FnMut(&str),
        spent: &mut Usage,
    ) -> Result<Reply, NoAnswer> {
        let target = Target {
            model: self.model,
            provider: &self.route.provider,
            quirks: self.quirks,
            extra_body: &self.route.extra_body,
        };
        let tools = request.tools;
        // What it writes may be a call all the same.
        let request = &Request {
            tools: if self.quirks.tools { tools } else { &[] },
            ..request.clone()
        };
        let (body, mut decoder) = match self.route.format {
            Format::Anthropic => {
                let decoder = anthropic::decode::Decoder::new(self.nonce);
                (
                    anthropic::encode::encode(request, &target),
                    Decoder::Anthropic(decoder),
                )
            }
            Format::OpenAi | Format::Offline => {
                let mut decoder = openai::decode::Decoder::new(tools, self.nonce);
                if !self.route.is_official() {
                    decoder = decoder.of_server(openai::decode::Server {
                        model: self.model,
                        has_called: self.has_called,
                    });
                }
                match self.quirks.api {
                    Api::Responses => {
                        let whose = (target.provider, target.model);
                        let decoder = responses::decode::Decoder::new(decoder, whose);
                        (
                            responses::encode::encode(request, &target),
                            Decoder::Responses(Box::new(decoder)),
                        )
                    }
                    Api::Chat | Api::OnlyChat => (
                        openai::encode::encode(request, &target),
                        Decoder::OpenAi(Box::new(decoder)),
                    ),
                }
            }
        };
        let body = body.map_err(|error| {
            NoAnswer::Ended(Error::Failed(format!("cannot write the request: {error}")))
        })?;
        let mut headers = headers(self.route);
        headers.extend(signed::headers(self.route, request));
        headers.push(("content-type", "application/json"));
        let posted = self
            .client
            .post(&self.route.url(self.quirks.api), &headers, &body);
        let sent = body.len();
        // Free it: the request may be large, and the answer takes a while.
        drop(body);
        let posted = posted.map_err(|error| self.unanswered(error, request, spent));
        let body = posted?.into_reader(limits::http::STREAM_BYTES);
        let mut whole = Vec::new();
        let progress = Progress::start(self.route.idle);
        let is_read = read(body, &mut decoder, progress, show, &mut whole);
        let (reported, bytes) = decoder.spent(&whole);
        let sizes = (sent, bytes.max(whole.len()));
        let reported = estimate::bounded(reported, request, sizes);
        let may_cost = is_read.as_ref().is_err_and(NoAnswer::may_cost);
        if may_cost || bytes > 0 || reported != Usage::default() {
            *spent = estimate::of_failed(reported, bytes, request);
        }
        is_read?;
        let mut reply = match whole.as_slice() {
            [] => decoder.finish(show),
            whole => decoder.whole(&String::from_utf8_lossy(whole)),
        };
        match &mut reply {
            Ok(reply) => {
                reply.usage = estimate::bounded(reply.usage, request, sizes);
                *spent = estimate::of_reply(reply, request);
            }
            Err(failure) if failure.is_stated => {}
            // The server has worked on it, as far as it says.
            Err(_) => *spent = estimate::of_failed(reported, bytes, request),
        }
        Ok(reply?)
    }

    /// What an error means that came before any of the answer, and what the request took all the same.
    fn unanswered(&self, error: Error, request: &Request<'_>, spent: &mut Usage) -> NoAnswer {
        let no_answer = before_the_answer(error);
        // A connection that breaks may have met no model.
        let is_cut =
            matches!(&no_answer, NoAnswer::Failed(failure) if failure.fault == Fault::Network);
        if !is_cut && no_answer.may_cost() && self.client.was_sent() {
            *spent = estimate::of_failed(Usage::default(), 0, request);
        }
        no_answer
    }
}

/// How a model of a route is asked.
pub(super) fn settings(route: &Route) -> Settings {
    Settings {
        proxy: route.proxy.clone(),
        // A question that is asked twice costs tokens at most.
        may_repeat: true,
        carries_secret: route.carries_secret(),
        ..Settings::new(route.first_byte, route.idle)
    }
}

/// What an error means that came before any of the answer.
pub(super) fn before_the_answer(error: Error) -> NoAnswer {
    let (fault, reason) = match error {
        Error::Status {
            status,
            body,
            retry_after,
            ..
        } => return classify(status, &body, retry_after).into(),
        Error::Network { host, what } => (Fault::Network, format!("{host}: {what}")),
        Error::Timeout { host, what } => (Fault::Timeout, format!("{host}: {what}")),
        error @ Error::TooLarge { .. } => (Fault::Garbage, error.to_string()),
        error => return NoAnswer::Ended(error),
    };
    Failure::new(fault, reason).into()
}

/// The decoder of the format.
enum Decoder<'a> {
    OpenAi(Box<openai::decode::Decoder<'a>>),
    Anthropic(anthropic::decode::Decoder),
    Responses(Box<responses::decode::Decoder<'a>>),
}

impl Decoder<'_> {
    fn event(&mut self, event: Event<'_>, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        if event.name == "error" && self.stage() == Stage::Open {
            return Err(classify_stated(event.data));
        }
        self.data(event.data, show)
    }

    fn data(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        match self {
            Self::OpenAi(decoder) => decoder.event(data, show),
            Self::Anthropic(decoder) => decoder.event(data, show),
            Self::Responses(decoder) => decoder.event(data, show),
        }
    }

    /// Bytes of the answer so far.
    fn size(&self) -> usize {
        match self {
            Self::OpenAi(decoder) => decoder.size(),
            Self::Anthropic(decoder) => decoder.size(),
            Self::Responses(decoder) => decoder.size(),
        }
    }

    /// The tokens that were reported and the bytes that came of an answer, should it fail: of the stream so far, or
    /// of the JSON `whole`, where there is some.
    fn spent(&self, whole: &[u8]) -> (Usage, usize) {
        let whole_bytes = whole.len();
        if whole_bytes == 0 {
            return (self.usage(), self.size());
        }
        match json::envelope_from_slice::<Members<'_>>(whole) {
            // It says why there is no answer.
            Ok(answer) => (openai::decode::usage(&answer.members("usage")), 0),
            Err(_) => (Usage::default(), whole_bytes),
        }
    }

    /// The tokens that the server has reported so far.
    fn usage(&self) -> Usage {
        match self {
            Self::OpenAi(decoder) => decoder.usage(),
            Self::Anthropic(decoder) => decoder.usage(),
            Self::Responses(decoder) => decoder.usage(),
        }
    }

    fn stage(&self) -> Stage {
        match self {
            Self::OpenAi(decoder) => decoder.stage(),
            Self::Anthropic(decoder) => decoder.stage(),
            Self::Responses(decoder) => decoder.stage(),
        }
    }

    fn whole(self, json: &str) -> Result<Reply, Failure> {
        match self {
            Self::OpenAi(decoder) => decoder.whole(json),
            Self::Anthropic(decoder) => decoder.whole(json),
            Self::Responses(decoder) => decoder.whole(json),
        }
    }

    fn finish(self, show: &mut dyn FnMut(&str)) -> Result<Reply, Failure> {
        match self {
            Self::OpenAi(decoder) => decoder.finish(show),
            Self::Anthropic(decoder) => decoder.finish(show),
            Self::Responses(decoder) => decoder.finish(show),
        }
    }
}

/// Reads an answer to its end: a stream of events, which goes to the decoder, or JSON from a server that does not
/// stream, which becomes `whole`. The first byte decides: neither what was asked for nor the media type can
/// be relied on.
fn read(
    mut body: Body,
    decoder: &mut Decoder<'_>,
    mut progress: Progress,
    show: &mut dyn FnMut(&str),
    whole: &mut Vec<u8>,
) -> Result<(), NoAnswer> {
    let mut buffer = vec![0; limits::models::READ_BYTES];
    let begun = loop {
        let count = body
            .read(&mut buffer)
            .map_err(|error| before_the_answer(error_of(error)))?;
        if count == 0 {
            return Err(Failure::new(Fault::Cut, "it sent an empty answer").into());
        }
        // Some servers send white space while the model thinks.
        let begun = buffer[..count].trim_ascii_start();
        let begun = begun.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begun);
        let begun = begun.trim_ascii_start();
        if !begun.is_empty() {
            break begun.to_vec();
        }
        progress.check(0)?;
    };
    match begun.as_slice() {
        [b'{' | b'[', ..] => {
            let most = limits::http::BODY_BYTES;
            let mut size = begun.len();
            *whole = begun;
            loop {
                if is_first_of_lines(whole) {
                    let begun = std::mem::take(whole);
                    return read_stream(body, &begun, decoder, progress, show);
                }
                let count = body
                    .read(&mut buffer)
                    .map_err(|error| within_the_answer(error_of(error)))?;
                if count == 0 {
                    break;
                }
                whole.extend_from_slice(&buffer[..count]);
                if whole.len() > most {
                    let reason = format!("it sent an answer of more than {most} bytes");
                    return Err(Failure::new(Fault::Garbage, reason).into());
                }
                size += buffer[..count].trim_ascii().len();
                progress.check(size)?;
            }
            Ok(())
        }
        [b'<', ..] => {
            let page = page_title(&String::from_utf8_lossy(&begun));
            Err(Failure::new(Fault::Garbage, format!("it sent {page}")).into())
        }
        _ => read_stream(body, &begun, decoder, progress, show),
    }
}

fn read_stream(
    mut body: Body,
    begun: &[u8],
    decoder: &mut Decoder<'_>,
    mut progress: Progress,
    show: &mut dyn FnMut(&str),
) -> Result<(), NoAnswer> {
    let mut parser = Parser::default();
    let mut buffer = vec![0; limits::models::READ_BYTES];
    parser.push(begun, &mut |event| decoder.event(event, show))?;
    while decoder.stage() < Stage::Over {
        match body.read(&mut buffer).map_err(error_of) {
            Ok(0) => break,
            Ok(count) => {
                parser.push(&buffer[..count], &mut |event| decoder.event(event, show))?;
                if decoder.stage() < Stage::Over {
                    progress.check(decoder.size())?;
                }
            }
            // The answer is complete; only its end mark is missing.
            Err(error) if decoder.stage() == Stage::Ended && !is_stop(&error) => break,
            Err(error) => return Err(within_the_answer(error)),
        }
    }
    if decoder.stage() == Stage::Over {
        body.finish();
    } else {
        let last = parser.finish(&mut |event| decoder.event(event, show));
        // An event that is broken at the very end is one that was cut off.
        if decoder.stage() == Stage::Open {
            last.map_err(|failure| match failure.fault {
                Fault::Garbage => Failure::new(Fault::Cut, "the stream ended within an event"),
                _ => failure,
            })?;
            if !is_stream(begun) {
                decoder.data(&String::from_utf8_lossy(begun), show)?;
            }
        }
    }
    Ok(())
}

/// Whether another line follows one that is an object: events without `data:`.
fn is_first_of_lines(begun: &[u8]) -> bool {
    let Some(end) = begun.iter().position(|byte| *byte == b'\n') else {
        return false;
    };
    let (line, rest) = begun.split_at(end);
    !rest.trim_ascii().is_empty() && json::envelope_from_slice::<Members<'_>>(line).is_ok()
}

/// Whether a text begins with a field of an event. Else it says why there are none.
fn is_stream(begun: &[u8]) -> bool {
    let field = begun.split(|byte| b":\n".contains(byte)).next();
    field.is_some_and(|field| {
        [&b""[..], b"data", b"event", b"id", b"retry"].contains(&field.trim_ascii())
            || field.starts_with(b"{")
    })
}

fn is_stop(error: &Error) -> bool {
    matches!(error, Error::Stopped)
}

/// What an error means that came after the answer had begun: it was cut off.
fn within_the_answer(error: Error) -> NoAnswer {
    match before_the_answer(error) {
        NoAnswer::Failed(failure) if failure.fault == Fault::Network => {
            Failure::new(Fault::Cut, failure.reason).into()
        }
        other => other,
    }
}
