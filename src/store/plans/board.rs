//! The board that the agents of a plan share, and the messages between them. Pure.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::step::{StepState, printable};
use crate::base::error::{Error, Result};

/// Notes on the board of a plan.
const NOTES: usize = 32;
/// Bytes of a note's key.
const KEY_BYTES: usize = 60;
/// Bytes of a note.
const NOTE_BYTES: usize = 4 * 1024;
/// Bytes of all notes of a plan: what an agent can read in one turn.
const NOTES_BYTES: usize = 48 * 1024;
/// Messages between the agents of a plan, over all its life: two that answer each other without end are stopped.
pub const TELLS: usize = 32;
/// Bytes of such a message.
const TELL_BYTES: usize = 2 * 1024;

/// A note on the board.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Note {
    /// What it is read by.
    pub key: String,
    /// Its text.
    pub text: String,
    /// The agent that has written it last, such as `3w1`.
    pub by: String,
}

/// A message from one agent to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tell {
    /// The agent that has sent it.
    pub by: String,
    /// The step whose worker gets it, from 1.
    pub to: usize,
    /// Its text.
    pub text: String,
    /// The agent that has read it last; empty: none so far.
    pub read_by: String,
}

impl Plan {
    /// Puts a note on the board, in the place of one with its key; an empty text takes it away.
    pub fn put_note(&mut self, key: &str, text: &str, by: &str) -> Result<()> {
        let (key, text) = (key.trim(), &*printable(text));
        too_large("the key", key, KEY_BYTES)?;
        too_large("the note", text, NOTE_BYTES)?;
        if key.is_empty() || key.contains(char::is_control) {
            return failed("the key has to be one line".to_owned());
        }
        let others = self.notes.iter().filter(|note| note.key != key);
        let (count, bytes) = others.fold((0, 0), |(count, bytes), note| {
            (count + 1, bytes + note.text.len())
        });
        if !text.is_empty() && (count >= NOTES || bytes + text.len() > NOTES_BYTES) {
            return failed(format!(
                "the board is full ({count} notes of at most {NOTES}, {bytes} bytes of {NOTES_BYTES}): take away what is not needed any more by putting an empty text"
            ));
        }
        let note = Note {
            key: key.to_owned(),
            text: text.to_owned(),
            by: by.to_owned(),
        };
        let index = self.notes.iter().position(|note| note.key == key);
        match index.and_then(|index| self.notes.get_mut(index)) {
            Some(old) if old.text == text => {}
            Some(old) => *old = note,
            None => self.notes.push(note),
        }
        self.notes.retain(|note| !note.text.is_empty());
        Ok(())
    }

    /// The note with this key.
    pub fn note(&self, key: &str) -> Option<&Note> {
        self.notes.iter().find(|note| note.key == key.trim())
    }

    /// Sends a message to the worker of a step, which reads it before its next question to the model. The same message
    /// again is not sent twice: an agent may not know what came of a call that a kill has interrupted.
    /// False when as many were sent as may be.
    pub fn tell(&mut self, to: usize, text: &str, by: &str) -> Result<bool> {
        let text = printable(text);
        let text = text.trim();
        too_large("the message", text, TELL_BYTES)?;
        if text.is_empty() {
            return failed("the message is empty".to_owned());
        }
        let step = self.step(to)?;
        if matches!(
            step.state,
            StepState::Done | StepState::Skipped | StepState::Failed
        ) {
            return failed(format!(
                "step {to} is over, and no one reads messages there"
            ));
        }
        let is_same = |tell: &Tell| tell.to == to && tell.by == by && tell.text == text;
        if self.tells.iter().any(is_same) {
            return Ok(true);
        }
        if self.tells.len() >= TELLS {
            self.is_cut_short = true;
            return Ok(false);
        }
        self.tells.push(Tell {
            by: by.to_owned(),
            to,
            text: text.to_owned(),
            read_by: String::new(),
        });
        Ok(true)
    }

    /// The messages to the worker of a step that this run of it has not read, with their numbers.
    pub fn unread<'a>(
        &'a self,
        step: usize,
        by: &'a str,
    ) -> impl Iterator<Item = (usize, &'a Tell)> {
        let tells = self.tells.iter().enumerate();
        tells.filter(move |(_, tell)| tell.to == step && tell.read_by != by)
    }

    /// A worker has the message of this number in its journal.
    pub fn note_read(&mut self, number: usize, by: &str) {
        if let Some(tell) = self.tells.get_mut(number) {
            by.clone_into(&mut tell.read_by);
        }
    }
}

fn too_large(what: &str, text: &str, limit: usize) -> Result<()> {
    match text.len() > limit {
        true => Err(Error::TooLarge {
            what: what.to_owned(),
            limit,
        }),
        false => Ok(()),
    }
}

fn failed<T>(why: String) -> Result<T> {
    Err(Error::Failed(why))
}
