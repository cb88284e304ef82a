//! Links the bridge to an account: shows its QR code until a phone has scanned it.

pub mod qr;
mod texts;

use self::qr::{Shades, draw};
use super::frame::Frame;
use super::socket::{Came, Socket};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::service::Login;
use std::time::Duration;

/// How often a login looks whether it was cancelled or whether the QR code is out of date.
const LOGIN_LOOK: Duration = Duration::from_secs(5);
/// How long a login waits for the code to be scanned. WhatsApp replaces the code about every 20 seconds, and gives
/// up after a few.
const LOGIN_TIME: Duration = Duration::from_mins(5);
/// How long a login waits for the first code: a bridge that is not linked sends one every 20 seconds, after it has
/// connected again.
const CODE_TIME: Duration = Duration::from_secs(90);

/// Waits for the code of the bridge, shows each new one, and ends when the bridge is connected to WhatsApp.
pub(super) fn login(parts: &mut Login<'_>) -> Result<()> {
    let watch = Stopwatch::start();
    let mut socket = Socket::connect(&parts.bot, &parts.tls, &parts.cancel)?;
    // Its answer shows that the token is right. A code may come before it.
    socket.ask().map_err(error_of)?;
    // As everything on the command line.
    let language = Language::English;
    let mut has_code = false;
    while watch.elapsed() < LOGIN_TIME {
        match socket.receive(LOGIN_LOOK).map_err(error_of)? {
            Came::Frame(Frame::Qr(code)) => {
                let shades = if parts.is_ascii {
                    Shades::Ascii
                } else {
                    Shades::Blocks
                };
                let too_long = || Error::Failed(texts::too_long(language).to_owned());
                let drawn = draw(&code, shades).ok_or_else(too_long)?;
                (parts.show)(&format!("{drawn}\n{}", texts::scan(language)))?;
                has_code = true;
            }
            Came::Frame(Frame::Sent(_)) if !has_code => (parts.show)(texts::waiting(language))?,
            Came::Frame(Frame::Status { is_connected: true }) => {
                (parts.show)(texts::linked(language))?;
                socket.close();
                return Ok(());
            }
            Came::Frame(_) | Came::Idle => {}
        }
        if !has_code && watch.elapsed() > CODE_TIME {
            break;
        }
    }
    socket.close();
    let why = if has_code {
        texts::not_scanned(language)
    } else {
        texts::no_code(language)
    };
    Err(Error::Failed(why.to_owned()))
}

fn error_of(failure: Failure) -> Error {
    match failure {
        Failure::Stopped => Error::Stopped,
        Failure::Local(error) => error,
        failure => Error::Failed(failure.to_string()),
    }
}
