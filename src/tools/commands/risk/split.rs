//! A command line of sh as the simple commands in it.
//!
//! It is no shell: variables are not expanded and nothing is run. It finds every place where a
//! command starts (lists, pipes, groups, substitutions, bodies of here-documents) and each one's
//! words without their quotes. Where the line is broken it errs on the side of more commands.

use crate::limits::tools as bounds;

/// A command with its words and where it redirects to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// The words, quotes removed; assignments before the command and shell keywords are not among
    /// them. Substitutions stand as they were written.
    pub words: Vec<String>,
    /// Targets of `>`, `>>` and their like.
    pub writes: Vec<String>,
    /// The command as it was written, without the spaces around it.
    pub text: String,
}

/// Words before a command that are not the command.
const KEYWORDS: [&str; 14] = [
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "esac",
    "time",
];

/// All simple commands of a line, those in substitutions behind the one they stand in.
pub fn commands(line: &str) -> Vec<Simple> {
    let mut splitter = Splitter {
        letters: line.chars().collect(),
        ..Splitter::default()
    };
    splitter.list(None);
    splitter.found
}

#[derive(Default)]
struct Splitter {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    found: Vec<Simple>,
    /// Here-documents whose bodies start after this line: the end word, and whether it was quoted.
    pending: Vec<(String, bool)>,
}

/// A word as it is read.
#[derive(Default)]
struct Word {
    text: String,
    /// How long the text was when the first quote came.
    quoted: Option<usize>,
    begun: bool,
}

impl Word {
    fn push(&mut self, letter: char) {
        self.text.push(letter);
        self.begun = true;
    }

    fn quote(&mut self) {
        self.begun = true;
        self.quoted.get_or_insert(self.text.len());
    }

    /// `NAME=value` before a command; a quote in the name makes it a word like others.
    fn is_assignment(&self) -> bool {
        self.text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && self.quoted.is_none_or(|at| at > name.len())
                && !name.starts_with(|letter: char| letter.is_ascii_digit())
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
    }

    fn is_keyword(&self) -> bool {
        self.quoted.is_none() && KEYWORDS.contains(&self.text.as_str())
    }
}

/// What a finished word is.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Word,
    Write,
    Read,
    HereDocument,
}

/// A command that is being read.
struct Current {
    command: Simple,
    from: usize,
    word: Word,
    next: Use,
    /// The commands found within it, which come after it.
    inner: Vec<Simple>,
}

impl Splitter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn follows(&self, text: &str) -> bool {
        text.chars()
            .enumerate()
            .all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    /// Reads commands up to `until`, which is taken too, or to the end.
    fn list(&mut self, until: Option<char>) {
        let mut current = self.begin();
        while let Some(letter) = self.peek(0) {
            if Some(letter) == until {
                self.finish(&mut current);
                self.at += 1;
                return;
            }
            self.step(&mut current, letter);
        }
        self.finish(&mut current);
    }

    fn begin(&self) -> Current {
        Current {
            command: Simple::default(),
            from: self.at,
            word: Word::default(),
            next: Use::Word,
            inner: Vec::new(),
        }
    }

    fn step(&mut self, current: &mut Current, letter: char) {
        match letter {
            '\n' => {
                self.finish(current);
                self.at += 1;
                self.bodies(current);
                current.from = self.at;
            }
            ';' | '|' | '(' | ')' => self.separate(current),
            // `>&2` and `&>file` are redirections.
            '&' if self.peek(1) != Some('>') => self.separate(current),
            '&' => self.at += 1,
            '<' | '>' => self.redirect(current),
            ' ' | '\t' | '\r' => {
                current.end_word(self);
                self.at += 1;
            }
            '#' if !current.word.begun => {
                while self.peek(0).is_some_and(|letter| letter != '\n') {
                    self.at += 1;
                }
            }
            _ => self.letter(current, letter),
        }
    }

    fn separate(&mut self, current: &mut Current) {
        self.finish(current);
        self.at += 1;
        current.from = self.at;
    }

    fn redirect(&mut self, current: &mut Current) {
        // A number right before it is a descriptor, not a word.
        if current
            .word
            .text
            .chars()
            .all(|letter| letter.is_ascii_digit())
            && current.word.quoted.is_none()
        {
            current.word = Word::default();
        }
        current.end_word(self);
        if (self.follows("<(") || self.follows(">(")) && self.deeper() {
            self.at += 2;
            self.nested(current, Some(')'));
            return;
        }
        current.next = if self.follows("<<<") {
            self.at += 3;
            Use::Read
        } else if self.follows("<<") {
            self.at += 2;
            Use::HereDocument
        } else {
            let reads = self.peek(0) == Some('<');
            while matches!(self.peek(0), Some('<' | '>' | '|' | '&' | '-')) {
                self.at += 1;
            }
            if reads { Use::Read } else { Use::Write }
        };
        if self.peek(0) == Some('-') {
            self.at += 1;
        }
    }

    fn letter(&mut self, current: &mut Current, letter: char) {
        match letter {
            '\\' => {
                if let Some(next) = self.peek(1).filter(|next| *next != '\n') {
                    current.word.quote();
                    current.word.push(next);
                }
                self.at += 2;
            }
            '\'' => {
                self.at += 1;
                current.word.quote();
                while let Some(letter) = self.peek(0).filter(|letter| *letter != '\'') {
                    current.word.push(letter);
                    self.at += 1;
                }
                self.at += 1;
            }
            '"' => self.quoted(current),
            '$' | '`' => self.dollar(current, letter),
            _ => {
                current.word.push(letter);
                self.at += 1;
            }
        }
    }

    /// Between double quotes substitutions go on and everything else is text.
    fn quoted(&mut self, current: &mut Current) {
        self.at += 1;
        current.word.quote();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '"') {
            match letter {
                '\\' => {
                    self.at += 1;
                    if let Some(next) = self.peek(0) {
                        if !matches!(next, '"' | '\\' | '$' | '`' | '\n') {
                            current.word.push('\\');
                        }
                        current.word.push(next);
                    }
                    self.at += 1;
                }
                '$' | '`' => self.dollar(current, letter),
                _ => {
                    current.word.push(letter);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
    }

    /// A substitution of commands, arithmetic, or a variable, at the `$` or the backtick.
    fn dollar(&mut self, current: &mut Current, letter: char) {
        let from = self.at;
        self.at += 1;
        if letter == '`' && self.deeper() {
            self.backticks(current);
        } else if self.follows("((") && self.arithmetic() {
            // Nothing is run in it but by a substitution, of which the look above found none.
        } else if self.follows("(") && self.deeper() {
            self.at += 1;
            self.nested(current, Some(')'));
        }
        let to = self.at.min(self.letters.len());
        self.letters[from..to]
            .iter()
            .for_each(|letter| current.word.push(*letter));
    }

    /// Skips `((…))`; false, and nothing skipped, when it does not end or runs commands.
    fn arithmetic(&mut self) -> bool {
        let mut depth = 0_usize;
        for ahead in 0.. {
            match self.peek(ahead) {
                Some('(') => depth += 1,
                Some(')') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.at += ahead + 1;
                        return true;
                    }
                }
                Some('`' | '$' | ';' | '\n') | None => return false,
                Some(_) => {}
            }
        }
        false
    }

    fn deeper(&self) -> bool {
        self.depth < bounds::SPLIT_DEPTH
    }

    fn nested(&mut self, current: &mut Current, until: Option<char>) {
        let before = std::mem::take(&mut self.found);
        let pending = std::mem::take(&mut self.pending);
        self.depth += 1;
        self.list(until);
        self.depth -= 1;
        self.pending = pending;
        current.inner.append(&mut self.found);
        self.found = before;
    }

    fn backticks(&mut self, current: &mut Current) {
        let mut inside = String::new();
        while let Some(letter) = self.peek(0).filter(|letter| *letter != '`') {
            let escaped = letter == '\\' && matches!(self.peek(1), Some('`' | '\\' | '$'));
            self.at += usize::from(escaped);
            inside.extend(self.peek(0));
            self.at += 1;
        }
        self.at += 1;
        self.text(current, &inside);
    }

    /// Splits a text of its own, one level deeper.
    fn text(&mut self, current: &mut Current, text: &str) {
        let mut inner = Splitter {
            letters: text.chars().collect(),
            depth: self.depth + 1,
            ..Splitter::default()
        };
        inner.list(None);
        current.inner.append(&mut inner.found);
    }

    /// Takes the bodies of the here-documents of the line that has just ended.
    fn bodies(&mut self, current: &mut Current) {
        for (end, quoted) in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            while self.at < self.letters.len() {
                let mut line = String::new();
                while let Some(letter) = self.peek(0).filter(|letter| *letter != '\n') {
                    line.push(letter);
                    self.at += 1;
                }
                self.at += 1;
                if line.trim_start_matches('\t') == end {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if !quoted && self.deeper() {
                self.substitutions(current, &body);
            }
        }
    }

    /// The commands in the substitutions of a text that is no command.
    fn substitutions(&mut self, current: &mut Current, text: &str) {
        let mut inner = Splitter {
            letters: text.chars().collect(),
            depth: self.depth + 1,
            ..Splitter::default()
        };
        let mut scratch = inner.begin();
        while let Some(letter) = inner.peek(0) {
            match letter {
                '\\' => inner.at += 2,
                '$' | '`' => inner.dollar(&mut scratch, letter),
                _ => inner.at += 1,
            }
        }
        current.inner.append(&mut scratch.inner);
        self.found.append(&mut current.inner);
    }

    /// Ends the command that is being read and begins the next.
    fn finish(&mut self, current: &mut Current) {
        current.end_word(self);
        let to = self.at.min(self.letters.len());
        let text: String = self.letters[current.from.min(to)..to].iter().collect();
        let mut done = std::mem::replace(current, self.begin());
        done.command.text = text.trim().to_owned();
        let Simple {
            words,
            writes,
            text,
        } = &done.command;
        let runs_only_within = !done.inner.is_empty() && !text.is_empty();
        if !words.is_empty() || !writes.is_empty() || runs_only_within {
            self.found.push(done.command);
        }
        self.found.append(&mut done.inner);
    }
}

impl Current {
    fn end_word(&mut self, splitter: &mut Splitter) {
        if !self.word.begun {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match std::mem::replace(&mut self.next, Use::Word) {
            Use::Write => self.command.writes.push(word.text),
            Use::Read => {}
            Use::HereDocument => splitter.pending.push((word.text, word.quoted.is_some())),
            Use::Word => {
                let first = self.command.words.is_empty();
                let skipped = first && (word.is_keyword() || word.is_assignment());
                if !skipped {
                    self.command.words.push(word.text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<Vec<String>> {
        commands(line)
            .into_iter()
            .map(|command| command.words)
            .collect()
    }

    fn names(line: &str) -> Vec<String> {
        let first = |words: Vec<String>| words.into_iter().next().unwrap_or_default();
        words(line).into_iter().map(first).collect()
    }

    #[test]
    fn every_way_to_put_commands_on_a_line_is_seen() {
        for (line, expected) in [
            ("a; b && c || d | e & f", "a b c d e f"),
            ("a\nb\r\nc", "a b c"),
            ("(a; b) ; { c; }", "a b c"),
            ("if a; then b; else c; fi", "a b c"),
            ("while ! a; do b; done", "a b"),
            ("X=1 Y='2 3' a", "a"),
            ("a $(b $(c)) d", "a b c"),
            ("a \"x $(b) y\"", "a b"),
            ("a `b \\`c\\``", "a b c"),
            ("a <(b) >(c)", "a b c"),
            ("$(a) b", "$(a) a"),
            ("X=$(a)", " a"),
            ("a |& b", "a b"),
            ("a 2>&1 | b", "a b"),
            ("a &> file; b", "a b"),
            ("a # b; c", "a"),
            ("a x#y; b", "a b"),
            ("echo $((1+1)); a", "echo a"),
            ("echo $((1+$(a)))", "echo 1+$(a) a"),
            ("a <<E\nb; $(c)\nE\nd", "a c d"),
            ("a <<'E'\nb; $(c)\nE\nd", "a d"),
            ("a <<-E\n\tb\n\tE\nd", "a d"),
            ("a <<< 'b; c'", "a"),
            ("f() { a; }", "f a"),
            ("a \\; b", "a"),
            ("a \\\n b", "a"),
        ] {
            assert_eq!(names(line).join(" "), expected, "{line}");
        }
    }

    #[test]
    fn words_lose_their_quotes_and_keep_what_was_in_them() {
        assert_eq!(
            words(r#"a "b c" 'd;e' f\ g "h\"i" ''"#),
            [["a", "b c", "d;e", "f g", "h\"i", ""]]
        );
        assert_eq!(words("r\"\"m -'r'f /"), [["rm", "-rf", "/"]]);
    }

    #[test]
    fn redirections_are_told_apart_from_words() {
        let found = commands("a b >x 2>> y <z 3>&1 c");
        assert_eq!(found[0].words, ["a", "b", "c"]);
        assert_eq!(found[0].writes, ["x", "y", "1"]);
        assert_eq!(commands("> x")[0].writes, ["x"]);
    }

    #[test]
    fn a_command_knows_how_it_was_written() {
        let texts: Vec<String> = commands(" git  log | head -3;X=1 b ")
            .into_iter()
            .map(|command| command.text)
            .collect();
        assert_eq!(texts, ["git  log", "head -3", "X=1 b"]);
    }

    proptest! {
        #[test]
        fn any_line_is_split_without_harm(line in ".*") {
            let _ = commands(&line);
        }

        #[test]
        fn a_command_is_found_whatever_comes_before_it(before in "[a-z $(){}|&;<>]*") {
            // The body of a here-document and arithmetic are no commands.
            prop_assume!(!before.contains("<<") && !before.contains("$(("));
            let line = format!("{before} \nrm -rf /");
            let found = words(&line);
            prop_assert!(found.iter().any(|words| words.ends_with(&["rm".into(), "-rf".into(), "/".into()])), "{found:?}");
        }
    }
}
