//! Rust source as words, as strings and as documentation; test modules are left out.

/// A word of the source: an identifier, a number, a literal, a line of documentation, or one
/// character of anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word itself.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// All words outside of comments, strings and `#[cfg(test)]` items.
pub fn words(source: &str) -> Vec<Word> {
    let is_code = |word: &Word| !word.text.starts_with(['"', '/']) || word.text == "/";
    let mut words = without_test_items(split(source));
    words.retain(is_code);
    words
}

/// All string literals outside of `#[cfg(test)]` items, as the compiler reads them.
pub fn strings(source: &str) -> Vec<Word> {
    let read = |word: Word| {
        let quoted = word.text.strip_prefix('"')?;
        Some(Word {
            text: unescaped(quoted),
            line: word.line,
        })
    };
    let words = without_test_items(split(source));
    words.into_iter().filter_map(read).collect()
}

/// All documentation (`///`) outside of `#[cfg(test)]` items; the lines of one comment are joined.
pub fn documentation(source: &str) -> Vec<Word> {
    let mut comments: Vec<Word> = Vec::new();
    let mut last_line = 0;
    for word in without_test_items(split(source)) {
        let Some(text) = word.text.strip_prefix("///") else {
            continue;
        };
        match comments.last_mut() {
            Some(comment) if word.line == last_line + 1 => comment.text += text,
            _ => comments.push(Word {
                text: text.to_owned(),
                line: word.line,
            }),
        }
        last_line = word.line;
    }
    comments
}

/// A literal's text with its escapes as what they mean, as far as that matters for reading.
fn unescaped(literal: &str) -> String {
    let mut text = String::with_capacity(literal.len());
    let mut chars = literal.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                // The line goes on at the next word.
                Some('\n') => while chars.next_if(|char| char.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            _ => text.push(char),
        }
    }
    text
}

/// The modules that a source declares under `#[cfg(test)]` and that have their own files.
pub fn test_modules(source: &str) -> Vec<String> {
    let words = split(source);
    let mut modules = Vec::new();
    for at in test_attributes(&words) {
        let rest: Vec<&str> = words[at + TEST.len()..]
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        // There may be a visibility before it: `pub(super) mod tests;`.
        let at = rest.iter().take(5).position(|word| *word == "mod");
        if let Some(["mod", name, ";", ..]) = at.map(|at| &rest[at..]) {
            modules.push((*name).to_owned());
        }
    }
    modules
}

const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

fn test_attributes(words: &[Word]) -> Vec<usize> {
    let is_test = |window: &[Word]| {
        window
            .iter()
            .zip(TEST)
            .all(|(word, test)| word.text == test)
    };
    let windows = words.windows(TEST.len()).enumerate();
    windows
        .filter(|(_, window)| is_test(window))
        .map(|(at, _)| at)
        .collect()
}

/// Removes each item after `#[cfg(test)]`, up to its `;` or the end of its block.
fn without_test_items(words: Vec<Word>) -> Vec<Word> {
    let starts = test_attributes(&words);
    let mut kept = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        if starts.contains(&at) {
            at = end_of_item(&words, at + TEST.len());
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

fn end_of_item(words: &[Word], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.text.as_str() {
            "{" => depth += 1,
            "}" if depth <= 1 => return at,
            "}" => depth -= 1,
            ";" if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

fn split(source: &str) -> Vec<Word> {
    let mut reader = Reader {
        rest: source,
        line: 1,
        words: Vec::new(),
    };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.words
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    words: Vec<Word>,
}

impl Reader<'_> {
    fn step(&mut self) {
        let length = match self.rest.as_bytes() {
            [b'/', b'/', kind, ..] => {
                let length = self.rest.find('\n').unwrap_or(self.rest.len());
                if *kind == b'/' {
                    self.keep(&self.rest[..length]);
                }
                length
            }
            [b'/', b'*', ..] => comment_length(self.rest),
            [b'"', ..] => {
                let length = string_length(self.rest);
                self.keep(&self.rest[..length.saturating_sub(1).max(1)]);
                length
            }
            [b'\'', ..] => quote_length(self.rest),
            [b'r', b'"' | b'#', ..] | [b'b', b'r', ..] => match raw_string_length(self.rest) {
                Some(length) => {
                    self.keep(self.rest[..length].trim_start_matches(['b', 'r', '#']));
                    length
                }
                None => return self.word(),
            },
            _ => return self.word(),
        };
        self.skip(length);
    }

    /// Notes a literal from its quote on, or a line of documentation from its slashes on.
    fn keep(&mut self, text: &str) {
        self.words.push(Word {
            text: text.to_owned(),
            line: self.line,
        });
    }

    fn word(&mut self) {
        let belongs = |c: char| c.is_alphanumeric() || c == '_';
        let length = match self.rest.find(|c| !belongs(c)) {
            Some(0) => self.rest.chars().next().map_or(0, char::len_utf8),
            Some(length) => length,
            None => self.rest.len(),
        };
        let text = self.rest[..length].to_owned();
        if !text.trim().is_empty() {
            self.words.push(Word {
                text,
                line: self.line,
            });
        }
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

/// Block comments nest.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character, or only the quote of a lifetime.
fn quote_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some(_)) => characters
            .find(|(_, c)| *c == '\'')
            .map_or(text.len(), |(at, _)| at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

fn raw_string_length(text: &str) -> Option<usize> {
    let after = text.trim_start_matches('b').strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let closed = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + closed)
}
