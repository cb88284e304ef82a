//! Plays one step of the script to one request.

use std::io;

use serde_json::Value;

use crate::harness::gate::Gate;
use crate::harness::wire::{self, Connection};

use super::script::{Answer, Step, What};
use super::{Format, Request, anthropic, openai, responses};

/// Plays one step; returns whether the connection stays open.
pub(super) fn play(
    connection: &mut Connection,
    step: Step,
    request: &Request,
    turn: usize,
) -> io::Result<bool> {
    if let Some(gate) = &step.before {
        gate.wait();
    }
    match &step.what {
        What::Answer(answer) if request.body["stream"] == true => {
            stream(
                connection,
                &events(answer, request, turn),
                step.halfway.as_ref(),
            )?;
            wire::chunk(connection, "")?;
        }
        What::Answer(answer) => {
            let body = whole(answer, request, turn).to_string();
            wire::respond(connection, 200, &[json_type()], &body)?;
        }
        What::CutOff(answer) => {
            let events = events(answer, request, turn);
            stream(connection, &events[..events.len() / 2], None)?;
            return Ok(false);
        }
        What::Silence => {
            wire::begin_chunks(connection, "text/event-stream")?;
            wire::wait_for_the_end(connection);
        }
        What::Hang => wire::wait_for_the_end(connection),
        What::Error {
            status,
            message,
            headers,
        } => {
            let mut headers = headers.clone();
            headers.push(json_type());
            let body = request.format.error(message).to_string();
            wire::respond(connection, *status, &headers, &body)?;
        }
        What::Overflow => {
            let body = match request.format {
                Format::OpenAi | Format::Responses => openai::overflow(),
                Format::Anthropic => anthropic::overflow(),
            };
            wire::respond(connection, 400, &[json_type()], &body.to_string())?;
        }
        What::Page { content_type, body } => {
            let headers = [("content-type", (*content_type).to_owned())];
            wire::respond(connection, 200, &headers, body)?;
        }
    }
    Ok(true)
}

fn stream(
    connection: &mut Connection,
    events: &[String],
    halfway: Option<&Gate>,
) -> io::Result<()> {
    wire::begin_chunks(connection, "text/event-stream")?;
    for (place, event) in events.iter().enumerate() {
        if let Some(gate) = halfway.filter(|_| place == events.len() / 2) {
            gate.wait();
        }
        wire::chunk(connection, event)?;
    }
    Ok(())
}

fn whole(answer: &Answer, request: &Request, turn: usize) -> Value {
    let model = &request.body["model"];
    match request.format {
        Format::OpenAi => openai::whole(answer, model, turn),
        Format::Anthropic => anthropic::whole(answer, model, turn),
        Format::Responses => responses::whole(answer, model, turn),
    }
}

fn events(answer: &Answer, request: &Request, turn: usize) -> Vec<String> {
    let model = &request.body["model"];
    match request.format {
        Format::OpenAi => openai::events(answer, model, turn),
        Format::Anthropic => anthropic::events(answer, model, turn),
        Format::Responses => responses::events(answer, model, turn),
    }
}

pub(super) fn json_type() -> (&'static str, String) {
    ("content-type", "application/json".to_owned())
}

impl Format {
    /// An error's body.
    pub(super) fn error(self, message: &str) -> Value {
        match self {
            Self::OpenAi | Self::Responses => openai::error(message),
            Self::Anthropic => anthropic::error(message),
        }
    }
}
