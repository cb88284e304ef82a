//! `/agents`: who answers here.

use super::texts;
use crate::base::message::Envelope;
use crate::gateway::Gateway;
use crate::text::markup::inline_code;

impl Gateway {
    /// The agent that answers in the chat of a message, and the others.
    pub(super) fn describe_agents(&self, message: &Envelope) -> String {
        let (live, language) = (self.live(), message.language());
        let here = live.agents.serving(message);
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
        text
    }
}
