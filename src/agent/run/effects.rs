//! What a call needs from the host of the turn before it has a result.

use super::{Run, calls};
use crate::agent::host::TurnEvent;
use crate::base::approval;
use crate::base::chat::{
    Effect, Entry, EntryKind, InputAnswer, InputKind, InputRequest, Request, Sample, SendRequest,
    ToolCall, ToolResult,
};
use crate::base::error::{Error, Result};
use crate::base::message::Address;
use crate::tools::Caller;

/// Messages that one turn may send beside its answer: what a person reads of it in one go.
const SENDS_PER_TURN: u32 = 20;
/// Tokens of a model's answer to a server.
const SAMPLE_TOKENS: u32 = 4096;

impl Run<'_> {
    /// Performs the effects of a result until there is none. Each question ends with an answer, and the tool
    /// bounds their number.
    pub(super) fn perform(
        &mut self,
        call: &ToolCall,
        result: &mut ToolResult,
        caller: &Caller<'_>,
    ) {
        while let Some(effect) = result.effect.take() {
            match effect {
                Effect::Ask(question) => {
                    let answer = if question.is_standing {
                        let hint = self.agent.toolbox.hint(call);
                        self.host.on_event(TurnEvent::Unsandboxed(&hint));
                        approval::Answer::Standing
                    } else {
                        self.host.ask(&question, self.cancel)
                    };
                    let caller = Caller {
                        answer: Some((&question, answer)),
                        ..*caller
                    };
                    *result = self.agent.toolbox.run(call, &caller);
                }
                Effect::Input(request) => {
                    let answer = self.input(&request);
                    let caller = Caller {
                        input: Some(&answer),
                        ..*caller
                    };
                    *result = self.run_one(call, &caller);
                }
                Effect::Send(request) => {
                    // Words to the one for whom the turn is are an answer.
                    let to = request.to.as_deref().map(Address::parse);
                    let is_here = to.is_none() || to == self.reply;
                    let is_bare = request.files.is_empty() || request.sticker.is_some();
                    result.is_talk = is_here && is_bare;
                    if let Err(error) = self.send(*request) {
                        *result = ToolResult::failed(format!("Error: {error}"));
                    }
                }
                Effect::Spawn(request) => {
                    *result = self
                        .spawn(&request)
                        .unwrap_or_else(|error| ToolResult::failed(format!("Error: {error}")));
                }
            }
        }
    }

    fn send(&mut self, request: SendRequest) -> Result<()> {
        self.sends += 1;
        if self.sends > SENDS_PER_TURN {
            return Err(Error::Failed(format!(
                "{SENDS_PER_TURN} messages were sent in this turn, which is the most: put the rest into your answer"
            )));
        }
        self.host.send(request)
    }

    fn run_one(&mut self, call: &ToolCall, caller: &Caller<'_>) -> ToolResult {
        let host = &mut *self.host;
        let mut told = |text: &str| host.on_event(TurnEvent::Progress(text));
        let group = std::slice::from_ref(call);
        let results = calls::run_watched(&self.agent.toolbox, group, caller, &mut told);
        let first = results.into_iter().next();
        first.unwrap_or_else(|| ToolResult::failed("Error: the call did not finish."))
    }

    fn input(&mut self, request: &InputRequest) -> InputAnswer {
        let InputKind::Sample(sample) = &request.kind else {
            return self.host.input(request, self.role, self.cancel);
        };
        let notice = format!("{} asks the model", request.server);
        self.host.on_event(TurnEvent::Notice(&notice));
        self.sample(sample).unwrap_or_else(|error| {
            tracing::warn!(server = %request.server, "a prompt of a server failed: {error}");
            InputAnswer::Cancelled
        })
    }

    /// Asks the model of this turn what a server wants to know from one. It counts as the turn's own request.
    fn sample(&mut self, sample: &Sample) -> Result<InputAnswer> {
        self.agent.check_spending(self.payer, self.language)?;
        let kind = |is_model: bool| {
            if is_model {
                EntryKind::Assistant
            } else {
                EntryKind::Person
            }
        };
        let entries = sample.messages.iter();
        let entries: Vec<Entry> = entries
            .map(|(is_model, text)| Entry::new(kind(*is_model), text.as_str()))
            .collect();
        let entries: Vec<&Entry> = entries.iter().collect();
        let wanted = match sample.max_tokens {
            0 => SAMPLE_TOKENS,
            wanted => wanted.min(SAMPLE_TOKENS),
        };
        let settings = &self.agent.settings;
        let request = Request {
            system: &sample.system,
            entries: &entries,
            stable: 0,
            tools: &[],
            max_tokens: wanted.min(self.agent.reply_tokens(&self.model_name)),
            thoughts_max: 0,
            temperature: settings.temperature,
            reasoning_effort: None,
            stream: false,
            cache_key: None,
        };
        let asked = self.models.ask(&request, &mut |_| ());
        self.count_spent();
        let answer = asked?;
        if answer.failure.is_some() {
            return Ok(InputAnswer::Cancelled);
        }
        Ok(InputAnswer::Sampled {
            text: answer.reply.text,
            model: answer.model,
        })
    }
}
