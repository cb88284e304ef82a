//! Whether a place in an answer is quoted: what stands in code, between quotation marks or on a line that is
//! marked as a quotation is spoken about, and means nothing itself.
//!
//! Markdown is read as far as that takes (<https://spec.commonmark.org/0.31.2/>), and HTML's elements for code and
//! quotations.

/// HTML's elements whose text is quoted.
const ELEMENTS: [&str; 6] = ["pre", "code", "blockquote", "samp", "kbd", "xmp"];

/// Bytes of a tag's name that are read: the longest one, and the slash before it.
const NAME_BYTES: usize = 24;

/// Columns of white space before a line of code.
const CODE_COLUMNS: u8 = 4;

/// A row of backticks or tildes: which, and how many.
type Row = (char, u8);

/// Follows a text, in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Quotes {
    line: Line,
    /// The row that opened the fence that is open.
    fence: Option<Row>,
    /// Backticks that opened the code within the line; none outside.
    code: u8,
    /// The row that the text ends with.
    row: Option<Row>,
    in_marks: bool,
    /// The beginning of the tag that the text ends with.
    tag: Option<String>,
    /// How many of HTML's elements are open.
    elements: u8,
    /// Whether a call is written, whose values are its own.
    in_call: bool,
    last: Option<char>,
    /// Whether an earlier line has words, from which an indented one is set apart.
    has_words: bool,
}

/// The line that the text ends with.
#[derive(Clone, Debug, Default)]
struct Line {
    /// The first character that is no white space.
    first: Option<char>,
    head: Head,
    /// Columns of white space before the first character.
    columns: u8,
    is_cited: bool,
    is_code: bool,
    /// Whether a fence was opened on it.
    is_fence: bool,
    /// The fence that was closed on it.
    closed: Option<Row>,
}

/// How much of a line is only what marks its kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    /// All of it.
    #[default]
    Marks,
    /// All but what is a list's bullet when white space follows.
    Bullet,
    /// All but digits, which may be a list's number.
    Number,
    /// There are words.
    Words,
}

impl Quotes {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        for char in piece.chars() {
            self.take(char);
        }
    }

    fn take(&mut self, char: char) {
        self.last = Some(char);
        if char == '\n' {
            self.has_words |= self.line.first.is_some();
            // Neither an inline code nor, for our purpose, a quotation goes on beyond its line.
            (self.line, self.code, self.row) = (Line::default(), 0, None);
            self.in_marks = false;
            return self.take_tag(char);
        }
        // Behind a fence's beginning there are no backticks: it was code within the line.
        if char == '`' && self.line.is_fence && self.line.head == Head::Words {
            self.code = self.fence.take().map_or(0, |(_, count)| count);
            self.line.is_fence = false;
        }
        self.row = match self.row {
            Some((one, count)) if one == char => Some((one, count.saturating_add(1))),
            _ => {
                self.code = self.code();
                matches!(char, '`' | '~').then_some((char, 1))
            }
        };
        self.take_head(char);
        self.take_tag(char);
        match char {
            // German closes with what English opens with.
            '"' | '“' => self.in_marks = !self.in_marks,
            '„' | '«' | '「' => self.in_marks = true,
            '”' | '»' | '」' => self.in_marks = false,
            _ => {}
        }
    }

    /// Backticks of the code within the line, after the row that the text ends with.
    fn code(&self) -> u8 {
        let is_fence = self.fence.or(self.line.closed).is_some();
        match self.row {
            Some(('`', count)) if !is_fence && self.code == 0 => count,
            Some(('`', count)) if !is_fence && self.code == count => 0,
            _ => self.code,
        }
    }

    /// Reads what marks a line's kind: white space, a quotation's brackets, a list's bullets, a fence.
    fn take_head(&mut self, char: char) {
        let line = &mut self.line;
        if char.is_whitespace() {
            if line.first.is_none() {
                let columns = if char == '\t' { CODE_COLUMNS } else { 1 };
                line.columns = line.columns.saturating_add(columns);
            }
            line.head = match line.head {
                Head::Bullet => Head::Marks,
                Head::Number => Head::Words,
                other => other,
            };
            return;
        }
        if line.head == Head::Words {
            // A fence has nothing behind its end, but for the marks of a template.
            if line.closed.is_some() && !"`~<[".contains(char) {
                self.fence = line.closed.take();
            }
            return;
        }
        let is_first = line.first.is_none();
        line.first = line.first.or(Some(char));
        let is_open = self.fence.is_none();
        line.is_code |= is_first && is_open && self.has_words && line.columns >= CODE_COLUMNS;
        line.head = match (line.head, char) {
            (Head::Marks, '`' | '~') => return self.take_fence(),
            (Head::Marks, '>') if is_open => {
                line.is_cited = true;
                Head::Marks
            }
            (Head::Marks, '>') => Head::Marks,
            (Head::Marks, '-' | '+' | '*') if is_open => Head::Bullet,
            (Head::Marks | Head::Number, '0'..='9') if is_open => Head::Number,
            (Head::Number, '.' | ')') => Head::Bullet,
            _ => Head::Words,
        };
    }

    /// Begins or ends a fence with the row at the head of its line.
    fn take_fence(&mut self) {
        let Some(row) = self.row else { return };
        match self.fence {
            // The row that opens it grows.
            Some(fence) if self.line.is_fence => self.fence = Some((fence.0, fence.1.max(row.1))),
            Some(fence) if fence.0 == row.0 && fence.1 <= row.1 => {
                (self.line.closed, self.fence) = (self.fence, None);
                self.line.head = Head::Words;
            }
            None if row.1 >= 3 && !self.line.is_code => {
                (self.fence, self.line.is_fence) = (Some(row), true);
            }
            _ => {}
        }
    }

    /// Reads tags outside code.
    fn take_tag(&mut self, char: char) {
        if self.fence.is_some() || self.line.is_code || self.code() > 0 {
            self.tag = None;
            return;
        }
        match self.tag.as_mut() {
            _ if char == '<' => self.tag = Some(String::new()),
            Some(name) if char == '>' || char.is_whitespace() => {
                if name.ends_with("tool_call") {
                    self.in_call = !name.starts_with('/');
                }
                let is_element = ELEMENTS.contains(&name.trim_start_matches('/'));
                self.elements = match name.starts_with('/') {
                    _ if !is_element => self.elements,
                    true => self.elements.saturating_sub(1),
                    false => self.elements.saturating_add(1),
                };
                self.tag = None;
            }
            Some(name) if name.len() < NAME_BYTES => name.push(char.to_ascii_lowercase()),
            _ => self.tag = None,
        }
    }

    /// Whether what comes next stands in code.
    pub fn is_code(&self) -> bool {
        let is_indented = self.line.columns >= CODE_COLUMNS && self.has_words;
        self.fence.is_some()
            || self.line.is_code
            || is_indented && self.begins_line()
            || self.elements > 0
            || self.code() > 0
    }

    /// Whether what comes next stands in code, in a table, on a line that is marked as a quotation or right
    /// behind a quotation mark.
    pub fn is_cited(&self) -> bool {
        let is_behind = matches!(self.last, Some('"' | '“' | '„' | '«' | '「'));
        let is_cited = self.line.is_cited || self.line.first == Some('|');
        self.is_code() || is_cited || is_behind && self.in_marks
    }

    /// Whether what comes next is quoted in any way, or set apart like a name: in a table, in emphasis, in
    /// brackets.
    pub fn is_quoted(&self) -> bool {
        let is_apart = matches!(self.last, Some('\'' | '‘' | '(' | '*'));
        self.is_cited() || self.in_marks || is_apart || self.in_call
    }

    /// Whether what comes next begins its line.
    pub fn begins_line(&self) -> bool {
        self.line.first.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_quotation_marks_and_marked_lines_are_quotations() {
        for (text, is_code, is_quoted) in [
            ("", false, false),
            ("a `b", true, true),
            ("a `b` ", false, false),
            ("a `b` `c", true, true),
            ("a ``b ` c", true, true),
            ("a ``b ` c``", false, false),
            ("a ```b``` c", false, false),
            ("a `b\nc", false, false),
            ("```rust\na", true, true),
            ("```\na\n  ```\n", false, false),
            ("```\na\n```b\nc", true, true),
            ("```a```\nb", false, false),
            ("```a` b", true, true),
            ("<tool_call>a", false, true),
            ("<tool_call>a</tool_call>", false, false),
            ("````\na\n````\nb", false, false),
            ("````\n```\na\n```\n", true, true),
            ("~~~\na\n```\n", true, true),
            ("~~~\na\n~~~\nb", false, false),
            ("- ```\n  a\n", true, true),
            ("1. ```\n   a\n   ```\n", false, false),
            ("> ```\n> a\n> ```\n", false, false),
            ("``` \n`a` ", true, true),
            ("a\n\n    b", true, true),
            ("a\n\tb", true, true),
            ("    a", false, false),
            ("a\n\n    b\nc", false, false),
            (" > a ", false, true),
            ("- > a ", false, true),
            ("* 1) > a ", false, true),
            ("-> a ", false, false),
            ("2 > a ", false, false),
            ("> a\nb", false, false),
            ("a <pre>\n\nb", true, true),
            ("<PRE class=\"x\"><code>a</code>", true, true),
            ("<blockquote>\na</blockquote>\n", false, false),
            ("`<pre>` a", false, false),
            ("a <b> c", false, false),
            ("a \"b", false, true),
            ("a \"b\" ", false, false),
            ("„a", false, true),
            ("„a“ b", false, false),
            ("“a” b", false, false),
            ("5\"\nb", false, false),
            ("it's ", false, false),
            ("the '", false, true),
            ("**", false, true),
            ("| a | ", false, true),
        ] {
            let mut quotes = Quotes::default();
            quotes.push(text);
            let found = (quotes.is_code(), quotes.is_quoted());
            assert_eq!(found, (is_code, is_quoted), "{text}");
        }
    }

    #[test]
    fn what_follows_the_white_space_of_code_is_code() {
        let mut quotes = Quotes::default();
        quotes.push("So:\n\n   ");
        assert!(!quotes.is_code());
        quotes.push(" ");
        assert!(quotes.is_code());
    }
}
