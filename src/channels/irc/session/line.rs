//! Lines of the protocol, read and written. Pure. <https://modern.ircdocs.horse/#message-format>,
//! <https://ircv3.net/specs/extensions/message-tags>

/// Tags of a line that are read.
const TAGS: usize = 64;
/// Parameters of a line (RFC 1459, 2.3).
const PARAMETERS: usize = 15;

/// A line that came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its tags, unescaped.
    pub tags: Vec<(String, String)>,
    /// Who sent it; empty for the server at the other end.
    pub source: Source,
    /// The command in upper case, or a number of three digits.
    pub command: String,
    /// Its parameters.
    pub parameters: Vec<String>,
}

/// Who sends something: a person, or a server, whose name is the nick then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The nick.
    pub nick: String,
    /// The user name.
    pub user: String,
    /// The host.
    pub host: String,
}

impl Source {
    fn parse(text: &str) -> Self {
        let (rest, host) = text.split_once('@').unwrap_or((text, ""));
        let (nick, user) = rest.split_once('!').unwrap_or((rest, ""));
        Self {
            nick: nick.to_owned(),
            user: user.to_owned(),
            host: host.to_owned(),
        }
    }

    /// All of it, as `nick!user@host`.
    pub fn mask(&self) -> String {
        format!("{}!{}@{}", self.nick, self.user, self.host)
    }

    /// Whether it is a person as servers show one.
    pub fn is_person(&self) -> bool {
        ![&self.nick, &self.user, &self.host]
            .iter()
            .any(|part| part.is_empty())
    }
}

impl Line {
    /// Reads a line without its newline; `None` for one that is empty or no line. What is no UTF-8 is replaced.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.trim_matches(['\r', '\n', ' ']);
        let mut line = Self::default();
        if let Some(tagged) = rest.strip_prefix('@') {
            let (tags, after) = tagged.split_once(' ')?;
            line.tags = tags.split(';').take(TAGS).filter_map(tag).collect();
            rest = after.trim_start_matches(' ');
        }
        if let Some(sourced) = rest.strip_prefix(':') {
            let (source, after) = sourced.split_once(' ')?;
            line.source = Source::parse(source);
            rest = after.trim_start_matches(' ');
        }
        let (command, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if command.is_empty() || !command.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        line.command = command.to_ascii_uppercase();
        loop {
            rest = rest.trim_start_matches(' ');
            if let Some(trailing) = rest.strip_prefix(':') {
                line.parameters.push(trailing.to_owned());
                break;
            }
            if rest.is_empty() {
                break;
            }
            if line.parameters.len() + 1 == PARAMETERS {
                line.parameters.push(rest.to_owned());
                break;
            }
            let (parameter, after) = rest.split_once(' ').unwrap_or((rest, ""));
            line.parameters.push(parameter.to_owned());
            rest = after;
        }
        Some(line)
    }

    /// A parameter; empty if there are fewer.
    pub fn parameter(&self, at: usize) -> &str {
        self.parameters.get(at).map_or("", String::as_str)
    }

    /// The last parameter.
    pub fn last(&self) -> &str {
        self.parameters.last().map_or("", String::as_str)
    }

    /// The value of a tag; `None` where it is missing or empty.
    pub fn tag(&self, name: &str) -> Option<&str> {
        let mut tags = self.tags.iter().rev();
        let (_, value) = tags.find(|(key, _)| key == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// The number of a reply.
    pub fn number(&self) -> Option<u16> {
        (self.command.len() == 3).then(|| self.command.parse().ok())?
    }
}

/// One tag, `key=value`.
fn tag(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    (!key.is_empty()).then(|| (key.to_owned(), unescape(value)))
}

fn unescape(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match char {
            // One alone at the end is dropped.
            '\\' => plain.extend(chars.next().map(|char| match char {
                ':' => ';',
                's' => ' ',
                'r' => '\r',
                'n' => '\n',
                char => char,
            })),
            char => plain.push(char),
        }
    }
    plain
}

/// A line to be sent, without its newline: a command, parameters that are words, and a last one that may be anything.
///
/// Whatever the parameters contain, it is one line with this command: what would end a line or a word is taken out.
pub fn write(command: &str, words: &[&str], last: Option<&str>) -> String {
    let mut line = command.to_owned();
    for word in words {
        line.push(' ');
        let is_kept = |char: &char| *char > ' ' && *char != '\u{7f}';
        let word: String = word.chars().filter(is_kept).collect();
        match word.trim_start_matches(':') {
            // A word cannot be missing: the next one would take its place.
            "" => line.push('*'),
            word => line.push_str(word),
        }
    }
    if let Some(last) = last {
        line.push_str(" :");
        line.extend(last.chars().filter(|char| !"\r\n\0".contains(*char)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Line {
        Line::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn tags_source_command_and_parameters_are_told_apart() {
        let line = parse(
            "@time=2026-11-24T10:00:00.000Z;account=ana;+x :ana!~a@h.org PRIVMSG #crab :hi : there\r\n",
        );
        assert_eq!(line.tag("account"), Some("ana"));
        assert_eq!(line.tag("+x"), None);
        assert_eq!(line.source.mask(), "ana!~a@h.org");
        assert_eq!(
            (line.command.as_str(), line.parameter(0), line.last()),
            ("PRIVMSG", "#crab", "hi : there")
        );
        let line = parse(":irc.example.org 005 crab  NICKLEN=30 NETWORK=Ex :are supported");
        assert_eq!(line.number(), Some(5));
        assert_eq!(
            line.parameters,
            ["crab", "NICKLEN=30", "NETWORK=Ex", "are supported"]
        );
        assert!(!line.source.is_person());
        assert_eq!(parse("ping x").command, "PING");
        assert_eq!(parse("PING :").parameters, [""]);
        assert_eq!(parse("@a=b\\s\\:\\\\c\\ X").tag("a"), Some("b ;\\c"));
        for text in [
            "", "\r\n", "@tags", "@tags ", ":source", ":source ", "@a :b", "=!",
        ] {
            assert_eq!(Line::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(
            Line::parse(b":a!b@c PRIVMSG crab :caf\xe9").unwrap().last(),
            "caf\u{fffd}"
        );
    }

    #[test]
    fn there_is_a_bound_for_parameters() {
        let line = parse(&format!("X {}", "a ".repeat(40)));
        assert_eq!(line.parameters.len(), PARAMETERS);
        assert!(line.last().starts_with("a a a"));
    }

    #[test]
    fn nothing_that_is_sent_has_a_second_command() {
        let text = "hi\r\nQUIT :bye\0";
        assert_eq!(
            write("PRIVMSG", &["ana\r\nQUIT"], Some(text)),
            "PRIVMSG anaQUIT :hiQUIT :bye"
        );
        assert_eq!(write("JOIN", &[":#a b", ""], None), "JOIN #ab *");
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(line) = Line::parse(&bytes) {
                prop_assert!(line.parameters.len() <= PARAMETERS && line.tags.len() <= TAGS);
            }
        }

        #[test]
        fn what_is_written_is_read_the_same(target in "[!-9;-~]{1,20}", text in any::<String>()) {
            let written = write("PRIVMSG", &[&target], Some(&text));
            prop_assert!(!written.contains(['\r', '\n', '\0']));
            let line = parse(&written);
            let expected: String = text.chars().filter(|char| !"\r\n\0".contains(*char)).collect();
            prop_assert_eq!(line.command.as_str(), "PRIVMSG");
            prop_assert_eq!(line.parameter(0), target.as_str());
            prop_assert_eq!(line.last(), expected.trim_end_matches(' '));
        }
    }
}
