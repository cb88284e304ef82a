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
use crate::text::picture::plot::format_value;

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
    if arguments.words.is_empty() {
        return list(&board);
    }
    let words = arguments.words.join(" ");
    // A running gateway has the samples of the last hour, which are not on the disk yet.
    let request = Request::Plot {
        words: words.clone(),
    };
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

fn list(board: &Board) -> Result<Exit> {
    for name in board.names() {
        let curve = board.series(&name, 24 * 3600);
        let summary = curve.as_ref().and_then(|curve| {
            let (least, most, last) = curve.summary()?;
            let [least, most, last] = [least, most, last].map(|value| format_value(value, 0.0));
            let unit = &curve.unit;
            Some(match least == most {
                true => format!("{last} {unit} (24 h)"),
                false => format!("{least} to {most}, now {last} {unit} (24 h)"),
            })
        });
        let missing = match board.is_reported(&name) {
            true => "no values in 24 h",
            false => "this board does not report it",
        };
        let summary = summary.as_deref().unwrap_or(missing);
        print::line(format!("{name}: {summary}").trim_end())?;
    }
    Ok(Exit::Done)
}
