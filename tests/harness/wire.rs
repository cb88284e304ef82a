//! The part of HTTP/1.1 that the fake servers need.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::harness::line::{Line, Paced};

/// A connection, encrypted or not.
pub(super) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A connection that is read by lines.
pub(super) type Connection = BufReader<Box<dyn Stream>>;

/// Starts to read from a client, with TLS if there is a configuration for it.
pub(super) fn open(
    socket: TcpStream,
    line: &Arc<Line>,
    tls: Option<&Arc<ServerConfig>>,
) -> io::Result<Connection> {
    let line = Arc::clone(line);
    let socket = Paced { socket, line };
    let stream: Box<dyn Stream> = match tls {
        Some(config) => {
            let server = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(server, socket))
        }
        None => Box::new(socket),
    };
    Ok(BufReader::new(stream))
}

/// A request.
pub(super) struct RawRequest {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Reads the next request; `None` if the client has disconnected.
pub(super) fn read(connection: &mut Connection) -> io::Result<Option<RawRequest>> {
    let Some(mut request) = read_head(connection)? else {
        return Ok(None);
    };
    read_body(connection, &mut request)?;
    Ok(Some(request))
}

/// Reads a request without its body; `None` if the client has disconnected.
pub(super) fn read_head(connection: &mut Connection) -> io::Result<Option<RawRequest>> {
    let first = line(connection)?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut request = RawRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    loop {
        let header = line(connection)?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        request
            .headers
            .push((name.to_lowercase(), value.trim().to_owned()));
    }
    Ok(Some(request))
}

/// Reads the body that belongs to a head.
pub(super) fn read_body(connection: &mut Connection, request: &mut RawRequest) -> io::Result<()> {
    if request.header("expect").is_some() {
        connection
            .get_mut()
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    if request.header("transfer-encoding").is_some() {
        while read_chunk(connection, &mut request.body)? {}
    } else {
        let length = request.header("content-length").map_or(Ok(0), str::parse);
        read_exactly(
            connection,
            length.map_err(io::Error::other)?,
            &mut request.body,
        )?;
    }
    Ok(())
}

impl RawRequest {
    fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// The first header with this name, in lower case.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

/// Sends a whole answer.
pub(super) fn respond(
    connection: &mut Connection,
    status: u16,
    headers: &[(&str, String)],
    body: &(impl AsRef<[u8]> + ?Sized),
) -> io::Result<()> {
    let body = body.as_ref();
    let length = ("content-length", body.len().to_string());
    let mut answer = head(status, headers.iter().chain([&length])).into_bytes();
    answer.extend_from_slice(body);
    send(connection, &answer)
}

/// Sends the head of an answer.
pub(super) fn begin(
    connection: &mut Connection,
    status: u16,
    headers: &[(&str, String)],
) -> io::Result<()> {
    send(connection, head(status, headers.iter()).as_bytes())
}

/// Sends the head of an answer whose body comes in chunks.
pub(super) fn begin_chunks(connection: &mut Connection, content_type: &str) -> io::Result<()> {
    let headers = [
        ("content-type", content_type.to_owned()),
        ("transfer-encoding", "chunked".to_owned()),
    ];
    begin(connection, 200, &headers)
}

/// Sends one chunk; an empty one is the end.
pub(super) fn chunk(connection: &mut Connection, data: &str) -> io::Result<()> {
    send(
        connection,
        format!("{:x}\r\n{data}\r\n", data.len()).as_bytes(),
    )
}

/// Waits until the client disconnects.
pub(super) fn wait_for_the_end(connection: &mut Connection) {
    // An error is an end too.
    let _ = io::copy(connection, &mut io::sink());
}

fn head<'a>(status: u16, headers: impl Iterator<Item = &'a (&'a str, String)>) -> String {
    let mut text = format!("HTTP/1.1 {status} Scripted\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text + "\r\n"
}

/// Sends bytes of an answer's body.
pub(super) fn send(connection: &mut Connection, bytes: &[u8]) -> io::Result<()> {
    connection.get_mut().write_all(bytes)?;
    connection.get_mut().flush()
}

fn line(connection: &mut Connection) -> io::Result<String> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

fn read_chunk(connection: &mut Connection, body: &mut Vec<u8>) -> io::Result<bool> {
    let length = u64::from_str_radix(&line(connection)?, 16).map_err(io::Error::other)?;
    read_exactly(connection, length, body)?;
    line(connection)?;
    Ok(length > 0)
}

/// A killed client leaves half a body, which is not a request.
fn read_exactly(connection: &mut Connection, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    let read = connection.take(length).read_to_end(body)?;
    if read as u64 == length {
        Ok(())
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
