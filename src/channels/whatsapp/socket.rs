//! A connection to the bridge whose token was shown.

use std::time::Duration;

use super::frame::{self, Frame, NO_TOKEN, WRONG_TOKEN};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::channels::whatsapp::ANSWER_TIME;
use crate::base::limits::channels::{IDLE, PATIENCE};
use crate::channels::kit::adapter::Failure;
use crate::config::schema::Bot;
use crate::net::http::websocket::{Received, Websocket};
use crate::net::http::{Settings, Tls};

/// What the bridge's close with [`WRONG_TOKEN`] means.
pub const BAD_TOKEN: &str = "the WhatsApp bridge rejects the token: set channels.whatsapp.bridgeToken to the BRIDGE_TOKEN that \
                             the bridge was started with";

/// Something that came.
#[derive(Debug)]
pub enum Came {
    /// A frame.
    Frame(Frame),
    /// Nothing in time.
    Idle,
}

/// A websocket to the bridge.
pub struct Socket {
    socket: Websocket,
}

impl Socket {
    /// Connects and shows the token, if there is one. Whether it was accepted is not known then.
    pub fn connect(bot: &Bot, tls: &Tls, cancel: &Cancel) -> Result<Self> {
        let settings = Settings {
            proxy: bot.proxy.clone(),
            // The bridge listens on this machine only.
            proxy_from_environment: false,
            ..Settings::new(PATIENCE, IDLE)
        };
        let mut socket = Websocket::connect(tls, settings, bot.text("bridgeUrl"), &[], cancel)?;
        let token = bot.secret("bridgeToken");
        if !token.is_empty() {
            socket.send_text(&frame::auth(&token))?;
        }
        Ok(Self { socket })
    }

    /// Waits for a frame. A close is an error.
    pub fn receive(&mut self, time: Duration) -> Result<Came, Failure> {
        match self.socket.receive(time).map_err(explain)? {
            Received::Text(text) => Ok(Came::Frame(frame::read(&text))),
            Received::Binary(_) | Received::Ping(_) | Received::Pong(_) => {
                Ok(Came::Frame(Frame::Other))
            }
            Received::Idle => Ok(Came::Idle),
            Received::Closed { code, reason } => {
                Err(Failure::Down(match (code, reason.as_str()) {
                    (WRONG_TOKEN | NO_TOKEN, _) => BAD_TOKEN.to_owned(),
                    (code, "") => format!("the WhatsApp bridge closed the connection ({code})"),
                    (code, reason) => {
                        format!("the WhatsApp bridge closed the connection ({code}: {reason})")
                    }
                }))
            }
        }
    }

    /// Asks whether the other side is still there and takes us for a client. The answer is [`Frame::Sent`].
    pub fn ask(&mut self) -> Result<(), Failure> {
        self.socket.send_text(&frame::probe()).map_err(explain)
    }

    /// Has a command with this `to` carried out, and waits for its answer. What comes meanwhile is dropped: it is for
    /// the receiver, which has a connection of its own.
    pub fn command(&mut self, to: &str, command: &str, time: Duration) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        self.socket.send_text(command).map_err(explain)?;
        loop {
            let left = time.saturating_sub(watch.elapsed());
            match self.receive(left)? {
                Came::Frame(Frame::Sent(done)) if done == to => return Ok(()),
                Came::Frame(Frame::Error(said)) => return Err(refused(&said)),
                Came::Idle if watch.elapsed() >= time => {
                    let why = "the WhatsApp bridge does not answer";
                    return Err(Failure::Trouble(why.to_owned()));
                }
                Came::Frame(_) | Came::Idle => {}
            }
        }
    }

    /// Finds out whether the token is accepted and the bridge is there: only then a command is answered. A bridge
    /// that was started without a token takes the frame with ours for a command and answers it too, but without `to`.
    pub fn probe(&mut self) -> Result<(), Failure> {
        self.command(frame::PROBE, &frame::probe(), ANSWER_TIME)
    }

    /// Closes the connection.
    pub fn close(self) {
        self.socket.close(1000, "");
    }
}

/// The failure that an error of the connection means.
fn explain(error: Error) -> Failure {
    match error {
        Error::Stopped => Failure::Stopped,
        Error::Config(_) => Failure::Local(error),
        Error::Timeout { .. } => Failure::Trouble(error.to_string()),
        error => Failure::Down(format!(
            "cannot reach the WhatsApp bridge (is it running? its address is channels.whatsapp.bridgeUrl): {error}"
        )),
    }
}

/// The failure that an error of the bridge means. It has no code, and the text is that of a program.
fn refused(said: &str) -> Failure {
    let said = format!("the WhatsApp bridge could not send it: {said}");
    let has = |words: &[&str]| words.iter().any(|word| said.to_lowercase().contains(word));
    if has(&[
        "not connected",
        "connection closed",
        "connection lost",
        "timed out",
        "logged out",
    ]) {
        // It connects again by itself. Nothing is lost: the command was not carried out.
        return Failure::Down(said);
    }
    if has(&["rate-overlimit", "429"]) {
        return Failure::RetryAfter(crate::base::limits::channels::USUAL_WAIT);
    }
    if has(&[
        "jid",
        "not-authorized",
        "forbidden",
        "item-not-found",
        "not-acceptable",
    ]) {
        return Failure::Refused(said);
    }
    Failure::Trouble(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_bridge_are_told_apart_by_what_can_be_done() {
        for (said, expected) in [
            ("Error: Not connected", "down"),
            ("Error: Connection Closed", "down"),
            ("Error: Timed Out", "down"),
            ("Error: rate-overlimit", "wait"),
            (
                "TypeError: Cannot destructure property 'user' of 'jidDecode(...)'",
                "refused",
            ),
            ("Error: not-acceptable", "refused"),
            ("Error: something else", "trouble"),
        ] {
            let kind = match refused(said) {
                Failure::Down(_) => "down",
                Failure::RetryAfter(_) => "wait",
                Failure::Refused(_) => "refused",
                Failure::Trouble(_) => "trouble",
                _ => "other",
            };
            assert_eq!(kind, expected, "{said}");
        }
    }
}
