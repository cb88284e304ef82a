//! A form with files (RFC 7578), of which only the files' frames are in memory.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Cursor, Read};

use serde_json::Value;

/// The bytes before, between and after those of the files.
pub struct Form {
    /// The media type of the whole, which names the boundary.
    pub content_type: String,
    /// The bytes before each file.
    heads: Vec<Vec<u8>>,
    tail: Vec<u8>,
}

impl Form {
    /// A form of fields and a file; `name` is the file's field, `file_name` a clean name.
    pub fn new(fields: &[(&str, Value)], name: &str, file_name: &str) -> Self {
        Self::of_files(fields, &[(name.to_owned(), file_name.to_owned())])
    }

    /// A form of fields and files, each with its field and a clean name.
    pub fn of_files(fields: &[(&str, Value)], files: &[(String, String)]) -> Self {
        let boundary = boundary();
        let begin: String = [
            "--",
            &boundary,
            "\r\nContent-Disposition: form-data; name=\"",
        ]
        .concat();
        let mut head = String::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            // What is not a string is taken as JSON.
            let json = value.to_string();
            let value = value.as_str().unwrap_or(&json);
            head += &[begin.as_str(), name, "\"\r\n\r\n", value, "\r\n"].concat();
        }
        let mut heads = Vec::new();
        for (name, file_name) in files {
            head += &[&begin, name, "\"; filename=\"", file_name, "\"\r\n\r\n"].concat();
            heads.push(std::mem::replace(&mut head, "\r\n".to_owned()).into_bytes());
        }
        Self {
            content_type: ["multipart/form-data; boundary=", &boundary].concat(),
            heads,
            tail: ["\r\n--", &boundary, "--\r\n"].concat().into_bytes(),
        }
    }

    /// The same, with the media type of the last file.
    #[must_use]
    pub fn of_type(mut self, media_type: &str) -> Self {
        let line = ["Content-Type: ", media_type, "\r\n\r\n"].concat();
        if let Some(head) = self.heads.last_mut() {
            // Behind the head's last line, before the blank one.
            head.truncate(head.len() - 2);
            head.extend_from_slice(line.as_bytes());
        }
        self
    }

    /// The bytes of the whole, with that many bytes of files.
    pub fn length(&self, files: u64) -> u64 {
        let heads: usize = self.heads.iter().map(Vec::len).sum();
        files + (heads + self.tail.len()) as u64
    }

    /// The whole of a form with one file, with that many bytes of it.
    pub fn reader(&self, file: impl Read, length: u64) -> impl Read {
        let head = self.heads.first().map_or(&[][..], Vec::as_slice);
        Cursor::new(head)
            .chain(file.take(length))
            .chain(Cursor::new(&self.tail))
    }

    /// The whole of a form with several files, with so many bytes of each.
    pub fn reader_of<'a>(&'a self, files: &[(&'a File, u64)]) -> Box<dyn Read + 'a> {
        let mut whole: Box<dyn Read> = Box::new(io::empty());
        for (head, (file, length)) in self.heads.iter().zip(files) {
            let framed = Cursor::new(head).chain(file.take(*length));
            whole = Box::new(whole.chain(framed));
        }
        Box::new(whole.chain(Cursor::new(&self.tail)))
    }
}

/// A line that no file contains: it cannot be predicted.
fn boundary() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("peacrab-{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

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
    fn a_form_may_have_several_files() {
        let mut files = Vec::new();
        for bytes in ["one", "second"] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes.as_bytes()).unwrap();
            file.rewind().unwrap();
            files.push(file);
        }
        let names = ["a", "b"].map(|name| (name.to_owned(), format!("{name}.txt")));
        let form = Form::of_files(&[("chat_id", Value::from(7))], &names);
        let mut whole = String::new();
        let mut reader = form.reader_of(&[(&files[0], 3), (&files[1], 6)]);
        reader.read_to_string(&mut whole).unwrap();
        assert_eq!(whole.len() as u64, form.length(9));
        let (_, boundary) = form.content_type.split_once("boundary=").unwrap();
        let expected = [
            "--B\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n7\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a.txt\"\r\n\r\none\r\n",
            "--B\r\nContent-Disposition: form-data; name=\"b\"; filename=\"b.txt\"\r\n\r\nsecond\r\n",
            "--B--\r\n",
        ];
        assert_eq!(whole.replace(boundary, "B"), expected.concat());
    }

    #[test]
    fn no_two_forms_have_the_same_boundary() {
        let of = || Form::new(&[], "photo", "p.jpg").content_type;
        assert_ne!(of(), of());
    }
}
