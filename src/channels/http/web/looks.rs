//! The pages that look at chats: how many there may be, and which ends for another one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::sync::Mutex;

/// Pages of one person that look at a time, each a connection.
const LOOKS_OF_PERSON: usize = 8;
/// Pages that look at a time, of all people: half of the connections. With more, one ends of the person who has most.
const LOOKS: usize = 32;

/// The pages that look.
#[derive(Debug, Default)]
pub struct Looks(Arc<Mutex<Inner>>);

/// By their ids, with their people: the oldest first.
#[derive(Debug, Default)]
struct Inner {
    all: BTreeMap<u64, String>,
    last: u64,
}

/// A page that looks, until this is dropped.
#[derive(Debug)]
pub struct Look {
    id: u64,
    looks: Arc<Mutex<Inner>>,
}

impl Look {
    /// Whether it has to end for the page of someone who has fewer.
    pub fn is_over(&self) -> bool {
        !self.looks.lock().all.contains_key(&self.id)
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.looks.lock().all.remove(&self.id);
    }
}

impl Looks {
    /// A page of a person begins to look; `None` when too many do.
    pub fn add(&self, person: &str) -> Option<Look> {
        let mut inner = self.0.lock();
        let own = inner.of(person);
        if own >= LOOKS_OF_PERSON || !inner.make_room(own) {
            return None;
        }
        inner.last += 1;
        let id = inner.last;
        inner.all.insert(id, person.to_owned());
        drop(inner);
        Some(Look {
            id,
            looks: Arc::clone(&self.0),
        })
    }
}

impl Inner {
    fn of(&self, person: &str) -> usize {
        self.all.values().filter(|one| *one == person).count()
    }

    /// Makes room for a page of someone who has `own`: the oldest page ends of the person who has most, as long as they
    /// keep as many as the other has then. Returns whether there is room.
    fn make_room(&mut self, own: usize) -> bool {
        if self.all.len() < LOOKS {
            return true;
        }
        let counts = self
            .all
            .iter()
            .map(|(id, person)| (self.of(person), Reverse(*id)));
        match counts.max() {
            Some((most, Reverse(oldest))) if most > own + 1 => {
                self.all.remove(&oldest);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_few_pages_that_look() {
        let view = Looks::default();
        let looks: Vec<_> = (0..LOOKS_OF_PERSON).filter_map(|_| view.add("p")).collect();
        assert_eq!(looks.len(), LOOKS_OF_PERSON);
        assert!(view.add("p").is_none() && view.add("q").is_some());
        drop(looks);
        assert!(view.add("p").is_some());
    }

    #[test]
    fn those_who_have_most_make_room_for_a_page_of_another() {
        let view = Looks::default();
        let look = |person: &str| view.add(person);
        let mut all: Vec<Look> = (0..LOOKS)
            .filter_map(|at| look(&format!("p{}", at % 4)))
            .collect();
        assert_eq!(all.len(), LOOKS);
        assert!(all.iter().all(|one| !one.is_over()));
        let other = look("q");
        assert!(other.is_some() && all[0].is_over());
        assert_eq!(all.iter().filter(|one| one.is_over()).count(), 1);
        // The page that had to end takes nobody's place.
        all.remove(0);
        assert!(look("p0").is_none());
        let many: Vec<Look> = (0..LOOKS)
            .filter_map(|at| look(&format!("r{at}")))
            .collect();
        assert!(many.iter().all(|one| !one.is_over()) && many.len() < LOOKS);
        assert!(look("one more").is_none() && look("q").is_none());
    }
}
