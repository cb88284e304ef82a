//! Answers in words: what a person types under the only open question of a chat.

use super::{Approvals, Open, PlanMessage};
use crate::base::approval::{AlwaysOption, Answer, Cause, Question};
use crate::base::language::{Language, NO, YES};
use crate::base::message::{Address, CommandButton, Envelope, OutgoingMessage, UNKNOWN_MESSAGE};
use crate::channels::kit::texts::answers::label;
use crate::channels::kit::texts::approve as texts;
use crate::gateway::Gateway;
use crate::gateway::commands::{self, ParsedMessage, least_role, shorten_command};

/// Words that allow a command once, beside [`YES`] and the labels of the buttons.
const ALLOWING: [&str; 2] = ["好", "可以"];
/// Words that refuse it, beside [`NO`].
const REFUSING: [&str; 2] = ["不", "不行"];

/// Words that sound as if they allowed something.
const AGREEING: [&str; 3] = ["ok", "okay", "sure"];
/// Words behind one of those with which a message is still no more than an answer: `yes, go ahead`.
const ANSWER_WORDS: usize = 2;

/// Chats in which nothing was said since a person wrote; of more those that were quiet longest are forgotten, and a word
/// allows nothing there.
const HEARD_CHATS: usize = 256;

/// How the name of what is told once about a waiting question begins.
const WAITS: &str = "waits:";

/// What a message is to the open questions of its chat.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    /// Nothing, or what was said about it already.
    Nothing,
    /// An answer, as the slash command that gives it.
    Answer(&'static str),
    /// No answer: questions about these commands wait for one.
    Waits(String),
    /// The same, where the message sounds like one, with the slash command that lists them with such an answer.
    Unclear(String, &'static str),
}

/// The labels of a question's buttons in all languages, in lower case.
pub(super) fn labels(question: &Question) -> Vec<(String, Answer)> {
    let is_offered = |answer: &Answer| match answer {
        Answer::Always => question.always == AlwaysOption::Offered,
        Answer::Everything => question.can_allow_all,
        _ => true,
    };
    let answers = [
        Answer::Once,
        Answer::Always,
        Answer::Everything,
        Answer::Deny,
    ];
    let answers = answers.into_iter().filter(is_offered);
    let of = |answer| {
        Language::ALL.map(|language| {
            (
                label(language, answer, &question.cause).to_lowercase(),
                answer,
            )
        })
    };
    answers.flat_map(of).collect()
}

impl Approvals {
    /// What the words of a message are to the open questions of its chat; `message` was sent in it.
    fn read(&self, chat: &Address, message: &Envelope) -> Typed {
        let mut questions = self.questions.lock();
        let mut open = questions.open.iter_mut().filter(|(_, question)| {
            question.chat == *chat && question.answer.is_none() && question.shown.is_some()
        });
        let Some((_, first)) = open.next() else {
            return Typed::Nothing;
        };
        let others: Vec<_> = open.map(|(_, other)| other.command.clone()).collect();
        if let Some(command) = first.read(message).filter(|_| others.is_empty()) {
            return Typed::Answer(command);
        }
        let is_told = std::mem::replace(&mut first.is_reminded, true);
        let waits = || [vec![first.command.clone()], others].concat().join(", ");
        match first.sounds_like(message) {
            Some(command) => Typed::Unclear(waits(), command),
            None if is_told => Typed::Nothing,
            None => Typed::Waits(waits()),
        }
    }

    /// A person writes in a chat: what is asked there next, by the work that they begin, is all that waits for a word.
    pub(in crate::gateway) fn heard(&self, chat: &Address) {
        let mut questions = self.questions.lock();
        questions.heard.retain(|other| other != chat);
        if questions.heard.len() >= HEARD_CHATS {
            questions.heard.pop_front();
        }
        questions.heard.push_back(chat.clone());
    }

    /// Something is said in a chat: a word that a person types there may answer that, now and until they have written
    /// once more.
    pub(in crate::gateway) fn said(&self, message: &OutgoingMessage, at_ms: i64) {
        if message.once.starts_with(WAITS) {
            return;
        }
        let mut questions = self.questions.lock();
        let plan = PlanMessage::of(&message.command_buttons);
        // That a plan is being written asks nothing.
        let is_silent = plan == PlanMessage::AtWork;
        questions.offer(&message.to, plan, at_ms);
        if !is_silent {
            questions.heard.retain(|chat| *chat != message.to);
        }
        let open = questions.open.values_mut();
        open.filter(|question| question.chat == message.to)
            .for_each(|question| question.is_ambiguous = true);
    }

    /// Something is shown below what was said in a chat. What stands above a question is not taken for one.
    pub(in crate::gateway) fn showed(
        &self,
        chat: &Address,
        buttons: &[Vec<CommandButton>],
        at_ms: i64,
    ) {
        let mut questions = self.questions.lock();
        questions.offer(chat, PlanMessage::of(buttons), at_ms);
        let open = questions.open.values_mut();
        open.filter(|question| question.chat == *chat)
            .for_each(|question| question.is_ambiguous |= question.shown.is_some());
    }
}

/// The words of a message, in lower case, without marks around them.
pub(super) fn spoken(message: &Envelope) -> String {
    let words = message.typed_text();
    let words = words.trim_matches(|c: char| " .!。！✓✗\n".contains(c));
    words.to_lowercase()
}

pub(super) fn is_yes(words: &str) -> bool {
    YES.contains(&words) || ALLOWING.contains(&words)
}

pub(super) fn is_no(words: &str) -> bool {
    NO.contains(&words) || REFUSING.contains(&words)
}

impl Open {
    /// The slash command that lists what a message may be meant for that is no answer here: it could answer something else.
    /// No question has the number 0.
    fn sounds_like(&self, message: &Envelope) -> Option<&'static str> {
        let is_elsewhere = message.is_reply() && message.replies_to != UNKNOWN_MESSAGE;
        if is_elsewhere || message.is_group {
            return None;
        }
        let words = spoken(message);
        let label = self.labels.iter().find(|(label, _)| *label == words);
        let first = match words.split_once(char::is_whitespace) {
            Some((first, rest)) if rest.split_whitespace().count() <= ANSWER_WORDS => first,
            Some(_) => "",
            None => &words,
        };
        let first = first.trim_end_matches(',');
        let is_refused = label.is_some_and(|(_, answer)| *answer == Answer::Deny);
        if is_refused || is_no(first) {
            return Some("/deny 0");
        }
        let is_allowed = label.is_some() || is_yes(first) || AGREEING.contains(&first);
        is_allowed.then_some("/approve 0")
    }

    fn read(&self, message: &Envelope) -> Option<&'static str> {
        let target = message.replies_to.as_str();
        let shown = self.shown.as_ref()?;
        let is_quoted = !target.is_empty() && shown.message == target;
        if !is_quoted && (message.is_reply() || message.is_group) {
            return None;
        }
        let words = spoken(message);
        let label = self.labels.iter().find(|(label, _)| *label == words);
        let answer = match label {
            Some((_, answer)) => *answer,
            None if is_yes(&words) => Answer::Once,
            None if is_no(&words) => Answer::Deny,
            None => return None,
        };
        // Without the time at which it was written, it may be older than the question.
        let is_meant = is_quoted || !self.is_ambiguous;
        if answer.allows() && (message.sent_at.is_none() || !is_meant) {
            return None;
        }
        Some(match answer {
            Answer::Once => "/approve",
            Answer::Always => "/approve always",
            Answer::Everything => "/approve all",
            _ => "/deny",
        })
    }
}

impl Gateway {
    /// The message as the slash command that it stands for, where someone who may decide has typed an answer to the only
    /// open question of the chat, or to the plan that waits there. Other words are for the model; the first of them, and
    /// those that sound like an answer, are also answered with what waits.
    pub(in crate::gateway) fn with_typed_answer(
        self: &std::sync::Arc<Self>,
        mut message: ParsedMessage,
    ) -> ParsedMessage {
        let has_files = !message.remote_files.is_empty() || !message.attachments.is_empty();
        let is_typed = message.command().is_none() && !message.is_relayed && !has_files;
        let may_decide = message.role >= least_role("approve", message.is_group);
        if !is_typed
            || !may_decide
            || message.sender().is_none()
            || self.questions.is_open_for(&message)
        {
            if message.sender().is_some() {
                self.approvals.forget_offered(&message.address());
            }
            return message;
        }
        let to = message.address();
        match self.approvals.read(&to, &message) {
            Typed::Nothing if message.role < least_role("plan", message.is_group) => {}
            Typed::Nothing => {
                if let Some(command) = self.approvals.take_offered(&to, &message) {
                    message.change(|message| message.text = command);
                }
            }
            Typed::Answer(command) => message.change(|message| {
                command.clone_into(&mut message.text);
            }),
            // The offline helper has asked nothing that this could answer: what waits is listed.
            Typed::Unclear(_, command) if self.is_helped_offline(&message) => {
                message.change(|message| command.clone_into(&mut message.text));
            }
            Typed::Waits(commands) => self.tell_waits(&message, &commands, Answer::Once),
            Typed::Unclear(commands, command) => {
                let is_refusal = command.starts_with("/deny");
                let answer = if is_refusal {
                    Answer::Deny
                } else {
                    Answer::Once
                };
                self.tell_waits(&message, &commands, answer);
            }
        }
        message
    }

    /// Tells a person that questions about these commands wait: where there are no buttons, with what to type for such an
    /// answer.
    fn tell_waits(self: &std::sync::Arc<Self>, message: &Envelope, commands: &str, answer: Answer) {
        let (to, language) = (message.address(), message.language());
        let has_buttons = self.delivery(&to).is_some_and(|it| it.choices().is_none());
        let text = if has_buttons {
            texts::waits(language, &commands)
        } else {
            let open = self.approvals.open_in(&to);
            self.list_open(&to, language, (Some(0), answer), &open).text
        };
        self.tell_later(OutgoingMessage {
            once: format!("{WAITS}{}", message.id),
            only_for: message.only_for().to_owned(),
            ..OutgoingMessage::text(&to, text)
        });
    }

    fn is_helped_offline(self: &std::sync::Arc<Self>, message: &Envelope) -> bool {
        let hosted = self.agent_for(&self.live(), &message.session, Some(message));
        let agent = hosted.agent();
        agent.is_ok_and(|agent| agent.is_offline(&message.session))
    }

    /// Tells a person that a command waits for another one: for its end, or first for their answer about it.
    pub(in crate::gateway) fn tell_waiting(
        &self,
        message: &Envelope,
        other: &str,
        is_asking: bool,
    ) {
        let (language, command) = (message.language(), shorten_command(message));
        let text = if is_asking {
            let [run, deny] = [Answer::Once, Answer::Deny]
                .map(|answer| label(language, answer, &Cause::Unsandboxed));
            commands::texts::waits_for_answer(language, &command, &other, &run, &deny)
        } else {
            commands::texts::waits_for_command(language, &command, &other)
        };
        let once = is_asking.then(|| format!("{WAITS}{}", message.id));
        self.tell_with(OutgoingMessage {
            reply_to: message.reference.clone(),
            once: once.unwrap_or_default(),
            only_for: message.only_for().to_owned(),
            ..OutgoingMessage::text(&message.address(), text)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::{Sender, SessionKey};

    #[test]
    fn a_word_or_a_label_answers_the_only_question_and_others_are_told_once() {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        let message = |text: &str, sent_at| Envelope {
            sent_at,
            ..Envelope::written(&chat, Sender::default(), text)
        };
        let read = |text| approvals.read(&chat, &message(text, Some(6_000)));
        assert_eq!(read("yes"), Typed::Nothing, "no question");
        approvals.heard(&chat);
        let open = |question: &Question| approvals.open(&chat.session(), &chat, question);
        let question = Question {
            command: "make\nit".to_owned(),
            always: AlwaysOption::Offered,
            ..Question::default()
        };
        let first = open(&question);
        assert_eq!(read("yes"), Typed::Nothing, "not shown");
        approvals.asked(first, "17", 5_000_500);
        for (text, command) in [
            ("Yes!", "/approve"),
            ("run ONCE", "/approve"),
            ("✗ Deny", "/deny"),
            ("No.", "/deny"),
            ("否", "/deny"),
            ("始终允许此命令", "/approve always"),
            ("Einmal ausführen", "/approve"),
            ("Sí.", "/approve"),
            ("いいえ。", "/deny"),
        ] {
            assert_eq!(read(text), Typed::Answer(command), "{text}");
        }
        let late = approvals.read(&chat, &message("no", None));
        assert_eq!(late, Typed::Answer("/deny"), "a refusal always counts");
        let undated = approvals.read(&chat, &message("yes", None));
        let waits = Typed::Unclear("`make it`".to_owned(), "/approve 0");
        assert_eq!(undated, waits);
        assert_eq!(read("and now?"), Typed::Nothing, "it was told");
        let everything = read("Allow everything for 10 minutes");
        assert_eq!(
            everything,
            Typed::Nothing,
            "it is not offered, and was told"
        );
        let elsewhere = Envelope {
            replies_to: "16".to_owned(),
            ..message("yes", Some(6_000))
        };
        assert_eq!(approvals.read(&chat, &elsewhere), Typed::Nothing);
        let outside = Envelope {
            quote: "> Bob: Shall I?".to_owned(),
            ..message("yes", Some(6_000))
        };
        assert_eq!(approvals.read(&chat, &outside), Typed::Nothing);
        let in_group = Envelope {
            is_group: true,
            ..message("yes", Some(6_000))
        };
        assert_eq!(approvals.read(&chat, &in_group), Typed::Nothing);
        let quoting = |message| Envelope {
            replies_to: "17".to_owned(),
            ..message
        };
        let approved = Typed::Answer("/approve");
        assert_eq!(approvals.read(&chat, &quoting(in_group)), approved);
        let told = |once: &str| OutgoingMessage {
            once: once.to_owned(),
            ..OutgoingMessage::text(&chat, "Shall I water the plants?")
        };
        approvals.said(&told("waits:17"), 0);
        assert_eq!(read("yes"), approved, "it was about the question");
        approvals.said(&told(""), 0);
        assert_eq!(read("yes"), waits, "it may answer what was said");
        assert_eq!(read("no"), Typed::Answer("/deny"));
        let quoted = approvals.read(&chat, &quoting(message("yes", Some(6_000))));
        assert_eq!(quoted, approved);
        let second = open(&question);
        approvals.asked(second, "18", 5_000_500);
        let both = Typed::Unclear("`make it`, `make it`".to_owned(), "/approve 0");
        assert_eq!(read("yes"), both, "two are open");
    }

    #[test]
    fn what_sounds_like_an_answer_lists_what_waits_and_allows_nothing() {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        let read = |text: &str| {
            let message = Envelope::written(&chat, Sender::default(), text);
            approvals.read(&chat, &message)
        };
        let question = Question {
            command: "make".to_owned(),
            ..Question::default()
        };
        let number = approvals.open(&chat.session(), &chat, &question);
        approvals.asked(number, "17", 5_000_500);
        for (text, command) in [
            ("ok", "/approve 0"),
            ("Yes, please!", "/approve 0"),
            ("no thanks", "/deny 0"),
        ] {
            let unclear = Typed::Unclear("`make`".to_owned(), command);
            assert_eq!(read(text), unclear, "{text}");
        }
        assert_eq!(read("no, I mean the other folder"), Typed::Nothing);
    }

    #[test]
    fn a_word_in_a_reply_to_an_unknown_message_lists_what_waits() {
        let approvals = Approvals::default();
        let chat = Address::new("qq", "1");
        approvals.heard(&chat);
        let question = Question {
            command: "make".to_owned(),
            ..Question::default()
        };
        let number = approvals.open(&chat.session(), &chat, &question);
        approvals.asked(number, "17", 5_000_500);
        let read = |word: &str, target: &str| {
            let message = Envelope {
                replies_to: target.to_owned(),
                sent_at: Some(5_003),
                ..Envelope::written(&chat, Sender::default(), word)
            };
            approvals.read(&chat, &message)
        };
        for (word, command) in [
            ("yes", "/approve 0"),
            ("Run once", "/approve 0"),
            ("no", "/deny 0"),
        ] {
            let listed = Typed::Unclear("`make`".to_owned(), command);
            assert_eq!(read(word, UNKNOWN_MESSAGE), listed, "{word}");
        }
        assert_eq!(read("yes", "16"), Typed::Nothing, "it was told");
        assert_eq!(read("yes", "17"), Typed::Answer("/approve"));
    }

    #[test]
    fn a_word_allows_only_what_the_writer_s_own_work_asks_first() {
        let chat = Address::new("telegram", "1");
        let other = Address::new("telegram", "2").session();
        let message = OutgoingMessage::text(&chat, "Shall I water the plants?");
        let for_another = Question {
            asked_for: "Bob".to_owned(),
            ..Question::default()
        };
        let answers = |question: &Question, session: &SessionKey, story: &dyn Fn(&Approvals)| {
            let approvals = Approvals::default();
            story(&approvals);
            let number = approvals.open(session, &chat, question);
            approvals.asked(number, "17", 5_000_500);
            let yes = Envelope {
                sent_at: Some(6_000),
                ..Envelope::written(&chat, Sender::default(), "yes")
            };
            approvals.read(&chat, &yes) == Typed::Answer("/approve")
        };
        let (own, question) = (chat.session(), Question::default());
        assert!(answers(&question, &own, &|it| it.heard(&chat)));
        assert!(
            !answers(&question, &own, &|_| ()),
            "nobody has written since the start"
        );
        assert!(!answers(&question, &own, &|it| {
            it.heard(&chat);
            it.said(&message, 0);
        }));
        assert!(answers(&question, &own, &|it| {
            it.said(&message, 0);
            it.heard(&chat);
        }));
        assert!(answers(&question, &own, &|it| {
            it.heard(&chat);
            it.showed(&chat, &[], 0);
        }));
        assert!(!answers(&question, &other, &|it| it.heard(&chat)));
        assert!(!answers(&for_another, &own, &|it| it.heard(&chat)));
        assert!(!answers(&question, &own, &|it| {
            it.heard(&chat);
            (0..HEARD_CHATS).for_each(|n| it.heard(&Address::new("telegram", &format!("x{n}"))));
        }));
    }
}
