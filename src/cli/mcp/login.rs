//! `peacrab mcp login` and `logout`.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use super::texts;
use crate::cancel::Cancel;
use crate::chat::{InputAnswer, InputKind, InputRequest};
use crate::cli::Context;
use crate::cli::compose::{mcp_folder_of, tls};
use crate::cli::terminal::interrupt::Foreground;
use crate::cli::terminal::{form, print};
use crate::clock::{Clock, Stopwatch};
use crate::config::Loaded;
use crate::error::{Error, Exit, Result};
use crate::limits::mcp::{REDIRECT_BYTES, REDIRECT_PAUSE, REDIRECT_TIME};
use crate::mcp::http::HttpParts;
use crate::mcp::oauth::{self, Login};
use crate::sync::Mutex;
use crate::text::one_line;
use crate::tools::mcp::Logins;

/// How the request of the browser looks that ends the login.
struct End {
    /// The address without a query.
    redirect: String,
    /// The part of the query that only this login has.
    state: String,
}

/// The path at which a browser on this machine ends.
const PATH: &str = "/callback";

/// Shows the link, and waits until the browser comes back, or its address is pasted.
pub fn login(context: &Context, loaded: &Loaded, server: &str) -> Result<Exit> {
    let parts = parts(context, loaded, server)?;
    let name = server.to_owned();
    Foreground::new()?.run(move |cancel| {
        if oauth::log_in_alone(&parts, cancel)? {
            print::line(&texts::logged_in(&name))?;
            return Ok(Exit::Done);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        let address = listener.as_ref().and_then(|one| one.local_addr().ok());
        let redirect = address.map(|address| format!("http://{address}{PATH}"));
        let mut login = Login::begin(&parts, redirect.as_deref(), cancel)?;
        let request = InputRequest {
            server: name.clone(),
            message: String::new(),
            kind: InputKind::Link {
                url: login.url().to_owned(),
                returns: true,
            },
        };
        let end = End {
            redirect: redirect.unwrap_or_default(),
            state: format!("state={}", login.state()),
        };
        let returned = wait(&request, listener, end, cancel);
        if cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        let Some(address) = returned else {
            return Err(Error::Failed(texts::not_finished(&name)));
        };
        login.finish(&address, cancel)?;
        print::line(&texts::logged_in(&name))?;
        Ok(Exit::Done)
    })?
}

/// The address at which the browser ended: here, or as it was pasted.
fn wait(
    request: &InputRequest,
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
    let pasted = match print::can_ask() {
        true => form::fill_in(request, &ended),
        false => {
            if let InputKind::Link { url, .. } = &request.kind {
                let _ = print::line(url);
            }
            // A browser on this machine can still end the login.
            ended.wait(REDIRECT_TIME);
            InputAnswer::Cancelled
        }
    };
    ended.cancel();
    if let Some(thread) = thread {
        let _ = thread.join();
    }
    let came = came.lock().take();
    match pasted {
        InputAnswer::Returned(address) => Some(address),
        _ => came,
    }
}

/// Waits for the browser's request to the redirect.
fn listen(listener: &TcpListener, end: &End, ended: &Cancel) -> Option<String> {
    listener.set_nonblocking(true).ok()?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(query) = answer(stream, &end.state, ended) {
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
fn answer(mut stream: TcpStream, state: &str, ended: &Cancel) -> Option<String> {
    let line = read_line(&stream, ended)?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    let query = target.strip_prefix(PATH)?.strip_prefix('?');
    let query = query.filter(|query| query.split('&').any(|pair| pair == state));
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

fn parts(context: &Context, loaded: &Loaded, server: &str) -> Result<HttpParts> {
    super::open(context, loaded, server)?;
    let settings = loaded.config.tools.mcp_servers.get(server);
    match settings.filter(|settings| !settings.url.is_empty()) {
        None => Err(Error::Usage(texts::no_url(&one_line(server, 40)))),
        Some(settings) => {
            let logins = Logins {
                tls: tls(&loaded.config.tls)?,
                folder: mcp_folder_of(&context.home()?, loaded),
                clock: Clock::System,
            };
            Ok(logins.parts(server, settings.clone()))
        }
    }
}

/// Forgets a login.
pub fn logout(context: &Context, loaded: &Loaded, server: &str) -> Result<Exit> {
    let parts = parts(context, loaded, server)?;
    let is_there = oauth::has_token(&parts);
    oauth::forget(&parts.logins, server)?;
    match is_there {
        true => print::line(&texts::logged_out(server))?,
        false => print::line(texts::NOT_LOGGED_IN)?,
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
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
            redirect: format!("http://{address}{PATH}"),
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
