//! Requests from the bytes of a connection. PURE.
//!
//! What two readers could take for two different things is refused, and the connection ends: a length that is given
//! twice or beside chunks, a header that goes on in the next line, a line that ends without a carriage return. So
//! nothing in front of us and nothing behind us can be made to disagree about where a request ends (RFC 9112, 11.2).

/// Bytes of a request's head: browsers and clients of APIs send less than 2 kB.
pub const HEAD_BYTES: usize = 8 * 1024;
/// Headers of a request; a browser behind two proxies sends about 30.
pub const HEADERS: usize = 64;
/// Bytes of the line that begins a chunk, with its extensions, which no client of ours has.
const CHUNK_LINE_BYTES: usize = 64;

/// Why a request is refused: its status, and a text for the author of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the reply.
    pub status: u16,
    /// The reason.
    pub why: &'static str,
}

const fn bad(why: &'static str) -> Refusal {
    Refusal { status: 400, why }
}

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, as it was sent, without the query.
    pub path: String,
    /// Whether the connection may have another request behind this one.
    pub keep: bool,
    /// Whether the client waits for permission before it sends the body.
    pub expects: bool,
    /// The names of the headers in lower case, with their values.
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find_map(|(known, value)| (known == name).then_some(value.as_str()))
    }

    fn count(&self, name: &str) -> usize {
        let headers = self.headers.iter();
        headers.filter(|(known, _)| known == name).count()
    }
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// So many bytes are still to come.
    Length(usize),
    /// A line with the length of the next chunk comes.
    ChunkLine,
    /// So many bytes of a chunk are still to come.
    Chunk(usize),
    /// The end of a chunk's line comes.
    ChunkEnd,
    /// Lines behind the last chunk come, up to an empty one.
    Trailer,
    /// The body is complete.
    Done,
}

/// A step of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// A head is complete. Its body is read after [`Reader::allow`].
    Head(Head),
    /// The request whose head came before is complete, with this body.
    Body(Vec<u8>),
}

/// Reads the requests of one connection.
#[derive(Debug, Default)]
pub struct Reader {
    buffer: Vec<u8>,
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    framing: Framing,
    bytes: Vec<u8>,
    /// The most bytes that it may have; `None` before they are allowed.
    most: Option<usize>,
    /// Bytes of trailers so far.
    trailer: usize,
}

impl Reader {
    /// Takes bytes that have come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether nothing of a request has come.
    pub fn is_idle(&self) -> bool {
        self.body.is_none() && self.buffer.is_empty()
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |body| body.bytes.len());
        self.buffer.len() + body
    }

    /// Whether more bytes may be read now: not before the body is allowed, and not while a whole head waits.
    pub fn wants_more(&self) -> bool {
        match &self.body {
            Some(body) => body.most.is_some() && self.buffer.len() < HEAD_BYTES,
            None => self.buffer.len() <= HEAD_BYTES,
        }
    }

    /// Lets the body of the current request come, up to a number of bytes.
    pub fn allow(&mut self, most: usize) {
        if let Some(body) = &mut self.body {
            body.most = Some(most);
        }
    }

    /// The next step that the bytes allow.
    pub fn step(&mut self) -> Result<Step, Refusal> {
        match &mut self.body {
            None => self.read_head(),
            Some(body) => {
                let Some(most) = body.most else {
                    return Ok(Step::More);
                };
                read_body(body, &mut self.buffer, most)?;
                if body.framing != Framing::Done {
                    return Ok(Step::More);
                }
                let bytes = self.body.take().map(|body| body.bytes);
                Ok(Step::Body(bytes.unwrap_or_default()))
            }
        }
    }

    fn read_head(&mut self) -> Result<Step, Refusal> {
        let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = end.map(|end| end + 4) else {
            if self.buffer.len() > HEAD_BYTES {
                return Err(Refusal {
                    status: 431,
                    why: "the head of the request is too long",
                });
            }
            // A line that has ended in another way never becomes a head.
            return check_lines(&self.buffer).map(|()| Step::More);
        };
        if end > HEAD_BYTES {
            return Err(Refusal {
                status: 431,
                why: "the head of the request is too long",
            });
        }
        let bytes: Vec<u8> = self.buffer.drain(..end).collect();
        check_lines(&bytes)?;
        let (head, framing) = parse_head(&bytes)?;
        self.body = Some(Body {
            framing,
            bytes: Vec::new(),
            most: None,
            trailer: 0,
        });
        Ok(Step::Head(head))
    }
}

/// Every line has to end with both characters, and none may be the rest of the one before.
fn check_lines(bytes: &[u8]) -> Result<(), Refusal> {
    let mut before = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let is_after_line = before == b'\n' && index > 0;
        if *byte == b'\n' && before != b'\r' {
            return Err(bad("a line does not end with CR LF"));
        }
        if is_after_line && (*byte == b' ' || *byte == b'\t') {
            return Err(bad("a header goes on in the next line"));
        }
        if before == b'\r' && *byte != b'\n' {
            return Err(bad("a carriage return stands within a line"));
        }
        before = *byte;
    }
    Ok(())
}

fn parse_head(bytes: &[u8]) -> Result<(Head, Framing), Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal {
                status: 431,
                why: "the request has too many headers",
            });
        }
        _ => return Err(bad("this is not HTTP/1.1")),
    }
    let target = request.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err(bad("the target has to be a path"));
    }
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let mut head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        ..Head::default()
    };
    for header in request.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| bad("a header is not text"))?;
        let name = header.name.to_ascii_lowercase();
        head.headers.push((name, value.trim().to_owned()));
    }
    let is_newest = request.version == Some(1);
    let connection = head.header("connection").unwrap_or_default();
    let asks = |word: &str| {
        let mut words = connection.split(',');
        words.any(|one| one.trim().eq_ignore_ascii_case(word))
    };
    head.keep = is_newest && !asks("close");
    head.expects = head
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"));
    let framing = framing_of(&head, is_newest)?;
    if head.count("host") != 1 {
        return Err(bad("exactly one Host is needed"));
    }
    Ok((head, framing))
}

fn framing_of(head: &Head, is_newest: bool) -> Result<Framing, Refusal> {
    let (lengths, codings) = (
        head.count("content-length"),
        head.count("transfer-encoding"),
    );
    match (lengths, codings) {
        (0, 0) => Ok(Framing::Done),
        (1, 0) => {
            let text = head.header("content-length").unwrap_or_default();
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let length = text.parse().ok().filter(|_| is_number);
            let length = length.ok_or(bad("Content-Length is not a number"))?;
            Ok(match length {
                0 => Framing::Done,
                length => Framing::Length(length),
            })
        }
        (0, 1) if is_newest => match head.header("transfer-encoding") {
            Some(coding) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::ChunkLine),
            _ => Err(Refusal {
                status: 501,
                why: "the only Transfer-Encoding is chunked",
            }),
        },
        (0, 1) => Err(bad("HTTP/1.0 has no chunks")),
        (0, _) | (_, 0) => Err(bad("the length of the body is given more than once")),
        _ => Err(bad("both Content-Length and Transfer-Encoding are given")),
    }
}

fn read_body(body: &mut Body, buffer: &mut Vec<u8>, most: usize) -> Result<(), Refusal> {
    const TOO_LONG: Refusal = Refusal {
        status: 413,
        why: "the body of the request is too long",
    };
    if matches!(body.framing, Framing::Length(length) if body.bytes.len().saturating_add(length) > most)
    {
        return Err(TOO_LONG);
    }
    loop {
        body.framing = match body.framing {
            Framing::Done => return Ok(()),
            Framing::Length(left) | Framing::Chunk(left) => {
                let count = left.min(buffer.len());
                if count == 0 {
                    return Ok(());
                }
                body.bytes.extend(buffer.drain(..count));
                match (body.framing, left - count) {
                    (Framing::Length(_), 0) => Framing::Done,
                    (Framing::Length(_), left) => Framing::Length(left),
                    (_, 0) => Framing::ChunkEnd,
                    (_, left) => Framing::Chunk(left),
                }
            }
            Framing::ChunkLine => {
                let Some(line) = take_line(buffer, CHUNK_LINE_BYTES)? else {
                    return Ok(());
                };
                match chunk_length(&line)? {
                    0 => Framing::Trailer,
                    length if body.bytes.len().saturating_add(length) > most => {
                        return Err(TOO_LONG);
                    }
                    length => Framing::Chunk(length),
                }
            }
            Framing::ChunkEnd => match take_line(buffer, 0)? {
                None => return Ok(()),
                Some(_) => Framing::ChunkLine,
            },
            Framing::Trailer => {
                let Some(line) = take_line(buffer, HEAD_BYTES - body.trailer)? else {
                    return Ok(());
                };
                body.trailer += (line.len() + 2).min(HEAD_BYTES - body.trailer);
                if line.is_empty() {
                    Framing::Done
                } else {
                    Framing::Trailer
                }
            }
        };
    }
}

/// Takes a line without its end; `None` when it has not come. Fails when it has more bytes than it may.
fn take_line(buffer: &mut Vec<u8>, most: usize) -> Result<Option<Vec<u8>>, Refusal> {
    let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
        return match buffer.len() > most + 1 {
            true => Err(bad("a line between chunks is too long")),
            false => Ok(None),
        };
    };
    let mut line: Vec<u8> = buffer.drain(..=end).collect();
    line.pop();
    if line.pop() != Some(b'\r') {
        return Err(bad("a line between chunks does not end with CR LF"));
    }
    if line.len() > most {
        return Err(bad("a line between chunks is too long"));
    }
    Ok(Some(line))
}

/// The length of a chunk. Extensions are passed over.
fn chunk_length(line: &[u8]) -> Result<usize, Refusal> {
    let refused = bad("the length of a chunk is not a number");
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(refused);
    }
    let text = std::str::from_utf8(digits).map_err(|_| refused.clone())?;
    usize::from_str_radix(text, 16).map_err(|_| refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All requests of some bytes, or the refusal.
    fn read(pieces: &[&[u8]]) -> Result<Vec<(Head, Vec<u8>)>, Refusal> {
        let mut reader = Reader::default();
        let (mut heads, mut bodies) = (Vec::new(), Vec::new());
        for piece in pieces {
            reader.push(piece);
            loop {
                match reader.step()? {
                    Step::More => break,
                    Step::Head(head) => {
                        heads.push(head);
                        reader.allow(1000);
                    }
                    Step::Body(body) => bodies.push(body),
                }
            }
        }
        Ok(heads.into_iter().zip(bodies).collect())
    }

    fn status(text: &str) -> u16 {
        read(&[text.as_bytes()]).map_or_else(|refusal| refusal.status, |_| 200)
    }

    const CHUNKED: &str = "POST /a?q=1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;e=1\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n";

    #[test]
    fn requests_are_read_whole_in_halves_and_byte_by_byte() {
        let text = format!(
            "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi{CHUNKED}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        let whole = read(&[text.as_bytes()]).unwrap();
        let bodies: Vec<_> = whole.iter().map(|(_, body)| body.as_slice()).collect();
        assert_eq!(bodies, [&b"hi"[..], b"abcde", b""]);
        assert_eq!((whole[1].0.path.as_str(), whole[1].0.keep), ("/a", true));
        assert!(!whole[2].0.keep);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes).unwrap(), whole);
        for cut in 0..text.len() {
            let (left, right) = text.as_bytes().split_at(cut);
            assert_eq!(read(&[left, right]).unwrap(), whole, "{cut}");
        }
    }

    #[test]
    fn what_two_readers_could_take_differently_is_refused() {
        let post = |headers: &str| {
            status(&format!(
                "POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n\r\nhi"
            ))
        };
        assert_eq!(post("Content-Length: 2"), 200);
        for headers in [
            "Content-Length: 2\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 2",
            "Content-Length: 2\r\nContent-Length: 2",
            "Content-Length: 2\r\nContent-Length: 3",
            "Content-Length: 2, 2",
            "Content-Length: +2",
            "Content-Length: -2",
            "Content-Length: 0x2",
            "Content-Length: ",
            "Content-Length: 99999999999999999999999999",
            "Content-Length : 2",
            "Content-Length:\r\n 2",
            "X: a\r\n\tContent-Length: 2",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "X: a\nContent-Length: 2",
            "X: a\rContent-Length: 2",
            "X: \0",
            "Host: y",
        ] {
            assert_eq!(post(headers), 400, "{headers:?}");
        }
        for coding in [
            "identity",
            "xchunked",
            "gzip, chunked",
            "chunked, identity",
            "\u{b}chunked",
        ] {
            let got = post(&format!("Transfer-Encoding: {coding}"));
            assert!(got == 501 || got == 400, "{coding:?}: {got}");
        }
        for text in [
            "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET http://evil/ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\nHost: x\n\n",
            " GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\u{16}\u{3}\u{1}\r\n\r\n",
        ] {
            assert_eq!(status(text), 400, "{text:?}");
        }
        for chunks in [
            "-1\r\n",
            "+2\r\nhi\r\n",
            "0x2\r\nhi\r\n",
            "\r\n",
            "2\nhi\r\n",
            "2\r\nhiX\r\n",
            "g\r\n",
        ] {
            let text =
                format!("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
            assert_eq!(status(&text), 400, "{chunks:?}");
        }
    }

    #[test]
    fn heads_and_bodies_have_bounds() {
        let head = |headers: &str| format!("GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        assert_eq!(
            status(&head(&format!("X: {}\r\n", "a".repeat(HEAD_BYTES)))),
            431
        );
        assert_eq!(status(&"a".repeat(HEAD_BYTES + 1)), 431);
        assert_eq!(status(&head(&"X: a\r\n".repeat(HEADERS))), 431);
        assert_eq!(status(&head(&"X: a\r\n".repeat(HEADERS - 1))), 200);
        let length =
            |count: usize| format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {count}\r\n\r\n");
        assert_eq!(status(&length(1001)), 413);
        let chunk = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(status(&format!("{chunk}3e9\r\n")), 413);
        assert_eq!(status(&format!("{chunk}ffffffffffffffff\r\n")), 413);
        assert_eq!(
            status(&format!("{chunk}3e8\r\n{}\r\n1\r\n", "a".repeat(1000))),
            413
        );
        assert_eq!(
            status(&format!("{chunk}1;{}", "a".repeat(CHUNK_LINE_BYTES))),
            400
        );
        assert_eq!(
            status(&format!("{chunk}0\r\n{}", "T: 1\r\n".repeat(HEAD_BYTES))),
            400
        );
    }

    #[test]
    fn no_body_is_read_before_it_is_allowed() {
        let mut reader = Reader::default();
        reader.push(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
        );
        let Ok(Step::Head(head)) = reader.step() else {
            panic!("no head");
        };
        assert!(head.expects && !reader.wants_more());
        assert_eq!(reader.step(), Ok(Step::More));
        reader.allow(2);
        assert_eq!(reader.step(), Ok(Step::Body(b"hi".to_vec())));
        assert!(reader.is_idle());
    }
}
