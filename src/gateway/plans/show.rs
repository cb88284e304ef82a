//! What people see of a plan.

use std::fmt::Write;

use super::texts;
use crate::base::chat::NANODOLLARS;
use crate::base::language::Language;
use crate::base::message::{CommandButton, DraftKey, OutgoingMessage};
use crate::gateway::Gateway;
use crate::store::plans::{Plan, State, Step, StepState, TELLS, Why};
use crate::text::markup::{inline_code, plain};
use crate::text::{format_dollars, format_tokens, one_line};

/// Characters of a goal, of a step and of why it failed, in the message that shows a plan.
const LINE_CHARS: usize = 120;
/// Characters of a note on a board that is shown.
const NOTE_CHARS: usize = 200;

/// What shows a plan until it ends; it may go on, and end again.
pub fn key(plan: &Plan) -> DraftKey {
    let before = plan.ends - u32::from(plan.has_ended());
    DraftKey::plan(&plan.id, before)
}

impl Gateway {
    /// Shows how far a plan is: in one message, where such a message can be edited. Elsewhere only a plan that waits for
    /// its person is shown.
    pub(super) fn show_plan(&self, plan: &Plan) {
        let to = &plan.client.reply;
        let has_steps = !plan.has_ended() && plan.state != State::Planning;
        let Some(delivery) = self.delivery(to).filter(|_| has_steps) else {
            return;
        };
        let (text, buttons) = describe(plan, plan.client.language);
        if delivery.edits() {
            delivery.show(&key(plan), to, text, buttons);
        } else if plan.state == State::Proposed {
            self.tell_with(OutgoingMessage {
                once: format!("plan:{}:proposed", plan.id),
                command_buttons: buttons,
                ..OutgoingMessage::text(to, text)
            });
        }
    }
}

/// A plan with its steps, as Markdown, and what can be done with it.
pub fn describe(plan: &Plan, language: Language) -> (String, Vec<Vec<CommandButton>>) {
    let goal = plain(&one_line(&plan.goal, LINE_CHARS));
    let mut text = texts::head(language, &inline_code(&plan.id), &goal);
    for (number, step) in (1..).zip(&plan.steps) {
        let task = plain(&one_line(&step.task, LINE_CHARS));
        let _ = write!(text, "\n- {} {number}. {task}", mark(step.state));
        let notes = notes(step, language);
        if !notes.is_empty() {
            let _ = write!(text, " ({})", notes.join("; "));
        }
    }
    let state = match (plan.state, plan.why) {
        (State::Planning, _) => texts::planning(language),
        (State::Proposed, _) => texts::proposed(language),
        (State::Running, _) => "",
        (State::Done, _) => texts::done(language),
        (State::Stopped, _) => texts::stopped(language),
        (State::Failed, Why::Budget) => texts::budget_used(language),
        (State::Failed, Why::NoSteps) => texts::no_steps(language),
        (State::Failed, _) => texts::steps_failed(language),
    };
    for line in [state, &spent(plan, language)] {
        if !line.is_empty() {
            let _ = write!(text, "\n\n{line}");
        }
    }
    if plan.is_cut_short {
        let _ = write!(text, "\n{}", texts::cut_short(language, &TELLS));
    }
    (text, buttons(plan, language))
}

fn mark(state: StepState) -> &'static str {
    match state {
        StepState::Waiting => "◽",
        StepState::Working => "▶️",
        StepState::Worked | StepState::Checking => "🔍",
        StepState::Done => "✅",
        StepState::Failed => "❌",
        StepState::Skipped => "⏭️",
    }
}

fn notes(step: &Step, language: Language) -> Vec<String> {
    let mut notes = Vec::new();
    if step.state == StepState::Waiting && !step.after.is_empty() {
        let after: Vec<String> = step.after.iter().map(usize::to_string).collect();
        notes.push(texts::after(language, &after.join(", ")));
    }
    if step.refusals > 0 {
        notes.push(texts::refused(language, &step.refusals));
    }
    if step.failures > 0 {
        notes.push(texts::failures(language, &step.failures));
    }
    if step.state == StepState::Failed {
        notes.push(plain(&one_line(&step.objection, LINE_CHARS)));
    }
    notes
}

/// What a plan has used of its budget.
fn spent(plan: &Plan, language: Language) -> String {
    let dollars = |cost: u64| format_dollars(cost as f64 / NANODOLLARS);
    let tokens = match plan.limit.tokens {
        0 => format_tokens(plan.spent.tokens),
        limit => texts::of(
            language,
            &format_tokens(plan.spent.tokens),
            &format_tokens(limit),
        ),
    };
    let mut text = texts::tokens(language, &tokens);
    if plan.limit.cost > 0 {
        let cost = texts::of(
            language,
            &dollars(plan.spent.cost),
            &dollars(plan.limit.cost),
        );
        let _ = write!(text, " · {cost}");
    } else if plan.spent.cost > 0 {
        let _ = write!(text, " · {}", dollars(plan.spent.cost));
    }
    text
}

fn buttons(plan: &Plan, language: Language) -> Vec<Vec<CommandButton>> {
    let button = |label: &str, verb: &str| CommandButton {
        label: label.to_owned(),
        command: format!("/plan {verb} {}", plan.id),
    };
    let stop = || button(texts::stop(language), "stop");
    match plan.state {
        State::Planning | State::Running => vec![vec![stop()]],
        State::Proposed => vec![vec![button(texts::start(language), "approve"), stop()]],
        State::Failed | State::Stopped => vec![vec![button(texts::go_on(language), "approve")]],
        State::Done => Vec::new(),
    }
}

/// The notes and messages of the agents of a plan, as Markdown.
pub fn describe_board(plan: &Plan, language: Language) -> String {
    let goal = plain(&one_line(&plan.goal, LINE_CHARS));
    let mut text = texts::head(language, &inline_code(&plan.id), &goal);
    for note in &plan.notes {
        let words = plain(&one_line(&note.text, NOTE_CHARS));
        let _ = write!(
            text,
            "\n- {} ({}): {words}",
            inline_code(&note.key),
            note.by
        );
    }
    if plan.notes.is_empty() {
        let _ = write!(text, "\n{}", texts::board_empty(language));
    }
    for tell in &plan.tells {
        let words = plain(&one_line(&tell.text, NOTE_CHARS));
        let _ = write!(text, "\n- ✉️ {} → {}: {words}", tell.by, tell.to);
    }
    if plan.is_cut_short {
        let _ = write!(text, "\n{}", texts::cut_short(language, &TELLS));
    }
    text
}
