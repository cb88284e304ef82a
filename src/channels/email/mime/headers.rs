//! The fields of a mail's head (RFC 5322, section 2.2). PURE.

use super::words::decode_charset;
use crate::base::limits::channels::email::FIELDS;

/// Bytes of a mail's headers that are read: those that the receiving server adds come first.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Bytes of a Message-ID; a longer one counts as none.
const ID_BYTES: usize = 250;
/// Ids in the headers of a mail that are looked at.
const IDS: usize = 100;

/// The fields in their order, the receiving server's first.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    fields: Vec<(String, String)>,
    is_cut: bool,
}

impl Headers {
    /// Reads fields up to the empty line. A line that is not UTF-8 is taken as Western European, and what is not a
    /// field left out.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut fields: Vec<(String, String)> = Vec::new();
        let mut is_cut = bytes.len() >= HEADER_BYTES;
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
                is_cut = true;
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
        Self { fields, is_cut }
    }

    /// The values of a field, whose name is in lower case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.fields.iter().filter(move |(known, _)| known == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// The first value of a field.
    pub fn first(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        fields.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    /// Whether there may be others, which were not read.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The names and values of the fields above the first one of some kind. Where that is missing, none.
    pub fn above(&self, is_end: impl Fn(&str, &str) -> bool) -> impl Iterator<Item = (&str, &str)> {
        let mut fields = self.fields.iter();
        let end = fields.position(|(name, value)| is_end(name, value));
        let fields = self.fields.iter().take(end.unwrap_or_default());
        fields.map(|(name, value)| (name.as_str(), value.as_str()))
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
