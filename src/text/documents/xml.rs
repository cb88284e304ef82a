//! XML as a flow of tags and text.

use crate::text::html::{Sink, Tag, Tokenizer};

/// Takes what there is in a part of a document.
pub trait Part {
    /// An element begins. Its name is in lower case and without a namespace.
    fn start(&mut self, tag: &Tag);
    /// An element ends.
    fn end(&mut self, name: &str);
    /// Characters between tags.
    fn text(&mut self, char: char);
    /// Whether nothing more is wanted.
    fn is_full(&self) -> bool {
        false
    }
}

/// A part as the tokenizer calls it. An element that ends at once ends as others do.
struct Parts<'a, P>(&'a mut P);

impl<P: Part> Sink for Parts<'_, P> {
    fn start(&mut self, tag: &Tag) {
        self.0.start(tag);
    }

    fn end(&mut self, name: &str) {
        self.0.end(name);
    }

    fn text(&mut self, char: char) {
        self.0.text(char);
    }
}

/// Passes a part's tags and text on until the reader is full.
pub fn read(text: &str, part: &mut impl Part) {
    let mut tokens = Tokenizer::xml_with_all_attributes();
    for char in text.trim_start_matches('\u{feff}').chars() {
        tokens.push(char, &mut Parts(part));
        if part.is_full() {
            return;
        }
    }
    tokens.finish(&mut Parts(part));
}
