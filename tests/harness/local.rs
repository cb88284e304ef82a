//! A program that is a channel: it passes on what people write, sends again what was not acknowledged, and recognises by
//! their ids messages that come again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The program. It ends when it is dropped, and fails the test then if it was told something that makes no sense.
pub struct LocalProgram {
    shared: Arc<Shared>,
    folder: tempfile::TempDir,
}

/// A message as the program shows it.
#[derive(Clone, Debug)]
pub struct LocalMessage {
    pub id: String,
    pub text: String,
    /// Labels and data.
    pub buttons: Vec<(String, String)>,
    /// The name and the content of a file.
    pub file: Option<(String, Vec<u8>)>,
}

struct Shared {
    socket: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stream: Option<UnixStream>,
    connections: usize,
    is_offline: bool,
    has_ended: bool,
    last_id: usize,
    /// Lines that were not acknowledged, by their ids.
    unacknowledged: BTreeMap<usize, Value>,
    /// By chat, in their order.
    messages: Vec<(String, LocalMessage)>,
    errors: Vec<Value>,
    complaints: Vec<String>,
}

impl LocalProgram {
    /// A program for a socket that need not be there yet.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shared = Arc::new(Shared {
            socket: folder.path().join("peacrab.sock"),
            state: Mutex::default(),
        });
        let follower = Arc::clone(&shared);
        thread::spawn(move || follower.run());
        Self { shared, folder }
    }

    /// Where it expects the socket.
    pub fn socket(&self) -> &Path {
        &self.shared.socket
    }

    /// How often it has connected.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// Says something that has an id; returns that.
    pub fn says(&self, mut line: Value) -> String {
        let mut state = self.shared.state();
        state.last_id += 1;
        let id = state.last_id;
        line["id"] = json!(id.to_string());
        state.write(&line);
        state.unacknowledged.insert(id, line);
        id.to_string()
    }

    /// Writes bytes as they are.
    pub fn writes(&self, bytes: &[u8]) {
        let state = self.shared.state();
        let mut stream = state.stream.as_ref().unwrap();
        stream.write_all(bytes).unwrap();
    }

    /// How many lines are not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.shared.state().unacknowledged.len()
    }

    /// The errors that it was told.
    pub fn errors(&self) -> Vec<Value> {
        self.shared.state().errors.clone()
    }

    /// The messages of a chat.
    pub fn messages(&self, chat: &str) -> Vec<LocalMessage> {
        let state = self.shared.state();
        let of_chat = state.messages.iter().filter(|(of, _)| of == chat);
        of_chat.map(|(_, message)| message.clone()).collect()
    }

    /// Stores a file that it can pass on; returns its path.
    pub fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Breaks the connection; it connects again.
    pub fn disconnect(&self) {
        self.shared.state().disconnect();
    }

    /// Stays away, or comes back.
    pub fn set_offline(&self, is_offline: bool) {
        let mut state = self.shared.state();
        state.is_offline = is_offline;
        if is_offline {
            state.disconnect();
        }
    }
}

impl Drop for LocalProgram {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.has_ended = true;
        state.disconnect();
        let complaints = std::mem::take(&mut state.complaints);
        drop(state);
        if !thread::panicking() {
            assert!(complaints.is_empty(), "the local program: {complaints:#?}");
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let (has_ended, is_offline) = {
                let state = self.state();
                (state.has_ended, state.is_offline)
            };
            if has_ended {
                return;
            }
            match UnixStream::connect(&self.socket) {
                Ok(stream) if !is_offline => self.follow(stream),
                // There is no gateway, and nothing says when one comes.
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn follow(&self, stream: UnixStream) {
        let reader = BufReader::new(stream.try_clone().unwrap());
        {
            let mut state = self.state();
            if state.is_offline || state.has_ended {
                return;
            }
            state.stream = Some(stream);
            state.write(&json!({"type": "subscribe"}));
            let again: Vec<Value> = state.unacknowledged.values().cloned().collect();
            again.iter().for_each(|line| state.write(line));
            state.connections += 1;
        }
        for line in reader.lines() {
            let Ok(line) = line else {
                break;
            };
            self.state().take(&line);
        }
        self.state().stream = None;
    }
}

impl State {
    fn write(&mut self, line: &Value) {
        if let Some(mut stream) = self.stream.as_ref() {
            // What does not arrive is sent again.
            let _ = stream.write_all(format!("{line}\n").as_bytes());
        }
    }

    fn disconnect(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn complain(&mut self, why: &str, line: &str) {
        self.complaints.push(format!("{why}: {line}"));
    }

    fn take(&mut self, text: &str) {
        let Ok(line) = serde_json::from_str::<Value>(text) else {
            return self.complain("not JSON", text);
        };
        let member = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let (id, chat) = (member("id"), member("chat"));
        let place = self
            .messages
            .iter()
            .position(|(of, message)| *of == chat && message.id == id);
        match (line["type"].as_str(), place) {
            (Some("ack"), _) => match id.parse() {
                Ok(id) if id <= self.last_id => {
                    self.unacknowledged.remove(&id);
                }
                _ => self.complain("never said", text),
            },
            (Some("error"), _) => self.errors.push(line),
            // It came before: the gateway was killed before it knew.
            (Some("message" | "file"), Some(_)) => {}
            (Some("message" | "file"), None) => {
                let file = line["path"].as_str().map(|path| {
                    let content = std::fs::read(path).unwrap();
                    std::fs::remove_file(path).unwrap();
                    (member("name"), content)
                });
                let message = LocalMessage {
                    id,
                    text: member("text"),
                    buttons: buttons(&line),
                    file,
                };
                self.messages.push((chat, message));
            }
            (Some("edit"), Some(place)) => {
                let (_, message) = &mut self.messages[place];
                message.text = member("text");
                message.buttons = buttons(&line);
            }
            (Some("delete"), Some(place)) => {
                self.messages.remove(place);
            }
            _ => self.complain("makes no sense", text),
        }
    }
}

fn buttons(line: &Value) -> Vec<(String, String)> {
    let rows = line["buttons"].as_array().into_iter().flatten();
    let buttons = rows.filter_map(Value::as_array).flatten();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    buttons
        .map(|button| (text(&button["label"]), text(&button["data"])))
        .collect()
}
