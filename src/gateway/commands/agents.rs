//! `/agents`: who answers here.

use super::{Call, texts};
use crate::agent::commands::CommandAnswer;
use crate::base::error::Result;
use crate::gateway::Gateway;
use crate::text::markup::inline_code;

impl Gateway {
    /// Names the agent that answers in a chat, and the others.
    pub(super) fn answer_agents(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (live, language) = (self.live(), call.language);
        let here = live.agents.serving(call.message);
        let mut text = texts::answers_here(language, &inline_code(&here.profile.label()));
        for hosted in live.agents.all() {
            let profile = &hosted.profile;
            let mark = match profile.id == here.profile.id {
                true => "✓ ",
                false => "",
            };
            let model = match profile.settings.model.as_str() {
                "" => texts::default_model(language).to_owned(),
                model => inline_code(model),
            };
            let label = inline_code(&profile.label());
            text.push_str(&format!("\n- {mark}{label}: {model}"));
        }
        Ok(text.into())
    }
}
