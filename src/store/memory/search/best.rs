//! The best passages of a search so far.

use std::cmp::Ordering;

use chrono::NaiveDateTime;

use crate::text::one_line;

use super::passages::{day_of, least_bytes_of};
use super::{Corpus, Counts, Hit, Message, NEEDLES, Passage, Query};
use super::{HIT_BYTES, HITS};

/// Bytes of it that come before the word that was found.
const HIT_LEAD_BYTES: usize = 80;

/// BM25's usual constants: how soon more of the same word says nothing more, and how much a long
/// passage counts less.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Ranks passages and holds the best.
pub(super) struct Best<'q> {
    query: &'q Query,
    /// The weight of each word.
    weights: [f32; NEEDLES],
    /// Bytes of the average passage.
    average: f32,
    /// The best one first.
    hits: Vec<Ranked>,
}

struct Ranked {
    phrases: u32,
    score: f32,
    hit: Hit,
}

impl Ranked {
    /// Which of two comes first.
    fn compare(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        let by_phrases = other.phrases.cmp(&self.phrases);
        by_phrases
            .then(by_score)
            .then(other.hit.time.cmp(&self.hit.time))
    }
}

impl<'q> Best<'q> {
    pub(super) fn new(query: &'q Query, corpus: &Corpus) -> Self {
        let passages = corpus.passages as f32;
        let mut weights = [0.0; NEEDLES];
        for (weight, with) in weights.iter_mut().zip(corpus.with).take(query.words) {
            let with = with as f32;
            *weight = (1.0 + (passages - with + 0.5) / (with + 0.5)).ln();
        }
        Self {
            query,
            weights,
            average: (corpus.bytes as f32 / passages.max(1.0)).max(1.0),
            hits: Vec::with_capacity(HITS + 1),
        }
    }

    /// Takes a passage if it is among the best.
    pub(super) fn offer(&mut self, passage: &Passage<'_>) {
        if !self.may_be_wanted(passage) {
            return;
        }
        let (message, counts) = match passage.lines {
            None => (self.paragraph(passage), passage.counts),
            Some(lines) => {
                let Some(mut message) = (lines.decode)(passage.raw) else {
                    return;
                };
                // A word may be the text's last.
                message.text.push('\n');
                let counts = self.query.scanner.count(message.text.as_bytes());
                (message.into(), counts)
            }
        };
        if self.has_words() && counts.found & self.word_bits() == 0
            || !self.query.is_when(message.time, &message.text)
        {
            return;
        }
        let ranked = Ranked {
            phrases: self.phrases(&counts),
            score: self.score(&counts, message.text.len()),
            hit: Hit {
                place: String::new(),
                who: message.who,
                time: message.time,
                text: excerpt(&message.text, self.first_word(&counts)),
            },
        };
        self.insert(ranked, passage.place);
    }

    fn insert(&mut self, mut ranked: Ranked, place: &str) {
        let index = self
            .hits
            .partition_point(|other| other.compare(&ranked) != Ordering::Greater);
        let is_same = |other: &Ranked| {
            (other.hit.time, &other.hit.text) == (ranked.hit.time, &ranked.hit.text)
        };
        if index >= HITS || self.hits.iter().any(is_same) {
            return;
        }
        ranked.hit.place = place.to_owned();
        self.hits.insert(index, ranked);
        self.hits.truncate(HITS);
    }

    pub(super) fn into_hits(self) -> Vec<Hit> {
        self.hits.into_iter().map(|ranked| ranked.hit).collect()
    }

    /// Whether a passage can be among the best, without parsing it.
    fn may_be_wanted(&self, passage: &Passage<'_>) -> bool {
        let counts = &passage.counts;
        if counts.has_escapes && passage.lines.is_some() {
            return true;
        }
        if self.has_words() && counts.found & self.word_bits() == 0 {
            return false;
        }
        if passage.lines.is_some() {
            let is_dated = counts.found & (1 << (self.query.words + self.query.phrases)) != 0;
            let is_old = |since| day_of(passage.raw).is_some_and(|day| day < since);
            if self.query.date.is_some() && !is_dated || self.query.since.is_some_and(is_old) {
                return false;
            }
        }
        match self.hits.last() {
            Some(worst) if self.hits.len() == HITS => {
                let is_better = |bytes| {
                    let phrases = self.phrases(counts);
                    let is_as_good = self.score(counts, bytes) >= worst.score;
                    phrases > worst.phrases || phrases == worst.phrases && is_as_good
                };
                // First as if it were the shortest passage.
                is_better(0) && (passage.lines.is_none() || is_better(least_bytes_of(passage.raw)))
            }
            _ => true,
        }
    }

    fn has_words(&self) -> bool {
        self.query.words > 0
    }

    /// How many of the phrases were found.
    fn phrases(&self, counts: &Counts) -> u32 {
        let bits = (1 << self.query.phrases) - 1;
        (counts.found >> self.query.words & bits).count_ones()
    }

    /// The bits of the words, without those of the phrases and the date.
    fn word_bits(&self) -> u32 {
        (1 << self.query.words) - 1
    }

    fn score(&self, counts: &Counts, bytes: usize) -> f32 {
        let length = K1 * (1.0 - B + B * bytes as f32 / self.average);
        let halves = counts.halves.iter().zip(self.weights);
        let score = halves.map(|(halves, weight)| {
            let times = *halves as f32 / 2.0;
            weight * times * (K1 + 1.0) / (times + length)
        });
        score.sum()
    }

    /// Where the word is first that says most.
    fn first_word(&self, counts: &Counts) -> usize {
        let words = counts.halves.iter().zip(counts.first).zip(self.weights);
        let found = words.filter(|((halves, _), _)| **halves > 0);
        let best = found.max_by(|(_, one), (_, other)| one.total_cmp(other));
        best.map_or(0, |((_, first), _)| first)
    }

    fn paragraph(&self, passage: &Passage<'_>) -> Said {
        Said {
            who: None,
            time: passage.time,
            text: String::from_utf8_lossy(passage.raw).into_owned(),
        }
    }
}

/// A passage as text.
struct Said {
    who: Option<&'static str>,
    time: Option<NaiveDateTime>,
    text: String,
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        Self {
            who: Some(message.who),
            time: message.time.map(|time| time.naive_local()),
            text: message.text,
        }
    }
}

/// The part of a text around a byte, on one line.
fn excerpt(text: &str, at: usize) -> String {
    let from = text.floor_char_boundary(at.saturating_sub(HIT_LEAD_BYTES));
    // A short text is shown from its beginning.
    let from = if text.len() <= HIT_BYTES { 0 } else { from };
    let to = text.floor_char_boundary(from + HIT_BYTES);
    let part = text.get(from..to).unwrap_or_default();
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.trim_end().len() {
        "…"
    } else {
        ""
    };
    format!("{before}{}{after}", one_line(part, HIT_BYTES))
}
