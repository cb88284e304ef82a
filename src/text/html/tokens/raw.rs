//! Elements whose content has no tags but their own end: scripts, styles, titles (HTML, sections 13.2.5.2 to 13.2.5.31).

use super::{Sink, ends_name};

/// The element that is open.
#[derive(Debug)]
pub(super) struct Raw {
    name: &'static str,
    /// What may be its end tag, from the `<`.
    close: String,
    script: Option<Script>,
}

/// A place in a script. `<!-- <script>` in it hides one `</script>`.
#[derive(Debug, Default)]
struct Script {
    level: Level,
    /// Hyphens up to here.
    dashes: u8,
    /// The tag that is being read, without its `<`.
    word: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Level {
    #[default]
    Script,
    /// Within `<!--`.
    Escaped,
    /// Within another `<script>` there.
    Double,
}

/// The elements, the two with references to characters first.
const ELEMENTS: [&str; 9] = [
    "title", "textarea", "script", "style", "xmp", "iframe", "noembed", "noframes", "noscript",
];

impl Raw {
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = ELEMENTS.into_iter().find(|known| *known == name)?;
        Some(Self {
            name,
            close: String::new(),
            script: (name == "script").then(Script::default),
        })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn has_references(&self) -> bool {
        self.close.is_empty() && matches!(self.name, "title" | "textarea")
    }

    /// Whether the end tag's name is complete with this character behind it.
    pub(super) fn is_end(&self, char: char) -> bool {
        let name = self.close.strip_prefix("</");
        ends_name(char) && name.is_some_and(|name| name.eq_ignore_ascii_case(self.name))
    }

    pub(super) fn push(&mut self, char: char, sink: &mut impl Sink) {
        if let Some(script) = &mut self.script {
            script.push(char);
            if script.level == Level::Double {
                self.flush(sink);
                sink.text(char);
                return;
            }
        }
        let mut wanted = "</".chars().chain(self.name.chars());
        if wanted.nth(self.close.chars().count()) == Some(char.to_ascii_lowercase()) {
            self.close.push(char);
            return;
        }
        self.flush(sink);
        match char {
            '<' => self.close.push(char),
            _ => sink.text(char),
        }
    }

    pub(super) fn finish(mut self, sink: &mut impl Sink) {
        self.flush(sink);
    }

    fn flush(&mut self, sink: &mut impl Sink) {
        self.close.drain(..).for_each(|char| sink.text(char));
    }
}

impl Script {
    fn push(&mut self, char: char) {
        let dashes = std::mem::take(&mut self.dashes);
        if char == '<' {
            self.word = Some(String::new());
            return;
        }
        if let Some(word) = &mut self.word {
            if self.level == Level::Script {
                word.push(char);
                match word.as_str() {
                    "!--" => {
                        (self.level, self.dashes, self.word) = (Level::Escaped, 2, None);
                    }
                    word if "!--".starts_with(word) => {}
                    _ => self.word = None,
                }
                return;
            }
            let is_slash = char == '/' && word.is_empty() && self.level == Level::Double;
            if (char.is_ascii_alphabetic() || is_slash) && word.len() < "/script".len() + 1 {
                word.push(char.to_ascii_lowercase());
                return;
            }
            let word = self.word.take().unwrap_or_default();
            match (self.level, word.as_str()) {
                (Level::Escaped, "script") if ends_name(char) => self.level = Level::Double,
                (Level::Double, "/script") if ends_name(char) => self.level = Level::Escaped,
                _ => {}
            }
        }
        match char {
            '-' if self.level != Level::Script => self.dashes = (dashes + 1).min(2),
            '>' if dashes == 2 => self.level = Level::Script,
            _ => {}
        }
    }
}
