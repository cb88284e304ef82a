//! Telegram's HTML: what the server refuses, and what its documentation forbids though the server
//! lets it pass. <https://core.telegram.org/bots/api#html-style>

use serde_json::{Value, json};

use super::utf16_length;

/// The visible part of a text in HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Rendered {
    /// The text without its tags.
    pub text: String,
    /// Its formatted parts, as `MessageEntity`.
    pub entities: Vec<Value>,
    /// What the documentation forbids.
    pub breaches: Vec<String>,
}

/// Removes the tags. The error is the server's.
pub(in super::super) fn render(html: &str) -> Result<Rendered, String> {
    let mut renderer = Renderer {
        html,
        at: 0,
        open: Vec::new(),
        rendered: Rendered::default(),
    };
    while renderer.at < html.len() {
        renderer.step()?;
    }
    match renderer.open.pop() {
        Some(tag) => Err(format!(
            "Can't find end tag corresponding to start tag \"{}\"",
            tag.name
        )),
        None => Ok(renderer.rendered),
    }
}

struct Renderer<'a> {
    html: &'a str,
    at: usize,
    open: Vec<Tag>,
    rendered: Rendered,
}

struct Tag {
    name: String,
    kind: Kind,
    /// Where it begins, in UTF-16 units.
    begins: usize,
    /// The address of a link, or the language of code.
    value: String,
}

/// Which tags may contain which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Bold and the like.
    Style,
    Link,
    Code,
    Pre,
    Quote,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "b" | "strong" | "i" | "em" | "u" | "ins" | "s" | "strike" | "del" | "tg-spoiler"
            | "span" => Self::Style,
            "a" => Self::Link,
            "code" => Self::Code,
            "pre" => Self::Pre,
            "blockquote" => Self::Quote,
            _ => return None,
        })
    }

    fn may_stand_within(self, outer: Self) -> bool {
        match (outer, self) {
            (Self::Pre, Self::Code) => true,
            (Self::Pre | Self::Code, _) | (Self::Link, Self::Link) | (_, Self::Quote) => false,
            (Self::Style | Self::Link, Self::Pre | Self::Code) => false,
            (Self::Style | Self::Link | Self::Quote, _) => true,
        }
    }
}

impl<'a> Renderer<'a> {
    /// Reads one tag, one reference or one character.
    fn step(&mut self) -> Result<(), String> {
        let rest = &self.html[self.at..];
        if let Some(tag) = rest.strip_prefix("</") {
            return self.close(tag);
        }
        if let Some(tag) = rest.strip_prefix('<') {
            return self.start(tag);
        }
        if let Some((character, length)) = reference(rest) {
            self.rendered.text.push(character);
            self.at += length;
            return Ok(());
        }
        if let Some(character) = rest.chars().next() {
            if matches!(character, '&' | '>') {
                self.breach(format!("a bare {character}"));
            }
            self.rendered.text.push(character);
            self.at += character.len_utf8();
        }
        Ok(())
    }

    /// Reads a start tag, from behind its `<`.
    fn start(&mut self, rest: &'a str) -> Result<(), String> {
        let at = format!("at byte offset {}", self.at);
        let inside = until_end(rest).ok_or_else(|| format!("Unclosed start tag {at}"))?;
        let (name, attribute) = match inside.split_once(char::is_whitespace) {
            Some((name, attribute)) => (name.to_lowercase(), attribute.trim()),
            None => (inside.to_lowercase(), ""),
        };
        let Some(kind) = Kind::of(&name) else {
            return Err(format!("Unsupported start tag \"{name}\" {at}"));
        };
        if !self.takes(&name, attribute) {
            return Err(format!("the tag \"{name}\" {at} takes no {attribute:?}"));
        }
        let outer = self
            .open
            .iter()
            .find(|outer| !kind.may_stand_within(outer.kind));
        if let Some(outer) = outer {
            self.breach(format!("<{name}> within <{}>", outer.name));
        }
        self.at += "<>".len() + inside.len();
        let value = attribute.split('"').nth(1).unwrap_or_default();
        self.open.push(Tag {
            name,
            kind,
            begins: utf16_length(&self.rendered.text),
            value: value.replace("&amp;", "&"),
        });
        Ok(())
    }

    /// Reads an end tag, from behind its `</`.
    fn close(&mut self, rest: &'a str) -> Result<(), String> {
        let at = format!("at byte offset {}", self.at);
        let inside = until_end(rest).ok_or_else(|| format!("Unclosed end tag {at}"))?;
        let name = inside.trim_end().to_lowercase();
        let Some(tag) = self.open.pop() else {
            return Err(format!("Unexpected end tag {at}"));
        };
        if name != tag.name {
            let expected = tag.name;
            return Err(format!(
                "Unmatched end tag {at}, expected \"</{expected}>\", found \"</{name}>\""
            ));
        }
        self.at += "</>".len() + inside.len();
        let length = utf16_length(&self.rendered.text) - tag.begins;
        if length > 0 && (tag.name != "code" || tag.value.is_empty()) {
            self.rendered.entities.push(tag.entity(length));
        }
        Ok(())
    }

    /// Whether a tag may have this between its name and its end.
    fn takes(&self, name: &str, attribute: &str) -> bool {
        let value = |wanted: &str| {
            let quoted = attribute.strip_prefix(wanted)?.strip_prefix("=\"")?;
            quoted
                .strip_suffix('"')
                .filter(|value| !value.contains('"'))
        };
        match name {
            "a" => value("href").is_some_and(|target| !target.is_empty()),
            "span" => value("class") == Some("tg-spoiler"),
            "blockquote" => matches!(attribute, "" | "expandable"),
            "code"
                if self
                    .open
                    .last()
                    .is_some_and(|outer| outer.kind == Kind::Pre) =>
            {
                let language = value("class").and_then(|class| class.strip_prefix("language-"));
                attribute.is_empty() || language.is_some_and(|language| !language.is_empty())
            }
            _ => attribute.is_empty(),
        }
    }

    fn breach(&mut self, breach: String) {
        self.rendered.breaches.push(breach);
    }
}

impl Tag {
    /// The part of the text that it formats.
    fn entity(&self, length: usize) -> Value {
        let kind = match (self.kind, self.name.as_str()) {
            (Kind::Link, _) => "text_link",
            (Kind::Code, _) => "code",
            (Kind::Pre, _) => "pre",
            (Kind::Quote, _) => "blockquote",
            (Kind::Style, "b" | "strong") => "bold",
            (Kind::Style, "i" | "em") => "italic",
            (Kind::Style, "u" | "ins") => "underline",
            (Kind::Style, "s" | "strike" | "del") => "strikethrough",
            (Kind::Style, _) => "spoiler",
        };
        let mut entity = json!({"type": kind, "offset": self.begins, "length": length});
        if self.kind == Kind::Link {
            entity["url"] = json!(self.value);
        }
        entity
    }
}

/// The inside of a tag up to its `>`; one within quotes does not count.
fn until_end(rest: &str) -> Option<&str> {
    let mut quoted = false;
    let end = rest.find(|character| {
        quoted ^= character == '"';
        character == '>' && !quoted
    })?;
    Some(&rest[..end])
}

/// The character that a reference such as `&lt;` stands for, and the reference's length.
fn reference(rest: &str) -> Option<(char, usize)> {
    let (name, _) = rest.strip_prefix('&')?.split_once(';')?;
    let character = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((character, "&;".len() + name.len()))
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn what_telegram_takes_loses_its_tags() {
        for (html, text) in [
            ("plain", "plain"),
            ("1 &lt; 2 &amp;&amp; &#x3e;&#33; &quot;", "1 < 2 && >! \""),
            ("<b>a<i>b<u>c</u></i></b> <S>d</s>", "abc d"),
            ("<a href=\"https://x.y/?a=1&amp;b=>\">x</a>", "x"),
            ("<pre><code class=\"language-rust\">fn</code></pre>", "fn"),
            (
                "<blockquote expandable>a <code>b</code> <b>c</b></blockquote>",
                "a b c",
            ),
            (
                "<tg-spoiler>a</tg-spoiler><span class=\"tg-spoiler\">b</span>",
                "ab",
            ),
        ] {
            let rendered = render(html).unwrap();
            assert_eq!(
                (rendered.text.as_str(), rendered.breaches.len()),
                (text, 0),
                "{html}"
            );
        }
    }

    #[test]
    fn what_telegram_cannot_parse_is_refused_in_its_words() {
        for (html, words) in [
            ("<p>x</p>", "Unsupported start tag \"p\" at byte offset 0"),
            ("1 < 2", "Unclosed start tag at byte offset 2"),
            ("a <- b > c", "Unsupported start tag \"-\""),
            (
                "<b>x",
                "Can't find end tag corresponding to start tag \"b\"",
            ),
            ("<b><i>x</b></i>", "expected \"</i>\", found \"</b>\""),
            ("x</b>", "Unexpected end tag at byte offset 1"),
            ("<b>x</b", "Unclosed end tag"),
            ("<a>x</a>", "takes no"),
            ("<b class=\"x\">x</b>", "takes no"),
            ("<code class=\"language-c\">x</code>", "takes no"),
        ] {
            let refusal = render(html).unwrap_err();
            assert!(refusal.contains(words), "{html}: {refusal}");
        }
    }

    #[test]
    fn what_the_documentation_forbids_is_noted() {
        for html in [
            "R&D",
            "a > b",
            "&nbsp;",
            "<b><code>x</code></b>",
            "<code><b>x</b></code>",
            "<pre><i>x</i></pre>",
            "<a href=\"x\"><a href=\"y\">z</a></a>",
            "<blockquote>a<blockquote>b</blockquote></blockquote>",
        ] {
            assert_eq!(render(html).unwrap().breaches.len(), 1, "{html}");
        }
    }
}
