//! The tools of the agents of a plan: its steps, its board, and messages to other agents. Only their conversations
//! have them.

use std::fmt::Write;

use serde_json::Value;

use crate::base::chat::{ToolResult, ToolSpec};
use crate::base::error::{Error, Result};
use crate::store::plans::{Agent, Draft, Part, Plan, Plans, STEPS, TELLS};
use crate::text::grouped;
use crate::tools::Context;
use crate::tools::arguments::Arguments;

const PLAN_STEPS: ToolSpec = ToolSpec::fixed(
    "plan_steps",
    "Write the steps of the plan, all in one call; calling it again replaces them.",
    r#"{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"task":{"type":"string","description":"What a worker is to do, who knows nothing else but the goal and the results of the steps in after"},"proof":{"type":"string","description":"What shows someone else that it is done"},"after":{"type":"array","items":{"type":"integer"},"description":"Numbers, from 1, of the earlier steps that it needs"}},"required":["task","proof"]}}},"required":["steps"]}"#,
);
const NOTE_PUT: ToolSpec = ToolSpec::fixed(
    "note_put",
    "Put a note on the board that all agents of this plan share. It replaces the one with the same key; an empty text removes it.",
    r#"{"type":"object","properties":{"key":{"type":"string"},"text":{"type":"string"}},"required":["key","text"]}"#,
);
const NOTE_GET: ToolSpec = ToolSpec::fixed(
    "note_get",
    "Read a note of the shared board.",
    r#"{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}"#,
)
.read_only();
const NOTES: ToolSpec = ToolSpec::fixed(
    "notes",
    "List the notes of the shared board.",
    r#"{"type":"object","properties":{}}"#,
)
.read_only();
const TELL: ToolSpec = ToolSpec::fixed(
    "tell",
    "Send a message to the agent of another step of this plan. There is no answer to wait for, and only few can be sent.",
    r#"{"type":"object","properties":{"step":{"type":"integer"},"text":{"type":"string"}},"required":["step","text"]}"#,
);

/// The tools that an agent of a plan has beside those of other subagents.
pub fn specs(part: Part) -> &'static [ToolSpec] {
    const PLANNER: &[ToolSpec] = &[PLAN_STEPS, NOTE_PUT];
    const WORKER: &[ToolSpec] = &[NOTE_PUT, NOTE_GET, NOTES, TELL];
    const CRITIC: &[ToolSpec] = &[NOTE_GET, NOTES];
    match part {
        Part::Planner => PLANNER,
        Part::Worker(_) => WORKER,
        Part::Critic(_) => CRITIC,
    }
}

/// Whether a tool of this name is one of a plan; then whether it only reads.
pub fn reads(name: &str) -> Option<bool> {
    let all = [&PLAN_STEPS, &NOTE_PUT, &NOTE_GET, &NOTES, &TELL];
    let found = all.into_iter().find(|spec| spec.name == name);
    found.map(|spec| spec.read_only)
}

/// Runs a call of an agent of a plan; `None` when it has no such tool.
pub fn run(
    plans: &Plans,
    agent: &Agent,
    name: &str,
    context: &Context<'_>,
    arguments: &Arguments,
) -> Option<Result<ToolResult>> {
    let spec = specs(agent.part).iter().find(|spec| spec.name == name)?;
    let text = match &*spec.name {
        "plan_steps" => set_steps(plans, agent, context, arguments),
        "note_put" => put(plans, agent, context, arguments),
        "note_get" => get(plans, agent, arguments),
        "notes" => plans.get(&agent.plan).map(|plan| list_notes(&plan)),
        _ => tell(plans, agent, context, arguments),
    };
    Some(text.map(ToolResult::new))
}

fn set_steps(
    plans: &Plans,
    agent: &Agent,
    context: &Context<'_>,
    arguments: &Arguments,
) -> Result<String> {
    let mut members = arguments.members();
    let Some(Value::Array(steps)) = members.remove("steps") else {
        return Err(Error::Failed(format!(
            "steps has to be a list of 1 to {STEPS} steps, each with a task and a proof"
        )));
    };
    let drafts: Vec<Draft> = steps.iter().map(|step| draft(step, context)).collect();
    let count = drafts.len();
    plans.change(&agent.plan, |plan| plan.set_steps(drafts))?;
    Ok(format!("The plan has {count} steps now."))
}

/// A step as a model has written it; what is missing is empty, and refused with its number.
fn draft(step: &Value, context: &Context<'_>) -> Draft {
    let text = |name: &str| {
        let text = step.get(name).and_then(Value::as_str).unwrap_or_default();
        context.eraser.clean(text.trim()).into_owned()
    };
    let number = |value: &Value| -> usize {
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64(),
        };
        // 0 is no step, and is refused.
        number.and_then(|it| it.try_into().ok()).unwrap_or_default()
    };
    let after = match step.get("after") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(after)) => after.iter().map(number).collect(),
        Some(one) => vec![number(one)],
    };
    Draft {
        task: text("task"),
        proof: text("proof"),
        after,
    }
}

fn put(
    plans: &Plans,
    agent: &Agent,
    context: &Context<'_>,
    arguments: &Arguments,
) -> Result<String> {
    let key = arguments.text("key", "what the note is read by")?;
    let text = arguments.text("text", "the note")?;
    let (key, text) = (context.eraser.clean(&key), context.eraser.clean(&text));
    plans.change(&agent.plan, |plan| {
        plan.put_note(&key, &text, &agent.to_string())
    })?;
    Ok(match text.is_empty() {
        true => "Removed.".to_owned(),
        false => "Noted.".to_owned(),
    })
}

fn get(plans: &Plans, agent: &Agent, arguments: &Arguments) -> Result<String> {
    let key = arguments.text("key", "what the note is read by")?;
    let plan = plans.get(&agent.plan)?;
    let note = plan.note(&key);
    note.map(|note| note.text.clone())
        .ok_or_else(|| Error::Failed(format!("there is no note {key:?}. {}", list_notes(&plan))))
}

fn list_notes(plan: &Plan) -> String {
    if plan.notes.is_empty() {
        return "The board is empty.".to_owned();
    }
    let mut text = "The notes, with who has written them:".to_owned();
    for note in &plan.notes {
        let bytes = grouped(note.text.len());
        let _ = write!(text, "\n- {}: {bytes} bytes, by {}", note.key, note.by);
    }
    text
}

fn tell(
    plans: &Plans,
    agent: &Agent,
    context: &Context<'_>,
    arguments: &Arguments,
) -> Result<String> {
    let wants = "the number of a step";
    let step = arguments.number("step", wants)?.unwrap_or_default();
    let text = arguments.text("text", "the message")?;
    let text = context.eraser.clean(&text);
    if agent.part == Part::Worker(step) {
        return Err(Error::Failed("that is your own step".to_owned()));
    }
    let change = |plan: &mut Plan| plan.tell(step, &text, &agent.to_string());
    match plans.change(&agent.plan, change)? {
        (_, true) => Ok(format!("The agent of step {step} will read it.")),
        (_, false) => Err(Error::Failed(format!(
            "the {TELLS} messages that the agents of a plan may send are used up: put a note on the board, and end with your report"
        ))),
    }
}
