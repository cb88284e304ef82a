//! Markdown for a terminal, letter by letter as it streams. Pure: text in, text with SGR codes out.
//!
//! A model's text is untrusted: control characters are dropped, so that it cannot move the cursor,
//! set the title or answer the terminal's questions (ECMA-48). Only what can be decided from what has
//! come so far is styled; a marker that turns out to be none is printed as it stands.

/// Renders a stream of Markdown.
#[derive(Debug, Default)]
pub struct Renderer {
    place: Place,
    style: Style,
    /// The style that the terminal has now.
    shown: Style,
    /// What cannot be decided yet: the beginning of a line, a run of markers, or a link.
    held: String,
    /// The letter before what is held.
    before: Option<char>,
    /// Whether a `[` is text: within what was held as a link.
    in_link: bool,
}

/// Where in the text the next letter stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// At the beginning of a line, with what may be its marker held.
    #[default]
    LineStart,
    /// Within a line.
    Text,
    /// Behind some of `* _ ~` or a backquote, which are held.
    Run(char),
    /// Behind a `[`.
    Link,
    /// Within a code span that as many backquotes close.
    Code(usize),
    /// Within a fenced block; the letter and number of its fence.
    Fence(char, usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Style {
    bold: bool,
    italic: bool,
    strike: bool,
    code: bool,
    heading: bool,
    faint: bool,
}

/// Longest `[text](address)` that is waited for.
const LINK_LETTERS: usize = 400;

impl Renderer {
    /// A renderer at the beginning of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and appends what can be shown to `out`.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        for letter in piece.chars().filter(|letter| visible(*letter)) {
            self.letter(letter, out);
        }
    }

    /// The text has ended: shows what is held and sets the terminal back to plain.
    pub fn finish(&mut self, out: &mut String) {
        let unfinished_line = !matches!(self.place, Place::LineStart) || !self.held.is_empty();
        if unfinished_line {
            self.letter('\n', out);
            // The line end was ours and not the text's.
            out.truncate(out.trim_end_matches('\n').len());
        }
        self.style = Style::default();
        self.switch(out);
        *self = Self::default();
    }

    fn letter(&mut self, letter: char, out: &mut String) {
        match self.place {
            Place::LineStart => self.line_start(letter, out),
            Place::Text => self.text(letter, out),
            Place::Run(marker) => self.run(marker, letter, out),
            Place::Link => self.link(letter, out),
            Place::Code(count) => self.code(count, letter, out),
            Place::Fence(marker, count) => self.fence(marker, count, letter, out),
        }
    }

    fn line_start(&mut self, letter: char, out: &mut String) {
        self.held.push(letter);
        let ended = letter == '\n';
        match line_kind(&self.held) {
            Kind::Undecided if !ended => return,
            Kind::Heading => self.style.heading = true,
            Kind::Item(marker) => {
                self.style.faint = true;
                self.show(&marker, out);
                self.style.faint = false;
            }
            Kind::Quote(indent) => {
                self.style.faint = true;
                self.show(&format!("{indent}│ "), out);
                self.style.faint = false;
                // What stands behind it begins like a line.
                let rest = self.held.pop().filter(|letter| *letter != ' ');
                self.held.clear();
                return rest.into_iter().for_each(|letter| self.letter(letter, out));
            }
            Kind::Rule => {
                self.style.faint = true;
                self.show("────────", out);
                self.style.faint = false;
                self.held = "\n".to_owned();
                return self.plain_line(out);
            }
            Kind::Fence(marker, count, language) => {
                if !language.is_empty() {
                    self.style.faint = true;
                    self.show(&language, out);
                    self.end_line(out);
                }
                self.held.clear();
                self.place = Place::Fence(marker, count);
                return;
            }
            Kind::Plain | Kind::Undecided => return self.plain_line(out),
        }
        self.held.clear();
        self.before = None;
        self.place = Place::Text;
    }

    /// What is held is no marker: it is text.
    fn plain_line(&mut self, out: &mut String) {
        self.place = Place::Text;
        self.before = None;
        for letter in std::mem::take(&mut self.held).chars() {
            self.letter(letter, out);
        }
    }

    fn text(&mut self, letter: char, out: &mut String) {
        match letter {
            '\n' => self.end_line(out),
            '\\' | '*' | '_' | '~' | '`' => {
                self.held.push(letter);
                self.place = Place::Run(letter);
            }
            '[' if !self.in_link => {
                self.held.push(letter);
                self.place = Place::Link;
            }
            _ => self.show_letter(letter, out),
        }
    }

    fn run(&mut self, marker: char, letter: char, out: &mut String) {
        if marker == '\\' {
            self.held.clear();
            self.place = Place::Text;
            if letter.is_ascii_punctuation() {
                return self.show_letter(letter, out);
            }
            self.show_letter('\\', out);
            return self.text(letter, out);
        }
        if letter == marker && self.held.len() < 3 {
            self.held.push(letter);
            return;
        }
        let run = std::mem::take(&mut self.held);
        self.place = Place::Text;
        if marker == '`' {
            self.style.code = true;
            self.place = Place::Code(run.len());
            return self.letter(letter, out);
        }
        if !self.toggle(marker, run.len(), letter) {
            self.show(&run, out);
        }
        self.before = run.chars().last();
        self.text(letter, out);
    }

    /// Opens or closes what a run of markers means between two letters; false when it means nothing
    /// (CommonMark 0.31, 6.2, without the rule of three).
    fn toggle(&mut self, marker: char, count: usize, next: char) -> bool {
        let space_before = self.before.is_none_or(char::is_whitespace);
        let space_after = next.is_whitespace();
        let word_before = self.before.is_some_and(char::is_alphanumeric);
        let open = match (marker, count) {
            ('~', 2) => self.style.strike,
            ('~' | '\\', _) => return false,
            (_, 1) => self.style.italic,
            _ => self.style.bold,
        };
        let can = if open {
            !space_before && (marker != '_' || !next.is_alphanumeric())
        } else {
            !(space_after || marker == '_' && word_before)
        };
        if can {
            match (marker, count) {
                ('~', _) => self.style.strike = !open,
                (_, 1) => self.style.italic = !open,
                (_, 2) => self.style.bold = !open,
                _ => (self.style.bold, self.style.italic) = (!open, !open),
            }
        }
        can
    }

    fn link(&mut self, letter: char, out: &mut String) {
        if letter != '\n' {
            self.held.push(letter);
        }
        let opened = self.held.contains("](");
        let undecided = if opened {
            letter != ')'
        } else {
            letter != ']' || self.held.len() < 3
        };
        let waits_for_address = !opened && letter == ']';
        let goes_on = opened || !self.held[1..].contains(']') || waits_for_address;
        if letter != '\n'
            && goes_on
            && (undecided || waits_for_address)
            && self.held.len() < LINK_LETTERS
        {
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.place = Place::Text;
        match held
            .strip_prefix('[')
            .and_then(|link| link.strip_suffix(')'))
            .and_then(|link| link.split_once("]("))
        {
            Some((text, address)) => {
                self.inner(text, out);
                if text != address {
                    self.style.faint = true;
                    self.show(&format!(" ({address})"), out);
                    self.style.faint = false;
                }
            }
            None => self.inner(&held, out),
        }
        self.before = Some(')');
        if letter == '\n' {
            self.end_line(out);
        }
    }

    /// Shows a piece that was held with the markers in it, but no link.
    fn inner(&mut self, text: &str, out: &mut String) {
        self.in_link = true;
        text.chars().for_each(|letter| self.letter(letter, out));
        self.in_link = false;
        if let Place::Run(_) = self.place {
            let run = std::mem::take(&mut self.held);
            self.place = Place::Text;
            let marker = run.chars().next().unwrap_or(' ');
            if !self.toggle(marker, run.len(), ' ') {
                self.show(&run, out);
            }
        }
        if let Place::Code(_) = self.place {
            self.style.code = false;
            self.held.clear();
            self.place = Place::Text;
        }
    }

    fn code(&mut self, count: usize, letter: char, out: &mut String) {
        if letter == '`' {
            self.held.push(letter);
            return;
        }
        let run = std::mem::take(&mut self.held);
        if run.len() == count || letter == '\n' {
            self.style.code = false;
            self.place = Place::Text;
            self.before = Some('`');
            self.text(letter, out);
        } else {
            self.show(&run, out);
            self.show_letter(letter, out);
        }
    }

    fn fence(&mut self, marker: char, count: usize, letter: char, out: &mut String) {
        self.held.push(letter);
        if letter == '\n' {
            let line = std::mem::take(&mut self.held);
            let closing = line.trim();
            if closing.len() >= count && closing.chars().all(|each| each == marker) {
                self.place = Place::LineStart;
                return;
            }
            self.style.code = true;
            self.show(line.trim_end_matches('\n'), out);
            self.style.code = false;
            self.switch(out);
            out.push('\n');
        }
    }

    fn end_line(&mut self, out: &mut String) {
        self.style = Style::default();
        self.switch(out);
        out.push('\n');
        self.before = None;
        self.place = Place::LineStart;
    }

    fn show(&mut self, text: &str, out: &mut String) {
        if !text.is_empty() {
            self.switch(out);
            out.push_str(text);
        }
    }

    fn show_letter(&mut self, letter: char, out: &mut String) {
        self.switch(out);
        out.push(letter);
        self.before = Some(letter);
    }

    /// Brings the terminal to the wanted style (ECMA-48 SGR).
    fn switch(&mut self, out: &mut String) {
        if self.shown == self.style {
            return;
        }
        out.push_str("\x1b[0");
        let codes = [
            (self.style.bold || self.style.heading, ";1"),
            (self.style.faint, ";2"),
            (self.style.italic, ";3"),
            (self.style.heading, ";4"),
            (self.style.strike, ";9"),
            (self.style.code, ";36"),
        ];
        codes
            .iter()
            .filter(|(wanted, _)| *wanted)
            .for_each(|(_, code)| out.push_str(code));
        out.push('m');
        self.shown = self.style;
    }
}

/// Whether a letter may go to a terminal: no control characters but the line end and the tab, and
/// none of the marks that turn the direction of what follows.
pub fn visible(letter: char) -> bool {
    match letter {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => !letter.is_control(),
    }
}

/// What a line begins with.
#[derive(Debug, PartialEq)]
enum Kind {
    /// More letters are needed.
    Undecided,
    Plain,
    Heading,
    /// A bullet or a number, as it is shown.
    Item(String),
    /// A quote; what stands before its sign.
    Quote(String),
    Rule,
    /// A fence, with the language behind it.
    Fence(char, usize, String),
}

/// Looks at the beginning of a line, as far as it has come.
fn line_kind(held: &str) -> Kind {
    let rest = held.trim_start_matches([' ', '\t']);
    let indent = &held[..held.len() - rest.len()];
    let Some(first) = rest.chars().next() else {
        return Kind::Undecided;
    };
    let run = rest.len() - rest.trim_start_matches(first).len();
    let after = rest[run..].chars().next();
    match first {
        '\n' => Kind::Plain,
        '#' if run <= 6 => match after {
            None => Kind::Undecided,
            Some(' ') => Kind::Heading,
            Some(_) => Kind::Plain,
        },
        '>' => Kind::Quote(indent.to_owned()).when(rest.len() > 1),
        '`' | '~' if run >= 3 => match rest.strip_suffix('\n') {
            None => Kind::Undecided,
            Some(line) => Kind::Fence(first, run, line[run..].trim().to_owned()),
        },
        '`' | '~' => Kind::Plain.when(after.is_some()),
        '-' | '*' | '_' if run >= 3 => match after {
            None => Kind::Undecided,
            Some('\n') => Kind::Rule,
            Some(_) => Kind::Plain,
        },
        '-' | '*' | '+' if run == 1 && after == Some(' ') => Kind::Item(format!("{indent}• ")),
        '-' | '*' | '+' | '_' => Kind::Plain.when(after.is_some()),
        '0'..='9' => number_kind(indent, rest),
        _ => Kind::Plain,
    }
}

fn number_kind(indent: &str, rest: &str) -> Kind {
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let mut behind = rest[digits..].chars();
    match (behind.next(), behind.next()) {
        (None, _) | (Some('.' | ')'), None) if digits <= 9 => Kind::Undecided,
        (Some('.' | ')'), Some(' ')) if digits <= 9 => Kind::Item(format!("{indent}{rest}")),
        _ => Kind::Plain,
    }
}

impl Kind {
    fn when(self, decided: bool) -> Self {
        if decided { self } else { Self::Undecided }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Renders, and writes the codes as `<1>` so that a table can be read.
    fn render(text: &str) -> String {
        let mut renderer = Renderer::new();
        let mut out = String::new();
        renderer.push(text, &mut out);
        renderer.finish(&mut out);
        out.replace("\x1b[0m", "<>")
            .replace("\x1b[0;", "<")
            .replace('m', "ᵐ")
            .replace("ᵐ", "m")
    }

    #[test]
    fn what_is_shown() {
        let table = [
            ("plain text", "plain text"),
            ("two\nlines\n", "two\nlines\n"),
            ("a **bold** word", "a <1mbold<> word"),
            (
                "an *italic* and _another_",
                "an <3mitalic<> and <3manother<>",
            ),
            ("***both***", "<1;3mboth<>"),
            ("~~gone~~", "<9mgone<>"),
            ("`code` here", "<36mcode<> here"),
            ("``a ` b``", "<36ma ` b<>"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("snake_case_name", "snake_case_name"),
            ("a \\*star\\*", "a *star*"),
            ("C:\\new", "C:\\new"),
            ("# Title\ntext", "<1;4mTitle<>\ntext"),
            ("#hashtag", "#hashtag"),
            ("- one\n- two", "<2m• <>one\n<2m• <>two"),
            ("  * nested", "<2m  • <>nested"),
            ("1. first", "<2m1. <>first"),
            ("2026 was", "2026 was"),
            ("3.14 is pi", "3.14 is pi"),
            ("> quoted **b**", "<2m│ <>quoted <1mb<>"),
            (">> twice", "<2m│ │ <>twice"),
            ("---\n", "<2m────────<>\n"),
            ("**bold** at the start", "<1mbold<> at the start"),
            (
                "```rust\nlet a = \"**\";\n```\nafter",
                "<2mrust<>\n<36mlet a = \"**\";<>\nafter",
            ),
            ("```\nnever closed", "<36mnever closed<>"),
            ("[text](http://a.b) x", "text<2m (http://a.b)<> x"),
            ("[http://a.b](http://a.b)", "http://a.b"),
            ("[**bold** link](x)", "<1mbold<> link<2m (x)<>"),
            ("an [array] index", "an [array] index"),
            ("open [never closed\nnext", "open [never closed\nnext"),
            ("unclosed **bold\nnext", "unclosed <1mbold<>\nnext"),
            ("| a | b |\n|---|---|", "| a | b |\n|---|---|"),
            ("- [ ] task", "<2m• <>[ ] task"),
        ];
        for (text, expected) in table {
            assert_eq!(render(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_model_cannot_command_the_terminal() {
        let shown = render("a\x1b]0;title\x07b\u{9b}31mc\rd\u{202e}e");
        assert_eq!(shown, "a]0;titleb31mcde");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[-a_*`~#>.1 \\[\\]()\n\\\\]{0,60}", cut in 0usize..60) {
            let cut = text.char_indices().map(|(index, _)| index).nth(cut).unwrap_or(text.len());
            let mut renderer = Renderer::new();
            let mut out = String::new();
            renderer.push(&text[..cut], &mut out);
            renderer.push(&text[cut..], &mut out);
            renderer.finish(&mut out);
            prop_assert_eq!(out.replace("\x1b[0m", "<>").replace("\x1b[0;", "<"), render(&text));
        }

        #[test]
        fn letters_and_digits_are_never_lost(text in "[-a-z0-9_*`~#>. \\[\\]()\n\\\\]{0,80}") {
            let words = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
            let mut renderer = Renderer::new();
            let mut out = String::new();
            renderer.push(&text, &mut out);
            renderer.finish(&mut out);
            let mut plain = String::new();
            let mut codes = false;
            for letter in out.chars() {
                match letter {
                    '\x1b' => codes = true,
                    'm' if codes => codes = false,
                    _ if !codes => plain.push(letter),
                    _ => {}
                }
            }
            prop_assert_eq!(words(&plain), words(&text));
        }
    }
}
