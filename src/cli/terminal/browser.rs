//! Waits for the browser at the end of a login, or for its address to be pasted.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::{print, texts};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::sync::Mutex;
use std::time::Duration;

/// Bytes of the first line of a browser's request at the end of a login.
const REDIRECT_BYTES: u64 = 16 * 1024;
/// How often it is looked whether the browser has come.
const REDIRECT_PAUSE: Duration = Duration::from_millis(200);
/// How long the browser is waited for.
const REDIRECT_TIME: Duration = Duration::from_secs(600);

/// How the request of the browser looks that ends a login.
pub struct End {
    /// The address without a query, such as `http://127.0.0.1:1/callback`.
    pub redirect: String,
    /// The part of the query that only this login has.
    pub state: String,
}

/// The address at which the browser ended: at the listener, or as it was pasted. `ask` asks the person for it until
/// it is cancelled. Without a terminal the link is only shown, and a browser on this machine can still end the login.
pub fn wait(
    url: &str,
    ask: impl FnOnce(&Cancel) -> Option<String>,
    listener: Option<TcpListener>,
    end: End,
    cancel: &Cancel,
) -> Option<String> {
    let came = Arc::new(Mutex::new(None));
    // Raised when the browser came, when it is not waited for any longer, or by Ctrl-C.
    let ended = Cancel::new();
    let hook = ended.clone();
    let _stop = cancel.on_cancel(move || hook.cancel());
    let thread = listener.and_then(|listener| {
        let (came, ended) = (Arc::clone(&came), ended.clone());
        let work = move || {
            if let Some(address) = listen(&listener, &end, &ended) {
                *came.lock() = Some(address);
                ended.cancel();
            }
        };
        let builder = std::thread::Builder::new().name("login".to_owned());
        builder.spawn(work).ok()
    });
    let pasted = if print::can_ask() {
        ask(&ended)
    } else {
        let _ = print::line(url);
        ended.wait(REDIRECT_TIME);
        None
    };
    ended.cancel();
    if let Some(thread) = thread {
        let _ = thread.join();
    }
    let came = came.lock().take();
    pasted.or(came)
}

/// Waits for the browser's request to the redirect.
fn listen(listener: &TcpListener, end: &End, ended: &Cancel) -> Option<String> {
    listener.set_nonblocking(true).ok()?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(query) = answer(stream, end, ended) {
                    return Some(format!("{}?{query}", end.redirect));
                }
            }
            Err(_) if ended.wait(REDIRECT_PAUSE) => return None,
            Err(_) => {}
        }
    }
}

/// Reads the first line of a request, however slowly it comes for a while.
fn read_line(mut stream: &TcpStream, ended: &Cancel) -> Option<String> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(REDIRECT_PAUSE)).ok()?;
    stream.set_write_timeout(Some(REDIRECT_PAUSE)).ok()?;
    let (watch, mut line) = (Stopwatch::start(), Vec::new());
    let mut buffer = [0; 1024];
    while !line.contains(&b'\n') {
        if watch.elapsed() > REDIRECT_PAUSE * 10 || ended.is_cancelled() {
            return None;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(count) => line.extend_from_slice(buffer.get(..count)?),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return None,
        }
        if line.len() as u64 > REDIRECT_BYTES {
            return None;
        }
    }
    String::from_utf8(line).ok()
}

/// Answers a request. Returns what follows the `?` of one to the redirect, if it has the state of this login.
fn answer(mut stream: TcpStream, end: &End, ended: &Cancel) -> Option<String> {
    let line = read_line(&stream, ended)?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    let path = end.redirect.splitn(4, '/').nth(3)?;
    let query = target
        .strip_prefix('/')?
        .strip_prefix(path)?
        .strip_prefix('?');
    let query = query.filter(|query| query.split('&').any(|pair| pair == end.state));
    let query = query.map(str::to_owned);
    let (status, text) = match &query {
        Some(_) => ("200 OK", texts::PAGE),
        None => ("404 Not Found", ""),
    };
    let length = text.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}"
    );
    query
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn get(address: std::net::SocketAddr, target: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\n\r\n").unwrap();
        let mut reply = String::new();
        // What is not for us may be closed at once.
        let _ = stream.read_to_string(&mut reply);
        reply
    }

    #[test]
    fn the_browser_ends_the_login_and_other_requests_do_not() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let end = End {
            redirect: format!("http://{address}/callback"),
            state: "state=2".to_owned(),
        };
        let ended = Cancel::new();
        let waiting = std::thread::spawn(move || listen(&listener, &end, &ended));
        // It says one byte, and holds the others up for a while only.
        let mut silent = TcpStream::connect(address).unwrap();
        silent.write_all(b"G").unwrap();
        assert!(!get(address, "/favicon.ico").contains("logged in"));
        for other in ["/callback", "/callback?x=1", "/callback?code=1&state=3"] {
            assert!(!get(address, other).contains("200 OK"), "{other}");
        }
        assert!(get(address, "/callback?code=1&state=2").contains("You can close this page"));
        let came = waiting.join().unwrap();
        assert_eq!(
            came,
            Some(format!("http://{address}/callback?code=1&state=2"))
        );
    }

    #[test]
    fn without_a_browser_the_wait_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ended = Cancel::new();
        ended.cancel();
        let end = End {
            redirect: String::new(),
            state: String::new(),
        };
        assert_eq!(listen(&listener, &end, &ended), None);
    }
}
