//! Any input in any pieces gives an answer or a failure. The stored text is the shown text, and every
//! call can be answered.

use super::in_two;
use std::sync::atomic::AtomicBool;

use peacrab::base::chat::{Reply, ToolSpec};
use peacrab::base::limits::models::REPLY_BYTES;
use peacrab::models::classify::Failure;
use peacrab::models::openai::decode::{Decoder, Server};
use peacrab::net::http::sse::{Event, Parser};

static TOOLS: [ToolSpec; 1] = [ToolSpec::fixed("ls", "", "{}")];

/// An answer of an official API, or of a server that may not understand its model's template.
fn answer(is_official: bool, pieces: &[&[u8]]) -> Result<(Reply, String), Failure> {
    let has_called = AtomicBool::new(false);
    let mut decoder = Decoder::new(&TOOLS, 1);
    if !is_official {
        decoder = decoder.of_server(Server {
            model: "mine",
            has_called: &has_called,
        });
    }
    let mut parser = Parser::default();
    let mut shown = String::new();
    let mut handle = |event: Event<'_>| decoder.event(event.data, &mut |text| shown.push_str(text));
    for piece in pieces {
        parser.push(piece, &mut handle)?;
    }
    parser.finish(&mut handle)?;
    let reply = decoder.finish(&mut |text| shown.push_str(text))?;
    Ok((reply, shown))
}

pub fn run(bytes: &[u8]) {
    let (stream, left, right) = in_two(bytes);
    let served = answer(false, &[left, right]);
    let answered = answer(true, &[left, right]);
    assert_eq!(answered, answer(true, &[stream]));
    if let (Ok((served, _)), Ok((whole, _))) = (&served, answer(false, &[stream])) {
        assert_eq!(*served, whole);
    }
    if let Ok((reply, shown)) = answered {
        assert_eq!(reply.text, shown.trim());
        assert!(reply.text.len() <= REPLY_BYTES);
        for call in reply.tool_calls {
            assert!(!call.id.is_empty() && !call.name.is_empty() && !call.arguments.is_empty());
        }
    }
    let whole = String::from_utf8_lossy(stream);
    let _ = Decoder::new(&TOOLS, 1).whole(&whole);
}
