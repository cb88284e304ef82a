//! One turn, and the answer.

use serde_json::json;

use super::{Arguments, Ready};
use crate::agent::{Outcome, Report};
use crate::cli::Context;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::print;
use crate::cli::terminal::view::{Mode, View};
use crate::error::{Error, Exit, Result};
use crate::message::Envelope;

/// Asks once, or goes on with the interrupted turn, and prints the answer.
pub fn run(context: &Context, arguments: &Arguments, message: Option<String>) -> Result<Exit> {
    let mode = arguments.mode();
    let foreground = Foreground::new()?;
    let Ready {
        agent, mut session, ..
    } = super::prepare(context, arguments, mode != Mode::AnswerOnly)?;
    if message.is_none() && !session.is_unfinished() {
        print::complain("no turn was interrupted; there is nothing to go on with");
        return Ok(Exit::Done);
    }
    let name = session.chat().to_string();
    let turn = foreground.run(move |cancel| {
        let mut view = View::new(mode, std::io::stdout(), std::io::stderr()).fitted();
        super::say_repairs(&session, &mut view);
        let message = message.map(|text| Envelope::typed(session.chat(), &text));
        let report = agent.run(&mut session, message.as_ref(), &mut view, cancel)?;
        Ok::<_, Error>((report, view))
    })?;
    let (report, mut view) = turn?;
    if arguments.json {
        print::json(&as_json(&name, &report))?;
    } else {
        view.answer(&report.text)?;
    }
    match report.outcome {
        Outcome::Stopped => view.stopped(),
        _ => view.close(),
    }
    exit(report)
}

/// What a turn's outcome means for the process. An answer of the offline helper in a model's stead is
/// none that a script could rely on.
fn exit(report: Report) -> Result<Exit> {
    match report.outcome {
        Outcome::Answered if report.failure.is_some() => Ok(Exit::Failed),
        Outcome::Answered => Ok(Exit::Done),
        Outcome::Bounded(_) => Ok(Exit::Failed),
        Outcome::Stopped => Err(Error::Stopped),
        Outcome::Failed(error) => Err(error),
    }
}

fn as_json(session: &str, report: &Report) -> String {
    let (provider, model) = report.spoke.clone().unwrap_or_default();
    let error = match &report.outcome {
        Outcome::Failed(error) => Some(error),
        _ => report.failure.as_ref(),
    };
    let value = json!({
        "session": session,
        "text": report.text,
        "provider": provider,
        "model": model,
        "steps": report.steps,
        "tools": report.tools,
        "usage": report.usage,
        "stopped": matches!(report.outcome, Outcome::Stopped),
        "answered": matches!(report.outcome, Outcome::Answered),
        "error": error.map(ToString::to_string),
    });
    value.to_string()
}
