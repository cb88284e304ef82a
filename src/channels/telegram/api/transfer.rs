//! Files, which are never held in memory as a whole.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use serde_json::{Value, json};

use super::types::Message;
use super::{Api, ApiError, ChatTarget, MessageBody, answer, place};
use crate::base::error::{Error, Result};
use crate::base::limits::channels::UPLOAD_BYTES;
use crate::base::limits::http::BODY_BYTES;
use crate::channels::kit::names;
use crate::net::http;
use crate::net::http::multipart::Form;

/// Telegram's own servers, which cannot know our disk.
const OFFICIAL: &str = "://api.telegram.org";

/// How a file is shown to the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendAs {
    /// As a picture, which Telegram makes smaller; at most 10 MB.
    Photo,
    /// As a voice message of so many seconds.
    Voice(u64),
    /// As a sticker, which has no caption.
    Sticker,
    /// As a file, unchanged.
    Document,
}

/// A file to be sent.
pub struct Upload<'a> {
    /// The file, at its beginning.
    pub file: &'a File,
    /// The name that people see.
    pub name: &'a str,
    /// How it is shown.
    pub send_as: SendAs,
    /// The caption.
    pub caption: MessageBody<'a>,
}

/// Files that are shown as one message.
pub struct Album<'a> {
    /// 2 to 10 files at their beginning, each with its name and its bytes.
    pub files: Vec<(&'a File, &'a str, u64)>,
    /// The kind of each, as `type` of an `InputMedia`. Documents are only among themselves.
    pub kinds: Vec<&'static str>,
    /// The caption of the first.
    pub caption: MessageBody<'a>,
}

impl Album<'_> {
    /// Back to the beginning of each file, for another try.
    pub fn rewind(&self) -> Result<(), ApiError> {
        for &(mut file, name, _) in &self.files {
            file.rewind().map_err(Error::io("read", name))?;
        }
        Ok(())
    }
}

impl Api {
    /// Sends an album, as a reply if the message replied to still exists.
    pub fn send_media_group(
        &self,
        place: ChatTarget,
        album: &Album<'_>,
        reply_to: Option<i64>,
    ) -> Result<(), ApiError> {
        let field = |index: usize| format!("file{index}");
        let media = album.kinds.iter().enumerate().map(|(index, kind)| {
            let mut media = json!({"type": kind, "media": format!("attach://{}", field(index))});
            if index == 0 && !album.caption.text.is_empty() {
                let (mode, html) = album.caption.mode();
                media["caption"] = album.caption.text.into();
                media[mode] = html;
            }
            media
        });
        let fields = [
            place.chat(),
            place.thread(),
            ("media", media.collect::<Vec<Value>>().into()),
            album.caption.sound(),
            place::reply(reply_to),
        ];
        let names = album.files.iter().enumerate();
        let names = names.map(|(index, (_, name, _))| (field(index), names::clean_file_name(name)));
        let form = Form::of_files(&fields, &names.collect::<Vec<_>>());
        let files = album.files.iter().map(|(file, _, length)| (*file, *length));
        let files: Vec<(&File, u64)> = files.collect();
        let length = files.iter().map(|(_, length)| length).sum();
        let mut body = form.reader_of(&files);
        let answer = self.post_form("sendMediaGroup", &form, (&mut body, length))?;
        answer::result(&answer).map(drop)
    }

    /// Sends a form, with so many bytes of files.
    fn post_form(
        &self,
        method: &str,
        form: &Form,
        (body, files): (&mut dyn Read, u64),
    ) -> Result<Vec<u8>, ApiError> {
        let headers = [("content-type", form.content_type.as_str())];
        let progress = |_| (self.progress)();
        let upload = http::Upload::new(body, form.length(files)).with_progress(&progress);
        let answer = self
            .client
            .post_reader(&self.url("", method), &headers, upload);
        answer
            .and_then(|answer| answer.read_to_end(BODY_BYTES))
            .map_err(|error| self.explain(error))
    }

    /// Sends a file, as a reply if the message replied to still exists. Returns the new message's id.
    pub fn send_file(
        &self,
        place: ChatTarget,
        upload: &Upload<'_>,
        reply_to: Option<i64>,
    ) -> Result<i64, ApiError> {
        let status = upload.file.metadata();
        let length = status.map_err(Error::io("read", upload.name))?.len();
        if length > UPLOAD_BYTES {
            return Err(ApiError::Local(Error::TooLarge {
                what: upload.name.to_owned(),
                limit: UPLOAD_BYTES as usize,
            }));
        }
        let (method, field) = match upload.send_as {
            SendAs::Photo => ("sendPhoto", "photo"),
            SendAs::Voice(_) => ("sendVoice", "voice"),
            SendAs::Sticker => ("sendSticker", "sticker"),
            SendAs::Document => ("sendDocument", "document"),
        };
        let caption = Some(upload.caption.text).filter(|text| !text.is_empty());
        let seconds = match upload.send_as {
            SendAs::Voice(seconds) => Some(seconds),
            _ => None,
        };
        let fields = [
            place.chat(),
            place.thread(),
            ("duration", seconds.into()),
            ("caption", caption.into()),
            upload.caption.mode(),
            upload.caption.sound(),
            upload.caption.markup(),
            upload.caption.receiver(),
            place::reply(reply_to),
        ];
        let form = Form::new(&fields, field, &names::clean_file_name(upload.name));
        let mut body = form.reader(upload.file, length);
        let answer = self.post_form(method, &form, (&mut body, length))?;
        let sent: Message = answer::read(answer::result(&answer)?)?;
        Ok(sent.message_id)
    }

    /// Downloads the file at a path from [`get_file`](Self::get_file), of at most `limit` bytes.
    ///
    /// A local Bot API server gives the absolute path of a file on its disk, which is then copied; from
    /// Telegram's own servers such a path is not accepted.
    pub fn download(&self, path: &str, to: &mut File, limit: usize) -> Result<(), ApiError> {
        if path.starts_with('/') && !self.base.to_lowercase().contains(OFFICIAL) {
            return copy(&open_on_servers_disk(path)?, to, limit);
        }
        let response = self.client.get(&self.url("/file", path), &[]);
        let response = response.map_err(|error| match error {
            // Here the path does not exist; a wrong token is a 401.
            Error::Status { status: 404, .. } => {
                ApiError::Refused("the file is no longer available".to_owned())
            }
            error => self.explain(error),
        })?;
        response.download(to, limit, &|_| (self.progress)())?;
        Ok(())
    }
}

/// Opens a file of a local Bot API server. Its path contains the token, so no error shows it.
fn open_on_servers_disk(path: &str) -> Result<File, ApiError> {
    let is_file = std::fs::metadata(Path::new(path)).is_ok_and(|status| status.is_file());
    let opened = is_file.then(|| File::open(path).ok()).flatten();
    opened.ok_or_else(|| {
        let why = "the Bot API server keeps its files on a disk where they cannot be read from \
                   here: run it on this machine and give this user the right to read them, or run \
                   it without --local";
        ApiError::Local(Error::Failed(why.to_owned()))
    })
}

/// Copies a file of at most `limit` bytes.
fn copy(from: &File, to: &mut File, limit: usize) -> Result<(), ApiError> {
    let copied = io::copy(&mut from.take(limit as u64 + 1), to);
    let count = copied.map_err(Error::io("write", "a file of a message"))?;
    if count > limit as u64 {
        return Err(ApiError::Local(Error::TooLarge {
            what: "the file".to_owned(),
            limit,
        }));
    }
    Ok(())
}
