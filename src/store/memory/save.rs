//! Saving what a consolidation made of a part of a conversation.

use crate::base::error::{Error, Result};
use crate::base::limits::memory::UPDATE_BYTES_MAX;

use super::FACTS_FILE_BYTES_MAX;
use super::{Digest, FACTS, Memory};

/// What a model made of a part of a conversation and of the facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consolidated {
    /// What happened, for HISTORY.md. One without a date gets the present one, and a blank one is left out.
    pub history_entry: String,
    /// The new MEMORY.md. A blank one leaves MEMORY.md as it is.
    pub memory_update: String,
    /// [`Facts::digest`](super::Facts::digest) of what the model was given; `None` when there was nothing.
    pub base: Option<Digest>,
    /// Whether the model was asked again about an update that drops more than half.
    pub is_confirmed: bool,
}

/// The outcome of saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Everything is on the disk.
    Done,
    /// Nothing was written: the update drops more than half of what the model was given.
    Shrinks {
        /// Bytes that the model was given.
        from: usize,
        /// Bytes of the update.
        to: usize,
    },
    /// Nothing was written: MEMORY.md is another one by now, in more than lines at its end.
    Changed,
}

/// What an update does to MEMORY.md.
#[derive(Debug, PartialEq, Eq)]
enum Merge {
    /// It has the update already, or there is none.
    Nothing,
    Write(Vec<u8>),
    Refuse(Saved),
}

impl Memory<'_> {
    /// Replaces MEMORY.md and adds to HISTORY.md, in this order. The same call after a crash or an error
    /// does what is left of it.
    ///
    /// Kept below the update are the lines that the model was not given: those added meanwhile, and the
    /// rest of a MEMORY.md that was cut. An update that is too long is an error for the model.
    pub fn save(&self, saved: &Consolidated) -> Result<Saved> {
        let update = saved.memory_update.trim();
        if update.len() > UPDATE_BYTES_MAX {
            return Err(Error::Failed(format!(
                "memory_update has {} bytes; at most {UPDATE_BYTES_MAX} are saved. Shorten it",
                update.len()
            )));
        }
        loop {
            let current = self.current()?;
            let is_written = match merge(&current, update, saved) {
                Merge::Refuse(why) => return Ok(why),
                Merge::Nothing => true,
                Merge::Write(new) if new.len() > FACTS_FILE_BYTES_MAX => {
                    return Err(Error::TooLarge {
                        what: FACTS.to_owned(),
                        limit: FACTS_FILE_BYTES_MAX,
                    });
                }
                Merge::Write(new) => self.replace(&current, &new)?,
            };
            // Else it was changed in this moment, by an editor or a tool.
            if is_written {
                break;
            }
        }
        if !saved.history_entry.trim().is_empty() {
            self.log(&saved.history_entry)?;
        }
        Ok(Saved::Done)
    }
}

fn merge(current: &[u8], update: &str, saved: &Consolidated) -> Merge {
    if update.is_empty() {
        return Merge::Nothing;
    }
    let parts = match &saved.base {
        Some(base) => base.split(current),
        None => Some((&[][..], current)),
    };
    let is_base = saved
        .base
        .as_ref()
        .is_some_and(|base| base.bytes == current.len());
    // A text that begins with the update has it already, unless it is what the model shortened.
    if !(is_base && parts.is_some()) && begins_with_lines(current, update.as_bytes()) {
        return Merge::Nothing;
    }
    let Some((seen, unseen)) = parts else {
        return Merge::Refuse(Saved::Changed);
    };
    let (from, to) = (seen.trim_ascii().len(), update.len());
    if to < from.div_ceil(2) && !saved.is_confirmed {
        return Merge::Refuse(Saved::Shrinks { from, to });
    }
    let mut new = format!("{update}\n").into_bytes();
    if !unseen.trim_ascii().is_empty() {
        new.extend_from_slice(unseen.strip_prefix(b"\n").unwrap_or(unseen));
    }
    Merge::Write(new)
}

/// Whether a text is these lines, or begins with them.
fn begins_with_lines(text: &[u8], lines: &[u8]) -> bool {
    let rest = text.strip_prefix(lines);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'\n')))
}
