//! A form with one file (RFC 7578), of which only the file's frame is in memory.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Cursor, Read};

use serde_json::Value;

/// The bytes before and after the file's.
pub struct Form {
    /// The media type of the whole, which names the boundary.
    pub content_type: String,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Form {
    /// A form of fields and a file; `name` is the file's field, `file_name` a clean name.
    pub fn new(fields: &[(&str, Value)], name: &str, file_name: &str) -> Self {
        let boundary = boundary();
        let mut head = String::new();
        let mut part = |text: &str| {
            for piece in [
                "--",
                &boundary,
                "\r\nContent-Disposition: form-data; name=\"",
                text,
            ] {
                head.push_str(piece);
            }
        };
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            // What is not a string is taken as JSON.
            let json = value.to_string();
            part(&[name, "\"\r\n\r\n", value.as_str().unwrap_or(&json), "\r\n"].concat());
        }
        part(&[name, "\"; filename=\"", file_name, "\"\r\n\r\n"].concat());
        Self {
            content_type: ["multipart/form-data; boundary=", &boundary].concat(),
            head: head.into_bytes(),
            tail: ["\r\n--", &boundary, "--\r\n"].concat().into_bytes(),
        }
    }

    /// The same, with the media type of the file.
    #[must_use]
    pub fn of_type(mut self, media_type: &str) -> Self {
        // Behind the head's last line, before the blank one.
        self.head.truncate(self.head.len() - 2);
        let line = ["Content-Type: ", media_type, "\r\n\r\n"].concat();
        self.head.extend_from_slice(line.as_bytes());
        self
    }

    /// The bytes of the whole, with a file of that many bytes.
    pub fn length(&self, file: u64) -> u64 {
        file + (self.head.len() + self.tail.len()) as u64
    }

    /// The whole, with that many bytes of a file.
    pub fn reader(&self, file: impl Read, length: u64) -> impl Read {
        Cursor::new(&self.head)
            .chain(file.take(length))
            .chain(Cursor::new(&self.tail))
    }
}

/// A line that no file contains: it cannot be predicted.
fn boundary() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("peacrab-{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_its_fields_its_file_and_its_length() {
        let fields = [
            ("chat_id", Value::from(-7)),
            ("message_thread_id", Value::Null),
            ("caption", Value::from("ü\r\n--x")),
            ("reply_parameters", serde_json::json!({"message_id": 3})),
        ];
        let form = Form::new(&fields, "document", "a.txt");
        let mut whole = String::new();
        let mut reader = form.reader(&b"bytes and more"[..], 5);
        reader.read_to_string(&mut whole).unwrap();
        assert_eq!(whole.len() as u64, form.length(5));
        let (_, boundary) = form.content_type.split_once("boundary=").unwrap();
        let expected = [
            "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n-7\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"caption\"\r\n\r\nü\r\n--x\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"reply_parameters\"\r\n\r\n{\"message_id\":3}\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"document\"; filename=\"a.txt\"\r\n\r\nbytes\r\n",
            "--B--\r\n",
        ];
        assert_eq!(whole.replace(boundary, "B"), expected.concat());
    }

    #[test]
    fn the_file_may_have_a_type() {
        let form = Form::new(&[], "file", "a.ogg").of_type("audio/ogg");
        let mut whole = String::new();
        form.reader(&b"x"[..], 1)
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole.len() as u64, form.length(1));
        let part = "name=\"file\"; filename=\"a.ogg\"\r\nContent-Type: audio/ogg\r\n\r\nx\r\n--";
        assert!(whole.contains(part), "{whole}");
    }

    #[test]
    fn no_two_forms_have_the_same_boundary() {
        let of = || Form::new(&[], "photo", "p.jpg").content_type;
        assert_ne!(of(), of());
    }
}
