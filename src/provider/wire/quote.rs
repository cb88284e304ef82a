//! Whether a place in an answer is quoted: what stands in code, between quotation marks or on a line that is
//! marked as a quotation is spoken about, and means nothing itself.

/// Follows a text, in pieces of any size.
#[derive(Clone, Debug)]
pub struct Quotes {
    in_fence: bool,
    in_code: bool,
    in_marks: bool,
    /// The first character of the line that is no white space.
    line: Option<char>,
    /// Backticks that the line consists of so far; `None` when it has anything else.
    ticks: Option<u8>,
    last: Option<char>,
}

impl Default for Quotes {
    fn default() -> Self {
        Self {
            in_fence: false,
            in_code: false,
            in_marks: false,
            line: None,
            ticks: Some(0),
            last: None,
        }
    }
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
        match char {
            // Neither an inline code nor, for our purpose, a quotation goes on beyond its line.
            '\n' => {
                *self = Self {
                    in_fence: self.in_fence,
                    ..Self::default()
                };
                return;
            }
            _ if char.is_whitespace() => return,
            '`' => {
                self.in_code = !self.in_code && !self.in_fence;
                self.ticks = self.ticks.map(|ticks| ticks.saturating_add(1));
                if self.ticks == Some(3) {
                    (self.in_fence, self.in_code) = (!self.in_fence, false);
                }
            }
            // German closes with what English opens with.
            '"' | '“' => self.in_marks = !self.in_marks,
            '„' | '«' | '「' => self.in_marks = true,
            '”' | '»' | '」' => self.in_marks = false,
            _ => {}
        }
        self.line = self.line.or(Some(char));
        if char != '`' {
            self.ticks = None;
        }
    }

    /// Whether what comes next stands in code.
    pub fn is_code(&self) -> bool {
        self.in_fence || self.in_code
    }

    /// Whether what comes next stands in code or on a line that is marked as a quotation.
    pub fn is_cited(&self) -> bool {
        self.is_code() || self.line == Some('>')
    }

    /// Whether what comes next is quoted in any way, or set apart like a name: in a table, in emphasis, in
    /// brackets.
    pub fn is_quoted(&self) -> bool {
        let is_apart = matches!(self.last, Some('\'' | '‘' | '(' | '*'));
        self.is_cited() || self.in_marks || is_apart || self.line == Some('|')
    }

    /// Whether what comes next begins its line.
    pub fn begins_line(&self) -> bool {
        self.line.is_none()
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
            ("a `b\nc", false, false),
            ("```rust\na", true, true),
            ("```\na\n  ```\n", false, false),
            ("````\na\n````\nb", false, false),
            ("``` \n`a` ", true, true),
            (" > a ", false, true),
            ("> a\nb", false, false),
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
}
