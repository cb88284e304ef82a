//! Whatever a tool server sends is read within its bounds, and what is written about it is one line of JSON.

use peacrab::base::chat::{InputAnswer, InputKind};
use peacrab::base::limits::mcp::{BATCH, FIELDS, LISTED};
use peacrab::tools::mcp::client::message::{self, Message};
use peacrab::tools::mcp::client::{input, protocol, tool};

fn take(params: &str) {
    for method in ["elicitation/create", "sampling/createMessage"] {
        let Ok(request) = input::read("server", method, params) else {
            continue;
        };
        if let InputKind::Form(fields) = &request.kind {
            assert!(fields.len() <= FIELDS);
        }
        for answer in [
            InputAnswer::Given(Default::default()),
            InputAnswer::Declined,
        ] {
            if let Ok(value) = input::write(&request, &answer) {
                let text = message::response("1", Ok(value));
                assert!(!text.contains('\n') && message::read(&text).is_some());
            }
        }
    }
    for with_headers in [false, true] {
        if let Some(page) = tool::read_tools(params, with_headers) {
            assert!(page.items.len() + page.refused.len() <= LISTED);
            for tool in &page.items {
                tool::header_values(tool, &Default::default());
            }
        }
    }
    tool::read_resources(params);
    tool::read_prompts(params);
    protocol::read_initialize(params);
    protocol::read_discover(params);
    input::read_required(params);
}

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let messages = message::split(text);
    assert!(messages.len() <= BATCH.max(1));
    for one in messages {
        match message::read(one) {
            Some(Message::Response { outcome, .. }) => {
                if let Ok(result) = outcome {
                    take(result.get());
                }
            }
            Some(Message::Request { params, .. } | Message::Notification { params, .. }) => {
                params.into_iter().for_each(|params| take(params.get()));
            }
            None => take(one),
        }
    }
}
