//! Plans that wait for their person's word, and the plain "yes" or "no" that answers them.

use std::time::Duration;

use super::typed::{is_no, is_yes, spoken};
use super::{Approvals, Questions, is_read};
use crate::base::clock::{BUILD_EPOCH, Stopwatch};
use crate::base::message::{Address, CommandButton, Envelope};

/// How the commands of a plan's buttons begin.
const START: &str = "/plan approve ";
const STOP: &str = "/plan stop ";
/// Plans that wait, each in its chat; of more the oldest are started with their buttons only.
const OFFERED: usize = 64;

/// A plan that was the last thing said in its chat, and nothing else was since its person had written.
pub(super) struct Offered {
    chat: Address,
    /// The button that starts it.
    start: CommandButton,
    /// The command that stops it.
    stop: String,
    /// When it was shown, in milliseconds since 1970.
    at_ms: i64,
    /// Runs since then.
    watch: Stopwatch,
}

/// A message, by the buttons of a plan below it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PlanMessage {
    /// Nothing of a plan that waits or is written.
    Other,
    /// A plan is being written or is at work: nothing is asked.
    AtWork,
    /// A plan waits for a word.
    Waits(CommandButton, String),
}

impl PlanMessage {
    pub(super) fn of(buttons: &[Vec<CommandButton>]) -> Self {
        let with = |begin: &str| {
            let mut all = buttons.iter().flatten();
            all.find(|button| button.command.starts_with(begin))
        };
        match (with(START), with(STOP)) {
            (Some(start), Some(stop)) => Self::Waits(start.clone(), stop.command.clone()),
            (None, Some(_)) => Self::AtWork,
            _ => Self::Other,
        }
    }
}

impl Questions {
    /// Something is about to be shown in a chat, at this time in milliseconds since 1970: a plan that waited there is no
    /// longer the last thing said, and another one may be. A second attempt to show the same counts as the first.
    pub(super) fn offer(&mut self, chat: &Address, message: PlanMessage, at_ms: i64) {
        let of_chat = self.offered.iter().position(|it| it.chat == *chat);
        let before = of_chat.and_then(|at| self.offered.remove(at));
        let PlanMessage::Waits(start, stop) = message else {
            return;
        };
        let is_again = before.is_some_and(|it| it.start == start);
        if !is_again && !self.heard.contains(chat) {
            return;
        }
        self.heard.retain(|other| other != chat);
        if self.offered.len() >= OFFERED {
            self.offered.pop_front();
        }
        self.offered.push_back(Offered {
            chat: chat.clone(),
            start,
            stop,
            at_ms,
            watch: Stopwatch::start(),
        });
    }
}

impl Approvals {
    /// The command for which a message stands that is a plain yes or no to the plan that waits in its private chat, where
    /// nothing else is asked, and the person can have read it.
    pub(super) fn take_offered(&self, chat: &Address, message: &Envelope) -> Option<String> {
        self.take_offered_after(chat, message, Stopwatch::elapsed)
    }

    fn take_offered_after(
        &self,
        chat: &Address,
        message: &Envelope,
        age: impl Fn(&Stopwatch) -> Duration,
    ) -> Option<String> {
        let mut questions = self.questions.lock();
        let is_asked = questions.open.values().any(|open| open.chat == *chat);
        if message.is_group || is_asked {
            return None;
        }
        let at = questions.offered.iter().position(|it| it.chat == *chat)?;
        let offered = questions.offered.get(at)?;
        let (start, words) = (&offered.start, spoken(message));
        let command = if message.is_reply() {
            None
        } else if is_yes(&words) || words == start.label.to_lowercase() {
            Some(start.command.clone())
        } else {
            is_no(&words).then(|| offered.stop.clone())
        };
        let age = age(&offered.watch);
        let now_ms = offered
            .at_ms
            .saturating_add_unsigned(age.as_millis() as u64);
        // A board whose clock is not set yet makes plans, too: what they do outside the sandbox is asked for.
        let is_set = offered.at_ms >= BUILD_EPOCH.saturating_mul(1000);
        let sent_at = message.sent_at.map(|sent| match is_set {
            true => sent,
            false => sent.min(now_ms.div_euclid(1000)),
        });
        let is_later = is_read(offered.at_ms, age, sent_at);
        if command.is_none() || is_later {
            questions.offered.remove(at);
        }
        command.filter(|_| is_later)
    }

    /// A person writes something else in a chat: a later word is not about the plan that waits there.
    pub(super) fn forget_offered(&self, chat: &Address) {
        let mut questions = self.questions.lock();
        questions.offered.retain(|it| it.chat != *chat);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::approval::Question;
    use crate::base::message::{OutgoingMessage, Sender, UNKNOWN_MESSAGE};
    use crate::gateway::approvals::READ_TIME;

    fn button(label: &str, command: &str) -> CommandButton {
        CommandButton {
            label: label.to_owned(),
            command: command.to_owned(),
        }
    }

    fn proposal() -> Vec<Vec<CommandButton>> {
        vec![vec![
            button("Start", "/plan approve 1f93a0c2"),
            button("Stop", "/plan stop 1f93a0c2"),
        ]]
    }

    /// The command that a word stands for, after a story that ends some seconds before it.
    fn answered(words: &str, story: &dyn Fn(&Approvals, &Address)) -> Option<String> {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        story(&approvals, &chat);
        let message = Envelope {
            sent_at: Some(6_000),
            ..Envelope::written(&chat, Sender::default(), words)
        };
        approvals.take_offered_after(&chat, &message, |_| READ_TIME)
    }

    #[test]
    fn a_plain_word_answers_the_plan_that_was_said_last() {
        let proposed = |it: &Approvals, chat: &Address| {
            it.heard(chat);
            it.said(
                &OutgoingMessage {
                    command_buttons: vec![vec![button("Stop", "/plan stop 1f93a0c2")]],
                    ..OutgoingMessage::text(chat, "I'm writing the plan.")
                },
                5_000_000,
            );
            it.showed(chat, &proposal(), 5_000_500);
        };
        let start = Some("/plan approve 1f93a0c2".to_owned());
        for yes in ["yes", "Ja!", "Sí.", "はい", "好", "Start"] {
            assert_eq!(answered(yes, &proposed), start, "{yes}");
        }
        let stop = Some("/plan stop 1f93a0c2".to_owned());
        assert_eq!(answered("Nein.", &proposed), stop);
        assert_eq!(answered("yes, but cheaper", &proposed), None);
    }

    #[test]
    fn a_word_that_may_answer_something_else_starts_no_plan() {
        let other = |chat: &Address| OutgoingMessage::text(chat, "Shall I water the plants?");
        type Story<'a> = &'a dyn Fn(&Approvals, &Address);
        let stories: [(&str, Story<'_>, bool); 6] = [
            (
                "it is tried again",
                &|it, chat| {
                    it.heard(chat);
                    it.showed(chat, &proposal(), 5_000_000);
                    it.showed(chat, &proposal(), 5_000_500);
                },
                true,
            ),
            (
                "no one has written",
                &|it, chat| {
                    it.showed(chat, &proposal(), 5_000_500);
                },
                false,
            ),
            (
                "something was said before it",
                &|it, chat| {
                    it.heard(chat);
                    it.said(&other(chat), 5_000_000);
                    it.showed(chat, &proposal(), 5_000_500);
                },
                false,
            ),
            (
                "something was said since",
                &|it, chat| {
                    it.heard(chat);
                    it.showed(chat, &proposal(), 5_000_000);
                    it.said(&other(chat), 5_000_500);
                },
                false,
            ),
            (
                "a question is open",
                &|it, chat| {
                    it.open(&chat.session(), chat, &Question::default());
                    it.heard(chat);
                    it.showed(chat, &proposal(), 5_000_500);
                },
                false,
            ),
            (
                "a question was asked since",
                &|it, chat| {
                    it.heard(chat);
                    it.showed(chat, &proposal(), 5_000_000);
                    let asked = it.open(&chat.session(), chat, &Question::default());
                    it.asked(asked, "17", 5_000_500);
                    it.questions.lock().close(asked);
                },
                false,
            ),
        ];
        for (name, story, starts) in stories {
            assert_eq!(answered("yes", story).is_some(), starts, "{name}");
        }
    }

    #[test]
    fn a_word_starts_a_plan_once_behind_it_and_in_private() {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        approvals.heard(&chat);
        approvals.showed(&chat, &proposal(), 5_000_500);
        let yes = |sent_at| Envelope {
            sent_at,
            ..Envelope::written(&chat, Sender::default(), "yes")
        };
        let just_shown = approvals.take_offered(&chat, &yes(Some(6_000)));
        assert_eq!(just_shown, None);
        let take = |message: &Envelope| approvals.take_offered_after(&chat, message, |_| READ_TIME);
        assert_eq!(take(&yes(None)), None, "without its time");
        approvals.showed(&chat, &proposal(), BUILD_EPOCH * 1000);
        let ahead = take(&yes(Some(BUILD_EPOCH + 3_600)));
        assert_eq!(ahead, None, "its time is to come");
        approvals.showed(&chat, &proposal(), 5_000_500);
        assert_eq!(take(&yes(Some(4_999))), None, "older than the plan");
        let in_group = Envelope {
            is_group: true,
            ..yes(Some(6_000))
        };
        assert_eq!(take(&in_group), None);
        assert!(take(&yes(Some(6_000))).is_some());
        assert_eq!(take(&yes(Some(6_000))), None, "it was answered");
    }

    #[test]
    fn a_word_behind_other_words_of_the_person_starts_no_plan() {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        let yes = Envelope {
            sent_at: Some(6_000),
            ..Envelope::written(&chat, Sender::default(), "yes")
        };
        let other = Envelope {
            text: "what does the second step cost?".to_owned(),
            ..yes.clone()
        };
        let outside = Envelope {
            quote: "> Bob: Shall I?".to_owned(),
            ..yes.clone()
        };
        let take = |message: &Envelope| approvals.take_offered_after(&chat, message, |_| READ_TIME);
        let propose = || {
            approvals.heard(&chat);
            approvals.showed(&chat, &proposal(), 5_000_500);
        };
        let unknown = Envelope {
            replies_to: UNKNOWN_MESSAGE.to_owned(),
            ..yes.clone()
        };
        for message in [&other, &outside, &unknown] {
            propose();
            assert_eq!(take(message), None);
            assert_eq!(take(&yes), None, "after {}", message.text);
        }
        propose();
        approvals.forget_offered(&chat);
        assert_eq!(take(&yes), None, "after a file");
        propose();
        assert!(take(&yes).is_some());
    }
}
