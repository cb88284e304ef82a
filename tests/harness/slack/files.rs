//! Files: the two steps of an upload with the bytes between them, and downloads.

use serde_json::json;

use super::BOT_TOKEN;
use super::fault::Reply;
use super::methods::Outcome;
use super::request::Call;
use super::server::State;
use super::store::File;

impl State {
    pub(super) fn begin_upload(&mut self, call: &Call) -> Outcome {
        let length: Option<usize> = call.argument("length").parse().ok();
        let length = length
            .filter(|length| *length > 0)
            .ok_or("invalid_arguments")?;
        let name = call.argument("filename").to_owned();
        if name.is_empty() {
            return Err("invalid_arguments");
        }
        let id = self.store.next_id("F");
        let file = File {
            name,
            mime: "text/plain".to_owned(),
            bytes: Vec::new().into(),
            id: id.clone(),
        };
        self.store.files.insert(id.clone(), (file, Some(length)));
        let url = format!("http://{}/upload/v1/{id}", self.store.address);
        Ok(json!({"upload_url": url, "file_id": id}))
    }

    /// The bytes of a file. The address is enough.
    pub(super) fn upload(&mut self, call: &Call) -> Reply {
        if call.token.is_some() {
            self.complain("the server of uploads got a token".to_owned());
        }
        let id = call.path.rsplit('/').next().unwrap_or_default();
        let Some((file, length)) = self.store.files.get_mut(id) else {
            self.complain(format!("no such upload: {}", call.path));
            return Reply::page(404, "404 Not Found");
        };
        if *length != Some(call.body.len()) {
            let line = format!("{} bytes where {length:?} were announced", call.body.len());
            self.complain(line);
            return Reply::page(400, "400 Bad Request");
        }
        file.bytes = call.body.clone().into();
        *length = None;
        Reply {
            status: 200,
            headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
            body: format!("OK - {}", call.body.len()).into_bytes(),
        }
    }

    pub(super) fn end_upload(&mut self, call: &Call) -> Outcome {
        let place = self.place_in_thread(call, "channel_id")?;
        let files = call.json("files");
        let ids = files.as_array().ok_or("invalid_arguments")?;
        let mut found = Vec::new();
        for entry in ids {
            let id = entry["id"].as_str().unwrap_or_default();
            match self.store.files.get(id) {
                Some((file, None)) => found.push(file.clone()),
                _ => return Err("file_not_found"),
            }
        }
        if found.is_empty() {
            return Err("invalid_arguments");
        }
        let shown: Vec<_> = found
            .iter()
            .map(|file| self.store.file_json(file))
            .collect();
        let mut message = self.store.new_message(&place, None);
        message.files = found;
        message.text = call.argument("initial_comment").to_owned();
        self.add(&place, message);
        Ok(json!({"files": shown}))
    }

    /// A file. Without the right to it, the real server leads to its login page.
    pub(super) fn download(&mut self, call: &Call) -> Reply {
        if call.token.as_deref() != Some(BOT_TOKEN) {
            self.complain("a download without the bot's token".to_owned());
            let mut reply = Reply::page(302, "Found");
            let login = "https://harbour.slack.com/?redir=%2Ffiles-pri".to_owned();
            reply.headers.push(("location", login));
            return reply;
        }
        let id = call
            .path
            .split(['/', '-'])
            .find(|part| part.starts_with("F0"));
        let file = id.and_then(|id| self.store.files.get(id));
        match file {
            Some((file, _)) => Reply {
                status: 200,
                headers: vec![("content-type", file.mime.clone())],
                body: file.bytes.to_vec(),
            },
            None => Reply::page(404, "404 Not Found"),
        }
    }
}
