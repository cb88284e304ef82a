//! What Telegram accepts as HTML, read strictly.

use crate::channels::kit::markdown::html::{PIECE_ENTITIES, PIECE_HTML_BYTES, PIECE_UNITS};
use crate::text::markup::is_blank;

/// Reads a message as Telegram would; gives its text, or what is wrong with it.
pub fn text_of(html: &str) -> Result<String, String> {
    if html.len() > PIECE_HTML_BYTES {
        return Err(format!("{} bytes", html.len()));
    }
    let mut reading = Reading::default();
    let mut rest = html;
    while let Some(letter) = rest.chars().next() {
        rest = match letter {
            '<' => {
                let (tag, rest) = rest[1..].split_once('>').ok_or("a tag without an end")?;
                reading.tag(tag)?;
                rest
            }
            '&' => {
                let (name, rest) = rest[1..].split_once(';').ok_or("a bare &")?;
                reading.text.push(entity(name)?);
                rest
            }
            '>' => return Err("a bare >".to_owned()),
            letter => {
                reading.text.push(letter);
                &rest[letter.len_utf8()..]
            }
        };
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    text: String,
    /// Open tags, and where their text begins.
    open: Vec<(String, usize)>,
    entities: usize,
}

impl Reading {
    fn tag(&mut self, tag: &str) -> Result<(), String> {
        if let Some(name) = tag.strip_prefix('/') {
            return self.end(name);
        }
        let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
        let is_language = name == "code" && !attribute.is_empty();
        match name {
            "b" | "i" | "s" | "pre" | "code" | "blockquote" if attribute.is_empty() => {}
            "code" => {
                value(attribute, "class=\"language-")?;
                self.may_be_language()?;
            }
            "a" => {
                let address = value(attribute, "href=\"")?;
                let scheme = address.split(':').next().unwrap_or("").to_lowercase();
                if !["http", "https", "mailto"].contains(&scheme.as_str()) {
                    return Err(format!("a link to {address}"));
                }
            }
            _ => return Err(format!("<{tag}>")),
        }
        let is_within = |outer: &[&str]| {
            let mut names = self.open.iter().map(|(name, _)| name.as_str());
            names.any(|name| outer.contains(&name))
        };
        let is_wrong = match name {
            _ if is_language => false,
            "pre" | "code" => is_within(&["pre", "code", "a", "b", "i", "s"]),
            "blockquote" => !self.open.is_empty(),
            name => is_within(&["pre", "code", name]),
        };
        if is_wrong {
            return Err(format!("<{tag}> within {:?}", self.open));
        }
        self.entities += usize::from(!is_language);
        self.open.push((name.to_owned(), self.text.len()));
        Ok(())
    }

    /// A language stands at the very beginning of a code block.
    fn may_be_language(&self) -> Result<(), String> {
        match self.open.last() {
            Some((name, from)) if name == "pre" && *from == self.text.len() => Ok(()),
            _ => Err("a language outside a code block".to_owned()),
        }
    }

    fn end(&mut self, name: &str) -> Result<(), String> {
        match self.open.pop() {
            Some((open, from)) if open == name && !is_blank(&self.text[from..]) => Ok(()),
            open => Err(format!("</{name}> ends {open:?}")),
        }
    }

    fn finish(self) -> Result<String, String> {
        let units = self.text.encode_utf16().count();
        if !self.open.is_empty() {
            Err(format!("{:?} stay open", self.open))
        } else if is_blank(&self.text) {
            Err("an empty message".to_owned())
        } else if units > PIECE_UNITS || self.entities > PIECE_ENTITIES {
            Err(format!("{units} units, {} entities", self.entities))
        } else {
            Ok(self.text)
        }
    }
}

fn value(attribute: &str, begin: &str) -> Result<String, String> {
    let value = attribute
        .strip_prefix(begin)
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|value| !value.is_empty() && !value.contains(['"', '<', '\n']))
        .ok_or_else(|| format!("the attribute {attribute}"))?;
    // Every & begins an entity.
    for part in value.split('&').skip(1) {
        entity(part.split_once(';').ok_or("a bare & in an attribute")?.0)?;
    }
    Ok(value.to_owned())
}

fn entity(name: &str) -> Result<char, String> {
    match name {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "quot" => Ok('"'),
        _ => Err(format!("&{name};")),
    }
}

#[test]
fn the_checker_finds_what_telegram_would_refuse() {
    assert_eq!(text_of("<b>a<i>&lt;</i></b>").as_deref(), Ok("a<"));
    for wrong in [
        "<b>a",
        "a</b>",
        "<b><i>a</b></i>",
        "<b></b>a",
        "<b> </b>a",
        "<u1>a</u1>",
        "a & b",
        "a &nbsp; b",
        "a > b",
        "a < b",
        "",
        "\u{200b}",
        "<code><b>a</b></code>",
        "<b><code>a</code></b>",
        "<blockquote>a<blockquote>b</blockquote></blockquote>",
        "<a href=\"javascript:a\">a</a>",
        "<a href=\"http:a\" title=\"b\">a</a>",
        "<a>a</a>",
        "<code class=\"language-x\">a</code>",
    ] {
        assert!(text_of(wrong).is_err(), "{wrong}");
    }
    assert!(text_of(&"x".repeat(PIECE_UNITS + 1)).is_err());
    assert!(text_of(&"<b>x</b>,".repeat(PIECE_ENTITIES + 1)).is_err());
}
