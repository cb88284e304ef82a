//! `/agents`: who answers here.

use super::{Call, texts};
use crate::agent::commands::CommandAnswer;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::gateway::Gateway;
use crate::gateway::agents::Hosted;
use crate::models::table::OFFLINE;
use crate::text::markup::inline_code;

impl Gateway {
    /// Names the agent that answers in a chat, and the others.
    pub(super) fn answer_agents(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (live, language) = (self.live(), call.language);
        let here = live.agents.serving(call.message);
        let label = inline_code(&here.profile.label());
        if live.agents.all().len() == 1 {
            let model = name_model_here(here, call, language);
            let text = texts::answers_alone(language, &label, &model);
            return Ok(text.into());
        }
        let mut text = texts::answers_here(language, &label);
        for hosted in live.agents.all() {
            let profile = &hosted.profile;
            let (mark, model) = match profile.id == here.profile.id {
                true => ("✓ ", name_model_here(hosted, call, language)),
                false => ("", name_model(hosted, language)),
            };
            let label = inline_code(&profile.label());
            text.push_str(&format!("\n- {mark}{label}: {model}"));
        }
        Ok(text.into())
    }
}

/// The model of this chat, which may be another one than the agent's; that one where it cannot be known.
fn name_model_here(hosted: &Hosted, call: &Call<'_>, language: Language) -> String {
    let named = || hosted.agent().ok()?.model_name(&call.message.session).ok();
    let own = format!("/{}", hosted.profile.settings.model);
    match named() {
        Some(name) if !name.is_empty() && name != OFFLINE && !name.ends_with(&own) => {
            inline_code(&name)
        }
        _ => name_model(hosted, language),
    }
}

fn name_model(hosted: &Hosted, language: Language) -> String {
    match hosted.profile.settings.model.as_str() {
        "" => texts::default_model(language).to_owned(),
        model => inline_code(model),
    }
}
