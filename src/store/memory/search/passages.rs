//! Cuts files into passages: a message of a journal, a paragraph or a list item of Markdown.

use std::path::Path;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::store::append_log::Lines;
use crate::store::memory::history::stamp_of;
use crate::text::truncate_bytes;

use super::{Counts, LineKind, MessageLines, Query, Source, Sources};

/// Lines of a search after which it is looked whether it was cancelled.
const SEARCH_LINES: u64 = 1024;
/// Messages of a search that are all counted to see how rare a word is.
const SEARCH_COUNTED: u64 = 8 * 1024;
/// Beyond them, only one of so many is counted: rareness is a weight, and not worth another pass.
const SEARCH_SAMPLE: u64 = 8;
/// Bytes at the beginning of a message's line in which its text begins.
const CONTENT_WITHIN_BYTES: usize = 64;
/// Bytes of a passage of a file of notes; a longer paragraph is several.
const PASSAGE_BYTES: usize = 4 * 1024;
/// Bytes at the end of a message's line in which its time is looked for before the line is parsed.
const TIME_BYTES: usize = 400;

/// A part of a file, as its bytes are.
pub(super) struct Passage<'p> {
    pub place: &'p str,
    /// The date of the passage in Markdown.
    pub time: Option<NaiveDateTime>,
    pub raw: &'p [u8],
    pub lines: Option<MessageLines>,
    /// What the query's scanner found in `raw`.
    pub counts: Counts,
    /// How many passages this one stands for.
    pub weight: u32,
}

/// Which passages of journals are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Of very many, a sample.
    Count,
    /// All.
    Rank,
}

/// Shows each passage of all sources, also those in which nothing was found.
pub(super) fn each_passage(
    pass: Pass,
    query: &Query,
    sources: &mut dyn Sources,
    cancel: &Cancel,
    visit: &mut dyn FnMut(&Passage<'_>),
) -> Result<()> {
    let mut count = 0_u64;
    sources.each(&mut |source| {
        let mut paragraphs = Paragraphs::new(&source);
        let (place, form) = (source.place, source.lines);
        let mut lines = Lines::new(source.reader);
        // A message that the next lines may take back.
        let mut proposed = Vec::new();
        loop {
            count += 1;
            if count.is_multiple_of(SEARCH_LINES) && cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            let line = lines
                .following()
                .map_err(Error::io("read", Path::new(place)))?;
            let weight = if pass == Pass::Count && form.is_some() && count > SEARCH_COUNTED {
                SEARCH_SAMPLE
            } else {
                1
            };
            let mut show = |raw: &[u8], time| {
                visit(&Passage {
                    place,
                    time,
                    raw,
                    lines: form,
                    counts: query.scanner.count(raw),
                    weight: weight as u32,
                });
            };
            match (line, form) {
                (Some(_), Some(_)) if !count.is_multiple_of(weight) => {}
                (Some(line), Some(form)) => {
                    let kind = (form.kind)(line);
                    if kind != LineKind::Other {
                        let before = std::mem::take(&mut proposed);
                        if kind != LineKind::TakesBack && !before.is_empty() {
                            show(&before, None);
                        }
                    }
                    match kind {
                        LineKind::Proposed if pass == Pass::Rank => {
                            proposed.extend_from_slice(line)
                        }
                        LineKind::Message | LineKind::Proposed => show(line, None),
                        _ => {}
                    }
                }
                (Some(line), None) => paragraphs.add(line, &mut show),
                (None, _) => {
                    paragraphs.end(&mut show);
                    return Ok(());
                }
            }
        }
    })
}

/// The passages of Markdown as its lines come.
struct Paragraphs {
    text: Vec<u8>,
    time: Option<NaiveDateTime>,
}

impl Paragraphs {
    fn new(source: &Source<'_>) -> Self {
        let midnight = |date: NaiveDate| date.and_time(NaiveTime::MIN);
        Self {
            text: Vec::new(),
            time: source.date.map(midnight),
        }
    }

    fn add(&mut self, line: &[u8], show: &mut dyn FnMut(&[u8], Option<NaiveDateTime>)) {
        let trimmed = line.trim_ascii();
        let begins = matches!(line, [b'-' | b'*' | b'+' | b'#' | b'[', ..]) || trimmed.is_empty();
        if begins || self.text.len() + line.len() > PASSAGE_BYTES {
            self.end(show);
        }
        // A time counts for what is below it.
        if let Some(beginning) = line.get(..TIME_BYTES.min(line.len()))
            && let Some(time) = stamp_of(truncate_bytes(
                &String::from_utf8_lossy(beginning),
                TIME_BYTES,
            ))
        {
            self.time = Some(time);
        }
        self.text.extend_from_slice(trimmed);
        self.text.push(b'\n');
    }

    fn end(&mut self, show: &mut dyn FnMut(&[u8], Option<NaiveDateTime>)) {
        if !self.text.trim_ascii().is_empty() {
            show(&self.text, self.time);
        }
        self.text.clear();
    }
}

/// The day in the time of a message's line, found without parsing the line.
pub(super) fn day_of(line: &[u8]) -> Option<NaiveDate> {
    let end = line.get(line.len().saturating_sub(TIME_BYTES)..)?;
    const KEY: &[u8] = b"\"timestamp\":";
    let at = end.windows(KEY.len()).rposition(|window| window == KEY)?;
    let value = end
        .get(at + KEY.len()..)?
        .trim_ascii_start()
        .strip_prefix(b"\"")?;
    std::str::from_utf8(value.get(..10)?).ok()?.parse().ok()
}

/// At least how many bytes the text of a message's line has, without parsing the line.
pub(super) fn least_bytes_of(line: &[u8]) -> usize {
    const KEY: &[u8] = b"\"content\":";
    let beginning = line.get(..CONTENT_WITHIN_BYTES).unwrap_or(line);
    let at = beginning
        .windows(KEY.len())
        .position(|window| window == KEY);
    let value = at.and_then(|at| line.get(at + KEY.len()..));
    let Some(text) = value.and_then(|value| value.trim_ascii_start().strip_prefix(b"\"")) else {
        return 0;
    };
    let (mut bytes, mut escapes, mut is_escaped) = (0_usize, 0, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'"' => break,
            b'\\' => (is_escaped, escapes) = (true, escapes + 1),
            _ => {}
        }
        bytes += 1;
    }
    // The longest escape has six bytes and may be one character.
    bytes.saturating_sub(5 * escapes)
}
