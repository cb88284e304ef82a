//! Any input in any pieces gives an answer or a failure. The stored text is the shown text, and every
//! call can be answered.

use super::in_two;
use peacrab::base::chat::Reply;
use peacrab::base::limits::models::REPLY_BYTES;
use peacrab::models::anthropic::decode::Decoder;
use peacrab::models::classify::Failure;
use peacrab::net::http::sse::{Event, Parser};

fn answer(pieces: &[&[u8]]) -> Result<(Reply, String), Failure> {
    let mut decoder = Decoder::new(1);
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
    let answered = answer(&[left, right]);
    assert_eq!(answered, answer(&[stream]));
    if let Ok((reply, shown)) = answered {
        assert_eq!(reply.text, shown.trim());
        assert!(reply.text.len() <= REPLY_BYTES);
        for call in reply.tool_calls {
            assert!(!call.id.is_empty() && !call.arguments.is_empty());
        }
    }
    let whole = String::from_utf8_lossy(stream);
    let _ = Decoder::new(1).whole(&whole);
}
