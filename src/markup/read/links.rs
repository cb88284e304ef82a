//! Links and images: their words, and where they lead.

use pulldown_cmark::CowStr;

use super::super::html;
use super::super::rich::Level;
use super::super::table::Table;
use super::Reader;

/// A link or an image that is being read.
pub struct Target {
    address: String,
    /// Where its words begin.
    from: usize,
    is_linked: bool,
}

impl Reader {
    /// What is being written to: a cell of a table, or the text.
    fn words(&self) -> &str {
        self.table.as_ref().map_or(self.rich.text(), Table::cell)
    }

    /// Begins a link or an image; one within another is only its words.
    pub fn start_link(&mut self, address: CowStr<'_>) {
        if !self.targets.is_empty() {
            return self.targets.push(None);
        }
        let tag = html::link(&address).filter(|_| self.table.is_none());
        let is_linked = tag.is_some();
        if let Some(tag) = tag {
            let value = self.rich.add_opening(tag, "</a>");
            self.open(Level::Link, value);
        }
        self.targets.push(Some(Target {
            address: address.into_string(),
            from: self.words().len(),
            is_linked,
        }));
    }

    /// A link without words gets its address as words; words without a link get the address behind
    /// them.
    pub fn end_link(&mut self) {
        let Some(Some(target)) = self.targets.pop() else {
            return;
        };
        let address = target.address.as_str();
        let shown = self.words().get(target.from..).unwrap_or("").trim();
        if shown.is_empty() {
            self.say(address);
        } else if !target.is_linked && shown != address.trim_start_matches("mailto:") {
            self.say(&[" (", address, ")"].concat());
        }
        if target.is_linked {
            self.close(Level::Link);
        }
    }
}
