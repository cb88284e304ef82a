//! Streams of events that outlive a request. In the transport of 2024-11-05 one brings all messages, and its
//! first event says where to send ours (<https://modelcontextprotocol.io/specification/2024-11-05/basic/transports>).
//! Until 2025-11-25 a server may ask its questions on one beside the reply that waits for their answers.

use std::io::Read;
use std::sync::Arc;
use std::thread::Builder;

use super::inbox::{Inbox, InboxReplies};
use super::replies::HttpReplies;
use super::{Headers, Shared, header};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::http::COPY_BYTES;
use crate::base::limits::mcp::CONNECT_TIME;
use crate::net::http::sse::Parser;
use crate::net::http::{Method, error_of};
use crate::tools::mcp::client::transport::{Incoming, Replies};
use crate::tools::mcp::client::{CALL_TIME, MESSAGE_BYTES};
use std::time::Duration;

/// Time for a server to accept a stream for its questions, before a call that may end in one.
const LISTEN_TIME: Duration = Duration::from_secs(1);

/// A stream, which a thread of its own reads.
pub struct Stream {
    address: String,
    inbox: Arc<Inbox>,
    _reader: Reader,
}

/// Ends a thread.
struct Reader(Cancel);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Stream {
    /// Opens the stream of the older transport and waits for its first event.
    pub fn open_older(shared: &Shared, cancel: &Cancel) -> Result<Self> {
        let (inbox, reader) = start(shared, Vec::new())?;
        let address = inbox.wait((CONNECT_TIME, true), cancel, |state| state.address.clone())?;
        Ok(Self {
            address: address
                .ok_or_else(|| inbox.closed("it does not say where to send messages"))?,
            inbox,
            _reader: reader,
        })
    }

    /// Opens a stream beside the replies, with these headers.
    pub fn listen(shared: &Shared, headers: Headers, cancel: &Cancel) -> Result<Self> {
        let (inbox, reader) = start(shared, headers)?;
        // A server may say nothing until it has something to say.
        inbox.wait((LISTEN_TIME, true), cancel, |state| {
            state.is_open.then_some(())
        })?;
        Ok(Self {
            address: String::new(),
            inbox,
            _reader: reader,
        })
    }

    /// Where messages are sent in the older transport.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether nothing comes any more.
    pub fn is_over(&self) -> bool {
        self.inbox.is_over()
    }

    /// Whether a request waits for what comes.
    pub fn is_used(&self) -> bool {
        self.inbox.is_used()
    }

    /// The replies to the request with this id, which is still to be sent.
    pub fn expect(&self, id: u64) -> InboxReplies {
        self.inbox.expect(id, true)
    }

    /// The replies to a request, and what comes on this stream meanwhile.
    pub fn beside(&self, mut replies: HttpReplies, id: u64) -> Result<InboxReplies> {
        let both = self.inbox.expect(id, false);
        let (inbox, cancel) = (Arc::clone(&self.inbox), both.cancel().clone());
        let reads = move || {
            loop {
                match replies.next(CALL_TIME, &cancel) {
                    Ok(Incoming::Message(message)) => {
                        if inbox.put(Some(id), Ok(message), &cancel).is_err() {
                            return;
                        }
                    }
                    Ok(Incoming::Nothing) => return,
                    Err(error) => return drop(inbox.put(Some(id), Err(error), &cancel)),
                }
                if replies.is_answered() {
                    return;
                }
            }
        };
        spawn(reads)?;
        Ok(both)
    }
}

fn spawn(runs: impl FnOnce() + Send + 'static) -> Result<()> {
    crate::base::sync::spawn(Builder::new(), Box::new(runs))
        .map_err(|error| Error::Failed(format!("cannot start a thread: {error}")))
}

fn start(shared: &Shared, headers: Headers) -> Result<(Arc<Inbox>, Reader)> {
    let inbox = Arc::new(Inbox::new(&shared.parts));
    let reader = Reader(Cancel::new());
    let (of_thread, cancel) = (Arc::clone(&inbox), reader.0.clone());
    // It shares nothing with the requests, so that their end is the end of the thread.
    let alone = Shared::new(shared.parts.clone());
    spawn(move || {
        let outcome = receive(&alone, headers, &of_thread, &cancel);
        of_thread.end(outcome.err());
    })?;
    Ok((inbox, reader))
}

/// Reads the stream until it ends.
fn receive(
    shared: &Shared,
    mut headers: Headers,
    inbox: &Arc<Inbox>,
    cancel: &Cancel,
) -> Result<()> {
    let url = &shared.parts.server.url;
    let client = shared.client(cancel)?;
    client.set_idle(CALL_TIME);
    headers.push(header::pair("accept", "text/event-stream"));
    let response = shared.exchange(&client, (Method::GET, url), &headers, None)?;
    let response = response.checked()?;
    let kind = response.header("content-type").unwrap_or_default();
    if !kind.starts_with("text/event-stream") {
        return Err(inbox.closed("it does not answer with events"));
    }
    inbox.begin();
    let mut body = response.into_reader(usize::MAX);
    let mut parser = Parser::with_bytes_max(MESSAGE_BYTES);
    let mut buffer = [0; COPY_BYTES];
    loop {
        let count = body.read(&mut buffer).map_err(error_of)?;
        if count == 0 {
            return Ok(());
        }
        parser.push(&buffer[..count], &mut |event| {
            inbox.take(url, event, cancel)
        })?;
    }
}
