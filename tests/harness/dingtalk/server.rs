//! The server's state, and its connections.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::Fault;
use super::stream::{Link, SOCKET};
use crate::harness::shared::{self, Recent, last};
use crate::harness::wire;

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The route: `token`, `open`, `toPerson`, `toGroup`, `upload` or `download`.
    pub route: &'static str,
    /// Its body; of a form, its fields.
    pub body: Value,
    /// When it came.
    pub at: Instant,
}

/// A message of the robot's.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// The person or the group, by its id.
    pub place: String,
    /// Its kind, such as `sampleMarkdown`.
    pub kind: String,
    /// What notifications show; empty for other kinds than Markdown.
    pub title: String,
    /// Its text, with the markup.
    pub text: String,
    /// Its file: name and content.
    pub file: Option<(String, Vec<u8>)>,
}

pub(super) type Server = shared::Server<State>;

/// A file that was uploaded.
pub(super) struct Media {
    pub id: String,
    pub kind: String,
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    /// Its address, without a scheme.
    pub address: String,
    pub people: Vec<String>,
    pub groups: Vec<String>,
    pub messages: Vec<Message>,
    /// When the robot has written to groups.
    pub group_times: Vec<(String, Instant)>,
    /// People's files, by their download codes.
    pub files: Vec<(String, Vec<u8>)>,
    pub media: Vec<Media>,
    pub link: Link,
    /// The token that is valid, and how many there were.
    pub token: String,
    pub tokens: usize,
    pub calls: Vec<Call>,
    pub faults: Vec<(&'static str, Fault)>,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
    pub ids: usize,
}

/// What the server sends back; `None` when the connection breaks instead.
pub(super) type Answer = Option<(u16, Vec<u8>)>;

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        let mut recent = last(self.calls.iter().map(|call| format!("{call:?}")));
        recent.extend(last(self.complaints.iter().cloned()));
        recent
    }
}

impl Server {
    /// Accepts connections.
    pub(super) fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.network.listen(move |socket| server.serve(socket));
    }

    fn serve(self: &Arc<Self>, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(request) = wire::read(&mut connection)? {
            if request.path.starts_with(SOCKET) {
                return self.open_link(&mut connection, &request, socket);
            }
            let answer = self.change(|state| state.answer(&request));
            let Some((status, body)) = answer else {
                return Ok(());
            };
            let headers = [("content-type", "application/json".to_owned())];
            wire::respond(&mut connection, status, &headers, &body)?;
        }
        Ok(())
    }
}

impl State {
    /// A new id; those of messages have the characters of base64.
    pub(super) fn new_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}{:04}+q/==", self.ids)
    }

    pub(super) fn calls_of(&self, route: &str) -> Vec<Call> {
        let calls = self.calls.iter().filter(|call| call.route == route);
        calls.cloned().collect()
    }

    pub(super) fn complain(&mut self, complaint: String) {
        if !self.forgiven.iter().any(|words| complaint.contains(words)) {
            self.complaints.push(complaint);
        }
    }
}
