//! Reads forms and URLs, as far as the fake servers need it.

use std::sync::Arc;

/// A part of a form.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub name: String,
    pub file_name: Option<String>,
    pub mime: String,
    pub bytes: Arc<[u8]>,
}

/// The parts of a form. <https://www.rfc-editor.org/rfc/rfc7578>
pub(super) fn parts(body: &[u8], boundary: &str) -> Result<Vec<Part>, String> {
    let delimiter = format!("\r\n--{boundary}");
    // No newline comes before the first delimiter.
    let mut rest = body
        .strip_prefix(delimiter.trim_start().as_bytes())
        .ok_or("the form does not begin with its boundary")?;
    let mut parts = Vec::new();
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, delimiter.as_bytes()).ok_or("a part of the form has no end")?;
        parts.push(Part::read(&part[..end])?);
        rest = &part[end + delimiter.len()..];
    }
    if rest.starts_with(b"--") {
        Ok(parts)
    } else {
        Err("the form does not end with its boundary".to_owned())
    }
}

impl Part {
    fn read(part: &[u8]) -> Result<Self, String> {
        let blank = find(part, b"\r\n\r\n").ok_or("a part of the form has no head")?;
        let head = std::str::from_utf8(&part[..blank]).map_err(|error| error.to_string())?;
        let header = |wanted: &str| {
            head.split("\r\n").find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim())
            })
        };
        let disposition = header("content-disposition").ok_or("a part without a disposition")?;
        Ok(Self {
            name: quoted(disposition, "name").ok_or("a part without a name")?,
            file_name: quoted(disposition, "filename"),
            mime: header("content-type").unwrap_or("text/plain").to_owned(),
            bytes: part[blank + 4..].into(),
        })
    }
}

/// The value of `; name="value"` in a header.
fn quoted(header: &str, name: &str) -> Option<String> {
    let (_, rest) = header.split_once(&format!("; {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.to_owned())
}

/// The first position of `needle`, which begins with a carriage return.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        // Byte by byte to the next candidate: a form of 20 MB must not take long.
        from += haystack[from..].iter().position(|byte| *byte == b'\r')?;
        if haystack[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
}

/// Undoes percent-encoding. <https://url.spec.whatwg.org/#percent-encoded-bytes>
pub(super) fn decode(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(format!("%{piece}").as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
