//! The parts of a mail, from its BODYSTRUCTURE (RFC 3501, section 7.4.2): which of them is the text, and which are
//! files. The server has taken the mail apart; only what is wanted is fetched. PURE.

use super::value::Value;
use crate::base::message::Media;
use crate::channels::email::SUBJECT_CHARS;
use crate::channels::email::mime::decode::Encoding;
use crate::channels::email::mime::words::{decode_words, parameter};
use crate::channels::kit::names::clean_name;
use crate::text::one_line;

/// Parts with text of one mail: some programs cut a text at each picture.
const TEXT_PARTS: usize = 4;
/// Parts of a mail that are looked at.
const PARTS: usize = 64;

/// A part that is not made of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number within the mail, such as `1.2`.
    pub section: String,
    /// Its type, such as `text/plain`, in lower case.
    pub kind: String,
    /// Parameters of the type, their names in lower case.
    parameters: Vec<(String, String)>,
    /// How it is encoded.
    pub encoding: Encoding,
    /// Its bytes as they are encoded.
    pub bytes: u64,
    /// `attachment`, `inline`, or empty.
    disposition: String,
    /// Parameters of that.
    disposed: Vec<(String, String)>,
}

/// What a mail consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The parts with its text, in order.
    pub texts: Vec<Part>,
    /// The rest.
    pub files: Vec<Part>,
    /// The texts of mails that are attached, each with the line above it. They are among the files too.
    pub attached: Vec<(String, Part)>,
}

impl Part {
    /// The character set of a text; empty for none.
    pub fn charset(&self) -> String {
        parameter(&self.parameters, "charset").unwrap_or_default()
    }

    /// Whether it is HTML.
    pub fn is_html(&self) -> bool {
        self.kind == "text/html"
    }

    /// Whether its lines are broken at spaces, and whether those are to be deleted (RFC 3676).
    pub fn flow(&self) -> Option<bool> {
        let is = |name: &str, value: &str| {
            parameter(&self.parameters, name).is_some_and(|it| it.eq_ignore_ascii_case(value))
        };
        is("format", "flowed").then(|| is("delsp", "yes"))
    }

    /// Whether it is in a format of Outlook's own, in which it wraps everything.
    pub fn is_tnef(&self) -> bool {
        self.kind.ends_with("/ms-tnef")
            || self.kind.ends_with("/vnd.ms-tnef")
            || self.name().eq_ignore_ascii_case("winmail.dat")
    }

    /// What its sender calls it; else a usual name for its type.
    pub fn name(&self) -> String {
        let named = parameter(&self.disposed, "filename");
        let named = named.or_else(|| parameter(&self.parameters, "name"));
        named
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| {
                let (kind, detail) = self.kind.split_once('/').unwrap_or_default();
                match (kind, detail) {
                    ("image", "jpeg") => "image.jpg".to_owned(),
                    ("image" | "audio" | "video", detail) => format!("{kind}.{detail}"),
                    ("text", "calendar") => "calendar.ics".to_owned(),
                    ("text", "html") => "text.html".to_owned(),
                    ("text", _) => "text.txt".to_owned(),
                    ("message", "rfc822") => "mail.eml".to_owned(),
                    (_, "pdf") => "document.pdf".to_owned(),
                    _ => "file".to_owned(),
                }
            })
    }

    /// What kind of file it is.
    pub fn media(&self) -> Media {
        match self.kind.split('/').next().unwrap_or_default() {
            "image" => Media::Photo,
            "audio" => Media::Audio,
            "video" => Media::Video,
            _ => Media::Document,
        }
    }

    /// Its bytes once it is decoded, or nearly.
    pub fn decoded_bytes(&self) -> u64 {
        match self.encoding {
            // 57 bytes are a line of 78.
            Encoding::Base64 => self.bytes / 78 * 57 + self.bytes % 78,
            Encoding::Plain | Encoding::Quoted => self.bytes,
        }
    }

    fn is_file(&self) -> bool {
        let is_named = |list: &[(String, String)], name: &str| {
            let mut all = list.iter();
            all.any(|(known, _)| known.starts_with(name))
        };
        self.disposition == "attachment"
            || !matches!(&*self.kind, "text/plain" | "text/html")
            || is_named(&self.disposed, "filename")
            || is_named(&self.parameters, "name")
    }

    /// A signature of the mail, which is of no use without its programs.
    fn is_signature(&self) -> bool {
        self.kind.ends_with("/pgp-signature") || self.kind.ends_with("pkcs7-signature")
    }
}

/// The parts of a mail. A structure that cannot be understood has none.
pub fn content(value: &Value) -> Content {
    let mut content = Content::default();
    let mut left = PARTS;
    walk(value, "", &mut content, &mut left);
    content.files.retain(|part| !part.is_signature());
    content
}

/// Adds a part, or the parts of a part. Whether it had a text.
fn walk(value: &Value, section: &str, content: &mut Content, left: &mut usize) -> bool {
    let members = value.members();
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let parts = members
        .iter()
        .take_while(|member| matches!(member, Value::List(_)));
    let count = parts.count();
    if count == 0 {
        let section = if section.is_empty() { "1" } else { section };
        let Some(part) = leaf(members, section) else {
            return false;
        };
        if part.kind.starts_with("message/") && members.get(8).is_some() {
            add_attached(members, section, content, left);
        }
        if part.is_file() || content.texts.len() >= TEXT_PARTS {
            content.files.push(part);
            return false;
        }
        content.texts.push(part);
        return true;
    }
    let kind = members.get(count).and_then(Value::text).unwrap_or_default();
    let parts = members.iter().take(count).enumerate();
    let number = |index: usize| match section {
        "" => (index + 1).to_string(),
        section => format!("{section}.{}", index + 1),
    };
    match kind.to_ascii_lowercase().as_str() {
        "alternative" => alternative(
            parts.map(|(index, part)| (number(index), part)),
            content,
            left,
        ),
        // What comes after the first one is there for it: pictures, mostly.
        "related" => {
            let mut has_text = false;
            for (index, part) in parts {
                let mut inner = Content::default();
                let found = walk(part, &number(index), &mut inner, left);
                if has_text {
                    inner.files.append(&mut inner.texts);
                }
                has_text |= found;
                content.texts.append(&mut inner.texts);
                content.files.append(&mut inner.files);
                content.attached.append(&mut inner.attached);
            }
            has_text
        }
        _ => {
            let mut has_text = false;
            for (index, part) in parts {
                has_text |= walk(part, &number(index), content, left);
            }
            has_text
        }
    }
}

/// Adds the texts of a mail within the mail, of which the server tells the envelope and the parts.
fn add_attached(members: &[Value], section: &str, content: &mut Content, left: &mut usize) {
    let envelope = members.get(7).map(Value::members).unwrap_or_default();
    let Some(body) = members.get(8).filter(|_| !envelope.is_empty()) else {
        return;
    };
    let is_simple = !matches!(body.members().first(), Some(Value::List(_)));
    let inner_section = if is_simple {
        format!("{section}.1")
    } else {
        section.to_owned()
    };
    let text = |value: Option<&Value>| value.and_then(Value::text).unwrap_or_default();
    let from = envelope.get(2).map(Value::members).unwrap_or_default();
    let from = from.first().map(Value::members).unwrap_or_default();
    let name = decode_words(&text(from.first()));
    let address = format!("{}@{}", text(from.get(2)), text(from.get(3)));
    let about = [
        name,
        address.trim_matches('@').to_owned(),
        text(envelope.first()),
        decode_words(&text(envelope.get(1))),
    ];
    let about = about.map(|part| one_line(&clean_name(&part), SUBJECT_CHARS));
    let about: Vec<&str> = (about.iter().map(|part| part.trim()))
        .filter(|part| !part.is_empty())
        .collect();
    let line = format!("[Attached mail: {}]", about.join(", "));
    let mut inner = Content::default();
    walk(body, &inner_section, &mut inner, left);
    let room = TEXT_PARTS.saturating_sub(content.attached.len());
    let texts = inner.texts.into_iter().map(|text| (line.clone(), text));
    content
        .attached
        .extend(texts.chain(inner.attached).take(room));
}

/// Adds the one of several forms of the same content that is read best: plain text, else HTML. Files of the
/// others are kept.
fn alternative<'a>(
    parts: impl Iterator<Item = (String, &'a Value)>,
    content: &mut Content,
    left: &mut usize,
) -> bool {
    let mut best: Option<Vec<Part>> = None;
    for (section, part) in parts {
        let mut inner = Content::default();
        walk(part, &section, &mut inner, left);
        content.files.append(&mut inner.files);
        content.attached.append(&mut inner.attached);
        let is_plain = |texts: &[Part]| texts.iter().all(|text| !text.is_html());
        let is_better = match &best {
            None => true,
            Some(best) => !is_plain(best) && is_plain(&inner.texts),
        };
        if !inner.texts.is_empty() && is_better {
            best = Some(inner.texts);
        }
    }
    match best {
        Some(texts) => {
            content.texts.extend(texts);
            true
        }
        None => false,
    }
}

fn leaf(members: &[Value], section: &str) -> Option<Part> {
    let word = |index: usize| {
        let text = members.get(index).and_then(Value::text);
        text.unwrap_or_default().to_ascii_lowercase()
    };
    let (main, detail) = (word(0), word(1));
    if main.is_empty() {
        return None;
    }
    // Behind the size come what only texts and mails have, then MD5, disposition, language and location.
    let extra = match (&*main, &*detail) {
        ("text", _) => 8,
        ("message", "rfc822" | "global") => 10,
        _ => 7,
    };
    let disposition = members.get(extra + 1).map(Value::members);
    let disposition = disposition.unwrap_or_default();
    let first = disposition.first().and_then(Value::text);
    Some(Part {
        section: section.to_owned(),
        kind: format!("{main}/{detail}"),
        parameters: parameters(members.get(2)),
        encoding: Encoding::named(&word(5)),
        bytes: members.get(6).and_then(Value::number).unwrap_or_default(),
        disposition: first.unwrap_or_default().to_ascii_lowercase(),
        disposed: parameters(disposition.get(1)),
    })
}

fn parameters(value: Option<&Value>) -> Vec<(String, String)> {
    let pairs = value.map(Value::members).unwrap_or_default();
    let pair = |pair: &[Value]| match pair {
        [name, value] => Some((name.text()?.to_ascii_lowercase(), value.text()?)),
        _ => None,
    };
    pairs.chunks(2).filter_map(pair).collect()
}
