//! Marks for what changes the meaning of a text: struck out text, powers and indices.

use super::Writer;
use crate::text::html::hidden::is_struck;
use crate::text::html::lists::GAP;
use crate::text::html::tokens::Tag;

/// The element whose text is struck out.
#[derive(Debug)]
pub(super) struct Struck {
    name: String,
    /// How often it is open.
    depth: u32,
    /// Whether its mark is written.
    is_open: bool,
}

/// The mark around text that is struck out.
const STRUCK: &str = "~~";

/// A power or an index.
#[derive(Debug)]
pub(super) struct Raised {
    mark: char,
    /// Where its mark is, once that is written.
    at: Option<usize>,
}

impl Writer {
    /// Ends the mark of struck out text until more of that text comes.
    pub(super) fn pause_struck(&mut self) {
        if let Some(struck) = self.struck.as_mut().filter(|struck| struck.is_open) {
            struck.is_open = false;
            self.write_text(STRUCK);
        }
    }

    pub(super) fn begin_struck(&mut self, tag: &Tag) {
        match &mut self.struck {
            Some(struck) if struck.name == tag.name => {
                struck.depth = struck.depth.saturating_add(1)
            }
            None if is_struck(tag) => {
                self.struck = Some(Struck {
                    name: tag.name.clone(),
                    depth: 1,
                    is_open: false,
                });
            }
            _ => {}
        }
    }

    pub(super) fn end_struck(&mut self, name: &str) {
        if let Some(struck) = self.struck.as_mut().filter(|struck| struck.name == name) {
            struck.depth = struck.depth.saturating_sub(1);
            if struck.depth == 0 {
                self.pause_struck();
                self.struck = None;
            }
        }
    }

    /// Writes the mark of a power or an index before its first character.
    pub(super) fn mark_raised(&mut self, is_joined: bool) {
        let at = self.out.len();
        if let Some(raised) = self.raised.as_mut().filter(|raised| raised.at.is_none()) {
            raised.at = Some(at);
            let mark = raised.mark;
            match is_joined {
                true => self.write(mark),
                // A note's number stands alone.
                false => self.raised = None,
            }
        }
    }

    /// Puts what was raised in brackets where that says what belongs to it, and leaves the mark out where it is
    /// not a power.
    pub(super) fn end_raised(&mut self) {
        let Some(Raised { mark, at: Some(at) }) = self.raised.take() else {
            return;
        };
        let from = at + mark.len_utf8();
        let Some(text) = self.out.get(from..).filter(|_| self.chars < self.limit) else {
            return;
        };
        let is_simple = text
            .chars()
            .all(|char| char.is_alphanumeric() || "+-−.,".contains(char));
        let is_ending =
            ["st", "nd", "rd", "th", "tm", "sm"].contains(&text.to_ascii_lowercase().as_str());
        if is_ending || text.starts_with(['[', '®', '™', '*', '†']) {
            self.out.remove(at);
            self.chars -= 1;
        } else if !is_simple && !text.contains('\n') {
            self.out.insert(from, '(');
            self.chars += 1;
            self.write(')');
        }
    }

    /// Begins the mark of struck out text before more of it.
    pub(super) fn resume_struck(&mut self) {
        if let Some(struck) = self.struck.as_mut().filter(|struck| !struck.is_open) {
            struck.is_open = true;
            self.write_text(STRUCK);
        }
    }

    pub(super) fn begin_raised(&mut self, mark: char) {
        self.end_raised();
        self.raised = Some(Raised { mark, at: None });
    }

    /// Items whose numbers are not known have none.
    pub(super) fn close_gaps(&mut self) {
        if self.out.contains(GAP) {
            let dots = format!("{GAP}. ");
            self.out = self.out.replace(&dots, "- ").replace(GAP, "-");
        }
    }
}
