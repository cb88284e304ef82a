//! Any bytes are a page within its limit, without control characters, and the same however they arrive.

use std::io::Read;

use peacrab::text::html::charset::Source;
use peacrab::text::html::{Form, Page, Tokenizer, Writer};
use peacrab::text::is_prose;

const CHARS: usize = 500;

fn written(reader: impl Read, form: Form) -> Page {
    let source = Source::new(reader).expect("bytes at hand");
    let mut tokens = Tokenizer::default();
    let mut writer = Writer::new(form, "https://example.org/a/b?c", CHARS);
    if let Ok(charset) = source.charset(None, true) {
        let mut take = |char| {
            tokens.push(char, &mut writer);
            !writer.is_done()
        };
        source.decode(charset, &mut take).expect("bytes at hand");
    }
    tokens.finish(&mut writer);
    writer.finish()
}

/// Gives one byte at a time.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(1);
        (&mut self.0).take(count as u64).read(buffer)
    }
}

pub fn run(bytes: &[u8]) {
    for form in [Form::Markdown, Form::Text] {
        let page = written(bytes, form);
        assert!(page.text.chars().count() <= 2 * CHARS + 2, "{page:?}");
        assert!(page.text.chars().all(is_prose), "{page:?}");
        assert_eq!(page, written(Slowly(bytes), form));
    }
}
