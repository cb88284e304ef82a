//! `peacrab plot`: the board's history as a picture.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;

use super::Context;
use super::cron::zone_of;
use super::terminal::print;
use crate::base::error::{Error, Exit, Result};
use crate::board::Board;
use crate::gateway::control::{self, Request};
use crate::sys;

/// `peacrab plot …`
#[derive(Debug, Args)]
pub struct Arguments {
    /// What to draw and how far back, such as: temperature load 24h. Nothing: list what there is
    #[arg(value_name = "NAME|SPAN")]
    words: Vec<String>,
    /// The file to write, as PNG
    #[arg(short, long, value_name = "FILE", default_value = "plot.png")]
    output: PathBuf,
}

/// Draws what is asked for into a file, or lists what there is.
#[inline(never)]
pub fn run(context: &Context, arguments: &Arguments) -> Result<Exit> {
    let home = context.home()?;
    let board = Board::here(home.path());
    let words = arguments.words.join(" ");
    // A running gateway has the samples of the last hour, which are not on the disk yet.
    let request = Request::Plot {
        words: words.clone(),
    };
    if words.is_empty() {
        let list = control::ask(&home.control(), &request)?;
        print::line(&list.unwrap_or_else(|| board.list_values()))?;
        return Ok(Exit::Done);
    }
    let png = match control::ask(&home.control(), &request)? {
        Some(answer) => {
            let decoded = BASE64_STANDARD.decode(answer);
            decoded.map_err(|error| {
                Error::Failed(format!("The gateway's picture is damaged: {error}"))
            })?
        }
        None => board.plot_words(&words, &zone_of(&context.load()?))?,
    };
    sys::file::write_atomic(&arguments.output, &png, 0o644)?;
    print::line(&format!("Wrote {}", arguments.output.display()))?;
    Ok(Exit::Done)
}
