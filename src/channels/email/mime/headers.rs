//! The fields of a mail's head (RFC 5322, section 2.2). PURE.

use super::words::decode_charset;
use crate::base::limits::channels::email::FIELDS;

/// Bytes of a Message-ID; a longer one counts as none.
const ID_BYTES: usize = 250;
/// Ids in the headers of a mail that are looked at.
const IDS: usize = 100;

/// The fields in their order, the receiving server's first.
#[derive(Clone, Debug, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Reads fields up to the empty line. A line that is not UTF-8 is taken as Western European, and what is not a
    /// field left out.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = decode_charset("", line).unwrap_or_default();
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if line.is_empty() {
                break;
            }
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = fields.last_mut() {
                    value.push_str(line);
                }
                continue;
            }
            if fields.len() >= FIELDS {
                break;
            }
            // White space before the colon is an old form: some programs read such a field, so it counts.
            if let Some((name, value)) = line.split_once(':') {
                fields.push((name.trim().to_ascii_lowercase(), value.to_owned()));
            }
        }
        for (_, value) in &mut fields {
            let trimmed = value.trim();
            if trimmed.len() != value.len() {
                *value = trimmed.to_owned();
            }
        }
        Self(fields)
    }

    /// The values of a field, whose name is in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.0.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// The first value of a field.
    pub fn first(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        fields.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// The mail's own id, with its brackets.
    pub fn id(&self) -> Option<String> {
        ids(self.first("message-id")?).next()
    }

    /// The ids of the mails before it: the conversation's first mail first, the one that it answers last.
    pub fn earlier(&self) -> Vec<String> {
        let references = self.first("references").unwrap_or_default();
        let mut earlier: Vec<String> = ids(references).take(IDS).collect();
        if let Some(answered) = self.answered() {
            earlier.retain(|id| *id != answered);
            earlier.push(answered);
        }
        earlier
    }

    /// The id of the mail that it answers.
    pub fn answered(&self) -> Option<String> {
        ids(self.first("in-reply-to")?).next()
    }
}

/// The message ids in a field: what is within angle brackets, as far as it may be written into a field again.
pub fn ids(value: &str) -> impl Iterator<Item = String> {
    value.split('<').skip(1).filter_map(|rest| {
        let (id, _) = rest.split_once('>')?;
        let is_clean = |byte: u8| byte.is_ascii_graphic() && byte != b'<';
        let is_usable = !id.is_empty() && id.len() <= ID_BYTES && id.bytes().all(is_clean);
        is_usable.then(|| format!("<{id}>"))
    })
}
