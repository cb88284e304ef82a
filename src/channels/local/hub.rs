//! The connected programs, and what each is subscribed to.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use serde_json::Value;

use super::{CHATS, WRITE_TIME};
use crate::base::limits::channels::local::PROGRAMS;
use crate::base::sync::Mutex;

/// The programs that are connected. The receiving thread adds and removes them; the delivering ones write to them.
#[derive(Default)]
pub struct Hub(Mutex<Vec<Arc<Program>>>);

/// A connected program.
pub struct Program {
    stream: UnixStream,
    /// Held while a line is written, so that lines do not mix.
    writing: Mutex<()>,
    chats: Mutex<Chats>,
}

/// What a program is subscribed to.
#[derive(Debug, PartialEq, Eq)]
enum Chats {
    All,
    These(Vec<String>),
}

impl Program {
    /// A program that is subscribed to nothing.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_TIME))?;
        Ok(Self {
            stream,
            writing: Mutex::new(()),
            chats: Mutex::new(Chats::These(Vec::new())),
        })
    }

    /// Its connection.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Subscribes it to more chats; `None`: to all. Returns whether anything is new.
    pub fn subscribe(&self, chats: Option<Vec<String>>) -> bool {
        let mut known = self.chats.lock();
        match (&mut *known, chats) {
            (Chats::All, _) => false,
            (known, None) => {
                *known = Chats::All;
                true
            }
            (Chats::These(known), Some(more)) => {
                let before = known.len();
                for chat in more {
                    if !known.contains(&chat) && known.len() < CHATS {
                        known.push(chat);
                    }
                }
                known.len() > before
            }
        }
    }

    fn is_subscribed(&self, chat: &str) -> bool {
        match &*self.chats.lock() {
            Chats::All => true,
            Chats::These(known) => known.iter().any(|known| known == chat),
        }
    }

    /// Writes a line. When it is not taken in time the connection is over: half of a line may have been written.
    pub fn write(&self, line: &Value) -> io::Result<()> {
        let mut bytes = line.to_string();
        bytes.push('\n');
        let _one_at_a_time = self.writing.lock();
        let written = (&self.stream).write_all(bytes.as_bytes());
        if written.is_err() {
            // The receiving thread sees the end, and removes it.
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
        }
        written
    }
}

impl Hub {
    /// Adds a program; false when there are too many.
    pub fn add(&self, program: &Arc<Program>) -> bool {
        let mut programs = self.0.lock();
        let has_room = programs.len() < PROGRAMS;
        if has_room {
            programs.push(Arc::clone(program));
        }
        has_room
    }

    /// A program has gone.
    pub fn remove(&self, program: &Arc<Program>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, program));
    }

    /// Writes a line to every program that is subscribed to a chat; returns how many have taken it.
    pub fn write(&self, chat: &str, line: &Value) -> usize {
        let programs: Vec<Arc<Program>> = {
            let programs = self.0.lock();
            let subscribed = programs
                .iter()
                .filter(|program| program.is_subscribed(chat));
            subscribed.cloned().collect()
        };
        let taken = programs
            .iter()
            .filter(|program| program.write(line).is_ok());
        taken.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::{BufRead, BufReader};

    fn program() -> (Arc<Program>, BufReader<UnixStream>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (
            Arc::new(Program::new(ours).unwrap()),
            BufReader::new(theirs),
        )
    }

    #[test]
    fn a_line_goes_to_those_who_are_subscribed() {
        let hub = Hub::default();
        let ((one, mut first), (two, mut second)) = (program(), program());
        assert!(hub.add(&one) && hub.add(&two));
        assert_eq!(hub.write("home", &json!({})), 0);
        one.subscribe(Some(vec!["home".to_owned()]));
        two.subscribe(None);
        two.subscribe(Some(vec!["other".to_owned()]));
        assert_eq!(hub.write("home", &json!({"n": 1})), 2);
        assert_eq!(hub.write("work", &json!({"n": 2})), 1);
        hub.remove(&two);
        assert_eq!(hub.write("work", &json!({"n": 3})), 0);
        drop((one, two, hub));
        let read = |reader: &mut BufReader<UnixStream>| {
            reader.lines().map(Result::unwrap).collect::<Vec<_>>()
        };
        assert_eq!(read(&mut first), [r#"{"n":1}"#]);
        assert_eq!(read(&mut second), [r#"{"n":1}"#, r#"{"n":2}"#]);
    }

    #[test]
    fn there_is_a_bound_for_programs_and_their_chats() {
        let hub = Hub::default();
        let programs: Vec<_> = (0..=PROGRAMS).map(|_| program()).collect();
        let added = programs.iter().filter(|(program, _)| hub.add(program));
        assert_eq!(added.count(), PROGRAMS);
        let (program, _) = &programs[0];
        program.subscribe(Some((0..2 * CHATS).map(|chat| chat.to_string()).collect()));
        assert!(program.is_subscribed("0") && !program.is_subscribed(&CHATS.to_string()));
    }

    #[test]
    fn a_program_that_has_gone_takes_nothing() {
        let hub = Hub::default();
        let (one, reader) = program();
        hub.add(&one);
        one.subscribe(None);
        drop(reader);
        assert_eq!(hub.write("home", &json!({})), 0);
    }
}
