//! `/pair`: a person gets access by the code that they were given, or by an invitation.

use super::Call;
use crate::agent::commands::CommandAnswer;
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::state::{PAIRING_CODE_LETTERS, PAIRING_VALID_SECS};
use crate::base::message::{Author, Envelope};
use crate::channels::kit::texts::{
    describe_paired, describe_rejection, invite_in_private, invited, pair_usage, welcome,
};
use crate::channels::table::title;
use crate::gateway::Gateway;
use crate::store::state::pairing::Paired;
use crate::text::markup::inline_code;

impl Gateway {
    /// Answers `/pair invite [ROLE]`; `None` when something else was written.
    fn invite(&self, message: &Envelope, argument: &str) -> Result<Option<String>> {
        let language = message.language();
        let mut words = argument.split_whitespace();
        let is_invite = |word: &str| word.eq_ignore_ascii_case("invite");
        if !words.next().is_some_and(is_invite) {
            return Ok(None);
        }
        let role = match (words.next(), words.next()) {
            (None, _) => Some(Role::Owner),
            (Some(name), None) => Role::parse(name),
            _ => None,
        };
        let role = role.ok_or_else(|| Error::Usage(pair_usage(language).to_owned()))?;
        if message.is_group {
            return Err(Error::Usage(invite_in_private(language).to_owned()));
        }
        let code = self.parts.pairing.invite(role)?;
        tracing::info!(%role, "created an invitation");
        let minutes = PAIRING_VALID_SECS / 60;
        Ok(Some(invited(language, &code, &role, &minutes)))
    }

    /// Answers `/pair`.
    pub(super) fn answer_pair(&self, call: &Call<'_>) -> Result<CommandAnswer> {
        let (argument, language) = (call.argument, call.language);
        if let Some(invitation) = self.invite(call.message, argument)? {
            return Ok(invitation.into());
        }
        // A code may be typed with spaces.
        let (code, role) = match argument.rsplit_once(char::is_whitespace) {
            Some((code, name)) => match Role::parse(name) {
                Some(role) => (code, role),
                // A whole code, and a role that there is not.
                None if code.len() >= PAIRING_CODE_LETTERS => {
                    return Err(Error::Usage(pair_usage(language).to_owned()));
                }
                None => (argument, Role::Owner),
            },
            None => (argument, Role::Owner),
        };
        if code.is_empty() || Role::parse(code).is_some() {
            return Err(Error::Usage(pair_usage(language).to_owned()));
        }
        let one = self.pair(code, role, language)?;
        // As code, a name is neither markup nor a link.
        let (name, id) = (&one.sender.name, &one.sender.id);
        let person = format!("{} ({})", inline_code(name), inline_code(id));
        Ok(describe_paired(language, &person, &title(&one.channel), role).into())
    }

    /// Pairs the person who was given this code, and tells them. An error is in this language.
    pub(in crate::gateway) fn pair(
        &self,
        code: &str,
        role: Role,
        language: Language,
    ) -> Result<Paired> {
        let paired = self
            .parts
            .pairing
            .confirm(code, role)?
            .map_err(|rejected| Error::Usage(describe_rejection(language, &rejected)))?;
        let (sender, channel) = (&paired.sender.id, &paired.channel);
        tracing::info!(sender, channel, "paired by a code");
        let chat = paired.private_chat();
        self.tell(&chat, welcome(paired.sender.language));
        // From now on there is a chat to send to.
        let owner = Author {
            id: paired.sender.id.clone(),
            username: String::new(),
        };
        if role == Role::Owner && self.parts.owner_chat.note(&chat, owner) {
            self.save_chats();
        }
        Ok(paired)
    }
}
