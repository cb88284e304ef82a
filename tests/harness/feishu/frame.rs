//! The frames of the long connection, as the server reads and writes them: protocol buffers of the second version.
//! lark-oapi reads and writes the same.

/// A frame; what a client need not send back is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Frame {
    pub sequence: u64,
    pub log: u64,
    pub service: u64,
    pub method: u64,
    pub headers: Vec<(String, String)>,
    pub payload: Vec<u8>,
}

impl Frame {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers = [self.sequence, self.log, self.service, self.method];
        for (field, number) in (1..).zip(numbers) {
            varint(&mut out, field << 3);
            varint(&mut out, number);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            chunk(&mut header, 1, key.as_bytes());
            chunk(&mut header, 2, value.as_bytes());
            chunk(&mut out, 5, &header);
        }
        chunk(&mut out, 8, &self.payload);
        out
    }

    /// Reads a client's frame. The error is what the real server would trip over.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut frame = Self::default();
        let mut seen = [false; 5];
        for (field, value) in fields(bytes)? {
            match (field, value) {
                (1..=4, Value::Number(number)) => {
                    seen[field as usize] = true;
                    *[
                        &mut frame.sequence,
                        &mut frame.log,
                        &mut frame.service,
                        &mut frame.method,
                    ][field as usize - 1] = number;
                }
                (5, Value::Bytes(bytes)) => frame.headers.push(header(bytes)?),
                (8, Value::Bytes(bytes)) => frame.payload = bytes.to_vec(),
                (6 | 7 | 9, Value::Bytes(_)) => {}
                (field, _) => return Err(format!("the field {field} is not one of a frame")),
            }
        }
        match seen[1..].iter().all(|seen| *seen) {
            true => Ok(frame),
            false => Err("a required field of the frame is missing".to_owned()),
        }
    }
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn header(bytes: &[u8]) -> Result<(String, String), String> {
    let mut parts = [None, None];
    for (field, value) in fields(bytes)? {
        let Value::Bytes(bytes) = value else {
            return Err("a header's part is a number".to_owned());
        };
        let part = parts
            .get_mut(field as usize - 1)
            .ok_or("an unknown field of a header")?;
        *part = Some(String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())?);
    }
    match parts {
        [Some(key), Some(value)] => Ok((key, value)),
        _ => Err("a header without a key or a value".to_owned()),
    }
}

fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, String> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes)?;
        let value = match tag & 7 {
            0 => Value::Number(number(&mut bytes)?),
            2 => {
                let length = number(&mut bytes)? as usize;
                if length > bytes.len() {
                    return Err("a field beyond the end of the frame".to_owned());
                }
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(content)
            }
            kind => return Err(format!("a field of the kind {kind}")),
        };
        fields.push((tag >> 3, value));
    }
    Ok(fields)
}

fn number(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or("a number without an end")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number that is too long".to_owned())
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn chunk(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
