//! Server-sent events, parsed as their bytes arrive
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).

use crate::base::limits::http::EVENT_BYTES;

/// One event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What the server calls it; empty where it gives no name.
    pub name: &'a str,
    /// Its data lines, joined by newlines.
    pub data: &'a str,
}

/// A line or an event is longer than the parser allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Parses a stream that arrives in pieces of any size.
#[derive(Debug)]
pub struct Parser {
    /// Bytes of the longest line or event.
    bytes_max: usize,
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// Whether the last byte was a carriage return, so that a line feed ends no second line.
    after_return: bool,
    /// Whether the first line, which may begin with a byte order mark, is over.
    begun: bool,
    name: String,
    data: String,
    has_data: bool,
    /// The id of the event that is not complete yet, and of the last one that was.
    next_id: String,
    last_id: String,
    retry: Option<u64>,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_bytes_max(EVENT_BYTES)
    }
}

impl Parser {
    /// A parser that refuses longer lines and events.
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            after_return: false,
            begun: false,
            name: String::new(),
            data: String::new(),
            has_data: false,
            next_id: String::new(),
            last_id: String::new(),
            retry: None,
        }
    }

    /// The id of the last event that had one; may be empty.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// After how many milliseconds the server wants to be asked again.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Takes the next piece of the stream and calls `handle` with each event that it completes,
    /// until that fails.
    pub fn push<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        handle: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > self.bytes_max {
                return Err(TooLong.into());
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(handle)?;
        }
        Ok(())
    }

    /// Ends the stream. Unlike the standard, this also gives `handle` an event that lacks its final
    /// empty line: some servers leave that out, and the handler can tell whether the event is whole.
    pub fn finish<E: From<TooLong>>(
        mut self,
        handle: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_line(handle)?;
        self.dispatch(handle)
    }

    fn end_line<E: From<TooLong>>(
        &mut self,
        handle: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.begun, true) {
            text = text.trim_start_matches('\u{feff}').to_owned().into();
        }
        let (field, value) = split_field(&text);
        if text.is_empty() || self.begins_another(field, value) {
            self.dispatch(handle)?;
        }
        self.take_field(field, value)?;
        // The buffer is kept for the next line.
        drop(text);
        self.line = line;
        self.line.clear();
        Ok(())
    }

    /// Whether a line belongs to the next event, and the empty line between the two is missing: an object
    /// does not go on behind its end.
    fn begins_another(&self, field: &str, value: &str) -> bool {
        let begins = match field {
            "event" => true,
            "data" => value.starts_with('{') || value == "[DONE]",
            _ => false,
        };
        begins && self.data.trim_end().ends_with('}')
    }

    fn take_field(&mut self, field: &str, value: &str) -> Result<(), TooLong> {
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if self.data.len() + value.len() >= self.bytes_max {
                    return Err(TooLong);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.next_id),
            "retry" => self.retry = value.parse().ok().or(self.retry),
            // A comment has an empty name.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, handle: &mut dyn FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        self.last_id.clone_from(&self.next_id);
        let handled = if self.has_data {
            handle(Event {
                name: &self.name,
                data: &self.data,
            })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        handled
    }
}

/// A line's field and its value. A line that is an object, without a field, is data; and some proxies put
/// `data:` before that of another.
fn split_field(line: &str) -> (&str, &str) {
    if line.starts_with('{') || line == "[DONE]" {
        return ("data", line);
    }
    let (field, mut value) = line.split_once(':').unwrap_or((line, ""));
    while field == "data"
        && let Some(inner) = value.trim_start().strip_prefix("data:")
    {
        value = inner;
    }
    (field, value.strip_prefix(' ').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, TooLong> {
        let mut events = Vec::new();
        let mut collect = |event: Event<'_>| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        };
        let mut parser = Parser::default();
        for piece in pieces {
            parser.push(piece, &mut collect)?;
        }
        parser.finish(&mut collect)?;
        Ok(events)
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn comments_line_ends_and_several_data_lines_are_understood() {
        let stream = "\u{feff}data: one\r\n\r\n: keep-alive\n\nevent: ping\rdata:two\rdata: lines\r\rid: 7\nretry: 9\n\ndata\n\nevent: nothing\n\ndata:  last";
        assert_eq!(
            events(&[stream.as_bytes()]).unwrap(),
            [
                pair("", "one"),
                pair("ping", "two\nlines"),
                pair("", ""),
                pair("", " last"),
            ]
        );
    }

    #[test]
    fn events_are_told_apart_without_the_empty_line_or_the_field() {
        for stream in [
            "data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n",
            "{\"a\":1}\n{\"b\":2}\r\n[DONE]",
            "data: data: {\"a\":1}\n\ndata:data: data: {\"b\":2}\n\ndata: data: [DONE]\n\n",
        ] {
            let expected = ["{\"a\":1}", "{\"b\":2}", "[DONE]"].map(|data| pair("", data));
            assert_eq!(events(&[stream.as_bytes()]).unwrap(), expected, "{stream}");
        }
        let named = "event: a\ndata: {}\nevent: b\ndata: {\ndata: \"c\": {}\ndata: }\nid: 1\n";
        let expected = [pair("a", "{}"), pair("b", "{\n\"c\": {}\n}")];
        assert_eq!(events(&[named.as_bytes()]).unwrap(), expected);
    }

    #[test]
    fn an_id_counts_when_its_event_is_complete() {
        let mut parser = Parser::default();
        let mut push = |text: &str| {
            parser
                .push::<TooLong>(text.as_bytes(), &mut |_| Ok(()))
                .unwrap();
            (parser.last_id().to_owned(), parser.retry())
        };
        assert_eq!(
            push("id: 1\nretry: 500\ndata:\n"),
            (String::new(), Some(500))
        );
        assert_eq!(push("\nid: 2\n"), ("1".to_owned(), Some(500)));
        assert_eq!(push("retry: soon\n\n"), ("2".to_owned(), Some(500)));
    }

    #[test]
    fn an_endless_line_or_event_is_refused() {
        let line = vec![b'x'; EVENT_BYTES + 1];
        assert_eq!(events(&[b"data: ", &line]), Err(TooLong));
        let half = [b"data: ".as_slice(), &vec![b'x'; EVENT_BYTES / 2], b"\n"].concat();
        assert_eq!(events(&[&half, &half, &half]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn the_cuts_between_pieces_do_not_matter(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("data: ".to_owned()), Just("event: ".to_owned()), Just("\r".to_owned()),
                    Just("\n".to_owned()), Just("\r\n".to_owned()), Just(":".to_owned()),
                    Just("\u{feff}".to_owned()), "[a-z {}\"é]{0,6}",
                ],
                0..40,
            ),
            cuts in prop::collection::vec(0_usize..400, 0..12),
        ) {
            let stream = parts.concat().into_bytes();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[&stream]));
        }
    }
}
