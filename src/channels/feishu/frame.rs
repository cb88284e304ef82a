//! The binary frames of Feishu's long connection. Pure.
//!
//! They are protocol buffers in the second version of the language, of which these few fields are used. Fields 1
//! to 4 are required: they are written even when they are 0. Numbers have 64 bits on every machine.

#[cfg(test)]
mod tests;

/// Headers of a frame; an event has about eight.
const FRAME_HEADERS: usize = 32;
/// Bytes of a name or a value in a frame's headers; ids have about a hundred.
const FRAME_TEXT_BYTES: usize = 1024;

/// A frame that carries pings and their replies.
pub const CONTROL: i32 = 0;
/// A frame that carries an event, or acknowledges one.
pub const DATA: i32 = 1;

/// The kinds of encoding of a field.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// A number of the server's.
    pub sequence: u64,
    /// A number for its log.
    pub log: u64,
    /// The server's part that it is for.
    pub service: i32,
    /// [`CONTROL`] or [`DATA`].
    pub method: i32,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// How the payload is encoded; not used so far.
    pub payload_encoding: Option<String>,
    /// What the payload is; not used so far.
    pub payload_type: Option<String>,
    /// The content.
    pub payload: Vec<u8>,
    /// Another mark for the server's log.
    pub log_new: Option<String>,
}

impl Frame {
    /// Reads a frame; `None` when the bytes are none, or are more than a frame of Feishu's may have. Unknown
    /// fields are ignored.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut frame = Self::default();
        let mut required = 0_u8;
        let mut fields = Fields(bytes);
        while let Some(field) = fields.next()? {
            match field {
                (1, Field::Number(number)) => frame.sequence = number,
                (2, Field::Number(number)) => frame.log = number,
                // A negative number is written with 64 bits.
                (3, Field::Number(number)) => frame.service = number as i32,
                (4, Field::Number(number)) => frame.method = number as i32,
                (5, Field::Bytes(header)) => {
                    if frame.headers.len() >= FRAME_HEADERS {
                        return None;
                    }
                    frame.headers.push(read_header(header)?);
                }
                (6, Field::Bytes(text)) => frame.payload_encoding = Some(read_text(text)?),
                (7, Field::Bytes(text)) => frame.payload_type = Some(read_text(text)?),
                (8, Field::Bytes(bytes)) => frame.payload = bytes.to_vec(),
                (9, Field::Bytes(text)) => frame.log_new = Some(read_text(text)?),
                (1..=9, _) => return None,
                _ => {}
            }
            if let (number @ 1..=4, _) = field {
                required |= 1 << number;
            }
        }
        (required == 0b1_1110).then_some(frame)
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload.len() + 256);
        for (field, number) in [
            (1, self.sequence),
            (2, self.log),
            (3, i64::from(self.service) as u64),
            (4, i64::from(self.method) as u64),
        ] {
            put_varint(&mut bytes, field << 3 | VARINT);
            put_varint(&mut bytes, number);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            put_bytes(&mut header, 1, key.as_bytes());
            put_bytes(&mut header, 2, value.as_bytes());
            put_bytes(&mut bytes, 5, &header);
        }
        let texts = [(6, &self.payload_encoding), (7, &self.payload_type)];
        for (field, text) in texts {
            if let Some(text) = text {
                put_bytes(&mut bytes, field, text.as_bytes());
            }
        }
        if !self.payload.is_empty() {
            put_bytes(&mut bytes, 8, &self.payload);
        }
        if let Some(text) = &self.log_new {
            put_bytes(&mut bytes, 9, text.as_bytes());
        }
        bytes
    }

    /// The value of a header; empty when it is missing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.as_str())
    }
}

#[derive(Clone, Copy)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields that are left of a message.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The next field with its number. The outer `None` means that the bytes are no message, the inner one that
    /// it has ended.
    fn next(&mut self) -> Option<Option<(u64, Field<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            VARINT => Field::Number(self.varint()?),
            BYTES => {
                let length = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.take(length)?)
            }
            FIXED_64 => self.take(8).map(|_| Field::Other)?,
            FIXED_32 => self.take(4).map(|_| Field::Other)?,
            _ => return None,
        };
        // The field 0 does not exist.
        (tag >> 3 > 0).then_some(Some((tag >> 3, field)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let [byte] = *self.take(1)? else {
                return None;
            };
            // The tenth byte has room for one bit.
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

fn read_header(bytes: &[u8]) -> Option<(String, String)> {
    let (mut key, mut value) = (None, None);
    let mut fields = Fields(bytes);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(text)) => key = Some(read_text(text)?),
            (2, Field::Bytes(text)) => value = Some(read_text(text)?),
            (1 | 2, _) => return None,
            _ => {}
        }
    }
    Some((key?, value?))
}

fn read_text(bytes: &[u8]) -> Option<String> {
    let is_short = bytes.len() <= FRAME_TEXT_BYTES;
    let text = str::from_utf8(bytes).ok().filter(|_| is_short)?;
    Some(text.to_owned())
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_bytes(bytes: &mut Vec<u8>, field: u64, content: &[u8]) {
    put_varint(bytes, field << 3 | BYTES);
    put_varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}
