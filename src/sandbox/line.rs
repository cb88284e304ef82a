//! The commands of a line of sh, for looking at them. PURE.

/// A simple command of a line: its words without quotes, the files that it writes to, and its text.
#[derive(Debug, Default)]
pub struct Part {
    /// The words, without quotes.
    pub words: Vec<String>,
    /// The files that it writes to.
    pub writes: Vec<String>,
    /// The text as it was written.
    pub text: String,
}

/// Words before a command that are not the command.
const KEYWORDS: &str = "if then else elif fi do done while until ! { } esac time";

/// Programs that run another.
const RUNNERS: &str = "env nice nohup command exec stdbuf timeout";

/// All words of a line without their quotes: those of commands, assignments, and files that are read.
pub fn words(line: &str) -> Vec<String> {
    commands(line).into_iter().flatten().collect()
}

/// The words of each command of a line, and then each word that is no command's by itself.
pub fn commands(line: &str) -> Vec<Vec<String>> {
    let (parts, others) = parts(line);
    let others = others.into_iter().map(|word| vec![word]);
    parts
        .into_iter()
        .map(|part| part.words)
        .chain(others)
        .collect()
}

/// The commands of a line, each as its words from the program on: without programs that run another, and their options.
pub fn programs(line: &str) -> Vec<Vec<String>> {
    let mut all: Vec<_> = parts(line).0.into_iter().map(|part| part.words).collect();
    for words in &mut all {
        // Such as `env A=1 nice -n 5`.
        let is_option = |word: &str| word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let is_before = |w: &String| is_one_of(w, RUNNERS) || is_option(w) || is_assignment(w);
        let at = words.iter().position(|word| !is_before(word));
        words.drain(..at.unwrap_or(words.len()));
    }
    all.retain(|words| !words.is_empty());
    all
}

/// The simple commands of a line of sh, also those in groups and substitutions, and the words that are no command's. This
/// is no shell: nothing is expanded, and in doubt it finds more commands than there are.
pub fn parts(line: &str) -> (Vec<Part>, Vec<String>) {
    let Splitter { found, others, .. } = parse(line);
    (found, others)
}

fn parse(line: &str) -> Splitter {
    let mut splitter = Splitter::default();
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        let length = splitter.step(char, rest).min(rest.len());
        splitter.command.text.push_str(&rest[..length]);
        rest = &rest[length..];
        if std::mem::take(&mut splitter.is_over) {
            splitter
                .command
                .text
                .truncate(splitter.command.text.len() - length);
            splitter.finish();
        }
    }
    splitter.finish();
    splitter
}

struct HereDocument {
    end: String,
    /// Whether substitutions run in it.
    substitutes: bool,
    /// Whether tabs may be before its end.
    is_indented: bool,
}

#[derive(Default)]
struct Splitter {
    command: Part,
    /// The word that is being read; empty quotes make one too.
    word: Option<String>,
    is_quoted: bool,
    /// The operator that the word follows, such as `>` or `<<`.
    redirection: String,
    /// Whether double quotes are open: in the line, and in each substitution around the place here.
    quotes: Vec<bool>,
    /// The here-documents whose bodies follow this line.
    here_documents: Vec<HereDocument>,
    is_over: bool,
    found: Vec<Part>,
    /// Words that are no command's: assignments, keywords, files that are read.
    others: Vec<String>,
}

impl Splitter {
    /// Reads what begins with a char, and gives its length in bytes.
    fn step(&mut self, char: char, rest: &str) -> usize {
        let in_quotes = self.quotes.last().is_some_and(|open| *open);
        let next = rest[char.len_utf8()..].chars().next();
        match char {
            // In backticks an escaped one opens another substitution.
            '\\' if next == Some('`') => {
                self.is_over = true;
                return 2;
            }
            // The line goes on.
            '\\' if next == Some('\n') => return 2,
            '\\' if !in_quotes || next.is_some_and(|next| "$\"\\".contains(next)) => {
                self.is_quoted = true;
                self.push(next);
                return 1 + next.map_or(0, char::len_utf8);
            }
            '\'' if !in_quotes => {
                let text = rest[1..].split('\'').next().unwrap_or_default();
                self.is_quoted = true;
                self.word.get_or_insert_default().push_str(text);
                return text.len() + 2;
            }
            '"' => {
                self.is_quoted = true;
                self.word.get_or_insert_default();
                match self.quotes.last_mut() {
                    Some(open) => *open = !in_quotes,
                    None => self.quotes.push(true),
                }
            }
            '$' | '<' | '>' if next == Some('(') && (char == '$' || !in_quotes) => {
                self.quotes.resize(self.quotes.len().max(1), false);
                self.quotes.push(false);
                self.is_over = true;
                return 2;
            }
            '`' => self.is_over = true,
            ')' if !in_quotes => {
                self.quotes.pop();
                self.is_over = true;
            }
            _ if in_quotes => self.push(Some(char)),
            '<' | '>' => {
                let operator: String = rest.chars().take_while(|c| "<>|&".contains(*c)).collect();
                // A number right before it is a descriptor.
                self.word
                    .take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
                self.end_word();
                let dash = usize::from(operator == "<<" && rest[2..].starts_with('-'));
                self.redirection = rest[..operator.len() + dash].to_owned();
                return operator.len() + dash;
            }
            '&' if next == Some('>') => self.end_word(),
            '(' => {
                self.quotes.resize(self.quotes.len().max(1), false);
                self.quotes.push(false);
                self.is_over = true;
            }
            ';' | '|' | '&' => self.is_over = true,
            '\n' => {
                self.end_word();
                self.is_over = true;
                return 1 + self.body_length(&rest[1..]);
            }
            ' ' | '\t' => self.end_word(),
            '#' if self.word.is_none() => return rest.find('\n').unwrap_or(rest.len()),
            _ => self.push(Some(char)),
        }
        char.len_utf8()
    }

    fn push(&mut self, char: Option<char>) {
        self.word.get_or_insert_default().extend(char);
    }

    fn end_word(&mut self) {
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let redirection = std::mem::take(&mut self.redirection);
        let Some(word) = self.word.take() else {
            self.redirection = redirection;
            return;
        };
        let is_keyword = !is_quoted && is_one_of(&word, KEYWORDS);
        let is_prefix = word.is_empty() || is_assignment(&word) || is_keyword;
        match redirection.as_str() {
            "" if self.command.words.is_empty() && is_prefix => self.others.push(word),
            "" => self.command.words.push(word),
            "<<" | "<<-" => self.here_documents.push(HereDocument {
                end: word,
                substitutes: !is_quoted,
                is_indented: redirection == "<<-",
            }),
            other if other.contains('>') => self.command.writes.push(word),
            _ => self.others.push(word),
        }
    }

    fn finish(&mut self) {
        self.end_word();
        self.redirection.clear();
        let mut command = std::mem::take(&mut self.command);
        command.text = command.text.trim().to_owned();
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.found.push(command);
        }
    }

    /// The length of the bodies of here-documents; none where something is substituted in one, which runs.
    fn body_length(&mut self, rest: &str) -> usize {
        let (mut length, mut runs) = (0, false);
        for document in std::mem::take(&mut self.here_documents) {
            let begin = length;
            for line in rest[begin..].split_inclusive('\n') {
                length += line.len();
                let line = line.trim_end_matches('\n');
                let indent = if document.is_indented { "\t" } else { "" };
                if line.trim_start_matches(|char| indent.contains(char)) == document.end {
                    break;
                }
            }
            let body = &rest[begin..length];
            runs |= document.substitutes && (body.contains("$(") || body.contains('`'));
        }
        if runs { 0 } else { length }
    }
}

fn is_assignment(word: &str) -> bool {
    let (name, _) = word.split_once('=').unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_name)
}

/// Whether a word is one of those in a text.
pub fn is_one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_its_programs() {
        let read = |line: &str| {
            let all = programs(line);
            all.iter().map(|words| words.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(
            read("A=1 env B=2 nice -n 5 ps aux|grep 'a;b' && echo $(who -b) > x"),
            ["ps aux", "grep a;b", "echo", "who -b"]
        );
        assert_eq!(read("  "), [""; 0]);
        assert_eq!(read("env"), [""; 0]);
    }
}
