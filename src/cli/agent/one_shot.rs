//! One turn, and the answer.

use serde_json::json;

use super::question::Question;
use super::{Arguments, Ready, opening, texts};
use crate::agent::{Outcome, Report};
use crate::base::error::{Error, Exit, Result};
use crate::cli::Context;
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::mode::Quiet;
use crate::cli::terminal::print;
use crate::cli::terminal::status::Status;
use crate::cli::terminal::view::{Mode, View};
use crate::cli::usage::to_json;

/// Asks once, or continues the interrupted turn, and prints the answer.
pub fn run(
    context: &Context,
    arguments: &Arguments,
    name: Option<&str>,
    question: Option<Question>,
) -> Result<Exit> {
    let mode = arguments.mode();
    if question.is_none() && name.is_none() {
        print::complain(texts::NOTHING_TO_RESUME);
        return Ok(Exit::Done);
    }
    let foreground = Foreground::new()?;
    let open = |folder: &_, settings| opening::open_question(folder, name, settings);
    let Ready {
        agent, mut session, ..
    } = super::prepare(context, arguments, mode != Mode::AnswerOnly, open)?;
    if question.is_none() && !session.is_unfinished() {
        print::complain(texts::NOTHING_TO_RESUME);
        return Ok(Exit::Done);
    }
    let chat = session.chat().clone();
    let message = question
        .map(|question| question.into_message(&chat, agent.toolbox().workspace()))
        .transpose()?;
    let quiet = Quiet::start(false);
    let status = Status::start(mode == Mode::Rendered);
    let is_named = arguments.model.is_some();
    let turn = foreground.run(move |cancel| {
        if is_named {
            let remark = agent.check_named_model(session.chat(), cancel)?;
            if let Some(remark) = remark {
                print::notice(&remark);
            }
        }
        let mut view = View::new(mode, std::io::stdout(), std::io::stderr()).fitted();
        super::show_repairs(&session, &mut view);
        let report = agent.run(&mut session, message.as_ref(), &mut view, cancel)?;
        Ok::<_, Error>((report, view, agent))
    });
    drop(status);
    drop(quiet);
    let (report, mut view, agent) = turn??;
    if arguments.json {
        print::json(&as_json(chat.as_str(), &report))?;
    } else {
        view.answer(&report.text)?;
    }
    view.close();
    super::end_background_commands(&agent, &chat);
    exit(report)
}

/// The exit status for a turn's outcome. An answer of the offline helper instead of a model is none that a
/// script could rely on.
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
        Outcome::Failed(error) => Some(error.to_string()),
        Outcome::Bounded(_) => Some(report.account.clone()),
        _ => report.failure.as_ref().map(Error::to_string),
    };
    // What a reviewer still says against an answer.
    let doubt = matches!(report.outcome, Outcome::Answered) && !report.account.is_empty();
    let doubt = doubt.then_some(&report.account);
    let value = json!({
        "session": session,
        "text": report.text,
        "provider": provider,
        "model": model,
        "steps": report.steps,
        "tools": report.tools,
        "usage": to_json(report.usage),
        "cost": report.usage.dollars(),
        "stopped": matches!(report.outcome, Outcome::Stopped),
        "answered": matches!(report.outcome, Outcome::Answered),
        "error": error,
        "doubt": doubt,
    });
    value.to_string()
}
