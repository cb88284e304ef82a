//! What was sent without it being known whether it arrived. Slack recognises no repeated request, so a message has
//! its key in its metadata, and is looked for before it is sent again. All connections share this.
//!
//! A crash can leave one message of each chat in doubt: the first that is sent there afterwards. An answer that was
//! lost leaves the next in doubt.

use std::collections::VecDeque;

use crate::base::message::Address;
use crate::base::sync::Mutex;

/// Chats of which it is known that nothing is in doubt.
const SETTLED: usize = 64;
/// Files that are uploaded, and not known to be shown.
const OPEN_UPLOADS: usize = 16;
/// Private chats that are remembered by their people.
const PRIVATE_CHATS: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub struct Sent {
    /// The chats in which nothing is in doubt.
    settled: Mutex<VecDeque<Address>>,
    /// The ids of uploaded files that are not known to be shown, by their keys.
    uploads: Mutex<VecDeque<(u64, String)>>,
    /// The private chats with people, by the people's ids.
    private: Mutex<VecDeque<(String, String)>>,
}

impl Sent {
    /// Whether the last message to a chat is known to have arrived, or not to have.
    pub fn is_settled(&self, to: &Address) -> bool {
        self.settled.lock().contains(to)
    }

    /// Notes whether that is known from now on. A chat that is forgotten costs one more look.
    pub fn settle(&self, to: &Address, is_settled: bool) {
        let mut settled = self.settled.lock();
        settled.retain(|known| known != to);
        if is_settled {
            push(&mut settled, to.clone(), SETTLED);
        }
    }

    /// The file that was uploaded with this key.
    pub fn upload(&self, key: u64) -> Option<String> {
        let uploads = self.uploads.lock();
        let found = uploads.iter().find(|(known, _)| *known == key);
        found.map(|(_, file)| file.clone())
    }

    /// Notes such a file, or that it needs no more attention.
    pub fn note_upload(&self, key: u64, file: Option<&str>) {
        let mut uploads = self.uploads.lock();
        uploads.retain(|(known, _)| *known != key);
        if let Some(file) = file {
            push(&mut uploads, (key, file.to_owned()), OPEN_UPLOADS);
        }
    }

    /// The private chat with a person.
    pub fn private_chat(&self, person: &str) -> Option<String> {
        let private = self.private.lock();
        let found = private.iter().find(|(known, _)| known == person);
        found.map(|(_, chat)| chat.clone())
    }

    /// Notes it.
    pub fn note_private_chat(&self, person: &str, chat: &str) {
        let entry = (person.to_owned(), chat.to_owned());
        push(&mut self.private.lock(), entry, PRIVATE_CHATS);
    }
}

fn push<T>(queue: &mut VecDeque<T>, entry: T, most: usize) {
    if queue.len() >= most {
        queue.pop_front();
    }
    queue.push_back(entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_in_doubt_until_it_is_settled() {
        let sent = Sent::default();
        let chat = Address::parse("slack:D1");
        assert!(!sent.is_settled(&chat));
        sent.settle(&chat, true);
        assert!(sent.is_settled(&chat) && !sent.is_settled(&Address::parse("slack:D1:1.000001")));
        sent.settle(&chat, false);
        assert!(!sent.is_settled(&chat));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_oldest_goes() {
        let sent = Sent::default();
        let chat = |number: usize| Address::new("slack", &format!("D{number}"));
        for number in 0..=SETTLED {
            sent.settle(&chat(number), true);
            sent.note_upload(number as u64, Some("F1"));
            sent.note_private_chat(&format!("U{number}"), "D1");
        }
        assert!(!sent.is_settled(&chat(0)) && sent.is_settled(&chat(SETTLED)));
        assert_eq!(sent.settled.lock().len(), SETTLED);
        assert_eq!(sent.uploads.lock().len(), OPEN_UPLOADS);
        assert_eq!(sent.private.lock().len(), PRIVATE_CHATS);
        assert_eq!(sent.upload(SETTLED as u64).as_deref(), Some("F1"));
        sent.note_upload(SETTLED as u64, None);
        assert_eq!(sent.upload(SETTLED as u64), None);
    }
}
