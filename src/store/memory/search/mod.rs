//! Search by words, in place: two passes over the files, without an index and in constant memory.
//!
//! The first pass counts in how many passages each word is, the second one ranks the passages (BM25) and
//! holds the best. A line is parsed only when it could be among them.

mod best;
mod passages;
mod query;
mod scanner;

#[cfg(test)]
mod tests;

use std::io::BufRead;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime};

use crate::base::cancel::Cancel;
use crate::base::error::Result;

use best::Best;
use passages::{Pass, Passage, each_passage};
use scanner::{Counts, NEEDLES};

pub use query::Query;

/// Words that a query looks for, and pairs of characters of languages without spaces; one bit each.
const QUERY_WORDS: usize = 14;
/// Exact phrases that a query looks for.
const QUERY_PHRASES: usize = 4;
/// Passages that a search finds.
const HITS: usize = 10;
/// Bytes of a passage that a hit shows: a few lines.
const HIT_BYTES: usize = 400;

/// What is searched, one file after the other.
pub trait Sources {
    /// Shows each file from its beginning. It is called twice; a file that cannot be read is left out.
    fn each(&mut self, visit: &mut dyn FnMut(Source<'_>) -> Result<()>) -> Result<()>;
}

/// A file that is searched.
pub struct Source<'a> {
    /// Its name for people and the model.
    pub place: &'a str,
    /// The date of passages that have none of their own.
    pub date: Option<NaiveDate>,
    /// Its content.
    pub reader: &'a mut dyn BufRead,
    /// How its lines are read; `None` for Markdown.
    pub lines: Option<MessageLines>,
}

/// How the lines of a journal are read.
#[derive(Clone, Copy)]
pub struct MessageLines {
    /// What a line may be: a quick look at its ends.
    pub kind: fn(&[u8]) -> LineKind,
    /// Parses a line; `None` when it is not a message.
    pub decode: fn(&[u8]) -> Option<Message>,
}

/// A line of a journal, as a search takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A message.
    Message,
    /// A message that has not gone out yet.
    Proposed,
    /// The message that was proposed last has not gone out.
    TakesBack,
    /// The end of a turn, in which it has.
    EndsTurn,
    /// Anything else.
    Other,
}

/// A message in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub who: &'static str,
    /// When.
    pub time: Option<DateTime<FixedOffset>>,
    /// What.
    pub text: String,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The file or the conversation.
    pub place: String,
    /// Who said it, in a conversation.
    pub who: Option<&'static str>,
    /// When; midnight when only the day is known.
    pub time: Option<NaiveDateTime>,
    /// The part of the passage around the first word that was found, on one line.
    pub text: String,
}

/// Finds the passages that fit a query best, the best one first and the newest first among equals.
/// Passages with the query's exact phrases come before those without.
pub fn search(query: &Query, sources: &mut dyn Sources, cancel: &Cancel) -> Result<Vec<Hit>> {
    let mut corpus = Corpus::default();
    each_passage(Pass::Count, query, sources, cancel, &mut |passage| {
        corpus.add(passage);
    })?;
    let mut best = Best::new(query, &corpus);
    each_passage(Pass::Rank, query, sources, cancel, &mut |passage| {
        best.offer(passage);
    })?;
    Ok(best.into_hits())
}

/// What the weight of a word depends on.
#[derive(Default)]
struct Corpus {
    passages: u32,
    bytes: u64,
    /// For each needle, the passages that have it.
    with: [u32; NEEDLES],
}

impl Corpus {
    fn add(&mut self, passage: &Passage<'_>) {
        let weight = passage.weight;
        self.passages = self.passages.saturating_add(weight);
        self.bytes += u64::from(weight) * passage.raw.len() as u64;
        for (with, halves) in self.with.iter_mut().zip(passage.counts.halves) {
            *with = with.saturating_add(weight * u32::from(halves > 0));
        }
    }
}
