//! The front matter of a SKILL.md: the part of YAML that such files use, read without ever failing. What
//! cannot be read is a fault with its line, and the rest counts.

mod flow;
use super::FAULTS;

/// Levels of lists and maps in front matter; OpenClaw's have five.
const LEVELS: usize = 16;

/// Lines of front matter; a long one has 60.
const LINES: usize = 2000;

/// A value of front matter. Numbers and booleans are strings too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string; empty where nothing is given.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map, in the order of the file.
    Map(Vec<Member>),
}

/// A key of a map and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key.
    pub key: String,
    /// The line of the key in the file, from 1.
    pub line: usize,
    /// The value.
    pub value: Value,
}

impl Value {
    /// The last member of a map with this key.
    pub fn get(&self, key: &str) -> Option<&Member> {
        match self {
            Self::Map(members) => members.iter().rfind(|member| member.key == key),
            _ => None,
        }
    }
}

/// Something that is wrong with a SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1; 0 when it is about the whole skill.
    pub line: usize,
    /// What is wrong, as a sentence without its period.
    pub text: String,
}

/// A SKILL.md in its two parts.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The front matter: a map, which is empty when there is none.
    pub front: Value,
    /// What follows it.
    pub body: &'a str,
    /// What is wrong with the front matter.
    pub faults: Vec<Fault>,
}

/// Reads a SKILL.md.
pub fn parse(text: &str) -> Document<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (above, rest) = skip_preface(text);
    let opening = rest.lines().next().unwrap_or_default();
    if opening.trim_end() != "---" {
        return Document {
            front: Value::Map(Vec::new()),
            body: text,
            faults: vec![fault(
                1,
                "there is no front matter: the first line must be ---",
            )],
        };
    }
    let first = above.matches('\n').count() + 2;
    let inside = rest.get(opening.len()..).unwrap_or_default();
    let inside = inside.strip_prefix('\r').unwrap_or(inside);
    let inside = inside.strip_prefix('\n').unwrap_or(inside);
    let (front, body, is_closed) = split(inside);
    let mut reader = Reader::new(front, first);
    if first > 2 {
        reader.note(1, "front matter should begin in the first line");
    }
    if !is_closed {
        reader.note(first - 1, "the front matter has no closing ---");
    }
    let mut value = reader.root();
    if let Some(next) = reader.peek() {
        let line = reader.number(next);
        reader.note(line, "this line and what follows cannot be read");
    }
    if !matches!(value, Value::Map(_)) {
        reader.note(
            first,
            "the front matter must consist of lines such as `name: value`",
        );
        value = Value::Map(Vec::new());
    }
    Document {
        front: value,
        body,
        faults: reader.faults,
    }
}

/// Reads one value, such as JSON within a string. `None` when it is not a list or a map.
pub fn parse_value(text: &str) -> Option<Value> {
    let mut reader = Reader::new(text, 1);
    let value = reader.node(-1, 0);
    Some(value).filter(|value| !matches!(value, Value::Text(_)))
}

fn fault(line: usize, text: &str) -> Fault {
    Fault {
        line,
        text: text.to_owned(),
    }
}

/// Blank lines and comments of HTML that some files have above their front matter, and the rest.
fn skip_preface(text: &str) -> (&str, &str) {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let comment = rest
            .strip_prefix("<!--")
            .and_then(|rest| rest.split_once("-->"));
        match comment {
            Some((_, behind)) => rest = behind,
            None => return text.split_at(text.len() - rest.len()),
        }
    }
}

/// The front matter, the body, and whether there is a closing line between them. Without one the front
/// matter ends before the first heading or blank line.
fn split(text: &str) -> (&str, &str, bool) {
    let mut at = 0;
    let mut gap = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        let behind = at + line.len();
        if trimmed == "---" || trimmed == "..." {
            return (slice(text, 0, at), slice(text, behind, text.len()), true);
        }
        if gap.is_none() && (trimmed.is_empty() || trimmed.starts_with("# ")) {
            gap = Some(at);
        }
        at = behind;
    }
    let end = gap.unwrap_or(text.len());
    (slice(text, 0, end), slice(text, end, text.len()), false)
}

fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

/// A line of front matter.
struct Line {
    /// Columns before its content, a tab counting as two. For a line of a list, this becomes the column
    /// of the item.
    indent: usize,
    /// Where its content begins, in bytes.
    at: usize,
    /// Where it ends, in bytes, without blanks.
    end: usize,
}

struct Reader<'a> {
    text: &'a str,
    lines: Vec<Line>,
    /// The line that is read next.
    next: usize,
    /// The number of the first line in the file.
    first: usize,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, first: usize) -> Self {
        let mut reader = Self {
            text,
            lines: Vec::new(),
            next: 0,
            first,
            faults: Vec::new(),
        };
        let mut at = 0;
        let mut has_tabs = None;
        for (index, raw) in text.split_inclusive('\n').enumerate() {
            if index == LINES {
                reader.note(
                    first + index,
                    &format!("only {LINES} lines of front matter are read"),
                );
                reader.text = slice(text, 0, at);
                break;
            }
            let content = raw.trim_start_matches([' ', '\t']);
            let blanks = slice(raw, 0, raw.len() - content.len());
            let tabs = blanks.matches('\t').count();
            if tabs > 0 && has_tabs.is_none() && !content.trim_end().is_empty() {
                has_tabs = Some(first + index);
            }
            let start = at + blanks.len();
            reader.lines.push(Line {
                indent: blanks.len() + tabs,
                at: start,
                end: start + content.trim_end().len(),
            });
            at += raw.len();
        }
        if let Some(line) = has_tabs {
            reader.note(line, "indent with spaces, not with tabs");
        }
        reader
    }

    fn note(&mut self, line: usize, text: &str) {
        if self.faults.len() < FAULTS {
            self.faults.push(fault(line, text));
        }
    }

    /// The number of a line in the file.
    fn number(&self, index: usize) -> usize {
        self.first + index
    }

    fn content(&self, index: usize) -> &'a str {
        let line = self.lines.get(index);
        line.map_or("", |line| slice(self.text, line.at, line.end))
    }

    fn indent(&self, index: usize) -> isize {
        let line = self.lines.get(index);
        line.map_or(-1, |line| {
            isize::try_from(line.indent).unwrap_or(isize::MAX)
        })
    }

    /// The next line that is neither blank nor a comment.
    fn peek(&mut self) -> Option<usize> {
        while self.next < self.lines.len() {
            let content = self.content(self.next);
            if !content.is_empty() && !content.starts_with('#') {
                return Some(self.next);
            }
            self.next += 1;
        }
        None
    }

    /// All of it: a map of lines, unless it begins otherwise.
    fn root(&mut self) -> Value {
        match self.peek() {
            Some(index)
                if !is_item(self.content(index)) && !self.content(index).starts_with('{') =>
            {
                self.map(self.indent(index), 0)
            }
            _ => self.node(-1, 0),
        }
    }

    /// The value that begins in the next line, which is indented by more than `parent`.
    fn node(&mut self, parent: isize, level: usize) -> Value {
        let Some(index) = self.peek().filter(|index| self.indent(*index) > parent) else {
            return Value::Text(String::new());
        };
        let content = self.content(index);
        if level > LEVELS {
            self.note(self.number(index), "this is nested too deeply");
            self.pass(parent);
            Value::Text(String::new())
        } else if is_item(content) {
            self.list(self.indent(index), level)
        } else if key_of(content).is_some() {
            self.map(self.indent(index), level)
        } else {
            self.value(parent, level)
        }
    }

    /// Passes over the lines that are indented by more than `parent`.
    fn pass(&mut self, parent: isize) {
        while self.peek().is_some_and(|index| self.indent(index) > parent) {
            self.next += 1;
        }
    }

    fn list(&mut self, indent: isize, level: usize) -> Value {
        let mut items = Vec::new();
        while let Some(index) = self.peek() {
            let content = self.content(index);
            if self.indent(index) != indent || !is_item(content) {
                break;
            }
            let rest = content.get(1..).unwrap_or_default().trim_start();
            if rest.is_empty() || rest.starts_with('#') {
                self.next += 1;
            } else if let Some(line) = self.lines.get_mut(index) {
                // What is behind the dash is a line of its own, further in.
                let width = content.len() - rest.len();
                line.at += width;
                line.indent += width;
            }
            items.push(self.node(indent, level + 1));
        }
        Value::List(items)
    }

    fn map(&mut self, indent: isize, level: usize) -> Value {
        let mut members: Vec<Member> = Vec::new();
        while let Some(index) = self.peek() {
            let (content, line) = (self.content(index), self.number(index));
            if self.indent(index) < indent {
                break;
            }
            let found = Some(content).filter(|_| self.indent(index) == indent);
            let Some((key, rest)) = found.and_then(|content| self.key(content, line)) else {
                self.note(
                    line,
                    "expected `key: value` at the indentation of the line above",
                );
                self.next += 1;
                continue;
            };
            if members.iter().any(|member| member.key == key) {
                self.note(line, &format!("{key} is given twice; the last one counts"));
                members.retain(|member| member.key != key);
            }
            let value = self.behind(index, content.len() - rest.len(), indent, level);
            members.push(Member { key, line, value });
        }
        Value::Map(members)
    }

    /// The key of a line and what is behind its colon. A missing space is a fault only.
    fn key<'t>(&mut self, content: &'t str, line: usize) -> Option<(String, &'t str)> {
        key_of(content).or_else(|| {
            let (key, rest) = content
                .split_once(':')
                .filter(|(key, _)| is_plain_key(key))?;
            self.note(line, &format!("a space is missing after `{key}:`"));
            Some((key.to_owned(), rest))
        })
    }

    /// The value of a key: in its line, from `offset` on, or in the lines below.
    fn behind(&mut self, index: usize, offset: usize, indent: isize, level: usize) -> Value {
        let content = self.content(index);
        let mut rest = content.get(offset..).unwrap_or_default().trim_start();
        // A tag or an anchor says nothing that matters here.
        while rest.starts_with(['!', '&']) {
            rest = rest
                .split_once(char::is_whitespace)
                .map_or("", |(_, rest)| rest.trim_start());
        }
        if !rest.is_empty() && !rest.starts_with('#') {
            if let Some(line) = self.lines.get_mut(index) {
                line.at = line.end - rest.len();
            }
            return self.value(indent, level);
        }
        self.next = index + 1;
        let Some(below) = self.peek() else {
            return Value::Text(String::new());
        };
        let is_beside = self.indent(below) == indent;
        match self.content(below) {
            content if is_beside && is_item(content) => self.list(indent, level + 1),
            content if is_beside && content.starts_with(['{', '[']) => self.value(indent, level),
            _ => self.node(indent, level + 1),
        }
    }

    /// The value that begins at the content of the next line and is neither a list nor a map of lines.
    fn value(&mut self, parent: isize, level: usize) -> Value {
        let content = self.content(self.next);
        match content.chars().next() {
            Some('|' | '>') if is_block_header(content) => Value::Text(self.block(parent)),
            Some('{' | '[' | '"' | '\'') => self.flow_value(parent, level),
            _ => Value::Text(self.plain(parent)),
        }
    }

    /// A string without quotes, which goes on in lines that are indented further.
    fn plain(&mut self, parent: isize) -> String {
        let line = self.number(self.next);
        let mut text = without_comment(self.content(self.next)).to_owned();
        if text.contains(": ") || text.ends_with(':') {
            self.note(line, "put the value in quotes, because it contains a colon");
        }
        self.next += 1;
        let mut breaks = 0;
        while self.next < self.lines.len() {
            let content = self.content(self.next);
            if content.is_empty() {
                breaks += 1;
            } else if self.indent(self.next) <= parent || content.starts_with('#') {
                break;
            } else {
                text.push_str(if breaks > 0 { "\n" } else { " " });
                text.push_str(without_comment(content));
                breaks = 0;
            }
            self.next += 1;
        }
        match text.as_str() {
            "~" | "null" => String::new(),
            _ => text,
        }
    }

    /// A string of whole lines: `|` keeps the newlines, `>` joins the lines.
    fn block(&mut self, parent: isize) -> String {
        let is_folded = self.content(self.next).starts_with('>');
        self.next += 1;
        let mut text = String::new();
        let (mut inset, mut breaks, mut joins) = (None, 0, false);
        while self.next < self.lines.len() {
            let content = self.content(self.next);
            let indent = self.indent(self.next);
            if content.is_empty() {
                breaks += 1;
            } else if indent <= parent {
                break;
            } else {
                let further = indent - *inset.get_or_insert(indent);
                if !text.is_empty() {
                    match is_folded && breaks == 0 && joins && further <= 0 {
                        true => text.push(' '),
                        false if is_folded && breaks > 0 => text.push_str(&"\n".repeat(breaks)),
                        false => text.push_str(&"\n".repeat(breaks + 1)),
                    }
                }
                text.extend(std::iter::repeat_n(' ', further.max(0).unsigned_abs()));
                text.push_str(content);
                (breaks, joins) = (0, further <= 0);
            }
            self.next += 1;
        }
        text
    }
}

/// Whether a line is an item of a list.
fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ") || content.starts_with("-\t")
}

/// Whether this is `|` or `>`, perhaps with signs that say how the string ends.
fn is_block_header(content: &str) -> bool {
    let signs = without_comment(content).get(1..).unwrap_or_default();
    signs.len() <= 2
        && signs
            .chars()
            .all(|char| char.is_ascii_digit() || "+-".contains(char))
}

/// The key of a line, and what is behind its colon; `None` when the line does not begin with a key.
fn key_of(content: &str) -> Option<(String, &str)> {
    let quote = content
        .chars()
        .next()
        .filter(|char| matches!(char, '"' | '\''));
    let (key, rest) = match quote {
        Some(quote) => {
            let (key, rest) = content.get(1..)?.split_once(quote)?;
            (key, rest.trim_start().strip_prefix(':')?)
        }
        None => {
            let (key, rest) = content.split_once(':')?;
            (Some(key.trim_end()).filter(|key| is_plain_key(key))?, rest)
        }
    };
    let is_apart = rest.is_empty() || rest.starts_with([' ', '\t']);
    is_apart.then(|| (key.to_owned(), rest))
}

fn is_plain_key(key: &str) -> bool {
    let is_fine = |char: char| char.is_alphanumeric() || "_-./$@".contains(char);
    !key.is_empty() && key.chars().all(is_fine)
}

/// A line of a plain string without the comment behind it.
fn without_comment(content: &str) -> &str {
    let comment = content.find(" #").or_else(|| content.find("\t#"));
    comment
        .map_or(content, |at| slice(content, 0, at))
        .trim_end()
}

#[cfg(test)]
mod tests;
