//! `/agents`: who answers here.

use super::{Call, texts};
use crate::agent::commands::CommandAnswer;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::gateway::Gateway;
use crate::gateway::agents::Hosted;
use crate::text::markup::inline_code;

impl Gateway {
    /// Names the agent that answers in a chat, and the others.
    pub(super) fn answer_agents(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (live, language) = (self.live(), call.language);
        let here = live.agents.serving(call.message);
        let label = inline_code(&here.profile.label());
        if live.agents.all().len() == 1 {
            let text = texts::answers_alone(language, &label, &name_model(here, language));
            return Ok(text.into());
        }
        let mut text = texts::answers_here(language, &label);
        for hosted in live.agents.all() {
            let profile = &hosted.profile;
            let mark = match profile.id == here.profile.id {
                true => "✓ ",
                false => "",
            };
            let model = name_model(hosted, language);
            let label = inline_code(&profile.label());
            text.push_str(&format!("\n- {mark}{label}: {model}"));
        }
        Ok(text.into())
    }
}

fn name_model(hosted: &Hosted, language: Language) -> String {
    match hosted.profile.settings.model.as_str() {
        "" => texts::default_model(language).to_owned(),
        model => inline_code(model),
    }
}
