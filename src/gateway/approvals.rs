//! Pending approvals: questions that wait for a person's answer.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use ring::rand::{SecureRandom, SystemRandom};

use crate::approval::Answer;
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::limits::agent::ANSWER_TIME;
use crate::limits::cancel::POLL;
use crate::limits::gateway::{CLOSED_QUESTIONS, QUESTION_NUMBERS};
use crate::message::Address;
use crate::sync::{Condvar, Mutex};

/// The questions of this run of the program.
#[derive(Default)]
pub struct Approvals {
    questions: Mutex<Questions>,
    answered: Condvar,
}

#[derive(Default)]
struct Questions {
    /// By their numbers.
    open: BTreeMap<u64, Open>,
    /// The numbers of those that were closed last: a button may be pressed twice.
    closed: VecDeque<u64>,
}

struct Open {
    chat: Address,
    answer: Option<Answer>,
}

impl Approvals {
    /// Opens a question in a chat. Its number cannot be guessed, and an old button of another run of
    /// the program does not have it.
    pub fn open(&self, chat: &Address) -> u64 {
        let open = &mut self.questions.lock().open;
        loop {
            let mut bytes = [0; 8];
            // Without randomness the numbers still differ from each other.
            let _ = SystemRandom::new().fill(&mut bytes);
            let (low, span) = (
                QUESTION_NUMBERS.start,
                QUESTION_NUMBERS.end - QUESTION_NUMBERS.start,
            );
            let number = low + (u64::from_ne_bytes(bytes) + open.len() as u64) % span;
            if let Entry::Vacant(place) = open.entry(number) {
                place.insert(Open {
                    chat: chat.clone(),
                    answer: None,
                });
                return number;
            }
        }
    }

    /// Waits for the answer, the token or the end of the time; closes the question.
    pub fn wait(&self, number: u64, cancel: &Cancel) -> Answer {
        let watch = Stopwatch::start();
        let mut questions = self.questions.lock();
        loop {
            let answer = questions
                .open
                .get(&number)
                .and_then(|question| question.answer);
            let left = ANSWER_TIME.saturating_sub(watch.elapsed());
            let over = match answer {
                Some(answer) => Some(answer),
                None if cancel.is_cancelled() => Some(Answer::Deny),
                None if left.is_zero() => Some(Answer::Late),
                None => None,
            };
            if let Some(answer) = over {
                questions.close(number);
                return answer;
            }
            questions = self.answered.wait_timeout(questions, left.min(POLL));
        }
    }

    /// Answers a question of a chat; without a number the only one there. False if there is no such
    /// question.
    pub fn answer(&self, chat: &Address, number: Option<u64>, answer: Answer) -> bool {
        let mut questions = self.questions.lock();
        let mut of_chat = questions
            .open
            .iter_mut()
            .filter(|(key, question)| {
                question.chat == *chat && number.is_none_or(|number| number == **key)
            })
            .filter(|(_, question)| question.answer.is_none());
        let (Some((_, question)), None) = (of_chat.next(), of_chat.next()) else {
            return false;
        };
        question.answer = Some(answer);
        self.answered.notify_all();
        true
    }

    /// The numbers of a chat's open questions.
    pub fn open_in(&self, chat: &Address) -> Vec<u64> {
        let questions = self.questions.lock();
        let of_chat = questions
            .open
            .iter()
            .filter(|(_, question)| question.chat == *chat);
        of_chat.map(|(number, _)| *number).collect()
    }

    /// Whether a question is of this run: open, or closed not long ago.
    pub fn knows(&self, number: u64) -> bool {
        let questions = self.questions.lock();
        questions.open.contains_key(&number) || questions.closed.contains(&number)
    }
}

impl Questions {
    fn close(&mut self, number: u64) {
        self.open.remove(&number);
        if self.closed.len() >= CLOSED_QUESTIONS {
            self.closed.pop_front();
        }
        self.closed.push_back(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_reaches_the_question_of_its_chat_once() {
        let approvals = Approvals::default();
        let (here, there) = (Address::new("telegram", "1"), Address::new("telegram", "2"));
        let number = approvals.open(&here);
        assert!(
            !approvals.answer(&there, Some(number), Answer::Once),
            "another chat"
        );
        assert!(
            !approvals.answer(&here, Some(number + 1), Answer::Once),
            "another question"
        );
        assert!(approvals.answer(&here, None, Answer::Once));
        assert!(
            !approvals.answer(&here, Some(number), Answer::Deny),
            "it is answered"
        );
        assert_eq!(approvals.wait(number, &Cancel::new()), Answer::Once);
        assert!(approvals.open_in(&here).is_empty());
        assert!(
            !approvals.answer(&here, Some(number), Answer::Deny) && approvals.knows(number),
            "it is over"
        );
        assert!(!approvals.knows(number + 1), "of another run");
    }

    #[test]
    fn without_a_number_two_open_questions_are_one_too_many() {
        let approvals = Approvals::default();
        let chat = Address::new("telegram", "1");
        let (first, second) = (approvals.open(&chat), approvals.open(&chat));
        assert_ne!(first, second);
        assert!(!approvals.answer(&chat, None, Answer::Once));
        assert!(approvals.answer(&chat, Some(second), Answer::Always));
    }

    #[test]
    fn a_stopped_turn_is_a_denial() {
        let (approvals, cancel) = (Approvals::default(), Cancel::new());
        let number = approvals.open(&Address::new("telegram", "1"));
        cancel.cancel();
        assert_eq!(approvals.wait(number, &cancel), Answer::Deny);
    }
}
