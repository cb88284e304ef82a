//! What is known about people: those who write, by whose names roles are given, and those whom they mention.

use std::cell::Cell;
use std::time::Duration;

use super::Receiver;
use crate::base::json::Members;
use crate::base::message::{Address, Sender};
use crate::channels::kit::adapter::Failure;
use crate::channels::slack::event::{Known, Reader};

/// People whose names are remembered; a workspace of a family or a team has fewer.
const PEOPLE: usize = 64;
/// Mentioned people who are looked up for one message; further ones stay ids.
const MENTIONS: usize = 8;
/// How long the sender's name may take to be looked up.
const SENDER_PATIENCE: Duration = Duration::from_millis(1200);
/// How long all names of a message may take, the sender's with them: Slack repeats an event that is not confirmed
/// within 3 s.
const NAME_PATIENCE: Duration = Duration::from_millis(2400);

impl Receiver<'_> {
    /// Reads something. `None`: the role of its sender depends on their name, which cannot be looked up now.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> T) -> Option<T> {
        let begin = self.now();
        let left = Cell::new(MENTIONS);
        let is_unsure = Cell::new(false);
        let awaits = |chat: &Address, person: &str| self.parts.intake.is_awaited(chat, person);
        let look_up = |id: &str, patience: Duration| {
            let known = self.look_up(id, begin + patience);
            if known.is_none() {
                left.set(0);
            }
            known
        };
        let sender = |id: &str| {
            let known = self.known(id).or_else(|| look_up(id, SENDER_PATIENCE));
            if known.is_none() && self.parts.intake.needs_name(id) {
                is_unsure.set(true);
            }
            known
        };
        let person = |id: &str| {
            self.known(id).or_else(|| {
                left.set(left.get().checked_sub(1)?);
                look_up(id, NAME_PATIENCE)
            })
        };
        let written_by = |id: &str, username: &str, group: Option<&Address>| {
            let sender = Sender {
                id: id.to_owned(),
                ..Sender::default()
            };
            if self.parts.intake.role(&sender, username, group).is_none() {
                left.set(0);
            }
        };
        let read = read(&Reader {
            me: &self.me,
            scope: self.parts.scope,
            awaits: &awaits,
            takes_part: &|thread| self.threads.has(thread),
            sender: &sender,
            person: &person,
            written_by: &written_by,
        });
        if is_unsure.get() {
            tracing::info!(
                "a message from Slack waits to be repeated: the name of its sender could not be looked up"
            );
            return None;
        }
        Some(read)
    }

    fn known(&self, id: &str) -> Option<Known> {
        let people = self.people.borrow();
        let found = people.iter().find(|(person, _)| person == id);
        found.map(|(_, known)| known.clone())
    }

    /// Asks Slack about a person; `None` when it does not answer until then.
    fn look_up(&self, id: &str, until: Duration) -> Option<Known> {
        let patience = until.saturating_sub(self.now());
        let patience = Some(patience).filter(|time| !time.is_zero())?;
        let api = self.api(patience).ok()?;
        let arguments = [("user", id), ("include_locale", "true")];
        let known = match api.call("users.info", &arguments) {
            Ok(reply) => known_of(&reply),
            // It stays unknown.
            Err(Failure::Refused(_) | Failure::Gone { .. }) => Known::default(),
            Err(failure) => {
                tracing::debug!("failed to look up a person: {failure}");
                return None;
            }
        };
        let mut people = self.people.borrow_mut();
        if people.len() >= PEOPLE {
            people.pop_front();
        }
        people.push_back((id.to_owned(), known.clone()));
        Some(known)
    }
}

/// What a reply says about a person.
fn known_of(reply: &str) -> Known {
    let user = Members::read(reply).unwrap_or_default().members("user");
    let profile = user.members("profile");
    let names = [
        profile.text("display_name"),
        profile.text("real_name"),
        user.text("real_name"),
        user.text("name"),
    ];
    let mut names = names.into_iter().flatten().filter(|name| !name.is_empty());
    Known {
        name: names.next().unwrap_or_default(),
        username: user.text_or_empty("name"),
        locale: user.text_or_empty("locale"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_the_name_that_others_see() {
        let reply = r#"{"ok":true,"user":{"id":"U1","name":"ana","real_name":"Ana Li","locale":"zh-CN",
            "profile":{"display_name":"","real_name":"Ana L."}}}"#;
        let expected = Known {
            name: "Ana L.".to_owned(),
            username: "ana".to_owned(),
            locale: "zh-CN".to_owned(),
        };
        assert_eq!(known_of(reply), expected);
        assert_eq!(known_of("[]"), Known::default());
    }
}
